//! The table of typed facts: the name, type, owners and meaning of each.
//!
//! Everything outside of the dialects that lists these names is generated from it: the types of machine output and
//! their schema, `docs/facts.md`, the types for editors, and the facts that scripts may set. A new fact is a new row.

use std::sync::LazyLock;

use crate::json::{Value, ValueKind};
use crate::name_table::NameTable;

use FactOwner::{
    All, Ask, Calls, Change, Delegate, Edit, Event, Fetch, Mcp, Notices, Other, Outcomes, Plan, Plans,
    Prompts, Read, Records, Run, Search, Thinking, Unknown, Write,
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
    row("added", Integer, &[Change], "Lines that were added, where the change is known line by line."),
    row("after", Integer, &[Event("compaction")], "Tokens after it."),
    own("again", Truth, &[All], "True if the call has a result already."),
    row("agent", Text, &[Delegate], "The sub-agent's id."),
    row("agent_type", Text, &[Delegate], "What kind of agent it is."),
    row("annotations", Object(&[]), &[Ask], "Question → {`notes`}: what the user noted beside the answer."),
    row("answer", Text, &[Delegate, Fetch], "What a sub-agent, a page or a search answered."),
    row("answers", Object(&[]), &[Ask], "Question → answer."),
    row("api_ms", Number, &[Outcomes, Event("totals")], "Milliseconds spent waiting for the model, over all turns so far."),
    row("approved", Truth, &[Plan], "True if the user approved the plan."),
    row("attempt", Integer, &[Event("retry")], "Which attempt it is."),
    row("background", Text, &[Run], "Id of the job, if it runs on in the background."),
    row("before", Integer, &[Event("compaction")], "Tokens before it."),
    own("block", Any, &[Calls], "The part of the message, if it isn't made as usual."),
    row("bytes", Integer, &[Run, Read, Fetch, Event("damaged"), Event("oversized")], "Size in bytes; of a command, that of its whole output."),
    row("call", Text, &[Event("denied"), Event("task"), Event("control")], "The id of the call that it is about."),
    own("call_count", Integer, &[Event("totals")], "How many calls there were, those of sub-agents included."),
    own("calls", Texts, &[Event("open-calls")], "Ids of the calls without a result, as far as they are listed."),
    row("category", Text, &[Event("refusal")], "The category of the refusal."),
    row("cause", Text, &[Outcomes], "Why the run failed: `interrupted`, `turns`, `budget`, `structure`, `running`, `blocked` (by a hook)."),
    row("cell", Text, &[Change], "The cell of a notebook."),
    row("cell_count", Integer, &[Read], "How many cells a notebook has, where only the text has them."),
    row("cells", List, &[Read], "The cells of a notebook."),
    row("changed", Text, &[Event("session")], "What changed since the session notice before, if it is one thing: `mode`."),
    row("changes", Objects(ASKED_CHANGE), &[Change, Run], "What was done to each file, where one result names several: as `changes` of what a call does. Of a command: the files that it changed."),
    row("code", Integer, &[Fetch], "The HTTP status."),
    row("code_text", Text, &[Fetch], "The HTTP status in words."),
    row("command", Text, &[Run], "The command, as its call has it. In the items of machine output alone."),
    row("content", Text, &[Read, Change, Search], "Text of a file, or lines that were found."),
    row("cost_usd", Number, &[Outcomes, Event("totals")], "What the run cost in US dollars, over all turns so far."),
    row("count", Integer, &[Read, Search, Event("damaged"), Event("open-calls")], "How many files, pages, damaged records or calls there are."),
    own("counted", Truth, &[Event("damaged")], "True if it is one of many, which are counted and not shown."),
    row("created", Truth, &[Change], "True if the file is new, false if it was there before."),
    row("cwd", Text, &[Run, Event("session")], "The folder that the session works in. Of a command: that of the next one, if the agent's program reset it."),
    row("delay_ms", Number, &[Event("retry")], "Milliseconds until the next attempt."),
    row("denials", Objects(DENIAL), &[Outcomes], "Calls that were refused."),
    row("denied", Any, &[All], "Of a failure: true if the call was refused, or who refused it."),
    row("duration_ms", Number, &[Fetch, Delegate, Outcomes, Event("totals")], "Milliseconds from start to end; on an outcome, of its turn."),
    row("echo", Truth, &[Notices], "True if something else reports the same."),
    row("edit_mode", Text, &[Change], "What was done to the cell: `replace`, `insert`, `delete`."),
    row("error", Text, &[Event("retry")], "Why it is tried again."),
    row("errors", List, &[Outcomes], "The errors that the agent's program reported."),
    row("event", Text, &[Notices], "What the notice is about."),
    row("exit", Integer, &[Run, Event("hook")], "The code that a hook, or a command that failed, ended with."),
    row("explanation", Text, &[Event("refusal")], "Why it was refused."),
    own("failed_calls", Integer, &[Outcomes, Event("totals")], "How many calls failed, those of sub-agents included: on an outcome, since the one before."),
    row("fenced", Truth, &[Records], "True if the line of the record is in a block of code of its reply."),
    row("files", List, &[Run, Search], "Paths that were found. Of a command: the files that it changed, each with `filePath` and `hunks`; `changes` has them with `path`."),
    row("from", Text, &[Event("fallback"), Event("refusal"), Event("teammate"), Event("channel")], "The model before it. Of a message: who sent it."),
    row("hits", List, &[Fetch], "What a web search found, each with `title` and `url`."),
    row("hook_event", Text, &[Event("hook"), Event("attachment")], "The event that the hook answers."),
    row("image", Truth, &[Run], "True if the output was a picture."),
    row("images", Objects(IMAGE), &[All, Prompts, Event("attachment")], "Pictures and documents, never their contents."),
    own("incomplete", Truth, &[Event("damaged")], "True if the record lacks only its end."),
    own("input", Any, &[Event("control")], "The input of the call that it is about."),
    row("interrupted", Truth, &[Run, Delegate, Outcomes], "True if it was interrupted."),
    row("items", Texts, &[Event("retracted")], "Ids of the items that are taken back."),
    row("job", Object(JOB), &[Run], "How a job in the background goes."),
    row("level", Text, &[Notices], "How serious it is: `info`, `warning` or `error`."),
    row("lines", Integer, &[Read, Search], "How many lines were read or found."),
    row("listed", Truth, &[Search], "True if the text is a line that sums up, then one path a line."),
    row("matches", IntegerOrList, &[Search], "How many matches there are, or which."),
    row("minor", Truth, &[Notices], "True if it is of little importance: the detail `compact` leaves it out."),
    row("mode", Text, &[Search, Event("session"), Event("mode")], "What was searched for: `files_with_matches`, `content`, `count`. Of a session: its permission mode."),
    own("mode_only", Truth, &[], "Deprecated: true if `changed` is `mode`."),
    row("model", Text, &[Event("session")], "The model."),
    row("models", Objects(MODEL), &[Outcomes], "Tokens and cost by model, over all turns so far."),
    row("modified", Text, &[Change], "The file after the change: as the stream has it, else made from the original and the change; absent if the original isn't known."),
    row("more", List, &[All, Outcomes], "Parts of a result that are neither text nor picture."),
    row("more_files", Integer, &[Run], "How many more files the command changed."),
    row("name", Text, &[Event("hook"), Event("attachment")], "Name of the hook."),
    row("new_source", Text, &[Change], "The new source of a cell."),
    row("note", Text, &[Run], "What the agent's program notes on the exit code."),
    own("odd", Object(&[]), &[], "Name → value: what came under one of these names, but is of another type."),
    row("of", Integer, &[Event("retry")], "How many attempts are made at most."),
    row("old_source", Text, &[Change], "What the cell held before."),
    row("original", Text, &[Change], "The file before the change."),
    own("orphan", Truth, &[All], "True if no call is known."),
    row("outcome", Text, &[Event("hook"), Event("attachment")], "How the hook ended."),
    row("output_file", Text, &[Delegate, Read, Event("task")], "Where the output is written to."),
    row("partial", Truth, &[Calls], "True if the input isn't whole: it is being written, or broke off."),
    row("patch", Objects(HUNK), &[Change], "The change in hunks."),
    row("path", Text, &[Read, Change, Search, Plan, Event("skill")], "The file or folder; in machine output also of a call that failed or whose result doesn't name it."),
    row("persisted", Text, &[Run], "The file that the whole output is kept in."),
    row("plan", Text, &[Plan], "The plan's text."),
    row("problems", List, &[Outcomes], "The errors that are for people, if not all are."),
    own("prompts", Integer, &[Event("totals")], "How many prompts there were."),
    row("query", Text, &[Fetch], "What was searched for."),
    row("quiet", Truth, &[Notices], "Deprecated: the same as `minor`."),
    own("raw", Truth, &[Unknown], "True if the line was no event."),
    row("reason", Text, &[Outcomes, Event("denied")], "Why the run ended, or why something was denied."),
    row("redacted", Truth, &[Thinking], "True if its text isn't there."),
    row("removed", Integer, &[Change], "Lines that were removed, where the change is known line by line."),
    own("repeated", Truth, &[Delegate, Outcomes, Event("task")], "True if the text is that of the last reply."),
    row("resets_at", Number, &[Event("limit")], "When the limit ends, in seconds since 1970."),
    row("say", Text, &[Prompts, Notices], "Deprecated: the same as `words`."),
    row("server", Text, &[Calls], "The MCP server."),
    row("server_side", Truth, &[Calls], "True if the API ran it."),
    row("servers", Objects(SERVER), &[Event("session")], "The session's MCP servers."),
    row("session", Text, &[Event("session-change")], "The session that what follows belongs to."),
    row("skill", Text, &[Other], "The skill that was used."),
    row("snippet", Text, &[Change], "The changed lines and some around them, numbered, where there is no patch."),
    row("start", Integer, &[Read], "Number of the first line that was read, from 1."),
    row("state", Text, &[Run, Delegate], "How far it is: `completed`, `async_launched`, …"),
    row("status", IntegerOrText, &[Event("retry"), Event("task"), Event("limit")], "Of a retry: the HTTP status. Else the state in words."),
    row("stderr", Text, &[Run, Event("hook"), Event("attachment")], "What was written on standard error."),
    row("stdout", Text, &[Run, Event("hook"), Event("attachment")], "What was written on standard output."),
    row("stopped", Text, &[All], "How a person stopped the call: `interrupted` while it ran, `rejected` before; `stopped` where the stream doesn't say which."),
    row("structured", Any, &[All, Outcomes], "The tool's own structured value, if no other fact has it. Of an outcome: an answer that was asked for in a form."),
    row("subtype", Text, &[Outcomes, Event("control")], "What kind it is."),
    row("success", Truth, &[All], "Whether it went well. True: that is all that is known, if nothing else is there; false: it came to nothing, though without an error."),
    row("task", TextOrObject, &[Run, Plan, Event("task")], "Of a notice: the task's id. Of a result: the task {`id`, `subject`, `status`}."),
    row("tasks", Objects(TASK), &[Plan], "All tasks."),
    row("timed_out", Truth, &[Search], "True if it was stopped after its time."),
    row("timed_out_ms", Number, &[Run], "Milliseconds after which it was stopped."),
    row("to", Text, &[Event("fallback"), Event("refusal")], "The model after it."),
    row("todos", Objects(POINT), &[Plan, Plans], "The points, as the agent wrote them. The text of a plan is what the agent says of it, if anything."),
    row("tokens", Integer, &[Delegate], "Tokens that the sub-agent used."),
    row("took_ms", Integer, &[All], "Milliseconds that the call took: as the stream tells it, else from the call's time to the result's, where it has both."),
    row("tool", Text, &[Calls, Event("denied"), Event("control")], "Of a call: the MCP tool without its server. Of a notice: the tool that it is about."),
    row("tool_uses", Integer, &[Delegate], "How many tools the sub-agent used."),
    row("tools", Texts, &[Event("session")], "Names of the session's tools."),
    row("total", Integer, &[Read, Search], "Lines of the whole file, as the agent counts: one more behind a final line feed. Of a search: how many files or lines there are in all."),
    row("tree", Any, &[Records], "Of the record that ends a tree: what is at the top, a list of objects, each with its `record`, and its `children` if there are any. Of an accumulator's: the state that the records came to."),
    row("tree_level", Integer, &[Records], "Of a record that is drawn in a tree: how many records stand above it, 0 at the top. It is there when a formatter is asked for the record's node."),
    row("trigger", Text, &[Event("compaction"), Event("fallback")], "What set it off."),
    row("truncated", Truth, &[Search], "True if there is more."),
    row("turn", Object(TURN), &[Outcomes], "What this turn alone took, since the outcome before: over all outcomes these figures add up."),
    row("turns", Integer, &[Outcomes, Event("turn-limit"), Event("totals")], "How often the model answered since the prompt. Claude Code up to 1.0 counts all messages so far."),
    row("type", Text, &[Read, Event("hook"), Event("attachment"), Event("task"), Event("limit"), Unknown], "What kind of file: `text`, `image`, `notebook`, `pdf`, `parts`, `unchanged`. Elsewhere the type, in the stream's words; of an unknown item, the one that isn't known."),
    row("url", Text, &[Fetch, Delegate], "The address. Of a sub-agent that runs elsewhere: where it can be watched."),
    row("usage", Object(USAGE), &[Outcomes, Event("totals")], "Tokens: of the turn from Claude Code, over all turns so far from Codex; in `turn` of the turn."),
    row("user_modified", Truth, &[Change, Plan], "True if a person changed what was proposed, before it was done."),
    row("utilization", Number, &[Event("limit")], "The part of the limit that is used up."),
    row("value", Any, &[Records, Event("session"), Unknown], "The event as it came. Of a record: the object as it was written."),
    row("version", Text, &[Event("session")], "Version of the agent's program."),
    row("words", Text, &[Prompts, Notices], "What of the text is for people, without what the agent's program put around it."),
];

