//! `streamfmt sessions import`: adds the agents' own histories.

use std::path::{Path, PathBuf};

use streamfmt::core::figures::count_of;
use streamfmt_server::store::{
    AgentCleanup, AgentFolder, AgentSessions, CopyPolicy, ImportCounts, ImportReport, ImportStep,
    ImportWatch, Store,
};

use super::{copy_policy, refuse, with_progress};
use crate::args::ImportArgs;
use crate::exit_code::{OK, OUTPUT, USAGE};
use crate::folders::{agent_folders, data_folder, folders};
use crate::message::{print, reason};
use crate::output::write_out;
use crate::signal::{SignalWait, Signals};

/// The days from which on sessions count as kept by their agent.
const LASTING: u64 = 3650;

impl ImportArgs {
    pub(super) fn run(self, store: &mut Store) -> Result<u8, u8> {
        let policy = copy_policy(self.keep);
        store.set_copy_policy(policy);
        let watch = if self.watch { Some(begin_watch(policy)?) } else { None };
        let paths = if self.paths.is_empty() { existing_folders() } else { self.paths };
        let code = if paths.is_empty() { OK } else { import(store, &paths, policy.is_on)? };
        match watch {
            Some(watch) => stay(watch),
            None => Ok(code),
        }
    }
}

/// Prepares to import what appears later. Only one process does that.
fn begin_watch(policy: CopyPolicy) -> Result<ImportWatch, u8> {
    let mut store = Store::open(&data_folder()?).map_err(|error| refuse(&error))?;
    store.set_copy_policy(policy);
    ImportWatch::begin(store).map_err(|error| refuse(&error))?.ok_or_else(|| {
        print("another process imports what appears, such as streamfmt serve (to import now: streamfmt sessions import)");
        USAGE
    })
}

/// Imports what appears, until a signal arrives.
fn stay(mut watch: ImportWatch) -> Result<u8, u8> {
    let mut signals = Signals::catch().map_err(|error| {
        print(&format!("can't wait for signals: {}", reason(&error)));
        OUTPUT
    })?;
    let mut wait = SignalWait { signals: &mut signals, watch_output: false };
    watch.run(&mut wait, &mut |report| match report {
        ImportReport::Imported(ImportCounts { new, changed, .. }) => {
            // If nobody reads it, it goes on.
            let _ = write_out(format!("{new} new, {changed} changed").as_bytes());
        }
        ImportReport::Notice(notice) => print(&notice.to_string()),
        ImportReport::Failed(why) => print(&why),
    });
    Ok(OK)
}

/// The folders of all known agents that exist. If there is none, reports which were looked for.
fn existing_folders() -> Vec<PathBuf> {
    let known = agent_folders();
    let there: Vec<PathBuf> =
        known.iter().filter(|folder| folder.path.is_dir()).map(|folder| folder.path.clone()).collect();
    if there.is_empty() {
        let names: Vec<String> = known.iter().map(|folder| shown(&folder.path)).collect();
        print(&format!("no agent keeps sessions here (looked for {})", names.join(", ")));
    }
    there
}

/// Reports which agents will delete sessions of the imported folders.
fn report_cleanup(paths: &[PathBuf]) {
    let real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let is_imported = |folder: &AgentFolder| {
        let Ok(folder) = folder.path.canonicalize() else { return false };
        real.iter().any(|path| path.is_dir() && (path.starts_with(&folder) || folder.starts_with(path)))
    };
    for folder in agent_folders().iter().filter(|folder| is_imported(folder)) {
        if let Some(AgentCleanup { days, settings, key }) = folder.cleanup().filter(|it| it.days < LASTING) {
            let days = count_of(days, "day", "days");
            let settings = shown(&settings);
            print(&format!(
                "{} deletes its sessions after {days} ({key} in {settings}); only their entries here remain (to keep copies: streamfmt sessions import --keep)",
                folder.agent
            ));
        }
    }
}

/// Where there are no sessions, reports which agents keep some, and how to add them.
pub(super) fn report_importable() {
    let counts = AgentSessions::in_folders(&agent_folders());
    if !counts.is_empty() {
        print("no sessions yet; to add those of agents: streamfmt sessions import");
    }
    for count in counts {
        print(&format!("{count} in {}", shown(&count.folder.path)));
    }
}

/// A path for messages, with `~` for the home directory.
fn shown(path: &Path) -> String {
    folders().shown(path)
}

/// `keeps`: whether the files of all sessions are copied.
fn import(store: &mut Store, paths: &[PathBuf], keeps: bool) -> Result<u8, u8> {
    let counts = with_progress(store, |store, each| {
        store.import(paths, |step| {
            if let ImportStep::Reading(done, all) = step {
                each(done, all);
            }
        })
    });
    let ImportCounts { new, changed, unchanged, others, removed, copied, damaged } = counts?;
    let others = match others {
        0 => String::new(),
        1 => "; 1 file is no session of a known agent".to_owned(),
        _ => format!("; {others} files are no sessions of a known agent"),
    };
    let removed = match removed {
        0 => String::new(),
        1 => "; 1 session that was removed is left out".to_owned(),
        _ => format!("; {removed} sessions that were removed are left out"),
    };
    let copied = match copied {
        0 => String::new(),
        1 => "; 1 file copied".to_owned(),
        _ => format!("; {copied} files copied"),
    };
    let text = format!("{new} new, {changed} changed, {unchanged} unchanged{others}{removed}{copied}");
    write_out(text.as_bytes())?;
    if !keeps {
        report_cleanup(paths);
    }
    // As reading them does.
    if damaged > 0 { Err(USAGE) } else { Ok(OK) }
}
