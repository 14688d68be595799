//! `--to json --live always`: updates, one on each line.

use std::fmt::Write;
use std::time::{Duration, Instant};

use streamfmt::Engine;
use streamfmt::core::contract::write_update;
use streamfmt::core::pipeline::{LivePace, Pipeline, Update};
use streamfmt::writers::LiveForm;

use crate::args::Args;
use crate::terminal::WhenLive;

/// Whether updates are written instead of complete entries.
pub(crate) fn are_wanted(args: &Args, engine: &Engine) -> bool {
    let has_updates = engine.own_writer().is_some_and(|writer| writer.live == LiveForm::Updates);
    args.live == WhenLive::Always && has_updates
}

/// Writes updates: of complete entries at once, of growing ones at the profile's pace.
pub(crate) struct UpdateLines {
    pace: LivePace,
    begun: Instant,
    /// Whether entries may grow: not in a file that is whole.
    is_live: bool,
    /// When updates of growing entries are due, if any has grown.
    due: Option<Instant>,
}

impl UpdateLines {
    /// For one input. `is_live`: it arrives over time.
    pub(crate) fn new(engine: &Engine, is_live: bool) -> Self {
        let pace = LivePace::new(engine.settings().profile.live);
        Self { pace, begun: Instant::now(), is_live, due: None }
    }

    /// How long to wait for input before updates are due; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Pushes more of the input.
    pub(crate) fn push(&mut self, pipeline: &mut Pipeline, bytes: &[u8], out: &mut dyn Write) {
        // Line by line, so that revisions don't depend on the size of reads. The output keeps a failure.
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let _ = pipeline.push(line, out);
            write(&pipeline.take_finished(), out);
        }
    }

    /// Writes updates of growing entries that are due.
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

/// Writes the last updates, after the end of the input.
pub(crate) fn finish(pipeline: &mut Pipeline, out: &mut dyn Write) {
    write(&pipeline.take_updates(), out);
}

fn write(updates: &[Update], out: &mut dyn Write) {
    for update in updates {
        // The output keeps a failure.
        let _ = write_update(update, out);
    }
}
