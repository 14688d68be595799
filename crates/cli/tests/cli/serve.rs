//! `serve` over real HTTP: which requests are answered, what the pages contain, and that no reader misses anything.

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::follow::numbers;
use crate::program::{Folder, Running, Signal, can_watch, contains, until};
use crate::rotation::{ROTATIONS, RotatedLog};
use crate::run::{SESSIONS, agents, command, kept, run};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","cwd":"/home/dev/shop","model":"claude-opus-4-5","tools":["Bash"]}"#;

fn said(number: usize) -> String {
    let text = format!("EVT{number}E");
    format!(
        r#"{{"type":"assistant","session_id":"s-1","parent_tool_use_id":null,"message":{{"id":"m-{number}","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

fn outcome(text: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","result":"{text}","num_turns":2,"total_cost_usd":0.25,"duration_ms":700}}"#
    )
}

/// A server for the sessions in a folder.
pub(crate) struct Served<'a> {
    pub(crate) running: Running<'a>,
    folder: &'a Folder,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The printed token, already used.
    pub(crate) token: String,
    /// The cookie that it was exchanged for.
    cookie: String,
}

/// A response, maybe with a body that isn't complete.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim())
    }
}

impl<'a> Served<'a> {
    pub(crate) fn start(folder: &'a Folder, options: &str) -> Self {
        Self::of(folder, command(folder, &format!("serve {options}")))
    }

    /// A server with a logged-in browser.
    pub(crate) fn of(folder: &'a Folder, command: Command) -> Self {
        let mut served = Self::without_login(folder, command);
        let entered = served.ask(&served.entrance(), &[&format!("Host: {}", served.host)]);
        assert_eq!(entered.status, 303, "{}", entered.head);
        let cookie = entered.header("set-cookie").unwrap().split_once(';').unwrap().0;
        cookie.strip_prefix("streamfmt=").unwrap().clone_into(&mut served.cookie);
        served
    }

    pub(crate) fn without_login(folder: &'a Folder, command: Command) -> Self {
        let mut running = Running::of(folder, command);
        running.until_shown("\n");
        let shown = running.shown();
        let (host, token) = shown.trim().strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        let (host, _) = host.split_once('/').unwrap_or((host, ""));
        let port = host.rsplit_once(':').unwrap().1.parse().unwrap();
        Self { host: host.to_owned(), port, token: token.to_owned(), cookie: String::new(), folder, running }
    }

    /// The path of the printed address.
    pub(crate) fn entrance(&self) -> String {
        let shown = self.running.shown();
        let address = shown.trim().strip_prefix("http://").unwrap();
        address[address.find('/').unwrap()..].to_owned()
    }

    /// Another token.
    pub(crate) fn link(&self) -> String {
        let linked = run(self.folder, "serve --link");
        assert_eq!((linked.code, linked.stderr.as_str()), (Some(0), ""));
        linked.stdout.trim().split_once("/?token=").unwrap().1.to_owned()
    }

    pub(crate) fn messages(&self) -> String {
        self.running.messages()
    }

    pub(crate) fn cookie(&self) -> String {
        format!("Cookie: streamfmt={}", self.cookie)
    }

    /// Sends a request verbatim; returns the connection.
    pub(crate) fn send(&self, path: &str, headers: &[&str]) -> TcpStream {
        self.send_by("GET", path, headers)
    }

    fn send_by(&self, method: &str, path: &str, headers: &[&str]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\n{}\r\nConnection: close\r\n\r\n", headers.join("\r\n"))
            .unwrap();
        stream
    }

    pub(crate) fn ask(&self, path: &str, headers: &[&str]) -> Answer {
        self.ask_by("GET", path, headers)
    }

    pub(crate) fn ask_by(&self, method: &str, path: &str, headers: &[&str]) -> Answer {
        let mut text = Vec::new();
        self.send_by(method, path, headers).read_to_end(&mut text).unwrap();
        parsed(&text)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(path, &[&format!("Host: {}", self.host), &self.cookie()])
    }

