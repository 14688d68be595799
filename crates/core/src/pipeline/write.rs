//! Writes the parts of a document: the writer of one output.

use std::fmt::{self, Write};

use crate::outline::{DocumentHead, DocumentPart, Node};
use crate::writer::{HeadWriter, Writer};

/// Writes one output.
pub(super) struct OutputWriter {
    pub(super) writer: Option<Box<dyn Writer>>,
    is_begun: bool,
    /// Whether the head is written apart, for a sink that puts it before the text. Once the document has begun: only if the writer
    /// holds it back.
    holds_head: bool,
    /// The facts for the head, once they are known.
    pub(super) head: Option<Box<DocumentHead>>,
    /// The result of writing since it was last taken. After a failure nothing more is written.
    written: fmt::Result,
}

impl OutputWriter {
    /// `holds_head`: whether the sink puts a head before the text.
    pub(super) fn new(writer: Option<Box<dyn Writer>>, holds_head: bool) -> Self {
        Self { writer, is_begun: false, holds_head, head: None, written: Ok(()) }
    }

    /// Continues with another writer, in the middle of the document.
    pub(super) fn replace(&mut self, writer: Box<dyn Writer>, out: &mut dyn Write) -> fmt::Result {
        self.holds_head &= !self.is_begun;
        let before = self.writer.replace(writer);
        before.map_or(Ok(()), |mut before| before.end(out))
    }

    /// Writes a part of the document.
    pub(super) fn part(&mut self, part: &DocumentPart, out: &mut dyn Write) {
        if self.written.is_ok() {
            self.written = self.begun(out).and_then(|writer| writer.map_or(Ok(()), |it| part.write(it, out)));
        }
    }

    /// Writes the line of an item.
    pub(super) fn item(&mut self, line: &str, out: &mut dyn Write) {
        if self.written.is_ok() {
            self.written = out.write_str(line);
        }
    }

    /// Writes the end of the document.
    pub(super) fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.begun(out)?.map_or(Ok(()), |writer| writer.end(out))
    }

    /// See [`super::Pipeline::head`].
    pub(super) fn head(&mut self, out: &mut dyn Write) -> fmt::Result {
        let writer = self.writer.as_deref_mut().filter(|_| std::mem::take(&mut self.holds_head));
        match (writer.and_then(Writer::head), &self.head) {
            (Some(writer), Some(head)) => writer.write_head(head, out),
            _ => Ok(()),
        }
    }

    /// See [`super::Pipeline::document_head`].
    pub(super) fn document_head(&self) -> Option<&DocumentHead> {
        self.head.as_deref()
    }

    /// See [`super::Pipeline::preview`].
    pub(super) fn preview(&mut self, nodes: &[Node], rows: usize, out: &mut dyn Write) -> fmt::Result {
        let live = self.writer.as_deref_mut().and_then(Writer::live);
        live.map_or(Ok(()), |live| live.preview(nodes, rows, out))
    }

    /// See [`super::Pipeline::set_width`].
    pub(super) fn set_width(&mut self, columns: usize) {
        if let Some(live) = self.writer.as_deref_mut().and_then(Writer::live) {
            live.set_width(columns);
        }
    }

    /// Whether writing has failed since [`Self::take_written`].
    pub(super) fn has_failed(&self) -> bool {
        self.written.is_err()
    }

    /// Takes the result of writing since the last call.
    pub(super) fn take_written(&mut self) -> fmt::Result {
        std::mem::replace(&mut self.written, Ok(()))
    }

    /// The writer, after it has written the beginning of the document.
    fn begun(&mut self, out: &mut dyn Write) -> Result<Option<&mut dyn Writer>, fmt::Error> {
        let Some(writer) = self.writer.as_deref_mut() else { return Ok(None) };
        if !std::mem::replace(&mut self.is_begun, true) {
            self.holds_head = self.holds_head && writer.head().map(HeadWriter::hold).is_some();
            writer.begin(out)?;
        }
        Ok(Some(writer))
    }
}
