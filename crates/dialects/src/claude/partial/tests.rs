//! Streamed messages: which of their blocks are closed, dropped or held back, and in which order.

use super::*;

/// A message with one streamed block, whose item is open.
fn message(id: &str, has_delta: bool, has_stop: bool) -> CurrentMessage {
    let mut message = CurrentMessage::at(id.into(), false);
    message.begin(0, Kind::Reply, &mut Vec::new());
    message.streamed[0].id = Some(format!("{id}/0").as_str().into());
    (message.has_delta, message.has_stop) = (has_delta, has_stop);
    message
}

/// The ends of items, such as `a/0 Done` and `a/0 dropped`.
fn ends(events: Vec<Event>) -> Vec<String> {
    let end = |event| match event {
        Event::Close { id, status } => format!("{} {status:?}", id.as_str()),
        Event::Drop(id) => format!("{} dropped", id.as_str()),
        other => panic!("{other:?}"),
    };
    events.into_iter().map(end).collect()
}

#[test]
fn a_message_is_complete_only_with_both_its_delta_and_its_stop() {
    for (has_delta, has_stop, expected) in [
        (true, true, "a/0 Done"),
        (true, false, "a/0 dropped"),
        (false, true, "a/0 dropped"),
        (false, false, "a/0 dropped"),
    ] {
        let mut out = Vec::new();
        message("a", has_delta, has_stop).settle(&mut out);
        assert_eq!(ends(out), [expected], "delta {has_delta}, stop {has_stop}");
    }
}

#[test]
fn beyond_the_limit_of_threads_the_oldest_message_is_closed_and_not_dropped() {
    for (has_stop, expected) in [(true, "a/0 Done"), (false, "a/0 Cancelled")] {
        let mut threads = Threads::new(Budget { open_items: 2, ..Budget::default() });
        let mut out = Vec::new();
        threads.current.insert(thread(None), message("a", true, has_stop));
        threads.begin(Some(&"t".into()), &"b".into(), &mut out);
        assert_eq!(ends(std::mem::take(&mut out)), [""; 0], "two fit");
        threads.begin(Some(&"u".into()), &"c".into(), &mut out);
        assert_eq!(ends(out), [expected]);
    }
}

#[test]
fn at_the_end_of_the_input_messages_that_stopped_are_done() {
    for (has_stop, expected) in [(true, vec!["a/0 Done"]), (false, Vec::new())] {
        let mut threads = Threads::new(Budget::default());
        let mut out = Vec::new();
        threads.current.insert(thread(None), message("a", false, has_stop));
        threads.end(&mut out);
        assert_eq!(ends(out), expected);
    }
}

#[test]
fn beyond_the_limit_of_messages_the_blocks_of_the_older_half_are_forgotten() {
    let mut threads = Threads::new(Budget { lines: 4, ..Budget::default() });
    for message in ["a", "b", "c", "d"] {
        threads.blocks_of(&message.into()).push(1);
    }
    assert_eq!(threads.blocks.len(), 4);
    // Another message is one too many.
    assert!(threads.blocks_of(&"e".into()).is_empty());
    let known = ["c", "d", "e"].map(|message| Id::from(message).hash());
    assert_eq!(threads.blocks.keys().copied().collect::<Vec<_>>(), known);
}

#[test]
fn beyond_the_limit_of_blocks_the_older_half_is_cancelled() {
    let (mut message, mut out) = (CurrentMessage::at("a".into(), false), Vec::new());
    let most = i64::try_from(MAX_BLOCKS).unwrap();
    for index in 0..most {
        message.begin(index, Kind::Reply, &mut out);
        message.block(index).unwrap().id = Some(format!("a/{index}").as_str().into());
    }
    assert_eq!(ends(std::mem::take(&mut out)), [""; 0]);
    message.begin(most, Kind::Reply, &mut out);
    let expected: Vec<_> = (0..MAX_BLOCKS / 2).map(|index| format!("a/{index} Cancelled")).collect();
    assert_eq!(ends(out), expected);
}

#[test]
fn a_whole_block_is_the_streamed_one_of_its_kind_and_call() {
    for (kind, call, twin) in [
        (Kind::Call, Some("c-2"), Some("c-2")),
        (Kind::Call, Some("c-3"), None),
        (Kind::Reply, None, Some("r")),
        (Kind::Thinking, None, None),
    ] {
        let mut message = CurrentMessage::at("a".into(), false);
        let blocks = [(Kind::Call, "c-1"), (Kind::Call, "c-2"), (Kind::Reply, "r"), (Kind::Reply, "s")];
        for (index, (kind, id)) in (0..).zip(blocks) {
            message.begin(index, kind, &mut Vec::new());
            message.block(index).unwrap().id = Some(id.into());
        }
        let id = call.map(Id::from);
        let whole = WholeBlock { kind, call: id.as_ref(), hash: 1, index: None };
        assert_eq!(message.twin(&whole), twin.map(Id::from), "{kind:?} {call:?}");
        let next = message.twin(&whole);
        assert_eq!(next, (kind == Kind::Reply).then(|| "s".into()), "each has one twin");
    }
}

/// A block that has stopped without a line, before another that is whole, waits for the end of its message.
#[test]
fn lines_after_an_undecided_block_are_held_back_up_to_a_limit_and_none_is_lost() {
    let event = |number: usize| Event::Drop(format!("{number}").as_str().into());
    let shown = |range: std::ops::Range<usize>| range.map(|number| format!("{number} dropped"));
    let waiting = |has_delta, has_stop| {
        let mut threads = Threads::new(Budget::default());
        let mut message = message("a", has_delta, has_stop);
        message.streamed[0].has_stopped = true;
        message.begin(1, Kind::Reply, &mut Vec::new());
        message.streamed[1].is_whole = true;
        threads.current.insert(thread(None), message);
        threads
    };
    for (has_delta, has_stop, is_held) in
        [(true, true, false), (true, false, true), (false, true, true), (false, false, true)]
    {
        let mut out = vec![event(0)];
        waiting(has_delta, has_stop).hold(None, 0, &mut out);
        let expected = if is_held { Vec::new() } else { vec!["a/0 Done", "0 dropped"] };
        assert_eq!(ends(out), expected, "delta {has_delta}, stop {has_stop}");
    }
    let (mut threads, mut out) = (waiting(true, false), Vec::new());
    for number in 0..=MAX_HELD {
        assert_eq!(out.len(), 0, "{number} are held");
        out.push(event(number));
        threads.hold(None, 0, &mut out);
    }
    assert_eq!(ends(out), shown(0..MAX_HELD + 1).collect::<Vec<_>>());
}
