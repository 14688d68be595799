//! Masks secrets in the output.
//!
//! ```text
//! entry ─▶ texts ─▶ as they are read (read) ─▶ find (shapes) ─▶ [redacted github-token]
//! ```
//!
//! What is searched is what is read: a text without colours, escapes, entities and emphasis, with the way back to its source.
//!
//! This is done once, after an entry is made and before it is clipped, for all formatters and writers: a cut could
//! split a secret so that it isn't recognised any more. A text that extends over several lines and spans is searched as one.

mod find;
mod growing;
mod ids;
mod list;
mod published;
mod read;
mod reader;
mod shape;
mod suspect;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use crate::entry::{Block, DiffLine, Entry, Hunk, Line, Picture, View};
use crate::item::{Id, Item, Kind};
use crate::pattern::{CountedRegex, one_line};
use crate::text::Text;

use find::{SecretFinder, SecretSpan};
use ids::MaskedIds;
use list::FindNotes;

pub use list::{FindList, FindPlace, FindSort, ListedFind};

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
    pub(crate) regex: CountedRegex,
}

impl CustomPattern {
    /// Compiles a pattern in the syntax of the `regex` crate. If it has a group, only that is masked. The error is a one-line message.
    pub fn new(name: &str, pattern: &str) -> Result<Self, String> {
        // Matches of bytes could split a character.
        regex_syntax::parse(pattern).map_err(|error| one_line(&error))?;
        let regex = CountedRegex::new(pattern, MOST_COMPILED)?;
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
#[derive(Debug, Default)]
struct RedactionState {
    /// Whether anything is noted: not of a text that is masked again, because it is formatted again.
    is_counting: bool,
    /// How much was masked, by name.
    found: BTreeMap<String, u64>,
    /// How many more lines, when lines are masked one by one, may belong to a private key that has begun.
    open: u32,
    /// The custom patterns that took too much work.
    exceeded: BTreeSet<String>,
    /// The finds with their places, if they are listed.
    list: Option<Box<FindNotes>>,
}

impl RedactionState {
    /// The list, if what is masked now belongs to it.
    fn list(&mut self) -> Option<&mut FindNotes> {
        self.list.as_deref_mut().filter(|_| self.is_counting)
    }

    fn count(&mut self, found: &SecretSpan<'_>) {
        if self.is_counting {
            let name = found.name.unwrap_or("home");
            match self.found.get_mut(name) {
                Some(count) => *count += 1,
                None => drop(self.found.insert(name.to_owned(), 1)),
            }
        }
    }
}

impl Redactor {
    /// A redactor, or `None` if nothing is masked.
    pub fn new(redaction: &Redaction) -> Option<Self> {
        redaction.is_on().then(|| Self {
            finder: SecretFinder::new(redaction),
            ids: MaskedIds::default(),
            noted: RedactionState { is_counting: true, ..RedactionState::default() },
        })
    }

    /// Returns how much was masked since the last call, by name.
    pub fn take_counts(&mut self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.noted.found)
    }

    /// From now on, lists what is masked, and what looks like a secret and isn't.
    pub(crate) fn list_finds(&mut self) {
        self.noted.list = Some(Box::default());
    }

    /// Returns the list of what was found, which ends.
    pub(crate) fn take_finds(&mut self) -> FindList {
        self.noted.list.take().map(|notes| notes.into_list()).unwrap_or_default()
    }

    /// From now on, what is found is in this item, of which `view` is shown, or in the head of the document.
    pub(crate) fn set_place(&mut self, item: Option<(&Item, &View)>) {
        if self.noted.list().is_none() {
            return;
        }
        let place = item.map(|(item, view)| {
            let mut id = |id: &Id| {
                let mut id = id.clone();
                self.id(&mut id);
                id
            };
            let call = item.call.as_ref().filter(|_| item.kind == Kind::Result && view.body.is_empty());
            let (shown_in, parent) = (id(call.unwrap_or(&item.id)), item.parent.as_ref().map(&mut id));
            let id = id(&item.id);
            let tool = item
                .tool
                .as_deref()
                .map(|tool| self.uncounted(|redactor| Text::clean_owned(redactor.text(tool).into_owned())));
            FindPlace { id, shown_in, parent, kind: item.kind, tool, line: item.line }
        });
        let ids = item.map_or_else(String::new, |(item, _)| {
            let ids = [Some(&item.id), item.call.as_ref(), item.parent.as_ref()].into_iter().flatten();
            let ids = ids.map(Id::as_str).chain(item.session.as_deref());
            ids.collect::<Vec<_>>().join("\n")
        });
        if let Some(list) = self.noted.list() {
            list.set_place(place, ids);
        }
    }

    /// Sets whether masked texts are counted.
    pub(crate) fn set_counting(&mut self, is_counting: bool) {
        self.noted.is_counting = is_counting;
    }

    /// Returns the names of the custom patterns that took too much work since the last call: what they were applied to is masked to its end.
    pub(crate) fn take_exceeded(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.noted.exceeded)
    }

