//! The formatted state of a session and its changes since any revision, shared by all readers.
//!
//! Nothing is queued for a reader: its position is a number in the log of changes, from which it takes what came since. A slow reader
//! therefore gets the newest state and costs no memory.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::spool::{NodeSpool, RowSpool, SpoolPlace};
use crate::store::SessionStatus;

/// The number of nodes at the end of the document whose paths are kept in memory. Only these can be replaced, dropped, or get nodes inside.
const RECENT: usize = 32_768;
/// The most unfinished nodes before those, which can be replaced as well. The later half is kept: more calls than a session completes.
const MAX_UNFINISHED: usize = 8_192;

/// The position of a node in the document: its place at the top level, then in each call that contains it. Most nodes are at the top level.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodePath {
    first: u32,
    #[expect(clippy::box_collection, reason = "a thin pointer: there may be a million of these")]
    inside: Option<Box<Vec<u32>>>,
}

impl NodePath {
    /// The path of a node at the top level.
    pub(super) fn of(place: u32) -> Self {
        Self { first: place, inside: None }
    }

    /// The path of a node below this one.
    pub(super) fn within(&self, places: &[u32]) -> Self {
        let mut inside = self.inside.clone().unwrap_or_default();
        inside.extend_from_slice(places);
        Self { first: self.first, inside: Some(inside) }
    }

    fn depth(&self) -> usize {
        self.inside.as_ref().map_or(0, |inside| inside.len())
    }
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViewChange {
    /// A node was added or replaced.
    Put,
    /// A node was removed.
    Drop,
    Facts,
    Response,
    Done,
    /// Superseded by a later change.
    Outdated,
}

/// A change, as a row of the log of changes. The number of the row orders the changes of one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChangeRow {
    change: ViewChange,
    revision: u64,
    /// The node that changed.
    hash: u64,
    /// Its HTML, and the number of calls that contain it.
    place: SpoolPlace,
    depth: u8,
    /// Its position in [`OlderNodes`], once it is there.
    older: Option<u64>,
}

impl ChangeRow {
    const CHANGES: [ViewChange; 6] = [
        ViewChange::Put,
        ViewChange::Drop,
        ViewChange::Facts,
        ViewChange::Response,
        ViewChange::Done,
        ViewChange::Outdated,
    ];

    fn pack(self) -> [u64; 5] {
        let kind = self.change as u64 | u64::from(self.depth) << 8 | u64::from(self.place.length) << 32;
        [kind, self.revision, self.hash, self.place.offset, self.older.unwrap_or(u64::MAX)]
    }

    fn unpack([kind, revision, hash, offset, older]: [u64; 5]) -> Self {
        let change = Self::CHANGES.get((kind & 0xff) as usize).copied().unwrap_or(ViewChange::Outdated);
        let place = SpoolPlace { offset, length: (kind >> 32) as u32 };
        let older = Some(older).filter(|older| *older != u64::MAX);
        Self { change, revision, hash, place, depth: (kind >> 8 & 0xff) as u8, older }
    }
}

/// All changes, in order.
#[derive(Debug, Default)]
struct ChangeLog(RowSpool<5>);

impl ChangeLog {
    fn push(&mut self, row: ChangeRow) -> u64 {
        self.0.push(row.pack())
    }

    fn get(&self, number: u64) -> Option<ChangeRow> {
        self.0.get(number).map(ChangeRow::unpack)
    }

    /// Marks a change as superseded.
    fn outdate(&mut self, number: u64) {
        self.edit(number, |row| row.change = ViewChange::Outdated);
    }

    fn edit(&mut self, number: u64, edit: impl FnOnce(&mut ChangeRow)) {
        let Some(mut row) = self.get(number) else { return };
        edit(&mut row);
        // If it can't be written, readers get the older state before the newer one.
        let _ = self.0.set(number, row.pack());
    }

    /// The number of the first change after a revision.
    fn behind(&self, revision: u64) -> u64 {
        self.0.partition_point(|row| ChangeRow::unpack(*row).revision <= revision)
    }

