//! Runs the program in a folder of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A short session that went well.
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

/// A folder to run the program in. It goes away with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("streamfmt-cli-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names of all files in it.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names_in("")
    }

    /// Names of all files in a folder in it.
    pub(crate) fn names_in(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_streamfmt"));
        command.args(arguments.split_whitespace()).current_dir(&self.0).env_clear();
        // What the user of the machine has set up is no concern of a test.
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

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run of the program left.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Outcome {
    #[track_caller]
    pub(crate) fn expect(self, code: i32, stderr: &str) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(code), stderr), "{self:?}");
        self
    }
}

/// Waits until `condition` holds.
#[track_caller]
fn until(what: impl Fn() -> String, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(20), "waited in vain: {}", what());
        thread::sleep(Duration::from_millis(5));
    }
}

/// A program that is running, with its output in a file.
pub(crate) struct Running {
    child: Child,
    output: PathBuf,
}

impl Running {
    pub(crate) fn start(folder: &Folder, arguments: &str) -> Self {
        Self::of(folder, folder.command(arguments))
    }

    pub(crate) fn of(folder: &Folder, mut command: Command) -> Self {
        let output = folder.path("shown");
        let file = fs::File::create(&output).unwrap();
        let child = command.stdout(file).spawn().unwrap();
        Self { child, output }
    }

    pub(crate) fn send(&self, signal: &str) {
        send(&self.child, signal);
    }

    pub(crate) fn shown(&self) -> String {
        fs::read_to_string(&self.output).unwrap()
    }

    #[track_caller]
    pub(crate) fn until_shown(&self, text: &str) {
        until(|| format!("{text} in {}", self.shown()), || self.shown().contains(text));
    }

    /// Sends a signal by name; gives the exit code and what was said on standard error.
    #[track_caller]
    pub(crate) fn end(mut self, signal: &str) -> (Option<i32>, String) {
        send(&self.child, signal);
        until(|| format!("the end after {signal}"), || self.child.try_wait().unwrap().is_some());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

/// Sends a signal by name.
pub(crate) fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap().success());
}

/// Whether a file at `path` is readable by its owner alone.
#[cfg(unix)]
pub(crate) fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777 == 0o600
}
