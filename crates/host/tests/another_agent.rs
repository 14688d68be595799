//! The page about another agent shows its files, and its dialect gives the same items in Lua and in Rust.

#![cfg(feature = "lua")]

#[path = "../../../docs/examples/robo.rs"]
mod robo;

use std::fs;
use std::path::{Path, PathBuf};

use streamfmt::{Engine, Pipeline};

use robo::Robo;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("a file of the repository")
}

#[test]
fn the_page_shows_its_files() {
    let page = read("docs/another-agent.md");
    for path in [
        "docs/examples/robo.lua",
        "docs/examples/robo.rs",
        "tests/golden/robo/a-whole-session/input.ndjson",
        "tests/golden/robo/a-whole-session/expected/default.text.txt",
    ] {
        assert!(page.contains(read(path).trim_end()), "the page doesn't show {path}");
    }
}

/// The lines of an output, as values: a script builds its tables without an order of keys.
fn lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into())).collect()
}

#[test]
fn the_dialect_gives_the_same_items_in_lua_and_in_rust() {
    for case in ["a-whole-session", "a-stream-that-stops"] {
        let input = read(&format!("tests/golden/robo/{case}/input.ndjson"));
        for writer in ["items", "text"] {
            let builder = || Engine::builder().writer(writer);
            let script = builder().script("robo.lua", read("docs/examples/robo.lua"));
            let engines =
                [script, builder().add_dialect("robo", Robo::default)].map(|it| it.build().unwrap());
            let [lua, rust] = engines.map(|engine| {
                let mut out = String::new();
                let mut pipeline = Pipeline::new(engine.setup());
                pipeline.push(input.as_bytes(), &mut out).unwrap();
                pipeline.finish(&mut out).unwrap();
                assert!(pipeline.report().awaits_outcome);
                assert_eq!(pipeline.report().lacks_outcome(), case == "a-stream-that-stops");
                out
            });
            assert_eq!(lines(&lua), lines(&rust), "{case}, {writer}");
        }
    }
}
