//! The routes of the server.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use streamfmt::core::redact::{Redaction, Redactor};
use streamfmt::writer::html::HtmlFragments;
use tokio::sync::{mpsc, watch};

use super::events::{self, ReplayStart};
use super::guard::{COOKIE, GuardVerdict, HttpRefusal, RequestGuard, Visitor};
use super::hub::{Hub, Reading};
use super::list::{ListQuery, list};
use super::looks::{KnownLooks, OLDER, SessionLook, USUAL};
use super::page::{PageChoice, page};
use super::sessions::ServedSession;
use super::view::node_hash;
use crate::run_id::RunId;

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
    pub(super) looks: KnownLooks,
    pub(super) shows_secrets: bool,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) refusals: RefusalLog,
}

/// Logs refusals, up to a limit for each second.
pub(super) struct RefusalLog {
    pub(super) report: fn(&str),
    /// The start of the current second, and the number of refusals in it.
    pub(super) told: std::sync::Mutex<(Option<std::time::Instant>, u64)>,
}

/// The most refusals logged in a second.
const TOLD: u64 = 20;

impl RefusalLog {
    fn report(&self, refused: fmt::Arguments<'_>) {
        let mut told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if told.0.is_none_or(|since| since.elapsed() >= Duration::from_secs(1)) {
            if told.1 > TOLD {
                (self.report)(&format!("refused {} further requests", told.1 - TOLD));
            }
            *told = (Some(std::time::Instant::now()), 0);
        }
        told.1 += 1;
        if told.1 <= TOLD {
            (self.report)(&refused.to_string());
        }
    }
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response {
        let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        let mut response = (self.status, kind, format!("{}\n", self.reason)).into_response();
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
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
        .fallback(async || HttpRefusal::new(StatusCode::NOT_FOUND, "no such page"))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guarded))
        .with_state(site)
}

