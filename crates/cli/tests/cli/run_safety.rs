//! `run`: only the owner can read its files, and no link redirects them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::agent::scripted;
use crate::program::{Folder, Outcome, Running, SESSION, is_private, reply, until};
use crate::run::{SESSIONS, command, kept, run, side_file};

#[test]
fn a_log_is_never_written_through_a_link_nor_into_a_pipe_or_a_folder() {
    let folder = scripted(&[("agent", "write session")]);
    folder.write("precious", "kept");
    symlink("precious", folder.path("to-a-file")).unwrap();
    symlink("nothing", folder.path("to-nothing")).unwrap();
    symlink("to-nothing", folder.path("to-a-link")).unwrap();
    fs::create_dir(folder.path("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    for (log, why) in [
        ("to-a-file", "symbolic links are not followed"),
        ("to-nothing", "symbolic links are not followed"),
        ("to-a-link", "symbolic links are not followed"),
        ("pipe", "a pipe or socket can't hold a log"),
        ("folder", "is a directory"),
        ("missing/log", "no such file or directory"),
        ("precious/log", "not a directory"),
    ] {
        run(&folder, &format!("run --to text --log {log} -- ./agent"))
            .expect(2, &format!("streamfmt: --log {log}: {why}\n"));
    }
    // The agent would have cost money, and no record would exist.
    assert!(!folder.names().contains(&"agent.pid".to_owned()), "it ran");
    assert_eq!(folder.names_in(SESSIONS), [""; 0]);
    assert_eq!(folder.read("precious"), "kept");
    assert!(!folder.names().contains(&"nothing".to_owned()));
}

#[test]
fn the_next_free_name_of_a_log_is_no_link_either() {
    let folder = scripted(&[("agent", "write session\nuntil go"), ("other", "write session")]);
    folder.write("precious", "kept");
    symlink("precious", folder.path("run-2.ndjson")).unwrap();
    let mut first = Running::of(&folder, command(&folder, "run --to text --log run.ndjson -- ./agent"));
    first.until_shown("Second reply.");
    let told = run(&folder, "run --to text --log run.ndjson -- ./other");
    assert_eq!(told.code, Some(2), "{told:?}");
    folder.write("go", "");
    first.wait().expect(0, "");
    assert_eq!((folder.read("precious"), folder.read("run.ndjson")), ("kept".to_owned(), SESSION.to_owned()));
}

#[test]
fn all_files_are_for_their_owner_alone_wherever_they_are_and_whatever_the_umask() {
    let folder = scripted(&[("agent", "write session\nreport reply")]);
    fs::create_dir_all(folder.path(SESSIONS)).unwrap();
    fs::set_permissions(folder.path(SESSIONS), Permissions::from_mode(0o777)).unwrap();
    let mut shell = Command::new("/bin/sh");
    let script = "umask 0; exec \"$0\" run --log run.ndjson -- ./agent";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_streamfmt")]).current_dir(folder.path(""));
    shell.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder.path("home")).stdin(Stdio::null());
    let told = Outcome::from(shell.output().unwrap());
    assert_eq!(told.code, Some(0), "{told:?}");
    for path in [folder.path("run.ndjson"), kept(&folder, ".json"), kept(&folder, ".stderr")] {
        assert!(is_private(&path), "{}", path.display());
    }
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(SESSIONS), 0o700);
}

#[test]
fn an_id_of_a_session_is_never_part_of_a_path_whatever_it_is() {
    for id in [
        "../../../../escaped",
        "/tmp/streamfmt-escaped",
        "..",
        "a\\u0000b",
        "\\u001b]0;title\\u0007",
        "line\\nbreak",
        "CON",
        "\\ud800",
        "",
        &"long".repeat(100_000),
    ] {
        let folder = scripted(&[("agent", "write hostile")]);
        folder.write("hostile", SESSION.replace("s-1", id).replace("/home/dev/shop", "../escaped"));
        let before = names(&folder);
        let told = run(&folder, "run --to text -- ./agent").expect(0, "");
        assert!(told.stdout.contains("Second reply."), "{id}");
        let side = side_file(&folder);
        let own = side["id"].as_str().unwrap();
        assert_eq!(folder.names_in(SESSIONS), [format!("{own}.json"), format!("{own}.ndjson")], "{id}");
        assert_eq!(names(&folder), before, "{id}");
        // The side file doesn't repeat an id that is too long; the log has it.
        assert!(fs::read(kept(&folder, ".json")).unwrap().len() < 4096, "{id}");
    }
}

/// The names of files that belong neither to the program nor to the agent.
fn names(folder: &Folder) -> Vec<String> {
    let mut names = folder.names();
    names.retain(|name| name != "home" && name != "agent.pid");
    names
}

#[test]
fn a_log_in_the_default_folder_that_can_t_be_opened_at_first_is_whole_once_it_can() {
    let flood: String = (0..20_000).map(reply).collect();
    let script = "write session\nreport reply\nmark begun\nuntil go\nwrite flood\nmark ended\nwrite session";
    let folder = scripted(&[("agent", script)]);
    folder.write("flood", &flood);
    // Root may write to any folder, but can't use a file as a folder.
    folder.write("home/.local/share", "no folder");
    let child = command(&folder, "run --to text -- ./agent").spawn().unwrap();
    until(|| "the start".to_owned(), || folder.names().contains(&"begun".to_owned()));
    fs::remove_file(folder.path("home/.local/share")).unwrap();
    let is_kept = |ending: &str| {
        let names = fs::read_dir(folder.path(SESSIONS)).into_iter().flatten().flatten();
        let mut names = names.filter(|name| name.path().extension().is_some_and(|it| it == ending));
        names.any(|name| name.metadata().unwrap().len() > 0)
    };
    for ending in ["json", "ndjson", "stderr", "lock"] {
        until(|| format!("the file .{ending}"), || is_kept(ending) || ending == "lock");
    }
    assert_eq!(side_file(&folder)["status"], "running");
    assert!(kept(&folder, ".lock").exists());
    folder.write("go", "");
    // By now, nobody reads the output: it has to come from the log.
    until(|| "the agent's end".to_owned(), || folder.names().contains(&"ended".to_owned()));
    let told = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_eq!(told.stdout.matches("reply number ").count(), 20_000);
    assert_eq!(fs::read_to_string(kept(&folder, ".ndjson")).unwrap(), format!("{SESSION}{flood}{SESSION}"));
    assert_eq!(fs::read_to_string(kept(&folder, ".stderr")).unwrap(), reply(7));
    assert_eq!(told.stderr.matches("LOG NOT WRITTEN").count(), 2, "one for each output: {}", told.stderr);
    assert_eq!(told.stderr.matches("the log is written again").count(), 2, "{}", told.stderr);
    let side = side_file(&folder);
    assert_eq!((&side["status"], &side["gaps"]), (&json!("done"), &json!(null)));
}

#[test]
fn a_run_whose_files_can_t_be_written_is_shown_all_the_same() {
    let folder = scripted(&[("agent", "write session")]);
    // Root may write to any folder, but can't use a file as a folder.
    folder.write("home/.local/share", "no folder");
    let told = run(&folder, "run --to text -- ./agent");
    assert_eq!(told.code, Some(74), "{told:?}");
    assert!(told.stdout.contains("Second reply."), "{told:?}");
    assert_eq!(told.stderr.matches("LOG NOT WRITTEN").count(), 1, "{}", told.stderr);
    assert!(told.stderr.contains("can't write "), "{}", told.stderr);
}
