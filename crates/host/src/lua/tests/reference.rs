//! The reference page `docs/lua.md`, generated from the table of the interface and the actual limits.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use streamfmt_core::figures;
use streamfmt_core::session::MAX_GROWING_FIELD;

use crate::lua::answer::value;
use crate::lua::api::{CLASSES, FIELDS, FUNCTIONS, item, re};
use crate::lua::layers::plugin;
use crate::lua::vm;
use crate::plugin::journal;
use crate::plugin::manifest::API;

#[test]
fn the_page_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lua.md");
    if env::var_os("STREAMFMT_BLESS").is_some_and(|value| !value.is_empty() && value != "0") {
        fs::write(&path, page()).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == page(),
        "docs/lua.md isn't what the table says; to accept: \
         STREAMFMT_BLESS=1 cargo test -p streamfmt --lib lua::tests::reference"
    );
}

/// The chapters about the functions of `sf`: each with its introduction and its first function.
const CHAPTERS: [(&str, &str, &str); 4] = [
    (
        "Registering functions",
        "Only while the plugin is loading. Each registration is recorded with its file and line; `streamfmt explain --tool NAME` lists those that apply.",
        "plugin",
    ),
    (
        "Blocks and spans",
        "The values that a function may return, alone or in a list. They have no colours: a role such as `muted` or `result.error` is the meaning of a text, and the theme defines its style.",
        "text",
    ),
    ("Items", "The values that the `parse` function of a dialect returns.", "item.prompt"),
    ("Helpers", "", "redact"),
];

