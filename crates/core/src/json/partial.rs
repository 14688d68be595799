//! An index of JSON that comes in pieces: reads the part of it that is there before it is complete.
//!
//! ```text
//! {"path":"a.rs","content":"fn a() {\n  1\u00     ─▶   {"path":"a.rs","content":"fn a() {\n  1"}
//! ```
//!
//! Pieces may end anywhere: in an escape, between surrogates, in a number or a key. Each byte is scanned once, however
//! often the result is requested. The text itself stays with its owner, who passes the whole of it each time it has grown.

use std::collections::VecDeque;

use memchr::memchr2;

use super::cursor::Cursor;
use super::scan::BitStack;
use super::{MAX_DEPTH, Record};

/// How many strings of the longest length a readable value may contain, or as much in shorter ones: this limits the cost of reading it.
const MOST_STRINGS: usize = 16;

/// An index of a JSON value that is being written.
#[derive(Clone, Debug)]
pub struct PartialJson {
    /// The longest string that isn't cut, in bytes as written.
    longest: usize,
    /// How many bytes were scanned.
    at: usize,
    state: ScanState,
    /// The open containers, outermost first: whether each is an object.
    open: BitStack,
    /// The text up to here lacks only the ends of the first `whole_depth` containers.
    whole: usize,
    whole_depth: usize,
    /// The complete strings that are too long.
    long: Vec<LongString>,
}

/// The readable part of a JSON value that is being written.
#[derive(Clone, Debug)]
pub struct ReadableJson {
    /// The complete fields, and the readable part of the string that is being written.
    pub record: Record,
    /// The string that is being written, by node.
    pub open: Option<u32>,
    /// Strings whose beginning is left out, by node, each with the size of that beginning. Such a string begins with a line that
    /// says so: see [`left_out`].
    pub cuts: Vec<(u32, Cut)>,
}

/// The size of a part of a text that is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of decoded text.
    pub bytes: usize,
    /// Line feeds.
    pub lines: usize,
}

/// The note in place of a part of a text that is left out: `[… 84512 bytes left out]`.
pub fn left_out(bytes: usize) -> String {
    format!("[… {bytes} bytes left out]")
}

/// The token that is expected next.
#[derive(Clone, Debug)]
enum ScanState {
    /// A value, or the end of an array that has just begun.
    Value { may_end: bool },
    /// A key, or the end of an object that has just begun.
    Key { may_end: bool },
    /// The colon after a key.
    Colon,
    /// A comma or the end of the container, after a value.
    Next,
    /// The rest of a string.
    String(OpenString),
    /// The rest of a number or a word that begins at `start`.
    Scalar { start: usize },
    /// None: the text isn't JSON.
    Damaged,
}

/// A string that is being written.
#[derive(Clone, Debug)]
struct OpenString {
    is_key: bool,
    /// The offset of its opening quote.
    start: usize,
    /// The end of its readable part.
    readable: usize,
    /// The size of that part, decoded.
    size: Cut,
    escape: Escape,
    /// Whether the first half of a surrogate pair was read, and not yet the second.
    has_half: bool,
    /// Places near its end where it may be cut. They depend only on the text, not on how it was split into pieces.
    marks: VecDeque<CutPlace>,
    /// The offset of the last such place at the start of a line.
    line_mark: Option<usize>,
}

/// The part of an escape that was read.
#[derive(Clone, Copy, Debug)]
enum Escape {
    /// No escape has begun.
    No,
    /// The backslash.
    Begun,
    /// `\u` and this many digits.
    Code { digits: u8, code: u16 },
}

/// A place in a string where it may be cut.
#[derive(Clone, Copy, Debug)]
struct CutPlace {
    at: usize,
    /// Whether a line begins there.
    is_line: bool,
    /// The size of the string before it.
    before: Cut,
}

/// A complete string that is too long.
#[derive(Clone, Copy, Debug)]
struct LongString {
    start: usize,
    end: usize,
    cut: CutPlace,
}

