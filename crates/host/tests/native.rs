//! Native plugins as embedders load them: the checked library is loaded, once, and stays loaded.

#![cfg(all(unix, feature = "native"))]
#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use streamfmt::{Engine, Pipeline};

/// Compiles a plugin that puts `word` in the title of each call.
fn library(folder: &Path, word: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = folder.join(format!("{word}.so"));
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-I"]);
    command.arg(here.join("../plugin/include")).arg(format!("-DWORD=\"{word}\""));
    let compiled = command.arg(here.join("tests/native/counts.c")).arg("-o").arg(&out).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    out
}

fn engine(library: &Path) -> Engine {
    Engine::builder().dialect("claude").writer("text").plugin(library).build().unwrap()
}

fn call(number: usize) -> String {
    format!(
        "{{\"type\":\"assistant\",\"message\":{{\"id\":\"m{number}\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{number}\",\
         \"name\":\"Bash\",\"input\":{{\"command\":\"ls\"}}}}]}}}}\n"
    )
}

/// The output for a call.
fn said(engine: &Engine) -> String {
    engine.format_line(&call(1)).lines().next().unwrap().trim().to_owned()
}

#[test]
fn what_was_checked_is_loaded_though_another_file_lies_there_by_then() {
    let folder = tempfile::tempdir().unwrap();
    let (checked, other) = (library(folder.path(), "checked"), library(folder.path(), "other"));
    let engine = self::engine(&checked);
    fs::rename(&other, &checked).unwrap();
    assert_eq!(said(&engine), "checked 1.1");
    assert_eq!(said(&self::engine(&checked)), "other 1.1");
    fs::remove_file(&checked).unwrap();
    assert_eq!(said(&engine.with_own_journal()), "checked 2.1");
}

#[test]
fn a_library_is_loaded_once_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path(), "stays");
    // Its counter goes on after all its users are gone: it was neither unloaded nor loaded again.
    for instance in 1..=3 {
        assert_eq!(said(&engine(&library)), format!("stays {instance}.1"));
    }
    let copy = folder.path().join("copy.so");
    fs::copy(&library, &copy).unwrap();
    assert_eq!(said(&engine(&copy)), "stays 4.1");
}

#[test]
fn each_pipeline_has_its_instance_and_goes_with_it_from_thread_to_thread() {
    const CALLS: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&library(folder.path(), "threads"));
    let begun: Vec<Pipeline> = (0..4)
        .map(|_| {
            let mut pipeline = Pipeline::new(engine.setup());
            pipeline.push(call(0).as_bytes(), &mut String::new()).unwrap();
            pipeline
        })
        .collect();
    let threads = begun.into_iter().map(|mut pipeline| {
        thread::spawn(move || {
            let mut text = String::new();
            for number in 1..CALLS {
                pipeline.push(call(number).as_bytes(), &mut text).unwrap();
            }
            pipeline.finish(&mut text).unwrap();
            text
        })
    });
    let texts: Vec<String> = threads.collect::<Vec<_>>().into_iter().map(|it| it.join().unwrap()).collect();
    for (at, text) in texts.iter().enumerate() {
        let last = text.lines().map(str::trim).rfind(|line| line.starts_with("threads")).unwrap();
        assert_eq!(last, format!("threads {}.{CALLS}", at + 1), "{text}");
    }
}
