//! Parses patches in the format that models write: files by name, hunks without line numbers. Several products have a tool for it.
//!
//! ```text
//! *** Begin Patch
//! *** Add File: a.rs
//! +new line
//! *** Delete File: b.rs
//! *** Update File: c.rs
//! *** Move to: d.rs
//! @@ fn that_holds_it()
//!  kept
//! -old
//! +new
//! *** End Patch
//! ```

use streamfmt_core::item::Fact;

/// The first line of a patch. Lines before it are the command that the patch is passed to.
const BEGIN: &str = "*** Begin Patch";

/// The most files of one patch: the facts of a file take many times the memory of its name.
const MOST_FILES: usize = 1_000;

/// Returns the changes of a patch, for the part `changes`: each with its `path`, its `kind`, and its `content` or `diff`.
///
/// `None` if the text is no patch, changes nothing, or changes more than [`MOST_FILES`] files.
pub(super) fn changes_of(text: &str) -> Option<Fact> {
    let mut lines = text.lines();
    lines.find(|line| line.trim() == BEGIN)?;
    let mut files: Vec<PatchedFile<'_>> = Vec::new();
    for line in lines {
        if files.len() > MOST_FILES {
            break;
        }
        let Some(head) = line.strip_prefix("*** ") else {
            if let Some(file) = files.last_mut() {
                file.line(line);
            }
            continue;
        };
        match head.split_once(": ") {
            Some(("Add File", path)) => files.push(PatchedFile::new("add", path)),
            Some(("Delete File", path)) => files.push(PatchedFile::new("delete", path)),
            Some(("Update File", path)) => files.push(PatchedFile::new("update", path)),
            Some(("Move to", path)) => {
                if let Some(file) = files.last_mut() {
                    file.to = Some(path.trim());
                }
            }
            _ if head.trim() == "End Patch" => break,
            _ => {}
        }
    }
    (1..=MOST_FILES)
        .contains(&files.len())
        .then(|| Fact::List(files.into_iter().map(PatchedFile::into_fact).collect()))
}

/// One file of a patch.
struct PatchedFile<'a> {
    kind: &'static str,
    path: &'a str,
    to: Option<&'a str>,
    /// The lines of a new file, or a unified diff whose hunks have no numbers.
    text: String,
}

impl<'a> PatchedFile<'a> {
    fn new(kind: &'static str, path: &'a str) -> Self {
        Self { kind, path: path.trim(), to: None, text: String::new() }
    }

    fn line(&mut self, line: &str) {
        if self.kind == "update" {
            match line.strip_prefix("@@") {
                // The text after `@@` goes where a unified diff has its section heading.
                Some(above) => self.text.extend(["@@ @@", above, "\n"]),
                None if self.text.is_empty() => self.text.extend(["@@ @@\n", line, "\n"]),
                None => self.text.extend([line, "\n"]),
            }
        } else {
            self.text.extend([line.strip_prefix('+').unwrap_or(line), "\n"]);
        }
    }

    fn into_fact(self) -> Fact {
        let text = |text: &str| Fact::Text(text.to_owned());
        let mut facts = vec![("path", text(self.path)), ("kind", text(self.kind))];
        facts.extend(self.to.map(|to| ("to", text(to))));
        match self.kind {
            "update" => facts.push(("diff", Fact::Text(self.text))),
            "add" => facts.push(("content", Fact::Text(self.text))),
            _ => {}
        }
        Fact::Map(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(patch: &str) -> Option<String> {
        let Fact::List(files) = changes_of(patch)? else { return None };
        let line = |fact| match fact {
            Fact::Map(parts) => {
                let parts = parts.into_iter().map(|(name, fact)| match fact {
                    Fact::Text(text) => format!("{name}={text:?}"),
                    other => format!("{name}: {other:?}"),
                });
                parts.collect::<Vec<_>>().join(" ")
            }
            other => format!("{other:?}"),
        };
        Some(files.into_iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_patch_names_its_files() {
        for (patch, expected) in [
            (
                "*** Begin Patch\n*** Add File: a b.rs\n+x\n+\n+ y\n*** Delete File: c.rs\n*** End Patch\n",
                r#"path="a b.rs" kind="add" content="x\n\n y\n"
path="c.rs" kind="delete""#,
            ),
            (
                "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn a()\n k\n-o\n+n\n@@\n-p\n*** End of File\n*** End Patch",
                r#"path="a.rs" kind="update" to="b.rs" diff="@@ @@ fn a()\n k\n-o\n+n\n@@ @@\n-p\n""#,
            ),
            // The first hunk needs no `@@`, and the end may be missing.
            (
                "*** Begin Patch\n*** Update File: a.rs\n-o\n+n",
                r#"path="a.rs" kind="update" diff="@@ @@\n-o\n+n\n""#,
            ),
            // Passed by a shell.
            (
                "apply_patch <<'E'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nE\n",
                r#"path="a" kind="delete""#,
            ),
            // Lines of the file that look like patch lines begin with a mark.
            (
                "*** Begin Patch\n*** Add File: a\n+*** End Patch\n+@@\n*** End Patch",
                r#"path="a" kind="add" content="*** End Patch\n@@\n""#,
            ),
        ] {
            assert_eq!(changes(patch).as_deref(), Some(expected), "{patch}");
        }
    }

    #[test]
    fn what_is_no_patch_has_no_changes() {
        let many = ["*** Begin Patch\n", &"*** Delete File: a\n".repeat(MOST_FILES + 1)].concat();
        for text in
            [&*many, "", "*** Begin Patch", "*** Begin Patch\n*** End Patch", "*** Add File: a\n+x", "+x\n-y"]
        {
            assert_eq!(changes(text), None, "{}", &text[..text.len().min(99)]);
        }
    }
}
