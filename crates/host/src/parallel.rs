//! Formats a large input on several threads.
//!
//! Each thread takes some lines and goes the whole way with them, so that what is made of them stays in the caches of its
//! processor and is freed where it was made. The stages go from hand to hand, each in the order of the lines; what a line says
//! by itself is read outside of any turn.
//!
//! ```text
//! bytes ─▶ lines ─▶ readings ─▶ steps ─▶ formatted ─▶ text
//! └─ in turn ─┘     at once     in turn  in turn      in turn
//! ```

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use streamfmt_core::frame::{Frame, Framer};
use streamfmt_core::pipeline::{DecodeStage, DecodedStep, FormattedPart, SessionStage, Stages, WriteStage};
use streamfmt_core::reading::{LineReader, LineReading};

/// Bytes that are read at once.
const CHUNK: usize = 128 << 10;

/// Lines of a batch, about: beyond them it gets no more, since what is made of a line takes room however short it is.
const LINES: usize = 1_024;

/// Bytes that are cut into lines before those are counted again.
const PIECE: usize = 4 << 10;

/// Bytes of steps that are held while they wait for their turn, and of room for text that is kept.
const MOST: usize = 1 << 20;

/// What a step takes at most beside the text in it, about, in bytes.
const STEP: usize = 512;

/// How often a thread looks whether it is its turn before it sleeps: for some tens of microseconds, about what waking takes.
const LOOKS: usize = 2_000;

/// Reads `input` to its end through the stages of a pipeline, on `threads` threads, this one among them. What comes out is what
/// [`streamfmt_core::pipeline::Pipeline::push`] would write; the last line, if it has no line feed, waits in the pipeline.
///
/// `output` takes the text, piece by piece, and says whether to go on. An error of `input` ends the reading: what came before it
/// is written.
///
/// ```
/// use std::ops::ControlFlow;
/// use streamfmt::{Engine, core::pipeline::Pipeline, run_parallel};
///
/// let mut pipeline = Pipeline::new(Engine::builder().build()?.setup());
/// let (input, mut text) = ("no record\n".repeat(9).into_bytes(), String::new());
/// // Scripts stay on their thread: without stages, push the bytes.
/// if let Some(stages) = pipeline.stages() {
///     run_parallel(stages, 2, &*input, |piece| {
///         text.push_str(piece);
///         ControlFlow::Continue(())
///     })?;
/// }
/// pipeline.finish(&mut text)?;
/// assert!(text.contains("no record"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If `input`, `output` or a stage does.
pub fn run_parallel(
    stages: Stages<'_>,
    threads: usize,
    input: impl Read + Send,
    output: impl FnMut(&str) -> ControlFlow<()> + Send,
) -> io::Result<()> {
    let Stages { framer, reader, decode_stage, session_stage, write_stage } = stages;
    let source = BatchSource { input, framer, rest: Vec::new(), batches: 0, end: None };
    let run = ParallelRun {
        source: Mutex::new(source),
        reader,
        decode_stage: StageTurns::new(decode_stage),
        session_stage: StageTurns::new(session_stage),
        sink: StageTurns::new(TextSink { write_stage, output }),
        is_over: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // With fewer threads it is slower, no more.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || run.work());
        }
        run.work();
    });
    run.source.into_inner().unwrap_or_else(PoisonError::into_inner).end.unwrap_or(Ok(()))
}

/// What all threads share.
struct ParallelRun<'a, R, W> {
    source: Mutex<BatchSource<'a, R>>,
    reader: LineReader,
    decode_stage: StageTurns<&'a mut DecodeStage>,
    session_stage: StageTurns<&'a mut SessionStage>,
    sink: StageTurns<TextSink<'a, W>>,
    /// Whether nothing more is wanted, or a thread panicked.
    is_over: AtomicBool,
}

/// Where lines come from.
struct BatchSource<'a, R> {
    input: R,
    framer: &'a mut Framer,
    /// Bytes that were read and are left for the next batch.
    rest: Vec<u8>,
    /// How many batches were read.
    batches: u64,
    /// How the input ended, if it has.
    end: Option<io::Result<()>>,
}

