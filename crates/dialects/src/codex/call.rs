//! Builds calls: from the items of streams and newer session files, and from the tool calls of the model.

use crate::facts::{filled, nodes, push_list};
use crate::tool::add_server;
use crate::{patch, set_action, set_tool};
use streamfmt_core::item::{Action, Does, Fact, FactSpec, Id, Item, Kind, ToolKind};
use streamfmt_core::json::{self, Value};

use super::{ItemBuilder, command, tools};

/// The type of an item that is a call. Streams and session files spell the same types differently.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallSource {
    Command,
    Patch,
    Mcp,
    Web,
    Agents,
    Image,
    /// A tool that the program provides that runs Codex.
    Dynamic,
    /// A picture that the model draws.
    Drawing,
    Sleep,
}

impl CallSource {
    /// Returns the source for an item's type, or `None` if such an item is no call.
    pub(super) fn of_item(kind: &str) -> Option<Self> {
        Some(match kind {
            "command_execution" | "CommandExecution" => Self::Command,
            "file_change" | "FileChange" => Self::Patch,
            "mcp_tool_call" | "McpToolCall" => Self::Mcp,
            "web_search" | "WebSearch" => Self::Web,
            "collab_tool_call" | "CollabAgentToolCall" => Self::Agents,
            "image_view" | "ImageView" => Self::Image,
            "dynamic_tool_call" | "DynamicToolCall" => Self::Dynamic,
            "image_generation" | "ImageGeneration" => Self::Drawing,
            "sleep" | "Sleep" => Self::Sleep,
            _ => return None,
        })
    }
}

/// Returns the call for an item.
pub(super) fn of_item(source: CallSource, value: Value<'_>, id: Id, builder: &ItemBuilder<'_>) -> Item {
    let mut call = builder.item(id, Kind::Call);
    match source {
        CallSource::Command => {
            let [command, cwd] = value.get_all(["command", "cwd"]);
            run(&mut call, tools::COMMAND, command, cwd);
        }
        CallSource::Patch => {
            set_tool(&mut call, tools::PATCH);
            if let Some(changes) = value.get("changes") {
                set_input(&mut call, changes, vec![("changes", file_changes(changes))]);
                let paths = changes.entries().map(|(path, _)| Fact::Text(path.decode().into_owned()));
                push_list(&mut call, "files", paths.collect());
            }
        }
        CallSource::Mcp => {
            let [server, tool, arguments] = value.get_all(["server", "tool", "arguments"]);
            let [server, tool] = [server, tool].map(|part| part.and_then(Value::decode).unwrap_or_default());
            set_tool(&mut call, &["mcp__", &server, "__", &tool].concat());
            call.input = arguments.filter(|arguments| !arguments.is_null()).map(Value::node);
        }
        CallSource::Web => web(&mut call, value.get("action"), value.get("query")),
        CallSource::Agents => {
            let [tool, prompt, receivers] = value.get_all(["tool", "prompt", "receiver_thread_ids"]);
            let prompt = prompt.filter(|prompt| prompt.str().is_some());
            // The only one stands for the list.
            let receivers = receivers.and_then(|ids| {
                let mut each = ids.items();
                let first = each.next()?;
                Some(if each.next().is_none() { first } else { ids })
            });
            of_agents(&mut call, &tool.and_then(Value::decode).unwrap_or_default(), prompt, receivers);
        }
        CallSource::Image => {
            set_tool(&mut call, tools::IMAGE);
            if let Some(path) = value.get("path") {
                set_input(&mut call, path, vec![("path", path_of(path))]);
            }
        }
        CallSource::Dynamic => {
            let [space, tool, arguments] = value.get_all(["namespace", "tool", "arguments"]);
            let [space, tool] = [space, tool].map(|part| part.and_then(Value::decode).unwrap_or_default());
            let between = if space.is_empty() { "" } else { "." };
            set_tool(&mut call, &[&*space, between, &*tool].concat());
            call.input = arguments.filter(|arguments| !arguments.is_null()).map(Value::node);
        }
        CallSource::Drawing => {
            set_tool(&mut call, tools::DRAW);
            let [prompt, newer] = value.get_all(["revised_prompt", "revisedPrompt"]);
            call.input = filled(prompt.or(newer)).map(Value::node);
        }
        CallSource::Sleep => {
            set_tool(&mut call, tools::SLEEP);
            let [duration, newer] = value.get_all(["duration_ms", "durationMs"]);
            call.input = duration.or(newer).map(Value::node);
        }
    }
    call
}

/// Makes a call one of this tool, which concerns other agents.
pub(super) fn of_agents(
    call: &mut Item,
    tool: &str,
    prompt: Option<Value<'_>>,
    receivers: Option<Value<'_>>,
) {
    set_tool(call, tool);
    match prompt {
        Some(prompt) => set_input(call, prompt, vec![("prompt", Fact::Node(prompt.node()))]),
        None => call.input = receivers.map(Value::node),
    }
}

