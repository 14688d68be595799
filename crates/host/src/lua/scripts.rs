//! The formatter that asks plugins, one after the other, and the built-in one below them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use mlua::{Function, Lua, Value};
use streamfmt_core::entry::{Block, Line, Role, Span, View};
use streamfmt_core::formatter::standard::Standard;
use streamfmt_core::formatter::{FormatError, Formatter, Moment, Verdict};
use streamfmt_core::item::{Action, Item, Kind};
use streamfmt_core::json;
use streamfmt_core::profile::{Detail, Profile};
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;
use streamfmt_core::theme;

use super::block::{Reader, Wrong, to_lua};
use super::item::Current;
use super::journal::{Journal, Warning};
use super::layers::{Answer, Event, Field, Ladder, Step};
use super::pack::Pack;
use super::plugin::{Failure, Running};
use super::template::Template;

/// Walks that are remembered, by tool.
const MOST_LADDERS: usize = 1_024;
/// Longest argument that stands in a title, in bytes.
const SHORT: usize = 160;

/// All plugins of a run, the lowest first.
pub(crate) struct Scripts {
    plugins: Vec<Running>,
    below: Standard,
    detail: Detail,
    current: Rc<Current>,
    journal: Journal,
    /// Whether failures are told where they happened.
    is_inline: bool,
    ladders: RefCell<Ladders>,
    views: Vec<(Kind, Rc<Ladder>)>,
    failures: RefCell<Vec<FormatError>>,
    /// What is to be told under the next view.
    notes: RefCell<Vec<Line>>,
}

/// The walks of each tool: one, unless it does different things.
type Ladders = IndexMap<String, Vec<(Option<Action>, Rc<Ladder>)>>;

/// The item that is being told.
struct Asked<'a> {
    item: &'a Item,
    session: &'a Session,
    call: Option<&'a Item>,
    ladder: Rc<Ladder>,
}

impl Asked<'_> {
    fn doing(&self) -> String {
        let what = self.tool().unwrap_or(self.item.kind.name());
        let result = if self.item.kind == Kind::Result { "the result of " } else { "" };
        format!("telling {result}{what} (line {})", self.item.line)
    }

    fn tool(&self) -> Option<&str> {
        self.item.tool.as_deref().or_else(|| self.call?.tool.as_deref())
    }
}

/// What one step of a walk gave.
enum Given<T> {
    Use(T),
    Hide,
    Nothing,
}

impl Scripts {
    /// Loads plugins, the lowest first. One that fails is left out; `None` if none is left.
    pub(crate) fn load(
        packs: &[Arc<Pack>],
        profile: &Profile,
        journal: &Journal,
        is_inline: bool,
    ) -> Option<Self> {
        let current = Rc::new(Current::default());
        let mut plugins = Vec::new();
        let mut failures = Vec::new();
        for pack in packs {
            match Running::load(pack, &current, &profile.limits, journal) {
                Ok(plugin) => plugins.push(plugin),
                Err(failure) => {
                    failures.push(error_of(&failure.warning));
                    journal.fail(failure.warning, false);
                }
            }
        }
        if plugins.is_empty() {
            return None;
        }
        // The pipeline folds lines once all is said.
        let below =
            Standard::new(if profile.detail == Detail::Full { Detail::Full } else { Detail::Compact });
        let mut scripts = Self {
            plugins,
            below,
            detail: profile.detail,
            current,
            journal: journal.clone(),
            is_inline,
            ladders: RefCell::default(),
            views: Vec::new(),
            failures: RefCell::new(failures),
            notes: RefCell::default(),
        };
        scripts.views =
            Kind::ALL.map(|kind| (kind, scripts.with_all(|all| Ladder::of_kind(all, kind)))).into();
        Some(scripts)
    }

    fn with_all<R>(
        &self,
        work: impl FnOnce(std::vec::IntoIter<(usize, &super::layers::Registered)>) -> R,
    ) -> R {
        let registered: Vec<_> = self.plugins.iter().map(Running::registered).collect();
        let all: Vec<_> = registered.iter().map(|registered| &**registered).enumerate().collect();
        work(all.into_iter())
    }

