//! The scanner: one pass over a text, which notes where each value lies. It never recurses.
//!
//! It is the hottest loop there is. All of it is one function once compiled, and what it counts with stays in
//! registers: nothing that isn't inlined gets a reference to the [`Cursor`] or to [`Open`].

#![expect(clippy::inline_always, reason = "the loop over a record is one function: a third faster")]

use super::cursor::{Cursor, Misfit};
use super::{Damage, Kind, MAX_DEPTH, MAX_ELEMENTS, Node};

/// Containers that begin past this many nodes of one record are checked but not recorded.
const MAX_NODES: usize = 1 << 21;

/// What a scan found.
pub(super) struct Scanned {
    /// The value, and all in it.
    pub(super) nodes: Vec<Node>,
    /// Where the value ends.
    pub(super) end: usize,
    /// A container was cut at a limit.
    pub(super) cut: bool,
}

/// Scans the value at the start of a text.
pub(super) fn value_at_start(text: &str) -> Result<Scanned, Damage> {
    let mut cursor = Cursor::new(text.as_bytes());
    let scanned = run(&mut cursor);
    scanned.map_err(|Misfit| cursor.damage())
}

/// Scans a text that is one value and blanks.
pub(super) fn whole_value(text: &str) -> Result<Scanned, Damage> {
    let mut cursor = Cursor::new(text.as_bytes());
    let scanned = run(&mut cursor).and_then(|scanned| cursor.end().map(|()| scanned));
    scanned.map_err(|Misfit| cursor.damage())
}

/// The innermost container that is open.
///
/// While a container is open, its node keeps two things where its end will be known later: in `next` the
/// container around it; in `end`, while another is open inside of it, the number of its elements so far.
struct Open {
    /// Its node; of one that isn't recorded, that of the innermost one around it that is.
    node: u32,
    /// The elements of that one so far.
    elements: u32,
    /// How many of them are recorded.
    limit: u32,
    is_object: bool,
    depth: usize,
    /// The rest of the innermost recorded container is not recorded.
    is_muted: bool,
}

/// No container is open.
const NONE: u32 = u32::MAX;

/// What is written while scanning, and only written.
struct Sheet {
    nodes: Vec<Node>,
    /// Open containers that are checked but not recorded: whether each is an object.
    unrecorded: Bits,
    cut: bool,
}

/// A stack of bits.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    length: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        let (word, place) = (self.length / 64, self.length % 64);
        if word == self.words.len() {
            self.words.push(0);
        }
        self.words[word] = self.words[word] & !(1 << place) | u64::from(bit) << place;
        self.length += 1;
    }

    fn pop(&mut self) {
        self.length -= 1;
    }

    fn last(&self) -> Option<bool> {
        let top = self.length.checked_sub(1)?;
        Some(self.words[top / 64] >> (top % 64) & 1 == 1)
    }
}

fn run(shared: &mut Cursor<'_>) -> Result<Scanned, Misfit> {
    let mut at = *shared;
    // One node for some ten bytes is usual; long texts have fewer.
    let nodes = Vec::with_capacity((at.rest() / 10).min(4096) + 4);
    let mut sheet = Sheet { nodes, unrecorded: Bits::default(), cut: false };
    let open =
        Open { node: NONE, elements: 0, limit: MAX_ELEMENTS, is_object: false, depth: 0, is_muted: false };
    let done = values(&mut at, open, &mut sheet);
    *shared = at;
    done.map(|()| Scanned { nodes: sheet.nodes, end: at.position(), cut: sheet.cut })
}

/// Reads values until none is open.
#[inline(always)]
fn values(at: &mut Cursor<'_>, mut open: Open, sheet: &mut Sheet) -> Result<(), Misfit> {
    loop {
        let first = at.token();
        open.count(sheet);
        if value(first, at, &mut open, sheet)? {
            continue;
        }
        loop {
            if open.depth == 0 {
                return Ok(());
            }
            match at.token() {
                b',' => {
                    at.step();
                    if open.is_object {
                        let first = at.token();
                        key(first, at, &open, sheet)?;
                    }
                    break;
                }
                b'}' if open.is_object => open.close(at, sheet),
                b']' if !open.is_object => open.close(at, sheet),
                _ => return Err(Misfit),
            }
        }
    }
}

