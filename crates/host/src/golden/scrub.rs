//! Takes out of a recording what is nobody's business: home folders, e-mail addresses, secrets of known shapes.
//!
//! It is a help, not a promise: read what comes of it before it is shared.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use streamfmt_core::json::{Kind, Record, Value};

/// What is taken out: what it is, how it looks, what stands in its place (`$1` is the first group).
pub const SHAPES: &[(&str, &str, &str)] = &[
    (
        "private key",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        "<private-key>",
    ),
    ("secret", r"\bsk-[A-Za-z0-9_-]{16,}", "<secret>"),
    (
        "secret",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
        "<secret>",
    ),
    ("secret", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", "<secret>"),
    ("secret", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "<secret>"),
    ("secret", r"\bAIza[A-Za-z0-9_-]{35}", "<secret>"),
    ("secret", r"\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{30,})", "<secret>"),
    ("secret", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", "<secret>"),
    ("secret", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+", "<secret>"),
    ("secret", r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{16,}", "$1 <secret>"),
    ("secret", r"([a-z][a-z0-9+.-]*://)[^\s/:@]+:[^\s/@]+@", "${1}user:<secret>@"),
    (
        "secret",
        r#"(?i)\b([a-z0-9_]*(?:password|passwd|secret|api_?key|access_?key|auth_?token|access_?token)["']?\s*[=:]\s*["']?)[^\s"',;<]{8,}"#,
        "${1}<secret>",
    ),
    (
        "e-mail address",
        r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b",
        "user@example.com",
    ),
    ("home folder", r"/(home|Users)/[A-Za-z0-9._@-]+", "/$1/user"),
    ("home folder", r"(?i)\b([a-z]:\\+Users\\+)[^\\/\s<>:]+", "${1}user"),
    ("home folder", r"(^|[\s/])-(home|Users)-[A-Za-z0-9_.]+", "$1-$2-user"),
];

/// Names of fields whose value is a secret, whatever it looks like.
const SECRET_FIELD: &str = r"(?i)^(?:.*[_-])?(?:password|passwd|secret|api_?key|access_?key|private_?key|auth_?token|access_?token|refresh_?token)$";

/// What it takes out, ready to be looked for. All of it can be read: a test sees to that.
static READY: LazyLock<Vec<(&str, Regex, &str)>> = LazyLock::new(|| {
    let read = |(what, shape, with): &(&'static str, &str, &'static str)| {
        Some((*what, Regex::new(shape).ok()?, *with))
    };
    SHAPES.iter().filter_map(read).collect()
});

static SECRET: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SECRET_FIELD).ok());

/// How often each was taken out, by what it is.
pub type Counts = BTreeMap<&'static str, usize>;

/// A text without what is nobody's business.
pub fn text<'a>(text: &'a str, counts: &mut Counts) -> Cow<'a, str> {
    let mut clean = Cow::Borrowed(text);
    for (what, shape, with) in READY.iter() {
        let mut found = 0;
        let replaced = shape.replace_all(&clean, |captures: &Captures<'_>| {
            let mut place = String::new();
            captures.expand(with, &mut place);
            // What has been taken out before is nothing new.
            found += usize::from(captures.get(0).is_some_and(|whole| whole.as_str() != place));
            place
        });
        if found > 0 {
            clean = Cow::Owned(replaced.into_owned());
            *counts.entry(what).or_default() += found;
        }
    }
    clean
}

