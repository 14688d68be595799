//! Items as scripts see them: each field is read when a script accesses it, and an item is never converted whole.
//!
//! A script holds a small handle, which is valid only for the item it currently formats. Using one that was kept for later raises
//! an error, so a plugin can't hold a whole session in memory. The handle of an item is a plain number: creating it allocates
//! nothing in the VM. Strings are passed as they are in the stream, and cleaned when the script returns them.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use mlua::{
    Function, IntoLua, LightUserData, Lua, LuaString, MetaMethod, MultiValue, Table, UserData,
    UserDataMethods, UserDataRef, Value,
};
use streamfmt_core::event::Usage;
use streamfmt_core::item::facts::FACTS;
use streamfmt_core::item::{Action, Fact, FactRef, Id, Item, Kind};
use streamfmt_core::json::{self, Record};

use super::current::{Handle, is_reading};
use super::registry::{Registry, registry};
use super::{FIELDS, wrong};
use crate::lua::vm::{CallError, unlimited};
use crate::problem::nearest;

/// Integers up to this size are exact as a Lua number; larger ones are passed as text.
const EXACT: i64 = 1 << 53;

/// Size of the longest text that a formatting script receives, in bytes. A longer one is cut, and its last line says so.
/// Including that line, it still fits the functions of scripts that accept texts.
pub(crate) const LONGEST_TEXT: usize = 1 << 20;
/// Bytes reserved for that line.
const LEFT_OUT: usize = 64;

/// The methods of items and their parts, created once for a VM.
pub(crate) struct Methods {
    default: Function,
    table: Function,
    raw: Function,
}

impl Methods {
    pub(crate) fn new(lua: &Lua) -> mlua::Result<Self> {
        Ok(Self {
            default: lua.create_function(|lua, this: Value| {
                let of_call = match Handle::of(&this) {
                    Some(handle) => handle.with(|_| Ok(handle.is_call()))?,
                    None => false,
                };
                let below = registry(lua)?.below.borrow().clone();
                match below {
                    Some(below) => below.call::<Value>(of_call),
                    None => Err(wrong("default() is there only while a call, result or view function runs")),
                }
            })?,
            table: lua.create_function(|lua, input: UserDataRef<JsonHandle>| {
                input.with(|value| plain(lua, value))
            })?,
            raw: lua.create_function(|lua, input: UserDataRef<JsonHandle>| {
                input.with(|value| text(lua, value.raw()))
            })?,
        })
    }
}

impl Registry {
    /// The text of an item.
    fn text(&self, lua: &Lua, of: Handle, item: &Item) -> mlua::Result<Value> {
        if let Some((_, text)) = self.text.borrow().as_ref().filter(|(last, _)| *last == of) {
            return Ok(Value::String(text.clone()));
        }
        let text = unlimited(lua, || lua.create_string(shortened(&item.text()).as_bytes()))?;
        *self.text.borrow_mut() = Some((of, text.clone()));
        Ok(Value::String(text))
    }
}

/// A suggested name, as a remark in brackets.
fn hint(meant: Option<impl fmt::Display>) -> String {
    meant.map_or_else(String::new, |meant| format!(" (did you mean `{meant}`?)"))
}

/// Makes a table, named `what` in messages, raise an error for unknown keys, for which Lua would return `nil`. The keys in
/// `absent` are known even while they are `nil`. `about` is appended where no known key is similar.
pub(crate) fn close(
    lua: &Lua,
    table: &Table,
    what: &'static str,
    absent: Vec<String>,
    about: &'static str,
) -> mlua::Result<()> {
    let index = lua.create_function(move |_, (table, key): (Table, Value)| {
        let name = key.as_string().map(LuaString::to_string_lossy).unwrap_or_default();
        if absent.contains(&name) {
            return Ok(Value::Nil);
        }
        let mut names = absent.clone();
        table.for_each(|key: Value, _: Value| {
            names.extend(key.as_string().map(LuaString::to_string_lossy));
            Ok(())
        })?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let meant = nearest(&name, &names).map(|meant| format!("{what}.{meant}"));
        let more = if meant.is_some() { hint(meant) } else { about.to_owned() };
        Err(CallError::misuse(format!("there is no {what}.{name}{more}")))
    })?;
    let meta = lua.create_table()?;
    meta.raw_set(MetaMethod::Index.name(), index)?;
    meta.set_readonly(true);
    table.set_metatable(Some(meta))
}

