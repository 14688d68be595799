//! Secrets in the output.

use streamfmt::settings::profile::BUILT_IN;
use streamfmt::writers::WRITERS;

use crate::program::Folder;

/// A stream with a secret in every possible place.
fn leaky(secret: &str) -> String {
    let long = format!("{}{secret}", "word ".repeat(58));
    let lines = [
        r#"{"type":"system","subtype":"init","session_id":"s-1","model":"m","cwd":"/home/ada/SECRET","tools":[],"mcp_servers":[{"name":"SECRET","status":"failed"}],"uuid":"u-1"}"#,
        r#"{"type":"user","message":{"role":"user","content":"Use SECRET please"},"session_id":"s-1","uuid":"u-2"}"#,
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"SECRET?"},{"type":"text","text":"I use `SECRET` and [this](https://x.example/SECRET).\n\n| a |\n|---|\n| SECRET |"}]},"session_id":"s-1","uuid":"u-3"}"#,
        r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"curl -H SECRET \\\n  x","description":"Use SECRET"}}]},"session_id":"s-1","uuid":"u-4"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Exit code 1\nLONG\nSECRET"}]},"tool_use_result":{"stdout":"SECRET","stderr":"SECRET\nx","interrupted":false},"session_id":"s-1","uuid":"u-5"}"#,
        r#"{"type":"assistant","message":{"id":"m3","content":[{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"/x/SECRET.py","old_string":"a = 'SECRET'\n","new_string":"a = 1\n"}},{"type":"tool_use","id":"t3","name":"mcp__SECRET__go","input":{"SECRET":1,"deep":[{"x":"SECRET"}]}},{"type":"tool_use","id":"t4","name":"TodoWrite","input":{"todos":[{"content":"SECRET","status":"pending","activeForm":"SECRET"}]}},{"type":"tool_use","id":"t5","name":"Read","input":{"file_path":"SECRET"}},{"type":"tool_use","id":"t6","name":"Write","input":{"file_path":"/x/y","content":"SECRET\n"}}]},"session_id":"s-1","uuid":"u-6"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"ok SECRET"}]},"tool_use_result":{"filePath":"/x/SECRET.py","oldString":"a = 'SECRET'","newString":"a = 1","originalFile":"a = 'SECRET'\n","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a = 'SECRET'","+a = 1"]}]},"session_id":"s-1","uuid":"u-7"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t3","content":[{"type":"text","text":"{\"k\":\"SECRET\"}"}]}]},"session_id":"s-1","uuid":"u-8"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t5","content":"     1→SECRET"}]},"tool_use_result":{"type":"text","file":{"filePath":"SECRET","content":"SECRET\n","numLines":1,"startLine":1,"totalLines":1}},"session_id":"s-1","uuid":"u-9"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"nobody","content":"LONG"}]},"session_id":"s-1","uuid":"u-10"}"#,
        r#"{"type":"assistant","message":{"id":"m4","content":[{"type":"tool_use","id":"SECRET","name":"Task","input":{"prompt":"x","description":"x"}}]},"session_id":"s-1","uuid":"u-14"}"#,
        r#"{"type":"assistant","parent_tool_use_id":"SECRET","message":{"id":"SECRET","content":[{"type":"text","text":"inside"}]},"session_id":"s-1","uuid":"u-15"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"SECRET","content":"\u001b[1mSECRET\u001b[0m"}]},"session_id":"s-1","uuid":"u-16"}"#,
        r#"{"type":"system","subtype":"hook_response","hook_name":"SECRET","hook_event":"Stop","stdout":"SECRET","stderr":"SECRET","exit_code":2,"outcome":"error","session_id":"s-1","uuid":"u-11"}"#,
        r#"{"type":"strange","SECRET":"SECRET","session_id":"s-1","uuid":"u-12"}"#,
        "a line that is no event: SECRET",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"cut SECRET"#,
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"result":"SECRET is set","errors":["SECRET"],"permission_denials":[{"tool_name":"Bash","tool_use_id":"t9","tool_input":{"command":"SECRET"}}],"session_id":"s-1","uuid":"u-13"}"#,
    ];
    lines.map(|line| format!("{}\n", line.replace("LONG", &long).replace("SECRET", secret))).concat()
}

#[test]
fn no_secret_is_left_in_any_format_of_any_profile() {
    // Assembled here, so that no scanner takes it for a leak.
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let folder = Folder::new();
    folder.write("s.jsonl", leaky(&secret));
    for (profile, _) in BUILT_IN {
        for writer in &WRITERS {
            let plain =
                folder.run(&format!("s.jsonl --color always --profile {profile} --to {}", writer.name));
            let masked = folder
                .run(&format!("s.jsonl --color always --redact --profile {profile} --to {}", writer.name));
            let what = format!("{profile} {}", writer.name);
            assert!(plain.stdout.contains(&secret), "{what}: nothing to mask");
            // Not even the part that truncation would leave.
            assert!(!masked.stdout.contains("ghp_"), "{what}:\n{}", masked.stdout);
            assert!(masked.stdout.contains("[redacted github-token]"), "{what}");
            assert_eq!(plain.stderr, masked.stderr);
            if writer.name == "items" || writer.name == "text" {
                assert_eq!(plain.stdout.lines().count(), masked.stdout.lines().count(), "{what}");
            }
        }
    }
}

