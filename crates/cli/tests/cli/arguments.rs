//! Which command lines are accepted and refused.

use crate::program::{FAILED_SESSION, Folder, Outcome, SESSION};

#[test]
fn help_and_version_are_no_errors() {
    let folder = Folder::new();
    let help = folder.run("--help").expect(0, "");
    for part in ["Examples:", "limits.result-lines", "Exit codes:"] {
        assert!(help.stdout.contains(part), "{part}");
    }
    assert!(folder.run("--version").expect(0, "").stdout.starts_with("streamfmt "));
}

#[test]
fn wrong_options_are_told_in_one_line_with_a_way_out() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    for (arguments, message) in [
        ("--nope", "unknown option --nope; see streamfmt --help"),
        ("--to ansy s.jsonl", "--to ansy: unknown output format (did you mean \"ansi\"?)"),
        ("--from claud s.jsonl", "--from claud: unknown dialect (did you mean \"claude\"?)"),
        (
            "--color blue s.jsonl",
            "--color can't be \"blue\" (one of: auto, always, never); see streamfmt --help",
        ),
        ("--color", "--color needs a value (one of: auto, always, never); see streamfmt --help"),
        ("--width x s.jsonl", "--width can't be \"x\" (expected an integer ≥ 0); see streamfmt --help"),
        ("--width -1 s.jsonl", "--width can't be \"-1\" (expected an integer ≥ 0)"),
        ("--width", "--width needs a value; see streamfmt --help"),
        ("--tail -5 s.jsonl", "--tail can't be \"-5\" (expected an integer ≥ 0)"),
        ("--tail 99999999999999999999 s.jsonl", "(expected a smaller number)"),
        ("theme preview --width x", "(expected an integer ≥ 0); see streamfmt theme preview --help"),
        ("golden check -j x", "--jobs can't be \"x\" (expected an integer ≥ 0)"),
        ("--width 1 --width 2 s.jsonl", "--width is given more than once; see streamfmt --help"),
        ("--ascii=yes s.jsonl", "--ascii takes no value, but got \"yes\"; see streamfmt --help"),
        ("-f -o x s.jsonl", "--follow and --output can't be combined; see streamfmt --help"),
        ("theme list --nope", "theme list has no option --nope; see streamfmt theme list --help"),
        (
            "theme sing",
            "theme has no command \"sing\" (one of: list, show, check, preview); see streamfmt theme --help",
        ),
        ("theme show", "theme show wants <NAME>; see streamfmt theme show --help"),
        (
            "completions zsh fish",
            "\"fish\" is an unexpected argument of completions; see streamfmt completions --help",
        ),
        ("explain", "explain wants <KIND|TOOL|FILE>; see streamfmt explain --help"),
        ("-f", "no session of this folder to follow (no agent keeps any); name a file or a folder\n"),
        ("-f s.jsonl s.jsonl", "--follow takes one file or folder"),
        ("--profile reveiw s.jsonl", "--profile: unknown profile \"reveiw\" (did you mean \"review\"?)"),
        ("--set detial=full s.jsonl", "unknown key \"detial\" (did you mean \"detail\"?)"),
        ("--theme drak --color always s.jsonl", "(did you mean \"dark\"?)"),
        ("--live often s.jsonl", "--live can't be \"often\" (one of: auto, always, never)"),
        (
            "--live always --to html s.jsonl",
            "--live always: html can't be changed once it is written; ansi and text can on a terminal, and --to json \
             becomes updates",
        ),
        ("--live always --to items s.jsonl", "--live always: items can't be changed once it is written"),
        ("--set live.rate=0 s.jsonl", "live.rate"),
    ] {
        let outcome = folder.run(arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{arguments}: {outcome:?}");
        assert!(
            outcome.stderr.starts_with("streamfmt: ") && outcome.stderr.contains(message),
            "{}",
            outcome.stderr
        );
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}

#[test]
fn what_was_probably_meant_is_told_below_what_is_wrong() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    for (arguments, wrong, meant) in [
        ("--widht 80 s.jsonl", "unknown option --widht", "--width"),
        ("--widht=80 s.jsonl", "unknown option --widht", "--width"),
        ("--no-color s.jsonl", "unknown option --no-color", "--color"),
        ("--out x s.jsonl", "unknown option --out", "--output"),
        ("-width 80 s.jsonl", "unknown option -w", "--width"),
        ("-follow s.jsonl", "--follow and --output can't be combined", "--follow"),
        ("--color allways", "--color can't be \"allways\" (one of: auto, always, never)", "\"always\""),
    ] {
        let told = format!("streamfmt: {wrong}; see streamfmt --help\n  did you mean {meant}?\n");
        assert_eq!(folder.run(arguments).expect(2, &told).stdout, "");
    }
    let outcome = folder.run("plugin nwe");
    assert!(
        outcome.stderr.starts_with("streamfmt: plugin has no command \"nwe\" (one of: new, "),
        "{outcome:?}"
    );
    assert!(
        outcome.stderr.ends_with("; see streamfmt plugin --help\n  did you mean \"plugin new\"?\n"),
        "{outcome:?}"
    );
}

