//! Notices an agent that keeps running after its result. It reads no clock: callers pass the time.

use std::time::{Duration, Instant};

/// How long an agent may keep running after its result before the user is informed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Decides what to do about an agent that has reported its result and keeps running. It does so once for each run.
pub(crate) struct Lingering {
    /// When to end the agent; without it the user is informed.
    exit_after_result: Option<Duration>,
    /// When the result came, if nothing has come since and nothing is open.
    since: Option<Instant>,
    is_settled: bool,
}

/// An action that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LingeringStep {
    /// Inform the user.
    Report,
    /// End the agent.
    Stop,
}

impl Lingering {
    pub(crate) fn new(exit_after_result: Option<Duration>) -> Self {
        Self { exit_after_result, since: None, is_settled: false }
    }

    /// Records that something came. `is_done`: whether it ends with a result, and neither a call nor a sub-agent is open.
    pub(crate) fn note(&mut self, is_done: bool, now: Instant) {
        self.since = is_done.then_some(now);
    }

    /// Returns the time until something is due, if nothing comes before.
    pub(crate) fn patience(&self, now: Instant) -> Option<Duration> {
        let since = self.since.filter(|_| !self.is_settled)?;
        Some(self.limit().saturating_sub(now.saturating_duration_since(since)))
    }

    /// Returns the action that is due, once.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<LingeringStep> {
        if !self.patience(now)?.is_zero() {
            return None;
        }
        self.is_settled = true;
        Some(if self.exit_after_result.is_some() { LingeringStep::Stop } else { LingeringStep::Report })
    }

    fn limit(&self) -> Duration {
        self.exit_after_result.unwrap_or(PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_user_is_informed_once_after_thirty_quiet_seconds() {
        let (mut lingering, begun) = (Lingering::new(None), Instant::now());
        assert_eq!((lingering.patience(begun), lingering.take_due(begun)), (None, None));
        lingering.note(true, begun);
        assert_eq!(lingering.patience(begun + 10 * SECOND), Some(20 * SECOND));
        assert_eq!(lingering.take_due(begun + 29 * SECOND), None);
        assert_eq!(lingering.take_due(begun + 30 * SECOND), Some(LingeringStep::Report));
        lingering.note(true, begun + 31 * SECOND);
        assert_eq!(lingering.take_due(begun + 90 * SECOND), None);
        assert_eq!(lingering.patience(begun + 90 * SECOND), None);
    }

    #[test]
    fn whatever_comes_after_a_result_starts_the_time_again_and_an_open_task_stops_it() {
        let (mut lingering, begun) = (Lingering::new(None), Instant::now());
        lingering.note(true, begun);
        lingering.note(false, begun + 20 * SECOND);
        assert_eq!(lingering.take_due(begun + 600 * SECOND), None);
        lingering.note(true, begun + 600 * SECOND);
        assert_eq!(lingering.take_due(begun + 629 * SECOND), None);
        assert_eq!(lingering.take_due(begun + 630 * SECOND), Some(LingeringStep::Report));
    }

    #[test]
    fn an_agent_is_ended_when_the_user_wants_that_instead() {
        let (mut lingering, begun) = (Lingering::new(Some(2 * SECOND)), Instant::now());
        lingering.note(true, begun);
        assert_eq!(lingering.take_due(begun + SECOND), None);
        assert_eq!(lingering.take_due(begun + 2 * SECOND), Some(LingeringStep::Stop));
        assert_eq!(lingering.take_due(begun + 60 * SECOND), None);
    }
}
