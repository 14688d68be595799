//! Paths as text, for JSON and the database, which hold nothing but text.
//!
//! Text stays as it is. A byte of a name that isn't UTF-8 is written as `�` (U+FFFD) and its two hexadecimal digits: `caf�E9`. A name
//! that has a `�` itself is written with the bytes of this character: `�EF�BF�BD`. So reading gives back the same bytes, and what one
//! path begins with, its text begins with as well.

use std::ffi::OsStr;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Marks a byte.
#[cfg(unix)]
const MARK: char = char::REPLACEMENT_CHARACTER;

/// Returns a path, or another text of the system, as text from which [`text_path`] makes the same bytes.
#[cfg(unix)]
pub fn path_text(path: impl AsRef<OsStr>) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let path = path.as_ref();
    if let Some(text) = path.to_str().filter(|text| !text.contains(MARK)) {
        return text.to_owned();
    }
    let mut text = String::new();
    let escape = |text: &mut String, bytes: &[u8]| {
        for byte in bytes {
            // Writing to a string can't fail.
            let _ = write!(text, "{MARK}{byte:02X}");
        }
    };
    for chunk in path.as_bytes().utf8_chunks() {
        for sign in chunk.valid().chars() {
            match sign {
                MARK => escape(&mut text, MARK.encode_utf8(&mut [0; 4]).as_bytes()),
                _ => text.push(sign),
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

/// Returns the path that was written as text by [`path_text`].
#[cfg(unix)]
pub fn text_path(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(MARK) {
        bytes.extend(before.as_bytes());
        let digits = behind.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = &behind[2..];
        } else {
            // Earlier versions wrote any number of bytes so.
            bytes.extend(MARK.encode_utf8(&mut [0; 4]).as_bytes());
            rest = behind;
        }
    }
    bytes.extend(rest.as_bytes());
    <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes).into()
}

/// Returns a path as text. Names that aren't text are of no use elsewhere.
#[cfg(not(unix))]
pub fn path_text(path: impl AsRef<OsStr>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

/// Returns the path that was written as text by [`path_text`].
#[cfg(not(unix))]
pub fn text_path(text: &str) -> PathBuf {
    text.into()
}

/// Writes a path as text, for serde.
pub(crate) fn serialize<S: Serializer>(path: impl AsRef<OsStr>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path_text(path))
}

/// Reads a path that was written as text, for serde.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    String::deserialize(deserializer).map(|text| text_path(&text))
}

/// The same for a path that may be missing.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer, path_text, text_path};

    #[expect(clippy::ref_option, reason = "serde asks so")]
    pub(crate) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(path_text).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Option::<String>::deserialize(deserializer).map(|text| text.as_deref().map(text_path))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn every_name_reads_back_to_its_bytes_and_a_text_is_itself() {
        let text = |bytes: &[u8]| path_text(OsStr::from_bytes(bytes));
        assert_eq!(text("/home/d\u{fc}rer/50%/\\x".as_bytes()), "/home/d\u{fc}rer/50%/\\x");
        assert_eq!(text(b"/n\xff/run.ndjson"), "/n\u{fffd}FF/run.ndjson");
        assert_eq!(text("\u{fffd}".as_bytes()), "\u{fffd}EF\u{fffd}BF\u{fffd}BD");
        for bytes in [
            &b"/n\xff/\xc3"[..],
            b"\xffFF\xff",
            b"\xed\xa0\x80\xf0\x9f",
            "a\u{fffd}FF\u{fffd}".as_bytes(),
            "\u{e9}".as_bytes(),
            b"",
            b"\xff\xff\n\x1b",
        ] {
            assert_eq!(text_path(&text(bytes)).as_os_str().as_bytes(), bytes, "{}", text(bytes));
        }
        // Names written by earlier versions.
        assert_eq!(text_path("/n\u{fffd}/x\u{fffd}"), PathBuf::from("/n\u{fffd}/x\u{fffd}"));
    }
}
