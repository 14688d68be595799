//! Determines how much of a growing text may be shown while secrets are masked: nothing that may turn out to be part of one.
//!
//! A secret may be recognised only by the text after its beginning, and all but private keys are on one line. So the incomplete line
//! is held back, and everything from the beginning of a private key until its end. The rest is masked like a complete text.

use crate::json::{Str, string_length};
use crate::text::{Text, clean};

use super::Redactor;
use super::find::{SecretSpan, growing_keys, is_in_key};
use super::read::ReadText;
use super::reader::KEY;

/// How many bytes before a place are searched to find out whether it is inside of a private key.
const BEFORE: usize = 2 * KEY;

impl Redactor {
    /// The part of `text[start..]` that may be shown, cleaned and not masked yet. `text` still grows; `start` is at the beginning of
    /// a line.
    pub(crate) fn settled(&self, text: &str, start: usize) -> Text {
        let end = text.rfind('\n').filter(|end| *end > start && !self.finder.crosses_lines);
        let Some(end) = end else { return Text::default() };
        let first =
            (start.saturating_sub(BEFORE)..start).find(|&at| text.is_char_boundary(at)).unwrap_or(start);
        let before = clean(&text[first..start]);
        let lines = clean(&text[start..=end]);
        let whole = before.clone().into_owned() + lines.strip_suffix('\n').unwrap_or(&lines);
        let (mut shown, mut until) = (before.len(), whole.len());
        if first > 0 {
            shown = behind_endless_key(&whole, shown);
        }
        // The rest of the last line of a key is hidden with it.
        let next_line = |at: usize| whole[at..].find('\n').map_or(whole.len(), |end| at + end + 1);
        if shown > before.len() {
            shown = next_line(shown);
        }
        let keys = growing_keys(&whole);
        for SecretSpan { range, is_open, .. } in &keys {
            if *is_open {
                until = until.min(lines_before(&whole, range.start));
            } else if range.start < shown && shown < range.end {
                shown = next_line(range.end);
            }
        }
        // A key must not be cut before its end.
        for SecretSpan { range, .. } in keys.iter().rev() {
            if range.start < until && until < range.end {
                until = lines_before(&whole, range.start);
            }
        }
        Text::clean(whole.get(shown..until).unwrap_or_default())
    }

    /// The part of a growing input that may be shown, masked; `None` if none may. `json`: the part that came, closed to be valid JSON.
    /// The result is valid JSON, too.
    pub(crate) fn settled_input(&mut self, json: &str) -> Option<String> {
        if self.finder.crosses_lines {
            return None;
        }
        let mut settled = settled_json(json)?;
        self.json(&mut settled);
        Some(settled)
    }
}

/// The end of the private key that may have begun before the searched bytes and goes on at `at`, as it is read; `at` if there is none.
fn behind_endless_key(text: &str, at: usize) -> usize {
    let plain = ReadText::plain(text);
    let end = |read: &ReadText<'_>| {
        let start = read.read_at(at);
        let is_inside = read.text[..start].bytes().all(is_in_key);
        let length = read.text[start..].bytes().take_while(|byte| is_in_key(*byte)).count();
        if is_inside && length > 0 { read.under(&(start..start + length)).end } else { at }
    };
    end(&plain).max(plain.unmarked().as_ref().map_or(at, end))
}

