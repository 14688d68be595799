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

mod address;
mod events;
mod facts;
mod guard;
mod html;
mod hub;
mod list;
mod live;
mod looks;
mod page;
mod patience;
mod routes;
mod sessions;
mod spool;
mod view;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use streamfmt::Folders;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::session_paths::SessionPaths;

use address::{AddressFile, KeptAddress, NoAddress};
use guard::RequestGuard;
use hub::{Hub, HubLimits};
use looks::KnownLooks;
use patience::PatientStream;
use routes::{Peer, RefusalLog, Site, router};
use sessions::KnownSessions;

/// The most connections at a time.
const CONNECTIONS: usize = 512;
/// The size of the buffer for the head of a request, in bytes.
const HEAD: usize = 32 << 10;
/// How long the head of a request may take, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(20);
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
    /// The folder for the port and the token.
    pub state: PathBuf,
    /// The port; by default the last one, if it is free.
    pub port: Option<u16>,
    /// The addresses to listen on; by default those of loopback.
    pub bind: Vec<IpAddr>,
    /// Makes a new token, which invalidates the printed one.
    pub new_token: bool,
    /// Host names beyond loopback that are answered, such as that of a proxy.
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
    /// Another server is running at this address, token included; `None` if it isn't known.
    Taken(Option<String>),
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
    address: KeptAddress,
    /// A single-use token.
    once: String,
    listeners: Vec<std::net::TcpListener>,
    _file: AddressFile,
}

impl Server {
    /// Starts to listen.
    pub fn start(options: ServeOptions) -> Result<Self, ServeFailure> {
        let opened = AddressFile::open(&options.state, options.new_token);
        let (file, mut address) = opened.map_err(|failure| match failure {
            NoAddress::Taken(address) => {
                ServeFailure::Taken(address.map(|address| address.url(&options.base_path)))
            }
            NoAddress::Failed(error) => ServeFailure::State(options.state.clone(), error),
        })?;
        let listeners = listen(&options, &mut address)?;
        file.write(&address).map_err(|error| ServeFailure::State(options.state.clone(), error))?;
        let once = address::new_token().map_err(ServeFailure::Other)?;
        Ok(Self { options, address, once, listeners, _file: file })
    }

    /// Its address, with the token.
    pub fn url(&self) -> String {
        self.address.url(&self.options.base_path)
    }

    /// An address with a single-use token, for the command line of a browser, which other users of the machine can read.
    pub fn url_once(&self) -> String {
        self.address.url_with(&self.options.base_path, &self.once)
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
            allowed_hosts,
            allowed_origins,
            base_path,
            shows_secrets,
            report,
            ..
        } = self.options;
        let site = Arc::new(Site {
            guard: RequestGuard {
                address: self.address,
                once: Mutex::new(Some((self.once, Instant::now()))),
                hosts: allowed_hosts,
                origins: allowed_origins,
                base: base_path,
            },
            hub: Hub::new(Arc::new(KnownSessions::new(sessions, report)), HubLimits::default(), report),
            looks: KnownLooks::new(folders),
            shows_secrets,
            stop: stopped.clone(),
            refusals: RefusalLog { report, told: Mutex::default() },
        });
        let router = router(Arc::clone(&site));
        let limit = Arc::new(Semaphore::new(CONNECTIONS));
        let mut accepting = JoinSet::new();
        for listener in self.listeners {
            let listener = TcpListener::from_std(listener)?;
            accepting.spawn(accept(listener, router.clone(), Arc::clone(&limit), stopped.clone()));
        }
        let mut sweep = tokio::time::interval(SWEEP);
        loop {
            tokio::select! {
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                _ = sweep.tick() => site.hub.sweep(),
            }
        }
        stop.send_replace(true);
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

/// Listens on all requested addresses, with the same port.
fn listen(
    options: &ServeOptions,
    address: &mut KeptAddress,
) -> Result<Vec<std::net::TcpListener>, ServeFailure> {
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let is_asked = !options.bind.is_empty();
    let addresses = if is_asked { options.bind.as_slice() } else { &loopback };
    let wanted = options.port.unwrap_or(address.port);
    let open = |at: SocketAddr| {
        let listener = std::net::TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    let first = SocketAddr::new(addresses[0], wanted);
    let listener = open(first).or_else(|error| {
        // The last port may be in use by another program now.
        if options.port.is_none() && wanted != 0 {
            open(SocketAddr::new(addresses[0], 0))
        } else {
            Err(error)
        }
    });
    let listener = listener.map_err(|error| ServeFailure::Address(first, error))?;
    address.port = listener.local_addr().map_err(ServeFailure::Other)?.port();
    let mut listeners = vec![listener];
    for ip in &addresses[1..] {
        let at = SocketAddr::new(*ip, address.port);
        match open(at) {
            Ok(listener) => listeners.push(listener),
            // Not every machine has both loopback addresses.
            Err(_) if !is_asked => {}
            Err(error) => return Err(ServeFailure::Address(at, error)),
        }
    }
    Ok(listeners)
}

/// Accepts connections until the server stops, then waits for the open ones.
async fn accept(
    listener: TcpListener,
    router: Router,
    limit: Arc<Semaphore>,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        let permit = tokio::select! {
            permit = Arc::clone(&limit).acquire_owned() => permit,
            () = stopped(&mut stop) => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    serve_connection(stream, peer, router, stop).await;
                    drop(permit);
                });
            }
            // Usually too many open files, which will be closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    mut stop: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let service = router.layer(axum::Extension(Peer(peer)));
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD).half_close(false);
    let io = TokioIo::new(PatientStream::new(stream));
    let connection = builder.serve_connection(io, TowerToHyperService::new(service));
    tokio::pin!(connection);
    // Connections may fail in any way.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
