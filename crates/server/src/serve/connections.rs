//! The open connections: those that have shown no login can't keep others out.
//!
//! Any user of the machine can connect. So connections without a login are few, for each user and together, and if there are more, the
//! oldest that has sent no complete request is closed, never the newcomer.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::guard::Proof;

/// The most connections at a time.
const ALL: usize = 512;
/// The most connections that have shown no login.
const STRANGERS: usize = 64;
/// The most of those of one user, or of one address.
const OF_ONE: usize = 16;

/// All open connections.
#[derive(Debug)]
pub(super) struct Connections {
    open: Mutex<HashMap<u64, OpenConnection>>,
    limits: ConnectionLimits,
}

/// How many connections may be open.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    pub(super) all: usize,
    pub(super) strangers: usize,
    pub(super) of_one: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { all: ALL, strangers: STRANGERS, of_one: OF_ONE }
    }
}

#[derive(Debug)]
struct OpenConnection {
    owner: Owner,
    stage: Stage,
    close: Arc<Notify>,
}

/// Who opened a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A user of this machine.
    User(u32),
    /// Somebody at this address.
    Address(IpAddr),
    /// A proxy, which connects for many.
    Proxy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No complete request has been received since the last answer.
    Waiting,
    /// A request without a login is being answered.
    Answering,
    /// A login was shown.
    LoggedIn(Proof),
}

/// An open connection; dropped when it ends.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    close: Arc<Notify>,
}

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self { open: Mutex::default(), limits }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, OpenConnection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection; `None` if there are too many. Numbers rise with each connection.
    pub(super) fn admit(self: &Arc<Self>, number: u64, owner: Owner) -> Option<ConnectionSlot> {
        let mut open = self.open();
        if open.len() >= self.limits.all {
            return None;
        }
        let is_stranger = |it: &OpenConnection| !matches!(it.stage, Stage::LoggedIn(_));
        let of_owner = open.values().filter(|it| is_stranger(it) && it.owner == owner).count();
        let strangers = open.values().filter(|it| is_stranger(it)).count();
        let oldest = |is_wanted: &dyn Fn(&OpenConnection) -> bool| {
            open.iter()
                .filter(|(_, it)| it.stage == Stage::Waiting && is_wanted(it))
                .map(|(number, _)| *number)
                .min()
        };
        let closed = if owner != Owner::Proxy && of_owner >= self.limits.of_one {
            oldest(&|it| it.owner == owner)
        } else if strangers >= self.limits.strangers {
            oldest(&|_| true)
        } else {
            None
        };
        if let Some(connection) = closed.and_then(|number| open.remove(&number)) {
            connection.close.notify_one();
        }
        let close = Arc::new(Notify::new());
        open.insert(number, OpenConnection { owner, stage: Stage::Waiting, close: Arc::clone(&close) });
        Some(ConnectionSlot { connections: Arc::clone(self), number, close })
    }

    /// Closes all connections of a login.
    pub(super) fn close_login(&self, number: u64) {
        for connection in self.open().values() {
            if connection.stage == Stage::LoggedIn(Proof::Cookie(number)) {
                connection.close.notify_one();
            }
        }
    }
}

impl ConnectionSlot {
    fn with(&self, change: impl FnOnce(&mut OpenConnection)) {
        if let Some(connection) = self.connections.open().get_mut(&self.number) {
            change(connection);
        }
    }

    /// Notes that a request was received; `is_forwarded`: by a proxy. A login stays with the connection.
    pub(super) fn received(&self, is_forwarded: bool, login: Option<Proof>) {
        self.with(|connection| {
            if is_forwarded {
                connection.owner = Owner::Proxy;
            }
            match login {
                Some(login) => connection.stage = Stage::LoggedIn(login),
                None if connection.stage == Stage::Waiting => connection.stage = Stage::Answering,
                None => {}
            }
        });
    }

    /// Notes that a request was answered.
    pub(super) fn answered(&self) {
        self.with(|connection| {
            if connection.stage == Stage::Answering {
                connection.stage = Stage::Waiting;
            }
        });
    }

    /// Waits until the connection should be closed.
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.open().remove(&self.number);
    }
}

/// Who opened this connection to `local`.
pub(super) fn owner_of(peer: SocketAddr, local: SocketAddr) -> Owner {
    let (peer, local) = (canonical(peer), canonical(local));
    let user = peer.ip().is_loopback().then(|| user_of(peer, local)).flatten();
    user.map_or(Owner::Address(peer.ip()), Owner::User)
}

