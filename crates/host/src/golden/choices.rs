//! The choices of a case: `golden.toml`, overridden by `case.toml`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex::Regex;
use streamfmt_core::theme::ColorDepth;

use super::input::Patch;
use super::places::ChoicePlaces;
use crate::files::{FileError, read_plain_text};
use crate::problem::{Problem, ProblemKind, Problems, suggestion};
use crate::settings::document::{
    LARGEST, Leaf, SettingValue, SettingsFile, SettingsLayer, Table, TableEntry, parse,
};
use crate::settings::is_path;

/// The choices of a case.
#[derive(Clone, Debug, Default)]
pub struct CaseChoices {
    /// Its title.
    pub title: String,
    /// Tags for selecting it.
    pub tags: Vec<String>,
    /// The reason why it is skipped.
    pub skip: Option<String>,
    /// The path of the input, if that isn't `input.ndjson`.
    pub input: Option<PathBuf>,
    /// The profiles, each to be combined with each writer.
    pub profiles: Vec<String>,
    /// The writers.
    pub writers: Vec<String>,
    /// Single pairs of a profile and a writer. If there are any, they replace `profiles` and `writers`.
    pub matrix: Vec<(String, String)>,
    /// The settings that it is formatted with.
    pub formatting: Formatting,
    /// Changes to the input before it is read.
    pub patches: Vec<Patch>,
    /// Replacements in the output before it is compared.
    pub redactions: Vec<CaseRedaction>,
    /// Expectations other than the output.
    pub expect: Expect,
    /// Most steps that a plugin may take for the whole input.
    pub fuel: Option<u64>,
    /// The time in reports about it. No output depends on it, nor on the clock.
    pub now: Option<Timestamp>,
    /// The places where the choices were made.
    pub places: ChoicePlaces,
}

/// The settings of a case besides its profile and writer. Cases with equal settings share an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formatting {
    /// Plugins, lowest first.
    pub plugins: Vec<PathBuf>,
    /// The width of the terminal that `ansi` is written for; 80 by default.
    pub terminal_width: Option<usize>,
    /// The colours of that terminal; 24 bits by default.
    pub color: Option<ColorDepth>,
    /// The time zone; UTC by default.
    pub timezone: Option<TimeZone>,
    /// The dialect.
    pub from: Option<String>,
    /// The column at which every terminal writer wraps.
    pub width: Option<usize>,
    /// The theme.
    pub theme: Option<String>,
    /// Whether symbols are ASCII only.
    pub ascii: bool,
    /// Whether times are shown.
    pub timestamps: bool,
    /// Groups of items to show exclusively.
    pub only: Vec<String>,
    /// Groups of items to hide.
    pub hide: Vec<String>,
    /// Assignments to keys of the profile.
    pub set: Vec<String>,
}

/// The expectations about a run other than its output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The exit code of the run with `--fail`.
    pub exit: Option<usize>,
    /// Whether that run also has `--strict-plugins`.
    pub is_strict: bool,
    /// The number of distinct plugin warnings.
    pub warnings: Option<usize>,
    /// Whether the input has damaged records or raw lines on purpose.
    pub damage: bool,
    /// Whether the output is empty on purpose.
    pub empty: bool,
}

/// A replacement for text that differs in every run, or that is private. `$1` in the replacement is the first group.
#[derive(Clone, Debug)]
pub struct CaseRedaction {
    pattern: Regex,
    with: String,
}

impl CaseChoices {
    /// The default choices.
    pub(super) fn initial() -> Self {
        let (profiles, writers) = (vec!["default".to_owned()], vec!["text".to_owned()]);
        Self { profiles, writers, ..Self::default() }
    }

