//! Where the text output may go.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::inputs::gzip;
use crate::program::{FAILED_SESSION, Folder, SESSION, reply};
#[cfg(unix)]
use crate::program::{Running, Signal, draft, has_program, send, until};

#[test]
fn a_closed_pipe_is_success_and_silent() {
    let folder = Folder::new();
    folder.write("long.jsonl", (0..20_000).map(reply).collect::<String>());
    let mut child = folder.command("long.jsonl").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let output = folder.command("s.jsonl").stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("streamfmt: can't write standard output: no space left"), "{told}");
    let output = folder.command("man").stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
}

#[test]
fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("out.txt", "old")]);
    let text = folder.run("s.jsonl").stdout;
    assert_eq!(folder.run("s.jsonl -o out.txt").expect(0, "").stdout, "");
    assert_eq!(folder.read("out.txt"), text);
    assert_eq!(folder.names(), ["out.txt", "s.jsonl"]);
    folder.run("missing.jsonl -o out.txt").expect(2, "streamfmt: missing.jsonl: no such file or directory\n");
    assert_eq!(folder.read("out.txt"), text);
    let outcome = folder.run("s.jsonl -o nowhere/out.txt");
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(74), 1), "{outcome:?}");
}

#[cfg(unix)]
#[test]
fn a_link_to_the_output_stays_a_link() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("real.txt", "old")]);
    std::os::unix::fs::symlink("real.txt", folder.path("link.txt")).unwrap();
    folder.run("s.jsonl -o link.txt").expect(0, "");
    assert!(folder.path("link.txt").is_symlink());
    assert!(folder.read("real.txt").contains("First reply."));
    // Also a link to a file that doesn't exist yet.
    std::fs::remove_file(folder.path("real.txt")).unwrap();
    folder.run("s.jsonl -o link.txt").expect(0, "");
    assert!(folder.path("link.txt").is_symlink() && folder.read("real.txt").contains("First reply."));
    assert_eq!(folder.names(), ["link.txt", "real.txt", "s.jsonl"]);
}

#[test]
fn a_tail_is_the_end_of_the_text_from_the_start_of_a_line() {
    let folder = Folder::new();
    folder.write("long.jsonl", (0..500).map(reply).collect::<String>());
    let whole = folder.run("long.jsonl").stdout;
    for characters in [0, 1, 20, 100, 5_000, 1_000_000] {
        let tail = folder.run(&format!("long.jsonl --tail {characters}")).expect(0, "").stdout;
        assert!(tail.chars().count() <= characters && whole.ends_with(&tail));
        let before = &whole[..whole.len() - tail.len()];
        assert!(before.is_empty() || before.ends_with('\n'));
        // With one more line it would be too long.
        let line = before.lines().next_back().map_or(usize::MAX / 2, |line| line.chars().count() + 1);
        assert!(tail.chars().count() + line > characters);
    }
}

#[test]
fn colours_are_written_only_where_they_are_wanted() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    for (arguments, colored) in [
        ("", false),
        ("--color always", true),
        ("--to ansi", true),
        ("--to ansi --color never", false),
        ("--profile ci --color always", false),
        ("--profile ci", false),
        ("--to text --color always", false),
        ("--to json --color always", false),
    ] {
        let outcome = folder.run(&format!("s.jsonl {arguments}"));
        assert_eq!(outcome.stdout.contains('\u{1b}'), colored, "{arguments}: {outcome:?}");
        assert_eq!(outcome.code, Some(0));
    }
}

#[test]
fn with_ascii_nothing_of_our_own_is_beyond_it_in_any_profile() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
    let sample = std::fs::read_to_string(sample).unwrap().replace(|char: char| !char.is_ascii(), "?");
    let folder = Folder::with(&[("s.jsonl", &sample)]);
    for profile in ["default", "full", "quiet", "ci", "review", "plain"] {
        let text = folder.run(&format!("s.jsonl --ascii --profile {profile}")).stdout;
        let beyond = text.lines().find(|line| !line.is_ascii());
        assert!(text.len() > 500 && beyond.is_none(), "{profile}: {beyond:?}");
    }
}

#[test]
fn machine_outputs_are_one_object_a_line() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    for to in ["json", "items"] {
        let text = folder.run(&format!("s.jsonl --to {to}")).expect(0, "").stdout;
        assert!(text.contains("First reply."));
        assert!(text.lines().all(|line| line.starts_with("{\"v\":1,") && line.ends_with('}')), "{text}");
    }
}

