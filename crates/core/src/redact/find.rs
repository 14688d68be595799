//! Finds the secrets in a text by their shapes (`shape.rs`): one pass searches for all their beginnings, and at
//! each one found the text after it is examined.
//!
//! The time is linear in the length of the text: the text examined in vain is bounded at each place, and a secret that was found
//! isn't searched again.

use std::ops::Range;

use regex::Regex;
use regex_syntax::hir::{Class, HirKind};

use super::shape::{ABOUT, CharClass, NAMES, WORDS, tokens};
use super::{CustomPattern, Redaction};
use crate::json::string_end;

/// How many bytes of a value are examined to decide whether it is a secret.
const LOOK: usize = 512;
/// The most bytes of a name before and after the part that is known.
const NAME: usize = 40;
/// The most bytes of a user name in a URL, and of a password.
const USER: usize = 128;
/// The most bytes of an e-mail address before and after its `@`.
const MAIL: usize = 64;
/// The separator of two strings in a JSON array. No JSON string contains it.
const STRINGS: &str = "\",\"";
/// The most bytes of an escaped colour sequence.
const COLOUR: usize = 40;
/// The most bytes of the label of a private key.
const LABEL: usize = 40;
/// The most bytes of a private key.
pub(super) const KEY: usize = 32 << 10;

/// A part of a text that is to be masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretSpan<'a> {
    /// Its range in the text.
    pub(super) range: Range<usize>,
    /// The name of its shape; `None` if it is replaced by `~`.
    pub(super) name: Option<&'a str>,
    /// Whether it is a private key whose end isn't in the text.
    pub(super) is_open: bool,
    /// The separator of its lines.
    pub(super) line_end: &'static str,
}

impl<'a> SecretSpan<'a> {
    fn new(range: Range<usize>, name: &'a str) -> Self {
        Self { range, name: Some(name), is_open: false, line_end: "\n" }
    }
}

/// Finds everything that a [`Redaction`] masks.
pub(super) struct SecretFinder {
    /// Matches the beginnings of secrets.
    starts: Option<Regex>,
    own: Vec<CustomPattern>,
    /// Whether matches of a custom pattern can span lines.
    pub(super) crosses_lines: bool,
}

impl SecretFinder {
    pub(super) fn new(redaction: &Redaction) -> Self {
        let mut starts: Vec<String> = Vec::new();
        if redaction.secrets {
            starts.extend(tokens().map(|(start, _)| regex::escape(start)));
            starts.extend(NAMES.iter().map(|(name, _)| format!("(?i:{name})")));
            starts.extend(["eyJ", "-----BEGIN ", "://", "(?i:bearer) "].map(str::to_owned));
        }
        if redaction.emails {
            starts.push("@".to_owned());
        }
        if redaction.home {
            starts.extend(["/home/", "/Users/", r"\\Users\\"].map(str::to_owned));
        }
        Self {
            // It is built from tables that tests compile, so this doesn't fail.
            starts: (!starts.is_empty()).then(|| Regex::new(&starts.join("|")).ok()).flatten(),
            own: redaction.own.clone(),
            crosses_lines: redaction.own.iter().any(|own| may_hold_line_feed(own.regex.as_str())),
        }
    }

    /// The parts to mask, in order and without overlaps. `is_json`: whether the text is JSON, where no part may
    /// extend beyond the end of a string.
    pub(super) fn find(&self, text: &str, is_json: bool) -> Vec<SecretSpan<'_>> {
        let mut found = Vec::new();
        let mut at = 0;
        let mut reader = SecretReader { text, is_json, next_end: 0, string_end: 0 };
        while let Some(start) = self.starts.as_ref().and_then(|starts| starts.find_at(text, at)) {
            at = match reader.at(start.range()) {
                Some(secret) if secret.range.end > at => {
                    let end = secret.range.end;
                    found.push(secret);
                    end
                }
                _ => next_char(text, start.start()),
            };
        }
        for CustomPattern { name, regex } in &self.own {
            for captures in regex.captures_iter(text) {
                let Some(part) = captures.get(1).or_else(|| captures.get(0)) else { continue };
                let breaks = is_json && part.as_str().contains(['"', '\\']);
                let range = reader.behind_escape(part.start())..part.end();
                if !range.is_empty() && !breaks {
                    found.push(SecretSpan::new(range, name));
                }
            }
        }
        found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
        let mut end = 0;
        // If two overlap, the rest of the second one is masked, too.
        found.retain_mut(|found| {
            found.range.start = found.range.start.max(end);
            end = end.max(found.range.end);
            found.range.start < found.range.end
        });
        found
    }
}

