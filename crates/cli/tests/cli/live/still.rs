//! Runs without painting, and output while nothing happens.

use std::fs;
use std::time::{Duration, Instant};

use super::run::{PaintedRun, Start, check_same, unpainted};
use super::stream::{closes, command, ends, grows, reply, reply_begins, result};
use crate::program::{Folder, Running, until};

fn open() -> String {
    reply("m-1", "I begin.") + &command("c-1", "cargo test") + &reply_begins("m-2") + &grows("It is gro")
}

fn rest() -> String {
    grows("wing") + &closes() + &result("c-1", "ok") + &ends()
}

#[test]
fn where_nobody_can_or_wants_to_see_it_nothing_is_painted() {
    for (arguments, variables) in [
        ("--live never", &[][..]),
        ("", &[("TERM", "dumb")]),
        ("", &[("TERM", "")]),
        ("", &[("CI", "true")]),
        ("", &[("CI", "true"), ("GITHUB_ACTIONS", "true")]),
        ("--profile plain", &[]),
        ("--to log", &[]),
        ("--to markdown", &[]),
        ("--to json", &[]),
        ("--tail 2000", &[]),
    ] {
        let mut run = Start { arguments, variables, ..Start::default() }.run();
        run.feed_slowly(&open());
        assert!(run.has_echo(), "{arguments} {variables:?}");
        run.feed_slowly(&rest());
        let ended = run.finish();
        assert!(ended.status.success(), "{arguments} {variables:?}: {}", ended.status);
        assert_eq!(ended.highest, 0, "{arguments} {variables:?}");
        for painting in ["\x1b[J", "\x1b[?", "\r\x1b", "A\x1b"] {
            assert!(!ended.written.contains(painting), "{arguments} {variables:?}: {:?}", ended.written);
        }
        assert!(ended.written.contains("I begin."), "{arguments}: {:?}", ended.written);
    }
}

#[test]
fn what_is_no_terminal_gets_finished_text() {
    for live in ["auto", "never"] {
        let folder = Folder::new();
        let mut command = folder.command(&format!("--color always --live {live}"));
        command.env("TERM", "xterm-256color");
        let mut run = Running::of(&folder, command);
        run.feed(&(open() + &rest()));
        let outcome = run.finish();
        assert!(outcome.stdout.contains("It is growing"), "{outcome:?}");
        for painting in ["\x1b[J", "\x1b[?", "\r"] {
            assert!(!outcome.stdout.contains(painting), "{outcome:?}");
        }
    }
}

/// Without motion, a minute without input writes nothing: the program doesn't even wake.
#[test]
fn without_motion_nothing_is_written_while_nothing_comes() {
    for (arguments, variables) in
        [("", &[("STREAMFMT_MOTION", "0")][..]), ("--set live.motion=false", &[("STREAMFMT_MOTION", "1")])]
    {
        let mut run = Start { arguments, variables, ..Start::default() }.run();
        run.feed(&open());
        run.until_screen("  I begin.\n\n● Bash cargo test …\n\n  It is gro");
        let wakes = || {
            let status = fs::read_to_string(format!("/proc/{}/status", run.id())).unwrap_or_default();
            status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).map(str::to_owned)
        };
        // More than a second, after which a running time would change. The system may make it wait for something other than input (a page
        // of memory), but not in each second.
        let begun = Instant::now();
        until(
            || "a second in which it sleeps".to_owned(),
            || {
                let before = wakes();
                std::thread::sleep(Duration::from_millis(1100));
                wakes() == before
            },
        );
        assert_eq!(run.written_within(Duration::from_millis(1)), 0);
        // New content updates the running time.
        run.feed(&grows("wing"));
        run.until_shown("It is growing");
        run.until_shown("cargo test … ");
        let row = run.emulator.screen().into_iter().find(|row| row.contains("cargo test")).unwrap();
        let seconds: u64 = row.rsplit(' ').next().unwrap().trim_end_matches('s').parse().unwrap();
        assert!((1..=begun.elapsed().as_secs() + 1).contains(&seconds), "{row}");
    }
}

