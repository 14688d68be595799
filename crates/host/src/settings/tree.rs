//! The merged settings of all layers: each key with its value and the values that it overrides.

use std::collections::HashSet;
use std::fmt;

use indexmap::IndexMap;

use super::document::{Leaf, MOST_COLLECTED, SettingValue, Spot, Table, TableEntry, quoted};
use crate::problem::{ChoiceNames, Problem, ProblemKind, RunChoice, suggestion};
use crate::settings::keys::{self, KEYS, Key, Named, TOOL_KEYS};
use crate::settings::profile::Settings;
use crate::tools::rule;

/// Most tables `[tool.NAME]` and plugin options in one file.
const MOST_TABLES: usize = 500;
/// Longest list, in elements.
const LONGEST_LIST: usize = 1_000;

/// A key with all of its parts: `tool`, `mcp__*`, `limits.keep`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Path {
    Key(&'static str),
    Tool(String, &'static str),
    Plugin(String, String),
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(name) => f.write_str(name),
            Self::Tool(tool, field) => write!(f, "tool.{}.{field}", quoted(tool)),
            Self::Plugin(plugin, option) => write!(f, "plugin.{}.{}", quoted(plugin), quoted(option)),
        }
    }
}

impl Path {
    /// The limit of bytes that goes with this limit of lines.
    fn bytes_beside(&self) -> Option<Self> {
        const NAME: &str = "limits.result-bytes";
        match self {
            Self::Key("limits.result-lines") => Some(Self::Key(NAME)),
            Self::Tool(tool, "limits.result-lines") => Some(Self::Tool(tool.clone(), NAME)),
            _ => None,
        }
    }
}

/// A key and the value that a profile gives it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assignment {
    pub(crate) path: Path,
    pub(crate) change: ListChange,
    pub(crate) leaf: Leaf,
}

impl Assignment {
    /// Creates an assignment, or returns the problems of the value.
    fn of<T: Default>(
        key: &'static Key<T>,
        path: Path,
        change: ListChange,
        leaf: &Leaf,
    ) -> Result<Self, Vec<Problem>> {
        key.set(&mut T::default(), leaf)?;
        Ok(Self { path, change, leaf: leaf.clone() })
    }
}

/// How a value changes the one below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListChange {
    Replace,
    Add,
    Remove,
}

/// The table of a profile, with all values checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProfilePart {
    /// The profiles that it extends.
    pub(crate) extends: Option<Vec<Named>>,
    /// Its keys, in the order of the file.
    pub(crate) assignments: Vec<Assignment>,
}

impl ProfilePart {
    pub(crate) fn is_empty(&self) -> bool {
        self.extends.is_none() && self.assignments.is_empty()
    }

    /// The plugins that it names.
    pub(crate) fn plugins(&self) -> Vec<Named> {
        let of_plugins =
            |set: &&Assignment| set.path == Path::Key("plugins") && set.change != ListChange::Remove;
        let assignments = self.assignments.iter().filter(of_plugins);
        assignments.filter_map(|set| set.leaf.names()).flatten().collect()
    }
}

/// Parses the table of a profile. Unknown keys are passed to `other`, which returns whether it handles them.
pub(crate) fn read_part(
    table: &Table,
    problems: &mut Vec<Problem>,
    mut other: impl FnMut(&str, &TableEntry) -> bool,
) -> ProfilePart {
    let before = problems.len();
    let mut reader = ValueReader { part: ProfilePart::default(), problems, tables: 0 };
    keys::walk(&KEYS, table, |name, entry, key| match key {
        Some(key) => reader.key(key, entry),
        None if other(name, entry) => {}
        None => match (name, &entry.leaf.value) {
            ("tool", SettingValue::Table(tools)) => tools.0.iter().for_each(|tool| reader.tool(tool)),
            ("plugin", SettingValue::Table(plugins)) => {
                plugins.0.iter().for_each(|plugin| reader.plugin(plugin));
            }
            ("tool" | "plugin", _) => {
                reader.report(
                    &entry.leaf.spot,
                    ProblemKind::BadValue,
                    format!("{name} must be a table, as in [{name}.NAME]"),
                );
            }
            // Finding a similar name is slow.
            _ if reader.is_full() => {}
            _ => {
                let message = unknown(name);
                reader.report(&entry.at, ProblemKind::UnknownKey, message);
            }
        },
    });
    let ValueReader { mut part, problems, .. } = reader;
    part.assignments.sort_by_key(|assignment| assignment.leaf.spot.span.start);
    problems[before..].sort_by_key(|problem| problem.place.as_ref().map(|place| (place.line, place.column)));
    part
}

