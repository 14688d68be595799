//! What a session looks like now, and what changed since any revision: shared by all who read it.
//!
//! Nothing is queued for a reader: it knows what it has, and takes what came since then. So a slow one gets the newest state, and costs
//! no memory.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::time::Instant;

use serde_json::{Value, json};

use super::spool::{NodeSpool, SpoolPlace};
use crate::store::SessionStatus;

/// Nodes that were taken back and are still remembered.
const MAX_DROPPED: usize = 65_536;

/// Where a node stands in the document: its place in each of the calls that it is inside of, the outermost first. Most are inside of none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodePath {
    first: u32,
    #[expect(clippy::box_collection, reason = "a thin pointer: there may be a million of these")]
    inside: Option<Box<Vec<u32>>>,
}

impl NodePath {
    /// That of a node outside of all calls.
    pub(super) fn of(place: u32) -> Self {
        Self { first: place, inside: None }
    }

    /// That of a node further inside.
    pub(super) fn within(&self, places: &[u32]) -> Self {
        let mut inside = self.inside.clone().unwrap_or_default();
        inside.extend_from_slice(places);
        Self { first: self.first, inside: Some(inside) }
    }

    fn depth(&self) -> usize {
        self.inside.as_ref().map_or(0, |inside| inside.len())
    }
}

/// When something changed: at which revision, and as which change.
pub(super) type ChangeKey = (u64, u64);

/// A node of the page.
#[derive(Debug)]
struct ShownNode {
    path: NodePath,
    changed: ChangeKey,
    place: SpoolPlace,
    /// `false`: it isn't shown any longer.
    is_shown: bool,
}

/// The changes in the order in which they came: those that are out of date are left out now and then.
#[derive(Debug, Default)]
struct ChangeLog {
    /// A change whose kind is `None` is out of date.
    changes: Vec<(ChangeKey, Option<ViewChange>)>,
    outdated: usize,
}

impl ChangeLog {
    fn push(&mut self, key: ChangeKey, change: ViewChange) {
        self.changes.push((key, Some(change)));
    }

    fn remove(&mut self, key: ChangeKey) {
        let at = self.changes.partition_point(|(other, _)| *other < key);
        if let Some((other, change)) = self.changes.get_mut(at)
            && *other == key
        {
            *change = None;
            self.outdated += 1;
        }
        if self.outdated > 1024 && self.outdated > self.changes.len() / 2 {
            self.changes.retain(|(_, change)| change.is_some());
            self.outdated = 0;
        }
    }

    /// Those behind one.
    fn after(&self, key: ChangeKey) -> impl Iterator<Item = (ChangeKey, ViewChange)> {
        let from = self.changes.partition_point(|(other, _)| *other <= key);
        self.changes[from..].iter().filter_map(|(key, change)| Some((*key, (*change)?)))
    }
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViewChange {
    /// A node, by its hash.
    Node(u64),
    Facts,
    Response,
    Done,
}

/// A session as it is shown.
#[expect(clippy::struct_excessive_bools, reason = "each holds or not, by itself")]
#[derive(Debug, Default)]
pub(super) struct SessionView {
    nodes: HashMap<u64, ShownNode>,
    /// The nodes that are shown, in the order of the document.
    order: BTreeSet<(NodePath, u64)>,
    changes: ChangeLog,
    next_change: u64,
    dropped: usize,
    spool: NodeSpool,
    /// Whether nodes are lines of text, which are spelled when they are read.
    pub(super) has_lines: bool,
    /// The last line that was read.
    pub(super) revision: u64,
    /// Bytes that were read.
    pub(super) read: u64,
    /// Whether something grows that isn't shown yet: there will be more at this revision.
    pub(super) is_growing: bool,
    /// Whether all that is there was read once.
    pub(super) is_caught_up: bool,
    /// Whether the end was reached.
    pub(super) is_done: bool,
    pub(super) status: Option<SessionStatus>,
    /// What the card of facts holds, as HTML.
    pub(super) card: String,
    card_changed: Option<ChangeKey>,
    /// The timeline and the prompts, as HTML.
    pub(super) overview: String,
    /// What the run answered, as HTML.
    pub(super) response: Option<String>,
    response_changed: Option<ChangeKey>,
    /// What is wrong with the log, as HTML.
    problem: Option<String>,
}

/// How far a reader is.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReaderPosition {
    after: ChangeKey,
    /// The revision of the last event that was given: none goes back.
    last: u64,
    caught_up: Option<Instant>,
}

