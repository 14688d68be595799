//! The folders in which settings, plugins and trust records are searched.
//!
//! The host never reads the environment. The embedding program passes these in; otherwise nothing is searched.

use std::path::{Path, PathBuf};

/// The folders of one run. A folder that is `None` is neither searched nor written to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// The working directory, from which a project's settings are searched upwards.
    pub work: PathBuf,
    /// The user's home directory. No project is searched above it, and `~` stands for it.
    pub home: Option<PathBuf>,
    /// The user's settings, such as `~/.config/streamfmt`: `config.toml`, `init.lua`, `themes/`.
    pub config: Option<PathBuf>,
    /// Data that was installed for the user, such as `~/.local/share/streamfmt`: plugins.
    pub data: Option<PathBuf>,
    /// State of the program, such as `~/.local/state/streamfmt`: which projects are trusted.
    pub state: Option<PathBuf>,
    /// Settings for all users of the system, such as `/etc/streamfmt`.
    pub system: Option<PathBuf>,
}

impl Folders {
    /// Replaces a `~` at the beginning of `path` by the home directory. Other paths are returned unchanged, and so are all paths
    /// if no home directory is known.
    pub fn expand(&self, path: &str) -> PathBuf {
        let rest = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match (rest, &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(path),
        }
    }

    /// A path for display, with `~` for the home directory.
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
