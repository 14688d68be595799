//! Times of this thread, and what is made of several of them.

use std::time::{Duration, Instant};

/// How long `work` took on the processor. On systems that don't tell, how long it took.
pub fn cpu(work: impl FnOnce()) -> Duration {
    let (clock, before) = (Instant::now(), on_cpu());
    work();
    match (before, on_cpu()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => clock.elapsed(),
    }
}

/// Time that this thread was on the processor, to the nanosecond (Linux).
fn on_cpu() -> Option<Duration> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = line.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Times of one thing, measured several times.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Adds one.
    pub fn add(&mut self, time: Duration) {
        let at = self.0.partition_point(|&other| other <= time);
        self.0.insert(at, time);
    }

    /// The shortest: the one that others on the machine disturbed least.
    pub fn min(&self) -> Duration {
        self.quantile(0.0)
    }

    /// The one in the middle.
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// The time that the given part of them (0 to 1) is not above; zero if there are none.
    pub fn quantile(&self, part: f64) -> Duration {
        let last = self.0.len().saturating_sub(1) as f64;
        #[expect(clippy::cast_sign_loss, reason = "neither factor is below zero")]
        let at = (part.clamp(0.0, 1.0) * last).round() as usize;
        self.0.get(at).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let mut times = Times::default();
        assert_eq!(times.median(), Duration::ZERO);
        for seconds in [5, 1, 4, 2, 3] {
            times.add(Duration::from_secs(seconds));
        }
        assert_eq!([0.0, 0.5, 0.99].map(|part| times.quantile(part).as_secs()), [1, 3, 5]);
    }
}