fn unknown(name: &str) -> String {
    let unknown = keys::UnknownKey::of(&KEYS, name);
    if unknown.is_near() || name.contains('.') || keys::is_group(&KEYS, name) {
        return unknown.to_string();
    }
    // Groups are suggested too, for users who left out the key inside.
    let mut groups: Vec<&str> = KEYS.iter().filter_map(|key| key.name.split('.').next()).collect();
    groups.extend(["tool", "plugin"]);
    groups.dedup();
    format!("unknown key \"{name}\" {}", suggestion(name, groups))
}

struct ValueReader<'p> {
    part: ProfilePart,
    /// The problems of the file so far.
    problems: &'p mut Vec<Problem>,
    /// The number of tool tables and plugin options so far.
    tables: usize,
}

impl ValueReader<'_> {
    /// Whether no more problems are reported.
    fn is_full(&self) -> bool {
        self.problems.len() >= MOST_COLLECTED
    }

    fn report(&mut self, spot: &Spot, kind: ProblemKind, message: impl Into<String>) {
        if !self.is_full() {
            self.problems.push(spot.problem(kind, message));
        }
    }

    fn take(&mut self, assignment: Result<Assignment, Vec<Problem>>) {
        match assignment {
            Ok(assignment) => self.part.assignments.push(assignment),
            Err(problems) => {
                let room = MOST_COLLECTED.saturating_sub(self.problems.len());
                self.problems.extend(problems.into_iter().take(room));
            }
        }
    }

    fn key(&mut self, key: &'static Key<Settings>, entry: &TableEntry) {
        match (&entry.leaf.value, entry.leaf.names()) {
            (SettingValue::Table(changes), _) if key.is_list() => {
                for change in &changes.0 {
                    match change.key.as_str() {
                        "add" => self.value(key, ListChange::Add, &change.leaf),
                        "remove" => self.value(key, ListChange::Remove, &change.leaf),
                        other => {
                            let hint = suggestion(other, ["add", "remove"]);
                            let message = format!("a list has no \"{other}\" {hint}");
                            self.report(&change.at, ProblemKind::UnknownKey, message);
                        }
                    }
                }
            }
            (_, Some(names)) if key.name == "extends" => self.part.extends = Some(names),
            _ => self.value(key, ListChange::Replace, &entry.leaf),
        }
    }

    fn value(&mut self, key: &'static Key<Settings>, change: ListChange, leaf: &Leaf) {
        if matches!(&leaf.value, SettingValue::List(list) if list.len() > LONGEST_LIST) {
            let message = format!("a list has at most {LONGEST_LIST} elements");
            return self.report(&leaf.spot, ProblemKind::TooMany, message);
        }
        self.take(Assignment::of(key, Path::Key(key.name), change, leaf));
    }

    /// Counts a table and returns whether it is within the limit. Reports the first one beyond it.
    fn has_room(&mut self, spot: &Spot) -> bool {
        self.tables += 1;
        if self.tables == MOST_TABLES + 1 {
            self.report(
                spot,
                ProblemKind::TooMany,
                format!("there are more than {MOST_TABLES} tables of tools and options of plugins"),
            );
        }
        self.tables <= MOST_TABLES
    }

    fn tool(&mut self, tool: &TableEntry) {
        let SettingValue::Table(table) = &tool.leaf.value else {
            let message = format!("tool.{} must be a table, not {}", tool.key, tool.leaf.value.describe());
            return self.report(&tool.leaf.spot, ProblemKind::BadValue, message);
        };
        if !self.has_room(&tool.at) {
            return;
        }
        if let Some(wrong) = rule::wrong_with_pattern(&tool.key) {
            return self.report(&tool.at, ProblemKind::BadValue, wrong);
        }
        keys::walk(&TOOL_KEYS, table, |name, entry, key| {
            let Some(key) = key else {
                if self.is_full() {
                    return;
                }
                let unknown = keys::UnknownKey::of(&TOOL_KEYS, name);
                let message = format!("tool.{}: {unknown}", quoted(&tool.key));
                return self.report(&entry.at, ProblemKind::UnknownKey, message);
            };
            let path = Path::Tool(tool.key.clone(), key.name);
            self.take(Assignment::of(key, path, ListChange::Replace, &entry.leaf));
        });
    }

    fn plugin(&mut self, plugin: &TableEntry) {
        let SettingValue::Table(options) = &plugin.leaf.value else {
            let message =
                format!("plugin.{} must be a table, not {}", plugin.key, plugin.leaf.value.describe());
            return self.report(&plugin.leaf.spot, ProblemKind::BadValue, message);
        };
        for option in &options.0 {
            if !self.has_room(&option.at) {
                return;
            }
            let path = Path::Plugin(plugin.key.clone(), option.key.clone());
            let leaf = option.leaf.clone();
            self.part.assignments.push(Assignment { path, change: ListChange::Replace, leaf });
        }
    }
}