#[test]
fn control_characters_in_arguments_do_not_reach_the_terminal() {
    let folder = Folder::new();
    for (arguments, told) in [
        ("--color=\u{1b}[2J", "can't be \"␛[2J\""),
        ("--\u{1b}[2J", "unknown option --␛[2J"),
        ("\u{1b}[2J.jsonl", "␛[2J.jsonl"),
        ("--set \u{1b}]0;x\u{7}=1", "␛]0;x␇"),
        ("--profile \u{1b}[2J", "␛[2J"),
    ] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(2));
        assert!(!outcome.stderr.contains('\u{1b}') && outcome.stderr.contains(told), "{:?}", outcome.stderr);
    }
}

#[test]
fn all_problems_of_a_profile_are_told_with_their_lines() {
    let folder = Folder::with(&[("mine.toml", "detail = \"fll\"\n[limits]\nresult-line = 3\n")]);
    let told = "\
streamfmt: ./mine.toml:1:10: detail can't be \"fll\" (did you mean \"full\"?)
  1 | detail = \"fll\"
    |          ^^^^^
streamfmt: ./mine.toml:3:1: unknown key \"limits.result-line\" (did you mean \"limits.result-lines\"?)
  3 | result-line = 3
    | ^^^^^^^^^^^
";
    folder.pipe("--profile ./mine.toml", SESSION).expect(2, told);
}

#[test]
fn a_profile_can_come_from_the_environment() {
    let folder = Folder::new();
    let output = folder.command("").env("STREAMFMT_PROFILE", "nope").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn fail_tells_whether_the_run_failed() {
    let folder = Folder::with(&[("good.jsonl", SESSION), ("bad.jsonl", FAILED_SESSION)]);
    folder.run("good.jsonl --fail").expect(0, "");
    folder.run("bad.jsonl").expect(0, "");
    folder.run("bad.jsonl --fail").expect(1, "");
    folder.run("bad.jsonl good.jsonl --fail").expect(1, "");
}

#[test]
fn completions_and_the_manual_page_are_written() {
    let folder = Folder::new();
    assert!(folder.run("completions bash").expect(0, "").stdout.contains("--timestamps"));
    assert!(folder.run("man").expect(0, "").stdout.contains(".TH streamfmt 1"));
}

#[test]
fn a_report_tells_what_was_counted() {
    let folder = Folder::new();
    let outcome = folder.pipe("--report", SESSION);
    assert!(outcome.stderr.starts_with("streamfmt: read: 4 lines ("), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("streamfmt: shown: 2 reply"), "{}", outcome.stderr);
}

#[test]
fn wrong_names_of_groups_and_themes_are_told_even_if_nothing_needs_them() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let told = "streamfmt: --only @runn: unknown action @runn (did you mean \"run\"?)\n";
    assert_eq!(folder.run("s.jsonl --only @runn").expect(2, told).stdout, "");
    let told = "streamfmt: --set hide=@edti: unknown action @edti (did you mean \"edit\"?)\n";
    folder.run("s.jsonl --set hide=@edti").expect(2, told);
    let told = "streamfmt: --hide thinkng: treated as a tool name (did you mean \"thinking\"?)\n";
    assert!(folder.run("s.jsonl --hide thinkng").expect(0, told).stdout.contains("Second reply."));
    folder.run("s.jsonl --hide Bash,Task,mcp__*,plan").expect(0, "");
    let told = "streamfmt: --theme drak: no theme is called \"drak\" (did you mean \"dark\"?)\n";
    folder.run("s.jsonl --theme drak").expect(2, told);
}

#[test]
fn names_of_groups_that_fit_nothing_are_told_by_only_and_hide_alike() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    for (name, hint) in [
        ("replies", "(did you mean \"reply\"?)"),
        ("Reply", "(did you mean \"reply\"?)"),
        ("BASH", "(did you mean \"Bash\"?)"),
        ("TODOWRITE", "(did you mean \"TodoWrite\"?)"),
        ("Foo", "but no such tool is known (kinds: prompt, reply, "),
    ] {
        for option in ["--only ", "--hide ", "--set only=", "--set hide.add=", "--set show="] {
            let outcome = folder.run(&format!("s.jsonl {option}{name}"));
            let told = format!("streamfmt: {option}{name}: treated as a tool name");
            assert!(outcome.stderr.starts_with(&told), "{outcome:?}");
            assert!(outcome.stderr.contains(hint), "{outcome:?}");
            assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(0), 1), "{outcome:?}");
        }
    }
    for names in ["*", "mcp__*", "mcp__own__tool", "Bash,failed,@edit", "reply,"] {
        folder.run(&format!("s.jsonl --only {names} --hide {names}")).expect(0, "");
    }
    // `--strict-config` is about files: an unknown tool on the command line is only a warning.
    let outcome = folder.run("s.jsonl --strict-config --only Foo");
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(0), 1), "{outcome:?}");
}

