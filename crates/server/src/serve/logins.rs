//! Who is logged in.
//!
//! ```text
//! token, valid once and for minutes ─▶ login, a number ─▶ cookie, the secret of one browser
//!                                                     └─▶ key of its tabs, derived from the secret of the server
//! ```
//!
//! Tokens and cookies are kept as hashes, and in memory only: whoever reads the files or holds the port later learns none of them. The
//! files keep the numbers of logins that have ended.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::address::{AddressFile, KeptAddress, is_same, keyed, new_secret, replace_private};

/// How long a printed token is valid.
pub(super) const PRINTED: Duration = Duration::from_secs(600);
/// How long the token in the file for a browser is valid.
pub(super) const OPENED: Duration = Duration::from_secs(60);
/// How long a login is kept in a file, if that was requested.
const KEPT: jiff::SignedDuration = jiff::SignedDuration::from_hours(30 * 24);
/// The most logins, tokens and challenges at a time.
const LOGINS: usize = 256;
const TOKENS: usize = 1024;
const CHALLENGES: usize = 256;
/// How long a tab may take to answer.
const CHALLENGE: Duration = Duration::from_secs(60);

/// A login, as it is listed and kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Login {
    pub(super) number: u64,
    /// The hash of its cookie.
    cookie: String,
    pub(super) since: Timestamp,
    pub(super) seen: Timestamp,
    /// The name of the browser, as it calls itself.
    pub(super) browser: String,
}

/// A token that was made, also after its use: it may come again.
#[derive(Debug)]
struct LoginToken {
    hash: String,
    until: Instant,
    /// The login that it was used for.
    used: Option<u64>,
    /// The file that contains it.
    file: Option<PathBuf>,
}

#[derive(Debug)]
struct LoginState {
    address: KeptAddress,
    file: AddressFile,
    /// In the order of their use, the latest last.
    logins: Vec<Login>,
    tokens: Vec<LoginToken>,
    challenges: Vec<(String, Instant)>,
}

/// All logins of a server, with the secret that their keys are derived from.
#[derive(Debug)]
pub(super) struct Logins {
    known: Mutex<LoginState>,
    /// The file for logins that outlive the server.
    kept: Option<PathBuf>,
}

/// What a token gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenUse {
    /// A new login with this cookie.
    New(String),
    /// The browser is logged in already, and the token is used up.
    Again,
    /// It was used before, by somebody else or somewhere else. That login has ended.
    Reused(u64),
    /// It isn't known, or has expired.
    Unknown,
}

impl Logins {
    /// `kept`: the file for logins that outlive the server.
    pub(super) fn new(address: KeptAddress, file: AddressFile, kept: Option<PathBuf>) -> Self {
        let mut logins: Vec<Login> = kept
            .as_deref()
            .and_then(|path| std::fs::read(path).ok())
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let now = Timestamp::now();
        logins.retain(|login| now.duration_since(login.since) < KEPT && address.is_open(login.number));
        logins.truncate(LOGINS);
        let known = LoginState { address, file, logins, tokens: Vec::new(), challenges: Vec::new() };
        Self { known: Mutex::new(known), kept }
    }

    fn known(&self) -> MutexGuard<'_, LoginState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host name with its port.
    pub(super) fn host(&self) -> String {
        self.known().address.host()
    }

    /// Makes an address that is valid once and for this long.
    pub(super) fn offer(&self, time: Duration) -> io::Result<String> {
        let token = new_secret()?;
        let mut known = self.known();
        if known.tokens.len() == TOKENS {
            known.tokens.remove(0);
        }
        let until = Instant::now() + time;
        known.tokens.push(LoginToken { hash: hash(&token), until, used: None, file: None });
        Ok(known.address.url(&token))
    }

    /// Writes a file that leads a browser to a new address, and that goes when the address is used or expires.
    pub(super) fn offer_in(&self, path: &Path) -> io::Result<()> {
        let address = self.offer(OPENED)?;
        let page = format!(
            "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>streamfmt</title>\n<a href=\"{address}\">streamfmt</a>"
        );
        replace_private(path, page.as_bytes())?;
        if let Some(token) = self.known().tokens.last_mut() {
            token.file = Some(path.to_owned());
        }
        Ok(())
    }

    /// Removes files whose token has expired; at the end of the server, all of them.
    pub(super) fn sweep(&self, now: Instant, is_end: bool) {
        for token in &mut self.known().tokens {
            if is_end || token.until <= now {
                token.remove_file();
            }
        }
    }

