//! Which requests are answered, and for whom: each condition of the guard is tested true and false with all others unchanged.

use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::serve::address::AddressFile;
use crate::serve::logins::PRINTED;
use crate::serve::tests::site::{DASHBOARD, asked};

const ID: &str = "20261123-224103-k3x9qa";

const NO_HOST: &str = "421 the request names no host, or several";
const TWO_HOSTS: &str = "421 the request names two hosts";
const FOREIGN_HOST: &str =
    "421 this host name isn't answered: open the address that serve printed, or name it with --allow-host";
const BARE: &str = "421 open the address that serve printed: this one is answered only with a token";
const PROXY: &str = "421 the proxy must forward Host, which must be named with --allow-host";
const ORIGIN_REFUSED: &str = "403 pages of other origins are refused";
const READER_REFUSED: &str = "403 pages of other origins are refused: name this one with --allow-origin";
const METHOD: &str = "405 only GET and HEAD are answered: nothing can be changed here";
const BODY: &str = "413 requests with a body are refused";
const TWICE: &str = "400 X-Forwarded-Proto and Forwarded are each answered only once in a request";
const NO_PAGE: &str = "404 no such page";
const WRONG: &str =
    "401 the token in the address is wrong or too old: streamfmt serve --link prints another address";
const NO_LOGIN: &str =
    "401 this browser isn't logged in: streamfmt serve --link prints an address that logs it in";
const NO_KEY: &str = "401 the key of this log is missing or wrong";

/// A guard with a logged-in browser.
struct Guarded {
    guard: RequestGuard,
    token: String,
    used: String,
    cookie: String,
    _folder: TempDir,
}

impl Guarded {
    fn new(base: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (file, mut address) = AddressFile::open(folder.path(), false).unwrap();
        address.port = 4321;
        let logins = Logins::new(address, file, None);
        let [used, token] = [(); 2].map(|()| {
            let address = logins.offer(PRINTED).unwrap();
            address.split_once("?token=").unwrap().1.to_owned()
        });
        let entered = logins.enter(&used, std::iter::empty(), "a browser", Instant::now()).unwrap();
        let TokenUse::New(cookie) = entered else { panic!("{entered:?}") };
        let guard = RequestGuard {
            logins,
            port: 4321,
            hosts: vec!["proxy.example".to_owned(), "fixed.example:99".to_owned()],
            origins: vec![DASHBOARD.to_owned()],
            base: base.to_owned(),
        };
        Self { guard, token, used, cookie, _folder: folder }
    }

    /// The decision about a request, as text. `request`: as for [`asked`].
    fn judged(&self, request: &str, now: Instant) -> String {
        let own = self.guard.logins.host();
        // Random values last: they may contain any of the short names.
        let values = [
            ("ID", ID.to_owned()),
            ("KEY", self.guard.logins.log_key(ID)),
            ("OWN", own.clone()),
            ("USED", self.used.clone()),
            ("TOKEN", self.token.clone()),
            ("COOKIE", self.cookie.clone()),
            ("CAPITALS", own.to_uppercase()),
        ];
        let filled = values.iter().fold(request.to_owned(), |text, (name, value)| text.replace(name, value));
        let (request, peer) = asked(&filled);
        let verdict = self.guard.judge(&request, peer, now);
        spelled(verdict).replace(&own, "OWN").replace(&self.token, "TOKEN").replace(&self.used, "USED")
    }
}

fn spelled(verdict: Result<GuardVerdict, HttpRefusal>) -> String {
    let marked = |is: bool, mark: &'static str| if is { mark } else { "" };
    match verdict {
        Ok(GuardVerdict::Answer(Visitor { host, is_beyond, is_https, origin, login })) => {
            let login = match login {
                None => String::new(),
                Some(Proof::Cookie(number)) => format!(" to login {number}"),
                Some(Proof::Key) => " by key".to_owned(),
            };
            let origin = origin.map(|origin| format!(" for {origin}")).unwrap_or_default();
            let (beyond, https) = (marked(is_beyond, " beyond"), marked(is_https, " https"));
            format!("answer {host}{login}{origin}{beyond}{https}")
        }
        Ok(GuardVerdict::Enter { location, cookie, is_https, is_by_page }) => {
            let cookie = marked(cookie.is_some(), " with cookie");
            format!(
                "enter {location}{cookie}{}{}",
                marked(is_https, " https"),
                marked(is_by_page, " by page")
            )
        }
        Ok(GuardVerdict::Elsewhere(location)) => format!("elsewhere {location}"),
        Ok(GuardVerdict::Reused(number)) => format!("reused {number}"),
        Err(HttpRefusal { status, reason }) => format!("{} {reason}", status.as_u16()),
    }
}

