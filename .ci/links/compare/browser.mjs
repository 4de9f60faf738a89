// node browser.mjs ROOT <NAMES
// Opens each of the HTML files whose names it reads in a headless Chromium, with
// scripts and without, and prints what it finds, one a line: the file, "scripts" or
// "plain", where, and the URL, with tabs between. Navigation is document.links once the
// page is loaded, and the documents of its frames. Requisites are the requests of the
// browser: of the page itself ("page"), of one of its style sheets ("sheet") or of a
// script ("script"). The files, all below ROOT, are served as docs.test; no other host
// exists. Of a page that redirects itself ("refresh") only the target is printed.
import { createReadStream, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";
import { chromium } from "playwright-core";

const types = {
  ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".png": "image/png", ".gif": "image/gif",
  ".jpg": "image/jpeg", ".svg": "image/svg+xml", ".json": "application/json", ".woff": "font/woff", ".woff2": "font/woff2",
};
const site = "http://docs.test";
const names = readFileSync(0, "utf8").split("\n").filter(Boolean);
const root = process.argv[2];

const server = createServer((req, res) => {
  const path = decodeURIComponent(new URL(req.url, site).pathname);
  let file;
  try {
    file = path.startsWith(root + "/") && !path.includes("/../") && statSync(path).isFile();
  } catch {}
  if (!file) return res.writeHead(404).end();
  res.setHeader("Content-Type", types[extname(path)] ?? (/\.html?(\.[a-z][a-z])?$/.test(path) ? "text/html" : "application/octet-stream"));
  createReadStream(path).pipe(res);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", `--host-resolver-rules=MAP docs.test 127.0.0.1:${server.address().port}, MAP * ~NOTFOUND`],
});
console.error(`Chromium ${browser.version()}`);

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// origin returns what caused a request, or nothing for the browser itself.
function origin({ initiator, documentURL, type }, url, own) {
  if (initiator.type === "script") return type === "Document" ? "links-by-script" : "script";
  if (type === "Document") return own ? "refresh" : "frame";
  if (initiator.url && initiator.url.split("#")[0] !== documentURL.split("#")[0]) return "sheet";
  return initiator.type === "other" && url.endsWith("/favicon.ico") ? "favicon" : "page";
}

async function open(context, mode, name) {
  const url = site + name.split("/").map(encodeURIComponent).join("/");
  const tab = await context.newPage();
  const session = await context.newCDPSession(tab);
  const found = new Set();
  let main, moved;
  await session.send("Network.enable");
  session.on("Network.requestWillBeSent", (event) => {
    if (event.request.url.startsWith("data:") || event.request.url.startsWith("blob:")) return;
    if (!main) return void (main = event.frameId); // the page itself
    const own = event.frameId === main;
    // A request of a frame belongs to the document that the frame shows.
    if (!own && event.type !== "Document") return;
    if (own && event.type === "Document") moved = true;
    else if (moved) return; // this request belongs to the next page
    found.add(`${origin(event, event.request.url, own)}\t${event.request.url}`);
  });
  try {
    await tab.goto(url, { waitUntil: "load", timeout: 20_000 });
    await pause(200);
    // A page that redirects meanwhile may never answer.
    const all = () => [...document.links].map((l) => String(l.href));
    const links = moved ? [] : await Promise.race([tab.evaluate(all), pause(10_000).then(() => Promise.reject(new Error("no answer")))]);
    if (!moved) for (const href of links) found.add(`links\t${href}`);
  } catch (err) {
    if (!moved) console.error(`browser.mjs: ${name} (${mode}) is left out: ${err.message.split("\n")[0]}`);
    if (!moved) found.clear();
    if (!moved) found.add("failed\t-");
  }
  await tab.close();
  for (const line of found) console.log(`${name}\t${mode}\t${line.replaceAll(/[\r\n]/g, " ")}`);
  if (!found.size) console.log(`${name}\t${mode}\tnone\t-`);
}

for (const mode of ["scripts", "plain"]) {
  const context = await browser.newContext({ javaScriptEnabled: mode === "scripts" });
  for (const name of names) await open(context, mode, name);
  await context.close();
}
await browser.close();
server.close();
