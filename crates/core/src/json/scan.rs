//! The scanner: one pass over a text, which notes where each value lies. It never recurses.

use super::{Damage, Kind, MAX_DEPTH, MAX_ELEMENTS, Node};

/// Nodes of one record past this are checked but not recorded.
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

/// The scanner.
///
/// While a container is open, its node keeps two things where its end will be known later: in `next` the
/// container around it; in `end`, while another is open inside of it, the number of its elements so far.
pub(super) struct Scan<'a> {
    bytes: &'a [u8],
    pos: usize,
    nodes: Vec<Node>,
    /// The innermost open container that is recorded.
    open: u32,
    /// Its elements so far.
    elements: u32,
    /// The innermost open container, recorded or not, is an object.
    in_object: bool,
    depth: usize,
    /// Open containers that are checked but not recorded: whether each is an object.
    unrecorded: Bits,
    /// The rest of the innermost recorded container is not recorded.
    muted: bool,
    cut: bool,
}

/// No container is open.
const NONE: u32 = u32::MAX;

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

    fn last(&self) -> Option<bool> {
        let top = self.length.checked_sub(1)?;
        Some(self.words[top / 64] >> (top % 64) & 1 == 1)
    }
}

#[expect(clippy::inline_always, reason = "the loop over a record is one function: a third faster")]
impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        // One node for some ten bytes is usual; long texts have fewer.
        let nodes = Vec::with_capacity((bytes.len() / 10).min(4096) + 4);
        Self {
            bytes,
            pos: 0,
            nodes,
            open: NONE,
            elements: 0,
            in_object: false,
            depth: 0,
            unrecorded: Bits::default(),
            muted: false,
            cut: false,
        }
    }

    /// Reads the value at the start of the text.
    pub(super) fn value_at_start(mut self) -> Result<Scanned, Damage> {
        self.run()?;
        Ok(Scanned { nodes: self.nodes, end: self.pos, cut: self.cut })
    }

    /// Reads a text that is one value and blanks.
    pub(super) fn whole_value(mut self) -> Result<Scanned, Damage> {
        self.run()?;
        self.expect_end()?;
        Ok(Scanned { nodes: self.nodes, end: self.pos, cut: self.cut })
    }

    #[cold]
    fn damage(&self) -> Damage {
        Damage { at: self.pos, incomplete: self.pos >= self.bytes.len() }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    #[inline(always)]
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.pos += 1;
        }
    }

    fn expect_end(&mut self) -> Result<(), Damage> {
        self.skip_blanks();
        if self.pos == self.bytes.len() { Ok(()) } else { Err(self.damage()) }
    }

    fn run(&mut self) -> Result<(), Damage> {
        loop {
            self.skip_blanks();
            self.count_element();
            let opened = self.value()?;
            if opened {
                continue;
            }
            loop {
                if self.depth == 0 {
                    return Ok(());
                }
                self.skip_blanks();
                match self.peek() {
                    Some(b',') => {
                        self.pos += 1;
                        if self.in_object {
                            self.skip_blanks();
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if self.in_object => self.close(),
                    Some(b']') if !self.in_object => self.close(),
                    _ => return Err(self.damage()),
                }
            }
        }
    }

    /// Reads a scalar, or opens a container and reads up to its first element (true).
    #[inline(always)]
    fn value(&mut self) -> Result<bool, Damage> {
        let start = self.pos;
        let kind = match self.peek() {
            Some(b'"') => {
                let escaped = self.string()?;
                self.record(Kind::String, start, escaped);
                return Ok(false);
            }
            Some(b'{') => {
                self.open(Kind::Object);
                self.skip_blanks();
                if self.peek() == Some(b'}') {
                    self.close();
                    return Ok(false);
                }
                self.key()?;
                return Ok(true);
            }
            Some(b'[') => {
                self.open(Kind::Array);
                self.skip_blanks();
                if self.peek() == Some(b']') {
                    self.close();
                    return Ok(false);
                }
                return Ok(true);
            }
            Some(b't') => self.word(b"true", Kind::True)?,
            Some(b'f') => self.word(b"false", Kind::False)?,
            Some(b'n') => self.word(b"null", Kind::Null)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => return Err(self.damage()),
        };
        self.record(kind, start, false);
        Ok(false)
    }

    /// Counts an element of the innermost container and mutes the rest at the limits.
    #[inline(always)]
    fn count_element(&mut self) {
        if self.muted {
            return;
        }
        self.elements += 1;
        // The outermost array may be a whole session on one line: its events are not cut.
        let is_stream = || self.depth == 1 && !self.in_object;
        if self.elements > MAX_ELEMENTS && !is_stream() || self.nodes.len() > MAX_NODES {
            self.mute();
        }
    }

    /// Leaves the rest of the innermost container unrecorded, beginning with the value at hand.
    fn mute(&mut self) {
        self.muted = true;
        self.cut = true;
        if self.in_object {
            // Its key was recorded before the limit was seen.
            self.nodes.pop();
        }
    }

    #[inline(always)]
    fn record(&mut self, kind: Kind, start: usize, escaped: bool) {
        if !self.muted {
            let next = self.nodes.len() as u32 + 1;
            self.nodes.push(Node { start: start as u32, end: self.pos as u32, next, kind, escaped });
        }
    }

    #[inline(always)]
    fn open(&mut self, kind: Kind) {
        if !self.muted && self.depth >= MAX_DEPTH {
            self.mute();
        }
        self.in_object = kind == Kind::Object;
        if self.muted {
            self.unrecorded.push(self.in_object);
        } else {
            if let Some(around) = self.nodes.get_mut(self.open as usize) {
                around.end = self.elements;
            }
            let around = std::mem::replace(&mut self.open, self.nodes.len() as u32);
            self.nodes.push(Node { start: self.pos as u32, end: 0, next: around, kind, escaped: false });
            self.elements = 0;
        }
        self.pos += 1;
        self.depth += 1;
    }

    #[inline(always)]
    fn close(&mut self) {
        self.pos += 1;
        self.depth -= 1;
        if self.unrecorded.length > 0 {
            self.close_unrecorded();
            return;
        }
        self.muted = false;
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[self.open as usize];
        node.end = self.pos as u32;
        self.open = std::mem::replace(&mut node.next, next);
        if let Some(around) = self.nodes.get(self.open as usize) {
            self.elements = around.end;
            self.in_object = around.kind == Kind::Object;
        }
    }

    #[cold]
    fn close_unrecorded(&mut self) {
        self.unrecorded.length -= 1;
        let is_object = |node: &Node| node.kind == Kind::Object;
        let recorded = || self.nodes.get(self.open as usize).is_some_and(is_object);
        self.in_object = self.unrecorded.last().unwrap_or_else(recorded);
    }

    #[inline(always)]
    fn key(&mut self) -> Result<(), Damage> {
        if self.peek() != Some(b'"') {
            return Err(self.damage());
        }
        let start = self.pos;
        let escaped = self.string()?;
        self.record(Kind::String, start, escaped);
        self.skip_blanks();
        if self.peek() != Some(b':') {
            return Err(self.damage());
        }
        self.pos += 1;
        Ok(())
    }

    /// Passes a string; says whether it has escapes.
    #[inline(always)]
    fn string(&mut self) -> Result<bool, Damage> {
        let mut escaped = false;
        self.pos += 1;
        loop {
            self.pos += plain_length(&self.bytes[self.pos..]);
            match self.peek() {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(self.damage()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Damage> {
        match self.bytes.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 2,
            Some(b'u') => {
                for at in self.pos + 2..self.pos + 6 {
                    if !self.bytes.get(at).is_some_and(u8::is_ascii_hexdigit) {
                        self.pos = at.min(self.bytes.len());
                        return Err(self.damage());
                    }
                }
                self.pos += 6;
            }
            _ => {
                self.pos = (self.pos + 1).min(self.bytes.len());
                return Err(self.damage());
            }
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Result<Kind, Damage> {
        for &byte in word {
            if self.peek() != Some(byte) {
                return Err(self.damage());
            }
            self.pos += 1;
        }
        Ok(kind)
    }

    fn number(&mut self) -> Result<Kind, Damage> {
        if self.peek() == Some(b'-') {
            self.pos += 1;
        }
        if self.peek() == Some(b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(Kind::Number)
    }

    fn digits(&mut self) -> Result<(), Damage> {
        let start = self.pos;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos += 1;
        }
        if self.pos == start { Err(self.damage()) } else { Ok(()) }
    }
}

/// How many bytes from the start need no attention: no quote, backslash or control character.
#[inline(always)]
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let special = word.wrapping_sub(ONES * 0x20) & !word
            | quote.wrapping_sub(ONES) & !quote
            | backslash.wrapping_sub(ONES) & !backslash;
        // A borrow may mark bytes after the first that fits, never one before it.
        let special = special & HIGHS;
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte < 0x20 || byte == b'"' || byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}
