//! Blocks: the parts of an entry's body.
//!
//! A block itself computes its size, lists its texts and truncates itself, so that clipping and masking don't depend on its type.

use std::iter::{self, Sum};
use std::ops::Add;
use std::slice;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantNames};

use crate::item::Picture;
use crate::text::Text;

use super::{Hunk, Line, LineChange, Role, read};

/// A part of an entry's body.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr, VariantNames, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Block {
    /// Short lines of spans.
    Lines {
        /// The lines.
        lines: Vec<Line>,
    },
    /// Markdown, as written by a model.
    Prose {
        /// Its source.
        text: Text,
        /// Its role: `reply`, `prompt`, `thinking`, …
        role: Role,
    },
    /// Verbatim text: output, file contents, commands.
    Code {
        /// The text, without a final line feed.
        text: Text,
        /// Language or file extension, for highlighting.
        #[serde(skip_serializing_if = "Option::is_none")]
        lang: Option<Text>,
        /// The number of its first line, if its lines are numbered.
        #[serde(skip_serializing_if = "Option::is_none")]
        start: Option<u64>,
        /// Its role: `call.command`, `result.text`, `result.error`, …
        role: Role,
    },
    /// Changes of a file.
    Diff {
        /// The file, for highlighting and headings.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<Text>,
        /// Its hunks.
        hunks: Vec<Hunk>,
    },
    /// A list of points with states.
    List {
        /// The points.
        items: Vec<ListItem>,
    },
    /// A table.
    Table {
        /// The column headings; may be empty.
        head: Vec<Line>,
        /// The rows.
        rows: Vec<Vec<Line>>,
    },
    /// An image or document: described in words, and shown by writers that can.
    Image {
        /// Its media type, according to the stream.
        media: Text,
        /// Its size in bytes, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
        /// Its name, path or URL, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Text>,
        /// Its bytes, if the stream contains them; omitted in JSON.
        #[serde(skip)]
        picture: Option<Picture>,
    },
    /// Blocks that may be folded.
    Details {
        /// The line that is shown while they are folded.
        summary: Line,
        /// The blocks.
        #[serde(deserialize_with = "read::blocks")]
        body: Vec<Block>,
    },
    /// A gap: something was left out here, because of a limit of the profile.
    Elided {
        /// The number of whole lines that were left out.
        lines: u64,
        /// The number of bytes that were left out.
        bytes: u64,
    },
}

/// The state of a point of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Point {
    /// A plain point.
    Plain,
    /// To be done.
    Open,
    /// Being done.
    Active,
    /// Done.
    Done,
    /// Given up or failed.
    Failed,
}

impl Point {
    /// Its name in the machine formats.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A point of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListItem {
    /// Its state.
    pub point: Point,
    /// Its text.
    pub line: Line,
}

/// The size of a block, or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSize {
    /// Lines or rows.
    pub lines: usize,
    /// Bytes of their text.
    pub bytes: usize,
}

impl Add for BlockSize {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { lines: self.lines + other.lines, bytes: self.bytes + other.bytes }
    }
}

impl Sum for BlockSize {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), Self::add)
    }
}

