#!/usr/bin/env node
// Starts the program for this platform, which is in a package of its own: npm installs the one that fits.
"use strict";
const { spawn } = require("node:child_process");

const name = `@streamfmt/${process.platform}-${process.arch}`;
const suffix = process.platform === "win32" ? ".exe" : "";
let program;
try {
  program = require.resolve(`${name}/bin/streamfmt${suffix}`);
} catch {
  console.error(
    `streamfmt: the package ${name} isn't installed. Either there is none for this platform (https://github.com/streamfmt/streamfmt#install ` +
      "has other ways), or npm was asked to leave out optional dependencies.",
  );
  process.exit(1);
}
const given = process.argv.slice(2);
// The program takes this process's place where Node.js can do that.
if (process.execve && process.platform !== "win32") process.execve(program, [program, ...given], process.env);

const child = spawn(program, given, { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`streamfmt: ${program}: ${error.message}`);
  process.exit(1);
});
// A signal is for the program, which ends its output by it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
