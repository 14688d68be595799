//! The entries of session files, and other lines that aren't messages.

use streamfmt_core::event::Facts;
use streamfmt_core::item::Content;
use streamfmt_core::json::Value;
use streamfmt_core::names::Names;
use streamfmt_core::text::Text;

use crate::facts::{filled, leveled, nodes, string};
use crate::item_builder::ItemBuilder;

use super::Pi;

/// Types that repeat other lines, or don't belong to the conversation.
static BOOKKEEPING: Names = Names::of(
    "auto_compaction_start compaction_start label mcp_tool_selection mode_change queue_update service_tier_change \
     session_init thinking_level_change thinking_level_changed title_change ttsr_injection turn_end turn_start",
);

impl Pi {
    /// Decodes an entry of a session file.
    pub(super) fn entry(&mut self, kind: &str, message: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let [id, parent, time] = builder.input.value.get_all(["id", "parentId", "timestamp"]);
        self.branches.go_back(parent, builder);
        let first = builder.out.len();
        builder.at = time.map(Value::node);
        match message {
            Some(message) if kind == "message" => self.stored_message(message, builder),
            _ => self.other_entry(kind, builder),
        }
        self.branches.add(id, &builder.out[first..]);
    }

    fn other_entry(&mut self, kind: &str, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        match kind {
            "model_change" => {
                let [model, newer] = value.get_all(["modelId", "model"]);
                builder.bookkeeping("model_change");
                self.set_model(model.or(newer), builder);
            }
            "session_info" => {
                let title = filled(value.get("name")).and_then(Value::str).map(Text::from_json);
                builder.bookkeeping("session_info");
                builder.facts(Facts { title, ..Facts::default() });
            }
            "compaction" => self.compacted(value, None, builder),
            "branch_summary" => match filled(value.get("summary")) {
                None => builder.bookkeeping("branch_summary"),
                summary => builder.put_minor("summary", string(summary), |_| {}),
            },
            "custom_message" => Self::custom(value, builder),
            "custom" => {
                let name = value.get("customType").and_then(Value::decode).unwrap_or_default();
                builder.report(format!("custom/{name}"), value);
            }
            _ => builder.rest("", kind, &BOOKKEEPING, value),
        }
    }

    /// Emits a message that an extension wrote for the model.
    pub(super) fn custom(value: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, content, display] = value.get_all(["customType", "content", "display"]);
        let mut notice = builder.notice("attachment", Content::None);
        crate::facts::result_content(&mut notice, content);
        notice.data.extend(nodes([("type", kind)]));
        let is_shown = display.and_then(Value::bool) == Some(true);
        builder.put(if is_shown { notice } else { crate::facts::minor(notice) });
    }

    /// Emits the notices of a compaction and of its summary.
    fn compacted(&mut self, result: Value<'_>, reason: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let [summary, before, after] = result.get_all(["summary", "tokensBefore", "tokensAfter"]);
        let mut notice = builder.notice("compaction", Content::None);
        notice.data.extend(nodes([("before", before), ("after", after), ("trigger", filled(reason))]));
        builder.put(notice);
        if let Some(summary) = filled(summary) {
            builder.put_minor("summary", string(Some(summary)), |_| {});
        }
    }

    /// Decodes the line at the end of a compaction.
    pub(super) fn compaction_ended(&mut self, builder: &mut ItemBuilder<'_>) {
        let [result, reason, error, again] =
            builder.input.value.get_all(["result", "reason", "errorMessage", "willRetry"]);
        if again.and_then(Value::bool) == Some(true) {
            // The reply that didn't fit the context is tried again.
            self.failure = None;
        }
        let result = result.filter(|result| !result.is_null());
        match (result, filled(error)) {
            (Some(result), _) => self.compacted(result, reason, builder),
            (None, Some(error)) => {
                let notice = builder.notice("info", string(Some(error)));
                builder.put(leveled(notice, "warning"));
            }
            (None, None) => builder.bookkeeping("compaction_end"),
        }
    }
}
