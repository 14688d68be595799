// Serves sessions while they happen and watches them in headless Chromium.
//
//   node serve.mjs PROGRAM FILE…      CHROMIUM=/path/to/chromium if it is not found; SCREENS=FOLDER keeps pictures
//
// Agents are scripts that write a part of a stream whenever a file appears. FILEs are further recordings, hostile ones above all: of
// none may a script run, or an element exist. On no page may anything be on the console, or be asked of another host.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const [given, ...files] = process.argv.slice(2);
if (!given) throw new Error("usage: node serve.mjs PROGRAM FILE…");
const program = resolve(given);
const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = places.find((place) => place && existsSync(place));
if (!executablePath) throw new Error("no Chromium found; say where it is with CHROMIUM");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const home = mkdtempSync(join(tmpdir(), "serve-"));
const sessions = join(home, "data/streamfmt/sessions");
const env = { PATH: process.env.PATH, HOME: home, TERM: "dumb" };
for (const name of ["DATA", "STATE", "CONFIG", "CACHE"]) env[`XDG_${name}_HOME`] = join(home, name.toLowerCase());
const screens = process.env.SCREENS;
if (screens) mkdirSync(screens, { recursive: true });
const children = [];
let checks = 0;

/** Waits until something holds. */
async function until(what, holds, seconds = 15) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${seconds} s in vain: ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

function start(words, options = {}) {
  const child = spawn(program, words, { env, cwd: home, stdio: ["ignore", "ignore", "ignore"], ...options });
  children.push(child);
  child.over = new Promise((done) => child.on("exit", done));
  return child;
}

/** Starts `serve`; answers with its address. */
async function serve(...words) {
  const child = start(["serve", ...words], { stdio: ["ignore", "pipe", "ignore"] });
  let said = "";
  child.stdout.on("data", (data) => (said += data));
  const url = await until("the address", () => said.match(/^(http:\S+)\n/)?.[1]);
  return { child, url, origin: new URL(url).origin };
}

let runs = 0;
/** Runs an agent that writes each part once `go(number)` was called; the first at once. */
async function run(...parts) {
  runs += 1;
  const gate = join(home, `gate-${runs}`);
  const script = parts.map((part, at) => {
    const file = join(home, `part-${runs}-${at}`);
    writeFileSync(file, part.map((event) => (typeof event === "string" ? event : JSON.stringify(event)) + "\n").join(""));
    return `${at ? `while [ ! -e '${gate}-${at}' ]; do sleep 0.03; done; ` : ""}cat '${file}'`;
  });
  const known = new Set(existsSync(sessions) ? readdirSync(sessions) : []);
  const child = start(["run", "--", "sh", "-c", script.join("\n")]);
  const name = await until("the run's side file", () =>
    existsSync(sessions) && readdirSync(sessions).find((name) => name.endsWith(".json") && !known.has(name)));
  return { id: name.slice(0, -5), child, go: (number) => writeFileSync(`${gate}-${number}`, "") };
}

