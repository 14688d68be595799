//! The location of Claude Code's history files.

use streamfmt_core::dialect::{Histories, HistoryCleanup};

/// The setting for the days after which sessions are deleted, at the start of the program.
const CLEANUP: &str = "cleanupPeriodDays";

/// There is a folder for each working directory, with a file for each session.
pub(crate) const HISTORIES: Histories = Histories {
    variables: &[("CLAUDE_CONFIG_DIR", "")],
    home: ".claude",
    folder: |work| {
        let units = work.encode_utf16().map(|unit| u8::try_from(unit).map_or('-', char::from));
        let names = units.map(|unit| if unit.is_ascii_alphanumeric() { unit } else { '-' });
        "projects/".chars().chain(names).collect()
    },
    root: Some("projects"),
    cleanup: Some(HistoryCleanup {
        settings: "settings.json",
        key: CLEANUP,
        days: |settings| u64::try_from(settings.get(CLEANUP)?.int()?).ok(),
        default: 30,
    }),
    ..Histories::LINES
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_directory_names_its_folder() {
        for (work, folder) in [
            ("/home/dev/shop-api", "projects/-home-dev-shop-api"),
            ("/home/dev/.config/a_b c", "projects/-home-dev--config-a-b-c"),
            ("/home/é/日本🙂", "projects/-home-------"),
            ("C:\\work", "projects/C--work"),
        ] {
            assert_eq!((HISTORIES.folder)(work), folder);
        }
    }
}
