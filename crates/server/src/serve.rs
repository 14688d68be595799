//! Sessions in the browser while they happen: `streamfmt serve`.
//!
//! ```text
//! browser ─▶ guard ─▶ routes ─▶ hub ─▶ LiveSession, one for each session and profile, on a thread of its own
//!                       ▲                 │ follower ─▶ pipeline ─▶ SessionView
//!                       └── events ◀──────┘ changes since any revision
//! ```
//!
//! The async runtime only passes on bytes and changes. Runs are known only by their files in the folder of sessions: side files, locks and
//! logs. Nothing can be changed from a browser.

mod access_log;
mod address;
mod connections;
mod control;
mod events;
mod facts;
mod guard;
mod html;
mod hub;
mod list;
mod live;
mod logins;
mod page;
mod patience;
mod profiles;
mod routes;
mod sessions;
mod view;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use streamfmt::Folders;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::session_paths::SessionPaths;
use crate::store::{AgentFolder, CopyPolicy};

use access_log::AccessLog;
use address::{AddressFile, NoAddress};
use connections::{ConnectionLimits, ConnectionSlot, Connections, owner_of};
use control::ControlSocket;
use events::StreamPace;
use guard::RequestGuard;
use hub::{Hub, HubLimits};
use logins::{Logins, PRINTED};
use patience::PatientStream;
use profiles::KnownProfiles;
use routes::{Peer, RefusalLog, Site, router};
use sessions::KnownSessions;

pub use control::{ServeRequest, ask_server};

/// The size of the buffer for the head of a request, in bytes.
const HEAD: usize = 32 << 10;
/// How long the head of a request may take, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How often another port is tried.
const PORTS: usize = 32;
/// The answer to a connection that is one too many.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n\
connection: close\r\nretry-after: 5\r\ncache-control: no-store\r\n\r\n\
too many connections are open: close some tabs, or try again later\n";
/// How long open answers may take to end when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How often pipelines without readers are dropped.
const SWEEP: Duration = Duration::from_secs(2);

/// How sessions are served.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where settings and plugins are found. Those of projects are ignored.
    pub folders: Folders,
    /// Where the sessions are stored.
    pub sessions: SessionPaths,
    /// What of new sessions is copied.
    pub copies: CopyPolicy,
    /// The folders of the known agents, which the empty list names.
    pub agents: Vec<AgentFolder>,
    /// The folder for what outlives a restart, and for the socket of [`ask_server`].
    pub state: PathBuf,
    /// The port; by default the last one, if it is free.
    pub port: Option<u16>,
    /// The addresses to listen on, beside those of loopback.
    pub bind: Vec<IpAddr>,
    /// Makes a new secret: keys of logs become invalid, and open tabs must log in again.
    pub new_token: bool,
    /// Keeps logins in a file, so that they outlive the server.
    pub keeps_logins: bool,
    /// The file to which a line for each request is appended.
    pub log: Option<PathBuf>,
    /// Host names beyond loopback that are answered, in lower case, such as that of a proxy.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may read `log.sse`.
    pub allowed_origins: Vec<String>,
    /// The prefix of all paths: empty, or such as `/agents`.
    pub base_path: String,
    /// Whether secrets are shown beyond loopback.
    pub shows_secrets: bool,
    /// Reports refusals and logs that can't be read: one line, not cleaned.
    pub report: fn(&str),
}

/// Why sessions can't be served.
#[derive(Debug)]
pub enum ServeFailure {
    /// Another server is running. Its address with a new token; `None` if it doesn't answer.
    Taken(Option<String>),
    /// The log can't be opened.
    Log(PathBuf, io::Error),
    /// The state can't be kept in this folder.
    State(PathBuf, io::Error),
    /// It can't listen on this address.
    Address(SocketAddr, io::Error),
    /// Something else.
    Other(io::Error),
}

/// A listening server.
#[derive(Debug)]
pub struct Server {
    options: ServeOptions,
    logins: Logins,
    port: u16,
    control: ControlSocket,
    log: Option<AccessLog>,
    listeners: Vec<std::net::TcpListener>,
}

