//! The README shows the actual output.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fs;
use std::path::Path;

use streamfmt::core::pipeline::Pipeline;
use streamfmt::engine::Engine;

#[test]
fn the_readme_shows_the_sample_as_it_comes_out() {
    let readme = read("README.md");
    let (_, after) = readme.split_once("```text\n").unwrap();
    let (shown, _) = after.split_once("\n```\n").unwrap();

    let engine = Engine::builder().writer("text").build().unwrap();
    let mut pipeline = Pipeline::new(engine.setup());
    let mut text = String::new();
    pipeline.push(read("tests/samples/shop.jsonl").as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();

    // An ellipsis in the README stands for omitted lines; everything else must be there.
    let mut rest = text.as_str();
    for part in shown.split("\n…\n") {
        let (_, after) =
            rest.split_once(part).unwrap_or_else(|| panic!("not in the output, or not there:\n{part}"));
        rest = after;
    }
    assert_eq!(rest.trim(), "", "the README ends before the output does");
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}
