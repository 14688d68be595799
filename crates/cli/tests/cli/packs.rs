//! Plugin packs: creating, testing, installing and sharing them.

use std::fs;

use crate::program::{Folder, SESSION};

/// The folder of installed plugins.
const PLUGINS: &str = "home/.local/share/streamfmt/plugins";

#[test]
fn a_new_plugin_passes_its_checks_and_works() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let told = folder.run("plugin new demo").expect(0, "").stdout;
    assert!(told.starts_with("demo/.luarc.json\ndemo/README.md\ndemo/init.lua\n"), "{told}");
    assert!(told.ends_with("now: cd demo && streamfmt plugin test\n"), "{told}");
    let fine = "demo 0.1.0 is valid: 1 thing registered, 1 golden case\n";
    assert_eq!(folder.run("plugin check demo").expect(0, "").stdout, fine);
    let case = folder.run("demo/tests/a-command/input.ndjson --to text --plugin demo --strict-plugins");
    let expected = folder.read("demo/tests/a-command/expected/default.text.txt");
    assert_eq!(case.expect(0, "").stdout, expected);
    assert!(expected.contains("● sh git status --short\n  └ 2 lines\n"), "{expected}");

    assert_eq!(folder.run("plugin test demo").expect(0, "").stdout, "1 passed, 0 failed\n");
    let manifest = folder.read("demo/plugin.toml").replace("\"sh\"", "\"bash\"");
    folder.write("demo/plugin.toml", manifest);
    let told = folder.run("plugin test demo").expect(1, "").stdout;
    assert!(told.contains("-● [-sh-] git status") && told.ends_with("0 passed, 1 failed\n"), "{told}");

    folder.run("plugin new demo").expect(2, "streamfmt: demo: already exists\n");
    let wrong = "a plugin's name is made of letters, digits, - _ and . and begins with one of the first two";
    folder.run("plugin new .x").expect(2, &format!("streamfmt: .x: {wrong}\n"));
}

#[test]
fn everything_that_is_wrong_is_told_with_its_place() {
    let folder = Folder::new();
    fs::create_dir(folder.path("bad")).unwrap();
    folder.write(
        "bad/plugin.toml",
        "name = \"bad\"\napi = 7\nlicence = \"MIT\"\n[options.x]\ntype = \"number\"\n",
    );
    folder.write("bad/init.lua", "sf.tool(\"Bash\", { label = 3 })\n");
    let told = "streamfmt: bad/plugin.toml:2:7: it needs another api than 1, which this program has\n  2 | api = 7\n    |       ^\n\
                streamfmt: bad/plugin.toml:4:10: the option x has no default\n  4 | [options.x]\n    |          ^\n\
                streamfmt: bad/plugin.toml:3:1: unknown key \"licence\" (did you mean \"license\"?)\n  3 | licence = \
                \"MIT\"\n    | ^^^^^^^\n";
    assert_eq!(folder.run("plugin check bad").expect(1, told).stdout, "");

    folder.write("bad/plugin.toml", "name = \"bad\"\napi = 1\n");
    let outcome = folder.run("plugin check bad");
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.starts_with("streamfmt: bad/init.lua:1:1: "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the plugin has no tests; add one: "), "{}", outcome.stderr);

    folder.write("bad/init.lua", "local x = 1\n");
    let outcome = folder.run("plugin check bad");
    assert!(outcome.stderr.contains("it registers nothing"), "{}", outcome.stderr);
    folder.run("plugin check nope").expect(2, "streamfmt: nope: no such file or folder\n");
}

#[test]
fn functions_are_tried_on_a_sample_when_a_plugin_is_checked() {
    let plugin = "sf.tool('*', { summary = function(r) return r.txt end })\n\
                  sf.tool('deploy', { arg = function(i, c) return c.env end })\n\
                  sf.tool('mcp__*__x', { arg = function(i) return i.env:upper() end })\n\
                  sf.view('outcome', function(o) return { text = o.text } end)\n\
                  sf.on('call', function(c, ctx) ctx.state.n = ctx.sate end)\n\
                  sf.on('plan', function(p) error('no') end)\n";
    let folder = Folder::with(&[("p.lua", plugin)]);
    let told = folder.run("plugin check p.lua");
    assert_eq!(told.code, Some(1));
    let lines: Vec<&str> = told.stderr.lines().filter(|line| line.starts_with("streamfmt: ")).collect();
    assert_eq!(
        lines,
        [
            "streamfmt: p.lua:1:1: a result has no field `txt` (did you mean `text`?)",
            "streamfmt: p.lua:2:1: a call has no field `env` (did you mean `input.env`?)",
            "streamfmt: p.lua:4:1: a table with the key \"text\" is neither a block nor a list: return a text, a block such as \
             sf.text(…), or a list of these",
            "streamfmt: p.lua:5:1: there is no ctx.sate (did you mean `ctx.state`?)",
        ]
    );
}

#[test]
fn accumulators_are_tried_on_records_and_listed() {
    let plugin = "sf.records('sum', {\n\
                  add = function(sum, record, ctx) return ctx.sate end,\n\
                  view = function(sum) return 'none' end })\n\
                  sf.records('count', {\n\
                  begin = function() return 0 end,\n\
                  add = function(count) return count + 1 end,\n\
                  view = function(count) return { count = count } end })\n";
    let folder = Folder::with(&[("p.lua", plugin)]);
    let told = folder.run("plugin check p.lua");
    assert_eq!(told.code, Some(1));
    let lines: Vec<&str> = told.stderr.lines().filter(|line| line.starts_with("streamfmt: ")).collect();
    assert_eq!(
        lines,
        [
            "streamfmt: p.lua:2:1: there is no ctx.sate (did you mean `ctx.state`?)",
            "streamfmt: p.lua:7:1: a table with the key \"count\" is neither a block nor a list: return a text, a block such as \
             sf.text(…), or a list of these",
        ]
    );
    let good = plugin.replace("ctx.sate", "sum").replace("{ count = count }", "tostring(count)");
    folder.write("p.lua", &good);
    folder.run("plugin check p.lua").expect(0, "");
    folder.run("plugin add p.lua").expect(0, "");
    let shown = folder.run("plugin show p").expect(0, "").stdout;
    assert!(shown.contains("\n  records sum ") && shown.contains("\n  records count "), "{shown}");
    let reply = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"So:\n{\"type\":\"a\"}\n{\"type\":\"b\"}"}]}}"#;
    folder.write("in.jsonl", reply);
    let text = folder.run("--plugin p --set records=count in.jsonl").stdout;
    assert_eq!(text.trim_end(), "  So:\n\n  2");
}

