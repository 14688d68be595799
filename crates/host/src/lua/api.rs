//! The table of everything in `sf`: it sets up each VM and generates the reference and the editor's declarations.

#![expect(clippy::needless_pass_by_value, reason = "functions of scripts own their arguments")]

pub(crate) mod current;
mod exact;
pub(crate) mod item;
pub(crate) mod re;
pub mod reference;
pub(crate) mod registered;
pub(crate) mod registrations;
pub(crate) mod registry;
pub(crate) mod spell;

use std::fmt::Write;
use std::rc::Rc;
use std::sync::LazyLock;

use mlua::{FromLua, FromLuaMulti, Function, IntoLuaMulti, Lua, LuaString, Table, Value};
use streamfmt_core::figures;

use crate::lua::vm;
use crate::plugin::manifest::{API, FEATURES};
use crate::tools::rule::Origin;
use registered::Registered;
use registry::Registry;
use spell::{inspected, to_json};

/// A function of `sf`.
pub struct ApiFunction {
    /// Its name, after `sf.`.
    pub name: &'static str,
    /// Its parameters, each with its name and type.
    pub params: &'static [(&'static str, &'static str)],
    /// The type that it returns.
    pub gives: &'static str,
    /// The level of the interface that introduced it.
    pub since: u32,
    /// What it is for, in one sentence.
    pub doc: &'static str,
    body: Body,
}