/// The language and its libraries, with the limits.
fn language() -> String {
    let (steps, time, memory) = (figures::count(vm::FUEL), vm::TIME.as_millis(), vm::MEMORY >> 20);
    let (subject, pattern, patterns) = (re::MOST_SUBJECT >> 20, re::MOST_PATTERN, re::MOST_PATTERNS);
    let (parts, bytes, depth) =
        (figures::count(value::MOST_PARTS as u64), value::MOST_BYTES >> 20, value::DEEPEST);
    let (text, growing) = (item::LONGEST_TEXT >> 20, MAX_GROWING_FIELD >> 10);
    let (exceeded, failures) = (plugin::MOST_EXCEEDED, plugin::MOST_FAILURES);
    let (printed, longest) = (figures::count(journal::MOST_PRINTED as u64), journal::LONGEST_PRINT);
    format!(
        "
## The language

Scripts are [Luau](https://luau.org): Lua 5.1 with `+=`, `continue`, `if … then … else` as an expression, `` `text {{value}}` ``, type
annotations and `for _, x in list do`. It has the libraries `string`, `table`, `math`, `utf8`, `bit32` and `coroutine`, and
`pcall`, `error`, `assert`, `select`, `type`, `typeof`, `tostring`, `tonumber`, `setmetatable` and the like. There is no `io`, `os`, `debug` or
`loadstring`, and no access to files, network, processes, clock or environment. `math.random` returns the same numbers in every run.

- `require(\"lib.names\")` runs `lib/names.lua` or `lib/names/init.lua` of the plugin's own folder, once, and returns its return value. A
  plugin in a single file can't use it. The user's own `init.lua` can load the scripts next to it.
- `print(…)` writes a line to standard error, with the plugin's name in front: at most {printed} lines of {longest} characters in a run.

| limit | applies to | beyond it |
|---|---|---|
| {steps} steps (loop turns, calls, and each 64 bytes that `sf.re` scans), {time} ms | one call of a function; loading | the function is stopped, which `pcall` can't catch |
| {memory} MiB | the memory of a plugin | the same |
| {subject} MiB of text, {pattern} bytes of pattern | `string.find`, `match`, `gmatch`, `gsub`, and `sf.re` | an error |
| {patterns} patterns | `sf.re` in one plugin | an error |
| {parts} parts, {bytes} MiB, {depth} levels | one return value | an error |
| 1,000 items | what `parse` of a dialect returns for one record | an error: the record is kept unchanged |
| 64 KiB | one record for `detect` of a dialect | `detect` doesn't receive it |
| 256 KiB | the line of an item with values that a dialect made | `raw` lacks the line |
| 100,000 values | `ctx.state` that `reload` converts; a text of `sf.json_encode` | an error |
| {text} MiB | one text of an item: its text, a field of its input, a fact | only the beginning is available; the last line is `[… 84512 bytes left out]`. Dialects receive the whole text |
| {growing} KiB, as written in JSON | one field of an input that is still being written | only the end is available; the first line says how much is left out |
| {exceeded} stops or {failures} failures | a plugin in one run | it is disabled for the rest of the run |

A failure is reported once, with its line, and the layer below is used instead of the function.

## Items that grow

On a terminal or in a browser, calls, replies and thinking are shown while the model writes them.
Functions are called each time the item is drawn, with the `status` `open`. `call.input` contains the complete fields and
the readable part of the field that is being written; `call.partial` is true until the item is complete:

```lua
sf.tool(\"Write\", {{
  arg = function(input, call)
    if call.partial then return nil end -- the built-in shows it while it grows
    return input.file_path .. \" \" .. #input.content
  end,
}})
```

`arg` and `call` are called once the input isn't empty. If a function fails, or returns an invalid value, while an item is open, that
isn't reported: the built-in formatter shows the item, and the function is called again when the item is complete. Limits still apply.

## What default() returns

`item:default()` calls the layers below. It returns `false` if they hide the item, otherwise a list of tables that a function may modify and return:
first, if there is a title, `{{ type = \"header\", mark = \"call\", line = … }}` (`mark = false`: none), then a table for each
block: `line` (spans at its indices, each `{{ type = \"span\", text = …, role = … }}`), `prose`, `code` (`text`, `lang`, `start`, `role`), `diff` (`path`, `hunks`), `list` (`items`), `table` (`head`, `rows`),
`details` (`summary`, `blocks`), `image` or `elided`. Nested lists are flattened, so `{{ item:default(), sf.text(\"more\") }}` adds a line.

## What is shown without a script

`detail` and filters are independent of functions. Items that `only`, `hide` or a `[[filter]]` hides are passed only to functions of
`sf.on`. All others are passed to their functions, regardless of `detail`, which only affects the built-in formatter below them:

| `detail` | the built-in formatter |
|---|---|
| `compact` | omits thinking, minor notices, and results that add nothing to their call |
| `whole` | shows everything meant for people, each thing once, including thinking, whole inputs and results, and minor notices; omits the parts of a result that repeat its call |
| `full` | shows everything as in the stream; a `summary` or `arg` of a script precedes the whole text instead of replacing it |

`streamfmt explain thinking` and `streamfmt explain --at LINE FILE` show which of these applies.
"
    )
}

/// The meaning of returned values.
const ANSWERS: &str = r#"
## What a function may return

| returned | means |
|---|---|
| `nil` | the layer below decides |
| `false` | the item is hidden, and counted as hidden; for `arg` and `label`: omits it |
| a string, a span, a block, or a list of these | is shown. `nil` and `false` inside a list are skipped, so that `{ title, failed and note }` works |
| a list where one line is wanted (`label`, `arg`, `summary`, `sf.header`) | its parts are joined with a space, unless there is one already, the second part begins with one of `, . ; : ! ? ) ] }`, or the first ends with one of `( [ {`. `sf.line(…)` joins without spaces |
| a table with other keys, such as `{ text = "x" }` | an error, reported with the function's file and line; the layer below shows the item |
| an empty string or table, a block or list without content | the same error: only `false` hides an item. If the item's own text is empty, like that of a command without output, it means `nil` |

An empty `arg` omits the argument, an empty `label` the name of the tool. A function of `sf.on`
may return an empty string or table, which adds nothing. `parse` of a dialect returns items: an empty list, or a table with other
keys, is an error, and the line becomes an unknown item. If a writer's `entry` returns an empty string, that is an error, and the
base writes the entry. The return value of an accumulator's `view` (`sf.records`) replaces its records; after `nil` or a failure, they are shown unchanged.

## Names that don't exist

Reading a field that no item has is an error: "a result has no field `txt` (did you mean `text`?)". The same applies to names in
`ctx`, its parts (except `ctx.state`, which is the plugin's own) and `sf`. A field that only other kinds of items have, such as `tool` of a reply, is `nil`.
So is any missing name in `input` and `data`, since their names depend on the stream. `streamfmt plugin check` runs a plugin's functions on a
sample with every kind of item, and on a call of each tool that it names, and reports such errors.
"#;

/// The whole page, in Markdown.
fn page() -> String {
    let mut out = format!(
        "# The Lua interface\n\n<!-- Made from the table in crates/host/src/lua/api.rs. -->\n\nLevel {API}. Plugins access all of this through `sf`, \
         without `require`. A function that formats something returns a string, a span, a block or a list of these; `nil` defers to \
         the layer below, `false` hides the item. A failure is reported once, and the layer below is used instead.\n"
    );
    out.push_str(ANSWERS);
    out.push_str(&language());
    for row in FUNCTIONS {
        if let Some((title, about, _)) = CHAPTERS.iter().find(|(.., first)| *first == row.name) {
            let _ = write!(out, "\n## {title}\n");
            if !about.is_empty() {
                let _ = write!(out, "\n{about}\n");
            }
        }
        let params: Vec<_> = row.params.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
        let gives = if row.gives == "nil" { String::new() } else { format!(" -> {}", row.gives) };
        let since = if row.since > 1 { format!(" Since level {}.", row.since) } else { String::new() };
        let _ = write!(
            out,
            "\n### sf.{}\n\n```text\nsf.{}({}){gives}\n```\n\n{}{since}\n",
            row.name,
            row.name,
            params.join(", "),
            row.doc
        );
    }
    out.push_str("\n## Arguments and return values\n");
    classes(&mut out);
    out
}

fn classes(out: &mut String) {
    for class in CLASSES {
        let base = class.base.map_or_else(String::new, |base| format!(" Has all fields of sf.{base}, and:"));
        let _ = write!(
            out,
            "\n### sf.{}\n\n{}{base}\n\n| field | type | meaning |\n|---|---|---|\n",
            class.name, class.doc
        );
        for field in FIELDS.iter().filter(|field| field.of == class.name) {
            let optional = if field.name.ends_with('?') { "?" } else { "" };
            let kind = format!("{}{optional}", field.kind).replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | `{kind}` | {} |", field.name.trim_end_matches('?'), field.doc);
        }
    }
}
