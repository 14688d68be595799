//! Configuration files: where they are found, how they combine, and which problems are reported.

use crate::program::{Folder, Outcome};

/// A session with a call of Bash, its result, a thought, and a model.
const CALLS: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"claude-opus-4","cwd":"/home/dev/shop","tools":[],"uuid":"u-1"}
{"type":"assistant","message":{"id":"m-1","role":"assistant","content":[{"type":"thinking","thinking":"a thought"}]},"session_id":"s-1","uuid":"u-2"}
{"type":"assistant","message":{"id":"m-2","role":"assistant","content":[{"type":"tool_use","id":"c-1","name":"Bash","input":{"command":"ls -l","description":"List files"}}]},"session_id":"s-1","uuid":"u-3"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c-1","content":"1\n2\n3\n4\n5\n6\n7\n8\n9"}]},"session_id":"s-1","uuid":"u-4"}
{"type":"assistant","message":{"id":"m-3","role":"assistant","content":[{"type":"text","text":"All listed."}]},"session_id":"s-1","uuid":"u-5"}
{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"All listed.","session_id":"s-1","uuid":"u-6"}
"#;

const USER: &str = "home/.config/streamfmt/config.toml";

/// A folder with the user's settings and the session.
fn with_user(settings: &str) -> Folder {
    Folder::with(&[("s.jsonl", CALLS), (USER, settings)])
}

#[track_caller]
fn shows(outcome: &Outcome, parts: &[&str], no_parts: &[&str]) {
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    for part in parts {
        assert!(outcome.stdout.contains(part), "{part} in {}", outcome.stdout);
    }
    for part in no_parts {
        assert!(!outcome.stdout.contains(part), "no {part} in {}", outcome.stdout);
    }
}

#[test]
fn a_user_has_profiles_and_says_which_is_used() {
    let folder = with_user(
        "version = 1\ndefault-profile = 'mine'\n[profile.mine]\nextends = ['quiet']\n\
         only.add = ['thinking']\ndetail = 'full'\n[profile.mine.tool.Bash]\nlabel = 'sh'\n[profile.full.tool.Bash]\nlabel = 'shell'\n",
    );
    shows(&folder.run("s.jsonl"), &["All listed.", "a thought"], &["ls -l"]);
    shows(&folder.run("s.jsonl --profile full"), &["shell", "ls -l"], &["Bash "]);
    shows(&folder.run("s.jsonl --profile default"), &["Bash"], &["● sh "]);
}

#[test]
fn what_holds_for_all_profiles_lies_under_them() {
    let folder = with_user(
        "[limits]\nresult-lines = 3\n[tool.Bash]\nlabel = 'sh'\n[profile.long.limits]\nresult-lines = 9\n",
    );
    shows(&folder.run("s.jsonl"), &["sh ", "6 more lines"], &["Bash"]);
    shows(&folder.run("s.jsonl --profile long"), &["sh ", "5\n"], &["more lines"]);
    shows(&folder.run("s.jsonl --profile full"), &["sh "], &["more lines"]);
}

#[test]
fn tools_have_words_and_limits_of_their_own_without_a_script() {
    let folder = with_user(
        "[tool.Bash]\nlabel = 'run'\narg = '{description}: {command}'\nlimits.result-lines = 2\n\
         [tool.'@run']\nlimits.result-lines = 5\nsummary = 'done'\n",
    );
    shows(&folder.run("s.jsonl"), &["run List files: ls -l", "done"], &["Bash"]);
    let folder = with_user(
        "[tool.Bash]\narg = '/command'\nlimits.result-lines = 2\n[tool.'*']\nlimits.result-lines = 5\n",
    );
    shows(&folder.run("s.jsonl"), &["Bash ls -l", "7 more lines"], &["List files"]);
    let folder = with_user("[tool.Bash]\ncollapse = 'result'\n");
    shows(&folder.run("s.jsonl"), &["9 lines folded away"], &["5\n"]);
}

#[test]
fn a_table_of_a_misspelled_tool_is_reported_wherever_it_is_given() {
    for (table, meant) in [("Bsh", "Bash"), ("BASH", "Bash"), ("Bsh*", "Bash"), ("TODOW*", "TodoWrite")] {
        let folder = with_user(&format!(
            "[tool.\"{table}\"]\nlabel = 'x'\n[profile.a.tool.\"{table}\"]\nlabel = 'y'\n"
        ));
        let name = if table.contains('*') { format!("\"{table}\"") } else { table.to_owned() };
        let told = format!("tool.{name}: no known tool has this name (did you mean \"{meant}\"?)");
        for args in ["s.jsonl", "s.jsonl --profile a", "config check"] {
            let outcome = folder.run(args);
            assert_eq!(outcome.code, Some(i32::from(args == "config check")), "{args}: {outcome:?}");
            let place = if args == "s.jsonl" { "config.toml:2:9: " } else { "config.toml:4:9: " };
            assert!(outcome.stderr.contains(&format!("{place}{told}")), "{args}: {outcome:?}");
            assert_eq!(
                outcome.stderr.matches(&told).count(),
                if args == "config check" { 2 } else { 1 },
                "{args}: {outcome:?}"
            );
        }
        let folder = Folder::with(&[("s.jsonl", CALLS)]);
        let option = format!("--set=tool.{table}.label=x");
        folder
            .run(&format!("s.jsonl {option}"))
            .expect(0, &format!("streamfmt: --set tool.{table}.label=x: {told}\n"));
    }
    let others = "[tool.Bash]\nlabel = 'a'\n[tool.mine]\nlabel = 'a'\n[tool.'mcp__*']\nlabel = 'a'\n[tool.'*']\nicon = 'a'\n\
                  [tool.'@run']\nicon = 'b'\n[tool.mcp__a__bsh]\nicon = 'b'\n[tool.'*ead']\nicon = 'b'\n";
    with_user(others).run("s.jsonl").expect(0, "");
    with_user(others).run("config check").expect(0, "");
}

#[test]
fn a_script_for_a_misspelled_tool_is_reported_once() {
    let folder = Folder::with(&[
        ("s.jsonl", CALLS),
        ("p.lua", "sf.tool('Bash', { label = 'b' })\nsf.tool('Bsh', { label = 'x' })\n"),
    ]);
    let told = "warning[plugin]: p names an unknown tool\n  --> p.lua:2\n  |\n2 | sf.tool('Bsh', { label = 'x' })\n  | ^ unknown tool \
                \"Bsh\" (did you mean \"Bash\"?)\n  = used for tools of this name alone (reported once)\n";
    folder.run("s.jsonl --plugin p.lua --strict-plugins").expect(0, told);
    folder.write(
        "d.lua",
        "sf.dialect('mine', { parse = function() return nil end })\nsf.tool('Bsh', { label = 'x' })\n",
    );
    folder.run("s.jsonl --plugin d.lua --strict-plugins").expect(0, "");
    let script = with_user("[tool.Bsh]\nscript.label = 'b.lua'\n");
    script.write("home/.config/streamfmt/b.lua", "return function() return 'x' end");
    assert_eq!(
        script.run("s.jsonl").stderr.matches("did you mean").count(),
        1,
        "{:?}",
        script.run("s.jsonl")
    );
}

#[test]
fn a_call_that_is_folded_with_its_result_leaves_one_line() {
    let fold = "[tool.Bash]\ncollapse = 'both'\n";
    let with_summary = format!("{fold}summary = '{{lines}} seen'\n");
    for (settings, lines) in
        [(fold, &["● Bash List files"][..]), (&with_summary, &["● Bash List files", "  └ 9 seen"])]
    {
        let outcome = with_user(settings).run("s.jsonl --set layout.pairs=always");
        let shown: Vec<&str> = outcome.stdout.lines().filter(|line| !line.is_empty()).collect();
        let reply = shown.iter().position(|line| *line == "  All listed.").unwrap();
        assert_eq!(&shown[1..reply], lines, "{settings}: {outcome:?}");
        assert_eq!(outcome.stderr, "");
    }
    let painted = with_user(&with_summary).run("s.jsonl --color always").stdout;
    assert!(painted.lines().any(|row| row.contains("List files") && row.contains("9 seen")), "{painted}");
    let painted = with_user(fold).run("s.jsonl --color always").stdout;
    assert!(!painted.contains("folded") && !painted.contains("└"), "{painted}");
    let page = with_user("[tool.Bash]\ncollapse = 'both'\n").run("s.jsonl --to html");
    for part in ["1 line folded away", "9 lines folded away"] {
        assert!(page.stdout.contains(part), "{part}");
    }
    let failed = with_user("[tool.Bash]\ncollapse = 'both'\n");
    failed.write("s.jsonl", CALLS.replace("\"tool_use_id\"", "\"is_error\":true,\"tool_use_id\""));
    shows(&failed.run("s.jsonl"), &["  ✗ ", " lines folded away"], &["5\n"]);
}

#[test]
fn filters_hide_fold_and_choose_by_kind_and_tool() {
    let hide = with_user("[[filter]]\nkind = 'result'\ntool = '@run'\naction = 'hide'\n");
    shows(&hide.run("s.jsonl"), &["Bash", "All listed."], &["5\n"]);
    let fold = with_user("[[filter]]\ntool = 'B*'\nkind = 'result'\naction = 'collapse'\n");
    shows(&fold.run("s.jsonl"), &["9 lines folded away", "All listed."], &["5\n"]);
    let only = with_user("[[filter]]\nkind = 'reply'\naction = 'only'\n");
    shows(&only.run("s.jsonl"), &["All listed."], &["Bash"]);
    let wrong =
        with_user("[[filter]]\nkind = 'replys'\n[[filter]]\naction = 'hide'\n[[filter]]\nkind = 'call'\n");
    let told = wrong.run("s.jsonl");
    assert_eq!(told.code, Some(0));
    for part in [
        "config.toml:2:8: kind can't be \"replys\" (did you mean \"reply\"?)",
        ":3:1: no items are selected",
        ":5:1: the action is missing",
    ] {
        assert!(told.stderr.contains(part), "{part}: {}", told.stderr);
    }
}

#[test]
fn a_script_says_one_field_of_a_tool() {
    let folder = with_user("[tool.Bash]\nscript = { arg = 'lib/bash.lua#arg' }\n");
    folder.write(
        "home/.config/streamfmt/lib/bash.lua",
        "return { arg = function(input) return input.command:upper() end }",
    );
    shows(&folder.run("s.jsonl --strict-plugins"), &["Bash LS -L"], &["ls -l"]);
    folder.write("home/.config/streamfmt/lib/bash.lua", "return {}");
    let told = folder.run("s.jsonl --strict-plugins");
    assert_eq!(told.code, Some(3));
    assert!(told.stderr.contains("lib/bash.lua returns no function arg"), "{}", told.stderr);
    let missing = with_user("[tool.Bash]\nscript.arg = 'no.lua'\n").run("s.jsonl");
    assert!(
        missing.stderr.contains("config.toml:2:14: can't read the script no.lua: no such file"),
        "{}",
        missing.stderr
    );
    let outside = with_user("[tool.Bash]\nscript.arg = '../no.lua'\n").run("s.jsonl");
    assert!(outside.stderr.contains("script.arg must be a file of this folder"), "{}", outside.stderr);
}

#[test]
fn plugins_are_named_with_their_options_and_bring_profiles() {
    let folder = with_user("plugins = ['./meter.lua', './pack']\n[plugin.pack]\nword = 'psst'\n");
    let base = "home/.config/streamfmt";
    folder.write(&format!("{base}/meter.lua"), "sf.tool('Bash', { label = 'metered' })");
    folder.write(
        &format!("{base}/pack/plugin.toml"),
        "name = 'pack'\nversion = '1.0.0'\napi = 1\n[options.word]\nabout = 'what is said'\ntype = 'string'\ndefault = 'x'\n",
    );
    folder.write(
        &format!("{base}/pack/init.lua"),
        "sf.view('reply', function(reply, ctx) return sf.prose(ctx.options.word) end)",
    );
    folder.write(&format!("{base}/pack/profiles/whisper.toml"), "only = ['reply']\n");
    shows(&folder.run("s.jsonl --strict-plugins"), &["metered", "psst"], &["All listed."]);
    shows(&folder.run("s.jsonl --profile whisper"), &["psst"], &["metered"]);
    shows(&folder.run("s.jsonl --set plugins.remove=./pack"), &["metered", "All listed."], &[]);
    let told = folder.run("s.jsonl --set plugin.pack.wrod=x");
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.stderr.contains("has no option \"wrod\" (did you mean \"word\"?)"), "{}", told.stderr);
    let missing = with_user("plugins = ['nope']\n").run("s.jsonl");
    assert!(missing.stderr.contains("config.toml:1:12: plugin \"nope\": "), "{}", missing.stderr);
    assert!(missing.stdout.contains("All listed."));
}

