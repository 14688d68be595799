//! Examines a text at the places where a secret may begin.
//!
//! What is examined in vain is bounded at each place, so that the time is linear in the length of the text.

use std::ops::Range;

use super::find::{SecretSpan, is_in_key};
use super::read::ReadText;
#[cfg(test)]
use super::read::note_examined;
use super::shape::{
    ABOUT, ANY, COMMANDS, CharClass, FETCHERS, MARKED, NAMES, NameKind, PUBLIC_KEYS, TYPES, USER_OPTIONS,
    WORDS, tokens,
};

/// How many bytes of a value are examined to decide whether it is a secret.
const LOOK: usize = 512;
/// The most bytes of a name before and after the part that is known.
const NAME: usize = 40;
/// The most bytes of a user name in a URL, and of a password.
const USER: usize = 128;
/// The most bytes of an e-mail address before and after its `@`.
const MAIL: usize = 64;
/// The most bytes of a line before and after a place that decide what stands there.
const COMMAND: usize = 256;
/// The most words of a command line before an option.
const WORDS_BEFORE: usize = 16;
/// The separator of two strings in a JSON array. No JSON string contains it.
const STRINGS: &str = "\",\"";
/// The most bytes of an escaped colour sequence.
const COLOUR: usize = 40;
/// The most bytes of the label of a private key.
pub(super) const LABEL: usize = 40;
/// The most bytes of a private key.
pub(super) const KEY: usize = 32 << 10;
/// The fewest characters of a value that looks drawn.
const DRAWN: usize = 16;

/// The beginnings of what isn't a token and has no name, as patterns.
pub(super) const OTHER_STARTS: &[&str] = &[
    "eyJ",
    "-----BEGIN ",
    "://",
    "(?i:bearer) ",
    " -[uUaApPw]",
    " --(?:user|proxy-user|auth)[ =]",
    ":(?:543[0-9]|6432|\\*):",
];

/// Examines a text at places where a secret may begin.
pub(super) struct SecretReader<'a> {
    text: &'a str,
    read: &'a ReadText<'a>,
    /// The end of the next private key after the last place examined.
    next_end: usize,
}

impl<'a> SecretReader<'a> {
    pub(super) fn new(read: &'a ReadText<'a>) -> Self {
        Self { text: &read.text, read, next_end: 0 }
    }

