//! `serve` against others: programs that occupy its port, users who see its address, proxies, idle connections.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::program::{Folder, Signal, has_program, quoted, skip, until};
use crate::run::{agents, command, run};
use crate::serve::{Answer, Served, ids};

fn head(served: &Served<'_>) -> String {
    format!("Host: {}", served.host)
}

fn enter(served: &Served<'_>, token: &str, headers: &[&str]) -> Answer {
    let host = head(served);
    let headers: Vec<&str> = [&*host].into_iter().chain(headers.iter().copied()).collect();
    served.ask(&format!("/?token={token}"), &headers)
}

fn has_second_loopback() -> bool {
    TcpListener::bind("[::1]:0").is_ok()
}

#[test]
fn an_address_that_somebody_else_used_first_lets_nobody_in() {
    let folder = Folder::for_programs();
    let served = Served::start(&folder, "");
    let token = served.link();
    let thief = enter(&served, &token, &[]);
    let cookie = format!("Cookie: {}", thief.header("set-cookie").unwrap().split(';').next().unwrap());
    assert_eq!(served.ask("/", &[&head(&served), &cookie]).status, 200);
    let stream = served.send("/", &[&head(&served), &cookie]);
    drop(stream);
    let owner = enter(&served, &token, &[]);
    assert_eq!((owner.status, owner.header("set-cookie")), (401, None));
    assert_eq!(served.ask("/", &[&head(&served), &cookie]).status, 401, "the thief is out as well");
    assert!(
        served.messages().contains("a used address was opened again from 127.0.0.1:"),
        "{}",
        served.messages()
    );
    assert_eq!(served.get("/").status, 200, "another login goes on");
    // The browser that used a token may use it again.
    let token = served.link();
    let first = enter(&served, &token, &[]);
    let own = format!("Cookie: {}", first.header("set-cookie").unwrap().split(';').next().unwrap());
    assert_eq!(enter(&served, &token, &[&own]).status, 303);
    assert_eq!(served.ask("/", &[&head(&served), &own]).status, 200);
}

#[test]
fn a_port_that_another_program_holds_on_either_loopback_address_is_not_used() {
    if !has_second_loopback() {
        return;
    }
    let folder = Folder::for_programs();
    let served = Served::start(&folder, "");
    let (host, port, cookie) = (served.host.clone(), served.port, served.cookie());
    // While it runs, no other program can bind either address.
    for address in ["127.0.0.1", "[::1]"] {
        assert!(TcpListener::bind(format!("{address}:{port}")).is_err(), "{address}");
    }
    assert_eq!(served.running.end(Signal::TERM).code, Some(0));
    for address in ["127.0.0.1", "[::1]"] {
        let squatter = TcpListener::bind(format!("{address}:{port}")).unwrap();
        let refused = run(&folder, &format!("serve --port {port}"));
        assert_eq!(refused.code, Some(2), "{address}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("can't listen at") && refused.stderr.contains("in use"),
            "{}",
            refused.stderr
        );
        let served = Served::start(&folder, "");
        assert_ne!(served.port, port, "{address}");
        assert_ne!(
            served.host.split('.').next(),
            host.split('.').next(),
            "{address}: the name is new as well"
        );
        assert_eq!(served.ask("/", &[&head(&served), &cookie]).status, 401);
        assert!(served.messages().contains("is taken by another program"), "{}", served.messages());
        assert_eq!(served.running.end(Signal::TERM).code, Some(0));
        drop(squatter);
        // The next round needs this round's first port again.
        let text = folder
            .read("home/.local/state/streamfmt/serve.json")
            .replace(&format!("{}", served_port(&folder)), &port.to_string());
        folder.write("home/.local/state/streamfmt/serve.json", text);
    }
}

fn served_port(folder: &Folder) -> u64 {
    let kept: serde_json::Value =
        serde_json::from_str(&folder.read("home/.local/state/streamfmt/serve.json")).unwrap();
    kept["port"].as_u64().unwrap()
}

