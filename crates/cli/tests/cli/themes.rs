//! The user's own themes, and the command for them.

use crate::program::{Folder, SESSION};

/// A folder with a session and a theme among the user's settings.
fn folder(theme: &str) -> Folder {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    std::fs::create_dir_all(folder.path("config/streamfmt/themes")).unwrap();
    folder.write("config/streamfmt/themes/mine.toml", theme);
    folder
}

fn run(folder: &Folder, arguments: &str) -> crate::program::Outcome {
    let mut command = folder.command(arguments);
    command.env("XDG_CONFIG_HOME", folder.path("config")).env("HOME", folder.path(""));
    command.output().unwrap().into()
}

#[test]
fn a_theme_is_found_by_its_name_and_by_its_path() {
    let folder = folder("about = \"mine\"\n[roles]\nreply = \"red\"\n");
    folder.write("near.toml", "extends = \"./base/blue.toml\"\n");
    std::fs::create_dir(folder.path("base")).unwrap();
    folder.write("base/blue.toml", "[roles]\nreply = \"blue\"\n");
    for (name, color) in [("mine", 31), ("./near.toml", 34), ("near.toml", 34)] {
        let outcome = run(&folder, &format!("--color always --theme {name} s.jsonl")).expect(0, "");
        assert!(outcome.stdout.contains(&format!("\x1b[{color}mFirst reply.")), "{name}: {outcome:?}");
    }
    run(&folder, "--color always --theme mien s.jsonl")
        .expect(2, "streamfmt: --theme mien: no theme is called \"mien\" (did you mean \"mine\"?)\n");
    run(&folder, "--color always --theme ./gone.toml s.jsonl")
        .expect(2, "streamfmt: --theme ./gone.toml: ./gone.toml: no such file\n");
}

#[test]
fn a_theme_of_a_built_in_name_goes_over_that_one() {
    let folder = folder("");
    folder.write("config/streamfmt/themes/dark.toml", "extends = \"dark\"\n[roles]\nreply = \"1\"\n");
    let outcome = run(&folder, "--color always --theme dark s.jsonl").expect(0, "");
    assert!(outcome.stdout.contains("\x1b[31mFirst reply."), "{outcome:?}");
}

#[test]
fn a_theme_with_mistakes_is_used_and_they_are_told() {
    let folder = folder("[roles]\nreply = \"red\"\ncall = \"blu\"\n");
    let path = folder.path("config/streamfmt/themes/mine.toml");
    let told = format!(
        "streamfmt: {}:3:8: unknown colour \"blu\" (did you mean \"blue\"?)\n  3 | call = \"blu\"\n    |        ^^^^^\n",
        path.display()
    );
    let outcome = run(&folder, "--color always --theme mine s.jsonl").expect(0, &told);
    assert!(outcome.stdout.contains("\x1b[31mFirst reply."), "{outcome:?}");
    let outcome = run(&folder, "theme check mine").expect(1, &told);
    assert_eq!(outcome.stdout, "mine: 1 wrong, 0 hard to read\n");
}

#[test]
fn check_tells_what_is_hard_to_read() {
    let folder = folder("[dark]\nbackground = \"#000000\"\n[dark.roles]\nreply = \"#404040\"\n");
    let outcome = run(&folder, "theme check mine contrast").expect(
        0,
        "streamfmt: mine: reply is hard to read on dark (contrast 2.0, at least 4.5 is recommended)\n",
    );
    assert_eq!(outcome.stdout, "mine: 0 wrong, 1 hard to read\ncontrast: fine\n");
}

#[test]
fn themes_are_listed_shown_and_tried() {
    let folder = folder("about = \"all mine\"\nappearance = \"light\"\n");
    let list = run(&folder, "theme list").expect(0, "").stdout;
    assert!(list.contains("contrast    dark and light  high contrast: "), "{list}");
    assert!(list.contains("mine        light           all mine (yours)"), "{list}");
    let shown = run(&folder, "theme show ember").expect(0, "").stdout;
    assert!(shown.starts_with("about = \"warm"), "{shown}");
    folder.write("copy.toml", shown);
    assert_eq!(run(&folder, "theme check ./copy.toml").expect(0, "").stdout, "./copy.toml: fine\n");
    let tried = run(&folder, "theme preview ansi ember:light --color always --width 80").expect(0, "").stdout;
    assert!(tried.contains("==> ansi <==") && tried.contains("==> ember:light <=="), "{tried}");
    assert!(tried.contains("\x1b[1mBash\x1b[0m"), "{tried}");
}

#[test]
fn a_theme_that_is_not_there_is_told_whether_it_is_used_or_not() {
    let settings = "home/.config/streamfmt/config.toml";
    let folder = Folder::with(&[
        ("s.jsonl", SESSION),
        ("home/.config/streamfmt/themes/mine.toml", "[roles]\n"),
        ("mine.toml", "detail = \"full\"\ntheme = \"drak\"\n"),
    ]);
    for look in ["--color never", "--color always", "--to html", "--to cast", "--to items"] {
        let nope = "no theme is called \"drak\" (did you mean \"dark\"?)\n";
        for option in ["--theme drak", "--set theme=drak"] {
            let told = format!("streamfmt: {option}: {nope}");
            assert_eq!(folder.run(&format!("s.jsonl {look} {option}")).expect(2, &told).stdout, "");
        }
        let told = "streamfmt: --set theme=./no.toml: ./no.toml: no such file\n";
        folder.run(&format!("s.jsonl {look} --set theme=./no.toml")).expect(2, told);
        let place = "  2 | theme = \"drak\"\n    |         ^^^^^^\n";
        let told = format!("streamfmt: ./mine.toml:2:9: theme \"drak\": {nope}{place}");
        folder.run(&format!("s.jsonl {look} --profile ./mine.toml")).expect(2, &told);
        // A replacement for the missing theme needs no theme of that name.
        folder.run(&format!("s.jsonl {look} --profile ./mine.toml --set theme=mono:light")).expect(0, "");
        folder.run(&format!("s.jsonl {look} --profile ./mine.toml --theme mine")).expect(0, "");
        // In discovered settings, the missing theme is ignored.
        folder.write(settings, "theme = \"drak\"\n");
        let found = folder.run(&format!("s.jsonl {look}"));
        let told = format!("streamfmt: ~/.config/streamfmt/config.toml:1:9: theme \"drak\": {nope}");
        assert!(found.code == Some(0) && found.stderr.starts_with(&told), "{found:?}");
        assert!(found.stdout.contains("First reply."), "{found:?}");
        std::fs::remove_file(folder.path(settings)).unwrap();
    }
}
