//! A session as its readers see it: the final nodes of the document, and after them those that may still change.
//!
//! Final nodes are only ever added, to a table on the disk. The others are few, and are replaced as a whole. Each change has a number, which
//! orders the events of readers that are connected, and a revision, from which a reader goes on that comes back, even to another process.
//! Nothing is queued for a reader: it takes what came since its last change. A slow reader therefore gets the newest state and costs no
//! memory.
//!
//! A node keeps the revision at which its content came, also if it is final only later: so a reader that has seen it doesn't get it again,
//! even if the whole session is read anew meanwhile.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use streamfmt::writer::html::HtmlRow;

use crate::store::{NodeTable, SessionStatus, StoreError, TableNode};

/// How many points are remembered at which readers may go on. Of more, every second of the older ones is forgotten: a reader then gets
/// some changes again.
const MAX_POINTS: usize = 4_096;
/// How many removed nodes are remembered for readers that come back.
const MAX_DROPPED: usize = 1_024;

/// When something changed last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Change {
    number: u64,
    revision: u64,
    /// The last revision of which a reader has everything when it has the changes before this one.
    complete: u64,
}

impl Change {
    fn of(node: &TableNode) -> Self {
        Self { number: node.change, revision: node.revision, complete: node.complete }
    }
}

/// What readers are told of the state of a session without its view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ViewState {
    /// The number of the last change.
    pub(super) change: u64,
    /// The revision of the last line, or of the end.
    pub(super) revision: u64,
    /// Whether the end of the log was reached once.
    pub(super) is_caught_up: bool,
    /// Whether the session has ended and all of it was read.
    pub(super) is_done: bool,
    /// Whether there is a problem with the log.
    pub(super) has_problem: bool,
}

/// A session as its readers see it.
#[derive(Debug)]
pub(super) struct SessionView {
    nodes: NodeTable,
    /// The nodes that may still change, in document order.
    open: Vec<TableNode>,
    /// The nodes that were removed.
    dropped: VecDeque<(Change, u64)>,
    /// The number of the last change.
    change: u64,
    /// The last complete revision.
    complete: u64,
    /// Changes up to which a revision is complete.
    points: Vec<Change>,
    /// Whether nodes are lines of text, which become HTML only when they are read.
    pub(super) has_lines: bool,
    /// The number of the last applied line.
    pub(super) revision: u64,
    /// Bytes of the log read so far.
    pub(super) read: u64,
    /// Whether the end of the log was reached once.
    pub(super) is_caught_up: bool,
    /// Whether the session has ended and all of it was read.
    pub(super) is_done: bool,
    pub(super) status: SessionStatus,
    /// The card of facts, as HTML.
    pub(super) card: String,
    card_changed: Option<Change>,
    /// The plan, the changed files and the failures, as HTML.
    pub(super) highlights: String,
    /// The reason of a failure, as HTML.
    pub(super) failure: Option<String>,
    /// The timeline and the prompts, as HTML.
    pub(super) overview: String,
    /// The heading of the first session, as HTML.
    pub(super) session: String,
    /// The answer, as HTML.
    pub(super) response: Option<String>,
    response_changed: Option<Change>,
    done: Option<Change>,
    /// A problem with the log, as HTML.
    problem: Option<String>,
}

/// The position of a reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReaderPosition {
    /// The revision that it had when it came.
    since: u64,
    /// The number of the last change that it has, once it got one.
    last: Option<u64>,
    /// The revision of its last event: revisions never decrease.
    revision: u64,
    /// Whether it had every change at some time.
    was_up_to_date: bool,
    /// Since when it has been far behind.
    behind_since: Option<Instant>,
}

impl ReaderPosition {
    /// The position after a revision.
    pub(super) fn at(revision: u64) -> Self {
        Self { since: revision, last: None, revision, was_up_to_date: false, behind_since: None }
    }

    /// The revision after which it lacks changes. What comes once it is up to date is new to it.
    fn lacks_after(&self) -> u64 {
        if self.was_up_to_date { 0 } else { self.since }
    }
}

/// The nodes of a page.
#[derive(Debug, Default)]
pub(super) struct PageNodes {
    /// The HTML of each.
    pub(super) html: Vec<String>,
    /// The id of the first one, if there are more before it.
    pub(super) first: Option<String>,
}

/// An event for a reader.
#[derive(Debug)]
pub(super) struct ViewEvent {
    pub(super) name: &'static str,
    /// The revision that a reader resumes from after this event.
    pub(super) revision: u64,
    pub(super) data: Value,
}

