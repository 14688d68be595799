//! `sessions import` from an agent's database.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::program::{Folder, skip};
use crate::run::run;
use crate::serve::Served;
use crate::sessions::{details, rows};

/// The path of the test database.
const DATABASE: &str = "home/agent/opencode.db";

/// The tables of the agent's first version with a database.
const TABLES: &str = "
PRAGMA journal_mode = WAL;
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
    title text NOT NULL, version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
    data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX part_session_idx ON part (session_id);
";

/// An agent's database.
struct Agent(Connection);

impl Agent {
    fn new(path: &Path) -> Self {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(TABLES).unwrap();
        Self(connection)
    }

    fn run(&self, sql: &str) {
        self.0.execute_batch(sql).unwrap();
    }

    /// Adds an exported session.
    fn add(&self, export: &Value) {
        let info = &export["info"];
        let time = &info["time"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        self.0
            .execute(
                "INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated)
                 VALUES (?1, 'global', ?2, '', ?3, ?4, ?5, ?6, ?7)",
                params![
                    text(&info["id"]),
                    text(&info["parentID"]),
                    text(&info["directory"]),
                    text(&info["title"]),
                    text(&info["version"]),
                    time["created"].as_i64(),
                    time["updated"].as_i64()
                ],
            )
            .unwrap();
        if info["model"].is_object() {
            let sql = "UPDATE session SET model = ?2 WHERE id = ?1";
            self.0.execute(sql, params![text(&info["id"]), info["model"].to_string()]).unwrap();
        }
        for message in export["messages"].as_array().unwrap() {
            let (id, at) = (text(&message["info"]["id"]), message["info"]["time"]["created"].as_i64());
            let data = without(&message["info"], &["id", "sessionID"]);
            let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)";
            self.0.execute(sql, params![id, text(&info["id"]), at, data]).unwrap();
            for part in message["parts"].as_array().unwrap() {
                let data = without(part, &["id", "sessionID", "messageID"]);
                self.part(part["id"].as_str().unwrap(), id.as_deref().unwrap(), at.unwrap(), &data);
            }
        }
    }

    /// Adds a part of a message.
    fn part(&self, id: &str, message: &str, at: i64, data: &str) {
        let sql = "INSERT INTO part SELECT ?1, ?2, session_id, ?3, ?3, ?4 FROM message WHERE id = ?2";
        self.0.execute(sql, params![id, message, at, data]).unwrap();
    }
}

/// An object as JSON, without these keys.
fn without(object: &Value, keys: &[&str]) -> String {
    let mut object = object.clone();
    object.as_object_mut().unwrap().retain(|key, _| !keys.contains(&&**key));
    object.to_string()
}

/// The time of a session's step, in milliseconds.
fn at(second: i64) -> i64 {
    1_795_000_000_000 + second * 1000
}

