//! The modes of all files that this crate writes: agents' data is readable by its owner only, and so are the files that give access to the
//! server. Files for rows and nodes of pages have no name, so no other program can open them.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::Mode;

use crate::log::RawLog;
use crate::run_lock::RunLock;
use crate::serve::*;
use crate::side_draft::{self, ReservedDraft};
use crate::store::{CopyPolicy, Store};
use crate::sync::SyncPolicy;

const ID: &str = "20261123-224103-k3x9qa";
/// A run that was recorded elsewhere.
const OTHER: &str = "20261123-224104-k3x9qa";

/// All files and folders that were written, with their content. A `*` stands for the time in a name.
const WRITTEN: [(&str, &str); 26] = [
    ("data", "all that is kept"),
    ("data/sessions", "runs"),
    ("data/sessions/20261123-224103-k3x9qa.ndjson", "what the agent wrote"),
    ("data/sessions/20261123-224103-k3x9qa-2.ndjson", "the same, under another name"),
    ("data/sessions/20261123-224103-k3x9qa.stderr", "its messages"),
    ("data/sessions/20261123-224103-k3x9qa.json", "its command and task"),
    ("data/sessions/20261123-224103-k3x9qa.json.end", "the room for the last content of that"),
    ("data/sessions/20261123-224103-k3x9qa.lock", "that the run is in progress"),
    ("data/sessions/20261123-224104-k3x9qa.ndjson", "a copied run"),
    ("data/sessions/20261123-224104-k3x9qa.stderr", "a copied run"),
    ("data/sessions/20261123-224104-k3x9qa.json", "a copied run"),
    ("data/sessions.db", "titles, prompts, responses"),
    ("data/sessions.db-shm", "the same"),
    ("data/sessions.db-wal", "the same"),
    ("data/sessions.db.damaged-*", "the same"),
    ("data/sessions.db.lock", "nothing"),
    ("logs", "the folder of a log that was removed meanwhile"),
    ("logs/run.ndjson", "a log that is written anew"),
    ("new", "the folder above it, which is created as well"),
    ("new/state", "who may see it all"),
    ("new/state/logins.json", "the hashes of logins"),
    ("new/state/open.html", "a token"),
    ("new/state/serve.json", "the secret that keys are derived from"),
    ("new/state/serve.lock", "nothing"),
    ("new/state/serve.sock", "the way to a token"),
    ("access.log", "who has seen what"),
];

#[test]
fn every_file_and_folder_is_for_its_owner_only() {
    // With a narrower umask, a missing mode wouldn't be noticed.
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let data = root.join("data");
    // The damaged database is rebuilt.
    fs::create_dir(&data).unwrap();
    fs::write(data.join("sessions.db"), "no database").unwrap();
    let _run = write_run(root, &data);
    let _store = write_store(root, &data);
    let _server = write_server(root, &data);
    let mut found = BTreeMap::new();
    look(root, "", &mut found);
    let expected = WRITTEN.map(|(name, _)| name.to_owned());
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(found.keys().cloned().collect::<Vec<_>>(), expected);
    for (name, (mode, is_folder)) in &found {
        let wanted = if *is_folder { 0o700 } else { 0o600 };
        assert_eq!(*mode, wanted, "{name} has {mode:o}");
    }
    // A socket is a file as well.
    assert!(!found["new/state/serve.sock"].1);
}

/// The files of a run in progress, with the handles that keep them.
fn write_run(root: &Path, data: &Path) -> (Vec<RawLog>, RunLock, ReservedDraft) {
    let paths = SessionPaths { folder: data.join("sessions") };
    paths.create().unwrap();
    let id = ID.parse().unwrap();
    let open = |path: &Path| {
        let (mut log, opened) = RawLog::open(path, SyncPolicy::Never);
        opened.unwrap();
        log.append(b"{}\n");
        log
    };
    fs::create_dir(root.join("logs")).unwrap();
    let mut removed = open(&root.join("logs/run.ndjson"));
    fs::remove_dir_all(root.join("logs")).unwrap();
    removed.finish();
    let logs = vec![open(&paths.log(&id)), open(&paths.log(&id)), open(&paths.errors(&id)), removed];
    let lock = RunLock::hold(paths.lock(&id)).unwrap();
    let [end, draft] = paths.drafts(&id);
    side_draft::write(b"{}\n", &paths.side_file(&id), &draft, false).unwrap();
    (logs, lock, ReservedDraft::reserve(end, 3).unwrap())
}

/// A database that replaces a damaged one, with a run imported from elsewhere.
fn write_store(root: &Path, data: &Path) -> Store {
    let mut store = Store::repair(data).unwrap();
    let foreign = tempfile::tempdir_in(root).unwrap();
    for ending in ["json", "ndjson", "stderr"] {
        let path = foreign.path().join(format!("{OTHER}.{ending}"));
        let side = serde_json::json!({
            "v": 1, "id": OTHER, "status": "done", "command": ["agent"], "folder": "/",
            "log": format!("{OTHER}.ndjson"), "errors": format!("{OTHER}.stderr"),
            "started": "2026-11-23T22:41:04Z", "recorder": {"pid": 1},
        });
        fs::write(&path, if ending == "json" { side.to_string() } else { "{}\n".to_owned() }).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    }
    // On the other machine, the file was readable by others.
    store.import(&[foreign.path().join(format!("{OTHER}.json"))], |_| ()).unwrap();
    store
}

fn write_server(root: &Path, data: &Path) -> Server {
    let server = Server::start(ServeOptions {
        folders: Folders::default(),
        sessions: SessionPaths { folder: data.join("sessions") },
        copies: CopyPolicy::default(),
        agents: Vec::new(),
        state: root.join("new/state"),
        port: None,
        bind: Vec::new(),
        new_token: false,
        keeps_logins: true,
        log: Some(root.join("access.log")),
        allowed_hosts: Vec::new(),
        allowed_origins: Vec::new(),
        base_path: String::new(),
        shows_secrets: false,
        report: |_| (),
    })
    .unwrap();
    let address = server.url().unwrap();
    let (_, token) = address.split_once("?token=").unwrap();
    server.logins.enter(token, std::iter::empty(), "a browser", Instant::now()).unwrap();
    server.url_file().unwrap();
    server
}

/// Records the mode of everything below a folder, and whether it is a folder.
fn look(folder: &Path, above: &str, found: &mut BTreeMap<String, (u32, bool)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{above}{}", entry.file_name().into_string().unwrap());
        let about = entry.metadata().unwrap();
        let shown = name.split_once("damaged-").map_or(name.clone(), |(name, _)| format!("{name}damaged-*"));
        found.insert(shown, (about.mode() & 0o777, about.is_dir()));
        if about.is_dir() {
            look(&entry.path(), &format!("{name}/"), found);
        }
    }
}
