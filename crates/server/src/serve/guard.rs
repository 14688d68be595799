//! Access control: every request passes through here first.
//!
//! ```text
//! Host ─▶ Origin, Sec-Fetch-* ─▶ method, body ─▶ token, cookie or key
//! 421     403                    405, 413        401
//! ```
//!
//! Other pages in the same browser can send requests to the loopback address, and with DNS rebinding even under their own name. So the
//! server answers only to its own names and only to pages of its own origin. Other users of the machine can send anything, but don't know
//! a token or a cookie.

use std::net::SocketAddr;
use std::time::Instant;

use axum::http::header::{CONTENT_LENGTH, COOKIE, FORWARDED, HOST, ORIGIN, TRANSFER_ENCODING, USER_AGENT};
use axum::http::{HeaderMap, Method, Request, StatusCode, Uri, Version};

use super::logins::{Logins, TokenUse};

/// The name of the cookie.
pub(super) const COOKIE_NAME: &str = "streamfmt";

/// The most characters of the name that a browser gives itself.
const BROWSER: usize = 120;

/// The rules for access.
#[derive(Debug)]
pub(super) struct RequestGuard {
    pub(super) logins: Logins,
    pub(super) port: u16,
    /// Allowed hosts beyond loopback, in lower case, such as `proxy.example`; one without a port allows all ports.
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
    /// The requested host, in lower case.
    pub(super) host: String,
    /// Whether the answer goes beyond this machine.
    pub(super) is_beyond: bool,
    /// Whether the browser reached a proxy by https.
    pub(super) is_https: bool,
    /// The foreign origin of the page, which is an allowed one.
    pub(super) origin: Option<String>,
    /// The proof of a login, if the request has one.
    pub(super) login: Option<Proof>,
}

/// How a request proves that it may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// By the cookie of the login of this number.
    Cookie(u64),
    /// By the key of one log.
    Key,
}

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GuardVerdict {
    /// Answer it.
    Answer(Visitor),
    /// Lead the browser to the same address without the token.
    Enter {
        location: String,
        /// The new cookie.
        cookie: Option<String>,
        is_https: bool,
        /// Whether by a page that refreshes itself. A browser that comes from another site sends no strict cookie along a redirect.
        is_by_page: bool,
    },
    /// Redirect to this address, under the server's own name.
    Elsewhere(String),
    /// A used token came again; the login of this number has ended.
    Reused(u64),
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
    /// Where tabs prove that they belong to a login.
    Tab,
    /// Whether the server is up.
    Health,
    /// Everything else.
    Other,
}

