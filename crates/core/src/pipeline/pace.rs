//! How often what grows is looked at.

use std::time::Duration;

use crate::profile::Live;

/// When to look at what grows: at most so many times a second, and the last time after it has grown the last time. It has no clock:
/// the time is handed in, counted from wherever the caller likes.
#[derive(Clone, Copy, Debug)]
pub struct LivePace {
    interval: Duration,
    last: Option<Duration>,
}

impl LivePace {
    /// The pace that a profile wants.
    pub fn new(live: Live) -> Self {
        Self { interval: live.interval(), last: None }
    }

    /// How long to wait at `now` until the next look at what has grown. If it is nothing, the look is due, and taken to be made.
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
    fn looks_are_so_far_apart_as_the_rate_says() {
        let mut pace = LivePace::new(Live { rate: 20, ..Live::default() });
        let waits =
            [0, 10, 49, 50, 60, 1000, 1049, 1050].map(|at| pace.wait(Duration::from_millis(at)).as_millis());
        assert_eq!(waits, [0, 40, 1, 0, 40, 0, 1, 0]);
    }
}
