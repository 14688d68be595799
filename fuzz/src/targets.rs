//! What the fuzz targets try. Each is a function of bytes that panics if a promise is broken, so that tests can
//! call them too: `crates/host/tests/hostile/seeds.rs` runs them over their seeds in every build.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use streamfmt::core::frame::{Framer, MAX_LINE};
use streamfmt::core::json::Value;
use streamfmt::core::pipeline::Pipeline;
use streamfmt::core::reading::{LinePart, LineReader, ParsedLine};
use streamfmt::core::text::clean as cleaned;
use streamfmt::core::theme::{Appearance, ColorDepth, Glyphs, Lookup, Theme, ThemeSource};
use streamfmt::dialect::DIALECTS;
use streamfmt::plugin::journal::PluginMessage;
use streamfmt::settings::keys::Named;
use streamfmt::settings::{Config, Request};
use streamfmt::{Builder, Engine, OutputCapabilities};

/// Reads lines as records and damage: without a panic, each line in one reading, all text of a line in its parts, in order, and the same
/// however the lines arrive.
pub fn reading(data: &[u8]) {
    // Without the first line of a stream, which may have a byte order mark.
    let stream = [data, b"\n"].concat();
    let read = |piece: usize| {
        let (mut framer, mut reader) = (Framer::after(1, MAX_LINE), LineReader::new(MAX_LINE));
        let claim = |value: Value<'_>| DIALECTS.is_event(value);
        let mut all = Vec::new();
        let mut each = |line, reading| all.push((line, reading));
        for piece in stream.chunks(piece) {
            framer.push(piece, |frames| reader.read(frames, claim, &mut each));
        }
        reader.finish(claim, &mut each);
        all
    };
    let lines = stream.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut lines = lines.map(String::from_utf8_lossy);
    let all = read(stream.len());
    let in_pieces = read(data.first().map_or(1, |byte| usize::from(*byte) + 1));
    assert_eq!(described(&all), described(&in_pieces));
    let mut next = 2;
    for (line, reading) in all {
        assert_eq!(line, next, "a line is lost, or read twice");
        next += reading.lines();
        let own: Vec<_> = lines.by_ref().take(reading.lines() as usize).collect();
        let line = own.join("\n");
        let mut rest = line.as_str();
        let mut expect = |part: &str| {
            let at = rest
                .find(part)
                .unwrap_or_else(|| panic!("{part:?} is not in the rest of the line, {rest:?}"));
            rest = &rest[at + part.len()..];
        };
        match reading {
            ParsedLine::Blank => assert!(line.trim().is_empty(), "{line:?} is not blank"),
            ParsedLine::Oversized { .. } => {
                assert!(line.len() > MAX_LINE);
                continue;
            }
            ParsedLine::Text(text) => expect(&text),
            ParsedLine::Record(record) => expect(record.text()),
            ParsedLine::Wrapped(wrapped) => expect(wrapped.text()),
            // A known prefix may precede it.
            ParsedLine::Parts(parts) => parts.for_each(|part| match part {
                LinePart::Record(record) => expect(record.text()),
                LinePart::Damage { text, .. } => expect(&text),
            }),
        }
        assert!(rest.trim().is_empty(), "{rest:?} is lost");
    }
}

/// Readings as text.
fn described(all: &[(u64, ParsedLine)]) -> Vec<String> {
    let part = |part: LinePart| match part {
        LinePart::Record(record) => format!("record {}", record.text()),
        LinePart::Damage { text, incomplete } => format!("damage {incomplete} {text}"),
    };
    let one = |(line, reading): &(u64, ParsedLine)| match reading {
        ParsedLine::Record(record) => format!("{line} record {}", record.text()),
        ParsedLine::Parts(parts) => format!("{line} {:?}", parts.clone().map(part).collect::<Vec<_>>()),
        ParsedLine::Wrapped(wrapped) => {
            let records: Vec<_> =
                wrapped.records().map(|(at, record)| (at, record.text().to_owned())).collect();
            format!("{line} {records:?} in {}", wrapped.text())
        }
        other => format!("{line} {other:?}"),
    };
    all.iter().map(one).collect()
}

/// Cleaned text holds no character with power, and is final.
pub fn clean(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let once = cleaned(&text).into_owned();
    assert_harmless(&once);
    assert_eq!(cleaned(&once), once, "of {text:?}");
}

/// A stream comes out in every form: no panic, nothing with power, the same however it arrives.
pub fn pipeline(data: &[u8]) {
    let cut = usize::from(data.first().copied().unwrap_or(1)) + 1;
    for (engine, is_coloured) in ENGINES.iter() {
        let whole = format(engine, std::iter::once(data));
        let pieces = format(engine, data.chunks(cut));
        assert!(whole == pieces, "in pieces of {cut} bytes:\n{pieces}\nat once:\n{whole}");
        if *is_coloured {
            assert_harmless(&without_own(&whole));
        } else {
            assert_harmless(&whole);
        }
    }
}

/// One value of a profile after another: no panic, and what is wrong is told in clean words.
pub fn profile(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let options = text.lines().fold(Engine::builder(), Builder::set);
    if let Err(problems) = options.build() {
        problems.0.iter().for_each(|problem| assert_harmless(&problem.to_string()));
    }
    let request = Request { texts: vec![("fuzz".to_owned(), text.into_owned())], ..Request::default() };
    let resolved = Config::load(&request).resolve(&Named::given_by("fuzz", "--profile"));
    for problem in resolved.problems.errors.0 {
        assert_harmless(&problem.to_string());
        problem.excerpt().into_iter().flatten().for_each(|line| assert_harmless(&line));
    }
}

