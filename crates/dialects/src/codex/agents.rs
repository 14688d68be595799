//! The files of sub-agents: session files of their own, beside that of the session which started them.

use std::borrow::Cow;

use streamfmt_core::dialect::{Beginning, SideFiles};
use streamfmt_core::json::Value;

/// A sub-agent's file is named like any other, ends in its id, and names the session that started it in its first line.
/// Its task follows further down: such a file is found by the id, which the result of the call has.
pub(crate) const SIDE_FILES: SideFiles = SideFiles {
    folders: &["."],
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
        // No prompt is like an id.
        Some(Beginning { session: own("parent_thread_id"), prompt: own("id") })
    },
    // Lines of a stream have no payload, and those of other products have a session, too.
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
