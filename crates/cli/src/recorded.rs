//! Shows an agent that runs: what its recorder hands on, and what is to be known at its end.

use std::io;
use std::time::{Duration, Instant};

use streamfmt::core::pipeline::Pipeline;
use streamfmt::core::text::clean;
use streamfmt_server::{FeedStep, LiveFeed, Recording, RunEnd, RunNotice, RunStatus};

use crate::follow::ReadOutcome;
use crate::lingering::{Lingering, LingeringStep};
use crate::message::{reason, tell};
use crate::signal::{Signals, Woken};

/// A line of standard error is told in pieces of this size.
const LINE: usize = 8 * 1024;

/// What an agent writes, which runs.
pub(crate) struct RecordedInput {
    feed: LiveFeed,
    recording: Recording,
    /// What has come of standard error without the end of its line.
    aside: Vec<u8>,
    lingering: Lingering,
    known: KnownRun,
}

/// What the stream told.
#[derive(Debug, Default)]
struct KnownRun {
    session: Option<String>,
    /// Whether it was a known agent's stream.
    is_known: bool,
    has_ended: bool,
    has_failed: bool,
}

impl RecordedInput {
    pub(crate) fn new(feed: LiveFeed, recording: Recording, exit_after_result: Option<Duration>) -> Self {
        Self {
            feed,
            recording,
            aside: Vec::new(),
            lingering: Lingering::new(exit_after_result),
            known: KnownRun::default(),
        }
    }

    /// Reads what comes next.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        signals: &mut Signals,
        patience: Option<Duration>,
    ) -> io::Result<ReadOutcome> {
        loop {
            match self.feed.next(buffer)? {
                FeedStep::Output(count) => return Ok(ReadOutcome::Bytes(count)),
                FeedStep::Errors(count) => {
                    self.aside.extend_from_slice(&buffer[..count]);
                    let lines = self.lines(false);
                    if !lines.is_empty() {
                        return Ok(ReadOutcome::Aside(lines));
                    }
                }
                FeedStep::Notice(notice) => return Ok(ReadOutcome::Note(describe(&notice))),
                FeedStep::Over if !self.aside.is_empty() => return Ok(ReadOutcome::Aside(self.lines(true))),
                FeedStep::Over => return Ok(ReadOutcome::End),
                FeedStep::Wait => match signals.wait(Some(self.feed.bell()), patience, false)? {
                    Woken::Input | Woken::Closed => {}
                    Woken::Signal | Woken::Timeout => return Ok(ReadOutcome::Pause),
                },
            }
        }
    }

    /// The lines of standard error that are whole, clean; at the end the last one, too.
    fn lines(&mut self, is_end: bool) -> Vec<String> {
        let whole = self.aside.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let count = if is_end || self.aside.len() - whole > LINE { self.aside.len() } else { whole };
        let taken: Vec<u8> = self.aside.drain(..count).collect();
        let text = String::from_utf8_lossy(&taken);
        text.lines().map(|line| clean(line).into_owned()).collect()
    }

    /// How long until something is due with an agent that keeps running after its result.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.lingering.patience(Instant::now())
    }

    /// Notes what is known of the session by now.
    pub(crate) fn note(&mut self, pipeline: &Pipeline, is_news: bool) {
        if is_news {
            let (report, session) = (pipeline.report(), pipeline.session());
            self.known.is_known = report.events > 0;
            self.known.has_ended = report.ended;
            self.known.has_failed = report.failed;
            let named = session.facts().session.as_deref();
            if let Some(named) = named.filter(|named| self.known.session.as_deref() != Some(*named)) {
                self.known.session = Some(named.to_owned());
                self.recording.note_agent_session(named);
            }
            let is_done =
                report.ended && session.open_calls() == 0 && session.running_agents().next().is_none();
            self.lingering.note(is_done, Instant::now());
        }
        match self.lingering.take_due(Instant::now()) {
            None => {}
            Some(LingeringStep::Report) => tell(
                "the agent has reported its result but keeps running (Ctrl-C ends it; --exit-after-result does so automatically)",
            ),
            Some(LingeringStep::Stop) => {
                tell("the agent has reported its result but keeps running: ending it");
                self.recording.stop();
            }
        }
    }

    /// Waits for the end of the run, whoever shows it; says how the run stands.
    pub(crate) fn finish(self) -> RunEnd {
        let Self { feed, recording, known, .. } = self;
        // Nobody takes anything any more.
        drop(feed);
        let (end, settlement) = recording.wait();
        // Of a command whose stream isn't known nothing but its exit code tells.
        let has_done_well = if known.is_known { known.has_ended && !known.has_failed } else { true };
        if has_done_well && end.code == 0 && end.status == RunStatus::Failed {
            settlement.is_done();
        }
        end
    }
}

fn describe(notice: &RunNotice) -> String {
    match notice {
        RunNotice::OtherLog(path) => {
            format!("another run is writing to that log; using {} instead", path.display())
        }
        RunNotice::Unwritten(path, error) => format!(
            "LOG NOT WRITTEN: {}: {} (the run continues; retrying every second)",
            path.display(),
            reason(error)
        ),
        RunNotice::Missing(path, bytes) => {
            format!("{bytes} bytes of the agent's output are missing in {}", path.display())
        }
        RunNotice::NoSideFile(path, error) => format!("can't write {}: {}", path.display(), reason(error)),
        RunNotice::NoWatchdog(error) => {
            format!(
                "can't start the watchdog: {} (if streamfmt is killed, the agent keeps running)",
                reason(error)
            )
        }
        RunNotice::Unreadable => {
            "the log was changed by another program: a part of it can't be shown".to_owned()
        }
        RunNotice::LeftRunning(helpers) => {
            let named = helpers.iter().map(|helper| format!("{} ({})", helper.name, helper.pid));
            let named: Vec<String> = named.take(5).collect();
            let more = helpers.len().saturating_sub(named.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("the agent left processes running: {}{more} (--end-helpers ends them)", named.join(", "))
        }
    }
}
