//! Lines of another dialect than that of the input: two streams in one file, or another agent that continues.
//!
//! Such a line is noticed when it is unknown to the dialect of the line before it, and another dialect claims it for certain. If the dialect
//! was detected, the lines are read from there on as what they are, and each dialect keeps its state: streams may also be interleaved. If
//! the user chose it, they stay unknown. The first line of each dialect that is read comes with a notice, or the first that isn't read.

use std::sync::Arc;

use crate::dialect::{Dialect, Input};
use crate::item::{Fact, Id, Item};

use super::decode::DecodeStage;
use super::detect::ChosenDialect;
use super::step::Step;

/// The dialects of one input beside that of the line which is decoded.
pub(super) struct OtherDialects {
    /// Whether the lines of another dialect are read as such.
    follows: bool,
    /// Those of earlier lines.
    pub(super) left: Vec<ChosenDialect>,
    /// The names of those that came with a notice.
    noted: Vec<&'static str>,
}

impl OtherDialects {
    /// None yet. `follows`: whether the lines of another dialect are read as such.
    pub(super) fn new(follows: bool) -> Self {
        Self { follows, left: Vec::new(), noted: Vec::new() }
    }

    /// The index of a dialect among those of earlier lines.
    fn earlier(&self, row: &Dialect) -> Option<usize> {
        self.left.iter().position(|left| left.row.is_some_and(|known| known.name == row.name))
    }

    /// The name of the dialect of a line, if it is another one than that of the input: `row`, by which it was decoded, or `other`, which
    /// isn't read.
    pub(super) fn name(
        &self,
        row: Option<&'static Dialect>,
        other: Option<&Dialect>,
    ) -> Option<&'static str> {
        match other {
            // Some programs write lines that are claimed by the dialect of another.
            Some(_) => self.noted.first().copied(),
            None => row.map(|row| row.name).filter(|name| self.noted.contains(name)),
        }
    }
}

impl DecodeStage {
    /// The dialect to which a record belongs that is unknown to the current one: one of earlier lines, or another that is certain and
    /// knows it.
    pub(super) fn other(&self, input: Input<'_>) -> Option<&'static Dialect> {
        let claims = |dialect: &&ChosenDialect| dialect.row.is_some_and(|row| (row.claim)(input.value));
        if self.dialect.as_ref().is_none_or(|dialect| claims(&dialect)) {
            return None;
        }
        let earlier = self.others.left.iter().find(claims).and_then(|dialect| dialect.row);
        earlier.or_else(|| {
            let other = self.detection.dialects.claiming(input.value)?;
            let is_noted = || self.others.noted.contains(&other.name);
            let is_certain = (other.is_certain)(input.value);
            (is_certain && (is_noted() || self.detection.understands(other, input))).then_some(other)
        })
    }

    /// Whether a record of another dialect is read as such. The files of sub-agents have no other dialect than the lines of the input.
    pub(super) fn follows(&self, other: &Dialect, input: Input<'_>) -> bool {
        self.others.follows && (input.parent.is_none() || self.others.earlier(other).is_some())
    }

    /// Goes on with another dialect.
    pub(super) fn change(&mut self, other: &'static Dialect, input: Input<'_>, each: &mut dyn FnMut(Step)) {
        let known = self.others.earlier(other);
        // Objects of unknown programs may come before the stream of an agent.
        let is_first =
            self.dialect.as_ref().is_some_and(|dialect| *dialect.name == *self.detection.dialects.fallback);
        let next = if let Some(index) = known {
            self.others.left.remove(index)
        } else {
            // As a rule, the lines before this one are a whole stream.
            self.end_dialect(each);
            if !is_first {
                self.note_other(other, true, input.line, input.parent, each);
            }
            self.detection.built_in(other)
        };
        each(Step::Count(|report| report.awaits_outcome = false));
        let next = ChosenDialect { awaits_outcome: false, ..next };
        if is_first {
            each(Step::Dialect(Arc::clone(&next.name)));
        }
        let before = self.dialect.replace(ChosenDialect { is_new: false, ..next });
        self.others.left.extend(before.filter(|_| !is_first));
    }

    /// Emits the notice about the first line of another dialect. `is_read`: whether it is read as one of that dialect.
    pub(super) fn note_other(
        &mut self,
        other: &'static Dialect,
        is_read: bool,
        line: u64,
        parent: Option<&Id>,
        each: &mut dyn FnMut(Step),
    ) {
        let Some(dialect) = &self.dialect else { return };
        let noted = &self.others.noted;
        if noted.contains(&other.name) || !is_read && !noted.is_empty() {
            return;
        }
        self.others.noted.push(other.name);
        let mut notice = Item::warning(format!("line-{line}/dialect"), "dialect", line);
        let text = |name: &str| Fact::Text(name.to_owned());
        notice.data.extend([("from", text(&dialect.name)), ("to", text(other.name))]);
        if !is_read {
            notice.data.push(("unread", Fact::Bool(true)));
        }
        each(Step::put(notice, parent));
    }
}
