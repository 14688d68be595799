//! What the machine outputs promise: the lines of `items` and of `json`, as types.
//!
//! The writers spell these lines by hand, for speed. The types stand beside them for the JSON Schemas
//! (`docs/schema`) and for the test that reads every line back, so that both stay true.
//! Their comments are the descriptions in the schemas.

use std::collections::BTreeMap;

use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::entry::{Change, Point};
use crate::item::{Action, Kind, Status};

/// One thing of a session, as it is: a line of `--to items`. It is written once, when it is whole.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemLine {
    /// Version of the format.
    #[schemars(extend("const" = 1))]
    pub v: u32,
    /// The stream's own id, else `line-<n>`; unique within one input.
    pub id: String,
    /// On what a sub-agent did: the id of the call that it is inside of.
    pub parent: Option<String>,
    /// Its place within its parent, from 0, by first appearance.
    pub place: u32,
    /// What it is.
    pub kind: Kind,
    /// Where it is in its life. A call is done when its input is whole; a failure is its result's.
    pub status: Status,
    /// When it happened, in UTC, if the stream says so.
    #[schemars(extend("format" = "date-time"))]
    pub at: Option<String>,
    /// The session it belongs to.
    pub session: Option<String>,
    /// Number of the first line that it came with, from 1.
    pub line: u64,
    /// On calls and results: the tool, as the stream names it.
    pub tool: Option<String>,
    /// On calls and results: what the tool does, whatever its name.
    pub action: Option<Action>,
    /// On calls: what it does it with and to, under names that all agents share. What of the input has no such name, or is of
    /// another type, is in `input` alone.
    pub does: Option<Does>,
    /// On calls: the input as it came; key order and numbers stay.
    pub input: Option<Value>,
    /// On results: the id of the call.
    pub call: Option<String>,
    /// What it says, faithful to the stream.
    pub text: Option<String>,
    /// True if it tells of a failure, else absent.
    #[schemars(extend("const" = true))]
    pub error: Option<bool>,
    /// Typed facts, named alike for every agent.
    pub data: Option<Facts>,
}

/// What a call does it with and to. Which parts there are depends on the action; new ones may come.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Does {
    /// Delegate: the kind of agent.
    pub agent: Option<String>,
    /// Skill: its arguments.
    pub args: Option<String>,
    /// Run, delegate: whether the agent goes on without waiting for it.
    pub background: Option<bool>,
    /// Plan: tasks that this one must wait for.
    pub blocked_by: Option<Vec<String>>,
    /// Plan: tasks that must wait for this one.
    pub blocks: Option<Vec<String>>,
    /// Search: `name` finds files by their names, `content` by what is in them.
    pub by: Option<String>,
    /// Edit: the cell of a notebook.
    pub cell: Option<String>,
    /// Edit: what is changed, in this order.
    pub changes: Option<Vec<AskedChange>>,
    /// Run: the command line.
    pub command: Option<String>,
    /// Write: all that the file will hold.
    pub content: Option<String>,
    /// Run: the folder that it runs in.
    pub cwd: Option<String>,
    /// Run, delegate, plan: what it is for, in the agent's words.
    pub description: Option<String>,
    /// Run: lines of a job's output that are looked for.
    pub filter: Option<String>,
    /// Search: files that are searched, by a glob.
    pub glob: Option<String>,
    /// Plan: the task.
    pub id: Option<String>,
    /// Run: the job in the background that is looked at or ended.
    pub job: Option<String>,
    /// Edit: what is done to a cell: `replace`, `insert`, `delete`.
    pub mode: Option<String>,
    /// Plan: who the task is for.
    pub owner: Option<String>,
    /// Read: pages of a document.
    pub pages: Option<String>,
    /// The file or folder, as the agent names it.
    pub path: Option<String>,
    /// Search: what is looked for.
    pub pattern: Option<String>,
    /// Plan: the plan's text.
    pub plan: Option<String>,
    /// Delegate: the task. Fetch: what is asked of the page.
    pub prompt: Option<String>,
    /// Fetch, search: what is looked for.
    pub query: Option<String>,
    /// Ask: the questions.
    pub questions: Option<Vec<AskedQuestion>>,
    /// Read: the lines that are asked for; absent: all.
    pub range: Option<AskedRange>,
    /// MCP, read: the server.
    pub server: Option<String>,
    /// Skill: its name.
    pub skill: Option<String>,
    /// Edit: what a cell will hold.
    pub source: Option<String>,
    /// Plan: the task's new state.
    pub status: Option<String>,
    /// Run: what is written to the standard input of a job.
    pub stdin: Option<String>,
    /// Plan: what the task is.
    pub subject: Option<String>,
    /// Run: milliseconds after which it is stopped.
    pub timeout_ms: Option<f64>,
    /// Plan: the whole list of things to do.
    pub todos: Option<Vec<AskedTodo>>,
    /// MCP: the tool, without its server.
    pub tool: Option<String>,
    /// Search: files that are searched, by their type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Run: whether it runs outside of the sandbox.
    pub unsandboxed: Option<bool>,
    /// Read: the address of something that isn't a file.
    pub uri: Option<String>,
    /// Fetch: the address.
    pub url: Option<String>,
}

