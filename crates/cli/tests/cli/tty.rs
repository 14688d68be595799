//! The program on a terminal: its screen, its keyboard, and its line.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitStatus;
use std::thread::{self, JoinHandle};

use crate::program::{Folder, Reader, contains};

/// Written to the screen after all output of the program.
const END: &str = "<the end>";

/// A terminal on which the program runs.
pub(crate) struct Terminal {
    pub(crate) screen: Reader,
    keyboard: File,
    line: File,
    program: JoinHandle<ExitStatus>,
}

impl Terminal {
    /// Runs the program on a terminal on which `typed` was typed before.
    pub(crate) fn start(folder: &Folder, arguments: &str, variables: &[(&str, &str)], typed: &str) -> Self {
        Self::start_as_wide(80, folder, arguments, variables, typed)
    }

    /// The same, on a terminal with this width.
    pub(crate) fn start_as_wide(
        columns: u16,
        folder: &Folder,
        arguments: &str,
        variables: &[(&str, &str)],
        typed: &str,
    ) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(pty_process::Size::new(24, columns)).unwrap();
        let file = |end: BorrowedFd<'_>| File::from(end.try_clone_to_owned().unwrap());
        let mut keyboard = file(pty.as_fd());
        // Held until everything was read: on Linux a terminal that no program holds open may report its end while its last output is still
        // on the way.
        let line = file(pts.as_fd());
        keyboard.write_all(typed.as_bytes()).unwrap();
        let mut command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_streamfmt"))
            .args(arguments.split_whitespace())
            .current_dir(folder.path(""))
            .env_clear();
        for (name, value) in variables {
            command = command.env(name, value);
        }
        let mut child = command.spawn(pts).unwrap();
        let mut mark = line.try_clone().unwrap();
        let program = thread::spawn(move || {
            let status = child.wait().unwrap();
            mark.write_all(END.as_bytes()).unwrap();
            status
        });
        Self { screen: Reader::new(file(pty.as_fd())), keyboard, line, program }
    }

    pub(crate) fn hit(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until a text is on the screen or the program has ended; returns whether the text is there.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> bool {
        self.screen.until(|seen| contains(seen, text) || contains(seen, END));
        contains(self.screen.seen(), text)
    }

    /// Waits until the program has ended.
    #[track_caller]
    pub(crate) fn until_end(&mut self) {
        self.screen.until(|seen| contains(seen, END));
    }

    /// The output before the end.
    pub(crate) fn written(&self) -> String {
        let text = String::from_utf8_lossy(self.screen.seen());
        text.split(END).next().unwrap_or_default().to_owned()
    }

    /// Waits for the end, types a line, and returns what a shell would read then: unread input, and the line.
    #[track_caller]
    pub(crate) fn line_after(mut self, typed: &str) -> (ExitStatus, String) {
        self.until_end();
        self.hit(typed);
        self.hit("\n");
        // The terminal echoes the typed line, after an answer that came too late.
        self.screen.until(|seen| {
            let end = seen.windows(END.len()).position(|part| part == END.as_bytes()).unwrap_or(seen.len());
            contains(&seen[end..], typed)
        });
        let mut read = String::new();
        BufReader::new(self.line).read_line(&mut read).unwrap();
        (self.program.join().unwrap(), read)
    }
}
