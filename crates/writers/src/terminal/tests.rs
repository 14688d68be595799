//! The output of each block, and the laws that hold for every text and width.

use proptest::prelude::*;

use super::*;
use streamfmt_core::entry::{DiffLine, Hunk, LineChange, ListItem, Point};
use streamfmt_core::theme::{Appearance, ThemeSource};

fn entry(kind: Kind, view: View) -> Entry {
    Entry::new("id", kind, view)
}

fn call(argument: &str) -> Entry {
    entry(Kind::Call, View::titled("call", Line::of("tool.name", "Bash").with("call.arg", argument)))
}

fn prose(kind: Kind, text: &str) -> Entry {
    entry(kind, View::of(vec![Block::prose("reply", text)]))
}

fn body(blocks: Vec<Block>) -> Entry {
    entry(Kind::Notice, View::of(blocks))
}

fn written<N: Into<Node>>(look: Look, nodes: impl IntoIterator<Item = N>) -> String {
    let mut writer = Terminal::new(look);
    let mut out = String::new();
    for node in nodes {
        writer.node(&node.into(), &mut out).expect("a string takes all");
    }
    writer.end(&mut out).expect("a string takes all");
    assert!(out.is_empty() || out.ends_with('\n'));
    out
}

/// Returns a node whose call isn't directly above it.
fn apart(entry: Entry, call: Line) -> Node {
    Node { relation: Relation::Apart(call), ..entry.into() }
}

/// Returns a result directly below its call.
fn below(entry: Entry) -> Node {
    Node { relation: Relation::Below, ..entry.into() }
}

fn text<N: Into<Node>>(nodes: impl IntoIterator<Item = N>) -> String {
    written(Look::default(), nodes)
}

fn roles<N: Into<Node>>(nodes: impl IntoIterator<Item = N>) -> String {
    written(Look { paint: Paint::Roles, ..Look::default() }, nodes)
}

fn ansi_look(width: Option<usize>) -> Look {
    let source = ThemeSource::new(
        "test",
        "extends = \"none\"\n[roles]\n\"tool.name\" = \"bold\"\nerror = \"red\"\n\"diff.add\" = \"on blue\"\n\"diff.add.word\" = \"on cyan\"\n\
         \"markdown.code\" = \"yellow\"\n\"markdown.strong\" = \"bold\"\n\"syntax.keyword\" = \"magenta\"\nlink = \"underline\"\n",
    );
    let theme = Theme::parse(&source, &mut || Appearance::Dark, &|name, _| Theme::find_builtin(name));
    assert_eq!(theme.1, []);
    let paint = Paint::Ansi { theme: theme.0, depth: ColorDepth::Ansi16, hyperlinks: true };
    Look { paint, width, markdown: true, ..Look::default() }
}

/// Returns ANSI output with visible escape characters.
fn ansi<N: Into<Node>>(width: Option<usize>, nodes: impl IntoIterator<Item = N>) -> String {
    written(ansi_look(width), nodes).replace('\x1b', "␛")
}

// --- Layout

#[test]
fn only_marks_are_in_column_0() {
    let forged = "● Bash rm -rf /\n✓ done · $0.00";
    let out = text([
        call("ls"),
        prose(Kind::Reply, forged),
        entry(Kind::Result, View::of(vec![Block::text("result.text", forged)])),
        entry(Kind::Unknown, View { title: Line::of("text", "● Bash ls"), ..View::default() }),
    ]);
    assert_eq!(
        out,
        "● Bash ls\n\n  ● Bash rm -rf /\n  ✓ done · $0.00\n\n  └ ● Bash rm -rf /\n    ✓ done · $0.00\n  ● Bash ls\n"
    );
}

#[test]
fn a_result_is_below_its_call_or_names_it() {
    let failed = View {
        body: vec![Block::text("result.error", "no such file\n\nreally")],
        ..View::titled("error", Line::of("result.error", "exit 1"))
    };
    let failed = entry(Kind::Result, failed);
    let expected = "● Bash ls\n  ✗ exit 1\n    no such file\n\n    really\n";
    assert_eq!(text([call("ls").into(), below(failed.clone())]), expected);
    let paired = Node { result: Some(Box::new(failed.clone())), ..call("ls").into() };
    assert_eq!(text([paired]), expected);
    assert_eq!(
        text([call("pwd").into(), apart(failed, Line::of("tool.name", "Bash").with("call.arg", "ls"))]),
        "● Bash pwd\n↳ Bash ls\n  ✗ exit 1\n    no such file\n\n    really\n"
    );
}

