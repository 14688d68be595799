//! What a layer consists of: what a plugin registered, or the profile's rules for tools.

use mlua::{Function, Table, Value};
use streamfmt_core::item::Kind;
use streamfmt_core::profile::Selector;
use streamfmt_core::redact::Redaction;

use super::item::a_type;
use super::registrations::{DialectRegistration, RecordsRegistration, WriterRegistration};
use crate::tools::field::{FieldValue, ToolField};
use crate::tools::overrides::Override;
use crate::tools::pattern::{Pattern, Rule};
use crate::tools::rule::{Origin, ToolRule};

/// An override whose functions are in Lua.
pub(crate) type ScriptOverride = Override<Function>;

/// Everything in one layer: what a plugin registered, or the rules of the profile.
#[derive(Default)]
pub(crate) struct Registered {
    pub(crate) rules: Vec<Rule<Function>>,
    pub(crate) views: Vec<(Viewed, ScriptOverride)>,
    hooks: Vec<(HookEvent, Function)>,
    pub(crate) dialects: Vec<DialectRegistration>,
    pub(crate) writers: Vec<WriterRegistration>,
    pub(crate) accumulators: Vec<RecordsRegistration>,
    /// What is to be masked.
    pub(crate) redaction: Redaction,
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
pub(crate) enum HookEvent {
    /// Before the first item.
    Start,
    /// After the end of the input.
    End,
    /// An item is complete.
    Item(Kind),
}

impl HookEvent {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "session.start",
            Self::End => "session.end",
            Self::Item(kind) => kind.name(),
        }
    }
}

impl Registered {
    /// Reads the rules of a profile. An invalid rule or field is ignored.
    pub(crate) fn of_profile(rules: &[ToolRule]) -> Self {
        Self { rules: rules.iter().filter_map(Rule::read).collect(), ..Self::default() }
    }

