//! Decodes the lines of the program: commands, the results of edits, costs, and notices.

use std::mem;

use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, Status};

use crate::facts::leveled;

use super::edits::AwaitedEdit;
use super::program::ProgramLine;
use super::{Aider, CollectedLines, Lines, MOST_TEXT, PROGRAM_LINE, edits, first_line, line_id, program};

impl Aider {
    /// Returns the text of a line of the program. One without two blanks at its end is a quote if it is inside of a reply.
    pub(super) fn program_line<'a>(&self, text: &'a str) -> Option<&'a str> {
        let rest = text.strip_prefix("> ").or_else(|| (text == ">").then_some(""));
        // With both figures of the cache, the cost is on a line of its own without a mark.
        let is_cost = || {
            text.starts_with("Cost: $")
                && matches!(&self.collected, Some(CollectedLines::Program(..)))
                && !self.is_after_blank
        };
        let rest = rest.or_else(|| is_cost().then_some(text))?;
        let is_in_program = self.announced.is_some()
            || matches!(self.collected, Some(CollectedLines::Program(..) | CollectedLines::Report(_)));
        (text.ends_with("  ") || is_cost() || (self.open.is_none() && is_in_program)).then_some(rest)
    }

    /// Handles a line of the program. `goes_on`: whether it goes on in lines without a mark.
    pub(super) fn of_program(&mut self, line: u64, text: &str, goes_on: bool, out: &mut Vec<Event>) {
        if let Some(announced) = &mut self.announced {
            if announced.text.len() < MOST_TEXT {
                announced.push(text);
            }
            return out.push(Event::Bookkeeping("announcement".into()));
        }
        self.close(out);
        let kind = ProgramLine::of(text);
        if let Some(CollectedLines::Report(lines)) = &mut self.collected
            && !kind.ends_report()
        {
            if lines.text.len() < MOST_TEXT {
                lines.push(text);
            }
            return out.push(Event::Bookkeeping("report".into()));
        }
        // Consecutive lines that aren't read any further are one notice.
        if let (Some(CollectedLines::Program(lines, last)), ProgramLine::Other) = (&mut self.collected, &kind)
            && !text.is_empty()
            && lines.text.len() < MOST_TEXT
        {
            *last = goes_on;
            lines.push(text);
            return out.push(Event::Bookkeeping(PROGRAM_LINE.into()));
        }
        self.flush(out);
        match kind {
            ProgramLine::Blank => out.push(Event::Bookkeeping(PROGRAM_LINE.into())),
            ProgramLine::Other => {
                let lines = Lines { line, text: text.to_owned() };
                self.collected = Some(CollectedLines::Program(lines, goes_on));
            }
            ProgramLine::FailedEdits => {
                self.collected = Some(CollectedLines::Report(Lines { line, text: text.to_owned() }));
            }
            ProgramLine::Applied(path) => self.settle(path, line, None, out),
            ProgramLine::NotApplied(path) => self.settle(path, line, Some(text), out),
            ProgramLine::Tokens(usage) => {
                self.used[0] = usage;
                let message = Id::from(format!("line-{}/message", self.prompt.line));
                out.push(Event::Usage { message, usage, details: None });
                self.cost(text);
                // The cost may be on the next line, without a mark.
                self.collected = Some(CollectedLines::Program(Lines { line, text: text.to_owned() }, false));
            }
            ProgramLine::Cost => {
                self.cost(text);
                self.put_minor("info", line, text, out);
            }
            ProgramLine::Command(command) => self.command(line, command, out),
            ProgramLine::Commit => self.put_notice("info", line, text, out),
            ProgramLine::Interrupt => self.put_notice("interrupt", line, text, out),
            ProgramLine::Retry(delay_ms) => {
                let mut notice = self.notice("retry", line);
                notice.text = Content::Own(text.to_owned());
                notice.data.extend(delay_ms.map(|delay| ("delay_ms", Fact::Float(delay))));
                out.push(Event::Put(Box::new(notice)));
            }
            ProgramLine::Failure => {
                let mut notice = self.notice("info", line);
                notice.text = Content::Own(text.to_owned());
                out.push(Event::Put(Box::new(leveled(notice, "warning"))));
            }
        }
    }

    /// Reads the session's cost.
    pub(super) fn cost(&mut self, text: &str) {
        self.cost[0] = program::session_cost(text).unwrap_or(self.cost[0]);
    }

    /// Emits a command that was run. Its output isn't in the history.
    pub(super) fn command(&mut self, line: u64, command: &str, out: &mut Vec<Event>) {
        let mut call = self.item(line_id(line), Kind::Call, line);
        edits::set_command(&mut call, command);
        let mut result = self.result_of(&call.id, "run", line);
        result.tool_kind = call.tool_kind;
        result.data.push(("note", Fact::Text("the history doesn't contain its output".to_owned())));
        out.extend([call, result].map(|item| Event::Put(Box::new(item))));
    }

    /// Emits the results of a file's edits. `refused`: the line that reports that they weren't applied.
    pub(super) fn settle(&mut self, path: &str, line: u64, refused: Option<&str>, out: &mut Vec<Event>) {
        let (settled, left) = mem::take(&mut self.edits).into_iter().partition(|edit| edit.is_of(path));
        self.edits = left;
        for edit in settled {
            let mut result = self.result_of_edit(&edit, line);
            result.text = refused.map_or(Content::None, |text| Content::Own(text.to_owned()));
            result.data.push(("success", Fact::Bool(refused.is_none())));
            out.push(Event::Put(Box::new(result)));
        }
    }

    /// Emits the results of the edits that a report names.
    pub(super) fn settle_failed(&mut self, report: Lines, out: &mut Vec<Event>) {
        let is_one = |edit: &AwaitedEdit| edit.is_in(&report.text);
        let (failed, left): (Vec<_>, _) = mem::take(&mut self.edits).into_iter().partition(is_one);
        self.edits = left;
        if failed.is_empty() {
            let mut notice = self.notice("info", report.line);
            notice.text = Content::Own(report.text);
            out.push(Event::Put(Box::new(leveled(notice, "warning"))));
            return;
        }
        for (index, edit) in failed.into_iter().enumerate() {
            let mut result = self.result_of_edit(&edit, report.line);
            (result.status, result.error) = (Status::Failed, true);
            // The report is one for all of them.
            let text = if index == 0 { report.text.clone() } else { first_line(&report.text).to_owned() };
            result.text = Content::Own(text);
            out.push(Event::Put(Box::new(result)));
        }
    }

    pub(super) fn result_of_edit(&self, edit: &AwaitedEdit, line: u64) -> Item {
        Item { tool_kind: Some(edit.tool_kind), ..self.result_of(&edit.call, edit.tool(), line) }
    }

    pub(super) fn result_of(&self, call: &Id, tool: &str, line: u64) -> Item {
        let mut result = self.item(Id::below(call.as_str(), "result"), Kind::Result, line);
        result.call = Some(call.clone());
        result.tool = Some(tool.into());
        result
    }
}