/// Parses an assignment of `--set`: `limits.result-lines=40`, `plugins.add=cost`.
pub(crate) fn read_assignment(assignment: &str, names: ChoiceNames) -> Result<Assignment, Problem> {
    let spot = Spot::of_choice(RunChoice::Set, assignment, names);
    let not_here = |message: String| spot.problem(ProblemKind::NotAllowed, message);
    let unknown_key = |message: String| spot.problem(ProblemKind::UnknownKey, message);
    let Some((name, value)) = assignment.split_once('=') else {
        return Err(spot.problem(ProblemKind::Syntax, "expected KEY=VALUE, as in limits.result-lines=40"));
    };
    let parts = split_key(name.trim());
    let name = parts.join(".");
    if name == "extends" {
        return Err(not_here(format!("choose a profile with {}", RunChoice::Profile.name(names))));
    }
    let value = value.trim();
    let value = value.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(value);
    let leaf = Leaf { value: SettingValue::Bare(value.to_owned()), spot: spot.clone() };
    let first = |problems: Vec<Problem>| {
        problems.into_iter().next().unwrap_or_else(|| spot.problem(ProblemKind::BadValue, "?"))
    };
    match (parts.first().map(String::as_str), &parts[..]) {
        (Some("tool"), [_, tool, field @ ..]) if !field.is_empty() => {
            if let Some(wrong) = rule::wrong_with_pattern(tool) {
                return Err(spot.problem(ProblemKind::BadValue, wrong));
            }
            let field = field.join(".");
            let unknown = || format!("tool.{tool}: {}", keys::UnknownKey::of(&TOOL_KEYS, &field));
            let key = keys::find(&TOOL_KEYS, &field).ok_or_else(|| unknown_key(unknown()))?;
            if matches!(key.form, keys::ValueForm::Script(_)) {
                let option = RunChoice::Plugin.name(names);
                return Err(not_here(format!("scripts can only be set in a file or with {option}")));
            }
            let path = Path::Tool(tool.clone(), key.name);
            Assignment::of(key, path, ListChange::Replace, &leaf).map_err(first)
        }
        (Some("tool"), _) => {
            let message = "expected tool.NAME.KEY=VALUE, such as tool.Bash.label=sh";
            Err(spot.problem(ProblemKind::Syntax, message))
        }
        (Some(table @ ("filter" | "switch")), [_, _, ..]) => {
            Err(not_here(format!("[[{table}]] tables can only be set in a file")))
        }
        (Some("plugin"), [_, plugin, option]) => Ok(Assignment {
            path: Path::Plugin(plugin.clone(), option.clone()),
            change: ListChange::Replace,
            leaf,
        }),
        _ => {
            let (list, change) = match (name.strip_suffix(".add"), name.strip_suffix(".remove")) {
                (Some(list), _) => (list, ListChange::Add),
                (_, Some(list)) => (list, ListChange::Remove),
                _ => (name.as_str(), ListChange::Replace),
            };
            let key = keys::find(&KEYS, list)
                .filter(|key| change == ListChange::Replace || key.is_list())
                .ok_or_else(|| unknown_key(unknown(&name)))?;
            Assignment::of(key, Path::Key(key.name), change, &leaf).map_err(first)
        }
    }
}

