//! The text that a program put in front of lines: a container's name, a time, a level, escapes of a terminal.
//!
//! Two prefixes have the same form if they differ only in numbers, times, levels and the like.

use std::borrow::Cow;
use std::ops::Range;

/// The longest prefix, in bytes.
pub(super) const LONGEST: usize = 1024;

/// Words that differ from line to line, beside those with digits and single letters.
const CHANGING: &[&str] = &[
    "trace", "debug", "info", "notice", "warn", "warning", "error", "err", "fatal", "critical", "panic",
    "stdout", "stderr", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may",
    "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// A part of a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PrefixPart {
    /// A time with its date.
    Time,
    /// A word or number that differs from line to line.
    Changing,
    /// A word that is the same on each line.
    Word(String),
    /// Blanks.
    Blanks,
    /// Any other character.
    Mark(char),
}

/// The form of a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    parts: Vec<PrefixPart>,
    /// The blanks at its end.
    end: String,
}

impl Prefix {
    /// The form of a prefix; `None` if it may be the remains of a record.
    pub(super) fn of(text: &str) -> Option<Self> {
        let is_remains =
            text.contains(['{', '}', '\0', '\u{fffd}']) || text.contains("\":") || text.contains("\",");
        if is_remains || text.len() > LONGEST {
            return None;
        }
        let body = text.trim_end_matches([' ', '\t']);
        Some(Self {
            parts: PrefixParts::of(body).map(|(part, _)| part).collect(),
            end: text[body.len()..].to_owned(),
        })
    }

    /// Whether nothing of it is seen: blanks and escapes.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| *part == PrefixPart::Blanks)
    }

    /// Whether it can only be the work of a logger, even on a single line: a time, without words that say something.
    pub(super) fn is_certain(&self) -> bool {
        self.parts.contains(&PrefixPart::Time)
            && !self.parts.iter().any(|part| matches!(part, PrefixPart::Word(_)))
    }

    /// Whether it is that of the data of server-sent events.
    pub(super) fn is_event_data(&self) -> bool {
        matches!(&*self.parts, [PrefixPart::Word(word), PrefixPart::Mark(':')] if word == "data")
    }

    /// Whether a line of text that begins like it shows that it is a prefix: plain words may be those of a sentence.
    pub(super) fn is_striking(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, PrefixPart::Mark(_) | PrefixPart::Time))
    }

    /// The length of such a prefix at the start of a line.
    pub(super) fn length_in(&self, line: &str) -> Option<usize> {
        let mut length = 0;
        let mut parts = PrefixParts::of(line);
        for part in &self.parts {
            let (other, range) = parts.next()?;
            if *part != other {
                return None;
            }
            length = range.end;
        }
        let rest = &line[length..];
        // Escapes may come before and after the blanks.
        let rest = &rest[skipped(rest)..];
        let rest = rest.strip_prefix(&*self.end)?;
        Some(line.len() - rest.len() + skipped(rest))
    }
}

/// Whether a line is one of the fields around the data of server-sent events.
pub(super) fn is_event_field(line: &str) -> bool {
    let name = line.split_once(':').map_or(line, |(name, _)| name);
    matches!(name, "" | "event" | "id" | "retry") && line.len() > name.len()
}

/// The time in a prefix, if it names its zone: RFC 3339.
pub(super) fn time_in(prefix: &str) -> Option<&str> {
    let (_, range) = PrefixParts::of(prefix).find(|(part, _)| *part == PrefixPart::Time)?;
    let time = &prefix[range];
    let has_zone = time.ends_with(['Z', 'z']) || time.len() > 19 && time[19..].contains(['+', '-']);
    has_zone.then_some(time)
}

