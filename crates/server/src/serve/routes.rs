//! The routes of the server.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use streamfmt::core::redact::{Redaction, Redactor};
use streamfmt::unpack::{UnpackedReader, without_compression};
use streamfmt::writer::html::HtmlFragments;
use tokio::sync::{mpsc, watch};
use tower_http::compression::CompressionLayer;

use super::access_log::{AccessLog, LoggedRequest};
use super::connections::{ConnectionSlot, Connections};
use super::events::{self, ReplayStart, StreamPace};
use super::guard::{
    self, COOKIE_NAME, GuardVerdict, HttpRefusal, Proof, RequestGuard, Visitor, is_forwarded,
};
use super::html::escaped;
use super::hub::{Hub, Subscription};
use super::list::{ListQuery, list};
use super::page::{PageChoice, page};
use super::profiles::{KnownProfiles, LoadedProfile, OLDER, USUAL};
use super::view::{ViewState, node_hash};
use crate::store::{SessionRecord, SourceKind, SourceRow, open_history};

/// How long a page waits for its log to be read. After that it shows the progress and reloads.
const PAGE_READ: Duration = Duration::from_millis(800);
/// The same for events, which have no progress to show.
const READ: Duration = Duration::from_secs(20);
/// The content security policy: only our own script and style, and no requests elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><rect width=\"16\" height=\"16\" rx=\"3\" \
fill=\"#14181e\"/><path d=\"M4 4.5 7.5 8 4 11.5M8.5 11.5h4\" fill=\"none\" stroke=\"#79d293\" stroke-width=\"1.6\"/></svg>";
const SCRIPT: &str = include_str!("static/serve.js");
const STYLE: &str = include_str!("static/serve.css");

/// The state shared by all requests.
pub(super) struct Site {
    pub(super) guard: RequestGuard,
    pub(super) hub: Hub,
    pub(super) profiles: KnownProfiles,
    pub(super) shows_secrets: bool,
    pub(super) pace: StreamPace,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) refusals: RefusalLog,
    pub(super) log: Option<Arc<AccessLog>>,
    pub(super) connections: Arc<Connections>,
}

/// Logs refusals, up to a limit for each second.
pub(super) struct RefusalLog {
    pub(super) report: fn(&str),
    /// The start of the current second, and the number of refusals in it.
    pub(super) reported: std::sync::Mutex<(Option<Instant>, u64)>,
}

/// The most refusals logged in a second.
const REPORTED: u64 = 20;

impl RefusalLog {
    /// Reports a refusal that happens `now`, with its time.
    pub(super) fn report(&self, now: Instant, refused: fmt::Arguments<'_>) {
        let mut reported = self.reported.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if reported.0.is_none_or(|since| now.saturating_duration_since(since) >= Duration::from_secs(1)) {
            if reported.1 > REPORTED {
                (self.report)(&format!("refused {} further requests", reported.1 - REPORTED));
            }
            *reported = (Some(now), 0);
        }
        reported.1 += 1;
        if reported.1 <= REPORTED {
            (self.report)(&format!("{} {refused}", Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ")));
        }
    }
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response {
        let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        let mut response = (self.status, kind, format!("{}\n", self.reason)).into_response();
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        // The log of refusals takes it from there.
        response.extensions_mut().insert(self);
        response
    }
}

/// The address that a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Returns all routes, protected by the guard.
pub(super) fn router(site: Arc<Site>) -> Router {
    let at = |path: &str| format!("{}{path}", site.guard.base);
    Router::new()
        .route(&at("/"), get(sessions))
        .route(&at("/sessions/{id}"), get(session))
        .route(&at("/sessions/{id}/events"), get(session_events))
        .route(&at("/sessions/{id}/log"), get(log))
        .route(&at("/sessions/{id}/log.sse"), get(older_log))
        .route(&at("/static/{name}"), get(static_file))
        .route(&at("/tab"), get(tab))
        .route(&at("/healthz"), get(async || "ok\n"))
        .fallback(async || HttpRefusal::new(StatusCode::NOT_FOUND, "no such page"))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guarded))
        .layer(CompressionLayer::new().compress_when(may_be_compressed))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), logged))
        .with_state(site)
}