#[test]
fn what_is_added_can_be_listed_shown_and_removed() {
    let folder = Folder::new();
    folder.run("plugin new demo").expect(0, "");
    let added = folder.run("plugin add demo").expect(0, "").stdout;
    let (what, hash) = added.lines().next().unwrap().rsplit_once(' ').unwrap();
    assert_eq!(what, "added demo 0.1.0: 7 files in ~/.local/share/streamfmt/plugins/demo, sha256");
    assert_eq!(hash.len(), 64, "{added}");
    assert!(added.ends_with("\nto use it, add to a profile: plugins = [\"demo\"]\n"), "{added}");
    assert!(
        folder.run("plugin add demo").expect(0, "").stdout.starts_with("replaced demo 0.1.0 by demo 0.1.0: ")
    );
    let listed = folder.run("plugin list").expect(0, "").stdout;
    assert!(
        listed.lines().any(|line| line.starts_with("  demo  ") && line.contains("  installed  ")),
        "{listed}"
    );
    let shown = folder.run("plugin show demo").expect(0, "").stdout;
    for line in [
        "home      installed",
        "  mark  string  = \"sh\"  What stands in place of the tool's name",
        "  tool @run  label, arg, summary  demo/init.lua:2",
    ] {
        assert!(shown.lines().any(|told| told == line), "{line}: {shown}");
    }
    assert!(shown.contains(hash), "{shown}");

    folder.run("plugin show deom").expect(2, "streamfmt: deom: unknown plugin (did you mean \"demo\"?)\n");
    folder.run("plugin remove demo").expect(0, "");
    assert!(!folder.path(PLUGINS).join("demo").exists());
}

/// The files of a plugin with a profile.
fn with_profile(plugin: &str, profile: &str, text: &str) -> [(String, String); 3] {
    [
        (format!("{plugin}/plugin.toml"), format!("name = \"{plugin}\"\napi = 1\n")),
        (format!("{plugin}/init.lua"), format!("sf.tool('Bash', {{ label = '{plugin}' }})\n")),
        (format!("{plugin}/profiles/{profile}.toml"), text.to_owned()),
    ]
}

