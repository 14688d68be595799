//! `share`: the masked page, and the list of what was masked and what was left.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::inputs::gzip;
use crate::program::{Folder, Outcome};

/// Secrets are assembled here, so that no scanner takes them for a leak.
fn token() -> String {
    format!("ghp_{}", "a1B2".repeat(9))
}

/// A word that looks random.
fn random(start: &str) -> String {
    format!("{start}{}", "Xk2LW9bZ4Tn6".repeat(3))
}

/// A session with secrets in many places, some of which no rule masks.
fn session() -> String {
    let lines = [
        r#"{"type":"system","subtype":"init","session_id":"s-1","model":"m","cwd":"/srv/shop","tools":[]}"#,
        r#"{"type":"user","message":{"role":"user","content":"Use TOKEN for ada@example.org"},"session_id":"s-1"}"#,
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cat .env","description":"Read the settings"}}]},"session_id":"s-1"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"DB_PASSWORD=hunter2hunter2\nTOKEN\nADMIN_PASSWORD=$ecretPa55word\nupload key: 3f2b8c1e-9a4d-4e6f-8b21-7c5d9e0f1a2b\nHOST=10.1.2.3"}]},"session_id":"s-1"}"#,
        r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"curl http://shop.internal:8080/x -d RANDOM"}},{"type":"tool_use","id":"t3","name":"mcp__shop__TOKEN","input":{"a":1}}]},"session_id":"s-1"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"ok TOKEN"}]},"session_id":"s-1"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t3","content":[{"type":"text","text":"\u001b[31mcommit 9f2c4e1ab37d5086e1f4c2d9b7a60315e8d4f2c1\u001b[0m"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}]},"session_id":"s-1"}"#,
        r#"{"type":"assistant","message":{"id":"m3","content":[{"type":"text","text":"It was `TOKEN`, **not** ada@example.org."}]},"session_id":"s-1"}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"It was `TOKEN`, **not** ada@example.org.","session_id":"s-1"}"#,
    ];
    lines.join("\n").replace("TOKEN", &token()).replace("RANDOM", &random("q7"))
}

fn shared(folder: &Folder, options: &str) -> Outcome {
    folder.run(&format!("share s.jsonl {options}"))
}

/// The finds and the total.
fn listed(outcome: &Outcome) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let total = lines.pop().unwrap();
    assert_eq!(total["total"], true, "{outcome:?}");
    (lines, total)
}

/// The number of masks in a text, by kind.
fn masks(text: &str) -> BTreeMap<&str, u64> {
    let mut masks = BTreeMap::new();
    for (at, start) in text.match_indices("[redacted ") {
        let kind = text[at + start.len()..].split_once(']').unwrap().0;
        *masks.entry(kind).or_default() += 1;
    }
    masks
}

#[test]
fn the_list_names_what_was_masked_and_what_was_left() {
    let folder = Folder::with(&[("s.jsonl", &session())]);
    let outcome = shared(&folder, "").expect(0, "");
    let places: Vec<&str> = outcome
        .stdout
        .lines()
        .map(|line| line.trim_start().split_once(" line ").map_or(line, |(_, place)| place))
        .collect();
    let size = folder.read("s.html").len() as f64 / 1024.0;
    assert_eq!(
        places,
        [
            "Masked: 9",
            "  email: 2",
            "2, prompt: Use [redacted github-token] for [redacted email]; in one more place",
            "  github-token: 6",
            "2, prompt: Use [redacted github-token] for [redacted email]; in 4 more places",
            "  secret: 1",
            "4, result of Bash: DB_PASSWORD=[redacted secret]",
            "Left, although it looks like a secret: 5",
            "  private addresses: 2",
            "4, result of Bash: HOST=10… (8 characters)",
            "5, call of Bash: Bash curl http://sho…:8080/x -d (13 characters)",
            "  random characters: 1",
            "5, call of Bash: Bash curl http://sho…:8080/x -d q7Xk… (38 characters)",
            "  values of names like key, token and password: 2",
            "4, result of Bash: ADMIN_PASSWORD=$ec… (14 characters)",
            "4, result of Bash: upload key: 3f2b… (36 characters)",
            "Pictures, shown as they are: 1",
            "  image/png: 1",
            "7, result of mcp__shop__[redacted github-token]",
            &*format!(
                "9 masked, 5 left: s.html ({size:.1} KiB). Read the page before you send it; a pattern of your own masks more \
                 (sf.redact)."
            ),
        ],
        "{}",
        outcome.stdout
    );
}

