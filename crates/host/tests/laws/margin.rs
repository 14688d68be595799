//! Foreign text never begins in column 0 of appended text: the program's marks and tags, or blanks, are there.
//!
//! Two checks. In any output, each row begins with a mark, a tag, a time or a blank of ours, so no wrapped word does. And if each line of
//! each text of the stream begins with [`PLANTED`], no row does.

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::Value;
use streamfmt::core::profile::Ci;
use streamfmt::core::theme::Glyphs;
use streamfmt::plugin::source::PluginSource;
use streamfmt::{Builder, Engine, OutputCapabilities};

use crate::Form;
use crate::custom::rules;
use crate::format;
use crate::generated::{Input, stream};
use crate::recordings::{hostile, sample};

/// A letter that occurs in no stream and in no text of ours.
const PLANTED: char = '\u{a66e}';

/// The marks that begin an entry, in each set of glyphs.
const MARKS: [(Glyphs, &[&str]); 3] = [
    (Glyphs::Unicode, &["●", "↳", "✓", "✗", "▲", "·", "›", "✻", "≡", "◇", "Σ"]),
    (Glyphs::Ascii, &["*", "^", "+", "x", "!", "-", ">", "~", "=", "#"]),
    (
        Glyphs::Words,
        &[
            "call:",
            "result of:",
            "inside of:",
            "ok:",
            "error:",
            "warning:",
            "note:",
            "prompt:",
            "reply:",
            "thinking:",
            "plan:",
            "session:",
            "totals:",
            "outcome:",
        ],
    ),
];

/// The tags that begin a line of a log.
const TAGS: [&str; 15] = [
    "tool", "result", "error", "warning", "failed", "cost", "session", "notice", "prompt", "reply", "answer",
    "thinking", "plan", "record", "unknown",
];

/// A script that returns the stream's text wherever it can.
const PARROT: &str = r#"
local function said(item) return item.text or item.kind end
sf.tool("*", {
    label = function(call) return (call.input and call.input.command or call.tool) .. "\n" .. call.tool end,
    arg = function(input, call) return { call.tool .. "\nb", sf.link("a\nb", "https://example.com/") } end,
    summary = function(result) return said(result) end,
})
sf.tool("Bash", { result = function(result)
    return {
        sf.header(nil, said(result), { mark = false }),
        sf.table({ "a\nb", said(result) }, { { said(result), "x\ny" } }),
        sf.kv({ { said(result), said(result) } }),
        sf.list({ said(result) }),
        sf.details(said(result), { sf.code(said(result)), sf.prose(said(result)) }),
    }
end })
sf.tool("Edit", { label = function() return false end, arg = function() return false end })
sf.view("reply", function(reply) return { sf.heading(1, said(reply)), sf.prose(said(reply)) } end)
sf.view("notice", function(notice) return said(notice) end)
sf.view("outcome", function(outcome) return { said(outcome), sf.note("info", said(outcome)) } end)
sf.on("call", function(call) return call.tool .. "\n" .. call.tool end)
sf.on("session.end", function() return { "a\nb", sf.code("c\nd") } end)
"#;

/// A text output, and the beginnings that its rows may have.
struct Way {
    form: Form,
    glyphs: Glyphs,
    is_log: bool,
    has_times: bool,
    ci: Ci,
}

impl Way {
    fn new(builder: Builder, width: Option<usize>) -> Self {
        Self::with(builder, OutputCapabilities { width, ..OutputCapabilities::default() })
    }

    fn with(builder: Builder, capabilities: OutputCapabilities) -> Self {
        let engine = builder.dialect("claude").capabilities(capabilities).build().unwrap();
        let settings = engine.settings();
        let layout = &settings.profile.layout;
        let (glyphs, ci) = (layout.glyphs, layout.ci);
        let has_times = settings.timestamps;
        let is_log = engine.writer().name == "log";
        Self { form: Form { name: "text", engine, is_coloured: false }, glyphs, is_log, has_times, ci }
    }

    /// The first row that may begin with foreign text.
    fn fault<'t>(&self, text: &'t str) -> Option<&'t str> {
        text.split('\n').find(|row| !self.is_ours(row))
    }

    fn is_ours(&self, row: &str) -> bool {
        let row = match (self.has_times, row.get(..8)) {
            (true, Some(time)) if is_time(time) => &row[8..],
            _ => row,
        };
        let row = if self.is_log { row } else { without_agent(row, self.glyphs) };
        let begins =
            |mark: &str| row.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        let is_command = || match self.ci {
            Ci::Github => ["::group::", "::endgroup::", "::warning title=", "::error title="]
                .iter()
                .any(|command| row.starts_with(command)),
            Ci::Gitlab => row.starts_with("section_start:") || row.starts_with("section_end:"),
            _ => self.form.engine.plugin_writer().is_some() && row.starts_with("::"),
        };
        let marks =
            MARKS.iter().find(|(glyphs, _)| *glyphs == self.glyphs).map_or(&[][..], |(_, marks)| marks);
        let is_marked = marks.iter().any(|mark| begins(mark));
        let is_tagged = self.is_log && TAGS.iter().any(|tag| begins(&format!("[{tag}]")));
        let is_marked = is_marked || is_tagged;
        row.is_empty() || row.starts_with(' ') || is_marked || is_command()
    }
}

