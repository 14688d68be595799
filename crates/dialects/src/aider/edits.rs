//! Edits in replies: fences with blocks to search and replace, whole files, diffs, or patches.

use std::borrow::Cow;

use streamfmt_core::item::{Does, Fact, Id, Item, ToolKind};
use streamfmt_core::json::Record;

use crate::patch;

/// The longest path, in bytes.
const MAX_PATH: usize = 512;
/// The tags that stand for a fence if the files contain backticks.
const TAGS: [&str; 5] = ["source", "code", "pre", "codeblock", "sourcecode"];

/// A fence of a reply, from its first line on.
pub(super) struct EditFence {
    /// Its lines, the first one included.
    text: String,
    /// The line that ends it.
    end: String,
    /// The words after the marks.
    info: String,
}

impl EditFence {
    /// The fence that a line opens, if it opens one.
    pub(super) fn opening(line: &str) -> Option<Self> {
        let text = line.trim();
        let marks = text.len() - text.trim_start_matches('`').len();
        let (end, info) = if marks >= 3 {
            (&text[..marks], &text[marks..])
        } else {
            let tag = text.strip_prefix('<')?.strip_suffix('>')?;
            TAGS.contains(&tag).then_some((text, ""))?
        };
        let end = if marks >= 3 { end.to_owned() } else { end.replacen('<', "</", 1) };
        // A span of code on one line isn't a fence.
        (!info.contains('`')).then(|| Self { text: line.to_owned(), end, info: info.trim().to_owned() })
    }

    /// Whether a line ends the fence.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        line.trim() == self.end
    }

    pub(super) fn push(&mut self, line: &str) {
        self.text.extend(["\n", line]);
    }

    pub(super) fn size(&self) -> usize {
        self.text.len()
    }

    pub(super) fn lines(&self) -> std::str::Split<'_, char> {
        self.text.split('\n')
    }

    /// The edits in a complete fence, and whether the path above it belongs to them. `above`: that path. `format`: the name of the format
    /// in which the model writes edits, empty if it isn't known.
    pub(super) fn edits(&self, above: Option<&str>, format: &str) -> Option<(Vec<EditBlock>, bool)> {
        let body = self.text.split_once('\n').map_or("", |(_, body)| body);
        let named = path_of(&self.info).filter(|info| info.contains(['.', '/']));
        if let Some(blocks) = search_blocks(body, above.or(named)) {
            return Some((blocks, above.is_some()));
        }
        if let Some(changes) = patch::changes_of(body) {
            return Some((
                vec![EditBlock { tool_kind: ToolKind::Edit, path: above.map(str::to_owned), changes }],
                false,
            ));
        }
        let may_be = |name: &str| format.is_empty() || format.contains(name);
        if self.info == "diff" && may_be("udiff") {
            let files = diffs(body);
            if !files.is_empty() {
                let path = files.first().map(|(path, _)| path.clone());
                let facts = files.into_iter().map(|(path, diff)| {
                    Fact::Map(vec![("path", Fact::Text(path)), ("diff", Fact::Text(diff))])
                });
                let changes = Fact::List(facts.collect());
                return Some((vec![EditBlock { tool_kind: ToolKind::Edit, path, changes }], false));
            }
        }
        // Without the session's format, a fence with a path above it may as well show a part of the file.
        let path = above.filter(|_| format.contains("whole"))?;
        let content = Fact::Text([body, if body.is_empty() { "" } else { "\n" }].concat());
        Some((
            vec![EditBlock { tool_kind: ToolKind::Write, path: Some(path.to_owned()), changes: content }],
            true,
        ))
    }
}

/// An edit, as a reply contains it.
pub(super) struct EditBlock {
    tool_kind: ToolKind,
    path: Option<String>,
    /// The changes; for a whole file, its content.
    changes: Fact,
}

