//! Prints a screen that shows every block, to look at a theme: `cargo run --example screen -- dark 80`.
//!
//! Arguments: a theme (or `text`, `roles`), a width (0 for none), `unicode`, `ascii` or `words`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a program, not the library: it has arguments and prints"
)]

use streamfmt_core::entry::{Block, DiffLine, Entry, Hunk, Line, LineChange, ListItem, Point, View};
use streamfmt_core::item::Kind;
use streamfmt_core::outline::{Node, Relation};
use streamfmt_core::profile::Layout;
use streamfmt_core::text::Text;
use streamfmt_core::theme::{Appearance, ColorDepth, Glyphs, Theme};
use streamfmt_core::writer::Writer;
use streamfmt_writers::terminal::{Look, Paint, Terminal};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "dark".to_owned());
    let width = arguments.next().and_then(|width| width.parse().ok()).unwrap_or(80);
    let glyphs = match arguments.next().as_deref() {
        Some("ascii") => Glyphs::Ascii,
        Some("words") => Glyphs::Words,
        _ => Glyphs::Unicode,
    };
    let depth = match arguments.next().as_deref() {
        Some("16") => ColorDepth::Ansi16,
        Some("256") => ColorDepth::Ansi256,
        Some("none") => ColorDepth::None,
        _ => ColorDepth::TrueColor,
    };
    let paint = match name.as_str() {
        "text" => Paint::Plain,
        "roles" => Paint::Roles,
        name => Paint::Ansi {
            theme: Theme::builtin(name, Appearance::Dark).unwrap_or_default(),
            depth,
            hyperlinks: false,
        },
    };
    let mut writer = Terminal::new(Look {
        markdown: matches!(paint, Paint::Ansi { .. }),
        paint,
        width: (width > 0).then_some(width),
        layout: Layout { glyphs, ..Layout::default() },
        timestamps: None,
        dates: None,
        hang: 0,
        text_end: None,
    });
    let mut out = String::new();
    for node in nodes() {
        writer.node(&node, &mut out).expect("a string takes all");
    }
    print!("{out}");
}

fn entry(kind: Kind, view: View) -> Node {
    Entry::new("id", kind, view).into()
}

fn inside(depth: u16, node: Node) -> Node {
    Node { entry: Box::new(Entry { depth, ..*node.entry }), ..node }
}

fn apart(call: &Line, node: Node) -> Node {
    Node { relation: Relation::Apart(call.clone()), ..node }
}

fn prose(kind: Kind, text: &str) -> Node {
    let role = match kind {
        Kind::Prompt => "prompt",
        Kind::Thinking => "thinking",
        _ => "reply",
    };
    entry(kind, View::of(vec![Block::prose(role, text)]))
}

fn call(tool: &'static str, argument: &str, body: Vec<Block>) -> Node {
    let title = Line::of("tool.name", tool).with("call.arg", argument);
    entry(Kind::Call, View { body, ..View::titled("call", title) })
}

fn result(mark: &'static str, title: Line, body: Vec<Block>) -> Node {
    Node { relation: Relation::Below, ..entry(Kind::Result, View { body, ..View::titled(mark, title) }) }
}

