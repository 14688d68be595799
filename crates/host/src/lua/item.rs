//! Items as scripts see them: read as they are asked for, never converted whole.
//!
//! What is handed over is a small handle. It is good for the item at hand only: one that a script kept for
//! later says so, so that a plugin can't hold a whole session in memory. Strings are as the stream has them;
//! they are cleaned when they come back.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;

use mlua::{
    AnyUserData, Function, IntoLua, Lua, LuaString, MetaMethod, MultiValue, UserData, UserDataMethods,
    UserDataRef, Value,
};
use streamfmt_core::event::Usage;
use streamfmt_core::item::{Action, Fact, FactRef, Id, Item, Kind, Status};
use streamfmt_core::json::{self, Record};
use streamfmt_core::session::{Facts, Session};

/// Whole numbers up to here are the same as a Lua number; larger ones are handed over as text.
const EXACT: i64 = 1 << 53;

/// What the machines of one run look at just now.
#[derive(Default)]
pub(super) struct Current {
    /// Goes up with each item, so that a handle knows whether it is still good.
    generation: Cell<u64>,
    item: RefCell<Option<Rc<Item>>>,
    call: RefCell<Option<Rc<Item>>>,
    facts: RefCell<Facts>,
    usage: Cell<Usage>,
}

impl Current {
    /// Lets scripts see an item, and its call if it is a result.
    pub(super) fn enter(&self, item: &Item, call: Option<&Item>, session: &Session) {
        self.generation.set(self.generation.get() + 1);
        *self.item.borrow_mut() = Some(Rc::new(item.clone()));
        *self.call.borrow_mut() = call.map(|call| Rc::new(call.clone()));
        self.note(session);
    }

    /// Lets scripts see the facts of the run as they are now.
    pub(super) fn note(&self, session: &Session) {
        if *self.facts.borrow() != *session.facts() {
            *self.facts.borrow_mut() = session.facts().clone();
        }
        self.usage.set(session.usage());
    }

    /// Ends the time of the item.
    pub(super) fn leave(&self) {
        *self.item.borrow_mut() = None;
        *self.call.borrow_mut() = None;
    }

    /// The item as a script sees it.
    pub(super) fn item(&self) -> Handle {
        self.handle(Which::Item)
    }

    /// The call of the result at hand, as a script sees it.
    pub(super) fn call(&self) -> Option<Handle> {
        self.call.borrow().is_some().then(|| self.handle(Which::Call))
    }

    fn handle(&self, which: Which) -> Handle {
        Handle { which, generation: self.generation.get() }
    }
}

/// What a machine keeps at hand for its handles.
pub(super) struct Reach {
    pub(super) current: Rc<Current>,
    /// The function behind `default()`: what the layers below say.
    pub(super) below: RefCell<Option<Function>>,
    methods: Methods,
}

struct Methods {
    default: Function,
    table: Function,
    raw: Function,
}

impl Reach {
    /// Puts what handles need into a machine.
    pub(super) fn install(lua: &Lua, current: &Rc<Current>) -> mlua::Result<()> {
        let methods = Methods {
            default: lua.create_function(|lua, _: Value| {
                let below = reach(lua)?.below.borrow().clone();
                match below {
                    Some(below) => below.call::<Value>(()),
                    None => Err(error("default() is there only while a call, result or view function runs")),
                }
            })?,
            table: lua.create_function(|lua, input: UserDataRef<Json>| {
                input.with(lua, |value| plain(lua, value))?
            })?,
            raw: lua.create_function(|lua, input: UserDataRef<Json>| {
                input.with(lua, |value| lua.create_string(value.raw()))?
            })?,
        };
        lua.set_app_data(Rc::new(Self { current: Rc::clone(current), below: RefCell::new(None), methods }));
        Ok(())
    }
}

