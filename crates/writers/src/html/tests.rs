//! The page as HTML: the places of entries, its policy, and that no text of the stream becomes an element.

use data_encoding::BASE64;
use sha2::{Digest, Sha256};

use super::*;
use streamfmt_core::entry::{DiffLine, Hunk, LineChange, ListItem, Point, View};
use streamfmt_core::item::Action;
use streamfmt_core::outline::{Outline, OutlineOptions};
use streamfmt_core::text::Text;
use streamfmt_core::theme::Color;

fn entry(id: &str, kind: Kind, view: View) -> Entry {
    Entry::new(id, kind, view)
}

fn entry_of(kind: Kind, id: &str, text: &str) -> Entry {
    entry(id, kind, View::of(vec![Block::prose("reply", text)]))
}

fn call(id: &str, tool: &str) -> Entry {
    let tool = Text::clean(tool);
    Entry {
        tool: Some(tool.clone()),
        ..entry(id, Kind::Call, View::titled("call", Line::of("tool.name", tool)))
    }
}

fn result(call: &str, body: Vec<Block>) -> Entry {
    Entry { call: Some(call.into()), ..entry(&format!("{call}/result"), Kind::Result, View::of(body)) }
}

/// Returns the page of some entries, without its style and script.
fn page(entries: &[Entry]) -> String {
    let mut writer = Html::new(PageOptions { fold: Some(12), ..PageOptions::default() });
    let mut page = String::new();
    let options =
        OutlineOptions { pairs: true, nests: true, answer: true, notices: true, ..OutlineOptions::default() };
    let mut outline = Outline::new(options);
    let mut parts = Vec::new();
    for entry in entries {
        outline.push(entry.clone(), &mut |_| None, &mut parts);
    }
    outline.end(&mut |_| None, &mut parts);
    for part in &parts {
        part.write(&mut writer, &mut page).unwrap();
    }
    writer.end(&mut page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    page.replace(STYLE, "").replace(SCRIPT, "")
}

/// Returns the part of a page between two texts.
fn between<'p>(page: &'p str, start: &str, end: &str) -> &'p str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start} in {page}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end} in {rest}")).0
}

/// Returns the hash of a text for a policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(&Sha256::digest(text)))
}

#[test]
fn the_policy_allows_only_the_style_and_script_of_the_page() {
    assert_eq!(
        (hash(STYLE).as_str(), hash(SCRIPT).as_str()),
        (STYLE_HASH, SCRIPT_HASH),
        "say these in html.rs"
    );
    assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !STYLE.contains("url("));
}

#[test]
fn a_link_contains_no_other_and_its_inner_address_is_not_lost() {
    for (markdown, links) in [
        ("[a](https://one.example)", &["https://one.example"][..]),
        ("[![a](https://two.example)](https://one.example)", &["https://one.example"]),
        ("![a [b](https://two.example)](https://one.example)", &["https://one.example"]),
        (
            "[a](https://one.example) [b](https://two.example)",
            &["https://one.example", "https://two.example"],
        ),
    ] {
        let page = page(&[entry_of(Kind::Reply, "r", markdown)]);
        let shown = between(&page, "<div class=\"md\">", "</div>");
        let found: Vec<_> =
            shown.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(found, links, "{markdown}: {shown}");
        assert_eq!(shown.matches("</a>").count(), links.len(), "{markdown}: {shown}");
        assert_eq!(shown.contains("two.example"), markdown.contains("two.example"), "{markdown}: {shown}");
    }
}

#[test]
fn nested_elements_end_at_a_depth_and_each_that_begins_ends() {
    for (mark, tags) in [("- ", ["ul", "li"]), ("> - ", ["ul", "blockquote"])] {
        // The text is searched for the marks of the deepest levels as well.
        let page =
            page(&[entry_of(Kind::Reply, "r", &format!("{}innermost", mark.repeat(120 / mark.len())))]);
        let shown = between(&page, "<div class=\"md\">", "</div>");
        let mut depth: i32 = 0;
        let mut deepest = 0;
        for part in shown.split('<').skip(1) {
            depth += if part.starts_with('/') { -1 } else { 1 };
            assert!(depth >= 0, "{shown}");
            deepest = deepest.max(depth);
        }
        assert_eq!(depth, 0, "{shown}");
        assert!((80..=98).contains(&deepest), "{mark}: {deepest}");
        for tag in tags {
            assert!(shown.contains(&format!("<{tag}>")), "{shown}");
        }
        assert!(shown.contains("innermost"), "{shown}");
    }
}

