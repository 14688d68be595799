//! Several outputs of one session: each is the same as alone.

#![cfg(feature = "lua")]
#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "laws/recordings.rs"]
#[expect(dead_code, reason = "the laws use more of it")]
mod recordings;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use streamfmt::core::pipeline::{Output, OutputDecision, Pipeline, Report, Setup, Sink, StreamStart, Update};
use streamfmt::core::redact::Redaction;
use streamfmt::golden::pieces;
use streamfmt::plugin::source::PluginSource;
use streamfmt::{Engine, format_ahead};

use recordings::recordings;

/// Longer recordings are tried whole and line by line only.
const LONG: usize = 16 << 10;

/// The text of an output, shared with the pipeline.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<String>>);

impl Page {
    fn take(&self) -> impl FnMut(&str) -> ControlFlow<()> + Send + 'static {
        let text = Arc::clone(&self.0);
        move |piece| {
            text.lock().unwrap().push_str(piece);
            ControlFlow::Continue(())
        }
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

fn engine(writer: &str, profile: &str) -> Engine {
    Engine::builder().writer(writer).profile(profile).build().unwrap()
}

fn alone<'a>(engine: &Engine, pieces: impl IntoIterator<Item = &'a [u8]>) -> (String, Report) {
    let engine = engine.with_own_journal();
    let (mut pipeline, mut text) = (Pipeline::new(engine.setup()), String::new());
    pieces.into_iter().for_each(|piece| pipeline.push(piece, &mut text).unwrap());
    pipeline.finish(&mut text).unwrap();
    (text, pipeline.report().clone())
}

/// A pipeline with these outputs, the first as the main one, and the texts of the others.
fn together(engines: &[&Engine]) -> (Pipeline, Vec<Page>) {
    let main = engines[0].with_own_journal();
    let mut setup = main.setup();
    let pages: Vec<Page> = engines[1..].iter().map(|_| Page::default()).collect();
    setup.also = engines[1..]
        .iter()
        .zip(&pages)
        .map(|(engine, page)| engine.with_own_journal().sharing_journal_with(&main).sink(page.take()))
        .collect();
    (Pipeline::new(setup), pages)
}

/// Asserts that outputs together are the same as each alone, however the bytes arrive.
fn assert_alike(engines: &[&Engine], bytes: &[u8], name: &str) {
    let expected: Vec<_> = engines.iter().map(|engine| alone(engine, [bytes])).collect();
    let mut ways = vec![vec![bytes], pieces::lines(bytes)];
    if bytes.len() <= LONG {
        ways.push(pieces::odd(bytes, bytes.len() as u64));
    }
    for way in ways {
        let (mut pipeline, pages) = together(engines);
        let mut text = String::new();
        for piece in &way {
            pipeline.push(piece, &mut text).unwrap();
        }
        pipeline.finish(&mut text).unwrap();
        let texts = [text].into_iter().chain(pages.iter().map(Page::text));
        let reports = [pipeline.report()].into_iter().chain(pipeline.other_reports());
        for (number, ((text, report), expected)) in texts.zip(reports).zip(&expected).enumerate() {
            assert!(text == expected.0, "{name}, output {number}, in {} pieces:\n{text}", way.len());
            assert_eq!(*report, expected.1, "{name}, output {number}, in {} pieces", way.len());
        }
    }
}

#[test]
fn each_output_is_what_it_would_be_alone() {
    let redacted =
        |writer: &str| Engine::builder().writer(writer).redact(&Redaction::everything()).build().unwrap();
    let only = Engine::builder().writer("text").only(["Bash".to_owned()]).build().unwrap();
    let plugin = || {
        PluginSource::from_text(
            "count.lua",
            r#"
            sf.on("call", function(item, ctx) ctx.state.calls = (ctx.state.calls or 0) + 1 end)
            sf.on("session.end", function(_, ctx) return "calls: " .. (ctx.state.calls or 0) end)
            sf.tool("Bash", { label = "Shell" })
            sf.writer("brief", { entry = function(entry, w) return entry.kind .. " " .. w:inlines(entry.title) .. "\n" end })
            "#,
        )
    };
    let scripted = |writer: &str| Engine::builder().writer(writer).pack(plugin()).build().unwrap();
    let (items, json, html, markdown) = (
        engine("items", "default"),
        engine("json", "full"),
        engine("html", "full"),
        engine("markdown", "quiet"),
    );
    let (ci, plain, cast) = (engine("text", "ci"), engine("text", "plain"), engine("cast", "default"));
    let (masked, masked_items) = (redacted("html"), redacted("items"));
    let (lua, lua_html, brief) = (scripted("text"), scripted("html"), scripted("brief"));
    let mut tried = 0;
    for recording in recordings() {
        for (name, bytes) in recording.forms() {
            assert_alike(&[&items, &json, &markdown, &only, &plain, &ci], bytes, &name);
            // Grammars are loaded for each page with coloured code, VMs for each script: too slow for all.
            if name.starts_with("samples/") || tried % 60 == 0 {
                assert_alike(&[&ci, &html, &items], bytes, &name);
                assert_alike(&[&html, &masked, &masked_items], bytes, &name);
                assert_alike(&[&lua, &ci, &lua_html, &lua, &brief], bytes, &name);
                assert_alike(&[&plain, &lua, &cast], bytes, &name);
            }
            tried += 1;
        }
    }
    assert!(tried >= 3);
}

