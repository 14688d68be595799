//! All messages of the program in one file, `tests/messages.txt`, so that they can be read in a row.
//!
//! First come commands with their standard error and, if it is a message, their standard output. Then come the messages in the sources of
//! the program and the host that none of these commands prints. A new or reworded message fails the test; `STREAMFMT_BLESS=1` accepts it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::program::Folder;

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages.txt");

const REPLY: &str = "{\"type\":\"assistant\",\"message\":{\"id\":\"m-1\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},\"session_id\":\"s-1\"}\n";

/// Files that the commands read.
const FILES: [(&str, &str); 12] = [
    ("s.jsonl", REPLY),
    ("notes.txt", "no\nevents\n"),
    ("damaged.jsonl", "{\"type\":\"assistant\",\"message\":{\n"),
    ("unclosed.toml", "[profile.a]\nhide = [\"plan\"\nlimits.result-lines = 3\n"),
    (
        "keys.toml",
        "lable = 1\ndetail = \"all\"\nlimits.result-lines = \"x\"\nonly = [\"\"]\n[tool]\nBash = 3\n",
    ),
    ("theme.toml", "text = \"blurple\"\n"),
    ("raises.lua", "sf.view(\"reply\", function(reply) return reply.text.a.b end)\n"),
    ("field.lua", "sf.tool(\"Bash\", { sumary = 1 })\n"),
    ("syntax.lua", "sf.tool(\n"),
    ("baseline.json", "{"),
    ("cases/typo/input.ndjson", REPLY),
    ("cases/typo/case.toml", "tilte = \"x\"\nprofiles = [\"defualt\"]\n"),
];

const COMMANDS: [&str; 65] = [
    "none.jsonl",
    ".",
    "notes.txt",
    "damaged.jsonl",
    "s.jsonl --report",
    "s.jsonl --widht 80",
    "s.jsonl --width x",
    "s.jsonl --tail 99999999999999999999",
    "s.jsonl --to ansy",
    "s.jsonl --to",
    "s.jsonl --from claud",
    "s.jsonl --profile reveiw",
    "s.jsonl --theme drak",
    "s.jsonl --only @runn",
    "s.jsonl --only replies",
    "s.jsonl --set detial=full",
    "s.jsonl --set detail=all",
    "s.jsonl --set detail",
    "s.jsonl --fail=1",
    "s.jsonl --color sometimes",
    "s.jsonl --config unclosed.toml --strict-config",
    "s.jsonl --config keys.toml",
    "s.jsonl --config none.toml",
    "s.jsonl --theme ./theme.toml --to ansi --color always",
    "s.jsonl --plugin cots",
    "s.jsonl --plugin none.lua",
    "s.jsonl --plugin raises.lua",
    "s.jsonl --plugin field.lua",
    "s.jsonl --plugin syntax.lua",
    "s.jsonl --also html",
    "s.jsonl --also htlm=x",
    "s.jsonl --also html=y --also text=y",
    "s.jsonl -o none/x",
    "s.jsonl --tee none/x",
    "s.jsonl s.jsonl --to html",
    "s.jsonl -o s.jsonl",
    "s.jsonl --assets pictures",
    "s.jsonl --watch",
    "-f",
    "-f s.jsonl notes.txt",
    "-f s.jsonl -o x",
    "s.jsonl plugin",
    "nope nope",
    "explain Bsah",
    "explain --at 9 s.jsonl",
    "config get limits.x",
    "config show limits.x",
    "config explain reslt",
    "config check keys.toml",
    "profile show reveiw",
    "theme show drak",
    "theme check ./theme.toml",
    "records prompt projct",
    "records check project s.jsonl",
    "plugin new cost/x y",
    "plugin check none",
    "plugin test none",
    "plugin remove cost",
    "trust",
    "golden check cases",
    "sessions show none",
    "sessions import none",
    "sessions prune",
    "sessions rm last",
    "golden drift s.jsonl --baseline baseline.json",
];

