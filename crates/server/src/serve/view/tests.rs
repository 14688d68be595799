use super::*;

fn names(events: &[ViewEvent]) -> Vec<String> {
    let told = events.iter().map(|event| {
        let id = event.data["id"].as_str().unwrap_or("").trim_start_matches("n-000000000000000").to_owned();
        format!("{}{id}@{}", event.name, event.revision)
    });
    told.collect()
}

#[test]
fn a_reader_goes_on_from_any_revision_and_a_part_of_one_is_given_again() {
    let mut view = SessionView { revision: 1, ..SessionView::default() };
    view.put(1, NodePath::of(0), "wone");
    view.revision = 2;
    view.put(2, NodePath::of(1), "wtwo");
    view.put(3, NodePath::of(1).within(&[0]), "winside");
    let mut reader = ReaderPosition::at(0);
    assert_eq!(names(&view.take(&mut reader, 1000)), ["put1@1", "put2@1", "put3@2"]);
    assert!(view.take(&mut reader, 1000).is_empty());
    assert_eq!(names(&view.take(&mut ReaderPosition::at(1), 1000)), ["put2@1", "put3@2"]);
    // Growth has no separate revision until it was shown.
    (view.revision, view.is_growing) = (3, true);
    view.put(1, NodePath::of(0), "wone and more");
    assert_eq!(names(&view.take(&mut reader, 1000)), ["put1@2"]);
    view.is_growing = false;
    view.remove(2);
    view.revision = 4;
    view.set_response("r".to_owned());
    view.end();
    assert_eq!(names(&view.take(&mut reader, 1000)), ["drop2@3", "response@3", "done@4"]);
    assert_eq!(names(&view.take(&mut ReaderPosition::at(3), 1000)), ["response@3", "done@4"]);
    assert!(view.take(&mut ReaderPosition::at(4), 1000).is_empty());
}

#[test]
fn a_reader_is_left_behind_once_much_has_been_unsent_for_long() {
    let (minute, start) = (Duration::from_secs(60), Instant::now());
    let mut view = SessionView { revision: 1, ..SessionView::default() };
    view.put(1, NodePath::of(0), "wone");
    let mut reader = ReaderPosition::at(0);
    view.take(&mut reader, 1000);
    assert!(!view.is_left_behind(&mut reader, 10, minute, start));
    // After an hour of silence, much comes at once.
    let later = start + 60 * minute;
    view.put(2, NodePath::of(1), "w0123456789");
    assert!(!view.is_left_behind(&mut reader, 10, minute, later), "it just came");
    assert!(!view.is_left_behind(&mut reader, 10, minute, later + minute / 2));
    assert!(view.is_left_behind(&mut reader, 10, minute, later + minute));
    // Some of it is sent, so that less is missing; later again too much is, and its time begins anew.
    view.take(&mut reader, 1000);
    assert!(!view.is_left_behind(&mut reader, 10, minute, later + minute));
    view.put(3, NodePath::of(2), "w0123456789");
    assert!(!view.is_left_behind(&mut reader, 10, minute, later + 2 * minute));
    assert!(view.is_left_behind(&mut reader, 10, minute, later + 3 * minute));
}

/// The numbers of nodes, and of the first if there are others before it.
fn numbers(found: Option<(Vec<String>, Option<String>)>) -> (Vec<u64>, Option<u64>) {
    let (nodes, first) = found.unwrap();
    let number = |id: &str| node_hash(id).unwrap();
    let nodes = nodes.iter().map(|html| number(html.split('"').nth(3).unwrap()));
    (nodes.collect(), first.map(|first| number(&first)))
}

#[test]
fn nodes_come_in_the_order_of_the_document_the_newest_first_asked() {
    let mut view = SessionView::default();
    let of = NodePath::of;
    for (hash, path) in [(1, of(0)), (2, of(2)), (3, of(0).within(&[1])), (4, of(1)), (5, of(0).within(&[0]))]
    {
        view.put(hash, path, "w");
    }
    assert_eq!(numbers(view.nodes(None, 9)), (vec![1, 5, 3, 4, 2], None));
    assert_eq!(numbers(view.nodes(None, 2)), (vec![4, 2], Some(4)));
    assert_eq!(numbers(view.nodes(Some(4), 2)), (vec![5, 3], Some(5)));
    assert!(view.nodes(Some(6), 2).is_none());
    let put = view.take(&mut ReaderPosition::at(0), 1 << 20);
    assert!(put.is_empty(), "the first revision is 1");
}

