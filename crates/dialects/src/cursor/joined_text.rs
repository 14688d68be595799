//! Compares texts that come in pieces with the whole text, without storing them.

/// The fingerprint of a text that comes in pieces. White space doesn't count: the stream adds and removes some where it joins texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JoinedText {
    /// The FNV-1a hash.
    hash: u64,
    length: u64,
}

impl Default for JoinedText {
    fn default() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, length: 0 }
    }
}

impl JoinedText {
    /// The fingerprint of a whole text.
    pub(super) fn of(text: &str) -> Self {
        let mut whole = Self::default();
        whole.push(text);
        whole
    }

    /// Adds the next piece.
    pub(super) fn push(&mut self, piece: &str) {
        for byte in piece.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            self.length += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::JoinedText;

    #[test]
    fn a_text_has_the_same_fingerprint_however_it_is_split_and_another_text_has_not() {
        let mut joined = JoinedText::default();
        for piece in ["I look.", "Ünd ", "", "now **", "**"] {
            joined.push(piece);
        }
        assert_eq!(joined, JoinedText::of("I look.\nÜnd now ****"));
        assert_ne!(joined, JoinedText::of("I look. Ünd now ***"));
    }
}
