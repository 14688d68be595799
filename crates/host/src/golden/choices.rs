//! What a case is formatted with: what `golden.toml` says, and over it `case.toml`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex::Regex;
use streamfmt_core::syntax_errors::SyntaxErrors;
use streamfmt_core::theme::ColorDepth;
use toml::Spanned;
use toml::de::DeValue;

use super::input::Patch;
use super::places::ChoicePlaces;
use crate::files::{FileError, read_plain_text};
use crate::problem::{Problem, Problems, suggestion};
use crate::settings::is_path;

/// Largest file of choices, in bytes.
const LARGEST: usize = 256 << 10;

/// What a case is formatted with.
#[derive(Clone, Debug)]
pub struct CaseChoices {
    /// What it is about.
    pub title: String,
    /// Words that it can be found by.
    pub tags: Vec<String>,
    /// Why it is not tried.
    pub skip: Option<String>,
    /// Where the input is, if not in `input.ndjson`.
    pub input: Option<PathBuf>,
    /// The profiles, each with each of the writers.
    pub profiles: Vec<String>,
    /// The writers.
    pub writers: Vec<String>,
    /// Single pairs of a profile and a writer; where there are any, these only.
    pub matrix: Vec<(String, String)>,
    /// How it is formatted.
    pub formatting: Formatting,
    /// What is put into the input before it is read.
    pub patches: Vec<Patch>,
    /// What is made constant in the output before it is compared.
    pub redactions: Vec<CaseRedaction>,
    /// What is expected beside the text.
    pub expect: Expect,
    /// Steps that a plugin may take for all of the input.
    pub fuel: Option<u64>,
    /// The time that reports of it carry. No output depends on it, nor on the clock.
    pub now: Option<Timestamp>,
    /// Where all of this was chosen.
    pub places: ChoicePlaces,
}

/// How a case is formatted, beside its profile and writer: cases that agree in it share an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatting {
    /// Plugins, the lowest first.
    pub plugins: Vec<PathBuf>,
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

/// What is expected of a run beside its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The exit code of the run with `--fail`.
    pub exit: Option<usize>,
    /// Whether that run has `--strict-plugins`, too.
    pub is_strict: bool,
    /// How many different warnings there are of plugins.
    pub warnings: Option<usize>,
    /// Whether lines of the input are damaged, or no event, on purpose.
    pub damage: bool,
    /// Whether the output is empty on purpose.
    pub empty: bool,
}

/// Text that is different in every run, or nobody's business, and what stands in its place: `$1` in that is the first group.
#[derive(Clone, Debug)]
pub struct CaseRedaction {
    pattern: Regex,
    with: String,
}

impl Default for CaseChoices {
    fn default() -> Self {
        Self {
            title: String::new(),
            tags: Vec::new(),
            skip: None,
            input: None,
            profiles: vec!["default".to_owned()],
            writers: vec!["text".to_owned()],
            matrix: Vec::new(),
            formatting: Formatting::default(),
            patches: Vec::new(),
            redactions: Vec::new(),
            expect: Expect::default(),
            fuel: None,
            now: None,
            places: ChoicePlaces::default(),
        }
    }
}

