//! What an embedder adds in Rust takes part as what comes with the program does.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use streamfmt::core::dialect::{Decoder, Input};
use streamfmt::core::entry::{Block, Line, View};
use streamfmt::core::event::Event;
use streamfmt::core::formatter::{FormatError, Formatter, Verdict};
use streamfmt::core::item::{Content, Item, Kind};
use streamfmt::core::json::Record;
use streamfmt::core::outline::Node;
use streamfmt::core::profile::Ci;
use streamfmt::core::session::Session;
use streamfmt::core::theme::ColorDepth;
use streamfmt::core::writer::Writer;
use streamfmt::{Builder, Engine, Looks};

/// Says one thing of all calls of a tool.
struct Says {
    tool: &'static str,
    what: &'static str,
}

impl Formatter for Says {
    fn name(&self) -> &'static str {
        "says"
    }

    fn format(&self, item: &Item, _: &Session) -> Result<Verdict, FormatError> {
        if item.kind != Kind::Call || item.tool.as_deref() != Some(self.tool) {
            return Ok(Verdict::Pass);
        }
        let title = Line::of("call.arg", self.what);
        Ok(Verdict::Show(View { title, ..View::default() }))
    }
}

/// Numbers the titles of entries.
#[derive(Default)]
struct Numbers(usize);

impl Writer for Numbers {
    fn node(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result {
        node.entries().filter(|entry| !entry.view.title.is_empty()).try_for_each(|entry| {
            self.0 += 1;
            let title: String = entry.view.title.spans.iter().map(|span| span.text.as_str()).collect();
            writeln!(out, "{} {title}", self.0)
        })
    }
}

/// Writes replies, and nothing around them.
struct Replies;

impl Writer for Replies {
    fn node(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result {
        node.entries().flat_map(|entry| &entry.view.body).try_for_each(|block| match block {
            Block::Prose { text, .. } => writeln!(out, "{text}"),
            _ => Ok(()),
        })
    }
}

/// Lines such as `{"acme":"text"}`.
struct Acme;

impl Decoder for Acme {
    fn weigh(&mut self, first: &[Arc<Record>]) -> f64 {
        f64::from(u8::from(first.iter().any(|record| record.root().get("acme").is_some())))
    }

    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let Some(text) = input.value.get("acme").and_then(streamfmt::core::json::Value::decode) else {
            return;
        };
        let mut item = Item::new(format!("line-{}", input.line), Kind::Reply, input.line);
        item.text = Content::Own(text.into_owned());
        out.push(Event::Put(Box::new(item)));
    }

