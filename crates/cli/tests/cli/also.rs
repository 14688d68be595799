//! `--also`: several outputs of one run.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::program::{FAILED_SESSION, Folder, Outcome, SESSION, reply};
#[cfg(unix)]
use crate::program::{Reader, Running, Signal, can_watch, contains, draft, quoted, send, until};

/// A folder with the sample session and a large one in several parts.
fn samples() -> Folder {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.partial.jsonl");
    let sample = std::fs::read_to_string(sample).unwrap();
    let large = sample.clone() + &(0..8_000).map(reply).collect::<String>();
    Folder::with(&[
        ("s.jsonl", &sample),
        ("large.jsonl", &large),
        (
            "mine.lua",
            r#"sf.writer("brief", { entry = function(e, w) return e.kind .. " " .. w:inlines(e.title) .. "\n" end })"#,
        ),
        ("loud.toml", "writer = \"markdown\"\nlimits.result-lines = 1\nhide = [\"thinking\"]\n"),
        (
            "switch.toml",
            "default-profile = \"review\"\n[[switch]]\nprofile = \"quiet\"\nstream.model = \"*\"\n",
        ),
        ("home/file", ""),
    ])
}

/// Runs with all outputs at once, then with each one alone, and compares. `also`: values of the option. `common`: arguments of all outputs.
/// `main`: arguments of the main output.
#[track_caller]
fn assert_alike(folder: &Folder, common: &str, main: &str, also: &[&str]) {
    let all: Vec<_> =
        also.iter().enumerate().map(|(number, to)| format!(" --also {to}=also-{number}")).collect();
    let all = all.concat();
    for input in ["s.jsonl", "large.jsonl"] {
        let together = folder.run(&format!("{input} {common} {main}{all}"));
        let alone = folder.run(&format!("{input} {common} {main}"));
        assert!(together.stdout == alone.stdout, "{common} {main}: the main output with{all}");
        assert_eq!((together.code, together.stderr), (Some(0), String::new()), "{all}");
        for (number, to) in also.iter().enumerate() {
            let (to, profile) = to.split_once(':').unwrap_or((to, ""));
            let profile = if profile.is_empty() { String::new() } else { format!("--profile {profile}") };
            folder.run(&format!("{input} {common} --to {to} {profile} -o alone")).expect(0, "");
            let (alone, also) = (folder.read("alone"), folder.read(&format!("also-{number}")));
            assert!(
                !alone.is_empty() && also == alone,
                "{common} {main}: {to} {profile} of{all} from {input}"
            );
        }
    }
    let input = folder.read("s.jsonl");
    let piped = folder.pipe(&format!("{common} {main}{all}"), &input).expect(0, "");
    assert_eq!(piped.stdout, folder.pipe(&format!("{common} {main}"), &input).stdout);
    for (number, to) in also.iter().enumerate() {
        let (to, profile) = to.split_once(':').unwrap_or((to, ""));
        let profile = if profile.is_empty() { String::new() } else { format!("--profile {profile}") };
        folder.pipe(&format!("{common} --to {to} {profile} -o alone"), &input).expect(0, "");
        assert!(
            folder.read(&format!("also-{number}")) == folder.read("alone"),
            "{to} {profile} of{all} from a pipe"
        );
    }
}

#[test]
fn each_output_is_what_it_would_be_alone() {
    let folder = samples();
    assert_alike(&folder, "", "--profile ci", &["html", "items", "markdown", "text"]);
    assert_alike(
        &folder,
        "--config switch.toml",
        "--to items",
        &["html:quiet", "text:full", "ansi:plain", "roles:loud.toml"],
    );
}

#[test]
fn what_holds_for_all_holds_for_all_and_the_rest_for_the_main_output() {
    let folder = samples();
    let main = "--to ansi --color always --width 40 --theme mono";
    assert_alike(&folder, "--redact --hide thinking --only Bash,reply", main, &["html", "ansi", "json"]);
    assert_alike(
        &folder,
        "--set limits.result-lines=1 --from claude --timestamps --ascii",
        main,
        &["text", "markdown"],
    );
    assert_alike(&folder, "--plugin mine.lua", "--to brief", &["brief:full", "html", "brief"]);
    let tail = folder.run("s.jsonl --tail 100 --also text=also").expect(0, "").stdout;
    assert!(tail.len() < 120 && folder.read("also") == folder.run("s.jsonl").stdout);
}

