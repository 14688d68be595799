//! The formatter that calls the layers from the top down: plugins and the profile, and below them the built-in formatter.

mod answers;
mod resting;

use std::any::Any;
use std::rc::Rc;

use mlua::{Function, Lua, Table, Value};
use send_wrapper::SendWrapper;
use streamfmt_core::entry::{Block, Line, Role, View};
use streamfmt_core::formatter::{
    Accumulator, FormatError, Formatter, FrameFormatter, Observation, PluginFormatter, StreamFormatter,
    Verdict,
};
use streamfmt_core::item::{Item, Kind, Status};
use streamfmt_core::json;
use streamfmt_core::profile::Profile;
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;

use super::block::{AnswerFault, AnswerReader};
use super::current::Handle;
use super::item::close;
use super::layers::{FieldAnswer, HookEvent, Ladder, LadderStep, LayerId, Viewed};
use super::plugin::{CallFailure, LoadedPlugin};
use super::plugins::{Plugins, assert_on_thread};
use super::records;
use super::value::{kind_of, string};
use super::view_to_lua::to_lua;
use super::vm::Stop;
use crate::native::{NativeLayer, RestOf};
use crate::plugin::journal::BELOW;
use crate::tools::amend::{Amended, Amender, Answers, Argument, FormatRequest, Given, SHORT};
use crate::tools::field::ToolField;
use crate::tools::pattern::PerTool;

use resting::RestingFunctions;

pub(crate) use answers::plain;

/// Formats items with the plugins and the profile's rules, on top of the built-in formatter.
pub(crate) struct Scripts {
    plugins: SendWrapper<Rc<Plugins>>,
    amender: Amender,
    ladders: SendWrapper<PerTool<Rc<Ladder>>>,
    views: SendWrapper<Vec<(Kind, Rc<Ladder>)>>,
    /// The ladder for whole records.
    frames: SendWrapper<Rc<Ladder>>,
    resting: RestingFunctions,
}

/// The state of each plugin with the VM that owns it, by the plugin's name.
type KeptStates = Vec<(String, (Lua, Table))>;

/// The item being formatted.
struct ScriptItem<'a> {
    about: FormatRequest<'a>,
    ladder: Rc<Ladder>,
    /// Whether the item represents a whole record. Then there is no layer below the plugins.
    is_frame: bool,
}

impl ScriptItem<'_> {
    fn doing(&self) -> String {
        let item = self.about.item;
        let what = match self.about.tool() {
            Some(tool) => tool,
            None if self.is_frame => "frame",
            None => item.kind.name(),
        };
        let result = if item.kind == Kind::Result { "the result of " } else { "" };
        format!("formatting {result}{what} (line {})", item.line)
    }

    /// Whether the call has an input. While the input is being written, it must have at least one entry.
    fn has_input(&self) -> bool {
        let call = self.about.call.unwrap_or(self.about.item);
        let is_begun = |input: json::Value<'_>| call.growing.is_none() || input.entries().next().is_some();
        call.input().is_some_and(is_begun)
    }

    /// Whether the item may still change.
    fn is_open(&self) -> bool {
        self.about.item.status == Status::Open
    }
}

/// The answers of all layers for an item.
struct LayerAnswers<'a> {
    scripts: &'a Scripts,
    focus: &'a ScriptItem<'a>,
}

impl LayerAnswers<'_> {
    /// The built-in formatting, amended by these answers.
    fn amended(&self) -> Amended<'_> {
        self.scripts.amender.amend(self.focus.about, self)
    }

    /// The first answer for a field, converted from the text of a template or from the value that a function returned.
    fn first<T>(
        &self,
        field: ToolField,
        of_text: impl Fn(Text) -> T,
        of_value: impl Fn(&AnswerReader<'_>, Value) -> Result<Option<T>, AnswerFault>,
    ) -> Given<T> {
        let Self { scripts, focus } = *self;
        for step in focus.ladder.field(field) {
            let plugin = scripts.plugins.get(step.who);
            if plugin.is_some_and(LoadedPlugin::is_off) {
                continue;
            }
            let given = match &step.answer {
                FieldAnswer::Word(_) | FieldAnswer::Native => Given::Nothing,
                FieldAnswer::Template(template) => match focus.about.fill(template, field) {
                    Some(text) => Given::Use(of_text(text)),
                    None => Given::Nothing,
                },
                // The function expects an input, so it isn't called while the input is still empty.
                FieldAnswer::Function(_) if field == ToolField::Arg && !focus.has_input() => Given::Nothing,
                FieldAnswer::Function(function)
                    if focus.is_open() && scripts.resting.rests(&focus.about.item.id, function) =>
                {
                    Given::Nothing
                }
                FieldAnswer::Function(function) => {
                    let Some(plugin) = plugin else { continue };
                    let context = &plugin.context;
                    let called = Handle::call_or_item();
                    let answer = match field {
                        ToolField::Arg => called
                            .input(plugin.lua())
                            .map_err(Stop::of)
                            .and_then(|input| plugin.call(function, (input, called, context))),
                        ToolField::Label => plugin.call(function, (called, context)),
                        _ => plugin.call(function, (Handle::item(), Handle::call(), context)),
                    };
                    scripts.used(focus, plugin, function, answer, &of_value)
                }
            };
            if !matches!(given, Given::Nothing) {
                return given;
            }
        }
        Given::Nothing
    }
}

