//! The rules of a profile for tools: the tables `[tool.NAME]`.

pub use super::field::ToolField;
use super::pattern::Pattern;

/// The place of a setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file's name in messages.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// A value in a rule, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleValue {
    /// The value as written: a template, a JSON pointer or a word.
    pub value: String,
    /// The place of the value.
    pub origin: Origin,
}

/// A rule of a profile for some tools: one table `[tool.NAME]`. Absent fields are left to the layer below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolRule {
    /// The tools: an exact name, an action such as `@run`, or a glob.
    pub pattern: String,
    /// The beginning of the table.
    pub origin: Origin,
    /// The fields with their values.
    pub fields: Vec<(ToolField, RuleValue)>,
}

impl ToolRule {
    /// Creates a rule without fields.
    pub fn new(pattern: impl Into<String>, origin: Origin) -> Self {
        Self { pattern: pattern.into(), origin, ..Self::default() }
    }
}

/// Checks the name of a table `[tool.NAME]`. Returns a message if it is invalid.
pub fn wrong_with_pattern(pattern: &str) -> Option<String> {
    Pattern::parse(pattern).err()
}
