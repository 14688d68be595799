//! The lines of an entry, and their spans.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::find::find;
use crate::text::{Text, clean};
use crate::theme::Role;

impl Role {
    /// The layout of text with this role, in every theme.
    pub fn text_layout(self) -> TextLayout {
        match self {
            role if role == Self::of("call.command") => TextLayout::Command,
            role if role == Self::of("call.value") => TextLayout::Value,
            role if role == Self::of("prompt") => TextLayout::Typed,
            role if role == Self::of(FOLDED) => TextLayout::Folded,
            role if role == Self::of(HIDDEN) => TextLayout::Hidden,
            _ => TextLayout::Plain,
        }
    }
}

/// The role of the summary of details whose body isn't written.
pub(crate) const FOLDED: &str = "details.folded";

/// The role of the summary of details that are omitted entirely in formats where they can't be unfolded.
pub(crate) const HIDDEN: &str = "details.hidden";

/// The role of a title that continues that of its call.
pub const CONTINUES_CALL: &str = "result.note.of";

/// The layout of a text. Writers decide by it, never by a role's name, which determines only the look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLayout {
    /// Text without a special layout.
    Plain,
    /// A command, after a prompt sign.
    Command,
    /// Text typed by the user: line feeds are kept.
    Typed,
    /// A value, below its key.
    Value,
    /// The summary of a body that isn't written.
    Folded,
    /// Like `Folded`, but the summary itself isn't written either if the format can't unfold it.
    Hidden,
}

/// A text without line feeds: they are replaced by `␊`, so that no text can begin a new line
/// in the middle of one. Only text that a writer has written itself ([`Span::spelled`]) may contain line feeds.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneLine<'a>(#[cfg_attr(feature = "schema", schemars(with = "Text"))] Cow<'a, str>);

impl From<Text> for OneLine<'_> {
    #[inline]
    fn from(text: Text) -> Self {
        Self(text.into_cow())
    }
}

impl<'a> From<&'a Text> for OneLine<'a> {
    fn from(text: &'a Text) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a str> for OneLine<'a> {
    fn from(text: &'a str) -> Self {
        Self(clean(text))
    }
}

impl From<String> for OneLine<'_> {
    fn from(text: String) -> Self {
        Self::from(Text::clean_owned(text))
    }
}

/// Replaces the line feeds of a clean text.
#[inline]
pub(super) fn one_line(text: Cow<'_, str>) -> Cow<'_, str> {
    match find(b'\n', text.as_bytes()) {
        Some(_) => Text::clean_owned(text.replace('\n', "␊")).into_cow(),
        None => text,
    }
}

/// A piece of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span<'a> {
    /// Its text.
    #[cfg_attr(feature = "schema", schemars(with = "OneLine<'static>"))]
    text: &'a str,
    /// Its role.
    pub role: Role,
    /// The target, if it is a link. Writers check the scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<&'a Text>,
    /// Whether its text is already in the output's format; see [`Span::spelled`].
    #[serde(skip)]
    pub is_spelled: bool,
}

impl<'a> Span<'a> {
    /// Its text, which is clean.
    #[inline]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The same span with a text that is already in the output's format: from a writer that extends another one. The extended writer
    /// (`Terminal` or `Markdown`) writes it unchanged, never breaks it, and indents its further lines like the first. Other writers
    /// treat it like any other text.
    #[must_use]
    pub fn spelled(self, text: &'a Text) -> Self {
        Self { text, is_spelled: true, ..self }
    }
}

/// One line of spans, written without separators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transparent))]
pub struct Line {
    /// The texts of all spans, one after the other. Each was cleaned by itself.
    #[cfg_attr(feature = "schema", schemars(skip))]
    text: String,
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Span<'static>>"))]
    runs: Vec<Run>,
    /// The targets of links, with the indices of their spans. Few lines have any.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[expect(clippy::box_collection, reason = "a line is moved more often than it has a link")]
    links: Option<Box<Vec<(usize, Text)>>>,
}

/// The bytes and spans that a line has room for at first: most titles are built from a few pieces.
const ROOM: usize = 48;
const SPANS: usize = 5;

/// A span, which begins where the one before ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Its end in the text.
    end: u32,
    role: Role,
    is_spelled: bool,
}