/// Reads a scalar, or opens a container and reads up to its first element (true). `first`: the token that it
/// begins with.
#[inline(always)]
fn value(first: u8, at: &mut Cursor<'_>, open: &mut Open, sheet: &mut Sheet) -> Result<bool, Misfit> {
    let start = at.position();
    let mut escaped = false;
    let kind = match first {
        b'"' => {
            escaped = at.string()?;
            Kind::String
        }
        b'{' => {
            open.enter(Kind::Object, at, sheet);
            let first = at.token();
            if first == b'}' {
                open.close(at, sheet);
                return Ok(false);
            }
            key(first, at, open, sheet)?;
            return Ok(true);
        }
        b'[' => {
            open.enter(Kind::Array, at, sheet);
            if at.token() == b']' {
                open.close(at, sheet);
                return Ok(false);
            }
            return Ok(true);
        }
        b't' => at.word(b"true").map(|()| Kind::True)?,
        b'f' => at.word(b"false").map(|()| Kind::False)?,
        b'n' => at.word(b"null").map(|()| Kind::Null)?,
        b'-' | b'0'..=b'9' => at.number().map(|()| Kind::Number)?,
        _ => return Err(Misfit),
    };
    open.record(kind, start, at.position(), escaped, sheet);
    Ok(false)
}

/// Reads a key and its colon. `first`: the token that it begins with.
#[inline(always)]
fn key(first: u8, at: &mut Cursor<'_>, open: &Open, sheet: &mut Sheet) -> Result<(), Misfit> {
    let start = at.position();
    if first != b'"' {
        return Err(Misfit);
    }
    let escaped = at.string()?;
    open.record(Kind::String, start, at.position(), escaped, sheet);
    if at.token() != b':' {
        return Err(Misfit);
    }
    at.step();
    Ok(())
}

impl Open {
    /// Counts an element and mutes the rest at the limit.
    #[inline(always)]
    fn count(&mut self, sheet: &mut Sheet) {
        if !self.is_muted {
            self.elements += 1;
            if self.elements > self.limit {
                self.mute(sheet);
            }
        }
    }

    /// Leaves the rest unrecorded, beginning with the value at hand.
    #[inline(always)]
    fn mute(&mut self, sheet: &mut Sheet) {
        self.is_muted = true;
        sheet.cut = true;
        if self.is_object {
            // Its key was recorded before the limit was seen.
            sheet.nodes.pop();
        }
    }

    #[inline(always)]
    fn record(&self, kind: Kind, start: usize, end: usize, escaped: bool, sheet: &mut Sheet) {
        if !self.is_muted {
            let next = sheet.nodes.len() as u32 + 1;
            sheet.nodes.push(Node { start: start as u32, end: end as u32, next, kind, escaped });
        }
    }

    #[inline(always)]
    fn enter(&mut self, kind: Kind, at: &mut Cursor<'_>, sheet: &mut Sheet) {
        if !self.is_muted && (self.depth >= MAX_DEPTH || sheet.nodes.len() > MAX_NODES) {
            self.mute(sheet);
        }
        self.is_object = kind == Kind::Object;
        if self.is_muted {
            sheet.unrecorded.push(self.is_object);
        } else {
            if let Some(around) = sheet.nodes.get_mut(self.node as usize) {
                around.end = self.elements;
            }
            let around = std::mem::replace(&mut self.node, sheet.nodes.len() as u32);
            let start = at.position() as u32;
            sheet.nodes.push(Node { start, end: 0, next: around, kind, escaped: false });
            self.elements = 0;
        }
        at.step();
        self.depth += 1;
        self.set_limit();
    }

    #[inline(always)]
    fn close(&mut self, at: &mut Cursor<'_>, sheet: &mut Sheet) {
        at.step();
        self.depth -= 1;
        if sheet.unrecorded.length > 0 {
            self.is_object = in_object_around(self.node, sheet);
            return;
        }
        self.is_muted = false;
        let next = sheet.nodes.len() as u32;
        let node = &mut sheet.nodes[self.node as usize];
        node.end = at.position() as u32;
        self.node = std::mem::replace(&mut node.next, next);
        if let Some(around) = sheet.nodes.get(self.node as usize) {
            self.elements = around.end;
            self.is_object = around.kind == Kind::Object;
        }
        self.set_limit();
    }

    /// The outermost array may be a whole session on one line: its events are not cut before memory ends.
    #[inline(always)]
    fn set_limit(&mut self) {
        self.limit = if self.depth == 1 && !self.is_object { MAX_NODES as u32 } else { MAX_ELEMENTS };
    }
}

/// Closes a container that isn't recorded; whether the one around it is an object. `recorded`: the innermost one that is.
#[cold]
fn in_object_around(recorded: u32, sheet: &mut Sheet) -> bool {
    sheet.unrecorded.pop();
    let recorded = || sheet.nodes.get(recorded as usize).is_some_and(|node| node.kind == Kind::Object);
    sheet.unrecorded.last().unwrap_or_else(recorded)
}
