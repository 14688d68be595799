//! Errors, retries and interrupts.

use streamfmt_core::item::{Content, Fact};
use streamfmt_core::json::{Value, ValueKind};

use crate::facts::{fail, filled, leveled, string};
use crate::item_builder::ItemBuilder;

use super::Opencode;

/// The name of the error of a turn that a person stopped.
const ABORTED: &str = "MessageAbortedError";

impl Opencode {
    /// Emits the notice of an error, which ends the turn unless the agent continues. An error may be reported several times.
    pub(super) fn error(&mut self, error: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let Some(error) = error.filter(|error| error.kind() == ValueKind::Object) else {
            return builder.unknown("error".to_owned(), error.unwrap_or(builder.input.value));
        };
        if error.get("name").and_then(Value::str).is_some_and(|name| name.is(ABORTED)) {
            if std::mem::take(&mut self.is_at_work) {
                let notice = leveled(builder.notice("interrupt", Content::None), "warning");
                return builder.put(notice);
            }
            return builder.bookkeeping("aborted");
        }
        let content = string(message(error));
        let mut outcome = builder.outcome();
        fail(&mut outcome);
        outcome.text = content.clone();
        if self.failure.as_ref().is_some_and(|known| known.text() == outcome.text()) {
            return builder.bookkeeping("error");
        }
        let mut notice = leveled(builder.notice("error", content), "error");
        if matches!(notice.text, Content::None) {
            notice.data.push(("value", Fact::Node(error.node())));
        }
        builder.put(notice);
        if builder.parent.is_none() {
            self.fail(builder.out);
            self.settle(&mut outcome, builder);
            self.failure = Some(Box::new(outcome));
        }
    }
}

/// Returns the message of an error, or else its name.
pub(super) fn message(error: Value<'_>) -> Option<Value<'_>> {
    let [data, message, name] = error.get_all(["data", "message", "name"]);
    let inside = data.and_then(|data| data.get("message"));
    [inside, message, name].into_iter().find_map(filled)
}

/// Emits the notice of an attempt that failed and is repeated.
pub(super) fn retry(attempt: Option<Value<'_>>, error: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
    let mut notice = builder.notice("retry", Content::None);
    notice.data.extend(crate::facts::nodes([("attempt", attempt), ("error", error)]));
    builder.put(leveled(notice, "warning"));
}
