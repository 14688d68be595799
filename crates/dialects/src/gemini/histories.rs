//! The location of Gemini CLI's session files, and of those of its sub-agents.
//!
//! Facts are from the program's public source (`packages/core/src/config/storage.ts` and `projectRegistry.ts`,
//! `services/chatRecordingService.ts`).

use std::borrow::Cow;

use streamfmt_core::dialect::{Beginning, Histories, SideFiles, WorkMark};
use streamfmt_core::json::Value;

/// Each project has a folder, which is named after the last part of its path with a number, or in older versions by a hash of the path. Its
/// files in `chats` contain the hash in any version. Older versions write a document for each session.
pub(crate) const HISTORIES: Histories = Histories {
    variables: &[("GEMINI_CLI_HOME", ".gemini/tmp")],
    home: ".gemini/tmp",
    root: Some(""),
    depth: 2,
    work: Some(|line| Some(WorkMark::Sha256(line.get("projectHash")?.decode()?.into_owned()))),
    is_named: |name| {
        let is_document = name.starts_with("session-") && name.strip_suffix(".json").is_some();
        is_document || (Histories::LINES.is_named)(name)
    },
    ..Histories::LINES
};

/// How the files of sub-agents are found: in a folder beside the history that is named after its session. Their first line has their own
/// id, by which the result of their call names them.
pub(crate) const SIDE_FILES: SideFiles = SideFiles {
    folders: &[],
    is_in_session_folder: true,
    agent: |name| name.strip_suffix(".jsonl"),
    is_named_alike: true,
    meta: "meta.json",
    call: |_| None,
    beginning: |line| {
        let [kind, id, project] = line.get_all(["kind", "sessionId", "projectHash"]);
        let is_agent = project.is_some() && kind.and_then(Value::str).is_some_and(|kind| kind.is("subagent"));
        let id = id.filter(|_| is_agent)?.decode().map(Cow::into_owned);
        // The id takes the place of the prompt: no prompt looks like an id.
        Some(Beginning { session: id.clone(), prompt: id })
    },
    // Only messages of session files have calls in them.
    session: |item| {
        let root = item.record.as_ref()?.root();
        root.get("toolCalls").or_else(|| root.get("projectHash"))?;
        item.session.as_deref().map(str::to_owned)
    },
};
