//! Reads files within limits, each file once, and records what was read.
//!
//! Each use sees the bytes of the first read: the bytes whose trust is checked are those that run, even if the file changes
//! meanwhile. A watcher can ask for all files that were read. [`Files::within`] returns a reader for a project's own files that
//! can't leave the project.
//!
//! ```
//! use streamfmt::Files;
//!
//! let files = Files::default();
//! let manifest = files.read("Cargo.toml".as_ref(), 64 * 1024)?;
//! assert!(manifest.text()?.contains("[package]"));
//! assert_eq!(files.reached().len(), 1);
//! # Ok::<(), streamfmt::files::FileError>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Total size limit of all files that are kept, in bytes.
const MOST_BYTES: usize = 64 << 20;
/// Most files in a folder that is walked.
const MOST_FILES: usize = 2_048;
/// Most folder entries that are examined in one walk.
const MOST_SEEN: usize = 65_536;
/// Deepest nesting of folders in a walk.
const DEEPEST: usize = 12;

/// The limits of a walk through a folder.
#[derive(Clone, Copy)]
struct WalkLimits {
    files: usize,
    seen: usize,
    depth: usize,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self { files: MOST_FILES, seen: MOST_SEEN, depth: DEEPEST }
    }
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFile {
    /// Its real path: absolute, without links. A pipe has none and keeps the path by which it was requested.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Arc<[u8]>,
}

impl ReadFile {
    /// Its contents as text.
    pub fn text(&self) -> Result<&str, FileError> {
        std::str::from_utf8(&self.bytes).map_err(|_| FileError::NotText)
    }
}

/// The reason why a file can't be read. `Display` writes the reason without the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such file.
    Missing,
    /// It is a folder or device instead of a file, or a file instead of a folder.
    OtherKind(&'static str),
    /// It is larger than this many bytes.
    TooLarge(usize),
    /// There are more files than the limit.
    TooMany,
    /// It is outside the folder that the reader is restricted to, directly or through a link.
    Outside(PathBuf),
    /// A file in a walked folder, given by its path there, is a link that leaves the folder.
    Leaves(String),
    /// It isn't UTF-8.
    NotText,
    /// An error of the system.
    Other(String),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no such file"),
            Self::OtherKind(what) => write!(f, "not a {what}"),
            Self::TooLarge(most) if most % (1 << 20) == 0 => {
                write!(f, "larger than {} MiB", most >> 20)
            }
            Self::TooLarge(most) => write!(f, "larger than {} KiB", most.div_ceil(1024)),
            Self::TooMany => {
                write!(
                    f,
                    "there are more than {MOST_FILES} files or {} MiB, or folders over {DEEPEST} deep",
                    MOST_BYTES >> 20
                )
            }
            Self::Outside(root) => write!(f, "not inside {}", root.display()),
            Self::Leaves(path) => write!(f, "{path} is a symbolic link to a place outside"),
            Self::NotText => f.write_str("not UTF-8"),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for FileError {}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            io::ErrorKind::IsADirectory => Self::OtherKind("file"),
            io::ErrorKind::PermissionDenied => Self::Other("permission denied".to_owned()),
            _ => Self::Other(error.to_string()),
        }
    }
}

/// Reads files, each once. Clones share the files that were read.
#[derive(Clone, Debug)]
pub struct Files {
    shared: Arc<Mutex<SharedFiles>>,
    bounds: Option<Arc<Bounds>>,
}

/// The state that all readers of a setup share.
#[derive(Debug)]
struct SharedFiles {
    /// The contents of files, by real path.
    read: BTreeMap<PathBuf, Arc<[u8]>>,
    /// The paths that were requested, whether they exist or not: absolute, with links unresolved.
    requested: BTreeSet<PathBuf>,
    /// How many more bytes may be kept.
    room: usize,
}

impl Default for Files {
    fn default() -> Self {
        Self::with_room(MOST_BYTES)
    }
}

/// The folder that a reader is restricted to.
#[derive(Debug)]
struct Bounds {
    /// Its path as given.
    given: PathBuf,
    /// Its real path.
    root: PathBuf,
    /// The files that were read through this reader.
    reached: Mutex<BTreeSet<PathBuf>>,
}

impl Files {
    /// A reader that keeps at most so many bytes.
    fn with_room(room: usize) -> Self {
        let shared = SharedFiles { read: BTreeMap::new(), requested: BTreeSet::new(), room };
        Self { shared: Arc::new(Mutex::new(shared)), bounds: None }
    }

