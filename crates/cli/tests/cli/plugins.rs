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
                parsing expression, got <eof>\n  = the plugin is not loaded (reported once)\n";
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
        .expect(3, "streamfmt: 1 more plugin failure like these\n");
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
    let told = "streamfmt: --from acmee: unknown dialect (did you mean \"acme\"?)\n\
                streamfmt: --to shuot: unknown output format (did you mean \"shout\"?)\n";
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
    let told = "streamfmt: --plugin cots: unknown plugin (did you mean \"cost\"?)\n";
    folder.run("--plugin cots s.jsonl").expect(2, told);
    let outcome = folder.run("--plugin . s.jsonl");
    assert!(outcome.stderr.starts_with("warning[plugin]: . failed while loading\n"), "{outcome:?}");
}

#[test]
fn a_summary_of_a_result_whose_call_is_not_shown_names_the_call() {
    let sample =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl"))
            .unwrap();
    let slow =
        "sf.tool('*', { summary = function(result) return result.took and 'took ' .. result.took end })";
    let folder = Folder::with(&[("shop.jsonl", &sample), ("slow.lua", slow)]);
    for pairs in ["always", "never"] {
        for to in ["text", "html", "markdown"] {
            let outcome =
                folder.run(&format!("shop.jsonl --plugin slow.lua --set layout.pairs={pairs} --to {to}"));
            assert!(!outcome.stdout.contains("result of toolu_"), "{pairs} {to}");
        }
        let text = folder.run(&format!("shop.jsonl --plugin slow.lua --set layout.pairs={pairs}")).stdout;
        assert!(
            text.lines().filter(|line| line.starts_with("↳ TodoWrite · took ")).count() >= 2,
            "{pairs}: {text}"
        );
    }
}

#[test]
fn a_function_with_a_wrong_name_is_told_with_the_right_one() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("p.lua", "sf.item.reply {}\nsf.tol('Bash', {})\n")]);
    let outcome = folder.run("--plugin p.lua s.jsonl");
    let why = "there is no sf.tol (did you mean `sf.tool`?)\n";
    assert!(outcome.stderr.contains(why), "{outcome:?}");
}

#[test]
fn misspelled_roles_are_told_once_with_their_place() {
    let plugin = "sf.tool('Bash', { role = 'tool.nam' })\nsf.view('reply', function(reply)\n  return sf.line(\n    \
                  sf.span('>', 'tool.name.mine'),\n    sf.span(reply.text, \"mutedd\"))\nend)\n";
    let folder = Folder::with(&[("s.jsonl", SESSION), ("lib/p.lua", plugin)]);
    let warning = |line: usize, source: &str, before: &str, message: &str| {
        format!(
            "warning[plugin]: p uses an unknown role\n  --> lib/p.lua:{line}\n  |\n{line} | {before}{source}\n  | \
             {before}^ unknown role {message}\n  = shown with the style of its parent role, or of text (reported once)\n"
        )
    };
    let of_tool = "\"tool.nam\" (did you mean \"tool.name\"?)";
    let told = warning(1, "sf.tool('Bash', { role = 'tool.nam' })", "", of_tool)
        + &warning(5, "sf.span(reply.text, \"mutedd\"))", "    ", "\"mutedd\" (did you mean \"muted\"?)");
    folder.run("s.jsonl s.jsonl --plugin lib/p.lua --strict-plugins").expect(0, &told);
    let checked = folder.run("plugin check lib/p.lua");
    assert_eq!(checked.code, Some(1));
    let told = format!("streamfmt: lib/p.lua:1:1: unknown role {of_tool}\n");
    assert!(checked.stderr.starts_with(&told), "{checked:?}");
}

