//! Single keys from the terminal, without waiting for a line to end.

#[cfg(unix)]
pub(super) use unix::Keys;

#[cfg(not(unix))]
pub(super) use other::Keys;

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::AsFd;

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    use crate::signal::{Signals, Woken};

    /// The keyboard. The terminal is as it was when this goes away, also after a signal.
    pub(in super::super) struct Keys {
        before: Termios,
        signals: Signals,
    }

    impl Keys {
        pub(in super::super) fn open() -> io::Result<Self> {
            let signals = Signals::catch()?;
            let before = tcgetattr(io::stdin())?;
            let mut single = before.clone();
            single.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            tcsetattr(io::stdin(), OptionalActions::Now, &single)?;
            Ok(Self { before, signals })
        }

        /// The next key; nothing if there will be none, or somebody wants an end.
        pub(in super::super) fn key(&mut self) -> Option<char> {
            let stdin = io::stdin();
            match self.signals.wait(Some(stdin.as_fd()), None, false) {
                Ok(Woken::Input) => {}
                _ => return None,
            }
            // Keys of several bytes are of no use here: each byte is one that means nothing.
            let mut byte = [0];
            // Past the buffer of `stdin`: what lay there no wait would tell of.
            let read = rustix::io::read(&stdin, &mut byte).ok()?;
            (read == 1).then(|| char::from(byte[0]))
        }
    }

    impl Drop for Keys {
        fn drop(&mut self) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::io;

    /// The keyboard, by lines: the first letter of each counts.
    pub(in super::super) struct Keys;

    impl Keys {
        pub(in super::super) fn open() -> io::Result<Self> {
            Ok(Self)
        }

        /// The next key; nothing if there will be none.
        pub(in super::super) fn key(&mut self) -> Option<char> {
            let mut line = String::new();
            io::stdin().read_line(&mut line).ok().filter(|length| *length > 0)?;
            line.trim().chars().next().or(Some(' '))
        }
    }
}
