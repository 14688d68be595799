//! An agent's standard error, and messages that quote other programs: masked, and never a command to a CI service.

use crate::program::{Folder, Running};
use crate::run::{agents, command, kept, run};

const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

/// Runs an agent that reports `first`, and `then` once `first` was kept.
fn report(options: &str, variables: &[(&str, &str)], first: &str, then: &str) -> (Folder, String) {
    let folder =
        agents(&[("agent", "cat session; cat first >&2; until [ -e go ]; do :; done; cat then >&2")]);
    folder.write("first", first);
    folder.write("then", then);
    let mut command = command(&folder, &format!("run {options} -- ./agent"));
    command.envs(variables.iter().copied());
    let running = Running::of(&folder, command);
    crate::program::until(
        || "the first part in the file of standard error".to_owned(),
        || {
            let folder = folder.path(crate::run::SESSIONS);
            let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut errors = names.filter(|entry| entry.file_name().to_string_lossy().ends_with(".stderr"));
            errors.next().is_some_and(|entry| entry.metadata().unwrap().len() >= first.len() as u64)
        },
    );
    folder.write("go", "");
    let told = running.wait().stderr;
    (folder, told)
}

#[test]
fn a_secret_is_masked_however_it_comes() {
    let (head, tail) = TOKEN.split_at(12);
    let long = "x".repeat(8185);
    let words = "word ".repeat(5000);
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIabcdefabcdef";
    for (first, then, shown) in [
        (format!("key {TOKEN} end\n"), String::new(), vec!["key [redacted github-token] end"]),
        (format!("key {head}"), format!("{tail} end\n"), vec!["key [redacted github-token] end"]),
        (format!("{long} {head}"), format!("{tail} end\n"), vec!["[redacted github-token] end"]),
        (format!("{words}{head}"), format!("{tail} end\n"), vec!["word word", "[redacted github-token] end"]),
        // Depending on when it is read, the line is omitted or masked as a whole.
        (long.repeat(9), format!(" {head}{tail} end\nnext\n"), vec!["\n  next\n"]),
        (
            key.to_owned(),
            "bcdef\n-----END RSA PRIVATE KEY-----\nend\n".to_owned(),
            vec!["[redacted private-key]", "\n  end\n"],
        ),
    ] {
        let (folder, told) = report("--redact", &[], &first, &then);
        for secret in [TOKEN, head, tail, "MIIabc", "bcdef"] {
            assert!(!told.contains(secret), "{secret}: {told}");
        }
        for text in shown {
            assert!(told.contains(text), "{text}: {}", &told[told.len().saturating_sub(300)..]);
        }
        assert_eq!(std::fs::read_to_string(kept(&folder, ".stderr")).unwrap(), first + &then);
    }
}

#[test]
fn a_pattern_of_a_plugin_masks_it_too() {
    let folder = agents(&[("agent", "cat session; echo 'ticket ACME-1234 there' >&2")]);
    folder.write("p.lua", "sf.redact({ patterns = { acme = \"ACME-[0-9]+\" } })\nreturn {}\n");
    let told = run(&folder, "run --plugin ./p.lua -- ./agent").stderr;
    assert!(told.contains("ticket [redacted acme] there"), "{told}");
}

#[test]
fn it_holds_no_command_to_a_ci_service() {
    let commands = "::error::SAID\n \u{a0}::add-mask::SAID\na ##[group]SAID\n##vso[task.x]SAID\n\
                    section_start:1:SAID\r\u{1b}[0K\n##teamcity[SAID\n";
    let harmless = [
        "  : :error::SAID",
        ": :add-mask::SAID",
        "## [group]SAID",
        "## vso[task.x]SAID",
        "section_start: 1:SAID",
        "## teamcity[SAID",
    ];
    for service in ["GITHUB_ACTIONS", "TF_BUILD", "GITLAB_CI", "TEAMCITY_VERSION", "CI"] {
        for profile in ["", "--profile ci", "-o out"] {
            let (_, told) = report(profile, &[(service, "true")], commands, "::error::SAID\n");
            for text in harmless {
                assert!(told.contains(text), "{service} {profile}: {text} in {told}");
            }
            assert!(!told.lines().any(|line| line.trim_start().starts_with("::")), "{told}");
        }
    }
    let (_, told) = report("", &[], commands, "");
    assert!(told.contains("  ::error::SAID\n") && told.contains("##[group]"), "elsewhere it stays: {told}");
}

#[test]
fn messages_are_masked_and_defused_as_well() {
    let evil = "##[group]SAID";
    let folder = agents(&[]);
    folder.write("p.lua", format!("print(\"{evil}\")\nreturn {{}}\n"));
    for (arguments, code) in [
        (evil.to_owned(), 2),
        (format!("run -- ./{evil}"), 127),
        (format!("run --log {evil} -- cat session"), 0),
        (format!("run --redact --log {evil} -- cat session"), 0),
        ("run --plugin ./p.lua -- cat session".to_owned(), 0),
        ("--plugin ./p.lua session".to_owned(), 0),
        (format!("--{evil}"), 2),
        (format!("--profile {evil} session"), 2),
    ] {
        let output = command(&folder, &arguments).env("GITHUB_ACTIONS", "true").output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {told}");
        let is_quoted = !arguments.contains("--log") || arguments.contains("--redact");
        assert!(
            !told.contains("##[") && (told.contains("## [group]SAID") || !is_quoted),
            "{arguments}: {told}"
        );
    }
    for arguments in
        [format!("run --redact -- ./{TOKEN}"), format!("--redact {TOKEN}"), format!("--redact --{TOKEN}")]
    {
        let told = run(&folder, &arguments).stderr;
        assert!(!told.contains(TOKEN) && told.contains("[redacted github-token]"), "{arguments}: {told}");
    }
}