const of = { session_id: "s-1", parent_tool_use_id: null };
const init = { type: "system", subtype: "init", session_id: "s-1", cwd: "/home/dev/shop", model: "claude-opus-4-5", tools: ["Bash"] };
const assistant = (id, block) => ({ type: "assistant", ...of, message: { id, type: "message", role: "assistant", model: "claude-opus-4-5", content: [block], usage: { input_tokens: 3, output_tokens: 5 } } });
const reply = (id, text) => assistant(id, { type: "text", text });
const call = (id, command) => assistant(`m-${id}`, { type: "tool_use", id, name: "Bash", input: { command } });
const result = (id, content) => ({ type: "user", ...of, message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content, is_error: false }] } });
const outcome = (text) => ({ type: "result", subtype: "success", is_error: false, session_id: "s-1", result: text, num_turns: 2, total_cost_usd: 0.25, duration_ms: 700, duration_api_ms: 300 });
const piece = (event) => ({ type: "stream_event", ...of, event });
const grow = (text) => piece({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

/** Opens an address and hands the page to `use`; whatever it says on the console or asks of others is an error. */
async function visit(url, options, use) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  const { host } = new URL(url);
  // The browser reports that a server went away, or that it asks for a login.
  page.on("console", (message) => /ERR_|net::|status of 401/.test(message.text()) || wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => (wrong.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => {
    if (!request.url().startsWith("data:") && new URL(request.url()).host !== host) wrong.push(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.sfxss = (...given) => console.error("a script of the stream ran", ...given);
  });
  // A printed address logs one browser in.
  await page.goto(execFileSync(program, ["serve", "--link"], { env, cwd: home }).toString().trim());
  await use(page, context);
  await context.close();
  assert.deepEqual(wrong, [], url);
  checks += 1;
}

const text = (page, where) => page.locator(where).innerText();
const seen = (page, what) => page.waitForFunction((what) => document.querySelector("#nodes").textContent.includes(what), what);
const count = (page, what) => page.evaluate((what) => document.querySelector("#nodes").textContent.split(what).length - 1, what);

/** Makes a page believe that its tab is hidden, or seen again. */
const hide = (page, hidden) => page.evaluate((hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}, hidden);

async function accessibility(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const told = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  assert.deepEqual(told, [], where);
}

async function foreign(page) {
  return page.evaluate(() => {
    const found = [];
    for (const element of document.querySelectorAll("iframe, object, embed, base, form, video, audio, math, template, textarea, style, #nodes script"))
      found.push(element.outerHTML.slice(0, 80));
    for (const element of document.querySelectorAll("*"))
      for (const { name, value } of element.attributes) {
        if (name.startsWith("on") || name === "style" || name === "srcdoc") found.push(`${element.localName} ${name}`);
        if (/^(href|src)$/.test(name) && /^(?!https?:|mailto:|data:image\/)[a-z]+:/i.test(value)) found.push(`${element.localName} ${value.slice(0, 40)}`);
      }
    return found;
  });
}

const scenarios = {
  async "a run from its start to its end, in two browsers"({ url }) {
    const first = await run([init, reply("m-1", "Looking first."), call("t-1", "cargo test")],
      [piece({ type: "message_start", message: { id: "m-2", type: "message", role: "assistant", model: "claude-opus-4-5", content: [], usage: {} } }),
        piece({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }), grow("It grows ")],
      [grow("and grows.")],
      [piece({ type: "content_block_stop", index: 0 }), reply("m-2", "It grows and grows."), piece({ type: "message_stop" }), result("t-1", "RESULT OUT")],
      [reply("m-3", "## All **done**\n\n| a | b |\n|---|---|\n| 1 | 2 |"), outcome("## All **done**\n\n| a | b |\n|---|---|\n| 1 | 2 |")]);
    await visit(url, {}, async (page, context) => {
      await page.waitForSelector(`[data-id="${first.id}"][data-status=running]`);
      assert.match(await page.title(), /running/);
      await page.click(`[data-id="${first.id}"] a`);
      await seen(page, "cargo test");
      assert.equal(await page.locator("#response").count(), 0, "no response yet");
      assert.match(await page.title(), /^running/);
      await page.waitForFunction(() => /^Bash cargo test · \d+s$/.test(document.querySelector("#now").textContent));
      const other = await context.newPage();
      await other.goto(page.url());
      first.go(1);
      for (const one of [page, other]) await seen(one, "It grows");
      first.go(2);
      for (const one of [page, other]) await seen(one, "and grows.");
      first.go(3);
      await page.waitForFunction(() => document.querySelector('[data-tool=Bash] summary, [data-tool=Bash] .row')?.closest(".n").dataset.open === undefined);
      await page.locator("[data-tool=Bash] summary").first().click();
      await page.waitForFunction(() => document.querySelector("[data-tool=Bash]").innerText.includes("RESULT OUT"));
      first.go(4);
      for (const one of [page, other]) {
        await one.waitForSelector("#response h2 strong");
        await one.waitForSelector("#status[data-status=done]");
        assert.match(await text(one, "#facts"), /\$0\.25/);
        assert.match(await text(one, "#facts"), /TURNS\s+2/i);
        assert.match(await one.title(), /^done/);
        assert.equal(await count(one, "It grows and grows."), 1, "once");
        assert.ok(await one.evaluate(() => document.querySelector("#response").getBoundingClientRect().bottom <= document.querySelector("#overview").getBoundingClientRect().top), "the answer first");
        assert.equal(await text(one, "#now"), "");
        assert.ok(await one.evaluate(() => (scrollTo(0, 1e6), document.querySelector("#status").getBoundingClientRect().top >= 0)), "the status stays in view");
      }
      assert.ok(await page.evaluate(() => document.querySelector("[data-tool=Bash] details").open), "what was unfolded stays so");
      await page.reload();
      await page.waitForSelector("#response h2 strong");
      assert.equal(await page.locator("#activity .e").count(), await other.locator("#activity .e").count(), "the same after a reload");
    });
  },

  async "the server is killed and started again while a page is open"(server) {
    const { id, go } = await run([init, reply("m-1", "EVT1")], [reply("m-2", "EVT2")], [reply("m-3", "EVT3"), outcome("Over.")]);
    await visit(server.url, {}, async (page) => {
      await page.goto(`${server.origin}/sessions/${id}`);
      await seen(page, "EVT1");
      await page.evaluate(() => (window.stays = true));
      server.child.kill("SIGKILL");
      await server.child.over;
      await page.waitForFunction(() => /^disconnected since/.test(document.querySelector("#connection").innerText));
      assert.ok(await page.evaluate(() => document.querySelector("#session").matches(".lost") && document.querySelector("#connection").getBoundingClientRect().top < 60), "in red, in view");
      go(1);
      const again = await serve();
      assert.equal(again.origin, server.origin, "the same address");
      Object.assign(server, again);
      await seen(page, "EVT2");
      go(2);
      await page.waitForSelector("#response");
      for (const event of ["EVT1", "EVT2", "EVT3"]) assert.equal(await count(page, event), 1, event);
      assert.ok(await page.evaluate(() => window.stays), "without a reload");
      assert.ok(await page.locator("#connection").isHidden());
      assert.equal(await page.locator("#session.lost").count(), 0);
    });
  },

  async "a page gives its cookie to no other program that takes the port"(server) {
    const { id, go } = await run([init, reply("m-1", "EVT1")], [outcome("Over.")]);
    await visit(server.url, {}, async (page) => {
      await page.goto(`${server.origin}/sessions/${id}`);
      await seen(page, "EVT1");
      assert.equal(await page.evaluate(() => document.body.dataset.key), undefined, "its key is in memory only");
      server.child.kill("SIGKILL");
      await server.child.over;
      const asked = [];
      const stranger = createServer((request, response) => {
        asked.push(request);
        response.setHeader("content-type", "application/json").end('{"proof":"00","challenge":"00"}');
      });
      await new Promise((done) => stranger.listen(Number(new URL(server.url).port), "127.0.0.1", done));
      await page.waitForFunction(() => /^logged out/.test(document.querySelector("#connection").innerText));
      await new Promise((done) => (stranger.closeAllConnections(), stranger.close(done)));
      assert.ok(asked.length > 0);
      for (const { url, headers } of asked) assert.ok(!headers.cookie && !url.includes("proof"), url);
      Object.assign(server, await serve());
    });
    go(1);
  },

  async "a browser that was logged out stays out"(server) {
    const { id, go } = await run([init, reply("m-1", "EVT1")], [outcome("Over.")]);
    await visit(server.url, {}, async (page) => {
      await page.goto(`${server.origin}/sessions/${id}`);
      await seen(page, "EVT1");
      const browsers = execFileSync(program, ["serve", "--browsers"], { env, cwd: home }).toString().trim().split("\n");
      execFileSync(program, ["serve", "--revoke", browsers.at(-1).split(" ")[0]], { env, cwd: home });
      await page.waitForFunction(() => /^logged out/.test(document.querySelector("#connection").innerText));
      assert.equal((await page.goto(`${server.origin}/sessions/${id}`)).status(), 401);
    });
    go(1);
  },

  async "a hidden tab drops its stream and catches up within a second"({ url, origin }) {
    const { id, go } = await run([init, reply("m-1", "EVT1")], [reply("m-2", "EVT2")], [outcome("Over.")]);
    await visit(url, {}, async (page) => {
      let streams = 0;
      page.on("request", (request) => (streams += request.url().includes("/events")));
      await page.goto(`${origin}/sessions/${id}`);
      await seen(page, "EVT1");
      await hide(page, true);
      go(1);
      await until("the log", () => readFileSync(join(sessions, `${id}.ndjson`), "utf8").includes("EVT2"));
      assert.equal(await count(page, "EVT2"), 0);
      const begun = Date.now();
      await hide(page, false);
      await seen(page, "EVT2");
      assert.ok(Date.now() - begun < 1000, `${Date.now() - begun} ms`);
      assert.equal(streams, 2);
      go(2);
      await page.waitForSelector("#status[data-status=done]");
    });
  },

  async "ten tabs of one browser are all served"({ url, origin }) {
    const { id, go } = await run([init, reply("m-1", "EVT1")], [reply("m-2", "EVT2")], [outcome("Over.")]);
    await visit(url, {}, async (first, context) => {
      const tabs = [first];
      for (let tab = 1; tab < 10; tab += 1) tabs.push(await context.newPage());
      // One tab is seen at a time: it is opened while the ones before it are there.
      for (const tab of tabs) {
        await tab.goto(`${origin}/sessions/${id}`, { timeout: 10000 });
        await seen(tab, "EVT1");
        await hide(tab, tab !== tabs[9]);
      }
      go(1);
      await seen(tabs[9], "EVT2");
      await hide(tabs[9], true);
      for (const tab of tabs.slice(0, 9)) {
        assert.equal(await count(tab, "EVT2"), 0, "hidden tabs wait");
        await hide(tab, false);
        await seen(tab, "EVT2");
        await hide(tab, true);
      }
      await hide(tabs[4], false);
      go(2);
      await tabs[4].waitForSelector("#status[data-status=done]");
    });
  },

  async "the end is followed until the reader scrolls up, and what is far leaves the page"({ url, origin }) {
    const many = (from, to) => Array.from({ length: to - from }, (_, at) => reply(`m-${from + at}`, `Entry ${from + at}.\n\nWith a second paragraph.`));
    const { id, go } = await run([init, ...many(0, 60)], many(60, 90), many(90, 120), [...many(120, 2500)], [outcome("Over.")]);
    await visit(url, {}, async (page) => {
      await page.goto(`${origin}/sessions/${id}`);
      await seen(page, "Entry 59.");
      const endIsSeen = () => page.evaluate(() => document.querySelector("#nodes").lastElementChild.getBoundingClientRect().bottom < innerHeight + 80);
      await until("the end is in view", endIsSeen);
      go(1);
      await seen(page, "Entry 89.");
      await until("the end is in view again", endIsSeen);
      await page.mouse.move(600, 400);
      await page.mouse.wheel(0, -1500);
      await until("it was scrolled", async () => !(await endIsSeen()));
      await page.waitForTimeout(100);
      const line = () => page.evaluate(() => [...document.querySelectorAll("#nodes .e")].find((entry) => entry.getBoundingClientRect().top > 0).getBoundingClientRect().top);
      const before = await line();
      go(2);
      await seen(page, "Entry 119.");
      assert.ok(Math.abs((await line()) - before) < 2, "the reader's line stays");
      await page.waitForSelector("#follow:not([hidden])");
      assert.match(await text(page, "#follow"), /^30 new entries/);
      await page.click("#follow");
      await until("the end is in view by the button", endIsSeen);
      go(3);
      await seen(page, "Entry 2499.");
      await until("few elements are left", async () => (await page.locator("#nodes > .n").count()) <= 1500);
      go(4);
      await page.waitForSelector("#status[data-status=done]");
      await page.reload();
      assert.equal(await page.locator("#nodes > .n").count(), 500, "the newest");
      await page.click("#older a");
      await page.waitForFunction(() => document.querySelectorAll("#nodes > .n").length === 1000);
    });
    await visit(url, { javaScriptEnabled: false }, async (page) => {
      await page.goto(`${origin}/sessions/${id}`);
      await page.click("#older a");
      await page.waitForURL(/before=n-/);
      await page.locator("#log-file").waitFor();
      assert.match(await page.locator("#nodes").textContent(), /Entry 1800\./);
    });
  },

  async "a killed run shows what was captured, and no response"({ url, origin }) {
    const { id, child } = await run([init, reply("m-1", "Captured."), call("t-1", "sleep 9")], [outcome("Never.")]);
    await until("its log", () => readFileSync(join(sessions, `${id}.ndjson`), "utf8").includes("sleep 9"));
    await visit(url, {}, async (page) => {
      await page.goto(`${origin}/sessions/${id}`);
      await seen(page, "Captured.");
      child.kill("SIGKILL");
      await page.waitForSelector("#status[data-status=interrupted]");
      assert.equal(await page.locator("#response").count(), 0);
    });
  },

  async "profiles and themes are switched"({ url, origin }) {
    const { id, child } = await run([init, reply("m-1", "Looking."), call("t-1", "cargo test"), result("t-1", "fine"), "not json UNPARSED", outcome("Over.")]);
    await child.over;
    await visit(url, {}, async (page) => {
      await page.goto(`${origin}/sessions/${id}`);
      await seen(page, "UNPARSED");
      await page.click("#looks summary");
      await page.click("#looks a:text-is('claude-ops')");
      await page.waitForURL(/profile=claude-ops/);
      await page.locator("#log-file").waitFor();
      const lines = await page.locator("#nodes code").allInnerTexts();
      assert.ok(lines.includes('[tool] Bash: {"command":"cargo test"}'), lines.join("\n"));
      await page.goto(`${origin}/sessions/${id}`);
      const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const usual = await ground();
      await page.click("#looks summary");
      await page.click("#looks a:text-is('dark')");
      await page.waitForURL(/theme=dark/);
      assert.notEqual(await ground(), usual);
    });
  },

  async "pages look right and can be used by everybody"({ url, origin }) {
    const file = files[0];
    const { id, child } = await run(file ? readFileSync(file, "utf8").trimEnd().split("\n") : [init, reply("m-1", "Hi."), outcome("Hi.")]);
    await child.over;
    const live = await run([init, reply("m-1", "Looking."), call("t-1", "cargo test")], [outcome("Over.")]);
    for (const [name, options] of Object.entries({
      dark: { colorScheme: "dark" }, light: { colorScheme: "light" },
      phone: { colorScheme: "dark", viewport: { width: 390, height: 844 } },
    }))
      await visit(url, options, async (page) => {
        const look = async (what) => {
          await accessibility(page, `${what}, ${name}`);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `${what}, ${name}: ${wide} wider than the window`);
          assert.deepEqual(await foreign(page), []);
          if (screens) await page.screenshot({ path: join(screens, `${what}-${name}.png`) });
        };
        await look("list");
        await page.goto(`${origin}/sessions/${id}`);
        await look("done");
        await page.goto(`${origin}/sessions/${live.id}`);
        await seen(page, "cargo test");
        await look("running");
      });
    live.go(1);
    await live.child.over;
  },

  async "hostile recordings run nothing and make no element"({ url, origin }) {
    for (const file of files.slice(1)) {
      const { id, child } = await run(readFileSync(file, "latin1").trimEnd().split("\n").map((line) => Buffer.from(line, "latin1").toString()));
      await child.over;
      for (const profile of ["page", "full"])
        await visit(url, {}, async (page) => {
          await page.goto(`${origin}/sessions/${id}?profile=${profile}`);
          await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => fold.querySelector("summary")?.click()));
          assert.deepEqual(await foreign(page), [], `${basename(file)} in ${profile}`);
        });
    }
  },
};

try {
  const server = await serve();
  const only = process.env.ONLY;
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (only && !name.includes(only)) continue;
    try {
      await scenario(server);
    } catch (error) {
      error.message = `${name}: ${error.message}`;
      throw error;
    }
    console.log(`ok: ${name}`);
  }
  server.child.kill("SIGTERM");
  assert.equal(await server.child.over, 0, "serve ends with 0");
  console.log(`${checks} visits`);
} finally {
  await browser.close();
  for (const child of children) if (child.exitCode === null) child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}
