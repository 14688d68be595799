//! Who is asked: what plugins registered, in the order in which it counts.
//!
//! Each field of a tool is looked for on its own, from the top plugin down. Inside a plugin an exact name goes
//! before a glob, a glob with a longer beginning before one with a shorter, then an action, then a glob that
//! begins with `*`; of equals the later one counts.

use std::rc::Rc;

use mlua::{Function, Table, Value};
use streamfmt_core::item::{Action, Item, Kind};
use streamfmt_core::profile::glob;

use super::template::Template;

/// A field of a tool's spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Label,
    Arg,
    Summary,
    Call,
    Result,
    Icon,
    Role,
    Collapse,
}

impl Field {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Label, "label"),
        (Self::Arg, "arg"),
        (Self::Summary, "summary"),
        (Self::Call, "call"),
        (Self::Result, "result"),
        (Self::Icon, "icon"),
        (Self::Role, "role"),
        (Self::Collapse, "collapse"),
    ];

    fn may_be_text(self) -> bool {
        !matches!(self, Self::Call | Self::Result)
    }

    fn may_be_function(self) -> bool {
        !matches!(self, Self::Icon | Self::Role | Self::Collapse)
    }
}

/// What a plugin says of a field.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// A text with fields in it.
    Template(Template),
    /// A word: a glyph, a role, what is folded.
    Word(String),
    /// Asked each time.
    Function(Function),
}

/// Which tools are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Exact(String),
    Glob(String),
    Action(String),
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(action) = text.strip_prefix('@') {
            if Action::ALL.iter().any(|known| known.name() == action) {
                return Ok(Self::Action(action.to_owned()));
            }
            let names: Vec<_> = Action::ALL.iter().map(|action| action.name()).collect();
            return Err(format!("there is no action @{action} (one of: {})", names.join(", ")));
        }
        match text {
            "" => Err("the name of the tool is empty".to_owned()),
            glob if glob.contains('*') => Ok(Self::Glob(glob.to_owned())),
            exact => Ok(Self::Exact(exact.to_owned())),
        }
    }

    fn fits(&self, tool: &str, action: Option<Action>) -> bool {
        match self {
            Self::Exact(name) => name == tool,
            Self::Glob(pattern) => glob(pattern, tool),
            Self::Action(name) => action.is_some_and(|action| action.name() == name),
        }
    }

    /// The more it says, the higher.
    fn rank(&self) -> (u8, usize) {
        match self {
            Self::Exact(_) => (3, 0),
            Self::Glob(pattern) => match pattern.find('*').unwrap_or(0) {
                0 => (0, 0),
                beginning => (2, beginning),
            },
            Self::Action(_) => (1, 0),
        }
    }
}

/// What a plugin registered for some tools.
struct Rule {
    pattern: Pattern,
    fields: Vec<(Field, Answer)>,
}

/// All that one plugin registered.
#[derive(Default)]
pub(super) struct Registered {
    rules: Vec<Rule>,
    views: Vec<(Kind, Function)>,
    hooks: Vec<(Event, Function)>,
}

/// What a plugin may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The first item is about to come.
    Start,
    /// The input has ended.
    End,
    /// An item is whole.
    Item(Kind),
}

impl Event {
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
    /// Takes `sf.tool`.
    pub(super) fn tool(&mut self, pattern: &str, spec: &Table) -> Result<(), String> {
        let pattern = Pattern::parse(pattern)?;
        let mut fields = Vec::new();
        let mut wrong = None;
        spec.for_each(|key: Value, value: Value| {
            match read_field(&key, value) {
                Ok(field) => fields.push(field),
                Err(error) => wrong = wrong.take().or(Some(error)),
            }
            Ok(())
        })
        .map_err(|error| error.to_string())?;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        self.rules.push(Rule { pattern, fields });
        Ok(())
    }

    /// Takes `sf.view`.
    pub(super) fn view(&mut self, kind: &str, function: Function) -> Result<(), String> {
        match kind_named(kind) {
            Some(Kind::Call | Kind::Result) => Err(format!("a {kind} belongs to a tool: sf.tool(\"*\", …)")),
            Some(kind) => {
                self.views.push((kind, function));
                Ok(())
            }
            None => Err(format!("there is no kind \"{kind}\" (one of: {})", kinds())),
        }
    }

