//! The layers: what plugins registered, and the profile's rules for tools, in order of precedence.
//!
//! Each field of a tool is looked up separately, from the top layer down.

use std::rc::Rc;

use mlua::{Function, Table, Value};
use streamfmt_core::item::{Action, Item, Kind};
use streamfmt_core::profile::Selector;

use super::{dialect, records, writer};
use crate::tools::field::{FieldValue, ToolField};
use crate::tools::pattern::{Pattern, Rule};
use crate::tools::rule::{Origin, ToolRule};
use crate::tools::template::Template;

/// A rule whose answers carry their source.
type SourcedRule = Rule<(FieldAnswer, Rc<AnswerSource>)>;

/// A layer's answer for one field.
#[derive(Clone, Debug)]
pub(crate) enum FieldAnswer {
    /// A text with placeholders.
    Template(Template),
    /// A word: a glyph, a role, or the part to collapse.
    Word(String),
    /// A Lua function, called for each item.
    Function(Function),
    /// A native plugin, called for each item.
    Native,
}

impl From<FieldValue> for FieldAnswer {
    fn from(value: FieldValue) -> Self {
        match value {
            FieldValue::Template(template) => Self::Template(template),
            FieldValue::Word(word) => Self::Word(word),
        }
    }
}

/// The source of an answer.
#[derive(Debug, Default)]
pub(crate) struct AnswerSource {
    /// The tool pattern or kind that it was registered for.
    pub(crate) pattern: String,
    /// The place where it was registered.
    pub(crate) origin: Option<Origin>,
}

/// Everything in one layer: what a plugin registered, or the rules of the profile.
#[derive(Default)]
pub(crate) struct Registered {
    rules: Vec<SourcedRule>,
    views: Vec<(Viewed, FieldAnswer, Rc<AnswerSource>)>,
    hooks: Vec<(HookEvent, Function)>,
    pub(super) dialects: Vec<dialect::DialectRegistration>,
    pub(super) writers: Vec<writer::Registration>,
    pub(super) accumulators: Vec<records::RecordsRegistration>,
}

/// The fields that replace the whole view of a call and of its result.
const WHOLE: &[ToolField] = &[ToolField::Call, ToolField::Result];

/// Something that a plugin registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Its function and target: `tool Bash`, `view reply`, `on call`, `writer jira`, `records poll`, `redact`.
    pub what: String,
    /// The fields that it sets for a tool, or the secrets that it masks.
    pub fields: Vec<&'static str>,
    /// The file and line where it was registered, or where its function begins.
    pub place: Option<(String, usize)>,
}

/// The owner of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LayerId {
    /// A plugin in Lua, counted from the lowest.
    Plugin(usize),
    /// A native plugin, counted from the lowest.
    Native(usize),
    /// The profile.
    Profile,
}

/// The target of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Viewed {
    /// Items of a kind.
    Items(Kind),
    /// Whole records of the stream.
    Frames,
}

impl Viewed {
    /// Its name.
    fn name(self) -> &'static str {
        match self {
            Self::Items(kind) => kind.name(),
            Self::Frames => "frame",
        }
    }
}

/// An event that a plugin can register for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookEvent {
    /// Before the first item.
    Start,
    /// After the end of the input.
    End,
    /// An item is complete.
    Item(Kind),
}

impl HookEvent {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start => "session.start",
            Self::End => "session.end",
            Self::Item(kind) => kind.name(),
        }
    }
}

impl Registered {
    /// Reads the rules of a profile. An invalid rule or field is ignored.
    pub(super) fn of_profile(rules: &[ToolRule]) -> Self {
        let read = |rule: &ToolRule| {
            Rule::read(rule, |value, origin| {
                let source = AnswerSource { pattern: rule.pattern.clone(), origin: Some(origin.clone()) };
                (value.into(), Rc::new(source))
            })
        };
        Self { rules: rules.iter().filter_map(read).collect(), ..Self::default() }
    }

