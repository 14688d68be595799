//! The formatter that calls the layers from the top down: plugins and the profile, and below them the built-in formatter.

mod answers;
mod resting;

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua, Table, Value};
use send_wrapper::SendWrapper;
use streamfmt_core::entry::{Block, Role, View};
use streamfmt_core::formatter::{
    Accumulator, FormatError, Formatter, FrameFormatter, Observation, PluginFormatter, StreamFormatter,
    Verdict,
};
use streamfmt_core::item::{Item, Kind, Status};
use streamfmt_core::json;
use streamfmt_core::profile::Profile;
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;
use streamfmt_formatters::standard::Standard;

use super::plugin::LoadedPlugin;
use super::plugins::{Plugins, assert_on_thread};
use super::records;
use crate::lua::answer::block::AnswerReader;
use crate::lua::answer::value::{kind_of, string};
use crate::lua::answer::view_to_lua::to_lua;
use crate::lua::api::current::Handle;
use crate::lua::api::item::close;
use crate::lua::api::registered::{HookEvent, ScriptOverride, Viewed};
use crate::lua::vm::CallError;
use crate::plugin::journal::BELOW;
use crate::tools::field::{FieldValue, ToolField};
use crate::tools::overrides::{FieldOverrides, LayerId, Overrides, SHORT, text_view};
use crate::tools::request::FormatRequest;

use resting::RestingFunctions;

pub(crate) use answers::plain;

/// Formats items with the plugins and the profile's rules, on top of the built-in formatter.
pub(crate) struct Scripts {
    plugins: SendWrapper<Rc<Plugins>>,
    standard: Standard,
    tools: SendWrapper<Overrides<Function>>,
    views: SendWrapper<Vec<(Kind, Arc<[ScriptOverride]>)>>,
    /// The overrides for whole records.
    frames: SendWrapper<Arc<[ScriptOverride]>>,
    resting: RestingFunctions,
}

/// The state of each plugin with the VM that owns it, by the plugin's name.
type KeptStates = Vec<(String, (Lua, Table))>;

/// Whether the call has an input. While the input is being written, it must have at least one entry.
fn has_input(request: FormatRequest<'_>) -> bool {
    let call = request.call.unwrap_or(request.item);
    let is_begun = |input: json::Value<'_>| call.growing.is_none() || input.entries().next().is_some();
    call.input().is_some_and(is_begun)
}

/// The field for the whole view of an item. `None` for kinds other than calls and results.
fn whole_field(item: &Item) -> Option<ToolField> {
    match item.kind {
        Kind::Call => Some(ToolField::Call),
        Kind::Result => Some(ToolField::Result),
        _ => None,
    }
}

/// The overrides that apply to an item, of all those for its tool or kind.
fn applying<'a>(all: &'a [ScriptOverride], item: &Item) -> impl Iterator<Item = &'a ScriptOverride> {
    let fields = ToolField::of_kind(item.kind);
    all.iter().filter(move |one| one.field.is_none_or(|field| fields.contains(&field)))
}

/// Whether no layer formats this item.
fn passes(all: &[ScriptOverride], item: &Item) -> bool {
    // A custom view of a call changes what remains to be shown of its result.
    let is_of_call = |one: &ScriptOverride| matches!(one.field, Some(ToolField::Arg | ToolField::Call));
    let has_call = item.kind == Kind::Result && all.iter().any(is_of_call);
    !has_call && applying(all, item).next().is_none()
}

/// Whether exactly one function of a plugin formats this item.
fn is_lone(all: &[ScriptOverride], item: &Item) -> bool {
    let mut of_plugins = applying(all, item).filter(|one| one.layer != LayerId::Profile);
    of_plugins.next().is_some_and(|one| matches!(one.value, FieldValue::Function(_) | FieldValue::Native))
        && of_plugins.next().is_none()
}

impl Scripts {
    /// Creates the formatter. Returns `None` if no layer affects items or records.
    pub(crate) fn new(plugins: &Rc<Plugins>, profile: &Profile) -> Option<Self> {
        if plugins.affect_nothing() {
            return None;
        }
        let of = |viewed| plugins.overrides_of_view(viewed).into();
        let views = Kind::ALL.iter().map(|kind| (*kind, of(Viewed::Items(*kind)))).collect();
        Some(Self {
            plugins: SendWrapper::new(Rc::clone(plugins)),
            standard: Standard::of(profile),
            tools: SendWrapper::new(Overrides::default()),
            views: SendWrapper::new(views),
            frames: SendWrapper::new(of(Viewed::Frames)),
            resting: RestingFunctions::default(),
        })
    }