impl Server {
    /// Starts to listen.
    pub fn start(options: ServeOptions) -> Result<Self, ServeFailure> {
        let failed = |error| ServeFailure::State(options.state.clone(), error);
        let opened = AddressFile::open(&options.state, options.new_token);
        let (file, mut address) = opened.map_err(|failure| match failure {
            NoAddress::Taken => {
                let link = ask_server(&options.state, ServeRequest::Link).ok().and_then(Result::ok);
                ServeFailure::Taken(link.map(|address| address.trim_end().to_owned()))
            }
            NoAddress::Failed(error) => failed(error),
        })?;
        let log = options
            .log
            .as_deref()
            .map(|path| AccessLog::open(path).map_err(|error| ServeFailure::Log(path.to_owned(), error)));
        let log = log.transpose()?;
        let last = address.port;
        let listeners = listen(&options, &mut address.port)?;
        let is_lost = last != 0 && options.port.is_none() && address.port != last;
        if is_lost {
            // Whoever holds the old port receives what browsers send there.
            address.renew().map_err(ServeFailure::Other)?;
            let port = address.port;
            (options.report)(&format!(
                "port {last} is taken by another program, so this is port {port}: bookmarks and open tabs don't work any more"
            ));
        }
        address.base.clone_from(&options.base_path);
        file.write(&address).map_err(failed)?;
        let port = address.port;
        let kept = options.state.join("logins.json");
        if is_lost || options.new_token || !options.keeps_logins {
            match std::fs::remove_file(&kept) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        let control = ControlSocket::open(&options.state).map_err(failed)?;
        let logins = Logins::new(address, file, options.keeps_logins.then_some(kept));
        Ok(Self { options, logins, port, control, log, listeners })
    }

    /// An address that logs one browser in, and is valid for ten minutes.
    pub fn url(&self) -> io::Result<String> {
        self.logins.offer(PRINTED)
    }

    /// Writes a file that leads a browser to such an address, valid for one minute: a command line can be read by other users. The file
    /// is removed when the address is used or expires.
    pub fn url_file(&self) -> io::Result<PathBuf> {
        let path = self.options.state.join("open.html");
        self.logins.offer_in(&path)?;
        Ok(path)
    }

    /// Serves until SIGINT or SIGTERM, then ends open streams with a hint to reconnect.
    pub fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(16)
            .enable_all()
            .build()?;
        let served = runtime.block_on(self.serve());
        // Doesn't wait for threads that are blocked on a disk.
        runtime.shutdown_background();
        served
    }

    async fn serve(self) -> io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let (stop, stopped) = watch::channel(false);
        let ServeOptions {
            folders,
            sessions,
            copies,
            agents,
            allowed_hosts,
            allowed_origins,
            base_path,
            shows_secrets,
            report,
            ..
        } = self.options;
        let connections = Arc::new(Connections::new(ConnectionLimits::default()));
        let site = Arc::new(Site {
            guard: RequestGuard {
                logins: self.logins,
                port: self.port,
                hosts: allowed_hosts,
                origins: allowed_origins,
                base: base_path,
            },
            hub: Hub::new(
                Arc::new(KnownSessions::new(sessions, report).with_agents(agents)),
                HubLimits::default(),
                report,
            ),
            profiles: KnownProfiles::new(folders),
            shows_secrets,
            pace: StreamPace::default(),
            stop: stopped.clone(),
            refusals: RefusalLog { report, reported: Mutex::default() },
            log: self.log.map(Arc::new),
            connections: Arc::clone(&connections),
        });
        let has_stopped = Arc::new(AtomicBool::new(false));
        site.hub.sessions.watch_imports(copies, Arc::clone(&has_stopped));
        let router = router(Arc::clone(&site));
        let numbers = Arc::new(AtomicU64::new(0));
        let mut accepting = JoinSet::new();
        for listener in self.listeners {
            let acceptor = Acceptor {
                listener: TcpListener::from_std(listener)?,
                router: router.clone(),
                connections: Arc::clone(&connections),
                numbers: Arc::clone(&numbers),
                site: Arc::clone(&site),
            };
            accepting.spawn(acceptor.accept(stopped.clone()));
        }
        let mut sweep = tokio::time::interval(SWEEP);
        let control = self.control.serve(&site.guard.logins, &connections);
        tokio::pin!(control);
        let mut is_controlled = true;
        loop {
            tokio::select! {
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                _ = sweep.tick() => {
                    site.hub.sweep(Instant::now());
                    site.guard.logins.sweep(Instant::now(), false);
                }
                ended = &mut control, if is_controlled => {
                    is_controlled = false;
                    if let Err(error) = ended {
                        report(&format!("serve --link doesn't work: {error}"));
                    }
                }
            }
        }
        site.guard.logins.sweep(Instant::now(), true);
        stop.send_replace(true);
        has_stopped.store(true, Ordering::Relaxed);
        let _ =
            tokio::time::timeout(LAST_WORDS, async { while accepting.join_next().await.is_some() {} }).await;
        site.hub.stop();
        Ok(())
    }
}