#[test]
fn several_files_become_pages_and_an_index_in_a_folder() {
    let folder = Folder::with(&[("one.jsonl", SESSION), ("<b>.jsonl", FAILED_SESSION)]);
    std::fs::create_dir(folder.path("deeper")).unwrap();
    folder.write("deeper/one.jsonl", SESSION);
    let output = folder.command("--to html -o pages one.jsonl deeper/one.jsonl <b>.jsonl").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.as_str()), (Some(0), ""));
    let page = |name: &str| std::fs::read_to_string(folder.path("pages").join(name)).unwrap();
    for name in ["one.html", "deeper-one.html", "b-.html"] {
        assert!(page("index.html").contains(&format!("href=\"{name}\"")), "{name}");
        assert!(page(name).ends_with("</html>\n"));
    }
    assert!(page("one.html").contains("Second reply.") && page("index.html").contains("✗ failed"));
    assert!(!page("index.html").contains("<b>"));
}

#[test]
fn an_index_links_by_titles_and_tells_no_folder_of_the_machine() {
    let history = r#"{"type":"user","message":{"role":"user","content":"Fix the cart."},"uuid":"u-1","timestamp":"2026-11-21T21:05:00Z","sessionId":"s-1"}
{"type":"assistant","message":{"id":"m-1","role":"assistant","content":[{"type":"text","text":"Done."}]},"uuid":"u-2","timestamp":"2026-11-21T21:41:00Z","sessionId":"s-1"}
"#;
    let folder = Folder::with(&[("one.jsonl", history), ("two.jsonl", FAILED_SESSION)]);
    let [one, two] = ["one.jsonl", "two.jsonl"].map(|name| folder.path(name).display().to_string());
    for writer in ["html", "markdown"] {
        folder.command("").args(["--to", writer, "-o", "pages/", &one, &two]).output().unwrap();
    }
    let page = |name: &str| std::fs::read_to_string(folder.path("pages").join(name)).unwrap();
    let index = page("index.html");
    assert!(index.contains(">Fix the cart.</a>") && index.contains("last step 21:41 UTC"), "{index}");
    assert!(!index.contains(one.trim_end_matches("one.jsonl")), "{index}");
    assert!(page("index.md").contains("- [Fix the cart.](one.md) · one.md"), "{}", page("index.md"));
}

#[test]
fn the_ending_of_the_output_chooses_the_format() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    for (options, name, start) in [
        ("", "a.html", "<!doctype html>"),
        ("", "a.MD", "#"),
        ("", "a.json", "{\"v\":1,"),
        ("", "a.cast", "{\"version\""),
        ("", "a.txt", "◇"),
        ("", "plain", "◇"),
        ("--to markdown ", "b.html", "#"),
    ] {
        folder.run(&format!("{options}-o {name} s.jsonl")).expect(0, "");
        let text = folder.read(name);
        assert!(text.to_lowercase().starts_with(start), "{name}: {text}");
    }
}

#[test]
fn pages_of_a_plugins_writer_end_as_it_says() {
    let writer = "sf.writer('wiki', { base = 'markdown', ext = 'wiki', prose = function(b) return b.text:upper() end })";
    let folder = Folder::with(&[("one.jsonl", SESSION), ("two.jsonl", SESSION), ("w.lua", writer)]);
    folder.run("--to wiki --plugin w.lua -o pages/ one.jsonl two.jsonl").expect(0, "");
    let page = |name: &str| std::fs::read_to_string(folder.path("pages").join(name)).unwrap();
    assert!(page("one.wiki").contains("SECOND REPLY.") && page("two.wiki").contains("SECOND REPLY."));
    assert!(page("index.md").contains("- [\\~/shop](one.wiki) · one.wiki\n"));
}

#[test]
fn several_files_are_no_single_page() {
    let folder = Folder::with(&[("one.jsonl", SESSION), ("two.jsonl", SESSION)]);
    let output = folder.command("--to html one.jsonl two.jsonl").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("name a folder for them with -o DIR"), "{told}");
}

