//! `streamfmt plugin`: creates, checks, tests, installs and lists plugins.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use streamfmt::authoring::examine::{Examined, examine};
use streamfmt::authoring::starter;
use streamfmt::install::{Installation, Installed};
use streamfmt::plugin::manifest::Manifest;
use streamfmt::plugin::source::PluginLayer;
use streamfmt::{Files, Folders, Problem, ProblemKind, Problems};

use crate::choice::{SettingsChoice, build};
use crate::exit_code::{OUTPUT, RUN_FAILED, USAGE};
use crate::folders::folders;
use crate::golden;
use crate::message::{one_line, print, print_problems, unwritten};
use crate::output::write_out;

/// Creates, checks, tests, installs and lists plugins.
#[derive(Debug, clap::Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {
    /// Create a plugin with a passing test
    New {
        /// The folder to create; the plugin gets its name
        #[arg(value_name = "NAME")]
        folder: PathBuf,
        /// Create a native plugin in Rust
        #[arg(long)]
        native: bool,
    },
    /// Check a plugin; exit with 1 if there is a problem
    Check {
        /// The plugin's folder, or a Lua file
        #[arg(default_value = ".")]
        path: PathBuf,
        /// Load the library of a native plugin (its code has all your rights)
        #[arg(long)]
        native: bool,
    },
    /// Run the golden cases in the plugin's `tests` folder; also make each plugin call fail once, to verify that nothing
    /// else is affected
    #[command(after_help = golden::CODES)]
    Test(golden::CheckArgs),
    /// Write the type definitions of the Lua interface for editors
    Types {
        /// The folder to write to
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// List the plugins that can be chosen by name, and those in use
    List {
        #[command(flatten)]
        choice: SettingsChoice,
    },
    /// Show what a plugin declares and registers
    Show {
        /// Its name, or a path (with a `/`)
        name: String,
    },
    /// Install a plugin
    Add {
        /// A folder or a Lua file
        source: PathBuf,
        /// Replace an installed plugin of this name even if its files were edited
        #[arg(long)]
        discard: bool,
        /// Install a native plugin: its code has all your rights once it is used, and nothing contains it
        #[arg(long)]
        native: bool,
    },
    /// Remove an installed plugin
    Remove {
        /// The name of the plugin
        name: String,
    },
    /// Make an installed or built-in plugin your own, to change it
    Fork {
        /// The name of the plugin
        name: String,
    },
}

impl PluginArgs {
    /// Runs the command and returns the exit code. The error is an exit code; its reason was reported.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        let folders = folders();
        let installed = Installed::new(&folders);
        match &self.command {
            PluginCommand::New { folder, native } => new(folder, *native),
            PluginCommand::Check { path, native } => check(path, *native),
            PluginCommand::Test(check) => check.run_for_plugin(),
            PluginCommand::Types { folder } => types(folder),
            PluginCommand::List { choice } => list(&installed, choice),
            PluginCommand::Show { name } => show(&installed, &folders, name),
            PluginCommand::Add { source, discard, native } => {
                let added = installed.add(source, *discard, *native).map_err(refuse)?;
                say(&added_text(&added, &folders))
            }
            PluginCommand::Remove { name } => {
                installed.remove(name).map_err(refuse)?;
                say(&format!("removed {}", one_line(name)))
            }
            PluginCommand::Fork { name } => {
                let folder = installed.fork(name).map_err(refuse)?;
                say(&format!("copied {} to {}", one_line(name), shown(&folders, &folder)))
            }
        }
    }
}

/// Reports why the command is refused.
fn refuse(problem: Problem) -> u8 {
    print_problems(&Problems::from(problem));
    USAGE
}

fn say(text: &str) -> Result<u8, u8> {
    write_out(text.as_bytes())
}

fn shown(folders: &Folders, path: &Path) -> String {
    one_line(&folders.shown(path))
}

