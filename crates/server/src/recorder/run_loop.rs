//! The loop of a run: it waits for bytes, signals and the agent's end, and acts on each.

#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::run_state::RunOver;
use super::run_verdict::{RunEndFacts, RunVerdict, exit_of};
use super::run_world::RunWorld;
use super::{AgentOutput, RunEnd, RunLoop};
use crate::feed::Channel;
use crate::findings::StreamVerdict;
use crate::keeper::{REPORT_COST, REPORT_LINGERING, REPORT_MISSING_PRICE, STOP, STOP_FOR_COST};
use crate::log::{LogEvent, RawLog};
use crate::notice::RunNotice;
use crate::run_cost::CostLimits;
use crate::side_file::AgentExit;

/// The most bytes of one read.
const CHUNK: usize = 64 * 1024;
/// How often writing is retried after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// How long helpers have to end after SIGTERM before they are killed.
const HELPERS: Duration = Duration::from_secs(1);
/// How long the display may take to finish after a signal ended the run.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often it is checked whether helpers have ended.
const LOOK: Duration = Duration::from_millis(20);

/// A source of events that wakes the loop.
#[derive(Clone, Copy)]
enum Waker {
    Signal(usize),
    Exit,
    Request,
    Read(Channel),
    /// The display has room again.
    Room,
    /// The keeper has room again.
    KeptRoom,
}

impl<W: RunWorld> RunLoop<W> {
    pub(super) fn run(mut self) -> RunEnd {
        if self.listen() == RunOver::StillWriting {
            self.display.notice(RunNotice::StillWriting);
        }
        self.finish()
    }

    /// Handles events until the run is over.
    fn listen(&mut self) -> RunOver {
        let mut buffer = vec![0; CHUNK];
        loop {
            let now = self.world.now();
            let withheld = [Channel::Output, Channel::Errors].map(|channel| self.is_withheld(channel));
            self.state.note_withheld(withheld.contains(&true), now);
            let is_read = self.output.pipe.is_none() && self.errors.pipe.is_none();
            if let Some(over) = self.state.over(is_read, now) {
                return over;
            }
            for waker in self.wait(withheld, self.patience(now)) {
                match waker {
                    Waker::Signal(index) => {
                        let signal = self.signals.lines[index].0;
                        for _ in 0..self.signals.take(index) {
                            let signal = self.state.take_signal(signal, self.world.now());
                            self.world.send(signal);
                        }
                    }
                    Waker::Exit => {
                        self.exit = None;
                        self.state.note_exit(self.world.now());
                    }
                    Waker::Request => self.take_request(),
                    Waker::Read(channel) => self.read(channel, &mut buffer),
                    Waker::Room => self.display.take_room(),
                    Waker::KeptRoom => self.kept.take_room(),
                }
            }
            self.act_in_time();
        }
    }

    /// Whether an output isn't read because its bytes would have to be kept in memory: the agent waits until there is room.
    fn is_withheld(&self, channel: Channel) -> bool {
        let AgentOutput { pipe, log } = self.agent_output(channel);
        let is_kept = log.as_ref().is_none_or(|log| log.is_whole_so_far() && log.can_be_read());
        let has_room = self.display.has_room() && (channel == Channel::Errors || self.kept.has_room());
        pipe.is_some() && !is_kept && !has_room
    }

    fn agent_output(&self, channel: Channel) -> &AgentOutput {
        match channel {
            Channel::Output => &self.output,
            Channel::Errors => &self.errors,
        }
    }

    fn agent_output_mut(&mut self, channel: Channel) -> &mut AgentOutput {
        match channel {
            Channel::Output => &mut self.output,
            Channel::Errors => &mut self.errors,
        }
    }

    /// Returns the time until something is due even if nothing wakes the loop.
    fn patience(&self, now: Instant) -> Option<Duration> {
        let is_unwritten = |log: &RawLog| !log.is_open() || !log.is_whole_so_far();
        let has_backlog =
            [&self.output, &self.errors].into_iter().filter_map(|it| it.log.as_ref()).any(is_unwritten);
        let retry = has_backlog.then(|| self.last_retry + RETRY);
        let first = [retry, self.state.due()].into_iter().flatten().min()?;
        Some(first.saturating_duration_since(now))
    }

