//! Folders that one user has to himself: what is in them is private, and nobody else may replace it.

#[cfg(unix)]
use std::fs;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};
use std::{error, fmt};

/// Why a folder isn't used: it belongs to another user, who could replace what is kept in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignFolder {
    /// The folder that was to be used.
    pub folder: PathBuf,
    /// The folder that belongs to the other user: this one, or one above it in which it can't be created.
    pub owned: PathBuf,
    /// The user.
    pub uid: u32,
}

impl fmt::Display for ForeignFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.owned != self.folder {
            write!(f, "{} can't be used: ", self.folder.display())?;
        }
        write!(f, "{} belongs to another user (uid {})", self.owned.display(), self.uid)
    }
}

impl error::Error for ForeignFolder {}

impl ForeignFolder {
    /// Whether a folder wasn't created for this reason.
    #[cfg(unix)]
    pub(crate) fn is_reason(error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some()
    }
}

/// A folder of ours that other users could access, and can't any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NarrowedFolder {
    /// Its path.
    pub path: PathBuf,
    /// The mode that it had.
    pub mode: u32,
}

impl NarrowedFolder {
    /// Whether others could write in it: they may have used it, too.
    pub fn was_shared(&self) -> bool {
        self.mode & 0o022 != 0
    }
}

impl fmt::Display for NarrowedFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} had mode {:o}; now it has 700, for you alone", self.path.display(), self.mode)
    }
}

/// Checks that a data folder and its folder of sessions are ours, or can become ours. They are made accessible to their owner only; returns
/// those that weren't. One that is ours and can't be written is no error, and stays as it is.
pub fn claim(data: &Path) -> Result<Vec<NarrowedFolder>, ForeignFolder> {
    let sessions = data.join("sessions");
    check_owner(data)?;
    check_owner(&sessions)?;
    check_way(data)?;
    // If this fails, so does writing there, which is reported.
    let narrowed = [data, &sessions].into_iter().filter_map(|folder| narrow(folder, false).ok().flatten());
    Ok(narrowed.collect())
}

/// Creates a folder if needed, and makes it accessible to its owner only. One of another user is refused.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    check_owner(folder).map_err(|foreign| io::Error::new(io::ErrorKind::PermissionDenied, foreign))?;
    narrow(folder, true).map(drop)
}

/// Whether a folder doesn't exist yet or is ours.
pub(crate) fn is_own(folder: &Path) -> bool {
    check_owner(folder).is_ok()
}

/// Fails if a folder exists and belongs to another user, even if we may write in it, as root may.
#[cfg(unix)]
fn check_owner(folder: &Path) -> Result<(), ForeignFolder> {
    match fs::metadata(folder) {
        Ok(about) if is_foreign(&about) => Err(foreign(folder, folder, &about)),
        _ => Ok(()),
    }
}

/// Fails if a folder can't be reached or created because the nearest folder above it that can be looked at belongs to another user.
#[cfg(unix)]
fn check_way(folder: &Path) -> Result<(), ForeignFolder> {
    use rustix::fs::{Access, access};
    use rustix::io::Errno;
    if fs::metadata(folder).is_ok() {
        return Ok(());
    }
    let found = folder.ancestors().skip(1).find_map(|above| Some((above, fs::metadata(above).ok()?)));
    match found {
        Some((above, about))
            if is_foreign(&about)
                && access(above, Access::WRITE_OK | Access::EXEC_OK) == Err(Errno::ACCESS) =>
        {
            Err(foreign(folder, above, &about))
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn is_foreign(about: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(about) != rustix::process::geteuid().as_raw()
}

#[cfg(unix)]
fn foreign(folder: &Path, owned: &Path, about: &fs::Metadata) -> ForeignFolder {
    let uid = std::os::unix::fs::MetadataExt::uid(about);
    ForeignFolder { folder: folder.to_owned(), owned: owned.to_owned(), uid }
}

/// Makes a folder accessible to its owner only. `is_any`: even if its owner may not write in it.
#[cfg(unix)]
fn narrow(folder: &Path, is_any: bool) -> io::Result<Option<NarrowedFolder>> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(folder)?.permissions().mode() & 0o7777;
    let (others, writing) = (mode & 0o077, mode & 0o200);
    if others == 0 || !is_any && writing == 0 {
        return Ok(None);
    }
    fs::set_permissions(folder, PermissionsExt::from_mode(0o700))?;
    Ok(Some(NarrowedFolder { path: folder.to_owned(), mode }))
}

#[cfg(not(unix))]
fn check_owner(_: &Path) -> Result<(), ForeignFolder> {
    Ok(())
}

#[cfg(not(unix))]
fn check_way(_: &Path) -> Result<(), ForeignFolder> {
    Ok(())
}

#[cfg(not(unix))]
fn narrow(_: &Path, _: bool) -> io::Result<Option<NarrowedFolder>> {
    Ok(None)
}
