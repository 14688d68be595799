//! The location of Qwen Code's session files.
//!
//! Facts are from the program's public source (`packages/core/src/config/storage.ts`).

use streamfmt_core::dialect::Histories;

use crate::claude;

/// There is a folder for each working directory, spelled as that of Claude Code, with a file for each session in `chats`.
pub(crate) const HISTORIES: Histories = Histories {
    variables: &[("QWEN_RUNTIME_DIR", ""), ("QWEN_HOME", "")],
    home: ".qwen",
    folder: |work| [&*(claude::HISTORIES.folder)(work), "/chats"].concat(),
    root: Some("projects"),
    ..Histories::LINES
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_directory_names_its_folder() {
        for (work, folder) in [
            ("/home/dev/shop-api", "projects/-home-dev-shop-api/chats"),
            ("/home/dev/.config/a_b c", "projects/-home-dev--config-a-b-c/chats"),
        ] {
            assert_eq!((HISTORIES.folder)(work), folder);
        }
    }
}
