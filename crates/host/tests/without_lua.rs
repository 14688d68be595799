//! Without Lua: naming a plugin gives an error with the reason, and profile rules still apply.

#![cfg(not(feature = "lua"))]
#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fs;

use streamfmt::plugin::source::PluginSource;
use streamfmt::{Builder, Engine, Folders};

const WHY: &str =
    "plugins need Lua, and this program is built without it (build streamfmt with its feature \"lua\")";

const CALL: &str = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;

fn problems(builder: Builder) -> String {
    builder.build().map(|_| ()).unwrap_err().to_string()
}

#[test]
fn who_names_a_plugin_is_told_why_there_is_none() {
    let builder = Engine::builder;
    assert_eq!(problems(builder().plugin("cost")), format!("plugin cost: {WHY}"));
    assert_eq!(problems(builder().pack(PluginSource::from_text("x.lua", ""))), format!("x.lua: {WHY}"));
    let set = problems(builder().set("plugins=cost"));
    assert_eq!(set, format!("set plugins=cost: plugin \"cost\": {WHY}"));
}

#[cfg(all(unix, not(feature = "native")))]
#[test]
fn who_names_a_library_is_told_why_it_is_not_loaded() {
    let why = "this program is built without native plugins (build streamfmt with its feature \"native\")";
    assert_eq!(problems(Engine::builder().plugin("none.so")), format!("plugin none.so: {why}"));
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libx.so");
    fs::write(&library, "").unwrap();
    let builder = Engine::builder().dialect("claude").writer("text").set("tool.Bash.label=sh");
    let engine = builder.plugin(&library).build().unwrap();
    let journal = format!("{:?}", engine.journal().take());
    assert!(journal.contains("libx.so") && journal.contains("built without native plugins"), "{journal}");
    let text = engine.format_line(CALL);
    assert!(text.starts_with("● sh ls\n"), "rules hold without it: {text}");
}

#[cfg(all(unix, feature = "native"))]
#[test]
fn rules_hold_where_no_library_can_be_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libx.so");
    fs::write(&library, "").unwrap();
    let builder = Engine::builder().dialect("claude").writer("text").set("tool.Bash.label=sh");
    let engine = builder.plugin(&library).build().unwrap();
    let text = engine.format_line(CALL);
    assert!(text.starts_with("● sh ls\n"), "{text}");
}

#[test]
fn what_settings_say_of_plugins_is_told_at_its_place_and_the_rest_holds() {
    let folder = tempfile::TempDir::with_prefix("streamfmt-without-lua-").unwrap().keep();
    fs::create_dir_all(&folder).unwrap();
    let settings = "plugins = [\"cost\"]\n[tool.Bash]\nlabel = \"sh\"\nscript.arg = \"a.lua#arg\"\n";
    fs::write(folder.join("config.toml"), settings).unwrap();
    fs::write(folder.join("init.lua"), "").unwrap();
    let folders = Folders { config: Some(folder.clone()), home: Some(folder.clone()), ..Folders::default() };
    let engine = Engine::builder().dialect("claude").writer("text").folders(folders).build().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let told = engine.warnings().to_string();
    assert!(told.contains(&format!("config.toml:1:12: plugin \"cost\": {WHY}")), "{told}");
    assert!(told.contains("config.toml:4:14: ") && told.matches(WHY).count() == 3, "{told}");
    assert!(told.contains("init.lua: "), "{told}");
    let journal = format!("{:?}", engine.journal().take());
    assert!(journal.contains("init.lua") && journal.contains("plugins need Lua"), "{journal}");
    let text = engine.format_line(CALL);
    assert!(text.starts_with("● sh ls\n"), "{text}");
}
