//! Runs an agent: writes its output to the log, forwards signals to its process group, and writes its end to the side file.

mod run_loop;
mod run_state;
mod run_threads;
mod run_verdict;
mod run_world;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::process::Pid;
use streamfmt::Engine;
use streamfmt::core::pipeline::{Pipeline, Setup};

use crate::feed::{Channel, FeedEnd, LiveFeed, feed};
use crate::findings::{SharedFindings, StreamVerdict};
use crate::keeper::{Keeper, KeptSideFile};
use crate::log::RawLog;
use crate::notice::RunNotice;
use crate::own_folder::ForeignFolder;
use crate::passed_input;
use crate::path_text::path_text;
use crate::run_cost::{CostLimits, CostMeter};
use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_file::{ProcessMark, RunSideFile, SessionStatus};
use crate::signals::SignalLines;
use crate::sync::SyncPolicy;
use crate::watchdog::Watchdog;

use run_state::RunState;
use run_threads::RunThreads;
use run_world::AgentProcess;

/// The options for running an agent.
pub struct RunRecorder {
    /// The run's id.
    pub id: RunId,
    /// When it starts.
    pub started: Timestamp,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The arguments that were added to it.
    pub added: Vec<String>,
    /// The agent's product, if it is known.
    pub agent: Option<String>,
    /// Provides the dialects for the agent's stream, which contains the outcome.
    pub engine: Engine,
    /// The task on the command line, if there is one.
    pub task: Option<String>,
    /// The agent's session that it resumes, if the command line names one.
    pub resumes: Option<String>,
    /// Labels given by the user.
    pub labels: BTreeMap<String, String>,
    /// Whether the agent gets standard input; otherwise it gets an empty one.
    pub passes_stdin: bool,
    /// Columns and lines of the display.
    pub window: (usize, usize),
    /// The folder for logs and side files.
    pub paths: SessionPaths,
    /// The path of the log, if not in that folder. If it can't be opened, the agent isn't started; in the folder, opening is retried.
    pub log: Option<PathBuf>,
    /// When the log is flushed to disk.
    pub sync: SyncPolicy,
    /// How long after the first signal the agent's group is killed; without it, never after SIGINT and SIGQUIT.
    pub kill_after: Option<Duration>,
    /// How long the agent may keep running after its result before it is ended; without it, a lingering agent is only reported.
    pub exit_after_result: Option<Duration>,
    /// What it may cost.
    pub cost_limits: CostLimits,
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
    /// The requested log can't be opened.
    Log(io::Error),
    /// The system denied the recorder something that it needs.
    Recorder(io::Error),
}

/// A run in progress.
pub struct Recording {
    side: Arc<KeptSideFile>,
    thread: JoinHandle<RunEnd>,
    findings: SharedFindings,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct RunEnd {
    /// The agent's exit code; 128 plus the signal's number if a signal ended the agent. 0 if the agent was ended because it kept running
    /// after a good result.
    pub code: u8,
    /// The signal that ended the run, if one did: it came to this program, or was sent because the run cost too much.
    pub signal: Option<u8>,
    /// Whether everything that the agent wrote is in the log, and flushed as requested.
    pub is_log_whole: bool,
    /// How the run ended.
    pub status: SessionStatus,
    /// The log, if it is a file that can be read and something was kept in it.
    pub log: Option<PathBuf>,
}

impl RunRecorder {
    /// Starts the agent. Its bytes are in the log before they are in the feed. Without a watchdog, the agent would survive a kill of this
    /// program, which is reported.
    pub fn start(self, mut watchdog: io::Result<Watchdog>) -> Result<(Recording, LiveFeed), StartFailure> {
        let signals = SignalLines::catch(self.minds_hangup).map_err(StartFailure::Recorder)?;
        let (mut display, display_feed) = feed().map_err(StartFailure::Recorder)?;
        let (mut kept, kept_feed) = feed().map_err(StartFailure::Recorder)?;
        match self.paths.create() {
            Err(error) if ForeignFolder::is_reason(&error) => return Err(StartFailure::Recorder(error)),
            // Then opening the log or writing the side file fails, too, which is reported.
            Ok(()) | Err(_) => {}
        }
        let wanted = self.log.clone().unwrap_or_else(|| self.paths.log(&self.id));
        let (log, opened) = RawLog::open(&wanted, self.sync);
        match opened {
            Err(error) if self.log.is_some() => return Err(StartFailure::Log(error)),
            Err(error) => display.notice(RunNotice::Unwritten(log.path.clone(), error)),
            Ok(()) if log.path != wanted => display.notice(RunNotice::OtherLog(log.path.clone())),
            Ok(()) => {}
        }
        for end in [&mut display, &mut kept] {
            if let Some(log) = log.reader() {
                end.open(Channel::Output, log);
            }
        }
        let side_path = self.paths.side_file(&self.id);
        let side = KeptSideFile::new(self.paths.clone(), self.sync, self.side_file(&log));
        let side = Arc::new(side);
        if let Err(error) = side.write() {
            display.notice(RunNotice::NoSideFile(side_path.clone(), error));
        }
        if let Err(error) = watchdog.as_mut().map_or(Ok(()), Watchdog::until_ready) {
            watchdog = Err(error);
        }
        let group = watchdog.as_ref().ok().map(Watchdog::group);
        let watchdog = watchdog.map_err(|error| display.notice(RunNotice::NoWatchdog(error))).ok();
        // Everything that can fail comes before the agent: once it runs, it is recorded.
        let meter = self.cost_limits.is_set().then(|| CostMeter::new(self.started));
        let findings = SharedFindings::new(meter);
        let threads = self.threads(kept_feed, &side, &findings).map_err(StartFailure::Recorder);
        let spawned = threads.and_then(|threads| {
            let child = self.spawn(group, self.input(&side)).map_err(StartFailure::Program)?;
            Ok((threads, child))
        });
        let (threads, mut child) = match spawned {
            Ok(spawned) => spawned,
            Err(failure) => {
                // Nothing ran, so nothing is kept.
                log.discard();
                side.discard();
                return Err(failure);
            }
        };
        side.change(|side| side.process = Some(ProcessMark::of(child.id())));
        // The keeper writes it.
        kept.wake();
        let agent = Pid::from_child(&child);
        let output = child.stdout.take().map(|pipe| PipeReader::from(OwnedFd::from(pipe)));
        let errors = child.stderr.take().map(|pipe| PipeReader::from(OwnedFd::from(pipe)));
        let thread = threads.begin(agent, |keeper, exit, requests| {
            let now = Instant::now();
            RunLoop {
                world: AgentProcess { child, group: group.unwrap_or(agent), watchdog },
                signals,
                display,
                kept,
                keeper: Some(keeper),
                side: Arc::clone(&side),
                output: AgentOutput { pipe: output, log: Some(log) },
                errors: AgentOutput { pipe: errors, log: None },
                exit: Some(exit),
                requests: Some(requests),
                state: RunState::new(self.kill_after, now),
                begun: now,
                last_retry: now,
                options: self,
            }
        });
        Ok((Recording { side, thread, findings }, display_feed))
    }