/// The start of the first record in a line: a brace or bracket that something of a record follows, or the end of the line.
pub(super) fn record_start(text: &str) -> Option<usize> {
    let mut at = 0;
    while at < text.len().min(LONGEST) {
        let rest = &text[at..];
        let skipped = skipped(rest);
        if skipped > 0 {
            at += skipped;
            continue;
        }
        let follows = |starts: &[char]| {
            let next = rest[1..].trim_start_matches([' ', '\t', '\r']);
            next.is_empty() || next.starts_with(starts)
        };
        match rest.as_bytes()[0] {
            b'{' if follows(&['"', '}']) => return Some(at),
            b'[' if follows(&['{']) => return Some(at),
            _ => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    None
}

/// A line as a terminal shows it, without escapes and other control characters; unchanged if it has none. NUL isn't one of them: a crash
/// leaves it. Neither is DEL: unlike all others, it may be part of a string of a record as it is.
pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('\u{8}') {
            kept.pop();
            rest = after;
            continue;
        }
        let length = control_length(rest.as_bytes());
        if length > 0 {
            rest = &rest[length..];
            continue;
        }
        let next = rest.bytes().position(is_control).unwrap_or(rest.len());
        kept.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    Cow::Owned(kept)
}

/// Whether a text consists of blanks, commas and escapes only.
pub(super) fn is_nothing(text: &str) -> bool {
    without_escapes(text).trim_matches([' ', '\t', '\r', ',']).is_empty()
}

fn is_control(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, 0 | b'\t' | b'\r' | b'\n')
}

/// The length of the control characters and escapes at the start of a text.
fn skipped(text: &str) -> usize {
    let mut at = 0;
    loop {
        match control_length(&text.as_bytes()[at..]) {
            0 => return at,
            length => at += length,
        }
    }
}

/// The length of the control character or escape at the start of `bytes`.
fn control_length(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(0x1b) => escape_length(bytes),
        Some(&byte) => usize::from(is_control(byte)),
        None => 0,
    }
}

/// The length of the escape sequence at the start of `bytes`. It ends with an ASCII character.
fn escape_length(bytes: &[u8]) -> usize {
    let run = |from: usize, among: std::ops::RangeInclusive<u8>| {
        from + bytes[from..].iter().take_while(|byte| among.contains(byte)).count()
    };
    let end = match bytes.get(1) {
        Some(b'[') => run(run(2, 0x30..=0x3f), 0x20..=0x2f),
        // A string, which ends with BEL or ESC and a backslash.
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let end = bytes[2..].iter().take(LONGEST).position(|byte| matches!(byte, 0x07 | 0x1b));
            return match end.map(|end| end + 2) {
                Some(end) if bytes[end] == 0x07 => end + 1,
                Some(end) if bytes.get(end + 1) == Some(&b'\\') => end + 2,
                _ => 2,
            };
        }
        _ => run(1, 0x20..=0x2f),
    };
    match bytes.get(end) {
        Some(0x30..=0x7e) => end + 1,
        _ => end.min(bytes.len()),
    }
}

/// The parts at the start of a line, with their ranges. Escapes belong to none.
struct PrefixParts<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> PrefixParts<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for PrefixParts<'_> {
    type Item = (PrefixPart, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        self.at += skipped(&self.text[self.at..]);
        let (start, rest) = (self.at, &self.text[self.at..]);
        let first = rest.chars().next()?;
        let run = |fits: fn(char) -> bool| rest.find(|ch| !fits(ch)).unwrap_or(rest.len());
        let (part, length) = if let Some(length) = stamp_length(rest) {
            (PrefixPart::Time, length)
        } else if is_of_word(first) {
            let length = run(is_of_word);
            let word = &rest[..length];
            let is_changing = length == 1
                || word.bytes().any(|byte| byte.is_ascii_digit())
                || CHANGING.iter().any(|known| known.eq_ignore_ascii_case(word));
            let part = if is_changing { PrefixPart::Changing } else { PrefixPart::Word(word.to_owned()) };
            (part, length)
        } else if first == ' ' || first == '\t' {
            (PrefixPart::Blanks, run(|ch| ch == ' ' || ch == '\t'))
        } else {
            (PrefixPart::Mark(first), first.len_utf8())
        };
        self.at += length;
        Some((part, start..self.at))
    }
}

fn is_of_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}

/// The length of a time with its date at the start of a text, with its fraction and zone.
pub(super) fn stamp_length(text: &str) -> Option<usize> {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't' | b' '),
        _ => byte == form,
    };
    if bytes.len() < FORM.len() || !bytes.iter().zip(FORM).all(fits) {
        return None;
    }
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = FORM.len();
    if matches!(bytes.get(at), Some(b'.' | b',')) && digits(at + 1) > at + 1 {
        at = digits(at + 1);
    }
    match bytes.get(at) {
        Some(b'Z' | b'z') => Some(at + 1),
        Some(b'+' | b'-') => {
            let hours = digits(at + 1);
            let end = if bytes.get(hours) == Some(&b':') { digits(hours + 1) } else { hours };
            Some(if matches!(end - at, 5 | 6) { end } else { at })
        }
        _ => Some(at),
    }
}
