//! Instructions for records, the check of a model's output, and the key that shows records as a tree.

use serde_json::json;

use crate::program::Folder;

const PLAN: &str = r#"Two lists, since the data can move first.
{"type": "project", "name": "Seed library"}
{"type": "tasklist", "id": "tl-1", "name": "Catalogue"}
{"type": "tasklist", "id": "tl-2", "name": "Lending"}
{"type": "task", "id": "t-1", "tasklistId": "tl-1", "name": "Write down all packets", "priority": "high"}
{"type": "subtask", "taskId": "t-1", "name": "Number the drawers"}
{"type": "task", "id": "t-2", "tasklistId": "tl-2", "name": "Cards", "color": "green"}
{"type": "complete"}
"#;

const RECIPE: &str = "about = 'Write a recipe.'\n[[type]]\nname = 'recipe'\nfields.name = 'Soup'\n\
                      [[type]]\nname = 'step'\nparent = 'recipe'\nfields.name = 'Boil water'\n";

fn reply(text: &str) -> String {
    let message = json!({"id": "m", "role": "assistant", "content": [{"type": "text", "text": text}]});
    format!("{}\n", json!({"type": "assistant", "message": message, "session_id": "s"}))
}

#[test]
fn what_the_instructions_ask_for_passes_the_check() {
    let folder = Folder::with(&[("recipe.toml", RECIPE)]);
    for schema in ["project", "recipe.toml", "./recipe.toml"] {
        let prompt = folder.run(&format!("records prompt {schema}")).expect(0, "").stdout;
        folder.write("prompt.md", &prompt);
        let checked = folder.run(&format!("records check {schema} prompt.md")).expect(0, "").stdout;
        assert_eq!(checked, "prompt.md: fine\n");
        let piped = folder.pipe(&format!("records check {schema} -"), &prompt).expect(0, "").stdout;
        assert_eq!(piped, "standard input: fine\n");
    }
    let prompt = folder.run("records prompt project").expect(0, "").stdout;
    let words: String = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    for wanted in [
        "First think the whole of it through, in prose",
        "one complete JSON object per line",
        "no trailing commas",
        "Quotes are `\"`",
        "`tl-1` for a tasklist and `t-1` for a task",
        "1. `project`, once",
        "2. `tasklist`",
        "list by list",
        "Break down every task that takes more than one step",
        "5. `complete`: once, as the very last line",
    ] {
        assert!(words.contains(wanted), "{wanted:?} in {prompt}");
    }
}

#[test]
fn what_does_not_fit_is_listed_by_its_line() {
    let folder = Folder::with(&[("plan.jsonl", PLAN)]);
    assert_eq!(folder.run("records check project plan.jsonl").expect(0, "").stdout, "plan.jsonl: fine\n");
    let changed = PLAN
        .replace("\"id\": \"tl-2\"", "\"id\": \"tl-3\"")
        .replace("\"type\": \"subtask\"", "\"type\": \"sub-task\"")
        .replace("{\"type\": \"complete\"}\n", "");
    folder.write("plan.jsonl", changed);
    let listed = folder.run("records check project plan.jsonl").expect(1, "").stdout;
    let expected = "plan.jsonl:6: unknown type \"sub-task\" (did you mean \"subtask\"?)\n\
                    plan.jsonl:7: no tasklist \"tl-2\" comes before it\n\
                    plan.jsonl:8: there is no complete at the end\n";
    assert_eq!(listed, expected);
}

