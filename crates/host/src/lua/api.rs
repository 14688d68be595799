//! What scripts find in `sf`: one table, from which the machine is furnished and editors are told.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Function, IntoLua, Lua, LuaString, Table, UserData, UserDataMethods, Value};
use regex::bytes::{Regex, RegexBuilder};
use streamfmt_core::formatter::figures;
use streamfmt_core::redact::Redaction;

use super::layers::Registered;
use super::{exact, item, vm};
use crate::rule::Origin;

/// The level of the interface: a plugin that needs a higher one is told so.
pub const API: u32 = 1;

/// A function of `sf`.
pub struct Row {
    /// Its name, after `sf.`.
    pub name: &'static str,
    /// Its parameters, as a declaration would have them.
    pub params: &'static [(&'static str, &'static str)],
    /// What it gives back.
    pub gives: &'static str,
    /// What it is for, in one sentence.
    pub doc: &'static str,
    body: Body,
}

/// What a function does.
enum Body {
    /// Luau, with the parameters as its locals.
    Luau(&'static str),
    /// Rust.
    Native(fn(&Lua, &Rc<Plugin>) -> mlua::Result<Function>),
}

use Body::{Luau, Native};

/// All functions of `sf`.
#[rustfmt::skip]
pub static FUNCTIONS: &[Row] = &[
    Row { name: "plugin", params: &[("about", "{name: string?, version: string?, api: number?}")], gives: "sf",
        doc: "Names the plugin and the level of the interface it needs; gives `sf`.", body: Native(plugin) },
    Row { name: "tool", params: &[("pattern", "string"), ("spec", "sf.ToolSpec")], gives: "nil",
        doc: "Says how the calls and results of tools are told: an exact name, an action such as `@run`, or a glob. Each field of the spec stands for itself.", body: Native(tool) },
    Row { name: "view", params: &[("kind", "string"), ("fn", "fun(item: sf.Item, ctx: sf.Context): sf.Answer")], gives: "nil",
        doc: "Says how items of another kind are told: prompt, reply, thinking, plan, notice, outcome, record, unknown.", body: Native(view) },
    Row { name: "on", params: &[("kind", "string"), ("fn", "fun(item: sf.Item, ctx: sf.Context): sf.Answer")], gives: "nil",
        doc: "Sees each item of a kind once, when it is whole; also session.start and session.end. May write ctx.state and give blocks to add after the item.", body: Native(on) },
    Row { name: "dialect", params: &[("name", "string"), ("spec", "sf.DialectSpec")], gives: "nil",
        doc: "Reads the stream of another agent: objects in, items out. It is chosen by `--from NAME`, or by what `detect` says.", body: Native(dialect) },
    Row { name: "writer", params: &[("name", "string"), ("spec", "sf.WriterSpec")], gives: "nil",
        doc: "An output format of its own, on top of one that exists; chosen by `--to NAME`. What it doesn't spell itself the base does.", body: Native(writer) },
    Row { name: "has", params: &[("feature", "string")], gives: "boolean",
        doc: "Whether this version has a function of `sf` or a feature.", body: Native(has) },

    Row { name: "text", params: &[("text", "string"), ("role", "string?")], gives: "sf.Block",
        doc: "Text as it is: one line, or verbatim lines.", body: Luau("return { type = 'text', text = text, role = role }") },
    Row { name: "span", params: &[("text", "string"), ("role", "string?")], gives: "sf.Span",
        doc: "A piece of a line.", body: Luau("return { type = 'span', text = text, role = role }") },
    Row { name: "line", params: &[("...", "string|sf.Span")], gives: "sf.Block",
        doc: "One line of texts and spans, with nothing between them.", body: Luau("return { type = 'line', ... }") },
    Row { name: "prose", params: &[("text", "string"), ("role", "string?")], gives: "sf.Block",
        doc: "Markdown.", body: Luau("return { type = 'prose', text = text, role = role }") },
    Row { name: "code", params: &[("text", "string"), ("lang", "string?"), ("opts", "{start: number?, role: string?, exact: boolean?}?")], gives: "sf.Block",
        doc: "Verbatim text, highlighted if its language is known; `start` numbers its lines, `exact` keeps the blanks at its end.", body: Luau("return { type = 'code', text = text, lang = lang, start = opts and opts.start, role = opts and opts.role, exact = opts and opts.exact }") },
    Row { name: "diff", params: &[("old", "string"), ("new", "string"), ("opts", "{path: string?, context: number?}?")], gives: "sf.Block",
        doc: "What changed from one text to another.", body: Luau("return { type = 'diff', old = old, new = new, path = opts and opts.path, context = opts and opts.context }") },
    Row { name: "patch", params: &[("hunks", "sf.Hunk[]"), ("opts", "{path: string?}?")], gives: "sf.Block",
        doc: "Changes that are known as hunks, such as result.data.patch.", body: Luau("return { type = 'diff', hunks = hunks, path = opts and opts.path }") },
    Row { name: "table", params: &[("head", "any[]"), ("rows", "any[][]"), ("opts", "{title: string?}?")], gives: "sf.Block",
        doc: "Rows and columns.", body: Luau("return { type = 'table', head = head, rows = rows, title = opts and opts.title }") },
    Row { name: "kv", params: &[("pairs", "table")], gives: "sf.Block",
        doc: "Keys and values, one pair a line: a list of pairs, or a table, which is sorted.", body: Luau("return { type = 'kv', pairs = pairs }") },
    Row { name: "list", params: &[("items", "any[]")], gives: "sf.Block",
        doc: "Points: texts, or {text, point = \"open\", \"active\", \"done\" or \"failed\"}.", body: Luau("return { type = 'list', items = items }") },
    Row { name: "details", params: &[("summary", "string|sf.Span"), ("blocks", "sf.Answer")], gives: "sf.Block",
        doc: "Blocks that may be folded away under a line.", body: Luau("return { type = 'details', summary = summary, blocks = blocks }") },
    Row { name: "path", params: &[("path", "string"), ("role", "string?")], gives: "sf.Span",
        doc: "A path, told relative to the session's folder.", body: Luau("return { type = 'path', path = path, role = role }") },
    Row { name: "link", params: &[("text", "string"), ("url", "string"), ("role", "string?")], gives: "sf.Span",
        doc: "A text that leads somewhere, where links can be followed.", body: Luau("return { type = 'link', text = text, url = url, role = role }") },
    Row { name: "note", params: &[("level", "\"info\"|\"warning\"|\"error\""), ("text", "string")], gives: "sf.Block",
        doc: "A remark with the mark of its level.", body: Luau("return { type = 'note', level = level, text = text }") },
    Row { name: "header", params: &[("call", "sf.Call?"), ("arg", "any"), ("opts", "{mark: string|false|nil}?")], gives: "sf.Block",
        doc: "The title of a view: the label of the call and what it is about. `mark` names the glyph in front; `false` is none.", body: Luau("return { type = 'header', call = call, arg = arg, mark = opts and opts.mark }") },

    Row { name: "item.prompt", params: &[("fields", "sf.ItemFields")], gives: "sf.Made",
        doc: "What a person said.", body: Luau("return { type = 'item', kind = 'prompt', fields = fields }") },
    Row { name: "item.reply", params: &[("fields", "sf.ItemFields")], gives: "sf.Made",
        doc: "What the agent said.", body: Luau("return { type = 'item', kind = 'reply', fields = fields }") },
    Row { name: "item.thinking", params: &[("fields", "sf.ItemFields")], gives: "sf.Made",
        doc: "What the agent thought.", body: Luau("return { type = 'item', kind = 'thinking', fields = fields }") },
    Row { name: "item.call", params: &[("fields", "sf.ItemFields")], gives: "sf.Made",
        doc: "A use of a tool: `tool`, `input`, and what it does as `action`, if the name of the tool doesn't tell.", body: Luau("return { type = 'item', kind = 'call', fields = fields }") },
    Row { name: "item.result", params: &[("fields", "sf.ItemFields")], gives: "sf.Made",
        doc: "What came of a call, whose id is `id`.", body: Luau("return { type = 'item', kind = 'result', fields = fields }") },
    Row { name: "item.plan", params: &[("fields", "sf.ItemFields")], gives: "sf.Made",
        doc: "The agent's list of things to do, as `todos`.", body: Luau("return { type = 'item', kind = 'plan', fields = fields }") },
    Row { name: "item.notice", params: &[("fields", "sf.ItemFields")], gives: "sf.Made",
        doc: "Something that the agent's program tells, with `event` and `level`.", body: Luau("return { type = 'item', kind = 'notice', fields = fields }") },
    Row { name: "item.outcome", params: &[("fields", "sf.ItemFields")], gives: "sf.Made",
        doc: "How a run ended, with facts such as `turns`, `cost_usd` and `duration_ms`.", body: Luau("return { type = 'item', kind = 'outcome', fields = fields }") },
    Row { name: "item.unknown", params: &[("fields", "sf.ItemFields")], gives: "sf.Made",
        doc: "What isn't understood: shown as it is.", body: Luau("return { type = 'item', kind = 'unknown', fields = fields }") },
    Row { name: "item.append", params: &[("fields", "{id: string, text: string}")], gives: "sf.Made",
        doc: "Lets an item that was made with `open = true` grow by a piece of text, or of its input's JSON.", body: Luau("return { type = 'item', kind = 'append', fields = fields }") },
    Row { name: "item.close", params: &[("fields", "{id: string, error: boolean?}")], gives: "sf.Made",
        doc: "Says that an open item is whole.", body: Luau("return { type = 'item', kind = 'close', fields = fields }") },
    Row { name: "item.drop", params: &[("fields", "{id: string}")], gives: "sf.Made",
        doc: "Says that an open item never happened.", body: Luau("return { type = 'item', kind = 'drop', fields = fields }") },
    Row { name: "item.session", params: &[("fields", "{agent: string?, version: string?, model: string?, cwd: string?, id: string?, mode: string?}")], gives: "sf.Made",
        doc: "Tells facts of the run, as they become known.", body: Luau("return { type = 'item', kind = 'session', fields = fields }") },
    Row { name: "item.usage", params: &[("fields", "{message: string?, input: number?, output: number?, cache_read: number?, cache_write: number?}")], gives: "sf.Made",
        doc: "Tells the tokens of a message; the last of a message counts.", body: Luau("return { type = 'item', kind = 'usage', fields = fields }") },

    Row { name: "redact", params: &[("what", "{secrets: boolean?, emails: boolean?, home: boolean?, patterns: table?}")], gives: "nil",
        doc: "Masks in all that is written, whoever says it: secrets of known shapes, e-mail addresses, home folders, and patterns of one's own by name. Where a pattern has a group, that alone is masked.", body: Native(exact::redact) },
    Row { name: "raw", params: &[("value", "table"), ("key", "string|number|nil")], gives: "string?",
        doc: "The JSON text, as written, of a value that was handed over, or of a part of it; nil if there is no such part.", body: Native(exact::raw) },
    Row { name: "cut", params: &[("text", "string"), ("most", "number"), ("unit", "\"bytes\"|\"utf16\"|\"characters\"|nil")], gives: "string, boolean",
        doc: "The beginning of a text, at most so long by a measure, never ending inside a character; and whether something was cut.", body: Native(exact::cut) },
    Row { name: "json", params: &[("text", "string")], gives: "any",
        doc: "Reads JSON into plain tables; nil if it is none.", body: Native(json) },
    Row { name: "re", params: &[("pattern", "string")], gives: "sf.Regex",
        doc: "A regular expression that runs in linear time: test, find, all, replace.", body: Native(re) },
    Row { name: "basename", params: &[("path", "string")], gives: "string",
        doc: "The last part of a path.", body: Luau("local whole = string.gsub(path, '/+$', '') return (string.match(whole, '[^/]*$'))") },
    Row { name: "truncate", params: &[("text", "string"), ("most", "number")], gives: "string",
        doc: "The text, cut with an ellipsis to so many characters.", body: Native(truncate) },
    Row { name: "first_line", params: &[("text", "string")], gives: "string",
        doc: "The text up to its first line feed.", body: Native(first_line) },
    Row { name: "count_lines", params: &[("text", "string")], gives: "number",
        doc: "How many lines a text has; a final line feed begins none.", body: Native(count_lines) },
    Row { name: "plural", params: &[("count", "number"), ("one", "string"), ("many", "string?")], gives: "string",
        doc: "`1 file`, `1,234 files`.", body: Native(plural) },
    Row { name: "duration", params: &[("ms", "number")], gives: "string",
        doc: "`340ms`, `3.4s`, `1m 42s`.", body: Native(duration) },
    Row { name: "bytes", params: &[("count", "number")], gives: "string",
        doc: "`812 B`, `12.3 KB`.", body: Native(bytes) },
    Row { name: "sorted", params: &[("table", "table")], gives: "fun(): any, any",
        doc: "Walks a table in the order of its keys.", body: Luau("\
            local keys = {} \
            for key in pairs(table) do keys[#keys + 1] = key end \
            sort(keys, function(a, b) \
                if type(a) == type(b) and (type(a) == 'number' or type(a) == 'string') then return a < b end \
                return tostring(a) < tostring(b) end) \
            local at = 0 \
            return function() at += 1 local key = keys[at] if key ~= nil then return key, table[key] end end") },
];

/// A field of what a script is given.
pub struct Field {
    /// Whose: `Item`, `Call`, `Result`, `Context`, `Session`.
    pub of: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: &'static str,
    /// What it tells.
    pub doc: &'static str,
}

/// The fields of what scripts are given.
#[rustfmt::skip]
pub static FIELDS: &[Field] = &[
    Field { of: "Item", name: "kind", kind: "string", doc: "prompt, reply, thinking, call, result, plan, notice, outcome, record or unknown" },
    Field { of: "Item", name: "id", kind: "string", doc: "unique within the stream" },
    Field { of: "Item", name: "parent", kind: "string?", doc: "the call that it is inside of, if a sub-agent said it" },
    Field { of: "Item", name: "text", kind: "string", doc: "its text, as the stream has it" },
    Field { of: "Item", name: "error", kind: "boolean", doc: "whether it tells of a failure" },
    Field { of: "Item", name: "status", kind: "string", doc: "open, done, failed or cancelled" },
    Field { of: "Item", name: "data", kind: "table", doc: "typed facts: stdout, stderr, exit, patch, lines, …" },
    Field { of: "Item", name: "line", kind: "number", doc: "number of its first line in the stream" },
    Field { of: "Item", name: "time", kind: "string?", doc: "when it happened, as the stream tells" },
    Field { of: "Item", name: "raw", kind: "string?", doc: "the record that it came with, as written" },
    Field { of: "Item", name: "frame", kind: "table?", doc: "the same, read as it is asked for" },
    Field { of: "Item", name: "block", kind: "table|string|nil", doc: "the part of a message that it was made from, read as it is asked for" },
    Field { of: "Item", name: "default", kind: "fun(self): sf.Answer", doc: "what the layers below say: to wrap or amend" },
    Field { of: "Call", name: "tool", kind: "string", doc: "the tool; of an MCP server its own name" },
    Field { of: "Call", name: "name", kind: "string", doc: "the tool as the stream names it" },
    Field { of: "Call", name: "server", kind: "string?", doc: "the MCP server" },
    Field { of: "Call", name: "action", kind: "string", doc: "run, read, write, edit, search, fetch, delegate, plan, ask, mcp or other" },
    Field { of: "Call", name: "input", kind: "table", doc: "its input, read as it is asked for; input:table() is a copy, input:raw() the text" },
    Field { of: "Call", name: "partial", kind: "boolean", doc: "whether the input isn't whole" },
    Field { of: "Result", name: "tool", kind: "string?", doc: "the tool" },
    Field { of: "Result", name: "call", kind: "sf.Call?", doc: "the call that it answers" },
    Field { of: "Context", name: "session", kind: "sf.Session", doc: "the facts of the run" },
    Field { of: "Context", name: "state", kind: "table", doc: "what the plugin keeps; only functions of sf.on may write it" },
    Field { of: "Context", name: "options", kind: "table", doc: "the plugin's options" },
    Field { of: "Context", name: "limits", kind: "table", doc: "the profile's limits: result_lines, …" },
    Field { of: "Session", name: "agent", kind: "string?", doc: "the agent" },
    Field { of: "Session", name: "version", kind: "string?", doc: "the agent's version" },
    Field { of: "Session", name: "model", kind: "string?", doc: "the model" },
    Field { of: "Session", name: "cwd", kind: "string?", doc: "the folder" },
    Field { of: "Session", name: "id", kind: "string?", doc: "the session's id" },
    Field { of: "Session", name: "mode", kind: "string?", doc: "the permission mode" },
    Field { of: "Session", name: "usage", kind: "table", doc: "tokens so far: input, output, cache_read, cache_write" },
];

/// Longest text that a regular expression is run on, in bytes.
const MOST_SUBJECT: usize = 1 << 20;
/// Regular expressions of one plugin.
const MOST_PATTERNS: usize = 64;
/// Longest pattern, in bytes.
const MOST_PATTERN: usize = 256;
/// Bytes that a compiled pattern may take.
const MOST_COMPILED: usize = 128 << 10;

/// What one plugin has told of itself while it was loaded.
#[derive(Default)]
pub(super) struct Plugin {
    /// What it registered.
    pub(super) registered: RefCell<Registered>,
    /// The name it gave itself.
    pub(super) name: RefCell<Option<String>>,
    /// What it wants to be masked.
    pub(super) redaction: RefCell<Redaction>,
    /// Whether it is loaded: then nothing more is registered.
    pub(super) is_loaded: Cell<bool>,
    patterns: RefCell<BTreeMap<String, Regex>>,
}

impl Plugin {
    fn register(
        &self,
        what: &str,
        register: impl FnOnce(&mut Registered) -> Result<(), String>,
    ) -> mlua::Result<()> {
        if self.is_loaded.get() {
            return Err(wrong(format!("sf.{what}: only while the plugin is loaded")));
        }
        register(&mut self.registered.borrow_mut()).map_err(|error| wrong(format!("sf.{what}: {error}")))
    }
}

/// Puts `sf` into a machine.
pub(super) fn install(lua: &Lua, globals: &Table, plugin: &Rc<Plugin>, options: &Table) -> mlua::Result<()> {
    let (sf, items) = (lua.create_table()?, lua.create_table()?);
    sf.raw_set("item", items.clone())?;
    // The functions must not depend on what a plugin makes of the globals.
    let mut source = String::from(
        "local sf = ... local string, sort, pairs, type, tostring = string, table.sort, pairs, type, tostring\n",
    );
    for row in FUNCTIONS {
        match row.body {
            Native(make) => sf.raw_set(row.name, make(lua, plugin)?)?,
            Luau(body) => {
                let params: Vec<_> = row.params.iter().map(|(name, _)| *name).collect();
                // Writing to a string can't fail.
                let _ = writeln!(source, "sf.{} = function({}) {body} end", row.name, params.join(", "));
            }
        }
    }
    lua.load(source).set_name("=sf").set_mode(ChunkMode::Text).call::<()>(sf.clone())?;
    items.set_readonly(true);
    sf.raw_set("api", API)?;
    sf.raw_set("options", options)?;
    sf.set_readonly(true);
    globals.raw_set("sf", sf)
}

/// Where a plugin registers something.
fn origin(lua: &Lua) -> Option<Origin> {
    vm::place(lua).map(|(file, line)| Origin { file, line })
}

fn wrong(message: impl Into<String>) -> mlua::Error {
    mlua::Error::runtime(message.into())
}

fn plugin(lua: &Lua, plugin: &Rc<Plugin>) -> mlua::Result<Function> {
    let plugin = Rc::clone(plugin);
    lua.create_function(move |lua, about: Table| {
        if let Some(name) = about.raw_get::<Option<String>>("name")? {
            *plugin.name.borrow_mut() = Some(name);
        }
        let api = about.raw_get::<Option<u32>>("api")?.unwrap_or(API);
        if api == 0 || api > API {
            return Err(wrong(format!("sf.plugin: it needs api {api}, this program has api {API}")));
        }
        lua.globals().get::<Table>("sf")
    })
}

fn tool(lua: &Lua, plugin: &Rc<Plugin>) -> mlua::Result<Function> {
    let plugin = Rc::clone(plugin);
    lua.create_function(move |lua, (pattern, spec): (String, Table)| {
        plugin.register("tool", |registered| registered.tool(&pattern, &spec, origin(lua)))
    })
}

fn view(lua: &Lua, plugin: &Rc<Plugin>) -> mlua::Result<Function> {
    let plugin = Rc::clone(plugin);
    lua.create_function(move |lua, (kind, function): (String, Function)| {
        plugin.register("view", |registered| registered.view(&kind, function, origin(lua)))
    })
}

fn on(lua: &Lua, plugin: &Rc<Plugin>) -> mlua::Result<Function> {
    let plugin = Rc::clone(plugin);
    lua.create_function(move |_, (kind, function): (String, Function)| {
        plugin.register("on", |registered| registered.on(&kind, function))
    })
}

fn dialect(lua: &Lua, plugin: &Rc<Plugin>) -> mlua::Result<Function> {
    let plugin = Rc::clone(plugin);
    lua.create_function(move |_, (name, spec): (String, Table)| {
        plugin.register("dialect", |registered| registered.dialect(&name, &spec))
    })
}

fn writer(lua: &Lua, plugin: &Rc<Plugin>) -> mlua::Result<Function> {
    let plugin = Rc::clone(plugin);
    lua.create_function(move |_, (name, spec): (String, Table)| {
        plugin.register("writer", |registered| registered.writer(&name, &spec))
    })
}

fn has(lua: &Lua, _: &Rc<Plugin>) -> mlua::Result<Function> {
    lua.create_function(|_, feature: String| Ok(has_feature(&feature)))
}

/// Whether this version has a function of `sf`.
pub(super) fn has_feature(name: &str) -> bool {
    FUNCTIONS.iter().any(|row| row.name == name)
}

fn json(lua: &Lua, _: &Rc<Plugin>) -> mlua::Result<Function> {
    lua.create_function(|lua, text: Option<LuaString>| match text {
        Some(text) => item::parse(lua, &text.to_string_lossy()),
        None => Ok(Value::Nil),
    })
}

fn truncate(lua: &Lua, _: &Rc<Plugin>) -> mlua::Result<Function> {
    lua.create_function(|_, (text, most): (LuaString, f64)| {
        let text = text.to_string_lossy();
        let most = usize::try_from(natural(most)).unwrap_or(usize::MAX).max(1);
        Ok(match text.char_indices().nth(most) {
            None => text,
            Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        })
    })
}

fn first_line(lua: &Lua, _: &Rc<Plugin>) -> mlua::Result<Function> {
    lua.create_function(|lua, text: LuaString| {
        let text = text.as_bytes();
        let end = memchr::memchr2(b'\n', b'\r', &text).unwrap_or(text.len());
        lua.create_string(&text[..end])
    })
}

fn count_lines(lua: &Lua, _: &Rc<Plugin>) -> mlua::Result<Function> {
    lua.create_function(|_, text: LuaString| {
        let text = text.as_bytes();
        let is_open = text.last().is_some_and(|byte| *byte != b'\n');
        Ok(memchr::memchr_iter(b'\n', &text).count() + usize::from(is_open))
    })
}

fn plural(lua: &Lua, _: &Rc<Plugin>) -> mlua::Result<Function> {
    lua.create_function(|_, (count, one, many): (f64, String, Option<String>)| {
        let many = many.unwrap_or_else(|| format!("{one}s"));
        Ok(figures::count_of(natural(count), &one, &many).into_string())
    })
}

fn duration(lua: &Lua, _: &Rc<Plugin>) -> mlua::Result<Function> {
    lua.create_function(|_, ms: f64| Ok(figures::duration(natural(ms)).into_string()))
}

fn bytes(lua: &Lua, _: &Rc<Plugin>) -> mlua::Result<Function> {
    lua.create_function(|_, count: f64| Ok(figures::size(natural(count)).into_string()))
}

/// A number as one that figures can spell.
#[expect(clippy::cast_sign_loss, reason = "it is not negative")]
fn natural(number: f64) -> u64 {
    number.clamp(0.0, 9e15) as u64
}

fn re(lua: &Lua, plugin: &Rc<Plugin>) -> mlua::Result<Function> {
    let plugin = Rc::clone(plugin);
    lua.create_function(move |_, pattern: String| {
        if let Some(known) = plugin.patterns.borrow().get(&pattern) {
            return Ok(Pattern(known.clone()));
        }
        if pattern.len() > MOST_PATTERN {
            return Err(wrong(format!("sf.re: the pattern is longer than {MOST_PATTERN} bytes")));
        }
        if plugin.patterns.borrow().len() >= MOST_PATTERNS {
            return Err(wrong(format!("sf.re: more than {MOST_PATTERNS} patterns")));
        }
        let built =
            RegexBuilder::new(&pattern).size_limit(MOST_COMPILED).dfa_size_limit(MOST_COMPILED).build();
        let regex = built.map_err(|error| {
            let text = error.to_string();
            wrong(format!("sf.re: {}", text.lines().last().unwrap_or("not a pattern").trim()))
        })?;
        plugin.patterns.borrow_mut().insert(pattern, regex.clone());
        Ok(Pattern(regex))
    })
}

/// A regular expression.
struct Pattern(Regex);

impl UserData for Pattern {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods
            .add_method("test", |_, this, text: LuaString| Ok(this.0.is_match(subject(&text.as_bytes())?)));
        methods.add_method("find", |lua, this, text: LuaString| {
            let text = text.as_bytes();
            match this.0.captures(subject(&text)?) {
                Some(found) => groups(lua, &this.0, &found).map(Value::Table),
                None => Ok(Value::Nil),
            }
        });
        methods.add_method("all", |lua, this, text: LuaString| {
            let text = text.as_bytes();
            let list = lua.create_table()?;
            for found in this.0.captures_iter(subject(&text)?) {
                list.raw_push(groups(lua, &this.0, &found)?)?;
            }
            Ok(list)
        });
        methods.add_method("replace", |lua, this, (text, with): (LuaString, LuaString)| {
            let (text, with) = (text.as_bytes(), with.as_bytes());
            let text = subject(&text)?;
            let mut out = Vec::with_capacity(text.len());
            let mut at = 0;
            for found in this.0.captures_iter(text) {
                let Some(whole) = found.get(0) else { continue };
                out.extend_from_slice(&text[at..whole.start()]);
                found.expand(&with, &mut out);
                at = whole.end();
                subject(&out)?;
            }
            out.extend_from_slice(&text[at..]);
            lua.create_string(&out)
        });
    }
}

