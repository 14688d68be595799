use super::*;

/// A row of one entry: `number` is its hash.
fn row(number: u64, revision: u64, html: &str) -> HtmlRow {
    let anchors = vec![format!("e-{number:016x}")];
    HtmlRow { anchors, revision: Some(revision), html: html.to_owned(), ..HtmlRow::default() }
}

fn view() -> SessionView {
    let mut view = SessionView::new(false, SessionStatus::Running).unwrap();
    view.is_caught_up = true;
    view
}

/// Applies a line: adds final rows, and replaces those that aren't.
fn line(view: &mut SessionView, revision: u64, rows: Vec<HtmlRow>, open: Vec<HtmlRow>) {
    view.revision = revision;
    for row in rows {
        view.add(row).unwrap();
    }
    view.set_open(open);
    view.complete(revision);
}

fn names(events: &[ViewEvent]) -> Vec<String> {
    let told = events.iter().map(|event| {
        let id = event.data["id"].as_str().unwrap_or("").trim_start_matches("n-000000000000000").to_owned();
        format!("{}{id}@{}", event.name, event.revision)
    });
    told.collect()
}

fn taken(view: &SessionView, reader: &mut ReaderPosition) -> Vec<String> {
    names(&view.take(reader, 1000).unwrap())
}

#[test]
fn a_reader_goes_on_from_any_revision_and_gets_nothing_twice() {
    let mut view = view();
    line(&mut view, 1, vec![row(1, 1, "one")], vec![]);
    line(&mut view, 2, vec![row(2, 2, "two")], vec![row(3, 2, "call")]);
    let mut reader = ReaderPosition::at(0);
    assert_eq!(taken(&view, &mut reader), ["put1@1", "put2@1", "put3@2"]);
    assert!(taken(&view, &mut reader).is_empty());
    assert_eq!(taken(&view, &mut ReaderPosition::at(1)), ["put2@1", "put3@2"]);
    // The call doesn't change, whatever follows; then it gets its result.
    line(&mut view, 3, vec![], vec![row(3, 2, "call"), row(4, 3, "four")]);
    assert_eq!(taken(&view, &mut reader), ["put4@3"]);
    line(&mut view, 4, vec![row(3, 4, "call and result"), row(4, 3, "four")], vec![]);
    assert_eq!(taken(&view, &mut reader), ["put3@4"]);
    for (since, expected) in
        [(0, "put1@1 put2@2 put4@3 put3@4"), (2, "put4@3 put3@4"), (3, "put3@4"), (4, "")]
    {
        assert_eq!(taken(&view, &mut ReaderPosition::at(since)).join(" "), expected, "since {since}");
    }
    view.revision = 5;
    view.set_response("r".to_owned());
    view.end();
    assert_eq!(taken(&view, &mut reader), ["response@4", "done@5"]);
    assert_eq!(taken(&view, &mut ReaderPosition::at(4)), ["response@4", "done@5"]);
    assert!(taken(&view, &mut ReaderPosition::at(5)).is_empty());
}

#[test]
fn another_process_gives_the_same_from_a_revision_on() {
    // Before, the reader got the held reply at once; afterwards, it is final at once.
    let mut after = view();
    after.is_caught_up = false;
    after.revision = 4;
    after.add(row(1, 1, "one")).unwrap();
    after.add(row(2, 2, "held")).unwrap();
    after.add(row(3, 4, "new")).unwrap();
    let mut reader = ReaderPosition::at(3);
    assert!(taken(&after, &mut reader).is_empty(), "nothing before all of the log is read");
    after.is_caught_up = true;
    after.complete(4);
    assert_eq!(taken(&after, &mut reader), ["put3@4"]);
}

#[test]
fn what_grows_has_no_complete_revision_until_it_was_shown() {
    let mut view = view();
    line(&mut view, 1, vec![], vec![row(1, 1, "o")]);
    let mut reader = ReaderPosition::at(0);
    taken(&view, &mut reader);
    view.revision = 2;
    view.add(row(2, 2, "two")).unwrap();
    assert_eq!(taken(&view, &mut reader), ["put2@1"]);
    line(&mut view, 2, vec![], vec![row(1, 2, "o and more")]);
    assert_eq!(taken(&view, &mut reader), ["put1@2"]);
    assert_eq!(taken(&view, &mut ReaderPosition::at(1)), ["put2@1", "put1@2"]);
}

#[test]
fn a_node_is_removed_unless_another_one_holds_its_entry() {
    let mut view = view();
    line(&mut view, 1, vec![], vec![row(1, 1, "a"), row(2, 1, "b"), row(3, 1, "c")]);
    let mut reader = ReaderPosition::at(0);
    taken(&view, &mut reader);
    let anchors = [1, 2].map(|number| format!("e-{number:016x}")).to_vec();
    let both = HtmlRow { anchors, html: "a b".to_owned(), ..HtmlRow::default() };
    line(&mut view, 2, vec![both], vec![]);
    assert_eq!(taken(&view, &mut reader), ["put1@1", "drop3@2"]);
    let nodes = view.page(None, 9).unwrap().unwrap();
    assert_eq!((nodes.html.len(), nodes.first, view.len()), (1, None, 1));
    for number in 0..2 * MAX_DROPPED as u64 {
        line(&mut view, 3 + number, vec![], vec![row(9 + number, 3, "x")]);
    }
    assert_eq!(view.dropped.len(), MAX_DROPPED);
}

