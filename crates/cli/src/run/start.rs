//! Arguments → a recorder and an output; the agent's end → an exit code.

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::rc::Rc;

use jiff::Timestamp;
use streamfmt::Files;
use streamfmt_server::watchdog::Watchdog;
use streamfmt_server::{
    CostLimits, RunEnd, RunId, RunRecorder, SessionPaths, SessionStatus, StartFailure, SyncPolicy, claim,
};

use super::command::{AgentCommand, base_name};
use super::id_file::IdFile;
use super::row::RunRow;
use crate::also;
use crate::args::{RunArgs, SyncWhen};
use crate::assets::Assets;
use crate::exit_code::{INTERNAL, NOT_EXECUTABLE, NOT_FOUND, OUTPUT, RUN_FAILED, SIGNAL, USAGE};
use crate::folders::data_folder;
use crate::format::{FormatRun, RunEngines};
use crate::input::{InputSource, OpenInput};
use crate::message::{print, reason, usable};
use crate::notify::Notifier;
use crate::output_paths::RunFiles;
use crate::recorded::RecordedInput;
use crate::signal::{Signals, is_hangup_ignored_for_certain};

/// The size reported to the agent without a terminal.
const WINDOW: (usize, usize) = (80, 24);

/// Runs the agent and returns the exit code.
pub(crate) fn run(mut options: RunArgs) -> Result<u8, u8> {
    let refuse = |message: &str| {
        print(message);
        USAGE
    };
    if options.args.follow || options.args.watch {
        return Err(refuse("run always shows the agent live; it doesn't take --follow or --watch"));
    }
    options.args.native = options.allow_native;
    let words = std::mem::take(&mut options.args.files);
    let mut command: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let agent = AgentCommand::of(&command, options.agent.as_deref()).map_err(|message| refuse(&message))?;
    if let Some(agent) = &agent {
        // Errors in the command are reported before anything is opened.
        agent.complete(&mut command.clone(), false).map_err(|message| refuse(&message))?;
    }
    let data = data_folder()?;
    let narrowed = claim(&data).map_err(|foreign| {
        refuse(&format!(
            "{foreign}; a data folder is for one user: set XDG_DATA_HOME to a folder of your own"
        ))
    })?;
    for folder in narrowed {
        print(&folder.to_string());
    }
    // It takes a moment to start, in which the settings are read.
    let watchdog = Watchdog::start();
    let args = &options.args;
    let capabilities = args.capabilities();
    let assets = Assets::wanted(args);
    let engine = crate::checked(args, crate::engine(args, &capabilities, assets.as_ref(), Files::default()))?;
    let also = also::engines(args, &engine).ok_or(USAGE)?;
    let fail = |error: &io::Error| {
        print(&format!("can't run an agent: {}", reason(error)));
        OUTPUT
    };
    let mut signals = Signals::beside_a_run().map_err(|error| fail(&error))?;
    let recorder_engine = engine.with_own_journal();
    // A run that ends well has nothing to report there.
    let is_quiet = engine.choice().profile.name == "quiet";
    let engines = RunEngines { main: Rc::new(engine), also: &also };
    // An output that can't be written is known before the agent costs anything.
    let files = RunFiles { log: options.log.as_deref(), id_file: options.id_file.as_deref() };
    let id_file = files.id_file.map(|path| IdFile::open(path, &mut signals)).transpose();
    let id_file = id_file.map_err(|message| refuse(&message))?;
    let run = FormatRun::begin(args, engines, files, &mut signals, None, assets.as_ref(), false);
    let mut run = run.and_then(FormatRun::with_all_outputs).map_err(|_| USAGE)?;
    let name = command.first().map(|word| base_name(word)).unwrap_or_default();
    let program = command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let is_folder = program.contains('/') && Path::new(&program).is_dir();
    let named = if agent.is_none() { AgentCommand::named_in(&command) } else { None };
    let plan = agent.as_ref().map(|agent| agent.complete(&mut command, run.is_live()));
    let plan = plan.transpose().map_err(|message| refuse(&message))?.unwrap_or_default();
    if !plan.added.is_empty() {
        print(&format!("added {}", plan.added.join(" ")));
    }
    let started = Timestamp::now();
    let id = RunId::new(started);
    let recorder = RunRecorder {
        id: id.clone(),
        started,
        command,
        task: plan.task.clone(),
        resumes: plan.resumes.clone(),
        labels: options.label.iter().cloned().collect(),
        passes_stdin: passes_stdin(plan.waits_for_stdin),
        added: plan.added.iter().map(|&word| word.to_owned()).collect(),
        engine: recorder_engine,
        agent: agent.as_ref().map(|agent| agent.dialect.name.to_owned()),
        window: window(),
        paths: SessionPaths { folder: data.join("sessions") },
        log: options.log.clone(),
        sync: match options.sync {
            SyncWhen::Always => SyncPolicy::Always,
            SyncWhen::Second => SyncPolicy::Second,
            SyncWhen::End => SyncPolicy::End,
            SyncWhen::Never => SyncPolicy::Never,
        },
        kill_after: options.kill_after,
        exit_after_result: options.exit_after_result,
        cost_limits: CostLimits { warn: options.warn_cost, stop: options.stop_cost },
        ends_helpers: options.end_helpers,
        minds_hangup: !is_hangup_ignored_for_certain(),
    };
    // Whoever waits for the id, the agent included, has it as soon as there is anything to see.
    let id_file = id_file.map(|file| file.write(&id)).transpose().map_err(|message| refuse(&message))?;
    let (recording, feed) = recorder.start(watchdog).map_err(|failure| {
        if let Some(path) = id_file.flatten() {
            let _ = fs::remove_file(path);
        }
        match failure {
            StartFailure::Recorder(error) => fail(&error),
            StartFailure::Log(error) => {
                let log = options.log.as_deref().map(|log| log.display().to_string()).unwrap_or_default();
                refuse(&format!("--log {log}: {}", reason(&error)))
            }
            StartFailure::Program(error) => {
                let why = if is_folder { "it is a folder".to_owned() } else { reason(&error) };
                print(&format!("can't run {program}: {why}"));
                if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE }
            }
        }
    })?;
    if args.redact {
        print(&format!("--redact doesn't apply to the log: {}", usable(&recording.log())));
    }
    let row = RunRow::begin(data, id.clone());
    run.collect_figures();
    run.notifier = Notifier::on_terminal().filter(|_| options.notify);
    let input = RecordedInput::new(feed, recording);
    let mut source = OpenInput::Recorded(Box::new(input));
    // The run continues whatever happens to the display.
    let shown = panic::catch_unwind(AssertUnwindSafe(|| {
        run.format_open(&InputSource::Agent { name, named }, &mut source);
        let (figures, has_lost, notifier) = (run.take_figures(), run.has_lost_writes(), run.notifier.take());
        (run.finish().0, figures, has_lost, notifier)
    }));
    let (shown, figures, has_lost, notifier) = shown.unwrap_or((INTERNAL, None, false, None));
    let OpenInput::Recorded(input) = source else { return Ok(shown) };
    let end = input.finish();
    row.finish(figures);
    if let Some(notifier) = notifier {
        notifier.end(end.status.name());
    }
    if has_lost && end.is_log_whole {
        print("the agent could not save all of its session, but the log of this run is whole");
    }
    if !is_quiet || end.status != SessionStatus::Done {
        print(&format!("session {id}"));
        if let Some(log) = &end.log {
            print(&format!("kept in {}", usable(log)));
        }
    }
    Ok(exit_code(&end, shown, args.fail))
}

