//! What became of a cell: one case in one profile and one writer.

use std::collections::BTreeMap;

use super::choices::Expect;
use super::diff::Diff;

/// What became of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What came out, as it is kept: with escapes spelled `\e`, and redacted.
    pub text: String,
    /// What was to come out, if that was ever said.
    pub expected: Option<String>,
    /// What was told of plugins, as it is kept.
    pub told: String,
    /// What was to be told of them.
    pub expected_told: Option<String>,
    /// What is wrong with the set-up: then nothing came out.
    pub problems: Vec<String>,
    /// The laws that didn't hold, each with what went wrong.
    pub broken: Vec<String>,
    /// What plugins did wrong though nobody expected it, each in one line.
    pub failures: Vec<String>,
    /// Steps that plugins took, by name.
    pub fuel: BTreeMap<String, u64>,
    /// Why the cell was not tried.
    pub skipped: Option<String>,
    /// What of the input is no event: `2 damaged records`.
    pub damage: Option<String>,
}

/// What became of a cell, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// What was expected came out.
    Equal,
    /// It was not tried.
    Skipped,
    /// Nothing was expected yet. A plugin may have failed, too.
    New,
    /// What was expected came out, but a plugin failed.
    PluginFailed,
    /// Something else came out, or a law is broken.
    Different,
    /// Its set-up is wrong.
    Wrong,
}

impl State {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Skipped => "skipped",
            Self::New => "new",
            Self::PluginFailed => "plugin-failed",
            Self::Different => "different",
            Self::Wrong => "wrong",
        }
    }
}

impl Outcome {
    /// A cell that was not tried, since this is wrong with its set-up.
    pub(super) fn wrong(problems: impl IntoIterator<Item = String>) -> Self {
        Self { problems: problems.into_iter().collect(), ..Self::default() }
    }

    /// What became of it.
    pub fn state(&self) -> State {
        let differs = |expected: &Option<String>, text: &str| expected.as_ref().is_some_and(|it| it != text);
        if self.skipped.is_some() {
            State::Skipped
        } else if !self.problems.is_empty() {
            State::Wrong
        } else if !self.broken.is_empty()
            || differs(&self.expected, &self.text)
            || differs(&self.expected_told, &self.told)
        {
            State::Different
        } else if self.expected.is_none() {
            State::New
        } else if !self.failures.is_empty() {
            State::PluginFailed
        } else {
            State::Equal
        }
    }

    /// Whether what came out is what was to come out, and all laws hold.
    pub fn is_good(&self) -> bool {
        matches!(self.state(), State::Equal | State::Skipped)
    }

    /// What is different from what was expected; all of it, if nothing was.
    pub fn diff(&self) -> Diff {
        Diff::of(self.expected.as_deref().unwrap_or_default(), &self.text)
    }

    /// [`Outcome::diff`] without limits.
    pub fn whole_diff(&self) -> Diff {
        Diff::whole(self.expected.as_deref().unwrap_or_default(), &self.text)
    }

    /// What is different in what was told of plugins, if anything is.
    pub fn told_diff(&self) -> Option<Diff> {
        let expected = self.expected_told.as_deref()?;
        (expected != self.told).then(|| Diff::of(expected, &self.told))
    }

    /// Why it can't be accepted, if it can't.
    pub fn refusal(&self, expect: &Expect) -> Option<String> {
        if self.skipped.is_some() {
            return Some("it is skipped".to_owned());
        }
        let failed = [
            ("the set-up is wrong", self.problems.first()),
            ("a law is broken", self.broken.first()),
            ("plugin failed", self.failures.first()),
        ];
        if let Some((what, why)) = failed.into_iter().find_map(|(what, why)| Some((what, why?))) {
            return Some(format!("{what}: {why}"));
        }
        self.suspicion(expect)
    }

    /// Why it can't be accepted though nothing failed: something that is hardly ever meant, with the key that says
    /// that it is.
    pub fn suspicion(&self, expect: &Expect) -> Option<String> {
        if let Some(damage) = self.damage.as_ref().filter(|_| !expect.damage) {
            return Some(format!("the input has {damage}; if that is intended, set expect.damage = true"));
        }
        let is_empty = self.text.is_empty() && !expect.empty;
        is_empty.then(|| "the output is empty; if that is intended, set expect.empty = true".to_owned())
    }
}
