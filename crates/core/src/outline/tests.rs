//! The order of a document: pairs, nests and the answer. No entry is lost or emitted twice.

use proptest::prelude::*;

use super::*;
use crate::entry::{Block, View};
use crate::item::AnswerClaim;

const PAIRED: OutlineOptions = OutlineOptions {
    pairs: true,
    nests: false,
    answer: false,
    names: false,
    only_answer: false,
    agents: false,
    notices: false,
};

fn entry(kind: Kind, id: &str) -> Entry {
    Entry::new(id, kind, View::titled("call", Line::of("text", id.to_owned())))
}

fn call(id: &str) -> Entry {
    entry(Kind::Call, id)
}

fn result(call: &str) -> Entry {
    Entry { call: Some(call.into()), ..entry(Kind::Result, &format!("{call}/result")) }
}

fn inside(parent: &str, entry: Entry) -> Entry {
    Entry { parent: Some(parent.into()), depth: 1, ..entry }
}

fn task(id: &str) -> Entry {
    Entry { action: Some(Action::Delegate), ..call(id) }
}

/// The parts of a document, a word for each: `a+` is a call with its result, `>a` a result below its call, `a/result:a` one that names its
/// call, `(a+: … )` a call with the entries inside it, `{n m}` notices in a row, `[r o]` an answer, `[=r o]` one that was a part before.
fn outlined(shape: OutlineOptions, entries: impl IntoIterator<Item = Entry>) -> String {
    let word_of = |part: DocumentPart| match part {
        DocumentPart::Node(node) => word(&node),
        DocumentPart::Enter(Nest { node: Some(node), .. }) => format!("({}:", word(&node)),
        DocumentPart::Enter(nest) => {
            format!(
                "({}",
                nest.title.map_or("?".into(), |title| title.spans().next().unwrap().text().to_owned())
            )
        }
        DocumentPart::Notices(nodes) => {
            format!("{{{}}}", nodes.iter().map(word).collect::<Vec<_>>().join(" "))
        }
        DocumentPart::Leave => ")".to_owned(),
        DocumentPart::Answer(answer) => {
            let before = answer.before.iter().map(|node| format!("={}", word(node)));
            let nodes: Vec<_> = before.chain(answer.nodes.iter().map(word)).collect();
            format!("[{}{}]", nodes.join(" "), if answer.is_last { "" } else { " …" })
        }
    };
    let (mut outline, mut parts) = (Outline::new(shape), Vec::new());
    let title_of = |call: &Id| Some(Line::of("text", call.as_str().to_owned()));
    for entry in entries {
        outline.push(entry, &mut { title_of }, &mut parts);
    }
    outline.end(&mut { title_of }, &mut parts);
    parts.into_iter().map(word_of).collect::<Vec<_>>().join(" ")
}

fn word(node: &Node) -> String {
    let id = node.entry.id.as_str();
    let result = if node.result.is_some() { "+" } else { "" };
    match &node.relation {
        Relation::Own => format!("{id}{result}"),
        Relation::Below => format!(">{id}{result}"),
        Relation::Apart(title) => format!("{id}{result}:{}", title.spans().next().unwrap().text()),
    }
}

#[test]
fn without_pairing_all_is_in_the_order_of_completion() {
    let shape = OutlineOptions::default();
    let entries = [call("a"), call("b"), result("b"), result("a"), entry(Kind::Reply, "r"), result("b")];
    assert_eq!(outlined(shape, entries), "a b >b/result a/result:a r b/result:b");
    let entries = [task("t"), inside("t", call("a")), call("b"), inside("t", result("a")), result("t")];
    assert_eq!(outlined(shape, entries), "t a b a/result:a t/result:t");
    let entries = [task("t"), call("b"), inside("t", call("a")), inside("t", entry(Kind::Reply, "r"))];
    assert_eq!(outlined(shape, entries), "t b a:t r");
}