#[test]
fn what_is_wrong_is_told_before_anything_is_written() {
    let folder = samples();
    folder.write("there", "before");
    for (arguments, told) in [
        ("--also htlm=x", "--also htlm=x: unknown output format (did you mean \"html\"?)"),
        ("--also html:fulll=x", "--also html:fulll=x: unknown profile \"fulll\" (did you mean \"full\"?)"),
        (
            "--also html",
            "--also can't be \"html\" (expected TO=FILE or TO:PROFILE=FILE); see streamfmt --help",
        ),
        ("--also =x", "--also can't be \"=x\" (expected TO=FILE or TO:PROFILE=FILE); see streamfmt --help"),
        (
            "--also html:=x",
            "--also can't be \"html:=x\" (expected TO=FILE or TO:PROFILE=FILE); see streamfmt --help",
        ),
        (
            "--also html=",
            "--also can't be \"html=\" (expected TO=FILE or TO:PROFILE=FILE); see streamfmt --help",
        ),
        ("--also html=x --watch", "--also and --watch can't be combined; see streamfmt --help"),
        ("large.jsonl --also html=x", "--also html=x takes a single FILE"),
        ("--also text=s.jsonl", "s.jsonl: can't be both read and written"),
        (
            "--also text=there --also html=there",
            "--also html=there writes to the same file as --also text=there",
        ),
        (
            "--also text=x --also html=./home/../x",
            "--also html=./home/../x writes to the same file as --also text=x",
        ),
        ("--also text=there --tee there", "--also text=there writes to the same file as --tee there"),
        ("--also text=home/../x -o x", "--also text=home/../x writes to the same file as -o x"),
        ("--also text=x --summary x", "--also text=x writes to the same file as --summary x"),
        (
            "--also text=-",
            "--also text=- writes to the same file as the main output (use -o FILE to write it elsewhere)",
        ),
        ("--set limits.lines=x --also html=x", ""),
    ] {
        let outcome = folder.run(&format!("s.jsonl {arguments}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{arguments}: {outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{arguments}: {outcome:?}");
        assert!(outcome.stderr.trim_end().ends_with(told), "{arguments}: {outcome:?}");
        assert_eq!(
            (folder.read("there").as_str(), folder.path("x").exists()),
            ("before", false),
            "{arguments}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_place_is_known_by_whatever_name() {
    let folder = samples();
    folder.write("there", "before");
    std::fs::hard_link(folder.path("there"), folder.path("hard")).unwrap();
    for (link, target) in [("soft", "there"), ("around", "soft"), ("ahead", "later")] {
        std::os::unix::fs::symlink(target, folder.path(link)).unwrap();
    }
    for (one, other) in
        [("there", "hard"), ("soft", "around"), ("hard", "around"), ("ahead", "later"), ("later", "ahead")]
    {
        let outcome = folder.run(&format!("s.jsonl --also text={one} --also html={other}"));
        outcome.expect(
            2,
            &format!("streamfmt: --also html={other} writes to the same file as --also text={one}\n"),
        );
    }
    let stdout = std::fs::OpenOptions::new().write(true).open(folder.path("there")).unwrap();
    let output = folder.command("s.jsonl --also html=soft").stdout(stdout).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    // The null device accepts everything.
    folder.run("s.jsonl --also html=/dev/null --also text=/dev/null").expect(0, "");
    assert_eq!(folder.read("there"), "before");
}

#[test]
fn an_output_that_fails_costs_a_line_and_the_others_go_on() {
    let folder = samples();
    let mut failing = vec![("nowhere/x", "no such file or directory")];
    if cfg!(target_os = "linux") {
        failing.push(("/dev/full", "no space left on device"));
    }
    for input in ["s.jsonl", "large.jsonl"] {
        let (text, items) = (folder.run(input).stdout, folder.run(&format!("{input} --to items")).stdout);
        for (path, why) in &failing {
            let outcome = folder.run(&format!("{input} --also html={path} --also items=items --report"));
            assert!(outcome.stdout == text && folder.read("items") == items);
            let told = format!("streamfmt: can't write {path}: {why}");
            assert_eq!(outcome.stderr.lines().filter(|line| *line == told).count(), 1, "{outcome:?}");
            assert_eq!(outcome.code, Some(74));
        }
    }
    folder
        .run("s.jsonl --also html=nowhere/x")
        .expect(74, "streamfmt: can't write nowhere/x: no such file or directory\n");
    let folders: Vec<_> = folder.names().into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(folders, Vec::<String>::new());
}

#[test]
fn what_is_read_no_more_does_not_stop_the_others() {
    let folder = samples();
    let items = folder.run("large.jsonl --to items").stdout;
    let mut child = folder.command("large.jsonl --also items=items").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    Outcome::from(child.wait_with_output().unwrap()).expect(0, "");
    assert!(folder.read("items") == items);
}

#[cfg(unix)]
fn fifo(folder: &Folder, name: &str) -> std::path::PathBuf {
    let path = folder.path(name);
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[cfg(unix)]
#[test]
fn a_pipe_gets_the_output_as_it_comes() {
    let folder = samples();
    let path = fifo(&folder, "pipe");
    let mut child = folder.command("--also text=pipe -o out").stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut pipe = Reader::of_pipe(path);
    for number in 0..3 {
        stdin.write_all(reply(number).as_bytes()).unwrap();
        pipe.until(|seen| contains(seen, &format!("reply number {number}.")));
    }
    drop(stdin);
    Outcome::from(child.wait_with_output().unwrap()).expect(0, "");
}

#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_reads_any_more_fails_by_itself() {
    let folder = samples();
    let path = fifo(&folder, "pipe");
    let child = folder.command("large.jsonl -o out --also text=pipe --also items=items").spawn().unwrap();
    let mut pipe = Reader::of_pipe(path);
    pipe.until(|seen| !seen.is_empty());
    drop(pipe);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert!(folder.read("out") == folder.run("large.jsonl").stdout);
    assert!(folder.read("items") == folder.run("large.jsonl --to items").stdout);
    outcome.expect(74, "streamfmt: can't write pipe: broken pipe\n");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_wait_for_a_reader() {
    let folder = samples();
    fifo(&folder, "pipe");
    folder.write("run.jsonl", reply(0));
    let mut child = folder.command("--also items=items --also text=pipe --tee copy").spawn().unwrap();
    // Once it has opened the file before the pipe, it is about to wait.
    until(
        || format!("a file that is begun in {:?}", folder.names()),
        || {
            assert!(child.try_wait().unwrap().is_none());
            draft(child.id(), &folder).is_some()
        },
    );
    send(&child, Signal::TERM);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    outcome.expect(74, "streamfmt: can't write pipe: nobody reads it\n");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_open_already_is_written_on() {
    let folder = samples();
    let shell = |script: &str| {
        let script = script.replace("streamfmt", &quoted(env!("CARGO_BIN_EXE_streamfmt")));
        let mut command = std::process::Command::new("sh");
        let output = command.args(["-c", &script]).current_dir(folder.path("")).env_clear();
        Outcome::from(output.env("HOME", folder.path("home")).env("PATH", "/usr/bin:/bin").output().unwrap())
    };
    let (text, html) = (folder.run("s.jsonl").stdout, folder.run("s.jsonl --to html").stdout);
    assert!(shell("streamfmt s.jsonl -o out --also html=/dev/stdout").expect(0, "").stdout == html);
    assert!(shell("streamfmt s.jsonl -o out --also html=-").expect(0, "").stdout == html);
    assert!(shell("streamfmt s.jsonl --also html=/dev/fd/3 3>&1 >out | cat").expect(0, "").stdout == html);
    assert!(folder.read("out") == text);
    folder.write("log", "before\n");
    shell("streamfmt s.jsonl --also html=/dev/fd/3 3>>log >out").expect(0, "");
    assert!(folder.read("log") == format!("before\n{html}"));
    shell("streamfmt s.jsonl --also html=/dev/fd/7")
        .expect(74, "streamfmt: can't write /dev/fd/7: it isn't open\n");
}

/// A reply that is still being written when the input ends.
const GROWING: &str = concat!(
    r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[]}},"session_id":"s-1","uuid":"u"}"#,
    "\n",
    r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"session_id":"s-1","uuid":"u"}"#,
    "\n",
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half a rep"}},"session_id":"s-1","uuid":"u"}"#,
    "\n",
);

/// Turns lines of a stream into lines of a history, which needs no result at its end.
#[cfg(unix)]
fn excerpt(lines: &str) -> String {
    lines.replace("\"session_id\":", "\"sessionId\":")
}

#[cfg(unix)]
#[test]
fn a_signal_finishes_the_files_with_what_is_open() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = Folder::with(&[("page.html", "before"), ("items", "before")]);
        let arguments = "--also html=page.html --also items=items";
        let mut child = folder.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdin.write_all(excerpt(&(reply(1) + GROWING)).as_bytes()).unwrap();
        let mut line = String::new();
        while !line.contains("reply number 1.") {
            line.clear();
            assert!(stdout.read_line(&mut line).unwrap() > 0);
        }
        assert_eq!((folder.read("page.html").as_str(), folder.read("items").as_str()), ("before", "before"));
        send(&child, signal);
        drop(stdin);
        drop(stdout);
        Outcome::from(child.wait_with_output().unwrap()).expect(code, "");
        assert_eq!(folder.names(), ["items", "page.html"]);
        let input = excerpt(&(reply(1) + GROWING));
        assert_eq!(folder.read("page.html"), folder.pipe("--to html", &input).stdout);
        let items = folder.read("items");
        assert_eq!(items, folder.pipe("--to items", &input).stdout);
        assert!(items.contains(r#""status":"cancelled""#) && items.contains("half a rep"), "{items}");
    }
}

#[cfg(unix)]
#[test]
fn followed_lines_grow_in_place_and_a_page_is_there_at_the_end() {
    if !can_watch() {
        return;
    }
    let folder = Folder::new();
    let files = ["text", "json", "items"];
    let also = files.map(|to| format!(" --also {to}={to}")).concat();
    for name in files {
        folder.write(name, "before");
    }
    folder.write("page", "before");
    folder.write("run.jsonl", excerpt(&reply(0)));
    let mut running = Running::start(&folder, &format!("-f run.jsonl --also html=page{also}"));
    running.until_shown("reply number 0.");
    folder.append("run.jsonl", &excerpt(&reply(1)));
    running.until_shown("reply number 1.");
    // Earlier output was passed on to every file.
    for name in files {
        let text = folder.read(name);
        assert!(text.contains("reply number 0.") && !text.contains("before"), "{name}: {text}");
    }
    assert_eq!(folder.read("page"), "before");
    running.end(Signal::TERM).expect(143, "");
    for (name, to) in [("text", "text"), ("json", "json"), ("items", "items"), ("page", "html")] {
        assert_eq!(folder.read(name), folder.run(&format!("run.jsonl --to {to}")).stdout, "{name}");
    }
    assert!(folder.names().iter().all(|name| !name.starts_with('.')), "{:?}", folder.names());
}

#[test]
fn the_report_counts_the_main_output_and_gives_each_other_a_line() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let alone = folder.run("s.jsonl --report").stderr;
    let outcome = folder.run("s.jsonl --report --also html=page --also text:quiet=text --summary sum");
    let expected = "streamfmt: --also html=page: shown: 2 reply, 1 notice, 1 outcome\n\
                    streamfmt: --also text:quiet=text: shown: 2 reply, 1 outcome; hidden: 1 filter\n\
                    streamfmt: --summary sum: shown: 2 reply, 1 notice, 1 outcome\n";
    outcome.expect(0, &(alone + expected));
}

