//! Only dialects know products: no other code contains the name of a tool, a key of an input, or a sentence of an agent's program. Dialects
//! and the other crates share the names of facts, and each has a row in the table. No writer compares the name of a role to decide on the
//! layout, and no code compares the name of a writer: its row in the table has the properties.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use streamfmt::core::item::{FactSpec, facts};
use streamfmt::dialect::DIALECTS;

/// Names of tools or keys that we use as words of our own, in a page or a fact.
const WORDS: &[&str] = &["Task", "filePath"];

/// Strings that belong to products.
struct Foreign {
    /// Forbidden as a whole literal.
    names: BTreeSet<&'static str>,
    /// Forbidden as a part of a literal.
    sentences: Vec<&'static str>,
    /// Keys of one word, forbidden only for inputs.
    words: BTreeSet<&'static str>,
    /// Names of one word, forbidden only for tools.
    tools: BTreeSet<&'static str>,
}

impl Foreign {
    fn new() -> Self {
        let (mut keys, mut ours) = (BTreeSet::new(), BTreeSet::new());
        let mut names = BTreeSet::new();
        for dialect in DIALECTS.rows {
            for (name, tool) in dialect.tools {
                names.insert(*name);
                collect(tool.parts, &mut keys, &mut ours);
            }
        }
        let is_word = |key: &&'static str| key.bytes().all(|byte| byte.is_ascii_lowercase());
        let (words, long): (BTreeSet<_>, BTreeSet<_>) = keys.into_iter().partition(is_word);
        let (tools, mut names): (BTreeSet<_>, BTreeSet<_>) = names.into_iter().partition(is_word);
        names.extend(long.difference(&ours));
        // The names of facts are ours even if a product uses them as well.
        names.retain(|name| !WORDS.contains(name) && facts::find(name).is_none());
        let sentences = DIALECTS.rows.iter().flat_map(|dialect| (dialect.sentences)());
        let sentences = sentences.map(|sentence| sentence.trim_end_matches('\n')).collect();
        Self { names, sentences, words, tools }
    }

    /// The forbidden strings in a source.
    fn found_in(&self, source: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (before, literal) in literals(source) {
            let is_input = before.contains("input") && before.ends_with(".get(");
            let is_foreign = self.names.contains(&*literal)
                || self.sentences.iter().any(|sentence| literal.contains(sentence))
                || is_input && self.words.contains(&*literal)
                || before.contains("tool") && self.tools.contains(&*literal);
            if is_foreign {
                found.push(literal);
            }
        }
        found
    }
}

fn collect(parts: &[FactSpec], keys: &mut BTreeSet<&'static str>, ours: &mut BTreeSet<&'static str>) {
    for part in parts {
        keys.extend(part.key_of());
        ours.insert(part.name);
        collect(part.parts(), keys, ours);
    }
}

/// The string literals of a source without its tests, each with the text before it on its line.
fn literals(source: &str) -> Vec<(String, String)> {
    let end = source.find("#[cfg(test)]\nmod tests {").unwrap_or(source.len());
    let source = &source[..end];
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 0);
    while let Some(ch) = source[at..].chars().next() {
        let rest = &source[at..];
        let next = at + ch.len_utf8();
        let hashes = rest.strip_prefix('r').map_or(0, |raw| raw.len() - raw.trim_start_matches('#').len());
        let is_raw = ch == 'r' && rest[1 + hashes..].starts_with('"');
        let is_name = source[..at].ends_with(|ch: char| ch.is_ascii_alphanumeric() || ch == '_');
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if is_raw && !is_name {
            let start = at + hashes + 2;
            let close = format!("\"{}", "#".repeat(hashes));
            let length = source[start..].find(&close).unwrap();
            found.push((source[line..at].to_owned(), source[start..start + length].to_owned()));
            at = start + length + close.len();
        } else if ch == '"' {
            let mut length = 0;
            while !source[next + length..].starts_with('"') {
                length += if source[next + length..].starts_with('\\') { 2 } else { 1 };
                while !source.is_char_boundary(next + length) {
                    length += 1;
                }
            }
            let literal = source[next..next + length].replace("\\n", "\n").replace("\\\"", "\"");
            found.push((source[line..at].to_owned(), literal));
            at = next + length + 1;
        } else if rest.starts_with("'\\") || rest.starts_with("'\"'") {
            at += 2 + rest[2..].find('\'').unwrap() + 1;
        } else {
            at = next;
            line = if ch == '\n' { next } else { line };
        }
    }
    found
}

