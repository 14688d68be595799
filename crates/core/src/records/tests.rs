//! Trees, checks and instructions, with schemas made for these tests.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;
use serde_json::Value;

use super::tree::TreeLimits;
use super::*;
use crate::item::Id;
use crate::json::Record;

fn kind(
    name: &str,
    id: Option<&str>,
    parent: Option<(&str, Option<&str>)>,
    fields: &[&str],
    order: u32,
) -> RecordType {
    let field = |name: &&str| RecordField {
        name: name.trim_end_matches('?').to_owned(),
        is_required: !name.ends_with('?'),
        example: "\"x\"".to_owned(),
    };
    RecordType {
        name: name.to_owned(),
        about: String::new(),
        id: id.map(str::to_owned),
        parent: parent
            .map(|(kind, field)| RecordParent { kind: kind.to_owned(), field: field.map(str::to_owned) }),
        label: "name".to_owned(),
        text: None,
        fields: fields.iter().map(field).collect(),
        order,
    }
}

/// A plan with lists and tasks.
fn plan() -> Arc<RecordSchema> {
    Arc::new(RecordSchema {
        name: "plan".to_owned(),
        about: String::new(),
        end: Some("complete".to_owned()),
        types: vec![
            kind("project", None, None, &["name"], 1),
            kind("list", Some("id"), Some(("project", None)), &["id", "name"], 2),
            kind("task", Some("id"), Some(("list", Some("list"))), &["id", "list", "name"], 3),
            kind("step", None, Some(("task", Some("task"))), &["task", "name"], 3),
        ],
    })
}

/// Nodes below nodes.
fn nodes() -> Arc<RecordSchema> {
    let types = vec![kind("node", Some("id"), Some(("node", Some("up"))), &["id", "name", "up?"], 1)];
    Arc::new(RecordSchema { name: "nodes".to_owned(), about: String::new(), end: None, types })
}

fn add(tree: &mut RecordTree, number: usize, line: &str) -> Result<PlacedRecord, RecordMisfit> {
    let record = Record::from_line(line.to_owned()).map_err(|(damage, line)| format!("{damage:?}: {line}"));
    tree.add(&Id::from(format!("r-{number}").as_str()), number as u32, &record.expect("JSON"))
}

fn tree_of<'l>(schema: &Arc<RecordSchema>, lines: impl IntoIterator<Item = &'l str>) -> RecordTree {
    let mut tree = RecordTree::new(Arc::clone(schema));
    for (number, line) in lines.into_iter().enumerate() {
        let _ = add(&mut tree, number, line);
    }
    tree
}

/// The names in a tree, each indented by its level.
fn outline(tree: &RecordTree) -> Vec<String> {
    let name = |(number, level): (usize, u16)| {
        let record = &tree.node(number).expect("a node").record;
        let name =
            record.root().get("name").and_then(crate::json::Value::decode).unwrap_or_default().into_owned();
        format!("{}{name}", " ".repeat(level.into()))
    };
    tree.walk().map(name).collect()
}

/// The tree with siblings in sorted order.
fn sorted(json: &Value) -> Value {
    let mut list: Vec<Value> = json.as_array().into_iter().flatten().cloned().collect();
    for node in &mut list {
        if let Some(children) = node.get("children") {
            node["children"] = sorted(children);
        }
    }
    list.sort_by_key(Value::to_string);
    list.into()
}

const PLAN: [&str; 8] = [
    r#"{"type":"project","name":"P"}"#,
    r#"{"type":"list","id":"l-1","name":"L1"}"#,
    r#"{"type":"list","id":"l-2","name":"L2"}"#,
    r#"{"type":"task","id":"t-1","list":"l-1","name":"T1"}"#,
    r#"{"type":"step","task":"t-1","name":"S1"}"#,
    r#"{"type":"step","task":"t-1","name":"S2"}"#,
    r#"{"type":"task","id":2,"list":"l-2","name":"T2"}"#,
    r#"{"type":"step","task":2,"name":"S3"}"#,
];

#[test]
fn a_tree_nests_as_its_records_say() {
    let tree = tree_of(&plan(), PLAN);
    assert_eq!(outline(&tree), ["P", " L1", "  T1", "   S1", "   S2", " L2", "  T2", "   S3"]);
    assert_eq!(tree.orphans(), 0);
    let json: Value = serde_json::from_str(&tree.json()).expect("JSON");
    assert_eq!(json[0]["children"][1]["children"][0]["children"][0]["record"]["name"], "S3");
    assert_eq!(json[0]["children"][0]["children"][0]["children"].as_array().map(Vec::len), Some(2));
}

