//! What a profile says of tools, without a script: the tables `[tool.NAME]`.

pub use super::field::ToolField;
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
    /// What is said of which field.
    pub fields: Vec<(ToolField, RuleValue)>,
}

impl ToolRule {
    /// A rule that says nothing yet.
    pub fn new(pattern: impl Into<String>, origin: Origin) -> Self {
        Self { pattern: pattern.into(), origin, ..Self::default() }
    }
}

/// What is wrong with the name of a table `[tool.NAME]`, if something is.
pub fn wrong_with_pattern(pattern: &str) -> Option<String> {
    Pattern::parse(pattern).err()
}
