// Opens pages that streamfmt wrote in headless Chromium, and uses them.
//
//   node pages.mjs PROGRAM FILE…      CHROMIUM=/path/to/chromium if it is not found
//
// Every page: no message on the console, no request to anywhere, nothing of a script of the stream's ran, no element of
// the stream's is there, and the HTML is valid (if Java is there). The first page also: folds, search, filters, keys,
// links, and what a checker of accessibility has to say, in light and dark, on a desktop and a phone.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
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

try {
  const pages = files.map(write);
  const [sample] = pages;
  await visit(sample, {}, use);
  for (const colorScheme of ["light", "dark"])
    for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 844 }])
      await visit(sample, { colorScheme, viewport, reducedMotion: "reduce" }, async (page) => {
        await accessibility(page, `${colorScheme}, ${viewport.width} wide`);
        await page.keyboard.press("e");
        await accessibility(page, `${colorScheme}, ${viewport.width} wide, unfolded`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${viewport.width} wide: ${over} too wide`);
      });
  await visit(sample, { javaScriptEnabled: false }, async (page) => {
    await page.locator("#activity summary").first().click();
    assert.ok((await page.locator("#tools").isHidden()) && (await page.locator("#answer").isVisible()), "without JavaScript");
  });
  for (const page of pages)
    await visit(page, {}, async (opened) => {
      await opened.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
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
