//! Waits until something happens in the folders of followed files.
//!
//! The system is asked to report changes. If it refuses, or hasn't reported any so far, as on a network file system, the files
//! are polled.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::FollowNote;
use super::followed_file::FileId;

/// Time between two checks if changes aren't reported.
const LOOK: Duration = Duration::from_millis(40);
/// The number of such checks in a second.
pub(super) const LOOKS_PER_SECOND: u128 = 1_000 / LOOK.as_millis();

/// Time between two checks if changes are reported, since some reports may be missed.
const CALM: Duration = Duration::from_secs(1);

/// The most folders that are watched at the same time.
const MOST_FOLDERS: usize = 256;

/// The most links on the way to a file that are followed.
const MOST_LINKS: usize = 32;

/// Becomes readable when something happens.
#[cfg(unix)]
pub type Bell<'a> = std::os::fd::BorrowedFd<'a>;
/// Nothing on this system.
#[cfg(not(unix))]
pub type Bell<'a> = std::marker::PhantomData<&'a ()>;

/// How a follower waits. A terminal program also waits for signals, a server also for its shutdown.
pub trait FollowWait {
    /// Whether nothing more should be read.
    fn is_over(&self) -> bool;

    /// Waits until the bell rings, `most` has passed, or something else happens.
    fn wait(&mut self, bell: Option<Bell<'_>>, most: Duration) -> io::Result<Woken>;
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The bell rang, or an input can be read or has ended.
    Input,
    /// Nobody reads the output anymore.
    Closed,
    /// A signal arrived.
    Signal,
    /// The time has passed.
    Timeout,
}

/// The folders that are watched.
pub(super) struct FileEvents {
    watcher: imp::Watcher,
    watched: BTreeMap<PathBuf, FileId>,
    /// The reason why some folders aren't watched, until it is reported.
    refusal: Option<String>,
    has_refused: bool,
    /// The end of the last wait.
    last: Option<Woken>,
    /// Whether the system reported the last growth.
    is_reliable: bool,
    /// Whether the folders to watch may have changed.
    is_due: bool,
}

impl FileEvents {
    /// Watches nothing yet. `each` is called on another thread at each change.
    pub(super) fn new(each: impl FnMut() + Send + 'static) -> Self {
        let (watcher, refusal) = imp::Watcher::new(Box::new(each));
        Self {
            watcher,
            watched: BTreeMap::new(),
            has_refused: refusal.is_some(),
            refusal: refusal.map(|why| format!("can't watch files for changes: {why}")),
            last: None,
            is_reliable: false,
            is_due: true,
        }
    }

    /// Whether the caller should call [`Self::watch`].
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Watches these folders, and no others; instead of a missing folder, the nearest existing one above it. Returns whether some weren't
    /// watched before, so that changes in them may have been missed. Writing to files is ignored unless they have one of these names or
    /// are sessions.
    pub(super) fn watch(
        &mut self,
        folders: impl IntoIterator<Item = PathBuf>,
        names: BTreeSet<OsString>,
    ) -> bool {
        self.watcher.set_names(names);
        let folders = folders.into_iter().filter_map(|folder| nearest(&folder));
        let folders: BTreeMap<PathBuf, FileId> = folders.take(MOST_FOLDERS).collect();
        let watcher = &mut self.watcher;
        self.watched.retain(|folder, id| {
            let stays = folders.get(folder) == Some(id);
            if !stays {
                watcher.forget(folder);
            }
            stays
        });
        let mut is_new = false;
        for (folder, id) in folders {
            if self.watched.contains_key(&folder) {
                continue;
            }
            if let Err(why) = self.watcher.watch(&folder) {
                // A folder that was removed meanwhile is looked for again.
                if folder.is_dir() && !std::mem::replace(&mut self.has_refused, true) {
                    self.refusal = Some(format!("can't watch {} for changes: {why}", folder.display()));
                }
                continue;
            }
            is_new = true;
            self.watched.insert(folder, id);
        }
        self.is_due = is_new;
        is_new
    }

    /// A message about folders that can't be watched, once.
    pub(super) fn take_refusal(&mut self) -> Option<FollowNote> {
        self.refusal.take().map(FollowNote::Unwatched)
    }

    /// Notes that a file has grown.
    pub(super) fn note_growth(&mut self) {
        match self.last.take() {
            Some(Woken::Input) => self.is_reliable = true,
            Some(Woken::Timeout) => self.is_reliable = false,
            _ => {}
        }
    }

