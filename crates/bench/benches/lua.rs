//! Prints what plugins cost: over text without them, for each call of a function, and at the start.
//!
//! `cargo bench -p streamfmt-bench --bench lua`; `PACE_MB` (50) and `PACE_RUNS` (5) change the size and the number of runs.

use std::error::Error;
use std::fmt::{self, Write};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use streamfmt::core::item::Kind;
use streamfmt::core::pipeline::Pipeline;
use streamfmt::engine::Engine;
use streamfmt::plugin::pack::Pack;
use streamfmt_bench::grow::grow;
use streamfmt_bench::measure::{Times, cpu};

/// The program's allocator, so that what is measured here is what it does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Plugins, each with how many of its functions are called for a call and for a result.
const PLUGINS: [(&str, &str, u64, u64); 4] = [
    ("a constant label", "sf.tool('*', { label = 'x' })", 0, 0),
    ("a label that is a function", "sf.tool('*', { label = function(call) return call.tool end })", 1, 0),
    (
        "a formatter for each call and result",
        r#"
        sf.tool("*", {
          label = function(call) return "> " .. call.tool end,
          arg = function(input) return input.command or input.file_path or input.pattern end,
          summary = function(result) return #result.text < 200 and result.text or nil end,
        })"#,
        2,
        1,
    ),
    (
        "a whole view of each call",
        r#"sf.tool("*", { call = function(call) return { sf.header(call, sf.path(call.input.file_path or "-")) } end })"#,
        1,
        0,
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo runs this with `--bench`; under `cargo test` there is nothing to measure.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let megabytes = number("PACE_MB", 50);
    let runs = number("PACE_RUNS", 5).max(1);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/samples/shop.jsonl");
    let mut bytes = Vec::new();
    grow(&std::fs::read(file)?, megabytes * 1_000_000, &mut bytes)?;
    let plain = engine(None)?;
    let engines: Vec<Engine> =
        PLUGINS.iter().map(|(_, source, ..)| engine(Some(source))).collect::<Result<_, _>>()?;
    let mut base = Times::default();
    let mut times = vec![Times::default(); engines.len()];
    let (mut calls, mut results) = (0, 0);
    for _ in 0..runs {
        base.add(cpu(|| (calls, results) = format(&bytes, &plain)));
        for (engine, times) in engines.iter().zip(&mut times) {
            times.add(cpu(|| {
                black_box(format(&bytes, engine));
            }));
        }
    }
    println!(
        "| {megabytes} MB of text with … ({calls} calls, {results} results) | over text | each function |\n|---|---|---|"
    );
    for ((name, _, of_call, of_result), times) in PLUGINS.iter().zip(&times) {
        let ratio = times.min().as_secs_f64() / base.min().as_secs_f64();
        let asked = calls * of_call + results * of_result;
        let more = times.min().saturating_sub(base.min()).as_secs_f64() * 1e6;
        let each = if asked > 0 { format!("{:.2} µs", more / asked as f64) } else { String::new() };
        println!("| {name} | {ratio:.2} × | {each} |");
    }
    let start = starts(&engines[2]);
    println!("| a plugin is loaded in | | {:.3} ms |", start.as_secs_f64() * 1e3);
    Ok(())
}

/// How long it takes until a plugin is ready.
fn starts(engine: &Engine) -> Duration {
    let mut times = Times::default();
    for _ in 0..50 {
        let clock = Instant::now();
        black_box(engine.setup());
        times.add(clock.elapsed());
    }
    times.median()
}

fn engine(plugin: Option<&str>) -> Result<Engine, String> {
    let mut builder = Engine::builder().dialect("claude").writer("text");
    if let Some(source) = plugin {
        builder = builder.pack(Pack::from_source("pace.lua", source));
    }
    builder.build().map_err(|problems| problems.to_string())
}

/// Formats all bytes as they would come from a file; gives the numbers of calls and results.
fn format(bytes: &[u8], engine: &Engine) -> (u64, u64) {
    let mut pipeline = Pipeline::new(engine.setup());
    let mut sink = Sink(String::new());
    for piece in bytes.chunks(1 << 16) {
        // A sink of ours takes everything.
        let _ = pipeline.push(piece, &mut sink);
        black_box(&sink.0);
        sink.0.clear();
    }
    let _ = pipeline.finish(&mut sink);
    let shown = |kind| pipeline.report().shown.get(&kind).copied().unwrap_or(0);
    (shown(Kind::Call), shown(Kind::Result))
}

struct Sink(String);

impl Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        Ok(())
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}
