//! The whole path of a line: bytes in, text out.
//!
//! ```text
//! bytes ─▶ frame ─▶ readings ─▶ decode ─▶ steps ─▶ session ─▶ format ─▶ parts ─▶ write ─▶ text
//!          lines                          events   items                entries
//! ```
//!
//! Each stage knows nothing of those after it, so it may be some lines ahead, and a host may work them on several threads
//! ([`Pipeline::stages`]); readings are pure. Each item is formatted at the step that completes it, with the session as it
//! is there, and never again.
//!
//! A session may have several outputs ([`Setup::also`]). The input is decoded once; from items on each output has formatters,
//! limits and a writer of its own, and is what it would be alone.

mod decode;
mod format;
mod growing;
mod head;
mod heading;
mod open;
mod pace;
mod result_of_call;
mod session;
mod titles;
mod update;
mod write;

use std::fmt::{self, Write};
use std::ops::ControlFlow;

use crate::budget::Budget;
use crate::dialect::{DialectPlugin, Dialects};
use crate::formatter::{Formatter, Presentation};
use crate::frame::{Frame, Framer};
use crate::item::{Fact, Id, Item, Kind};
use crate::outline::{DocumentHead, Node};
use crate::profile::Profile;
use crate::reading::{LineReader, LineReading};
use crate::session::{Facts, Session};
use crate::writer::Writer;

pub use crate::outline::{EntryChange, Update};
pub use crate::report::Report;
pub use decode::{DecodeStage, DecodedStep, Pieces, Subagents};
pub use growing::GROWING_TEXT;
pub use open::{OpenAgent, OpenNodes};
pub use pace::LivePace;
pub use session::SessionStage;
pub use write::{FormattedPart, WriteStage};

use decode::SHOWN_DAMAGE;
use format::FormatStage;

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
    /// Whether something of this is for this thread alone; see [`Setup::is_thread_bound`].
    pub is_thread_bound: bool,
    /// Where the text goes. Once it breaks off it isn't called again; the other outputs go on. Updates don't come here: see
    /// [`Pipeline::take_updates_of`].
    pub take: TakeText,
    /// Where the document's head goes that belongs before all of the text, once, when that is complete. Without it the writer
    /// does without a head, or writes what it holds at the end: see [`HeadWriter`](crate::writer::HeadWriter).
    pub take_head: Option<TakeText>,
}

/// How a pipeline is set up.
#[expect(clippy::struct_excessive_bools, reason = "each holds or not, by itself")]
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
    /// Whether something of all this is for this thread alone, as the machine of a script is. It guards itself, and panics
    /// where another thread uses it: such a pipeline stays where it was made, and gives no [`Pipeline::stages`]. Whoever sets `settle`
    /// and may bring such a machine with it says so here as well.
    pub is_thread_bound: bool,
    /// Whether the head of a document is kept for [`Pipeline::head`], to be put before the text of the main output by whoever
    /// holds that back until then. See [`HeadWriter`](crate::writer::HeadWriter).
    pub holds_head: bool,
    /// Further outputs. The input is read as all of the above asks for.
    pub also: Vec<Sink>,
}

/// Lines that are worked on at a time, where that many come at once. One stage after the other goes over them: what it
/// needs stays in the processor's caches, which saves some 10 % of the time.
const LINES: usize = 128;
/// Steps that are worked on at a time.
const STEPS: usize = 256;
/// Bytes of them at most: lines may be long.
const BYTES: usize = 256 << 10;

/// Bytes of one input in, text out. One pipeline reads one input. It may go to another thread, unless something in it is
/// for its own alone ([`Setup::is_thread_bound`]).
pub struct Pipeline {
    framer: Framer,
    stages: LineStages,
}

/// The stages of a line, from its reading on.
struct LineStages {
    decode_stage: DecodeStage,
    session_stage: SessionStage,
    write_stage: WriteStage,
    is_thread_bound: bool,
    reader: LineReader,
    /// Lines that are worked on, with their numbers.
    readings: Vec<(u64, LineReading)>,
    /// Their bytes.
    bytes: usize,
    steps: Vec<DecodedStep>,
    formatted: Vec<FormattedPart>,
}

impl LineStages {
    /// Takes a line: of the input, or of a file of the sub-agent that the call `inside` started. Where writing failed before,
    /// `written`, it goes on only if there are other outputs.
    fn frame(
        &mut self,
        frame: Frame<'_>,
        inside: Option<&Id>,
        written: fmt::Result,
        out: &mut dyn Write,
    ) -> fmt::Result {
        if written.is_err() && !self.write_stage.has_others() {
            return written;
        }
        written.and(self.take(frame, inside, out))
    }