#[test]
fn both_loopback_addresses_are_held_whatever_it_binds_to() {
    if !has_second_loopback() {
        return;
    }
    for bind in ["127.0.0.1", "::1", "0.0.0.0", "::"] {
        let folder = Folder::for_programs();
        let served = Served::without_login(&folder, command(&folder, &format!("serve --bind {bind}")));
        for address in ["127.0.0.1", "[::1]"] {
            let taken = TcpListener::bind(format!("{address}:{}", served.port));
            assert!(taken.is_err(), "--bind {bind} leaves {address} to others");
            let mut stream = TcpStream::connect(format!("{address}:{}", served.port)).unwrap();
            write!(stream, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer}");
        }
    }
}

#[test]
fn what_a_proxy_sends_goes_beyond_this_machine() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let folder = agents(&[("agent", &format!("echo {secret}"))]);
    assert_eq!(run(&folder, "run --to text -- ./agent").code, Some(0));
    let id = ids(&folder).remove(0);
    let served = Served::start(&folder, "--allow-host Proxy.example");
    let (host, cookie, page) = (head(&served), served.cookie(), format!("/sessions/{id}"));
    assert!(served.ask(&page, &[&host, &cookie]).body.contains(secret));
    for header in [
        "X-Forwarded-For: 203.0.113.5",
        "Forwarded: for=203.0.113.5",
        "Via: 1.1 proxy",
        "X-Real-IP: 203.0.113.5",
    ] {
        let answer = served.ask(&page, &[&host, &cookie, header]);
        assert!(answer.status == 200 && !answer.body.contains(secret), "{header}");
        assert_eq!(served.ask(&format!("{page}/log"), &[&host, &cookie, header]).status, 403, "{header}");
    }
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    write!(stream, "GET {page} HTTP/1.0\r\n{host}\r\n{cookie}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 ") && !answer.contains(secret), "a proxy that speaks HTTP/1.0");
    // Host names are case-insensitive.
    assert_eq!(served.ask(&page, &["Host: PROXY.example", &cookie]).status, 200);
    assert_eq!(served.ask(&page, &[&host.to_uppercase().replace("HOST:", "Host:"), &cookie]).status, 200);
    // A refusal names the missing option.
    let foreign = served.ask("/", &["Host: other.example", &cookie]);
    assert!(foreign.status == 421 && foreign.body.contains("--allow-host"), "{}", foreign.body);
    let token = served.link();
    let bare = format!("Host: 127.0.0.1:{}", served.port);
    let hidden = served.ask(&format!("/?token={token}"), &[&bare, "X-Forwarded-For: 203.0.113.5"]);
    assert!(hidden.status == 421 && hidden.body.contains("forward Host"), "{}", hidden.body);
    // A browser that connected by https sends its cookie by https only.
    for (header, is_secure) in [
        ("X-Forwarded-Proto: https", true),
        ("X-Forwarded-Proto: https, http", true),
        ("Forwarded: for=203.0.113.5;proto=https, for=10.0.0.1;proto=http", true),
        ("X-Forwarded-Proto: http", false),
        ("X-Real-IP: 203.0.113.5", false),
    ] {
        let entered = served.ask(&format!("/?token={}", served.link()), &["Host: proxy.example", header]);
        assert_eq!(entered.header("set-cookie").unwrap().ends_with("; Secure"), is_secure, "{header}");
    }
    for twice in [
        "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site",
        "Origin: null\r\nOrigin: null",
        "X-Forwarded-Proto: https\r\nX-Forwarded-Proto: http",
    ] {
        assert!([400, 403].contains(&served.ask(&page, &[&host, &cookie, twice]).status), "{twice}");
    }
    assert_eq!(served.ask("/healthz", &["Host: anything.example"]).body, "ok\n");
}

