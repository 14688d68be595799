//! The location of pi's session files.

use streamfmt_core::dialect::Histories;

/// There is a folder for each working directory, with a file for each session.
pub(crate) const HISTORIES: Histories = Histories {
    variables: &[("PI_CODING_AGENT_DIR", "")],
    home: ".pi/agent",
    folder: |work| {
        let bare = work.strip_prefix(['/', '\\']).unwrap_or(work);
        ["sessions/--", &bare.replace(['/', '\\', ':'], "-"), "--"].concat()
    },
    root: Some("sessions"),
    ..Histories::LINES
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_directory_names_its_folder() {
        for (work, folder) in [
            ("/home/dev/shop-api", "sessions/--home-dev-shop-api--"),
            ("/home/dev/.config/a_b", "sessions/--home-dev-.config-a_b--"),
            ("C:\\work", "sessions/--C--work--"),
        ] {
            assert_eq!((HISTORIES.folder)(work), folder);
        }
    }
}
