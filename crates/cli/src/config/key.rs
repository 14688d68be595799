//! The keys of settings: their purpose, possible values and current values.

use std::fmt::Write;
use std::sync::Arc;

use streamfmt::Engine;
use streamfmt::install::Installed;
use streamfmt::plugin::manifest::Manifest;
use streamfmt::problem::{Suggestion, suggestion};
use streamfmt::settings::keys::{
    FILE_KEYS, FILTER_KEYS, KEYS, Key, SERVE_KEYS, STORE_KEYS, SWITCH_KEYS, TOOL_KEYS,
};
use streamfmt::settings::tree;

use crate::choice::{SettingsChoice, build};
use crate::exit_code::USAGE;
use crate::folders::folders;
use crate::message::{one_line, print};
use crate::output::write_out;

/// A key and its values in all layers.
struct ListedKey {
    name: String,
    about: &'static str,
    values: String,
    place: &'static str,
}

/// All keys that may be written in a file.
fn rows() -> Vec<ListedKey> {
    fn of<T>(keys: &'static [Key<T>], prefix: &str, place: &'static str) -> Vec<ListedKey> {
        let row = |key: &Key<T>| ListedKey {
            name: format!("{prefix}{}", key.name),
            about: key.about,
            values: key.form.describe(),
            place,
        };
        keys.iter().map(row).collect()
    }
    let mut rows = of(FILE_KEYS, "", "at the top level of a file");
    rows.extend(of(&KEYS, "", "in [profile.NAME], or at the top level for all profiles"));
    rows.extend(of(&TOOL_KEYS, "tool.NAME.", "in [tool.NAME] or [profile.NAME.tool.NAME]"));
    rows.extend(of(FILTER_KEYS, "filter.", "in [[filter]] or [[profile.NAME.filter]]"));
    rows.extend(of(SWITCH_KEYS, "switch.", "in [[switch]], in your own settings"));
    rows.extend(of(SERVE_KEYS, "serve.", "in [serve], in your own settings"));
    rows.extend(of(STORE_KEYS, "store.", "in [store], in your own settings"));
    rows
}

/// Returns the row for a key as the user writes it: that of `tool.Bash.arg` is `tool.NAME.arg`.
fn row_of(key: &str) -> Option<ListedKey> {
    let general = general(key);
    rows().into_iter().find(|row| row.name == general)
}

/// Returns the name of the row for a key as the user writes it.
fn general(key: &str) -> String {
    match tree::split_key(key).as_slice() {
        [tool, _, field @ ..] if tool == "tool" && !field.is_empty() => {
            format!("tool.NAME.{}", field.join("."))
        }
        _ => key.to_owned(),
    }
}

pub(super) fn is_known(key: &str) -> bool {
    row_of(key).is_some()
        || rows().iter().any(|row| is_of(&row.name, Some(key)))
        || key.starts_with("plugin.")
}

/// Reports that there is no such key. Returns the exit code.
pub(super) fn unknown(key: &str) -> u8 {
    let rows = rows();
    let last = |row: &&ListedKey| row.name.strip_suffix(key).is_some_and(|group| group.ends_with('.'));
    let nearest = || suggestion(&general(key), rows.iter().map(|row| row.name.as_str()));
    let hint = match rows.iter().find(last).map_or_else(nearest, |row| Suggestion::Nearest(&row.name)) {
        _ if key == "plugin" => "(see: streamfmt config explain plugin.NAME)".to_owned(),
        // There are too many to list them.
        Suggestion::OneOf(_) => "(see: streamfmt config schema)".to_owned(),
        near @ Suggestion::Nearest(_) => near.to_string(),
    };
    print(&format!("unknown key \"{key}\" {hint}"));
    USAGE
}

