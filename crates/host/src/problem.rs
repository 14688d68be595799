//! Problems of a setup, each with its place and a solution.
//!
//! All problems of a run are collected and reported together, so users needn't fix them one by one.

use std::borrow::Borrow;
use std::fmt;
use std::io;
use std::ops::Range;

pub(crate) use streamfmt_core::nearest::nearest;
use streamfmt_core::text::clean;

/// Most bytes of a file's line that are quoted.
const QUOTED: usize = 160;

/// A problem in the user's setup.
///
/// `Display` writes one clean line, path first: `mine.toml:3:1: unknown key "lable" (did you mean "label"?)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, for programs: texts of messages may change with any version.
    pub kind: ProblemKind,
    /// The choice for this run that is wrong, if the problem isn't in a file.
    pub choice: Option<RunChoice>,
    /// Its origin: a file's name, or a choice with its value.
    pub origin: String,
    /// The position in the file, if the origin is a file.
    pub place: Option<FilePosition>,
    /// The message, including a solution.
    pub message: String,
}

/// The kind of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A file or folder can't be read: it is missing, too large or not a text, or access is denied.
    Unreadable,
    /// A file or folder can't be written, or there is no place for it.
    Unwritable,
    /// A text doesn't have the expected form, such as TOML.
    Syntax,
    /// There is no such key.
    UnknownKey,
    /// Nothing has this name: no profile, theme, plugin, dialect, output format or schema.
    UnknownName,
    /// Several things have this name, or one of several must be named.
    Ambiguous,
    /// The name is already taken.
    Taken,
    /// A key can't have this value, or lacks one.
    BadValue,
    /// There is more than the limit allows; the rest is ignored.
    TooMany,
    /// It isn't allowed here, such as a key in a project's file that only the user's own settings may set.
    NotAllowed,
    /// This build of the program can't do it.
    Unsupported,
    /// It is valid, but probably a mistake: a tool that no known agent has, or a plugin that registers nothing.
    Doubtful,
    /// A theme's file has an invalid part, which is ignored.
    Theme,
    /// A plugin can't be loaded, failed, or uses the interface in a wrong way.
    Plugin,
    /// A file that this program wrote was edited or is damaged: an installed plugin, the list of them, a record of trust.
    Damaged,
    /// A golden case is incomplete.
    GoldenCase,
}

/// A choice for a run, made by an option of the program or a method of the [`Builder`](crate::Builder).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunChoice {
    /// The settings file.
    Config,
    /// The dialect.
    Dialect,
    /// Items to hide.
    Hide,
    /// The only items to show.
    Only,
    /// A plugin.
    Plugin,
    /// The profile.
    Profile,
    /// The value of a key.
    Set,
    /// The theme.
    Theme,
    /// The output format.
    Writer,
}

impl RunChoice {
    /// Its name in messages: `--to`, or `writer`.
    pub fn name(self, names: ChoiceNames) -> &'static str {
        let (option, method) = match self {
            Self::Config => ("--config", "config"),
            Self::Dialect => ("--from", "dialect"),
            Self::Hide => ("--hide", "hide"),
            Self::Only => ("--only", "only"),
            Self::Plugin => ("--plugin", "plugin"),
            Self::Profile => ("--profile", "profile"),
            Self::Set => ("--set", "set"),
            Self::Theme => ("--theme", "theme"),
            Self::Writer => ("--to", "writer"),
        };
        match names {
            ChoiceNames::Options => option,
            ChoiceNames::Methods => method,
        }
    }
}

/// How messages name a [`RunChoice`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChoiceNames {
    /// By the program's option.
    #[default]
    Options,
    /// By the method of the [`Builder`](crate::Builder).
    Methods,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The text of that line.
    pub text: String,
    /// The number of characters concerned.
    pub length: usize,
}

impl Problem {
    /// A problem of a whole file, or of something else that has no lines.
    pub fn of(kind: ProblemKind, origin: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, choice: None, origin: origin.into(), place: None, message: message.into() }
    }

    /// A problem of the bytes `span` of a file.
    pub fn at(
        kind: ProblemKind,
        file: &str,
        source: &str,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            choice: None,
            origin: file.to_owned(),
            place: Some(FilePosition::find(source, span)),
            message: message.into(),
        }
    }

    /// The line of the file, and a line with a mark below the characters concerned, for display below the problem itself.
    pub fn excerpt(&self) -> Option<[String; 2]> {
        let place = self.place.as_ref()?;
        let number = place.line.to_string();
        let blank = " ".repeat(number.len());
        let before = " ".repeat(place.column - 1);
        let mark = "^".repeat(place.length.max(1));
        Some([format!("{number} | {}", one_line(&place.text)), format!("{blank} | {before}{mark}")])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.origin))?;
        if let Some(place) = &self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {}", one_line(&self.message))
    }
}

