//! Parses and checks the values of keys.

use std::convert::Infallible;
use std::fmt;

use streamfmt_core::profile::LimitRow;

use super::{FILTER_KEYS, FilterRule, Key, Named, SWITCH_KEYS, ValueForm};
use crate::problem::{Problem, ProblemKind, Suggestion, nearest, suggestion};
use crate::settings::document::{Leaf, MOST_COLLECTED, SettingValue, Table, TableEntry};
use crate::settings::group;
use crate::settings::switch::Switch;
use crate::tools::field::{FieldValue, ToolField};
use crate::tools::rule::RuleValue;
use crate::writers::WRITERS;

/// The key of this name.
pub fn find<T>(keys: &'static [Key<T>], name: &str) -> Option<&'static Key<T>> {
    keys.iter().find(|key| key.name == name)
}

/// Whether `name` is a table of keys: `limits`.
pub fn is_group<T>(keys: &'static [Key<T>], name: &str) -> bool {
    keys.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// Calls `each` for each key of a table, including those in its groups, with its row if the key is known.
pub(crate) fn walk<'t, T>(
    keys: &'static [Key<T>],
    table: &'t Table,
    mut each: impl FnMut(&str, &'t TableEntry, Option<&'static Key<T>>),
) {
    let mut tables = vec![(String::new(), table)];
    while let Some((prefix, table)) = tables.pop() {
        for entry in &table.0 {
            let name = format!("{prefix}{}", entry.key);
            match (find(keys, &name), &entry.leaf.value) {
                (None, SettingValue::Table(inner)) if is_group(keys, &name) => {
                    tables.push((format!("{name}."), inner));
                }
                (key, _) => each(&name, entry, key),
            }
        }
    }
}

/// Parses a table of keys. Invalid entries are skipped and reported.
fn read<T: Default>(keys: &'static [Key<T>], table: &Table, problems: &mut Vec<Problem>) -> T {
    let mut target = T::default();
    walk(keys, table, |name, entry, key| match key {
        Some(key) => problems.extend(key.set(&mut target, &entry.leaf).err().unwrap_or_default()),
        None if problems.len() < MOST_COLLECTED => {
            let message = UnknownKey::of(keys, name).to_string();
            problems.push(entry.at.problem(ProblemKind::UnknownKey, message));
        }
        None => {}
    });
    target
}

/// A name that is no key. `Display` writes the message.
pub(crate) enum UnknownKey<'a> {
    /// It is a group of keys, such as this one.
    Group(&'a str, &'static str),
    /// There is no such key.
    Missing(&'a str, Suggestion<'static>),
}

impl<'a> UnknownKey<'a> {
    pub(crate) fn of<T>(keys: &'static [Key<T>], name: &'a str) -> Self {
        let names: Vec<&'static str> = keys.iter().map(|key| key.name).collect();
        if is_group(keys, name) {
            let inside = names.iter().find(|known| known.starts_with(name)).copied().unwrap_or_default();
            return Self::Group(name, inside);
        }
        // A key is often given without its group, or in the wrong one.
        let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
        let displaced = names.iter().copied().find(|known| last(known) == last(name));
        if let Some(known) = displaced.or_else(|| nearest(name, &names)) {
            return Self::Missing(name, Suggestion::Nearest(known));
        }
        let prefix = name.rfind('.').map_or("", |at| &name[..=at]);
        let mut here: Vec<&str> =
            names.iter().filter_map(|known| known.strip_prefix(prefix)?.split('.').next()).collect();
        here.dedup();
        Self::Missing(name, Suggestion::OneOf(here))
    }

    /// Whether a key was probably meant.
    pub(crate) fn is_near(&self) -> bool {
        matches!(self, Self::Missing(_, Suggestion::Nearest(_)))
    }
}

impl fmt::Display for UnknownKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(name, inside) => write!(f, "{name} is a group of keys, such as {inside}"),
            Self::Missing(name, suggestion) => write!(f, "unknown key \"{name}\" {suggestion}"),
        }
    }
}