/// A line of a recording without what is nobody's business; of a record the strings are looked at, decoded.
pub fn line<'a>(line: &'a str, counts: &mut Counts) -> Cow<'a, str> {
    let record = match Record::from_line(line.to_owned()) {
        Ok(record) if !record.is_cut() => record,
        // What wasn't looked into is a text like any other.
        _ => return text(line, counts),
    };
    let whole = record.text();
    let mut places: Vec<(usize, usize, String)> = Vec::new();
    let mut left = vec![(record.root(), false)];
    let mut note = |raw: &str, decoded: &str, is_secret: bool| {
        let clean = if is_secret && !decoded.is_empty() && decoded != "<secret>" {
            *counts.entry("secret").or_default() += 1;
            Cow::Borrowed("<secret>")
        } else {
            text(decoded, counts)
        };
        if clean != decoded {
            let start = raw.as_ptr() as usize - whole.as_ptr() as usize;
            let quoted = serde_json::Value::from(clean.as_ref()).to_string();
            places.push((start, raw.len(), quoted[1..quoted.len() - 1].to_owned()));
        }
    };
    while let Some((value, is_secret)) = left.pop() {
        match value.kind() {
            Kind::String => {
                let Some(string) = value.str() else { continue };
                note(string.raw(), &string.decode(), is_secret);
            }
            Kind::Array => left.extend(value.items().map(|item: Value<'_>| (item, false))),
            Kind::Object => {
                for (key, value) in value.entries() {
                    let name = key.decode();
                    note(key.raw(), &name, false);
                    left.push((value, SECRET.as_ref().is_some_and(|secret| secret.is_match(&name))));
                }
            }
            _ => {}
        }
    }
    if places.is_empty() {
        return Cow::Borrowed(line);
    }
    places.sort_unstable();
    let (mut clean, mut end) = (String::with_capacity(whole.len()), 0);
    for (start, length, place) in places {
        clean.extend([&whole[end..start], &place]);
        end = start + length;
    }
    clean.push_str(&whole[end..]);
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shapes_can_be_read() {
        assert_eq!(READY.len(), SHAPES.len());
        assert!(SECRET.is_some());
    }

    #[test]
    fn what_is_nobodys_business_goes() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----";
        for (given, clean) in [
            ("/home/jane/shop/src", "/home/user/shop/src"),
            ("/Users/jane.doe/x", "/Users/user/x"),
            (r"C:\Users\jane\x", r"C:\Users\user\x"),
            ("~/.claude/projects/-home-jane-shop/1.jsonl", "~/.claude/projects/-home-user-shop/1.jsonl"),
            ("write to jane@example.org now", "write to user@example.com now"),
            ("ANTHROPIC_API_KEY=sk-ant-api03-abcdefghijklmnop", "ANTHROPIC_API_KEY=<secret>"),
            ("token ghp_abcdefghijklmnopqrstuvwxyz0123456789", "token <secret>"),
            ("AKIAIOSFODNN7EXAMPLE", "<secret>"),
            ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "Authorization: Bearer <secret>"),
            ("postgres://jane:hunter22@db/x", "postgres://user:<secret>@db/x"),
            ("db_password = \"correct horse\"", "db_password = \"correct horse\""),
            ("db_password = \"correcthorse\"", "db_password = \"<secret>\""),
            (key, "<private-key>"),
            ("cargo test -p shop", "cargo test -p shop"),
            ("https://example.com/a@b", "https://example.com/a@b"),
        ] {
            assert_eq!(text(given, &mut Counts::new()), clean);
            assert_eq!(text(clean, &mut Counts::new()), clean, "twice");
        }
    }

    #[test]
    fn strings_of_a_record_are_looked_at_decoded() {
        let mut counts = Counts::new();
        let given = r#"{"cwd":"\/home\/jane/x","/home/jane":1,"n":1e400,"env":{"api_key":"abc","x":"\u006aane@example.org"},"other":"\ud800"}"#;
        let clean = r#"{"cwd":"/home/user/x","/home/user":1,"n":1e400,"env":{"api_key":"<secret>","x":"user@example.com"},"other":"\ud800"}"#;
        assert_eq!(line(given, &mut counts), clean);
        assert_eq!(counts, Counts::from([("home folder", 2), ("secret", 1), ("e-mail address", 1)]));
        assert_eq!(line("jane@example.org said", &mut counts), "user@example.com said");
    }
}
