//! Texts that are masked, texts that only look like secrets and stay, and secrets over several lines or spans.

mod people;

use std::cell::RefCell;

use super::read::EXAMINED;
use super::*;
use crate::entry::{Block, DiffLine, Hunk, LineChange, View};

thread_local! {
    /// A new redactor begins with empty caches of its patterns, so the tests of a thread share one.
    static SECRETS: RefCell<Redactor> = RefCell::new(redactor(&Redaction::secrets()));
    static EVERYTHING: RefCell<Redactor> = RefCell::new(redactor(&Redaction::everything()));
}

fn secret(text: &str) -> String {
    SECRETS.with_borrow_mut(|redactor| redactor.text(text).into_owned())
}

fn redactor(redaction: &Redaction) -> Redactor {
    Redactor::new(redaction).unwrap()
}

/// Builds a token at run time, so that no scanner takes the tests for a leak.
fn token(start: &str, body: &str, times: usize) -> String {
    format!("{start}{}", body.repeat(times))
}

#[test]
fn known_tokens_are_masked_and_their_surroundings_stay() {
    for (name, token) in [
        ("aws-access-key", token("AKIA", "IOSFODNN7EXAMPLE", 1)),
        ("aws-access-key", token("ASIA", "Q2", 8)),
        ("github-token", token("ghp_", "a1B2", 9)),
        ("github-token", token("gho_", "a1B2", 9)),
        ("github-token", token("ghs_", "a1B2", 9)),
        ("github-token", token("github_pat_", "11ABCDEFG0_", 4)),
        ("gitlab-token", token("glpat-", "aB3_-", 4)),
        ("slack-token", token("xoxb-", "123456789012-", 3)),
        ("slack-token", token("xapp-", "1-A012-34-ab", 2)),
        ("slack-webhook", token("hooks.slack.com/services/", "T00/B00/XX", 3)),
        ("anthropic-key", token("sk-ant-", "api03-Ab_9", 5)),
        ("openai-key", token("sk-proj-", "aB3_-", 10)),
        ("openai-key", token("sk-", "aB3dE6", 8)),
        ("google-key", token("AIza", "SyA1_-b", 5)),
        ("google-client-secret", token("GOCSPX-", "aB3_-x7", 4)),
        ("stripe-key", token("sk_live_", "4eC39H", 4)),
        ("stripe-key", token("rk_test_", "4eC39H", 4)),
        ("stripe-webhook-secret", token("whsec_", "4eC39H", 5)),
        ("npm-token", token("npm_", "aB3dE6", 6)),
        ("pypi-token", token("pypi-", "AgEIcHlwaS5vcmc", 5)),
        (
            "jwt",
            format!("{}.{}.{}", token("eyJ", "hbGciOiJI", 2), token("eyJ", "zdWIiOiIx", 2), "s1-_".repeat(9)),
        ),
        ("hugging-face-token", token("hf_", "aBcDeF", 6)),
        ("sendgrid-key", token("SG.", "aB3-_xYz.9", 7)),
        (
            "age-secret-key",
            token("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE", 1),
        ),
    ] {
        for (before, after) in
            [("", ""), ("key: ", " and more"), ("\"", "\","), ("(", ")."), ("a\\n", "\\nb"), ("x=", "&y=1")]
        {
            let text = format!("{before}{token}{after}");
            assert_eq!(secret(&text), format!("{before}[redacted {name}]{after}"), "{text}");
        }
        let inside = format!("x{token}");
        if name != "jwt" {
            assert_eq!(secret(&inside), inside, "a word that only ends like it");
        }
    }
}

