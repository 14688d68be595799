//! Writers in Lua, on top of a built-in one.
//!
//! ```text
//! node ─▶ the parts written by the script, as spelled spans ─▶ base ─▶ out
//! ```
//!
//! The base writer still decides the layout, whatever its format. Text from a script is cleaned like any foreign text, and a part
//! that the script fails to write is written by the base.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::rc::{Rc, Weak};

use mlua::{Function, Lua, Table, Value};
use send_wrapper::SendWrapper;
use streamfmt_core::entry::{Block, Entry, Line, Role, Span, View};
use streamfmt_core::item::{Id, Kind, Status};
use streamfmt_core::outline::{Answer, Nest, Node, Relation};
use streamfmt_core::session::Facts;
use streamfmt_core::text::Text;
use streamfmt_core::writer::{Wants, Writer};
use streamfmt_writers::ci;

use super::plugins::Plugins;
use super::prose;
use crate::lua::answer::block::AnswerReader;
use crate::lua::answer::value::string;
use crate::lua::answer::view_to_lua;
use crate::lua::api::item::a_type;
use crate::lua::api::registrations::WriterRegistration;
use crate::lua::vm::{CallError, bounded};
use crate::tools::overrides::LayerId;

/// Deepest nesting of `w:block` calls.
const DEEPEST: usize = 8;
const BY_BASE: &str = "written by the base writer";
const EMPTY: &str =
    "an empty text shows nothing: return false to leave the entry out, or nil to leave it to the base";

/// A writer in Lua.
pub(crate) struct ScriptedWriter {
    base: Box<dyn Writer>,
    inner: SendWrapper<Rc<WriterState>>,
}

/// The state that the functions of `w` access.
struct WriterState {
    plugins: Rc<Plugins>,
    layer: LayerId,
    spec: WriterRegistration,
    /// Writes the blocks passed to `w:block`.
    scratch: RefCell<Box<dyn Writer>>,
    /// The parts being written: a part inside one of the same name is left to the base.
    active: RefCell<Vec<&'static str>>,
    /// The table that the functions receive as `w`.
    handle: OnceCell<Table>,
}

impl ScriptedWriter {
    /// Creates the writer `name` of a plugin on top of `base`; `scratch` is another writer like `base`. Returns `base` if no
    /// running plugin has this writer.
    pub(crate) fn over(
        plugins: &Rc<Plugins>,
        name: &str,
        base: Box<dyn Writer>,
        scratch: Box<dyn Writer>,
    ) -> Box<dyn Writer> {
        let found = plugins.layers().rev().find_map(|(layer, registered)| {
            let spec = registered.writers.iter().find(|writer| writer.known.name == name)?;
            Some((layer, spec.clone()))
        });
        let Some((layer, spec)) = found else { return base };
        let inner = Rc::new(WriterState {
            plugins: Rc::clone(plugins),
            layer,
            spec,
            scratch: RefCell::new(scratch),
            active: RefCell::default(),
            handle: OnceCell::new(),
        });
        let plugin = inner.plugins.running(inner.layer);
        let handle = plugin.and_then(|plugin| handle(plugin.lua(), &Rc::downgrade(&inner)).ok());
        handle.map(|handle| inner.handle.set(handle));
        Box::new(Self { base, inner: SendWrapper::new(inner) })
    }

    fn edge(&self, part: &'static str, out: &mut dyn fmt::Write) -> fmt::Result {
        let function = self.inner.spec.part(part);
        let text = function.and_then(|function| self.inner.call_part(part, function, Value::Nil));
        text.map_or(Ok(()), |text| out.write_str(&text))
    }

    /// Writes one entry, either as a whole by the script's `entry` function, or by the base.
    fn entry(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result {
        if let Some(text) = self.inner.part_text("entry", |lua| entry_table(lua, node)) {
            return out.write_str(&text);
        }
        self.base.node(&self.spelled(node), out)
    }

    /// Replaces all parts of a node that the script writes.
    fn spelled(&self, node: &Node) -> Node {
        let spelled = |entry: &Entry| {
            let view = self.inner.spelled(&entry.view, entry);
            Box::new(Entry { view, ..entry.clone() })
        };
        let entry = spelled(&node.entry);
        let result = node.result.as_deref().map(spelled);
        let mut relation = node.relation.clone();
        if let Relation::Apart(title) = &mut relation {
            self.inner.spell_line(title);
        }
        let (agent, starts) = (node.agent.clone(), node.starts.clone());
        Node { entry, result, revision: node.revision, relation, agent, starts }
    }
}

impl Writer for ScriptedWriter {
    fn wants(&self) -> Wants {
        self.base.wants()
    }

