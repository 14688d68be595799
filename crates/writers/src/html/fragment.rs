//! The parts of a page that grows while it is shown.
//!
//! The page of a file is written once, from top to bottom. Here the same writer writes each part of the activity as a row of its own: an
//! entry, the fold of a sub-agent, the fold of several notices. All rows together hold the texts of the file's activity, in its order, and
//! those of the answer where they were said: a reader who follows them doesn't lose them at the end.

use super::out::{HtmlOut, written};
use super::{Html, SCRIPT, STYLE, block, prose, row};
use crate::page::{self, PageOptions};
use streamfmt_core::entry::{Block, Entry, Line, Role};
use streamfmt_core::item::{Id, Kind, Status};
use streamfmt_core::outline::{Answer, DocumentHead, DocumentPart, Nest, Node};
use streamfmt_core::text::Text;
use streamfmt_core::writer::{Wants, Writer};

use super::contents::Contents;
use super::highlights::Highlights;
use super::raw_lines::short_line;

/// The most bytes of the fold of a sub-agent. A longer one continues in another row.
const MAX_NEST: usize = 1 << 20;

/// Writes the rows of a page, and collects what is shown above them.
#[derive(Debug, Default)]
pub struct HtmlFragments {
    page: Html,
    contents: Contents,
    highlights: Highlights,
    /// The fold that is being written, with the anchors of the entries in it.
    nest: Option<HtmlRow>,
    /// The titles of the open folds, the outermost first.
    titles: Vec<String>,
    /// The heading of the first session.
    session: Option<Box<Entry>>,
    answer: Option<Answer>,
    /// The number of turns that have ended.
    turns: usize,
    /// The title of a failed notice that nothing followed.
    last_failure: Option<Line>,
}

/// A row of the activity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtmlRow {
    /// The anchors of the entries in it, each the id of an element. The first one identifies the row.
    pub anchors: Vec<String>,
    /// How many calls it is inside of.
    pub depth: u8,
    /// The revision at which its content last changed, if that is known: of a single entry.
    pub revision: Option<u64>,
    /// Whether it may still change: its item grows, or is a call without a result.
    pub is_open: bool,
    /// The HTML.
    pub html: String,
}

impl HtmlFragments {
    /// The style of every page.
    pub const STYLE: &'static str = STYLE;

    /// The script of every page. A page that has grown sends the event `grown` to its document.
    pub const SCRIPT: &'static str = SCRIPT;

    /// Creates a writer for parts of a page with this layout.
    pub fn new(options: PageOptions) -> Self {
        let page = Html { opens_waiting: true, ..Html::new(options) };
        Self { page, ..Self::default() }
    }

    /// How the document must be arranged: as for a page in a file.
    pub fn wants() -> Wants {
        Html::default().wants()
    }

    /// Returns the anchor of an entry, which is the same in every page.
    pub fn anchor(id: &Id) -> String {
        page::anchor(id.as_str())
    }

    /// Writes the next part of the document, and appends the rows that it completes to `rows`.
    pub fn part(&mut self, part: &DocumentPart, rows: &mut Vec<HtmlRow>) {
        let is_first = !std::mem::replace(&mut self.page.is_begun, true);
        match part {
            DocumentPart::Node(node) => {
                self.note(node);
                if is_first && node.entry.view.is_heading() {
                    self.session = Some(node.entry.clone());
                } else {
                    self.add(row_of(&self.page, node), rows);
                }
            }
            DocumentPart::Enter(nest) => self.enter(nest, rows),
            DocumentPart::Leave => self.leave(rows),
            DocumentPart::Notices(nodes) => {
                for node in nodes {
                    self.note(node);
                }
                let html = written(|out| self.page.notices_row(nodes, out));
                let anchors = nodes.iter().map(|node| Self::anchor(&node.entry.id)).collect();
                self.add(HtmlRow { anchors, depth: depth(&nodes[0]), html, ..HtmlRow::default() }, rows);
            }
            DocumentPart::Answer(answer) => self.answer_part(answer, rows),
        }
    }

