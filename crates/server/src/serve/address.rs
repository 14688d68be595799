//! The server's port, token and host name, kept for the next start.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// Bytes of a token.
const TOKEN: usize = 16;
/// Characters of the host name's random part.
const LABEL: usize = 8;
/// Characters of the key of one log.
const KEY: usize = 32;
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The parts that keep open tabs and printed addresses valid.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptAddress {
    v: u32,
    /// The random part of the host name. Cookies ignore ports, so each server needs a separate name.
    pub(super) label: String,
    /// Grants access to everything.
    pub(super) token: String,
    /// The last port.
    pub(super) port: u16,
}

impl KeptAddress {
    fn new() -> io::Result<Self> {
        let mut random = [0; LABEL];
        fill(&mut random)?;
        let label = random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
        Ok(Self { v: 1, label, token: new_token()?, port: 0 })
    }

    fn is_sound(&self) -> bool {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        self.v == 1
            && self.label.len() == LABEL
            && self.label.bytes().all(is_letter)
            && BASE64URL_NOPAD.decode(self.token.as_bytes()).is_ok_and(|token| token.len() == TOKEN)
    }

    /// The name of the host, without its port.
    pub(super) fn host(&self) -> String {
        format!("s-{}.localhost", self.label)
    }

    /// The address with the token, under `base`.
    pub(super) fn url(&self, base: &str) -> String {
        self.url_with(base, &self.token)
    }

    /// The address with another token.
    pub(super) fn url_with(&self, base: &str, token: &str) -> String {
        format!("http://{}:{}{base}/?token={token}", self.host(), self.port)
    }

    /// Whether this is the token, compared in constant time.
    pub(super) fn is_token(&self, given: &str) -> bool {
        is_same(&self.token, given)
    }

    /// The key to the `log.sse` of one session.
    pub(super) fn log_key(&self, id: &str) -> String {
        // HMAC takes keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.token.as_bytes()) else { return String::new() };
        mac.update(id.as_bytes());
        let mut key = data_encoding::HEXLOWER.encode(&mac.finalize().into_bytes());
        key.truncate(KEY);
        key
    }

    /// Whether this is the key of that session's log.
    pub(super) fn is_log_key(&self, id: &str, given: &str) -> bool {
        given.len() == KEY && is_same(&self.log_key(id), given)
    }
}

pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

pub(super) fn new_token() -> io::Result<String> {
    let mut token = [0; TOKEN];
    fill(&mut token)?;
    Ok(BASE64URL_NOPAD.encode(&token))
}

fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

/// The file that keeps them, locked against other servers.
#[derive(Debug)]
pub(super) struct AddressFile {
    path: PathBuf,
    _lock: File,
}

/// Why the files can't be used.
#[derive(Debug)]
pub(super) enum NoAddress {
    /// Another server is running.
    Taken(Option<KeptAddress>),
    Failed(io::Error),
}

impl AddressFile {
    /// Opens the files in `folder`, creating what is missing. `renew`: makes a new token.
    pub(super) fn open(folder: &Path, renew: bool) -> Result<(Self, KeptAddress), NoAddress> {
        let failed = NoAddress::Failed;
        crate::session_paths::create_private(folder).map_err(failed)?;
        let path = folder.join("serve.json");
        let lock = private().open(folder.join("serve.lock")).map_err(failed)?;
        // On a file system without locks, a second server fails at the port.
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(NoAddress::Taken(read(&path)));
        }
        let mut address = match read(&path) {
            Some(address) => address,
            None => KeptAddress::new().map_err(failed)?,
        };
        if renew {
            address.token = new_token().map_err(failed)?;
        }
        Ok((Self { path, _lock: lock }, address))
    }

    /// Writes the file.
    pub(super) fn write(&self, address: &KeptAddress) -> io::Result<()> {
        let draft = self.path.with_extension("json.tmp");
        let mut text = serde_json::to_vec(address)?;
        text.push(b'\n');
        // Never writes into a file or link that is already there.
        let _ = fs::remove_file(&draft);
        let mut options = private();
        options.create_new(true);
        let written = options.open(&draft).and_then(|mut file| file.write_all(&text));
        written.and_then(|()| fs::rename(&draft, &self.path)).inspect_err(|_| drop(fs::remove_file(&draft)))
    }
}

fn read(path: &Path) -> Option<KeptAddress> {
    let address: KeptAddress = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    address.is_sound().then_some(address)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stays_until_another_token_is_asked_for_and_belongs_to_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let (file, mut first) = AddressFile::open(folder.path(), false).unwrap();
        first.port = 4_321;
        file.write(&first).unwrap();
        let taken = AddressFile::open(folder.path(), true);
        assert!(matches!(taken, Err(NoAddress::Taken(Some(address))) if address.token == first.token));
        drop(file);
        let (file, again) = AddressFile::open(folder.path(), false).unwrap();
        assert_eq!((&again.token, &again.label, again.port), (&first.token, &first.label, 4_321));
        drop(file);
        let (_file, renewed) = AddressFile::open(folder.path(), true).unwrap();
        assert_ne!(renewed.token, first.token);
        assert_eq!(renewed.label, first.label);
        assert!(first.is_token(&first.token) && !renewed.is_token(&first.token) && !first.is_token(""));
        let key = first.log_key("20261123-224103-k3x9qa");
        assert!(first.is_log_key("20261123-224103-k3x9qa", &key) && key.len() == 32);
        assert!(!first.is_log_key("20261123-224103-k3x9qb", &key));
        assert!(!first.is_log_key("20261123-224103-k3x9qa", &key[..31]));
    }
}
