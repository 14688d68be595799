//! The outcome of a cell: one case in one profile and one writer.

use strum::IntoStaticStr;

use super::choices::Expect;
use super::diff::Diff;

/// The outcome of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The output as stored: redacted, with escapes as `\e`.
    pub text: String,
    /// The expected output, if there is any yet.
    pub expected: Option<String>,
    /// The plugin messages as stored.
    pub messages: String,
    /// The expected plugin messages.
    pub expected_messages: Option<String>,
    /// Errors in the setup. If there are any, there is no output.
    pub problems: Vec<String>,
    /// The violated laws, each with the reason.
    pub broken: Vec<String>,
    /// Unexpected plugin failures, each in one line.
    pub failures: Vec<String>,
    /// The reason why the cell was skipped.
    pub skipped: Option<String>,
    /// Lines of the input that are not events: `2 damaged records`.
    pub damage: Option<String>,
}

/// The state of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum State {
    /// The output is as expected.
    Equal,
    /// It was skipped.
    Skipped,
    /// There is no expected output yet. A plugin may have failed, too.
    New,
    /// The output is as expected, but a plugin failed.
    PluginFailed,
    /// The output differs, or a law is violated.
    Different,
    /// The setup has an error.
    Wrong,
}

impl State {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Outcome {
    /// The outcome of a cell whose setup has these errors.
    pub(super) fn wrong(problems: impl IntoIterator<Item = String>) -> Self {
        Self { problems: problems.into_iter().collect(), ..Self::default() }
    }

    /// The state of the cell.
    pub fn state(&self) -> State {
        let differs = |expected: &Option<String>, text: &str| expected.as_ref().is_some_and(|it| it != text);
        if self.skipped.is_some() {
            State::Skipped
        } else if !self.problems.is_empty() {
            State::Wrong
        } else if !self.broken.is_empty()
            || differs(&self.expected, &self.text)
            || differs(&self.expected_messages, &self.messages)
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

    /// Whether the output is as expected and all laws hold, or the cell was skipped.
    pub fn is_good(&self) -> bool {
        matches!(self.state(), State::Equal | State::Skipped)
    }

    /// The difference between the expected and the actual output. Without an expected output, everything differs.
    pub fn diff(&self) -> Diff {
        Diff::of(self.expected.as_deref().unwrap_or_default(), &self.text)
    }

    /// [`Outcome::diff`] without limits.
    pub fn whole_diff(&self) -> Diff {
        Diff::whole(self.expected.as_deref().unwrap_or_default(), &self.text)
    }

    /// The difference between the expected and the actual plugin messages, if any.
    pub fn messages_diff(&self) -> Option<Diff> {
        let expected = self.expected_messages.as_deref()?;
        (expected != self.messages).then(|| Diff::of(expected, &self.messages))
    }

    /// The reason why the output can't be accepted, if any.
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

    /// A reason why the output can't be accepted although nothing failed: something that is rarely intended, and the key that
    /// allows it.
    pub fn suspicion(&self, expect: &Expect) -> Option<String> {
        if let Some(damage) = self.damage.as_ref().filter(|_| !expect.damage) {
            return Some(format!("the input has {damage}; if that is intended, set expect.damage = true"));
        }
        let is_empty = self.text.is_empty() && !expect.empty;
        is_empty.then(|| "the output is empty; if that is intended, set expect.empty = true".to_owned())
    }
}