#[test]
fn what_the_list_says_is_masked_is_what_the_page_shows() {
    let folder = Folder::with(&[("s.jsonl", &session())]);
    for profile in ["page", "full", "quiet", "review"] {
        let options = format!("--json --profile {profile} -o {profile}.html");
        let outcome = shared(&folder, &options).expect(0, "");
        let (finds, _) = listed(&outcome);
        let page = folder.read(&format!("{profile}.html"));
        for secret in [&*token(), &token()[4..16], "hunter2", "ada@example.org"] {
            assert!(!page.contains(secret) && !outcome.stdout.contains(secret), "{profile}: {secret}");
        }
        let masked = finds.iter().filter(|find| find["find"] == "masked");
        let text = |find: &Value, key: &str| find[key].as_str().unwrap_or_default().to_owned();
        let listed: BTreeSet<String> = masked.clone().map(|find| text(find, "kind")).collect();
        let shown: BTreeSet<String> = masks(&page).into_keys().map(str::to_owned).collect();
        assert_eq!(listed, shown, "{profile}");
        // Each entry of the page has the masks listed for it.
        let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for find in masked {
            let anchor = text(find, "anchor");
            assert!(page.contains(&format!("id=\"{anchor}\"")), "{profile}: {find}");
            expected.entry(anchor).or_default().insert(text(find, "kind"));
        }
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let body = page.split_once("<main").unwrap().1;
        for part in body.split("id=\"e-").skip(1) {
            let anchor = format!("e-{}", part.split_once('"').unwrap().0);
            let kinds = masks(part).into_keys().map(str::to_owned).collect::<BTreeSet<_>>();
            if !kinds.is_empty() {
                found.entry(anchor).or_default().extend(kinds);
            }
        }
        assert_eq!(found, expected, "{profile}");
        // Unmasked finds are in the page as well.
        for find in finds.iter().filter(|find| find["find"] == "left") {
            assert!(page.contains(find["start"].as_str().unwrap()), "{profile}: {find}");
        }
    }
}

#[test]
fn everything_is_masked_whatever_the_profile_masks() {
    let folder =
        Folder::with(&[("s.jsonl", &session()), ("p.toml", "[redact]\nemails = false\nsecrets = false\n")]);
    let outcome = shared(&folder, "--profile ./p.toml");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("\n9 masked, 5 left: s.html "), "{}", outcome.stdout);
    assert!(!folder.read("s.html").contains("hunter2"));
}

#[test]
fn a_pattern_of_ones_own_is_listed_too() {
    let folder = Folder::with(&[
        ("s.jsonl", &session()),
        (
            "p.lua",
            "sf.redact({ patterns = { random = 'q7[A-Za-z0-9]+', uploads = 'upload key: (\\\\S+)' } })",
        ),
    ]);
    let outcome = shared(&folder, "--plugin p.lua");
    for line in ["  random: 1\n", "  uploads: 1\n", "\n11 masked, 3 left: s.html "] {
        assert!(outcome.stdout.contains(line), "{line}: {outcome:?}");
    }
}

#[test]
fn what_was_left_fails_only_if_wanted() {
    let folder = Folder::with(&[("s.jsonl", &session()), ("calm.jsonl", &crate::program::reply(1))]);
    shared(&folder, "").expect(0, "");
    shared(&folder, "--strict").expect(1, "");
    let calm = folder.run("share --strict calm.jsonl").expect(0, "");
    assert!(calm.stdout.starts_with("0 masked, 0 left: calm.html ("), "{}", calm.stdout);
    // The page of a truncated input has a list as well.
    let packed = gzip(session().as_bytes());
    folder.write("cut.gz", &packed[..packed.len() - 4]);
    let cut = folder.run("share cut.gz");
    assert!(cut.code == Some(2) && cut.stdout.contains("\n9 masked, 5 left: cut.html ("), "{cut:?}");
    // An unreadable input has no list.
    let none = folder.run("share ./none.jsonl");
    assert_eq!((none.code, &*none.stdout), (Some(2), ""));
}

