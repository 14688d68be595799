//! Native plugins: what loads one, what it can do, and what it costs if it misbehaves.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::program::Folder;

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
    command.arg(root().join("crates/plugin/include")).args(defines);
    command.arg(root().join(source)).arg("-o").arg(out);
    let compiled = command.output().unwrap();
    assert!(compiled.status.success(), "{command:?}: {}", String::from_utf8_lossy(&compiled.stderr));
}

/// A folder with the session and a library of a plugin.
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
    folder_with("crates/cli/tests/native/hostile.c", &[&define], "libhostile.so")
}

/// What is written without a plugin.
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
    assert!(explained.contains("native code") && explained.contains("shout"), "{explained}");
}

/// What a misbehaving plugin is reported with, and that its items are shown as without it.
#[track_caller]
fn costs_its_own_words_only(kind: &str, reason: &str) {
    let folder = hostile(kind);
    let told = format!(
        "warning[plugin]: hostile failed while formatting Bash (line 3)\n  = {reason}\n  \
         = shown as without the plugin (reported once)\nstreamfmt: 1 more plugin failure like these\n"
    );
    let text = folder.run("s.jsonl --plugin libhostile.so --strict-plugins").expect(3, &told).stdout;
    assert_eq!(text, plain(), "{kind}");
}

#[test]
fn what_a_plugin_does_wrong_costs_its_own_words_only() {
    for (kind, reason) in [
        ("NULL_TEXT", "the title of its answer is null"),
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
        ("BLANK", "its answer shows nothing (SF_HIDE hides an item, SF_PASS leaves it to the layer below)"),
    ] {
        costs_its_own_words_only(kind, reason);
    }
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
        "warning[plugin]: shout failed while loading\n  = this is a native plugin, and reading its folder loads no code: install it with \
         `streamfmt plugin add --native`, or name its library with --plugin\n  = the plugin is not loaded (reported once)\n",
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

    // A byte more, and it isn't what was installed.
    let library = folder.path(&format!("{DATA}/lib/libshout.so"));
    let mut bytes = fs::read(&library).unwrap();
    bytes.push(0);
    fs::set_permissions(&library, Permissions::from_mode(0o644)).unwrap();
    fs::write(&library, &bytes).unwrap();
    let changed = folder.run("s.jsonl");
    assert!(changed.stderr.contains("its files were edited after it was installed"), "{changed:?}");
    assert!(!changed.stdout.contains("SHOUTED"), "{changed:?}");
}

#[test]
fn nothing_that_is_only_read_leads_to_native_code() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: there is no strace");
        return;
    }
    let folder = installable();
    folder.run("plugin add --native shout").expect(0, "");
    // The user trusts the project, and it names native code in each of its files.
    fs::create_dir_all(folder.path("repo/.git")).unwrap();
    fs::create_dir_all(folder.path("repo/shout/tests/a")).unwrap();
    for name in ["plugin.toml", "lib/libshout.so"] {
        fs::create_dir_all(folder.path("repo/shout/lib")).unwrap();
        fs::copy(folder.path(&format!("shout/{name}")), folder.path(&format!("repo/shout/{name}"))).unwrap();
    }
    folder.write("repo/s.jsonl", SESSION);
    folder.write(
        "repo/streamfmt.toml",
        "version = 1\nplugins = [\"shout\", \"./shout\", \"./shout/lib/libshout.so\"]\n",
    );
    folder.write("repo/shout/tests/a/input.ndjson", SESSION);
    folder.write("repo/tests/b/input.ndjson", SESSION);
    folder.write("repo/tests/b/case.toml", "plugins = [\"../../shout/lib/libshout.so\"]\n");
    folder.write("repo/tests/c/input.ndjson", SESSION);
    folder.write("repo/tests/c/case.toml", "plugins = [\"../../shout\"]\n");
    let run = |arguments: &str| {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-e", "trace=openat,open,memfd_create,execve", "-o", "trace"]);
        command.arg(env!("CARGO_BIN_EXE_streamfmt")).args(arguments.split_whitespace());
        command.current_dir(folder.path("repo")).env_clear().env("HOME", folder.path("home"));
        let output = command.output().unwrap();
        let told =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let trace = fs::read_to_string(folder.path("repo/trace")).unwrap();
        let is_loaded = trace.contains("memfd_create") || trace.contains("/proc/self/fd/");
        (is_loaded, told)
    };
    folder.command("trust --yes repo").output().unwrap();
    for arguments in [
        "s.jsonl",
        "plugin list",
        "plugin check shout",
        "plugin test shout",
        "golden check .",
        "golden check --native tests",
    ] {
        let (is_loaded, told) = run(arguments);
        assert!(!is_loaded, "{arguments}: {told}");
        assert!(!told.contains("SHOUTED"), "{arguments}: {told}");
    }
    let (_, told) = run("s.jsonl");
    assert!(told.contains("a project's settings can't load native code"), "{told}");
    let (_, told) = run("plugin test shout");
    assert!(
        told.contains("skipped ")
            && told.contains("shout is a native plugin, which is loaded only with --native"),
        "{told}"
    );
    // The same test sees a library that is loaded.
    let (is_loaded, told) = run("s.jsonl --plugin shout/lib/libshout.so");
    assert!(is_loaded && told.contains("SHOUTED"), "{told}");
}

#[test]
fn a_file_that_is_swapped_after_the_check_is_not_loaded() {
    // What was checked is in memory before anything is loaded: the file may be gone by then, and what lies there instead is not opened.
    let folder = shout();
    let text = folder.run("s.jsonl --plugin libshout.so").expect(0, "").stdout;
    let mut command = Command::new("strace");
    if command.arg("-V").output().is_err() {
        eprintln!("skipped: there is no strace");
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

/// Copies the plain files of an example, and of its tests.
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
    // Cargo says where the library is.
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