#[test]
fn who_asks_for_nothing_but_what_is_left_out_hears_of_it() {
    let call = r#"{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"TodoWrite","input":{"todos":[{"content":"x","status":"pending"}]}}]}}"#;
    let thinking = r#"{"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"thinking","thinking":"Hm."}]}}"#;
    let only = "only = ['TodoWrite']\n";
    let folder = Folder::with(&[("s.jsonl", &format!("{call}\n{thinking}\n")), ("only.toml", only)]);
    let told = "streamfmt: --only TodoWrite: nothing is shown: the detail or a plugin leaves out all that matches \
                (--set show=TodoWrite shows what the detail leaves out)\n";
    assert_eq!(folder.run("s.jsonl --only TodoWrite").expect(0, told).stdout, "");
    let told = "streamfmt: only: nothing is shown: the detail or a plugin leaves out all that matches \
                (a list show shows what the detail leaves out)\n";
    assert_eq!(folder.run("s.jsonl --profile ./only.toml").expect(0, told).stdout, "");
    for (options, shown) in [
        ("--only TodoWrite --set show=TodoWrite", "● TodoWrite\n"),
        ("--only thinking", "✻ Hm.\n"),
        ("--only thinking --to markdown", "Hm."),
        ("--only thinking,TodoWrite", "✻ Hm.\n"),
        ("--only Bash", ""),
        ("--hide thinking --set show=thinking --only thinking", ""),
    ] {
        let stdout = folder.run(&format!("s.jsonl {options}")).expect(0, "").stdout;
        assert!(stdout.contains(shown) && stdout.is_empty() == shown.is_empty(), "{options}: {stdout}");
    }
}

#[test]
fn lists_of_groups_that_are_empty_or_no_lists_are_refused() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    for option in ["--only", "--hide"] {
        for list in ["", ",", " , "] {
            let output = folder.command("s.jsonl").args([option, list]).output().unwrap();
            let told = format!(
                "streamfmt: {option}: the list is empty (name kinds and tools, as in {option} reply,Bash,@edit)\n"
            );
            assert_eq!(Outcome::from(output).expect(2, &told).stdout, "");
        }
    }
    for (option, sign) in [("--only [", '['), ("--hide [a-z]*", '['), ("--only Rea?", '?')] {
        let told = format!(
            "streamfmt: {option}: \"{sign}\" is not allowed in a name (the only wildcard is *, as in mcp__*)\n"
        );
        assert_eq!(folder.run(&format!("s.jsonl {option}")).expect(2, &told).stdout, "");
    }
    for list in ["[", "[]", "[\"reply\"]"] {
        let told = format!(
            "streamfmt: --set only={list}: write the list with commas and without brackets: only=Bash,@edit\n"
        );
        folder.run(&format!("s.jsonl --set only={list}")).expect(2, &told);
    }
    // Clearing the profile's list isn't a mistake.
    let all = folder.run("s.jsonl").stdout;
    assert_eq!(folder.run("s.jsonl --profile quiet --set only=").expect(0, "").stdout, all);
}

#[test]
fn names_of_groups_in_a_profile_are_told_with_their_place() {
    let folder = Folder::with(&[
        ("s.jsonl", SESSION),
        ("typo.toml", "hide = []\nonly = [\"reply\", \"Foo\", \"BASH\"]\n"),
        ("alone.toml", "only = [\"Foo\"]\n"),
        ("own.toml", "only = [\"Foo\"]\n[tool.Foo]\nlabel = \"foo\"\n"),
        ("filter.toml", "[[filter]]\ntool = \"BASH\"\naction = \"hide\"\n"),
        ("sign.toml", "only = [\"reply\", \"[\"]\n"),
        ("empty.toml", "only = [\"\"]\n"),
    ]);
    for (file, code, told) in [
        ("typo", 0, "2:25: treated as a tool name (did you mean \"Bash\"?)\n  2 | only"),
        ("alone", 0, "1:9: treated as a tool name, but no such tool is known (kinds: "),
        ("filter", 0, "2:8: treated as a tool name (did you mean \"Bash\"?)\n  2 | tool"),
        ("sign", 2, "1:18: \"[\" is not allowed in a name (the only wildcard is *, as in mcp__*)\n"),
        ("empty", 2, "1:9: empty name (expected reply, failed, Bash, mcp__*, @edit, …)\n"),
    ] {
        let outcome = folder.run(&format!("s.jsonl --profile ./{file}.toml"));
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(code), 3), "{outcome:?}");
        assert!(outcome.stderr.starts_with(&format!("streamfmt: ./{file}.toml:{told}")), "{outcome:?}");
    }
    folder.run("s.jsonl --profile ./own.toml").expect(0, "");
    let told = folder.run("s.jsonl --profile ./alone.toml --only reply");
    assert!(told.expect(0, "").stdout.contains("First reply."));
}

#[test]
fn a_command_without_its_own_says_which_there_are() {
    let folder = Folder::new();
    for command in ["plugin", "theme", "config", "golden", "profile"] {
        let outcome = folder.run(command);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(&format!("Usage: streamfmt {command} <COMMAND>")), "{outcome:?}");
    }
}