    fn ladder(&self, item: &Item, call: Option<&Item>) -> Rc<Ladder> {
        if !matches!(item.kind, Kind::Call | Kind::Result) {
            let known = self.views.iter().find(|(kind, _)| *kind == item.kind);
            return known.map(|(_, ladder)| Rc::clone(ladder)).unwrap_or_default();
        }
        let tool = item.tool.as_deref().or_else(|| call?.tool.as_deref()).unwrap_or_default();
        let action = item.action.or_else(|| call?.action);
        let mut ladders = self.ladders.borrow_mut();
        let known = ladders.get(tool).and_then(|known| known.iter().find(|(of, _)| *of == action));
        if let Some((_, ladder)) = known {
            return Rc::clone(ladder);
        }
        let ladder = self.with_all(|all| Ladder::of_tool(all, tool, action));
        if ladders.len() >= MOST_LADDERS {
            ladders.clear();
        }
        ladders.entry(tool.to_owned()).or_default().push((action, Rc::clone(&ladder)));
        ladder
    }

    /// What is said of the item from step `from` of its walk on.
    fn whole(&self, asked: &Asked<'_>, from: usize) -> Verdict {
        let steps = match asked.item.kind {
            Kind::Call => asked.ladder.field(Field::Call),
            Kind::Result => asked.ladder.field(Field::Result),
            _ => &asked.ladder.views,
        };
        for (at, step) in steps.iter().enumerate().skip(from) {
            let Answer::Function(function) = &step.answer else { continue };
            match self.ask_whole(asked, step, function, at + 1) {
                Given::Use(view) => return Verdict::Show(self.collapsed(asked, view)),
                Given::Hide => return Verdict::Hide,
                Given::Nothing => {}
            }
        }
        self.amended(asked)
    }

    fn ask_whole(&self, asked: &Asked<'_>, step: &Step, function: &Function, next: usize) -> Given<View> {
        let plugin = &self.plugins[step.plugin];
        if plugin.is_off() {
            return Given::Nothing;
        }
        let below = |lua: &Lua| match self.whole(asked, next) {
            Verdict::Show(view) => to_lua(lua, &view),
            Verdict::Hide | Verdict::Pass => Ok(Value::Boolean(false)),
        };
        let (item, context) = (self.current.item(), plugin.context());
        let answer = if asked.item.kind == Kind::Result {
            plugin.call_over(function, (item, self.current.call(), context), &below)
        } else {
            plugin.call_over(function, (item, context), &below)
        };
        self.used(asked, plugin, function, answer, |reader, value| reader.view(value, asked.item))
    }