    /// The groups that a native plugin formats: calls, results, other kinds, and tools.
    pub(super) fn of_native(formats: &[Selector]) -> Self {
        let mut registered = Self::default();
        let any = || Pattern::Glob("*".to_owned());
        for group in formats {
            let (pattern, fields, name) = match group {
                Selector::Kind(Kind::Call) => (any(), &[ToolField::Call][..], "call"),
                Selector::Kind(Kind::Result) => (any(), &[ToolField::Result][..], "result"),
                Selector::Kind(kind) => {
                    let viewed = Viewed::Items(*kind);
                    if registered.views.iter().all(|(known, ..)| *known != viewed) {
                        let source = AnswerSource { pattern: kind.name().to_owned(), origin: None };
                        registered.views.push((viewed, FieldAnswer::Native, Rc::new(source)));
                    }
                    continue;
                }
                Selector::Tool(tool) if tool.contains('*') => {
                    (Pattern::Glob(tool.clone()), WHOLE, tool.as_str())
                }
                Selector::Tool(tool) => (Pattern::Exact(tool.clone()), WHOLE, tool.as_str()),
                Selector::Action(action) => (Pattern::Action(action.clone()), WHOLE, action.as_str()),
                // The library's table can't contain any other selector.
                _ => continue,
            };
            let source = Rc::new(AnswerSource { pattern: name.to_owned(), origin: None });
            let fields = fields.iter().map(|field| (*field, (FieldAnswer::Native, Rc::clone(&source))));
            registered.rules.push(Rule { pattern, fields: fields.collect() });
        }
        registered
    }

    /// Whether it affects neither items nor records. It may still have dialects and writers.
    pub(super) fn affects_nothing(&self) -> bool {
        self.rules.is_empty()
            && self.accumulators.is_empty()
            && self.views.is_empty()
            && self.hooks.is_empty()
    }

    /// Registers `sf.tool`.
    pub(super) fn tool(&mut self, pattern: &str, spec: &Table, origin: Option<Origin>) -> Result<(), String> {
        let source = Rc::new(AnswerSource { pattern: pattern.to_owned(), origin });
        let pattern = Pattern::parse(pattern)?;
        let mut fields = Vec::new();
        for pair in spec.pairs() {
            let (key, value) = pair.map_err(|error| error.to_string())?;
            let (field, answer) = read_field(&key, value)?;
            fields.push((field, (answer, Rc::clone(&source))));
        }
        self.rules.push(Rule { pattern, fields });
        Ok(())
    }

    /// Registers `sf.view`.
    pub(super) fn view(
        &mut self,
        kind: &str,
        function: &Function,
        origin: Option<Origin>,
    ) -> Result<(), String> {
        let source = AnswerSource { pattern: kind.to_owned(), origin };
        let of = match kind_named(kind) {
            Some(Kind::Call | Kind::Result) => {
                return Err(format!("a {kind} belongs to a tool: sf.tool(\"*\", …)"));
            }
            Some(kind) => Viewed::Items(kind),
            None if kind == Viewed::Frames.name() => Viewed::Frames,
            None => return Err(format!("unknown kind \"{kind}\" (one of: {}, frame)", kinds())),
        };
        self.views.push((of, FieldAnswer::Function(function.clone()), Rc::new(source)));
        Ok(())
    }

    /// Registers `sf.on`.
    pub(super) fn on(&mut self, kind: &str, function: &Function, _: Option<Origin>) -> Result<(), String> {
        let event = match kind {
            "session.start" => HookEvent::Start,
            "session.end" => HookEvent::End,
            kind => HookEvent::Item(kind_named(kind).ok_or_else(|| {
                format!("unknown kind \"{kind}\" (session.start, session.end, {})", kinds())
            })?),
        };
        self.hooks.push((event, function.clone()));
        Ok(())
    }

