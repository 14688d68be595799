//! Finds the secrets in a text: its parts that are masked.
//!
//! ```text
//! text ─▶ windows ─▶ as they are read (read.rs) ─▶ one pass for all beginnings (shape.rs) ─▶ what follows is examined (reader.rs)
//! ```
//!
//! The time is linear in the length of the text, and the memory for a long one is that of a window: each window is searched with some
//! text before and after it.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;
use regex_syntax::hir::{Class, HirKind};

use super::read::{JsonPlace, ReadText, next_boundary};
use super::reader::{KEY, LABEL, OTHER_STARTS, SecretReader};
use super::shape::{CharClass, MARKED, NAMES, NameKind, tokens};
use super::{CustomPattern, Redaction};
use crate::json::string_end;
use crate::pattern::{ScanBudget, ScanOverrun};

/// How many bytes are searched at once.
const WINDOW: usize = 256 << 10;
/// How many bytes before a window are read, because they decide whether a secret begins in it.
const BEFORE: usize = 2 << 10;
/// How many bytes after a window are read. If a secret extends further, more are, up to [`MOST_AFTER`].
const AFTER: usize = 2 * KEY;
/// The most bytes after a window that are read. Of a longer secret the rest is masked by its characters.
const MOST_AFTER: usize = 1 << 20;

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
    pub(super) fn new(range: Range<usize>, name: &'a str) -> Self {
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
        Self {
            starts: starts(redaction),
            own: redaction.own.clone(),
            crosses_lines: redaction.own.iter().any(|own| may_hold_line_feed(own.regex.as_str())),
        }
    }

    /// Passes the parts to mask to `take`, in order and without overlaps. `is_json`: whether the text is JSON, where no part may extend
    /// beyond the end of a string. Returns the name of a custom pattern that took too much work, so that the rest is masked as a whole.
    pub(super) fn each<'n>(
        &'n self,
        text: &str,
        is_json: bool,
        take: &mut dyn FnMut(SecretSpan<'n>),
    ) -> Option<&'n str> {
        let budget = ScanBudget::of_text(text.len());
        let mut search = TextSearch { finder: self, text, is_json, budget, exceeded: None };
        let (mut from, mut begin) = (0, JsonPlace::default());
        while from < text.len() {
            let until = next_boundary(text, (from + WINDOW).min(text.len()));
            let mut after = AFTER;
            let mut found = loop {
                let end = next_boundary(text, (until + after).min(text.len()));
                let found = search.window(begin, from..until, end);
                let is_whole = end == text.len() || found.last().is_none_or(|last| last.range.end < end);
                if is_whole || after >= MOST_AFTER || search.exceeded.is_some() {
                    break found;
                }
                after *= 2;
            };
            let exceeded_at = found.last().map_or(from, |last| last.range.end);
            from = until;
            if let Some(last) = found.last_mut() {
                from = from.max(last.range.end);
                if last.range.end >= until + MOST_AFTER {
                    let is_key = last.name == Some("private-key");
                    let goes_on =
                        |byte: &u8| if is_key { is_in_key(*byte) } else { CharClass::Base64.has(*byte) };
                    from += text.as_bytes()[from..].iter().take_while(|byte| goes_on(byte)).count();
                    last.range.end = from;
                }
            }
            if let Some(name) = search.exceeded {
                if let Some(last) = found.last_mut().filter(|_| !is_json) {
                    last.range.end = text.len();
                }
                found.into_iter().for_each(&mut *take);
                if is_json {
                    strings_after(text, begin.forward(text, exceeded_at), &mut |range| {
                        take(SecretSpan::new(range, name));
                    });
                }
                return Some(name);
            }
            found.into_iter().for_each(&mut *take);
            let before = from.saturating_sub(BEFORE).max(begin.at);
            begin = if is_json {
                begin.forward(text, before)
            } else {
                JsonPlace { at: next_boundary(text, before), is_inside: false }
            };
        }
        None
    }
}

/// Matches the beginnings of what is masked. Compiled once: there are hundreds.
fn starts(redaction: &Redaction) -> Option<Regex> {
    static KNOWN: [OnceLock<Option<Regex>>; 8] = [const { OnceLock::new() }; 8];
    let Redaction { secrets, emails, home, .. } = *redaction;
    let kind = usize::from(secrets) | usize::from(emails) << 1 | usize::from(home) << 2;
    let compile = || {
        let mut starts: Vec<String> = Vec::new();
        if secrets {
            starts.extend(tokens().map(|(start, _)| regex::escape(start)));
            starts.extend(MARKED.iter().map(|token| regex::escape(token.mark)));
            starts.extend(NAMES.iter().map(|(name, kind)| start_of_name(name, *kind)));
            starts.extend(OTHER_STARTS.iter().map(|start| (*start).to_owned()));
        }
        if emails {
            starts.push("@".to_owned());
        }
        if home {
            starts.extend(["/home/", "/Users/", r"\\Users\\"].map(str::to_owned));
        }
        // It is built from tables that tests compile, so this doesn't fail.
        (!starts.is_empty()).then(|| Regex::new(&starts.join("|")).ok()).flatten()
    };
    KNOWN[kind].get_or_init(compile).clone()
}

/// The values in a JSON text that are strings, from `place` on: without their quotes, and without the names of fields.
fn strings_after(text: &str, mut place: JsonPlace, take: &mut dyn FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    loop {
        if !place.is_inside {
            let Some(quote) = memchr::memchr(b'"', &bytes[place.at..]) else { return };
            place.at += quote + 1;
        }
        let end = string_end(bytes, place.at);
        let is_name = bytes[end..].iter().skip(1).find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
        if !is_name && place.at < end {
            take(place.at..end);
        }
        place = JsonPlace { at: (end + 1).min(text.len()), is_inside: false };
    }
}

