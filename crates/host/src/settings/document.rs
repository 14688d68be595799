//! A parsed settings file: a tree in which each key and value knows its position.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use streamfmt_core::syntax_errors::SyntaxErrors;
use strum::IntoStaticStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{ChoiceNames, Problem, ProblemKind, RunChoice};
use crate::tools::rule::Origin;

/// Largest settings file, in bytes.
pub(crate) const LARGEST: usize = 256 * 1024;
/// Deepest nesting of tables: no key has more parts.
const DEEPEST: usize = 12;
/// Most problems reported for one file: nobody reads more at once.
const MOST_REPORTED: usize = 20;
/// Most problems collected for one file: one more shows that some aren't reported.
pub(crate) const MOST_COLLECTED: usize = MOST_REPORTED + 1;

/// The origin of settings. Later layers override earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum SettingsLayer {
    /// Built into the program.
    BuiltIn,
    /// Shipped with a plugin.
    #[strum(serialize = "plugin")]
    Pack,
    /// The machine's settings, for all users.
    System,
    /// The user's settings.
    User,
    /// A project's settings.
    Project,
    /// A file that was named for this run.
    Chosen,
    /// An option or an environment variable, not a file.
    Option,
}

impl SettingsLayer {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The source of a settings file.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Its name in messages.
    pub name: String,
    /// Its path, if it is a file on disk.
    pub path: Option<PathBuf>,
    /// Its layer.
    pub layer: SettingsLayer,
    /// Its text.
    pub source: String,
    /// The choice for this run, if that is what it is.
    choice: Option<RunChoice>,
    /// Positions of its line feeds, so that line numbers need no scan from the start.
    ends: Vec<usize>,
}

impl SettingsFile {
    /// Creates a file from its text.
    pub fn new(name: impl Into<String>, path: Option<PathBuf>, layer: SettingsLayer, source: String) -> Self {
        let ends = memchr::memchr_iter(b'\n', source.as_bytes()).collect();
        Self { name: name.into(), path, layer, source, choice: None, ends }
    }

    /// The folder that relative paths in it start from.
    pub(crate) fn folder(&self) -> &Path {
        self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""))
    }
}

/// A position in a settings file, or an option.
#[derive(Clone, PartialEq, Eq)]
pub struct Spot {
    /// The file.
    pub document: Arc<SettingsFile>,
    /// The range of bytes.
    pub span: Range<usize>,
}

impl Spot {
    /// The position of a choice for this run, such as `--set limits.result-lines=3`. Without a value, the choice alone.
    pub fn of_choice(choice: RunChoice, value: &str, names: ChoiceNames) -> Self {
        let name = choice.name(names);
        let shown = if value.is_empty() { name.to_owned() } else { format!("{name} {value}") };
        Self::of_run(shown, Some(choice))
    }

    /// The position of a variable, or of a default: `STREAMFMT_PROFILE`.
    pub fn named(name: impl Into<String>) -> Self {
        Self::of_run(name.into(), None)
    }

    fn of_run(name: String, choice: Option<RunChoice>) -> Self {
        let document = SettingsFile::new(name, None, SettingsLayer::Option, String::new());
        Self { document: Arc::new(SettingsFile { choice, ..document }), span: 0..0 }
    }

    /// Creates a problem at this position.
    pub fn problem(&self, kind: ProblemKind, message: impl Into<String>) -> Problem {
        let SettingsFile { name, source, choice, layer, .. } = &*self.document;
        match layer {
            SettingsLayer::Option => Problem { choice: *choice, ..Problem::of(kind, name, message) },
            _ => Problem::at(kind, name, source, self.span.clone(), message),
        }
    }

    /// The line number, from 1.
    pub fn line(&self) -> usize {
        self.document.ends.partition_point(|end| *end < self.span.start) + 1
    }

    /// Whether both are in the same file, or both are options.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let layer = self.document.layer;
        Arc::ptr_eq(&self.document, &other.document)
            || (layer == SettingsLayer::Option && other.document.layer == layer)
    }

    /// The file name and the line, for tool rules.
    pub(crate) fn origin(&self) -> Origin {
        Origin { file: self.document.name.clone(), line: self.line() }
    }
}

impl fmt::Display for Spot {
    /// `mine.toml:3`, or the option.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.document.layer {
            SettingsLayer::Option => f.write_str(&self.document.name),
            _ => write!(f, "{}:{}", self.document.name, self.line()),
        }
    }
}

impl fmt::Debug for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The value.
    pub value: SettingValue,
    /// Its position.
    pub spot: Spot,
}

/// A value from a file, or the text of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A number with a fraction.
    Float(f64),
    /// True or false.
    Flag(bool),
    /// A list.
    List(Vec<Leaf>),
    /// A table.
    Table(Table),
    /// The text of an option; the key determines its type.
    Bare(String),
    /// A value that no key accepts, with its description.
    Other(&'static str),
}

/// The entries of a table in file order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<TableEntry>);

/// An entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableEntry {
    /// The key.
    pub key: String,
    /// Its position.
    pub at: Spot,
    /// Its value.
    pub leaf: Leaf,
}

impl Table {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Leaf> {
        self.0.iter().find(|entry| entry.key == key).map(|entry| &entry.leaf)
    }
}

impl Leaf {
    /// The value if it is a string.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            SettingValue::Text(text) | SettingValue::Bare(text) => Some(text),
            _ => None,
        }
    }
}

