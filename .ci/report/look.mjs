// node look.mjs REPORT.html DIR
// Opens a report in a headless Chromium as a reader would: light, dark, 400 pixels wide,
// and printed. It must request only itself, run nothing, log nothing to the console, and
// fit the width. The pictures go to DIR. check.sh runs it.
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, dir] = process.argv.slice(2);
if (!dir) {
  console.error("usage: node look.mjs REPORT.html DIR");
  process.exit(2);
}
mkdirSync(dir, { recursive: true });
const page = pathToFileURL(resolve(file)).href;
const looks = [
  { name: "light", colorScheme: "light", viewport: { width: 1200, height: 900 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1200, height: 900 } },
  { name: "narrow", colorScheme: "light", viewport: { width: 400, height: 800 } },
  { name: "paper", colorScheme: "dark", viewport: { width: 800, height: 1100 }, print: true },
];

let wrong = 0;
function fail(look, text) {
  wrong++;
  console.error(`report: ${file}, ${look}: ${text}`);
}

// The appearance of a page, in figures. Scripts are off in the page itself.
const seen = () => ({
  width: document.documentElement.scrollWidth,
  plots: document.querySelectorAll("figure").length,
  drawn: [...document.querySelectorAll("svg")].filter((s) => s.getBoundingClientRect().height > 15).length,
  svgs: document.querySelectorAll("svg").length,
  paper: getComputedStyle(document.body).backgroundColor,
  active: document.querySelectorAll("script, iframe, object, embed, form, img, link, a[href]:not([href^='#']), [onload], [onclick], [onerror], [style]").length,
});

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"],
});
const papers = {};
try {
  for (const look of looks) {
    const tab = await browser.newPage({ colorScheme: look.colorScheme, viewport: look.viewport });
    const asked = [];
    tab.on("request", (r) => asked.push(r.url()));
    tab.on("console", (m) => fail(look.name, `the console says: ${m.text()}`));
    tab.on("pageerror", (e) => fail(look.name, String(e)));
    tab.on("dialog", (d) => fail(look.name, `it opens a dialog: ${d.message()}`));
    await tab.goto(page);
    if (look.print) await tab.emulateMedia({ media: "print" });
    await tab.screenshot({ path: join(dir, look.name + ".png"), fullPage: true });
    const now = await tab.evaluate(seen);
    papers[look.name] = now.paper;
    if (asked.length !== 1 || asked[0] !== page) fail(look.name, `it asks for ${asked.join(" ")}`);
    if (now.width > look.viewport.width) fail(look.name, `it is ${now.width} pixels wide`);
    if (now.plots < 11 || now.drawn !== now.svgs) fail(look.name, `${now.plots} plots, ${now.svgs} pictures, ${now.drawn} of them drawn`);
    if (now.active) fail(look.name, `${now.active} elements could ask for something, or run`);
    await tab.close();
  }
} finally {
  await browser.close();
}
if (papers.light === papers.dark) fail("dark", "it looks as in the light");
if (wrong) process.exit(1);
console.log(`report: ${file} asks for nothing but itself: ${looks.map((l) => l.name).join(", ")} in ${dir}`);
