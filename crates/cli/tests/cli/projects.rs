//! Where a project's settings may be, and which files a trusted project may contribute.

use std::fs;
use std::process::Command;

use crate::program::{Folder, Outcome, SESSION};

const RED: &str = "[roles]\nreply = \"red\"\n";

/// A project in a larger folder; `run` runs in the project.
fn project(files: &[(&str, &str)]) -> Folder {
    let folder =
        Folder::with(&[("project/s.jsonl", SESSION), ("project/.git/HEAD", ""), ("outside.toml", RED)]);
    for (name, text) in files {
        folder.write(&format!("project/{name}"), text);
    }
    folder
}

fn command(folder: &Folder, arguments: &str) -> Command {
    let mut command = folder.command(arguments);
    command.current_dir(folder.path("project"));
    command
}

fn run(folder: &Folder, arguments: &str) -> Outcome {
    command(folder, arguments).output().unwrap().into()
}

#[test]
fn settings_lie_in_either_of_two_places_and_the_nearest_count() {
    let settings = "tool.Bash.label = 'x'\n";
    let usual = run(&project(&[]), "s.jsonl").expect(0, "").stdout;
    for name in ["streamfmt.toml", ".streamfmt/config.toml"] {
        let folder = project(&[(name, settings)]);
        let told =
            format!("streamfmt: ignored tool.Bash.label: {name} is not trusted; see: streamfmt trust\n");
        assert_eq!(run(&folder, "s.jsonl").expect(0, &told).stdout, usual);
    }
    let both = project(&[("streamfmt.toml", "layout.width = 40\n"), (".streamfmt/config.toml", settings)]);
    assert_eq!(
        run(&both, "config show layout").expect(0, "").stdout,
        "layout.gap = 1\nlayout.margin = 2\nlayout.width = 40\nlayout.glyphs = \"unicode\"\n"
    );
    // The search stops at the root of a repository.
    let above = project(&[]);
    above.write("streamfmt.toml", settings);
    run(&above, "s.jsonl").expect(0, "");
}

#[cfg(unix)]
#[test]
fn settings_that_are_no_file_of_the_project_are_not_read() {
    use std::os::unix::fs::symlink;

    let folder = project(&[]);
    folder.write("outside.toml", "hide = ['reply']\n");
    let file = folder.path("project/streamfmt.toml");
    let usual = run(&folder, "s.jsonl").expect(0, "").stdout;
    let told = |what: &str| {
        let outcome = run(&folder, "s.jsonl");
        assert_eq!((outcome.code, &outcome.stdout), (Some(0), &usual), "{outcome:?}");
        assert!(outcome.stderr.lines().count() <= 1 && outcome.stderr.contains(what), "{outcome:?}");
    };
    symlink("../outside.toml", &file).unwrap();
    told("streamfmt.toml: not inside ");
    fs::remove_file(&file).unwrap();
    symlink("/etc/passwd", &file).unwrap();
    told("streamfmt.toml: not inside ");
    fs::remove_file(&file).unwrap();
    symlink("streamfmt.toml", &file).unwrap();
    told("");
    fs::remove_file(&file).unwrap();
    // It doesn't wait for a pipe.
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    told("");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    told("");
    fs::remove_dir(&file).unwrap();
    fs::write(&file, b"hide = ['reply']\xff\n").unwrap();
    told("streamfmt.toml: not UTF-8");
}

#[test]
fn a_theme_that_is_not_there_is_told_and_the_usual_one_is_used() {
    let folder = project(&[("streamfmt.toml", "theme = 'nope'\n")]);
    let outcome = run(&folder, "--color always s.jsonl");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.stderr.starts_with("streamfmt: streamfmt.toml:1:9: theme \"nope\": no theme is called"),
        "{outcome:?}"
    );
    assert!(outcome.stdout.contains("First reply."), "{outcome:?}");
}

