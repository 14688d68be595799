//! The pace of live updates.

use std::time::Duration;

use crate::profile::Live;

/// Decides when to take updates: at most so many times a second, and once after the last growth. It has no clock: callers pass the
/// time since a moment of their choice.
#[derive(Clone, Copy, Debug)]
pub struct LivePace {
    interval: Duration,
    last: Option<Duration>,
}

impl LivePace {
    /// The pace of a profile.
    pub fn new(live: Live) -> Self {
        Self { interval: live.interval(), last: None }
    }

    /// How long to wait at `now` until updates are due. If this is zero, they are due, and counted as taken at `now`.
    pub fn wait(&mut self, now: Duration) -> Duration {
        let wait = self.last.map_or(Duration::ZERO, |last| (last + self.interval).saturating_sub(now));
        if wait.is_zero() {
            self.last = Some(now);
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_due_at_the_intervals_of_the_rate() {
        let mut pace = LivePace::new(Live { rate: 20, ..Live::default() });
        let waits =
            [0, 10, 49, 50, 60, 1000, 1049, 1050].map(|at| pace.wait(Duration::from_millis(at)).as_millis());
        assert_eq!(waits, [0, 40, 1, 0, 40, 0, 1, 0]);
    }
}
