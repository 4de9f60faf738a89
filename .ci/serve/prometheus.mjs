// node prometheus.mjs CRAWL DIR
// A real Prometheus scrapes a crawl that runs. promtool finds no mistake in its figures, and
// each expression of grafana.json, in this directory, has an answer. check.sh runs it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const [crawl, dir] = process.argv.slice(2);
const board = JSON.parse(readFileSync("grafana.json", "utf8"));
mkdirSync(dir, { recursive: true });
process.chdir(dir);
const children = [];
const listen = (handler) => new Promise((done) => {
  const server = createServer(handler);
  server.listen(0, "127.0.0.1", () => done(server));
});
// until returns the result of a function as soon as that is true.
async function until(what, f) {
  for (const end = Date.now() + 60000; Date.now() < end; await new Promise((next) => setTimeout(next, 200))) {
    const result = await f().catch(() => false);
    if (result) return result;
  }
  assert.fail(`in vain: ${what}`);
}

try {
  // A page in four is missing, and a connection in ten is broken, so that there are figures.
  let n = 0;
  const web = await listen((req, res) => {
    if (req.url === "/robots.txt") return res.end("User-agent: *\nDisallow: /no\n");
    if (++n % 10 === 0) return req.socket.destroy();
    res.writeHead(n % 4 || n < 9 ? 200 : 404, { "Content-Type": "text/html" });
    res.end(`<a href="/${n}">x</a><a href="/${n}/more">x</a><a href="/${n}/most">x</a><a href="/no/${n}">y</a><a href="http://elsewhere.test/">z</a>`);
  });
  const run = spawn(crawl, ["run", "--name", "testbot", "--contact", "me@example.org", "--allow-private", "--connect-to", `::127.0.0.1:${web.address().port}`, "--delay", "200ms",
    "--progress", "none", "--dir", "a.crawl", "--metrics", "127.0.0.1:0", "--max-time", "2m", "http://a.test/", "http://b.test/", "http://c.test/"], { env: { ...process.env, HOME: process.cwd() } });
  children.push(run);
  const at = await new Promise((done) => run.stderr.on("data", (text) => /figures at http:..(\S+)\/metrics/.test(text) && done(/figures at http:..(\S+)\/metrics/.exec(text)[1])));

  const free = await listen();
  const port = free.address().port;
  free.close();
  writeFileSync("prometheus.yml", `{global: {scrape_interval: 1s}, scrape_configs: [{job_name: crawl, static_configs: [{targets: ["${at}"]}]}]}\n`);
  children.push(spawn("prometheus", ["--config.file=prometheus.yml", "--storage.tsdb.path=data", `--web.listen-address=127.0.0.1:${port}`], { stdio: "ignore" }));
  const ask = async (expr) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`).then((r) => r.json());
    if (answer.status === "error" && answer.errorType === "bad_data") throw new Error(`${expr}: ${answer.error}`);
    return answer.data.result;
  };
  await until("Prometheus has figures", async () => (await ask("permesso_requests_total"))[0]?.value[1] > 20);
  await until("and a rate", async () => (await ask("rate(permesso_requests_total[10s])"))[0]?.value[1] > 0);

  const text = await fetch(`http://${at}/metrics`).then((r) => r.text());
  execFileSync("promtool", ["check", "metrics"], { input: text, stdio: ["pipe", "inherit", "inherit"] });

  // A figure without a value, such as a kind of errors that did not happen, has no answer.
  let shown = 0;
  for (const panel of board.panels) {
    for (const { expr } of panel.targets) {
      const [name] = /permesso_\w+/.exec(expr);
      const now = expr.replaceAll("$__rate_interval", "10s").replaceAll("$instance", ".+");
      const result = await ask(now);
      if (new RegExp(`^${name}[ {]`, "m").test(text)) {
        await until(`${panel.title}: ${now}`, async () => (await ask(now)).length > 0);
        shown++;
      } else assert.deepEqual(result, [], now);
    }
  }
  assert.ok(shown > 25, `${shown} expressions have an answer`);
  console.log(`serve: Prometheus has scraped the crawl; ${shown} expressions of the dashboard have an answer`);
} finally {
  for (const child of children) child.kill("SIGINT");
}
process.exit(0);
