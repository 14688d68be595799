//! Access control: every request passes through here first.
//!
//! ```text
//! Host ─▶ Origin, Sec-Fetch-Site ─▶ method, body ─▶ token
//! 421     403                       405, 413        401
//! ```
//!
//! Other pages in the same browser can send requests to the loopback address, and with DNS rebinding even under their own name. So the
//! server answers only to its own names and only to pages of its own origin. Other users of the machine can send anything, but don't know
//! the token.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Method, Request, StatusCode, Uri};

use super::address::{KeptAddress, is_same};

/// The name of the cookie that holds the token.
pub(super) const COOKIE: &str = "streamfmt";

/// How long the single-use token is valid.
const ONCE: Duration = Duration::from_secs(60);

/// The rules for access.
#[derive(Debug)]
pub(super) struct RequestGuard {
    pub(super) address: KeptAddress,
    /// A single-use token, and when it was made.
    pub(super) once: Mutex<Option<(String, Instant)>>,
    /// Allowed hosts beyond loopback, such as `proxy.example`; one without a port allows all ports.
    pub(super) hosts: Vec<String>,
    /// Foreign origins that may read `log.sse`.
    pub(super) origins: Vec<String>,
    /// The prefix of all paths: empty, or such as `/agents`.
    pub(super) base: String,
}

/// A refused request; the reason is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HttpRefusal {
    pub(super) status: StatusCode,
    pub(super) reason: String,
}

impl HttpRefusal {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }
}

/// The origin of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Visitor {
    /// Whether the answer goes beyond this machine.
    pub(super) is_beyond: bool,
    /// The foreign origin of the page, which is an allowed one.
    pub(super) origin: Option<String>,
}

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GuardVerdict {
    /// Answer it.
    Answer(Visitor),
    /// Move the token from the address to a cookie, and redirect to this address.
    Enter(String),
    /// Redirect to this address, under the server's own name.
    Elsewhere(String),
}

/// The kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathKind {
    /// A page: the address may contain the token.
    Page,
    /// Script and style, which contain no session data.
    Static,
    /// A `log.sse`, which has its own key.
    OlderLog,
    /// Everything else.
    Other,
}