#[test]
fn the_users_own_script_stands_over_all_profiles() {
    let folder = with_user("[tool.Bash]\nlabel = 'sh'\n");
    folder.write("home/.config/streamfmt/init.lua", "sf.tool('Bash', { label = 'mine' })");
    shows(&folder.run("s.jsonl --strict-plugins"), &["mine List files"], &["sh List"]);
    folder.write("other.toml", "[tool.Bash]\nlabel = 'other'\n");
    shows(&folder.run("s.jsonl --config other.toml"), &["other List files"], &["mine"]);
}

#[test]
fn a_profile_may_come_from_a_file_of_many() {
    let folder = with_user("[profile.mine]\nextends = ['./team.toml#review']\ndetail = 'full'\n");
    folder.write(
        "home/.config/streamfmt/team.toml",
        "[profile.base.tool.Bash]\nlabel = 'team'\n[profile.review]\nextends = ['base']\nhide = ['thinking']\n",
    );
    shows(&folder.run("s.jsonl --profile mine"), &["team List files"], &["a thought"]);
    let path = "home/.config/streamfmt/team.toml";
    shows(&folder.run(&format!("s.jsonl --profile {path}#base")), &["team List files"], &[]);
    let told = folder.run(&format!("s.jsonl --profile {path}"));
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.contains("choose one of its profiles"), "{}", told.stderr);
    let told = folder.run(&format!("s.jsonl --profile {path}#reveiw"));
    assert!(told.stderr.contains("(did you mean \"review\"?)"), "{}", told.stderr);
}

