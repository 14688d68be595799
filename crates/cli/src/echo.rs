//! Turns off the terminal's echo, so typed text doesn't disturb a frame.

#[cfg(unix)]
pub(crate) use unix::{Echo, is_in_foreground, restore};

#[cfg(not(unix))]
pub(crate) use other::{Echo, is_in_foreground, restore};

#[cfg(unix)]
mod unix {
    use std::io::{self, IsTerminal};
    use std::sync::{Mutex, PoisonError};

    use rustix::io::Errno;
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

    /// The terminal's settings before echo was turned off.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// Keeps the echo off until this is dropped. Line mode and signals are unchanged, so whoever reads the terminal next gets what was
    /// typed.
    pub(crate) struct Echo(());

    impl Echo {
        /// Turns the echo off, if the program is in the foreground.
        pub(crate) fn off() -> Self {
            let terminal = io::stdout();
            if let Some(before) = is_in_foreground().then(|| tcgetattr(&terminal).ok()).flatten() {
                let mut quiet = before.clone();
                quiet.local_modes.remove(LocalModes::ECHO);
                if tcsetattr(&terminal, OptionalActions::Now, &quiet).is_ok() {
                    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
                }
            }
            Self(())
        }
    }

    impl Drop for Echo {
        fn drop(&mut self) {
            restore();
        }
    }

    /// Restores the terminal's settings. Returns whether they had been changed.
    pub(crate) fn restore() -> bool {
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Changing a terminal's settings from the background would stop the program.
        let before = before.filter(|_| is_in_foreground());
        before.is_some_and(|before| tcsetattr(io::stdout(), OptionalActions::Now, &before).is_ok())
    }

    /// Whether the program is in the foreground of the terminal that standard output goes to. A terminal that doesn't control this
    /// session, such as the pty of a recording program, has no jobs and thus no background.
    pub(crate) fn is_in_foreground() -> bool {
        match tcgetpgrp(io::stdout()) {
            Ok(group) => group == rustix::process::getpgrp(),
            Err(error) => error == Errno::NOTTY && io::stdout().is_terminal(),
        }
    }
}

#[cfg(not(unix))]
mod other {
    /// Does nothing on this system.
    pub(crate) struct Echo(());

    impl Echo {
        pub(crate) fn off() -> Self {
            Self(())
        }
    }

    pub(crate) fn restore() -> bool {
        false
    }

    pub(crate) fn is_in_foreground() -> bool {
        true
    }
}
