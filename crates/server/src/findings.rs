//! Facts about a run that are found in its stream. The display finds them while it formats the stream, so that the keeper needs to decode
//! the stream only if the display is late.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use streamfmt::core::item::{Id, Waiting};
use streamfmt::core::pipeline::{Pipeline, Setup};

use crate::run_cost::{CostMeter, RunCost};

/// The longest session id of an agent that is kept, in bytes.
const MAX_SESSION_ID: usize = 1024;

/// The facts about a run at the end of its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamVerdict {
    /// Whether it is the stream of a known agent.
    pub(crate) is_known: bool,
    /// How it ends.
    pub(crate) end: StreamEnd,
}

/// The end of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// It ends without an outcome.
    #[default]
    Missing,
    /// The user interrupted the agent, and no outcome followed.
    Interrupted,
    /// Its last outcome is an error.
    Failed,
    /// It ends with another outcome, or is of a form that needs none, such as a history.
    Done,
}

/// The facts about a run up to a position in its stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StreamFindings {
    /// The number of bytes of the stream that were decoded.
    pub(crate) bytes: u64,
    /// Whether these are whole lines of a known agent: then the end of the stream would change nothing.
    pub(crate) is_certain: bool,
    /// The agent's session id. A very long one isn't kept; it is in the log.
    pub(crate) session: Option<String>,
    /// Whether the last item is a result, and neither a call nor a sub-agent is open.
    pub(crate) is_done: bool,
    /// The call that has waited for a person the longest, and what it needs.
    pub(crate) waiting: Option<(Id, Waiting)>,
    /// What it has cost, if that is limited.
    pub(crate) cost: RunCost,
    pub(crate) verdict: StreamVerdict,
}

impl StreamFindings {
    /// Updates the findings from a pipeline, which received these bytes last, and which `meter` watches.
    pub(crate) fn update(&mut self, pipeline: &Pipeline, bytes: &[u8], meter: Option<&CostMeter>) {
        let (report, session) = (pipeline.report(), pipeline.session());
        let facts = session.facts();
        self.bytes += bytes.len() as u64;
        let named = facts.session.as_deref().filter(|id| id.len() <= MAX_SESSION_ID);
        if named.is_some() && self.session.as_deref() != named {
            self.session = named.map(str::to_owned);
        }
        let is_known = report.events > 0;
        self.is_certain = is_known && report.dialect.is_some() && bytes.last() == Some(&b'\n');
        self.is_done =
            report.ended && session.open_calls() == 0 && facts.background_tasks.unwrap_or_default() == 0;
        self.waiting = session.waiting_calls().next().map(|(call, waiting)| (call.clone(), waiting));
        let end = match () {
            () if is_known && !report.lacks_outcome() && report.failed => StreamEnd::Failed,
            () if is_known && !report.lacks_outcome() => StreamEnd::Done,
            () if session.was_interrupted() => StreamEnd::Interrupted,
            () => StreamEnd::Missing,
        };
        self.verdict = StreamVerdict { is_known, end };
        if let Some(meter) = meter {
            self.cost = meter.so_far(session);
        }
    }
}

/// Findings of one thread that another one waits for.
#[derive(Clone, Default)]
pub(crate) struct SharedFindings {
    found: Arc<(Mutex<StreamFindings>, Condvar)>,
    /// Adds up the cost, if that is limited.
    meter: Option<CostMeter>,
}

impl SharedFindings {
    pub(crate) fn new(meter: Option<CostMeter>) -> Self {
        Self { meter, ..Self::default() }
    }

    /// Prepares the pipeline whose findings these will be.
    pub(crate) fn watch(&self, setup: &mut Setup) {
        if let Some(meter) = &self.meter {
            meter.watch(setup);
        }
    }

    /// Updates the findings from the display's pipeline, which received these bytes last.
    pub(crate) fn update(&self, pipeline: &Pipeline, bytes: &[u8]) {
        self.lock().update(pipeline, bytes, self.meter.as_ref());
        self.found.1.notify_all();
    }

    /// Returns the current findings.
    pub(crate) fn so_far(&self) -> StreamFindings {
        self.lock().clone()
    }

    /// Waits until this many bytes were decoded, for at most `most`.
    pub(crate) fn wait(&self, bytes: u64, most: Duration) {
        let waited = self.found.1.wait_timeout_while(self.lock(), most, |found| found.bytes < bytes);
        drop(waited);
    }

    fn lock(&self) -> MutexGuard<'_, StreamFindings> {
        self.found.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