/// The implementation of a function.
enum Body {
    /// Luau source; the parameters are its locals.
    Luau(&'static str),
    /// Rust.
    Native(fn(&Lua, &Rc<Registry>) -> mlua::Result<Function>),
    /// Registers the fields of a table under a name.
    Spec(Registers<Table>),
    /// Registers a function for a kind of item.
    Hook(Registers<Function>),
}

/// Registers a value under a name, with the place of the call.
type Registers<A> = fn(&mut Registered, &str, &A, Option<Origin>) -> Result<(), String>;

use Body::{Hook, Luau, Native, Spec};

/// All functions of `sf`.
#[rustfmt::skip]
pub static FUNCTIONS: &[ApiFunction] = &[
    ApiFunction { name: "plugin", params: &[("about", "{name: string?, version: string?, api: number?, reload: nil|fun(old: table): table}")], gives: "sf", since: 1,
        doc: "Declares the name of the plugin and the API level it needs; returns `sf`. When the plugin is reloaded during a run (`--watch`), `reload` converts the old ctx.state to the new one; without `reload`, session.start is called again.", body: Native(plugin) },
    ApiFunction { name: "tool", params: &[("pattern", "string"), ("spec", "sf.ToolSpec")], gives: "nil", since: 1,
        doc: "Formats the calls and results of tools. `pattern` is an exact name, an action such as `@run`, or a glob. All fields of the spec are optional and independent.", body: Spec(Registered::tool) },
    ApiFunction { name: "view", params: &[("what", "string"), ("fn", "fun(item: sf.Item, ctx: sf.Context): sf.Answer")], gives: "nil", since: 1,
        doc: "Formats items of another kind: prompt, reply, thinking, plan, notice, outcome, record, unknown. A view of `frame` formats each record of the stream as a whole, including repeated ones, and replaces all its items; its item has `frame`, `raw` and `line`. If it returns `nil`, the items are formatted as usual.", body: Hook(Registered::view) },
    ApiFunction { name: "on", params: &[("kind", "string"), ("fn", "fun(item: sf.Item, ctx: sf.Context): sf.Answer")], gives: "nil", since: 1,
        doc: "Calls the function once for each complete item of a kind, or at session.start or session.end. The function may write ctx.state and return blocks to add after the item.", body: Hook(Registered::on) },
    ApiFunction { name: "dialect", params: &[("name", "string"), ("spec", "sf.DialectSpec")], gives: "nil", since: 1,
        doc: "Adds a dialect: converts the records of another agent's stream into items. Selected with `--from NAME`, or by `detect`.", body: Spec(Registered::dialect) },
    ApiFunction { name: "writer", params: &[("name", "string"), ("spec", "sf.WriterSpec")], gives: "nil", since: 1,
        doc: "Adds an output format based on an existing one; selected with `--to NAME`. The base writes every part that the format doesn't define.", body: Spec(Registered::writer) },
    ApiFunction { name: "records", params: &[("name", "string"), ("spec", "sf.RecordsSpec")], gives: "nil", since: 1,
        doc: "Folds the JSON records in replies into a state and shows a view of it in their place; selected with `records = \"NAME\"` in a profile. The main agent and each sub-agent have separate states.", body: Spec(Registered::records) },
    ApiFunction { name: "has", params: &[("feature", "string")], gives: "boolean", since: 1,
        doc: "Whether this version has a feature or a function of `sf`.", body: Native(|lua, _| plain(lua, |feature: String| FEATURES.contains(&feature.as_str()))) },

    ApiFunction { name: "text", params: &[("text", "string"), ("role", "string?")], gives: "sf.Block", since: 1,
        doc: "Plain text, shown verbatim: one or more lines.", body: Luau("return { type = 'text', text = text, role = role }") },
    ApiFunction { name: "span", params: &[("text", "string"), ("role", "string?")], gives: "sf.Span", since: 1,
        doc: "A span: part of a line with a role.", body: Luau("return { type = 'span', text = text, role = role }") },
    ApiFunction { name: "line", params: &[("...", "string|sf.Span")], gives: "sf.Block", since: 1,
        doc: "One line of strings and spans, joined without separators.", body: Luau("return { type = 'line', ... }") },
    ApiFunction { name: "prose", params: &[("text", "string"), ("role", "string?")], gives: "sf.Block", since: 1,
        doc: "Markdown text.", body: Luau("return { type = 'prose', text = text, role = role }") },
    ApiFunction { name: "code", params: &[("text", "string"), ("lang", "string?"), ("opts", "{start: number?, role: string?, exact: boolean?}?")], gives: "sf.Block", since: 1,
        doc: "Verbatim text, highlighted if the language is known. `start` is the number of the first line and turns numbering on; `exact` keeps trailing whitespace.", body: Luau("return { type = 'code', text = text, lang = lang, start = opts and opts.start, role = opts and opts.role, exact = opts and opts.exact }") },
    ApiFunction { name: "diff", params: &[("old", "string"), ("new", "string"), ("opts", "{path: string?, context: number?}?")], gives: "sf.Block", since: 1,
        doc: "The differences between two texts.", body: Luau("return { type = 'diff', old = old, new = new, path = opts and opts.path, context = opts and opts.context }") },
    ApiFunction { name: "patch", params: &[("hunks", "sf.Hunk[]"), ("opts", "{path: string?}?")], gives: "sf.Block", since: 1,
        doc: "A diff from existing hunks, such as result.data.patch.", body: Luau("return { type = 'diff', hunks = hunks, path = opts and opts.path }") },
    ApiFunction { name: "table", params: &[("head", "any[]?"), ("rows", "any[][]"), ("opts", "{title: string?}?")], gives: "sf.Block", since: 1,
        doc: "A table.", body: Luau("return { type = 'table', head = head, rows = rows, title = opts and opts.title }") },
    ApiFunction { name: "kv", params: &[("pairs", "table")], gives: "sf.Block", since: 1,
        doc: "Keys and values, one pair per line. `pairs` is a list of pairs, or a table, which is sorted by key.", body: Luau("return { type = 'kv', pairs = pairs }") },
    ApiFunction { name: "list", params: &[("items", "any[]")], gives: "sf.Block", since: 1,
        doc: "A list. Items are strings, or {text, point = \"open\", \"active\", \"done\" or \"failed\"}.", body: Luau("return { type = 'list', items = items }") },
    ApiFunction { name: "details", params: &[("summary", "string|sf.Span"), ("blocks", "sf.Answer")], gives: "sf.Block", since: 1,
        doc: "Blocks that can be folded, with a summary line.", body: Luau("return { type = 'details', summary = summary, blocks = blocks }") },
    ApiFunction { name: "path", params: &[("path", "string"), ("role", "string?")], gives: "sf.Span", since: 1,
        doc: "A path, shown relative to the session's folder.", body: Luau("return { type = 'path', path = path, role = role }") },
    ApiFunction { name: "link", params: &[("text", "string"), ("url", "string"), ("role", "string?")], gives: "sf.Span", since: 1,
        doc: "A link to an http, https, mailto or file URL. Where the output doesn't support links, it is written as `text (url)`.", body: Luau("return { type = 'link', text = text, url = url, role = role }") },
    ApiFunction { name: "note", params: &[("level", "\"info\"|\"warning\"|\"error\""), ("text", "string|sf.Span|sf.Block")], gives: "sf.Block", since: 1,
        doc: "A remark with the symbol of its level.", body: Luau("return { type = 'note', level = level, text = text }") },
    ApiFunction { name: "header", params: &[("call", "sf.Call?"), ("arg", "any"), ("opts", "{mark: string|false|nil}?")], gives: "sf.Block", since: 1,
        doc: "The title of a view: the label of the call and its argument. `mark` names the glyph in front; `false` omits it.", body: Luau("return { type = 'header', call = call, arg = arg, mark = opts and opts.mark }") },

    ApiFunction { name: "item.prompt", params: &[("fields", "sf.ItemFields")], gives: "sf.Made", since: 1,
        doc: "A user's prompt.", body: Luau("return { type = 'item', kind = 'prompt', fields = fields }") },
    ApiFunction { name: "item.reply", params: &[("fields", "sf.ItemFields")], gives: "sf.Made", since: 1,
        doc: "A reply of the agent.", body: Luau("return { type = 'item', kind = 'reply', fields = fields }") },
    ApiFunction { name: "item.thinking", params: &[("fields", "sf.ItemFields")], gives: "sf.Made", since: 1,
        doc: "Thinking of the agent.", body: Luau("return { type = 'item', kind = 'thinking', fields = fields }") },
    ApiFunction { name: "item.call", params: &[("fields", "sf.ItemFields")], gives: "sf.Made", since: 1,
        doc: "A tool call: `tool`, `input`, and `action` if it can't be inferred from the name of the tool.", body: Luau("return { type = 'item', kind = 'call', fields = fields }") },
    ApiFunction { name: "item.result", params: &[("fields", "sf.ItemFields")], gives: "sf.Made", since: 1,
        doc: "The result of the call with the id `id`.", body: Luau("return { type = 'item', kind = 'result', fields = fields }") },
    ApiFunction { name: "item.plan", params: &[("fields", "sf.ItemFields")], gives: "sf.Made", since: 1,
        doc: "The agent's to-do list, in `todos`.", body: Luau("return { type = 'item', kind = 'plan', fields = fields }") },
    ApiFunction { name: "item.notice", params: &[("fields", "sf.ItemFields")], gives: "sf.Made", since: 1,
        doc: "A notice of the agent's program, with `event` and `level`.", body: Luau("return { type = 'item', kind = 'notice', fields = fields }") },
    ApiFunction { name: "item.outcome", params: &[("fields", "sf.ItemFields")], gives: "sf.Made", since: 1,
        doc: "The outcome of a run, with facts such as `turns`, `cost_usd` and `duration_ms`.", body: Luau("return { type = 'item', kind = 'outcome', fields = fields }") },
    ApiFunction { name: "item.unknown", params: &[("fields", "sf.ItemFields")], gives: "sf.Made", since: 1,
        doc: "An unknown record, shown unchanged.", body: Luau("return { type = 'item', kind = 'unknown', fields = fields }") },
    ApiFunction { name: "item.append", params: &[("fields", "{id: string, text: string}")], gives: "sf.Made", since: 1,
        doc: "Appends text to an item that was made with `open = true`; for a call, a piece of the JSON of its input.", body: Luau("return { type = 'item', kind = 'append', fields = fields }") },
    ApiFunction { name: "item.close", params: &[("fields", "{id: string, error: boolean?}")], gives: "sf.Made", since: 1,
        doc: "Completes an open item.", body: Luau("return { type = 'item', kind = 'close', fields = fields }") },
    ApiFunction { name: "item.drop", params: &[("fields", "{id: string}")], gives: "sf.Made", since: 1,
        doc: "Discards an open item.", body: Luau("return { type = 'item', kind = 'drop', fields = fields }") },
    ApiFunction { name: "item.session", params: &[("fields", "{agent: string?, version: string?, model: string?, cwd: string?, id: string?, mode: string?}")], gives: "sf.Made", since: 1,
        doc: "Reports facts of the run as they become known.", body: Luau("return { type = 'item', kind = 'session', fields = fields }") },
    ApiFunction { name: "item.usage", params: &[("fields", "{message: string?, input: number?, output: number?, cache_read: number?, cache_write: number?}")], gives: "sf.Made", since: 1,
        doc: "Reports the tokens of a message; the last report for each message counts.", body: Luau("return { type = 'item', kind = 'usage', fields = fields }") },

    ApiFunction { name: "redact", params: &[("what", "{secrets: boolean?, emails: boolean?, home: boolean?, patterns: table?}")], gives: "nil", since: 1,
        doc: "Masks text in all output: known kinds of secrets, e-mail addresses, home folders, and custom patterns by name. If a pattern has a group, only the group is masked.", body: Native(exact::redact) },
    ApiFunction { name: "raw", params: &[("value", "any"), ("key", "string|number|nil")], gives: "string?", since: 1,
        doc: "The original JSON text of a value from the stream, or of a part of it; nil if there is no such part.", body: Native(|lua, _| lua.create_function(|lua, (value, key): (Value, Value)| item::raw(lua, &value, &key))) },
    ApiFunction { name: "cut", params: &[("text", "string"), ("most", "number"), ("unit", "\"bytes\"|\"utf16\"|\"characters\"|nil")], gives: "string, boolean", since: 1,
        doc: "The beginning of a text, at most `most` units long and never cut inside a character; and whether anything was cut.", body: Native(exact::cut) },
    ApiFunction { name: "json", params: &[("text", "string?")], gives: "any", since: 1,
        doc: "Parses JSON into plain tables; nil if it is invalid.", body: Native(|lua, _| lua.create_function(json)) },
    ApiFunction { name: "json_encode", params: &[("value", "any")], gives: "string", since: 1,
        doc: "Encodes a value as JSON: a table with elements from 1 on is an array, any other table is an object with sorted keys. A value that JSON can't represent, such as a function, is an error.", body: Native(|lua, _| lua.create_function(json_encode)) },
    ApiFunction { name: "inspect", params: &[("value", "any")], gives: "string", since: 1,
        doc: "A value in Lua syntax, in one line of at most 4,000 characters, for debugging: `print(sf.inspect(call.input))`.", body: Native(|lua, _| plain(lua, |value: Value| inspected(&value))) },
    ApiFunction { name: "re", params: &[("pattern", "string")], gives: "sf.Regex", since: 1,
        doc: "Compiles a regular expression with the methods test, find, all and replace; what it scans counts as steps.", body: Native(re::re) },
    ApiFunction { name: "basename", params: &[("path", "string")], gives: "string", since: 1,
        doc: "The last component of a path.", body: Luau("local whole = string.gsub(path, '/+$', '') return (string.match(whole, '[^/]*$'))") },
    ApiFunction { name: "truncate", params: &[("text", "string"), ("most", "number")], gives: "string", since: 1,
        doc: "The text, truncated to at most `most` characters including an ellipsis.", body: Native(|lua, _| plain(lua, truncate)) },
    ApiFunction { name: "trim", params: &[("text", "string")], gives: "string", since: 1,
        doc: "The text without leading and trailing whitespace.", body: Native(|lua, _| lua.create_function(|lua, text: LuaString| lua.create_string(text.as_bytes().trim_ascii()))) },
    ApiFunction { name: "first_line", params: &[("text", "string")], gives: "string", since: 1,
        doc: "The first line of a text.", body: Native(|lua, _| lua.create_function(first_line)) },
    ApiFunction { name: "count_lines", params: &[("text", "string")], gives: "number", since: 1,
        doc: "The number of lines of a text; a final line feed doesn't start another line.", body: Native(|lua, _| plain(lua, count_lines)) },
    ApiFunction { name: "plural", params: &[("count", "number"), ("one", "string"), ("many", "string?")], gives: "string", since: 1,
        doc: "A count with its noun: `1 file`, `1,234 files`.", body: Native(|lua, _| plain(lua, plural)) },
    ApiFunction { name: "duration", params: &[("ms", "number")], gives: "string", since: 1,
        doc: "A duration for people: `340ms`, `3.4s`, `1m 42s`.", body: Native(|lua, _| plain(lua, |ms: f64| figures::duration(natural(ms)).into_string())) },
    ApiFunction { name: "bytes", params: &[("count", "number")], gives: "string", since: 1,
        doc: "A size for people: `812 B`, `12.3 KB`.", body: Native(|lua, _| plain(lua, |count: f64| figures::size(natural(count)).into_string())) },
    ApiFunction { name: "sorted", params: &[("table", "table")], gives: "fun(): any, any", since: 1,
        doc: "Iterates over a table in the order of its keys.", body: Luau("\
            local keys = {} \
            for key in pairs(table) do keys[#keys + 1] = key end \
            sort(keys, function(a, b) \
                if type(a) == type(b) and (type(a) == 'number' or type(a) == 'string') then return a < b end \
                return tostring(a) < tostring(b) end) \
            local at = 0 \
            return function() at += 1 local key = keys[at] if key ~= nil then return key, table[key] end end") },
];

/// A field of a table or value that a script receives or returns.
pub struct LuaField {
    /// The name of its class in [`CLASSES`].
    pub of: &'static str,
    /// Its name, with a `?` at the end if it is optional.
    pub name: &'static str,
    /// Its type.
    pub kind: &'static str,
    /// Its description.
    pub doc: &'static str,
}

/// A class of tables or values.
pub struct LuaClass {
    /// Its name, after `sf.`.
    pub name: &'static str,
    /// The class whose fields it inherits.
    pub base: Option<&'static str>,
    /// Its description, in one sentence.
    pub doc: &'static str,
}

/// All classes, in the order of the reference.
#[rustfmt::skip]
pub static CLASSES: &[LuaClass] = &[
    LuaClass { name: "Item", base: None, doc: "An item, as passed to functions: fields are decoded on access, and it is valid until the function returns." },
    LuaClass { name: "Call", base: Some("Item"), doc: "A tool call." },
    LuaClass { name: "Result", base: Some("Item"), doc: "The result of a call." },
    LuaClass { name: "Context", base: None, doc: "The context of an item, passed as `ctx`." },
    LuaClass { name: "Session", base: None, doc: "The known facts of the run." },
    LuaClass { name: "ToolSpec", base: None, doc: "The spec of `sf.tool`; all fields are optional and independent." },
    LuaClass { name: "DialectSpec", base: None, doc: "The spec of `sf.dialect`." },
    LuaClass { name: "ItemFields", base: None, doc: "The fields accepted by the functions of `sf.item`. Typed facts, such as `stdout` or `turns`, are set the same way; docs/facts.md lists all." },
    LuaClass { name: "WriterSpec", base: None, doc: "The spec of `sf.writer`. Each function returns a string; with nil, the base writes the part; with false, nothing is written." },
    LuaClass { name: "RecordsSpec", base: None, doc: "The spec of `sf.records`." },
    LuaClass { name: "Part", base: None, doc: "The part passed to a function of a writer: the same table that the block's constructor makes, such as `text` and `lang` for code. A heading has `level`, a diff `b:unified()`, lines are a list." },
    LuaClass { name: "Writing", base: None, doc: "The methods for the functions of a writer, passed as `w`." },
    LuaClass { name: "Entry", base: None, doc: "The presentation of one item, passed to the `entry` function of a writer." },
    LuaClass { name: "Hunk", base: None, doc: "A hunk of a diff." },
    LuaClass { name: "Regex", base: None, doc: "A regular expression." },
];

/// The fields of all classes.
#[rustfmt::skip]
pub static FIELDS: &[LuaField] = &[
    LuaField { of: "Item", name: "kind", kind: "string", doc: "prompt, reply, thinking, call, result, plan, notice, outcome, record or unknown" },
    LuaField { of: "Item", name: "id", kind: "string", doc: "unique within the stream" },
    LuaField { of: "Item", name: "parent", kind: "string?", doc: "the call that started its sub-agent, if it is from one" },
    LuaField { of: "Item", name: "text", kind: "string", doc: "its text, as in the stream" },
    LuaField { of: "Item", name: "error", kind: "boolean", doc: "whether it is or reports a failure" },
    LuaField { of: "Item", name: "status", kind: "string", doc: "open, done, failed or cancelled" },
    LuaField { of: "Item", name: "data", kind: "table", doc: "typed facts: stdout, stderr, exit, patch, lines, …" },
    LuaField { of: "Item", name: "line", kind: "number", doc: "number of its first line in the stream" },
    LuaField { of: "Item", name: "time", kind: "string?", doc: "its time, as in the stream" },
    LuaField { of: "Item", name: "raw", kind: "string?", doc: "its record, unparsed" },
    LuaField { of: "Item", name: "frame", kind: "table?", doc: "its record, decoded on access" },
    LuaField { of: "Item", name: "block", kind: "table|string|nil", doc: "the part of the message that it was made from, decoded on access" },
    LuaField { of: "Item", name: "default", kind: "fun(self): sf.Answer", doc: "the view of the layers below, to wrap or extend; in the function of a result, `call:default()` is their view of the call" },
    LuaField { of: "Call", name: "tool", kind: "string", doc: "the tool; for MCP, its name without the server" },
    LuaField { of: "Call", name: "name", kind: "string", doc: "the tool as the stream names it" },
    LuaField { of: "Call", name: "server", kind: "string?", doc: "the MCP server" },
    LuaField { of: "Call", name: "action", kind: "string", doc: "run, read, write, edit, search, fetch, delegate, plan, ask, mcp or other" },
    LuaField { of: "Call", name: "does", kind: "table", doc: "the parts of its input, with names shared by all agents: command, path, changes, …" },
    LuaField { of: "Call", name: "input", kind: "table", doc: "its input, decoded on access; input:table() is a copy, input:raw() the JSON text. While it is being written, the part that can be parsed" },
    LuaField { of: "Call", name: "partial", kind: "boolean", doc: "whether the input is incomplete: still being written, or broken off" },
    LuaField { of: "Call", name: "result", kind: "sf.Result?", doc: "always nil: a call is shown before its result is known" },
    LuaField { of: "Result", name: "tool", kind: "string?", doc: "the tool" },
    LuaField { of: "Result", name: "name", kind: "string?", doc: "the tool as the stream names it" },
    LuaField { of: "Result", name: "action", kind: "string?", doc: "what the tool does" },
    LuaField { of: "Result", name: "took", kind: "number?", doc: "milliseconds since the call, if the stream contains both times" },
    LuaField { of: "Result", name: "call", kind: "sf.Call?", doc: "the call that it answers" },
    LuaField { of: "Context", name: "session", kind: "sf.Session", doc: "the facts of the run" },
    LuaField { of: "Context", name: "state", kind: "table", doc: "the plugin's state; only sf.on functions may write it" },
    LuaField { of: "Context", name: "options", kind: "table", doc: "the plugin's options; while the plugin is loading, use sf.options" },
    LuaField { of: "Context", name: "page", kind: "boolean", doc: "whether the output is a page (`markdown`, `slack`, `html`) instead of lines: for different wording, not for the appearance" },
    LuaField { of: "Context", name: "limits", kind: "table", doc: "the profile's limits: result_lines, …" },
    LuaField { of: "Session", name: "agent", kind: "string?", doc: "the agent" },
    LuaField { of: "Session", name: "version", kind: "string?", doc: "the agent's version" },
    LuaField { of: "Session", name: "model", kind: "string?", doc: "the model" },
    LuaField { of: "Session", name: "cwd", kind: "string?", doc: "the working directory" },
    LuaField { of: "Session", name: "id", kind: "string?", doc: "the session's id" },
    LuaField { of: "Session", name: "mode", kind: "string?", doc: "the permission mode" },
    LuaField { of: "Session", name: "usage", kind: "table", doc: "tokens so far: input, output, cache_read, cache_write" },
    LuaField { of: "ToolSpec", name: "label?", kind: "string|fun(call: sf.Call, ctx: sf.Context): any", doc: "the tool's name as shown: a template or a function" },
    LuaField { of: "ToolSpec", name: "arg?", kind: "string|fun(input: table, call: sf.Call, ctx: sf.Context): any", doc: "the one-line argument: a template, a JSON pointer or a function, which is called once the input isn't empty" },
    LuaField { of: "ToolSpec", name: "summary?", kind: "string|fun(result: sf.Result, call: sf.Call, ctx: sf.Context): any", doc: "the one-line summary of a result; for a failure, it follows the error message" },
    LuaField { of: "ToolSpec", name: "call?", kind: "fun(call: sf.Call, ctx: sf.Context): sf.Answer", doc: "the whole view of a call: replaces label and arg" },
    LuaField { of: "ToolSpec", name: "result?", kind: "fun(result: sf.Result, call: sf.Call, ctx: sf.Context): sf.Answer", doc: "the whole view of a result: replaces summary" },
    LuaField { of: "ToolSpec", name: "icon?", kind: "string", doc: "a glyph name, or a string, shown in front of the tool's name" },
    LuaField { of: "ToolSpec", name: "role?", kind: "string", doc: "the role of the tool's name" },
    LuaField { of: "ToolSpec", name: "collapse?", kind: "boolean|\"call\"|\"result\"|\"both\"|\"none\"", doc: "which bodies to fold; true means both, which leaves one line for a call and its result" },
    LuaField { of: "DialectSpec", name: "parse", kind: "fun(object: any, ctx: sf.Context): sf.Made|sf.Made[]|false|nil", doc: "converts one record, decoded on access, into items; nil keeps it as an unknown item, false hides it. It may write ctx.state" },
    LuaField { of: "DialectSpec", name: "detect?", kind: "fun(sample: any[], ctx: sf.Context): number|boolean", doc: "the confidence, from 0 to 1, that the first records are in this dialect; above 0.5 it takes precedence over built-in dialects" },
    LuaField { of: "DialectSpec", name: "finish?", kind: "fun(ctx: sf.Context): sf.Made|sf.Made[]|nil", doc: "returns items to add at the end of the input" },
    LuaField { of: "DialectSpec", name: "ends_with_outcome?", kind: "boolean", doc: "true if its streams end with an outcome: one that stops without it is shown as incomplete, and --fail gives exit code 1" },
    LuaField { of: "ItemFields", name: "id?", kind: "string", doc: "its id; for a result, that of its call. By default it is derived from the line number" },
    LuaField { of: "ItemFields", name: "parent?", kind: "string", doc: "the call that started its sub-agent, if it is from one" },
    LuaField { of: "ItemFields", name: "text?", kind: "string", doc: "its text" },
    LuaField { of: "ItemFields", name: "error?", kind: "boolean", doc: "whether it is or reports a failure" },
    LuaField { of: "ItemFields", name: "time?", kind: "string", doc: "its time, in RFC 3339 format" },
    LuaField { of: "ItemFields", name: "session?", kind: "string", doc: "the id of its session" },
    LuaField { of: "ItemFields", name: "tool?", kind: "string", doc: "on calls: the tool; for MCP, mcp__SERVER__TOOL" },
    LuaField { of: "ItemFields", name: "action?", kind: "string", doc: "on calls: run, read, write, edit, search, fetch, delegate, plan, ask, mcp or other" },
    LuaField { of: "ItemFields", name: "input?", kind: "table", doc: "on calls: the input, a table or a part of the record" },
    LuaField { of: "ItemFields", name: "does?", kind: "table", doc: "on calls: what it does, in the parts that docs/facts.md lists for its action, such as `{ command = \"ls\" }` or `{ path = \"a\", changes = {{ old = \"b\", new = \"c\" }} }`; the input may have any names then. By default the parts are read from an input with the names of a known agent's tools" },
    LuaField { of: "ItemFields", name: "call?", kind: "string", doc: "on results: the id of the call" },
    LuaField { of: "ItemFields", name: "open?", kind: "boolean", doc: "whether it stays open until sf.item.close: sf.item.append extends it, and another item with the same id replaces its fields" },
    LuaField { of: "ItemFields", name: "data?", kind: "table", doc: "typed facts whose names are also names of fields" },
    LuaField { of: "WriterSpec", name: "base?", kind: "\"text\"|\"markdown\"|\"roles\"", doc: "the writer that it is based on" },
    LuaField { of: "WriterSpec", name: "ext?", kind: "string", doc: "the file name extension, also used for pages in a folder (`-o DIR/`)" },
    LuaField { of: "WriterSpec", name: "log?", kind: "boolean", doc: "true if the output is for the log of a CI service: text from the base, from `w:block` and `w:inlines`, and from functions called by the base is then escaped so that it is never a command there, wherever streamfmt runs. Only `begin`, `finish` and `entry` may write commands" },
    LuaField { of: "WriterSpec", name: "begin?", kind: "fun(_: nil, w: sf.Writing): string?", doc: "the text before the first entry" },
    LuaField { of: "WriterSpec", name: "finish?", kind: "fun(_: nil, w: sf.Writing): string?", doc: "the text after the last entry" },
    LuaField { of: "WriterSpec", name: "entry?", kind: "fun(entry: sf.Entry, w: sf.Writing): string|false|nil", doc: "a whole entry" },
    LuaField { of: "WriterSpec", name: "title?", kind: "fun(title: sf.Part, w: sf.Writing): string|false|nil", doc: "the title of an entry, with the entry's kind, tool, action, failed, mark, depth and time" },
    LuaField { of: "WriterSpec", name: "lines?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "lines of spans" },
    LuaField { of: "WriterSpec", name: "prose?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "Markdown" },
    LuaField { of: "WriterSpec", name: "heading?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "a Markdown heading" },
    LuaField { of: "WriterSpec", name: "code?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "verbatim text, including code blocks in Markdown" },
    LuaField { of: "WriterSpec", name: "diff?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "a diff" },
    LuaField { of: "WriterSpec", name: "list?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "a list" },
    LuaField { of: "WriterSpec", name: "table?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "a table" },
    LuaField { of: "WriterSpec", name: "image?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "a picture's placeholder" },
    LuaField { of: "WriterSpec", name: "details?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "blocks that can be folded" },
    LuaField { of: "WriterSpec", name: "elided?", kind: "fun(b: sf.Part, w: sf.Writing): string|false|nil", doc: "a note of omitted content, with lines and bytes" },
    LuaField { of: "WriterSpec", name: "span?", kind: "{[string]: fun(text: string): string?}", doc: "functions that write the text of a role, instead of the base's markup; a role without a function uses that of its parent" },
    LuaField { of: "RecordsSpec", name: "begin?", kind: "fun(ctx: sf.Context): any", doc: "returns the initial state: a table, string or number. The default is an empty table" },
    LuaField { of: "RecordsSpec", name: "add", kind: "fun(state: any, record: table, ctx: sf.Context): any", doc: "adds a record and returns the new state, which may be the modified old one. The record is decoded on access; `record:table()` is a copy that can be stored. If it returns nil or false, or fails, the record stays in the text" },
    LuaField { of: "RecordsSpec", name: "view", kind: "fun(state: any, ctx: sf.Context): sf.Answer", doc: "formats the state, in place of the records, without changing it. nil shows the records unchanged; false shows nothing. Output for programs contains the state itself, as written by sf.json_encode" },
    LuaField { of: "Part", name: "type?", kind: "string", doc: "the type of the part" },
    LuaField { of: "Part", name: "text?", kind: "string", doc: "the text of code, prose and headings" },
    LuaField { of: "Part", name: "lang?", kind: "string", doc: "the language of code" },
    LuaField { of: "Part", name: "level?", kind: "number", doc: "the level of a heading" },
    LuaField { of: "Part", name: "unified?", kind: "fun(self): string", doc: "a diff as `diff -u` writes it" },
    LuaField { of: "Writing", name: "block", kind: "fun(self, block: any): string", doc: "the text of a block as written by this writer; in the function for that type of block, as written by the base" },
    LuaField { of: "Writing", name: "inlines", kind: "fun(self, line: any): string", doc: "the text of a line, title, heading or span, written by the functions in `span`" },
    LuaField { of: "Entry", name: "kind", kind: "string", doc: "the kind of the item" },
    LuaField { of: "Entry", name: "id", kind: "string", doc: "the item's id" },
    LuaField { of: "Entry", name: "parent?", kind: "string", doc: "the call that started its sub-agent" },
    LuaField { of: "Entry", name: "tool?", kind: "string", doc: "the tool" },
    LuaField { of: "Entry", name: "action?", kind: "string", doc: "what the tool does" },
    LuaField { of: "Entry", name: "failed", kind: "boolean", doc: "whether it is or reports a failure" },
    LuaField { of: "Entry", name: "mark?", kind: "string", doc: "the name of the glyph in front" },
    LuaField { of: "Entry", name: "depth", kind: "number", doc: "the nesting depth in sub-agents" },
    LuaField { of: "Entry", name: "time?", kind: "string", doc: "its time" },
    LuaField { of: "Entry", name: "title", kind: "table", doc: "the title, for w:inlines" },
    LuaField { of: "Entry", name: "blocks", kind: "table[]", doc: "the blocks below the title" },
    LuaField { of: "Entry", name: "of?", kind: "table", doc: "the title of a result's call, if the call isn't directly above" },
    LuaField { of: "Hunk", name: "lines", kind: "string[]", doc: "the lines, each with the prefix +, - or a space" },
    LuaField { of: "Hunk", name: "old_start?", kind: "number", doc: "number of the first line in the old file" },
    LuaField { of: "Hunk", name: "new_start?", kind: "number", doc: "number of the first line in the new file" },
    LuaField { of: "Regex", name: "test", kind: "fun(self, text: string): boolean", doc: "whether it matches" },
    LuaField { of: "Regex", name: "find", kind: "fun(self, text: string): table?", doc: "the first match: [0] is the whole match, [1] and so on are the groups, which are also available by name" },
    LuaField { of: "Regex", name: "all", kind: "fun(self, text: string): table[]", doc: "all matches" },
    LuaField { of: "Regex", name: "replace", kind: "fun(self, text: string, with: string): string", doc: "the text with each match replaced; $1 or ${name} is a group" },
];

/// The functions implemented in Luau.
static WRITTEN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    // Copied to locals: a plugin may replace the globals.
    let mut source = String::from(
        "local sf = ... local string, sort, pairs, type, tostring = string, table.sort, pairs, type, tostring\n",
    );
    source.push_str(ARGUMENT);
    // Writing to a string can't fail.
    for row in FUNCTIONS {
        let names: Vec<_> = row.params.iter().map(|(name, _)| *name).collect();
        let (name, params) = (row.name, names.join(", "));
        let checks: String =
            row.params.iter().enumerate().map(|(at, param)| check(name, at + 1, param)).collect();
        let _ = match row.body {
            Luau(body) => writeln!(source, "sf.{name} = function({params}) {checks} {body} end"),
            _ if checks.is_empty() => Ok(()),
            _ => writeln!(
                source,
                "do local native = sf.{name} sf.{name} = function({params}) {checks} return native({params}) end end"
            ),
        };
    }
    vm::compiled(&source)
});

/// Raises an error about an argument, located at the caller of the `sf` function.
const ARGUMENT: &str = "local error, tonumber = error, tonumber \
    local function refuse(name, at, expected, got) \
    error(`sf.{name}: argument {at} must be {expected}, got {type(got)}`, 3) end\n";

/// Luau that rejects an argument of a type other than the declared one. Empty if any type is accepted.
fn check(function: &str, at: usize, (name, kind): &(&str, &str)) -> String {
    let mut words = Vec::new();
    let mut tests = Vec::new();
    let (kind, is_optional) = kind.strip_suffix('?').map_or((*kind, false), |kind| (kind, true));
    for part in alternatives(kind).into_iter().chain(is_optional.then_some("nil")) {
        let (word, test) = match part {
            _ if *name == "..." => return String::new(),
            "any" | "sf.Answer" => return String::new(),
            "nil" => ("nil", "NAME ~= nil"),
            "boolean" => ("a boolean", "type(NAME) ~= 'boolean'"),
            // A string that parses as a number is accepted, as elsewhere in Lua.
            "number" => ("a number", "tonumber(NAME) == nil"),
            "sf.Call" => ("a call", "type(NAME) ~= 'userdata'"),
            _ if part == "string" || part.starts_with('"') => {
                ("a string", "type(NAME) ~= 'string' and type(NAME) ~= 'number'")
            }
            _ if part.starts_with("fun(") => ("a function", "type(NAME) ~= 'function'"),
            // Some functions accept a handle, such as a call's input, in place of a table.
            _ => ("a table", "type(NAME) ~= 'table' and type(NAME) ~= 'userdata'"),
        };
        if !words.contains(&word) {
            words.push(word);
            tests.push(test.replace("NAME", name));
        }
    }
    let (tests, words) = (tests.join(" and "), words.join(" or "));
    format!("if {tests} then refuse('{function}', {at}, '{words}', {name}) end ")
}

/// Splits a type at each `|` outside of brackets.
fn alternatives(kind: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = kind.split(move |ch| {
        depth += match ch {
            '(' | '{' => 1,
            ')' | '}' => -1,
            _ => 0,
        };
        ch == '|' && depth == 0
    });
    parts.collect()
}

/// Installs `sf` in a VM.
pub(crate) fn install(
    lua: &Lua,
    globals: &Table,
    registry: &Rc<Registry>,
    options: &Table,
) -> mlua::Result<()> {
    let (sf, items) = (lua.create_table()?, lua.create_table()?);
    sf.raw_set("item", items.clone())?;
    for row in FUNCTIONS {
        let function = match row.body {
            Luau(_) => continue,
            Native(make) => make(lua, registry)?,
            Spec(register) => registering(lua, registry, row.name, register)?,
            Hook(register) => registering(lua, registry, row.name, register)?,
        };
        sf.raw_set(row.name, function)?;
    }
    vm::load_compiled(lua, "=sf", &WRITTEN)?.call::<()>(sf.clone())?;
    item::close(lua, &items, "sf.item", Vec::new(), "")?;
    items.set_readonly(true);
    sf.raw_set("api", API)?;
    sf.raw_set("options", options)?;
    item::close(lua, &sf, "sf", Vec::new(), " (sf.has tells whether this version has a function)")?;
    sf.set_readonly(true);
    globals.raw_set("sf", sf)
}

pub(crate) fn wrong(message: impl Into<String>) -> mlua::Error {
    mlua::Error::runtime(message.into())
}

fn plugin(lua: &Lua, registry: &Rc<Registry>) -> mlua::Result<Function> {
    let registry = Rc::clone(registry);
    lua.create_function(move |lua, about: Table| {
        if let Some(name) = about.raw_get::<Option<String>>("name")? {
            *registry.name.borrow_mut() = Some(name);
        }
        *registry.reload.borrow_mut() = about.raw_get("reload")?;
        let api = about.raw_get::<Option<u32>>("api")?.unwrap_or(API);
        if api == 0 || api > API {
            return Err(wrong(format!("sf.plugin: it needs api {api}, this program has api {API}")));
        }
        lua.globals().get::<Table>("sf")
    })
}

/// A function that registers its argument under a name. It fails once the plugin is loaded.
fn registering<A: FromLua + 'static>(
    lua: &Lua,
    registry: &Rc<Registry>,
    what: &'static str,
    register: Registers<A>,
) -> mlua::Result<Function> {
    let registry = Rc::clone(registry);
    lua.create_function(move |lua, (name, spec): (String, A)| {
        registry.register(what, |registered| {
            // The place of the call, for messages.
            let origin = vm::place(lua).map(|(file, line)| Origin { file, line });
            register(registered, &name, &spec, origin)
        })
    })
}

/// An infallible function that needs nothing but its arguments.
fn plain<A: FromLuaMulti + 'static, R: IntoLuaMulti + 'static>(
    lua: &Lua,
    body: fn(A) -> R,
) -> mlua::Result<Function> {
    lua.create_function(move |_, arguments| Ok(body(arguments)))
}

fn json(lua: &Lua, text: Option<LuaString>) -> mlua::Result<Value> {
    text.map_or(Ok(Value::Nil), |text| item::parse(lua, &text.to_string_lossy()))
}

fn json_encode(_: &Lua, value: Value) -> mlua::Result<String> {
    to_json(&value).map_err(|error| wrong(format!("sf.json_encode: {error}")))
}

fn truncate((text, most): (LuaString, f64)) -> String {
    let text = text.to_string_lossy();
    let most = usize::try_from(natural(most)).unwrap_or(usize::MAX).max(1);
    match text.char_indices().nth(most) {
        None => text,
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

fn first_line(lua: &Lua, text: LuaString) -> mlua::Result<LuaString> {
    let text = text.as_bytes();
    let end = memchr::memchr2(b'\n', b'\r', &text).unwrap_or(text.len());
    lua.create_string(&text[..end])
}

fn count_lines(text: LuaString) -> usize {
    let text = text.as_bytes();
    let is_open = text.last().is_some_and(|byte| *byte != b'\n');
    memchr::memchr_iter(b'\n', &text).count() + usize::from(is_open)
}

fn plural((count, one, many): (f64, String, Option<String>)) -> String {
    let many = many.unwrap_or_else(|| format!("{one}s"));
    figures::count_of(natural(count), &one, &many).into_string()
}

/// Converts to an integer that `figures` can format.
#[expect(clippy::cast_sign_loss, reason = "it is not negative")]
fn natural(number: f64) -> u64 {
    number.clamp(0.0, 9e15) as u64
}