#[test]
fn themes_and_profiles_of_a_plugin_are_checked_with_it() {
    let folder = Folder::new();
    folder.run("plugin new demo").expect(0, "");
    folder.write(
        "demo/profiles/short.toml",
        "extends = [\"base\"]\nlimits.result-lnes = 3\ntheme = \"dusky\"\nplugin.demo.mark = 3\nplugins = [\"nope\"]\n",
    );
    folder.write("demo/profiles/base.toml", "layout.gap = 1\n");
    folder.write("demo/profiles/full.toml", "layout.gap = 1\n");
    folder.write("demo/themes/dusk.toml", "extends = \"nope\"\n[roles]\ntext = \"blurple\"\n");
    let outcome = folder.run("plugin check demo");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
    let places: Vec<&str> = outcome
        .stderr
        .lines()
        .filter_map(|line| Some(line.strip_prefix("streamfmt: ")?.split(": ").next().unwrap_or_default()))
        .collect();
    assert_eq!(
        places,
        [
            "demo/profiles/full.toml",
            "demo/profiles/short.toml:2:8",
            "demo/profiles/short.toml:3:9",
            "demo/profiles/short.toml:4:20",
            "demo/profiles/short.toml:5:12",
            "demo/themes/dusk.toml:1:11",
            "demo/themes/dusk.toml:3:8",
        ],
        "{}",
        outcome.stderr
    );
    for part in
        ["did you mean \"limits.result-lines\"?", "unknown plugin", "option mark", "a built-in profile"]
    {
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    }
    for name in ["profiles/short.toml", "profiles/full.toml", "themes/dusk.toml"] {
        fs::remove_file(folder.path("demo").join(name)).unwrap();
    }
    let fine = "demo 0.1.0 is valid: 1 thing registered, 1 golden case\n";
    assert_eq!(folder.run("plugin check demo").expect(0, "").stdout, fine);
}

#[test]
fn a_profile_of_any_installed_plugin_can_be_chosen_by_its_name() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let add = |plugin: &str, files: &[(String, String)]| {
        for (name, text) in files {
            folder.write(name, text);
        }
        folder.run(&format!("plugin add {plugin}")).expect(0, "");
    };
    let short = "extends = ['none', 'base']\nhide = ['outcome']\n";
    add("one", &with_profile("one", "short", short));
    folder.write("one/profiles/base.toml", "layout.margin = 7\n");
    folder.run("plugin add one").expect(0, "");
    let shown = folder.run("--profile short s.jsonl").expect(0, "").stdout;
    assert!(shown.contains("       Second reply.") && !shown.contains("done"), "{shown}");
    let listed = folder.run("profile list --profile short").expect(0, "").stdout;
    assert!(listed.contains("* short       one/profiles/short.toml\n"), "{listed}");
    let used = folder.run("plugin list --profile short").expect(0, "").stdout;
    let row = "* one             lua  installed  one/profiles/short.toml";
    assert!(used.lines().any(|line| line == row) || used.contains("* one "), "{used}");

    // A name defined by two plugins is ambiguous unless something selects one.
    add("two", &with_profile("two", "short", "layout.margin = 9\n"));
    let told = "streamfmt: --profile: several plugins define the profile \"short\": one, two (--plugin one chooses that \
                one's, and so does plugins = [\"one\"] outside of a profile)\n";
    folder.run("--profile short s.jsonl").expect(2, told);
    let listed = folder.run("profile list").expect(0, "").stdout;
    assert!(listed.contains("one/profiles/short.toml or two/profiles/short.toml\n"), "{listed}");
    let shown = folder.run("--profile short --plugin ./two s.jsonl").expect(0, "").stdout;
    assert!(shown.contains("         Second reply."), "{shown}");
    folder.write("home/.config/streamfmt/config.toml", "plugins = ['two']\n");
    let shown = folder.run("--profile short s.jsonl").expect(0, "").stdout;
    assert!(shown.contains("         Second reply."), "{shown}");

    // The user's own profile takes precedence over a plugin's.
    folder.write("home/.config/streamfmt/config.toml", "[profile.short]\nlayout.margin = 5\n");
    let shown = folder.run("--profile short s.jsonl").expect(0, "").stdout;
    assert!(shown.contains("\n     Second reply."), "{shown}");
}

