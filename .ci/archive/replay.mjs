// node replay.mjs REPLAYWEBPAGE_DIR FILE.wacz URL TEXT SCREENSHOT.png
// Opens URL from a WACZ with ReplayWeb.page in a headless Chromium. TEXT must be
// shown, an image must be drawn, and a stylesheet must apply. Run by replay.sh.
import { join } from "node:path";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const [viewer, wacz, url, text, screenshot] = process.argv.slice(2);
if (!screenshot) {
  console.error("usage: replay.mjs REPLAYWEBPAGE_DIR FILE.wacz URL TEXT SCREENSHOT.png");
  process.exit(2);
}

const attribute = (s) => s.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
const page = `<!doctype html><html style="height:100%"><body style="height:100%;margin:0"><script src="/ui.js"></script>
<replay-web-page source="/archive.wacz" url="${attribute(url)}" replayBase="/replay/" embed="replayonly"></replay-web-page></body></html>`;

// The frame of the viewer requests a ui.js of its own.
const ui = join(viewer, "ui.js");
const files = { "/ui.js": ui, "/replay/ui.js": ui, "/replay/sw.js": join(viewer, "sw.js"), "/archive.wacz": wacz };

const server = await serve(files, { "/": () => page });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const shown = (seen) => seen.text && seen.image && seen.style;
const pause = () => new Promise((done) => setTimeout(done, 200));

// until calls what until it returns true, for at most so many seconds.
async function until(seconds, what) {
  for (const limit = Date.now() + seconds * 1000; Date.now() < limit; await pause()) if (await what()) return true;
  return false;
}

// ready reports whether the service worker serves /replay/: a frame that is loaded earlier
// stays empty.
const ready = (tab) =>
  tab
    .evaluate(async () => (await navigator.serviceWorker.getRegistration("/replay/"))?.active?.state === "activated")
    .catch(() => false);

// look returns what a frame shows: the replayed page is a frame of the viewer.
const look = (frame, text) =>
  frame
    .evaluate((text) => {
      const rules = (sheet) => {
        try {
          return sheet.cssRules.length;
        } catch {
          return 0;
        }
      };
      return {
        text: document.readyState === "complete" && document.body?.innerText.includes(text),
        image: [...document.images].some((i) => i.complete && i.naturalWidth > 0),
        style: [...document.styleSheets].some((s) => s.href && rules(s) > 0),
      };
    }, text)
    .catch(() => ({}));

let seen = {};
let worker = false;
let loads = 1;
try {
  const tab = await browser.newPage();
  tab.setDefaultTimeout(180_000);
  if (process.env.VERBOSE) tab.on("console", (m) => console.error("archive: browser: " + m.text()));
  await tab.goto(`http://localhost:${server.address().port}/`);
  const page = async () => {
    for (const frame of tab.frames()) {
      const now = await look(frame, text);
      if (now.text) seen = now;
    }
    return shown(seen);
  };
  worker = await until(180, () => ready(tab));
  if (!(await until(30, page))) {
    // The frame was loaded before the worker was ready.
    loads++;
    await tab.reload();
    await until(180, page);
  }
  await tab.screenshot({ path: screenshot });
} finally {
  await browser.close();
  server.close();
}
if (!shown(seen)) {
  console.error(`archive: ${url} of ${wacz}: text ${!!seen.text}, image ${!!seen.image}, stylesheet ${!!seen.style}, service worker ${worker}: see ${screenshot}`);
  process.exit(1);
}
console.log(`archive: ${url} is replayed with text, image and stylesheet${loads > 1 ? ", loaded twice" : ""}: ${screenshot}`);