#[test]
fn values_that_are_given_to_the_names_of_secrets_are_masked() {
    for (text, masked) in [
        ("API_KEY=hunter2hunter2", "API_KEY=[redacted secret]"),
        ("export DB_PASSWORD=hunterhunter", "export DB_PASSWORD=[redacted secret]"),
        (r#"{"password": "hunter2"}"#, r#"{"password": "[redacted secret]"}"#),
        (r#"{\"clientSecret\":\"abcDEF123456\"}"#, r#"{\"clientSecret\":\"[redacted secret]\"}"#),
        ("password: hunter2x\nuser: ada", "password: [redacted secret]\nuser: ada"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [redacted secret]",
        ),
        ("login --password hunter22 --user ada", "login --password [redacted secret] --user ada"),
        ("login --token=abc123def", "login --token=[redacted secret]"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer [redacted secret]"),
        ("-H 'authorization: token abcdefgh'", "-H 'authorization: token [redacted secret]'"),
        ("curl -H \"X-Api-Key: abc123def456\"", "curl -H \"X-Api-Key: [redacted secret]\""),
        ("sent Bearer abcdefghijklmnop1", "sent Bearer [redacted bearer-token]"),
        ("postgres://ada:pa55@db/shop", "postgres://ada:[redacted password]@db/shop"),
        ("redis://:pa55word@cache:6379", "redis://:[redacted password]@cache:6379"),
        ("https://0123456789abcdef0123@github.com/x", "https://[redacted password]@github.com/x"),
    ] {
        assert_eq!(secret(text), masked, "{text}");
        assert_eq!(secret(masked), masked, "once is enough");
    }
}

#[test]
fn text_that_only_looks_random_stays() {
    for text in [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "integrity sha512-Q2Z1d2VydHl1aW9wYXNkZmdoamtsenhjdmJubQ==",
        "max_tokens: 4096, token_count=17, \"total_tokens\": 120345",
        "input_tokens: 12345 output_tokens: 678",
        "password: string; token: Uint8Array, secret?: boolean",
        "const token = await getToken(user);",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password: ${{ secrets.DB_PASSWORD }}",
        "API_KEY=$API_KEY API_KEY=\"${API_KEY}\" PASSWORD=<password>",
        "type=\"password\" name=\"password\" placeholder=\"Your password\"",
        "let token = self.tokens.next2;",
        "Token::new(kind)",
        "https://example.com:8080/a@b",
        "http://localhost:3000/users/@me",
        "http://localhost:300…",
        "image://shop:latest/x",
        "git@github.com:ada/shop.git and ssh://git@host/x",
        "class=\"sk-fading-circle sk-circle12 task-runner\"",
        "the secret of success: 10 years",
        "AKIA is how it begins",
        "ghp_short",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "secret_name: db-credentials-2 password_file=/run/secrets/db1",
    ] {
        assert_eq!(secret(text), text);
    }
}

fn key(lines: usize) -> String {
    let label = "RSA PRIVATE KEY-----";
    format!("-----BEGIN {label}\n{}-----END {label}", "MIIEpAIBAAKCAQEA0Z3V\n".repeat(lines))
}

#[test]
fn private_keys_are_masked_line_by_line() {
    assert_eq!(secret(&format!("a\n{}\nb", key(2))), "a\n[redacted private-key]\n…\n…\n…\nb");
    let escaped = format!("\"key\": \"{}\\n\", \"x\": 1", key(2).replace('\n', "\\n"));
    assert_eq!(secret(&escaped), "\"key\": \"[redacted private-key]\\n\", \"x\": 1");
    let cut = key(3).split("-----END").next().unwrap_or_default().to_owned();
    assert_eq!(secret(&cut), "[redacted private-key]\n…\n…\n…\n");
    let mut json = format!("{{\"a\":\"{}\",\"b\":\"-----END \"}}", cut.replace('\n', "\\n"));
    redactor(&Redaction::secrets()).json(&mut json);
    assert_eq!(json, "{\"a\":\"[redacted private-key]\",\"b\":\"-----END \"}");
}

#[test]
fn a_key_right_behind_another_is_masked_as_well() {
    let two = key(2) + &key(1) + "\nb";
    assert_eq!(secret(&two), "[redacted private-key]\n…\n…\n…[redacted private-key]\n…\n…\nb");
    let mut redactor = redactor(&Redaction::secrets());
    let shown: Vec<String> = two
        .lines()
        .map(|line| {
            let mut view = View::of(vec![Block::text("text", Text::clean(line))]);
            redactor.raw_line(&mut view);
            let [Block::Code { text, .. } | Block::Prose { text, .. }] = &view.body[..] else {
                panic!("{view:?}")
            };
            text.to_string()
        })
        .collect();
    assert_eq!(shown, ["[redacted private-key]", "…", "…", "…", "…", "…", "b"]);
}

#[test]
fn a_key_over_the_lines_of_a_diff_is_masked_and_the_lines_stay() {
    let text = format!("x = \"\"\"\n{}\n\"\"\"", key(2));
    let lines = text.lines().map(|text| DiffLine { change: LineChange::Add, text }).collect();
    let hunk = Hunk { old_start: None, new_start: Some(1), lines };
    let mut blocks = [Block::Diff { path: None, hunks: vec![hunk] }];
    let mut redactor = redactor(&Redaction::secrets());
    redactor.blocks(&mut blocks);
    let [Block::Diff { hunks, .. }] = &blocks else { panic!("{blocks:?}") };
    let lines: Vec<&str> = hunks[0].lines.iter().map(|line| line.text).collect();
    assert_eq!(lines, ["x = \"\"\"", "[redacted private-key]", "…", "…", "…", "\"\"\""]);
    assert_eq!(redactor.take_counts(), [("private-key".to_owned(), 1)].into());
}

#[test]
fn a_key_over_the_strings_of_a_list_is_masked_and_the_json_stays() {
    let lines: Vec<String> = key(3).lines().map(|line| format!("+{line}")).collect();
    let around = |lines: Vec<String>| serde_json::json!({"patch": {"lines": lines}, "then": "kept"});
    let mut line =
        around([vec!["+before".to_owned()], lines.clone(), vec!["+after".to_owned()]].concat()).to_string();
    redactor(&Redaction::secrets()).json(&mut line);
    let masked: serde_json::Value = serde_json::from_str(&line).unwrap();
    let want = ["+before", "+[redacted private-key]", "…", "…", "…", "…", "+after"];
    assert_eq!(masked, around(want.map(str::to_owned).to_vec()));
    // If the end of a key isn't in its list, nothing after the list is masked.
    let mut line = serde_json::json!([[lines[0]], "kept", lines[lines.len() - 1]]).to_string();
    redactor(&Redaction::secrets()).json(&mut line);
    assert!(line.contains("\"kept\""), "{line}");
}

#[test]
fn a_token_in_colour_is_masked() {
    let token = token("ghp_", "a1B2", 9);
    for (start, end) in [("\x1b[1m", "\x1b[0m"), ("\x1b[m", ""), ("\x1b[38;2;1;2;3m", "\x1b[39m")] {
        let text = format!("{start}{token}{end}");
        assert_eq!(secret(&text), format!("{start}[redacted github-token]{end}"));
        let mut line = serde_json::json!([text]).to_string();
        redactor(&Redaction::secrets()).json(&mut line);
        assert!(!line.contains(&token), "{line}");
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{line}");
    }
    let word = format!("[1m{token}");
    assert_eq!(secret(&word), word, "no colour");
}

#[test]
fn a_secret_over_several_spans_is_masked() {
    let mut line = Line::of("a", "API_KEY=hun");
    line.attach("b", "ter2hunter2 b");
    redactor(&Redaction::secrets()).line(&mut line);
    let texts: Vec<&str> = line.spans().map(|span| span.text()).collect();
    assert_eq!(texts, ["API_KEY=[redacted secret]", " b"]);
}

#[test]
fn a_key_in_lines_that_come_one_by_one_is_masked() {
    let mut redactor = redactor(&Redaction::secrets());
    let mut shown = Vec::new();
    for line in format!("{}\nfree", key(2)).lines() {
        let mut view = View::of(vec![Block::text("unknown", line.to_owned())]);
        redactor.raw_line(&mut view);
        let [Block::Code { text, .. }] = &view.body[..] else { panic!("{view:?}") };
        shown.push(text.to_string());
    }
    assert_eq!(shown, ["[redacted private-key]", "…", "…", "…", "free"]);
}

/// A key of 4096 bits has about 50 lines, one of 16384 bits 200.
#[test]
fn all_lines_of_a_long_key_are_masked_also_if_they_come_one_by_one() {
    for lines in [60, MOST_KEY_LINES as usize - 1] {
        let text = format!("{}\nfree", key(lines));
        let expected = [vec!["[redacted private-key]"], vec!["…"; lines + 1], vec!["free"]].concat();
        assert_eq!(by_line(&text), [expected.clone(), expected], "{lines}");
    }
}

/// An apparent beginning of a key doesn't hide an endless output.
#[test]
fn a_key_that_does_not_end_is_masked_up_to_a_limit_of_lines() {
    let most = MOST_KEY_LINES as usize;
    let text = key(most + 2).replace("-----END RSA PRIVATE KEY-----", "MIIE");
    let shown = vec!["MIIEpAIBAAKCAQEA0Z3V", "MIIEpAIBAAKCAQEA0Z3V", "MIIE"];
    let expected = [vec!["[redacted private-key]"], vec!["…"; most], shown].concat();
    assert_eq!(by_line(&text), [expected.clone(), expected]);
}

/// The lines of a text, masked one by one: as views, and as texts.
fn by_line(text: &str) -> [Vec<String>; 2] {
    let mut views = redactor(&Redaction::secrets());
    let mut texts = redactor(&Redaction::secrets());
    let view = |line: &str| {
        let mut view = View::of(vec![Block::text("unknown", line.to_owned())]);
        views.raw_line(&mut view);
        let [Block::Code { text, .. }] = &view.body[..] else { panic!("{view:?}") };
        text.to_string()
    };
    let masked = |line: &str| {
        let mut line = line.to_owned();
        texts.next_line(&mut line);
        line
    };
    [text.lines().map(view).collect(), text.lines().map(masked).collect()]
}

#[test]
fn of_finds_that_overlap_nothing_stays() {
    let own = |pattern: &str| CustomPattern::new(pattern, pattern).unwrap();
    for (text, patterns, masked) in [
        ("abcdefgh!", ["abcd", "cdefgh"], "[redacted abcd][redacted cdefgh]!"),
        ("abcdefgh!", ["cdefgh", "abcd"], "[redacted abcd][redacted cdefgh]!"),
        ("abcdefgh!", ["abcdef", "cd"], "[redacted abcdef]gh!"),
        ("abcdefgh!", ["abcd", "abcdef"], "[redacted abcdef]gh!"),
        ("abcdefgh!", ["abcd", "efgh"], "[redacted abcd][redacted efgh]!"),
    ] {
        let redaction = Redaction { own: patterns.map(own).to_vec(), ..Redaction::default() };
        let mut redactor = redactor(&redaction);
        assert_eq!(redactor.text(text), masked, "{patterns:?}");
        let mut json = format!("[\"{text}\"]");
        redactor.json(&mut json);
        assert_eq!(json, format!("[\"{masked}\"]"), "{patterns:?}");
        let mut line = Line::of("a", text[..3].to_owned());
        line.attach("b", text[3..].to_owned());
        redactor.line(&mut line);
        assert_eq!(line.text(), masked, "{patterns:?}, over two spans");
    }
}

#[test]
fn addresses_and_home_folders_are_masked_if_wanted() {
    let redaction = Redaction { emails: true, home: true, ..Redaction::default() };
    for (text, masked) in [
        (
            "Ada <ada.l@example.org>, git@github.com, pkg@1.2.3",
            "Ada <[redacted email]>, git@github.com, pkg@1.2.3",
        ),
        ("/home/ada/shop /Users/ada /Users/Shared/x x/home/a", "~/shop ~ /Users/Shared/x x/home/a"),
        (r"C:\Users\ada\shop", r"~\shop"),
        (r#""C:\\Users\\ada\\shop""#, r#""~\\shop""#),
        ("password=hunter2hunter2", "password=hunter2hunter2"),
    ] {
        assert_eq!(redactor(&redaction).text(text), masked);
    }
}

#[test]
fn own_patterns_mask_their_group() {
    let own = |name: &str, pattern: &str| CustomPattern::new(name, pattern).unwrap();
    let redaction = Redaction {
        own: vec![own("customer", r"customer-(\d+)"), own("host", r"\bdb\d+\b")],
        ..Redaction::default()
    };
    assert_eq!(
        redactor(&redaction).text("customer-0815 on db7, customer-x"),
        "customer-[redacted customer] on [redacted host], customer-x"
    );
    assert!(CustomPattern::new("x", "(").is_err_and(|error| !error.contains('\n') && !error.is_empty()));
    let mut json = r#"{"a":"customer-1"}"#.to_owned();
    redactor(&Redaction { own: vec![own("all", ".+")], ..Redaction::default() }).json(&mut json);
    assert_eq!(json, r#"{"a":"customer-1"}"#, "no mask goes over the end of a string");
}

#[test]
fn a_json_escape_is_read_as_its_character() {
    let own = CustomPattern::new("word", "[a-z]*word").unwrap();
    let redaction = Redaction { own: vec![own], ..Redaction::everything() };
    let mut redactor = redactor(&redaction);
    let npm = token("npm_", "aB3dE6", 6);
    let stripe = token("rk_test_", "4eC39H", 4);
    for before in ["", "\n", "\t", "\r", "\u{8}", "\u{c}", "\u{1b}", "\"", "\\", "\\\\", "é", "x", "\n\\"] {
        for after in [
            "@a.token",
            "ada@example.org",
            "git@github.com",
            "API_KEY=hunterhunter",
            "--password hunter22",
            "password: hunter2x",
            "postgres://ada:pa55@db/shop",
            "sent Bearer abcdefghijklmnop1",
            "/home/ada/shop",
            "sword",
            &npm,
            &npm[1..],
            &stripe,
            &stripe[1..],
        ] {
            let text = format!("{before}{after}");
            let want = redactor.text(&text).into_owned();
            let written = serde_json::to_string(&text).unwrap();
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
            let escaped = format!("\"{}\"", units.collect::<String>());
            for mut json in [written.replace('/', "\\/"), escaped, written] {
                redactor.json(&mut json);
                let masked: String = serde_json::from_str(&json).unwrap_or_else(|_| panic!("{json}"));
                assert_eq!(masked, want, "{json}");
            }
        }
    }
}

#[test]
fn a_backslash_that_begins_no_escape_is_passed_over() {
    let token = token("npm_", "aB3dE6", 6);
    for before in [r#"{"a":"\q "#, r#"{"a":"\u12 "#, r#"{"a":"\é "#, r#"\{"a":""#, r#"\é"a":""#] {
        let mut json = format!("{before}{token}\"}}");
        redactor(&Redaction::secrets()).json(&mut json);
        assert_eq!(json, format!("{before}[redacted npm-token]\"}}"));
    }
}

#[test]
fn a_cut_secret_is_still_recognised() {
    let cut = format!("{}…", &token("ghp_", "a1B2", 9)[..12]);
    assert_eq!(secret(&cut), "[redacted github-token]…");
    assert_eq!(secret("API_KEY=hun…"), "API_KEY=[redacted secret]…");
    assert_eq!(secret("https://ada:pa…"), "https://ada:[redacted password]…");
}

#[test]
fn work_grows_with_length_whatever_the_text() {
    // Each of these costs a multiple if text is examined repeatedly.
    for part in [
        "token=",
        "eyJ",
        "eyJ-",
        "eyJaaaaaaaaaaa.",
        "://a:",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\n(\n",
        "secret",
        "password=\"",
        "@",
        "a@a.",
        "sk-a",
        "/home/",
        "ghp_",
    ] {
        assert_linear(part, 5_000, |length| {
            let text = part.repeat(length / part.len());
            let masked = EVERYTHING.with_borrow_mut(|redactor| {
                redactor.json(&mut text.clone());
                redactor.text(&text).len()
            });
            assert!(masked < 4 * text.len() + 100, "{part}");
        });
    }
}

/// In long texts, the text before the searched part is read again up to a limit.
#[test]
fn work_grows_with_length_however_a_text_comes() {
    let lines = |length: usize| "MIIEpAIBAAKCAQEA0Z3V\n".repeat(length / 21);
    let text = |length: usize| format!("-----BEGIN RSA PRIVATE KEY-----\n{}", lines(length));
    let mut redactor = redactor(&Redaction::secrets());
    assert_linear("at once", 600_000, |length| drop(redactor.text(&lines(length))));
    assert_linear("as JSON", 600_000, |length| {
        redactor.json(&mut serde_json::to_string(&[lines(length)]).unwrap());
    });
    assert_linear("line by line", 40_000, |length| {
        text(length).lines().for_each(|line| redactor.next_line(&mut line.to_owned()));
    });
    assert_linear("while it grows", 300_000, |length| {
        let (text, step) = (text(length), 10_000);
        for end in (step..length).step_by(step) {
            redactor.settled(&text[..end], end - step);
        }
    });
}

/// Asserts that four times the length takes about four times the work.
fn assert_linear(name: &str, length: usize, mut examine: impl FnMut(usize)) {
    let mut work = |length: usize| {
        let before = EXAMINED.get();
        examine(length);
        EXAMINED.get() - before
    };
    let (once, four_times) = (work(length), work(4 * length));
    assert!(once > length / 2, "{name}: {once} bytes examined of {length}");
    assert!(four_times < once * 5, "{name}: {four_times} bytes examined after {once}");
}

proptest::proptest! {
    #[test]
    fn nothing_breaks(text in "[a\n\"\\\\:=@/. é…-]{0,8}(token|password|eyJ|ghp_|://|-----BEGIN PRIVATE KEY-----|Authorization|/home/|@)[a1\n\"'\\\\:=@/. é…-]{0,60}") {
        let mut json = serde_json::to_string(&[&text]).unwrap();
        let masked = EVERYTHING.with_borrow_mut(|redactor| {
            redactor.json(&mut json);
            redactor.text(&text).into_owned()
        });
        proptest::prop_assert_eq!(masked.matches('\n').count(), text.matches('\n').count());
        proptest::prop_assert!(serde_json::from_str::<Vec<String>>(&json).is_ok(), "{}", json);
    }
}
