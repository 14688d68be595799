//! Native plugins: how they are loaded, what they can do, and what happens if they misbehave.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::program::{Folder, Outcome, has_program};

/// A session with two commands and a reply.
const SESSION: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"model-1","cwd":"/home/dev/shop","tools":["Bash"],"uuid":"u-1"}
{"type":"assistant","message":{"id":"m-1","role":"assistant","content":[{"type":"text","text":"A reply."}]},"session_id":"s-1","uuid":"u-2"}
{"type":"assistant","message":{"id":"m-2","role":"assistant","content":[{"type":"tool_use","id":"t-1","name":"Bash","input":{"command":"git status --short"}}]},"session_id":"s-1","uuid":"u-3"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t-1","content":" M src/cart.rs"}]},"session_id":"s-1","uuid":"u-4"}
{"type":"assistant","message":{"id":"m-3","role":"assistant","content":[{"type":"tool_use","id":"t-2","name":"Bash","input":{"command":"secret --show"}}]},"session_id":"s-1","uuid":"u-5"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t-2","content":"none"}]},"session_id":"s-1","uuid":"u-6"}
{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"A reply.","session_id":"s-1","uuid":"u-7"}
"#;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Compiles a plugin in C to `out`.
pub(crate) fn compile(source: &str, defines: &[&str], out: &Path) {
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-O1", "-I"]);
    command
        .arg(root().join("crates/plugin/include"))
        .arg("-I")
        .arg(root().join("crates/plugin/tests"))
        .args(defines);
    command.arg(root().join(source)).arg("-o").arg(out);
    let compiled = command.output().unwrap();
    assert!(compiled.status.success(), "{command:?}: {}", String::from_utf8_lossy(&compiled.stderr));
}

/// A folder with the session and a plugin's library.
fn folder_with(source: &str, defines: &[&str], library: &str) -> Folder {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    compile(source, defines, &folder.path(library));
    folder
}

fn shout() -> Folder {
    folder_with("crates/cli/tests/native/shout.c", &[], "libshout.so")
}

fn hostile(kind: &str) -> Folder {
    let define = format!("-DKIND={kind}");
    let major = if kind == "NEWER_MAJOR" { "-DNEXT_MAJOR" } else { "-DTHIS_MAJOR" };
    folder_with("crates/cli/tests/native/hostile.c", &[&define, major], "libhostile.so")
}

/// The output without a plugin.
fn plain() -> &'static str {
    static PLAIN: OnceLock<String> = OnceLock::new();
    PLAIN.get_or_init(|| Folder::with(&[("s.jsonl", SESSION)]).run("s.jsonl").expect(0, "").stdout)
}

#[test]
fn a_library_that_was_typed_formats_what_it_is_for() {
    let text = shout().run("s.jsonl --plugin libshout.so --strict-plugins").expect(0, "").stdout;
    assert!(text.starts_with("  the shouting begins\n"), "{text}");
    assert!(
        text.contains("● Bash git status --short SHOUTED\n  $ git status --short\n  └  M src/cart.rs"),
        "{text}"
    );
    assert!(!text.contains("secret --show\n  └"), "a call can be hidden: {text}");
    assert!(text.trim_end().ends_with("2 shouts"), "state is kept until the end: {text}");
}

#[test]
fn growing_items_cross_as_partial() {
    let folder = shout();
    let start = |value: &str| {
        format!("{{\"type\":\"stream_event\",\"event\":{value},\"session_id\":\"s-1\",\"uuid\":\"e\"}}\n")
    };
    let stream = [
        start(r#"{"type":"message_start","message":{"id":"m-1","role":"assistant","content":[]}}"#),
        start(r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t-1","name":"Bash","input":{}}}"#),
        start(r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"cargo te"}}"#),
    ]
    .concat();
    let text = folder.pipe("--to json --live always --plugin libshout.so", &stream).stdout;
    assert!(text.contains("GROWING"), "{text}");
}

#[test]
fn scripts_and_native_plugins_are_one_chain() {
    let folder = shout();
    folder.write("lua.lua", "sf.tool('Bash', { call = function(call)\n local view = call:default()\n if not view then return false end\n view[#view + 1] = sf.text('FROM LUA', 'muted')\n return view\nend })\n");
    let above = folder.run("s.jsonl --plugin libshout.so --plugin lua.lua").expect(0, "").stdout;
    assert!(above.contains("status --short SHOUTED\n  $ git status --short\n  FROM LUA\n"), "{above}");
    let below = folder.run("s.jsonl --plugin lua.lua --plugin libshout.so").expect(0, "").stdout;
    assert!(below.contains("status --short SHOUTED\n  FROM LUA\n  $ git status --short\n"), "{below}");
    let explained =
        folder.run("explain --tool Bash --plugin lua.lua --plugin libshout.so").expect(0, "").stdout;
    let is_named = |line: &str| line.contains("native code") && line.contains("shout");
    assert!(explained.lines().any(is_named), "{explained}");
}

/// Checks how a misbehaving plugin is reported, and that its items are shown as without it.
#[track_caller]
fn costs_its_own_words_only(kind: &str, doing: &str, reason: &str, more: &str) {
    let folder = hostile(kind);
    let told = format!(
        "warning[plugin]: hostile failed while {doing}\n  = {reason}\n  = shown as without the plugin (reported once)\n{more}"
    );
    let text = folder.run("s.jsonl --plugin libhostile.so --strict-plugins").expect(3, &told).stdout;
    assert_eq!(text, plain(), "{kind}");
}

#[test]
fn what_a_plugin_does_wrong_costs_its_own_words_only() {
    for (kind, reason) in [
        ("NULL_TEXT", "the title of its answer is null"),
        ("NULL_ARGUMENTS", "all are refused"),
        ("BAD_UTF8", "the title of its answer is not UTF-8"),
        ("ABSURD_LENGTH", "its answer is larger than 16 MiB"),
        ("ERROR_CODE", "it returned the error code -7"),
        ("UNKNOWN_CODE", "it returned 77, which means nothing"),
        (
            "INVALID_JSON",
            "the JSON of its answer can't be read: EOF while parsing a value at line 1 column 9",
        ),
        (
            "WRONG_TYPES",
            "the JSON of its answer can't be read: unknown variant `hologram`, expected one of `lines`, `prose`, `code`, `diff`, \
             `list`, `table`, `image`, `details`, `elided` at line 1 column 18",
        ),
        ("ENDLESS", "its answer is larger than 16 MiB"),
        ("ENDLESS_QUESTIONS", "no more answers"),
        ("BLANK", "its answer shows nothing (SF_HIDE hides an item, SF_PASS leaves it to the layer below)"),
    ] {
        let more = "streamfmt: 1 more plugin failure like these\n";
        costs_its_own_words_only(kind, "formatting Bash (line 3)", reason, more);
    }
    let more = "streamfmt: 1 more plugin failure like these\n";
    let reason = "it returned the error code -9";
    costs_its_own_words_only("BAD_OBSERVER", "formatting Bash (line 3)", reason, more);
    let reason = "the JSON of its answer can't be read: EOF while parsing an object at line 1 column 1";
    costs_its_own_words_only("BAD_BEGIN", "formatting session.start", reason, "");
}

#[test]
fn a_library_that_is_no_plugin_is_left_out() {
    for (kind, reason) in [
        ("NULL_TABLE", "libhostile.so: its table is missing"),
        ("SMALL_TABLE", "libhostile.so: its table has a size of 8 bytes, which no version has"),
        ("NO_FORMAT", "libhostile.so: its table has no function format"),
        (
            "BAD_GROUPS",
            "libhostile.so: the list of what it is for is not a JSON list of names (invalid type: map, expected a sequence at \
             line 1 column 0)",
        ),
        (
            "BAD_NAME",
            "libhostile.so: \"../x\" can't be its name: a plugin's name is made of letters, digits, - _ and . and begins with one \
             of the first two",
        ),
        (
            "NEWER_MAJOR",
            "libhostile.so: it needs version 2 of the plugin interface, and this program has version 1: use a build of the plugin \
             for version 1, or a newer streamfmt",
        ),
        ("REFUSES", "it refuses to start: there is no licence"),
    ] {
        let folder = hostile(kind);
        let outcome = folder.run("s.jsonl --plugin libhostile.so --strict-plugins");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), plain()), "{kind}: {}", outcome.stderr);
        let stderr = outcome.stderr.replace('…', "");
        let start: String = reason.chars().take(190).collect();
        assert!(stderr.contains(&format!("failed while loading\n  = {start}")), "{kind}: {stderr}");
    }
    let folder = Folder::with(&[("s.jsonl", SESSION), ("libtext.so", "text")]);
    let outcome = folder.run("s.jsonl --plugin libtext.so");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), plain()));
    assert!(outcome.stderr.contains("libtext.so: it can't be loaded ("), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("/proc/"), "{}", outcome.stderr);
    folder.run("s.jsonl --plugin none.so").expect(2, "streamfmt: --plugin none.so: no such file or folder\n");
}

