//! `explain`: which settings apply, and where each is defined.

use crate::program::Folder;

const LOW: &str = "sf.tool('*', { label = 'low', arg = '{command}' })\n";
const HIGH: &str = "\nsf.tool('Bash', {\n  label = function(call)\n    return nil\n  end,\n})\nsf.tool('B*', { label = 'sh' })\nsf.view('reply', function() end)\n";

#[test]
fn the_walk_for_each_property_is_told_with_its_places() {
    let folder = Folder::with(&[("low.lua", LOW), ("high.lua", HIGH)]);
    let text = folder.run("explain --tool Bash --kind call --plugin low.lua --plugin high.lua").expect(0, "");
    let expected = "\
Bash (@run)

label
  asked    high.lua:2  Bash  function at line 3  (plugin of this run high)
  answers  high.lua:7  B*    \"sh\"  (plugin of this run high)
  never    low.lua:1   *     \"low\"  (plugin of this run low)
  never    built-in: the tool's name

arg
  asked    low.lua:1  *  \"{command}\"  (plugin of this run low)
  answers  built-in: what the built-in formatter takes from the input

call
  answers  built-in: the built-in view, with the label, arg and icon above
";
    assert!(text.stdout.starts_with(expected), "{}", text.stdout);
}

#[test]
fn a_kind_is_explained_and_programs_get_an_object() {
    let folder = Folder::with(&[("high.lua", HIGH)]);
    let text = folder.run("explain --kind reply --json --plugin high.lua").expect(0, "").stdout;
    assert_eq!(folder.run("explain reply --json --plugin high.lua").expect(0, "").stdout, text);
    for part in ["\"kind\": \"reply\"", "\"name\": \"view\"", "\"line\": 8", "\"turn\": \"asked\""] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn settings_are_chosen_as_for_a_run() {
    let folder = Folder::with(&[("team.toml", "[profile.team.tool.Bash]\nlabel = 'sh'\n")]);
    let text = folder.run("explain --tool Bash --config team.toml --profile team").expect(0, "").stdout;
    assert!(text.contains("answers  team.toml:2  Bash  "), "{text}");
    let text = folder.run("explain --tool Bash --set tool.Bash.label=run").expect(0, "").stdout;
    assert!(text.contains("answers  --set tool.Bash.label=run:1  Bash  \"run\"  (profile)\n"), "{text}");
}

#[test]
fn what_hides_and_who_listens_is_told() {
    let folder = Folder::with(&[
        ("p.lua", "\nsf.on('call', function() end)\nsf.on('reply', function() end)\n"),
        (
            "t.toml",
            "hide = [\"Read\", \"thinking\"]\n[[filter]]\nkind = \"result\"\ntool = \"@run\"\naction = \"collapse\"\n",
        ),
    ]);
    let end = |command: &str| {
        let text = folder.run(&format!("explain {command}")).expect(0, "").stdout;
        text.split_once("\n\nhiding\n").map_or_else(|| text.clone(), |(_, end)| end.to_owned())
    };
    assert_eq!(
        end("Bash --profile ./t.toml --plugin p.lua"),
        "  folds  ./t.toml:2  results that went well  [[filter]] { kind = \"result\", tool = \"@run\", action = \
         \"collapse\" }\n\nlistening with sf.on\n  sees  p.lua:2  call  (plugin of this run p)\n"
    );
    assert_eq!(end("Read --profile ./t.toml"), "  hides  ./t.toml:1  all  hide = [\"Read\"]\n");
    let only = "  hides  --set only=@edit,Bash  all  only = [\"@edit\"]\n  hides  --set only=@edit,Bash  all  only = [\"Bash\"]\n";
    assert_eq!(end("Read --set only=@edit,Bash"), only);
    assert!(!end("Edit --set only=@edit,Bash").contains("hides"));
    let hidden = end("thinking --profile ./t.toml");
    assert!(hidden.starts_with("  hides  ./t.toml:1      all  hide = [\"thinking\"]\n"), "{hidden}");
    assert!(hidden.ends_with(" all  detail = \"compact\"\n"), "{hidden}");
    assert!(!end("thinking --profile full").contains("hides"));
    assert!(end("reply --profile quiet --json").contains("\"hiding\": ["));
}

#[test]
fn a_tool_that_nobody_has_is_questioned() {
    let folder = Folder::with(&[("p.lua", "sf.tool('Deploy', { label = 'x' })")]);
    let told = "no known agent, setting or plugin has a tool of this name";
    let meant = format!("streamfmt: Bsh: {told} (did you mean \"Bash\"?)\n");
    folder.run("explain --tool Bsh").expect(0, &meant);
    folder.run("explain Bsh --kind result").expect(0, &meant);
    folder.run("explain Deploy").expect(0, &format!("streamfmt: Deploy: {told}\n"));
    folder.run("explain Deploy --plugin p.lua").expect(0, "");
    folder.run("explain mcp__a__b").expect(0, "");
}

#[test]
fn each_layer_is_asked_about_the_items_of_a_line() {
    let call = |id: u8, tool: &str| {
        let input = "{\"command\":\"ls\",\"file_path\":\"/a\"}";
        format!("{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"{tool}\",\"input\":{input}}}")
    };
    let said = |content: String| {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"role\":\"assistant\",\"content\":[{content}]}},\"session_id\":\"s\"}}\n"
        )
    };
    let result = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":\"one\\ntwo\"}]},\"session_id\":\"s\"}\n";
    let session = said(format!("{},{}", call(1, "Bash"), call(2, "Read"))) + result;
    let plugin = "sf.on('call', function(call, ctx) ctx.state.n = (ctx.state.n or 0) + 1 end)\n\
                  sf.tool('Bash', {\n  label = function(call, ctx) return `sh {ctx.state.n}` end,\n  arg = '{command}',\n  \
                  summary = function(result) return nil end,\n  result = function(result) return result:default() end,\n})\n\
                  sf.tool('B*', { summary = function(result) return result.nope.x end })\n";
    let folder = Folder::with(&[("s.jsonl", &session), ("p.lua", plugin)]);
    let text = folder.run("explain --at 1 s.jsonl --plugin p.lua --set hide=Read").expect(0, "").stdout;
    for part in [
        "line 1: call of Bash\n\nlabel\n  asked    p.lua:2  Bash  function at line 3  (plugin of this run p)\n           => sh 1\n",
        "arg\n  asked    p.lua:2  Bash  \"{command}\"  (plugin of this run p)\n           => ls\n",
        "\n\nline 1: call of Read\n\n",
        "hiding\n  hides  --set hide=Read  all  hide = [\"Read\"]\n",
    ] {
        assert!(text.contains(part), "{part}\nin\n{text}");
    }
    assert!(text.ends_with("\n\nshown\n  ● sh 1 ls\n"), "{text}");
    let outcome = folder.run("explain --at 2 s.jsonl --plugin p.lua");
    for part in [
        "=> nil: the next layer is asked\n",
        "=> fails: ",
        "=> one\n              two\n",
        "shown\n  ↳ sh 2 ls\n      one\n      two\n",
    ] {
        assert!(outcome.stdout.contains(part), "{part}\nin\n{}", outcome.stdout);
    }
    assert!(
        outcome
            .stderr
            .starts_with("warning[plugin]: p failed while formatting the result of Bash (line 2)\n"),
        "{outcome:?}"
    );
    let json = folder.run("explain --at 1 s.jsonl --plugin p.lua --json").expect(0, "").stdout;
    assert!(json.contains("\"gives\": \"ls\"") && json.contains("\"id\": \"2\""), "{json}");
    // Secrets are masked here as well.
    folder.write(
        "secret.jsonl",
        session.replace("\"ls\"", "\"echo ghp_0123456789abcdefghijABCDEFGHIJ012345\""),
    );
    let text = folder
        .run("explain --at 1 secret.jsonl --plugin p.lua --set redact.secrets=true")
        .expect(0, "")
        .stdout;
    assert!(text.contains("=> echo ") && !text.contains("ghp_"), "{text}");
    folder.run("explain --at 9 s.jsonl").expect(2, "streamfmt: s.jsonl: no item begins at line 9\n");
    folder.run("explain --at 9 no.jsonl").expect(2, "streamfmt: no.jsonl: no such file or directory\n");
}

#[test]
fn a_call_without_a_tool_is_a_mistake() {
    let folder = Folder::new();
    folder
        .run("explain --kind call")
        .expect(2, "streamfmt: calls and results need a tool: name it with --tool\n");
}
