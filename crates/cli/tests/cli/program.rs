//! Runs the program in a temporary folder.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
#[cfg(unix)]
use std::sync::{Arc, LazyLock, Once};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

#[cfg(unix)]
pub(crate) use rustix::process::Signal;

/// A short session that succeeded.
pub(crate) const SESSION: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"model-1","cwd":"/home/dev/shop","tools":[],"uuid":"u-1"}
{"type":"assistant","message":{"id":"m-1","role":"assistant","content":[{"type":"text","text":"First reply."}]},"session_id":"s-1","uuid":"u-2"}
{"type":"assistant","message":{"id":"m-2","role":"assistant","content":[{"type":"text","text":"Second reply."}]},"session_id":"s-1","uuid":"u-3"}
{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"Second reply.","session_id":"s-1","uuid":"u-4"}
"#;

/// A session that ended in an error.
pub(crate) const FAILED_SESSION: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"model-1","cwd":"/home/dev/shop","tools":[],"uuid":"u-1"}
{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":2,"session_id":"s-1","uuid":"u-4"}
"#;

/// A line of a stream with one reply.
pub(crate) fn reply(number: usize) -> String {
    format!(
        "{{\"type\":\"assistant\",\"message\":{{\"id\":\"m-{number}\",\"role\":\"assistant\",\"content\":\
         [{{\"type\":\"text\",\"text\":\"reply number {number}.\"}}]}},\"session_id\":\"s-1\",\"uuid\":\"r-{number}\"}}\n"
    )
}

/// A folder to run the program in, removed at the end of the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        #[cfg(unix)]
        hear_signals();
        Self(TempDir::with_prefix("streamfmt-").unwrap())
    }

    /// A folder whose files can be executed. The system's folder for temporary files may forbid that (`noexec`); the folder of the test
    /// programs can't.
    #[cfg(unix)]
    pub(crate) fn for_programs() -> Self {
        static CAN_RUN: LazyLock<bool> = LazyLock::new(|| {
            let folder = Folder::new();
            folder.write_program("program", "#!/bin/sh\n");
            Command::new(folder.path("program")).status().is_ok_and(|status| status.success())
        });
        if *CAN_RUN {
            return Self::new();
        }
        Self(TempDir::with_prefix_in("streamfmt-", env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a program from another process: a child started by any thread of this one would inherit the open file, and a file that is
    /// open for writing can't be executed ("text file busy").
    #[cfg(unix)]
    pub(crate) fn write_program(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }

    /// Replaces a file's content atomically: no reader finds half of it, however slow the machine is.
    pub(crate) fn replace(&self, name: &str, text: impl AsRef<[u8]>) {
        self.write("new", text);
        fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Waits until a file contains a text.
    #[track_caller]
    pub(crate) fn until_written(&self, name: &str, text: &str) {
        let read = || fs::read(self.path(name)).unwrap_or_default();
        let what = || format!("{text:?} in {name}: {:?}", String::from_utf8_lossy(&read()));
        until(what, || contains(&read(), text));
    }

    /// The names of all files in it.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names_in("")
    }

    /// The names of all files in one of its subfolders.
    pub(crate) fn names_in(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_streamfmt"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path()).env_clear();
        // Tests don't depend on the configuration of whoever runs them.
        command.env("HOME", self.path("home"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Outcome {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs it with `input` as standard input.
    pub(crate) fn pipe(&self, arguments: &str, input: &str) -> Outcome {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // A program that stops reading closes the pipe.
        let writer = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output.into()
    }
}

/// Restores the default action of signals that the parent of the tests may have ignored, as `nohup` does and a shell for background jobs.
/// Every program started by a test would inherit an ignored signal.
#[cfg(unix)]
fn hear_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
            let (signal, always) = (signal.as_raw(), Arc::new(AtomicBool::new(true)));
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, always).unwrap();
        }
    });
}

/// Reports that the calling test can't run here. The line bypasses the harness, which hides the output of passing tests; `.ci/run` counts
/// these lines.
pub(crate) fn skip(why: &str) {
    let thread = thread::current();
    let message = format!("SKIPPED {}: {why}\n", thread.name().unwrap_or_default());
    std::io::stderr().write_all(message.as_bytes()).unwrap();
}

/// Whether a program that a test needs is installed. Without it the test counts as skipped.
pub(crate) fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    if !is_there {
        skip(&format!("no program {name}"));
    }
    is_there
}

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The agent's session and the place of its output, from the last lines on standard error. They are removed from `stderr`.
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents are run on Unix alone"))]
    pub(crate) session: Option<String>,
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents are run on Unix alone"))]
    pub(crate) kept: Option<String>,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self::of(output.status.code(), text(output.stdout), text(output.stderr))
    }
}

