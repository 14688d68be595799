//! Holds back the beginning of a stream until it is settled how the stream is shown.

use std::sync::Arc;

use crate::event::Event;
use crate::profile::Profile;
use crate::session::Facts;

use super::held::Held;
use super::step::{InputCount, Step};
use super::{Output, Settle, Settled, StreamStart};

/// How many lines may be held back.
const MAX_HELD_LINES: usize = 64;
/// How many bytes may be held back.
const MAX_HELD_BYTES: usize = 1 << 20;

/// The steps held back until it is settled how the stream is shown.
pub(super) struct HeldStart {
    /// The outputs that aren't settled yet: the number of each, and the function that decides.
    settles: Vec<(usize, Settle)>,
    pub(super) held: Held<Step>,
    /// The name of the dialect, once it is known.
    dialect: Option<Arc<str>>,
    /// The facts of the run so far.
    facts: Facts,
}

impl HeldStart {
    /// Holds steps back for these outputs; `None` if there are none. `dialect`: the configured dialect, if any.
    pub(super) fn of(settles: Vec<(usize, Settle)>, dialect: Option<&str>) -> Option<Self> {
        let (dialect, held) = (dialect.map(Into::into), Held::new(MAX_HELD_LINES, MAX_HELD_BYTES));
        (!settles.is_empty()).then(|| Self { settles, held, dialect, facts: Facts::default() })
    }

    /// Holds a step back.
    pub(super) fn hold(&mut self, step: Step) {
        match &step {
            Step::Count(InputCount::Dialect(name)) => self.dialect = Some(Arc::clone(name)),
            Step::Event(Event::Facts(news)) => self.facts.update((**news).clone()),
            Step::Event(_) | Step::Count(_) | Step::Record(..) => {}
        }
        let (lines, bytes) = (usize::from(matches!(step, Step::Count(InputCount::Line(_)))), step.size());
        self.held.push(step, lines, bytes);
    }

    /// Asks for each output how it shows the stream. Returns the outputs that get another profile and output, by number.
    pub(super) fn settle(&mut self, is_end: bool) -> Vec<(usize, Box<(Profile, Output)>)> {
        let Self { settles, held, dialect, facts } = self;
        let is_all = is_end || held.is_full();
        let known = StreamStart { dialect: dialect.as_deref(), facts, is_all };
        let mut settled = Vec::new();
        settles.retain_mut(|(output, settle)| match settle(&known) {
            Settled::Wait => !is_all,
            Settled::Keep => false,
            Settled::Use(choices) => {
                settled.push((*output, choices));
                false
            }
        });
        settled
    }

    /// Whether all outputs are settled.
    pub(super) fn is_settled(&self) -> bool {
        self.settles.is_empty()
    }
}
