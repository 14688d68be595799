// Opens pages that streamfmt wrote in headless Chromium, and uses them.
//
//   node pages.mjs PROGRAM FILE…      CHROMIUM=/path/to/chromium if it is not found
//
// Every page: no message on the console, no request to anywhere, nothing of a script of the stream's ran, no element of
// the stream's is there, and the HTML is valid (if Java is there). The first page also: folds, search, filters, keys,
// links, printing, and what a checker of accessibility has to say, in light and dark, on a desktop and a phone.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const [program, ...files] = process.argv.slice(2);
if (!program || !files.length) throw new Error("usage: node pages.mjs PROGRAM FILE…");
const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = places.find((place) => place && existsSync(place));
if (!executablePath) throw new Error("no Chromium found; say where it is with CHROMIUM");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "pages-"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let checks = 0;

/** Writes the page of a recording; answers with its path. */
function write(file, number) {
  const page = join(folder, `${number}-${basename(file).replace(/\W/g, "_")}.html`);
  const { status } = spawnSync(program, ["--to", "html", "--profile", "full", "-o", page, file]);
  assert.equal(status, 0, `${file}: exit ${status}`);
  return page;
}

/** Opens a page and hands it to `use`; whatever it says on the console or asks of the network is an error. */
async function visit(path, options, use) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => (wrong.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) wrong.push(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.sfxss = (...given) => console.error("a script of the stream ran", ...given);
  });
  await page.goto(`file://${path}`);
  await use(page);
  await context.close();
  assert.deepEqual(wrong, [], path);
  checks += 1;
}

