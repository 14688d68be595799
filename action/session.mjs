// Shows the session in the log of the job, while the agent runs or afterwards, and writes its summary and masked page.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { Refusal, annotate, defused, given, oneLine, output, print, quoted, step } from "./lib/runner.mjs";

/** Files by which a step tells the runner what later steps get. They are none of the agent's business. */
const COMMAND_FILES = ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];

/** Splits the input into words as a shell does, except for globs, and runs the given command with them behind `--`. */
const WITH_WORDS = 'set -f; eval "words=($INPUT_RUN)" || exit; unset INPUT_RUN; exec "$@" -- "${words[@]}"';

const NOTHING = "*Here is nothing to summarize: no known agent wrote it, or the agent ended before it began.*\n";

const [program, folder, name] = ["PROGRAM", "FOLDER", "NAME"].map(given);
const summary = join(folder, "summary.md");

await step(async () => {
  const code = given("INPUT_RUN") ? await run() : await show();
  output("exit-code", code);
  output("outcome", code === 0 ? "done" : "failed");
  // A summary, and a comment that is required, are written in any case.
  if (!existsSync(summary) || readFileSync(summary, "utf8").trim() === "") writeFileSync(summary, NOTHING);
  output("summary", summary);
});

/** The options of every output. */
function options() {
  const words = ["--redact", `--profile=${given("INPUT_PROFILE")}`, `--summary=${summary}`, "--fail", `--from=${given("INPUT_FROM")}`];
  return given("INPUT_ANNOTATIONS") === "true" ? words : [...words, "--set=layout.ci=plain"];
}

/** Runs the agent. */
async function run() {
  const [log, id] = [join(folder, "session.ndjson"), join(folder, "id")];
  const words = ["run", ...options(), `--log=${log}`, `--id-file=${id}`];
  if (given("INPUT_AGENT")) words.push(`--agent=${given("INPUT_AGENT")}`);
  const { code, last } = await watch("bash", ["-c", WITH_WORDS, "run", program, ...words], environment(["INPUT_RUN"]));
  if (!existsSync(id)) {
    throw new Refusal(`the agent was not started: ${last.replace(/^streamfmt: /, "")} (input run is one command, without |, ; and &&)`);
  }
  output("log", log);
  if (existsSync(log)) pages([log]);
  return code;
}

/** Shows what there is. */
async function show() {
  const path = resolve(given("INPUT_PATH"));
  const files = statSync(path).isDirectory() ? sessions(path) : [path];
  const { code, last } = await watch(program, [...options(), "--", ...files], environment());
  if (code > 1) annotate("error", `exit code ${code}: ${last.replace(/^streamfmt: /, "")}`);
  pages(files);
  return code;
}

/** The files of the sessions in a folder, the oldest first: those that the program's own list of sessions would have. */
function sessions(path) {
  const env = { ...environment(), XDG_DATA_HOME: join(folder, "data") };
  const ask = (...words) => {
    const { status, stdout, stderr } = spawnSync(program, ["sessions", ...words], { encoding: "utf8", env, maxBuffer: 2 ** 30 });
    if (status !== 0) throw new Refusal(`input path: ${stderr.trim().split("\n").pop()}`);
    return stdout;
  };
  ask("import", path);
  const rows = ask("list", "--json").split("\n").filter(Boolean).map((row) => JSON.parse(row));
  const files = rows.map((row) => row.log).filter((log) => log && existsSync(log));
  if (files.length === 0) throw new Refusal(`input path: no session is in the folder ${quoted(path)} (files of a known agent, named as it names its sessions)`);
  print(`sessions in the folder: ${files.length}`);
  if (files.length < rows.length) annotate("warning", `sessions whose file can't be read: ${rows.length - files.length}`);
  return files.reverse();
}

/** Writes the masked page, or those of several files with an index of them, and the list of what was masked and what was left. */
function pages(files) {
  if (given("INPUT_PAGE") !== "true") return;
  const isOne = files.length === 1;
  const page = join(folder, isOne ? `${name}.html` : name);
  if (!isOne) {
    mkdirSync(page);
    write(["--to=html", "--redact", `--output=${page}`, "--", ...files], [0]);
  }
  const lists = files.map((file) => {
    // Of several files, the pages are there already.
    const output = isOne ? page : join(folder, "shared.html");
    const { status, stdout } = write(["share", "--strict", `--output=${output}`, "--", file], [0, 1]);
    const text = stdout.replace(`: ${output} (`, isOne ? `: ${basename(page)} (` : " (");
    return { isLeft: status === 1, text: isOne ? text : `${oneLine(basename(file))}\n${text}` };
  });
  if (!existsSync(page)) return;
  const masked = join(folder, `${name}.masked.txt`);
  writeFileSync(masked, lists.map(({ text }) => text).join("\n"));
  const isLeft = lists.some(({ isLeft }) => isLeft);
  if (isLeft) annotate("warning", "something that looks like a secret was left in the page: the list of what was masked names it");
  output("left", String(isLeft));
  output("page", page);
  output("archive", String(!isOne));
  output("masked", masked);
}

/** Runs the program, which writes a page. `good`: the exit codes with which it did. */
function write([first, ...words], good) {
  const options = { encoding: "utf8", env: environment(), maxBuffer: 2 ** 30 };
  const ran = spawnSync(program, [first, `--from=${given("INPUT_FROM")}`, ...words], options);
  if (!good.includes(ran.status)) annotate("warning", `exit code ${ran.status} while the page was written: ${ran.stderr.trim().split("\n").pop().replace(/^streamfmt: /, "")}`);
  return ran;
}

/** The environment of the program. `also`: variables of this script that it gets. */
function environment(also = []) {
  const left = ([name]) => also.includes(name) || !(name.startsWith("INPUT_") || COMMAND_FILES.includes(name));
  return Object.fromEntries(Object.entries(process.env).filter(left));
}

/** Runs a program whose output is that of this step; its messages pass without commands. Signals are passed on. */
async function watch(command, words, env) {
  const child = spawn(command, words, { env, stdio: ["ignore", "inherit", "pipe"] });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  let last = "";
  createInterface({ input: child.stderr, crlfDelay: Infinity }).on("line", (line) => {
    if (line.trim()) last = line.trim().slice(0, 1000);
    process.stderr.write(`${defused(line)}\n`);
  });
  const [code, signal] = await new Promise((ended) => {
    child.on("error", (error) => {
      last = error.message;
      ended([127, null]);
    });
    child.on("close", (...how) => ended(how));
  });
  return { code: code ?? 128 + constants.signals[signal], last };
}
