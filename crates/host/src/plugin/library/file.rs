//! Reads the file of a library, if only the user and root can change it.
//!
//! Each folder is opened relative to the one above it, and no step follows a link, so what is checked is what is read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;
use streamfmt_core::text::clean;

/// Largest library, in bytes.
const LARGEST: usize = 64 << 20;

/// The flags for opening folders, which needn't be readable.
#[cfg(any(target_os = "linux", target_os = "android"))]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FOLDER: OFlags = OFlags::DIRECTORY;

/// Reads the library at `path`. The error is a message.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let name = path.file_name().ok_or("not a file")?;
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Links in the path of the folder are the user's: they are resolved once, and the result is checked.
    let folder = folder.canonicalize().map_err(|error| reason(&error))?;
    let folder = open_folder(&folder)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(&folder, name, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP => "it is a symbolic link: name the library itself".to_owned(),
        error => reason(&error.into()),
    })?;
    let about = about(file.as_fd())?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Err("not a file".to_owned());
    }
    check(&about, "it")?;
    let mut bytes = Vec::new();
    let read = File::from(file).take(LARGEST as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| reason(&error))?;
    if bytes.len() > LARGEST {
        return Err(format!("larger than {} MiB", LARGEST >> 20));
    }
    Ok(bytes)
}

/// Opens the folder at an absolute path, checking each folder of the path.
fn open_folder(path: &Path) -> Result<OwnedFd, String> {
    let mut open: Option<OwnedFd> = None;
    let mut seen = Path::new("").to_owned();
    for part in path.components() {
        let name = match part {
            Component::RootDir => OsStr::new("/"),
            Component::Normal(name) => name,
            _ => return Err("not a plain path".to_owned()),
        };
        seen.push(name);
        let at = open.as_ref().map_or(CWD, AsFd::as_fd);
        let flags = FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = openat(at, name, flags, Mode::empty()).map_err(|error| reason(&error.into()))?;
        check(&about(next.as_fd())?, &format!("its folder {}", clean(&seen.to_string_lossy())))?;
        open = Some(next);
    }
    open.ok_or_else(|| "not a plain path".to_owned())
}

fn about(file: std::os::fd::BorrowedFd<'_>) -> Result<Stat, String> {
    fstat(file).map_err(|error| reason(&error.into()))
}

/// Checks that only the user and root can change a file or folder. In a folder with the sticky bit, no one can replace files of
/// another user.
fn check(about: &Stat, what: &str) -> Result<(), String> {
    let (owner, group, mode) = (about.st_uid, about.st_gid, Mode::from_raw_mode(about.st_mode));
    let me = geteuid().as_raw();
    if owner != me && owner != 0 {
        return Err(format!("{what} belongs to another user (uid {owner}), who could change it"));
    }
    let is_sticky =
        FileType::from_raw_mode(about.st_mode) == FileType::Directory && mode.contains(Mode::SVTX);
    // Where each user has a private group, it has the user's number.
    let is_own_group = group == owner;
    let by_group = mode.contains(Mode::WGRP) && !is_own_group;
    if (by_group || mode.contains(Mode::WOTH)) && !is_sticky {
        return Err(format!("other users may write to {what} (chmod go-w)"));
    }
    Ok(())
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_files_that_no_one_else_can_change_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let library = inner.join("lib.so");
        fs::write(&library, "bytes").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        mode(&inner, 0o755);
        mode(&library, 0o755);
        assert_eq!(read(&library).unwrap(), b"bytes");

        mode(&library, 0o757);
        assert_eq!(read(&library).unwrap_err(), "other users may write to it (chmod go-w)");
        mode(&library, 0o755);
        mode(&inner, 0o777);
        assert!(read(&library).unwrap_err().starts_with("other users may write to its folder /"));
        mode(&inner, 0o1777);
        assert!(read(&library).is_ok(), "nobody replaces a file of another in a sticky folder");
        mode(&inner, 0o755);

        symlink(&library, inner.join("link.so")).unwrap();
        assert!(read(&inner.join("link.so")).unwrap_err().contains("symbolic link"));
        assert_eq!(read(&inner.join("none.so")).unwrap_err(), "no such file or folder");
        assert_eq!(read(&inner).unwrap_err(), "not a file");
    }

    #[test]
    fn a_library_over_the_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("lib.so");
        fs::File::create(&library).unwrap().set_len(LARGEST as u64 + 1).unwrap();
        fs::set_permissions(&library, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(read(&library).unwrap_err(), "larger than 64 MiB");
    }
}
