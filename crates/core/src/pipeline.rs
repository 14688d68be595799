//! The whole path of a line: bytes in, text out.
//!
//! ```text
//! bytes ─▶ frame ─▶ reading ─▶ decode ─▶ session ─▶ format ─▶ outline ─▶ write ─▶ text
//!          line     record     events    items      entries   parts
//! ```
//!
//! Each line is written completely before the next is applied; decoding may run ahead on another thread
//! ([`Pipeline::split`]). Each complete item is formatted once, at the step that completes it, with the session
//! as of that step.
//!
//! A session may have several outputs ([`Setup::also`]). The input is decoded once; from items on, each output has its own
//! formatters, limits and writer, and is the same as if it were the only one. Observers ([`Setup::observers`]) see the items before the
//! outputs do, and need none.

mod change_context;
mod decode;
mod detect;
mod format;
mod growing;
mod head;
mod heading;
mod open;
mod other_dialects;
mod pace;
mod repeats;
mod result_of_call;
mod session;
mod start;
mod step;
mod text_sink;
mod titles;
mod update;
mod write;

use std::fmt::{self, Write};
use std::ops::ControlFlow;

use crate::budget::Budget;
use crate::dialect::{DialectPlugin, Dialects};
use crate::formatter::{Formatter, Presentation};
use crate::frame::Framer;
use crate::item::Id;
use crate::observer::Observer;
use crate::outline::{DocumentHead, DocumentPart, Node};
use crate::profile::Profile;
use crate::session::{Facts, Session};
use crate::writer::{Wants, Writer};

pub use crate::outline::{EntryChange, Update};
pub use crate::report::Report;
pub use decode::{DecodeStage, Origins, Pieces, SessionFacts, Subagents};
pub use growing::GROWING_TEXT;
pub use open::{OpenAgent, OpenNodes};
pub use pace::LivePace;
pub use session::SessionStage;
pub use step::Step;

use change_context::ChangeContext;
use format::{EntryStage, FormatStage, OutputSetup};
use start::Start;
use text_sink::TextSink;

/// The kind of output that a pipeline produces.
pub enum Output {
    /// Text: the entries of a formatter chain, in the format of a writer.
    Entries {
        /// Formatters, called in this order before the standard one.
        formatters: Vec<Box<dyn Formatter>>,
        /// Writes the entries.
        writer: Box<dyn Writer>,
    },
    /// The parts of a document, for an owner that writes them itself: see [`Pipeline::take_parts`].
    Document {
        /// Formatters, called in this order before the standard one.
        formatters: Vec<Box<dyn Formatter>>,
        /// How the owner wants the document arranged.
        wants: Wants,
    },
    /// Updates of entries, for a sink that can change what it shows: see [`Pipeline::take_updates`].
    Updates {
        /// Formatters, called in this order before the standard one.
        formatters: Vec<Box<dyn Formatter>>,
    },
    /// The items themselves, one JSON object per line.
    Items {
        /// Formatters that provide the accumulator, if the profile draws records with one. They don't format items.
        formatters: Vec<Box<dyn Formatter>>,
        /// Writes a document of the items instead of their lines: see [`Writer::items`].
        writer: Option<Box<dyn Writer>>,
    },
    /// None: [`Setup::observers`] watch the session, and nothing is formatted.
    Nothing,
}

/// The facts about a stream that are known before any of it is written.
pub struct StreamStart<'a> {
    /// The dialect's name, once a line was claimed.
    pub dialect: Option<&'a str>,
    /// The facts of the run so far.
    pub facts: &'a Facts,
    /// Whether this is final: too much has been held back already, or the input has ended.
    pub is_all: bool,
}

/// The result of [`DecideOutput`]: how a stream is shown.
pub enum OutputDecision {
    /// Undecided until more is known. If no more will be known ([`StreamStart::is_all`]), this is the same as [`OutputDecision::Keep`].
    Wait,
    /// Keep the profile and the output of the setup.
    Keep,
    /// Use this profile and this output instead.
    Use(Box<(Profile, Output)>),
}

