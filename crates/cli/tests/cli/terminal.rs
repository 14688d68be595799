//! The program's query to the terminal, and the state that it leaves: on a real terminal, whose other end answers in various ways.

use std::time::Instant;

use crate::program::{Folder, PATIENCE, SESSION};
use crate::tty::Terminal;

const QUESTION: &str = "\x1b]11;?\x07\x1b[c";

/// A theme that shows which variant was chosen.
const THEME: &str = "[dark.roles]\nreply = \"red\"\n[light.roles]\nreply = \"blue\"\n";

const LIGHT: &str = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;22c";
const DARK: &str = "\x1b]11;rgb:1b/1d/22\x07\x1b[?1;2c";

/// The terminal's output, whether it was queried, and the input left unread on it.
struct Seen {
    written: String,
    asked: bool,
    left: String,
}

/// Runs the program on a terminal on which `typed` was typed before, and which sends this answer, if any.
fn run(arguments: &str, variables: &[(&str, &str)], typed: &str, answer: Option<&str>) -> Seen {
    let folder = Folder::with(&[("theme.toml", THEME), ("s.jsonl", SESSION)]);
    let variables = [&[("TERM", "xterm-256color")], variables].concat();
    let mut terminal = Terminal::start(&folder, arguments, &variables, typed);
    let asked = terminal.shows(QUESTION);
    if let Some(words) = answer.filter(|_| asked) {
        terminal.hit(words);
    }
    terminal.until_end();
    let written = terminal.written();
    let (status, left) = terminal.line_after("<typed>");
    assert!(status.success(), "{status}: {written:?}");
    Seen { written, asked, left }
}

/// Runs it with a timely answer, until the result is right. A wrong result proves nothing: on a busy machine the test may answer late, or
/// the program may read late.
#[track_caller]
fn run_in_time(answer: &str, color: u8) {
    let is_right = |seen: &Seen| seen.left == "<typed>\n" && seen.written.contains(&reply_in(color));
    let mut seen = run("--theme ./theme.toml s.jsonl", &[], "", Some(answer));
    for _ in 0..20 {
        if is_right(&seen) {
            break;
        }
        seen = run("--theme ./theme.toml s.jsonl", &[], "", Some(answer));
    }
    check(&seen, true, color);
    assert_eq!(seen.left, "<typed>\n");
}

fn reply_in(color: u8) -> String {
    format!("\x1b[{color}mFirst reply.")
}

#[track_caller]
fn check(seen: &Seen, asked: bool, color: u8) {
    assert_eq!(seen.asked, asked, "{:?}", seen.written);
    assert!(seen.written.contains(&reply_in(color)), "{:?}", seen.written);
    assert!(!seen.written.contains("rgb:"), "no answer is on the screen: {:?}", seen.written);
}

const DARK_RED: u8 = 31;
const LIGHT_BLUE: u8 = 34;

#[test]
fn the_terminal_tells_its_background() {
    for (words, color) in [(LIGHT, LIGHT_BLUE), (DARK, DARK_RED), ("\x1b[?6c", DARK_RED)] {
        run_in_time(words, color);
    }
}

#[test]
fn a_silent_terminal_is_not_waited_for_long() {
    let begun = Instant::now();
    let seen = run("--theme ./theme.toml s.jsonl", &[], "", None);
    // A generous limit, for a busy machine.
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    check(&seen, true, DARK_RED);
    assert_eq!(seen.left, "<typed>\n");
    let seen = run("--theme ./theme.toml s.jsonl", &[("COLORFGBG", "0;15")], "", None);
    check(&seen, true, LIGHT_BLUE);
}

#[test]
fn what_was_typed_before_stays_and_then_nothing_is_asked() {
    let seen = run("--theme ./theme.toml s.jsonl", &[], "make te", Some(LIGHT));
    check(&seen, false, DARK_RED);
    assert!(seen.left.starts_with("make te"), "{:?}", seen.left);
}

#[test]
fn nothing_is_asked_that_nobody_needs_to_know() {
    for (arguments, variables, color) in [
        ("--theme ./theme.toml:light s.jsonl", &[][..], LIGHT_BLUE),
        ("--theme ./theme.toml s.jsonl", &[("STREAMFMT_BACKGROUND", "light")], LIGHT_BLUE),
        ("--theme ./theme.toml s.jsonl", &[("TERM", "linux")], DARK_RED),
    ] {
        check(&run(arguments, variables, "", Some(LIGHT)), false, color);
    }
    for arguments in ["--theme ansi s.jsonl", "--to text s.jsonl", "--color never s.jsonl", "-o out s.jsonl"]
    {
        let seen = run(arguments, &[], "", None);
        assert!(!seen.asked, "{arguments}: {:?}", seen.written);
    }
}
