//! Spells differences: inline, unified, or side by side.

use std::fmt;
use std::str::FromStr;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{ComparedLine, Diff, DiffHunk, Side};

/// Columns of a page whose width isn't known.
const USUAL_WIDTH: usize = 120;
/// Columns of one side at the least.
const NARROWEST: usize = 16;

const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const DIM: &str = "\u{1b}[2m";
const REVERSE: &str = "\u{1b}[7m";
const PLAIN: &str = "\u{1b}[27m";
const RESET: &str = "\u{1b}[0m";

/// How differences are spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffForm {
    /// One line after the other, with the words marked that make the difference.
    #[default]
    Inline,
    /// As `diff -u` does.
    Unified,
    /// The old text beside the new one.
    Side,
}

impl DiffForm {
    /// The next one, for a reader who wants to see it otherwise.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Inline => Self::Unified,
            Self::Unified => Self::Side,
            Self::Side => Self::Inline,
        }
    }
}

impl FromStr for DiffForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "inline" => Ok(Self::Inline),
            "unified" => Ok(Self::Unified),
            "side" => Ok(Self::Side),
            _ => Err("expected inline, unified or side".to_owned()),
        }
    }
}

impl Diff {
    /// The differences, ready to be displayed: with colours or without, side by side in so many columns (0: as
    /// many as are usual).
    pub fn spelled(&self, form: DiffForm, has_color: bool, width: usize) -> Spelled<'_> {
        let width = if width == 0 { USUAL_WIDTH } else { width };
        Spelled { diff: self, form, has_color, width }
    }
}

/// Differences that display themselves in one form.
pub struct Spelled<'a> {
    diff: &'a Diff,
    form: DiffForm,
    has_color: bool,
    width: usize,
}

impl fmt::Display for Spelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, hunk) in self.diff.hunks.iter().enumerate() {
            if index > 0 {
                self.dim(f, &format!("… {}", counted(hunk.equal, "equal line")))?;
            }
            match self.form {
                DiffForm::Inline => {
                    self.dim(f, &format!("@@ line {} → {} @@", hunk.old, hunk.new))?;
                    hunk.lines.iter().try_for_each(|line| self.line(f, line, true))?;
                }
                DiffForm::Unified => {
                    let length = |side| hunk.lines.iter().filter(|line| line.side != side).count();
                    let (old, new) = (length(Side::New), length(Side::Old));
                    self.dim(f, &format!("@@ -{},{old} +{},{new} @@", hunk.old, hunk.new))?;
                    hunk.lines.iter().try_for_each(|line| self.line(f, line, false))?;
                }
                DiffForm::Side => {
                    self.dim(f, &format!("@@ line {} │ line {} @@", hunk.old, hunk.new))?;
                    self.sides(f, hunk)?;
                }
            }
            if hunk.more > 0 {
                self.dim(f, &format!("… {}", counted(hunk.more, "more line")))?;
            }
        }
        if self.diff.more > 0 {
            self.dim(f, &format!("… {}", counted(self.diff.more, "more place")))?;
        }
        Ok(())
    }
}

impl Spelled<'_> {
    fn dim(&self, f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
        if self.has_color { writeln!(f, "{DIM}{text}{RESET}") } else { writeln!(f, "{text}") }
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, line: &ComparedLine, marks_words: bool) -> fmt::Result {
        let (sign, open, close) = match line.side {
            Side::Both => (" ", "", ""),
            Side::Old => ("-", "[-", "-]"),
            Side::New => ("+", "{+", "+}"),
        };
        let (color, reset) = self.color(line.side);
        let (open, close) = if self.has_color { (REVERSE, PLAIN) } else { (open, close) };
        write!(f, "{color}{sign}")?;
        // Where the whole line is different, marks around its words say nothing.
        let is_mixed = line.parts.iter().any(|(differs, _)| !differs);
        for (differs, part) in &line.parts {
            if *differs && is_mixed && (marks_words || self.has_color) {
                write!(f, "{open}{part}{close}")?;
            } else {
                f.write_str(part)?;
            }
        }
        writeln!(f, "{reset}")
    }

    fn color(&self, side: Side) -> (&'static str, &'static str) {
        match (self.has_color, side) {
            (false, _) | (_, Side::Both) => ("", ""),
            (true, Side::Old) => (RED, RESET),
            (true, Side::New) => (GREEN, RESET),
        }
    }

    /// The lines of a place beside one another: what was taken away beside what came in its place.
    fn sides(&self, f: &mut fmt::Formatter<'_>, hunk: &DiffHunk) -> fmt::Result {
        let column = (self.width.saturating_sub(3) / 2).max(NARROWEST);
        let mut lines = hunk.lines.iter().peekable();
        while let Some(line) = lines.next() {
            if line.side == Side::Both {
                self.pair(f, Some(line), Some(line), column)?;
                continue;
            }
            let mut sides = [Vec::new(), Vec::new()];
            sides[usize::from(line.side == Side::New)].push(line);
            while let Some(line) = lines.next_if(|line| line.side != Side::Both) {
                sides[usize::from(line.side == Side::New)].push(line);
            }
            for row in 0..sides[0].len().max(sides[1].len()) {
                self.pair(f, sides[0].get(row).copied(), sides[1].get(row).copied(), column)?;
            }
        }
        Ok(())
    }

    fn pair(
        &self,
        f: &mut fmt::Formatter<'_>,
        old: Option<&ComparedLine>,
        new: Option<&ComparedLine>,
        column: usize,
    ) -> fmt::Result {
        let rows = |line: Option<&ComparedLine>| {
            let text: String =
                line.iter().flat_map(|line| &line.parts).map(|(_, part)| part.as_str()).collect();
            wrapped(&text, column)
        };
        let is_same = old.is_some_and(|old| old.side == Side::Both);
        let sign = match (old, new) {
            _ if is_same => ' ',
            (Some(_), None) => '<',
            (None, Some(_)) => '>',
            _ => '|',
        };
        let (left, right) = (rows(old), rows(new));
        for row in 0..left.len().max(right.len()) {
            let [left, right] = [&left, &right].map(|rows| rows.get(row).map_or("", String::as_str));
            let pad = " ".repeat(column.saturating_sub(left.width()));
            let (red, reset) = self.color(if is_same { Side::Both } else { Side::Old });
            let (green, _) = self.color(if is_same { Side::Both } else { Side::New });
            let line = format!("{red}{left}{reset}{pad} {sign} {green}{right}{reset}");
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The text in rows of so many columns; at least one row.
fn wrapped(text: &str, column: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut used = 0;
    for character in text.chars() {
        let width = character.width().unwrap_or(0);
        if used + width > column {
            rows.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(row) = rows.last_mut() {
            row.push(character);
        }
    }
    rows
}

/// `1 more line`, `2 more lines`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
