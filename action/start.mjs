// Checks the inputs, and finds or installs the program. Nothing is read or run before all inputs are right.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { install } from "./lib/program.mjs";
import { Refusal, given, matching, oneOf, output, print, quoted, step } from "./lib/runner.mjs";

const BOOLEAN = ["true", "false"];

await step(() => {
  for (const input of ["summary", "annotations", "page"]) oneOf(input, BOOLEAN);
  oneOf("comment", ["never", "when-allowed", "required"]);
  oneOf("fail-on", ["never", "failure"]);
  matching("retention-days", /^\d{1,3}$/, "a number of days");
  matching("pull-request", /^(?:[1-9]\d{0,9})?$/, "the number of a pull request");
  matching("name", /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,99})?$/, "a name of at most 100 letters, digits, `.`, `_` and `-`");
  const version = matching("version", /^\d+\.\d+\.\d+(?:-[A-Za-z0-9.]+)?$/, "a version, such as 0.1.0");
  const releases = matching("releases", /^(?:https:\/\/|http:\/\/127\.0\.0\.1:)[^\s?#]+$/, "an address that begins with https://");
  source();

  const folder = ownFolder();
  const program = given("INPUT_PROGRAM") || install(version, releases, folder.path);
  const { stdout, error } = spawnSync(program, ["--version"], { encoding: "utf8" });
  if (error || !stdout.startsWith("streamfmt ")) {
    throw new Refusal(`can't run ${quoted(program)}: ${error?.message ?? "it is not streamfmt"}`);
  }
  print(stdout.split("\n")[0].replace(/^streamfmt /, "version "));
  // The program knows which words there are.
  for (const input of ["from", "profile"]) ask(program, input);

  output("program", program);
  output("folder", folder.path);
  output("name", given("INPUT_NAME") || folder.name);
});

/** Checks that there is one thing to show, and that it exists. */
function source() {
  const [path, run] = [given("INPUT_PATH"), given("INPUT_RUN").trim()];
  if (path && run) throw new Refusal("inputs path and run: only one of them may be given");
  if (!path && !run) throw new Refusal("input path is empty, and so is run: an earlier step that sets it may have written no file");
  if (!path) return;
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new Refusal(`input path: ${quoted(path)} doesn't exist`);
  if (!found.isFile() && !found.isDirectory()) throw new Refusal(`input path: ${quoted(path)} is neither a file nor a folder`);
}

/** Tries a value with no input. */
function ask(program, input) {
  const value = given(`INPUT_${input.toUpperCase()}`);
  const { status, stderr } = spawnSync(program, [`--${input}=${value}`], { encoding: "utf8", input: "" });
  if (status === 0) return;
  throw new Refusal(`input ${input}: ${stderr.trim().split("\n").pop().replace(/^streamfmt: /, "")}`);
}

/** A folder of this use of the action: a job may use it several times. The name is for artifacts, which need different ones. */
function ownFolder() {
  const all = join(process.env.RUNNER_TEMP, "streamfmt-action");
  mkdirSync(all, { recursive: true, mode: 0o700 });
  const path = mkdtempSync(join(all, "use-"));
  const number = readdirSync(all).length;
  const job = (process.env.GITHUB_JOB ?? "job").replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 60);
  const index = Number(given("JOB_TOTAL")) > 1 ? `-${given("JOB_INDEX")}` : "";
  return { path, name: `streamfmt-${job}${index}${number > 1 ? `-${number}` : ""}` };
}