/// Events of notices without any facts of the table.
pub const BARE_EVENTS: &[&str] = &[
    "caveat",
    "command",
    "command-output",
    "cut",
    "info",
    "interrupt",
    "nudge",
    "reminder",
    "reset",
    "shell-input",
    "shell-output",
    "suggestion",
    "summary",
    "synthetic",
    "title",
];

const DENIAL: &[FactRow] = &[
    part("tool", Any, "The tool."),
    part("call", Any, "The call's id."),
    part("input", Any, "The call's input."),
];

const IMAGE: &[FactRow] = &[
    part("media", Any, "Its media type, as claimed."),
    part("bytes", Any, "Its size."),
    part("name", Any, "Its name, place or address."),
    part("value", Any, "The part of the message, if nothing else is known of it."),
];

const JOB: &[FactRow] = &[
    part("state", Any, "How far it is."),
    part("exit", Any, "Its exit code."),
    part("output", Any, "What it wrote."),
    part("stderr", Any, "What it wrote on standard error."),
];

const HUNK: &[FactRow] = &[
    part("oldStart", Any, "Number of its first line in the old file."),
    part("oldLines", Any, "How many lines of the old file it covers."),
    part("newStart", Any, "Number of its first line in the new file."),
    part("newLines", Any, "How many lines of the new file it covers."),
    part("lines", Any, "Its lines, each with its mark in front."),
];

