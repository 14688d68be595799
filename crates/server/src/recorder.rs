//! Runs an agent: its bytes into the log, signals to its group, its end into the side file.

use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::feed::{Channel, FeedEnd, LiveFeed, feed};
use crate::helper::{Helper, running_in};
use crate::log::RawLog;
use crate::notice::RunNotice;
use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_file::{AgentExit, ProcessMark, RunSideFile, RunStatus};
use crate::signals::SignalLines;
use crate::sync::SyncPolicy;
use crate::watchdog::Watchdog;

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// How long nothing may come from those who hold the agent's pipes, once the agent has ended.
const QUIET: Duration = Duration::from_millis(500);
/// How often it is tried to write a log that could not be written.
const RETRY: Duration = Duration::from_secs(1);
/// How long an agent has to end after SIGTERM or SIGHUP.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long helpers have to end after SIGTERM.
const HELPERS: Duration = Duration::from_secs(1);
/// How long those who show a run that a signal ended have to come to their end.
const LAST_WORDS: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);

/// How an agent is run.
#[derive(Clone, Debug)]
pub struct RunRecorder {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Which of the arguments were added.
    pub added: Vec<String>,
    /// The agent's product, if it is known.
    pub agent: Option<String>,
    /// Whether the agent gets standard input; otherwise there is nothing to read for it.
    pub passes_stdin: bool,
    /// Columns and lines of the place where it is shown.
    pub window: (usize, usize),
    /// Where runs are kept.
    pub paths: SessionPaths,
    /// The log, if it isn't to be with the others.
    pub log: Option<PathBuf>,
    /// When the log is written to the disk.
    pub sync: SyncPolicy,
    /// How long after the first signal the agent's group is killed.
    pub kill_after: Option<Duration>,
    /// Whether to end what the agent leaves running.
    pub ends_helpers: bool,
    /// Whether a hangup ends the run.
    pub minds_hangup: bool,
}

/// Why an agent could not be started.
#[derive(Debug)]
pub enum StartFailure {
    /// The program can't be run: it isn't there, or it can't be executed.
    Program(io::Error),
    /// Something that the recorder needs can't be had.
    Recorder(io::Error),
}