impl<T> Key<T> {
    /// Sets this key in `target`, or returns the problems of the value.
    pub fn set(&self, target: &mut T, leaf: &Leaf) -> Result<(), Vec<Problem>> {
        let one = |message: String| vec![leaf.spot.problem(ProblemKind::BadValue, message)];
        let wants = || one(self.wants(&leaf.value));
        let value = &leaf.value;
        let count = |is_bytes| match if is_bytes { value.size() } else { value.number() } {
            None if leaf.text() == Some("none") => Ok(None),
            None => Err(wants()),
            number => Ok(number),
        };
        match &self.form {
            ValueForm::Word(words) => {
                let word = leaf.text().ok_or_else(wants)?;
                let found = words.iter().find(|(name, _)| *name == word);
                let names = || words.iter().map(|(name, _)| *name);
                let (_, set) = found.ok_or_else(|| one(self.unknown(word, names())))?;
                set(target);
            }
            ValueForm::Writer(set) | ValueForm::Name(set) => set(target, leaf.named().ok_or_else(wants)?),
            ValueForm::Flag(set) => set(target, value.flag().ok_or_else(wants)?),
            ValueForm::Number(least, most, set) => {
                let number = value.number().filter(|number| (least..=most).contains(&number));
                set(target, number.ok_or_else(wants)?);
            }
            ValueForm::Lines(set) => set(target, count(false)?),
            ValueForm::Size(set) => set(target, count(true)?),
            ValueForm::Limit(row, set) => set(target, row.limit, count(row.is_bytes)?),
            ValueForm::List(set) => set(target, leaf.names().ok_or_else(wants)?),
            ValueForm::Groups(_) if matches!(value, SettingValue::Bare(text) if text.starts_with('[')) => {
                let name = self.name;
                return Err(one(format!(
                    "write the list with commas and without brackets: {name}=Bash,@edit"
                )));
            }
            ValueForm::Groups(set) => {
                let names = leaf.names().ok_or_else(wants)?;
                let problems: Vec<Problem> = names.iter().filter_map(group::problem_of).collect();
                if !problems.is_empty() {
                    return Err(problems);
                }
                set(target, names);
            }
            ValueForm::Tool(set) => {
                let named = leaf.named().ok_or_else(wants)?;
                if let Some(problem) = group::problem_of(&named) {
                    return Err(vec![problem]);
                }
                set(target, named);
            }
            ValueForm::Rule(field, set) => {
                let text = match (field, value) {
                    (ToolField::Collapse, SettingValue::Flag(true)) => "both",
                    (ToolField::Collapse, SettingValue::Flag(false)) => "none",
                    _ => leaf.text().ok_or_else(wants)?,
                };
                FieldValue::<Infallible>::parse(*field, text)
                    .map_err(|wrong| one(format!("{}: {wrong}", self.name)))?;
                set(target, *field, RuleValue { value: text.to_owned(), origin: leaf.spot.origin() });
            }
            ValueForm::Script(set) => {
                let named = leaf.named().filter(|named| is_script(&named.name));
                set(target, named.ok_or_else(wants)?);
            }
            ValueForm::Filters(set) => {
                let rules = self.tables(leaf, FILTER_KEYS, |rule: &FilterRule| {
                    if rule.action.is_none() {
                        Some("the action is missing (action = \"hide\")")
                    } else if rule.groups.is_empty() {
                        Some("no items are selected (kind = \"thinking\")")
                    } else {
                        None
                    }
                })?;
                set(target, rules);
            }
            ValueForm::Switches(set) => {
                let mut switches = self.tables(leaf, SWITCH_KEYS, |switch: &Switch| {
                    if switch.profile.is_none() {
                        Some("the profile is missing (profile = \"review\")")
                    } else if !switch.has_condition() {
                        Some("the condition is missing (path = \"~/work/**\")")
                    } else {
                        None
                    }
                })?;
                if let SettingValue::List(list) = value {
                    for (switch, leaf) in switches.iter_mut().zip(list) {
                        switch.spot = Some(leaf.spot.clone());
                    }
                }
                set(target, switches);
            }
        }
        Ok(())
    }

    fn tables<E: Default>(
        &self,
        leaf: &Leaf,
        keys: &'static [Key<E>],
        wrong: impl Fn(&E) -> Option<&'static str>,
    ) -> Result<Vec<E>, Vec<Problem>> {
        let SettingValue::List(list) = &leaf.value else {
            return Err(vec![leaf.spot.problem(ProblemKind::BadValue, self.wants(&leaf.value))]);
        };
        let mut problems = Vec::new();
        let mut read_all = Vec::new();
        for leaf in list {
            if problems.len() >= MOST_COLLECTED {
                break;
            }
            let SettingValue::Table(table) = &leaf.value else {
                problems.push(leaf.spot.problem(ProblemKind::BadValue, self.wants(&leaf.value)));
                continue;
            };
            let before = problems.len();
            let element = read(keys, table, &mut problems);
            match wrong(&element) {
                Some(wrong) if problems.len() == before => {
                    problems.push(leaf.spot.problem(ProblemKind::BadValue, wrong));
                }
                _ => read_all.push(element),
            }
        }
        if problems.is_empty() { Ok(read_all) } else { Err(problems) }
    }