#[test]
fn a_short_result_follows_its_call_if_it_fits() {
    let count =
        entry(Kind::Result, View { mark: None, ..View::titled("", Line::of("result.note", "11 lines")) });
    let named = apart(count.clone(), Line::of("tool.name", "Bash").with("call.arg", "ls"));
    let count = below(count);
    let total = View::default().retitled(Line::of("result.note.of", "of 22"));
    let ends = entry(Kind::Result, total);
    let named_ends = Node { relation: named.relation.clone(), ..ends.clone().into() };
    let ends = below(ends);
    let call = |argument: &str| Node::from(call(argument));
    // Rows are kept open only in ANSI output. Here it has no colours, so that the text is readable.
    let paint = || {
        let theme = Theme::builtin("mono", Appearance::Dark).unwrap_or_default();
        Paint::Ansi { theme, depth: ColorDepth::None, hyperlinks: false }
    };
    let ansi = || Look { paint: paint(), ..Look::default() };
    let look = |width| Look { width: Some(width), ..ansi() };
    let timed = Look { timestamps: Some(TimeZone::UTC), ..ansi() };
    let worded = Look { layout: Layout { glyphs: Glyphs::Words, ..Layout::default() }, ..ansi() };
    let long = call("a command that fills the row");
    for (look, entries, expected) in [
        (Look::default(), vec![call("ls"), count.clone()], "● Bash ls\n  └ 11 lines\n"),
        (ansi(), vec![call("ls"), count.clone()], "● Bash ls · 11 lines\n"),
        (ansi(), vec![call("pwd"), named], "● Bash pwd\n↳ Bash ls · 11 lines\n"),
        (ansi(), vec![call("lines 1–4"), ends], "● Bash lines 1–4 of 22\n"),
        (ansi(), vec![call("pwd"), named_ends], "● Bash pwd\n↳ Bash ls of 22\n"),
        (ansi(), vec![call("ls")], "● Bash ls\n"),
        (look(20), vec![call("ls"), count.clone()], "● Bash ls · 11 lines\n"),
        (look(20), vec![call("lss"), count.clone()], "● Bash lss\n  └ 11 lines\n"),
        (look(36), vec![long, count.clone()], "● Bash a command that fills the row\n  └ 11 lines\n"),
        (timed, vec![call("ls"), count.clone()], "         ● Bash ls\n           └ 11 lines\n"),
        (worded, vec![call("ls"), count], "call: Bash ls\n  result: 11 lines\n"),
    ] {
        assert_eq!(strip(&written(look, entries)), expected);
    }
}

#[test]
fn gaps_are_between_prose_and_work_and_around_a_run() {
    let session = entry(Kind::Notice, View::titled("session", Line::of("session", "model")));
    let outcome = entry(Kind::Outcome, View::titled("outcome-ok", Line::of("outcome", "done")));
    assert_eq!(
        text([
            session,
            prose(Kind::Prompt, "go\non"),
            prose(Kind::Reply, "\n\nyes\n\n"),
            call("a"),
            call("b"),
            outcome
        ]),
        "◇ model\n\n› go\n  on\n\n  yes\n\n● Bash a\n● Bash b\n\n✓ done\n"
    );
}

#[test]
fn sub_agents_have_a_bar_on_every_row() {
    let inside = |entry: Entry| Entry { depth: 1, ..entry };
    assert_eq!(
        text([call("Task"), inside(call("a")), inside(prose(Kind::Reply, "one\n\ntwo")), call("b")]),
        "● Bash Task\n  │ ● Bash a\n  │\n  │   one\n  │\n  │   two\n\n● Bash b\n"
    );
    let deep = Entry { depth: u16::MAX, ..call("x") };
    assert!(text([deep]).len() < 200);
}