impl Answers for LayerAnswers<'_> {
    fn has(&self, field: ToolField) -> bool {
        !self.focus.ladder.field(field).is_empty()
    }

    fn word(&self, field: ToolField) -> Option<&str> {
        self.focus.ladder.field(field).iter().find_map(|step| match &step.answer {
            FieldAnswer::Word(word)
                if !self.scripts.plugins.get(step.who).is_some_and(LoadedPlugin::is_off) =>
            {
                Some(word.as_str())
            }
            _ => None,
        })
    }

    fn line(&self, field: ToolField, role: Role) -> Given<Line> {
        let of_text = |text| Line::of(role, text);
        self.first(field, of_text, |reader, value| {
            let line = reader.line(&value, role)?;
            if field != ToolField::Summary {
                return Ok(Some(line));
            }
            let view = View { title: line, ..View::default() };
            Ok(visible(self.focus, view, blank_name(&value))?.map(|view| view.title))
        })
    }

    fn argument(&self, role: Role) -> Given<Argument> {
        let of_text = |text| Argument::of(role, text);
        self.first(ToolField::Arg, of_text, |reader, value| match value {
            Value::String(text) => Ok(Some(Argument::of(role, Text::clean_owned(string(&text))))),
            value => {
                let line = reader.line(&value, role)?;
                if line.text().len() <= SHORT {
                    return Ok(Some(Argument::Short(line)));
                }
                Ok(Some(Argument::Long(Text::clean(line.text()))))
            }
        })
    }

    /// A function counts even if it returns nothing for this call.
    fn changes_call(&self) -> bool {
        let about = self.focus.about;
        if about.item.kind != Kind::Result || about.call.is_none() {
            return false;
        }
        let is_used = |step: &LadderStep| match &step.answer {
            FieldAnswer::Template(template) => about.fills_call(template),
            FieldAnswer::Native => !self.scripts.plugins.native(step.who).is_some_and(NativeLayer::is_off),
            FieldAnswer::Function(_) => !self.scripts.plugins.get(step.who).is_some_and(LoadedPlugin::is_off),
            FieldAnswer::Word(_) => false,
        };
        self.focus.ladder.call_steps().any(is_used)
    }
}

impl Scripts {
    /// Creates the formatter. Returns `None` if no layer affects items or records.
    pub(crate) fn new(plugins: &Rc<Plugins>, profile: &Profile) -> Option<Self> {
        if plugins.affect_nothing() {
            return None;
        }
        let of = |viewed| Ladder::of_views(plugins.layers(), viewed);
        let views = Kind::ALL.iter().map(|kind| (*kind, of(Viewed::Items(*kind)))).collect();
        Some(Self {
            plugins: SendWrapper::new(Rc::clone(plugins)),
            amender: Amender::new(profile),
            ladders: SendWrapper::new(PerTool::default()),
            views: SendWrapper::new(views),
            frames: SendWrapper::new(of(Viewed::Frames)),
            resting: RestingFunctions::default(),
        })
    }

    fn ladder(&self, about: FormatRequest<'_>) -> Rc<Ladder> {
        let kind = about.item.kind;
        if !matches!(kind, Kind::Call | Kind::Result) {
            let known = self.views.iter().find(|(viewed, _)| *viewed == kind);
            return known.map(|(_, ladder)| Rc::clone(ladder)).unwrap_or_default();
        }
        let (tool, action) = (about.tool().unwrap_or_default(), about.action());
        let find = || Ladder::of_tool(self.plugins.layers(), tool, action);
        self.ladders.get(tool, action, find)
    }

    /// Formats the item, starting at step `from` of its ladder.
    fn whole(&self, focus: &ScriptItem<'_>, from: usize) -> Verdict {
        let steps = match focus.about.item.kind {
            Kind::Call => focus.ladder.field(ToolField::Call),
            Kind::Result => focus.ladder.field(ToolField::Result),
            _ => &focus.ladder.views,
        };
        for (at, step) in steps.iter().enumerate().skip(from) {
            if focus.about.item.growing.is_some() && !focus.has_input() {
                continue;
            }
            let given = match &step.answer {
                FieldAnswer::Function(function) => self.call_whole(focus, step, function, at + 1),
                FieldAnswer::Native => self.call_native(focus, step, at + 1),
                FieldAnswer::Template(_) | FieldAnswer::Word(_) => continue,
            };
            match given {
                Given::Use(view) => {
                    return Verdict::Show(LayerAnswers { scripts: self, focus }.amended().collapsed(view));
                }
                Given::Hide => return Verdict::Hide,
                Given::Nothing => {}
            }
        }
        if focus.is_frame { Verdict::Pass } else { LayerAnswers { scripts: self, focus }.amended().verdict() }
    }

