//! Errors: retries, errors that end a turn, and messages that contain the body of an API response.

use crate::facts::{leveled, string};
use streamfmt_core::item::Fact;
use streamfmt_core::json::{Record, Value, ValueKind};

use super::ItemBuilder;

/// The beginning of an error after which the request is retried.
pub(super) const RETRY: &str = "Reconnecting... ";

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
    } else {
        let mut notice = builder.notice("error", content);
        notice.data.extend(message_in_body(&text).map(|words| ("words", Fact::Text(words))));
        leveled(notice, "error")
    };
    builder.put(notice);
}

/// Replaces the body of an API response in a message by the `message` in it. `None` if there is no such body.
pub(super) fn message_in_body(message: &str) -> Option<String> {
    let start = message.find('{')?;
    let record = Record::from_line(message[start..].trim_end().to_owned()).ok()?;
    let error = record.root().get("error").filter(|error| error.kind() == ValueKind::Object);
    let inside = error.unwrap_or(record.root()).get("message")?.decode()?;
    Some([&message[..start], &*inside].concat())
}