#[test]
fn profiles_that_extend_each_other_in_a_circle_are_told_with_the_chain() {
    let folder = with_user(
        "[profile.a]\nextends = ['b']\n[profile.b]\nextends = ['c']\n[profile.c]\nextends = ['a']\ntool.Bash.label = 'c'\n",
    );
    let told = folder.run("s.jsonl --profile a");
    assert_eq!(told.code, Some(0));
    assert!(
        told.stderr.contains("config.toml:6:12: profiles extend each other in a cycle: a → b → c → a"),
        "{}",
        told.stderr
    );
    assert!(told.stdout.contains("c List files"));
    // A profile with the name of a lower one extends it.
    let folder =
        with_user("[profile.quiet]\nextends = ['quiet']\nonly.add = ['thinking']\ndetail = 'full'\n");
    shows(&folder.run("s.jsonl --profile quiet"), &["a thought", "All listed."], &["ls -l"]);
}

#[test]
fn a_switch_chooses_by_folder_or_by_the_stream() {
    let settings = "[profile.loud.tool.Bash]\nlabel = 'LOUD'\n[[switch]]\npath = '~/clients/**'\nprofile = 'quiet'\n\
                    [[switch]]\nstream.model = '*opus*'\nstream.cwd = '/home/dev/**'\nprofile = 'loud'\n";
    let folder = with_user(settings);
    shows(&folder.run("s.jsonl"), &["LOUD List files"], &[]);
    shows(&folder.pipe("", &CALLS.replace("opus", "haiku")), &["Bash"], &["LOUD"]);
    shows(&folder.run("s.jsonl --profile default"), &["Bash"], &["LOUD"]);
    // A history only names its model after the first prompt.
    let history = CALLS.replace(
        "{\"type\":\"system\"",
        "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"},\"session_id\":\"s-1\",\"uuid\":\"p\"}\n{\"type\":\"system\"",
    );
    shows(&folder.pipe("", &history), &["LOUD List files", "hi"], &[]);
    // A stream that never names its folder loses nothing.
    assert_eq!(folder.pipe("", "no event\n{\"x\":1}\n").stdout, "  no event\n  {\"x\":1}\n");
    folder.write("home/clients/acme/s.jsonl", CALLS);
    let mut command = folder.command("s.jsonl");
    let outcome: Outcome = command.current_dir(folder.path("home/clients/acme")).output().unwrap().into();
    shows(&outcome, &["All listed."], &["Bash"]);
    let none = with_user("[[switch]]\nprofile = 'quiet'\n").run("s.jsonl");
    assert!(none.stderr.contains("config.toml:1:1: the condition is missing"), "{}", none.stderr);
}

