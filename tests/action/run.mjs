// Runs the GitHub Action as a runner does, with a service on this machine, and checks what becomes of its inputs.
//
//   node run.mjs PROGRAM
//
// Needs bash, tar and curl. It ends by itself, in seconds.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { cut } from "../../action/lib/cut.mjs";
import { Job, load } from "./runner.mjs";
import { Service } from "./service.mjs";

if (!process.argv[2]) throw new Error("usage: node run.mjs PROGRAM");
const program = resolve(process.argv[2]);
const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const action = load(join(repository, "action"));
const root = mkdtempSync(join(tmpdir(), "action-"));

const TOKEN = "ghs_0123456789abcdefTOKEN";
/** A secret of no one, which must be masked wherever it comes. */
const SECRET = `ghp_${"Ab3".repeat(12)}`;
const SESSION = "c963cfe0-0000-4000-8000-00000000000";
const PULL_REQUEST = { pull_request: { number: 7 } };

/** A session as claude-code-action writes it: an array over several lines. Its texts are hostile. */
function claude({ session = 1, answer = null, isError = true } = {}) {
  const id = SESSION + session;
  const said = (content) => ({ type: "assistant", message: { id: `m${session}${content[0].type}`, role: "assistant", content }, session_id: id });
  const result = isError
    ? { subtype: "error_during_execution", is_error: true, errors: ["it broke\n::warning::forged\n##[error]forged @octocat"] }
    : { subtype: "success", is_error: false, result: answer };
  return [
    { type: "system", subtype: "init", session_id: id, cwd: "/home/dev/shop", model: "claude-opus-5-5", tools: [], mcp_servers: [] },
    { type: "user", message: { role: "user", content: "Fix it\n::set-output name=page::forged\n--> <!-- streamfmt-action --> @octocat <script>alert(1)</script>" }, session_id: id },
    said([{ type: "tool_use", id: "t1", name: "Read", input: { file_path: "/home/dev/shop/a\n::error file=b::x.rs" } }]),
    { type: "user", message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", is_error: true, content: `No such file.\n::error::forged\n##[error]forged\n::stop-commands::x\n--> @octocat\nGITHUB_TOKEN=${SECRET}` }] }, session_id: id },
    ...(answer ? [said([{ type: "text", text: answer }])] : []),
    { type: "result", duration_ms: 35_000, num_turns: 3, total_cost_usd: 0.2, session_id: id, ...result },
  ];
}

const CODEX = [
  { type: "thread.started", thread_id: "0199a213-81c0-7800-8aa1-bbab2a035a53" },
  { type: "turn.started" },
  { type: "item.completed", item: { id: "item_0", type: "command_execution", command: "bash -lc 'cargo test'", aggregated_output: "error: 1 test failed\n", exit_code: 101, status: "failed" } },
  { type: "item.completed", item: { id: "item_1", type: "agent_message", text: "The test **still fails**." } },
  { type: "turn.completed", usage: { input_tokens: 10, cached_input_tokens: 0, output_tokens: 5 } },
];

const lines = (events) => events.map((event) => `${JSON.stringify(event)}\n`).join("");

const service = new Service();
const calls = join(root, "curl-calls");
let checks = 0;

/** Programs that come first in the path of a job. */
const bin = join(root, "bin");
mkdirSync(bin);
function script(place, text) {
  writeFileSync(place, `#!/bin/bash\n${text}\n`);
  chmodSync(place, 0o755);
  return place;
}

function job(options = {}) {
  const variables = {
    PATH: `${bin}${delimiter}${process.env.PATH}`, TOKEN, GITHUB_JOB: "review", GITHUB_WORKFLOW: "Agents --> <b>", GITHUB_REPOSITORY: "octo/shop",
    GITHUB_SERVER_URL: "https://github.example", GITHUB_RUN_ID: "42", GITHUB_GRAPHQL_URL: `${service.url}/graphql`,
  };
  return new Job(root, { event: PULL_REQUEST, ...options, variables: { ...variables, ...options.variables } });
}

/** A file in the workspace of a job. */
function file(at, name, text) {
  const path = join(at.root, "workspace", name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return name;
}

function has(text, ...parts) {
  for (const part of parts) assert.ok(part instanceof RegExp ? part.test(text) : text.includes(part), `${part} is missing in:\n${text.slice(0, 1500)}`);
  checks += parts.length;
}

function lacks(text, ...parts) {
  for (const part of parts) assert.ok(part instanceof RegExp ? !part.test(text) : !text.includes(part), `${part} is in:\n${text.slice(0, 1500)}`);
  checks += parts.length;
}

/** What holds of every use: no secret gets out, and no text of the session acts. */
function isSafe(used) {
  const shown = [used.log, used.summary, JSON.stringify(used.outputs), ...service.comments.map(({ body }) => body)].join("\n");
  lacks(shown, TOKEN, SECRET);
  for (const { name, text } of used.annotations) {
    assert.ok(["error", "warning", "notice", "group", "endgroup"].includes(name), `${name}::${text}`);
    assert.ok(!/^forged/.test(text), text);
  }
}

/** What Markdown makes an element, a mention or a comment of, outside of code. */
function isDefused(markdown) {
  const text = markdown.replace(/^( *)(`{3,})\n[\s\S]*?^ *\2$/gm, "").replace(/`[^`\n]*`/g, "");
  lacks(text, /(?<!\\)<(?!!-- -->|!-- streamfmt-action [0-9a-f]{16} -->|\/?details\b|\/?summary>)/, /@[a-z]/);
}

const cases = {
  async "a session of claude-code-action: summary, annotations, artifacts, one comment"() {
    const at = job();
    const path = file(at, "out/claude-execution-output.json", JSON.stringify(claude(), null, 2));
    service.add("mallory", "an earlier remark");
    const inputs = { path, program, comment: "when-allowed" };
    const used = await at.use(action, inputs);
    isSafe(used);
    assert.equal(used.isFailed, false, used.log);
    has(used.log, "[tool] Read", "[redacted");
    assert.deepEqual(used.annotations.map(({ name, properties }) => [name, properties.split(",")[0]]), [["warning", "title=Read"], ["error", "title=agent"]]);

    has(used.summary, "[Page of the session](https://github.example/artifacts/streamfmt-review.html)", "## Failed", "**Read**", "[redacted");
    has(used.summary, "[What was masked](https://github.example/artifacts/streamfmt-review.masked.txt)");
    isDefused(used.summary);
    const page = at.artifact("streamfmt-review.html");
    has(page, "<!DOCTYPE html>", "No such file.", "[redacted");
    lacks(page, SECRET, "<script>alert");
    const masked = at.artifact("streamfmt-review.masked.txt");
    has(masked, "Masked: 1", "[redacted", "1 masked, 0 left: streamfmt-review.html (");
    lacks(masked, SECRET);
    assert.equal(used.outputs.left, "false");
    assert.equal(used.outputs.outcome, "failed");
    assert.equal(used.outputs["exit-code"], "1");
    assert.equal(used.outputs["page-url"], "https://github.example/artifacts/streamfmt-review.html");
    assert.equal(readFileSync(used.outputs.page, "utf8"), page);

    assert.equal(service.comments.length, 2);
    const { body, url } = service.comments[1];
    has(body, /^<!-- streamfmt-action [0-9a-f]{16} -->\n\[Page of the session\]/, "[Run](https://github.example/octo/shop/actions/runs/42)", "**Read**");
    isDefused(body);
    assert.equal(used.outputs["comment-url"], url);

    // A later run replaces it, and not what somebody else wrote with the same marker, however many came since.
    const [mark] = body.split("\n");
    service.add("mallory", `${mark}\nforged`);
    service.add(null, `${mark}\nby nobody`);
    service.add("github-actions", `${mark}\nby a person of that name`);
    service.add("github-actions", `quoted: ${mark}`, "Bot");
    for (let number = 0; number < 220; number += 1) service.add("mallory", "spam");
    const there = service.comments.length;
    const good = claude({ answer: "All **good**.", isError: false });
    const later = await job().use(action, { ...inputs, path: join(at.root, "workspace", file(at, "later.json", JSON.stringify(good))) });
    isSafe(later);
    has(later.log, `updated the comment ${url}`);
    has(service.comments[1].body, mark, "All **good**.");
    assert.equal(service.comments.length, there);
    has(service.comments[2].body, "forged");
    // Another name is another comment.
    const other = await job().use(action, { ...inputs, path: join(at.root, "workspace/later.json"), name: "other" });
    has(other.log, "created the comment");
    assert.equal(service.comments.length, there + 1);
  },

  async "the agent itself: the words of a shell, its exit code, its log"() {
    const at = job();
    const agent = script(join(at.root, "workspace/claude"), `
printf '%s\\n' "$@" >words
env >environment
cat session.jsonl
echo '##[error]forged' >&2; echo '::error::forged' >&2
exit 3`);
    file(at, "session.jsonl", lines(claude()));
    const prompt = 'a "b" $(touch injected) `touch injected`; ::error::forged';
    const used = await at.use(action, { run: `${agent} -p "$PROMPT" # what to do\n  --allowedTools 'Bash(git *)' *`, program, annotations: "false" }, { env: { PROMPT: prompt, KEY: SECRET } });
    isSafe(used);
    assert.equal(used.isFailed, false, used.log);
    const words = readFileSync(join(at.root, "workspace/words"), "utf8").split("\n").filter(Boolean);
    assert.deepEqual(words.filter((word) => !/^(--output-format|stream-json|--verbose)$/.test(word)), ["-p", prompt, "--allowedTools", "Bash(git *)", "*"]);
    assert.equal(existsSync(join(at.root, "workspace/injected")), false);
    // It can't tell the runner what later steps get, and has no inputs of the action.
    const environment = readFileSync(join(at.root, "workspace/environment"), "utf8");
    has(environment, `KEY=${SECRET}`, "GITHUB_REPOSITORY=");
    lacks(environment, /^(INPUT_|GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY)=)/m, TOKEN);
    assert.deepEqual(used.annotations, []);
    assert.deepEqual([used.outputs.outcome, used.outputs["exit-code"]], ["failed", "3"]);
    assert.equal(readFileSync(used.outputs.log, "utf8"), lines(claude()));
    has(used.summary, "**Read**");
    lacks(at.artifact("streamfmt-review.html"), SECRET);

    // A second use in the job has artifacts of its own.
    const again = await at.use(action, { run: `${agent} -p again`, program, "fail-on": "failure" });
    assert.equal(again.isFailed, true);
    has(again.log, "input fail-on: failure");
    has(at.artifact("streamfmt-review-2.html"), "<!DOCTYPE html>");
  },

  async "an agent that can't be started fails the job"() {
    const places = [
      [{ run: "claudx -p x" }, "can't run claudx"],
      [{ run: "claude -p x | tee log" }, "one command, without |, ; and &&"],
      [{ run: "claude -p 'x" }, "one command"],
      [{ run: "./true -p x", agent: "nope" }, /--agent can't be "nope" \(one of: claude, codex, /],
      [{ run: "claude" }, "claude -p"],
    ];
    await Promise.all(places.map(async ([inputs, message]) => {
      const used = await job().use(action, { ...inputs, program });
      assert.equal(used.isFailed, true);
      const [error] = used.annotations;
      assert.deepEqual([error.name, used.annotations.length], ["error", 1], used.log);
      has(error.text, "the agent was not started: ", message);
      lacks(used.ran.join(), "Upload the page", "Write the summary");
    }));
  },

  async "a cancelled job ends the agent, and shows what it did"() {
    const at = job();
    const agent = script(join(at.root, "workspace/claude"), `echo $$ >pid\ncat session.jsonl\nexec sleep 60`);
    file(at, "session.jsonl", lines(claude().slice(0, -1)));
    let isSent = false;
    const onOutput = (step, log) => {
      if (isSent || !log.includes("[tool] Read")) return;
      isSent = true;
      step.kill("SIGTERM");
    };
    const used = await at.use(action, { run: `${agent} -p x`, program }, { onOutput });
    isSafe(used);
    assert.equal(isSent, true);
    assert.deepEqual([used.outputs.outcome, used.outputs["exit-code"]], ["failed", "143"]);
    has(at.artifact("streamfmt-review.html"), "No such file.");
    assert.throws(() => process.kill(Number(readFileSync(join(at.root, "workspace/pid"), "utf8")), 0), /ESRCH/);
  },

  async "a log of Codex, and a job of a matrix"() {
    const at = job({ strategy: { "job-index": 1, "job-total": 3 } });
    const path = file(at, "codex.jsonl", lines(CODEX));
    const used = await at.use(action, { path, from: "codex", profile: "quiet", program, "fail-on": "failure", "retention-days": "3" });
    assert.equal(used.isFailed, false, used.log);
    assert.equal(used.outputs.outcome, "done");
    has(used.summary, "The test **still fails**.");
    has(at.artifact("streamfmt-review-1.html"), "cargo test");
    lacks(used.ran.join(), "Comment", "Fail");
    // What it says can be turned off, each by itself.
    const silent = await job().use(action, { path: join(at.root, "workspace", path), program, summary: "false", page: "false" });
    assert.equal(silent.summary, "");
    assert.deepEqual(silent.ran, ["Check the inputs and install streamfmt", "Show the session"]);
  },

  async "what no known agent wrote has failed"() {
    const at = job({ variables: { GITHUB_WORKFLOW: "text" } });
    const used = await at.use(action, { path: file(at, "-x.txt", "::error::forged\n"), program, "fail-on": "failure", comment: "required" });
    assert.equal(used.isFailed, true);
    isSafe(used);
    has(used.summary, "nothing to summarize");
    has(service.comments.at(-1).body, "nothing to summarize");
    // What can be read of a damaged archive is shown, and the damage is an error that fails the job only if that is asked.
    const archive = file(at, "cut.jsonl.gz", gzipSync(lines([...CODEX, ...Array.from({ length: 99 }, () => CODEX[3])])).subarray(0, 300));
    const damaged = await at.use(action, { path: archive, program });
    assert.equal(damaged.isFailed, false, damaged.log);
    assert.deepEqual([damaged.outputs.outcome, damaged.outputs["exit-code"]], ["failed", "2"]);
    has(damaged.annotations.find(({ name, properties }) => name === "error" && properties === "title=streamfmt").text, "exit code 2: ", "cut.jsonl.gz");
    has(damaged.log, "still fails");
  },

  async "what looks like a secret and was left is a warning"() {
    const at = job();
    const path = file(at, "left.json", JSON.stringify(claude({ answer: "Use Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4 for it.", isError: false })));
    const used = await at.use(action, { path, program });
    assert.equal(used.outputs.left, "true");
    has(used.annotations.at(-1).text, "the list of what was masked names it");
    has(at.artifact("streamfmt-review.masked.txt"), /looks like a secret/);
  },

  async "a folder: each session once, with a page of its own"() {
    const at = job();
    file(at, "logs/a.jsonl", lines(claude({ session: 1 })));
    file(at, "logs/deep/b.jsonl", lines(claude({ session: 2, answer: "Second.", isError: false })));
    file(at, "logs/notes.jsonl", "not a session\n");
    const used = await at.use(action, { path: "logs", program });
    isSafe(used);
    has(used.log, "sessions in the folder: 2");
    has(used.summary, "Second.", "[Page of the session](https://github.example/artifacts/streamfmt-review)");
    assert.deepEqual(readdirSync(join(at.root, "artifacts/streamfmt-review")).sort(), ["a.html", "b.html", "index.html"]);
    lacks(at.artifact("streamfmt-review/a.html"), SECRET);
    has(at.artifact("streamfmt-review.masked.txt"), /^a\.jsonl\nMasked: 1\n/m, /^b\.jsonl\nMasked: 1\n/m, /^1 masked, 0 left \(/m);
    mkdirSync(join(at.root, "workspace/empty"));
    const none = await job().use(action, { path: join(at.root, "workspace/empty"), program });
    assert.equal(none.isFailed, true);
    has(none.annotations[0].text, "no session is in the folder");
  },

  async "wrong inputs are refused before anything is done"() {
    const at = job();
    const path = file(at, "codex.jsonl", lines(CODEX));
    const name = "no\n::error::forged\nsuch ##[error]forged.jsonl";
    const cases = [
      [{ path: "" }, "input path is empty, and so is run"],
      [{ path, run: "claude -p x" }, "inputs path and run: only one"],
      [{ path: name }, 'input path: "no␊::error::forged␊such ## [error]forged.jsonl" doesn\'t exist'],
      [{ path, from: "nope" }, /input from: --from nope: unknown dialect \(one of: auto, claude, codex, /],
      [{ path, profile: "nope" }, /input profile: --profile: unknown profile "nope" \(one of: default, page, full, quiet, ci, /],
      [{ path, summary: "yes" }, 'input summary: "yes" is not one of: true, false'],
      [{ path, annotations: "" }, 'input annotations: "" is not one of: true, false'],
      [{ path, page: "True" }, 'input page: "True" is not one of: true, false'],
      [{ path, comment: "true" }, 'input comment: "true" is not one of: never, when-allowed, required'],
      [{ path, "fail-on": "error" }, 'input fail-on: "error" is not one of: never, failure'],
      [{ path, "fail-on": "x\n::error::forged" }, 'input fail-on: "x␊::error::forged" is not one of'],
      [{ path, "retention-days": "-1" }, 'input retention-days: "-1" is not a number of days'],
      [{ path, "pull-request": "0" }, 'input pull-request: "0" is not the number of a pull request'],
      [{ path, name: "../x" }, 'input name: "../x" is not a name'],
      [{ path, version: "latest" }, 'input version: "latest" is not a version'],
      [{ path, releases: "http://example.com" }, 'input releases: "http://example.com" is not an address'],
      [{ path, program: "/nowhere/streamfmt" }, 'can\'t run "/nowhere/streamfmt"'],
      [{ path, program: "bash" }, 'can\'t run "bash": it is not streamfmt'],
    ];
    for (const [inputs, message] of cases) {
      const used = await at.use(action, { program, ...inputs });
      assert.equal(used.isFailed, true, JSON.stringify(inputs));
      assert.deepEqual(used.ran, ["Check the inputs and install streamfmt"]);
      assert.deepEqual(used.annotations.map(({ name }) => name), ["error"], used.log);
      has(used.annotations[0].text, message);
      assert.equal(used.summary, "");
    }
  },

  async "a comment that isn't possible is a notice, unless it is required"() {
    const read = async (options, inputs = {}) => {
      const at = job(options);
      const used = await at.use(action, { path: file(at, "codex.jsonl", lines(CODEX)), program, page: "false", ...inputs });
      isSafe(used);
      return { isFailed: used.isFailed, ...used.annotations.find(({ text }) => text.includes("no comment")) };
    };
    const there = service.comments.length;
    service.isReadOnly = true;
    for (const comment of ["when-allowed", "required"]) {
      const found = await read({ variables: { GITHUB_WORKFLOW: "read-only" } }, { comment });
      has(found.text, "Resource not accessible by integration", "`permissions: pull-requests: write`", "fork");
      assert.deepEqual([found.name, found.isFailed], comment === "required" ? ["error", true] : ["notice", false]);
    }
    service.isReadOnly = false;
    const push = await read({ event: { ref: "refs/heads/main" } }, { comment: "when-allowed" });
    has(push.text, "the event names no pull request; input pull-request may");
    const wrong = await read({ event: {} }, { comment: "when-allowed", "pull-request": "8" });
    has(wrong.text, "there is no pull request 8");
    const bad = await read({}, { comment: "when-allowed", token: "ghs_wrong" });
    has(bad.text, "Bad credentials (401)");
    const broken = await read({}, { comment: "when-allowed", token: `${TOKEN}"\nurl = "http://127.0.0.1:1/` });
    has(broken.text, "characters that no token has");
    const gone = await read({ variables: { GITHUB_GRAPHQL_URL: "http://127.0.0.1:1/graphql" } }, { comment: "required" });
    assert.equal(gone.isFailed, true);
    assert.equal(service.comments.length, there);
  },

  async "artifacts that can't be uploaded cost nothing but the links"() {
    const at = job({ hasArtifacts: false });
    const used = await at.use(action, { path: file(at, "codex.jsonl", lines(CODEX)), program });
    assert.equal(used.isFailed, false);
    has(used.summary, "The test **still fails**.");
    lacks(used.summary, "artifacts");
  },

  async "what is too long for the service is cut where it can be read"() {
    const at = job({ variables: { GITHUB_WORKFLOW: "long" } });
    const answer = Array.from({ length: 9000 }, (_, row) => `- row ${row} 🙂`).join("\n");
    const path = file(at, "long.json", JSON.stringify(claude({ session: 3, answer, isError: false })));
    const used = await at.use(action, { path, program, comment: "required" });
    assert.equal(used.isFailed, false, used.log);
    const { body } = service.comments.at(-1);
    assert.ok(Buffer.byteLength(body) > 60_000);
    has(body, /- row \d+ 🙂\n\n\*This is cut here, .*: \[Page of the session\]\(https:\/\/github\.example\/artifacts\/streamfmt-review\.html\)\.\*\n$/);
    has(used.summary, "row 6000 ");
    lacks(used.summary, "This is cut here");

    // A program that writes a summary beyond the limit, in a block of code in a fold.
    const long = script(join(at.root, "long"), `"${program}" "$@"; code=$?
for word; do case $word in --summary=*)
  { printf '<details><summary>much</summary>\\n\\n- x\\n  \`\`\`\\n'; yes '  ::error::forged 🙂' | head -n 60000; } >"\${word#--summary=}";; esac; done
exit $code`);
    const cutAt = await at.use(action, { path, program: long });
    assert.ok(cutAt.summary.length > 0 && Buffer.byteLength(cutAt.summary) > 1_000_000 && Buffer.byteLength(cutAt.summary) <= 1_048_576);
    has(cutAt.summary, /🙂\n {2}```\n\n<\/details>\n\n\*This is cut here, [^\n]*\n$/);
  },

  "cutting closes what is open"() {
    const filler = "word ".repeat(400);
    const note = "*cut*\n";
    const open = [
      ["text\n", "", ""],
      ["```rust\n", "```\n", ""],
      ["~~~~\n```\n", "~~~~\n", ""],
      ["> - `````sh\n", ">   `````\n", ""],
      ["12. ```\n", "    ```\n", ""],
      ["<details><summary>a</summary>\n\n<details open><summary>b</summary>\n\n```\n", "```\n", "\n</details>\n\n</details>\n"],
      ["<details>\n\n</details>\n\n\\<details>\n```\n```\n", "", ""],
      ["``` not `a` fence\n", "", ""],
    ];
    for (const [start, fence, folds] of open) {
      const whole = `${start}${`${filler}\n`.repeat(20)}`;
      assert.equal(cut(whole, Buffer.byteLength(whole), note), whole);
      const found = cut(whole, 20_000, note);
      assert.ok(Buffer.byteLength(found) <= 20_000);
      assert.ok(found.startsWith(start + filler) && found.endsWith(`${filler}\n${fence}${folds}\n${note}`), `${start}${found.slice(-100)}`);
      checks += 1;
    }
    // One long line: code is cut in it, anything else before it.
    has(cut(`\`\`\`\n${"🙂".repeat(9000)}\n\`\`\`\n`, 20_000, note), /^```\n🙂+\n```\n\n\*cut\*\n$/u);
    assert.equal(cut(`a\n${"<!-- x -->".repeat(9000)}`, 20_000, note), `a\n\n${note}`);
  },

  async "a release is installed if it has the published checksum"() {
    const version = /^version = "(.*)"$/m.exec(readFileSync(join(repository, "Cargo.toml"), "utf8"))[1];
    assert.equal(action.inputs.version.default, version);
    const machine = { x64: "x86_64", arm64: "aarch64" }[process.arch];
    const libc = process.report.getReport().header.glibcVersionRuntime ? "gnu" : "musl";
    const target = process.platform === "darwin" ? `${machine}-apple-darwin` : `${machine}-unknown-linux-${libc}`;
    const name = `streamfmt-${version}-${target}`;
    mkdirSync(join(root, name));
    script(join(root, name, "streamfmt"), `exec "${program}" "$@"`);
    const archive = execFileSync("tar", ["-czf", "-", "-C", root, name]);
    const sum = createHash("sha256").update(archive).digest("hex");
    const at = job();
    const path = file(at, "codex.jsonl", lines(CODEX));
    const install = async (sums, served = archive) => {
      service.files = new Map([[`/download/v${version}/${name}.tar.gz`, served], [`/download/v${version}/SHA256SUMS`, sums]]);
      return at.use(action, { path, releases: `${service.url}/download`, page: "false" });
    };
    const good = await install(`${"0".repeat(64)}  other.tar.gz\n${sum}  ${name}.tar.gz\n`);
    assert.equal(good.isFailed, false, good.log);
    has(good.log, `installed ${name}.tar.gz, sha256 ${sum}`, "[answer]");
    const places = [[`${"0".repeat(64)}  ${name}.tar.gz\n`, "has the checksum"], [`${sum}  other.tar.gz\n`, "has no checksum of"], [undefined, "can't download"]];
    for (const [sums, message] of places) {
      const bad = await install(sums);
      assert.equal(bad.isFailed, true);
      has(bad.annotations[0].text, message);
      assert.deepEqual(bad.ran, ["Check the inputs and install streamfmt"]);
    }
  },

  "the token is on no command line"() {
    const words = readFileSync(calls, "utf8");
    has(words, "--config");
    lacks(words, TOKEN, "ghs_");
  },

  "the metadata of the action"() {
    const { steps, using } = action.runs;
    assert.equal(using, "composite");
    for (const step of steps) {
      if (step.run) assert.ok(existsSync(join(action.folder, /([\w.]+\.mjs)"$/.exec(step.run)[1])), step.run);
      for (const [, input] of JSON.stringify(step).matchAll(/inputs\.([\w-]+)/g)) assert.ok(input in action.inputs, input);
      for (const [, id] of JSON.stringify(step).matchAll(/steps\.([\w-]+)/g)) assert.ok(steps.some((step) => step.id === id), id);
    }
    // The token goes to the one step that needs it.
    assert.deepEqual(steps.filter((step) => JSON.stringify(step).includes("inputs.token")).map(({ id }) => id), ["comment"]);
    // The page that describes it names all inputs and outputs, with their defaults, and no others.
    const page = readFileSync(join(repository, "docs/ci.md"), "utf8");
    const table = (title) => page.split(`\n| ${title} |`)[1].split("\n\n")[0];
    const named = (text) => [...text.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
    assert.deepEqual(named(table("input")), Object.keys(action.inputs));
    assert.deepEqual(named(table("output")), Object.keys(action.outputs));
    has(page, `streamfmt/streamfmt/action@v${action.inputs.version.default}`);
    // So do its examples.
    const uses = page.split(/^ *- /m).filter((step) => step.includes("streamfmt/streamfmt/action@"));
    assert.equal(uses.length, 3);
    for (const step of uses) {
      for (const [, input] of step.split("with:\n")[1].split("```")[0].matchAll(/^ +([a-z-]+): /gm)) assert.ok(input in action.inputs, input);
    }
  },
};

await service.start();
try {
  // Every call of curl is noted, with its words.
  const curl = spawnSync("bash", ["-c", "command -v curl"], { encoding: "utf8" }).stdout.trim();
  script(join(bin, "curl"), `printf '%s\\n' "$@" >>"${calls}"\nexec "${curl}" "$@"`);
  for (const [name, check] of Object.entries(cases)) {
    const start = Date.now();
    let result = "ok";
    try {
      await check();
    } catch (error) {
      result = `FAILED: ${error.stack}`;
      process.exitCode = 1;
    }
    console.log(`${((Date.now() - start) / 1000).toFixed(1)} s  ${name}: ${result}`);
  }
  console.log(`${checks} checks of ${Object.keys(cases).length} cases`);
} finally {
  service.stop();
  rmSync(root, { recursive: true, force: true });
}