    /// Makes use of an answer; one that can't be used is told, and as good as none.
    fn used<T>(
        &self,
        asked: &Asked<'_>,
        plugin: &Running,
        function: &Function,
        answer: Result<Value, super::vm::Stop>,
        read: impl FnOnce(&Reader<'_>, Value) -> Result<T, Wrong>,
    ) -> Given<T> {
        let value = match answer {
            Ok(Value::Nil) => return Given::Nothing,
            Ok(Value::Boolean(false)) => return Given::Hide,
            Ok(value) => value,
            Err(stop) => {
                self.tell(plugin, plugin.failed(function, &stop, asked.doing()));
                return Given::Nothing;
            }
        };
        let label = || self.labelled(asked);
        let reader = Reader::new(plugin.lua(), asked.session.facts(), &label);
        match read(&reader, value) {
            Ok(used) => Given::Use(used),
            Err(wrong) => {
                self.tell(plugin, plugin.answered_wrong(function, wrong, asked.doing()));
                Given::Nothing
            }
        }
    }

    /// What the built-in formatter says, with the label, the argument or the summary of plugins.
    fn amended(&self, asked: &Asked<'_>) -> Verdict {
        let Ok(Verdict::Show(view)) = self.below.format(asked.item, asked.session) else {
            // A summary may speak where the built-in formatter has nothing to say.
            return match asked.item.kind {
                Kind::Result => self.summarised(asked, None),
                _ => Verdict::Hide,
            };
        };
        match asked.item.kind {
            Kind::Call => Verdict::Show(self.collapsed(asked, self.titled(asked, view))),
            Kind::Result => self.summarised(asked, Some(view)),
            _ => Verdict::Show(view),
        }
    }

    /// A call's view with the plugins' label, icon and argument.
    fn titled(&self, asked: &Asked<'_>, mut view: View) -> View {
        let arg = self.line(asked, Field::Arg, "call.arg");
        let icon = self.word(asked, Field::Icon);
        let is_label_said = !asked.ladder.field(Field::Label).is_empty()
            || !asked.ladder.field(Field::Role).is_empty()
            || matches!(&icon, Some(icon) if theme::mark(icon).is_none());
        let end = name_end(&view.title);
        if let Some(mark) = icon.as_deref().and_then(theme::mark) {
            view.mark = Some(mark);
        }
        let rest = view.title.spans.split_off(end);
        if is_label_said {
            view.title = self.labelled(asked);
        }
        match arg {
            Given::Nothing => view.title.spans.extend(rest),
            Given::Hide => drop(take_argument(&mut view.body, self.detail)),
            Given::Use(arg) => {
                let before = take_argument(&mut view.body, self.detail);
                let length: usize = arg.spans.iter().map(|span| span.text.len()).sum();
                let has_breaks = arg.spans.iter().any(|span| span.text.contains('\n'));
                if length > SHORT || has_breaks {
                    let text: String = arg.spans.iter().map(|span| span.text.as_str()).collect();
                    let (lang, role) = before.unwrap_or((None, Role::of("call.input")));
                    let text = Text::clean_owned(text);
                    view.body.insert(0, Block::Code { text, lang, start: None, role });
                } else if !arg.is_empty() {
                    if !view.title.is_empty() {
                        view.title.spans.push(Span::new("text", Text::own(" ")));
                    }
                    view.title.spans.extend(arg.spans);
                }
            }
        }
        view
    }

    /// The label of a call: a plugin's, or the tool's name.
    fn labelled(&self, asked: &Asked<'_>) -> Line {
        let role = self.word(asked, Field::Role).as_deref().and_then(Role::parse);
        let usual = role.as_ref().map_or("tool.name", Role::name);
        let mut line = match self.line(asked, Field::Label, usual) {
            Given::Use(label) => label,
            Given::Hide => Line::default(),
            Given::Nothing => {
                let mut line = self.below.label(asked.call.unwrap_or(asked.item), asked.session);
                if let (Some(role), Some(name)) = (role, line.spans.last_mut()) {
                    name.role = role;
                }
                line
            }
        };
        if let Some(icon) = self.word(asked, Field::Icon).filter(|icon| theme::mark(icon).is_none()) {
            line.spans.insert(0, Span::new("tool.icon", Text::clean_owned(format!("{icon} "))));
        }
        line
    }

    /// A result's view with the plugins' summary.
    fn summarised(&self, asked: &Asked<'_>, view: Option<View>) -> Verdict {
        match (self.line(asked, Field::Summary, "result.note"), view) {
            (Given::Hide, _) | (Given::Nothing, None) => Verdict::Hide,
            (Given::Nothing, Some(view)) => Verdict::Show(self.collapsed(asked, view)),
            (Given::Use(title), view) => {
                let mut view = view.unwrap_or_default();
                view.title = title;
                if self.detail != Detail::Full {
                    view.body.clear();
                }
                Verdict::Show(self.collapsed(asked, view))
            }
        }
    }

    /// The view with its body folded away, if a plugin wants that.
    fn collapsed(&self, asked: &Asked<'_>, mut view: View) -> View {
        let wanted = self.word(asked, Field::Collapse);
        let is_wanted = match (wanted.as_deref(), asked.item.kind) {
            (Some("both"), Kind::Call | Kind::Result) => true,
            (Some(word), kind) => word == kind.name(),
            (None, _) => false,
        };
        let is_folded = matches!(view.body[..], [] | [Block::Details { .. }]);
        if is_wanted && !is_folded {
            let body = std::mem::take(&mut view.body);
            let summary = Line::of("details.summary", Text::own("details"));
            view.body.push(Block::Details { summary, body });
        }
        view
    }

    /// The first answer to a field, as one line.
    fn line(&self, asked: &Asked<'_>, field: Field, role: &str) -> Given<Line> {
        for step in asked.ladder.field(field) {
            let plugin = &self.plugins[step.plugin];
            if plugin.is_off() {
                continue;
            }
            let given = match &step.answer {
                Answer::Word(_) => Given::Nothing,
                Answer::Template(template) => match filled(template, field, asked) {
                    Some(text) => Given::Use(Line { spans: vec![whole_span(role, text)] }),
                    None => Given::Nothing,
                },
                Answer::Function(function) => {
                    let (item, call) = (self.current.item(), self.current.call());
                    let answer = match field {
                        Field::Arg => self.input(plugin.lua(), asked).and_then(|input| {
                            let call = call.unwrap_or(item);
                            plugin.call(function, (input, call))
                        }),
                        Field::Label => plugin.call(function, call.unwrap_or(item)),
                        _ => plugin.call(function, (item, call)),
                    };
                    self.used(asked, plugin, function, answer, |reader, value| match value {
                        // A long text is told under the title.
                        Value::String(text) if field == Field::Arg => {
                            let text =
                                Text::clean_owned(String::from_utf8_lossy(&text.as_bytes()).into_owned());
                            Ok(Line { spans: vec![whole_span(role, text)] })
                        }
                        value => reader.line(&value, role),
                    })
                }
            };
            if !matches!(given, Given::Nothing) {
                return given;
            }
        }
        Given::Nothing
    }

    fn input(&self, lua: &Lua, asked: &Asked<'_>) -> Result<Value, super::vm::Stop> {
        let handle = asked.call.map_or_else(|| Some(self.current.item()), |_| self.current.call());
        let input = handle.map_or(Ok(Value::Nil), |handle| handle.input(lua));
        input.map_err(|error| super::vm::Stop { trip: None, error: Some(error) })
    }

    fn word(&self, asked: &Asked<'_>, field: Field) -> Option<String> {
        asked.ladder.field(field).iter().find_map(|step| match &step.answer {
            Answer::Word(word) if !self.plugins[step.plugin].is_off() => Some(word.clone()),
            _ => None,
        })
    }

    /// Takes in a failure: it is counted, and told if it is new.
    fn tell(&self, plugin: &Running, failure: Failure) {
        let mut failures = self.failures.borrow_mut();
        // Nothing that is formatted without end may pile these up.
        if failures.len() < 64 {
            failures.push(error_of(&failure.warning));
        }
        let text = format!("{} failed: {}", failure.warning.plugin, failure.warning.message);
        let is_first = self.journal.fail(failure.warning, self.is_inline);
        if is_first && self.is_inline {
            self.notes.borrow_mut().push(Line::of("notice.warning", text));
        }
        if plugin.is_off() {
            let (why, outcome) = match failure.trip {
                Some(_) => ("it ran into limits too often", "it is off for the rest of the run"),
                None => ("it failed too often", "it is off for the rest of the run"),
            };
            let warning = Warning {
                plugin: plugin.name(),
                doing: "it ran".to_owned(),
                place: None,
                message: why.to_owned(),
                outcome,
            };
            self.journal.fail(warning, false);
        }
    }
}

impl Formatter for Scripts {
    fn name(&self) -> &'static str {
        "plugins"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        let call = item.call.as_ref().filter(|_| item.kind == Kind::Result).and_then(|id| session.call(id));
        let ladder = self.ladder(item, call);
        if ladder.is_silent(item) {
            return Ok(Verdict::Pass);
        }
        self.current.enter(item, call, session);
        let verdict = self.whole(&Asked { item, session, call, ladder }, 0);
        self.current.leave();
        Ok(match verdict {
            Verdict::Show(mut view) => {
                let notes = std::mem::take(&mut *self.notes.borrow_mut());
                if !notes.is_empty() {
                    view.body.push(Block::Lines { lines: notes });
                }
                Verdict::Show(view)
            }
            verdict => verdict,
        })
    }