impl PartialJson {
    /// An index of an empty text. Of strings longer than `longest` bytes as written, only the end is kept.
    pub fn new(longest: usize) -> Self {
        Self {
            longest,
            at: 0,
            state: ScanState::Value { may_end: false },
            open: BitStack::default(),
            whole: 0,
            whole_depth: 0,
            long: Vec::new(),
        }
    }

    /// Scans the new part at the end of the text.
    pub fn read(&mut self, text: &str) {
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match &mut self.state {
                ScanState::String(string) => match string.read(text, self.at, self.longest) {
                    Some(at) if at < bytes.len() => self.end_string(at),
                    Some(at) => self.at = at,
                    None => self.state = ScanState::Damaged,
                },
                ScanState::Scalar { start } => {
                    let is_end =
                        |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
                    let length = bytes[self.at..].iter().position(is_end);
                    self.at = length.map_or(bytes.len(), |length| self.at + length);
                    if length.is_some() {
                        if is_scalar(&bytes[*start..self.at]) {
                            self.end_value();
                        } else {
                            self.state = ScanState::Damaged;
                        }
                    }
                }
                ScanState::Damaged => self.at = bytes.len(),
                _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                _ => self.token(byte),
            }
        }
    }

    /// Whether the value is complete. A number or a word outside of containers never is, since it may continue.
    pub fn is_whole(&self) -> bool {
        matches!(self.state, ScanState::Next) && self.open.len() == 0
    }

    /// The readable part of the text, which must be the one last scanned. `None` if nothing is readable, if it isn't JSON, or if it
    /// is larger than 16 strings of the longest length.
    ///
    /// A number is left out until something follows it, since it may continue; so is a key without a value.
    pub fn readable(&self, text: &str) -> Option<ReadableJson> {
        let string = match &self.state {
            ScanState::Damaged => return None,
            ScanState::String(string) if !string.is_key && self.open.len() <= MAX_DEPTH => Some(string),
            _ => None,
        };
        let word_end = match self.state {
            ScanState::Scalar { start } if self.open.len() <= MAX_DEPTH => {
                matches!(&text[start..self.at], "true" | "false" | "null").then_some(self.at)
            }
            _ => None,
        };
        let (end, depth) = match (string, word_end) {
            (Some(string), _) => (string.start + 1, self.open.len()),
            (None, Some(end)) => (end, self.open.len()),
            (None, None) => (self.whole, self.whole_depth),
        };
        if end == 0 {
            return None;
        }
        let cut: usize = self.long.iter().map(|long| long.cut.at - long.start).sum();
        if end - cut > MOST_STRINGS * self.longest.max(MAX_DEPTH) {
            return None;
        }
        let mut out = String::new();
        let mut from = 0;
        let mut cut_at = Vec::new();
        for long in &self.long {
            out.push_str(&text[from..=long.start]);
            cut_at.push((out.len() - 1, long.cut.before));
            out.extend([&left_out(long.cut.before.bytes), "\\n", &text[long.cut.at..long.end]]);
            from = long.end;
        }
        out.push_str(&text[from..end]);
        let mut open_at = None;
        if let Some(string) = string {
            open_at = Some(out.len() - 1);
            let cut = string.cut(self.longest);
            if let Some(cut) = cut {
                cut_at.push((out.len() - 1, cut.before));
                out.extend([&left_out(cut.before.bytes), "\\n"]);
            }
            out.extend([&text[cut.map_or(end, |cut| cut.at)..string.readable], "\""]);
        }
        out.extend((0..depth).rev().map(|depth| if self.open.get(depth) { '}' } else { ']' }));
        let record = Record::from_line(out).ok()?;
        let open = open_at.and_then(|at| record.node_at(at));
        let cuts = cut_at.into_iter().filter_map(|(at, cut)| Some((record.node_at(at)?, cut))).collect();
        Some(ReadableJson { record, open, cuts })
    }

    /// Scans a byte that is neither blank nor within a string, a number or a word.
    fn token(&mut self, byte: u8) {
        let is_object = self.open.len() > 0 && self.open.get(self.open.len() - 1);
        let start = self.at;
        self.at += 1;
        self.state = match (&self.state, byte) {
            (ScanState::Value { may_end: true }, b']') | (ScanState::Key { may_end: true }, b'}') => {
                return self.end_container();
            }
            (ScanState::Value { .. }, b'{' | b'[') => return self.begin_container(byte == b'{'),
            (ScanState::Value { .. }, b'"') => ScanState::String(OpenString::new(start, false)),
            (ScanState::Value { .. }, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => ScanState::Scalar { start },
            (ScanState::Key { .. }, b'"') => ScanState::String(OpenString::new(start, true)),
            (ScanState::Colon, b':') => ScanState::Value { may_end: false },
            (ScanState::Next, b',') if is_object => ScanState::Key { may_end: false },
            (ScanState::Next, b',') if self.open.len() > 0 => ScanState::Value { may_end: false },
            (ScanState::Next, b'}') if is_object => return self.end_container(),
            (ScanState::Next, b']') if !is_object && self.open.len() > 0 => return self.end_container(),
            _ => ScanState::Damaged,
        };
    }

    fn begin_container(&mut self, is_object: bool) {
        self.open.push(is_object);
        self.state =
            if is_object { ScanState::Key { may_end: true } } else { ScanState::Value { may_end: true } };
        // Other containers are readable once they contain a value.
        if self.open.len() == 1 {
            (self.whole, self.whole_depth) = (self.at, 1);
        }
    }

    fn end_container(&mut self) {
        self.open.pop();
        self.end_value();
    }

    /// Ends a string before the quote at `end`.
    fn end_string(&mut self, end: usize) {
        let ScanState::String(string) = std::mem::replace(&mut self.state, ScanState::Colon) else { return };
        self.at = end + 1;
        if string.is_key {
            return;
        }
        if let Some(cut) = string.cut(self.longest).filter(|_| self.open.len() <= MAX_DEPTH) {
            self.long.push(LongString { start: string.start, end, cut });
        }
        self.end_value();
    }

    /// Ends a value here.
    fn end_value(&mut self) {
        self.state = ScanState::Next;
        if self.open.len() <= MAX_DEPTH {
            (self.whole, self.whole_depth) = (self.at, self.open.len());
        }
    }
}