/// Judges each request in a table with a new guard. Rows: the reason, the request, and the decision.
fn check(base: &str, rows: &[(&str, &str, &str)]) {
    for (reason, request, expected) in rows {
        assert_eq!(Guarded::new(base).judged(request, Instant::now()), *expected, "{reason}: {request}");
    }
}

const ANSWER: &str = "answer OWN to login 1";
const BEYOND: &str = "answer OWN to login 1 beyond";
const HTTPS: &str = "answer OWN to login 1 beyond https";

#[test]
fn only_reading_is_answered_and_never_with_a_body() {
    check(
        "",
        &[
            ("a browser that is logged in", "GET / | host: OWN | cookie: streamfmt=COOKIE", ANSWER),
            ("only the head", "HEAD / | host: OWN | cookie: streamfmt=COOKIE", ANSWER),
            ("a form", "POST / | host: OWN | cookie: streamfmt=COOKIE", METHOD),
            ("a script", "PUT / | host: OWN | cookie: streamfmt=COOKIE", METHOD),
            ("a removal", "DELETE / | host: OWN | cookie: streamfmt=COOKIE", METHOD),
            ("a preflight", "OPTIONS / | host: OWN | cookie: streamfmt=COOKIE", METHOD),
            ("a method of its own", "get / | host: OWN | cookie: streamfmt=COOKIE", METHOD),
            ("a token doesn't help", "POST /?token=TOKEN | host: OWN", METHOD),
            ("the method comes first", "POST / | host: OWN | content-length: 5", METHOD),
            ("no byte", "GET / | host: OWN | cookie: streamfmt=COOKIE | content-length: 0", ANSWER),
            ("one byte", "GET / | host: OWN | cookie: streamfmt=COOKIE | content-length: 1", BODY),
            ("no number", "GET / | host: OWN | cookie: streamfmt=COOKIE | content-length:", BODY),
            ("two lengths", "GET / | host: OWN | content-length: 0 | content-length: 1", BODY),
            ("chunked", "GET / | host: OWN | cookie: streamfmt=COOKIE | transfer-encoding: chunked", BODY),
            ("both", "GET / | host: OWN | content-length: 0 | transfer-encoding: chunked", BODY),
            ("whether it is up", "GET /healthz", "answer  beyond"),
            (
                "to everybody",
                "GET /healthz | host: evil.example | origin: http://evil.example",
                "answer  beyond",
            ),
            ("its head", "HEAD /healthz", "answer  beyond"),
            ("but nothing else", "POST /healthz", METHOD),
            ("and not below", "GET /healthz/x", NO_HOST),
        ],
    );
}

#[test]
fn only_the_server_s_own_names_are_answered() {
    check(
        "",
        &[
            ("none", "GET / | cookie: streamfmt=COOKIE", NO_HOST),
            ("two", "GET / | host: OWN | host: OWN | cookie: streamfmt=COOKIE", NO_HOST),
            ("an empty one", "GET / | host: | cookie: streamfmt=COOKIE", FOREIGN_HOST),
            ("one that is no text", "GET / | host: ö", FOREIGN_HOST),
            ("in capitals", "GET / | host: CAPITALS | cookie: streamfmt=COOKIE", ANSWER),
            ("twice the same", "GET http://OWN/ | host: OWN | cookie: streamfmt=COOKIE", ANSWER),
            ("once in capitals", "GET http://CAPITALS/ | host: OWN | cookie: streamfmt=COOKIE", ANSWER),
            ("two different ones", "GET http://evil.example/ | host: OWN", TWO_HOSTS),
            ("the other way round", "GET http://OWN/ | host: proxy.example", TWO_HOSTS),
            ("a foreign one", "GET / | host: evil.example:4321 | cookie: streamfmt=COOKIE", FOREIGN_HOST),
            ("without the port", "GET / | host: s-aaaaaaaa.localhost", FOREIGN_HOST),
            ("of another server", "GET / | host: s-aaaaaaaa.localhost:4321", FOREIGN_HOST),
            ("longer than ours", "GET / | host: OWN.evil.example", FOREIGN_HOST),
            (
                "a named one",
                "GET / | host: proxy.example | cookie: streamfmt=COOKIE",
                "answer proxy.example to login 1 beyond",
            ),
            (
                "with any port",
                "GET / | host: proxy.example:65535 | cookie: streamfmt=COOKIE",
                "answer proxy.example:65535 to login 1 beyond",
            ),
            ("with an empty port", "GET / | host: proxy.example:", FOREIGN_HOST),
            ("with six digits", "GET / | host: proxy.example:123456", FOREIGN_HOST),
            ("with a letter", "GET / | host: proxy.example:8a", FOREIGN_HOST),
            ("a longer one", "GET / | host: proxy.example.evil:80", FOREIGN_HOST),
            (
                "with its port",
                "GET / | host: fixed.example:99 | cookie: streamfmt=COOKIE",
                "answer fixed.example:99 to login 1 beyond",
            ),
            ("with another port", "GET / | host: fixed.example:98", FOREIGN_HOST),
        ],
    );
}