/// JSON without the parts that may still change: the last string is cut to its complete lines, and a last number becomes null. Everything
/// after the beginning of a private key without an end is removed.
fn settled_json(json: &str) -> Option<String> {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len());
    let mut closers = Vec::new();
    // The range of the last scalar in `out`.
    let (mut last, mut last_end) = (None, 0);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let begin = out.len();
        let length = match byte {
            b'"' => string_length(&bytes[at..]),
            b'-' | b'0'..=b'9' => bytes[at..].iter().take_while(|byte| !b",]} \t\r\n".contains(byte)).count(),
            _ => 1,
        };
        let token = json.get(at..at + length)?;
        match byte {
            b'{' => closers.push('}'),
            b'[' => closers.push(']'),
            b'}' | b']' => drop(closers.pop()),
            b'"' => {
                let text = decoded(token)?;
                let shown = before_open_key(&text);
                if shown.len() < text.len() {
                    // If it is a field's name, neither the name nor the value is shown.
                    let is_value = !is_name(&bytes[at + length..]);
                    if is_value {
                        out.push_str(&escaped(shown)?);
                    } else {
                        out.truncate(out.trim_end_matches([',', ' ', '\t', '\r', '\n']).len());
                    }
                    out.extend(closers.iter().rev());
                    return Some(out);
                }
                // Cleaned, as it will be shown: characters that cleaning removes may split a secret.
                out.push_str(&escaped(&text)?);
            }
            _ => {}
        }
        if *byte != b'"' {
            out.push_str(token);
        }
        if matches!(byte, b'"' | b'-' | b'0'..=b'9') {
            (last, last_end) = (Some(begin), out.len());
        }
        at += length;
    }
    let Some(begin) = last else { return Some(out) };
    // If anything but the ends of containers follows it, it is complete.
    if out[last_end..].bytes().any(|byte| !matches!(byte, b'}' | b']') && !byte.is_ascii_whitespace()) {
        return Some(out);
    }
    let value = &out[begin..last_end];
    let settled = if value.starts_with('"') {
        let text = decoded(value)?;
        let lines = text.rfind('\n').map_or("", |end| &text[..end]);
        // A private key may end in the line that is held back.
        escaped(before_open_key(lines))?
    } else {
        "null".to_owned()
    };
    out.replace_range(begin..last_end, &settled);
    Some(out)
}

/// The lines of a text before the first private key without an end. The result again has no such key when searched by itself.
fn before_open_key(mut text: &str) -> &str {
    while let Some(key) = growing_keys(text).into_iter().find(|key| key.is_open) {
        text = &text[..lines_before(text, key.range.start)];
    }
    text
}

/// The end of the complete lines before `at`: without the rest of its line, the beginning of the line could be read differently.
fn lines_before(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').unwrap_or(0)
}

