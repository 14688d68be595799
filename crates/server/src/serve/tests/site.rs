//! A site with sessions, to test its responses.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::{Body, BodyDataStream, to_bytes};
use axum::http::{Request, Response, Version};
use futures_util::StreamExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use streamfmt::Folders;
use tempfile::TempDir;
use tokio::sync::watch;

use crate::serve::access_log::AccessLog;
use crate::serve::address::AddressFile;
use crate::serve::connections::{ConnectionLimits, Connections, Owner};
use crate::serve::events::StreamPace;
use crate::serve::guard::RequestGuard;
use crate::serve::hub::{Hub, HubLimits, Subscription};
use crate::serve::logins::{Logins, PRINTED, TokenUse};
use crate::serve::profiles::{KnownProfiles, USUAL};
use crate::serve::routes::{Peer, RefusalLog, Site, router};
use crate::serve::sessions::KnownSessions;
use crate::session_paths::SessionPaths;
use crate::side_file::ProcessMark;

/// An origin that may read `log.sse`.
pub(in crate::serve) const DASHBOARD: &str = "https://dash.example";

/// The timeout for something that must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// The configuration of a site.
#[derive(Clone, Copy, Default)]
pub(in crate::serve) struct SiteForm {
    pub(in crate::serve) pace: StreamPace,
    pub(in crate::serve) hub: HubLimits,
    pub(in crate::serve) base: &'static str,
    pub(in crate::serve) shows_secrets: bool,
}

/// A site with a logged-in browser: in requests, `OWN` stands for the host and `COOKIE` for the cookie.
pub(in crate::serve) struct TestSite {
    pub(in crate::serve) site: Arc<Site>,
    pub(in crate::serve) folder: TempDir,
    pub(in crate::serve) cookie: String,
    pub(in crate::serve) stop: watch::Sender<bool>,
}

impl TestSite {
    pub(in crate::serve) fn new(form: SiteForm) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (file, address) = AddressFile::open(folder.path(), false).unwrap();
        let logins = Logins::new(address, file, None);
        let token = logins.offer(PRINTED).unwrap();
        let (_, token) = token.split_once("?token=").unwrap();
        let now = Instant::now();
        let entered = logins.enter(token, std::iter::empty(), "a browser", now).unwrap();
        let TokenUse::New(cookie) = entered else { panic!("{entered:?}") };
        let paths = SessionPaths { folder: folder.path().join("data/sessions") };
        fs::create_dir_all(&paths.folder).unwrap();
        let (stop, stopped) = watch::channel(false);
        let site = Arc::new(Site {
            guard: RequestGuard {
                logins,
                port: 0,
                hosts: vec!["proxy.example".to_owned()],
                origins: vec![DASHBOARD.to_owned()],
                base: form.base.to_owned(),
            },
            hub: Hub::new(Arc::new(KnownSessions::new(paths, |_| ())), form.hub, |_| ()),
            profiles: KnownProfiles::new(Folders::default()),
            shows_secrets: form.shows_secrets,
            pace: form.pace,
            stop: stopped,
            refusals: RefusalLog { report: |_| (), reported: Mutex::default() },
            log: Some(Arc::new(AccessLog::open(&folder.path().join("access.log")).unwrap())),
            connections: Arc::new(Connections::new(ConnectionLimits::default())),
        });
        Self { site, folder, cookie, stop }
    }

    /// Adds a run that has ended, or that is in progress as long as this process. `part`: its start and length in the log.
    pub(in crate::serve) fn run(
        &self,
        number: u8,
        is_running: bool,
        log: &Path,
        part: (u64, Option<u64>),
    ) -> String {
        let id = format!("20261123-22410{number}-k3x9qa");
        let (status, ended) =
            if is_running { ("running", None) } else { ("done", Some("2026-11-23T22:41:09Z")) };
        let mut side = serde_json::json!({
            "v": 1, "id": id, "status": status, "command": ["agent"], "folder": "/", "log": log,
            "log_start": part.0, "started": "2026-11-23T22:41:03Z",
            "recorder": ProcessMark::of(std::process::id()),
        });
        side["log_bytes"] = part.1.into();
        side["ended"] = ended.into();
        fs::write(self.folder.path().join(format!("data/sessions/{id}.json")), side.to_string()).unwrap();
        id
    }

    /// A reader of a session.
    pub(in crate::serve) async fn reading(&self, id: &str) -> Subscription {
        let row = self.site.hub.sessions.find(id).unwrap();
        let profile = self.site.profiles.find(USUAL, false).unwrap().unwrap();
        self.site.hub.open(&row, profile).await.unwrap()
    }

    pub(in crate::serve) fn log(&self, name: &str, text: &[u8]) -> std::path::PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Answers a request, written as for [`asked`].
    pub(in crate::serve) async fn ask(&self, request: &str) -> Response<Body> {
        let own = self.site.guard.logins.host();
        let (request, peer) = asked(&request.replace("OWN", &own).replace("COOKIE", &self.cookie));
        let slot = Arc::new(self.site.connections.admit(0, Owner::Proxy).unwrap());
        let routes = router(Arc::clone(&self.site)).layer(Extension(slot)).layer(Extension(Peer(peer)));
        TowerToHyperService::new(routes).call(request.map(|()| Body::empty())).await.unwrap()
    }

    /// Answers a request from the logged-in browser.
    pub(in crate::serve) async fn get(&self, path: &str) -> Response<Body> {
        self.ask(&format!("GET {path} | host: OWN | cookie: streamfmt=COOKIE")).await
    }
}