/// One change that is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedChange {
    /// The whole file, if it is new or deleted.
    pub content: Option<String>,
    /// The change as a unified diff; its hunks need not have line numbers.
    pub diff: Option<String>,
    /// Whether every place is changed that holds the old text.
    pub everywhere: Option<bool>,
    /// What is done to the file: `add`, `update` or `delete`.
    pub kind: Option<String>,
    /// What stands in its place.
    pub new: Option<String>,
    /// The text that is replaced.
    pub old: Option<String>,
    /// The change as a patch, if it isn't told as two texts.
    pub patch: Option<Value>,
    /// The file, if the change names it.
    pub path: Option<String>,
    /// The new path of a file that is moved.
    pub to: Option<String>,
}

/// Lines that are asked for. `end`, or `lines`, or neither.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedRange {
    /// The first, from 1.
    pub start: Option<i64>,
    /// How many.
    pub lines: Option<i64>,
    /// The last.
    pub end: Option<i64>,
}

/// A question to the user.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedQuestion {
    /// A word for it.
    pub head: Option<String>,
    /// What can be answered.
    pub options: Option<Vec<AskedOption>>,
    /// The question.
    pub question: Option<String>,
    /// Whether several answers may be chosen.
    pub several: Option<bool>,
}

/// A possible answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedOption {
    /// What it means.
    pub description: Option<String>,
    /// The answer.
    pub label: Option<String>,
}

/// A point of a list of things to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedTodo {
    /// What is said of it while it is done.
    pub active: Option<String>,
    /// Points that it must wait for.
    pub blocked_by: Option<Vec<String>>,
    /// What is to be done.
    pub content: Option<String>,
    /// What names it.
    pub id: Option<String>,
    /// Who it is for.
    pub owner: Option<String>,
    /// Its state.
    pub status: Option<String>,
}