impl Outcome {
    fn of(code: Option<i32>, stdout: String, mut stderr: String) -> Self {
        let mut take_last = |start: &str| {
            let last = stderr.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
            let found = stderr[last..].strip_prefix(start).map(|rest| rest.trim_end().to_owned());
            if found.is_some() {
                stderr.truncate(last);
            }
            found
        };
        let kept = take_last("streamfmt: kept in ");
        let session = take_last("streamfmt: session ");
        Self { code, stdout, stderr, session, kept }
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32, stderr: &str) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(code), stderr), "{self:?}");
        self
    }
}

/// A timeout for something that takes no time on an idle machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `condition` holds. This is for state without notification, such as the content of a file; use [`Reader`] to wait for output.
#[track_caller]
pub(crate) fn until(what: impl Fn() -> String, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {}", what());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Reads a pipe or a terminal as its output arrives.
pub(crate) struct Reader {
    pieces: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(mut source: impl Read + Send + 'static) -> Self {
        let (sender, pieces) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = source.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { pieces, seen: Vec::new() }
    }

    /// Reads a named pipe once it has a writer.
    #[cfg(unix)]
    pub(crate) fn of_pipe(path: PathBuf) -> Self {
        Self::new(Pipe { path, file: None })
    }

    /// Waits until the output so far satisfies the condition.
    #[track_caller]
    pub(crate) fn until(&mut self, is_enough: impl Fn(&[u8]) -> bool) {
        while !is_enough(&self.seen) {
            assert!(self.wait(), "it ended after {:?}", String::from_utf8_lossy(&self.seen));
        }
    }

    /// Waits for the end of the output.
    #[track_caller]
    pub(crate) fn until_end(&mut self) {
        while self.wait() {}
    }

    /// Waits for more; returns `false` at the end.
    #[track_caller]
    fn wait(&mut self) -> bool {
        match self.pieces.recv_timeout(PATIENCE) {
            Ok(piece) => self.seen.extend(piece),
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => {
                panic!("nothing came after {:?}", String::from_utf8_lossy(&self.seen))
            }
        }
        true
    }

    pub(crate) fn seen(&self) -> &[u8] {
        &self.seen
    }

    /// Waits for more, at most for this time; returns whether there was more.
    pub(crate) fn wait_for(&mut self, time: Duration) -> bool {
        let piece = self.pieces.recv_timeout(time);
        self.seen.extend(piece.iter().flatten());
        piece.is_ok()
    }
}

/// A named pipe that the first reader opens: opening it waits for a writer.
#[cfg(unix)]
struct Pipe {
    path: PathBuf,
    file: Option<fs::File>,
}

#[cfg(unix)]
impl Read for Pipe {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let file = match self.file.take() {
            Some(file) => file,
            None => fs::File::open(&self.path)?,
        };
        self.file.insert(file).read(bytes)
    }
}

/// Opens a named pipe for writing once a program reads from it.
#[cfg(unix)]
#[track_caller]
pub(crate) fn open_for_writing(path: &Path) -> fs::File {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    options.write(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let mut is_read = None;
    until(
        || format!("a reader of {}", path.display()),
        || {
            is_read = options.open(path).ok();
            is_read.is_some()
        },
    );
    // Reopened without the flag, with which writing to a full pipe would be an error.
    fs::OpenOptions::new().write(true).open(path).unwrap()
}

/// Whether the program is notified of file changes here. If it can't be, because too many programs watch already or the file system doesn't
/// support it, it polls and reports that; the calling test counts as skipped.
#[cfg(unix)]
pub(crate) fn can_watch() -> bool {
    static CAN_WATCH: LazyLock<bool> = LazyLock::new(|| {
        let folder = Folder::new();
        folder.write("run.jsonl", reply(0));
        let mut running = Running::start(&folder, "-f run.jsonl");
        running.until_shown("reply number 0.");
        !running.end(Signal::INT).stderr.contains("can't watch files")
    });
    if !*CAN_WATCH {
        skip("files can't be watched for changes here");
    }
    *CAN_WATCH
}

/// A counter that Linux keeps for a process; without it the calling test counts as skipped.
#[cfg(target_os = "linux")]
pub(crate) fn io_count(process: u32, name: &str) -> Option<u64> {
    let counts = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let count = counts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok());
    if count.is_none() {
        skip(&format!("the system doesn't count {name}"));
    }
    count
}

