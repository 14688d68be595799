//! From events on: the session, and what is said of it.

use std::collections::VecDeque;
use std::fmt::{self, Write};

use crate::event::Event;
use crate::profile::Profile;
use crate::session::{Facts, Session};

use super::intake::{Counted, Step};
use super::report;
use super::stage::Stage;
use super::{Known, Output, Settle, Settled};

/// Lines held back while it isn't settled how the stream is shown.
const MAX_HELD_LINES: usize = 64;
/// Bytes held back while it isn't settled how the stream is shown.
const MAX_HELD_BYTES: usize = 1 << 20;

/// From events on.
pub(super) struct Outlet {
    pub(super) session: Session,
    pub(super) stage: Stage,
    scout: Option<Scout>,
    line: u64,
}

/// What is held back while it isn't settled how the stream is shown.
struct Scout {
    settle: Settle,
    held: VecDeque<Step>,
    lines: usize,
    bytes: usize,
    /// What is known of the stream so far.
    dialect: Option<std::sync::Arc<str>>,
    facts: Facts,
}

impl Outlet {
    /// `dialect`: its name, if it was decided on from outside.
    pub(super) fn new(
        profile: Profile,
        output: Output,
        settle: Option<Settle>,
        dialect: Option<&str>,
    ) -> Self {
        let scout = settle.map(|settle| Scout {
            settle,
            held: VecDeque::new(),
            lines: 0,
            bytes: 0,
            dialect: dialect.map(Into::into),
            facts: Facts::default(),
        });
        Self { session: Session::default(), stage: Stage::new(profile, output), scout, line: 0 }
    }

    /// Takes a step, and writes what it completes.
    pub(super) fn take(&mut self, step: Step, out: &mut dyn Write) -> fmt::Result {
        if let Some(scout) = &mut self.scout {
            scout.hold(step);
            return self.settle(false, out);
        }
        let report = &mut self.stage.report;
        match step {
            Step::Event(event) => return self.happen(event, out),
            Step::Line(line) => {
                self.line = line;
                report.lines += 1;
            }
            Step::Dialect(name) => report.dialect = Some(name),
            Step::Count(counted) => match counted {
                Counted::Record => report.events += 1,
                Counted::Blank => report.blank_lines += 1,
                Counted::Raw => report.raw_lines += 1,
                Counted::Damaged => report.damaged += 1,
                Counted::Oversized => report.oversized += 1,
                Counted::Foreign(name) => report.foreign = report.foreign.or(Some(name)),
            },
        }
        Ok(())
    }

    /// Ends the input: writes what is left.
    pub(super) fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.settle(true, out)?;
        let Self { session, stage, line, .. } = self;
        let mut written = Ok(());
        session
            .end(*line, |session, change| written = written.and_then(|()| stage.take(session, change, out)));
        written?;
        self.stage.end(&self.session, self.line, out)
    }

    fn happen(&mut self, event: Event, out: &mut dyn Write) -> fmt::Result {
        let Self { session, stage, .. } = self;
        match &event {
            Event::Bookkeeping(rule) => report::count(&mut stage.report.hidden, rule),
            Event::Unknown(name) => report::count(&mut stage.report.unknown, name),
            _ => {}
        }
        let mut written = Ok(());
        session.apply(event, |session, change| {
            if written.is_ok() {
                written = stage.take(session, change, out);
            }
        });
        written
    }

    /// Looks whether it can be settled now how the stream is shown, and if so, takes what was held back for that.
    fn settle(&mut self, is_end: bool, out: &mut dyn Write) -> fmt::Result {
        let Some(mut scout) = self.scout.take() else { return Ok(()) };
        let is_all = is_end || scout.lines > MAX_HELD_LINES || scout.bytes > MAX_HELD_BYTES;
        let known = Known { dialect: scout.dialect.as_deref(), facts: &scout.facts, is_all };
        match (scout.settle)(&known) {
            Settled::Wait if !is_all => {
                self.scout = Some(scout);
                return Ok(());
            }
            Settled::Use(choices) => {
                let (profile, output) = *choices;
                self.stage.choose(profile);
                self.stage.output = output;
            }
            Settled::Wait | Settled::Keep => {}
        }
        scout.held.into_iter().try_for_each(|step| self.take(step, out))
    }
}

impl Scout {
    fn hold(&mut self, step: Step) {
        self.bytes += step.size();
        match &step {
            Step::Line(_) => self.lines += 1,
            Step::Dialect(name) => self.dialect = Some(name.clone()),
            Step::Event(Event::Facts(news)) => self.facts.update((**news).clone()),
            Step::Event(_) | Step::Count(_) => {}
        }
        self.held.push_back(step);
    }
}
