//! What looks like a secret and isn't masked: too often it is none. A person decides.
//!
//! Few false alarms count more than completeness here: hashes, UUIDs, paths and identifiers alone are none.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::read::ReadText;
use super::reader::SecretReader;
use super::shape::{ABOUT, CharClass, PUBLIC_KEYS};

/// The fewest characters of a word that looks random.
const RANDOM: usize = 20;
/// The fewest lower-case letters in a row that are a word rather than random.
const LONGEST_WORD: usize = 8;
/// The fewest characters of one with signs of Base64.
const BASE64: usize = 32;
/// The most bytes of a name before a value.
const NAME: usize = 40;
/// The most bytes of a word that are looked at.
const LOOK: usize = 4_096;

/// A part of a text that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspect {
    pub(super) range: Range<usize>,
    pub(super) kind: &'static str,
}

/// Parts of names with which secrets are named, and whether short values of them count as well.
static NAMES: &[(&str, bool)] = &[
    ("password", true),
    ("passwd", true),
    ("passphrase", true),
    ("passcode", true),
    ("secret", true),
    ("credential", true),
    ("token", true),
    ("pass", true),
    ("pwd", true),
    ("key", false),
    ("pat", false),
    ("pin", false),
    ("auth", false),
    ("cookie", false),
    ("signature", false),
    ("sig", false),
    ("salt", false),
    ("otp", false),
    ("webhook", false),
];

/// The ends of names of values that look random and are public.
static PUBLIC_VALUES: &[&str] = &[
    "id",
    "ids",
    "uuid",
    "guid",
    "hash",
    "sha",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "md5",
    "digest",
    "checksum",
    "sum",
    "etag",
    "integrity",
    "commit",
    "rev",
    "revision",
    "fingerprint",
    "cursor",
    "h1",
];

/// The ends of the names of hosts that aren't public.
static PRIVATE_HOSTS: &[&str] = &[".internal", ".intranet", ".corp", ".lan", ".local", ".home.arpa"];

/// Finds what looks like a secret, in order and without overlaps.
pub(super) fn suspects(text: &str) -> Vec<Suspect> {
    let plain = ReadText::plain(text);
    match plain.unmarked() {
        Some(read) => {
            let found = suspects_in(&read).into_iter();
            found.map(|suspect| Suspect { range: read.under(&suspect.range), ..suspect }).collect()
        }
        None => suspects_in(&plain),
    }
}

fn suspects_in(read: &ReadText<'_>) -> Vec<Suspect> {
    let text = &*read.text;
    let mut found = values_of_names(read);
    words(
        text,
        |byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte),
        |range| {
            found.extend(random(text, range));
        },
    );
    words(
        text,
        |byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte),
        |range| {
            let is_private = is_private_address(text, &range);
            found.extend(is_private.then_some(Suspect { range, kind: "private-address" }));
        },
    );
    // At one place, the value of a name comes first.
    found.sort_by_key(|suspect| suspect.range.start);
    let mut last = 0;
    found.retain(|Suspect { range, .. }| {
        let is_apart = range.start >= last;
        last = last.max(range.end);
        is_apart
    });
    found
}

/// Passes the longest parts of such bytes to `take`.
fn words(text: &str, is_such: impl Fn(u8) -> bool, mut take: impl FnMut(Range<usize>)) {
    let mut start = None;
    for (at, byte) in text.bytes().enumerate() {
        match (is_such(byte), start) {
            (true, None) => start = Some(at),
            (false, Some(begin)) => {
                take(begin..at);
                start = None;
            }
            _ => {}
        }
    }
    if let Some(start) = start {
        take(start..text.len());
    }
}

/// The values of names of secrets that no rule takes for secrets, though they look like them.
fn values_of_names(read: &ReadText<'_>) -> Vec<Suspect> {
    static STARTS: OnceLock<Option<Regex>> = OnceLock::new();
    let compile = || {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        Regex::new(&format!("(?i:{})", names.join("|"))).ok()
    };
    let Some(starts) = STARTS.get_or_init(compile) else { return Vec::new() };
    let reader = SecretReader::new(read);
    let mut found: Vec<Suspect> = Vec::new();
    for start in starts.find_iter(&read.text) {
        let is_known = found.last().is_some_and(|last| start.start() < last.range.end);
        let known = NAMES.iter().find(|(name, _)| start.as_str().eq_ignore_ascii_case(name));
        if let Some((_, is_strong)) = known.filter(|_| !is_known)
            && let Some(range) = value_of_name(&read.text, &reader, &start.range(), *is_strong)
        {
            found.push(Suspect { range, kind: "value-of-name" });
        }
    }
    found
}

