//! `--follow`: a file that grows, is truncated or is replaced; one that appears later; the newest session of a folder; sub-agents' files.
#![cfg(unix)]

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::inputs::gzip;
use crate::program::{Folder, Outcome, Running, Signal, can_watch, has_program, reply, skip};
#[cfg(target_os = "linux")]
use crate::program::{Reader, contains, io_count, send, until};
use crate::rotation::{ROTATIONS, ROUNDS, RotatedLog};
use crate::tty::Terminal;

/// The numbers of the replies that are shown, in order.
pub(crate) fn numbers(shown: &str) -> Vec<usize> {
    shown
        .split("reply number ")
        .skip(1)
        .map(|rest| rest.split('.').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn lines_are_shown_as_they_come_and_a_half_line_waits() {
    if !can_watch() {
        return;
    }
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0));
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 0.");
    let line = reply(1);
    folder.append("run.jsonl", &line[..line.len() / 2]);
    folder.append("run.jsonl", &line[line.len() / 2..]);
    running.until_shown("reply number 1.");
    assert_eq!(numbers(&running.shown()), [0, 1]);
    running.end(Signal::INT).expect(130, "");
}

#[test]
fn a_change_wakes_it() {
    if !can_watch() {
        return;
    }
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0));
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 0.");
    let mut times = Vec::new();
    for number in 1..=200 {
        let begun = Instant::now();
        folder.append("run.jsonl", &reply(number));
        running.until_shown_last(&format!("reply number {number}."));
        times.push(begun.elapsed());
    }
    times.sort();
    // Each reply was written once the one before was shown. Polling 25 times a second would take 40 ms for nearly all of them; on a busy
    // machine, even notifications take that long for some.
    assert!(times[times.len() / 4] < Duration::from_millis(20), "{times:?}");
}

#[test]
fn what_was_read_is_written_when_a_signal_ends_it() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0) + reply(1).trim_end());
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 0.");
    let outcome = running.end(Signal::TERM);
    assert_eq!((outcome.code, numbers(&outcome.stdout)), (Some(143), vec![0, 1]));
}

#[test]
fn replaced_files_are_read_to_their_end_and_each_line_once() {
    if !can_watch() {
        return;
    }
    let folder = Folder::new();
    folder.write("run.jsonl", reply(3000));
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 3000.");
    for round in 0..6 {
        for number in round * 10..round * 10 + 10 {
            folder.append("run.jsonl", &reply(number));
        }
        // The old file is still written to when the new one appears.
        fs::rename(folder.path("run.jsonl"), folder.path("old.jsonl")).unwrap();
        folder.append("old.jsonl", &reply(1000 + round));
        folder.append("run.jsonl", &reply(2000 + round));
        running.until_shown(&format!("reply number {}.", 2000 + round));
    }
    let mut expected = vec![3000];
    for round in 0..6 {
        expected.extend(round * 10..round * 10 + 10);
        expected.extend([1000 + round, 2000 + round]);
    }
    assert_eq!(numbers(&running.shown()), expected);
    running.end(Signal::INT).expect(130, "");
}

#[test]
fn a_deleted_file_is_awaited_and_its_half_line_does_not_spoil_the_next() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0) + "{\"type\":\"assi");
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 0.");
    fs::remove_file(folder.path("run.jsonl")).unwrap();
    folder.write("run.jsonl", reply(1));
    running.until_shown("reply number 1.");
    assert_eq!(numbers(&running.shown()), [0, 1]);
    assert_eq!(running.end(Signal::INT).code, Some(130));
}