/// Typed facts of an item. Which there are depends on its kind and action; new ones may come.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Facts {
    /// Write, edit: lines that were added.
    pub added: Option<i64>,
    /// Compaction: tokens after it.
    pub after: Option<i64>,
    /// Delegate: the sub-agent's id.
    pub agent: Option<String>,
    /// Delegate: what kind of agent.
    pub agent_type: Option<String>,
    /// What a sub-agent, a page or a search answered.
    pub answer: Option<String>,
    /// Ask: question → what the user noted beside the answer.
    pub annotations: Option<Map<String, Value>>,
    /// Ask: question → answer.
    pub answers: Option<Map<String, Value>>,
    /// Milliseconds spent waiting for the model.
    pub api_ms: Option<f64>,
    /// Plan: whether the user approved it.
    pub approved: Option<bool>,
    /// Retry: which attempt.
    pub attempt: Option<i64>,
    /// Run: id of the job, if it runs on in the background.
    pub background: Option<String>,
    /// Compaction: tokens before it.
    pub before: Option<i64>,
    /// Size in bytes. Run: of the whole output.
    pub bytes: Option<i64>,
    /// Notices: the id of the call that is spoken of.
    pub call: Option<String>,
    /// Open calls: their ids.
    pub calls: Option<Vec<String>>,
    /// Refusal: its category.
    pub category: Option<String>,
    /// Outcome: why it failed: `interrupted`, `turns`, `budget`, `structure`, `running`.
    pub cause: Option<String>,
    /// Edit: the cell of a notebook.
    pub cell: Option<String>,
    /// Read: how many cells a notebook has, where they aren't told.
    pub cell_count: Option<i64>,
    /// Read: the cells of a notebook.
    pub cells: Option<Vec<Value>>,
    /// Edit: what was done to each file, where the result names them: as `changes` of what a call does.
    pub changes: Option<Vec<Map<String, Value>>>,
    /// Fetch: the HTTP status.
    pub code: Option<i64>,
    /// Fetch: the HTTP status in words.
    pub code_text: Option<String>,
    /// Text of a file, or lines that were found.
    pub content: Option<String>,
    /// What the run cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Session: what changed since the one before, if it is one thing: `mode`.
    pub changed: Option<String>,
    /// How many: files, pages, calls, damaged records.
    pub count: Option<i64>,
    /// Write, edit: whether the file is new.
    pub created: Option<bool>,
    /// Session: the folder it works in. Run: that of the next command, if the agent's program reset it; `stderr` says no more.
    pub cwd: Option<String>,
    /// Retry: milliseconds until it.
    pub delay_ms: Option<f64>,
    /// Outcome: what was refused: `tool`, `call`, `input`.
    pub denials: Option<Vec<Map<String, Value>>>,
    /// Results: true if the call was refused, or who refused it.
    pub denied: Option<Value>,
    /// Milliseconds from start to end.
    pub duration_ms: Option<f64>,
    /// Notices: true if something else tells the same.
    pub echo: Option<bool>,
    /// Edit: what was done to a cell: `replace`, `insert`, `delete`.
    pub edit_mode: Option<String>,
    /// Retry: why.
    pub error: Option<String>,
    /// Outcome: errors that were told.
    pub errors: Option<Vec<Value>>,
    /// Notices: what is told. The list of names is open.
    pub event: Option<String>,
    /// Exit code of a command or hook.
    pub exit: Option<i64>,
    /// Refusal: its explanation.
    pub explanation: Option<String>,
    /// Search: paths that were found. Run: files that the command changed, each with its hunks.
    pub files: Option<Vec<Value>>,
    /// Fallback: the model before it.
    pub from: Option<String>,
    /// Fetch: what a search found, each with `title` and `url`.
    pub hits: Option<Vec<Value>>,
    /// Hook: the event that it answers.
    pub hook_event: Option<String>,
    /// Run: whether the output was a picture.
    pub image: Option<bool>,
    /// Pictures and documents: `media`, `bytes`, `name`; never their contents.
    pub images: Option<Vec<Map<String, Value>>>,
    /// Damaged: whether the record only lacks its end.
    pub incomplete: Option<bool>,
    /// Run: whether it was interrupted.
    pub interrupted: Option<bool>,
    /// Retracted: ids of the items that are taken back.
    pub items: Option<Vec<String>>,
    /// Run: how a job in the background goes: `state`, `exit`, `output`, `stderr`.
    pub job: Option<Map<String, Value>>,
    /// Notices: `info`, `warning` or `error`.
    pub level: Option<String>,
    /// Search: whether the text is a line that sums up and then one path a line.
    pub listed: Option<bool>,
    /// How many lines were read or found.
    pub lines: Option<i64>,
    /// Search: how many matches, or which.
    pub matches: Option<CountOrList>,
    /// Search: what was asked for. Session: the permission mode.
    pub mode: Option<String>,
    /// Notices: true if it is of little importance.
    pub minor: Option<bool>,
    /// Session: the model.
    pub model: Option<String>,
    /// Outcome: tokens and cost by model.
    pub models: Option<Vec<ModelUsage>>,
    /// Write, edit: the file after it.
    pub modified: Option<String>,
    /// Parts of a result that are neither text nor picture.
    pub more: Option<Vec<Value>>,
    /// Run: how many more files the command changed.
    pub more_files: Option<i64>,
    /// Name of a hook.
    pub name: Option<String>,
    /// Edit: the new source of a cell.
    pub new_source: Option<String>,
    /// Run: what the agent's program notes on the exit code.
    pub note: Option<String>,
    /// What came under one of these names, but is of another type.
    pub odd: Option<Map<String, Value>>,
    /// Edit: what the cell held before.
    pub old_source: Option<String>,
    /// Retry: how many attempts at most.
    pub of: Option<i64>,
    /// Write, edit: the file before it.
    pub original: Option<String>,
    /// Results: true if no call is known.
    pub orphan: Option<bool>,
    /// Hook: how it ended.
    pub outcome: Option<String>,
    /// Where the output is written to.
    pub output_file: Option<String>,
    /// Calls: true if the input isn't whole.
    pub partial: Option<bool>,
    /// Write, edit: hunks with `oldStart`, `oldLines`, `newStart`, `newLines`, `lines`.
    pub patch: Option<Vec<Map<String, Value>>>,
    /// The file or folder.
    pub path: Option<String>,
    /// Run: the file that the whole output is kept in.
    pub persisted: Option<String>,
    /// Plan: the plan's text.
    pub plan: Option<String>,
    /// Outcome: the errors that are for people, if not all are.
    pub problems: Option<Vec<Value>>,
    /// Fetch, search: what was looked for.
    pub query: Option<String>,
    /// Deprecated: the same as `minor`.
    pub quiet: Option<bool>,
    /// Unknown: true if the line was no event.
    pub raw: Option<bool>,
    /// Why the run ended, or why something was denied.
    pub reason: Option<String>,
    /// Thinking: true if its text isn't there.
    pub redacted: Option<bool>,
    /// Write, edit: lines that were removed.
    pub removed: Option<i64>,
    /// True if the text is that of the last reply.
    pub repeated: Option<bool>,
    /// Limit: when it ends, in seconds since 1970.
    pub resets_at: Option<f64>,
    /// Deprecated: the same as `words`.
    pub say: Option<String>,
    /// Calls: the MCP server.
    pub server: Option<String>,
    /// Calls: true if the API ran it.
    pub server_side: Option<bool>,
    /// Session: its MCP servers, each with `name` and `status`.
    pub servers: Option<Vec<Map<String, Value>>>,
    /// Session change: the session that what follows belongs to.
    pub session: Option<String>,
    /// The skill that was used.
    pub skill: Option<String>,
    /// Edit: the changed lines and some around them, numbered, where no patch is told.
    pub snippet: Option<String>,
    /// Number of the first line that was read, from 1.
    pub start: Option<i64>,
    /// Delegate, run: how far it is.
    pub state: Option<String>,
    /// Retry: the HTTP status. Task, limit: the state in words.
    pub status: Option<CountOrText>,
    /// Run, hook: what it wrote on standard error.
    pub stderr: Option<String>,
    /// Run, hook: what it wrote on standard output.
    pub stdout: Option<String>,
    /// Results: how a person stopped the call: `interrupted` while it ran, or `rejected` before.
    pub stopped: Option<String>,
    /// The tool's own structured value, if no other fact says it.
    pub structured: Option<Value>,
    /// Outcome, control: what kind.
    pub subtype: Option<String>,
    /// Whether it worked. True: that is all that is known, if nothing else is told.
    pub success: Option<bool>,
    /// Notices: the task's id. Results: the task.
    pub task: Option<TextOrObject>,
    /// Plan: the tasks, each with `id`, `subject`, `status`.
    pub tasks: Option<Vec<Map<String, Value>>>,
    /// Search: true if it was stopped after its time.
    pub timed_out: Option<bool>,
    /// Run: milliseconds after which it was stopped.
    pub timed_out_ms: Option<f64>,
    /// Fallback: the model after it.
    pub to: Option<String>,
    /// Plan: the points, each with `content` (or `subject`) and `status`.
    pub todos: Option<Vec<Map<String, Value>>>,
    /// Delegate: tokens that the sub-agent used.
    pub tokens: Option<i64>,
    /// Calls: the tool without its server. Notices: the tool that is spoken of.
    pub tool: Option<String>,
    /// Delegate: how many tools the sub-agent used.
    pub tool_uses: Option<i64>,
    /// Session: names of its tools.
    pub tools: Option<Vec<String>>,
    /// Results: milliseconds since the call, where the stream tells both times.
    pub took_ms: Option<i64>,
    /// Read: lines of the whole file. Search: how many files or lines there are in all.
    pub total: Option<i64>,
    /// What set it off.
    pub trigger: Option<String>,
    /// Search: whether there is more.
    pub truncated: Option<bool>,
    /// Outcome: turns of the run.
    pub turns: Option<i64>,
    /// Read: what kind of file. Unknown: the type that isn't known.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Fetch: the address. Delegate: where a sub-agent that runs elsewhere can be watched.
    pub url: Option<String>,
    /// Outcome: tokens of the run.
    pub usage: Option<Usage>,
    /// Write, edit, plan: true if a person changed what was proposed, before it was done.
    pub user_modified: Option<bool>,
    /// Limit: the part of it that is used up.
    pub utilization: Option<f64>,
    /// The event as it came.
    pub value: Option<Value>,
    /// Session: version of the agent's program.
    pub version: Option<String>,
    /// Prompts, notices: what of the text is for people, without what the agent's program put around it.
    pub words: Option<String>,
    /// Facts that aren't listed here.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