#[test]
fn what_is_read_ahead_gives_several_outputs_as_they_would_be() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
    let bytes = std::fs::read(sample).unwrap().repeat(40);
    let engines = [&engine("text", "ci"), &engine("html", "full"), &engine("items", "default")];
    let expected: Vec<_> = engines.iter().map(|engine| alone(engine, [&*bytes])).collect();
    let ((mut pipeline, pages), mut text) = (together(&engines), String::new());
    format_ahead(&mut pipeline, &*bytes, |piece| {
        text.push_str(piece);
        ControlFlow::Continue(())
    })
    .unwrap();
    pipeline.finish(&mut text).unwrap();
    assert!(text == expected[0].0);
    for (page, expected) in pages.iter().zip(&expected[1..]) {
        assert!(page.text() == expected.0);
    }
    let reports: Vec<_> = pipeline.other_reports().collect();
    assert_eq!(reports, [&expected[1].1, &expected[2].1]);
}

/// Accepts no text.
struct Broken;

impl std::fmt::Write for Broken {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Err(std::fmt::Error)
    }
}

#[test]
fn an_output_that_fails_stops_no_other() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
    let bytes = std::fs::read(sample).unwrap();
    let (text, items) = (engine("text", "default"), engine("items", "default"));
    let page = Page::default();
    let mut given = Vec::new();
    let (broken, taken) = std::sync::mpsc::channel();
    let mut setup = text.setup();
    setup.also.push(items.sink(move |_| {
        broken.send(()).unwrap();
        ControlFlow::Break(())
    }));
    setup.also.push(items.sink(page.take()));
    let mut pipeline = Pipeline::new(setup);
    for line in pieces::lines(&bytes) {
        given.push(pipeline.push(line, &mut Broken).is_ok());
    }
    let _ = pipeline.finish(&mut Broken);
    assert!(given.contains(&false));
    assert_eq!(taken.into_iter().count(), 1, "it isn't asked again");
    assert!(page.text() == alone(&items, [&*bytes]).0);
}

/// A pipeline whose first two outputs choose their format from the stream, one of them as late as possible; and the texts of the last two.
fn settling() -> (Pipeline, [Page; 2]) {
    let settling = |to: &'static str, is_late: bool| {
        let mut sink: Sink = engine("text", "ci").sink(|_| ControlFlow::Continue(()));
        sink.settle = Some(Box::new(move |known: &StreamStart<'_>| {
            if known.dialect.is_none() || is_late && !known.is_all {
                return OutputDecision::Wait;
            }
            let Setup { profile, output, .. } = engine(to, "full").setup();
            OutputDecision::Use(Box::new((profile, output)))
        }));
        sink
    };
    let pages = [Page::default(), Page::default()];
    let mut setup = engine("text", "default").setup();
    setup.settle = settling("markdown", false).settle;
    setup.also.push(Sink { take: Box::new(pages[0].take()), ..settling("html", true) });
    setup.also.push(engine("items", "default").sink(pages[1].take()));
    (Pipeline::new(setup), pages)
}

#[test]
fn each_output_settles_by_itself_how_it_shows_the_stream() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
    let bytes = std::fs::read(sample).unwrap();
    let (mut pipeline, pages) = settling();
    let mut text = String::new();
    for line in pieces::lines(&bytes) {
        pipeline.push(line, &mut text).unwrap();
    }
    pipeline.finish(&mut text).unwrap();
    assert!(text == alone(&engine("markdown", "full"), [&*bytes]).0);
    assert!(pages[0].text() == alone(&engine("html", "full"), [&*bytes]).0);
    assert!(pages[1].text() == alone(&engine("items", "default"), [&*bytes]).0);
}

