//! Applies steps to the session and writes the outputs. Each step is written completely before the next is applied.

use std::fmt::{self, Write};
use std::mem;
use std::sync::Arc;

use crate::budget::Budget;
use crate::event::{Event, UsageDetails};
use crate::item::{Fact, Item};
use crate::observer::Observer;
use crate::report::{self, Report};
use crate::session::{Session, SessionChange};

use super::change_context::ChangeContext;
use super::decode::SHOWN_DAMAGE;
use super::format::{EntryStage, FormatStage};
use super::step::Step;
use super::text_sink::TextSink;

/// What is known of a message's tokens if the decoder says nothing.
static NO_DETAILS: UsageDetails = UsageDetails::NONE;

/// Holds the session, and passes each change in it to all outputs.
pub struct SessionStage {
    pub(super) session: Session,
    /// The main output, followed by the others.
    pub(super) outputs: Vec<FormatStage>,
    observers: Vec<Box<dyn Observer>>,
    /// Whether the input is a run, not an excerpt of one: without its outcome, the last turn has no answer.
    pub(super) is_run: bool,
    /// Whether a missing outcome is reported at the end.
    pub(super) requires_outcome: bool,
    /// Why the run was stopped, if it was.
    pub(super) stopped_for: Option<&'static str>,
    /// Whether calls without a result aren't reported at the end.
    pub(super) allows_open_calls: bool,
}

impl SessionStage {
    /// The stage before the first step.
    pub(super) fn new(budget: Budget, outputs: Vec<FormatStage>, observers: Vec<Box<dyn Observer>>) -> Self {
        let session = Session::new(budget);
        Self {
            session,
            outputs,
            observers,
            is_run: false,
            requires_outcome: false,
            stopped_for: None,
            allows_open_calls: false,
        }
    }

    /// The main output.
    pub(super) fn main(&self) -> &EntryStage {
        &self.outputs[0].entries
    }

    /// The main output, mutable.
    pub(super) fn main_mut(&mut self) -> &mut EntryStage {
        &mut self.outputs[0].entries
    }

    /// Whether an output may show items of minor importance, or an observer counts them.
    pub(super) fn shows_minor(&self) -> bool {
        !self.observers.is_empty() || self.outputs.iter().any(|output| output.entries.chain.shows_minor())
    }

    /// Applies the next step, and writes everything that it completes to `out`. [`Self::written`] returns
    /// whether writing failed; after a failure only the other outputs and the observers continue.
    pub fn take(&mut self, step: Step, out: &mut dyn Write) {
        if self.outputs.len() > 1 || !self.observers.is_empty() || self.main().writer.written.is_ok() {
            self.apply(step, out);
        }
    }

    /// Passes on the text of the other outputs, and returns whether writing has failed since the last call.
    pub fn written(&mut self) -> fmt::Result {
        let sinks = self.outputs.iter_mut().filter_map(|output| output.entries.writer.sink.as_mut());
        sinks.for_each(TextSink::pass_on);
        mem::replace(&mut self.main_mut().writer.written, Ok(()))
    }

    /// Ends the session after the last step, and writes everything that is still open.
    pub(super) fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.each(out, FormatStage::end_record);
        let Report { lines, damaged, .. } = self.main().report;
        let Self { session, outputs, observers, .. } = self;
        if self.allows_open_calls {
            session.forget_calls();
        }
        session.end(lines, |session, change| {
            watch(observers, &change, session);
            each_output(outputs, session, out, |output, context| output.take(&change, context));
        });
        if damaged > SHOWN_DAMAGE {
            let mut notice = Item::warning("damaged", "damaged", lines);
            notice.data.push(("count", Fact::Int(damaged.cast_signed())));
            self.apply(Step::put(notice, None), out);
        }
        if self.requires_outcome && self.main().report.lacks_outcome() {
            let mut notice = Item::warning("no-outcome", "no-outcome", lines);
            notice.error = true;
            if self.session.was_interrupted() || self.stopped_for.is_some() {
                notice.data.push(("interrupted", Fact::Bool(true)));
            }
            notice.data.extend(self.stopped_for.map(|reason| ("reason", Fact::Text(reason.to_owned()))));
            self.apply(Step::put(notice, None), out);
        }
        let is_run = self.is_run;
        self.each(out, |output, context| output.end(is_run, context));
        let Self { session, observers, .. } = self;
        for observer in observers {
            observer.end(session);
        }
        self.written()
    }

    /// Applies a step, even if writing has failed.
    pub(super) fn apply(&mut self, step: Step, out: &mut dyn Write) {
        match step {
            Step::Event(Event::Bookkeeping(name)) => {
                self.each(out, |output, _| report::count(&mut output.entries.report.bookkeeping, &name));
            }
            Step::Event(Event::Unknown(name)) => {
                self.each(out, |output, _| report::count(&mut output.entries.report.unknown, &name));
            }
            Step::Event(event) => {
                let Self { session, outputs, observers, .. } = self;
                if let Event::Usage { message, usage, details } = &event {
                    let details = details.as_deref().unwrap_or(&NO_DETAILS);
                    for observer in observers.iter_mut() {
                        observer.usage(message, *usage, details, session);
                    }
                }
                session.apply(event, |session, change| {
                    watch(observers, &change, session);
                    each_output(outputs, session, out, |output, context| output.take(&change, context));
                });
            }
            Step::Record(line, record, node) => {
                self.each(out, |output, context| output.begin_record(line, &record, node, context));
            }
            Step::Count(count) => self.count(out, count),
            Step::Foreign(program) => {
                self.count(out, |report| report.foreign = report.foreign.or(Some(program)));
            }
            Step::OtherDialect(name) => self.count(out, |all| report::count(&mut all.other_dialects, name)),
            Step::Dialect(name) => self.count(out, |report| report.dialect = Some(Arc::clone(&name))),
        }
    }

    /// Ends the current record, and counts something in the report of each output.
    fn count(&mut self, out: &mut dyn Write, count: impl Fn(&mut Report)) {
        self.each(out, |output, context| {
            output.end_record(context);
            count(&mut output.entries.report);
        });
    }

    /// Calls `work` for each output.
    #[inline]
    fn each(&mut self, out: &mut dyn Write, work: impl Fn(&mut FormatStage, &mut ChangeContext<'_>)) {
        each_output(&mut self.outputs, &self.session, out, work);
    }
}

/// Passes a complete item to the observers.
#[inline]
fn watch(observers: &mut [Box<dyn Observer>], change: &SessionChange<'_>, session: &Session) {
    if let SessionChange::Complete(item) | SessionChange::Record { item, is_early: false, .. } = change {
        for observer in observers {
            observer.item(item, session);
        }
    }
}

/// Calls `work` for each output. The session is borrowed while it passes a change on, so this isn't a method.
#[inline]
fn each_output(
    outputs: &mut [FormatStage],
    session: &Session,
    out: &mut dyn Write,
    work: impl Fn(&mut FormatStage, &mut ChangeContext<'_>),
) {
    let context = &mut ChangeContext { session, out };
    for output in outputs {
        work(output, context);
    }
}