/// The value assigned to a name, whose known part is `known`, if it looks like a secret.
fn value_of_name(
    text: &str,
    reader: &SecretReader<'_>,
    known: &Range<usize>,
    is_strong: bool,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_name = |byte: &&u8| CharClass::Url.has(**byte);
    let before =
        bytes[known.start.saturating_sub(NAME)..known.start].iter().rev().take_while(is_name).count();
    let name = known.start - before;
    let end = known.end + bytes[known.end..].iter().take(NAME).take_while(is_name).count();
    let (head, tail) = (&text[name..known.start], &text[known.end..end]);
    // `monkey`, `keyboard` and `author` are other words, `apiKey` and `api_keys` aren't.
    let is_part = is_strong
        || head.bytes().last().is_none_or(|byte| {
            !byte.is_ascii_alphabetic()
                || byte.is_ascii_lowercase() && bytes[known.start].is_ascii_uppercase()
        });
    let is_ended = tail.trim_start_matches('s').bytes().next().is_none_or(|byte| !byte.is_ascii_lowercase());
    let (head, tail) = (head.to_ascii_uppercase(), tail.to_ascii_lowercase());
    let is_public = PUBLIC_KEYS.iter().any(|word| head.trim_end_matches(['_', '-']).ends_with(word));
    if !is_part || !is_ended || is_public || ABOUT.iter().any(|about| tail.contains(about)) {
        return None;
    }
    let range = reader.value_of(name, known.clone(), end)?;
    let value = &text[range.clone()];
    let has = |is_such: fn(&u8) -> bool| value.bytes().any(|byte| is_such(&byte));
    let is_mixed =
        has(u8::is_ascii_alphabetic) && (has(u8::is_ascii_digit) || has(|byte| b"!$#%&@^*?".contains(byte)));
    let is_such = if is_strong {
        value.len() >= 8 && is_mixed
    } else {
        is_hexadecimal(value) && value.len() >= 16 && has(u8::is_ascii_digit) || is_random(value)
    };
    (is_such && !is_reference(value)).then_some(range)
}

