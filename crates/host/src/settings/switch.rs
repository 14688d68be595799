//! The `[[switch]]` tables of the user's settings, which select profiles.

use std::path::Path;

use streamfmt_core::pipeline::StreamStart;
use streamfmt_core::profile::glob;

use super::document::Spot;
use crate::folders::Folders;
use crate::settings::keys::Named;

/// One `[[switch]]` table: all of its conditions must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    /// The working directory, or a folder above it.
    pub(crate) path: Option<String>,
    /// The folder that the stream reports, or one above it.
    pub(crate) cwd: Option<String>,
    /// The model that the stream reports.
    pub(crate) model: Option<String>,
    /// The stream's dialect.
    pub(crate) dialect: Option<String>,
    /// The profile to use.
    pub(crate) profile: Option<Named>,
    /// Where the table begins.
    pub(crate) spot: Option<Spot>,
}

impl Switch {
    /// Whether it has any condition.
    pub(crate) fn has_condition(&self) -> bool {
        self.path.is_some() || self.asks_stream()
    }

    /// Whether it depends on the stream.
    pub(crate) fn asks_stream(&self) -> bool {
        self.cwd.is_some() || self.model.is_some() || self.dialect.is_some()
    }

    /// Whether the working directory matches.
    pub(crate) fn fits_folder(&self, folders: &Folders) -> bool {
        self.path.as_deref().is_none_or(|pattern| fits(pattern, &folders.work, folders))
    }

    /// Whether the stream matches; `None` if too little of it is known yet.
    pub(crate) fn fits_stream(&self, known: &StreamStart<'_>, folders: &Folders) -> Option<bool> {
        let facts = known.facts;
        let is_in = |pattern: &String| Some(fits(pattern, Path::new(facts.cwd.as_ref()?.as_str()), folders));
        let all = [
            self.cwd.as_ref().map(is_in),
            self.model.as_ref().map(|pattern| Some(glob(pattern, facts.model.as_ref()?.as_str()))),
            self.dialect.as_ref().map(|pattern| Some(glob(pattern, known.dialect?))),
        ];
        // A condition that fails decides, even if others are still unknown.
        if all.contains(&Some(Some(false))) {
            return Some(false);
        }
        if all.contains(&Some(None)) { known.is_all.then_some(false) } else { Some(true) }
    }
}

/// Whether `folder`, or one above it, matches `pattern`.
pub(super) fn fits(pattern: &str, folder: &Path, folders: &Folders) -> bool {
    let pattern = folders.expand(pattern);
    let pattern = parts(&pattern);
    let parts = parts(folder);
    (1..=parts.len()).any(|length| glob_parts(&pattern, &parts[..length]))
}

fn parts(path: &Path) -> Vec<String> {
    path.to_string_lossy()
        .split(['/', std::path::MAIN_SEPARATOR])
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Whether the parts of a path match the parts of a pattern, in which `**` matches any number of parts. Backtracks only to the last
/// `**`, like a glob within one part.
fn glob_parts(pattern: &[String], parts: &[String]) -> bool {
    let (mut at, mut part) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while part < parts.len() {
        match pattern.get(at) {
            Some(any) if any == "**" => {
                last = Some((at + 1, part));
                at += 1;
            }
            Some(form) if glob(form, &parts[part]) => {
                at += 1;
                part += 1;
            }
            _ => {
                let Some((after, from)) = last else { return false };
                last = Some((after, from + 1));
                (at, part) = (after, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|rest| rest == "**")
}

#[cfg(test)]
mod tests {
    use streamfmt_core::session::Facts;
    use streamfmt_core::text::Text;

    use super::*;

    fn folders(work: &str) -> Folders {
        Folders { work: work.into(), home: Some("/home/ada".into()), ..Folders::default() }
    }

    #[test]
    fn folders_are_meant_with_all_that_is_in_them() {
        for (pattern, work, fits) in [
            ("~/clients/**", "/home/ada/clients", true),
            ("~/clients/**", "/home/ada/clients/acme/src", true),
            ("~/clients", "/home/ada/clients/acme/src", true),
            ("~/clients/acme", "/home/ada/clients/other", false),
            ("~/clients/*/api", "/home/ada/clients/acme/api/src", true),
            ("~/clients/*/api", "/home/ada/clients/acme/web", false),
            ("**/node_modules", "/srv/x/node_modules/y", true),
            ("/srv/**/web/**/src", "/srv/a/web/b/c/src", true),
            ("/srv/**/web/**/src", "/srv/a/b/c/src", false),
            ("~/clients", "/home/ada/clientsandmore", false),
            ("~", "/home/bob", false),
        ] {
            let switch = Switch { path: Some(pattern.into()), ..Switch::default() };
            assert_eq!(switch.fits_folder(&folders(work)), fits, "{pattern} {work}");
        }
    }

    #[test]
    fn a_stream_fits_once_enough_is_known_of_it() {
        let switch =
            Switch { model: Some("*opus*".into()), cwd: Some("/srv/**".into()), ..Switch::default() };
        let fits = |model: Option<&'static str>, cwd: Option<&'static str>, is_all| {
            let facts = Facts { model: model.map(Text::own), cwd: cwd.map(Text::own), ..Facts::default() };
            switch.fits_stream(&StreamStart { dialect: None, facts: &facts, is_all }, &folders("/"))
        };
        assert_eq!(fits(None, None, false), None);
        assert_eq!(fits(None, Some("/srv/x"), false), None);
        assert_eq!(fits(None, Some("/home"), false), Some(false));
        assert_eq!(fits(Some("claude-opus-4"), Some("/srv/x"), false), Some(true));
        assert_eq!(fits(None, Some("/srv/x"), true), Some(false));
    }
}