/** Elements that no page of ours has, or has once. */
async function foreign(page) {
  return page.evaluate(() => {
    const found = [];
    const never = "iframe, object, embed, base, form, link, video, audio, math, template, textarea, body script ~ script";
    for (const element of document.querySelectorAll(never)) found.push(element.outerHTML.slice(0, 80));
    if (document.scripts.length !== 1 || document.querySelectorAll("style").length !== 1) found.push("a script or a style");
    for (const element of document.querySelectorAll("*"))
      for (const { name, value } of element.attributes) {
        if (name.startsWith("on") || name === "style" || name === "srcdoc") found.push(`${element.localName} ${name}`);
        if (/^(href|src)$/.test(name) && !/^(#|https?:|mailto:|data:image\/(png|jpeg|gif|webp);base64,)/i.test(value))
          found.push(`${element.localName} ${name}=${value.slice(0, 40)}`);
      }
    return found;
  });
}

async function accessibility(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const told = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | ")}`);
  assert.deepEqual(told, [], where);
}

const shown = (page) => page.locator("#activity .e:visible").count();

/** Uses the page as a reader does. */
async function use(page) {
  const all = await page.locator("#activity .e").count();
  assert.ok(all > 5, "a page with some steps");
  const answer = await page.locator("#answer").boundingBox();
  const activity = await page.locator("#activity").boundingBox();
  assert.ok(answer.y < activity.y, "the answer is above the activity");
  assert.ok((await page.locator("#timeline rect").count()) > 5, "the timeline has bars");

  const fold = page.locator("#activity .e.call details").first();
  assert.equal(await fold.getAttribute("open"), null);
  await fold.locator("summary").first().click();
  assert.notEqual(await fold.getAttribute("open"), null, "a click unfolds");

  await page.keyboard.press("/");
  await page.keyboard.type("cargo");
  await page.waitForFunction(() => document.querySelector(".count").textContent.includes(" of "));
  const found = await shown(page);
  assert.ok(found > 0 && found < all, `search shows some: ${found} of ${all}`);
  await page.locator("#tools input").fill("no such words anywhere");
  await page.locator("#none").waitFor({ state: "visible" });
  await page.keyboard.press("Escape");
  await page.locator("#none").waitFor({ state: "hidden" });

  await page.locator("#tools .fail").click();
  assert.equal(await page.locator("#activity .e:visible:not(.failed)").count(), 0, "failures alone");
  await page.keyboard.press("Escape");
  await page.locator(".chips button", { hasText: /^Bash/ }).click();
  assert.equal(await page.locator("#activity .e:visible:not([data-tool=Bash])").count(), 0, "one tool alone");
  await page.keyboard.press("Escape");

  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("j");
  const first = await page.locator(".here").getAttribute("id");
  await page.keyboard.press("j");
  assert.notEqual(await page.locator(".here").getAttribute("id"), first, "j goes on");
  await page.keyboard.press("k");
  assert.equal(await page.locator(".here").getAttribute("id"), first, "k goes back");
  await page.keyboard.press("n");
  assert.ok(await page.locator(".here").evaluate((entry) => entry.classList.contains("failed")), "n goes to a failure");
  await page.keyboard.press("c");
  await page.keyboard.press("o");
  assert.notEqual(await page.locator(".here details").first().getAttribute("open"), null, "o unfolds");
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("Escape");

  const inside = page.locator("#activity .inside .e").last();
  if (await inside.count()) {
    await page.keyboard.press("c");
    const id = await inside.getAttribute("id");
    await page.evaluate((id) => (location.hash = id), id);
    await page.locator(`#${id}`).waitFor({ state: "visible" });
  }
}

/** A recording of many turns, with hidden words, pauses, agents and a hostile text in the folds of its calls. */
function long() {
  const line = (type, at, content, more = {}) => JSON.stringify({
    type, uuid: `u-${at}`, timestamp: new Date(Date.UTC(2026, 0, 31, 14) + at * 1000).toISOString(),
    sessionId: "s-1", cwd: "/home/dev/shop", version: "2.1.330", message: { role: type, ...(type === "assistant" ? { id: `m-${at}`, model: "claude-sonnet-4-5", type: "message", stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } } : {}), content }, ...more,
  });
  const bad = "</noscript></NOSCRIPT ><script>sfxss(1)</script><img src=x onerror=sfxss(2)><noscript></details>&lt;/noscript&gt;";
  const lines = [line("user", 0, "Look into every file.")];
  for (let at = 1; at <= 120; at += 1) {
    const id = `toolu_${String(at).padStart(4, "0")}`;
    const command = at === 90 ? `printf 'needle in a fold'` : `cat file-${at}`;
    // An hour goes by once.
    const when = at * 2 + (at > 60 ? 3600 : 0);
    lines.push(line("assistant", when, [{ type: "tool_use", id, name: "Bash", input: { command, description: `Look at file ${at}` } }]));
    const output = `${Array.from({ length: 30 }, (_, row) => `row ${row} of ${at}`).join("\n")}\n${at === 100 ? "needle in a result" : bad}`;
    lines.push(line("user", when + 1, [{ type: "tool_result", tool_use_id: id, content: output, is_error: at % 50 === 0 }]));
  }
  lines.push(line("assistant", 3900, [{ type: "text", text: `All were looked at.${"\n\nOne more word on them.".repeat(60)}` }]));
  const file = join(folder, "long.jsonl");
  writeFileSync(file, lines.join("\n") + "\n");
  return write(file, "long");
}

const unbuilt = (page) => page.locator("#activity noscript").count();

/** The entry is in the upper third of the window. */
async function inUpperThird(page, selector, what) {
  await page.waitForFunction((selector) => {
    const { top } = document.querySelector(selector).getBoundingClientRect();
    return top >= document.getElementById("tools").getBoundingClientRect().bottom && top <= innerHeight / 3 + 1;
  }, selector, { timeout: 5000 }).catch(() => assert.fail(`${what}: not in the upper third`));
}

/** Uses a page whose bodies are built when they are needed. */
async function useLong(path) {
  await visit(path, {}, async (page) => {
    const before = await unbuilt(page);
    const failed = await page.locator("#activity .e.call.failed").count();
    assert.ok(before >= 110, `bodies are built when they are needed: ${before}`);
    assert.equal(await page.locator("#activity .body:visible").count(), failed, "failures are unfolded, and nothing else");
    const fold = page.locator("#activity .e.call details").nth(3);
    await fold.locator("summary").click();
    await fold.locator(".result pre").waitFor({ state: "visible" });
    assert.equal(await unbuilt(page), before - 1, "a click builds one");
    assert.ok((await fold.locator(".result pre").textContent()).includes("</noscript></NOSCRIPT ><script>"), "a text stays a text");
    assert.deepEqual(await foreign(page), []);

    const words = page.locator("#tools input");
    await words.fill("needle in a");
    await page.waitForFunction(() => document.querySelector(".count").textContent.startsWith("2 of "));
    await page.locator("#activity pre", { hasText: "needle in a fold" }).first().waitFor({ state: "visible" });
    await page.waitForFunction(() => document.querySelector(".here").textContent.includes("needle in a fold"));
    assert.equal(await page.evaluate(() => location.hash), "#q=needle+in+a");
    const first = await page.locator(".here").getAttribute("id");
    await words.press("Enter");
    if ((await page.locator(".here").getAttribute("id")) === first) await words.press("Enter");
    assert.ok((await page.locator(".here").textContent()).includes("needle in a result"), "Enter goes on");
    await page.waitForFunction(() => {
      const found = [...CSS.highlights.get("hit")][0]?.getBoundingClientRect();
      const box = document.querySelector(".here .result pre").getBoundingClientRect();
      return found && found.top >= box.top && found.bottom <= Math.min(box.bottom, innerHeight);
    });
    await words.press("Escape");
    assert.equal(await page.evaluate(() => location.hash), "", "the address has no search anymore");

    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("c");
    for (const key of ["n", "j", "j", "k"]) {
      await page.keyboard.press(key);
      await inUpperThird(page, ".here", key);
    }
    const label = await page.locator("#tools .fail").first().textContent();
    const facts = await page.locator("#timeline .facts").textContent();
    assert.equal(label.match(/\d+/)[0], facts.match(/(\d+) failed/)[1], `${label} and ${facts} agree`);
    assert.ok((await page.locator("#timeline rect.pause").count()) > 0, "a long pause is marked");
    assert.ok((await page.locator("#timeline .legend").textContent()).includes("pause"));

    await page.keyboard.press("e");
    assert.ok((await unbuilt(page)) > 60, "what is out of sight waits");
    await page.waitForFunction(() => [...document.querySelectorAll("#activity .e.call details")]
      .filter((fold) => { const { top, bottom } = fold.getBoundingClientRect(); return bottom > 0 && top < innerHeight; })
      .every((fold) => fold.querySelector(".body")));
    await page.keyboard.press("c");
  });
  await visit(path, {}, async (page) => {
    const height = () => page.locator("#answer .reply").evaluate((reply) => reply.offsetHeight);
    const cut = await height();
    const { y } = await page.locator("#activity h2").boundingBox();
    assert.ok(cut < 450 && y < 900, `the activity begins on the first screen: the answer is ${cut} high, the activity at ${y}`);
    await page.locator("#answer button", { hasText: "Show all" }).click();
    assert.ok((await height()) > 2000, "the answer can be shown whole");
    await page.locator("#answer button", { hasText: "Show less" }).click();
    assert.equal(await height(), cut);
    await page.emulateMedia({ media: "print" });
    assert.ok((await height()) > 1200, "the answer is printed whole");
  });
  const before = readFileSync(path, "utf8").split("needle in a result")[0];
  const link = [...before.matchAll(/ class="result" id="(e-[0-9a-f]{16})"/g)].at(-1)[1];
  await visit(`${path}#${link}`, {}, async (page) => {
    await page.locator(`#${link}`).waitFor({ state: "visible" });
    assert.ok((await unbuilt(page)) > 60, "a link builds what it leads to");
  });
  await visit(`${path}#q=row+3+of+7&only=failed&tool=Bash`, {}, async (page) => {
    assert.equal(await page.locator("#tools input").inputValue(), "row 3 of 7");
    assert.equal(await page.locator("#tools .fail").first().getAttribute("aria-pressed"), "true");
    assert.equal(await page.locator(".chips button", { hasText: /^Bash/ }).getAttribute("aria-pressed"), "true");
    await page.locator("#none").waitFor({ state: "visible" });
    await page.locator("#tools .fail").first().click();
    assert.ok((await shown(page)) > 0);
    assert.equal(await page.evaluate(() => location.hash), "#q=row+3+of+7&tool=Bash");
    await page.evaluate(() => (location.hash = "q=row+3+of+9"));
    await page.waitForFunction(() => document.querySelector("#tools input").value === "row 3 of 9");
  });
  await visit(path, {}, async (page) => {
    const open = await page.locator("#activity .e.call details[open]").count();
    const seen = await page.evaluate(() => {
      dispatchEvent(new Event("beforeprint"));
      const built = [document.querySelectorAll("#activity noscript").length, document.querySelectorAll("#activity details:not([open])").length];
      dispatchEvent(new Event("afterprint"));
      return [...built, document.querySelectorAll("#activity .e.call details[open]").length];
    });
    assert.deepEqual(seen, [0, 0, open], "all is printed, and folded again");
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("#timeline").evaluate((it) => getComputedStyle(it).breakInside), "avoid");
  });
  await visit(path, { javaScriptEnabled: false }, async (page) => {
    assert.ok((await page.locator("#answer .reply").boundingBox()).height > 2000, "without JavaScript the answer is whole");
    const fold = page.locator("#activity .e.call details").nth(89);
    await fold.locator("summary").click();
    await fold.locator("pre", { hasText: "needle in a fold" }).waitFor({ state: "visible" });
  });
  await visit(path, { viewport: { width: 390, height: 844 } }, async (page) => {
    const call = page.locator("#activity .e.call").first();
    await call.scrollIntoViewIfNeeded();
    const { height } = await call.boundingBox();
    assert.ok(height < 45, `a call is one line on a phone: ${height}`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${over} too wide`);
  });
}

try {
  const pages = files.map(write);
  const [sample] = pages;
  await visit(sample, {}, use);
  const many = long();
  await useLong(many);
  pages.push(many);
  for (const colorScheme of ["light", "dark"])
    for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 844 }]) {
      await visit(many, { colorScheme, viewport, reducedMotion: "reduce" }, async (page) => {
        await accessibility(page, `a long answer: ${colorScheme}, ${viewport.width} wide`);
      });
      await visit(sample, { colorScheme, viewport, reducedMotion: "reduce" }, async (page) => {
        await accessibility(page, `${colorScheme}, ${viewport.width} wide`);
        await page.keyboard.press("e");
        await accessibility(page, `${colorScheme}, ${viewport.width} wide, unfolded`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${viewport.width} wide: ${over} too wide`);
      });
    }
  await visit(sample, { javaScriptEnabled: false }, async (page) => {
    await page.locator("#activity summary").first().click();
    assert.ok((await page.locator("#tools").isHidden()) && (await page.locator("#answer").isVisible()), "without JavaScript");
  });
  for (const page of pages)
    await visit(page, {}, async (opened) => {
      await opened.evaluate(() => {
        document.querySelectorAll("details").forEach((details) => (details.open = true));
        dispatchEvent(new Event("beforeprint"));
      });
      assert.equal(await unbuilt(opened), 0, `all is built: ${page}`);
      assert.deepEqual(await foreign(opened), [], page);
    });
  let validity = "not checked, there is no Java";
  if (spawnSync("java", ["-version"]).status === 0) {
    // The checker doesn't know how marked words are styled yet.
    const filter = "CSS: Parse Error.";
    const arguments_ = ["-jar", require.resolve("vnu-jar/build/dist/vnu.jar"), "--errors-only", "--filterpattern", `.*${filter}.*`];
    for (let at = 0; at < pages.length; at += 100)
      execFileSync("java", [...arguments_, ...pages.slice(at, at + 100)], { stdio: "inherit" });
    validity = "valid";
  }
  console.log(`${pages.length} pages opened in ${checks} visits; HTML ${validity}`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
