//! Finds cases in a folder and reads what they want to be formatted with.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use streamfmt_core::theme::ColorDepth;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Cell, Home, short};
use crate::engine::{Engine, Looks, WRITERS, WriterRow};
use crate::problem::{Problem, Problems, suggestion};

/// All cells of the cases in a folder.
#[derive(Clone, Default)]
pub struct Suite {
    /// The cells, sorted by name.
    pub cells: Vec<Cell>,
    /// Files of expected text that no cell asks for.
    pub orphans: Vec<PathBuf>,
}

/// What a case is formatted with: what `golden.toml` says, and over it `case.toml`.
#[derive(Clone, Debug)]
pub struct Choices {
    /// What it is about.
    pub title: String,
    /// The profiles, each with each of the writers.
    pub profiles: Vec<String>,
    /// The writers.
    pub writers: Vec<String>,
    /// Single pairs, `<profile>.<writer>`; where there are any, these only.
    pub matrix: Vec<String>,
    /// The width of the terminal that `ansi` is written for.
    pub terminal_width: usize,
    /// The colours of that terminal.
    pub color: ColorDepth,
    /// The zone of times.
    pub timezone: TimeZone,
    /// The dialect.
    pub from: Option<String>,
    /// Columns to wrap at, for every terminal writer.
    pub width: Option<usize>,
    /// The theme.
    pub theme: Option<String>,
    /// No marks beyond ASCII.
    pub ascii: bool,
    /// Times are shown.
    pub timestamps: bool,
    /// Items to be shown alone.
    pub only: Vec<String>,
    /// Items not to be shown.
    pub hide: Vec<String>,
    /// Single keys of the profile.
    pub set: Vec<String>,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            title: String::new(),
            profiles: vec!["default".to_owned()],
            writers: vec!["text".to_owned()],
            matrix: Vec::new(),
            terminal_width: 80,
            color: ColorDepth::TrueColor,
            timezone: TimeZone::UTC,
            from: None,
            width: None,
            theme: None,
            ascii: false,
            timestamps: false,
            only: Vec::new(),
            hide: Vec::new(),
            set: Vec::new(),
        }
    }
}

impl Choices {
    /// The engine for one profile and writer.
    pub(super) fn engine(&self, profile: &str, writer: &str) -> Result<Engine, Problems> {
        let is_ansi = writer == "ansi";
        let looks = Looks {
            color: is_ansi.then_some(self.color),
            width: self.width.or(is_ansi.then_some(self.terminal_width)),
            zone: Some(self.timezone.clone()),
            ..Looks::default()
        };
        let mut builder = Engine::builder()
            .profile(profile)
            .writer(writer)
            .ascii(self.ascii)
            .timestamps(self.timestamps)
            .only(self.only.iter().cloned())
            .hide(self.hide.iter().cloned())
            .looks(looks);
        if let Some(dialect) = &self.from {
            builder = builder.dialect(dialect);
        }
        if let Some(theme) = &self.theme {
            builder = builder.theme(theme);
        }
        for assignment in &self.set {
            builder = builder.set(assignment);
        }
        builder.build()
    }

