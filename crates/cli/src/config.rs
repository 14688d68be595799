//! `streamfmt config` and `streamfmt profile`: what the settings are, where each was said, and what is wrong.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Subcommand;
use streamfmt::config::document::Layer;
use streamfmt::config::tree::Setting;
use streamfmt::config::{Config, schema};
use streamfmt::keys::{self, FILE_KEYS, FILTER_KEYS, KEYS, Key, SWITCH_KEYS, TOOL_KEYS};
use streamfmt::{Engine, Problem, Problems};

use crate::choice::{Choice, build};
use crate::folders::folders;
use crate::message::{OK, RUN_FAILED, USAGE, one_line, tell, tell_problems};
use crate::write_out;

/// Tells what the settings are, where each was said, and what is wrong with them.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the settings that hold, as TOML
    Show {
        /// Only this key, or the keys of this group
        key: Option<String>,
        /// Say where each was said
        #[arg(long)]
        origin: bool,
        /// And what it hides, with the places of that
        #[arg(long, requires = "origin")]
        all: bool,
        #[command(flatten)]
        choice: Choice,
    },
    /// Say what a key is for, what it may be, and what it is now
    Explain {
        /// The key, such as `limits.result-lines`, `tool.Bash.arg` or `switch`
        key: String,
        #[command(flatten)]
        choice: Choice,
    },
    /// Say all that is wrong with files of settings; exit with 1 if anything is
    Check {
        /// The files; without one those that are found, the project's included
        files: Vec<PathBuf>,
    },
    /// Write the JSON Schema of a file of settings, for editors
    Schema,
    /// List the files that are looked for, the lowest first
    Path {
        #[command(flatten)]
        choice: Choice,
    },
}

/// Tells which profiles there are and what they say.
#[derive(Debug, clap::Args)]
pub(crate) struct ProfileCommand {
    #[command(subcommand)]
    command: ProfileSub,
}

#[derive(Debug, Subcommand)]
enum ProfileSub {
    /// List the profiles that can be chosen by name; the one that is used is marked
    List {
        #[command(flatten)]
        choice: Choice,
    },
    /// Write all that a profile says, with what it extends
    Show {
        /// Its name, or the path of a file
        name: String,
        /// Say where each was said
        #[arg(long)]
        origin: bool,
    },
}

impl ConfigCommand {
    /// Does what it says. An error is an exit code whose reason was told.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        match &self.command {
            Command::Show { key, origin, all, choice } => {
                let engine = build(choice.builder())?;
                let settings = engine.resolved().tree.settings();
                let chosen: Vec<_> = settings.iter().filter(|it| is_of(&it.name, key.as_deref())).collect();
                if let (Some(key), true) = (key, chosen.is_empty()) {
                    if !is_known(key) {
                        return Err(unknown(key));
                    }
                    tell(&format!("{key} is not set"));
                    return Err(RUN_FAILED);
                }
                let head = if key.is_none() { about(&engine) } else { String::new() };
                write_out(format!("{head}{}", lines(&chosen, *origin, *all)).trim_end().as_bytes())
            }
            Command::Explain { key, choice } => explain(key, choice),
            Command::Check { files } => check(files),
            Command::Schema => write_out(schema::schema().trim_end().as_bytes()),
            Command::Path { choice } => {
                let engine = build(choice.builder())?;
                write_out(paths(engine.config()).trim_end().as_bytes())
            }
        }
    }
}

impl ProfileCommand {
    /// Does what it says. An error is an exit code whose reason was told.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        match &self.command {
            ProfileSub::List { choice } => {
                let engine = build(choice.builder())?;
                write_out(profiles(&engine).trim_end().as_bytes())
            }
            ProfileSub::Show { name, origin } => {
                let choice = Choice { profile: Some(name.clone()), ..Choice::default() };
                let engine = build(choice.builder())?;
                let settings = engine.resolved().tree.settings();
                let chosen: Vec<_> = settings.iter().collect();
                let text = format!("{}{}", about(&engine), lines(&chosen, *origin, false));
                write_out(text.trim_end().as_bytes())
            }
        }
    }
}

/// Which profile is used and why, as comments.
fn about(engine: &Engine) -> String {
    let choice = engine.choice();
    let made_of = engine.resolved().profiles.join(" < ");
    let mut text = format!("# profile {}, chosen by {}", one_line(&choice.profile.name), choice.by);
    let place = &choice.profile.spot;
    if place.document.layer != Layer::Option {
        let _ = write!(text, " ({})", one_line(&place.to_string()));
    }
    let _ = writeln!(text, "\n# made of: {}\n", one_line(&made_of));
    text
}

