//! The responses of each address.

use super::*;
use crate::serve::hub::HubLimits;
use crate::serve::tests::site::{
    DASHBOARD, OpenAnswer, SiteForm, TestSite, body, header as value, run_async, text,
};

/// Two replies and an outcome: three revisions.
fn stream() -> String {
    let reply = |number: u8| {
        format!(
            r#"{{"type":"assistant","session_id":"s","message":{{"id":"m-{number}","role":"assistant","content":[{{"type":"text","text":"Reply {number}."}}]}}}}"#
        )
    };
    let outcome =
        r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"Over."}"#;
    format!("{}\n{}\n{outcome}\n", reply(1), reply(2))
}

fn site() -> TestSite {
    TestSite::new(SiteForm::default())
}

/// A site with a run that has ended, and the run's id.
fn ended(form: SiteForm) -> (TestSite, String) {
    let site = TestSite::new(form);
    let log = site.log("run.ndjson", stream().as_bytes());
    let id = site.run(1, false, &log, (0, None));
    (site, id)
}

/// An attribute of a page's body.
fn attribute(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!(" data-{name}=\"")).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

#[test]
fn the_raw_log_of_a_run_is_its_own_part_of_the_log() {
    let site = site();
    // Longer than one read.
    let own = "a line of the run\n".repeat(40_000);
    let whole = format!("before\n{own}behind\n");
    let log = site.log("shared.ndjson", whole.as_bytes());
    let length = own.len() as u64;
    let rows = [
        ("the middle", (7, Some(length)), own.clone()),
        ("to the end", (7, None), format!("{own}behind\n")),
        ("all of it", (0, None), whole.clone()),
        ("the log was cut", (7, Some(length + 1000)), format!("{own}behind\n")),
        ("before the run", (whole.len() as u64 + 1, Some(5)), String::new()),
    ];
    run_async(async {
        for (number, (reason, part, expected)) in (0..).zip(rows) {
            let id = site.run(number, false, &log, part);
            let answer = site.get(&format!("/sessions/{id}/log")).await;
            assert_eq!(answer.status(), 200, "{reason}");
            assert_eq!(value(&answer, "content-length"), expected.len().to_string(), "{reason}");
            assert_eq!(value(&answer, "content-type"), "application/x-ndjson");
            assert_eq!(
                value(&answer, "content-disposition"),
                format!("attachment; filename=\"{id}.ndjson\"")
            );
            assert!(body(answer).await == expected.as_bytes(), "{reason}");
        }
        let id = site.run(9, false, &site.folder.path().join("gone"), (0, None));
        let answer = site.get(&format!("/sessions/{id}/log")).await;
        assert_eq!(answer.status(), 404);
        assert!(text(answer).await.starts_with("the log can't be read: "));
    });
}

#[test]
fn beyond_the_machine_secrets_are_masked_and_the_raw_log_is_refused_unless_it_is_allowed() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    for (shows_secrets, headers, is_masked) in [
        (false, "host: OWN", false),
        (false, "host: proxy.example", true),
        (true, "host: OWN", false),
        (true, "host: proxy.example", false),
    ] {
        let site = TestSite::new(SiteForm { shows_secrets, ..SiteForm::default() });
        let log = site.log("run.ndjson", stream().replace("Reply 1.", &secret).as_bytes());
        let id = site.run(1, false, &log, (0, None));
        run_async(async {
            let of = |path: &str| format!("GET /sessions/{id}{path} | {headers} | cookie: streamfmt=COOKIE");
            let raw = site.ask(&of("/log")).await;
            assert_eq!(raw.status(), if is_masked { 403 } else { 200 }, "{headers} {shows_secrets}");
            let page = text(site.ask(&of("")).await).await;
            assert_eq!(page.contains(&secret), !is_masked, "{headers} {shows_secrets}");
            assert_eq!(page.contains("(refused beyond this machine"), is_masked);
        });
    }
}

