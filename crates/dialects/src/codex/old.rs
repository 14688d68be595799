//! The stream of versions before 0.44. Its first line holds settings, its second one the prompt; the others are events, with the
//! id of their call. No line ends the turn: the stream just stops.

use data_encoding::BASE64_NOPAD;

use crate::facts::{leveled, nodes, string};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Content, Id, Kind, ToolKind};
use streamfmt_core::json::{self, Value};
use streamfmt_core::names::Names;
use streamfmt_core::text::Text;

use super::call::{self, CallSource};
use super::reports::CallReport;
use super::{Codex, ItemBuilder, errors, result, stream, tools};

/// The longest piece of Base64 output that is decoded while its command runs, in bytes.
const MAX_PIECE: usize = 1 << 20;

/// The state of an old stream.
#[derive(Default)]
pub(super) struct OldStream {
    /// The result that grows while its command writes output.
    growing: Option<Id>,
}

/// Whether a value is the first line: the settings, which have no type.
pub(super) fn is_settings(value: Value<'_>) -> bool {
    let known = value.get_all(["model", "workdir", "sandbox", "type"]);
    matches!(known, [Some(_), Some(_), Some(_), None])
}

impl Codex {
    /// Decodes the first line.
    pub(super) fn settings(&mut self, builder: &mut ItemBuilder<'_>) {
        let [model, cwd, mode] = builder.input.value.get_all(["model", "workdir", "approval"]);
        let text = |value: Option<Value<'_>>| value.and_then(Value::str).map(Text::from_json);
        builder.facts(Facts { model: text(model), cwd: text(cwd), mode: text(mode), ..self.facts() });
        let mut notice = builder.notice("session", Content::None);
        notice.data.extend(nodes([("model", model), ("cwd", cwd), ("mode", mode)]));
        builder.put(notice);
    }

    /// Decodes an event line.
    pub(super) fn old(&mut self, message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let kind = message.get("type").and_then(Value::decode).unwrap_or_default();
        let [text, words] = message.get_all(["message", "text"]);
        let content = text.or(words).filter(|text| text.kind() == json::ValueKind::String);
        match &*kind {
            "agent_message" | "agent_reasoning" if content.is_some() => {
                let kind = if &*kind == "agent_message" { Kind::Reply } else { Kind::Thinking };
                builder.put_text(kind, string(content));
            }
            "error" | "stream_error" => errors::notice(text, builder),
            "background_event" | "deprecation_notice" | "warning" if content.is_some() => {
                if &*kind == "warning" {
                    let notice = builder.notice("info", string(content));
                    return builder.put(leveled(notice, "warning"));
                }
                builder.put_minor("info", string(content), |_| {});
            }
            "exec_command_output_delta" => self.grow(message, builder),
            "plan_update" => match message.get("plan") {
                Some(points) => {
                    let mut plan = stream::plan(points, builder.unnamed(), builder);
                    plan.text = string(message.get("explanation"));
                    builder.put(plan);
                }
                None => builder.unknown("plan_update".into(), message),
            },
            "exec_approval_request" => self.asks(CallSource::Command, message, builder),
            "apply_patch_approval_request" => self.asks(CallSource::Patch, message, builder),
            "turn_aborted" => {
                let notice = leveled(builder.notice("interrupt", Content::None), "warning");
                builder.put(notice);
            }
            "token_count" => self.count_so_far(message.get("info"), builder),
            _ => match CallReport::of(&kind) {
                Some(report) => self.old_report(report, message, builder),
                None => builder.rest("msg/", &kind, &BOOKKEEPING, message),
            },
        }
    }

    /// Emits the call that a request for permission is about, which is reported again once it runs, and the notice that it waits.
    fn asks(&mut self, source: CallSource, message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let id = CallReport::id(message, builder);
        if self.calls.get(&id).is_none() {
            let mut call = call::of_item(source, message, id.clone(), builder);
            if call.tool_kind == Some(ToolKind::Run) {
                call.tool = Some(tools::SHELL[0].into());
            }
            self.calls.add(&call);
            builder.put(call);
        }
        let asked = self.calls.request_of(id);
        self.requests.add(None, &asked);
        let notice = asked.notice(builder);
        builder.put(notice);
    }

    fn old_report(&mut self, report: CallReport, message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let id = CallReport::id(message, builder);
        let is_search = report.source == CallSource::Web;
        // A call whose permission was requested is known before it begins.
        let was_asked = self.requests.end(id.as_str(), builder);
        let is_repeated = (report.is_end || was_asked) && self.calls.get(&id).is_some() && !is_search;
        if is_repeated {
            builder.bookkeeping("call");
        } else {
            let mut call = report.call(message, id.clone(), builder);
            if report.source == CallSource::Command && call.tool_kind == Some(ToolKind::Run) {
                call.tool = Some(tools::SHELL[0].into());
            }
            self.calls.add(&call);
            if report.is_end || !is_search {
                builder.put(call);
            } else {
                // The query is known only at the end.
                builder.bookkeeping("web_search_begin");
                builder.emit(Event::Open(Box::new(call)));
            }
        }
        if report.is_end {
            let mut item = result::of_call(&id, &self.calls, builder);
            self.calls.mark_answered(&id);
            report.finish(message, &mut item);
            self.old.growing.take_if(|growing| *growing == item.id);
            builder.put(item);
        }
    }

    /// Appends a piece of a command's output. The end of the command, if it comes, repeats all of it.
    fn grow(&mut self, message: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [call_id, chunk] = message.get_all(["call_id", "chunk"]);
        let call = call_id.and_then(Value::decode).map(|id| Id::from(&*id));
        let call = call.filter(|call| self.calls.awaits(call));
        let piece = chunk.and_then(Value::decode).filter(|chunk| chunk.len() <= MAX_PIECE);
        builder.bookkeeping("exec_command_output_delta");
        let (Some(call), Some(piece)) = (call, piece.and_then(|chunk| decoded(&chunk))) else { return };
        let result = result::of_call(&call, &self.calls, builder);
        let id = result.id.clone();
        if self.old.growing.as_ref() != Some(&id) {
            self.old.growing = Some(id.clone());
            builder.emit(Event::Open(Box::new(result)));
        }
        builder.emit(Event::Append { id, text: String::from_utf8_lossy(&piece).into_owned() });
    }
}

/// Decodes Base64, with or without padding.
fn decoded(base64: &str) -> Option<Vec<u8>> {
    BASE64_NOPAD.decode(base64.trim_end_matches('=').as_bytes()).ok()
}

/// Types that repeat other lines, or don't belong to the conversation.
static BOOKKEEPING: Names = Names::of(
    "agent_message_delta agent_reasoning_delta agent_reasoning_raw_content \
     agent_reasoning_raw_content_delta agent_reasoning_section_break mcp_list_tools_response \
     session_configured shutdown_complete task_complete task_started turn_diff user_message",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        for (base64, expected) in [
            ("", Some("")),
            ("YQ==", Some("a")),
            ("YWI=", Some("ab")),
            ("YWJj", Some("abc")),
            ("ICAwIHNob3A+Cg==", Some("  0 shop>\n")),
            ("YWJj*", None),
        ] {
            assert_eq!(decoded(base64).as_deref(), expected.map(str::as_bytes), "{base64}");
        }
    }
}