/// The exit code of a run. `shown` is that of its display.
fn exit_code(end: &RunEnd, shown: u8, fails: bool) -> u8 {
    match end.signal {
        Some(signal) => SIGNAL + signal,
        None if end.code != 0 => end.code,
        None if !end.is_log_whole => OUTPUT,
        None if shown != 0 => shown,
        None if fails && end.status != SessionStatus::Done => RUN_FAILED,
        None => shown,
    }
}

/// Whether the agent gets standard input: never a terminal, and only a file if it would wait forever for an open pipe.
fn passes_stdin(waits_for_stdin: bool) -> bool {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return false;
    }
    // A closed one can't be passed.
    let Ok(about) = rustix::fs::fstat(&stdin) else { return false };
    !waits_for_stdin
        || rustix::fs::FileType::from_raw_mode(about.st_mode) == rustix::fs::FileType::RegularFile
}

/// The size of the terminal, if the output is shown on one.
fn window() -> (usize, usize) {
    let terminal = terminal_size::terminal_size_of(io::stdout());
    let terminal = terminal.or_else(|| terminal_size::terminal_size_of(io::stderr()));
    terminal.map_or(WINDOW, |(columns, rows)| (usize::from(columns.0), usize::from(rows.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_with_the_first_of_signal_agent_log_display_and_failure() {
        const DONE: SessionStatus = SessionStatus::Done;
        const FAILED: SessionStatus = SessionStatus::Failed;
        const STOPPED: SessionStatus = SessionStatus::Interrupted;
        // The signal to this program, the agent's code, whether its log is complete, the display's code, `--fail`, and the run's status.
        let rows = [
            (None, 0, true, 0, false, DONE, 0),
            (None, 0, true, 0, true, DONE, 0),
            // A failed agent that exits with 0 is a failure only on request.
            (None, 0, true, 0, false, FAILED, 0),
            (None, 0, true, 0, true, FAILED, 1),
            (None, 0, true, 0, false, STOPPED, 0),
            (None, 0, true, 0, true, STOPPED, 1),
            (None, 3, true, 0, false, FAILED, 3),
            (None, 3, true, 0, true, FAILED, 3),
            (None, 143, true, 0, false, STOPPED, 143),
            (None, 3, false, 74, true, FAILED, 3),
            (None, 0, false, 0, false, DONE, 74),
            (None, 0, false, 0, true, FAILED, 74),
            (None, 0, false, 3, false, DONE, 74),
            (None, 0, true, 3, false, DONE, 3),
            (None, 0, true, 3, true, FAILED, 3),
            (None, 0, true, 70, true, DONE, 70),
            (Some(2), 0, true, 0, false, STOPPED, 130),
            (Some(15), 3, true, 0, false, STOPPED, 143),
            (Some(15), 137, false, 74, true, STOPPED, 143),
            (Some(1), 0, false, 70, false, STOPPED, 129),
        ];
        for row in rows {
            let (signal, code, is_log_whole, shown, fails, status, expected) = row;
            let end = RunEnd { code, signal, is_log_whole, status, log: None };
            assert_eq!(exit_code(&end, shown, fails), expected, "{row:?}");
        }
    }
}
