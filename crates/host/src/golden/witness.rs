//! What laws and drift learn from a run: a formatter that hands on each item once it is whole, and a writer that hands on each entry.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};

use streamfmt_core::entry::{Block, Entry};
use streamfmt_core::formatter::{FormatError, Formatter, Observation, Observer, Verdict};
use streamfmt_core::item::{Id, Item};
use streamfmt_core::outline::Node;
use streamfmt_core::pipeline::{Output, Pipeline, Report, Setup};
use streamfmt_core::session::Session;
use streamfmt_core::writer::{Wants, Writer};

/// What is written, by id. The title of what an entry is inside of is that other one's.
pub(super) type EntriesById = BTreeMap<Id, Entry>;

/// The entries that come of an input, as sinks get them, and the counts; `None` if no entries are made.
pub(super) fn entries_of(mut setup: Setup, input: &[u8]) -> Option<(EntriesById, Report)> {
    let Output::Entries { formatters, .. } = setup.output else { return None };
    let (send, entries) = channel();
    setup.output = Output::Entries { formatters, writer: Box::new(Collector(send)) };
    let mut pipeline = Pipeline::new(setup);
    // The collector doesn't fail.
    let _ = pipeline.push(input, &mut String::new());
    let _ = pipeline.finish(&mut String::new());
    let entries = entries.try_iter().map(|entry| (entry.id.clone(), entry)).collect();
    Some((entries, pipeline.report().clone()))
}

/// Hands on the entries that are written.
struct Collector(Sender<Entry>);

impl Writer for Collector {
    fn wants(&self) -> Wants {
        Wants { time: true, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, _: &mut dyn fmt::Write) -> fmt::Result {
        node.entries().try_for_each(|entry| self.0.send(entry.clone()).map_err(|_| fmt::Error))
    }
}

/// The items of a set-up's pipeline, each once it is whole; none if no entries are made, since nothing stands then between items and
/// what is written.
pub(super) fn items_of(setup: &mut Setup) -> Receiver<Item> {
    let (tell, met) = channel();
    if let Output::Entries { formatters, .. } = &mut setup.output {
        formatters.insert(0, Box::new(Witness(tell)));
    }
    met
}

/// Tells of every item once it is whole, and decides nothing.
struct Witness(Sender<Item>);

impl Formatter for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn format(&self, _: &Item, _: &Session) -> Result<Verdict, FormatError> {
        Ok(Verdict::Pass)
    }

    fn observer(&self) -> Option<&dyn Observer> {
        Some(self)
    }
}

impl Observer for Witness {
    fn observe(&self, moment: Observation<'_>, _: &Session) -> Vec<Block> {
        if let Observation::Complete(item) = moment {
            // Nobody listens any longer once the run is over.
            let _ = self.0.send(item.clone());
        }
        Vec::new()
    }
}
