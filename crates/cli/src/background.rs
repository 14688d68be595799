//! Asks the terminal whether its background is dark or light.
//!
//! ```text
//! ESC ] 11 ; ? ESC \     what is your background?       ESC ] 11 ; rgb:1b1b/1d1d/2222 ESC \
//! ESC [ c                who are you?                   ESC [ ? 62 ; 22 c
//! ```
//!
//! Every terminal answers the second question, so that nobody waits for an answer to the first that never comes. One
//! that answers neither in time is left alone, and what it says later is taken off its line before the program ends:
//! else a shell would take it for typing.
//!
//! It is asked only if it is ours alone: we write to it, are in its foreground, and nothing was typed ahead, which
//! then stays for the next who reads. Its state is what it was before when this is done.

use streamfmt::core::theme::{Appearance, Color};

/// The background that the terminal of standard output tells; `None` if it can't be asked or doesn't answer.
/// It takes at most 100 ms.
#[cfg(unix)]
pub(crate) fn ask() -> Option<Appearance> {
    unix::ask()
}

/// Takes what a late terminal still says off its line, for at most half a second after it was asked.
#[cfg(unix)]
pub(crate) fn settle() {
    unix::settle();
}

/// Nothing is asked here.
#[cfg(not(unix))]
pub(crate) fn ask() -> Option<Appearance> {
    None
}

/// Nothing was asked here.
#[cfg(not(unix))]
pub(crate) fn settle() {}

/// Whether a terminal of this name is known to answer. Some of those left out never do, some write the question on
/// the screen, and `screen` passes it on to a terminal whose answer comes too late.
fn answers(term: &str, is_in_tmux: bool) -> bool {
    let silent = ["dumb", "linux", "vt", "ansi", "cons", "sun", "wyse", "eterm", "Eterm", "unknown"];
    let is_screen = term.starts_with("screen") && !is_in_tmux;
    !term.is_empty() && !is_screen && !silent.iter().any(|name| term.starts_with(name))
}

/// Whether an answer to the second question is among what was read: all has come.
fn is_over(read: &[u8]) -> bool {
    let Some(start) = find(read, b"\x1b[?") else { return false };
    read[start + 3..].iter().find(|byte| !matches!(byte, b'0'..=b'9' | b';')) == Some(&b'c')
}

/// The background that an answer tells.
fn background(read: &[u8]) -> Option<Appearance> {
    let start = find(read, b"\x1b]11;")? + 5;
    let answer = std::str::from_utf8(read[start..].split(|byte| matches!(byte, 7 | 0x1b)).next()?).ok()?;
    let parts = answer.strip_prefix("rgb:").or_else(|| answer.strip_prefix("rgba:"))?;
    // One to four digits each: the first of them weighs most.
    let mut parts = parts.split('/').map(|part| {
        let digits = part.len().min(4);
        let number = u32::from_str_radix(part.get(..digits)?, 16).ok()?;
        let most = 16_u32.pow(u32::try_from(digits).ok()?) - 1;
        u8::try_from(number * 255 / most.max(1)).ok()
    });
    let mut part = || parts.next().flatten();
    Color::Rgb(part()?, part()?, part()?).appearance()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(unix)]
mod unix {
    use std::env;
    use std::io::{self, Stdout};
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::Mutex;
    use std::thread::{self, JoinHandle};
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::OFlags;
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
    use streamfmt::core::theme::Appearance;

    use super::{answers, background, is_over};

    const QUESTION: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";

    /// How long an answer is waited for before anything is written.
    const PATIENCE: Duration = Duration::from_millis(100);

    /// How long after the question a late answer is still expected.
    const LATE: Duration = Duration::from_millis(500);

    /// No answer is longer.
    const LONGEST: usize = 256;

    /// Who waits for a late answer.
    static WAITING: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