    /// Reads the events of a session until one of them contains `last`.
    pub(crate) fn events(
        &self,
        path: &str,
        after: Option<&str>,
        last: &str,
    ) -> (u16, Vec<(String, String, String)>) {
        let (host, cookie) = (format!("Host: {}", self.host), self.cookie());
        let after = after.map(|after| format!("Last-Event-ID: {after}"));
        let mut headers = vec![host.as_str(), &cookie];
        headers.extend(after.as_deref());
        let mut stream = self.send(path, &headers);
        let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&bytes).contains(last) {
            match stream.read(&mut piece).unwrap() {
                0 => break,
                count => bytes.extend_from_slice(&piece[..count]),
            }
        }
        let answer = parsed(&bytes);
        let mut events = Vec::new();
        for event in answer.body.split("\n\n") {
            let field =
                |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").to_owned();
            if event.contains("data: ") {
                events.push((field("event: "), field("id: "), field("data: ")));
            }
        }
        (answer.status, events)
    }
}

fn parsed(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let mut body = body.to_owned();
    if head.to_lowercase().contains("transfer-encoding: chunked") {
        let (mut rest, mut whole) = (body.as_str(), String::new());
        while let Some((size, behind)) = rest.split_once("\r\n") {
            let Ok(size @ 1..) = usize::from_str_radix(size, 16) else { break };
            let size =
                (0..=size.min(behind.len())).rev().find(|size| behind.is_char_boundary(*size)).unwrap();
            whole.push_str(&behind[..size]);
            rest = behind[size..].strip_prefix("\r\n").unwrap_or("");
        }
        body = whole;
    }
    Answer { status, head: head.to_owned(), body }
}

/// The ids of the runs in a folder, in order.
pub(crate) fn ids(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path(SESSIONS)).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut ids: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
    ids.sort();
    ids
}

/// A folder with a run that has ended.
fn finished(script: &str, parts: &[(&str, String)]) -> (Folder, String) {
    let folder = agents(&[("agent", script)]);
    for (name, text) in parts {
        folder.write(name, text);
    }
    assert_eq!(run(&folder, "run --to text -- ./agent").code, Some(0));
    let id = ids(&folder).remove(0);
    (folder, id)
}

fn stream(parts: &[String]) -> String {
    parts.join("\n") + "\n"
}