#[test]
fn options_go_before_the_environment_and_that_before_files() {
    let folder = with_user("default-profile = 'quiet'\n");
    let run = |arguments: &str, variable: &str| -> Outcome {
        folder.command(arguments).env("STREAMFMT_PROFILE", variable).output().unwrap().into()
    };
    shows(&run("s.jsonl", ""), &["All listed."], &["Bash"]);
    shows(&run("s.jsonl", "full"), &["Bash"], &[]);
    shows(&run("s.jsonl --profile quiet", "full"), &["All listed."], &["Bash"]);
    let told = run("s.jsonl", "fulll");
    assert_eq!(
        (told.code, told.stderr.as_str()),
        (Some(2), "streamfmt: STREAMFMT_PROFILE: unknown profile \"fulll\" (did you mean \"full\"?)\n")
    );
}

#[test]
fn what_is_wrong_in_found_settings_is_left_out_unless_that_is_an_error() {
    let folder = with_user(
        "default-profile = 'reveiw'\ndetial = 'full'\n[limits]\nresult-lines = 'x'\nerror-lines = 3\n",
    );
    let told = "\
streamfmt: ~/.config/streamfmt/config.toml:1:19: unknown profile \"reveiw\" (did you mean \"review\"?)
  1 | default-profile = 'reveiw'
    |                   ^^^^^^^^
streamfmt: ~/.config/streamfmt/config.toml:2:1: unknown key \"detial\" (did you mean \"detail\"?)
  2 | detial = 'full'
    | ^^^^^^
streamfmt: ~/.config/streamfmt/config.toml:4:16: limits.result-lines must be a number of lines, or \"none\", not \"x\"
  4 | result-lines = 'x'
    |                ^^^
";
    let output = folder.run("s.jsonl").expect(0, told).stdout;
    assert!(output.contains("All listed."));
    folder.run("s.jsonl --strict-config").expect(2, told);
    folder.run("config check").expect(1, told);
    let chosen = folder.run(&format!("s.jsonl --config {USER}"));
    assert_eq!(chosen.code, Some(2));
    folder.run("s.jsonl --config nowhere.toml").expect(2, "streamfmt: --config nowhere.toml: no such file\n");
    let newer = with_user("version = 2\n").run("s.jsonl");
    assert!(newer.stderr.contains("config.toml:1:11: version must be 1, not 2"), "{}", newer.stderr);
}