    /// The secret that begins near `start`, where one of the patterns matched.
    pub(super) fn at<'n>(&mut self, start: Range<usize>) -> Option<SecretSpan<'n>> {
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
        if text.starts_with(' ') {
            return self.option(start.start + 1);
        }
        if self.begins(start.start) {
            let web_token = if text.starts_with("eyJ") { self.web_token(start.start) } else { None };
            if let Some(token) = web_token.or_else(|| self.token(start.start)) {
                return Some(token);
            }
        }
        if let Some(token) = self.marked(start.start) {
            return Some(token);
        }
        if text.starts_with(':') {
            return self.line_of_fields(start.start);
        }
        let begins_with =
            |name: &str| text.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
        if begins_with("bearer ") {
            return self.bearer(start.start + 7);
        }
        let mut names = NAMES.iter().filter(|(name, _)| begins_with(name));
        names.find_map(|(name, kind)| self.assigned(start.start, start.start + name.len(), *kind))
    }

    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes().get(at).copied().unwrap_or(0)
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
        let run = rest.iter().take(most).position(|byte| !is_such(*byte)).unwrap_or(rest.len().min(most));
        #[cfg(test)]
        note_examined(run);
        run
    }

    fn token<'n>(&self, at: usize) -> Option<SecretSpan<'n>> {
        let text = &self.text[at..];
        tokens().filter(|(start, _)| text.starts_with(start)).find_map(|(start, token)| {
            let begin = at + start.len();
            let (least, most) = token.length;
            // Without a limit, this much decides.
            let limit = if most == ANY { least.max(LOOK) } else { most.saturating_add(LOOK) };
            let mut run = self.run(begin, limit, |byte| token.class.has(byte));
            // A full stop at the end belongs to the sentence.
            let value = self.text[begin..begin + run].trim_end_matches(['.', '~', ',']);
            let is_cut = !value.is_empty() && self.is_cut(begin + run);
            if (value.len() < least && !is_cut) || value.len() > most || value.is_empty() {
                return None;
            }
            let has_digit = value.bytes().take(LOOK).any(|byte| byte.is_ascii_digit());
            if token.has_digit && !has_digit {
                return None;
            }
            if run == limit {
                run = self.run(begin, usize::MAX, |byte| token.class.has(byte));
            }
            let value = self.text[begin..begin + run].trim_end_matches(['.', '~', ',']);
            Some(SecretSpan::new(at..begin + value.len(), token.name))
        })
    }

    /// A token that is recognised by a mark within it, which is at `at`.
    fn marked<'n>(&self, at: usize) -> Option<SecretSpan<'n>> {
        let token = MARKED.iter().find(|token| self.text[at..].starts_with(token.mark))?;
        let ((class, fewest, longest), (class_after, least, most)) = (token.before, token.after);
        let before = self.bytes()[at.saturating_sub(longest + 1)..at].iter().rev();
        let before = before.take_while(|byte| class.has(**byte)).count();
        let end = at + token.mark.len();
        let after = self.run(end, most + 1, |byte| class_after.has(byte));
        let after = self.text[end..end + after].trim_end_matches(['.', '~']).len();
        let fits = (fewest..=longest).contains(&before) && (least..=most).contains(&after);
        let is_followed = CharClass::Alnum.has(self.byte(end + after));
        (fits && !is_followed).then_some(SecretSpan::new(at - before..end + after, token.name))
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

    pub(super) fn private_key<'n>(&mut self, at: usize) -> Option<SecretSpan<'n>> {
        let head = self.behind_label(at + 11);
        let (label, rest) = (&self.text[at + 11..head], &self.text[head..]);
        if !label.contains("PRIVATE KEY") || !rest.starts_with("-----") {
            return None;
        }
        let limit = self.read.string_end(head);
        if self.next_end < head {
            let end = memchr::memmem::find(&self.bytes()[head..], b"-----END ");
            self.next_end = end.map_or(usize::MAX, |end| head + end);
            #[cfg(test)]
            note_examined(end.unwrap_or(self.text.len() - head));
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
        if !self.read.is_json || self.next_end == usize::MAX || self.next_end - head > KEY {
            return None;
        }
        while end < self.next_end {
            if !self.text[end..].starts_with(STRINGS) {
                return None;
            }
            end = self.read.string_end(end + STRINGS.len());
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

    /// A value assigned to a name such as `API_KEY`, whose known part is `start..known`.
    fn assigned<'n>(&self, start: usize, known: usize, kind: NameKind) -> Option<SecretSpan<'n>> {
        if kind == NameKind::Cookie {
            return self.cookies(start, known);
        }
        let before = &self.bytes()[start.saturating_sub(NAME)..start];
        let name = start - before.iter().rev().take_while(|byte| CharClass::Url.has(**byte)).count();
        let end = known + self.run(known, NAME, |byte| CharClass::Url.has(byte));
        if !self.is_name_of(kind, name, start, known, end) {
            return None;
        }
        let AssignedValue { at, sign, quote, form } = self.assignment(name, start..known, end)?;
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
        let count = |is_such: fn(&u8) -> bool| value.bytes().filter(is_such).count();
        let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
        let is_mixed = |least: usize| value.len() >= least && digits > 0 && letters > 0;
        let is_upper = !self.bytes()[name..end].iter().any(u8::is_ascii_lowercase);
        let is_env = is_upper && sign == "=" && self.byte(at - quote - 1) == b'=';
        let is_short_name = matches!(kind, NameKind::Strong | NameKind::Word);
        let is_secret = match (kind, form) {
            (NameKind::Drawn | NameKind::UpperKey | NameKind::Parameter, _) => is_drawn(value),
            _ if is_cut => true,
            (_, SecretForm::Header) => value.len() >= 8,
            (NameKind::Word, _) if quote > 0 => is_mixed(6),
            (NameKind::Strong, _) if quote > 0 => value.len() >= 6,
            (_, _) if quote > 0 => value.len() >= 12 && digits > 0,
            (_, SecretForm::Option) => value.len() >= 6 && (is_short_name || digits > 0) && letters > 0,
            _ if is_env => value.len() >= 6 && (is_short_name || digits > 0) && letters > 0,
            (NameKind::Weak, SecretForm::Cell | SecretForm::Said) => is_drawn(value),
            (_, SecretForm::Cell | SecretForm::Said) => is_mixed(8),
            (NameKind::Word, SecretForm::Plain) if name == start && sign != "=" => false,
            (NameKind::Weak, _) => value.len() >= 12 && digits > 1 && letters > 0,
            _ => is_mixed(6),
        };
        // Without quotes it may be code: names separated by dots and calls aren't masked.
        let is_code = quote == 0
            && !is_env
            && form == SecretForm::Plain
            && (is_names(value) || matches!(self.byte(at + looked), b'(' | b'['));
        let is_path = kind == NameKind::Word && value.starts_with('/');
        if !is_secret || is_code || is_path || is_placeholder(value) {
            return None;
        }
        let end = at + if looked < LOOK { looked } else { self.run(at, usize::MAX, inside) };
        Some(SecretSpan::new(at..end, "secret"))
    }

    /// The value assigned to the name `name..end`, whose known part is `known`, whatever it looks like.
    pub(super) fn value_of(&self, name: usize, known: Range<usize>, end: usize) -> Option<Range<usize>> {
        let AssignedValue { at, quote, form, .. } = self.assignment(name, known, end)?;
        let inside = |byte: u8| {
            byte.is_ascii_graphic()
                && !b"\"'`<>\\".contains(&byte)
                && (quote > 0 || !b",;()[]{}|&".contains(&byte))
        };
        let length = self.run(at, USER, inside);
        let value = &self.text[at..at + length];
        let is_code = quote == 0
            && (is_names(value)
                || form == SecretForm::Said
                || matches!(self.byte(at + length), b'(' | b'[' | b'{'));
        (length < USER && !is_code).then_some(at..at + length)
    }

    /// Whether the name `name..end`, whose known part is `start..known`, is one of this kind.
    fn is_name_of(&self, kind: NameKind, name: usize, start: usize, known: usize, end: usize) -> bool {
        let (whole, tail) = (&self.text[name..end], &self.text[known..end]);
        let before = if start == 0 { 0 } else { self.byte(start - 1) };
        let is_word = tail.is_empty()
            && (!before.is_ascii_alphanumeric()
                || (!before.is_ascii_uppercase() && self.byte(start).is_ascii_uppercase()));
        match kind {
            NameKind::Strong | NameKind::Weak => {
                let tail = tail.to_ascii_lowercase();
                !ABOUT.iter().any(|about| tail.contains(about))
            }
            NameKind::Word => is_word,
            NameKind::Drawn => is_word && (name < start || matches!(before, b'"' | b'\'')),
            NameKind::UpperKey => {
                let is_upper = !whole.bytes().any(|byte| byte.is_ascii_lowercase());
                is_word
                    && before == b'_'
                    && is_upper
                    && !whole.split('_').any(|part| PUBLIC_KEYS.contains(&part))
            }
            NameKind::Parameter => {
                is_word
                    && name > 0
                    && matches!(self.byte(name - 1), b'?' | b'&' | b';')
                    && self.byte(end) == b'='
            }
            NameKind::Cookie => true,
        }
    }

    /// How a value is assigned to the name `name..end`, whose known part is `known`; `None` if none is.
    fn assignment(&self, name: usize, known: Range<usize>, end: usize) -> Option<AssignedValue<'_>> {
        let is_option = self.text[name..].starts_with("--");
        let is_element = name > 0 && matches!(self.byte(name - 1), b'<' | b':') && self.byte(end) == b'>';
        let mut at = end + self.quote(end);
        at += self.note(at);
        at += self.quote(at);
        let blank = self.run(at, 8, |byte| byte == b' ');
        let sign = self.run(at + blank, 2, |byte| b":=>|".contains(&byte));
        let sign = &self.text[at + blank..at + blank + sign];
        let form = match sign {
            ":" | "=" | ":=" | "=>" if self.text[known.clone()].eq_ignore_ascii_case("authorization") => {
                SecretForm::Header
            }
            ":" | "=" | ":=" | "=>" if is_option => SecretForm::Option,
            ":" | "=" | ":=" | "=>" => SecretForm::Plain,
            ">" if is_element => SecretForm::Element,
            "|" if self.line_before(name).trim_start().starts_with('|') => SecretForm::Cell,
            "" if is_option && blank == 1 => SecretForm::Option,
            "" if blank > 0 => {
                let rest = &self.text[at + blank..];
                let said = ["is ", "was "].into_iter().find(|word| rest.starts_with(word));
                match said {
                    Some(word) => {
                        at += word.len();
                        SecretForm::Said
                    }
                    None if self.is_field_of_login(name, at + blank) => SecretForm::Said,
                    None => return None,
                }
            }
            _ => return None,
        };
        at += blank + sign.len();
        if self.text[at..].starts_with("__ ") {
            // The end of an emphasised name.
            at += 2;
        }
        at += self.run(at, 8, |byte| byte == b' ');
        let quote = self.quote(at);
        at += quote;
        if form == SecretForm::Header {
            let scheme = self.run(at, 12, |byte| byte.is_ascii_alphabetic());
            if self.byte(at + scheme) == b' ' {
                at += scheme + 1;
            }
        }
        Some(AssignedValue { at, sign, quote, form })
    }

    /// The length of what may follow a name before its sign: ` key`, ` (admin)`, ` for admin`, `","value"`.
    fn note(&self, at: usize) -> usize {
        let rest = &self.bytes()[at..self.text.len().min(at + 2 * NAME)];
        let skip = |from: usize, is_such: fn(&u8) -> bool| {
            rest[from.min(rest.len())..].iter().take_while(|byte| is_such(byte)).count()
        };
        let mut value = skip(0, |byte| b" ,".contains(byte));
        value += skip(value, |byte| b"\"'".contains(byte));
        if rest.get(value..value + 5).is_some_and(|word| word.eq_ignore_ascii_case(b"value")) {
            return value + 5;
        }
        if rest.starts_with(b" (") {
            let end = rest.iter().position(|byte| b")\n".contains(byte));
            return end.filter(|end| rest[*end] == b')').map_or(0, |end| end + 1);
        }
        if rest.starts_with(b" for ") {
            return 5 + skip(5, |byte| CharClass::Url.has(*byte) || b".@".contains(byte));
        }
        if rest.starts_with(b" key") { 4 } else { 0 }
    }

    /// The part before `at` of its line.
    fn line_before(&self, at: usize) -> &str {
        let start = at.saturating_sub(COMMAND).max(self.read.string_start(at));
        let line = self.bytes()[start..at].iter().rposition(|byte| *byte == b'\n');
        let start = line.map_or(start, |line| start + line + 1);
        self.text.get(start..at).unwrap_or_default()
    }

    /// The part from `at` on of its line.
    fn line_after(&self, at: usize) -> &str {
        let most = COMMAND.min(self.read.string_end(at) - at);
        let length = self.run(at, most, |byte| byte != b'\n');
        self.text.get(at..at + length).unwrap_or_default()
    }

    /// Whether the word at `at` is a password by its place, in a file of logins: `login ada password 1234`, or alone on its line.
    fn is_field_of_login(&self, name: usize, at: usize) -> bool {
        if !self.text[name..].get(..9).is_some_and(|word| word.eq_ignore_ascii_case("password ")) {
            return false;
        }
        let before = self.line_before(name);
        let is_alone = before.trim().is_empty() && !self.line_after(at).trim().contains(' ');
        is_alone || before.contains("login ") || before.contains("machine ")
    }

    /// The values in a header of cookies, or after an option for one.
    fn cookies<'n>(&self, start: usize, known: usize) -> Option<SecretSpan<'n>> {
        let before = &self.bytes()[start.saturating_sub(4)..start];
        let is_set = before.eq_ignore_ascii_case(b"set-");
        let is_option = before.ends_with(b"--");
        match self.byte(known) {
            b':' => {}
            b' ' | b'=' if is_option => {}
            _ => return None,
        }
        let begin = known + 1 + self.run(known + 1, 8, |byte| b" '\"".contains(&byte));
        let length = self.run(begin, 8 * LOOK, |byte| {
            byte.is_ascii_graphic() && !b"\"'`<>".contains(&byte) || byte == b' '
        });
        let mut at = begin;
        let mut found: Option<Range<usize>> = None;
        for pair in self.text[begin..begin + length].split(';').take(if is_set { 1 } else { usize::MAX }) {
            if let Some((name, value)) = pair.split_once('=') {
                let value = value.trim_end();
                if value.len() >= 8
                    && value.bytes().any(|byte| byte.is_ascii_digit())
                    && !is_placeholder(value)
                {
                    let start = at + name.len() + 1;
                    let end = start + value.len();
                    found = Some(found.map_or(start, |found| found.start)..end);
                }
            }
            at += pair.len() + 1;
        }
        found.map(|range| SecretSpan::new(range, "cookie"))
    }

    /// The password in an option on a command line. `at` is the option's dash.
    fn option<'n>(&self, at: usize) -> Option<SecretSpan<'n>> {
        let before = self.line_before(at);
        let command = before.rfind([';', '|', '&', '`', '(']).map_or(before, |end| &before[end + 1..]);
        let words = command.rsplit(' ').filter(|word| !word.is_empty()).take(WORDS_BEFORE);
        let programs = || words.clone().map(|word| word.rsplit('/').next().unwrap_or(word));
        let line = self.line_after(at);
        let (option, separate) = match line.find([' ', '=']) {
            Some(end) => (&line[..end], end + 1),
            None => (line, line.len()),
        };
        let ends = |byte: u8| byte.is_ascii_graphic() && !b"\"'`<>|;&()".contains(&byte);
        let value_at = |begin: usize| {
            let begin = begin + self.quote(begin);
            begin..begin + self.run(begin, USER, ends)
        };
        let user = USER_OPTIONS.iter().filter(|known| {
            option == **known || (known.len() == 2 && option.starts_with(**known) && option.contains(':'))
        });
        for known in user {
            let range = value_at(at + if option == *known { separate } else { known.len() });
            let Some((user, password)) = self.text[range.clone()].split_once(':') else { continue };
            let is_fetcher = programs().any(|program| FETCHERS.contains(&program));
            let letters = password.bytes().any(|byte| byte.is_ascii_alphabetic());
            let digits = password.bytes().any(|byte| byte.is_ascii_digit());
            if (is_fetcher && password.len() >= 3 || password.len() >= 8 && letters && digits)
                && !user.contains('/')
                && !is_placeholder(password)
            {
                return Some(SecretSpan::new(range.start + user.len() + 1..range.end, "password"));
            }
        }
        for (program, options, is_attached) in COMMANDS {
            let Some(known) = options.iter().find(|known| option.starts_with(**known)) else { continue };
            if !programs().any(|word| word == *program) {
                continue;
            }
            let attached = option.len() > known.len();
            if !attached && *is_attached {
                continue;
            }
            let range = value_at(at + if attached { known.len() } else { separate });
            let value = &self.text[range.clone()];
            let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
            if value.len() >= 3
                && (has_letter || attached)
                && !value.starts_with('-')
                && !is_placeholder(value)
            {
                return Some(SecretSpan::new(range, "password"));
            }
        }
        None
    }

    /// The password in a line `host:port:database:user:password`. The port's first colon is at `at`.
    fn line_of_fields<'n>(&self, at: usize) -> Option<SecretSpan<'n>> {
        let (before, after) = (self.line_before(at), self.line_after(at));
        let is_field = |field: &&str| !field.is_empty() && !field.contains([' ', '\t', '/']);
        let fields: Vec<&str> = after[1..].trim_end().splitn(5, ':').collect();
        let [port, database, user, password] = fields[..] else { return None };
        let is_line = [before, port, database, user].iter().all(is_field) && !before.contains(':');
        let is_secret =
            is_line && password.len() >= 4 && !password.contains(' ') && !is_placeholder(password);
        let start = at + 1 + port.len() + database.len() + user.len() + 3;
        is_secret.then_some(SecretSpan::new(start..start + password.len(), "password"))
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
        let start = at - local;
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
        if is_windows {
            match before {
                // The letter of an escape isn't a drive letter.
                [b'\\', _, b':'] => return None,
                [.., drive, b':'] if drive.is_ascii_alphabetic() => begin -= 2,
                _ => return None,
            }
        } else if !self.follows_colour(begin)
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

/// How a value stands after its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecretForm {
    /// After a sign.
    Plain,
    /// In a header that may name a scheme before it.
    Header,
    /// In an option of a command.
    Option,
    /// In the next cell of a table.
    Cell,
    /// In an element of XML.
    Element,
    /// In a sentence, or in a file of logins.
    Said,
}

/// A value that is assigned to a name.
struct AssignedValue<'a> {
    /// Where it begins, behind its quote.
    at: usize,
    sign: &'a str,
    /// The length of its quote.
    quote: usize,
    form: SecretForm,
}

/// Whether a value looks drawn at random rather than written: a long word with letters and digits.
fn is_drawn(value: &str) -> bool {
    let longest = value.split(|ch: char| !ch.is_ascii_alphanumeric()).max_by_key(|part| part.len());
    let part = longest.unwrap_or_default().as_bytes();
    let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
    value.len() >= DRAWN && part.len() >= 10 && digits >= 2 && digits < part.len()
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
        || TYPES.contains(&lower.trim_end_matches(|ch: char| ch.is_ascii_digit()))
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