/// Whether a value refers to a secret, or is a word or a path.
fn is_reference(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let parts = [
        "${",
        "$(",
        "{{",
        "(",
        "env.",
        "environ",
        "getenv",
        "secrets.",
        "vars.",
        "://",
        "***",
        "xxx",
        "...",
        "example",
        "your",
        "changeme",
        "placeholder",
        "dummy",
        "redacted",
        "[",
        "<",
        "->",
        "::",
        "==",
    ];
    // `$DB_PASSWORD` and `$password` are variables; `$ecretPa55` may be one.
    let is_variable = value.strip_prefix(['$', '%', '@', ':', '&', '*', '{']).is_some_and(|name| {
        let name = name.trim_end_matches(['%', '}']);
        let is_plain = |name: &str| !name.bytes().any(|byte| byte.is_ascii_uppercase());
        name.bytes().all(|byte| CharClass::Word.has(byte))
            && (is_plain(name)
                || is_plain(&name.to_ascii_lowercase())
                    && !name.bytes().any(|byte| byte.is_ascii_lowercase()))
    });
    let is_words = value.split(|ch: char| !ch.is_ascii_alphanumeric()).all(|part| {
        let word = part.strip_suffix(|ch: char| ch.is_ascii_digit()).unwrap_or(part);
        part.len() <= 3
            || part.bytes().all(|byte| byte.is_ascii_digit())
            || word.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    let is_plain = value.bytes().all(|byte| CharClass::Url.has(byte) || b"./:,".contains(&byte));
    parts.iter().any(|part| lower.contains(part))
        || is_variable
        || is_words && is_plain
        || value.contains('/') && !is_random(value)
}

/// A word that looks random.
fn random(text: &str, range: Range<usize>) -> Option<Suspect> {
    if range.len() < RANDOM {
        return None;
    }
    let word = text[range.clone()].trim_start_matches(['=', '/', '-', '+']);
    let value = word.trim_end_matches(['/', '-', '+', '_']);
    let start = range.end - word.len();
    let whole = value.trim_end_matches('=');
    let signs = value.len() > whole.len() || whole.bytes().any(|byte| b"+/".contains(&byte));
    // `key=value` isn't one word.
    let at = whole.rfind('=').map_or(0, |sign| sign + 1);
    let (start, whole) = (start + at, &whole[at..]);
    let end = start + value.len() - at;
    let kind = if signs { "base64" } else { "random" };
    let least = if signs { BASE64 } else { RANDOM };
    let is_such = whole.len() >= least && is_random(whole) && !is_public(text, start, whole);
    is_such.then_some(Suspect { range: start..end, kind })
}

/// Whether a word looks drawn at random: its letters and digits change all the time, unlike those of identifiers and paths.
fn is_random(word: &str) -> bool {
    let word = &word.as_bytes()[..word.len().min(LOOK)];
    let class = |byte: u8| match byte {
        b'a'..=b'z' => Some(0),
        b'A'..=b'Z' => Some(1),
        b'0'..=b'9' => Some(2),
        _ => None,
    };
    let classes: Vec<u8> = word.iter().filter_map(|byte| class(*byte)).collect();
    let lower = word.iter().filter(|byte| byte.is_ascii_lowercase()).count();
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let changes = classes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let groups = classes.chunk_by(|a, b| a == b).filter(|group| group[0] == 2).count();
    let longest_word = classes.chunk_by(|a, b| a == b).filter(|group| group[0] == 0).map(<[u8]>::len).max();
    let is_hex = word.iter().all(|byte| byte.is_ascii_hexdigit() || b"-_".contains(byte));
    let (all, longest_word) = (classes.len(), longest_word.unwrap_or(0));
    // In identifiers, an upper-case letter begins a word.
    let capitals = classes.windows(2).filter(|pair| pair[0] == 1 && pair[1] != 0).count();
    let has_three =
        lower > 0 && capitals > 1 && changes * 5 >= all * 2 && longest_word < (all / 8).max(LONGEST_WORD);
    // Of one case, only longer ones.
    let has_two = all >= RANDOM + 4
        && all == word.len()
        && digits >= 4
        && groups >= 3
        && changes * 3 >= all
        && longest_word < LONGEST_WORD + 4;
    all >= 16 && !is_hex && digits >= 2 && digits * 2 < all && groups >= 2 && (has_three || has_two)
}

fn is_hexadecimal(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Whether the word at `start` is a public value by what comes before it: a hash, an id.
fn is_public(text: &str, start: usize, word: &str) -> bool {
    let lower = word.get(..8).unwrap_or_default().to_ascii_lowercase();
    let before = &text.as_bytes()[start.saturating_sub(NAME)..start];
    let rest = before.iter().rev().skip_while(|byte| b" \"'`:=(\\".contains(byte));
    let mut name: Vec<u8> = rest.take_while(|byte| CharClass::Alnum.has(**byte)).copied().collect();
    name.reverse();
    let is_such = |end: &&str| {
        let Some(begin) = name.len().checked_sub(end.len()) else { return false };
        let is_part =
            begin == 0 || name[begin].is_ascii_uppercase() || !name[begin - 1].is_ascii_alphabetic();
        is_part && name[begin..].eq_ignore_ascii_case(end.as_bytes())
    };
    let is_assigned = before.last().is_some_and(|byte| b" \"'`:=(\\".contains(byte));
    ["sha1-", "sha256-", "sha384-", "sha512-", "md5-"].iter().any(|start| lower.starts_with(start))
        || is_assigned && PUBLIC_VALUES.iter().any(is_such)
}

/// Whether a word is the address of a private network, or of a host in one.
fn is_private_address(text: &str, range: &Range<usize>) -> bool {
    let word = text[range.clone()].trim_end_matches('.');
    if word.len() > 100 {
        return false;
    }
    let after = &text.as_bytes()[range.start + word.len()..];
    let before = &text[..range.start];
    if let [first, second, third, fourth] = word.split('.').collect::<Vec<_>>()[..] {
        let part = |part: &str| part.parse::<u8>().ok().filter(|_| part.len() < 4);
        if let (Some(first), Some(second), Some(_), Some(_)) =
            (part(first), part(second), part(third), part(fourth))
        {
            return matches!((first, second), (10, _) | (192, 168) | (172, 16..=31));
        }
    }
    let has_port = after.first() == Some(&b':') && after.get(1).is_some_and(u8::is_ascii_digit);
    let is_host = before.ends_with("://") || before.ends_with('@') || has_port;
    let lower = word.to_ascii_lowercase();
    is_host
        && PRIVATE_HOSTS.iter().any(|end| lower.len() > end.len() && lower.ends_with(end))
        // The name by which containers reach their host.
        && !lower.ends_with("docker.internal")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&'static str, &str)> {
        suspects(text).into_iter().map(|suspect| (suspect.kind, &text[suspect.range])).collect()
    }

    #[test]
    fn what_looks_like_a_secret_is_found() {
        let random = format!("q7{}", "Xk2LW9bZ4Tn6".repeat(3));
        let blob = format!("{}+Zy/{}==", &random[2..], &random[2..22]);
        for (kind, before, value, after) in [
            ("value-of-name", "ADMIN_PASSWORD=", "$ecretPa55word", "\n"),
            ("value-of-name", "\"password\": \"", "%x7Percent!", "\""),
            ("value-of-name", "key: ", "3f2b8c1e-9a4d-4e6f-8b21-7c5d9e0f1a2b", ", id: 1"),
            ("value-of-name", "uploadKey = '", "9f86d081884c7d659a2feaa0c55ad015", "';"),
            ("value-of-name", "pass: ", "hunter22", " "),
            ("value-of-name", "salt=", "9f86d081884c7d65", ""),
            ("random", "send ", &random, "."),
            ("random", "x=", &random, "&y"),
            ("random", "a ", "x7kf2pq9qt4mzz8rt6wy0bn7", " b"),
            ("base64", "blob ", &blob, ","),
            ("private-address", "at ", "10.1.2.3", ":80"),
            ("private-address", "", "192.168.0.17", "/24"),
            ("private-address", "http://", "db7.shop.internal", ":8080/x"),
        ] {
            let text = format!("{before}{value}{after}");
            assert_eq!(found(&text), [(kind, value)], "{text}");
        }
        let marked = format!("the **{}**`{}`", &random[..19], &random[19..]);
        assert!(found(&marked).is_empty(), "a quote ends a word");
        assert_eq!(
            found(&format!("the {}**{}**", &random[..19], &random[19..])).len(),
            1,
            "emphasis doesn't"
        );
    }

    #[test]
    fn harmless_texts_are_left_alone() {
        let random = "Xk2LW9bZ4Tn6".repeat(3);
        for text in [
            "commit 9f2c4e1ab37d5086e1f4c2d9b7a60315e8d4f2c1",
            "session 3f2b8c1e-9a4d-4e6f-8b21-7c5d9e0f1a2b resumed",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "index 9f2c4e1..b37d508 100644\n--- a/crates/core/src/redact/find.rs\n+++ b/crates/core/src/redact2/Find3.rs",
            "The password field is required, and the token count is 4096.",
            "def check(password: str, api_key: Optional[str] = None) -> bool:",
            "password: ${DB_PASSWORD} and os.environ[\"API_KEY\"], token=$TOKEN1, pass = %PASS%",
            "apiKey: string; token?: string | undefined; secret = getSecret(name2)",
            "passed: 14, skipped: 2; bypass=true; monkey=business2you; keyboard=qwerty12345",
            "KEY_EVENTS=enabled PRIMARY_KEY=id FOREIGN_KEY=order_id SORT_KEY=created",
            "cacheKey: 9f86d081884c7d659a2feaa0c55ad015, public_key=9f86d081884c7d659a2feaa0c55ad015",
            "src/auth/password_reset/token_bucket.rs:120 getUserById2FromSha256Digest",
            "next_page_token: null, cursor: \"\", max_tokens=4096, 2026-11-02T10:00:00.123Z",
            "serde = \"1.0.219\" checksum verified; version 10.2.1 of 127.0.0.1 at 8.8.8.8 on localhost:8080",
            "resolve.local settings.local.json .env.local host.docker.internal:80 a.internal",
            "lib-1f0c2b3a4d5e6f70.rlib libstd-0123456789abcdef.so node_modules/@types/node18-ts4.8/index.d.ts",
            "password: [redacted secret], token=[redacted secret]",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
        for before in
            ["sha512-", "integrity: ", "\"request_id\": \"", "requestId=", "SHA256:", "h1:", "etag: \""]
        {
            assert_eq!(found(&format!("{before}{random}")), [], "{before}");
        }
    }

    #[test]
    fn time_grows_with_length_whatever_the_text() {
        for part in ["token=", "key=a1", "Xk2LW9bZ4T", "aB1/", "10.", "pass:\"", "a=", "*key"] {
            let text = part.repeat(100_000 / part.len());
            assert!(suspects(&text).len() <= text.len(), "{part}");
        }
    }
}
