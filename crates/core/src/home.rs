//! Shortens paths in home folders.

use crate::text::Text;

/// The home folder that contains a folder. Only home folders in the usual places are recognised.
pub fn home_of(folder: &str) -> Option<&str> {
    let root = ["/home/", "/Users/"].into_iter().find(|root| folder.starts_with(root))?;
    let user = folder[root.len()..].find('/').filter(|length| *length > 0)?;
    (root.len() + user + 1 < folder.len()).then(|| &folder[..root.len() + user])
}

/// Replaces the home folder at the start of a path by `~`.
pub fn home(path: Text) -> Text {
    match home_of(&path) {
        Some(home) => Text::clean_owned(["~", &path[home.len()..]].concat()),
        None => path,
    }
}
