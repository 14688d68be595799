//! Masks secrets in the output.
//!
//! ```text
//! entry ─▶ texts, line by line ─▶ find (shapes) ─▶ [redacted github-token]
//! ```
//!
//! This is done once, after an entry is made and before it is clipped, for all formatters and writers: a cut could
//! split a secret so that it isn't recognised any more. A text that extends over several lines and spans is searched as one.

mod find;
mod growing;
mod ids;
mod shape;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

use regex::{Regex, RegexBuilder};

use crate::entry::{Block, DiffLine, Entry, Hunk, Line, View};
use crate::item::Id;
use crate::text::Text;

use find::{SecretFinder, SecretSpan};
use ids::MaskedIds;

/// The limit of the memory that a compiled custom pattern may take, in bytes.
const MOST_COMPILED: usize = 256 << 10;
/// The most lines of a private key that is masked line by line.
const MOST_KEY_LINES: u32 = 400;

/// Determines what is masked. By default nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    /// Tokens, keys and passwords of the known shapes.
    pub secrets: bool,
    /// E-mail addresses.
    pub emails: bool,
    /// Home folders: `/home/ada/shop` becomes `~/shop`.
    pub home: bool,
    /// Custom patterns.
    pub own: Vec<CustomPattern>,
}

impl Redaction {
    /// Masks only the known shapes of secrets.
    pub fn secrets() -> Self {
        Self { secrets: true, ..Self::default() }
    }

    /// Masks secrets, e-mail addresses and home folders.
    pub fn everything() -> Self {
        Self { secrets: true, emails: true, home: true, own: Vec::new() }
    }

    /// Whether anything is masked.
    pub fn is_on(&self) -> bool {
        *self != Self::default()
    }

    /// Additionally masks everything that `other` masks.
    pub fn add(&mut self, other: &Self) {
        self.secrets |= other.secrets;
        self.emails |= other.emails;
        self.home |= other.home;
        let new: Vec<_> = other.own.iter().filter(|own| !self.own.contains(own)).cloned().collect();
        self.own.extend(new);
    }
}

/// A custom pattern.
#[derive(Clone, Debug)]
pub struct CustomPattern {
    /// The name of its matches in the output and in counts.
    pub(crate) name: String,
    pub(crate) regex: Regex,
}

impl CustomPattern {
    /// Compiles a pattern in the syntax of the `regex` crate. If it has a group, only that is masked. The error is a one-line message.
    pub fn new(name: &str, pattern: &str) -> Result<Self, String> {
        let built =
            RegexBuilder::new(pattern).size_limit(MOST_COMPILED).dfa_size_limit(MOST_COMPILED).build();
        let regex = built.map_err(|error| {
            let text = error.to_string();
            text.lines().last().unwrap_or("not a pattern").trim().trim_start_matches("error: ").to_owned()
        })?;
        Ok(Self { name: Text::clean(name).into_string().replace('\n', " "), regex })
    }
}

impl PartialEq for CustomPattern {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.regex.as_str() == other.regex.as_str()
    }
}

impl Eq for CustomPattern {}

/// Masks secrets as determined by a [`Redaction`].
pub struct Redactor {
    finder: SecretFinder,
    ids: MaskedIds,
    noted: RedactionState,
}

/// What a [`Redactor`] notes while it masks.
#[derive(Debug)]
struct RedactionState {
    /// Whether anything is noted: not of a text that is masked again, because it is formatted again.
    is_counting: bool,
    /// How much was masked, by name.
    found: BTreeMap<String, u64>,
    /// How many more lines, when lines are masked one by one, may belong to a private key that has begun.
    open: u32,
}

impl RedactionState {
    fn count(&mut self, found: &[SecretSpan<'_>]) {
        for found in found.iter().filter(|_| self.is_counting) {
            *self.found.entry(found.name.unwrap_or("home").to_owned()).or_default() += 1;
        }
    }
}

impl Redactor {
    /// A redactor, or `None` if nothing is masked.
    pub fn new(redaction: &Redaction) -> Option<Self> {
        redaction.is_on().then(|| Self {
            finder: SecretFinder::new(redaction),
            ids: MaskedIds::default(),
            noted: RedactionState { is_counting: true, found: BTreeMap::new(), open: 0 },
        })
    }

    /// Returns how much was masked since the last call, by name.
    pub fn take_counts(&mut self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.noted.found)
    }

    /// Sets whether masked texts are counted.
    pub(crate) fn set_counting(&mut self, is_counting: bool) {
        self.noted.is_counting = is_counting;
    }

