//! The types that may go to another thread, and those that must not.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::thread;

use streamfmt::core::pipeline::Pipeline;
use streamfmt::tools::rule::{Origin, RuleValue, ToolField};
use streamfmt::{Engine, ToolRule};

const LINES: [&str; 2] = [
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a.rs"}]}}"#,
];

/// Formats the first line on this thread and the second one on another.
fn on_two_threads(engine: &Engine) -> thread::Result<String> {
    let (mut pipeline, mut text) = (Pipeline::new(engine.setup()), String::new());
    pipeline.push(format!("{}\n", LINES[0]).as_bytes(), &mut text).unwrap();
    let other = thread::spawn(move || {
        pipeline.push(LINES[1].as_bytes(), &mut text).unwrap();
        pipeline.finish(&mut text).unwrap();
        text
    });
    other.join()
}

#[test]
fn a_pipeline_without_scripts_goes_on_on_another_thread() {
    let origin = Origin { file: "here".to_owned(), line: 1 };
    let label = RuleValue { value: "sh".to_owned(), origin: origin.clone() };
    let rule = ToolRule { fields: vec![(ToolField::Label, label)], ..ToolRule::new("Bash", origin) };
    let engine = Engine::builder().dialect("claude").writer("text").tool(rule).build().unwrap();
    let text = on_two_threads(&engine).unwrap();
    assert_eq!(text, engine.format_line(&LINES.join("\n")));
    assert!(text.starts_with("● sh ls\n"), "{text}");
}

#[cfg(feature = "lua")]
mod scripts {
    use streamfmt::plugin::source::PluginSource;

    use super::*;

    fn with_a_script() -> Engine {
        let pack = PluginSource::from_text("x.lua", r#"sf.tool("*", { label = "x" })"#);
        Engine::builder().dialect("claude").writer("text").pack(pack).build().unwrap()
    }

    #[test]
    fn what_scripts_take_part_in_stays_on_its_thread() {
        let engine = with_a_script();
        let panic = on_two_threads(&engine).unwrap_err();
        let told = panic.downcast_ref::<&str>().unwrap();
        assert!(told.contains("is used on another thread than the one that made it"), "{told}");
    }
}