#[test]
fn a_result_is_inside_its_call_also_when_calls_were_made_together() {
    let page = page(&[
        call("a", "Read"),
        call("b", "Grep"),
        result("b", vec![Block::text("result.text", "found")]),
        result("a", vec![Block::text("result.text", "contents")]),
    ]);
    let first = between(&page, "data-tool=\"Read\"", "data-tool=\"Grep\"");
    assert!(first.contains("contents") && !first.contains("found"), "{first}");
    assert!(between(&page, "data-tool=\"Grep\"", "</section>").contains("found"));
}

#[test]
fn a_result_after_the_end_of_its_turn_is_shown_separately() {
    let page = page(&[
        call("a", "Bash"),
        entry_of(Kind::Outcome, "o", "waiting"),
        entry_of(Kind::Prompt, "p", "go on"),
        result("a", vec![Block::text("result.text", "at last")]),
    ]);
    let order = ["data-tool=\"Bash\"", "waiting", "go on", "at last"].map(|text| page.find(text));
    assert!(order.is_sorted() && order[0].is_some(), "{order:?}");
}

#[test]
fn the_last_replies_are_the_answer_and_nowhere_else() {
    let outcome = entry("o", Kind::Outcome, View::titled("outcome-ok", Line::of("outcome.ok", "done")));
    let page = page(&[
        entry_of(Kind::Reply, "m1", "first"),
        call("a", "Bash"),
        entry_of(Kind::Reply, "m2", "last"),
        outcome,
    ]);
    let answer = between(&page, "<section id=\"answer\"", "</section>");
    assert!(answer.contains("last") && answer.contains("done") && !answer.contains("first"));
    assert_eq!(page.matches("<p>last</p>").count(), 1);
    assert!(between(&page, "<section id=\"activity\"", "</section>").contains("first"));
}

#[test]
fn steps_of_a_sub_agent_are_folded_inside_its_call() {
    let inside = |entry: Entry| Entry { parent: Some("t".into()), depth: 1, ..entry };
    let task = Entry { action: Some(Action::Delegate), ..call("t", "Task") };
    let page = page(&[
        task,
        inside(call("a", "Grep")),
        call("b", "Bash"),
        inside(entry_of(Kind::Reply, "m", "found")),
        result("t", vec![Block::prose("result.answer", "in two files")]),
    ]);
    let (fold, after) = page.split_once("</div></details>\n").unwrap();
    let mut at = fold.find("<details class=\"inside\">").unwrap();
    for part in
        ["Task", "data-kind=\"call\" data-tool=\"Task\"", "data-tool=\"Grep\"", "found", "in two files"]
    {
        at += fold[at..].find(part).unwrap_or_else(|| panic!("no {part} in {fold}"));
    }
    assert!(after.contains("data-tool=\"Bash\"") && !after.contains("data-tool=\"Task\""), "{after}");
}

#[test]
fn a_turn_that_others_follow_is_a_rule() {
    let done = |id: &str, role: &'static str, word: &'static str, mark| {
        let title = Line::of(role, word).with("outcome.note", "·").with("outcome.figure", "2 turns");
        let title = title.with("outcome.note", "·").with("outcome.figure", "$0.03");
        entry(id, Kind::Outcome, View::titled(mark, title))
    };
    let page = page(&[
        done("o", "outcome.ok", "done", "outcome-ok"),
        done("p", "outcome.error", "failed", "outcome-error"),
        done("q", "outcome.ok", "done", "outcome-ok"),
    ]);
    let rules: Vec<_> =
        page.split("outcome turn").skip(1).map(|rule| rule.split("</p>").next().unwrap()).collect();
    assert!(rules.len() == 2 && rules.iter().all(|rule| !rule.contains("turns")), "{page}");
    assert!(rules[0].contains("turn 1</span> <span class=\"dim\">·</span> $0.03"), "{}", rules[0]);
    assert!(
        rules[1].contains("turn 2</span><span class=\"dim\"> · </span><span class=\"bad\">failed"),
        "{}",
        rules[1]
    );
}

