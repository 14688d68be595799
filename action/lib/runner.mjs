// What a script of a step and the runner say to each other: inputs, outputs, messages.

import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";

/** What ends a step with a message to the user. */
export class Refusal extends Error {}

/** The value of a variable that action.yml sets; empty if it doesn't. */
export function given(name) {
  return process.env[name] ?? "";
}

/** The value of an input that is one of few words. */
export function oneOf(input, words) {
  const value = given(variable(input));
  if (!words.includes(value)) throw new Refusal(`input ${input}: ${quoted(value)} is not one of: ${words.join(", ")}`);
  return value;
}

/** The value of an input that has this form. */
export function matching(input, form, wanted) {
  const value = given(variable(input));
  if (!form.test(value)) throw new Refusal(`input ${input}: ${quoted(value)} is not ${wanted}`);
  return value;
}

function variable(input) {
  return `INPUT_${input.toUpperCase().replaceAll("-", "_")}`;
}

/** A value as a part of a message: short, and on one line. */
export function quoted(value) {
  return `"${oneLine(value.length > 200 ? `${value.slice(0, 200)}…` : value)}"`;
}

/** Sets an output of the step. Any value is possible: its end is a line that nobody can guess. */
export function output(name, value) {
  const end = randomUUID();
  appendFileSync(process.env.GITHUB_OUTPUT, `${name}<<${end}\n${value}\n${end}\n`);
}

/** Prints a line to the log of the step. */
export function print(text) {
  process.stdout.write(`streamfmt: ${defused(oneLine(text))}\n`);
}

/** Prints an annotation: level is `error`, `warning` or `notice`. */
export function annotate(level, text) {
  const message = oneLine(text).replaceAll("%", "%25");
  process.stdout.write(`::${level} title=streamfmt::${defused(message)}\n`);
}

/** A text of others as a part of a line: nothing in it ends the line or controls a terminal. */
export function oneLine(text) {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) => (char < " " ? String.fromCodePoint(0x2400 + char.codePointAt(0)) : "␦"));
}

/** A line in which the runner finds no command: it takes those of the old form anywhere in a line. */
export function defused(line) {
  return line.replaceAll("##[", "## [").replace(/^(\s*):(?=:)/, "$1: ");
}

/** Runs the script of a step. What it throws becomes an annotation and the exit code 1. */
export async function step(script) {
  try {
    await script();
  } catch (error) {
    annotate("error", error instanceof Refusal ? error.message : `internal error: ${error.stack ?? error}`);
    process.exitCode = 1;
  }
}