    /// Everything registered, in this order: tools, views, events, dialects, writers, accumulators.
    pub(crate) fn hooks_of_all(&self) -> Vec<Hook> {
        let place = |origin: Option<&Origin>| origin.map(|origin| (origin.file.clone(), origin.line));
        let hook = |what: String, place| Hook { what, fields: Vec::new(), place };
        let tools = self.rules.iter().map(|rule| {
            let source = rule.fields.first().map(|(_, (_, source))| source);
            let has_field = |field: ToolField| rule.fields.iter().any(|(known, ..)| *known == field);
            let fields = ToolField::ALL.iter().filter(|field| has_field(**field)).map(|field| field.name());
            let what = format!("tool {}", source.map_or("", |source| source.pattern.as_str()));
            let place = source.and_then(|source| place(source.origin.as_ref()));
            Hook { fields: fields.collect(), ..hook(what, place) }
        });
        let views = self.views.iter();
        let views =
            views.map(|(of, _, source)| hook(format!("view {}", of.name()), place(source.origin.as_ref())));
        let begin = |function: &Function| {
            let info = function.info();
            let file = info.short_src.map(|file| file.trim_start_matches('=').to_owned());
            file.zip(info.line_defined)
        };
        let events = self.hooks.iter();
        let events = events.map(|(event, function)| hook(format!("on {}", event.name()), begin(function)));
        let dialects = self.dialects.iter();
        let dialects =
            dialects.map(|dialect| hook(format!("dialect {}", dialect.name), begin(&dialect.parse)));
        let writers = self.writers.iter();
        let writers = writers
            .map(|writer| hook(format!("writer {}", writer.known.name), writer.first().and_then(begin)));
        let accumulators = self.accumulators.iter();
        let accumulators =
            accumulators.map(|known| hook(format!("records {}", known.name), begin(&known.add)));
        tools.chain(views).chain(events).chain(dialects).chain(writers).chain(accumulators).collect()
    }

    /// Registers `sf.dialect`.
    pub(super) fn dialect(&mut self, name: &str, spec: &Table, _: Option<Origin>) -> Result<(), String> {
        if self.dialects.iter().any(|known| known.name == name) {
            return Err(format!("the dialect {name} is defined twice"));
        }
        self.dialects.push(dialect::DialectRegistration::read(name, spec)?);
        Ok(())
    }

    /// Registers `sf.writer`.
    pub(super) fn writer(&mut self, name: &str, spec: &Table, _: Option<Origin>) -> Result<(), String> {
        if self.writers.iter().any(|writer| writer.known.name == name) {
            return Err(format!("the writer {name} is defined twice"));
        }
        self.writers.push(writer::Registration::read(name, spec)?);
        Ok(())
    }

    /// Registers `sf.records`.
    pub(super) fn records(&mut self, name: &str, spec: &Table, _: Option<Origin>) -> Result<(), String> {
        if self.accumulators.iter().any(|known| known.name == name) {
            return Err(format!("the accumulator {name} is defined twice"));
        }
        self.accumulators.push(records::RecordsRegistration::read(name, spec)?);
        Ok(())
    }

    /// The sources of its rules for tools.
    pub(super) fn tools(&self) -> impl Iterator<Item = &AnswerSource> {
        self.rules.iter().filter_map(|rule| rule.fields.first()).map(|(_, (_, source))| &**source)
    }

    /// The roles that it names, each with its origin if known.
    pub(super) fn roles(&self) -> impl Iterator<Item = (&str, Option<&Origin>)> {
        let fields = self.rules.iter().flat_map(|rule| &rule.fields);
        let of_tools = fields.filter_map(|(field, (answer, source))| match answer {
            FieldAnswer::Word(role) if *field == ToolField::Role => {
                Some((role.as_str(), source.origin.as_ref()))
            }
            _ => None,
        });
        of_tools.chain(self.writers.iter().flat_map(writer::Registration::roles).map(|role| (role, None)))
    }

    /// The functions registered for an event, in the order registered.
    pub(super) fn hooks(&self, event: HookEvent) -> impl Iterator<Item = &Function> {
        self.hooks.iter().filter(move |(waiting, _)| *waiting == event).map(|(_, function)| function)
    }
}

/// One step of a ladder: a layer and its answer.
#[derive(Clone, Debug)]
pub(crate) struct LadderStep {
    pub(crate) who: LayerId,
    pub(crate) answer: FieldAnswer,
    pub(crate) source: Rc<AnswerSource>,
}

/// The layers that have an answer for one tool or view, from the top down.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ladder {
    fields: [Vec<LadderStep>; 8],
    /// The steps for whole records and for kinds other than calls and results.
    pub(crate) views: Vec<LadderStep>,
}

impl Ladder {
    /// The ladder of a tool.
    pub(crate) fn of_tool<'a>(
        layers: impl DoubleEndedIterator<Item = (LayerId, &'a Registered)>,
        tool: &str,
        action: Option<Action>,
    ) -> Rc<Self> {
        let mut ladder = Self::default();
        for (who, registered) in layers.rev() {
            for rule in Rule::matching(&registered.rules, tool, action) {
                for (field, (answer, source)) in &rule.fields {
                    // A native plugin is called once, even if several of its groups match.
                    let is_twice =
                        |step: &LadderStep| step.who == who && matches!(step.answer, FieldAnswer::Native);
                    if ladder.fields[*field as usize].iter().any(is_twice) {
                        continue;
                    }
                    let step = LadderStep { who, answer: answer.clone(), source: Rc::clone(source) };
                    ladder.fields[*field as usize].push(step);
                }
            }
        }
        Rc::new(ladder)
    }

