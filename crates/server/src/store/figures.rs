//! The figures of a session, read from its stream with the same decoder and the same totals as everything that is shown.

mod collector;
mod copies;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use streamfmt::core::budget::Budget;
use streamfmt::core::event::Usage;
use streamfmt::core::frame::MAX_LINE;
use streamfmt::core::pipeline::{Origins, Output, Pipeline, SessionFacts, Setup, Subagents};
use streamfmt::core::profile::Profile;
use streamfmt::dialect::DIALECTS;
use streamfmt::formatter::PRESENTATION;
use streamfmt::histories::{is_document, session_facts, session_named_by};
use streamfmt::origins;
use streamfmt::unpack::{Compression, UnpackedReader, without_compression};

pub use collector::FiguresCollector;
pub(super) use collector::title_of;
pub(super) use copies::CountedElsewhere;
pub use copies::CountedMessages;

use super::Store;
use super::history::{OpenHistory, subagents_of};

/// The number of bytes read at once.
const CHUNK: usize = 64 * 1024;
/// The number of bytes read at the start and at the end of a file to describe it before it is read as a whole.
const FIRST: u64 = 256 * 1024;
const LAST: u64 = 64 * 1024;

/// The figures and the outcome of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFigures {
    /// The agent's product, by the name of its dialect.
    pub agent: Option<String>,
    /// The agent's own session id.
    pub agent_session: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The agent's own id of the session that this one resumes, if the stream contains it.
    pub resumes: Option<String>,
    /// The folder that the agent worked in.
    pub folder: Option<String>,
    /// The title that a person or the agent gave the session.
    pub given_title: Option<String>,
    /// Its title otherwise: the first prompt, else the first sentence of the first reply.
    pub title: Option<String>,
    /// The first time in the stream.
    pub first_at: Option<Timestamp>,
    /// The last time in the stream.
    pub last_at: Option<Timestamp>,
    /// Whether somebody asked something, or the agent said something.
    pub was_asked: bool,
    /// Whether it is a stream, not a history.
    pub is_stream: bool,
    /// Whether the most recent event was a user interrupt.
    pub was_interrupted: bool,
    /// Its outcome, if the stream reports one.
    pub outcome: Option<SessionOutcome>,
    /// The answer of the last turn of a history without outcomes.
    pub answer: Option<String>,
    /// Turns, over all outcomes.
    pub num_turns: Option<u64>,
    /// Milliseconds, over all outcomes.
    pub duration_ms: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Milliseconds spent waiting for the model. Includes those of the runs that it resumed if the agent continues counting.
    pub api_ms: Option<u64>,
    /// Tokens by model.
    pub usage: BTreeMap<String, Usage>,
    /// The start of the figures.
    pub counted_from: CountedFrom,
    /// Calls by tool.
    pub calls: BTreeMap<String, u64>,
    /// The messages, by which a copy of a part of the session is recognised.
    pub messages: CountedMessages,
    /// The last message of the copy of another session with which it begins. The other figures leave the copy out.
    pub copied_to: Option<u64>,
    /// Why its file wasn't read to its end: it is a damaged archive.
    pub damage: Option<String>,
}

/// The point from which the cost, the API time and the tokens of a stream are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CountedFrom {
    /// The start of the stream.
    #[default]
    Start,
    /// Cost and tokens are counted from the start of the stream, and the API time from that of the session. Holds the tokens that the agent
    /// had counted before the stream.
    Session(BTreeMap<String, Usage>),
    /// The start of the stream or that of the session: only other runs show which. Holds the tokens that the agent had counted before the
    /// stream in the latter case; empty if unknown.
    Either(BTreeMap<String, Usage>),
}

/// The outcome of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionOutcome {
    /// No error; the final Markdown.
    Response(String),
    /// An error; the message that was reported.
    Error(String),
}

impl SessionFigures {
    /// Returns the answer of the last turn that has ended; `None` if it ended in an error.
    pub fn response(&self) -> Option<&str> {
        match &self.outcome {
            Some(SessionOutcome::Response(response)) => Some(response),
            Some(SessionOutcome::Error(_)) => None,
            None => self.answer.as_deref(),
        }
    }

    /// Returns the sum of the tokens of all models.
    pub fn tokens(&self) -> Option<Usage> {
        let has_any = !self.usage.is_empty();
        let add = |sum: Usage, usage: &Usage| sum.combined(*usage, u64::saturating_add);
        has_any.then(|| self.usage.values().fold(Usage::default(), add))
    }