#[test]
fn a_hostile_file_is_checked_within_bounds_and_listed_clean() {
    let folder = Folder::new();
    let deep = "[".repeat(1_000) + &"]".repeat(1_000);
    let mut bytes = Vec::new();
    for line in [
        format!("{{\"type\": \"project\", \"name\": \"{}\"}}", "x".repeat(10 << 20)).as_bytes(),
        format!("{{\"type\": \"project\", \"name\": \"P\", \"deep\": {deep}}}").as_bytes(),
        b"{\"type\": \"\x1b[2J\xe2\x80\xae\"}",
        b"{\"type\": \"project\", \"name\": \"\xff\"}",
        b"{\"type\": \"\\u001b[2J\"}",
        b"\xff\xfe prose {\"type\": 1}",
        "{".repeat(100_000).as_bytes(),
        b"{\"type\": \"complete\"}",
    ] {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    folder.write("hostile.jsonl", bytes);
    let outcome = folder.run("records check project hostile.jsonl").expect(1, "");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let numbers: Vec<&str> = lines.iter().filter_map(|line| line.split(':').nth(1)).collect();
    assert_eq!(numbers, ["1", "3", "4", "5", "7"], "{lines:#?}");
    assert_eq!(lines[0], "hostile.jsonl:1: longer than 1024 KiB");
    assert_eq!(lines[2], "hostile.jsonl:4: it isn't UTF-8 from column 30");
    let is_clean = |line: &&&str| line.len() < 300 && !line.contains(['\x1b', '\u{202e}']);
    assert_eq!(lines.iter().filter(is_clean).count(), lines.len(), "{lines:#?}");
}

#[test]
fn what_is_wrong_with_the_arguments_is_said() {
    let folder = Folder::with(&[("wrong.toml", "[[type]]\nname = 'step'\nlable = 'x'\n"), ("plan", PLAN)]);
    let listed = "streamfmt: wrong.toml:3:1: unknown key \"lable\" (did you mean \"label\"?)\n  \
                  3 | lable = 'x'\n    | ^^^^^\n";
    folder.run("records prompt wrong.toml").expect(2, listed);
    let unknown = "streamfmt: projct: unknown schema (did you mean \"project\"?)\n";
    folder.run("records check projct plan").expect(2, unknown);
    folder
        .run("records check project none")
        .expect(2, "streamfmt: can't read none: no such file or directory\n");
}

#[test]
fn a_profile_shows_the_records_of_a_schema_as_a_tree() {
    let steps =
        "First:\n{\"type\": \"recipe\", \"name\": \"Soup\"}\n{\"type\": \"step\", \"name\": \"Boil it\"}";
    let folder = Folder::with(&[
        ("recipe.toml", RECIPE),
        ("s.jsonl", &reply(steps)),
        ("plan.jsonl", &reply(PLAN)),
        (
            "config.toml",
            "records = 'recipe.toml'\n[profile.off]\nrecords = 'none'\n[profile.typo]\nrecords = 'projct'\n",
        ),
    ]);
    let tree = "≡ Soup · recipe\n  • Boil it · step\n";
    for arguments in ["--set records=recipe.toml s.jsonl", "--config config.toml s.jsonl"] {
        let text = folder.run(arguments).expect(0, "").stdout;
        assert!(text.contains(tree) && !text.contains('{'), "{text}");
    }
    let off = folder.run("--config config.toml --profile off s.jsonl").expect(0, "").stdout;
    assert!(off.contains("{\"type\": \"recipe\"") && !off.contains('≡'), "{off}");
    let plan = folder.run("--set records=project plan.jsonl").expect(0, "").stdout;
    assert!(plan.contains("≡ Seed library · project") && plan.contains("      color: green\n"), "{plan}");

    let told = "streamfmt: config.toml:5:11: unknown schema \"projct\" (did you mean \"project\"?)\n  \
                5 | records = 'projct'\n    |           ^^^^^^^^\n";
    let typo = folder.run("--config config.toml --profile typo s.jsonl").expect(2, told);
    assert!(typo.stdout.is_empty());
    folder
        .run("--set records=none.toml s.jsonl")
        .expect(2, "streamfmt: --set records=none.toml: can't read the schema none.toml: no such file\n");
    folder.write("recipe.toml", "[[type]]\nname = 'step'\nlabel = 'nmae'\nfields.name = 'x'\n");
    let told = "streamfmt: recipe.toml:3:9: the type step has no field \"nmae\" (did you mean \"name\"?)\n  \
                3 | label = 'nmae'\n    |         ^^^^^^\n";
    folder.run("--config config.toml s.jsonl").expect(2, told);
    let explained = folder.run("config explain records --config config.toml --profile off").expect(0, "");
    assert!(explained.stdout.contains("\n  now      \"none\"  (config.toml:3)\n"), "{explained:?}");
}
