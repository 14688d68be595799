//! Projects with their own settings: what they may do, and what trust permits.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Folder, Outcome, has_program, skip};
#[cfg(unix)]
use crate::tty::Terminal;

/// A session with a failing command, thinking and a long result.
const SESSION: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"model-1","cwd":"/home/dev/shop","tools":[],"uuid":"u-1"}
{"type":"assistant","message":{"id":"m-1","role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"tool_use","id":"t-1","name":"Bash","input":{"command":"rm -rf build"}}]},"session_id":"s-1","uuid":"u-2"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t-1","content":"one\ntwo\nthree\nfour","is_error":true}]},"session_id":"s-1","uuid":"u-3"}
{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"Done.","session_id":"s-1","uuid":"u-4"}
"#;

/// A folder with a session, a project and files outside of the project.
fn folder_with(settings: &str) -> Folder {
    let folder =
        Folder::with(&[("s.jsonl", SESSION), ("secret.toml", "hide = ['call']\n"), ("secret.lua", LOUD)]);
    fs::create_dir_all(folder.path("project/.git")).unwrap();
    fs::create_dir_all(folder.path("project/.streamfmt")).unwrap();
    folder.write("project/streamfmt.toml", settings);
    folder.write("project/evil.lua", LOUD);
    folder
}

const LOUD: &str = "sf.tool('Bash', { label = 'Read', arg = 'README.md', summary = 'fine' })\n";

fn in_project(folder: &Folder, arguments: &str) -> Command {
    let mut command = folder.command(arguments);
    command.current_dir(folder.path("project"));
    command
}

fn run(folder: &Folder, arguments: &str) -> Outcome {
    in_project(folder, arguments).output().unwrap().into()
}

/// The text without the project's settings.
fn usual(folder: &Folder) -> String {
    run(folder, "../s.jsonl --to text --no-project").expect(0, "").stdout
}

/// The message about a project's ignored settings.
fn left_out(what: &str) -> String {
    format!("streamfmt: ignored {what}: streamfmt.toml is not trusted; see: streamfmt trust\n")
}

