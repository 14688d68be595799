//! Changes that name their files: one call may change several. Formats the calls and their results.

use super::CallContext;
use crate::context::ItemContext;
use crate::file_diff::FileDiff;
use crate::generic::is_short;
use streamfmt_core::entry::{Block, Line};
use streamfmt_core::figures;
use streamfmt_core::item::FactRef;
use streamfmt_core::text::Text;

/// Changes that name their files, in the order of the stream.
pub(crate) struct ChangedFiles<'a>(Vec<FileChange<'a>>);

/// The change of one file.
struct FileChange<'a> {
    change: FactRef<'a>,
    path: Text,
    kind: FileChangeKind,
    /// The new path of a file that is moved.
    to: Option<Text>,
}

/// The kind of a file's change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileChangeKind {
    Add,
    Update,
    Delete,
}

/// The known parts of a change.
const PARTS: [&str; 8] = ["path", "kind", "to", "diff", "patch", "old", "new", "content"];

/// The parts that hold a change of the content.
const CHANGE: [&str; 5] = ["diff", "patch", "old", "new", "content"];

impl<'a> ChangedFiles<'a> {
    /// Reads changes; `None` unless all of them name a file.
    pub(crate) fn of(changes: FactRef<'a>, context: ItemContext<'_>) -> Option<Self> {
        let file = |change: FactRef<'a>| {
            let path = context.path(change.text_at("path")?);
            let kind = match change.get("kind").and_then(FactRef::str).as_deref() {
                Some("add") => FileChangeKind::Add,
                Some("delete") => FileChangeKind::Delete,
                _ => FileChangeKind::Update,
            };
            let to = change.text_at("to").map(|path| context.path(path));
            Some(FileChange { change, path, kind, to })
        };
        let files: Option<Vec<_>> = changes.list().into_iter().map(file).collect();
        files.filter(|files| !files.is_empty()).map(Self)
    }

    /// Whether any file has a change of its content.
    fn has_changes(&self) -> bool {
        self.0.iter().any(FileChange::has_change)
    }

    /// Shows the call: the file, or the number of files; in full, their changes. `None` if one of these can't be read.
    pub(crate) fn call(&self, call: &mut CallContext<'_>) -> Option<()> {
        if let [only] = &self.0[..] {
            call.show("call.arg", only.path.clone());
            only.mark("call.detail", &mut call.title);
        } else {
            call.show("call.arg", figures::count_of(self.0.len() as u64, "file", "files"));
        }
        if call.shows_content() {
            return self.call_in_full(call);
        }
        if self.0.len() > 1 {
            self.show_names(call);
        }
        Some(())
    }

    /// Shows the names of several files: in the title, or below it if they are too many, or if the result won't show the kinds of their
    /// changes.
    fn show_names(&self, call: &mut CallContext<'_>) {
        let has_changes = self.has_changes();
        let names = self.names().filter(|_| has_changes || !self.0.iter().any(FileChange::is_marked));
        match names {
            Some(names) => call.show("call.detail", names),
            None if has_changes => {}
            None => call.body.push(Block::Lines { lines: self.lines("call.arg", "call.detail") }),
        }
    }

    /// Shows the changes of all files. `None` if one of them can't be read.
    fn call_in_full(&self, call: &mut CallContext<'_>) -> Option<()> {
        let is_only = self.0.len() == 1;
        for file in &self.0 {
            let changes = file.changes();
            if changes.is_none() && file.has_change() && call.growing.is_none() {
                return None;
            }
            if !is_only {
                let line = file.line("call.arg", "call.detail", changes.as_ref());
                call.body.push(Block::line(line));
            }
            call.body.extend(changes.and_then(|changes| changes.block(Some(file.path.clone()))));
        }
        Some(())
    }

    /// Whether the changes have no parts that [`Self::call`] leaves out.
    pub(crate) fn is_all_known(&self) -> bool {
        self.0.iter().all(|file| file.change.has_only(&PARTS))
    }

    /// Shows the result: `+2 −1` in the title, each file with its changes below. `None` if no file has known changes.
    pub(crate) fn result(&self, title: &mut Line, body: &mut Vec<Block>) -> Option<()> {
        let all: Vec<_> = self.0.iter().map(|file| (file, file.changes())).collect();
        if all.iter().all(|(_, changes)| changes.is_none()) {
            return None;
        }
        let is_only = all.len() == 1;
        let mut sum = FileDiff::default();
        for (file, changes) in &all {
            if let Some(changes) = changes {
                sum.count(changes);
            }
            if is_only {
                file.push_result(title, changes.as_ref());
            }
        }
        if !is_only {
            sum.push_counts(title);
        }
        for (file, changes) in all {
            if !is_only {
                body.push(Block::line(file.line("result.file", "result.note", changes.as_ref())));
            }
            body.extend(changes.and_then(|changes| changes.block(Some(file.path.clone()))));
        }
        Some(())
    }

    /// Returns a line for each file, with the kind of its change.
    pub(crate) fn lines(&self, role: &'static str, detail: &'static str) -> Vec<Line> {
        self.0.iter().map(|file| file.line(role, detail, None)).collect()
    }

    /// Returns the names of the files, `(a.rs, b.rs)`, if that is short.
    fn names(&self) -> Option<Text> {
        let mut names = String::from("(");
        for file in &self.0 {
            let comma = if names.len() > 1 { ", " } else { "" };
            names.extend([comma, &*file.path]);
            if !is_short(&names) {
                return None;
            }
        }
        names.push(')');
        Some(Text::clean_owned(names))
    }
}