impl SettingValue {
    /// Describes the value in messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Text(text) | Self::Bare(text) => format!("\"{text}\""),
            Self::Number(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::List(list) if list.iter().all(|leaf| leaf.text().is_some()) => "a list".to_owned(),
            Self::List(_) => "a list with other elements".to_owned(),
            Self::Table(_) => "a table".to_owned(),
            Self::Other(what) => (*what).to_owned(),
        }
    }
}

impl fmt::Display for SettingValue {
    /// Writes the value as TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Bare(text) => f.write_str(&toml::Value::from(text.as_str()).to_string()),
            Self::Number(number) => write!(f, "{number}"),
            Self::Float(number) => f.write_str(&toml::Value::from(*number).to_string()),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::List(list) => {
                f.write_str("[")?;
                for (index, leaf) in list.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{}", leaf.value)?;
                }
                f.write_str("]")
            }
            Self::Table(table) => {
                f.write_str("{ ")?;
                for (index, entry) in table.0.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{} = {}", quoted(&entry.key), entry.leaf.value)?;
                }
                f.write_str(" }")
            }
            Self::Other(what) => write!(f, "\"{what}\""),
        }
    }
}

/// Quotes a part of a key if TOML requires it.
pub(crate) fn quoted(part: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !part.is_empty() && part.bytes().all(is_bare) {
        part.to_owned()
    } else {
        toml::Value::from(part).to_string()
    }
}

/// Limits the problems of a file, with a final one that states that there are more.
pub(crate) fn limit_reported(problems: &mut Vec<Problem>, document: &SettingsFile) {
    if problems.len() > MOST_REPORTED {
        problems.truncate(MOST_REPORTED);
        let message = format!("there are more problems; {MOST_REPORTED} are reported");
        problems.push(Problem::of(ProblemKind::TooMany, &document.name, message));
    }
}

/// Parses a file. Invalid entries are reported and skipped; the rest is returned.
pub(crate) fn parse(document: &Arc<SettingsFile>) -> (Table, Vec<Problem>) {
    if document.source.len() > LARGEST {
        let message = format!("larger than {} KiB", LARGEST / 1024);
        return (Table::default(), vec![Problem::of(ProblemKind::Unreadable, &document.name, message)]);
    }
    let (table, found) = SyntaxErrors::parse(&document.source);
    let mut reader = DocumentReader { document, found, problems: Vec::new() };
    let errors = reader.found.errors.iter().take(MOST_COLLECTED);
    let mut problems: Vec<Problem> = errors
        .map(|(span, message)| {
            // A key `profile` before the tables of profiles: it names one only in a file that has none.
            let is_profile = document.source.get(span.clone()).is_some_and(|it| it == "profile");
            let hint = if is_profile && message.starts_with("cannot extend value") {
                ": `profile` is the table of profiles here; the key for the one to use is `default-profile`"
            } else {
                ""
            };
            reader.spot(span.clone()).problem(ProblemKind::Syntax, format!("{message}{hint}"))
        })
        .collect();
    let table = reader.table(&table, 0);
    problems.extend(reader.problems);
    (table, problems)
}

struct DocumentReader<'a> {
    document: &'a Arc<SettingsFile>,
    found: SyntaxErrors,
    problems: Vec<Problem>,
}

impl DocumentReader<'_> {
    fn spot(&self, span: Range<usize>) -> Spot {
        Spot { document: Arc::clone(self.document), span }
    }

    fn table(&mut self, table: &DeTable<'_>, depth: usize) -> Table {
        let is_whole = |value: &Spanned<DeValue<'_>>| !self.found.spoil(value.get_ref(), &value.span());
        let whole: Vec<_> = table.iter().filter(|(_, value)| is_whole(value)).collect();
        let entries = whole.into_iter().map(|(key, value)| TableEntry {
            key: key.get_ref().to_string(),
            at: self.spot(key.span()),
            leaf: self.leaf(value.get_ref(), value.span(), depth + 1),
        });
        let mut entries: Vec<TableEntry> = entries.collect();
        entries.sort_by_key(|entry| entry.at.span.start);
        Table(entries)
    }

    /// Converts a value. The depth is limited so that a file can't overflow the stack.
    fn leaf(&mut self, value: &DeValue<'_>, span: Range<usize>, depth: usize) -> Leaf {
        let spot = self.spot(span);
        let value = match value {
            DeValue::String(text) => SettingValue::Text(text.to_string()),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => SettingValue::Number(number),
                Err(_) => SettingValue::Other("an out-of-range number"),
            },
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => SettingValue::Float(number),
                Err(_) => SettingValue::Other("a number with a fraction"),
            },
            DeValue::Boolean(flag) => SettingValue::Flag(*flag),
            DeValue::Datetime(_) => SettingValue::Other("a date"),
            DeValue::Array(_) | DeValue::Table(_) if depth >= DEEPEST => {
                if self.problems.len() < MOST_COLLECTED {
                    self.problems.push(spot.problem(ProblemKind::TooMany, "nested too deeply"));
                }
                SettingValue::Other("a value nested too deeply")
            }
            DeValue::Array(array) => {
                let leaves =
                    array.iter().map(|value| self.leaf(value.get_ref(), value.span(), depth + 1)).collect();
                SettingValue::List(leaves)
            }
            DeValue::Table(table) => SettingValue::Table(self.table(table, depth)),
        };
        Leaf { value, spot }
    }
}
