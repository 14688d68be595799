//! A serde deserializer for Lua values. Tables are read raw, so that no script runs, and within limits.
//!
//! The target type decides whether a table is read as a list, a map, a struct or an enum. A table with a `type` is the variant of
//! that name; one without is [`LIST`], [`POINT`] or [`KEYED`]; any other value is [`TEXT`].

use std::borrow::Cow;
use std::cell::Cell;
use std::iter;

use mlua::{Either, FromLua, Lua, LuaString, Table, Value};
use serde::de::value::{Error as ValueFault, MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::lua::api::current::Handle;
use crate::lua::api::item::{self, a_type, type_name};
use crate::lua::vm::bounded;

/// Most elements and texts of one answer.
pub(crate) const MOST_PARTS: usize = 20_000;
/// Most bytes of text of one answer.
pub(crate) const MOST_BYTES: usize = 8 << 20;
/// Deepest nesting of tables.
pub(crate) const DEEPEST: usize = 64;
/// Most fields of one table with a type.
const MOST_FIELDS: usize = 32;

/// The variant of texts and numbers.
const TEXT: &str = "a text";
/// The variant of tables without a type.
const LIST: &str = "a list";
/// The variant of tables with a field `point` instead of a type.
const POINT: &str = "a point";
/// The variant of tables without elements, in enums that have it.
const KEYED: &str = "keyed";

/// The error of [`elements`] for a table that is neither a block nor a list.
const NO_LIST: &str = "a table with the key {} is neither a block nor a list: return a text, a block such as sf.text(…), or a \
                       list of these";

fn fault(error: mlua::Error) -> ValueFault {
    match error {
        mlua::Error::RuntimeError(message) => ValueFault::custom(message),
        error => ValueFault::custom(error),
    }
}

/// The key of a value in its table. Keys of structs are read as names, which is faster.
type TableKey = Either<String, Value>;

/// The key of a value outside of tables.
const NO_KEY: &TableKey = &Either::Right(Value::Nil);

/// How much of its limits one answer has used.
pub(crate) struct Room<'a> {
    lua: &'a Lua,
    parts: Cell<usize>,
    bytes: Cell<usize>,
}

impl<'a> Room<'a> {
    pub(crate) fn new(lua: &'a Lua) -> Self {
        Self { lua, parts: Cell::new(0), bytes: Cell::new(0) }
    }

    /// Prepares an answer for reading.
    pub(crate) fn answer(&'a self, value: &'a Value) -> ScriptValue<'a> {
        ScriptValue { key: NO_KEY, value, has_names: false, depth: 0, room: self }
    }

    fn count(&self, parts: usize, bytes: usize) -> Result<(), ValueFault> {
        self.parts.set(self.parts.get() + parts);
        self.bytes.set(self.bytes.get() + bytes);
        if self.parts.get() > MOST_PARTS {
            return Err(ValueFault::custom(format!("more than {MOST_PARTS} parts were returned")));
        }
        if self.bytes.get() > MOST_BYTES {
            return Err(ValueFault::custom(format!(
                "more than {} MiB of text were returned",
                MOST_BYTES >> 20
            )));
        }
        Ok(())
    }
}

/// A value inside of an answer.
#[derive(Clone, Copy)]
pub(crate) struct ScriptValue<'a> {
    key: &'a TableKey,
    value: &'a Value,
    /// Whether it is a table whose keys are the names of fields.
    has_names: bool,
    /// How many tables contain it.
    depth: usize,
    room: &'a Room<'a>,
}