    fn take(&mut self, frame: Frame<'_>, inside: Option<&Id>, out: &mut dyn Write) -> fmt::Result {
        self.bytes += frame.bytes.len();
        self.readings.push((frame.line, self.reader.read(frame)));
        if self.readings.len() < LINES && self.bytes < BYTES { Ok(()) } else { self.work(inside, out) }
    }

    /// Writes what the lines complete that were taken, all of one file.
    fn work(&mut self, inside: Option<&Id>, out: &mut dyn Write) -> fmt::Result {
        self.bytes = 0;
        let Self {
            decode_stage,
            session_stage,
            write_stage,
            is_thread_bound,
            readings,
            steps,
            formatted,
            ..
        } = self;
        let most = if decode_stage.has_plugin() { 1 } else { STEPS };
        let mut size = 0;
        let mut written = Ok(());
        let mut write = |formatted: &mut Vec<FormattedPart>| {
            written = written.and(write_stage.write(formatted, out));
        };
        let mut apply = |steps: &mut Vec<DecodedStep>| {
            for step in steps.drain(..) {
                session_stage.take(step, formatted);
                // A script that writes may remember what it said: it sees each item to its end.
                if *is_thread_bound {
                    write(formatted);
                }
            }
            write(formatted);
        };
        for (line, reading) in readings.drain(..) {
            let mut take = |step: DecodedStep| {
                size += step.size();
                steps.push(step);
                if steps.len() >= most || size >= BYTES {
                    size = 0;
                    apply(steps);
                }
            };
            match inside {
                None => decode_stage.take(line, reading, &mut take),
                Some(call) => decode_stage.take_inside(call, line, reading, &mut take),
            }
        }
        apply(steps);
        written
    }
}

