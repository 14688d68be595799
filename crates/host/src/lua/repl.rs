//! A prompt inside a plugin's machine, at one item of a stream.
//!
//! It is a formatter: it lets the items before go by, so that the plugin's hooks have seen them, and stops at
//! the one that was asked for. What is typed runs where the plugin's own functions run, within the same limits.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua, Table, Value};
use send_wrapper::SendWrapper;
use streamfmt_core::entry::{Entry, Line, View};
use streamfmt_core::formatter::standard::Standard;
use streamfmt_core::formatter::{FormatError, Formatter, Moment, Verdict};
use streamfmt_core::item::{Item, Kind};
use streamfmt_core::pipeline::{Output, Pipeline};
use streamfmt_core::profile::{Detail, Layout, Profile};
use streamfmt_core::session::Session;
use streamfmt_core::text::{Text, clean};
use streamfmt_core::writer::Writer;
use streamfmt_core::writer::terminal::{Look, Paint, Terminal};

use super::block::Reader;
use super::give::to_lua;
use super::item::{Handle, describe};
use super::journal::{Journal, Told};
use super::pack::{Layer, Pack};
use super::plugin::Running;
use super::plugins::Plugins;
use super::scripts::Scripts;
use super::vm::Stop;
use crate::engine::Engine;
use crate::problem::{Problem, Problems};

/// Tables inside one another that are spelled out.
const DEEPEST: usize = 3;
/// Parts of a table that are spelled out.
const MOST_PARTS: usize = 40;
/// Longest text that is spelled out, in characters.
const LONGEST: usize = 2_000;

/// What can be asked for besides Lua.
pub const HELP: &str = "\
item, call, result, input, ctx   what a view is given
show(blocks)                     how it would look; any value that is typed is shown as well
:told                            what this plugin makes of the item
:next                            go on to the next item
:quit                            end";

/// Where a prompt reads from and writes to.
pub struct Console {
    /// Gives the next line that was typed; nothing at the end.
    pub ask: Box<dyn FnMut() -> Option<String>>,
    /// Writes a text of whole lines, which is clean.
    pub tell: Box<dyn FnMut(&str)>,
}

/// Reads the stream `input` with a plugin, or with none, and stops at the first item that began at line `line`
/// or after it. The error says what is wrong with the plugin; whether any item was stopped at comes back.
pub fn run(pack: Option<Pack>, input: &[u8], line: u64, console: Console) -> Result<bool, Problems> {
    let pack = Arc::new(pack.unwrap_or_else(|| Pack::from_source("prompt", "")));
    let (journal, profile) = (Journal::default(), Profile::default());
    let plugins =
        Rc::new(Plugins::load(&[(Layer::Run, Arc::clone(&pack))], &[], &profile.limits, &journal, false));
    if plugins.all().is_empty() {
        let told = journal.take().into_iter().find_map(|told| match told {
            Told::Warning(warning) => Some(warning.problem()),
            Told::Printed(..) => None,
        });
        return Err(told.unwrap_or_else(|| Problem::of(&pack.name, "it can't be loaded")).into());
    }
    let is_done = Rc::new(Cell::new(false));
    let found = Rc::new(Cell::new(false));
    let prompt = Prompt(SendWrapper::new(Prompter {
        scripts: Scripts::new(&plugins, Detail::Compact),
        plugins,
        journal,
        console: RefCell::new(console),
        line,
        is_done: Rc::clone(&is_done),
        found: Rc::clone(&found),
    }));
    let mut setup = Engine::builder().writer("text").build()?.setup();
    setup.output = Output::Entries { formatters: vec![Box::new(prompt)], writer: Box::new(plain()) };
    setup.settle = None;
    let (mut pipeline, mut out) = (Pipeline::new(setup), String::new());
    for piece in input.split_inclusive(|byte| *byte == b'\n') {
        if is_done.get() {
            break;
        }
        // Writing to a string doesn't fail.
        let _ = pipeline.push(piece, &mut out);
        out.clear();
    }
    let _ = pipeline.finish(&mut out);
    Ok(found.get())
}

fn plain() -> Terminal {
    let layout = Layout { gap: 0, ..Layout::default() };
    Terminal::new(Look { paint: Paint::Plain, width: None, layout, markdown: false, timestamps: None })
}

/// The formatter that stops at items.
struct Prompt(SendWrapper<Prompter>);

/// What asks at an item.
struct Prompter {
    plugins: Rc<Plugins>,
    /// Nothing if the plugin says nothing of items.
    scripts: Option<Scripts>,
    journal: Journal,
    console: RefCell<Console>,
    line: u64,
    is_done: Rc<Cell<bool>>,
    found: Rc<Cell<bool>>,
}