/// Waits until the server should stop.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // If the sender is gone, the server has stopped.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Listens on both loopback addresses and on all requested ones, with the same port: that one, or else the last one, or another.
///
/// Browsers take either loopback address for our host name. So another program that holds one of them would receive what they send.
fn listen(options: &ServeOptions, port: &mut u16) -> Result<Vec<std::net::TcpListener>, ServeFailure> {
    let wanted = options.port.unwrap_or(*port);
    let mut tried = listen_at(&options.bind, wanted);
    if options.port.is_none() {
        for _ in 0..PORTS {
            match &tried {
                // The last port may be in use by another program now, or half of a new one.
                Err((_, error)) if is_taken(error) => tried = listen_at(&options.bind, 0),
                _ => break,
            }
        }
    }
    let listeners = tried.map_err(|(at, error)| ServeFailure::Address(at, error))?;
    *port = listeners[0].local_addr().map_err(ServeFailure::Other)?.port();
    Ok(listeners)
}

/// Whether another program has the port, or this user may not have it.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

fn listen_at(bind: &[IpAddr], port: u16) -> Result<Vec<std::net::TcpListener>, (SocketAddr, io::Error)> {
    let mut listeners: Vec<std::net::TcpListener> = Vec::new();
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let further = loopback.iter().filter(|ip| !bind.contains(ip));
    let mut port = port;
    let mut missing = None;
    for (ip, is_asked) in bind.iter().map(|ip| (ip, true)).chain(further.map(|ip| (ip, false))) {
        if !is_asked && listeners.iter().any(|listener| is_held(listener, *ip)) {
            continue;
        }
        let at = SocketAddr::new(*ip, port);
        match std::net::TcpListener::bind(at).and_then(|listener| {
            listener.set_nonblocking(true)?;
            port = listener.local_addr()?.port();
            Ok(listener)
        }) {
            Ok(listener) => listeners.push(listener),
            // Not every machine has both loopback addresses.
            Err(error) if !is_asked && is_absent(&error) => missing = Some((at, error)),
            Err(error) => return Err((at, error)),
        }
    }
    match missing {
        Some(failure) if listeners.is_empty() => Err(failure),
        _ => Ok(listeners),
    }
}

/// Whether the machine doesn't have such an address.
fn is_absent(error: &io::Error) -> bool {
    let absent = [rustix::io::Errno::ADDRNOTAVAIL, rustix::io::Errno::AFNOSUPPORT];
    error.kind() == io::ErrorKind::AddrNotAvailable
        || absent.iter().any(|absent| error.raw_os_error() == Some(absent.raw_os_error()))
}

/// Whether a listener on all addresses holds this one, too.
fn is_held(listener: &std::net::TcpListener, ip: IpAddr) -> bool {
    match listener.local_addr().map(|at| at.ip()) {
        Ok(IpAddr::V4(all)) => all.is_unspecified() && ip.is_ipv4(),
        Ok(IpAddr::V6(all)) => {
            let is_both = || rustix::net::sockopt::ipv6_v6only(listener).is_ok_and(|is_only| !is_only);
            all.is_unspecified() && (ip.is_ipv6() || is_both())
        }
        Err(_) => false,
    }
}

/// Accepts the connections of one listener.
struct Acceptor {
    listener: TcpListener,
    router: Router,
    connections: Arc<Connections>,
    /// The number of the next connection.
    numbers: Arc<AtomicU64>,
    site: Arc<Site>,
}

impl Acceptor {
    /// Accepts connections until the server stops, then waits for the open ones.
    async fn accept(self, mut stop: watch::Receiver<bool>) {
        let mut open = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let owner = stream
                        .local_addr()
                        .map_or(connections::Owner::Address(peer.ip()), |local| owner_of(peer, local));
                    let number = self.numbers.fetch_add(1, Ordering::Relaxed);
                    if let Some(slot) = self.connections.admit(number, owner) {
                        let router = self.router.clone();
                        open.spawn(serve_connection(stream, peer, router, slot, stop.clone()));
                    } else {
                        let refused = format_args!("refused a connection from {peer}: 503 too many are open");
                        self.site.refusals.report(Instant::now(), refused);
                        let _ = stream.try_write(FULL);
                    }
                }
                // Usually too many open files, which will be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
            while open.try_join_next().is_some() {}
        }
        drop(self.listener);
        while open.join_next().await.is_some() {}
    }
}

async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    slot: ConnectionSlot,
    mut stop: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let slot = Arc::new(slot);
    let service = router.layer(axum::Extension(Arc::clone(&slot))).layer(axum::Extension(Peer(peer)));
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD).half_close(false);
    let io = TokioIo::new(PatientStream::new(stream));
    let connection = builder.serve_connection(io, TowerToHyperService::new(service));
    tokio::pin!(connection);
    // Connections may fail in any way.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = slot.closed() => {}
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

#[cfg(test)]
mod tests;
