//! Splits messages: the first sentence is the title of a failure, the rest comes below it.

use streamfmt_core::find::find;
use streamfmt_core::json::{Record, Value};
use streamfmt_core::text::Text;

/// The longest sentence that becomes a title, in bytes.
const LONGEST: usize = 500;

/// Splits a message after its first sentence, which ends at the latest with the first line that isn't blank. `None` if the sentence is too
/// long for a title, or has no letters or digits.
pub fn first_sentence(text: &Text) -> Option<(Text, Text)> {
    let start = text.len() - text.trim_start().len();
    let line = find(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |end| start + end);
    let end = start + sentence_end(&text[start..line]);
    let sentence = &text[start..end];
    if sentence.len() > LONGEST || !sentence.chars().any(char::is_alphanumeric) {
        return None;
    }
    let rest = text[end..].trim_start_matches(' ');
    let rest = rest.strip_prefix('\n').unwrap_or(rest);
    Some((text.slice(start, end).trimmed_end(), text.slice(text.len() - rest.len(), text.len())))
}

/// Returns a message without the brackets around it: `[API error: …]`. Other texts, such as a list in JSON, are returned unchanged.
pub(super) fn without_brackets(text: Text) -> Text {
    let start = text.len() - text.trim_start().len();
    let inside = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    match inside.filter(|inside| inside.starts_with(char::is_alphabetic)) {
        Some(inside) => text.slice(start + 1, start + 1 + inside.len()),
        None => text,
    }
}

/// Replaces a JSON object at the end of an error, as in API responses, by the code and the message in it. Other texts are returned
/// unchanged.
pub(super) fn without_json(text: Text) -> Text {
    let Some(start) = find(b'{', text.as_bytes()).filter(|_| text.trim_end().ends_with('}')) else {
        return text;
    };
    let Ok(record) = Record::from_line(text[start..].to_owned()) else { return text };
    let root = record.root();
    let error = root.get("error").filter(|error| error.get("message").is_some()).unwrap_or(root);
    let [message, code] = error.get_all(["message", "code"]);
    let Some(message) = message.and_then(Value::str).map(Text::from_json) else { return text };
    // Usually, the text before the object has the code, too.
    let code = code.and_then(Value::int).map(|code| format!("{code} "));
    let code = code.filter(|code| !text[..start].contains(code.trim_end())).unwrap_or_default();
    Text::clean_owned([&text[..start], &code, &message].concat())
}

/// Returns the end of the first sentence of a line: after a `.`, `!` or `?` that is followed by the beginning of another sentence.
fn sentence_end(line: &str) -> usize {
    let ends = line.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    let is_end = |end: &usize| {
        let rest = &line[*end..];
        let next = rest.trim_start();
        // `e.g. this`, `1. that`: no sentence ends there.
        let word = line[..*end - 1].rsplit(' ').next().unwrap_or_default();
        next.len() < rest.len()
            && !next.starts_with(char::is_lowercase)
            && !word.chars().all(|ch| ch.is_ascii_digit())
            && !word.contains('.')
    };
    ends.into_iter().find(is_end).unwrap_or(line.len())
}

/// The longest name that is spelled as words, in bytes.
const LONGEST_NAME: usize = 60;

/// A name such as `in_progress` as words, with a blank for each of `marks`. A name with capitals or digits stays as it is: if it is a secret, it
/// is recognised only as it was written.
pub(crate) fn in_words(name: &str, marks: &[char]) -> String {
    let is_name = |byte: u8| byte.is_ascii_lowercase() || b"_- ".contains(&byte);
    if name.len() <= LONGEST_NAME && name.bytes().all(is_name) {
        return name.replace(marks, " ");
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &'static str) -> Option<(String, String)> {
        first_sentence(&Text::own(text)).map(|(first, rest)| (first.to_string(), rest.to_string()))
    }

    #[test]
    fn a_message_is_split_after_its_first_sentence() {
        for (text, first, rest) in [
            ("Too many tokens", "Too many tokens", ""),
            ("File does not exist. Note: it moved.", "File does not exist.", "Note: it moved."),
            ("Not found in file.\nString: a. B", "Not found in file.", "String: a. B"),
            ("Use head, e.g. here. Or not.", "Use head, e.g. here.", "Or not."),
            ("Error: 400 tools.0: bad", "Error: 400 tools.0: bad", ""),
            ("Step 1. Open it! Then", "Step 1. Open it!", "Then"),
            ("\n  Indented.\n\n  Rest", "Indented.", "\n  Rest"),
        ] {
            assert_eq!(parts(text), Some((first.to_owned(), rest.to_owned())), "{text}");
        }
        let answer =
            Text::own(r#"Error: 400 {"type":"error","error":{"message":"no \u001b[0m such model"}}"#);
        assert_eq!(without_json(answer).as_str(), "Error: 400 no  such model");
        assert_eq!(without_json(Text::own("a {b}")).as_str(), "a {b}");
        for (answer, expected) in [
            (r#"429 {"error":{"code":429,"message":"Wait."}}"#, "429 Wait."),
            (r#"{"error":{"code":429,"message":"Wait."}}"#, "429 Wait."),
            (r#"x {"message":"Wait.","error":"busy"}"#, "x Wait."),
        ] {
            assert_eq!(without_json(Text::own(answer)).as_str(), expected, "{answer}");
        }
        for (text, bare) in [
            ("[API error: 400 [x]]\n", "API error: 400 [x]"),
            ("[\"a\"]", "[\"a\"]"),
            ("[1]", "[1]"),
            ("[]", "[]"),
            ("[a", "[a"),
        ] {
            assert_eq!(without_brackets(Text::own(text)).as_str(), bare, "{text}");
        }
        assert_eq!(parts("{\n}"), None);
        assert_eq!(parts(""), None);
    }
}