impl ReaderPosition {
    /// Of a reader that has everything up to a revision.
    pub(super) fn at(revision: u64) -> Self {
        Self { after: (revision, u64::MAX), last: revision, caught_up: None }
    }
}

/// An event for a reader.
#[derive(Debug)]
pub(super) struct ViewEvent {
    pub(super) name: &'static str,
    /// What a reader that gets no further goes on from.
    pub(super) revision: u64,
    pub(super) data: Value,
}

impl SessionView {
    /// A view of a session of which nothing was read yet. `has_lines`: whether its nodes are lines of text.
    pub(super) fn new(has_lines: bool, status: SessionStatus) -> Self {
        Self { has_lines, status: Some(status), ..Self::default() }
    }

    fn change(&mut self, change: ViewChange) -> ChangeKey {
        let key = (self.revision, self.next_change);
        self.next_change += 1;
        self.changes.push(key, change);
        key
    }

    /// Shows a node, in place of what it was before.
    pub(super) fn put(&mut self, hash: u64, path: NodePath, html: &str) {
        let place = match self.spool.put(html) {
            Ok(place) => place,
            Err(error) => {
                let why = streamfmt::problem::reason(&error);
                self.set_problem(super::html::escaped(&format!("a part can't be kept: {why}")));
                return;
            }
        };
        let changed = self.change(ViewChange::Node(hash));
        let node = ShownNode { path: path.clone(), changed, place, is_shown: true };
        if let Some(before) = self.nodes.insert(hash, node) {
            self.changes.remove(before.changed);
            if before.is_shown {
                self.order.remove(&(before.path, hash));
            } else {
                self.dropped -= 1;
            }
        }
        self.order.insert((path, hash));
    }

    /// Shows a node no longer.
    pub(super) fn remove(&mut self, hash: u64) {
        let Some(node) = self.nodes.get(&hash).filter(|node| node.is_shown) else { return };
        let (before, path) = (node.changed, node.path.clone());
        self.changes.remove(before);
        self.order.remove(&(path, hash));
        if self.dropped == MAX_DROPPED {
            self.nodes.remove(&hash);
            return;
        }
        let changed = self.change(ViewChange::Node(hash));
        if let Some(node) = self.nodes.get_mut(&hash) {
            (node.is_shown, node.changed) = (false, changed);
            self.dropped += 1;
        }
    }

    /// Where a node stands, if it is shown.
    pub(super) fn path(&self, hash: u64) -> Option<&NodePath> {
        self.nodes.get(&hash).filter(|node| node.is_shown).map(|node| &node.path)
    }

    /// Where the last node outside of all calls stands.
    pub(super) fn last_place(&self) -> u32 {
        self.order.last().map_or(0, |(path, _)| path.first)
    }

    /// Something is wrong with the log. `problem` is HTML.
    pub(super) fn set_problem(&mut self, problem: String) {
        self.problem = Some(problem);
        self.facts_changed();
    }

    /// Whether something is wrong with the log.
    pub(super) fn has_problem(&self) -> bool {
        self.problem.is_some()
    }

    /// The card of facts holds something else.
    pub(super) fn set_card(&mut self, card: String) {
        self.card = card;
        self.facts_changed();
    }

    fn facts_changed(&mut self) {
        if let Some(before) = self.card_changed.take() {
            self.changes.remove(before);
        }
        self.card_changed = Some(self.change(ViewChange::Facts));
    }

    /// The run answered this.
    pub(super) fn set_response(&mut self, html: String) {
        self.response = Some(html);
        if let Some(before) = self.response_changed.take() {
            self.changes.remove(before);
        }
        self.response_changed = Some(self.change(ViewChange::Response));
    }

    /// There will be no more.
    pub(super) fn end(&mut self) {
        self.is_done = true;
        self.is_growing = false;
        self.change(ViewChange::Done);
    }

    /// The revision up to which everything was shown.
    pub(super) fn settled(&self) -> u64 {
        self.revision - u64::from(self.is_growing && self.revision > 0)
    }

    /// Changes with each change.
    pub(super) fn stamp(&self) -> u64 {
        self.next_change
    }