/// Whether matches of a pattern can span lines. Assumed for patterns that don't parse.
fn may_hold_line_feed(pattern: &str) -> bool {
    let Ok(pattern) = regex_syntax::parse(pattern) else { return true };
    let mut open = vec![&pattern];
    while let Some(part) = open.pop() {
        let holds = match part.kind() {
            HirKind::Literal(literal) => literal.0.contains(&b'\n'),
            HirKind::Class(Class::Unicode(class)) => {
                class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&'\n'))
            }
            HirKind::Class(Class::Bytes(class)) => {
                class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&b'\n'))
            }
            _ => false,
        };
        if holds {
            return true;
        }
        open.extend(part.kind().subs());
    }
    false
}

/// The private keys in a text that still grows, in order and without overlaps. A key is open if its end may still come, so that the text
/// after it may belong to it, too.
pub(super) fn growing_keys(text: &str) -> Vec<SecretSpan<'_>> {
    let mut keys: Vec<SecretSpan<'_>> = Vec::new();
    let mut reader = SecretReader { text, is_json: false, next_end: 0, string_end: 0 };
    for at in memchr::memmem::find_iter(text.as_bytes(), b"-----BEGIN ") {
        if keys.last().is_some_and(|key| at < key.range.end) {
            continue;
        }
        if let Some(key) = reader.private_key(at) {
            // If the key has ended, its end is in the masked part.
            let has_end = memchr::memmem::find(&text.as_bytes()[key.range.clone()], b"-----END ").is_some();
            keys.push(SecretSpan { is_open: !has_end && text.len() - at < KEY + LABEL, ..key });
        }
    }
    keys
}

/// Whether a byte may belong to a private key that has no end.
pub(super) fn is_in_key(byte: u8) -> bool {
    CharClass::Base64.has(byte) || b" \t\n\\:,\"'".contains(&byte)
}

fn next_char(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(text.len(), |ch| at + ch.len_utf8())
}

/// Examines a text at places where a secret may begin.
struct SecretReader<'a> {
    text: &'a str,
    is_json: bool,
    /// The end of the next private key after the last place examined.
    next_end: usize,
    /// In JSON: the end of the string at the last place examined.
    string_end: usize,
}