impl Line {
    /// A line of one span.
    #[inline]
    pub fn of<'t>(role: impl Into<Role>, text: impl Into<OneLine<'t>>) -> Self {
        let mut line = Self::default();
        line.attach(role, text);
        line
    }

    /// Its text, without roles.
    #[inline]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its text, if no part of it is a link or spelled.
    pub fn plain(&self) -> Option<&str> {
        let is_plain = !self.has_links() && self.runs.iter().all(|run| !run.is_spelled);
        is_plain.then_some(&self.text)
    }

    /// The roles of its spans.
    #[inline]
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        self.runs.iter().map(|run| run.role)
    }

    /// Its spans.
    #[inline]
    pub fn spans(&self) -> impl ExactSizeIterator<Item = Span<'_>> + Clone {
        let (mut rest, mut start) = (self.text.as_str(), 0);
        self.runs.iter().enumerate().map(move |(at, &Run { end, role, is_spelled })| {
            let (text, behind) = rest.split_at((end - start) as usize);
            (rest, start) = (behind, end);
            Span { text, role, link: self.link_of(at), is_spelled }
        })
    }

    #[inline]
    fn link_of(&self, at: usize) -> Option<&Text> {
        let links = self.links.as_ref()?;
        links.binary_search_by_key(&at, |(span, _)| *span).ok().map(|found| &links[found].1)
    }

    /// The text of its last span.
    pub fn last(&self) -> Option<&str> {
        let before = self.runs.len().checked_sub(2).map_or(0, |before| self.runs[before].end as usize);
        self.runs.last().map(|_| &self.text[before..])
    }

    /// Whether it has a link.
    #[inline]
    pub fn has_links(&self) -> bool {
        self.links.is_some()
    }

    /// Whether it has no text.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it has the same texts as another line.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.text == other.text
            && self.runs.iter().map(|run| run.end).eq(other.runs.iter().map(|run| run.end))
    }

    /// Adds a span, after a blank if the line has spans already. Empty text adds nothing.
    #[inline]
    pub fn push<'t>(&mut self, role: impl Into<Role>, text: impl Into<OneLine<'t>>) {
        self.add(true, role.into(), text.into());
    }

    /// [`Line::push`] for building in one expression.
    #[inline]
    #[must_use]
    pub fn with<'t>(mut self, role: impl Into<Role>, text: impl Into<OneLine<'t>>) -> Self {
        self.push(role, text);
        self
    }

    /// Adds a span directly behind the last one.
    #[inline]
    pub fn attach<'t>(&mut self, role: impl Into<Role>, text: impl Into<OneLine<'t>>) {
        self.add(false, role.into(), text.into());
    }

    /// Adds a span. `is_apart`: as [`Line::push`] does. Nothing is added to 4 GB of text: no record, and so no line, is that long.
    fn add(&mut self, is_apart: bool, role: Role, text: OneLine<'_>) {
        self.put(is_apart, role, one_line(text.0));
    }

    fn put(&mut self, is_apart: bool, role: Role, text: Cow<'_, str>) {
        if is_apart && text.is_empty() || self.text.len() + text.len() >= u32::MAX as usize {
            return;
        }
        if self.runs.capacity() == 0 {
            self.runs = Vec::with_capacity(SPANS);
        }
        match text {
            Cow::Owned(text) if self.text.capacity() == 0 && self.runs.is_empty() => self.text = text,
            text => {
                if self.text.capacity() == 0 {
                    self.text = String::with_capacity(1 + text.len() + ROOM);
                } else if self.text.capacity() - self.text.len() <= text.len() {
                    self.text.reserve(1 + text.len() + ROOM);
                }
                if is_apart && !self.runs.is_empty() {
                    self.text.push(' ');
                    self.end_span(Role::of("text"));
                }
                self.text.push_str(&text);
            }
        }
        self.end_span(role);
    }

    /// Ends a span whose text was added.
    #[inline]
    fn end_span(&mut self, role: Role) {
        self.runs.push(Run { end: self.text.len() as u32, role, is_spelled: false });
    }

    /// Makes the last span a link to `target`.
    pub fn link(&mut self, target: impl Into<Text>) {
        if let Some(last) = self.runs.len().checked_sub(1) {
            self.links.get_or_insert_default().push((last, target.into()));
        }
    }

    /// [`Line::push`] for a span of another line.
    pub fn push_span(&mut self, span: Span<'_>) {
        self.put_span(true, span, Cow::Borrowed(span.text));
    }

    /// [`Line::push`] for a span of another line, with another text.
    pub fn push_like<'t>(&mut self, span: Span<'_>, text: impl Into<OneLine<'t>>) {
        self.put_span(true, span, one_line(text.into().0));
    }

    /// [`Line::attach`] for a span of another line.
    pub fn attach_span(&mut self, span: Span<'_>) {
        self.put_span(false, span, Cow::Borrowed(span.text));
    }

    fn put_span(&mut self, is_apart: bool, span: Span<'_>, text: Cow<'_, str>) {
        let before = self.runs.len();
        self.put(is_apart, span.role, text);
        if let Some(run) = self.runs.get_mut(before..).and_then(<[Run]>::last_mut) {
            run.is_spelled = span.is_spelled;
            if let Some(target) = span.link {
                self.link(target.clone());
            }
        }
    }

    /// Adds the spans of another line directly behind the last one.
    pub fn append(&mut self, other: &Self) {
        let before = self.text.len() as u32;
        if other.has_links() || before.checked_add(other.text.len() as u32).is_none() {
            return other.spans().for_each(|span| self.attach_span(span));
        }
        self.text.push_str(&other.text);
        self.runs.extend(other.runs.iter().map(|run| Run { end: before + run.end, ..*run }));
    }

    /// Removes all spans, and keeps the allocations.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
        self.links = None;
    }

    /// Replaces the texts of its spans; `None` leaves one as it is.
    pub(crate) fn replace_texts(&mut self, texts: &mut dyn Iterator<Item = Option<String>>) {
        for span in std::mem::take(self).spans() {
            let text = texts.next().flatten().map(|text| one_line(Text::clean_owned(text).into_cow()));
            self.put_span(false, span, text.unwrap_or(Cow::Borrowed(span.text)));
        }
    }

    /// The targets of its links.
    pub(crate) fn links_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        self.links.iter_mut().flat_map(|links| links.iter_mut()).map(|(_, target)| target)
    }
}

impl<'a> FromIterator<Span<'a>> for Line {
    fn from_iter<I: IntoIterator<Item = Span<'a>>>(spans: I) -> Self {
        let mut line = Self::default();
        spans.into_iter().for_each(|span| line.attach_span(span));
        line
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.spans())
    }
}
