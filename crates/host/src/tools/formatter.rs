//! The formatter for a profile's rules about tools, used without plugins.

use std::sync::Arc;

use streamfmt_core::entry::{Line, Role};
use streamfmt_core::formatter::{FormatError, Formatter, Verdict};
use streamfmt_core::item::{Action, Item, Kind};
use streamfmt_core::profile::Profile;
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;

use super::amend::{Amender, Answers, Argument, FormatRequest, Given};
use super::field::{FieldValue, ToolField};
use super::pattern::{PerTool, Rule};
use super::rule::ToolRule;

/// Applies rules on top of the built-in formatting.
pub(crate) struct RuleFormatter {
    rules: Vec<Rule<FieldValue>>,
    amender: Amender,
    known: PerTool<Arc<Values>>,
}

/// The values of each field for one tool, in order of precedence.
#[derive(Default)]
struct Values([Vec<FieldValue>; 8]);

impl Values {
    fn of(rules: &[Rule<FieldValue>], tool: &str, action: Option<Action>) -> Arc<Self> {
        let mut values = Self::default();
        for (field, value) in Rule::matching(rules, tool, action).into_iter().flat_map(|rule| &rule.fields) {
            values.0[*field as usize].push(value.clone());
        }
        Arc::new(values)
    }

    fn field(&self, field: ToolField) -> &[FieldValue] {
        &self.0[field as usize]
    }
}

/// The answers of the rules for an item.
struct RuleAnswers<'a> {
    values: &'a Values,
    about: FormatRequest<'a>,
}

impl RuleAnswers<'_> {
    fn text(&self, field: ToolField) -> Option<Text> {
        self.values.field(field).iter().find_map(|value| match value {
            FieldValue::Template(template) => self.about.fill(template, field),
            FieldValue::Word(_) => None,
        })
    }
}

impl Answers for RuleAnswers<'_> {
    fn has(&self, field: ToolField) -> bool {
        !self.values.field(field).is_empty()
    }

    fn word(&self, field: ToolField) -> Option<&str> {
        self.values.field(field).iter().find_map(|value| match value {
            FieldValue::Word(word) => Some(word.as_str()),
            FieldValue::Template(_) => None,
        })
    }

    fn line(&self, field: ToolField, role: Role) -> Given<Line> {
        self.text(field).map_or(Given::Nothing, |text| Given::Use(Line::of(role, text)))
    }

    fn argument(&self, role: Role) -> Given<Argument> {
        self.text(ToolField::Arg).map_or(Given::Nothing, |text| Given::Use(Argument::of(role, text)))
    }

    fn changes_call(&self) -> bool {
        self.values.field(ToolField::Arg).iter().any(|value| match value {
            FieldValue::Template(template) => self.about.fills_call(template),
            FieldValue::Word(_) => false,
        })
    }
}

impl RuleFormatter {
    /// The formatter for these rules, of which later ones take precedence. Returns `None` if there are none. An invalid rule or
    /// value is ignored.
    pub(crate) fn new(rules: &[ToolRule], profile: &Profile) -> Option<Self> {
        let rules: Vec<_> = rules.iter().filter_map(|rule| Rule::read(rule, |value, _| value)).collect();
        let amender = Amender::new(profile);
        (!rules.is_empty()).then(|| Self { rules, amender, known: PerTool::default() })
    }
}

impl Formatter for RuleFormatter {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        if !matches!(item.kind, Kind::Call | Kind::Result) {
            return Ok(Verdict::Pass);
        }
        let about = FormatRequest::of(item, session);
        let (tool, action) = (about.tool().unwrap_or_default(), about.action());
        let values = self.known.get(tool, action, || Values::of(&self.rules, tool, action));
        let answers = RuleAnswers { values: &values, about };
        let has_field = |field: &ToolField| answers.has(*field);
        // A different argument of a call changes what remains to be shown of its result.
        let is_call_changed = item.kind == Kind::Result && has_field(&ToolField::Arg);
        if !is_call_changed && !ToolField::of_kind(item.kind).iter().any(has_field) {
            return Ok(Verdict::Pass);
        }
        Ok(self.amender.amend(about, &answers).verdict())
    }
}
