//! A short summary of a run in Markdown: the session, the answer, the failures, and the totals.
//!
//! A run of several turns has one summary, with the last answer and the totals of all turns. So all of it is written
//! at the end.

use std::fmt::{self, Write};

use crate::markdown::Markdown;
use crate::page::PageOptions;
use streamfmt_core::clip;
use streamfmt_core::entry::{Entry, text_size};
use streamfmt_core::figures;
use streamfmt_core::item::Kind;
use streamfmt_core::outline::{Answer, Node, Relation};
use streamfmt_core::writer::{Order, Wants, Writer};

/// The most failures that are written; further ones are counted.
const MOST_FAILURES: usize = 10;

/// The most bytes of the answer. Services that show summaries accept a megabyte, and escaping makes a text longer.
const MOST_BYTES: usize = 128 * 1024;

/// The most bytes of a failed call, and of its result.
const MOST_BYTES_OF_FAILURE: usize = 8 * 1024;

/// Writes a summary.
#[derive(Debug)]
pub struct Summary {
    page: Markdown,
    /// The heading of the session.
    header: Option<Node>,
    /// The replies of the last answer.
    answer: Vec<Node>,
    /// Whether a part of the answer is left out.
    is_answer_cut: bool,
    /// The outcome of the last turn.
    outcome: Option<Node>,
    /// The totals of all turns, if there were several.
    totals: Option<Node>,
    /// Failed calls with their results, and failed turns before the last one.
    failures: Vec<Node>,
    /// The number of further failures.
    more_failures: u64,
    /// Whether anything was written.
    is_begun: bool,
    /// The last entry, if it is a call: the next result may belong to it.
    call: Option<Box<Entry>>,
}

impl Default for Summary {
    fn default() -> Self {
        let page = Markdown::new(PageOptions { fold: Some(3), ..PageOptions::default() });
        Self {
            page,
            header: None,
            answer: Vec::new(),
            is_answer_cut: false,
            outcome: None,
            totals: None,
            failures: Vec::new(),
            more_failures: 0,
            is_begun: false,
            call: None,
        }
    }
}

impl Summary {
    /// Adds a failure, with its call if that is known.
    fn failure(&mut self, call: Option<Box<Entry>>, node: &Node) {
        if self.failures.len() >= MOST_FAILURES {
            self.more_failures += 1;
            return;
        }
        let outside = |entry: &Entry| {
            let mut entry = Box::new(Entry { depth: 0, ..entry.clone() });
            clip::clip_bytes(&mut entry.view, MOST_BYTES_OF_FAILURE);
            entry
        };
        let entry = outside(&node.entry);
        self.failures.push(if let Some(call) = call {
            Node { result: Some(entry), ..Node::from(outside(&call)) }
        } else {
            let result = node.result.as_deref().map(outside);
            Node { result, relation: node.relation.clone(), ..Node::from(entry) }
        });
    }

    /// Writes a part of the summary under a heading.
    fn part(&mut self, heading: &str, nodes: &[Node], out: &mut dyn Write) -> fmt::Result {
        self.page.end(out)?;
        let is_begun = std::mem::replace(&mut self.is_begun, true);
        let (before, behind) = if is_begun { ("\n", "") } else { ("", "\n") };
        writeln!(out, "{before}## {heading}{behind}")?;
        nodes.iter().try_for_each(|node| self.page.node(node, out))
    }
}

fn is_failed(entry: &Entry) -> bool {
    entry.kind == Kind::Result && entry.is_failed()
}

