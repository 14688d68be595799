//! Runs the commands of documentation pages and compares their output with what the page shows.
//!
//! A fence with a file name after its language is a file, which is written to the page's current folder. A fence `console` holds commands
//! after `$ `, each with its output on both streams and, if it isn't 0, `(exit code N)`. An ellipsis at the end of a line matches the rest
//! of the line; on a line of its own it matches any lines.

use std::fmt::Write;
use std::fs;
use std::io::{Read, pipe};
use std::path::Path;

use crate::program::Folder;

/// The fenced blocks of a page: the words after the fence, and the lines.
pub(crate) fn blocks(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            blocks.push((info, lines.by_ref().take_while(|line| *line != "```").collect()));
        }
    }
    blocks
}

/// Follows a page's instructions in a folder. Returns the number of commands.
pub(crate) fn follow(page: &str, folder: &Folder) -> usize {
    let mut place = folder.path("");
    let mut commands = 0;
    for (info, lines) in blocks(page) {
        if let Some((_, file)) = info.split_once(' ') {
            folder.write(file, lines.join("\n") + "\n");
        }
        if info != "console" {
            continue;
        }
        let mut lines = lines.into_iter().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ").expect("a command");
            let mut shown = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                shown.push(line);
            }
            match command.split_once(' ').expect("a command with arguments") {
                ("cd", "..") => assert!(place.pop(), "{command}"),
                ("cd", inner) => place.push(inner),
                ("rm", inner) => fs::remove_dir_all(place.join(inner.trim_start_matches("-r "))).unwrap(),
                ("streamfmt", arguments) => {
                    let told = run(folder, &place, arguments);
                    let told: Vec<&str> = told.lines().collect();
                    assert!(
                        fits(&shown, &told),
                        "{command}: the page shows\n{shown:#?}\nwhat comes is\n{told:#?}"
                    );
                }
                _ => panic!("no test can run {command}"),
            }
            commands += 1;
        }
    }
    commands
}

/// The output of a command in a terminal, on both streams, with its exit code if that isn't 0.
fn run(folder: &Folder, place: &Path, arguments: &str) -> String {
    let (mut reader, writer) = pipe().unwrap();
    let mut command = folder.command(arguments);
    command.current_dir(place).stderr(writer.try_clone().unwrap()).stdout(writer);
    let mut child = command.spawn().unwrap();
    // The command holds the writing ends; the program has its own.
    drop(command);
    let mut told = String::new();
    reader.read_to_string(&mut told).unwrap();
    let code = child.wait().unwrap().code().unwrap();
    if code != 0 {
        writeln!(told, "(exit code {code})").unwrap();
    }
    told
}

/// Whether lines match the shown ones, where an ellipsis matches others.
fn fits(shown: &[&str], told: &[&str]) -> bool {
    match shown.split_first() {
        None => told.is_empty(),
        Some((&"…", rest)) => (0..=told.len()).any(|start| fits(rest, &told[start..])),
        Some((line, rest)) => told.split_first().is_some_and(|(first, others)| {
            let same = line.strip_suffix('…').map_or(first == line, |begin| first.starts_with(begin));
            same && fits(rest, others)
        }),
    }
}