    /// Performs the actions that are due.
    fn act_in_time(&mut self) {
        let now = self.world.now();
        if self.state.take_kill(now) {
            self.world.send(Signal::KILL);
        }
        if now.saturating_duration_since(self.last_retry) >= RETRY {
            self.last_retry = now;
            self.retry_logs();
        }
    }

    /// Retries to open logs, and to write bytes that couldn't be written.
    fn retry_logs(&mut self) {
        for channel in [Channel::Output, Channel::Errors] {
            if self.agent_output(channel).log.as_ref().is_some_and(|log| !log.is_open()) {
                // If this fails, so does opening the log.
                let _ = self.options.paths.create();
            }
            let events = self.agent_output_mut(channel).log.as_mut().map(RawLog::retry).unwrap_or_default();
            self.report(channel, events);
        }
    }

    fn take_request(&mut self) {
        let mut request = [0];
        let count = self.requests.as_mut().and_then(|line| line.read(&mut request).ok());
        match (count, request) {
            (Some(1), [REPORT_LINGERING]) => self.display.notice(RunNotice::Lingering { is_ended: false }),
            (Some(1), [STOP]) => {
                self.display.notice(RunNotice::Lingering { is_ended: true });
                let signal = self.state.stop(self.world.now());
                self.world.send(signal);
            }
            (Some(1), [request @ (REPORT_COST | REPORT_MISSING_PRICE | STOP_FOR_COST)]) => {
                self.take_cost_request(request);
            }
            _ => self.requests = None,
        }
    }

    /// Takes a request that comes from the limits of the cost.
    fn take_cost_request(&mut self, request: u8) {
        let CostLimits { warn, stop } = self.options.cost_limits;
        let stopping =
            (request == STOP_FOR_COST).then(|| self.state.stop_for_cost(self.world.now())).flatten();
        let notice = match (request, warn.or(stop), stop) {
            (REPORT_MISSING_PRICE, ..) => RunNotice::NoPrice,
            (REPORT_COST, Some(limit), _) => RunNotice::CostPassed { limit, is_stopped: false },
            (STOP_FOR_COST, _, Some(limit)) => {
                RunNotice::CostPassed { limit, is_stopped: stopping.is_some() }
            }
            _ => return,
        };
        self.display.notice(notice);
        if let Some(signal) = stopping {
            self.world.send(signal);
        }
    }

