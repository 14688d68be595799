//! A type has a name of its own: whoever reads a name knows which type is meant, in whatever file it stands.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The folders of the crates whose types are held against each other. That for authors of native plugins isn't one of them: they see no
/// other crate, so its names are free.
const CRATES: &[&str] = &["core", "dialects", "formatters", "writers", "host", "server", "cli", "bench"];

/// Where the types of each name are defined, as `path:line`: one place for each file, since two in one file are one type for
/// several platforms.
type Definitions = BTreeMap<String, Vec<String>>;

#[test]
fn every_type_has_a_name_of_its_own() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut definitions = Definitions::new();
    for name in CRATES {
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        for file in files {
            let source = fs::read_to_string(&file).unwrap();
            let path = file.strip_prefix(crates).unwrap().display().to_string();
            collect(&path, &source, &mut definitions);
        }
    }
    assert!(definitions.len() > 100, "the sources were found");
    let shared = shared(&definitions);
    assert!(shared.is_empty(), "types of one name:\n{}", shared.join("\n"));
}

#[test]
fn types_of_one_name_are_found_wherever_they_are() {
    let mut definitions = Definitions::new();
    let one = "pub struct Line<'a> {\n}\nimpl Iterator for Line<'_> {\n    type Item = u8;\n}\n";
    let other = "fn read() {\n    enum Line {}\n}\nimpl Iterator for Lines {\n    type Item = u8;\n}\n";
    let tests = "#[cfg(test)]\nmod tests {\n    struct Line;\n}\n";
    collect("a.rs", one, &mut definitions);
    collect("b.rs", &format!("{other}{tests}"), &mut definitions);
    collect("c.rs", tests, &mut definitions);
    collect("d.rs", "pub(crate) type Lines = ();\n", &mut definitions);
    assert_eq!(shared(&definitions), ["Line: a.rs:1, b.rs:2"]);
}

/// What is wrong: each name of several types, and where they are defined.
fn shared(definitions: &Definitions) -> Vec<String> {
    let shared = definitions.iter().filter(|(_, places)| places.len() > 1);
    shared.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect()
}

/// The types that a file defines, its tests left out. An alias counts at the top level of a file alone: inside of something it is
/// an associated type, whose name is its trait's.
fn collect(path: &str, source: &str, definitions: &mut Definitions) {
    let pattern = r"(?m)^(?:(?:pub(?:\([^)]*\))? )?type|\s*(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait|union)) (\w+)";
    let end = source.find("#[cfg(test)]\nmod tests {").unwrap_or(source.len());
    for found in Regex::new(pattern).unwrap().captures_iter(&source[..end]) {
        let name = found.get(1).unwrap();
        let line = source[..name.start()].matches('\n').count() + 1;
        let places = definitions.entry(name.as_str().to_owned()).or_default();
        if !places.last().is_some_and(|last| last.starts_with(&format!("{path}:"))) {
            places.push(format!("{path}:{line}"));
        }
    }
}

/// The Rust sources below a folder, tests left out.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            out.push(path);
        }
    }
}