/// A run that goes on.
pub struct Recording {
    shared: Arc<SharedSideFile>,
    control: PipeWriter,
    thread: JoinHandle<RunEnd>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub struct RunEnd {
    /// The agent's exit code; of one that a signal ended 128 and its number.
    pub code: u8,
    /// The signal to this program that ended the run.
    pub signal: Option<u8>,
    /// Whether all that the agent wrote is in the log.
    pub is_log_whole: bool,
    /// How the run stands as far as its processes tell.
    pub status: RunStatus,
}

struct SharedSideFile {
    path: PathBuf,
    content: Mutex<RunSideFile>,
}

impl RunRecorder {
    /// Starts the agent. Its bytes come out of the feed, and go into the log first. Without a watchdog it goes on if this program is
    /// killed, which is reported.
    pub fn start(self, mut watchdog: io::Result<Watchdog>) -> Result<(Recording, LiveFeed), StartFailure> {
        let started = Timestamp::now();
        let signals = SignalLines::catch(self.minds_hangup).map_err(StartFailure::Recorder)?;
        let (mut end, feed) = feed().map_err(StartFailure::Recorder)?;
        let id = RunId::new(started);
        // Without the folder the log can't be opened, which is reported then.
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
            // Nothing was run, so nothing is kept.
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
        // The process stays known until it is waited for: its number can't come to mean another.
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
    /// Ends the agent, as a user's SIGTERM would.
    pub fn stop(&mut self) {
        let _ = self.control.write_all(b"\n");
    }

    /// The agent named its own id of the session.
    pub fn note_agent_session(&self, id: &str) {
        let _ = self.shared.update(|side| side.agent_session = Some(id.to_owned()));
    }

    /// Where the run's log is.
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

/// A run that is over, of which it is still to be said how it stands.
pub struct RunSettlement {
    shared: Arc<SharedSideFile>,
}

impl RunSettlement {
    /// The agent's stream told that all went well.
    pub fn is_done(&self) {
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

/// The loop of a run.
struct RunLoop {
    options: RunRecorder,
    group: Pid,
    child: Child,
    watchdog: Option<Watchdog>,
    signals: SignalLines,
    end: FeedEnd,
    shared: Arc<SharedSideFile>,
    log: RawLog,
    /// Opened at the first byte.
    errors_log: Option<RawLog>,
    errors_path: PathBuf,
    output: Option<ChildStdout>,
    errors: Option<ChildStderr>,
    /// Closed when the agent has ended.
    exit: Option<PipeReader>,
    /// A byte asks to end the agent.
    commands: Option<PipeReader>,
    exited: Option<Instant>,
    last_byte: Instant,
    last_retry: Instant,
    /// The first signal that came.
    signal: Option<Signal>,
    interrupts: u32,
    kill_at: Option<Instant>,
}

/// What can wake the loop.
#[derive(Clone, Copy)]
enum Waker {
    Signal(usize),
    Exit,
    Command,
    Read(Channel),
}

impl RunLoop {
    fn run(mut self) -> RunEnd {
        let mut buffer = vec![0; CHUNK];
        while !self.is_over() {
            let patience = self.patience();
            for waker in self.wait(patience) {
                match waker {
                    Waker::Signal(index) => {
                        let signal = self.signals.lines[index].0;
                        for _ in 0..self.signals.take(index) {
                            self.hand_on(signal);
                        }
                    }
                    Waker::Exit => {
                        self.exit = None;
                        self.exited = Some(Instant::now());
                    }
                    Waker::Command => {
                        let asked = self
                            .commands
                            .as_mut()
                            .is_some_and(|line| line.read(&mut [0]).is_ok_and(|it| it > 0));
                        if asked {
                            self.kill_at = Some(Instant::now() + self.options.kill_after.unwrap_or(PATIENCE));
                            self.send(Signal::TERM);
                        } else {
                            self.commands = None;
                        }
                    }
                    Waker::Read(channel) => self.read(channel, &mut buffer),
                }
            }
            self.act_in_time();
        }
        self.finish()
    }

    /// Whether the agent has ended, and nothing more comes from those who hold its pipes.
    fn is_over(&self) -> bool {
        let Some(exited) = self.exited else { return false };
        let is_closed = self.output.is_none() && self.errors.is_none();
        is_closed || exited.max(self.last_byte).elapsed() >= QUIET
    }

    /// How long until there is something to do without being woken.
    fn patience(&self) -> Option<Duration> {
        let quiet = self.exited.map(|exited| exited.max(self.last_byte) + QUIET);
        let is_unwritten = |log: &RawLog| !log.is_whole_so_far();
        let has_backlog = is_unwritten(&self.log) || self.errors_log.as_ref().is_some_and(is_unwritten);
        let retry = has_backlog.then(|| self.last_retry + RETRY);
        let first = [quiet, retry, self.kill_at].into_iter().flatten().min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    fn act_in_time(&mut self) {
        if self.kill_at.is_some_and(|at| at <= Instant::now()) {
            self.kill_at = None;
            self.send(Signal::KILL);
        }
        if self.last_retry.elapsed() >= RETRY {
            self.last_retry = Instant::now();
            self.log.retry();
            self.errors_log.as_mut().map(RawLog::retry);
        }
    }

    fn wait(&self, patience: Option<Duration>) -> Vec<Waker> {
        let lines = self.signals.lines.iter().enumerate();
        let mut sources: Vec<(Waker, BorrowedFd<'_>)> =
            lines.map(|(index, (_, line))| (Waker::Signal(index), line.as_fd())).collect();
        sources.extend(self.exit.as_ref().map(|exit| (Waker::Exit, exit.as_fd())));
        sources.extend(self.commands.as_ref().map(|line| (Waker::Command, line.as_fd())));
        // What is in no log has to be kept: the agent waits until there is room.
        let has_room = self.end.has_room();
        if has_room || self.log.is_whole_so_far() && self.log.can_be_read() {
            sources.extend(self.output.as_ref().map(|it| (Waker::Read(Channel::Output), it.as_fd())));
        }
        if has_room || self.errors_log.as_ref().is_none_or(|log| log.is_whole_so_far() && log.can_be_read()) {
            sources.extend(self.errors.as_ref().map(|it| (Waker::Read(Channel::Errors), it.as_fd())));
        }
        // The feed doesn't say when there is room again.
        let patience = if has_room { patience } else { Some(patience.unwrap_or(LOOK).min(LOOK)) };
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        let mut polled: Vec<PollFd<'_>> =
            sources.iter().map(|(_, fd)| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        if poll(&mut polled, patience.as_ref()).is_err() {
            return Vec::new();
        }
        let woken = sources.iter().zip(&polled).filter(|(_, fd)| !fd.revents().is_empty());
        woken.map(|((waker, _), _)| *waker).collect()
    }

    /// Reads what is there: into the log first, then on to whoever shows it.
    fn read(&mut self, channel: Channel, buffer: &mut [u8]) {
        let read = match channel {
            Channel::Output => self.output.as_mut().map(|pipe| pipe.read(buffer)),
            Channel::Errors => self.errors.as_mut().map(|pipe| pipe.read(buffer)),
        };
        let bytes = match read {
            Some(Ok(count @ 1..)) => &buffer[..count],
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => return,
            _ => {
                match channel {
                    Channel::Output => self.output = None,
                    Channel::Errors => self.errors = None,
                }
                return;
            }
        };
        self.last_byte = Instant::now();
        let log = match channel {
            Channel::Output => &mut self.log,
            Channel::Errors => {
                if self.errors_log.is_none() {
                    let log = self.open_errors();
                    self.errors_log = Some(log);
                }
                let Some(log) = &mut self.errors_log else { return };
                log
            }
        };
        let (place, failure) = log.append(bytes);
        if let Some(error) = failure {
            self.end.notice(RunNotice::Unwritten(log.path.clone(), error));
        }
        self.end.push(channel, bytes, place);
    }

    fn open_errors(&mut self) -> RawLog {
        let (log, opened) = RawLog::open(&self.errors_path, self.options.sync);
        if let Err(error) = opened {
            self.end.notice(RunNotice::Unwritten(log.path.clone(), error));
        }
        if let Some(log) = log.reader() {
            self.end.open(Channel::Errors, log);
        }
        let path = log.path.clone();
        let _ = self.shared.update(|side| side.errors = Some(path));
        log
    }

    /// A signal came for the agent. The second Ctrl-C means it.
    fn hand_on(&mut self, signal: Signal) {
        self.signal = self.signal.or(Some(signal));
        let patience = match signal {
            Signal::INT => {
                self.interrupts += 1;
                self.options.kill_after
            }
            _ => Some(self.options.kill_after.unwrap_or(PATIENCE)),
        };
        self.kill_at = self.kill_at.or(patience.map(|patience| Instant::now() + patience));
        self.send(if self.interrupts > 1 { Signal::KILL } else { signal });
    }

    fn send(&self, signal: Signal) {
        // A group that has ended gets nothing.
        let _ = kill_process_group(self.group, signal);
    }

    fn helpers(&self) -> Vec<Helper> {
        let watchdog = self.watchdog.as_ref().map(Watchdog::id);
        let own: Vec<u32> = [self.child.id()].into_iter().chain(watchdog).collect();
        running_in(self.group, &own)
    }

    /// What the agent left running. After a signal nothing is; otherwise it may be a server that was wanted.
    fn see_to_helpers(&mut self) {
        let mut helpers = self.helpers();
        if helpers.is_empty() {
            return;
        }
        if self.signal.is_none() && !self.options.ends_helpers {
            return self.end.notice(RunNotice::LeftRunning(helpers));
        }
        self.send(Signal::TERM);
        let begun = Instant::now();
        while !helpers.is_empty() && begun.elapsed() < HELPERS {
            thread::sleep(LOOK);
            helpers = self.helpers();
        }
        if !helpers.is_empty() {
            self.send(Signal::KILL);
        }
    }

    fn finish(mut self) -> RunEnd {
        let mut missing = 0;
        for log in [Some(&mut self.log), self.errors_log.as_mut()].into_iter().flatten() {
            let (bytes, failure) = log.finish();
            if let Some(error) = failure {
                self.end.notice(RunNotice::Unwritten(log.path.clone(), error));
                missing += 1;
            }
            if bytes > 0 {
                self.end.notice(RunNotice::Missing(log.path.clone(), bytes));
                missing += bytes;
            }
        }
        self.see_to_helpers();
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
        let status = self.child.wait().unwrap_or_default();
        let (exit, code) = judge(status);
        let stands = match exit {
            AgentExit::Signal(_) => RunStatus::Interrupted,
            AgentExit::Code(_) if self.signal.is_some() => RunStatus::Interrupted,
            AgentExit::Code(_) => RunStatus::Failed,
        };
        let (log_bytes, gaps) = (self.log.bytes(), std::mem::take(&mut self.log.gaps));
        let written = self.shared.update(|side| {
            side.status = stands;
            side.ended = Some(Timestamp::now());
            side.exit = Some(exit);
            side.log_bytes = Some(log_bytes);
            side.gaps = gaps;
        });
        if let Err(error) = written {
            self.end.notice(RunNotice::NoSideFile(self.shared.path.clone(), error));
        }
        // Whoever shows the run may wait for ever: a terminal that was stopped, a pipe that nobody reads.
        self.signals.release();
        if let Some(signal) = self.signal {
            thread::spawn(move || {
                thread::sleep(LAST_WORDS);
                let _ = signal_hook::low_level::emulate_default_handler(signal.as_raw());
            });
        }
        self.end.end();
        let signal = self.signal.and_then(|signal| u8::try_from(signal.as_raw()).ok());
        RunEnd { code, signal, is_log_whole: missing == 0, status: stands }
    }
}

/// How a process ended, and as what exit code that is passed on.
fn judge(status: ExitStatus) -> (AgentExit, u8) {
    match (status.code(), status.signal()) {
        (Some(code), _) => (AgentExit::Code(code), u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => (AgentExit::Signal(signal), u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        (None, None) => (AgentExit::Code(0), 0),
    }
}