    /// The current changes from a number on.
    fn from(&self, number: u64) -> impl Iterator<Item = (u64, ChangeRow)> {
        let rows = self.0.from(number).map(|(number, row)| (number, ChangeRow::unpack(row)));
        rows.filter(|(_, row)| row.change != ViewChange::Outdated)
    }

    /// The last change of a node, searched from the end.
    fn last_of(&self, hash: u64) -> Option<ChangeRow> {
        let rows = self.0.before(self.0.len()).map(|(_, row)| ChangeRow::unpack(row));
        rows.into_iter()
            .find(|row| row.hash == hash && matches!(row.change, ViewChange::Put | ViewChange::Drop))
    }
}

/// One of the last [`RECENT`] nodes of the document.
#[derive(Debug)]
struct RecentNode {
    path: NodePath,
    /// The number of its last change.
    change: u64,
    is_open: bool,
}

/// The nodes before the recent ones, in document order. There can be millions, so they are kept in files.
#[derive(Debug, Default)]
struct OlderNodes {
    /// The number of the last change of each.
    changes: RowSpool<1>,
    /// How many of them were removed.
    dropped: u64,
    /// Those that aren't finished, with their last change.
    unfinished: HashMap<u64, (NodePath, u64)>,
}

impl OlderNodes {
    /// Keeps an unfinished node. If there are too many, the earlier half stays as it is.
    fn keep_unfinished(&mut self, hash: u64, path: NodePath, change: u64) {
        if self.unfinished.len() >= MAX_UNFINISHED {
            let mut paths: Vec<NodePath> = self.unfinished.values().map(|(path, _)| path.clone()).collect();
            let (_, half, _) = paths.select_nth_unstable(MAX_UNFINISHED / 2);
            self.unfinished.retain(|_, (path, _)| *path >= *half);
        }
        self.unfinished.insert(hash, (path, change));
    }
}

/// A session as its readers see it.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug, Default)]
pub(super) struct SessionView {
    /// The last nodes by hash, and in document order.
    recent: HashMap<u64, RecentNode>,
    order: BTreeSet<(NodePath, u64)>,
    older: OlderNodes,
    changes: ChangeLog,
    spool: NodeSpool,
    /// Whether nodes are lines of text, which become HTML only when they are read.
    pub(super) has_lines: bool,
    /// The number of the last applied line.
    pub(super) revision: u64,
    /// Bytes of the log read so far.
    pub(super) read: u64,
    /// Whether an item has grown since updates were taken: this revision isn't complete.
    pub(super) is_growing: bool,
    /// Whether the end of the log was reached once.
    pub(super) is_caught_up: bool,
    /// Whether the session has ended and all of it was read.
    pub(super) is_done: bool,
    pub(super) status: Option<SessionStatus>,
    /// The card of facts, as HTML.
    pub(super) card: String,
    card_changed: Option<u64>,
    /// The timeline and the prompts, as HTML.
    pub(super) overview: String,
    /// The final response, as HTML.
    pub(super) response: Option<String>,
    response_changed: Option<u64>,
    /// A problem with the log, as HTML.
    problem: Option<String>,
}

/// The position of a reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReaderPosition {
    /// The number of the next change, once it was found.
    next: Option<u64>,
    /// The revision of the last event: revisions never decrease.
    last: u64,
    /// Whether it had every change at some time.
    was_up_to_date: bool,
    /// Since when it has been far behind.
    behind_since: Option<Instant>,
}

impl ReaderPosition {
    /// The position after a revision.
    pub(super) fn at(revision: u64) -> Self {
        Self { next: None, last: revision, was_up_to_date: false, behind_since: None }
    }
}

/// An event for a reader.
#[derive(Debug)]
pub(super) struct ViewEvent {
    pub(super) name: &'static str,
    /// The revision that a reader resumes from after this event.
    pub(super) revision: u64,
    pub(super) data: Value,
}

impl SessionView {
    /// An empty view. `has_lines`: whether its nodes are lines of text.
    pub(super) fn new(has_lines: bool, status: SessionStatus) -> Self {
        Self { has_lines, status: Some(status), ..Self::default() }
    }