    /// The overrides for the tool or kind of an item.
    fn overrides(&self, request: FormatRequest<'_>) -> Arc<[ScriptOverride]> {
        let kind = request.item.kind;
        if !matches!(kind, Kind::Call | Kind::Result) {
            let known = self.views.iter().find(|(viewed, _)| *viewed == kind);
            return known.map(|(_, views)| Arc::clone(views)).unwrap_or_default();
        }
        let (tool, action) = (request.tool().unwrap_or_default(), request.action());
        self.tools.get(tool, action, || self.plugins.overrides_of_tool(tool, action))
    }

    /// Passes an item with its overrides to `work`.
    fn with_fields<R>(
        &self,
        request: FormatRequest<'_>,
        all: &[ScriptOverride],
        work: impl FnOnce(&FieldOverrides<'_, Function>) -> R,
    ) -> R {
        work(&FieldOverrides {
            standard: &self.standard,
            request,
            all,
            is_off: &|layer| self.plugins.is_off(layer),
            call: &|one, function, role| self.call_field(request, all, one, function, role),
        })
    }

    /// Calls the function for a label, an argument or a summary.
    fn call_field(
        &self,
        request: FormatRequest<'_>,
        all: &[ScriptOverride],
        one: &ScriptOverride,
        function: &Function,
        role: Role,
    ) -> Verdict {
        let Some(plugin) = self.plugins.get(one.layer) else { return Verdict::Pass };
        // The function expects an input, so it isn't called while the input is still empty.
        if one.field == Some(ToolField::Arg) && !has_input(request) || self.rests(request, function) {
            return Verdict::Pass;
        }
        let context = &plugin.context;
        let called = Handle::call_or_item();
        let answer = match one.field {
            Some(ToolField::Arg) => {
                let input = called.input(plugin.lua());
                input.and_then(|input| plugin.call(function, (input, called, context)))
            }
            Some(ToolField::Label) => plugin.call(function, (called, context)),
            _ => plugin.call(function, (Handle::item(), Handle::call(), context)),
        };
        self.used(request, all, plugin, function, answer, |reader, value| {
            let is_arg = one.field == Some(ToolField::Arg);
            if let (true, Value::String(text)) = (is_arg, &value) {
                return Ok(Some(text_view(ToolField::Arg, role, Text::clean_owned(string(text)))));
            }
            let title = reader.line(&value, role)?;
            if is_arg && title.text().len() > SHORT {
                return Ok(Some(text_view(ToolField::Arg, role, Text::clean(title.text()))));
            }
            let view = View { title, ..View::default() };
            if one.field == Some(ToolField::Summary) {
                visible(request, view, &value)
            } else {
                Ok(Some(view))
            }
        })
    }

    /// Whether a function failed for an item that is still open.
    fn rests(&self, request: FormatRequest<'_>, function: &Function) -> bool {
        request.is_open() && self.resting.rests(&request.item.id, function)
    }

    /// Formats the item, starting at one of its overrides.
    fn whole(&self, request: FormatRequest<'_>, all: &[ScriptOverride], from: usize) -> Verdict {
        let field = whole_field(request.item);
        for (at, one) in all.iter().enumerate().skip(from).filter(|(_, one)| one.field == field) {
            if request.item.growing.is_some() && !has_input(request) {
                continue;
            }
            match self.call_whole(request, all, one, at + 1) {
                Verdict::Pass => {}
                Verdict::Show(view) => {
                    return Verdict::Show(self.with_fields(request, all, |fields| fields.collapsed(view)));
                }
                Verdict::Hide => return Verdict::Hide,
            }
        }
        self.with_fields(request, all, |fields| if request.is_frame { Verdict::Pass } else { fields.apply() })
    }

    /// Formats the item with all layers.
    fn verdict(&self, request: FormatRequest<'_>, all: &[ScriptOverride]) -> Verdict {
        match self.plugins.current.show(request, || self.whole(request, all, 0)) {
            Verdict::Show(view) => Verdict::Show(self.plugins.with_notes(view)),
            verdict => verdict,
        }
    }

    /// Calls the plugin of an override for the whole view. The overrides from `next` on are below it.
    fn call_whole(
        &self,
        request: FormatRequest<'_>,
        all: &[ScriptOverride],
        one: &ScriptOverride,
        next: usize,
    ) -> Verdict {
        let below = |of_call: bool| match request.call.filter(|_| of_call) {
            Some(call) => self.below_of_call(call, request.session, one.layer),
            None => self.whole(request, all, next),
        };
        let function = match &one.value {
            FieldValue::Function(function) => function,
            FieldValue::Native => return self.call_native(request, one.layer, &below),
            FieldValue::Template(_) | FieldValue::Word(_) => return Verdict::Pass,
        };
        let Some(plugin) = self.plugins.running(one.layer) else { return Verdict::Pass };
        if self.rests(request, function) {
            return Verdict::Pass;
        }
        let below = |lua: &Lua, of_call: bool| match below(of_call) {
            Verdict::Show(view) => to_lua(lua, &view),
            Verdict::Hide | Verdict::Pass => Ok(Value::Boolean(false)),
        };
        let context = &plugin.context;
        let answer = match request.item.kind {
            Kind::Result => plugin.call_over(function, (Handle::item(), Handle::call(), context), &below),
            _ => plugin.call_over(function, (Handle::item(), context), &below),
        };
        self.used(request, all, plugin, function, answer, |reader, value| {
            visible(request, reader.view(&value, request.item)?, &value)
        })
    }

    fn call_native(
        &self,
        request: FormatRequest<'_>,
        layer: LayerId,
        below: &dyn Fn(bool) -> Verdict,
    ) -> Verdict {
        let Some(native) = self.plugins.native(layer) else { return Verdict::Pass };
        match self.plugins.counter.next(false) {
            None => return native.format(request, below),
            Some(Err(_)) => native.fail_on_purpose(request),
            Some(Ok(_)) => {}
        }
        Verdict::Pass
    }

    /// Formats the call of the current result with the layers below `layer`.
    fn below_of_call(&self, call: &Item, session: &Session, layer: LayerId) -> Verdict {
        let request = FormatRequest::alone(call, session);
        let all = self.overrides(request);
        let is_below = |one: &ScriptOverride| {
            one.field == Some(ToolField::Call) && self.plugins.is_below(one.layer, layer)
        };
        let from = all.iter().position(is_below).unwrap_or(all.len());
        self.plugins.current.show(request, || self.whole(request, &all, from))
    }

    /// Reads the value that a function returned. One that can't be used is reported and then ignored. `read` returns `None` to
    /// leave the item to the layer below.
    fn used(
        &self,
        request: FormatRequest<'_>,
        all: &[ScriptOverride],
        plugin: &LoadedPlugin,
        function: &Function,
        answer: mlua::Result<Value>,
        read: impl FnOnce(&AnswerReader<'_>, Value) -> Result<Option<View>, String>,
    ) -> Verdict {
        let used = answer.and_then(|value| match value {
            Value::Nil => Ok(Verdict::Pass),
            Value::Boolean(false) => Ok(Verdict::Hide),
            value => {
                #[expect(clippy::redundant_closure_for_method_calls, reason = "it has one lifetime")]
                let label = || self.with_fields(request, all, |fields| fields.label());
                let reader = AnswerReader::new(plugin.lua(), request.session.facts(), &label);
                let view = read(&reader, value);
                self.plugins.check_roles(plugin, function, &reader.own_roles.take());
                Ok(view.map_err(CallError::misuse)?.map_or(Verdict::Pass, Verdict::Show))
            }
        });
        used.unwrap_or_else(|error| {
            if request.is_open() {
                self.resting.rest(&request.item.id, function);
            }
            // An error in an incomplete item may not occur in the complete one, so only a limit is reported now.
            if !request.is_open() || CallError::is_limit(&error) {
                self.plugins.fail(plugin, function, &error, &request.doing(), BELOW);
            }
            Verdict::Pass
        })
    }
}

impl Formatter for Scripts {
    fn name(&self) -> &'static str {
        "plugins"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        let request = FormatRequest::of(item, session);
        let all = self.overrides(request);
        if passes(&all, item) {
            return Ok(Verdict::Pass);
        }
        if item.status != Status::Open {
            self.resting.wake(&item.id);
        }
        self.plugins.counter.enter(&item.id, || self.frames.is_empty() && is_lone(&all, item));
        Ok(self.verdict(request, &all))
    }

    fn frames(&self) -> Option<&dyn FrameFormatter> {
        assert_on_thread(&self.plugins);
        (!self.frames.is_empty()).then_some(self as &dyn FrameFormatter)
    }

    fn stream(&self) -> Option<&dyn StreamFormatter> {
        Some(self)
    }

    fn plugins(&self) -> Option<&dyn PluginFormatter> {
        Some(self)
    }
}

impl FrameFormatter for Scripts {
    fn frame(&self, frame: &Item, session: &Session) -> Result<Verdict, FormatError> {
        self.plugins.counter.enter(&frame.id, || false);
        let request = FormatRequest { is_frame: true, ..FormatRequest::alone(frame, session) };
        Ok(self.verdict(request, &self.frames))
    }
}

impl StreamFormatter for Scripts {
    fn observe(&self, moment: Observation<'_>, session: &Session) -> Vec<Block> {
        assert_on_thread(&self.plugins);
        let event = match moment {
            Observation::Begin => HookEvent::Start,
            Observation::End => HookEvent::End,
            Observation::Complete(item) => HookEvent::Item(item.kind),
        };
        let mut blocks = Vec::new();
        for layer in &self.plugins.order {
            if let Some(native) = self.plugins.native(*layer) {
                blocks.extend(native.observed_moment(moment, session));
            }
            let Some(plugin) = self.plugins.get(*layer) else { continue };
            let mut functions = plugin.registered.hooks(event).peekable();
            if functions.peek().is_none() || plugin.is_off() {
                continue;
            }
            let hooks = || {
                for function in functions {
                    let item = if let Observation::Complete(item) = moment { Some(item) } else { None };
                    blocks.extend(self.hook(plugin, function, event, item, session));
                }
            };
            if let Observation::Complete(item) = moment {
                let call = item.call.as_ref().and_then(|id| session.call(id));
                self.plugins
                    .current
                    .show(FormatRequest { call, ..FormatRequest::alone(item, session) }, hooks);
            } else {
                self.plugins.current.note(session);
                hooks();
            }
        }
        blocks
    }
}

impl PluginFormatter for Scripts {
    fn memory(&self) -> Option<Box<dyn Any>> {
        let all = self.plugins.all.iter();
        let kept: KeptStates = all.map(|plugin| (plugin.pack.name.clone(), plugin.state())).collect();
        Some(Box::new(kept))
    }

