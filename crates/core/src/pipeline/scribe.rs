//! From entries on: the writer.

use std::fmt::{self, Write};

use crate::entry::Entry;
use crate::writer::Writer;

/// What is said, in order: what goes from the outlet to the scribe.
pub struct Said(pub(super) Saying);

/// One thing that is said.
#[expect(clippy::large_enum_variant, reason = "nearly all are entries")]
pub(super) enum Saying {
    /// What is said of an item, or beside one.
    Entry(Entry),
    /// An item as it is, spelled.
    Item(String),
    /// It was settled who writes all this, before anything was said.
    Writer(Option<Box<dyn Writer>>),
}

/// From entries to text.
pub struct Scribe {
    writer: Option<Box<dyn Writer>>,
    is_begun: bool,
}

impl Scribe {
    pub(super) fn new(writer: Option<Box<dyn Writer>>) -> Self {
        Self { writer, is_begun: false }
    }

    /// Writes all that is said, and empties it.
    pub fn write(&mut self, said: &mut Vec<Said>, out: &mut dyn Write) -> fmt::Result {
        // Where they lie: an entry is too large to be moved without need.
        let written = said.iter_mut().try_for_each(|Said(saying)| match saying {
            Saying::Entry(entry) => match self.begun(out)? {
                Some(writer) => writer.entry(entry, out),
                None => Ok(()),
            },
            Saying::Item(line) => out.write_str(line),
            Saying::Writer(writer) => {
                self.writer = writer.take();
                Ok(())
            }
        });
        said.clear();
        written
    }

    /// Goes on with another writer, in the middle of what it writes.
    pub(super) fn replace(&mut self, writer: Box<dyn Writer>, out: &mut dyn Write) -> fmt::Result {
        let before = self.writer.replace(writer);
        before.map_or(Ok(()), |mut before| before.end(out))
    }

    /// Writes what stands after the last entry.
    pub(super) fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.begun(out)?.map_or(Ok(()), |writer| writer.end(out))
    }

    /// The writer, which has written what stands before the first entry.
    fn begun(&mut self, out: &mut dyn Write) -> Result<Option<&mut dyn Writer>, fmt::Error> {
        let Some(writer) = self.writer.as_deref_mut() else { return Ok(None) };
        if !std::mem::replace(&mut self.is_begun, true) {
            writer.begin(out)?;
        }
        Ok(Some(writer))
    }
}