    /// How many nodes are shown.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The newest nodes, or the newest of those before one, at most `most`: their HTML, and the first one's id if there are others
    /// before it.
    pub(super) fn nodes(&self, before: Option<u64>, most: usize) -> (Vec<String>, Option<String>) {
        let end = match before {
            None => Bound::Unbounded,
            Some(hash) => match self.nodes.get(&hash).filter(|node| node.is_shown) {
                Some(node) => Bound::Excluded((node.path.clone(), hash)),
                None => return (Vec::new(), None),
            },
        };
        let mut range = self.order.range((Bound::Unbounded, end)).rev().map(|(_, hash)| *hash);
        let mut hashes: Vec<u64> = range.by_ref().take(most).collect();
        let has_older = range.next().is_some();
        hashes.reverse();
        let first = hashes.first().filter(|_| has_older).map(|hash| node_id(*hash));
        (hashes.iter().map(|hash| self.html(*hash)).collect(), first)
    }

    /// Whether there is a node of this id.
    pub(super) fn has(&self, hash: u64) -> bool {
        self.nodes.get(&hash).is_some_and(|node| node.is_shown)
    }

    fn html(&self, hash: u64) -> String {
        let Some(node) = self.nodes.get(&hash) else { return String::new() };
        let depth = node.path.depth().min(4);
        let (id, text) = (node_id(hash), self.spool.get(node.place).unwrap_or_default());
        if self.has_lines {
            let line = super::html::escaped(&text);
            return format!(
                "<div class=\"n\" id=\"{id}\"><div class=\"e line\" data-kind=\"line\" tabindex=\"-1\"><code>{line}</code></div></div>\n"
            );
        }
        let (open, text) = text.split_at(usize::from(!text.is_empty()));
        let open = if open == OPEN { " data-open=\"\"" } else { "" };
        format!("<div class=\"n in-{depth}\" id=\"{id}\"{open}>{text}</div>\n")
    }

    /// What a reader lacks, up to some `most` bytes.
    pub(super) fn take(&self, reader: &mut ReaderPosition, most: usize) -> Vec<ViewEvent> {
        let mut events = Vec::new();
        let mut bytes = 0;
        let mut pending = self.changes.after(reader.after).peekable();
        while let Some((key, change)) = pending.next() {
            let is_last_of_revision = pending
                .peek()
                .map_or(!self.is_growing || self.is_done, |((revision, _), _)| *revision > key.0);
            // Whoever gets this and no more goes on with the rest of the revision.
            let revision = key.0 - u64::from(!is_last_of_revision && key.0 > 0);
            reader.last = reader.last.max(revision);
            reader.after = key;
            let (name, data) = self.spell(change);
            bytes += match data.get("html") {
                Some(Value::String(html)) => html.len(),
                _ => 64,
            };
            events.push(ViewEvent { name, revision: reader.last, data });
            if bytes > most {
                break;
            }
        }
        if pending.peek().is_none() {
            reader.caught_up = Some(Instant::now());
        }
        events
    }

    /// The lines that a reader lacks, of a view of lines.
    pub(super) fn take_lines(&self, reader: &mut ReaderPosition, most: usize) -> (Vec<String>, bool) {
        let (mut lines, mut bytes, mut is_done) = (Vec::new(), 0, false);
        let mut pending = self.changes.after(reader.after).peekable();
        while bytes <= most
            && let Some((key, change)) = pending.next()
        {
            reader.after = key;
            match change {
                ViewChange::Node(hash) => {
                    let line =
                        self.nodes.get(&hash).map(|node| self.spool.get(node.place).unwrap_or_default());
                    bytes += line.as_ref().map_or(0, String::len);
                    lines.extend(line);
                }
                ViewChange::Done => is_done = true,
                ViewChange::Facts | ViewChange::Response => {}
            }
        }
        if pending.peek().is_none() {
            reader.caught_up = Some(Instant::now());
        }
        (lines, is_done)
    }

    /// Whether a reader that had everything is so far behind that it had better begin again: more than `most` bytes, and for a while.
    pub(super) fn is_left_behind(
        &self,
        reader: &ReaderPosition,
        most: usize,
        patience: std::time::Duration,
    ) -> bool {
        if reader.caught_up.is_none_or(|since| since.elapsed() < patience) {
            return false;
        }
        let mut bytes = 0;
        self.changes.after(reader.after).any(|(_, change)| {
            if let ViewChange::Node(hash) = change {
                bytes += self.nodes.get(&hash).map_or(0, |node| node.place.length());
            }
            bytes > most
        })
    }

