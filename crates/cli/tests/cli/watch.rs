//! `--watch`: plugins, profiles and themes take effect when they are saved.

use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{Folder, SESSION, reply};

/// A plugin that says `word` of each reply.
fn says(word: &str) -> String {
    format!("sf.view('reply', function(item) return sf.text('{word}: ' .. item.text) end)\n")
}

/// The program while it runs, its messages in a file.
struct Running<'a> {
    folder: &'a Folder,
    child: Child,
}

impl<'a> Running<'a> {
    fn start(folder: &'a Folder, arguments: &str) -> Self {
        let mut command = folder.command(arguments);
        let file = |name: &str| Stdio::from(fs::File::create(folder.path(name)).unwrap());
        command.stdin(Stdio::piped()).stdout(file("stdout")).stderr(file("stderr"));
        Self { folder, child: command.spawn().unwrap() }
    }

    #[track_caller]
    fn expect(&self, file: &str, part: &str) {
        let begun = Instant::now();
        while !fs::read_to_string(self.folder.path(file)).is_ok_and(|text| text.contains(part)) {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "waited for {part:?} in {file}: {:?}",
                fs::read_to_string(self.folder.path(file))
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn send(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
        self.folder.read("stdout")
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_file_is_written_anew_when_a_plugin_is_saved_and_a_broken_one_changes_nothing() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("p.lua", &says("one"))]);
    let running = Running::start(&folder, "--watch --plugin p.lua -o out s.jsonl");
    running.expect("out", "one: Second reply.");
    folder.write("p.lua", says("two"));
    running.expect("out", "two: Second reply.");
    // A save that can't be loaded is told with its place, and what there was stays.
    folder.write("p.lua", "\nsf.view('reply', function(\n");
    running.expect("stderr", "p.lua:3");
    running.expect("stderr", "what was loaded before is kept");
    assert!(folder.read("out").contains("two: Second reply."));
    // Some editors write a new file and give it the old name.
    folder.write("new", says("three"));
    fs::rename(folder.path("new"), folder.path("p.lua")).unwrap();
    running.expect("out", "three: Second reply.");
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
    running.expect("out", "\x1b[31mSecond reply.");
    assert!(!folder.read("out").contains("done"));
    folder.write("profile.toml", "hide = []\n");
    running.expect("out", "done");
    folder.write("base.toml", "[roles]\nreply = \"blue\"\n");
    running.expect("out", "\x1b[34mSecond reply.");
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
    running.expect("out", "Second reply.");
    running.expect("stderr", "detail");
    assert!(!folder.read("out").contains("done"));
    // What was wrong before keeps nothing from being loaded, wherever it stands now, and is told once.
    folder.write(&format!("{home}/team.toml"), "hide = []\n");
    running.expect("out", "done");
    let settings = "\ndetial = 1\nlayout.margin = 7\n";
    folder.write(&format!("{home}/config.toml"), settings);
    running.expect("out", "       Second reply.");
    assert_eq!(folder.read("stderr").matches("detial").count(), 2, "{}", folder.read("stderr"));
    // A new mistake does.
    folder.write(&format!("{home}/config.toml"), format!("{settings}hied = 1\n"));
    running.expect("stderr", "what was loaded before is kept");
    assert!(folder.read("stderr").contains("config.toml:4:1: there is no key \"hied\""));
    folder.write(&format!("{home}/config.toml"), settings);
    // Files that were looked for in vain.
    folder.write(&format!("{home}/init.lua"), says("mine"));
    running.expect("out", "mine: Second reply.");
    folder.write("streamfmt.toml", "layout.glyphs = 'ascii'\nlayout.width = 40\nlimits.result-lines = 3\n");
    running.expect("out", "+ done");
}

#[cfg(unix)]
#[test]
fn a_link_that_is_switched_leads_to_the_other_plugin() {
    use std::os::unix::fs::symlink;
    let folder = Folder::with(&[("s.jsonl", SESSION), ("a/p.lua", &says("one")), ("b/p.lua", &says("two"))]);
    symlink("a", folder.path("now")).unwrap();
    let running = Running::start(&folder, "--watch --plugin now/p.lua -o out s.jsonl");
    running.expect("out", "one: Second reply.");
    symlink("b", folder.path("next")).unwrap();
    fs::rename(folder.path("next"), folder.path("now")).unwrap();
    running.expect("out", "two: Second reply.");
}

#[test]
fn a_stream_goes_on_with_the_new_version_and_keeps_its_session() {
    let folder = Folder::with(&[("p.lua", &says("one"))]);
    let mut running = Running::start(&folder, "--watch --plugin p.lua");
    running.send(SESSION.split_inclusive('\n').next().unwrap());
    running.send(&reply(1));
    running.expect("stdout", "one: reply number 1.");
    folder.write("p.lua", says("two"));
    running.expect("stderr", "loaded anew");
    running.send(&reply(2));
    running.expect("stdout", "two: reply number 2.");
    let text = running.end();
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
        running.send(&(reply(1) + &reply(2)));
        running.expect("stdout", "old 2");
        folder.write("p.lua", counts(reload, "new"));
        running.expect("stderr", "loaded anew");
        running.send(&reply(3));
        running.expect("stdout", after);
        running.end();
    }
}

#[test]
fn a_file_that_nobody_sees_again_is_not_watched_for() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    folder
        .run("--watch s.jsonl")
        .expect(2, "streamfmt: --watch shows a file again and again: on a terminal, or with --output\n");
}
