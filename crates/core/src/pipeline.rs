//! The whole path of a line: bytes in, text out.
//!
//! ```text
//! bytes ─▶ frame ─▶ reading ─▶ decode ─▶ session ─▶ format ─▶ outline ─▶ write ─▶ text
//!          line     record     events    items      entries   parts
//! ```
//!
//! Each line is written completely before the next is applied; decoding may run ahead on another thread
//! ([`Pipeline::split`]). Each item is formatted at the step that completes it, with the session as it
//! is there, and never again.
//!
//! A session may have several outputs ([`Setup::also`]). The input is decoded once; from items on each output has formatters,
//! limits and a writer of its own, and is what it would be alone.

mod change_context;
mod decode;
mod detect;
mod format;
mod further_output;
mod growing;
mod head;
mod heading;
mod open;
mod pace;
mod result_of_call;
mod session;
mod start;
mod step;
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
use crate::outline::{DocumentHead, Node};
use crate::profile::Profile;
use crate::session::{Facts, Session};
use crate::writer::Writer;

pub use crate::outline::{EntryChange, Update};
pub use crate::report::Report;
pub use decode::{DecodeStage, Pieces, Subagents};
pub use growing::GROWING_TEXT;
pub use open::{OpenAgent, OpenNodes};
pub use pace::LivePace;
pub use session::SessionStage;
pub use step::{InputCount, Step};

use change_context::ChangeContext;
use format::{EntryStage, FormatStage};
use further_output::FurtherOutput;
use start::HeldStart;

/// What comes out of a pipeline.
pub enum Output {
    /// What is said: entries of a formatter chain, spelled by a writer.
    Entries {
        /// Formatters, asked in this order before the standard one.
        formatters: Vec<Box<dyn Formatter>>,
        /// Spells the entries.
        writer: Box<dyn Writer>,
    },
    /// What is said, for a sink that can change what it shows: taken with [`Pipeline::take_updates`].
    Updates {
        /// Formatters, asked in this order before the standard one.
        formatters: Vec<Box<dyn Formatter>>,
    },
    /// What is: the items, one JSON object a line.
    Items {
        /// Formatters that nothing is asked but for their accumulators, if the profile draws records by one.
        formatters: Vec<Box<dyn Formatter>>,
    },
}

/// What is known of a stream before anything of it is written.
pub struct StreamStart<'a> {
    /// The dialect's name, once a line was claimed.
    pub dialect: Option<&'a str>,
    /// The facts of the run so far.
    pub facts: &'a Facts,
    /// Whether no more will be known: too much was held back already, or the input has ended.
    pub is_all: bool,
}

/// A decision about a stream.
pub enum Settled {
    /// More must be known. If that is all, what was set up stays.
    Wait,
    /// What was set up stays.
    Keep,
    /// These choices and this output are used instead.
    Use(Box<(Profile, Output)>),
}

