//! Session files: what waits for later lines, and what happens at the limits.

use super::*;
use streamfmt_core::json::Record;

#[test]
fn beyond_the_limit_of_sub_agents_files_what_waits_in_the_oldest_is_emitted() {
    let (mut codex, mut out) = (Codex::new(Budget::default()), Vec::new());
    let puts = |out: &mut Vec<Event>| {
        let id = |event| match event {
            Event::Put(item) => item.id.to_string(),
            other => panic!("{other:?}"),
        };
        out.drain(..).map(id).collect::<Vec<_>>()
    };
    let wait = |codex: &mut Codex, name: &str, out: &mut Vec<Event>| {
        let call = Id::from(name);
        codex.swap_rollout(&call, out);
        let item = Box::new(Item::new(name, Kind::Notice, 1));
        codex.rollout.waiting.push(WaitingItem { item, key: None });
        codex.swap_rollout(&call, out);
    };
    let names: Vec<_> = (0..=MAX_INSIDE).map(|number| format!("file-{number}")).collect();
    for name in &names[..MAX_INSIDE] {
        wait(&mut codex, name, &mut out);
    }
    assert_eq!(puts(&mut out), [""; 0], "all fit");
    wait(&mut codex, &names[MAX_INSIDE], &mut out);
    assert_eq!(puts(&mut out), names[..1]);
    codex.flush_rollouts_inside(&mut out);
    assert_eq!(puts(&mut out), names[1..], "none is lost");
}

#[test]
fn beyond_the_limits_of_waiting_items_all_of_them_are_emitted_in_order() {
    let big = Record::from_line(format!("\"{}\"", "x".repeat(MAX_WAITING_BYTES / 2))).unwrap();
    let small = Record::from_line("1".to_owned()).unwrap();
    for (record, fitting) in [(small, MAX_WAITING), (big, 2)] {
        let (mut codex, mut out) = (Codex::new(Budget::default()), Vec::new());
        for number in 0..=fitting {
            assert_eq!(out.len(), 0, "{number} fit");
            let mut item = Item::new(format!("i-{number}"), Kind::Notice, 1);
            item.record = Some(record.clone());
            codex.wait(item, Some(1), &mut out);
        }
        assert_eq!(out.len(), fitting, "one more than fit");
        codex.flush_rollout(&mut out);
        let ids = out.iter().map(|event| match event {
            Event::Put(item) => item.id.to_string(),
            other => panic!("{other:?}"),
        });
        let expected: Vec<_> = (0..=fitting).map(|number| format!("i-{number}")).collect();
        assert_eq!(ids.collect::<Vec<_>>(), expected);
    }
}
