//! `streamfmt config` and `streamfmt profile`: the settings, where each is defined, and problems in them.

mod key;

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use streamfmt::settings::document::SettingsLayer;
use streamfmt::settings::tree::KeySetting;
use streamfmt::settings::{Config, schema};
use streamfmt::{Engine, Problems};

use crate::choice::{SettingsChoice, build};
use crate::exit_code::{OK, OUTPUT, RUN_FAILED, USAGE};
use crate::folders::folders;
use crate::message::{one_line, print, print_problems, reason};
use crate::output::write_out;
use key::{explain, is_known, is_of, unknown};

pub(crate) use key::reference;

/// The file that `config init` writes.
const STARTER: &str = include_str!("config/starter.toml");

/// Shows settings and where each is defined, and checks settings files.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Write a file of settings to begin with, in which everything is commented out
    Init {
        /// The file, which must not be there yet; without one it is your own
        file: Option<PathBuf>,
    },
    /// Print the effective settings as TOML
    Show {
        /// Only this key, or the keys of this group
        key: Option<String>,
        /// Show where each is defined
        #[arg(long)]
        origin: bool,
        /// Also show overridden values, and where they are defined
        #[arg(long, requires = "origin")]
        all: bool,
        #[command(flatten)]
        choice: SettingsChoice,
    },
    /// Explain a key: its meaning, allowed values and current value
    Explain {
        /// The key, such as `limits.result-lines`, `tool.Bash.arg` or `switch`
        key: String,
        #[command(flatten)]
        choice: SettingsChoice,
    },
    /// Check settings files; exit with 1 if there is a problem
    Check {
        /// The files; by default all that apply here, the project's included
        files: Vec<PathBuf>,
    },
    /// Print the JSON Schema of settings files, for editors
    Schema,
    /// List the settings files that are looked for, lowest precedence first
    Path {
        #[command(flatten)]
        choice: SettingsChoice,
    },
}

/// Lists and shows profiles.
#[derive(Debug, clap::Args)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    command: ProfileCommand,
}

#[derive(Debug, Subcommand)]
enum ProfileCommand {
    /// List the profiles that can be chosen by name; the current one is marked
    List {
        #[command(flatten)]
        choice: SettingsChoice,
    },
    /// Print all settings of a profile, including those it inherits
    Show {
        /// The name of the profile, or the path of a file
        name: String,
        /// Show where each is defined
        #[arg(long)]
        origin: bool,
    },
}

impl ConfigArgs {
    /// Runs the command. The error is an exit code; its reason was reported.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        match &self.command {
            ConfigCommand::Init { file } => init(file.as_deref()),
            ConfigCommand::Show { key, origin, all, choice } => {
                let engine = build(choice.builder())?;
                let settings = engine.resolved().tree.settings();
                let chosen: Vec<_> = settings.iter().filter(|it| is_of(&it.name, key.as_deref())).collect();
                if let (Some(key), true) = (key, chosen.is_empty()) {
                    if !is_known(key) {
                        return Err(unknown(key));
                    }
                    print(&format!("{key} is not set"));
                    return Err(RUN_FAILED);
                }
                let head = if key.is_none() { about(&engine) } else { String::new() };
                write_out(format!("{head}{}", lines(&chosen, *origin, *all)).trim_end().as_bytes())
            }
            ConfigCommand::Explain { key, choice } => explain(key, choice),
            ConfigCommand::Check { files } => check(files),
            ConfigCommand::Schema => write_out(schema::schema().trim_end().as_bytes()),
            ConfigCommand::Path { choice } => {
                let engine = build(choice.builder())?;
                write_out(paths(engine.config()).trim_end().as_bytes())
            }
        }
    }
}

