//! Hashes that are the same in every run and on every machine of one kind.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::{FixedState, FoldHasher};

const STATE: FixedState = FixedState::with_seed(0x5f37_59df);

/// The hash of a value.
pub fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    STATE.hash_one(value)
}

/// Bytes that are hashed at once.
const BLOCK: usize = 64;

/// Hashes a text that comes in pieces, without holding it: however it is cut, the hash is the same.
#[derive(Clone)]
struct TextHasher {
    hasher: FoldHasher<'static>,
    /// The end of the text so far that is no whole block.
    rest: [u8; BLOCK],
    length: u64,
}

impl TextHasher {
    fn new() -> Self {
        Self { hasher: STATE.build_hasher(), rest: [0; BLOCK], length: 0 }
    }

    fn push(&mut self, mut bytes: &[u8]) {
        let filled = self.length as usize % BLOCK;
        self.length += bytes.len() as u64;
        if filled > 0 {
            let (first, behind) = bytes.split_at(bytes.len().min(BLOCK - filled));
            self.rest[filled..filled + first.len()].copy_from_slice(first);
            if filled + first.len() < BLOCK {
                return;
            }
            self.hasher.write(&self.rest);
            bytes = behind;
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            self.hasher.write(block);
        }
        self.rest[..rest.len()].copy_from_slice(rest);
    }

    /// The hash of all that was written.
    fn finish(mut self) -> u64 {
        self.hasher.write(&self.rest[..self.length as usize % BLOCK]);
        self.hasher.write_u64(self.length);
        self.hasher.finish()
    }
}

impl fmt::Write for TextHasher {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.push(piece.as_bytes());
        Ok(())
    }
}

/// The same without the blanks at the start and at the end.
pub(crate) struct TrimmedHasher {
    all: TextHasher,
    /// Up to the last that is no blank, if blanks followed.
    solid: Option<TextHasher>,
    /// Bytes that were written, blanks included.
    length: u64,
}

/// What hashing a text found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trimmed {
    /// The hash of what stands between the blanks, or `None` if there were only blanks.
    pub(crate) hash: Option<u64>,
    /// Bytes of the text, blanks included.
    pub(crate) length: u64,
}

impl TrimmedHasher {
    pub(crate) fn new() -> Self {
        Self { all: TextHasher::new(), solid: None, length: 0 }
    }

    /// What was found.
    pub(crate) fn finish(self) -> Trimmed {
        let text = self.solid.unwrap_or(self.all);
        Trimmed { hash: (text.length > 0).then(|| text.finish()), length: self.length }
    }
}

impl fmt::Write for TrimmedHasher {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.length += piece.len() as u64;
        let piece = if self.all.length == 0 { piece.trim_start() } else { piece };
        let (solid, blanks) = piece.split_at(piece.trim_end().len());
        if !solid.is_empty() {
            self.all.push(solid.as_bytes());
            self.solid = None;
        }
        if !blanks.is_empty() {
            self.solid.get_or_insert_with(|| self.all.clone());
            self.all.push(blanks.as_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmt::Write;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_hash_like_the_whole(pieces in proptest::collection::vec("[a \u{3000}\n]{0,90}", 0..6)) {
            let whole = pieces.concat();
            let hash_of = |pieces: &[&str]| {
                let (mut all, mut trimmed) = (TextHasher::new(), TrimmedHasher::new());
                for piece in pieces {
                    let _ = (all.write_str(piece), trimmed.write_str(piece));
                }
                (all.finish(), trimmed.finish())
            };
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (all, trimmed) = hash_of(&pieces);
            prop_assert_eq!((all, trimmed), hash_of(&[&whole]));
            let (bare, _) = hash_of(&[whole.trim()]);
            prop_assert_eq!(trimmed.hash, (!whole.trim().is_empty()).then_some(bare));
            prop_assert_eq!(trimmed.length, whole.len() as u64);
        }
    }

    #[test]
    fn other_texts_have_other_hashes() {
        let of = |text: &str| {
            let mut hasher = TextHasher::new();
            let _ = hasher.write_str(text);
            hasher.finish()
        };
        let long = "a".repeat(BLOCK);
        assert_ne!(of("a"), of("a\0"));
        assert_ne!(of(&long), of(&format!("{long}\0")));
        assert_ne!(of(""), of("\0"));
    }
}