    /// Makes the threads of the run, which wait for the agent.
    fn threads(
        &self,
        kept: LiveFeed,
        side: &Arc<KeptSideFile>,
        findings: &SharedFindings,
    ) -> io::Result<RunThreads> {
        let (requests, to_recorder) = io::pipe()?;
        let (side, findings) = (Arc::clone(side), findings.clone());
        let keeper = Keeper::new(kept, side, self.exit_after_result, self.cost_limits, to_recorder, findings);
        RunThreads::wait(keeper, self.engine.clone(), requests)
    }

    fn side_file(&self, log: &RawLog) -> RunSideFile {
        let folder = std::env::current_dir().unwrap_or_default();
        RunSideFile {
            v: 1,
            id: self.id.clone(),
            status: SessionStatus::Running,
            command: self.command.iter().map(path_text).collect(),
            added: self.added.clone(),
            agent: self.agent.clone(),
            agent_session: None,
            task: self.task.clone(),
            resumes: self.resumes.clone(),
            stdin: None,
            labels: self.labels.clone(),
            log: folder.join(&log.path),
            folder,
            log_start: log.start,
            log_bytes: None,
            gaps: Vec::new(),
            errors: None,
            started: self.started,
            waiting: None,
            ended: None,
            exit: None,
            stopped_after_result: false,
            stopped_for_cost: false,
            recorder: ProcessMark::of(std::process::id()),
            process: None,
        }
    }

    fn input(&self, side: &Arc<KeptSideFile>) -> Stdio {
        if !self.passes_stdin {
            return Stdio::null();
        }
        let side = Arc::clone(side);
        let keep = move |text: &str| {
            side.change(|side| side.stdin = Some(text.to_owned()));
            // The keeper writes it if this fails.
            let _ = side.write();
        };
        passed_input::pass(keep).unwrap_or_else(|_| Stdio::inherit())
    }

    fn spawn(&self, group: Option<Pid>, input: Stdio) -> io::Result<Child> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        Command::new(program)
            .args(arguments)
            .env("COLUMNS", self.window.0.to_string())
            .env("LINES", self.window.1.to_string())
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(group.map_or(0, |group| group.as_raw_nonzero().get()))
            .spawn()
    }
}

impl Recording {
    /// Prepares the display's pipeline for [`Self::note`].
    pub fn watch(&self, setup: &mut Setup) {
        self.findings.watch(setup);
    }

    /// Records the findings of the display's pipeline in the stream. `bytes`: those that it received last, by
    /// [`FeedStep::Output`](crate::FeedStep::Output). A display that doesn't report all bytes counts as late.
    pub fn note(&self, pipeline: &Pipeline, bytes: &[u8]) {
        self.findings.update(pipeline, bytes);
    }

    /// The path of the log.
    pub fn log(&self) -> PathBuf {
        self.side.content().log.clone()
    }

    /// Waits for the end of the run.
    pub fn wait(self) -> RunEnd {
        self.thread.join().unwrap_or_else(|_| RunEnd::unknown())
    }
}

impl RunEnd {
    /// The end of a run whose recorder failed.
    fn unknown() -> Self {
        Self { code: 70, signal: None, is_log_whole: false, status: SessionStatus::Failed, log: None }
    }
}

/// One of the agent's outputs.
struct AgentOutput {
    /// The pipe that it is read from, until its end.
    pipe: Option<PipeReader>,
    /// The log that it is written to. That of standard error is opened at the first byte.
    log: Option<RawLog>,
}

/// The loop of a run; see [`run_loop`].
struct RunLoop<W> {
    options: RunRecorder,
    world: W,
    signals: SignalLines,
    display: FeedEnd,
    /// The feed of the keeper, which has only standard output.
    kept: FeedEnd,
    keeper: Option<JoinHandle<StreamVerdict>>,
    side: Arc<KeptSideFile>,
    output: AgentOutput,
    errors: AgentOutput,
    /// Reaches its end when the agent has exited.
    exit: Option<PipeReader>,
    /// Requests of the keeper.
    requests: Option<PipeReader>,
    state: RunState,
    /// When the agent was started.
    begun: Instant,
    last_retry: Instant,
}
