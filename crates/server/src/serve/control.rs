//! How other processes of the owner speak to the running server: a socket in the state folder, which only the owner can open.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connections::Connections;
use super::logins::{Logins, PRINTED};

/// How long the other end may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most bytes of a request.
const REQUEST: u64 = 64;
/// The longest path that an address of a socket can have everywhere.
const LONGEST: usize = 100;

/// A request to the running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServeRequest {
    /// Print another address.
    Link,
    /// List the logins.
    Browsers,
    /// End the login of this number.
    Revoke(u64),
}

impl ServeRequest {
    fn text(self) -> String {
        match self {
            Self::Link => "link\n".to_owned(),
            Self::Browsers => "browsers\n".to_owned(),
            Self::Revoke(number) => format!("revoke {number}\n"),
        }
    }

    fn read(text: &str) -> Option<Self> {
        match text.trim_end() {
            "link" => Some(Self::Link),
            "browsers" => Some(Self::Browsers),
            text => text.strip_prefix("revoke ")?.parse().ok().map(Self::Revoke),
        }
    }
}

/// Sends a request to the server whose state is in this folder. Returns the lines of its answer, or an error if none is running; the inner
/// error is the server's reason.
pub fn ask_server(state: &Path, request: ServeRequest) -> io::Result<Result<String, String>> {
    let mut stream = at_path(&state.join(NAME), |path| UnixStream::connect(path))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(request.text().as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split_once('\n') {
        Some(("ok", rest)) => Ok(Ok(rest.to_owned())),
        Some(("no", reason)) => Ok(Err(reason.trim_end().to_owned())),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

const NAME: &str = "serve.sock";

/// The socket of a server; removed when it ends.
#[derive(Debug)]
pub(super) struct ControlSocket {
    path: PathBuf,
    listener: UnixListener,
}

impl ControlSocket {
    /// Opens the socket. The folder belongs to the server, which holds its lock.
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let path = state.join(NAME);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = at_path(&path, |path| UnixListener::bind(path))?;
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { path, listener })
    }

    /// Answers requests, one after the other.
    pub(super) async fn serve(&self, logins: &Logins, connections: &Connections) -> io::Result<()> {
        let listener = tokio::net::UnixListener::from_std(self.listener.try_clone()?)?;
        let me = rustix::process::getuid().as_raw();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let is_owner = stream.peer_cred().is_ok_and(|peer| peer.uid() == me || peer.uid() == 0);
            if is_owner {
                let _ = tokio::time::timeout(PATIENCE, answer(stream, logins, connections)).await;
            }
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer(
    mut stream: tokio::net::UnixStream,
    logins: &Logins,
    connections: &Connections,
) -> io::Result<()> {
    let mut text = Vec::new();
    while !text.ends_with(b"\n") && (text.len() as u64) < REQUEST {
        if stream.read_buf(&mut text).await? == 0 {
            break;
        }
    }
    let answer = match ServeRequest::read(&String::from_utf8_lossy(&text)) {
        Some(ServeRequest::Link) => logins.offer(PRINTED).map_err(|error| error.to_string()),
        Some(ServeRequest::Browsers) => Ok(list(logins)),
        Some(ServeRequest::Revoke(number)) if logins.revoke(number) => {
            connections.close_login(number);
            Ok(format!("browser {number} is logged out"))
        }
        Some(ServeRequest::Revoke(number)) => Err(format!("there is no browser {number}")),
        None => Err("the server doesn't know this request".to_owned()),
    };
    let answer = match answer {
        Ok(text) if text.is_empty() => "ok\n".to_owned(),
        Ok(text) => format!("ok\n{text}\n"),
        Err(reason) => format!("no\n{reason}\n"),
    };
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// The logins, one a line.
fn list(logins: &Logins) -> String {
    let lines: Vec<String> = logins
        .all()
        .iter()
        .map(|login| {
            let [since, seen] = [login.since, login.seen].map(|at| at.strftime("%Y-%m-%d %H:%M").to_string());
            format!("{}  since {since}, last seen {seen} UTC  {}", login.number, login.browser)
        })
        .collect();
    lines.join("\n")
}

/// Calls with a path that is short enough for the address of a socket: a long one goes by its open folder.
fn at_path<T>(path: &Path, call: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().len() <= LONGEST {
        return call(path);
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = std::fs::File::open(folder)?;
    call(&PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_back() {
        for request in [ServeRequest::Link, ServeRequest::Browsers, ServeRequest::Revoke(17)] {
            assert_eq!(ServeRequest::read(&request.text()), Some(request));
        }
        for text in ["", "links", "revoke", "revoke x", "revoke -1"] {
            assert_eq!(ServeRequest::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_long_path_is_no_obstacle_and_only_the_owner_may_open_it() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let socket = ControlSocket::open(&deep).unwrap();
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&socket.path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        at_path(&deep.join(NAME), |path| UnixStream::connect(path)).unwrap();
        let path = socket.path.clone();
        drop(socket);
        assert!(!path.exists());
        assert!(ask_server(&deep, ServeRequest::Link).is_err());
    }
}
