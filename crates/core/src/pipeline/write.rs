//! From entries to text: the writers.

use std::fmt::{self, Write};
use std::ops::ControlFlow;

use crate::outline::{DocumentHead, DocumentPart, Node};
use crate::writer::{HeadWriter, Writer};

use super::TakeText;

/// Room for text that is kept, in bytes.
const ROOM: usize = 1 << 18;

/// What is to be written, in order: what goes from the session stage to the write stage.
pub struct FormattedPart {
    /// In which output; 0 is the main one.
    pub(super) output: usize,
    pub(super) kind: FormattedPartKind,
}

/// One thing to be written.
pub(super) enum FormattedPartKind {
    /// A part of the document.
    Part(DocumentPart),
    /// An item as it is, spelled.
    Item(String),
    /// What heads the document, at its end.
    Head(Box<DocumentHead>),
    /// It was settled who writes all this, before anything was written.
    Writer(Option<Box<dyn Writer>>),
}

/// From entries to text.
pub struct WriteStage {
    output_writer: OutputWriter,
    others: Vec<FurtherOutput>,
}

/// Writes one output.
struct OutputWriter {
    writer: Option<Box<dyn Writer>>,
    is_begun: bool,
    /// Whether the sink puts a head before the text.
    is_head_wanted: bool,
    /// Whether the writer holds one.
    holds_head: bool,
    /// What the head is made of, once it is known.
    head: Option<Box<DocumentHead>>,
}

/// An output beside the main one.
struct FurtherOutput {
    output_writer: OutputWriter,
    /// Where its text goes, as long as that is wanted.
    take: Option<TakeText>,
    take_head: Option<TakeText>,
    text: String,
}

impl WriteStage {
    pub(super) fn new(writer: Option<Box<dyn Writer>>, is_head_wanted: bool) -> Self {
        Self { output_writer: OutputWriter::new(writer, is_head_wanted), others: Vec::new() }
    }

    /// Adds an output.
    pub(super) fn add(
        &mut self,
        writer: Option<Box<dyn Writer>>,
        take: TakeText,
        take_head: Option<TakeText>,
    ) {
        let output_writer = OutputWriter::new(writer, take_head.is_some());
        self.others.push(FurtherOutput { output_writer, take: Some(take), take_head, text: String::new() });
    }

    /// Whether there are outputs beside the main one.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// Writes all that is formatted, and empties it: that of the main output to `out`.
    pub fn write(&mut self, formatted: &mut Vec<FormattedPart>, out: &mut dyn Write) -> fmt::Result {
        let written = self.output_writer.write(formatted, 0, out);
        for (number, other) in (1..).zip(&mut self.others) {
            other.write(|output_writer, text| output_writer.write(formatted, number, text));
        }
        formatted.clear();
        written
    }

    /// Goes on with another writer of the main output, in the middle of what it writes.
    pub(super) fn replace(&mut self, writer: Box<dyn Writer>, out: &mut dyn Write) -> fmt::Result {
        self.output_writer.holds_head = false;
        let before = self.output_writer.writer.replace(writer);
        before.map_or(Ok(()), |mut before| before.end(out))
    }

    /// See [`super::Pipeline::preview`].
    pub(super) fn preview(&mut self, nodes: &[Node], rows: usize, out: &mut dyn Write) -> fmt::Result {
        let live = self.output_writer.writer.as_deref_mut().and_then(Writer::live);
        live.map_or(Ok(()), |live| live.preview(nodes, rows, out))
    }

    /// See [`super::Pipeline::set_width`].
    pub(super) fn set_width(&mut self, columns: usize) {
        if let Some(live) = self.output_writer.writer.as_deref_mut().and_then(Writer::live) {
            live.set_width(columns);
        }
    }

    /// Writes what stands after the last entry of the main output.
    pub(super) fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.output_writer.end(out)
    }

    /// See [`super::Pipeline::document_head`].
    pub(super) fn document_head(&self) -> Option<&DocumentHead> {
        self.output_writer.head.as_deref()
    }

    /// See [`super::Pipeline::head`].
    pub(super) fn head(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.output_writer.head(out)
    }

    /// Writes what stands after the last entry of the others, and their heads.
    pub(super) fn end_others(&mut self) {
        for other in &mut self.others {
            other.write(|output_writer, text| output_writer.end(text));
            if let (Some(take_head), Some(_)) = (&mut other.take_head, &other.take) {
                let mut head = String::new();
                // A string takes everything.
                let _ = other.output_writer.head(&mut head);
                // Nothing comes after it.
                let _ = take_head(&head);
            }
        }
    }
}

impl OutputWriter {
    fn new(writer: Option<Box<dyn Writer>>, is_head_wanted: bool) -> Self {
        let (is_begun, holds_head) = (false, false);
        Self { writer, is_begun, is_head_wanted, holds_head, head: None }
    }

    /// Writes what is formatted for this output.
    fn write(&mut self, formatted: &mut [FormattedPart], output: usize, out: &mut dyn Write) -> fmt::Result {
        // Where they lie: an entry is too large to be moved without need.
        formatted.iter_mut().filter(|formatted| formatted.output == output).try_for_each(|formatted| {
            match &mut formatted.kind {
                FormattedPartKind::Part(part) => match self.begun(out)? {
                    Some(writer) => part.write(writer, out),
                    None => Ok(()),
                },
                FormattedPartKind::Item(line) => out.write_str(line),
                FormattedPartKind::Head(head) => {
                    self.head = Some(std::mem::take(head));
                    Ok(())
                }
                FormattedPartKind::Writer(writer) => {
                    self.writer = writer.take();
                    Ok(())
                }
            }
        })
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.begun(out)?.map_or(Ok(()), |writer| writer.end(out))
    }

    fn head(&mut self, out: &mut dyn Write) -> fmt::Result {
        let writer = self.writer.as_deref_mut().filter(|_| std::mem::take(&mut self.holds_head));
        match (writer.and_then(Writer::head), &self.head) {
            (Some(writer), Some(head)) => writer.write_head(head, out),
            _ => Ok(()),
        }
    }

    /// The writer, which has written what stands before the first entry.
    fn begun(&mut self, out: &mut dyn Write) -> Result<Option<&mut dyn Writer>, fmt::Error> {
        let Some(writer) = self.writer.as_deref_mut() else { return Ok(None) };
        if !std::mem::replace(&mut self.is_begun, true) {
            let head = if self.is_head_wanted { writer.head() } else { None };
            self.holds_head = head.map(HeadWriter::hold).is_some();
            writer.begin(out)?;
        }
        Ok(Some(writer))
    }
}

impl FurtherOutput {
    /// Passes on what `write` writes.
    fn write(&mut self, write: impl FnOnce(&mut OutputWriter, &mut String) -> fmt::Result) {
        let Self { output_writer, take, text, .. } = self;
        let Some(wanting) = take else { return };
        // A string takes everything.
        let _ = write(output_writer, text);
        if !text.is_empty() && wanting(text) == ControlFlow::Break(()) {
            *take = None;
        }
        text.clear();
        text.shrink_to(ROOM);
    }
}
