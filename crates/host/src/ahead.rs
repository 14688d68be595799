//! Reads a file on a second thread, ahead of what is made of it: what a line says doesn't depend on the lines
//! before it.
//!
//! ```text
//! second thread: bytes, frames, readings ─▶ batch ─▶ caller: applied in order
//! ```

use std::fmt::{self, Write};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use streamfmt_core::dialect;
use streamfmt_core::frame::{Frame, Framer};
use streamfmt_core::json::Record;
use streamfmt_core::pipeline::Pipeline;
use streamfmt_core::reading::Reading;

/// Batches that wait for the caller, beside the one that it applies and the one that is read.
const BATCHES: usize = 1;

/// Bytes that are read at once. What one thread wrote costs the other less when it lies some time back.
const CHUNK: usize = 256 * 1024;

/// Records up to this size go back to the thread that made them.
const SPENT: usize = 64 * 1024;

/// Some bytes of the input, and what the lines say that end in them.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// With the numbers of their lines.
    readings: Vec<(u64, Reading)>,
    /// Records that were applied, of lines that are not long. They go back to the thread that made them: freeing
    /// memory of another thread costs both of them more.
    spent: Vec<Arc<Record>>,
}

impl Batch {
    /// The bytes as they were read. After the last of them there may be a batch without any: the end of a line
    /// that has no line feed.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives all readings to the pipeline, which writes what they complete.
    pub fn apply(&mut self, pipeline: &mut Pipeline, out: &mut dyn Write) -> fmt::Result {
        self.spent.extend(self.readings.iter().filter_map(|(_, reading)| match reading {
            Reading::Record(record, _) if record.text().len() < SPENT => Some(Arc::clone(record)),
            _ => None,
        }));
        pipeline.apply(&mut self.readings, out)
    }
}

/// A file that is read on a second thread.
pub struct Ahead {
    batches: Receiver<io::Result<Batch>>,
    /// Batches that were applied: their room is used again.
    applied: Sender<Batch>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Begins to read. Lines longer than `max_line` bytes are told, not read.
    pub fn start(file: impl Read + Send + 'static, max_line: usize) -> io::Result<Self> {
        let (todo, batches) = sync_channel(BATCHES);
        let (applied, free) = channel();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let reader = Reader { file, framer: Framer::new(max_line), is_stopped: is_stopped.clone() };
        let thread =
            std::thread::Builder::new().name("read ahead".into()).spawn(move || reader.run(&todo, &free))?;
        Ok(Self { batches, applied, is_stopped, thread: Some(thread) })
    }

    /// What comes next, until the end. An error comes in its place, and what was read before it is ended.
    pub fn next_batch(&mut self) -> Option<io::Result<Batch>> {
        self.batches.recv().ok()
    }

    /// Gives a batch back that was applied, so that its room is used again.
    pub fn reuse(&self, batch: Batch) {
        // Nobody takes it if all is read.
        let _ = self.applied.send(batch);
    }

    /// Reads no further: what was read already still comes.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stop();
        // What is still on its way is thrown away, so that the thread is not kept waiting.
        while self.batches.recv().is_ok() {}
        let end = self.thread.take().map(JoinHandle::join);
        if let (Some(Err(panic)), false) = (end, std::thread::panicking()) {
            std::panic::resume_unwind(panic);
        }
    }
}

/// The second thread's part.
struct Reader<R> {
    file: R,
    framer: Framer,
    is_stopped: Arc<AtomicBool>,
}

impl<R: Read> Reader<R> {
    /// Reads to the end, to an error, or until nobody wants more.
    fn run(mut self, todo: &SyncSender<io::Result<Batch>>, free: &Receiver<Batch>) {
        loop {
            let mut batch = free.try_recv().unwrap_or_default();
            let Batch { bytes, readings, spent } = &mut batch;
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
                    let _ = todo.send(Err(error));
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
            if todo.send(Ok(batch)).is_err() || count == 0 {
                return;
            }
        }
    }
}

fn read_some(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
