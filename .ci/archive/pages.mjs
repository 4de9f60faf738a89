// node pages.mjs live PORT URLS DIR
// node pages.mjs replay REPLAYWEBPAGE_DIR FILE.wacz URLS DIR
// Opens each of the pages in URLS, one to a line, in a headless Chromium: first as the
// server on PORT shows them, then as ReplayWeb.page replays them from a WACZ, while no
// other host can be reached. A live request that fails in the replay, or is not made any
// more, is a hole: "missing" or "not asked for"; "new" is a failed request that only the
// replay makes. A line of URLS may have, after a tab and separated by commas, other ways
// to open the page (see ways), and "shot" to compare the pictures of both. Lines of
// DIR/explained.txt are regular expressions that match the reports of known holes;
// DIR/archived.txt has the URLs in the archive. Run by pages.sh.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const [mode, ...args] = process.argv.slice(2);
const [list, dir] = args.slice(-2);
const results = join(dir, "live.json");
const lines = (name) => readFileSync(join(dir, name), "utf8").split("\n").filter((l) => l && !l.startsWith("#"));
const explained = lines("explained.txt").map((l) => new RegExp(l));
const archived = new Set(lines("archived.txt"));

const ways = {
  plain: {},
  dense: { density: 2 },
  narrow: { width: 400 },
  dark: { scheme: "dark" },
  printed: { media: "print" },
  scriptless: { scripts: false },
};

const visits = readFileSync(list, "utf8").split("\n").filter(Boolean).flatMap((line) => {
  const [url, words = ""] = line.split("\t");
  const named = words.split(",").filter(Boolean);
  const shot = named.includes("shot");
  return ["plain", ...named.filter((n) => n !== "shot")].map((way) => ({ url, way, shot }));
});

const rules = mode === "live" ? `MAP * 127.0.0.1:${args[0]}` : "MAP * ~NOTFOUND, EXCLUDE localhost";
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", `--host-resolver-rules=${rules}`],
});
const context = await browser.newContext({ viewport: null }); // session sets it
context.setDefaultTimeout(60_000);

const server = mode === "replay" ? await serveReplay(args[0], args[1]) : null;
const home = server && `http://localhost:${server.address().port}/`;
const tab = await context.newPage();
const session = await context.newCDPSession(tab);
if (server) {
  // The service worker reads the archive.
  await tab.goto(home);
  await tab.evaluate("opened");
}
// Each page requests its requisites again, without a cache.
await session.send("Network.enable");
await session.send("Network.setCacheDisabled", { cacheDisabled: true });

// serveReplay serves the files of the replay.
function serveReplay(viewer, wacz) {
  const page = `<!doctype html><script>
    const ready = navigator.serviceWorker.register("/sw.js", { scope: "/" }).then(() => navigator.serviceWorker.ready);
    const added = new Promise((done) => navigator.serviceWorker.addEventListener("message", (e) => {
      if (e.data.msg_type === "collAdded") done(e.data.name);
    }));
    const opened = ready.then((r) => {
      r.active.postMessage({ msg_type: "addColl", name: "crawl", file: { sourceUrl: new URL("/archive.wacz", location).href } });
      return added;
    });
    </script>`;
  // A replayed page outside of a frame opens the viewer.
  const frame = (query) => `<!doctype html><body style="margin: 0"><iframe style="display: block; border: 0; width: 100vw; height: 100vh"
    src="/w/crawl/mp_/${decodeURIComponent(query).replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"></iframe>`;
  return serve({ "/sw.js": join(viewer, "sw.js"), "/archive.wacz": wacz }, { "/": () => page, "/frame": frame });
}