/// The fields of a class in [`FIELDS`].
fn fields_of(class: &'static str) -> impl Iterator<Item = &'static str> {
    FIELDS.iter().filter(move |field| field.of == class).map(|field| field.name.trim_end_matches('?'))
}

/// The names of the typed facts that a script may set.
pub(crate) fn facts() -> impl Iterator<Item = &'static str> {
    FACTS.iter().filter(|(_, fact)| fact.is_open).map(|(name, _)| *name)
}

/// The error for an item without a field called `name`.
fn no_field(item: &Item, name: &str) -> mlua::Error {
    let own = match item.kind {
        Kind::Call => "Call",
        Kind::Result => "Result",
        _ => "",
    };
    let names: Vec<&str> = fields_of("Item").chain(fields_of(own)).collect();
    // The message is the same for every item of a kind, so that it is reported once.
    let meant = match nearest(name, &names) {
        _ if item.kind != Kind::Call && facts().any(|fact| fact == name) => Some(format!("data.{name}")),
        Some(near) => Some(near.to_owned()),
        None if item.kind == Kind::Call => Some(format!("input.{name}")),
        None => None,
    };
    let kind = match item.kind {
        Kind::Outcome => "an outcome",
        Kind::Unknown => "an unknown item",
        kind => &format!("a {}", kind.name()),
    };
    CallError::misuse(format!("{kind} has no field `{name}`{}", hint(meant)))
}

/// Refuses an assignment to a value of the host.
fn refuse_write<T>(_: &Lua, _: &T, _: MultiValue) -> mlua::Result<()> {
    Err(CallError::misuse(NO_INPUT_WRITE))
}

const NO_ITEM_WRITE: &str = "an item can't be changed: return what is to be shown of it";
const NO_INPUT_WRITE: &str = "what the stream says can't be changed: `:table()` of an input gives a copy that can, and `arg` says what is shown of it";

impl Handle {
    /// Defines what scripts can do with a handle.
    pub(crate) fn install(lua: &Lua, registry: Rc<Registry>) -> mlua::Result<()> {
        let of = |value: Value| Self::of(&value).ok_or_else(|| wrong("expected an item"));
        let meta = lua.create_table()?;
        let index = lua.create_function(move |lua, (this, name): (Value, String)| {
            of(this)?.field(lua, &registry, &name)
        })?;
        let named =
            lua.create_function(move |lua, this: Value| of(this)?.with(|item| text(lua, &named(item))))?;
        meta.raw_set(MetaMethod::Index.name(), index)?;
        let refuse =
            lua.create_function(|_, _: MultiValue| Err::<(), _>(CallError::misuse(NO_ITEM_WRITE)))?;
        meta.raw_set(MetaMethod::NewIndex.name(), refuse)?;
        meta.raw_set(MetaMethod::ToString.name(), named)?;
        meta.raw_set("__metatable", false)?;
        meta.set_readonly(true);
        // No other value is a light userdata.
        lua.set_type_metatable::<LightUserData>(Some(meta));
        Ok(())
    }

    /// Converts a value of the item's record.
    pub(crate) fn value(self, lua: &Lua, value: json::Value<'_>) -> mlua::Result<Value> {
        if is_container(value) {
            object(lua, JsonHandle { of: self, node: value.node() })
        } else {
            scalar(lua, value)
        }
    }

    /// An iterator over the parts of the item, for Lua. `part` makes the key and value at an index.
    fn walk(
        self,
        lua: &Lua,
        part: impl Fn(&Lua, &Item, usize) -> mlua::Result<(Value, Value)> + 'static,
    ) -> mlua::Result<Function> {
        let at = Cell::new(0);
        lua.create_function(move |lua, _: MultiValue| {
            self.with(|item| part(lua, item, at.replace(at.get() + 1)))
        })
    }

    /// The input of a call.
    pub(crate) fn input(self, lua: &Lua) -> mlua::Result<Value> {
        self.with(|item| item.input().map_or(Ok(Value::Nil), |value| self.value(lua, value)))
    }

