//! `run`: an agent that waits for a person. Other programs see the state, and `--notify` calls for attention.

use serde_json::{Value, json};

use crate::live::stream::{command as call, ends, result};
use crate::program::{Running, contains, until};
use crate::run::{agents, command, run, side_file};
use crate::serve::{Served, ids};
use crate::tty::Terminal;

/// A call of a command, and the request for permission to run it.
fn asked() -> String {
    let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "c-1", "input": {}});
    call("c-1", "make")
        + &format!("{}\n", json!({"type": "control_request", "request_id": "r", "request": request}))
}

/// The only session in the list.
fn listed(folder: &crate::program::Folder) -> Value {
    let outcome = run(folder, "sessions list --json");
    serde_json::from_str(outcome.stdout.lines().next().unwrap_or("null")).unwrap()
}

#[test]
fn who_waits_is_seen_by_other_programs_until_the_answer_comes() {
    let folder = agents(&[(
        "agent",
        "cat asked\nuntil [ -e go ]; do sleep 0.02; done\ncat rest\nuntil [ -e end ]; do sleep 0.02; done",
    )]);
    folder.write("asked", asked());
    folder.write("rest", result("c-1", "made") + &ends());
    let running = Running::of(&folder, command(&folder, "run -- ./agent"));
    until(
        || format!("a run that waits: {}", listed(&folder)),
        || listed(&folder)["waiting"]["for"] == "permission",
    );
    assert!(listed(&folder)["waiting"]["since"].is_string(), "by the clock, since the stream has no time");
    assert_eq!(side_file(&folder)["waiting"], listed(&folder)["waiting"]);
    let served = Served::start(&folder, "");
    let page = || format!("/sessions/{}", ids(&folder)[0]);
    let list = served.get("/").body;
    assert!(list.contains("<title>▲ 1 waits for you · 1 running · sessions</title>"), "{list}");
    let waits = "<span class=\"waits\" data-waits=\"permission\"><span aria-hidden=\"true\">▲</span> waits for permission";
    assert!(list.contains(waits), "{list}");
    let seen = |part: &str| until(|| served.get(&page()).body, || served.get(&page()).body.contains(part));
    // The status line and the tab's title, which are in the data for an open page's script, and the call itself.
    seen("<title>▲ waits for permission · ");
    seen("<dt>Now</dt><dd><span class=\"waits\" data-waits=\"permission\">");
    seen("</span> waits for permission · <time class=\"since\" datetime=\"");
    seen(">▲ waits for permission</span>");
    folder.write("go", "");
    until(|| format!("a run that goes on: {}", listed(&folder)), || listed(&folder).get("waiting").is_none());
    assert_eq!(side_file(&folder).get("waiting"), None);
    assert_eq!(listed(&folder)["status"], "running");
    let is_over = || !served.get(&page()).body.contains("waits for");
    until(|| served.get(&page()).body, is_over);
    assert!(!served.get("/").body.contains("waits for"));
    folder.write("end", "");
    assert_eq!(running.wait().code, Some(0));
}

#[test]
fn a_run_that_was_killed_while_it_waited_waits_no_longer() {
    let folder = agents(&[("agent", "cat asked\nexit 3")]);
    folder.write("asked", asked());
    assert_eq!(run(&folder, "run -- ./agent").code, Some(3));
    assert_eq!(side_file(&folder).get("waiting"), None);
    assert_eq!(listed(&folder).get("waiting"), None);
}

#[test]
fn a_terminal_is_notified_when_the_agent_waits_and_when_it_has_ended() {
    let waits = "\x07\x1b]9;streamfmt: waits for permission: Bash\x07";
    for (options, script, sent) in [
        ("--notify", "cat asked", &[waits, "\x07\x1b]9;streamfmt: run failed\x07"][..]),
        ("--notify --live never", "cat asked", &[waits, "\x07\x1b]9;streamfmt: run failed\x07"]),
        ("--notify", "cat rest", &["\x07\x1b]9;streamfmt: run done\x07"]),
        ("", "cat asked", &[]),
    ] {
        let folder = agents(&[("agent", script)]);
        folder.write("asked", asked());
        folder.write("rest", asked() + &result("c-1", "made") + &ends());
        let variables =
            [("TERM", "xterm-256color"), ("STREAMFMT_BACKGROUND", "dark"), ("PATH", "/usr/bin:/bin")];
        let home = folder.path("home");
        let variables = [&variables[..], &[("HOME", home.to_str().unwrap())]].concat();
        let mut terminal = Terminal::start(&folder, &format!("run {options} -- ./agent"), &variables, "");
        terminal.until_end();
        let screen = terminal.written();
        assert_eq!(screen.matches('\x07').count(), 2 * sent.len(), "{options} {script}: {screen:?}");
        for text in sent {
            assert_eq!(screen.matches(text).count(), 1, "{options} {script}: {screen:?}");
        }
    }
    // Only a terminal gets notifications.
    let folder = agents(&[("agent", "cat asked")]);
    folder.write("asked", asked());
    let outcome = run(&folder, "run --notify -- ./agent");
    assert!(!contains(outcome.stdout.as_bytes(), "\x07"), "{outcome:?}");
}