fn new(folder: &Path, native: bool) -> Result<u8, u8> {
    let create = if native { starter::create_native } else { starter::create };
    let files = create(folder).map_err(|problems| {
        print_problems(&problems);
        USAGE
    })?;
    let folder = one_line(&folder.display().to_string());
    let mut text = String::new();
    for file in files {
        let _ = writeln!(text, "{folder}/{file}");
    }
    let how = if native { "cargo build && streamfmt plugin test --native" } else { "streamfmt plugin test" };
    let _ = write!(text, "\nnow: cd {folder} && {how}");
    say(&text)
}

fn check(path: &Path, native: bool) -> Result<u8, u8> {
    if !path.exists() {
        return Err(refuse(Problem::of(
            ProblemKind::Unreadable,
            path.display().to_string(),
            "no such file or folder",
        )));
    }
    let Examined { manifest, hooks, is_left_out, cases, problems, flaws } =
        examine(&Files::default(), &folders(), path, native);
    let count = problems.len() + flaws.len();
    print_problems(&Problems(problems));
    print_problems(&Problems(flaws));
    if count > 0 {
        return Ok(RUN_FAILED);
    }
    let name = manifest.map_or_else(
        || path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        |manifest| named(&manifest.name, manifest.version.as_deref()),
    );
    let cases = if path.is_dir() { format!(", {}", plural(cases, "golden case")) } else { String::new() };
    let what = if is_left_out {
        "native code, which was not loaded (--native loads it)".to_owned()
    } else {
        format!("{} registered", plural(hooks.len(), "thing"))
    };
    say(&format!("{} is valid: {what}{cases}", one_line(&name)))
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn named(name: &str, version: Option<&str>) -> String {
    version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}"))
}

fn types(folder: &Path) -> Result<u8, u8> {
    let mut text = String::new();
    for (name, content) in starter::editor_files() {
        let path = folder.join(name);
        fs::write(&path, content).map_err(|error| {
            print(&unwritten(&path, &error));
            OUTPUT
        })?;
        let _ = writeln!(text, "{}", one_line(&path.display().to_string()));
    }
    say(text.trim_end())
}

fn list(installed: &Installed, choice: &SettingsChoice) -> Result<u8, u8> {
    let engine = build(choice.builder())?;
    let mut rows: Vec<[String; 6]> = Vec::new();
    let mut row = |is_used: bool, cells: [String; 6]| {
        let [name, rest @ ..] = cells.map(|cell| one_line(&cell));
        let mark = if is_used { '*' } else { ' ' };
        let [version, kind, origin, by, about] = rest;
        rows.push([format!("{mark} {name}"), version, kind, origin, by, about]);
    };
    for plugin in installed.list(&Files::default()) {
        let is_meant = installed.origin(&plugin.name) == Some(plugin.origin);
        let used = engine
            .plugins()
            .iter()
            .find(|active| active.origin == Some(plugin.origin) && active.pack.name == plugin.name);
        let kind = kind(plugin.manifest.as_ref().is_ok_and(Manifest::is_native));
        let (version, about) = match plugin.manifest {
            Err(message) => (None, format!("can't be loaded: {message}")),
            Ok(manifest) if !is_meant => (manifest.version, "overridden by the one above".to_owned()),
            Ok(manifest) => (manifest.version, manifest.about.unwrap_or_default()),
        };
        let by = used.map(|active| active.by.clone()).unwrap_or_default();
        let origin = plugin.origin.name().to_owned();
        row(used.is_some(), [plugin.name, version.unwrap_or_default(), kind, origin, by, about]);
    }
    for active in engine.plugins().iter().filter(|active| active.origin.is_none()) {
        let pack = &active.pack;
        let manifest = pack.manifest().and_then(|text| Manifest::parse(text).ok()).unwrap_or_default();
        let about = manifest.about.unwrap_or_default();
        let version = manifest.version.unwrap_or_default();
        let origin = if active.layer == PluginLayer::Pack { "path" } else { active.layer.name() };
        row(
            true,
            [pack.name.clone(), version, kind(pack.is_native()), origin.to_owned(), active.by.clone(), about],
        );
    }
    if let Some(project) = engine.config().project() {
        let is_plugin = |key: &str| key == "plugins" || key.starts_with(".streamfmt/");
        for refusal in project.refusals.iter().filter(|refusal| is_plugin(&refusal.key)) {
            let by = if refusal.key == "plugins" {
                format!("{}:{}", project.file, refusal.line)
            } else {
                String::new()
            };
            let about = format!("{}, so it is not used (see: streamfmt trust)", project.status.name());
            row(false, [refusal.key.clone(), String::new(), String::new(), "project".to_owned(), by, about]);
        }
    }
    say(&columns(&rows))
}