/// The item that the prompt stands at.
struct Place<'a> {
    item: &'a Item,
    session: &'a Session,
    plugin: &'a Running,
    /// What is typed sees these names, and may add its own.
    names: Table,
    /// What `show` was given.
    shown: Rc<RefCell<Vec<Value>>>,
}

impl Formatter for Prompt {
    fn name(&self) -> &'static str {
        "prompt"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        self.0.meet(item, session).map_err(|error| FormatError { message: error.to_string() })?;
        Ok(Verdict::Hide)
    }

    fn observe(&self, moment: Moment<'_>, session: &Session) -> Vec<streamfmt_core::entry::Block> {
        self.0.scripts.as_ref().map(|scripts| scripts.observe(moment, session)).unwrap_or_default()
    }
}

impl Prompter {
    /// Stops at an item, if the line that was asked for has come.
    fn meet(&self, item: &Item, session: &Session) -> mlua::Result<()> {
        if item.line < self.line || self.is_done.get() {
            return Ok(());
        }
        self.found.set(true);
        let call = item.call.as_ref().filter(|_| item.kind == Kind::Result).and_then(|id| session.call(id));
        let Some(plugin) = self.plugins.all().last() else { return Ok(()) };
        self.plugins.current.show(item, call, session, || self.stop_at(item, session, plugin))
    }

    /// Answers what is typed, until the next item is wanted or nothing more comes.
    fn stop_at(&self, item: &Item, session: &Session, plugin: &Running) -> mlua::Result<()> {
        let shown = Rc::new(RefCell::new(Vec::new()));
        let names = self.names(item, plugin, &shown)?;
        let place = Place { item, session, plugin, names, shown };
        let tool = item.tool.as_deref().map(|tool| format!(" {tool}")).unwrap_or_default();
        self.tell(&format!("{}{tool} (line {})", item.kind.name(), item.line));
        loop {
            // Nothing is borrowed while what was typed runs.
            let typed = (self.console.borrow_mut().ask)();
            match typed.as_deref().map(str::trim) {
                None | Some(":quit" | ":q") => {
                    self.is_done.set(true);
                    return Ok(());
                }
                Some(":next" | ":n") => return Ok(()),
                Some(":told") => self.tell(&self.told(&place)),
                Some(":help" | ":h" | "?") => self.tell(HELP),
                Some(other) if other.starts_with(':') => {
                    self.tell(&format!("there is no {other}; what there is:\n{HELP}"));
                }
                Some("") => {}
                Some(source) => self.answer(&place, source),
            }
        }
    }

    /// The names that what is typed sees.
    fn names(&self, item: &Item, plugin: &Running, shown: &Rc<RefCell<Vec<Value>>>) -> mlua::Result<Table> {
        let lua = plugin.lua();
        let names = lua.create_table()?;
        let around = lua.create_table()?;
        around.raw_set("__index", lua.globals())?;
        names.set_metatable(Some(around))?;
        names.raw_set("item", Handle::item())?;
        names.raw_set("ctx", plugin.context())?;
        let call = if item.kind == Kind::Call { Some(Handle::item()) } else { Handle::call() };
        if let Some(call) = call {
            names.raw_set("call", call)?;
            names.raw_set("input", call.input(lua)?)?;
        }
        if item.kind == Kind::Result {
            names.raw_set("result", Handle::item())?;
        }
        let shown = Rc::clone(shown);
        let show = lua.create_function(move |_, value: Value| {
            shown.borrow_mut().push(value);
            Ok(())
        })?;
        names.raw_set("show", show)?;
        Ok(names)
    }

    /// Runs what was typed and tells what came of it.
    fn answer(&self, place: &Place<'_>, source: &str) {
        let answer = self.run(place, source);
        for told in self.journal.take() {
            if let Told::Printed(_, line) = told {
                self.tell(&line);
            }
        }
        let shown: Vec<Value> = place.shown.borrow_mut().drain(..).collect();
        for value in shown {
            self.tell(&self.look(place, value));
        }
        match answer {
            Ok(Value::Nil) => {}
            Ok(Value::Table(table)) if is_block(&table) => self.tell(&self.look(place, Value::Table(table))),
            Ok(value) => self.tell(&spell(&value)),
            Err(message) => self.tell(&message),
        }
    }

    fn run(&self, place: &Place<'_>, source: &str) -> Result<Value, String> {
        let lua = place.plugin.lua();
        let compile = |source: &str| -> mlua::Result<Function> {
            lua.load(source)
                .set_name("=prompt")
                .set_mode(mlua::chunk::ChunkMode::Text)
                .set_environment(place.names.clone())
                .into_function()
        };
        let function = compile(&format!("return {source}")).or_else(|_| compile(source));
        let function = function.map_err(|error| told_of(&Stop::of(error)))?;
        let below = |lua: &Lua| match Standard::new(Detail::Compact).format(place.item, place.session) {
            Ok(Verdict::Show(view)) => to_lua(lua, &view),
            _ => Ok(Value::Boolean(false)),
        };
        place.plugin.call_over(&function, (), &below).map_err(|stop| told_of(&stop))
    }

