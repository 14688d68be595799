//! Patterns for tools: an exact name, a glob, or an action.

use std::cell::RefCell;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use streamfmt_core::item::Action;
use streamfmt_core::profile::glob;

use super::field::{FieldValue, ToolField};
use super::rule::{Origin, ToolRule};
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

/// A rule for some tools. `A` is the type of an answer for a field.
pub(crate) struct Rule<A> {
    pub(crate) pattern: Pattern,
    pub(crate) fields: Vec<(ToolField, A)>,
}

impl<A> Rule<A> {
    /// Reads a rule of a profile. `answer` converts each value and its place. Returns `None` if the pattern is invalid; invalid
    /// values are ignored.
    pub(crate) fn read(rule: &ToolRule, answer: impl Fn(FieldValue, &Origin) -> A) -> Option<Self> {
        let fields = rule.fields.iter().filter_map(|(field, value)| {
            Some((*field, answer(FieldValue::parse(*field, &value.value).ok()?, &value.origin)))
        });
        Some(Self { pattern: Pattern::parse(&rule.pattern).ok()?, fields: fields.collect() })
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

/// Most tools that are cached.
const MOST_TOOLS: usize = 1_024;

/// The cached value for each action.
type PerAction<T> = Vec<(Option<Action>, T)>;

/// A cache of values by tool and action. Most tools have a single action.
pub(crate) struct PerTool<T>(RefCell<IndexMap<String, PerAction<T>, RandomState>>);

impl<T> Default for PerTool<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Clone> PerTool<T> {
    /// The value for a tool, found now if it isn't cached.
    pub(crate) fn get(&self, tool: &str, action: Option<Action>, find: impl FnOnce() -> T) -> T {
        let mut all = self.0.borrow_mut();
        let known = all.get(tool).and_then(|known| known.iter().find(|(of, _)| *of == action));
        if let Some((_, known)) = known {
            return known.clone();
        }
        let found = find();
        if all.len() >= MOST_TOOLS {
            all.clear();
        }
        all.entry(tool.to_owned()).or_default().push((action, found.clone()));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cache_is_emptied_and_the_values_stay_the_same() {
        let cache = PerTool::default();
        for number in 0..=MOST_TOOLS {
            assert_eq!(cache.get(&format!("T{number}"), None, || number), number);
            assert!(cache.0.borrow().len() <= MOST_TOOLS);
        }
        assert_eq!(cache.get("T0", None, || 7), 7, "found again");
    }
}
