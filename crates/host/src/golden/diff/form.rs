//! Writes differences: inline or unified.

use std::fmt;
use std::str::FromStr;

use super::{ComparedLine, Diff, Side};

const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const DIM: &str = "\u{1b}[2m";
const REVERSE: &str = "\u{1b}[7m";
const PLAIN: &str = "\u{1b}[27m";
const RESET: &str = "\u{1b}[0m";

/// The form in which differences are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffForm {
    /// One line after the other, with differing words marked.
    #[default]
    Inline,
    /// The format of `diff -u`.
    Unified,
}

impl DiffForm {
    /// The other form.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Inline => Self::Unified,
            Self::Unified => Self::Inline,
        }
    }
}

impl FromStr for DiffForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "inline" => Ok(Self::Inline),
            "unified" => Ok(Self::Unified),
            _ => Err("expected inline or unified".to_owned()),
        }
    }
}

impl Diff {
    /// The differences in one form, for display, with or without colours.
    pub fn spelled(&self, form: DiffForm, has_color: bool) -> Spelled<'_> {
        Spelled { diff: self, form, has_color }
    }
}

/// Differences in one form. `Display` writes them.
pub struct Spelled<'a> {
    diff: &'a Diff,
    form: DiffForm,
    has_color: bool,
}

impl fmt::Display for Spelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, hunk) in self.diff.hunks.iter().enumerate() {
            if index > 0 {
                self.dim(f, &format!("… {}", counted(hunk.equal, "equal line")))?;
            }
            match self.form {
                DiffForm::Inline => self.dim(f, &format!("@@ line {} → {} @@", hunk.old, hunk.new))?,
                DiffForm::Unified => {
                    let length = |side| hunk.lines.iter().filter(|line| line.side != side).count();
                    let (old, new) = (length(Side::New), length(Side::Old));
                    self.dim(f, &format!("@@ -{},{old} +{},{new} @@", hunk.old, hunk.new))?;
                }
            }
            hunk.lines.iter().try_for_each(|line| self.line(f, line))?;
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

    fn line(&self, f: &mut fmt::Formatter<'_>, line: &ComparedLine) -> fmt::Result {
        let (sign, open, close, color) = match line.side {
            Side::Both => (" ", "", "", ""),
            Side::Old => ("-", "[-", "-]", RED),
            Side::New => ("+", "{+", "+}", GREEN),
        };
        let (open, close) = if self.has_color { (REVERSE, PLAIN) } else { (open, close) };
        let is_colored = self.has_color && !color.is_empty();
        let (color, reset) = if is_colored { (color, RESET) } else { ("", "") };
        write!(f, "{color}{sign}")?;
        // If the whole line differs, marks around its words add nothing.
        let is_mixed = line.parts.iter().any(|(differs, _)| !differs);
        let marks_words = is_mixed && (self.form == DiffForm::Inline || self.has_color);
        for (differs, part) in &line.parts {
            if *differs && marks_words {
                write!(f, "{open}{part}{close}")?;
            } else {
                f.write_str(part)?;
            }
        }
        writeln!(f, "{reset}")
    }
}

/// `1 more line`, `2 more lines`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
