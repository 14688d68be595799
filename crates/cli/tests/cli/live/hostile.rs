//! Hostile text, and text larger than the screen.

use serde_json::json;

use super::run::{Ended, PaintedRun, check_same, unpainted};
use super::stream::{call, closes, command, ends, grows, numbered_lines, reply, reply_begins, result};

/// Lets each text grow in pieces, and checks the screen after each. The sequences written are checked as they are read.
#[track_caller]
fn grown(size: (usize, usize), text: &str, piece: usize) -> Ended {
    let chars: Vec<char> = text.chars().collect();
    let mut fed = reply("m-1", "Before.") + &command("c-1", "ls") + &reply_begins("m-2");
    for piece in chars.chunks(piece) {
        fed += &grows(&piece.iter().collect::<String>());
    }
    fed += &(closes() + &result("c-1", text) + &ends());
    let mut run = PaintedRun::sized("--set live.rate=1000", size);
    run.feed_slowly(&fed);
    let ended = run.finish();
    check_same(&ended, &unpainted("", size, &fed));
    assert!(ended.highest < size.1);
    ended
}

#[test]
fn text_can_not_command_the_terminal() {
    for text in [
        "\x1b[2J\x1b[3J\x1b[?1049h\x1b[?25l\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1bc",
        "a\rb\x08c\x0bd\x0ce\x7ff\u{9b}2J\u{90}q\u{9c}\u{85}",
        "\x1b[7mnot reversed\x1b[5A\x1b[J\x1b[?7h\x1b[?7l\x1b8",
        "```\n\x1b[31mred\n\x1b]8;;http://x\x07link\n```\n<b>\x1b[1m</b>",
        "[link](http://x/\x1b[2J) `\x1b[2J` ~~\x1b~~",
    ] {
        let ended = grown((60, 12), text, 3);
        assert!(!ended.written.contains("title\x07"));
    }
}

#[test]
fn odd_characters_take_the_room_that_they_take() {
    for text in [
        "zero\u{200b}width\u{200d}joiners\u{feff} and soft\u{ad}hyphens",
        "e\u{301}\u{302}\u{303}\u{304}\u{305} z\u{351}\u{36b}\u{313} \u{301} alone",
        "שלום עולם, \u{202e}مرحبا\u{202c} \u{2066}x\u{2069} and back",
        "👩\u{200d}👩\u{200d}👧 🇩🇪 ❤\u{fe0f} 1\u{fe0f}\u{20e3} 🧑🏿\u{200d}🚀",
        "ﷺ ﷽ 𒐫 ꧅ ⸻",
        "\u{fdfd}\u{1160}\u{1161}ᄀ\u{ffa0}",
    ] {
        grown((20, 10), &text.repeat(4), 2);
    }
}

/// A wide character that doesn't fit moves to the next row, so the text takes one row more than its width suggests.
#[test]
fn wide_characters_grow_over_the_right_edge() {
    for columns in [20, 21, 23] {
        grown((columns, 10), "日本語のテキストがここで折り返される", 1);
        grown((columns, 10), &"- 日本a語".repeat(6), 1);
        grown((columns, 10), &("`".to_owned() + &"日".repeat(30) + "`"), 3);
    }
}

/// Narrower than the width that rows are wrapped for.
#[test]
fn a_terminal_narrower_than_any_row() {
    for columns in [2, 5, 12] {
        grown((columns, 8), "A reply with 日本 of some words, and a_word_that_is_longer.", 4);
    }
}

#[test]
fn a_row_that_is_open_may_be_longer_than_the_terminal_is_wide() {
    let path = "/src/".to_owned() + &"long-folder/".repeat(20) + "cart.rs";
    let read = call("c-1", "Read", &json!({"file_path": path}));
    let mut fed = reply("m-1", "I look.") + &read;
    for part in [
        reply_begins("m-2"),
        grows("Mean"),
        grows("while\n\nmore"),
        result("c-1", &numbered_lines(22)),
        closes(),
        ends(),
    ] {
        fed += &part;
    }
    for arguments in ["--to log", "--set detail=compact"] {
        for size in [(40, 12), (80, 5)] {
            let mut run = PaintedRun::sized(&format!("--set live.rate=1000 {arguments}"), size);
            run.feed_slowly(&fed);
            check_same(&run.finish(), &unpainted(arguments, size, &fed));
        }
    }
}

/// 300 calls at once: more than are held, and more than a screen shows.
#[test]
fn many_calls_at_once_are_a_frame_like_any_other() {
    let mut fed = String::new();
    for number in 0..300 {
        fed += &command(&format!("c-{number}"), &format!("run {number}"));
    }
    let mut run = PaintedRun::start("");
    run.feed(&fed);
    run.until_shown("run 299 …");
    let mut rest = String::new();
    for number in (0..300).rev() {
        rest += &result(&format!("c-{number}"), &format!("ran {number}"));
    }
    rest += &ends();
    run.feed(&rest);
    let ended = run.finish();
    assert!(ended.highest < 24, "{}", ended.highest);
    check_same(&ended, &unpainted("", (80, 24), &(fed + &rest)));
}

/// A megabyte in one line, in a hundred pieces: the cost of each frame depends on the visible part only.
#[test]
fn a_megabyte_in_one_line_grows() {
    let piece = "no end in sight, ".repeat(600);
    let mut fed = reply_begins("m-1");
    let mut run = PaintedRun::start("");
    run.feed(&fed);
    for _ in 0..100 {
        run.feed(&grows(&piece));
        fed += &grows(&piece);
    }
    run.feed(&grows("until here"));
    run.until_shown("until here");
    fed += &(grows("until here") + &closes() + &ends());
    run.feed(&(closes() + &ends()));
    let ended = run.finish();
    assert!(ended.highest < 24);
    let plain = unpainted("", (80, 24), &fed);
    assert_eq!(ended.emulator.rows().len(), plain.emulator.rows().len());
    assert_eq!(ended.emulator.rows().last(), plain.emulator.rows().last());
}