#[test]
fn codes_are_those_of_the_run_and_of_plugins_of_any_output() {
    let folder = Folder::with(&[
        ("s.jsonl", SESSION),
        ("failed.jsonl", FAILED_SESSION),
        ("bad.lua", "print(\"here\")\nsf.on(\"reply\", function() error(\"no\") end)"),
        ("bad.toml", "plugins = [\"./bad.lua\"]\n"),
    ]);
    folder.run("failed.jsonl --fail --also items=items").expect(1, "");
    let told = |arguments: &str| folder.run(&format!("s.jsonl --strict-plugins {arguments}"));
    let alone = told("--plugin bad.lua");
    let beside = told("--plugin bad.lua --also html=page --also text=text");
    assert_eq!((alone.code, beside.code, &beside.stderr), (Some(3), Some(3), &alone.stderr));
    let of_profile = told("--also text:bad.toml=text");
    // One plugin was named by its path, the other by the settings.
    let place = folder.path("bad.lua").display().to_string();
    assert_eq!((of_profile.code, of_profile.stderr.replace(&place, "bad.lua")), (Some(3), alone.stderr));
}

#[test]
fn pages_in_a_folder_leave_other_outputs_alone() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    std::fs::create_dir(folder.path("pages")).unwrap();
    folder.run("s.jsonl --to html -o pages --also items=pages/s.html").expect(0, "");
    assert_eq!(folder.read("pages/s.html"), folder.run("s.jsonl --to items").stdout);
    let names = folder.names_in("pages");
    assert_eq!((names.len(), names.contains(&"index.html".to_owned())), (3, true), "{names:?}");
    let index = "s.jsonl --to html -o pages --also items=pages/index.html";
    assert_eq!(folder.run(index).code, Some(2));
}