impl RequestGuard {
    /// Decides about a request from `peer`.
    pub(super) fn judge<B>(
        &self,
        request: &Request<B>,
        peer: SocketAddr,
    ) -> Result<GuardVerdict, HttpRefusal> {
        let (headers, uri) = (request.headers(), request.uri());
        let path = uri.path().strip_prefix(&self.base).unwrap_or("");
        let kind = kind_of(path);
        let host = self.host(headers, uri)?;
        let query = uri.query().unwrap_or("");
        if self.is_bare(host) {
            self.is_allowed(headers, None, kind)?;
            let given = token_in(query).is_some_and(|token| self.address.is_token(token));
            if given && request.method() == Method::GET && kind == PathKind::Page {
                let own = format!("http://{}:{}", self.address.host(), self.address.port);
                return Ok(GuardVerdict::Elsewhere(format!("{own}{}{path}?{query}", self.base)));
            }
            let reason = "open the address that serve printed: this one is answered only with its token";
            return Err(HttpRefusal::new(StatusCode::MISDIRECTED_REQUEST, reason));
        }
        let is_own = host == self.own_host();
        let origin = self.is_allowed(headers, Some((host, is_own)), kind)?;
        if request.method() != Method::GET {
            return Err(HttpRefusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET is answered: nothing can be changed here",
            ));
        }
        let has_body = headers.get("content-length").is_some_and(|length| length != "0")
            || headers.contains_key("transfer-encoding");
        if has_body {
            return Err(HttpRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, "requests with a body are refused"));
        }
        if path.is_empty() {
            return Err(HttpRefusal::new(StatusCode::NOT_FOUND, "no such page"));
        }
        match (token_in(query), kind) {
            (_, PathKind::Static) => {}
            (_, PathKind::OlderLog) => {
                let id = path.split('/').nth(2).unwrap_or("");
                let key = parameter(query, "key").unwrap_or("");
                if !self.address.is_log_key(id, key) {
                    return Err(HttpRefusal::new(
                        StatusCode::UNAUTHORIZED,
                        "the key of this log is missing or wrong",
                    ));
                }
            }
            (Some(token), PathKind::Page) if self.address.is_token(token) || self.takes_once(token) => {
                return Ok(GuardVerdict::Enter(without_token(&format!("{}{path}", self.base), query)));
            }
            (Some(_), _) => {
                return Err(HttpRefusal::new(StatusCode::UNAUTHORIZED, "the token in the address is wrong"));
            }
            (None, _) if cookies(headers).any(|token| self.address.is_token(token)) => {}
            (None, _) => {
                let reason = "the token is missing or wrong: open the address that serve printed";
                return Err(HttpRefusal::new(StatusCode::UNAUTHORIZED, reason));
            }
        }
        Ok(GuardVerdict::Answer(Visitor {
            is_beyond: !is_own || !peer.ip().to_canonical().is_loopback(),
            origin,
        }))
    }

    /// Whether this is the single-use token, which is used up by that.
    fn takes_once(&self, given: &str) -> bool {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        let is_good =
            once.as_ref().is_some_and(|(token, since)| is_same(token, given) && since.elapsed() < ONCE);
        if is_good {
            *once = None;
        }
        is_good
    }

    fn own_host(&self) -> String {
        format!("{}:{}", self.address.host(), self.address.port)
    }

    fn is_bare(&self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        port == self.address.port.to_string() && matches!(name, "127.0.0.1" | "localhost" | "[::1]")
    }

    /// The requested host, if it is one of ours.
    fn host<'a>(&self, headers: &'a HeaderMap, uri: &Uri) -> Result<&'a str, HttpRefusal> {
        let refusal = |reason: &str| Err(HttpRefusal::new(StatusCode::MISDIRECTED_REQUEST, reason));
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return refusal("the request names no host, or several");
        };
        let host = host.to_str().unwrap_or("");
        if uri.authority().is_some_and(|authority| authority.as_str() != host) {
            return refusal("the request names two hosts");
        }
        let is_allowed = |allowed: &String| {
            host == allowed
                || host.strip_prefix(allowed.as_str()).and_then(|rest| rest.strip_prefix(':')).is_some_and(
                    |port| {
                        !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit())
                    },
                )
        };
        if host == self.own_host() || self.is_bare(host) || self.hosts.iter().any(is_allowed) {
            return Ok(host);
        }
        refusal(
            "this host name isn't answered: open the address that serve printed, or name it with --allow-host",
        )
    }

    /// Refuses pages of other origins, unless they may read this `log.sse`. Returns an allowed foreign origin.
    fn is_allowed(
        &self,
        headers: &HeaderMap,
        host: Option<(&str, bool)>,
        kind: PathKind,
    ) -> Result<Option<String>, HttpRefusal> {
        let refused = || {
            let reason = if kind == PathKind::OlderLog {
                "pages of other origins are refused: name this one with --allow-origin"
            } else {
                "pages of other origins are refused"
            };
            Err(HttpRefusal::new(StatusCode::FORBIDDEN, reason))
        };
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = origins.next();
        if origins.next().is_some() {
            return refused();
        }
        let mut foreign = None;
        if let Some(origin) = origin {
            let origin = origin.to_str().unwrap_or("");
            let is_same = host.is_some_and(|(host, is_own)| {
                origin.strip_prefix("http://") == Some(host)
                    || !is_own && origin.strip_prefix("https://") == Some(host)
            });
            if !is_same {
                if kind != PathKind::OlderLog || !self.origins.iter().any(|allowed| allowed == origin) {
                    return refused();
                }
                foreign = Some(origin.to_owned());
            }
        }
        let site = headers.get("sec-fetch-site").map(|site| site.to_str().unwrap_or("cross-site"));
        let is_near = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
        // Not only `cross-site`: another port of this machine belongs to the same site.
        if !is_near && foreign.is_none() {
            return refused();
        }
        Ok(foreign)
    }
}

fn kind_of(path: &str) -> PathKind {
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(""), None, ..) => PathKind::Page,
        (Some("sessions"), Some(id), None, _) if id.parse::<crate::RunId>().is_ok() => PathKind::Page,
        (Some("sessions"), Some(_), Some("log.sse"), None) => PathKind::OlderLog,
        (Some("static"), Some(_), None, _) => PathKind::Static,
        _ => PathKind::Other,
    }
}

/// The value of a parameter, undecoded.
fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

fn token_in(query: &str) -> Option<&str> {
    parameter(query, "token")
}

/// The address without the token. The path is one of ours, so it can't lead elsewhere.
fn without_token(path: &str, query: &str) -> String {
    let rest: Vec<&str> =
        query.split('&').filter(|pair| !pair.starts_with("token=") && !pair.is_empty()).collect();
    if rest.is_empty() { path.to_owned() } else { format!("{path}?{}", rest.join("&")) }
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all("cookie").iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}