const SERVER: &[FactRow] = &[part("name", Any, "Its name."), part("status", Any, "Whether it is connected.")];

const TASK: &[FactRow] = &[
    part("id", Any, "What names it."),
    part("subject", Any, "What it is."),
    part("status", Any, "Its state."),
];

const POINT: &[FactRow] = &[
    part("content", Any, "What is to be done; some agents call it `subject`, `text` or `step`."),
    part("status", Any, "Its state: `pending`, `in_progress`, `completed`, `deleted`."),
    part("completed", Any, "Whether it is done, where no more is known of its state."),
];

/// Tokens.
const USAGE: &[FactRow] = &[
    part("input", Integer, "Read fresh."),
    part("output", Integer, "Written."),
    part("cache_read", Integer, "Read from the cache."),
    part("cache_write", Integer, "Written to the cache."),
];

const TURN: &[FactRow] = &[
    part("turns", Integer, "How often the model answered."),
    part("duration_ms", Number, "Milliseconds from start to end."),
    part("api_ms", Number, "Milliseconds spent waiting for the model."),
    part("cost_usd", Number, "In US dollars."),
    part("usage", Object(USAGE), "Tokens."),
    part("models", Objects(MODEL), "Tokens and cost by model, where the agent reports that."),
];

const MODEL: &[FactRow] = &[
    part("model", Text, "The model's name."),
    USAGE[0],
    USAGE[1],
    USAGE[2],
    USAGE[3],
    part("cost_usd", Number, "In US dollars."),
];