    /// The groups that a native plugin formats: calls, results, other kinds, and tools.
    pub(crate) fn of_native(formats: &[Selector]) -> Self {
        let mut registered = Self::default();
        let any = || Pattern::Glob("*".to_owned());
        for group in formats {
            let (pattern, fields, name) = match group {
                Selector::Kind(Kind::Call) => (any(), &[ToolField::Call][..], "call"),
                Selector::Kind(Kind::Result) => (any(), &[ToolField::Result][..], "result"),
                Selector::Kind(kind) => {
                    let viewed = Viewed::Items(*kind);
                    if registered.views.iter().all(|(known, _)| *known != viewed) {
                        let view = Override::new(None, FieldValue::Native, kind.name(), None);
                        registered.views.push((viewed, view));
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
            let overrides =
                fields.iter().map(|field| Override::new(Some(*field), FieldValue::Native, name, None));
            registered.rules.push(Rule { pattern, overrides: overrides.collect() });
        }
        registered
    }

    /// Whether it affects neither items nor records. It may still have dialects and writers.
    pub(crate) fn affects_nothing(&self) -> bool {
        self.rules.is_empty()
            && self.accumulators.is_empty()
            && self.views.is_empty()
            && self.hooks.is_empty()
    }

    /// Registers `sf.tool`.
    pub(crate) fn tool(&mut self, pattern: &str, spec: &Table, place: Option<Origin>) -> Result<(), String> {
        let mut rule = Rule { pattern: Pattern::parse(pattern)?, overrides: Vec::new() };
        let any = Override::new(None, FieldValue::Native, pattern, place);
        for pair in spec.pairs() {
            let (key, value) = pair.map_err(|error| error.to_string())?;
            let (field, value) = read_field(&key, value)?;
            rule.overrides.push(Override { field: Some(field), value, ..any.clone() });
        }
        self.rules.push(rule);
        Ok(())
    }

    /// Registers `sf.view`.
    pub(crate) fn view(
        &mut self,
        kind: &str,
        function: &Function,
        origin: Option<Origin>,
    ) -> Result<(), String> {
        let of = match kind.parse().ok() {
            Some(Kind::Call | Kind::Result) => {
                return Err(format!("a {kind} belongs to a tool: sf.tool(\"*\", …)"));
            }
            Some(kind) => Viewed::Items(kind),
            None if kind == Viewed::Frames.name() => Viewed::Frames,
            None => {
                return Err(format!("unknown kind \"{kind}\" (one of: {}, frame)", Kind::NAMES.join(", ")));
            }
        };
        self.views.push((of, Override::new(None, FieldValue::Function(function.clone()), kind, origin)));
        Ok(())
    }

    /// Registers `sf.on`.
    pub(crate) fn on(&mut self, kind: &str, function: &Function, _: Option<Origin>) -> Result<(), String> {
        let event = match kind {
            "session.start" => HookEvent::Start,
            "session.end" => HookEvent::End,
            kind => HookEvent::Item(kind.parse().map_err(|_| {
                format!("unknown kind \"{kind}\" (session.start, session.end, {})", Kind::NAMES.join(", "))
            })?),
        };
        self.hooks.push((event, function.clone()));
        Ok(())
    }

    /// Everything registered, in this order: tools, views, events, dialects, writers, accumulators.
    pub(crate) fn hooks_of_all(&self) -> Vec<Hook> {
        let registered = |what: String, origin: Option<&Origin>| {
            let place = origin.map(|origin| (origin.file.clone(), origin.line));
            Hook { what, fields: Vec::new(), place }
        };
        let defined = |what: String, function: Option<&Function>| {
            let info = function.map(Function::info);
            let place = info.and_then(|info| info.short_src.zip(info.line_defined));
            let place = place.map(|(file, line)| (file.trim_start_matches('=').to_owned(), line));
            Hook { what, fields: Vec::new(), place }
        };
        let mut hooks = Vec::new();
        for rule in &self.rules {
            let has_field = |field: ToolField| rule.overrides.iter().any(|one| one.field == Some(field));
            let fields = ToolField::ALL.iter().filter(|field| has_field(**field)).map(|field| field.name());
            let (pattern, origin) =
                rule.overrides.first().map_or(("", None), |first| (&first.pattern, first.origin.as_ref()));
            hooks.push(Hook { fields: fields.collect(), ..registered(format!("tool {pattern}"), origin) });
        }
        let views = self.views.iter();
        hooks.extend(views.map(|(of, view)| registered(format!("view {}", of.name()), view.origin.as_ref())));
        let events = self.hooks.iter();
        hooks.extend(events.map(|(on, function)| defined(format!("on {}", on.name()), Some(function))));
        let dialects = self.dialects.iter();
        hooks.extend(dialects.map(|one| defined(format!("dialect {}", one.name), Some(&one.parse))));
        let writers = self.writers.iter();
        hooks.extend(writers.map(|one| defined(format!("writer {}", one.known.name), one.first())));
        let accumulators = self.accumulators.iter();
        hooks.extend(accumulators.map(|one| defined(format!("records {}", one.name), Some(&one.add))));
        hooks
    }

    /// Registers `sf.dialect`.
    pub(crate) fn dialect(&mut self, name: &str, spec: &Table, _: Option<Origin>) -> Result<(), String> {
        if self.dialects.iter().any(|known| known.name == name) {
            return Err(format!("the dialect {name} is defined twice"));
        }
        self.dialects.push(DialectRegistration::read(name, spec)?);
        Ok(())
    }

    /// Registers `sf.writer`.
    pub(crate) fn writer(&mut self, name: &str, spec: &Table, _: Option<Origin>) -> Result<(), String> {
        if self.writers.iter().any(|writer| writer.known.name == name) {
            return Err(format!("the writer {name} is defined twice"));
        }
        self.writers.push(WriterRegistration::read(name, spec)?);
        Ok(())
    }

    /// Registers `sf.records`.
    pub(crate) fn records(&mut self, name: &str, spec: &Table, _: Option<Origin>) -> Result<(), String> {
        if self.accumulators.iter().any(|known| known.name == name) {
            return Err(format!("the accumulator {name} is defined twice"));
        }
        self.accumulators.push(RecordsRegistration::read(name, spec)?);
        Ok(())
    }

    /// The first override of each of its rules for tools.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &ScriptOverride> {
        self.rules.iter().filter_map(|rule| rule.overrides.first())
    }

    /// The roles that it names, each with its origin if known.
    pub(crate) fn roles(&self) -> impl Iterator<Item = (&str, Option<&Origin>)> {
        let overrides = self.rules.iter().flat_map(|rule| &rule.overrides);
        let of_tools = overrides.filter_map(|one| match &one.value {
            FieldValue::Word(role) if one.field == Some(ToolField::Role) => {
                Some((role.as_str(), one.origin.as_ref()))
            }
            _ => None,
        });
        of_tools.chain(self.writers.iter().flat_map(WriterRegistration::roles).map(|role| (role, None)))
    }

    /// The functions registered for an event, in the order registered.
    pub(crate) fn hooks(&self, event: HookEvent) -> impl Iterator<Item = &Function> {
        self.hooks.iter().filter(move |(waiting, _)| *waiting == event).map(|(_, function)| function)
    }
}

fn read_field(key: &Value, value: Value) -> Result<(ToolField, FieldValue<Function>), String> {
    let key = match key {
        Value::String(key) => key.to_string_lossy(),
        other => return Err(format!("a field has a name, not {}", a_type(other))),
    };
    let Ok(field) = key.parse::<ToolField>() else {
        let hint = crate::problem::suggestion(&key, ToolField::ALL.iter().map(|field| field.name()));
        return Err(format!("unknown field \"{key}\" {hint}"));
    };
    let value = match value {
        Value::Function(function)
            if !matches!(field, ToolField::Icon | ToolField::Role | ToolField::Collapse) =>
        {
            FieldValue::Function(function)
        }
        Value::String(text) if !matches!(field, ToolField::Call | ToolField::Result) => {
            FieldValue::parse(field, &text.to_string_lossy()).map_err(|wrong| format!("{key}: {wrong}"))?
        }
        Value::Boolean(true) if field == ToolField::Collapse => FieldValue::Word("both".to_owned()),
        Value::Boolean(false) if field == ToolField::Collapse => FieldValue::Word("none".to_owned()),
        other => return Err(format!("{key} can't be {}", a_type(&other))),
    };
    Ok((field, value))
}