    /// Whether this token was made here, used or not.
    pub(super) fn is_token(&self, token: &str) -> bool {
        self.known().token(token).is_some()
    }

    /// Whether this token would give a login.
    pub(super) fn is_valid(&self, token: &str, now: Instant) -> bool {
        self.known().token(token).is_some_and(|token| token.used.is_none() && token.until > now)
    }

    /// Uses a token.
    pub(super) fn enter<'a>(
        &self,
        token: &str,
        cookies: impl Iterator<Item = &'a str>,
        browser: &str,
        now: Instant,
    ) -> io::Result<TokenUse> {
        let own = self.of(cookies);
        let mut known = self.known();
        let Some(found) = known.token(token) else { return Ok(TokenUse::Unknown) };
        if let Some(number) = found.used {
            if own == Some(number) {
                return Ok(TokenUse::Again);
            }
            known.end(number);
            self.keep(&known);
            return Ok(TokenUse::Reused(number));
        }
        if found.until <= now {
            return Ok(TokenUse::Unknown);
        }
        found.remove_file();
        if own.is_some() {
            found.used = own;
            return Ok(TokenUse::Again);
        }
        let number = known.address.take_number();
        if let Some(token) = known.token(token) {
            token.used = Some(number);
        }
        let cookie = known.log_in(number, browser)?;
        self.keep(&known);
        Ok(TokenUse::New(cookie))
    }

    /// The number of the login that has one of these cookies.
    pub(super) fn of<'a>(&self, mut cookies: impl Iterator<Item = &'a str>) -> Option<u64> {
        let mut known = self.known();
        let at = cookies.find_map(|cookie| {
            let hash = hash(cookie);
            known.logins.iter().position(|login| is_same(&login.cookie, &hash))
        })?;
        // The latest last, so that the first to go was unused for longest.
        let mut login = known.logins.remove(at);
        login.seen = Timestamp::now();
        let number = login.number;
        known.logins.push(login);
        Some(number)
    }

    /// All logins, by their numbers.
    pub(super) fn all(&self) -> Vec<Login> {
        let mut logins = self.known().logins.clone();
        logins.sort_by_key(|login| login.number);
        logins
    }

    /// Ends a login. Returns whether there was one.
    pub(super) fn revoke(&self, number: u64) -> bool {
        let mut known = self.known();
        let was_there =
            known.logins.iter().any(|login| login.number == number) || known.address.is_open(number);
        if was_there {
            known.end(number);
            self.keep(&known);
        }
        was_there
    }

    /// The key to the `log.sse` of one session.
    pub(super) fn log_key(&self, id: &str) -> String {
        self.known().address.log_key(id)
    }

    /// Whether this is the key of that session's log.
    pub(super) fn is_log_key(&self, id: &str, given: &str) -> bool {
        self.known().address.is_log_key(id, given)
    }

    /// The key of the tabs of a login.
    pub(super) fn tab_key(&self, number: u64) -> String {
        self.known().address.tab_key(number)
    }

    /// Proves to a tab that this is the server that it knows: the answer to its nonce, and a nonce for the tab. `None` if its login has
    /// ended. `host`: the host of this server, as the request names it.
    pub(super) fn prove(
        &self,
        number: u64,
        nonce: &str,
        host: &str,
        now: Instant,
    ) -> Option<(String, String)> {
        let mut known = self.known();
        if !known.address.is_open(number) {
            return None;
        }
        let challenge = new_secret().ok()?;
        known.challenges.retain(|(_, since)| now.saturating_duration_since(*since) < CHALLENGE);
        if known.challenges.len() == CHALLENGES {
            known.challenges.remove(0);
        }
        known.challenges.push((challenge.clone(), now));
        let proof = keyed(known.address.tab_key(number).as_bytes(), &["server", nonce, host]);
        Some((proof, challenge))
    }

    /// Logs a tab in that proves that it belongs to a login of this server or of an earlier one. Returns its new cookie.
    pub(super) fn return_in(
        &self,
        number: u64,
        challenge: &str,
        proof: &str,
        host: &str,
        browser: &str,
        now: Instant,
    ) -> Option<String> {
        let mut known = self.known();
        let at = known.challenges.iter().position(|(known, _)| is_same(known, challenge))?;
        let (_, since) = known.challenges.remove(at);
        let expected = keyed(known.address.tab_key(number).as_bytes(), &["tab", challenge, host]);
        let is_late = now.saturating_duration_since(since) >= CHALLENGE;
        if !known.address.is_open(number) || is_late || !is_same(&expected, proof) {
            return None;
        }
        known.logins.retain(|login| login.number != number);
        let cookie = known.log_in(number, browser).ok()?;
        self.keep(&known);
        Some(cookie)
    }

    /// Writes the logins that outlive the server.
    fn keep(&self, known: &LoginState) {
        let Some(path) = &self.kept else { return };
        if let Ok(text) = serde_json::to_vec(&known.logins) {
            // Without the file, browsers log in again after a restart.
            let _ = replace_private(path, &text);
        }
    }
}