/// Asks the guard, and adds the common headers to every answer.
async fn guarded(
    State(site): State<Arc<Site>>,
    Extension(Peer(peer)): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let mut origin = None;
    let mut response = match site.guard.judge(&request, peer) {
        Ok(GuardVerdict::Answer(visitor)) => {
            origin.clone_from(&visitor.origin);
            request.extensions_mut().insert(visitor);
            with_reason(next.run(request).await)
        }
        Ok(GuardVerdict::Enter(location)) => {
            let path = if site.guard.base.is_empty() { "/" } else { &site.guard.base };
            let cookie = format!(
                "{COOKIE}={}; Path={path}; HttpOnly; SameSite=Strict; Max-Age=31536000",
                site.guard.address.token
            );
            let mut response = see_other(&location);
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            response
        }
        Ok(GuardVerdict::Elsewhere(location)) => see_other(&location),
        Err(refusal) => refusal.into_response(),
    };
    if let Some(HttpRefusal { status, reason }) = response.extensions().get() {
        site.refusals.report(format_args!("refused {method} {path}: {} {reason}", status.as_u16()));
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
    fn masks(&self, visitor: &Visitor) -> bool {
        visitor.is_beyond && !self.shows_secrets
    }

    fn redactor(&self, visitor: &Visitor) -> Option<Redactor> {
        self.masks(visitor).then(|| Redactor::new(&Redaction::everything())).flatten()
    }

    async fn row(&self, id: &str) -> Result<ServedSession, HttpRefusal> {
        let unknown = || HttpRefusal::new(StatusCode::NOT_FOUND, "no session of this id");
        let id: RunId = id.parse().map_err(|_| unknown())?;
        let sessions = Arc::clone(&self.hub.sessions);
        in_background(move || sessions.find(&id)).await?.ok_or_else(unknown)
    }

    fn look(&self, profile: &str, visitor: &Visitor) -> Result<SessionLook, HttpRefusal> {
        let unknown = || HttpRefusal::new(StatusCode::NOT_FOUND, "no profile of this name");
        let look = self.looks.find(profile, self.masks(visitor)).ok_or_else(unknown)?;
        look.map_err(|problems| {
            let first = problems.0.first().map(ToString::to_string).unwrap_or_default();
            let reason = streamfmt::core::text::clean(&format!("the profile can't be used: {first}"))
                .replace('\n', "␊");
            HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason)
        })
    }

    /// Opens a session in a profile.
    async fn open(
        self: &Arc<Self>,
        row: &ServedSession,
        profile: &str,
        visitor: &Visitor,
    ) -> Result<Reading, HttpRefusal> {
        let (site, profile, visitor) = (Arc::clone(self), profile.to_owned(), visitor.clone());
        // Reads settings and plugins.
        let look = in_background(move || site.look(&profile, &visitor)).await??;
        self.hub.open(row, look).await.map_err(|error| {
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
        html(list(&site.hub.sessions.all(), &query, redactor.as_mut(), &site.guard.base))
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
    let reading = site.open(&row, &profile, &visitor).await?;
    reading.live.caught_up(PAGE_READ).await;
    let unknown = || HttpRefusal::new(StatusCode::NOT_FOUND, "no entry of this id");
    let before = chosen(query.before).map(|id| node_hash(&id).ok_or_else(unknown)).transpose()?;
    let response = in_background(move || {
        let themes = site.looks.themes();
        if theme.as_ref().is_some_and(|theme| !themes.contains(theme)) {
            return Err(HttpRefusal::new(StatusCode::NOT_FOUND, "no theme of this name"));
        }
        let mut redactor = site.redactor(&visitor);
        let choice = PageChoice {
            profile: &profile,
            theme: theme.as_deref(),
            before,
            profiles: &site.looks.profiles(),
            themes: &themes,
            key: &site.guard.address.log_key(row.id.as_str()),
            has_log: !site.masks(&visitor),
            base: &site.guard.base,
            hash: &reading.live.hash,
        };
        let sources = site.hub.sessions.sources(&row.id);
        let view = reading.live.view();
        let page = page(&row, &sources, &view, &choice, redactor.as_mut()).ok_or_else(unknown)?;
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
    let reading = site.open(&row, profile.as_deref().unwrap_or(USUAL), &visitor).await?;
    reading.live.caught_up(READ).await;
    let (end, revision) = {
        let view = reading.live.view();
        (view.is_done.then_some(view.revision), view.revision)
    };
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
    Ok(events::changes(reading, start, site.stop.clone()))
}

async fn older_log(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, HttpRefusal> {
    let row = site.row(&id).await?;
    let reading = site.open(&row, OLDER, &visitor).await?;
    Ok(events::lines(reading, site.stop.clone()))
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
    let id = row.id.clone();
    let (file, length) = in_background(move || open_log(&row)).await?.map_err(|error| {
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
fn open_log(row: &ServedSession) -> io::Result<(File, u64)> {
    let mut file = File::open(&row.log)?;
    let whole = file.metadata()?.len();
    file.seek(SeekFrom::Start(row.log_start))?;
    Ok((file, row.log_bytes.unwrap_or(u64::MAX).min(whole.saturating_sub(row.log_start))))
}

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

async fn static_file(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
) -> Result<Response, HttpRefusal> {
    let of = |kind: &'static str, text: String| ([(header::CONTENT_TYPE, kind)], text).into_response();
    let unknown = || HttpRefusal::new(StatusCode::NOT_FOUND, "no such file");
    match &*name {
        "page.css" => Ok(of(CSS, HtmlFragments::STYLE.to_owned())),
        "serve.css" => Ok(of(CSS, STYLE.to_owned())),
        "page.js" => Ok(of(JS, HtmlFragments::SCRIPT.to_owned())),
        "serve.js" => Ok(of(JS, SCRIPT.to_owned())),
        "icon.svg" => Ok(of("image/svg+xml", ICON.to_owned())),
        name => {
            let theme = name.strip_prefix("theme-").and_then(|name| name.strip_suffix(".css"));
            let theme = theme.ok_or_else(unknown)?.to_owned();
            let style = tokio::task::spawn_blocking(move || site.looks.style(&theme)).await.ok().flatten();
            style.map(|style| of(CSS, style)).ok_or_else(unknown)
        }
    }
}
