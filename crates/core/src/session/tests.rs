//! Events that change a session: usage counts once, and places and ids are unique.

use super::*;
use crate::item::Content;

fn used(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

#[test]
fn an_outcome_raises_the_usage_that_messages_reported_too_early_and_counts_once() {
    let mut session = Session::default();
    let mut apply = |event| {
        session.apply(event, |_, _| {});
        (session.usage().input, session.usage().output)
    };
    let message = |id: &str, usage| Event::Usage { message: Id::from(id), usage, details: None };
    let outcome = |id: &str, usage| Event::Totals { outcome: Id::from(id), usage };
    assert_eq!(apply(message("m-1", used(10, 1))), (10, 1));
    assert_eq!(apply(outcome("o-1", used(10, 300))), (10, 300));
    assert_eq!(apply(outcome("o-1", used(10, 300))), (10, 300), "the same again");
    assert_eq!(apply(message("m-2", used(20, 1))), (30, 301));
    // The usage of sub-agents isn't included.
    assert_eq!(apply(outcome("o-2", used(5, 40))), (30, 340));
}

#[test]
fn the_cost_of_messages_counts_until_an_outcome_has_it() {
    let mut session = Session::default();
    let mut apply = |event| {
        session.apply(event, |_, _| {});
        session.totals().cost_usd
    };
    let with_cost = |id: &str, kind, name: &str, cost| {
        let mut item = Item::new(id, kind, 1);
        item.data.extend([("event", Fact::Text(name.to_owned())), ("cost_usd", Fact::Float(cost))]);
        Event::Put(Box::new(item))
    };
    assert_eq!(apply(Event::Cost(f64::NAN)), None);
    assert_eq!((apply(Event::Cost(0.25)), apply(Event::Cost(0.5))), (Some(0.25), Some(0.75)));
    assert_eq!(apply(with_cost("o-1", Kind::Outcome, "", 0.75)), Some(0.75));
    assert_eq!(apply(Event::Cost(0.25)), Some(1.0));
    // The sum at the end of a history.
    assert_eq!(apply(with_cost("totals", Kind::Notice, "totals", 1.5)), Some(1.5));
}

fn item(id: &str, kind: Kind, parent: Option<&str>) -> Box<Item> {
    let mut item = Item::new(id, kind, 1);
    item.parent = parent.map(Id::from);
    Box::new(item)
}

/// The items that events complete, each with its place, and how many were repeated.
fn completed(events: Vec<Event>) -> (Vec<Item>, usize) {
    completed_within(Budget::default(), events)
}

fn completed_within(budget: Budget, events: Vec<Event>) -> (Vec<Item>, usize) {
    let (mut session, mut items, mut repeated) = (Session::new(budget), Vec::new(), 0);
    let mut note = |change: SessionChange<'_>| match change {
        SessionChange::Complete(item) => items.push(item.clone()),
        SessionChange::Repeated(_) => repeated += 1,
        _ => {}
    };
    for event in events {
        session.apply(event, |_, change| note(change));
    }
    session.end(9, |_, change| note(change));
    (items, repeated)
}

fn assert_unique_places(items: &[Item]) {
    let mut places: Vec<_> = items.iter().map(|item| (&item.parent, item.place)).collect();
    let mut ids: Vec<_> = items.iter().map(|item| &item.id).collect();
    places.sort();
    ids.sort();
    places.dedup();
    ids.dedup();
    assert_eq!((places.len(), ids.len()), (items.len(), items.len()), "{items:?}");
}

#[test]
fn a_notice_at_the_end_has_a_unique_id_and_place() {
    let (items, _) = completed(vec![
        Event::Put(item("a", Kind::Call, None)),
        Event::Put(item("open-calls", Kind::Call, None)),
        Event::Put(item("b", Kind::Notice, None)),
    ]);
    assert_eq!(items.len(), 4);
    assert_unique_places(&items);
}