    /// Takes the requests about the cost that came after the agent's end. Others have no meaning any more.
    fn take_last_requests(&mut self) {
        while let Some(line) = &mut self.requests {
            let mut sources = [PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN)];
            let (at_once, mut request) = (Timespec::default(), [0]);
            let is_there = matches!(poll(&mut sources, Some(&at_once)), Ok(1..));
            if !is_there || !matches!(line.read(&mut request), Ok(1)) {
                return;
            }
            self.take_cost_request(request[0]);
        }
    }

    /// Reports the events of a log.
    fn report(&mut self, channel: Channel, events: Vec<LogEvent>) {
        for event in events {
            let Some(log) = &self.agent_output(channel).log else { return };
            let (path, start, gaps) = (log.path.clone(), log.start, log.gaps.clone());
            if let LogEvent::Resumed | LogEvent::Anew = event {
                if let Some(reader) = log.reader() {
                    self.display.open(channel, reader);
                }
                if let (Channel::Output, Some(reader)) = (channel, log.reader()) {
                    self.kept.open(channel, reader);
                }
            }
            if let LogEvent::Resumed | LogEvent::Anew | LogEvent::Cut(_) = event {
                let place = path.clone();
                // The gaps so far are known even if the recorder is killed later.
                self.side.change(|side| match channel {
                    Channel::Output => {
                        (side.log, side.log_start, side.gaps) = (side.folder.join(place), start, gaps);
                    }
                    Channel::Errors => side.errors = Some(place),
                });
                self.kept.wake();
            }
            let notice = match event {
                LogEvent::Failed(error) => RunNotice::Unwritten(path, error),
                LogEvent::Resumed => RunNotice::Resumed(path),
                LogEvent::Anew => RunNotice::Anew(path),
                LogEvent::Cut(length) => {
                    self.display.cut(channel, length);
                    if channel == Channel::Output {
                        self.kept.cut(channel, length);
                    }
                    RunNotice::Cut(path)
                }
                LogEvent::Unsynced(error) => RunNotice::Unsynced(path, error),
            };
            self.display.notice(notice);
        }
    }

    fn wait(&mut self, withheld: [bool; 2], patience: Option<Duration>) -> Vec<Waker> {
        let lines = self.signals.lines.iter().enumerate();
        let mut sources: Vec<(Waker, BorrowedFd<'_>)> =
            lines.map(|(index, (_, line))| (Waker::Signal(index), line.as_fd())).collect();
        sources.extend(self.exit.as_ref().map(|exit| (Waker::Exit, exit.as_fd())));
        sources.extend(self.requests.as_ref().map(|line| (Waker::Request, line.as_fd())));
        if !withheld[0] {
            sources.extend(self.output.pipe.as_ref().map(|it| (Waker::Read(Channel::Output), it.as_fd())));
        }
        if !withheld[1] {
            sources.extend(self.errors.pipe.as_ref().map(|it| (Waker::Read(Channel::Errors), it.as_fd())));
        }
        sources.extend(self.display.room().map(|room| (Waker::Room, room)));
        sources.extend(self.kept.room().map(|room| (Waker::KeptRoom, room)));
        let mut polled: Vec<PollFd<'_>> =
            sources.iter().map(|(_, fd)| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        self.world.wait(&mut polled, patience);
        let woken = sources.iter().zip(&polled).filter(|(_, fd)| !fd.revents().is_empty());
        woken.map(|((waker, _), _)| *waker).collect()
    }

    /// Reads available bytes, and passes them first to the log, then to the display.
    fn read(&mut self, channel: Channel, buffer: &mut [u8]) {
        let pipe = &mut self.agent_output_mut(channel).pipe;
        let bytes = match pipe.as_mut().map(|pipe| pipe.read(buffer)) {
            Some(Ok(count @ 1..)) => &buffer[..count],
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => return,
            _ => return *pipe = None,
        };
        self.state.note_bytes(self.world.now());
        if self.agent_output(channel).log.is_none() {
            self.errors.log = Some(self.open_errors());
        }
        let Some(log) = &mut self.agent_output_mut(channel).log else { return };
        let (place, events) = log.append(bytes);
        self.report(channel, events);
        self.display.push(channel, bytes, place);
        if channel == Channel::Output {
            self.kept.push(channel, bytes, place);
        }
    }

    fn open_errors(&mut self) -> RawLog {
        let path = self.options.paths.errors(&self.side.content().id);
        let (log, opened) = RawLog::open(&path, self.options.sync);
        if let Err(error) = opened {
            self.display.notice(RunNotice::Unwritten(log.path.clone(), error));
        }
        if let Some(log) = log.reader() {
            self.display.open(Channel::Errors, log);
        }
        let path = log.path.clone();
        self.side.change(|side| side.errors = Some(path));
        self.kept.wake();
        log
    }

    /// Reports the processes that the agent left running, since one may be a server that the user wants. Ends them on request, or if a
    /// signal ended the agent or the run.
    fn settle_helpers(&mut self, exit: AgentExit) {
        let mut helpers = self.world.helpers();
        if helpers.is_empty() {
            return;
        }
        let is_killed = matches!(exit, AgentExit::Signal(_)) || self.state.interrupt().is_some();
        if !is_killed && !self.options.ends_helpers {
            return self.display.notice(RunNotice::LeftRunning(helpers));
        }
        self.world.send(Signal::TERM);
        let end = self.world.now() + HELPERS;
        while !helpers.is_empty() && self.world.now() < end {
            self.world.wait(&mut [], Some(LOOK));
            helpers = self.world.helpers();
        }
        if !helpers.is_empty() {
            self.world.send(Signal::KILL);
        }
    }

    fn finish(mut self) -> RunEnd {
        // Other processes may still write there, but their output isn't read.
        (self.output.pipe, self.errors.pipe) = (None, None);
        let (missing, is_log_whole) = self.finish_logs();
        for (path, bytes) in missing {
            self.display.notice(RunNotice::Missing(path, bytes));
        }
        // While there is a watchdog, the group exists, even after the agent was waited for.
        let exit = exit_of(self.world.exit());
        self.settle_helpers(exit);
        self.world.dismiss_watchdog();
        self.kept.end();
        // If the keeper panicked, it is unknown whether the run is done.
        let unknown = StreamVerdict { is_known: true, ..StreamVerdict::default() };
        let verdict = self.keeper.take().map_or(unknown, |keeper| keeper.join().unwrap_or(unknown));
        self.take_last_requests();
        let is_stopped = self.state.is_stopped_after_result();
        let is_over_cost = self.state.is_over_cost();
        let facts = RunEndFacts {
            exit,
            is_interrupted: self.state.interrupt().is_some(),
            is_stopped,
            is_known_agent: self.options.agent.is_some(),
            stream: verdict,
        };
        let RunVerdict { status, code, lacks_result } = facts.verdict();
        if lacks_result {
            self.display.notice(RunNotice::NoResult);
        }
        let raw_log = self.output.log.take();
        let passed = self.world.now().saturating_duration_since(self.begun);
        self.side.change(|side| {
            side.status = status;
            side.waiting = None;
            side.ended = Some(ended(side.started, Timestamp::now(), passed));
            side.exit = Some(exit);
            side.stopped_after_result = is_stopped;
            side.stopped_for_cost = is_over_cost;
            if let Some(log) = &raw_log {
                // They are known only now if the log couldn't be opened at the start, or was written anew.
                side.log = side.folder.join(&log.path);
                side.log_start = log.start;
                side.log_bytes = Some(log.bytes());
                side.gaps.clone_from(&log.gaps);
            }
        });
        let log = raw_log.filter(|log| log.can_be_read() && log.bytes() > 0).map(|log| log.path);
        if let Err(error) = self.side.write() {
            let path = self.options.paths.side_file(&self.side.content().id);
            self.display.notice(RunNotice::NoSideFile(path, error));
        }
        self.side.release();
        // The display may block forever: on a stopped terminal, or a pipe that nobody reads.
        self.signals.release();
        if let Some(signal) = self.state.signal() {
            self.world.end_by(signal, LAST_WORDS);
        }
        self.display.end();
        let signal = self.state.interrupt().and_then(|signal| u8::try_from(signal.as_raw()).ok());
        RunEnd { code, signal, is_log_whole, status, log }
    }

    /// Finishes the logs. Returns the number of bytes missing in each, and whether everything was written and flushed.
    fn finish_logs(&mut self) -> (Vec<(PathBuf, u64)>, bool) {
        let mut missing = Vec::new();
        let mut is_whole = true;
        for channel in [Channel::Output, Channel::Errors] {
            let Some(log) = &mut self.agent_output_mut(channel).log else { continue };
            let (bytes, events) = log.finish();
            is_whole &= bytes == 0 && log.is_flushed();
            if bytes > 0 {
                missing.push((log.path.clone(), bytes));
            }
            self.report(channel, events);
        }
        (missing, is_whole)
    }
}

/// Returns when a run ended. A clock that was set back to before its start isn't asked: then the time that has passed counts.
fn ended(started: Timestamp, now: Timestamp, passed: Duration) -> Timestamp {
    if now >= started { now } else { started.checked_add(passed).unwrap_or(started) }
}
