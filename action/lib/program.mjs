// Installs streamfmt from a release.

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Refusal, print, quoted } from "./runner.mjs";

const MACHINES = { "linux x64": "x86_64-unknown-linux", "linux arm64": "aarch64-unknown-linux", "darwin x64": "x86_64-apple-darwin", "darwin arm64": "aarch64-apple-darwin" };

/** The target that the archive for this machine is named for. */
function target() {
  const machine = MACHINES[`${process.platform} ${process.arch}`];
  if (!machine) {
    throw new Refusal(`there is no archive for ${process.platform} on ${process.arch}; input program may name a streamfmt that is there already`);
  }
  if (process.platform !== "linux") return machine;
  return machine + (process.report.getReport().header.glibcVersionRuntime ? "-gnu" : "-musl");
}

/** Installs the program of this version below `folder`, and returns its path. The archive must have the published checksum. */
export function install(version, releases, folder) {
  const name = `streamfmt-${version}-${target()}`;
  const [archive, sums] = [`${name}.tar.gz`, "SHA256SUMS"];
  for (const file of [archive, sums]) download(`${releases}/v${version}/${file}`, join(folder, file));
  const rows = readFileSync(join(folder, sums), "utf8").split(/\r?\n/).map((row) => row.split(/ [ *]/));
  const expected = rows.find(([, file]) => file === archive)?.[0];
  const actual = createHash("sha256").update(readFileSync(join(folder, archive))).digest("hex");
  if (!expected) throw new Refusal(`${sums} of version ${version} has no checksum of ${archive}`);
  if (expected !== actual) throw new Refusal(`${archive} has the checksum ${actual}, but ${quoted(expected)} is published`);
  execFileSync("tar", ["-xzf", archive, `${name}/streamfmt`], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  print(`installed ${archive}, sha256 ${actual}`);
  return join(folder, name, "streamfmt");
}

function download(url, file) {
  const words = ["--disable", "--fail", "--silent", "--show-error", "--location", "--retry", "3", "--max-time", "300", "--output", file, "--", url];
  const { status, error, stderr } = spawnSync("curl", words, { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] });
  if (error) throw new Refusal(`can't run curl: ${error.message}`);
  if (status !== 0) throw new Refusal(`can't download ${quoted(url)}: ${stderr.trim()}`);
}