/// Splits a key into its parts as TOML does: quoted parts may contain dots.
pub fn split_key(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for ch in name.chars() {
        match ch {
            _ if quote == Some(ch) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(ch),
            '.' if quote.is_none() => parts.push(String::new()),
            _ => parts.last_mut().into_iter().for_each(|part| part.push(ch)),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// The merged settings of all layers, each value with its origin.
#[derive(Clone, Debug, Default)]
pub struct SettingsTree {
    /// The values of each key; the last one is in effect.
    leaves: IndexMap<Path, Vec<Leaf>>,
}

/// One key of a [`SettingsTree`].
pub struct KeySetting<'a> {
    /// Its name, as written in a file.
    pub name: String,
    /// Its value.
    pub leaf: &'a Leaf,
    /// The values that it overrides, the nearest first.
    pub hidden: Vec<&'a Leaf>,
}

impl KeySetting<'_> {
    /// Whether it hides, renames or runs something, instead of only changing looks.
    pub(crate) fn changes_meaning(&self) -> bool {
        let name = self.name.as_str();
        let is_limit = name.starts_with("limits.") || name.contains(".limits.");
        let chooses = ["only", "hide", "filter", "plugins", "records"].contains(&name);
        chooses || name.starts_with("plugin.") || (name.starts_with("tool.") && !is_limit)
    }
}

impl SettingsTree {
    /// The names of the tables `[tool.NAME]`, each with the place of its first key.
    pub(crate) fn tools(&self) -> impl Iterator<Item = (&str, &Spot)> {
        let mut known = HashSet::new();
        self.values().filter_map(move |(path, leaf)| match path {
            Path::Tool(name, _) => known.insert(name.as_str()).then_some((name.as_str(), &leaf.spot)),
            Path::Key(_) | Path::Plugin(..) => None,
        })
    }

    /// Applies an assignment on top of the values so far.
    pub(crate) fn assign(&mut self, assignment: &Assignment) {
        let values = self.leaves.entry(assignment.path.clone()).or_default();
        let leaf = match assignment.change {
            ListChange::Replace => assignment.leaf.clone(),
            change => changed(values.last(), &assignment.leaf, change),
        };
        // A profile that is extended twice repeats its values.
        if values.last() != Some(&leaf) {
            values.push(leaf);
        }
        // `none` for a limit of lines also drops a limit of bytes from a lower layer: otherwise the text would still be cut.
        if let (Some(path), Some("none")) = (assignment.path.bytes_beside(), assignment.leaf.text()) {
            let values = self.leaves.entry(path).or_default();
            if !values.last().is_some_and(|bytes| bytes.spot.is_beside(&assignment.leaf.spot)) {
                values.push(assignment.leaf.clone());
            }
        }
    }

    /// The value of one of [`KEYS`].
    pub fn get(&self, key: &'static str) -> Option<&Leaf> {
        self.leaves.get(&Path::Key(key))?.last()
    }

    /// All keys that are set, in the order of [`KEYS`], then those of tools and plugins.
    pub fn settings(&self) -> Vec<KeySetting<'_>> {
        let settings = self.leaves.iter().filter_map(|(path, values)| {
            let (leaf, hidden) = values.split_last()?;
            let hidden = hidden.iter().rev().collect();
            Some((path, KeySetting { name: path.to_string(), leaf, hidden }))
        });
        let mut all: Vec<(&Path, KeySetting<'_>)> = settings.collect();
        all.sort_by_key(|(path, _)| match path {
            Path::Key(name) => (KEYS.iter().position(|key| key.name == *name).unwrap_or(0), String::new()),
            Path::Tool(tool, _) => (KEYS.len(), tool.clone()),
            Path::Plugin(plugin, _) => (KEYS.len() + 1, plugin.clone()),
        });
        all.into_iter().map(|(_, setting)| setting).collect()
    }

    /// The effective value of each key.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&Path, &Leaf)> {
        self.leaves.iter().filter_map(|(path, values)| Some((path, values.last()?)))
    }
}

/// Adds elements to a list or removes them.
fn changed(below: Option<&Leaf>, leaf: &Leaf, change: ListChange) -> Leaf {
    let mut list = below.and_then(Leaf::elements).unwrap_or_default();
    let news = leaf.elements().unwrap_or_default();
    let is_in = |list: &[Leaf], leaf: &Leaf| list.iter().any(|other| is_same(&other.value, &leaf.value));
    match change {
        ListChange::Remove => list.retain(|old| !is_in(&news, old)),
        _ => {
            for new in news {
                if !is_in(&list, &new) && list.len() < LONGEST_LIST {
                    list.push(new);
                }
            }
        }
    }
    Leaf { value: SettingValue::List(list), spot: leaf.spot.clone() }
}

/// Whether two values are equal, wherever they are defined.
fn is_same(a: &SettingValue, b: &SettingValue) -> bool {
    match (a, b) {
        (SettingValue::Text(a) | SettingValue::Bare(a), SettingValue::Text(b) | SettingValue::Bare(b)) => {
            a == b
        }
        (SettingValue::Table(_), SettingValue::Table(_)) => a.to_string() == b.to_string(),
        _ => a == b,
    }
}