/// A number, or what was counted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum CountOrList {
    /// How many.
    Count(i64),
    /// Which.
    List(Vec<Value>),
}

/// A number or a name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum CountOrText {
    /// A number.
    Count(i64),
    /// A name.
    Text(String),
}

/// An id, or what it stands for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum TextOrObject {
    /// An id.
    Text(String),
    /// What it stands for.
    Object(Map<String, Value>),
}

/// Tokens.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Read fresh.
    pub input: Option<u64>,
    /// Written.
    pub output: Option<u64>,
    /// Read from the cache.
    pub cache_read: Option<u64>,
    /// Written to the cache.
    pub cache_write: Option<u64>,
}

/// Tokens and cost of one model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelUsage {
    /// The model's name.
    pub model: String,
    /// Read fresh.
    pub input: Option<u64>,
    /// Written.
    pub output: Option<u64>,
    /// Read from the cache.
    pub cache_read: Option<u64>,
    /// Written to the cache.
    pub cache_write: Option<u64>,
    /// In US dollars.
    pub cost_usd: Option<f64>,
}

/// What is said of one item: a line of `--to json`. All text is cleaned: nothing in it can steer a terminal.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryLine {
    /// Version of the format.
    #[schemars(extend("const" = 1))]
    pub v: u32,
    /// The item's id.
    pub id: String,
    /// On what a sub-agent did: the id of the call that it is inside of.
    pub parent: Option<String>,
    /// The item's place within its parent, from 0.
    pub place: u32,
    /// What the item is.
    pub kind: Kind,
    /// On calls and results: the tool.
    pub tool: Option<String>,
    /// On calls and results: what the tool does.
    pub action: Option<Action>,
    /// Where the item is in its life.
    pub status: Status,
    /// When it happened, in UTC, if the stream says so.
    #[schemars(extend("format" = "date-time"))]
    pub at: Option<String>,
    /// On results: milliseconds since the call, if the stream tells both times.
    pub took_ms: Option<u64>,
    /// On what doesn't directly follow the call that it belongs to: that call's title.
    pub of: Option<LineShape>,
    /// Name of the glyph in front; a theme spells it. Absent: none.
    pub mark: Option<String>,
    /// The title; empty if the body says it all.
    pub title: LineShape,
    /// What stands under the title; absent if there is nothing.
    pub body: Option<Vec<BlockShape>>,
}