/// What the machine has at hand.
pub(super) fn reach(lua: &Lua) -> mlua::Result<Rc<Reach>> {
    lua.app_data_ref::<Rc<Reach>>().map(|reach| Rc::clone(&reach)).ok_or_else(|| error("no item is at hand"))
}

fn error(message: &str) -> mlua::Error {
    mlua::Error::runtime(message)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// The item at hand.
    Item,
    /// The call of the result at hand.
    Call,
}

/// An item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle {
    which: Which,
    generation: u64,
}

impl Handle {
    fn get(self, lua: &Lua) -> mlua::Result<Rc<Item>> {
        let reach = reach(lua)?;
        let slot: Ref<'_, Option<Rc<Item>>> = match self.which {
            Which::Item => reach.current.item.borrow(),
            Which::Call => reach.current.call.borrow(),
        };
        match &*slot {
            Some(item) if self.generation == reach.current.generation.get() => Ok(Rc::clone(item)),
            _ => Err(error(
                "this item is of an earlier call: keep the texts and numbers that are needed later",
            )),
        }
    }

    /// What it is a handle of: the place of that, and the number of its time.
    pub(super) fn key(self) -> (usize, u64) {
        (usize::from(self.which == Which::Call), self.generation)
    }

    /// A value of the item's record.
    pub(super) fn value(self, lua: &Lua, value: json::Value<'_>) -> mlua::Result<Value> {
        self.json(lua, value)
    }

    /// A call's input.
    pub(super) fn input(self, lua: &Lua) -> mlua::Result<Value> {
        self.field(lua, "input")
    }

    fn field(self, lua: &Lua, name: &str) -> mlua::Result<Value> {
        let item = self.get(lua)?;
        match name {
            "kind" => item.kind.name().into_lua(lua),
            "text" => lua.create_string(item.text().as_bytes()).map(Value::String),
            "error" => Ok(Value::Boolean(item.error)),
            "tool" => match item.fact("tool").and_then(FactRef::str) {
                Some(own) if item.kind == Kind::Call => own.into_lua(lua),
                _ => item.tool.as_deref().into_lua(lua),
            },
            "name" => item.tool.as_deref().into_lua(lua),
            "server" => item.fact("server").and_then(FactRef::str).into_lua(lua),
            "action" => item.action.map(Action::name).into_lua(lua),
            "input" => match item.input() {
                Some(value) => self.json(lua, value),
                None => Ok(Value::Nil),
            },
            "partial" => Ok(Value::Boolean(item.fact("partial").and_then(FactRef::bool) == Some(true))),
            "id" => item.id.as_str().into_lua(lua),
            "parent" => item.parent.as_ref().map(Id::as_str).into_lua(lua),
            "line" => Ok(Value::Number(item.line as f64)),
            "time" => item.at().map(|at| at.to_string()).into_lua(lua),
            "status" => status(item.status).into_lua(lua),
            "frame" => item.record.as_deref().map_or(Ok(Value::Nil), |record| self.json(lua, record.root())),
            "block" => item.block().map_or(Ok(Value::Nil), |block| self.json(lua, block)),
            "raw" => item.record.as_deref().map(line_of).into_lua(lua),
            "data" => Data(self).into_lua(lua),
            "call" => match self.which {
                Which::Item => reach(lua)?.current.call().into_lua(lua),
                Which::Call => Ok(Value::Nil),
            },
            "default" => Ok(Value::Function(reach(lua)?.methods.default.clone())),
            _ => Ok(Value::Nil),
        }
    }

    fn json(self, lua: &Lua, value: json::Value<'_>) -> mlua::Result<Value> {
        match value.kind() {
            json::Kind::Array | json::Kind::Object => Json { of: self, node: value.node() }.into_lua(lua),
            _ => scalar(lua, value),
        }
    }

    fn fact(self, lua: &Lua, item: &Item, fact: &Fact) -> mlua::Result<Value> {
        match fact {
            Fact::Bool(truth) => Ok(Value::Boolean(*truth)),
            Fact::Int(number) => whole(*number).map_or_else(|| number.to_string().into_lua(lua), Ok),
            Fact::Float(number) => Ok(Value::Number(*number)),
            Fact::Text(text) => text.as_str().into_lua(lua),
            Fact::Node(node) => match item.record.as_deref() {
                Some(record) => self.json(lua, record.value(*node)),
                None => Ok(Value::Nil),
            },
            Fact::Made(make, node) => {
                item.record.as_deref().and_then(|record| make(record.value(*node))).into_lua(lua)
            }
            Fact::Bytes(_) => Ok(Value::Nil),
            Fact::List(facts) => {
                let list = lua.create_table()?;
                for fact in facts {
                    list.raw_push(self.fact(lua, item, fact)?)?;
                }
                Ok(Value::Table(list))
            }
            Fact::Map(parts) => {
                let map = lua.create_table()?;
                for (name, fact) in parts {
                    map.raw_set(*name, self.fact(lua, item, fact)?)?;
                }
                Ok(Value::Table(map))
            }
        }
    }
}

