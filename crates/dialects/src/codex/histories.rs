//! Where the program keeps its session files.

use std::borrow::Cow;

use streamfmt_core::dialect::Histories;

/// One folder for each day, in one for its month and one for its year. A file's first line names the working directory.
pub(crate) const HISTORIES: Histories = Histories {
    variable: "CODEX_HOME",
    home: ".codex",
    folder: |_| "sessions".to_owned(),
    depth: 3,
    work: Some(|line| line.get("payload")?.get("cwd")?.decode().map(Cow::into_owned)),
};
