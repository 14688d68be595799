//! Typical secrets of users, and harmless texts that resemble them.

use super::{redactor, token};
use crate::redact::Redaction;
use crate::redact::shape::{CharClass, tokens};

/// Masks the shapes of secrets.
fn secret(text: &str) -> String {
    redactor(&Redaction::secrets()).text(text).into_owned()
}

/// A random value.
const DRAWN: &str = "a7Kd93mPq0Zx81LwT5vB";
/// A random value in hexadecimal digits.
const HEX: &str = "3f2b8c1e9a4d4e6f8b217c5d9e0f1a2b";

#[test]
fn what_is_assigned_to_the_names_that_people_use_is_masked() {
    for text in [
        // Variables.
        "SMTP_PASS=@",
        "export DB_PASS=@",
        "MYSQL_PWD=@",
        "GH_PAT=@",
        "AZURE_DEVOPS_EXT_PAT=@",
        "SENTRY_AUTH=@",
        "RAILS_MASTER_KEY=#",
        "APP_KEY=base64:@",
        "ENCRYPTION_KEY=#",
        "STRIPE_KEY: @",
        r#"{"user":"dev","pass":"@"}"#,
        r#"{\"pwd\":\"@\"}"#,
        "smtpPass: '@'",
        "Driver=x;Server=h;Uid=u;Pwd=@;",
        r#"{"name":"DB_PASSWORD","value":"@"}"#,
        r#"<add key="ApiKey" value="@" />"#,
        // Text by models.
        "**Password:** @",
        "**Password**: `@`",
        "__Password:__ @",
        "API key: @",
        "**API key**: `@`",
        "Secret key: @",
        "| password | @ |",
        "| `API_KEY` | `@` |",
        "Password (admin): @",
        "The password for admin is @ now",
        "password is @.",
        // Files.
        r#""auths":{"https://index.example/v1/":{"auth":"@"}}"#,
        "_auth=@",
        "//registry.example/:_authToken=@",
        "machine api.example.com login me password @",
        "  password @",
        "db.example.com:5432:shop:app:@",
        "*:*:*:app:@",
        "    client-key-data: @",
        "<password>@</password>",
        "<ns:password>@</ns:password>",
        "Private-MAC: @",
        // Command lines and headers.
        "curl -u admin:@ https://api.example.com/v1",
        "curl -s --user 'admin:@' https://api.example.com/v1",
        "mysql -h db -uroot -p@ shop",
        "sshpass -p @ ssh -p 22 me@host",
        "docker login -u me -p @ registry.example",
        "Cookie: sessionid=@",
        "Set-Cookie: sid=@; Path=/; HttpOnly",
        "curl --cookie 'sid=@' https://x.example",
        "https://acct.example/c?sv=2022-11-02&sp=r&sig=@",
        "https://maps.example/api?key=@&q=1",
        "https://b.example/o?X-Amz-Signature=#&x=1",
    ] {
        for value in [DRAWN, HEX] {
            let text = text.replace(['@', '#'], value);
            let text = text.replace(&format!("me{value}"), "me@");
            let masked = secret(&text);
            assert!(!masked.contains(value) && masked.contains("[redacted "), "{text}: {masked}");
            assert_eq!(secret(&masked), masked, "once is enough");
            let json = serde_json::to_string(&[&text]).unwrap();
            let mut line = json.clone();
            redactor(&Redaction::secrets()).json(&mut line);
            let read: Vec<String> = serde_json::from_str(&line).unwrap();
            assert_eq!(read, [masked], "{json}");
        }
    }
}

#[test]
fn harmless_texts_stay() {
    for text in [
        "commit 9f2c4e1ab37d5086e1f4c2d9b7a60315e8d4f2c1",
        "session 3f2b8c1e-9a4d-4e6f-8b21-7c5d9e0f1a2b resumed",
        "The password field is required, and the token count is 4096.",
        "def check(password: str, api_key: Optional[str] = None) -> bool:",
        "password: ${DB_PASSWORD} and os.environ[\"API_KEY\"]",
        "apiKey: string; token?: string | undefined;",
        "passed: 14, skipped: 2; bypass=true1; compass=north1; PASS: TestCart1",
        "--- PASS: TestTotal2 (0.00s)",
        "KEY_EVENTS=enabled PRIMARY_KEY=id FOREIGN_KEY=order_id SORT_KEY=created",
        "GPG_KEY=A035C8C19219BA821ECEA86B64E628F8D684696D",
        "CACHE_KEY=linux-a7Kd93mPq0Zx81LwT5vB PUBLIC_KEY=a7Kd93mPq0Zx81LwT5vB",
        "author: Ada Lovelace; authored=2026-11-02; auth: none; \"auth\":\"oauth2\"",
        "data:image/png;base64 is a prefix",
        "src/auth/password_reset/token_bucket.rs:120",
        "next_page_token: null, cursor: \"\", max_tokens=4096",
        "pwd prints /srv/shop2 and PWD=/srv/shop2 is set by the shell",
        "npm_config_yes=true npm_lifecycle_event=test",
        "password VARCHAR2(64), password varchar255, | password | varchar(255) |",
        "| password | varchar255 | yes |",
        "<password>required</password> <string name=\"password\">Passwort1</string>",
        "password = getPassword1()",
        "docker run -u 1000:1000 -p 8080:80 node",
        "ssh -p 2222 dev@host; mkdir -p a/b1; cp -p file1 file2",
        "mysql -p shop1",
        "src/main.rs:5432:10:warning:unused1 variable",
        "Cookie: none; cookie: theme=dark",
        "https://x.example/?key=name&code=404&sig=off",
        "echo $password | base64 -d",
        "char *password = \"x\"; *token = 1;",
        "password (optional): yes",
        "path/to/a/very/long/folder-1/with-2/many-3/parts-4/that-5/begins-6/like-7/a-8/token-9/file.rs",
        "live_reload test_helpers key-value pa-rtial re_export secret_name fc-match",
        "use $1 and $2; replace with $6$x",
        "int **p = &secret; a &lt; b && c * d",
        "the code=ok; key=value; signature=(a, b)",
    ] {
        assert_eq!(secret(text), text);
    }
}