impl UserData for Handle {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, name: LuaString| {
            this.field(lua, &name.to_str()?)
        });
        methods.add_meta_method(MetaMethod::ToString, |lua, this, ()| {
            let item = this.get(lua)?;
            Ok(format!("{} {}", item.kind.name(), item.tool.as_deref().unwrap_or(item.id.as_str())))
        });
    }
}

/// An object or array of an item's record.
#[derive(Clone, Copy, Debug)]
struct Json {
    of: Handle,
    node: u32,
}

impl Json {
    fn with<R>(self, lua: &Lua, read: impl FnOnce(json::Value<'_>) -> R) -> mlua::Result<R> {
        let item = self.of.get(lua)?;
        let record = item.record.as_deref().ok_or_else(|| error("this item has no record"))?;
        Ok(read(record.value(self.node)))
    }

    fn index(self, lua: &Lua, key: &Value) -> mlua::Result<Value> {
        let found = self.with(lua, |value| part(value, key).map(|part| self.of.json(lua, part)))?;
        if let Some(found) = found {
            return found;
        }
        // A field of the same name goes first: whoever asks for `input.table` means the data.
        match key {
            Value::String(name) if *name == "table" => Ok(Value::Function(reach(lua)?.methods.table.clone())),
            Value::String(name) if *name == "raw" => Ok(Value::Function(reach(lua)?.methods.raw.clone())),
            _ => Ok(Value::Nil),
        }
    }

    fn iterate(self, lua: &Lua) -> mlua::Result<Function> {
        let parts: Vec<(Option<String>, u32)> = self.with(lua, |value| {
            let fields = value.entries().map(|(key, value)| (Some(key.decode().into_owned()), value.node()));
            fields.chain(value.items().map(|value| (None, value.node()))).collect()
        })?;
        let at = Cell::new(0);
        lua.create_function(move |lua, _: MultiValue| {
            let index = at.replace(at.get() + 1);
            let Some((key, node)) = parts.get(index) else { return Ok((Value::Nil, Value::Nil)) };
            let json = Self { of: self.of, node: *node };
            let value = json.with(lua, |value| self.of.json(lua, value))??;
            let key = match key {
                Some(key) => key.as_str().into_lua(lua)?,
                None => Value::Number((index + 1) as f64),
            };
            Ok((key, value))
        })
    }
}

impl UserData for Json {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, key: Value| this.index(lua, &key));
        methods.add_meta_method(MetaMethod::Len, |lua, this, ()| {
            this.with(lua, |value| value.items().count().max(value.entries().count()))
        });
        methods.add_meta_method(MetaMethod::Iter, |lua, this, ()| this.iterate(lua));
        methods.add_meta_method(MetaMethod::ToString, |lua, this, ()| {
            this.with(lua, |value| lua.create_string(value.raw()))?
        });
    }
}