    fn observe(&self, moment: Moment<'_>, session: &Session) -> Vec<Block> {
        let event = match moment {
            Moment::Begin => Event::Start,
            Moment::End => Event::End,
            Moment::Complete(item) => Event::Item(item.kind),
        };
        let mut said = Vec::new();
        for plugin in self.plugins.iter().filter(|plugin| !plugin.is_off()) {
            let functions: Vec<Function> = plugin.registered().hooks(event).cloned().collect();
            if functions.is_empty() {
                continue;
            }
            match moment {
                Moment::Complete(item) => {
                    let call = item.call.as_ref().and_then(|id| session.call(id));
                    self.current.enter(item, call, session);
                }
                _ => self.current.note(session),
            }
            for function in &functions {
                said.extend(self.hook(plugin, function, event, moment, session));
            }
            self.current.leave();
        }
        said
    }

    fn take_failures(&self) -> Vec<FormatError> {
        if self.failures.borrow().is_empty() {
            return Vec::new();
        }
        std::mem::take(&mut self.failures.borrow_mut())
    }
}

impl Scripts {
    fn hook(
        &self,
        plugin: &Running,
        function: &Function,
        event: Event,
        moment: Moment<'_>,
        session: &Session,
    ) -> Vec<Block> {
        let nothing = Item::new("session", Kind::Notice, 0);
        let item = match moment {
            Moment::Complete(item) => item,
            _ => &nothing,
        };
        let asked = Asked { item, session, call: None, ladder: Rc::default() };
        let context = plugin.context();
        let answer = match moment {
            Moment::Complete(_) => plugin.call_hook(function, (self.current.item(), context)),
            _ => match plugin.lua().create_table_from([("kind", event.name())]) {
                Ok(event) => plugin.call_hook(function, (event, context)),
                Err(error) => Err(super::vm::Stop { trip: None, error: Some(error) }),
            },
        };
        #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is less general")]
        let used = self.used(&asked, plugin, function, answer, |reader, value| reader.body(value));
        match used {
            Given::Use(blocks) => blocks,
            Given::Hide | Given::Nothing => Vec::new(),
        }
    }
}

