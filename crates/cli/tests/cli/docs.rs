//! The pages of the documentation: their commands, options and links.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::page::{blocks, follow};
use crate::program::{Folder, has_program};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every page of documentation in the repository.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|it| root().join(it)).into();
    for folder in ["docs", "plugins", "themes"] {
        let mut folders = vec![root().join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "md") {
                    pages.push(path);
                }
            }
        }
    }
    pages.sort();
    pages
}

/// A folder with the sample session.
fn folder() -> Folder {
    let sample = fs::read_to_string(root().join("tests/samples/shop.jsonl")).unwrap();
    Folder::with(&[("shop.jsonl", &sample)])
}

#[test]
fn the_tutorial_goes_as_it_says() {
    let commands = follow(include_str!("../../../../docs/tutorial.md"), &folder());
    assert!(commands >= 18, "only {commands} commands were tried");
}

#[test]
fn the_commands_of_the_page_on_plugins_go_as_it_says() {
    assert_eq!(follow(include_str!("../../../../docs/plugins.md"), &folder()), 2);
}

#[test]
fn the_commands_with_jq_print_what_the_page_shows() {
    let page = fs::read_to_string(root().join("docs/json.md")).unwrap();
    let (_, rest) = page.split_once("## With jq\n").unwrap();
    let (section, _) = rest.split_once("\n## ").unwrap();
    let shown: Vec<_> = blocks(section).into_iter().collect();
    assert_eq!(shown.len(), 6);
    if !has_program("jq") {
        return;
    }
    let home = Folder::new();
    let program = Path::new(env!("CARGO_BIN_EXE_streamfmt"));
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    for pair in shown.chunks(2) {
        let [("sh", command), ("text", output)] = pair else { panic!("a command and its output: {pair:?}") };
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command.join("\n")).current_dir(root());
        shell.env_clear().env("HOME", home.path("")).env("PATH", &path);
        let printed = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        assert_eq!(printed.lines().collect::<Vec<_>>(), *output, "{}", command.join("\n"));
    }
}

#[test]
fn the_settings_and_the_script_of_the_readme_work() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let folder = folder();
    for (info, lines) in blocks(&readme) {
        if let "toml" | "lua" = info {
            folder.write(&format!("readme.{info}"), lines.join("\n"));
        }
    }
    let options = "--strict-config --strict-plugins shop.jsonl";
    let told = folder.run(&format!("--config readme.toml {options}")).expect(0, "").stdout;
    assert!(told.contains("● $ cargo test --quiet\n") && !told.contains("● Read"), "{told}");
    let told = folder.run(&format!("--plugin readme.lua {options}")).expect(0, "").stdout;
    assert!(told.contains("  $ cargo test --quiet\n  └ 14 passed\n"), "{told}");
}

/// The targets of a page's links, outside of code.
fn links(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        // Every other piece between backticks is code.
        let text: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        if !is_code {
            links
                .extend(text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
        }
    }
    links
}

/// The anchor of a heading on a page.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn all_links_lead_somewhere() {
    let mut tried = 0;
    for page in pages() {
        for link in links(&fs::read_to_string(&page).unwrap()) {
            if link.contains("://") {
                continue;
            }
            let (path, part) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            if !part.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                let found = headings.any(|line| anchor(line.trim_start_matches('#')) == part);
                assert!(found, "{}: {link}: there is no such heading", page.display());
            }
            tried += 1;
        }
    }
    assert!(tried > 50, "only {tried} links");
}

#[test]
fn the_readme_leads_to_every_page() {
    let readme = links(&fs::read_to_string(root().join("README.md")).unwrap());
    for page in pages().iter().filter(|page| page.parent() == Some(&root().join("docs"))) {
        let link = format!("docs/{}", page.file_name().unwrap().to_str().unwrap());
        assert!(readme.contains(&link), "the README doesn't lead to {link}");
    }
}

/// The words that begin with `--` in a line.
fn options(line: &str) -> Vec<&str> {
    let words = line.split(|it: char| !(it.is_ascii_alphanumeric() || matches!(it, '-' | '_')));
    words.filter(|word| word.len() > 2 && word.starts_with("--") && !word.starts_with("---")).collect()
}

#[test]
fn pages_name_only_options_that_there_are() {
    let folder = Folder::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut commands = vec![String::new()];
    while let Some(command) = commands.pop() {
        let help = folder.run(&format!("{command} --help")).expect(0, "").stdout;
        known.extend(options(&help).into_iter().map(str::to_owned));
        let listed = help.split_once("\nCommands:\n").and_then(|(_, rest)| rest.split_once("\n\n"));
        for line in listed.map_or("", |(list, _)| list).lines() {
            if let Some(name) = line.strip_prefix("  ").filter(|line| !line.starts_with(' ')) {
                commands.push(format!("{command} {}", name.split(' ').next().unwrap()));
            }
        }
    }
    assert!(known.contains("--fault-inject") && known.contains("--deny"), "{known:?}");
    let mut tried = 0;
    for page in pages() {
        for line in fs::read_to_string(&page).unwrap().lines() {
            for option in options(line) {
                // Options of other programs are on lines that name these programs.
                let other = [
                    "cargo ",
                    "claude -p",
                    "cline",
                    "codex app-server",
                    "copilot",
                    "cursor-agent",
                    "gemini",
                    "git ",
                    "kubectl ",
                    "npm ",
                    "opencode run",
                    "pi --mode",
                    "qwen",
                    "sha256sum ",
                    "systemctl ",
                ];
                let is_other = other.iter().any(|name| line.contains(name));
                assert!(
                    known.contains(option) || is_other,
                    "{}: there is no {option}: {line}",
                    page.display()
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "only {tried} options");
}

#[test]
fn the_table_of_options_in_the_readme_is_that_of_the_help() {
    let help = Folder::new().run("--help").expect(0, "").stdout;
    let all: BTreeSet<&str> = help
        .lines()
        .filter(|line| {
            line.trim_start().starts_with('-') && line.starts_with("  ") && !line.starts_with("       ")
        })
        .flat_map(options)
        .collect();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let table = readme.split_once("| option |").unwrap().1.split_once("\n\n").unwrap().0;
    let told: BTreeSet<&str> =
        table.lines().filter_map(|row| row.split(" | ").next()).flat_map(options).collect();
    let rare = [
        "--help",
        "--version",
        "--from",
        "--tail",
        "--config",
        "--no-project",
        "--strict-config",
        "--plugin-errors",
        "--strict-plugins",
    ];
    let expected: BTreeSet<&str> = all.into_iter().filter(|option| !rare.contains(option)).collect();
    assert_eq!(told, expected);
}

#[test]
fn fences_are_closed() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let fences = text.lines().filter(|line| line.starts_with("```") && !line.starts_with("````")).count();
        assert_eq!(fences % 2, 0, "{}", page.display());
        assert!(blocks(&text).iter().all(|(_, lines)| !lines.is_empty()), "{}", page.display());
    }
}
