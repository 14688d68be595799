//! Prints how fast and how small streamfmt is, against plain JSON validation of the same bytes.
//!
//! `cargo bench -p streamfmt-bench [-- FILE…]`; `PACE_MB` (50) and `PACE_RUNS` (9) change the size and the number of runs.
//! Figures are from one run of this program, all things measured in turn, so that a busy machine slows all alike.

use std::error::Error;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use streamfmt::core::observer::Observer;
use streamfmt::core::pipeline::{Output, Pipeline, Setup};
use streamfmt::core::redact::Redaction;
use streamfmt::core::theme::ColorDepth;
use streamfmt::plugin::source::PluginSource;
use streamfmt::{Engine, OutputCapabilities};
use streamfmt_bench::binary::Binary;
use streamfmt_bench::grow::grow;
use streamfmt_bench::measure::{Times, cpu};
use streamfmt_bench::session::{format, is_asked_for, number, sample};

/// The program's allocator, so that what is measured here is what it does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is measured in this process: its name, of what it is a multiple (of another case, else of validation), what it must
/// reach and aims at, how it is set up.
struct Case {
    name: &'static str,
    of: Option<&'static str>,
    must: &'static str,
    aim: &'static str,
    setup: fn(&Engines) -> Setup,
}

const CASES: &[Case] = &[
    Case { name: "decode alone", of: None, must: "", aim: "2 ×", setup: |engines| silent(&engines.text) },
    Case { name: "text", of: None, must: "5 ×", aim: "2.5 ×", setup: |engines| engines.text.setup() },
    Case {
        name: "text with Lua for each call and result",
        of: Some("text"),
        must: "1.6 ×",
        aim: "1.25 ×",
        setup: |engines| engines.lua.setup(),
    },
    Case { name: "text, profile full", of: None, must: "", aim: "", setup: |engines| engines.full.setup() },
    Case { name: "ansi", of: None, must: "", aim: "", setup: |engines| engines.ansi.setup() },
    Case { name: "json", of: None, must: "", aim: "", setup: |engines| engines.json.setup() },
    Case { name: "items", of: None, must: "", aim: "", setup: |engines| engines.items.setup() },
    Case {
        name: "markdown",
        of: Some("text"),
        must: "1.5 ×",
        aim: "1.1 ×",
        setup: |engines| engines.markdown.setup(),
    },
    Case {
        name: "html", of: Some("text"), must: "3 ×", aim: "1.5 ×", setup: |engines| engines.html.setup()
    },
    Case {
        name: "text and html, one beside the other",
        of: Some("html"),
        must: "1.2 ×",
        aim: "1.05 ×",
        setup: |engines| beside(&engines.html, &engines.text),
    },
    Case {
        name: "markdown, profile full",
        of: Some("text, profile full"),
        must: "1.5 ×",
        aim: "1.1 ×",
        setup: |engines| engines.full_markdown.setup(),
    },
    Case {
        name: "html, profile full",
        of: Some("text, profile full"),
        must: "3 ×",
        aim: "1.5 ×",
        setup: |engines| engines.full_html.setup(),
    },
];

/// What the program is run with to see how much memory that takes.
const PEAKS: [&str; 3] = ["text", "markdown", "html"];

/// How often in each round it is looked at the clock on the wall, of the program and of validation. The shortest time counts: on a
/// shared machine all processors are seldom there for long.
const WALLS: u32 = 5;

/// The choices behind the cases.
struct Engines {
    text: Engine,
    lua: Engine,
    full: Engine,
    ansi: Engine,
    json: Engine,
    items: Engine,
    markdown: Engine,
    html: Engine,
    full_markdown: Engine,
    full_html: Engine,
}