#[test]
fn with_motion_the_sign_of_a_call_turns_and_its_time_passes() {
    let mut run = Start { variables: &[("STREAMFMT_MOTION", "1")], ..Start::default() }.run();
    run.feed(&command("c-1", "cargo test"));
    let mut seen = std::collections::BTreeSet::new();
    run.until("turns", |emulator| {
        seen.extend(emulator.screen()[0].chars().find(|ch| ('\u{2800}'..'\u{28ff}').contains(ch)));
        seen.len() >= 3
    });
    run.until_shown("1s");
    // Nothing is running any more, so nothing moves.
    run.feed(&(result("c-1", "ok") + &reply_begins("m-2") + &grows("All is well")));
    run.until_shown("All is well");
    assert_eq!(run.written_within(Duration::from_millis(500)), 0);
    let fed =
        command("c-1", "cargo test") + &result("c-1", "ok") + &reply_begins("m-2") + &grows("All is well");
    check_same(&run.finish(), &unpainted("", (80, 24), &fed));
}

/// Input that changes nothing on the screen causes no output.
#[test]
fn what_changes_nothing_on_the_screen_writes_nothing() {
    let mut run = PaintedRun::start("");
    run.feed(&open());
    run.until_screen("  I begin.\n\n● Bash cargo test …\n\n  It is gro");
    let status =
        super::stream::line("system", serde_json::json!({"subtype": "status", "status": "requesting"}));
    // The running time may change meanwhile, but at most once a second.
    let (begun, mut changes) = (Instant::now(), 0);
    for _ in 0..20 {
        run.feed_slowly(&status);
        changes += usize::from(run.written_within(Duration::from_millis(20)) > 0);
    }
    assert!(changes as u64 <= begun.elapsed().as_secs() + 1, "{changes} in {:?}", begun.elapsed());
}

/// The program's messages go to the same terminal: above the tail, never into it.
#[test]
fn messages_stand_above_the_tail() {
    let plugin = "sf.view('reply', function() error('no such thing') end)";
    let files = [("fails.lua", plugin)];
    let arguments = "--plugin ./fails.lua --report";
    let mut run = Start { arguments, files: &files, ..Start::default() }.run();
    run.feed(&(command("c-1", "cargo test") + &reply("m-1", "I begin.")));
    run.until("the failure, and the tail below it", |emulator| {
        let rows = emulator.rows();
        let place = |text: &str| rows.iter().position(|row| row.contains(text));
        place("fails").is_some() && place("cargo test …") > place("fails")
    });
    run.feed(&(result("c-1", "ok") + &ends()));
    let ended = run.finish();
    let rows = ended.emulator.rows();
    let text = rows.join("\n");
    for once in ["failed while formatting", "cargo test", "I begin.", "done · "] {
        assert_eq!(text.matches(once).count(), 1, "{once}:\n{text}");
    }
    assert!(!text.contains("cargo test …"), "{text}");
    assert!(
        rows.iter().rposition(|row| row.starts_with("streamfmt: "))
            > rows.iter().position(|row| row.contains("done"))
    );
}

/// The frame rate is limited, whatever the rate of the input.
#[test]
fn a_flood_is_not_painted_letter_by_letter() {
    let delta = grows("word after word, ");
    let flood = reply_begins("m-1") + &delta.repeat(20_000);
    let begun = Instant::now();
    let mut run = PaintedRun::start("");
    run.feed(&flood);
    run.end_input();
    run.setup_at_end();
    let took = begun.elapsed();
    let ended = run.ended();
    let frames = ended.written.matches("\x1b[?7l").count() as f64;
    // 20 frames a second, and one for input before the first second was over.
    assert!(frames <= took.as_secs_f64() * 20.0 + 2.0, "{frames} in {took:?}");
    let plain = unpainted("", (80, 24), &flood);
    // Painting costs only a little more.
    if let (Some(painted), Some(unpainted)) = (ended.ticks, plain.ticks) {
        assert!(painted < unpainted * 4 + 100, "{painted} ticks, without painting {unpainted}");
    }
    check_same(&ended, &plain);
}
