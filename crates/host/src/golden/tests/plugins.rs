//! Cases with plugins.

use super::*;
use crate::plugin::source::PluginSource;

#[test]
fn cells_with_equal_settings_share_one_engine() {
    let files = [
        ("p/plugin.toml", "name = \"p\"\nversion = \"1\"\napi = 1"),
        ("p/init.lua", ""),
        ("p/tests/golden.toml", "writers = [\"text\", \"roles\"]"),
        ("p/tests/a/input.ndjson", REPLY),
        ("p/tests/a/case.toml", "title = \"says nothing of formatting\"\nexpect.exit = 0"),
        ("p/tests/b/input.ndjson", REPLY),
        ("p/tests/c/input.ndjson", REPLY),
        ("p/tests/c/case.toml", "args.width = 20"),
    ];
    let folder = Folder::new("engines", &files);
    let engines = engines::Engines::default();
    let of = |cell: &CaseVariant| {
        let case = &cell.case;
        engines.get(case, &cell.profile, &cell.writer).unwrap()
    };
    let cells = folder.cells();
    let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    let all = ["p/a/default.roles", "p/a/default.text", "p/b/default.roles", "p/b/default.text"];
    assert_eq!(names[..4], all);
    let made: Vec<_> = std::thread::scope(|scope| {
        let of = &of;
        let threads: Vec<_> = cells.iter().map(|cell| scope.spawn(move || of(cell))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (one, other, are_same) in [(0, 2, true), (1, 3, true), (0, 1, false), (0, 4, false)] {
        assert_eq!(
            std::sync::Arc::ptr_eq(&made[one], &made[other]),
            are_same,
            "{} and {}",
            names[one],
            names[other]
        );
    }
}

#[test]
fn a_folder_of_cases_may_have_a_plugin_for_each() {
    let script = |label: &str| format!("sf.view(\"reply\", function() return \"{label}\" end)");
    let (one, two) = (script("first"), script("second"));
    let files = [
        ("scripts/one.lua", one.as_str()),
        ("scripts/two.lua", two.as_str()),
        ("cases/golden.toml", "plugins = [\"../scripts/{case}.lua\"]"),
        ("cases/one/input.ndjson", REPLY),
        ("cases/two/input.ndjson", REPLY),
    ];
    let folder = Folder::new("each", &files);
    let texts: Vec<String> = folder.cells().iter().map(|cell| cell.check().text).collect();
    assert_eq!(texts, ["  first\n", "  second\n"]);
}

#[test]
fn the_files_of_a_plugins_writer_have_its_extension() {
    let writer = "sf.writer(\"wiki\", { base = \"markdown\", ext = \"wiki\" })";
    let files = [
        ("plugin.toml", "name = \"p\"\nversion = \"1\"\napi = 1"),
        ("init.lua", writer),
        ("tests/a/input.ndjson", REPLY),
        ("tests/a/case.toml", "writers = [\"wiki\"]"),
    ];
    let folder = Folder::new("ending", &files);
    assert!(folder.cells()[0].file.ends_with("a/expected/default.wiki.wiki"));
    // The plugin's error explains more than the missing format that it causes.
    fs::write(folder.0.join("init.lua"), writer.replace("markdown", "markdwon")).unwrap();
    let problems = folder.cells()[0].check().problems;
    let place = folder.0.join("init.lua");
    assert_eq!(
        problems[0],
        format!(
            "{}:1:1: sf.writer: a writer can't be based on \"markdwon\" (did you mean \"markdown\"?)",
            place.display()
        )
    );
    assert!(problems[1].contains("a/case.toml:1:12: unknown output format"), "{problems:?}");
}

#[test]
fn an_item_of_one_function_that_fails_is_formatted_as_without_plugins() {
    let input = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}},{"type":"text","text":"done"}]}}"#;
    let with = |script: &str| {
        Engine::builder()
            .dialect("claude")
            .writer("text")
            .pack(PluginSource::from_text("p.lua", script))
            .build()
            .unwrap()
    };
    let lone = with(
        "sf.tool('Bash', { arg = function() return 'x' end }) sf.redact({ patterns = { word = 'ls' } })",
    );
    assert_eq!(faults::broken(&lone, input.as_bytes()), [""; 0]);
    // The result is compared with the entries without plugins.
    let entries = faults::entries(&lone.with_own_journal(), input.as_bytes()).unwrap();
    let other = faults::one_fails(&lone, input.as_bytes(), &entries, &faults::EntriesById::new(), 1);
    assert_eq!(other.as_deref(), Some("when plugin call 1 fails, t is not formatted as without plugins"));
    // The label is data, so it stays when the function fails.
    let both = with("sf.tool('Bash', { label = 'sh', arg = function() return 'x' end })");
    assert_eq!(faults::broken(&both, input.as_bytes()), [""; 0]);
    let entries = faults::entries(&both.with_own_journal(), input.as_bytes()).unwrap();
    assert_eq!(faults::one_fails(&both, input.as_bytes(), &entries, &faults::EntriesById::new(), 1), None);
}

#[test]
fn a_record_for_which_a_call_fails_stays_in_the_text() {
    let script = "sf.records('poll', { begin = function() return {} end, \
                  add = function(s, r) s[#s + 1] = r.type return s end, \
                  view = function(s) return table.concat(s, ' ') end })";
    let engine = Engine::builder().dialect("claude").writer("text").set("records=poll");
    let engine = engine.pack(PluginSource::from_text("p.lua", script)).build().unwrap();
    let text = r#"a\n{\"type\":\"x\"}\nb\n{\"type\":\"y\"}\nc\n{\"type\":\"z\"}"#;
    let input = format!(
        r#"{{"type":"assistant","message":{{"id":"m","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    );
    let entries = faults::entries(&engine.with_own_journal(), input.as_bytes()).unwrap();
    assert_eq!(entries.len(), 4, "{entries:?}");
    assert_eq!(faults::broken(&engine, input.as_bytes()), [""; 0]);
}
