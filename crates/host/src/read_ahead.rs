//! Formats a large input on two threads: one decodes ahead, the other applies the steps in order.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::{fmt, mem, thread};

use streamfmt_core::frame::Framer;
use streamfmt_core::pipeline::{DecodeStage, Pipeline, Step};

/// Number of bytes read at once, and the size of a batch of steps, measured by their text.
const CHUNK: usize = 64 << 10;

/// The most steps in a batch: a step takes memory however short its line is.
const STEPS: usize = 1_024;

/// Most batches that wait in the channel.
const AHEAD: usize = 1;

/// Size of the pieces of output, in bytes.
const PIECE: usize = 64 << 10;

/// Reads `input` to its end and formats it. The output equals that of [`Pipeline::push`]. A last line without a line feed stays
/// in the pipeline.
///
/// `output` receives the text in pieces, and returns whether to continue. An error of `input` ends the reading; the output up to
/// there is complete.
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
/// If `input`, `output` or the pipeline panics.
pub fn format_ahead(
    pipeline: &mut Pipeline,
    mut input: impl Read + Send,
    mut output: impl FnMut(&str) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut pieces = TextPieces { text: String::new(), output: &mut output, is_wanted: true };
    let (mut bytes, mut read) = (Vec::with_capacity(CHUNK), Ok(CHUNK));
    // As long as the start of the stream may be held back, there are no steps to decode ahead.
    while pipeline.split().is_none() && pieces.is_wanted && matches!(read, Ok(1..)) {
        bytes.clear();
        read = input.by_ref().take(CHUNK as u64).read_to_end(&mut bytes);
        // `output` already knows about a failure.
        let _ = pipeline.push(&bytes, &mut pieces);
    }
    let (Ok(_), Some((framer, decode, session))) = (&read, pipeline.split()) else {
        pieces.pass_on();
        return read.map(drop);
    };
    let mut take = |steps: Vec<Step>| {
        steps.into_iter().all(|step| {
            session.take(step, &mut pieces);
            pieces.is_wanted
        })
    };
    let ahead = thread::scope(|scope| {
        if decode.has_plugin() {
            return None;
        }
        let (send, receive) = sync_channel(AHEAD);
        let (input, framer, decode) = (&mut input, &mut *framer, &mut *decode);
        let decode_all = move || decode_all(input, framer, decode, |steps| send.send(steps).is_ok());
        let decoding = thread::Builder::new().spawn_scoped(scope, decode_all).ok()?;
        let _ = receive.into_iter().all(&mut take);
        Some(decoding.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    // Without a second thread, decode on this one.
    let read = ahead.unwrap_or_else(|| decode_all(&mut input, framer, decode, take));
    let _ = session.written();
    pieces.pass_on();
    read
}

/// Decodes `input` to its end, or until `take` returns false.
fn decode_all(
    input: &mut impl Read,
    framer: &mut Framer,
    decode: &mut DecodeStage,
    mut take: impl FnMut(Vec<Step>) -> bool,
) -> io::Result<()> {
    let (mut bytes, mut read) = (Vec::with_capacity(CHUNK), Ok(CHUNK));
    let (mut steps, mut size, mut is_wanted) = (Vec::new(), 0, true);
    while is_wanted && matches!(read, Ok(1..)) {
        bytes.clear();
        read = input.by_ref().take(CHUNK as u64).read_to_end(&mut bytes);
        let mut each = |step: Step| {
            size += step.size();
            steps.push(step);
            if size >= CHUNK || steps.len() == STEPS {
                size = 0;
                is_wanted = is_wanted && take(mem::take(&mut steps));
            }
        };
        framer.push(&bytes, |frames| decode.take(frames, &mut each));
    }
    take(steps);
    read.map(drop)
}

/// Collects text and passes it on in pieces.
struct TextPieces<'a> {
    text: String,
    output: &'a mut dyn FnMut(&str) -> ControlFlow<()>,
    /// False once `output` has asked to stop.
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
