//! A progress bar for long work, where it doesn't disturb the output.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Shorter work shows nothing.
const LONG: Duration = Duration::from_secs(1);

/// The progress of reading a file, or of counted items.
pub(crate) struct Progress {
    total: u64,
    read: u64,
    begun: Instant,
    bar: Option<ProgressBar>,
    /// The text before the bar.
    label: String,
    /// Whether items are counted, and not bytes.
    counts_items: bool,
}

impl Progress {
    /// Progress through `total` bytes; `None` if the bar wouldn't be seen, or would mix with the text.
    pub(crate) fn begin(total: Option<u64>, is_output_out_of_sight: bool, label: String) -> Option<Self> {
        let total = total?;
        let is_visible = is_output_out_of_sight && io::stderr().is_terminal();
        is_visible.then(|| Self {
            total,
            read: 0,
            begun: Instant::now(),
            bar: None,
            label,
            counts_items: false,
        })
    }

    /// Progress through this many items, if the bar would be seen.
    pub(crate) fn of_items(total: usize) -> Option<Self> {
        let mut progress = Self::begin(Some(total as u64), true, String::new())?;
        progress.counts_items = true;
        Some(progress)
    }

    /// Adds bytes or items.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.read += bytes as u64;
        if self.bar.is_none() && self.begun.elapsed() > LONG {
            let bar = ProgressBar::new(self.total);
            let counts = if self.counts_items { "{pos}/{len}" } else { "{bytes}/{total_bytes}" };
            let template = format!("{{prefix}}{{wide_bar}} {counts} {{eta}}");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style);
            }
            bar.set_prefix(self.label.clone());
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.read);
        }
    }

    /// Takes the bar off the screen while `say` writes there.
    pub(crate) fn aside(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
