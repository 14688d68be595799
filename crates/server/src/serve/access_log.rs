//! A line for each request: `serve --log FILE`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Method, StatusCode, Uri};
use jiff::Timestamp;

/// The file.
#[derive(Debug)]
pub(super) struct AccessLog(File);

impl AccessLog {
    /// Opens the file, to which lines are appended. It never follows a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
        options.open(path).map(Self)
    }

    fn write(&self, line: &str) {
        // Each line is one write, so that the lines of several requests don't mix. Nobody is served worse if the disk is full.
        let _ = (&self.0).write_all(line.as_bytes());
    }
}

/// A request that is being answered. Its line is written when the answer has ended.
#[derive(Debug)]
pub(super) struct LoggedRequest {
    log: Arc<AccessLog>,
    begin: String,
    since: Instant,
    status: StatusCode,
    bytes: u64,
}

impl LoggedRequest {
    pub(super) fn new(log: Arc<AccessLog>, peer: SocketAddr, method: &Method, uri: &Uri) -> Self {
        let begin =
            format!("{} {peer} {method} {}", Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ"), shown(uri));
        Self { log, begin, since: Instant::now(), status: StatusCode::OK, bytes: 0 }
    }

    /// Counts the bytes of an answer.
    pub(super) fn of(mut self, status: StatusCode, body: Body) -> Body {
        self.status = status;
        Body::new(CountedBody { body, request: self })
    }
}

impl Drop for LoggedRequest {
    fn drop(&mut self) {
        let Self { begin, since, status, bytes, .. } = self;
        self.log.write(&format!("{begin} {} {bytes} {}\n", status.as_u16(), since.elapsed().as_millis()));
    }
}

/// The address without the values of token, key and proofs. Everything else that isn't printable ASCII is escaped already.
fn shown(uri: &Uri) -> String {
    let path: String = uri.path().chars().map(|c| if c.is_ascii_graphic() { c } else { '?' }).collect();
    let Some(query) = uri.query() else { return path };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name @ ("profile" | "theme" | "before" | "since" | "page" | "status" | "agent"), _)) => {
                let value = &pair[name.len()..];
                format!("{name}{}", value.chars().filter(char::is_ascii_graphic).collect::<String>())
            }
            Some((name, _)) => {
                format!("{}=…", name.chars().filter(char::is_ascii_graphic).collect::<String>())
            }
            None => "…".to_owned(),
        })
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

struct CountedBody {
    body: Body,
    request: LoggedRequest,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.request.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_secret_and_nothing_of_a_search() {
        let line = |uri: &str| shown(&uri.parse().unwrap());
        assert_eq!(line("/sessions/x?profile=full&token=SECRET"), "/sessions/x?profile=full&token=…");
        assert_eq!(line("/sessions/x/log.sse?key=SECRET"), "/sessions/x/log.sse?key=…");
        assert_eq!(line("/?q=a+secret&page=2&x"), "/?q=…&page=2&…");
        assert_eq!(line("/"), "/");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("target"), &link).unwrap();
        assert!(AccessLog::open(&link).is_err());
    }
}
