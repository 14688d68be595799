//! `--watch`: plugins, profiles and themes take effect when they are saved.

use std::fs;

use crate::program::{Folder, Running, SESSION, reply};

/// A plugin that writes `word` before each reply.
fn says(word: &str) -> String {
    format!("sf.view('reply', function(item) return sf.text('{word}: ' .. item.text) end)\n")
}

#[test]
fn a_file_is_written_anew_when_a_plugin_is_saved_and_a_broken_one_changes_nothing() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("p.lua", &says("one"))]);
    let running = Running::start(&folder, "--watch --plugin p.lua -o out s.jsonl");
    running.until_written("out", "one: Second reply.");
    folder.write("p.lua", says("two"));
    running.until_written("out", "two: Second reply.");
    // A broken file is reported with its place, and the earlier version stays in use.
    folder.replace("p.lua", "\nsf.view('reply', function(\n");
    running.until_reported("p.lua:3");
    running.until_reported("keeping what was loaded before");
    assert!(folder.read("out").contains("two: Second reply."));
    folder.write("p.lua", says("three"));
    running.until_written("out", "three: Second reply.");
    assert!(!folder.read("out").contains("two"), "it is written anew, not added to");
}

#[test]
fn profiles_and_themes_and_what_they_build_on_are_watched() {
    let folder = Folder::with(&[
        ("s.jsonl", SESSION),
        ("profile.toml", "hide = [\"outcome\"]\n"),
        ("theme.toml", "extends = \"./base.toml\"\n"),
        ("base.toml", "[roles]\nreply = \"red\"\n"),
    ]);
    let running = Running::start(
        &folder,
        "--watch --profile ./profile.toml --theme ./theme.toml --color always -o out s.jsonl",
    );
    running.until_written("out", "\x1b[31mSecond reply.");
    assert!(!folder.read("out").contains("done"));
    folder.write("profile.toml", "hide = []\n");
    running.until_written("out", "done");
    folder.write("base.toml", "[roles]\nreply = \"blue\"\n");
    running.until_written("out", "\x1b[34mSecond reply.");
}

#[test]
fn settings_are_watched_with_what_they_lead_to_and_what_may_come() {
    let home = "home/.config/streamfmt";
    let folder = Folder::with(&[
        ("s.jsonl", SESSION),
        (
            &format!("{home}/config.toml"),
            "default-profile = 'mine'\ndetial = 1\n[profile.mine]\nextends = ['./team.toml']\n",
        ),
        (&format!("{home}/team.toml"), "hide = ['outcome']\n"),
    ]);
    let running = Running::start(&folder, "--watch -o out s.jsonl");
    running.until_written("out", "Second reply.");
    running.until_reported("detail");
    assert!(!folder.read("out").contains("done"));
    // An earlier mistake doesn't prevent loading, even at a new place, and is reported once.
    folder.replace(&format!("{home}/team.toml"), "hide = []\n");
    running.until_written("out", "done");
    let settings = "\ndetial = 1\nlayout.margin = 7\n";
    folder.replace(&format!("{home}/config.toml"), settings);
    running.until_written("out", "       Second reply.");
    assert_eq!(running.messages().matches("detial").count(), 2, "{}", running.messages());
    // A new mistake does.
    folder.replace(&format!("{home}/config.toml"), format!("{settings}hied = 1\n"));
    running.until_reported("keeping what was loaded before");
    assert!(running.messages().contains("config.toml:4:1: unknown key \"hied\""));
    folder.replace(&format!("{home}/config.toml"), settings);
    // Files that didn't exist before.
    folder.replace(&format!("{home}/init.lua"), says("mine"));
    running.until_written("out", "mine: Second reply.");
    folder.replace("streamfmt.toml", "layout.glyphs = 'ascii'\nlayout.width = 40\nlimits.result-lines = 3\n");
    running.until_written("out", "+ done");
}

#[cfg(unix)]
#[test]
fn a_link_that_is_switched_leads_to_the_other_plugin() {
    use std::os::unix::fs::symlink;
    let folder = Folder::with(&[("s.jsonl", SESSION), ("a/p.lua", &says("one")), ("b/p.lua", &says("two"))]);
    symlink("a", folder.path("now")).unwrap();
    let running = Running::start(&folder, "--watch --plugin now/p.lua -o out s.jsonl");
    running.until_written("out", "one: Second reply.");
    symlink("b", folder.path("next")).unwrap();
    fs::rename(folder.path("next"), folder.path("now")).unwrap();
    running.until_written("out", "two: Second reply.");
}

#[test]
fn a_stream_goes_on_with_the_new_version_and_keeps_its_session() {
    let folder = Folder::with(&[("p.lua", &says("one"))]);
    let mut running = Running::start(&folder, "--watch --plugin p.lua");
    running.feed(SESSION.split_inclusive('\n').next().unwrap());
    running.feed(&reply(1));
    running.until_shown("one: reply number 1.");
    folder.replace("p.lua", says("two"));
    running.until_reported("reloaded");
    running.feed(&reply(2));
    running.until_shown("two: reply number 2.");
    let text = running.finish().expect(0, "streamfmt: reloaded\n").stdout;
    assert_eq!(text.matches("model-1").count(), 1, "the session goes on: {text}");
    assert!(text.contains("one: reply number 1.") && !text.contains("two: reply number 1."), "{text}");
}

#[test]
fn state_is_dropped_unless_the_plugin_takes_it_over() {
    let counts = |reload: &str, word: &str| {
        format!(
            "sf.plugin {{ name = 'count', {reload} }}\n\
             sf.on('session.start', function(_, ctx) ctx.state.n = 0 end)\n\
             sf.on('reply', function(_, ctx) ctx.state.n = ctx.state.n + 1 end)\n\
             sf.view('reply', function(item, ctx) return sf.text('{word} ' .. ctx.state.n) end)\n"
        )
    };
    for (reload, after) in [
        ("", "new 1"),
        ("reload = function(old) return { n = old.n } end", "new 3"),
        ("reload = function(old) return { n = old.n + 10 } end", "new 13"),
    ] {
        let folder = Folder::with(&[("p.lua", &counts("", "old"))]);
        let mut running = Running::start(&folder, "--watch --plugin p.lua");
        running.feed(&(reply(1) + &reply(2)));
        running.until_shown("old 2");
        folder.replace("p.lua", counts(reload, "new"));
        running.until_reported("reloaded");
        running.feed(&reply(3));
        running.until_shown(after);
        assert_eq!(running.finish().code, Some(0));
    }
}

#[test]
fn a_file_that_nobody_sees_again_is_not_watched_for() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    folder.run("--watch s.jsonl").expect(2, "streamfmt: --watch needs a terminal or --output\n");
}