#[test]
fn a_trusted_theme_and_all_that_it_builds_on_is_what_was_trusted() {
    let folder = project(&[
        ("streamfmt.toml", "theme = './looks/mine.toml'\n"),
        ("looks/mine.toml", "extends = './base.toml'\n"),
        ("looks/base.toml", RED),
    ]);
    let shown = run(&folder, "trust --yes");
    assert!(shown.code == Some(0) && shown.stdout.contains("looks/base.toml"), "{shown:?}");
    let outcome = run(&folder, "--color always s.jsonl").expect(0, "");
    assert!(outcome.stdout.contains("\x1b[31mFirst reply."), "{outcome:?}");
    folder.write("project/looks/base.toml", RED.replace("red", "blue"));
    let outcome = run(&folder, "--color always s.jsonl");
    assert!(outcome.stderr.contains("has changed since you trusted it"), "{outcome:?}");
    assert!(!outcome.stdout.contains("\x1b[34mFirst reply."), "{outcome:?}");
    for outside in ["../outside.toml", "../../outside.toml", "~/outside.toml"] {
        folder.write("project/looks/mine.toml", format!("extends = '{outside}'\n"));
        folder.write("home/outside.toml", RED);
        run(&folder, "trust --yes");
        let outcome = run(&folder, "--color always s.jsonl");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(!outcome.stdout.contains("\x1b[31mFirst reply."), "{outside}: {outcome:?}");
    }
}

#[test]
fn what_a_trusted_project_changes_is_told_to_people_alone() {
    let folder = project(&[("streamfmt.toml", "hide = ['outcome']\n")]);
    run(&folder, "trust --yes");
    let told = "streamfmt.toml changes the output: hide";
    for (format, is_told) in [
        ("text", true),
        ("ansi", true),
        ("markdown", true),
        ("html", true),
        ("cast", true),
        ("json", false),
        ("items", false),
    ] {
        let outcome = run(&folder, &format!("--to {format} s.jsonl"));
        assert_eq!(outcome.stdout.contains(told), is_told, "{format}: {outcome:?}");
        assert!(!run(&folder, &format!("--to {format} --no-project s.jsonl")).stdout.contains(told));
    }
}

#[cfg(unix)]
#[test]
fn no_project_says_where_sessions_are_served_or_kept() {
    let settings =
        "theme = 'plain'\n[serve]\nport = 1\nbind = ['0.0.0.0']\nnonsense = 1\n[store]\nfolder = '/tmp'\n";
    let place = "only your own settings may set it; it belongs in ~/.config/streamfmt/config.toml";
    let told = |stderr: &str| -> Vec<String> {
        let lines = stderr.lines().filter(|line| line.contains("your own settings"));
        lines.map(str::to_owned).collect()
    };
    let expected = [(3, "serve.port"), (4, "serve.bind"), (5, "serve.nonsense"), (7, "store.folder")]
        .map(|(line, key)| format!("streamfmt: streamfmt.toml:{line}:1: {key}: {place}"));
    let folder = project(&[("streamfmt.toml", settings)]);
    for standing in ["", "trust --yes", "trust --deny"] {
        if !standing.is_empty() {
            assert_eq!(run(&folder, standing).code, Some(0), "{standing}");
        }
        let outcome = run(&folder, "s.jsonl");
        assert_eq!((outcome.code, told(&outcome.stderr)), (Some(0), expected.to_vec()), "{standing}");
        assert!(!outcome.stderr.contains("ignored serve"), "trust wouldn't help: {outcome:?}");
    }
    run(&folder, "trust --yes");
    let own = "[serve]\nbind = ['nowhere']\n";
    folder.write("home/.config/streamfmt/config.toml", own);
    let served = run(&folder, "serve");
    assert!(served.stderr.contains("config.toml:2: serve.bind: expected IP addresses"), "{served:?}");
    assert_eq!((served.code, told(&served.stderr)), (Some(2), expected.to_vec()), "{served:?}");
    assert_eq!(served.stderr.matches("serve.bind: expected").count(), 1, "only one's own is read");
    // The problem has its place for another user-only key as well.
    folder.write("project/streamfmt.toml", "trusted-paths = ['/**']\n");
    run(&folder, "trust --yes");
    assert_eq!(told(&run(&folder, "s.jsonl").stderr), [format!("streamfmt: streamfmt.toml:1:18: {place}")]);
}
