//! The input of `run`: what the recorder passes on.

use std::io;
use std::time::Duration;

use streamfmt::core::text::clean;
use streamfmt_server::{FeedStep, LiveFeed, Recording, RunEnd, RunNotice};

use crate::message::reason;
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
}

impl RecordedInput {
    pub(crate) fn new(feed: LiveFeed, recording: Recording) -> Self {
        Self { feed, recording, aside: Vec::new() }
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
            "LOG NOT WRITTEN: {}: {} (the run continues; retrying every second)",
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
        RunNotice::Lingering { is_ended: true } => {
            "the agent has reported its result but keeps running: ending it".to_owned()
        }
        RunNotice::Lingering { is_ended: false } => {
            "the agent has reported its result but keeps running (Ctrl-C ends it; --exit-after-result does so automatically)"
                .to_owned()
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
