//! The location of Copilot's session files.

use std::borrow::Cow;

use streamfmt_core::dialect::Histories;

/// Each session has a folder with a file `events.jsonl`, whose first line contains the working directory.
pub(crate) const HISTORIES: Histories = Histories {
    variable: "COPILOT_HOME",
    home: ".copilot",
    folder: |_| "session-state".to_owned(),
    depth: 1,
    work: Some(|line| line.get("data")?.get("context")?.get("cwd")?.decode().map(Cow::into_owned)),
};