    fn field(self, lua: &Lua, registry: &Registry, name: &str) -> mlua::Result<Value> {
        self.with(|item| match name {
            "kind" => text(lua, item.kind.name()),
            "text" => registry.text(lua, self, item),
            "error" => Ok(Value::Boolean(item.error)),
            "tool" => match item.fact("tool").and_then(FactRef::str) {
                Some(own) if item.kind == Kind::Call => text(lua, &own),
                _ => optional(lua, item.tool.as_deref()),
            },
            "name" => optional(lua, item.tool.as_deref()),
            "server" => optional(lua, item.fact("server").and_then(FactRef::str).as_deref()),
            "action" => optional(lua, item.action().map(Action::name)),
            "input" => self.input(lua),
            "does" if item.kind == Kind::Call => object(lua, DoesHandle(self)),
            "partial" => Ok(Value::Boolean(item.fact("partial").and_then(FactRef::bool) == Some(true))),
            "id" => text(lua, item.id.as_str()),
            "parent" => optional(lua, item.parent.as_ref().map(Id::as_str)),
            "line" => Ok(Value::Number(item.line as f64)),
            "time" => optional(lua, item.at().map(|at| at.to_string()).as_deref()),
            "status" => text(lua, item.status.name()),
            "frame" => item.record.as_ref().map_or(Ok(Value::Nil), |record| self.value(lua, record.root())),
            "block" => item.block().map_or(Ok(Value::Nil), |block| self.value(lua, block)),
            "raw" => optional(lua, item.record.as_ref().map(line_of)),
            "data" => object(lua, Data(self)),
            "call" => {
                Self::call().filter(|_| !self.is_call()).map_or(Ok(Value::Nil), |call| call.into_lua(lua))
            }
            "default" => Ok(Value::Function(registry.methods.default.clone())),
            "took" => Ok(item.fact("took_ms").and_then(FactRef::float).map_or(Value::Nil, Value::Number)),
            // One function may format several kinds, so a field of another kind is nil.
            name if ["Call", "Result"]
                .into_iter()
                .any(|class| fields_of(class).any(|known| known == name)) =>
            {
                Ok(Value::Nil)
            }
            name => Err(no_field(item, name)),
        })
    }
}

/// Converts a typed fact, or a part of what a call does. Given `of`, objects and arrays of that item's record become handles;
/// otherwise they are copied.
fn fact(lua: &Lua, fact: FactRef<'_>, of: Option<Handle>) -> mlua::Result<Value> {
    match (fact, of) {
        (FactRef::Json(value) | FactRef::Named(value, _), Some(handle)) => return handle.value(lua, value),
        (FactRef::Json(value), None) => return plain(lua, value),
        (FactRef::Named(value, _), None) if !is_container(value) => return scalar(lua, value),
        _ => {}
    }
    if let Some(string) = fact.str() {
        return text(lua, &string);
    }
    if let Some(number) = fact.float() {
        let large = fact.int().filter(|number| of.is_some() && whole(*number).is_none());
        return large.map_or(Ok(Value::Number(number)), |number| text(lua, &number.to_string()));
    }
    if let Some(truth) = fact.bool() {
        return Ok(Value::Boolean(truth));
    }
    // A fact that can't be read from the record is nil, not an empty table.
    if of.is_some() && !matches!(fact, FactRef::Made(_, Fact::List(_) | Fact::Map(_))) {
        return Ok(Value::Nil);
    }
    let table = unlimited(lua, || lua.create_table())?;
    for part in fact.list() {
        let part = self::fact(lua, part, of)?;
        unlimited(lua, || table.raw_push(part))?;
    }
    for (name, part) in fact.parts() {
        let part = self::fact(lua, part, of)?;
        unlimited(lua, || table.raw_set(name.as_str(), part))?;
    }
    Ok(Value::Table(table))
}

/// An object or array of an item's record.
#[derive(Clone, Copy, Debug)]
struct JsonHandle {
    of: Handle,
    node: u32,
}

