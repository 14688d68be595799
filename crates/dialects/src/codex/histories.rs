//! The location of Codex's session files.

use std::borrow::Cow;

use streamfmt_core::dialect::Histories;

/// Session files are in folders by year, month and day. A file's first line contains the working directory.
pub(crate) const HISTORIES: Histories = Histories {
    variable: "CODEX_HOME",
    home: ".codex",
    folder: |_| "sessions".to_owned(),
    depth: 3,
    work: Some(|line| line.get("payload")?.get("cwd")?.decode().map(Cow::into_owned)),
};