/// A text that isn't too long for a regular expression.
fn subject(text: &[u8]) -> mlua::Result<&[u8]> {
    if text.len() > MOST_SUBJECT { Err(wrong("sf.re: the text is longer than 1 MiB")) } else { Ok(text) }
}

/// What a match found: `[0]` the whole, `[1]` … the groups, also by name.
fn groups(lua: &Lua, regex: &Regex, found: &regex::bytes::Captures<'_>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (index, name) in regex.capture_names().enumerate() {
        let Some(part) = found.get(index) else { continue };
        let text = lua.create_string(part.as_bytes())?;
        if let Some(name) = name {
            table.raw_set(name, text.clone())?;
        }
        table.raw_set(index, text)?;
    }
    Ok(table)
}

/// The types for editors (`LuaLS`): every function and field of the two tables above.
pub fn types() -> String {
    let mut out = String::from(
        "---@meta\n-- Made by streamfmt. The interface that plugins see.\n\nsf = {}\nsf.item = {}\n",
    );
    for row in FUNCTIONS {
        let _ = writeln!(out, "\n---{}", row.doc);
        for (name, kind) in row.params {
            let _ = writeln!(out, "---@param {name} {kind}");
        }
        if row.gives != "nil" {
            let _ = writeln!(out, "---@return {}", row.gives);
        }
        let names: Vec<_> = row.params.iter().map(|(name, _)| *name).collect();
        let _ = writeln!(out, "function sf.{}({}) end", row.name, names.join(", "));
    }
    let mut before = "";
    for field in FIELDS {
        if field.of != before {
            let base = if matches!(field.of, "Call" | "Result") { ": sf.Item" } else { "" };
            let _ = writeln!(out, "\n---@class sf.{}{base}", field.of);
            before = field.of;
        }
        let _ = writeln!(out, "---@field {} {} {}", field.name, field.kind, field.doc);
    }
    out.push_str(TYPES);
    out
}

