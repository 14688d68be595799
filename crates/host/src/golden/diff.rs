//! The differences between two texts: lines, and the words in them.

mod form;

use std::fmt;

pub use form::{DiffForm, Spelled};
use similar::{ChangeTag, TextDiff};
use streamfmt_core::text::clean;

/// Number of equal lines kept around a change.
const CONTEXT: usize = 3;
/// Most places of change that are kept; the rest is counted.
const MOST_HUNKS: usize = 3;
/// Most lines of one place that are kept; the rest is counted.
const MOST_LINES: usize = 80;

/// Number of characters kept at either end of a long part of a line, for an equal part and for a changed one.
const EQUAL: usize = 80;
const CHANGED: usize = 800;

/// The differences between two texts, at the first few places where they differ.
///
/// `Display` writes it without colours: `-` lines are old, `+` lines are new, and in a changed line the words are marked
/// `[-old-]` and `{+new+}`. Spaces at the end of such a line, tabs and control characters are made visible. Of a long part of a
/// line only the ends are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// The places.
    pub hunks: Vec<DiffHunk>,
    /// The number of places left out.
    pub more: usize,
}

/// One place where the texts differ, with the lines around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffHunk {
    /// The number of its first line in the old text, from 1.
    pub old: usize,
    /// The number of its first line in the new text, from 1.
    pub new: usize,
    /// The number of equal lines since the previous place.
    pub equal: usize,
    /// Its lines.
    pub lines: Vec<ComparedLine>,
    /// The number of lines left out at its end.
    pub more: usize,
}

/// A line of either text or of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedLine {
    /// The text that it belongs to.
    pub side: Side,
    /// Its text in parts, each with whether it differs. Control characters are replaced.
    pub parts: Vec<(bool, String)>,
}

/// The text that a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Both texts.
    Both,
    /// The old text only.
    Old,
    /// The new text only.
    New,
}

impl Diff {
    /// Compares two texts, keeping the first few places.
    pub fn of(old: &str, new: &str) -> Self {
        Self::limited(old, new, MOST_HUNKS, MOST_LINES)
    }

    /// Compares two texts, keeping all differences.
    pub fn whole(old: &str, new: &str) -> Self {
        Self::limited(old, new, usize::MAX, usize::MAX)
    }

    /// Whether some differences are left out.
    pub fn is_cut(&self) -> bool {
        self.more > 0 || self.hunks.iter().any(|hunk| hunk.more > 0)
    }

    fn limited(old: &str, new: &str, most_hunks: usize, most_lines: usize) -> Self {
        // A lone carriage return doesn't end a line.
        let [old, new] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
        let diff = TextDiff::from_slices(&old, &new);
        let groups = diff.grouped_ops(CONTEXT);
        let mut hunks = Vec::new();
        let mut end = 0;
        for group in groups.iter().take(most_hunks) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let mut lines: Vec<ComparedLine> = group
                .iter()
                .flat_map(|op| diff.iter_inline_changes(op))
                .map(|change| {
                    let side = match change.tag() {
                        ChangeTag::Equal => Side::Both,
                        ChangeTag::Delete => Side::Old,
                        ChangeTag::Insert => Side::New,
                    };
                    line(
                        side,
                        change
                            .iter_strings_lossy()
                            .map(|(differs, part)| (differs, part.into_owned()))
                            .collect(),
                    )
                })
                .collect();
            let more = lines.len().saturating_sub(most_lines);
            lines.truncate(most_lines);
            hunks.push(DiffHunk {
                old: first.old_range().start + 1,
                new: first.new_range().start + 1,
                equal: first.old_range().start - end,
                lines,
                more,
            });
            end = last.old_range().end;
        }
        Self { hunks, more: groups.len().saturating_sub(most_hunks) }
    }
}

fn line(side: Side, mut parts: Vec<(bool, String)>) -> ComparedLine {
    let ended = parts.last_mut().is_some_and(|(_, last)| last.ends_with('\n') && last.pop().is_some());
    parts.retain(|(_, part)| !part.is_empty());
    let count = parts.len();
    for (index, (differs, part)) in parts.iter_mut().enumerate() {
        // A change in the spaces at the end of a line would be invisible otherwise.
        let is_end = side != Side::Both && index + 1 == count;
        let kept = if is_end { part.trim_end_matches(' ').len() } else { part.len() };
        let blanks = "·".repeat(part.len() - kept);
        let mut shown = String::with_capacity(part.len());
        part[..kept].chars().for_each(|character| push_visible(&mut shown, character));
        shown.push_str(&blanks);
        *part = folded(shown, if *differs { CHANGED } else { EQUAL });
    }
    if !ended {
        parts.push((side != Side::Both, "(no newline)".to_owned()));
    }
    ComparedLine { side, parts }
}

/// Shortens a long text to `kept` characters at its beginning and its end.
fn folded(text: String, kept: usize) -> String {
    let count = text.chars().count();
    if count <= 4 * kept {
        return text;
    }
    let begin: String = text.chars().take(kept).collect();
    let end: String = text.chars().skip(count - kept).collect();
    format!("{begin}…{} characters…{end}", count - 2 * kept)
}

/// Appends a character in a visible form: expected output is no more trusted than the actual one.
fn push_visible(out: &mut String, character: char) {
    match character {
        '\t' => out.push('⇥'),
        ' '..='~' => out.push(character),
        _ => out.push_str(&clean(character.encode_utf8(&mut [0; 4]))),
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spelled(DiffForm::Inline, false).fmt(f)
    }
}
