//! Collects the items and entries of runs, for laws and drift.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};

use streamfmt_core::entry::Entry;
use streamfmt_core::item::{Id, Item};
use streamfmt_core::observer::Observer;
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

/// Forwards the entries that are written. A writer, because observers see items, and not how they are shown.
struct Collector(Sender<Entry>);

impl Writer for Collector {
    fn wants(&self) -> Wants {
        Wants { time: true, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, _: &mut dyn fmt::Write) -> fmt::Result {
        node.entries().try_for_each(|entry| self.0.send(entry.clone()).map_err(|_| fmt::Error))
    }
}

/// An observer that forwards each item, and the items.
pub(super) fn witness() -> (Box<dyn Observer>, Receiver<Item>) {
    let (send, met) = channel();
    (Box::new(Witness(send)), met)
}

/// Forwards every item.
struct Witness(Sender<Item>);

impl Observer for Witness {
    fn item(&mut self, item: &Item, _: &Session) {
        // The receiver may be gone once the run is over.
        let _ = self.0.send(item.clone());
    }
}