impl EditBlock {
    /// Sets what a call does, and returns the edit that waits for its result.
    pub(super) fn apply_to(self, call: &mut Item) -> AwaitedEdit {
        let old = match &self.changes {
            Fact::List(changes) => changes.first().and_then(|change| match change {
                Fact::Map(parts) => parts.iter().find(|(name, _)| *name == "old"),
                _ => None,
            }),
            _ => None,
        };
        let old = match old {
            Some((_, Fact::Text(old))) => old.clone(),
            _ => String::new(),
        };
        let mut paths: Vec<_> = self.path.iter().cloned().collect();
        if let Fact::List(changes) = &self.changes {
            paths.extend(changes.iter().filter_map(|change| match change {
                Fact::Map(parts) => parts.iter().find_map(|(name, fact)| match fact {
                    Fact::Text(path) if *name == "path" => Some(path.clone()),
                    _ => None,
                }),
                _ => None,
            }));
        }
        let edit =
            AwaitedEdit { call: call.id.clone(), line: call.line, tool_kind: self.tool_kind, paths, old };
        let mut facts: Vec<_> = self.path.into_iter().map(|path| ("path", Fact::Text(path))).collect();
        facts.push((if self.tool_kind == ToolKind::Write { "content" } else { "changes" }, self.changes));
        set(call, edit.tool(), self.tool_kind, facts);
        edit
    }
}

/// An edit of which it isn't known yet whether it was applied.
pub(super) struct AwaitedEdit {
    pub(super) call: Id,
    /// The line of its call.
    pub(super) line: u64,
    pub(super) tool_kind: ToolKind,
    paths: Vec<String>,
    /// The text that it replaces.
    old: String,
}

impl AwaitedEdit {
    /// The name that we give to the tool: the program has none.
    pub(super) fn tool(&self) -> &'static str {
        if self.tool_kind == ToolKind::Write { "write" } else { "edit" }
    }

    /// Whether it changes this file.
    pub(super) fn is_of(&self, path: &str) -> bool {
        self.paths.iter().any(|known| known == path)
    }

    /// Whether a report on failed edits contains it: the report repeats the text that was searched.
    pub(super) fn is_in(&self, report: &str) -> bool {
        self.paths.iter().any(|path| report.contains(path.as_str()))
            && self.old.lines().all(|line| {
                let line = line.trim_end();
                report.lines().any(|other| other.trim_end() == line)
            })
    }
}

/// Makes a call run a command.
pub(super) fn set_command(call: &mut Item, command: &str) {
    set(call, "run", ToolKind::Run, vec![("command", Fact::Text(command.to_owned()))]);
}

fn set(call: &mut Item, tool: &str, tool_kind: ToolKind, facts: Vec<(&'static str, Fact)>) {
    call.tool = Some(tool.into());
    call.tool_kind = Some(tool_kind);
    // There is no input in JSON; the facts are all that the history has of it.
    if let Ok((record, _)) = Record::read("{}") {
        let root = record.root().node();
        call.input = Some(root);
        call.does = Some(Does::Facts { facts: facts.into(), of: root });
        call.record = Some(record);
    }
}

/// Returns the blocks to search and replace of a fence: each with its path, which may be the line above the first block.
fn search_blocks(body: &str, path: Option<&str>) -> Option<Vec<EditBlock>> {
    let mut path = path.map(str::to_owned);
    let mut blocks = Vec::new();
    let mut lines = body.split('\n');
    let mut above = None;
    while let Some(line) = lines.next() {
        if !is_mark(line, '<', " SEARCH") {
            above = path_of(line).or(above);
            continue;
        }
        path = above.take().map(str::to_owned).or(path);
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let mut is_new = false;
        loop {
            let line = lines.next()?;
            if is_mark(line, '>', " REPLACE") {
                break;
            }
            if is_mark(line, '=', "") {
                is_new = true;
            } else if is_new {
                new.push(line);
            } else {
                old.push(line);
            }
        }
        let text = |lines: Vec<&str>| Fact::Text(lines.join("\n"));
        let changes = Fact::List(vec![Fact::Map(vec![("old", text(old)), ("new", text(new))])]);
        blocks.push(EditBlock { tool_kind: ToolKind::Edit, path: Some(path.clone()?), changes });
    }
    (!blocks.is_empty()).then_some(blocks)
}

/// Whether a line consists of 5 to 9 signs and the word.
fn is_mark(line: &str, sign: char, word: &str) -> bool {
    let line = line.trim_end();
    let rest = line.trim_start_matches(sign);
    (5..=9).contains(&(line.len() - rest.len())) && rest == word
}

/// Returns the files of a unified diff, each with its hunks, which have no line numbers.
fn diffs(body: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut lines = body.lines().peekable();
    while let Some(line) = lines.next() {
        if let (Some(old), Some(new)) =
            (line.strip_prefix("--- "), lines.peek().and_then(|next| next.strip_prefix("+++ ")))
        {
            let path = if new.trim() == "/dev/null" { old } else { new };
            files.push((path.trim().to_owned(), String::new()));
            lines.next();
        } else if let Some((_, diff)) = files.last_mut() {
            // Hunks are parted by lines that begin so, without numbers.
            let line: Cow<'_, str> = match line.strip_prefix("@@") {
                Some(rest) if !rest.contains("@@") => ["@@ @@", rest].concat().into(),
                _ => line.into(),
            };
            diff.extend([&*line, "\n"]);
        }
    }
    files
}