#[test]
fn a_file_that_is_cut_is_read_from_its_start_with_a_note() {
    if !can_watch() {
        return;
    }
    let folder = Folder::new();
    folder.write("run.jsonl", reply(100) + &reply(200));
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 200.");
    // Truncate it, with a repeat of an earlier line; then rewrite it in place, longer than before.
    folder.write("run.jsonl", reply(100));
    folder.append("run.jsonl", &reply(300));
    running.until_shown("reply number 300.");
    folder.write("run.jsonl", reply(4) + &reply(5) + &reply(6) + &reply(7));
    running.until_shown("reply number 7.");
    assert_eq!(numbers(&running.shown()), [100, 200, 300, 4, 5, 6, 7]);
    let Outcome { code, stderr: told, .. } = running.end(Signal::INT);
    assert_eq!(code, Some(130));
    let note = "streamfmt: run.jsonl: truncated or replaced; reading from the start\n";
    assert!(told.replace(note, "").is_empty() && told.contains(note), "{told}");
}

#[test]
fn a_link_that_is_switched_leads_to_the_other_file() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.write("a.jsonl", reply(0));
    folder.write("b.jsonl", reply(1));
    symlink("a.jsonl", folder.path("run.jsonl")).unwrap();
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 0.");
    symlink("b.jsonl", folder.path("next.jsonl")).unwrap();
    fs::rename(folder.path("next.jsonl"), folder.path("run.jsonl")).unwrap();
    running.until_shown("reply number 1.");
    assert_eq!(running.end(Signal::INT).code, Some(130));
}

#[test]
fn it_ends_when_nobody_reads_any_more() {
    if !can_watch() {
        return;
    }
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0));
    let mut child = folder.command("-f run.jsonl").spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn half_a_line_waits_for_its_rest_however_long_that_takes() {
    let folder = Folder::new();
    let line = reply(1);
    let (half, rest) = line.split_at(line.len() / 2);
    folder.write("run.jsonl", reply(0) + half);
    folder.write("beside.jsonl", "");
    let mut running = Running::start(&folder, "-f run.jsonl --report");
    running.until_shown("reply number 0.");
    // Changes to a neighbouring file wake the program but have no effect.
    for _ in 0..50 {
        folder.append("beside.jsonl", "{}\n");
    }
    folder.append("run.jsonl", rest);
    running.until_shown("reply number 1.");
    let outcome = running.end(Signal::INT);
    assert_eq!((outcome.code, numbers(&outcome.stdout)), (Some(130), vec![0, 1]));
    assert!(outcome.stderr.contains("2 lines"), "{}", outcome.stderr);
}

#[test]
fn a_file_that_is_not_there_yet_is_waited_for_in_folders_that_are_not_there_yet() {
    if !can_watch() {
        return;
    }
    let folder = Folder::new();
    let mut running = Running::start(&folder, "-f runs/today/run.jsonl");
    running.until_reported("waiting for runs/today/run.jsonl\n");
    folder.write("runs/today/run.jsonl", reply(0));
    running.until_shown("reply number 0.");
    folder.append("runs/today/run.jsonl", &reply(1));
    running.until_shown("reply number 1.");
    // The folder is removed with it, and created again.
    fs::remove_dir_all(folder.path("runs")).unwrap();
    folder.write("runs/today/run.jsonl", reply(2));
    running.until_shown("reply number 2.");
    assert_eq!(numbers(&running.shown()), [0, 1, 2]);
    running.end(Signal::INT).expect(130, "streamfmt: waiting for runs/today/run.jsonl\n");
    // Without `--follow`, the command doesn't wait.
    folder.run("later.jsonl").expect(2, "streamfmt: later.jsonl: no such file or directory\n");
}

#[test]
fn what_is_written_is_not_followed() {
    if !can_watch() {
        return;
    }
    let folder = Folder::new();
    folder
        .run("-f later.jsonl --tee later.jsonl")
        .expect(2, "streamfmt: later.jsonl: can't be both read and written\n");
    folder.write("a.jsonl", reply(0));
    let mut running = Running::start(&folder, "-f . --tee copy.jsonl --also items=items.jsonl");
    running.until_shown("reply number 0.");
    running.until_written("items.jsonl", "reply number 0.");
    folder.append("a.jsonl", &reply(1));
    running.until_shown("reply number 1.");
    running.end(Signal::INT).expect(130, "streamfmt: following ./a.jsonl\n");
    assert_eq!(folder.read("copy.jsonl"), folder.read("a.jsonl"));
}