#[test]
fn a_sub_agent_is_named_before_its_first_row_whether_or_not_that_was_previewed() {
    let agent = |number| {
        let title = Line::of("tool.name", "Task").with("call.arg", format!("part {number}"));
        Some(Arc::new(Subagent { number, name: None, title, outer: None }))
    };
    let node = |number, title| {
        let entry = Entry { depth: 1, ..call(title) };
        Node { agent: agent(number), ..entry.into() }
    };
    let nodes = [node(1, "a"), node(1, "b"), node(2, "c")];
    for previewed in [0, 1, 3] {
        let mut writer = Terminal::new(Look::default());
        let (mut preview, mut out) = (String::new(), String::new());
        writer.preview(&nodes[..previewed], 9, &mut preview).unwrap();
        assert_eq!(preview.matches("Task part 1").count(), previewed.min(1), "{preview}");
        nodes.iter().try_for_each(|node| writer.node(node, &mut out)).unwrap();
        for part in ["Task part 1", "Task part 2"] {
            assert_eq!(out.matches(part).count(), 1, "{previewed} previewed: {out}");
        }
    }
}

#[test]
fn without_margin_and_gap_everything_is_flush() {
    let layout = Layout { gap: 0, margin: 0, glyphs: Glyphs::Unicode, ..Layout::default() };
    let result = entry(Kind::Result, View::of(vec![Block::text("result.text", "out")]));
    assert_eq!(
        written(
            Look { layout, ..Look::default() },
            [prose(Kind::Prompt, "go"), prose(Kind::Reply, "yes"), call("ls"), result]
        ),
        "go\nyes\n● Bash ls\nout\n"
    );
}

#[test]
fn words_replace_glyphs() {
    let layout = Layout { glyphs: Glyphs::Words, ..Layout::default() };
    let inside = Entry { depth: 1, ..call("b") };
    assert_eq!(
        written(Look { layout, ..Look::default() }, [prose(Kind::Reply, "one\ntwo"), call("a"), inside]),
        "reply: one\n  two\n\ncall: Bash a\n  call: Bash b\n"
    );
}

#[test]
fn times_have_a_separate_column() {
    let at = |entry: Entry| Entry { at: "2026-01-02T03:04:05Z".parse().ok(), ..entry };
    let look = Look { timestamps: Some(TimeZone::UTC), ..Look::default() };
    assert_eq!(
        written(look, [at(prose(Kind::Prompt, "go\n\non")), call("a"), at(call("b"))]),
        "03:04:05 › go\n\n           on\n\n         ● Bash a\n03:04:05 ● Bash b\n"
    );
}

#[test]
fn results_have_their_duration_after_the_title_where_times_are_shown() {
    let at = |entry: Entry| Entry { at: "2026-01-02T03:04:05Z".parse().ok(), ..entry };
    let took = |view: View| at(Entry { took: Some(3_400), ..entry(Kind::Result, view) });
    let titled = || took(View { title: Line::of("result.note", "2 lines"), ..View::default() });
    let untitled = || took(View::of(vec![Block::text("result.text", "fine")]));
    let look = Look { timestamps: Some(TimeZone::UTC), ..Look::default() };
    assert_eq!(
        written(look, [at(call("a")), titled(), at(call("b")), untitled()]),
        "03:04:05 ● Bash a\n03:04:05   └ 2 lines · 3.4s\n03:04:05 ● Bash b\n03:04:05   └ 3.4s\n             fine\n"
    );
    assert_eq!(text([call("a"), titled()]), "● Bash a\n  └ 2 lines\n");
}

#[test]
fn a_link_is_written_or_its_address_shown_after_a_call_too() {
    let link = |text: &str, url: &str| {
        let mut line = Line::of("link", text);
        line.link(url);
        line
    };
    let result = |line: Line| entry(Kind::Result, View { title: line, ..View::default() });
    let paint = |hyperlinks| {
        let theme = Theme::builtin("mono", Appearance::Dark).unwrap_or_default();
        Look { paint: Paint::Ansi { theme, depth: ColorDepth::None, hyperlinks }, ..Look::default() }
    };
    let entries = |text, url| [call("ls"), result(link(text, url))];
    let docs = entries("docs", "https://a.example/");
    assert_eq!(text(docs.clone()), "● Bash ls\n  └ docs (https://a.example/)\n");
    assert_eq!(strip(&written(paint(false), docs.clone())), "● Bash ls · docs (https://a.example/)\n");
    assert!(written(paint(true), docs).contains("\u{1b}]8;;https://a.example/"));
    for (shown, url) in [
        ("https://a.example/", "https://a.example/"),
        ("a@b.example", "mailto:a@b.example"),
        ("x", "javascript:x"),
    ] {
        assert_eq!(text(entries(shown, url)), format!("● Bash ls\n  └ {shown}\n"));
    }
}

