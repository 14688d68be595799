//! Patterns for tools: an exact name, a glob, or an action; and the rules for the tools that match.

use streamfmt_core::item::Action;
use streamfmt_core::profile::glob;

use super::field::FieldValue;
use super::overrides::Override;
use super::rule::ToolRule;
use crate::problem::suggestion;

/// A pattern for tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Exact(String),
    Glob(String),
    Action(String),
}

impl Pattern {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some(action) = text.strip_prefix('@') {
            if Action::NAMES.contains(&action) {
                return Ok(Self::Action(action.to_owned()));
            }
            let hint = suggestion(action, Action::NAMES.iter().copied());
            return Err(format!("unknown action @{action} {hint}"));
        }
        match text {
            "" => Err("empty tool name".to_owned()),
            glob if glob.contains('*') => Ok(Self::Glob(glob.to_owned())),
            exact => Ok(Self::Exact(exact.to_owned())),
        }
    }

    fn matches(&self, tool: &str, action: Option<Action>) -> bool {
        match self {
            Self::Exact(name) => name == tool,
            Self::Glob(pattern) => glob(pattern, tool),
            Self::Action(name) => action.is_some_and(|action| action.name() == name),
        }
    }

    /// The precedence: more specific patterns rank higher.
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

/// A rule for some tools.
pub(crate) struct Rule<F> {
    pub(crate) pattern: Pattern,
    pub(crate) overrides: Vec<Override<F>>,
}

impl<F> Rule<F> {
    /// Reads a rule of a profile. Returns `None` if the pattern is invalid; invalid values are ignored.
    pub(crate) fn read(rule: &ToolRule) -> Option<Self> {
        let overrides = rule.fields.iter().filter_map(|(field, value)| {
            let parsed = FieldValue::parse(*field, &value.value).ok()?;
            Some(Override::new(Some(*field), parsed, &rule.pattern, Some(value.origin.clone())))
        });
        Some(Self { pattern: Pattern::parse(&rule.pattern).ok()?, overrides: overrides.collect() })
    }

    /// The rules that match a tool, in order of precedence: an exact name, then globs, those with a longer prefix first, then an
    /// action, then globs that start with `*`. Of equals, the later rule comes first.
    pub(crate) fn matching<'r>(rules: &'r [Self], tool: &str, action: Option<Action>) -> Vec<&'r Self> {
        let mut matching: Vec<(usize, &Self)> =
            rules.iter().enumerate().filter(|(_, rule)| rule.pattern.matches(tool, action)).collect();
        matching.sort_by_key(|(order, rule)| std::cmp::Reverse((rule.pattern.rank(), *order)));
        matching.into_iter().map(|(_, rule)| rule).collect()
    }
}