/// The pattern of the beginnings of a name. Short names are common in other words, so their sign belongs to it.
fn start_of_name(name: &str, kind: NameKind) -> String {
    match kind {
        NameKind::Strong | NameKind::Weak => format!("(?i:{name})"),
        NameKind::UpperKey => format!(r#"{}["'` ]{{0,2}}[:=]"#, name.to_ascii_uppercase()),
        NameKind::Parameter => format!("(?i:{name})="),
        NameKind::Word | NameKind::Drawn | NameKind::Cookie => {
            format!(r#"(?i:{name})\\?["'`]?(?: {{0,8}}[:=>|(,]| (?i:for|value|is) |[ =])"#)
        }
    }
}

/// A text that is searched window by window.
struct TextSearch<'f, 't> {
    finder: &'f SecretFinder,
    text: &'t str,
    is_json: bool,
    /// How much custom patterns may still scan.
    budget: ScanBudget,
    /// The name of the pattern that exceeded it.
    exceeded: Option<&'f str>,
}

impl<'f> TextSearch<'f, '_> {
    /// What begins in `wanted`, when the text from `begin` to `end` is read.
    fn window(&mut self, begin: JsonPlace, wanted: Range<usize>, end: usize) -> Vec<SecretSpan<'f>> {
        let source = &self.text[begin.at..end];
        let wanted = wanted.start - begin.at..wanted.end - begin.at;
        let mut found = Vec::new();
        if self.is_json {
            let json = ReadText::of_json(source, begin.is_inside);
            self.read(&json, &wanted, &mut found);
            for SecretSpan { range, line_end, .. } in &mut found {
                let inside = json.inside(range.start, begin.is_inside);
                // In a list of strings a secret may extend over several.
                let end = if *line_end == "\n" { json.string_end(range.start) } else { range.end };
                *range = if inside { json.under(&(range.start..range.end.min(end))) } else { 0..0 };
            }
        } else {
            self.read(&ReadText::plain(source), &wanted, &mut found);
        }
        found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
        let mut last = wanted.start;
        // If two overlap, the rest of the second one is masked, too.
        found.retain_mut(|found| {
            found.range.start = found.range.start.max(last);
            last = last.max(found.range.end);
            found.range.start < found.range.end
        });
        for SecretSpan { range, .. } in &mut found {
            *range = range.start + begin.at..range.end + begin.at;
        }
        found
    }

    /// What is found in a text and in the same without what isn't seen. `wanted` is a range of the source; the result is one of `text`.
    fn read(&mut self, text: &ReadText<'_>, wanted: &Range<usize>, found: &mut Vec<SecretSpan<'f>>) {
        self.search(text, text.read_at(wanted.start)..text.read_at(wanted.end), found);
        if let Some(unmarked) = text.unmarked() {
            let [start, end] = [wanted.start, wanted.end].map(|at| unmarked.read_at(text.read_at(at)));
            let mut more = Vec::new();
            self.search(&unmarked, start..end, &mut more);
            found.extend(
                more.into_iter().map(|span| SecretSpan { range: unmarked.under(&span.range), ..span }),
            );
        }
    }

    /// What begins in the wanted part of a text.
    fn search(&mut self, read: &ReadText<'_>, wanted: Range<usize>, found: &mut Vec<SecretSpan<'f>>) {
        let text = &*read.text;
        let mut at = wanted.start;
        let mut reader = SecretReader::new(read);
        let starts = self.finder.starts.as_ref();
        while let Some(start) = starts.and_then(|starts| starts.find_at(text, at)) {
            if start.start() >= wanted.end {
                break;
            }
            at = match reader.at(start.range()) {
                Some(secret) if secret.range.end > at => {
                    let end = secret.range.end;
                    found.push(secret);
                    end
                }
                _ => next_boundary(text, start.start() + 1),
            };
        }
        for own in &self.finder.own {
            self.own(own, text, &wanted, found);
        }
    }

    /// What a custom pattern matches in the wanted part of a text. If that takes too much work, the rest of the text is one match.
    fn own(
        &mut self,
        own: &'f CustomPattern,
        text: &str,
        wanted: &Range<usize>,
        found: &mut Vec<SecretSpan<'f>>,
    ) {
        let mut at = wanted.start;
        while at < wanted.end && self.exceeded.is_none() {
            let captures = match own.regex.captures_at(text.as_bytes(), at, &mut self.budget) {
                Ok(Some(captures)) => captures,
                Ok(None) => return,
                Err(ScanOverrun) => {
                    self.exceeded = Some(&own.name);
                    found.push(SecretSpan::new(at..text.len(), &own.name));
                    return;
                }
            };
            let Some(whole) = captures.get(0).filter(|whole| whole.start() < wanted.end) else { return };
            let part = captures.get(1).unwrap_or(whole);
            if !part.is_empty() {
                found.push(SecretSpan::new(part.range(), &own.name));
            }
            at = if whole.end() > at { whole.end() } else { at + 1 };
            at = next_boundary(text, at);
        }
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
pub(super) fn growing_keys(text: &str) -> Vec<SecretSpan<'static>> {
    let plain = ReadText::plain(text);
    let mut keys = keys_in(&plain);
    if let Some(read) = plain.unmarked() {
        keys.extend(
            keys_in(&read).into_iter().map(|key| SecretSpan { range: read.under(&key.range), ..key }),
        );
        keys.sort_by_key(|key| key.range.start);
    }
    keys
}

/// The same in a text as it is read.
fn keys_in(read: &ReadText<'_>) -> Vec<SecretSpan<'static>> {
    let text = &*read.text;
    let mut keys: Vec<SecretSpan<'static>> = Vec::new();
    let mut reader = SecretReader::new(read);
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