    /// Waits until something happens, at most for `most`.
    pub(super) fn wait(&mut self, wait: &mut dyn FollowWait, most: Option<Duration>) -> io::Result<Woken> {
        let patience = if self.is_reliable && !self.has_refused { CALM } else { LOOK };
        let patience = most.map_or(patience, |most| most.min(patience));
        let event = self.wait_for_report(wait, patience)?;
        self.last = Some(event);
        Ok(event)
    }

    /// Waits until the system reports a change, at most for `most`. Where it reports none, the time passes.
    pub(super) fn wait_for_report(&mut self, wait: &mut dyn FollowWait, most: Duration) -> io::Result<Woken> {
        let event = self.watcher.wait(wait, most)?;
        self.is_due |= self.watcher.take_new_names() || event == Woken::Timeout;
        Ok(event)
    }
}

/// The folders and names through which a path may come to refer to another file, or its file may change.
pub(super) struct FileWay {
    /// The folders of the file and of all links on the way to it.
    pub(super) folders: BTreeSet<PathBuf>,
    /// The names of the file and the links in them.
    pub(super) names: BTreeSet<OsString>,
}

/// Follows the links of `path`.
pub(super) fn way_of(path: &Path) -> FileWay {
    let (mut folders, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![std::path::absolute(path).unwrap_or_else(|_| path.to_owned())];
    while let Some(path) = open.pop() {
        // A cycle of links refers to no file.
        if seen.len() == MOST_LINKS || !seen.insert(path.clone()) {
            continue;
        }
        folders.extend(path.parent().map(Path::to_owned));
        for link in path.ancestors() {
            let (Ok(target), Some(folder)) = (link.read_link(), link.parent()) else { continue };
            let rest = path.strip_prefix(link).unwrap_or(Path::new(""));
            // Joining an empty path would append a slash.
            let target = folder.join(target).components().chain(rest.components()).collect();
            open.push(target);
            folders.insert(folder.to_owned());
        }
    }
    let names = seen.iter().filter_map(|path| path.file_name()).map(OsStr::to_owned).collect();
    FileWay { folders, names }
}

/// The folder itself, or the nearest existing one above it, with its id.
fn nearest(folder: &Path) -> Option<(PathBuf, FileId)> {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    folder.ancestors().find_map(|folder| {
        let metadata = std::fs::metadata(folder).ok().filter(std::fs::Metadata::is_dir)?;
        Some((folder.to_owned(), FileId::of(&metadata)))
    })
}

#[cfg(unix)]
mod imp {
    use std::collections::BTreeSet;
    use std::ffi::OsString;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use notify::event::{Event, EventKind, ModifyKind};
    use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

    use super::{FollowWait, Woken};
    use crate::files::lock;
    use crate::histories::is_named_as_session;
    use crate::problem::reason;

    /// Receives changes from the system, and rings a bell that a wait can't miss.
    pub(super) struct Watcher {
        system: Option<RecommendedWatcher>,
        /// Receives a byte once something happened.
        bell: Option<UnixStream>,
        heard: Arc<Heard>,
    }

    /// The changes since the last wait.
    #[derive(Default)]
    struct Heard {
        /// The bell was rung.
        is_rung: AtomicBool,
        /// A name was created, removed, or given to another file.
        has_new_names: AtomicBool,
        /// Names of files whose growth matters.
        names: Mutex<BTreeSet<OsString>>,
    }

    impl Heard {
        /// Whether writing to these files matters.
        fn concerns(&self, paths: &[PathBuf]) -> bool {
            let names = lock(&self.names);
            let is_named = |path: &PathBuf| path.file_name().is_some_and(|name| names.contains(name));
            paths.is_empty() || paths.iter().any(|path| is_named_as_session(path) || is_named(path))
        }
    }

    impl Watcher {
        /// The message, if there is one, is the reason why no change will be reported.
        pub(super) fn new(mut each: Box<dyn FnMut() + Send>) -> (Self, Option<String>) {
            let heard = Arc::new(Heard::default());
            let ringing = Arc::clone(&heard);
            let made = UnixStream::pair().and_then(|(bell, ring)| {
                bell.set_nonblocking(true)?;
                ring.set_nonblocking(true)?;
                Ok((bell, ring))
            });
            let made = made.map_err(|error| reason(&error)).and_then(|(bell, mut ring)| {
                let system = notify::recommended_watcher(move |event: notify::Result<Event>| {
                    let event = event.unwrap_or_else(|_| Event::new(EventKind::Any));
                    let is_written = match event.kind {
                        // Files are opened and read by this program itself.
                        EventKind::Access(_) => return,
                        EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => true,
                        _ => false,
                    };
                    if is_written && !ringing.concerns(&event.paths) {
                        return;
                    }
                    each();
                    if !is_written {
                        ringing.has_new_names.store(true, Ordering::SeqCst);
                    }
                    if !ringing.is_rung.swap(true, Ordering::SeqCst) {
                        // If its buffer is full, it was rung before.
                        let _ = ring.write(&[0]);
                    }
                });
                Ok((bell, system.map_err(|error| words(&error))?))
            });
            match made {
                Ok((bell, system)) => (Self { system: Some(system), bell: Some(bell), heard }, None),
                Err(why) => (Self { system: None, bell: None, heard }, Some(why)),
            }
        }

        pub(super) fn watch(&mut self, folder: &Path) -> Result<(), String> {
            let Some(system) = &mut self.system else { return Err(String::new()) };
            system.watch(folder, RecursiveMode::NonRecursive).map_err(|error| words(&error))
        }

        pub(super) fn forget(&mut self, folder: &Path) {
            // A removed folder is no longer watched.
            let _ = self.system.as_mut().map(|system| system.unwatch(folder));
        }

        pub(super) fn set_names(&self, names: BTreeSet<OsString>) {
            *lock(&self.heard.names) = names;
        }

        pub(super) fn take_new_names(&self) -> bool {
            self.heard.has_new_names.swap(false, Ordering::SeqCst)
        }

        pub(super) fn wait(
            &mut self,
            wait: &mut dyn FollowWait,
            patience: Duration,
        ) -> std::io::Result<Woken> {
            let bell = self.bell.as_ref().map(AsFd::as_fd);
            let woken = wait.wait(bell, patience)?;
            if let Some(bell) = self.bell.as_mut().filter(|_| woken == Woken::Input) {
                let _ = bell.read(&mut [0; 16]);
                // Later changes ring again, and the check comes after this.
                self.heard.is_rung.store(false, Ordering::SeqCst);
            }
            Ok(woken)
        }
    }

    /// The reason of an error, in a few words.
    fn words(error: &notify::Error) -> String {
        match &error.kind {
            ErrorKind::Io(error) => reason(error),
            ErrorKind::MaxFilesWatch => "the system limit of watched files is reached".to_owned(),
            _ => error.to_string(),
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::collections::BTreeSet;
    use std::ffi::OsString;
    use std::path::Path;
    use std::time::Duration;

    use super::{FollowWait, Woken};

    /// Changes aren't reported on this system: files are polled.
    pub(super) struct Watcher;

    impl Watcher {
        pub(super) fn new(_: Box<dyn FnMut() + Send>) -> (Self, Option<String>) {
            (Self, None)
        }

        pub(super) fn watch(&mut self, _: &Path) -> Result<(), String> {
            Ok(())
        }

        pub(super) fn forget(&mut self, _: &Path) {}

        pub(super) fn set_names(&self, _: BTreeSet<OsString>) {}

        pub(super) fn take_new_names(&self) -> bool {
            false
        }

        pub(super) fn wait(
            &mut self,
            wait: &mut dyn FollowWait,
            patience: Duration,
        ) -> std::io::Result<Woken> {
            wait.wait(None, patience)
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_the_first_folders_are_watched_and_that_is_no_failure() {
        let root = tempfile::TempDir::with_prefix("streamfmt-watched-").unwrap();
        let folders: Vec<PathBuf> =
            (0..=MOST_FOLDERS).map(|number| root.path().join(format!("{number:03}"))).collect();
        for folder in &folders {
            fs::create_dir(folder).unwrap();
        }
        let mut events = FileEvents::new(|| ());
        events.watch(folders.clone(), BTreeSet::new());
        assert!(events.watched.len() <= MOST_FOLDERS);
        assert!(!events.watched.contains_key(&folders[MOST_FOLDERS]));
        assert!(events.has_refused || events.watched.len() == MOST_FOLDERS);
    }

    #[test]
    fn so_many_links_on_the_way_to_a_file_are_followed() {
        let root = tempfile::TempDir::with_prefix("streamfmt-links-").unwrap();
        let folder = root.path().canonicalize().unwrap();
        let name = |number: usize| folder.join(format!("{number}"));
        for number in 0..MOST_LINKS + 9 {
            symlink(name(number + 1), name(number)).unwrap();
        }
        let names = way_of(&name(0)).names;
        assert_eq!(names.len(), MOST_LINKS);
        assert!(names.contains(OsStr::new("31")) && !names.contains(OsStr::new("32")));
    }
}