#[test]
fn an_empty_entry_leaves_no_trace() {
    assert_eq!(
        text([call("a"), prose(Kind::Reply, " \n\n"), body(vec![]), call("b")]),
        "● Bash a\n● Bash b\n"
    );
    assert_eq!(text([entry(Kind::Notice, View { mark: Some("notice"), ..View::default() })]), "·\n");
}

// --- Blocks

#[test]
fn commands_have_a_prompt_and_numbered_code_a_gutter() {
    let numbered =
        Block::Code { text: "a\n\nb ".into(), lang: None, start: Some(9), role: "result.text".into() };
    assert_eq!(
        text([body(vec![Block::text("call.command", "a \\\n b"), numbered])]),
        "  $ a \\\n     b\n   9  a\n  10\n  11  b\n"
    );
}

#[test]
fn diffs_are_numbered_where_numbers_are_known() {
    let line = |change, text| DiffLine { change, text };
    let lines = [
        line(LineChange::Keep, "k"),
        line(LineChange::Remove, "old"),
        line(LineChange::Add, "new"),
        line(LineChange::Add, ""),
    ];
    let hunk = |start| Hunk { old_start: start, new_start: start, lines: lines.into_iter().collect() };
    let diff = |hunks| body(vec![Block::Diff { path: None, hunks }]);
    assert_eq!(text([diff(vec![hunk(None)])]), "    k\n  - old\n  + new\n  +\n");
    assert_eq!(
        text([diff(vec![hunk(Some(9)), hunk(Some(98))])]),
        "    9   k\n   10 - old\n   10 + new\n   11 +\n  ⋮\n   98   k\n   99 - old\n   99 + new\n  100 +\n"
    );
    assert_eq!(
        roles([diff(vec![hunk(Some(9))])]).lines().nth(2),
        Some("  <<diff.number::10>> <<diff.add::+ new>>")
    );
    let changed = [line(LineChange::Remove, "let a = one;"), line(LineChange::Add, "let a = two;")];
    assert_eq!(
        ansi(
            None,
            [diff(vec![Hunk { old_start: None, new_start: None, lines: changed.into_iter().collect() }])]
        ),
        "  - let a = one;\n  ␛[44m+ let a = ␛[0m␛[46mtwo␛[0m␛[44m;␛[0m\n"
    );
}

#[test]
fn lists_tables_images_and_elided_lines() {
    let point = |point, text: &str| ListItem { point, line: Line::of("text", text) };
    let cells = |cells: &[&str]| cells.iter().map(|cell| Line::of("text", *cell)).collect::<Vec<_>>();
    let blocks = vec![
        Block::List { items: vec![point(Point::Done, "a"), point(Point::Open, "b")] },
        Block::Table { head: cells(&["x", "y"]), rows: vec![cells(&["日本", "1"]), cells(&["a", "2"])] },
        Block::Image {
            media: "image/png".into(),
            bytes: Some(12_345),
            name: Some("a\nb.png".into()),
            picture: None,
        },
        Block::Elided { lines: 1, bytes: 9 },
        Block::Elided { lines: 2800, bytes: 9 },
        Block::Elided { lines: 0, bytes: 1234 },
    ];
    assert_eq!(
        text([body(blocks.clone())]),
        "  ✓ a\n  ☐ b\n  x     y\n  日本  1\n  a     2\n  [image png, 12.1 KB, a b.png]\n  … 1 more line\n  … 2,800 more lines\n  … 1.2 KB more\n"
    );
    let table = ansi(Some(40), [body(blocks[1..2].to_vec())]);
    assert_eq!(table, "  x    │ y\n  ─────┼──\n  日本 │ 1\n  a    │ 2\n");
}

#[test]
fn details_may_be_nested_to_any_depth() {
    let mut blocks = vec![Block::text("text", "core")];
    for _ in 0..10_000 {
        blocks = vec![Block::Details { summary: Line::of("muted", "more"), body: blocks }];
    }
    let node = Node::from(body(blocks));
    let mut out = String::new();
    Terminal::new(Look::default()).node(&node, &mut out).expect("a string takes all");
    assert!(out.starts_with("  more\n    more\n") && out.ends_with(" core\n"));
    // Dismantle it from the outside: dropping it would be recursive and overflow the stack.
    let mut blocks = node.entry.view.body;
    while let Some(Block::Details { body, .. }) = blocks.pop() {
        blocks = body;
    }
}