    /// How an answer would look.
    fn look(&self, place: &Place<'_>, value: Value) -> String {
        if matches!(value, Value::Nil) {
            return "nil: the layer below decides".to_owned();
        }
        if matches!(value, Value::Boolean(false)) {
            return "false: nothing is shown".to_owned();
        }
        let label = || self.label(place);
        let reader = Reader::new(place.plugin.lua(), place.session.facts(), &label);
        match reader.view(value, place.item) {
            Ok(view) => drawn(place.item, view),
            Err(wrong) => clean(&wrong).into_owned(),
        }
    }

    /// What the plugin makes of the item.
    fn told(&self, place: &Place<'_>) -> String {
        let verdict =
            self.scripts.as_ref().map_or(Ok(Verdict::Pass), |it| it.format(place.item, place.session));
        for told in self.journal.take() {
            if let Told::Warning(warning) = told {
                self.tell(&warning.to_string());
            }
        }
        let verdict = match verdict {
            Ok(Verdict::Pass) => Standard::new(Detail::Compact).format(place.item, place.session),
            verdict => verdict,
        };
        match verdict {
            Ok(Verdict::Show(view)) => drawn(place.item, view),
            _ => "nothing is shown".to_owned(),
        }
    }

    fn label(&self, place: &Place<'_>) -> Line {
        match &self.scripts {
            Some(scripts) => scripts.label(place.item, place.session),
            None => Standard::new(Detail::Compact).label(place.item, place.session),
        }
    }

    fn tell(&self, text: &str) {
        (self.console.borrow_mut().tell)(text.trim_end_matches('\n'));
    }
}

/// A view as text.
fn drawn(item: &Item, view: View) -> String {
    let entry = Entry {
        tool: item.tool.as_deref().map(Text::clean),
        action: item.action,
        status: item.status,
        ..Entry::new(item.id.clone(), item.kind, view)
    };
    let mut out = String::new();
    let mut writer = plain();
    // Writing to a string doesn't fail.
    let _ = writer.entry(&entry, &mut out).and_then(|()| writer.end(&mut out));
    out
}

/// Whether a table is something to be shown: a block, or a list of such.
fn is_block(table: &Table) -> bool {
    let has_type = |table: &Table| matches!(table.raw_get::<Value>("type"), Ok(Value::String(_)));
    has_type(table) || matches!(table.raw_get::<Value>(1), Ok(Value::Table(first)) if has_type(&first))
}

fn told_of(stop: &Stop) -> String {
    let message = match (&stop.trip, &stop.error) {
        (Some(trip), _) => trip.message(),
        (None, Some(error)) => {
            let text = error.to_string();
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            line.trim_start_matches("runtime error: ").trim_start_matches("syntax error: ").to_owned()
        }
        (None, None) => "it gave nothing".to_owned(),
    };
    clean(&message).replace('\n', "␊")
}

/// A value as it would be typed.
fn spell(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, DEEPEST, &mut out);
    if let Some((end, _)) = out.char_indices().nth(LONGEST) {
        out.truncate(end);
        out.push('…');
    }
    clean(&out).into_owned()
}

/// Goes no deeper than `depth` tables.
fn write_value(value: &Value, depth: usize, out: &mut String) {
    // Writing to a string doesn't fail.
    let _ = match value {
        Value::Nil => write!(out, "nil"),
        Value::Boolean(truth) => write!(out, "{truth}"),
        Value::Integer(number) => write!(out, "{number}"),
        Value::Number(number) => write!(out, "{number}"),
        Value::String(text) => write!(out, "{:?}", text.to_string_lossy()),
        Value::Function(_) => write!(out, "function"),
        Value::Table(_) if depth == 0 => write!(out, "{{…}}"),
        Value::Table(table) => {
            out.push_str("{ ");
            for (index, pair) in table.pairs::<Value, Value>().enumerate() {
                let Ok((key, value)) = pair else { break };
                if index > 0 {
                    out.push_str(", ");
                }
                if index == MOST_PARTS || out.len() > LONGEST * 4 {
                    out.push('…');
                    break;
                }
                match &key {
                    Value::Integer(_) | Value::Number(_) => {}
                    Value::String(name) => {
                        let _ = write!(out, "{} = ", name.to_string_lossy());
                    }
                    key => {
                        out.push('[');
                        write_value(key, 0, out);
                        out.push_str("] = ");
                    }
                }
                write_value(&value, depth - 1, out);
            }
            write!(out, " }}")
        }
        other => write!(out, "{}", describe(other).unwrap_or_else(|| other.type_name().to_owned())),
    };
}
