//! The files of sub-agents: separate session files, beside that of the session that started them.

use std::borrow::Cow;

use streamfmt_core::dialect::{Beginning, SideFiles};
use streamfmt_core::json::Value;

/// How the files of sub-agents are found. The name of such a file has the form of any session's and ends in the sub-agent's id; its
/// first line names the session that started it. The task comes later in the file, so a file is matched by its id, which the result
/// of the call contains.
pub(crate) const SIDE_FILES: SideFiles = SideFiles {
    folders: &["."],
    is_in_session_folder: false,
    agent: |name| {
        let name = name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
        let start = name.len().checked_sub(ID)?;
        name.get(start..).filter(|id| id.split('-').count() == 5)
    },
    is_named_alike: true,
    meta: "meta.json",
    call: |_| None,
    beginning: |line| {
        let payload =
            line.get("payload").filter(|_| text(line, "type").as_deref() == Some("session_meta"))?;
        let own = |name: &str| text(payload, name).map(Cow::into_owned);
        // The id takes the place of the prompt: no prompt looks like an id.
        Some(Beginning { session: own("parent_thread_id"), prompt: own("id") })
    },
    // Only lines of session files have a payload; lines of streams and of other products may have a session, too.
    session: |item| {
        item.record.as_ref()?.root().get("payload")?;
        item.session.as_deref().map(str::to_owned)
    },
};

/// Length of a UUID.
const ID: usize = 36;

fn text<'a>(value: Value<'a>, key: &str) -> Option<Cow<'a, str>> {
    value.get(key)?.decode()
}