#[test]
fn every_row_of_the_tables_of_shapes_is_found() {
    for (start, token) in tokens() {
        let alphabet: Vec<u8> = (b'!'..=b'~').filter(|byte| token.class.has(*byte)).collect();
        // Signs may end a token, and letters and digits are in every alphabet.
        let letters: Vec<u8> = alphabet.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
        let length = token.length.0.max(1);
        let value: String = (0..length).map(|at| char::from(letters[(at * 7 + 3) % letters.len()])).collect();
        assert!(token.class == CharClass::Upper || !value.is_empty());
        let value = if token.has_digit { format!("{}7", &value[..length - 1]) } else { value };
        let masked = secret(&format!("it is {start}{value}, here"));
        assert!(!masked.contains(&value), "{start}{value}: {masked}");
        assert!(masked.ends_with(", here"), "{masked}");
    }
}

#[test]
fn a_token_with_a_mark_inside_is_masked() {
    let telegram = format!("1234567890:AA{}", &"a7Kd93mPq0".repeat(4)[..33]);
    let azure = format!("a1B8Q~{}", &"a7Kd93mPq0".repeat(4)[..34]);
    for token in [telegram, azure, format!("{HEX}-us12")] {
        let masked = secret(&format!("it is {token}."));
        assert!(masked.starts_with("it is [redacted ") && masked.ends_with("]."), "{token}: {masked}");
    }
    assert_eq!(secret("a-us12 12:AA"), "a-us12 12:AA");
}

#[test]
fn what_is_searched_is_what_is_read() {
    let token = token("ghp_", "a1B2", 9);
    let (head, tail) = token.split_at(4);
    let escaped = token.replace('_', "\\_");
    for text in [
        escaped,
        token.replace('_', "&#95;"),
        token.replace('_', "&lowbar;"),
        format!("{head}**{tail}**"),
        format!("\u{1b}[01;31m\u{1b}[K{head}\u{1b}[m\u{1b}[K{tail}"),
        format!("␛[01;31m␛[K{head}␛[m␛[K{tail}"),
        format!("\u{1b}[1;31m{head}\u{1b}[m{tail}"),
        format!("{head}\\u001b[0m{tail}"),
    ] {
        let masked = secret(&format!("The value is {text} now."));
        assert!(!masked.contains(tail) && !masked.contains("a1B2"), "{text}: {masked}");
        let mut json = serde_json::to_string(&[&text]).unwrap();
        redactor(&Redaction::secrets()).json(&mut json);
        assert!(!json.contains("a1B2"), "{text}: {json}");
        assert!(serde_json::from_str::<Vec<String>>(&json).is_ok(), "{json}");
    }
}

#[test]
fn a_long_text_is_masked_in_windows_as_in_one_piece() {
    let token = token("ghp_", "a1B2", 9);
    for filler in 0..40 {
        let text = format!("{}{}", "x".repeat(262_100 + filler), format!(" {token} \\n{token}\n").repeat(3));
        let masked = secret(&text);
        assert!(!masked.contains("a1B2"), "{filler}");
        assert_eq!(masked.matches("[redacted github-token]").count(), 6, "{filler}");
        let mut json = serde_json::to_string(&[&text]).unwrap();
        redactor(&Redaction::secrets()).json(&mut json);
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [masked], "{filler}");
    }
}

#[test]
fn a_pattern_that_scans_too_much_masks_the_rest_and_is_named() {
    use crate::redact::{CustomPattern, Redactor};
    let own = vec![CustomPattern::new("acme", r"ACME-[a-z]+(?:[^\n]*END)?").unwrap()];
    let redaction = Redaction { own, ..Redaction::default() };
    let text = format!("{}tail", "ACME-x ".repeat(20_000));
    let mut redactor = Redactor::new(&redaction).unwrap();
    let masked = redactor.text(&text).into_owned();
    assert!(masked.ends_with("[redacted acme]") && !masked.contains("tail"), "the rest is masked");
    assert_eq!(redactor.take_exceeded(), ["acme".to_owned()].into());
    let mut json = serde_json::json!({"a": text, "b": {"c": "tail", "d": 1}}).to_string();
    redactor.json(&mut json);
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&read["b"]["c"], &read["b"]["d"]), (&"[redacted acme]".into(), &1.into()));
    assert!(!json.contains("tail"));
    assert_eq!(redactor.text("ACME-x is short"), "[redacted acme] is short");
    assert!(redactor.take_exceeded().contains("acme") && redactor.take_exceeded().is_empty());
}
