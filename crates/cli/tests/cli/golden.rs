//! `streamfmt golden`: every exit code and every report.

use std::fs;

use serde_json::Value;

use crate::page::{blocks, follow};
use crate::program::{Folder, Outcome, quoted, reply};
#[cfg(unix)]
use crate::tty::Terminal;

/// A folder with these cases, each with its own reply; those in `expected` are accepted.
fn cases(expected: &[&str], new: &[&str]) -> Folder {
    let folder = Folder::new();
    for (number, name) in expected.iter().enumerate() {
        put(&folder, &format!("cases/{name}/input.ndjson"), &reply(number));
    }
    if !expected.is_empty() {
        folder.run("golden bless cases").expect(0, "");
    }
    for (number, name) in new.iter().enumerate() {
        put(&folder, &format!("cases/{name}/input.ndjson"), &reply(100 + number));
    }
    folder
}

fn put(folder: &Folder, name: &str, text: &str) {
    fs::create_dir_all(folder.path(name).parent().unwrap()).unwrap();
    folder.write(name, text);
}

#[track_caller]
fn last_line(outcome: &Outcome) -> &str {
    outcome.stdout.lines().last().unwrap()
}

#[test]
fn all_equal_is_0() {
    let outcome = cases(&["one", "two"], &[]).run("golden check cases").expect(0, "");
    assert_eq!(outcome.stdout, "2 passed, 0 failed\n");
}

#[test]
fn a_difference_is_1_and_shows_its_words() {
    let folder = cases(&["one", "two"], &[]);
    folder.write("cases/one/expected/default.text.txt", "  reply numero 0.\n");
    let told = "different one/default.text\n  cases/one/expected/default.text.txt\n  @@ line 1 → 1 @@\n  \
                -  reply [-numero-] 0.\n  +  reply {+number+} 0.\n  \
                to accept: streamfmt golden bless cases --case one/default.text\n\n1 different\n1 passed, 1 failed\n";
    assert_eq!(folder.run("golden check cases").expect(1, "").stdout, told);
    let unified = folder.run("golden check cases --diff unified").expect(1, "").stdout;
    assert!(unified.contains("  @@ -1,1 +1,1 @@\n  -  reply numero 0.\n  +  reply number 0.\n"), "{unified}");
    let told = folder.run("golden check cases --diff unified --report junit").expect(1, "").stdout;
    assert!(told.contains("@@ -1,1 +1,1 @@") && !told.contains("{+number+}"), "{told}");
    // The suggested command accepts it.
    folder.run("golden bless cases --case one/default.text").expect(0, "");
    folder.run("golden check cases").expect(0, "");
}

#[test]
fn a_wrong_set_up_is_2_and_the_others_are_tried_all_the_same() {
    let folder = cases(&["good"], &[]);
    put(&folder, "cases/no-input/case.toml", "title = \"x\"\n");
    put(&folder, "cases/typo/input.ndjson", &reply(1));
    put(&folder, "cases/typo/case.toml", "tilte = \"x\"\n");
    put(&folder, "cases/no-profile/input.ndjson", &reply(1));
    put(&folder, "cases/no-profile/case.toml", "profiles = [\"defualt\"]\n");
    put(&folder, "cases/unclosed/input.ndjson", &reply(1));
    put(
        &folder,
        "cases/unclosed/case.toml",
        "title = \"x\"\nprofiles = [\"default\", \"full\"\nwriters = []\n",
    );
    put(&folder, "cases/broken/input.ndjson", &reply(1));
    fs::create_dir_all(folder.path("cases/broken/expected/default.text.txt")).unwrap();
    let outcome = folder.run("golden check cases").expect(2, "");
    for told in [
        "cases/no-input/input.ndjson: can't read the input",
        "cases/typo/case.toml:1:1: unknown key \"tilte\" (did you mean \"title\"?)",
        "wrong no-profile/defualt.text",
        "cases/no-profile/case.toml:1:13: unknown profile \"defualt\" (did you mean \"default\"?)",
        "cases/unclosed/case.toml:3:1: unclosed array, expected `]`",
        "cases/broken/expected/default.text.txt: can't read the expected output",
        "5 with a set-up error",
    ] {
        assert!(outcome.stdout.contains(told), "{told} is not in\n{}", outcome.stdout);
    }
    assert_eq!(last_line(&outcome), "1 passed, 5 failed");
    folder.run("golden check nowhere").expect(2, "");
    assert_eq!(folder.run("golden check cases --diff sideways").code, Some(2));
}

const PLUGIN: &str = "name = \"loud\"\nversion = \"1.0.0\"\napi = 1\n";
const LOUD: &str = "sf.view(\"reply\", function(reply) return sf.prose(reply.text:upper()) end)\n";
const FAILING: &str = "sf.view(\"reply\", function(reply) return reply.text.nothing.at.all end)\n";

/// A plugin with a case.
fn plugin(script: &str) -> Folder {
    let folder = Folder::with(&[("plugin.toml", PLUGIN), ("init.lua", script)]);
    put(&folder, "tests/one/input.ndjson", &reply(1));
    folder
}

