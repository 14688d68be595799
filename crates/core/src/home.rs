//! Folders as people write them.

use crate::text::Text;

/// The home folder that a folder lies in. Only the usual places tell that there is one.
pub fn home_of(folder: &str) -> Option<&str> {
    let root = ["/home/", "/Users/"].into_iter().find(|root| folder.starts_with(root))?;
    let user = folder[root.len()..].find('/').filter(|length| *length > 0)?;
    (root.len() + user + 1 < folder.len()).then(|| &folder[..root.len() + user])
}

/// A folder below a home folder, as people write it.
pub fn home(path: Text) -> Text {
    match home_of(&path) {
        Some(home) => Text::clean_owned(["~", &path[home.len()..]].concat()),
        None => path,
    }
}
