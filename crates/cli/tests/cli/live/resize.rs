//! Terminals whose size changes.

use super::run::{Ended, PaintedRun};
use super::stream::{agent, closes, command, ends, grows, inside, reply, reply_begins, result};

/// The numbered lines on a terminal, with repetitions.
fn numbers(ended: &Ended) -> Vec<usize> {
    let lines = ended.emulator.lines();
    let numbered = lines.iter().filter_map(|line| line.split("line number ").nth(1));
    numbered.map(|rest| rest.split(':').next().unwrap().parse().unwrap()).collect()
}

/// The number of lines: every fourth is followed by a new size, and each new size takes the program a third of a second.
const LINES: usize = 84;

/// 21 sizes in a row: wider and narrower, higher and lower, by up to a half.
fn sizes() -> impl Iterator<Item = (usize, usize)> {
    (0..LINES / 4)
        .map(|step| [(61, 20), (47, 24), (90, 30), (60, 22), (120, 24), (75, 21), (80, 24)][step % 7])
}

/// Numbered lines as replies, most of them short, some longer than a row, while a call runs and a reply grows.
#[test]
fn numbered_lines_stand_in_the_scrollback_once_each() {
    let mut run = PaintedRun::start("");
    let mut sizes = sizes();
    run.feed(&(agent("a-1", "Look around") + &inside("a-1", &command("c-1", "grep"))));
    for number in 0..LINES {
        let text = format!("line number {number}: {}", "and more ".repeat(number % 13));
        let message = format!("m-{number}");
        run.feed(&(reply_begins(&message) + &grows(&text[..8]) + &grows(&text[8..])));
        if number % 4 == 1 {
            run.until_shown(&format!("line number {number}:"));
            run.resize(sizes.next().unwrap());
        }
        run.feed(&(grows(" end") + &closes()));
    }
    run.feed(&ends());
    let ended = run.finish();
    assert_eq!(numbers(&ended), (0..LINES).collect::<Vec<_>>(), "{}", ended.emulator.lines().join("\n"));
    assert!(ended.emulator.is_clean());
}

/// One reply with as many lines: none is in the scrollback before all are complete.
#[test]
fn a_reply_that_grows_through_many_sizes_stands_there_once() {
    let mut run = PaintedRun::start("");
    let mut sizes = sizes();
    run.feed(&(above() + &reply_begins("m-1")));
    for number in 0..LINES {
        run.feed(&grows(&format!("line number {number}: {}\n\n", "and more ".repeat(number % 13))));
        if number % 4 == 1 {
            run.until_shown(&format!("line number {number}:"));
            run.resize_painted(sizes.next().unwrap());
        }
    }
    run.feed(&(closes() + &ends()));
    let ended = run.finish();
    assert_eq!(numbers(&ended), (0..LINES).collect::<Vec<_>>(), "{}", ended.emulator.lines().join("\n"));
}

/// Finished text that fills a screen.
fn above() -> String {
    let lines: Vec<String> = (0..60).map(|number| format!("- finished {number}.")).collect();
    reply("m-0", &lines.join("\n"))
}

/// How often each of the finished lines is on a terminal.
fn finished(ended: &Ended) -> Vec<usize> {
    let lines = ended.emulator.lines();
    let times = |number| lines.iter().filter(|line| line.contains(&format!("finished {number}."))).count();
    (0..60).map(times).collect()
}

/// Paints a frame on a terminal that takes these sizes.
#[track_caller]
fn resized(sizes: &[(usize, usize)]) -> Ended {
    let mut run = PaintedRun::start("");
    let text = "A reply that is long enough to be broken where the terminal is narrow, twice or so.";
    run.feed(&(above() + &command("c-1", "cargo test") + &reply_begins("m-2") + &grows(text)));
    run.until_shown("or so.");
    for &size in sizes {
        run.resize_painted(size);
        let screen = run.screen();
        assert!(screen.ends_with("so."), "{size:?}:\n{screen}");
        assert!(screen.lines().all(|row| row.chars().count() <= size.0), "{size:?}:\n{screen}");
    }
    run.feed(&(closes() + &result("c-1", "ok") + &ends()));
    run.finish()
}

/// The frame is repainted for each size and leaves no remains.
#[test]
fn a_frame_follows_the_size() {
    let sizes = [(40, 24), (120, 24), (30, 24), (80, 24), (20, 24), (80, 40), (79, 12), (35, 30), (80, 24)];
    let ended = resized(&sizes);
    let rows = ended.emulator.rows().join("\n");
    for once in ["cargo test", "A reply that", "done"] {
        assert_eq!(rows.matches(once).count(), 1, "{once}:\n{rows}");
    }
    assert_eq!(finished(&ended), [1; 60], "{rows}");
}

/// A terminal that shrinks a lot at once pushes rows of the frame into the scrollback, where they can't be erased. Finished text is there
/// only once all the same.
#[test]
fn a_terminal_that_becomes_much_smaller_loses_nothing() {
    let ended = resized(&[(120, 40), (20, 5), (80, 3), (140, 50), (25, 6), (80, 2), (80, 24)]);
    let rows = ended.emulator.lines().join("\n");
    assert_eq!(finished(&ended), [1; 60], "{rows}");
    let end = rows.rfind("cargo test").unwrap();
    assert_eq!(
        rows[end..].split_whitespace().collect::<Vec<_>>()[2..7],
        ["└", "ok", "A", "reply", "that"],
        "{rows}"
    );
    assert!(ended.emulator.is_clean());
}

/// Finished text continues at the new width; earlier text stays as the terminal wrapped it.
#[test]
fn finished_text_is_wrapped_at_the_width_that_the_terminal_has_now() {
    let mut run = PaintedRun::start("");
    let text = "word ".repeat(30);
    run.feed(&reply("m-1", &text));
    run.until_shown("word");
    run.resize((40, 24));
    // A frame shows that the new size has been seen.
    run.feed(&(reply_begins("m-2") + &grows("now")));
    run.until_shown("now");
    run.feed(&(grows(&text) + &closes() + &ends()));
    let ended = run.finish();
    let rows = ended.emulator.rows();
    assert!(rows.iter().all(|row| row.chars().count() <= 40));
    let last = rows.iter().rposition(|row| row.contains("now")).unwrap();
    assert!(rows[last].len() > 30 && rows[last + 1].len() > 30, "{rows:?}");
}
