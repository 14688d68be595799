//! Lines of an entry, and the spans that they are made of.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::find::find;
use crate::text::Text;

/// What a span *is*: a dotted name such as `tool.name`, which falls back to its parent `tool`.
/// The set is open; `docs/roles.md` lists the names in use.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Role(Cow<'static, str>);

impl Role {
    /// A role of our own.
    pub const fn of(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The role of this name, if it is one: letters, digits, `_`, `-`, and dots between them.
    pub fn parse(name: &str) -> Option<Self> {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        (name.len() <= 64 && name.split('.').all(is_part)).then(|| Self(Cow::Owned(name.to_owned())))
    }

    /// The dotted name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// How text of this role is set, whatever it looks like.
    pub fn text_layout(&self) -> TextLayout {
        Self::layout_of(self.name())
    }

    /// The same of a role by its name.
    pub fn layout_of(name: &str) -> TextLayout {
        match name {
            "call.command" => TextLayout::Command,
            "call.value" => TextLayout::Value,
            "prompt" => TextLayout::Typed,
            FOLDED => TextLayout::Folded,
            HIDDEN => TextLayout::Hidden,
            _ => TextLayout::Plain,
        }
    }
}

/// The role of the line that stands for a body that isn't written.
pub(crate) const FOLDED: &str = "details.folded";

/// The role of a line that isn't written either where what it stands for can't be unfolded.
pub(crate) const HIDDEN: &str = "details.hidden";

/// The role of a title that ends what its call's title began.
pub const GOES_ON: &str = "result.note.of";

/// How a text is laid out among others. Writers ask this, never a role's name, which says how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLayout {
    /// Like any other.
    Plain,
    /// A command, behind a prompt.
    Command,
    /// As a person typed it: each line feed is meant.
    Typed,
    /// A value, below its key.
    Value,
    /// It stands for what is folded behind it and isn't written.
    Folded,
    /// The same, and where nothing can be unfolded it isn't written itself.
    Hidden,
}

impl From<&'static str> for Role {
    fn from(name: &'static str) -> Self {
        Self::of(name)
    }
}

/// A text without line feeds: those of what it is made from become `␊`, so that no text can begin a line of its own
/// where it is a part of one. Only what a writer spelled ([`Span::spelled`]) may have some.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct OneLine(Text);

impl Clone for OneLine {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Uses its room again.
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
    /// What it says.
    pub text: OneLine,
    /// What it is.
    pub role: Role,
    /// Where it leads, if it is a link. Writers check the scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Text>,
    /// Whether a writer above has spelled it already, in the output's own format; see [`Span::spelled`].
    #[serde(skip)]
    pub is_spelled: bool,
}

impl Clone for Span {
    fn clone(&self) -> Self {
        let Self { text, role, link, is_spelled } = self;
        Self { text: text.clone(), role: role.clone(), link: link.clone(), is_spelled: *is_spelled }
    }

    /// Uses its room again.
    fn clone_from(&mut self, source: &Self) {
        let Self { text, role, link, is_spelled } = self;
        text.clone_from(&source.text);
        role.clone_from(&source.role);
        link.clone_from(&source.link);
        *is_spelled = source.is_spelled;
    }
}

impl Span {
    /// A span.
    pub fn new(role: impl Into<Role>, text: impl Into<OneLine>) -> Self {
        Self { text: text.into(), role: role.into(), link: None, is_spelled: false }
    }

    /// The same span, with a text that a writer on top of another one has spelled itself. The writer below (`Terminal` or
    /// `Markdown`) writes it as it is, never parts it, and sets its further lines as far in as the first. Others take it
    /// for text like any other.
    #[must_use]
    pub fn spelled(&self, text: Text) -> Self {
        Self { text: OneLine(text), role: self.role.clone(), link: self.link.clone(), is_spelled: true }
    }

    /// The same span as a link to `target`.
    #[must_use]
    pub fn linked(mut self, target: impl Into<Text>) -> Self {
        self.link = Some(target.into());
        self
    }
}

/// One line of spans, written one after the other with nothing between.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Line {
    /// Its pieces.
    pub spans: Vec<Span>,
}

impl Clone for Line {
    fn clone(&self) -> Self {
        Self { spans: self.spans.clone() }
    }

    /// Uses its room again.
    fn clone_from(&mut self, source: &Self) {
        self.spans.clone_from(&source.spans);
    }
}

impl Line {
    /// A line of one span.
    pub fn of(role: impl Into<Role>, text: impl Into<OneLine>) -> Self {
        // Room for two more spans and the blanks between: most lines are built from here.
        let mut spans = Vec::with_capacity(5);
        spans.push(Span::new(role, text));
        Self { spans }
    }

    /// Its text alone.
    pub fn plain(&self) -> String {
        let mut text = String::with_capacity(self.bytes());
        self.spans.iter().for_each(|span| text.push_str(&span.text));
        text
    }

    /// Adds a span, after a blank if there is something before it. Empty text adds nothing.
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
    #[must_use]
    pub fn with(mut self, role: impl Into<Role>, text: impl Into<OneLine>) -> Self {
        self.push(role, text);
        self
    }

    /// How many bytes of text it has.
    pub fn bytes(&self) -> usize {
        self.spans.iter().map(|span| span.text.len()).sum()
    }

    /// Whether any of its texts is one that `counts`.
    pub(super) fn holds(&self, counts: impl Fn(&str) -> bool) -> bool {
        self.spans.iter().any(|span| counts(&span.text))
    }

    /// Whether it has no text.
    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty())
    }
}