    /// Creates a reader that is restricted to the folder `root`. Relative paths are relative to `root`, and a path outside of it,
    /// directly or through a link, is [`FileError::Outside`]. The reader accepts only plain files. The files that it reads are
    /// also recorded by the reader that it was created from.
    pub fn within(&self, root: &Path) -> Result<Self, FileError> {
        let given = std::path::absolute(root)?;
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(FileError::OtherKind("folder"));
        }
        let bounds = Bounds { given, root, reached: Mutex::default() };
        Ok(Self { shared: Arc::clone(&self.shared), bounds: Some(Arc::new(bounds)) })
    }

    /// The real path of the folder that this reader is restricted to, if any.
    pub fn root(&self) -> Option<&Path> {
        self.bounds.as_ref().map(|bounds| &*bounds.root)
    }

    /// Reads a file of at most `most` bytes. Returns its contents at the time of the first read.
    pub fn read(&self, path: &Path, most: usize) -> Result<ReadFile, FileError> {
        self.note(path);
        let path = self.locate(path)?;
        let mut shared = lock(&self.shared);
        let bytes = if let Some(bytes) = shared.read.get(&path) {
            Arc::clone(bytes)
        } else {
            if shared.room < most {
                return Err(FileError::TooMany);
            }
            let bytes: Arc<[u8]> = load(&path, most, self.bounds.is_some())?.into();
            shared.room -= bytes.len();
            shared.read.insert(path.clone(), Arc::clone(&bytes));
            bytes
        };
        if bytes.len() > most {
            return Err(FileError::TooLarge(most));
        }
        if let Some(bounds) = &self.bounds {
            lock(&bounds.reached).insert(path.clone());
        }
        Ok(ReadFile { path, bytes })
    }

    /// The files below a folder for which `wanted` returns true, as sorted paths relative to the folder, with `/` between the
    /// parts. `wanted` receives such paths; those of folders end in `/`. `.git` is always skipped. A link to a file counts as
    /// that file if it stays inside the folder; any other link is an error. No file is read.
    pub fn walk(&self, folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, FileError> {
        self.walk_within(WalkLimits::default(), folder, wanted)
    }

    /// The same with other limits.
    fn walk_within(
        &self,
        limits: WalkLimits,
        folder: &Path,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, FileError> {
        let root = self.locate(folder)?;
        let (mut found, mut seen) = (Vec::new(), 0);
        let mut open = vec![(root.clone(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = open.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                seen += 1;
                if seen > limits.seen {
                    return Err(FileError::TooMany);
                }
                let name = entry.file_name();
                let Some(name) = name.to_str() else {
                    if wanted(&format!("{prefix}{}", name.to_string_lossy())) {
                        return Err(FileError::NotText);
                    }
                    continue;
                };
                let path = format!("{prefix}{name}");
                if entry.file_type()?.is_dir() {
                    let path = format!("{path}/");
                    if name != ".git" && wanted(&path) {
                        if depth == limits.depth {
                            return Err(FileError::TooMany);
                        }
                        open.push((entry.path(), path, depth + 1));
                    }
                } else if wanted(&path) {
                    let real = entry.path().canonicalize()?;
                    if !real.starts_with(&root) {
                        return Err(FileError::Leaves(path));
                    }
                    if !real.is_file() {
                        return Err(FileError::OtherKind("file"));
                    }
                    if found.len() == limits.files {
                        return Err(FileError::TooMany);
                    }
                    found.push(path);
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Whether there is a plain file with this path. A missing one is recorded, too, since it may appear later.
    pub fn has(&self, path: &Path) -> bool {
        self.note(path);
        path.is_file()
    }

    /// The files read so far, by real path. For a reader from [`Files::within`], only those read through it.
    pub fn reached(&self) -> Vec<ReadFile> {
        let shared = lock(&self.shared);
        let source =
            |(path, bytes): (&PathBuf, &Arc<[u8]>)| ReadFile { path: path.clone(), bytes: Arc::clone(bytes) };
        match &self.bounds {
            None => shared.read.iter().map(source).collect(),
            Some(bounds) => {
                let reached = lock(&bounds.reached);
                reached.iter().filter_map(|path| shared.read.get_key_value(path).map(source)).collect()
            }
        }
    }

    /// The paths requested so far, absolute and with links unresolved: a missing file may appear, and a link may change.
    pub fn requested(&self) -> Vec<PathBuf> {
        lock(&self.shared).requested.iter().cloned().collect()
    }

    /// The real path of the file that `path` refers to.
    fn locate(&self, path: &Path) -> Result<PathBuf, FileError> {
        let Some(bounds) = &self.bounds else {
            return match path.canonicalize() {
                // A path from a shell's `<(…)` can be opened, but has no real path.
                Err(error) if error.kind() == io::ErrorKind::NotFound && path.exists() => Ok(path.to_owned()),
                real => Ok(real?),
            };
        };
        // A path that leaves the folder by `..` is rejected without accessing it.
        let path = plain(&bounds.given.join(path));
        if !path.starts_with(&bounds.given) && !path.starts_with(&bounds.root) {
            return Err(FileError::Outside(bounds.root.clone()));
        }
        let real = path.canonicalize()?;
        if real.starts_with(&bounds.root) { Ok(real) } else { Err(FileError::Outside(bounds.root.clone())) }
    }

    fn note(&self, path: &Path) {
        let path = self.bounds.as_ref().map_or_else(|| path.to_owned(), |bounds| bounds.given.join(path));
        let mut shared = lock(&self.shared);
        if shared.requested.len() < MOST_FILES {
            shared.requested.insert(std::path::absolute(&path).unwrap_or(path));
        }
    }
}

/// Reads a file of at most `most` bytes. With `is_strict`, only a plain file is opened.
fn load(path: &Path, most: usize, is_strict: bool) -> Result<Vec<u8>, FileError> {
    let mut options = OpenOptions::new();
    options.read(true);
    if is_strict {
        if !fs::symlink_metadata(path)?.is_file() {
            return Err(FileError::OtherKind("file"));
        }
        stay(&mut options);
    }
    let file = options.open(path)?;
    if is_strict && !file.metadata()?.is_file() {
        return Err(FileError::OtherKind("file"));
    }
    take(file, most)
}

/// Reads a plain file of at most `most` bytes without recording it.
pub(crate) fn read_plain(path: &Path, most: usize) -> Result<Vec<u8>, FileError> {
    // Reading a pipe would wait for its end, and a device has none.
    if !fs::metadata(path)?.is_file() {
        return Err(FileError::OtherKind("file"));
    }
    take(File::open(path)?, most)
}

/// Reads a plain text file of at most `most` bytes without recording it.
pub(crate) fn read_plain_text(path: &Path, most: usize) -> Result<String, FileError> {
    String::from_utf8(read_plain(path, most)?).map_err(|_| FileError::NotText)
}

fn take(file: File, most: usize) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most { Err(FileError::TooLarge(most)) } else { Ok(bytes) }
}

/// Doesn't follow links and doesn't block on pipes: the plain file may have been replaced by one since it was checked.
#[cfg(unix)]
pub(crate) fn stay(options: &mut OpenOptions) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;

    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
}

#[cfg(not(unix))]
pub(crate) fn stay(_: &mut OpenOptions) {}

/// Resolves `.` and `..` in `path` lexically.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Locks data that is consistent at any time, even if a thread panicked while holding the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a project and a file beside it, removed on drop.
    struct Disk(PathBuf);

    impl Disk {
        fn new(name: &str) -> Self {
            let path = tempfile::TempDir::with_prefix(format!("streamfmt-files-{name}-")).unwrap().keep();
            fs::create_dir_all(path.join("project/sub")).unwrap();
            fs::write(path.join("secret"), "secret").unwrap();
            fs::write(path.join("project/a.toml"), "a").unwrap();
            fs::write(path.join("project/sub/b.toml"), "bb").unwrap();
            Self(path)
        }
    }

    impl Drop for Disk {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn all_files_together_are_bounded_and_what_was_read_stays() {
        let disk = Disk::new("room");
        let files = Files::with_room(3);
        let within = files.within(&disk.0.join("project")).unwrap();
        let [a, b] = ["a.toml", "sub/b.toml"].map(Path::new);
        // A file may be as large as the caller allows, so there must be room for that much.
        assert_eq!(files.read(&disk.0.join("project/a.toml"), 4), Err(FileError::TooMany));
        assert_eq!(within.read(b, 3).unwrap().text(), Ok("bb"));
        assert_eq!(within.read(a, 2), Err(FileError::TooMany));
        assert_eq!(within.read(b, 3).unwrap().text(), Ok("bb"), "what was read takes no more room");
        assert_eq!(within.read(a, 1).unwrap().text(), Ok("a"));
        assert_eq!(files.read(&disk.0.join("secret"), 1), Err(FileError::TooMany));
        assert_eq!(files.reached().len(), 2);
    }

    #[test]
    fn a_walk_has_limits_and_fails_at_them() {
        let disk = Disk::new("walk");
        let files = Files::default();
        // Two files and a folder.
        for (files_at_most, seen, depth, is_all) in
            [(2, 3, 1, true), (1, 3, 1, false), (2, 2, 1, false), (2, 3, 0, false)]
        {
            let limits = WalkLimits { files: files_at_most, seen, depth };
            let found = files.walk_within(limits, &disk.0.join("project"), |_| true);
            let all = ["a.toml", "sub/b.toml"].map(str::to_owned).to_vec();
            assert_eq!(
                found,
                if is_all { Ok(all) } else { Err(FileError::TooMany) },
                "{files_at_most} {seen} {depth}"
            );
        }
    }

    #[test]
    fn so_many_paths_are_remembered_for_a_watcher() {
        let files = Files::default();
        for number in 0..MOST_FILES + 9 {
            assert!(!files.has(Path::new(&format!("/nowhere/{number}"))));
        }
        assert_eq!(files.requested().len(), MOST_FILES);
    }

    #[test]
    fn a_file_is_read_once_and_recorded() {
        let disk = Disk::new("once");
        let (files, path) = (Files::default(), disk.0.join("project/a.toml"));
        assert_eq!(files.read(&path, 9).unwrap().text(), Ok("a"));
        fs::write(&path, "changed").unwrap();
        let again = files.clone().read(&disk.0.join("project/sub/../a.toml"), 9).unwrap();
        assert_eq!((&*again.bytes, files.reached()), (b"a".as_slice(), vec![again.clone()]));
        assert_eq!(files.read(&disk.0.join("no"), 9), Err(FileError::Missing));
        let requested = ["no", "project/a.toml", "project/sub/../a.toml"].map(|name| disk.0.join(name));
        assert_eq!(files.requested(), requested);
    }

    #[test]
    fn a_large_file_is_refused_each_time() {
        let disk = Disk::new("large");
        let (files, path) = (Files::default(), disk.0.join("secret"));
        assert_eq!(files.read(&path, 5), Err(FileError::TooLarge(5)));
        assert!(files.read(&path, 6).is_ok());
        assert_eq!(files.read(&path, 5), Err(FileError::TooLarge(5)));
        assert_eq!(files.read(&disk.0, 5), Err(FileError::OtherKind("file")));
    }

    #[test]
    fn a_reader_of_a_project_stays_in_it() {
        let disk = Disk::new("within");
        let all = Files::default();
        let files = all.within(&disk.0.join("project")).unwrap();
        assert_eq!(files.read("sub/b.toml".as_ref(), 9).unwrap().text(), Ok("bb"));
        assert_eq!(files.read("sub/../a.toml".as_ref(), 9).unwrap().text(), Ok("a"));
        all.read(&disk.0.join("secret"), 9).unwrap();
        assert_eq!((files.reached().len(), all.reached().len()), (2, 3));
        for path in ["../secret", "sub/../../secret", "/etc/hostname", "../project2/x"] {
            let error = files.read(path.as_ref(), 9).unwrap_err();
            assert!(matches!(error, FileError::Outside(_)), "{path}: {error}");
        }
        assert_eq!(files.read("no".as_ref(), 9), Err(FileError::Missing));
        assert!(matches!(files.read("sub".as_ref(), 9), Err(FileError::OtherKind(_))));
    }

    /// A shell passes `<(…)` as such a path.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_that_is_open_is_read_where_nothing_is_refused() {
        use std::io::Write;
        use std::os::fd::AsRawFd;

        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"text").unwrap();
        drop(writer);
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let read = Files::default().read(path.as_ref(), 9).unwrap();
        assert_eq!((read.path.as_path(), &*read.bytes), (Path::new(&path), &b"text"[..]));
    }

    #[cfg(unix)]
    #[test]
    fn links_that_leave_and_pipes_are_refused() {
        use std::os::unix::fs::symlink;

        let disk = Disk::new("links");
        let project = disk.0.join("project");
        symlink(disk.0.join("secret"), project.join("out")).unwrap();
        symlink("..", project.join("sub/up")).unwrap();
        symlink("a.toml", project.join("in")).unwrap();
        let files = Files::default().within(&project).unwrap();
        assert!(matches!(files.read("out".as_ref(), 9), Err(FileError::Outside(_))));
        assert!(matches!(files.read("sub/up/../secret".as_ref(), 9), Err(FileError::Missing)));
        assert_eq!(
            files.read("in".as_ref(), 9).unwrap().path,
            project.canonicalize().unwrap().join("a.toml")
        );
        assert!(matches!(
            files.walk("".as_ref(), |_| true),
            Err(FileError::Leaves(_) | FileError::OtherKind(_))
        ));
        fs::remove_file(project.join("out")).unwrap();
        fs::remove_file(project.join("sub/up")).unwrap();
        assert_eq!(files.walk("".as_ref(), |_| true).unwrap(), ["a.toml", "in", "sub/b.toml"]);
        assert_eq!(files.walk("".as_ref(), |path| path != "sub/").unwrap(), ["a.toml", "in"]);
        let made = std::process::Command::new("mkfifo").arg(project.join("pipe")).status();
        if made.is_ok_and(|status| status.success()) {
            assert!(matches!(files.read("pipe".as_ref(), 9), Err(FileError::OtherKind(_))));
            assert!(matches!(files.walk("".as_ref(), |_| true), Err(FileError::OtherKind(_))));
        }
    }
}
