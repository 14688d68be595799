//! Tells who says what of a tool or a kind: each layer that may, with the place where it was told to.

use serde::Serialize;
use streamfmt_core::dialect;
use streamfmt_core::item::Kind;

use crate::json;
use crate::lua::layers::{Answer, Field, Ladder, Step};
use crate::lua::{Plugins, Running};

/// Who says what, for each property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The tool, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the tool does, as far as its name tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    /// The kind of item, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The walk for each property.
    pub properties: Vec<Walk>,
}

/// Who is asked for one property, from the top down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Walk {
    /// The property: a field of `sf.tool`, or `view`.
    pub name: &'static str,
    /// The layers that may say something, the first to be asked first.
    pub candidates: Vec<Candidate>,
    /// What is said if none of them does.
    pub built_in: &'static str,
}

/// One layer that may say something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// Whether its turn comes.
    pub turn: Turn,
    /// Whose it is: `plugin`, `profile`, `user script`, …
    pub layer: &'static str,
    /// The plugin, if it is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The file in which it is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// For which tools it is said.
    pub pattern: String,
    /// What it says: a text in quotes, or `function` with the line where that begins.
    pub says: String,
}

/// Whether the turn of a candidate comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Turn {
    /// It is asked, and says something or leaves it to the next.
    Asked,
    /// It says something always.
    Answers,
    /// Another one answers before.
    Never,
}

/// What is asked about.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// A tool's name, as the stream has it.
    pub tool: Option<String>,
    /// A kind of item; for calls and results it chooses among the properties of the tool.
    pub kind: Option<Kind>,
}

impl Explanation {
    /// The answer for programs: one JSON object.
    pub fn to_json(&self) -> String {
        // Names and texts can always be spelled in JSON.
        json::pretty(self)
    }

    pub(crate) fn of(question: &Question, plugins: &Plugins) -> Self {
        let Question { tool, kind } = question;
        if let Some(kind) = kind.filter(|kind| !matches!(kind, Kind::Call | Kind::Result)) {
            let ladder = plugins.with_layers(|layers| Ladder::of_kind(layers, kind));
            let walk = Walk {
                name: "view",
                candidates: candidates(&ladder.views, plugins),
                built_in: "the built-in formatter's view",
            };
            return Self { tool: None, action: None, kind: Some(kind.name()), properties: vec![walk] };
        }
        let name = tool.clone().unwrap_or_default();
        let action = dialect::action_of(&name);
        let ladder = plugins.with_layers(|layers| Ladder::of_tool(layers, &name, Some(action)));
        let walks = Field::ALL.into_iter().filter(|(field, _)| concerns(*field, *kind));
        let properties = walks.map(|(field, name)| Walk {
            name,
            candidates: candidates(ladder.field(field), plugins),
            built_in: built_in(field),
        });
        Self {
            tool: tool.clone(),
            action: Some(action.name()),
            kind: kind.map(Kind::name),
            properties: properties.collect(),
        }
    }
}

fn concerns(field: Field, kind: Option<Kind>) -> bool {
    match kind {
        Some(Kind::Call) => !matches!(field, Field::Summary | Field::Result),
        Some(Kind::Result) => matches!(field, Field::Summary | Field::Result | Field::Collapse),
        _ => true,
    }
}

fn built_in(field: Field) -> &'static str {
    match field {
        Field::Label => "the tool's name",
        Field::Arg => "what the built-in formatter takes from the input",
        Field::Summary => "what the built-in formatter says of the result",
        Field::Call => "the built-in view, with the label, arg and icon above",
        Field::Result => "the built-in view, with the summary above",
        Field::Icon => "no icon but the mark of calls",
        Field::Role => "tool.name",
        Field::Collapse => "nothing is folded",
    }
}

fn candidates(steps: &[Step], plugins: &Plugins) -> Vec<Candidate> {
    let mut is_answered = false;
    let mut candidates = Vec::new();
    for step in steps {
        let (says, is_sure) = match &step.answer {
            Answer::Word(word) => (format!("{word:?}"), true),
            Answer::Template(template) => (format!("{:?}", template.to_string()), template.is_constant()),
            Answer::Function(function) => {
                let line = function.info().line_defined;
                (line.map_or("function".to_owned(), |line| format!("function at line {line}")), false)
            }
        };
        let turn = match (is_answered, is_sure) {
            (true, _) => Turn::Never,
            (false, true) => Turn::Answers,
            (false, false) => Turn::Asked,
        };
        is_answered |= is_sure;
        let plugin = plugins.get(step.who);
        candidates.push(Candidate {
            turn,
            layer: plugin.map_or("profile", |plugin| plugin.layer().name()),
            plugin: plugin.map(Running::name),
            file: step.source.origin.as_ref().map(|origin| origin.file.clone()),
            line: step.source.origin.as_ref().map(|origin| origin.line),
            pattern: step.source.pattern.clone(),
            says,
        });
    }
    candidates
}