#[test]
fn a_plugin_that_fails_too_often_is_off() {
    let folder = hostile("FLAKY");
    let calls = |number: usize| {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"id\":\"m-{number}\",\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\
             \"id\":\"t-{number}\",\"name\":\"Bash\",\"input\":{{\"command\":\"ls {number}\"}}}}]}},\"session_id\":\"s-1\",\"uuid\":\"u-{number}\"}}\n"
        )
    };
    folder.write("many.jsonl", (0..60).map(calls).collect::<String>());
    let outcome = folder.run("many.jsonl --plugin libhostile.so");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.stdout.matches("a good answer").count(), 19, "{}", outcome.stdout);
    assert!(
        outcome.stderr.contains("it failed too often\n  = it is off for the rest of the run"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn older_tables_and_newer_minor_versions_work() {
    let old = folder_with("crates/cli/tests/native/old_table.c", &[], "libold.so");
    let text = old.run("s.jsonl --plugin libold.so --strict-plugins").expect(0, "").stdout;
    assert!(text.contains("old: Bash\n"), "{text}");
    let text =
        hostile("NEWER_MINOR").run("s.jsonl --plugin libhostile.so --strict-plugins").expect(0, "").stdout;
    assert!(text.contains("made do") && !text.contains("wrong"), "{text}");
}

#[test]
fn what_a_plugin_logs_is_printed_cleaned() {
    let outcome = hostile("CHATTY").run("s.jsonl --plugin libhostile.so");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), plain()));
    assert!(outcome.stderr.contains("hostile: spam ␛[2J\u{fffd}\n"), "{}", outcome.stderr);
    let endless = hostile("ENDLESS_LOG").run("s.jsonl --plugin libhostile.so");
    assert_eq!((endless.code, endless.stdout.as_str()), (Some(0), plain()));
    assert_eq!(endless.stderr.matches("hostile: spam\n").count(), 1_000, "of 200,000 lines");
}