    /// Takes `sf.on`.
    pub(super) fn on(&mut self, kind: &str, function: Function) -> Result<(), String> {
        let event = match kind {
            "session.start" => Event::Start,
            "session.end" => Event::End,
            kind => Event::Item(kind_named(kind).ok_or_else(|| {
                format!("there is no kind \"{kind}\" (session.start, session.end, {})", kinds())
            })?),
        };
        self.hooks.push((event, function));
        Ok(())
    }

    /// What waits for an event, in the order registered.
    pub(super) fn hooks(&self, event: Event) -> impl Iterator<Item = &Function> {
        self.hooks.iter().filter(move |(waiting, _)| *waiting == event).map(|(_, function)| function)
    }
}

/// One step of a walk: the plugin, counted from the lowest, and what it says.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) plugin: usize,
    pub(super) answer: Answer,
}

/// Who is asked for each field of one tool, or for one kind, from the top down.
#[derive(Clone, Debug, Default)]
pub(super) struct Ladder {
    fields: [Vec<Step>; 8],
    /// For other kinds than calls and results.
    pub(super) views: Vec<Step>,
}

impl Ladder {
    /// The walk for a tool.
    pub(super) fn of_tool<'a>(
        plugins: impl DoubleEndedIterator<Item = (usize, &'a Registered)>,
        tool: &str,
        action: Option<Action>,
    ) -> Rc<Self> {
        let mut ladder = Self::default();
        for (plugin, registered) in plugins.rev() {
            let mut fitting: Vec<(usize, &Rule)> = registered
                .rules
                .iter()
                .enumerate()
                .filter(|(_, rule)| rule.pattern.fits(tool, action))
                .collect();
            fitting.sort_by_key(|(order, rule)| std::cmp::Reverse((rule.pattern.rank(), *order)));
            for (_, rule) in fitting {
                for (field, answer) in &rule.fields {
                    ladder.fields[*field as usize].push(Step { plugin, answer: answer.clone() });
                }
            }
        }
        Rc::new(ladder)
    }

    /// The walk for a kind.
    pub(super) fn of_kind<'a>(
        plugins: impl DoubleEndedIterator<Item = (usize, &'a Registered)>,
        kind: Kind,
    ) -> Rc<Self> {
        let mut ladder = Self::default();
        for (plugin, registered) in plugins.rev() {
            let fitting = registered.views.iter().rev().filter(|(of, _)| *of == kind);
            ladder.views.extend(
                fitting.map(|(_, function)| Step { plugin, answer: Answer::Function(function.clone()) }),
            );
        }
        Rc::new(ladder)
    }

    /// Who is asked for `field`.
    pub(super) fn field(&self, field: Field) -> &[Step] {
        &self.fields[field as usize]
    }

    /// Whether nobody says anything of this item.
    pub(super) fn is_silent(&self, item: &Item) -> bool {
        use Field::{Arg, Call, Collapse, Icon, Label, Result, Role, Summary};
        let asked: &[Field] = match item.kind {
            Kind::Call => &[Label, Arg, Call, Icon, Role, Collapse],
            Kind::Result => &[Summary, Result, Collapse],
            _ => return self.views.is_empty(),
        };
        asked.iter().all(|field| self.field(*field).is_empty())
    }
}

fn read_field(key: &Value, value: Value) -> Result<(Field, Answer), String> {
    let key = match key {
        Value::String(key) => key.to_string_lossy(),
        other => return Err(format!("a field has a name, not a {}", other.type_name())),
    };
    let Some((field, _)) = Field::ALL.into_iter().find(|(_, name)| *name == key) else {
        let hint = crate::problem::suggestion(&key, Field::ALL.map(|(_, name)| name));
        return Err(format!("there is no field \"{key}\" {hint}"));
    };
    let answer = match value {
        Value::Function(function) if field.may_be_function() => Answer::Function(function),
        Value::String(text) if field.may_be_text() => {
            let text = text.to_string_lossy();
            if field.may_be_function() {
                Answer::Template(Template::parse(&text)?)
            } else {
                Answer::Word(text)
            }
        }
        Value::Boolean(true) if field == Field::Collapse => Answer::Word("both".to_owned()),
        Value::Boolean(false) if field == Field::Collapse => Answer::Word("none".to_owned()),
        other => return Err(format!("{key} can't be a {}", other.type_name())),
    };
    Ok((field, answer))
}

fn kind_named(name: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.name() == name)
}

fn kinds() -> String {
    Kind::ALL.map(Kind::name).join(", ")
}
