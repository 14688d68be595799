//! Calls that change files which the changes themselves name, one or several, and what came of them.

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

/// What is done to one file.
struct FileChange<'a> {
    told: FactRef<'a>,
    path: Text,
    kind: FileChangeKind,
    /// The new path of a file that is moved.
    to: Option<Text>,
}

/// What is done to a file as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileChangeKind {
    Add,
    Update,
    Delete,
}

/// What a change may have.
const PARTS: [&str; 8] = ["path", "kind", "to", "diff", "patch", "old", "new", "content"];

/// What of that is the change of the content.
const CHANGE: [&str; 5] = ["diff", "patch", "old", "new", "content"];

impl<'a> ChangedFiles<'a> {
    /// The files of these changes; `None` if not all of them name one.
    pub(crate) fn of(changes: FactRef<'a>, context: ItemContext<'_>) -> Option<Self> {
        let file = |told: FactRef<'a>| {
            let path = context.path(told.text_at("path")?);
            let kind = match told.get("kind").and_then(FactRef::str).as_deref() {
                Some("add") => FileChangeKind::Add,
                Some("delete") => FileChangeKind::Delete,
                _ => FileChangeKind::Update,
            };
            let to = told.text_at("to").map(|path| context.path(path));
            Some(FileChange { told, path, kind, to })
        };
        let files: Option<Vec<_>> = changes.list().into_iter().map(file).collect();
        files.filter(|files| !files.is_empty()).map(Self)
    }

    /// Whether it is known of any file how its content changes.
    fn has_changes(&self) -> bool {
        self.0.iter().any(FileChange::has_change)
    }

    /// Says the call: the file, or how many they are; their changes in full.
    pub(crate) fn call(&self, call: &mut CallContext<'_>) -> Option<()> {
        if let [only] = &self.0[..] {
            call.say("call.arg", only.path.clone());
            only.mark("call.detail", &mut call.title);
        } else {
            call.say("call.arg", figures::count_of(self.0.len() as u64, "file", "files"));
        }
        if call.says_content() {
            return self.call_in_full(call);
        }
        if self.0.len() > 1 {
            self.names_in(call);
        }
        Some(())
    }

    /// Names several files: in the title, or below it if they are many or more is to be said of them than the result will.
    fn names_in(&self, call: &mut CallContext<'_>) {
        let has_changes = self.has_changes();
        let names = self.names().filter(|_| has_changes || !self.0.iter().any(FileChange::is_marked));
        match names {
            Some(names) => call.say("call.detail", names),
            None if has_changes => {}
            None => call.body.push(Block::Lines { lines: self.lines("call.arg", "call.detail") }),
        }
    }

    /// The changes of all files. `None`: one of them can't be read.
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

    /// Whether the changes hold nothing that [`Self::call`] leaves out.
    pub(crate) fn is_all_known(&self) -> bool {
        self.0.iter().all(|file| file.told.has_only(&PARTS))
    }

    /// Says what was done: `+2 −1` in the title, each file with its changes below. `None`: that isn't known of any file.
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

    /// The files, one a line, with what is done to them.
    pub(crate) fn lines(&self, role: &'static str, detail: &'static str) -> Vec<Line> {
        self.0.iter().map(|file| file.line(role, detail, None)).collect()
    }

    /// `(a.rs, b.rs)`, if that is short.
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
        CHANGE.iter().any(|name| self.told.get(name).is_some())
    }

    fn is_marked(&self) -> bool {
        self.kind != FileChangeKind::Update || self.to.is_some()
    }

    /// How its content changes, if that is told in a way that can be read.
    fn changes(&self) -> Option<FileDiff> {
        let content = || self.told.get("content").and_then(FactRef::str);
        match (FileDiff::asked(self.told, None), self.kind) {
            (Some(changes), _) => Some(changes),
            (None, FileChangeKind::Delete) => Some(FileDiff::deleted(&content()?)),
            (None, _) => Some(FileDiff::created(&content()?)),
        }
    }

    /// `new`, `deleted`, `→ b.rs`
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

    /// `a.rs new +7`
    fn line(&self, role: &'static str, detail: &'static str, changes: Option<&FileDiff>) -> Line {
        let mut line = Line::of(role, self.path.clone());
        self.mark(detail, &mut line);
        if let Some(changes) = changes.filter(|changes| !changes.is_empty()) {
            changes.push_counts(&mut line);
        }
        line
    }

    /// Says of the only file what was done: `created, 7 lines`, `deleted −5`, `+2 −1`, `moved`.
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
