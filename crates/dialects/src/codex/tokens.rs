//! Token counts of Codex, which include cached tokens in the input.

use streamfmt_core::event::Usage;
use streamfmt_core::item::Fact;
use streamfmt_core::json::Value;

/// Parses a `usage`. Cached tokens are subtracted from the input.
pub(super) fn of(usage: Value<'_>) -> Usage {
    let [input, output, cache_read, cache_write] = usage
        .get_all(["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens"])
        .map(|count| count.and_then(Value::int).and_then(|count| u64::try_from(count).ok()).unwrap_or(0));
    Usage { input: input.saturating_sub(cache_read), output, cache_read, cache_write }
}

/// Whether counting started over after `before`: some number is lower.
pub(super) fn has_restarted(now: Usage, before: Usage) -> bool {
    now.input < before.input || now.output < before.output || now.cache_read < before.cache_read
}

/// Returns the tokens counted since `before`: all of `now` if counting started over.
pub(super) fn since(now: Usage, before: Usage) -> Usage {
    if has_restarted(now, before) {
        return now;
    }
    now.combined(before, u64::saturating_sub)
}

/// Returns the fact `usage`, or `None` if there are no tokens: reviews report only zeros.
pub(super) fn fact(tokens: Usage) -> Option<(&'static str, Fact)> {
    let Usage { input, output, cache_read, cache_write } = tokens;
    if input == 0 && output == 0 && cache_read == 0 {
        return None;
    }
    let fact = |count: u64| Fact::Int(count.cast_signed());
    let mut usage = vec![("input", fact(input)), ("output", fact(output)), ("cache_read", fact(cache_read))];
    if cache_write > 0 {
        usage.push(("cache_write", fact(cache_write)));
    }
    Some(("usage", Fact::Map(usage)))
}
