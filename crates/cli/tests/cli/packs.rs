//! Plugins as things that are made, tried, installed and given away.

use std::fs;

use crate::program::{Folder, SESSION};

/// Where installed plugins lie.
const PLUGINS: &str = "home/.local/share/streamfmt/plugins";

#[test]
fn a_new_plugin_passes_its_checks_and_works() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let told = folder.run("plugin new demo").expect(0, "").stdout;
    assert!(told.starts_with("demo/.luarc.json\ndemo/README.md\ndemo/init.lua\n"), "{told}");
    assert!(told.ends_with("now: cd demo && streamfmt plugin test\n"), "{told}");
    let fine = "demo 0.1.0 is fine: 1 thing registered, 1 golden case\n";
    assert_eq!(folder.run("plugin check demo").expect(0, "").stdout, fine);
    let case = folder.run("demo/tests/a-command/input.ndjson --to text --plugin demo --strict-plugins");
    let expected = folder.read("demo/tests/a-command/expected/default.text.txt");
    assert_eq!(case.expect(0, "").stdout, expected);
    assert!(expected.contains("● sh git status --short\n    2 lines\n"), "{expected}");

    assert_eq!(folder.run("plugin test demo").expect(0, "").stdout, "1 passed, 0 failed\n");
    let manifest = folder.read("demo/plugin.toml").replace("\"sh\"", "\"bash\"");
    folder.write("demo/plugin.toml", manifest);
    let told = folder.run("plugin test demo").expect(1, "").stdout;
    assert!(told.contains("-● [-sh-] git status") && told.ends_with("0 passed, 1 failed\n"), "{told}");

    folder.run("plugin new demo").expect(2, "streamfmt: demo: it is there already\n");
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
    let told = "streamfmt: plugin.toml:2:7: it needs another api than 1, which this program has\n  2 | api = 7\n    |       ^\n\
                streamfmt: plugin.toml:4:10: the option x has no default\n  4 | [options.x]\n    |          ^\n\
                streamfmt: plugin.toml:3:1: there is no key \"licence\" (did you mean \"license\"?)\n  3 | licence = \
                \"MIT\"\n    | ^^^^^^^\n";
    assert_eq!(folder.run("plugin check bad").expect(1, told).stdout, "");

    folder.write("bad/plugin.toml", "name = \"bad\"\napi = 1\n");
    let outcome = folder.run("plugin check bad");
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.starts_with("streamfmt: bad/init.lua:1:1: "), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("the plugin has no tests; add the first case with: "),
        "{}",
        outcome.stderr
    );

    folder.write("bad/init.lua", "local x = 1\n");
    let outcome = folder.run("plugin check bad");
    assert!(outcome.stderr.contains("it registers nothing"), "{}", outcome.stderr);
    folder.run("plugin check nope").expect(2, "streamfmt: nope: no such file or folder\n");
}

#[test]
fn what_is_packed_can_be_installed_listed_shown_and_removed() {
    let folder = Folder::new();
    folder.run("plugin new demo").expect(0, "");
    let packed = folder.run("plugin pack demo -o demo.tar.gz").expect(0, "").stdout;
    let hash = packed.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(hash.len(), 64, "{packed}");
    let bytes = fs::read(folder.path("demo.tar.gz")).unwrap();
    folder.run("plugin pack demo -o demo.tar.gz").expect(0, "");
    assert_eq!(fs::read(folder.path("demo.tar.gz")).unwrap(), bytes);

    let added = folder.run("plugin add demo.tar.gz").expect(0, "").stdout;
    assert_eq!(
        added,
        format!(
            "added demo 0.1.0: 8 files in ~/.local/share/streamfmt/plugins/demo, sha256 {hash}\n\
             to use it, in a profile: plugins = [\"demo\"]\n"
        )
    );
    assert!(
        folder.run("plugin add demo").expect(0, "").stdout.starts_with("replaced demo 0.1.0 by demo 0.1.0: ")
    );
    let listed = folder.run("plugin list").expect(0, "").stdout;
    assert!(
        listed.lines().any(|line| line.starts_with("demo  ") && line.contains("  installed  ")),
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
    assert!(shown.contains(&hash), "{shown}");

    folder
        .run("plugin show deom")
        .expect(2, "streamfmt: deom: there is no such plugin (did you mean \"demo\"?)\n");
    folder.run("plugin remove demo").expect(0, "");
    assert!(!folder.path(PLUGINS).join("demo").exists());
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
    assert_eq!(told, "demo is yours now, in ~/.config/streamfmt/plugins/demo\n");
    assert!(folder.read("home/.config/streamfmt/plugins/demo/init.lua").contains("mine"));
    let shown = folder.run("plugin show demo").expect(0, "").stdout;
    assert!(shown.contains("home      own"), "{shown}");
}

#[test]
fn the_prompt_answers_what_is_piped_into_it() {
    let folder = Folder::new();
    folder.run("plugin new demo").expect(0, "");
    let event = "plugin repl demo --event demo/tests/a-command/input.ndjson:2";
    let typed = "call.tool\ninput\nx = 1\nx + 1\nshow(sf.text('\\27[2J'))\n:told\nwhile true do end\nnope()\n1 +\n:what\n\
                 :next\nresult.text\n:told\n";
    let told = folder.pipe(event, typed).expect(0, "").stdout;
    let expected = [
        "call Bash (line 2)",
        "\"Bash\"",
        "{\"command\":\"git status --short\",\"description\":\"See what changed\"}",
        "2",
        "● ␛[2J",
        "● sh git status --short",
        "stopped after 1000000 steps or 250 ms",
        "prompt:1: attempt to call a nil value",
    ];
    assert_eq!(told.lines().take(expected.len()).collect::<Vec<_>>(), expected);
    assert!(
        told.ends_with("result Bash (line 3)\n\" M src/cart.rs\\n M src/main.rs\"\n    2 lines\n"),
        "{told}"
    );

    folder.pipe("plugin repl --event demo/plugin.toml:x", "").expect(
        2,
        "streamfmt: --event demo/plugin.toml:x: a file and a line are wanted, as in case.ndjson:12\n",
    );
    let told = folder.pipe("plugin repl demo --event demo/tests/a-command/input.ndjson:9", "1\n");
    assert_eq!((told.code, &*told.stdout), (Some(2), ""));
    folder.write("broken.lua", "sf.tool(\n");
    let told = folder.pipe("plugin repl broken.lua", "1\n");
    assert!(told.code == Some(2) && told.stderr.contains("broken.lua:2:1: "), "{told:?}");
}

#[test]
fn an_editor_is_told_of_the_interface() {
    let folder = Folder::new();
    folder.run("plugin types").expect(0, "");
    assert!(folder.read("sf.d.lua").contains("function sf.tool(pattern, spec) end"));
    assert!(folder.read("sf.d.luau").contains("  tool: (pattern: string, spec: ToolSpec) -> (),"));
    assert!(folder.read(".luarc.json").contains("\"runtime.version\": \"Lua 5.1\""));
    assert_eq!(folder.run("plugin types nowhere").code, Some(74));
}