    /// The ladder of a view.
    pub(crate) fn of_views<'a>(
        layers: impl DoubleEndedIterator<Item = (LayerId, &'a Registered)>,
        viewed: Viewed,
    ) -> Rc<Self> {
        let mut ladder = Self::default();
        for (who, registered) in layers.rev() {
            let fitting = registered.views.iter().rev().filter(|(of, ..)| *of == viewed);
            ladder.views.extend(fitting.map(|(_, answer, source)| LadderStep {
                who,
                answer: answer.clone(),
                source: Rc::clone(source),
            }));
        }
        Rc::new(ladder)
    }

    /// A ladder with one step for `field`.
    pub(super) fn of_step(field: ToolField, step: &LadderStep) -> Rc<Self> {
        let mut ladder = Self::default();
        ladder.fields[field as usize].push(step.clone());
        Rc::new(ladder)
    }

    /// Whether a rule names this tool exactly.
    pub(crate) fn names(&self, tool: &str) -> bool {
        self.fields.iter().flatten().any(|step| step.source.pattern == tool)
    }

    /// The steps for `field`.
    pub(crate) fn field(&self, field: ToolField) -> &[LadderStep] {
        &self.fields[field as usize]
    }

    /// Whether no layer formats this item.
    pub(super) fn passes(&self, item: &Item) -> bool {
        // A custom view of a call changes what remains to be shown of its result.
        let has_call_steps = item.kind == Kind::Result && self.call_steps().next().is_some();
        !has_call_steps && self.steps(item).next().is_none()
    }

    /// The steps that show the arguments of a call.
    pub(super) fn call_steps(&self) -> impl Iterator<Item = &LadderStep> {
        self.field(ToolField::Arg).iter().chain(self.field(ToolField::Call))
    }

    /// Whether exactly one function of a plugin formats this item.
    pub(super) fn is_lone(&self, item: &Item) -> bool {
        let mut steps = self.steps(item).filter(|step| step.who != LayerId::Profile);
        steps.next().is_some_and(|step| matches!(step.answer, FieldAnswer::Function(_) | FieldAnswer::Native))
            && steps.next().is_none()
    }

    /// All steps that apply to this item.
    fn steps(&self, item: &Item) -> impl Iterator<Item = &LadderStep> {
        let fields = ToolField::of_kind(item.kind);
        let views = if fields.is_empty() { &self.views[..] } else { &[] };
        fields.iter().flat_map(|field| self.field(*field)).chain(views)
    }
}

fn read_field(key: &Value, value: Value) -> Result<(ToolField, FieldAnswer), String> {
    let key = match key {
        Value::String(key) => key.to_string_lossy(),
        other => return Err(format!("a field has a name, not {}", super::item::a_type(other))),
    };
    let Ok(field) = key.parse::<ToolField>() else {
        let hint = crate::problem::suggestion(&key, ToolField::ALL.iter().map(|field| field.name()));
        return Err(format!("unknown field \"{key}\" {hint}"));
    };
    let answer = match value {
        Value::Function(function)
            if !matches!(field, ToolField::Icon | ToolField::Role | ToolField::Collapse) =>
        {
            FieldAnswer::Function(function)
        }
        Value::String(text) if !matches!(field, ToolField::Call | ToolField::Result) => {
            let value = FieldValue::parse(field, &text.to_string_lossy());
            value.map_err(|wrong| format!("{key}: {wrong}"))?.into()
        }
        Value::Boolean(true) if field == ToolField::Collapse => FieldAnswer::Word("both".to_owned()),
        Value::Boolean(false) if field == ToolField::Collapse => FieldAnswer::Word("none".to_owned()),
        other => return Err(format!("{key} can't be {}", super::item::a_type(&other))),
    };
    Ok((field, answer))
}

fn kind_named(name: &str) -> Option<Kind> {
    name.parse().ok()
}

fn kinds() -> String {
    Kind::NAMES.join(", ")
}
