//! The example of a handler for axum: over real connections, with clients that read, wait and leave.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags};
use streamfmt::Engine;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

#[path = "../examples/axum_session.rs"]
#[expect(dead_code, reason = "the example is a program")]
mod axum_session;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
/// The timeout for something that must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of a folder, for as long as this lives.
struct Served {
    folder: TempDir,
    address: SocketAddr,
    _runtime: Runtime,
}

fn engine() -> Engine {
    Engine::builder().dialect("claude").writer("text").build().unwrap()
}

fn serve() -> Served {
    let (folder, runtime) = (TempDir::new().unwrap(), Runtime::new().unwrap());
    let routes = axum_session::routes(engine(), folder.path().to_owned());
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { axum::serve(listener, routes).await });
    Served { folder, address, _runtime: runtime }
}

impl Served {
    /// A connection that has requested a session. In HTTP/1.0, the end of the connection is the end of the text.
    fn ask(&self, name: &str) -> TcpStream {
        let mut client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(client, "GET /sessions/{name} HTTP/1.0\r\n\r\n").unwrap();
        client
    }

    /// A session that grows: the server reads whatever is written to the file.
    fn growing(&self, name: &str) -> impl FnOnce() -> File + use<> {
        let path = self.folder.path().join(name);
        rustix::fs::mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        move || File::options().write(true).open(path).unwrap()
    }
}

fn reply(text: &str) -> String {
    format!(
        "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
    )
}

/// Reads until the text contains `end`. Returns all of it.
fn read_until(client: &mut TcpStream, end: &str) -> String {
    let (mut all, mut buffer) = (Vec::new(), [0; 1024]);
    while !String::from_utf8_lossy(&all).contains(end) {
        let length = client.read(&mut buffer).unwrap();
        assert!(length > 0, "the end came before {end:?}: {}", String::from_utf8_lossy(&all));
        all.extend(&buffer[..length]);
    }
    String::from_utf8(all).unwrap()
}

/// The rest of the answer to a client.
fn rest(mut client: TcpStream) -> String {
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_client_gets_the_text_of_a_session() {
    let served = serve();
    std::fs::copy(SAMPLE, served.folder.path().join("shop.jsonl")).unwrap();
    let mut expected = String::new();
    engine().format(File::open(SAMPLE).unwrap(), &mut expected).unwrap();
    let answer = rest(served.ask("shop.jsonl"));
    let (head, text) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200 OK"), "{head}");
    assert_eq!(text, expected);
    for name in ["none.jsonl", "..%2Fetc%2Fpasswd", "%2e%2e", ".hidden"] {
        let answer = rest(served.ask(name));
        assert!(answer.starts_with("HTTP/1.0 404"), "{name}: {answer}");
    }
}

#[test]
fn text_comes_while_the_session_grows() {
    let served = serve();
    let open = served.growing("growing");
    let mut client = served.ask("growing");
    let mut session = open();
    session.write_all(reply("The first.").as_bytes()).unwrap();
    session.write_all(reply("The second.").as_bytes()).unwrap();
    let first = read_until(&mut client, "The first.");
    assert!(first.starts_with("HTTP/1.0 200 OK"), "{first}");
    session.write_all(reply("The last.").as_bytes()).unwrap();
    drop(session);
    let text = first + &rest(client);
    assert!(text.ends_with("  The first.\n\n  The second.\n\n  The last.\n"), "{text}");
}

#[test]
fn nothing_is_read_any_more_once_the_client_is_gone() {
    let served = serve();
    let open = served.growing("left");
    let client = served.ask("left");
    let mut session = open();
    drop(client);
    let error = (0..100_000).find_map(|_| session.write_all(reply("Is anybody there?").as_bytes()).err());
    assert_eq!(error.expect("the server closes the session").kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_client_that_waits_makes_the_session_wait() {
    const MOST: usize = 128 << 20;
    let served = serve();
    let open = served.growing("waits");
    let mut client = served.ask("waits");
    let mut session = open();
    let line = reply(&"All work and no play. ".repeat(100));
    session.write_all(line.as_bytes()).unwrap();
    let begin = read_until(&mut client, "All work");
    // Text that the client doesn't read stays in the pipe, until it is full.
    rustix::fs::fcntl_setfl(&session, OFlags::NONBLOCK).unwrap();
    let mut written = line.len();
    let is_full = |session: &File| {
        let wait = Timespec { tv_sec: 2, tv_nsec: 0 };
        poll(&mut [PollFd::new(session, PollFlags::OUT)], Some(&wait)).unwrap() == 0
    };
    let mut rest_of_line: &[u8] = b"";
    while !is_full(&session) {
        if rest_of_line.is_empty() {
            rest_of_line = line.as_bytes();
        }
        match session.write(rest_of_line) {
            Ok(length) => {
                written += length;
                rest_of_line = &rest_of_line[length..];
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        assert!(written < MOST, "all of it was read for a client that takes nothing");
    }
    // In the end, the client gets everything.
    let reader = thread::spawn(move || begin + &rest(client));
    rustix::fs::fcntl_setfl(&session, OFlags::empty()).unwrap();
    session.write_all(rest_of_line).unwrap();
    written += rest_of_line.len();
    drop(session);
    let text = reader.join().unwrap();
    assert_eq!(text.matches("All work").count(), written / line.len() * 100);
}