    /// Calls `work` without counting what is masked: it is counted elsewhere.
    pub(crate) fn uncounted<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let is_counting = std::mem::replace(&mut self.noted.is_counting, false);
        let result = work(self);
        self.noted.is_counting = is_counting;
        result
    }

    /// Masks a complete text.
    pub fn text<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        self.replaced(text, false).map_or(Cow::Borrowed(text), |(masked, _)| Cow::Owned(masked))
    }

    /// Masks an id. Equal ids stay equal and different ids stay different, within a limit of ids. This isn't counted, because an id
    /// is written in several places: see [`Self::count_id`].
    pub(crate) fn id(&mut self, id: &mut Id) {
        if let Some((masked, _)) = self.uncounted(|redactor| redactor.replaced(id.as_str(), false)) {
            *id = self.ids.name(id, masked);
        }
    }

    /// Masks the ids of an entry. Its view was masked when it was made.
    pub(crate) fn ids_of(&mut self, entry: &mut Entry) {
        self.id(&mut entry.id);
        entry.parent.iter_mut().chain(&mut entry.call).for_each(|id| self.id(id));
    }

    /// Counts the secrets in an id.
    pub(crate) fn count_id(&mut self, id: &Id) {
        if let Some((masked, _)) = self.unlisted(|redactor| redactor.replaced(id.as_str(), false)) {
            self.ids.name(id, masked);
        }
    }

    /// Calls `work` without listing what is found: it isn't shown by itself, such as an id.
    pub(crate) fn unlisted<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let list = self.noted.list.take();
        let result = work(self);
        self.noted.list = list;
        result
    }

    /// Masks a line of JSON, which stays valid JSON.
    pub fn json(&mut self, line: &mut String) {
        if let Some((masked, _)) = self.replaced(line, true) {
            *line = masked;
        }
    }

    /// Masks a line of JSON, and passes it to `write` piece by piece: a long line isn't copied.
    pub(crate) fn json_to(&mut self, line: &str, write: &mut dyn FnMut(&str)) {
        let mut done = 0;
        let exceeded = self.finder.each(line, true, &mut |span| {
            self.noted.count(&span);
            write(&line[done..span.range.start]);
            span.write_mark(&line[span.range.clone()], write);
            done = span.range.end;
        });
        self.noted.exceeded.extend(exceeded.map(str::to_owned));
        write(&line[done..]);
    }

    /// A text with its secrets masked, and whether it ends with a private key that isn't complete; `None` if it has no secrets.
    fn replaced(&mut self, text: &str, is_json: bool) -> Option<(String, bool)> {
        let mut masked: Option<String> = None;
        let (mut done, mut is_open) = (0, false);
        let is_listed = !is_json && self.noted.list().is_some();
        let mut listed = Vec::new();
        let exceeded = self.finder.each(text, is_json, &mut |span| {
            self.noted.count(&span);
            listed.extend(is_listed.then(|| span.clone()));
            let out = masked.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[done..span.range.start]);
            span.write_mark(&text[span.range.clone()], &mut |piece| out.push_str(piece));
            (done, is_open) = (span.range.end, span.is_open);
        });
        self.noted.exceeded.extend(exceeded.map(str::to_owned));
        if let Some(list) = self.noted.list().filter(|_| is_listed) {
            list.text(text, &listed);
        }
        masked.map(|mut out| {
            out.push_str(&text[done..]);
            (out, is_open)
        })
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
                match block {
                    Block::Diff { hunks, .. } => self.hunks(hunks),
                    Block::Image { media, name, picture, .. } => {
                        if let Some(list) = self.noted.list() {
                            list.file(media, name.as_deref(), picture.is_some());
                        }
                        picture.iter_mut().for_each(Picture::strip);
                    }
                    _ => {}
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
        let (masked, is_open) = self.replaced(text, false)?;
        if self.noted.is_counting {
            self.noted.open = if is_open { MOST_KEY_LINES } else { 0 };
        }
        Some(masked)
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
        let mut found = Vec::new();
        let exceeded = self.finder.each(&whole, false, &mut |span| found.push(span));
        self.noted.exceeded.extend(exceeded.map(str::to_owned));
        if let Some(list) = self.noted.list() {
            list.text(&whole, &found);
        }
        if found.is_empty() {
            return Vec::new();
        }
        for span in &found {
            self.noted.count(span);
        }
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

impl SecretSpan<'_> {
    /// Passes what replaces it to `write`, piece by piece. `text` is what is replaced. The number of lines doesn't change.
    fn write_mark(&self, text: &str, write: &mut dyn FnMut(&str)) {
        match self.name {
            Some(name) => ["[redacted ", name, "]"].into_iter().for_each(&mut *write),
            None => write("~"),
        }
        let lines = text.matches(self.line_end).count();
        for line in 1..=lines {
            write(self.line_end);
            // A line feed at its very end begins no further line of it.
            if line < lines || !text.ends_with(self.line_end) {
                write(GOES_ON);
            }
        }
    }
}

/// Replaces the secrets in `text`, which begins at byte `start` of the text that was searched.
fn masked(text: &str, start: usize, found: &[SecretSpan<'_>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for found in found {
        let (begin, end) = (found.range.start - start, found.range.end - start);
        out.push_str(&text[at..begin]);
        found.write_mark(&text[begin..end], &mut |piece| out.push_str(piece));
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests;
