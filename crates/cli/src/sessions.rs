//! `streamfmt sessions`: lists, shows and removes recorded runs and imported histories.

mod around;
mod check;
mod disk;
mod find;
mod import;
mod remove;
mod show;
mod stats;
mod stats_table;
mod table;
mod verify;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use jiff::SignedDuration;
use streamfmt::core::redact::{Redaction, Redactor};
use streamfmt::json;
use streamfmt::settings::{Config, Request};
use streamfmt_server::claim;
use streamfmt_server::store::{
    CopyPolicy, FoundSession, PackedLogs, SessionDetails, SessionFilter, SessionRecord, SessionStatus, Store,
    StoreError,
};
use streamfmt_server::{path_text, text_path};

use crate::args::{Args, ListArgs, SessionsArgs, SessionsCommand, StatusName};
use crate::exit_code::{OK, OUTPUT, RUN_FAILED, USAGE};
use crate::folders::{data_folder, folders};
use crate::input::InputSource;
use crate::message::{print, print_problems};
use crate::output::write_out;
use crate::progress::Progress;

/// The number of rows that are listed on a terminal by default.
const ROWS: usize = 30;

impl SessionsArgs {
    /// Runs the command and returns the exit code. The error is an exit code; its reason was reported.
    pub(crate) fn run(self) -> Result<u8, u8> {
        if let SessionsCommand::Stats(stats) = &self.command
            && !stats.paths.is_empty()
        {
            return stats.run_on_files();
        }
        let data = claimed_folder()?;
        if let SessionsCommand::Check { repair } = self.command {
            return check::run(&data, repair);
        }
        let opened = match self.command {
            SessionsCommand::List(_)
            | SessionsCommand::Show(_)
            | SessionsCommand::Find(_)
            | SessionsCommand::Stats(_) => Store::open_to_read(&data),
            _ => Store::open(&data),
        };
        let mut store = opened.map_err(|error| refuse(&error))?;
        // Every command first writes missing rows.
        if !matches!(self.command, SessionsCommand::Reindex) {
            catch_up(&mut store)?;
        }
        let done = match self.command {
            SessionsCommand::List(list) => list.run(&mut store),
            SessionsCommand::Show(show) => show.run(&mut store),
            SessionsCommand::Import(import) => import.run(&mut store),
            SessionsCommand::Find(find) => find.run(&mut store),
            // It ran before the database was opened, which may replace it.
            SessionsCommand::Check { .. } => Ok(OK),
            SessionsCommand::Stats(stats) => stats.run(&mut store),
            SessionsCommand::Reindex => reindex(&mut store),
            SessionsCommand::Compress { older } => compress(&mut store, older),
            SessionsCommand::Verify => verify::run(&mut store),
            SessionsCommand::Rm(rm) => rm.run(&mut store),
            SessionsCommand::Prune(prune) => prune.run(&mut store),
        };
        print_notices(&mut store);
        done
    }
}

/// The data folder. Opening its database refuses one of another user.
fn claimed_folder() -> Result<PathBuf, u8> {
    let data = data_folder()?;
    for folder in claim(&data).unwrap_or_default().iter().filter(|folder| folder.was_shared()) {
        print(&folder.to_string());
    }
    Ok(data)
}

/// Writes the rows of runs that have none.
fn catch_up(store: &mut Store) -> Result<(), u8> {
    let done = with_progress(store, |store, each| store.catch_up_with(each));
    print_notices(store);
    done
}

/// The input of the session that a word names which is no file.
pub(crate) fn input(name: &str, args: &Args) -> Result<InputSource, u8> {
    let mut store = Store::open_to_read(&claimed_folder()?).map_err(|error| refuse(&error))?;
    catch_up(&mut store)?;
    let found = find(&mut store, name, "file and no session");
    let input = found.and_then(|session| show::input(&mut store, &session.record.run.id, args));
    print_notices(&mut store);
    input
}

impl ListArgs {
    fn run(&self, store: &mut Store) -> Result<u8, u8> {
        let is_terminal = io::stdout().is_terminal();
        let folder =
            self.folder.as_ref().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        let filter = SessionFilter {
            status: self.status.map(|status| match status {
                StatusName::Running => SessionStatus::Running,
                StatusName::Done => SessionStatus::Done,
                StatusName::Failed => SessionStatus::Failed,
                StatusName::Interrupted => SessionStatus::Interrupted,
                StatusName::Empty => SessionStatus::Empty,
            }),
            agent: self.agent.clone(),
            folder,
            labels: self.label.clone(),
            since: self.since,
            until: self.until,
            most: self.number.or((is_terminal && !self.json).then_some(ROWS)),
            with_empty: self.all,
        };
        let mut rows = store.mended(|store| store.list(&filter)).map_err(|error| refuse(&error))?;
        if self.redact {
            rows.iter_mut().for_each(mask);
        }
        if self.disk {
            return disk::list(store, &rows, self.json);
        }
        let text = if self.json {
            rows.iter().map(json::line).collect::<Vec<_>>().join("\n")
        } else {
            table::text(&rows, is_terminal.then(terminal_width).flatten())
        };
        if text.is_empty() {
            let any = SessionFilter { most: Some(1), with_empty: true, ..SessionFilter::default() };
            if !self.json && store.list(&any).is_ok_and(|any| any.is_empty()) {
                import::report_importable();
            }
            return Ok(OK);
        }
        write_out(text.as_bytes())
    }
}