#[test]
fn an_arrival_from_another_site_logs_in_and_nothing_else_does() {
    let folder = Folder::for_programs();
    let served = Served::start(&folder, "");
    let arrival = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"];
    let answer = enter(&served, &served.link(), &arrival);
    assert!(answer.status == 200 && answer.header("set-cookie").is_some(), "{}", answer.head);
    assert!(
        answer.body.contains("content=\"0; url=/\"") && !answer.body.contains("token="),
        "{}",
        answer.body
    );
    for wrong in [
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"],
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"],
        ["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"],
    ] {
        let token = served.link();
        assert_eq!(enter(&served, &token, &wrong).status, 403, "{wrong:?}");
        assert_eq!(enter(&served, &token, &[]).status, 303, "it isn't used up: {wrong:?}");
    }
    let host = head(&served);
    assert_eq!(
        served.ask("/", &[&host, &served.cookie(), arrival[0], arrival[1], arrival[2]]).status,
        403,
        "without a token"
    );
    // HEAD doesn't use up a token.
    let token = served.link();
    let looked = served.ask_by("HEAD", &format!("/?token={token}"), &[&host]);
    assert_eq!((looked.status, looked.header("set-cookie")), (303, None));
    assert_eq!(enter(&served, &token, &[]).status, 303);
    assert_eq!(served.ask_by("HEAD", &format!("/?token={token}"), &[&host]).status, 401);
    assert_eq!(served.get("/").status, 200, "and ends no login");
}

#[test]
fn half_sent_requests_keep_nobody_out() {
    let folder = Folder::for_programs();
    let served = Served::start(&folder, "");
    let mut half: Vec<TcpStream> = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nHost:").unwrap();
        half.push(stream);
    }
    assert_eq!(served.get("/").status, 200);
    let mut closed = 0;
    for stream in &mut half {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // Closed either at once, because there were too many, or after five seconds.
        closed += usize::from(matches!(stream.read(&mut [0; 512]), Ok(_) | Err(_)));
    }
    assert_eq!(closed, 200);
    assert_eq!(served.get("/").status, 200);
}

#[test]
fn another_user_keeps_nobody_out_and_reads_nothing() {
    if !["setpriv", "bash"].into_iter().all(has_program) || !is_root() {
        return skip("only root can act as another user");
    }
    let folder = Folder::for_programs();
    let served = Served::start(&folder, "--keep-logins");
    let state = folder.path("home/.local/state/streamfmt");
    let as_other = |script: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", script]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    };
    for file in ["serve.json", "logins.json", "serve.sock"] {
        let path = quoted(state.join(file));
        let read = as_other(&format!("cat {path} || echo x > {path}")).output().unwrap();
        assert!(!read.status.success() && read.stdout.is_empty(), "{file}");
    }
    // The owner's half-sent request stays open: the other user's connections only displace each other.
    let mut mine = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    write!(mine, "GET /healthz HTTP/1.1\r\n").unwrap();
    let port = served.port;
    let script = format!(
        "for n in {{1..40}}; do exec {{c}}<>/dev/tcp/127.0.0.1/{port}; printf 'GET / HTTP/1.1\\r\\nHost:' >&$c; done; echo ready; read"
    );
    let mut other = as_other(&script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 6];
    other.stdout.take().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"ready\n");
    write!(mine, "Host: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    mine.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(served.get("/").status, 200);
    drop(other.stdin.take());
    other.wait().unwrap();
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0)
}

#[test]
fn logins_are_listed_and_ended_with_their_open_streams() {
    let folder = agents(&[("agent", "echo one; while [ ! -e go ]; do sleep 0.02; done")]);
    let agent = crate::program::Running::start(&folder, "run --to text -- ./agent");
    until(|| "no run".to_owned(), || !ids(&folder).is_empty());
    let served = Served::start(&folder, "");
    let host = head(&served);
    let entered = enter(&served, &served.link(), &["User-Agent: Browser 1.0"]);
    let cookie = format!("Cookie: {}", entered.header("set-cookie").unwrap().split(';').next().unwrap());
    let mut stream = served.send(&format!("/sessions/{}/events", ids(&folder)[0]), &[&host, &cookie]);
    stream.read_exact(&mut [0; 16]).unwrap();
    let listed = run(&folder, "serve --browsers");
    assert!(listed.code == Some(0) && listed.stdout.lines().count() == 2, "{}", listed.stdout);
    assert!(
        listed.stdout.contains("\n2  since ") && listed.stdout.ends_with("  Browser 1.0\n"),
        "{}",
        listed.stdout
    );
    let ended = run(&folder, "serve --revoke 2");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "browser 2 is logged out\n"));
    let mut rest = Vec::new();
    // The stream ends or breaks off.
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(served.ask("/", &[&host, &cookie]).status, 401);
    assert_eq!(served.get("/").status, 200);
    assert_eq!(run(&folder, "serve --revoke 7").code, Some(2));
    folder.write("go", "");
    agent.wait();
    assert_eq!(served.running.end(Signal::TERM).code, Some(0));
    let alone = run(&folder, "serve --link");
    assert_eq!((alone.code, alone.stdout.as_str()), (Some(2), ""));
    assert!(alone.stderr.contains("no server is running"), "{}", alone.stderr);
}