impl JsonHandle {
    fn with<R>(self, read: impl FnOnce(json::Value<'_>) -> mlua::Result<R>) -> mlua::Result<R> {
        self.of.with(|item| {
            let record = item.record.as_ref().ok_or_else(|| wrong("this item has no record"))?;
            read(record.value(self.node))
        })
    }

    fn index(self, lua: &Lua, key: &Value) -> mlua::Result<Value> {
        let Value::String(name) = key else {
            return self
                .with(|value| element(value, key).map_or(Ok(Value::Nil), |it| self.of.value(lua, it)));
        };
        let Ok(name) = name.to_str() else { return Ok(Value::Nil) };
        let found = self.with(|value| value.get(&name).map(|field| self.of.value(lua, field)).transpose())?;
        // A field of the same name wins: `input.table` means the data.
        Ok(match (found, &*name) {
            (Some(found), _) => found,
            (None, "table") => Value::Function(registry(lua)?.methods.table.clone()),
            (None, "raw") => Value::Function(registry(lua)?.methods.raw.clone()),
            _ => Value::Nil,
        })
    }

    fn iterate(self, lua: &Lua) -> mlua::Result<Function> {
        let parts: Vec<(Option<String>, u32)> = self.with(|value| {
            let fields = value.entries().map(|(key, value)| (Some(key.decode().into_owned()), value.node()));
            Ok(fields.chain(value.items().map(|value| (None, value.node()))).collect())
        })?;
        let at = Cell::new(0);
        lua.create_function(move |lua, _: MultiValue| {
            let index = at.replace(at.get() + 1);
            let Some((key, node)) = parts.get(index) else { return Ok((Value::Nil, Value::Nil)) };
            let json = Self { of: self.of, node: *node };
            let value = json.with(|value| self.of.value(lua, value))?;
            let key = match key {
                Some(key) => text(lua, key)?,
                None => Value::Number((index + 1) as f64),
            };
            Ok((key, value))
        })
    }
}

impl UserData for JsonHandle {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, key: Value| this.index(lua, &key));
        methods.add_meta_method(MetaMethod::NewIndex, refuse_write);
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| {
            this.with(|value| Ok(value.items().count().max(value.entries().count())))
        });
        methods.add_meta_method(MetaMethod::Iter, |lua, this, ()| this.iterate(lua));
        methods
            .add_meta_method(MetaMethod::ToString, |lua, this, ()| this.with(|value| text(lua, value.raw())));
    }
}

/// The type of a value, as `type` returns it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    if value.is_light_userdata() { "userdata" } else { value.type_name() }
}

/// A value's type with its article, for messages: `an integer`.
pub(crate) fn a_type(value: &Value) -> String {
    match type_name(value) {
        "nil" => "nil".to_owned(),
        name if name.starts_with(['a', 'e', 'i', 'o']) => format!("an {name}"),
        name => format!("a {name}"),
    }
}

/// Describes a value of the host. Returns `None` for a script's own value.
pub(crate) fn describe(value: &Value) -> Option<String> {
    if let Some(handle) = Handle::of(value) {
        return Some(
            handle.with(|item| Ok(named(item))).unwrap_or_else(|_| "an item of an earlier call".to_owned()),
        );
    }
    let value = value.as_userdata()?;
    Some(if let Ok(input) = value.borrow::<JsonHandle>() {
        input.with(|value| Ok(value.raw().to_owned())).unwrap_or_default()
    } else if let Ok(data) = value.borrow::<Data>() {
        let names =
            data.0.with(|item| Ok(item.facts().into_iter().map(|(name, _)| name).collect::<Vec<_>>()));
        format!("data: {}", names.unwrap_or_default().join(", "))
    } else {
        "a streamfmt value".to_owned()
    })
}

/// Describes an item by its kind and its tool or id.
fn named(item: &Item) -> String {
    format!("{} {}", item.kind.name(), item.tool.as_deref().unwrap_or(item.id.as_str()))
}

/// The typed facts of an item, by name.
#[derive(Clone, Copy, Debug)]
struct Data(Handle);

impl UserData for Data {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, name: LuaString| {
            let name = name.to_str()?;
            this.0
                .with(|item| item.fact(&name).map_or(Ok(Value::Nil), |found| fact(lua, found, Some(this.0))))
        });
        methods.add_meta_method(MetaMethod::NewIndex, refuse_write);
        methods.add_meta_method(MetaMethod::Iter, |lua, this, ()| {
            let handle = this.0;
            handle.walk(lua, move |lua, item, at| match item.facts().get(at) {
                Some((name, found)) => {
                    let value = found.map_or(Ok(Value::Nil), |found| fact(lua, found, Some(handle)))?;
                    Ok((text(lua, name)?, value))
                }
                None => Ok((Value::Nil, Value::Nil)),
            })
        });
    }
}

/// The arguments of a call under the names that all agents share, as `call.does`.
#[derive(Clone, Copy, Debug)]
struct DoesHandle(Handle);

