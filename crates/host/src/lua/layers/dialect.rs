//! Dialects in Lua: a script turns objects into items.
//!
//! ```text
//! record ─▶ parse(object, ctx) ─▶ sf.item.… tables ─▶ `Maker`: events for the session
//! ```
//!
//! A record that the script passes over or fails at becomes an unknown item.

use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Value};
use send_wrapper::SendWrapper;
use streamfmt_core::dialect::{Decoder, DialectPlugin, Input};
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Item, Kind};
use streamfmt_core::json::Record;
use streamfmt_core::session::Session;

use super::plugins::{Plugins, assert_on_thread};
use crate::lua::answer::new_items::Maker;
use crate::lua::answer::value::elements;
use crate::lua::api::current::Handle;
use crate::lua::api::item::a_type;
use crate::lua::api::registrations::DialectRegistration;
use crate::lua::vm::CallError;
use crate::tools::overrides::LayerId;

/// Size of the longest record that is passed to `detect`, in bytes.
const LONGEST: usize = 64 << 10;
/// Most items that one record may become.
const MOST_ITEMS: usize = 1_000;
/// The error for a table that is neither an item nor a list of items.
const NO_ITEMS: &str = "a table with the key {} is neither an item nor a list of items: return an item such as sf.item.reply {…}";
const NOTHING: &str = "a list without items: return false to hide the line, or nil to keep it unchanged";
const KEPT: &str = "the line is kept unchanged";

/// All dialects of plugins, lowest layer first.
pub(crate) fn dialect_plugins(plugins: &Rc<Plugins>) -> Vec<DialectPlugin> {
    let registered = plugins.layers().flat_map(|(layer, registered)| {
        registered.dialects.iter().map(move |dialect| (layer, dialect.clone()))
    });
    let dialect_plugins = registered.map(|(layer, dialect)| {
        let name: Arc<str> = dialect.name.as_str().into();
        let decoder = Box::new(ScriptedDialect {
            plugins: SendWrapper::new(Rc::clone(plugins)),
            layer,
            dialect: SendWrapper::new(dialect),
            session: Session::default(),
        });
        DialectPlugin { name, decoder }
    });
    dialect_plugins.collect()
}

/// A dialect in Lua.
struct ScriptedDialect {
    plugins: SendWrapper<Rc<Plugins>>,
    layer: LayerId,
    dialect: SendWrapper<DialectRegistration>,
    /// The facts of the run, collected from the events of this dialect.
    session: Session,
}

impl ScriptedDialect {
    /// The result of a call, or `None` after a failure, which is reported.
    fn unless_failed<T>(
        &self,
        function: &Function,
        result: mlua::Result<T>,
        doing: impl FnOnce() -> String,
    ) -> Option<T> {
        self.plugins.unless_failed(self.plugins.get(self.layer)?, function, result, doing, KEPT)
    }

    /// Parses a record. Returns `None` if the script returns nil or fails.
    fn parsed(&self, input: Input<'_>) -> Option<Vec<Event>> {
        let plugin = self.plugins.running(self.layer)?;
        let mut item = Item::new(format!("line-{}", input.line), Kind::Unknown, input.line);
        item.record = Some(input.record.clone());
        self.plugins.current.read(&item, &self.session, || {
            let parse = &self.dialect.parse;
            let object = Handle::item().value(plugin.lua(), input.value);
            let answer = object.and_then(|object| plugin.call_hook(parse, (object, &plugin.context)));
            let events = answer.and_then(|answer| {
                let events = self.events(answer, &mut Maker::new(input, &self.session))?;
                let is_empty = events.as_ref().is_some_and(Vec::is_empty);
                if is_empty { Err(CallError::misuse(NOTHING)) } else { Ok(events) }
            });
            self.unless_failed(parse, events, || format!("reading line {}", input.line))?
        })
    }