/// Settings that an untrusted project attempts, and their names in the message. All are ignored.
fn hostile() -> Vec<(String, &'static str)> {
    let mut table: Vec<(String, &'static str)> = [
        ("hide = ['call']", "hide"),
        ("hide.add = ['failed']", "hide"),
        ("only = ['reply']", "only"),
        ("detail = 'compact'", "detail"),
        ("writer = 'json'", "writer"),
        ("limits.error-lines = 0", "limits.error-lines"),
        ("limits.error-lines = 2", "limits.error-lines"),
        ("limits.result-bytes = 1", "limits.result-bytes"),
        ("limits.line = 1", "limits.line"),
        ("layout.margin = 40", "layout.margin"),
        ("layout.width = 10", "layout.width"),
        ("theme = '../secret.toml'", "theme"),
        ("theme = '/etc/passwd'", "theme"),
        ("extends = ['../secret.toml']", "extends"),
        ("extends = ['/etc/passwd']", "extends"),
        ("extends = ['loop.toml']", "extends"),
        ("extends = ['https://evil.example/x.toml']", "extends"),
        ("plugins = ['./evil.lua']", "plugins"),
        ("plugins = ['../secret.lua']", "plugins"),
        ("plugins.add = ['./evil.lua']", "plugins"),
        ("tool.Bash.label = 'Read'", "tool.Bash.label"),
        ("tool.Bash.arg = 'README.md'", "tool.Bash.arg"),
        ("tool.'*'.collapse = 'both'", "tool.\"*\".collapse"),
        ("tool.Bash.script.label = 'evil.lua#label'", "tool.Bash.script.label"),
        ("profile.default.hide = ['call']", "profile.default"),
        ("default-profile = 'quiet'", "default-profile"),
        ("default-profile = '../secret.toml'", "default-profile"),
        ("default-profile = 'mine'\n[profile.mine]\nhide = ['call']", "default-profile"),
        ("allow-in-projects = ['evil']\nplugins = ['evil']", "allow-in-projects"),
        ("[[filter]]\nkind = 'call'\naction = 'hide'", "filter"),
        ("[[switch]]\npath = '/**'\nprofile = 'quiet'", "switch"),
        ("output = '/tmp/x'\npager = 'sh -c id'\ntrust = true\ntrusted = true", "unrecognized entries"),
        ("redact.secrets = false", "redact.secrets"),
        ("redact = { emails = false, home = false }", "redact.emails, redact.home"),
        ("limits.thinking-lines = 0\nlimits.notice-lines = 1", "limits.thinking-lines, limits.notice-lines"),
        ("theme = 'a/../../secret'", "theme"),
        ("markdown = false\ntimestamps = true", "markdown, timestamps"),
        ("records = 'project'", "records"),
        ("records = '../secret.toml'", "records"),
        ("records = './plan.toml'", "records"),
        ("layout.bare = true\nlayout.gap = 9", "layout.bare, layout.gap"),
        ("[plugin.evil]\ncommand = 'id'", "plugin.evil.command"),
        ("env = { PATH = '/tmp' }\nlink = 'http://evil.example/{path}'", "unrecognized entries"),
        ("hide = ['call'", "unrecognized entries"),
        ("\u{feff}hide = ['call']\r\n", "hide"),
        ("'\u{1b}[2Jhide' = ['call']", "unrecognized entries"),
    ]
    .map(|(settings, told)| (settings.to_owned(), told))
    .to_vec();
    let unread = "unrecognized entries";
    table.push((format!("hide = ['call']\n# {}", "x".repeat(10 << 20)), "larger than 256 KiB"));
    let keys = |count: usize| (0..count).fold(String::new(), |text, key| text + &format!("k{key} = 1\n"));
    table.push((keys(100_000), "larger than 256 KiB"));
    table.push((keys(20_000), unread));
    table.push((format!("{}hide = ['call']", "a.".repeat(50_000)), unread));
    table.push((format!("{}hide = ['call']", "tool.".repeat(20_000)), unread));
    for table_of_many in ["tool.Bash", "profile", "profile.default", "limits"] {
        let told = if table_of_many == "profile.default" { "profile.default" } else { unread };
        table.push((format!("[{table_of_many}]\n{}", keys(20_000)), told));
    }
    for element in ["[[filter]]\nkind = 'calls'\n", "[profile.x]\n", "[[switch]]\n"] {
        let many = (0..7_000).fold(String::new(), |text, at| text + &element.replace('x', &at.to_string()));
        table.push((many, if element.contains("profile") { "profile.0, profile.1" } else { unread }));
    }
    table.push((format!("x = {}", "[".repeat(100_000)), unread));
    table.push((format!("plugin.a.b = {}", "{a=".repeat(80_000)), unread));
    table.push(((0..5_000).fold(String::new(), |text, at| text + &format!("[a.b{at}.c{at}]\n")), unread));
    table.push((
        (0..6_000).fold(String::new(), |text, at| text + &format!("[tool.b{at}]\nlabel = 'x'\n")),
        "and 495 more",
    ));
    table
}