    /// Reads a part of a file: `size` bytes from `start` on, or all to its end. Fails if the file can't be read.
    pub fn read(path: &Path, start: u64, size: Option<u64>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(start))?;
        let mut reader = FigureReader::of_part();
        reader.read(file.take(size.unwrap_or(u64::MAX)))?;
        Ok(reader.finish())
    }

    /// Reads a history as long as it was when it was opened, with its sub-agents. Parts that are counted elsewhere aren't counted.
    /// `data`: the folder of the database. Fails if the file can't be read.
    pub(super) fn read_history(
        history: OpenHistory<'_>,
        elsewhere: CountedElsewhere,
        data: &Path,
    ) -> io::Result<Self> {
        let OpenHistory { path, file, size } = history;
        let data = data.to_owned();
        let known = move |session: &str| Store::histories_of(&data, session);
        let origins = origins(path.to_owned(), Vec::new(), Box::new(known));
        let subagents = subagents_of(path.to_owned(), Vec::new());
        let facts = session_facts(path.to_owned());
        let mut reader = FigureReader::new(Some(subagents), Some(origins), Some(facts), elsewhere);
        let damage = reader.read_archive(UnpackedReader::new(file.take(size)))?;
        Ok(Self { damage, ..reader.finish().named_by(path) })
    }

    /// Adds the session's id that the file's name contains, if the file itself contains none.
    fn named_by(mut self, path: &Path) -> Self {
        let agent = self.agent.as_deref();
        self.agent_session = self.agent_session.or_else(|| session_named_by(path, agent?));
        self
    }

    /// Reads only the first and last part of a history: enough to describe it, but without figures.
    pub(super) fn read_ends(path: &Path, file: File) -> io::Result<Self> {
        let mut reader =
            FigureReader::new(None, None, Some(session_facts(path.to_owned())), CountedElsewhere::default());
        let text = reader.read_first(path, file)?;
        if !text.is_empty() {
            // Ends the line that the first part was cut in, and the one that the last part begins in: both are left out.
            let line = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1);
            reader.read(&b"\n"[..])?;
            reader.read(&text[line..])?;
        }
        let figures = reader.finish().named_by(path);
        Ok(Self {
            agent: figures.agent,
            agent_session: figures.agent_session,
            resumes: figures.resumes,
            model: figures.model,
            folder: figures.folder,
            given_title: figures.given_title,
            title: figures.title,
            first_at: figures.first_at,
            last_at: figures.last_at,
            was_asked: figures.was_asked,
            is_stream: figures.is_stream,
            messages: figures.messages,
            ..Self::default()
        })
    }
}

/// A pipeline that only collects figures.
struct FigureReader {
    pipeline: Pipeline,
    collector: FiguresCollector,
}

impl FigureReader {
    /// Reads a part of a file, without others.
    fn of_part() -> Self {
        Self::new(None, None, None, CountedElsewhere::default())
    }

    fn new(
        subagents: Option<Subagents>,
        origins: Option<Origins>,
        facts: Option<SessionFacts>,
        elsewhere: CountedElsewhere,
    ) -> Self {
        let collector = FiguresCollector::of_file(elsewhere);
        let pipeline = Pipeline::new(Setup {
            dialects: DIALECTS,
            presentation: PRESENTATION,
            dialect: None,
            dialect_plugins: Vec::new(),
            max_line: MAX_LINE,
            budget: Budget::default(),
            profile: Profile::default(),
            output: Output::Nothing,
            is_whole: false,
            shows_open: false,
            subagents,
            origins,
            facts,
            settle: None,
            holds_head: false,
            lists_finds: false,
            also: Vec::new(),
            observers: vec![Box::new(collector.clone())],
        });
        Self { pipeline, collector }
    }

    fn read(&mut self, mut input: impl Read) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        loop {
            match input.read(&mut buffer) {
                Ok(0) => return Ok(()),
                // Nothing is written, so nothing can fail.
                Ok(count) => drop(self.pipeline.push(&buffer[..count], &mut String::new())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads a file that may be compressed. A damaged one ends at the damage, which is returned.
    fn read_archive(&mut self, input: impl Read) -> io::Result<Option<String>> {
        match self.read(input) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Some(error.to_string())),
            read => read.map(|()| None),
        }
    }

    /// Reads the first part of a file, and returns the last one.
    fn read_first(&mut self, path: &Path, mut file: File) -> io::Result<Vec<u8>> {
        let mut start = [0; 4];
        let count = file.read(&mut start)?;
        file.rewind()?;
        let mut last = Vec::new();
        // A part of a document is no record.
        let first = if is_document(&without_compression(path)) { MAX_LINE as u64 } else { FIRST };
        if Compression::of(&start[..count]).is_none() {
            self.read((&mut file).take(first))?;
            let size = file.seek(SeekFrom::End(0))?;
            let from = size.saturating_sub(LAST).max(first);
            if from < size {
                file.seek(SeekFrom::Start(from))?;
                file.take(LAST).read_to_end(&mut last)?;
            }
            return Ok(last);
        }
        // The end of an archive is known only when all of it was decompressed.
        let mut file = UnpackedReader::new(file);
        self.read_archive((&mut file).take(first))?;
        let (most, mut part) = (LAST as usize, vec![0; CHUNK]);
        while let Ok(count @ 1..) = file.read(&mut part) {
            last.extend_from_slice(&part[..count]);
            last.drain(..last.len().saturating_sub(most));
        }
        Ok(last)
    }

    fn finish(mut self) -> SessionFigures {
        let _ = self.pipeline.finish(&mut String::new());
        self.collector.so_far(&self.pipeline)
    }
}
