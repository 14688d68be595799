//! Follows JSON over several lines: finds where its records begin and end.
//!
//! The records are the objects at the top, and those in an array at the top. Only the structure is checked here: what was found is
//! scanned as a record afterwards.

use std::ops::Range;

use crate::json::BitStack;

/// A text that is no JSON, or whose records are no objects.
#[derive(Debug)]
pub(super) struct NoDocument;

/// The place in the JSON up to which it was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentPlace {
    /// Outside of everything: it may end here.
    Outside,
    /// In an array at the top, between two records.
    Between,
    /// Inside a record, between two tokens.
    Inside,
    /// Inside a string of a record.
    InString,
}

/// What may come next, beside blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
}

/// A token that isn't complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenToken {
    None,
    String { is_escaped: bool },
    Scalar,
}

/// Follows JSON, piece by piece.
#[derive(Debug)]
pub(super) struct DocumentScanner {
    /// For each open container, whether it is an object.
    open: BitStack,
    expected: Expected,
    token: OpenToken,
    /// Whether the outermost container is an array, whose elements are the records.
    is_array: bool,
    /// Whether a comma may come: after something at the top.
    has_any: bool,
    /// The start of the open record.
    start: usize,
}

impl DocumentScanner {
    pub(super) fn new() -> Self {
        Self {
            open: BitStack::default(),
            expected: Expected::Value,
            token: OpenToken::None,
            is_array: false,
            has_any: false,
            start: 0,
        }
    }

    /// A scanner in an array at the top, between two records.
    pub(super) fn in_array() -> Self {
        let mut open = BitStack::default();
        open.push(false);
        let expected = Expected::ValueOrEnd;
        Self { open, expected, is_array: true, has_any: true, ..Self::new() }
    }

    /// The number of containers around records.
    fn base(&self) -> usize {
        usize::from(self.is_array)
    }

    /// Whether it is in a string, or after a number or word that may go on.
    pub(super) fn is_in_token(&self) -> bool {
        self.token != OpenToken::None
    }

    /// Where it is.
    pub(super) fn place(&self) -> DocumentPlace {
        match self.open.len() {
            _ if matches!(self.token, OpenToken::String { .. }) => DocumentPlace::InString,
            0 => DocumentPlace::Outside,
            1 if self.is_array => DocumentPlace::Between,
            _ => DocumentPlace::Inside,
        }
    }

    /// The start of the open record, if one is open.
    pub(super) fn open_record(&self) -> Option<usize> {
        (self.open.len() > self.base()).then_some(self.start)
    }

    /// Follows a piece of the text, which begins at byte `start` of it, and adds the ranges of the records that end there.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        start: usize,
        records: &mut Vec<Range<usize>>,
    ) -> Result<(), NoDocument> {
        use Expected::{Colon, CommaOrEnd, Key, KeyOrEnd, Value, ValueOrEnd};
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.token {
                OpenToken::String { is_escaped: true } => {
                    self.token = OpenToken::String { is_escaped: false };
                    at += 1;
                    continue;
                }
                OpenToken::String { .. } => {
                    let Some(length) = memchr::memchr2(b'"', b'\\', &bytes[at..]) else { return Ok(()) };
                    at += length + 1;
                    if bytes[at - 1] == b'\\' {
                        self.token = OpenToken::String { is_escaped: true };
                    } else {
                        self.token = OpenToken::None;
                        self.expected = if self.expected == Key { Colon } else { CommaOrEnd };
                    }
                    continue;
                }
                OpenToken::Scalar if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-') => {
                    at += 1;
                    continue;
                }
                OpenToken::Scalar => self.token = OpenToken::None,
                OpenToken::None => {}
            }
            let (depth, base) = (self.open.len(), self.base());
            let in_object = depth > 0 && self.open.get(depth - 1);
            let takes_value = matches!(self.expected, Value | ValueOrEnd) || depth == 0;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'{' if takes_value => {
                    if depth == base {
                        self.start = start + at;
                    }
                    self.open.push(true);
                    self.expected = KeyOrEnd;
                }
                b'[' if takes_value && (depth == 0 || depth > base) => {
                    self.is_array |= depth == 0;
                    self.open.push(false);
                    self.expected = ValueOrEnd;
                }
                b'"' if matches!(self.expected, Key | KeyOrEnd) => {
                    self.expected = Key;
                    self.token = OpenToken::String { is_escaped: false };
                }
                b'"' if takes_value && depth > base => self.token = OpenToken::String { is_escaped: false },
                b'-' | b'0'..=b'9' | b't' | b'f' | b'n' if takes_value && depth > base => {
                    self.expected = CommaOrEnd;
                    self.token = OpenToken::Scalar;
                }
                b':' if self.expected == Colon => self.expected = Value,
                b',' if depth == 0 && self.has_any => {}
                b',' if depth > 0 && self.expected == CommaOrEnd => {
                    self.expected = match in_object {
                        true => Key,
                        // A comma after the last record is common, though it is wrong.
                        false if depth == base => ValueOrEnd,
                        false => Value,
                    };
                }
                b'}' if in_object && matches!(self.expected, KeyOrEnd | CommaOrEnd) => {
                    self.open.pop();
                    if depth == base + 1 {
                        records.push(self.start..start + at + 1);
                    }
                    self.expected = CommaOrEnd;
                    self.has_any = true;
                }
                b']' if depth > 0 && !in_object && matches!(self.expected, ValueOrEnd | CommaOrEnd) => {
                    self.open.pop();
                    self.is_array &= depth > 1;
                    self.expected = CommaOrEnd;
                    self.has_any = true;
                }
                _ => return Err(NoDocument),
            }
            at += 1;
        }
        Ok(())
    }
}