    /// Masks a complete text.
    pub fn text<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        let found = self.finder.find(text, false);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        self.noted.count(&found);
        Cow::Owned(masked(text, 0, &found))
    }

    /// Masks an id. Equal ids stay equal and different ids stay different, within a limit of ids. This isn't counted, because an id
    /// is written in several places: see [`Self::count_id`].
    pub(crate) fn id(&mut self, id: &mut Id) {
        let found = self.finder.find(id.as_str(), false);
        if !found.is_empty() {
            *id = self.ids.name(id, masked(id.as_str(), 0, &found));
        }
    }

    /// Masks the ids of an entry. Its view was masked when it was made.
    pub(crate) fn ids_of(&mut self, entry: &mut Entry) {
        self.id(&mut entry.id);
        entry.parent.iter_mut().chain(&mut entry.call).for_each(|id| self.id(id));
    }

    /// Counts the secrets in an id.
    pub(crate) fn count_id(&mut self, id: &Id) {
        let found = self.finder.find(id.as_str(), false);
        if !found.is_empty() {
            self.ids.name(id, masked(id.as_str(), 0, &found));
            self.noted.count(&found);
        }
    }

    /// Masks a line of JSON, which stays valid JSON.
    pub fn json(&mut self, line: &mut String) {
        let text = without_needless_escapes(line);
        let found = self.finder.find(&text, true);
        if !found.is_empty() {
            self.noted.count(&found);
            *line = masked(&text, 0, &found);
        }
    }

    /// Masks a line of spans.
    pub fn line(&mut self, line: &mut Line) {
        self.lines(std::slice::from_mut(line));
    }

    /// Masks all texts of a view.
    pub fn view(&mut self, view: &mut View) {
        self.line(&mut view.title);
        self.blocks(&mut view.body);
    }

    /// Masks blocks. Those inside of others are kept in a list rather than visited recursively.
    pub fn blocks(&mut self, blocks: &mut [Block]) {
        let mut open = vec![blocks];
        while let Some(blocks) = open.pop() {
            for block in blocks {
                block.texts_mut().for_each(|text| self.whole(text));
                if let Block::Diff { hunks, .. } = block {
                    self.hunks(hunks);
                }
                block.lines_mut().for_each(|lines| self.lines(lines));
                open.extend(block.inside_mut().map(Vec::as_mut_slice));
            }
        }
    }

    /// Masks a view whose text is the next line of several, over which a private key may extend.
    pub fn raw_line(&mut self, view: &mut View) {
        if let [Block::Code { text, .. } | Block::Prose { text, .. }] = &mut view.body[..]
            && self.is_of_open_key(text)
        {
            *text = Text::own(GOES_ON);
            return;
        }
        self.view(view);
    }

    /// Masks the next line of several, over which a private key may extend.
    pub fn next_line(&mut self, line: &mut String) {
        if self.is_of_open_key(line) {
            GOES_ON.clone_into(line);
            return;
        }
        self.whole(line);
    }

    /// Whether a line belongs to a private key that has begun in an earlier line.
    fn is_of_open_key(&mut self, line: &str) -> bool {
        if self.noted.open == 0 {
            return false;
        }
        let ends = line.rfind("-----END ") > line.rfind("-----BEGIN ");
        let is_inside = line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=:,- \t".contains(&byte));
        self.noted.open = if is_inside && !ends { self.noted.open - 1 } else { 0 };
        is_inside
    }

    fn whole<T: Deref<Target = str> + From<String>>(&mut self, text: &mut T) {
        if let Some(masked) = self.masked(text) {
            *text = T::from(masked);
        }
    }

    /// A complete text with its secrets masked; `None` if it has none.
    fn masked(&mut self, text: &str) -> Option<String> {
        let found = self.finder.find(text, false);
        let last = found.last()?;
        if self.noted.is_counting {
            self.noted.open = if last.is_open { MOST_KEY_LINES } else { 0 };
        }
        self.noted.count(&found);
        Some(masked(text, 0, &found))
    }

    /// Masks lines of spans, searched as one text.
    fn lines(&mut self, lines: &mut [Line]) {
        lines.iter_mut().flat_map(Line::links_mut).for_each(|link| self.whole(link));
        if let [line] = lines
            && line.spans().len() == 1
        {
            if let Some(text) = self.masked(line.text()) {
                line.replace_texts(&mut [Some(text)].into_iter());
            }
            return;
        }
        let spans = lines.iter().flat_map(|line| line.spans().enumerate());
        let texts = self.pieces(&spans.map(|(index, span)| (index == 0, span.text())).collect::<Vec<_>>());
        if !texts.is_empty() {
            let mut texts = texts.into_iter();
            for line in lines {
                line.replace_texts(&mut texts);
            }
        }
    }

    /// Masks the lines of hunks, searched as one text.
    fn hunks(&mut self, hunks: &mut [Hunk]) {
        let lines = hunks.iter().flat_map(|hunk| hunk.lines.iter());
        let texts = self.pieces(&lines.map(|line| (true, line.text)).collect::<Vec<_>>());
        if texts.is_empty() {
            return;
        }
        let mut texts = texts.iter();
        for hunk in hunks {
            let lines = hunk.lines.iter().zip(texts.by_ref());
            let new = lines.map(|(line, new)| DiffLine { text: new.as_deref().unwrap_or(line.text), ..line });
            hunk.lines = new.collect();
        }
    }

    /// Masks the pieces of one text, each with whether it begins a line. Returns the new text of each piece that has one; nothing if no
    /// piece has.
    fn pieces(&mut self, pieces: &[(bool, &str)]) -> Vec<Option<String>> {
        let mut whole = String::with_capacity(pieces.iter().map(|(_, text)| text.len() + 1).sum());
        let mut starts = Vec::with_capacity(pieces.len());
        for (begins_line, text) in pieces {
            if *begins_line && !whole.is_empty() {
                whole.push('\n');
            }
            starts.push(whole.len());
            whole.push_str(text);
        }
        let mut found = self.finder.find(&whole, false);
        if found.is_empty() {
            return Vec::new();
        }
        self.noted.count(&found);
        let mut texts = vec![None; pieces.len()];
        let mut rest = &mut found[..];
        for (((begins_line, text), start), changed) in pieces.iter().zip(starts).zip(&mut texts) {
            let end = start + text.len();
            let here = rest.iter().take_while(|found| found.range.start < end).count();
            if here == 0 {
                continue;
            }
            let mut inside: Vec<SecretSpan<'_>> = rest[..here].to_vec();
            for found in &mut inside {
                found.range = found.range.start.max(start)..found.range.end.clamp(start, end);
            }
            let (mut new, mut from) = (String::new(), start);
            if rest[0].range.start < start {
                // The mark is where the secret begins; each further line of it becomes `…`.
                from = inside.remove(0).range.end;
                if *begins_line && from > start {
                    new.push_str(GOES_ON);
                }
            }
            new.push_str(&masked(&whole[from..end], from, &inside));
            *changed = Some(new);
            let done = rest.iter().take_while(|found| found.range.end <= end).count();
            rest = &mut rest[done..];
        }
        texts
    }
}

