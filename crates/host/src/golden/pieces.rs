//! Cuts an input into pieces, to verify that the output doesn't depend on how it arrives.

/// Lines, each with its newline.
pub fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Single bytes.
pub fn single(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.chunks(1).collect()
}

/// Pieces of many lengths. A seed always yields the same pieces.
pub fn odd(bytes: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut state = seed;
    let lengths = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        [1, 2, 3, 7, 61, 311, 5000][(state >> 33) as usize % 7]
    });
    cut(bytes, lengths)
}

/// Pieces of these lengths, and one with the rest. A length of 0 counts as 1.
pub fn cut(bytes: &[u8], lengths: impl IntoIterator<Item = usize>) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    let mut lengths = lengths.into_iter();
    while !rest.is_empty() {
        let length = lengths.next().unwrap_or(usize::MAX).max(1);
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
