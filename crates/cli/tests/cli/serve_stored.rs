//! `serve`: sessions in the database, whatever happened to their files.

use std::fs;
use std::path::Path;

use crate::program::{Folder, SESSION, until};
use crate::run::{SESSIONS, agents, kept, run};
use crate::serve::{Served, ids};

const DATA: &str = "home/.local/share/streamfmt";

fn history(session: &str, prompt: &str) -> String {
    let user = format!(
        r#"{{"type":"user","sessionId":"{session}","cwd":"/home/dev/{session}","uuid":"u0","parentUuid":null,"isSidechain":false,"timestamp":"2026-11-20T10:00:00.000Z","message":{{"role":"user","content":"{prompt}"}}}}"#
    );
    let reply = format!(
        r#"{{"type":"assistant","sessionId":"{session}","uuid":"u1","parentUuid":"u0","isSidechain":false,"timestamp":"2026-11-20T10:00:42.000Z","message":{{"id":"m-1","role":"assistant","model":"claude-opus-4-5","content":[{{"type":"text","text":"Reply of {session}."}}],"usage":{{"input_tokens":1200,"output_tokens":34}}}}}}"#
    );
    format!("{user}\n{reply}\n")
}

/// The ids of the sessions on a list, from the top.
fn listed(served: &Served<'_>, query: &str) -> Vec<String> {
    let answer = served.get(&format!("/{query}"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let rows = answer.body.split("<tr data-id=\"").skip(1);
    rows.map(|row| row.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn imported_histories_are_listed_and_shown_also_when_they_are_gone() {
    let folder =
        agents(&[("claude", "cat session"), ("slow", "cat reply; while [ ! -e go ]; do sleep 0.02; done")]);
    folder.write("h/one.jsonl", history("h-one", "Mend the cart"));
    folder.write("h/two.jsonl", history("h-two", "Paint the door"));
    assert!(run(&folder, "sessions import h").stdout.starts_with("2 new"));
    run(&folder, "run --label team=shop -- ./claude -p Fix");
    let first = ids(&folder);
    let agent = crate::program::Running::start(&folder, "run -- ./slow");
    until(|| "no second run".to_owned(), || ids(&folder).len() == 2);
    let served = Served::start(&folder, "");
    let all = listed(&served, "");
    assert_eq!(all.len(), 4);
    // Both may have begun in the same second, so their ids have no order.
    assert_eq!(all[1..2], first, "live first, then the newest");
    assert!(ids(&folder).contains(&all[0]), "{all:?}");
    let one = listed(&served, "?q=cart+mend");
    assert_eq!(one.len(), 1);
    assert_eq!(listed(&served, "?folder=h-one"), one);
    assert_eq!(listed(&served, "?status=running"), all[..1]);
    assert_eq!(listed(&served, "?agent=claude&status=done&q=fix"), all[1..2]);
    let page = format!("/sessions/{}", one[0]);
    let shown = served.get(&page).body;
    assert!(shown.contains("Mend the cart") && shown.contains("Reply of h-one."), "{shown}");
    assert!(
        shown.contains("claude-opus-4-5") && shown.contains("42s") && shown.contains("h/one.jsonl"),
        "{shown}"
    );
    assert_eq!(served.get(&format!("{page}/log")).body, history("h-one", "Mend the cart"));
    let (_, events) = served.events(&format!("{page}/events"), None, "event: done");
    assert!(events.iter().any(|(name, _, data)| name == "put" && data.contains("Reply of h-one.")));
    fs::remove_file(folder.path("h/one.jsonl")).unwrap();
    drop(served);
    let served = Served::start(&folder, "");
    let shown = served.get(&page).body;
    assert!(shown.contains("its log is gone") && shown.contains("h/one.jsonl"), "{shown}");
    assert!(shown.contains("claude-opus-4-5") && shown.contains("42s"), "{shown}");
    assert_eq!(served.get(&format!("{page}/log")).status, 404);
    assert_eq!(listed(&served, "?q=cart"), one);
    folder.write("go", "");
    agent.wait();
}

#[test]
fn a_session_with_two_sources_is_shown_from_the_one_that_is_left() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    folder.write("s.jsonl", format!("{SESSION}{}", crate::program::reply(7)));
    run(&folder, "sessions import s.jsonl");
    let served = Served::start(&folder, "");
    assert_eq!(listed(&served, "").len(), 1);
    let page = format!("/sessions/{}", ids(&folder)[0]);
    let shown = served.get(&page).body;
    assert!(shown.contains("Also the agent's own history: <code>") && shown.contains("s.jsonl"), "{shown}");
    assert!(shown.contains("Raw log</h2>") && !shown.contains("reply number 7."), "{shown}");
    fs::remove_file(kept(&folder, ".ndjson")).unwrap();
    let shown = served.get(&page).body;
    assert!(shown.contains("History</h2>") && shown.contains("reply number 7."), "{shown}");
    assert!(shown.contains("Also the log of the run: ") && shown.contains(", which is gone"), "{shown}");
    fs::remove_file(folder.path("s.jsonl")).unwrap();
    drop(served);
    let served = Served::start(&folder, "");
    let shown = served.get(&page).body;
    assert!(shown.contains("its log is gone") && shown.contains("<section id=\"response\""), "{shown}");
    assert!(shown.contains("Second reply.") && shown.contains("<dt>Turns</dt><dd>2</dd>"), "{shown}");
}

#[test]
fn rows_of_an_old_version_of_the_database_are_listed_and_shown() {
    let folder = Folder::for_programs();
    fs::create_dir_all(folder.path(DATA)).unwrap();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/databases/version-1.db");
    fs::copy(old, folder.path(DATA).join("sessions.db")).unwrap();
    let served = Served::start(&folder, "");
    let all = listed(&served, "");
    let list = served.get("/").body;
    assert!(all.len() == 2 && list.contains("Task 1") && list.contains("Task 2"), "{list}");
    for id in all {
        let page = served.get(&format!("/sessions/{id}")).body;
        assert!(page.contains("its log is gone"), "{page}");
        assert!(page.contains("Task 1") != page.contains("Task 2"), "each has its own: {page}");
    }
}

#[test]
fn a_damaged_database_is_replaced_and_that_is_told_on_the_list() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    let database = folder.path(SESSIONS).with_file_name("sessions.db");
    // SQLite would repair the database from its write-ahead log.
    for rest in ["sessions.db-wal", "sessions.db-shm"] {
        drop(fs::remove_file(database.with_file_name(rest)));
    }
    fs::write(&database, "no database at all, but long enough to be taken for one".repeat(100)).unwrap();
    let served = Served::start(&folder, "");
    let list = served.get("/").body;
    let id = &ids(&folder)[0];
    assert!(list.contains("was damaged: it is now") && list.contains(id), "{list}");
    assert!(served.messages().contains("was damaged"), "{}", served.messages());
}

#[test]
fn copies_and_packed_logs_are_shown_like_what_they_hold() {
    let folder = agents(&[("claude", "cat session session")]);
    run(&folder, "run -- ./claude -p Fix");
    folder.write("h/one.jsonl", history("h-one", "Mend the cart"));
    run(&folder, "sessions import --keep h");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let logs = format!("{SESSION}{SESSION}");
    assert!(run(&folder, "sessions compress --older 1s").stdout.starts_with("1 log: "));
    fs::remove_dir_all(folder.path("h")).unwrap();
    let served = Served::start(&folder, "");
    for (query, text, raw) in
        [("cart", "Reply of h-one.", history("h-one", "Mend the cart")), ("fix", "First reply.", logs)]
    {
        let [id] = &listed(&served, &format!("?q={query}"))[..] else { panic!("{query}") };
        let shown = served.get(&format!("/sessions/{id}")).body;
        assert!(shown.contains(text) && !shown.contains("its log is gone"), "{query}: {shown}");
        let log = served.get(&format!("/sessions/{id}/log"));
        assert_eq!((log.status, log.body), (200, raw), "{query}");
    }
}