    fn resume(&self, memory: Option<Box<dyn Any>>, session: &Session) {
        for native in self.plugins.native.all() {
            // What it shows at the beginning was already shown.
            drop(native.observed_moment(Observation::Begin, session));
        }
        let kept = memory.and_then(|memory| memory.downcast::<KeptStates>().ok());
        for plugin in &self.plugins.all {
            let before = kept.iter().flat_map(|kept| kept.iter()).find(|(name, _)| *name == plugin.pack.name);
            self.plugins.current.note(session);
            if let (Some(reload), Some((_, (_, before)))) = (plugin.reload(), before) {
                if let Err(error) = plugin.take_over(&reload, before) {
                    self.plugins.fail(plugin, &reload, &error, "taking over its state", BELOW);
                }
            } else {
                // What it shows at the beginning was already shown.
                for function in plugin.registered.hooks(HookEvent::Start) {
                    self.hook(plugin, function, HookEvent::Start, None, session);
                }
            }
        }
    }

    fn accumulator(&self, name: &str) -> Option<Box<dyn Accumulator>> {
        assert_on_thread(&self.plugins);
        records::accumulator(&self.plugins, name)
    }

    fn take_failures(&self) -> Vec<FormatError> {
        self.plugins.take_failures()
    }
}

impl Scripts {
    fn hook(
        &self,
        plugin: &LoadedPlugin,
        function: &Function,
        event: HookEvent,
        item: Option<&Item>,
        session: &Session,
    ) -> Vec<Block> {
        let nothing = Item::new("session", Kind::Notice, 0);
        let request = FormatRequest::alone(item.unwrap_or(&nothing), session);
        let context = &plugin.context;
        let answer = match item {
            Some(_) => plugin.call_hook(function, (Handle::item(), context)),
            None => event_table(plugin.lua(), event)
                .and_then(|event| plugin.call_hook(function, (event, context))),
        };
        let used = self.used(request, &[], plugin, function, answer, |reader, value| {
            reader.body(&value).map(|body| Some(View::of(body)))
        });
        match used {
            Verdict::Show(view) if !view.is_blank() => view.body,
            _ => Vec::new(),
        }
    }
}

/// The argument of functions for the beginning and the end of a session.
fn event_table(lua: &Lua, event: HookEvent) -> mlua::Result<Table> {
    let table = lua.create_table_from([("kind", event.name())])?;
    close(lua, &table, "event", Vec::new(), " (it has a kind and nothing else)")?;
    Ok(table)
}

/// Checks that a view has visible content. A blank view is an error, since `false` is the way to hide an item. The exception is an item without text, such as the result of a command without output: then blanks are
/// shown unchanged, and an empty view leaves the item to the layer below.
fn visible(request: FormatRequest<'_>, view: View, answer: &Value) -> Result<Option<View>, String> {
    // The view of a frame may be all that shows the record, so an empty line counts.
    if request.is_frame && !view.body.is_empty() {
        return Ok(Some(view));
    }
    if view.is_blank() && !request.item.is_blank() {
        let what = blank_name(answer);
        return Err(format!(
            "{what} shows nothing: return false to hide the item, or nil to leave it to the layer below"
        ));
    }
    Ok((!view.is_empty()).then_some(view))
}

/// Describes a blank answer.
fn blank_name(answer: &Value) -> &'static str {
    match answer {
        Value::Table(table) if table.is_empty() => "an empty table",
        Value::Table(table) if kind_of(table).is_some() => "a block without content",
        Value::Table(_) => "a list without content",
        _ => "an empty text",
    }
}
