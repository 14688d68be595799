//! Extensions that an embedder adds in Rust work like the built-in ones.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(feature = "lua")]
use streamfmt::Folders;
use streamfmt::dialect::{Decoder, Input};
use streamfmt::entry::{Block, Line, View};
use streamfmt::event::Event;
use streamfmt::formatter::{FormatError, Formatter, Verdict};
use streamfmt::item::{Content, Item, Kind};
use streamfmt::json::Record;
use streamfmt::outline::Node;
use streamfmt::profile::Ci;
use streamfmt::session::Session;
use streamfmt::theme::ColorDepth;
use streamfmt::writer::Writer;
use streamfmt::{Builder, Engine, OutputCapabilities, ProblemKind, RunChoice};

/// Gives all calls of a tool the same title.
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

/// Writes numbered titles of entries.
#[derive(Default)]
struct Numbers(usize);

impl Writer for Numbers {
    fn node(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result {
        node.entries().filter(|entry| !entry.view.title.is_empty()).try_for_each(|entry| {
            self.0 += 1;
            let title = entry.view.title.text();
            writeln!(out, "{} {title}", self.0)
        })
    }
}

/// Writes replies only.
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
    fn weigh(&mut self, first: &[Record]) -> f64 {
        f64::from(u8::from(first.iter().any(|record| record.root().get("acme").is_some())))
    }

    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let Some(text) = input.value.get("acme").and_then(streamfmt::json::Value::decode) else {
            return;
        };
        let mut item = Item::new(format!("line-{}", input.line), Kind::Reply, input.line);
        item.text = Content::Own(text.into_owned());
        out.push(Event::Put(Box::new(item)));
    }

    fn end(&mut self, _: &mut Vec<Event>) {}
}

const THEME: &str = "extends = \"dark\"\n[roles]\n\"mark.outcome-ok\" = \"#123456\"\n";

/// A builder with an extension of each kind.
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
    // Items that no formatter handles are shown as before.
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
    // Other agents' streams are read as before.
    let engine = builder().writer("text").build().unwrap();
    assert!(text_of(&engine, &sample()).contains("● Edit "));
}

