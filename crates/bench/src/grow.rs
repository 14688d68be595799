//! Makes a long session of a short one: copies with fresh ids and slightly other words.
//!
//! The same input and size give the same bytes. Within a copy equal ids stay equal, so results still
//! find their calls; the session's own id stays the same throughout, so the whole is one session.
//! It works on the bytes, not on JSON, so that live and history files, and ones yet to come, are the same to it.

use std::io::{self, Write};

/// Writes whole copies of `session` until there are at least `size` bytes; returns how many there are.
/// The first copy is the session as it is.
pub fn grow(session: &[u8], size: u64, out: &mut impl Write) -> io::Result<u64> {
    let kept = session_id(session);
    let mut line = Vec::new();
    let (mut written, mut copy) = (0, 0);
    while written < size && !session.is_empty() {
        for original in session.split_inclusive(|&byte| byte == b'\n') {
            line.clear();
            change(original, copy, kept, &mut line);
            if !line.ends_with(b"\n") {
                line.push(b'\n');
            }
            out.write_all(&line)?;
            written += line.len() as u64;
        }
        copy += 1;
    }
    Ok(written)
}

/// The session's id: the first that a field of that name holds.
fn session_id(session: &[u8]) -> &[u8] {
    let after = |key: &[u8]| {
        let at = session.windows(key.len()).position(|window| window == key)? + key.len();
        let length = session[at..].iter().position(|&byte| byte == b'"')?;
        Some(&session[at..at + length])
    };
    after(b"\"session_id\":\"").or_else(|| after(b"\"sessionId\":\"")).unwrap_or_default()
}

/// Writes one line as copy number `copy` has it.
fn change(line: &[u8], copy: u64, kept: &[u8], out: &mut Vec<u8>) {
    // Deltas are cut inside of words, so their words must stay; their whole message has the other words.
    let words = !line.starts_with(b"{\"type\":\"stream_event\"");
    let mut rest = line;
    while let Some(&byte) = rest.first() {
        let length = match byte {
            // What follows a backslash is no part of a word.
            b'\\' => 2.min(rest.len()),
            _ if is_word(byte) => rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len()),
            _ => 1,
        };
        let (token, after) = rest.split_at(length);
        let between_blanks = words && out.last() == Some(&b' ') && after.first() == Some(&b' ');
        if copy > 0 && is_id(token) && token != kept {
            fresh_id(token, copy, out);
        } else if copy > 0 && between_blanks && is_plain(token) && hash(token, copy).is_multiple_of(8) {
            out.extend_from_slice(&token[1..]);
            out.push(token[0]);
        } else {
            out.extend_from_slice(token);
        }
        rest = after;
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_plain(token: &[u8]) -> bool {
    token.len() >= 5 && token.iter().all(u8::is_ascii_lowercase)
}

/// What comes before the part of an id that is its own.
const PREFIXES: [&[u8]; 5] = [b"toolu_", b"srvtoolu_", b"msg_", b"req_", b"agent-"];

fn prefix_length(token: &[u8]) -> usize {
    PREFIXES.iter().find(|prefix| token.starts_with(prefix)).map_or(0, |prefix| prefix.len())
}

/// A known prefix and at least six letters or digits, or hexadecimal digits enough for no word or number.
fn is_id(token: &[u8]) -> bool {
    let prefix = prefix_length(token);
    let own = &token[prefix..];
    let hex = own.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let is_mixed = own.iter().any(u8::is_ascii_digit) && own.iter().any(u8::is_ascii_alphabetic);
    if prefix > 0 { own.len() >= 6 } else { own.len() >= 16 && hex && is_mixed }
}

/// An id of the same shape that depends on the old one and the copy alone.
fn fresh_id(token: &[u8], copy: u64, out: &mut Vec<u8>) {
    let (prefix, own) = token.split_at(prefix_length(token));
    out.extend_from_slice(prefix);
    let mut state = hash(token, copy);
    for &byte in own {
        state = hash(&[byte], state);
        out.push(match byte {
            b'-' | b'_' => byte,
            _ => b"0123456789abcdef"[(state >> 60) as usize],
        });
    }
}

/// FNV-1a with a final mix.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash =
        bytes.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = concat!(
        r#"{"session_id":"7650ef8a-531a-4495-ab7e-9c84316342ad","uuid":"0550f08a-f046-4f28-aee6-0ed7139a14f1","#,
        r#""id":"toolu_019ncjXxbf","text":"see\ntoolu_019ncjXxbf, every one total of 12 items"}"#,
    );

    fn copies(session: &str, size: u64) -> Vec<String> {
        let mut out = Vec::new();
        let written = grow(session.as_bytes(), size, &mut out).unwrap();
        assert_eq!(written, out.len() as u64);
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn ids_are_fresh_in_each_copy_and_equal_within_one() {
        let lines = copies(CALL, 40 * CALL.len() as u64);
        assert_eq!(lines[0], CALL);
        let ids: Vec<&str> = lines.iter().map(|line| line.split('"').nth(11).unwrap()).collect();
        for (at, (line, id)) in lines.iter().zip(&ids).enumerate() {
            assert!(line.contains("7650ef8a-531a-4495-ab7e-9c84316342ad"), "{line}");
            assert!(line.contains(&format!(r"see\n{id},")), "{line}");
            assert!(!ids[..at].contains(id), "{id} comes twice");
        }
    }

    #[test]
    fn some_words_change_and_lengths_stay() {
        let lines = copies(CALL, 40 * CALL.len() as u64);
        assert!(lines.iter().all(|line| line.len() == CALL.len()));
        assert!(lines.iter().any(|line| line.contains(" otalt ")));
    }

    #[test]
    fn it_ends_with_a_whole_copy_and_is_the_same_every_time() {
        let session = "{\"a\":1}\n{\"b\":2}";
        assert_eq!(copies(session, 20).len(), 4);
        assert_eq!(copies(CALL, 5_000), copies(CALL, 5_000));
        assert!(copies("", 20).is_empty());
    }
}