pub(super) fn explain(key: &str, choice: &SettingsChoice) -> Result<u8, u8> {
    let engine = build(choice.builder())?;
    let mut text = String::new();
    let parts = tree::split_key(key);
    let shown = one_line(key);
    let options = options_of(key, &parts, &engine)?;
    match row_of(key) {
        Some(row) => {
            let _ = writeln!(text, "{shown}: {}\n", row.about);
            let _ = writeln!(text, "  values   {}", row.values);
            let _ = writeln!(text, "  place    {}", row.place);
        }
        None if !options.is_empty() => text.push_str(&options),
        None if is_known(key) && parts[0] != "plugin" => {
            for row in rows().iter().filter(|row| is_of(&row.name, Some(key))) {
                let _ = writeln!(text, "{}: {}\n  {}\n", row.name, row.about, row.values);
            }
        }
        None => return Err(unknown(key)),
    }
    let mut settings = engine.resolved().tree.settings();
    settings.retain(|setting| tree::split_key(&setting.name) == parts);
    for setting in &settings {
        let _ = writeln!(
            text,
            "  now      {}  ({})",
            one_line(&setting.leaf.value.to_string()),
            setting.leaf.spot
        );
        for hidden in &setting.hidden {
            let _ = writeln!(text, "  over     {}  ({})", one_line(&hidden.value.to_string()), hidden.spot);
        }
    }
    let is_option = parts.len() == 3 && parts[0] == "plugin";
    if settings.is_empty() && (is_option || row_of(key).is_some_and(|row| is_of_profile(&row))) {
        text.push_str("  now      not set\n");
    }
    write_out(text.trim_end().as_bytes())
}

/// Describes an option of a plugin, or all of its options. Returns an empty text if `key` is another key. The plugin needn't be in
/// use. The error is an exit code; its reason was reported.
fn options_of(key: &str, parts: &[String], engine: &Engine) -> Result<String, u8> {
    let (name, wanted) = match parts {
        [plugin, name] if plugin == "plugin" => (name, None),
        [plugin, name, option] if plugin == "plugin" => (name, Some(option)),
        _ => return Ok(String::new()),
    };
    let (key, plugin) = (one_line(key), one_line(name));
    let refuse = |message: String| {
        print(&format!("{key}: {message}"));
        USAGE
    };
    let used = engine.plugins().iter().rfind(|active| active.pack.name == *name);
    let pack = match used {
        Some(active) => Arc::clone(&active.pack),
        None => Arc::new(
            Installed::new(&folders())
                .find(engine.files(), name)
                .map_err(|problem| refuse(problem.message))?,
        ),
    };
    let manifest = pack.manifest().and_then(|text| Manifest::parse(text).ok()).unwrap_or_default();
    let options = manifest.options;
    let mut text = String::new();
    match wanted {
        None if options.is_empty() => return Err(refuse("the plugin has no options".to_owned())),
        None => {
            for (option, choice) in &options {
                let (option, about) = (one_line(option), one_line(&choice.about));
                let values = format!("{}, otherwise {}", choice.type_name(), choice.value);
                let _ = writeln!(text, "plugin.{plugin}.{option}: {about}\n  {}\n", one_line(&values));
            }
        }
        Some(option) => {
            let Some(choice) = options.get(option) else {
                let hint = suggestion(option, options.keys().map(String::as_str));
                return Err(refuse(format!("{name} has no option \"{option}\" {hint}")));
            };
            let values = format!("a {}, otherwise {}", choice.type_name(), choice.value);
            let _ = writeln!(text, "{key}: {}\n", one_line(&choice.about));
            let _ = writeln!(text, "  values   {}", one_line(&values));
            let _ = writeln!(text, "  place    in [plugin.{plugin}] or [profile.NAME.plugin.{plugin}]");
            if used.is_none() {
                let _ = writeln!(
                    text,
                    "  used by  no profile here: plugins = [\"{plugin}\"] in a profile uses it"
                );
            }
        }
    }
    Ok(text)
}

fn is_of_profile(row: &ListedKey) -> bool {
    row.place.contains("[profile.NAME") && row.name != "extends"
}

/// Whether `name` is the requested key, or in the requested group.
pub(super) fn is_of(name: &str, key: Option<&str>) -> bool {
    key.is_none_or(|key| name.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// The keys of a profile, for the help: those of limits once, though tools may have their own.
pub(crate) fn reference() -> String {
    let mut text = String::new();
    for row in rows().iter().filter(|row| is_of_profile(row)) {
        let is_script = row.name.contains(".script.");
        if !is_script && row.name != "filter" && !row.name.starts_with("tool.NAME.limits.") {
            let _ = writeln!(text, "  {:<22}  {}", row.name, row.about);
        }
    }
    text.push_str("  tool.NAME.limits.…      the limits above for one tool\n");
    text.push_str("  plugin.NAME.OPTION      an option of a plugin, see `streamfmt plugin show NAME`\n");
    text
}
