//! Lines that report the begin or the end of a call, as they were shown: in old streams, and in session files up to 0.150. The call and the
//! result that the model wrote and received have the same id.

use streamfmt_core::item::{Content, Fact, Id, Item, Kind};
use streamfmt_core::json::Value;

use super::call::{self, CallSource};
use super::{ItemBuilder, result, tools};
use crate::facts::{filled, string, strings};

/// A line about a call: what it is about, and whether it reports the end.
#[derive(Clone, Copy)]
pub(super) struct CallReport {
    pub(super) source: CallSource,
    /// The tool, for calls that concern other agents.
    tool: &'static str,
    pub(super) is_end: bool,
}

impl CallReport {
    /// Returns what a line of this type reports; `None` if it isn't about a call.
    pub(super) fn of(kind: &str) -> Option<Self> {
        let (about, is_end) = ["_begin", "_request"]
            .iter()
            .find_map(|end| Some((kind.strip_suffix(end)?, false)))
            .or_else(|| ["_end", "_response"].iter().find_map(|end| Some((kind.strip_suffix(end)?, true))))
            .unwrap_or((kind, true));
        let agents = |tool| (CallSource::Agents, tool);
        let (source, tool) = match about {
            "exec_command" => (CallSource::Command, ""),
            "patch_apply" => (CallSource::Patch, ""),
            "mcp_tool_call" => (CallSource::Mcp, ""),
            "web_search" => (CallSource::Web, ""),
            "image_generation" => (CallSource::Drawing, ""),
            "view_image_tool_call" => (CallSource::Image, ""),
            "dynamic_tool_call" => (CallSource::Dynamic, ""),
            "collab_agent_spawn" => agents(tools::SPAWN),
            "collab_agent_interaction" => agents(tools::SEND),
            "collab_waiting" => agents(tools::WAIT[1]),
            "collab_close" => agents(tools::CLOSE),
            "collab_resume" => agents(tools::RESUME),
            _ => return None,
        };
        let is_one_line = source == CallSource::Image;
        ((about.len() < kind.len()) != is_one_line).then_some(Self { source, tool, is_end })
    }

    /// Returns the id of the call that a line is about.
    pub(super) fn id(message: Value<'_>, builder: &mut ItemBuilder<'_>) -> Id {
        let [id, newer] = message.get_all(["call_id", "callId"]);
        builder.id_of(id.or(newer))
    }

    /// Returns the call that a line is about.
    pub(super) fn call(self, message: Value<'_>, id: Id, builder: &ItemBuilder<'_>) -> Item {
        match self.source {
            CallSource::Mcp => {
                call::of_item(self.source, message.get("invocation").unwrap_or(message), id, builder)
            }
            CallSource::Agents => {
                let [prompt, receiver] = message.get_all(["prompt", "receiver_thread_id"]);
                let mut item = builder.item(id, Kind::Call);
                call::of_agents(&mut item, self.tool, filled(prompt), receiver);
                item
            }
            source => call::of_item(source, message, id, builder),
        }
    }

    /// Adds what a line reports about the end of a call to its result.
    pub(super) fn finish(self, message: Value<'_>, item: &mut Item) {
        let [success, answer] = message.get_all(["success", "result"]);
        match self.source {
            CallSource::Mcp => {
                let [answered, failed] = answer.map_or([None; 2], |answer| answer.get_all(["Ok", "Err"]));
                if let Some(answered) = answered {
                    result::mcp_answer(answered, item);
                }
                if let Some(failed) = failed {
                    result::fail(item);
                    item.text = string(Some(failed));
                }
                result::add_duration(item, message.get("duration"));
            }
            CallSource::Agents => agents(self.tool, message, item),
            source => {
                if success.and_then(Value::bool) == Some(false) {
                    result::fail(item);
                }
                result::of_item(source, message, item);
            }
        }
        result::mark_success_if_silent(item);
    }
}

/// Adds the states of other agents.
fn agents(tool: &str, message: Value<'_>, item: &mut Item) {
    let [status, statuses, list, thread] =
        message.get_all(["status", "statuses", "agent_statuses", "new_thread_id"]);
    if tool == tools::SPAWN {
        let id = thread.and_then(Value::decode);
        item.data.extend(id.map(|id| ("agent", Fact::Text(id.into_owned()))));
        item.data.push(("state", Fact::Text(result::state_of("running").to_owned())));
    }
    let is_failure = |status: Value<'_>| status.get("errored").is_some();
    if status.is_some_and(is_failure) {
        result::fail(item);
        item.text = string(status.and_then(|status| status.get("errored")));
    } else if tool == tools::WAIT[1] {
        let by_id = statuses.into_iter().flat_map(Value::entries).map(|(_, status)| status);
        let listed = list.into_iter().flat_map(Value::items).filter_map(|agent| agent.get("status"));
        let mut nodes: Vec<_> = by_id.filter_map(result::answer).map(Value::node).collect();
        if nodes.is_empty() {
            nodes = listed.filter_map(result::answer).map(Value::node).collect();
        }
        item.text = strings(nodes);
    } else {
        item.text = Content::None;
    }
}
