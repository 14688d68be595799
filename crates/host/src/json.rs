//! JSON: the records of a stream, for formatters and dialects, and values of our own, printed safely for terminals.

use std::fmt::Write;

use serde::Serialize;
use streamfmt_core::text::clean;

pub use streamfmt_core::json::{Record, Value, ValueKind};

/// Finds a nested value by a key for each level. In an array, the key is an index from 0.
pub(crate) fn at(value: Value<'_>, keys: impl IntoIterator<Item = impl AsRef<str>>) -> Option<Value<'_>> {
    keys.into_iter().try_fold(value, |value, key| match value.kind() {
        ValueKind::Array => value.items().nth(key.as_ref().parse().ok()?),
        _ => value.get(key.as_ref()),
    })
}

/// Formats a value as JSON in several lines. Characters in its strings that could control a terminal are escaped (`\u001b`).
/// Returns an empty string if the value can't be serialized, such as a map with non-string keys.
pub fn pretty(value: &impl Serialize) -> String {
    harmless(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Formats a value like [`pretty`], but in one line.
pub fn line(value: &impl Serialize) -> String {
    harmless(&serde_json::to_string(value).unwrap_or_default())
}

fn harmless(text: &str) -> String {
    let mut harmless = String::with_capacity(text.len());
    for character in text.chars() {
        // Outside of strings everything is ASCII, and inside, serde escapes ASCII controls.
        if matches!(character, '\n' | ' '..='~')
            || clean(character.encode_utf8(&mut [0; 4])).starts_with(character)
        {
            harmless.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string can't fail.
                let _ = write!(harmless, "\\u{unit:04x}");
            }
        }
    }
    harmless
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_escaped_and_the_value_stays_the_same() {
        let text = "a\u{1b}[2J\u{7f}\u{9b}2J\u{202e}é\u{e0041}\n\"";
        let json = pretty(&[text]);
        assert_eq!(line(&[text]), "[\"a\\u001b[2J\\u007f\\u009b2J\\u202eé\\udb40\\udc41\\n\\\"\"]");
        assert_eq!(json, "[\n  \"a\\u001b[2J\\u007f\\u009b2J\\u202eé\\udb40\\udc41\\n\\\"\"\n]");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [text]);
    }
}
