//! `--to json --live always`: what changes, one update a line.

use std::fmt::Write;
use std::time::{Duration, Instant};

use streamfmt::Engine;
use streamfmt::core::pipeline::{LivePace, Pipeline, Update};
use streamfmt::core::writer::json::write_update;

use crate::args::Args;
use crate::terminal::WhenLive;

/// Whether updates are to be written in place of lines that are whole.
pub(crate) fn are_wanted(args: &Args, engine: &Engine) -> bool {
    args.live == WhenLive::Always && engine.writer().name == "json" && engine.plugin_writer().is_none()
}

/// Writes updates: what is finished at once, what grows at the pace that the profile says.
pub(crate) struct UpdateLines {
    pace: LivePace,
    begun: Instant,
    /// Whether anything may grow while somebody looks: not in a file that is there as a whole.
    is_live: bool,
    /// When it is to be looked again, if something has grown.
    due: Option<Instant>,
}

impl UpdateLines {
    /// For one input, of which `is_live` tells whether it comes by and by.
    pub(crate) fn new(engine: &Engine, is_live: bool) -> Self {
        let pace = LivePace::new(engine.settings().profile.live);
        Self { pace, begun: Instant::now(), is_live, due: None }
    }

    /// How long it may be waited for input until there is something to do; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Reads more of the input.
    pub(crate) fn push(&mut self, pipeline: &mut Pipeline, bytes: &[u8], out: &mut dyn Write) {
        // Line by line, so that revisions don't depend on how the bytes came. A failure to write is kept by the output.
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let _ = pipeline.push(line, out);
            write(&pipeline.take_finished(), out);
        }
    }

    /// Writes what has grown, if it is time for that.
    pub(crate) fn look(&mut self, pipeline: &mut Pipeline, out: &mut dyn Write) {
        if !self.is_live || !pipeline.has_grown() {
            self.due = None;
            return;
        }
        let wait = self.pace.wait(self.begun.elapsed());
        self.due = (!wait.is_zero()).then(|| Instant::now() + wait);
        if self.due.is_none() {
            write(&pipeline.take_updates(), out);
        }
    }
}

/// Writes what is left, once the input has ended.
pub(crate) fn finish(pipeline: &mut Pipeline, out: &mut dyn Write) {
    write(&pipeline.take_updates(), out);
}

fn write(updates: &[Update], out: &mut dyn Write) {
    for update in updates {
        // A failure is kept by the output.
        let _ = write_update(update, out);
    }
}