impl FileChange<'_> {
    fn has_change(&self) -> bool {
        CHANGE.iter().any(|name| self.change.get(name).is_some())
    }

    /// Whether it has a [`mark`](Self::mark).
    fn is_marked(&self) -> bool {
        self.kind != FileChangeKind::Update || self.to.is_some()
    }

    /// Returns the change of its content, if it has one that can be read.
    fn changes(&self) -> Option<FileDiff> {
        let content = || self.change.get("content").and_then(FactRef::str);
        match (FileDiff::asked(self.change, None), self.kind) {
            (Some(changes), _) => Some(changes),
            (None, FileChangeKind::Delete) => Some(FileDiff::deleted(&content()?)),
            (None, _) => Some(FileDiff::created(&content()?)),
        }
    }

    /// Adds the kind of the change to a line: `new`, `deleted`, `→ b.rs`.
    fn mark(&self, role: &'static str, line: &mut Line) {
        match self.kind {
            FileChangeKind::Add => line.push(role, Text::own("new")),
            FileChangeKind::Delete => line.push(role, Text::own("deleted")),
            FileChangeKind::Update => {}
        }
        if let Some(to) = &self.to {
            line.push(role, Text::clean_owned(["→ ", to].concat()));
        }
    }

    /// Returns the line of the file: `a.rs new +7`.
    fn line(&self, role: &'static str, detail: &'static str, changes: Option<&FileDiff>) -> Line {
        let mut line = Line::of(role, &self.path);
        self.mark(detail, &mut line);
        if let Some(changes) = changes.filter(|changes| !changes.is_empty()) {
            changes.push_counts(&mut line);
        }
        line
    }

    /// Adds the result for a single file to the title: `created, 7 lines`, `deleted −5`, `+2 −1`, `moved`.
    fn push_result(&self, title: &mut Line, changes: Option<&FileDiff>) {
        let lines = |changes: &FileDiff| match changes.added() {
            0 => Text::own("created, empty"),
            added => Text::clean_owned(format!("created, {}", &*figures::count_of(added, "line", "lines"))),
        };
        match (self.kind, changes) {
            (_, None) => {}
            (FileChangeKind::Add, Some(changes)) => title.push("result.note", lines(changes)),
            (FileChangeKind::Update, Some(changes)) if changes.is_empty() && self.to.is_some() => {
                title.push("result.note", Text::own("moved"));
            }
            (kind, Some(changes)) => {
                if kind == FileChangeKind::Delete {
                    title.push("result.note", Text::own("deleted"));
                }
                if kind == FileChangeKind::Update || !changes.is_empty() {
                    changes.push_counts(title);
                }
            }
        }
    }
}