fn canonical(at: SocketAddr) -> SocketAddr {
    SocketAddr::new(at.ip().to_canonical(), at.port())
}

/// The user whose socket this is, from the kernel's table of sockets (Linux only).
fn user_of(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    let wanted = [peer, local].map(in_table);
    // A socket for both protocols is in the second table, whatever the address.
    let mapped = [peer, local].map(|at| match at.ip() {
        IpAddr::V4(ip) => in_table(SocketAddr::new(ip.to_ipv6_mapped().into(), at.port())),
        IpAddr::V6(_) => in_table(at),
    });
    let own = if peer.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    [(own, &wanted), ("/proc/net/tcp6", &mapped)].into_iter().find_map(|(table, [peer, local])| {
        let table = std::fs::read_to_string(table).ok()?;
        table.lines().skip(1).find_map(|row| {
            let mut fields = row.split_ascii_whitespace();
            let is_it = fields.nth(1) == Some(peer) && fields.next() == Some(local);
            if is_it { fields.nth(4)?.parse().ok() } else { None }
        })
    })
}

/// An address as the table has it: words of four bytes in the order of the processor, then the port.
fn in_table(at: SocketAddr) -> String {
    use std::fmt::Write;
    let octets: Vec<u8> = match at.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let mut text = String::new();
    for word in octets.chunks_exact(4) {
        let word = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
        let _ = write!(text, "{word:08X}");
    }
    let _ = write!(text, ":{:04X}", at.port());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits { all: 8, strangers: 5, of_one: 3 };
    const ME: Owner = Owner::User(1000);
    const OTHER: Owner = Owner::User(65_534);

    fn is_closed(slot: &ConnectionSlot) -> bool {
        slot.connections.open().get(&slot.number).is_none()
    }

    #[test]
    fn the_oldest_of_the_same_user_makes_room_and_never_the_newcomer() {
        let connections = Arc::new(Connections::new(LIMITS));
        let mine = connections.admit(0, ME).unwrap();
        let theirs: Vec<_> = (1..10).map(|number| connections.admit(number, OTHER).unwrap()).collect();
        assert!(!is_closed(&mine), "another user can't close it");
        assert!(theirs[..6].iter().all(is_closed) && !theirs[6..].iter().any(is_closed));
        // A connection with a request in progress isn't closed.
        theirs[6].received(false, None);
        let next = connections.admit(10, OTHER).unwrap();
        assert!(!is_closed(&theirs[6]) && is_closed(&theirs[7]) && !is_closed(&next));
        theirs[6].answered();
        connections.admit(11, OTHER).unwrap();
        assert!(is_closed(&theirs[6]));
    }

    #[test]
    fn strangers_of_many_users_are_limited_together_and_logins_are_not() {
        let connections = Arc::new(Connections::new(LIMITS));
        let known: Vec<_> = (0..3).map(|number| connections.admit(number, ME).unwrap()).collect();
        for slot in &known {
            slot.received(false, Some(Proof::Cookie(1)));
        }
        let many: Vec<_> =
            (10..15).map(|number| connections.admit(number, Owner::User(number as u32)).unwrap()).collect();
        assert!(!many.iter().any(is_closed));
        assert!(connections.admit(20, ME).is_none(), "eight in all");
        drop(known);
        let mine = connections.admit(21, ME).unwrap();
        assert!(is_closed(&many[0]) && !is_closed(&many[1]) && !is_closed(&mine));
    }

    #[test]
    fn connections_of_a_proxy_are_not_counted_for_its_address() {
        let connections = Arc::new(Connections::new(ConnectionLimits { strangers: 100, all: 100, ..LIMITS }));
        let proxied: Vec<_> = (0..10)
            .map(|number| {
                let slot = connections.admit(number, ME).unwrap();
                slot.received(true, None);
                slot.answered();
                slot
            })
            .collect();
        assert!(!proxied.iter().any(is_closed));
    }

    #[test]
    fn the_user_of_a_connection_is_found() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = std::net::TcpListener::bind(address) else { continue };
            let local = listener.local_addr().unwrap();
            let client = std::net::TcpStream::connect(local).unwrap();
            let me = rustix::process::getuid().as_raw();
            if std::path::Path::new("/proc/net/tcp").exists() {
                assert_eq!(owner_of(client.local_addr().unwrap(), local), Owner::User(me));
            }
        }
        let far = "192.0.2.7:99".parse().unwrap();
        assert_eq!(
            owner_of(far, "192.0.2.1:80".parse().unwrap()),
            Owner::Address("192.0.2.7".parse().unwrap())
        );
    }
}
