//! Where things lie: the folders that settings, plugins and records of trust are looked for in.
//!
//! The host never asks the environment. Whoever embeds it hands these in, or nothing is searched.

use std::path::{Path, PathBuf};

/// The folders of one run. Those that are `None` are not searched and not written to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// The working directory; a project's settings are looked for from here upwards.
    pub work: PathBuf,
    /// The user's home directory: no project is looked for above it, and `~` is it.
    pub home: Option<PathBuf>,
    /// The user's settings, such as `~/.config/streamfmt`: `config.toml`, `init.lua`, `themes/`.
    pub config: Option<PathBuf>,
    /// What was installed for the user, such as `~/.local/share/streamfmt`: plugins.
    pub data: Option<PathBuf>,
    /// What the program remembers, such as `~/.local/state/streamfmt`: which projects are trusted.
    pub state: Option<PathBuf>,
    /// Settings for every user of the machine, such as `/etc/streamfmt`.
    pub system: Option<PathBuf>,
}

impl Folders {
    /// `path` with a `~` at its beginning replaced by the home directory. Other paths, and all of them if no
    /// home directory is known, come back as they are.
    pub fn expand(&self, path: &str) -> PathBuf {
        let rest = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match (rest, &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(path),
        }
    }

    /// How a path is shown to the user: with `~` for the home directory.
    pub fn shown(&self, path: &Path) -> String {
        let inside = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        match inside {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_directory_is_a_tilde() {
        let folders = Folders { home: Some("/home/ada".into()), ..Folders::default() };
        for (short, long) in
            [("~", "/home/ada"), ("~/x/y", "/home/ada/x/y"), ("/etc/x", "/etc/x"), ("~bob/x", "~bob/x")]
        {
            assert_eq!(folders.expand(short), Path::new(long));
            assert_eq!(folders.shown(Path::new(long)), short);
        }
        assert_eq!(Folders::default().expand("~/x"), Path::new("~/x"));
    }
}