/// Decides from the beginning of a stream how it is shown. It is called after each step until it has decided;
/// until then nothing is written, within a limit of lines and bytes.
pub type DecideOutput = Box<dyn FnMut(&StreamStart<'_>) -> OutputDecision + Send>;

/// Receives text in pieces. It returns `Break` to receive no more.
pub type TakeText = Box<dyn FnMut(&str) -> ControlFlow<()> + Send>;

/// A further output of a session.
pub struct Sink {
    /// The user's choices.
    pub profile: Profile,
    /// The kind of output.
    pub output: Output,
    /// May replace the profile and the output, depending on the beginning of the stream.
    pub settle: Option<DecideOutput>,
    /// Receives the text. After it has returned `Break` it isn't called again; the other outputs continue. Updates aren't passed
    /// here: see [`Pipeline::take_updates_of`].
    pub take: TakeText,
    /// Receives the head of the document, once, when the text is complete; the head belongs before all of the text. If `None`, the
    /// document is written without a head: see [`HeadWriter`](crate::writer::HeadWriter).
    pub take_head: Option<TakeText>,
}

/// The configuration of a pipeline.
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Setup {
    /// The known dialects.
    pub dialects: Dialects,
    /// The built-in presentation, for items that no formatter decides.
    pub presentation: Presentation,
    /// The dialect's name, or `None` to detect it (`auto`).
    pub dialect: Option<String>,
    /// Dialects in addition to the known ones.
    pub dialect_plugins: Vec<DialectPlugin>,
    /// The size limit of a line, in bytes: a longer one is reported and not read. See [`crate::frame::MAX_LINE`].
    pub max_line: usize,
    /// The memory limits of the session.
    pub budget: Budget,
    /// The user's choices for the main output.
    pub profile: Profile,
    /// The kind of the main output.
    pub output: Output,
    /// Whether the whole input is available already. Then a call may be held back until its result arrives: nobody is waiting to see it.
    pub is_whole: bool,
    /// Whether entries of the main output that wait or grow are previewed ([`Pipeline::open_nodes`]). Then, too, a call may be held
    /// back until its result arrives.
    pub shows_open: bool,
    /// Finds the files of a history's sub-agents.
    pub subagents: Option<Subagents>,
    /// Finds the file of a session that the input repeats.
    pub origins: Option<Origins>,
    /// Reads the record beside a history that contains facts of its session.
    pub facts: Option<SessionFacts>,
    /// May replace the profile and the output, depending on the beginning of the stream.
    pub settle: Option<DecideOutput>,
    /// Whether the head of the document is kept for [`Pipeline::head`]: the owner of the main output holds its text back and puts the
    /// head before it. See [`HeadWriter`](crate::writer::HeadWriter).
    pub holds_head: bool,
    /// Whether the report lists what is masked in the main output, and what looks like a secret and isn't: see [`Report::finds`].
    pub lists_finds: bool,
    /// Further outputs of the same input.
    pub also: Vec<Sink>,
    /// The observers of the session. Each sees all items, whatever the outputs show.
    pub observers: Vec<Box<dyn Observer>>,
}

/// Reads one input and writes its outputs: bytes in, text out.
///
/// It is `Send`, but a Lua VM in it runs only on the thread that created it.
pub struct Pipeline {
    framer: Framer,
    start: Start,
    decode: DecodeStage,
    session: SessionStage,
}

impl Pipeline {
    /// Creates a pipeline.
    pub fn new(mut setup: Setup) -> Self {
        let decode = DecodeStage::new(&mut setup);
        let Setup { presentation, budget, is_whole, holds_head, lists_finds, .. } = setup;
        let may_wait = is_whole || setup.shows_open;
        let options = OutputSetup { presentation, budget, is_whole, may_wait, holds_head, lists_finds };
        let main = EntryStage::new(setup.profile, setup.output, options, None);
        let mut outputs = vec![FormatStage::new(main)];
        let mut settles: Vec<_> = setup.settle.map(|settle| (0, settle)).into_iter().collect();
        for Sink { profile, output, settle, take, take_head } in setup.also {
            settles.extend(settle.map(|settle| (outputs.len(), settle)));
            let holds_head = take_head.is_some();
            let options = OutputSetup { may_wait: is_whole, holds_head, lists_finds: false, ..options };
            let sink = TextSink::new(take, take_head);
            outputs.push(FormatStage::new(EntryStage::new(profile, output, options, Some(sink))));
        }
        Self {
            framer: Framer::new(setup.max_line),
            start: Start::new(setup.dialect.as_deref(), settles),
            decode,
            session: SessionStage::new(budget, outputs, setup.observers),
        }
    }

    /// Reads more of the input and writes what it completes.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
        self.note_minor();
        let Self { framer, start, decode, session } = self;
        framer.push(bytes, |frames| start.take(frames, decode, session, out));
        session.written()
    }

    /// Reads more of the file of the sub-agent that `call` started, and writes what it completes: for a followed history whose
    /// sub-agents' files grow, too. `framer` belongs to that file alone; if [`Setup::subagents`] has returned its first lines,
    /// the framer continues after them. The call must have been read already.
    pub fn push_inside(
        &mut self,
        call: &Id,
        framer: &mut Framer,
        bytes: &[u8],
        out: &mut dyn Write,
    ) -> fmt::Result {
        self.note_minor();
        let Self { start, decode, session, .. } = self;
        let mut each = |step| start.step(step, session, out);
        framer.push(bytes, |frames| decode.take_inside(call, frames, &mut each));
        session.written()
    }

    /// Splits the pipeline into the framer and the decoder, which may run ahead on another thread, and the stage that applies the
    /// steps in order. `None` while the beginning of the stream may be held back, because its dialect isn't known or it isn't settled
    /// how it is shown: until then, use [`Self::push`].
    pub fn split(&mut self) -> Option<(&mut Framer, &mut DecodeStage, &mut SessionStage)> {
        self.note_minor();
        let Self { framer, start, decode, session } = self;
        start.is_over(decode).then_some((framer, decode, session))
    }

    /// Lets the decoder know whether an output may show items of minor importance. While it isn't settled how the stream is shown,
    /// any may.
    fn note_minor(&mut self) {
        self.decode.needs.shows_minor = !self.start.is_settled() || self.session.shows_minor();
    }

    /// Reports a missing outcome at the end, as an error: for an input that is a whole run, not an excerpt, and that was read to
    /// its end. Histories don't need an outcome. See [`Report::lacks_outcome`](crate::report::Report::lacks_outcome).
    pub fn require_outcome(&mut self) {
        self.session.requires_outcome = true;
        self.end_within_run();
    }

    /// Notes why the run was stopped, for the notice about its missing outcome.
    pub fn note_stop(&mut self, reason: &'static str) {
        self.session.stopped_for = Some(reason);
    }

    /// Notes that the input is a run that may go on: without its outcome, the last turn has no answer yet.
    pub fn end_within_run(&mut self) {
        self.session.is_run = true;
    }

    /// Doesn't report calls without a result at the end: for an excerpt, such as one line, whose results may be elsewhere.
    pub fn allow_open_calls(&mut self) {
        self.session.allows_open_calls = true;
    }

    /// Ends the input, and writes everything that is still open.
    pub fn finish(&mut self, out: &mut dyn Write) -> fmt::Result {
        let Self { framer, start, decode, session } = self;
        framer.finish(|frames| start.take(frames, decode, session, out));
        start.end(decode, session, out);
        session.end(out)
    }

    /// The facts about the whole run, once the input has ended, if the writer of the main output wants them
    /// ([`crate::writer::Wants::head`]).
    pub fn document_head(&self) -> Option<&DocumentHead> {
        self.session.main().writer.head.as_deref()
    }

    /// Writes the head of the document, which belongs before all text of the main output, if the writer has one and
    /// [`Setup::holds_head`] is set. Call it once, after [`Self::finish`].
    pub fn head(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.session.main_mut().writer.head(out)
    }

    /// Returns the changes since the last call, in the order in which each entry first changed.
    ///
    /// Growing items are formatted here, once for everything that they have grown by: the caller's pace ([`LivePace`]) is the pace of
    /// formatting. Of a text longer than [`GROWING_TEXT`] only the end is shown, after a [`crate::entry::Block::Elided`]. If secrets
    /// are masked, only complete lines are shown and nothing of a private key before its end; of the items that the stream replaces as
    /// a whole, only calls and plans are shown.
    pub fn take_updates(&mut self) -> Vec<Update> {
        self.take_updates_of(0)
    }

    /// Like [`Self::take_updates`], of any output: 0 is the main one, 1 the first of [`Setup::also`].
    pub fn take_updates_of(&mut self, output: usize) -> Vec<Update> {
        let SessionStage { session, outputs, .. } = &mut self.session;
        outputs.get_mut(output).map(|output| output.take_updates(session)).unwrap_or_default()
    }

    /// Like [`Self::take_updates`], without the growing items: cheap enough to be called after every read.
    pub fn take_finished(&mut self) -> Vec<Update> {
        self.session.main_mut().take_finished()
    }

    /// Returns the parts of the document that have become final since the last call, in document order: for [`Output::Document`]. What
    /// isn't final is in [`Self::open_nodes`]. Taken after each line, the parts of a line are the same in every process.
    pub fn take_parts(&mut self) -> Vec<DocumentPart> {
        self.session.main_mut().take_parts()
    }

    /// Whether an entry of the main output was completed since the last [`Self::open_nodes`].
    pub fn has_changed(&self) -> bool {
        self.session.main().has_changed
    }

    /// Whether something has grown since the last [`Self::take_updates`] or [`Self::open_nodes`].
    pub fn has_grown(&self) -> bool {
        self.session.outputs[0].has_grown()
    }

    /// Continues with the profile and the output of another setup, from the next event on. Text that was written remains; the session,
    /// the counts and the state that formatters want to keep carry over. `writer`: whether the writer is replaced, too, which is
    /// impossible for one that writes a document as a whole. If the kind of output differs, only the profile is replaced. Further
    /// outputs don't change.
    pub fn replace(&mut self, setup: Setup, writer: bool, out: &mut dyn Write) -> fmt::Result {
        let SessionStage { session, outputs, .. } = &mut self.session;
        outputs[0].replace(setup.profile, setup.output, writer, &mut ChangeContext { session, out })
    }

    /// The nodes of the main output that aren't final, in the order in which they would be written: entries that wait for others, and
    /// growing items in their current state; and the running sub-agents, each with the title of its call. For an output with a writer
    /// and [`Setup::shows_open`].
    pub fn open_nodes(&mut self) -> OpenNodes {
        let SessionStage { session, outputs, .. } = &mut self.session;
        outputs[0].open_nodes(session)
    }

    /// Writes nodes as they would follow the text of the main output, and leaves the writer's state unchanged: see
    /// [`LiveWriter::preview`](crate::writer::LiveWriter::preview).
    pub fn preview(&mut self, nodes: &[Node], rows: usize, out: &mut dyn Write) -> fmt::Result {
        self.session.main_mut().writer.live().map_or(Ok(()), |live| live.preview(nodes, rows, out))
    }

    /// Sets the width, in columns, at which the main output wraps rows from here on, if it wraps them.
    pub fn set_width(&mut self, columns: usize) {
        if let Some(live) = self.session.main_mut().writer.live() {
            live.set_width(columns);
        }
    }

    /// The revision: the number of lines applied so far, plus one once the input has ended. The entries shown at a given revision are
    /// the same in every process, at any pace.
    pub fn revision(&self) -> u64 {
        self.session.main().revision()
    }

    /// The counts of the main output so far.
    pub fn report(&self) -> &Report {
        &self.session.main().report
    }

    /// The counts of each further output so far, in the order of [`Setup::also`].
    pub fn other_reports(&self) -> impl Iterator<Item = &Report> {
        self.session.outputs[1..].iter().map(|output| &output.entries.report)
    }

    /// All items so far, and the facts of the run.
    pub fn session(&self) -> &Session {
        &self.session.session
    }
}

/// Compilation fails here if one of these types is no longer `Send`.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Pipeline>();
    is_send::<Setup>();
    is_send::<Sink>();
};