fn error_of(warning: &Warning) -> FormatError {
    let place = match &warning.place {
        Some((file, line, _)) => format!("{file}:{line}"),
        None => warning.plugin.clone(),
    };
    FormatError { message: format!("{place}: {}", super::journal::short(&warning.message)) }
}

/// Where the name of the tool ends in a title: after its span.
fn name_end(title: &Line) -> usize {
    title.spans.iter().position(|span| span.role.name() == "tool.name").map_or(0, |at| at + 1)
}

/// Takes out the long form of an argument, which another one replaces; in full everything stays. Gives what
/// it was.
fn take_argument(body: &mut Vec<Block>, detail: Detail) -> Option<(Option<Text>, Role)> {
    if detail == Detail::Full {
        return None;
    }
    let mut first = None;
    body.retain_mut(|block| match block {
        Block::Code { lang, role, .. } if role.name().starts_with("call.") => {
            first = first.take().or_else(|| Some((lang.take(), role.clone())));
            false
        }
        Block::Lines { lines } => {
            let is_input =
                |line: &Line| line.spans.first().is_some_and(|it| it.role.name().starts_with("call."));
            !lines.iter().all(is_input)
        }
        _ => true,
    });
    first
}

/// A span that keeps its line feeds: it is told under the title then.
fn whole_span(role: &str, text: Text) -> Span {
    Span { text, role: Role::parse(role).unwrap_or(Role::of("text")), link: None }
}

/// A template with the fields of an item.
fn filled(template: &Template, field: Field, asked: &Asked<'_>) -> Option<Text> {
    let item = asked.item;
    let of_call = |name: &str| match name {
        "name" => asked.tool().map(str::to_owned),
        "action" => item.action.map(|action| action.name().to_owned()),
        _ => item.fact(name)?.str().map(Into::into),
    };
    let of_result = |name: &str| match name {
        "text" => item.text().lines().next().map(str::to_owned),
        "lines" if item.fact("lines").is_none() => Some(item.text().lines().count().to_string()),
        _ => {
            let fact = item.fact(name)?;
            fact.str().map(Into::into).or_else(|| fact.int().map(|number| number.to_string()))
        }
    };
    let filled = template.fill(|keys| {
        let simple = match (field, keys) {
            (Field::Label, [name]) if name == "tool" => {
                of_call("tool").or_else(|| asked.tool().map(str::to_owned))
            }
            (Field::Label, [name]) => of_call(name),
            (Field::Summary, [name]) => of_result(name),
            _ => None,
        };
        simple.or_else(|| {
            let mut value = if field == Field::Summary { None } else { item.input() }?;
            for key in keys {
                value = match value.kind() {
                    json::Kind::Array => value.items().nth(key.parse().ok()?)?,
                    _ => value.get(key)?,
                };
            }
            match value.kind() {
                json::Kind::String => value.decode().map(Into::into),
                json::Kind::Number | json::Kind::True | json::Kind::False => Some(value.raw().to_owned()),
                _ => None,
            }
        })
    })?;
    Some(Text::clean_owned(filled))
}