/// Whether the string before `after` is the name of a field.
fn is_name(after: &[u8]) -> bool {
    after.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Decodes and cleans a JSON string.
fn decoded(string: &str) -> Option<String> {
    let inside = string.strip_prefix('"')?.strip_suffix('"')?;
    Some(clean(&Str::of_raw(inside).decode()).into_owned())
}

/// Encodes a JSON string.
fn escaped(text: &str) -> Option<String> {
    serde_json::to_string(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{CustomPattern, Redaction};

    const KEY_TEXT: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n(odd)\n-----END RSA PRIVATE KEY-----";

    fn redactor() -> Redactor {
        Redactor::new(&Redaction::secrets()).unwrap()
    }

    #[test]
    fn an_incomplete_line_and_an_open_key_are_held_back() {
        for (text, shown) in [
            ("no line", ""),
            ("one\ntw", "one"),
            ("one\ntwo\n", "one\ntwo"),
            ("a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n(odd)\n", "a"),
            ("a\nkey: -----BEG\u{1b}[0mIN PRIVATE KEY-----\nMII\n", "a"),
            (&format!("a\n{KEY_TEXT}\nb\nc"), &format!("a\n{KEY_TEXT}\nb")),
            // A second key after the end of the first.
            (
                &format!("a\n{KEY_TEXT}\nb\n-----BEGIN RSA PRIVATE KEY-----\nMII\n(odd)\n"),
                &format!("a\n{KEY_TEXT}\nb"),
            ),
            ("-----BEGIN PUBLIC KEY-----\nMII\n", "-----BEGIN PUBLIC KEY-----\nMII"),
        ] {
            assert_eq!(redactor().settled(text, 0).as_str(), shown, "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_long_text_is_not_shown_from_within_a_key() {
        let text = format!("{KEY_TEXT}\nb\nc\n");
        for (start, shown) in [
            (text.find("MII").unwrap(), "b\nc"),
            (text.find("(odd)").unwrap(), "b\nc"),
            (text.find("b\nc").unwrap(), "b\nc"),
        ] {
            assert_eq!(redactor().settled(&text, start).as_str(), shown);
        }
        let endless = format!("-----BEGIN PRIVATE KEY-----\n{}", "MIIabc\n".repeat(40_000));
        let start = endless.len() - 7_000;
        assert_eq!(redactor().settled(&endless, start).as_str(), "");
        let after = endless.clone() + "(over)\nb\n";
        assert_eq!(redactor().settled(&after, start).as_str(), "b");
        let marked = after.replace("MIIabc", "\u{1b}[KMII**abc**");
        assert_eq!(redactor().settled(&marked, marked.len() - 7_000).as_str(), "b");
    }

    #[test]
    fn an_input_ends_with_its_last_whole_line() {
        for (json, shown) in [
            (r#"{"command":"cargo te"}"#, r#"{"command":""}"#),
            (r#"{"command":"one\ntw"}"#, r#"{"command":"one"}"#),
            (r#"{"path":"a","edits":[{"old":"x\ny"}]}"#, r#"{"path":"a","edits":[{"old":"x"}]}"#),
            (r#"{"path":"a","line":12}"#, r#"{"path":"a","line":null}"#),
            (r#"{"path":"a","all":true}"#, r#"{"path":"a","all":true}"#),
            (r#"{"a":"b\nc","b":{}}"#, r#"{"a":"b\nc","b":{}}"#),
            ("{}", "{}"),
            (r#"{"a":["x\ny-----BEGIN PRIVATE KEY-----\nMII","(odd)"],"b":"y\nz"}"#, r#"{"a":["x"]}"#),
            (r#"{"a":1,"-----BEGIN PRIVATE KEY-----":"MII\nMII"}"#, r#"{"a":1}"#),
        ] {
            assert_eq!(settled_json(json).as_deref(), Some(shown), "{json}");
        }
        let json = r#"{"env":"API_KEY=abcdef123456\n","x":""}"#;
        let masked = r#"{"env":"API_KEY=[redacted secret]\n","x":""}"#;
        assert_eq!(redactor().settled_input(json).as_deref(), Some(masked));
    }

    #[test]
    fn with_a_pattern_over_lines_nothing_is_shown_while_it_grows() {
        for (pattern, crosses) in [
            ("ACME-[0-9]+", false),
            ("^ticket .*$", false),
            (r"(?i)host: \w+", false),
            (r"key:\s+(\w+)", true),
            ("(?s)begin.*end", true),
            ("<[^>]*>", true),
            ("a\nb", true),
            (r"[\x00-\x20]x", true),
        ] {
            let own = vec![CustomPattern::new("own", pattern).unwrap()];
            let redactor = Redactor::new(&Redaction { own, ..Redaction::default() }).unwrap();
            assert_eq!(redactor.settled("one\ntwo", 0).is_empty(), crosses, "{pattern}");
        }
    }

    #[test]
    fn no_beginning_of_an_input_shows_a_part_of_its_keys() {
        for text in [
            "-----BEGIN PRIVATE KEY-----\nABC (ODD) LINE?\nMIIABC\n-----END PRIVATE KEY-----x-----BEGIN RSA PRIVATE KEY-----\nMII=\n-----END RSA PRIVATE KEY-----",
            "a -----END PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\nABC (ODD) LINE?\nMIIABC\n-----END PRIVATE KEY-----\nend",
        ] {
            for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                let json = serde_json::json!({ "a": text[..end] }).to_string();
                let shown = redactor().settled_input(&json).unwrap_or_default();
                assert!(!shown.contains("ODD") && !shown.contains("MII"), "{shown} of {json}");
            }
        }
    }
}
