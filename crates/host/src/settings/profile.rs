//! The values of a profile, complete except for those that depend on the terminal.
//!
//! Built-in profiles are embedded files in the same format as those of users, parsed by the same code. Every profile extends
//! `default` unless it has `extends = ["none"]`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use indexmap::IndexMap;
use streamfmt_core::profile::{Ci, Profile, Selector, ToolLimits};

use crate::plugin::WITHOUT_LUA;
use crate::plugin::source::PluginSource;
use crate::problem::ProblemKind;
use crate::settings::document::Leaf;
use crate::settings::keys::{self, FilterAction, FilterRule, KEYS, Named, TOOL_KEYS, ToolTable};
use crate::settings::tree::{Path as KeyPath, SettingsTree};
use crate::settings::{Config, SettingsProblems};
use crate::tools::rule::ToolRule;

/// The built-in profiles: name and source.
pub static BUILT_IN: &[(&str, &str)] = &[
    ("default", include_str!("../../profiles/default.toml")),
    ("page", include_str!("../../profiles/page.toml")),
    ("full", include_str!("../../profiles/full.toml")),
    ("quiet", include_str!("../../profiles/quiet.toml")),
    ("ci", include_str!("../../profiles/ci.toml")),
    ("review", include_str!("../../profiles/review.toml")),
    ("plain", include_str!("../../profiles/plain.toml")),
];

/// The values of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The name of the writer, if the profile sets one.
    pub writer: Option<Named>,
    /// The name of the theme, or its path relative to the file that names it.
    pub theme: Named,
    /// The plugins, lowest precedence first.
    pub plugins: Vec<Named>,
    /// Plugin options: plugin, option, value.
    pub options: Vec<(String, String, Leaf)>,
    /// Whether to render Markdown.
    pub markdown: bool,
    /// The schema of records in replies that are shown as a tree: a name, or a path relative to the file that names it.
    pub records: Option<Named>,
    /// Whether to show times.
    pub timestamps: bool,
    /// Longest input line that is parsed, in bytes.
    pub max_line: usize,
    /// The column to wrap at, regardless of the terminal's width; 0 disables wrapping.
    pub width: Option<usize>,
    /// The CI service whose log is written; `None` detects it.
    pub ci: Option<Ci>,
    /// The tool rules: later ones override earlier ones for the same tools.
    pub tools: Vec<ToolRule>,
    /// Lua functions for tools.
    pub scripts: Vec<ToolScript>,
    /// The `[[filter]]` tables, which are moved into `profile` at the end.
    pub(crate) filters: Vec<FilterRule>,
    /// The part of the profile that the core uses.
    pub profile: Profile,
}

/// A function in a Lua file that formats some tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolScript {
    /// The tools: an exact name, an action such as `@run`, or a glob.
    pub pattern: String,
    /// The field that it returns: `label`, `arg`, `summary`, `call` or `result`.
    pub field: &'static str,
    /// The file, and after `#` the function in the table that the file returns.
    pub script: Named,
}

impl Default for Settings {
    /// The values below all profiles: no limits, nothing hidden.
    fn default() -> Self {
        Self {
            writer: None,
            theme: Named::given_by("auto", "the default"),
            plugins: Vec::new(),
            options: Vec::new(),
            markdown: true,
            records: None,
            timestamps: false,
            max_line: 64 << 20,
            width: None,
            ci: None,
            tools: Vec::new(),
            scripts: Vec::new(),
            filters: Vec::new(),
            profile: Profile::default(),
        }
    }
}

impl Settings {
    /// Converts merged settings, whose values were checked when they were parsed.
    pub(crate) fn of(tree: &SettingsTree) -> Self {
        let mut settings = Self::default();
        let mut tools: IndexMap<&str, ToolTable> = IndexMap::new();
        for (path, leaf) in tree.values() {
            match path {
                KeyPath::Key(name) => drop(keys::find(&KEYS, name).map(|key| key.set(&mut settings, leaf))),
                KeyPath::Tool(tool, field) => {
                    let table = tools.entry(tool).or_insert_with(|| ToolTable {
                        rule: ToolRule::new(tool, leaf.spot.origin()),
                        ..ToolTable::default()
                    });
                    drop(keys::find(&TOOL_KEYS, field).map(|key| key.set(table, leaf)));
                }
                KeyPath::Plugin(plugin, option) => {
                    settings.options.push((plugin.clone(), option.clone(), leaf.clone()));
                }
            }
        }
        for ToolTable { rule, scripts, limits, keep } in tools.into_values() {
            if !limits.is_empty() || keep.is_some() {
                let of = keys::tool_group(&rule.pattern);
                settings.profile.tools.push(ToolLimits { of, most: limits, keep });
            }
            let scripts = scripts.into_iter();
            settings.scripts.extend(scripts.map(|(field, script)| ToolScript {
                pattern: rule.pattern.clone(),
                field,
                script,
            }));
            if !rule.fields.is_empty() {
                settings.tools.push(rule);
            }
        }
        let filter = &mut settings.profile.filter;
        for FilterRule { mut groups, action } in std::mem::take(&mut settings.filters) {
            let group = if groups.len() == 1 { groups.remove(0) } else { Selector::All(groups) };
            match action {
                Some(FilterAction::Hide) => filter.hide.push(group),
                Some(FilterAction::Only) => filter.only.push(group),
                Some(FilterAction::Collapse) => filter.collapse.push(group),
                None => {}
            }
        }
        settings
    }
}

impl Config {
    /// Returns the functions that settings name, as one plugin per settings file. Unreadable files are reported.
    pub(crate) fn scripts(&self, settings: &Settings, problems: &mut SettingsProblems) -> Vec<PluginSource> {
        let mut packs: IndexMap<&str, (String, BTreeMap<String, String>)> = IndexMap::new();
        for ToolScript { pattern, field, script } in &settings.scripts {
            let (path, function) = script.name.split_once('#').unwrap_or((&script.name, ""));
            let file = path.strip_prefix("./").unwrap_or(path);
            let by = &script.spot.document;
            if let Some(why) = WITHOUT_LUA {
                problems.add_at(&script.spot, ProblemKind::Unsupported, why);
                continue;
            }
            let text = match self.read_beside(by, file) {
                Ok((_, text)) => text,
                Err(error) => {
                    let message = format!("can't read the script {file}: {error}");
                    problems.add_at(&script.spot, ProblemKind::Unreadable, message);
                    continue;
                }
            };
            let (entry, files) = packs.entry(&by.name).or_default();
            files.insert(file.to_owned(), text);
            let module =
                lua_text(&Path::new(file).with_extension("").display().to_string().replace('/', "."));
            let from = if function.is_empty() { String::new() } else { format!("[{}]", lua_text(function)) };
            let missing = lua_text(&format!("{file} returns no function {function}"));
            // One line each, so that a message points to the right one.
            let _ = writeln!(
                entry,
                "sf.tool({}, {{ {field} = assert(require({module}){from}, {missing}) }})",
                lua_text(pattern)
            );
        }
        packs.into_iter().map(|(name, (entry, files))| PluginSource::of_scripts(name, entry, files)).collect()
    }
}

/// Escapes a text as a Lua string literal.
fn lua_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        let _ = write!(quoted, "\\{byte:03}");
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
