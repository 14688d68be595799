//! Inputs: files, pipes, folders, compressed data.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use streamfmt::dialect::DIALECTS;

use crate::program::{Folder, Outcome, SESSION, reply};
#[cfg(unix)]
use crate::program::{Signal, open_for_writing, send};

#[test]
fn files_pipes_and_standard_input_say_the_same() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let file = folder.run("s.jsonl").expect(0, "").stdout;
    assert!(file.contains("First reply.") && file.contains("Second reply."), "{file}");
    assert_eq!(folder.pipe("", SESSION).expect(0, "").stdout, file);
    assert_eq!(folder.pipe("-", SESSION).expect(0, "").stdout, file);
    let stdin = fs::File::open(folder.path("s.jsonl")).unwrap();
    let output = folder.command("").stdin(stdin).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), file);
}

/// A history line with a message.
fn said(number: usize, agent: &str) -> String {
    let uuid = format!("{agent}{number:08}-0000-4000-8000-000000000000");
    let sidechain =
        if agent.is_empty() { String::new() } else { format!(r#""isSidechain":true,"agentId":"{agent}","#) };
    let text = "words ".repeat(40);
    format!(
        r#"{{{sidechain}"type":"user","message":{{"role":"user","content":"{number} {text}"}},"uuid":"{uuid}","sessionId":"c963cfe0-afae-4a3b-b909-6a04e7d80068"}}"#
    )
}

#[test]
fn a_large_file_whose_lines_are_read_ahead_says_what_it_says_on_one_thread() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.history");
    let agent = "agent-a4c19e07b25d83f61";
    let beside = |name: &str| std::fs::read_to_string(format!("{sample}/subagents/{agent}{name}")).unwrap();
    let many = |agent: &str| (0..6_000).map(|number| said(number, agent) + "\n").collect::<String>();
    let history = std::fs::read_to_string(format!("{sample}.jsonl")).unwrap();
    let damage = r#"no record
{"type":"user","message":{"role":"us{"type":"user","message":{"role":"user","content":"after damage"}}
"#;
    let folder = Folder::with(&[("silent.lua", "")]);
    std::fs::create_dir_all(folder.path("s/subagents")).unwrap();
    folder.write(&format!("s/subagents/{agent}.meta.json"), beside(".meta.json"));
    // Long enough that its items don't fit in one batch.
    folder.write(&format!("s/subagents/{agent}.jsonl"), beside(".jsonl") + &many("a4c19e07b25d83f61"));
    // The last line is incomplete.
    folder.write("s.jsonl", many("") + damage + &history + &said(6_000, ""));
    for arguments in ["--to items s.jsonl", "--to text --profile full s.jsonl"] {
        // There is no room for a second thread's stack.
        let mut alone = folder.command(&format!("--report --summary slowly.md {arguments}"));
        let slowly: Outcome = alone.env("RUST_MIN_STACK", "9223372036854771712").output().unwrap().into();
        assert_eq!(slowly.code, Some(0), "{}", slowly.stderr);
        let ahead = folder.run(&format!("--report --tee copy.jsonl --summary slowly.md {arguments}"));
        assert!(ahead.stdout.contains("5999 words") && ahead.stdout.matches(" words words").count() > 12_000);
        assert_eq!(ahead.stderr, slowly.stderr);
        assert!(ahead.stdout == slowly.stdout, "{arguments}");
        let with_a_script = folder.run(&format!("--plugin silent.lua {arguments}"));
        assert!(with_a_script.stdout == slowly.stdout, "{arguments}, with a script");
        assert_eq!(folder.read("copy.jsonl"), folder.read("s.jsonl"));
        std::fs::remove_file(folder.path("copy.jsonl")).unwrap();
        let summaries = folder.read("slowly.md");
        let (one, other) = summaries.split_at(summaries.len() / 2);
        assert!(one == other && one.contains("Push the branch"), "{summaries}");
        std::fs::remove_file(folder.path("slowly.md")).unwrap();
    }
}

#[test]
fn a_large_file_is_decoded_by_a_plugin_where_its_script_is() {
    let dialect = "sf.dialect('acme', { parse = function(o) return sf.item.reply { text = o.body } end })";
    let folder = Folder::with(&[("acme.lua", dialect)]);
    let line = |number: usize| format!("{{\"body\":\"said {number}\"}}\n");
    folder.write("s.jsonl", (0..60_000).map(line).collect::<String>());
    let outcome = folder.run("--plugin acme.lua --from acme --to items s.jsonl");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(outcome.stdout.matches("said ").count(), 60_000);
}

#[test]
fn a_session_file_of_a_sub_agent_is_shown_inside_of_the_call_that_started_it() {
    const IDS: [&str; 3] = [
        "01a2b3c4-0000-7000-8000-000000000001",
        "01a2b3c4-0000-7000-8000-000000000002",
        "01a2b3c4-0000-7000-8000-000000000003",
    ];
    let line = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-11-20T10:00:01.000Z","type":"{kind}","payload":{{{payload}}}}}"#)
            + "\n"
    };
    let begin = |id: &str, more: &str| {
        line("session_meta", &format!(r#""id":"{id}",{more}"cwd":"/home/dev/shop","cli_version":"0.169.0""#))
    };
    let reply = |text: &str| line("event_msg", &format!(r#""type":"agent_message","message":"{text}""#));
    let started = format!(r#"\"agent_id\":\"{}\""#, IDS[1]);
    let parent = begin(IDS[0], "")
        + &line(
            "response_item",
            r#""type":"function_call","name":"spawn_agent","arguments":"{\"message\":\"Count.\"}","call_id":"c1""#,
        )
        + &line(
            "response_item",
            &format!(r#""type":"function_call_output","call_id":"c1","output":"{{{started}}}""#),
        )
        + &reply("All is counted.");
    let of_parent = format!(r#""parent_thread_id":"{}","#, IDS[0]);
    let names = IDS.map(|id| format!("rollout-2026-11-20T10-00-01-{id}.jsonl"));
    let folder = Folder::with(&[
        (&names[0], &parent),
        (&names[1], &(begin(IDS[1], &of_parent) + &reply("35 lines."))),
        // A file of another session with a similar name.
        (&names[2], &(begin(IDS[2], "") + &reply("Nothing to do with it."))),
    ]);
    let text = folder.run(&names[0]).expect(0, "").stdout;
    let places =
        ["● ① spawn_agent Count.", "\n ①│   35 lines.", "\n  All is counted."].map(|part| text.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    assert!(!text.contains("Nothing to do with it."), "{text}");
    // Read on its own, it is an ordinary session.
    let own = folder.run(&names[1]).expect(0, "").stdout;
    assert!(own.contains("\n  35 lines."), "{own}");
}

#[test]
fn a_stream_shows_no_file_of_a_sub_agent() {
    let call = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Task","input":{"prompt":"Count."}}]},"session_id":"s-1","uuid":"u"}"#;
    let file = r#"{"type":"user","message":{"role":"user","content":"Count."},"sessionId":"s-1","agentId":"a","isSidechain":true,"uuid":"v"}"#;
    let folder = Folder::with(&[("stream.jsonl", call), ("agent-a.jsonl", file)]);
    // A stream contains the sub-agent's lines itself.
    let text = folder.run("stream.jsonl").expect(0, "").stdout;
    assert!(text.contains("● ① Task") && !text.contains("› Count."), "{text}");
    // A history doesn't.
    folder.write("history.jsonl", call.replace("session_id", "sessionId"));
    let text = folder.run("history.jsonl").expect(0, "").stdout;
    assert!(text.contains("①│ › Count."), "{text}");
}

#[test]
fn a_missing_file_and_a_folder_are_told_before_anything_is_written() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    std::fs::create_dir(folder.path("sub")).unwrap();
    let outcome = folder.run("s.jsonl nowhere.jsonl sub");
    assert_eq!(outcome.stdout, "");
    outcome.expect(
        2,
        "streamfmt: nowhere.jsonl: no such file or directory\nstreamfmt: sub: is a folder (name the files in it)\n",
    );
}

#[test]
fn several_files_have_headings_except_for_programs() {
    let folder = Folder::with(&[("a.jsonl", SESSION), ("b.jsonl", SESSION)]);
    let one = folder.run("a.jsonl").stdout;
    let two = folder.run("a.jsonl b.jsonl").expect(0, "").stdout;
    assert_eq!(two, format!("==> a.jsonl <==\n{one}\n==> b.jsonl <==\n{one}"));
    let items = folder.run("--to items a.jsonl b.jsonl").expect(0, "").stdout;
    assert!(!items.is_empty() && items.lines().all(|line| line.starts_with('{')), "{items}");
}

#[test]
fn the_name_of_a_file_is_no_command_in_a_log() {
    let folder = Folder::with(&[("a##[error]x.jsonl", SESSION), ("b.jsonl", SESSION)]);
    let shown = folder.run("a##[error]x.jsonl b.jsonl --profile ci").expect(0, "").stdout;
    assert!(shown.starts_with("==> a## [error]x.jsonl <==\n"), "{shown}");
    let shown = folder.run("a##[error]x.jsonl b.jsonl").expect(0, "").stdout;
    assert!(shown.starts_with("==> a##[error]x.jsonl <==\n"), "{shown}");
}

#[test]
fn a_file_named_like_a_command_is_given_with_its_folder() {
    let folder = Folder::with(&[("man", SESSION)]);
    assert!(folder.run("./man").expect(0, "").stdout.contains("First reply."));
}

#[test]
fn what_is_no_stream_passes_through_with_one_line_of_notice() {
    let folder = Folder::new();
    let outcome = folder.pipe("", "just\nsome text\n");
    assert!(outcome.stdout.contains("just") && outcome.stdout.contains("some text"), "{outcome:?}");
    let known: Vec<&str> =
        DIALECTS.rows.iter().map(|row| row.name).filter(|name| *name != DIALECTS.fallback).collect();
    let told = &format!(
        "streamfmt: standard input: no events of a known agent; passed through as text (known: {}; --from NAME if it is one of them)\n",
        known.join(", ")
    );
    outcome.expect(0, told);
    folder.pipe("--fail", "just\nsome text\n").expect(1, told);
}

#[test]
fn an_empty_input_is_reported_and_no_success() {
    let folder = Folder::new();
    folder.pipe("", "").expect(0, "streamfmt: standard input: the input is empty\n");
    folder.pipe("--fail", "\n\n").expect(1, "streamfmt: standard input: the input is empty\n");
}

#[test]
fn a_stream_of_an_unknown_agent_passes_through_and_is_no_success() {
    let folder = Folder::new();
    for (name, lines) in [
        (
            "kimi",
            "{\"type\":\"metadata\",\"protocol_version\":\"1.4\",\"created_at\":1}\n\
             {\"type\":\"turn.ended\",\"reason\":\"failed\",\"time\":2}\n",
        ),
        (
            "kimi",
            "{\"type\":\"metadata\",\"protocol_version\":\"1.4\",\"created_at\":1}\n{\"type\":\"turn_begin\",\"at\":2}\n",
        ),
    ] {
        let told = format!(
            "streamfmt: standard input: no events of a known agent (the format looks like {name}); laid out as JSON objects\n"
        );
        let shown = folder.pipe("--fail", lines).expect(1, &told).stdout;
        assert!(shown.contains("metadata") && shown.contains("protocol_version: 1.4"), "{shown}");
        assert!(shown.contains(": 2") && !shown.contains('✓'), "{shown}");
    }
}

/// Qwen Code's lines look like Claude Code's: only the first one gives it away.
#[test]
fn an_agent_that_speaks_like_another_is_recognized_by_its_first_line() {
    let folder = Folder::new();
    let lines = SESSION.replace("\"tools\":[]", "\"tools\":[],\"qwen_code_version\":\"0.24.4\"");
    for options in ["--fail", "--fail --from qwen"] {
        assert!(folder.pipe(options, &lines).expect(0, "").stdout.contains("Second reply."), "{options}");
    }
}

#[test]
fn a_stream_that_stops_before_its_result_is_an_error_and_a_history_is_not() {
    let folder = Folder::new();
    let cut: String = SESSION.split_inclusive('\n').take(2).collect();
    for (options, shown) in [
        ("", "✗ the stream ended without a result\n"),
        ("--profile quiet", "✗ the stream ended without a result\n"),
    ] {
        assert!(folder.pipe(options, &cut).expect(0, "").stdout.ends_with(shown), "{options}");
    }
    folder.pipe("--fail", &cut).expect(1, "");
    // Whatever the last line is, a run that the user interrupted ends as interrupted.
    let interrupt = r#"{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;
    let idle = r#"{"type":"system","subtype":"session_state_changed","state":"idle","session_id":"s"}"#;
    let interrupted = format!("{cut}{interrupt}\n{idle}\n");
    for options in ["", "--profile quiet", "--profile full"] {
        let shown = folder.pipe(options, &interrupted).expect(0, "").stdout;
        assert!(shown.ends_with("✗ interrupted\n") && !shown.contains("without a result"), "{shown}");
    }
    folder.pipe("--fail", &interrupted).expect(1, "");
    let history = cut.replace("\"session_id\":", "\"sessionId\":");
    let shown = folder.pipe("--fail", &history).expect(0, "").stdout;
    assert!(shown.contains("First reply.") && !shown.contains('✗'), "{shown}");
    let codex = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n";
    folder.pipe("--fail", codex).expect(1, "");
    folder.pipe("--fail", &format!("{codex}{{\"type\":\"turn.completed\",\"usage\":{{}}}}\n")).expect(0, "");
}

#[test]
fn each_line_is_shown_while_the_next_is_awaited() {
    let folder = Folder::new();
    let mut child = folder.command("").stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for number in 0..3 {
        stdin.write_all(reply(number).as_bytes()).unwrap();
        let mut line = String::new();
        while !line.contains(&format!("reply number {number}.")) {
            line.clear();
            assert!(stdout.read_line(&mut line).unwrap() > 0, "no reply {number}");
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_an_input() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    let child = folder.command("pipe").spawn().unwrap();
    open_for_writing(&folder.path("pipe")).write_all(SESSION.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("First reply."));
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_the_wait_for_a_writer_of_a_named_pipe() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let child = folder.command("pipe").spawn().unwrap();
    let opened = format!("/proc/{}/fd", child.id());
    crate::program::until(
        || "the pipe isn't open".to_owned(),
        || {
            let mut files = std::fs::read_dir(&opened).unwrap().flatten();
            files.any(|file| std::fs::read_link(file.path()).is_ok_and(|path| path.ends_with("pipe")))
        },
    );
    send(&child, Signal::INT);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

#[cfg(unix)]
#[test]
fn ctrl_c_lets_the_writer_finish_and_is_told_by_the_exit_code() {
    let folder = Folder::new();
    // The writer has a second to finish. If the test doesn't get the processor for that long, it tries again.
    for _ in 0..20 {
        let mut child = folder.command("").stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdin.write_all(reply(1).as_bytes()).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        send(&child, Signal::INT);
        let is_in_time = stdin.write_all(reply(2).as_bytes()).is_ok();
        drop(stdin);
        let rest: Vec<String> = stdout.lines().map(Result::unwrap).collect();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        if is_in_time && rest.join("\n").contains("reply number 2.") {
            return;
        }
    }
    panic!("the writer's last line was never read");
}

#[test]
fn a_missing_file_that_is_called_much_like_a_command_is_told_so() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("profil", SESSION)]);
    for (arguments, told) in [
        (
            "completion bash",
            "completion: no such file or directory (did you mean the command \"completions\"?)\n",
        ),
        ("profiles", "profiles: no such file or directory (did you mean the command \"profile\"?)\n"),
        ("theem list", "theem: no such file or directory (did you mean the command \"theme\"?)\n"),
        ("help", "help: no such file or directory (did you mean --help?)\n"),
        (
            "--only reply theme list",
            "theme: no such file or directory (the command \"theme\" must come before all options and files)\n",
        ),
        ("./theem", "./theem: no such file or directory\n"),
        ("run.jsonl", "run.jsonl: no such file or directory\n"),
    ] {
        folder.run(arguments).expect(2, &format!("streamfmt: {told}"));
    }
    // Further missing files are reported as well, unless they are arguments of the mistyped command.
    let told = "streamfmt: no.jsonl: no such file or directory\n\
                streamfmt: man: no such file or directory (the command \"man\" must come before all options and files)\n";
    folder.run("no.jsonl man").expect(2, told);
    assert!(folder.run("profil").expect(0, "").stdout.contains("First reply."));
}

#[test]
fn a_history_is_headed_by_its_model_and_its_date_in_the_local_zone() {
    let line = |id: u8, message: &str| {
        format!(
            "{{\"type\":\"{}\",\"uuid\":\"u-{id}\",\"parentUuid\":null,\"isSidechain\":false,\"sessionId\":\"s-1\",\"cwd\":\"/w\",\"version\":\"2\",\"timestamp\":\"2026-11-21T23:05:0{id}.000Z\",\"message\":{message}}}\n",
            if id % 2 == 1 { "user" } else { "assistant" }
        )
    };
    let asked = line(1, r#"{"role":"user","content":"Why?"}"#);
    let answered = line(
        2,
        r#"{"id":"m-1","role":"assistant","model":"model-1","content":[{"type":"text","text":"So."}]}"#,
    );
    let history = asked.clone() + &answered;
    let folder = Folder::with(&[("s.jsonl", &history), ("asked.jsonl", &asked)]);
    let run = |arguments: &str| {
        let mut command = folder.command(arguments);
        command.env("TZ", "Asia/Tokyo").stdin(std::process::Stdio::null());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(run("s.jsonl"), "◇ model-1 · /w · 22 Nov 2026 08:05 · s-1\n\n› Why?\n\n  So.\n");
    assert_eq!(run("asked.jsonl"), "◇ /w · 22 Nov 2026 08:05 · s-1\n\n› Why?\n", "none is known");
    let piped = folder.pipe("", &history).stdout;
    assert!(piped.starts_with("◇ /w · ") && piped.contains("› Why?"), "nothing waits in a pipe: {piped}");
}

#[test]
fn bare_records_are_read_if_the_user_says_so() {
    let folder = Folder::new();
    let lines =
        "Let me think.\n{\"type\":\"project\",\"name\":\"Shop\"}\n{\"n\":1}\n{\"type\":\"complete\"}\n";
    let shown = folder.pipe("--from records --fail", lines).expect(0, "").stdout;
    for line in lines.lines() {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let items = folder.pipe("--from records --fail --to items", lines).expect(0, "").stdout;
    let kinds: Vec<&str> = items
        .lines()
        .map(|line| line.split("\"kind\":\"").nth(1).unwrap().split('"').next().unwrap())
        .collect();
    assert_eq!(kinds, ["unknown", "record", "unknown", "record"]);
    assert!(items.contains(r#""value":{"type":"project","name":"Shop"}"#), "{items}");
    // Only with the option are these lines known.
    assert_eq!(folder.pipe("--fail", lines).code, Some(1));
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn archives_and_utf_16_say_what_their_content_says() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let plain = folder.run("s.jsonl").expect(0, "").stdout;
    let utf16: Vec<u8> =
        "\u{feff}".encode_utf16().chain(SESSION.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    // Large enough to be read ahead, even when compressed.
    let random = |at: u64| format!("{:016x}", (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (at << 7));
    let line = |number: u64| (0..64).map(|at| random(number * 64 + at)).collect::<String>();
    let noise: String =
        (0..4_000).flat_map(|number| ["x ".to_owned(), line(number), "\n".to_owned()]).collect();
    let large = SESSION.to_owned() + &noise;
    folder.write("large.jsonl", &large);
    let expected_of_large = folder.run("large.jsonl").expect(0, "").stdout;
    for (bytes, expected) in [
        (gzip(SESSION.as_bytes()), &plain),
        (zstd::encode_all(SESSION.as_bytes(), 3).unwrap(), &plain),
        (gzip(&utf16), &plain),
        (utf16, &plain),
        (gzip(large.as_bytes()), &expected_of_large),
        (zstd::encode_all(large.as_bytes(), 3).unwrap(), &expected_of_large),
    ] {
        fs::write(folder.path("any"), &bytes).unwrap();
        assert!(folder.run("any").expect(0, "").stdout == *expected);
        let stdin = fs::File::open(folder.path("any")).unwrap();
        let output = folder.command("").stdin(stdin).output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap() == *expected);
        // Through a pipe, in two pieces.
        let mut child = folder.command("").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::spawn(move || {
            let (one, two) = bytes.split_at(1);
            stdin.write_all(one).and_then(|()| stdin.write_all(two))
        });
        assert!(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap() == *expected);
    }
}

#[test]
fn archives_are_read_wherever_a_recording_is_read() {
    let folder = Folder::with(&[("s/s.jsonl", SESSION)]);
    let drift = folder.run("golden drift s").expect(0, "").stdout;
    fs::write(folder.path("packed.jsonl.gz"), gzip(SESSION.as_bytes())).unwrap();
    fs::create_dir(folder.path("p")).unwrap();
    fs::copy(folder.path("packed.jsonl.gz"), folder.path("p/s.jsonl.gz")).unwrap();
    let packed = folder.run("golden drift p").expect(0, "").stdout;
    assert_eq!(packed.replace("s.jsonl.gz", "s.jsonl"), drift);
    folder.run("golden add one --from packed.jsonl.gz --root c").expect(0, "");
    assert_eq!(fs::read_to_string(folder.path("c/one/input.ndjson")).unwrap(), SESSION);
}

#[test]
fn a_damaged_archive_is_shown_up_to_the_damage_and_reported() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    for (name, archive) in
        [("gzip", gzip(SESSION.as_bytes())), ("zstd", zstd::encode_all(SESSION.as_bytes(), 3).unwrap())]
    {
        let cut = &archive[..archive.len() - 1];
        fs::write(folder.path("cut"), cut).unwrap();
        let Outcome { code, stdout, stderr, .. } = folder.run("cut");
        assert_eq!(code, Some(2));
        assert!(
            stderr.contains(&format!("cut: the {name} archive is damaged: it ends too early")),
            "{stderr}"
        );
        assert!(!stdout.contains('\u{fffd}'), "{stdout}");
        let garbage = [&archive[..], b"garbage"].concat();
        fs::write(folder.path("long"), garbage).unwrap();
        let Outcome { code, stdout, stderr, .. } = folder.run("long");
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stdout.contains("Second reply.") && !stdout.contains("garbage"), "{stdout}");
    }
}