#[test]
fn all_messages_are_in_the_list() {
    let folder = Folder::with(&FILES);
    let mut printed = String::new();
    for command in COMMANDS {
        let outcome = folder.run(command);
        let _ = writeln!(printed, "$ streamfmt {command}");
        let is_report = command.starts_with("golden") || outcome.stderr.is_empty();
        for line in outcome.stdout.lines().filter(|_| is_report).chain(outcome.stderr.lines()) {
            printed.extend([line, "\n"]);
        }
        let _ = writeln!(printed, "(exit code {})\n", outcome.code.unwrap_or(-1));
    }
    let own = folder.path("x").parent().unwrap().to_string_lossy().into_owned();
    // Agents name the folders of their sessions after the project's folder, with dashes.
    let dashed = own.replace(|ch: char| !ch.is_ascii_alphanumeric(), "-");
    let printed = printed.replace(&own, "FOLDER").replace(&dashed, "-FOLDER");
    let mut list = format!("{printed}== other messages\n");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (source, part) in [("src", "program"), ("../host/src", "host"), ("../server/src", "server")] {
        for file in rust_files(&sources.join(source)) {
            let text = fs::read_to_string(&file).unwrap();
            let messages: BTreeSet<String> = literals(&text).into_iter().filter(|it| is_prose(it)).collect();
            let messages: Vec<&String> = messages.iter().filter(|it| !is_printed(it, &printed)).collect();
            if !messages.is_empty() {
                let name = file.strip_prefix(sources.join(source)).unwrap().display();
                let _ = writeln!(list, "\n{part}: {name}");
            }
            for message in messages {
                let _ = writeln!(list, "  {}", message.replace('\n', "\n    "));
            }
        }
    }
    if env::var_os("STREAMFMT_BLESS").is_some() {
        fs::write(LIST, &list).unwrap();
    }
    let expected = fs::read_to_string(LIST).unwrap_or_default();
    let new: Vec<&str> = list.lines().filter(|line| !expected.lines().any(|it| it == *line)).collect();
    assert!(list == expected, "the messages are not those of tests/messages.txt; new: {new:#?}");
}

/// The sources with messages, without tests and without the tables from which documentation is generated.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "rs")
            && !["tests.rs", "api.rs", "reference.rs", "args.rs", "row.rs"].contains(&name.as_str())
        {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The string literals of a source, without its tests and attributes.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    for line in joined(source).lines().map(str::trim_start) {
        if line.starts_with("//") || line.starts_with("#[") || line.starts_with("about: ") {
            continue;
        }
        let mut rest = line;
        while let Some((_, after)) = rest.split_once('"') {
            let end = after
                .match_indices('"')
                .map(|(at, _)| at)
                .find(|at| after[..*at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0);
            let Some(end) = end else { break };
            found.push(after[..end].replace("\\\"", "\"").replace("\\n", "\n"));
            rest = &after[end + 1..];
        }
    }
    found
}

/// A source in which each literal that continues on the next line is on one line.
fn joined(source: &str) -> String {
    let mut text = String::new();
    let mut goes_on = false;
    for line in source.lines() {
        let line = if goes_on { line.trim_start() } else { line };
        goes_on = line.ends_with('\\') && !line.trim_start().starts_with("//");
        text.push_str(if goes_on { &line[..line.len() - 1] } else { line });
        if !goes_on {
            text.push('\n');
        }
    }
    text
}

/// Whether a literal is prose.
fn is_prose(text: &str) -> bool {
    let is_word = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_of_machines = text.contains("SELECT ")
        || ["INSERT ", "UPDATE ", "DELETE "].iter().any(|verb| text.starts_with(verb));
    text.split_whitespace().filter(is_word).count() > 1 && !text.contains("function(") && !is_of_machines
}

/// Whether a printed line could come from this format string.
fn is_printed(format: &str, printed: &str) -> bool {
    let mut parts = Vec::new();
    let mut rest = format;
    while let Some((part, after)) = rest.split_once('{') {
        parts.push(part);
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    parts.push(rest);
    printed.lines().any(|line| {
        let mut left = line;
        parts
            .iter()
            .map(|part| part.trim())
            .filter(|part| !part.is_empty())
            .all(|part| left.find(part).map(|at| left = &left[at + part.len()..]).is_some())
    })
}