    fn spell(&self, change: ViewChange) -> (&'static str, Value) {
        match change {
            ViewChange::Node(hash) => match self.nodes.get(&hash).filter(|node| node.is_shown) {
                Some(node) => {
                    let key = (node.path.clone(), hash);
                    let next = self.order.range((Bound::Excluded(key), Bound::Unbounded)).next();
                    let mut data = json!({"v": 1, "id": node_id(hash), "html": self.html(hash)});
                    if let Some((_, next)) = next {
                        data["before"] = node_id(*next).into();
                    }
                    ("put", data)
                }
                None => ("drop", json!({"v": 1, "id": node_id(hash)})),
            },
            ViewChange::Facts => {
                let status = self.status.map(SessionStatus::name);
                ("facts", json!({"v": 1, "status": status, "html": self.facts()}))
            }
            ViewChange::Response => {
                ("response", json!({"v": 1, "html": self.response.as_deref().unwrap_or("")}))
            }
            ViewChange::Done => ("done", json!({"v": 1})),
        }
    }

    /// What the section of facts holds.
    pub(super) fn facts(&self) -> String {
        let problem = self.problem.as_ref();
        let problem = problem.map(|problem| format!("<p class=\"problem\" role=\"alert\">{problem}</p>"));
        format!("{}{}<div id=\"overview\">{}</div>", problem.unwrap_or_default(), self.card, self.overview)
    }
}

/// The first byte of what is kept of a node that isn't finished.
pub(super) const OPEN: &str = "o";
/// The same of one that is.
pub(super) const WHOLE: &str = "w";

/// The id of a node in the page.
pub(super) fn node_id(hash: u64) -> String {
    format!("n-{hash:016x}")
}

/// The hash of the node that has this id.
pub(super) fn node_hash(id: &str) -> Option<u64> {
    let digits = id.strip_prefix("n-").or_else(|| id.strip_prefix("e-"))?;
    if digits.len() != 16 {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(events: &[ViewEvent]) -> Vec<String> {
        let told = events.iter().map(|event| {
            let id =
                event.data["id"].as_str().unwrap_or("").trim_start_matches("n-000000000000000").to_owned();
            format!("{}{id}@{}", event.name, event.revision)
        });
        told.collect()
    }

    #[test]
    fn a_reader_goes_on_from_any_revision_and_a_part_of_one_is_given_again() {
        let mut view = SessionView { revision: 1, ..SessionView::default() };
        view.put(1, NodePath::of(0), "wone");
        view.revision = 2;
        view.put(2, NodePath::of(1), "wtwo");
        view.put(3, NodePath::of(1).within(&[0]), "winside");
        let mut reader = ReaderPosition::at(0);
        assert_eq!(names(&view.take(&mut reader, 1000)), ["put1@1", "put2@1", "put3@2"]);
        assert!(view.take(&mut reader, 1000).is_empty());
        assert_eq!(names(&view.take(&mut ReaderPosition::at(1), 1000)), ["put2@1", "put3@2"]);
        // What grows has no revision of its own until it was shown.
        (view.revision, view.is_growing) = (3, true);
        view.put(1, NodePath::of(0), "wone and more");
        assert_eq!(names(&view.take(&mut reader, 1000)), ["put1@2"]);
        view.is_growing = false;
        view.remove(2);
        view.revision = 4;
        view.set_response("r".to_owned());
        view.end();
        assert_eq!(names(&view.take(&mut reader, 1000)), ["drop2@3", "response@3", "done@4"]);
        assert_eq!(names(&view.take(&mut ReaderPosition::at(3), 1000)), ["response@3", "done@4"]);
        assert!(view.take(&mut ReaderPosition::at(4), 1000).is_empty());
    }

    #[test]
    fn nodes_come_in_the_order_of_the_document_the_newest_first_asked() {
        let mut view = SessionView::default();
        let of = NodePath::of;
        for (hash, path) in
            [(1, of(0)), (2, of(2)), (3, of(0).within(&[1])), (4, of(1)), (5, of(0).within(&[0]))]
        {
            view.put(hash, path, "w");
        }
        let ids = |(nodes, first): (Vec<String>, Option<String>)| {
            let ids: Vec<String> =
                nodes.iter().map(|html| html.split('"').nth(3).unwrap_or("")[17..].to_owned()).collect();
            (ids.join(""), first.map(|first| first[17..].to_owned()))
        };
        assert_eq!(ids(view.nodes(None, 9)), ("15342".to_owned(), None));
        assert_eq!(ids(view.nodes(None, 2)), ("42".to_owned(), Some("4".to_owned())));
        assert_eq!(ids(view.nodes(Some(4), 2)), ("53".to_owned(), Some("5".to_owned())));
        let put = view.take(&mut ReaderPosition::at(0), 1 << 20);
        assert!(put.is_empty(), "the first revision is 1");
    }
}
