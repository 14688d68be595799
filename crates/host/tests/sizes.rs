//! How much code there is, and how many files an addition touches: `docs/architecture.md` has the table.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The most lines of code that each crate has, by its folder. A ceiling is raised in a commit of its own, which says what for.
const CEILINGS: &[(&str, usize)] = &[
    ("bench", 310),
    ("cli", 8_600),
    ("core", 18_900),
    ("dialects", 17_050),
    ("formatters", 3_700),
    ("host", 21_100),
    ("plugin", 400),
    ("server", 11_500),
    ("writers", 9_050),
];

/// A crate that has become smaller than its ceiling by this many lines gets a lower one.
const SLACK: usize = 250;

/// Something that was added once, how its sources name it, and how many files do so at most, with its own.
const ADDITIONS: &[(&str, &str, usize)] = &[
    ("a limit", r"\bNoticeLines\b", 2),
    ("an output format", r#"\bmod cast\b|\bcast::Cast\b|pub struct Cast\b|"cast""#, 3),
    ("a tool that looks like others", r#""NotebookEdit""#, 1),
    (
        "a tool with a look of its own, besides the dialects that have it",
        r"\bDeed::EndJob\b|^    EndJob\b",
        2,
    ),
];

#[test]
fn no_crate_grows_beyond_its_ceiling() {
    let counts: Vec<(&str, usize, usize)> = CEILINGS
        .iter()
        .map(|(name, ceiling)| (*name, *ceiling, sources(name).iter().map(|path| code_lines(path)).sum()))
        .collect();
    let wrong: Vec<_> =
        counts.iter().filter(|(_, ceiling, lines)| lines > ceiling || lines + SLACK < *ceiling).collect();
    assert!(wrong.is_empty(), "crate, ceiling, lines: {wrong:?}");
    let all = fs::read_dir(crates()).unwrap().count();
    assert_eq!(counts.len(), all, "a crate came or went: mend CEILINGS");
}

#[test]
fn an_addition_touches_few_files() {
    let all: Vec<PathBuf> = CEILINGS.iter().flat_map(|(name, _)| sources(name)).collect();
    for (what, pattern, most) in ADDITIONS {
        let pattern = Regex::new(&format!("(?m){pattern}")).unwrap();
        let has_dialects = !what.contains("besides the dialects");
        let is_counted = |path: &&PathBuf| has_dialects || !path.starts_with(crates().join("dialects"));
        let fits = |path: &&PathBuf| pattern.is_match(&fs::read_to_string(path).unwrap());
        let names: Vec<_> = all.iter().filter(is_counted).filter(fits).collect();
        assert!(!names.is_empty() && names.len() <= *most, "{what}: at most {most} files, not {names:#?}");
    }
    let own = Path::new("codex");
    let others = all.iter().filter(|path| !path.components().any(|part| part.as_os_str() == own));
    let names: Vec<_> = others
        .filter(|path| {
            let text = fs::read_to_string(path).unwrap();
            text.contains("codex::") || text.contains("mod codex") || text.contains("\"codex\"")
        })
        .collect();
    assert_eq!(names.len(), 1, "a dialect: its folder and its row, not {names:#?}");
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources of a crate, without those of tests.
fn sources(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![crates().join(name).join("src")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            if stem == "tests" {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// Lines that are neither blank nor a comment nor part of a test.
fn code_lines(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let mut count = 0;
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            // The item behind it, to its closing brace.
            let item = lines.find(|line| !line.trim_start().starts_with('#')).unwrap_or_default();
            let end = format!("{}}}", &item[..item.len() - item.trim_start().len()]);
            if item.ends_with('{') {
                let _ = lines.find(|line| *line == end);
            }
        } else if !line.trim().is_empty() && !line.trim_start().starts_with("//") {
            count += 1;
        }
    }
    count
}

#[test]
fn lines_of_code_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lib.rs");
    let source = "//! It.\n\nfn f() {\n    // Why.\n    g();\n}\n\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    fn t() {\n    }\n}\n#[cfg(test)]\nuse a;\nfn g() {}\n";
    fs::write(&path, source).unwrap();
    assert_eq!(code_lines(&path), 4);
}