impl LoginState {
    fn token(&mut self, token: &str) -> Option<&mut LoginToken> {
        let hash = hash(token);
        self.tokens.iter_mut().find(|known| is_same(&known.hash, &hash))
    }

    /// Adds a login and returns its cookie.
    fn log_in(&mut self, number: u64, browser: &str) -> io::Result<String> {
        let cookie = new_secret()?;
        if self.logins.len() == LOGINS {
            let oldest = self.logins[0].number;
            self.end(oldest);
        }
        let now = Timestamp::now();
        let browser = browser.to_owned();
        self.logins.push(Login { number, cookie: hash(&cookie), since: now, seen: now, browser });
        self.write();
        Ok(cookie)
    }

    fn end(&mut self, number: u64) {
        self.logins.retain(|login| login.number != number);
        self.address.end(number);
        self.write();
    }

    /// Writes the numbers. If that fails, tabs of logins that ended could return after a restart until their ten minutes are over.
    fn write(&self) {
        let _ = self.file.write(&self.address);
    }
}

impl LoginToken {
    fn remove_file(&mut self) {
        if let Some(file) = self.file.take() {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn hash(secret: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logins(folder: &Path, kept: bool) -> Logins {
        let (file, address) = AddressFile::open(folder, false).unwrap();
        Logins::new(address, file, kept.then(|| folder.join("logins.json")))
    }

    fn token(address: &str) -> &str {
        address.split_once("?token=").unwrap().1
    }

    fn enter(logins: &Logins, address: &str, cookies: &[&str]) -> TokenUse {
        logins.enter(token(address), cookies.iter().copied(), "a browser", Instant::now()).unwrap()
    }

    fn cookie(entered: TokenUse) -> String {
        let TokenUse::New(cookie) = entered else { panic!("{entered:?}") };
        cookie
    }

    #[test]
    fn a_token_is_good_once_and_ends_its_login_if_it_comes_from_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let logins = logins(folder.path(), false);
        let (first, other) = (logins.offer(PRINTED).unwrap(), logins.offer(PRINTED).unwrap());
        let mine = cookie(enter(&logins, &first, &[]));
        let second = cookie(enter(&logins, &other, &["x"]));
        assert_eq!(logins.of([&*mine].into_iter()), Some(1));
        assert_eq!(enter(&logins, &first, &["x", &mine]), TokenUse::Again);
        assert_eq!(enter(&logins, &first, &[&second]), TokenUse::Reused(1));
        assert_eq!(logins.of([&*mine].into_iter()), None, "its login has ended");
        assert_eq!(logins.of([&*second].into_iter()), Some(2), "the other goes on");
        assert_eq!(enter(&logins, &first, &[&mine]), TokenUse::Reused(1), "at any time");
        let third = logins.offer(PRINTED).unwrap();
        assert_eq!(enter(&logins, &third, &[&second]), TokenUse::Again, "logged in already");
        assert_eq!(enter(&logins, &third, &[]), TokenUse::Reused(2));
        let late = logins.offer(Duration::ZERO).unwrap();
        assert_eq!(enter(&logins, &late, &[]), TokenUse::Unknown);
        assert_eq!(logins.enter("", std::iter::empty(), "", Instant::now()).unwrap(), TokenUse::Unknown);
    }

    #[test]
    fn the_file_for_a_browser_goes_when_its_token_is_used_or_expires() {
        let folder = tempfile::tempdir().unwrap();
        let logins = logins(folder.path(), false);
        let path = folder.path().join("open.html");
        logins.offer_in(&path).unwrap();
        let page = std::fs::read_to_string(&path).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let address = page.split("href=\"").nth(1).unwrap().split('"').next().unwrap();
        logins.sweep(Instant::now(), false);
        assert!(path.exists());
        cookie(enter(&logins, address, &[]));
        assert!(!path.exists());
        logins.offer_in(&path).unwrap();
        logins.sweep(Instant::now(), true);
        assert!(!path.exists());
    }

    #[test]
    fn cookies_end_with_the_server_and_tabs_return_with_their_key() {
        let folder = tempfile::tempdir().unwrap();
        let first = logins(folder.path(), false);
        let address = first.offer(PRINTED).unwrap();
        let old = cookie(enter(&first, &address, &[]));
        let ended = first.offer(PRINTED).unwrap();
        cookie(enter(&first, &ended, &[]));
        assert!(first.revoke(2) && !first.revoke(3));
        let key = first.tab_key(1);
        let host = first.host();
        drop(first);
        let second = logins(folder.path(), false);
        assert_eq!(second.of([&*old].into_iter()), None);
        assert_eq!(enter(&second, &address, &[&old]), TokenUse::Unknown, "tokens end as well");
        assert_eq!(second.host(), host);
        let now = Instant::now();
        let (proof, challenge) = second.prove(1, "nonce", &host, now).unwrap();
        assert_eq!(proof, keyed(key.as_bytes(), &["server", "nonce", &host]));
        let answer = keyed(key.as_bytes(), &["tab", &challenge, &host]);
        assert_eq!(second.return_in(1, &challenge, "wrong", &host, "", now), None);
        assert_eq!(
            second.return_in(1, &challenge, &answer, &host, "", now),
            None,
            "a challenge is good once"
        );
        let (_, challenge) = second.prove(1, "nonce", &host, now).unwrap();
        let answer = keyed(key.as_bytes(), &["tab", &challenge, &host]);
        let fresh = second.return_in(1, &challenge, &answer, &host, "", now).unwrap();
        assert_eq!(second.of([&*fresh].into_iter()), Some(1));
        assert_eq!(second.prove(2, "nonce", &host, now), None, "its login was revoked");
    }

    #[test]
    fn what_a_tab_or_a_browser_must_answer_in_time_expires() {
        let folder = tempfile::tempdir().unwrap();
        let logins = logins(folder.path(), false);
        cookie(enter(&logins, &logins.offer(PRINTED).unwrap(), &[]));
        let (host, key, begun) = (logins.host(), logins.tab_key(1), Instant::now());
        let second = Duration::from_secs(1);
        for (passed, is_in_time) in [(CHALLENGE.saturating_sub(second), true), (CHALLENGE, false)] {
            let (_, challenge) = logins.prove(1, "nonce", &host, begun).unwrap();
            let answer = keyed(key.as_bytes(), &["tab", &challenge, &host]);
            let cookie = logins.return_in(1, &challenge, &answer, &host, "", begun + passed);
            assert_eq!(cookie.is_some(), is_in_time, "{passed:?}");
        }
        // Old challenges are forgotten when a new one is created.
        for (passed, known) in [(Duration::ZERO, 1), (CHALLENGE.saturating_sub(second), 2), (CHALLENGE, 2)] {
            logins.prove(1, "nonce", &host, begun + passed).unwrap();
            assert_eq!(logins.known().challenges.len(), known, "{passed:?}");
        }
        let path = folder.path().join("open.html");
        logins.offer_in(&path).unwrap();
        logins.sweep(begun + OPENED.saturating_sub(second), false);
        assert!(path.exists());
        logins.sweep(Instant::now() + OPENED, false);
        assert!(!path.exists());
    }

    #[test]
    fn logins_are_kept_on_request_as_hashes() {
        let folder = tempfile::tempdir().unwrap();
        let first = logins(folder.path(), true);
        let cookie = cookie(enter(&first, &first.offer(PRINTED).unwrap(), &[]));
        drop(first);
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(!text.contains(&cookie));
        }
        let second = logins(folder.path(), true);
        assert_eq!(second.of([&*cookie].into_iter()), Some(1));
        assert!(second.revoke(1));
        drop(second);
        assert_eq!(logins(folder.path(), true).of([&*cookie].into_iter()), None);
    }

    #[test]
    fn the_login_unused_for_longest_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let logins = logins(folder.path(), false);
        let cookies: Vec<String> =
            (0..LOGINS).map(|_| cookie(enter(&logins, &logins.offer(PRINTED).unwrap(), &[]))).collect();
        assert_eq!(logins.of([&*cookies[0]].into_iter()), Some(1));
        cookie(enter(&logins, &logins.offer(PRINTED).unwrap(), &[]));
        assert_eq!(logins.of([&*cookies[0]].into_iter()), Some(1));
        assert_eq!(logins.of([&*cookies[1]].into_iter()), None);
        assert_eq!(logins.all().len(), LOGINS);
    }
}
