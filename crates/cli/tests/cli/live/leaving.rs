//! How the program leaves the terminal, however it ends.

use std::io::{Read, Write};
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::run::{Ended, PaintedRun, Start, check_same, unpainted};
use super::stream::{closes, command, ends, grows, reply, reply_begins, result};
use crate::program::{Folder, Signal, contains, until};

/// A session with a running call and a growing reply.
fn open() -> String {
    reply("m-1", "I begin.") + &command("c-1", "cargo test") + &reply_begins("m-2") + &grows("It is gro")
}

/// Starts it, and waits until everything is on the screen.
fn started() -> (PaintedRun, String) {
    let mut run = PaintedRun::start("");
    let before = run.setup();
    run.feed(&open());
    run.until_screen("  I begin.\n\n● Bash cargo test …\n\n  It is gro");
    (run, before)
}

/// Checks that nothing held back is lost, and nothing of the frame is left.
#[track_caller]
fn check_whole(ended: &Ended) {
    let rows = ended.emulator.rows().join("\n");
    for text in ["I begin.", "● Bash cargo test", "It is gro"] {
        assert_eq!(rows.matches(text).count(), 1, "{text:?} in\n{rows}");
    }
    assert!(!rows.contains("cargo test …"), "{rows}");
    assert!(ended.emulator.is_clean(), "{:?}", ended.written);
}

#[test]
fn the_end_of_the_input_writes_what_is_held() {
    let (mut run, before) = started();
    run.end_input();
    let setup = run.setup_at_end();
    let ended = run.ended();
    assert!(ended.status.success());
    assert_eq!(setup, before);
    check_whole(&ended);
    check_same(&ended, &unpainted("", (80, 24), &open()));
}

#[test]
fn signals_write_what_is_held() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let (mut run, before) = started();
        run.send(signal);
        let setup = run.setup_at_end();
        let ended = run.ended();
        assert_eq!(ended.status.code(), Some(code));
        assert_eq!(setup, before);
        check_whole(&ended);
    }
}

/// The writing program gets the signal as well, and may still have output.
#[test]
fn ctrl_c_writes_what_is_held() {
    let (mut run, before) = started();
    run.hit("\x03");
    let setup = run.setup_at_end();
    let ended = run.ended();
    assert_eq!(ended.status.code(), Some(130));
    assert_eq!(setup, before);
    check_whole(&ended);
}

#[test]
fn last_words_after_ctrl_c_are_shown() {
    // There is a second for them. If the test doesn't get the processor for that long, it tries again.
    let mut rows = String::new();
    for _ in 0..20 {
        let (mut run, _) = started();
        run.hit("\x03");
        run.feed_if_read(&(grows("wing no more.") + &closes() + &ends()));
        run.end_input();
        let ended = run.ended();
        assert_eq!(ended.status.code(), Some(130));
        rows = ended.emulator.rows().join("\n");
        if rows.contains("It is growing no more.") {
            return;
        }
    }
    panic!("{rows}");
}

#[test]
fn keys_are_not_shown_and_stay_for_the_shell() {
    let (mut run, before) = started();
    assert!(!run.has_echo());
    run.hit("ls -l\n");
    run.hit("half a li");
    run.feed(&grows("wing"));
    run.until_shown("It is growing");
    run.feed(&(closes() + &result("c-1", "ok") + &ends()));
    run.end_input();
    assert_eq!(run.setup_at_end(), before);
    assert_eq!(run.line_left(), "ls -l\n");
    let ended = run.ended();
    let rows = ended.emulator.rows().join("\n");
    assert!(!rows.contains("ls -l") && !rows.contains("half"), "{rows}");
}

/// Keys typed before the start are kept as well.
#[test]
fn what_was_typed_before_stays_for_the_shell() {
    let mut run = Start { typed: "make te", ..Start::default() }.run();
    run.feed(&open());
    run.until_shown("It is gro");
    run.hit("st\n");
    run.end_input();
    run.setup_at_end();
    assert_eq!(run.line_left(), "make test\n");
    let rows = run.ended().emulator.rows().join("\n");
    assert!(!rows.contains("make test"), "{rows}");
}

/// Waits until the program is stopped.
fn until_stopped(run: &PaintedRun) {
    let id = Pid::from_raw(run.id().cast_signed()).unwrap();
    let is_stopped = || rustix::process::waitpid(Some(id), WaitOptions::UNTRACED | WaitOptions::NOHANG);
    let mut status: Option<(Pid, WaitStatus)> = None;
    until(
        || "a stop".to_owned(),
        || {
            status = is_stopped().unwrap();
            status.is_some()
        },
    );
    assert!(status.unwrap().1.stopped(), "it ended instead");
}