/// A session as its agent exports it: a prompt, a call if there is one, and a reply.
fn export(id: &str, parent: Option<&str>, prompt: &str, call: Option<Value>, reply: &str) -> Value {
    let part = |number: u32, mut part: Value| {
        part["id"] = format!("prt_{id}_{number}").into();
        part
    };
    let tokens = json!({"input": 100, "output": 10, "reasoning": 0, "cache": {"read": 20, "write": 0}});
    let finish = |number: u32, reason: &str| {
        part(number, json!({"type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0.25}))
    };
    let answer = |number: u32, parts: Value| {
        json!({"info": {"id": format!("msg_{id}_{number}"), "role": "assistant", "modelID": "model-1", "providerID": "p",
            "time": {"created": at(2), "completed": at(4)}, "path": {"cwd": "/home/dev/shop", "root": "/"}}, "parts": parts})
    };
    let created = at(i64::from(parent.is_some()));
    let mut messages =
        vec![json!({"info": {"id": format!("msg_{id}_1"), "role": "user", "time": {"created": at(1)}},
        "parts": [part(1, json!({"type": "text", "text": prompt}))]})];
    messages.extend(call.map(|call| answer(2, json!([part(2, call), finish(3, "tool-calls")]))));
    let text = json!({"type": "text", "text": reply, "time": {"start": at(2), "end": at(3)}});
    messages
        .push(answer(3, json!([part(4, json!({"type": "step-start"})), part(5, text), finish(6, "stop")])));
    json!({
        "info": {"id": id, "parentID": parent, "directory": "/home/dev/shop", "title": format!("Title of {id}"), "version": "1.2.0",
            "time": {"created": created, "updated": at(9)}},
        "messages": messages,
    })
}

/// A call that started a sub-agent with this session.
fn task(session: &str) -> Value {
    json!({"type": "tool", "tool": "task", "callID": "c1", "state": {
        "status": "completed", "input": {"description": "Count", "prompt": "Count them", "subagent_type": "general"},
        "output": "<task_result>Forty.</task_result>", "title": "Count", "metadata": {"sessionId": session},
        "time": {"start": at(2), "end": at(3)}}})
}

/// A folder with a database of two sessions, one of which has a sub-agent.
fn two() -> (Folder, Agent) {
    let folder = Folder::new();
    let agent = Agent::new(&folder.path(DATABASE));
    agent.add(&export("ses_1", None, "Mend the cart", Some(task("ses_1a")), "The cart is mended."));
    agent.add(&export("ses_1a", Some("ses_1"), "Count them", None, "There are forty."));
    agent.add(&export("ses_2", None, "Paint the door", None, "It is red now."));
    (folder, agent)
}

/// Imports, and returns the counts.
fn import(folder: &Folder, path: &str) -> String {
    run(folder, &format!("sessions import {path}")).expect(0, "").stdout
}

/// The agent's files with their contents.
fn files(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let place = Path::new(DATABASE).parent().unwrap().to_str().unwrap();
    let names = folder.names_in(place).into_iter();
    names.map(|name| (name.clone(), fs::read(folder.path(place).join(name)).unwrap())).collect()
}

#[test]
fn every_session_is_imported_once_with_its_sub_agents() {
    let (folder, agent) = two();
    drop(agent);
    let before = files(&folder);
    assert_eq!(before.len(), 1);
    assert_eq!(import(&folder, "home/agent"), "2 new, 0 changed, 0 unchanged\n");
    for path in ["home/agent", DATABASE, "home/agent/opencode.db/ses_1 home/agent/opencode.db/ses_2"] {
        assert_eq!(import(&folder, path), "0 new, 0 changed, 2 unchanged\n", "{path}");
    }
    assert_eq!(rows(&folder, "").len(), 2);
    let row = rows(&folder, "").into_iter().find(|row| row["agent_session"] == "ses_1").unwrap();
    let name = row["id"].as_str().unwrap();
    let row = details(&folder, name);
    assert_eq!(
        json!([row["agent"], row["title"], row["folder"], row["model"], row["status"], row["response"]]),
        json!(["opencode", "Title of ses_1", "/home/dev/shop", "model-1", "done", "The cart is mended."])
    );
    assert_eq!(row["started"], "2026-11-18T11:06:40Z");
    // The sub-agent's figures are added to the session's.
    assert_eq!((&row["num_turns"], &row["cost_usd"]), (&json!(2), &json!(0.75)));
    assert_eq!((&row["tokens"]["input"], &row["tokens"]["cache_read"]), (&json!(300), &json!(60)));
    assert_eq!(row["log"], folder.path(DATABASE).canonicalize().unwrap().join("ses_1").to_str().unwrap());
    let shown = run(&folder, &format!("sessions show {name}")).expect(0, "").stdout;
    let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
    assert!(place("Mend the cart") < place("│   There are forty."), "{shown}");
    assert!(place("│   There are forty.") < place("The cart is mended."), "{shown}");
    assert_eq!(run(&folder, "home/agent/opencode.db/ses_1").expect(0, "").stdout, shown);
    assert_eq!(files(&folder), before, "nothing is written, not even beside it");
}

#[test]
fn a_session_that_has_grown_is_read_again_also_while_the_agent_writes() {
    let (folder, agent) = two();
    assert_eq!(import(&folder, "home/agent"), "2 new, 0 changed, 0 unchanged\n");
    agent.part("prt_ses_2_7", "msg_ses_2_3", at(20), r#"{"type":"text","text":"And dry."}"#);
    agent.run("BEGIN IMMEDIATE; UPDATE part SET data = '{}'; UPDATE session SET title = 'Not yet'");
    let before = files(&folder);
    assert_eq!(
        before.iter().map(|(name, _)| &**name).collect::<Vec<_>>(),
        ["opencode.db", "opencode.db-shm", "opencode.db-wal"]
    );
    assert_eq!(import(&folder, "home/agent"), "0 new, 1 changed, 1 unchanged\n");
    let shown = run(&folder, "home/agent/opencode.db/ses_2").expect(0, "").stdout;
    assert!(shown.contains("And dry.") && !shown.contains("Not yet"), "{shown}");
    let is_content = |(name, _): &&(String, Vec<u8>)| !name.ends_with("-shm");
    assert!(files(&folder).iter().filter(is_content).eq(before.iter().filter(is_content)));
    agent.run(
        "ROLLBACK; UPDATE session SET title = 'Door', time_updated = time_updated + 60000 WHERE id = 'ses_2'",
    );
    assert_eq!(import(&folder, "home/agent"), "0 new, 1 changed, 1 unchanged\n");
    // Deleting a message changes no time.
    agent.run("DELETE FROM part WHERE id = 'prt_ses_1a_5'");
    assert_eq!(import(&folder, "home/agent"), "0 new, 1 changed, 1 unchanged\n");
    // The agent names a session only later.
    agent.run("UPDATE session SET title = 'New session - 2026-11-18T11:06:40.000Z', time_updated = 1 + time_updated WHERE id = 'ses_1'");
    assert_eq!(import(&folder, "home/agent"), "0 new, 1 changed, 1 unchanged\n");
    let titles: Vec<Value> = rows(&folder, "").into_iter().map(|row| row["title"].clone()).collect();
    assert!(titles.contains(&json!("Door")) && titles.contains(&json!("Mend the cart")), "{titles:?}");
}

#[test]
fn sub_agents_without_a_call_are_sessions_of_their_own() {
    let (folder, agent) = two();
    agent.add(&export("ses_3", Some("ses_2"), "Look around", None, "Nothing here."));
    agent.add(&export("ses_4", Some("ses_gone"), "Look there", None, "Nothing there."));
    assert_eq!(import(&folder, "home/agent"), "4 new, 0 changed, 0 unchanged\n");
    let rows = rows(&folder, "");
    let of = |session: &str| rows.iter().find(|row| row["agent_session"] == session).unwrap();
    assert_eq!(of("ses_3")["resumes"], of("ses_2")["id"]);
    // A sub-agent that is still working, or failed, is shown in its call.
    agent.run(r#"UPDATE part SET data = replace(data, '"completed"', '"error"') WHERE id = 'prt_ses_1_2'"#);
    let shown = run(&folder, "home/agent/opencode.db/ses_1").stdout;
    assert!(shown.contains("│   There are forty."), "{shown}");
}

#[test]
fn a_session_that_is_gone_is_marked() {
    let (folder, agent) = two();
    import(&folder, "home/agent");
    agent.run("DELETE FROM session WHERE id = 'ses_2'");
    assert_eq!(import(&folder, "home/agent"), "0 new, 0 changed, 1 unchanged\n");
    let row = rows(&folder, "").into_iter().find(|row| row["agent_session"] == "ses_2").unwrap();
    assert_eq!(row["source_gone"], true);
    let shown = run(&folder, &format!("sessions show {}", row["id"].as_str().unwrap()));
    assert!(shown.code == Some(2) && shown.stderr.contains("its log is gone"), "{shown:?}");
}

#[test]
fn pages_show_a_session_of_a_database() {
    let (folder, _agent) = two();
    import(&folder, "home/agent");
    let row = rows(&folder, "").into_iter().find(|row| row["agent_session"] == "ses_1").unwrap();
    let page = format!("/sessions/{}", row["id"].as_str().unwrap());
    let served = Served::start(&folder, "");
    let shown = served.get(&page).body;
    assert!(shown.contains("The cart is mended.") && shown.contains("There are forty."), "{shown}");
    assert!(shown.contains("opencode.db/ses_1") && !shown.contains("which is gone"), "{shown}");
    let log = served.get(&format!("{page}/log"));
    let records: Vec<Value> = log.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((log.status, records.len(), &records[0]["info"]["id"]), (200, 4, &json!("ses_1")));
}

#[test]
fn what_cannot_be_read_is_reported_and_the_rest_is_imported() {
    let (folder, agent) = two();
    drop(agent);
    let whole = fs::read(folder.path(DATABASE)).unwrap();
    folder.write("text/opencode.db", "no database");
    folder.write("cut/opencode.db", &whole[..5000]);
    folder.write("empty/opencode.db", "");
    Connection::open(folder.path("other.db")).unwrap().execute_batch("CREATE TABLE album (id)").unwrap();
    fs::create_dir(folder.path("view")).unwrap();
    let view = Connection::open(folder.path("view/opencode.db")).unwrap();
    let endless = "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n)";
    let columns = "x AS id, x AS parent_id, x AS directory, x AS title, x AS version, x AS time_created, x AS time_updated";
    view.execute_batch(&format!(
        "{TABLES} DROP TABLE session; CREATE VIEW session AS {endless} SELECT {columns} FROM n"
    ))
    .unwrap();
    drop(view);
    for (path, reason) in [
        ("text", "isn't a database"),
        ("cut", "the database can't be read"),
        ("empty", "isn't a database"),
        (
            "other.db",
            "isn't the database of a known agent, or of another version (no such table: session); import what the agent itself exports (opencode export ID > FILE)",
        ),
        ("view", "isn't the database of a known agent"),
    ] {
        let told = run(&folder, &format!("sessions import {path} home/agent"));
        assert_eq!(told.code, Some(74), "{path}: {told:?}");
        let message = told.stderr.lines().next().unwrap();
        assert!(message.contains(path) && message.contains(reason), "{message}");
        assert_eq!(rows(&folder, "").len(), 2, "{path}");
    }
}

#[test]
fn hostile_rows_cost_only_themselves() {
    let (folder, agent) = two();
    agent.run(r#"
        INSERT INTO session SELECT '../../x', 'p', NULL, '', '/', 'Elsewhere', '1', 1, 1;
        INSERT INTO session SELECT 'ses_5', 'p', 'ses_5', '', '/', 'Own parent', '1', 1, 1;
        UPDATE session SET title = 'Red' || char(27) || '[2J' || char(10) || 'door' WHERE id = 'ses_2';
        INSERT INTO part VALUES ('prt_a', 'msg_ses_2_1', 'ses_2', 1, 1, '{"type":"text","text":"never en');
        INSERT INTO part VALUES ('prt_b', 'msg_ses_2_1', 'ses_2', 1, 1, '[1]');
        INSERT INTO message VALUES ('msg_ses_2_8', 'ses_2', 1795000005000, 1, x'00ff');
        INSERT INTO message VALUES ('msg_ses_2_9', 'ses_2', 1795000006000, 1, '{"role":"user"}');
        INSERT INTO part VALUES ('prt_c', 'msg_ses_2_9', 'ses_2', 1, 1, '{"type":"text","text":"Thank you."}');
    "#);
    // The one that is its own parent is listed as well; the one whose id looks like a path isn't.
    assert_eq!(import(&folder, "home/agent"), "3 new, 0 changed, 0 unchanged\n");
    let all = run(&folder, "--profile full home/agent/opencode.db/ses_2");
    for text in
        ["Paint the door", "never en", "It is red now.", "The record msg_ses_2_8 can't be read", "Thank you."]
    {
        assert!(all.stdout.contains(text), "{text}: {}", all.stdout);
    }
    assert!(!all.stdout.contains('\u{1b}'));
    let listed = run(&folder, "sessions list").stdout;
    assert!(listed.contains("Red") && !listed.contains('\u{1b}'), "{listed}");
}

#[test]
fn a_database_is_no_input_of_lines() {
    let (folder, agent) = two();
    drop(agent);
    let message = "is a database, which has no lines (to read the sessions in it: streamfmt sessions import FILE, or: opencode export ID > FILE)";
    run(&folder, DATABASE).expect(2, &format!("streamfmt: {DATABASE}: {message}\n"));
    let missing = run(&folder, "home/agent/opencode.db/ses_9");
    assert_eq!(missing.code, Some(2), "{missing:?}");
}

/// The items of an input, without their line numbers.
fn items(folder: &Folder, input: &str) -> Vec<Value> {
    let told = run(folder, &format!("--to items {input}"));
    let items = told.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    items
        .map(|mut item: Value| {
            item.as_object_mut().unwrap().remove("line");
            // An item without an id gets one from its line number.
            if item["id"].as_str().is_some_and(|id| id.starts_with("line-")) {
                item["id"] = Value::Null;
            }
            item
        })
        .collect()
}

#[test]
fn a_session_of_a_database_has_the_items_of_its_export() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/opencode");
    let within = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let files =
        within(&corpus).into_iter().flat_map(|version| within(&version)).flat_map(|case| within(&case));
    let exports: Vec<PathBuf> = files
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("session")))
        .collect();
    if exports.is_empty() {
        return skip("no recordings");
    }
    let folder = Folder::new();
    let agent = Agent::new(&folder.path(DATABASE));
    agent.run("ALTER TABLE session ADD COLUMN model text");
    for path in &exports {
        agent.add(&serde_json::from_slice(&fs::read(path).unwrap()).unwrap());
    }
    for path in &exports {
        let export: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let id = export["info"]["id"].as_str().unwrap();
        let mut stored = items(&folder, &format!("{DATABASE}/{id}"));
        let is_parent = stored.iter().any(|item| item["parent"].is_string());
        stored.retain(|item| item["parent"].is_null());
        let mut exported = items(&folder, path.to_str().unwrap());
        // The export lacks the sub-agents. Their answers are repeated in the stored session, and their cost is part of the turn's.
        if is_parent {
            stored
                .iter_mut()
                .filter_map(|item| item.get_mut("data")?.as_object_mut())
                .for_each(|data| drop(data.remove("repeated")));
            for outcome in
                [&mut stored, &mut exported].into_iter().flatten().filter(|item| item["kind"] == "outcome")
            {
                outcome["data"] = Value::Null;
            }
        }
        assert_eq!(stored, exported, "{}", path.display());
    }
}

#[test]
fn a_session_that_was_copied_is_shown_when_its_database_is_gone() {
    let (folder, agent) = two();
    assert_eq!(import(&folder, "--keep home/agent"), "2 new, 0 changed, 0 unchanged; 3 files copied\n");
    let row = rows(&folder, "").into_iter().find(|row| row["agent_session"] == "ses_1").unwrap();
    let show = format!("sessions show {} --to items", row["id"].as_str().unwrap());
    let before = run(&folder, &show).expect(0, "").stdout;
    assert!(before.contains("There are forty."), "{before}");
    agent.run("DELETE FROM session WHERE id LIKE 'ses_1%'; DELETE FROM message; DELETE FROM part");
    assert_eq!(run(&folder, &show).expect(0, "").stdout, before);
    drop(agent);
    fs::remove_dir_all(folder.path("home/agent")).unwrap();
    assert_eq!(run(&folder, &show).expect(0, "").stdout, before);
    let verified = run(&folder, "sessions verify").expect(0, "").stdout;
    assert_eq!(verified.lines().filter(|line| line.contains("is gone")).count(), 2, "{verified}");
}
