//! The store: its versions, use by several processes, and damaged databases.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::Connection;
use streamfmt_server::RunId;
use streamfmt_server::store::{
    FoundSession, ReadSession, SessionFigures, SessionFilter, SessionOutcome, SessionRecord, SessionStatus,
    Store, StoreError, StoreNotice,
};
use tempfile::TempDir;

/// The environment variable with the data folder of a child process.
const DATA: &str = "STREAMFMT_TEST_DATA";
/// The number of rows that a child process writes.
const ROWS: usize = 500;
const PROCESSES: usize = 8;

const LOG: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"model-1","cwd":"/home/dev/shop","tools":[]}
{"type":"assistant","message":{"id":"m-1","role":"assistant","content":[{"type":"text","text":"First words. More."}]},"session_id":"s-1"}
{"type":"assistant","message":{"id":"m-2","role":"assistant","content":[{"type":"tool_use","id":"t-1","name":"Bash","input":{"command":"ls"}}]},"session_id":"s-1"}
"#;

fn folder() -> TempDir {
    TempDir::with_prefix_in("store-", env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn list(store: &Store) -> Vec<SessionRecord> {
    store.list(&SessionFilter::default()).unwrap()
}

/// Writes the files of a run: a log and a side file.
fn leave_run(data: &Path, id: &str, session: &str, log: &str) {
    let sessions = data.join("sessions");
    fs::create_dir_all(&sessions).unwrap();
    let path = sessions.join(format!("{id}.ndjson"));
    fs::write(&path, log).unwrap();
    let (day, time) = (&id[..8], &id[9..15]);
    let started =
        format!("{}-{}-{}T{}:{}:{}Z", &day[..4], &day[4..6], &day[6..], &time[..2], &time[2..4], &time[4..]);
    let side = format!(
        r#"{{"v":1,"id":"{id}","status":"done","command":["claude","-p"],"agent":"claude","agent_session":"{session}","folder":"/home/dev/shop","log":"{}","log_start":0,"log_bytes":{},"started":"{started}","ended":"{started}","exit":{{"code":0}},"recorder":{{"pid":1}}}}"#,
        path.display(),
        log.len()
    );
    fs::write(sessions.join(format!("{id}.json")), side).unwrap();
}

/// Starts this test program again, to run one of the ignored tests below.
fn start(test: &str, data: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test, "--nocapture"]).env(DATA, data);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn data() -> std::path::PathBuf {
    std::env::var_os(DATA).unwrap().into()
}

fn sound(data: &Path) -> String {
    let connection = Connection::open(data.join("sessions.db")).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// The schema as text.
fn schema(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut statement =
        connection.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY type, name").unwrap();
    let found = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>();
    found.unwrap()
}

#[test]
fn each_version_of_the_database_becomes_the_newest() {
    let fresh = folder();
    drop(Store::open(fresh.path()).unwrap());
    let fresh = schema(&fresh.path().join("sessions.db"));
    for version in 1..=6 {
        let folder = folder();
        let path = folder.path().join("sessions.db");
        let kept =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/databases/version-{version}.db"));
        fs::copy(kept, &path).unwrap();
        for _ in 0..2 {
            let store = Store::open(folder.path()).unwrap();
            let rows = list(&store);
            let titles: Vec<_> = rows.iter().map(|row| row.run.title.as_deref().unwrap()).collect();
            assert_eq!(titles, ["Task 2", "Task 1"], "version {version}");
            assert_eq!(rows[1].run.status, SessionStatus::Done);
            assert_eq!(rows[1].figures.num_turns, (version >= 2).then_some(3), "version {version}");
            assert_eq!(rows[0].figures.cost_usd, None);
            let FoundSession::One(details) = store.find(&rows[1].run.id).unwrap() else { panic!() };
            assert_eq!(details.calls.get("Bash"), (version >= 3).then_some(&2));
            assert_eq!(details.response.is_some(), version >= 2);
        }
        assert_eq!(schema(&path), fresh, "version {version}");
    }
}

#[test]
fn a_newer_database_is_refused_and_stays_as_it_is() {
    let folder = folder();
    drop(Store::open(folder.path()).unwrap());
    let path = folder.path().join("sessions.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(Store::open(folder.path()), Err(StoreError::Newer(_))));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn eight_processes_write_all_their_rows() {
    let folder = folder();
    let children: Vec<Child> = (0..PROCESSES).map(|_| start("writes_rows", folder.path())).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(list(&Store::open(folder.path()).unwrap()).len(), PROCESSES * ROWS);
    assert_eq!(sound(folder.path()), "ok");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(folder.path()), mode(&folder.path().join("sessions.db"))), (0o700, 0o600));
}

#[test]
#[ignore = "another test starts it as a process"]
fn writes_rows() {
    let data = data();
    let mut store = Store::open(&data).unwrap();
    let begun: Timestamp = "2026-11-23T22:41:03Z".parse().unwrap();
    for row in 0..ROWS {
        // Of thousands of ids of one second, two may be the same.
        let id = RunId::new(begun + Duration::from_secs(row as u64));
        leave_run(&data, id.as_str(), id.as_str(), "");
        store.record(&id, None).unwrap();
    }
}

#[test]
fn eight_processes_that_meet_garbage_make_one_new_database() {
    let folder = folder();
    leave_run(folder.path(), "20261123-224103-k3x9qa", "s-1", LOG);
    let garbage = b"no database at all ".repeat(1_000);
    fs::write(folder.path().join("sessions.db"), &garbage).unwrap();
    let children: Vec<Child> = (0..PROCESSES).map(|_| start("finds_the_run", folder.path())).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let aside: Vec<_> = names.filter(|path| path.to_string_lossy().contains(".damaged-")).collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert_eq!(fs::read(&aside[0]).unwrap(), garbage);
    assert_eq!(sound(folder.path()), "ok");
}

#[test]
#[ignore = "another test starts it as a process"]
fn finds_the_run() {
    let mut store = Store::open(&data()).unwrap();
    store.mended(Store::catch_up).unwrap();
    assert_eq!(list(&store).len(), 1);
}

/// The number of times that a process is killed while it writes; `.ci/soak` sets a larger one.
fn kills() -> u64 {
    std::env::var("STREAMFMT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(8)
}

#[test]
fn a_process_that_is_killed_in_a_commit_leaves_a_sound_database() {
    let folder = folder();
    let mut store = Store::open(folder.path()).unwrap();
    for id in IDS {
        leave_run(folder.path(), id, id, LOG);
    }
    store.catch_up().unwrap();
    drop(store);
    let connection = Connection::open(folder.path().join("sessions.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
    for round in 0..kills() {
        let before = number("PRAGMA data_version");
        let mut child = start("rewrites_responses", folder.path());
        let begun = Instant::now();
        while number("PRAGMA data_version") == before {
            assert!(begun.elapsed() < Duration::from_secs(60), "it writes nothing");
            std::thread::yield_now();
        }
        // At a different moment each time: after a number of queries.
        for _ in 0..round * 37 % 2_000 {
            number("PRAGMA data_version");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok", "round {round}");
        let mixed = "SELECT count(*) FROM sessions WHERE replace(response, substr(response, 1, 1), '') <> ''";
        assert_eq!(number(mixed), 0, "round {round}");
        assert_eq!(number("SELECT count(*) FROM sessions"), IDS.len() as u64, "round {round}");
    }
}

#[test]
#[ignore = "another test starts it as a process"]
fn rewrites_responses() {
    let mut store = Store::open(&data()).unwrap();
    // Each commit writes hundreds of pages, so that most of the time is spent in commits.
    for (letter, size) in ('a'..='z').zip(1..).cycle() {
        let response = letter.to_string().repeat(size << 16);
        let outcome = Some(SessionOutcome::Response(response));
        let read = ReadSession {
            figures: SessionFigures { outcome, ..SessionFigures::default() },
            ..ReadSession::default()
        };
        for id in IDS {
            store.record(&id.parse().unwrap(), Some(&read)).unwrap();
        }
    }
}

#[test]
fn a_run_that_was_killed_between_its_log_and_its_row_is_completed() {
    let folder = folder();
    let log = format!("{LOG}{}", outcome(0.5, 300, 40, 40, None));
    leave_run(folder.path(), IDS[0], "s-1", &log);
    let side = folder.path().join(format!("sessions/{}.json", IDS[0]));
    let ended = fs::read_to_string(&side).unwrap();
    // Its row was written when it started. The log is complete, and the side file was never written again: the lock is free.
    let running =
        ended.replace(r#""status":"done""#, r#""status":"running""#).replace(r#","log_bytes""#, r#","left""#);
    fs::write(&side, running).unwrap();
    let id: RunId = IDS[0].parse().unwrap();
    for (content, status) in [(None, SessionStatus::Interrupted), (Some(&ended), SessionStatus::Done)] {
        let mut store = Store::open(folder.path()).unwrap();
        store.record(&id, None).unwrap();
        drop(store);
        if let Some(content) = content {
            // As if only the row were missing.
            let connection = Connection::open(folder.path().join("sessions.db")).unwrap();
            connection.execute_batch("UPDATE sources SET mtime = NULL; UPDATE sessions SET status = 'running', cost_usd = NULL").unwrap();
            fs::write(&side, content).unwrap();
        }
        let mut store = Store::open(folder.path()).unwrap();
        store.catch_up().unwrap();
        let FoundSession::One(found) = store.find("last").unwrap() else { panic!() };
        assert_eq!((found.record.run.status, found.record.figures.cost_usd), (status, Some(0.5)));
        assert_eq!(found.response.as_deref(), Some("Done."));
    }
}

#[test]
fn runs_keep_their_order_when_the_clock_goes_backwards() {
    let folder = folder();
    let mut store = Store::open(folder.path()).unwrap();
    // The first run has the latest date: the clock was set back after it, and again after the second.
    let streams =
        [outcome(0.5, 300, 40, 40, None), outcome(0.75, 500, 70, 30, None), outcome(1.0, 650, 90, 20, None)];
    for (id, (start, stream)) in IDS.iter().rev().zip([100, 200, 300].into_iter().zip(streams)) {
        leave_run(folder.path(), id, "s-1", &format!("{LOG}{stream}"));
        let side = folder.path().join(format!("sessions/{id}.json"));
        let text = fs::read_to_string(&side).unwrap();
        let recorder = format!(r#""recorder":{{"pid":1,"start":{start},"boot":"b"}}"#);
        fs::write(side, text.replace(r#""recorder":{"pid":1}"#, &recorder)).unwrap();
        store.catch_up().unwrap();
    }
    // By date, which is the other way round.
    let expected = [(0.25, 150, 20, Some(2)), (0.25, 200, 30, Some(3)), (0.5, 300, 40, None)];
    assert_eq!(own(&store), expected);
    store.reindex(|_, _| ()).unwrap();
    assert_eq!(own(&store), expected);
}

#[test]
fn what_can_be_read_of_a_damaged_database_is_taken_over() {
    let folder = folder();
    let path = folder.path().join("sessions.db");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/databases/version-3.db"), &path).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // The root page of a table without another copy.
    let root: usize = Connection::open(&path)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'calls'", [], |row| row.get::<_, i64>(0))
        .map(|page| usize::try_from(page).unwrap())
        .unwrap();
    bytes[(root - 1) * 1_024..root * 1_024].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let found = store.mended(|store| store.find("20261123-224101")).unwrap();
    let FoundSession::One(details) = found else { panic!("{found:?}") };
    assert_eq!(details.record.run.title.as_deref(), Some("Task 1"));
    assert!(details.calls.is_empty() && !details.usage.is_empty());
    let notices = store.take_notices();
    let [StoreNotice::Replaced { aside, saved: 2, lost: 0, .. }] = &*notices else { panic!("{notices:?}") };
    let page = (root - 1) * 1_024..root * 1_024;
    assert!(fs::read(aside).unwrap()[page.clone()] == bytes[page], "it is kept as it was");
    assert_eq!(sound(folder.path()), "ok");
}

/// An outcome with these sums, to which the last turn added `used`. `since`: also reports the usage since the outcome before.
fn outcome(cost: f64, api_ms: u64, tokens: u64, used: u64, since: Option<f64>) -> String {
    let usage = |tokens: u64, cost: f64| {
        format!(
            r#"{{"model-1":{{"inputTokens":{tokens},"outputTokens":{tokens},"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":{cost}}}}}"#
        )
    };
    let since = since.map(|cost| format!(r#","model_usage_since_last_result":{}"#, usage(used, cost)));
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s-1","num_turns":2,"duration_ms":700,"duration_api_ms":{api_ms},"total_cost_usd":{cost},"usage":{{"input_tokens":{used},"output_tokens":{used},"cache_read_input_tokens":0,"cache_creation_input_tokens":0}},"modelUsage":{}{}}}
"#,
        usage(tokens, cost),
        since.unwrap_or_default()
    )
}

const IDS: [&str; 4] =
    ["20261123-224103-k3x9qa", "20261123-224203-k3x9qb", "20261123-224303-k3x9qc", "20261123-224403-k3x9qd"];

/// Each run's own dollars, API time and tokens, and the run of [`IDS`] that it resumed. The oldest first.
fn own(store: &Store) -> Vec<(f64, u64, u64, Option<usize>)> {
    let own = |row: &SessionRecord| {
        let resumes = row.run.resumes.as_ref().map(|id| IDS.iter().position(|known| known == id).unwrap());
        (
            row.figures.cost_usd.unwrap(),
            row.figures.api_ms.unwrap(),
            row.figures.tokens.unwrap().input,
            resumes,
        )
    };
    list(store).iter().rev().map(own).collect()
}

#[test]
fn runs_that_resume_each_other_sum_to_the_whole_in_whatever_order_they_are_found() {
    let streams =
        [outcome(0.5, 300, 40, 40, None), outcome(0.75, 500, 70, 30, None), outcome(1.0, 650, 90, 20, None)];
    for order in [[1, 0, 2], [2, 1, 0], [0, 1, 2]] {
        let folder = folder();
        let mut store = Store::open(folder.path()).unwrap();
        for at in order {
            leave_run(folder.path(), IDS[at], "s-1", &format!("{LOG}{}", streams[at]));
            store.catch_up().unwrap();
        }
        let expected = [(0.5, 300, 40, None), (0.25, 200, 30, Some(0)), (0.25, 150, 20, Some(1))];
        assert_eq!(own(&store), expected);
        let rows = list(&store);
        assert_eq!(
            (rows[0].run.title.as_deref(), rows[0].figures.num_turns),
            (Some("First words."), Some(2))
        );
        let mut steps = Vec::new();
        assert_eq!(store.reindex(|done, all| steps.push((done, all))).unwrap(), 3);
        assert_eq!(steps, [(0, 3), (1, 3), (2, 3)]);
        assert_eq!(list(&store), rows);
        // A run that counts from 0, with higher sums than all before.
        leave_run(folder.path(), IDS[3], "s-1", &format!("{LOG}{}", outcome(1.25, 700, 100, 100, None)));
        store.catch_up().unwrap();
        assert_eq!(own(&store)[..3], expected);
        assert_eq!(own(&store)[3], (1.25, 700, 100, Some(2)));
    }
}

#[test]
fn a_run_that_reports_its_own_part_needs_no_run_before_it() {
    let folder = folder();
    let mut store = Store::open(folder.path()).unwrap();
    let [first, second] = [outcome(0.5, 300, 40, 40, Some(0.5)), outcome(0.75, 500, 70, 30, Some(0.25))];
    let third = outcome(1.0, 650, 90, 20, Some(0.25));
    leave_run(folder.path(), IDS[1], "s-1", &format!("{LOG}{second}{third}"));
    store.catch_up().unwrap();
    assert_eq!(own(&store), [(0.5, 650, 50, None)]);
    // No part of the API time is reported.
    leave_run(folder.path(), IDS[0], "s-1", &format!("{LOG}{first}"));
    store.catch_up().unwrap();
    assert_eq!(own(&store), [(0.5, 300, 40, None), (0.5, 350, 50, Some(0))]);
    // It counts from 0, with higher sums than all before.
    leave_run(folder.path(), IDS[2], "s-1", &format!("{LOG}{}", outcome(2.0, 700, 100, 100, Some(2.0))));
    store.catch_up().unwrap();
    assert_eq!(own(&store)[2], (2.0, 700, 100, Some(1)));
}

#[test]
fn several_processes_in_one_log_are_added_up() {
    let folder = folder();
    let mut store = Store::open(folder.path()).unwrap();
    let processes = [
        outcome(0.5, 300, 40, 40, None),
        // A compaction, which reports no time.
        outcome(0.75, 0, 60, 0, None),
        outcome(1.0, 400, 80, 20, None),
        // Counts from 0, although its sums are higher.
        outcome(1.25, 500, 90, 90, None),
    ];
    leave_run(folder.path(), IDS[0], "s-1", &format!("{LOG}{}", processes.concat()));
    store.catch_up().unwrap();
    assert_eq!(own(&store), [(2.25, 900, 170, None)]);
}

#[test]
fn a_session_that_goes_on_from_another_resumes_its_last_run() {
    for order in [[0, 1, 2], [2, 1, 0]] {
        let folder = folder();
        let mut store = Store::open(folder.path()).unwrap();
        let runs = [
            ("s-1", "", outcome(0.5, 300, 40, 40, Some(0.5))),
            ("s-2", r#""resumes":"s-1","#, outcome(0.75, 500, 70, 30, Some(0.25))),
            ("s-3", r#""resumes":"s-2","#, outcome(1.0, 650, 90, 20, Some(0.25))),
        ];
        for at in order {
            let (session, resumes, outcome) = &runs[at];
            leave_run(folder.path(), IDS[at], session, &format!("{LOG}{outcome}").replace("s-1", session));
            let side = folder.path().join(format!("sessions/{}.json", IDS[at]));
            let text = fs::read_to_string(&side).unwrap();
            fs::write(side, text.replace(r#""agent_session""#, &format!(r#"{resumes}"agent_session""#)))
                .unwrap();
            store.catch_up().unwrap();
        }
        let expected = [(0.5, 300, 40, None), (0.25, 200, 30, Some(0)), (0.25, 150, 20, Some(1))];
        assert_eq!(own(&store), expected, "{order:?}");
    }
}

#[test]
fn runs_of_an_agent_that_reports_nothing_but_sums_are_told_apart() {
    let stream = |input: u64, output: u64| {
        format!(
            r#"{{"type":"thread.started","thread_id":"t-1"}}
{{"type":"turn.completed","usage":{{"input_tokens":{input},"cached_input_tokens":0,"output_tokens":{output}}}}}
"#
        )
    };
    // The second run continues counting; or it counts from 0, with slightly higher sums, since it sent the same and more.
    for (second, expected) in [((16_700, 60), (8_600, 40)), ((8_400, 50), (8_400, 50))] {
        let folder = folder();
        let mut store = Store::open(folder.path()).unwrap();
        leave_run(folder.path(), IDS[0], "t-1", &stream(8_100, 20));
        leave_run(folder.path(), IDS[1], "t-1", &stream(second.0, second.1));
        store.catch_up().unwrap();
        let tokens = list(&store)[0].figures.tokens.unwrap();
        assert_eq!((tokens.input, tokens.output), expected);
    }
}

#[test]
fn histories_of_resumed_and_forked_sessions_are_summed_and_linked() {
    let folder = folder();
    let line = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-11-20T10:00:00.000Z","type":"{kind}","payload":{payload}}}"#) + "\n"
    };
    let prompt = line("event_msg", r#"{"type":"user_message","message":"Go on"}"#);
    let meta = |more: &str| {
        line("session_meta", &format!(r#"{{{more},"cwd":"/home/dev/shop","cli_version":"0.45.0"}}"#))
            + &prompt
    };
    let count = |input: u64, output: u64| {
        line(
            "event_msg",
            &format!(
                r#"{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{input},"cached_input_tokens":0,"output_tokens":{output}}}}}}}"#
            ),
        )
    };
    // A process that resumed the session counts from 0.
    let counts = [count(3_500, 28), count(7_100, 35), count(3_600, 38), count(7_500, 49)].concat();
    let [one, fork] = ["one.jsonl", "fork.jsonl"].map(|name| folder.path().join(name));
    fs::write(&one, meta(r#""id":"t-1""#) + &counts).unwrap();
    fs::write(&fork, (meta(r#""id":"t-2","forked_from_id":"t-1""#) + &count(100, 1)).replace("T10", "T11"))
        .unwrap();
    for order in [[&one, &fork], [&fork, &one]] {
        let data = folder.path().join(order[0].file_stem().unwrap());
        let mut store = Store::open(&data).unwrap();
        for path in order {
            store.import(std::slice::from_ref(path), |_| ()).unwrap();
        }
        let rows = list(&store);
        let tokens = rows[1].figures.tokens.unwrap();
        assert_eq!((tokens.input, tokens.output), (14_600, 84));
        assert_eq!(rows[0].figures.tokens.unwrap().input, 100);
        assert_eq!(rows[0].run.resumes.as_ref(), Some(&rows[1].run.id));
    }
}

#[test]
fn a_stream_of_one_process_does_not_hide_what_the_whole_session_used() {
    let folder = folder();
    let line = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-11-20T10:00:00.000Z","type":"{kind}","payload":{payload}}}"#) + "\n"
    };
    let count = |input: u64| {
        let usage = format!(r#"{{"input_tokens":{input},"cached_input_tokens":0,"output_tokens":5}}"#);
        line("event_msg", &format!(r#"{{"type":"token_count","info":{{"total_token_usage":{usage}}}}}"#))
    };
    let history = line("session_meta", r#"{"id":"t-1","cwd":"/home/dev/shop","cli_version":"0.45.0"}"#)
        + &count(7_100)
        + &count(3_600);
    let thread = "{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}\n";
    let second = r#"{"type":"turn.completed","usage":{"input_tokens":3600,"cached_input_tokens":0,"output_tokens":5}}"#;
    let failed = r#"{"type":"turn.failed","error":{"message":"no such model"}}"#;
    for (end, is_error) in [(second, false), (failed, true)] {
        let data = TempDir::new_in(folder.path()).unwrap();
        let [stream, session] = ["stream.jsonl", "session.jsonl"].map(|name| data.path().join(name));
        fs::write(&stream, format!("{thread}{end}\n")).unwrap();
        fs::write(&session, &history).unwrap();
        let mut store = Store::open(&data.path().join("store")).unwrap();
        store.import(&[stream, session], |_| ()).unwrap();
        let FoundSession::One(found) = store.find("last").unwrap() else { panic!() };
        assert_eq!(found.error.is_some(), is_error);
        assert_eq!(found.record.figures.tokens.unwrap().input, 10_700);
    }
}

#[test]
fn what_a_run_added_to_a_history_is_counted_once() {
    let claude = |kind: &str, time: &str, message: &str| {
        format!(
            r#"{{"type":"{kind}","sessionId":"s-1","cwd":"/home/dev/shop","uuid":"u-{time}","parentUuid":null,"isSidechain":false,"timestamp":"2026-11-23T{time}.000Z","message":{message}}}"#
        ) + "\n"
    };
    let of_claude = |time: &str, tokens: u64| {
        let reply = format!(
            r#"{{"id":"m-{time}","role":"assistant","model":"model-1","content":[{{"type":"tool_use","id":"t-{time}","name":"Bash","input":{{"command":"ls"}}}}],"usage":{{"input_tokens":{tokens},"output_tokens":{tokens}}}}}"#
        );
        claude("user", &format!("{time}:10"), r#"{"role":"user","content":"Go on"}"#)
            + &claude("assistant", &format!("{time}:15"), &reply)
    };
    let codex = |time: &str, kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-11-23T{time}.000Z","type":"{kind}","payload":{payload}}}"#) + "\n"
    };
    // The agent's sums continue.
    let of_codex = |time: &str, sum: u64| {
        let begin = if time == "20:00" {
            r#"{"id":"s-1","cwd":"/home/dev/shop","cli_version":"0.45.0"}"#
        } else {
            ""
        };
        let meta = codex("20:00:00", "session_meta", begin);
        let prompt = r#"{"type":"user_message","message":"Go on"}"#;
        let call = format!(
            r#"{{"type":"function_call","name":"shell","arguments":"{{\"command\":[\"ls\"]}}","call_id":"c-{time}"}}"#
        );
        let count = format!(
            r#"{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{sum},"cached_input_tokens":0,"output_tokens":{sum}}}}}}}"#
        );
        let parts = [
            if begin.is_empty() { String::new() } else { meta },
            codex(&format!("{time}:11"), "event_msg", prompt),
            codex(&format!("{time}:15"), "response_item", &call),
            codex(&format!("{time}:16"), "event_msg", &count),
        ];
        parts.concat()
    };
    // The user at 20:00, a run at 22:41:03 until 22:42:03, the user again at 23:00.
    let histories = [
        [of_claude("20:00", 30), of_claude("22:41", 40), of_claude("23:00", 50)],
        [of_codex("20:00", 30), of_codex("22:41", 70), of_codex("23:00", 120)],
    ];
    for [before, within, after] in histories {
        let folder = folder();
        let history = folder.path().join("history.jsonl");
        let mut store = Store::open(folder.path()).unwrap();
        let import = |store: &mut Store, text: String| {
            fs::write(&history, text).unwrap();
            store.import(std::slice::from_ref(&history), |_| ()).unwrap();
        };
        let own = |store: &Store| {
            let FoundSession::One(found) = store.find("last~1").unwrap() else { panic!() };
            (
                found.record.figures.tokens.unwrap().input,
                found.calls.values().sum::<u64>(),
                found.record.run.ended,
            )
        };
        import(&mut store, before.clone());
        leave_run(folder.path(), IDS[0], "s-1", &format!("{LOG}{}", outcome(0.5, 300, 40, 40, None)));
        let side = folder.path().join(format!("sessions/{}.json", IDS[0]));
        let text = fs::read_to_string(&side).unwrap();
        fs::write(side, text.replace(r#""ended":"2026-11-23T22:41"#, r#""ended":"2026-11-23T22:42"#))
            .unwrap();
        store.catch_up().unwrap();
        import(&mut store, format!("{before}{within}"));
        assert_eq!((own(&store).0, own(&store).1), (30, 1));
        assert!(own(&store).2 < list(&store)[0].run.ended, "{:?}", own(&store));
        import(&mut store, format!("{before}{within}{after}"));
        assert_eq!((own(&store).0, own(&store).1), (80, 2));
        assert_eq!(list(&store)[0].figures.tokens.unwrap().input, 40);
    }
}

#[test]
fn figures_that_no_outcome_reports_are_unknown() {
    let folder = folder();
    leave_run(folder.path(), "20261123-224103-k3x9qa", "s-1", LOG);
    let mut store = Store::open(folder.path()).unwrap();
    store.catch_up().unwrap();
    let FoundSession::One(found) = store.find("last").unwrap() else { panic!() };
    assert_eq!(
        (found.record.figures.cost_usd, found.record.figures.num_turns, found.record.figures.tokens),
        (None, None, None)
    );
    assert_eq!((found.response, found.error), (None, None));
    assert_eq!(found.calls.get("Bash"), Some(&1));
    fs::remove_file(found.record.source.path).unwrap();
    store.reindex(|_, _| ()).unwrap();
    let rows = list(&store);
    assert!(rows[0].source.gone && rows[0].run.title.as_deref() == Some("First words."), "{rows:?}");
}

#[test]
fn a_damaged_side_file_is_reported_and_the_other_runs_are_listed() {
    let folder = folder();
    leave_run(folder.path(), "20261101-100000-aaaaaa", "s-1", LOG);
    leave_run(folder.path(), "20261101-100001-bbbbbb", "s-2", LOG);
    let damaged = folder.path().join("sessions/20261101-100000-aaaaaa.json");
    fs::write(&damaged, "{\"v\":1,").unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    store.catch_up().unwrap();
    assert_eq!(list(&store).len(), 1);
    let reported = [StoreNotice::SideFiles { first: damaged, count: 1 }];
    assert_eq!(store.take_notices(), reported);
    store.reindex(|_, _| ()).unwrap();
    assert_eq!(store.take_notices(), reported);
}

/// Returns a line of a history of Claude Code.
fn claude(session: &str, time: &str, uuid: &str, kind: &str, message: &str) -> String {
    format!(
        r#"{{"type":"{kind}","sessionId":"{session}","cwd":"/home/dev/shop","version":"2.1.0","uuid":"{uuid}","parentUuid":null,"isSidechain":false,"timestamp":"2026-11-20T{time}.000Z","message":{message}}}"#
    ) + "\n"
}

/// Returns a prompt and its reply, which used this many tokens.
fn turn(session: &str, time: &str, prompt: &str, tokens: u64) -> String {
    let reply = format!(
        r#"{{"id":"m-{time}","role":"assistant","model":"model-1","content":[{{"type":"text","text":"Done."}}],"usage":{{"input_tokens":{tokens},"output_tokens":1}}}}"#
    );
    claude(
        session,
        &format!("{time}:10"),
        &format!("p-{time}"),
        "user",
        &format!(r#"{{"role":"user","content":"{prompt}"}}"#),
    ) + &claude(session, &format!("{time}:15"), &format!("r-{time}"), "assistant", &reply)
}

/// Imports files one by one, in this order.
fn imported(folder: &Path, name: &str, files: &[(&str, &str)]) -> Store {
    let mut store = Store::open(&folder.join(name)).unwrap();
    for (file, text) in files {
        let path = folder.join(format!("{file}.jsonl"));
        fs::write(&path, text).unwrap();
        store.import(&[path], |_| ()).unwrap();
    }
    store
}

/// Returns the agent's id, the title, the start, the tokens and the origin of each session, the oldest first.
fn described(store: &Store) -> Vec<[String; 5]> {
    let rows = list(store);
    let of_agent = |id: &String| rows.iter().find(|row| row.run.id == *id).unwrap().run.agent_session.clone();
    let described = rows.iter().rev().map(|row| {
        let started = row.run.started.strftime("%H:%M").to_string();
        let tokens = row.figures.tokens.map_or_else(String::new, |tokens| tokens.input.to_string());
        let origin = row.run.resumes.as_ref().and_then(of_agent).unwrap_or_default();
        [row.run.agent_session.clone().unwrap(), row.run.title.clone().unwrap(), started, tokens, origin]
    });
    described.collect()
}

#[test]
fn a_fork_shows_and_counts_only_what_it_added() {
    let base =
        |session: &str| turn(session, "09:00", "Plan it.", 1_000) + &turn(session, "09:10", "Go on.", 500);
    // Older forks keep the ids of the origin, newer ones write their own; a fork of a fork copies both.
    for copied in ["s-1", "s-2"] {
        let origin = base("s-1") + &turn("s-1", "09:30", "Publish it.", 70);
        let fork = base(copied) + &turn("s-2", "09:20", "Try another way.", 300);
        let third = if copied == "s-1" { fork.clone() } else { fork.replace("s-2", "s-3") };
        let third = third + &turn("s-3", "09:25", "A third way.", 40);
        let expected = [
            ["s-1", "Plan it.", "09:00", "1570", ""],
            ["s-2", "Try another way.", "09:20", "300", "s-1"],
            ["s-3", "A third way.", "09:25", "40", "s-2"],
        ];
        let folder = folder();
        let files = [("one", &*origin), ("two", &*fork), ("three", &*third)];
        if copied == "s-2" {
            // Only the times show which one is the origin.
            let store = imported(folder.path(), "all", &[("one", &base("s-1")), files[1], files[2]]);
            let mut expected = expected;
            expected[0][3] = "1500";
            assert_eq!(described(&store), expected);
            continue;
        }
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let name = format!("{order:?}");
            let mut store = imported(folder.path(), &name, &order.map(|at| files[at]));
            assert_eq!(described(&store), expected, "{order:?}");
            let paths = ["three", "one", "two"].map(|file| folder.path().join(format!("{file}.jsonl")));
            let counts = store.import(&paths, |_| ()).unwrap();
            assert_eq!((counts.new, counts.changed), (0, 0));
        }
        let mut store = Store::open(&folder.path().join("at once")).unwrap();
        let paths = files.map(|(file, _)| folder.path().join(format!("{file}.jsonl")));
        store.import(&paths, |_| ()).unwrap();
        assert_eq!(described(&store), expected);
    }
}

#[test]
fn a_fork_that_counts_on_from_its_origin_counts_only_what_it_added() {
    let line = |time: &str, kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-11-20T{time}.000Z","type":"{kind}","payload":{payload}}}"#) + "\n"
    };
    let meta = |id: &str, more: &str| {
        let payload = format!(r#"{{"id":"{id}",{more}"cwd":"/home/dev/{id}","cli_version":"0.144.0"}}"#);
        line("09:00:00", "session_meta", &payload)
    };
    let turn = |time: &str, prompt: &str, sum: u64| {
        let prompt = format!(r#"{{"type":"user_message","message":"{prompt}"}}"#);
        let reply = r#"{"type":"agent_message","message":"Done."}"#;
        let usage = format!(r#"{{"input_tokens":{sum},"cached_input_tokens":0,"output_tokens":1}}"#);
        let count = format!(r#"{{"type":"token_count","info":{{"total_token_usage":{usage}}}}}"#);
        let end = r#"{"type":"task_complete","last_agent_message":"Done."}"#;
        let parts = [("10", &*prompt), ("15", reply), ("16", &*count), ("17", end)];
        let lines = parts.map(|(second, payload)| line(&format!("{time}:{second}"), "event_msg", payload));
        lines.concat()
    };
    let base = turn("09:01", "Plan it.", 1_000) + &turn("09:02", "Go on.", 1_500);
    let one = meta("t-1", "") + &base + &turn("09:30", "Publish it.", 1_570);
    // A copy may have the times of the fork.
    let copied = meta("t-1", "") + &base.replace("T09:0", "T09:1");
    let fork =
        meta("t-2", r#""forked_from_id":"t-1","#) + &copied + &turn("09:20", "Try another way.", 1_800);
    let third = meta("t-3", r#""forked_from_id":"t-2","#) + &fork + &turn("09:25", "A third way.", 1_840);
    let spawned =
        r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"t-1","agent_nickname":"Ada"}}},"#;
    let helper = meta("t-4", spawned).replace("09:00:00", "09:39:00") + &turn("09:40", "Look it up.", 5_000);
    let expected = [
        ["t-1", "Plan it.", "09:00", "1570", ""],
        ["t-2", "Try another way.", "09:20", "300", "t-1"],
        ["t-3", "A third way.", "09:25", "40", "t-2"],
        ["t-4", "Look it up.", "09:39", "5000", "t-1"],
    ];
    let files = [("one", &*one), ("two", &*fork), ("three", &*third), ("four", &*helper)];
    let folder = folder();
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1]] {
        let store = imported(folder.path(), &format!("{order:?}"), &order.map(|at| files[at]));
        let mut found = described(&store);
        found.sort();
        assert_eq!(found, expected, "{order:?}");
        let folders: Vec<_> = list(&store).into_iter().map(|row| row.run.folder.unwrap()).collect();
        assert!(["t-1", "t-2", "t-3"].iter().all(|id| folders.contains(&format!("/home/dev/{id}"))));
    }
}

#[test]
fn a_copy_without_anything_of_its_own_counts_nothing() {
    let folder = folder();
    let base = turn("s-1", "09:00", "Plan it.", 1_000);
    let files = [("one", &*base), ("two", &base.replace("s-1", "s-2"))];
    let store = imported(folder.path(), "store", &files);
    let tokens: u64 =
        list(&store).iter().filter_map(|row| row.figures.tokens).map(|tokens| tokens.input).sum();
    assert_eq!((list(&store).len(), tokens), (2, 1_000));
}

#[test]
fn sessions_in_which_nobody_asked_anything_are_left_out_and_counted() {
    let folder = folder();
    let side = |text: String| text.replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let command = |name: &str| {
        let text = format!("<command-name>/{name}</command-name>\\n<command-args></command-args>");
        let output = "<local-command-stdout>Bye!</local-command-stdout>";
        let line = |text: &str, uuid: &str| {
            claude("s-2", "11:00:00", uuid, "user", &format!(r#"{{"role":"user","content":"{text}"}}"#))
        };
        line(&text, "c-1") + &line(output, "c-2")
    };
    let empty = [
        ("warm-up", side(turn("s-1", "10:00", "Warmup", 900))),
        ("commands", command("exit")),
        ("snapshot", r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#.to_owned()),
        ("summary", r#"{"type":"summary","summary":"Old title","leafUuid":"u"}"#.to_owned()),
    ];
    let init = r#"{"type":"system","subtype":"init","session_id":"s-4","model":"model-1","cwd":"/home/dev/shop","tools":[]}"#;
    let mut files: Vec<(&str, &str)> = empty.iter().map(|(file, text)| (*file, &**text)).collect();
    let asked = turn("s-3", "09:00", "Warmup for the test.", 7);
    files.extend([("asked", &*asked), ("stream", init)]);
    let store = imported(folder.path(), "store", &files);
    let listed = |filter: SessionFilter| {
        let rows = store.list(&filter).unwrap();
        rows.iter().map(|row| row.source.path.file_stem().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(SessionFilter::default()), ["stream", "asked"]);
    assert_eq!(listed(SessionFilter { with_empty: true, ..SessionFilter::default() }).len(), 6);
    let only = SessionFilter { status: Some(SessionStatus::Empty), ..SessionFilter::default() };
    assert_eq!(listed(only.clone()).len(), 4);
    let tokens: u64 =
        store.list(&only).unwrap().iter().filter_map(|row| row.figures.tokens).map(|it| it.input).sum();
    assert_eq!(tokens, 900);
    let FoundSession::One(last) = store.find("last~1").unwrap() else { panic!() };
    assert_eq!(last.record.run.title.as_deref(), Some("Warmup for the test."));
    assert_eq!(store.find("last~2").unwrap(), FoundSession::None);
}

#[test]
fn histories_of_an_older_version_are_read_again() {
    let folder = folder();
    let path = folder.path().join("sessions.db");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/databases/version-4.db");
    fs::copy(kept, &path).unwrap();
    let file = folder.path().join("history.jsonl");
    fs::write(&file, turn("s-1", "10:00", "Warmup", 900).replace(r#"chain":false"#, r#"chain":true"#))
        .unwrap();
    let connection = Connection::open(&path).unwrap();
    for (id, title, path) in [("h-1", Some("Warmup"), file.to_str().unwrap()), ("h-2", None, "/gone.jsonl")] {
        let sql =
            "INSERT INTO sessions (id, agent, title, status, started) VALUES (?1, 'claude', ?2, 'done', 1)";
        connection.execute(sql, (id, title)).unwrap();
        let sql = "INSERT INTO sources (session, path, kind, start, mtime) VALUES (?1, ?2, 'history', 0, 5)";
        connection.execute(sql, (id, path)).unwrap();
    }
    drop(connection);
    let mut store = Store::open(folder.path()).unwrap();
    store.catch_up().unwrap();
    let only = SessionFilter { status: Some(SessionStatus::Empty), ..SessionFilter::default() };
    let rows = store.list(&only).unwrap();
    assert_eq!(rows.iter().map(|row| &*row.run.id).collect::<Vec<_>>(), ["h-2", "h-1"]);
    assert_eq!(rows[1].figures.tokens.unwrap().input, 900);
}

#[test]
fn an_interrupted_stream_is_interrupted_whatever_its_last_line_is() {
    let folder = folder();
    let stop = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]},"session_id":"s-1"}"#;
    let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,"session_id":"s-1","uuid":"u"}"#;
    let hook = r#"{"type":"system","subtype":"status","status":null,"session_id":"s-1"}"#;
    // An outcome takes precedence.
    for (end, status) in [
        (stop.to_owned(), SessionStatus::Interrupted),
        (format!("{stop}\n{hook}"), SessionStatus::Interrupted),
        (format!("{stop}\n{result}"), SessionStatus::Failed),
    ] {
        let store = imported(folder.path(), "store", &[("stream", &format!("{LOG}{end}\n"))]);
        assert_eq!(list(&store)[0].run.status, status, "{end}");
    }
}

#[test]
fn the_response_is_the_answer_of_the_last_turn_that_has_ended() {
    let line = |kind: &str, more: &str, id: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}"{more},"message":{{"role":"{kind}","id":"{id}","content":[{content}]}},"uuid":"u-{id}"}}"#
        )
    };
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let call = |name: &str, input: &str| {
        format!(r#"{{"type":"tool_use","id":"t-{name}","name":"{name}","input":{input}}}"#)
    };
    let history = r#","sessionId":"s-1","isSidechain":false"#;
    let stream = r#","session_id":"s-1","parent_tool_use_id":null"#;
    let prompt = |id: &str| line("user", history, id, &text("Count."));
    let ends = |more: &str| format!(r#"{{"type":"result","session_id":"s-1",{more}}}"#);
    let done = r#""subtype":"success","is_error":false,"result":"""#;
    let answered = |kind: &str| {
        [line("assistant", kind, "1", &text("Two.")), line("assistant", kind, "2", &call("Bash", "{}"))]
    };
    let with = |before: &[String], more: &[String]| [before, more].concat();
    let structured = r#"{"shelves": 2, "full": [1.0]}"#;
    let refused =
        r#"{"type":"tool_result","tool_use_id":"t-StructuredOutput","content":"no","is_error":true}"#;
    let cases = [
        (with(&[prompt("0")], &answered(history)), Some("Two.")),
        (with(&answered(history), &[prompt("3")]), Some("Two.")),
        (
            with(&answered(history), &[line("user", history, "3", &text("[Request interrupted by user]"))]),
            None,
        ),
        (
            vec![line("assistant", history, "1", &call("ExitPlanMode", r##"{"plan":"# Plan"}"##))],
            Some("# Plan"),
        ),
        (
            vec![
                line("assistant", history, "1", &call("StructuredOutput", structured)),
                line("assistant", history, "2", &text("Done.")),
            ],
            Some(structured),
        ),
        (
            vec![
                line("assistant", history, "1", &call("StructuredOutput", "{}")),
                line("user", history, "2", refused),
            ],
            None,
        ),
        (with(&answered(stream), &[]), None),
        (with(&answered(stream), &[ends(done)]), Some("Two.")),
        (
            with(&answered(stream), &[ends(&format!(r#"{done},"structured_output":{structured}"#))]),
            Some(structured),
        ),
        (with(&answered(stream), &[ends(r#""subtype":"error_max_turns","is_error":true"#)]), None),
    ];
    let folder = folder();
    let path = folder.path().join("session.jsonl");
    for (lines, response) in cases {
        std::fs::write(&path, lines.join("\n")).unwrap();
        let read = ReadSession::read(&path, 0, None).unwrap();
        assert_eq!(read.figures.response(), response, "{}", lines.join("\n"));
    }
}

#[test]
fn files_without_a_side_file_are_orphans_unless_their_run_is_in_progress() {
    let folder = folder();
    let sessions = folder.path().join("sessions");
    leave_run(folder.path(), IDS[0], "s-1", LOG);
    let file = |id: &str, ending: &str, text: &str| {
        let path = sessions.join(format!("{id}{ending}"));
        fs::write(&path, text).unwrap();
        path
    };
    let left = [file(IDS[1], ".ndjson", LOG), file(IDS[1], ".stderr", "e"), file(IDS[1], ".json.tmp", "{")];
    let held = fs::File::open(file(IDS[2], ".ndjson", LOG)).unwrap();
    held.lock().unwrap();
    let starting = [file(IDS[3], ".ndjson", ""), file(IDS[3], ".lock", "")];
    file("notes", ".ndjson", LOG);
    file("20261123-224103-", ".lock", "");
    let mut store = Store::open(folder.path()).unwrap();
    store.catch_up().unwrap();
    let orphans = |store: &Store| -> Vec<String> {
        store.orphans().unwrap().into_iter().map(|row| row.run.id).collect()
    };
    assert_eq!(orphans(&store), [IDS[1]]);
    let found = store.orphans().unwrap().remove(0);
    assert_eq!(
        (found.source.path.as_path(), found.run.started.to_string()),
        (left[0].as_path(), "2026-11-23T22:42:03Z".into())
    );
    drop(held);
    for path in &starting {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
    }
    assert_eq!(orphans(&store), [IDS[3], IDS[2], IDS[1]]);
    let removal = store.remove(&[IDS[1].to_owned(), IDS[3].to_owned()], false, |_, _| ()).unwrap();
    let removed: usize = removal.sessions.iter().map(|session| session.removed.len()).sum();
    assert_eq!((removed, orphans(&store)), (5, vec![IDS[2].to_owned()]));
    assert!(left.iter().chain(&starting).all(|path| !path.exists()));
    assert_eq!((list(&store).len(), fs::read_dir(&sessions).unwrap().count()), (1, 5));
}

#[test]
fn many_sessions_are_removed_by_the_hundred_and_found_by_what_they_resume() {
    let folder = folder();
    let mut store = Store::open(folder.path()).unwrap();
    let ids: Vec<String> =
        (0..120).map(|at| format!("20261123-22{:02}{:02}-k3x9qa", at / 60, at % 60)).collect();
    for id in &ids {
        leave_run(folder.path(), id, "s-1", "");
    }
    store.catch_up().unwrap();
    assert_eq!(list(&store).iter().filter(|row| row.run.resumes.is_some()).count(), 119);
    let mut steps = Vec::new();
    let removal = store.remove(&ids[..119], false, |done, all| steps.push((done, all))).unwrap();
    assert_eq!((removal.sessions.len(), steps), (119, vec![(0, 119), (100, 119)]));
    let rows = list(&store);
    assert_eq!((rows.len(), rows[0].run.resumes.as_ref()), (1, None));
    assert_eq!(fs::read_dir(folder.path().join("sessions")).unwrap().count(), 2);
    let plan: String = Connection::open(folder.path().join("sessions.db"))
        .unwrap()
        .query_row("EXPLAIN QUERY PLAN UPDATE sessions SET resumes = NULL WHERE resumes = 'a'", [], |row| {
            row.get(3)
        })
        .unwrap();
    assert!(plan.contains("sessions_by_resumes"), "{plan}");
}
