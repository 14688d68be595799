//! Writes the parts of a document: the writer of one output.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::mem;

use crate::outline::{DocumentHead, DocumentPart};
use crate::writer::{HeadWriter, LiveWriter, Writer};

use super::text_sink::TextSink;

/// Writes one output.
pub(super) struct OutputWriter {
    writer: Option<Box<dyn Writer>>,
    /// The sink of a further output. The main one is written to what the caller passes.
    pub(super) sink: Option<TextSink>,
    is_begun: bool,
    /// Whether the head is written apart, for a sink that puts it before the text. Once the document has begun: only if the writer
    /// holds it back.
    holds_head: bool,
    /// The facts for the head, once they are known.
    pub(super) head: Option<Box<DocumentHead>>,
    /// The result of writing since it was last taken. After a failure nothing more is written.
    pub(super) written: fmt::Result,
}

impl OutputWriter {
    /// `holds_head`: whether the sink puts a head before the text.
    pub(super) fn new(writer: Option<Box<dyn Writer>>, sink: Option<TextSink>, holds_head: bool) -> Self {
        Self { writer, sink, is_begun: false, holds_head, head: None, written: Ok(()) }
    }

    /// Continues with another writer, in the middle of the document.
    pub(super) fn replace(&mut self, writer: Box<dyn Writer>, out: &mut dyn Write) -> fmt::Result {
        self.holds_head &= !self.is_begun;
        let before = self.writer.replace(writer);
        before.map_or(Ok(()), |mut before| before.end(out))
    }

    /// Writes a part of the document.
    pub(super) fn part(&mut self, part: &DocumentPart, out: &mut dyn Write) {
        self.write(out, |writer, out| part.write(writer, out));
    }

    /// Writes a piece of the line of an item, or passes it to the writer of items.
    pub(super) fn item(&mut self, line: &str, out: &mut dyn Write) {
        if let Some(items) = self.writer.as_deref_mut().and_then(Writer::items) {
            items.item(line);
        } else if self.written.is_ok() {
            self.written = receiver(&mut self.sink, out).write_str(line);
        }
    }

    /// Writes the end of the document, and passes its head to the sink of a further output. `agent`: the agent's program.
    pub(super) fn end(&mut self, agent: Option<&str>, out: &mut dyn Write) {
        self.write(out, |writer, out| match writer.items() {
            Some(items) => items.end(agent, out),
            None => writer.end(out),
        });
        if let Some(mut take_head) = self.sink.as_mut().and_then(TextSink::end) {
            let mut head = String::new();
            // Writing to a string can't fail.
            let _ = self.head(&mut head);
            // The head is the last piece, so it doesn't matter whether more is wanted.
            let _ = take_head(&head);
        }
    }

    /// The items that had no place in the document, by name.
    pub(super) fn left_out(&mut self) -> BTreeMap<String, u64> {
        let items = self.writer.as_deref_mut().and_then(Writer::items);
        items.map(|items| items.left_out().clone()).unwrap_or_default()
    }

    /// See [`super::Pipeline::head`].
    pub(super) fn head(&mut self, out: &mut dyn Write) -> fmt::Result {
        let writer = self.writer.as_deref_mut().filter(|_| mem::take(&mut self.holds_head));
        match (writer.and_then(Writer::head), &self.head) {
            (Some(writer), Some(head)) => writer.write_head(head, out),
            _ => Ok(()),
        }
    }

    /// The part of the writer that previews nodes, if it has one.
    pub(super) fn live(&mut self) -> Option<&mut dyn LiveWriter> {
        self.writer.as_deref_mut().and_then(Writer::live)
    }

    /// Calls `write` with the writer and what receives the text, after the beginning of the document is written.
    fn write(
        &mut self,
        out: &mut dyn Write,
        write: impl FnOnce(&mut dyn Writer, &mut dyn Write) -> fmt::Result,
    ) {
        let (Some(writer), Ok(())) = (self.writer.as_deref_mut(), self.written) else { return };
        let out = receiver(&mut self.sink, out);
        if !mem::replace(&mut self.is_begun, true) {
            self.holds_head = self.holds_head && writer.head().map(HeadWriter::hold).is_some();
            self.written = writer.begin(out);
        }
        self.written = self.written.and_then(|()| write(writer, out));
    }
}

/// What receives the text: the sink, if there is one.
fn receiver<'a>(sink: &'a mut Option<TextSink>, out: &'a mut dyn Write) -> &'a mut dyn Write {
    match sink {
        Some(sink) => sink,
        None => out,
    }
}
