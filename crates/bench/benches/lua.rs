//! Prints what plugins cost: over text without them, for each call of a function, and at the start.
//!
//! `cargo bench -p streamfmt-bench --bench lua`; `PACE_MB` (50) and `PACE_RUNS` (5) change the size and the number of runs.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use streamfmt::core::item::Kind;
use streamfmt::engine::Engine;
use streamfmt::plugin::source::PluginSource;
use streamfmt_bench::measure::Times;
use streamfmt_bench::session::{format, in_turn, is_asked_for, number, session};

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
    if !is_asked_for() {
        return Ok(());
    }
    let megabytes = number("PACE_MB", 50);
    let bytes = session(megabytes)?;
    let plain = engine(None)?;
    let engines: Vec<Engine> =
        PLUGINS.iter().map(|(_, source, ..)| engine(Some(source))).collect::<Result<_, _>>()?;
    let pipeline = format(&bytes, plain.setup());
    let shown = |kind| pipeline.report().shown.get(&kind).copied().unwrap_or(0);
    let (calls, results) = (shown(Kind::Call), shown(Kind::Result));
    let (base, times) = in_turn(&bytes, number("PACE_RUNS", 5).max(1), &plain, &engines);
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
        builder = builder.pack(PluginSource::from_text("pace.lua", source));
    }
    builder.build().map_err(|problems| problems.to_string())
}