/// The files in the folder after a signal while a file was being written, and the file's content.
#[cfg(unix)]
fn after_a_signal(signal: Signal) -> (Vec<String>, String) {
    use std::io::Write;
    let folder = Folder::new();
    let mut child = folder.command("-o out").stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(reply(1).as_bytes()).unwrap();
    let is_written = || {
        let text = draft(child.id(), &folder).and_then(|path| std::fs::read_to_string(path).ok());
        text.is_some_and(|text| text.contains("reply number 1."))
    };
    until(|| format!("the reply in {:?}", folder.names()), is_written);
    send(&child, signal);
    drop(stdin);
    child.wait().unwrap();
    (folder.names(), folder.read("out"))
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_file_in_an_orderly_way() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let (names, written) = after_a_signal(signal);
        assert_eq!(names, ["out"], "{signal:?}");
        assert!(written.contains("reply number 1."), "{written}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_amid_a_file_leaves_the_output_as_it_was() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("pages/index.html", "before")]);
    folder.write("long.jsonl", (0..100).map(reply).collect::<String>());
    // A hole that takes minutes to read, so that no signal arrives after the end, however late it is sent. It is one long line, of which
    // only a little is read, so the program still ends quickly after a signal.
    std::fs::OpenOptions::new()
        .write(true)
        .open(folder.path("long.jsonl"))
        .and_then(|file| file.set_len(1 << 36))
        .unwrap();
    for (arguments, output, signal, code) in [
        ("--set limits.line=100000 long.jsonl -o out", "out", Signal::TERM, 143),
        ("--set limits.line=100000 long.jsonl s.jsonl -o out", "out", Signal::INT, 130),
        ("--set limits.line=100000 long.jsonl --also text=out", "out", Signal::INT, 130),
        (
            "--set limits.line=100000 long.jsonl s.jsonl --to html -o pages",
            "pages/index.html",
            Signal::HUP,
            129,
        ),
    ] {
        folder.write(output, "before");
        let before = (folder.names(), folder.names_in("pages"));
        let running = Running::start(&folder, arguments);
        let is_begun = || draft(running.id(), &folder).is_some();
        until(|| format!("a beginning in {:?}", folder.names()), is_begun);
        let place = folder.path(output).canonicalize().unwrap();
        let complaint = format!(
            "streamfmt: {}: not written, because the input was not read to its end\n",
            place.display()
        );
        running.end(signal).expect(code, &complaint);
        assert_eq!(folder.read(output), "before");
        assert_eq!((folder.names(), folder.names_in("pages")), before);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_between_two_inputs_leaves_the_output_as_it_was() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("out", "before")]);
    // A pipe's length is unknown, so the first input is as complete as it can be.
    let mut running = Running::start(&folder, "- s.jsonl -o out");
    running.feed(&reply(1));
    let text = || draft(running.id(), &folder).and_then(|path| std::fs::read_to_string(path).ok());
    until(|| "the reply".to_owned(), || text().is_some_and(|text| text.contains("reply number 1.")));
    let place = folder.path("out").canonicalize().unwrap();
    let why = "not written, because the input was not read to its end";
    running.end(Signal::TERM).expect(143, &format!("streamfmt: {}: {why}\n", place.display()));
    assert_eq!(
        (folder.read("out").as_str(), folder.names()),
        ("before", vec!["out".into(), "s.jsonl".into()])
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_input_that_fails_amid_reading_is_named_and_is_an_error() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let whole = folder.run("s.jsonl").stdout;
    let told = "streamfmt: /proc/self/mem: ";
    for arguments in ["/proc/self/mem", "s.jsonl /proc/self/mem", "/proc/self/mem s.jsonl"] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments}: {outcome:?}");
        assert!(outcome.stderr.starts_with(told) && outcome.stderr.lines().count() == 1, "{outcome:?}");
        assert!(
            !arguments.contains("s.jsonl") || outcome.stdout.contains(&whole),
            "{arguments}: {outcome:?}"
        );
    }
}