#[test]
fn only_the_right_host_origin_and_token_are_answered() {
    let whole = stream(&[INIT.to_owned(), said(1), outcome("Over.")]);
    let (folder, id) = finished("cat stream", &[("stream", whole)]);
    let served = Served::start(&folder, "");
    let (port, host) = (served.port, served.host.clone());
    let name = host.split(':').next().unwrap();
    let (right, wrong) = (served.cookie(), "Cookie: streamfmt=AAAAAAAAAAAAAAAAAAAAAA".to_owned());
    let key = older_key(&served, &id);
    let older = format!("/sessions/{id}/log.sse?key={key}");
    let paths = [
        "/".to_owned(),
        format!("/sessions/{id}"),
        format!("/sessions/{id}/events"),
        format!("/sessions/{id}/log"),
        older.clone(),
        "/static/serve.js".to_owned(),
    ];
    let foreign = [
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("s-aaaaaaaa.localhost:{port}"),
        name.to_owned(),
        String::new(),
        format!("{host}\r\nHost: evil.example"),
    ];
    let origins = [
        "null".to_owned(),
        "http://evil.example".to_owned(),
        format!("https://{host}"),
        format!("http://127.0.0.1:{port}"),
    ];
    let mut checked = 0;
    for path in &paths {
        let ours = format!("Host: {host}");
        let status = |headers: &[&str]| served.ask(path, headers).status;
        for (cookie, expected) in [(Some(&right), 200), (Some(&wrong), 401), (None, 401)] {
            // The link to the older log has its own key; script and style are public.
            let expected = if *path == older || path.starts_with("/static/") { 200 } else { expected };
            let mut headers = vec![ours.as_str()];
            headers.extend(cookie.map(String::as_str));
            assert_eq!(status(&headers), expected, "{path} {cookie:?}");
            checked += 1;
        }
        for host in &foreign {
            assert_eq!(status(&[&format!("Host: {host}"), &right]), 421, "{path} {host}");
            checked += 1;
        }
        for origin in &origins {
            let answer = served.ask(path, &[&ours, &right, &format!("Origin: {origin}")]);
            assert_eq!(answer.status, 403, "{path} {origin}");
            assert_eq!(answer.body.trim().lines().count(), 1, "{}", answer.body);
            checked += 1;
        }
        assert_eq!(status(&[&ours, &right, "Sec-Fetch-Site: cross-site"]), 403);
        assert_eq!(
            status(&[&ours, &right, &format!("Origin: http://{host}"), "Sec-Fetch-Site: same-origin"]),
            200
        );
        checked += 2;
    }
    assert!(checked >= 60);
    for (method, expected) in [("POST", 405), ("DELETE", 405), ("OPTIONS", 405), ("HEAD", 200)] {
        for path in &paths {
            let answer = served.ask_by(method, path, &[&format!("Host: {host}"), &right]);
            assert_eq!(
                (answer.status, expected == 405),
                (expected, !answer.body.is_empty()),
                "{method} {path}"
            );
        }
    }
    // The key is for one log of one session.
    let other = older.replace(&id, "20261123-224103-k3x9qa");
    assert_eq!(served.ask(&other, &[&format!("Host: {host}")]).status, 401);
    for path in ["/", &*format!("/sessions/{id}"), &*format!("/sessions/{id}/events")] {
        assert_eq!(
            served.ask(&format!("{path}?key={key}"), &[&format!("Host: {host}")]).status,
            401,
            "{path}"
        );
    }
    let entered = served.ask(&format!("/?token={}", served.link()), &[&format!("Host: {host}")]);
    assert_eq!((entered.status, entered.header("location")), (303, Some("/")));
    let cookie = entered.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let bare = served.ask(&format!("/?token={}", served.link()), &[&format!("Host: 127.0.0.1:{port}")]);
    assert!(bare.header("location").unwrap().starts_with(&format!("http://{host}/")), "{}", bare.head);
    assert_eq!(served.ask("/", &[&format!("Host: 127.0.0.1:{port}"), &right]).status, 421);
    assert!(
        served.running.messages().contains("refused GET /: 401 this browser isn't logged in"),
        "{}",
        served.running.messages()
    );
}

#[test]
fn a_refusal_names_its_reason_in_the_answer_and_in_the_log() {
    let (folder, id) = finished("cat stream", &[("stream", stream(&[INIT.to_owned(), outcome("Over.")]))]);
    let served = Served::start(&folder, "--allow-host proxy.example");
    let (host, cookie) = (format!("Host: {}", served.host), served.cookie());
    let page = format!("/sessions/{id}");
    let right = [&*host, &cookie];
    let refused: [(u16, String, &[&str]); 13] = [
        (400, "/?page=many".to_owned(), &right),
        (400, format!("{page}/events?since=-1"), &right),
        (401, page.clone(), &[&host]),
        (401, format!("{page}/log.sse?key=0"), &right),
        (403, format!("{page}/events"), &[&host, &cookie, "Origin: http://evil.example"]),
        (403, format!("{page}/log"), &["Host: proxy.example", &cookie]),
        (404, "/nothing".to_owned(), &right),
        (404, "/sessions/20261123-224103-k3x9qa".to_owned(), &right),
        (404, format!("{page}?profile=none"), &right),
        (404, format!("{page}?theme=none"), &right),
        (404, format!("{page}?before=n-0123456789abcdef"), &right),
        (404, "/static/none.css".to_owned(), &right),
        (421, page.clone(), &["Host: evil.example", &cookie]),
    ];
    for (status, path, headers) in refused {
        let answer = served.ask(&path, headers);
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{path}");
        let reason = answer.body.strip_suffix('\n').unwrap();
        assert!(!reason.is_empty() && !reason.contains('\n'), "{path}: {reason}");
        let path = path.split('?').next().unwrap();
        let told = format!("Z refused GET {path}: {status} {reason} (from 127.0.0.1:");
        until(|| format!("{told}{}", served.messages()), || served.messages().contains(&told));
    }
    let posted = served.ask_by("POST", &page, &right);
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET, HEAD")));
}