#[test]
fn settings_are_shown_with_where_they_were_said() {
    let folder = with_user("theme = 'light'\n[profile.mine]\nextends = ['ci']\nlimits.result-lines = 3\n");
    let shown =
        folder.run("config show limits.result-lines --origin --all --profile mine").expect(0, "").stdout;
    assert_eq!(
        shown,
        "limits.result-lines = 3  # ~/.config/streamfmt/config.toml:4\n#   over 1000  # ci.toml:7\n#   over 10  # default.toml:9\n"
    );
    let shown = folder.run("config show --profile mine --set theme=dark --origin").expect(0, "").stdout;
    assert!(
        shown.starts_with("# profile mine, chosen by --profile\n# extends: default < ci < mine\n"),
        "{shown}"
    );
    assert!(shown.contains("# --set theme=dark\n"), "{shown}");
    let explained = folder.run("config explain limits.result-lines").expect(0, "").stdout;
    assert!(
        explained.contains("lines of a result") && explained.contains("now      10  (default.toml:9)"),
        "{explained}"
    );
    folder
        .run("config explain limits.reslt-lines")
        .expect(2, "streamfmt: unknown key \"limits.reslt-lines\" (did you mean \"limits.result-lines\"?)\n");
    let paths = folder.run("config path").expect(0, "").stdout;
    assert!(paths.contains("home/.config/streamfmt/config.toml\n"), "{paths}");
    let list = folder.run("profile list").expect(0, "").stdout;
    assert!(list.contains("* default     built-in\n") && list.contains("  mine        ~/.config"), "{list}");
    // Plugins' profiles can also be chosen by name.
    assert!(list.contains("  claudedo    claudedo/profiles/claudedo.toml\n"), "{list}");
    assert!(folder.run("profile show ci").expect(0, "").stdout.contains("writer = \"log\""));
}

