//! The location of Codex's session files.

use streamfmt_core::dialect::{Histories, WorkMark};

/// Session files are in folders by year, month and day. A file's first line contains the working directory.
pub(crate) const HISTORIES: Histories = Histories {
    variables: &[("CODEX_HOME", "")],
    home: ".codex",
    folder: |_| "sessions".to_owned(),
    root: Some("sessions"),
    depth: 3,
    work: Some(|line| Some(WorkMark::Path(line.get("payload")?.get("cwd")?.decode()?.into_owned()))),
    ..Histories::LINES
};
