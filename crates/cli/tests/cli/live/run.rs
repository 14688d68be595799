//! The program running on a terminal, and its input.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use pty_process::blocking::{Command, Pts, Pty};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::termios::{LocalModes, tcgetattr};

use super::emulator::{Emulator, Size};
use super::sequences::Sequences;
use crate::program::{Folder, PATIENCE, Reader, Signal, send, until};

/// Written to the terminal after all output of the program.
const END: &[u8] = b"<the end>";

/// The program, running on a terminal.
pub(crate) struct PaintedRun {
    pub(crate) emulator: Emulator,
    sequences: Sequences,
    written: Reader,
    /// How much of the output has been examined.
    taken: usize,
    pty: Pty,
    /// The terminal as the program sees it. Held open until everything was read.
    line: File,
    input: Option<PipeWriter>,
    child: Child,
    status: Option<ExitStatus>,
    /// The processor time it used, in hundredths of a second, once it has ended and if it is known.
    ticks: Option<u64>,
    /// Removed with the run.
    _folder: Folder,
}

/// The options for starting the program.
pub(crate) struct Start<'a> {
    pub(crate) arguments: &'a str,
    pub(crate) variables: &'a [(&'a str, &'a str)],
    pub(crate) size: Size,
    pub(crate) files: &'a [(&'a str, &'a str)],
    /// Typed before the start.
    pub(crate) typed: &'a str,
    /// The shell script that starts it as `"$@"`. `None`: started without a shell.
    pub(crate) script: Option<&'a str>,
}

impl Default for Start<'_> {
    fn default() -> Self {
        Self { arguments: "", variables: &[], size: (80, 24), files: &[], typed: "", script: None }
    }
}

impl Start<'_> {
    pub(crate) fn run(self) -> PaintedRun {
        let folder = Folder::with(self.files);
        let (pty, pts) = pty_process::blocking::open().unwrap();
        let file = |end: BorrowedFd<'_>| File::from(end.try_clone_to_owned().unwrap());
        let line = file(pts.as_fd());
        let (input, writer) = std::io::pipe().unwrap();
        let child = self.spawn(&folder, &pty, pts, input);
        PaintedRun {
            emulator: Emulator::new(self.size),
            sequences: Sequences::new(self.size.1),
            written: Reader::new(file(pty.as_fd())),
            taken: 0,
            pty,
            line,
            input: Some(writer),
            child,
            status: None,
            ticks: None,
            _folder: folder,
        }
    }

    /// Starts the program on a terminal.
    pub(crate) fn spawn(&self, folder: &Folder, pty: &Pty, pts: Pts, input: impl Into<Stdio>) -> Child {
        let (columns, rows) = self.size;
        pty.resize(pty_process::Size::new(rows as u16, columns as u16)).unwrap();
        let mut keyboard = pty;
        keyboard.write_all(self.typed.as_bytes()).unwrap();
        let program = env!("CARGO_BIN_EXE_streamfmt");
        let mut command = match self.script {
            Some(script) => Command::new("/bin/sh").args(["-c", script, "sh", program]),
            None => Command::new(program),
        };
        command = command
            .args(self.arguments.split_whitespace())
            .current_dir(folder.path(""))
            .env_clear()
            .env("TERM", "xterm-256color")
            .env("HOME", folder.path("home"))
            // Set, so that the terminal isn't queried.
            .env("STREAMFMT_BACKGROUND", "dark")
            .env("STREAMFMT_MOTION", "0")
            .stdin(input);
        for (name, value) in self.variables {
            command = command.env(name, value);
        }
        command.spawn(pts).unwrap()
    }
}

/// A screen without the running times of calls, which depend on the load: `cargo test … 1s` becomes `cargo test …`.
pub(crate) fn without_times(screen: &str) -> String {
    let is_time =
        |text: &str| text.ends_with('s') && text.chars().all(|ch| ch.is_ascii_digit() || " ms".contains(ch));
    let row = |row: &str| match row.trim_end().rsplit_once("… ") {
        Some((before, time)) if is_time(time) => format!("{before}…"),
        _ => row.to_owned(),
    };
    screen.trim_end().split('\n').map(row).collect::<Vec<_>>().join("\n")
}

/// The result of a run.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) emulator: Emulator,
    pub(crate) written: String,
    /// The processor time it used, in hundredths of a second, if it is known.
    pub(crate) ticks: Option<u64>,
    /// The height of the highest frame, in rows.
    pub(crate) highest: usize,
}

impl PaintedRun {
    pub(crate) fn start(arguments: &str) -> Self {
        Start { arguments, ..Start::default() }.run()
    }

    pub(crate) fn sized(arguments: &str, size: Size) -> Self {
        Start { arguments, size, ..Start::default() }.run()
    }

    /// Writes to its standard input.
    pub(crate) fn feed(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Writes to its standard input unless that is closed.
    pub(crate) fn feed_if_read(&mut self, text: &str) {
        let _ = self.input.as_mut().unwrap().write_all(text.as_bytes());
    }

    /// Writes to its standard input, each line after the one before was read.
    pub(crate) fn feed_slowly(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.feed(line);
            let input = self.input.as_ref().unwrap();
            until(|| "the program reads".to_owned(), || ioctl_fionread(input).is_ok_and(|left| left == 0));
        }
    }