/// The names of the events in a stream.
fn names(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.strip_prefix("event: "));
    lines.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_reader_goes_on_where_it_was_and_reloads_where_that_is_unknown() {
    let (site, id) = ended(SiteForm::default());
    run_async(async {
        let page = text(site.get(&format!("/sessions/{id}")).await).await;
        let (hash, end) = (attribute(&page, "hash"), attribute(&page, "revision").parse::<u64>().unwrap());
        // The outcome is in the event with the answer.
        let all = "facts put put facts response done";
        let (rest, over) = ("facts facts response done", "facts facts response done");
        let rows = [
            ("all", String::new(), "", all),
            ("after the first", "?since=1".to_owned(), "", "facts put facts response done"),
            ("a page that was written at the end", format!("?since={end}"), "", over),
            ("one before", format!("?since={}", end - 1), "", rest),
            ("ahead of the log", format!("?since={}", end + 1), "", "resync"),
            ("a page of the same look", format!("?since=0&hash={hash}"), "", all),
            ("of another", "?since=0&hash=x".to_owned(), "", "resync"),
            ("returned after the end", String::new(), &*format!("{hash}:{end}"), "204"),
            ("returned before it", String::new(), &*format!("{hash}:{}", end - 1), rest),
            ("returned ahead of it", String::new(), &*format!("{hash}:{}", end + 1), "resync"),
            ("with another look", String::new(), "x:1", "resync"),
            ("without a look", String::new(), "1", "resync"),
            ("without a number", String::new(), &*format!("{hash}:x"), "resync"),
            ("no text", String::new(), "ö", "resync"),
            ("what it has read counts", "?since=0&hash=x".to_owned(), &*format!("{hash}:{end}"), "204"),
            ("an empty profile", "?profile=".to_owned(), "", all),
        ]
        .map(|(reason, query, last, expected)| (reason, query, last.to_owned(), expected));
        for (reason, query, last, expected) in rows {
            let last = if last.is_empty() { last } else { format!(" | last-event-id: {last}") };
            let request =
                format!("GET /sessions/{id}/events{query} | host: OWN | cookie: streamfmt=COOKIE{last}");
            let answer = site.ask(&request).await;
            let is_over = answer.status() == 204;
            let text = text(answer).await;
            assert_eq!(if is_over { "204".to_owned() } else { names(&text) }, expected, "{reason}");
        }
    });
}

#[test]
fn what_can_t_be_answered_has_a_status_and_a_reason() {
    let (site, id) = ended(SiteForm::default());
    let rows = [
        ("/x", 404, "no such page\n"),
        ("/sessions/x", 404, "no session of this id\n"),
        ("/sessions/20261123-224103-aaaaaa", 404, "no session of this id\n"),
        ("/sessions/ID?profile=nope", 404, "no profile of this name\n"),
        ("/sessions/ID/events?profile=nope", 404, "no profile of this name\n"),
        ("/sessions/ID?theme=nope", 404, "no theme of this name\n"),
        ("/sessions/ID?before=nope", 404, "no entry of this id\n"),
        ("/sessions/ID?before=n-0000000000000000", 404, "no entry of this id\n"),
        ("/sessions/ID?profile=page&profile=page", 400, "the query of the address can't be read\n"),
        ("/sessions/ID/events?since=x", 400, "the query of the address can't be read\n"),
        ("/?page=x", 400, "the query of the address can't be read\n"),
        ("/static/x", 404, "no such file\n"),
        ("/static/theme-nope.css", 404, "no such file\n"),
        ("/static/theme-nope", 404, "no such file\n"),
        (
            "/tab",
            401,
            "this login has ended: streamfmt serve --link prints an address that logs a browser in\n",
        ),
    ];
    run_async(async {
        for (path, status, reason) in rows {
            let answer = site.get(&path.replace("ID", &id)).await;
            assert_eq!(answer.status(), status, "{path}");
            assert_eq!(text(answer).await, reason, "{path}");
        }
        let answer = site.ask("POST / | host: OWN").await;
        assert_eq!((answer.status().as_u16(), value(&answer, "allow")), (405, "GET, HEAD"));
        assert_eq!(value(&site.get("/x").await, "allow"), "");
        let busy = HubLimits { most: 0, wait: Duration::ZERO, ..HubLimits::default() };
        let (site, id) = ended(SiteForm { hub: busy, ..SiteForm::default() });
        let answer = site.get(&format!("/sessions/{id}/events")).await;
        assert_eq!(answer.status(), 503);
        assert!(text(answer).await.starts_with("too many sessions are open"));
        // The page is shown all the same, without a stream.
        let page = text(site.get(&format!("/sessions/{id}")).await).await;
        assert!(page.contains("Reply 1.") && page.contains(" data-done=\"\""), "{page}");
        let id = site.run(2, true, &site.log("running.ndjson", stream().as_bytes()), (0, None));
        for _ in 0..3 {
            let page = text(site.get(&format!("/sessions/{id}")).await).await;
            assert!(
                page.contains("Reply 1.") && page.contains("close a tab") && page.contains(" data-done=\"\"")
            );
        }
    });
}