#[test]
fn a_misspelled_role_in_settings_is_told_with_its_place() {
    let rule = "[tool.Bash]\nrole = \"replyy\"\n[tool.Read]\nrole = \"tool.name.mine\"\n";
    let folder = Folder::with(&[("s.jsonl", SESSION), ("home/.config/streamfmt/config.toml", rule)]);
    let told = "streamfmt: ~/.config/streamfmt/config.toml:2:8: unknown role \"replyy\" (did you mean \"reply\"?)\n  \
                2 | role = \"replyy\"\n    |        ^^^^^^^^\n";
    folder.run("s.jsonl").expect(0, told);
    folder.run("config check").expect(1, told);
    let told = "streamfmt: --set tool.Bash.role=nest.a: ";
    assert!(!folder.run("s.jsonl --set tool.Bash.role=nest.a").stderr.contains(told));
    let told = "streamfmt: --set tool.Bash.role=nst.a: unknown role \"nst.a\" (did you mean \"nest\"?)\n";
    folder.run("s.jsonl --set tool.Bash.role=nst.a").expect(0, told);
}

#[test]
fn messages_lead_to_the_file_on_the_disk() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    folder.write("a/b/plugin.toml", "name = 'other'\napi = 1\n");
    folder.write("a/b/init.lua", "require('lib.names')\n");
    folder.write(
        "a/b/lib/names.lua",
        "\nlocal _ = pcall(error, 'x')\nprint(select(2, pcall(error, 'x', 1)))\nerror('no')\n",
    );
    let outcome = folder.run("--plugin a/b s.jsonl");
    assert!(outcome.stderr.contains("\n  --> a/b/lib/names.lua:4\n"), "{outcome:?}");
    let outcome =
        folder.command("--plugin . ../../s.jsonl").current_dir(folder.path("a/b")).output().unwrap();
    let told = String::from_utf8(outcome.stderr).unwrap();
    assert!(told.contains("\n  --> lib/names.lua:4\n"), "{told}");
    let outcome = folder.run("plugin check a/b");
    assert!(outcome.stderr.contains("a/b/lib/names.lua:4:1: no"), "{outcome:?}");
    folder.write("a/b/plugin.toml", "name = 'other'\napi = 1\nentyr = 'x'\n");
    let outcome = folder.run("plugin check a/b");
    assert!(outcome.stderr.contains("a/b/plugin.toml:3:1: "), "{outcome:?}");
}

#[test]
fn a_folder_that_is_no_plugin_is_told_and_the_script_in_it_is_hinted_at() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("dollar/a.lua", LOUD), ("dollar/README.md", "")]);
    let why = "the folder has no plugin.toml (did you mean dollar/a.lua?)";
    let told = folder.run("--plugin dollar s.jsonl").stderr;
    assert!(told.contains(&format!("  = {why}\n")), "{told}");
    for command in ["plugin check dollar", "plugin add dollar"] {
        let outcome = folder.run(command);
        assert!(outcome.stderr.starts_with(&format!("streamfmt: dollar: {why}\n")), "{outcome:?}");
    }
}

#[test]
fn the_users_own_script_may_ask_for_others_beside_it() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("home/.config/lib.lua", "error('outside')")]);
    let own = "home/.config/streamfmt";
    folder.write(
        &format!("{own}/init.lua"),
        "local up = require('lib.up')\nsf.view('reply', function(it) return up(it.text) end)\n",
    );
    folder.write(&format!("{own}/lib/up.lua"), "return string.upper\n");
    folder.write(&format!("{own}/plugins/other/names.lua"), "return 1\n");
    let text = folder.run("s.jsonl").expect(0, "").stdout;
    assert!(text.contains("FIRST REPLY."), "{text}");
    for name in ["plugins.other.names", "..lib", "../lib", "lib"] {
        folder.write(&format!("{own}/init.lua"), format!("require('{name}')\n"));
        let told = folder.run("s.jsonl").stderr;
        let why = format!("require: the plugin has no module \"{name}\"");
        assert!(told.contains(&why) && told.contains("/.config/streamfmt/init.lua:1\n"), "{told}");
    }
}
