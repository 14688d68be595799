//! Permissions and questions, which the program answers itself if nobody watches it. A plan is only presented so.

use crate::facts::{fail, string};
use streamfmt_core::item::{Content, Fact, Id, Kind, ToolKind};
use streamfmt_core::json::{Str, Value};

use super::{CursorAgent, ItemBuilder, call, tools};

/// A question that was asked, and whose call nothing else reports.
pub(super) struct OpenQuery {
    pub(super) call: Id,
}

impl CursorAgent {
    /// Decodes a question, or the answer to one.
    pub(super) fn query(&mut self, subtype: &str, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        let kind = value.get("query_type").and_then(Value::decode).unwrap_or_default();
        let tool = [tools::PLAN, tools::ASK].into_iter().find(|tool| kind.starts_with(tool));
        match (tool, subtype) {
            (Some(tool), "request") => self.ask(tool, builder),
            (Some(_), "response") => self.answer(builder),
            // The call reports the same, and its result a refusal.
            _ => builder.put_minor("control", Content::None, |notice| {
                notice.data.push(("subtype", Fact::Text(kind.into_owned())));
                notice.data.push(("value", Fact::Node(value.node())));
            }),
        }
    }

    /// Emits the call of a question, unless it is known.
    fn ask(&mut self, tool: &str, builder: &mut ItemBuilder<'_>) {
        let query = builder.input.value.get("query");
        let inside = query.and_then(|query| query.entries().find(|(key, _)| is_query(*key)));
        let arguments = inside.and_then(|(_, inside)| inside.get("args"));
        let id = call::id_of(arguments.and_then(|arguments| arguments.get("toolCallId")), builder);
        if self.calls.get(&id).is_some() {
            return builder.bookkeeping("query of a call");
        }
        let mut call = builder.item(id, Kind::Call);
        call::name_tool(&mut call, tool);
        call.input = arguments.or(query).map(Value::node);
        self.calls.add(&call);
        self.query = Some(OpenQuery { call: call.id.clone() });
        builder.put(call);
    }

    /// Emits the result of a question whose call [`Self::ask`] emitted.
    fn answer(&mut self, builder: &mut ItemBuilder<'_>) {
        let Some(OpenQuery { call }) = self.query.take_if(|query| self.calls.awaits(&query.call)) else {
            return builder.bookkeeping("answer of a query");
        };
        let response = builder.input.value.get("response");
        let inside = response.and_then(|response| response.entries().find(|(key, _)| is_query(*key)));
        let mut result = self.calls.result_of(&call, builder);
        self.calls.mark_answered(&call);
        let [approved, rejected] =
            inside.map_or([None; 2], |(_, inside)| inside.get_all(["approved", "rejected"]));
        if let Some(rejected) = rejected {
            fail(&mut result);
            result.text = string(rejected.get("reason"));
            result.data.push(("denied", Fact::Bool(true)));
        } else if approved.is_some() {
            let name = if result.tool_kind == Some(ToolKind::PlanMode) { "approved" } else { "success" };
            result.data.push((name, Fact::Bool(true)));
        } else if let Some(response) = response {
            result.data.push(("structured", Fact::Node(response.node())));
        }
        builder.put(result);
    }
}

/// Whether a key holds a question or its answer; another is their id.
fn is_query(key: Str<'_>) -> bool {
    !key.is("id")
}
