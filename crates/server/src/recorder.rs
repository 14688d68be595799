//! Runs an agent: its bytes go to the log, signals to its process group, its end to the side file.

mod run_loop;

use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use crate::feed::{Channel, FeedEnd, LiveFeed, feed};
use crate::log::RawLog;
use crate::notice::RunNotice;
use crate::run_id::RunId;
use crate::run_lock::RunLock;
use crate::session_paths::SessionPaths;
use crate::side_file::{ProcessMark, RunSideFile, RunStatus};
use crate::signals::SignalLines;
use crate::sync::SyncPolicy;
use crate::watchdog::Watchdog;

/// The longest session id of an agent that is kept, in bytes.
const MAX_SESSION_ID: usize = 1024;

/// How an agent is run.
#[derive(Clone, Debug)]
pub struct RunRecorder {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The arguments that were added to it.
    pub added: Vec<String>,
    /// The agent's product, if it is known.
    pub agent: Option<String>,
    /// Whether the agent gets standard input; otherwise it gets an empty one.
    pub passes_stdin: bool,
    /// Columns and lines of the display.
    pub window: (usize, usize),
    /// The folder for logs and side files.
    pub paths: SessionPaths,
    /// The path of the log, if not in that folder.
    pub log: Option<PathBuf>,
    /// When the log is flushed to disk.
    pub sync: SyncPolicy,
    /// How long after the first signal the agent's group is killed; without it, never after SIGINT.
    pub kill_after: Option<Duration>,
    /// Whether processes that the agent leaves running are ended.
    pub ends_helpers: bool,
    /// Whether SIGHUP ends the run.
    pub minds_hangup: bool,
}

/// Why an agent could not be started.
#[derive(Debug)]
pub enum StartFailure {
    /// The program can't be run: it doesn't exist or isn't executable.
    Program(io::Error),
    /// The system denied the recorder something that it needs.
    Recorder(io::Error),
}