    fn end(&mut self, _: &mut Vec<Event>) {}
}

const THEME: &str = "extends = \"dark\"\n[roles]\n\"mark.outcome-ok\" = \"#123456\"\n";

/// One of each.
fn builder() -> Builder {
    Engine::builder()
        .add_formatter(|| Says { tool: "Bash", what: "in a shell" })
        .add_formatter(|| Says { tool: "Bash", what: "is not asked" })
        .add_formatter(|| Says { tool: "Read", what: "reads" })
        .add_writer("numbers", Numbers::default)
        .add_dialect("acme", || Acme)
        .add_theme("calm", THEME)
}

fn sample() -> Vec<u8> {
    fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl")).unwrap()
}

fn text_of(engine: &Engine, bytes: &[u8]) -> String {
    let mut text = String::new();
    engine.format(bytes, &mut text).unwrap();
    text
}

#[test]
fn formatters_are_asked_in_order_before_rules_and_the_built_in_one() {
    let engine = builder().writer("text").set("tool.Bash.label=sh").build().unwrap();
    let (with, without) = (text_of(&engine, &sample()), Engine::builder().writer("text").build().unwrap());
    assert!(with.contains("  in a shell\n") && with.contains("  reads\n"), "{with}");
    assert!(!with.contains("is not asked") && !with.contains("● Read ") && !with.contains("● sh "), "{with}");
    // Of what no formatter speaks everything is as before.
    assert!(with.contains("● Edit src/cart.rs") && text_of(&without, &sample()).contains("● Bash "));
}

#[test]
fn a_writer_is_chosen_by_its_name_and_each_pipeline_has_its_own() {
    let engine = builder().writer("numbers").build().unwrap();
    let text = text_of(&engine, &sample());
    assert!(text.starts_with("1 ") && text.contains("\n2 ") && text.contains(" in a shell\n"), "{text}");
    assert_eq!(text_of(&engine, &sample()), text);
    let by_profile = builder().set("writer=numbers").build().unwrap();
    assert_eq!(text_of(&by_profile, &sample()), text);
    assert_eq!(engine.plugin_writer(), Some(("numbers", "txt")));
}

#[test]
fn a_dialect_is_claimed_by_its_lines_or_chosen_by_its_name() {
    let lines = b"{\"acme\":\"Hello\"}\n{\"acme\":\"Goodbye\"}\n";
    for builder in [builder(), builder().dialect("acme")] {
        let engine = builder.writer("text").build().unwrap();
        assert_eq!(text_of(&engine, lines), "  Hello\n\n  Goodbye\n");
    }
    // Others stay what they are.
    let engine = builder().writer("text").build().unwrap();
    assert!(text_of(&engine, &sample()).contains("● Edit "));
}

#[test]
fn a_writer_gives_a_log_of_ci_no_commands_of_others() {
    let line = r#"{"acme":"x"}"#.replace('x', "::error::forged");
    let engine = |ci: Ci| {
        let looks = Looks { ci, ..Looks::default() };
        Engine::builder()
            .add_dialect("acme", || Acme)
            .add_writer("replies", || Replies)
            .writer("replies")
            .looks(looks)
    };
    assert_eq!(text_of(&engine(Ci::None).build().unwrap(), line.as_bytes()), "::error::forged\n");
    let text = text_of(&engine(Ci::Github).build().unwrap(), line.as_bytes());
    assert!(text.contains("error") && !text.contains("::error::"), "{text:?}");
}

#[cfg(feature = "lua")]
#[test]
fn a_dialect_of_the_embedder_goes_before_that_of_a_plugin() {
    let source =
        "sf.dialect('acme', { parse = function() return sf.item.reply({ text = 'of the plugin' }) end })";
    let pack = streamfmt::plugin::pack::Pack::from_source("acme.lua", source);
    let engine = builder().pack(pack).dialect("acme").writer("text").build().unwrap();
    assert_eq!(text_of(&engine, b"{\"acme\":\"Hello\"}\n"), "  Hello\n");
}

#[test]
fn a_theme_is_found_by_its_name() {
    let looks = Looks { color: Some(ColorDepth::TrueColor), ..Looks::default() };
    for builder in [builder().theme("calm"), builder().set("theme=calm")] {
        let engine = builder.looks(looks.clone()).build().unwrap();
        let text = text_of(&engine, &sample());
        assert!(text.contains("\u{1b}[38;2;18;52;86m✓"), "{text:?}");
        assert!(engine.themes().list().iter().any(|theme| theme.name == "calm"));
    }
    let wrong = Engine::builder()
        .add_theme("odd", "[roles]\ntext = \"blurple\"\n")
        .theme("odd")
        .looks(looks)
        .build()
        .unwrap();
    assert!(wrong.warnings().to_string().starts_with("theme odd:2:8: "), "{}", wrong.warnings());
}

#[test]
fn a_name_that_is_taken_is_an_error() {
    let told = |builder: Builder| builder.build().map(|_| ()).unwrap_err().to_string();
    let taken = "this name is already taken";
    assert_eq!(told(builder().add_writer("text", Numbers::default)), format!("writer text: {taken}"));
    assert_eq!(told(builder().add_writer("numbers", Numbers::default)), format!("writer numbers: {taken}"));
    assert_eq!(told(builder().add_dialect("claude", || Acme)), format!("dialect claude: {taken}"));
    assert!(told(builder().writer("nmubers")).contains("did you mean \"numbers\"?"));
    assert!(told(builder().dialect("acne")).contains("did you mean \"acme\"?"));
}

#[test]
fn further_outputs_have_formatters_of_their_own() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let engine = Engine::builder()
        .add_formatter(move || {
            count.fetch_add(1, Ordering::Relaxed);
            Says { tool: "Bash", what: "in a shell" }
        })
        .build()
        .unwrap();
    let mut setup = engine.setup();
    setup.also.push(engine.sink(|_| std::ops::ControlFlow::Continue(())));
    assert_eq!(made.load(Ordering::Relaxed), 2);
}