impl std::error::Error for Problem {}

impl FilePosition {
    fn find(source: &str, span: Range<usize>) -> Self {
        let start = boundary(source, span.start);
        let end = boundary(source, span.end).max(start);
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let rest = &source[line_start..];
        let text = rest.split('\n').next().unwrap_or_default();
        let text = &text[..boundary(text, QUOTED)];
        let marked = &source[start..end.min(line_start + text.len()).max(start)];
        Self {
            line: source[..line_start].matches('\n').count() + 1,
            column: source[line_start..start].chars().count() + 1,
            // A tab becomes one column, so that the mark lines up.
            text: text.trim_end().replace('\t', " "),
            length: marked.trim_end().chars().count(),
        }
    }
}

/// All problems of a setup. Never empty as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Returns `value` if there is no problem.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }

    /// Groups them by file, from its top down, and removes duplicates.
    pub fn sort(&mut self) {
        let mut origins: Vec<String> = Vec::new();
        for problem in &self.0 {
            if !origins.contains(&problem.origin) {
                origins.push(problem.origin.clone());
            }
        }
        self.0.sort_by_key(|problem| {
            let origin = origins.iter().position(|origin| *origin == problem.origin);
            (origin, problem.place.as_ref().map(|place| (place.line, place.column)))
        });
        let mut kept: Vec<Problem> = Vec::new();
        for problem in std::mem::take(&mut self.0) {
            if kept.iter().rev().take_while(|it| it.origin == problem.origin).all(|it| *it != problem) {
                kept.push(problem);
            }
        }
        self.0 = kept;
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The start of the character that byte `at` is in, or the end of `text`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Cleans foreign text for use within a line of a message.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).replace('\n', "␊")
}

/// A suggestion for a wrong word. `Display` writes it in parentheses, for the end of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suggestion<'a> {
    /// The name that was probably meant.
    Nearest(&'a str),
    /// All names, as none is near.
    OneOf(Vec<&'a str>),
}

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nearest(name) => write!(f, "(did you mean \"{name}\"?)"),
            Self::OneOf(names) if names.is_empty() => f.write_str("(there are none)"),
            Self::OneOf(names) => write!(f, "(one of: {})", names.join(", ")),
        }
    }
}

/// A suggestion for a wrong `word`: the nearest of `names`, else all of them.
pub fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Suggestion<'a> {
    let names: Vec<&str> = names.into_iter().collect();
    nearest(word, &names).map_or_else(|| Suggestion::OneOf(names.clone()), Suggestion::Nearest)
}

/// The first few of these names in a row, and how many more there are.
pub(crate) fn some_of(names: &[impl Borrow<str>]) -> String {
    let shown = &names[..names.len().min(6)];
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The short reason of an error, without the number that the system adds.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut rest = text.chars();
    let first = rest.next().map(|ch| ch.to_ascii_lowercase());
    first.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_clean_line_with_its_place() {
        let source = "a = 1\n\tb\u{1b} = 2\n";
        let problem = Problem::at(ProblemKind::UnknownKey, "x\n.toml", source, 7..9, "bad\u{1b}[2J key");
        assert_eq!(problem.to_string(), "x␊.toml:2:2: bad␛[2J key");
        assert_eq!(problem.excerpt(), Some(["2 |  b␛ = 2".to_owned(), "  |  ^^".to_owned()]));
    }

    #[test]
    fn places_outside_the_text_are_clamped() {
        for span in [0..0, 5..9, 9..99, 1..2] {
            let problem = Problem::at(ProblemKind::Syntax, "x", "ä\nö", span, "m");
            assert!(problem.excerpt().is_some());
        }
    }

    #[test]
    fn the_nearest_name_is_suggested_only_if_it_is_near() {
        assert_eq!(
            suggestion("reslt-lines", ["result-lines", "error-lines"]).to_string(),
            "(did you mean \"result-lines\"?)"
        );
        assert_eq!(suggestion("haed", ["head", "tail"]).to_string(), "(did you mean \"head\"?)");
        assert_eq!(suggestion("Full", ["full", "lines"]).to_string(), "(did you mean \"full\"?)");
        assert_eq!(suggestion("xyz", ["full", "lines"]).to_string(), "(one of: full, lines)");
    }
}
