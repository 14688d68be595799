//! The lines of an entry, and their spans.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::find::find;
use crate::text::Text;
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
pub const GOES_ON: &str = "result.note.of";

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
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct OneLine(Text);

impl Clone for OneLine {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Reuses the allocation.
    fn clone_from(&mut self, source: &Self) {
        self.0.clone_from(&source.0);
    }
}

impl OneLine {
    fn of(text: Text) -> Self {
        Self(match find(b'\n', text.as_bytes()) {
            Some(_) => Text::clean_owned(text.replace('\n', "␊")),
            None => text,
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::ops::Deref for OneLine {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OneLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<T: Into<Text>> From<T> for OneLine {
    fn from(text: T) -> Self {
        Self::of(text.into())
    }
}

/// A piece of one line.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// Its text.
    pub text: OneLine,
    /// Its role.
    pub role: Role,
    /// The target, if it is a link. Writers check the scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Text>,
    /// Whether its text is already in the output's format; see [`Span::spelled`].
    #[serde(skip)]
    pub is_spelled: bool,
}

impl Clone for Span {
    fn clone(&self) -> Self {
        let Self { text, role, link, is_spelled } = self;
        Self { text: text.clone(), role: *role, link: link.clone(), is_spelled: *is_spelled }
    }

    /// Reuses the allocations.
    fn clone_from(&mut self, source: &Self) {
        let Self { text, role, link, is_spelled } = self;
        text.clone_from(&source.text);
        *role = source.role;
        link.clone_from(&source.link);
        *is_spelled = source.is_spelled;
    }
}

impl Span {
    /// A span without a link.
    #[inline]
    pub fn new(role: impl Into<Role>, text: impl Into<OneLine>) -> Self {
        Self { text: text.into(), role: role.into(), link: None, is_spelled: false }
    }

    /// The same span with a text that is already in the output's format: from a writer that extends another one. The extended writer
    /// (`Terminal` or `Markdown`) writes it unchanged, never breaks it, and indents its further lines like the first. Other writers
    /// treat it like any other text.
    #[must_use]
    pub fn spelled(&self, text: Text) -> Self {
        Self { text: OneLine(text), role: self.role, link: self.link.clone(), is_spelled: true }
    }

    /// The same span as a link to `target`.
    #[must_use]
    pub fn linked(mut self, target: impl Into<Text>) -> Self {
        self.link = Some(target.into());
        self
    }
}

/// One line of spans, written without separators.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Line {
    /// Its spans.
    pub spans: Vec<Span>,
}

impl Clone for Line {
    fn clone(&self) -> Self {
        Self { spans: self.spans.clone() }
    }

    /// Reuses the allocations.
    fn clone_from(&mut self, source: &Self) {
        self.spans.clone_from(&source.spans);
    }
}

impl Line {
    /// A line of one span.
    #[inline]
    pub fn of(role: impl Into<Role>, text: impl Into<OneLine>) -> Self {
        // Capacity for two more spans and the blanks between them: most lines are built from here.
        let mut spans = Vec::with_capacity(5);
        spans.push(Span::new(role, text));
        Self { spans }
    }

    /// Its text, without roles.
    pub fn plain(&self) -> String {
        let mut text = String::with_capacity(self.bytes());
        self.spans.iter().for_each(|span| text.push_str(&span.text));
        text
    }

    /// Adds a span, after a blank if the line has spans already. Empty text adds nothing.
    #[inline]
    pub fn push(&mut self, role: impl Into<Role>, text: impl Into<OneLine>) {
        self.push_span(Span::new(role, text));
    }

    /// [`Line::push`] for a span that may be a link.
    pub fn push_span(&mut self, span: Span) {
        if span.text.is_empty() {
            return;
        }
        if !self.spans.is_empty() {
            self.spans.push(Span::new("text", OneLine(Text::own(" "))));
        }
        self.spans.push(span);
    }

    /// [`Line::push`] for building in one expression.
    #[inline]
    #[must_use]
    pub fn with(mut self, role: impl Into<Role>, text: impl Into<OneLine>) -> Self {
        self.push(role, text);
        self
    }

    /// The size of its text, in bytes.
    pub fn bytes(&self) -> usize {
        self.spans.iter().map(|span| span.text.len()).sum()
    }

    /// Whether `counts` is true for the text of any of its spans.
    pub(super) fn holds(&self, counts: impl Fn(&str) -> bool) -> bool {
        self.spans.iter().any(|span| counts(&span.text))
    }

    /// Whether it has no text.
    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty())
    }
}