    fn change(&mut self, change: ViewChange) -> u64 {
        let place = SpoolPlace::default();
        self.changes.push(ChangeRow {
            change,
            revision: self.revision,
            hash: 0,
            place,
            depth: 0,
            older: None,
        })
    }

    /// Adds or replaces a node.
    pub(super) fn put(&mut self, hash: u64, path: NodePath, html: &str) {
        let place = match self.spool.put(html) {
            Ok(place) => place,
            Err(error) => {
                let why = streamfmt::problem::reason(&error);
                self.set_problem(super::html::escaped(&format!("a part can't be kept: {why}")));
                return;
            }
        };
        let is_open = !self.has_lines && html.starts_with(OPEN);
        let depth = u8::try_from(path.depth()).unwrap_or(u8::MAX);
        let older = self.older.unfinished.get(&hash).map(|(_, change)| *change);
        let older = older.and_then(|change| self.outdate(change)?.older);
        let row = ChangeRow { change: ViewChange::Put, revision: self.revision, hash, place, depth, older };
        let change = self.changes.push(row);
        if let Some(older) = older {
            self.replace_older(older, hash, change, is_open);
            return;
        }
        if let Some(before) = self.recent.insert(hash, RecentNode { path: path.clone(), change, is_open }) {
            self.changes.outdate(before.change);
            self.order.remove(&(before.path, hash));
        }
        self.order.insert((path, hash));
        self.keep_recent();
    }

    fn outdate(&mut self, change: u64) -> Option<ChangeRow> {
        let row = self.changes.get(change);
        self.changes.outdate(change);
        row
    }

    /// Records the new change of an older node.
    fn replace_older(&mut self, at: u64, hash: u64, change: u64, is_open: bool) {
        // If it can't be written, the page shows the state before.
        let _ = self.older.changes.set(at, [change]);
        if !is_open {
            self.older.unfinished.remove(&hash);
        } else if let Some((_, last)) = self.older.unfinished.get_mut(&hash) {
            *last = change;
        }
    }

    /// Moves the first of the recent nodes to the older ones when there are too many.
    fn keep_recent(&mut self) {
        while self.order.len() > RECENT
            && let Some((path, hash)) = self.order.pop_first()
            && let Some(node) = self.recent.remove(&hash)
        {
            let at = self.older.changes.push([node.change]);
            self.changes.edit(node.change, |row| row.older = Some(at));
            if node.is_open {
                self.older.keep_unfinished(hash, path, node.change);
            }
        }
    }

    /// Removes a node.
    pub(super) fn remove(&mut self, hash: u64) {
        let before = match self.recent.remove(&hash) {
            Some(node) => {
                self.order.remove(&(node.path, hash));
                node.change
            }
            None => match self.older.unfinished.remove(&hash) {
                Some((_, change)) => change,
                None => return,
            },
        };
        let Some(row) = self.outdate(before) else { return };
        let change =
            self.changes.push(ChangeRow { change: ViewChange::Drop, revision: self.revision, ..row });
        if let Some(at) = row.older {
            self.older.dropped += 1;
            self.replace_older(at, hash, change, false);
        }
    }

    /// The path of a node that is recent or unfinished.
    pub(super) fn path(&self, hash: u64) -> Option<&NodePath> {
        let recent = self.recent.get(&hash).map(|node| &node.path);
        recent.or_else(|| self.older.unfinished.get(&hash).map(|(path, _)| path))
    }

    /// The top-level place of the last node.
    pub(super) fn last_place(&self) -> u32 {
        self.order.last().map_or(0, |(path, _)| path.first)
    }

    /// Sets the problem with the log. `problem` is HTML.
    pub(super) fn set_problem(&mut self, problem: String) {
        self.problem = Some(problem);
        self.facts_changed();
    }

    /// Whether there is a problem with the log.
    pub(super) fn has_problem(&self) -> bool {
        self.problem.is_some()
    }

