//! The input of `run`: what the recorder passes on.

use std::io;
use std::time::Duration;

use streamfmt::core::pipeline::{Pipeline, Setup};
use streamfmt_server::{FeedStep, LiveFeed, Recording, RunEnd, RunNotice};

use crate::aside::AsideLines;
use crate::message::{message_redactor, reason, unwritten};
use crate::read_outcome::ReadOutcome;
use crate::signal::{Signals, Woken};

/// The output of a running agent.
pub(crate) struct RecordedInput {
    feed: LiveFeed,
    recording: Recording,
    aside: AsideLines,
    /// Whether the run is stopped because it cost too much.
    is_over_cost: bool,
}

impl RecordedInput {
    pub(crate) fn new(feed: LiveFeed, recording: Recording) -> Self {
        Self { feed, recording, aside: AsideLines::new(message_redactor), is_over_cost: false }
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
                    let lines = self.aside.push(&buffer[..count]);
                    if !lines.is_empty() {
                        return Ok(ReadOutcome::Aside(lines));
                    }
                }
                FeedStep::Notice(notice) => {
                    self.is_over_cost |= matches!(notice, RunNotice::CostPassed { is_stopped: true, .. });
                    return Ok(ReadOutcome::Note(describe(&notice)));
                }
                FeedStep::Over if !self.aside.is_empty() => {
                    return Ok(ReadOutcome::Aside(self.aside.finish()));
                }
                FeedStep::Over => return Ok(ReadOutcome::End),
                FeedStep::Wait => match signals.wait(Some(self.feed.bell()), patience, false)? {
                    Woken::Input | Woken::Closed => {}
                    Woken::Signal | Woken::Timeout => return Ok(ReadOutcome::Pause),
                },
            }
        }
    }

    /// Prepares the pipeline that will decode the output.
    pub(crate) fn watch(&self, setup: &mut Setup) {
        self.recording.watch(setup);
    }

    /// Why the run was stopped, if it was.
    pub(crate) fn stopped_for(&self) -> Option<&'static str> {
        self.is_over_cost.then_some("cost")
    }

    /// Notes what the pipeline has found, which got these bytes last.
    pub(crate) fn note(&self, pipeline: &Pipeline, bytes: &[u8]) {
        self.recording.note(pipeline, bytes);
    }

    /// Waits for the end of the run.
    pub(crate) fn finish(self) -> RunEnd {
        let Self { feed, recording, .. } = self;
        // From now on, the recorder keeps nothing for the display.
        drop(feed);
        recording.wait()
    }
}

fn describe(notice: &RunNotice) -> String {
    match notice {
        RunNotice::OtherLog(path) => {
            format!("another run is writing to that log; using {} instead", path.display())
        }
        RunNotice::Unwritten(path, error) => format!(
            "LOG NOT WRITTEN: {}: {} (the run continues; it is tried again every second)",
            path.display(),
            reason(error)
        ),
        RunNotice::Resumed(path) => format!("the log is written again: {}", path.display()),
        RunNotice::Anew(path) => format!(
            "the log was removed while it was written: {} has all of it again",
            path.display()
        ),
        RunNotice::Cut(path) => {
            format!("{}: another program cut the log; a part of the agent's output is lost", path.display())
        }
        RunNotice::Unsynced(path, error) => format!(
            "{}: can't flush the log to disk: {} (all of it is written, but a power failure could lose it)",
            path.display(),
            reason(error)
        ),
        RunNotice::Missing(path, bytes) => {
            format!("{bytes} bytes of the agent's output are missing in {}", path.display())
        }
        RunNotice::NoSideFile(path, error) => unwritten(path, error),
        RunNotice::NoWatchdog(error) => {
            format!(
                "can't start the watchdog: {} (if streamfmt is killed, the agent keeps running)",
                reason(error)
            )
        }
        RunNotice::Unreadable => {
            "the log was changed by another program: a part of it can't be shown".to_owned()
        }
        RunNotice::Lingering { is_ended: true } => {
            "the agent has reported its result but keeps running: ending it".to_owned()
        }
        RunNotice::Lingering { is_ended: false } => {
            "the agent has reported its result but keeps running (Ctrl-C ends it; --exit-after-result does so automatically)"
                .to_owned()
        }
        RunNotice::CostPassed { limit, is_stopped: false } => format!("the run has cost more than ${limit}"),
        RunNotice::CostPassed { limit, is_stopped: true } => {
            format!("the run has cost more than ${limit}: stopping it")
        }
        RunNotice::NoPrice => {
            "a model of this run has no known price: its tokens don't count for the limit of the cost".to_owned()
        }
        RunNotice::StillWriting => {
            "the agent has ended, but processes that it started keep writing: that is no longer read".to_owned()
        }
        RunNotice::NoResult => "the agent ended without a result".to_owned(),
        RunNotice::LeftRunning(helpers) => {
            let named = helpers.iter().map(|helper| format!("{} ({})", helper.name, helper.pid));
            let named: Vec<String> = named.take(5).collect();
            let more = helpers.len().saturating_sub(named.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("the agent left processes running: {}{more} (--end-helpers ends them)", named.join(", "))
        }
    }
}
