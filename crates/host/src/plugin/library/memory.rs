//! Copies the bytes of a library to a place from which they can be loaded and where no one can change them.

use std::path::{Path, PathBuf};

/// The place of the bytes.
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

    /// Keeps the file open as long as the process lives: another library under the same path would be mistaken for this one.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn keep(self) {
        std::mem::forget(self.file);
    }

    /// Removes the copy, which isn't needed after loading.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn keep(self) {
        drop(self.folder);
    }
}

/// Creates a sealed file in memory, which can't be written to any more.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn place(bytes: &[u8]) -> Result<LibraryPlace, String> {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    let complain = |error: std::io::Error| format!("there is no memory for it ({error})");
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 reject the flag, and don't need it.
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

/// Creates a copy in a private folder.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn place(bytes: &[u8]) -> Result<LibraryPlace, String> {
    let complain = |error: std::io::Error| format!("there is no place for a copy of it ({error})");
    let folder = tempfile::Builder::new().prefix("streamfmt-plugin").tempdir().map_err(complain)?;
    let path = folder.path().join("plugin");
    std::fs::write(&path, bytes).map_err(complain)?;
    Ok(LibraryPlace { path, folder })
}
