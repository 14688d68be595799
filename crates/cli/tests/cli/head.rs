//! Pages whose answer and totals come first, though they are known last.

use std::process::Stdio;

use crate::program::{Folder, SESSION, reply};

/// A session that is too long to be held in memory.
fn long_session() -> String {
    let long = |number| reply(number).replace("reply number", &"many words ".repeat(100));
    let replies: String = (0..400).map(long).collect();
    reply(0)
        + &replies
        + r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"The last words."}"#
        + "\n"
}

#[test]
fn a_page_is_the_same_wherever_it_comes_from_and_goes_to() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    folder.write("long.jsonl", long_session());
    for input in ["s.jsonl", "long.jsonl"] {
        for to in ["markdown", "html"] {
            let page = folder.run(&format!("--to {to} {input}")).expect(0, "").stdout;
            assert!(page.starts_with(if to == "html" { "<!DOCTYPE html>" } else { "# " }), "{to}");
            assert!(page.matches("2 turns").count() > 0 || input == "s.jsonl", "{to}");
            let piped = folder.pipe(&format!("--to {to}"), &folder.read(input)).expect(0, "");
            assert!(piped.stdout == page, "{to} of a pipe");
            folder.run(&format!("--also {to}=beside -o one --to {to} {input}")).expect(0, "");
            assert!(folder.read("beside") == page && folder.read("one") == page, "{to} in files");
        }
    }
    assert_eq!(folder.names(), ["beside", "long.jsonl", "one", "s.jsonl"]);
}

#[test]
fn without_a_folder_for_temporary_files_the_answer_comes_last() {
    let folder = Folder::new();
    folder.write("long.jsonl", long_session());
    for (to, answer) in [("markdown", "## Answer"), ("html", "id=\"answer\"")] {
        let run = |temporary: &str| {
            let mut command = folder.command(&format!("--to {to} long.jsonl"));
            let output = command.env("TMPDIR", temporary).output().unwrap();
            assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{to}");
            String::from_utf8(output.stdout).unwrap()
        };
        let place = |page: &str| (page.find("reply number 0.").unwrap(), page.find(answer).unwrap());
        let page = run("/nowhere");
        assert!(place(&page).0 < place(&page).1, "{to} as it comes");
        #[cfg(unix)]
        {
            let page = run("/tmp");
            assert!(place(&page).0 > place(&page).1, "{to} held back");
        }
    }
}

#[test]
fn the_end_of_a_page_has_the_answer() {
    let folder = Folder::new();
    folder.write("long.jsonl", long_session());
    let tail = folder.run("--to markdown --tail 200 long.jsonl").expect(0, "").stdout;
    assert!(tail.contains("The last words."), "{tail}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_page_on_a_full_disk_is_a_failure_and_a_closed_pipe_is_none() {
    let folder = Folder::new();
    folder.write("long.jsonl", long_session());
    for to in ["markdown", "html"] {
        let arguments = format!("--to {to} long.jsonl");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = folder.command(&arguments).stdout(Stdio::from(full)).output().unwrap();
        assert_eq!(output.status.code(), Some(74), "{to}");
        let mut child = folder.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{to}");
    }
}