/// A request and its origin. `text`: its first line and its headers, separated by `|`. `peer` isn't a header.
pub(in crate::serve) fn asked(text: &str) -> (Request<()>, SocketAddr) {
    let mut lines = text.split('|').map(str::trim);
    let mut line = lines.next().unwrap().split(' ');
    let mut request = Request::builder().method(line.next().unwrap()).uri(line.next().unwrap());
    if line.next().is_some() {
        request = request.version(Version::HTTP_10);
    }
    let mut peer = "127.0.0.1";
    for header in lines {
        let (name, value) = header.split_once(':').unwrap();
        match name {
            "peer" => peer = value.trim(),
            _ => request = request.header(name, value.trim().as_bytes()),
        }
    }
    (request.body(()).unwrap(), SocketAddr::new(peer.parse().unwrap(), 50_000))
}

/// The value of a header; empty if there is none.
pub(in crate::serve) fn header<'a>(response: &'a Response<Body>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// The whole body of an answer.
pub(in crate::serve) async fn body(response: Response<Body>) -> Vec<u8> {
    to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()
}

pub(in crate::serve) async fn text(response: Response<Body>) -> String {
    String::from_utf8(body(response).await).unwrap()
}

/// A response that is still open.
pub(in crate::serve) struct OpenAnswer {
    pieces: BodyDataStream,
    /// The text so far.
    pub(in crate::serve) text: String,
}

impl OpenAnswer {
    pub(in crate::serve) fn of(response: Response<Body>) -> Self {
        Self { pieces: response.into_body().into_data_stream(), text: String::new() }
    }

    /// Reads for this time.
    pub(in crate::serve) async fn wait(&mut self, most: Duration) {
        while let Ok(Some(piece)) = tokio::time::timeout(most, self.pieces.next()).await {
            self.text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        }
    }

    /// Reads on until the text contains these words. Returns whether it does before the end.
    pub(in crate::serve) async fn until(&mut self, words: &str) -> bool {
        while !self.text.contains(words) {
            let Some(piece) = self.pieces.next().await else { return false };
            self.text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        }
        true
    }
}

/// Runs a test that waits for responses; one that never arrives fails it.
pub(in crate::serve) fn run_async<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let test = async { tokio::time::timeout(PATIENCE, test).await };
    runtime.block_on(test).expect("it waits in vain")
}