#[test]
fn the_list_says_which_plugins_are_used_here_and_why() {
    let folder = Folder::with(&[
        (
            "home/.config/streamfmt/config.toml",
            "\nplugins = ['mcp-pretty', './x.lua']\n[profile.mine]\nplugins.add = ['cost']\n",
        ),
        ("home/.config/streamfmt/x.lua", "sf.tool('Bash', {})\n"),
        ("work/streamfmt.toml", "theme = 'dark'\nplugins.add = ['redact']\n"),
        ("work/.streamfmt/init.lua", "sf.tool('Bash', {})\n"),
    ]);
    let list = |arguments: &str| {
        let mut command = folder.command(&format!("plugin list {arguments}"));
        let output = command.current_dir(folder.path("work")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let rows = String::from_utf8(output.stdout).unwrap();
        rows.lines().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let is_in = |rows: &[String], wanted: &str| {
        assert!(rows.iter().any(|row| row.starts_with(wanted)), "{wanted}: {rows:#?}");
    };
    let rows = list("");
    is_in(&rows, "* mcp-pretty 1.0.0 lua built-in ~/.config/streamfmt/config.toml:2 ");
    is_in(&rows, "cost 1.0.0 lua built-in Running");
    is_in(&rows, "* x lua path ~/.config/streamfmt/config.toml:2");
    is_in(&rows, "plugins project streamfmt.toml:2 not trusted, so it is not used");
    is_in(&rows, ".streamfmt/init.lua project not trusted, so it is not used");
    is_in(&list("--profile mine"), "* cost 1.0.0 lua built-in ~/.config/streamfmt/config.toml:4 ");
    assert!(!list("--no-project").iter().any(|row| row.contains("trusted")));
    let mut trust = folder.command("trust --yes");
    assert!(trust.current_dir(folder.path("work")).output().unwrap().status.success());
    let rows = list("");
    is_in(&rows, "* .streamfmt/init.lua lua project plugin");
    is_in(&rows, "* redact 1.0.0 lua built-in streamfmt.toml:2 ");
}

#[cfg(unix)]
#[test]
fn an_installed_plugin_that_was_edited_is_refused_until_it_is_decided_on() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    folder.run("plugin new demo").expect(0, "");
    folder.run("plugin add demo").expect(0, "");
    let script = folder.path(PLUGINS).join("demo/init.lua");
    let edit = || {
        fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&script, "sf.tool(\"@run\", { label = \"mine\" })\n").unwrap();
    };
    edit();
    for command in ["plugin show demo", "plugin add demo"] {
        let outcome = folder.run(command);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(
            outcome.stderr.contains("edited") && outcome.stderr.contains("plugin fork demo"),
            "{outcome:?}"
        );
    }
    folder.run("plugin add demo --discard").expect(0, "");
    folder.run("plugin show demo").expect(0, "");
    edit();
    let told = folder.run("plugin fork demo").expect(0, "").stdout;
    assert_eq!(told, "copied demo to ~/.config/streamfmt/plugins/demo\n");
    assert!(folder.read("home/.config/streamfmt/plugins/demo/init.lua").contains("mine"));
    let shown = folder.run("plugin show demo").expect(0, "").stdout;
    assert!(shown.contains("home      own"), "{shown}");
}

#[test]
fn a_lua_file_is_installed_and_found_by_its_name() {
    let loud = "sf.view('reply', function(reply) return reply.text:upper() end)\n";
    let folder = Folder::with(&[("s.jsonl", SESSION), ("loud.lua", loud), ("a b.lua", loud)]);
    let told = folder.run("plugin add loud.lua").expect(0, "").stdout;
    assert!(told.starts_with("added loud: 2 files in ~/.local/share/streamfmt/plugins/loud, "), "{told}");
    let text = folder.run("--plugin loud s.jsonl").expect(0, "").stdout;
    assert!(text.contains("FIRST REPLY."), "{text}");
    assert!(folder.run("plugin add loud.lua").expect(0, "").stdout.starts_with("replaced loud: "));
    let told = "streamfmt: a b.lua: \"a b\" can't be the name of a plugin: ";
    let outcome = folder.command("plugin add").arg("a b.lua").output().unwrap();
    assert!(String::from_utf8(outcome.stderr).unwrap().starts_with(told));
    folder.run("plugin remove loud").expect(0, "");

    // The user's own plugin may be a single file as well.
    folder.write("home/.config/streamfmt/plugins/loud.lua", loud);
    let text = folder.run("--plugin loud s.jsonl").expect(0, "").stdout;
    assert!(text.contains("FIRST REPLY."), "{text}");
    let listed = folder.run("plugin list").expect(0, "").stdout;
    assert!(listed.lines().any(|line| line.split_whitespace().eq(["loud", "lua", "own"])), "{listed}");
    let shown = folder.run("plugin show loud").expect(0, "").stdout;
    assert!(shown.contains("folder    ~/.config/streamfmt/plugins/loud.lua\n"), "{shown}");
}

#[test]
fn what_can_be_added_is_told_to_whoever_tries_something_else() {
    let folder = Folder::with(&[("x.txt", "")]);
    let what = "a plugin is installed from a folder or a Lua file on this computer";
    let url = "https://example.com/x.tar.gz";
    folder
        .run(&format!("plugin add {url}"))
        .expect(2, &format!("streamfmt: {url}: nothing is downloaded: {what}; git clone brings it here\n"));
    folder.run("plugin add x.txt").expect(2, &format!("streamfmt: x.txt: {what}\n"));
    let told = folder.run("plugin install x.lua").stderr;
    assert!(told.ends_with("\n  did you mean \"plugin add\"?\n"), "{told}");
}

#[test]
fn an_editor_is_told_of_the_interface() {
    let folder = Folder::new();
    folder.run("plugin types").expect(0, "");
    assert!(folder.read("sf.d.lua").contains("function sf.tool(pattern, spec) end"));
    assert!(folder.read(".luarc.json").contains("\"runtime.version\": \"Lua 5.1\""));
    assert_eq!(folder.run("plugin types nowhere").code, Some(74));
}