#[test]
fn a_writer_gives_a_log_of_ci_no_commands_of_others() {
    let line = r#"{"acme":"x"}"#.replace('x', "::error::forged");
    let engine = |ci: Ci| {
        let capabilities = OutputCapabilities { ci, ..OutputCapabilities::default() };
        Engine::builder()
            .add_dialect("acme", || Acme)
            .add_writer("replies", || Replies)
            .writer("replies")
            .capabilities(capabilities)
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
    let pack = streamfmt::plugin::source::PluginSource::from_text("acme.lua", source);
    let engine = builder().pack(pack).dialect("acme").writer("text").build().unwrap();
    assert_eq!(text_of(&engine, b"{\"acme\":\"Hello\"}\n"), "  Hello\n");
}

#[test]
fn a_theme_is_found_by_its_name() {
    let capabilities =
        OutputCapabilities { color: Some(ColorDepth::TrueColor), ..OutputCapabilities::default() };
    for builder in [builder().theme("calm"), builder().set("theme=calm")] {
        let engine = builder.capabilities(capabilities.clone()).build().unwrap();
        let text = text_of(&engine, &sample());
        assert!(text.contains("\u{1b}[38;2;18;52;86m✓"), "{text:?}");
        assert!(engine.themes().list().iter().any(|theme| theme.name == "calm"));
    }
    let wrong = Engine::builder()
        .add_theme("odd", "[roles]\ntext = \"blurple\"\n")
        .theme("odd")
        .capabilities(capabilities)
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

/// The visible lines of a page's first block of code.
fn first_block(page: &str) -> Vec<&str> {
    let block = page.split("```").nth(1).unwrap();
    block.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with("# ")).collect()
}

#[test]
fn the_pages_for_embedders_begin_with_five_lines_and_name_no_path_of_the_core() {
    let front = include_str!("../src/lib.rs").lines().filter_map(|line| line.strip_prefix("//!"));
    let front: Vec<&str> = front.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let front = front.join("\n");
    for (name, page) in [
        ("docs/embedding.md", include_str!("../../../docs/embedding.md")),
        ("docs/json.md", include_str!("../../../docs/json.md")),
        ("the crate's front page", &front),
    ] {
        for part in ["core::", "streamfmt_core"] {
            assert!(!page.contains(part), "{part} in {name}");
        }
        if name != "docs/json.md" {
            let block = first_block(page);
            assert!(block.len() <= 5, "{name}: {block:?}");
        }
    }
    for part in [
        "format_line",
        "format_file",
        "Tail",
        "take_updates",
        "EntryChange",
        "Setup::also",
        "add_formatter",
        "add_profile",
        "script",
    ] {
        assert!(front.contains(part), "{part}");
    }
}

#[test]
fn the_oldest_rust_is_the_same_everywhere() {
    let manifest = include_str!("../../../Cargo.toml");
    let version = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(manifest.contains("incompatible_msrv = \"warn\""));
    for (name, page) in [
        ("README.md", include_str!("../../../README.md")),
        ("CONTRIBUTING.md", include_str!("../../../CONTRIBUTING.md")),
        ("docs/embedding.md", include_str!("../../../docs/embedding.md")),
        ("lib.rs", include_str!("../src/lib.rs")),
    ] {
        assert!(page.contains(version), "{name} doesn't name Rust {version}");
    }
}

#[test]
fn problems_name_what_the_host_wrote_and_files_their_path() {
    let builder = Engine::builder;
    let chosen = Some;
    for (wrong, message, kind, choice) in [
        (
            builder().writer("htm"),
            "writer htm: unknown output format (did you mean \"html\"?)",
            ProblemKind::UnknownName,
            chosen(RunChoice::Writer),
        ),
        (
            builder().dialect("clade"),
            "dialect clade: unknown dialect (did you mean \"claude\"?)",
            ProblemKind::UnknownName,
            chosen(RunChoice::Dialect),
        ),
        (
            builder().profile("quite"),
            "profile: unknown profile \"quite\" (did you mean \"quiet\"?)",
            ProblemKind::UnknownName,
            chosen(RunChoice::Profile),
        ),
        (builder().theme("drak"), "theme drak: ", ProblemKind::UnknownName, chosen(RunChoice::Theme)),
        (
            builder().only(["@edti".to_owned()]),
            "only @edti: unknown action",
            ProblemKind::UnknownName,
            chosen(RunChoice::Only),
        ),
        (
            builder().hide([" ".to_owned()]),
            "hide: the list is empty (name kinds and tools, as in hide reply,Bash,@edit)",
            ProblemKind::BadValue,
            chosen(RunChoice::Hide),
        ),
        (
            builder().set("detial=full"),
            "set detial=full: unknown key",
            ProblemKind::UnknownKey,
            chosen(RunChoice::Set),
        ),
        (
            builder().set("layout.width=wide"),
            "set layout.width=wide: layout.width must be",
            ProblemKind::BadValue,
            chosen(RunChoice::Set),
        ),
        (
            builder().set("extends=a"),
            "set extends=a: choose a profile with profile",
            ProblemKind::NotAllowed,
            chosen(RunChoice::Set),
        ),
        (
            builder().config("none.toml"),
            "config none.toml: ",
            ProblemKind::Unreadable,
            chosen(RunChoice::Config),
        ),
        (
            builder().plugin("none.lua"),
            "plugin none.lua: ",
            if cfg!(feature = "lua") { ProblemKind::Unreadable } else { ProblemKind::Unsupported },
            chosen(RunChoice::Plugin),
        ),
        (
            builder().add_profile("mine", "detial = 'full'").profile("mine"),
            "mine:1:1: unknown key",
            ProblemKind::UnknownKey,
            None,
        ),
        (builder().add_profile("mine", "detail =").profile("mine"), "mine:1:", ProblemKind::Syntax, None),
    ] {
        let problems = wrong.build().map(|_| ()).unwrap_err();
        let first = &problems.0[0];
        assert_eq!((first.kind, first.choice), (kind, choice), "{problems}");
        let problems = problems.to_string();
        assert!(problems.starts_with(message), "{message}: {problems}");
        assert!(!problems.contains("--"), "{problems}");
        // A missing feature is one of this crate.
        assert!(kind == ProblemKind::Unsupported || !problems.contains("streamfmt "), "{problems}");
    }
    let options = builder().names_options(true).writer("htm").build().map(|_| ()).unwrap_err().to_string();
    assert!(options.starts_with("--to htm: "), "{options}");
    let engine = builder().build().unwrap();
    let missing = engine.format_file("none/here.jsonl", &mut String::new()).unwrap_err();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    assert!(missing.to_string().starts_with("none/here.jsonl: "), "{missing}");
    #[cfg(unix)]
    {
        let folder = engine.format_file("tests", &mut String::new()).unwrap_err();
        assert!(folder.to_string().starts_with("tests: "), "{folder}");
    }
}

#[test]
fn a_profile_may_be_a_text_that_extends_others() {
    let engine = Engine::builder()
        .add_profile("base", "only = ['reply']\n")
        .add_profile("quiet", "extends = ['base']\nonly.add = ['call']\n[tool.Bash]\nlabel = 'sh'\n")
        .profile("quiet")
        .dialect("claude")
        .writer("text")
        .build()
        .unwrap();
    let text = text_of(&engine, &sample());
    assert!(text.contains("● sh ") && !text.contains("✓ done"), "{text}");
}

/// The line comes from the middle of a stream, so its result may follow.
#[test]
fn a_call_of_a_lone_line_isnt_reported_to_have_no_result() {
    let engine = Engine::builder().dialect("claude").writer("text").build().unwrap();
    let block =
        |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls"}}}}"#);
    let line = |blocks: &[String]| {
        format!(r#"{{"type":"assistant","message":{{"content":[{}]}}}}"#, blocks.join(","))
    };
    let (single, two) = (line(&[block("t")]), line(&[block("t"), block("u")]));
    assert_eq!(engine.format_line(&single), "● Bash ls\n");
    assert_eq!(engine.format_line(&two), "● Bash ls\n● Bash ls\n");
    let items = Engine::builder().dialect("claude").writer("items").build().unwrap();
    assert_eq!(items.format_line(&two).lines().count(), 2);
    let codex = Engine::builder().dialect("codex").writer("text").build().unwrap();
    let started = r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c"}}"#;
    assert!(codex.format_line(started).ends_with(" ls\n"), "{}", codex.format_line(started));
    // For an excerpt pushed in pieces, the caller allows open calls.
    let mut pipeline = streamfmt::Pipeline::new(engine.setup());
    pipeline.allow_open_calls();
    let mut text = String::new();
    pipeline.push(single.as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    assert_eq!(text, "● Bash ls\n");
    // At the end of an input, a call without a result is reported.
    assert!(text_of(&engine, single.as_bytes()).contains("1 call has no result"));
}

#[cfg(feature = "lua")]
#[test]
fn a_script_that_does_not_load_is_a_warning_or_an_error() {
    const GOOD: &str = "sf.tool('Bash', { label = 'sh' })";
    for (script, message) in [
        ("sf.tool('Bash', {\n", "bad.lua:2:"),
        ("local x = nil\nx.y = 1", "bad.lua:2:1: "),
        ("sf.tool('Bash', { lable = 'sh' })", "bad.lua:1:1: "),
        ("while true do end", "bad.lua"),
        ("error('no')", "bad.lua:1:1: no"),
    ] {
        let builder = || Engine::builder().script("good.lua", GOOD).script("bad.lua", script).writer("text");
        let engine = builder().dialect("claude").build().unwrap();
        let warnings = engine.warnings().to_string();
        assert!(warnings.starts_with(message), "{message}: {warnings}");
        assert_eq!(engine.warnings().0.len(), 1, "{warnings}");
        assert_eq!(engine.journal().failures(), 0, "nothing has run yet");
        // Other plugins still work, and the journal has one failure for each run.
        assert!(text_of(&engine, &sample()).contains("● sh "));
        assert_eq!(engine.journal().take().len(), 1);
        let error = builder().strict(true).build().map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, warnings);
        assert!(Engine::builder().script("good.lua", GOOD).strict(true).build().is_ok());
        let deferred = builder().strict(true).defer_plugins(true).build().unwrap();
        assert!(deferred.warnings().0.is_empty());
        text_of(&deferred, &sample());
        assert_eq!(deferred.journal().failures(), 1);
    }
}

/// An unreadable plugin fails in the same way as one that doesn't load.
#[cfg(feature = "lua")]
#[test]
fn a_plugin_that_cannot_be_read_is_a_warning_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plugin.toml"), "name = 5\n").unwrap();
    let builder = || Engine::builder().plugin(folder.path()).writer("text");
    let engine = builder().build().unwrap();
    let warnings = engine.warnings().to_string();
    assert!(warnings.contains("plugin.toml"), "{warnings}");
    assert_eq!(builder().strict(true).build().map(|_| ()).unwrap_err().to_string(), warnings);
    // The same holds for a plugin in the user's settings.
    let config = folder.path().join("config");
    fs::create_dir(&config).unwrap();
    fs::write(config.join("init.lua"), "error('not today')").unwrap();
    let folders = || Folders { config: Some(config.clone()), ..Folders::default() };
    let engine = Engine::builder().folders(folders()).build().unwrap();
    assert!(engine.warnings().to_string().ends_with("init.lua:1:1: not today"), "{}", engine.warnings());
    assert!(Engine::builder().folders(folders()).strict(true).build().is_err());
}

/// A log pane shows the end of the text, and keeps at most twice as much.
#[test]
fn a_log_pane_keeps_the_last_50_000_characters() {
    const PANE: usize = 50_000;
    let engine = Engine::builder().dialect("claude").writer("text").build().unwrap();
    let (mut pane, mut whole) = (streamfmt::Tail::lines(PANE), String::new());
    let mut pipeline = streamfmt::Pipeline::new(engine.setup());
    let mut copy = streamfmt::Pipeline::new(engine.setup());
    for number in 0..2_000 {
        let line = format!(
            "{{\"type\":\"assistant\",\"message\":{{\"id\":\"m{number}\",\"content\":[{{\"type\":\"text\",\"text\":\"Reply ü {number} of a long session.\"}}]}}}}\n"
        );
        pipeline.push(line.as_bytes(), &mut pane).unwrap();
        copy.push(line.as_bytes(), &mut whole).unwrap();
        assert!(pane.text().chars().count() <= PANE);
    }
    pipeline.finish(&mut pane).unwrap();
    copy.finish(&mut whole).unwrap();
    assert!(whole.chars().count() > PANE && whole.ends_with(pane.text()));
    assert!(pane.text().chars().count() > PANE - 100);
    assert!(whole[..whole.len() - pane.text().len()].ends_with('\n'), "it begins with a whole line");
}

/// An example that replaces a hand-written formatter.
#[cfg(unix)]
#[path = "../examples/loop_runner.rs"]
#[expect(dead_code, reason = "the example is a program")]
mod loop_runner;

#[test]
#[cfg(unix)]
fn a_loop_runner_formats_in_less_than_50_lines() {
    let lines = include_str!("../examples/loop_runner.rs").lines();
    assert!(lines.filter(|line| !line.trim().is_empty()).count() < 50);
    let engine = Engine::builder().dialect("claude").writer("text").build().unwrap();
    let agent = |lines: &str, code: u8| {
        let script = format!("printf '%s\\n' '{lines}'; exit {code}");
        ["sh".to_owned(), "-c".to_owned(), script].to_vec()
    };
    let good = r#"{"type":"result","subtype":"success","result":"Fixed."}"#;
    let bad = r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#;
    for (command, is_good, shown) in [
        (agent(good, 0), true, "✓ done\n  Fixed.\n"),
        (agent(good, 3), false, "✓ done\n"),
        (agent(bad, 0), false, "✗ "),
    ] {
        let mut out = Vec::new();
        assert_eq!(loop_runner::run(&engine, &command, &mut out).unwrap(), is_good, "{command:?}");
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(loop_runner::run(&engine, &[], &mut Vec::new()).is_err());
}