#[test]
fn records_without_ids_below_the_only_parent_are_separate_nodes() {
    let types =
        vec![kind("dish", None, None, &["name"], 1), kind("step", None, Some(("dish", None)), &["name"], 2)];
    let recipe = RecordSchema { name: "recipe".to_owned(), about: String::new(), end: None, types };
    let lines = [
        r#"{"type":"dish","name":"Soup"}"#,
        r#"{"type":"step","name":"Chop"}"#,
        r#"{"type":"step","name":"Fry"}"#,
    ];
    flaws(&Arc::new(recipe.clone()), &lines.join("\n"), &[]);
    assert_eq!(outline(&tree_of(&Arc::new(recipe), lines)), ["Soup", " Chop", " Fry"]);
}

#[test]
fn a_record_that_comes_again_updates_its_node() {
    let again =
        [r#"{"type":"task","id":"t-1","list":"l-2","name":"T1b"}"#, r#"{"type":"project","name":"Q"}"#];
    let mut tree = tree_of(&plan(), PLAN.into_iter().chain(again));
    assert_eq!(outline(&tree), ["Q", " L1", " L2", "  T2", "   S3", "  T1b", "   S1", "   S2"]);
    let updated = tree.walk().filter(|(node, _)| tree.node(*node).is_some_and(|node| node.updates > 0));
    assert_eq!(updated.count(), 2);
    tree.take_changed();
    assert_eq!(add(&mut tree, 20, again[1]), Ok(PlacedRecord::Again));
    assert_eq!(tree.take_changed(), [(0, 0)], "an update changes one node");
}

#[test]
fn beyond_the_limits_of_a_tree_records_are_refused_with_the_reason() {
    let line = r#"{"type":"project","name":"P"}"#;
    let refused = Err(RecordMisfit::Wrong("the tree is too large for more".to_owned()));
    // A record that replaces another counts as well: otherwise one node could take any time.
    let mut tree = RecordTree::within(TreeLimits { nodes: 9, bytes: 2 * line.len() }, plan());
    assert_eq!(add(&mut tree, 0, line), Ok(PlacedRecord::Node));
    assert_eq!(add(&mut tree, 1, line), Ok(PlacedRecord::Again));
    assert_eq!(add(&mut tree, 2, line), refused);
    let mut tree = RecordTree::within(TreeLimits { nodes: 1, bytes: 9 * line.len() }, plan());
    assert_eq!(add(&mut tree, 0, line), Ok(PlacedRecord::Node));
    assert_eq!(add(&mut tree, 1, r#"{"type":"list","id":"l","name":"L"}"#), refused);
    assert_eq!(outline(&tree), ["P"], "what came before stays");
}

#[test]
fn a_record_that_is_too_long_is_refused_with_the_reason() {
    let long = |bytes: usize| {
        let (start, end) = (r#"{"type":"project","name":""#, r#""}"#);
        format!("{start}{}{end}", "x".repeat(bytes - start.len() - end.len()))
    };
    let mut tree = RecordTree::new(plan());
    let refused = Err(RecordMisfit::Wrong("it is longer than 1024 KiB".to_owned()));
    assert_eq!(add(&mut tree, 0, &long(MAX_RECORD + 1)), refused);
    assert_eq!(add(&mut tree, 1, &long(MAX_RECORD)), Ok(PlacedRecord::Node));
}

#[test]
fn orphans_are_at_the_end_and_counted_until_their_parent_comes() {
    let mut tree = tree_of(&plan(), PLAN.into_iter().rev().filter(|line| *line != PLAN[2]));
    assert_eq!(tree.orphans(), 1);
    assert_eq!(outline(&tree).last().map(String::as_str), Some(" S3"));
    let shown = tree.take_changed();
    let level = |node: usize| tree.node(node).and_then(|node| node.level);
    assert!(shown.iter().all(|(node, shown)| level(*node) == Some(*shown)), "{shown:?}");
    assert_eq!(add(&mut tree, 9, PLAN[2]), Ok(PlacedRecord::Node));
    assert_eq!((tree.orphans(), tree.take_changed().len()), (0, 3));
}

#[test]
fn an_end_is_taken_once_and_not_before_a_node() {
    let mut tree = RecordTree::new(plan());
    assert!(matches!(add(&mut tree, 0, r#"{"type":"complete"}"#), Err(RecordMisfit::Wrong(_))));
    assert_eq!(add(&mut tree, 1, PLAN[0]), Ok(PlacedRecord::Node));
    assert_eq!(add(&mut tree, 2, r#"{"type":"complete"}"#), Ok(PlacedRecord::End));
    assert!(tree.is_complete());
    assert!(matches!(add(&mut tree, 3, r#"{"type":"complete"}"#), Err(RecordMisfit::Wrong(_))));
    assert_eq!(add(&mut tree, 4, r#"{"type":"weather"}"#), Err(RecordMisfit::Foreign));
    assert_eq!(add(&mut tree, 5, "[1]"), Err(RecordMisfit::Foreign));
}

#[test]
fn nodes_that_name_each_other_have_no_place() {
    let node = |id: &str, up: &str| format!(r#"{{"type":"node","id":"{id}","name":"{id}","up":"{up}"}}"#);
    let top = r#"{"type":"node","id":"top","name":"top"}"#;
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]] {
        let next = HashMap::from([("a", "b"), ("b", "c"), ("c", "a")]);
        let lines: Vec<String> = order.iter().map(|id| node(id, next[id])).collect();
        let lines = lines.iter().map(String::as_str).chain([top]);
        let mut tree = tree_of(&nodes(), lines);
        assert_eq!((tree.orphans(), tree.take_changed().len()), (1, 1), "{:?}", outline(&tree));
        assert_eq!(outline(&tree).len(), 4, "{:?}", outline(&tree));
        serde_json::from_str::<Value>(&tree.json()).expect("JSON");
    }
    let mut tree = tree_of(&nodes(), [top, &node("a", "top"), &node("b", "a")]);
    assert_eq!(
        add(&mut tree, 3, &node("a", "b")),
        Err(RecordMisfit::Wrong("its parent is below it".to_owned()))
    );
    assert!(matches!(add(&mut tree, 4, &node("d", "d")), Err(RecordMisfit::Wrong(_))));
    assert_eq!(outline(&tree), ["top", " a", "  b"]);
}

#[test]
fn the_nodes_around_the_last_are_found() {
    let tree = tree_of(&plan(), PLAN.into_iter().take(5));
    assert_eq!(tree.around_last(9, 5), [(0, false), (1, false), (3, false), (4, false), (2, false)]);
    assert_eq!(tree.around_last(2, 5), [(0, true), (1, false), (3, false), (4, false), (2, false)]);
    assert_eq!(tree.around_last(9, 0), [(0, false), (1, false), (3, false), (4, true)]);
    assert_eq!(tree.around_last(0, 0), [(0, true), (4, true)]);
    assert_eq!(RecordTree::new(plan()).around_last(1, 1), []);
}

/// Were any step quadratic, this would take minutes.
#[test]
fn a_large_tree_is_made_and_walked() {
    const COUNT: usize = 100_000;
    let task = |number: usize| match number % 50 {
        _ if number == 0 => PLAN[0].to_owned(),
        1 => format!(r#"{{"type":"list","id":"l-{number}","name":"L"}}"#),
        rest => {
            format!(r#"{{"type":"task","id":"t-{number}","list":"l-{}","name":"T"}}"#, number + 1 - rest)
        }
    };
    let mut tree = RecordTree::new(plan());
    for number in 0..COUNT {
        add(&mut tree, number, &task(number)).expect("a node");
        if number % 1_000 == 0 {
            tree.take_changed();
            tree.around_last(20, 20);
        }
    }
    assert_eq!((tree.orphans(), tree.walk().count()), (0, COUNT));
    serde_json::from_str::<serde::de::IgnoredAny>(&tree.json()).expect("JSON");
}

#[track_caller]
fn flaws(schema: &RecordSchema, text: &str, expected: &[(u64, &str)]) {
    let found: Vec<(u64, String)> =
        check(schema, text).into_iter().map(|flaw| (flaw.line, flaw.reason)).collect();
    let found: Vec<(u64, &str)> = found.iter().map(|(line, reason)| (*line, reason.as_str())).collect();
    assert_eq!(found, expected, "{text}");
}

/// Checks that the plan with `line` after its first `before` lines has this flaw.
#[track_caller]
fn flaw(before: usize, line: &str, expected: &str) {
    let text = format!("Prose.\n{}\n{line}\n{{\"type\":\"complete\"}}", PLAN[..before].join("\n"));
    flaws(&plan(), &text, &[(before as u64 + 2, expected)]);
}

#[test]
fn each_kind_of_flaw_is_found_at_its_line() {
    flaws(&plan(), &format!("Prose.\n\n{}\n{{\"type\":\"complete\"}}\nMore.", PLAN.join("\nand\n")), &[]);
    for (before, line, expected) in [
        (4, r#"{"type":"task","list":"l-1","name":"T"}"#, "task needs `id`"),
        (4, r#"{"type":"task","id":"t","List":"l-1","name":"T"}"#, "task needs `list`, but has `List`"),
        (4, r#"{"type":"task","id":"t","list":"l-1","name":null}"#, "task needs `name`"),
        (4, r#"{"type":"task","id":[],"list":"l-1","name":"T"}"#, "`id` of task must be a text"),
        (4, r#"{"type":"task","id":"","list":"l-1","name":"T"}"#, "`id` of task is empty"),
        (4, r#"{"type":"task","id":"t","list":"l-9","name":"T"}"#, "no list \"l-9\" comes before it"),
        (4, r#"{"type":"task","id":"t-1","list":"l-1","name":"T"}"#, "task \"t-1\" is in line 5 already"),
        (4, r#"{"type":"list","id":"l-3","name":"L"}"#, "list belongs before any task"),
        (
            7,
            r#"{"type":"task","id":"t","list":"l-1","name":"T"}"#,
            "task belongs next to the others of list \"l-1\"",
        ),
        (4, r#"{"type":"project","name":"Q"}"#, "there is a project already"),
        (1, r#"{"type":"tsak","name":"T"}"#, "unknown type \"tsak\" (did you mean \"task\"?)"),
        (
            1,
            r#"{"type":"weather"}"#,
            "unknown type \"weather\" (one of: project, list, task, step, complete)",
        ),
        (1, r#"{"kind":"task"}"#, "the record has no type that is a text"),
        (1, r#"{"type":7}"#, "the record has no type that is a text"),
        (1, "{", "the object doesn't end on its line"),
        (1, r#"{"type":"list","id":"l","#, "the object doesn't end on its line"),
        (1, r#"{"type":"list","id":"l","name":"L",}"#, "trailing comma before column 36"),
        (1, r#"{"type":"list","id":"l","name":["L",]}"#, "trailing comma before column 37"),
        (1, "{'type':'list'}", "JSON has other quotes than that in column 2 (expected \")"),
        (1, r#"{"type":"list"} {"type":"list"}"#, "more than one object: it goes on in column 17"),
        (1, r#"{"type":"list"},"#, "more than one object: it goes on in column 16"),
        (1, r#"{"type":list}"#, "invalid JSON from column 9"),
    ] {
        flaw(before, line, expected);
    }
    let long = format!(r#"{{"type":"{}"}}"#, "é".repeat(500));
    let quoted =
        format!("unknown type \"{}\"… (one of: project, list, task, step, complete)", "é".repeat(60));
    flaw(1, &long, &quoted);
    flaw(1, &format!("{{\"type\":\"{}\"}}", "x".repeat(MAX_RECORD)), "longer than 1024 KiB");
}

#[test]
fn ends_and_records_after_them_are_checked() {
    let end = r#"{"type":"complete"}"#;
    flaws(&plan(), "Prose alone.", &[(2, "there is no record")]);
    flaws(&plan(), PLAN[0], &[(2, "there is no complete at the end")]);
    flaws(&plan(), end, &[(1, "there is nothing that complete could end")]);
    flaws(&plan(), PLAN[1], &[(1, "no project comes before it"), (2, "there is no complete at the end")]);
    let two = [PLAN[0], PLAN[1], end, PLAN[0], PLAN[1], end];
    flaws(&plan(), &two.join("\n"), &[]);
    let late = [PLAN[0], end, PLAN[1], PLAN[2]];
    flaws(&plan(), &late.join("\n"), &[(3, "list comes after complete"), (4, "list comes after complete")]);
    flaws(&plan(), &[PLAN[0], end, end].join("\n"), &[(3, "there is nothing that complete could end")]);
    // A record may refer to one with a flaw.
    let nameless = [PLAN[0], r#"{"type":"list","id":"l-1"}"#, PLAN[3], end];
    flaws(&plan(), &nameless.join("\n"), &[(2, "list needs `name`")]);
    let top = r#"{"type":"node","id":"a","name":"A"}"#;
    flaws(&nodes(), &[top, r#"{"type":"node","id":"b","name":"B","up":"a"}"#].join("\n"), &[]);
    flaws(&nodes(), r#"{"type":"node","id":"b","name":"B","up":"b"}"#, &[(1, "this node is its own parent")]);
}

/// Lines that may be records: of known and unknown types, with ids that others refer to, cut anywhere.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let types = select(vec!["project", "list", "task", "step", "node", "complete", "other"]);
    let id = || select(vec!["\"a\"", "\"b\"", "\"c\"", "1", "\"\"", "null", "[]", "\"\\ud800\""]);
    let record = (types, id(), id(), any::<bool>()).prop_map(|(kind, id, parent, has_parent)| {
        let parents = format!(r#","list":{parent},"task":{parent},"up":{parent}"#);
        let parents = if has_parent { parents.as_str() } else { "" };
        format!(r#"{{"type":"{kind}","id":{id},"name":{id}{parents}}}"#)
    });
    let cut = (record.clone(), any::<usize>(), any::<String>())
        .prop_map(|(record, at, more)| record[..at % (record.len() + 1)].to_owned() + &more);
    vec(
        proptest::prop_oneof![6 => record, 1 => cut, 1 => any::<String>(), 1 => Just("{".repeat(2_000))],
        0..60,
    )
}

proptest! {
    #[test]
    fn no_lines_make_the_check_or_a_tree_panic(lines in lines()) {
        for schema in [plan(), nodes()] {
            let text = lines.join("\n");
            let flaws = check(&schema, &text);
            prop_assert!(flaws.len() <= text.lines().count() + 1);
            let mut tree = RecordTree::new(schema);
            let mut nodes = 0;
            for (number, line) in lines.iter().enumerate() {
                let Ok(record) = Record::from_line(line.clone()) else { continue };
                let is_new = !tree.is_complete();
                let placed = tree.add(&Id::from(format!("r-{number}").as_str()), number as u32, &record);
                nodes += usize::from(is_new && placed == Ok(PlacedRecord::Node));
                tree.around_last(3, 3);
                tree.take_changed();
            }
            prop_assert!(tree.walk().count() <= lines.len() && nodes <= lines.len());
            // Every node appears once, in the tree or below one that waits.
            let mut walked: Vec<usize> = tree.walk().map(|(node, _)| node).collect();
            walked.sort_unstable();
            let all: Vec<usize> = (0..=lines.len()).take_while(|node| tree.node(*node).is_some()).collect();
            prop_assert_eq!(walked, all);
            prop_assert!(Record::from_line(tree.json()).is_ok(), "{}", tree.json());
        }
    }

    #[test]
    fn any_order_of_records_makes_the_same_tree(order in Just(PLAN.to_vec()).prop_shuffle()) {
        let wanted: Value = serde_json::from_str(&tree_of(&plan(), PLAN).json()).expect("JSON");
        let tree = tree_of(&plan(), order);
        prop_assert_eq!(tree.orphans(), 0);
        let found: Value = serde_json::from_str(&tree.json()).expect("JSON");
        prop_assert_eq!(sorted(&found), sorted(&wanted));
    }

    #[test]
    fn a_tree_accepts_all_records_that_the_check_accepts(lines in lines()) {
        for schema in [plan(), nodes()] {
            let flawed: Vec<u64> = check(&schema, &lines.join("\n")).iter().map(|flaw| flaw.line).collect();
            if !flawed.is_empty() || lines.iter().any(|line| line.contains('\n')) {
                continue;
            }
            let mut tree = RecordTree::new(Arc::clone(&schema));
            for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.trim().starts_with('{')) {
                if tree.is_complete() {
                    tree = RecordTree::new(Arc::clone(&schema));
                }
                prop_assert!(add(&mut tree, number, line.trim()).is_ok(), "{line}");
                prop_assert_eq!(tree.orphans(), 0);
            }
        }
    }
}
