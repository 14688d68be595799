//! JSON: records of a stream as formatters and dialects see them, and values of our own, printed so that they do no harm on a terminal.

use std::fmt::Write;

use serde::Serialize;
use streamfmt_core::text::clean;

pub use streamfmt_core::json::{Record, Value, ValueKind};

/// The value that keys lead to, from one inside of it to the next; in a list a key is a number from 0.
pub(crate) fn at(value: Value<'_>, keys: impl IntoIterator<Item = impl AsRef<str>>) -> Option<Value<'_>> {
    keys.into_iter().try_fold(value, |value, key| match value.kind() {
        ValueKind::Array => value.items().nth(key.as_ref().parse().ok()?),
        _ => value.get(key.as_ref()),
    })
}

/// Returns a value as JSON over several lines. Characters that could control a terminal are escaped (`\u001b`). Empty if the value has no
/// JSON, such as a map whose keys aren't strings.
pub fn pretty(value: &impl Serialize) -> String {
    harmless(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Returns the same on one line.
pub fn line(value: &impl Serialize) -> String {
    harmless(&serde_json::to_string(value).unwrap_or_default())
}

fn harmless(text: &str) -> String {
    let mut harmless = String::with_capacity(text.len());
    for character in text.chars() {
        // Outside of strings there is nothing but ASCII, and in them serde spells the controls of that.
        if matches!(character, '\n' | ' '..='~')
            || clean(character.encode_utf8(&mut [0; 4])).starts_with(character)
        {
            harmless.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string doesn't fail.
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
    fn what_could_steer_a_terminal_is_spelled_and_means_the_same() {
        let text = "a\u{1b}[2J\u{7f}\u{9b}2J\u{202e}é\u{e0041}\n\"";
        let json = pretty(&[text]);
        assert_eq!(line(&[text]), "[\"a\\u001b[2J\\u007f\\u009b2J\\u202eé\\udb40\\udc41\\n\\\"\"]");
        assert_eq!(json, "[\n  \"a\\u001b[2J\\u007f\\u009b2J\\u202eé\\udb40\\udc41\\n\\\"\"\n]");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [text]);
    }
}