/// What a value of the host's is, in words.
pub(super) fn describe(lua: &Lua, value: &AnyUserData) -> String {
    if let Ok(input) = value.borrow::<Json>() {
        return input.with(lua, |value| value.raw().to_owned()).unwrap_or_default();
    }
    if let Ok(handle) = value.borrow::<Handle>() {
        return handle.get(lua).map_or_else(
            |_| "an item of before".to_owned(),
            |item| format!("{} {}", item.kind.name(), item.tool.as_deref().unwrap_or(item.id.as_str())),
        );
    }
    if let Ok(data) = value.borrow::<Data>() {
        let names = data.0.get(lua).map(|item| item.data.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        return format!("data: {}", names.unwrap_or_default().join(", "));
    }
    "a value of the program's".to_owned()
}

/// The typed facts of an item, by name.
#[derive(Clone, Copy, Debug)]
struct Data(Handle);

impl UserData for Data {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, name: LuaString| {
            let item = this.0.get(lua)?;
            let name = name.to_str()?;
            match item.data.iter().find(|(key, _)| **key == *name) {
                Some((_, fact)) => this.0.fact(lua, &item, fact),
                None => Ok(Value::Nil),
            }
        });
        methods.add_meta_method(MetaMethod::Iter, |lua, this, ()| {
            let handle = this.0;
            let at = Cell::new(0);
            lua.create_function(move |lua, _: MultiValue| {
                let item = handle.get(lua)?;
                let Some((name, fact)) = item.data.get(at.replace(at.get() + 1)) else {
                    return Ok((Value::Nil, Value::Nil));
                };
                Ok((name.into_lua(lua)?, handle.fact(lua, &item, fact)?))
            })
        });
    }
}

/// The facts of the run, as `ctx.session`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run;

impl UserData for Run {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, _, name: LuaString| {
            let reach = reach(lua)?;
            let (facts, usage) = (reach.current.facts.borrow(), reach.current.usage.get());
            let text = match &*name.to_str()? {
                "agent" => &facts.agent,
                "version" => &facts.version,
                "model" => &facts.model,
                "cwd" => &facts.cwd,
                "id" => &facts.session,
                "mode" => &facts.mode,
                "usage" => {
                    let table = lua.create_table()?;
                    for (name, number) in [
                        ("input", usage.input),
                        ("output", usage.output),
                        ("cache_read", usage.cache_read),
                        ("cache_write", usage.cache_write),
                    ] {
                        table.raw_set(name, number as f64)?;
                    }
                    return Ok(Value::Table(table));
                }
                _ => &None,
            };
            text.as_deref().into_lua(lua)
        });
    }
}

/// The function behind `pairs` and `ipairs` for what this file hands over.
pub(super) fn iterate(lua: &Lua) -> mlua::Result<Function> {
    lua.create_function(|lua, value: mlua::AnyUserData| {
        if let Ok(json) = value.borrow::<Json>() {
            return json.iterate(lua);
        }
        match value.metatable()?.get::<Function>(MetaMethod::Iter) {
            Ok(walk) => walk.call::<Function>(value),
            Err(_) => Err(error("this value can't be walked")),
        }
    })
}

/// Under this name a record that a script made keeps the line that it was made from.
pub(super) const LINE: &str = "streamfmt.line";

/// The text of a record; of one that a script made, the text of its line.
fn line_of(record: &Record) -> &str {
    let is_made = record.text().strip_prefix("{\"").is_some_and(|rest| rest.starts_with(LINE));
    let line = record.root().get(LINE).filter(|line| is_made && !line.is_null());
    line.map_or(record.text(), json::Value::raw)
}

/// The node that a value handed over is, in the record of the item at hand.
pub(super) fn node_of(lua: &Lua, value: &Value) -> Option<u32> {
    let Value::UserData(data) = value else { return None };
    let json = *data.borrow::<Json>().ok()?;
    // One that was kept for later is of another record.
    (json.of.which == Which::Item && json.of.get(lua).is_ok()).then_some(json.node)
}

