//! Items made by a script: converts the tables of `sf.item`, read raw and checked, to events for the session.
//!
//! An item keeps the record of its line. A value that the script built itself, such as an input assembled from several fields,
//! gets a separate record that contains the line.

use std::fmt::Write;

use mlua::{Table, Value};
use streamfmt_core::dialect::Input;
use streamfmt_core::event::{Event, Usage};
use streamfmt_core::item::facts::DOES;
use streamfmt_core::item::{Action, Content, Does, Fact, Id, Item, Kind, Status};
use streamfmt_core::json::Record;
use streamfmt_core::session::{Facts, Session};
use streamfmt_core::text::Text;

use super::value::number;
use crate::lua::api::item::{self, LINE, facts};
use crate::lua::api::registrations::check_keys;
use crate::lua::api::spell::to_json;
use crate::problem::suggestion;

/// Size of the longest line that is kept in such a record, in bytes.
const LONGEST: usize = 256 << 10;

/// The fields that every item accepts.
const FIELDS: &[&str] = &["id", "parent", "text", "error", "time", "data", "open", "session"];

/// Converts a script's items for one record to events.
pub(crate) struct Maker<'a> {
    input: Input<'a>,
    session: &'a Session,
    unnamed: usize,
}

/// A value of an item: a node of the line's record, or JSON that the script built.
enum ItemValue {
    Node(u32),
    Made(String),
}