#[test]
fn an_untrusted_project_changes_nothing_that_is_said() {
    let folder = folder_with("");
    let usual = run(&folder, "../s.jsonl --to text --no-project").expect(0, "").stdout;
    assert!(usual.contains("● Bash\n  $ rm -rf build\n") || usual.contains("Bash rm -rf build"), "{usual}");
    for (settings, told) in hostile() {
        let shown: String = settings.chars().take(60).collect();
        folder.write("project/streamfmt.toml", &settings);
        folder.write("project/loop.toml", "extends = ['loop.toml', 'streamfmt.toml']\n");
        let outcome = run(&folder, "../s.jsonl --to text");
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (Some(0), usual.as_str()),
            "{shown}: {}",
            outcome.stderr
        );
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert!(lines.len() == 1 && lines[0].contains(told), "{shown}: {}", outcome.stderr);
        // A project that is too large can't be trusted, so there is nothing to review.
        let leads_on = lines[0].ends_with("; see: streamfmt trust") || told.starts_with("larger");
        assert!(
            leads_on && lines[0].len() < 300 && !lines[0].contains('\x1b'),
            "{shown}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn its_own_script_does_not_run_unasked() {
    let folder = folder_with("theme = 'dark'\n");
    folder.write("project/.streamfmt/init.lua", LOUD);
    let usual = run(&folder, "../s.jsonl --to text --no-project").expect(0, "").stdout;
    let told = run(&folder, "../s.jsonl --to text").expect(0, &left_out(".streamfmt/init.lua"));
    assert_eq!(told.stdout, usual);
    run(&folder, "trust --yes").expect(0, "");
    let text = run(&folder, "../s.jsonl --to text").expect(0, "").stdout;
    let said = "  streamfmt.toml changes the output: a plugin of its own (--no-project leaves it out)\n";
    assert!(text.starts_with(said) && text.contains("Read README.md"), "{text}");
}

/// The files that a run opened, and the number of programs it started; `None` if that can't be traced here.
fn traced(folder: &Folder, arguments: &str) -> Option<(BTreeSet<String>, usize)> {
    let program = in_project(folder, arguments);
    let log = folder.path("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-e", "trace=execve,execveat,open,openat,openat2", "-o"]).arg(&log);
    strace.arg(program.get_program()).args(program.get_args()).current_dir(folder.path("project"));
    strace.env("HOME", folder.path("home")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let is_run = strace.status().is_ok_and(|status| status.success());
    let log = fs::read_to_string(&log).ok().filter(|log| is_run && log.contains("execve("))?;
    let quoted = |line: &str| line.split('"').nth(1).map(str::to_owned);
    let opened = log.lines().filter(|line| line.contains(" open")).filter_map(quoted).collect();
    Some((opened, log.lines().filter(|line| line.contains(" execve")).count()))
}

#[test]
fn an_untrusted_project_starts_nothing_and_reads_nothing_outside() {
    let folder = folder_with("theme = 'dark'\n");
    if !has_program("strace") {
        return;
    }
    let Some((usual, _)) = traced(&folder, "../s.jsonl --to text") else {
        skip("strace can't see here what a program opens");
        return;
    };
    let project = folder.path("project").display().to_string();
    let links = [("out.toml", "../secret.toml"), ("up", ".."), ("passwd", "/etc/passwd")];
    #[cfg(unix)]
    for (name, target) in links {
        std::os::unix::fs::symlink(target, folder.path("project").join(name)).unwrap();
    }
    let more = [
        "extends = ['out.toml']",
        "plugins = ['up/secret.lua']",
        "theme = 'passwd'",
        "theme = 'up/secret.toml'",
    ];
    let table = hostile().into_iter().map(|(settings, _)| settings).chain(more.map(str::to_owned));
    for settings in table {
        let shown: String = settings.chars().take(60).collect();
        folder.write("project/streamfmt.toml", &settings);
        let (opened, started) = traced(&folder, "../s.jsonl --to text").unwrap();
        assert_eq!(started, 1, "{shown}");
        let is_known = |path: &&String| {
            usual.contains(*path)
                || path.starts_with("/proc/self/")
                || path.starts_with(&format!("{project}/streamfmt.toml"))
        };
        let strange: Vec<&String> = opened.iter().filter(|path| !is_known(path)).collect();
        assert!(strange.is_empty(), "{shown}: {strange:?}");
    }
}

#[test]
fn what_any_project_may_choose_counts_at_once() {
    let folder = folder_with("default-profile = 'full'\nlayout.glyphs = 'ascii'\nlimits.error-lines = 3\n");
    let text = run(&folder, "../s.jsonl --to text").expect(0, "").stdout;
    assert!(text.contains("Hm.") && text.is_ascii(), "{text}");
    assert!(!run(&folder, "../s.jsonl --to text --no-project").expect(0, "").stdout.is_ascii());
}

#[test]
fn a_project_is_trusted_as_it_is_and_no_longer_when_it_changes() {
    let folder = folder_with("tool.Bash.label = 'shell'\nplugins = ['./evil.lua']\n");
    folder.write("project/.streamfmt/notes.txt", "one\n");
    let told = run(&folder, "../s.jsonl --to text");
    assert_eq!(told.stdout, usual(&folder));
    told.expect(0, &left_out("tool.Bash.label, plugins"));

    let shown = run(&folder, "trust");
    assert_eq!(shown.code, Some(1), "{shown:?}");
    for line in [
        "        4 B  .streamfmt/notes.txt",
        "  streamfmt.toml:1  tool.Bash.label",
        "  streamfmt.toml:2  plugins",
        "not trusted yet",
    ] {
        assert!(shown.stdout.lines().any(|told| told.trim() == line.trim()), "{line}: {shown:?}");
    }
    let hash = shown.stdout.lines().find_map(|line| line.strip_prefix("sha256 ")).unwrap().to_owned();
    assert!(
        shown.stderr.contains("streamfmt trust --yes")
            && shown.stderr.contains(&format!("STREAMFMT_TRUST={hash}"))
    );

    assert_eq!(run(&folder, "trust --yes").expect(0, "").code, Some(0));
    let text = run(&folder, "../s.jsonl --to text").stdout;
    assert!(text.contains("shell README.md"), "{text}");
    let said = "  streamfmt.toml changes the output: plugins, tool.Bash.label (--no-project leaves it out)\n";
    assert!(text.starts_with(said), "{text}");
    assert!(run(&folder, "trust").expect(0, "").stdout.ends_with("trusted in its current state\n"));

    for (file, before) in [("evil.lua", LOUD), (".streamfmt/notes.txt", "one\n")] {
        folder.write(&format!("project/{file}"), format!("{before}-- more\n"));
        let told = run(&folder, "../s.jsonl --to text");
        assert_eq!(told.stdout, usual(&folder));
        assert!(told.stderr.contains("has changed since you trusted it"), "{told:?}");
        let diff = run(&folder, "trust --diff");
        assert!(diff.code == Some(1) && diff.stdout.contains(&format!("+++ b/{file}\n")), "{diff:?}");
        assert!(diff.stdout.contains("\n+-- more\n"), "{diff:?}");
        folder.write(&format!("project/{file}"), before);
    }
    assert!(run(&folder, "../s.jsonl --to text").stdout.contains("shell README.md"));
}

#[test]
fn a_schema_of_records_is_part_of_what_is_trusted() {
    let folder = folder_with("records = './plan/plan.toml'\n");
    fs::create_dir_all(folder.path("project/plan")).unwrap();
    let schema = "[[type]]\nname = 'step'\nfields.name = 'one'\n";
    folder.write("project/plan/plan.toml", schema);
    run(&folder, "../s.jsonl --to text").expect(0, &left_out("records"));
    let shown = run(&folder, "trust --yes");
    assert!(shown.code == Some(0) && shown.stdout.contains("plan/plan.toml"), "{shown:?}");
    let said = "  streamfmt.toml changes the output: records (--no-project leaves it out)\n";
    let trusted = run(&folder, "../s.jsonl --to text").expect(0, "").stdout;
    assert!(trusted.starts_with(said), "{trusted}");
    folder.write("project/plan/plan.toml", schema.replace("one", "two"));
    let changed = run(&folder, "../s.jsonl --to text");
    assert!(changed.stderr.contains("has changed since you trusted it"), "{changed:?}");
    folder.write("project/streamfmt.toml", "records = '../secret.toml'\n");
    run(&folder, "trust --yes");
    let outside = run(&folder, "../s.jsonl --to text");
    assert_eq!((outside.code, outside.stdout), (Some(0), usual(&folder)));
}

#[test]
fn a_hash_trusts_in_a_pipeline_unless_the_project_is_denied() {
    let folder = folder_with("tool.Bash.label = 'shell'\n");
    let shown = run(&folder, "trust").stdout;
    let hash = shown.lines().find_map(|line| line.strip_prefix("sha256 ")).unwrap();
    let with = |hashes: &str| -> Outcome {
        in_project(&folder, "../s.jsonl --to text").env("STREAMFMT_TRUST", hashes).output().unwrap().into()
    };
    assert!(with(hash).stdout.contains("shell"));
    assert!(with(&format!("0123,{hash}")).stdout.contains("shell"));
    let other = hash.replace(|digit| digit != '0', "0");
    for wrong in [&hash[1..], &hash[..63], &hash[..1], &other, "*", "", ",", " , "] {
        let told = with(wrong).expect(0, &left_out("tool.Bash.label"));
        assert_eq!(told.stdout, usual(&folder), "{wrong:?}");
    }

    let denied = run(&folder, "trust --deny").expect(0, "").stdout;
    assert!(denied.ends_with(" is denied: only settings that any project may choose are used\n"), "{denied}");
    let told = with(hash);
    assert_eq!(told.stdout, usual(&folder));
    assert_eq!(told.stderr, "streamfmt: streamfmt.toml is denied: ignored tool.Bash.label\n");
    assert!(run(&folder, "trust --list").expect(0, "").stdout.starts_with("denied   "));
    assert!(run(&folder, "trust --forget").expect(0, "").stdout.starts_with("forgot "));
    assert_eq!(run(&folder, "trust --list").expect(0, "").stdout, "no project is trusted or denied\n");
    assert!(with(hash).stdout.contains("shell"));
}

#[test]
fn only_the_users_own_settings_say_what_is_trusted_everywhere() {
    let folder = folder_with("tool.Bash.label = 'shell'\ntrusted-paths = ['/**']\n");
    let is_ignored =
        |told: &str| assert_eq!(run(&folder, "../s.jsonl --to text").expect(0, told).stdout, usual(&folder));
    is_ignored(&left_out("trusted-paths, tool.Bash.label"));
    fs::create_dir_all(folder.path("home/.config/streamfmt")).unwrap();
    let path = folder.path("project").canonicalize().unwrap();
    for other in ["/nowhere/**".to_owned(), format!("{}2", path.display()), format!("{}/*", path.display())] {
        folder.write("home/.config/streamfmt/config.toml", format!("trusted-paths = ['{other}']\n"));
        is_ignored(&left_out("trusted-paths, tool.Bash.label"));
    }
    folder.write("home/.config/streamfmt/config.toml", format!("trusted-paths = ['{}']\n", path.display()));
    assert!(run(&folder, "../s.jsonl --to text").stdout.contains("shell"));
    run(&folder, "trust --deny").expect(0, "");
    is_ignored("streamfmt: streamfmt.toml is denied: ignored trusted-paths, tool.Bash.label\n");
}

#[test]
fn trust_never_takes_the_stream_for_an_answer() {
    let folder = folder_with("hide = ['call']\n");
    let mut child = in_project(&folder, "trust").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"y\ny\nyes\n").ok();
    let outcome: Outcome = child.wait_with_output().unwrap().into();
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(!folder.path("home/.local/state").exists());
}