fn older_key(served: &Served<'_>, id: &str) -> String {
    let page = served.get(&format!("/sessions/{id}")).body;
    page.split("log.sse?key=").nth(1).unwrap()[..32].to_owned()
}

#[test]
fn every_answer_has_the_headers_that_keep_a_page_to_itself() {
    let whole = stream(&[INIT.to_owned(), outcome("Over.")]);
    let (folder, id) = finished("cat stream", &[("stream", whole)]);
    let served = Served::start(&folder, "");
    let page = format!("/sessions/{id}");
    for (path, status) in [
        ("/", 200),
        (&*page, 200),
        ("/static/serve.js", 200),
        ("/nope", 404),
        ("/sessions/../../etc/passwd", 404),
    ] {
        let answer = served.get(path);
        assert_eq!(answer.status, status, "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        assert!(
            !answer.body.contains("<style")
                && !answer.body.contains(" style=")
                && !answer.body.contains(&served.cookie)
        );
    }
}

#[test]
fn a_finished_session_has_its_sections_in_order_and_its_lines() {
    let call = r#"{"type":"assistant","session_id":"s-1","parent_tool_use_id":null,"message":{"id":"m-9","role":"assistant","content":[{"type":"tool_use","id":"t-1","name":"Bash","input":{"command":"cargo test"}}]}}"#;
    let whole = stream(&[
        INIT.to_owned(),
        said(1),
        call.to_owned(),
        "no event UNPARSED".to_owned(),
        outcome("**Over.**"),
    ]);
    let (folder, id) = finished("cat stream", &[("stream", whole.clone())]);
    let served = Served::start(&folder, "");
    let list = served.get("/").body;
    assert!(list.contains(&format!("data-id=\"{id}\" data-status=\"done\"")), "{list}");
    // The title is from the database: the agent's prompt, not its command line.
    assert!(list.contains(&format!("/sessions/{id}\">EVT1E</a>")), "{list}");
    let page = served.get(&format!("/sessions/{id}")).body;
    let places: Vec<usize> = [
        "<a id=\"back\"",
        "<header id=\"session\"",
        "<section id=\"facts\"",
        "<section id=\"response\"",
        "<section id=\"activity\"",
        "<section id=\"log-file\"",
    ]
    .iter()
    .map(|part| page.find(part).unwrap_or_else(|| panic!("{part}: {page}")))
    .collect();
    assert!(places.is_sorted());
    assert!(
        page.contains("data-status=\"done\"")
            && page.contains("$0.25")
            && page.contains("<strong>Over.</strong>")
    );
    assert!(page.contains("claude-opus-4-5"), "{page}");
    // The title is the same text as the reply.
    let (_, activity) = page.split_once("<section id=\"activity\"").unwrap();
    assert!(activity.contains("UNPARSED") && activity.contains("EVT1E"), "{activity}");
    assert_eq!(served.get(&format!("/sessions/{id}/log")).body, whole);
    let key = older_key(&served, &id);
    let lines =
        served.ask(&format!("/sessions/{id}/log.sse?key={key}"), &[&format!("Host: {}", served.host)]).body;
    assert!(lines.contains("data: [tool] Bash: {\"command\":\"cargo test\"}\n\n"), "{lines}");
    assert!(lines.contains("UNPARSED") && lines.ends_with("event: done\ndata: done\n\n"), "{lines}");
    let older = served.get(&format!("/sessions/{id}?profile=claude-ops")).body;
    assert!(older.contains("[tool] Bash: {&quot;command&quot;:&quot;cargo test&quot;}"), "{older}");
    for profile in ["../../x", "/etc/passwd", "nope"] {
        assert_eq!(served.get(&format!("/sessions/{id}?profile={profile}")).status, 404, "{profile}");
    }
}