#[test]
fn logins_outlive_the_server_only_on_request() {
    let folder = Folder::for_programs();
    for (options, expected) in [("", 401), ("--keep-logins", 200), ("--keep-logins --new-token", 401)] {
        let first = Served::start(&folder, "--keep-logins");
        let cookie = first.cookie();
        first.running.send(Signal::KILL);
        drop(first);
        let second = Served::start(&folder, options);
        assert_eq!(second.ask("/", &[&head(&second), &cookie]).status, expected, "{options}");
        assert_eq!(second.running.end(Signal::TERM).code, Some(0));
    }
}

#[test]
fn no_secret_is_in_an_argument_the_environment_a_log_or_a_message() {
    let folder = agents(&[("agent", "echo one")]);
    assert_eq!(run(&folder, "run --to text -- ./agent").code, Some(0));
    let id = ids(&folder).remove(0);
    let served = Served::start(&folder, "--keep-logins --log access.log");
    let page = served.get(&format!("/sessions/{id}")).body;
    let key = page.split("log.sse?key=").nth(1).unwrap()[..32].to_owned();
    let tab = page.split("data-key=\"").nth(1).unwrap()[..32].to_owned();
    let link = served.link();
    enter(&served, &link, &[]);
    enter(&served, &link, &[]);
    served.ask(&format!("/sessions/{id}/log.sse?key={key}"), &[&head(&served)]);
    served.ask("/?q=words+of+a+search", &[&head(&served), &served.cookie()]);
    let cookie = served.cookie().split_once('=').unwrap().1.to_owned();
    let secrets = [&served.token, &link, &cookie, &key, &tab];
    until(|| "no line for a search".to_owned(), || folder.read("access.log").contains("?q="));
    let log = folder.read("access.log");
    let first = log.lines().find(|line| line.contains(&format!("/sessions/{id}"))).unwrap();
    let fields: Vec<&str> = first.split(' ').collect();
    assert!(fields.len() == 7 && fields[1].starts_with("127.0.0.1:") && fields[2] == "GET", "{first}");
    assert_eq!((fields[4], fields[5]), ("200", &*page.len().to_string()));
    assert!(!log.contains("search"));
    let mut texts = vec![log, served.messages()];
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let read = |name: &str| fs::read(process.path().join(name)).unwrap_or_default();
        texts.extend(["cmdline", "environ"].map(|name| String::from_utf8_lossy(&read(name)).into_owned()));
    }
    for entry in fs::read_dir(folder.path("home/.local/state/streamfmt")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    for text in texts {
        for secret in secrets {
            assert!(!text.contains(secret.as_str()), "{secret} in {text:.300}");
        }
    }
}

#[test]
fn static_files_have_tags_and_pages_are_compressed_unless_they_hold_a_token() {
    let folder = agents(&[("agent", "echo one")]);
    assert_eq!(run(&folder, "run --to text -- ./agent").code, Some(0));
    let id = ids(&folder).remove(0);
    let served = Served::start(&folder, "");
    let (host, cookie) = (head(&served), served.cookie());
    let script = served.get("/static/serve.js");
    let tag = script.header("etag").unwrap();
    let known = served.ask("/static/serve.js", &[&host, &format!("If-None-Match: \"x\", {tag}")]);
    assert_eq!((known.status, known.body.as_str()), (304, ""));
    let wants = "Accept-Encoding: gzip";
    let coding = |path: &str| {
        let answer = served.ask(path, &[&host, &cookie, wants]);
        answer.header("content-encoding").map(str::to_owned)
    };
    let page = format!("/sessions/{id}");
    assert_eq!(coding(&page).as_deref(), Some("gzip"));
    assert_eq!(coding(&format!("{page}/events")), None);
    let entered = served.ask(&format!("/?token={}", served.link()), &[&host, wants]);
    assert_eq!(entered.header("content-encoding"), None);
}
