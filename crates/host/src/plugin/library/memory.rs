//! Puts the bytes of a library where they can be loaded from and nobody can change them.

use std::path::{Path, PathBuf};

/// Where the bytes are.
pub(super) struct LibraryPlace {
    path: PathBuf,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    file: std::os::fd::OwnedFd,
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    folder: tempfile::TempDir,
}

impl LibraryPlace {
    /// The path to load from.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the place as long as the process: another library under the same path would be taken for this one.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn keep(self) {
        std::mem::forget(self.file);
    }

    /// Removes the copy, which isn't needed once it is loaded.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn keep(self) {
        drop(self.folder);
    }
}

/// A file in memory that is sealed: nobody can write to it any more, through whatever path.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn place(bytes: &[u8]) -> Result<LibraryPlace, String> {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    let complain = |error: std::io::Error| format!("there is no memory for it ({error})");
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 don't know the flag, and allow without it.
    let file = memfd_create("streamfmt-plugin", flags | MemfdFlags::EXEC)
        .or_else(|_| memfd_create("streamfmt-plugin", flags))
        .map_err(|error| complain(error.into()))?;
    let mut file = std::fs::File::from(file);
    file.write_all(bytes).map_err(complain)?;
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&file, seals).map_err(|error| complain(error.into()))?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Ok(LibraryPlace { path, file: file.into() })
}

/// A copy in a folder of our own, which nobody else may enter.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn place(bytes: &[u8]) -> Result<LibraryPlace, String> {
    let complain = |error: std::io::Error| format!("there is no place for a copy of it ({error})");
    let folder = tempfile::Builder::new().prefix("streamfmt-plugin").tempdir().map_err(complain)?;
    let path = folder.path().join("plugin");
    std::fs::write(&path, bytes).map_err(complain)?;
    Ok(LibraryPlace { path, folder })
}
