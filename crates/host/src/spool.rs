//! Holds text back until the text before it is known.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// Most bytes of text kept in memory; more is moved to a file.
const IN_MEMORY: usize = 256 * 1024;

/// Number of bytes read back at once.
const CHUNK: usize = 64 * 1024;

/// Holds the text of a document until its head is known: a short one in memory, a longer one in an unnamed temporary file, which
/// disappears with the process in any case.
///
/// See [`Setup::holds_head`](streamfmt_core::pipeline::Setup::holds_head).
pub struct Spool {
    /// The text that isn't in the file yet.
    text: String,
    file: File,
    is_in_file: bool,
    failure: Option<io::Error>,
}

impl Spool {
    /// Creates an empty spool. Returns `None` if no temporary file can be created.
    pub fn new() -> Option<Self> {
        let file = tempfile::tempfile().ok()?;
        Some(Self { text: String::new(), file, is_in_file: false, failure: None })
    }

    /// Passes all of the text to `each` in pieces. Fails if it couldn't be written to the file or read back.
    pub fn read(mut self, mut each: impl FnMut(&str)) -> io::Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.is_in_file {
            self.file.rewind()?;
            let mut buffer = vec![0; CHUNK];
            // The number of bytes of an incomplete character in the buffer.
            let mut begun = 0;
            loop {
                let count = match self.file.read(&mut buffer[begun..]) {
                    Ok(0) => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read? + begun,
                };
                let piece = &buffer[..count];
                let whole = match str::from_utf8(piece) {
                    Ok(_) => count,
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
                };
                each(str::from_utf8(&piece[..whole]).unwrap_or_default());
                buffer.copy_within(whole..count, 0);
                begun = count - whole;
            }
        }
        each(&self.text);
        Ok(())
    }

    fn write_out(&mut self, text: &str) -> io::Result<()> {
        self.is_in_file = true;
        self.file.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.file.write_all(text.as_bytes())
    }
}

impl fmt::Write for Spool {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.failure.is_some() {
            return Err(fmt::Error);
        }
        if self.text.len() + text.len() <= IN_MEMORY {
            self.text.push_str(text);
            return Ok(());
        }
        self.write_out(text).map_err(|error| {
            self.failure = Some(error);
            fmt::Error
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn text_of_any_length_comes_back_whole() {
        for count in [0, 1, CHUNK, IN_MEMORY / 3, IN_MEMORY / 3 + 1, IN_MEMORY * 2] {
            let mut spool = Spool::new().expect("a folder for temporary files");
            // Each character has three bytes, so that pieces end inside one.
            (0..count).for_each(|_| spool.write_str("漢").expect("room"));
            let mut text = String::new();
            spool.read(|piece| text.push_str(piece)).expect("what was written");
            assert!(text == "漢".repeat(count), "{count} characters");
        }
    }
}