#[test]
fn what_config_show_writes_can_be_read_again() {
    let folder = with_user(
        "[tool.'mcp__a.b__*']\nlabel = \"a \\\"b\\\"\"\n[[filter]]\nkind = 'call'\naction = 'collapse'\n[plugin.x]\nlist = ['a', 'b']\n",
    );
    let shown = folder.run("config show --origin --all").expect(0, "").stdout;
    folder.write("again.toml", &shown);
    folder.run("config check again.toml").expect(0, "");
    let again = folder.run("config show --config again.toml").expect(0, "").stdout;
    let lines = |text: &str| -> Vec<String> {
        let plain = |line: &str| line.split("  #").next().unwrap_or("").trim_end().to_owned();
        text.lines().filter(|line| !line.starts_with('#')).map(plain).collect()
    };
    assert_eq!(lines(&shown), lines(&again));
}

#[test]
fn plugins_bring_an_output_format_and_themes_for_profiles() {
    let folder = with_user(
        "[profile.loud]\nplugins = ['./pack']\nwriter = 'shout'\n[profile.red]\nplugins = ['./pack']\ntheme = 'rosy'\n\
         [profile.wrong]\nplugins = ['./pack']\nwriter = 'shuot'\n",
    );
    let base = "home/.config/streamfmt/pack";
    folder.write(&format!("{base}/plugin.toml"), "name = 'pack'\nversion = '1.0.0'\napi = 1\n");
    folder.write(
        &format!("{base}/init.lua"),
        "sf.writer('shout', { prose = function(b) return b.text:upper() end })",
    );
    folder.write(&format!("{base}/themes/rosy.toml"), "extends = './base.toml'\n");
    folder.write(&format!("{base}/themes/base.toml"), "[roles]\nreply = 'red'\n");
    shows(&folder.run("s.jsonl --profile loud --strict-plugins"), &["ALL LISTED."], &["All listed."]);
    shows(&folder.run("s.jsonl --profile red --color always"), &["\u{1b}[31mAll listed."], &[]);
    shows(
        &folder.run("s.jsonl --theme rosy --plugin home/.config/streamfmt/pack --color always"),
        &["\u{1b}[31mAll"],
        &[],
    );
    let wrong = folder.run("s.jsonl --profile wrong");
    assert!(
        wrong.stderr.contains("config.toml:9:10: unknown output format \"shuot\" (did you mean \"shout\"?)"),
        "{}",
        wrong.stderr
    );
    let missing = folder.run("s.jsonl --theme rosy --color always");
    assert_eq!(missing.code, Some(2), "{missing:?}");
}

#[test]
fn a_theme_is_relative_to_the_file_that_names_it() {
    let folder = with_user("theme = 'looks/mine.toml'\n[profile.home]\ntheme = '~/mine.toml'\n");
    folder.write("home/.config/streamfmt/looks/mine.toml", "extends = '../base.toml'\n");
    folder.write("home/.config/streamfmt/base.toml", "[roles]\nreply = 'red'\n");
    folder.write("home/mine.toml", "[roles]\nreply = 'blue'\n");
    shows(&folder.run("s.jsonl --color always"), &["\u{1b}[31mAll listed."], &[]);
    shows(&folder.run("s.jsonl --color always --profile home"), &["\u{1b}[34mAll listed."], &[]);
    shows(
        &folder.run("s.jsonl --color always --set theme=./home/mine.toml"),
        &["\u{1b}[34mAll listed."],
        &[],
    );
    let gone = with_user("theme = 'looks/gone.toml'\n").run("s.jsonl --color always");
    assert!(gone.code == Some(0) && gone.stdout.contains("All listed."), "{gone:?}");
    assert!(gone.stderr.contains("config.toml:1:9: theme \"looks/gone.toml\": "), "{gone:?}");
    assert!(gone.stderr.contains("no such file"), "{gone:?}");
}