impl<'a> ScriptValue<'a> {
    /// A value in this table.
    fn inside<'b>(&'b self, key: &'b TableKey, value: &'b Value) -> ScriptValue<'b> {
        ScriptValue { key, value, has_names: false, depth: self.depth + 1, room: self.room }
    }

    fn is_no(&self, expected: &str, what: &str) -> ValueFault {
        let place = match self.key {
            Either::Left(name) => format!("{name}: "),
            Either::Right(Value::String(name)) => string(name) + ": ",
            Either::Right(_) => String::new(),
        };
        ValueFault::custom(format!("{place}expected {expected}, not {what}"))
    }

    /// The value as a table. A part of the stream is copied into one only here, on demand.
    fn table(&self, expected: &str) -> Result<Cow<'a, Table>, ValueFault> {
        if self.depth == DEEPEST {
            return Err(ValueFault::custom(format!("tables are nested more than {DEEPEST} deep")));
        }
        self.room.count(1, 0)?;
        match self.value {
            Value::Table(table) => Ok(Cow::Borrowed(table)),
            other => match bounded(self.room.lua, || item::copied(self.room.lua, other)).map_err(fault)? {
                Some(Value::Table(table)) => Ok(Cow::Owned(table)),
                _ => Err(self.is_no(expected, &a_type(other))),
            },
        }
    }

    fn fields<K: FromLua>(&self, key_of: fn(K) -> TableKey) -> Result<Vec<(TableKey, Value)>, ValueFault> {
        let most = if self.has_names { MOST_FIELDS } else { MOST_PARTS };
        let mut fields = Vec::with_capacity(4);
        let walked = self.table("a table")?.for_each(|key: K, value: Value| {
            if fields.len() == most {
                let message = format!("a table with more than {most} fields is not a block");
                return Err(mlua::Error::runtime(message));
            }
            fields.push((key_of(key), value));
            Ok(())
        });
        walked.map_err(fault)?;
        Ok(fields)
    }

    fn text(&self) -> Result<String, ValueFault> {
        let text = match self.value {
            Value::String(text) => string(text),
            Value::Integer(number) => number.to_string(),
            Value::Number(number) if number.is_finite() => number.to_string(),
            Value::Number(_) => return Err(self.is_no("a text", "a number without a value")),
            other => return Err(self.is_no("a text", &a_type(other))),
        };
        // A text counts as two elements.
        self.room.count(2, text.len())?;
        Ok(text)
    }

    /// Selects the variant for the value.
    fn variant(&self, variants: &[&'static str]) -> Result<&'static str, ValueFault> {
        let Value::Table(table) = self.value else {
            let text = variants.contains(&TEXT).then_some(TEXT);
            return text.ok_or_else(|| self.is_no("a table", &a_type(self.value)));
        };
        if variants.contains(&KEYED) {
            return Ok(if table.raw_len() == 0 { KEYED } else { LIST });
        }
        let Some(kind) = kind_of(table) else {
            let is_list = table.raw_len() > 0 || matches!(table.raw_get("point"), Ok(Value::Nil));
            return Ok(if is_list { LIST } else { POINT });
        };
        let variant = variants.iter().find(|variant| kind == **variant).copied();
        variant.ok_or_else(|| ValueFault::custom(format!("unknown block type \"{kind}\"")))
    }
}

impl IntoDeserializer<'_, ValueFault> for ScriptValue<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for ScriptValue<'_> {
    type Error = ValueFault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueFault> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueFault> {
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueFault> {
        visitor.visit_bool(*self.value == Value::Boolean(true))
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueFault> {
        let wrong = || self.is_no("a number from 0", &a_type(self.value));
        visitor.visit_u64(number(self.value).ok_or_else(wrong)?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueFault> {
        match self.value {
            Value::Boolean(false) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// Checks that the value is the handle of an item.
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueFault> {
        match Handle::of(self.value) {
            Some(_) => visitor.visit_unit(),
            None => Err(self.is_no("a call or nil", &a_type(self.value))),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueFault> {
        let elements = elements(self.table("a list")?.as_ref(), NO_LIST)?;
        self.room.count(elements.len(), 0)?;
        let elements = elements.iter().filter(|element| **element != Value::Boolean(false));
        let elements = elements.map(|element| self.inside(self.key, element));
        visitor.visit_seq(SeqDeserializer::new(elements))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ValueFault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueFault> {
        if self.has_names {
            let fields = self.fields(|key: TableKey| key)?;
            return visitor.visit_map(MapDeserializer::new(fields.iter().map(|(key, value)| {
                // A key of another type is the name of no field.
                let name = key.as_ref().left().map_or("", String::as_str);
                (name, self.inside(key, value))
            })));
        }
        let fields = self.fields(TableKey::Right)?;
        visitor.visit_map(MapDeserializer::new(fields.iter().map(|(key, value)| {
            let name = key.as_ref().right().unwrap_or(&Value::Nil);
            (self.inside(NO_KEY, name), self.inside(key, value))
        })))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueFault> {
        Self { has_names: true, ..self }.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueFault> {
        if !variants.contains(&LIST) {
            let word = self.text()?;
            if !variants.contains(&&*word) {
                return Err(self.is_no(&format!("one of {}", variants.join(", ")), &format!("\"{word}\"")));
            }
            return visitor.visit_enum(word.into_deserializer());
        }
        let variant = self.variant(variants)?;
        let content = iter::once((variant, Self { has_names: variant != KEYED, ..self }));
        visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(content)))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char str string bytes byte_buf unit newtype_struct tuple
        identifier
    }
}

/// The elements of a list in order. `false` is an element that stands for none. A table without a type that has other keys isn't a
/// list; the error is `wrong`, with the key in place of its `{}`.
pub(crate) fn elements(table: &Table, wrong: &str) -> Result<Vec<Value>, ValueFault> {
    let mut found: Vec<(i64, Value)> = Vec::with_capacity(table.raw_len().min(MOST_PARTS));
    let walked = table.for_each(|key: Value, value: Value| {
        let element = match key {
            _ if found.len() == MOST_PARTS => {
                return Err(mlua::Error::runtime(format!("more than {MOST_PARTS} parts were returned")));
            }
            Value::Integer(place) if place > 0 => (place, value),
            // Other fields of a table with a type count towards the limit, but aren't elements.
            _ if kind_of(table).is_some() => (i64::MAX, Value::Boolean(false)),
            key => return Err(mlua::Error::runtime(wrong.replace("{}", &key_name(&key)))),
        };
        found.push(element);
        Ok(())
    });
    walked.map_err(fault)?;
    if !found.is_sorted_by_key(|(place, _)| *place) {
        found.sort_by_key(|(place, _)| *place);
    }
    Ok(found.into_iter().map(|(_, value)| value).collect())
}

/// Describes a key of a table in messages.
fn key_name(key: &Value) -> String {
    match key {
        Value::String(name) => format!("\"{}\"", string(name)),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        other => format!("of type {}", type_name(other)),
    }
}

/// The `type` of a table, if it has one.
pub(crate) fn kind_of(table: &Table) -> Option<String> {
    // Values that aren't strings are ignored.
    table.raw_get("type").unwrap_or_default()
}

/// Converts a Lua string, which may contain any bytes.
pub(crate) fn string(text: &LuaString) -> String {
    text.to_str().map_or_else(|_| text.to_string_lossy(), |text| text.to_owned())
}

/// The value as a whole number, if it is one and not negative.
#[expect(clippy::cast_sign_loss, reason = "it is not negative")]
pub(crate) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::Number(number) if (0.0..9e15).contains(number) => Some(*number as u64),
        _ => None,
    }
}
