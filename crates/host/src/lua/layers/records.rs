//! Accumulators in Lua: the records of a thread are folded into a state, and a view of the state is shown in their place.
//!
//! ```text
//! begin(ctx) ─▶ state
//! record ─────▶ add(state, record, ctx) ─▶ state ─▶ view(state, ctx) ─▶ view
//! ```
//!
//! A record that a script passes over or fails at stays in the text of its reply. If `view` fails, the records are shown
//! unchanged.

use std::rc::Rc;

use mlua::Value;
use send_wrapper::SendWrapper;
use streamfmt_core::entry::Line;
use streamfmt_core::formatter::{Accumulator, FormatError, Verdict};
use streamfmt_core::item::{Item, Kind};
use streamfmt_core::session::Session;

use super::plugin::LoadedPlugin;
use super::plugins::Plugins;
use crate::lua::answer::block::AnswerReader;
use crate::lua::api::current::Handle;
use crate::lua::api::item::a_type;
use crate::lua::api::registrations::RecordsRegistration;
use crate::lua::api::spell::to_json;
use crate::lua::vm::CallError;
use crate::tools::overrides::LayerId;
use crate::tools::request::FormatRequest;

const IN_TEXT: &str = "the record stays in the text of its reply";
const AS_THEY_ARE: &str = "its records are shown as they are";
const NO_JSON: &str = "machine output has the records, and nothing of the state";
const NO_STATE: &str = "begin returns the state that records are added to, not nil or false";
const NOTHING: &str =
    "what it returns shows nothing: return false to hide the records, or nil to show them as they are";

/// Creates an accumulator by name, from the highest plugin that has one.
pub(crate) fn accumulator(plugins: &Rc<Plugins>, name: &str) -> Option<Box<dyn Accumulator>> {
    let (layer, functions) = plugins.layers().rev().find_map(|(layer, registered)| {
        let found = registered.accumulators.iter().find(|known| known.name == name)?;
        Some((layer, found.clone()))
    })?;
    let scripted =
        ScriptedRecords { plugins: Rc::clone(plugins), layer, functions, state: None, shown: None };
    Some(Box::new(ScriptedAccumulator(SendWrapper::new(scripted))))
}

/// An accumulator in Lua.
struct ScriptedAccumulator(SendWrapper<ScriptedRecords>);

struct ScriptedRecords {
    plugins: Rc<Plugins>,
    layer: LayerId,
    functions: RecordsRegistration,
    /// The state after the records so far. `None` before the first.
    state: Option<Value>,
    /// The last view of the state, until the state changes: repeated views cost nothing, and a failure is reported once.
    shown: Option<Verdict>,
}

impl ScriptedRecords {
    /// The current state, or the initial one before the first record.
    fn current(&self, plugin: &LoadedPlugin, doing: &str) -> Option<Value> {
        if let Some(state) = &self.state {
            return Some(state.clone());
        }
        let Some(begin) = &self.functions.begin else {
            return plugin.lua().create_table().map(Value::Table).ok();
        };
        let state = plugin.call_fold(begin, &plugin.context).and_then(state_of);
        let state = state.and_then(|state| state.ok_or_else(|| CallError::misuse(NO_STATE)));
        self.plugins.unless_failed(plugin, begin, state, || doing.to_owned(), IN_TEXT)
    }

    /// The state after adding a record. Returns `None` if the script rejects the record or fails.
    fn added(&self, item: &Item, session: &Session) -> Option<Value> {
        let (plugin, record) = (self.plugins.running(self.layer)?, item.record.as_ref()?);
        let doing = format!("adding a record to {} (line {})", self.functions.name, item.line);
        self.plugins.current.show(FormatRequest::alone(item, session), || {
            let state = self.current(plugin, &doing)?;
            let add = &self.functions.add;
            let record = Handle::item().value(plugin.lua(), record.root());
            let added = record.and_then(|record| plugin.call_fold(add, (state, record, &plugin.context)));
            let added = added.and_then(state_of);
            self.plugins.unless_failed(plugin, add, added, || doing.clone(), IN_TEXT)?
        })
    }

    /// The view of the current state.
    fn verdict(&self, session: &Session) -> Verdict {
        let (Some(plugin), Some(state)) = (self.plugins.running(self.layer), &self.state) else {
            return Verdict::Pass;
        };
        let view = &self.functions.view;
        self.plugins.current.note(session);
        let verdict = plugin.call_fold(view, (state, &plugin.context)).and_then(|value| match value {
            Value::Nil => Ok(Verdict::Pass),
            Value::Boolean(false) => Ok(Verdict::Hide),
            value => {
                let reader = AnswerReader::new(plugin.lua(), session.facts(), &Line::default);
                let shown = reader.view(&value, &Item::new("records", Kind::Record, 0));
                self.plugins.check_roles(plugin, view, &reader.own_roles.take());
                match shown.map_err(CallError::misuse)? {
                    shown if shown.is_blank() => Err(CallError::misuse(NOTHING)),
                    shown => Ok(Verdict::Show(self.plugins.with_notes(shown))),
                }
            }
        });
        let doing = || format!("viewing the records of {}", self.functions.name);
        let verdict = self.plugins.unless_failed(plugin, view, verdict, doing, AS_THEY_ARE);
        verdict.unwrap_or(Verdict::Pass)
    }
}

/// Checks the state that a function returned. `nil` and `false` mean no state.
fn state_of(value: Value) -> mlua::Result<Option<Value>> {
    match value {
        Value::Nil | Value::Boolean(false) => Ok(None),
        Value::Table(_) | Value::String(_) | Value::Integer(_) | Value::Number(_) | Value::Boolean(_) => {
            Ok(Some(value))
        }
        other => Err(CallError::misuse(format!(
            "expected the state, which is a table, text or number, not {}",
            a_type(&other)
        ))),
    }
}

impl Accumulator for ScriptedAccumulator {
    fn add(&mut self, record: &Item, session: &Session) -> Result<bool, FormatError> {
        let records = &mut *self.0;
        let Some(state) = records.added(record, session) else { return Ok(false) };
        (records.state, records.shown) = (Some(state), None);
        Ok(true)
    }

    fn view(&mut self, session: &Session) -> Result<Verdict, FormatError> {
        let records = &mut *self.0;
        if records.shown.is_none() {
            records.shown = Some(records.verdict(session));
        }
        Ok(records.shown.clone().unwrap_or(Verdict::Pass))
    }

    fn json(&mut self) -> Result<Option<String>, FormatError> {
        let records = &*self.0;
        let (Some(plugin), Some(state)) = (records.plugins.running(records.layer), &records.state) else {
            return Ok(None);
        };
        let json = to_json(state).map_err(CallError::misuse);
        let doing = || format!("writing the state of {} as JSON", records.functions.name);
        Ok(records.plugins.unless_failed(plugin, &records.functions.add, json, doing, NO_JSON))
    }
}
