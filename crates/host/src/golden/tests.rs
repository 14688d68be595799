use std::fs;
use std::path::PathBuf;

use super::*;

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
        Suite::find(&self.0).unwrap().cells
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
    assert_eq!(Suite::find(&folder.0).unwrap().orphans, [folder.0.join("a/b/expected/full.text.txt")]);
}

#[test]
fn short_cases_share_a_file() {
    let file = format!("A remark.\n\n=== one\n{REPLY}\n----\nwrong\n\n\n=== two\n----\n-----\n\n");
    let folder = Folder::new("short", &[("golden.toml", "[args]\nfrom = \"claude\""), ("some.cases", &file)]);
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
    let Err(problems) = Suite::find(&folder.0) else { panic!("that is fine?") };
    let told = problems.to_string().replace(&format!("{}/", folder.0.display()), "");
    let expected = "a/case.toml:3:1: there is no key \"args.widht\" (did you mean \"args.width\"?)\n\
                    a/case.toml:4:9: true or false is wanted\n\
                    a: there is no output format \"txet\" (did you mean \"text\"?)";
    assert_eq!(told, expected);
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
    let engine = Choices::default().engine("default", "text").unwrap();
    let one = format!("{REPLY}\n");
    let two = format!("{one}{}\n", REPLY.replace("\"m\"", "\"n\""));
    let broken = |input: &str, run: &Run| laws::broken(&engine, input.as_bytes(), run).join("; ");
    let run = |input: &str| Run::of(&engine, [input.as_bytes()]);

    assert_eq!(broken(&two, &run(&two)), "");
    // What came of one line of two: then the other was read, and lost.
    let told = broken(&two, &run(&one));
    assert!(told.contains("read again, line 2 is «», not «nothing»"), "{told}");
    assert!(told.contains("of 2 lines 1 were read and 1 accounted for"), "{told}");
    assert!(told.contains("line 1 is neither shown nor counted"), "{told}");
    let steering = Run { text: "fine \u{202e} not fine\n".to_owned(), ..run(&one) };
    let told = broken(&one, &steering);
    assert!(told.contains("something came out that could steer a terminal: fine <U+202E>"), "{told}");
}
