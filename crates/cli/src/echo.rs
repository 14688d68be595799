//! Keeps what is typed from being shown amid a frame.

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

    /// How the terminal was, while it is otherwise.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// The terminal doesn't show what is typed, until this ends. Lines and signals stay as they are: who reads the terminal next
    /// gets what was typed.
    pub(crate) struct Echo(());

    impl Echo {
        /// Turns it off, if the terminal is ours to set up.
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

    /// Sets the terminal up as it was. Tells whether it was otherwise.
    pub(crate) fn restore() -> bool {
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Setting up a terminal from its background would stop the program.
        let before = before.filter(|_| is_in_foreground());
        before.is_some_and(|before| tcsetattr(io::stdout(), OptionalActions::Now, &before).is_ok())
    }

    /// Whether the terminal that standard output goes to is ours just now. One that doesn't control this session, such as a pty of
    /// a program that records, has no jobs and no background: it always is.
    pub(crate) fn is_in_foreground() -> bool {
        match tcgetpgrp(io::stdout()) {
            Ok(group) => group == rustix::process::getpgrp(),
            Err(error) => error == Errno::NOTTY && io::stdout().is_terminal(),
        }
    }
}

#[cfg(not(unix))]
mod other {
    /// Nothing is set up here.
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
