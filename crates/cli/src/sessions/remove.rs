//! `streamfmt sessions rm` and `prune`.

use std::io::{self, IsTerminal, Write};

use jiff::Timestamp;
use streamfmt_server::store::{SessionFilter, SessionRecord, SessionRun, SessionStatus, Store};

use super::{DECLINED, find, refuse, with_progress};
use crate::args::{Consent, PruneArgs, RmArgs};
use crate::exit_code::{OK, USAGE};
use crate::message::{one_line, print, usable};
use crate::output::write_out;

/// The most sessions that are listed before asking for confirmation.
const SHOWN: usize = 20;

impl RmArgs {
    pub(super) fn run(&self, store: &mut Store) -> Result<u8, u8> {
        let mut runs: Vec<SessionRun> = Vec::new();
        for name in &self.ids {
            let run = find(store, name, "session")?.record.run;
            let advice = match run.status {
                SessionStatus::Running => Some("in progress; end it first"),
                SessionStatus::RunningElsewhere if !self.force => {
                    Some("in progress on another machine, as far as is known; if that isn't so, use --force")
                }
                _ => None,
            };
            if let Some(advice) = advice {
                print(&format!("{}: {advice}", run.id));
                return Err(USAGE);
            }
            if runs.iter().all(|known| known.id != run.id) {
                runs.push(run);
            }
        }
        self.consent.remove(store, &runs, RemovedPart::ForGood { is_forced: self.force })
    }
}

impl PruneArgs {
    pub(super) fn run(&self, store: &mut Store) -> Result<u8, u8> {
        if self.orphans {
            let orphans = store.orphans().map_err(|error| refuse(&error))?;
            return self.consent.remove(store, &runs_of(orphans), RemovedPart::Run);
        }
        if self.copies {
            return self.prune_copies(store);
        }
        let rows = store.mended(|store| store.list(&SessionFilter::default()));
        let mut runs = runs_of(rows.map_err(|error| refuse(&error))?);
        let recorded = store.mended(|store| store.recorded()).map_err(|error| refuse(&error))?;
        // Copies are kept on purpose, and so is what they belong to.
        let copied = store.copied_sessions().map_err(|error| refuse(&error))?;
        runs.retain(|run| recorded.contains(&run.id) && copied.iter().all(|id| id.as_str() != run.id));
        let runs = runs.into_iter().skip(self.keep.unwrap_or(0));
        let runs: Vec<SessionRun> = runs.filter(|run| self.is_old(run) && !run.status.is_live()).collect();
        self.consent.remove(store, &runs, RemovedPart::Run)
    }

    /// Removes the copies of sessions that started long ago.
    fn prune_copies(&self, store: &mut Store) -> Result<u8, u8> {
        let filter = SessionFilter { with_empty: true, ..SessionFilter::default() };
        let mut runs = runs_of(store.mended(|store| store.list(&filter)).map_err(|error| refuse(&error))?);
        let copied = store.copied_sessions().map_err(|error| refuse(&error))?;
        runs.retain(|run| self.is_old(run) && copied.iter().any(|id| id.as_str() == run.id));
        let mut gone = 0;
        for id in copied.iter().filter(|id| runs.iter().any(|run| run.id == id.as_str())) {
            gone += usize::from(!store.has_source(id).map_err(|error| refuse(&error))?);
        }
        if !runs.is_empty() {
            print(&format!("{gone} of {} sessions have no other source any more", runs.len()));
        }
        self.consent.remove(store, &runs, RemovedPart::Copies)
    }

    fn is_old(&self, run: &SessionRun) -> bool {
        self.older.is_none_or(|older| Timestamp::now().duration_since(run.started) > older)
    }
}

/// What is removed of a session.
#[derive(Clone, Copy)]
enum RemovedPart {
    /// A run, with its log.
    Run,
    /// Everything, and later imports leave it out.
    ForGood { is_forced: bool },
    /// Its copies, and what was read from histories.
    Copies,
}

fn runs_of(sessions: Vec<SessionRecord>) -> Vec<SessionRun> {
    sessions.into_iter().map(|session| session.run).collect()
}

impl Consent {
    fn remove(&self, store: &mut Store, runs: &[SessionRun], part: RemovedPart) -> Result<u8, u8> {
        if runs.is_empty() {
            return write_out(b"nothing to remove");
        }
        if self.dry_run {
            let mut lines = Vec::new();
            for run in runs {
                let found = store.mended(|store| match part {
                    RemovedPart::Copies => store.removable_copies(&run.id),
                    RemovedPart::Run | RemovedPart::ForGood { .. } => store.removable(&run.id),
                });
                let found = found.map_err(|error| refuse(&error))?;
                lines.push(described(run));
                lines.extend(found.removed.iter().map(|path| format!("  {}", usable(path))));
                lines.extend(found.kept.iter().map(|path| format!("  {} (stays)", usable(path))));
            }
            return write_out(lines.join("\n").as_bytes());
        }
        match if self.yes { Some(true) } else { confirmation(runs) } {
            Some(true) => {}
            Some(false) => {
                print("nothing removed");
                return Ok(DECLINED);
            }
            None => {
                print("nothing removed (without a terminal: --yes; to see what would be removed: --dry-run)");
                return Ok(DECLINED);
            }
        }
        let ids: Vec<String> = runs.iter().map(|run| run.id.clone()).collect();
        let removal = with_progress(store, |store, each| match part {
            RemovedPart::Run => store.remove(&ids, false, each),
            RemovedPart::ForGood { is_forced } => store.remove_for_good(&ids, is_forced, each),
            RemovedPart::Copies => store.remove_copies(&ids, each),
        })?;
        let mut lines = Vec::new();
        for session in &removal.sessions {
            lines.push(format!("removed {}", session.id));
            lines.extend(session.kept.iter().map(|path| format!("  {} stays", usable(path))));
        }
        if removal.leaves_copies {
            print("another program is reading the database: copies may be left in it until the next removal");
        }
        for path in &removal.aside {
            print(&format!("{}: a damaged database, which may still hold what was removed", usable(path)));
        }
        if lines.is_empty() { Ok(OK) } else { write_out(lines.join("\n").as_bytes()) }
    }
}

fn described(run: &SessionRun) -> String {
    let title = run.title.as_deref().map(|title| format!("  {}", one_line(title)));
    format!("{}{}", run.id, title.unwrap_or_default())
}

/// Asks for confirmation on a terminal. `None` elsewhere.
fn confirmation(runs: &[SessionRun]) -> Option<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    for run in runs.iter().take(SHOWN) {
        let _ = writeln!(io::stderr(), "  {}", described(run));
    }
    if runs.len() > SHOWN {
        let _ = writeln!(io::stderr(), "  … and {} more", runs.len() - SHOWN);
    }
    let what = if runs.len() == 1 {
        "this session with its log".to_owned()
    } else {
        format!("these {} sessions with their logs", runs.len())
    };
    let _ = write!(io::stderr(), "streamfmt: remove {what}? [y/N] ");
    let mut answer = String::new();
    let is_read = io::stdin().read_line(&mut answer).is_ok();
    Some(is_read && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