/// The arguments of calls: the parts of `does`. Dialects fill them from their inputs.
#[rustfmt::skip]
pub static DOES: &[FactRow] = &[
    row("agent", Text, &[Delegate], "The kind of agent."),
    row("args", Text, &[Other], "The arguments of a skill."),
    row("background", Truth, &[Run, Delegate], "True if the agent goes on without waiting for it."),
    row("blocked_by", Texts, &[Plan], "Tasks that this one must wait for."),
    row("blocks", Texts, &[Plan], "Tasks that must wait for this one."),
    row("by", Text, &[Search], "`name` finds files by their names, `content` by what is in them."),
    row("cell", Text, &[Edit], "The cell of a notebook."),
    row("changes", Parts(ASKED_CHANGE), &[Edit], "What is changed, in this order."),
    row("command", Text, &[Run, Other], "The command line."),
    row("content", Text, &[Write], "All that the file will hold."),
    row("cwd", Text, &[Run], "The folder that it runs in."),
    row("description", Text, &[Run, Delegate, Plan], "What it is for, in the agent's words."),
    row("filter", Text, &[Run], "Lines of a job's output that are searched for."),
    row("glob", Text, &[Search], "The files that are searched, as a glob."),
    row("id", Text, &[Plan], "The task."),
    row("job", Text, &[Run], "The job in the background that is looked at, written to or ended."),
    row("mode", Text, &[Edit], "What is done to a cell: `replace`, `insert`, `delete`."),
    row("owner", Text, &[Plan], "Who the task is for."),
    row("pages", Text, &[Read], "Pages of a document."),
    row("path", Text, &[Read, Write, Edit, Search], "The file or folder, as the agent names it."),
    row("pattern", Text, &[Search], "What is searched for."),
    row("plan", Text, &[Plan], "The plan's text."),
    row("prompt", Text, &[Delegate, Fetch], "The task of a sub-agent. Of a page: what is asked of it."),
    row("query", Text, &[Fetch, Search], "What is searched for on the web or among tools."),
    row("questions", Parts(ASKED_QUESTION), &[Ask], "The questions."),
    row("range", Object(ASKED_RANGE), &[Read], "The lines that are asked for; absent: all."),
    row("server", Text, &[Mcp, Read], "The server, of what isn't a file."),
    row("skill", Text, &[Other], "The skill."),
    row("source", Text, &[Edit], "What a cell will hold."),
    row("status", Text, &[Plan], "The task's new state."),
    row("stdin", Text, &[Run], "What is written to the standard input of a job."),
    row("subject", Text, &[Plan], "What the task is."),
    row("timeout_ms", Number, &[Run], "Milliseconds after which it is stopped."),
    row("todos", Parts(ASKED_POINT), &[Plan], "The whole list of things to do."),
    row("tool", Text, &[Mcp], "The tool, without its server."),
    row("type", Text, &[Search], "The files that are searched, by their type."),
    row("unsandboxed", Truth, &[Run], "True if it runs outside of the sandbox."),
    row("uri", Text, &[Read], "The address of something that isn't a file."),
    row("url", Text, &[Fetch], "The address."),
];