impl Engines {
    fn new() -> Result<Self, Box<dyn Error>> {
        let engine = |writer: &str, profile: &str| {
            let looks = OutputCapabilities {
                color: Some(ColorDepth::TrueColor),
                width: Some(100),
                ..OutputCapabilities::default()
            };
            let looks = if writer == "ansi" { looks } else { OutputCapabilities::default() };
            let builder =
                Engine::builder().dialect("claude").writer(writer).profile(profile).capabilities(looks);
            builder.build().map_err(|problems| problems.to_string())
        };
        Ok(Self {
            text: engine("text", "default")?,
            lua: Engine::builder()
                .dialect("claude")
                .writer("text")
                .pack(PluginSource::from_text("pace.lua", PLUGIN))
                .build()
                .map_err(|problems| problems.to_string())?,
            full: engine("text", "full")?,
            ansi: engine("ansi", "default")?,
            json: engine("json", "default")?,
            items: engine("items", "default")?,
            markdown: engine("markdown", "default")?,
            html: engine("html", "default")?,
            full_markdown: engine("markdown", "full")?,
            full_html: engine("html", "full")?,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    if !is_asked_for() {
        return Ok(());
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let megabytes = number("PACE_MB", 50);
    let runs = number("PACE_RUNS", 9).max(1);
    let engines = Engines::new()?;
    let binary = Binary::build()?;
    println!("| what | must | aim | best | median |\n|---|---|---|---|---|");
    let given: Vec<PathBuf> =
        arguments.iter().filter(|argument| !argument.starts_with('-')).map(PathBuf::from).collect();
    let samples = [sample("shop.jsonl"), sample("shop.history.jsonl")];
    for file in if given.is_empty() { samples.as_slice() } else { given.as_slice() } {
        long_session(file, megabytes * 1_000_000, runs, &engines, &binary)?;
    }
    partial_message(runs)?;
    short_session(&binary)
}

/// Speed and memory over a long session.
fn long_session(
    file: &Path,
    size: u64,
    runs: u64,
    engines: &Engines,
    binary: &Binary,
) -> Result<(), Box<dyn Error>> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut bytes = Vec::new();
    let length = grow(&std::fs::read(file)?, size, &mut bytes)?;
    let long = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pace.jsonl");
    std::fs::write(&long, &bytes)?;

    let found: Vec<&[u8]> = lines(&bytes).collect();
    let (mut validation, mut validation_of_found) = (Times::default(), Times::default());
    let mut times = vec![Times::default(); CASES.len()];
    let (mut wall, mut validation_wall) = (Times::default(), Times::default());
    let mut peaks = [0; PEAKS.len()];
    for _ in 0..runs {
        validation.add(cpu(|| validate(lines(&bytes))));
        validation_of_found.add(cpu(|| validate(found.iter().copied())));
        for (case, times) in CASES.iter().zip(&mut times) {
            times.add(cpu(|| drop(format(&bytes, (case.setup)(engines)))));
        }
        let (mut programs, mut validations) = (Times::default(), Times::default());
        for _ in 0..WALLS {
            programs.add(binary.wall(&long, "text")?);
            let clock = Instant::now();
            validate(lines(&bytes));
            validations.add(clock.elapsed());
        }
        wall.add(programs.min());
        validation_wall.add(validations.min());
        for (to, peak) in PEAKS.iter().zip(&mut peaks) {
            *peak = binary.run(&long, to)?.peak.max(*peak);
        }
    }
    std::fs::remove_file(&long)?;

    for (what, times) in [("", &validation), (", its lines found before", &validation_of_found)] {
        let what = format!("{name}: {} MB, validation of it{what}", length / 1_000_000);
        let rate = |time: Duration| format!("{:.0} MB/s", length as f64 / 1e6 / time.as_secs_f64());
        row(&what, "", "", &rate(times.min()), &rate(times.median()));
    }
    for (case, taken) in CASES.iter().zip(&times) {
        let base = case.of.and_then(|of| CASES.iter().position(|other| other.name == of));
        let over = case.of.map(|of| format!(" over that of {of}")).unwrap_or_default();
        let what = format!("{name}: {}, CPU{over}", case.name);
        ratios(&what, case.must, case.aim, taken, base.map_or(&validation, |base| &times[base]));
    }
    ratios(&format!("{name}: text from a file, wall"), "3 ×", "1.2 ×", &wall, &validation_wall);
    for (to, peak) in PEAKS.iter().zip(peaks) {
        let what = format!("{name}: peak memory, {to}");
        row(&what, "24 MB", "12 MB", &format!("{:.1} MB", peak as f64 / 1e6), "");
    }
    Ok(())
}

/// What a long reply, or a long input, costs that comes in small pieces, for a sink that shows it as it grows.
fn partial_message(runs: u64) -> Result<(), Box<dyn Error>> {
    let engine = Engine::builder().dialect("claude").build().map_err(|problems| problems.to_string())?;
    let (reply, file) = (growing_reply(10_000), growing_file(10_000));
    let masking = Engine::builder().dialect("claude").redact(&Redaction::everything()).build();
    let masking = masking.map_err(|problems| problems.to_string())?;
    let cases = [
        (
            "a reply of 100 KB in 10,000 deltas, taken 20 times a second",
            &engine,
            &reply,
            500,
            "50 ms",
            "15 ms",
        ),
        ("the same, taken 2,000 times", &engine, &reply, 5, "150 ms", "60 ms"),
        ("the same, secrets masked", &masking, &reply, 5, "", ""),
        (
            "a file of 100 KB written in 10,000 deltas, taken 20 times a second",
            &engine,
            &file,
            500,
            "50 ms",
            "15 ms",
        ),
        ("the same of the file, taken 2,000 times", &engine, &file, 5, "150 ms", "60 ms"),
    ];
    let mut times = vec![Times::default(); cases.len()];
    for _ in 0..runs {
        for ((_, engine, lines, pace, ..), times) in cases.iter().zip(&mut times) {
            times.add(cpu(|| show_growing(engine, lines, *pace)));
        }
    }
    for ((what, _, _, _, must, aim), times) in cases.iter().zip(&times) {
        let (best, median) = (milliseconds(times.min()), milliseconds(times.median()));
        row(&format!("{what}, CPU in all"), must, aim, &best, &median);
    }
    Ok(())
}

/// Formats what grows for a sink that takes what changed after each `pace` lines.
fn show_growing(engine: &Engine, lines: &[String], pace: usize) {
    let output = Output::Updates { formatters: Vec::new() };
    let mut pipeline = Pipeline::new(Setup { output, ..engine.setup() });
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let _ = pipeline.push(line.as_bytes(), &mut text);
        // Deltas come some 10,000 a second: 500 lines are a twentieth of one.
        if number % pace == 0 {
            black_box(pipeline.take_updates());
        }
    }
    let _ = pipeline.finish(&mut text);
    black_box(pipeline.take_updates());
}

/// The lines of a reply that comes in `count` deltas of ten bytes, and then whole.
fn growing_reply(count: usize) -> Vec<String> {
    // A paragraph every 60 words, as models write them.
    let pieces = (0..count).map(|number| if number % 60 == 59 { "the end.\\n\\n" } else { "and so on " });
    let pieces: Vec<&str> = pieces.collect();
    let whole = format!(r#"{{"type":"text","text":"{}"}}"#, pieces.concat());
    growing(r#"{"type":"text","text":""}"#, "text_delta", "text", &pieces, &whole)
}

/// The lines of a call that writes a file in `count` deltas of ten bytes, and then comes whole.
fn growing_file(count: usize) -> Vec<String> {
    // A line of code is some 40 letters long.
    let pieces = (0..count).map(|number| if number % 4 == 3 { "count();\\n" } else { "self.items" });
    let mut pieces: Vec<String> = pieces.map(str::to_owned).collect();
    pieces.insert(0, r#"{"file_path":"/w/a.rs","content":""#.to_owned());
    pieces.push("\"}".to_owned());
    let call =
        |input: &str| format!(r#"{{"type":"tool_use","id":"toolu_1","name":"Write","input":{input}}}"#);
    let whole = call(&pieces.concat());
    let escaped: Vec<String> =
        pieces.iter().map(|piece| piece.replace('\\', "\\\\").replace('"', "\\\"")).collect();
    let escaped: Vec<&str> = escaped.iter().map(String::as_str).collect();
    growing(&call("{}"), "input_json_delta", "partial_json", &escaped, &whole)
}

/// The lines of a block that begins so, comes in these pieces, and then whole.
fn growing(block: &str, delta: &str, key: &str, pieces: &[&str], whole: &str) -> Vec<String> {
    let event = |event: &str| {
        format!(
            r#"{{"type":"stream_event","event":{event},"parent_tool_use_id":null,"session_id":"5e55","uuid":"u"}}"#
        ) + "\n"
    };
    let mut lines = vec![
        event(r#"{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[]}}"#),
        event(&format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#)),
    ];
    lines.extend(pieces.iter().map(|piece| {
        event(&format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{delta}","{key}":"{piece}"}}}}"#
        ))
    }));
    lines.push(format!(
        concat!(
            r#"{{"type":"assistant","message":{{"id":"msg_1","role":"assistant","content":[{}]}},"#,
            r#""parent_tool_use_id":null,"session_id":"5e55","uuid":"uuid-1"}}"#,
            "\n"
        ),
        whole
    ));
    lines.push(event(r#"{"type":"message_stop"}"#));
    lines
}

/// How soon a short session is there, and how soon a line.
fn short_session(binary: &Binary) -> Result<(), Box<dyn Error>> {
    let mut first = Times::default();
    for _ in 0..50 {
        first.add(binary.run(&sample("shop.jsonl"), "text")?.first);
    }
    row("start to first output", "5 ms", "2 ms", &milliseconds(first.min()), &milliseconds(first.median()));
    let lines = binary.echo(2_000)?;
    row("line in to line out, half of them", "", "", "", &milliseconds(lines.median()));
    row("line in to line out, 99 of 100", "1 ms", "0.2 ms", "", &milliseconds(lines.quantile(0.99)));
    Ok(())
}

/// The lines that aren't empty.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
    let mut start = 0;
    let all = ends.map(move |end| &bytes[std::mem::replace(&mut start, end + 1)..end]);
    all.filter(|line| !line.is_empty())
}

/// What everything is measured against: each line is read, checked to be JSON, and forgotten.
fn validate<'a>(lines: impl Iterator<Item = &'a [u8]>) {
    for line in lines {
        black_box(serde_json::from_slice::<IgnoredAny>(line).is_ok());
    }
}

/// Two outputs of one session.
fn beside(main: &Engine, other: &Engine) -> Setup {
    let mut setup = main.setup();
    setup.also.push(other.sink(|text| {
        black_box(text);
        ControlFlow::Continue(())
    }));
    setup
}

/// Everything is read and applied, and nothing is written.
fn silent(engine: &Engine) -> Setup {
    engine.watch(vec![Box::new(Silent)])
}

/// Formats each call and each result.
const PLUGIN: &str = r#"
sf.tool("*", {
  label = function(call) return "> " .. call.tool end,
  arg = function(input) return input.command or input.file_path or input.pattern end,
  summary = function(result) return #result.text < 200 and result.text or nil end,
})"#;

/// Looks at nothing.
struct Silent;

impl Observer for Silent {}

fn ratios(what: &str, must: &str, aim: &str, times: &Times, base: &Times) {
    let best = times.min().as_secs_f64() / base.min().as_secs_f64();
    row(what, must, aim, &format!("{best:.2} ×"), &format!("{:.2} ×", times.over(base)));
}

fn row(what: &str, must: &str, aim: &str, best: &str, median: &str) {
    println!("| {what} | {must} | {aim} | {best} | {median} |");
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
