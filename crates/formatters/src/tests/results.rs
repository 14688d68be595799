//! The formatting of results.

use super::*;

#[test]
fn results_of_commands() {
    let call = r#"{"kind":"call","tool":"Bash","input":{"command":"x"}}"#;
    check_result(
        Detail::Compact,
        call,
        &[
            (
                r#"{"kind":"result","tool":"Bash","text":"a\nb\n","facts":{"stdout":"a\nb\n","stderr":""}}"#,
                "\n  [result.text] a\n  [result.text] b\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"a","facts":{"stdout":"a","stderr":"cwd was reset"}}"#,
                "\n  [result.text] a\n  stderr:\n  [result.error.text] cwd was reset\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"a","facts":{"stdout":"a","stderr":"\nShell cwd was reset to /x\n"}}"#,
                "\n  [result.text] a\n  Shell cwd was reset to /x\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"a","facts":{"stdout":"a","interrupted":true}}"#,
                "<error> interrupted\n  [result.text] a\n",
            ),
            (
                r#"{"kind":"result","tool":"BashOutput","text":"t","facts":{"state":"failed","exit":2,"stdout":"a","stderr":"b"}}"#,
                "<error> failed · exit 2\n  [result.text] a\n  stderr:\n  [result.error.text] b\n",
            ),
            (
                r#"{"kind":"result","tool":"TaskOutput","text":"t","facts":{"task":{"status":"running","output":"tick\n","exitCode":null}}}"#,
                "running\n  [result.text] tick\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"(Bash completed with no output)","facts":{"stdout":"","stderr":""}}"#,
                "no output\n",
            ),
            (r#"{"kind":"result","tool":"Bash","text":""}"#, "no output\n"),
            (r#"{"kind":"result","tool":"Bash","text":"old"}"#, "\n  [result.text] old\n"),
            (
                r#"{"kind":"result","tool":"Bash","text":"Command running in background with ID: b1","facts":{"background":"b1"}}"#,
                "in the background: b1\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"Exit code 101\nthread panicked\nat x","facts":{"exit":101}}"#,
                "<error> exit 101\n  [result.error.text] thread panicked\n  [result.error.text] at x\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"Exit code 1","facts":{"exit":1}}"#,
                "<error> exit 1\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"<tool_use_error>Error: No such tool</tool_use_error>"}"#,
                "<error> Error: No such tool\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"first\nsecond"}"#,
                "<error> first\n  [result.error.text] second\n",
            ),
            (r#"{"kind":"result","error":1,"tool":"Bash","text":""}"#, "<error> failed\n"),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"No.","facts":{"denied":"user"}}"#,
                "<error> denied by user: No.\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"x","facts":{"stdout":"x","files":[{"path":"/home/dev/shop/a","patch":[{"oldStart":3,"newStart":3,"lines":[" k","-o","+n"]}]}]}}"#,
                "\n  [result.text] x\n  a +1 −1\n  diff a\n  @ 3 3\n   k\n  -o\n  +n\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"preview","facts":{"stdout":"all","persisted":{"path":"/tmp/o","bytes":2048}}}"#,
                "\n  [result.text] all\n  whole output: 2.0 KB /tmp/o\n",
            ),
        ],
    );
    check_result(
        Detail::Full,
        call,
        &[
            (
                r#"{"kind":"result","tool":"Bash","text":"a\nShell cwd was reset","facts":{"stdout":"a","stderr":"Shell cwd was reset"}}"#,
                "\n  [result.text] a\n  stderr:\n  [result.error.text] Shell cwd was reset\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"a\nno\nnote","facts":{"stdout":"a","stderr":"no"}}"#,
                "\n  [result.text] a\n  [result.text] no\n  [result.text] note\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"banana","facts":{"stdout":"banana","stderr":"nan"}}"#,
                "\n  [result.text] banana\n  stderr:\n  [result.error.text] nan\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"preview","facts":{"stdout":"all"}}"#,
                "\n  [result.text] all\n  [result.text] preview\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"Exit code 1\nx","facts":{"exit":1}}"#,
                "<error> exit 1\n  [result.error.text] Exit code 1\n  [result.error.text] x\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"seen","facts":{"orphan":true}}"#,
                "of an unknown call\n  [result.text] seen\n",
            ),
        ],
    );
}

#[test]
fn results_of_files() {
    let read = r#"{"kind":"call","tool":"Read","input":{"file_path":"/home/dev/shop/a.rs"}}"#;
    check_result(
        Detail::Compact,
        read,
        &[
            (
                r#"{"kind":"result","tool":"Read","text":"x","facts":{"lines":50,"start":1,"total":533}}"#,
                "lines 1–50 of 533\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"x","facts":{"lines":11,"start":1,"total":11}}"#,
                "11 lines\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"     1→a\n     2→b\n\n<system-reminder>\nhush\n</system-reminder>\n"}"#,
                "2 lines\n",
            ),
            (r#"{"kind":"result","tool":"Read","text":"1\ta\n2\tb\n3\t"}"#, "2 lines\n"),
            (r#"{"kind":"result","tool":"Read","text":"7\ta\n8\tb"}"#, "lines 7–8\n"),
            (
                r#"{"kind":"result","tool":"Read","text":"<system-reminder>Warning: empty</system-reminder>"}"#,
                "empty file\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"","facts":{"type":"image","bytes":2048,"images":[{"media":"image/png","bytes":2048}]}}"#,
                "image\n  image image/png Some(2048)\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"","facts":{"type":"image","bytes":4096,"images":[{"media":"image/png","bytes":2048}]}}"#,
                "image · 4.0 KB\n  image image/png Some(2048)\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"x","facts":{"lines":3,"start":1,"total":3,"content":"a\n\\n\n"}}"#,
                "2 lines\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"x","facts":{"lines":2,"start":1,"total":2,"content":"a\n\\n"}}"#,
                "2 lines\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"x","facts":{"lines":2,"start":1,"total":2,"content":"a\nb\n"}}"#,
                "2 lines\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"x","facts":{"lines":3,"start":7,"total":9,"content":"a\nb\n"}}"#,
                "lines 7–8 of 8\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"x","facts":{"lines":1,"start":1,"total":1,"content":""}}"#,
                "empty file\n",
            ),
            (
                r#"{"kind":"result","tool":"NotebookRead","text":"<cell id=\"a\">x</cell id=\"a\">\n<cell id=\"b\">y</cell id=\"b\">"}"#,
                "2 cells\n",
            ),
            (
                r#"{"kind":"result","tool":"LS","text":"- /a/\n  - b\n\nNOTE: do any of the files above seem malicious? If so, stop."}"#,
                "2 lines\n  [result.text] - /a/\n  [result.text]   - b\n",
            ),
        ],
    );
    check_result(
        Detail::Full,
        read,
        &[
            (
                r#"{"kind":"result","tool":"Read","text":"     7→a\n     8→b\n\n<system-reminder>\nhush\n</system-reminder>\n","facts":{"lines":2,"start":7,"total":9,"content":"a\nb\n"}}"#,
                "lines 7–8 of 9\n  [result.text rs @7] a\n  [result.text rs @7] b\n  [result.text] <system-reminder>\n  [result.text] hush\n  [result.text] </system-reminder>\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"7\ta\n8\tb"}"#,
                "lines 7–8\n  [result.text rs @7] a\n  [result.text rs @7] b\n",
            ),
            (r#"{"kind":"result","tool":"Read","text":"no numbers"}"#, "\n  [result.text] no numbers\n"),
        ],
    );
    let edit = r#"{"kind":"call","tool":"Edit","input":{"file_path":"/home/dev/shop/a.rs","old_string":"x","new_string":"y\nz"}}"#;
    check_result(
        Detail::Compact,
        edit,
        &[
            (
                r#"{"kind":"result","tool":"Edit","text":"The file has been updated.","facts":{"path":"/home/dev/shop/a.rs","patch":[{"oldStart":41,"newStart":41,"lines":["-a","+b","+c","\\ No newline at end of file"]}]}}"#,
                "+2 −1 · final line feed removed\n  diff a.rs\n  @ 41 41\n  -a\n  +b\n  +c\n",
            ),
            (
                r#"{"kind":"result","tool":"Edit","text":"ok","facts":{"user_modified":true,"patch":[{"oldStart":1,"newStart":1,"lines":["-a","\\ No newline at end of file","+a"]}]}}"#,
                "+1 −1 · final line feed added · changed by the user\n  diff a.rs\n  @ 1 1\n  -a\n  +a\n",
            ),
            (r#"{"kind":"result","tool":"Edit","text":"done"}"#, "+2 −1\n  diff a.rs\n  -x\n  +y\n  +z\n"),
            (
                r#"{"kind":"result","tool":"Edit","text":"Updated: `cat -n` on a snippet of the edited file:\n     6→y\n     7→a y\n     8→z();\n"}"#,
                "+2 −1\n  diff a.rs\n  @ 7 7\n  -x\n  +y\n  +z\n",
            ),
            (
                r#"{"kind":"result","tool":"Edit","text":"Updated: `cat -n` on a snippet of the edited file:\n     6→y\n     7→z\n     8→y\n     9→z\n"}"#,
                "+2 −1\n  diff a.rs\n  -x\n  +y\n  +z\n",
            ),
            (
                r#"{"kind":"result","tool":"Edit","error":1,"text":"<tool_use_error>String to replace not found\nString: x</tool_use_error>"}"#,
                "<error> String to replace not found\n  [result.note] String: x\n",
            ),
        ],
    );
    let write = r#"{"kind":"call","tool":"Write","input":{"file_path":"b.rs","content":"1\n2\n"}}"#;
    check_result(
        Detail::Compact,
        write,
        &[
            (
                r#"{"kind":"result","tool":"Write","text":"ok","facts":{"created":true,"patch":[]}}"#,
                "created, 2 lines\n  diff b.rs\n  +1\n  +2\n",
            ),
            (
                r#"{"kind":"result","tool":"Write","text":"File created successfully at: b.rs"}"#,
                "created, 2 lines\n  diff b.rs\n  +1\n  +2\n",
            ),
        ],
    );
}

#[test]
fn results_of_searches_the_web_and_agents() {
    check(
        Detail::Compact,
        &[
            (
                r#"{"kind":"result","tool":"Glob","text":"a\nb","facts":{"files":["/home/dev/shop/a","/b"],"count":2}}"#,
                "2 files\n  [result.file] a\n  [result.file] /b\n",
            ),
            (
                r#"{"kind":"result","tool":"Glob","text":"No files found","facts":{"files":[],"count":0}}"#,
                "no files\n",
            ),
            (
                r#"{"kind":"result","tool":"Grep","text":"a:1:x","facts":{"mode":"content","files":[],"count":0,"content":"a:1:x\nb:2:x","lines":2}}"#,
                "2 lines\n  [result.text] a:1:x\n  [result.text] b:2:x\n",
            ),
            (
                r#"{"kind":"result","tool":"Grep","text":"a:3","facts":{"mode":"count","count":1,"matches":3,"content":"a:3"}}"#,
                "3 matches in 1 file\n  [result.text] a:3\n",
            ),
            (r#"{"kind":"result","tool":"Grep","text":"No matches found"}"#, "No matches found\n"),
            (
                r#"{"kind":"result","tool":"WebFetch","text":"t","facts":{"code":200,"code_text":"OK","bytes":1024,"answer":"It is so.","duration_ms":3200}}"#,
                "200 OK · 1.0 KB · 3.2s\n  (result.answer) It is so.\n",
            ),
            (
                r#"{"kind":"result","tool":"WebSearch","text":"t","facts":{"hits":[{"title":"T","url":"https://t.example"}]}}"#,
                "1 hit\n  - T https://t.example\n",
            ),
            (
                r#"{"kind":"result","tool":"Task","text":"Found.\nagentId: 1","facts":{"state":"completed","answer":"Found.","tool_uses":14,"tokens":32000,"duration_ms":62000}}"#,
                "14 tools · 32k tokens · 1m 2s\n  (result.answer) Found.\n",
            ),
            (
                r#"{"kind":"result","tool":"Agent","text":"Async agent launched successfully","facts":{"state":"async_launched"}}"#,
                "started in the background\n",
            ),
            (
                r#"{"kind":"result","tool":"TodoWrite","text":"Todos have been modified successfully."}"#,
                "Hide\n",
            ),
            (
                r#"{"kind":"result","tool":"TaskCreate","text":"Task #1 created","facts":{"task":{"id":"1","subject":"Do"}}}"#,
                "#1 Do\n",
            ),
            (
                r#"{"kind":"result","tool":"TaskUpdate","text":"Task not found","facts":{"success":false}}"#,
                "<warning> Task not found\n",
            ),
            (
                r#"{"kind":"result","tool":"AskUserQuestion","text":"t","facts":{"answers":{"Which?":"A"}}}"#,
                "\n  x Which? → A\n",
            ),
            (
                r#"{"kind":"result","tool":"ExitPlanMode","text":"long","facts":{"plan":"p"}}"#,
                "plan approved\n",
            ),
            (r#"{"kind":"result","tool":"Skill","text":"Launching skill: x"}"#, "Hide\n"),
            (
                r#"{"kind":"result","tool":"KillShell","text":"{\"message\":\"Killed b1\",\"shell_id\":\"b1\"}"}"#,
                "Killed b1\n",
            ),
            (
                r#"{"kind":"result","tool":"mcp__a__b","text":"{\"rows\":[{\"id\":1,\"name\":\"a longer name than fits in one line of sixty bytes\"}]}"}"#,
                "\n  [result.text] rows:\n  [result.text]   - id: 1\n  [result.text]     name: a longer name than fits in one line of sixty bytes\n",
            ),
            (r#"{"kind":"result","tool":"mcp__a__b","text":"short"}"#, "short\n"),
            (r#"{"kind":"result","tool":"mcp__a__b","text":""}"#, "no output\n"),
        ],
    );
    check(
        Detail::Full,
        &[
            (
                r#"{"kind":"result","tool":"Task","text":"Found.\nagentId: 1","facts":{"state":"completed","answer":"Found."}}"#,
                "\n  (result.answer) Found.\n  (result.answer) agentId: 1\n",
            ),
            (
                r#"{"kind":"result","tool":"TodoWrite","text":"Todos have been modified successfully."}"#,
                "\n  [result.text] Todos have been modified successfully.\n",
            ),
            (
                r#"{"kind":"result","tool":"mcp__a__b","text":"x","facts":{"structured":{"deep":"value"}}}"#,
                "x\n  [result.structured] {deep: value}\n",
            ),
        ],
    );
}

#[test]
fn results_of_older_versions_are_read_from_their_text() {
    check(
        Detail::Compact,
        &[
            (
                r#"{"kind":"result","tool":"Grep","text":"Found 2 files\n/home/dev/shop/a\n/b"}"#,
                "Found 2 files\n  [result.file] a\n  [result.file] /b\n",
            ),
            (
                r#"{"kind":"result","tool":"BashOutput","text":"<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<stdout>\ntick\n</stdout>"}"#,
                "completed\n  [result.text] tick\n",
            ),
            (
                r#"{"kind":"result","tool":"BashOutput","text":"<status>failed</status>\n\n<exit_code>3</exit_code>\n\n<stdout>\ntick\n</stdout>\n\n<stderr>\nno\n</stderr>"}"#,
                "<error> failed · exit 3\n  [result.text] tick\n  stderr:\n  [result.error.text] no\n",
            ),
            (
                r#"{"kind":"result","tool":"TodoRead","text":"Here is the list: [{\"content\":\"a\",\"status\":\"pending\"}]"}"#,
                "1 task\n",
            ),
            (
                r#"{"kind":"result","tool":"mcp__a__b","text":"seen\n[Image: source: /x/y.png]","facts":{"images":[{"media":"image/png"}]}}"#,
                "seen\n  image image/png None\n",
            ),
            (
                r#"{"kind":"result","tool":"TaskUpdate","text":"Updated task #1 status","facts":{"success":true}}"#,
                "Hide\n",
            ),
            (
                r#"{"kind":"result","tool":"NotebookEdit","text":"x","facts":{"edit_mode":"delete"}}"#,
                "cell deleted\n",
            ),
            (
                r#"{"kind":"result","tool":"NotebookEdit","text":"x","facts":{"edit_mode":"delete","old_source":"a\nb","new_source":""}}"#,
                "cell deleted −2\n  diff -\n  -a\n  -b\n",
            ),
            (
                r#"{"kind":"result","tool":"NotebookEdit","text":"x","facts":{"edit_mode":"replace","old_source":"a\nb","new_source":"a\nc"}}"#,
                "+1 −1\n  diff -\n   a\n  -b\n  +c\n",
            ),
        ],
    );
}

#[test]
fn results_of_changes_to_several_files() {
    let call = |changes: &str| {
        format!(r#"{{"kind":"call","tool":"patch","action":"edit","input":{{"changes":[{changes}]}}}}"#)
    };
    let diff = r#"{"path":"a.rs","diff":"--- a\n+++ b\n@@ -4 +4,2 @@\n-old\n+new\n+x\n\\ No newline at end of file\n"}"#;
    let (new, gone) = (
        r#"{"path":"b.rs","kind":"add","content":"x\n"}"#,
        r#"{"path":"c.rs","kind":"delete","content":"y\n"}"#,
    );
    let moved = r#"{"path":"d.rs","to":"e.rs","diff":""}"#;
    let bare = r#"{"path":"a.rs","kind":"add"}"#;
    let done = r#"{"kind":"result","tool":"patch","action":"edit","text":"","facts":{}}"#;
    for (changes, result, expected) in [
        (
            diff.to_owned(),
            done,
            "+2 −1 · final line feed removed\n  diff a.rs\n  @ 4 4\n  -old\n  +new\n  +x\n",
        ),
        (new.to_owned(), done, "created, 1 line\n  diff b.rs\n  +x\n"),
        (gone.to_owned(), done, "deleted −1\n  diff c.rs\n  -y\n"),
        (moved.to_owned(), done, "moved\n"),
        (
            [diff, new, gone, moved].join(","),
            done,
            "+3 −2\n  a.rs +2 −1 · final line feed removed\n  diff a.rs\n  @ 4 4\n  -old\n  +new\n  +x\n  b.rs new +1\n  \
             diff b.rs\n  +x\n  c.rs deleted −1\n  diff c.rs\n  -y\n  d.rs → e.rs\n",
        ),
        // Only the names of files, which the call shows already.
        (bare.to_owned(), done, "Hide\n"),
        (bare.to_owned(), &done.replace(r#""text":"""#, r#""text":"with a warning""#), "with a warning\n"),
        // The changes in the result take precedence.
        (
            bare.to_owned(),
            &done.replace("{}", &format!(r#"{{"changes":[{new}]}}"#)),
            "created, 1 line\n  diff b.rs\n  +x\n",
        ),
    ] {
        assert_eq!(formatted(Detail::Compact, Some(&call(&changes)), result), expected, "{changes} {result}");
    }
    // In full, the call shows its changes.
    let done = done.replace(r#""text":"""#, r#""text":"A b.rs""#);
    assert_eq!(formatted(Detail::Full, Some(&call(new)), &done), "A b.rs\n");
}

#[test]
fn results_that_say_no_more_than_that_it_went_well() {
    let call = r#"{"kind":"call","tool":"t","action":"fetch","input":{"query":"x"}}"#;
    let read =
        r#"{"kind":"call","tool":"t","action":"read","input":{"path":"a","start_line":10,"end_line":12}}"#;
    for (call, result, expected) in [
        (call, r#"{"kind":"result","tool":"t","action":"fetch","facts":{"success":true}}"#, "Hide\n"),
        (call, r#"{"kind":"result","tool":"t","action":"fetch","text":"","facts":{}}"#, "no output\n"),
        (
            call,
            r#"{"kind":"result","tool":"t","action":"fetch","text":"y","facts":{"success":true}}"#,
            "\n  (result.answer) y\n",
        ),
        // Exactly the requested lines, by first and last.
        (
            read,
            r#"{"kind":"result","tool":"t","action":"read","text":"","facts":{"start":10,"lines":3}}"#,
            "Hide\n",
        ),
        (
            read,
            r#"{"kind":"result","tool":"t","action":"read","text":"","facts":{"start":10,"lines":2}}"#,
            "lines 10–11\n",
        ),
        (
            call,
            r#"{"kind":"result","error":1,"tool":"t","action":"run","text":"why","facts":{"denied":true}}"#,
            "<error> denied: why\n",
        ),
    ] {
        assert_eq!(formatted(Detail::Compact, Some(call), result), expected, "{result}");
    }
    let done = r#"{"kind":"result","tool":"t","action":"fetch","facts":{"success":true}}"#;
    assert_eq!(formatted(Detail::Full, Some(call), done), "done\n");
}