#[test]
fn no_text_of_the_stream_becomes_an_element() {
    let bad = "</noscript></NoScript ></script></title><img src=x onerror=alert(1)>\"'<svg/onload=x>&#60;b>";
    let line = Line::of("tool.name", bad);
    let hunk = Hunk {
        old_start: None,
        new_start: None,
        lines: [DiffLine { change: LineChange::Add, text: bad }].into_iter().collect(),
    };
    let body = vec![
        Block::prose(
            "reply",
            format!("{bad} [x](javascript:alert(1)) ![y](http://a.b/c.png) <b>\n\n<iframe>\n"),
        ),
        Block::text("result.text", bad),
        Block::Code { text: bad.into(), lang: Some(bad.into()), start: Some(1), role: "x".into() },
        Block::Diff { path: Some(bad.into()), hunks: vec![hunk] },
        Block::List { items: vec![ListItem { point: Point::Open, line: line.clone() }] },
        Block::Table { head: vec![line.clone()], rows: vec![vec![line.clone()]] },
        Block::Image { media: bad.into(), bytes: None, name: Some(bad.into()), picture: None },
        Block::Details { summary: line.clone(), body: vec![] },
    ];
    let mut odd = entry(bad, Kind::Call, View { body, ..View::titled("call", line) });
    odd.tool = Some(bad.into());
    let page = page(&[odd]);
    for element in ["<img", "<svg/", "<iframe", "<b>", "javascript:alert(1)\"", "onerror=alert(1)>"] {
        assert!(!page.contains(element), "{element} in {page}");
    }
    assert!(page.contains("href=\"http://a.b/c.png\""));
    // Folded content is text up to its end tag: no text may contain one, or begin another.
    let page = page.to_lowercase();
    assert_eq!((page.matches("<noscript").count(), page.matches("</noscript").count()), (1, 1));
}

#[test]
fn folded_content_is_readable_without_scripts() {
    let page = page(&[
        call("a", "Read"),
        result("a", vec![Block::text("result.text", "contents")]),
        entry_of(Kind::Thinking, "short", "Look at `it`."),
        entry_of(Kind::Thinking, "long", "Look at it.\n\nThen at the rest."),
    ]);
    let folded: Vec<_> =
        page.split("<noscript>").skip(1).map(|rest| rest.split_once("</noscript>").unwrap().0).collect();
    assert_eq!(folded.len(), 2, "{page}");
    assert!(folded[0].contains("contents") && folded[1].contains("the rest"), "{folded:?}");
    assert!(page.contains("<div class=\"t\"><div class=\"md\"><p>Look at <code>it</code>."), "{page}");
}

#[test]
fn a_long_page_is_split_into_complete_chunks() {
    let calls = |range: std::ops::Range<usize>| -> Vec<_> {
        range.map(|number| call(&number.to_string(), "Read")).collect()
    };
    assert!(!page(&calls(0..chunks::CHUNK)).contains("class=\"chunk\""));
    let page = page(&calls(0..2 * chunks::CHUNK + 1));
    let parts: Vec<_> = page.split("<div class=\"chunk\">\n").collect();
    let entries: Vec<_> = parts.iter().map(|part| part.matches("class=\"e call\"").count()).collect();
    assert_eq!(entries, [chunks::CHUNK, chunks::CHUNK, 1]);
    assert!(
        parts[1].ends_with("</div>\n</div>\n") && parts[2].contains("</div>\n</div>\n<p id=\"none\""),
        "{}",
        parts[2]
    );
}

