//! A position in a text that is being scanned. It skips blanks, punctuation and scalars.

#![expect(clippy::inline_always, reason = "the loop over a record is one function: a third faster")]

use super::marks::{BLOCK, marks};
use super::{Damage, ValueKind};

/// The token at the end of the text, or at a byte that begins no token.
pub(super) const END: u8 = 0;

/// The error that the byte at the cursor doesn't fit.
pub(super) struct Misfit;

/// A position in a text.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    /// The special bytes in the block that begins at `marked`.
    marks: u64,
    marked: usize,
}

impl<'a> Cursor<'a> {
    /// A position in a text.
    pub(super) fn at(position: usize, bytes: &'a [u8]) -> Self {
        Self { bytes, position, marks: 0, marked: usize::MAX }
    }

    /// How many bytes are before it.
    #[inline(always)]
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// How many bytes are left.
    pub(super) fn rest(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// The damage at this position.
    pub(super) fn damage(&self) -> Damage {
        Damage { at: self.position, incomplete: self.position >= self.bytes.len() }
    }

    /// The byte at this position, or `None` at the end.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    /// Skips the byte that was peeked.
    #[inline(always)]
    pub(super) fn step(&mut self) {
        self.position += 1;
    }

    /// Skips blanks, and returns the byte after them, or [`END`].
    #[inline(always)]
    pub(super) fn token(&mut self) -> u8 {
        loop {
            match self.bytes.get(self.position) {
                Some(&byte) if byte > b' ' => return byte,
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.step(),
                // No token is a control character.
                _ => return END,
            }
        }
    }

    /// Skips blanks, after which the text must end.
    pub(super) fn end(&mut self) -> Result<(), Misfit> {
        let _ = self.token();
        if self.peek().is_none() { Ok(()) } else { Err(Misfit) }
    }

    /// Skips the scalar that begins with the token `first`. Returns its type, and whether it is a string with escapes.
    #[inline(always)]
    pub(super) fn scalar(&mut self, first: u8) -> Result<(ValueKind, bool), Misfit> {
        if first == b'"' {
            return Ok((ValueKind::String, self.string()?));
        }
        let kind = match first {
            b't' => self.word(b"true").map(|()| ValueKind::True)?,
            b'f' => self.word(b"false").map(|()| ValueKind::False)?,
            b'n' => self.word(b"null").map(|()| ValueKind::Null)?,
            b'-' | b'0'..=b'9' => self.number().map(|()| ValueKind::Number)?,
            _ => return Err(Misfit),
        };
        Ok((kind, false))
    }

    /// Skips the key that begins with the token `first`. Returns whether it has escapes.
    #[inline(always)]
    pub(super) fn key(&mut self, first: u8) -> Result<bool, Misfit> {
        if first == b'"' { self.string() } else { Err(Misfit) }
    }

    /// Skips the colon after a key.
    #[inline(always)]
    pub(super) fn colon(&mut self) -> Result<(), Misfit> {
        if self.token() != b':' {
            return Err(Misfit);
        }
        self.step();
        Ok(())
    }

    /// Skips the string that begins here. Returns whether it has escapes.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<bool, Misfit> {
        let mut escaped = false;
        self.step();
        loop {
            self.skip_plain();
            match self.peek() {
                Some(b'"') => {
                    self.step();
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(Misfit),
            }
        }
    }

    /// Skips the plain bytes of a string, up to the next special one.
    #[inline(always)]
    fn skip_plain(&mut self) {
        loop {
            let block = self.position & !(BLOCK - 1);
            if block != self.marked {
                self.marked = block;
                self.marks = marks_at(self.bytes, block);
            }
            let ahead = self.marks >> (self.position - block);
            if ahead != 0 {
                self.position += ahead.trailing_zeros() as usize;
                return;
            }
            self.position = block + BLOCK;
        }
    }

    #[inline(always)]
    fn escape(&mut self) -> Result<(), Misfit> {
        self.step();
        if self.peek() == Some(b'u') {
            self.step();
            for _ in 0..4 {
                if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                    return Err(Misfit);
                }
                self.step();
            }
            return Ok(());
        }
        let Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') = self.peek() else {
            return Err(Misfit);
        };
        self.step();
        Ok(())
    }

    #[inline(always)]
    fn word(&mut self, word: &[u8]) -> Result<(), Misfit> {
        for &byte in word {
            if self.peek() != Some(byte) {
                return Err(Misfit);
            }
            self.step();
        }
        Ok(())
    }

    #[inline(always)]
    fn number(&mut self) -> Result<(), Misfit> {
        if self.peek() == Some(b'-') {
            self.step();
        }
        if self.peek() == Some(b'0') {
            self.step();
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.step();
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.step();
            if let Some(b'+' | b'-') = self.peek() {
                self.step();
            }
            self.digits()?;
        }
        Ok(())
    }

    #[inline(always)]
    fn digits(&mut self) -> Result<(), Misfit> {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.step();
        }
        if self.position == start { Err(Misfit) } else { Ok(()) }
    }
}

/// The special bytes of a block. All bytes past the end of the text count as special.
#[inline]
fn marks_at(bytes: &[u8], block: usize) -> u64 {
    let rest = bytes.get(block..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk() {
        return marks(whole);
    }
    if let Some(last) = bytes.last_chunk() {
        // Together with the bytes before them they fill a block, without a copy.
        let before = (BLOCK - rest.len()) % BLOCK;
        return marks(last) >> before | u64::MAX << rest.len();
    }
    let mut filled = [0; BLOCK];
    filled[..rest.len()].copy_from_slice(rest);
    marks(&filled)
}