#[test]
fn a_reader_gets_exactly_what_it_missed_also_after_the_server_was_killed() {
    let folder = agents(&[(
        "agent",
        "cat one; while [ ! -e go-1 ]; do sleep 0.02; done; cat two; while [ ! -e go-2 ]; do sleep 0.02; done; cat three",
    )]);
    folder.write("one", stream(&[INIT.to_owned(), said(1), said(2)]));
    folder.write("two", stream(&[said(3), said(4)]));
    folder.write("three", stream(&[said(5), outcome("Over.")]));
    let agent = Running::start(&folder, "run --to text -- ./agent");
    until(|| "no run".to_owned(), || !ids(&folder).is_empty());
    let path = format!("/sessions/{}/events", ids(&folder)[0]);
    let served = Served::start(&folder, "");
    let (address, cookie) = (served.host.clone(), served.cookie());
    let (status, first) = served.events(&path, None, "EVT2E");
    assert_eq!((status, marks(&first)), (200, vec![1, 2]));
    let last = first.last().unwrap().1.clone();
    served.running.send(Signal::KILL);
    drop(served);
    folder.write("go-1", "");
    until(
        || "no second part".to_owned(),
        || fs::read_to_string(kept(&folder, ".ndjson")).unwrap().contains("EVT4E"),
    );
    let served = Served::start(&folder, "");
    assert_eq!(served.host, address, "it is found where it was");
    assert_eq!(
        served.ask("/", &[&format!("Host: {address}"), &cookie]).status,
        401,
        "cookies end with the server"
    );
    let (_, missed) = served.events(&path, Some(&last), "EVT4E");
    assert_eq!(marks(&missed), [3, 4]);
    folder.write("go-2", "");
    let (_, rest) = served.events(&path, Some(&missed.last().unwrap().1), "event: done");
    assert_eq!(marks(&rest), [5]);
    let names: Vec<&str> = rest.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names[names.len() - 3..], ["facts", "response", "done"]);
    assert_eq!(served.events(&path, Some(&rest.last().unwrap().1), "never").0, 204);
    let (_, anew) = served.events(&path, Some("0123456789abcdef:2"), "event: resync");
    assert_eq!(anew[0].0, "resync");
    assert_eq!(agent.wait().code, Some(0));
}

fn marks(events: &[(String, String, String)]) -> Vec<usize> {
    let puts = events.iter().filter(|(name, ..)| name == "put");
    let numbers = puts.filter_map(|(.., data)| {
        let data: Value = serde_json::from_str(data).unwrap();
        data["html"].as_str().unwrap().split("EVT").nth(1)?.split('E').next()?.parse().ok()
    });
    numbers.collect()
}