#[cfg(unix)]
#[test]
fn links_that_leave_a_project_keep_it_from_being_trusted() {
    let folder = folder_with("hide = ['call']\n");
    std::os::unix::fs::symlink("../../secret.lua", folder.path("project/.streamfmt/x.lua")).unwrap();
    let told = run(&folder, "trust --yes");
    let why = ".streamfmt: x.lua is a symbolic link to a place outside";
    assert!(told.code == Some(2) && told.stderr.contains(why), "{told:?}");
    fs::remove_file(folder.path("project/.streamfmt/x.lua")).unwrap();
    // The same holds for files that its settings refer to.
    folder.write("project/pack/plugin.toml", "name = 'pack'\napi = 1\n");
    folder.write("project/pack/init.lua", "require('m')\n");
    std::os::unix::fs::symlink("../../secret.lua", folder.path("project/pack/m.lua")).unwrap();
    std::os::unix::fs::symlink("../secret.lua", folder.path("project/b.lua")).unwrap();
    folder.write("secret.lua", "");
    for (settings, why) in [
        ("plugins = ['./pack']\n", "streamfmt.toml: ./pack: m.lua is a symbolic link to a place outside"),
        ("tool.Bash.script.label = 'b.lua#x'\n", "streamfmt.toml: b.lua: not inside "),
        ("[profile.x]\nextends = ['../x.toml']\n", "streamfmt.toml: ../x.toml: not inside "),
    ] {
        folder.write("project/streamfmt.toml", settings);
        let told = run(&folder, "trust --yes");
        assert!(told.code == Some(2) && told.stderr.contains(why), "{told:?}");
        assert!(told.stdout.is_empty(), "{told:?}");
    }
    let outside = run(&folder, "trust ..");
    assert!(outside.code == Some(2) && outside.stderr.contains("no streamfmt.toml"), "{outside:?}");
}