/// The Rust sources below a folder, without tests.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|name| name == "tests");
        if path.is_dir() && !is_test {
            sources(&path, out);
        } else if !is_test && path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn no_source_right_of_a_dialect_knows_a_product() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut paths = Vec::new();
    for name in ["core", "formatters", "writers", "host", "cli"] {
        sources(&crates.join(name).join("src"), &mut paths);
    }
    assert!(paths.len() > 100, "the sources aren't found");
    let foreign = Foreign::new();
    let found = paths.iter().flat_map(|path| {
        let found = foreign.found_in(&fs::read_to_string(path).unwrap());
        found.into_iter().map(|literal| format!("{}: {literal:?}", path.display()))
    });
    let found: Vec<_> = found.collect();
    assert!(found.is_empty(), "what only a dialect may know:\n{}", found.join("\n"));
}

/// Comparisons of a role's name in writers, each with the reason why it doesn't decide on the layout.
const COMPARED: [(&str, &str); 7] = [
    // Selects a title's words about the cost or the file, without placing them.
    ("log.rs", "outcome.ok"),
    ("log.rs", "call.arg"),
    // A lane's name is the argument in its call's title.
    ("timeline.rs", "call.arg"),
    // `turn 2` replaces the words of success, and the date precedes a session's id.
    ("folds.rs", "outcome.ok"),
    ("terminal.rs", "session.id"),
    // Selects the lines of an outcome that give the reason of a failure, for the answer.
    ("html.rs", "outcome.error"),
    // The argument of an agent's call is prose, so it isn't formatted as code.
    ("markdown/block.rs", "tool.agent"),
];

/// The names of roles that a source compares: `role.name() == "tool.name"`. A `match` on them is only spelling.
fn compared(source: &str, roles: &[String]) -> Vec<String> {
    let found = literals(source).into_iter().filter(|(before, literal)| {
        let before = before.trim_end();
        let is_compared =
            before.ends_with("==") || before.ends_with("!=") || before.ends_with("matches!(role,");
        let is_asked = before.ends_with(".starts_with(") && before.contains("role");
        // Text without a role isn't painted; a kind of block may have the same name as a role.
        let is_of_role = before.contains("role") && literal != "text";
        (is_compared || is_asked) && is_of_role && roles.contains(literal)
    });
    found.map(|(_, literal)| literal).collect()
}

/// The names of all roles, from the types for editors.
fn roles() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sf.d.lua");
    let types = fs::read_to_string(path).unwrap();
    let line = types.lines().find_map(|line| line.strip_prefix("---@alias sf.Role ")).unwrap();
    line.split('|').map(|role| role.trim_matches('"').to_owned()).collect()
}

