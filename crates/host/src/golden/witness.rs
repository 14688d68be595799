//! Observes runs for laws and drift: a formatter that forwards each complete item, and a writer that forwards each entry.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};

use streamfmt_core::entry::{Block, Entry};
use streamfmt_core::formatter::{FormatError, Formatter, Observation, StreamFormatter, Verdict};
use streamfmt_core::item::{Id, Item};
use streamfmt_core::outline::Node;
use streamfmt_core::pipeline::{Output, Pipeline, Report, Setup};
use streamfmt_core::session::Session;
use streamfmt_core::writer::{Wants, Writer};

/// The written entries by id. If an entry was written several times, the last one counts.
pub(super) type EntriesById = BTreeMap<Id, Entry>;

/// Formats an input. Returns the written entries, in the form that sinks receive, and the counts. `None` if the output has no
/// entries.
pub(super) fn entries_of(mut setup: Setup, input: &[u8]) -> Option<(EntriesById, Report)> {
    let Output::Entries { formatters, .. } = setup.output else { return None };
    let (send, entries) = channel();
    setup.output = Output::Entries { formatters, writer: Box::new(Collector(send)) };
    let mut pipeline = Pipeline::new(setup);
    // Neither the collector nor the string can fail.
    let _ = pipeline.push(input, &mut String::new());
    let _ = pipeline.finish(&mut String::new());
    let entries = entries.try_iter().map(|entry| (entry.id.clone(), entry)).collect();
    Some((entries, pipeline.report().clone()))
}

/// Forwards the entries that are written.
struct Collector(Sender<Entry>);

impl Writer for Collector {
    fn wants(&self) -> Wants {
        Wants { time: true, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, _: &mut dyn fmt::Write) -> fmt::Result {
        node.entries().try_for_each(|entry| self.0.send(entry.clone()).map_err(|_| fmt::Error))
    }
}

/// Adds a formatter to the setup that forwards each item when it is complete. Nothing is forwarded if the output has no entries,
/// since it then consists of the items themselves.
pub(super) fn items_of(setup: &mut Setup) -> Receiver<Item> {
    let (send, met) = channel();
    if let Output::Entries { formatters, .. } = &mut setup.output {
        formatters.insert(0, Box::new(Witness(send)));
    }
    met
}

/// Forwards every item when it is complete, and passes all of them on.
struct Witness(Sender<Item>);

impl Formatter for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn format(&self, _: &Item, _: &Session) -> Result<Verdict, FormatError> {
        Ok(Verdict::Pass)
    }

    fn stream(&self) -> Option<&dyn StreamFormatter> {
        Some(self)
    }
}

impl StreamFormatter for Witness {
    fn observe(&self, moment: Observation<'_>, _: &Session) -> Vec<Block> {
        if let Observation::Complete(item) = moment {
            // The receiver may be gone once the run is over.
            let _ = self.0.send(item.clone());
        }
        Vec::new()
    }
}