#[test]
fn a_bare_address_only_leads_to_the_own_name_and_with_a_token_only() {
    check(
        "",
        &[
            ("by number", "GET / | host: 127.0.0.1:4321 | cookie: streamfmt=COOKIE", BARE),
            ("by name", "GET / | host: localhost:4321", BARE),
            ("by the newer number", "GET / | host: [::1]:4321", BARE),
            ("with another port", "GET / | host: 127.0.0.1:4322", FOREIGN_HOST),
            ("without a port", "GET / | host: localhost", FOREIGN_HOST),
            ("by another number", "GET / | host: 127.0.0.2:4321", FOREIGN_HOST),
            ("with a token", "GET /?token=TOKEN | host: 127.0.0.1:4321", "elsewhere http://OWN/?token=TOKEN"),
            (
                "a page with more",
                "GET /sessions/ID?a=1&token=TOKEN | host: localhost:4321",
                "elsewhere http://OWN/sessions/20261123-224103-k3x9qa?a=1&token=TOKEN",
            ),
            ("with a used one", "GET /?token=USED | host: [::1]:4321", "elsewhere http://OWN/?token=USED"),
            ("with a wrong one", "GET /?token=x | host: 127.0.0.1:4321", BARE),
            ("only the head", "HEAD /?token=TOKEN | host: 127.0.0.1:4321", BARE),
            ("a form", "POST /?token=TOKEN | host: 127.0.0.1:4321", BARE),
            ("no page", "GET /static/page.js?token=TOKEN | host: 127.0.0.1:4321", BARE),
            ("by a proxy", "GET /?token=TOKEN | host: 127.0.0.1:4321 | via: x", PROXY),
            ("by an old one", "GET /?token=TOKEN HTTP/1.0 | host: 127.0.0.1:4321", PROXY),
            (
                "from a page of that name",
                "GET /?token=TOKEN | host: 127.0.0.1:4321 | origin: http://127.0.0.1:4321",
                ORIGIN_REFUSED,
            ),
            (
                "typed in",
                "GET /?token=TOKEN | host: 127.0.0.1:4321 | sec-fetch-site: none",
                "elsewhere http://OWN/?token=TOKEN",
            ),
            (
                "from another page",
                "GET /?token=TOKEN | host: 127.0.0.1:4321 | sec-fetch-site: cross-site",
                ORIGIN_REFUSED,
            ),
        ],
    );
}

#[test]
fn pages_of_other_origins_are_refused_unless_they_may_read_this_log() {
    let log = "GET /sessions/ID/log.sse?key=KEY | host: OWN";
    let page = "GET / | host: OWN | cookie: streamfmt=COOKIE";
    let proxied = "GET / | host: proxy.example | cookie: streamfmt=COOKIE";
    let rows = [
        (page, "origin: http://OWN", ANSWER),
        (page, "origin: https://OWN", ORIGIN_REFUSED),
        (page, "origin: null", ORIGIN_REFUSED),
        (page, "origin:", ORIGIN_REFUSED),
        (page, "origin: ö", ORIGIN_REFUSED),
        (page, "origin: http://127.0.0.1:4321", ORIGIN_REFUSED),
        (page, "origin: http://evil.example", ORIGIN_REFUSED),
        (page, "origin: https://dash.example", ORIGIN_REFUSED),
        (page, "origin: http://OWN | origin: http://OWN", ORIGIN_REFUSED),
        (page, "origin: http://OWN | origin: http://evil.example", ORIGIN_REFUSED),
        (proxied, "origin: https://proxy.example", "answer proxy.example to login 1 beyond"),
        (proxied, "origin: http://proxy.example", "answer proxy.example to login 1 beyond"),
        (proxied, "origin: https://fixed.example:99", ORIGIN_REFUSED),
        (log, "accept: */*", "answer OWN by key"),
        (log, "origin: http://OWN", "answer OWN by key"),
        (log, "origin: https://dash.example", "answer OWN by key for https://dash.example"),
        (
            log,
            "origin: https://dash.example | sec-fetch-site: cross-site",
            "answer OWN by key for https://dash.example",
        ),
        (log, "sec-fetch-site: cross-site", READER_REFUSED),
        (log, "origin: http://OWN | sec-fetch-site: cross-site", READER_REFUSED),
        (log, "origin: http://dash.example", READER_REFUSED),
        (log, "origin: https://dash.example.evil", READER_REFUSED),
        (log, "origin: https://dash.example | origin: https://dash.example", READER_REFUSED),
    ];
    for (request, headers, expected) in rows {
        check("", &[("an origin", &format!("{request} | {headers}"), expected)]);
    }
}