    fn begin(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.base.begin(out)?;
        self.edge("begin", out)
    }

    fn node(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.inner.spec.part("entry").is_none() {
            return self.base.node(&self.spelled(node), out);
        }
        self.entry(&Node { result: None, ..node.clone() }, out)?;
        let Some(result) = &node.result else { return Ok(()) };
        let agent = node.agent.clone();
        self.entry(&Node { relation: Relation::Below, agent, ..Node::from(result.clone()) }, out)
    }

    fn enter(&mut self, nest: &Nest, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.inner.spec.part("entry").is_some() {
            return nest.node.iter().try_for_each(|node| self.node(node, out));
        }
        let node = nest.node.as_ref().map(|node| Box::new(self.spelled(node)));
        self.base.enter(&Nest { call: nest.call.clone(), title: nest.title.clone(), node }, out)
    }

    fn leave(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.inner.spec.part("entry").is_some() { Ok(()) } else { self.base.leave(out) }
    }

    fn notices(&mut self, nodes: &[Node], out: &mut dyn fmt::Write) -> fmt::Result {
        if self.inner.spec.part("entry").is_some() {
            return nodes.iter().try_for_each(|node| self.node(node, out));
        }
        let nodes: Vec<_> = nodes.iter().map(|node| self.spelled(node)).collect();
        self.base.notices(&nodes, out)
    }

    fn answer(&mut self, answer: &Answer, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.inner.spec.part("entry").is_some() {
            return answer.nodes.iter().try_for_each(|node| self.node(node, out));
        }
        let spelled = |nodes: &[Node]| nodes.iter().map(|node| self.spelled(node)).collect();
        let (before, nodes) = (spelled(&answer.before), spelled(&answer.nodes));
        self.base.answer(&Answer { before, nodes, ..*answer }, out)
    }

    fn end(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.base.end(out)?;
        self.edge("finish", out)
    }
}

impl WriterState {
    /// Calls the function for a part. Returns `None` if it leaves the part to the base, or fails.
    fn call_part(&self, part: &'static str, function: &Function, argument: Value) -> Option<Text> {
        let plugin = self.plugins.running(self.layer)?;
        if self.active.borrow().len() >= DEEPEST {
            return None;
        }
        self.active.borrow_mut().push(part);
        // The function for a span receives only the text.
        let w = self.handle.get().filter(|_| part != "span");
        let answer = plugin.call(function, (argument, w));
        self.active.borrow_mut().pop();
        let text = answer.and_then(|answer| match answer {
            Value::Nil => Ok(None),
            Value::Boolean(false) => Ok(Some(Text::EMPTY)),
            Value::String(text) => match string(&text) {
                text if part == "entry" && text.trim().is_empty() => Err(CallError::misuse(EMPTY)),
                text => Ok(Some(Text::clean_owned(text))),
            },
            other => Err(CallError::misuse(format!("expected a text, not {}", a_type(&other)))),
        });
        self.plugins.unless_failed(plugin, function, text, || format!("writing a part ({part})"), BY_BASE)?
    }

    /// Writes a part, which `table` converts for the script. Returns `None` if the part is left to the base.
    fn part_text(&self, part: &'static str, table: impl FnOnce(&Lua) -> mlua::Result<Table>) -> Option<Text> {
        let (function, plugin) = (self.function_for(part)?, self.plugins.running(self.layer)?);
        let table = bounded(plugin.lua(), || table(plugin.lua())).ok()?;
        self.call_part(part, function, Value::Table(table))
    }

    /// Replaces the parts of a view that the script writes.
    fn spelled(&self, view: &View, entry: &Entry) -> View {
        let is_titled = !view.title.is_empty();
        let text = is_titled.then(|| self.part_text("title", |lua| title_table(lua, entry))).flatten();
        let continues_call = view.continues_call && text.is_none();
        let mut title = view.title.clone();
        match text {
            Some(text) => title = spelled_line(&text.trimmed_end()),
            None => self.spell_line(&mut title),
        }
        View { mark: view.mark, title, body: self.spelled_blocks(&view.body), continues_call }
    }

