//! From events to entries: the session, and what is said of it.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;

use crate::event::Event;
use crate::item::Fact;
use crate::session::{Facts, Session};

use super::decode::{DecodedStep, DecodedStepKind, InputCount};
use super::format::FormatStage;
use super::report;
use super::write::{Said, Saying};
use super::{Known, SHOWN_DAMAGE, Settle, Settled, notice};

/// Lines held back while it isn't settled how the stream is shown.
const MAX_HELD_LINES: usize = 64;
/// Bytes held back while it isn't settled how the stream is shown.
const MAX_HELD_BYTES: usize = 1 << 20;

/// From events to entries.
pub struct SessionStage {
    pub(super) session: Session,
    /// What is said in the main output.
    pub(super) stage: FormatStage,
    /// What is said in the others.
    pub(super) others: Vec<FormatStage>,
    scout: Option<Scout>,
    line: u64,
}

/// What is held back while it isn't settled how the stream is shown.
#[derive(Default)]
struct Scout {
    /// What decides on each output for which that isn't settled yet, by its number.
    settles: Vec<(usize, Settle)>,
    held: VecDeque<DecodedStep>,
    lines: usize,
    bytes: usize,
    /// What is known of the stream so far.
    dialect: Option<Arc<str>>,
    facts: Facts,
}

impl SessionStage {
    /// `stage`: what is said. `dialect`: its name, if it was decided on from outside.
    pub(super) fn new(stage: FormatStage, settle: Option<Settle>, dialect: Option<&str>) -> Self {
        let mut session_stage =
            Self { session: Session::default(), stage, others: Vec::new(), scout: None, line: 0 };
        session_stage.scout(0, settle, dialect);
        session_stage
    }

    /// Adds an output.
    pub(super) fn add(&mut self, stage: FormatStage, settle: Option<Settle>, dialect: Option<&str>) {
        self.others.push(stage);
        self.scout(self.others.len(), settle, dialect);
    }

    /// Waits until it is settled how an output shows the stream.
    fn scout(&mut self, output: usize, settle: Option<Settle>, dialect: Option<&str>) {
        let Some(settle) = settle else { return };
        let scout = self.scout.get_or_insert_default();
        scout.dialect = dialect.map(Into::into);
        scout.settles.push((output, settle));
    }

    /// Takes a step, and says what it completes.
    #[inline]
    pub fn take(&mut self, step: DecodedStep, said: &mut Vec<Said>) {
        if let Some(scout) = &mut self.scout {
            scout.hold(step);
            return self.settle(false, said);
        }
        match step.0 {
            DecodedStepKind::Event(event) => return self.happen(event, said),
            DecodedStepKind::Line(line) => self.line = line,
            _ => {}
        }
        let Self { session, stage, others, .. } = self;
        begin(&step.0, stage, session, said);
        for stage in others {
            begin(&step.0, stage, session, said);
        }
    }

    /// Ends the input: says what is left.
    pub(super) fn end(&mut self, said: &mut Vec<Said>) {
        self.settle(true, said);
        let Self { session, stage, others, line, .. } = self;
        stage.end_frame(session, said);
        for stage in others.iter_mut() {
            stage.end_frame(session, said);
        }
        session.end(*line, |session, change| {
            stage.take(session, &change, said);
            for stage in others.iter_mut() {
                stage.take(session, &change, said);
            }
        });
        let damaged = stage.report.damaged;
        if damaged > SHOWN_DAMAGE {
            let mut notice = notice(*line, "damaged");
            notice.id = "damaged".into();
            notice.data.push(("count", Fact::Int(damaged.cast_signed())));
            self.happen(Event::Put(Box::new(notice)), said);
        }
        let Self { session, stage, others, .. } = self;
        stage.end(session, said);
        for stage in others {
            stage.end(session, said);
        }
    }

    fn happen(&mut self, event: Event, said: &mut Vec<Said>) {
        if let Event::Bookkeeping(_) | Event::Unknown(_) = &event {
            self.count(&event);
        }
        let Self { session, stage, others, .. } = self;
        session.apply(event, |session, change| {
            stage.take(session, &change, said);
            for stage in others.iter_mut() {
                stage.take(session, &change, said);
            }
        });
    }

    /// Counts what nothing is said of.
    fn count(&mut self, event: &Event) {
        for FormatStage { report, .. } in iter::once(&mut self.stage).chain(&mut self.others) {
            match event {
                Event::Bookkeeping(name) => report::count(&mut report.bookkeeping, name),
                Event::Unknown(name) => report::count(&mut report.unknown, name),
                _ => {}
            }
        }
    }

    /// Looks whether it can be settled now how the stream is shown, and if so, takes what was held back for that.
    fn settle(&mut self, is_end: bool, said: &mut Vec<Said>) {
        let Some(mut scout) = self.scout.take() else { return };
        let is_all = is_end || scout.lines > MAX_HELD_LINES || scout.bytes > MAX_HELD_BYTES;
        let known = Known { dialect: scout.dialect.as_deref(), facts: &scout.facts, is_all };
        let Self { stage, others, .. } = self;
        scout.settles.retain_mut(|(output, settle)| match settle(&known) {
            Settled::Wait => !is_all,
            Settled::Keep => false,
            Settled::Use(choices) => {
                let (profile, output_of) = *choices;
                let stage = if *output == 0 { &mut *stage } else { &mut others[*output - 1] };
                let writer = stage.settle(profile, output_of);
                said.push(Said { output: *output, saying: Saying::Writer(writer) });
                false
            }
        });
        if !scout.settles.is_empty() {
            self.scout = Some(scout);
            return;
        }
        scout.held.into_iter().for_each(|step| self.take(step, said));
    }
}

/// Counts a step that is no event, and ends and begins the record that a formatter may speak of as a whole.
#[inline]
fn begin(step: &DecodedStepKind, stage: &mut FormatStage, session: &Session, said: &mut Vec<Said>) {
    if matches!(step, DecodedStepKind::Line(_) | DecodedStepKind::Count(_)) {
        stage.end_frame(session, said);
    }
    let report = &mut stage.report;
    match step {
        DecodedStepKind::Event(_) => {}
        DecodedStepKind::Line(_) => report.lines += 1,
        DecodedStepKind::Dialect(name) => report.dialect = Some(Arc::clone(name)),
        DecodedStepKind::Record(dialect_record) => {
            report.events += 1;
            stage.begin_frame(dialect_record, session, said);
        }
        DecodedStepKind::Count(counted) => match counted {
            InputCount::Blank => report.blank_lines += 1,
            InputCount::Raw => report.raw_lines += 1,
            InputCount::Damaged => report.damaged += 1,
            InputCount::Oversized => report.oversized += 1,
            InputCount::Foreign(name) => report.foreign = report.foreign.or(Some(name)),
        },
    }
}

impl Scout {
    fn hold(&mut self, step: DecodedStep) {
        self.bytes += step.size();
        match &step.0 {
            DecodedStepKind::Line(_) => self.lines += 1,
            DecodedStepKind::Dialect(name) => self.dialect = Some(name.clone()),
            DecodedStepKind::Event(Event::Facts(news)) => self.facts.update((**news).clone()),
            DecodedStepKind::Event(_) | DecodedStepKind::Count(_) | DecodedStepKind::Record(_) => {}
        }
        self.held.push_back(step);
    }
}
