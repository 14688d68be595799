//! Pictures of pages, saved as files.
//!
//! A file is named by the hash of its bytes, `3b0f….png`. So a picture is one file however often it is shown, no text of the stream is
//! part of a path, and a file's name determines its content.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use data_encoding::{BASE64_MIME_PERMISSIVE, HEXLOWER};
use sha2::{Digest, Sha256};
use streamfmt::writer::page::KeepPicture;

use crate::args::Args;
use crate::file_place::followed;
use crate::message::{reason, unwritten};
use crate::output::Replacement;

/// The folder for pictures.
pub(crate) struct Assets {
    folder: PathBuf,
    /// The path of the pages, unless they go to standard output.
    output: Option<PathBuf>,
    /// The relative path from a page to the folder, once it was created.
    way: OnceLock<Option<String>>,
    failures: Mutex<Failures>,
}

/// The failure to save pictures, reported once: a full disk is full for all of them.
#[derive(Default)]
struct Failures {
    first: Option<String>,
    more: u64,
}

impl Assets {
    /// The folder that the arguments name, if any.
    pub(crate) fn wanted(args: &Args) -> Option<Arc<Self>> {
        let folder = args.assets.clone()?;
        let output = args.output.clone().filter(|path| path != Path::new("-"));
        Some(Arc::new(Self { folder, output, way: OnceLock::new(), failures: Mutex::default() }))
    }

    /// The function that page writers pass pictures to.
    pub(crate) fn keeper(self: &Arc<Self>) -> KeepPicture {
        let assets = Arc::clone(self);
        KeepPicture::new(move |ending, base64| assets.keep(ending, base64))
    }

    /// The failure since the last call, as a message.
    pub(crate) fn failure(&self) -> Option<String> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let Failures { first, more } = std::mem::take(&mut *failures);
        first.map(|first| match more {
            0 => first,
            more => format!("{first} (and {more} more images)"),
        })
    }

    fn fail(&self, message: String) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.first.is_some() {
            failures.more += 1;
        } else {
            failures.first = Some(message);
        }
    }

    /// Saves a picture and returns its address.
    fn keep(&self, ending: &str, base64: &str) -> Option<String> {
        let way = self.way.get_or_init(|| self.make().map_err(|message| self.fail(message)).ok()).as_ref()?;
        // Bits after the last byte are ignored, as browsers do.
        let bytes = BASE64_MIME_PERMISSIVE.decode(base64.as_bytes()).ok()?;
        let digest = Sha256::digest(&bytes);
        let name = format!("{}.{ending}", HEXLOWER.encode(&digest[..16]));
        match put(&self.folder.join(&name), &bytes) {
            Ok(()) => Some(format!("{way}{name}")),
            Err(message) => {
                self.fail(message);
                None
            }
        }
    }

    /// Creates the folder and returns the relative path to it from the pages.
    fn make(&self) -> Result<String, String> {
        let shown = self.folder.display();
        let fail = |error: std::io::Error| format!("can't write images to {shown}: {}", reason(&error));
        followed(&self.folder).and_then(fs::create_dir_all).map_err(fail)?;
        let pages = match &self.output {
            None => Path::new("."),
            Some(folder) if folder.is_dir() => folder,
            Some(page) => page.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new(".")),
        };
        let (pages, folder) =
            (pages.canonicalize().map_err(fail)?, self.folder.canonicalize().map_err(fail)?);
        way(&pages, &folder)
            .ok_or_else(|| format!("can't write images to {shown}: no relative path from the page"))
    }
}

/// Writes these bytes to a file, unless it holds them already.
fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let is_file = |meta: fs::Metadata| meta.is_file() && meta.len() == bytes.len() as u64;
    if fs::symlink_metadata(path).is_ok_and(is_file) && fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let fail = |error: std::io::Error| unwritten(path, &error);
    let mut file = Replacement::draft(path.to_owned()).map_err(fail)?;
    file.file.write_all(bytes).map_err(fail)?;
    file.put_in_place()
}

/// The relative path from one folder to another, as the beginning of a link. `None`: they have nothing in common.
fn way(from: &Path, to: &Path) -> Option<String> {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let mut way = "../".repeat(from.components().count() - common);
    for part in to.components().skip(common) {
        let Component::Normal(name) = part else { return None };
        for byte in name.as_encoded_bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
                way.push(char::from(*byte));
            } else {
                // Writing into a string doesn't fail.
                let _ = write!(way, "%{byte:02X}");
            }
        }
        way.push('/');
    }
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_leads_up_and_down_and_means_nothing_else() {
        for (from, to, expected) in [
            ("/a/b", "/a/b/c", "c/"),
            ("/a/b", "/a/b", ""),
            ("/a/b", "/a/c/d", "../c/d/"),
            ("/", "/x", "x/"),
            ("/a", "/a/my pictures)>", "my%20pictures%29%3E/"),
            ("/a", "/a/javascript:", "javascript%3A/"),
        ] {
            assert_eq!(way(Path::new(from), Path::new(to)).as_deref(), Some(expected), "{from} to {to}");
        }
    }
}
