//! Cases in temporary folders: how they are found, checked and accepted, and how violated laws are detected.

#[cfg(feature = "lua")]
mod plugins;

use std::fs;
use std::path::PathBuf;

use super::run::{CaseRun, visible};
use super::*;
use streamfmt_core::entry::{Line, View};
use streamfmt_core::formatter::{FormatError, Formatter, Verdict};
use streamfmt_core::item::Item;
use streamfmt_core::pipeline::Output;
use streamfmt_core::session::Session;

use crate::engine::Engine;

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = tempfile::TempDir::with_prefix(format!("streamfmt-golden-{name}-")).unwrap().keep();
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn cells(&self) -> Vec<CaseVariant> {
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
fn a_case_is_new_then_accepted_then_equal_then_different() {
    let folder =
        Folder::new("life", &[("golden.toml", "[args]\nfrom = \"claude\""), ("a/b/input.ndjson", REPLY)]);
    let cells = folder.cells();
    assert_eq!(cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(), ["a/b/default.text"]);
    let outcome = cells[0].check();
    assert_eq!((outcome.text.as_str(), &outcome.expected, outcome.is_good()), ("  Hello\n", &None, false));
    cells[0].bless(&outcome).unwrap();
    assert!(cells[0].check().is_good());
    fs::write(&cells[0].file, "  Hallo\n").unwrap();
    let outcome = cells[0].check();
    assert_eq!(outcome.diff().to_string(), "@@ line 1 → 1 @@\n-  [-Hallo-]\n+  {+Hello+}\n");
    for name in ["full.text.txt", "README.md", ".kept.by.git", "a.folder.d/x"] {
        let path = folder.0.join("a/b/expected").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    assert_eq!(Suite::find(&folder.0).orphans, [folder.0.join("a/b/expected/full.text.txt")]);
}

#[test]
fn the_same_folder_given_twice_is_checked_once() {
    let folder = Folder::new("twice", &[("a/b/input.ndjson", REPLY), ("a/b/expected/full.text.txt", "")]);
    let mut suite = Suite::find(&folder.0.join("a"));
    suite.join(Suite::find(&folder.0.join("a/../a")));
    assert_eq!((suite.cells.len(), suite.orphans.len(), suite.problems.0.len()), (1, 1, 0));
    // Two profiles that would share a file are distinct.
    fs::write(folder.0.join("a/b/case.toml"), "profiles = [\"x/mine.toml\", \"y/mine.toml\"]").unwrap();
    let problems = Suite::find(&folder.0).problems.to_string();
    assert_eq!(problems, "a/b/mine.text: two cases have this name; rename one");
}

#[test]
fn only_a_folder_with_the_files_of_a_case_is_one() {
    let files =
        [("expected/output.txt", ""), ("other/expected", "a file"), ("real/expected/default.text.txt", "")];
    let folder = Folder::new("signs", &files);
    let suite = Suite::find(&folder.0);
    let problems = suite.problems.to_string().replace(&format!("{}/", folder.0.display()), "");
    assert!(
        problems.starts_with("real/input.ndjson: can't read the input (no such file); save the stream there"),
        "{problems}"
    );
    assert_eq!((suite.problems.0.len(), suite.cells.len()), (1, 0));
    let problems = Suite::find(&folder.0.join("expected/output.txt")).problems.to_string();
    assert!(problems.ends_with("not a folder (each case is a folder)"), "{problems}");
}

#[cfg(unix)]
#[test]
fn what_a_link_leads_to_is_no_unused_file_of_a_case() {
    use std::os::unix::fs::symlink;
    let files = [
        ("mine/notes.for.me", ""),
        ("cases/one/input.ndjson", REPLY),
        ("cases/two/input.ndjson", REPLY),
        ("cases/two/expected/old.text.txt", ""),
    ];
    let folder = Folder::new("linked", &files);
    let unused = || Suite::find(&folder.0.join("cases")).orphans;
    for (link, target) in [
        ("cases/one/expected", "../../mine"),
        ("cases/two/expected/new.text.txt", "../../../mine/notes.for.me"),
        ("cases/three", "../mine"),
    ] {
        symlink(target, folder.0.join(link)).unwrap();
        assert_eq!(unused(), [folder.0.join("cases/two/expected/old.text.txt")], "{link}");
    }
}

#[cfg(unix)]
#[test]
fn endless_files_are_refused() {
    use std::os::unix::fs::symlink;
    let files = [
        ("a/case.toml", ""),
        ("b/input.ndjson", REPLY),
        ("b/expected/full.text.txt", ""),
        ("c/input.ndjson", REPLY),
    ];
    let folder = Folder::new("endless", &files);
    for link in ["a/input.ndjson", "b/expected/default.text.txt", "c/case.toml", "d"] {
        symlink("/dev/zero", folder.0.join(link)).unwrap();
    }
    let mut suite = Suite::find(&folder.0);
    suite.join(Suite::find(&folder.0.join("d")));
    let problems = suite.problems.to_string().replace(&format!("{}/", folder.0.display()), "");
    for message in
        ["a/input.ndjson: can't read the input (not a file)", "c/case.toml: not a file", "d: not a folder"]
    {
        assert!(problems.contains(message), "{message} is not in\n{problems}");
    }
    assert!(suite.cells[0].check().problems[0].contains("can't read the expected output (not a file)"));
}

#[test]
fn profiles_of_the_project_are_known_by_name() {
    let input = REPLY.replace("\"text\":\"Hello\"", "\"text\":\"Hello\\n\\nyou\"");
    let files = [
        (".git", ""),
        ("streamfmt.toml", "[profile.compact]\nlayout.margin = 4\n\n[profile.full]\nlayout.margin = 6\n"),
        ("tests/golden/a/input.ndjson", input.as_str()),
        (
            "tests/golden/a/case.toml",
            "profiles = [\"compact\", \"full\", \"../../../streamfmt.toml#compact\"]",
        ),
        ("tests/golden/b/input.ndjson", input.as_str()),
        ("tests/golden/b/case.toml", "profiles = [\"compcat\"]"),
    ];
    let folder = Folder::new("project", &files);
    let suite = Suite::find(&folder.0.join("tests/golden"));
    // Both ways to refer to the profile result in the same name.
    assert_eq!(suite.problems.to_string(), "a/compact.text: two cases have this name; rename one");
    let texts: Vec<String> = suite.cells.iter().map(|cell| cell.check().text).collect();
    let [four, two] = ["    Hello\n\n    you\n", "  Hello\n\n  you\n"];
    assert_eq!(texts, [four, four, two, ""]);
    let problems = suite.cells[3].check().problems.join("\n");
    assert!(problems.contains("unknown profile \"compcat\" (did you mean \"compact\"?)"), "{problems}");
}

#[test]
fn wrong_keys_are_reported_with_their_place() {
    let folder = Folder::new(
        "keys",
        &[
            ("a/input.ndjson", ""),
            ("a/case.toml", "writers = [\"txet\"]\n[args]\nwidht = 3\nascii = 1\n"),
            ("b/input.ndjson", ""),
            (
                "b/case.toml",
                "expect = 3\nenv = { color = 257 }\nredact = [{ regex = 'x', with = '' }, { regex = '(', with = '' }]\n",
            ),
        ],
    );
    let suite = Suite::find(&folder.0);
    let problems = suite.problems.to_string().replace(&format!("{}/", folder.0.display()), "");
    let expected = "a/case.toml:3:1: unknown key \"args.widht\" (did you mean \"args.width\"?)\n\
                    a/case.toml:4:9: expected true or false\n\
                    b/case.toml:1:10: expected a table with exit, warnings, damage, empty\n\
                    b/case.toml:2:17: expected truecolor, 256 or 16\n\
                    b/case.toml:3:10: entry 2: invalid regex: unclosed group";
    assert_eq!((problems.as_str(), suite.cells.len()), (expected, 0));
}

#[test]
fn a_file_overrides_those_above_it() {
    let files = [
        ("golden.toml", "matrix = [\"full.roles\"]\nenv.now = 2026-01-01T00:00:00Z"),
        ("a/input.ndjson", REPLY),
        ("a/case.toml", "writers = [\"text\", \"json\"]\nenv.now = \"2026-01-01T01:00:00+02:00\""),
        ("b/input.ndjson", REPLY),
        ("c/input.ndjson", REPLY),
        ("c/case.toml", "matrix = [\"text\"]\nenv.now = \"2026-01-01\""),
    ];
    let folder = Folder::new("over", &files);
    let suite = Suite::find(&folder.0);
    let times: Vec<(&str, String)> = suite
        .cells
        .iter()
        .map(|cell| (cell.name.as_str(), cell.case.choices.now.unwrap().to_string()))
        .collect();
    let [early, late] = ["2025-12-31T23:00:00Z", "2026-01-01T00:00:00Z"].map(str::to_owned);
    let expected = [("a/default.json", early.clone()), ("a/default.text", early), ("b/full.roles", late)];
    assert_eq!(times, expected);
    let problems = suite.problems.to_string().replace(&format!("{}/", folder.0.display()), "");
    let expected = "c/case.toml:1:10: \"text\" is not PROFILE.WRITER (as in default.text)\n\
                    c/case.toml:2:11: \"2026-01-01\" is not a time with an offset (like 2026-01-01T00:00:00Z)";
    assert_eq!(problems, expected);
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
    let diff = Diff::of("a\rb\u{9b}2J\u{202e}c\u{1b}[31m\u{7f}é\n", "").to_string();
    assert_eq!(diff, "@@ line 1 → 1 @@\n-a␍b<U+009B>2J<U+202E>c␛[31m␡é\n");
    assert_eq!(Diff::of(&many, &many), Diff::default());
    let long = |word: &str| format!("{}{word} {}\n", "a ".repeat(500), "b ".repeat(5_000));
    let diff = Diff::of(&long("old"), &long("new")).to_string();
    let parts = ["…840 characters…", "a [-old-] b", "a {+new+} b", "…9841 characters…"];
    assert!(parts.iter().all(|part| diff.contains(part)) && diff.len() < 1_000, "{diff}");
}

#[test]
fn escapes_are_made_visible() {
    assert_eq!(visible("\u{1b}[1mC:\\e\u{1b}[0m"), r"\e[1mC:\\e\e[0m");
}

#[test]
fn broken_laws_are_detected() {
    let engine = Engine::builder().dialect("claude").writer("text").build().unwrap();
    let one = format!("{REPLY}\n");
    let two = format!("{one}{}\n", REPLY.replace("\"m\"", "\"n\""));
    let run = |input: &str| CaseRun::of(&engine, [input.as_bytes()]);
    let pieces =
        |input: &str, run: &CaseRun| laws::depends_on_pieces(&engine, input.as_bytes(), run, Chunks::All);

    assert_eq!(pieces(&two, &run(&two)), None);
    assert_eq!(laws::unseen_line(&engine, two.as_bytes(), &run(&two)), None);
    assert_eq!(laws::uncounted(two.as_bytes(), &run(&two).report), None);
    // The output of one line for an input of two: the other line was read and lost.
    let problems = pieces(&two, &run(&one)).unwrap();
    assert!(problems.contains("read again, line 2 is «» instead of «nothing»"), "{problems}");
    let problems = laws::uncounted(two.as_bytes(), &run(&one).report).unwrap();
    assert!(problems.contains("of 2 lines, 1 were read and 1 accounted for"), "{problems}");
    let problems = laws::unseen_line(&engine, two.as_bytes(), &run(&one)).unwrap();
    assert!(problems.contains("line 1 is neither shown nor counted"), "{problems}");
    assert_eq!(laws::harm("fine \u{202e} not fine", false).as_deref(), Some("fine <U+202E> not fine"));
    assert_eq!(laws::harm("a\u{1b}[1;31mb\u{1b}[0m", true), None);
    assert_eq!(laws::harm("a\u{1b}[2J", true).as_deref(), Some("a␛[2J"));
}

/// Shows a blank view for every item.
struct Blank;

impl Formatter for Blank {
    fn name(&self) -> &'static str {
        "blank"
    }

    fn format(&self, _: &Item, _: &Session) -> Result<Verdict, FormatError> {
        Ok(Verdict::Show(View::titled("call", Line::of("text", " "))))
    }
}

#[test]
fn an_entry_without_content_is_a_lost_item() {
    let engine = Engine::builder().dialect("claude").build().unwrap();
    let mut setup = engine.setup();
    assert_eq!(laws::unwritten_item(engine.setup(), REPLY.as_bytes()), None);
    if let Output::Entries { formatters, .. } = &mut setup.output {
        formatters.insert(0, Box::new(Blank));
    }
    let problems = laws::unwritten_item(setup, REPLY.as_bytes()).unwrap();
    assert!(problems.starts_with("1 items (the first is "), "{problems}");
}