#[test]
fn an_option_of_a_plugin_that_is_not_used_is_explained_from_its_manifest() {
    let folder = Folder::new();
    let told = folder.run("config explain plugin.cost.every").expect(0, "").stdout;
    assert_eq!(
        told,
        "plugin.cost.every: Tell after so many more output tokens; 0 tells at the end only\n\n  \
         values   a number, otherwise 2000\n  \
         place    in [plugin.cost] or [profile.NAME.plugin.cost]\n  \
         used by  no profile here: plugins = [\"cost\"] in a profile uses it\n  \
         now      not set\n"
    );
    folder.write("home/.config/streamfmt/config.toml", "plugins = ['cost']\nplugin.cost.every = 7\n");
    let told = folder.run("config explain plugin.cost.every").expect(0, "").stdout;
    assert!(told.ends_with("\n  now      7  (~/.config/streamfmt/config.toml:2)\n"), "{told}");
    assert!(!told.contains("used by"), "{told}");
    // Names are untrusted text as well.
    folder.write(
        "p/plugin.toml",
        "name = 'p'\napi = 1\n[options.\"o\\u001b[2J\"]\nabout = \"\\u202e\"\ndefault = 1\n",
    );
    folder.write("p/init.lua", "");
    folder.run("plugin add p").expect(0, "");
    for key in ["plugin.p", "plugin.p.o\u{1b}[2J"] {
        let told = folder.run(&format!("config explain {key}")).expect(0, "").stdout;
        assert!(told.starts_with("plugin.p.o␛[2J: <U+202E>\n") && !told.contains('\u{1b}'), "{told:?}");
    }
    let all = folder.run("config explain plugin.redact").expect(0, "").stdout;
    assert!(all.contains("plugin.redact.emails: ") && all.contains("\n  boolean, otherwise "), "{all}");
    for (key, why) in [
        ("plugin.cost.evry", "plugin.cost.evry: cost has no option \"evry\" (did you mean \"every\"?)"),
        ("plugin.cots.every", "plugin.cots.every: unknown plugin (did you mean \"cost\"?)"),
        ("plugin", "unknown key \"plugin\" (see: streamfmt config explain plugin.NAME)"),
        ("label", "unknown key \"label\" (did you mean \"tool.NAME.label\"?)"),
    ] {
        folder.run(&format!("config explain {key}")).expect(2, &format!("streamfmt: {why}\n"));
    }
}

#[test]
fn a_check_finds_themes_that_are_not_there_and_broken_plugins() {
    let folder = Folder::with(&[(
        "c.toml",
        "theme = 'drak'\n[profile.a]\ntheme = './t.toml'\n[profile.b]\nplugins = ['./p']\nplugin.cost.evry = 3\n",
    )]);
    folder.write("t.toml", "[roles]\ntext = 'blurple'\n");
    folder.write("p/plugin.toml", "name = 'p'\napi = 7\n");
    let outcome = folder.run("config check c.toml");
    assert_eq!(outcome.code, Some(1));
    for part in ["c.toml:1:9: theme \"drak\": ", "t.toml:2:8: ", "it needs another api than 1"] {
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    }
}

#[test]
fn a_file_to_begin_with_is_written_once_and_says_nothing_until_it_is_changed() {
    let folder = Folder::with(&[("s.jsonl", CALLS)]);
    let before = folder.run("s.jsonl").expect(0, "").stdout;
    let told = folder.run("config init").expect(0, "").stdout;
    assert_eq!(told, "wrote ~/.config/streamfmt/config.toml\n");
    let file = "home/.config/streamfmt/config.toml";
    let text = folder.read(file);
    assert!(text.lines().all(|line| line.is_empty() || line.starts_with('#')), "{text}");
    folder.run("config check").expect(0, "");
    assert_eq!(folder.run("s.jsonl").expect(0, "").stdout, before);
    // Every key in it is a valid key.
    let set: String = text
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with([' ', ':'])).unwrap_or(line))
        .fold(String::new(), |all, line| all + line + "\n");
    folder.write(file, &set);
    folder.run("config check").expect(0, "");
    assert!(
        folder.run("config show limits.result-lines --profile brief").expect(0, "").stdout.contains("= 3")
    );
    let told = "streamfmt: ~/.config/streamfmt/config.toml: already exists (streamfmt config show --origin shows its settings)\n";
    folder.run("config init").expect(2, told);
    assert_eq!(folder.read(file), set);
    assert_eq!(folder.run("config init a/b.toml").expect(0, "").stdout, "wrote a/b.toml\n");
    assert_eq!(folder.read("a/b.toml"), text);
}