/// The part of an item that a value sets.
enum FieldPlace {
    Input,
    Time,
    Fact(&'static str),
    /// A part of what a call does.
    Does(&'static str),
}

impl<'a> Maker<'a> {
    /// Creates a maker for the items of one record.
    pub(crate) fn new(input: Input<'a>, session: &'a Session) -> Self {
        Self { input, session, unnamed: 0 }
    }

    /// Whether a table was made by `sf.item`.
    pub(crate) fn is_item(table: &Table) -> bool {
        matches!(table.raw_get("type"), Ok(Value::String(kind)) if kind == "item")
    }

    /// Converts one table of `sf.item` to events.
    pub(crate) fn make(&mut self, table: &Table, out: &mut Vec<Event>) -> Result<(), String> {
        let kind = text(table, "kind")?.unwrap_or_default();
        let Value::Table(fields) = get(table, "fields")? else {
            return Err(format!("sf.item.{kind}: expected a table of fields"));
        };
        let event = match kind.as_str() {
            "append" => {
                check_keys(&fields, &["id", "text"])?;
                Ok(Event::Append { id: needed(&fields, "id")?.into(), text: needed(&fields, "text")? })
            }
            "close" => {
                check_keys(&fields, &["id", "error"])?;
                let status = if truth(&fields, "error")? { Status::Failed } else { Status::Done };
                Ok(Event::Close { id: needed(&fields, "id")?.into(), status })
            }
            "drop" => {
                check_keys(&fields, &["id"])?;
                Ok(Event::Drop(needed(&fields, "id")?.into()))
            }
            "usage" => usage(&fields, self.input.line),
            "session" => return self.facts(&fields, out),
            _ => match kind.parse() {
                Ok(known) => self.item(known, &fields, out),
                Err(_) => Err(format!("unknown sf.item.{kind}")),
            },
        };
        out.push(event.map_err(|wrong| format!("sf.item.{kind}: {wrong}"))?);
        Ok(())
    }

    /// Emits the facts of the run, and the notice that shows them.
    fn facts(&mut self, fields: &Table, out: &mut Vec<Event>) -> Result<(), String> {
        check_keys(fields, &["agent", "version", "model", "cwd", "id", "mode"])?;
        let fact = |name| text(fields, name).map(|text| text.map(Text::clean_owned));
        let facts = Facts {
            agent: fact("agent")?,
            version: fact("version")?,
            model: fact("model")?,
            cwd: fact("cwd")?,
            session: fact("id")?,
            mode: fact("mode")?,
            ..Facts::default()
        };
        let mut item = self.begin(Kind::Notice, None);
        item.record = Some(self.input.record.clone());
        item.data.push(("event", Fact::Text("session".to_owned())));
        for name in ["model", "cwd", "mode", "version"] {
            item.data.extend(text(fields, name)?.map(|text| (name, Fact::Text(text))));
        }
        item.session = text(fields, "id")?.map(Into::into);
        out.push(Event::Facts(Box::new(facts)));
        out.push(Event::Put(Box::new(item)));
        Ok(())
    }

    fn begin(&mut self, kind: Kind, id: Option<Id>) -> Item {
        let line = self.input.line;
        let id = id.unwrap_or_else(|| {
            self.unnamed += 1;
            match self.unnamed {
                1 => format!("line-{line}").into(),
                more => format!("line-{line}/{more}").into(),
            }
        });
        let mut item = Item::new(id, kind, line);
        item.parent = self.input.parent.cloned();
        item
    }

    fn item(&mut self, kind: Kind, fields: &Table, out: &[Event]) -> Result<Event, String> {
        let own: &[&str] = match kind {
            Kind::Call => &["tool", "action", "input", "does"],
            Kind::Result => &["tool", "action", "call"],
            _ => &[],
        };
        let mut parts = Vec::new();
        self.each(fields, |key, value| {
            if !FIELDS.contains(&key) && !own.contains(&key) {
                parts.push((FieldPlace::Fact(fact(key, FIELDS.iter().chain(own))?), self.part(&value)?));
            }
            Ok(())
        })?;
        if let Value::Table(data) = get(fields, "data")? {
            self.each(&data, |key, value| {
                parts.push((FieldPlace::Fact(fact(key, [].iter())?), self.part(&value)?));
                Ok(())
            })?;
        }
        let does = if kind == Kind::Call { get(fields, "does")? } else { Value::Nil };
        match &does {
            Value::Nil => {}
            Value::Table(does) => self.each(does, |key, value| {
                parts.push((FieldPlace::Does(part_of_call(key)?), self.part(&value)?));
                Ok(())
            })?,
            other => return Err(format!("does: expected a table, not {}", item::a_type(other))),
        }
        let id = text(fields, "id")?;
        let (id, call) = match (kind, id) {
            (Kind::Result, id) => {
                let call = text(fields, "call")?.or(id).filter(|id| !id.is_empty());
                (call.as_deref().map(|call| Id::below(call, "result")), call.map(Id::from))
            }
            (_, id) => (id.filter(|id| !id.is_empty()).map(Id::from), None),
        };
        let mut item = self.begin(kind, id);
        item.call = call;
        if let Some(parent) = text(fields, "parent")? {
            item.parent = Some(parent.into());
        }
        item.text = text(fields, "text")?.map_or(Content::None, Content::Own);
        item.error = truth(fields, "error")?;
        item.status = if item.error { Status::Failed } else { Status::Done };
        item.session = text(fields, "session")?.map(Into::into);
        if let time @ (Value::String(_) | Value::UserData(_)) = get(fields, "time")? {
            parts.push((FieldPlace::Time, self.part(&time)?));
        }
        if matches!(kind, Kind::Call | Kind::Result) {
            self.name_tool(&mut item, fields, out)?;
        }
        if kind == Kind::Call {
            parts.push((
                FieldPlace::Input,
                match get(fields, "input")? {
                    Value::Nil => ItemValue::Made("{}".to_owned()),
                    input => self.part(&input)?,
                },
            ));
        }
        if !matches!(does, Value::Nil) {
            // The script says what the call does: nothing is read from the names of its input.
            item.does = Some(Does::Facts { facts: Box::default(), of: 0 });
        }
        self.fill(&mut item, parts)?;
        if let (Some(Does::Facts { of, .. }), Some(input)) = (&mut item.does, item.input) {
            *of = input;
        }
        Ok(if truth(fields, "open")? {
            if kind == Kind::Call && item.input().is_some_and(|input| input.entries().next().is_none()) {
                // `sf.item.append` will add to its input.
                item.input = None;
            }
            Event::Amend(Box::new(item))
        } else {
            Event::Put(Box::new(item))
        })
    }

    /// Sets the tool and action of a call or result.
    fn name_tool(&self, item: &mut Item, fields: &Table, out: &[Event]) -> Result<(), String> {
        let known = item.call.as_ref().and_then(|id| {
            let earlier = out.iter().rev().find_map(|event| match event {
                Event::Put(item) | Event::Amend(item) if item.kind == Kind::Call && item.id == *id => {
                    Some(&**item)
                }
                _ => None,
            });
            earlier.or_else(|| self.session.call(id))
        });
        let named = text(fields, "tool")?;
        if let Some(call) = known {
            (item.tool, item.tool_kind) = (call.tool.clone(), call.tool_kind);
        } else if item.kind == Kind::Result {
            item.data.push(("orphan", Fact::Bool(true)));
        }
        if let Some(name) = named.filter(|_| known.is_none()) {
            streamfmt_dialects::set_tool(item, &name);
        }
        if let Some(name) = text(fields, "action")? {
            let action = name.parse().map_err(|_| {
                let hint = suggestion(&name, Action::NAMES.iter().copied());
                format!("unknown action \"{name}\" {hint}")
            })?;
            if item.action() != Some(action) {
                streamfmt_dialects::set_action(item, action);
            }
        }
        if item.tool_kind.is_none() {
            streamfmt_dialects::set_action(item, Action::Other);
        }
        Ok(())
    }

    /// Sets the values of an item, in a record that contains them all.
    fn fill(&self, item: &mut Item, parts: Vec<(FieldPlace, ItemValue)>) -> Result<(), String> {
        let line = self.input.record;
        if parts.iter().all(|(_, part)| matches!(part, ItemValue::Node(_))) {
            item.record = Some(line.clone());
            for (slot, part) in parts {
                if let ItemValue::Node(node) = part {
                    put(item, &slot, node);
                }
            }
            return Ok(());
        }
        let mut made = format!("{{\"{LINE}\":");
        made.push_str(if line.text().len() <= LONGEST { self.input.value.raw() } else { "null" });
        made.push_str(",\"parts\":[");
        for (index, (_, part)) in parts.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            // Writing to a string can't fail.
            let _ = match part {
                ItemValue::Node(node) => write!(made, "{comma}{}", line.value(*node).raw()),
                ItemValue::Made(json) => write!(made, "{comma}{json}"),
            };
        }
        made.push_str("]}");
        let record = Record::from_line(made).map_err(|_| "the item can't be kept".to_owned())?;
        if let Some(values) = record.root().get("parts") {
            for ((slot, _), value) in parts.into_iter().zip(values.items()) {
                put(item, &slot, value.node());
            }
        }
        item.record = Some(record);
        Ok(())
    }

    fn part(&self, value: &Value) -> Result<ItemValue, String> {
        match item::node_of(value) {
            Some(node) => Ok(ItemValue::Node(node)),
            None => to_json(value).map(ItemValue::Made),
        }
    }

    /// Calls `each` for the fields of a table, sorted by name: the order of a Lua table may differ between runs.
    fn each(
        &self,
        table: &Table,
        mut each: impl FnMut(&str, Value) -> Result<(), String>,
    ) -> Result<(), String> {
        let named = table.pairs().map(|pair| match pair.map_err(|error| error.to_string())? {
            (Value::String(name), value) => Ok((name.to_string_lossy(), value)),
            (other, _) => Err(format!("a field has a name, not {}", item::a_type(&other))),
        });
        let mut named = named.collect::<Result<Vec<_>, String>>()?;
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        named.into_iter().try_for_each(|(name, value)| each(&name, value))
    }
}

fn put(item: &mut Item, slot: &FieldPlace, node: u32) {
    match slot {
        FieldPlace::Input => item.input = Some(node),
        FieldPlace::Time => item.at = Some(node),
        FieldPlace::Fact(name) => {
            item.data.retain(|(known, _)| known != name);
            item.data.push(streamfmt_dialects::fact(name, node));
        }
        FieldPlace::Does(name) => {
            if let Some(Does::Facts { facts, .. }) = &mut item.does {
                let fact = (*name, Fact::Node(node));
                *facts = std::mem::take(facts).into_iter().chain([fact]).collect();
            }
        }
    }
}

/// Finds a fact by name. The error suggests the nearest fact or name in `others`.
fn fact<'a>(name: &str, others: impl Iterator<Item = &'a &'static str>) -> Result<&'static str, String> {
    facts().find(|known| *known == name).ok_or_else(|| {
        let hint = suggestion(name, others.copied().chain(facts()));
        format!("unknown field or fact \"{name}\" {hint}")
    })
}

/// Finds a part of what calls do by its name.
fn part_of_call(name: &str) -> Result<&'static str, String> {
    let names = || DOES.iter().map(|(known, _)| *known);
    names().find(|known| *known == name).ok_or_else(|| {
        let hint = suggestion(name, names());
        format!("does: unknown part \"{name}\" {hint}")
    })
}