/// One line: its pieces, to be written one after the other with nothing between.
pub type LineShape = Vec<SpanShape>;

/// A piece of a line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Span")]
pub struct SpanShape {
    /// What it says; no line feed is in it.
    pub text: String,
    /// What it is: a dotted name such as `tool.name`. One that isn't known counts as its parent, `tool`.
    pub role: String,
    /// Where it leads. The scheme isn't checked.
    pub link: Option<String>,
}

/// A part of a body. Newer versions may have more types.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
#[schemars(rename = "Block")]
pub enum BlockShape {
    /// Short lines with roles of their own.
    Lines {
        /// The lines.
        lines: Vec<LineShape>,
    },
    /// Markdown, as a model writes it.
    Prose {
        /// Its source.
        text: String,
        /// What it is.
        role: String,
    },
    /// Verbatim text: output, file contents, commands.
    Code {
        /// The text, without a final line feed.
        text: String,
        /// Language or file extension.
        lang: Option<String>,
        /// Number of the first line, if lines are numbered.
        start: Option<u64>,
        /// What it is.
        role: String,
    },
    /// Changes of a file.
    Diff {
        /// The file.
        path: Option<String>,
        /// Stretches of changed lines.
        hunks: Vec<HunkShape>,
    },
    /// Points with states.
    List {
        /// The points.
        items: Vec<PointShape>,
    },
    /// Rows and columns.
    Table {
        /// Heads of the columns; may be empty.
        head: Vec<LineShape>,
        /// The rows.
        rows: Vec<Vec<LineShape>>,
    },
    /// A picture or document that is told, not shown.
    Image {
        /// Its media type, as claimed.
        media: String,
        /// Its size.
        bytes: Option<u64>,
        /// Its name, place or address.
        name: Option<String>,
    },
    /// Something that may be folded.
    Details {
        /// What stands for it when it is folded.
        summary: LineShape,
        /// What is inside.
        body: Vec<BlockShape>,
    },
    /// Something was left out here, by a limit of the profile.
    Elided {
        /// Whole lines that were left out.
        lines: u64,
        /// Bytes that were left out.
        bytes: u64,
    },
}

