//! The location of Cursor's transcripts.
//!
//! The place and the spelling of folders are from public code of several programs that read these files; the vendor documents neither.

use streamfmt_core::dialect::Histories;

/// There is a folder for each working directory, in which each session has a folder with a file of its name. Older versions write the
/// file without that folder.
pub(crate) const HISTORIES: Histories = Histories {
    variables: &[("CURSOR_DATA_DIR", "")],
    home: ".cursor",
    folder: |work| {
        let words: Vec<&str> =
            work.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        ["projects/", &words.join("-"), "/agent-transcripts"].concat()
    },
    root: Some("projects"),
    depth: 1,
    session: |name| Some(name),
    ..Histories::LINES
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_directory_names_its_folder() {
        for (work, folder) in [
            ("/home/dev/shop-api", "projects/home-dev-shop-api/agent-transcripts"),
            ("/home/dev/.config/a_b c", "projects/home-dev-config-a-b-c/agent-transcripts"),
            ("c:\\work", "projects/c-work/agent-transcripts"),
        ] {
            assert_eq!((HISTORIES.folder)(work), folder);
        }
    }
}
