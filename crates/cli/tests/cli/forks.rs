//! Sessions whose files begin with lines of another session.

use crate::program::{Folder, Outcome};
#[cfg(unix)]
use crate::program::{Running, Signal};

/// The ids of the sessions; each one continues the one before.
const IDS: [&str; 4] = [
    "01a2b3c4-0000-7000-8000-00000000000a",
    "01a2b3c5-0000-7000-8000-00000000000b",
    "01a2b3c6-0000-7000-8000-00000000000c",
    "01a2b3c7-0000-7000-8000-00000000000d",
];

/// The path of a session's file in its folder.
fn path(id: &str) -> String {
    format!("{}/rollout-2026-11-20T09-00-00-{id}.jsonl", "2026/11/20")
}

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-11-20T09:00:00.000Z","type":"{kind}","payload":{payload}}}"#) + "\n"
}

fn meta(id: &str, more: &str) -> String {
    line("session_meta", &format!(r#"{{"id":"{id}",{more}"cwd":"/home/dev/shop","cli_version":"0.144.0"}}"#))
}

/// A turn with a prompt, a call, and the reply "NAME done."
fn turn(name: &str) -> String {
    let part = |kind: &str, payload: String| line(kind, &payload);
    line("turn_context", r#"{"cwd":"/home/dev/shop","model":"gpt-5.5"}"#)
        + &part("event_msg", format!(r#"{{"type":"user_message","message":"{name} please.","images":[]}}"#))
        + &part(
            "response_item",
            format!(
                r#"{{"type":"function_call","name":"exec_command","call_id":"{name}","arguments":"{{\"cmd\":\"make {name}\"}}"}}"#
            ),
        )
        + &part(
            "response_item",
            format!(
                r#"{{"type":"function_call_output","call_id":"{name}","output":"Process exited with code 0\nOutput:\n{name} made\n"}}"#
            ),
        )
        + &part("event_msg", format!(r#"{{"type":"agent_message","message":"{name} done."}}"#))
}

fn forked(from: &str) -> String {
    format!(r#""forked_from_id":"{from}","#)
}

/// A copy of lines as the agent writes it: with new times and without empty fields.
fn copy(lines: &str) -> String {
    lines.replace("T09:00", "T11:30").replace(r#","images":[]"#, r#","images":[],"local_images":null"#)
}

/// The files of a session, of its fork after two of three turns, and of a fork of that fork.
fn files() -> [String; 3] {
    let begin = meta(IDS[0], "") + &turn("one") + &turn("two");
    let origin = begin.clone() + &turn("three");
    let fork = meta(IDS[1], &forked(IDS[0])) + &copy(&begin) + &turn("four");
    let third = meta(IDS[2], &forked(IDS[1])) + &copy(&fork) + &turn("five");
    [origin, fork, third]
}

/// For each turn shown: its name and the session that its items belong to, in order.
fn turns(outcome: &Outcome) -> Vec<(String, Option<usize>)> {
    let value = |line: &str, key: &str| {
        let (_, rest) = line.split_once(&format!("\"{key}\":\""))?;
        Some(rest.split('"').next().unwrap_or_default().to_owned())
    };
    let shown = outcome.stdout.lines().filter(|line| line.contains(r#""kind":"prompt""#));
    let turn = |line: &str| {
        let repeats = value(line, "repeats");
        assert_eq!(repeats.is_some(), value(line, "session") == repeats, "{line}");
        let name = value(line, "text").unwrap();
        let number = repeats.map(|id| IDS.iter().position(|known| *known == id).unwrap());
        (name.split(' ').next().unwrap().to_owned(), number)
    };
    shown.map(turn).collect()
}

fn expected(turns: &[(&str, Option<usize>)]) -> Vec<(String, Option<usize>)> {
    turns.iter().map(|(name, of)| ((*name).to_owned(), *of)).collect()
}

const SHARED: &str = "the history of session 01a2b3c4-0000-7000-8000-00000000000a ends here";
const MISSING: &str =
    "the origin isn't at hand: what follows may repeat session 01a2b3c4-0000-7000-8000-00000000000a";

#[test]
fn what_a_fork_repeats_is_its_origins_wherever_that_is() {
    let [origin, fork, _] = files();
    let own = [("one", Some(0)), ("two", Some(0)), ("four", None)];
    let folder = Folder::new();
    folder.write("fork.jsonl", &fork);
    let missing = folder.run("fork.jsonl").expect(0, "").stdout;
    assert!(missing.contains(MISSING) && !missing.contains(SHARED), "{missing}");
    let items = folder.run("--to items fork.jsonl");
    assert_eq!(turns(&items), expected(&own.map(|(name, _)| (name, None))));
    assert!(items.stdout.contains(r#""event":"origin-missing""#), "{}", items.stdout);

    // A file that has the origin's name but not its id.
    folder.write(&format!("rollout-{}.jsonl", IDS[0]), meta(IDS[3], ""));
    assert!(folder.run("fork.jsonl").stdout.contains(MISSING));

    let places = [format!("rollout-{}.jsonl", IDS[0]), format!("home/.codex/sessions/{}", path(IDS[0]))];
    for place in places {
        folder.write(&place, &origin);
        let shown = folder.run("fork.jsonl").expect(0, "").stdout;
        assert!(shown.contains(SHARED) && !shown.contains(MISSING), "{place}: {shown}");
        for text in ["one please.", "one done.", "two made", "four please.", "four done."] {
            assert_eq!(shown.matches(text).count(), 1, "{text}: {shown}");
        }
        let own_part = shown.split_once(SHARED).unwrap().1;
        assert!(own_part.contains("four please.") && !own_part.contains("two"), "{shown}");
        assert!(!shown.contains("three"), "{shown}");
        assert_eq!(turns(&folder.run("--to items fork.jsonl")), expected(&own));
        std::fs::remove_file(folder.path(&place)).unwrap();
    }

    // Older versions don't name the origin: its first line follows the fork's own.
    folder.write(&format!("rollout-{}.jsonl", IDS[0]), &origin);
    folder.write("unnamed.jsonl", fork.replace(&forked(IDS[0]), ""));
    assert_eq!(turns(&folder.run("--to items unnamed.jsonl")), expected(&own));
    std::fs::remove_file(folder.path(&format!("rollout-{}.jsonl", IDS[0]))).unwrap();
    assert!(folder.run("unnamed.jsonl").stdout.contains(MISSING));

    let stored = format!("elsewhere/{}", path(IDS[0]));
    folder.write(&stored, &origin);
    assert!(folder.run("fork.jsonl").stdout.contains(MISSING));
    folder.run("sessions import elsewhere").expect(0, "");
    assert!(folder.run("fork.jsonl").stdout.contains(SHARED));

    // Standard input has no folder to search.
    assert!(folder.pipe("", &fork).stdout.contains(MISSING));
}

#[test]
fn the_origin_is_found_below_the_folder_of_sessions_of_the_file() {
    let [origin, fork, third] = files();
    let folder = Folder::new();
    folder.write(&format!("sessions/2026/10/30/rollout-2026-10-30T09-00-00-{}.jsonl", IDS[0]), &origin);
    folder.write(&format!("sessions/{}", path(IDS[1])), &fork);
    folder.write(&format!("sessions/2026/12/01/rollout-2026-12-01T09-00-00-{}.jsonl", IDS[2]), &third);
    let items = |id: &str, day: &str| {
        folder.run(&format!("--to items sessions/2026/{day}T09-00-00-{id}.jsonl")).expect(0, "")
    };
    let shown = items(IDS[1], "11/20/rollout-2026-11-20");
    assert_eq!(turns(&shown), expected(&[("one", Some(0)), ("two", Some(0)), ("four", None)]));
    // A fork of a fork repeats the lines of both origins.
    let shown = items(IDS[2], "12/01/rollout-2026-12-01");
    let of_fork = [("one", Some(1)), ("two", Some(1)), ("four", Some(1)), ("five", None)];
    assert_eq!(turns(&shown), expected(&of_fork));
    // Without the first fork, the part of the first session is still recognized.
    std::fs::remove_file(folder.path(&format!("sessions/{}", path(IDS[1])))).unwrap();
    let shown = items(IDS[2], "12/01/rollout-2026-12-01");
    let of_origin = [("one", Some(0)), ("two", Some(0)), ("four", None), ("five", None)];
    assert_eq!(turns(&shown), expected(&of_origin));
    assert!(shown.stdout.contains(r#""event":"origin-missing""#), "{}", shown.stdout);
}

#[test]
fn titles_and_figures_are_those_of_the_forks_own_part() {
    let [origin, fork, _] = files();
    let folder = Folder::with(&[("fork.jsonl", &fork), (&format!("rollout-{}.jsonl", IDS[0]), &origin)]);
    let page = folder.run("--to markdown fork.jsonl").expect(0, "").stdout;
    assert!(page.starts_with("# four please.\n"), "{page}");
    let last = folder.run("--profile quiet fork.jsonl").expect(0, "").stdout;
    assert!(last.contains("four done.") && !last.contains("two done."), "{last}");
    folder.run("sessions import fork.jsonl").expect(0, "");
    let sessions = folder.run("sessions list --json").expect(0, "").stdout;
    assert!(sessions.contains(r#""title":"four please.""#), "{sessions}");
    let id = sessions.split_once(r#""id":""#).unwrap().1.split('"').next().unwrap();
    let session = folder.run(&format!("sessions show {id} --json")).expect(0, "").stdout;
    assert!(session.contains(r#""exec_command":1"#), "{session}");
}

#[test]
fn a_fork_without_a_turn_of_its_own_has_nothing_of_its_own() {
    let [origin, ..] = files();
    let empty = meta(IDS[1], &forked(IDS[0])) + &copy(&origin);
    let folder = Folder::with(&[("fork.jsonl", &empty), (&format!("rollout-{}.jsonl", IDS[0]), &origin)]);
    let shown = folder.run("--to items fork.jsonl").expect(0, "");
    assert_eq!(turns(&shown), expected(&["one", "two", "three"].map(|name| (name, Some(0)))));
    assert_eq!(shown.stdout.matches(r#""event":"origin-end""#).count(), 1, "{}", shown.stdout);
    let last = folder.run("--profile quiet fork.jsonl").expect(0, "").stdout;
    assert!(!last.contains("done."), "{last}");
}

#[test]
fn what_a_sub_agent_repeats_of_its_parent_is_shown_once() {
    let spawn = line(
        "response_item",
        r#"{"type":"function_call","name":"spawn_agent","namespace":"multi_agent_v1","call_id":"spawn","arguments":"{\"message\":\"Look it up.\"}"}"#,
    );
    let begin = meta(IDS[0], "") + &turn("one");
    let result = line(
        "response_item",
        &format!(
            r#"{{"type":"function_call_output","call_id":"spawn","output":"{{\"agent_id\":\"{}\",\"nickname\":\"Ada\"}}"}}"#,
            IDS[1]
        ),
    );
    let parent = begin.clone() + &spawn + &result + &turn("two");
    // The agent leaves calls out of its copy.
    let copied: String =
        begin.lines().filter(|line| !line.contains("function_call")).map(|line| copy(line) + "\n").collect();
    let more = format!(r#""forked_from_id":"{0}","parent_thread_id":"{0}","#, IDS[0]);
    let child = meta(IDS[1], &more) + &copied + &turn("three");
    let folder = Folder::with(&[
        (&format!("rollout-2026-11-20T09-00-00-{}.jsonl", IDS[0]), &parent),
        (&format!("rollout-2026-11-20T09-10-00-{}.jsonl", IDS[1]), &child),
    ]);
    let shown = folder.run(&format!("rollout-2026-11-20T09-00-00-{}.jsonl", IDS[0])).expect(0, "").stdout;
    for text in ["one please.", "one done.", "three please.", "three done.", "two done."] {
        assert_eq!(shown.matches(text).count(), 1, "{text}: {shown}");
    }
    let own = folder.run(&format!("--to items rollout-2026-11-20T09-10-00-{}.jsonl", IDS[1]));
    assert_eq!(turns(&own), expected(&[("one", Some(0)), ("three", None)]));
    // A prompt equal to the origin's next one isn't a copy.
    let again = meta(IDS[1], &more) + &copied + &turn("two").replace("two done", "other answer");
    folder.write(&format!("rollout-2026-11-20T09-10-00-{}.jsonl", IDS[1]), &again);
    let own = folder.run(&format!("--to items rollout-2026-11-20T09-10-00-{}.jsonl", IDS[1]));
    assert!(own.stdout.contains("other answer"), "{}", own.stdout);
}

#[cfg(unix)]
#[test]
fn a_fork_that_is_followed_shows_the_same() {
    let [origin, fork, _] = files();
    let folder = Folder::with(&[("fork.jsonl", ""), (&format!("rollout-{}.jsonl", IDS[0]), &origin)]);
    let mut running = Running::start(&folder, "-f fork.jsonl");
    let (half, rest) = fork.split_at(fork.len() / 2);
    folder.append("fork.jsonl", half);
    running.until_shown("one done.");
    folder.append("fork.jsonl", rest);
    running.until_shown("four done.");
    let followed = running.end(Signal::INT).expect(130, "").stdout;
    assert_eq!(followed, folder.run("fork.jsonl").stdout);
}