    /// Replaces the blocks that the script writes. Nesting is bounded, by `clip` and by the reader of answers.
    fn spelled_blocks(&self, blocks: &[Block]) -> Vec<Block> {
        let mut out = Vec::with_capacity(blocks.len());
        for block in blocks {
            match block {
                Block::Prose { text, role } if self.function_for("prose").is_none() => {
                    self.spelled_prose(text, *role, &mut out);
                }
                block => out.extend(self.spelled_block(block)),
            }
        }
        out
    }

    /// Replaces what the script writes of a block. Returns `None` if nothing is left of it.
    fn spelled_block(&self, block: &Block) -> Option<Block> {
        if let Some(text) = self.part_text(block.type_name(), |lua| view_to_lua::block(lua, block)) {
            return as_block(text);
        }
        let mut block = block.clone();
        match &mut block {
            Block::Lines { lines } => lines.retain_mut(|line| {
                let was_empty = line.is_empty();
                self.spell_line(line);
                was_empty || !line.is_empty()
            }),
            block => block.lines_mut().flatten().for_each(|line| self.spell_line(line)),
        }
        if let Some(body) = block.inside_mut() {
            *body = self.spelled_blocks(body);
        }
        Some(block)
    }

    /// Replaces the headings and code blocks of a Markdown text that the script writes.
    fn spelled_prose(&self, text: &Text, role: Role, out: &mut Vec<Block>) {
        if self.function_for("heading").is_none() && self.function_for("code").is_none() {
            out.push(Block::Prose { text: text.clone(), role });
            return;
        }
        for part in prose::parts(text) {
            let text = match &part {
                prose::MarkdownPart::Heading { level, text, .. } => {
                    self.part_text("heading", |lua| view_to_lua::heading(lua, *level, text, role))
                }
                prose::MarkdownPart::Code { lang, text, .. } => {
                    let (text, lang) = (text.clone(), lang.clone());
                    let block = Block::Code { text, lang, start: None, role };
                    self.part_text("code", |lua| view_to_lua::block(lua, &block))
                }
                prose::MarkdownPart::Other(_) => None,
            };
            match text {
                Some(text) => out.extend(as_block(text)),
                None if part.source().trim().is_empty() => {}
                None => {
                    out.push(Block::Prose { text: part.source().clone().trimmed_end(), role });
                }
            }
        }
    }

    /// The function for a part, unless that part is being written already.
    fn function_for(&self, part: &str) -> Option<&Function> {
        self.spec.part(part).filter(|_| !self.active.borrow().contains(&part))
    }

    /// Replaces the spans of a line that the script writes.
    fn spell_line(&self, line: &mut Line) {
        if self.spec.spans.is_empty() {
            return;
        }
        let mut spelled = Line::default();
        for span in line.spans() {
            match self.painted(&span) {
                Some(text) => spelled.attach_span(span.spelled(&text)),
                None => spelled.attach_span(span),
            }
        }
        *line = spelled;
    }

    /// The script's text for a span, if it has a function for the role.
    fn painted(&self, span: &Span<'_>) -> Option<Text> {
        let function = self.spec.span(span.role.name()).filter(|_| !span.text().is_empty())?;
        let text = self.plugins.running(self.layer)?.lua().create_string(span.text()).ok()?;
        let text = self.call_part("span", function, Value::String(text))?;
        Some(if text.contains('\n') { Text::clean_owned(text.replace('\n', "␊")) } else { text })
    }

    /// `w:block`: writes blocks to a string.
    fn block(&self, lua: &Lua, value: &Value) -> mlua::Result<String> {
        let facts = Facts::default();
        let blocks =
            AnswerReader::new(lua, &facts, &Line::default).body(value).map_err(mlua::Error::runtime)?;
        let entry = Entry::new("part", Kind::Notice, View::of(self.spelled_blocks(&blocks)));
        let mut text = String::new();
        let mut scratch = self.scratch.borrow_mut();
        scratch
            .node(&Node::from(entry), &mut text)
            .and_then(|()| scratch.end(&mut text))
            .map_err(mlua::Error::runtime)?;
        Ok(dedented(&text))
    }

