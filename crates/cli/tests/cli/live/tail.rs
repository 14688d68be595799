//! The tail: the part below the finished text.

use serde_json::json;

use super::run::{PaintedRun, Start, check_same, unpainted};
use super::stream::{
    agent, begins, call, call_begins, closes, command, ends, grows, input_grows, inside, numbered_lines,
    reply, reply_begins, result,
};

/// Runs a stream to its end with and without painting.
#[track_caller]
fn check_left(mut run: PaintedRun, input: &str, rest: &str) {
    run.feed(rest);
    check_same(&run.finish(), &unpainted("", (80, 24), &(input.to_owned() + rest)));
}

#[test]
fn a_reply_is_shown_while_it_grows_with_its_markdown() {
    let mut run = PaintedRun::start("");
    let start = reply("m-1", "All is well.") + &reply_begins("m-2") + &grows("# A heading\n\nSome **bo");
    run.feed(&start);
    run.until_shown("Some **bo");
    run.until_screen("  All is well.\n\n  A heading\n\n  Some **bo");
    let more = grows("ld** words\n\n- one\n- tw");
    run.feed(&more);
    run.until_shown("• tw");
    run.until_screen("  All is well.\n\n  A heading\n\n  Some bold words\n\n  • one\n  • tw");
    let more = more + &grows("o\n");
    run.feed(&grows("o\n"));
    run.until_shown("• two");
    check_left(run, &(start + &more), &(closes() + &ends()));
}

#[test]
fn a_call_is_shown_while_its_input_grows() {
    let mut run = PaintedRun::start("");
    let mut fed = call_begins("m-1", "c-1", "Bash");
    run.feed(&fed);
    run.until_shown("Bash");
    for part in ["{\"comm", "and\":\"ls ", "src\"}"] {
        fed += &input_grows(part);
        run.feed(&input_grows(part));
    }
    let whole = command("c-1", "ls src") + &closes();
    run.feed(&whole);
    run.until_shown("Bash ls src");
    assert_eq!(run.screen().matches("Bash").count(), 1, "{}", run.screen());
    check_left(run, &(fed + &whole), &(result("c-1", "cart.rs") + &ends()));
}

#[test]
fn results_arrive_under_their_calls_in_any_order() {
    let mut run = PaintedRun::start("");
    let calls = ["one", "two", "three"].map(|name| command(name, name)).concat();
    run.feed(&calls);
    run.until_shown("three …");
    run.until_screen("● Bash one …\n● Bash two …\n● Bash three …");
    let last = result("three", "third\nresult");
    run.feed(&last);
    run.until_shown("third");
    run.until_screen("● Bash one …\n● Bash two …\n● Bash three\n  └ third\n    result");
    // The first may be finished now, with its result; the others no longer wait for it.
    let first = result("one", "first");
    run.feed(&first);
    run.until_shown("first");
    let seen = "● Bash one\n  └ first\n● Bash two …\n● Bash three\n  └ third\n    result";
    run.until_screen(seen);
    check_left(run, &(calls + &last + &first), &(result("two", "second") + &ends()));
}

#[test]
fn agents_that_work_side_by_side_are_apart() {
    let mut run = PaintedRun::start("");
    let mut fed = agent("a-1", "Find callers") + &agent("a-2", "Read tests");
    for (agent, id, run) in
        [("a-1", "c-1", "grep total"), ("a-2", "c-2", "ls tests"), ("a-1", "c-3", "cat x")]
    {
        fed += &inside(agent, &command(id, run));
    }
    run.feed(&fed);
    let runs =
        |lines: &[String], agent: &str| lines.iter().any(|line| line.contains(agent) && line.contains('…'));
    run.until("each below its agent", |emulator| {
        let lines = emulator.screen();
        let works = |text: &str, bar: &str| {
            let line = lines.iter().find(|line| line.contains(text));
            line.is_some_and(|line| line.starts_with(bar)) && runs(&lines, text)
        };
        works("grep total", " ①│ ●")
            && works("cat x", " ①│ ●")
            && works("ls tests", " ②│ ●")
            && runs(&lines, "① Agent Explore · Find callers")
            && runs(&lines, "② Agent Explore · Read tests")
    });
    let done = inside("a-1", &result("c-1", "src/cart.rs"));
    run.feed(&done);
    fed += &done;
    run.until_shown("src/cart.rs");
    let done = result("a-2", "There are none.");
    run.feed(&done);
    fed += &done;
    run.until("an agent less", |emulator| {
        let lines = emulator.screen();
        lines.join("\n").contains("There are none.")
            && !runs(&lines, "Read tests")
            && runs(&lines, "Find callers")
    });
    let rest = inside("a-2", &result("c-2", "cart.rs"))
        + &inside("a-1", &result("c-3", "fn x"))
        + &result("a-1", "Two.")
        + &ends();
    check_left(run, &fed, &rest);
}