#[test]
fn beyond_this_machine_secrets_are_masked_and_the_raw_log_is_refused() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let whole = stream(&[INIT.to_owned(), said(1).replace("EVT1E", secret), outcome(secret)]);
    let folder = agents(&[("agent", "cat stream")]);
    folder.write("stream", whole);
    let ran = run(&folder, &format!("run --label key={secret} --to text -- ./agent {secret}"));
    assert_eq!(ran.code, Some(0));
    let id = ids(&folder).remove(0);
    let served = Served::start(&folder, "");
    let key = older_key(&served, &id);
    assert_eq!(served.running.end(Signal::TERM).code, Some(0));
    let paths = [
        "/".to_owned(),
        format!("/sessions/{id}"),
        format!("/sessions/{id}?profile=full"),
        format!("/sessions/{id}?profile=claude-ops"),
        format!("/sessions/{id}/events"),
        format!("/sessions/{id}/events?profile=claude-ops"),
        format!("/sessions/{id}/log.sse?key={key}"),
    ];
    let served = Served::start(&folder, "--allow-host proxy.example --allow-origin https://dash.example");
    let headers = ["Host: proxy.example", &*served.cookie()].map(str::to_owned);
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    for path in &paths {
        let answer = served.ask(path, &headers);
        assert!(answer.status == 200 && !answer.body.contains(secret), "{path}: {}", answer.body);
    }
    let found = served.ask(&format!("/?q={}", &secret[..12]), &headers);
    assert!(!found.body.contains("data-id"), "nobody finds out what is masked: {}", found.body);
    let log = served.ask(&format!("/sessions/{id}/log"), &headers);
    assert_eq!(log.status, 403);
    assert!(log.body.contains("--show-secrets"), "{}", log.body);
    assert!(
        served.get(&format!("/sessions/{id}")).body.contains(secret),
        "on this machine nothing is masked"
    );
    let ask = |origin: &str| {
        let (host, origin) = (format!("Host: {}", served.host), format!("Origin: {origin}"));
        served.ask(
            &format!("/sessions/{id}/log.sse?key={key}"),
            &[&host, &origin, "Sec-Fetch-Site: cross-site"],
        )
    };
    let allowed = ask("https://dash.example");
    assert_eq!(
        (allowed.status, allowed.header("access-control-allow-origin")),
        (200, Some("https://dash.example"))
    );
    assert_eq!(ask("https://evil.example").status, 403);
    assert_eq!(served.running.end(Signal::TERM).code, Some(0));
    let served = Served::start(&folder, "--allow-host proxy.example --show-secrets");
    let log = served.ask(&format!("/sessions/{id}/log"), &["Host: proxy.example", &served.cookie()]);
    assert_eq!(log.status, 200);
}

#[test]
fn a_database_of_a_newer_version_is_told_of_and_the_rest_is_shown() {
    let whole = stream(&[INIT.to_owned(), said(1), outcome("Over.")]);
    let (folder, id) = finished("cat stream", &[("stream", whole)]);
    let database = folder.path(SESSIONS).with_file_name("sessions.db");
    let mut bytes = fs::read(&database).unwrap();
    // The bytes of a database file that hold its version number.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&database, &bytes).unwrap();
    let served = Served::start(&folder, "");
    let list = served.get("/").body;
    assert!(list.contains("class=\"problem\"") && list.contains("newer"), "{list}");
    assert!(list.contains(&format!("data-id=\"{id}\"")), "{list}");
    assert!(served.get(&format!("/sessions/{id}")).body.contains("EVT1E"));
    assert_eq!(fs::read(&database).unwrap(), bytes, "it is left as it is");
}

#[test]
fn a_second_one_says_where_the_first_is_and_settings_say_how_it_is_served() {
    let folder = Folder::for_programs();
    folder.write(
        "home/.config/streamfmt/config.toml",
        "[serve]\nbase-path = \"/agents/\"\nbind = [\"127.0.0.1\"]\n",
    );
    let served = Served::start(&folder, "--base-path /agents");
    let second = run(&folder, "serve");
    assert_eq!((second.code, second.stderr.as_str()), (Some(2), "streamfmt: serve: already running\n"));
    assert!(
        second.stdout.contains(&served.host) && second.stdout.contains("/agents/?token="),
        "{}",
        second.stdout
    );
    let host = format!("Host: {}", served.host);
    assert_eq!(served.ask("/agents/", &[&host, &served.cookie()]).status, 200);
    assert_eq!(served.ask("/", &[&host, &served.cookie()]).status, 404);
    assert_eq!(served.running.end(Signal::INT).code, Some(0));
    folder.write("home/.config/streamfmt/config.toml", "[serve]\nbind = [\"here\"]\nprot = 1\n");
    let mut command: Command = command(&folder, "serve");
    let wrong = command.stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(told.contains("serve.bind: expected IP addresses") && told.contains("did you mean"), "{told}");
    assert_eq!(wrong.status.code(), Some(2));
}