/// Whether an answer may be compressed: not events, which must not wait, nor one with a secret.
fn may_be_compressed(
    _: StatusCode,
    _: axum::http::Version,
    headers: &HeaderMap,
    _: &axum::http::Extensions,
) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    !kind.starts_with(b"text/event-stream") && !headers.contains_key(header::SET_COOKIE)
}

/// Writes a line for each request to the log, if there is one.
async fn logged(
    State(site): State<Arc<Site>>,
    Extension(Peer(peer)): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let Some(log) = &site.log else { return next.run(request).await };
    let logged = LoggedRequest::new(Arc::clone(log), peer, request.method(), request.uri());
    let (parts, body) = next.run(request).await.into_parts();
    let body = logged.of(parts.status, body);
    Response::from_parts(parts, body)
}

/// Asks the guard, and adds the common headers to every answer.
async fn guarded(
    State(site): State<Arc<Site>>,
    Extension(Peer(peer)): Extension<Peer>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let mut origin = None;
    let forwarded = is_forwarded(request.headers());
    slot.received(forwarded, None);
    let mut response = match site.guard.judge(&request, peer, Instant::now()) {
        Ok(GuardVerdict::Answer(visitor)) => {
            origin.clone_from(&visitor.origin);
            slot.received(forwarded, visitor.login);
            request.extensions_mut().insert(visitor);
            with_reason(next.run(request).await)
        }
        Ok(GuardVerdict::Enter { location, cookie, is_https, is_by_page }) => {
            let mut response = if is_by_page { refresh(&location) } else { see_other(&location) };
            if let Some(cookie) = cookie {
                site.set_cookie(&mut response, &cookie, is_https);
            }
            response
        }
        Ok(GuardVerdict::Elsewhere(location)) => see_other(&location),
        Ok(GuardVerdict::Reused(number)) => {
            (site.refusals.report)(&format!(
                "a used address was opened again from {peer}: browser {number}, which had used it, is logged out"
            ));
            site.connections.close_login(number);
            let reason = "this address was used before, so that login has ended: streamfmt serve --link prints another";
            HttpRefusal::new(StatusCode::UNAUTHORIZED, reason).into_response()
        }
        Err(refusal) => refusal.into_response(),
    };
    slot.answered();
    if let Some(HttpRefusal { status, reason }) = response.extensions().get() {
        let status = status.as_u16();
        site.refusals
            .report(Instant::now(), format_args!("refused {method} {path}: {status} {reason} (from {peer})"));
    }
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", if origin.is_some() { "cross-origin" } else { "same-origin" }),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(origin) = origin.and_then(|origin| HeaderValue::from_str(&origin).ok()) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

/// Gives errors of the router itself a reason as well.
fn with_reason(response: Response) -> Response {
    let status = response.status();
    let is_refused = status.is_client_error() || status.is_server_error();
    if is_refused && response.extensions().get::<HttpRefusal>().is_none() {
        let reason = status.canonical_reason().unwrap_or("refused").to_lowercase();
        return HttpRefusal::new(status, reason).into_response();
    }
    response
}

/// A page that goes on to this address. A browser that comes from another site sends no strict cookie along a redirect.
fn refresh(location: &str) -> Response {
    let location = escaped(location);
    html(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0; url={location}\">\n\
         <title>Sessions</title>\n</head>\n<body>\n<p><a href=\"{location}\">Sessions</a></p>\n</body>\n</html>\n"
    ))
}