#[test]
fn what_a_browser_reports_of_the_asking_page_decides() {
    let page = "GET / | host: OWN | cookie: streamfmt=COOKIE";
    let entry = "GET /?token=TOKEN | host: OWN";
    let arrival = "sec-fetch-site: cross-site | sec-fetch-mode: navigate | sec-fetch-dest: document";
    let rows = [
        (page, "sec-fetch-site: same-origin", ANSWER),
        (page, "sec-fetch-site: none", ANSWER),
        (page, "sec-fetch-site: same-site", ORIGIN_REFUSED),
        (page, "sec-fetch-site: cross-site", ORIGIN_REFUSED),
        (page, "sec-fetch-site:", ORIGIN_REFUSED),
        (page, "sec-fetch-site: ö", ORIGIN_REFUSED),
        (page, "sec-fetch-site: Same-Origin", ORIGIN_REFUSED),
        (page, "sec-fetch-site: same-origin | sec-fetch-site: same-origin", ORIGIN_REFUSED),
        (page, "sec-fetch-mode: cors", ANSWER),
        (page, "sec-fetch-mode: cors | sec-fetch-mode: cors", ORIGIN_REFUSED),
        (page, "sec-fetch-dest: empty", ANSWER),
        (page, "sec-fetch-dest: empty | sec-fetch-dest: empty", ORIGIN_REFUSED),
        // A link with a token may be followed from any site; no other address may.
        (page, arrival, ORIGIN_REFUSED),
        (entry, arrival, "enter / with cookie by page"),
        (
            entry,
            "sec-fetch-site: same-site | sec-fetch-mode: navigate | sec-fetch-dest: document",
            "enter / with cookie by page",
        ),
        (entry, "sec-fetch-site: same-origin", "enter / with cookie"),
        (entry, "sec-fetch-site: none", "enter / with cookie"),
        (entry, "sec-fetch-site: cross-site | sec-fetch-dest: document", ORIGIN_REFUSED),
        (entry, "sec-fetch-site: cross-site | sec-fetch-mode: navigate", ORIGIN_REFUSED),
        (
            entry,
            "sec-fetch-site: cross-site | sec-fetch-mode: cors | sec-fetch-dest: document",
            ORIGIN_REFUSED,
        ),
        (
            entry,
            "sec-fetch-site: cross-site | sec-fetch-mode: navigate | sec-fetch-dest: iframe",
            ORIGIN_REFUSED,
        ),
        ("HEAD /?token=TOKEN | host: OWN", arrival, ORIGIN_REFUSED),
        ("GET /static/page.js?token=TOKEN | host: OWN", arrival, ORIGIN_REFUSED),
        ("GET /?token=TOKEN | host: OWN | origin: http://evil.example", arrival, ORIGIN_REFUSED),
    ];
    for (request, headers, expected) in rows {
        check("", &[("metadata", &format!("{request} | {headers}"), expected)]);
    }
}

