//! A place in a text that is being scanned, and the scalars that can be passed there.

#![expect(clippy::inline_always, reason = "the loop over a record is one function: a third faster")]

use super::marks::{BLOCK, marks};
use super::{Damage, ValueKind};

/// Stands for the token that isn't there.
pub(super) const END: u8 = 0;

/// The byte at the cursor doesn't fit.
pub(super) struct Misfit;

/// A place in a text.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    /// What needs attention in the block that begins at `marked`.
    marks: u64,
    marked: usize,
}

impl<'a> Cursor<'a> {
    /// The start of a text.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, marks: 0, marked: usize::MAX }
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

    /// What doesn't fit here.
    pub(super) fn damage(&self) -> Damage {
        Damage { at: self.position, incomplete: self.position >= self.bytes.len() }
    }

    /// The byte here, if the text isn't over.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    /// Passes the byte that was peeked.
    #[inline(always)]
    pub(super) fn step(&mut self) {
        self.position += 1;
    }

    /// Passes blanks; the byte behind them, or [`END`].
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

    /// Passes blanks to the end of the text.
    pub(super) fn end(&mut self) -> Result<(), Misfit> {
        let _ = self.token();
        if self.peek().is_none() { Ok(()) } else { Err(Misfit) }
    }

    /// Passes a value that holds no others and begins with the token `first`; says what it is, and of a string
    /// whether it has escapes.
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

    /// Passes the key that begins with the token `first`; says whether it has escapes.
    #[inline(always)]
    pub(super) fn key(&mut self, first: u8) -> Result<bool, Misfit> {
        if first == b'"' { self.string() } else { Err(Misfit) }
    }

    /// Passes the colon behind a key.
    #[inline(always)]
    pub(super) fn colon(&mut self) -> Result<(), Misfit> {
        if self.token() != b':' {
            return Err(Misfit);
        }
        self.step();
        Ok(())
    }

    /// Passes the string that begins here; says whether it has escapes.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<bool, Misfit> {
        let mut escaped = false;
        self.step();
        loop {
            self.pass_plain();
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

    /// Passes what needs no attention in a string.
    #[inline(always)]
    fn pass_plain(&mut self) {
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

/// What needs attention in a block. Behind the end everything does.
#[inline]
fn marks_at(bytes: &[u8], block: usize) -> u64 {
    let rest = bytes.get(block..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk() {
        return marks(whole);
    }
    let mut filled = [0; BLOCK];
    filled[..rest.len()].copy_from_slice(rest);
    marks(&filled)
}
