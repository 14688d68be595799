//! Single keys from the terminal, without waiting for a line to end.

#[cfg(unix)]
pub(super) use unix::Keys;

#[cfg(not(unix))]
pub(super) use other::Keys;

#[cfg(unix)]
mod unix {
    use std::collections::VecDeque;
    use std::io;
    use std::os::fd::AsFd;

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    use crate::signal::{Signals, Woken};

    /// Any key without a meaning here: one that sends a sequence, or a letter that can't be read.
    const OTHER: char = char::REPLACEMENT_CHARACTER;

    /// The keyboard. The terminal is restored when this is dropped, also after a signal.
    pub(in super::super) struct Keys {
        before: Termios,
        signals: Signals,
        /// Bytes typed ahead.
        typed: VecDeque<u8>,
    }

    impl Keys {
        pub(in super::super) fn open() -> io::Result<Self> {
            let signals = Signals::catch()?;
            let before = tcgetattr(io::stdin())?;
            let mut single = before.clone();
            single.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            tcsetattr(io::stdin(), OptionalActions::Now, &single)?;
            Ok(Self { before, signals, typed: VecDeque::new() })
        }

        /// The next key; `None` at the end of input or after a signal.
        pub(in super::super) fn key(&mut self) -> Option<char> {
            if self.typed.is_empty() {
                let stdin = io::stdin();
                match self.signals.wait(Some(stdin.as_fd()), None, false) {
                    Ok(Woken::Input) => {}
                    _ => return None,
                }
                let mut bytes = [0; 256];
                // Not through the buffer of `stdin`: a wait doesn't notice bytes in it.
                let read = rustix::io::read(&stdin, &mut bytes).ok()?;
                self.typed.extend(&bytes[..read]);
            }
            next_key(&mut self.typed)
        }
    }

    /// Takes the next typed key. The bytes of one key arrive together.
    fn next_key(typed: &mut VecDeque<u8>) -> Option<char> {
        match typed.pop_front()? {
            0x1b if matches!(typed.front(), Some(b'[' | b'O')) => {
                typed.pop_front();
                while typed.pop_front().is_some_and(|byte| !(0x40..=0x7e).contains(&byte)) {}
                Some(OTHER)
            }
            ascii @ 0..=0x7f => Some(char::from(ascii)),
            _ => {
                while typed.front().is_some_and(|byte| (0x80..=0xbf).contains(byte)) {
                    typed.pop_front();
                }
                Some(OTHER)
            }
        }
    }

    impl Drop for Keys {
        fn drop(&mut self) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn keys_of_several_bytes_are_one_that_means_nothing() {
            let typed = "a\u{1b}[A\u{1b}[1;5Cé\u{1b}OPr\u{1b}";
            let mut typed: VecDeque<u8> = typed.bytes().collect();
            let keys: String = std::iter::from_fn(|| next_key(&mut typed)).collect();
            assert_eq!(keys, format!("a{OTHER}{OTHER}{OTHER}{OTHER}r\u{1b}"));
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::io;

    /// Reads keys as lines: the first letter of each counts.
    pub(in super::super) struct Keys;

    impl Keys {
        pub(in super::super) fn open() -> io::Result<Self> {
            Ok(Self)
        }

        /// The next key; `None` at the end of input.
        pub(in super::super) fn key(&mut self) -> Option<char> {
            let mut line = String::new();
            io::stdin().read_line(&mut line).ok().filter(|length| *length > 0)?;
            line.trim().chars().next().or(Some(' '))
        }
    }
}