/// Settings as lines of TOML.
fn lines(settings: &[&Setting<'_>], origin: bool, all: bool) -> String {
    let said: Vec<String> =
        settings.iter().map(|it| one_line(&format!("{} = {}", it.name, it.leaf.value))).collect();
    let width = said.iter().map(|line| line.chars().count()).filter(|width| *width <= 60).max().unwrap_or(0);
    let mut text = String::new();
    for (setting, said) in settings.iter().zip(&said) {
        if !origin {
            let _ = writeln!(text, "{said}");
            continue;
        }
        let _ = writeln!(text, "{said:<width$}  # {}", one_line(&setting.leaf.spot.to_string()));
        for hidden in setting.hidden.iter().filter(|_| all) {
            let value = one_line(&hidden.value.to_string());
            let _ = writeln!(text, "#   over {value}  # {}", one_line(&hidden.spot.to_string()));
        }
    }
    text
}

/// Whether `name` is the key that is asked for, or in the group.
fn is_of(name: &str, key: Option<&str>) -> bool {
    key.is_none_or(|key| name.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// A key with what is said of it everywhere.
struct Row {
    name: String,
    about: &'static str,
    values: String,
    place: &'static str,
}

/// All keys that may be written in a file.
fn rows() -> Vec<Row> {
    fn of<T>(keys: &'static [Key<T>], prefix: &str, place: &'static str) -> Vec<Row> {
        let row = |key: &Key<T>| Row {
            name: format!("{prefix}{}", key.name),
            about: key.about,
            values: key.form.describe(),
            place,
        };
        keys.iter().map(row).collect()
    }
    let mut rows = of(FILE_KEYS, "", "at the top of a file");
    rows.extend(of(KEYS, "", "in [profile.NAME], or outside of it for all profiles"));
    rows.extend(of(TOOL_KEYS, "tool.NAME.", "in [tool.NAME] or [profile.NAME.tool.NAME]"));
    rows.extend(of(FILTER_KEYS, "filter.", "in [[filter]] or [[profile.NAME.filter]]"));
    rows.extend(of(SWITCH_KEYS, "switch.", "in [[switch]], in your own settings"));
    rows
}

/// The row that a key of a user's means: `tool.Bash.arg` is `tool.NAME.arg`.
fn row_of(key: &str) -> Option<Row> {
    let general = match keys::split_key(key).as_slice() {
        [tool, _, field @ ..] if tool == "tool" && !field.is_empty() => {
            format!("tool.NAME.{}", field.join("."))
        }
        _ => key.to_owned(),
    };
    rows().into_iter().find(|row| row.name == general)
}

fn is_known(key: &str) -> bool {
    row_of(key).is_some()
        || rows().iter().any(|row| is_of(&row.name, Some(key)))
        || key.starts_with("plugin.")
}

/// Tells that there is no such key. Gives the exit code.
fn unknown(key: &str) -> u8 {
    let rows = rows();
    let hint = streamfmt::problem::suggestion(key, rows.iter().map(|row| row.name.as_str()));
    let hint = if hint.starts_with("(one of") { "(see: streamfmt config schema)".to_owned() } else { hint };
    tell(&format!("there is no key \"{key}\" {hint}"));
    USAGE
}

fn explain(key: &str, choice: &Choice) -> Result<u8, u8> {
    let mut text = String::new();
    match row_of(key) {
        Some(row) => {
            let _ = writeln!(text, "{key}: {}\n", row.about);
            let _ = writeln!(text, "  values   {}", row.values);
            let _ = writeln!(text, "  place    {}", row.place);
        }
        None if is_known(key) => {
            for row in rows().iter().filter(|row| is_of(&row.name, Some(key))) {
                let _ = writeln!(text, "{}: {}\n  {}\n", row.name, row.about, row.values);
            }
        }
        None => return Err(unknown(key)),
    }
    let engine = build(choice.builder())?;
    let settings = engine.resolved().tree.settings();
    for setting in settings.iter().filter(|setting| setting.name == key) {
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
    if !settings.iter().any(|setting| setting.name == key)
        && row_of(key).is_some_and(|row| is_of_profile(&row))
    {
        text.push_str("  now      not set\n");
    }
    write_out(text.trim_end().as_bytes())
}

fn is_of_profile(row: &Row) -> bool {
    row.place.contains("[profile.NAME") && row.name != "extends"
}

/// Tells what is wrong with files, or with those that are found.
fn check(files: &[PathBuf]) -> Result<u8, u8> {
    let mut problems = Problems::default();
    if files.is_empty() {
        let builder = Choice::default().builder();
        match builder.build() {
            Ok(engine) => {
                problems.0.extend(engine.warnings().0.iter().cloned());
                take_all(engine.config(), &mut problems);
            }
            Err(found) => problems.0.extend(found.0),
        }
    }
    for file in files {
        if !file.is_file() {
            tell(&format!("{}: no such file", file.display()));
            return Err(USAGE);
        }
        let config = Config::load(&streamfmt::config::Request {
            folders: Some(streamfmt::Folders { system: None, ..folders() }),
            file: Some(file.clone()),
            ..streamfmt::config::Request::default()
        });
        take_all(&config, &mut problems);
    }
    let mut told: Vec<Problem> = Vec::new();
    for problem in problems.0 {
        if !told.contains(&problem) {
            told.push(problem);
        }
    }
    let is_fine = told.is_empty();
    tell_problems(&Problems(told));
    if is_fine { Ok(OK) } else { Err(RUN_FAILED) }
}

/// Takes all that is wrong with the files and with every profile in them.
fn take_all(config: &Config, problems: &mut Problems) {
    let told = config.check();
    problems.0.extend(told.errors.0);
    problems.0.extend(told.warnings.0);
}

fn paths(config: &Config) -> String {
    let mut text = String::new();
    for (layer, path, is_there) in config.looked_for() {
        let note = match config.project().filter(|_| *layer == Layer::Project) {
            Some(project) => format!(" ({})", project.standing.name()),
            None if *is_there => String::new(),
            None => " (not there)".to_owned(),
        };
        let _ = writeln!(text, "{:<8} {}{note}", layer.name(), one_line(&path.display().to_string()));
    }
    text
}

fn profiles(engine: &Engine) -> String {
    let all = engine.config().profiles();
    let width = all.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let used = &engine.choice().profile.name;
    let mut text = String::new();
    for (name, layer, file) in &all {
        let mark = if name == used { '*' } else { ' ' };
        let place = if *layer == Layer::BuiltIn { "built-in" } else { file };
        let _ = writeln!(text, "{mark} {:<width$}  {}", one_line(name), one_line(place));
    }
    text
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
