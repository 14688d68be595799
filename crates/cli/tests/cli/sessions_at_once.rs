//! The store while several programs use it, in the same process namespace or another, and with a full disk.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Folder, Outcome, Running, SESSION, Signal, has_program, reply, skip, until};
use crate::run::{SESSIONS, agents, command, run};

const DATA: &str = "home/.local/share/streamfmt";

/// The duration of the load; `.ci/soak` sets a longer one.
fn load_time() -> Duration {
    let seconds = std::env::var("STREAMFMT_LOAD_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(4))
}

/// The largest accepted write-ahead log, in bytes.
const LARGEST_WAL: u64 = 16 << 20;

fn listed(outcome: &Outcome) -> Vec<Value> {
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn ten_runs_an_import_and_a_reader_do_not_disturb_each_other() {
    let folder = agents(&[("claude", "cat session")]);
    let end = Instant::now() + load_time();
    let is_over = || Instant::now() >= end;
    let (runs, histories, lists) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                while !is_over() {
                    let told = run(&folder, "run --to text -- ./claude -p Fix");
                    assert_eq!(told.code, Some(0), "{told:?}");
                    assert_eq!(told.stderr, "streamfmt: added --output-format stream-json --verbose\n");
                    assert!(told.stdout.contains("Second reply."), "{told:?}");
                    runs.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            while !is_over() {
                let number = histories.fetch_add(1, Ordering::Relaxed);
                let (name, id) = (format!("h/{number}.jsonl"), format!("h-{number}"));
                folder.write(&name, SESSION.replace("s-1", &id));
                let told = run(&folder, "sessions import h");
                assert_eq!((told.code, &*told.stderr), (Some(0), ""), "{told:?}");
                assert!(told.stdout.starts_with("1 new, "), "{told:?}");
            }
        });
        scope.spawn(|| {
            while !is_over() {
                let before = lists.load(Ordering::Relaxed);
                let rows = listed(&run(&folder, "sessions list --json")).len();
                assert!(rows >= before, "{rows} after {before}");
                lists.store(rows, Ordering::Relaxed);
                let wal = fs::metadata(folder.path(&format!("{DATA}/sessions.db-wal")));
                let size = wal.map_or(0, |about| about.len());
                assert!(size < LARGEST_WAL, "{size}");
            }
        });
    });
    let rows = listed(&run(&folder, "sessions list --json"));
    assert_eq!(rows.len(), runs.into_inner() + histories.into_inner());
    assert!(rows.iter().all(|row| row["status"] == "done" && row["num_turns"] == 2), "{rows:?}");
}

/// A command that runs another in a new namespace, if that is possible here.
#[cfg(target_os = "linux")]
pub(crate) fn unshare(folder: &Folder, ways: &[&[&str]], probe: &str) -> Option<Command> {
    if !has_program("unshare") {
        return None;
    }
    let made = |way: &&[&str]| {
        let mut command = Command::new("unshare");
        command.args(*way).current_dir(folder.path("")).stdin(Stdio::null());
        command.env("HOME", folder.path("home")).env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        command
    };
    let can = |way: &&&[&str]| {
        made(way).args(["/bin/sh", "-c", probe]).output().is_ok_and(|probed| probed.status.success())
    };
    let way = ways.iter().find(can);
    if way.is_none() {
        skip(&format!("no such namespace can be made here (unshare {})", ways[0].join(" ")));
    }
    way.map(made)
}

#[cfg(target_os = "linux")]
#[test]
fn runs_are_seen_from_another_namespace_of_processes() {
    let wait = "until test -e go || ! test -e session; do sleep 0.01; done";
    let folder = agents(&[("agent", &format!("cat reply; echo $$ > begun; {wait}; cat session"))]);
    let ways: [&[&str]; 2] = [
        &["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"],
        &["--pid", "--fork", "--kill-child", "--mount-proc"],
    ];
    let apart = || unshare(&folder, &ways, "true");
    let status_here = || listed(&run(&folder, "sessions list --json"))[0]["status"].clone();
    let status_apart = || {
        let mut command = apart().unwrap();
        command.args([env!("CARGO_BIN_EXE_streamfmt"), "sessions", "list", "--json"]);
        listed(&command.output().unwrap().into())[0]["status"].clone()
    };
    // A run in another namespace, where its process ids belong to other processes here.
    let Some(mut inside) = apart() else { return };
    inside.args([env!("CARGO_BIN_EXE_streamfmt"), "run", "--", "./agent"]);
    let running = Running::of_silent(&folder, inside);
    until(|| "the agent".to_owned(), || folder.path("begun").exists());
    assert_eq!((status_here(), status_apart()), ("running".into(), "running".into()));
    let refused = run(&folder, "sessions rm last --yes");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    running.end(Signal::KILL);
    until(|| format!("the status: {}", status_here()), || status_here() == "interrupted");
    assert_eq!(status_apart(), "interrupted");
    // The other way round.
    fs::remove_file(folder.path("begun")).unwrap();
    let child = command(&folder, "run -- ./agent").spawn().unwrap();
    until(|| "the agent".to_owned(), || folder.path("begun").exists());
    assert_eq!((status_here(), status_apart()), ("running".into(), "running".into()));
    folder.write("go", "");
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!((status_here(), status_apart()), ("done".into(), "done".into()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_database_disturbs_no_run() {
    const UNKNOWN: &str = "20200101-000000-abcdef";
    let folder = agents(&[("agent", "cat session"), ("claude", "cat reply; cat session")]);
    fs::create_dir_all(folder.path(DATA)).unwrap();
    let ways: [&[&str]; 2] = [&["--user", "--map-root-user", "--mount"], &["--mount"]];
    let mount = format!("mount -t tmpfs -o size=512k none {DATA}");
    let Some(mut shell) = unshare(&folder, &ways, &mount) else { return };
    let script = format!(
        "{mount}
        \"$0\" run --to text --log first -- ./agent > first.out || exit 11
        cd {DATA}/sessions
        sed s/$(basename *.json .json)/{UNKNOWN}/ *.json > {UNKNOWN}.json
        cd - > /dev/null
        head -c 1000000 /dev/zero > {DATA}/filler 2> filled
        \"$0\" run --to text --log second -- ./claude -p Fix > second.out 2> second.err; echo $? > second.code
        \"$0\" sessions list --json > full.out || exit 12
        rm {DATA}/filler {DATA}/sessions/{UNKNOWN}.json
        \"$0\" run --to text --log third -- ./agent > third.out || exit 13
        \"$0\" sessions list --json"
    );
    shell.args(["/bin/sh", "-c", &script]).arg(env!("CARGO_BIN_EXE_streamfmt"));
    let told: Outcome = shell.output().unwrap().into();
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_eq!(folder.read("second.code"), "0\n", "{}", folder.read("second.err"));
    assert_eq!(folder.read("second"), format!("{}{SESSION}", reply(7)));
    assert!(folder.read("second.out").contains("Second reply."));
    // Listing needs no space, not even if a run has no row yet.
    assert!(folder.read("full.out").lines().count() == 1, "{}", folder.read("full.out"));
    let rows = listed(&Outcome { stderr: String::new(), ..told });
    let logs: Vec<&str> = rows.iter().filter_map(|row| row["log"].as_str()?.rsplit('/').next()).collect();
    assert!(logs.starts_with(&["third"]) && logs.ends_with(&["first"]), "{logs:?}");
    assert!(!folder.path(SESSIONS).exists(), "all was on the other disk");
}