/// Decides by the beginning of a stream how it is shown. It is asked after each line until it has decided;
/// until then, and within bounds, nothing is said.
pub type Settle = Box<dyn FnMut(&StreamStart<'_>) -> Settled + Send>;

/// Takes text, piece by piece, and decides whether to go on.
pub type TakeText = Box<dyn FnMut(&str) -> ControlFlow<()> + Send>;

/// One more output of a session.
pub struct Sink {
    /// The user's choices.
    pub profile: Profile,
    /// What comes out.
    pub output: Output,
    /// Decides anew what is shown and how, once it is known whose stream it is.
    pub settle: Option<Settle>,
    /// Where the text goes. Once it breaks off it isn't called again; the other outputs go on. Updates don't come here: see
    /// [`Pipeline::take_updates_of`].
    pub take: TakeText,
    /// Where the document's head goes that belongs before all of the text, once, when that is complete. Without it the writer
    /// does without a head, or writes what it holds at the end: see [`HeadWriter`](crate::writer::HeadWriter).
    pub take_head: Option<TakeText>,
}

/// How a pipeline is set up.
pub struct Setup {
    /// The known dialects.
    pub dialects: Dialects,
    /// The presentation of what no formatter decides.
    pub presentation: Presentation,
    /// The dialect's name, or `None` to find out (`auto`).
    pub dialect: Option<String>,
    /// Dialects beside the known ones.
    pub dialect_plugins: Vec<DialectPlugin>,
    /// Lines longer than this are told, not read. In bytes; see [`crate::frame::MAX_LINE`].
    pub max_line: usize,
    /// How much of the session is kept at a time.
    pub budget: Budget,
    /// The user's choices.
    pub profile: Profile,
    /// What comes out.
    pub output: Output,
    /// Whether the whole input is there already, so that nobody waits for a call before its result comes.
    pub is_whole: bool,
    /// Whether what waits or grows in the main output is shown meanwhile ([`Pipeline::open_nodes`]). So nobody waits for a call
    /// either.
    pub shows_open: bool,
    /// Where the files of a history's sub-agents are found.
    pub subagents: Option<Subagents>,
    /// Decides anew what is shown and how, once it is known whose stream it is.
    pub settle: Option<Settle>,
    /// Whether the head of a document is kept for [`Pipeline::head`], to be put before the text of the main output by whoever
    /// holds that back until then. See [`HeadWriter`](crate::writer::HeadWriter).
    pub holds_head: bool,
    /// Further outputs. The input is read as all of the above asks for.
    pub also: Vec<Sink>,
}

/// Bytes of one input in, text out. One pipeline reads one input. It may go to another thread, unless something in it is
/// for its own alone, as the machine of a script is.
pub struct Pipeline {
    framer: Framer,
    decode: DecodeStage,
    session: SessionStage,
}

impl Pipeline {
    /// Sets a pipeline up.
    pub fn new(setup: Setup) -> Self {
        let Setup {
            dialects,
            presentation,
            dialect,
            dialect_plugins,
            max_line,
            budget,
            profile,
            output,
            is_whole,
            shows_open,
            subagents,
            settle,
            holds_head,
            also,
        } = setup;
        let may_wait = is_whole || shows_open;
        let main = EntryStage::new(profile, output, presentation, may_wait, holds_head, is_whole, budget);
        let mut settles: Vec<_> = settle.map(|settle| (0, settle)).into_iter().collect();
        let mut others = Vec::new();
        for (number, sink) in (1..).zip(also) {
            let Sink { profile, output, settle, take, take_head } = sink;
            let holds_head = take_head.is_some();
            let stage =
                EntryStage::new(profile, output, presentation, is_whole, holds_head, is_whole, budget);
            settles.extend(settle.map(|settle| (number, settle)));
            others.push(FurtherOutput::new(FormatStage::new(stage), take, take_head));
        }
        let dialect = dialect.as_deref();
        let start = HeldStart::of(settles, dialect);
        Self {
            framer: Framer::new(max_line),
            decode: DecodeStage::new(dialects, dialect_plugins, dialect, subagents, max_line, budget),
            session: SessionStage::new(start, budget, FormatStage::new(main), others),
        }
    }

    /// Reads more of the input and writes what it completes.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
        let Self { framer, decode, session } = self;
        framer.push(bytes, |frame| decode.take(frame, &mut |step| session.take(step, out)));
        session.written()
    }

    /// Reads more of a file that the sub-agent of `call` writes, and writes what it completes: for a history that is read
    /// as it grows, and its sub-agents' files with it. `framer` is the file's own; where [`Setup::subagents`] gave the first lines
    /// of it, it goes on behind those. The call must have been read.
    pub fn push_inside(
        &mut self,
        call: &Id,
        framer: &mut Framer,
        bytes: &[u8],
        out: &mut dyn Write,
    ) -> fmt::Result {
        let Self { decode, session, .. } = self;
        framer.push(bytes, |frame| decode.take_inside(call, frame, &mut |step| session.take(step, out)));
        session.written()
    }

    /// Splits the pipeline into the framer and the decoder, which may run ahead on another thread, and the stage that applies the
    /// steps in order.
    pub fn split(&mut self) -> (&mut Framer, &mut DecodeStage, &mut SessionStage) {
        (&mut self.framer, &mut self.decode, &mut self.session)
    }

    /// Makes a missing outcome show at the end, as an error: for an input that is a whole run, not an excerpt, and that was read to
    /// its end. Histories need none. See [`Report::lacks_outcome`](crate::report::Report::lacks_outcome).
    pub fn require_outcome(&mut self) {
        self.session.requires_outcome = true;
    }

    /// Ends the input: writes what is left.
    pub fn finish(&mut self, out: &mut dyn Write) -> fmt::Result {
        let Self { framer, decode, session } = self;
        framer.finish(|frame| decode.take(frame, &mut |step| session.take(step, out)));
        decode.end(&mut |step| session.take(step, out));
        session.end(out)
    }

    /// What is known of the run as a whole, once the input has ended, if the writer of the main output wants that
    /// ([`crate::writer::Wants::head`]).
    pub fn document_head(&self) -> Option<&DocumentHead> {
        self.session.main.entries.writer.document_head()
    }

    /// Writes what belongs before all that the main output has written, if its writer has such a head and
    /// [`Setup::holds_head`] asked for it. Once, after [`Self::finish`].
    pub fn head(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.session.main.entries.writer.head(out)
    }

    /// What changed since the last time, in the order in which it first changed. Growing items are
    /// formatted here, once for all that they grew: the caller's pace is the pace of formatting ([`LivePace`]). Of a text
    /// longer than [`GROWING_TEXT`] its end is shown, behind a [`crate::entry::Block::Elided`]; and while secrets are masked, no more
    /// than its whole lines, nothing of a private key until that has ended, and nothing of what the stream gives anew as a whole but
    /// plans.
    pub fn take_updates(&mut self) -> Vec<Update> {
        self.take_updates_of(0)
    }

    /// The same of an output: 0 is the main one, 1 the first of [`Setup::also`].
    pub fn take_updates_of(&mut self, output: usize) -> Vec<Update> {
        let SessionStage { session, main, others, .. } = &mut self.session;
        let stage = match output {
            0 => Some(main),
            _ => others.get_mut(output - 1).map(|other| &mut other.stage),
        };
        stage.map(|stage| stage.take_updates(session)).unwrap_or_default()
    }

    /// The same as [`Self::take_updates`] but for what still grows: it costs nothing to take this whenever something was read.
    pub fn take_finished(&mut self) -> Vec<Update> {
        self.session.main.entries.take_finished()
    }

    /// Whether something has grown since the last [`Self::take_updates`].
    pub fn has_grown(&self) -> bool {
        self.session.main.has_grown()
    }

    /// Goes on with the profile and the output of another set-up from the next event on. What was said stays said; the session, the
    /// counts and what formatters want to keep go over to the new ones. `writer`: whether the writer is replaced, too; one that
    /// writes a document as a whole can't be. Nothing but the profile is replaced if the kind of output is another. Further
    /// outputs stay as they are.
    pub fn replace(&mut self, setup: Setup, writer: bool, out: &mut dyn Write) -> fmt::Result {
        let Setup { profile, output, .. } = setup;
        let SessionStage { session, main, .. } = &mut self.session;
        main.replace(profile, output, writer, &mut ChangeContext { session, out })
    }

    /// What the main output doesn't show for good yet: entries that wait for what belongs to them, items that grow, as they are now,
    /// and sub-agents at work, each by the title of its call. In the order in which they would come. For a writer, and only what
    /// [`Setup::shows_open`] asks for.
    pub fn open_nodes(&mut self) -> OpenNodes {
        let SessionStage { session, main, .. } = &mut self.session;
        main.open_nodes(session)
    }

    /// Writes nodes as they would stand behind what the main output has written, and forgets it again: see
    /// [`LiveWriter::preview`](crate::writer::LiveWriter::preview).
    pub fn preview(&mut self, nodes: &[Node], rows: usize, out: &mut dyn Write) -> fmt::Result {
        self.session.main.entries.writer.preview(nodes, rows, out)
    }

    /// From here on, rows of the main output are wrapped at this width, if they are wrapped at all.
    pub fn set_width(&mut self, columns: usize) {
        self.session.main.entries.writer.set_width(columns);
    }

    /// The number of the last line that was read: what was shown at it is the same in every process, at any pace. The end of the input
    /// counts as one more.
    pub fn revision(&self) -> u64 {
        self.session.main.entries.revision()
    }

    /// What was counted so far, of the main output.
    pub fn report(&self) -> &Report {
        &self.session.main.entries.report
    }

    /// What was counted so far of each of the further outputs, in their order.
    pub fn other_reports(&self) -> impl Iterator<Item = &Report> {
        self.session.others.iter().map(|other| &other.stage.entries.report)
    }

    /// All items so far, and the facts of the run.
    pub fn session(&self) -> &Session {
        &self.session.session
    }
}

/// What keeps a pipeline from going to another thread is found where it is compiled.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Pipeline>();
    is_send::<Setup>();
    is_send::<Sink>();
};
