//! What stands beside the activity of a page that grows: the plan, the files that were changed, and the calls that failed.

use indexmap::IndexMap;

use super::block::HtmlBlocks;
use super::contents::changed;
use super::out::HtmlOut;
use super::row::clipped;
use super::session_title;
use crate::page::{self, PageOptions};
use streamfmt_core::bounded::Bounded;
use streamfmt_core::entry::{Block, Entry, Role};
use streamfmt_core::figures;
use streamfmt_core::item::{Action, Id, Kind};

/// The most files and the most failures that are listed.
const MAX_ROWS: usize = 100;
/// The most calls that wait for their results.
const MAX_CALLS: usize = 512;
/// The longest title of a failure, in characters.
const MAX_TITLE: usize = 120;

/// Collects them.
#[derive(Debug, Default)]
pub(super) struct Highlights {
    plan: Vec<Block>,
    files: IndexMap<String, ChangedFile>,
    other_files: bool,
    failures: Vec<(String, String)>,
    failed: u64,
    /// The calls without a result.
    calls: Bounded<Id, RunningCall>,
}

#[derive(Debug, Default)]
struct ChangedFile {
    /// The anchor of the last call that changed it.
    anchor: String,
    added: u64,
    removed: u64,
}

#[derive(Debug)]
struct RunningCall {
    title: String,
    /// The file that it changes.
    path: Option<String>,
}

impl Highlights {
    /// Adds an entry.
    pub(super) fn note(&mut self, entry: &Entry) {
        match (entry.kind, &entry.call) {
            (Kind::Plan, _) => self.plan.clone_from(&entry.view.body),
            (Kind::Call, _) => self.call(entry),
            (Kind::Result, Some(call)) => {
                if let Some(known) = self.calls.shift_remove(call) {
                    self.result(call, entry, known);
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, entry: &Entry) {
        let is_change = matches!(entry.action, Some(Action::Write | Action::Edit));
        let mut spans = entry.view.title.spans();
        let path = spans.find(|span| is_change && span.role == Role::of("call.arg"));
        let title = clipped(&session_title(&entry.view.title), MAX_TITLE);
        let path = path.map(|span| span.text().trim().to_owned()).filter(|path| !path.is_empty());
        self.calls.add(entry.id.clone(), RunningCall { title, path }, MAX_CALLS);
    }

    fn result(&mut self, call: &Id, result: &Entry, RunningCall { title, path }: RunningCall) {
        let anchor = page::anchor(call.as_str());
        if result.is_failed() {
            self.failed += 1;
            if self.failures.len() < MAX_ROWS {
                self.failures.push((anchor, title));
            }
            return;
        }
        let Some(path) = path else { return };
        if self.files.len() >= MAX_ROWS && !self.files.contains_key(&path) {
            self.other_files = true;
            return;
        }
        let file = self.files.entry(path).or_default();
        file.anchor = anchor;
        file.added += changed(&result.view.title, "change.add".into());
        file.removed += changed(&result.view.title, "change.remove".into());
    }

    /// Writes those that there are.
    pub(super) fn write(&self, options: &PageOptions, out: &mut HtmlOut<'_>) {
        if !self.plan.is_empty() {
            out.raw("<section class=\"plan\"><h2>Plan</h2>");
            HtmlBlocks { out, options, keeps_levels: false }.blocks(&self.plan);
            out.raw("</section>\n");
        }
        if !self.files.is_empty() {
            let more = if self.other_files { " or more" } else { "" };
            let number = figures::count(self.files.len() as u64);
            out.raw_parts(&["<section class=\"files\"><h2>Files changed ", &number, more, "</h2><ul>"]);
            for (path, file) in &self.files {
                out.raw_parts(&["<li><a href=\"#", &file.anchor, "\">"]);
                out.within("<code>", path, "</code></a>");
                for (class, sign, number) in [("add", "+", file.added), ("rem", "−", file.removed)] {
                    if number > 0 {
                        let number = figures::count(number);
                        out.raw_parts(&[" <span class=\"", class, "\">", sign, &number, "</span>"]);
                    }
                }
                out.raw("</li>\n");
            }
            out.raw("</ul></section>\n");
        }
        if self.failed > 0 {
            let failed = figures::count(self.failed);
            out.raw_parts(&["<section class=\"failures\"><h2>Failures ", &failed, "</h2><ul>"]);
            for (anchor, title) in &self.failures {
                out.raw_parts(&["<li><a href=\"#", anchor, "\">"]);
                out.within("", title, "</a></li>\n");
            }
            out.raw("</ul></section>\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::out::written;
    use streamfmt_core::entry::{Line, View};
    use streamfmt_core::item::Status;

    fn call(id: &str, action: Action, path: &str) -> Entry {
        let title = Line::of("tool.name", "Edit").with("call.arg", path);
        Entry { action: Some(action), ..Entry::new(id, Kind::Call, View { title, ..View::default() }) }
    }

    fn result(call: &str, status: Status, title: Line) -> Entry {
        let view = View { title, ..View::default() };
        Entry { call: Some(call.into()), status, ..Entry::new(format!("{call}/r"), Kind::Result, view) }
    }

    #[test]
    fn files_and_failures_are_counted_and_limited() {
        let mut all = Highlights::default();
        let change = || Line::of("change.add", "+2").with("change.remove", "−1");
        for number in 0..MAX_ROWS + 2 {
            for (kind, status) in [("a", Status::Done), ("b", Status::Failed)] {
                let id = format!("{kind}{number}");
                all.note(&call(&id, Action::Edit, &format!("{number}.rs")));
                all.note(&result(&id, status, change()));
            }
        }
        all.note(&call("again", Action::Write, "0.rs"));
        all.note(&result("again", Status::Done, change()));
        all.note(&call("read", Action::Read, "read.rs"));
        all.note(&result("read", Status::Done, Line::default()));
        assert!(all.calls.is_empty());
        let html = written(|out| all.write(&PageOptions::default(), out));
        assert!(html.contains("Files changed 100 or more") && html.contains("Failures 102"), "{html}");
        assert_eq!(html.matches("<li>").count(), 2 * MAX_ROWS);
        let first =
            format!("#{}\"><code>0.rs</code></a> <span class=\"add\">+4</span>", page::anchor("again"));
        assert!(html.contains(&first) && !html.contains("read.rs"), "{html}");
        for number in 0..=MAX_CALLS {
            all.note(&call(&format!("open{number}"), Action::Run, ""));
        }
        assert!(all.calls.len() <= MAX_CALLS);
    }
}
