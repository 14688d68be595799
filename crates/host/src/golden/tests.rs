use std::fs;
use std::path::PathBuf;

use super::run::{Run, visible};
use super::*;
use crate::engine::Engine;

/// A folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("streamfmt-golden-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn cells(&self) -> Vec<Cell> {
        Suite::find(&self.0).cells
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const REPLY: &str = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Hello"}]}}"#;

#[test]
fn a_case_is_new_then_accepted_then_good_then_different() {
    let folder =
        Folder::new("life", &[("golden.toml", "[args]\nfrom = \"claude\""), ("a/b/input.ndjson", REPLY)]);
    let cells = folder.cells();
    assert_eq!(cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(), ["a/b/default.text"]);
    let outcome = cells[0].check();
    assert_eq!((outcome.text.as_str(), &outcome.expected, outcome.is_good()), ("  Hello\n", &None, false));
    cells[0].accept(&outcome).unwrap();
    assert!(cells[0].check().is_good());
    fs::write(cells[0].file(), "  Hallo\n").unwrap();
    let outcome = cells[0].check();
    assert_eq!(outcome.diff().to_string(), "@@ line 1 → 1 @@\n-  [-Hallo-]\n+  {+Hello+}\n");
    fs::write(folder.0.join("a/b/expected/full.text.txt"), "").unwrap();
    assert_eq!(Suite::find(&folder.0).orphans, [folder.0.join("a/b/expected/full.text.txt")]);
}

#[test]
fn short_cases_share_a_file() {
    let file = format!("A remark.\n\n=== one\n{REPLY}\n----\nwrong\n\n\n=== two\n----\n-----\n\n");
    let folder = Folder::new(
        "short",
        &[("golden.toml", "args.from = \"claude\"\nexpect.damage = true"), ("some.cases", &file)],
    );
    let cells = folder.cells();
    assert_eq!(cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(), ["some/one", "some/two"]);
    assert_eq!(cells[0].check().expected.as_deref(), Some("wrong\n"));
    for cell in &cells {
        cell.accept(&cell.check()).unwrap();
        assert!(cell.check().is_good(), "{}", cell.name);
    }
    let expected = format!("A remark.\n\n=== one\n{REPLY}\n----\n  Hello\n\n=== two\n----\n-----\n  ----\n");
    assert_eq!(fs::read_to_string(folder.0.join("some.cases")).unwrap(), expected);
}

#[test]
fn wrong_keys_are_told_with_their_place() {
    let folder = Folder::new(
        "keys",
        &[("a/input.ndjson", ""), ("a/case.toml", "writers = [\"txet\"]\n[args]\nwidht = 3\nascii = 1\n")],
    );
    let suite = Suite::find(&folder.0);
    let told = suite.problems.to_string().replace(&format!("{}/", folder.0.display()), "");
    let expected = "a/case.toml:3:1: there is no key \"args.widht\" (did you mean \"args.width\"?)\n\
                    a/case.toml:4:9: true or false is wanted";
    assert_eq!((told.as_str(), suite.cells.len()), (expected, 0));
}

#[test]
fn a_diff_marks_words_and_makes_blanks_visible() {
    let diff = Diff::of("same\nthe quick brown fox\nend", "same\nthe slow brown fox  \nend\n");
    let expected = "@@ line 1 → 1 @@\n same\n-the [-quick-] brown fox\n-end[-(no newline)-]\n\
                    +the {+slow+} brown fox{+··+}\n+end\n";
    assert_eq!(diff.to_string(), expected);
    let many = (0..100).map(|line| line.to_string()).collect::<Vec<_>>().join("\n") + "\n";
    let diff = Diff::of(&many, &many.replace('5', "x"));
    assert_eq!((diff.hunks.len(), diff.more > 0), (3, true));
    assert_eq!(Diff::of("", &many).hunks[0].more, 20);
    assert_eq!(Diff::of("a\tb\u{1b}\n", "").to_string(), "@@ line 1 → 1 @@\n-a⇥b␛\n");
    assert_eq!(Diff::of(&many, &many), Diff::default());
}

#[test]
fn escapes_are_kept_visibly() {
    assert_eq!(visible("\u{1b}[1mC:\\e\u{1b}[0m"), r"\e[1mC:\\e\e[0m");
}

#[test]
fn laws_that_are_broken_are_noticed() {
    let engine = Engine::builder().dialect("claude").writer("text").build().unwrap();
    let one = format!("{REPLY}\n");
    let two = format!("{one}{}\n", REPLY.replace("\"m\"", "\"n\""));
    let run = |input: &str| Run::of(&engine, [input.as_bytes()]);
    let pieces =
        |input: &str, run: &Run| laws::depends_on_pieces(&engine, input.as_bytes(), run, Chunks::All);

    assert_eq!(pieces(&two, &run(&two)), None);
    assert_eq!(laws::unseen_line(&engine, two.as_bytes(), &run(&two)), None);
    assert_eq!(laws::uncounted(two.as_bytes(), &run(&two).report), None);
    // What came of one line of two: then the other was read, and lost.
    let told = pieces(&two, &run(&one)).unwrap();
    assert!(told.contains("read again, line 2 is «», not «nothing»"), "{told}");
    let told = laws::uncounted(two.as_bytes(), &run(&one).report).unwrap();
    assert!(told.contains("of 2 lines 1 were read and 1 accounted for"), "{told}");
    let told = laws::unseen_line(&engine, two.as_bytes(), &run(&one)).unwrap();
    assert!(told.contains("line 1 is neither shown nor counted"), "{told}");
    assert_eq!(laws::harm("fine \u{202e} not fine", false).as_deref(), Some("fine <U+202E> not fine"));
    assert_eq!(laws::harm("a\u{1b}[1;31mb\u{1b}[0m", true), None);
    assert_eq!(laws::harm("a\u{1b}[2J", true).as_deref(), Some("a␛[2J"));
}