/// The replacement for each further line of a secret.
const GOES_ON: &str = "…";

/// Replaces the escapes of printable ASCII characters that need none: an escape could hide a secret.
fn without_needless_escapes(json: &str) -> Cow<'_, str> {
    let (mut out, mut done, mut at) = (String::new(), 0, 0);
    while let Some(offset) = memchr::memchr(b'\\', json.get(at..).unwrap_or_default().as_bytes()) {
        at += offset;
        let (length, ch) = match json.as_bytes().get(at + 1) {
            Some(b'/') => (2, Some('/')),
            Some(b'u') => {
                let code = json.get(at + 2..at + 6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let is_plain = |ch: &char| matches!(ch, ' '..='~') && !matches!(ch, '"' | '\\');
                (6, code.and_then(char::from_u32).filter(is_plain))
            }
            _ => (2, None),
        };
        if let Some(ch) = ch {
            out.push_str(&json[done..at]);
            out.push(ch);
            done = at + length;
        }
        at += length;
    }
    if done == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[done..]);
    Cow::Owned(out)
}

/// Replaces the secrets in `text`, which begins at byte `start` of the text that was searched. The number of lines doesn't change.
fn masked(text: &str, start: usize, found: &[SecretSpan<'_>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for found in found {
        let (begin, end) = (found.range.start - start, found.range.end - start);
        out.push_str(&text[at..begin]);
        match found.name {
            Some(name) => {
                out.push_str("[redacted ");
                out.push_str(name);
                out.push(']');
            }
            None => out.push('~'),
        }
        let lines = text[begin..end].matches(found.line_end).count();
        for line in 1..=lines {
            out.push_str(found.line_end);
            // A line feed at its very end begins no further line of it.
            if line < lines || !text[begin..end].ends_with(found.line_end) {
                out.push_str(GOES_ON);
            }
        }
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests;