/// The width of the terminal, in columns.
fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0))
}

/// What an import copies by the user's settings, of which problems are reported. `is_asked`: an option asks for copies.
pub(crate) fn copy_policy(is_asked: bool) -> CopyPolicy {
    // A project sets nothing of it.
    let request = Request { folders: Some(folders()), no_project: true, ..Request::default() };
    let config = Config::load(&request);
    print_problems(&config.problems().warnings);
    let settings = config.store();
    let default = CopyPolicy::default();
    let most = settings.keep_most.map_or(default.most, |most| most.map(|most| most as u64));
    CopyPolicy { is_on: is_asked || settings.keep.unwrap_or(default.is_on), most }
}

fn compress(store: &mut Store, older: SignedDuration) -> Result<u8, u8> {
    let PackedLogs { logs, before, after } =
        with_progress(store, |store, each| store.compress_logs(older, each))?;
    let text = match logs {
        0 => "no log to compress".to_owned(),
        1 => format!("1 log: {before} bytes, now {after}"),
        _ => format!("{logs} logs: {before} bytes, now {after}"),
    };
    write_out(text.as_bytes())
}

fn reindex(store: &mut Store) -> Result<u8, u8> {
    let count = with_progress(store, |store, each| store.reindex(each))?;
    write_out(format!("{count} runs").as_bytes())
}

/// Runs long work and shows its progress. `work` reports the number of finished items, and of all items. A failure is reported.
fn with_progress<T>(
    store: &mut Store,
    work: impl Fn(&mut Store, &mut dyn FnMut(usize, usize)) -> Result<T, StoreError>,
) -> Result<T, u8> {
    let mut progress = None;
    let mut shown = 0;
    let mut advance = |done: usize, all: usize| {
        if progress.is_none() {
            progress = Progress::of_items(all);
        }
        if let Some(progress) = &mut progress {
            progress.advance(done.saturating_sub(shown));
            shown = done;
        }
    };
    let done = store.mended(|store| work(store, &mut advance));
    drop(progress);
    done.map_err(|error| refuse(&error))
}

/// Returns the session that a name identifies. Problems with the name are reported. `what`: what the name could be.
fn find(store: &mut Store, name: &str, what: &str) -> Result<SessionDetails, u8> {
    match store.mended(|store| store.find(name)).map_err(|error| refuse(&error))? {
        FoundSession::One(session) => Ok(*session),
        FoundSession::None => {
            print(&format!("no {what} \"{name}\" (list them: streamfmt sessions list)"));
            Err(USAGE)
        }
        FoundSession::Several(candidates) => {
            print(&format!("\"{name}\" is the start of several ids:"));
            for candidate in candidates {
                let title = candidate.run.title.map(|title| format!("  {title}")).unwrap_or_default();
                print(&format!("{}{title}", candidate.run.id));
            }
            Err(USAGE)
        }
    }
}

/// Reports why the store can't be used. Returns the exit code.
fn refuse(error: &StoreError) -> u8 {
    print(&error.to_string());
    match error {
        StoreError::Newer(_) => USAGE,
        StoreError::File(_, error) if error.kind() == io::ErrorKind::NotFound => USAGE,
        StoreError::Damaged(_) | StoreError::Full(_) | StoreError::File(..) | StoreError::Database(..) => {
            OUTPUT
        }
    }
}

/// Reports events in the database, such as damage.
pub(crate) fn print_notices(store: &mut Store) {
    for notice in store.take_notices() {
        print(&notice.to_string());
    }
}

/// Masks the foreign text of a session.
fn mask(SessionRecord { run, source, .. }: &mut SessionRecord) {
    let Some(mut redactor) = Redactor::new(&Redaction::everything()) else { return };
    let mut mask = |text: &mut String| {
        let masked = redactor.text(text).into_owned();
        *text = masked;
    };
    [&mut run.title, &mut run.folder, &mut run.agent_session].into_iter().flatten().for_each(&mut mask);
    run.command.iter_mut().for_each(&mut mask);
    run.labels.values_mut().for_each(&mut mask);
    let mut log = path_text(&source.path);
    mask(&mut log);
    source.path = text_path(&log);
}

/// Masks the foreign text in the details of a session.
fn mask_details(session: &mut SessionDetails) {
    mask(&mut session.record);
    let Some(mut redactor) = Redactor::new(&Redaction::everything()) else { return };
    for text in [&mut session.response, &mut session.error].into_iter().flatten() {
        *text = redactor.text(text).into_owned();
    }
}

/// The exit code for work that the user didn't confirm.
const DECLINED: u8 = RUN_FAILED;
