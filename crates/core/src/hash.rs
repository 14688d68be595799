//! Hashes that are the same in every run, on machines of the same architecture.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::{FixedState, FoldHasher};
use indexmap::IndexMap;

/// A map that keeps its order and hashes the same in every run.
pub type Map<K, V> = IndexMap<K, V, FixedState>;

const STATE: FixedState = FixedState::with_seed(0x5f37_59df);

/// The hash of a value.
pub fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    STATE.hash_one(value)
}

/// How many bytes are hashed at once.
const BLOCK: usize = 64;

/// Hashes a text that comes in pieces, without storing it. The hash doesn't depend on how the text is split.
#[derive(Clone)]
struct TextHasher {
    hasher: FoldHasher<'static>,
    /// The incomplete block at the end of the text so far.
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

    /// The hash of the whole text.
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

/// Hashes a text without the blanks at its start and end.
pub(crate) struct TrimmedHasher {
    all: TextHasher,
    /// The state after the last character that isn't a blank, if blanks followed.
    solid: Option<TextHasher>,
    /// How many bytes were written, including blanks.
    length: u64,
}

/// The hash and length of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trimmed {
    /// The hash of the text without the blanks at its start and end; `None` if it is blank.
    pub(crate) hash: Option<u64>,
    /// The length of the text in bytes, including blanks.
    pub(crate) length: u64,
}

impl TrimmedHasher {
    pub(crate) fn new() -> Self {
        Self { all: TextHasher::new(), solid: None, length: 0 }
    }

    /// The hash and length of the whole text.
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
    fn different_texts_have_different_hashes() {
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
