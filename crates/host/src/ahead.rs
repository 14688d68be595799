//! Reads a file on threads of its own, ahead of what is made of it: what a line says doesn't depend on what was said of
//! the lines before it.
//!
//! ```text
//! one thread: bytes, frames, readings ─▶ another: steps ─▶ caller: takes them in order
//! ```
//!
//! Batches go round: those that were taken are filled anew.

use std::fmt::{self, Write};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use streamfmt_core::dialect;
use streamfmt_core::frame::{Frame, Framer};
use streamfmt_core::json::Record;
use streamfmt_core::pipeline::{Intake, Pipeline, Setup, Step, Subagents};
use streamfmt_core::reading::Reading;

/// Batches that wait for the next thread, beside those that are worked on.
const BATCHES: usize = 1;

/// Bytes that are read at once. What one thread wrote costs the other less when it lies some time back.
const CHUNK: usize = 256 * 1024;

/// Steps of one batch at most, and the bytes that they may hold before it is handed on: the file of a sub-agent, which is
/// read amid a line, may be long.
const STEPS: usize = 4_096;
const BYTES: usize = 1024 * 1024;

/// Records up to this size go back to the thread that made them.
const SPENT: usize = 64 * 1024;

/// Some bytes of the input, and what the lines tell that end in them.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// With the numbers of their lines.
    readings: Vec<(u64, Reading)>,
    steps: Vec<Step>,
    /// Records of lines that are not long. They go back to the thread that made them: freeing memory of another
    /// thread costs both of them more.
    spent: Vec<Arc<Record>>,
}

impl Batch {
    /// The bytes as they were read. A batch may have none: it goes on with lines of the one before it, or has the last
    /// line, if that has no line feed.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives all steps to the pipeline, which writes what they complete.
    pub fn take(&mut self, pipeline: &mut Pipeline, out: &mut dyn Write) -> fmt::Result {
        self.steps.drain(..).try_for_each(|step| pipeline.take(step, out))
    }
}

/// A file that is read on threads of its own.
pub struct Ahead {
    batches: Receiver<io::Result<Batch>>,
    /// Batches that were taken: their room is used again.
    taken: Sender<Batch>,
    is_stopped: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Ahead {
    /// Begins to read, for a pipeline of this set-up; `subagents` finds the files of sub-agents in its place.
    /// Dialects in Lua run on the caller's thread only: with such ones nothing is read ahead (`None`).
    pub fn start(
        file: impl Read + Send + 'static,
        setup: &Setup,
        subagents: Option<Subagents>,
    ) -> Option<io::Result<Self>> {
        setup.guests.is_empty().then(|| Self::spawn(file, setup, subagents))
    }

    fn spawn(
        file: impl Read + Send + 'static,
        setup: &Setup,
        subagents: Option<Subagents>,
    ) -> io::Result<Self> {
        let (read, readings) = sync_channel(BATCHES);
        let (told, batches) = sync_channel(BATCHES);
        let (taken, free) = channel();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (dialect, max_line) = (setup.dialect.clone(), setup.max_line);
        let reader = Reader { file, framer: Framer::new(max_line), is_stopped: is_stopped.clone() };
        let spawn =
            |name: &str, run: Box<dyn FnOnce() + Send>| thread::Builder::new().name(name.into()).spawn(run);
        let threads = vec![
            spawn("read ahead", Box::new(move || reader.run(&read, &free)))?,
            spawn(
                "decode ahead",
                Box::new(move || {
                    let intake = Intake::new(dialect.as_deref(), Vec::new(), max_line, subagents);
                    // What is told to nobody isn't needed.
                    let _ = decode(intake, &readings, &told);
                }),
            )?,
        ];
        Ok(Self { batches, taken, is_stopped, threads })
    }

    /// What comes next, until the end. An error comes in its place, and what was read before it is ended.
    pub fn next_batch(&mut self) -> Option<io::Result<Batch>> {
        self.batches.recv().ok()
    }

    /// Gives a batch back that was taken, so that its room is used again.
    pub fn reuse(&self, batch: Batch) {
        // Nobody takes it if all is read.
        let _ = self.taken.send(batch);
    }

    /// Reads no further: what was read already still comes.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stop();
        // What is still on its way is thrown away, so that no thread is kept waiting.
        while self.batches.recv().is_ok() {}
        for thread in self.threads.drain(..) {
            if let (Err(panic), false) = (thread.join(), thread::panicking()) {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// The first thread's part.
struct Reader<R> {
    file: R,
    framer: Framer,
    is_stopped: Arc<AtomicBool>,
}

impl<R: Read> Reader<R> {
    /// Reads to the end, to an error, or until nobody wants more.
    fn run(mut self, read: &SyncSender<io::Result<Batch>>, free: &Receiver<Batch>) {
        loop {
            let mut batch = free.try_recv().unwrap_or_default();
            let Batch { bytes, readings, spent, .. } = &mut batch;
            spent.clear();
            bytes.resize(CHUNK, 0);
            let count = if self.is_stopped.load(Ordering::Relaxed) {
                Ok(0)
            } else {
                read_some(&mut self.file, bytes)
            };
            let count = match count {
                Ok(count) => count,
                Err(error) => {
                    let _ = read.send(Err(error));
                    0
                }
            };
            bytes.truncate(count);
            let each = |frame: Frame<'_>| readings.push((frame.line, Reading::of(frame, dialect::is_event)));
            if count > 0 {
                self.framer.push(bytes, each);
            } else {
                self.framer.finish(each);
            }
            // Nobody is there to take it only if the caller has given up.
            if read.send(Ok(batch)).is_err() || count == 0 {
                return;
            }
        }
    }
}

/// The second thread's part: makes steps of readings, until there are no more or nobody wants more (an error).
fn decode(
    mut intake: Intake,
    readings: &Receiver<io::Result<Batch>>,
    told: &SyncSender<io::Result<Batch>>,
) -> fmt::Result {
    let tell = |batch: io::Result<Batch>| told.send(batch).map_err(|_| fmt::Error);
    while let Ok(read) = readings.recv() {
        let mut batch = match read {
            Ok(batch) => batch,
            Err(error) => {
                tell(Err(error))?;
                continue;
            }
        };
        let mut readings = std::mem::take(&mut batch.readings);
        let mut size = 0;
        for (line, reading) in readings.drain(..) {
            if let Reading::Record(record, _) = &reading
                && record.text().len() < SPENT
            {
                batch.spent.push(Arc::clone(record));
            }
            intake.take(line, reading, &mut |step| {
                size += step.size();
                batch.steps.push(step);
                if batch.steps.len() < STEPS && size < BYTES {
                    return Ok(());
                }
                size = 0;
                tell(Ok(std::mem::take(&mut batch)))
            })?;
        }
        batch.readings = readings;
        tell(Ok(batch))?;
    }
    let mut last = Batch::default();
    intake.end(&mut |step| {
        last.steps.push(step);
        Ok(())
    })?;
    tell(Ok(last))
}

fn read_some(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
