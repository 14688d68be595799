// The pictures of a page in the README, made from the sample, so that they stay true.
//
//   node screens.mjs PROGRAM             compares them with what the page looks like now
//   node screens.mjs PROGRAM --update    takes them anew
//
// The pictures are compared in rough squares: what moves, appears or is gone is seen, how a letter's edge is drawn isn't. Other
// fonts break lines elsewhere, so this needs DejaVu, which most distributions have. CHROMIUM=/path/to/chromium if it is not found.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const [program, option] = process.argv.slice(2);
if (!program || (option && option !== "--update")) throw new Error("usage: node screens.mjs PROGRAM [--update]");
const root = fileURLToPath(new URL("../..", import.meta.url));
const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = places.find((place) => place && existsSync(place));
if (!executablePath) throw new Error("no Chromium found; set CHROMIUM to its path");

const viewport = { width: 1180, height: 1080 };
/** Squares in a row of what is compared, and how far their mean and the worst of them may differ, of 255. */
const [squares, mean, worst] = [40, 3, 60];

/** The widths of a text of 100 px in DejaVu Sans and DejaVu Sans Mono. */
const fontWidths = [1519, 1806];

const folder = mkdtempSync(join(tmpdir(), "screens-"));
const page = join(folder, "shop.html");
const sample = join(root, "tests/samples/shop.jsonl");
const { status } = spawnSync(program, ["--to", "html", "-o", page, sample], { env: { ...process.env, TZ: "UTC" } });
assert.equal(status, 0, `${sample}: exit ${status}`);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const failed = [];

/** Whether the fonts are those that the pictures were taken with, by how wide they are. */
async function hasFonts() {
  const context = await browser.newContext();
  const tab = await context.newPage();
  const widths = await tab.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d");
    return ["system-ui", "ui-monospace, monospace"].map((family) => {
      context.font = `100px ${family}`;
      return Math.round(context.measureText("Fixed: totals are rounded once").width);
    });
  });
  await context.close();
  console.log(`widths of the fonts: ${widths.join(", ")}`);
  return widths.every((width, index) => Math.abs(width - fontWidths[index]) <= 8);
}

/** The page as a reader first sees it. */
async function screen(colorScheme) {
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: "UTC", locale: "en-US" });
  const tab = await context.newPage();
  await tab.goto(`file://${page}`);
  const picture = await tab.screenshot({ animations: "disabled" });
  await context.close();
  return picture;
}

/** How much two pictures differ: the mean and the worst of their squares. */
async function difference(before, now) {
  const context = await browser.newContext();
  const tab = await context.newPage();
  const answer = await tab.evaluate(
    async ([before, now, squares]) => {
      const shrunk = async (data) => {
        const image = new Image();
        image.src = `data:image/png;base64,${data}`;
        await image.decode();
        const canvas = document.createElement("canvas");
        canvas.width = squares;
        canvas.height = Math.round((squares * image.height) / image.width);
        const context = canvas.getContext("2d");
        context.imageSmoothingQuality = "high";
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        return context.getImageData(0, 0, canvas.width, canvas.height).data;
      };
      const [a, b] = [await shrunk(before), await shrunk(now)];
      if (a.length !== b.length) return { mean: 255, worst: 255 };
      const differences = Array.from(a, (value, index) => Math.abs(value - b[index]));
      return { mean: differences.reduce((sum, one) => sum + one) / differences.length, worst: Math.max(...differences) };
    },
    [before.toString("base64"), now.toString("base64"), squares],
  );
  await context.close();
  return answer;
}

if (!(await hasFonts())) {
  await browser.close();
  rmSync(folder, { recursive: true });
  if (option) throw new Error("pictures are taken with the fonts DejaVu Sans and DejaVu Sans Mono: install fonts-dejavu-core");
  console.log("skipped: pictures can be compared only where the fonts are DejaVu Sans and DejaVu Sans Mono");
  process.exit(0);
}
for (const scheme of ["light", "dark"]) {
  const name = `docs/screens/page-${scheme}.png`;
  const now = await screen(scheme);
  if (option) {
    mkdirSync(join(root, "docs/screens"), { recursive: true });
    writeFileSync(join(root, name), now);
    console.log(`${name}: taken`);
    continue;
  }
  const found = await difference(readFileSync(join(root, name)), now);
  console.log(`${name}: differs by ${found.mean.toFixed(2)}, at worst ${found.worst}`);
  if (found.mean > mean || found.worst > worst) failed.push(name);
}
await browser.close();
rmSync(folder, { recursive: true });
assert.deepEqual(failed, [], "these don't show the page as it is; to take them anew: node tests/browser/screens.mjs PROGRAM --update");
