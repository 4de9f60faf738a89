// node check.mjs CRAWL DIR
// Drives the pages of crawl serve in a headless Chromium: a crawl of hostile sites that runs, a
// series, lists and explanations. Pages must load nothing from elsewhere, run nothing of a
// site, follow the crawl, change it with the token alone, work by keyboard, without scripts and
// on a phone, and have no violation of axe's rules. The pictures go to DIR. check.sh runs it.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const [crawl, dir] = process.argv.slice(2);
if (!dir) {
  console.error("usage: node check.mjs CRAWL DIR");
  process.exit(2);
}
mkdirSync(dir, { recursive: true });
process.chdir(dir);
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const hostile = `<img src=x onerror=alert(1)>"'</script>\u202e`;
const env = { ...process.env, CRAWL_NAME: "testbot", CRAWL_CONTACT: "me@example.org", XDG_CONFIG_HOME: join(dir, "config"), HOME: dir };
const children = [];
const ends = [];

// listen serves a handler on a free port, and returns the port.
function listen(handler) {
  const server = createServer(handler);
  ends.push(() => server.closeAllConnections());
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address().port)));
}

// start starts a command, and returns the match of a pattern in what it prints.
function start(pattern, ...args) {
  const child = spawn(crawl, args, { env });
  children.push(child);
  return new Promise((done, fail) => {
    let text = "";
    const take = (part) => {
      const match = pattern.exec((text += part));
      if (match) done({ child, match });
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("exit", (code) => fail(new Error(`crawl ${args.join(" ")} has ended (${code}): ${text}`)));
  });
}

// until waits until a condition is true. The condition may fail meanwhile.
async function until(what, condition) {
  let last;
  for (const end = Date.now() + 60000; Date.now() < end; await new Promise((next) => setTimeout(next, 100))) {
    try {
      if (await condition()) return;
    } catch (error) {
      last = error;
    }
  }
  assert.fail(`in vain: ${what}${last ? `: ${last}` : ""}`);
}

const state = (of) => JSON.parse(execFileSync(crawl, ["status", "--json", of], { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }));

// The web: thirty sites, whose texts could harm a reader. Each page leads to more pages.
const web = await listen((req, res) => {
  const site = Number(/\d+/.exec(req.headers.host)?.[0] ?? 0);
  const page = Number(/\d+/.exec(req.url)?.[0] ?? 0);
  if (req.url === "/robots.txt") {
    res.end(site % 3 ? `User-agent: *\nDisallow: /private\nCrawl-delay: ${[0.5, 1, 2][site % 3]}\n` : "User-agent: *\nDisallow: /private\n");
    return;
  }
  const code = { 5: 404, 7: 500, 8: 410 }[(site + page) % 11] ?? 200;
  setTimeout(() => {
    res.writeHead(code, { "Content-Type": site === 1 ? `text/html;${hostile.replace(/[^\x20-\x7e]/g, "")}` : "text/html" });
    const links = [1, 2, 3].map((n) => `<a href="/${3 * page + n}?q=${encodeURIComponent(hostile)}">x</a>`);
    res.end(`<title>${hostile}</title>${links.join("")}<a href="/private/${page}?${hostile}">y</a><a href="/'onmouseover=alert(1)">z</a>`);
  }, 5 * site);
});
const seeds = Array.from({ length: 30 }, (_, i) => `http://h${i}.test/1`);
writeFileSync("seeds.txt", seeds.join("\n") + "\n");
const usual = ["--allow-private", "--connect-to", `::127.0.0.1:${web}`, "--delay", "200ms", "--progress", "none"];

// A series with two snapshots and a missed run.
mkdirSync("weekly", { recursive: true });
writeFileSync("weekly/job.yaml", `seeds: [http://h0.test/1, http://h3.test/1]\nschedule: {every: "0 3 * * MON", zone: UTC}\n`);
for (const due of ["2026-05-04T03:00:00Z", "2026-05-11T03:00:00Z"]) {
  await promisify(execFile)(crawl, ["run", "--job", "weekly/job.yaml", "--series", "weekly", "--due", due, "--limit", "8", ...usual], { env });
}
writeFileSync("weekly/missed.jsonl", `{"due":"2026-05-18T03:00:00Z","why":"off","noted":"2026-05-19T03:00:00Z"}\n`);

const name = `news<img src=x onerror=alert(1)>.crawl`;
const run = await start(/figures at (http:\S+)/, "run", "--dir", name, "--metrics", "127.0.0.1:0", "--max-time", "2m", ...usual, "seeds.txt");
writeFileSync("metrics", run.match[1] + "\n");
await until("the crawl has begun", () => state(name).run.pages > 20);
const { match } = await start(/(http:\/\/\S+?)#token=(\w+)/, "serve", "--listen", "0", name, "weekly");
const [, home, token] = match;
const at = `${home}crawl/${encodeURIComponent(name)}/`;
writeFileSync("address", home + "\n");

let wrong = 0;
const began = Date.now();
const step = (what) => console.log(`serve: ${((Date.now() - began) / 1000).toFixed(1)} s: ${what}`);
const fail = (text) => {
  wrong++;
  console.error(`serve: ${text}`);
};
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
ends.push(() => browser.close());

// open opens a page in a new context, which fails if the page loads something from elsewhere,
// runs something of a site, or complains.
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const tab = await context.newPage();
  tab.on("request", (r) => r.url().startsWith(home) || fail(`${url} asks for ${r.url()}`));
  tab.on("console", (m) => /status of 4\d\d/.test(m.text()) || fail(`${url}: the console says: ${m.text()}`));
  tab.on("pageerror", (e) => fail(`${url}: ${e}`));
  tab.on("dialog", (d) => fail(`${url} opens a dialog: ${d.message()}`));
  await tab.goto(url);
  return tab;
}

// look judges a page as it is, by axe and by its looks.
async function look(tab, picture, fullPage = true) {
  const seen = await tab.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    view: window.innerWidth,
    drawn: [...document.querySelectorAll("svg")].every((s) => s.getBoundingClientRect().height > 15),
    active: [...document.querySelectorAll("iframe, object, embed, img, [onload], [onclick], [onerror], [onmouseover], [style]:not([style='']), script:not([src='/page.js']), a[href^='javascript:']")].map((e) => e.outerHTML.slice(0, 200)),
  }));
  await tab.screenshot({ path: `${picture}.png`, fullPage });
  if (seen.width > seen.view) fail(`${picture}: it is ${seen.width} pixels wide, of ${seen.view}`);
  if (!seen.drawn) fail(`${picture}: a picture is not drawn`);
  for (const element of seen.active) fail(`${picture}: it could load or run something: ${element}`);
}

