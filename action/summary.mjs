// Appends the summary of the session to that of the step.

import { appendFileSync, readFileSync, statSync } from "node:fs";

import { cut } from "./lib/cut.mjs";
import { links, note } from "./lib/links.mjs";
import { given, step } from "./lib/runner.mjs";

/** What the service accepts for a step; it drops a longer summary as a whole. */
const MOST_BYTES = 1024 * 1024;

await step(() => {
  const place = process.env.GITHUB_STEP_SUMMARY;
  const there = statSync(place, { throwIfNoEntry: false })?.size ?? 0;
  const head = links();
  const text = `${head && `${head}\n\n`}${readFileSync(given("SUMMARY"), "utf8")}`;
  const before = there > 0 ? "\n" : "";
  appendFileSync(place, before + cut(text, MOST_BYTES - there - before.length, note()));
});
