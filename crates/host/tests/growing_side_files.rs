//! A growing history and its sub-agents' files give the same items as the complete files.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use streamfmt::core::pipeline::{Pipeline, Setup};
use streamfmt::{Engine, GrowingSideFiles, subagents};

/// A session's files, by name; the first is the history.
struct Recorded(Vec<(String, String)>);

/// A session's files while they are written.
struct Growing {
    folder: PathBuf,
    /// The rest of each file, still to be written.
    left: Vec<(PathBuf, Vec<u8>)>,
}

impl Growing {
    fn new(name: &str, recorded: &Recorded) -> Self {
        let folder = tempfile::TempDir::with_prefix(format!("streamfmt-growing-{name}-")).unwrap().keep();
        let left = recorded.0.iter().map(|(name, text)| (folder.join(name), text.clone().into_bytes()));
        fs::create_dir_all(&folder).unwrap();
        Self { left: left.collect(), folder }
    }

    /// Writes up to `most` bytes more of a file.
    fn write(&mut self, index: usize, most: usize) {
        let (path, left) = &mut self.left[index];
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        let piece: Vec<u8> = left.drain(..most.min(left.len())).collect();
        file.write_all(&piece).unwrap();
    }

    fn history(&self) -> PathBuf {
        self.left[0].0.clone()
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Pseudo-random numbers, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

fn setup() -> Setup {
    Engine::builder().writer("items").build().unwrap().setup()
}

/// The items by their ids: each one's parent, kind and content.
fn items(text: &str) -> BTreeMap<String, String> {
    let of_line = |line: &str| {
        let item: serde_json::Value = serde_json::from_str(line).unwrap();
        let said = ["parent", "kind", "tool", "call", "input", "text"].map(|key| item[key].to_string());
        (item["id"].as_str().unwrap().to_owned(), said.join(" "))
    };
    let items: Vec<_> = text.lines().map(of_line).collect();
    let count = items.len();
    let items = BTreeMap::from_iter(items);
    assert_eq!(items.len(), count, "an item was told twice: {text}");
    items
}

/// The items of a session whose files are complete.
fn at_once(name: &str, recorded: &Recorded) -> BTreeMap<String, String> {
    let mut growing = Growing::new(name, recorded);
    (0..recorded.0.len()).for_each(|index| growing.write(index, usize::MAX));
    let history = growing.history();
    let mut pipeline =
        Pipeline::new(Setup { subagents: Some(subagents(history.clone(), Vec::new())), ..setup() });
    let mut text = String::new();
    pipeline.push(&fs::read(history).unwrap(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    items(&text)
}

/// The items of a session whose files grow in steps.
fn by_and_by(name: &str, recorded: &Recorded, seed: u64) -> BTreeMap<String, String> {
    let mut growing = Growing::new(&format!("{name}-{seed}"), recorded);
    let history = growing.history();
    let setup = setup();
    let side_files = GrowingSideFiles::new(&history, &[], setup.max_line);
    let mut pipeline = Pipeline::new(Setup { subagents: Some(side_files.subagents()), ..setup });
    let (mut text, mut read, mut chance) = (String::new(), 0, Chance(seed));
    loop {
        let unwritten: Vec<usize> =
            (0..growing.left.len()).filter(|index| !growing.left[*index].1.is_empty()).collect();
        if unwritten.is_empty() {
            break;
        }
        for _ in 0..=chance.below(4) {
            let most = [7, 300, 3_000, 30_000][chance.below(4)];
            growing.write(unwritten[chance.below(unwritten.len())], most);
        }
        let bytes = fs::read(&history).unwrap_or_default();
        side_files.push(&mut pipeline, &mut text).unwrap();
        pipeline.push(&bytes[read..], &mut text).unwrap();
        read = bytes.len();
    }
    side_files.finish(&mut pipeline, &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    items(&text)
}

#[track_caller]
fn check(name: &str, recorded: &Recorded, inside: usize) {
    let expected = at_once(name, recorded);
    let nested = expected.values().filter(|item| !item.starts_with("null ")).count();
    assert_eq!(nested, inside, "{expected:#?}");
    for seed in 0..24 {
        let got = by_and_by(name, recorded, seed);
        assert!(got == expected, "seed {seed}:\n{got:#?}\n{expected:#?}");
    }
}

/// A line of a Claude Code history, or of a sub-agent's file if `agent` names one.
fn line(id: &str, agent: &str, kind: &str, content: &str) -> String {
    let sidechain =
        if agent.is_empty() { String::new() } else { format!(r#""isSidechain":true,"agentId":"{agent}","#) };
    format!(
        r#"{{{sidechain}"type":"{kind}","message":{{"id":"m-{id}","role":"{kind}","content":[{content}]}},"uuid":"{id}","sessionId":"s-1"}}"#
    ) + "\n"
}

fn text(said: &str) -> String {
    format!(r#"{{"type":"text","text":"{said}"}}"#)
}

fn call(id: &str, prompt: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Agent","input":{{"prompt":"{prompt}"}}}}"#)
}

fn result(call: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"done {call}"}}"#)
}

/// The lines of a sub-agent: its task, `count` replies, and `more`.
fn agent(id: &str, prompt: &str, count: usize, more: &str) -> String {
    let replies = (0..count).map(|number| {
        line(
            &format!("{id}-{number}"),
            id,
            "assistant",
            &text(&format!("{id} {number} {}", "words ".repeat(20))),
        )
    });
    line(&format!("{id}-task"), id, "user", &text(prompt)) + &replies.collect::<String>() + more
}

#[test]
fn files_of_sub_agents_that_grow_say_what_they_say_at_once() {
    let history = line("1", "", "user", &text("Do it."))
        + &line("2", "", "assistant", &call("c-a", "Task A."))
        + &line("3", "", "assistant", &call("c-b", "Task B."))
        + &line("4", "", "user", &result("c-a"))
        + &line("5", "", "assistant", &text("A is done."))
        + &line("6", "", "user", &result("c-b"))
        + &line("7", "", "assistant", &text("All is done."));
    let inner_call = line("b-call", "b", "assistant", &call("c-inner", "Task C."));
    let side = |name: &str| format!("s/subagents/agent-{name}.jsonl");
    // An incomplete line, and one that names no call.
    let torn = r#"{"isSidechain":true,"type":"mystery","agentId":"a","sessionId":"s-1"}"#.to_owned()
        + "\n{\"type\":\"assi";
    let recorded = Recorded(vec![
        ("s.jsonl".to_owned(), history),
        (side("a"), agent("a", "Task A.", 30, &torn)),
        // The metadata file names the call; the prompt alone wouldn't identify it.
        ("s/subagents/agent-b.meta.json".to_owned(), r#"{"toolUseId":"c-b"}"#.to_owned()),
        (side("b"), agent("b", "Task B.", 5, &inner_call)),
        (side("c"), agent("c", "Task C.", 8, "")),
        (side("d"), agent("d", "Nobody's task.", 3, "")),
    ]);
    check("agents", &recorded, 31 + 1 + 1 + 6 + 1 + 9);
}

#[test]
fn a_recorded_session_says_the_same_as_it_grows() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.history");
    let agent = "subagents/agent-a4c19e07b25d83f61";
    let files = [".jsonl".to_owned(), format!("/{agent}.meta.json"), format!("/{agent}.jsonl")];
    let read = |name: String| (format!("s{name}"), fs::read_to_string(format!("{sample}{name}")).unwrap());
    check("sample", &Recorded(files.map(read).to_vec()), 8);
}

#[test]
fn session_files_of_sub_agents_grow_beside_that_of_the_session() {
    const IDS: [&str; 3] = [
        "01a2b3c4-0000-7000-8000-000000000001",
        "01a2b3c4-0000-7000-8000-000000000002",
        "01a2b3c4-0000-7000-8000-000000000003",
    ];
    let line = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-11-20T10:00:01.000Z","type":"{kind}","payload":{{{payload}}}}}"#)
            + "\n"
    };
    let begin = |id: &str, more: &str| line("session_meta", &format!(r#""id":"{id}",{more}"cwd":"/work""#));
    let of_parent = format!(r#""parent_thread_id":"{}","#, IDS[0]);
    // Each is recorded twice, for the model and as displayed: in one file the second line follows the first.
    let prompt = |text: &str| {
        line(
            "response_item",
            &format!(r#""type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]"#),
        ) + &line("event_msg", &format!(r#""type":"user_message","message":"{text}""#))
    };
    let reply = |text: &str| {
        line(
            "response_item",
            &format!(
                r#""type":"message","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]"#
            ),
        ) + &line("event_msg", &format!(r#""type":"agent_message","message":"{text}""#))
    };
    let spawn = |call: &str, agent: &str| {
        line(
            "response_item",
            &format!(
                r#""type":"function_call","name":"spawn_agent","arguments":"{{\"message\":\"Count.\"}}","call_id":"{call}""#
            ),
        ) + &line(
            "response_item",
            &format!(
                r#""type":"function_call_output","call_id":"{call}","output":"{{\"agent_id\":\"{agent}\"}}""#
            ),
        )
    };
    let tokens = |count: u32| {
        let total = format!(
            r#""total_token_usage":{{"input_tokens":{count},"output_tokens":{count},"total_tokens":{count}}}"#
        );
        line("event_msg", &format!(r#""type":"token_count","info":{{{total}}}"#))
    };
    let agent = |id: &str, name: &str| {
        let said: String = (0..6)
            .map(|number| prompt(&format!("{name} asked {number}")) + &reply(&format!("{name} {number}")))
            .collect();
        begin(id, &of_parent) + &said + &tokens(7) + &reply("The same words.")
    };
    let history = begin(IDS[0], "")
        + &prompt("Count all.")
        + &spawn("c-1", IDS[1])
        + &spawn("c-2", IDS[2])
        + &(0..6)
            .map(|number| prompt(&format!("And {number}?")) + &reply(&format!("Main {number}")))
            .collect::<String>()
        + &reply("The same words.")
        + &tokens(100);
    let name = |id: &str| format!("rollout-2026-11-20T10-00-01-{id}.jsonl");
    let recorded = Recorded(vec![
        (name(IDS[0]), history),
        (name(IDS[1]), agent(IDS[1], "one")),
        (name(IDS[2]), agent(IDS[2], "two")),
    ]);
    check("sessions", &recorded, 2 * 13);
}