    pub(super) fn ask() -> Option<Appearance> {
        let term = env::var("TERM").unwrap_or_default();
        if !answers(&term, env::var_os("TMUX").is_some()) {
            return None;
        }
        let quiet = Quiet::begin(io::stdout())?;
        if quiet.is_readable(Duration::ZERO) {
            return None;
        }
        rustix::io::write(&quiet.terminal, QUESTION).ok().filter(|written| *written == QUESTION.len())?;
        let asked = Instant::now();
        let mut read = Vec::new();
        quiet.read(&mut read, asked + PATIENCE);
        let found = background(&read);
        if !is_over(&read) {
            let waiting = thread::Builder::new().spawn(move || quiet.read(&mut read, asked + LATE));
            *WAITING.lock().ok()? = waiting.ok();
        }
        found
    }

    pub(super) fn settle() {
        let waiting = WAITING.lock().ok().and_then(|mut waiting| waiting.take());
        if let Some(waiting) = waiting {
            let _ = waiting.join();
        }
    }

    /// A terminal that shows nothing of what it receives and gives each byte at once, until this ends.
    struct Quiet {
        terminal: Stdout,
        before: Termios,
    }

    impl Quiet {
        /// `None` if the terminal isn't ours, or can't be read.
        fn begin(terminal: Stdout) -> Option<Self> {
            let mode = rustix::fs::fcntl_getfl(&terminal).ok()?;
            // Setting up a terminal from its background would stop the program.
            let is_in_front = rustix::termios::tcgetpgrp(&terminal).ok()? == rustix::process::getpgrp();
            if !is_in_front || !mode.contains(OFlags::RDWR) {
                return None;
            }
            let before = rustix::termios::tcgetattr(&terminal).ok()?;
            let mut quiet = before.clone();
            // Ctrl-C goes on to be a signal.
            quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
            quiet.special_codes[SpecialCodeIndex::VMIN] = 0;
            quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
            let begun = Self { terminal, before };
            rustix::termios::tcsetattr(&begun.terminal, OptionalActions::Now, &quiet).ok()?;
            Some(begun)
        }

        fn is_readable(&self, patience: Duration) -> bool {
            let terminal: BorrowedFd<'_> = self.terminal.as_fd();
            let patience = Timespec::try_from(patience).ok();
            let mut waiting = [PollFd::from_borrowed_fd(terminal, PollFlags::IN)];
            poll(&mut waiting, patience.as_ref()).is_ok_and(|ready| ready > 0)
        }

        /// Reads until all answers have come, and not one byte more: what follows was typed. What has come when the
        /// time is over is read, too: on a busy machine we may be what is late.
        fn read(&self, read: &mut Vec<u8>, until: Instant) {
            let mut byte = [0];
            while !is_over(read) && read.len() < LONGEST {
                let left = until.saturating_duration_since(Instant::now());
                if !self.is_readable(left) {
                    break;
                }
                match rustix::io::read(&self.terminal, &mut byte) {
                    Ok(1) => read.push(byte[0]),
                    _ => break,
                }
            }
        }
    }

    impl Drop for Quiet {
        fn drop(&mut self) {
            // What was typed meanwhile stays.
            let _ = rustix::termios::tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_among_what_was_typed() {
        let dark = b"\x1b]11;rgb:1b1b/1d1d/2222\x1b\\\x1b[?62;22c";
        let light = b"x\x1b]11;rgba:fff/fff/eee/fff\x07\x1b[?1;2c";
        assert_eq!((background(dark), is_over(dark)), (Some(Appearance::Dark), true));
        assert_eq!((background(light), is_over(light)), (Some(Appearance::Light), true));
        assert_eq!((background(b"\x1b[?6c"), is_over(b"\x1b[?6c")), (None, true));
        for part in 0..dark.len() {
            assert!(!is_over(&dark[..part]), "{part}");
        }
        for odd in
            [&b"\x1b]11;rgb:zz/1/2\x07"[..], b"\x1b]11;rgb:/1/2\x07", b"\x1b]11;rgb:ff/ff\x07", b"\x1b]11;"]
        {
            assert_eq!(background(odd), None);
        }
    }

    #[test]
    fn terminals_that_do_not_answer_are_not_asked() {
        for (term, is_in_tmux, asked) in [
            ("xterm-256color", false, true),
            ("screen-256color", true, true),
            ("screen-256color", false, false),
            ("linux", false, false),
            ("dumb", false, false),
            ("vt100", false, false),
            ("", false, false),
        ] {
            assert_eq!(answers(term, is_in_tmux), asked, "{term}");
        }
    }
}
