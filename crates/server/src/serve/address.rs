//! The server's port, host name and secret, kept for the next start.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// Bytes of a secret.
const SECRET: usize = 16;
/// Characters of the host name's random part.
const LABEL: usize = 8;
/// Characters of a key that is derived from the secret.
const KEY: usize = 32;
/// The most numbers of ended logins that are kept.
const ENDED: usize = 1024;
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// What outlives a restart. None of it lets anybody in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptAddress {
    v: u32,
    /// The random part of the host name. Cookies ignore ports, so each server needs a separate name.
    pub(super) label: String,
    /// The last port.
    pub(super) port: u16,
    /// The prefix of all paths, so that another process can print an address.
    #[serde(default)]
    pub(super) base: String,
    /// Neither a token nor a cookie: the keys of logs and of tabs are derived from it.
    secret: String,
    /// The number of the next login.
    next: u64,
    /// All logins with a smaller number have ended.
    oldest: u64,
    /// The numbers of further logins that have ended, in ascending order. Their tabs stay out.
    ended: Vec<u64>,
}

impl KeptAddress {
    fn new() -> io::Result<Self> {
        let mut random = [0; LABEL];
        fill(&mut random)?;
        let label = random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
        let (base, secret) = (String::new(), new_secret()?);
        Ok(Self { v: 2, label, port: 0, base, secret, next: 1, oldest: 1, ended: Vec::new() })
    }

    fn is_sound(&self) -> bool {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        self.v == 2
            && self.label.len() == LABEL
            && self.label.bytes().all(is_letter)
            && BASE64URL_NOPAD.decode(self.secret.as_bytes()).is_ok_and(|secret| secret.len() == SECRET)
    }

    /// Replaces host name and secret: the old ones may be known to whoever holds the old port.
    pub(super) fn renew(&mut self) -> io::Result<()> {
        *self = Self { port: self.port, base: std::mem::take(&mut self.base), ..Self::new()? };
        Ok(())
    }

    /// Replaces the secret only.
    fn renew_secret(&mut self) -> io::Result<()> {
        let label = std::mem::take(&mut self.label);
        self.renew()?;
        self.label = label;
        Ok(())
    }

    /// The name of the host, with its port.
    pub(super) fn host(&self) -> String {
        format!("s-{}.localhost:{}", self.label, self.port)
    }

    /// An address with this token.
    pub(super) fn url(&self, token: &str) -> String {
        format!("http://{}{}/?token={token}", self.host(), self.base)
    }

    /// Takes the number of a new login.
    pub(super) fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Notes that a login has ended.
    pub(super) fn end(&mut self, number: u64) {
        if let Err(at) = self.ended.binary_search(&number) {
            self.ended.insert(at, number);
        }
        if self.ended.len() > ENDED {
            self.oldest = self.oldest.max(self.ended.remove(0) + 1);
        }
    }

    /// Whether a login of this number was made and has not been ended, in this server or an earlier one.
    pub(super) fn is_open(&self, number: u64) -> bool {
        (self.oldest..self.next).contains(&number) && self.ended.binary_search(&number).is_err()
    }

    /// The key to the `log.sse` of one session.
    pub(super) fn log_key(&self, id: &str) -> String {
        keyed(self.secret.as_bytes(), &["log.sse", id])
    }

    /// Whether this is the key of that session's log.
    pub(super) fn is_log_key(&self, id: &str, given: &str) -> bool {
        is_same(&self.log_key(id), given)
    }

    /// The key by which the tabs of a login and the server recognize each other after a restart.
    pub(super) fn tab_key(&self, number: u64) -> String {
        keyed(self.secret.as_bytes(), &["tab", &number.to_string()])
    }
}

/// The first hex digits of the HMAC-SHA256 of these words, one a line.
pub(super) fn keyed(key: &[u8], words: &[&str]) -> String {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(words.join("\n").as_bytes());
    let mut key = data_encoding::HEXLOWER.encode(&mac.finalize().into_bytes());
    key.truncate(KEY);
    key
}

/// Compares in constant time. Nothing is the same as an empty text.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    !one.is_empty() && bool::from(one.as_bytes().ct_eq(other.as_bytes()))
}