    /// `w:inlines`: writes a line to a string.
    fn inlines(&self, lua: &Lua, value: &Value) -> mlua::Result<String> {
        let facts = Facts::default();
        let reader = AnswerReader::new(lua, &facts, &Line::default);
        let line = view_to_lua::as_line(lua, value)?;
        let line = reader.line(&line, "text".into()).map_err(mlua::Error::runtime)?;
        let text: String = line
            .spans()
            .map(|span| self.painted(&span).map_or_else(|| span.text().to_owned(), Text::into_string))
            .collect();
        Ok(if self.spec.known.is_log { ci::parted(&text).into_owned() } else { text })
    }
}

/// The implementation of a function of `w`.
type SpelledBy = fn(&WriterState, &Lua, &Value) -> mlua::Result<String>;

/// Creates the table `w`.
fn handle(lua: &Lua, inner: &Weak<WriterState>) -> mlua::Result<Table> {
    let w = lua.create_table()?;
    let functions: [(_, SpelledBy); 2] = [("block", WriterState::block), ("inlines", WriterState::inlines)];
    for (name, function) in functions {
        let inner = Weak::clone(inner);
        let function = lua.create_function(move |lua, (_, value): (Table, Value)| {
            let gone = || mlua::Error::runtime("the output has ended");
            function(&*inner.upgrade().ok_or_else(gone)?, lua, &value)
        })?;
        w.raw_set(name, function)?;
    }
    w.set_readonly(true);
    Ok(w)
}

/// A line that consists of a text by the script.
fn spelled_line(text: &Text) -> Line {
    Line::of("text", Text::EMPTY).spans().map(|span| span.spelled(text)).collect()
}

/// A block that consists of a text by the script, or `None` if the text is empty.
fn as_block(mut text: Text) -> Option<Block> {
    text.truncate(text.strip_suffix('\n').unwrap_or(&text).len());
    (!text.is_empty()).then(|| Block::line(spelled_line(&text)))
}

/// Removes the common indentation of all lines, and blank lines at both ends.
fn dedented(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_text = |line: &&str| !line.trim().is_empty();
    let margin = lines
        .iter()
        .copied()
        .filter(is_text)
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min();
    let (Some(first), Some(last)) = (lines.iter().position(&is_text), lines.iter().rposition(is_text)) else {
        return String::new();
    };
    let mut out = String::with_capacity(text.len());
    for line in &lines[first..=last] {
        out.push_str(line.get(margin.unwrap_or(0)..).unwrap_or_default());
        out.push('\n');
    }
    out
}

/// The title of an entry, for scripts.
fn title_table(lua: &Lua, entry: &Entry) -> mlua::Result<Table> {
    let table = view_to_lua::line_to_lua(lua, &entry.view.title)?;
    table.raw_set("type", "title")?;
    head(&table, entry)?;
    Ok(table)
}

/// An entry, for scripts.
fn entry_table(lua: &Lua, node: &Node) -> mlua::Result<Table> {
    let Node { entry, relation, .. } = node;
    let of = match relation {
        Relation::Apart(title) => Some(view_to_lua::line_to_lua(lua, title)?),
        _ => None,
    };
    let table = lua.create_table()?;
    head(&table, entry)?;
    table.raw_set("id", entry.id.as_str())?;
    table.raw_set("parent", entry.parent.as_ref().map(Id::as_str))?;
    table.raw_set("title", view_to_lua::line_to_lua(lua, &entry.view.title)?)?;
    table.raw_set("blocks", view_to_lua::to_lua(lua, &View::of(entry.view.body.clone()))?)?;
    table.raw_set("of", of)?;
    Ok(table)
}

fn head(table: &Table, entry: &Entry) -> mlua::Result<()> {
    table.raw_set("kind", entry.kind.name())?;
    table.raw_set("tool", entry.tool.as_deref())?;
    table.raw_set("action", entry.action.map(streamfmt_core::item::Action::name))?;
    table.raw_set("failed", entry.status == Status::Failed)?;
    table.raw_set("mark", entry.view.mark)?;
    table.raw_set("depth", entry.depth)?;
    table.raw_set("time", entry.at.map(|at| at.to_string()))
}