fn see_other(location: &str) -> Response {
    match HeaderValue::from_str(location) {
        Ok(location) => (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response(),
        Err(_) => HttpRefusal::new(StatusCode::BAD_REQUEST, "the address can't be read").into_response(),
    }
}

fn html(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

fn bad_query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, HttpRefusal> {
    match query {
        Ok(Query(query)) => Ok(query),
        Err(_) => Err(HttpRefusal::new(StatusCode::BAD_REQUEST, "the query of the address can't be read")),
    }
}

impl Site {
    /// Gives the browser its cookie. A login ends with the server; the date only spares browsers a cookie that is surely dead.
    fn set_cookie(&self, response: &mut Response, cookie: &str, is_https: bool) {
        let path = if self.guard.base.is_empty() { "/" } else { &self.guard.base };
        let secure = if is_https { "; Secure" } else { "" };
        let cookie = format!(
            "{COOKIE_NAME}={cookie}; Path={path}; HttpOnly; SameSite=Strict; Max-Age=2592000{secure}"
        );
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
    }

    /// The number and key of the tabs of a login, for the script of its pages.
    fn tab(&self, visitor: &Visitor) -> String {
        match visitor.login {
            Some(Proof::Cookie(number)) => {
                format!(" data-tab=\"{number}\" data-key=\"{}\"", self.guard.logins.tab_key(number))
            }
            _ => String::new(),
        }
    }

    fn masks(&self, visitor: &Visitor) -> bool {
        visitor.is_beyond && !self.shows_secrets
    }

    fn redactor(&self, visitor: &Visitor) -> Option<Redactor> {
        self.masks(visitor).then(|| Redactor::new(&Redaction::everything())).flatten()
    }

    async fn row(&self, id: &str) -> Result<SessionRecord, HttpRefusal> {
        let unknown = || HttpRefusal::new(StatusCode::NOT_FOUND, "no session of this id");
        let (sessions, id) = (Arc::clone(&self.hub.sessions), id.to_owned());
        in_background(move || sessions.find(&id)).await?.ok_or_else(unknown)
    }

    fn profile(&self, name: &str, visitor: &Visitor) -> Result<LoadedProfile, HttpRefusal> {
        let unknown = || HttpRefusal::new(StatusCode::NOT_FOUND, "no profile of this name");
        let loaded = self.profiles.find(name, self.masks(visitor)).ok_or_else(unknown)?;
        loaded.map_err(|problems| {
            let first = problems.0.first().map(ToString::to_string).unwrap_or_default();
            let reason = streamfmt::core::text::clean(&format!("the profile can't be used: {first}"))
                .replace('\n', "␊");
            HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason)
        })
    }

    /// Opens a session in a profile. `once`: for one answer, which is given even if too many are open.
    async fn open(
        self: &Arc<Self>,
        row: &SessionRecord,
        profile: &str,
        visitor: &Visitor,
        once: bool,
    ) -> Result<Subscription, HttpRefusal> {
        let (site, profile, visitor) = (Arc::clone(self), profile.to_owned(), visitor.clone());
        // Reads settings and plugins.
        let loaded = in_background(move || site.profile(&profile, &visitor)).await??;
        let opened =
            if once { self.hub.open_once(row, loaded).await } else { self.hub.open(row, loaded).await };
        opened.map_err(|error| {
            let reason = match error.kind() {
                io::ErrorKind::WouldBlock => {
                    "too many sessions are open at the same time; close a tab, or try later".to_owned()
                }
                _ => format!("the session can't be read: {}", streamfmt::problem::reason(&error)),
            };
            HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, reason)
        })
    }
}

async fn sessions(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, HttpRefusal> {
    let query = bad_query(query)?;
    in_background(move || {
        let mut redactor = site.redactor(&visitor);
        html(list(&site.hub.sessions.all(), &query, redactor.as_mut(), &site.guard.base, &site.tab(&visitor)))
    })
    .await
}

/// Runs blocking work off the async threads.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HttpRefusal> {
    let failed = |_| HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, "an internal error");
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

/// The value of a parameter; an empty one counts as none.
fn chosen(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty())
}

#[derive(Deserialize)]
struct SessionQuery {
    profile: Option<String>,
    theme: Option<String>,
    before: Option<String>,
}

