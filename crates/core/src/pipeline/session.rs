//! Applies steps to the session and writes the outputs. Each step is written completely before the next is applied.

use std::fmt::{self, Write};

use crate::budget::Budget;
use crate::event::Event;
use crate::item::{Fact, Item};
use crate::report;
use crate::session::{Session, SessionChange};

use super::change_context::ChangeContext;
use super::decode::SHOWN_DAMAGE;
use super::format::FormatStage;
use super::further_output::FurtherOutput;
use super::step::{InputCount, Step};

/// Further outputs pass their text on when it exceeds this size, in bytes.
const PIECE: usize = 64 << 10;

/// Holds the session, and passes each change in it to all outputs.
pub struct SessionStage {
    pub(super) session: Session,
    pub(super) main: FormatStage,
    pub(super) others: Vec<FurtherOutput>,
    line: u64,
    /// Whether a missing outcome is reported at the end.
    pub(super) requires_outcome: bool,
}

impl SessionStage {
    /// The stage before the first step.
    pub(super) fn new(budget: Budget, main: FormatStage, others: Vec<FurtherOutput>) -> Self {
        Self { session: Session::new(budget), main, others, line: 0, requires_outcome: false }
    }

    /// The output of this number, if there is one, and the session: 0 is the main output, 1 the first of the others.
    pub(super) fn output(&mut self, number: usize) -> (Option<&mut FormatStage>, &Session) {
        let stage = match number {
            0 => Some(&mut self.main),
            _ => self.others.get_mut(number - 1).map(|other| &mut other.stage),
        };
        (stage, &self.session)
    }

    /// Whether an output may show items of minor importance.
    pub(super) fn shows_minor(&self) -> bool {
        let others = self.others.iter().map(|other| &other.stage);
        let mut all = std::iter::once(&self.main).chain(others);
        all.any(|stage| stage.entries.chain.shows_minor())
    }

    /// Applies the next step, and writes everything that it completes to `out`. [`Self::written`] returns
    /// whether writing failed; after a failure only the other outputs continue.
    pub fn take(&mut self, step: Step, out: &mut dyn Write) {
        if self.main.entries.writer.has_failed() && self.others.is_empty() {
            return;
        }
        self.apply(step, out);
    }

    /// Passes on the text of the other outputs, and returns whether writing has failed since the last call.
    pub fn written(&mut self) -> fmt::Result {
        self.others.iter_mut().for_each(FurtherOutput::pass_on);
        self.main.entries.writer.take_written()
    }

    /// Ends the session after the last step, and writes everything that is still open.
    pub(super) fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.end_session(out);
        let written = self.written();
        self.others.iter_mut().for_each(FurtherOutput::end);
        written?;
        self.main.entries.writer.end(out)
    }

    fn end_session(&mut self, out: &mut dyn Write) {
        self.each(out, FormatStage::end_record);
        let Self { session, main, others, line, .. } = self;
        session.end(*line, |session, change| forward(main, others, session, &change, out));
        let damaged = self.main.entries.report.damaged;
        if damaged > SHOWN_DAMAGE {
            let mut notice = Item::warning("damaged", "damaged", self.line);
            notice.data.push(("count", Fact::Int(damaged.cast_signed())));
            self.event(Event::Put(Box::new(notice)), out);
        }
        if self.requires_outcome && self.main.entries.report.lacks_outcome() {
            let mut notice = Item::warning("no-outcome", "no-outcome", self.line);
            notice.error = true;
            self.event(Event::Put(Box::new(notice)), out);
        }
        self.each(out, FormatStage::end);
    }

    /// Applies a step, even if writing has failed.
    pub(super) fn apply(&mut self, step: Step, out: &mut dyn Write) {
        match step {
            Step::Event(event) => self.event(event, out),
            Step::Record(line, record, node) => {
                self.each(out, |stage, context| stage.begin_record(line, &record, node, context));
            }
            Step::Count(counted) => self.count(&counted, out),
        }
    }

    /// Applies an event to the session, and passes its changes to all outputs.
    fn event(&mut self, event: Event, out: &mut dyn Write) {
        match &event {
            Event::Bookkeeping(name) => {
                self.each(out, |stage, _| report::count(&mut stage.entries.report.bookkeeping, name));
            }
            Event::Unknown(name) => {
                self.each(out, |stage, _| report::count(&mut stage.entries.report.unknown, name));
            }
            _ => {}
        }
        let Self { session, main, others, .. } = self;
        session.apply(event, |session, change| forward(main, others, session, &change, out));
    }

    /// Adds to the counts of each output's report.
    fn count(&mut self, counted: &InputCount, out: &mut dyn Write) {
        if let InputCount::Line(line) = counted {
            self.line = *line;
        }
        self.each(out, |stage, context| {
            if counted.ends_record() {
                stage.end_record(context);
            }
            counted.add_to(&mut stage.entries.report);
        });
    }

    /// Calls `work` for each output.
    #[inline]
    fn each(&mut self, out: &mut dyn Write, work: impl Fn(&mut FormatStage, &mut ChangeContext<'_>)) {
        let Self { session, main, others, .. } = self;
        work(main, &mut ChangeContext { session, out });
        for FurtherOutput { stage, text, .. } in others {
            work(stage, &mut ChangeContext { session, out: text });
        }
    }
}

/// Passes a change in the session to all outputs.
fn forward(
    main: &mut FormatStage,
    others: &mut [FurtherOutput],
    session: &Session,
    change: &SessionChange<'_>,
    out: &mut dyn Write,
) {
    main.take(change, &mut ChangeContext { session, out });
    for other in others {
        other.stage.take(change, &mut ChangeContext { session, out: &mut other.text });
        if other.text.len() > PIECE {
            other.pass_on();
        }
    }
}