#[test]
fn an_item_that_turns_out_to_be_inside_of_a_call_has_a_place_there() {
    let (items, _) = completed(vec![
        Event::Put(item("a", Kind::Reply, Some("call"))),
        Event::Open(item("b", Kind::Reply, None)),
        Event::Put(item("b", Kind::Reply, Some("call"))),
    ]);
    assert_unique_places(&items);
}

#[test]
fn the_rest_of_an_item_that_is_split_has_a_unique_place() {
    let text = "x".repeat(Budget::LEAST.open_bytes / 2 + 1);
    let append = || Event::Append { id: "a".into(), text: text.clone() };
    let (items, _) = completed_within(
        Budget::LEAST,
        vec![
            Event::Open(item("a", Kind::Reply, None)),
            append(),
            append(),
            Event::Append { id: "a".into(), text: "rest".into() },
        ],
    );
    assert_eq!(items.len(), 2);
    assert_unique_places(&items);
    let whole: String = items.iter().map(|item| item.text().into_owned()).collect();
    assert_eq!(whole, [&text, &text, "rest"].concat(), "nothing is lost");
}

#[test]
fn places_continue_inside_of_a_call_that_was_forgotten() {
    let one_each = |name: &str| {
        let items = (0..=Budget::LEAST.parents)
            .map(|call| item(&format!("{name}-{call}"), Kind::Reply, Some(&format!("call-{call}"))));
        items.map(Event::Put).collect::<Vec<_>>()
    };
    let (items, _) = completed_within(Budget::LEAST, [one_each("first"), one_each("second")].concat());
    assert_unique_places(&items);
}

#[test]
fn an_item_that_streams_again_and_completes_again_is_repeated_once() {
    let again = || vec![Event::Open(item("a", Kind::Reply, None)), Event::Put(item("a", Kind::Reply, None))];
    let (items, repeated) = completed([again(), again(), again()].concat());
    assert_eq!((items.len(), repeated), (1, 2));
}