/// Whether a text is a number or a word of JSON.
fn is_scalar(text: &[u8]) -> bool {
    let mut cursor = Cursor::at(0, text);
    let first = cursor.token();
    cursor.scalar(first).is_ok() && cursor.position() == text.len()
}

impl OpenString {
    fn new(start: usize, is_key: bool) -> Self {
        Self {
            is_key,
            start,
            readable: start + 1,
            size: Cut::default(),
            escape: Escape::No,
            has_half: false,
            marks: VecDeque::new(),
            line_mark: None,
        }
    }

    /// Continues to scan from `at`. Returns the offset of the closing quote, or the end of the text; `None` if it isn't JSON.
    fn read(&mut self, text: &str, mut at: usize, longest: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        while at < bytes.len() {
            match self.escape {
                Escape::No => {
                    let end = memchr2(b'"', b'\\', &bytes[at..]).map_or(bytes.len(), |length| at + length);
                    if bytes[at..end].iter().any(|&byte| byte < b' ') {
                        return None;
                    }
                    if end > at {
                        self.plain(text, at, end, longest);
                    }
                    match bytes.get(end) {
                        Some(b'"') => {
                            self.end_half(end);
                            return Some(end);
                        }
                        Some(_) => {
                            self.escape = Escape::Begun;
                            at = end + 1;
                        }
                        None => at = end,
                    }
                }
                Escape::Begun => {
                    self.escape = Escape::No;
                    match bytes[at] {
                        b'u' => self.escape = Escape::Code { digits: 0, code: 0 },
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                            self.end_half(at - 1);
                            self.escaped(at + 1, 1, bytes[at] == b'n', longest);
                        }
                        _ => return None,
                    }
                    at += 1;
                }
                Escape::Code { digits, code } => {
                    let digit = char::from(bytes[at]).to_digit(16)?;
                    let code = code << 4 | digit as u16;
                    at += 1;
                    self.escape = Escape::Code { digits: digits + 1, code };
                    if digits == 3 {
                        self.escape = Escape::No;
                        self.coded(code, at, longest);
                    }
                }
            }
        }
        Some(at)
    }

    /// Scans text without escapes, which ends at `end`.
    fn plain(&mut self, text: &str, start: usize, end: usize, longest: usize) {
        self.end_half(start);
        let before = self.size.bytes;
        let step = step(longest);
        // Places further back would be dropped again. A character has up to four bytes.
        let mut next = (start + 1).max(end.saturating_sub(longest + 4)).next_multiple_of(step);
        while next <= end && !self.is_key {
            let at = (next..=end).find(|&at| text.is_char_boundary(at)).unwrap_or(end);
            self.readable = at;
            self.size.bytes = before + at - start;
            self.mark(false, longest);
            next = (at + 1).next_multiple_of(step);
        }
        self.readable = end;
        self.size.bytes = before + end - start;
    }

    /// Scans an escape that ends before `end` and decodes to this many bytes.
    fn escaped(&mut self, end: usize, bytes: usize, is_line_end: bool, longest: usize) {
        let start = self.readable;
        self.readable = end;
        self.size.bytes += bytes;
        self.size.lines += usize::from(is_line_end);
        let part = (step(longest) / 4).max(1);
        let is_first_line = || self.line_mark.is_none_or(|at| at / part != end / part);
        if is_line_end && is_first_line() {
            self.line_mark = Some(end);
            self.mark(true, longest);
        } else if start / step(longest) != end / step(longest) {
            self.mark(false, longest);
        }
    }

    /// Scans an escape with a code, which ends before `end`.
    fn coded(&mut self, code: u16, end: usize, longest: usize) {
        match code {
            0xdc00..=0xdfff if self.has_half => {
                self.has_half = false;
                self.escaped(end, 4, false, longest);
            }
            0xd800..=0xdbff => {
                self.end_half(end - 6);
                self.has_half = true;
            }
            _ => {
                self.end_half(end - 6);
                let ch = char::from_u32(code.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.escaped(end, ch.len_utf8(), ch == '\n', longest);
            }
        }
    }

    /// Ends a lone first half of a surrogate pair, if there is one: something else follows at `end`.
    fn end_half(&mut self, end: usize) {
        if std::mem::take(&mut self.has_half) {
            self.readable = end;
            self.size.bytes += char::REPLACEMENT_CHARACTER.len_utf8();
        }
    }

    /// Notes that the string may be cut here, and drops places that are too far back.
    fn mark(&mut self, is_line: bool, longest: usize) {
        if self.is_key {
            return;
        }
        self.marks.push_back(CutPlace { at: self.readable, is_line, before: self.size });
        let first = self.readable.saturating_sub(longest);
        while self.marks.front().is_some_and(|mark| mark.at < first) {
            self.marks.pop_front();
        }
    }

    /// The place where it is cut if it is longer than `longest`: the start of a line if there is one nearby.
    fn cut(&self, longest: usize) -> Option<CutPlace> {
        let first = self.readable.saturating_sub(longest);
        if first <= self.start + 1 {
            return None;
        }
        let mut marks = self.marks.iter().skip_while(|mark| mark.at < first);
        let here = CutPlace { at: self.readable, is_line: false, before: self.size };
        let mark = marks.next().copied().unwrap_or(here);
        let mut near = marks.take_while(|mark| mark.at <= first + step(longest));
        if mark.is_line { Some(mark) } else { near.find(|mark| mark.is_line).copied().or(Some(mark)) }
    }
}

/// The distance between places where a string may be cut.
fn step(longest: usize) -> usize {
    (longest / 16).max(1)
}

#[cfg(test)]
mod tests;