#[test]
fn answers_that_leave_the_machine_are_known_as_such() {
    let page = "GET / | host: OWN | cookie: streamfmt=COOKIE";
    let rows = [
        ("peer: 127.0.0.2", ANSWER),
        ("peer: ::1", ANSWER),
        ("peer: ::ffff:127.0.0.1", ANSWER),
        ("peer: 192.0.2.7", BEYOND),
        ("peer: 2001:db8::7", BEYOND),
        ("forwarded: for=x", BEYOND),
        ("via: x", BEYOND),
        ("x-real-ip: x", BEYOND),
        ("x-client-ip: x", BEYOND),
        ("x-cluster-client-ip: x", BEYOND),
        ("true-client-ip: x", BEYOND),
        ("cf-connecting-ip: x", BEYOND),
        ("x-original-host: x", BEYOND),
        ("x-forwarded-for: x", BEYOND),
        ("x-forwarded: x", BEYOND),
        ("x-request-id: x", ANSWER),
        ("x-forwarded-proto: https", HTTPS),
        ("x-forwarded-proto: HTTPS, http", HTTPS),
        ("x-forwarded-proto: http", BEYOND),
        ("x-forwarded-proto: http, https", BEYOND),
        ("x-forwarded-proto: https | x-forwarded-proto: https", TWICE),
        ("forwarded: proto=https", HTTPS),
        ("forwarded: for=x; Proto=\"https\"", HTTPS),
        ("forwarded: proto=http", BEYOND),
        ("forwarded: by=https", BEYOND),
        ("forwarded: for=x, proto=https", BEYOND),
        ("forwarded: proto=https | forwarded: for=x", TWICE),
    ];
    for (header, expected) in rows {
        check("", &[("a way", &format!("{page} | {header}"), expected)]);
    }
    check(
        "",
        &[
            ("an old proxy", "GET / HTTP/1.0 | host: OWN | cookie: streamfmt=COOKIE", BEYOND),
            (
                "a login by https",
                "GET /?token=TOKEN | host: proxy.example | x-forwarded-proto: https",
                "enter / with cookie https",
            ),
        ],
    );
}

#[test]
fn sessions_need_a_login_and_older_logs_their_key() {
    check(
        "",
        &[
            ("no cookie", "GET / | host: OWN", NO_LOGIN),
            ("a wrong cookie", "GET / | host: OWN | cookie: streamfmt=x", NO_LOGIN),
            ("of another name", "GET / | host: OWN | cookie: other=COOKIE", NO_LOGIN),
            (
                "the right one is the second",
                "GET / | host: OWN | cookie: a=b; streamfmt=x; streamfmt=COOKIE",
                ANSWER,
            ),
            (
                "in a header of its own",
                "GET / | host: OWN | cookie: streamfmt=x | cookie: streamfmt=COOKIE",
                ANSWER,
            ),
            ("a session", "GET /sessions/ID | host: OWN", NO_LOGIN),
            ("events", "GET /sessions/ID/events | host: OWN", NO_LOGIN),
            ("events with a login", "GET /sessions/ID/events | host: OWN | cookie: streamfmt=COOKIE", ANSWER),
            ("the log", "GET /sessions/ID/log | host: OWN", NO_LOGIN),
            ("anything else", "GET /x | host: OWN", NO_LOGIN),
            ("script and style", "GET /static/page.js | host: OWN", "answer OWN"),
            ("with a token", "GET /static/page.js?token=x | host: OWN", "answer OWN"),
            ("the folder of them", "GET /static | host: OWN", NO_LOGIN),
            ("below them", "GET /static/a/b | host: OWN", NO_LOGIN),
            ("a tab that returns", "GET /tab?tab=1 | host: OWN", "answer OWN"),
            ("below it", "GET /tab/x | host: OWN", NO_LOGIN),
            ("a log with its key", "GET /sessions/ID/log.sse?key=KEY | host: OWN", "answer OWN by key"),
            ("behind others", "GET /sessions/ID/log.sse?a=1&key=KEY | host: OWN", "answer OWN by key"),
            ("no key", "GET /sessions/ID/log.sse | host: OWN | cookie: streamfmt=COOKIE", NO_KEY),
            ("a wrong one", "GET /sessions/ID/log.sse?key=x | host: OWN", NO_KEY),
            (
                "that of another log",
                "GET /sessions/20261123-224103-k3x9qb/log.sse?key=KEY | host: OWN",
                NO_KEY,
            ),
            ("a token instead", "GET /sessions/ID/log.sse?token=TOKEN | host: OWN", NO_KEY),
            ("below it", "GET /sessions/ID/log.sse/x?key=KEY | host: OWN", NO_LOGIN),
            ("elsewhere", "GET /static/ID/log.sse?key=KEY | host: OWN", NO_LOGIN),
        ],
    );
}

