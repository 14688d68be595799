//! The reference page `docs/lua.md`, generated from the table of the interface and the actual limits.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use streamfmt_core::figures;
use streamfmt_core::session::MAX_GROWING_FIELD;

use crate::lua::api::{CLASSES, FIELDS, FUNCTIONS};
use crate::lua::{item, plugin, re, value, vm};
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
        "Saying how things are told",
        "Only while the plugin is loaded. Each is recorded with its file and line: `streamfmt explain --tool NAME` tells who says what.",
        "plugin",
    ),
    (
        "Blocks and spans",
        "What a function may give back, alone or in a list. Nothing has a colour: a role such as `muted` or `result.error` says what a text is, and the theme how that looks.",
        "text",
    ),
    ("Items", "What the `parse` of a dialect gives back.", "item.prompt"),
    ("Helpers", "", "redact"),
];

/// The language and its libraries, with the limits.
fn language() -> String {
    let (steps, time, memory) = (figures::count(vm::FUEL), vm::TIME.as_millis(), vm::MEMORY >> 20);
    let (subject, pattern, patterns) = (re::MOST_SUBJECT >> 20, re::MOST_PATTERN, re::MOST_PATTERNS);
    let (parts, bytes, depth) =
        (figures::count(value::MOST_PARTS as u64), value::MOST_BYTES >> 20, value::DEEPEST);
    let (text, growing) = (item::LONGEST_TEXT >> 20, MAX_GROWING_FIELD >> 10);
    let (trips, failures) = (plugin::MOST_TRIPS, plugin::MOST_FAILURES);
    let (printed, longest) = (figures::count(journal::MOST_PRINTED as u64), journal::LONGEST_PRINT);
    format!(
        "
## The language

Scripts are [Luau](https://luau.org): Lua 5.1 with `+=`, `continue`, `if … then … else` as an expression, `` `text {{value}}` ``, type
annotations and `for _, x in list do`. There are its libraries `string`, `table`, `math`, `utf8`, `bit32` and `coroutine`, and
`pcall`, `error`, `assert`, `select`, `type`, `typeof`, `tostring`, `tonumber`, `setmetatable` and the like. There is no `io`, `os`, `debug` or
`loadstring`: no files, network, processes, clock or environment. `math.random` gives the same numbers in every run.

- `require(\"lib.names\")` runs `lib/names.lua` or `lib/names/init.lua` of the plugin's own folder, once, and returns what it returns. A
  plugin of one file has none. The user's own `init.lua` finds the scripts beside it.
- `print(…)` writes a line to standard error, with the plugin's name in front: at most {printed} lines of {longest} characters in a run.

| limit | of | what happens then |
|---|---|---|
| {steps} steps (loop turns and calls), {time} ms | one call of a function, and loading | it is stopped, which no `pcall` can catch |
| {memory} MiB | the memory of a plugin | the same |
| {subject} MiB of text, {pattern} bytes of pattern | `string.find`, `match`, `gmatch`, `gsub`, and `sf.re` | an error |
| {patterns} patterns | `sf.re` in one plugin | an error |
| {parts} parts, {bytes} MiB, {depth} levels | one answer | an error |
| {text} MiB | one text of an item: its text, a field of its input, a fact | the beginning is there; the last line is `[… 84512 bytes left out]`. What a dialect reads is whole |
| {growing} KiB, as written in JSON | one field of an input that is being written | the end is there; the first line says how much is left out |
| {trips} stops or {failures} failures | a plugin in one run | it is off for the rest of the run |

Whatever fails is reported once, at its line, and the layer below says what the function was to say.

## Items that grow

On a terminal or in a browser a call is shown while the model writes its input, and replies and thinking while they are written.
Functions are then asked again each time the item is drawn, with `status` being `open`. `call.input` has the fields that are whole and
the readable part of the one that is being written; `call.partial` is true until the item is whole:

```lua
sf.tool(\"Write\", {{
  arg = function(input, call)
    if call.partial then return nil end -- the built-in shows it while it grows
    return input.file_path .. \" \" .. #input.content
  end,
}})
```

`arg` and `call` are asked once there is something in the input. A function that fails, or gives what can't be used, while an item is open
is not reported: the built-in shows the item, and the function is asked again when the item is whole. Limits count all the same.

## What default() returns

`item:default()` asks the layers below. It returns `false` if they show nothing, else a list of tables that a function may change and return:
first, if there is a title, `{{ type = \"header\", mark = \"call\", line = … }}` (`mark = false`: none), then a table for each
block: `line` (spans at its indices, each `{{ type = \"span\", text = …, role = … }}`), `prose`, `code` (`text`, `lang`, `start`, `role`), `diff` (`path`, `hunks`), `list` (`items`), `table` (`head`, `rows`),
`details` (`summary`, `blocks`), `image` or `elided`. A list in a list is taken apart, so `{{ item:default(), sf.text(\"more\") }}` adds a line.

## What is shown without a script

What `detail` and filters hide is decided apart. Items that `only`, `hide` or a `[[filter]]` leaves out are given to no function but those of
`sf.on`. All others are given to the functions for them, whatever `detail` is: it says what the built-in formatter shows below them.

| `detail` | the built-in formatter |
|---|---|
| `compact` | leaves out thinking, notices of little weight, and results that add nothing to their call |
| `whole` | shows everything that people read, each thing once: thinking, whole inputs and results, notices of little weight; not what a result repeats of its call |
| `full` | shows all of it as the stream has it; a `summary` or `arg` of a script then stands before the whole text instead of replacing it |
| `lines` | the old name of the output format `log`, which folds each entry into one line |

`streamfmt explain thinking` and `streamfmt explain --at LINE FILE` show which of all this applies.
"
    )
}

/// The meaning of returned values.
const ANSWERS: &str = r#"
## What a function may return

| returned | means |
|---|---|
| `nil` | the layer below decides |
| `false` | the item is hidden, and counted as hidden; of `arg` and `label`: there is none |
| a text, a span, a block, or a list of these | this is shown. `nil` and `false` inside a list are skipped, so that `{ title, failed and note }` works |
| a list where one line is wanted (`label`, `arg`, `summary`, `sf.header`) | its parts are words: a blank is put between two of them, unless one has a blank there already, the second begins with one of `, . ; : ! ? ) ] }`, or the first ends with one of `( [ {`. `sf.line(…)` puts none |
| a table with other keys, such as `{ text = "x" }` | an error, reported with the function's file and line; the layer below shows the item |
| an empty text or table, a block or list without content | an error of the same kind: only `false` hides. Where the item's own text is empty, as that of a command without output, it means `nil` |

An empty `arg` leaves the argument out, an empty `label` leaves the name of the tool. A function of `sf.on`
may return an empty text or table: it adds nothing. `parse` of a dialect returns items: an empty list, or a table with other
keys, is an error, and the line becomes an unknown item. A writer's `entry` that returns an empty text is an error, and the
base writes the entry. What `view` of an accumulator (`sf.records`) returns takes the place of its records: `nil`, or a failure, shows them as they are.

## Names that don't exist

Reading a field that no item has is an error: "a result has no field `txt` (did you mean `text`?)". The same holds for names in
`ctx`, its parts (`ctx.state` is the plugin's own) and `sf`. A field that only another kind of item has, such as `tool` of a reply, is `nil`.
So is any name that isn't in an `input` or in `data`: they are data. `streamfmt plugin check` tries a plugin's functions on a
sample with every kind of item, and on a call of each tool that it names, and reports such errors.
"#;

/// The whole page, in Markdown.
fn page() -> String {
    let mut out = format!(
        "# The Lua interface\n\n<!-- Made from the table in crates/host/src/lua/api.rs. -->\n\nLevel {API}. A plugin finds all of this in `sf`, \
         without `require`. A function that says how something is told gives back a text, a span, a block or a list of these; `nil` leaves it to \
         the layer below, `false` shows nothing. Whatever fails is told once and said by the layer below.\n"
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
    out.push_str("\n## What functions get and give\n");
    classes(&mut out);
    out
}

fn classes(out: &mut String) {
    for class in CLASSES {
        let base = class.base.map_or_else(String::new, |base| format!(" Has all fields of sf.{base}, and:"));
        let _ = write!(
            out,
            "\n### sf.{}\n\n{}{base}\n\n| field | is | tells |\n|---|---|---|\n",
            class.name, class.doc
        );
        for field in FIELDS.iter().filter(|field| field.of == class.name) {
            let optional = if field.name.ends_with('?') { "?" } else { "" };
            let kind = format!("{}{optional}", field.kind).replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | `{kind}` | {} |", field.name.trim_end_matches('?'), field.doc);
        }
    }
}