#[test]
fn only_a_library_that_nobody_else_can_change_is_loaded() {
    let folder = shout();
    let outcome = |name: &str| folder.run(&format!("s.jsonl --plugin {name}"));
    symlink("libshout.so", folder.path("link.so")).unwrap();
    let told = outcome("link.so");
    assert!(told.stderr.contains("it is a symbolic link: name the library itself"), "{told:?}");
    assert_eq!(told.stdout, plain());
    fs::set_permissions(folder.path("libshout.so"), Permissions::from_mode(0o666)).unwrap();
    let told = outcome("libshout.so");
    assert!(told.stderr.contains("other users may write to it (chmod go-w)"), "{told:?}");
    fs::set_permissions(folder.path("libshout.so"), Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(folder.path(""), Permissions::from_mode(0o777)).unwrap();
    let told = outcome("libshout.so");
    assert!(told.stderr.contains("other users may write to its folder"), "{told:?}");
    fs::set_permissions(folder.path(""), Permissions::from_mode(0o755)).unwrap();
    assert!(outcome("libshout.so").stdout.contains("SHOUTED"));
}

/// A folder with a native plugin, `shout/`.
fn installable() -> Folder {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("shout/secret.txt", "not part of it")]);
    folder.write(
        "shout/plugin.toml",
        format!("name = \"shout\"\nversion = \"1.0\"\napi = 1\n[library]\n{} = \"lib/libshout.so\"\n[options.word]\ndefault = \"x\"\n", platform()),
    );
    fs::create_dir(folder.path("shout/lib")).unwrap();
    compile("crates/cli/tests/native/shout.c", &[], &folder.path("shout/lib/libshout.so"));
    folder
}