/// One hunk of a diff.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Hunk")]
pub struct HunkShape {
    /// Number of its first line in the old file, from 1; absent if only the changed text is known.
    pub old_start: Option<u64>,
    /// Number of its first line in the new file, from 1; absent likewise.
    pub new_start: Option<u64>,
    /// Its lines.
    pub lines: Vec<DiffLineShape>,
}

/// One line of a hunk.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DiffLine")]
pub struct DiffLineShape {
    /// Kept, added or removed.
    pub change: Change,
    /// The line without its mark and line feed.
    pub text: String,
}

/// A point of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ListPoint")]
pub struct PointShape {
    /// Its state.
    pub point: Point,
    /// What it says.
    pub line: LineShape,
}

/// The JSON Schema of a line of `--to items`.
pub fn items_schema() -> String {
    text(schemars::schema_for!(ItemLine))
}

/// The JSON Schema of a line of `--to json`.
pub fn json_schema() -> String {
    text(schemars::schema_for!(EntryLine))
}

fn text(mut schema: Schema) -> String {
    RecursiveTransform(forbid_null).transform(&mut schema);
    // A schema is plain JSON, which can always be written.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// What isn't there is left out, never `null`.
fn forbid_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            object.remove("anyOf");
            object.extend(only);
        }
    }
}