    /// Formats the item with all layers.
    fn verdict(&self, focus: &ScriptItem<'_>) -> Verdict {
        match self.plugins.current.show(focus.about, || self.whole(focus, 0)) {
            Verdict::Show(view) => Verdict::Show(self.plugins.with_notes(view)),
            verdict => verdict,
        }
    }

    fn call_whole(
        &self,
        focus: &ScriptItem<'_>,
        step: &LadderStep,
        function: &Function,
        next: usize,
    ) -> Given<View> {
        let Some(plugin) = self.plugins.running(step.who) else { return Given::Nothing };
        if focus.is_open() && self.resting.rests(&focus.about.item.id, function) {
            return Given::Nothing;
        }
        let below = |lua: &Lua, of_call: bool| {
            let verdict = match focus.about.call.filter(|_| of_call) {
                Some(call) => self.below_of_call(call, focus.about.session, step.who),
                None => self.whole(focus, next),
            };
            match verdict {
                Verdict::Show(view) => to_lua(lua, &view),
                Verdict::Hide | Verdict::Pass => Ok(Value::Boolean(false)),
            }
        };
        let context = &plugin.context;
        let answer = match focus.about.item.kind {
            Kind::Result => plugin.call_over(function, (Handle::item(), Handle::call(), context), &below),
            _ => plugin.call_over(function, (Handle::item(), context), &below),
        };
        self.used(focus, plugin, function, answer, |reader, value| {
            let what = blank_name(&value);
            visible(focus, reader.view(&value, focus.about.item)?, what)
        })
    }

    fn call_native(&self, focus: &ScriptItem<'_>, step: &LadderStep, next: usize) -> Given<View> {
        let Some(native) = self.plugins.native(step.who) else { return Given::Nothing };
        let rest = |rest| match (rest, focus.about.call) {
            (RestOf::Item, _) => self.whole(focus, next),
            (RestOf::Call, Some(call)) => self.below_of_call(call, focus.about.session, step.who),
            (RestOf::Call, None) => Verdict::Pass,
        };
        match self.plugins.meter().next(false) {
            None => native.format(focus.about, &rest),
            Some(Err(_)) => native.fail_on_purpose(focus.about),
            Some(Ok(_)) => Given::Nothing,
        }
    }

    /// Formats the call of the current result with the layers below `who`.
    fn below_of_call(&self, call: &Item, session: &Session, who: LayerId) -> Verdict {
        let about = FormatRequest { item: call, session, call: None };
        let focus = ScriptItem { about, ladder: self.ladder(about), is_frame: false };
        let steps = focus.ladder.field(ToolField::Call);
        let from = steps.iter().position(|step| self.plugins.is_below(step.who, who)).unwrap_or(steps.len());
        self.plugins.current.show(about, || self.whole(&focus, from))
    }

    /// Reads the value that a function returned. One that can't be used is reported and then ignored. `read` returns `None` to
    /// leave the item to the layer below.
    fn used<T>(
        &self,
        focus: &ScriptItem<'_>,
        plugin: &LoadedPlugin,
        function: &Function,
        answer: Result<Value, Stop>,
        read: impl FnOnce(&AnswerReader<'_>, Value) -> Result<Option<T>, AnswerFault>,
    ) -> Given<T> {
        let wrong = match answer {
            Ok(Value::Nil) => return Given::Nothing,
            Ok(Value::Boolean(false)) => return Given::Hide,
            Ok(value) => {
                let label = || LayerAnswers { scripts: self, focus }.amended().label();
                let reader = AnswerReader::new(plugin.lua(), focus.about.session.facts(), &label);
                let answer = read(&reader, value);
                self.plugins.check_roles(plugin, function, &reader.own_roles.take());
                match answer {
                    Ok(used) => return used.map_or(Given::Nothing, Given::Use),
                    Err(wrong) => CallFailure::from(wrong),
                }
            }
            Err(stop) => CallFailure::from(stop),
        };
        if focus.is_open() {
            self.resting.rest(&focus.about.item.id, function);
        }
        // An error in an incomplete item may not occur in the complete one, so only a limit is reported now.
        if !focus.is_open() || wrong.trip().is_some() {
            self.plugins.fail(plugin, function, wrong, &focus.doing(), BELOW);
        }
        Given::Nothing
    }
}

impl Formatter for Scripts {
    fn name(&self) -> &'static str {
        "plugins"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        let about = FormatRequest::of(item, session);
        let ladder = self.ladder(about);
        if ladder.passes(item) {
            return Ok(Verdict::Pass);
        }
        if item.status != Status::Open {
            self.resting.wake(&item.id);
        }
        self.plugins.meter().enter(&item.id, || self.frames.views.is_empty() && ladder.is_lone(item));
        Ok(self.verdict(&ScriptItem { about, ladder, is_frame: false }))
    }