fn platform() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

const DATA: &str = "home/.local/share/streamfmt/plugins/shout";

#[test]
fn an_installed_native_plugin_is_what_was_installed() {
    let folder = installable();
    let refused = folder.run("plugin add shout");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("if you trust it, add --native"), "{refused:?}");
    folder.run("s.jsonl --plugin shout --strict-plugins").expect(
        3,
        "warning[plugin]: shout failed while loading\n  = this is a native plugin, and reading its folder loads no code: install it as a \
         native one, or name its library for this run\n  = the plugin is not loaded (reported once)\n",
    );
    let added = folder.run("plugin add --native shout").expect(0, "").stdout;
    assert!(
        added.starts_with("added shout 1.0: 2 files in ~/.local/share/streamfmt/plugins/shout, sha256 "),
        "{added}"
    );
    let listed = folder.run("plugin list").expect(0, "").stdout;
    let row = listed.lines().find(|line| line.contains("shout")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["shout", "1.0", "native", "installed"]);
    assert!(folder.run("plugin show shout").expect(0, "").stdout.contains("kind      native\n"));
    folder.write(
        "home/.config/streamfmt/config.toml",
        "version = 1\nplugins = [\"shout\"]\n[plugin.shout]\nword = \"y\"\n",
    );
    let used = folder.run("s.jsonl");
    assert!(used.stdout.contains("SHOUTED"), "{used:?}");
    assert!(used.stderr.contains("shout: {\"word\":\"y\"}"), "options reach it: {used:?}");

    // With one more byte, it isn't the installed file any more.
    let library = folder.path(&format!("{DATA}/lib/libshout.so"));
    let mut bytes = fs::read(&library).unwrap();
    bytes.push(0);
    fs::set_permissions(&library, Permissions::from_mode(0o644)).unwrap();
    fs::write(&library, &bytes).unwrap();
    let changed = folder.run("s.jsonl");
    assert!(changed.stderr.contains("its files were edited after it was installed"), "{changed:?}");
    assert!(!changed.stdout.contains("SHOUTED"), "{changed:?}");
}

/// Runs the program in the folder `repo` of `folder`. Returns the system calls that name files, and the output.
fn traced(folder: &Folder, repo: &str, arguments: &str) -> (String, String) {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-y", "-e", "trace=open,openat,openat2,memfd_create,execve,mmap", "-o"]);
    command.arg(folder.path("trace")).arg(env!("CARGO_BIN_EXE_streamfmt")).args(arguments.split_whitespace());
    command.current_dir(folder.path(repo)).env_clear().env("HOME", folder.path("home"));
    let output = command.output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (folder.read("trace"), told)
}