#[test]
fn line_feeds_of_the_user_are_kept_and_others_follow_markdown() {
    let page = page(&[
        entry("p", Kind::Prompt, View::of(vec![Block::prose("prompt", "one\ntwo")])),
        entry_of(Kind::Reply, "m", "three\nfour"),
    ]);
    assert!(page.contains("one<br>two") && page.contains("three\nfour"), "{page}");
}

#[test]
fn a_row_has_the_beginning_of_a_command_and_of_the_arguments_of_a_foreign_tool() {
    let text = Text::own("\nmake all\nmake install");
    let mut run = Entry { action: Some(Action::Run), ..call("a", "Bash") };
    run.view.title.push("call.arg", Text::own("Build it"));
    run.view.body = vec![Block::Code { text, lang: None, start: None, role: "call.command".into() }];
    let mut foreign = Entry { action: Some(Action::Mcp), ..call("b", "stock") };
    let lines = ["sku: tea", "count: 2"].map(|field| Line::of("call.key", field)).into();
    foreign.view.body = vec![Block::Lines { lines }];
    let page = page(&[run, foreign]);
    let described =
        "<span class=\"t said\"><span class=\"tool\">Bash</span> <span class=\"arg\">Build it</span>";
    assert!(page.contains(&format!("{described} <span class=\"more\">make all</span>")), "{page}");
    assert!(page.contains("<span class=\"more\">sku: tea, count: 2</span>"), "{page}");
}

/// Returns a colour of a scheme of the page, by its name.
fn colour(scheme: &str, name: &str) -> Color {
    let (_, rest) = scheme.split_once(&format!("--{name}: ")).unwrap_or_else(|| panic!("no colour {name}"));
    let (spelled, _) = rest.split_once(';').unwrap();
    Color::parse(spelled).unwrap_or_else(|| panic!("{name}: {spelled}"))
}

#[test]
fn text_is_readable_on_every_background_that_it_may_have() {
    let (light, dark) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let words = ["text", "dim", "faint", "accent", "bad", "warn", "good", "k", "s", "c", "n", "f", "ty", "v"];
    for (scheme, source) in [("light", light), ("dark", dark)] {
        let check = |word: &str, ground: &str| {
            let contrast = colour(source, word).contrast(colour(source, ground)).unwrap();
            assert!(contrast >= 4.5, "{scheme}: {word} on {ground}: {contrast:.2}");
        };
        for word in words {
            for ground in ["bg", "card", "code", "ins", "del", "sel"] {
                check(word, ground);
            }
        }
        // Changed words aren't highlighted.
        for ground in ["ins-word", "del-word"] {
            check("text", ground);
        }
    }
}

#[test]
fn an_anchor_depends_on_the_id() {
    assert_eq!(page::anchor("toolu_1"), page::anchor("toolu_1"));
    assert_eq!(page::anchor(""), "e-cbf29ce484222325");
}

#[test]
fn an_empty_page_is_complete() {
    let page = page(&[]);
    assert!(page.contains("<h1>Agent session</h1>") && !page.contains("<section id=\"answer\""));
}

#[test]
fn raw_lines_share_blocks_of_a_limited_length_and_each_is_there_once() {
    for (lines, blocks) in [(3, &[3][..]), (1_000, &[1_000]), (2_002, &[1_000, 1_000, 2])] {
        let line = |number| View::of(vec![Block::text("raw", format!("line {number}.").as_str())]);
        let entries = (0..lines).map(|number| entry(&format!("l-{number}"), Kind::Unknown, line(number)));
        let page = page(&entries.collect::<Vec<_>>());
        let shown = page.split("<pre tabindex=\"0\"><code>").skip(1);
        let shown: Vec<Vec<&str>> =
            shown.map(|block| between(block, "", "</code></pre>").lines().collect()).collect();
        assert_eq!(shown.iter().map(Vec::len).collect::<Vec<_>>(), blocks);
        let expected: Vec<_> = (0..lines).map(|number| format!("line {number}.")).collect();
        assert_eq!(shown.concat(), expected);
    }
}
