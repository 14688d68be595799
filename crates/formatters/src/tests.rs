//! Cases: an item, and its expected view.
//!
//! A view is written as its mark, its title, and its blocks, indented. The roles of blocks of text are included, those of
//! spans aren't.

mod calls;
mod laws;
mod results;

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use crate::standard::Standard;
use streamfmt_core::budget::Budget;
use streamfmt_core::entry::{Block, Line, LineChange, Point, View};
use streamfmt_core::event::Event;
use streamfmt_core::formatter::{Formatter, Verdict};
use streamfmt_core::item::{Content, FactList, Id, Item, Kind};
use streamfmt_core::json::{Record, Value};
use streamfmt_core::profile::Detail;
use streamfmt_core::session::{Facts, Session};
use streamfmt_core::text::Text;
use streamfmt_dialects::{DIALECTS, add_wrapped_facts, fact, set_action, set_tool};

/// Parses an item: `{"kind", "tool", "action", "input", "text", "error", "facts": {…}}`.
fn item(json: &str) -> Item {
    let record =
        Record::from_line(json.to_owned()).unwrap_or_else(|(damage, _)| panic!("{json}: {damage:?}"));
    let root = record.root();
    let string = |key: &str| root.get(key).and_then(Value::decode).map(Cow::into_owned);
    let kind = string("kind").unwrap();
    let kind = kind.parse().unwrap();
    let mut item = Item::new(if kind == Kind::Result { "c/result" } else { "c" }, kind, 7);
    item.tool = string("tool").map(Arc::from);
    if let Some(name) = &item.tool.clone() {
        set_tool(&mut item, name);
        item.data = FactList::default();
    }
    if let Some(name) = string("action") {
        let action = name.parse().unwrap();
        set_action(&mut item, action);
    }
    item.input = root.get("input").map(Value::node);
    item.text = root.get("text").map_or(Content::None, |text| Content::Node(text.node()));
    item.error = root.get("error").is_some();
    item.call = (kind == Kind::Result).then(|| Id::from("c"));
    let facts: Vec<(String, u32)> = root
        .get("facts")
        .map(|facts| facts.entries().map(|(key, value)| (key.decode().into_owned(), value.node())).collect())
        .unwrap_or_default();
    for (name, node) in facts {
        item.data.push(fact(String::leak(name), node));
    }
    item.record = Some(record);
    if kind == Kind::Result {
        add_wrapped_facts(&mut item);
    }
    item
}

fn session(call: Option<&str>) -> Session {
    let facts = Facts { cwd: Some(Text::clean("/home/dev/shop")), ..Facts::default() };
    let mut session = Session::new(Budget::default());
    session.apply(Event::Facts(Box::new(facts)), |_, _| {});
    if let Some(call) = call {
        session.apply(Event::Put(Box::new(item(call))), |_, _| {});
    }
    session
}

