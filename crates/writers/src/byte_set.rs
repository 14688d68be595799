//! Sets of bytes as tables, for fast lookups.

/// Returns a table that is true for the bytes in `single` and those in the inclusive `ranges`.
pub(super) const fn byte_set(single: &[u8], ranges: &[[u8; 2]]) -> [bool; 256] {
    let mut set = [false; 256];
    let mut at = 0;
    while at < single.len() {
        set[single[at] as usize] = true;
        at += 1;
    }
    let mut at = 0;
    while at < ranges.len() {
        let [first, last] = ranges[at];
        let mut byte = first as usize;
        while byte <= last as usize {
            set[byte] = true;
            byte += 1;
        }
        at += 1;
    }
    set
}
