//! Damaged databases: readable rows are saved, and losses are reported.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use streamfmt_server::store::{FoundSession, SessionFilter, SessionRecord, Store, StoreNotice, StoreProblem};
use tempfile::TempDir;

/// The number of histories to import.
const ROWS: usize = 600;
/// The size of a page.
const PAGE: usize = 4_096;
/// The tables, with the column that has the id of the session.
const TABLES: [(&str, &str); 5] = [
    ("sessions", "id"),
    ("sources", "session"),
    ("usage", "session"),
    ("calls", "session"),
    ("messages", "session"),
];

fn folder() -> TempDir {
    TempDir::with_prefix_in("damage-", env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Writes a history with a prompt, a call and a reply, which may be long.
fn write_history(folder: &Path, at: usize) {
    let time = format!("2026-11-{:02}T{:02}:{:02}", at / 60 + 1, at / 10 % 24, at % 60);
    let line = |number: usize, kind: &str, message: &str| {
        format!(
            r#"{{"type":"{kind}","sessionId":"s-{at}","cwd":"/home/dev/shop-{}","version":"2.1.0","uuid":"u-{at}-{number}","parentUuid":null,"isSidechain":false,"timestamp":"{time}:{number:02}.000Z","message":{message}}}"#,
            at % 20
        ) + "\n"
    };
    let reply = |number: usize, content: &str| {
        let usage = format!(r#"{{"input_tokens":{},"output_tokens":7}}"#, at + 1);
        line(
            number,
            "assistant",
            &format!(
                r#"{{"id":"m-{at}-{number}","role":"assistant","model":"model-1","content":[{content}],"usage":{usage}}}"#
            ),
        )
    };
    let mut text =
        line(0, "user", &format!(r#"{{"role":"user","content":"Fix part {at} of the cart, please."}}"#));
    let call =
        format!(r#"{{"type":"tool_use","id":"t-{at}","name":"Bash","input":{{"command":"ls {at}"}}}}"#);
    text.push_str(&reply(1, &call));
    let words = "Part done. ".repeat(if at.is_multiple_of(50) { 1_500 } else { 20 + at % 40 });
    text.push_str(&reply(2, &format!(r#"{{"type":"text","text":"{words}"}}"#)));
    fs::write(folder.join(format!("h-{at:03}.jsonl")), text).unwrap();
}

/// Imports this many histories and returns the database as one file.
fn imported(data: &Path, histories: &Path, count: usize) -> Vec<u8> {
    fs::create_dir_all(histories).unwrap();
    (0..count).for_each(|at| write_history(histories, at));
    let mut store = Store::open(data).unwrap();
    assert_eq!(store.import(&[histories.to_owned()], |_| ()).unwrap().new, count);
    drop(store);
    fs::read(data.join("sessions.db")).unwrap()
}

/// Writes a database and returns its path.
fn put(data: &Path, bytes: &[u8]) -> PathBuf {
    fs::create_dir_all(data).unwrap();
    let path = data.join("sessions.db");
    fs::write(&path, bytes).unwrap();
    path
}

/// Pseudo-random numbers, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap()).unwrap()
    }
}

fn flip(bytes: &mut [u8], bits: usize, seed: u64) {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    for _ in 0..bits {
        bytes[numbers.below(bytes.len())] ^= 1 << numbers.below(8);
    }
}

fn list(store: &mut Store) -> Vec<SessionRecord> {
    let filter = SessionFilter { with_empty: true, ..SessionFilter::default() };
    store.mended(|store| store.list(&filter)).unwrap()
}

/// The ids of the sessions.
fn ids(connection: &Connection) -> Vec<String> {
    let mut statement = connection.prepare("SELECT id FROM sessions ORDER BY id").unwrap();
    let ids = statement.query_map([], |row| row.get(0)).unwrap();
    ids.map(Result::unwrap).collect()
}

/// The number of a table's rows that are found by the ids of their sessions.
fn readable(connection: &Connection, (table, key): (&str, &str), ids: &[String]) -> usize {
    let Ok(mut statement) = connection.prepare(&format!("SELECT * FROM {table} WHERE {key} = ?1")) else {
        return 0;
    };
    let mut count = 0;
    for id in ids {
        let mut rows = statement.query([id]).unwrap();
        while let Ok(Some(_)) = rows.next() {
            count += 1;
        }
    }
    count
}

/// Opens a copy with the right page count in its header.
fn with_page_count(path: &Path) -> Connection {
    let mut bytes = fs::read(path).unwrap();
    let pages = u32::try_from(bytes.len().div_ceil(PAGE)).unwrap();
    if let Some(count) = bytes.get_mut(28..32) {
        count.copy_from_slice(&pages.to_be_bytes());
    }
    let copy = path.with_extension("counted");
    fs::write(&copy, bytes).unwrap();
    Connection::open(copy).unwrap()
}

/// The ids of the sessions whose row is the same in another database.
fn unharmed(connection: &Connection, whole: &Connection, ids: &[String]) -> usize {
    let row = |connection: &Connection, id: &String| {
        let sql = "SELECT title || status || started || coalesce(response, '') FROM sessions WHERE id = ?1";
        connection.query_row(sql, [id], |row| row.get::<_, String>(0)).ok()
    };
    ids.iter().filter(|id| row(connection, id).is_some_and(|found| Some(found) == row(whole, id))).count()
}

/// Damages a database in some way.
type Damage = Box<dyn Fn(&mut Vec<u8>)>;

fn damages() -> Vec<(String, Damage)> {
    let mut damages: Vec<(String, Damage)> = Vec::new();
    for page in [2, 3, 5, 14, 130] {
        let zeros = move |bytes: &mut Vec<u8>| bytes[(page - 1) * PAGE..page * PAGE].fill(0);
        damages.push((format!("page {page} of zeros"), Box::new(zeros)));
    }
    for bits in [5, 20, 100] {
        for seed in 1..=3 {
            let flip = move |bytes: &mut Vec<u8>| flip(bytes, bits, seed);
            damages.push((format!("{bits} flipped bits, {seed}"), Box::new(flip)));
        }
    }
    damages.push(("the last page cut off".to_owned(), Box::new(|bytes| bytes.truncate(bytes.len() - PAGE))));
    damages.push(("a tenth cut off".to_owned(), Box::new(|bytes| bytes.truncate(bytes.len() * 9 / 10))));
    damages.push(("half cut off".to_owned(), Box::new(|bytes| bytes.truncate(bytes.len() / 2 + 7))));
    damages.push(("no bytes".to_owned(), Box::new(Vec::clear)));
    damages.push(("the header".to_owned(), Box::new(|bytes| bytes[..60].fill(0xa5))));
    damages
}

#[test]
fn rows_that_can_be_read_by_key_are_saved_whatever_the_damage_is() {
    let folder = folder();
    let histories = folder.path().join("histories");
    let bytes = imported(&folder.path().join("whole"), &histories, ROWS);
    let whole = Connection::open(folder.path().join("whole/sessions.db")).unwrap();
    let ids = ids(&whole);
    assert_eq!(ids.len(), ROWS);
    // From here on, only the database has the sessions.
    fs::remove_dir_all(&histories).unwrap();
    let (mut lines, mut failures) = (String::new(), 0);
    for (at, (what, damage)) in damages().into_iter().enumerate() {
        let data = folder.path().join(format!("damaged-{at}"));
        let mut damaged = bytes.clone();
        damage(&mut damaged);
        let path = put(&data, &damaged);
        let count = |connection: &Connection| {
            let [sessions, others @ ..] = TABLES.map(|table| readable(connection, table, &ids));
            [&[sessions, unharmed(connection, &whole, &ids)][..], &others].concat()
        };
        let before = count(&with_page_count(&path));
        let mut store = Store::open(&data).unwrap();
        store.mended(Store::catch_up).unwrap();
        list(&mut store);
        let mut notices = store.take_notices();
        drop(store);
        // Damage that hasn't been noticed yet.
        notices.extend(Store::repair(&data).unwrap().take_notices());
        assert_eq!(Store::check(&data).unwrap(), [], "{what}");
        let after = count(&Connection::open(&path).unwrap());
        let is_saved = after.iter().zip(&before).all(|(after, before)| after * 100 >= before * 99);
        let is_counted = notices.iter().all(|notice| match notice {
            StoreNotice::Replaced { saved, lost, .. } => {
                damaged.is_empty() || (saved + lost).abs_diff(ROWS) < 6
            }
            // A list found it before the repair.
            StoreNotice::Undecodable { .. } => true,
            _ => false,
        });
        failures += usize::from(!is_saved || !is_counted || notices.is_empty() && after != before);
        writeln!(lines, "{what}: {before:?} rows can be read, {after:?} were saved: {notices:?}").unwrap();
    }
    assert_eq!(failures, 0, "{lines}");
}

#[test]
fn a_file_of_no_bytes_is_damage_and_a_new_one_is_not() {
    let folder = folder();
    assert_eq!(Store::check(folder.path()).unwrap(), []);
    assert_eq!(Store::open(folder.path()).unwrap().take_notices(), []);
    let path = put(folder.path(), b"");
    let problems = Store::check(folder.path()).unwrap();
    assert_eq!(problems, [StoreProblem::Database("the file is empty".to_owned())]);
    let notices = Store::open(folder.path()).unwrap().take_notices();
    let [StoreNotice::Replaced { aside, saved: 0, lost: 0, .. }] = &*notices else { panic!("{notices:?}") };
    assert_eq!(fs::read(aside).unwrap(), b"");
    assert!(notices[0].to_string().contains("streamfmt sessions import"), "{}", notices[0]);
    assert!(fs::metadata(path).unwrap().len() > 0);
    assert_eq!(Store::check(folder.path()).unwrap(), []);
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.filter(|name| name.to_string_lossy().contains("new")).collect();
    assert_eq!(names, [""; 0], "no draft is left");
}

/// A store of a few imported histories. Returns the ids of its sessions.
fn small(folder: &Path) -> Vec<String> {
    imported(folder, &folder.join("histories"), 8);
    ids(&Connection::open(folder.join("sessions.db")).unwrap())
}

fn change(data: &Path, sql: &str) {
    Connection::open(data.join("sessions.db")).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_row_that_cannot_be_decoded_is_listed_as_its_id_until_it_is_repaired() {
    for (damage, mended) in [
        ("UPDATE sessions SET title = cast(x'46ff41' AS TEXT) WHERE id = ?", Some("F\u{fffd}A")),
        ("UPDATE sessions SET num_turns = -10 WHERE id = ?", Some("Fix part 2 of the cart, please.")),
        ("UPDATE sessions SET response = cast(x'ff' AS TEXT) WHERE id = ?", None),
        ("UPDATE usage SET tokens = -1 WHERE session = ?", None),
        ("UPDATE calls SET tool = cast(x'ff' AS TEXT) WHERE session = ?", None),
        ("UPDATE sources SET errors = cast(x'ff' AS TEXT) WHERE session = ?", None),
    ] {
        let folder = folder();
        let ids = small(folder.path());
        change(folder.path(), &damage.replace('?', &format!("'{}'", ids[2])));
        let mut store = Store::open(folder.path()).unwrap();
        store.mended(Store::catch_up).unwrap();
        assert_eq!(list(&mut store).len(), ids.len(), "{damage}");
        let FoundSession::One(found) = store.find(&ids[2]).unwrap() else { panic!("{damage}") };
        assert_eq!(found.record.run.id, ids[2]);
        store.sources(&ids[2]).unwrap();
        let notices = store.take_notices();
        assert_eq!(notices, [StoreNotice::Undecodable { first: ids[2].clone(), count: 1 }], "{damage}");
        if mended.is_some() {
            assert_eq!(list(&mut store).iter().filter(|row| row.run.title.is_none()).count(), 1, "{damage}");
        }
        drop(store);
        let problems = Store::check(folder.path()).unwrap();
        let [StoreProblem::Database(problem)] = &*problems else { panic!("{problems:?}") };
        assert!(problem.starts_with(&ids[2]), "{problem}");
        // Without the file, only the database has its title.
        fs::remove_file(folder.path().join("histories/h-002.jsonl")).unwrap();
        let mut store = Store::repair(folder.path()).unwrap();
        assert!(
            matches!(&*store.take_notices(), [StoreNotice::Replaced { saved: 8, lost: 0, .. }]),
            "{damage}"
        );
        store.catch_up().unwrap();
        let FoundSession::One(found) = store.find(&ids[2]).unwrap() else { panic!("{damage}") };
        assert!(mended.is_none() || found.record.run.title.as_deref() == mended, "{damage}: {found:?}");
        assert_eq!(
            (store.take_notices(), Store::check(folder.path()).unwrap()),
            (vec![], vec![]),
            "{damage}"
        );
    }
}

#[test]
fn wrong_types_and_a_foreign_schema_are_damage_that_costs_no_row() {
    let text_as_number = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = \
        replace(replace(sql, 'STRICT, WITHOUT', 'WITHOUT'), 'started INTEGER', 'started TEXT') WHERE name = 'sessions';";
    let use_it = "UPDATE sessions SET started = 'then' WHERE id = (SELECT min(id) FROM sessions)";
    for damage in [
        "ALTER TABLE sessions DROP COLUMN title",
        "ALTER TABLE sources DROP COLUMN errors",
        "ALTER TABLE sessions RENAME COLUMN title TO tiule",
        "ALTER TABLE sessions ADD COLUMN other TEXT",
        "DROP TABLE calls",
        "DROP INDEX sessions_by_time",
        "PRAGMA user_version = 3",
        text_as_number,
    ] {
        let folder = folder();
        let ids = small(folder.path());
        change(folder.path(), damage);
        if damage == text_as_number {
            change(folder.path(), use_it);
        }
        assert_ne!(Store::check(folder.path()).unwrap(), [], "{damage}");
        let mut store = Store::open(folder.path()).unwrap();
        store.mended(Store::catch_up).unwrap();
        assert_eq!(list(&mut store).len(), ids.len(), "{damage}");
        drop(store);
        let mut store = Store::repair(folder.path()).unwrap();
        store.catch_up().unwrap();
        let titles = list(&mut store).into_iter().filter_map(|row| row.run.title);
        assert_eq!(titles.count(), ids.len(), "{damage}");
        let rows = readable(&Connection::open(folder.path().join("sessions.db")).unwrap(), TABLES[3], &ids);
        assert_eq!(rows, ids.len(), "{damage}");
        assert_eq!(Store::check(folder.path()).unwrap(), [], "{damage}");
    }
}

#[test]
fn after_a_repair_every_source_is_read_again_and_those_of_lost_rows_are_named() {
    let folder = folder();
    let histories = folder.path().join("histories");
    let bytes = imported(folder.path(), &histories, 100);
    let before = list(&mut Store::open(folder.path()).unwrap());
    // An unnoticed bit flip, and one page with the rows of several sessions.
    let mut damaged = bytes.clone();
    let at = damaged.windows(16).position(|text| text == b"Fix part 7 of th").unwrap();
    damaged[at] ^= 4;
    let row = damaged.windows(17).rposition(|text| text == b"Fix part 60 of th").unwrap();
    damaged[row / PAGE * PAGE..][..PAGE].fill(0);
    put(folder.path(), &damaged);
    fs::remove_file(histories.join("h-002.jsonl")).unwrap();
    let mut store = Store::repair(folder.path()).unwrap();
    let notices = store.take_notices();
    let [StoreNotice::Replaced { saved, lost, histories: named, .. }] = &*notices else {
        panic!("{notices:?}")
    };
    assert!(*lost > 2 && saved + lost == 100, "{notices:?}");
    assert_eq!(named.len(), *lost);
    assert!(named.contains(&histories.join("h-060.jsonl")), "{named:?}");
    assert!(notices[0].to_string().ends_with(&format!("import {}", histories.display())), "{}", notices[0]);
    let counts = store.import(&[histories], |_| ()).unwrap();
    assert_eq!((counts.new, counts.unchanged), (0, 0));
    let after = list(&mut store);
    let shown = |rows: &[SessionRecord]| -> Vec<_> {
        rows.iter()
            .map(|row| (row.run.id.clone(), row.run.title.clone(), row.figures.tokens, row.run.status))
            .collect()
    };
    assert_eq!(shown(&after), shown(&before));
}