/// Something that a reader lacks.
enum Lacking<'a> {
    Node { before: Option<u64>, after: Option<u64>, node: &'a TableNode },
    Dropped(u64),
    Facts,
    Response,
    Done,
}

impl SessionView {
    /// An empty view. `has_lines`: whether its nodes are lines of text.
    pub(super) fn new(has_lines: bool, status: SessionStatus) -> Result<Self, StoreError> {
        Ok(Self {
            nodes: NodeTable::new()?,
            open: Vec::new(),
            dropped: VecDeque::new(),
            change: 0,
            complete: 0,
            points: Vec::new(),
            has_lines,
            revision: 0,
            read: 0,
            is_caught_up: false,
            is_done: false,
            status,
            card: String::new(),
            card_changed: None,
            highlights: String::new(),
            failure: None,
            overview: String::new(),
            session: String::new(),
            response: None,
            response_changed: None,
            done: None,
            problem: None,
        })
    }

    /// Numbers a change that happens now.
    fn changed(&mut self, revision: u64) -> Change {
        self.change += 1;
        Change { number: self.change, revision, complete: self.complete }
    }

    /// Adds a final node. Rows of entries in it that were shown before are replaced by it.
    pub(super) fn add(&mut self, row: HtmlRow) -> Result<(), StoreError> {
        let ids: Vec<u64> = row.anchors.iter().filter_map(|anchor| node_hash(anchor)).collect();
        let shown = ids.first().and_then(|id| self.open.iter().position(|node| node.id == *id));
        let shown = shown.map(|at| self.open.remove(at));
        self.open.retain(|node| !ids.contains(&node.id));
        let revision = row.revision;
        let node = self.node(row, ids.first().copied(), shown, revision);
        self.nodes.push(&node)
    }

    /// Replaces the nodes that may still change, or were final only in part.
    pub(super) fn set_open(&mut self, rows: Vec<HtmlRow>) {
        let mut before = std::mem::take(&mut self.open);
        for row in rows {
            let id = row.anchors.first().and_then(|anchor| node_hash(anchor));
            let shown = before.iter().position(|node| Some(node.id) == id).map(|at| before.remove(at));
            let revision = row.revision;
            let node = self.node(row, id, shown, revision);
            self.open.push(node);
        }
        for node in before {
            self.drop_node(node.id);
        }
    }

    fn drop_node(&mut self, id: u64) {
        let change = self.changed(self.revision);
        if self.dropped.len() == MAX_DROPPED {
            self.dropped.pop_front();
        }
        self.dropped.push_back((change, id));
    }

