//! Decodes the lines of a reply: its text, its thoughts, and the edits in its fences.

use std::mem;

use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Id, Kind, Status};

use super::edits::{EditBlock, EditFence};
use super::{Aider, MOST_EDITS, MOST_TEXT, PROGRAM_LINE, edits, is_rule, line_id, program};

impl Aider {
    pub(super) fn reply_line(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        self.flush(out);
        if let Some(fence) = EditFence::opening(text) {
            return self.fence = Some((line, fence));
        }
        if let Some(kind) = self.heading(text) {
            self.close(out);
            self.open_item(line, kind, out);
            return;
        }
        if edits::path_of(text).is_some() || is_rule(text) {
            return self.hold(line, text, out);
        }
        self.append(line, text, out);
    }

    /// If the line is a heading between a thought and its answer, returns the kind of what follows, and drops the rule above it.
    pub(super) fn heading(&mut self, text: &str) -> Option<Kind> {
        let kind = match text.trim() {
            "► **THINKING**" => Kind::Thinking,
            "► **ANSWER**" => Kind::Reply,
            _ => return None,
        };
        self.held.pop_if(|(_, above)| is_rule(above)).map(|_| kind)
    }

    /// Handles a line in a fence. Nothing is a mark there. But if the person interrupts a reply, its fence stays open: then a line of the
    /// program ends it that no file would contain like this.
    pub(super) fn in_fence(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        let Some((start, fence)) = &mut self.fence else { return };
        let start = *start;
        let is_cut =
            text.strip_prefix("> ").filter(|_| text.ends_with("  ")).is_some_and(program::is_certain);
        if is_cut {
            self.abandon_fence(out);
            return self.of_program(line, text[2..].trim_end(), false, out);
        }
        if !fence.is_closed_by(text) {
            if fence.size() > MOST_TEXT {
                self.abandon_fence(out);
                return self.append(line, text, out);
            }
            return fence.push(text);
        }
        let Some((_, fence)) = self.fence.take() else { return };
        let above = self.held.last().and_then(|(_, line)| edits::path_of(line)).map(str::to_owned);
        match fence.edits(above.as_deref(), &self.edit_format) {
            None => {
                self.fence = Some((start, fence));
                self.abandon_fence(out);
                self.append(line, text, out);
            }
            Some((blocks, takes_path)) => {
                if takes_path {
                    self.held.pop();
                }
                self.close(out);
                for (index, block) in blocks.into_iter().enumerate() {
                    self.edit(start, index, block, out);
                }
            }
        }
    }

    /// Makes the lines of the open fence part of the reply.
    pub(super) fn abandon_fence(&mut self, out: &mut Vec<Event>) {
        let Some((mut line, fence)) = self.fence.take() else { return };
        let mut lines: Vec<&str> = fence.lines().collect();
        // Blank lines of the program before the one that ends a reply that was cut.
        while let Some(last) = lines.pop_if(|line| line.trim().is_empty() || **line == *">   ") {
            if !last.trim().is_empty() {
                out.push(Event::Bookkeeping(PROGRAM_LINE.into()));
            }
        }
        for text in lines {
            self.append(line, text, out);
            line += 1;
        }
    }

    /// Emits the call of an edit.
    pub(super) fn edit(&mut self, line: u64, index: usize, block: EditBlock, out: &mut Vec<Event>) {
        let id = if index > 0 { format!("line-{line}/{index}") } else { format!("line-{line}") };
        let mut call = self.item(Id::from(id), Kind::Call, line);
        let edit = block.apply_to(&mut call);
        if self.edits.len() >= MOST_EDITS {
            self.edits.remove(0);
        }
        self.edits.push(edit);
        out.push(Event::Put(Box::new(call)));
    }

    /// Keeps a line until it is known whether it belongs to the reply.
    pub(super) fn hold(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        if !text.trim().is_empty() && self.held.iter().any(|(_, held)| !held.trim().is_empty())
            || self.held.len() > 64
        {
            self.release(out);
        }
        self.held.push((line, text.to_owned()));
    }

    /// Makes the lines that are held part of the reply.
    pub(super) fn release(&mut self, out: &mut Vec<Event>) {
        for (line, text) in mem::take(&mut self.held) {
            self.append_now(line, &text, out);
        }
    }

    /// Adds a line to the open reply.
    pub(super) fn append(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        self.release(out);
        self.append_now(line, text, out);
    }

    pub(super) fn append_now(&mut self, line: u64, text: &str, out: &mut Vec<Event>) {
        let is_new = self.open.is_none();
        if is_new {
            if text.trim().is_empty() {
                return;
            }
            self.announce(out);
            let kind = if self.prompt.is_command { Kind::Notice } else { Kind::Reply };
            self.open_item(line, kind, out);
        }
        let Some((id, _)) = &self.open else { return };
        let text = if is_new { text.to_owned() } else { ["\n", text].concat() };
        out.push(Event::Append { id: id.clone(), text });
    }

    pub(super) fn open_item(&mut self, line: u64, kind: Kind, out: &mut Vec<Event>) {
        let mut item = self.item(line_id(line), kind, line);
        if kind == Kind::Notice {
            item.data.push(("event", Fact::Text("command-output".into())));
        }
        item.text = Content::Own(String::new());
        self.open = Some((item.id.clone(), kind));
        out.push(Event::Open(Box::new(item)));
    }

    /// Ends the open reply. Blank lines at its end are dropped.
    pub(super) fn close(&mut self, out: &mut Vec<Event>) {
        while self.held.last().is_some_and(|(_, text)| text.trim().is_empty()) {
            self.held.pop();
        }
        self.release(out);
        if let Some((id, _)) = self.open.take() {
            out.push(Event::Close { id, status: Status::Done });
        }
    }
}
