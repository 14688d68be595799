//! From events to items: the session, and behind it what formats its items for each output.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;

use crate::budget::Budget;
use crate::event::Event;
use crate::item::Fact;
use crate::report;
use crate::session::{Facts, Session};

use super::decode::{DecodedStep, DecodedStepKind, InputCount};
use super::format::FormatStage;
use super::write::{FormattedPart, FormattedPartKind};
use super::{SHOWN_DAMAGE, Settle, Settled, StreamStart, notice};

/// Lines held back while it isn't settled how the stream is shown.
const MAX_HELD_LINES: usize = 64;
/// Bytes held back while it isn't settled how the stream is shown.
const MAX_HELD_BYTES: usize = 1 << 20;

/// From events to items, and to the entries of each output.
pub struct SessionStage {
    pub(super) session: Session,
    /// Formats for the main output.
    pub(super) stage: FormatStage,
    /// Format for the others.
    pub(super) others: Vec<FormatStage>,
    held_start: Option<HeldStart>,
    line: u64,
    /// Whether a missing outcome is shown.
    pub(super) requires_outcome: bool,
}

/// What is held back while it isn't settled how the stream is shown.
#[derive(Default)]
struct HeldStart {
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
    /// `stage` formats for the main output. `dialect`: its name, if it was decided on from outside.
    pub(super) fn new(
        stage: FormatStage,
        settle: Option<Settle>,
        dialect: Option<&str>,
        budget: Budget,
    ) -> Self {
        let mut session_stage = Self {
            session: Session::new(budget),
            stage,
            others: Vec::new(),
            held_start: None,
            line: 0,
            requires_outcome: false,
        };
        session_stage.hold_start(0, settle, dialect);
        session_stage
    }

    /// Adds an output.
    pub(super) fn add(&mut self, stage: FormatStage, settle: Option<Settle>, dialect: Option<&str>) {
        self.others.push(stage);
        self.hold_start(self.others.len(), settle, dialect);
    }

    /// Waits until it is settled how an output shows the stream.
    fn hold_start(&mut self, output: usize, settle: Option<Settle>, dialect: Option<&str>) {
        let Some(settle) = settle else { return };
        let held_start = self.held_start.get_or_insert_default();
        held_start.dialect = dialect.map(Into::into);
        held_start.settles.push((output, settle));
    }

    /// Takes a step, and says what it completes.
    #[inline]
    pub fn take(&mut self, step: DecodedStep, formatted: &mut Vec<FormattedPart>) {
        if let Some(held_start) = &mut self.held_start {
            held_start.hold(step);
            return self.settle(false, formatted);
        }
        match step.0 {
            DecodedStepKind::Event(event) => return self.happen(event, formatted),
            DecodedStepKind::Line(line) => self.line = line,
            _ => {}
        }
        let Self { session, stage, others, .. } = self;
        begin(&step.0, stage, session, formatted);
        for stage in others {
            begin(&step.0, stage, session, formatted);
        }
    }

    /// Ends the input: says what is left.
    pub(super) fn end(&mut self, formatted: &mut Vec<FormattedPart>) {
        self.settle(true, formatted);
        let Self { session, stage, others, line, .. } = self;
        stage.end_frame(session, formatted);
        for stage in others.iter_mut() {
            stage.end_frame(session, formatted);
        }
        session.end(*line, |session, change| {
            stage.take(session, &change, formatted);
            for stage in others.iter_mut() {
                stage.take(session, &change, formatted);
            }
        });
        let damaged = stage.report.damaged;
        if damaged > SHOWN_DAMAGE {
            let mut notice = notice(*line, "damaged");
            notice.id = "damaged".into();
            notice.data.push(("count", Fact::Int(damaged.cast_signed())));
            self.happen(Event::Put(Box::new(notice)), formatted);
        }
        if self.requires_outcome && self.stage.report.lacks_outcome() {
            let mut notice = notice(self.line, "no-outcome");
            notice.id = "no-outcome".into();
            notice.error = true;
            self.happen(Event::Put(Box::new(notice)), formatted);
        }
        let Self { session, stage, others, .. } = self;
        stage.end(session, formatted);
        for stage in others {
            stage.end(session, formatted);
        }
    }

    fn happen(&mut self, event: Event, formatted: &mut Vec<FormattedPart>) {
        if let Event::Bookkeeping(_) | Event::Unknown(_) = &event {
            self.count(&event);
        }
        let Self { session, stage, others, .. } = self;
        session.apply(event, |session, change| {
            stage.take(session, &change, formatted);
            for stage in others.iter_mut() {
                stage.take(session, &change, formatted);
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
    fn settle(&mut self, is_end: bool, formatted: &mut Vec<FormattedPart>) {
        let Some(mut held_start) = self.held_start.take() else { return };
        let is_all = is_end || held_start.lines > MAX_HELD_LINES || held_start.bytes > MAX_HELD_BYTES;
        let known = StreamStart { dialect: held_start.dialect.as_deref(), facts: &held_start.facts, is_all };
        let Self { stage, others, .. } = self;
        held_start.settles.retain_mut(|(output, settle)| match settle(&known) {
            Settled::Wait => !is_all,
            Settled::Keep => false,
            Settled::Use(choices) => {
                let (profile, output_of) = *choices;
                let stage = if *output == 0 { &mut *stage } else { &mut others[*output - 1] };
                let writer = stage.settle(profile, output_of);
                formatted.push(FormattedPart { output: *output, kind: FormattedPartKind::Writer(writer) });
                false
            }
        });
        if !held_start.settles.is_empty() {
            self.held_start = Some(held_start);
            return;
        }
        held_start.held.into_iter().for_each(|step| self.take(step, formatted));
    }
}

/// Counts a step that is no event, and ends and begins the record that a formatter may speak of as a whole.
#[inline]
fn begin(
    step: &DecodedStepKind,
    stage: &mut FormatStage,
    session: &Session,
    formatted: &mut Vec<FormattedPart>,
) {
    if matches!(step, DecodedStepKind::Line(_) | DecodedStepKind::Count(_)) {
        stage.end_frame(session, formatted);
    }
    let report = &mut stage.report;
    match step {
        DecodedStepKind::Event(_) => {}
        DecodedStepKind::Line(_) => report.lines += 1,
        DecodedStepKind::Dialect(name) => report.dialect = Some(Arc::clone(name)),
        DecodedStepKind::AwaitsOutcome => report.awaits_outcome = true,
        DecodedStepKind::Record(dialect_record) => {
            report.events += 1;
            stage.begin_frame(dialect_record, session, formatted);
        }
        DecodedStepKind::Count(counted) => match counted {
            InputCount::Blank => report.blank_lines += 1,
            InputCount::Raw => report.raw_lines += 1,
            InputCount::Damaged => report.damaged += 1,
            InputCount::Oversized => report.oversized += 1,
            InputCount::Foreign(program) => report.foreign = report.foreign.or(Some(*program)),
        },
    }
}

impl HeldStart {
    fn hold(&mut self, step: DecodedStep) {
        self.bytes += step.size();
        match &step.0 {
            DecodedStepKind::Line(_) => self.lines += 1,
            DecodedStepKind::Dialect(name) => self.dialect = Some(name.clone()),
            DecodedStepKind::Event(Event::Facts(news)) => self.facts.update((**news).clone()),
            DecodedStepKind::Event(_)
            | DecodedStepKind::Count(_)
            | DecodedStepKind::Record(_)
            | DecodedStepKind::AwaitsOutcome => {}
        }
        self.held.push_back(step);
    }
}