    fn unknown<'a>(&self, word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
        format!("{} can't be \"{word}\" {}", self.name, suggestion(word, names))
    }

    fn wants(&self, value: &SettingValue) -> String {
        format!("{} must be {}, not {}", self.name, self.form.describe(), value.describe())
    }

    /// Whether `KEY.add` and `KEY.remove` change it.
    pub(crate) fn is_list(&self) -> bool {
        // The list of `extends` is needed before there are lower layers to change.
        matches!(self.form, ValueForm::List(_) | ValueForm::Groups(_) | ValueForm::Filters(_))
            && self.name != "extends"
    }
}

impl<T> ValueForm<T> {
    /// Describes the accepted values, for documentation and messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Word(words) => words.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" | "),
            Self::Writer(_) => WRITERS.iter().map(|row| row.name).collect::<Vec<_>>().join(" | "),
            Self::Name(_) | Self::Tool(_) => "a name".to_owned(),
            Self::Flag(_) => "true or false".to_owned(),
            Self::Number(least, most, _) if least == most => least.to_string(),
            Self::Number(least, most, _) => format!("a number from {least} to {most}"),
            Self::Size(_) | Self::Limit(LimitRow { is_bytes: true, .. }, _) => {
                "a number of bytes (\"8KiB\"), or \"none\"".to_owned()
            }
            Self::Lines(_) | Self::Limit(..) => "a number of lines, or \"none\"".to_owned(),
            Self::List(_) | Self::Groups(_) => "a list of names".to_owned(),
            Self::Rule(..) => "a text".to_owned(),
            Self::Script(_) => "a file of this folder and a function in it (\"lib/bash.lua#arg\")".to_owned(),
            Self::Filters(_) => "a list of tables [[filter]]".to_owned(),
            Self::Switches(_) => "a list of tables [[switch]]".to_owned(),
        }
    }
}

impl Leaf {
    /// The text as a name.
    pub(crate) fn named(&self) -> Option<Named> {
        Some(Named { name: self.text()?.to_owned(), spot: self.spot.clone() })
    }

    /// The names in a list.
    pub(crate) fn names(&self) -> Option<Vec<Named>> {
        self.elements()?.iter().map(Self::named).collect()
    }

    /// The elements of a list, which an option separates with commas.
    pub(crate) fn elements(&self) -> Option<Vec<Self>> {
        match &self.value {
            SettingValue::List(list) => Some(list.clone()),
            SettingValue::Bare(text) => {
                let leaf = |name| Self { value: SettingValue::Text(name), spot: self.spot.clone() };
                Some(split_list(text).into_iter().map(leaf).collect())
            }
            _ => None,
        }
    }
}

impl SettingValue {
    fn flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            Self::Bare(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn number(&self) -> Option<usize> {
        match self {
            Self::Number(number) => usize::try_from(*number).ok(),
            Self::Bare(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn size(&self) -> Option<usize> {
        match self {
            Self::Text(text) | Self::Bare(text) => parse_size(text),
            _ => self.number(),
        }
    }
}

/// Whether a text names a Lua file in the same folder or below, optionally with a function.
fn is_script(text: &str) -> bool {
    let (file, function) = text.split_once('#').unwrap_or((text, "f"));
    let file = file.strip_prefix("./").unwrap_or(file);
    let Some(stem) = file.strip_suffix(".lua").or_else(|| file.strip_suffix(".luau")) else { return false };
    let is_plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let is_word = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    stem.split('/').all(is_plain) && !function.is_empty() && is_word(function)
}

/// The elements of a list in an option: `Bash,@edit`.
pub fn split_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// A number of bytes with or without a unit: `512`, `8KiB`, `2MB`.
fn parse_size(text: &str) -> Option<usize> {
    let digits = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
    let number: usize = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "B" => 1,
        "KB" | "kB" => 1_000,
        "KiB" | "K" => 1 << 10,
        "MB" => 1_000_000,
        "MiB" | "M" => 1 << 20,
        "GB" => 1_000_000_000,
        "GiB" | "G" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, size) in [
            ("8192", Some(8192)),
            ("8KiB", Some(8192)),
            ("2 MB", Some(2_000_000)),
            ("2 GB", Some(2_000_000_000)),
            ("x", None),
            ("8X", None),
        ] {
            assert_eq!(parse_size(text), size, "{text}");
        }
        assert_eq!(parse_size("99999999999999999999GiB"), None);
    }

    #[test]
    fn scripts_lie_in_the_folder_or_below() {
        for (text, is_one) in [
            ("lib/bash.lua#arg", true),
            ("./a.luau", true),
            ("../a.lua", false),
            ("/etc/a.lua", false),
            ("a/../b.lua", false),
            ("a.lua#", false),
            ("a.lua#os.exit()", false),
            ("a.txt", false),
        ] {
            assert_eq!(is_script(text), is_one, "{text}");
        }
    }
}
