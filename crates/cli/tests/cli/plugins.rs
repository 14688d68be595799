//! Plugins on the command line.

use crate::program::{Folder, SESSION};

const LOUD: &str = "sf.view(\"reply\", function(reply) return sf.prose(reply.text:upper()) end)\n";

#[test]
fn plugins_change_what_is_said() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("loud.lua", LOUD)]);
    let text = folder.run("s.jsonl --plugin loud.lua --strict-plugins").expect(0, "").stdout;
    assert!(text.contains("FIRST REPLY."), "{text}");
}

#[test]
fn a_broken_plugin_is_told_and_everything_is_said_without_it() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("loud.lua", LOUD), ("bad.lua", "sf.tool(\n")]);
    let told = "warning[plugin]: bad failed while loading\n  --> bad.lua:2\n  |\n2 | \n  | ^ Expected identifier when \
                parsing expression, got <eof>\n  = the plugin is left out (told once)\n";
    let text = folder.run("s.jsonl --plugin bad.lua --plugin loud.lua").expect(0, told).stdout;
    assert!(text.contains("FIRST REPLY."), "{text}");
    folder.run("s.jsonl --plugin bad.lua --strict-plugins").expect(3, told);
}

#[test]
fn a_plugin_that_is_not_there_is_a_mistake_of_the_command() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    folder.run("s.jsonl --plugin no.lua").expect(2, "streamfmt: --plugin no.lua: no such file\n");
}

#[test]
fn an_endless_plugin_is_stopped() {
    let endless =
        "sf.view('reply', function() while true do pcall(function() while true do end end) end end)";
    let folder = Folder::with(&[("s.jsonl", SESSION), ("endless.lua", endless)]);
    let output = folder
        .run("s.jsonl --plugin endless.lua --plugin-errors inline --strict-plugins")
        .expect(3, "streamfmt: 1 more failure of plugins, like those told\n");
    assert!(
        output.stdout.contains("First reply.") && output.stdout.contains("stopped after"),
        "{}",
        output.stdout
    );
}

#[test]
fn dialects_and_writers_of_plugins_are_chosen_by_their_names() {
    let dialect = "sf.dialect('acme', { parse = function(o) return sf.item.reply { text = o.body } end })";
    let writer = "sf.writer('shout', { prose = function(b) return b.text:upper() end })";
    let folder = Folder::with(&[("s.jsonl", "{\"body\":\"Hi.\"}\n"), ("d.lua", dialect), ("w.lua", writer)]);
    let text =
        folder.run("s.jsonl --from acme --to shout --plugin d.lua --plugin w.lua").expect(0, "").stdout;
    assert_eq!(text, "  HI.\n");
    let told = "streamfmt: --from acmee: there is no such dialect (did you mean \"acme\"?)\n\
                streamfmt: --to shuot: there is no such output format (did you mean \"shout\"?)\n";
    folder.run("s.jsonl --from acmee --to shuot --plugin d.lua --plugin w.lua").expect(2, told);
}

#[test]
fn a_name_means_the_plugin_that_the_user_has_and_no_folder_that_lies_here() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    folder.write("redact/plugin.toml", "name = 'redact'\napi = 1\n");
    folder.write("redact/init.lua", "print('not me')\n");
    let told = "streamfmt: --plugin redact: the built-in plugin is used, not the folder ./redact\n";
    folder.run("--plugin redact s.jsonl").expect(0, told);
    let outcome = folder.run("--plugin ./redact s.jsonl");
    assert!(outcome.stderr.contains("not me"), "{outcome:?}");
    let told = "streamfmt: --plugin gti: there is no such plugin (did you mean \"git\"?)\n";
    folder.run("--plugin gti s.jsonl").expect(2, told);
    let outcome = folder.run("--plugin . s.jsonl");
    assert!(outcome.stderr.starts_with("warning[plugin]: . failed while loading\n"), "{outcome:?}");
}

#[test]
fn a_function_with_a_wrong_name_is_told_with_the_right_one() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("p.lua", "sf.item.reply {}\nsf.tol('Bash', {})\n")]);
    let outcome = folder.run("--plugin p.lua s.jsonl");
    let why = "attempt to call a nil value: there is no sf.tol (did you mean sf.tool?)\n";
    assert!(outcome.stderr.contains(why), "{outcome:?}");
}