async function judge(tab, picture, rules) {
  await tab.evaluate(axe);
  const { violations, passes } = await tab.evaluate((rules) => axe.run({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) }), rules);
  if (passes.length < (rules?.length ?? 15)) fail(`${picture}: axe has only ${passes.length} rules to judge`);
  for (const v of violations) fail(`${picture}: axe: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html).join(" ")}`);
}

// figure returns the value of a figure at the top of a page.
const figure = (tab, of) => tab.locator(".figures div", { has: tab.locator(`dt:text-is("${of}")`) }).locator("dd").first().innerText().then((t) => Number(t.split("\n")[0].replace(/[^\d.]/g, "")));

try {
  // Load, follow the crawl, and look at it.
  step("load");
  const tab = await open(`${at}#token=${token}`);
  assert.equal(await tab.evaluate(() => location.hash), "", "the token stays in the address");
  await until("the page is live", async () => (await tab.locator("#live-state").innerText()) === "live");
  const before = await figure(tab, "requests");
  assert.ok(before > 0, "no requests");
  await tab.evaluate(() => (window.same = true));
  await until("the figures follow", async () => (await figure(tab, "requests")) > before + 5);
  assert.ok(await tab.evaluate(() => window.same), "it was loaded again");
  await until("all parts are there", async () => (await tab.locator("svg").count()) >= 10);
  assert.ok((await tab.locator("h1").innerText()).includes(name), "the name of the crawl is not shown");
  assert.ok((await tab.locator("#plot-types").innerText()) !== "", "no media types");
  await look(tab, "light");
  for (const [picture, options] of [["dark", { colorScheme: "dark" }], ["phone", { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }]]) {
    const other = await open(at, options);
    await look(other, picture);
    await other.context().close();
  }

  // Held still, it does not change.
  step("held still");
  await tab.locator("#hold").press("Space");
  const held = await tab.locator("main").innerHTML();
  await tab.waitForEvent("websocket", { timeout: 3000 }).catch(() => {}); // it has none: this waits
  assert.equal(await tab.locator("main").innerHTML(), held, "it changes although it is held");
  await tab.locator("#hold").press("Space");

  // Pause and resume by keyboard alone.
  step("pause and resume by keyboard alone");
  await tab.locator("body").press("Tab");
  const focused = () => tab.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  for (const goal of ["Pause it, slow it down, or exclude a site", "pause-reason"]) {
    for (let n = 0; (await focused()) !== goal; n++) {
      assert.ok(n < 60, `the keyboard does not reach the forms: ${await focused()}`);
      await tab.keyboard.press("Tab");
    }
    if (goal !== "pause-reason") await tab.keyboard.press("Enter");
  }
  await tab.keyboard.type(`to look ${hostile}`);
  await tab.keyboard.press("Enter");
  await until("it is paused", () => state(name).state === "paused");
  await until("the page says so", async () => (await tab.locator("#said").innerText()).startsWith("Paused") && (await tab.locator(".pill").first().innerText()) === "paused");
  await until("the order is shown", async () => (await tab.locator("#words ~ div").innerText()).includes("pause: to look <img src=x onerror=alert(1)>"));
  await look(tab, "paused");
  await tab.locator("button:text-is('Resume')").focus();
  await tab.keyboard.press("Enter");
  await until("it goes on", () => state(name).state === "running");

  // A pause for one site; a shorter one is refused; a site is excluded.
  step("a pause for one site; a shorter one is refused; a site is excluded");
  await tab.fill("#slow-of", "http://h0.test");
  await tab.fill("#slow-delay", "30s");
  await tab.locator("button:text-is('Slow down')").click();
  await until("it is slower", () => state(name).orders.some((o) => o.do === "slow" && o.what === "30s"));
  await tab.fill("#slow-delay", "1ms");
  await tab.locator("button:text-is('Slow down')").click();
  await until("a shorter pause is refused", async () => /refused it: .*shorter/.test(await tab.locator("#said").innerText()));
  await tab.fill("#exclude-of", "h2.test");
  await tab.fill("#exclude-reason", "a mail");
  await tab.locator("button:text-is('Exclude')").click();
  await until("it is excluded", () => state(name).sites.excluded === 1);

  // Each figure leads to its list, and each URL to its explanation.
  step("each figure leads to its list");
  await tab.locator(".figures a[href='list?fate=fetched']").click();
  await until("the list", async () => (await tab.locator("tbody tr").count()) > 0);
  await look(tab, "list", false);
  await tab.locator("tbody th a").first().click();
  await until("the explanation", async () => /fate\s+fetched/.test(await tab.locator("dl.lines").innerText()));
  await look(tab, "explain");
  await tab.goto(`${at}explain?url=${encodeURIComponent(`http://h0.test/private/1?${hostile.split('"')[0]}`)}`);
  assert.match(await tab.locator("dl.lines").innerText(), /refused by robots.txt/);
  await tab.context().close();

  // Without the token nothing changes; a wrong one is named, and forgotten.
  step("without the token nothing changes; a wrong one is named");
  const stranger = await open(`${at}#token=wrong`);
  await stranger.locator("#steer > summary").click();
  await stranger.locator("button:text-is('Pause')").click();
  await until("the refusal", async () => (await stranger.locator("#said").innerText()).startsWith("The token is missing"));
  assert.ok(await stranger.locator("#pause-token").isVisible(), "the token cannot be entered");
  await stranger.context().close();

  // A page of another origin: it can neither change nor read anything.
  step("a page of another origin");
  const other = await listen((_, res) => res.writeHead(200, { "Content-Type": "text/html" }).end("<title>x</title>"));
  const bad = await browser.newContext();
  const page = await bad.newPage();
  await page.goto(`http://127.0.0.1:${other}/`);
  const tried = await page.evaluate(async ([at, token]) => {
    const answers = [];
    for (const [path, options] of [["pause", { method: "POST", body: new URLSearchParams({ token }) }], ["pause", { method: "POST", mode: "no-cors", body: new URLSearchParams({ token }) }], ["live", {}], ["", {}]]) {
      answers.push(await fetch(at + path, options).then((r) => r.type + r.status, () => "failed"));
    }
    return answers;
  }, [at, token]);
  assert.deepEqual(tried, ["failed", "failed", "failed", "failed"]);
  await page.evaluate(([at, token]) => {
    document.body.innerHTML = `<form method="post" action="${at}pause"><input name="token" value="${token}"></form>`;
    document.forms[0].submit();
  }, [at, token]);
  await page.waitForURL(`${at}pause`);
  assert.match(await page.locator("main").innerText(), /comes from a page of another origin, and nothing was changed/);
  await bad.close();
  assert.equal(state(name).state, "running");

  // By another name of the machine (DNS rebinding), and without a browser.
  step("by another name of the machine (dns rebinding)");
  const raw = (headers, method = "GET", path = "") => new Promise((done) => request(at + path, { method, headers }, (res) => done(res.statusCode)).end());
  assert.equal(await raw({ Host: "evil.test" }), 421);
  assert.equal(await raw({ Host: "localhost:1" }), 200);
  assert.equal(await raw({ Origin: "http://evil.test" }, "POST", "pause"), 403);
  assert.equal(await raw({}, "POST", "pause"), 403);

  // A thousand readers that read nothing do not matter to others.
  step("a thousand readers that read nothing");
  const slow = [];
  for (let i = 0; i < 1000; i++) {
    const socket = connect(new URL(home).port, "127.0.0.1", () => socket.write(`GET ${new URL(at).pathname}live?layout=running HTTP/1.1\r\nHost: localhost\r\n\r\n`));
    socket.pause();
    socket.on("error", () => {});
    slow.push(socket);
  }
  const quick = await open(at);
  const then = await figure(quick, "requests");
  await until("the figures follow beside slow readers", async () => (await figure(quick, "requests")) > then + 5);
  for (const socket of slow) socket.destroy();
  await quick.context().close();

  // Without scripts it is a page, too, and its forms work.
  step("without scripts it is a page");
  const still = await open(at, { javaScriptEnabled: false });
  assert.ok((await still.locator("svg").count()) >= 10, "no pictures without scripts");
  assert.ok((await figure(still, "requests")) > 0);
  await still.locator("#steer > summary").click();
  await still.fill("#pause-token", token);
  await still.locator("button:text-is('Pause')").click();
  await until("it is paused without scripts", () => state(name).state === "paused");
  assert.equal(still.url(), at);
  await still.locator("#steer > summary").click();
  await still.fill("#pause-token", token);
  await still.locator("button:text-is('Resume')").click();
  await until("it goes on without scripts", () => state(name).state === "running");
  await still.context().close();

  // Accessibility of every kind of page, in both colour schemes. The policy of the pages keeps
  step("accessibility of every kind of page");
  // axe out, so it is off here.
  const snapshot = `${home}series/weekly/20260511T030000Z.crawl/`;
  const kinds = { crawl: at, overview: home, series: `${home}series/weekly/`, ended: snapshot, listed: `${snapshot}list`, explained: `${at}explain?url=http://h0.test/1`, report: `${snapshot}report`, missing: `${home}crawl/none/` };
  for (const colorScheme of ["light", "dark"]) {
    for (const [kind, url] of Object.entries(kinds)) {
      if (colorScheme === "dark" && !["crawl", "series", "ended", "listed"].includes(kind)) continue; // they have nothing of their own
      const one = await open(url, { colorScheme, bypassCSP: true });
      if (kind === "ended") await until("the report of the snapshot", async () => (await one.locator("svg").count()) >= 9);
      if (kind === "series") assert.match(await one.locator("main").innerText(), /20260511T030000Z.crawl[^]*20260504T030000Z.crawl[^]*no scheduler was running/);
      if (kind !== "report") await look(one, `${kind}-${colorScheme}`, false);
      await judge(one, `${kind}, ${colorScheme}`, colorScheme === "dark" ? ["color-contrast"] : undefined);
      step(`${kind}, ${colorScheme}`);
      await one.context().close();
    }
  }

  // When the run ends, the page becomes that of a crawl that has ended.
  step("when the run ends");
  const last = await open(at);
  run.child.removeAllListeners("exit");
  run.child.kill("SIGINT");
  await until("the crawl has ended", async () => (await last.locator(".pill").first().innerText()) === "ended");
  await until("its report", async () => /proves it against/.test(await last.locator("main").innerText()) && (await last.locator("#redirects").count()) === 1);
  await look(last, "over");
  assert.equal(await last.locator("form[method=post]").count(), 0, "a crawl that has ended can be steered");
} finally {
  for (const end of ends) await end(); // the browser first, so that it does not miss the server
  for (const child of children) child.removeAllListeners("exit") && child.kill("SIGINT");
}
if (wrong) process.exit(1);
console.log(`serve: followed, steered and judged in Chromium; pictures in ${dir}`);
process.exit(0);
