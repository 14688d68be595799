//! The input of `run`: what the recorder passes on, and what is known of the session.

use std::io;
use std::time::{Duration, Instant};

use streamfmt::core::pipeline::Pipeline;
use streamfmt::core::text::clean;
use streamfmt_server::{FeedStep, LiveFeed, Recording, RunEnd, RunNotice, RunStatus};

use crate::lingering::{Lingering, LingeringStep};
use crate::message::{reason, tell};
use crate::read_outcome::ReadOutcome;
use crate::signal::{Signals, Woken};

/// An unfinished line of standard error is shown once it exceeds this size, in bytes.
const LINE: usize = 8 * 1024;

/// The output of a running agent.
pub(crate) struct RecordedInput {
    feed: LiveFeed,
    recording: Recording,
    /// The unfinished last line of standard error.
    aside: Vec<u8>,
    lingering: Lingering,
    known: KnownRun,
}

/// What is known from the stream.
#[derive(Debug, Default)]
struct KnownRun {
    session: Option<String>,
    /// Whether it is the stream of a known agent.
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

    /// Reads the next bytes or messages.
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

    /// Takes the complete lines of standard error, cleaned; at the end also an unfinished one.
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

    /// Notes what is known of the session, and does what is due with an agent that keeps running after its result.
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
            let tasks = session.facts().background_tasks.unwrap_or_default();
            let is_done = report.ended && session.open_calls() == 0 && tasks == 0;
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

    /// Waits for the end of the run and sets its final status.
    pub(crate) fn finish(self) -> RunEnd {
        let Self { feed, recording, known, .. } = self;
        // From now on, the recorder keeps nothing for the display.
        drop(feed);
        let (end, settlement) = recording.wait();
        // For a command whose stream isn't known, only the exit code counts.
        let has_done_well = if known.is_known { known.has_ended && !known.has_failed } else { true };
        if has_done_well && end.code == 0 && end.status == RunStatus::Failed {
            settlement.set_done();
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
