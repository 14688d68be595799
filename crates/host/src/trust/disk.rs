//! Files and folders that only their owner can access.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::files::stay;

/// Creates a folder that only its owner can access, and missing folders above it. An existing folder is left unchanged.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Atomically writes a file that only its owner can access. A link in its place is replaced, not followed.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options
        .open(&draft)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    // The name is stored durably once its folder is synced, which not every system supports.
    let _ = path.parent().map(|folder| File::open(folder).and_then(|folder| folder.sync_all()));
    written
}

/// Reads a file of at most `most` bytes that belongs to the current user and isn't writable by others. Links aren't followed.
pub fn read_private(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true);
    stay(&mut options);
    let file = options.open(path).map_err(|error| {
        if path.is_symlink() { io::Error::other("symbolic links are not followed") } else { error }
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let user = rustix::process::geteuid().as_raw();
        judge(metadata.uid(), metadata.mode(), user).map_err(io::Error::other)?;
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other("too large"));
    }
    Ok(bytes)
}

/// Judges whether only `user` can have written a file of this owner and mode.
#[cfg(unix)]
fn judge(owner: u32, mode: u32, user: u32) -> Result<(), &'static str> {
    if owner != user {
        return Err("belongs to another user");
    }
    if mode & 0o022 != 0 {
        return Err("writable by others (fix it with chmod go-w)");
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::judge;

    #[test]
    fn only_what_nobody_else_can_have_written_is_believed() {
        const FILE: u32 = 0o100_000;
        let (own, others) =
            (Some("writable by others (fix it with chmod go-w)"), Some("belongs to another user"));
        for (owner, mode, user, complaint) in [
            (1000, 0o600, 1000, None),
            (1000, 0o400, 1000, None),
            (1000, 0o644, 1000, None),
            (1000, 0o755, 1000, None),
            (0, 0o600, 0, None),
            (1000, 0o620, 1000, own),
            (1000, 0o602, 1000, own),
            (1000, 0o666, 1000, own),
            (1001, 0o600, 1000, others),
            (1001, 0o666, 1000, others),
            // Root's files are no exception, in either place.
            (0, 0o600, 1000, others),
            (1000, 0o600, 0, others),
        ] {
            assert_eq!(judge(owner, FILE | mode, user).err(), complaint, "{owner} {mode:o} {user}");
        }
    }
}