#[cfg(unix)]
#[test]
fn the_record_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder_with("hide = ['call']\n");
    run(&folder, "trust --yes").expect(0, "");
    let records = folder.path("home/.local/state/streamfmt/trust");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let record = fs::read_dir(&records).unwrap().next().unwrap().unwrap().path();
    assert_eq!((mode(&records), mode(&record)), (0o700, 0o600));
    fs::set_permissions(&record, fs::Permissions::from_mode(0o622)).unwrap();
    let told = run(&folder, "../s.jsonl --to text");
    assert_eq!(told.stdout, usual(&folder));
    assert!(told.stderr.contains("writable by others"), "{told:?}");
}

#[cfg(unix)]
#[test]
fn only_a_clear_yes_trusts_a_project() {
    for (typed, code) in
        [("\n", 1), (" \n", 1), ("n\n", 1), ("yy\n", 1), ("\u{4}", 1), ("y\n", 0), ("YES\n", 0)]
    {
        let folder = folder_with("hide = ['call']\n");
        let home = folder.path("home").display().to_string();
        let mut terminal = Terminal::start(&folder, "trust project", &[("HOME", &home)], "");
        assert!(terminal.shows("[y/N] "), "{}", terminal.written());
        terminal.hit(typed);
        let (status, _) = terminal.line_after("more");
        assert_eq!(status.code(), Some(code), "{typed:?}");
        assert_eq!(folder.path("home/.local/state/streamfmt/trust").exists(), code == 0, "{typed:?}");
    }
}