impl RequestGuard {
    /// Decides about a request from `peer` that came at `now`.
    pub(super) fn judge<B>(
        &self,
        request: &Request<B>,
        peer: SocketAddr,
        now: Instant,
    ) -> Result<GuardVerdict, HttpRefusal> {
        let (headers, uri, method) = (request.headers(), request.uri(), request.method());
        let below = uri.path().strip_prefix(&self.base);
        let path = below.filter(|path| path.starts_with('/')).unwrap_or("");
        let kind = kind_of(path);
        if kind == PathKind::Health {
            check_method(method)?;
            return Ok(GuardVerdict::Answer(Visitor { is_beyond: true, ..Visitor::default() }));
        }
        let host = self.host(headers, uri)?;
        let query = uri.query().unwrap_or("");
        let token = token_in(query);
        let is_forwarded = is_forwarded(headers) || request.version() == Version::HTTP_10;
        if self.is_bare(&host) {
            self.check_site(headers, None, kind, false)?;
            if is_forwarded {
                let reason = "the proxy must forward Host, which must be named with --allow-host";
                return Err(HttpRefusal::new(StatusCode::MISDIRECTED_REQUEST, reason));
            }
            let is_given = token.is_some_and(|token| self.logins.is_token(token));
            if is_given && *method == Method::GET && kind == PathKind::Page {
                let own = self.logins.host();
                return Ok(GuardVerdict::Elsewhere(format!("http://{own}{}{path}?{query}", self.base)));
            }
            let reason = "open the address that serve printed: this one is answered only with a token";
            return Err(HttpRefusal::new(StatusCode::MISDIRECTED_REQUEST, reason));
        }
        let is_own = host == self.logins.host();
        let is_entry = token.is_some() && kind == PathKind::Page && *method == Method::GET;
        let origin = self.check_site(headers, Some((&host, is_own)), kind, is_entry)?;
        check_method(method)?;
        let has_body = headers.get_all(CONTENT_LENGTH).iter().any(|length| length != "0")
            || headers.contains_key(TRANSFER_ENCODING);
        if has_body {
            return Err(HttpRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, "requests with a body are refused"));
        }
        let is_https = is_https(headers)?;
        if path.is_empty() {
            return Err(HttpRefusal::new(StatusCode::NOT_FOUND, "no such page"));
        }
        let unauthorized = |reason: &str| Err(HttpRefusal::new(StatusCode::UNAUTHORIZED, reason));
        let wrong =
            "the token in the address is wrong or too old: streamfmt serve --link prints another address";
        let login = match (token, kind) {
            (_, PathKind::Static | PathKind::Tab) => None,
            (_, PathKind::OlderLog) => {
                let id = path.split('/').nth(2).unwrap_or("");
                if !self.logins.is_log_key(id, parameter(query, "key").unwrap_or("")) {
                    return unauthorized("the key of this log is missing or wrong");
                }
                Some(Proof::Key)
            }
            (Some(token), PathKind::Page) => {
                let location = without_token(&format!("{}{path}", self.base), query);
                let enter = |cookie: Option<String>| GuardVerdict::Enter {
                    location,
                    cookie,
                    is_https,
                    is_by_page: site(headers).is_some_and(|site| !is_near(site)),
                };
                // HEAD uses nothing up: it is sent by programs that look at links.
                if *method == Method::HEAD {
                    return if self.logins.is_valid(token, now) {
                        Ok(enter(None))
                    } else {
                        unauthorized(wrong)
                    };
                }
                let entered = self.logins.enter(token, cookies(headers), &browser(headers), now);
                let failed = |_| HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, "no random numbers");
                return match entered.map_err(failed)? {
                    TokenUse::New(cookie) => Ok(enter(Some(cookie))),
                    TokenUse::Again => Ok(enter(None)),
                    TokenUse::Reused(number) => Ok(GuardVerdict::Reused(number)),
                    TokenUse::Unknown => unauthorized(wrong),
                };
            }
            (Some(_), _) => return unauthorized(wrong),
            (None, _) => match self.logins.of(cookies(headers)) {
                Some(number) => Some(Proof::Cookie(number)),
                None => {
                    return unauthorized(
                        "this browser isn't logged in: streamfmt serve --link prints an address that logs it in",
                    );
                }
            },
        };
        let is_beyond = !is_own || is_forwarded || !peer.ip().to_canonical().is_loopback();
        Ok(GuardVerdict::Answer(Visitor { host, is_beyond, is_https, origin, login }))
    }

    fn is_bare(&self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        port == self.port.to_string() && matches!(name, "127.0.0.1" | "localhost" | "[::1]")
    }

    /// The requested host in lower case, if it is one of ours.
    fn host(&self, headers: &HeaderMap, uri: &Uri) -> Result<String, HttpRefusal> {
        let refusal = |reason: &str| Err(HttpRefusal::new(StatusCode::MISDIRECTED_REQUEST, reason));
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return refusal("the request names no host, or several");
        };
        let host = host.to_str().unwrap_or("").to_ascii_lowercase();
        if uri.authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(&host)) {
            return refusal("the request names two hosts");
        }
        let is_allowed = |allowed: &String| {
            host == *allowed
                || host.strip_prefix(allowed.as_str()).and_then(|rest| rest.strip_prefix(':')).is_some_and(
                    |port| {
                        !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit())
                    },
                )
        };
        if host == self.logins.host() || self.is_bare(&host) || self.hosts.iter().any(is_allowed) {
            return Ok(host);
        }
        refusal(
            "this host name isn't answered: open the address that serve printed, or name it with --allow-host",
        )
    }

    /// Refuses pages of other origins, unless they may read this `log.sse`. Returns an allowed foreign origin. `is_entry`: the address has
    /// a token, so that a person may come from anywhere.
    fn check_site(
        &self,
        headers: &HeaderMap,
        host: Option<(&str, bool)>,
        kind: PathKind,
        is_entry: bool,
    ) -> Result<Option<String>, HttpRefusal> {
        let refused = || {
            let reason = if kind == PathKind::OlderLog {
                "pages of other origins are refused: name this one with --allow-origin"
            } else {
                "pages of other origins are refused"
            };
            Err(HttpRefusal::new(StatusCode::FORBIDDEN, reason))
        };
        // With two, nobody knows which one the sender meant.
        if ["origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"]
            .iter()
            .any(|name| is_repeated(headers, name))
        {
            return refused();
        }
        let mut foreign = None;
        if let Some(origin) = headers.get(ORIGIN) {
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
        let is = |name: &str, wanted: &str| headers.get(name).is_some_and(|value| value == wanted);
        let is_arrival = is_entry && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
        // Not only `cross-site`: another port of this machine belongs to the same site.
        if !is_arrival && foreign.is_none() && !site(headers).is_none_or(is_near) {
            return refused();
        }
        Ok(foreign)
    }
}