/// Where text goes.
struct TextSink<'a, W> {
    write_stage: &'a mut WriteStage,
    output: W,
}

/// Some lines of the input, and what was made of them so far. Its room is used again.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    lines: Vec<BatchLine>,
    readings: Vec<(u64, LineReading)>,
    steps: Vec<DecodedStep>,
    formatted: Vec<FormattedPart>,
    text: String,
}

/// A line of a batch.
struct BatchLine {
    number: u64,
    place: LineBytes,
    oversized: Option<u64>,
}

/// Where the bytes of a line are.
enum LineBytes {
    /// In the bytes of the batch.
    Batch(Range<usize>),
    /// Here: they came in several pieces.
    Own(Vec<u8>),
}

impl<R: Read> BatchSource<'_, R> {
    /// Reads the lines of the next batch; gives its number, from 0, or nothing at the end.
    fn read(&mut self, batch: &mut Batch) -> Option<u64> {
        let Batch { bytes, lines, .. } = batch;
        if self.rest.is_empty() {
            self.fill(bytes)?;
        } else {
            std::mem::swap(bytes, &mut self.rest);
            self.rest.clear();
        }
        let start = bytes.as_ptr().addr();
        let mut at = 0;
        while at < bytes.len() && lines.len() < LINES {
            // Up to the end of a line: it needs no copy then.
            let enough = bytes.len().min(at + PIECE);
            let end = memchr::memchr(b'\n', &bytes[enough..]).map_or(bytes.len(), |more| enough + more + 1);
            self.framer.push(&bytes[at..end], |Frame { line, bytes, oversized }| {
                let place = match bytes {
                    Cow::Borrowed(bytes) => {
                        let at = bytes.as_ptr().addr() - start;
                        LineBytes::Batch(at..at + bytes.len())
                    }
                    Cow::Owned(bytes) => LineBytes::Own(bytes),
                };
                lines.push(BatchLine { number: line, place, oversized });
            });
            at = end;
        }
        self.rest.extend_from_slice(&bytes[at..]);
        self.batches += 1;
        Some(self.batches - 1)
    }

    /// Reads more of the input; nothing at its end.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        if self.end.is_some() {
            return None;
        }
        bytes.resize(CHUNK, 0);
        match read_some(&mut self.input, bytes) {
            Ok(count) if count > 0 => {
                bytes.truncate(count);
                Some(())
            }
            end => {
                self.end = Some(end.map(|_| ()));
                None
            }
        }
    }
}

impl<W: FnMut(&str) -> ControlFlow<()>> TextSink<'_, W> {
    /// Writes what was formatted; nothing if nothing more is wanted.
    fn write(&mut self, formatted: &mut Vec<FormattedPart>, text: &mut String) -> Option<()> {
        // A string takes everything.
        let _ = self.write_stage.write(formatted, text);
        let is_wanted = text.is_empty() || (self.output)(text).is_continue();
        text.clear();
        text.shrink_to(MOST);
        is_wanted.then_some(())
    }
}

impl<R: Read, W: FnMut(&str) -> ControlFlow<()>> ParallelRun<'_, R, W> {
    /// One thread's part.
    fn work(&self) {
        let _end = EndOnPanic(self);
        let mut batch = Batch::default();
        while !self.is_over.load(Ordering::Relaxed) {
            let read = lock(&self.source).read(&mut batch);
            let Some(number) = read else { return };
            if self.format(number, &mut batch).is_none() {
                self.end();
            }
        }
    }

    /// Goes the whole way with a batch; nothing if nothing more is wanted.
    fn format(&self, number: u64, batch: &mut Batch) -> Option<()> {
        let Batch { bytes, lines, readings, steps, formatted, text } = batch;
        let read = lines.drain(..).map(|BatchLine { number, place, oversized }| {
            let bytes = match place {
                LineBytes::Batch(range) => Cow::Borrowed(&bytes[range]),
                LineBytes::Own(bytes) => Cow::Owned(bytes),
            };
            (number, self.reader.read(Frame { line: number, bytes, oversized }))
        });
        readings.extend(read);

        let mut decode_stage = StageTurn::new(&self.decode_stage, number, &self.is_over);
        let mut session_stage = StageTurn::new(&self.session_stage, number, &self.is_over);
        let mut sink = StageTurn::new(&self.sink, number, &self.is_over);
        let mut size = 0;
        let mut is_wanted = Some(());
        for (line, reading) in readings.drain(..) {
            decode_stage.wait()?.take(line, reading, &mut |step| {
                size += STEP + step.size();
                steps.push(step);
                // One line may tell a great deal, as of a sub-agent's whole file: that does not wait until all is read.
                if size >= MOST && is_wanted.is_some() {
                    size = 0;
                    is_wanted = session_stage.wait().and_then(|session_stage| {
                        steps.drain(..).for_each(|step| session_stage.take(step, formatted));
                        sink.wait()?.write(formatted, text)
                    });
                }
            });
            is_wanted?;
        }
        decode_stage.pass()?;
        let stage = session_stage.wait()?;
        steps.drain(..).for_each(|step| stage.take(step, formatted));
        session_stage.pass()?;
        sink.wait()?.write(formatted, text)?;
        sink.pass()
    }
}