impl UserData for DoesHandle {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, name: LuaString| {
            let name = name.to_str()?;
            this.0.with(|item| item.does().get(&name).map_or(Ok(Value::Nil), |found| fact(lua, found, None)))
        });
        methods.add_meta_method(MetaMethod::Iter, |lua, this, ()| {
            this.0.walk(lua, |lua, item, at| match item.does().parts().get(at) {
                Some((name, found)) => Ok((text(lua, name)?, fact(lua, *found, None)?)),
                None => Ok((Value::Nil, Value::Nil)),
            })
        });
    }
}

/// The facts of the run, as `ctx.session`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunFacts;

impl UserData for RunFacts {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::NewIndex, refuse_write);
        methods.add_meta_method(MetaMethod::Index, |lua, _, name: LuaString| {
            let name = name.to_str()?;
            registry(lua)?.current.facts(|facts, usage| {
                let value = match &*name {
                    "agent" => &facts.agent,
                    "version" => &facts.version,
                    "model" => &facts.model,
                    "cwd" => &facts.cwd,
                    "id" => &facts.session,
                    "mode" => &facts.mode,
                    "usage" => return used(lua, usage),
                    name => {
                        let names: Vec<&str> = fields_of("Session").collect();
                        let meant = hint(nearest(name, &names).map(|meant| format!("ctx.session.{meant}")));
                        return Err(CallError::misuse(format!("there is no ctx.session.{name}{meant}")));
                    }
                };
                optional(lua, value.as_deref())
            })
        });
    }
}

fn used(lua: &Lua, usage: Usage) -> mlua::Result<Value> {
    let table = lua.create_table()?;
    for (name, number) in [
        ("input", usage.input),
        ("output", usage.output),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
    ] {
        table.raw_set(name, number as f64)?;
    }
    close(lua, &table, "ctx.session.usage", Vec::new(), "")?;
    Ok(Value::Table(table))
}

/// The function behind `pairs` and `ipairs` for handles.
pub(crate) fn iterate(lua: &Lua) -> mlua::Result<Function> {
    lua.create_function(|lua, value: Value| {
        let no_way = || wrong("this value can't be walked");
        let value = value.as_userdata().ok_or_else(no_way)?;
        if let Ok(json) = value.borrow::<JsonHandle>() {
            return json.iterate(lua);
        }
        let walk = value.metatable()?.get::<Function>(MetaMethod::Iter).map_err(|_| no_way())?;
        walk.call::<Function>(value)
    })
}

/// The key under which a record made for a script keeps the original line.
pub(crate) const LINE: &str = "streamfmt.line";

/// The original text of a record. For a record made for a script, the text of its line.
fn line_of(record: &Record) -> &str {
    let record = record.original();
    let is_made = record.text().strip_prefix("{\"").is_some_and(|rest| rest.starts_with(LINE));
    let line = record.root().get(LINE).filter(|line| is_made && !line.is_null());
    line.map_or(record.text(), json::Value::raw)
}

/// The handle in a value, if it is a part of a record.
fn json_of(value: &Value) -> Option<JsonHandle> {
    value.as_userdata()?.borrow::<JsonHandle>().map(|json| *json).ok()
}

/// The node of a value, if it is a part of the current item's record.
pub(crate) fn node_of(value: &Value) -> Option<u32> {
    let json = json_of(value)?;
    // A handle kept from an earlier call belongs to another record.
    (json.of.is_valid() && !json.of.is_call()).then_some(json.node)
}

/// The original JSON of a value, if it is a part of a record.
pub(crate) fn raw_of(value: &Value) -> Option<String> {
    json_of(value)?.with(|value| Ok(value.raw().to_owned())).ok()
}

/// A copy of a value as plain tables, if it is a part of a record.
pub(crate) fn copied(lua: &Lua, value: &Value) -> mlua::Result<Option<Value>> {
    json_of(value).map(|json| json.with(|value| plain(lua, value))).transpose()
}

/// `sf.raw`: the original JSON of a part of a record, or of its field or element `key`.
pub(crate) fn raw(lua: &Lua, value: &Value, key: &Value) -> mlua::Result<Value> {
    let Some(json) = json_of(value) else {
        let what = a_type(value);
        return Err(wrong(format!("sf.raw: expected a part of an item, such as call.input, not {what}")));
    };
    json.with(|value| {
        let part = match key {
            Value::Nil => Some(value),
            Value::String(name) => name.to_str().ok().and_then(|name| value.get(&name)),
            key => element(value, key),
        };
        optional(lua, part.map(json::Value::raw))
    })
}