#[test]
fn roles_are_marked_and_what_looks_like_a_mark_is_not() {
    assert_eq!(
        roles([call("a <<b::c>> < d"), body(vec![Block::text("text", "x < y")])]),
        "<<mark.call::●>> <<tool.name::Bash>> <<call.arg::a <<<<b::c>> << d>>\n  x << y\n"
    );
}

// --- ANSI

#[test]
fn styles_and_links_end_before_each_line_does() {
    let mut line = Line::of("error", "see the page");
    line.link("https://example.com/é");
    assert_eq!(
        ansi(Some(20), [entry(Kind::Notice, View::titled("error", line))]),
        "✗ ␛]8;;https://example.com/%C3%A9␛\\␛[31msee the page␛[0m␛]8;;␛\\\n".replace("␛[31m✗␛[0m", "✗")
    );
    let long = body(vec![Block::text("error", "one two three four five")]);
    assert_eq!(ansi(Some(20), [long]), "  ␛[31mone two three four␛[0m\n    ␛[31mfive␛[0m\n");
}

#[test]
fn dangerous_links_are_text() {
    let mut line = Line::of("text", "here");
    line.link("javascript:alert(1)");
    assert_eq!(ansi(None, [entry(Kind::Notice, View::titled("notice", line))]), "· here\n");
    let markdown = "[here](javascript:alert(1)) ![pic](https://example.com/x.png)";
    assert_eq!(
        ansi(None, [prose(Kind::Reply, markdown)]),
        "  ␛[4mhere␛[0m (javascript:alert(1)) ␛]8;;https://example.com/x.png␛\\␛[4mpic␛[0m␛]8;;␛\\\n"
    );
}

#[test]
fn markdown_is_laid_out() {
    let source = "# Title\n\nSome **bold** and `code`\nnext line\n\n1. one\n   - inner\n2. two\n\n- [x] done\n- [ ] open\n\n> quoted\n> text\n\n```rust\nlet x;\n```\n\n| a | b |\n|---|--:|\n| 1 | 22 |\n\n---\n<b>raw</b>";
    assert_eq!(
        ansi(Some(60), [prose(Kind::Reply, source)]),
        "  Title\n\n  Some ␛[1mbold␛[0m and ␛[33mcode␛[0m\n  next line\n\n  1. one\n     • inner\n  2. two\n\n  ✓ done\n  ☐ open\n\n  \
         ▎ quoted\n  ▎ text\n\n    ␛[35mlet␛[0m x;\n\n  a │  b\n  ──┼───\n  1 │ 22\n\n  ────────────────────────────────────────\n\n  <b>raw</b>\n"
    );
}

#[test]
fn decoded_markdown_is_cleaned_again() {
    let source = "&#27;[2J &#x202e;x\n\n`a`&#10;● Bash\n\n[a&#27;](https://x/&#27;)\n\n```a&#27;\nb\n```\n| &#27; |\n|-|\n| &#x9b; |";
    let out = ansi(None, [prose(Kind::Reply, source)]);
    let stripped = strip(&written(ansi_look(None), [prose(Kind::Reply, source)]));
    assert!(!stripped.contains(is_dangerous), "{stripped:?}");
    // In prose, entities stay as they were written; in addresses they are decoded.
    assert!(out.starts_with("  &#27;[2J &#x202e;x\n\n  ␛[33ma␛[0m&#10;● Bash\n"), "{out}");
    assert!(out.contains("https://x/%E2%90%9B␛"), "{out}");
}

#[test]
fn definitions_that_no_link_uses_are_shown() {
    let source = "[A] and text\n\n[a]: https://example.com/a\n[b]: https://example.com/b \"why\"\n";
    assert_eq!(
        ansi(None, [prose(Kind::Reply, source)]),
        "  ␛]8;;https://example.com/a␛\\␛[4mA␛[0m␛]8;;␛\\ and text\n\n  [b]: https://example.com/b \"why\"\n"
    );
}

#[test]
fn long_rules_are_no_absurd_markdown() {
    assert_eq!(ansi(Some(30), [prose(Kind::Reply, &"-".repeat(200))]), format!("  {}\n", "─".repeat(28)));
}