impl<R, W> ParallelRun<'_, R, W> {
    /// Ends all threads.
    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.decode_stage.wake();
        self.session_stage.wake();
        self.sink.wake();
    }
}

/// Ends all threads when one of them panics: nobody must wait for a turn that never comes.
struct EndOnPanic<'a, 'b, R, W>(&'a ParallelRun<'b, R, W>);

impl<R, W> Drop for EndOnPanic<'_, '_, R, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// What threads use in turn, in the order of their batches.
struct StageTurns<T> {
    /// Whose turn it is. It changes while `value` is locked.
    next: AtomicU64,
    value: Mutex<T>,
    passed: Condvar,
    /// How many sleep until it is passed on. It changes while `value` is locked, too.
    asleep: AtomicU64,
}

impl<T> StageTurns<T> {
    fn new(value: T) -> Self {
        Self {
            next: AtomicU64::new(0),
            value: Mutex::new(value),
            passed: Condvar::new(),
            asleep: AtomicU64::new(0),
        }
    }

    /// Wakes all who wait, so that they see that it is over.
    fn wake(&self) {
        let _value = lock(&self.value);
        self.passed.notify_all();
    }
}

/// One turn, waited for when it is needed. It must be passed on, or nobody gets a later one.
struct StageTurn<'a, T> {
    turns: &'a StageTurns<T>,
    number: u64,
    is_over: &'a AtomicBool,
    value: Option<MutexGuard<'a, T>>,
}

impl<'a, T> StageTurn<'a, T> {
    fn new(turns: &'a StageTurns<T>, number: u64, is_over: &'a AtomicBool) -> Self {
        Self { turns, number, is_over, value: None }
    }

    /// Waits until it is here; nothing if it is over.
    fn wait(&mut self) -> Option<&mut T> {
        let Self { turns, number, is_over, value } = self;
        if value.is_none() {
            let is_here = || turns.next.load(Ordering::Acquire) == *number;
            for _ in 0..LOOKS {
                if is_here() {
                    break;
                }
                std::hint::spin_loop();
            }
            let mut guard = lock(&turns.value);
            while !is_here() {
                if is_over.load(Ordering::Relaxed) {
                    return None;
                }
                turns.asleep.fetch_add(1, Ordering::Relaxed);
                guard = turns.passed.wait(guard).unwrap_or_else(PoisonError::into_inner);
                turns.asleep.fetch_sub(1, Ordering::Relaxed);
            }
            *value = Some(guard);
        }
        value.as_deref_mut()
    }

    /// Passes it on.
    fn pass(mut self) -> Option<()> {
        self.wait()?;
        let Self { turns, number, value, .. } = self;
        turns.next.store(number + 1, Ordering::Release);
        let has_sleepers = turns.asleep.load(Ordering::Relaxed) > 0;
        // Who is woken needs the lock.
        drop(value);
        if has_sleepers {
            turns.passed.notify_all();
        }
        Some(())
    }
}

/// Locks `mutex`. A thread that panicked ends all others, so what it left behind is used by nobody.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