async fn session(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    query: Result<Query<SessionQuery>, QueryRejection>,
) -> Result<Response, HttpRefusal> {
    let query = bad_query(query)?;
    let row = site.row(&id).await?;
    let profile = chosen(query.profile).unwrap_or_else(|| USUAL.to_owned());
    let theme = chosen(query.theme);
    let reading = site.open(&row, &profile, &visitor, true).await?;
    reading.live.caught_up(if reading.is_single() { READ } else { PAGE_READ }).await;
    let unknown = || HttpRefusal::new(StatusCode::NOT_FOUND, "no entry of this id");
    let before = chosen(query.before).map(|id| node_hash(&id).ok_or_else(unknown)).transpose()?;
    let response = in_background(move || {
        let themes = site.profiles.themes();
        if theme.as_ref().is_some_and(|theme| !themes.contains(theme)) {
            return Err(HttpRefusal::new(StatusCode::NOT_FOUND, "no theme of this name"));
        }
        let mut redactor = site.redactor(&visitor);
        let choice = PageChoice {
            profile: &profile,
            theme: theme.as_deref(),
            before,
            profiles: &site.profiles.profiles(),
            themes: &themes,
            key: &site.guard.logins.log_key(&row.run.id),
            tab: &site.tab(&visitor),
            has_log: !site.masks(&visitor),
            base: &site.guard.base,
            hash: &reading.live.hash,
            is_single: reading.is_single(),
        };
        let sources = site.hub.sessions.sources(&row.run.id);
        let view = reading.live.view();
        let page = page(&row, &sources, &view, &choice, redactor.as_mut());
        let page = page.map_err(|error| {
            let reason = format!("the page can't be read: {error}");
            HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason)
        })?;
        let page = page.ok_or_else(unknown)?;
        let mut response = html(page);
        if !view.is_caught_up {
            response.headers_mut().insert(header::REFRESH, HeaderValue::from_static("1"));
        }
        Ok(response)
    });
    response.await?
}

#[derive(Deserialize)]
struct EventsQuery {
    profile: Option<String>,
    since: Option<u64>,
    hash: Option<String>,
}

async fn session_events(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    query: Result<Query<EventsQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, HttpRefusal> {
    let query = bad_query(query)?;
    let row = site.row(&id).await?;
    let profile = chosen(query.profile);
    let reading = site.open(&row, profile.as_deref().unwrap_or(USUAL), &visitor, false).await?;
    reading.live.caught_up(READ).await;
    let ViewState { revision, is_done, .. } = reading.live.state();
    let end = is_done.then_some(revision);
    let last = headers.get("last-event-id").map(|last| last.to_str().unwrap_or(""));
    let start = match last {
        Some(last) => match last.rsplit_once(':').map(|(hash, revision)| (hash, revision.parse::<u64>())) {
            Some((hash, Ok(since))) if hash == reading.live.hash && since <= revision => {
                if end == Some(since) {
                    return Ok(StatusCode::NO_CONTENT.into_response());
                }
                ReplayStart::After(since)
            }
            _ => ReplayStart::Anew,
        },
        None if query.hash.is_some_and(|hash| hash != reading.live.hash) => ReplayStart::Anew,
        None => match query.since.unwrap_or(0) {
            since if since > revision => ReplayStart::Anew,
            // The page was written before the end was reached: send `done` again.
            since if end == Some(since) => ReplayStart::After(since.saturating_sub(1)),
            since => ReplayStart::After(since),
        },
    };
    Ok(events::changes(reading, start, site.pace, site.stop.clone()))
}

async fn older_log(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, HttpRefusal> {
    let row = site.row(&id).await?;
    let reading = site.open(&row, OLDER, &visitor, false).await?;
    Ok(events::lines(reading, site.pace, site.stop.clone()))
}

/// The number of bytes of a log that are read at a time.
const PIECE: usize = 256 << 10;

async fn log(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, HttpRefusal> {
    let row = site.row(&id).await?;
    if site.masks(&visitor) {
        let reason = "the raw log isn't masked, and goes beyond this machine only with --show-secrets";
        return Err(HttpRefusal::new(StatusCode::FORBIDDEN, reason));
    }
    let id = row.run.id.clone();
    let (file, length) = in_background(move || open_log(&row.source)).await?.map_err(|error| {
        let reason = format!("the log can't be read: {}", streamfmt::problem::reason(&error));
        HttpRefusal::new(StatusCode::NOT_FOUND, reason)
    })?;
    let (send, pieces) = mpsc::channel::<Bytes>(1);
    tokio::task::spawn_blocking(move || {
        let mut file = file.take(length);
        loop {
            let mut piece = vec![0; PIECE];
            match file.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    piece.truncate(count);
                    if send.blocking_send(piece.into()).is_err() {
                        return;
                    }
                }
            }
        }
    });
    let name = format!("attachment; filename=\"{id}.ndjson\"");
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson".to_owned()),
        (header::CONTENT_DISPOSITION, name),
        (header::CONTENT_LENGTH, length.to_string()),
    ];
    Ok((headers, Body::new(events::BodyPieces(pieces))).into_response())
}