#[test]
fn pages_hold_what_was_asked_for() {
    let (site, id) = ended(SiteForm::default());
    run_async(async {
        let list = site.get("/").await;
        assert_eq!(value(&list, "content-type"), "text/html; charset=utf-8");
        let list = text(list).await;
        assert!(list.contains(&id) && list.contains(" data-tab=\"1\" data-key=\""), "{list}");
        assert!(!text(site.get("/?q=nothing").await).await.contains(&format!("data-id=\"{id}\"")));
        let page = site.get(&format!("/sessions/{id}?profile=&theme=&before=")).await;
        assert_eq!((page.status().as_u16(), value(&page, "refresh")), (200, ""));
        let page = text(page).await;
        assert!(page.contains("Reply 1.") && page.contains("Over."));
        assert_eq!(attribute(&page, "profile"), USUAL);
        let node = page.rsplit("<div class=\"n ").next().unwrap();
        let before = node.split_once("id=\"").unwrap().1.split_once('"').unwrap().0;
        let older = text(site.get(&format!("/sessions/{id}?before={before}")).await).await;
        assert!(older.contains(" data-older=\"\"") && !older.contains(&format!("id=\"{before}\"")));
        assert_eq!(text(site.get("/healthz").await).await, "ok\n");
        let key = site.site.guard.logins.log_key(&id);
        let lines = site.ask(&format!("GET /sessions/{id}/log.sse?key={key} | host: OWN")).await;
        assert_eq!(value(&lines, "content-type"), "text/event-stream; charset=utf-8");
        let lines = text(lines).await;
        assert!(
            lines.starts_with(": ready\n\ndata: ") && lines.ends_with("event: done\ndata: done\n\n"),
            "{lines}"
        );
    });
}

