//! The location of Copilot's session files.

use streamfmt_core::dialect::{Histories, WorkMark};

/// Each session has a folder with a file `events.jsonl`, whose first line contains the working directory.
pub(crate) const HISTORIES: Histories = Histories {
    variables: &[("COPILOT_HOME", "")],
    home: ".copilot",
    folder: |_| "session-state".to_owned(),
    root: Some("session-state"),
    depth: 1,
    work: Some(|line| {
        Some(WorkMark::Path(line.get("data")?.get("context")?.get("cwd")?.decode()?.into_owned()))
    }),
    ..Histories::LINES
};
