//! Finds the first occurrence of a byte, such as a line feed (`find`), or of a class of bytes (`length_before`).
//!
//! Most lines and texts are short, so it is near the start. There sixteen bytes at a time are compared inline, which costs
//! less than a call of `memchr`: that is optimised for long texts, and `find` calls it only for the rest.

use wide::u8x16;

/// How many bytes are searched here before `memchr` is called.
const NEAR: usize = 64;

/// The index of the first `byte`.
#[inline]
pub fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    let near = &bytes[..bytes.len().min(NEAR)];
    let (sixteens, rest) = near.as_chunks::<16>();
    for (index, sixteen) in sixteens.iter().enumerate() {
        if let Some(at) = find_in(byte, *sixteen) {
            return Some(index * 16 + at);
        }
    }
    match near.last_chunk::<16>() {
        Some(_) if near.len() < bytes.len() => memchr::memchr(byte, &bytes[NEAR..]).map(|at| NEAR + at),
        // Bytes that were compared already don't match, so the overlap does no harm.
        Some(last) => find_in(byte, *last).map(|at| near.len() - 16 + at),
        None => rest.iter().position(|&other| other == byte),
    }
}

/// How many bytes are before the first byte of a class. `is_one` returns whether a byte belongs to the class, `ones` a bit mask of
/// those among sixteen that do.
#[inline]
pub fn length_before(bytes: &[u8], is_one: impl Fn(u8) -> bool, ones: impl Fn(u8x16) -> u32) -> usize {
    let first_one = |sixteen: [u8; 16]| first(ones(u8x16::new(sixteen)));
    let (sixteens, rest) = bytes.as_chunks::<16>();
    for (at, sixteen) in sixteens.iter().enumerate() {
        if let Some(end) = first_one(*sixteen) {
            return at * 16 + end;
        }
    }
    // Bytes that were compared already don't match, so the overlap does no harm.
    match bytes.last_chunk::<16>() {
        _ if rest.is_empty() => bytes.len(),
        Some(last) => bytes.len() - 16 + first_one(*last).unwrap_or(16),
        None => rest.iter().position(|&byte| is_one(byte)).unwrap_or(rest.len()),
    }
}

#[inline]
fn first(marks: u32) -> Option<usize> {
    (marks != 0).then(|| marks.trailing_zeros() as usize)
}

#[inline]
fn find_in(byte: u8, bytes: [u8; 16]) -> Option<usize> {
    first(u8x16::new(bytes).simd_eq(u8x16::splat(byte)).to_bitmask())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_one_is_found_at_every_position(bytes in prop::collection::vec(b'a'..=b'c', 0..9), before in 0_usize..150) {
            let bytes: Vec<u8> = std::iter::repeat_n(b'-', before).chain(bytes).collect();
            for end in [bytes.len(), before] {
                let bytes = &bytes[..end];
                prop_assert_eq!(find(b'a', bytes), bytes.iter().position(|&byte| byte == b'a'));
            }
        }
    }
}
