//! From events to entries: the session, and what is said of it.

use std::collections::VecDeque;

use crate::event::Event;
use crate::item::Fact;
use crate::session::{Facts, Session};

use super::intake::{Counted, Step, StepKind};
use super::report;
use super::scribe::{Said, Saying};
use super::stage::Stage;
use super::{Known, SHOWN_DAMAGE, Settle, Settled, notice};

/// Lines held back while it isn't settled how the stream is shown.
const MAX_HELD_LINES: usize = 64;
/// Bytes held back while it isn't settled how the stream is shown.
const MAX_HELD_BYTES: usize = 1 << 20;

/// From events to entries.
pub struct Outlet {
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
    /// `stage`: what is said. `dialect`: its name, if it was decided on from outside.
    pub(super) fn new(stage: Stage, settle: Option<Settle>, dialect: Option<&str>) -> Self {
        let scout = settle.map(|settle| Scout {
            settle,
            held: VecDeque::new(),
            lines: 0,
            bytes: 0,
            dialect: dialect.map(Into::into),
            facts: Facts::default(),
        });
        Self { session: Session::default(), stage, scout, line: 0 }
    }

    /// Takes a step, and says what it completes.
    pub fn take(&mut self, step: Step, said: &mut Vec<Said>) {
        if let Some(scout) = &mut self.scout {
            scout.hold(step);
            return self.settle(false, said);
        }
        let Self { session, stage, .. } = self;
        match step.0 {
            StepKind::Event(event) => self.happen(event, said),
            StepKind::Line(line) => {
                stage.end_frame(session, said);
                self.line = line;
                stage.report.lines += 1;
            }
            StepKind::Dialect(name) => stage.report.dialect = Some(name),
            StepKind::Record(framed) => {
                stage.report.events += 1;
                stage.begin_frame(framed, session, said);
            }
            StepKind::Count(counted) => {
                stage.end_frame(session, said);
                self.count(counted);
            }
        }
    }

    fn count(&mut self, counted: Counted) {
        let report = &mut self.stage.report;
        match counted {
            Counted::Blank => report.blank_lines += 1,
            Counted::Raw => report.raw_lines += 1,
            Counted::Damaged => report.damaged += 1,
            Counted::Oversized => report.oversized += 1,
            Counted::Foreign(name) => report.foreign = report.foreign.or(Some(name)),
        }
    }

    /// Ends the input: says what is left.
    pub(super) fn end(&mut self, said: &mut Vec<Said>) {
        self.settle(true, said);
        let Self { session, stage, line, .. } = self;
        stage.end_frame(session, said);
        session.end(*line, |session, change| stage.take(session, change, said));
        let damaged = stage.report.damaged;
        if damaged > SHOWN_DAMAGE {
            let mut notice = notice(*line, "damaged");
            notice.id = "damaged".into();
            notice.data.push(("count", Fact::Int(damaged.cast_signed())));
            self.happen(Event::Put(Box::new(notice)), said);
        }
        self.stage.end(&self.session, said);
    }

    fn happen(&mut self, event: Event, said: &mut Vec<Said>) {
        let Self { session, stage, .. } = self;
        match &event {
            Event::Bookkeeping(name) => report::count(&mut stage.report.bookkeeping, name),
            Event::Unknown(name) => report::count(&mut stage.report.unknown, name),
            _ => {}
        }
        session.apply(event, |session, change| stage.take(session, change, said));
    }

    /// Looks whether it can be settled now how the stream is shown, and if so, takes what was held back for that.
    fn settle(&mut self, is_end: bool, said: &mut Vec<Said>) {
        let Some(mut scout) = self.scout.take() else { return };
        let is_all = is_end || scout.lines > MAX_HELD_LINES || scout.bytes > MAX_HELD_BYTES;
        let known = Known { dialect: scout.dialect.as_deref(), facts: &scout.facts, is_all };
        match (scout.settle)(&known) {
            Settled::Wait if !is_all => {
                self.scout = Some(scout);
                return;
            }
            Settled::Use(choices) => {
                let (profile, output) = *choices;
                said.push(Said(Saying::Writer(self.stage.settle(profile, output))));
            }
            Settled::Wait | Settled::Keep => {}
        }
        scout.held.into_iter().for_each(|step| self.take(step, said));
    }
}

impl Scout {
    fn hold(&mut self, step: Step) {
        self.bytes += step.size();
        match &step.0 {
            StepKind::Line(_) => self.lines += 1,
            StepKind::Dialect(name) => self.dialect = Some(name.clone()),
            StepKind::Event(Event::Facts(news)) => self.facts.update((**news).clone()),
            StepKind::Event(_) | StepKind::Count(_) | StepKind::Record(_) => {}
        }
        self.held.push_back(step);
    }
}