/// The types that are no one's fields.
const TYPES: &str = "
---@class sf.ToolSpec
---@field label? string|fun(call: sf.Call, ctx: sf.Context): any the tool's name as shown
---@field arg? string|fun(input: table, call: sf.Call, ctx: sf.Context): any the one-line argument
---@field summary? string|fun(result: sf.Result, call: sf.Call, ctx: sf.Context): any the one-line summary of a result
---@field call? fun(call: sf.Call, ctx: sf.Context): sf.Answer the whole view of a call
---@field result? fun(result: sf.Result, call: sf.Call, ctx: sf.Context): sf.Answer the whole view of a result
---@field icon? string the name of a glyph, or a text in front of the name
---@field role? string the role of the name
---@field collapse? boolean|\"call\"|\"result\" whether the body is folded away

---nil: the layer below decides; false: nothing is shown
---@alias sf.Answer nil|false|string|sf.Span|sf.Block|(string|sf.Span|sf.Block)[]
---@class sf.Span
---@class sf.Block
---@class sf.Hunk
---@class sf.Regex
---@field test fun(self, text: string): boolean
---@field find fun(self, text: string): table?
---@field all fun(self, text: string): table[]
---@field replace fun(self, text: string, with: string): string
";

/// A value of the host's as Lua, for `ctx.limits`.
pub(super) fn limit(lua: &Lua, limit: Option<usize>) -> mlua::Result<Value> {
    limit.map(|limit| limit as f64).into_lua(lua)
}