/// Returns the path that a line names, if it consists of one: models also write it as a heading, bold, as code, or with a colon.
pub(super) fn path_of(line: &str) -> Option<&str> {
    let path = line.trim().trim_start_matches('#').trim_end_matches(':').trim();
    let path = path.trim_matches(['*', '`', '"']);
    let is_file = path.contains(['.', '/', '\\']) || ["Makefile", "Dockerfile", "LICENSE"].contains(&path);
    let has_end = path.ends_with(|ch: char| ch.is_alphanumeric() || "_-+)]}~".contains(ch));
    let is_path = |ch: char| !ch.is_control() && !"<>|\"*?".contains(ch);
    // A sentence has blanks and ends with a full stop; a path with blanks has a separator or an extension.
    let is_short = path.len() <= MAX_PATH && path.split(' ').count() <= 4;
    (is_file && has_end && is_short && path.chars().all(is_path)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_a_path_names_a_file() {
        for (line, path) in [
            ("src/till.py", Some("src/till.py")),
            ("**src/till.py**", Some("src/till.py")),
            ("### `src/till.py`:", Some("src/till.py")),
            ("Makefile", Some("Makefile")),
            ("a b.txt", Some("a b.txt")),
            ("I sum all of them:", None),
            ("Done.", None),
            ("It is in src/till.py, and the tests are beside it", None),
            ("", None),
        ] {
            assert_eq!(path_of(line), path, "{line}");
        }
    }

    fn edits(text: &str, above: Option<&str>, format: &str) -> Vec<String> {
        let mut lines = text.lines();
        let mut fence = EditFence::opening(lines.next().unwrap()).unwrap();
        lines.for_each(|line| fence.push(line));
        let blocks = fence.edits(above, format).map_or(Vec::new(), |(blocks, _)| blocks);
        blocks.into_iter().map(|block| format!("{:?} {:?}", block.path, block.changes)).collect()
    }

    #[test]
    fn each_format_of_edits_is_read() {
        let block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE";
        let change = r#"List([Map([("old", Text("a")), ("new", Text("b"))])])"#;
        for (text, above, format, want) in [
            (format!("```py\n{block}"), Some("a.py"), "diff", vec![format!("Some(\"a.py\") {change}")]),
            (format!("```py\nb.py\n{block}"), None, "diff-fenced", vec![format!("Some(\"b.py\") {change}")]),
            (format!("````c.py\n{block}\n{block}"), None, "", vec![format!("Some(\"c.py\") {change}"); 2]),
            // Nothing identifies the file.
            (format!("```py\n{block}"), None, "diff", vec![]),
            // The block isn't complete.
            ("```\n<<<<<<< SEARCH\na\n=======\nb".to_owned(), Some("a.py"), "diff", vec![]),
            (
                "```diff\n--- a.py\n+++ a.py\n@@ ... @@\n-a\n+b".to_owned(),
                None,
                "udiff",
                vec![
                    r#"Some("a.py") List([Map([("path", Text("a.py")), ("diff", Text("@@ ... @@\n-a\n+b\n"))])])"#
                        .to_owned(),
                ],
            ),
            ("```\na\nb".to_owned(), Some("a.txt"), "whole", vec![r#"Some("a.txt") Text("a\nb\n")"#.to_owned()]),
            (
                "```\n*** Begin Patch\n*** Update File: e.py\n@@\n-a\n+b\n*** End Patch".to_owned(),
                None,
                "patch",
                vec![
                    r#"None List([Map([("path", Text("e.py")), ("kind", Text("update")), ("diff", Text("@@ @@\n-a\n+b\n"))])])"#
                        .to_owned(),
                ],
            ),
            // Only shown.
            ("```\na\nb".to_owned(), Some("a.txt"), "diff", vec![]),
            ("```\na\nb".to_owned(), None, "whole", vec![]),
        ] {
            assert_eq!(edits(&text, above, format), want, "{text}");
        }
    }
}
