// Plays the runner: executes the steps of action.yml in their order, and takes from their output and files what a runner takes.

import { spawn } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import { filled, holds } from "./expressions.mjs";
import { parse } from "./yaml.mjs";

/** The most time that a step may take. */
const MOST_SECONDS = 60;

/** The action in a folder. */
export function load(folder) {
  return { folder, ...parse(readFileSync(join(folder, "action.yml"), "utf8")) };
}

/** A job, in which the action can be used several times. `root`: its folder. `variables`: those of the job. */
export class Job {
  constructor(root, { event, variables = {}, strategy = {}, hasArtifacts = true }) {
    this.root = mkdtempSync(join(root, "job-"));
    for (const name of ["temp", "workspace", "artifacts", "files"]) mkdirSync(join(this.root, name));
    this.eventPath = join(this.root, "event.json");
    writeFileSync(this.eventPath, JSON.stringify(event));
    Object.assign(this, { variables, strategy, hasArtifacts });
    this.steps = 0;
  }

  /** Uses the action. `env`: what the step of the workflow sets. `onOutput` gets the process and the log so far. */
  async use(action, inputs, { env = {}, onOutput = () => {} } = {}) {
    const unknown = Object.keys(inputs).filter((name) => !(name in action.inputs));
    if (unknown.length) throw new Error(`the action has no input ${unknown}`);
    const github = { token: this.variables.TOKEN };
    const filledInputs = Object.entries(action.inputs).map(([name, { default: value }]) => [name, inputs[name] ?? filled(value, { github })]);
    const contexts = { inputs: Object.fromEntries(filledInputs), github, strategy: this.strategy, steps: {} };
    const used = { log: "", annotations: [], summary: "", ran: [], isFailed: false };
    for (const step of action.runs.steps) {
      if (!holds(step.if, contexts, used.isFailed)) continue;
      used.ran.push(step.name);
      const values = Object.entries(step.env ?? {}).map(([name, value]) => [name, filled(value, contexts)]);
      const files = this.#stepFiles();
      const code = step.uses
        ? this.#upload(step, contexts, files)
        : await this.#run(step, action, { ...env, ...Object.fromEntries(values) }, files, used, onOutput);
      if (step.id) contexts.steps[step.id] = { outputs: outputs(readFileSync(files.GITHUB_OUTPUT, "utf8")) };
      if (statSync(files.GITHUB_STEP_SUMMARY).size <= 1024 * 1024) used.summary += readFileSync(files.GITHUB_STEP_SUMMARY, "utf8");
      if (code !== 0 && step["continue-on-error"] !== true) used.isFailed = true;
    }
    used.outputs = Object.fromEntries(Object.entries(action.outputs).map(([name, { value }]) => [name, filled(value, contexts)]));
    return used;
  }

  #stepFiles() {
    this.steps += 1;
    const names = ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE"];
    return Object.fromEntries(names.map((name) => {
      const path = join(this.root, "files", `${name}-${this.steps}`);
      writeFileSync(path, "");
      return [name, path];
    }));
  }

  async #run({ run, shell }, action, values, files, used, onOutput) {
    if (shell !== "bash" || run.includes("${{")) throw new Error(`a step must be run by bash, and hold no expression: ${run}`);
    const script = join(this.root, "files", `script-${this.steps}.sh`);
    writeFileSync(script, run);
    const env = {
      PATH: process.env.PATH, HOME: this.root, CI: "true", GITHUB_ACTIONS: "true", GITHUB_ACTION_PATH: action.folder,
      GITHUB_EVENT_PATH: this.eventPath, RUNNER_TEMP: join(this.root, "temp"), GITHUB_WORKSPACE: join(this.root, "workspace"),
      ...this.variables, ...files, ...values,
    };
    // A job has the token only where it is passed.
    delete env.TOKEN;
    const child = spawn("bash", ["--noprofile", "--norc", "-e", "-o", "pipefail", script], { cwd: env.GITHUB_WORKSPACE, env, stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), MOST_SECONDS * 1000);
    let log = "";
    const take = (data) => {
      log += data;
      onOutput(child, log);
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    const code = await new Promise((ended) => child.on("close", (code) => ended(code ?? 1)));
    clearTimeout(timer);
    used.log += log;
    used.annotations.push(...commands(log));
    return code;
  }

  /** What actions/upload-artifact does with these inputs. */
  #upload({ uses, with: given }, contexts, files) {
    if (!/^actions\/upload-artifact@[0-9a-f]{40}$/.test(uses)) throw new Error(`not an action that is played here: ${uses}`);
    const value = (name) => (given[name] === undefined ? "" : filled(given[name], contexts));
    const [path, isOne] = [value("path"), value("archive") === "false"];
    if (!existsSync(path) || !this.hasArtifacts || !/^\d+$/.test(value("retention-days"))) return 1;
    if (isOne && !statSync(path).isFile()) return 1;
    const name = isOne ? basename(path) : value("name");
    const place = join(this.root, "artifacts", name);
    if (/["<>|*?\r\n\\/:]/.test(name) || existsSync(place)) return 1;
    if (isOne) copyFileSync(path, place);
    else cpSync(path, place, { recursive: true });
    writeFileSync(files.GITHUB_OUTPUT, `artifact-url=https://github.example/artifacts/${encodeURIComponent(name)}\n`);
    return 0;
  }

  artifact(name) {
    return readFileSync(join(this.root, "artifacts", name), "utf8");
  }
}

/** The values in a file of outputs. */
function outputs(text) {
  const found = {};
  const rows = text.split("\n");
  while (rows.length) {
    const row = rows.shift();
    const [, name, end] = /^([^=]+?)<<(.+)$/.exec(row) ?? [];
    if (end) {
      const at = rows.indexOf(end);
      if (at < 0) throw new Error(`the value of ${name} has no end`);
      found[name] = rows.splice(0, at + 1).slice(0, -1).join("\n");
    } else if (row) {
      const at = row.indexOf("=");
      found[row.slice(0, at)] = row.slice(at + 1);
    }
  }
  return found;
}

/** The commands that a runner finds in a log: `::name …::` where a line begins, and `##[name]` anywhere. */
function commands(log) {
  return log.split(/\r?\n|\r/).flatMap((line) => {
    const found = /^\s*::([^\s:]+)(?: ([^:]*))?::(.*)$/.exec(line);
    if (found) return [{ name: found[1], properties: found[2] ?? "", text: found[3] }];
    return line.includes("##[") ? [{ name: "##[", properties: "", text: line }] : [];
  });
}