#[test]
fn no_writer_asks_a_role_for_its_name_to_lay_out() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut paths = Vec::new();
    sources(&crates.join("writers/src"), &mut paths);
    assert!(paths.len() > 20, "the writers aren't found");
    let roles = roles();
    let mut found = Vec::new();
    for path in &paths {
        for literal in compared(&fs::read_to_string(path).unwrap(), &roles) {
            if !COMPARED.iter().any(|(file, role)| path.ends_with(file) && *role == literal) {
                found.push(format!("{}: {literal:?}", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "a fact of the entry says what goes where, not a role:\n{}", found.join("\n"));
}

#[test]
fn comparisons_with_roles_are_found() {
    let roles = roles();
    for (source, want) in [
        (r#"let goes_on = span.role.name() == "result.note.of";"#, vec!["result.note.of"]),
        (r#"if role != "call.value" {"#, vec!["call.value"]),
        (r#"if role.name().starts_with("call") {"#, vec!["call"]),
        (r#"match span.role.name() { "tool.name" => {} }"#, vec![]),
        (r#"if kind == "session" {"#, vec![]),
    ] {
        assert_eq!(compared(source, &roles), want, "{source}");
    }
}

/// Comparisons of an output format's name in sources.
static COMPARISONS: LazyLock<Regex> = LazyLock::new(|| {
    let writer = r"\bwriter(?:\(\))?\.name\b";
    let ways = [
        format!(r#"(?:{writer}|\.writer) [!=]= ""#),
        format!(r"\bmatch [^{{;]*{writer}[^{{;]*\{{"),
        format!(r#"\bmatches!\([^;"]*{writer}[^;"]*""#),
        format!(r"\bcontains\(&[\w.()]*{writer}"),
    ];
    Regex::new(&ways.join("|")).unwrap()
});

#[test]
fn nobody_compares_the_name_of_a_writer() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut paths = Vec::new();
    for name in ["host", "server", "cli"] {
        sources(&crates.join(name).join("src"), &mut paths);
    }
    assert!(paths.len() > 100, "the sources aren't found");
    let mut found = Vec::new();
    for path in &paths {
        let source = fs::read_to_string(path).unwrap();
        found.extend(COMPARISONS.find_iter(&source).map(|it| format!("{}: {}", path.display(), it.as_str())));
    }
    assert!(found.is_empty(), "the row of a writer answers for it, not its name:\n{}", found.join("\n"));
    for source in [
        r#"if engine.writer().name != "markdown" {"#,
        r#"matches!(writer.name, "html" | "markdown")"#,
        "match (settings.is_log, writer.name, &plugin_writer) {",
        "!of_lines.contains(&self.writer.name)",
        r#"cell.writer == "roles""#,
    ] {
        assert!(COMPARISONS.is_match(source), "{source}");
    }
}

/// The sources that create facts.
fn makers() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let core = crates.join("core/src");
    let mut paths = vec![core.join("session.rs"), core.join("pipeline.rs")];
    for folder in
        [core.join("session"), core.join("records"), core.join("pipeline"), crates.join("dialects/src")]
    {
        sources(&folder, &mut paths);
    }
    paths
}

/// The ways in which sources create and read facts by name.
static WAYS: LazyLock<Regex> = LazyLock::new(|| {
    let ways = [
        r#"\(\s*"(?<a>\w+)",\s*Fact::"#,
        r#"\bfact\(\s*"(?<b>\w+)","#,
        r#"\bset\(\s*item,\s*"(?<c>\w+)""#,
        r#"\.fact\("(?<d>\w+)"\)"#,
        r#"\bcontext\.(?:is|text|count)\("(?<e>\w+)"\)"#,
    ];
    Regex::new(&ways.join("|")).unwrap()
});

/// The names of facts that a source creates or reads.
fn fact_names(source: &str) -> BTreeSet<String> {
    let end = source.find("#[cfg(test)]\nmod tests {").unwrap_or(source.len());
    let found = WAYS.captures_iter(&source[..end]);
    let name =
        |found: Captures<'_>| found.iter().skip(1).flatten().map(|name| name.as_str().to_owned()).next();
    found.filter_map(name).collect()
}

/// The names of facts, of the parts of actions, and of their parts.
fn row_names() -> BTreeSet<&'static str> {
    fn collect(rows: &'static [facts::FactRow], names: &mut BTreeSet<&'static str>) {
        for (name, row) in rows {
            names.insert(name);
            collect(row.shape.parts(), names);
        }
    }
    let mut names = BTreeSet::new();
    collect(facts::FACTS, &mut names);
    collect(facts::DOES, &mut names);
    // The bytes of an image, which machine-readable output leaves out.
    names.insert("data");
    names
}

#[test]
fn every_fact_that_is_made_or_read_has_a_row() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = makers();
    sources(&crates.join("formatters/src"), &mut paths);
    sources(&crates.join("host/src"), &mut paths);
    let rows = row_names();
    let mut found = BTreeSet::new();
    for path in paths {
        let names = fact_names(&fs::read_to_string(&path).unwrap());
        let unknown: Vec<&String> = names.iter().filter(|name| !rows.contains(name.as_str())).collect();
        assert!(unknown.is_empty(), "{}: no row in item/facts.rs for {unknown:?}", path.display());
        found.extend(names);
    }
    assert!(found.len() > 60, "only {found:?} was found");
}

#[test]
fn every_row_is_made() {
    // Only machine-readable output has this name.
    let unmade = ["odd"];
    let sources: Vec<String> = makers().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let made: BTreeSet<String> =
        sources.iter().flat_map(|source| literals(source)).map(|(_, literal)| literal).collect();
    for (name, _) in facts::FACTS {
        assert!(made.contains(*name) || unmade.contains(name), "nothing makes the fact {name}");
    }
    assert!(facts::FACTS.is_sorted_by_key(|(name, _)| name), "the rows are in the order of their names");
}

#[test]
fn names_of_facts_are_found_however_they_are_made() {
    for (source, want) in [
        (r#"item.data.push(("exit", Fact::Int(1)));"#, "exit"),
        ("facts.push((\n    \"bytes\",\n    Fact::Int(1)));", "bytes"),
        (r#"item.data.push(fact("todos", node));"#, "todos"),
        (r#"set(item, "files", fact);"#, "files"),
        (r#"item.fact("exit").is_some()"#, "exit"),
        (r#"context.is("again")"#, "again"),
    ] {
        assert_eq!(fact_names(source), BTreeSet::from([want.to_owned()]), "{source}");
    }
}

#[test]
fn what_only_a_dialect_may_know_is_found() {
    let foreign = Foreign::new();
    for (source, want) in [
        (r#"change.get("old_string")"#, vec!["old_string"]),
        (r##"let name = r#"TodoWrite"#;"##, vec!["TodoWrite"]),
        (r#"text.starts_with("<tool_use_error>x\n")"#, vec!["<tool_use_error>x\n"]),
        (r#"call.input()?.get("command")"#, vec!["command"]),
        (r#"does.text("command")"#, vec![]),
        ("// \"old_string\"\nlet quote = '\"'; let other = \"x\";", vec![]),
        ("#[cfg(test)]\nmod tests { \"old_string\" }", vec![]),
    ] {
        assert_eq!(foreign.found_in(source), want, "{source}");
    }
}
