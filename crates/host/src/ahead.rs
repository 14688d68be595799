//! Reads ahead on a second thread: what a line says doesn't depend on the lines before it.
//!
//! ```text
//! caller: chunk ─▶ second thread: frames, readings ─▶ caller: applied in order
//! ```

use std::fmt::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use streamfmt_core::dialect;
use streamfmt_core::frame::Framer;
use streamfmt_core::pipeline::Pipeline;
use streamfmt_core::reading::Reading;

/// Chunks that are on their way: enough that neither thread waits, few enough to stay small.
const CHUNKS: usize = 3;

/// The readings of one chunk, with the numbers of their lines.
type Readings = Vec<(u64, Reading)>;

/// Feeds a pipeline with what a second thread reads.
pub struct Ahead {
    chunks: Option<SyncSender<Vec<u8>>>,
    readings: Receiver<Readings>,
    /// Chunks whose readings haven't come back.
    on_their_way: usize,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Starts the second thread. Lines longer than `max_line` bytes are told, not read.
    pub fn start(max_line: usize) -> std::io::Result<Self> {
        let (chunks, todo) = sync_channel::<Vec<u8>>(CHUNKS);
        let (done, readings) = sync_channel(CHUNKS);
        let thread = std::thread::Builder::new().name("read ahead".into()).spawn(move || {
            let mut framer = Framer::new(max_line);
            for chunk in todo {
                let mut batch = Vec::new();
                framer.push(&chunk, |frame| batch.push((frame.line, Reading::of(frame, dialect::is_event))));
                if done.send(batch).is_err() {
                    return;
                }
            }
            let mut batch = Vec::new();
            framer.finish(|frame| batch.push((frame.line, Reading::of(frame, dialect::is_event))));
            // Nobody is there to take it only if the caller has given up.
            let _ = done.send(batch);
        })?;
        Ok(Self { chunks: Some(chunks), readings, on_their_way: 0, thread: Some(thread) })
    }

    /// Hands a chunk of the input over, and applies what was read meanwhile.
    pub fn push(&mut self, chunk: &[u8], pipeline: &mut Pipeline, out: &mut dyn Write) -> fmt::Result {
        while self.on_their_way >= CHUNKS {
            self.apply_next(pipeline, out)?;
        }
        let sent = self.chunks.as_ref().is_some_and(|chunks| chunks.send(chunk.to_vec()).is_ok());
        self.on_their_way += usize::from(sent);
        if sent { Ok(()) } else { Err(fmt::Error) }
    }

    /// Ends the input: applies the rest. The pipeline is still to be finished.
    pub fn finish(mut self, pipeline: &mut Pipeline, out: &mut dyn Write) -> fmt::Result {
        self.chunks = None;
        // One more batch than chunks: a last line may have no line feed.
        self.on_their_way += 1;
        while self.on_their_way > 0 {
            self.apply_next(pipeline, out)?;
        }
        Ok(())
    }

    fn apply_next(&mut self, pipeline: &mut Pipeline, out: &mut dyn Write) -> fmt::Result {
        self.on_their_way -= 1;
        let Ok(batch) = self.readings.recv() else { return Err(fmt::Error) };
        batch.into_iter().try_for_each(|(line, reading)| pipeline.apply(line, reading, out))
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.chunks = None;
        // What is still on its way is thrown away, so that the thread is not kept waiting.
        while self.readings.recv().is_ok() {}
        let end = self.thread.take().map(JoinHandle::join);
        if let (Some(Err(panic)), false) = (end, std::thread::panicking()) {
            std::panic::resume_unwind(panic);
        }
    }
}