#[test]
fn results_are_put_under_their_calls() {
    let entries = [call("a"), call("b"), result("b"), entry(Kind::Notice, "n"), result("a"), result("a")];
    assert_eq!(outlined(PAIRED, entries), "a+ b+ n a/result:a");
    let entries = [call("a"), entry(Kind::Reply, "r"), result("a"), call("b")];
    assert_eq!(outlined(PAIRED, entries), "a+ r b");
}

/// A result whose call wasn't shown waits behind another call. When it is emitted, its call is forgotten.
#[test]
fn a_result_that_waits_apart_from_its_call_keeps_its_title() {
    let mut known = vec!["a", "hidden"];
    let mut parts = Vec::new();
    let mut outline = Outline::new(OutlineOptions { pairs: true, ..OutlineOptions::default() });
    for entry in [call("a"), result("hidden"), result("a")] {
        let call = entry.call.clone();
        let mut title_of =
            |call: &Id| known.contains(&call.as_str()).then(|| Line::of("text", format!("title of {call}")));
        outline.push(entry, &mut title_of, &mut parts);
        known.retain(|known| call.as_ref().is_none_or(|call| call.as_str() != *known));
    }
    outline.end(&mut |_| None, &mut parts);
    let words: Vec<_> = parts
        .iter()
        .map(|part| match part {
            DocumentPart::Node(node) => word(node),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(words, ["a+", "hidden/result:title of hidden"]);
}

#[test]
fn a_delegated_call_waits_for_nothing_and_its_result_ends_its_nest() {
    let entries = [
        call("a"),
        task("t"),
        inside("t", call("x")),
        inside("t", entry(Kind::Reply, "r")),
        result("a"),
        inside("t", call("y")),
        result("t"),
        inside("t", result("x")),
    ];
    assert_eq!(outlined(PAIRED, entries), "a+ t x r y t/result:t x/result:x");
    let entries =
        [call("a"), call("b"), inside("b", call("x")), inside("b", result("x")), result("b"), result("a")];
    assert_eq!(outlined(PAIRED, entries), "a+ b x+ b/result:b", "any call may turn out to hold others");
}

const GATHERED: OutlineOptions = OutlineOptions { nests: true, ..PAIRED };

#[test]
fn the_entries_of_a_sub_agent_are_gathered_in_its_call() {
    let reply = |id: &str| entry(Kind::Reply, id);
    let entries = [task("t"), inside("t", call("x")), inside("t", result("x")), result("t"), reply("r")];
    assert_eq!(outlined(GATHERED, entries), "(t+: x+ ) r");
    let entries = [
        task("s"),
        task("t"),
        inside("t", call("x")),
        inside("s", call("y")),
        inside("t", result("x")),
        result("t"),
        inside("s", result("y")),
        inside("s", reply("z")),
        result("s"),
    ];
    assert_eq!(outlined(GATHERED, entries), "(s+: y+ z ) (t+: x+ )", "however they take turns");
    let deep = |entry: Entry| Entry { depth: 2, ..inside("u", entry) };
    let entries = [
        task("s"),
        inside("s", task("u")),
        call("a"),
        deep(call("x")),
        result("a"),
        deep(result("x")),
        inside("s", result("u")),
        result("s"),
    ];
    assert_eq!(outlined(GATHERED, entries), "(s+: (u+: x+ ) ) a+");
    let entries = [call("a"), inside("a", call("x")), inside("a", result("x")), result("a")];
    assert_eq!(outlined(GATHERED, entries), "(a+: x+ )", "any call may turn out to be one");
}

#[test]
fn an_agent_in_the_background_is_gathered_until_the_run_ends() {
    let entries = [
        task("t"),
        result("t"),
        inside("t", call("x")),
        call("a"),
        inside("t", result("x")),
        result("a"),
        inside("t", entry(Kind::Reply, "r")),
        entry(Kind::Outcome, "o"),
        inside("t", entry(Kind::Reply, "s")),
    ];
    assert_eq!(outlined(GATHERED, entries), "(t+: x+ r ) a+ o (t s:t )");
    let entries = [task("t"), inside("t", call("x")), entry(Kind::Outcome, "o"), result("t")];
    assert_eq!(outlined(GATHERED, entries), "(t: x ) o t/result:t", "nor for one that never ends");
}

#[test]
fn entries_of_agents_that_run_after_the_run_do_not_alternate() {
    let reply = |id: &str| entry(Kind::Reply, id);
    let entries = [
        task("s"),
        task("t"),
        result("s"),
        result("t"),
        entry(Kind::Outcome, "o"),
        inside("s", call("a")),
        inside("t", call("b")),
        inside("s", result("a")),
        inside("t", result("b")),
        inside("s", reply("c")),
        inside("t", reply("d")),
        reply("r"),
        inside("s", reply("e")),
        entry(Kind::Outcome, "p"),
    ];
    assert_eq!(outlined(GATHERED, entries), "s+ t+ o (s a+:s c ) (t b+:t d ) r (s e:s ) p");
}

#[test]
fn a_full_window_emits_the_entries_of_agents_so_far() {
    let steps = |name: &str| {
        (0..3_000).map(|at| inside(name, entry(Kind::Reply, &format!("{name}{at}")))).collect::<Vec<_>>()
    };
    let entries = [task("s")].into_iter().chain(steps("s")).chain([result("s")]);
    let gathered = outlined(GATHERED, entries);
    assert!(gathered.starts_with("(s: s0 s1 ") && gathered.ends_with(" s2999 ) s/result:s"), "{gathered}");
}

#[test]
fn notices_in_a_row_are_one_part() {
    let shape = OutlineOptions { notices: true, answer: true, ..GATHERED };
    let notice =
        |id: &str| Entry::new(id, Kind::Notice, View::titled("notice", Line::of("notice.info", "n")));
    let warning = Entry::new("w", Kind::Notice, View::titled("warning", Line::of("notice.warning", "w")));
    let entries =
        [notice("a"), notice("b"), notice("c"), call("x"), result("x"), notice("d"), notice("e"), warning];
    assert_eq!(outlined(shape, entries), "{a b c} x+ d e w");
    let replied = [entry(Kind::Reply, "r"), notice("a"), entry(Kind::Outcome, "o"), notice("b"), notice("c")];
    assert_eq!(outlined(shape, replied), "{a b c} [r o]", "those of the last answer come before it");
    let entries = [task("t"), inside("t", notice("a")), inside("t", notice("b")), notice("c"), result("t")];
    assert_eq!(outlined(shape, entries), "(t+: a b ) c", "each fold has its own");
}

#[test]
fn entries_of_parallel_sub_agents_are_inside_of_their_calls() {
    let nested = OutlineOptions { nests: true, ..OutlineOptions::default() };
    let deep = |entry: Entry| Entry { depth: 2, ..inside("u", entry) };
    let entries = [
        task("s"),
        task("t"),
        inside("s", task("u")),
        deep(call("x")),
        inside("t", call("y")),
        deep(result("x")),
        inside("s", call("z")),
    ];
    assert_eq!(outlined(nested, entries), "s t (s u:s (u x ) ) (t y:t ) (s (u x/result:x ) z:s )");
    // The place of a call that is no longer known follows from the open nests.
    let entries = [inside("s", call("x")), deep(call("y")), inside("t", call("z"))];
    assert_eq!(outlined(nested, entries), "(s x:s (u y:u ) ) (t z:t )");
}

#[test]
fn waiting_entries_are_emitted_at_the_end_of_the_run_and_when_the_window_is_full() {
    let entries = [call("a"), entry(Kind::Outcome, "o"), result("a")];
    assert_eq!(outlined(PAIRED, entries), "a o a/result:a");
    let mut entries = vec![call("a")];
    entries.extend((0..256).map(|number| entry(Kind::Notice, &format!("n{number}"))));
    assert!(outlined(PAIRED, entries.iter().cloned().chain([result("a")])).ends_with("n255 a/result:a"));
    entries.pop();
    assert!(outlined(PAIRED, entries.into_iter().chain([result("a")])).starts_with("a+ n0"));
    let large = View::of(vec![Block::text("text", "x".repeat(1 << 20))]);
    let entries = [call("a"), Entry::new("n", Kind::Notice, large), result("a")];
    assert_eq!(outlined(PAIRED, entries), "a n a/result:a");
}

fn reply(id: &str) -> Entry {
    entry(Kind::Reply, id)
}

fn outcome(id: &str) -> Entry {
    entry(Kind::Outcome, id)
}

#[test]
fn the_answer_is_the_last_replies() {
    let shape = OutlineOptions { answer: true, ..OutlineOptions::default() };
    assert_eq!(outlined(shape, [reply("r"), call("a"), reply("s"), outcome("o")]), "r a [s o]");
    assert_eq!(outlined(shape, [reply("r"), outcome("o"), reply("s"), outcome("p")]), "[r o …] [s p]");
    assert_eq!(outlined(shape, [reply("r"), call("a")]), "r a [=r]", "whatever follows");
    assert_eq!(outlined(shape, [reply("r"), call("a"), result("a"), outcome("o")]), "r a >a/result [=r o]");
    assert_eq!(outlined(shape, [entry(Kind::Notice, "n"), outcome("o")]), "n [o]");
}

#[test]
fn a_turn_of_a_history_ends_with_the_next_prompt() {
    let shape = OutlineOptions { answer: true, ..OutlineOptions::default() };
    let prompt = |id: &str| entry(Kind::Prompt, id);
    let entries = [prompt("p"), reply("r"), call("a"), prompt("q"), reply("s")];
    assert_eq!(outlined(shape, entries.clone()), "p r a [=r …] q [s]");
    let alone = OutlineOptions { only_answer: true, ..OutlineOptions::default() };
    assert_eq!(outlined(alone, entries), "p r a q s");
    let stop = Entry { step: TurnStep::Stop, ..entry(Kind::Notice, "i") };
    let entries = [reply("r"), stop, prompt("q"), call("a")];
    assert_eq!(outlined(shape, entries.clone()), "r i q a", "an interrupted one has none");
    assert_eq!(outlined(alone, entries), "i q a");
}

#[test]
fn a_turn_that_failed_has_no_answer() {
    let failed = || Entry { step: TurnStep::End { is_failed: true }, ..outcome("o") };
    let shape = OutlineOptions { answer: true, ..OutlineOptions::default() };
    assert_eq!(outlined(shape, [reply("r"), failed()]), "r [o]");
    assert_eq!(outlined(shape, [reply("r"), call("a"), failed()]), "r a [o]");
    let alone = OutlineOptions { only_answer: true, ..OutlineOptions::default() };
    assert_eq!(outlined(alone, [reply("r"), call("a"), failed()]), "a o");
}

#[test]
fn a_higher_claim_is_the_answer_although_a_reply_follows() {
    let claims = |claim, entry| Entry { step: TurnStep::Claim(claim), ..entry };
    let (sure, structured) = (AnswerClaim::Final, AnswerClaim::Structured);
    let shape = OutlineOptions { answer: true, ..OutlineOptions::default() };
    let entries = [claims(sure, reply("r")), call("a"), reply("s"), outcome("o")];
    assert_eq!(outlined(shape, entries.clone()), "r a s [=r o]");
    let alone = OutlineOptions { only_answer: true, ..OutlineOptions::default() };
    assert_eq!(outlined(alone, entries), "r a o");
    // A call may contain the answer.
    let answer = || Some(Box::new(claims(structured, reply("a/answer"))));
    let entries = [Entry { answer: answer(), ..call("a") }, result("a"), reply("s"), outcome("o")];
    assert_eq!(outlined(shape, entries.clone()), "a >a/result s [=a/answer o]");
    let refused = Entry { step: TurnStep::Refused, ..result("a") };
    let entries = [Entry { answer: answer(), ..call("a") }, refused, reply("s"), outcome("o")];
    assert_eq!(outlined(shape, entries), "a >a/result [s o]", "unless the call fails");
}

proptest! {
    /// However entries refer to each other, each is emitted once, with and without pairing.
    #[test]
    fn every_entry_is_emitted_once(
        entries in prop::collection::vec((0u8..5, 0u8..6, prop::option::of(0u8..6), any::<bool>()), 0..400)
    ) {
        let name = |number: u8| format!("c{number}");
        let mut given = Vec::new();
        let entries = entries.iter().enumerate().map(|(index, &(kind, number, parent, is_task))| {
            let mut entry = match kind {
                0 if is_task => task(&name(number)),
                0 => call(&name(number)),
                1 | 2 => result(&name(number)),
                3 => Entry::new(
                    name(number),
                    Kind::Notice,
                    View::titled("notice", Line::of("notice.info", "n")),
                ),
                _ => entry(Kind::Reply, &name(number)),
            };
            entry.parent = parent.map(|parent| name(parent).as_str().into());
            entry.depth = u16::from(parent.is_some());
            entry.place = u32::try_from(index).unwrap_or_default();
            given.push(entry.place);
            entry
        });
        let entries: Vec<_> = entries.collect();
        for (pairs, notices) in [(false, false), (true, false), (true, true)] {
            let mut outline =
                Outline::new(OutlineOptions { pairs, nests: true, answer: true, notices, ..PAIRED });
            let mut parts = Vec::new();
            for entry in &entries {
                outline.push(entry.clone(), &mut |_| None, &mut parts);
            }
            outline.end(&mut |_| None, &mut parts);
            let mut seen = Vec::new();
            let mut depth = 0_i32;
            for part in parts {
                match part {
                    DocumentPart::Node(node) => seen.extend(node.entries().map(|entry| entry.place)),
                    DocumentPart::Answer(Answer { nodes, .. }) | DocumentPart::Notices(nodes) => {
                        seen.extend(nodes.iter().flat_map(Node::entries).map(|entry| entry.place));
                    }
                    DocumentPart::Enter(nest) => {
                        seen.extend(
                            nest.node.iter().flat_map(|node| node.entries()).map(|entry| entry.place),
                        );
                        depth += 1;
                    }
                    DocumentPart::Leave => depth -= 1,
                }
            }
            prop_assert_eq!(depth, 0);
            seen.sort_unstable();
            prop_assert_eq!(&seen, &given);
        }
    }
}

#[test]
fn in_a_document_of_answers_other_replies_are_left_out() {
    for answer in [false, true] {
        let shape = OutlineOptions { answer, only_answer: true, ..OutlineOptions::default() };
        let mut outline = Outline::new(shape);
        let mut parts = Vec::new();
        let no_title: TitleOf<'_> = &mut |_| None;
        outline.push(reply("r1"), no_title, &mut parts);
        outline.pass_over(TurnStep::Work, &mut parts);
        outline.push(reply("r2"), no_title, &mut parts);
        outline.push(reply("r3"), no_title, &mut parts);
        outline.push(entry(Kind::Outcome, "o1"), no_title, &mut parts);
        outline.push(reply("r4"), no_title, &mut parts);
        outline.pass_over(TurnStep::Prompt, &mut parts);
        outline.push(reply("r5"), no_title, &mut parts);
        outline.push(result("gone"), no_title, &mut parts);
        outline.push(reply("r6"), no_title, &mut parts);
        assert_eq!(outline.take_left_out(), [Kind::Reply; 2]);
        outline.end(no_title, &mut parts);
        let nodes_of = |part| match part {
            DocumentPart::Node(node) => vec![node],
            DocumentPart::Answer(answer) => answer.nodes,
            DocumentPart::Notices(_) | DocumentPart::Enter(_) | DocumentPart::Leave => Vec::new(),
        };
        let ids: Vec<_> =
            parts.into_iter().flat_map(nodes_of).map(|node| node.entry.id.to_string()).collect();
        assert_eq!(ids.join(" "), "r2 r3 o1 r4 gone/result r6");
    }
}