#[test]
fn a_reader_is_left_behind_once_much_has_been_unsent_for_long() {
    let (minute, start) = (Duration::from_secs(60), Instant::now());
    let mut view = view();
    line(&mut view, 1, vec![row(1, 1, "one")], vec![]);
    let mut reader = ReaderPosition::at(0);
    taken(&view, &mut reader);
    let behind = |view: &SessionView, reader: &mut ReaderPosition, now| {
        view.is_left_behind(reader, 10, minute, now).unwrap()
    };
    assert!(!behind(&view, &mut reader, start));
    // After an hour of silence, much comes at once.
    let later = start + 60 * minute;
    line(&mut view, 2, vec![row(2, 2, "01234567890")], vec![]);
    assert!(!behind(&view, &mut reader, later), "it just came");
    assert!(!behind(&view, &mut reader, later + minute / 2));
    assert!(behind(&view, &mut reader, later + minute));
    // Some of it is sent, so less is missing; later too much is missing again, and its time starts again.
    taken(&view, &mut reader);
    assert!(!behind(&view, &mut reader, later + minute));
    line(&mut view, 3, vec![row(3, 3, "01234567890")], vec![]);
    assert!(!behind(&view, &mut reader, later + 2 * minute));
    assert!(behind(&view, &mut reader, later + 3 * minute));
}

/// The numbers of nodes, and of the first if there are others before it.
fn numbers(view: &SessionView, before: Option<u64>, most: usize) -> (Vec<u64>, Option<u64>) {
    let PageNodes { html, first } = view.page(before, most).unwrap().unwrap();
    let number = |id: &str| node_hash(id).unwrap();
    let nodes = html.iter().map(|html| number(html.split('"').nth(3).unwrap()));
    (nodes.collect(), first.map(|first| number(&first)))
}

#[test]
fn pages_hold_the_nodes_of_the_document_the_newest_first_asked() {
    let mut view = view();
    let rows = (1..=5).map(|number| row(number, number, "w")).collect();
    line(&mut view, 5, rows, vec![row(6, 5, "open"), row(7, 5, "open")]);
    assert_eq!(numbers(&view, None, 9), ((1..=7).collect(), None));
    assert_eq!(numbers(&view, None, 3), (vec![5, 6, 7], Some(5)));
    assert_eq!(numbers(&view, None, 2), (vec![6, 7], Some(6)));
    assert_eq!(numbers(&view, None, 1), (vec![7], Some(7)));
    assert_eq!(numbers(&view, Some(7), 2), (vec![5, 6], Some(5)));
    assert_eq!(numbers(&view, Some(6), 2), (vec![4, 5], Some(4)));
    assert_eq!(numbers(&view, Some(4), 2), (vec![2, 3], Some(2)));
    assert_eq!(numbers(&view, Some(3), 2), (vec![1, 2], None));
    assert_eq!(numbers(&view, Some(1), 2), (vec![], None));
    assert!(view.page(Some(8), 2).unwrap().is_none());
}

#[test]
fn each_event_says_where_its_node_stands() {
    let mut view = view();
    line(&mut view, 1, vec![row(1, 1, "one"), row(2, 1, "two")], vec![row(3, 1, "o"), row(4, 1, "o")]);
    let events = view.take(&mut ReaderPosition::at(0), 1000).unwrap();
    let of =
        |name| events.iter().map(|event| event.data[name].as_str().and_then(node_hash)).collect::<Vec<_>>();
    assert_eq!(of("id"), [1, 2, 3, 4].map(Some));
    assert_eq!(of("after"), [None, Some(1), Some(2), Some(3)]);
    assert_eq!(of("before"), [Some(2), Some(3), Some(4), None]);
}

#[test]
fn a_long_session_is_sent_in_pieces_and_a_reader_that_returns_within_goes_on_there() {
    const NODES: u64 = 20_000;
    let mut view = view();
    for number in 1..=NODES {
        line(&mut view, number, vec![row(number, number, "0123456789")], vec![]);
    }
    assert!(view.points.len() <= MAX_POINTS + 1);
    for since in [0, 1, 7_777, NODES - 1] {
        let (mut got, mut reader) = (Vec::new(), ReaderPosition::at(since));
        loop {
            let events = view.take(&mut reader, 1000).unwrap();
            assert!(events.len() <= 101, "{}", events.len());
            let Some(last) = events.last() else { break };
            assert_eq!(last.revision, got.len() as u64 + events.len() as u64 + since);
            got.extend(events.iter().map(|event| event.data["id"].as_str().and_then(node_hash).unwrap()));
            if got.len() % 3 == 0 {
                // The connection breaks, and the reader reconnects.
                reader = ReaderPosition::at(last.revision);
            }
        }
        assert!(got.into_iter().eq(since + 1..=NODES), "since {since}");
    }
}