/// An open stream of events.
struct OpenStream {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl OpenStream {
    /// Reads until a text has arrived.
    fn until(&mut self, text: &str) {
        let mut piece = [0; 16 << 10];
        let mut from = 0;
        while !contains(&self.bytes[from..], text) {
            from = self.bytes.len().saturating_sub(text.len());
            match self.stream.read(&mut piece) {
                Ok(count @ 1..) => self.bytes.extend_from_slice(&piece[..count]),
                ended => panic!("{text}: {ended:?} after {}", String::from_utf8_lossy(&self.bytes)),
            }
        }
    }
}

#[test]
fn logs_that_are_rotated_and_cut_are_read_as_follow_reads_them() {
    if !can_watch() {
        return;
    }
    for rotation in ROTATIONS {
        let folder = agents(&[("agent", "while [ ! -e go ]; do sleep 0.02; done")]);
        let agent = Running::start(&folder, "run --to text --log run.jsonl -- ./agent");
        until(|| "no run".to_owned(), || folder.path("run.jsonl").exists() && !ids(&folder).is_empty());
        // The agent holds its log open and writes nothing to it: readers get lines written by others all the same.
        let log = RotatedLog::new(&folder, rotation);
        let served = Served::start(&folder, "");
        let page = format!("/sessions/{}", ids(&folder)[0]);
        let (host, cookie) = (format!("Host: {}", served.host), served.cookie());
        let stream = served.send(&format!("{page}/events"), &[&host, &cookie]);
        let mut open = OpenStream { stream, bytes: Vec::new() };
        log.write(|text| open.until(text));
        let came = parsed(&open.bytes).body;
        let mut shown = numbers(&came);
        let mut seen = HashSet::new();
        // Where lines are written twice, an entry may arrive twice, with the same id.
        shown.retain(|number| seen.insert(*number));
        let expected = RotatedLog::numbers();
        assert_eq!(&shown[..expected.len()], expected, "{rotation:?}");
        let listed = served.get(&page).body;
        let nodes = listed.split("id=\"nodes\"").nth(1).unwrap();
        let newest = numbers(nodes);
        assert!(newest.is_sorted() && newest.len() == 500, "{rotation:?}: {newest:?}");
        for text in [&came, &listed] {
            let is_told = text.contains("truncated or replaced; reading from the start");
            assert_eq!(is_told, rotation.is_noted(), "{rotation:?}");
        }
        folder.write("go", "");
        agent.wait();
    }
}

#[test]
fn an_address_that_a_browser_is_opened_with_is_good_once() {
    let folder = agents(&[]);
    folder.write_program("bin/xdg-open", "#!/bin/sh\necho \"$1\" > opened.part\nmv opened.part opened\n");
    let mut start = command(&folder, "serve --open");
    let path = std::env::var("PATH").unwrap();
    start.env("PATH", format!("{}:{path}", folder.path("bin").display()));
    let served = Served::of(&folder, start);
    until(|| "no browser was opened".to_owned(), || folder.path("opened").exists());
    let opened = std::path::PathBuf::from(folder.read("opened").trim());
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&opened).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "the argument of the browser is a file that only its owner reads");
    let page = fs::read_to_string(&opened).unwrap();
    let once = page.split("href=\"").nth(1).unwrap().split('"').next().unwrap();
    let once = once.strip_prefix(&format!("http://{}", served.host)).unwrap();
    assert!(once.starts_with("/?token=") && !once.contains(&served.token), "{once}");
    let host = format!("Host: {}", served.host);
    // A local file counts as another site.
    let arrival = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"];
    let entered = served.ask(once, &[&host, arrival[0], arrival[1], arrival[2]]);
    assert_eq!(entered.status, 200);
    assert!(
        entered.body.contains("http-equiv=\"refresh\"") && !entered.body.contains("token="),
        "{}",
        entered.body
    );
    assert!(!opened.exists(), "the file goes with its token");
    assert_eq!(served.ask(once, &[&host]).status, 401, "not twice");
}