#[test]
fn a_start_that_neither_a_dialect_nor_an_output_has_settled_comes_out_the_same_however_it_arrives() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
    let sample = std::fs::read_to_string(sample).unwrap();
    let items = engine("items", "default");
    for (raw, unclaimed) in [(0, 1), (3, 10), (20, 60), (0, 63), (0, 64), (0, 70), (64, 5), (70, 140)] {
        let start =
            "no record\n\n".repeat(raw / 2) + &"{\"a\":1}\nno record\n{\"a\":\n".repeat(unclaimed / 3 + 1);
        for rest in [&*sample, ""] {
            let bytes = (start.clone() + rest).into_bytes();
            let of = |format: &dyn Fn(&mut Pipeline, &mut String)| {
                let ((mut pipeline, pages), mut text) = (settling(), String::new());
                format(&mut pipeline, &mut text);
                pipeline.finish(&mut text).unwrap();
                let mut reports = vec![pipeline.report().clone()];
                reports.extend(pipeline.other_reports().cloned());
                (text, pages.map(|page| page.text()), reports)
            };
            let pushed = |pieces: Vec<&[u8]>| {
                of(&|pipeline, text| pieces.iter().for_each(|piece| pipeline.push(piece, text).unwrap()))
            };
            let whole = pushed(vec![&bytes]);
            assert!(pushed(pieces::lines(&bytes)) == whole, "{raw}, {unclaimed}: by line");
            assert!(pushed(pieces::odd(&bytes, 7)) == whole, "{raw}, {unclaimed}: in pieces");
            let ahead = of(&|pipeline, text| {
                format_ahead(pipeline, &*bytes, |piece| {
                    text.push_str(piece);
                    ControlFlow::Continue(())
                })
                .unwrap();
            });
            assert!(ahead == whole, "{raw}, {unclaimed}: read ahead");
            assert!(whole.1[1] == alone(&items, [&*bytes]).0, "{raw}, {unclaimed}: items");
        }
    }
}

#[test]
fn a_sink_of_updates_may_stand_beside_text_and_text_beside_it() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.partial.jsonl");
    let bytes = std::fs::read(sample).unwrap();
    let text = engine("text", "full");
    let updating = || Output::Updates { formatters: Vec::new() };
    let shown = |main: bool| {
        let page = Page::default();
        let mut setup = text.setup();
        let mut sink = text.sink(page.take());
        if main {
            setup.output = updating();
        } else {
            sink.output = updating();
        }
        setup.also.push(sink);
        let (mut pipeline, mut written) = (Pipeline::new(setup), String::new());
        let mut updates: Vec<Update> = Vec::new();
        for line in pieces::lines(&bytes) {
            pipeline.push(line, &mut written).unwrap();
            updates.extend(pipeline.take_updates_of(usize::from(!main)));
        }
        pipeline.finish(&mut written).unwrap();
        updates.extend(pipeline.take_updates_of(usize::from(!main)));
        (written + &page.text(), updates)
    };
    let (beside, main) = (shown(false), shown(true));
    assert!(beside.0 == alone(&text, [&*bytes]).0);
    assert!(beside == main && beside.1.len() > 20);
}

#[test]
fn what_plugins_do_wrong_is_told_once_for_all_outputs() {
    let plugin = || {
        PluginSource::from_text(
            "bad.lua",
            r#"print("here"); sf.tool("*", { label = function() error("no") end })"#,
        )
    };
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
    let bytes = std::fs::read(sample).unwrap();
    for is_inline in [false, true] {
        let scripted = |writer: &str| {
            let builder = Engine::builder().writer(writer).pack(plugin()).inline_plugin_errors(is_inline);
            builder.build().unwrap()
        };
        let (text, html) = (scripted("text"), scripted("html"));
        assert_alike(&[&text, &html, &text], &bytes, "a plugin that fails");
        let told = |others: &[&Engine]| {
            let main = text.with_own_journal();
            let mut setup = main.setup();
            setup.also = others
                .iter()
                .map(|it| it.sharing_journal_with(&main).sink(|_| ControlFlow::Continue(())))
                .collect();
            let mut pipeline = Pipeline::new(setup);
            pipeline.push(&bytes, &mut String::new()).unwrap();
            pipeline.finish(&mut String::new()).unwrap();
            (main.journal().take(), main.journal().unreported())
        };
        assert_eq!(told(&[&html, &text]), told(&[]), "inline: {is_inline}");
    }
}