/// Draws a secret of 128 bits.
pub(super) fn new_secret() -> io::Result<String> {
    let mut secret = [0; SECRET];
    fill(&mut secret)?;
    Ok(BASE64URL_NOPAD.encode(&secret))
}

fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

/// The file that keeps it, locked against other servers.
#[derive(Debug)]
pub(super) struct AddressFile {
    path: PathBuf,
    _lock: File,
}

/// Why the files can't be used.
#[derive(Debug)]
pub(super) enum NoAddress {
    /// Another server is running.
    Taken,
    Failed(io::Error),
}

impl AddressFile {
    /// Opens the files in `folder`, creating what is missing. `renew`: makes a new secret.
    pub(super) fn open(folder: &Path, renew: bool) -> Result<(Self, KeptAddress), NoAddress> {
        let failed = NoAddress::Failed;
        crate::own_folder::create_private(folder).map_err(failed)?;
        let path = folder.join("serve.json");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options.open(folder.join("serve.lock")).map_err(failed)?;
        // On a file system without locks, a second server fails at the port.
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(NoAddress::Taken);
        }
        let mut address = match read(&path) {
            Some(address) => address,
            None => KeptAddress::new().map_err(failed)?,
        };
        if renew {
            address.renew_secret().map_err(failed)?;
        }
        Ok((Self { path, _lock: lock }, address))
    }

    /// Writes the file.
    pub(super) fn write(&self, address: &KeptAddress) -> io::Result<()> {
        replace_private(&self.path, &serde_json::to_vec(address)?)
    }
}

/// Replaces a file as a whole; only its owner can read it.
pub(super) fn replace_private(path: &Path, text: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("tmp");
    // Never writes into a file or link that is already there.
    let _ = fs::remove_file(&draft);
    let written = create_private_file(&draft).and_then(|mut file| {
        file.write_all(text)?;
        file.write_all(b"\n")
    });
    written.and_then(|()| fs::rename(&draft, path)).inspect_err(|_| drop(fs::remove_file(&draft)))
}

/// Creates a file that only its owner can read. It must not exist.
pub(super) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn read(path: &Path) -> Option<KeptAddress> {
    let address: KeptAddress = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    address.is_sound().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_name_and_keys_stay_until_another_secret_is_requested() {
        let folder = tempfile::tempdir().unwrap();
        let (file, mut first) = AddressFile::open(folder.path(), false).unwrap();
        first.port = 4_321;
        file.write(&first).unwrap();
        assert!(matches!(AddressFile::open(folder.path(), true), Err(NoAddress::Taken)));
        drop(file);
        let (file, again) = AddressFile::open(folder.path(), false).unwrap();
        assert_eq!((&again.secret, again.host()), (&first.secret, first.host()));
        drop(file);
        let (_file, renewed) = AddressFile::open(folder.path(), true).unwrap();
        assert_ne!(renewed.secret, first.secret);
        assert_eq!(renewed.host(), first.host());
        let key = first.log_key("20261123-224103-k3x9qa");
        assert!(first.is_log_key("20261123-224103-k3x9qa", &key) && key.len() == 32);
        assert!(!first.is_log_key("20261123-224103-k3x9qb", &key));
        assert!(!first.is_log_key("20261123-224103-k3x9qa", &key[..31]));
        assert!(!renewed.is_log_key("20261123-224103-k3x9qa", &key));
        // Keys of different kinds differ, even for the same words.
        assert_ne!(first.tab_key(1), first.log_key("1"));
        let lost = (again.host(), again.log_key("x"));
        let mut moved = again;
        moved.renew().unwrap();
        assert!(moved.host() != lost.0 && moved.log_key("x") != lost.1);
    }

    #[test]
    fn tabs_of_ended_logins_stay_out_even_when_their_numbers_are_forgotten() {
        let mut address = KeptAddress::new().unwrap();
        let numbers: Vec<u64> = (0..3_000).map(|_| address.take_number()).collect();
        assert!(numbers.iter().all(|number| address.is_open(*number)) && !address.is_open(0));
        assert!(!address.is_open(3_001), "never given");
        for number in numbers.iter().rev().take(2_000) {
            address.end(*number);
        }
        address.end(5);
        assert_eq!(address.ended.len(), ENDED);
        assert!(
            !address.is_open(5) && numbers.iter().rev().take(2_000).all(|number| !address.is_open(*number))
        );
    }
}