/// The kind of a plugin, as lists show it.
fn kind(is_native: bool) -> String {
    if is_native { "native".to_owned() } else { "lua".to_owned() }
}

/// Aligns the cells of rows. Empty columns are left out.
fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(&widths).filter(|(_, width)| **width > 0) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.truncate(text.trim_end().len());
    text
}

fn show(installed: &Installed, folders: &Folders, name: &str) -> Result<u8, u8> {
    let files = Files::default();
    let mut text = String::new();
    let is_path = name.contains(['/', std::path::MAIN_SEPARATOR]) || name == ".";
    let (examined, listed) = if is_path {
        (examine(&files, folders, Path::new(name), false), None)
    } else {
        let pack = installed.find(&files, name).map_err(refuse)?;
        let origin = installed.origin(name);
        let listed =
            installed.list(&files).into_iter().find(|it| it.name == name && Some(it.origin) == origin);
        (Examined::of(pack), listed)
    };
    if !examined.problems.is_empty() {
        print_problems(&Problems(examined.problems));
        return Ok(USAGE);
    }
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<9} {}", one_line(value));
        }
    };
    let manifest = examined.manifest.unwrap_or_default();
    put("name", if manifest.name.is_empty() { name } else { &manifest.name });
    put("version", manifest.version.as_deref().unwrap_or_default());
    put("about", manifest.about.as_deref().unwrap_or_default());
    put("license", manifest.license.as_deref().unwrap_or_default());
    put("kind", &kind(manifest.is_native() || manifest.name.is_empty() && examined.is_left_out));
    put("tools", &manifest.tools.join(", "));
    if let Some(listed) = &listed {
        put("home", listed.origin.name());
        put("folder", &listed.folder.as_deref().map(|it| folders.shown(it)).unwrap_or_default());
        put("source", listed.source.as_deref().unwrap_or_default());
        put("sha256", listed.hash.as_deref().unwrap_or_default());
    }
    options(&manifest, &mut text);
    if !examined.hooks.is_empty() {
        text.push_str("\nregisters\n");
        let rows: Vec<[String; 4]> = examined
            .hooks
            .iter()
            .map(|hook| {
                let place =
                    hook.place.as_ref().map_or_else(String::new, |(file, line)| format!("{file}:{line}"));
                [format!("  {}", hook.what), hook.fields.join(", "), place, String::new()]
                    .map(|it| one_line(&it))
            })
            .collect();
        let _ = writeln!(text, "{}", columns(&rows));
    }
    say(text.trim_end())
}

fn options(manifest: &Manifest, text: &mut String) {
    if manifest.options.is_empty() {
        return;
    }
    text.push_str("\noptions\n");
    let row = |(name, choice): (&String, &streamfmt::plugin::manifest::PluginOption)| {
        [
            format!("  {name}"),
            choice.type_name().to_owned(),
            format!("= {}", choice.value),
            choice.about.clone(),
        ]
        .map(|cell| one_line(&cell))
    };
    let _ = writeln!(text, "{}", columns(&manifest.options.iter().map(row).collect::<Vec<_>>()));
}

fn added_text(added: &Installation, folders: &Folders) -> String {
    let name = one_line(&named(&added.name, added.version.as_deref()));
    let how = match &added.before {
        None => format!("added {name}"),
        Some(None) => format!("replaced {name}"),
        Some(Some(before)) => format!("replaced {} {} by {name}", added.name, one_line(before)),
    };
    let folder = shown(folders, &added.folder);
    format!(
        "{how}: {} in {folder}, sha256 {}\nto use it, add to a profile: plugins = [\"{}\"]",
        plural(added.files, "file"),
        added.hash,
        added.name
    )
}
