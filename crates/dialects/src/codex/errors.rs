//! Errors: retries, errors that end a turn, and messages that contain the body of an API response.

use crate::facts::{leveled, string};
use streamfmt_core::item::Fact;
use streamfmt_core::json::{Record, Value, ValueKind};

use super::ItemBuilder;

/// The beginning of an error after which the request is retried.
pub(super) const RETRY: &str = "Reconnecting... ";
/// The same in versions such as 0.45, and what follows the error: `; retrying 1/5 in 183ms…`.
pub(super) const OLD_RETRY: [&str; 2] = ["stream error: ", "; retrying "];

/// Emits the notice for an error with this message.
pub(super) fn notice(message: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
    let Some(text) = message.and_then(Value::decode) else {
        return builder.unknown("error".into(), message.unwrap_or(builder.input.value));
    };
    let content = string(message);
    let notice = if let Some(retry) = text.strip_prefix(RETRY) {
        let mut notice = builder.notice("retry", content);
        let (count, error) = retry.split_once(' ').unwrap_or((retry, ""));
        if let Some((attempt, of)) = count.split_once('/') {
            for (name, number) in [("attempt", attempt), ("of", of)] {
                notice.data.extend(number.parse().ok().map(|number| (name, Fact::Int(number))));
            }
        }
        let error = error.strip_prefix('(').and_then(|error| error.strip_suffix(')')).unwrap_or(error);
        if !error.is_empty() {
            notice.data.push(("error", Fact::Text(error.to_owned())));
        }
        leveled(notice, "warning")
    } else if let Some(retry) = OldRetry::of(&text) {
        let mut notice = builder.notice("retry", content);
        let numbers = ["attempt", "of"].into_iter().zip(retry.counts);
        notice.data.extend(numbers.map(|(name, number)| (name, Fact::Int(number))));
        notice.data.extend(retry.delay_ms.map(|delay| ("delay_ms", Fact::Int(delay))));
        let error = message_in_body(retry.error).unwrap_or_else(|| retry.error.to_owned());
        notice.data.push(("error", Fact::Text(error)));
        leveled(notice, "warning")
    } else {
        let mut notice = builder.notice("error", content);
        notice.data.extend(message_in_body(&text).map(|words| ("words", Fact::Text(words))));
        leveled(notice, "error")
    };
    builder.put(notice);
}

/// An error of older versions after which the request is retried.
#[derive(Debug, PartialEq)]
struct OldRetry<'a> {
    error: &'a str,
    /// The number of the attempt, and of all attempts.
    counts: [i64; 2],
    delay_ms: Option<i64>,
}

impl<'a> OldRetry<'a> {
    fn of(message: &'a str) -> Option<Self> {
        let (error, retry) = message.strip_prefix(OLD_RETRY[0])?.rsplit_once(OLD_RETRY[1])?;
        let (counts, delay) = retry.trim_end_matches('…').split_once(" in ")?;
        let (attempt, of) = counts.split_once('/')?;
        let counts = [attempt.parse().ok()?, of.parse().ok()?];
        Some(Self { error, counts, delay_ms: milliseconds(delay) })
    }
}

/// Parses a duration such as `183ms` or `1.5s`.
fn milliseconds(duration: &str) -> Option<i64> {
    if let Some(number) = duration.strip_suffix("ms") {
        return number.split('.').next()?.parse().ok();
    }
    let (seconds, rest) =
        duration.strip_suffix('s')?.split_once('.').unwrap_or((duration.strip_suffix('s')?, ""));
    let rest: String = rest.chars().chain("000".chars()).take(3).collect();
    seconds.parse::<i64>().ok()?.checked_mul(1_000)?.checked_add(rest.parse().ok()?)
}

/// Replaces the body of an API response in a message by the `message` in it. `None` if there is no such body.
pub(super) fn message_in_body(message: &str) -> Option<String> {
    let start = message.find('{')?;
    let record = Record::from_line(message[start..].trim_end().to_owned()).ok()?;
    let error = record.root().get("error").filter(|error| error.kind() == ValueKind::Object);
    let inside = error.unwrap_or(record.root()).get("message")?.decode()?;
    Some([&message[..start], &*inside].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_versions_write_the_retry_after_the_error() {
        for (message, expected) in [
            ("stream error: a; b; retrying 1/5 in 183ms…", Some(("a; b", [1, 5], Some(183)))),
            ("stream error: a; retrying 2/5 in 1.2345s…", Some(("a", [2, 5], Some(1_234)))),
            ("stream error: a; retrying 2/5 in 2s…", Some(("a", [2, 5], Some(2_000)))),
            ("stream error: a; retrying 2/5 in a while", Some(("a", [2, 5], None))),
            ("stream error: a; retrying soon", None),
            ("a; retrying 1/5 in 183ms…", None),
        ] {
            let expected = expected.map(|(error, counts, delay_ms)| OldRetry { error, counts, delay_ms });
            assert_eq!(OldRetry::of(message), expected, "{message}");
        }
    }
}