/// A run in progress.
pub struct Recording {
    shared: Arc<SharedSideFile>,
    control: PipeWriter,
    thread: JoinHandle<RunEnd>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub struct RunEnd {
    /// The agent's exit code; 128 plus its number if a signal ended the agent.
    pub code: u8,
    /// The signal to this program that ended the run, if one did.
    pub signal: Option<u8>,
    /// Whether everything that the agent wrote is in the log.
    pub is_log_whole: bool,
    /// The status as far as the processes show it.
    pub status: RunStatus,
}

struct SharedSideFile {
    path: PathBuf,
    content: Mutex<RunSideFile>,
}

impl RunRecorder {
    /// Starts the agent. Its bytes are in the log before they are in the feed. Without a watchdog, the agent would survive a kill of this
    /// program, which is reported.
    pub fn start(self, mut watchdog: io::Result<Watchdog>) -> Result<(Recording, LiveFeed), StartFailure> {
        let started = Timestamp::now();
        let signals = SignalLines::catch(self.minds_hangup).map_err(StartFailure::Recorder)?;
        let (mut end, feed) = feed().map_err(StartFailure::Recorder)?;
        let id = RunId::new(started);
        // If this fails, so does opening the log, which is reported.
        let _ = self.paths.create();
        let wanted = self.log.clone().unwrap_or_else(|| self.paths.log(&id));
        let is_new = !wanted.exists();
        let (log, opened) = RawLog::open(&wanted, self.sync);
        if let Err(error) = opened {
            end.notice(RunNotice::Unwritten(log.path.clone(), error));
        } else if log.path != wanted {
            end.notice(RunNotice::OtherLog(log.path.clone()));
        }
        if let Some(log) = log.reader() {
            end.open(Channel::Output, log);
        }
        // It is held before the side file exists, so nobody sees a run in progress without it.
        let lock = RunLock::hold(self.paths.lock(&id)).ok();
        let shared = Arc::new(SharedSideFile {
            path: self.paths.side_file(&id),
            content: Mutex::new(self.side_file(id, started, &log)),
        });
        let unwritten = shared.update(|_| {}).err();
        if let Some(error) = unwritten {
            end.notice(RunNotice::NoSideFile(shared.path.clone(), error));
        }
        if let Err(error) = watchdog.as_mut().map_or(Ok(()), Watchdog::until_ready) {
            watchdog = Err(error);
        }
        let group = watchdog.as_ref().ok().map(Watchdog::group);
        let watchdog = watchdog.map_err(|error| end.notice(RunNotice::NoWatchdog(error))).ok();
        let mut child = self.spawn(group).map_err(|error| {
            // Nothing ran, so nothing is kept.
            let _ = fs::remove_file(&shared.path);
            if is_new && log.reader().is_some() {
                let _ = fs::remove_file(&log.path);
            }
            StartFailure::Program(error)
        })?;
        let _ = shared.update(|side| side.process = Some(ProcessMark::of(child.id())));
        let agent = Pid::from_child(&child);
        let (exit, exited) = io::pipe().map_err(StartFailure::Recorder)?;
        let (commands, control) = io::pipe().map_err(StartFailure::Recorder)?;
        // This only waits for the end and leaves the process a zombie, so its id isn't reused while signals may be sent to it.
        thread::spawn(move || {
            let ended = || waitid(WaitId::Pid(agent), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            while ended().is_err_and(|error| error == Errno::INTR) {}
            drop(exited);
        });
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let errors_path = self.paths.errors(&shared.content().id);
        let run = RunLoop {
            options: self,
            group: group.unwrap_or(agent),
            child,
            watchdog,
            signals,
            end,
            shared: Arc::clone(&shared),
            lock,
            log,
            errors_log: None,
            errors_path,
            output,
            errors,
            exit: Some(exit),
            commands: Some(commands),
            exited: None,
            last_byte: Instant::now(),
            last_retry: Instant::now(),
            signal: None,
            interrupts: 0,
            kill_at: None,
        };
        let thread = thread::Builder::new().name("recorder".to_owned()).spawn(move || run.run());
        let thread = thread.map_err(StartFailure::Recorder)?;
        Ok((Recording { shared, control, thread }, feed))
    }

    fn side_file(&self, id: RunId, started: Timestamp, log: &RawLog) -> RunSideFile {
        let folder = std::env::current_dir().unwrap_or_default();
        RunSideFile {
            v: 1,
            id,
            status: RunStatus::Running,
            command: self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            added: self.added.clone(),
            agent: self.agent.clone(),
            agent_session: None,
            log: folder.join(&log.path),
            folder,
            log_start: log.start,
            log_bytes: None,
            gaps: Vec::new(),
            errors: None,
            started,
            ended: None,
            exit: None,
            recorder: ProcessMark::of(std::process::id()),
            process: None,
        }
    }

    fn spawn(&self, group: Option<Pid>) -> io::Result<Child> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        Command::new(program)
            .args(arguments)
            .env("COLUMNS", self.window.0.to_string())
            .env("LINES", self.window.1.to_string())
            .stdin(if self.passes_stdin { Stdio::inherit() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(group.map_or(0, |group| group.as_raw_nonzero().get()))
            .spawn()
    }
}

impl Recording {
    /// Ends the agent by SIGTERM, as a user would.
    pub fn stop(&mut self) {
        let _ = self.control.write_all(b"\n");
    }

    /// Notes the agent's own session id. A very long one isn't kept; it is in the log.
    pub fn note_agent_session(&self, id: &str) {
        if id.len() > MAX_SESSION_ID {
            return;
        }
        let _ = self.shared.update(|side| side.agent_session = Some(id.to_owned()));
    }

    /// The path of the log.
    pub fn log(&self) -> PathBuf {
        self.shared.content().log.clone()
    }

    /// Waits for the end of the run.
    pub fn wait(self) -> (RunEnd, RunSettlement) {
        let end = self.thread.join().unwrap_or(RunEnd {
            code: 70,
            signal: None,
            is_log_whole: false,
            status: RunStatus::Failed,
        });
        (end, RunSettlement { shared: self.shared })
    }
}

/// A run that has ended and whose final status may still be set.
pub struct RunSettlement {
    shared: Arc<SharedSideFile>,
}

impl RunSettlement {
    /// Sets the status to done: the agent's stream reported success.
    pub fn set_done(&self) {
        let _ = self.shared.update(|side| side.status = RunStatus::Done);
    }
}

impl SharedSideFile {
    fn content(&self) -> MutexGuard<'_, RunSideFile> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut RunSideFile)) -> io::Result<()> {
        let mut content = self.content();
        change(&mut content);
        content.write(&self.path)
    }
}

/// The state of the loop of a run; see [`run_loop`].
struct RunLoop {
    options: RunRecorder,
    group: Pid,
    child: Child,
    watchdog: Option<Watchdog>,
    signals: SignalLines,
    end: FeedEnd,
    shared: Arc<SharedSideFile>,
    lock: Option<RunLock>,
    log: RawLog,
    /// The log of standard error, opened at its first byte.
    errors_log: Option<RawLog>,
    errors_path: PathBuf,
    output: Option<ChildStdout>,
    errors: Option<ChildStderr>,
    /// Reaches its end when the agent has exited.
    exit: Option<PipeReader>,
    /// A byte requests the end of the agent.
    commands: Option<PipeReader>,
    exited: Option<Instant>,
    last_byte: Instant,
    last_retry: Instant,
    /// The first signal that arrived.
    signal: Option<Signal>,
    interrupts: u32,
    kill_at: Option<Instant>,
}
