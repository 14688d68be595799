//! The loop of a run: it waits for bytes, signals and the agent's end, and acts on each.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_process_group};

use super::{RunEnd, RunLoop};
use crate::feed::Channel;
use crate::helper::{Helper, running_in};
use crate::log::RawLog;
use crate::notice::RunNotice;
use crate::side_file::{AgentExit, RunStatus};
use crate::watchdog::Watchdog;

/// The most bytes of one read.
const CHUNK: usize = 64 * 1024;
/// How long the agent's pipes must be quiet after its exit, if other processes hold them open.
const QUIET: Duration = Duration::from_millis(500);
/// How often writing is retried after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// How long the agent has to end after SIGTERM or SIGHUP before it is killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long helpers have to end after SIGTERM before they are killed.
const HELPERS: Duration = Duration::from_secs(1);
/// How long the display may take to finish after a signal ended the run.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often it is checked whether helpers have ended, or whether the feed has room.
const LOOK: Duration = Duration::from_millis(20);

/// What wakes the loop.
#[derive(Clone, Copy)]
enum Waker {
    Signal(usize),
    Exit,
    Command,
    Read(Channel),
}

impl RunLoop {
    pub(super) fn run(mut self) -> RunEnd {
        let mut buffer = vec![0; CHUNK];
        while !self.is_over() {
            let patience = self.patience();
            for waker in self.wait(patience) {
                match waker {
                    Waker::Signal(index) => {
                        let signal = self.signals.lines[index].0;
                        for _ in 0..self.signals.take(index) {
                            self.forward(signal);
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

    /// Whether the agent has exited and its pipes are closed or quiet.
    fn is_over(&self) -> bool {
        let Some(exited) = self.exited else { return false };
        let is_closed = self.output.is_none() && self.errors.is_none();
        is_closed || exited.max(self.last_byte).elapsed() >= QUIET
    }

    /// How long until something is due even if nothing wakes the loop.
    fn patience(&self) -> Option<Duration> {
        let quiet = self.exited.map(|exited| exited.max(self.last_byte) + QUIET);
        let is_unwritten = |log: &RawLog| !log.is_whole_so_far();
        let has_backlog = is_unwritten(&self.log) || self.errors_log.as_ref().is_some_and(is_unwritten);
        let retry = has_backlog.then(|| self.last_retry + RETRY);
        let first = [quiet, retry, self.kill_at].into_iter().flatten().min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// Does what is due by time.
    fn act_in_time(&mut self) {
        if self.kill_at.is_some_and(|at| at <= Instant::now()) {
            self.kill_at = None;
            self.send(Signal::KILL);
        }
        if self.last_retry.elapsed() >= RETRY {
            self.last_retry = Instant::now();
            self.retry_logs();
        }
    }

    /// Writes what couldn't be written, and opens logs that couldn't be opened.
    fn retry_logs(&mut self) {
        let logs = [(Channel::Output, Some(&mut self.log)), (Channel::Errors, self.errors_log.as_mut())];
        for (channel, log) in logs {
            let Some(log) = log.filter(|log| !log.is_whole_so_far()) else { continue };
            if let Some(reader) = log.reopen() {
                self.end.open(channel, reader);
            }
            log.retry();
        }
    }

    fn wait(&self, patience: Option<Duration>) -> Vec<Waker> {
        let lines = self.signals.lines.iter().enumerate();
        let mut sources: Vec<(Waker, BorrowedFd<'_>)> =
            lines.map(|(index, (_, line))| (Waker::Signal(index), line.as_fd())).collect();
        sources.extend(self.exit.as_ref().map(|exit| (Waker::Exit, exit.as_fd())));
        sources.extend(self.commands.as_ref().map(|line| (Waker::Command, line.as_fd())));
        // Bytes that are in no log must be kept in memory: the agent waits until there is room.
        let has_room = self.end.has_room();
        if has_room || self.log.is_whole_so_far() && self.log.can_be_read() {
            sources.extend(self.output.as_ref().map(|it| (Waker::Read(Channel::Output), it.as_fd())));
        }
        if has_room || self.errors_log.as_ref().is_none_or(|log| log.is_whole_so_far() && log.can_be_read()) {
            sources.extend(self.errors.as_ref().map(|it| (Waker::Read(Channel::Errors), it.as_fd())));
        }
        // The feed doesn't report when there is room again.
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

    /// Reads what is available; it goes to the log first, then to the display.
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

    /// Forwards a signal to the agent; the second Ctrl-C kills it.
    fn forward(&mut self, signal: Signal) {
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
        // This fails only if the group has ended.
        let _ = kill_process_group(self.group, signal);
    }

    fn helpers(&self) -> Vec<Helper> {
        let watchdog = self.watchdog.as_ref().map(Watchdog::id);
        let own: Vec<u32> = [self.child.id()].into_iter().chain(watchdog).collect();
        running_in(self.group, &own)
    }

    /// Reports what the agent left running, since it may be a server that was wanted; after a signal, or on request, ends it.
    fn settle_helpers(&mut self) {
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
        self.settle_helpers();
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
        let (exit, code) = judge(self.child.wait().unwrap_or_default());
        let status = match exit {
            AgentExit::Signal(_) => RunStatus::Interrupted,
            AgentExit::Code(_) if self.signal.is_some() => RunStatus::Interrupted,
            AgentExit::Code(_) => RunStatus::Failed,
        };
        let (log_bytes, gaps) = (self.log.bytes(), std::mem::take(&mut self.log.gaps));
        let (log_path, log_start) = (std::mem::take(&mut self.log.path), self.log.start);
        let written = self.shared.update(|side| {
            side.status = status;
            side.ended = Some(Timestamp::now());
            side.exit = Some(exit);
            // They are known only now if the log couldn't be opened at the start.
            side.log = side.folder.join(log_path);
            side.log_start = log_start;
            side.log_bytes = Some(log_bytes);
            side.gaps = gaps;
        });
        if let Err(error) = written {
            self.end.notice(RunNotice::NoSideFile(self.shared.path.clone(), error));
        }
        drop(self.lock.take());
        // The display may block forever: on a stopped terminal, or a pipe that nobody reads.
        self.signals.release();
        if let Some(signal) = self.signal {
            thread::spawn(move || {
                thread::sleep(LAST_WORDS);
                let _ = signal_hook::low_level::emulate_default_handler(signal.as_raw());
            });
        }
        self.end.end();
        let signal = self.signal.and_then(|signal| u8::try_from(signal.as_raw()).ok());
        RunEnd { code, signal, is_log_whole: missing == 0, status }
    }
}

/// How a process ended, and the exit code that this program passes on.
fn judge(status: ExitStatus) -> (AgentExit, u8) {
    match (status.code(), status.signal()) {
        (Some(code), _) => (AgentExit::Code(code), u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => (AgentExit::Signal(signal), u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        (None, None) => (AgentExit::Code(0), 0),
    }
}