fn usage(fields: &Table, line: u64) -> Result<Event, String> {
    check_keys(fields, &["message", "input", "output", "cache_read", "cache_write"])?;
    let count = |name| match get(fields, name)? {
        Value::Nil => Ok(0),
        value => number(&value).ok_or_else(|| format!("{name}: expected a number from 0")),
    };
    let usage = Usage {
        input: count("input")?,
        output: count("output")?,
        cache_read: count("cache_read")?,
        cache_write: count("cache_write")?,
    };
    let message = text(fields, "message")?.unwrap_or_else(|| format!("line-{line}"));
    Ok(Event::Usage { message: message.into(), usage, details: None })
}

fn get(table: &Table, key: &str) -> Result<Value, String> {
    table.raw_get(key).map_err(|error| error.to_string())
}

fn text(table: &Table, key: &str) -> Result<Option<String>, String> {
    match get(table, key)? {
        Value::Nil => Ok(None),
        Value::String(text) => Ok(Some(String::from_utf8_lossy(&text.as_bytes()).into_owned())),
        Value::Integer(number) => Ok(Some(number.to_string())),
        Value::Number(number) if number.is_finite() => Ok(Some(number.to_string())),
        other => Err(format!("{key}: expected a text, not {}", item::a_type(&other))),
    }
}

fn needed(table: &Table, key: &str) -> Result<String, String> {
    text(table, key)?.ok_or_else(|| format!("it has no {key}"))
}

fn truth(table: &Table, key: &str) -> Result<bool, String> {
    match get(table, key)? {
        Value::Nil => Ok(false),
        Value::Boolean(truth) => Ok(truth),
        other => Err(format!("{key}: expected true or false, not {}", item::a_type(&other))),
    }
}