    fn frames(&self) -> Option<&dyn FrameFormatter> {
        assert_on_thread(&self.plugins);
        (!self.frames.views.is_empty()).then_some(self as &dyn FrameFormatter)
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
        self.plugins.meter().enter(&frame.id, || false);
        let ladder = Rc::clone(&self.frames);
        let about = FormatRequest { item: frame, session, call: None };
        Ok(self.verdict(&ScriptItem { about, ladder, is_frame: true }))
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
        for who in self.plugins.order() {
            if let Some(native) = self.plugins.native(*who) {
                blocks.extend(native.observed_moment(moment, session));
            }
            let Some(plugin) = self.plugins.get(*who) else { continue };
            let mut functions = plugin.registered().hooks(event).peekable();
            if functions.peek().is_none() || plugin.is_off() {
                continue;
            }
            let hooks = || {
                for function in functions {
                    blocks.extend(self.hook(plugin, function, event, moment, session));
                }
            };
            if let Observation::Complete(item) = moment {
                let call = item.call.as_ref().and_then(|id| session.call(id));
                self.plugins.current.show(FormatRequest { item, session, call }, hooks);
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
        let all = self.plugins.all().iter();
        let kept: KeptStates = all.map(|plugin| (plugin.pack_name().to_owned(), plugin.state())).collect();
        Some(Box::new(kept))
    }

    fn resume(&self, memory: Option<Box<dyn Any>>, session: &Session) {
        for native in self.plugins.natives().all() {
            // What it shows at the beginning was already shown.
            drop(native.observed_moment(Observation::Begin, session));
        }
        let kept = memory.and_then(|memory| memory.downcast::<KeptStates>().ok());
        for plugin in self.plugins.all() {
            let before =
                kept.iter().flat_map(|kept| kept.iter()).find(|(name, _)| name == plugin.pack_name());
            self.plugins.current.note(session);
            if let (Some(reload), Some((_, (_, before)))) = (plugin.reload(), before) {
                if let Err(stop) = plugin.take_over(&reload, before) {
                    self.plugins.fail(plugin, &reload, stop, "taking over its state", BELOW);
                }
            } else {
                // What it shows at the beginning was already shown.
                for function in plugin.registered().hooks(HookEvent::Start) {
                    self.hook(plugin, function, HookEvent::Start, Observation::Begin, session);
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
        moment: Observation<'_>,
        session: &Session,
    ) -> Vec<Block> {
        let nothing = Item::new("session", Kind::Notice, 0);
        let item = match moment {
            Observation::Complete(item) => item,
            _ => &nothing,
        };
        let about = FormatRequest { item, session, call: None };
        let focus = ScriptItem { about, ladder: Rc::default(), is_frame: false };
        let context = &plugin.context;
        let answer = match moment {
            Observation::Complete(_) => plugin.call_hook(function, (Handle::item(), context)),
            _ => match event_table(plugin.lua(), event) {
                Ok(event) => plugin.call_hook(function, (event, context)),
                Err(error) => Err(Stop::of(error)),
            },
        };
        let used = self.used(&focus, plugin, function, answer, |reader, value| {
            reader.body(&value).map(|body| Some(View::of(body)))
        });
        match used {
            Given::Use(view) if !view.is_blank() => view.body,
            Given::Use(_) | Given::Hide | Given::Nothing => Vec::new(),
        }
    }
}

/// The argument of functions for the beginning and the end of a session.
fn event_table(lua: &Lua, event: HookEvent) -> mlua::Result<Table> {
    let table = lua.create_table_from([("kind", event.name())])?;
    close(lua, &table, "event", Vec::new(), " (it has a kind and nothing else)")?;
    Ok(table)
}

/// Checks that a view has visible content. A blank view is an error, since `false` is the way to hide an item; `what` names the
/// value in the message. The exception is an item without text, such as the result of a command without output: then blanks are
/// shown unchanged, and an empty view leaves the item to the layer below.
fn visible(focus: &ScriptItem<'_>, view: View, what: &str) -> Result<Option<View>, AnswerFault> {
    // The view of a frame may be all that shows the record, so an empty line counts.
    if focus.is_frame && !view.body.is_empty() {
        return Ok(Some(view));
    }
    if view.is_blank() && !focus.about.item.is_blank() {
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
