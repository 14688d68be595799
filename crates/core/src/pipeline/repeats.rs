//! Recognises lines that repeat another session: the file of a session may begin with the lines of the one that it continues.
//!
//! What is repeated ends with the first line that doesn't come next in the other session's file. A copy may leave out lines, or begin in the
//! middle. Both files are read line by line, each line once, so nothing is kept of them.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::bounded::Bounded;
use crate::dialect::{Decoder, Dialects, LineKey};
use crate::frame::{Framer, Frames};
use crate::item::Id;
use crate::json::{Record, Value};
use crate::reading::{LineReader, ParsedLine};

use super::decode::{Origins, Pieces};

/// The most files of sub-agents that are read at the same time.
const MAX_INSIDE: usize = 32;
/// The most sessions that are searched in vain: each search may read many folders.
const MAX_MISSED: u32 = 64;

/// The lines of the input, and of sub-agents' files, that repeat other sessions.
pub(super) struct Repeats {
    files: OriginFiles,
    input: Repeat,
    /// The files of sub-agents that were begun last, by the calls that started them.
    inside: Bounded<Id, Repeat>,
}

/// The state of one file.
enum Repeat {
    /// Nothing has come, or only a first line that names a session whose file wasn't found.
    Start,
    /// The first line of this session has come, which names no other.
    Begun(String),
    /// Each line so far was repeated.
    Lines(Box<RepeatedLines>),
    /// The session's own lines have begun.
    Own,
}

impl Repeats {
    pub(super) fn new(find: Option<Origins>, dialects: Dialects, max_line: usize) -> Self {
        let files = OriginFiles { find, dialects, max_line, missed: 0 };
        Self { files, input: Repeat::Start, inside: Bounded::default() }
    }

    /// Returns the session that a line repeats, or, for the first line of a file, the session whose lines follow. `parent`: the call whose
    /// sub-agent's file the line is from.
    #[inline]
    pub(super) fn origin(
        &mut self,
        decoder: &dyn Decoder,
        value: Value<'_>,
        parent: Option<&Id>,
    ) -> Option<Arc<str>> {
        match (parent, &self.input) {
            (None, Repeat::Own) => None,
            (None, _) => self.files.take(&mut self.input, decoder, value),
            (Some(call), _) => self.origin_inside(decoder, value, call),
        }
    }

    fn origin_inside(&mut self, decoder: &dyn Decoder, value: Value<'_>, call: &Id) -> Option<Arc<str>> {
        if !self.inside.contains_key(call) {
            self.inside.add(call.clone(), Repeat::Start, MAX_INSIDE);
        }
        self.files.take(&mut self.inside[call], decoder, value)
    }
}

/// Finds and reads the files of other sessions.
struct OriginFiles {
    find: Option<Origins>,
    dialects: Dialects,
    max_line: usize,
    /// How many sessions were searched in vain.
    missed: u32,
}

impl OriginFiles {
    fn take(&mut self, repeat: &mut Repeat, decoder: &dyn Decoder, value: Value<'_>) -> Option<Arc<str>> {
        let id = match repeat {
            Repeat::Own => return None,
            Repeat::Lines(lines) => {
                if decoder.line_key(value).is_some_and(|key| lines.take(key, decoder)) {
                    return Some(Arc::clone(&lines.origin));
                }
                *repeat = Repeat::Own;
                return None;
            }
            Repeat::Start => {
                let Some(start) = decoder.session_start(value) else {
                    *repeat = Repeat::Own;
                    return None;
                };
                let Some(id) = start.repeats else {
                    *repeat = Repeat::Begun(start.id);
                    return None;
                };
                id
            }
            Repeat::Begun(own) => {
                let start = decoder.session_start(value).filter(|start| start.id != *own);
                *repeat = if start.is_some() { Repeat::Start } else { Repeat::Own };
                start?.id
            }
        };
        if self.missed >= MAX_MISSED {
            return None;
        }
        self.missed += 1;
        let mut lines = self.open(&id, decoder)?;
        self.missed -= 1;
        if matches!(repeat, Repeat::Start) && decoder.session_start(value).is_some_and(|start| start.id == id)
        {
            // This line is the first that is repeated.
            lines.next(decoder);
        }
        let origin = Arc::clone(&lines.origin);
        *repeat = Repeat::Lines(Box::new(lines));
        Some(origin)
    }

    /// Opens the file of a session, if it is found and begins as one.
    fn open(&mut self, id: &str, decoder: &dyn Decoder) -> Option<RepeatedLines> {
        let pieces = (self.find.as_mut()?)(id)?;
        let mut lines = RepeatedLines {
            origin: id.into(),
            dialects: self.dialects,
            pieces: Some(pieces),
            framer: Framer::new(self.max_line),
            next: VecDeque::new(),
            has_prompt: false,
        };
        let mut is_it = None;
        while is_it.is_none() && lines.pieces.is_some() {
            lines.fill(|record, next| {
                let is_start = || decoder.session_start(record.root()).is_some_and(|start| start.id == id);
                is_it = is_it.or_else(|| Some(is_start()));
                next.extend(decoder.line_key(record.root()));
            });
        }
        (is_it == Some(true)).then_some(lines)
    }
}

/// The lines of another session that may still be repeated.
struct RepeatedLines {
    origin: Arc<str>,
    dialects: Dialects,
    /// The rest of its file; `None` at its end.
    pieces: Option<Pieces>,
    framer: Framer,
    /// The next lines.
    next: VecDeque<LineKey>,
    /// Whether a prompt was repeated.
    has_prompt: bool,
}

impl RepeatedLines {
    /// Whether a line is one of the next of the other session. Lines before it were left out. After the first prompt that is repeated, these
    /// are lines of the same turn: the same prompt later in the session is no copy.
    fn take(&mut self, line: LineKey, decoder: &dyn Decoder) -> bool {
        while let Some(next) = self.next(decoder) {
            if next == line {
                self.has_prompt |= line.is_prompt;
                return true;
            }
            if next.is_prompt && self.has_prompt {
                return false;
            }
        }
        false
    }

    fn next(&mut self, decoder: &dyn Decoder) -> Option<LineKey> {
        while self.next.is_empty() && self.pieces.is_some() {
            self.fill(|record, next| next.extend(decoder.line_key(record.root())));
        }
        self.next.pop_front()
    }

    /// Reads pieces of the file, up to the next with a record or its end.
    fn fill(&mut self, mut each: impl FnMut(&Record, &mut VecDeque<LineKey>)) {
        let Self { dialects, framer, next, .. } = self;
        let mut frames = |frames: Frames<'_>| {
            let claim = |value: Value<'_>| dialects.is_event(value);
            LineReader::apart().read(frames, claim, |_, reading| match reading {
                ParsedLine::Record(record) => each(&record, next),
                ParsedLine::Parts(parts) => parts.records().for_each(|record| each(&record, next)),
                ParsedLine::Wrapped(_)
                | ParsedLine::Blank
                | ParsedLine::Text(_)
                | ParsedLine::Oversized { .. } => {}
            });
        };
        if let Some(piece) = self.pieces.as_mut().and_then(Iterator::next) {
            framer.push(&piece, &mut frames);
        } else {
            framer.finish(&mut frames);
            self.pieces = None;
        }
    }
}