#[test]
fn text_of_a_damaged_input_replaces_no_text() {
    let archive = gzip(SESSION.as_bytes());
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    std::fs::write(folder.path("cut.gz"), &archive[..archive.len() - 1]).unwrap();
    let damaged = "streamfmt: cut.gz: the gzip archive is damaged: it ends too early\n";
    let kept = |name: &str| {
        let place = folder.path(name).canonicalize().unwrap();
        format!("streamfmt: {}: not written, because the input was not read to its end\n", place.display())
    };
    for (inputs, to) in [
        ("cut.gz", "text"),
        ("cut.gz", "items"),
        ("cut.gz", "html"),
        ("s.jsonl cut.gz", "text"),
        ("cut.gz s.jsonl", "text"),
    ] {
        folder.write("out", "before");
        folder.run(&format!("{inputs} --to {to} -o out")).expect(2, &format!("{damaged}{}", kept("out")));
        assert_eq!(folder.read("out"), "before", "{inputs} {to}");
        for known in [None, Some("")] {
            std::fs::remove_file(folder.path("out")).unwrap();
            known.inspect(|text| folder.write("out", text));
            folder.run(&format!("{inputs} --to {to} -o out")).expect(2, damaged);
            assert!(folder.read("out").contains("First reply."), "{inputs} {to} {known:?}");
        }
    }

    folder.write("beside", "before");
    std::fs::remove_file(folder.path("out")).unwrap();
    let arguments = "cut.gz -o out --also text=beside";
    folder.run(arguments).expect(2, &format!("{damaged}{}", kept("beside")));
    assert_eq!((folder.read("out").is_empty(), &*folder.read("beside")), (false, "before"));

    // The other pages are written.
    std::fs::create_dir(folder.path("pages")).unwrap();
    for name in ["cut", "s", "index"] {
        folder.write(&format!("pages/{name}.html"), "before");
    }
    let message = format!("{damaged}{}", kept("pages/cut.html"));
    folder.run("cut.gz s.jsonl --to html -o pages/").expect(2, &message);
    let is_kept = |name: &str| folder.read(&format!("pages/{name}.html")) == "before";
    assert_eq!(["cut", "s", "index"].map(is_kept), [true, false, false]);
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode() {
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::with(&[("s.jsonl", SESSION), ("out", "old")]);
    std::os::unix::fs::symlink("out", folder.path("link")).unwrap();
    for mode in [0o600, 0o640, 0o666, 0o755] {
        for name in ["out", "link"] {
            folder.write("out", "old");
            set_permissions(folder.path("out"), Permissions::from_mode(mode)).unwrap();
            folder.run(&format!("s.jsonl -o {name}")).expect(0, "");
            let now = metadata(folder.path("out")).unwrap().permissions().mode() & 0o777;
            assert_eq!((now, folder.read("out") != "old"), (mode, true), "{mode:o} {name}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_signal_ends_a_program_that_hangs_in_a_write() {
    use std::os::unix::process::ExitStatusExt;

    let folder = Folder::new();
    folder.write("long.jsonl", (0..20_000).map(reply).collect::<String>());
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut child = folder.command("long.jsonl").spawn().unwrap();
        let status = |child: &std::process::Child| {
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default()
        };
        let pipe = child.stdout.as_ref().unwrap();
        // Nobody reads the pipe, so the program blocks once it is full. Writing in parts may leave a little room.
        until(
            || "a full pipe".to_owned(),
            || rustix::io::ioctl_fionread(pipe).is_ok_and(|full| full > 60_000),
        );
        send(&child, signal);
        let waits = |line: &str| line.contains("Pnd:") && !line.ends_with("\t0000000000000000");
        until(|| status(&child), || !status(&child).lines().any(waits));
        assert!(child.try_wait().unwrap().is_none(), "the first signal lets it write what it read");
        send(&child, signal);
        let mut ended = None;
        let is_ended = || {
            ended = child.try_wait().unwrap();
            ended.is_some()
        };
        until(|| format!("the end by {signal:?}"), is_ended);
        assert_eq!(ended.unwrap().signal(), Some(signal.as_raw()));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_the_program_was_started_to_ignore_stays_ignored() {
    if !has_program("nohup") {
        return;
    }
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0));
    let mut command = std::process::Command::new("nohup");
    command.args([env!("CARGO_BIN_EXE_streamfmt"), "-f", "run.jsonl"]).current_dir(folder.path(""));
    command.env_clear().env("HOME", folder.path("home"));
    let mut running = Running::of(&folder, command);
    running.until_shown("reply number 0.");
    running.send(Signal::HUP);
    folder.append("run.jsonl", &reply(1));
    running.until_shown("reply number 1.");
    assert_eq!(running.end(Signal::TERM).code, Some(143));
}

#[test]
fn a_page_has_its_own_profile_unless_another_is_chosen() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
    let folder = Folder::with(&[
        ("s.jsonl", &std::fs::read_to_string(sample).unwrap()),
        ("mine.toml", "default-profile = \"quiet\"\n"),
    ]);
    let html = |options: &str| folder.run(&format!("s.jsonl --to html {options}")).expect(0, "").stdout;
    let page = html("");
    assert_eq!(page, html("--profile page"));
    for other in ["default", "full", "quiet"] {
        assert_ne!(page, html(&format!("--profile {other}")), "{other}");
    }
    assert_eq!(html("--config mine.toml"), html("--profile quiet"));
    folder.run("s.jsonl --profile ci --also html=also.html").expect(0, "");
    assert_eq!(folder.read("also.html"), page);
    let markdown = |options: &str| folder.run(&format!("s.jsonl --to markdown {options}")).stdout;
    assert_eq!(markdown(""), markdown("--profile default"));
}