/// Returns a call of a tool by its name. The input may be JSON in a string.
pub(super) fn of_tool(name: &str, input: Option<Value<'_>>, id: Id, builder: &ItemBuilder<'_>) -> Item {
    let mut call = builder.item(id, Kind::Call);
    set_tool(&mut call, name);
    let names = name.split_once("__");
    if call.tool_kind == Some(ToolKind::Other) && tools::find(name).is_none() && names.is_some() {
        // Versions before 0.80 name the tools of MCP servers without the prefix `mcp__`.
        set_action(&mut call, Action::Mcp);
        add_server(&mut call, names);
    }
    let Some(input) = input.filter(|input| !input.is_null()) else { return call };
    let record = builder.input.record.unpacked(input.node()).unwrap_or_else(|| builder.input.record.clone());
    // The unpacked record has other nodes: look up the timestamp in it again.
    let event = record.value(builder.input.value.node());
    call.at = call.at.and(event.get("timestamp")).map(Value::node);
    call.input = Some(input.node());
    let input = record.value(input.node());
    let patch = match name {
        tools::PATCH => Some(input.get("input").unwrap_or(input)),
        _ if tools::SHELL.contains(&name) => input.get("command").and_then(command::patch),
        _ => None,
    };
    if let Some(changes) = patch.and_then(|patch| patch::changes_of(&patch.decode()?)) {
        // A patch passed to a shell counts as a call of the patch tool.
        set_tool(&mut call, tools::PATCH);
        set_input(&mut call, input, vec![("changes", changes)]);
    }
    call.record = Some(record.clone());
    call
}

/// Makes a call one of this tool that runs a command in a folder, or a call of the patch tool if the command applies a patch.
pub(super) fn run(call: &mut Item, tool: &str, command: Option<Value<'_>>, cwd: Option<Value<'_>>) {
    set_tool(call, tool);
    let Some(command) = command else { return };
    if let Some(changes) = command::patch(command).and_then(|patch| patch::changes_of(&patch.decode()?)) {
        set_tool(call, tools::PATCH);
        return set_input(call, command, vec![("changes", changes)]);
    }
    let mut facts = vec![("command", Fact::Made(command::meant, command.node()))];
    facts.extend(cwd.map(|cwd| ("cwd", path_of(cwd))));
    set_input(call, command, facts);
}

/// Makes a call a web search, or the retrieval of a page.
pub(super) fn web(call: &mut Item, action: Option<Value<'_>>, query: Option<Value<'_>>) {
    set_tool(call, tools::WEB);
    let [url, own, pattern] =
        action.map_or([None; 3], |action| action.get_all(["url", "query", "pattern"]).map(filled));
    // The query of a page only describes the action.
    let query = own.or(pattern).or_else(|| filled(query).filter(|_| url.is_none()));
    let facts: Vec<_> = nodes([("url", url), ("query", query)]).collect();
    let of = action.filter(|action| action.kind() == json::ValueKind::Object).or(query);
    if let Some(of) = of.filter(|_| !facts.is_empty()) {
        set_input(call, of, facts);
    }
}

/// Sets the input of a call, and the facts derived from it.
fn set_input(call: &mut Item, input: Value<'_>, facts: Vec<(&'static str, Fact)>) {
    call.input = Some(input.node());
    call.does = Some(Does::Facts { facts: facts.into(), of: input.node() });
}

/// Returns a path as a fact. Newer versions write paths as `file://` URLs.
fn path_of(path: Value<'_>) -> Fact {
    let bare = |path: Value<'_>| {
        let path = path.decode()?;
        Some(Fact::Text(path.strip_prefix("file://").unwrap_or(&path).to_owned()))
    };
    Fact::Made(bare, path.node())
}

/// Returns the changes of files, which the stream has as a list or as a map from path to change.
pub(super) fn file_changes(changes: Value<'_>) -> Fact {
    if changes.kind() == json::ValueKind::Array {
        return Fact::Named(changes.node(), FILE);
    }
    let list = changes.entries().map(|(path, change)| {
        let mut facts = vec![("path", Fact::Text(path.decode().into_owned()))];
        // Newer versions have a field for the kind, older ones use it as a key.
        let known = change.get("type").and_then(Value::decode);
        let kind =
            known.or_else(|| change.entries().next().map(|(kind, _)| kind.decode())).unwrap_or_default();
        let inside =
            change.get(&kind).filter(|inside| inside.kind() == json::ValueKind::Object).unwrap_or(change);
        facts.push(("kind", Fact::Text(kind.into_owned())));
        let fields = [("to", "move_path"), ("diff", "unified_diff"), ("content", "content")];
        facts.extend(nodes(
            fields.map(|(ours, theirs)| (ours, inside.get(theirs).filter(|it| !it.is_null()))),
        ));
        Fact::Map(facts)
    });
    Fact::List(list.collect())
}

/// The fields of a changed file in a stream.
const FILE: &[FactSpec] = &[FactSpec::key("path", "path"), FactSpec::key("kind", "kind")];