fn formatted(detail: Detail, call: Option<&str>, json: &str) -> String {
    match Standard::new(detail).format(&item(json), &session(call)) {
        Ok(Verdict::Show(view)) => shown(&view),
        Ok(other) => format!("{other:?}\n"),
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn shown(view: &View) -> String {
    let mut out = String::new();
    if let Some(mark) = view.mark {
        write!(out, "<{mark}> ").unwrap();
    }
    writeln!(out, "{}", line(&view.title)).unwrap();
    for block in &view.body {
        blocks(block, &mut out);
    }
    out
}

fn line(line: &Line) -> String {
    line.text().to_owned()
}

fn blocks(block: &Block, out: &mut String) {
    let mut add = |text: &str| writeln!(out, "  {text}").unwrap();
    match block {
        Block::Lines { lines } => lines.iter().for_each(|each| add(&line(each))),
        Block::Prose { text, role } => {
            text.lines().for_each(|each| add(&format!("({}) {each}", role.name())));
        }
        Block::Code { text, lang, start, role } => {
            let lang = lang.as_deref().map(|lang| format!(" {lang}")).unwrap_or_default();
            let start = start.map(|start| format!(" @{start}")).unwrap_or_default();
            text.lines().for_each(|each| add(&format!("[{}{lang}{start}] {each}", role.name())));
        }
        Block::Diff { path, hunks } => {
            add(&format!("diff {}", path.as_deref().unwrap_or("-")));
            for hunk in hunks {
                if let (Some(old), Some(new)) = (hunk.old_start, hunk.new_start) {
                    add(&format!("@ {old} {new}"));
                }
                for line in hunk.lines.iter() {
                    let mark = match line.change {
                        LineChange::Keep => ' ',
                        LineChange::Add => '+',
                        LineChange::Remove => '-',
                    };
                    add(&format!("{mark}{}", line.text));
                }
            }
        }
        Block::List { items } => {
            for item in items {
                let mark = match item.point {
                    Point::Plain => '-',
                    Point::Open => 'o',
                    Point::Active => '>',
                    Point::Done => 'x',
                    Point::Failed => '!',
                };
                add(&format!("{mark} {}", line(&item.line)));
            }
        }
        Block::Image { media, bytes, .. } => add(&format!("image {} {bytes:?}", &**media)),
        Block::Elided { lines, bytes } => add(&format!("… {lines} lines, {bytes} bytes")),
        Block::Table { .. } | Block::Details { .. } => unreachable!("none is made"),
    }
}

fn check(detail: Detail, cases: &[(&str, &str)]) {
    for (json, expected) in cases {
        assert_eq!(formatted(detail, None, json), *expected, "{detail:?} {json}");
    }
}

fn check_result(detail: Detail, call: &str, cases: &[(&str, &str)]) {
    for (json, expected) in cases {
        assert_eq!(formatted(detail, Some(call), json), *expected, "{detail:?} {json}");
    }
}

#[test]
fn messages_and_thinking() {
    check(
        Detail::Compact,
        &[
            (r#"{"kind":"reply","text":"Hi **there**"}"#, "\n  (reply) Hi **there**\n"),
            (r#"{"kind":"prompt","text":"Do"}"#, "<prompt> \n  (prompt) Do\n"),
            (r#"{"kind":"thinking","text":"Hm"}"#, "Hide\n"),
            (r#"{"kind":"unknown","text":"npm warn","facts":{"raw":true}}"#, "\n  [unknown] npm warn\n"),
            (
                r#"{"kind":"plan","facts":{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress","active":"doing b"},{"content":"c","status":"weird"}]}}"#,
                "<plan> Plan 1 of 3 done\n  x a\n  > b\n  o c (weird)\n",
            ),
            (
                r#"{"kind":"plan","text":"Tests first.","facts":{"todos":[{"content":"a","status":"completed"}]}}"#,
                "<plan> Plan 1 of 1 done\n  (plan) Tests first.\n  x a\n",
            ),
            (
                r#"{"kind":"plan","facts":{"todos":[{"text":"a","completed":true},{"text":"b","completed":false},{"step":"c","status":"pending"}]}}"#,
                "<plan> Plan 1 of 3 done\n  x a\n  o b\n  o c\n",
            ),
        ],
    );
    check(
        Detail::Full,
        &[
            (r#"{"kind":"thinking","text":"Hm"}"#, "<thinking> \n  (thinking) Hm\n"),
            (
                r#"{"kind":"thinking","facts":{"redacted":true}}"#,
                "<thinking> thinking, not shown by the model\n",
            ),
        ],
    );
}

#[test]
fn notices_and_outcomes() {
    check(
        Detail::Compact,
        &[
            (
                r#"{"kind":"notice","facts":{"event":"session","model":"opus","cwd":"/home/dev/shop-api"}}"#,
                "<session> opus · ~/shop-api\n",
            ),
            (r#"{"kind":"notice","text":"x","facts":{"event":"hook","minor":true}}"#, "Hide\n"),
            (
                r#"{"kind":"notice","facts":{"event":"retry","attempt":1,"of":10,"delay_ms":500,"status":529,"level":"warning"}}"#,
                "<warning> trying again (1 of 10) in 500ms · 529\n",
            ),
            (
                r#"{"kind":"notice","text":"Something new","facts":{"event":"brand_new"}}"#,
                "<notice> Something new\n",
            ),
            (r#"{"kind":"notice","facts":{"event":"brand_new"}}"#, "<notice> brand new\n"),
            (
                r#"{"kind":"notice","text":"torn","facts":{"event":"damaged","level":"error","incomplete":true}}"#,
                "<error> line 7: incomplete record · torn\n",
            ),
            (
                r#"{"kind":"outcome","text":"Hi","facts":{"turns":12,"cost_usd":0.3123,"duration_ms":102000,"repeated":true}}"#,
                "<outcome-ok> done · 12 turns · 1m 42s · $0.31\n",
            ),
            (
                r#"{"kind":"outcome","text":"Hi","facts":{"turns":"12","cost_usd":"x"}}"#,
                "<outcome-ok> done\n  (reply) Hi\n",
            ),
            (
                r#"{"kind":"outcome","facts":{"usage":{"input":12000,"output":345,"cache_read":9000}}}"#,
                "<outcome-ok> done · 12k tokens\n",
            ),
            (
                r#"{"kind":"notice","facts":{"event":"totals","duration_ms":1000,"usage":{"input":800,"output":12}}}"#,
                "<totals> 1.0s · 812 tokens\n",
            ),
            (
                r#"{"kind":"outcome","facts":{"cost_usd":0.5,"usage":{"input":12000}}}"#,
                "<outcome-ok> done · $0.50\n",
            ),
            (
                r#"{"kind":"outcome","facts":{"cost_usd":0.06611500000000001,"turn":{"cost_usd":0.066115}}}"#,
                "<outcome-ok> done · $0.0661\n",
            ),
            (
                r#"{"kind":"outcome","facts":{"usage":{"input":12400},"turn":{"usage":{"input":12300}}}}"#,
                "<outcome-ok> done · 12k tokens\n",
            ),
            (
                r#"{"kind":"outcome","facts":{"turns":2,"cost_usd":0.5,"turn":{"cost_usd":0.25},"failed_calls":3,"denials":[{}]}}"#,
                "<outcome-ok> done · 2 turns so far · $0.25 · $0.50 so far · 3 calls failed, 1 of them denied\n",
            ),
            (
                r#"{"kind":"outcome","error":1,"facts":{"subtype":"error_max_turns","cause":"turns","errors":["Reached maximum"],"denials":[{"tool":"Bash"}]}}"#,
                "<outcome-error> stopped: too many turns · 1 denied\n  Reached maximum\n",
            ),
        ],
    );
    check(
        Detail::Full,
        &[
            (
                r#"{"kind":"notice","text":"x","facts":{"event":"hook","name":"Stop","minor":true}}"#,
                "<notice> hook Stop · x\n",
            ),
            (
                r#"{"kind":"outcome","facts":{"usage":{"input":1200,"output":3},"models":{"opus":{"input":1,"cost_usd":0.5}}}}"#,
                "<outcome-ok> done\n  tokens 1,200 in · 3 out\n  opus 1 in · $0.50\n",
            ),
        ],
    );
}
