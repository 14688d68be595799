//! The table of typed facts: the name, type, owners and meaning of each.
//!
//! Everything outside of the dialects that lists these names is generated from it: the types of machine output and
//! their schema, `docs/facts.md`, the types for editors, and the facts that scripts may set. A new fact is a new row.

use std::sync::LazyLock;

use crate::json::{Value, ValueKind};
use crate::name_table::NameTable;

use FactOwner::{
    All, Ask, Calls, Change, Delegate, Edit, Event, Fetch, Mcp, Notices, Other, Outcomes, Plan, Plans,
    Prompts, Read, Records, Replies, Run, Search, Thinking, Unknown, Write,
};
use FactShape::{
    Any, Integer, IntegerOrList, IntegerOrText, List, Number, Object, Objects, Parts, Text, TextOrObject,
    Texts, Truth,
};

/// The name of a fact, and its description.
pub type FactRow = (&'static str, FactInfo);

/// The description of a fact.
#[derive(Clone, Copy, Debug)]
pub struct FactInfo {
    /// The type of its value.
    pub shape: FactShape,
    /// The items that have it; empty for a part of another fact, and for a fact that only machine output has.
    pub on: &'static [FactOwner],
    /// Its meaning, in a sentence.
    pub doc: &'static str,
    /// Whether a dialect in Lua may set it.
    pub is_open: bool,
}

/// The type of a fact's value.
#[derive(Clone, Copy, Debug)]
pub enum FactShape {
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Truth,
    /// A list of anything.
    List,
    /// A list of texts.
    Texts,
    /// A list of objects, with the known parts of each; it may have more.
    Objects(&'static [FactRow]),
    /// A list, with the known parts of the objects in it. Elements that aren't objects are skipped.
    Parts(&'static [FactRow]),
    /// An object, with its known parts.
    Object(&'static [FactRow]),
    /// A whole number or a text, depending on the dialect.
    IntegerOrText,
    /// A text or an object.
    TextOrObject,
    /// A whole number or a list.
    IntegerOrList,
    /// Anything.
    Any,
}

/// The items that have a fact. The name of an action means the results of tools with this action; in [`DOES`], their calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactOwner {
    /// Results of any tool.
    All,
    /// `run`
    Run,
    /// `read`
    Read,
    /// `write`
    Write,
    /// `edit`
    Edit,
    /// `write` and `edit`
    Change,
    /// `search`
    Search,
    /// `fetch`
    Fetch,
    /// `delegate`
    Delegate,
    /// `plan`
    Plan,
    /// `ask`
    Ask,
    /// `mcp`
    Mcp,
    /// `other`
    Other,
    /// Calls.
    Calls,
    /// Prompts.
    Prompts,
    /// Replies.
    Replies,
    /// Thinking.
    Thinking,
    /// Plans.
    Plans,
    /// Records.
    Records,
    /// Notices of any event.
    Notices,
    /// Notices of this event.
    Event(&'static str),
    /// Outcomes.
    Outcomes,
    /// Items of the kind `unknown`.
    Unknown,
}

const fn row(name: &'static str, shape: FactShape, on: &'static [FactOwner], doc: &'static str) -> FactRow {
    (name, FactInfo { shape, on, doc, is_open: true })
}

/// A row that a dialect in Lua may not set.
const fn own(name: &'static str, shape: FactShape, on: &'static [FactOwner], doc: &'static str) -> FactRow {
    (name, FactInfo { shape, on, doc, is_open: false })
}

/// A part of a fact.
const fn part(name: &'static str, shape: FactShape, doc: &'static str) -> FactRow {
    (name, FactInfo { shape, on: &[], doc, is_open: true })
}

/// The facts of items, by name.
#[rustfmt::skip]
pub static FACTS: &[FactRow] = &[
    row("action", Text, &[Event("pull-request")], "What was done: `created`, …; absent if the session only belongs to it."),
    row("added", Integer, &[Change, Outcomes], "Number of added lines, if the change is known line by line. For an outcome: of all changes."),
    row("after", Integer, &[Event("compaction")], "Tokens after the compaction."),
    own("again", Truth, &[All], "True if the call already has a result."),
    row("agent", Text, &[Delegate, Event("session")], "The sub-agent's id. For a session: the agent's program, if the format is that of several."),
    row("agent_type", Text, &[Delegate, Event("session")], "The type of agent; for a session: of the sub-agent whose session it is."),
    row("annotations", Object(&[]), &[Ask], "Question → {`notes`}: the user's notes on the answer."),
    row("answer", Text, &[Delegate, Fetch], "The answer of a sub-agent, a page or a search."),
    row("answers", Object(&[]), &[Ask], "Question → answer."),
    row("api_ms", Number, &[Outcomes, Event("totals")], "Milliseconds spent waiting for the model, over all turns so far."),
    row("approved", Truth, &[Plan], "True if the user approved the plan."),
    row("attempt", Integer, &[Event("retry")], "Number of the attempt."),
    row("background", Text, &[Run], "Id of the job, if it continues in the background."),
    row("before", Integer, &[Event("compaction")], "Tokens before the compaction."),
    own("block", Any, &[Calls], "The part of the message, if it has an unusual form."),
    row("bytes", Integer, &[Run, Read, Fetch, Event("damaged"), Event("oversized")], "Size in bytes; for a command, of its whole output."),
    row("call", Text, &[Event("denied"), Event("task"), Event("control"), Event("retry"), Event("assessment"), Event("waiting"), Event("waited")], "The id of the call concerned."),
    own("call_count", Integer, &[Event("totals")], "Number of calls, including those of sub-agents."),
    own("calls", Texts, &[Event("open-calls")], "Ids of calls without a result; the list may be incomplete."),
    row("category", Text, &[Event("refusal")], "The category of the refusal."),
    row("cause", Text, &[Outcomes], "Why the run failed: `interrupted`, `turns`, `budget`, `structure`, `running`, `blocked` (by a hook)."),
    row("cell", Text, &[Change], "The cell of a notebook."),
    row("cell_count", Integer, &[Read], "Number of cells of a notebook, if only the text contains them."),
    row("cells", List, &[Read], "The cells of a notebook."),
    row("changed", Text, &[Event("session")], "The only thing that changed since the previous session notice: `mode`."),
    row("changes", Objects(ASKED_CHANGE), &[Change, Run], "The change to each file, if a result covers several; the same form as `changes` in a call's `does`. For a command: the files that it changed."),
    row("code", Integer, &[Fetch], "The HTTP status."),
    row("code_text", Text, &[Fetch], "The text of the HTTP status."),
    row("command", Text, &[Run], "The command of the call; only in items of output for programs."),
    row("content", Text, &[Read, Change, Search], "Text of a file, or matching lines."),
    row("continues", Text, &[Event("session")], "The session that it continues, whose history is in another file."),
    row("cost_usd", Number, &[Outcomes, Event("totals")], "Cost of the run in US dollars, over all turns so far."),
    row("count", Integer, &[Read, Search, Event("damaged"), Event("open-calls")], "Number of files, pages, damaged records or calls."),
    own("counted", Truth, &[Event("damaged")], "True if it is one of many that are counted but not shown."),
    row("created", Truth, &[Change], "True if the file is new, false if it existed before."),
    row("cwd", Text, &[Run, Event("session")], "The working directory of the session. For a command: that of the next command, if the agent's program reset it."),
    row("delay_ms", Number, &[Event("retry")], "Milliseconds until the next attempt."),
    row("denials", Objects(DENIAL), &[Outcomes], "Denied calls."),
    row("denied", Any, &[All], "For a failure: true if the call was denied, or who denied it."),
    row("duration_ms", Number, &[Fetch, Delegate, Outcomes, Event("totals"), Event("turn")], "Milliseconds from start to end; for an outcome, of its turn."),
    row("echo", Truth, &[Notices], "True if another item reports the same."),
    row("edit_mode", Text, &[Change], "The change to the cell: `replace`, `insert`, `delete`."),
    row("error", Text, &[Event("retry"), Event("limit")], "The reason for the retry. For a limit: the code of the error."),
    row("errors", List, &[Outcomes], "The errors that the agent's program reported."),
    row("event", Text, &[Notices], "The type of event."),
    row("exit", Integer, &[Run, Event("hook")], "The exit code of a hook or a failed command."),
    row("explanation", Text, &[Event("refusal")], "The reason for the refusal."),
    own("failed_calls", Integer, &[Outcomes, Event("totals")], "Number of failed calls, including those of sub-agents; for an outcome, since the previous one."),
    row("fenced", Truth, &[Records], "True if the record is in a code block of its reply."),
    row("files", List, &[Run, Search], "Paths that were found. For a command: the files that it changed, each with `filePath` and `hunks`; `changes` lists them with `path`."),
    row("final", Truth, &[Replies], "True if the agent declares the reply the answer of its turn."),
    row("for", Text, &[Event("waiting"), Event("waited")], "What a person is needed for: `permission`, `answer`, or `approval` of a plan."),
    row("forked_from", Text, &[Event("session"), Event("origin-end"), Event("origin-missing")], "The session whose history it repeats at its beginning."),
    row("from", Text, &[Event("fallback"), Event("refusal"), Event("dialect"), Event("agent"), Event("channel"), Event("coordinator"), Event("message"), Event("observer"), Event("session-message"), Event("task"), Event("teammate")], "The previous model, or the dialect of the input. For a message: its sender."),
    row("hits", List, &[Fetch], "The hits of a web search, each with `title` and `url`."),
    row("hook_event", Text, &[Event("hook"), Event("attachment")], "The event that triggered the hook."),
    row("image", Truth, &[Run], "True if the output was a picture."),
    row("images", Objects(IMAGE), &[All, Prompts, Notices], "Pictures and documents, without their contents."),
    own("incomplete", Truth, &[Event("damaged")], "True if only the end of the record is missing."),
    own("input", Any, &[Event("control"), Event("waiting")], "The input of the call concerned."),
    row("interrupted", Truth, &[Run, Delegate, Outcomes, Event("no-outcome")], "True if it was interrupted."),
    row("items", Texts, &[Event("retracted")], "Ids of the retracted items."),
    row("job", Object(JOB), &[Run], "The state of a background job."),
    row("level", Text, &[Notices, Unknown], "Severity: `info`, `warning` or `error`."),
    row("lines", Integer, &[Read, Search], "Number of lines read or found."),
    row("listed", Truth, &[Search], "True if the text is a summary line, then one path per line."),
    row("lost", Texts, &[Event("writes-lost")], "What was not saved, as named in the stream."),
    row("matches", IntegerOrList, &[Search], "Number of matches, or the list of them."),
    row("minor", Truth, &[Notices], "True if it is of minor importance: the detail `compact` omits it."),
    row("mode", Text, &[Search, Event("session"), Event("mode")], "The kind of search: `files_with_matches`, `content`, `count`. For a session: its permission mode."),
    row("model", Text, &[Event("session")], "The model."),
    row("models", Objects(MODEL), &[Outcomes], "Tokens and cost by model, over all turns so far."),
    row("modified", Text, &[Change], "The file after the change: from the stream, or computed from the original and the change; absent if the original isn't known."),
    row("more", List, &[All, Outcomes], "Parts of a result that are neither text nor picture."),
    row("more_files", Integer, &[Run], "Number of further files that the command changed."),
    row("name", Text, &[Event("hook"), Event("attachment"), Event("session")], "Name of the hook, or of the sub-agent whose session it is."),
    row("new_source", Text, &[Change], "The new source of a cell."),
    row("no_result", Truth, &[Calls], "True if the stream never contains the result of the call."),
    row("note", Text, &[Run], "A note of the agent's program on the exit code."),
    row("number", IntegerOrText, &[Event("pull-request")], "The number of the pull request."),
    own("odd", Object(&[]), &[], "Name → value: values with one of these names but a different type."),
    row("of", Integer, &[Event("retry")], "Maximum number of attempts."),
    row("old_source", Text, &[Change], "The previous source of a cell."),
    row("original", Text, &[Change], "The file before the change."),
    own("orphan", Truth, &[All], "True if its call isn't known."),
    row("outcome", Text, &[Event("hook"), Event("attachment")], "The outcome of the hook."),
    row("output_file", Text, &[Delegate, Read, Event("task")], "The file that the output is written to."),
    row("parent", Text, &[Event("session")], "The session that started the sub-agent whose session it is."),
    row("partial", Truth, &[Calls], "True if the input is incomplete: still being written, or broken off."),
    row("patch", Objects(HUNK), &[Change], "The change as hunks."),
    row("path", Text, &[Read, Change, Search, Plan, Event("skill")], "The file or folder; in output for programs also if the call failed or its result doesn't name it."),
    row("persisted", Text, &[Run], "The file that contains the whole output."),
    row("plan", Text, &[Plan], "The plan's text."),
    row("problems", List, &[Outcomes, Event("session")], "The errors that are meant for people, if not all are. For a session: what could not be loaded, as texts."),
    own("prompts", Integer, &[Event("totals")], "Number of prompts."),
    row("query", Text, &[Fetch], "The search query."),
    own("raw", Truth, &[Unknown], "True if the line wasn't an event."),
    row("reason", Text, &[Outcomes, Event("denied"), Event("limit"), Event("no-outcome"), Event("writes-lost")], "Why the run ended (`cost`: it was stopped at the limit of its cost), or why something was denied or not saved. For a limit: why no more may be used than it allows."),
    row("redacted", Truth, &[Thinking], "True if its text is withheld."),
    row("removed", Integer, &[Change, Outcomes], "Number of removed lines, if the change is known line by line. For an outcome: of all changes."),
    own("repeated", Truth, &[Delegate, Outcomes, Event("task")], "True if the text is the same as that of the last reply, or as the structured answer."),
    row("repeats", Text, &[All, Calls, Prompts, Replies, Thinking, Plans, Notices, Outcomes, Unknown], "The session to which it belongs: this one only repeats it, as the beginning of a fork does."),
    row("repo", Text, &[Event("pull-request")], "The repository of the pull request."),
    row("resets_at", Number, &[Event("limit")], "The time when the limit is reset, in seconds since 1970."),
    row("scope", Text, &[Event("limit")], "Whose limit it is, if it isn't the user's own."),
    row("server", Text, &[Calls], "The MCP server."),
    row("server_side", Truth, &[Calls], "True if the tool ran on the API's servers."),
    row("servers", Objects(SERVER), &[Event("session")], "The session's MCP servers."),
    row("session", Text, &[Event("session-change")], "The session of the following items."),
    row("skill", Text, &[Other], "The skill that was used."),
    row("snippet", Text, &[Change], "The changed lines with some context, numbered, if there is no patch."),
    row("start", Integer, &[Read], "Number of the first line that was read, from 1."),
    row("state", Text, &[Run, Delegate], "Its state: `completed`, `async_launched`, …"),
    row("status", IntegerOrText, &[Event("retry"), Event("task"), Event("limit"), Event("assessment")], "For a retry: the HTTP status. Otherwise the state in words."),
    row("stderr", Text, &[Run, Event("hook"), Event("attachment")], "Standard error."),
    row("stdout", Text, &[Run, Event("hook"), Event("attachment")], "Standard output."),
    row("stopped", Text, &[All], "How the user stopped the call: `interrupted` while it ran, `rejected` before; `stopped` if the stream doesn't distinguish."),
    row("structured", Any, &[All, Outcomes], "The tool's own structured value, if no other fact contains it. For an outcome: an answer that was requested in a structured form."),
    own("structured_repeated", Truth, &[Outcomes], "True if a call contains the same structured answer."),
    row("subtype", Text, &[Outcomes, Event("control")], "The subtype."),
    row("success", Truth, &[All], "Whether the call succeeded. True without other facts: nothing else is known; false: it had no effect, but reported no error."),
    row("task", TextOrObject, &[Run, Plan, Event("task")], "For a notice: the task's id. For a result: the task {`id`, `subject`, `status`}."),
    row("tasks", Objects(TASK), &[Plan], "All tasks."),
    row("timed_out", Truth, &[Search], "True if the search was stopped by a timeout."),
    row("timed_out_ms", Number, &[Run], "The timeout that stopped the command, in milliseconds."),
    own("titles", Any, &[Outcomes, Notices], "While a notice or an outcome is formatted, and only then: the names that the titles of the calls that it names have for their tools."),
    row("to", Text, &[Event("fallback"), Event("refusal"), Event("dialect")], "The new model; the dialect of the lines from here on."),
    row("todos", Objects(POINT), &[Plan, Plans], "The to-do items, as the agent wrote them. The text of a plan is the agent's comment on it, if any."),
    row("tokens", Integer, &[Delegate], "Tokens that the sub-agent used."),
    row("took_ms", Integer, &[All], "Duration of the call in milliseconds: as reported by the stream, otherwise the time between call and result, if the stream contains both."),
    row("tool", Text, &[Calls, Event("denied"), Event("control"), Event("waiting"), Event("waited")], "For a call: the MCP tool without its server. For a notice: the tool concerned."),
    row("tool_uses", Integer, &[Delegate], "Number of tool calls of the sub-agent."),
    row("tools", Texts, &[Event("session")], "Names of the session's tools."),
    row("total", Integer, &[Read, Search], "Number of lines of the whole file, as the agent counts: a final line feed counts as one more. For a search: the total number of files or lines."),
    row("tree", Any, &[Records], "For the record at the end of a tree: the top-level nodes, a list of objects with a `record` and, if there are any, `children`. For an accumulator: its final state."),
    row("tree_level", Integer, &[Records], "For a record that is drawn in a tree: its depth, 0 at the top. Present only when a formatter is called for its node."),
    row("trigger", Text, &[Event("compaction"), Event("fallback")], "The cause."),
    row("truncated", Truth, &[Search], "True if there are more results."),
    row("turn", Object(TURN), &[Outcomes], "Figures of this turn alone, since the previous outcome; they can be summed over all outcomes."),
    row("turns", Integer, &[Outcomes, Event("turn-limit"), Event("totals")], "Number of the model's responses since the prompt. Claude Code up to 1.0 counts all messages so far."),
    row("type", Text, &[Read, Event("hook"), Event("attachment"), Event("task"), Event("limit"), Event("report"), Unknown], "The kind of file: `text`, `image`, `notebook`, `pdf`, `parts`, `unchanged`. Elsewhere the type as named in the stream; for an item that isn't interpreted, its type."),
    own("unread", Truth, &[Event("dialect")], "True if lines of another dialect aren't read as such: the user chose one, or they are lines of text."),
    row("url", Text, &[Fetch, Delegate, Event("pull-request")], "The URL. For a sub-agent that runs elsewhere: where it can be watched."),
    row("usage", Object(USAGE), &[Outcomes, Event("totals")], "Tokens. From Claude Code: of the turn; from Codex: over all turns so far. Inside `turn`: of the turn."),
    row("user_modified", Truth, &[Change, Plan], "True if the user edited the proposed change or plan."),
    row("utilization", Number, &[Event("limit")], "The fraction of the limit that is used."),
    row("value", Any, &[Records, Event("session"), Event("report"), Event("attachment"), Event("hook"), Unknown], "The event, unchanged. For an attachment: what is attached, if it has no text. For a record: the object, unchanged."),
    row("version", Text, &[Event("session")], "Version of the agent's program."),
    row("words", Text, &[Prompts, Notices], "The part of the text meant for people, without the text that the agent's program added."),
];

/// Events of notices without any facts of the table.
pub const BARE_EVENTS: &[&str] = &[
    "caveat",
    "command",
    "command-output",
    "configuration",
    "continuation",
    "cut",
    "goal",
    "info",
    "interrupt",
    "memory",
    "nudge",
    "reminder",
    "reset",
    "rollback",
    "shell-input",
    "shell-output",
    "suggestion",
    "summary",
    "synthetic",
    "title",
    "turn-diff",
    "undo",
    "wrapped",
];

const DENIAL: &[FactRow] = &[
    part("tool", Any, "The tool."),
    part("call", Any, "The call's id."),
    part("input", Any, "The call's input."),
];

const IMAGE: &[FactRow] = &[
    part("media", Any, "Its declared media type."),
    part("bytes", Any, "Its size."),
    part("name", Any, "Its name, path or URL."),
    part("value", Any, "The part of the message, if nothing else is known about it."),
];

const JOB: &[FactRow] = &[
    part("state", Any, "Its state."),
    part("exit", Any, "Its exit code."),
    part("output", Any, "Its output."),
    part("stderr", Any, "Its standard error."),
];

const HUNK: &[FactRow] = &[
    part("oldStart", Any, "Number of its first line in the old file."),
    part("oldLines", Any, "Number of lines of the old file that it covers."),
    part("newStart", Any, "Number of its first line in the new file."),
    part("newLines", Any, "Number of lines of the new file that it covers."),
    part("lines", Any, "Its lines, each with the prefix `+`, `-` or a space."),
];

const SERVER: &[FactRow] = &[part("name", Any, "Its name."), part("status", Any, "Its connection status.")];

const TASK: &[FactRow] =
    &[part("id", Any, "Its id."), part("subject", Any, "Its subject."), part("status", Any, "Its state.")];

const POINT: &[FactRow] = &[
    part("content", Any, "The text of the item; some agents call it `subject`, `text` or `step`."),
    part("status", Any, "Its state: `pending`, `in_progress`, `completed`, `deleted`."),
    part("completed", Any, "Whether it is done, if nothing else is known about its state."),
];

/// Tokens.
const USAGE: &[FactRow] = &[
    part("input", Integer, "Uncached input tokens."),
    part("output", Integer, "Output tokens."),
    part("cache_read", Integer, "Tokens read from the cache."),
    part("cache_write", Integer, "Tokens written to the cache."),
];

const TURN: &[FactRow] = &[
    part("turns", Integer, "Number of the model's responses."),
    part("duration_ms", Number, "Milliseconds from start to end."),
    part("api_ms", Number, "Milliseconds spent waiting for the model."),
    part("cost_usd", Number, "Cost in US dollars."),
    part("usage", Object(USAGE), "Tokens."),
    part("models", Objects(MODEL), "Tokens and cost by model, if the agent reports them."),
];

const MODEL: &[FactRow] = &[
    part("model", Text, "The model's name."),
    USAGE[0],
    USAGE[1],
    USAGE[2],
    USAGE[3],
    part("cost_usd", Number, "Cost in US dollars."),
];

/// The arguments of calls: the parts of `does`. Dialects fill them from their inputs.
#[rustfmt::skip]
pub static DOES: &[FactRow] = &[
    row("agent", Text, &[Delegate], "The kind of agent."),
    row("args", Text, &[Other], "The arguments of a skill."),
    row("background", Truth, &[Run, Delegate], "True if the agent continues without waiting for it."),
    row("blocked_by", Texts, &[Plan], "Tasks that must be completed before this one."),
    row("blocks", Texts, &[Plan], "Tasks that can't start before this one is completed."),
    row("by", Text, &[Search], "`name` searches file names, `content` searches file contents."),
    row("cell", Text, &[Edit], "The cell of a notebook."),
    row("changes", Parts(ASKED_CHANGE), &[Edit], "The changes, in order."),
    row("command", Text, &[Run, Other], "The command line."),
    row("content", Text, &[Write], "The whole new content of the file."),
    row("cwd", Text, &[Run], "The working directory."),
    row("description", Text, &[Run, Delegate, Plan], "Its purpose, in the agent's words."),
    row("filter", Text, &[Run], "The pattern of lines to return from a job's output."),
    row("glob", Text, &[Search], "The files to search, as a glob."),
    row("id", Text, &[Plan], "The id of the task."),
    row("job", Text, &[Run], "The background job to read, write to or end."),
    row("mode", Text, &[Edit], "The change to a cell: `replace`, `insert`, `delete`."),
    row("owner", Text, &[Plan], "The owner of the task."),
    row("pages", Text, &[Read], "Pages of a document."),
    row("path", Text, &[Read, Write, Edit, Search], "The file or folder, as the agent names it."),
    row("pattern", Text, &[Search], "The search pattern."),
    row("plan", Text, &[Plan], "The plan's text."),
    row("prompt", Text, &[Delegate, Fetch], "The task of a sub-agent. For a page: the question about it."),
    row("query", Text, &[Fetch, Search], "The query of a search on the web or among tools."),
    row("questions", Parts(ASKED_QUESTION), &[Ask], "The questions."),
    row("range", Object(ASKED_RANGE), &[Read], "The requested lines; all if absent."),
    row("server", Text, &[Mcp, Read], "The server of a resource that isn't a file."),
    row("skill", Text, &[Other], "The skill."),
    row("source", Text, &[Edit], "The new source of the cell."),
    row("status", Text, &[Plan], "The task's new state."),
    row("stdin", Text, &[Run], "The text to write to the standard input of a job."),
    row("subject", Text, &[Plan], "The subject of the task."),
    row("timeout_ms", Number, &[Run], "The timeout in milliseconds."),
    row("todos", Parts(ASKED_POINT), &[Plan], "The whole to-do list."),
    row("tool", Text, &[Mcp], "The tool, without its server."),
    row("type", Text, &[Search], "The type of files to search."),
    row("unsandboxed", Truth, &[Run], "True if it runs outside the sandbox."),
    row("uri", Text, &[Read], "The URI of a resource that isn't a file."),
    row("url", Text, &[Fetch], "The URL."),
];

const ASKED_CHANGE: &[FactRow] = &[
    part("old", Text, "The text to replace."),
    part("new", Text, "The replacement."),
    part("everywhere", Truth, "True if every occurrence of the old text is replaced."),
    part("patch", Any, "The change as a patch, if there are no old and new texts."),
    part("path", Text, "The file, if the change names it."),
    part("kind", Text, "The kind of change: `add`, `update` or `delete`."),
    part("to", Text, "The new path of a moved file."),
    part("content", Text, "The whole file, if it is added or deleted."),
    part("diff", Text, "The change as a unified diff; hunks may lack line numbers."),
];

const ASKED_RANGE: &[FactRow] = &[
    part("start", Integer, "The first line, from 1."),
    part("lines", Integer, "Number of lines."),
    part("end", Integer, "The last line."),
];

const ASKED_QUESTION: &[FactRow] = &[
    part("question", Text, "The question."),
    part("head", Text, "A short title."),
    part("several", Truth, "True if several answers may be chosen."),
    part("options", Parts(ASKED_OPTION), "The possible answers."),
];

const ASKED_OPTION: &[FactRow] =
    &[part("label", Text, "The answer."), part("description", Text, "Its meaning.")];

const ASKED_POINT: &[FactRow] = &[
    part("content", Text, "The text of the item."),
    part("status", Text, "Its state."),
    part("active", Text, "The text to show while it is in progress."),
    part("id", Text, "Its id."),
    part("owner", Text, "Its owner."),
    part("blocked_by", Texts, "Items that must be completed first."),
];

static BY_NAME: LazyLock<NameTable<FactInfo>> = NameTable::lazy(|| NameTable::new(FACTS));
static PARTS_BY_NAME: LazyLock<NameTable<FactInfo>> = NameTable::lazy(|| NameTable::new(&ALL_PARTS));

/// The arguments of calls at any depth. The first of each name counts.
static ALL_PARTS: LazyLock<Vec<FactRow>> = LazyLock::new(|| {
    let mut all = DOES.to_vec();
    let mut at = 0;
    while let Some((_, row)) = all.get(at).copied() {
        all.extend(row.shape.parts());
        at += 1;
    }
    all
});

/// The fact of this name, if there is one.
pub fn find(name: &str) -> Option<FactInfo> {
    BY_NAME.get(name.as_bytes())
}

/// The argument of a call that has this name, at any depth: a name has the same type everywhere.
pub(crate) fn find_part(name: &str) -> Option<FactInfo> {
    PARTS_BY_NAME.get(name.as_bytes())
}

impl FactShape {
    /// Its known parts.
    pub fn parts(self) -> &'static [FactRow] {
        match self {
            Self::Objects(parts) | Self::Parts(parts) | Self::Object(parts) => parts,
            _ => &[],
        }
    }

    /// Whether a value has this type. The parts of an object aren't checked.
    pub fn fits(self, value: Value<'_>) -> bool {
        let kind = value.kind();
        match self {
            Self::Text => kind == ValueKind::String,
            Self::Integer => kind == ValueKind::Number && value.raw().parse::<i64>().is_ok(),
            Self::Number => value.float().is_some(),
            Self::Truth => value.bool().is_some(),
            Self::List | Self::Parts(_) => kind == ValueKind::Array,
            Self::Texts => {
                kind == ValueKind::Array && value.items().all(|item| item.kind() == ValueKind::String)
            }
            Self::Objects(_) => {
                kind == ValueKind::Array && value.items().all(|item| item.kind() == ValueKind::Object)
            }
            Self::Object(_) => kind == ValueKind::Object,
            Self::IntegerOrText => Self::Integer.fits(value) || Self::Text.fits(value),
            Self::TextOrObject => Self::Text.fits(value) || Self::Object(&[]).fits(value),
            Self::IntegerOrList => Self::Integer.fits(value) || Self::List.fits(value),
            Self::Any => true,
        }
    }
}