#[test]
fn a_page_is_not_replaced_unless_it_is_named() {
    let folder = Folder::with(&[("s.jsonl", &session()), ("s.html", "mine")]);
    let outcome = shared(&folder, "");
    assert!(outcome.stdout.contains("left: s-2.html ("), "{}", outcome.stdout);
    assert_eq!(folder.read("s.html"), "mine");
    std::fs::create_dir(folder.path("pages")).unwrap();
    let outcome = shared(&folder, "-o pages");
    assert!(outcome.stdout.contains("left: pages/s.html ("), "{}", outcome.stdout);
    shared(&folder, "-o s.html");
    assert!(folder.read("s.html").starts_with("<!"));
    let piped = folder.pipe("share -", &session());
    assert!(piped.stdout.contains("left: session.html ("), "{}", piped.stdout);
    let message = "streamfmt: -o -: the list is written to standard output; name a file for the page\n";
    shared(&folder, "-o -").expect(2, message);
    shared(&folder, "-o s.jsonl").expect(2, "streamfmt: s.jsonl: can't be both read and written\n");
}

#[test]
fn several_at_once_write_a_page_each() {
    let folder = Folder::with(&[("s.jsonl", &session()), ("empty/s.jsonl", "")]);
    let shares: Vec<_> = (0..4)
        .map(|_| folder.command("share s.jsonl").stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    for mut share in shares {
        assert!(share.wait().unwrap().success());
    }
    assert_eq!(folder.names_in(""), ["empty", "s-2.html", "s-3.html", "s-4.html", "s.html", "s.jsonl"]);
    for page in ["s.html", "s-2.html", "s-3.html", "s-4.html"] {
        assert!(folder.read(page).starts_with("<!"), "{page}");
    }
    // A session that can't be shared leaves no empty page.
    shared(&folder, "-o empty --from nobody");
    assert_eq!(folder.names_in("empty"), ["s.jsonl"]);
}

#[test]
fn options_without_a_use_for_a_page_are_refused() {
    let folder = Folder::with(&[("s.jsonl", &session())]);
    for option in [
        "--to text",
        "--color always",
        "--live always",
        "--width 80",
        "--ascii",
        "--follow",
        "--tee x",
        "--assets x",
        "--also text=x",
        "--summary x",
        "--tail 10",
        "--watch",
    ] {
        let outcome = shared(&folder, option);
        let name = option.split_once(' ').map_or(option, |(name, _)| name);
        let message = format!("streamfmt: share doesn't take {name} (");
        assert!(outcome.code == Some(2) && outcome.stderr.starts_with(&message), "{option}: {outcome:?}");
        assert!(!folder.names().contains(&"s.html".to_owned()), "{option}");
    }
}

#[test]
fn the_list_is_harmless_in_a_terminal_and_a_log() {
    let text = "##[group]\\u001b]0;x\\u0007\\u202e key: 3f2b8c1e-9a4d-4e6f-8b21-7c5d9e0f1a2b";
    let line = format!(
        r#"{{"type":"assistant","message":{{"id":"m1","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"s-1"}}"#
    );
    let folder = Folder::with(&[("s.jsonl", &line)]);
    for options in ["", "--json"] {
        let outcome = shared(&folder, options);
        assert!(outcome.stdout.contains("3f2b"), "{outcome:?}");
        assert!(!outcome.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{outcome:?}");
    }
    let log: Outcome = folder.command("share s.jsonl").env("CI", "true").output().unwrap().into();
    assert!(log.stdout.contains("## [group]") && !log.stdout.contains("##["), "{log:?}");
}

#[cfg(unix)]
#[test]
fn a_session_of_the_store_is_shared_by_its_id() {
    use crate::run::{agents, run};
    use crate::sessions::rows;

    let folder = agents(&[("claude", "cat session")]);
    folder.write("session", session());
    assert_eq!(run(&folder, "run -- ./claude -p Fix").code, Some(0));
    let id = rows(&folder, "")[0]["id"].as_str().unwrap().to_owned();
    for name in ["last", &id, &id[..id.len() - 1]] {
        let outcome = run(&folder, &format!("share {name} -o page.html")).expect(0, "");
        assert!(outcome.stdout.contains("\n9 masked, 5 left: page.html ("), "{name}: {outcome:?}");
    }
    let outcome = run(&folder, "share last");
    assert!(outcome.stdout.contains(&format!("left: {id}.html (")), "{outcome:?}");
    let message = "streamfmt: no file and no session \"nothing\" (list them: streamfmt sessions list)\n";
    run(&folder, "share nothing").expect(2, message);
}