fn nodes() -> Vec<Node> {
    let line = |change, text| DiffLine { change, text };
    let hunk = Hunk {
        old_start: Some(39),
        new_start: Some(39),
        lines: [
            line(LineChange::Keep, "fn total(items: &[Item]) -> Money {"),
            line(LineChange::Keep, "    let mut sum = Money::ZERO;"),
            line(LineChange::Remove, "    let total = items.iter().map(|item| item.price).sum();"),
            line(LineChange::Add, "    let total: Money = items.iter().map(|item| item.net_price).sum();"),
            line(LineChange::Add, ""),
            line(LineChange::Add, "    // Rounded once, at the end."),
            line(LineChange::Keep, "    total"),
        ]
        .into_iter()
        .collect(),
    };
    let far = Hunk {
        old_start: Some(102),
        new_start: Some(104),
        lines: [line(LineChange::Remove, "old();")].into_iter().collect(),
    };
    let session = Line::of("session.model", "claude-opus-4-5").with("session", "· ~/shop-api · 0123abcd");
    let grep = Line::of("tool.name", "Grep").with("call.arg", "\"total\\(\" in src/");
    let point = |point, text| ListItem { point, line: Line::of("text", text) };
    vec![
        entry(Kind::Notice, View::titled("session", session)),
        prose(Kind::Prompt, "fix the cart tests\nand tell me what was wrong"),
        prose(
            Kind::Thinking,
            "The total is computed before the discount. I should look at the failing test first.",
        ),
        prose(Kind::Reply, "I'll look at the failing test first."),
        call("Read", "src/cart.rs", vec![]),
        call(
            "Bash",
            "Run the cart tests",
            vec![Block::text("call.command", "cargo test -p cart \\\n  --all-features")],
        ),
        result(
            "error",
            Line::of("result.error", "exit 101"),
            vec![
                Block::text(
                    "result.text",
                    "thread 'cart::total' panicked at src/cart.rs:41:\nassertion `left == right` failed",
                ),
                Block::Elided { lines: 1028, bytes: 40_000 },
            ],
        ),
        call("Edit", "src/cart.rs", vec![Block::Diff { path: None, hunks: vec![hunk, far] }]),
        result("ok", Line::of("result.ok", "42 passed").with("muted", "in 1.2s"), vec![]),
        call("Task", "Explore · find other callers of total()", vec![]),
        inside(1, entry(Kind::Call, View::titled("call", grep.clone()))),
        inside(
            1,
            prose(
                Kind::Reply,
                "Three callers **outside** the cart, all of them in the checkout, which reads the total twice and caches the second one.",
            ),
        ),
        inside(1, call("Bash", "wc -l src/checkout.rs", vec![])),
        apart(
            &grep,
            result(
                "ok",
                Line::of("result.ok", "7 files"),
                vec![Block::text("result.text", "src/checkout.rs\nsrc/invoice.rs")],
            ),
        ),
        entry(
            Kind::Plan,
            View {
                body: vec![Block::List {
                    items: vec![
                        point(Point::Done, "Read the failing test"),
                        point(Point::Active, "Fixing the rounding"),
                        point(Point::Open, "Run everything again"),
                        point(Point::Failed, "Ask for a review"),
                    ],
                }],
                ..View::titled("plan", Line::of("plan", "Plan").with("muted", "1 of 4"))
            },
        ),
        entry(
            Kind::Notice,
            View::titled("warning", Line::of("notice.warning", "rate limited, retrying in 3 s (2 of 10)")),
        ),
        call(
            "Write",
            "assets/cart.svg",
            vec![Block::Image {
                media: Text::clean("image/svg+xml"),
                bytes: Some(12_345),
                name: Some(Text::clean("cart.svg")),
                picture: None,
            }],
        ),
        prose(Kind::Reply, MARKDOWN),
        entry(
            Kind::Outcome,
            View {
                body: vec![Block::Table {
                    head: vec![
                        Line::of("text", "model"),
                        Line::of("text", "tokens"),
                        Line::of("text", "cost"),
                    ],
                    rows: vec![
                        vec![
                            Line::of("text", "opus"),
                            Line::of("text", "123,456"),
                            Line::of("text", "$0.30"),
                        ],
                        vec![Line::of("text", "haiku"), Line::of("text", "1,234"), Line::of("text", "$0.01")],
                    ],
                }],
                ..View::titled(
                    "outcome-ok",
                    Line::of("outcome.ok", "done").with("outcome", "· 12 turns · 1m 42s · $0.31"),
                )
            },
        ),
    ]
}

const MARKDOWN: &str = r#"## What was wrong

The total was summed from `item.price`, which is **before** the discount; the test expects the *net* price. See
[the ticket](https://example.com/tickets/42) and <https://example.com>.

1. `total()` now uses `net_price`
2. Rounding happens once:
   - in `Money::round`
   - never in the loop, which is where the cents were lost one after the other, order by order
3. Nothing else

- [x] tests
- [ ] changelog

```rust
/// Sums what the customer pays.
fn total(items: &[Item]) -> Money {
    let sum: i64 = items.iter().map(|item| item.net_price).sum();
    Money::new(sum, "EUR") // rounded once
}
```

| file | lines | what changed |
|------|------:|--------------|
| `src/cart.rs` | 12 | sums net prices and rounds at the very end, so that no cent is lost on the way |
| `src/money.rs` | 3 | a comment |

> Prices are in cents.
> Always.

---

Done: ~~price~~ net price.
"#;