const ASKED_CHANGE: &[FactRow] = &[
    part("old", Text, "The text that is replaced."),
    part("new", Text, "What replaces it."),
    part("everywhere", Truth, "True if every place is changed that holds the old text."),
    part("patch", Any, "The change as a patch, if there are no two texts."),
    part("path", Text, "The file, if the change names it."),
    part("kind", Text, "What is done to the file: `add`, `update` or `delete`."),
    part("to", Text, "The new path of a file that is moved."),
    part("content", Text, "The whole file, if it is new or deleted."),
    part("diff", Text, "The change as a unified diff; its hunks need not have line numbers."),
];

const ASKED_RANGE: &[FactRow] = &[
    part("start", Integer, "The first, from 1."),
    part("lines", Integer, "How many."),
    part("end", Integer, "The last."),
];

const ASKED_QUESTION: &[FactRow] = &[
    part("question", Text, "The question."),
    part("head", Text, "A word for it."),
    part("several", Truth, "True if several answers may be chosen."),
    part("options", Parts(ASKED_OPTION), "What can be answered."),
];

const ASKED_OPTION: &[FactRow] =
    &[part("label", Text, "The answer."), part("description", Text, "What it means.")];

const ASKED_POINT: &[FactRow] = &[
    part("content", Text, "What is to be done."),
    part("status", Text, "Its state."),
    part("active", Text, "How it is called while it is done."),
    part("id", Text, "What names it."),
    part("owner", Text, "Who it is for."),
    part("blocked_by", Texts, "Points that it must wait for."),
];

static BY_NAME: LazyLock<NameTable<FactInfo>> = NameTable::lazy(|| NameTable::new(FACTS));
static PARTS_BY_NAME: LazyLock<NameTable<FactInfo>> = NameTable::lazy(|| NameTable::new(DOES));

/// The fact of this name, if there is one.
pub fn find(name: &str) -> Option<FactInfo> {
    BY_NAME.get(name.as_bytes())
}

/// The argument of a call that has this name, at any depth: a name has the same type everywhere.
pub(crate) fn find_part(name: &str) -> Option<FactInfo> {
    fn within(rows: &'static [FactRow], name: &str) -> Option<FactInfo> {
        rows.iter().find_map(|(_, row)| {
            let parts = row.shape.parts();
            let own = parts.iter().find(|(known, _)| *known == name).map(|(_, row)| *row);
            own.or_else(|| within(parts, name))
        })
    }
    PARTS_BY_NAME.get(name.as_bytes()).or_else(|| within(DOES, name))
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