    /// These choices with those of a file over them.
    fn with(&self, path: &Path, problems: &mut Problems) -> Self {
        let mut choices = self.clone();
        let Ok(source) = fs::read_to_string(path) else { return choices };
        let file = path.display().to_string();
        let (table, errors) = DeTable::parse_recoverable(&source);
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            problems.0.push(Problem::at(&file, &source, span, error.message().replace('\n', ", ")));
        }
        let mut found: Vec<Problem> = Vec::new();
        let mut tables = vec![("", table.get_ref())];
        while let Some((group, table)) = tables.pop() {
            for (key, value) in table {
                let name = format!("{group}{}", key.get_ref());
                let problem = match (name.as_str(), value.get_ref()) {
                    ("env", DeValue::Table(inner)) => {
                        tables.push(("env.", inner));
                        continue;
                    }
                    ("args", DeValue::Table(inner)) => {
                        tables.push(("args.", inner));
                        continue;
                    }
                    _ if let Some((_, set)) = KEYS.iter().find(|(known, _)| *known == name) => {
                        set(&mut choices, value).err().map(|wanted| (value.span(), wanted))
                    }
                    _ => {
                        let hint = suggestion(&name, KEYS.iter().map(|(known, _)| *known));
                        Some((key.span(), format!("there is no key \"{name}\" {hint}")))
                    }
                };
                found.extend(problem.map(|(span, message)| Problem::at(&file, &source, span, message)));
            }
        }
        found.sort_by_key(|problem| problem.place.as_ref().map(|place| (place.line, place.column)));
        problems.0.extend(found);
        choices
    }

    /// The profile and writer of each cell.
    fn cells(&self) -> Vec<(String, String)> {
        if self.matrix.is_empty() {
            let writers = |profile: &String| {
                let profile = profile.clone();
                self.writers.iter().map(move |writer| (profile.clone(), writer.clone()))
            };
            return self.profiles.iter().flat_map(writers).collect();
        }
        let pair = |pair: &String| {
            let (profile, writer) = pair.rsplit_once('.').unwrap_or((pair, ""));
            (profile.to_owned(), writer.to_owned())
        };
        self.matrix.iter().map(pair).collect()
    }
}

