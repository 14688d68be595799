//! Tokens, as Codex counts them: what was read from the cache is among the input.

use streamfmt_core::event::Usage;
use streamfmt_core::item::{Fact, Item};
use streamfmt_core::json::Value;

/// The tokens of some model calls.
#[derive(Clone, Copy, Default)]
pub(super) struct Tokens {
    input: u64,
    output: u64,
    cached: u64,
    written: u64,
}

impl Tokens {
    /// Reads a `usage`.
    pub(super) fn of(usage: Value<'_>) -> Self {
        let [input, output, cached, written] = usage
            .get_all(["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens"])
            .map(|count| count.and_then(Value::int).and_then(|count| u64::try_from(count).ok()).unwrap_or(0));
        Self { input: input.saturating_sub(cached), output, cached, written }
    }

    /// The same in our terms.
    pub(super) fn usage(self) -> Usage {
        let Self { input, output, cached, written } = self;
        Usage { input, output, cache_read: cached, cache_write: written }
    }

    /// Whether they are counted anew since there were so many.
    pub(super) fn is_anew(self, before: Self) -> bool {
        self.input < before.input || self.output < before.output || self.cached < before.cached
    }

    /// Those counted since there were so many; all of them if it is counted anew.
    pub(super) fn since(self, before: Self) -> Self {
        if self.is_anew(before) {
            return self;
        }
        Self {
            input: self.input - before.input,
            output: self.output - before.output,
            cached: self.cached - before.cached,
            written: self.written.saturating_sub(before.written),
        }
    }

    /// Keeps them on an item, unless there are none: reviews report zeros only.
    pub(super) fn add_to(self, item: &mut Item) {
        item.data.extend(self.fact().map(|usage| ("usage", usage)));
    }

    /// The same as a fact.
    pub(super) fn fact(self) -> Option<Fact> {
        let Self { input, output, cached, written } = self;
        if input == 0 && output == 0 && cached == 0 {
            return None;
        }
        let fact = |count: u64| Fact::Int(count.cast_signed());
        let mut usage = vec![("input", fact(input)), ("output", fact(output)), ("cache_read", fact(cached))];
        if written > 0 {
            usage.push(("cache_write", fact(written)));
        }
        Some(Fact::Map(usage))
    }
}