#[test]
fn no_home_folder_and_no_address_is_left_in_any_format() {
    let folder = Folder::new();
    // After another path, it isn't recognized as a home folder.
    let stream = ["/x/", "/home/ada/", "https://x.example/"]
        .into_iter()
        .fold(leaky("/home/dev/shop of dev@shop.example"), |text, before| {
            text.replace(&format!("{before}/home"), "/home")
        });
    folder.write("s.jsonl", stream.replace("mcp__/home", "/home"));
    for writer in &WRITERS {
        for profile in ["default", "full", "ci"] {
            let options = format!("s.jsonl --color always --profile {profile} --to {}", writer.name);
            let plain = folder.run(&options).stdout;
            assert!(plain.contains("dev@shop.example"), "{options}: nothing to mask");
            let masked = folder.run(&format!("{options} --redact")).stdout;
            for told in ["/home/dev", "home/ada", "dev@shop", "@shop.example"] {
                assert!(!masked.contains(told), "{options} tells {told}:\n{masked}");
            }
        }
    }
}

#[test]
fn what_was_masked_is_counted_and_the_copy_is_whole() {
    let folder = Folder::new();
    let text = "PASSWORD=hunter2hunter2\npostgres://ada:hunter2@db/x\n";
    folder.write("s.log", text);
    let output = folder.run("s.log --redact --report --tee copy.log");
    assert_eq!(output.stdout, "  PASSWORD=[redacted secret]\n  postgres://ada:[redacted password]@db/x\n");
    assert!(output.stderr.contains("redacted: 1 password, 1 secret\n"), "{}", output.stderr);
    assert_eq!(folder.read("copy.log"), text);
}

#[test]
fn what_is_masked_in_several_places_of_an_item_counts_once() {
    let call = |id: &str, command: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m-{id}","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{command}"}}}}]}}}}"#
        )
    };
    let result = |id: &str| {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"one\ntwo"}}]}}}}"#
        )
    };
    // The results are far from their calls, so the calls' titles are repeated.
    let calls = [
        call("a", "mail ada@example.org ada@example.org"),
        call("b", "mail bob@example.org"),
        call("c", "ls"),
    ];
    let results = [result("a"), result("c"), result("b")];
    let folder = Folder::with(&[("s.jsonl", &*[calls.join("\n"), results.join("\n")].join("\n"))]);
    for writer in ["text", "json", "html", "items"] {
        for profile in ["default", "full", "ci"] {
            let output = folder.run(&format!("s.jsonl --redact --report --profile {profile} --to {writer}"));
            assert!(output.stderr.contains("redacted: 2 email\n"), "{profile}, {writer}: {}", output.stderr);
            assert!(output.stderr.contains(" 6 items\n"), "{}", output.stderr);
        }
    }
}

#[test]
fn a_profile_masks_addresses_and_home_folders() {
    let folder = Folder::with(&[("s.log", "ada@example.org in /home/ada/shop\n")]);
    let output = folder.run("s.log --set redact.emails=true --set redact.home=true");
    assert_eq!(output.stdout, "  [redacted email] in ~/shop\n");
}

#[test]
fn a_secret_is_masked_as_it_is_read_in_any_format() {
    // Assembled here, so that no scanner takes it for a leak.
    let body = "a1B2".repeat(9);
    let lines = [
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"The token is ghp\\_BODY, or ghp&#95;BODY, or ghp_**BODY**."}]},"session_id":"s"}"#,
        r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"grep ghp_ .env"}}]},"session_id":"s"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"\u001b[01;31m\u001b[Kghp_\u001b[m\u001b[KBODY\n\u001b[1;31mghp_\u001b[mBODY\n\u001b[34;1m\"token\"\u001b[0m: \u001b[32m\"BODY\"\u001b[0m"}]},"session_id":"s"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"ghp_BODY","content":"orphan"}]},"session_id":"s"}"#,
        r#"{"type":"result","subtype":"error_sk_live_BODY","is_error":true,"session_id":"s"}"#,
    ];
    let folder = Folder::new();
    folder.write("s.jsonl", lines.map(|line| format!("{line}\n").replace("BODY", &body)).concat());
    for (profile, _) in BUILT_IN {
        for writer in &WRITERS {
            let options = format!("s.jsonl --color always --redact --profile {profile} --to {}", writer.name);
            let masked = folder.run(&options).stdout;
            assert!(!masked.contains("a1B2") && masked.contains("[redacted "), "{options}:\n{masked}");
        }
    }
}

#[test]
fn a_pattern_that_scans_too_much_is_named_and_the_rest_is_masked() {
    let folder = Folder::new();
    folder.write("p.lua", r#"sf.redact({ patterns = { acme = "ACME-[a-z]+(?:[^\\n]*END)?" } })"#);
    folder.write("s.log", format!("{}tail\nACME-y\n", "ACME-x ".repeat(10_000)));
    let output = folder.run("s.log --plugin p.lua --to text");
    assert!(
        !output.stdout.contains("tail") && output.stdout.ends_with("[redacted acme]\n"),
        "{}",
        output.stdout
    );
    let message = "streamfmt: the pattern \"acme\" takes too much work on a long text: the rest of that text is masked\n";
    assert_eq!(output.stderr.matches(message).count(), 1, "{}", output.stderr);
}