#[test]
fn nothing_that_is_only_read_leads_to_native_code() {
    if !has_program("strace") {
        return;
    }
    let folder = installable();
    folder.run("plugin add --native shout").expect(0, "");
    let library = fs::read(folder.path("shout/lib/libshout.so")).unwrap();
    let manifest = folder.read("shout/plugin.toml");
    // Each file of a repository names native code in every possible way: by an installed plugin's name, by a folder, by a library.
    let ways = ["shout", "./shout", "./shout/lib/libshout.so"];
    let mut repos = Vec::new();
    for (at, way) in ways.iter().enumerate() {
        let up = if at == 0 { "" } else { "../../" };
        repos.push((
            format!("settings-{at}"),
            "streamfmt.toml",
            format!("version = 1\nplugins = [\"{way}\"]\n"),
        ));
        repos.push((format!("case-{at}"), "tests/a/case.toml", format!("plugins = [\"{up}{way}\"]\n")));
        let own = format!("{}\nentry = \"{}\"\n", manifest.split("[library]").next().unwrap(), way);
        repos.push((format!("manifest-{at}"), "shout/plugin.toml", own));
    }
    for (repo, file, text) in &repos {
        fs::create_dir_all(folder.path(&format!("{repo}/.git"))).unwrap();
        folder.write(&format!("{repo}/s.jsonl"), SESSION);
        folder.write(&format!("{repo}/tests/a/input.ndjson"), SESSION);
        folder.write(&format!("{repo}/shout/tests/a/input.ndjson"), SESSION);
        folder.write(&format!("{repo}/shout/lib/libshout.so"), &library);
        folder.write(&format!("{repo}/shout/plugin.toml"), &manifest);
        folder.write(&format!("{repo}/{file}"), text);
    }
    for is_trusted in [false, true] {
        for (repo, ..) in &repos {
            if is_trusted {
                let trusted = folder.run(&format!("trust --yes {repo}"));
                assert!(trusted.code == Some(0) || !repo.starts_with("settings"), "{trusted:?}");
            }
            for arguments in [
                "s.jsonl",
                "config explain",
                "explain Bash",
                "plugin list",
                "plugin check shout",
                "plugin test shout",
                "golden check .",
                "golden check --native tests",
                "s.jsonl --plugin ./shout",
            ] {
                let (trace, told) = traced(&folder, repo, arguments);
                let is_bad = |line: &&str| {
                    line.contains("memfd_create")
                        || line.contains(&format!("/{repo}/shout/lib/libshout.so"))
                        || line.contains("PROT_EXEC") && line.contains("shout")
                };
                let bad = trace.lines().find(is_bad);
                assert_eq!(bad, None, "{repo}, trusted: {is_trusted}: {arguments}: {told}");
                assert!(!told.contains("SHOUTED"), "{repo}: {arguments}: {told}");
            }
        }
    }
    let (_, told) = traced(&folder, "settings-0", "s.jsonl");
    assert!(told.contains("a project's settings can't load native code"), "{told}");
    let (_, told) = traced(&folder, "case-0", "plugin test shout");
    let skipped = "shout is a native plugin, which is loaded only with --native";
    assert!(told.contains("skipped ") && told.contains(skipped), "{told}");
    // The trace does show a library that is loaded.
    let (trace, told) = traced(&folder, "case-0", "s.jsonl --plugin shout/lib/libshout.so");
    assert!(trace.contains("memfd_create") && told.contains("SHOUTED"), "{told}");
    assert!(trace.contains("PROT_EXEC") && trace.contains("case-0/shout/lib/libshout.so"), "{trace}");
}

