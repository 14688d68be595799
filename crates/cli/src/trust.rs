//! `streamfmt trust`: shows a project's settings and plugins, and stores the user's decision.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use streamfmt::settings::{Config, Project, Request};
use streamfmt::{Closure, Folders, Problem, Problems, Trust, TrustStatus};

use crate::exit_code::{OK, RUN_FAILED, USAGE};
use crate::folders::folders;
use crate::message::{one_line, print, print_problems, reason};
use crate::output::write_out;

/// The most files that are listed; the rest are counted.
const MOST_FILES: usize = 200;

/// Trusts a project's settings, scripts, themes and plugins as they are now. Without --yes it shows them, and asks
/// on a terminal.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The project's folder, or a folder inside it
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,

    /// Show what changed since the project was trusted
    #[arg(long)]
    diff: bool,

    /// Trust without asking
    #[arg(long)]
    yes: bool,

    /// Never trust this project, whatever it contains
    #[arg(long, conflicts_with_all = ["yes", "diff"])]
    deny: bool,

    /// Forget the decision about this project
    #[arg(long, conflicts_with_all = ["yes", "diff", "deny"])]
    forget: bool,

    /// List the decisions about all projects
    #[arg(long, conflicts_with_all = ["yes", "diff", "deny", "forget", "path"])]
    list: bool,
}

impl TrustArgs {
    /// Runs the command and returns the exit code. The error is an exit code; its reason was reported.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        let folders = folders();
        let trust = Trust::new(folders.state.as_deref(), None);
        if self.list {
            return list(&trust, &folders);
        }
        let path = self.path.clone().unwrap_or_else(|| folders.work.clone());
        let path = path.canonicalize().map_err(|error| {
            print(&format!("can't read {}: {}", path.display(), reason(&error)));
            USAGE
        })?;
        let work = if path.is_dir() { path } else { path.parent().map(Path::to_owned).unwrap_or_default() };
        // Ignore stored decisions, to find all that the project requests and may not have while untrusted.
        let undecided = Folders { work: work.clone(), state: None, ..folders.clone() };
        let config = Config::load(&Request { folders: Some(undecided), ..Request::default() });
        let project = config.project();
        let root = project.map_or(work, |project| project.root.clone());
        let shown = one_line(&folders.shown(&root));
        if self.deny {
            trust.deny(&root).map_err(refuse)?;
            return say(&format!("{shown} is denied: only settings that any project may choose are used"));
        }
        if self.forget {
            let was_known = trust.forget(&root).map_err(refuse)?;
            return say(&if was_known {
                format!("forgot {shown}")
            } else {
                format!("there is no decision about {shown}")
            });
        }
        let Some(project) = project else {
            print(&format!("no streamfmt.toml or .streamfmt/config.toml in {shown} or its parent folders"));
            return Err(USAGE);
        };
        self.judge(&trust, &folders, project)
    }

    /// Shows a project, and trusts it on request.
    fn judge(&self, trust: &Trust, folders: &Folders, project: &Project) -> Result<u8, u8> {
        let closure = project.closure().map_err(refuse)?;
        let status = trust.status(&closure).map_err(refuse)?;
        let shown = one_line(&folders.shown(&closure.root));
        let mut text = String::new();
        if self.diff {
            let old =
                trust.entry(&closure.root).map_err(refuse)?.and_then(|entry| entry.files).unwrap_or_default();
            text.push_str(&changes(&closure, &old));
        } else {
            text.push_str(&described(&closure, project, &shown));
        }
        let state = match status {
            TrustStatus::Trusted => "trusted in its current state",
            TrustStatus::Unknown => "not trusted yet",
            TrustStatus::Changed => "changed since it was trusted (--diff shows how)",
            TrustStatus::Denied => "denied",
        };
        // The message covers everything that is trusted together.
        if status == TrustStatus::Trusted || !self.yes {
            text.push_str(state);
        }
        say(text.trim_end())?;
        if status == TrustStatus::Trusted {
            return Ok(OK);
        }
        print_problems(&Problems(project.problems.clone()));
        if !self.yes && !is_confirmed() {
            let place = self.path.as_deref().map_or_else(String::new, |path| format!(" {}", path.display()));
            print(&format!(
                "no decision made; to trust it: streamfmt trust --yes{place}   in a pipeline: STREAMFMT_TRUST={}",
                closure.hash()
            ));
            return Ok(RUN_FAILED);
        }
        trust.allow(&closure).map_err(refuse)?;
        say(&format!("{shown} is trusted until one of these files changes"))
    }
}

