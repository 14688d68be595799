//! Methods that format an input at once.

use std::fmt::{self, Write};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use streamfmt_core::pipeline::{Pipeline, Setup};

use super::Engine;
use crate::follow::read_some;
use crate::histories::session_facts;
use crate::origins::origins;
use crate::side_files::subagents;
use crate::spool::Spool;

/// Number of bytes read at once.
const CHUNK: usize = 64 * 1024;

impl Engine {
    /// One line of a stream, formatted by itself; empty if it shows nothing.
    ///
    /// Lines before it don't count, and nothing is expected after it: a call isn't reported to have no result. Push the lines of a
    /// session into one [`Pipeline`] instead. Choose the [dialect](crate::Builder::dialect), since it can't be detected from every line.
    ///
    /// ```
    /// let engine = streamfmt::Engine::builder().dialect("claude").writer("text").build()?;
    /// let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Fixed."}]}}"#;
    /// assert_eq!(engine.format_line(line), "  Fixed.\n");
    /// assert_eq!(engine.format_line(""), "");
    /// # Ok::<(), streamfmt::Problems>(())
    /// ```
    pub fn format_line(&self, line: &str) -> String {
        let mut text = String::new();
        // Neither writing to a string nor reading from memory can fail.
        let spool = self.spool();
        let mut pipeline = pipeline(self.setup(), spool.as_ref());
        pipeline.allow_open_calls();
        let _ = format(pipeline, spool, line.as_bytes(), &mut text);
        text
    }

    /// Reads `input` to its end and writes the output to `out`: to a [`String`], or to a [`Tail`](crate::Tail), which keeps
    /// the end of it. Fails if `input` or `out` does.
    ///
    /// A page ([`Engine::has_head`]) is held back until all of the input is read, so that its title and the answer come first.
    ///
    /// ```
    /// use streamfmt::{Engine, Tail};
    ///
    /// let engine = Engine::builder().dialect("claude").writer("text").build()?;
    /// let session = concat!(
    ///     r#"{"type":"system","subtype":"init","session_id":"0123456789abcdef","model":"claude-opus-5-5"}"#, "\n",
    ///     r#"{"type":"result","result":"Fixed."}"#, "\n",
    /// );
    /// let mut text = String::new();
    /// engine.format(session.as_bytes(), &mut text)?;
    /// assert_eq!(text, "◇ claude-opus-5-5 · 0123456789abcdef\n\n✓ done\n  Fixed.\n");
    ///
    /// let mut last = Tail::units(17);
    /// engine.format(session.as_bytes(), &mut last)?;
    /// assert_eq!(last.text(), "✓ done\n  Fixed.\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn format(&self, input: impl Read, out: &mut dyn Write) -> io::Result<()> {
        let spool = self.spool();
        format(pipeline(self.setup(), spool.as_ref()), spool, input, out)
    }

    /// Formats a file like [`Engine::format`]. For a history, it also reads the files of the sub-agents and shows them below
    /// their calls, as the program does. For the file alone, open it and use [`Engine::format`]. Errors of reading the file start
    /// with its path.
    ///
    /// ```
    /// use streamfmt::{Engine, Tail};
    /// # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
    ///
    /// let engine = Engine::builder().writer("text").build()?;
    /// let mut last = Tail::units(50_000);
    /// engine.format_file(file, &mut last)?;
    /// assert!(last.text().contains("\n● Bash "));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn format_file(&self, path: impl AsRef<Path>, out: &mut dyn Write) -> io::Result<()> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| named(path, &error))?;
        let subagents = Some(subagents(path.to_owned(), Vec::new()));
        let origins = Some(origins(path.to_owned(), Vec::new(), Box::new(|_| Vec::new())));
        let facts = Some(session_facts(path.to_owned()));
        let setup = Setup { subagents, origins, facts, is_whole: true, ..self.setup() };
        let spool = self.spool();
        format(pipeline(setup, spool.as_ref()), spool, NamedInput { file, path }, out)
    }
}

impl Engine {
    /// A buffer for the text of a document until its head is known. `None` if the output has no head, or the buffer can't be
    /// created.
    fn spool(&self) -> Option<Spool> {
        self.has_head().then(Spool::new).flatten()
    }
}

/// A file whose read errors start with its path.
struct NamedInput<'a> {
    file: File,
    path: &'a Path,
}

impl Read for NamedInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => named(self.path, &error),
        })
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A pipeline whose text goes to `spool`, if there is one.
fn pipeline(setup: Setup, spool: Option<&Spool>) -> Pipeline {
    Pipeline::new(Setup { holds_head: spool.is_some(), ..setup })
}

fn format(
    mut pipeline: Pipeline,
    spool: Option<Spool>,
    input: impl Read,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(mut spool) = spool else { return read(&mut pipeline, input, out) };
    let mut written = read(&mut pipeline, input, &mut spool);
    if written.is_ok() {
        written = pipeline.head(out).map_err(io::Error::other);
    }
    let mut is_taken = Ok(());
    spool.read(|piece| {
        if is_taken.is_ok() {
            is_taken = out.write_str(piece);
        }
    })?;
    written.and(is_taken.map_err(io::Error::other))
}

/// Formats a whole input with a pipeline.
pub(crate) fn read(pipeline: &mut Pipeline, mut input: impl Read, out: &mut dyn Write) -> io::Result<()> {
    let failed = |error: fmt::Error| io::Error::other(error);
    let mut buffer = vec![0; CHUNK];
    loop {
        match read_some(&mut input, &mut buffer)? {
            0 => return pipeline.finish(out).map_err(failed),
            length => pipeline.push(&buffer[..length], out).map_err(failed)?,
        }
    }
}
