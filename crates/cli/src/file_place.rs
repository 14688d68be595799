//! The file that a path refers to, however the path is spelled.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The most symbolic links that are followed from one to the next.
const MOST_LINKS: usize = 40;

/// The file that a path refers to, however the path is spelled.
#[derive(Clone, Debug)]
pub(crate) struct FilePlace {
    /// The real path; of a file that doesn't exist yet, the future one. Empty if only an open file is known.
    path: PathBuf,
    /// Its device and inode, if it exists.
    node: Option<(u64, u64)>,
    /// Whether it is a file or doesn't exist yet.
    is_plain: bool,
    /// Whether it is standard output.
    is_stdout: bool,
}

impl FilePlace {
    /// Returns the place that a path refers to.
    pub(crate) fn of(path: &Path) -> Self {
        if let Ok(metadata) = fs::metadata(path) {
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            return Self { path, node: node(&metadata), is_plain: metadata.is_file(), is_stdout: false };
        }
        let mut path = path.to_owned();
        // The target of a link may not exist yet.
        for _ in 0..MOST_LINKS {
            let Ok(next) = fs::read_link(&path) else { break };
            path = path.parent().unwrap_or(Path::new("")).join(next);
        }
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let path = folder.join(path.file_name().unwrap_or_default());
        Self { path, node: None, is_plain: true, is_stdout: false }
    }

    /// The place of a file that is open, by whatever path.
    pub(crate) fn of_open(metadata: &fs::Metadata) -> Self {
        Self { node: node(metadata), is_plain: metadata.is_file(), ..Self::unknown() }
    }

    /// A place that is the same as no other.
    fn unknown() -> Self {
        Self { path: PathBuf::new(), node: None, is_plain: false, is_stdout: false }
    }

    /// The real path.
    pub(crate) fn into_path(self) -> PathBuf {
        self.path
    }

    /// The place of an output for which `-` means standard output.
    pub(crate) fn of_text(path: &Path) -> Self {
        let stdout = stdout();
        if path == Path::new("-") {
            let place = stdout.as_ref().map_or_else(Self::unknown, Self::of_open);
            return Self { is_stdout: !is_null(place.node), ..place };
        }
        let place = Self::of(path);
        let is_stdout = place.node.is_some() && place.node == stdout.as_ref().and_then(node);
        Self { is_stdout: is_stdout && !is_null(place.node), ..place }
    }

    /// Whether it is in the same folder as `other` and has its name with a number from 2: `run-2.ndjson` for `run.ndjson`.
    pub(crate) fn is_numbered_after(&self, other: &Self) -> bool {
        let stem = |place: &Self| Some(place.path.file_stem()?.to_str()?.to_owned());
        let (Some(stem), Some(first)) = (stem(self), stem(other)) else { return false };
        let number = stem.strip_prefix(&first).and_then(|rest| rest.strip_prefix('-'));
        self.is_plain
            && other.is_plain
            && self.path.parent() == other.path.parent()
            && self.path.extension() == other.path.extension()
            && number.is_some_and(|number| number.parse::<u32>().is_ok_and(|number| number > 1))
    }

    /// Whether outputs written to both would be mixed.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let has_path = !self.path.as_os_str().is_empty();
        let is_one_file =
            has_path && self.path == other.path || self.node.is_some() && self.node == other.node;
        self.is_stdout && other.is_stdout || self.is_plain && other.is_plain && is_one_file
    }
}

/// Whether it is the null device, to which everything may write.
fn is_null(place: Option<(u64, u64)>) -> bool {
    place.is_some() && fs::metadata("/dev/null").is_ok_and(|null| node(&null) == place)
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems don't number their files")]
fn node(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn node(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// The path of a file to write, with the symbolic links at its end resolved. Another user's link is an error where Linux refuses to follow
/// it, too, if links are protected: in a folder like `/tmp`, where everyone may create files and only owners may remove them.
///
/// Whoever opens the path must not follow a link any more: it was created in the meantime.
pub(crate) fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&path) else { return Ok(path) };
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        if !may_follow(&fs::symlink_metadata(&path)?, &fs::metadata(folder)?) {
            let why = "a symbolic link of another user, in a folder where everyone may write";
            return Err(io::Error::other(why));
        }
        let next = folder.join(next);
        // An open file of a process: what the link names needn't be a path.
        if folder.canonicalize().is_ok_and(|folder| folder.starts_with("/proc")) {
            return Ok(path);
        }
        path = next;
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The kernel's rule for protected links.
#[cfg(unix)]
fn may_follow(link: &fs::Metadata, folder: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    const STICKY_AND_WRITABLE: u32 = 0o1002;
    link.uid() == rustix::process::geteuid().as_raw()
        || folder.mode() & STICKY_AND_WRITABLE != STICKY_AND_WRITABLE
        || folder.uid() == link.uid()
}

#[cfg(not(unix))]
fn may_follow(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}

#[cfg(unix)]
fn stdout() -> Option<fs::Metadata> {
    use std::os::fd::AsFd;
    let stdout = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
    fs::File::from(stdout).metadata().ok()
}

#[cfg(not(unix))]
fn stdout() -> Option<fs::Metadata> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn forty_links_are_followed_to_a_file_that_does_not_exist_and_more_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let place = |number: usize| folder.path().join(number.to_string());
        for number in 1..=41 {
            symlink((number - 1).to_string(), place(number)).unwrap();
        }
        assert_eq!(followed(&place(39)).unwrap(), place(0));
        assert_eq!(followed(&place(41)).unwrap_err().to_string(), "too many symbolic links");
        let end = |number| FilePlace::of(&place(number)).into_path().file_name().unwrap().to_owned();
        assert_eq!([40, 41].map(end), ["0", "1"]);
    }
}
