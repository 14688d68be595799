//! Golden cases: what comes out of an input, to the letter.
//!
//! A case is a folder `tests/golden/<dialect>/<what-it-shows>/` with `input.ndjson` and
//! `expected/<profile>.<writer>.<extension>`. With `STREAMFMT_ACCEPT=1` what comes out becomes what is expected; a new
//! expectation begins as an empty file of the right name.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::fs;
use std::path::{Path, PathBuf};

use streamfmt::core::pipeline::Pipeline;
use streamfmt::core::theme::ColorDepth;
use streamfmt::engine::{Engine, Looks};

#[test]
fn every_case_comes_out_as_expected() {
    let accepts = std::env::var_os("STREAMFMT_ACCEPT").is_some_and(|value| value == "1");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut checked = 0;
    let mut wrong = Vec::new();
    for dialect in folder(&root) {
        for case in folder(&dialect) {
            let input = fs::read(case.join("input.ndjson")).unwrap();
            for file in folder(&case.join("expected")) {
                let came = format(&name(&dialect), &file, &input);
                if accepts {
                    fs::write(&file, &came).unwrap();
                } else if let Some(difference) = difference(&fs::read_to_string(&file).unwrap(), &came) {
                    let place = file.strip_prefix(&root).unwrap().display().to_string();
                    wrong.push(format!("{place}:{difference}"));
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 0, "{} has no cases", root.display());
    assert!(wrong.is_empty(), "{} of {checked} differ:\n\n{}", wrong.len(), wrong.join("\n"));
}

/// What comes out of an input for an expectation named `<profile>.<writer>.<extension>`.
fn format(dialect: &str, expectation: &Path, input: &[u8]) -> String {
    let name = name(expectation);
    let [profile, writer, _] = name.split('.').collect::<Vec<_>>()[..] else {
        panic!("{name} isn't named <profile>.<writer>.<extension>");
    };
    let is_ansi = writer == "ansi";
    let looks = Looks {
        color: is_ansi.then_some(ColorDepth::TrueColor),
        width: is_ansi.then_some(80),
        ..Looks::default()
    };
    let builder = Engine::builder().dialect(dialect).writer(writer).profile(profile).looks(looks);
    let engine = builder.build().unwrap_or_else(|problems| panic!("{name}: {problems}"));
    let mut pipeline = Pipeline::new(engine.setup());
    let mut text = String::new();
    pipeline.push(input, &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    // A file that can be shown without colouring the terminal, and read as a diff.
    text.replace('\u{1b}', "\\e")
}

/// The first line that differs, if one does.
fn difference(expected: &str, came: &str) -> Option<String> {
    if expected == came {
        return None;
    }
    let same = expected.split('\n').zip(came.split('\n')).take_while(|(one, other)| one == other).count();
    let line = |text: &str| text.split('\n').nth(same).unwrap_or("(the end)").to_owned();
    Some(format!("{}\n  expected {}\n  came     {}\n", same + 1, line(expected), line(came)))
}

/// What is in a folder, by name.
fn folder(path: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn differences_name_their_line() {
    assert_eq!(difference("a\nb\n", "a\nb\n"), None);
    assert_eq!(difference("a\nb\n", "a\nc\n").unwrap(), "2\n  expected b\n  came     c\n");
    assert_eq!(difference("a", "a\n").unwrap(), "2\n  expected (the end)\n  came     \n");
}