    /// Feeds new output to the emulator; returns whether there was any.
    #[track_caller]
    pub(crate) fn take(&mut self) -> bool {
        let new = &self.written.seen()[self.taken..];
        let end = new.windows(END.len()).position(|part| part == END).unwrap_or(new.len());
        self.sequences.read(&new[..end]);
        self.emulator.write(&new[..end]);
        self.taken += end;
        end > 0
    }

    /// Waits until the terminal's content satisfies the condition.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, mut is_wanted: impl FnMut(&Emulator) -> bool) {
        loop {
            self.take();
            if is_wanted(&self.emulator) {
                return;
            }
            let now = || self.emulator.rows().join("\n");
            let has_more = self.written.wait_for(PATIENCE);
            assert!(has_more, "waited in vain for {what}:\n{}", now());
        }
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub(crate) fn until_shown(&mut self, text: &str) {
        self.until(text, |emulator| emulator.screen().iter().any(|row| row.contains(text)));
    }

    /// Waits until the screen shows exactly this, ignoring the running times of calls.
    #[track_caller]
    pub(crate) fn until_screen(&mut self, text: &str) {
        self.until(text, |emulator| without_times(&emulator.screen().join("\n")) == text);
    }

    /// The screen as one text, without the running times of calls.
    pub(crate) fn screen(&self) -> String {
        without_times(&self.emulator.screen().join("\n"))
    }

    /// The number of bytes written within this time.
    pub(crate) fn written_within(&mut self, time: Duration) -> usize {
        let before = self.written.seen().len();
        let begun = std::time::Instant::now();
        while let Some(left) = time.checked_sub(begun.elapsed()) {
            self.written.wait_for(left);
        }
        self.written.seen().len() - before
    }

    /// Resizes the terminal: its rows are rewrapped, then the program is notified.
    pub(crate) fn resize(&mut self, size: Size) {
        self.take();
        self.sequences.resize();
        self.emulator.resize(size);
        self.pty.resize(pty_process::Size::new(size.1 as u16, size.0 as u16)).unwrap();
    }

    /// The same, and waits until the frame was repainted.
    #[track_caller]
    pub(crate) fn resize_painted(&mut self, size: Size) {
        let before = self.written.seen().len();
        self.resize(size);
        self.written.until(|seen| seen.len() > before && seen.ends_with(b"\x1b[?7h"));
        self.take();
    }

    pub(crate) fn hit(&mut self, keys: &str) {
        (&self.pty).write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn send(&self, signal: Signal) {
        send(&self.child, signal);
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the terminal echoes input.
    pub(crate) fn has_echo(&self) -> bool {
        tcgetattr(&self.line).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// The terminal's settings.
    pub(crate) fn setup(&self) -> String {
        format!("{:?}", tcgetattr(&self.line).unwrap())
    }

    pub(crate) fn end_input(&mut self) {
        self.input = None;
    }

    /// Ends the input and waits for the end.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Ended {
        self.end_input();
        self.ended()
    }

    /// Waits until the program has ended. Returns the terminal's settings at that time.
    #[track_caller]
    pub(crate) fn setup_at_end(&mut self) -> String {
        let what = || format!("the end after {:?}", String::from_utf8_lossy(self.written.seen()));
        let process = Pid::from_child(&self.child);
        // Its processor time is known until it is waited for.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        until(what, || waitid(WaitId::Pid(process), look).unwrap().is_some());
        self.ticks = ticks(self.id());
        self.status = Some(self.child.wait().unwrap());
        self.setup()
    }

    /// The next line of pending input on the terminal.
    pub(crate) fn line_left(&self) -> String {
        let mut left = String::new();
        BufReader::new(&self.line).read_line(&mut left).unwrap();
        left
    }

    /// Writes to the terminal as another program would.
    pub(crate) fn write_beside(&mut self, text: &str) {
        self.line.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn ended(mut self) -> Ended {
        if self.status.is_none() {
            self.setup_at_end();
        }
        self.line.write_all(END).unwrap();
        self.written.until(|seen| seen.ends_with(END));
        self.take();
        let written = String::from_utf8_lossy(&self.written.seen()[..self.taken]).into_owned();
        let (status, ticks) = (self.status.unwrap(), self.ticks);
        let emulator = std::mem::replace(&mut self.emulator, Emulator::new((1, 1)));
        Ended { status, emulator, written, ticks, highest: self.sequences.highest() }
    }
}

impl Drop for PaintedRun {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processor time of a process, in hundredths of a second, as Linux counts it.
fn ticks(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The process name, in parentheses, may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// Runs the same input without painting.
#[track_caller]
pub(crate) fn unpainted(arguments: &str, size: Size, input: &str) -> Ended {
    let arguments = format!("--live never --set layout.pairs=always {arguments}");
    let mut run = PaintedRun::sized(&arguments, size);
    run.feed(input);
    run.finish()
}

/// Checks that a run left the same scrollback, screen and cursor as without painting.
#[track_caller]
pub(crate) fn check_same(painted: &Ended, unpainted: &Ended) {
    let rows = |ended: &Ended| ended.emulator.rows().join("\n");
    assert_eq!(rows(painted), rows(unpainted));
    let ((cells, cursor), (others, other_cursor)) = (painted.emulator.state(), unpainted.emulator.state());
    for (at, (row, other)) in cells.iter().zip(&others).enumerate() {
        let different = row.iter().zip(other).find(|(cell, other)| cell != other);
        assert_eq!(different, None, "row {at}");
    }
    assert_eq!((cells.len(), cursor), (others.len(), other_cursor));
    assert!(painted.emulator.is_clean(), "{:?}", painted.written);
}
