// Requests to the service. The token reaches curl through a pipe, so no list of processes shows it.

import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Refusal } from "./runner.mjs";

/** Why a request had no success. */
export class Failed extends Error {
  constructor(message, { isForbidden = false } = {}) {
    super(message);
    this.isForbidden = isForbidden;
  }
}

/** A function that makes GraphQL requests at this address, with a token. `folder`: for what is sent. */
export function graphql(url, token, folder) {
  if (!/^https?:\/\/[^\s"\\]+$/.test(url)) throw new Refusal("GITHUB_GRAPHQL_URL is no address");
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(token)) throw new Refusal("input token is empty, or has characters that no token has");
  return (query, variables) => {
    const sent = join(folder, "request.json");
    writeFileSync(sent, JSON.stringify({ query, variables }), { mode: 0o600 });
    const config = [
      `url = "${url}"`,
      `header = "Authorization: bearer ${token}"`,
      'header = "Content-Type: application/json"',
      'header = "User-Agent: streamfmt-action"',
      `data-binary = "@${sent.replace(/["\\]/g, "\\$&")}"`,
      'write-out = "\\n%{http_code}"',
    ];
    const words = ["--disable", "--silent", "--show-error", "--max-time", "60", "--config", "-"];
    const { status, error, stdout, stderr } = spawnSync("curl", words, { input: config.join("\n"), encoding: "utf8", maxBuffer: 2 ** 28 });
    rmSync(sent, { force: true });
    if (error) throw new Failed(`can't run curl: ${error.message}`);
    if (status !== 0) throw new Failed(stderr.trim());
    return answer(stdout);
  };
}

function answer(stdout) {
  const end = stdout.lastIndexOf("\n");
  const [text, code] = [stdout.slice(0, end), Number(stdout.slice(end + 1))];
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    // An answer of something between here and the service: its code is enough.
  }
  const reason = body.errors?.[0] ?? (code >= 300 ? body : null);
  if (reason || code >= 300 || !body.data) {
    const isForbidden = code === 401 || code === 403 || reason?.type === "FORBIDDEN" || reason?.type === "INSUFFICIENT_SCOPES";
    throw new Failed(`${reason?.message ?? "no answer that can be read"} (${code})`, { isForbidden });
  }
  return body.data;
}