    fn answer_part(&mut self, answer: &Answer, rows: &mut Vec<HtmlRow>) {
        self.turns = answer.turn;
        for node in &answer.nodes {
            self.note(node);
        }
        // The last outcome is part of the answer alone. The replies stay where the reader has seen them.
        let is_above = |node: &Node| answer.is_last && node.is_of_answer() && !is_reply(node);
        for node in answer.nodes.iter().filter(|node| !is_above(node)) {
            let mut row = row_of(&self.page, node);
            if node.entry.kind == Kind::Outcome {
                row.html = written(|out| self.page.turn_end(&node.entry, answer.turn, out));
                row.revision = None;
            }
            self.add(row, rows);
        }
        if answer.is_last {
            self.answer = Some(answer.clone());
        }
    }

    /// Adds a row, or puts it into the fold that is being written.
    fn add(&mut self, row: HtmlRow, rows: &mut Vec<HtmlRow>) {
        let Some(nest) = &mut self.nest else { return rows.push(row) };
        nest.html.push_str(&row.html);
        nest.anchors.extend(row.anchors);
        if nest.html.len() <= MAX_NEST {
            return;
        }
        // The folds are closed, and opened again in the next row.
        for _ in &self.titles {
            nest.html.push_str("</div></details>\n");
        }
        let html = written(|out| self.titles.iter().for_each(|title| continue_fold(title, out)));
        let continued = HtmlRow { depth: nest.depth, html, ..HtmlRow::default() };
        rows.extend(self.nest.replace(continued));
    }

    fn enter(&mut self, nest: &Nest, rows: &mut Vec<HtmlRow>) {
        let title = nest.title.as_ref().map(super::session_title).unwrap_or_default();
        self.titles.push(title);
        let html = written(|out| self.page.enter_nest(nest, out));
        let mut row = HtmlRow { html, ..HtmlRow::default() };
        if let Some(node) = &nest.node {
            row.anchors.extend(node.entries().map(|entry| Self::anchor(&entry.id)));
            row.depth = depth(node);
        }
        if self.nest.is_none() {
            self.nest = Some(row);
        } else {
            self.add(row, rows);
        }
    }

    fn leave(&mut self, rows: &mut Vec<HtmlRow>) {
        self.titles.pop();
        let html = written(|out| self.page.leave_nest(out));
        let Some(nest) = &mut self.nest else { return };
        nest.html.push_str(&html);
        if self.titles.is_empty() {
            rows.extend(self.nest.take());
        }
    }

    /// Adds an entry to the timeline and the contents.
    fn note(&mut self, node: &Node) {
        for entry in node.entries() {
            self.page.timeline.note(entry);
            self.contents.note(entry);
            self.highlights.note(entry);
            match entry.kind {
                Kind::Notice if entry.is_failed() => self.last_failure = Some(entry.view.title.clone()),
                Kind::Prompt | Kind::Reply | Kind::Thinking | Kind::Call => self.last_failure = None,
                _ => {}
            }
        }
    }

    /// Returns the row of a node that isn't final.
    pub fn open_row(&self, node: &Node) -> HtmlRow {
        let Entry { kind, status, .. } = *node.entry;
        let is_running = kind == Kind::Call && node.result.is_none() && status != Status::Cancelled;
        let mut row = row_of(&self.page, node);
        if kind == Kind::Outcome {
            // Another turn may follow.
            row.html = written(|out| self.page.turn_end(&node.entry, self.turns + 1, out));
        }
        HtmlRow { is_open: is_running || status == Status::Open, ..row }
    }

    /// Returns the heading of the first session, folded; empty if there is none.
    pub fn session(&self) -> String {
        let Some(entry) = &self.session else { return String::new() };
        written(|out| self.page.session_fold(entry, out))
    }

    /// Returns what stands beside the activity: the plan, the changed files, the failures.
    pub fn highlights(&self) -> String {
        written(|out| self.highlights.write(&self.page.options, out))
    }