/// A theme: no panic, and what can be used of it is harmless.
pub fn theme(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lookup: Lookup<'_> = &|name, _| match name {
        "other" => Ok(ThemeSource::new("other", &*text)),
        name => Theme::find_builtin(name),
    };
    let (theme, _) = Theme::parse(&ThemeSource::new("fuzz", &*text), &mut || Appearance::Light, lookup);
    for (_, style) in theme.roles() {
        let mut out = String::new();
        style.begin(&mut out);
        assert_harmless(&without_own(&out));
    }
    for name in ["call", "result", "nest", "elided", "row"] {
        assert_harmless(theme.glyph(Glyphs::Unicode, name).unwrap_or_default());
    }
}

/// A native plugin answers with any bytes: no panic, nothing with power in the output, and what is wrong is reported in clean words.
pub fn native(data: &[u8]) {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    let hex: String = data.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    let line = format!(
        "{{\"type\":\"assistant\",\"message\":{{\"id\":\"m\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"X\",\
         \"input\":{{\"hex\":\"{hex}\"}}}}]}},\"uuid\":\"u\"}}\n"
    );
    let engine = NATIVE.with_own_journal();
    let text = format(&engine, std::iter::once(line.as_bytes()));
    assert!(!text.trim().is_empty() || data.get(1) == Some(&2), "nothing is lost, unless it is hidden");
    assert_harmless(&text);
    for message in engine.journal().take() {
        match message {
            PluginMessage::Warning(warning) => assert_harmless(&warning.to_string()),
            PluginMessage::Printed(name, line) => assert_harmless(&format!("{name}{line}")),
        }
    }
}

static ENGINES: LazyLock<Vec<(Engine, bool)>> = LazyLock::new(|| {
    let mut engines = Vec::new();
    for profile in ["default", "full", "quiet", "ci", "review", "plain"] {
        for (writer, width) in [("text", None), ("text", Some(20)), ("json", None)] {
            engines.push((engine(profile, writer, width), false));
        }
    }
    engines.push((engine("full", "items", None), false));
    engines.push((engine("full", "roles", None), false));
    engines.push((engine("default", "ansi", Some(40)), true));
    engines.push((engine("full", "ansi", None), true));
    engines
});

/// An engine with the plugin `echo.c`, which is compiled for it.
static NATIVE: LazyLock<Engine> = LazyLock::new(|| {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|above| above.join("fuzz/src/echo.c").is_file());
    let root = fuzz.expect("the folder of the fuzzer");
    let library = std::env::temp_dir().join(format!("streamfmt-echo-{}.so", std::process::id()));
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-O1", "-shared", "-fPIC"]);
    for folder in ["include", "tests"] {
        command.arg("-I").arg(root.join("crates/plugin").join(folder));
    }
    let compiled = command.arg(root.join("fuzz/src/echo.c")).arg("-o").arg(&library).status();
    assert!(compiled.is_ok_and(|status| status.success()), "the plugin doesn't compile");
    let engine = Engine::builder().dialect("claude").writer("text").plugin(&library).build();
    let engine = engine.unwrap_or_else(|problems| panic!("{problems:?}"));
    // It is loaded once for all.
    let _ = (engine.setup(), std::fs::remove_file(&library));
    assert!(engine.journal().take().is_empty(), "the plugin is loaded");
    engine
});

fn engine(profile: &str, writer: &str, width: Option<usize>) -> Engine {
    let color = (writer == "ansi").then_some(ColorDepth::TrueColor);
    let capabilities = OutputCapabilities { color, width, ..OutputCapabilities::default() };
    let builder = Engine::builder().profile(profile).writer(writer).capabilities(capabilities);
    builder.build().unwrap_or_else(|problems| panic!("{profile}, {writer}: {problems:?}"))
}

fn format<'a>(engine: &Engine, pieces: impl Iterator<Item = &'a [u8]>) -> String {
    let mut pipeline = Pipeline::new(engine.setup());
    let mut out = String::new();
    for piece in pieces {
        pipeline.push(piece, &mut out).expect("a string takes all");
    }
    pipeline.finish(&mut out).expect("a string takes all");
    out
}

/// Panics if a text contains a character with power. Which ones these are is written down again on purpose: what the program takes for
/// harmful is not asked here.
pub fn assert_harmless(text: &str) {
    let is_harmful = |ch: char| {
        matches!(ch,
            '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{200b}'
            | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}')
    };
    if let Some(at) = text.find(is_harmful) {
        panic!("{:?} comes out, at {at}", text[at..].chars().next());
    }
}

/// The text without the colours and links that the program writes itself.
fn without_own(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = match (behind.strip_prefix('['), behind.strip_prefix("]8;;")) {
            (Some(numbers), _) => {
                let end = numbers.find(|ch: char| !ch.is_ascii_digit() && ch != ';').unwrap_or(numbers.len());
                numbers[end..].strip_prefix('m').unwrap_or_else(|| panic!("not a colour: {numbers:?}"))
            }
            (_, Some(link)) => {
                link.split_once("\u{1b}\\").unwrap_or_else(|| panic!("an endless link: {link:?}")).1
            }
            _ => panic!("a sequence that isn't ours: {behind:?}"),
        };
    }
    plain + rest
}
