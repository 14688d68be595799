//! What benchmarks of formatting share: how large they are, a long session, and how it is formatted.

use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};

use streamfmt::core::pipeline::{Pipeline, Setup};
use streamfmt::engine::Engine;

use crate::grow::grow;
use crate::measure::{Times, cpu};

/// Whether a benchmark is to measure: cargo runs it with `--bench`, and under `cargo test` without.
pub fn is_asked_for() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// A number that an environment variable names.
pub fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The path of a sample session.
pub fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/samples").join(name)
}

/// The sample session, grown to so many megabytes.
pub fn session(megabytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    grow(&std::fs::read(sample("shop.jsonl"))?, megabytes * 1_000_000, &mut bytes)?;
    Ok(bytes)
}

/// Formats all bytes as they would come from a file. Gives the pipeline, which has ended.
pub fn format(bytes: &[u8], setup: Setup) -> Pipeline {
    let mut pipeline = Pipeline::new(Setup { holds_head: true, ..setup });
    let mut text = String::new();
    for piece in bytes.chunks(1 << 16) {
        // A string takes everything.
        let _ = pipeline.push(piece, &mut text);
        black_box(&text);
        text.clear();
    }
    let _ = pipeline.finish(&mut text);
    let _ = pipeline.head(&mut text);
    black_box(&text);
    pipeline
}

/// Measures engines against one of them all, so many times in turn. Gives the times of the one, and of each of the others.
pub fn in_turn(bytes: &[u8], runs: u64, base: &Engine, engines: &[Engine]) -> (Times, Vec<Times>) {
    let once = |engine: &Engine| {
        cpu(|| {
            black_box(format(bytes, engine.setup()));
        })
    };
    let (mut base_times, mut times) = (Times::default(), vec![Times::default(); engines.len()]);
    for _ in 0..runs {
        base_times.add(once(base));
        engines.iter().zip(&mut times).for_each(|(engine, times)| times.add(once(engine)));
    }
    (base_times, times)
}