    /// Returns the reason of the last outcome, if that is a failure. Without an outcome, it is the failure after which nothing came.
    pub fn failure(&self) -> Option<String> {
        let outcome =
            self.answer.iter().flat_map(|answer| &answer.nodes).find(|node| node.entry.kind == Kind::Outcome);
        let Some(outcome) = outcome else {
            return self.last_failure.as_ref().map(|title| written(|out| block::line(out, title)));
        };
        let entry = Some(&outcome.entry).filter(|entry| entry.is_failed())?;
        Some(written(|out| {
            // Without the figures, which the answer has.
            let error = Role::of("outcome.error");
            let mut reason = Line::default();
            for span in entry.view.title.spans().filter(|span| span.role == error) {
                reason.attach_span(span);
            }
            block::line(out, if reason.is_empty() { &entry.view.title } else { &reason });
            let is_reason = |line: &&Line| line.roles().all(|role| role == error);
            let lines = entry.view.body.iter().filter_map(|block| match block {
                Block::Lines { lines } => Some(lines),
                _ => None,
            });
            for line in lines.flatten().filter(is_reason) {
                out.raw(" ");
                block::line(out, line);
            }
        }))
    }

    /// Returns the answer and the outcome, once the document has ended, without what equals the title of the page. `None` if there is none.
    /// Headings keep their levels.
    pub fn answer(&self, title: &str) -> Option<String> {
        let answer = self.answer.as_ref()?;
        let page = Html { keeps_levels: true, ..Html::new(self.page.options.clone()) };
        let html = written(|out| page.answer_body(answer, title, out));
        // The elements of these ids are in the activity. No text contains a quotation mark.
        Some(html.replace(" id=\"e-", " data-entry=\"e-"))
    }

    /// Returns the HTML of separate Markdown, whose headings keep their levels.
    pub fn prose(text: &Text) -> String {
        written(|out| prose::write_alone(out, text))
    }

    /// Returns the timeline, and the prompts; empty if there is nothing to draw. `duration_ms` and `cost`: the
    /// figures of the run that the page shows elsewhere, if any, so that the timeline shows the same.
    pub fn overview(&self, duration_ms: Option<u64>, cost: Option<f64>) -> String {
        let head = DocumentHead { duration_ms, cost, ..DocumentHead::default() };
        written(|out| {
            self.page.timeline.write(Some(&head), out);
            self.contents.write(out);
        })
    }

    /// Escapes clean text for the content of an element or for an attribute in double quotes.
    pub fn escaped(text: &str) -> String {
        written(|out| out.text(text))
    }
}

fn row_of(page: &Html, node: &Node) -> HtmlRow {
    HtmlRow {
        anchors: node.entries().map(|entry| page::anchor(entry.id.as_str())).collect(),
        depth: depth(node),
        revision: Some(node.revision),
        is_open: false,
        html: written(|out| match short_line(node) {
            // It stands with others there, whose spaces before the text mean something.
            Some(text) if text.starts_with(char::is_whitespace) => {
                page.raw_line_alone(&node.entry, text, out);
            }
            _ => page.write(node, out),
        }),
    }
}

fn is_reply(node: &Node) -> bool {
    node.entry.kind == Kind::Reply || node.entry.is_in_tree()
}

fn depth(node: &Node) -> u8 {
    u8::try_from(node.entry.depth).unwrap_or(u8::MAX)
}