/// A row without the sub-agent's number at its beginning: `①│ `, `21| `, `agent 1 `.
fn without_agent(row: &str, glyphs: Glyphs) -> &str {
    let (before, behind) = match glyphs {
        Glyphs::Words => ("agent ", " "),
        Glyphs::Ascii => ("", "|"),
        Glyphs::Unicode | Glyphs::Nerd => ("", "│"),
    };
    let Some(numbered) = row.strip_prefix(before) else { return row };
    let rest = numbered.trim_start_matches(|char: char| char.is_ascii_digit() || ('①'..='⑳').contains(&char));
    if rest.len() == numbered.len() { row } else { rest.strip_prefix(behind).unwrap_or(row) }
}

fn is_time(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| if at % 3 == 2 { byte == b':' } else { byte.is_ascii_digit() })
}

fn text() -> Builder {
    Engine::builder().writer("text")
}

fn log() -> Builder {
    Engine::builder().writer("log").profile("ci")
}

/// The text outputs for many configurations.
fn ways() -> Vec<Way> {
    let github = OutputCapabilities { width: Some(40), ci: Ci::Github, ..OutputCapabilities::default() };
    let gitlab = OutputCapabilities { ci: Ci::Gitlab, ..OutputCapabilities::default() };
    let mut ways = vec![
        Way::new(text(), None),
        Way::new(text().profile("full"), Some(24)),
        Way::new(text().profile("full").timestamps(true), Some(50)),
        Way::new(log(), Some(30)),
        Way::with(log(), github),
        Way::with(log(), gitlab),
        Way::new(text().profile("plain").timestamps(true), Some(20)),
        Way::new(text().ascii(true).set("layout.margin=40"), Some(60)),
        Way::new(text().set("layout.margin=1"), Some(20)),
        Way::new(text().pack(PluginSource::from_text("parrot.lua", PARROT)), Some(30)),
        Way::new(text().profile("full").pack(PluginSource::from_text("parrot.lua", PARROT)), None),
        Way::new(log().pack(PluginSource::from_text("parrot.lua", PARROT)), Some(30)),
        Way::new(Engine::builder().writer("github-actions").plugin("github-actions"), None),
    ];
    for plugin in ["mcp-pretty", "cost", "redact"] {
        ways.push(Way::new(text().plugin(plugin), Some(40)));
    }
    ways
}

/// An input in which each line of each text begins with [`PLANTED`], except texts that identify an event. `is_known`: texts that identify a
/// tool or a message don't change either.
fn planted(bytes: &[u8], is_known: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match serde_json::from_slice::<Value>(line) {
            Ok(mut event) => {
                plant(&mut event, "", is_known);
                out.extend(event.to_string().into_bytes());
            }
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(_) => {
                let mut text = String::new();
                // Writing to a string can't fail.
                let _ = write!(text, "{PLANTED}{}", String::from_utf8_lossy(line).trim_end());
                out.extend(text.into_bytes());
            }
        }
        out.push(b'\n');
    }
    out
}

fn plant(value: &mut Value, key: &str, is_known: bool) {
    const STRUCTURE: [&str; 3] = ["type", "subtype", "role"];
    const KNOWN: [&str; 14] = [
        "id",
        "name",
        "uuid",
        "parentUuid",
        "session_id",
        "sessionId",
        "tool_use_id",
        "parent_tool_use_id",
        "timestamp",
        "cwd",
        "status",
        "mode",
        "file_path",
        "filePath",
    ];
    match value {
        Value::String(_) if STRUCTURE.contains(&key) || (is_known && KNOWN.contains(&key)) => {}
        Value::String(text) => {
            *text = text.split('\n').map(|line| format!("{PLANTED}{line}")).collect::<Vec<_>>().join("\n");
        }
        Value::Array(values) => values.iter_mut().for_each(|value| plant(value, key, is_known)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, value)| plant(value, &key.clone(), is_known));
        }
        _ => {}
    }
}

#[track_caller]
fn assert_margin(way: &Way, bytes: &[u8], name: &str) {
    for bytes in [bytes, &planted(bytes, true), &planted(bytes, false)] {
        let text = format(&way.form, [bytes]).text;
        let about = || {
            let choice = &way.form.engine.choice().profile.name;
            let plugins: Vec<&str> =
                way.form.engine.plugins().iter().map(|active| active.pack.name.as_str()).collect();
            format!("{name} with the profile {choice} and plugins {plugins:?}")
        };
        if let Some(row) = way.fault(&text) {
            panic!("{}: a row begins with foreign text: {row:?}", about());
        }
    }
}

#[test]
fn recordings_begin_no_row() {
    for (at, way) in ways().iter().enumerate() {
        for (name, bytes) in sample(at, 60) {
            assert_margin(way, &bytes, &name);
        }
    }
}

#[test]
fn hostile_files_begin_no_row() {
    let files = hostile();
    for (at, way) in ways().iter().enumerate() {
        for (name, bytes) in
            files.iter().skip(at % 20).step_by(20).filter(|(_, bytes)| bytes.len() < 64 << 10)
        {
            assert_margin(way, bytes, name);
        }
    }
}

#[test]
#[should_panic(expected = "a row begins with foreign text")]
fn a_word_in_column_0_is_noticed() {
    let way = Way::new(text().set("layout.margin=0"), None);
    let (name, bytes) = sample(0, 1).remove(0);
    assert_margin(&way, &bytes, &name);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_rule_lets_a_text_begin_a_row(
        rules in rules(),
        input in stream(),
        profile in prop_oneof![Just("default"), Just("full"), Just("ci")],
        width in prop_oneof![Just(None), (20_usize..60).prop_map(Some)],
    ) {
        let Input(bytes) = input;
        let way = Way::new(rules.over(text(), profile), width);
        assert_margin(&way, &bytes, &format!("{rules:?}"));
    }
}