#[test]
fn a_page_of_a_long_log_comes_at_once_and_again_when_it_is_read() {
    let many: Vec<String> =
        (1..8_000).map(|number| said(number).replace("EVT", &"word ".repeat(100))).collect();
    let (folder, id) = finished("cat stream", &[("stream", stream(&many) + &outcome("Over.") + "\n")]);
    let served = Served::start(&folder, "");
    let page = format!("/sessions/{id}");
    let begun = Instant::now();
    let first = served.get(&page);
    assert_eq!(first.status, 200);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let mut last = first;
    until(
        || "it is still read".to_owned(),
        || {
            let is_read = last.header("refresh").is_none();
            assert_ne!(is_read, last.body.contains("id=\"reading\""));
            if !is_read {
                last = served.get(&page);
            }
            is_read
        },
    );
    assert!(last.body.contains("7999E") && last.body.contains("<section id=\"response\""));
}

#[test]
fn card_and_timeline_show_the_same_figures() {
    let timed = |second: &str| {
        let time = format!(r#""timestamp":"2026-11-23T10:00:{second}Z","session_id""#);
        said(1).replacen("\"session_id\"", &time, 1).replace("m-1", &format!("m-{second}"))
    };
    let parts = [INIT.to_owned(), timed("00"), timed("09"), outcome("Over.")];
    let (folder, id) = finished("cat stream", &[("stream", stream(&parts))]);
    // The run took longer than the agent reports.
    let path = folder.path(&format!("{SESSIONS}/{id}.json"));
    let mut side: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    side["started"] = "2026-11-23T10:00:00Z".into();
    side["ended"] = "2026-11-23T10:00:02.5Z".into();
    fs::write(&path, side.to_string()).unwrap();
    let served = Served::start(&folder, "");
    let page = served.get(&format!("/sessions/{id}")).body;
    let between = |start: &str, end: &str| page.split_once(start).unwrap().1.split_once(end).unwrap().0;
    let (card, timeline) =
        (between("<dl class=\"card\">", "</dl>"), between("id=\"overview\"", "id=\"side\""));
    assert!(card.contains("<dd>active 700ms of 2.5s"), "{card}");
    assert!(timeline.contains("active 700ms of 9.0s"), "{timeline}");
    for part in [card, timeline] {
        assert!(part.contains("$0.25"), "{part}");
    }
}

#[test]
fn every_scenario_of_the_documentation_has_its_test() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let docs = read("docs/serve.md");
    let rust: String = ["serve.rs", "serve_guard.rs", "serve_stored.rs"]
        .map(|name| read(&format!("crates/cli/tests/cli/{name}")))
        .concat()
        + &read("crates/server/src/serve/hub.rs")
        + &read("crates/server/src/serve/events/tests.rs");
    let browser = read("tests/browser/serve.mjs");
    let table = docs.split("| scenario | test |\n|---|---|\n").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 15);
    for row in rows {
        let tests = row.trim_matches('|').rsplit_once('|').unwrap().1.trim();
        for test in tests.split("; ") {
            let name = test.trim_matches('`');
            let is_there = if name == test {
                browser.contains(&format!("async \"{name}\"("))
            } else {
                rust.contains(&format!("fn {name}() {{"))
            };
            assert!(is_there, "{row}: {test}");
        }
    }
}