/// However a file changes while the program reads it, the loaded library has the installed hash, or nothing is loaded.
#[test]
fn an_installed_library_that_is_swapped_all_the_time_is_itself_or_refused() {
    let folder = installable();
    folder.run("plugin add --native shout").expect(0, "");
    let library = folder.path(&format!("{DATA}/lib/libshout.so"));
    let evil = folder.path("evil.so");
    compile("crates/cli/tests/native/shout.c", &["-DSHOUTED=\" EVIL\""], &evil);
    let good = folder.path("good.so");
    fs::copy(&library, &good).unwrap();
    for path in [&good, &evil] {
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    }
    fs::set_permissions(library.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    let is_done = AtomicBool::new(false);
    let mut outcomes = Vec::new();
    let has_enough = |outcomes: &[Outcome]| {
        let loaded = outcomes.iter().filter(|outcome| outcome.stdout.contains("SHOUTED")).count();
        loaded.min(outcomes.len() - loaded) >= 5
    };
    thread::scope(|scope| {
        // Replace the library with each file in turn, by a rename or in place.
        scope.spawn(|| {
            let next = folder.path("next.so");
            let libraries = [fs::read(&evil).unwrap(), fs::read(&good).unwrap()];
            for turn in (0..).take_while(|_| !is_done.load(Ordering::Relaxed)) {
                fs::write(&next, &libraries[turn % 2]).unwrap();
                fs::rename(&next, &library).unwrap();
                if turn % 3 == 0 {
                    fs::write(&library, &libraries[1 - turn % 2]).unwrap();
                }
            }
        });
        while !has_enough(&outcomes) && outcomes.len() < 400 {
            outcomes.push(folder.run("s.jsonl --plugin shout"));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    for outcome in &outcomes {
        assert!(!outcome.stdout.contains("EVIL"), "what wasn't installed was loaded: {outcome:?}");
        let is_refused = outcome.stdout == plain();
        assert!(is_refused || outcome.stdout.contains("SHOUTED"), "{outcome:?}");
    }
    assert!(has_enough(&outcomes), "both happen: {:?}", outcomes.last());
}

#[test]
fn a_file_that_is_swapped_after_the_check_is_not_loaded() {
    // The checked bytes are in memory before anything is loaded: the file may be gone by then, and a replacement isn't opened.
    let folder = shout();
    let text = folder.run("s.jsonl --plugin libshout.so").expect(0, "").stdout;
    if !has_program("strace") {
        return;
    }
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=openat,open,fcntl,memfd_create,mmap", "-o", "trace"]);
    command.arg(env!("CARGO_BIN_EXE_streamfmt")).args(["s.jsonl", "--plugin", "libshout.so"]);
    let output =
        command.current_dir(folder.path("")).env_clear().env("HOME", folder.path("home")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), text);
    let trace = folder.read("trace");
    let opened = trace.lines().filter(|line| line.contains("\"libshout.so\"")).collect::<Vec<_>>();
    assert_eq!(opened.len(), 1, "the file is opened once, to be checked and read: {opened:?}");
    assert!(opened[0].contains("O_NOFOLLOW"), "{opened:?}");
    let seal = trace.find("F_ADD_SEALS").expect("it is sealed");
    let load = trace.find("\"/proc/self/fd/").expect("it is loaded from memory");
    assert!(trace.find("memfd_create").unwrap() < seal && seal < load, "sealed before it is loaded");
}

#[test]
fn a_new_native_plugin_builds_at_the_first_try_and_its_case_passes() {
    let folder = Folder::new();
    let told = folder.run("plugin new --native word-count").expect(0, "").stdout;
    assert!(
        told.ends_with("now: cd word-count && cargo build && streamfmt plugin test --native\n"),
        "{told}"
    );
    build(&folder.path("word-count"));
    let listed = folder.run("plugin test --native word-count --allow-plugin-errors");
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stdout.contains("1 passed, 0 failed"), "{listed:?}");
    let skipped = folder.run("plugin test word-count");
    assert_eq!(skipped.code, Some(5), "{skipped:?}");
    let checked = folder.run("plugin check --native word-count").expect(0, "").stdout;
    assert_eq!(checked, "word-count 0.1.0 is valid: 1 thing registered, 1 golden case\n");
    folder.run("plugin add --native word-count").expect(0, "");
    fs::rename(folder.path("word-count"), folder.path("elsewhere")).unwrap();
    folder.write("s.jsonl", SESSION);
    let text = folder.run("s.jsonl --plugin word-count --strict-plugins").expect(0, "").stdout;
    assert!(text.contains("  └ 1 lines\n"), "{text}");
}

#[test]
fn the_plugin_in_c_of_the_page_works() {
    let page = include_str!("../../../../docs/native.md");
    let whole = page.split("```c\n").map(|rest| rest.split("```").next().unwrap());
    let source = whole.clone().find(|block| block.contains("static const sf_plugin table")).unwrap();
    let folder = Folder::with(&[("s.jsonl", SESSION), ("lengths.c", source)]);
    compile(&folder.path("lengths.c").display().to_string(), &[], &folder.path("liblengths.so"));
    let text = folder.run("s.jsonl --plugin liblengths.so --strict-plugins").expect(0, "").stdout;
    assert!(text.contains("● Bash git status --short (18 bytes)\n"), "{text}");
    assert!(text.ends_with("\n  2 commands\n"), "{text}");
}

/// Copies the regular files of an example and of its tests.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "target" {
            copy(&path, &to.join(name));
        } else if path.is_file() {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[test]
fn the_examples_build_and_their_cases_pass() {
    let folder = Folder::new();
    let plugins = root().join("plugins");
    copy(&plugins.join("base64"), &folder.path("base64"));
    compile("plugins/base64/base64.c", &["-O2"], &folder.path(&format!("base64/libbase64{DLL_SUFFIX}")));

    copy(&plugins.join("sql"), &folder.path("sql"));
    let mut command = Command::new(std::env::var_os("CARGO").map_or("cargo".into(), PathBuf::from));
    command.args(["build", "-q", "--offline", "-p", "streamfmt-sql", "--message-format", "json"]);
    let built = command.current_dir(root()).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    // Cargo prints the library's path.
    let messages = String::from_utf8(built.stdout).unwrap();
    let name = format!("{DLL_PREFIX}sql{DLL_SUFFIX}");
    let library = messages.split('"').find(|text| text.ends_with(&format!("/{name}"))).unwrap();
    fs::create_dir_all(folder.path("sql/target/release")).unwrap();
    fs::copy(library, folder.path(&format!("sql/target/release/{name}"))).unwrap();

    for (name, cells) in [("base64", 2), ("sql", 2)] {
        let tested = folder.run(&format!("plugin test --native {name}"));
        assert_eq!(tested.code, Some(0), "{tested:?}");
        assert!(tested.stdout.ends_with(&format!("{cells} passed, 0 failed\n")), "{tested:?}");
        let checked = folder.run(&format!("plugin check --native {name}")).expect(0, "").stdout;
        assert_eq!(checked, format!("{name} 0.1.0 is valid: 1 thing registered, 2 golden cases\n"));
        folder.run(&format!("plugin add --native {name}")).expect(0, "");
    }
}

/// Runs `cargo build` in a folder.
pub(crate) fn build(folder: &Path) {
    let mut command = Command::new(std::env::var_os("CARGO").map_or("cargo".into(), PathBuf::from));
    command.args(["build", "-q", "--offline"]).current_dir(folder);
    command.env_remove("CARGO_TARGET_DIR");
    let built = command.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

#[test]
fn a_run_survives_native_plugins() {
    for kind in ["ABORTS", "CRASHES", "LOOPS"] {
        let folder = hostile(kind);
        folder.write("agent", format!("#!/bin/sh\ncat <<'END'\n{SESSION}END\nexit 7\n"));
        fs::set_permissions(folder.path("agent"), Permissions::from_mode(0o755)).unwrap();
        let mut command = folder.command("run --log log.jsonl --plugin libhostile.so -- ./agent");
        let outcome = command.env("PATH", "/usr/bin:/bin").output().unwrap();
        let stderr = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(outcome.status.code(), Some(7), "{kind}: {stderr}");
        assert_eq!(folder.read("log.jsonl"), SESSION, "{kind}");
        let told = "streamfmt: the native plugin hostile is left out: if it crashed, the recording would end (--allow-native loads it)\n";
        assert_eq!(stderr.matches(told).count(), 1, "{kind}: {stderr}");
        assert!(String::from_utf8_lossy(&outcome.stdout).contains("A reply."), "{kind}");
    }
    let folder = shout();
    folder.write("agent", format!("#!/bin/sh\ncat <<'END'\n{SESSION}END\n"));
    fs::set_permissions(folder.path("agent"), Permissions::from_mode(0o755)).unwrap();
    let mut command = folder.command("run --allow-native --log log.jsonl --plugin libshout.so -- ./agent");
    let outcome = command.env("PATH", "/usr/bin:/bin").output().unwrap();
    assert!(String::from_utf8_lossy(&outcome.stdout).contains("SHOUTED"), "{outcome:?}");
}
