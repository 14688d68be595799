//! Writes side files, so that no reader ever finds half of one, and that even a full disk takes the last content.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;

#[cfg(unix)]
use rustix::fs::{FallocateFlags, fallocate};

use crate::sync::sync_name;

/// The room that is reserved beyond the current content, in bytes. The end of a run adds some 200 bytes, each gap of its log up to 50, and
/// the beginning of standard input and the agent's session id may have to be added by then.
#[cfg(unix)]
const ROOM: u64 = 8 * 1024;

/// Room is reserved in blocks of this size.
#[cfg(unix)]
const BLOCK: u64 = 4 * 1024;

/// A file beside a side file that replaces it at the end of the run. It takes its room on the disk at the start, as blocks of its own, so that
/// the end can be written though the disk is full.
///
/// Nobody reads it before it has the name of the side file, and then it isn't written any more.
#[cfg(unix)]
pub(crate) struct ReservedDraft {
    path: PathBuf,
    file: File,
    /// The bytes that are reserved.
    room: u64,
}

#[cfg(unix)]
impl ReservedDraft {
    /// Creates it, with room for content of this length and what may be added to that.
    pub(crate) fn reserve(path: PathBuf, length: usize) -> io::Result<Self> {
        let file = create(&path)?;
        let mut draft = Self { path, file, room: 0 };
        draft.make_room(length).inspect_err(|_| draft.remove())?;
        Ok(draft)
    }

    /// Reserves room for content of this length and what may be added to that.
    pub(crate) fn make_room(&mut self, length: usize) -> io::Result<()> {
        let room = (length as u64 + ROOM).next_multiple_of(BLOCK);
        if room <= self.room {
            return Ok(());
        }
        if fallocate(&self.file, FallocateFlags::empty(), 0, room).is_err() {
            // Not every file system can reserve blocks. Written bytes have some.
            let blank = vec![b'\n'; usize::try_from(room - self.room).unwrap_or_default()];
            self.file.write_all_at(&blank, self.room)?;
        }
        self.room = room;
        Ok(())
    }

    /// Writes the content, and replaces the side file. `is_synced`: whether both are flushed to disk.
    pub(crate) fn put_in_place(&self, text: &[u8], side_file: &Path, is_synced: bool) -> io::Result<()> {
        self.file.write_all_at(text, 0)?;
        self.file.set_len(text.len() as u64)?;
        replace(&self.file, &self.path, side_file, is_synced)
    }

    pub(crate) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Replaces a side file as a whole. `is_synced`: whether it is flushed to disk.
pub(crate) fn write(text: &[u8], side_file: &Path, draft: &Path, is_synced: bool) -> io::Result<()> {
    let written = create(draft).and_then(|mut file| {
        file.write_all(text)?;
        replace(&file, draft, side_file, is_synced)
    });
    written.inspect_err(|_| drop(fs::remove_file(draft)))
}

/// Gives a draft the name of the side file. Its content is flushed before that: after a power failure, the name must not lead to an empty
/// file.
fn replace(file: &File, draft: &Path, side_file: &Path, is_synced: bool) -> io::Result<()> {
    if is_synced {
        file.sync_all()?;
    }
    fs::rename(draft, side_file)?;
    if is_synced {
        sync_name(side_file);
    }
    Ok(())
}

/// Creates a file that is readable by its owner only. Nothing is written through a symbolic link.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_last_content_has_its_room_from_the_start() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-draft-").unwrap();
        let (path, side_file) = (folder.path().join("run.json.end"), folder.path().join("run.json"));
        fs::write(&side_file, "first\n").unwrap();
        let mut draft = ReservedDraft::reserve(path.clone(), 6).unwrap();
        let about = fs::metadata(&path).unwrap();
        assert_eq!((about.mode() & 0o777, about.blocks() * 512), (0o600, ROOM + BLOCK));
        draft.make_room(9_000).unwrap();
        assert!(fs::metadata(&path).unwrap().blocks() * 512 >= 9_000 + ROOM);
        draft.put_in_place(b"last\n", &side_file, true).unwrap();
        assert_eq!(fs::read_to_string(&side_file).unwrap(), "last\n");
        assert_eq!((fs::metadata(&side_file).unwrap().ino(), path.exists()), (about.ino(), false));
    }

    #[test]
    fn nothing_is_written_through_a_link_and_the_next_attempt_finds_none() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-draft-").unwrap();
        let [target, draft, side_file] =
            ["target", "run.json.tmp", "run.json"].map(|name| folder.path().join(name));
        fs::write(&target, "mine").unwrap();
        let link = || std::os::unix::fs::symlink(&target, &draft).unwrap();
        link();
        assert!(ReservedDraft::reserve(draft.clone(), 6).is_err());
        assert!(write(b"text\n", &side_file, &draft, false).is_err());
        assert!(!side_file.exists() && fs::symlink_metadata(&draft).is_err());
        write(b"text\n", &side_file, &draft, false).unwrap();
        assert_eq!(fs::read_to_string(&side_file).unwrap(), "text\n");
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    }
}
