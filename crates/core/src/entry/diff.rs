//! Diffs: lines that were kept, added and removed.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize, Serializer};
use strum::IntoStaticStr;

use crate::find::find;
use crate::text::{clean, clean_into};

use super::line::one_line;

/// One hunk of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hunk {
    /// The number of its first line in the old file, from 1; absent if only the changed text is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_start: Option<u64>,
    /// The number of its first line in the new file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_start: Option<u64>,
    /// Its lines.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<DiffLine<'static>>"))]
    pub lines: DiffLines,
}

impl Hunk {
    /// Writes it in the format of `diff -u`, with a header if `starts` has the numbers of its first lines in the old and the new file.
    pub fn unified(&self, starts: Option<(u64, u64)>, out: &mut String) {
        if let Some((old, new)) = starts {
            let count = |without| self.lines.iter().filter(|line| line.change != without).count();
            // Writing to a string can't fail.
            let (before, after) = (count(LineChange::Add), count(LineChange::Remove));
            let _ = writeln!(out, "@@ -{old},{before} +{new},{after} @@");
        }
        for line in self.lines.iter() {
            out.push(line.change.sign());
            out.push_str(line.text);
            out.push('\n');
        }
    }

    /// Passes each line to `take`, with its numbers and its partner.
    pub fn paired_lines<'h>(&'h self, mut take: impl FnMut(PairedLine<'h>)) {
        let lines = &self.lines;
        let run = |from, change| lines.iter_from(from).take_while(|line| line.change == change).count();
        let (mut old, mut new) = (self.old_start, self.new_start);
        let mut at = 0;
        while at < lines.len() {
            let removed = run(at, LineChange::Remove);
            let added = run(at + removed, LineChange::Add);
            let (count, paired) = ((removed + added).max(1), removed.min(added));
            for offset in 0..count {
                let Some(line) = lines.get(at + offset) else { return };
                let numbers = match line.change {
                    LineChange::Keep => [advance(&mut old), advance(&mut new)],
                    LineChange::Remove => [advance(&mut old), None],
                    LineChange::Add => [None, advance(&mut new)],
                };
                let partner = match line.change {
                    LineChange::Remove if offset < paired => lines.get(at + removed + offset),
                    LineChange::Add if offset - removed < paired => lines.get(at + offset - removed),
                    _ => None,
                };
                take(PairedLine { line, partner, numbers });
            }
            at += count;
        }
    }
}

/// Returns a number, and increments it.
fn advance(number: &mut Option<u64>) -> Option<u64> {
    let current = (*number)?;
    *number = Some(current.saturating_add(1));
    Some(current)
}

/// A line of a hunk, with its numbers and its partner.
pub struct PairedLine<'h> {
    /// The line.
    pub line: DiffLine<'h>,
    /// The removed line that it replaced, or the added line that replaced it.
    pub partner: Option<DiffLine<'h>>,
    /// Its numbers in the old and in the new file.
    pub numbers: [Option<u64>; 2],
}

/// One line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffLine<'a> {
    /// Kept, added or removed.
    pub change: LineChange,
    /// The line without its mark and line feed.
    pub text: &'a str,
}

/// The lines of a hunk, in a single string: most are short, and a separate string for each would take many times the memory.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DiffLines {
    /// All lines without separators. Each was cleaned by itself.
    pub(super) text: String,
    /// The change of each line, and its end in the text.
    ends: Vec<(LineChange, usize)>,
}

impl DiffLines {
    /// Adds a line, cleaned. Line feeds in it are replaced by `␊`.
    pub fn push(&mut self, change: LineChange, text: &str) {
        match find(b'\n', text.as_bytes()) {
            None => clean_into(text, &mut self.text),
            Some(_) => self.text.push_str(&one_line(clean(text))),
        }
        self.ends.push((change, self.text.len()));
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The line at index `at`.
    pub fn get(&self, at: usize) -> Option<DiffLine<'_>> {
        let (change, end) = *self.ends.get(at)?;
        Some(DiffLine { change, text: &self.text[self.start(at)..end] })
    }

    /// All lines.
    pub fn iter(&self) -> impl Iterator<Item = DiffLine<'_>> {
        self.iter_from(0)
    }

    /// The lines from index `first` on.
    pub fn iter_from(&self, first: usize) -> impl Iterator<Item = DiffLine<'_>> {
        let mut start = self.start(first);
        self.ends.get(first..).unwrap_or_default().iter().map(move |&(change, end)| {
            let text = &self.text[start..end];
            start = end;
            DiffLine { change, text }
        })
    }

    /// Keeps only the first `count` lines.
    pub fn truncate(&mut self, count: usize) {
        self.text.truncate(self.start(count));
        self.ends.truncate(count);
    }

    /// The start of the line at index `at` in the text.
    fn start(&self, at: usize) -> usize {
        match at.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before).map_or(self.text.len(), |(_, end)| *end),
        }
    }
}

impl<'a> FromIterator<DiffLine<'a>> for DiffLines {
    fn from_iter<I: IntoIterator<Item = DiffLine<'a>>>(lines: I) -> Self {
        let mut all = Self::default();
        lines.into_iter().for_each(|line| all.push(line.change, line.text));
        all
    }
}

impl fmt::Debug for DiffLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for DiffLines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// The change of a line in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Change"))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum LineChange {
    /// In both files.
    Keep,
    /// Only in the new file.
    Add,
    /// Only in the old file.
    Remove,
}

impl LineChange {
    /// Its name in the machine formats.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The sign before its line in the format of `diff -u`.
    pub fn sign(self) -> char {
        match self {
            Self::Keep => ' ',
            Self::Add => '+',
            Self::Remove => '-',
        }
    }
}