impl Writer for Summary {
    fn wants(&self) -> Wants {
        Wants { answer: true, order: Order::Paired, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, _: &mut dyn Write) -> fmt::Result {
        let call = self.call.take();
        match node.entry.kind {
            Kind::Notice if node.entry.view.is_heading() && self.header.is_none() => {
                self.header = Some(node.clone());
            }
            Kind::Notice if node.entry.view.is_totals() => self.totals = Some(node.clone()),
            Kind::Call if node.result.as_deref().is_some_and(is_failed) => {
                self.failure(None, &Node { relation: Relation::Own, ..node.clone() });
            }
            Kind::Call => self.call = Some(node.entry.clone()),
            // A result that doesn't name its call is below it.
            Kind::Result if is_failed(&node.entry) => {
                let call = call.filter(|_| node.relation == Relation::Below);
                self.failure(call, node);
            }
            _ => {}
        }
        Ok(())
    }

    fn answer(&mut self, answer: &Answer, _: &mut dyn Write) -> fmt::Result {
        self.call = None;
        let totals = answer.nodes.iter().rfind(|node| node.entry.view.is_totals());
        if let Some(totals) = totals {
            self.totals = Some(totals.clone());
        }
        let all = || answer.before.iter().chain(&answer.nodes);
        let of = |kind| all().filter(move |node| node.entry.kind == kind).cloned();
        let mut replies: Vec<Node> = of(Kind::Reply).collect();
        let size = |nodes: &[Node]| nodes.iter().map(|node| text_size(&node.entry.view.body)).sum::<usize>();
        let is_cut = size(&replies) > MOST_BYTES;
        while replies.len() > 1 && size(&replies) > MOST_BYTES {
            replies.remove(0);
        }
        if size(&replies) > MOST_BYTES {
            for reply in &mut replies {
                clip::clip_bytes(&mut reply.entry.view, MOST_BYTES);
            }
        }
        if !replies.is_empty() {
            (self.answer, self.is_answer_cut) = (replies, is_cut);
        }
        for outcome in of(Kind::Outcome) {
            let before = self.outcome.replace(outcome);
            if let Some(before) = before.filter(|before| before.entry.is_failed()) {
                self.failure(None, &before);
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        if let Some(header) = &self.header {
            self.page.node(header, out)?;
            self.is_begun = true;
        }
        let (answer, failures) = (std::mem::take(&mut self.answer), std::mem::take(&mut self.failures));
        if !answer.is_empty() {
            self.part("Answer", &answer, out)?;
            if self.is_answer_cut {
                self.page.end(out)?;
                writeln!(out, "\n*A part of the answer is left out here. The main output has all of it.*")?;
            }
        }
        if !failures.is_empty() {
            self.part("Failed", &failures, out)?;
        }
        self.page.end(out)?;
        if self.more_failures > 0 {
            let more = figures::count_of(self.more_failures, "more failure", "more failures");
            writeln!(out, "\n{} left out here", &*more)?;
        }
        // The totals include all figures of a successful last turn.
        let has_more = |node: &&Node| {
            self.totals.is_none() || node.entry.is_failed() || !node.entry.view.body.is_empty()
        };
        if let Some(outcome) = self.outcome.as_ref().filter(has_more) {
            self.page.node(outcome, out)?;
        }
        if let Some(totals) = &self.totals {
            self.page.node(totals, out)?;
        }
        self.page.end(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::entry::{Block, Line, View};
    use streamfmt_core::item::Status;

    fn reply(text: &str) -> Node {
        Node::from(Box::new(Entry::new("a", Kind::Reply, View::of(vec![Block::prose("reply", text)]))))
    }

    fn summary(replies: &[&str]) -> String {
        let (mut writer, mut out) = (Summary::default(), String::new());
        let nodes = replies.iter().map(|text| reply(text)).collect();
        writer
            .answer(&Answer { nodes, before: Vec::new(), turn: 1, is_last: true }, &mut out)
            .expect("written");
        writer.end(&mut out).expect("written");
        out
    }

    #[test]
    fn the_beginning_of_a_long_answer_is_kept() {
        let long = (0..40_000).map(|line| format!("- line {line}\n")).collect::<Vec<_>>().concat();
        let out = summary(&["First.", &long]);
        assert!(out.len() < 1 << 20 && out.contains("- line 0\n") && !out.contains("39999"), "{}", out.len());
        assert!(
            out.contains("lines more*") && out.contains("A part of the answer is left out here."),
            "{out}"
        );
        assert!(!summary(&["First.", "Second."]).contains("left out"));
        assert!(summary(&[&"x".repeat(1 << 20)]).contains("left out here"));
    }

    /// The summary of `count` failed calls, each with a result of `lines` lines.
    fn summary_of_failures(count: usize, lines: usize) -> String {
        let (mut writer, mut out) = (Summary::default(), String::new());
        for number in 0..count {
            let call = Entry::new(format!("c-{number}"), Kind::Call, View::default());
            let text = (0..lines).map(|line| format!("{number}: line {line}\n")).collect::<Vec<_>>().concat();
            let result = View::of(vec![Block::text("result", text.as_str())]);
            let result = Entry { status: Status::Failed, ..Entry::new("r", Kind::Result, result) };
            let node = Node { result: Some(Box::new(result)), ..Node::from(Box::new(call)) };
            writer.node(&node, &mut out).expect("written");
        }
        writer.end(&mut out).expect("written");
        out
    }

    #[test]
    fn failures_beyond_the_limit_are_counted() {
        for (count, more) in [
            (MOST_FAILURES, None),
            (MOST_FAILURES + 1, Some("1 more failure")),
            (13, Some("3 more failures")),
        ] {
            let out = summary_of_failures(count, 1);
            let shown = (0..count).filter(|number| out.contains(&format!("{number}: line 0")));
            assert_eq!(shown.collect::<Vec<_>>(), (0..MOST_FAILURES).collect::<Vec<_>>(), "{out}");
            let left_out = out.lines().find(|line| line.ends_with(" left out here"));
            assert_eq!(left_out, more.map(|more| format!("{more} left out here")).as_deref(), "{out}");
        }
    }

    #[test]
    fn of_a_long_failure_the_beginning_is_kept_and_the_cut_is_visible() {
        let out = summary_of_failures(1, 2_000);
        assert!(out.contains("0: line 0\n") && !out.contains("line 1999"), "{out}");
        assert!(out.len() < 2 * MOST_BYTES_OF_FAILURE && out.contains("lines more"), "{out}");
        let out = summary_of_failures(1, 100);
        assert!(out.contains("line 99") && !out.contains("lines more"), "{out}");
    }

    /// A page without its code, where a mention has no effect.
    fn without_code(page: &str) -> String {
        let mut is_fenced = false;
        let rows = page.lines().filter(|row| {
            let is_fence = row.trim_start_matches(['>', ' ']).starts_with("```");
            is_fenced ^= is_fence;
            !is_fenced && !is_fence
        });
        rows.flat_map(|row| row.split('`').step_by(2).chain(["\n"])).collect()
    }

    #[test]
    fn nobody_is_mentioned_in_any_part() {
        for text in [
            "@ada",
            "cc @org/team",
            "fixes #12",
            "GH-12",
            "!12",
            "- @ada\n- #12",
            "| @ada | #12 |",
            "<b>@ada</b>",
        ] {
            let title =
                || Line::of("tool.name", text.replace('\n', " ")).with("call.arg", text.replace('\n', " "));
            let node = |kind, mark, body| {
                Node::from(Box::new(Entry::new("a", kind, View { mark, title: title(), ..View::of(body) })))
            };
            let (mut writer, mut out) = (Summary::default(), String::new());
            let mut failed = node(Kind::Call, Some("call"), vec![Block::text("call.command", text)]);
            let result = node(Kind::Result, Some("error"), vec![Block::prose("result.error.text", text)]);
            failed.result = Some(result.entry);
            let outcome =
                node(Kind::Outcome, Some("outcome-error"), vec![Block::prose("outcome.text", text)]);
            for node in [node(Kind::Notice, Some("session"), Vec::new()), failed] {
                writer.node(&node, &mut out).expect("written");
            }
            let nodes = vec![
                reply(text),
                reply(&format!("> {text}\n\n**{text}** [{text}](https://host.example/)")),
                outcome,
            ];
            let answer = Answer { nodes, before: Vec::new(), turn: 1, is_last: true };
            writer.answer(&answer, &mut out).expect("written");
            writer.end(&mut out).expect("written");
            let rest = without_code(&out);
            for part in ["Answer", "Failed"] {
                assert!(rest.contains(&format!("## {part}")), "{out}");
            }
            for mention in ["@ada", "@org", "#12", "GH-12", "!12"] {
                assert!(!rest.contains(mention), "{text}: {mention}\n{out}");
            }
        }
    }
}