/// Sets one key, or says which values it takes.
type Set = fn(&mut Choices, &Spanned<DeValue<'_>>) -> Result<(), String>;

/// The keys of `golden.toml` and `case.toml`.
const KEYS: &[(&str, Set)] = &[
    ("title", |c, value| text(value).map(|text| c.title = text)),
    ("profiles", |c, value| list(value).map(|list| c.profiles = list)),
    ("writers", |c, value| list(value).map(|list| c.writers = list)),
    ("matrix", |c, value| list(value).map(|list| c.matrix = list)),
    ("env.width", |c, value| number(value).map(|width| c.terminal_width = width)),
    ("env.color", |c, value| color(value).map(|color| c.color = color)),
    ("env.timezone", |c, value| zone(value).map(|zone| c.timezone = zone)),
    ("args.from", |c, value| text(value).map(|name| c.from = Some(name))),
    ("args.width", |c, value| number(value).map(|width| c.width = Some(width))),
    ("args.theme", |c, value| text(value).map(|name| c.theme = Some(name))),
    ("args.ascii", |c, value| flag(value).map(|on| c.ascii = on)),
    ("args.timestamps", |c, value| flag(value).map(|on| c.timestamps = on)),
    ("args.only", |c, value| list(value).map(|list| c.only = list)),
    ("args.hide", |c, value| list(value).map(|list| c.hide = list)),
    ("args.set", |c, value| list(value).map(|list| c.set = list)),
];

fn text(value: &Spanned<DeValue<'_>>) -> Result<String, String> {
    let text = value.get_ref().as_str().map(str::to_owned);
    text.ok_or_else(|| "a string is wanted".to_owned())
}

fn list(value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, String> {
    let wanted = || "a list of strings is wanted".to_owned();
    let DeValue::Array(values) = value.get_ref() else { return Err(wanted()) };
    values.iter().map(|value| text(value).map_err(|_| wanted())).collect()
}

fn number(value: &Spanned<DeValue<'_>>) -> Result<usize, String> {
    let DeValue::Integer(number) = value.get_ref() else { return Err("a number is wanted".to_owned()) };
    usize::from_str_radix(number.as_str(), number.radix()).map_err(|_| "a number from 0 is wanted".to_owned())
}

fn flag(value: &Spanned<DeValue<'_>>) -> Result<bool, String> {
    value.get_ref().as_bool().ok_or_else(|| "true or false is wanted".to_owned())
}

fn color(value: &Spanned<DeValue<'_>>) -> Result<ColorDepth, String> {
    match text(value)?.as_str() {
        "truecolor" => Ok(ColorDepth::TrueColor),
        "256" => Ok(ColorDepth::Ansi256),
        "16" => Ok(ColorDepth::Ansi16),
        _ => Err("truecolor, 256 or 16 is wanted".to_owned()),
    }
}

fn zone(value: &Spanned<DeValue<'_>>) -> Result<TimeZone, String> {
    match text(value)?.as_str() {
        "UTC" => Ok(TimeZone::UTC),
        posix => TimeZone::posix(posix).map_err(|_| "UTC or a POSIX zone (CET-1) is wanted".to_owned()),
    }
}

impl Suite {
    /// Finds all cases under `root`, a folder or a single case in one. `golden.toml` is read there or above.
    pub fn find(root: &Path) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        if !root.exists() {
            problems.0.push(Problem::of(root.display().to_string(), "there is no such folder"));
        }
        let top = root.ancestors().find(|folder| folder.join("golden.toml").is_file()).unwrap_or(root);
        let defaults = Choices::default().with(&top.join("golden.toml"), &mut problems);
        let mut suite = Self::default();
        let mut left = vec![root.to_owned()];
        while let Some(path) = left.pop() {
            let name = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            if path.join("input.ndjson").is_file() {
                suite.folder(&name, &path, &defaults, &mut problems);
            } else if path.is_dir() {
                left.extend(children(&path));
            } else if path.extension().is_some_and(|end| end == "cases") {
                suite.file(&name, &path, &defaults, &mut problems);
            }
        }
        suite.cells.sort_by(|a, b| a.name.cmp(&b.name));
        suite.orphans.sort();
        for pair in suite.cells.windows(2).filter(|pair| pair[0].name == pair[1].name) {
            problems.0.push(Problem::of(&pair[0].name, "there are two of this name"));
        }
        problems.or(suite)
    }

    fn folder(&mut self, name: &str, folder: &Path, defaults: &Choices, problems: &mut Problems) {
        let choices = Arc::new(defaults.with(&folder.join("case.toml"), problems));
        let input = match fs::read(folder.join("input.ndjson")) {
            Ok(input) => Arc::from(input),
            Err(error) => return problems.0.push(Problem::of(name, error.to_string())),
        };
        let expected = folder.join("expected");
        let mut unasked = children(&expected);
        for (profile, writer) in choices.cells() {
            let Some(writer) = writer_of(name, &writer, problems) else { continue };
            let file = expected.join(format!("{profile}.{}.{}", writer.name, writer.ending));
            unasked.retain(|path| *path != file);
            self.cells.push(Cell {
                name: format!("{name}/{profile}.{}", writer.name),
                title: choices.title.clone(),
                profile,
                writer,
                choices: Arc::clone(&choices),
                input: Arc::clone(&input),
                home: Home::File(file),
            });
        }
        self.orphans.extend(unasked);
    }

    fn file(&mut self, name: &str, path: &Path, defaults: &Choices, problems: &mut Problems) {
        let file = match fs::read_to_string(path) {
            Ok(file) => file,
            Err(error) => return problems.0.push(Problem::of(name, error.to_string())),
        };
        let choices = Arc::new(defaults.clone());
        let Some(writer) = writer_of(name, "text", problems) else { return };
        for section in short::sections(&file) {
            self.cells.push(Cell {
                name: format!("{}/{}", name.trim_end_matches(".cases"), section.name),
                title: section.name.clone(),
                profile: "default".to_owned(),
                writer,
                choices: Arc::clone(&choices),
                input: Arc::from(section.input.as_bytes()),
                home: Home::Section(path.to_owned(), section.name),
            });
        }
    }
}

fn writer_of(case: &str, name: &str, problems: &mut Problems) -> Option<&'static WriterRow> {
    let found = WRITERS.iter().find(|row| row.name == name);
    if found.is_none() {
        let hint = suggestion(name, WRITERS.iter().map(|row| row.name));
        problems.0.push(Problem::of(case, format!("there is no output format \"{name}\" {hint}")));
    }
    found
}

/// What the name of a file in this format ends in.
/// What lies in a folder; links are not followed out of the way, so that a circle of them has an end.
fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_real = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_symlink());
    entries.flatten().filter(is_real).map(|entry| entry.path()).collect()
}
