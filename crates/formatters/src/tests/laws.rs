//! Laws that hold for every item.

use super::*;
use proptest::prelude::*;
use streamfmt_core::profile::{LIMITS, Limits};

/// Keys and names of facts: some that a tool uses, and some that none does.
const KEYS: &[&str] = &[
    "command",
    "description",
    "timeout",
    "run_in_background",
    "file_path",
    "offset",
    "limit",
    "pages",
    "content",
    "old_string",
    "new_string",
    "replace_all",
    "edits",
    "pattern",
    "path",
    "glob",
    "url",
    "prompt",
    "query",
    "subagent_type",
    "todos",
    "subject",
    "taskId",
    "status",
    "plan",
    "questions",
    "question",
    "options",
    "label",
    "skill",
    "args",
    "task_id",
    "notebook_path",
    "new_source",
    "edit_mode",
    "cell_id",
    "odd key",
    "activeForm",
    "stdout",
    "stderr",
    "exit",
    "interrupted",
    "image",
    "background",
    "files",
    "patch",
    "lines",
    "start",
    "total",
    "type",
    "created",
    "mode",
    "count",
    "matches",
    "code",
    "answer",
    "hits",
    "state",
    "tokens",
    "answers",
    "cells",
    "success",
    "task",
    "tasks",
    "structured",
    "persisted",
    "images",
    "denied",
    "event",
    "turns",
    "cost_usd",
    "usage",
    "models",
    "errors",
    "denials",
    "level",
    "model",
    "cwd",
    "tools",
    "oldStart",
];

/// Generates any JSON. Strings contain marks of the form `mkN`, which are numbered afterwards.
fn json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        4 => "(mk|mk x\\\\n| mk y\\\\n\\\\nmk|mk \\\\u001b\\[2J mk|mk, mk: \\[mk)".prop_map(|text| format!("\"{text}\"")),
        1 => prop_oneof![Just("null"), Just("true"), Just("false"), Just("1e400"), Just("-3"), Just("7.50")]
            .prop_map(str::to_owned),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            object(inner),
        ]
    })
}

fn object(values: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let fields = proptest::collection::vec((proptest::sample::select(KEYS), values), 0..5);
    fields.prop_map(|fields| {
        let fields: Vec<_> = fields.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", fields.join(","))
    })
}

/// Gives each mark a unique number.
fn numbered(json: &str) -> (String, Vec<String>) {
    let mut parts = json.split("mk");
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut marks = Vec::new();
    for part in parts {
        let mark = format!("mk{}z", marks.len());
        out.push_str(&mark);
        out.push_str(part);
        marks.push(mark);
    }
    (out, marks)
}

fn tool() -> impl Strategy<Value = &'static str> {
    let names: Vec<&'static str> = DIALECTS
        .rows
        .iter()
        .flat_map(|dialect| dialect.tools)
        .map(|(name, _)| *name)
        .chain(["mcp__a__b", "Вash"])
        .collect();
    proptest::sample::select(names)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn full_calls_hold_every_string(tool in tool(), input in prop_oneof![object(json()), json()]) {
        let (input, marks) = numbered(&input);
        let call = format!(r#"{{"kind":"call","tool":"{tool}","input":{input}}}"#);
        let text = formatted(Detail::Full, None, &call);
        // The content of a to-do list is in the plan.
        let is_plan = text.trim() == "<call> TodoWrite";
        for mark in marks {
            prop_assert!(is_plan || text.contains(&mark), "{mark} of {call}\n{text}");
        }
    }

    #[test]
    fn full_results_hold_every_line_of_their_text(
        tool in tool(), error in any::<bool>(), facts in object(json()),
        text in "(mk|     1→mk\\\\n     2→mk\\\\n\\\\nmk|mk\\\\nmk|<tool_use_error>mk</tool_use_error>|Exit code 3\\\\nmk|<system-reminder>mk</system-reminder>mk)",
    ) {
        let (text, marks) = numbered(&text);
        let error = if error { r#""error":1,"# } else { "" };
        let result = format!(r#"{{"kind":"result",{error}"tool":"{tool}","text":"{text}","facts":{facts}}}"#);
        let text = formatted(Detail::Full, None, &result);
        for mark in marks {
            prop_assert!(text.contains(&mark), "{mark} of {result}\n{text}");
        }
    }

    #[test]
    fn nothing_panics_and_everything_can_be_clipped(
        kind in proptest::sample::select(Kind::ALL.to_vec()),
        tool in tool(), error in any::<bool>(), facts in object(json()), text in json(), input in json(),
    ) {
        let error = if error { r#""error":1,"# } else { "" };
        let item = item(&format!(
            r#"{{"kind":"{}",{error}"tool":"{tool}","text":{text},"input":{input},"facts":{facts}}}"#, kind.name()
        ));
        let call = format!(r#"{{"kind":"call","tool":"{tool}","input":{input}}}"#);
        for detail in [Detail::Compact, Detail::Full] {
            match Standard::new(detail).format(&item, &session(Some(&call))) {
                Ok(Verdict::Show(mut view)) => {
                    let mut limits = Limits::default();
                    for row in LIMITS {
                        limits[row.limit] = Some(if row.is_bytes { 5 } else { 1 });
                    }
                    streamfmt_core::clip::clip(&mut view, kind, item.error, &limits);
                    shown(&view);
                }
                Ok(Verdict::Hide) => {}
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