impl SecretReader<'_> {
    fn at<'n>(&mut self, start: Range<usize>) -> Option<SecretSpan<'n>> {
        let text = &self.text[start.start..];
        if text.starts_with("-----BEGIN ") {
            return self.private_key(start.start);
        }
        if text.starts_with("://") {
            return self.password_in_address(start.end);
        }
        if text.starts_with('@') {
            return self.mail(start.start);
        }
        if text.starts_with(['/', '\\']) {
            return self.home(&start);
        }
        if self.begins(start.start) {
            if text.starts_with("eyJ") {
                return self.web_token(start.start);
            }
            let token = self.token(start.start);
            if token.is_some() {
                return token;
            }
        }
        if text.as_bytes()[..start.len()].eq_ignore_ascii_case(b"bearer ") {
            return self.bearer(start.end);
        }
        let name = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&self.text[start.clone()]))?;
        self.assigned(start.start, start.end, name.1)
    }

    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes().get(at).copied().unwrap_or(0)
    }

    /// The end of the JSON escape that `at` is inside of, or `at` itself if it is in none. A letter of an escape doesn't
    /// belong to the text after it.
    fn behind_escape(&self, at: usize) -> usize {
        let bytes = self.bytes();
        let begins = |start: &usize| {
            let slashes = bytes[..*start].iter().rev().take_while(|byte| **byte == b'\\').count();
            slashes % 2 == 1
        };
        let letter = (at.saturating_sub(4)..=at).rev().find(begins).filter(|_| self.is_json);
        let Some(letter) = letter else { return at };
        let end = letter + if self.byte(letter) == b'u' { 5 } else { 1 };
        if end > at { end.min(self.text.len()) } else { at }
    }

    /// Whether an escape ends at `at`.
    fn follows_escape(&self, at: usize) -> bool {
        match &self.bytes()[at.saturating_sub(6)..at] {
            [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
            [b'\\', b'u', digits @ ..] => digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit),
            _ => false,
        }
    }

    /// Whether a word may begin at `at`: in escaped text, also right after an escape.
    fn begins(&self, at: usize) -> bool {
        if self.behind_escape(at) > at {
            return false;
        }
        let before = &self.bytes()[at.saturating_sub(3)..at];
        match before {
            [] => true,
            _ if self.follows_escape(at) => true,
            [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
            [.., last] => !CharClass::Alnum.has(*last) || self.follows_colour(at),
        }
    }

    /// Whether a colour sequence, plain or escaped, ends at `at`: coloured text begins after one.
    fn follows_colour(&self, at: usize) -> bool {
        let before = &self.bytes()[at.saturating_sub(COLOUR)..at];
        let Some(before) = before.strip_suffix(b"m") else { return false };
        let is_number = |byte: &&u8| byte.is_ascii_digit() || b";:".contains(byte);
        let numbers = before.iter().rev().take_while(is_number).count();
        let start = &before[..before.len() - numbers];
        start.ends_with(b"\x1b[") || start.to_ascii_lowercase().ends_with(br"\u001b[")
    }

    /// Whether the text was cut at `at`, so that a value that ends there may be incomplete.
    fn is_cut(&self, at: usize) -> bool {
        self.bytes()[at..].starts_with("…".as_bytes())
    }

    /// How many bytes from `at` on satisfy `is_such`, at most `most`.
    fn run(&self, at: usize, most: usize, is_such: impl Fn(u8) -> bool) -> usize {
        let rest = &self.bytes()[at.min(self.text.len())..];
        rest.iter().take(most).position(|byte| !is_such(*byte)).unwrap_or(rest.len().min(most))
    }

    fn token<'n>(&self, at: usize) -> Option<SecretSpan<'n>> {
        let (start, token) = tokens().find(|(start, _)| self.text[at..].starts_with(start))?;
        let begin = at + start.len();
        let (least, most) = token.length;
        let length = self.run(begin, most.saturating_add(1), |byte| token.class.has(byte));
        if (length < least && !(length > 0 && self.is_cut(begin + length))) || length > most {
            return None;
        }
        let mut end = begin + length;
        // A full stop at the end belongs to the sentence.
        while matches!(self.byte(end - 1), b'.' | b'~') {
            end -= 1;
        }
        let has_digit = self.bytes()[begin..end].iter().take(LOOK).any(u8::is_ascii_digit);
        (has_digit || !token.has_digit).then_some(SecretSpan::new(at..end, token.name))
    }

    /// A JSON Web Token: two or more parts of Base64, separated by dots.
    fn web_token<'n>(&self, at: usize) -> Option<SecretSpan<'n>> {
        if at > 0 && CharClass::Url.has(self.byte(at - 1)) && self.byte(at - 1).is_ascii_punctuation() {
            return None;
        }
        let mut end = at;
        let mut parts = 0;
        loop {
            let length = self.run(end, usize::MAX, |byte| CharClass::Url.has(byte));
            end += length;
            parts += usize::from(length >= 10);
            if parts == 0 || parts > 5 || self.byte(end) != b'.' || !CharClass::Url.has(self.byte(end + 1)) {
                break;
            }
            end += 1;
        }
        (parts >= 2 || (parts == 1 && self.is_cut(end))).then_some(SecretSpan::new(at..end, "jwt"))
    }

    fn private_key<'n>(&mut self, at: usize) -> Option<SecretSpan<'n>> {
        let head = self.behind_label(at + 11);
        let (label, rest) = (&self.text[at + 11..head], &self.text[head..]);
        if !label.contains("PRIVATE KEY") || !rest.starts_with("-----") {
            return None;
        }
        if self.is_json && self.string_end < head {
            self.string_end = string_end(self.bytes(), head);
        }
        let limit = if self.is_json { self.string_end } else { self.text.len() };
        if self.next_end < head {
            let end = memchr::memmem::find(&self.bytes()[head..], b"-----END ");
            self.next_end = end.map_or(usize::MAX, |end| head + end);
        }
        if self.next_end < limit && self.next_end - head < KEY {
            return Some(SecretSpan::new(at..self.end_of_label(), "private-key"));
        }
        if let Some(end) = self.end_in_list(head, limit) {
            return Some(SecretSpan { line_end: STRINGS, ..SecretSpan::new(at..end, "private-key") });
        }
        let end = head + 5 + self.run(head + 5, limit - head - 5, is_in_key);
        // The key is still open only if the text ends with it.
        Some(SecretSpan { is_open: end == self.text.len(), ..SecretSpan::new(at..end, "private-key") })
    }

    /// The end of a key whose lines are the strings of a JSON array. It begins before `head`, and its first line ends at `end`.
    fn end_in_list(&self, head: usize, mut end: usize) -> Option<usize> {
        if !self.is_json || self.next_end == usize::MAX || self.next_end - head > KEY {
            return None;
        }
        while end < self.next_end {
            if !self.text[end..].starts_with(STRINGS) {
                return None;
            }
            end = string_end(self.bytes(), end + STRINGS.len());
        }
        Some(self.end_of_label())
    }

    /// The end of the key's label that begins at `at`.
    fn behind_label(&self, at: usize) -> usize {
        at + self.run(at, LABEL, |byte| CharClass::Upper.has(byte) || byte == b' ')
    }

    /// The end of the last line of the key.
    fn end_of_label(&self) -> usize {
        let behind = self.behind_label(self.next_end + 9);
        // No more than five: another key may follow at once.
        behind + self.run(behind, 5, |byte| byte == b'-')
    }

    /// `//user:password@host`, of which the password is masked.
    fn password_in_address<'n>(&self, at: usize) -> Option<SecretSpan<'n>> {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"/?#\"'`<>\\@()[]{}|".contains(&byte);
        let user = self.run(at, USER, |byte| plain(byte) && byte != b':');
        if self.byte(at + user) != b':' {
            // A token may take the place of the user name.
            let is_token = user >= 20 && self.byte(at + user) == b'@';
            return is_token.then_some(SecretSpan::new(at..at + user, "password"));
        }
        let begin = at + user + 1;
        let length = self.run(begin, USER, plain);
        let value = &self.text[begin..begin + length];
        let is_port = value.bytes().all(|byte| byte.is_ascii_digit());
        let ends = self.byte(begin + length) == b'@' || (self.is_cut(begin + length) && !is_port);
        let is_secret = length > 0 && ends && !is_placeholder(value);
        is_secret.then_some(SecretSpan::new(begin..begin + length, "password"))
    }

    fn bearer<'n>(&self, at: usize) -> Option<SecretSpan<'n>> {
        let length = self.run(at, usize::MAX, |byte| CharClass::Base64.has(byte));
        let value = &self.bytes()[at..at + length];
        let is_long = length >= 16 || (length > 4 && self.is_cut(at + length));
        let is_secret = is_long && value.iter().any(u8::is_ascii_digit);
        is_secret.then_some(SecretSpan::new(at..at + length, "bearer-token"))
    }

    /// A value assigned to a name such as `API_KEY`. `strong`: whether short values count, too.
    fn assigned<'n>(&self, start: usize, known: usize, strong: bool) -> Option<SecretSpan<'n>> {
        let tail = self.run(known, NAME, |byte| CharClass::Url.has(byte));
        let mut at = known + tail;
        let tail = self.text[known..at].to_ascii_lowercase();
        if ABOUT.iter().any(|about| tail.contains(about)) {
            return None;
        }
        let is_header = self.text[start..known].eq_ignore_ascii_case("authorization");
        let before = &self.bytes()[start.saturating_sub(NAME)..start];
        let name = before.iter().rev().take_while(|byte| CharClass::Url.has(**byte)).count();
        let name = self.behind_escape(start - name).min(start);
        let is_option = self.text[name..].starts_with("--");
        let is_upper = !self.bytes()[name..at].iter().any(u8::is_ascii_lowercase);
        at += self.quote(at);
        let blank = self.run(at, 8, |byte| byte == b' ');
        let sign = self.run(at + blank, 2, |byte| b":=>".contains(&byte));
        match &self.text[at + blank..at + blank + sign] {
            ":" | "=" | ":=" | "=>" => {}
            "" if is_option && blank == 1 => {}
            _ => return None,
        }
        at += blank + sign;
        let after = self.run(at, 8, |byte| byte == b' ');
        at += after;
        let quote = self.quote(at);
        at += quote;
        if is_header {
            let scheme = self.run(at, 12, |byte| byte.is_ascii_alphabetic());
            if self.byte(at + scheme) == b' ' {
                at += scheme + 1;
            }
        }
        // A cut text ends with an ellipsis, and these secrets are ASCII only.
        let ends = |byte: u8| !byte.is_ascii_graphic() || b"\"'`<>\\".contains(&byte);
        let open = |byte: u8| !ends(byte) && !b",;()[]{}|&".contains(&byte);
        let inside = |byte: u8| if quote > 0 { !ends(byte) } else { open(byte) };
        let looked = self.run(at, LOOK, inside);
        let value = &self.text[at..at + looked];
        let is_cut = self.is_cut(at + value.len()) && value.len() >= 3;
        if quote > 0 && looked < LOOK && self.quote(at + looked) == 0 && !is_cut {
            return None;
        }
        let is_env = is_upper && sign == 1 && blank + after == 0 && self.byte(at - quote - 1) == b'=';
        let count = |is_such: fn(&u8) -> bool| value.bytes().filter(is_such).count();
        let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
        let is_secret = if is_cut {
            true
        } else if is_header {
            value.len() >= 8
        } else if quote > 0 {
            if strong { value.len() >= 6 } else { value.len() >= 12 && digits > 0 }
        } else if is_env || is_option {
            value.len() >= 6 && (strong || digits > 0) && letters > 0
        } else {
            letters > 0
                && if strong { value.len() >= 6 && digits > 0 } else { value.len() >= 12 && digits > 1 }
        };
        // Without quotes it may be code: names separated by dots aren't masked.
        let is_code = quote == 0 && !is_env && !is_option && is_names(value);
        if !is_secret || is_code || is_placeholder(value) {
            return None;
        }
        let end = at + if looked < LOOK { looked } else { self.run(at, usize::MAX, inside) };
        Some(SecretSpan::new(at..end, "secret"))
    }

    /// The length of a quote, escaped or not.
    fn quote(&self, at: usize) -> usize {
        let escape = self.run(at, 3, |byte| byte == b'\\');
        if matches!(self.byte(at + escape), b'"' | b'\'' | b'`') { escape + 1 } else { 0 }
    }

    fn mail<'n>(&self, at: usize) -> Option<SecretSpan<'n>> {
        let is_local = |byte: u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte);
        let before = &self.bytes()[at.saturating_sub(MAIL)..at];
        let local = before.iter().rev().take_while(|byte| is_local(**byte)).count();
        let start = self.behind_escape(at - local);
        let domain = self.run(at + 1, MAIL, |byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        let domain = self.text[at + 1..at + 1 + domain].trim_end_matches(['.', '-']);
        let (host, top) = domain.rsplit_once('.')?;
        let is_mail = start < at
            && !host.is_empty()
            && top.len() >= 2
            && top.bytes().all(|byte| byte.is_ascii_alphabetic())
            // The user of Git over SSH isn't a person.
            && &self.text[start..at] != "git";
        is_mail.then_some(SecretSpan::new(start..at + 1 + domain.len(), "email"))
    }

    fn home<'n>(&self, start: &Range<usize>) -> Option<SecretSpan<'n>> {
        let mut begin = start.start;
        let is_windows = self.byte(begin) == b'\\';
        // In escaped text backslashes are doubled.
        let doubled = if is_windows { self.run(start.end, 3, |byte| byte == b'\\') } else { 0 };
        while begin > 0 && doubled > 0 && self.byte(begin - 1) == b'\\' {
            begin -= 1;
        }
        let before = &self.bytes()[begin.saturating_sub(3)..begin];
        let is_after_escape = self.is_json && self.follows_escape(begin);
        if is_windows {
            match before {
                // The letter of an escape isn't a drive letter.
                [b'\\', _, b':'] => return None,
                [.., drive, b':'] if drive.is_ascii_alphabetic() => begin -= 2,
                _ => return None,
            }
        } else if !is_after_escape
            && !self.follows_colour(begin)
            && before.last().is_some_and(|byte| CharClass::Url.has(*byte) || b"./~".contains(byte))
        {
            return None;
        }
        let name = start.end + doubled;
        let user = self.run(name, NAME, |byte| CharClass::Url.has(byte) || byte == b'.');
        let is_shared = matches!(&self.text[name..name + user], "Shared" | "Public");
        (user > 0 && !is_shared)
            .then_some(SecretSpan { name: None, ..SecretSpan::new(begin..name + user, "") })
    }
}

/// Whether a value isn't a secret but a common word, a variable, a path or another placeholder.
fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let starts = ["$", "{", "<", "%", "[", "*", "(", "@", "./", "../", "~/", "http:", "https:"];
    let parts = ["${", "(", "process.env", "environ", "secrets.", "env."];
    let first = value.as_bytes().first();
    starts.iter().any(|start| value.starts_with(start))
        || parts.iter().any(|part| value.contains(part))
        || WORDS.contains(&&*lower)
        || value.bytes().all(|byte| Some(&byte) == first)
        // A path. But secrets of AWS have 40 characters and may begin with a slash.
        || (value.starts_with('/') && value.len() != 40)
}

/// Whether a value looks like code: names separated by dots.
fn is_names(value: &str) -> bool {
    let is_name = |part: &str| {
        part.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            && part.bytes().all(|byte| CharClass::Word.has(byte))
    };
    value.contains('.') && value.split('.').all(is_name)
}