#[test]
fn every_answer_forbids_what_a_page_doesn_t_need() {
    let (site, id) = ended(SiteForm::default());
    let key = site.site.guard.logins.log_key(&id);
    let log = format!("GET /sessions/{id}/log.sse?key={key} | host: OWN");
    let rows = [
        ("GET / | host: OWN | cookie: streamfmt=COOKIE", 200, ""),
        ("GET /x | host: OWN | cookie: streamfmt=COOKIE", 404, ""),
        ("GET / | host: OWN", 401, ""),
        ("GET / | host: evil.example", 421, ""),
        ("GET /healthz", 200, ""),
        (&log, 200, ""),
        (&*format!("{log} | origin: {DASHBOARD}"), 200, DASHBOARD),
        (&*format!("{log} | origin: https://evil.example"), 403, ""),
    ];
    run_async(async {
        for (request, status, origin) in rows {
            let answer = site.ask(request).await;
            let of = |name: &str| value(&answer, name).to_owned();
            assert_eq!(answer.status(), status, "{request}");
            assert!(of("content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
            assert_eq!(of("x-content-type-options"), "nosniff");
            assert_eq!(of("referrer-policy"), "no-referrer");
            assert_eq!(of("cache-control"), "no-store");
            assert_eq!(of("x-frame-options"), "DENY");
            assert_eq!(of("cross-origin-opener-policy"), "same-origin");
            let policy = if origin.is_empty() { "same-origin" } else { "cross-origin" };
            assert_eq!(of("cross-origin-resource-policy"), policy, "{request}");
            assert_eq!(of("access-control-allow-origin"), origin, "{request}");
            assert_eq!(of("vary").contains("Origin"), !origin.is_empty(), "{request}");
        }
    });
}

#[test]
fn a_login_is_a_cookie_for_this_site_only() {
    let rows = [
        ("", "GET /?token=TOKEN | host: OWN", 303, "Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", "/"),
        (
            "/agents",
            "GET /agents/?token=TOKEN | host: OWN",
            303,
            "Path=/agents; HttpOnly; SameSite=Strict; Max-Age=2592000",
            "/agents/",
        ),
        (
            "",
            "GET /?token=TOKEN | host: proxy.example | x-forwarded-proto: https",
            303,
            "Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000; Secure",
            "/",
        ),
        (
            "",
            "GET /?token=TOKEN | host: OWN | sec-fetch-site: cross-site | sec-fetch-mode: navigate | sec-fetch-dest: document",
            200,
            "Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000",
            "",
        ),
        ("", "GET /?token=TOKEN | host: OWN | cookie: streamfmt=COOKIE", 303, "", "/"),
    ];
    run_async(async {
        for (base, request, status, attributes, location) in rows {
            let site = TestSite::new(SiteForm { base, ..SiteForm::default() });
            let address = site.site.guard.logins.offer(Duration::from_secs(60)).unwrap();
            let token = address.split_once("?token=").unwrap().1;
            let answer = site.ask(&request.replace("TOKEN", token)).await;
            assert_eq!(
                (answer.status().as_u16(), value(&answer, "location")),
                (status, location),
                "{request}"
            );
            let set = value(&answer, "set-cookie").to_owned();
            let set = set.split_once("; ").map_or("", |(_, attributes)| attributes).to_owned();
            assert_eq!(set, attributes, "{request}");
            let is_page = status == 200;
            assert_eq!(text(answer).await.contains("content=\"0; url=/\""), is_page, "{request}");
        }
        // A second use of an address ends the login and its open streams.
        let site = site();
        let address = site.site.guard.logins.offer(Duration::from_secs(60)).unwrap();
        let token = address.split_once("?token=").unwrap().1;
        let first = site.ask(&format!("GET /?token={token} | host: OWN")).await;
        let cookie = value(&first, "set-cookie").split_once(';').unwrap().0.to_owned();
        let of = format!("GET / | host: OWN | cookie: {cookie}");
        assert_eq!(site.ask(&of).await.status(), 200);
        let again = site.ask(&format!("GET /?token={token} | host: OWN")).await;
        assert_eq!(again.status(), 401);
        assert!(text(again).await.starts_with("this address was used before"));
        assert_eq!(site.ask(&of).await.status(), 401);
    });
}

#[test]
fn a_tab_returns_by_a_proof() {
    let (site, _) = ended(SiteForm::default());
    let logins = &site.site.guard.logins;
    let (host, key) = (logins.host(), logins.tab_key(1));
    let keyed = |words: &[&str]| super::super::address::keyed(key.as_bytes(), words);
    run_async(async {
        let challenge = async || {
            let answer = site.ask("GET /tab?tab=1&nonce=n | host: OWN").await;
            assert_eq!(value(&answer, "content-type"), "application/json");
            let answer: serde_json::Value = serde_json::from_str(&text(answer).await).unwrap();
            assert_eq!(answer["proof"], keyed(&["server", "n", &host]));
            answer["challenge"].as_str().unwrap().to_owned()
        };
        let status = async |query: &str| {
            let answer = site.ask(&format!("GET /tab?{query} | host: OWN")).await;
            (answer.status().as_u16(), !value(&answer, "set-cookie").is_empty())
        };
        assert_eq!(status("tab=2&nonce=n").await, (401, false), "no such login");
        assert_eq!(status("tab=x&nonce=n").await, (401, false), "no number");
        let one = challenge().await;
        assert_eq!(status(&format!("tab=1&challenge={one}&proof=x")).await, (401, false), "a wrong proof");
        let one = challenge().await;
        let proof = keyed(&["tab", &one, &host]);
        // Another tab was faster, so nothing is used up.
        let there =
            format!("GET /tab?tab=1&challenge={one}&proof={proof} | host: OWN | cookie: streamfmt=COOKIE");
        let answer = site.ask(&there).await;
        assert_eq!((answer.status().as_u16(), value(&answer, "set-cookie")), (204, ""));
        assert_eq!(status(&format!("tab=1&challenge={one}&proof={proof}")).await, (204, true));
    });
}

#[test]
fn files_are_sent_once_and_each_has_its_kind() {
    let site = site();
    let themes = site.site.profiles.themes();
    let theme = format!("theme-{}.css", themes[0]);
    let rows = [
        ("page.css", CSS),
        ("serve.css", CSS),
        ("page.js", JS),
        ("serve.js", JS),
        ("icon.svg", "image/svg+xml"),
        (&*theme, CSS),
    ];
    run_async(async {
        let mut tags = std::collections::BTreeSet::new();
        for (name, kind) in rows {
            let answer = site.ask(&format!("GET /static/{name} | host: OWN")).await;
            assert_eq!((answer.status().as_u16(), value(&answer, "content-type")), (200, kind), "{name}");
            let tag = value(&answer, "etag").to_owned();
            assert!(tag.len() == 34 && !text(answer).await.is_empty(), "{name}: {tag}");
            for (known, status) in [
                (tag.clone(), 304),
                (format!("W/{tag}"), 304),
                (format!("\"x\", {tag}"), 304),
                (format!("\"x\" | if-none-match: {tag}"), 304),
                ("\"x\"".to_owned(), 200),
                ("ö".to_owned(), 200),
            ] {
                let request = format!("GET /static/{name} | host: OWN | if-none-match: {known}");
                let answer = site.ask(&request).await;
                assert_eq!((answer.status().as_u16(), value(&answer, "etag")), (status, &*tag), "{request}");
            }
            tags.insert(tag);
        }
        assert_eq!(tags.len(), rows.len());
    });
}

#[test]
fn each_request_is_a_line_of_the_log() {
    let site = site();
    run_async(async {
        for request in ["GET /?q=secret | host: OWN", "HEAD /healthz"] {
            body(site.ask(request).await).await;
        }
    });
    let log = std::fs::read_to_string(site.folder.path().join("access.log")).unwrap();
    let lines: Vec<&str> = log.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert!(lines[0].starts_with("127.0.0.1:50000 GET /?q=… 401 "), "{log}");
    assert!(lines[1].starts_with("127.0.0.1:50000 HEAD /healthz 200 0 "), "{log}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn refusals_don_t_flood_the_log_and_the_rest_is_counted() {
    static LINES: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
    let log = RefusalLog {
        report: |line| LINES.lock().unwrap().push(line.to_owned()),
        reported: std::sync::Mutex::default(),
    };
    let begun = Instant::now();
    let second = Duration::from_secs(1);
    let report = |now: Instant, count: u64| {
        (0..count).for_each(|number| log.report(now, format_args!("refused {number}")));
        std::mem::take(&mut *LINES.lock().unwrap())
    };
    let lines = report(begun, REPORTED);
    assert_eq!(lines.len() as u64, REPORTED);
    assert!(lines[3].ends_with("Z refused 3"), "{lines:?}");
    assert!(report(begun + Duration::from_millis(999), 5).is_empty(), "the second isn't over");
    let lines = report(begun + second, 1);
    assert_eq!((lines.len(), &*lines[0]), (2, "refused 5 further requests"));
    // Without further requests there is no line about them.
    assert_eq!(report(begun + 2 * second, REPORTED).len() as u64, REPORTED);
    assert_eq!(report(begun + 3 * second, 1).len(), 1);
}

#[test]
fn events_and_answers_with_a_secret_are_not_compressed() {
    for (name, content, may) in [
        ("content-type", "text/html; charset=utf-8", true),
        ("content-type", "text/event-stream; charset=utf-8", false),
        ("set-cookie", "streamfmt=x", false),
        ("etag", "x", true),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(content));
        let extensions = axum::http::Extensions::new();
        let found = may_be_compressed(StatusCode::OK, axum::http::Version::HTTP_11, &headers, &extensions);
        assert_eq!(found, may, "{name}: {content}");
    }
    let (site, id) = ended(SiteForm::default());
    run_async(async {
        for (path, coding) in [(format!("/sessions/{id}"), "gzip"), (format!("/sessions/{id}/events"), "")] {
            let request =
                format!("GET {path} | host: OWN | cookie: streamfmt=COOKIE | accept-encoding: gzip");
            assert_eq!(value(&site.ask(&request).await, "content-encoding"), coding, "{path}");
        }
    });
}

#[test]
fn errors_of_the_router_get_a_reason_and_others_keep_theirs() {
    let own = || HttpRefusal::new(StatusCode::NOT_FOUND, "a reason").into_response();
    for (response, expected) in [
        (StatusCode::OK.into_response(), ""),
        (StatusCode::NOT_MODIFIED.into_response(), ""),
        (StatusCode::METHOD_NOT_ALLOWED.into_response(), "method not allowed\n"),
        (StatusCode::BAD_GATEWAY.into_response(), "bad gateway\n"),
        (own(), "a reason\n"),
    ] {
        assert_eq!(run_async(text(with_reason(response))), expected);
    }
    assert_eq!(see_other("/\n").status(), StatusCode::BAD_REQUEST);
    assert!(run_async(text(refresh("/?a=\"<"))).contains("url=/?a=&quot;&lt;\""));
}

#[test]
fn a_log_that_doesnt_exist_yet_is_no_problem_and_one_that_is_replaced_is() {
    let site = TestSite::new(SiteForm::default());
    let reply = |number: usize, text: &str| {
        let content = [serde_json::json!({ "type": "text", "text": text })];
        let message = serde_json::json!({ "id": format!("m-{number}"), "content": content });
        let line = serde_json::json!({ "type": "assistant", "session_id": "s", "message": message });
        format!("{line}\n")
    };
    let log = site.folder.path().join("late.ndjson");
    let id = site.run(1, true, &log, (0, None));
    run_async(async {
        let live = Arc::clone(&site.reading(&id).await.live);
        // The facts are published after the first read of the log.
        let mut changes = live.changes();
        let _ = tokio::time::timeout(Duration::from_secs(5), changes.changed()).await;
        std::fs::write(&log, reply(1, "The log came late.") + &reply(2, "EVT2E")).unwrap();
        let mut open = OpenAnswer::of(site.get(&format!("/sessions/{id}/events?since=0")).await);
        assert!(open.until("EVT2E").await);
        assert!(!live.view().state().has_problem);
        std::fs::write(&log, reply(3, "EVT3E")).unwrap();
        assert!(open.until("EVT3E").await);
        assert!(live.view().state().has_problem);
    });
}
