//! What a profile says of tools, without a script: the tables `[tool.NAME]`.

use super::field::{FieldValue, ToolField};
use super::pattern::Pattern;

/// Where a setting stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file, as it is called in messages.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// A value of a rule and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleValue {
    /// The value as it is written: a template, a JSON pointer or a word.
    pub value: String,
    /// Where it stands.
    pub origin: Origin,
}

/// What a profile says of some tools: one table `[tool.NAME]`. What is absent is said by the layer below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolRule {
    /// Which tools: an exact name, an action such as `@run`, or a glob.
    pub pattern: String,
    /// Where the table begins.
    pub origin: Origin,
    /// The tool's name as shown: a template.
    pub label: Option<RuleValue>,
    /// The one-line argument: a template, or a JSON pointer into the input.
    pub arg: Option<RuleValue>,
    /// The one-line summary of a result: a template.
    pub summary: Option<RuleValue>,
    /// A glyph of the theme, or a text in front of the name.
    pub icon: Option<RuleValue>,
    /// The role of the name.
    pub role: Option<RuleValue>,
    /// Whose body is folded away: `call`, `result`, `none`, or `both`, which leaves one line of a call and its result.
    pub collapse: Option<RuleValue>,
}

impl ToolRule {
    /// A rule that says nothing yet.
    pub fn new(pattern: impl Into<String>, origin: Origin) -> Self {
        Self { pattern: pattern.into(), origin, ..Self::default() }
    }

    /// What it says, by the name of the field.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &RuleValue)> {
        let Self { label, arg, summary, icon, role, collapse, .. } = self;
        [
            ("label", label),
            ("arg", arg),
            ("summary", summary),
            ("icon", icon),
            ("role", role),
            ("collapse", collapse),
        ]
        .into_iter()
        .filter_map(|(name, told)| Some((name, told.as_ref()?)))
    }
}

/// What is wrong with the name of a table `[tool.NAME]`, if something is.
pub fn wrong_with_pattern(pattern: &str) -> Option<String> {
    Pattern::parse(pattern).err()
}

/// What is wrong with the value of a field such as `label`, if something is. A field that rules don't have is
/// no concern of it.
pub fn wrong_with(field: &str, value: &str) -> Option<String> {
    FieldValue::parse(ToolField::named(field)?, value).err()
}