/// A path as one word of a shell command, whatever it contains.
pub(crate) fn quoted(path: impl AsRef<Path>) -> String {
    format!("'{}'", path.as_ref().display().to_string().replace('\'', r"'\''"))
}

/// Whether bytes contain a text.
pub(crate) fn contains(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

/// A running program. It ends with the test.
pub(crate) struct Running<'a> {
    folder: &'a Folder,
    /// Holds its standard error, in a file.
    messages: Folder,
    child: Child,
    stdout: Reader,
}

impl<'a> Running<'a> {
    pub(crate) fn start(folder: &'a Folder, arguments: &str) -> Self {
        Self::of(folder, folder.command(arguments))
    }

    pub(crate) fn of(folder: &'a Folder, mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        Self::of_silent(folder, command)
    }

    /// The same, with the command's own standard input.
    pub(crate) fn of_silent(folder: &'a Folder, mut command: Command) -> Self {
        let messages = Folder::with(&[("stderr", "")]);
        let stderr = fs::File::create(messages.path("stderr")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let stdout = Reader::new(child.stdout.take().unwrap());
        Self { folder, messages, child, stdout }
    }

    /// Its process id.
    #[cfg(unix)]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes to its standard input.
    pub(crate) fn feed(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[cfg(unix)]
    pub(crate) fn send(&self, signal: Signal) {
        send(&self.child, signal);
    }

    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(self.stdout.seen()).into_owned()
    }

    #[track_caller]
    pub(crate) fn until_shown(&mut self, text: &str) {
        self.stdout.until(|seen| contains(seen, text));
    }

    /// Waits until a text is among the last hundred bytes.
    #[track_caller]
    pub(crate) fn until_shown_last(&mut self, text: &str) {
        self.stdout.until(|seen| contains(&seen[seen.len().saturating_sub(100)..], text));
    }

    pub(crate) fn messages(&self) -> String {
        self.messages.read("stderr")
    }

    /// Waits until a file in its folder contains a text.
    #[track_caller]
    pub(crate) fn until_written(&self, file: &str, text: &str) {
        self.folder.until_written(file, text);
    }

    #[track_caller]
    pub(crate) fn until_reported(&self, message: &str) {
        self.messages.until_written("stderr", message);
    }

    /// Ends it with a signal.
    #[cfg(unix)]
    #[track_caller]
    pub(crate) fn end(self, signal: Signal) -> Outcome {
        self.send(signal);
        self.outcome()
    }

    /// Closes its standard input, and so ends the program.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Outcome {
        drop(self.child.stdin.take());
        self.outcome()
    }

    /// Waits for its end.
    #[cfg(unix)]
    #[track_caller]
    pub(crate) fn wait(self) -> Outcome {
        self.outcome()
    }

    #[track_caller]
    fn outcome(mut self) -> Outcome {
        self.stdout.until_end();
        let code = self.child.wait().unwrap().code();
        Outcome::of(code, self.shown(), self.messages())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
/// The file in a folder, or one below it, that a process writes before it replaces an output. It may have no name.
#[cfg(unix)]
pub(crate) fn draft(process: u32, folder: &Folder) -> Option<PathBuf> {
    let real = folder.path("").canonicalize().unwrap();
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let is_unnamed = |path: &PathBuf| {
        let link = fs::read_link(path).unwrap_or_default();
        link.starts_with(&real) && link.to_string_lossy().ends_with(" (deleted)")
    };
    let unnamed = open.map(|entry| entry.path()).find(is_unnamed);
    unnamed.or_else(|| {
        let below = fs::read_dir(&real).unwrap().flatten().map(|entry| entry.path());
        let folders = below.filter(|path| path.is_dir()).chain([real.clone()]);
        let mut files = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let is_draft = |name: &str| name.starts_with('.') && name.contains(".tmp");
        files.find(|entry| is_draft(&entry.file_name().to_string_lossy())).map(|entry| entry.path())
    })
}

#[cfg(unix)]
pub(crate) fn send(child: &Child, signal: Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

/// Whether only its owner can read the file at `path`.
#[cfg(unix)]
pub(crate) fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777 == 0o600
}
