//! Who says what, asked on the command line.

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
    assert!(text.contains("run"), "{text}");
}

#[test]
fn a_call_without_a_tool_is_a_mistake() {
    let folder = Folder::new();
    folder
        .run("explain --kind call")
        .expect(2, "streamfmt: a call or result belongs to a tool: name it with --tool\n");
}