/// Where the page that sent the request comes from, if the browser names it.
fn site(headers: &HeaderMap) -> Option<&str> {
    headers.get("sec-fetch-site").map(|site| site.to_str().unwrap_or("cross-site"))
}

fn is_near(site: &str) -> bool {
    matches!(site, "same-origin" | "none")
}

fn is_repeated(headers: &HeaderMap, name: &str) -> bool {
    headers.get_all(name).iter().nth(1).is_some()
}

fn check_method(method: &Method) -> Result<(), HttpRefusal> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let reason = "only GET and HEAD are answered: nothing can be changed here";
    Err(HttpRefusal::new(StatusCode::METHOD_NOT_ALLOWED, reason))
}

/// Whether a proxy sends the request, so that its reader is elsewhere.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    const NAMES: [&str; 8] = [
        "forwarded",
        "via",
        "x-real-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "true-client-ip",
        "cf-connecting-ip",
        "x-original-host",
    ];
    headers.keys().any(|name| name.as_str().starts_with("x-forwarded") || NAMES.contains(&name.as_str()))
}

/// Whether a proxy reports that the browser reached it by https.
fn is_https(headers: &HeaderMap) -> Result<bool, HttpRefusal> {
    if is_repeated(headers, "x-forwarded-proto") || is_repeated(headers, FORWARDED.as_str()) {
        let reason = "X-Forwarded-Proto and Forwarded are each answered only once in a request";
        return Err(HttpRefusal::new(StatusCode::BAD_REQUEST, reason));
    }
    // The first is that of the proxy nearest to the browser.
    let first = |name: &str| headers.get(name)?.to_str().ok()?.split(',').next().map(str::to_ascii_lowercase);
    let by_name = first("x-forwarded-proto").is_some_and(|proto| proto.trim() == "https");
    let by_list = first(FORWARDED.as_str()).is_some_and(|hop| {
        let mut pairs = hop.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == "proto" && value.trim_matches('"') == "https")
    });
    Ok(by_name || by_list)
}

/// The name that the browser gives itself.
pub(super) fn browser(headers: &HeaderMap) -> String {
    let name = headers.get(USER_AGENT).and_then(|name| name.to_str().ok()).unwrap_or("");
    name.chars().take(BROWSER).collect()
}

fn kind_of(path: &str) -> PathKind {
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(""), None, ..) => PathKind::Page,
        (Some("sessions"), Some(id), None, _) if id.parse::<crate::RunId>().is_ok() => PathKind::Page,
        (Some("sessions"), Some(_), Some("log.sse"), None) => PathKind::OlderLog,
        (Some("static"), Some(_), None, _) => PathKind::Static,
        (Some("tab"), None, ..) => PathKind::Tab,
        (Some("healthz"), None, ..) => PathKind::Health,
        _ => PathKind::Other,
    }
}

/// The value of a parameter, undecoded.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
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

pub(super) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
}

#[cfg(test)]
mod tests;