fn with(mut item: Box<Item>, text: &str, data: Vec<(&'static str, Fact)>) -> Box<Item> {
    if !text.is_empty() {
        item.text = Content::Own(text.to_owned());
    }
    item.data.extend(data);
    item
}

fn is_marked(item: &Item, name: &str) -> bool {
    item.fact(name).and_then(FactRef::bool) == Some(true)
}

#[test]
fn a_failure_is_an_interruption_only_if_nothing_came_in_between() {
    for (between, is_interrupted) in [
        (None, true),
        (Some(Kind::Notice), true),
        (Some(Kind::Thinking), true),
        (Some(Kind::Reply), false),
        (Some(Kind::Call), false),
        (Some(Kind::Prompt), false),
    ] {
        let interrupt =
            with(item("i", Kind::Notice, None), "", vec![("event", Fact::Text("interrupt".into()))]);
        let failed = |id: &str| {
            let mut outcome = item(id, Kind::Outcome, None);
            outcome.error = true;
            Event::Put(outcome)
        };
        let between = between.map(|kind| Event::Put(with(item("b", kind, None), "text", Vec::new())));
        let events = [Event::Put(interrupt)].into_iter().chain(between.clone());
        let (items, _) = completed(events.chain([failed("o-1"), failed("o-2")]).collect());
        let marks: Vec<_> = items.iter().filter(|item| item.kind == Kind::Outcome).collect();
        let marks: Vec<_> = marks.iter().map(|item| is_marked(item, "interrupted")).collect();
        assert_eq!(marks, [is_interrupted, false], "{between:?}");
    }
}

#[test]
fn the_answer_of_an_ended_job_is_repeated_if_its_sub_agent_gave_it_last() {
    for (call, text, is_repeated) in [
        ("t", "all found", true),
        ("t", "none found", false),
        ("u", "all found", false),
        ("t", "first", false),
    ] {
        let reply =
            |id: &str, text: &str| Event::Put(with(item(id, Kind::Reply, Some("t")), text, Vec::new()));
        let ended = with(item("n", Kind::Notice, None), text, vec![("call", Fact::Text(call.into()))]);
        let (items, _) = completed(vec![reply("r-1", "first"), reply("r-2", "all found"), Event::Put(ended)]);
        assert_eq!(is_marked(&items[2], "repeated"), is_repeated, "{call} {text}");
    }
}

#[test]
fn a_thought_that_was_streamed_is_not_redacted() {
    let redacted = || {
        let data = vec![("redacted", Fact::Bool(true)), ("kept", Fact::Bool(true))];
        Event::Put(with(item("a", Kind::Thinking, None), "", data))
    };
    let streamed = vec![
        Event::Open(item("a", Kind::Thinking, None)),
        Event::Append { id: "a".into(), text: "because".into() },
        redacted(),
    ];
    for (events, text, is_redacted) in [(streamed, "because", false), (vec![redacted()], "", true)] {
        let (items, _) = completed(events);
        assert_eq!(items.len(), 1);
        assert_eq!((&*items[0].text(), is_marked(&items[0], "redacted")), (text, is_redacted));
        assert!(is_marked(&items[0], "kept"));
    }
}

#[test]
fn open_items_end_in_the_order_in_which_they_began() {
    let open = |id: &str| Event::Open(item(id, Kind::Reply, None));
    let (items, _) = completed(["a", "b", "c"].map(open).to_vec());
    assert_eq!(items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    // Beyond the limit, the oldest ends early; none is lost.
    let (items, _) = completed_within(Budget::LEAST, ["a", "b", "c", "d", "e"].map(open).to_vec());
    let ends: Vec<_> = items.iter().map(|item| (item.id.as_str(), item.status)).collect();
    assert_eq!(ends, ["a", "b", "c", "d", "e"].map(|id| (id, Status::Cancelled)));
}

/// Outcomes of several turns may come together at the end.
#[test]
fn an_outcome_repeats_one_of_the_last_replies_and_what_is_older_is_shown_again() {
    for (replies_after, is_repeated) in [(0, true), (MAX_REPLIES - 1, true), (MAX_REPLIES, false)] {
        let say = |id: &str, kind, text: &str| Event::Put(with(item(id, kind, None), text, Vec::new()));
        let mut events = vec![say("r", Kind::Reply, "done")];
        for number in 0..replies_after {
            events.push(say(&format!("r-{number}"), Kind::Reply, &format!("step {number}")));
        }
        events.push(say("o", Kind::Outcome, "done"));
        let (items, _) = completed(events);
        let outcome = items.iter().find(|item| item.kind == Kind::Outcome).unwrap();
        assert_eq!(is_marked(outcome, "repeated"), is_repeated, "{replies_after} replies after it");
        assert_eq!(outcome.text(), "done");
    }
}

#[test]
fn the_usage_of_one_of_the_last_messages_may_be_corrected_and_that_of_an_older_one_counts_again() {
    for (messages_after, is_corrected) in [(0, true), (MAX_USAGES - 1, true), (MAX_USAGES * 2, false)] {
        let mut session = Session::default();
        let mut count = |id: &str, usage| {
            session.apply(Event::Usage { message: Id::from(id), usage, details: None }, |_, _| {});
            session.usage().output
        };
        count("m", used(1, 1));
        for number in 0..messages_after {
            count(&format!("m-{number}"), used(1, 1));
        }
        let before = messages_after as u64 + u64::from(!is_corrected);
        assert_eq!(count("m", used(1, 50)), before + 50, "{messages_after} messages after it");
    }
}

fn wait(event: &str, call: &str, parent: Option<&str>) -> Event {
    let text = |text: &str| Fact::Text(text.to_owned());
    let data =
        vec![("event", text(event)), ("call", text(call)), ("for", text("answer")), ("tool", text("Ask"))];
    Event::Put(with(item(&format!("{call}-{event}"), Kind::Notice, parent), "", data))
}

/// The calls that wait after each event.
fn waiting_after(events: Vec<Event>) -> Vec<Vec<String>> {
    let mut session = Session::default();
    let waiting = |event| {
        session.apply(event, |_, _| {});
        session.waiting_calls().map(|(call, _)| call.to_string()).collect()
    };
    events.into_iter().map(waiting).collect()
}

#[test]
fn a_wait_ends_with_a_notice_when_anything_shows_that_it_is_over() {
    use crate::item::{WAITED, WAITING, WaitsFor};
    let result = |id: &str| {
        let mut result = item(&format!("{id}/result"), Kind::Result, None);
        result.call = Some(id.into());
        result
    };
    let interrupt =
        || with(item("i", Kind::Notice, None), "", vec![("event", Fact::Text("interrupt".into()))]);
    for (name, end, ended) in [
        ("its notice", wait(WAITED, "t", None), true),
        ("its result", Event::Put(result("t")), true),
        ("the beginning of its result", Event::Open(result("t")), true),
        ("a part of its result", Event::Amend(result("t")), true),
        ("the end of the turn", Event::Put(item("o", Kind::Outcome, None)), true),
        ("an interruption", Event::Put(interrupt()), true),
        ("another result", Event::Put(result("u")), false),
        ("the end of a sub-agent", Event::Put(item("o", Kind::Outcome, Some("u"))), false),
        ("a reply", Event::Put(item("r", Kind::Reply, None)), false),
    ] {
        let begin = || vec![Event::Put(item("t", Kind::Call, None)), wait(WAITING, "t", None)];
        let after = waiting_after(begin().into_iter().chain([end.clone()]).collect());
        let now: &[&str] = if ended { &[] } else { &["t"] };
        assert_eq!((&after[0][..], &after[1][..]), (&[][..], &["t".to_owned()][..]), "{name}");
        assert_eq!(after[2], now, "{name}");
        let (items, _) = completed(begin().into_iter().chain([end]).collect());
        let ends: Vec<_> = items.iter().filter(|item| item.is_event(WAITED)).collect();
        assert_eq!(ends.len(), usize::from(ended), "{name}");
        for notice in ends {
            let text = |name| notice.fact(name).and_then(FactRef::str).map(Cow::into_owned);
            let facts = ["call", "for", "tool"].map(text);
            assert_eq!(facts.map(Option::unwrap), ["t", WaitsFor::Answer.name(), "Ask"], "{name}");
        }
    }
}

#[test]
fn a_wait_that_is_known_is_repeated_and_an_end_without_one_is_left_out() {
    use crate::item::{WAITED, WAITING};
    let call = || Event::Put(item("t", Kind::Call, None));
    let events =
        |ends: &[&str]| [call()].into_iter().chain(ends.iter().map(|event| wait(event, "t", None))).collect();
    for (ends, notices, repeats) in
        [(&[WAITING, WAITING][..], 1, 1), (&[WAITED][..], 0, 0), (&[WAITING, WAITED, WAITED][..], 2, 0)]
    {
        let (items, repeated) = completed(events(ends));
        let shown = items.iter().filter(|item| item.wait().is_some()).count();
        assert_eq!((shown, repeated), (notices, repeats), "{ends:?}");
    }
}

#[test]
fn a_call_that_was_withdrawn_or_whose_input_ended_waits_no_longer() {
    use crate::item::WAITING;
    let begin = || vec![Event::Put(item("t", Kind::Call, None)), wait(WAITING, "t", None)];
    let retract = Event::Retract { ids: vec!["t".into()], notice: item("n", Kind::Notice, None) };
    assert_eq!(waiting_after(begin().into_iter().chain([retract]).collect())[2], [""; 0]);
    let mut session = Session::default();
    for event in begin() {
        session.apply(event, |_, _| {});
    }
    let mut changed = Vec::new();
    session.end(9, |session, change| {
        if let SessionChange::Waits(call) = change {
            changed.push((call.to_string(), session.waiting(call)));
        }
    });
    assert_eq!(changed, [("t".to_owned(), None)]);
}

#[test]
fn of_too_many_calls_that_wait_the_older_half_is_forgotten() {
    use crate::item::WAITING;
    for (count, left, first) in [(256, 256, "t-0"), (257, 129, "t-128")] {
        let events = (0..count).map(|number| wait(WAITING, &format!("t-{number}"), None)).collect();
        let last = waiting_after(events).pop().unwrap();
        assert_eq!((last.len(), &*last[0]), (left, first));
    }
}