    /// Converts an answer, either one item or a list of items, to events. Returns `None` for nil.
    fn events(&self, answer: Value, maker: &mut Maker<'_>) -> mlua::Result<Option<Vec<Event>>> {
        let mut out = Vec::new();
        let mut add = |item: Value| match item {
            Value::Table(table) if Maker::is_item(&table) => maker.make(&table, &mut out),
            Value::Boolean(false) => Ok(()),
            other => Err(format!("expected an item of sf.item, not {}", a_type(&other))),
        };
        let made = match answer {
            Value::Nil => return Ok(None),
            Value::Boolean(false) => {
                return Ok(Some(vec![Event::Bookkeeping(self.dialect.name.clone().into())]));
            }
            Value::Table(list) if !Maker::is_item(&list) => match elements(&list, NO_ITEMS) {
                Ok(items) if items.len() > MOST_ITEMS => {
                    Err(format!("more than {MOST_ITEMS} items for one record"))
                }
                Ok(items) => items.into_iter().try_for_each(add),
                Err(wrong) => Err(wrong.to_string()),
            },
            item => add(item),
        };
        made.map_err(CallError::misuse)?;
        Ok(Some(out))
    }
}

impl Decoder for ScriptedDialect {
    fn weigh(&mut self, first: &[Record]) -> f64 {
        assert_on_thread(&self.plugins);
        let Some(detect) = &self.dialect.detect else { return 0.0 };
        let mut sample = String::from("[");
        for record in first.iter().filter(|record| record.text().len() <= LONGEST) {
            let comma = if sample.len() > 1 { "," } else { "" };
            // Writing to a string can't fail.
            let _ = write!(sample, "{comma}{}", record.text());
        }
        sample.push(']');
        let Ok(record) = Record::from_line(sample) else { return 0.0 };
        let mut item = Item::new("sample", Kind::Unknown, 0);
        item.record = Some(record.clone());
        let answer = self.plugins.current.read(&item, &Session::default(), || {
            let plugin = self.plugins.running(self.layer)?;
            let sample = Handle::item().value(plugin.lua(), record.root()).ok()?;
            Some(plugin.call_hook(detect, (sample, &plugin.context)))
        });
        let weight = answer.unwrap_or(Ok(Value::Nil)).and_then(|answer| match answer {
            Value::Boolean(true) => Ok(1.0),
            Value::Integer(number) => Ok((number as f64).clamp(0.0, 1.0)),
            Value::Number(number) if number.is_finite() => Ok(number.clamp(0.0, 1.0)),
            Value::Nil | Value::Boolean(false) => Ok(0.0),
            other => Err(CallError::misuse(format!("expected a number from 0 to 1, not {}", a_type(&other)))),
        });
        self.unless_failed(detect, weight, || format!("detecting {}", self.dialect.name)).unwrap_or_default()
    }

    fn ends_with_outcome(&self) -> bool {
        self.dialect.ends_with_outcome
    }

    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        if let Some(events) = self.parsed(input) {
            for event in &events {
                self.session.apply(event.clone(), |_, _| {});
            }
            return out.extend(events);
        }
        let kind = ["type", "kind", "event"].iter().find_map(|key| input.value.get(key)?.decode());
        let name = kind.map_or_else(|| self.dialect.name.clone(), std::borrow::Cow::into_owned);
        let mut item = Item::new(format!("line-{}", input.line), Kind::Unknown, input.line);
        item.parent = input.parent.cloned();
        item.text = Content::Own(input.value.raw().to_owned());
        item.data.extend([("raw", Fact::Bool(true)), ("type", Fact::Text(name.clone()))]);
        out.push(Event::Unknown(name));
        out.push(Event::Put(Box::new(item)));
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        let Some(finish) = &self.dialect.finish else { return };
        let Some(plugin) = self.plugins.running(self.layer) else { return };
        let Ok(record) = Record::from_line("{}".to_owned()) else { return };
        let (record, value) = (&record, record.root());
        let input =
            Input { record, value, line: 0, parent: None, origin: None, shows_minor: true, counts: true };
        self.plugins.current.note(&self.session);
        let answer = plugin.call_hook(finish, &plugin.context);
        let events = answer.and_then(|answer| self.events(answer, &mut Maker::new(input, &self.session)));
        let events = self.unless_failed(finish, events, || "ending the input".to_owned());
        out.extend(events.flatten().unwrap_or_default());
    }
}