#[test]
fn a_stopped_program_leaves_the_terminal_in_order_and_comes_again() {
    for keys in [true, false] {
        let (mut run, before) = started();
        if keys {
            run.hit("\x1a");
        } else {
            run.send(Signal::TSTP);
        }
        until_stopped(&run);
        assert_eq!(run.setup(), before, "the shell has the terminal as it was");
        run.until_screen("  I begin.");
        assert!(run.emulator.is_clean());
        // Meanwhile the shell writes.
        run.write_beside("\r\n[1]+  Stopped\r\n$ fg\r\n");
        run.send(Signal::CONT);
        run.until_shown("It is gro");
        until(|| "no echo".to_owned(), || !run.has_echo());
        run.feed(&grows("wing"));
        run.until_screen("  I begin.\n\n[1]+  Stopped\n$ fg\n\n● Bash cargo test …\n\n  It is growing");
        // Again.
        run.send(Signal::TSTP);
        until_stopped(&run);
        assert_eq!(run.setup(), before);
        run.send(Signal::CONT);
        run.until_shown("It is growing");
        run.end_input();
        assert_eq!(run.setup_at_end(), before);
        let rows = run.ended().emulator.rows().join("\n");
        assert_eq!(rows.matches("It is growing").count(), 1, "{rows}");
    }
}

/// When its terminal is gone, the program ends, even if it ignores SIGHUP: it has nowhere to write. It notices without further input,
/// although the writer still holds the pipe.
#[test]
fn a_closed_terminal_ends_it() {
    for script in [None, Some("trap '' HUP; exec \"$@\"")] {
        let folder = Folder::new();
        let (pty, pts) = pty_process::blocking::open().unwrap();
        let (input, mut writer) = std::io::pipe().unwrap();
        let mut child = Start { script, ..Start::default() }.spawn(&folder, &pty, pts, input);
        writer.write_all(open().as_bytes()).unwrap();
        let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
        while !contains(&seen, "It is gro") {
            let count = (&pty).read(&mut bytes).unwrap();
            seen.extend(&bytes[..count]);
        }
        drop(pty);
        until(|| "the end of the program".to_owned(), || child.try_wait().unwrap().is_some());
    }
}

#[test]
fn a_terminal_of_somebody_else_gets_finished_text_alone() {
    let mut run = Start { script: Some("set -m; \"$@\" & wait $!"), ..Start::default() }.run();
    run.feed(&open());
    run.until_shown("I begin.");
    run.feed(&result("c-1", "ok"));
    run.until_shown("ok");
    assert!(run.has_echo());
    assert_eq!(run.written_within(Duration::from_millis(100)), 0);
    assert!(!run.screen().contains("It is gro"));
    run.feed(&(grows("wing") + &closes() + &ends()));
    let ended = run.finish();
    assert!(ended.status.success(), "{}", ended.status);
    assert_eq!(ended.highest, 0);
    let rows = ended.emulator.rows().join("\n");
    assert!(rows.contains("It is growing"), "{rows}");
}

/// A write error of the copy is reported above the tail.
#[test]
fn a_copy_that_breaks_off_is_told_above_the_tail() {
    let script = Some("ulimit -f 8; \"$@\"");
    let mut run = Start { arguments: "--tee copy.jsonl", script, ..Start::default() }.run();
    run.feed(&open());
    run.until_shown("It is gro");
    for _ in 0..40 {
        run.feed_slowly(&grows("wing "));
    }
    run.until_shown("copy.jsonl");
    run.feed_slowly(&(closes() + &result("c-1", "ok") + &ends()));
    let rows = run.finish().emulator.rows();
    let text = rows.join("\n");
    assert!(rows.iter().any(|row| row.starts_with("streamfmt: ")), "{text}");
    assert_eq!(text.matches("It is gro").count(), 1, "{text}");
    assert_eq!(text.matches("cargo test").count(), 1, "{text}");
}

/// A second Ctrl-C ends it without waiting for last words.
#[test]
fn a_second_signal_leaves_the_terminal_in_order() {
    let (mut run, before) = started();
    run.hit("\x03");
    // A signal key discards pending output on the terminal, so the second one is only hit once the terminal is restored.
    until(|| "a terminal that shows what is typed".to_owned(), || run.has_echo());
    run.hit("\x03");
    assert_eq!(run.setup_at_end(), before);
    assert!(run.ended().emulator.is_clean());
}

/// Ctrl-\ ends a program at once.
#[test]
fn a_quit_leaves_the_terminal_in_order() {
    let (mut run, before) = started();
    run.hit("\x1c");
    assert_eq!(run.setup_at_end(), before);
}

/// A frame is one write: otherwise the terminal could show it half erased.
#[cfg(target_os = "linux")]
#[test]
fn a_frame_is_one_write() {
    let (mut run, _) = started();
    let writes = |run: &PaintedRun| crate::program::io_count(run.id(), "syscw");
    let Some(before) = writes(&run) else { return };
    run.feed(&grows("wing\n\nof three\n\nparagraphs"));
    run.until_shown("paragraphs");
    assert_eq!(writes(&run), Some(before + 1));
}