    /// Sets the card of facts.
    pub(super) fn set_card(&mut self, card: String) {
        self.card = card;
        self.facts_changed();
    }

    fn facts_changed(&mut self) {
        if let Some(before) = self.card_changed.take() {
            self.changes.outdate(before);
        }
        self.card_changed = Some(self.change(ViewChange::Facts));
    }

    /// Sets the final response.
    pub(super) fn set_response(&mut self, html: String) {
        self.response = Some(html);
        if let Some(before) = self.response_changed.take() {
            self.changes.outdate(before);
        }
        self.response_changed = Some(self.change(ViewChange::Response));
    }

    /// Marks the session as complete.
    pub(super) fn end(&mut self) {
        self.is_done = true;
        self.is_growing = false;
        self.change(ViewChange::Done);
    }

    /// The last complete revision.
    pub(super) fn settled(&self) -> u64 {
        self.revision - u64::from(self.is_growing && self.revision > 0)
    }

    /// A number that differs after each change.
    pub(super) fn stamp(&self) -> u64 {
        self.changes.0.len()
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> u64 {
        self.order.len() as u64 + self.older.changes.len() - self.older.dropped
    }

    /// The HTML of the last `most` nodes, or of the last before a node, and the id of the first of them if there are more before it.
    /// `None` if that node doesn't exist.
    pub(super) fn nodes(&self, before: Option<u64>, most: usize) -> Option<(Vec<String>, Option<String>)> {
        let (mut end, mut older) = (Bound::Unbounded, self.older.changes.len());
        if let Some(hash) = before {
            if let Some(node) = self.recent.get(&hash) {
                end = Bound::Excluded((node.path.clone(), hash));
            } else {
                let row = self.changes.last_of(hash).filter(|row| row.change == ViewChange::Put)?;
                older = row.older?;
                // No recent node comes before it, so the range of recent ones is empty.
                end = Bound::Excluded((NodePath::of(0), 0));
            }
        }
        let recent = self.order.range((Bound::Unbounded, end)).rev();
        let recent = recent.filter_map(|(_, hash)| self.changes.get(self.recent.get(hash)?.change));
        let mut rows = recent.chain(self.older_before(older));
        let mut nodes: Vec<ChangeRow> = rows.by_ref().take(most).collect();
        let has_older = rows.next().is_some();
        nodes.reverse();
        let first = nodes.first().filter(|_| has_older).map(|row| node_id(row.hash));
        Some((nodes.iter().map(|row| self.html(row)).collect(), first))
    }

    /// The older nodes before a position, the last first.
    fn older_before(&self, place: u64) -> impl Iterator<Item = ChangeRow> {
        let rows = self.older.changes.before(place).filter_map(|(_, [change])| self.changes.get(change));
        rows.filter(|row| row.change == ViewChange::Put)
    }

    /// The hash of the node that follows.
    fn next(&self, row: &ChangeRow) -> Option<u64> {
        let next = |from| self.order.range((from, Bound::Unbounded)).next().map(|(_, hash)| *hash);
        match (row.older, self.recent.get(&row.hash)) {
            (Some(older), _) => {
                let rows = older + 1..self.older.changes.len();
                let mut rows = rows.filter_map(|at| self.changes.get(self.older.changes.get(at)?[0]));
                let older = rows.find(|row| row.change == ViewChange::Put).map(|row| row.hash);
                older.or_else(|| next(Bound::Unbounded))
            }
            (None, Some(node)) => next(Bound::Excluded((node.path.clone(), row.hash))),
            (None, None) => None,
        }
    }

    fn html(&self, row: &ChangeRow) -> String {
        let depth = row.depth.min(4);
        let (id, text) = (node_id(row.hash), self.spool.get(row.place).unwrap_or_default());
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

    /// The number of the first change that a reader doesn't have.
    fn next_of(&self, reader: &ReaderPosition) -> u64 {
        reader.next.unwrap_or_else(|| self.changes.behind(reader.last))
    }

    /// The next changes for a reader, up to about `most` bytes.
    pub(super) fn take(&self, reader: &mut ReaderPosition, most: usize) -> Vec<ViewEvent> {
        let mut events = Vec::new();
        let mut bytes = 0;
        let mut pending = self.changes.from(self.next_of(reader)).peekable();
        while let Some((number, row)) = pending.next() {
            let is_last_of_revision = pending
                .peek()
                .map_or(!self.is_growing || self.is_done, |(_, next)| next.revision > row.revision);
            // A reader that is cut off here resumes within the revision.
            let revision = row.revision - u64::from(!is_last_of_revision && row.revision > 0);
            reader.last = reader.last.max(revision);
            reader.next = Some(number + 1);
            let (name, data) = self.spell(&row);
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
            reader.next = Some(self.changes.0.len());
            reader.was_up_to_date = true;
        }
        events
    }

    /// The next lines for a reader of a view of lines, and whether that is the end.
    pub(super) fn take_lines(&self, reader: &mut ReaderPosition, most: usize) -> (Vec<String>, bool) {
        let (mut lines, mut bytes, mut is_done) = (Vec::new(), 0, false);
        let mut pending = self.changes.from(self.next_of(reader)).peekable();
        while bytes <= most
            && let Some((number, row)) = pending.next()
        {
            reader.next = Some(number + 1);
            match row.change {
                ViewChange::Put => {
                    bytes += row.place.length as usize;
                    lines.push(self.spool.get(row.place).unwrap_or_default());
                }
                ViewChange::Done => is_done = true,
                _ => {}
            }
        }
        if pending.peek().is_none() {
            reader.next = Some(self.changes.0.len());
            reader.was_up_to_date = true;
        }
        (lines, is_done)
    }

    /// Whether a reader that was up to date is more than `most` bytes behind, and has been for `patience`: it is asked each time before
    /// something is sent.
    pub(super) fn is_left_behind(
        &self,
        reader: &mut ReaderPosition,
        most: usize,
        patience: Duration,
        now: Instant,
    ) -> bool {
        let mut bytes = 0;
        let is_far = reader.was_up_to_date
            && self.changes.from(self.next_of(reader)).any(|(_, row)| {
                bytes += row.place.length as usize;
                bytes > most
            });
        // What comes at once after a silence is late only if it stays unsent.
        reader.behind_since = is_far.then(|| reader.behind_since.unwrap_or(now));
        reader.behind_since.is_some_and(|since| now.duration_since(since) >= patience)
    }

    fn spell(&self, row: &ChangeRow) -> (&'static str, Value) {
        let id = || node_id(row.hash);
        match row.change {
            ViewChange::Put => {
                let mut data = json!({"v": 1, "id": id(), "html": self.html(row)});
                if let Some(next) = self.next(row) {
                    data["before"] = node_id(next).into();
                }
                ("put", data)
            }
            ViewChange::Drop | ViewChange::Outdated => ("drop", json!({"v": 1, "id": id()})),
            ViewChange::Facts => {
                let ViewEvent { name, data, .. } = self.facts_event();
                (name, data)
            }
            ViewChange::Response => {
                ("response", json!({"v": 1, "html": self.response.as_deref().unwrap_or("")}))
            }
            ViewChange::Done => ("done", json!({"v": 1})),
        }
    }

    /// The facts as they are now.
    pub(super) fn facts_event(&self) -> ViewEvent {
        let data = json!({"v": 1, "status": self.status.map(SessionStatus::name), "html": self.facts()});
        ViewEvent { name: "facts", revision: self.settled(), data }
    }

    /// The HTML of the section of facts.
    pub(super) fn facts(&self) -> String {
        let problem = self.problem.as_ref();
        let problem = problem.map(|problem| format!("<p class=\"problem\" role=\"alert\">{problem}</p>"));
        format!("{}{}<div id=\"overview\">{}</div>", problem.unwrap_or_default(), self.card, self.overview)
    }
}

/// The first byte of the stored HTML of an unfinished node.
pub(super) const OPEN: &str = "o";
/// The first byte of that of a finished one.
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
mod tests;