/// Asks on a terminal, and nowhere else: standard input may be a stream.
fn is_confirmed() -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    let _ = io::stderr().write_all(b"streamfmt: trust these files? [y/N] ");
    let mut answer = String::new();
    let is_read = io::stdin().read_line(&mut answer).is_ok();
    is_read && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

fn say(text: &str) -> Result<u8, u8> {
    write_out(text.as_bytes())
}

/// Reports why the command is refused.
fn refuse(problem: Problem) -> u8 {
    print_problems(&Problems::from(problem));
    USAGE
}

/// Describes what would be trusted: the files, the settings that they request, and their hash.
fn described(closure: &Closure, project: &Project, shown: &str) -> String {
    let mut text = format!("{shown}\n\nfiles\n");
    // Writing to a string doesn't fail.
    for (name, bytes) in closure.files.iter().take(MOST_FILES) {
        let _ = writeln!(text, "  {:>9}  {}", size(bytes.len()), one_line(name));
    }
    if closure.files.len() > MOST_FILES {
        let _ = writeln!(text, "  and {} more", closure.files.len() - MOST_FILES);
    }
    if !project.refusals.is_empty() {
        text.push_str("\nrequests settings that only a trusted project may set\n");
        for refusal in &project.refusals {
            // The key may be a script of the project rather than a setting.
            let key = one_line(&refusal.key);
            let place = one_line(&format!("{}:{}", project.file, refusal.line));
            let _ = if closure.files.contains_key(&refusal.key) {
                writeln!(text, "  {key}  (run with every session)")
            } else {
                writeln!(text, "  {place}  {key}")
            };
        }
    }
    let scripts = closure
        .files
        .keys()
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "lua" || end == "luau"));
    match scripts.count() {
        0 => {}
        1 => text.push_str("\n1 of its files is a script: it runs without access to files, network or clock, and can change what is shown\n"),
        count => {
            let _ = writeln!(
                text,
                "\n{count} of its files are scripts: they run without access to files, network or clock, and can change what is shown"
            );
        }
    }
    let _ = write!(text, "\nsha256 {}\n", closure.hash());
    text
}

fn size(bytes: usize) -> String {
    if bytes < 10_000 { format!("{bytes} B") } else { format!("{} KB", bytes / 1000) }
}

fn changes(closure: &Closure, old: &BTreeMap<String, std::sync::Arc<[u8]>>) -> String {
    let changes = closure.changes(old);
    if changes.is_empty() { String::new() } else { format!("{}\n\n", changes.trim_end()) }
}

fn list(trust: &Trust, folders: &Folders) -> Result<u8, u8> {
    let (entries, problems) = trust.entries();
    print_problems(&Problems(problems));
    if entries.is_empty() {
        return say("no project is trusted or denied");
    }
    let mut text = String::new();
    for entry in entries {
        let standing = if entry.files.is_some() { "trusted" } else { "denied " };
        let is_gone = if entry.root.is_dir() { "" } else { "  (no longer exists)" };
        let count = match entry.files.as_ref().map(BTreeMap::len) {
            None => String::new(),
            Some(1) => "  1 file".to_owned(),
            Some(count) => format!("  {count} files"),
        };
        let _ = writeln!(text, "{standing}  {}{count}{is_gone}", one_line(&folders.shown(&entry.root)));
    }
    say(text.trim_end())
}