    /// Makes a node of a row. If it is `shown` already and doesn't differ, that isn't a change. `revision`: that of its content.
    fn node(
        &mut self,
        row: HtmlRow,
        id: Option<u64>,
        shown: Option<TableNode>,
        revision: Option<u64>,
    ) -> TableNode {
        let HtmlRow { depth, is_open, html, .. } = row;
        let id = id.unwrap_or_else(|| self.nodes.len().wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if let Some(shown) = shown {
            if (&shown.html, shown.is_open, shown.depth) == (&html, is_open, depth) {
                return shown;
            }
            let newer = revision.filter(|revision| *revision > shown.revision);
            let Change { number: change, revision, complete } = self.changed(newer.unwrap_or(self.revision));
            return TableNode { id, change, revision, complete, depth, is_open, html };
        }
        let Change { number: change, revision, complete } = self.changed(revision.unwrap_or(self.revision));
        TableNode { id, change, revision, complete, depth, is_open, html }
    }

    /// Adds a line, of a profile that writes lines.
    pub(super) fn add_line(&mut self, line: &str) -> Result<(), StoreError> {
        let Change { number, revision, complete } = self.changed(self.revision);
        let id = self.nodes.len() + 1;
        let html = line.to_owned();
        self.nodes.push(&TableNode { id, change: number, revision, complete, html, ..TableNode::default() })
    }

    /// Notes that everything up to a revision is shown.
    pub(super) fn complete(&mut self, revision: u64) {
        if revision <= self.complete {
            return;
        }
        self.complete = revision;
        if self.points.last().is_some_and(|last| last.number == self.change) {
            self.points.pop();
        }
        self.points.push(Change { number: self.change, revision, complete: revision });
        if self.points.len() > MAX_POINTS {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at > MAX_POINTS / 2 || at % 2 == 0
            });
        }
    }

    /// Sets the problem with the log. `problem` is HTML.
    pub(super) fn set_problem(&mut self, problem: String) {
        self.problem = Some(problem);
        self.facts_changed();
    }

    /// Sets the card of facts.
    pub(super) fn set_card(&mut self, card: String) {
        self.card = card;
        self.facts_changed();
    }

    fn facts_changed(&mut self) {
        self.card_changed = Some(self.changed(self.revision));
    }

    /// Sets the answer.
    pub(super) fn set_response(&mut self, html: String) {
        self.response = Some(html);
        self.response_changed = Some(self.changed(self.revision));
    }

    /// Marks the session as complete.
    pub(super) fn end(&mut self) {
        self.is_done = true;
        self.is_caught_up = true;
        self.done = Some(self.changed(self.revision));
        self.complete(self.revision);
    }

    /// The last complete revision.
    pub(super) fn settled(&self) -> u64 {
        self.complete
    }

    /// What is told to all readers.
    pub(super) fn state(&self) -> ViewState {
        let Self { change, revision, is_caught_up, is_done, .. } = *self;
        ViewState { change, revision, is_caught_up, is_done, has_problem: self.problem.is_some() }
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> u64 {
        self.nodes.len() + self.open.len() as u64
    }

    /// The last `most` nodes, or the last before a node. `None` if that node doesn't exist.
    pub(super) fn page(&self, before: Option<u64>, most: usize) -> Result<Option<PageNodes>, StoreError> {
        let (mut open, mut end) = (&self.open[..], self.nodes.len() + 1);
        if let Some(id) = before {
            if let Some(at) = open.iter().position(|node| node.id == id) {
                open = &open[..at];
            } else if let Some(place) = self.nodes.place_of(id)? {
                (open, end) = (&[], place);
            } else {
                return Ok(None);
            }
        }
        let open = &open[open.len().saturating_sub(most)..];
        let nodes = self.nodes.before(end, most - open.len())?;
        let left = self.len().min(end - 1 + open.len() as u64) - (nodes.len() + open.len()) as u64;
        let first = nodes.first().or(open.first()).filter(|_| left > 0).map(|node| node_id(node.id));
        let html = nodes.iter().chain(open).map(|node| self.html(node)).collect();
        Ok(Some(PageNodes { html, first }))
    }

    fn html(&self, node: &TableNode) -> String {
        let (id, html) = (node_id(node.id), &node.html);
        if self.has_lines {
            let line = super::html::escaped(html);
            return format!(
                "<div class=\"n\" id=\"{id}\"><div class=\"e line\" data-kind=\"line\" tabindex=\"-1\"><code>{line}</code></div></div>\n"
            );
        }
        let open = if node.is_open { " data-open=\"\"" } else { "" };
        format!("<div class=\"n in-{}\" id=\"{id}\"{open}>{html}</div>\n", node.depth.min(4))
    }

    /// The number of the last change that a reader surely has.
    fn last_of(&self, reader: &ReaderPosition) -> u64 {
        reader.last.unwrap_or_else(|| {
            let known = self.points.partition_point(|point| point.revision <= reader.since);
            known.checked_sub(1).map_or(0, |at| self.points[at].number)
        })
    }

    /// The next changes for a reader, up to about `most` bytes.
    pub(super) fn take(
        &self,
        reader: &mut ReaderPosition,
        most: usize,
    ) -> Result<Vec<ViewEvent>, StoreError> {
        // Until then, nodes are missing that readers may have seen before they were final.
        if !self.is_caught_up {
            return Ok(Vec::new());
        }
        let (last, since) = (self.last_of(reader), reader.lacks_after());
        let nodes = self.nodes.changed(last, since, most)?;
        let bytes: usize = nodes.iter().map(|(_, node)| node.html.len()).sum();
        let end = if bytes > most && nodes.len() > 1 {
            nodes.last().map_or(u64::MAX, |(_, node)| node.change)
        } else {
            u64::MAX
        };
        let mut lacking: Vec<(Change, Lacking<'_>)> = Vec::new();
        for (place, node) in &nodes {
            let before = match self.nodes.id_at(place + 1)? {
                None => self.open.first().map(|node| node.id),
                next => next,
            };
            let after = if *place > 1 { self.nodes.id_at(place - 1)? } else { None };
            lacking.push((Change::of(node), Lacking::Node { before, after, node }));
        }
        let is_lacking = |change: &Change| change.number > last && change.revision > since;
        for (at, node) in self.open.iter().enumerate() {
            let change = Change::of(node);
            if is_lacking(&change) {
                let before = self.open.get(at + 1).map(|node| node.id);
                let after = match at.checked_sub(1) {
                    Some(at) => Some(self.open[at].id),
                    None => self.nodes.id_at(self.nodes.len())?,
                };
                lacking.push((change, Lacking::Node { before, after, node }));
            }
        }
        let dropped = self.dropped.iter().map(|(change, id)| (*change, Lacking::Dropped(*id)));
        lacking.extend(dropped.filter(|(change, _)| is_lacking(change)));
        // The facts also change without a line.
        let facts = self.card_changed.filter(|change| change.number > last);
        lacking.extend(facts.map(|change| (change, Lacking::Facts)));
        let others = [(self.response_changed, Lacking::Response), (self.done, Lacking::Done)];
        let others = others.into_iter().filter_map(|(change, what)| Some((change?, what)));
        lacking.extend(others.filter(|(change, _)| is_lacking(change)));
        lacking.sort_by_key(|(change, _)| change.number);
        let mut events = Vec::new();
        let mut lacking = lacking.into_iter().peekable();
        while let Some((change, what)) = lacking.next_if(|(change, _)| change.number < end) {
            // A reader that is cut off here resumes within the revision.
            let complete = lacking.peek().map_or(self.complete, |(next, _)| next.complete);
            reader.revision = reader.revision.max(complete);
            reader.last = Some(change.number);
            let (name, data) = self.spell(&what);
            events.push(ViewEvent { name, revision: reader.revision, data });
        }
        if lacking.peek().is_none() {
            reader.last = Some(self.change);
            reader.was_up_to_date = true;
        }
        Ok(events)
    }

    /// The next lines for a reader of a view of lines, and whether that is the end.
    pub(super) fn take_lines(
        &self,
        reader: &mut ReaderPosition,
        most: usize,
    ) -> Result<(Vec<String>, bool), StoreError> {
        let nodes = self.nodes.changed(self.last_of(reader), reader.lacks_after(), most)?;
        let bytes: usize = nodes.iter().map(|(_, node)| node.html.len()).sum();
        let is_all = bytes <= most || nodes.len() < 2;
        let last = if is_all { self.change } else { nodes[nodes.len() - 2].1.change };
        let taken = nodes.len() - usize::from(!is_all);
        reader.last = Some(last);
        reader.was_up_to_date |= is_all;
        let lines = nodes.into_iter().take(taken).map(|(_, node)| node.html).collect();
        Ok((lines, is_all && self.is_done))
    }

    /// Whether a reader that was up to date is more than `most` bytes behind, and has been for `patience`: it is asked each time before
    /// something is sent.
    pub(super) fn is_left_behind(
        &self,
        reader: &mut ReaderPosition,
        most: usize,
        patience: Duration,
        now: Instant,
    ) -> Result<bool, StoreError> {
        let is_far = reader.was_up_to_date && self.nodes.are_more(self.last_of(reader), 0, most)?;
        // What comes at once after a silence is late only if it stays unsent.
        reader.behind_since = is_far.then(|| reader.behind_since.unwrap_or(now));
        Ok(reader.behind_since.is_some_and(|since| now.duration_since(since) >= patience))
    }

    fn spell(&self, what: &Lacking<'_>) -> (&'static str, Value) {
        match what {
            Lacking::Node { before, after, node } => {
                let mut data = json!({"v": 1, "id": node_id(node.id), "html": self.html(node)});
                for (name, id) in [("before", before), ("after", after)] {
                    if let Some(id) = id {
                        data[name] = node_id(*id).into();
                    }
                }
                ("put", data)
            }
            Lacking::Dropped(id) => ("drop", json!({"v": 1, "id": node_id(*id)})),
            Lacking::Facts => {
                let ViewEvent { name, data, .. } = self.facts_event();
                (name, data)
            }
            Lacking::Response => {
                ("response", json!({"v": 1, "html": self.response.as_deref().unwrap_or("")}))
            }
            Lacking::Done => ("done", json!({"v": 1})),
        }
    }

    /// The facts as they are now.
    pub(super) fn facts_event(&self) -> ViewEvent {
        let mut data = json!({"v": 1, "status": self.status.name(), "html": self.facts()});
        if let Some(failure) = &self.failure {
            data["failure"] = failure.as_str().into();
        }
        ViewEvent { name: "facts", revision: self.complete, data }
    }

    /// The HTML of the section of facts.
    pub(super) fn facts(&self) -> String {
        let problem = self.problem.as_ref();
        let problem = problem.map(|problem| format!("<p class=\"problem\" role=\"alert\">{problem}</p>"));
        let Self { card, session, highlights, overview, .. } = self;
        format!(
            "{}<div id=\"overview\">{overview}</div>\n<div id=\"side\">{highlights}<h2>Run</h2>{card}{session}</div>",
            problem.unwrap_or_default()
        )
    }
}

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
