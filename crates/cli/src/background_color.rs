//! Asks the terminal whether its background is dark or light.
//!
//! `terminal-colorsaurus` sends the query together with one that every terminal answers, so it never waits in vain. The terminal is
//! queried only if the program is in its foreground and nothing was typed before, since the answer arrives as if typed. Text typed
//! while waiting for the answer is lost.

use streamfmt::core::theme::Appearance;

/// Whether the terminal that standard output goes to has a dark or a light background; `None` if it can't be queried or
/// doesn't answer.
/// It takes at most a tenth of a second.
#[cfg(unix)]
pub(crate) fn ask() -> Option<Appearance> {
    unix::ask()
}

/// No terminal is queried on this system.
#[cfg(not(unix))]
pub(crate) fn ask() -> Option<Appearance> {
    None
}

#[cfg(unix)]
mod unix {
    use std::env;
    use std::io::{self, IsTerminal, Stderr, Stdout};
    use std::os::fd::{AsFd, BorrowedFd};
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::fstat;
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
    use streamfmt::core::theme::{Appearance, Color};
    use terminal_colorsaurus::{QueryOptions, background_color};

    /// How long to wait for the answer. A shell would take a later one for typed text.
    const PATIENCE: Duration = Duration::from_millis(100);

    pub(super) fn ask() -> Option<Appearance> {
        let term = env::var("TERM").unwrap_or_default();
        if !answers(&term, env::var_os("TMUX").is_some()) {
            return None;
        }
        // The library would query the other one.
        if is_another(&io::stderr(), &io::stdout()) {
            return None;
        }
        let quiet = RawTerminal::begin(io::stdout())?;
        if quiet.is_readable() {
            return None;
        }
        let mut options = QueryOptions::default();
        options.timeout = PATIENCE;
        let (red, green, blue) = background_color(options).ok()?.scale_to_8bit();
        Color::Rgb(red, green, blue).appearance()
    }

    /// Whether `one` is a terminal, but not the one of `other`.
    fn is_another(one: &Stderr, other: &Stdout) -> bool {
        let device = |file: BorrowedFd<'_>| fstat(file).ok().map(|stat| stat.st_rdev);
        one.is_terminal() && device(one.as_fd()) != device(other.as_fd())
    }

    /// Whether a terminal of this name is known to answer. Of the others, some never do, some print the query, and `screen` passes it on
    /// to a terminal whose answer arrives too late.
    fn answers(term: &str, is_in_tmux: bool) -> bool {
        let silent = ["dumb", "linux", "vt", "ansi", "cons", "sun", "wyse", "eterm", "Eterm", "unknown"];
        let is_screen = term.starts_with("screen") && !is_in_tmux;
        !term.is_empty() && !is_screen && !silent.iter().any(|name| term.starts_with(name))
    }

    /// Turns off the terminal's echo and line mode until this is dropped. In line mode, a line that is being typed
    /// couldn't be seen.
    struct RawTerminal {
        terminal: Stdout,
        before: Termios,
    }

    impl RawTerminal {
        /// `None` if the program isn't in the terminal's foreground.
        fn begin(terminal: Stdout) -> Option<Self> {
            // Changing a terminal's settings from the background would stop the program.
            if tcgetpgrp(&terminal).ok()? != rustix::process::getpgrp() {
                return None;
            }
            let before = tcgetattr(&terminal).ok()?;
            let mut quiet = before.clone();
            // Ctrl-C still sends a signal.
            quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
            let begun = Self { terminal, before };
            tcsetattr(&begun.terminal, OptionalActions::Now, &quiet).ok()?;
            Some(begun)
        }

        fn is_readable(&self) -> bool {
            let mut waiting = [PollFd::new(&self.terminal, PollFlags::IN)];
            poll(&mut waiting, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        }
    }

    impl Drop for RawTerminal {
        fn drop(&mut self) {
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

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
}