impl Default for Formatting {
    fn default() -> Self {
        Self {
            plugins: Vec::new(),
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

impl CaseChoices {
    /// These choices with those of a file over them, if there is one. Its paths are relative to its folder.
    pub(super) fn with(&self, path: &Path, problems: &mut Problems) -> Self {
        let mut choices = self.clone();
        let file = path.display().to_string();
        let source: Arc<str> = match read_plain_text(path, LARGEST) {
            Ok(source) => source.into(),
            Err(FileError::Missing) => return choices,
            Err(error) => {
                problems.0.push(Problem::of(file, error.to_string()));
                return choices;
            }
        };
        let (table, syntax) = SyntaxErrors::parse(&source);
        for (span, message) in &syntax.errors {
            problems.0.push(Problem::at(&file, &source, span.clone(), message.as_str()));
        }
        let says = |key: &str| table.contains_key(key);
        if says("profiles") || says("writers") {
            // They are as good as the pairs of a file below.
            choices.matrix.clear();
            choices.places.forget("matrix");
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut found: Vec<Problem> = Vec::new();
        let mut tables = vec![(String::new(), &table)];
        while let Some((group, table)) = tables.pop() {
            for (key, value) in table.iter().filter(|(_, it)| !syntax.spoil(it.get_ref(), &it.span())) {
                let name = format!("{group}{}", key.get_ref());
                let inner = format!("{name}.");
                let problem = match value.get_ref() {
                    DeValue::Table(table) if keys_in(&inner).is_some() => {
                        tables.push((inner, table));
                        continue;
                    }
                    _ if let Some((known, set)) = KEYS.iter().find(|(known, _)| *known == name) => {
                        choices.places.note(known, &file, &source, value);
                        set(&mut choices, value, folder).err().map(|wanted| (value.span(), wanted))
                    }
                    _ if let Some(keys) = keys_in(&inner) => {
                        Some((value.span(), format!("expected a table with {keys}")))
                    }
                    _ => {
                        let hint = suggestion(&name, KEYS.iter().map(|(known, _)| *known));
                        Some((key.span(), format!("unknown key \"{name}\" {hint}")))
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

    /// The output with everything redacted that is to be.
    pub(super) fn redact(&self, text: String) -> String {
        self.redactions.iter().fold(text, |text, CaseRedaction { pattern, with }| {
            pattern.replace_all(&text, with.as_str()).into_owned()
        })
    }
}

/// Sets one key from a value of a file in this folder, or says which values it takes.
type Set = fn(&mut CaseChoices, &Spanned<DeValue<'_>>, &Path) -> Result<(), String>;

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
    ("env.width", |c, value, _| number(value).map(|width| c.formatting.terminal_width = width)),
    ("env.color", |c, value, _| color(value).map(|color| c.formatting.color = color)),
    ("env.timezone", |c, value, _| zone(value).map(|zone| c.formatting.timezone = zone)),
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

/// The keys in a table, by the beginning of their names; none if there is no such table.
fn keys_in(table: &str) -> Option<String> {
    let keys: Vec<&str> = KEYS.iter().filter_map(|(known, _)| known.strip_prefix(table)).collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}

/// The path of a profile's file, relative to the file that names it; a mere name stays.
fn located(profile: &str, folder: &Path) -> String {
    if is_path(profile) { folder.join(profile).to_string_lossy().into_owned() } else { profile.to_owned() }
}

fn text(value: &Spanned<DeValue<'_>>) -> Result<String, String> {
    let text = value.get_ref().as_str().map(str::to_owned);
    text.ok_or_else(|| "expected a string".to_owned())
}

fn list(value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, String> {
    let wanted = || "expected a list of strings".to_owned();
    let DeValue::Array(values) = value.get_ref() else { return Err(wanted()) };
    values.iter().map(|value| text(value).map_err(|_| wanted())).collect()
}

fn number(value: &Spanned<DeValue<'_>>) -> Result<usize, String> {
    let DeValue::Integer(number) = value.get_ref() else { return Err("expected a number".to_owned()) };
    usize::from_str_radix(number.as_str(), number.radix()).map_err(|_| "expected a number ≥ 0".to_owned())
}

fn flag(value: &Spanned<DeValue<'_>>) -> Result<bool, String> {
    value.get_ref().as_bool().ok_or_else(|| "expected true or false".to_owned())
}

fn skip(value: &Spanned<DeValue<'_>>) -> Result<Option<String>, String> {
    match value.get_ref() {
        DeValue::Boolean(on) => Ok(on.then(String::new)),
        DeValue::String(reason) => Ok(Some(reason.to_string())),
        _ => Err("expected a reason or true".to_owned()),
    }
}

fn color(value: &Spanned<DeValue<'_>>) -> Result<ColorDepth, String> {
    let name = match value.get_ref() {
        DeValue::Integer(colors) => colors.as_str().to_owned(),
        _ => text(value)?,
    };
    match name.as_str() {
        "truecolor" => Ok(ColorDepth::TrueColor),
        "256" => Ok(ColorDepth::Ansi256),
        "16" => Ok(ColorDepth::Ansi16),
        _ => Err("expected truecolor, 256 or 16".to_owned()),
    }
}

fn zone(value: &Spanned<DeValue<'_>>) -> Result<TimeZone, String> {
    match text(value)?.as_str() {
        "UTC" => Ok(TimeZone::UTC),
        posix => {
            TimeZone::posix(posix).map_err(|_| "expected UTC or a POSIX time zone like CET-1".to_owned())
        }
    }
}

/// A moment in RFC 3339, as a string or as TOML's own, which is the same.
fn time(value: &Spanned<DeValue<'_>>) -> Result<Timestamp, String> {
    let text = match value.get_ref() {
        DeValue::Datetime(time) => time.to_string(),
        _ => text(value)?,
    };
    let whole: Option<toml::value::Datetime> = text.parse().ok();
    let whole = whole.filter(|time| time.date.is_some() && time.offset.is_some());
    let time = whole.and_then(|time| time.to_string().parse().ok());
    time.ok_or_else(|| format!("\"{text}\" is not a time with an offset (like 2026-01-01T00:00:00Z)"))
}

/// The rows of an array of tables that have these two keys.
fn rows<T>(
    value: &Spanned<DeValue<'_>>,
    names: [&str; 2],
    row: fn(&str, &DeValue<'_>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let wanted = || format!("expected tables with {} and {}", names[0], names[1]);
    let DeValue::Array(values) = value.get_ref() else { return Err(wanted()) };
    let read = |value: &Spanned<DeValue<'_>>| {
        let table = value.get_ref().as_table().filter(|table| table.len() == 2).ok_or_else(wanted)?;
        let [first, second] = names.map(|name| table.get(name).map(Spanned::get_ref));
        let (Some(first), Some(second)) = (first.and_then(|it| it.as_str()), second) else {
            return Err(wanted());
        };
        row(first, second)
    };
    // They have one place together.
    let numbered = |(index, value)| read(value).map_err(|wrong| format!("entry {}: {wrong}", index + 1));
    match &values[..] {
        [one] => Ok(vec![read(one)?]),
        several => several.iter().enumerate().map(numbered).collect(),
    }
}

fn patch(pointer: &str, value: &DeValue<'_>) -> Result<Patch, String> {
    let value = match value {
        DeValue::String(text) => serde_json::Value::from(text.as_ref()),
        DeValue::Boolean(truth) => serde_json::Value::from(*truth),
        DeValue::Integer(number) => number.as_str().parse::<i64>().map_err(|error| error.to_string())?.into(),
        _ => return Err("the value of [[set]] must be a string, an integer, true or false".to_owned()),
    };
    Patch::new(pointer, value.to_string())
}

fn redaction(pattern: &str, with: &DeValue<'_>) -> Result<CaseRedaction, String> {
    let with = with.as_str().ok_or("with must be a string")?.to_owned();
    let pattern = Regex::new(pattern).map_err(|error| {
        let message = error.to_string();
        let reason = message.lines().last().unwrap_or_default().trim();
        format!("invalid regex: {}", reason.strip_prefix("error: ").unwrap_or(reason))
    })?;
    Ok(CaseRedaction { pattern, with })
}
