//! Formats a large input on two threads: one reads lines ahead, the other takes them in their order.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::{fmt, mem, thread};

use streamfmt_core::pipeline::{LineSource, Pipeline};
use streamfmt_core::reading::LineReading;

/// Bytes that are read at once.
const CHUNK: usize = 128 << 10;

/// Lines that go to the other thread together, at most: what is read of a line takes room however short it is.
const LINES: usize = 1_024;

/// How many times that many may wait to be taken.
const AHEAD: usize = 2;

/// Text that is passed on at once, in bytes.
const PIECE: usize = 64 << 10;

/// Reads `input` to its end, and formats it. What comes out is what [`Pipeline::push`] would write; the last line, if it has no line
/// feed, waits in the pipeline.
///
/// `output` takes the text, piece by piece, and says whether to go on. An error of `input` ends the reading: what came before it
/// is written.
///
/// ```
/// use std::ops::ControlFlow;
/// use streamfmt::{Engine, core::pipeline::Pipeline, format_ahead};
///
/// let mut pipeline = Pipeline::new(Engine::builder().build()?.setup());
/// let (input, mut text) = ("no record\n".repeat(9).into_bytes(), String::new());
/// format_ahead(&mut pipeline, &*input, |piece| {
///     text.push_str(piece);
///     ControlFlow::Continue(())
/// })?;
/// pipeline.finish(&mut text)?;
/// assert!(text.contains("no record"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If `input`, `output` or the pipeline does.
pub fn format_ahead(
    pipeline: &mut Pipeline,
    mut input: impl Read + Send,
    mut output: impl FnMut(&str) -> ControlFlow<()>,
) -> io::Result<()> {
    let (source, path) = pipeline.split();
    let mut pieces = TextPieces { text: String::new(), output: &mut output, is_wanted: true };
    let mut take = |lines: Vec<_>| {
        for (line, reading) in lines {
            path.take(line, reading, &mut pieces);
            if !pieces.is_wanted {
                break;
            }
        }
        pieces.is_wanted
    };
    let ahead = thread::scope(|scope| {
        let (send, receive) = sync_channel(AHEAD);
        let (source, input) = (&mut *source, &mut input);
        let read = move || read_lines(source, input, |lines| send.send(lines).is_ok());
        let reading = thread::Builder::new().spawn_scoped(scope, read).ok()?;
        let _ = receive.into_iter().all(&mut take);
        Some(reading.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    // Without another thread it takes longer, no more.
    let read = ahead.unwrap_or_else(|| read_lines(source, &mut input, take));
    // Whoever takes the text knows.
    let _ = path.written();
    pieces.pass_on();
    read
}

/// Reads `input` to its end, or until `take` wants no more lines.
fn read_lines(
    source: &mut LineSource,
    input: &mut impl Read,
    mut take: impl FnMut(Vec<(u64, LineReading)>) -> bool,
) -> io::Result<()> {
    let mut bytes = vec![0; CHUNK];
    loop {
        let count = match input.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) => return Ok(()),
            count => count?,
        };
        let (mut lines, mut is_wanted) = (Vec::new(), true);
        source.push(&bytes[..count], |line, reading| {
            lines.push((line, reading));
            if lines.len() == LINES {
                is_wanted = is_wanted && take(mem::take(&mut lines));
            }
        });
        if !is_wanted || !take(lines) {
            return Ok(());
        }
    }
}

/// Passes text on in pieces.
struct TextPieces<'a> {
    text: String,
    output: &'a mut dyn FnMut(&str) -> ControlFlow<()>,
    /// Whether more is wanted.
    is_wanted: bool,
}

impl TextPieces<'_> {
    fn pass_on(&mut self) {
        if self.is_wanted && !self.text.is_empty() {
            self.is_wanted = (self.output)(&self.text).is_continue();
        }
        self.text.clear();
    }
}

impl fmt::Write for TextPieces<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        if self.text.len() >= PIECE {
            self.pass_on();
        }
        if self.is_wanted { Ok(()) } else { Err(fmt::Error) }
    }
}