// original returns the archived URL of a request in the replay, or null for a request of
// the replay itself.
function original(url) {
  if (/^(data|blob|about):/.test(url)) return null;
  if (!server) return url;
  if (!url.startsWith(home)) return url; // a request to another place
  const path = url.slice(home.length);
  const archived = /^w\/crawl\/(?::[0-9a-f]+\/)?\d*[a-z]+_\/(.*)$/.exec(path);
  if (!archived) return path.startsWith("w/") ? url : null;
  return archived[1].replace(/^\/\//, "http://");
}

const bare = (url) => url.replace(/#.*/, "");

// traffic records the requests of the tab.
function traffic() {
  const asked = new Map(); // original URL: its result
  const busy = new Set();
  const begin = (r) => busy.add(r);
  const end = (request, state) => {
    busy.delete(request);
    const url = original(request.url());
    if (url === null || asked.get(bare(url))?.ok) return;
    asked.set(bare(url), { state, ok: state === "done", type: request.resourceType() });
  };
  const finished = async (r) => {
    const status = (await r.response().catch(() => null))?.status() ?? 0;
    end(r, status > 0 && status < 400 ? "done" : String(status));
  };
  const failed = (r) => end(r, r.failure()?.errorText ?? "failed");
  const events = { request: begin, requestfinished: finished, requestfailed: failed };
  for (const [name, listener] of Object.entries(events)) tab.on(name, listener);
  const stop = () => {
    for (const [name, listener] of Object.entries(events)) tab.off(name, listener);
  };
  return { asked, busy, stop };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// quiet waits until there was no request for a moment, and some seconds longer for expected
// ones: on a busy machine moments are longer.
async function quiet({ asked, busy }, expected) {
  let calm = 0;
  const limit = Date.now() + 20_000;
  for (; calm < 3 && Date.now() < limit; await pause(30)) calm = busy.size > 0 ? 0 : calm + 1;
  for (const late = Date.now() + 5_000; Date.now() < late && expected.some((url) => !asked.has(url)); await pause(30));
  if (expected.length > 0 && calm === 3) await quiet({ asked, busy }, []);
}

// scroll scrolls down the page and up again, as a reader does.
const scroll = (frame) =>
  frame.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const height = document.documentElement.scrollHeight;
    for (let at = 0; at < height; at += Math.max(innerHeight, height / 20)) {
      scrollTo(0, at);
      await frame();
    }
    scrollTo(0, height);
    await frame();
    await frame();
    scrollTo(0, 0);
    await frame();
  });

// visit opens a page and returns its requests.
async function visit({ url, way, shot }, name, expected) {
  const { density = 1, width = 1000, scheme = "light", media = "screen", scripts = true } = ways[way];
  await tab.goto("about:blank");
  await session.send("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: density, mobile: false });
  await session.send("Emulation.setScriptExecutionDisabled", { value: !scripts });
  await tab.emulateMedia({ colorScheme: scheme, media });
  const seen = traffic();
  await tab.goto(server ? `${home}frame?${encodeURIComponent(url)}` : url, { waitUntil: "load" });
  if (scripts) await scroll(server ? tab.frames()[1] : tab.mainFrame());
  await quiet(seen, expected);
  let file = null;
  if (shot) {
    file = join(dir, `${name}.${mode}.png`);
    const { data } = await session.send("Page.captureScreenshot", { format: "png" });
    writeFileSync(file, Buffer.from(data, "base64"));
  }
  seen.stop();
  return { url, way, asked: Object.fromEntries(seen.asked), file };
}

// difference returns the share of pixels that differ between two pictures.
async function difference(a, b) {
  const pictures = [a, b].map((file) => "data:image/png;base64," + readFileSync(file).toString("base64"));
  return tab.evaluate(async (pictures) => {
    const [one, other] = await Promise.all(pictures.map(async (url) => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
      const pen = canvas.getContext("2d");
      pen.drawImage(image, 0, 0);
      return pen.getImageData(0, 0, canvas.width, canvas.height);
    }));
    if (one.width !== other.width || one.height !== other.height) return 1;
    let differ = 0;
    for (let i = 0; i < one.data.length; i += 4)
      if ([0, 1, 2].some((c) => Math.abs(one.data[i + c] - other.data[i + c]) > 8)) differ++;
    return differ / (one.width * one.height);
  }, pictures);
}

// holes returns what a replayed page lacks of what the live one was shown with.
function holes(live, replayed) {
  const found = [];
  for (const [url, { state, type }] of Object.entries(replayed.asked)) {
    const before = live.asked[url];
    if (state === "done" || before && !before.ok) continue;
    found.push([before ? "missing" : "new", url, `${type} ${state}`]);
  }
  for (const [url, { ok, type }] of Object.entries(live.asked))
    if (ok && !replayed.asked[url]) found.push(["not asked for", url, type]);
  return found;
}

// hole returns the text about one hole: its kind and its URL.
const hole = (kind, url) => `${archived.has(url) ? "archived, but " : ""}${kind}: ${url}`;
const isExplained = (text) => explained.some((e) => e.test(text));

// compare reports the holes of all pages, and returns how many are not explained.
async function compare(lives, replays) {
  await session.send("Emulation.setScriptExecutionDisabled", { value: false });
  await tab.goto(home);
  const kinds = new Map();
  let worst = 0;
  let [shots, different, unexplained] = [0, 0, 0];
  for (const [i, replayed] of replays.entries()) {
    for (const [kind, url, what] of holes(lives[i], replayed)) {
      const text = hole(kind, url);
      if (!isExplained(text)) unexplained++;
      const key = `${isExplained(text) ? "explained" : "HOLE"}: ${text} (${what})`;
      kinds.set(key, [...(kinds.get(key) ?? []), `${replayed.url} ${replayed.way}`]);
    }
    if (!replayed.file) continue;
    const part = await difference(lives[i].file, replayed.file);
    shots++;
    worst = Math.max(worst, part);
    if (part > 0) console.log(`pages: ${replayed.url} ${replayed.way}: ${(part * 100).toFixed(3)} % of the pixels differ`);
    if (part > 0.001 && !isExplained(`differs: ${replayed.url}`)) different++;
  }
  for (const [key, on] of kinds) console.log(`pages: ${key}: ${on.length} times, first on ${on[0]}`);
  const requests = (all) => all.reduce((n, p) => n + Object.keys(p.asked).length, 0);
  const urls = new Set(replays.map((r) => r.url));
  console.log(`pages: ${urls.size} pages, opened ${replays.length} times; ${requests(lives)} requests live, ${requests(replays)} in the replay; ` +
    `${unexplained} holes, ${[...kinds].filter(([k]) => k.startsWith("explained")).reduce((n, [, on]) => n + on.length, 0)} explained; ` +
    `${shots} pictures compared, ${different} differ, at most ${(worst * 100).toFixed(3)} % of the pixels`);
  return unexplained + different;
}

let wrong = 0;
try {
  const seen = [];
  const lives = server ? JSON.parse(readFileSync(results, "utf8")) : [];
  for (const [i, v] of visits.entries()) {
    const shown = Object.entries(lives[i]?.asked ?? {}).filter(([url, { ok }]) => ok && !isExplained(hole("not asked for", url)));
    seen.push(await visit(v, i, shown.map(([url]) => url)));
  }
  if (server) wrong = await compare(lives, seen);
  else writeFileSync(results, JSON.stringify(seen));
} finally {
  await browser.close();
  server?.close();
}
if (wrong > 0) {
  console.error(`pages: ${wrong} holes and pictures that differ`);
  process.exit(1);
}