/// New text pushes out held text; the height of the screen doesn't matter.
#[test]
fn the_window_is_counted_in_entries() {
    const WINDOW: usize = 256;
    let mut run = PaintedRun::sized("", (80, 10));
    let mut fed = command("slow", "make world");
    for number in 0..WINDOW - 1 {
        fed += &reply(&format!("m-{number}"), &format!("Reply {number}."));
    }
    run.feed(&fed);
    run.until_shown(&format!("Reply {}.", WINDOW - 2));
    assert!(
        !run.emulator.rows().join("\n").contains("Reply 0."),
        "it waits above the screen, and isn't in the scrollback"
    );
    let more = reply("m-x", "One more.") + &reply("m-y", "And one.");
    run.feed(&more);
    run.until("what was pushed out", |emulator| {
        emulator.rows().iter().filter(|row| row.contains("Reply 0.")).count() == 1
    });
    assert!(run.emulator.rows()[0].contains("make world"));
    fed += &more;
    run.feed(&(result("slow", "made") + &ends()));
    fed += &(result("slow", "made") + &ends());
    let ended = run.finish();
    assert!(ended.highest < 10, "{}", ended.highest);
    check_same(&ended, &unpainted("", (80, 10), &fed));
}

#[test]
fn a_tail_higher_than_the_screen_is_cut() {
    for rows in [2, 3, 7, 24] {
        let mut run = PaintedRun::sized("", (40, rows));
        let mut fed = reply("m-1", "Before.") + &reply_begins("m-2");
        run.feed(&fed);
        for number in 0..60 {
            let line = grows(&format!("{number}. line\n"));
            run.feed(&line);
            fed += &line;
            if number % 20 == 0 {
                run.until_shown(&format!("{number}. line"));
            }
        }
        run.until_shown("59. line");
        let rest = closes() + &ends();
        run.feed(&rest);
        let ended = run.finish();
        assert!((1..rows).contains(&ended.highest), "{} of {rows}", ended.highest);
        check_same(&ended, &unpainted("", (40, rows), &(fed + &rest)));
    }
}

/// The row of a finished call stays open for a short summary of its result.
#[test]
fn a_row_that_is_open_stands_above_the_tail() {
    let read = call("c-1", "Read", &json!({"file_path": "/src/cart.rs"}));
    let mut run = PaintedRun::start("--set detail=compact");
    let mut fed = reply("m-1", "I look.") + &read + &reply_begins("m-2");
    run.feed(&fed);
    run.until_shown("cart.rs");
    for part in [result("c-1", &numbered_lines(22)), grows("Meanwhile"), grows(" more")] {
        run.feed_slowly(&part);
        fed += &part;
    }
    run.until_shown("Meanwhile more");
    let rest = closes() + &ends();
    run.feed(&rest);
    let ended = run.finish();
    check_same(&ended, &unpainted("--set detail=compact", (80, 24), &(fed + &rest)));
}

/// An incomplete line in the pipe leaves the terminal unchanged.
#[test]
fn half_a_line_shows_nothing() {
    let mut run = PaintedRun::start("--hide notice");
    run.feed_slowly(&reply("m-1", "Hello.")[..40]);
    run.feed_slowly(&reply("m-1", "Hello.")[40..]);
    run.until_shown("Hello.");
    run.until_screen("  Hello.");
    let ended = run.finish();
    assert!(!ended.written.contains('\x1b'), "nothing was painted: {:?}", ended.written);
}

#[test]
fn what_a_retry_drops_goes_away() {
    let mut run = PaintedRun::start("");
    let fed = reply_begins("m-1") + &grows("This will break");
    run.feed(&fed);
    run.until_shown("This will break");
    let rest = reply("m-2", "This is whole.") + &ends();
    run.feed(&rest);
    run.until_shown("This is whole.");
    let ended = run.finish();
    check_same(&ended, &unpainted("", (80, 24), &(fed + &rest)));
}

#[test]
fn plain_text_is_painted_as_well() {
    let mut run = Start { arguments: "--to text", ..Start::default() }.run();
    let fed = command("c-1", "ls") + &reply_begins("m-1") + &grows("It **grows**");
    run.feed(&fed);
    run.until_shown("ls");
    run.until_shown("It **grows**");
    let rest = result("c-1", "a") + &closes() + &ends();
    run.feed(&rest);
    let ended = run.finish();
    assert!(!ended.written.contains("\x1b[1m"), "{:?}", ended.written);
    check_same(&ended, &unpainted("--to text", (80, 24), &(fed + &rest)));
}

/// Thinking grows as replies do.
#[test]
fn thinking_is_shown_while_it_grows() {
    let mut run = PaintedRun::start("--set show=thinking");
    let begin = begins("m-1", &json!({"type": "thinking", "thinking": "", "signature": ""}));
    run.feed(&begin);
    let delta = json!({"type": "thinking_delta", "thinking": "Three times 5.61"});
    let event = json!({"type": "content_block_delta", "index": 0, "delta": delta});
    run.feed(&super::stream::line("stream_event", json!({"event": event})));
    run.until_shown("Three times 5.61");
    run.feed(&(closes() + &ends()));
    let ended = run.finish();
    assert!(ended.status.success());
}
