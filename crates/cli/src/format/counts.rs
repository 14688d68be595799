//! The counts of a run over all inputs.

use streamfmt::core::pipeline::Report;

use crate::args::Args;
use crate::report;

/// The counts of a run, over all inputs so far.
#[derive(Default)]
pub(super) struct FormatCounts {
    pub(super) total: Report,
    /// The same of the summaries.
    pub(super) summed: Report,
    /// Bytes that were read.
    pub(super) bytes: u64,
    /// Inputs that were begun.
    pub(super) begun: usize,
    /// Inputs whose run ended in an error, without a result or with a session that isn't saved, or that no dialect claimed.
    pub(super) unsuccessful: u64,
    pub(super) has_unread_input: bool,
    /// Whether a signal arrived before a file was read to its end. A pipe ends with the signal, so it is whole.
    pub(super) is_cut: bool,
    /// Failures of plugins that `--watch` has replaced since.
    pub(super) failures: u64,
    /// Why outputs could not be written.
    pub(super) unwritten: Vec<String>,
}

impl FormatCounts {
    /// The lines of `--report`. `also`: those of further outputs.
    pub(super) fn lines(&self, args: &Args, also: Vec<String>) -> Vec<String> {
        let mut lines = report::lines(&self.total, self.bytes);
        lines.extend(also);
        let summary = args.summary.as_ref();
        lines
            .extend(summary.map(|path| report::line(&format!("--summary {}", path.display()), &self.summed)));
        lines
    }

    /// A message if items matched `only`, but none of them was shown. `is_limited`: the profile has such a list.
    pub(super) fn nothing_of_only(&self, args: &Args, is_limited: bool) -> Option<String> {
        let only = args.only.join(",");
        let is_limited = !only.is_empty() || is_limited;
        // Items that the filters let through but something else hides.
        let is_hidden = self.total.hidden.keys().any(|rule| rule != "filter");
        if !is_limited || !is_hidden || !self.total.shown.is_empty() {
            return None;
        }
        let (option, way) = if only.is_empty() {
            ("only".to_owned(), "a list show".to_owned())
        } else {
            (format!("--only {only}"), format!("--set show={only}"))
        };
        Some(format!(
            "{option}: nothing is shown: the detail or a plugin leaves out all that matches ({way} shows what the \
             detail leaves out)"
        ))
    }
}
