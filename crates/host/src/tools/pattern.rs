//! Which tools are meant: one by its name, those of a glob, or those that do a certain thing.

use std::cell::RefCell;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use streamfmt_core::item::Action;
use streamfmt_core::profile::glob;

use super::field::{FieldValue, ToolField};
use super::rule::{Origin, ToolRule};
use crate::problem::suggestion;

/// Which tools are meant.
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

/// What is said of some tools. `A` is an answer for a field.
pub(crate) struct Rule<A> {
    pub(crate) pattern: Pattern,
    pub(crate) fields: Vec<(ToolField, A)>,
}

impl<A> Rule<A> {
    /// Reads the rule of a profile: `answer` is made of each value and of where it stands. What can't be read says nothing.
    pub(crate) fn read(rule: &ToolRule, answer: impl Fn(FieldValue, &Origin) -> A) -> Option<Self> {
        let fields = rule.fields.iter().filter_map(|(field, told)| {
            Some((*field, answer(FieldValue::parse(*field, &told.value).ok()?, &told.origin)))
        });
        Some(Self { pattern: Pattern::parse(&rule.pattern).ok()?, fields: fields.collect() })
    }

    /// Those of `rules` that say something of a tool, the one that counts most first: an exact name goes before a glob, a
    /// glob with a longer beginning before one with a shorter, then an action, then a glob that begins with `*`; of equals
    /// the later one.
    pub(crate) fn fitting<'r>(rules: &'r [Self], tool: &str, action: Option<Action>) -> Vec<&'r Self> {
        let mut fitting: Vec<(usize, &Self)> =
            rules.iter().enumerate().filter(|(_, rule)| rule.pattern.fits(tool, action)).collect();
        fitting.sort_by_key(|(order, rule)| std::cmp::Reverse((rule.pattern.rank(), *order)));
        fitting.into_iter().map(|(_, rule)| rule).collect()
    }
}

/// Tools that are remembered.
const MOST_TOOLS: usize = 1_024;

/// What was found for each thing that a tool does.
type PerAction<T> = Vec<(Option<Action>, T)>;

/// What was found for each tool: one thing, unless the tool does different things.
pub(crate) struct PerTool<T>(RefCell<IndexMap<String, PerAction<T>, RandomState>>);

impl<T> Default for PerTool<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Clone> PerTool<T> {
    /// What was found for a tool, or is found now.
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