/// Opens the log of a session at the start of the session. Returns it with its current length.
fn open_log(source: &SourceRow) -> io::Result<(File, u64)> {
    let is_packed = source.kind == SourceKind::Run && without_compression(&source.path) != source.path;
    if source.is_copy || is_packed {
        return unpack(source);
    }
    let mut file = open_history(&source.path)?;
    let whole = file.metadata()?.len();
    file.seek(SeekFrom::Start(source.start))?;
    Ok((file, source.size.unwrap_or(u64::MAX).min(whole.saturating_sub(source.start))))
}

/// Decompresses a copy, or a log that was packed, to an unnamed file.
fn unpack(source: &SourceRow) -> io::Result<(File, u64)> {
    let mut copy = UnpackedReader::new(File::open(&source.path)?.take(source.size.unwrap_or(u64::MAX)));
    let mut file = tempfile::tempfile()?;
    let length = io::copy(&mut copy, &mut file)?;
    file.rewind()?;
    Ok((file, length))
}

/// Answers a tab that was open while the server restarted: first proves that this is the server that it knows, then takes its proof, and
/// logs it in again. The tab sends nothing secret before.
async fn tab(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Result<Response, HttpRefusal> {
    let query = request.uri().query().unwrap_or("");
    let of = |name: &str| guard::parameter(query, name).unwrap_or("");
    let ended = || {
        HttpRefusal::new(
            StatusCode::UNAUTHORIZED,
            "this login has ended: streamfmt serve --link prints an address that logs a browser in",
        )
    };
    let number = of("tab").parse().map_err(|_| ended())?;
    let (logins, now) = (&site.guard.logins, Instant::now());
    if of("proof").is_empty() {
        let (proof, challenge) = logins.prove(number, of("nonce"), &visitor.host, now).ok_or_else(ended)?;
        let answer = serde_json::json!({ "v": 1, "proof": proof, "challenge": challenge });
        return Ok(([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response());
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    // Another tab was faster, or the server wasn't gone.
    if logins.of(guard::cookies(request.headers())) == Some(number) {
        return Ok(response);
    }
    let browser = guard::browser(request.headers());
    let cookie = logins.return_in(number, of("challenge"), of("proof"), &visitor.host, &browser, now);
    site.set_cookie(&mut response, &cookie.ok_or_else(ended)?, visitor.is_https);
    Ok(response)
}

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

async fn static_file(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, HttpRefusal> {
    let unknown = || HttpRefusal::new(StatusCode::NOT_FOUND, "no such file");
    let (kind, text) = match &*name {
        // The answer has another id than in a file: dashboards look for this one.
        "page.css" => (CSS, HtmlFragments::STYLE.replace("#answer", "#response").into()),
        "serve.css" => (CSS, STYLE.into()),
        "page.js" => (JS, HtmlFragments::SCRIPT.replace("#answer", "#response").into()),
        "serve.js" => (JS, SCRIPT.into()),
        "icon.svg" => ("image/svg+xml", ICON.into()),
        name => {
            let theme = name.strip_prefix("theme-").and_then(|name| name.strip_suffix(".css"));
            let theme = theme.ok_or_else(unknown)?.to_owned();
            let style = tokio::task::spawn_blocking(move || site.profiles.style(&theme)).await.ok().flatten();
            (CSS, Cow::Owned(style.ok_or_else(unknown)?))
        }
    };
    let tag = format!("\"{}\"", &data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()))[..32]);
    let is_known = headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|known| known.to_str().ok())
        .flat_map(|known| known.split(','))
        .any(|known| known.trim().trim_start_matches("W/") == tag);
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    Ok(([(header::CONTENT_TYPE, kind.to_owned()), (header::ETAG, tag)], text.into_owned()).into_response())
}

#[cfg(test)]
mod tests;
