//! Pages with the answer and the totals at the top, though they are known last.

#[cfg(target_os = "linux")]
use std::process::Stdio;

use crate::program::{Folder, SESSION, reply};

/// A session that is too long to hold in memory.
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

#[test]
fn an_index_says_what_each_page_is_of_and_came_to() {
    let session = SESSION
        .replace(
            "\"First reply.\"}]}",
            "\"## Fixed <it>\\n\\nAs asked.\"}]},\"timestamp\":\"2026-02-03T09:04:05Z\"",
        )
        .replace("Second reply.", "## Fixed <it>\\n\\nAs asked.")
        .replace("\"num_turns\":2", "\"num_turns\":2,\"duration_ms\":3400,\"total_cost_usd\":0.31");
    let folder = Folder::with(&[("one.jsonl", &session), ("two.jsonl", SESSION)]);
    let index = |to: &str| {
        folder.run(&format!("--to {to} -o {to}/ one.jsonl two.jsonl")).expect(0, "");
        let path = folder.path(to);
        let name = if to == "html" { "index.html" } else { "index.md" };
        std::fs::read_to_string(path.join(name)).unwrap()
    };
    assert_eq!(
        index("markdown"),
        "# Agent sessions\n\n- [Fixed \\<it>](one.md) · one.md · 3 Feb 2026 09:04 UTC · 3.4s · $0.31\n\
         - [\\~/shop](two.md) · two.md\n"
    );
    let html = index("html");
    let row = "<tr><td><a href=\"one.html\">Fixed &lt;it&gt;</a><br><span class=\"dim\">one.jsonl</span> <span class=\"dim\">~/shop</span></td><td>\
               <time datetime=\"2026-02-03T09:04:05Z\">3 Feb 2026 09:04 UTC</time></td><td class=\"right\">3.4s</td>";
    assert!(html.contains(row), "{html}");
}
