//! `streamfmt sessions rm` and `prune`.

use std::io::{self, IsTerminal, Write};

use jiff::Timestamp;
use streamfmt_server::store::{SessionFilter, SessionRow, SessionStatus, Store};

use super::{DECLINED, find, refuse, with_progress};
use crate::args::{Consent, PruneArgs, RmArgs};
use crate::exit_code::{OK, USAGE};
use crate::message::{one_line, print, usable};
use crate::output::write_out;

/// The most sessions that are listed before asking for confirmation.
const SHOWN: usize = 20;

impl RmArgs {
    pub(super) fn run(&self, store: &mut Store) -> Result<u8, u8> {
        let mut rows: Vec<SessionRow> = Vec::new();
        for name in &self.ids {
            let row = find(store, name, "session")?.row;
            let advice = match row.status {
                SessionStatus::Running => Some("in progress; end it first"),
                SessionStatus::RunningElsewhere if !self.force => {
                    Some("in progress on another machine, as far as is known; if that isn't so, use --force")
                }
                _ => None,
            };
            if let Some(advice) = advice {
                print(&format!("{}: {advice}", row.id));
                return Err(USAGE);
            }
            if rows.iter().all(|known| known.id != row.id) {
                rows.push(row);
            }
        }
        self.consent.remove(store, &rows, self.force)
    }
}

impl PruneArgs {
    pub(super) fn run(&self, store: &mut Store) -> Result<u8, u8> {
        if self.orphans {
            let orphans = store.orphans().map_err(|error| refuse(&error))?;
            return self.consent.remove(store, &orphans, false);
        }
        let rows = store.mended(|store| store.list(&SessionFilter::default()));
        let mut runs = rows.map_err(|error| refuse(&error))?;
        let recorded = store.mended(|store| store.recorded()).map_err(|error| refuse(&error))?;
        runs.retain(|row| recorded.contains(&row.id));
        let now = Timestamp::now();
        let is_old =
            |row: &SessionRow| self.older.is_none_or(|older| now.duration_since(row.started) > older);
        let runs = runs.into_iter().skip(self.keep.unwrap_or(0));
        let runs: Vec<SessionRow> = runs.filter(|row| is_old(row) && !is_running(row)).collect();
        self.consent.remove(store, &runs, false)
    }
}

fn is_running(row: &SessionRow) -> bool {
    matches!(row.status, SessionStatus::Running | SessionStatus::RunningElsewhere)
}

impl Consent {
    fn remove(&self, store: &mut Store, rows: &[SessionRow], is_forced: bool) -> Result<u8, u8> {
        if rows.is_empty() {
            return write_out(b"nothing to remove");
        }
        if self.dry_run {
            let mut lines = Vec::new();
            for row in rows {
                let found = store.mended(|store| store.removable(&row.id)).map_err(|error| refuse(&error))?;
                lines.push(described(row));
                lines.extend(found.removed.iter().map(|path| format!("  {}", usable(path))));
                lines.extend(found.kept.iter().map(|path| format!("  {} (stays)", usable(path))));
            }
            return write_out(lines.join("\n").as_bytes());
        }
        match if self.yes { Some(true) } else { confirmation(rows) } {
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
        let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
        let removal = with_progress(store, |store, each| store.remove(&ids, is_forced, each))?;
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

fn described(row: &SessionRow) -> String {
    let title = row.title.as_deref().map(|title| format!("  {}", one_line(title)));
    format!("{}{}", row.id, title.unwrap_or_default())
}

/// Asks for confirmation on a terminal. `None` elsewhere.
fn confirmation(rows: &[SessionRow]) -> Option<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    for row in rows.iter().take(SHOWN) {
        let _ = writeln!(io::stderr(), "  {}", described(row));
    }
    if rows.len() > SHOWN {
        let _ = writeln!(io::stderr(), "  … and {} more", rows.len() - SHOWN);
    }
    let what = if rows.len() == 1 {
        "this session with its log".to_owned()
    } else {
        format!("these {} sessions with their logs", rows.len())
    };
    let _ = write!(io::stderr(), "streamfmt: remove {what}? [y/N] ");
    let mut answer = String::new();
    let is_read = io::stdin().read_line(&mut answer).is_ok();
    Some(is_read && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