#[test]
fn a_thousand_events_over_twenty_rotations_are_each_shown_once() {
    if !can_watch() {
        return;
    }
    for rotation in ROTATIONS {
        let folder = Folder::new();
        let log = RotatedLog::new(&folder, rotation);
        let mut running = Running::start(&folder, "-f run.jsonl");
        log.write(|text| running.until_shown(text));
        let expected = RotatedLog::numbers();
        let shown = numbers(&running.shown());
        let told = running.messages();
        assert_eq!(&shown[..expected.len()], expected, "{rotation:?}: {told}");
        let note = "streamfmt: run.jsonl: truncated or replaced; reading from the start\n";
        let notes = told.matches(note).count();
        assert!(told.replace(note, "").is_empty(), "{rotation:?}: {told}");
        assert!(notes >= if rotation.is_noted() { ROUNDS - 1 } else { 0 }, "{rotation:?}: {notes} notes");
        assert!(rotation.is_noted() || notes == 0, "{rotation:?}: {told}");
        assert_eq!(running.end(Signal::INT).code, Some(130));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_are_rotated_while_nobody_reads_are_not_lost() {
    let folder = Folder::new();
    let (wide, count) = ("wide ".repeat(200), 400);
    let long = |number: usize| reply(number).replace("reply number", &format!("{wide} reply number"));
    // More than the pipe holds: the program blocks.
    folder.write("run.jsonl", (0..count).map(long).collect::<String>());
    let mut child = folder.command("-f run.jsonl").spawn().unwrap();
    let named = folder.path("run.jsonl").canonicalize().unwrap();
    let is_open = || {
        let open = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
        open.flatten().any(|entry| entry.path().read_link().is_ok_and(|path| path == named))
    };
    for round in 1..=20 {
        until(|| format!("file {round} is open"), is_open);
        fs::rename(folder.path("run.jsonl"), folder.path(&format!("run.{round}"))).unwrap();
        folder.write("run.jsonl", reply(1000 + round));
    }
    let mut shown = Reader::new(child.stdout.take().unwrap());
    shown.until(|seen| contains(seen, "reply number 1020."));
    let expected: Vec<usize> = (0..count).chain(1001..=1020).collect();
    assert_eq!(numbers(&String::from_utf8_lossy(shown.seen())), expected);
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Sets a file's modification time to an hour ago plus this many seconds.
fn age(folder: &Folder, name: &str, seconds: u64) {
    let file = fs::OpenOptions::new().append(true).open(folder.path(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600 + seconds)).unwrap();
}

#[test]
fn a_folder_follows_the_session_that_appeared_last_and_never_goes_back() {
    if !can_watch() {
        return;
    }
    let folder = Folder::new();
    for (name, number, seconds) in
        [("s/a.jsonl", 1, 30), ("s/deep/down/b.jsonl", 2, 10), ("s/c.jsonl", 3, 20), ("s/note.txt", 9, 0)]
    {
        folder.write(name, reply(number));
        age(&folder, name, seconds);
    }
    // None of these is a session.
    for name in ["s/agent-x.jsonl", "s/c/subagents/agent-y.jsonl", "s/.git/z.jsonl"] {
        folder.write(name, reply(90));
    }
    let mut running = Running::start(&folder, "-f s");
    running.until_shown("reply number 2.");
    // Growth of the other files has no effect.
    folder.append("s/a.jsonl", &reply(91));
    folder.append("s/deep/down/b.jsonl", &reply(4));
    running.until_shown("reply number 4.");
    // An empty or incomplete file isn't switched to yet; the old one is read to its end.
    folder.write("s/new/d.jsonl", "");
    folder.append("s/deep/down/b.jsonl", &reply(5));
    running.until_shown("reply number 5.");
    // Neither is one whose agent isn't known yet.
    folder.append("s/new/d.jsonl", "{\"type\":\"of-tomorrow\"}\n");
    folder.append("s/deep/down/b.jsonl", &reply(8));
    running.until_shown("reply number 8.");
    folder.append("s/new/d.jsonl", &reply(6));
    running.until_shown("reply number 6.");
    folder.append("s/deep/down/b.jsonl", &reply(92));
    folder.replace("s/a.jsonl", reply(94));
    folder.replace("s/deep/down/b.jsonl", reply(93));
    folder.append("s/new/d.jsonl", &reply(7));
    running.until_shown("reply number 7.");
    let told = "streamfmt: following s/deep/down/b.jsonl\nstreamfmt: switching to the newer s/new/d.jsonl\n";
    assert_eq!(numbers(&running.end(Signal::INT).expect(130, told).stdout), [2, 4, 5, 8, 6, 7]);
}

#[test]
fn a_session_that_is_replaced_by_its_compressed_form_is_not_followed_again() {
    if !can_watch() {
        return;
    }
    let folder = Folder::with(&[("s/a.jsonl", &*reply(1)), ("s/old.jsonl", &*reply(9))]);
    age(&folder, "s/old.jsonl", 10);
    let mut running = Running::start(&folder, "-f s");
    running.until_shown("reply number 1.");
    for (name, number) in [("s/old.jsonl", 9), ("s/a.jsonl", 1)] {
        fs::write(folder.path(&format!("{name}.gz")), gzip(reply(number).as_bytes())).unwrap();
        fs::remove_file(folder.path(name)).unwrap();
    }
    fs::write(folder.path("s/b.jsonl.gz"), gzip(reply(2).as_bytes())).unwrap();
    running.until_shown("reply number 2.");
    let told = "streamfmt: following s/a.jsonl\nstreamfmt: switching to the newer s/b.jsonl.gz\n";
    assert_eq!(numbers(&running.end(Signal::INT).expect(130, told).stdout), [1, 2]);
}

#[test]
fn a_folder_without_a_session_is_waited_for() {
    if !can_watch() {
        return;
    }
    let folder = Folder::with(&[("s/note.txt", "")]);
    let mut running = Running::start(&folder, "-f s");
    running.until_reported("waiting for a session in s\n");
    folder.write("s/day/a.jsonl", reply(1));
    running.until_shown("reply number 1.");
    running
        .end(Signal::TERM)
        .expect(143, "streamfmt: waiting for a session in s\nstreamfmt: following s/day/a.jsonl\n");
    let waiting = Running::start(&folder, "-f s/day/more");
    waiting.until_reported("waiting for s/day/more\n");
    assert_eq!(waiting.end(Signal::INT).code, Some(130));
}

/// The folder in which Claude Code keeps a project's sessions.
fn projects(folder: &Folder, home: &str) -> String {
    let work = folder.path("").canonicalize().unwrap();
    let name = work.to_str().unwrap().replace(|ch: char| !ch.is_ascii_alphanumeric(), "-");
    format!("{home}/projects/{name}")
}

/// A session file of Codex for a working directory.
fn rollout(work: &str, number: usize) -> String {
    let line = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-11-20T10:00:01.000Z","type":"{kind}","payload":{{{payload}}}}}"#)
            + "\n"
    };
    line("session_meta", &format!(r#""id":"t-{number}","cwd":"{work}""#))
        + &line("event_msg", &format!(r#""type":"agent_message","message":"reply number {number}.""#))
}

#[test]
fn without_a_file_the_newest_session_of_the_current_folder_is_followed() {
    let folder = Folder::new();
    let work = folder.path("").canonicalize().unwrap().to_str().unwrap().to_owned();
    let claude = projects(&folder, "home/.claude");
    let day = "home/.codex/sessions/2026/11/20";
    let of_agent = rollout(&work, 8).replacen(r#""id""#, r#""parent_thread_id":"t-3","id""#, 1);
    for (name, text, seconds) in [
        (format!("{claude}/old.jsonl"), reply(1), 50),
        (format!("{claude}/new.jsonl"), reply(2), 30),
        (format!("{day}/rollout-1.jsonl"), rollout(&work, 3), 40),
        (format!("{day}/rollout-2.jsonl"), rollout("/elsewhere", 4), 10),
        (format!("{day}/rollout-01a2b3c4-0000-7000-8000-000000000002.jsonl"), of_agent, 7),
        ("home/.claude/projects/-elsewhere/other.jsonl".to_owned(), reply(5), 5),
    ] {
        folder.write(&name, text);
        age(&folder, &name, seconds);
    }
    let home = folder.path("home").to_str().unwrap().to_owned();
    let mut terminal = Terminal::start(&folder, "-f --color never", &[("HOME", &home)], "");
    assert!(terminal.shows(&format!("following {home}/.claude/projects/")));
    assert!(terminal.shows("reply number 2."));
    // Another agent begins a session here, on another day.
    folder.write("home/.codex/sessions/2026/12/01/rollout-3.jsonl", rollout(&work, 6));
    assert!(terminal.shows("reply number 6."));
    let written = terminal.written();
    assert!(written.contains("switching to the newer "), "{written}");
    assert_eq!(numbers(&written), [2, 6], "{written}");
    // The key for an interrupt.
    terminal.hit("\x03");
    terminal.until_end();
    // The agents' own environment variables name other places for sessions.
    folder.write(&format!("{}/s.jsonl", projects(&folder, "claude")), reply(7));
    let mut command = folder.command("-f");
    command.env("CLAUDE_CONFIG_DIR", folder.path("claude")).env("CODEX_HOME", folder.path("codex"));
    let mut running = Running::of_silent(&folder, command);
    running.until_shown("reply number 7.");
    assert_eq!(running.end(Signal::INT).code, Some(130));
}

#[test]
fn without_a_session_it_says_where_it_looked_and_a_pipe_is_read() {
    let folder = Folder::new();
    let message = |looked: &str| {
        format!("streamfmt: no session of this folder to follow ({looked}); name a file or a folder\n")
    };
    folder.run("-f").expect(2, &message("no agent keeps any"));
    let home = folder.path("home").to_str().unwrap().to_owned();
    let claude = projects(&folder, &format!("{home}/.claude"));
    fs::create_dir_all(&claude).unwrap();
    folder.write("home/.codex/sessions/2026/rollout.jsonl", rollout("/elsewhere", 1));
    folder.run("-f").expect(2, &message(&format!("searched {claude} and {home}/.codex/sessions")));
    assert_eq!(numbers(&folder.pipe("-f", &reply(1)).expect(0, "").stdout), [1]);
    folder.run("-f a b").expect(2, "streamfmt: --follow takes one file or folder\n");
}

#[test]
fn files_of_sub_agents_that_appear_join_their_call() {
    if !can_watch() {
        return;
    }
    let line = |id: &str, agent: &str, kind: &str, content: &str| {
        let agent = if agent.is_empty() {
            String::new()
        } else {
            format!(r#""isSidechain":true,"agentId":"{agent}","#)
        };
        format!(
            r#"{{{agent}"type":"{kind}","message":{{"id":"m-{id}","role":"{kind}","content":[{content}]}},"uuid":"{id}","sessionId":"s-1"}}"#
        ) + "\n"
    };
    let says = |number: usize| format!(r#"{{"type":"text","text":"reply number {number}."}}"#);
    let calls = |id: &str| {
        format!(r#"{{"type":"tool_use","id":"{id}","name":"Agent","input":{{"prompt":"Do {id}."}}}}"#)
    };
    let task = |id: &str| format!(r#"{{"type":"text","text":"Do {id}."}}"#);
    let answers = |id: &str, number: usize| {
        format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"reply number {number}."}}"#)
    };
    let folder = Folder::new();
    folder.write("s.jsonl", line("1", "", "assistant", &says(1)));
    let mut running = Running::start(&folder, "-f s.jsonl");
    running.until_shown("reply number 1.");
    folder.append("s.jsonl", &line("2", "", "assistant", &calls("c-1")));
    running.until_shown("● ① Agent");
    // First the folder, then half a line, then the rest.
    folder.write("s/subagents/agent-a.jsonl", "");
    let begun = line("a1", "a", "user", &task("c-1")) + &line("a2", "a", "assistant", &says(2));
    let (half, rest) = begun.split_at(begun.len() / 3);
    folder.append("s/subagents/agent-a.jsonl", half);
    folder.append("s/subagents/agent-a.jsonl", rest);
    running.until_shown("reply number 2.");
    // A second sub-agent at the same time, started by the first.
    folder.append("s/subagents/agent-a.jsonl", &line("a3", "a", "assistant", &calls("c-2")));
    folder.write(
        "s/subagents/agent-b.jsonl",
        line("b1", "b", "user", &task("c-2")) + &line("b2", "b", "assistant", &says(3)),
    );
    running.until_shown("reply number 3.");
    // Lines written to its file before the result are shown before the result.
    folder.append("s/subagents/agent-a.jsonl", &line("a4", "a", "assistant", &says(4)));
    folder.append("s.jsonl", &line("3", "", "user", &answers("c-1", 5)));
    folder.append("s.jsonl", &line("4", "", "assistant", &says(6)));
    running.until_shown("reply number 6.");
    let outcome = running.end(Signal::INT).expect(130, "");
    assert_eq!(numbers(&outcome.stdout), [1, 2, 3, 4, 5, 6], "{}", outcome.stdout);
    for inside in ["\n ①│   reply number 2.", "\n ①│  ②│   reply number 3.", "\n ①│   reply number 4."]
    {
        assert!(outcome.stdout.contains(inside), "{inside}: {}", outcome.stdout);
    }
    assert!(outcome.stdout.contains("\n  reply number 6."), "{}", outcome.stdout);
}

#[test]
fn where_watches_are_refused_it_looks_every_now_and_then_and_says_so_once() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0));
    if !has_program("unshare") {
        return;
    }
    // A user who isn't allowed any watch, where the system lets us create one.
    let refuse = "echo 0 > /proc/sys/user/max_inotify_instances";
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-Ur", "sh", "-c", script, env!("CARGO_BIN_EXE_streamfmt")]);
        command.current_dir(folder.path("")).env_clear().env("HOME", folder.path("home"));
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    };
    if !unshare(refuse).output().is_ok_and(|made| made.status.success()) {
        skip("no user that may have no watch can be made here (unshare -Ur)");
        return;
    }
    let mut running = Running::of(&folder, unshare(&format!("{refuse} && exec \"$0\" -f run.jsonl")));
    for number in 1..5 {
        running.until_shown(&format!("reply number {}.", number - 1));
        folder.replace("run.jsonl", reply(number));
    }
    running.until_shown("reply number 4.");
    let told =
        "streamfmt: can't watch files for changes: too many open files; checking them 25 times a second\n";
    running.end(Signal::INT).expect(130, told);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_stays_the_same_however_much_comes() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0));
    let running = Running::start(&folder, "-f run.jsonl --only failed");
    if io_count(running.id(), "rchar").is_none() {
        return;
    }
    let words = "word ".repeat(4_000);
    let megabyte = |round: usize| -> String {
        (0..50).map(|number| reply(round * 50 + number).replace("reply", &format!("{words} reply"))).collect()
    };
    let resident = || {
        let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    let read = |bytes: usize| {
        until(|| format!("{bytes} bytes read"), || io_count(running.id(), "rchar").unwrap() > bytes as u64);
    };
    let mut written = 0;
    let mut sizes = Vec::new();
    for round in 0..48 {
        let text = megabyte(round);
        written += text.len();
        folder.append("run.jsonl", &text);
        if round % 12 == 11 {
            read(written);
            sizes.push(resident());
        }
    }
    // Some kilobytes: less than was read since.
    assert!(sizes[3] < sizes[0] + 8 * 1024, "{sizes:?}");
    assert_eq!(running.end(Signal::INT).code, Some(130));
}
