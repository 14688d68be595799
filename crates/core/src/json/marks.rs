//! Finds the special bytes in strings, sixty-four bytes at a time.

use wide::u8x16;

/// How many bytes are examined together.
pub(super) const BLOCK: usize = 64;

/// A bit mask of the bytes of a block that end or interrupt plain text in a string: quotes, backslashes, control characters.
/// The lowest bit is that of the first byte.
#[inline]
pub(super) fn marks(block: &[u8; BLOCK]) -> u64 {
    let [quotes, backslashes, controls] = [b'"', b'\\', 0x1f].map(u8x16::splat);
    let (sixteens, _) = block.as_chunks::<16>();
    sixteens.iter().rev().fold(0, |marks, sixteen| {
        let bytes = u8x16::new(*sixteen);
        let is_marked =
            bytes.simd_eq(quotes) | bytes.simd_eq(backslashes) | bytes.min(controls).simd_eq(bytes);
        marks << 16 | u64::from(is_marked.to_bitmask())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_block_is_marked_like_its_single_bytes(low: [u8; 32], narrow in prop::array::uniform32(0x1e_u8..0x23)) {
            let mut block = [0; BLOCK];
            block[..32].copy_from_slice(&low);
            block[32..].copy_from_slice(&narrow);
            block[40] = b'\\';
            let is_marked = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
            let expected = (0..BLOCK).fold(0, |marks, at| marks | u64::from(is_marked(block[at])) << at);
            prop_assert_eq!(marks(&block), expected);
        }
    }
}