fn continue_fold(title: &str, out: &mut HtmlOut<'_>) {
    out.raw("<details class=\"inside\"><summary>");
    row::mark(None, out);
    out.within(
        "<span class=\"t\">",
        title,
        " <span class=\"dim\">(continued)</span></span></summary><div>\n",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::entry::View;
    use streamfmt_core::item::{Waiting, WaitsFor};

    fn reply(id: &str) -> Entry {
        let view = View::of(vec![Block::prose("reply", Text::clean("**a** <b>"))]);
        Entry::new(id, Kind::Reply, view)
    }

    #[test]
    fn a_row_is_the_entry_as_it_is_in_a_page_and_text_means_nothing() {
        let entry = reply("m/0");
        let anchor = HtmlFragments::anchor(&entry.id);
        let (mut page, mut rows) = (HtmlFragments::default(), Vec::new());
        page.part(&DocumentPart::Node(Node::from(entry)), &mut rows);
        let [HtmlRow { html, anchors, depth: 0, revision: Some(0), is_open: false }] = &rows[..] else {
            panic!("{rows:?}");
        };
        assert_eq!(anchors, std::slice::from_ref(&anchor));
        assert!(html.starts_with(&format!("<div class=\"e reply\" id=\"{anchor}\"")), "{html}");
        assert!(html.contains("<strong>a</strong> &lt;b&gt;"), "{html}");
        assert_eq!(HtmlFragments::escaped("<a b=\"'&"), "&lt;a b=&quot;&#39;&amp;");
        assert_eq!(HtmlFragments::default().overview(None, None), "");
        let prose = HtmlFragments::prose(&Text::clean("# One\n\n#### Four"));
        assert!(prose.contains("<h1>One</h1>") && prose.contains("<h4>Four</h4>"), "{prose}");
    }

    #[test]
    fn a_waiting_call_is_unfolded_and_an_outcome_that_may_not_be_the_last_is_a_rule() {
        let page = HtmlFragments::new(PageOptions::default());
        let mut call = Entry { kind: Kind::Call, ..reply("call") };
        assert!(!page.open_row(&Node::from(call.clone())).html.contains("<details open>"));
        call.waiting = Some(Waiting { waits_for: WaitsFor::Answer, since: None });
        let row = page.open_row(&Node::from(call));
        assert!(row.is_open && row.html.contains("<details open>"), "{row:?}");
        let outcome = page.open_row(&Node::from(Entry { kind: Kind::Outcome, ..reply("end") }));
        assert!(outcome.html.contains("turn 1") && !outcome.html.contains("<details open>"), "{outcome:?}");
    }

    #[test]
    fn a_session_without_an_outcome_failed_for_the_notice_that_nothing_followed() {
        let mut page = HtmlFragments::default();
        let title = Line::of("notice.error", "no <result>");
        let view = View { title, ..View::default() };
        let notice = Entry { status: Status::Failed, ..Entry::new("n", Kind::Notice, view) };
        for (entry, failure) in [
            (notice.clone(), Some("<span class=\"bad\">no &lt;result&gt;</span>")),
            (reply("r"), None),
            (notice, Some("<span class=\"bad\">no &lt;result&gt;</span>")),
        ] {
            page.part(&DocumentPart::Node(Node::from(entry)), &mut Vec::new());
            assert_eq!(page.failure().as_deref(), failure);
        }
    }

    #[test]
    fn a_long_fold_continues_in_another_row_and_nothing_is_lost() {
        let (mut page, mut rows) = (HtmlFragments::default(), Vec::new());
        let title = Some(Line::of("text", "<outer>"));
        let enter = |call: &str| {
            DocumentPart::Enter(Nest { call: Some(call.into()), title: title.clone(), node: None })
        };
        page.part(&enter("one"), &mut rows);
        page.part(&enter("two"), &mut rows);
        let size = {
            let mut alone = Vec::new();
            HtmlFragments::default().part(&DocumentPart::Node(Node::from(reply("r-100000"))), &mut alone);
            alone[0].html.len()
        };
        let count = MAX_NEST / size + 10;
        for number in 0..count {
            page.part(&DocumentPart::Node(Node::from(reply(&format!("r-{}", 100_000 + number)))), &mut rows);
        }
        assert_eq!(rows.len(), 1, "the first row is full");
        page.part(&DocumentPart::Leave, &mut rows);
        assert_eq!(rows.len(), 1, "the outer fold isn't over");
        page.part(&DocumentPart::Leave, &mut rows);
        assert_eq!(rows.iter().map(|row| row.anchors.len()).sum::<usize>(), count);
        for row in &rows {
            assert_eq!(row.html.matches("<details").count(), row.html.matches("</details>").count());
            assert_eq!(row.html.matches("<div").count(), row.html.matches("</div>").count());
            assert_eq!(row.html.matches("&lt;outer&gt;").count(), 2);
        }
        page.part(&DocumentPart::Node(Node::from(reply("after"))), &mut rows);
        assert_eq!(rows.len(), 3);
    }
}