/// The JSON of a value handed over, as it is written.
pub(super) fn raw_of(lua: &Lua, value: &Value) -> Option<String> {
    let Value::UserData(data) = value else { return None };
    let json = *data.borrow::<Json>().ok()?;
    json.with(lua, |value| value.raw().to_owned()).ok()
}

/// The text, as written, of a value that was handed over, or of the part of it under `key`.
pub(super) fn raw(lua: &Lua, value: &Value, key: &Value) -> mlua::Result<Value> {
    let json = match value {
        Value::UserData(json) => json.borrow::<Json>().map(|json| *json).ok(),
        _ => None,
    };
    let Some(json) = json else {
        let what = value.type_name();
        return Err(error(&format!(
            "sf.raw: a part of an item was expected, such as call.input, not a {what}"
        )));
    };
    let part = json.with(lua, |value| {
        let part = if key.is_nil() { Some(value) } else { part(value, key) };
        part.map(|part| lua.create_string(part.raw()))
    })?;
    part.transpose()?.into_lua(lua)
}

/// The part of an object or array under `key`.
fn part<'v>(value: json::Value<'v>, key: &Value) -> Option<json::Value<'v>> {
    let at = match key {
        Value::String(key) => return key.to_str().ok().and_then(|key| value.get(&key)),
        Value::Integer(index) => *index,
        Value::Number(index) if index.fract() == 0.0 && index.abs() < 9e15 => *index as i64,
        _ => return None,
    };
    value.items().nth(usize::try_from(at - 1).ok()?)
}

/// Reads a JSON text into plain tables; `nil` if it is none.
pub(super) fn parse(lua: &Lua, text: &str) -> mlua::Result<Value> {
    match Record::from_line(text.to_owned()) {
        Ok(record) => plain(lua, record.root()),
        Err(_) => Ok(Value::Nil),
    }
}

/// A JSON value as plain tables. Without recursion: a list of the tables that are still to be filled.
fn plain(lua: &Lua, value: json::Value<'_>) -> mlua::Result<Value> {
    let is_container =
        |value: json::Value<'_>| matches!(value.kind(), json::Kind::Array | json::Kind::Object);
    if !is_container(value) {
        return scalar(lua, value);
    }
    let root = lua.create_table()?;
    let mut open = vec![(root.clone(), value)];
    while let Some((table, value)) = open.pop() {
        let elements =
            value.items().enumerate().map(|(index, value)| (Value::Number((index + 1) as f64), value));
        let mut parts: Vec<(Value, json::Value<'_>)> = elements.collect();
        for (key, value) in value.entries() {
            parts.push((key.decode().into_lua(lua)?, value));
        }
        for (key, value) in parts {
            if is_container(value) {
                let inner = lua.create_table()?;
                table.raw_set(key, inner.clone())?;
                open.push((inner, value));
            } else {
                table.raw_set(key, scalar(lua, value)?)?;
            }
        }
    }
    Ok(Value::Table(root))
}

fn scalar(lua: &Lua, value: json::Value<'_>) -> mlua::Result<Value> {
    if let Some(text) = value.decode() {
        return lua.create_string(text.as_bytes()).map(Value::String);
    }
    if let Some(truth) = value.bool() {
        return Ok(Value::Boolean(truth));
    }
    if value.is_null() {
        return Ok(Value::Nil);
    }
    let is_whole = !value.raw().contains(['.', 'e', 'E']);
    let number = if is_whole { value.int().and_then(whole) } else { value.float().map(Value::Number) };
    // Beyond what a Lua number holds exactly: ids, mostly.
    number.map_or_else(|| value.raw().into_lua(lua), Ok)
}

fn whole(number: i64) -> Option<Value> {
    (number.abs() <= EXACT).then_some(Value::Number(number as f64))
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Open => "open",
        Status::Done => "done",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
    }
}
