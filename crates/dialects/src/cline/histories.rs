//! The location of Cline's session files, and of those of its sub-agents.
//!
//! Facts are from the program's public source (`sdk/packages/shared/src/storage/paths.ts`, and in `sdk/packages/core/src/session`
//! `session-artifacts.ts` and `stores/session-manifest-store.ts`).

use std::borrow::Cow;

use streamfmt_core::dialect::{Beginning, Histories, SideFiles, WorkMark};
use streamfmt_core::json::{Value, ValueKind};

/// The end of the name of the document with the messages of a session.
const MESSAGES: &str = ".messages.json";

/// Each session has a folder with two documents: one with its messages, which is its history, and one with its facts. Both are written
/// anew, in place, whenever something changes.
pub(crate) const HISTORIES: Histories = Histories {
    variables: &[
        ("CLINE_SESSION_DATA_DIR", ""),
        ("CLINE_DATA_DIR", "sessions"),
        ("CLINE_DIR", "data/sessions"),
    ],
    home: ".cline/data/sessions",
    root: Some(""),
    depth: 1,
    work: Some(|facts| Some(WorkMark::Path(facts.get("cwd")?.decode()?.into_owned()))),
    is_named: |name| name.ends_with(MESSAGES),
    facts: |name| Some([name.strip_suffix(MESSAGES)?, ".json"].concat()),
    ..Histories::LINES
};

/// How the files of sub-agents are found: beside the history, with their messages. They name their session, and begin with their task.
pub(crate) const SIDE_FILES: SideFiles = SideFiles {
    folders: &["."],
    is_in_session_folder: false,
    agent: |name| name.strip_suffix(MESSAGES),
    is_named_alike: true,
    meta: "meta.json",
    call: |_| None,
    beginning: |document| {
        let [origin, messages] = document.get_all(["origin", "messages"]);
        let first = messages.filter(|messages| messages.kind() == ValueKind::Array)?.items().next();
        let prompt = first.and_then(|message| {
            let content = message.get("content")?;
            content.decode().or_else(|| content.items().find_map(|block| block.get("text")?.decode()))
        });
        let session = origin?.get("parentThreadId").and_then(Value::decode);
        Some(Beginning { session: session.map(Cow::into_owned), prompt: prompt.map(Cow::into_owned) })
    },
    // Only the document of a session has messages.
    session: |item| {
        item.record.as_ref()?.root().get("messages")?;
        item.session.as_deref().map(str::to_owned)
    },
};