/// The stages of a pipeline, each of which may be used on another thread than the others: lines go through them in order.
///
/// Each takes what the one before it gave.
pub struct Stages<'a> {
    /// From bytes to lines.
    pub framer: &'a mut Framer,
    /// From lines to readings: no turn is needed for that.
    pub reader: LineReader,
    /// From lines to events.
    pub decode_stage: &'a mut DecodeStage,
    /// From events to items, and to the entries of each output.
    pub session_stage: &'a mut SessionStage,
    /// From entries to text.
    pub write_stage: &'a mut WriteStage,
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
            mut is_thread_bound,
            holds_head,
            also,
        } = setup;
        let (mut stage, writer) =
            FormatStage::new(profile, output, presentation, is_whole || shows_open, 0, budget);
        stage.headings_wait = is_whole;
        let mut session_stage = SessionStage::new(stage, settle, dialect.as_deref(), budget);
        let mut write_stage = WriteStage::new(writer, holds_head);
        for (number, sink) in (1..).zip(also) {
            let (mut stage, writer) =
                FormatStage::new(sink.profile, sink.output, presentation, is_whole, number, budget);
            stage.headings_wait = is_whole;
            session_stage.add(stage, sink.settle, dialect.as_deref());
            write_stage.add(writer, sink.take, sink.take_head);
            is_thread_bound |= sink.is_thread_bound;
        }
        let decode_stage =
            DecodeStage::new(dialects, dialect.as_deref(), dialect_plugins, max_line, subagents, budget);
        let stages = LineStages {
            session_stage,
            reader: decode_stage.reader(),
            decode_stage,
            write_stage,
            is_thread_bound,
            readings: Vec::new(),
            bytes: 0,
            steps: Vec::new(),
            formatted: Vec::new(),
        };
        Self { framer: Framer::new(max_line), stages }
    }

    /// Reads more of the input and writes what it completes.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
        let Self { framer, stages } = self;
        let mut written = Ok(());
        framer.push(bytes, |frame| written = stages.frame(frame, None, written, out));
        written.and(stages.work(None, out))
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
        let stages = &mut self.stages;
        let mut written = Ok(());
        framer.push(bytes, |frame| written = stages.frame(frame, Some(call), written, out));
        written.and(stages.work(Some(call), out))
    }

    /// The stages, between two calls of [`Self::push`]; `None` if something in them is for this thread alone.
    pub fn stages(&mut self) -> Option<Stages<'_>> {
        let Self {
            framer,
            stages: LineStages { decode_stage, session_stage, write_stage, is_thread_bound, .. },
        } = self;
        let reader = decode_stage.reader();
        (!*is_thread_bound).then_some(Stages { framer, reader, decode_stage, session_stage, write_stage })
    }

    /// Makes a missing outcome show at the end, as an error: for an input that is a whole run, not an excerpt, and that was read to
    /// its end. Histories need none. See [`Report::lacks_outcome`](crate::report::Report::lacks_outcome).
    pub fn require_outcome(&mut self) {
        self.stages.session_stage.requires_outcome = true;
    }

    /// Ends the input: writes what is left.
    pub fn finish(&mut self, out: &mut dyn Write) -> fmt::Result {
        let Self { framer, stages } = self;
        let mut written = Ok(());
        framer.finish(|frame| written = stages.frame(frame, None, written, out));
        let written = written.and(stages.work(None, out));
        let LineStages { decode_stage, session_stage, write_stage, formatted, .. } = stages;
        decode_stage.end(&mut |step| session_stage.take(step, formatted));
        session_stage.end(formatted);
        let written = written.and(write_stage.write(formatted, out));
        write_stage.end_others();
        written?;
        write_stage.end(out)
    }

    /// What is known of the run as a whole, once the input has ended, if the writer of the main output wants that
    /// ([`crate::writer::Wants::head`]).
    pub fn document_head(&self) -> Option<&DocumentHead> {
        self.stages.write_stage.document_head()
    }

    /// Writes what belongs before all that the main output has written, if its writer has such a head and
    /// [`Setup::holds_head`] asked for it. Once, after [`Self::finish`].
    pub fn head(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.stages.write_stage.head(out)
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
        let SessionStage { session, stage, others, .. } = &mut self.stages.session_stage;
        let stage = if output == 0 { Some(stage) } else { others.get_mut(output - 1) };
        stage.map(|stage| stage.take_updates(session)).unwrap_or_default()
    }

    /// The same as [`Self::take_updates`] but for what still grows: it costs nothing to take this whenever something was read.
    pub fn take_finished(&mut self) -> Vec<Update> {
        self.stages.session_stage.stage.take_finished()
    }

    /// Whether something has grown since the last [`Self::take_updates`].
    pub fn has_grown(&self) -> bool {
        self.stages.session_stage.stage.has_grown()
    }

    /// Goes on with the profile and the output of another set-up from the next event on. What was said stays said; the session, the
    /// counts and what formatters want to keep go over to the new ones. `writer`: whether the writer is replaced, too; one that
    /// writes a document as a whole can't be. Nothing but the profile is replaced if the kind of output is another. Further
    /// outputs stay as they are.
    pub fn replace(&mut self, setup: Setup, writer: bool, out: &mut dyn Write) -> fmt::Result {
        let Setup { profile, output, is_thread_bound, .. } = setup;
        self.stages.is_thread_bound |= is_thread_bound;
        let LineStages { session_stage: SessionStage { session, stage, .. }, write_stage, .. } =
            &mut self.stages;
        let new = stage.replace(profile, output, writer, session);
        new.map_or(Ok(()), |new| write_stage.replace(new, out))
    }

    /// What the main output doesn't show for good yet: entries that wait for what belongs to them, items that grow, as they are now,
    /// and sub-agents at work, each by the title of its call. In the order in which they would come. For a writer, and only what
    /// [`Setup::shows_open`] asks for.
    pub fn open_nodes(&mut self) -> OpenNodes {
        let SessionStage { session, stage, .. } = &mut self.stages.session_stage;
        stage.open_nodes(session)
    }

    /// Writes nodes as they would stand behind what the main output has written, and forgets it again: see
    /// [`LiveWriter::preview`](crate::writer::LiveWriter::preview).
    pub fn preview(&mut self, nodes: &[Node], rows: usize, out: &mut dyn Write) -> fmt::Result {
        self.stages.write_stage.preview(nodes, rows, out)
    }

    /// From here on, rows of the main output are wrapped at this width, if they are wrapped at all.
    pub fn set_width(&mut self, columns: usize) {
        self.stages.write_stage.set_width(columns);
    }

    /// The number of the last line that was read: what was shown at it is the same in every process, at any pace. The end of the input
    /// counts as one more.
    pub fn revision(&self) -> u64 {
        self.stages.session_stage.stage.revision()
    }

    /// What was counted so far, of the main output.
    pub fn report(&self) -> &Report {
        &self.stages.session_stage.stage.report
    }

    /// What was counted so far of each of the further outputs, in their order.
    pub fn other_reports(&self) -> impl Iterator<Item = &Report> {
        self.stages.session_stage.others.iter().map(|stage| &stage.report)
    }

    /// All items so far, and the facts of the run.
    pub fn session(&self) -> &Session {
        &self.stages.session_stage.session
    }
}

fn notice(line: u64, event: &str) -> Item {
    let mut item = Item::new(format!("line-{line}"), Kind::Notice, line);
    item.data = vec![("event", Fact::Text(event.to_owned())), ("level", Fact::Text("warning".to_owned()))];
    item
}

/// What keeps a pipeline from going to another thread is found where it is compiled.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Pipeline>();
    is_send::<Setup>();
    is_send::<Sink>();
};
