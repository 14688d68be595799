//! A bounded, even sample of a series of any length.

/// Every n-th value of a series, and its last one. When there are too many, n doubles.
#[derive(Debug)]
pub(super) struct Samples<T, const MAX: usize> {
    kept: Vec<T>,
    /// The last value, unless it is kept.
    last: Option<T>,
    stride: usize,
    /// The number of values.
    count: usize,
}

impl<T, const MAX: usize> Default for Samples<T, MAX> {
    fn default() -> Self {
        Self { kept: Vec::new(), last: None, stride: 1, count: 0 }
    }
}

impl<T, const MAX: usize> Samples<T, MAX> {
    /// Adds the next value.
    pub(super) fn push(&mut self, value: T) {
        self.last = None;
        if !self.count.is_multiple_of(self.stride) {
            self.last = Some(value);
        } else if self.kept.len() < MAX {
            self.kept.push(value);
        } else {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
            return self.push(value);
        }
        self.count += 1;
    }

    /// The sample, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.kept.iter().chain(&self.last)
    }

    /// The last value.
    pub(super) fn last(&self) -> Option<&T> {
        self.last.as_ref().or(self.kept.last())
    }

    /// Whether there are at least two values, so that they make a curve.
    pub(super) fn is_curve(&self) -> bool {
        self.count > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_of_any_length_is_sampled_evenly() {
        for count in [1_usize, 2, 399, 400, 401, 800, 801, 1_000, 5_431, 123_456] {
            let mut samples = Samples::<usize, 400>::default();
            (0..count).for_each(|value| samples.push(value));
            let kept: Vec<_> = samples.iter().copied().collect();
            assert!(kept.len() <= 401, "{count}");
            assert_eq!((kept[0], samples.last()), (0, Some(&(count - 1))), "{count}");
            let widest = kept.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            assert!(widest <= 1 || widest * 50 < count, "{count}: a gap of {widest}");
        }
    }
}