#[test]
fn nodes_that_are_far_from_the_end_are_found_shown_and_may_be_finished() {
    const NODES: u64 = 3 * RECENT as u64;
    let mut view = SessionView::default();
    // The third and the fourth stay open.
    for hash in 1..=NODES {
        view.revision = hash;
        let html = if [3, 4].contains(&hash) { "oopen" } else { "wwhole" };
        view.put(hash, NodePath::of(hash as u32), html);
    }
    assert_eq!((view.recent.len(), view.order.len(), view.len()), (RECENT, RECENT, NODES));
    assert_eq!(view.path(3), Some(&NodePath::of(3)));
    assert_eq!(view.path(5), None);
    let mut reader = ReaderPosition::at(NODES);
    assert!(view.take(&mut reader, 1000).is_empty());
    view.revision += 1;
    view.put(3, NodePath::of(3), "wfinished");
    view.remove(4);
    let events = view.take(&mut reader, 1000);
    assert_eq!(events[0].data["before"], node_id(5), "it stands where it stood");
    assert_eq!(names(&events)[1], format!("drop4@{}", NODES + 1));
    assert_eq!(view.len(), NODES - 1);
    assert_eq!(numbers(view.nodes(Some(6), 9)), (vec![1, 2, 3, 5], None));
    assert!(view.nodes(Some(5), 1).unwrap().0[0].contains(">finished<"));
    // Across the border, and all of them in order.
    let border = NODES - RECENT as u64;
    assert_eq!(
        numbers(view.nodes(Some(border + 3), 5)),
        ((border - 2..border + 3).collect(), Some(border - 2))
    );
    let (all, _) = numbers(view.nodes(None, usize::MAX));
    assert!(all.into_iter().eq((1..=NODES).filter(|number| *number != 4)));
    assert!(view.nodes(Some(4), 1).is_none() && view.nodes(Some(0), 1).is_none());
    // A reader that starts over gets each node once, at its current place.
    let mut reader = ReaderPosition::at(0);
    let mut events: Vec<ViewEvent> = Vec::new();
    loop {
        let more = view.take(&mut reader, 1 << 16);
        if more.is_empty() {
            break;
        }
        events.extend(more);
    }
    let put: Vec<&ViewEvent> = events.iter().filter(|event| event.name == "put").collect();
    assert_eq!(put.len() as u64, NODES - 1);
    let next = |event: &&ViewEvent| event.data["before"].as_str().and_then(node_hash);
    assert_eq!(put[1].revision, 2);
    assert_eq!(
        [put[0], put[1], put[2], put[border as usize - 3]].map(|event| next(&event)),
        [Some(2), Some(3), Some(6), Some(border + 1)]
    );
}

#[test]
fn the_latest_four_thousand_open_nodes_far_from_the_end_can_still_change() {
    const OPEN_NODES: u64 = 2 * MAX_UNFINISHED as u64 + 1;
    let mut view = SessionView::default();
    let last = OPEN_NODES + RECENT as u64;
    for hash in 1..=last {
        view.revision = hash;
        view.put(hash, NodePath::of(hash as u32), if hash <= OPEN_NODES { "oopen" } else { "wwhole" });
        let latest = hash.saturating_sub(RECENT as u64).min(OPEN_NODES);
        assert!(latest < 4_096 || view.path(latest - 4_095).is_some(), "{latest}");
        assert!(view.older.unfinished.len() <= MAX_UNFINISHED, "{hash}");
    }
    // An earlier one stays as it is, and is removed no more.
    assert_eq!(view.path(1), None);
    view.remove(1);
    // A later one is replaced in its place and isn't shown twice.
    view.put(OPEN_NODES, NodePath::of(OPEN_NODES as u32), "wfinished");
    assert_eq!(view.len(), last);
    let (nodes, _) = view.nodes(Some(OPEN_NODES + 1), 2).unwrap();
    assert!(nodes[1].contains(">finished<") && nodes[0].contains(">open<"), "{nodes:?}");
    view.remove(OPEN_NODES - 1);
    assert_eq!(view.len(), last - 1);
}
