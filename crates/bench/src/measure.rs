//! Processor times of this thread, and statistics of several.

use std::time::Duration;

/// The processor time of `work`; its wall time on systems other than Unix.
pub fn cpu(work: impl FnOnce()) -> Duration {
    let before = on_cpu();
    work();
    on_cpu().saturating_sub(before)
}

/// The processor time of this thread. In `/proc`, Linux counts it in ticks of some milliseconds: the shortest of several times would be
/// one that began just after a tick and ended just before one.
#[cfg(unix)]
fn on_cpu() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// The time since the first call.
#[cfg(not(unix))]
fn on_cpu() -> Duration {
    use std::{sync::LazyLock, time::Instant};

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// The processor time of all children of this process that have ended, and of theirs, in ticks of 10 ms (Linux).
pub fn children_on_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The times of several measurements of one thing.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Adds one.
    pub fn add(&mut self, time: Duration) {
        self.0.push(time);
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
        quantile(self.0.iter().map(Duration::as_secs_f64), part)
            .map_or(Duration::ZERO, Duration::from_secs_f64)
    }

    /// How many times as long it took as `base`, which was measured in the same rounds: the ratio in the middle of those
    /// of each round, since a machine may be slower in one round than in another. Zero if there are none.
    pub fn over(&self, base: &Self) -> f64 {
        let pairs = self.0.iter().zip(&base.0).map(|(time, base)| time.as_secs_f64() / base.as_secs_f64());
        quantile(pairs, 0.5).unwrap_or_default()
    }
}

fn quantile(values: impl Iterator<Item = f64>, part: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    #[expect(clippy::cast_sign_loss, reason = "neither factor is below zero")]
    let at = (part.clamp(0.0, 1.0) * last).round() as usize;
    values.get(at).copied()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::*;

    #[test]
    fn short_work_is_measured_and_waiting_is_not() {
        let work = || {
            let clock = Instant::now();
            while clock.elapsed() < Duration::from_micros(200) {
                black_box(clock);
            }
        };
        assert!((0..20).all(|_| cpu(work) > Duration::ZERO), "counted in ticks");
        assert!(
            cfg!(not(unix))
                || cpu(|| std::thread::sleep(Duration::from_millis(20))) < Duration::from_millis(20)
        );
    }

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let mut times = Times::default();
        assert_eq!(times.median(), Duration::ZERO);
        for seconds in [5, 1, 4, 2, 3] {
            times.add(Duration::from_secs(seconds));
        }
        assert_eq!([0.0, 0.5, 0.99].map(|part| times.quantile(part).as_secs()), [1, 3, 5]);
    }

    #[test]
    fn a_slow_round_leaves_the_ratio_as_it_is() {
        let of = |seconds: [u64; 3]| Times(seconds.map(Duration::from_secs).to_vec());
        let ratio = of([6, 18, 7]).over(&of([2, 6, 2]));
        assert!((ratio - 3.0).abs() < 1e-9, "{ratio}");
        assert!(Times::default().over(&Times::default()).abs() < 1e-9);
    }
}