#[test]
fn absurd_markdown_is_written_verbatim() {
    for source in ["> ".repeat(100), "- ".repeat(100), "1. ".repeat(100), "a ".repeat(200_000)] {
        assert_eq!(ansi(None, [prose(Kind::Reply, &source)]), format!("  {}\n", source.trim_end()));
    }
    for mark in ["[", "![", "*a", "_a ", "`a ", "<", "\\", "&", "| ", "[]("] {
        let source = mark.repeat(100_000 / mark.len());
        assert!(ansi(None, [prose(Kind::Reply, &source)]).len() >= source.len() / 2, "{mark}");
    }
}

// --- Laws

/// Whether a character controls the output, among those in these tests.
fn is_dangerous(ch: char) -> bool {
    ch.is_control() && !matches!(ch, '\n' | '\t') || ch == '\u{202e}'
}

/// Removes escape sequences.
fn strip(out: &str) -> String {
    let mut plain = String::new();
    let mut rest = out;
    while let Some((before, sequence)) = rest.split_once('\x1b') {
        plain.push_str(before);
        rest = if sequence.starts_with('[') {
            sequence.split_once('m').expect("a colour ends").1
        } else {
            sequence.split_once("\x1b\\").expect("a link ends").1
        };
    }
    plain + rest
}

fn foreign() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z]{1,12}",
        " {1,5}",
        Just("\n".to_owned()),
        Just("\t".to_owned()),
        "[日本語。のé👨\u{200d}\u{301}\u{1b}\u{202e}<>`*_#|-]{1,4}",
        "[a-z]{30,60}",
        Just("\n\n- ".to_owned()),
        Just("[x](https://example.com) ".to_owned()),
        Just("\n```rust\n".to_owned()),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

fn every_block(text: &str) -> Vec<Node> {
    let changes = [LineChange::Keep, LineChange::Remove, LineChange::Add].into_iter().cycle();
    let lines = changes.zip(text.lines()).map(|(change, text)| DiffLine { change, text }).collect();
    let line = Line::of("call.arg", text);
    vec![
        call(text).into(),
        body(vec![
            Block::Code {
                text: text.into(),
                lang: Some("rust".into()),
                start: Some(98),
                role: "result.text".into(),
            },
            Block::text("call.command", text),
            Block::Diff { path: None, hunks: vec![Hunk { old_start: Some(1), new_start: Some(2), lines }] },
            Block::List { items: vec![ListItem { point: Point::Active, line: line.clone() }] },
            Block::Table { head: vec![line.clone(); 2], rows: vec![vec![line.clone(); 2]; 2] },
            Block::Details { summary: line.clone(), body: vec![Block::text("error", text)] },
        ])
        .into(),
        Entry { depth: 2, ..prose(Kind::Prompt, text) }.into(),
        apart(entry(Kind::Result, View::of(vec![Block::text("result.text", text)])), line),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_row_is_wider_than_the_width(text in foreign(), width in 0usize..90, plain: bool) {
        let look = if plain { Look { width: Some(width), ..Look::default() } } else { ansi_look(Some(width)) };
        let out = strip(&written(look, every_block(&text)));
        for row in out.lines() {
            prop_assert!(wrap::width(row) <= width.max(MIN_WIDTH), "{row:?} at {width}");
        }
    }

    #[test]
    fn wrapping_changes_nothing_but_blanks(text in foreign(), width in 20usize..90) {
        let solid = |out: &str| out.split_whitespace().collect::<String>();
        let entries = [call(&text), body(vec![Block::text("error", &*text)])];
        let wide = written(Look::default(), entries.clone());
        let narrow = strip(&written(Look { markdown: false, ..ansi_look(Some(width)) }, entries));
        prop_assert_eq!(solid(&wide), solid(&narrow));
    }

    #[test]
    fn no_output_can_control_a_terminal(text in foreign(), width in prop::option::of(0usize..200)) {
        for look in [Look { width, ..Look::default() }, Look { width, paint: Paint::Roles, ..Look::default() }, ansi_look(width)] {
            let out = strip(&written(look, every_block(&text)));
            prop_assert!(!out.contains(is_dangerous), "{out:?}");
            prop_assert!(out.lines().all(|row| !row.ends_with([' ', '\t']) || width.is_some()));
        }
    }

    #[test]
    fn verbatim_text_is_unchanged(text in foreign()) {
        let cleaned = Text::clean(&text);
        let expected: String = cleaned.split('\n').map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
        prop_assert_eq!(super::tests::text([body(vec![Block::text("text", cleaned)])]), expected);
    }
}
