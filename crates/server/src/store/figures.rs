//! The figures of a session, read from its stream with the same decoder and the same totals as everything that is shown.

mod collector;
mod copies;
mod ledger;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use streamfmt::core::budget::Budget;
use streamfmt::core::event::Usage;
use streamfmt::core::frame::MAX_LINE;
use streamfmt::core::observer::Observer;
use streamfmt::core::pipeline::{Origins, Output, Pipeline, SessionFacts, Setup, Subagents};
use streamfmt::core::profile::Profile;
use streamfmt::core::session::counted::CountedFrom;
use streamfmt::dialect::DIALECTS;
use streamfmt::formatter::PRESENTATION;
use streamfmt::histories::{is_document, session_facts, session_named_by};
use streamfmt::origins;
use streamfmt::unpack::{Compression, UnpackedReader, without_compression};

pub use collector::FiguresCollector;
pub(super) use collector::title_of;
pub(super) use copies::CountedElsewhere;
pub use copies::CountedMessages;
pub use ledger::Ledger;
pub(super) use ledger::{KeyScope, MOST_COST, RequestEntry};

use super::Store;
use super::history::{OpenHistory, subagents_of};
use super::record::SessionRun;
use crate::side_file::SessionStatus;

/// The number of bytes read at once.
const CHUNK: usize = 64 * 1024;
/// The number of bytes read at the start and at the end of a file to describe it before it is read as a whole.
const FIRST: u64 = 256 * 1024;
const LAST: u64 = 64 * 1024;

/// The figures and the outcome of a session. JSON has the sums only.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionFigures {
    /// Turns, over all outcomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Milliseconds, over all outcomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Milliseconds spent waiting for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_ms: Option<u64>,
    /// Calls that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_calls: Option<u64>,
    /// Tokens by kind: the sum over all models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Usage>,
    /// Tokens by model. Like cost and API time, those of a stream may include those of the runs that it resumed.
    #[serde(skip)]
    pub usage: BTreeMap<String, Usage>,
    /// The start of the figures of a stream.
    #[serde(skip)]
    pub counted_from: CountedFrom,
    /// Calls by tool.
    #[serde(skip)]
    pub calls: BTreeMap<String, u64>,
    /// Its outcome, if the stream reports one.
    #[serde(skip)]
    pub outcome: Option<SessionOutcome>,
    /// The answer of the last turn of a history without outcomes.
    #[serde(skip)]
    pub answer: Option<String>,
    /// The messages, by which a copy of a part of the session is recognised.
    #[serde(skip)]
    pub messages: CountedMessages,
}

/// A session as it was read from its stream or its history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadSession {
    /// What it says about the run. The times are those of a history; the status is that of a session that has ended.
    pub run: SessionRun,
    /// The figures that it reports.
    pub figures: SessionFigures,
    /// What it used, entry by entry, if that was collected.
    pub ledger: Ledger,
    /// The title that a person or the agent gave the session.
    pub given_title: Option<String>,
    /// The first time in it.
    pub first_at: Option<Timestamp>,
    /// The last message of the copy of another session with which it begins. The figures leave the copy out.
    pub copied_to: Option<u64>,
    /// Why its file wasn't read to its end: it is a damaged archive.
    pub damage: Option<String>,
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
}

impl ReadSession {
    /// Reads a part of a file: `size` bytes from `start` on, or all to its end. Fails if the file can't be read.
    pub fn read(path: &Path, start: u64, size: Option<u64>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(start))?;
        let mut reader = FigureReader::of_part();
        let part = file.take(size.unwrap_or(u64::MAX));
        if without_compression(path) == path {
            reader.read(part)?;
        } else {
            // A log that was packed.
            reader.read_archive(UnpackedReader::new(part))?;
        }
        Ok(reader.finish())
    }

    /// Reads the file of a sub-agent by itself: its entries, and the agent's own id of the session that started it.
    pub(super) fn read_side_file(path: &Path) -> io::Result<(Option<String>, Ledger)> {
        let mut reader = FigureReader::of_part();
        reader.read_archive(UnpackedReader::new(File::open(path)?))?;
        let ReadSession { run, ledger, .. } = reader.finish();
        // Its prompts aren't a person's.
        Ok((run.agent_session, Ledger { prompts: Vec::new(), turns: 0, ..ledger }))
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
        let mut read = Self { damage, ..reader.finish().named_by(path) };
        if let Some(session) = &read.run.agent_session {
            read.ledger.add_side_files(path, session);
        }
        Ok(read)
    }

    /// Adds the session's id that the file's name contains, if the file itself contains none.
    fn named_by(mut self, path: &Path) -> Self {
        let agent = self.run.agent.as_deref();
        self.run.agent_session = self.run.agent_session.or_else(|| session_named_by(path, agent?));
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
        let ReadSession { mut run, figures: SessionFigures { messages, .. }, given_title, first_at, .. } =
            reader.finish().named_by(path);
        run.status = if run.status == SessionStatus::Empty { run.status } else { SessionStatus::Done };
        let figures = SessionFigures { messages, ..SessionFigures::default() };
        Ok(Self { run, figures, given_title, first_at, ..Self::default() })
    }
}

/// The setup of a pipeline without an output.
pub(super) fn observed(observer: Box<dyn Observer>) -> Setup {
    Setup {
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
        subagents: None,
        origins: None,
        facts: None,
        settle: None,
        holds_head: false,
        lists_finds: false,
        also: Vec::new(),
        observers: vec![observer],
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
        let setup = Setup { subagents, origins, facts, ..observed(Box::new(collector.clone())) };
        Self { pipeline: Pipeline::new(setup), collector }
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

    fn finish(mut self) -> ReadSession {
        let _ = self.pipeline.finish(&mut String::new());
        self.collector.so_far(&self.pipeline)
    }
}
