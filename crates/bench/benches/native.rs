//! Prints the cost of native plugins: relative to text without them, and at the start.
//!
//! `cargo bench -p streamfmt-bench --bench native`; `PACE_MB` (50) and `PACE_RUNS` (5) change the size and the number of runs. Needs a C
//! compiler.

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use streamfmt::engine::Engine;
use streamfmt_bench::measure::Times;
use streamfmt_bench::session::{in_turn, is_asked_for, number, session};

/// The program's allocator, so that the measurement applies to the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Plugins: a description, the macro that is defined when it is compiled, and the highest permitted ratio to plain text.
const PLUGINS: [(&str, &str, f64); 2] = [
    ("two strings by pointer, and pass", "-DPASS", 1.15),
    ("the whole item, a title and a block", "-DWHOLE", 1.6),
];

/// The highest permitted cost of a plugin at the start, in milliseconds.
const START: f64 = 2.0;

fn main() -> Result<(), Box<dyn Error>> {
    if !is_asked_for() {
        return Ok(());
    }
    let megabytes = number("PACE_MB", 50);
    let bytes = session(megabytes)?;
    let libraries: Vec<PathBuf> =
        PLUGINS.iter().map(|(_, define, _)| compile(define)).collect::<Result<_, _>>()?;
    let plain = engine(None)?;
    let engines: Vec<Engine> = libraries.iter().map(|path| engine(Some(path))).collect::<Result<_, _>>()?;
    let (base, times) = in_turn(&bytes, number("PACE_RUNS", 5).max(1), &plain, &engines);
    println!(
        "| {megabytes} MB of text with … | over text | half of the rounds | at most |\n|---|---|---|---|"
    );
    for ((name, _, most), times) in PLUGINS.iter().zip(&times) {
        let ratio = times.min().as_secs_f64() / base.min().as_secs_f64();
        println!("| {name} | {ratio:.2} × | {:.2} × | {most} × |", times.over(&base));
    }
    let (mut with, mut without) = (Times::default(), Times::default());
    let mut library = std::fs::read(&libraries[0])?;
    for _ in 0..50 {
        without.add(start(None)?);
        // A byte more makes it another library: the same one is loaded once.
        library.push(0);
        std::fs::write(&libraries[0], &library)?;
        with.add(start(Some(&libraries[0]))?);
    }
    let more = with.median().saturating_sub(without.median()).as_secs_f64() * 1e3;
    println!("| a plugin is read, checked and loaded in | | {more:.3} ms | {START} ms |");
    for library in libraries {
        std::fs::remove_file(library)?;
    }
    Ok(())
}

/// The time until a pipeline can begin.
fn start(plugin: Option<&Path>) -> Result<std::time::Duration, String> {
    let clock = Instant::now();
    black_box(engine(plugin)?.setup());
    Ok(clock.elapsed())
}

/// Compiles a plugin and returns the path of its library.
fn compile(define: &str) -> Result<PathBuf, Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = std::env::temp_dir().join(format!("streamfmt-pace{define}-{}.so", std::process::id()));
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-O2", "-shared", "-fPIC", define]);
    for folder in ["include", "tests"] {
        command.arg("-I").arg(here.join("../plugin").join(folder));
    }
    let compiled = command.arg(here.join("benches/native.c")).arg("-o").arg(&library).status()?;
    if compiled.success() { Ok(library) } else { Err("the plugin doesn't compile".into()) }
}

fn engine(plugin: Option<&Path>) -> Result<Engine, String> {
    let mut builder = Engine::builder().dialect("claude").writer("text");
    if let Some(path) = plugin {
        builder = builder.plugin(path);
    }
    let engine = builder.build().map_err(|problems| problems.to_string())?;
    black_box(engine.setup());
    match engine.journal().take().first() {
        None => Ok(engine),
        Some(message) => Err(format!("{message:?}")),
    }
}