#[test]
fn a_token_opens_pages_only_and_once() {
    check(
        "",
        &[
            ("the list", "GET /?token=TOKEN | host: OWN", "enter / with cookie"),
            (
                "a session",
                "GET /sessions/ID?token=TOKEN | host: OWN",
                "enter /sessions/20261123-224103-k3x9qa with cookie",
            ),
            (
                "the rest of the query stays",
                "GET /?a=1&token=TOKEN&&b | host: OWN",
                "enter /?a=1&b with cookie",
            ),
            ("a wrong one", "GET /?token=x | host: OWN", WRONG),
            ("a wrong one of a login", "GET /?token=x | host: OWN | cookie: streamfmt=COOKIE", WRONG),
            ("an empty one", "GET /?token= | host: OWN", WRONG),
            ("a name alone is none", "GET /?token | host: OWN", NO_LOGIN),
            ("a longer name is none", "GET /?mytoken=TOKEN | host: OWN", NO_LOGIN),
            ("logged in already", "GET /?token=TOKEN | host: OWN | cookie: streamfmt=COOKIE", "enter /"),
            ("again", "GET /?token=USED | host: OWN | cookie: streamfmt=COOKIE", "enter /"),
            ("by somebody else", "GET /?token=USED | host: OWN", "reused 1"),
            ("only the head", "HEAD /?token=TOKEN | host: OWN", "enter /"),
            ("of a used one", "HEAD /?token=USED | host: OWN", WRONG),
            ("of a wrong one", "HEAD /?token=x | host: OWN", WRONG),
            ("no page", "GET /sessions/ID/events?token=TOKEN | host: OWN | cookie: streamfmt=COOKIE", WRONG),
            ("no id", "GET /sessions/x?token=TOKEN | host: OWN", WRONG),
        ],
    );
    // HEAD doesn't use up a token.
    let guarded = Guarded::new("");
    for method in ["HEAD", "HEAD", "GET"] {
        let verdict = guarded.judged(&format!("{method} /?token=TOKEN | host: OWN"), Instant::now());
        assert!(verdict.starts_with("enter /"), "{verdict}");
    }
    assert_eq!(guarded.judged("GET /?token=TOKEN | host: OWN", Instant::now()), "reused 2");
}

#[test]
fn a_token_expires() {
    let last = PRINTED.saturating_sub(Duration::from_secs(5));
    for (method, passed, expected) in [
        ("GET", last, "enter / with cookie"),
        ("GET", PRINTED, WRONG),
        ("HEAD", last, "enter /"),
        ("HEAD", PRINTED, WRONG),
    ] {
        let judged =
            Guarded::new("").judged(&format!("{method} /?token=TOKEN | host: OWN"), Instant::now() + passed);
        assert_eq!(judged, expected, "{method} after {passed:?}");
    }
}

#[test]
fn paths_begin_with_the_prefix_and_go_on_as_a_path() {
    check(
        "/agents",
        &[
            ("the list", "GET /agents/ | host: OWN | cookie: streamfmt=COOKIE", ANSWER),
            (
                "an address with a token",
                "GET /agents/?a=1&token=TOKEN | host: OWN",
                "enter /agents/?a=1 with cookie",
            ),
            (
                "a bare one",
                "GET /agents/?token=TOKEN | host: 127.0.0.1:4321",
                "elsewhere http://OWN/agents/?token=TOKEN",
            ),
            ("a log", "GET /agents/sessions/ID/log.sse?key=KEY | host: OWN", "answer OWN by key"),
            ("whether it is up", "GET /agents/healthz", "answer  beyond"),
            ("the prefix alone", "GET /agents | host: OWN | cookie: streamfmt=COOKIE", NO_PAGE),
            ("without it", "GET / | host: OWN | cookie: streamfmt=COOKIE", NO_PAGE),
            ("another folder", "GET /agentsx/?token=TOKEN | host: OWN", NO_PAGE),
            ("health elsewhere", "GET /healthz | host: OWN", NO_PAGE),
        ],
    );
}

#[test]
fn a_browser_s_name_is_its_own_and_not_long() {
    let named = |name: &[u8]| {
        let request = Request::builder().header("user-agent", name).body(()).unwrap();
        browser(request.headers())
    };
    assert_eq!(browser(&HeaderMap::new()), "");
    assert_eq!(named(b"a browser"), "a browser");
    assert_eq!(named(b"\xff"), "");
    assert_eq!(named(&[b'x'; 121]), "x".repeat(120));
}