impl Block {
    /// The names of the types of blocks in the machine formats and in Lua.
    pub const TYPES: &'static [&'static str] = Self::VARIANTS;

    /// Verbatim text without language or line numbers.
    #[inline]
    pub fn text(role: impl Into<Role>, text: impl Into<Text>) -> Self {
        Self::Code { text: text.into(), lang: None, start: None, role: role.into() }
    }

    /// Markdown.
    #[inline]
    pub fn prose(role: impl Into<Role>, text: impl Into<Text>) -> Self {
        Self::Prose { text: text.into(), role: role.into() }
    }

    /// One line of spans.
    pub fn line(line: Line) -> Self {
        Self::Lines { lines: vec![line] }
    }

    /// The name of its type.
    pub fn type_name(&self) -> &'static str {
        self.into()
    }

    /// The text of prose or code, with its role.
    pub fn source(&self) -> Option<(Role, &Text)> {
        match self {
            Self::Prose { text, role } | Self::Code { text, role, .. } => Some((*role, text)),
            _ => None,
        }
    }

    /// The blocks inside of it.
    pub fn inside(&self) -> &[Self] {
        if let Self::Details { body, .. } = self { body } else { &[] }
    }

    /// The same, mutable.
    pub fn inside_mut(&mut self) -> Option<&mut Vec<Self>> {
        if let Self::Details { body, .. } = self { Some(body) } else { None }
    }

    /// Its lines of spans, without those of the blocks inside of it.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        let (lines, items, rows): (&[Line], &[ListItem], &[Vec<Line>]) = match self {
            Self::Lines { lines } => (lines, &[], &[]),
            Self::List { items } => (&[], items, &[]),
            Self::Table { head, rows } => (head, &[], rows),
            Self::Details { summary, .. } => (slice::from_ref(summary), &[], &[]),
            _ => (&[], &[], &[]),
        };
        lines.iter().chain(items.iter().map(|item| &item.line)).chain(rows.iter().flatten())
    }

    /// The lines of [`Block::lines`], in groups each of which is one text to a reader.
    pub fn lines_mut(&mut self) -> impl Iterator<Item = &mut [Line]> {
        let (lines, items, rows): (&mut [Line], &mut [ListItem], &mut [Vec<Line>]) = match self {
            Self::Lines { lines } => (lines, &mut [], &mut []),
            Self::List { items } => (&mut [], items, &mut []),
            Self::Table { head, rows } => (head, &mut [], rows),
            Self::Details { summary, .. } => (slice::from_mut(summary), &mut [], &mut []),
            _ => (&mut [], &mut [], &mut []),
        };
        let items = items.iter_mut().map(|item| slice::from_mut(&mut item.line));
        iter::once(lines).chain(items).chain(rows.iter_mut().map(Vec::as_mut_slice))
    }

    /// Its other texts, without the lines of a diff.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        let texts = match self {
            Self::Prose { text, .. } | Self::Code { text, .. } => [Some(text), None],
            Self::Diff { path, .. } => [path.as_mut(), None],
            Self::Image { media, name, .. } => [Some(media), name.as_mut()],
            _ => [None, None],
        };
        texts.into_iter().flatten()
    }

    /// Whether `counts` is true for any of its texts, without those of the blocks inside of it. Lines of a diff, an image and a gap
    /// always count.
    pub(super) fn holds(&self, counts: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Diff { hunks, .. } => hunks.iter().any(|hunk| !hunk.lines.is_empty()),
            Self::Image { .. } | Self::Elided { .. } => true,
            _ => {
                self.source().is_some_and(|(_, text)| counts(text))
                    || self.lines().any(|line| counts(line.text()))
            }
        }
    }

    /// The approximate memory that it takes, in bytes. Blocks inside of it don't count.
    fn memory(&self) -> usize {
        let bytes = match self {
            Self::Image { picture, .. } => picture.as_ref().map_or(0, Picture::size),
            _ => self.source().map_or_else(|| self.row_bytes().sum(), |(_, text)| text.len()),
        };
        100 + bytes
    }

    /// Its size, as limits count it. That of an image, a gap or details is zero: limits apply to each block inside of details.
    pub fn size(&self) -> BlockSize {
        match self.source() {
            Some((_, text)) => {
                let feeds = memchr::memchr_iter(b'\n', text.as_bytes()).count();
                BlockSize { lines: feeds + 1, bytes: text.len() }
            }
            None => self.row_bytes().map(|bytes| BlockSize { lines: 1, bytes }).sum(),
        }
    }

    /// The bytes of text in each row, if the block consists of rows.
    pub fn row_bytes(&self) -> impl DoubleEndedIterator<Item = usize> {
        let (mut lines, mut items): (&[Line], &[ListItem]) = (&[], &[]);
        let (mut rows, mut hunks): (&[Vec<Line>], &[Hunk]) = (&[], &[]);
        match self {
            Self::Lines { lines: all } => lines = all,
            Self::List { items: all } => items = all,
            Self::Table { rows: all, .. } => rows = all,
            Self::Diff { hunks: all, .. } => hunks = all,
            _ => {}
        }
        let bytes = |line: &Line| line.text().len();
        let lines = lines.iter().chain(items.iter().map(|item| &item.line)).map(bytes);
        let rows = rows.iter().map(move |row| row.iter().map(bytes).sum());
        let diff_lines = hunks.iter().flat_map(|hunk| {
            let lines = (0..hunk.lines.len()).filter_map(|at| hunk.lines.get(at));
            lines.map(|line| line.text.len())
        });
        lines.chain(rows).chain(diff_lines)
    }

    /// Truncates it to this size.
    pub fn truncate(&mut self, head: BlockSize) {
        match self {
            Self::Code { text, .. } | Self::Prose { text, .. } => text.truncate(head.bytes),
            Self::Lines { lines } => lines.truncate(head.lines),
            Self::List { items } => items.truncate(head.lines),
            Self::Table { rows, .. } => rows.truncate(head.lines),
            Self::Diff { hunks, .. } => {
                let mut left = head.lines;
                hunks.retain_mut(|hunk| {
                    hunk.lines.truncate(left);
                    left -= hunk.lines.len();
                    !hunk.lines.is_empty()
                });
            }
            Self::Image { .. } | Self::Details { .. } | Self::Elided { .. } => {}
        }
    }

    /// Returns the end of a block as a separate block. `size`: the size of the block; `tail`: the size of the end. Text and diffs are
    /// copied and remain in the block as well, rows are moved.
    pub fn split_end(&mut self, size: BlockSize, tail: BlockSize) -> Option<Self> {
        let skipped = size.lines - tail.lines;
        let end = |text: &Text| Text::clean(&text[text.len() - tail.bytes..]);
        Some(match self {
            Self::Code { text, lang, start, role } => Self::Code {
                text: end(text),
                lang: lang.clone(),
                start: start.map(|start| start.saturating_add(skipped as u64)),
                role: *role,
            },
            Self::Prose { text, role } => Self::Prose { text: end(text), role: *role },
            Self::Lines { lines } => Self::Lines { lines: lines.split_off(skipped) },
            Self::List { items } => Self::List { items: items.split_off(skipped) },
            Self::Table { head, rows } => Self::Table { head: head.clone(), rows: rows.split_off(skipped) },
            Self::Diff { path, hunks } => {
                Self::Diff { path: path.clone(), hunks: end_of_hunks(hunks, skipped) }
            }
            Self::Image { .. } | Self::Details { .. } | Self::Elided { .. } => return None,
        })
    }
}

/// The approximate memory that blocks take, in bytes. Blocks inside of others don't count.
pub fn text_size(blocks: &[Block]) -> usize {
    blocks.iter().map(Block::memory).sum()
}

/// The hunks without their first `skipped` lines.
fn end_of_hunks(hunks: &[Hunk], mut skipped: usize) -> Vec<Hunk> {
    let mut out = Vec::new();
    for hunk in hunks {
        let cut = skipped.min(hunk.lines.len());
        skipped -= cut;
        if cut == hunk.lines.len() {
            continue;
        }
        let gone = |other: LineChange| {
            hunk.lines.iter().take(cut).filter(|line| line.change != other).count() as u64
        };
        out.push(Hunk {
            old_start: hunk.old_start.map(|start| start.saturating_add(gone(LineChange::Add))),
            new_start: hunk.new_start.map(|start| start.saturating_add(gone(LineChange::Remove))),
            lines: hunk.lines.iter_from(cut).collect(),
        });
    }
    out
}