    /// These choices, overridden by those in a file if it exists. Paths in the file are relative to its folder.
    pub(super) fn with(&self, path: &Path, problems: &mut Problems) -> Self {
        let mut choices = self.clone();
        let file = path.display().to_string();
        let source = match read_plain_text(path, LARGEST) {
            Ok(source) => source,
            Err(FileError::Missing) => return choices,
            Err(error) => {
                problems.0.push(Problem::of(ProblemKind::Unreadable, file, error.to_string()));
                return choices;
            }
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let document = SettingsFile::new(file, Some(path.to_owned()), SettingsLayer::Project, source);
        let (table, syntax) = parse(&Arc::new(document));
        problems.0.extend(syntax);
        if table.get("profiles").or(table.get("writers")).is_some() {
            // They replace the pairs of a file further up.
            choices.matrix.clear();
            choices.places.0.remove("matrix");
        }
        let mut found: Vec<Problem> = Vec::new();
        let mut tables = vec![(String::new(), &table)];
        while let Some((group, table)) = tables.pop() {
            for TableEntry { key, at, leaf } in &table.0 {
                let name = format!("{group}{key}");
                let inner = format!("{name}.");
                let problem = match &leaf.value {
                    SettingValue::Table(table) if keys_in(&inner).is_some() => {
                        tables.push((inner, table));
                        continue;
                    }
                    _ if let Some((known, set)) = KEYS.iter().find(|(known, _)| *known == name) => {
                        choices.places.0.insert(known, leaf.clone());
                        let wrong = set(&mut choices, leaf, folder).err();
                        wrong.map(|wanted| leaf.spot.problem(ProblemKind::BadValue, wanted))
                    }
                    _ if let Some(keys) = keys_in(&inner) => {
                        let message = format!("expected a table with {keys}");
                        Some(leaf.spot.problem(ProblemKind::BadValue, message))
                    }
                    _ => {
                        let hint = suggestion(&name, KEYS.iter().map(|(known, _)| *known));
                        let message = format!("unknown key \"{name}\" {hint}");
                        Some(at.problem(ProblemKind::UnknownKey, message))
                    }
                };
                found.extend(problem);
            }
        }
        found.sort_by_key(|problem| problem.place.as_ref().map(|place| (place.line, place.column)));
        problems.0.extend(found);
        choices
    }

    /// The profile and writer of each cell.
    pub(super) fn cells(&self) -> Vec<(String, String)> {
        if self.matrix.is_empty() {
            let writers = |profile: &String| {
                let profile = profile.clone();
                self.writers.iter().map(move |writer| (profile.clone(), writer.clone()))
            };
            return self.profiles.iter().flat_map(writers).collect();
        }
        self.matrix.clone()
    }

    /// Applies all redactions to the output.
    pub(super) fn redact(&self, text: String) -> String {
        self.redactions.iter().fold(text, |text, CaseRedaction { pattern, with }| {
            pattern.replace_all(&text, with.as_str()).into_owned()
        })
    }
}

/// Sets one key from a value in a file of this folder. The error says which values are valid.
type Set = fn(&mut CaseChoices, &Leaf, &Path) -> Result<(), String>;

/// The keys of `golden.toml` and `case.toml`.
const KEYS: &[(&str, Set)] = &[
    ("title", |c, value, _| text(value).map(|text| c.title = text)),
    ("tags", |c, value, _| list(value).map(|list| c.tags.extend(list))),
    ("skip", |c, value, _| skip(value).map(|reason| c.skip = reason)),
    ("input", |c, value, folder| text(value).map(|path| c.input = Some(folder.join(path)))),
    ("profiles", |c, value, folder| {
        list(value).map(|list| c.profiles = list.iter().map(|name| located(name, folder)).collect())
    }),
    ("writers", |c, value, _| list(value).map(|list| c.writers = list)),
    ("matrix", |c, value, folder| {
        let pair = |pair: &String| {
            let (profile, writer) = pair
                .rsplit_once('.')
                .ok_or_else(|| format!("\"{pair}\" is not PROFILE.WRITER (as in default.text)"))?;
            Ok((located(profile, folder), writer.to_owned()))
        };
        c.matrix = list(value)?.iter().map(pair).collect::<Result<_, String>>()?;
        Ok(())
    }),
    ("plugins", |c, value, folder| {
        list(value).map(|list| c.formatting.plugins = list.iter().map(|path| folder.join(path)).collect())
    }),
    ("fuel", |c, value, _| number(value).map(|steps| c.fuel = Some(steps as u64))),
    ("env.width", |c, value, _| number(value).map(|width| c.formatting.terminal_width = Some(width))),
    ("env.color", |c, value, _| color(value).map(|color| c.formatting.color = Some(color))),
    ("env.timezone", |c, value, _| zone(value).map(|zone| c.formatting.timezone = Some(zone))),
    ("env.now", |c, value, _| time(value).map(|time| c.now = Some(time))),
    ("expect.exit", |c, value, _| number(value).map(|code| c.expect.exit = Some(code))),
    ("expect.warnings", |c, value, _| number(value).map(|count| c.expect.warnings = Some(count))),
    ("expect.damage", |c, value, _| flag(value).map(|on| c.expect.damage = on)),
    ("expect.empty", |c, value, _| flag(value).map(|on| c.expect.empty = on)),
    ("args.from", |c, value, _| text(value).map(|name| c.formatting.from = Some(name))),
    ("args.width", |c, value, _| number(value).map(|width| c.formatting.width = Some(width))),
    ("args.theme", |c, value, _| text(value).map(|name| c.formatting.theme = Some(name))),
    ("args.ascii", |c, value, _| flag(value).map(|on| c.formatting.ascii = on)),
    ("args.timestamps", |c, value, _| flag(value).map(|on| c.formatting.timestamps = on)),
    ("args.only", |c, value, _| list(value).map(|list| c.formatting.only = list)),
    ("args.hide", |c, value, _| list(value).map(|list| c.formatting.hide = list)),
    ("args.strict-plugins", |c, value, _| flag(value).map(|on| c.expect.is_strict = on)),
    ("args.set", |c, value, _| list(value).map(|list| c.formatting.set = list)),
    ("set", |c, value, _| rows(value, ["pointer", "value"], patch).map(|rows| c.patches.extend(rows))),
    ("redact", |c, value, _| rows(value, ["regex", "with"], redaction).map(|rows| c.redactions.extend(rows))),
];

/// The keys whose names begin with this prefix. `None` if there are none.
fn keys_in(table: &str) -> Option<String> {
    let keys: Vec<&str> = KEYS.iter().filter_map(|(known, _)| known.strip_prefix(table)).collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}

/// Makes the path of a profile relative to the file that names it. A plain name is returned unchanged.
fn located(profile: &str, folder: &Path) -> String {
    if is_path(profile) { folder.join(profile).to_string_lossy().into_owned() } else { profile.to_owned() }
}

fn text(value: &Leaf) -> Result<String, String> {
    value.text().map(str::to_owned).ok_or_else(|| "expected a string".to_owned())
}

fn list(value: &Leaf) -> Result<Vec<String>, String> {
    let wanted = || "expected a list of strings".to_owned();
    let SettingValue::List(values) = &value.value else { return Err(wanted()) };
    values.iter().map(|value| text(value).map_err(|_| wanted())).collect()
}

fn number(value: &Leaf) -> Result<usize, String> {
    let SettingValue::Number(number) = value.value else { return Err("expected a number".to_owned()) };
    usize::try_from(number).map_err(|_| "expected a number ≥ 0".to_owned())
}

fn flag(value: &Leaf) -> Result<bool, String> {
    if let SettingValue::Flag(on) = value.value { Ok(on) } else { Err("expected true or false".to_owned()) }
}

fn skip(value: &Leaf) -> Result<Option<String>, String> {
    match &value.value {
        SettingValue::Flag(on) => Ok(on.then(String::new)),
        SettingValue::Text(reason) => Ok(Some(reason.clone())),
        _ => Err("expected a reason or true".to_owned()),
    }
}

fn color(value: &Leaf) -> Result<ColorDepth, String> {
    let name = match &value.value {
        SettingValue::Number(colors) => colors.to_string(),
        _ => text(value)?,
    };
    match name.as_str() {
        "truecolor" => Ok(ColorDepth::TrueColor),
        "256" => Ok(ColorDepth::Ansi256),
        "16" => Ok(ColorDepth::Ansi16),
        _ => Err("expected truecolor, 256 or 16".to_owned()),
    }
}

fn zone(value: &Leaf) -> Result<TimeZone, String> {
    match text(value)?.as_str() {
        "UTC" => Ok(TimeZone::UTC),
        posix => {
            TimeZone::posix(posix).map_err(|_| "expected UTC or a POSIX time zone like CET-1".to_owned())
        }
    }
}

/// A time in RFC 3339, as a string or as a TOML date.
fn time(value: &Leaf) -> Result<Timestamp, String> {
    let text = match value.value {
        // The date as written.
        SettingValue::Other("a date") => value.spot.document.source[value.spot.span.clone()].to_owned(),
        _ => text(value)?,
    };
    let whole: Option<toml::value::Datetime> = text.parse().ok();
    let whole = whole.filter(|time| time.date.is_some() && time.offset.is_some());
    let time = whole.and_then(|time| time.to_string().parse().ok());
    time.ok_or_else(|| format!("\"{text}\" is not a time with an offset (like 2026-01-01T00:00:00Z)"))
}

/// Reads an array of tables with these two keys.
fn rows<T>(
    value: &Leaf,
    names: [&str; 2],
    row: fn(&str, &SettingValue) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let wanted = || format!("expected tables with {} and {}", names[0], names[1]);
    let SettingValue::List(values) = &value.value else { return Err(wanted()) };
    let read = |value: &Leaf| match &value.value {
        SettingValue::Table(table @ Table(entries)) if entries.len() == 2 => {
            let first = table.get(names[0]).and_then(Leaf::text).ok_or_else(wanted)?;
            row(first, &table.get(names[1]).ok_or_else(wanted)?.value)
        }
        _ => Err(wanted()),
    };
    // All entries share one place, so the message numbers them.
    let numbered = |(index, value)| read(value).map_err(|wrong| format!("entry {}: {wrong}", index + 1));
    match &values[..] {
        [one] => Ok(vec![read(one)?]),
        several => several.iter().enumerate().map(numbered).collect(),
    }
}

fn patch(pointer: &str, value: &SettingValue) -> Result<Patch, String> {
    let value = match value {
        SettingValue::Text(text) => serde_json::Value::from(text.as_str()),
        SettingValue::Flag(truth) => serde_json::Value::from(*truth),
        SettingValue::Number(number) => serde_json::Value::from(*number),
        _ => return Err("the value of [[set]] must be a string, an integer, true or false".to_owned()),
    };
    Patch::new(pointer, value.to_string())
}

fn redaction(pattern: &str, with: &SettingValue) -> Result<CaseRedaction, String> {
    let SettingValue::Text(with) = with else { return Err("with must be a string".to_owned()) };
    let pattern = Regex::new(pattern).map_err(|error| {
        let message = error.to_string();
        let reason = message.lines().last().unwrap_or_default().trim();
        format!("invalid regex: {}", reason.strip_prefix("error: ").unwrap_or(reason))
    })?;
    Ok(CaseRedaction { pattern, with: with.clone() })
}