#[test]
fn a_plugin_that_fails_although_the_output_is_equal_is_3() {
    let folder = plugin("");
    folder.run("golden bless").expect(0, "");
    folder.write("init.lua", FAILING);
    let outcome = folder.run("golden check").expect(3, "");
    assert!(outcome.stdout.contains("plugin failed one/default.text"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("\n  plugin failed: init.lua:1: "), "{}", outcome.stdout);
    assert_eq!(last_line(&outcome), "0 passed, 1 failed");
    let outcome = folder.run("golden check --allow-plugin-errors").expect(0, "");
    assert_eq!(last_line(&outcome), "1 passed, 0 failed");
    // A failing case isn't accepted unless it expects the failure.
    folder.write("tests/one/expected/default.text.txt", "something else\n");
    let refused = folder.run("golden bless").expect(2, "").stdout;
    assert!(refused.starts_with("refused one/default.text: plugin failed: "), "{refused}");
    folder.write("tests/one/case.toml", "expect = { exit = 0, warnings = 1 }\n");
    folder.run("golden bless").expect(0, "");
    folder.run("golden check").expect(0, "");
    folder.write("tests/one/case.toml", "args.strict-plugins = true\nexpect = { exit = 3, warnings = 1 }\n");
    assert!(folder.read("tests/one/expected/stderr.txt").starts_with("warning[plugin]: loud failed"));
    folder.run("golden check").expect(0, "");
    folder.write("init.lua", LOUD);
    let outcome = folder.run("golden check").expect(1, "").stdout;
    assert!(outcome.contains("broken law: 0 plugin warnings instead of 1"), "{outcome}");
    assert!(outcome.contains("exit code 0 instead of 3 (--fail --strict-plugins)"), "{outcome}");
}

#[test]
fn a_plugin_that_fails_where_nothing_is_expected_is_new_even_if_it_may_fail() {
    let folder = plugin(FAILING);
    let told = folder.run("golden check --allow-plugin-errors").expect(4, "").stdout;
    assert!(told.contains("new one/default.text\n  plugin failed: init.lua:1: "), "{told}");
    assert!(told.ends_with("1 new\n0 passed, 1 failed\n"), "{told}");
    let told = folder.run("golden check --report junit").expect(4, "").stdout;
    assert!(told.contains("message=\"new: plugin failed: init.lua:1: "), "{told}");
}

#[test]
fn a_plugin_without_tests_is_told_how_to_get_one() {
    let folder = Folder::new();
    put(&folder, "my plugin/plugin.toml", PLUGIN);
    put(&folder, "my plugin/init.lua", LOUD);
    folder.write("session.ndjson", reply(1));
    let told = folder.run("golden check").expect(2, "").stdout;
    let command = told.split("add one: streamfmt ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(command, "golden add NAME --from FILE --root './my plugin/tests'");
    let add = folder
        .command("golden add one --from session.ndjson --root")
        .arg("./my plugin/tests")
        .output()
        .unwrap();
    Outcome::from(add).expect(0, "");
    let told = folder.run("golden check").expect(4, "").stdout;
    assert!(told.contains("  +  REPLY NUMBER 1.\n"), "{told}");
}

#[test]
fn only_new_ones_is_4() {
    let folder = cases(&["one"], &["fresh"]);
    let outcome = folder.run("golden check cases").expect(4, "");
    assert!(outcome.stdout.contains("new fresh/default.text\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("\n  +  reply number 100.\n"), "{}", outcome.stdout);
    assert_eq!(last_line(&outcome), "1 passed, 1 failed");
    folder.write("cases/one/expected/default.text.txt", "");
    folder.run("golden check cases").expect(1, "");
    assert!(
        folder.run("golden bless cases --new-only").expect(0, "").stdout.starts_with("wrote cases/fresh/")
    );
    folder.run("golden check cases").expect(1, "");
}

#[test]
fn nothing_tried_is_5() {
    let folder = cases(&["one"], &[]);
    let outcome = folder.run("golden check cases --case nothing*").expect(5, "");
    assert_eq!(
        outcome.stdout,
        "no cases were run (golden list shows all cases, golden add creates one)\n0 passed, 0 failed\n"
    );
    folder.write("cases/one/case.toml", "skip = \"until the format is settled\"\n");
    let outcome = folder.run("golden check cases").expect(5, "");
    assert!(outcome.stdout.starts_with("skipped one/default.text: until the format is settled\n"));
    assert_eq!(last_line(&outcome), "0 passed, 0 failed, 1 skipped");
}

#[test]
fn left_over_files_fail_when_strict_and_in_ci_until_they_are_cleaned_away() {
    let folder = cases(&["one"], &[]);
    put(&folder, "cases/one/expected/full.text.txt", "old\n");
    let told = folder.run("golden check cases").expect(0, "").stdout;
    assert!(told.starts_with("unused cases/one/expected/full.text.txt: "), "{told}");
    folder.run("golden check cases --strict").expect(1, "");
    let in_ci: Outcome = folder.command("golden check cases").env("CI", "true").output().unwrap().into();
    assert_eq!((in_ci.code, last_line(&in_ci)), (Some(1), "1 passed, 1 failed"));
    let told = folder.run("golden clean cases --dry-run").expect(0, "").stdout;
    assert_eq!(told, "would remove cases/one/expected/full.text.txt\n1 unused\n");
    folder.run("golden clean cases").expect(0, "");
    folder.run("golden check cases --strict").expect(0, "");
}

#[test]
fn nothing_is_accepted_in_ci_over_a_conflict_or_of_an_input_that_is_no_stream() {
    let folder = cases(&[], &["one"]);
    let in_ci =
        |arguments: &str| -> Outcome { folder.command(arguments).env("CI", "1").output().unwrap().into() };
    let told = "streamfmt: refusing to bless in CI: review the output first, or use --force\n";
    in_ci("golden bless cases").expect(2, told);
    in_ci("golden bless cases --force").expect(0, "");
    let conflict = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n";
    folder.write("cases/one/expected/default.text.txt", conflict);
    let told = folder.run("golden bless cases").expect(2, "").stdout;
    assert!(told.contains("default.text.txt:1: unresolved merge conflict"), "{told}");
    assert_eq!(folder.read("cases/one/expected/default.text.txt"), conflict);
    folder.write("cases/one/input.ndjson", "{\"type\":\"assis");
    folder.write("cases/one/expected/default.text.txt", "");
    let told = folder.run("golden bless cases").expect(2, "").stdout;
    assert!(told.contains("refused one/default.text: the input has 1 "), "{told}");
    folder.write("cases/one/case.toml", "expect = { damage = true }");
    folder.run("golden bless cases").expect(0, "");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_outside_of_the_case() {
    let folder = cases(&[], &["one"]);
    fs::create_dir_all(folder.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(folder.path("elsewhere"), folder.path("cases/one/expected")).unwrap();
    let told = folder.run("golden bless cases").expect(2, "").stdout;
    assert!(told.contains("outside the case folder"), "{told}");
    assert_eq!(fs::read_dir(folder.path("elsewhere")).unwrap().count(), 0);
}

/// A folder in which each state occurs, with text that every report must escape.
fn all_states() -> Folder {
    let folder = cases(&["deep/good", "deep/bad", "later"], &["fresh"]);
    folder.write("cases/deep/bad/expected/default.text.txt", "\u{1b}[2J <b>&\u{0}\u{ffff} # ]]>\n");
    folder.write("cases/later/case.toml", "title = \"a # b\"\nskip = \"# not yet\"\n");
    put(&folder, "cases/wrong/input.ndjson", &reply(3));
    put(&folder, "cases/wrong/case.toml", "writers = [\"txet\"]\n");
    put(&folder, "cases/missing/case.toml", "");
    put(&folder, "cases/deep/good/expected/old.text.txt", "");
    folder
}

#[test]
fn the_junit_report_is_xml_that_counts_right() {
    let folder = all_states();
    let told = folder.run("golden check cases --strict --report junit --report-file junit.xml").expect(2, "");
    assert_eq!(last_line(&told), "1 passed, 5 failed, 1 skipped");
    let xml = folder.read("junit.xml");
    let page = roxmltree::Document::parse(&xml).unwrap();
    let root = page.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    let tests: Vec<_> = page.descendants().filter(|node| node.has_tag_name("testcase")).collect();
    let having = |tag: &str| {
        tests.iter().filter(|test| test.children().any(|child| child.has_tag_name(tag))).count().to_string()
    };
    assert_eq!(root.attribute("tests"), Some(tests.len().to_string().as_str()));
    assert_eq!(root.attribute("failures"), Some(having("failure").as_str()));
    assert_eq!(root.attribute("errors"), Some(having("error").as_str()));
    assert_eq!(root.attribute("skipped"), Some(having("skipped").as_str()));
    let bad = tests.iter().find(|test| test.attribute("name") == Some("bad/default/text")).unwrap();
    assert_eq!(bad.attribute("classname"), Some("deep"));
    let text = bad.first_element_child().unwrap().text().unwrap();
    assert!(text.contains("␛[2J <b>&␀") && text.contains("]]>"), "{text}");
}

/// Everything that `golden.toml` may contain, all at once.
const GOLDEN: &str = r#"# golden.toml
profiles = ["default", "compact"]
writers  = ["text", "ansi", "markdown", "html"]
[env]
width = 80
timezone = "UTC"
now = "2026-01-01T00:00:00Z"
color = "truecolor"
[[redact]]                        # on the output
regex = '[0-9a-f]{8}-[0-9a-f-]{27}'
with = "<uuid>"
[[set]]                           # on the input, before the run
pointer = "/session_id"
value = "s-1"
"#;

#[test]
fn the_choices_of_a_folder_and_of_a_case_all_count() {
    let folder = Folder::new();
    put(&folder, "streamfmt.toml", "[profile.compact]\nlayout.margin = 4\n");
    put(&folder, ".git", "");
    put(&folder, "tests/golden/golden.toml", GOLDEN);
    let text =
        "Ticket 01234567-89ab-cdef-0123-456789abcdef, and more words than fit in a line of eighty columns.";
    let init = r#"{"type":"system","subtype":"init","session_id":"0-ever-another","model":"m"}"#;
    let long = reply(1).replace("reply number 1.", text);
    put(&folder, "tests/golden/long/input.ndjson", &format!("{init}\n{long}"));
    put(&folder, "tests/golden/small/one/input.ndjson", &reply(2));
    put(&folder, "tests/golden/small/one/case.toml", "matrix = [\"default.text\"]");
    put(&folder, "tests/golden/small/one/expected/default.text.txt", "  reply number 2.\n");
    let told = folder.run("golden bless --case long").expect(0, "").stdout;
    assert!(told.ends_with("8 written, 0 equal, 0 refused\n"), "{told}");
    assert_eq!(folder.run("golden check").expect(0, "").stdout, "9 passed, 0 failed\n");
    for expected in ["default.html.html", "compact.markdown.md"] {
        assert!(folder.path(&format!("tests/golden/long/expected/{expected}")).exists());
    }
    let text = folder.read("tests/golden/long/expected/compact.text.txt");
    assert!(text.starts_with("◇ m · s-1\n\n    Ticket <uuid>, and more"), "{text}");
    // Only terminal output depends on the width.
    assert_eq!(text.lines().count(), 3);
    assert_eq!(folder.read("tests/golden/long/expected/default.ansi.txt").lines().count(), 4);

    // A case overrides each setting separately.
    folder.write(
        "tests/golden/long/case.toml",
        "title = \"A long one\"\nmatrix = [\"default.text\"]\nargs = { width = 40, only = [\"call\"] }\n\
         expect = { exit = 0, warnings = 0 }\ntags = [\"slow\"]\nenv = { now = 2026-02-02T00:00:00+01:00 }\n",
    );
    let told = folder.run("golden list --tag slow").expect(0, "").stdout;
    assert_eq!(told, "long/default.text #slow  A long one\n");
    let told = folder.run("golden check --tag slow --strict").expect(1, "").stdout;
    assert!(told.contains("  A long one\n") && told.contains("  -  Ticket <uuid>, and more"), "{told}");
    let told = folder.run("golden check --strict").expect(1, "").stdout;
    assert!(told.ends_with("1 passed, 8 failed\n"), "{told}");
    folder.run("golden check --report junit --report-file junit.xml");
    let xml = folder.read("junit.xml");
    let page = roxmltree::Document::parse(&xml).unwrap();
    let suites: Vec<_> = page.descendants().filter(|node| node.has_tag_name("testsuite")).collect();
    let times: Vec<_> =
        suites.iter().map(|suite| (suite.attribute("name").unwrap(), suite.attribute("timestamp"))).collect();
    assert_eq!(times, [("golden", Some("2026-02-01T23:00:00Z")), ("small", Some("2026-01-01T00:00:00Z"))]);

    // An expectation about the run, and a skipped case.
    folder
        .write("tests/golden/long/case.toml", "writers = [\"text\"]\nexpect = { exit = 1, warnings = 1 }\n");
    let told = folder.run("golden check --case long").expect(1, "").stdout;
    assert!(told.contains("broken law: 0 plugin warnings instead of 1"), "{told}");
    assert!(told.contains("broken law: exit code 0 instead of 1 (--fail)"), "{told}");
    folder.write("tests/golden/long/case.toml", "skip = true\n");
    assert_eq!(last_line(&folder.run("golden check").expect(0, "")), "1 passed, 0 failed, 8 skipped");
    // Without a configured time, the report has none, so that it is reproducible.
    folder.write("tests/golden/golden.toml", "");
    let told = folder.run("golden check --report junit").expect(0, "").stdout;
    assert!(!told.contains("timestamp"), "{told}");
    folder.write("tests/golden/golden.toml", "[env]\nnow = \"yesterday\"\n");
    let told = folder.run("golden check").expect(2, "").stdout;
    assert!(
        told.contains(
            "golden.toml:2:7: \"yesterday\" is not a time with an offset (like 2026-01-01T00:00:00Z)"
        )
    );
}

#[test]
fn names_that_are_hostile_forge_no_line_and_can_be_accepted() {
    let folder = Folder::new();
    let names = ["new\nline", "sp ace", "it's", "esc\u{1b}[2J", "c1\u{9b}2J\u{202e}"];
    for (number, name) in names.iter().enumerate() {
        put(&folder, &format!("odd cases/{name}/input.ndjson"), &reply(number));
    }
    let outcome: Outcome = folder.command("golden check").arg("odd cases").output().unwrap().into();
    let told = outcome.expect(4, "").stdout;
    assert!(told.contains("new new␊line/default.text\n") && !told.contains('\u{1b}'), "{told}");
    let commands: Vec<&str> =
        told.lines().filter_map(|line| line.trim().strip_prefix("to accept: ")).collect();
    assert_eq!(commands.len(), names.len(), "{told}");
    for command in commands {
        let command = command.replacen("streamfmt", &quoted(env!("CARGO_BIN_EXE_streamfmt")), 1);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command]).current_dir(folder.path("."));
        shell.env_clear().env("HOME", folder.path("home")).env("PATH", "/usr/bin:/bin");
        let outcome: Outcome = shell.output().unwrap().into();
        assert!(outcome.expect(0, "").stdout.ends_with("1 written, 0 equal, 0 refused\n"), "{command}");
    }
}

#[test]
fn many_at_once_are_told_in_the_same_order() {
    let names: Vec<String> = (0..40).map(|number| format!("case-{number:02}")).collect();
    let folder = cases(&names.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    for name in &names {
        folder.write(&format!("cases/{name}/expected/default.text.txt"), "");
    }
    let one = folder.run("golden check cases -j 1").expect(1, "").stdout;
    for jobs in ["8", "0", "18446744073709551615"] {
        assert_eq!(one, folder.run(&format!("golden check cases -j {jobs}")).expect(1, "").stdout);
    }
    assert!(one.ends_with("40 different\n0 passed, 40 failed\n"));
}

#[test]
fn each_call_of_a_plugin_can_be_made_to_fail() {
    let folder = plugin(LOUD);
    folder.run("golden bless").expect(0, "");
    folder.run("golden check --fault-inject").expect(0, "");
    // A view that counts its calls: if one call fails, later output changes.
    let counting =
        "local n = 0\nsf.view(\"reply\", function(reply) n += 1 return sf.prose(n .. reply.text) end)\n";
    let folder = plugin(counting);
    put(&folder, "tests/one/input.ndjson", &[reply(1), reply(2), reply(3)].concat());
    folder.run("golden bless").expect(0, "");
    folder.run("golden check").expect(0, "");
    let told = folder.run("golden check --fault-inject").expect(1, "").stdout;
    assert!(
        told.contains("broken law: when plugin call 1 fails, m-2/0 changes too, not only m-1/0"),
        "{told}"
    );
}

#[test]
fn steps_of_a_plugin_are_counted_and_capped() {
    let folder = plugin("sf.view(\"reply\", function(reply) for i = 1, 100 do end return nil end)\n");
    folder.write("tests/one/case.toml", "fuel = 1000\n");
    folder.run("golden bless").expect(0, "");
    folder.run("golden check").expect(0, "");
    folder.write("tests/one/case.toml", "fuel = 99\n");
    let told = folder.run("golden check").expect(1, "").stdout;
    let (before, _) = told.split_once(" steps, more than its limit of 99 (fuel)").unwrap();
    let (_, steps) = before.rsplit_once("loud took ").unwrap();
    assert!((100..200).contains(&steps.parse::<u64>().unwrap()), "{told}");
}

#[test]
fn a_live_case_shows_each_state() {
    let folder = Folder::new();
    let event =
        |event: &str| format!("{{\"type\":\"stream_event\",\"event\":{event},\"session_id\":\"s\"}}\n");
    let delta = |text: &str| {
        event(&format!(
            "{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}"
        ))
    };
    let input = [
        event("{\"type\":\"message_start\",\"message\":{\"id\":\"m-7\",\"content\":[]}}"),
        event(
            "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}",
        ),
        delta("reply "),
        "@take\n".to_owned(),
        delta("number "),
        "@wait 20ms\n@wait 30ms\n".to_owned(),
        reply(7),
    ];
    put(&folder, "cases/grows/input.ndjson", &input.concat());
    folder.run("golden bless cases").expect(0, "");
    let expected = "@take: put m-7/0\n  reply\n\n@wait 20ms: nothing new\n\n@wait 30ms: put m-7/0\n  reply number\n\n\
                    @end: put m-7/0\n  reply number 7.\n";
    assert_eq!(folder.read("cases/grows/expected/default.text.txt"), expected);
    put(&folder, "cases/grows/input.ndjson", "{}\n@wait soon\n");
    let told = folder.run("golden check cases").expect(2, "").stdout;
    assert!(told.contains("input.ndjson: line 2: \"soon\" is not a duration"), "{told}");
}

#[test]
fn the_input_is_set_and_the_output_redacted() {
    let folder = Folder::new();
    let golden = "[[set]]\npointer = \"/message/content/0/text\"\nvalue = \"at 12:34\"\n\
                  [[redact]]\nregex = '\\d\\d:\\d\\d'\nwith = \"<time>\"\n";
    put(&folder, "cases/golden.toml", golden);
    put(&folder, "cases/one/input.ndjson", &reply(1));
    folder.run("golden bless cases").expect(0, "");
    assert_eq!(folder.read("cases/one/expected/default.text.txt"), "  at <time>\n");
    put(&folder, "cases/golden.toml", "[[redact]]\nregex = '('\nwith = \"\"\n");
    let told = folder.run("golden check cases").expect(2, "").stdout;
    assert!(told.contains("cases/golden.toml:1:1: invalid regex: "), "{told}");
}

#[test]
fn a_case_is_made_of_a_recording_without_what_is_nobodys_business() {
    let folder = Folder::new();
    let secret = reply(2).replace(
        "reply number 2.",
        "jane@example.org has ghp_abcdefghijklmnopqrstuvwxyz0123456789 in /home/jane/x",
    );
    folder.write("session.ndjson", [reply(1), secret, reply(3)].concat());
    let told = folder
        .run("golden add talk/secret --from session.ndjson --events 2..3 --redact --root cases")
        .expect(0, "");
    assert!(told.stdout.starts_with("wrote cases/talk/secret/input.ndjson: 2 lines\n"), "{}", told.stdout);
    let input = folder.read("cases/talk/secret/input.ndjson");
    assert_eq!(input.lines().count(), 2);
    assert!(!input.contains("jane") && !input.contains("ghp_"), "{input}");
    assert!(input.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{input}");
    folder.run("golden bless cases/talk/secret").expect(0, "");
    folder.run("golden check cases").expect(0, "");
    let mut piped = folder.command("golden add piped --from - --events 3 --root cases");
    piped.stdin(fs::File::open(folder.path("session.ndjson")).unwrap());
    let piped: Outcome = piped.output().unwrap().into();
    assert_eq!(piped.expect(0, "").stdout.lines().next(), Some("wrote cases/piped/input.ndjson: 1 line"));
    assert_eq!(folder.read("cases/piped/input.ndjson"), reply(3));
    let again = folder.run("golden add talk/secret --from session.ndjson --root cases");
    assert_eq!(again.stderr, "streamfmt: cases/talk/secret: already exists\n");
    for (arguments, told) in [
        ("golden add ../x --from session.ndjson", "is not a valid case name"),
        ("golden add x --from none.ndjson", "can't read none.ndjson: no such file or directory"),
        (
            "golden add talk/secret/deeper --from session.ndjson --root cases",
            "cases/talk/secret: this is a case",
        ),
        ("golden add x --from session.ndjson --events 9..", "no such line"),
        ("golden add x --from session.ndjson --events 3..1", "line numbers from 1"),
    ] {
        let outcome = folder.run(arguments);
        assert!(outcome.code == Some(2) && outcome.stderr.contains(told), "{outcome:?}");
    }
}

#[test]
fn cases_are_listed_and_found_by_name_tag_profile_and_writer() {
    let folder = cases(&[], &["a/one", "b/two"]);
    put(&folder, "cases/golden.toml", "profiles = [\"default\", \"full\"]\nwriters = [\"text\", \"json\"]\n");
    put(&folder, "cases/a/one/case.toml", "title = \"What one is about\"\ntags = [\"slow\"]\n");
    let told = folder.run("golden list cases --profile full --writer json").expect(0, "").stdout;
    assert_eq!(told, "a/one/full.json #slow  What one is about\nb/two/full.json\n");
    assert_eq!(folder.run("golden list cases --tag slow").expect(0, "").stdout.lines().count(), 4);
    assert_eq!(folder.run("golden list cases --case two").expect(0, "").stdout.lines().count(), 4);
    assert_eq!(folder.run("golden list cases/b/two").expect(0, "").stdout.lines().count(), 4);
    folder.run("golden list cases --case none").expect(5, "streamfmt: no cases found\n");
}

#[test]
fn without_a_terminal_review_tells_the_differences_and_the_commands() {
    let folder = cases(&["one"], &["fresh"]);
    let told = folder.run("golden review cases").expect(4, "").stdout;
    assert!(told.contains("streamfmt golden bless cases --case fresh/default.text"), "{told}");
}

#[cfg(unix)]
#[test]
fn in_a_terminal_review_asks_and_keeps_what_was_decided() {
    let folder = cases(&["one", "two"], &["fresh", "later"]);
    for name in ["one", "two"] {
        folder.write(&format!("cases/{name}/expected/default.text.txt"), "old\n");
    }
    // An unknown key is ignored. In order: the first case is accepted, the second is shown differently and rejected, then the user quits.
    let told = in_terminal(&folder, "golden review cases", &["\u{1b}[A", "a", "d", "r", "q"]);
    assert!(told.contains("1 of 4") && told.contains("accepted fresh/default.text"), "{told}");
    assert!(told.contains("1 accepted, 1 rejected, 2 left"), "{told}");
    assert_eq!(folder.read("cases/fresh/expected/default.text.txt"), "  reply number 100.\n");
    assert_eq!(folder.read("cases/one/expected/default.text.txt"), "old\n");
    assert!(!folder.path("cases/later/expected").exists());
    // An interrupt keeps earlier decisions as well; then the rest is accepted at once.
    let told = in_terminal(&folder, "golden review cases", &["a", "\u{3}"]);
    assert!(told.contains("1 accepted, 0 rejected, 2 left"), "{told}");
    let told = in_terminal(&folder, "golden review cases", &["A"]);
    assert!(told.contains("2 accepted, 0 rejected, 0 left"), "{told}");
    folder.run("golden check cases").expect(0, "");
}

/// The program's output on a terminal where these keys are hit, each at a prompt.
#[cfg(unix)]
fn in_terminal(folder: &Folder, arguments: &str, keys: &[&str]) -> String {
    let mut terminal = Terminal::start(folder, arguments, &[("TERM", "dumb")], "");
    for (index, key) in keys.iter().enumerate() {
        let prompts = |seen: &[u8]| seen.windows(3).filter(|bytes| bytes == b"\n> ").count();
        terminal.screen.until(|seen| prompts(seen) > index);
        terminal.hit(key);
    }
    terminal.until_end();
    terminal.written().replace('\r', "")
}

#[cfg(unix)]
#[test]
fn review_shows_the_whole_of_a_case_before_it_is_accepted_on_a_cleared_screen() {
    let folder = cases(&["one"], &[]);
    let lines = |word: &str| (0..90).map(|number| format!("{word} {number}\n")).collect::<Vec<_>>().concat();
    folder.write("cases/one/expected/default.text.txt", lines("old"));
    let told = in_terminal(&folder, "golden review cases", &["a", "a"]);
    let (first, whole) = told.split_once("\n> a\n").unwrap();
    assert!(
        first.contains("more lines") && first.contains("m show all") && !first.contains("old 89"),
        "{told}"
    );
    assert!(whole.contains("old 89") && !whole.contains("m show all"), "{told}");
    assert!(whole.contains("1 accepted, 0 rejected, 0 left"), "{told}");
    folder.write("cases/one/expected/default.text.txt", "old\n");
    let mut terminal = Terminal::start(&folder, "golden review cases", &[("TERM", "xterm")], "");
    terminal.screen.until(|seen| seen.ends_with(b"\n> "));
    terminal.hit("s");
    terminal.until_end();
    assert!(terminal.written().contains("\u{1b}[H\u{1b}[2J── 1 of 1 ──"), "{}", terminal.written());
}

#[test]
fn what_is_hardly_ever_meant_is_not_offered_for_acceptance() {
    let folder = cases(&[], &["fresh"]);
    for (input, told, key) in [
        ("{\"type\":\"assist\n", "the input has 1 damaged record", "damage"),
        ("", "the output is empty", "empty"),
    ] {
        folder.write("cases/fresh/input.ndjson", input);
        folder.write("cases/fresh/case.toml", "");
        let told = format!("can't be accepted: {told}; if that is intended, set expect.{key} = true\n");
        let outcome = folder.run("golden check cases").expect(4, "");
        assert!(outcome.stdout.contains(&told) && !outcome.stdout.contains("to accept:"), "{outcome:?}");
        folder.run("golden bless cases").expect(2, "");
        folder.write("cases/fresh/case.toml", format!("expect = {{ {key} = true }}"));
        folder.run("golden bless cases").expect(0, "");
        fs::remove_dir_all(folder.path("cases/fresh/expected")).unwrap();
    }
}

#[test]
fn drift_puts_a_new_subtree_into_one_line_and_shortens_paths() {
    let folder = Folder::new();
    put(&folder, "runs/old/a.ndjson", &reply(1));
    let new =
        reply(2).replace("\"session_id\"", "\"stats\":{\"killed\":{\"user\":3},\"done\":1},\"session_id\"");
    put(&folder, "runs/new/b.ndjson", &new);
    folder.run("golden drift runs/old/a.ndjson --baseline drift.json --write-baseline").expect(0, "");
    let told = folder.run("golden drift runs/old/a.ndjson runs/new/b.ndjson").expect(0, "").stdout;
    assert!(told.contains("1 × assistant.stats.*  2 fields, "), "{told}");
    assert!(told.contains("  new/b.ndjson:1\n") && !told.contains("runs/"), "{told}");
    let told = folder.run("golden drift runs/new/b.ndjson --baseline drift.json").expect(1, "").stdout;
    let line = "1 × assistant.stats.*  2 fields, done = 1  runs/new/b.ndjson:1\n";
    assert!(told.contains(line) || told.contains(&line.replace("runs/new/", "")), "{told}");
}

#[test]
fn drift_takes_folders_and_lists_what_is_unknown_first() {
    let folder = Folder::new();
    let new = reply(1).replace("\"session_id\"", "\"stats\":{\"killed\":3,\"done\":1},\"session_id\"");
    put(&folder, "runs/b/c.jsonl", &new);
    put(&folder, "runs/a.ndjson", "{\"type\":\"whatever\",\"session_id\":\"s-1\"}\n");
    put(&folder, "runs/notes.txt", "no recording\n");
    put(&folder, "none/notes.txt", "no recording\n");
    let told = folder.run("golden drift runs").expect(0, "").stdout;
    let [unknown, known] =
        ["fields that are unknown:\n", "fields that are known or ignored, and not shown:\n"]
            .map(|heading| told.find(heading).unwrap());
    assert!(told.starts_with("line types that are unknown:\n       1 × whatever  a.ndjson:1\n"), "{told}");
    assert!(unknown < known && told[unknown..known].contains("1 × assistant.stats.*  2 fields, "), "{told}");
    assert!(told[known..].contains("assistant.uuid") && !told[known..].contains("stats"), "{told}");
    assert!(told.contains("2 lines read, ") && told.ends_with(", 3 of them unknown\n"), "{told}");
    folder
        .run("golden drift none")
        .expect(2, "streamfmt: none: no recording (*.jsonl, *.ndjson) is in this folder\n");
}

#[test]
fn drift_puts_new_fields_beside_known_ones_into_one_line() {
    let folder = Folder::new();
    let new = |fields: &str| reply(1).replace("\"session_id\"", &format!("{fields},\"session_id\""));
    put(&folder, "old.ndjson", &reply(1));
    put(&folder, "new.ndjson", &new(r#""mood":1,"pace":2,"tone":3,"vein":4,"zest":5"#));
    put(&folder, "two.ndjson", &new(r#""mood":1,"pace":2"#));
    folder.run("golden drift old.ndjson --baseline drift.json --write-baseline").expect(0, "");
    let told = folder.run("golden drift new.ndjson --baseline drift.json").expect(1, "").stdout;
    assert!(
        told.contains("1 × assistant.{mood, pace, tone, vein, …}  5 fields, mood = 1  new.ndjson:1\n"),
        "{told}"
    );
    assert!(told.contains(", 5 new, "), "each is counted: {told}");
    let told = folder.run("golden drift two.ndjson --baseline drift.json").expect(1, "").stdout;
    assert!(told.contains("1 × assistant.mood = 1  ") && told.contains("1 × assistant.pace = 2  "), "{told}");
}

#[test]
fn drift_tells_what_is_new_against_a_baseline() {
    let folder = Folder::with(&[("old.ndjson", &reply(1))]);
    let told = folder.run("golden drift old.ndjson").expect(0, "").stdout;
    assert!(told.contains("1 × assistant.uuid = "), "{told}");
    assert!(!told.contains("content[text].text"), "{told}");
    folder.run("golden drift old.ndjson --baseline drift.json --write-baseline").expect(0, "");
    let told = folder.run("golden drift old.ndjson --baseline drift.json").expect(0, "").stdout;
    assert!(told.starts_with("1 line read, 0 new, "), "{told}");
    let new = reply(2).replace("\"session_id\"", "\"mood\":\"fine\",\"session_id\"");
    let call = r#"{"type":"assistant","message":{"id":"m-9","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Teleport","input":{"to":"x"}}]},"session_id":"s-1"}"#;
    folder.write(
        "new.ndjson",
        format!("{}{new}{call}\n{{\"type\":\"whatever\",\"session_id\":\"s-1\"}}\n", reply(1)),
    );
    let told = folder.run("golden drift old.ndjson new.ndjson --baseline drift.json").expect(1, "").stdout;
    for line in [
        "1 × whatever  new.ndjson:4\n",
        "1 × Teleport  new.ndjson:3\n",
        "1 × assistant.mood = \"fine\"  new.ndjson:2\n",
    ] {
        assert!(told.contains(line), "{line} is not in\n{told}");
    }
    let told = folder.run("golden drift new.ndjson --baseline drift.json --json").expect(1, "").stdout;
    let page: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&page["schema"], &page["lines"]), (&1.into(), &4.into()));
    assert!(
        page["found"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["name"] == "assistant.mood" && one["line"] == 2)
    );
    // A field that a plugin shows is no longer missing.
    folder.write(
        "mood.lua",
        "sf.view(\"reply\", function(reply) return sf.text(sf.json(reply.raw).mood or \"none\") end)\n",
    );
    let told = folder.run("golden drift new.ndjson --plugin mood.lua --json").expect(0, "").stdout;
    assert!(
        !told.contains("\"assistant.message[message].content[text].text\"") || told.contains("whatever"),
        "{told}"
    );
    // A failing plugin shows nothing, and the failure is reported.
    folder.write("mood.lua", FAILING);
    let outcome = folder.run("golden drift new.ndjson --plugin mood.lua");
    assert_eq!(
        (outcome.code, outcome.stderr.lines().next()),
        (Some(0), Some("warning[plugin]: mood failed while formatting reply (line 1)"))
    );
    // An agent whose lines have no type has fields as well.
    folder.write("acme.ndjson", "{\"say\":\"hi\",\"mood\":\"fine\"}\n");
    folder.write(
        "acme.lua",
        "sf.dialect(\"acme\", { detect = function(sample) return 1 end, \
         parse = function(line) return sf.item.reply { text = line.say } end })\n",
    );
    let told = folder.run("golden drift acme.ndjson --plugin acme.lua").expect(0, "").stdout;
    assert!(told.contains("1 × *.mood = \"fine\"  acme.ndjson:1\n") && !told.contains("*.say"), "{told}");
    folder
        .run("golden drift none.ndjson")
        .expect(2, "streamfmt: can't read none.ndjson: no such file or directory\n");
    let told = folder.run("golden drift old.ndjson --baseline none.json");
    assert!(told.code == Some(2) && told.stderr.contains("create it with --write-baseline"), "{told:?}");
    for (baseline, told) in [
        ("{\"schema\":1,\n\"known\":[", "broken.json:2:9: not a drift baseline"),
        ("{\"schema\":2,\"known\":[]}", "broken.json: the schema is not 1"),
        ("{\"schema\":1}", "broken.json: the list \"known\" is missing"),
    ] {
        folder.write("broken.json", baseline);
        let outcome = folder.run("golden drift old.ndjson --baseline broken.json");
        assert_eq!(outcome.code, Some(2));
        assert_eq!(outcome.stderr, format!("streamfmt: {told}; recreate it with --write-baseline\n"));
    }
    // A file that isn't a recording never passes by accident.
    folder.write("notes.txt", "no\nevents\n");
    let complaint = "streamfmt: notes.txt: no line is an event of a known agent\n";
    folder.run("golden drift notes.txt").expect(5, complaint);
    folder.run("golden drift notes.txt old.ndjson").expect(0, complaint);
}

const PAGE: &str = include_str!("../../../../docs/golden.md");

#[test]
fn the_ten_minutes_of_the_page_go_as_it_says() {
    let commands = follow(PAGE, &Folder::new());
    assert!(commands >= 7, "only {commands} commands were tried");
}

#[test]
fn of_a_page_only_what_it_says_can_be_compared() {
    let is_golden = |lines: &[&str]| lines.iter().any(|line| line.contains("DOCTYPE"));
    let (_, lines) = blocks(PAGE).into_iter().find(|(_, lines)| is_golden(lines)).unwrap();
    let folder = Folder::with(&[("golden.toml", &lines.join("\n"))]);
    put(&folder, "one/input.ndjson", &reply(1));
    folder.run("golden bless").expect(0, "");
    let page = folder.read("one/expected/default.html.html");
    assert!(page.starts_with("<body>") && page.contains("reply number 1."), "{page}");
    assert!(!page.contains("<style") && !page.contains("<script") && page.len() < 4_000, "{page}");
}

#[test]
fn the_commands_for_ci_work() {
    let mut commands = 0;
    for (_, lines) in blocks(PAGE).into_iter().filter(|(info, _)| *info == "yaml") {
        for line in lines {
            let line = line.trim_start().trim_start_matches("- ").trim_start_matches("run: ");
            let Some(arguments) = line.strip_prefix("streamfmt ") else { continue };
            let folder = plugin(LOUD);
            folder.run("golden bless").expect(0, "");
            let outcome: Outcome = folder.command(arguments).env("CI", "true").output().unwrap().into();
            assert_eq!(last_line(&outcome.expect(0, "")), "1 passed, 0 failed");
            assert!(roxmltree::Document::parse(&folder.read("golden.xml")).is_ok());
            folder.write("tests/one/expected/default.text.txt", "");
            let outcome: Outcome = folder.command(arguments).env("CI", "true").output().unwrap().into();
            assert_eq!(outcome.code, Some(1));
            commands += 1;
        }
    }
    assert_eq!(commands, 2);
}