impl ProfileArgs {
    /// Runs the command. The error is an exit code; its reason was reported.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        match &self.command {
            ProfileCommand::List { choice } => {
                let engine = build(choice.builder())?;
                write_out(profiles(&engine).trim_end().as_bytes())
            }
            ProfileCommand::Show { name, origin } => {
                let choice = SettingsChoice { profile: Some(name.clone()), ..SettingsChoice::default() };
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
    if place.document.layer != SettingsLayer::Option {
        let _ = write!(text, " ({})", one_line(&place.to_string()));
    }
    let _ = writeln!(text, "\n# extends: {}\n", one_line(&made_of));
    text
}

/// Settings as lines of TOML.
fn lines(settings: &[&KeySetting<'_>], origin: bool, all: bool) -> String {
    let lines: Vec<String> =
        settings.iter().map(|it| one_line(&format!("{} = {}", it.name, it.leaf.value))).collect();
    let width = lines.iter().map(|line| line.chars().count()).filter(|width| *width <= 60).max().unwrap_or(0);
    let mut text = String::new();
    for (setting, line) in settings.iter().zip(&lines) {
        if !origin {
            let _ = writeln!(text, "{line}");
            continue;
        }
        let _ = writeln!(text, "{line:<width$}  # {}", one_line(&setting.leaf.spot.to_string()));
        for hidden in setting.hidden.iter().filter(|_| all) {
            let value = one_line(&hidden.value.to_string());
            let _ = writeln!(text, "#   over {value}  # {}", one_line(&hidden.spot.to_string()));
        }
    }
    text
}

/// Writes a commented file of settings. An existing file is left unchanged.
fn init(file: Option<&Path>) -> Result<u8, u8> {
    let folders = folders();
    let own = || Some(folders.config.as_ref()?.join("config.toml"));
    let Some(path) = file.map(Path::to_owned).or_else(own) else {
        print("no folder for your settings: the home directory is unknown");
        return Err(USAGE);
    };
    let shown = folders.shown(&path);
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
        // Nobody's settings are lost, not even to a second run at the same time.
        let mut file = File::options().write(true).create_new(true).open(&path)?;
        file.write_all(STARTER.as_bytes())
    });
    match written {
        Ok(()) => write_out(format!("wrote {}", one_line(&shown)).as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            print(&format!("{shown}: already exists (streamfmt config show --origin shows its settings)"));
            Err(USAGE)
        }
        Err(error) => {
            print(&format!("can't write {shown}: {}", reason(&error)));
            Err(OUTPUT)
        }
    }
}

/// Reports problems in these files, or in those that are found.
fn check(files: &[PathBuf]) -> Result<u8, u8> {
    let mut problems = Problems::default();
    if files.is_empty() {
        let builder = SettingsChoice::default().builder();
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
            print(&format!("{}: no such file", file.display()));
            return Err(USAGE);
        }
        let config = Config::load(&streamfmt::settings::Request {
            folders: Some(streamfmt::Folders { system: None, ..folders() }),
            file: Some(file.clone()),
            ..streamfmt::settings::Request::default()
        });
        take_all(&config, &mut problems);
    }
    problems.sort();
    print_problems(&problems);
    let is_fine = problems.0.is_empty();
    if is_fine { Ok(OK) } else { Err(RUN_FAILED) }
}

/// Collects the problems of the files and of every profile in them.
fn take_all(config: &Config, problems: &mut Problems) {
    let found = config.check();
    problems.0.extend(found.errors.0);
    problems.0.extend(found.warnings.0);
}

fn paths(config: &Config) -> String {
    let mut text = String::new();
    for (layer, path, is_there) in config.looked_for() {
        let note = match config.project().filter(|_| *layer == SettingsLayer::Project) {
            Some(project) => format!(" ({})", project.status.name()),
            None if *is_there => String::new(),
            None => " (missing)".to_owned(),
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
        let place = if *layer == SettingsLayer::BuiltIn { "built-in" } else { file };
        let _ = writeln!(text, "{mark} {:<width$}  {}", one_line(name), one_line(place));
    }
    text
}