/// The element of an array at an index, which starts at 1.
fn element<'v>(value: json::Value<'v>, index: &Value) -> Option<json::Value<'v>> {
    let at = match index {
        Value::Integer(index) => *index,
        Value::Number(index) if index.fract() == 0.0 && index.abs() < 9e15 => *index as i64,
        _ => return None,
    };
    value.items().nth(usize::try_from(at - 1).ok()?)
}

/// Parses a JSON text into plain tables. Returns `nil` if it isn't valid JSON.
pub(crate) fn parse(lua: &Lua, text: &str) -> mlua::Result<Value> {
    match Record::from_line(text.to_owned()) {
        Ok(record) => plain(lua, record.root()),
        Err(_) => Ok(Value::Nil),
    }
}

fn is_container(value: json::Value<'_>) -> bool {
    matches!(value.kind(), json::ValueKind::Array | json::ValueKind::Object)
}

/// Converts a JSON value to plain tables. It isn't recursive: `open` lists the tables still to be filled.
fn plain<'v>(lua: &Lua, value: json::Value<'v>) -> mlua::Result<Value> {
    if !is_container(value) {
        return scalar(lua, value);
    }
    let root = unlimited(lua, || lua.create_table())?;
    let mut open = vec![(root.clone(), value)];
    while let Some((table, value)) = open.pop() {
        let mut put = |key: Value, value: json::Value<'v>| {
            let value = if is_container(value) {
                let inner = unlimited(lua, || lua.create_table())?;
                open.push((inner.clone(), value));
                Value::Table(inner)
            } else {
                scalar(lua, value)?
            };
            unlimited(lua, || table.raw_set(key, value))
        };
        for (index, value) in value.items().enumerate() {
            put(Value::Number((index + 1) as f64), value)?;
        }
        for (key, value) in value.entries() {
            put(text(lua, &key.decode())?, value)?;
        }
    }
    Ok(Value::Table(root))
}

fn scalar(lua: &Lua, value: json::Value<'_>) -> mlua::Result<Value> {
    if let Some(string) = value.decode() {
        return text(lua, &string);
    }
    if let Some(truth) = value.bool() {
        return Ok(Value::Boolean(truth));
    }
    if value.is_null() {
        return Ok(Value::Nil);
    }
    let is_whole = !value.raw().contains(['.', 'e', 'E']);
    let number = if is_whole { value.int().and_then(whole) } else { value.float().map(Value::Number) };
    // Larger than a Lua number can hold exactly: usually an id.
    number.map_or_else(|| text(lua, value.raw()), Ok)
}

fn text(lua: &Lua, text: &str) -> mlua::Result<Value> {
    unlimited(lua, || lua.create_string(&*shortened(text))).map(Value::String)
}

/// Shortens a text that is too long for a formatting script, and appends how much was left out. A dialect gets the whole text.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_TEXT || is_reading() {
        return Cow::Borrowed(text);
    }
    let end = (0..=LONGEST_TEXT - LEFT_OUT).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    Cow::Owned([&text[..end], "\n", &json::left_out(text.len() - end)].concat())
}

fn optional(lua: &Lua, value: Option<&str>) -> mlua::Result<Value> {
    value.map_or(Ok(Value::Nil), |value| text(lua, value))
}

/// Wraps a value of the host for scripts.
fn object(lua: &Lua, of: impl UserData + 'static) -> mlua::Result<Value> {
    unlimited(lua, || lua.create_userdata(of)).map(Value::UserData)
}

fn whole(number: i64) -> Option<Value> {
    (-EXACT..=EXACT).contains(&number).then_some(Value::Number(number as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_text_that_is_too_long_the_beginning_remains_and_the_rest_is_counted() {
        let fits = "é".repeat(LONGEST_TEXT / 2);
        assert_eq!(shortened(&fits), fits);
        let long = format!("{fits}x");
        let short = shortened(&long);
        let (beginning, left_out) = short.rsplit_once('\n').unwrap();
        assert!(long.starts_with(beginning) && short.len() <= LONGEST_TEXT);
        assert_eq!(left_out, json::left_out(long.len() - beginning.len()));
    }
}
