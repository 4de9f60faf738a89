// check.mjs CRAWL
// Serves the published files over TLS, and two sites that record the requests of a crawl. Then
// verifies each request with the published key.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { httpbis } from "http-message-signatures";
import { component, verifySignature } from "http-message-sig";
import { jwkThumbprint } from "jsonwebkey-thumbprint";

const crawl = process.argv[2];
const directory = "/.well-known/http-message-signatures-directory";
const directoryType = "application/http-message-signatures-directory+json";
const published = {
  "/about": ["site/index.html", "text/html; charset=utf-8"],
  "/ips.json": ["site/ips.json", "application/json"],
  [directory]: ["site" + directory, directoryType],
};

const listen = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address().port)));
const run = (args) =>
  new Promise((done) => {
    const child = spawn(crawl, args, { stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    child.stdout.on("data", (text) => (out += text));
    child.stderr.on("data", (text) => (out += text));
    child.on("close", (code) => done({ code, out }));
  });

const bot = https.createServer({ key: fs.readFileSync("tls.pem"), cert: fs.readFileSync("ca.pem") }, (req, res) => {
  const file = published[req.url];
  res.writeHead(file ? 200 : 404, { "Content-Type": file ? file[1] : "text/plain" });
  res.end(file && fs.readFileSync(file[0]));
});

// Two sites: a.test has a sitemap, a page that fails once, and a redirect to b.test.
const requests = [];
let failed = false;
const sites = http.createServer((req, res) => {
  requests.push({ method: req.method, url: "http://" + req.headers.host + req.url, headers: req.headers, at: Date.now() });
  const answer = (status, body, headers = {}) => res.writeHead(status, { "Content-Type": "text/html", ...headers }).end(body);
  if (req.url === "/robots.txt") return answer(200, "User-agent: *\nAllow: /\nSitemap: http://a.test/sitemap.xml\n", { "Content-Type": "text/plain" });
  if (req.url === "/sitemap.xml") return answer(200, "<urlset><url><loc>http://a.test/listed</loc></url></urlset>", { "Content-Type": "application/xml" });
  if (req.url === "/flaky" && !failed) return (failed = true), answer(503, "", { "Retry-After": "1" });
  if (req.url === "/moved") return answer(302, "", { Location: "http://b.test/there" });
  answer(200, '<title>x</title><a href="/flaky">x</a> <a href="/moved">x</a>');
});

const secure = await listen(bot);
const plain = await listen(sites);
const verified = await run(["identity", "verify", "--key", "key.pem", "--allow-private", "--connect-to", `::127.0.0.1:${secure}`]);
console.log(verified.out);
assert.equal(verified.code, 0);
assert.match(verified.out, /nothing is missing/);
const crawled = await run(["run", "--sign-requests", "key.pem", "--signature-agent", "https://bot.test", "--scope", "any", "--purpose", "research",
  "--delay", "50ms", "--patience", "15s", "--allow-private", "--connect-to", `::127.0.0.1:${plain}`, "-d", "a.crawl", "http://a.test/"]);
assert.equal(crawled.code, 0, crawled.out);

// The directory, as a server that checks signatures fetches it.
const keys = await new Promise((done, fail) => {
  https.get({ host: "127.0.0.1", port: secure, path: directory, servername: "bot.test", ca: fs.readFileSync("ca.pem") }, (res) => {
    assert.equal(res.statusCode, 200);
    assert.equal(res.headers["content-type"], directoryType);
    let text = "";
    res.on("data", (part) => (text += part)).on("end", () => done(JSON.parse(text).keys));
  }).on("error", fail);
});
const hash = (bytes) => crypto.webcrypto.subtle.digest("SHA-256", bytes);
const base64url = (bytes) => Buffer.from(bytes).toString("base64url");
const byID = new Map();
for (const key of keys) {
  const id = await jwkThumbprint(key, hash, base64url);
  assert.equal(key.kid, id);
  byID.set(id, crypto.createPublicKey({ key, format: "jwk" }));
}

const check = (id, data, signature) => byID.has(id) && crypto.verify(null, Buffer.from(data), byID.get(id), Buffer.from(signature));
async function valid(request) {
  const first = await httpbis.verifyMessage({
    async keyLookup({ keyid }) {
      return { id: keyid, algs: ["ed25519"], verify: async (data, signature) => check(keyid, data, signature) };
    },
    requiredParams: ["created", "expires", "keyid", "tag", "nonce"],
    requiredFields: ["@authority", "signature-agent"],
  }, request);
  const strict = await verifySignature(new Request(request.url, { headers: request.headers }), {
    policy: {
      algorithms: ["ed25519"], requiredComponents: ["@authority", component("signature-agent", { key: "sig1" })],
      requiredParameters: ["created", "expires", "keyid", "tag", "nonce"], maxAge: 60, clockSkew: 1,
      validate: ({ parameters }) => parameters.tag === "web-bot-auth",
    },
    resolveVerifier: ({ parameters }) => ({ algorithm: "ed25519", verify: (data, signature) => check(parameters.keyid, data, signature) }),
  }).then(() => true, (err) => { if (err.code !== "VerificationFailed") throw err; return false; });
  assert.equal(first, strict, request.url);
  return first;
}

const nonces = new Set();
for (const request of requests) {
  assert.equal(request.headers["signature-agent"], `sig1="https://bot.test${directory}"`, request.url);
  assert.ok(await valid(request), `${request.url}: the signature is not valid`);
  const moved = { ...request, url: request.url.replace(/[ab]\.test/, "c.test"), headers: { ...request.headers, host: "c.test" } };
  assert.ok(!(await valid(moved)), `${request.url}: the signature is valid at another site`);
  const [, created, expires, nonce] = request.headers["signature-input"].match(/created=(\d+);.*expires=(\d+);nonce="([^"]+)"/);
  assert.ok(Math.abs(request.at / 1000 - created) < 3 && expires - created === 60);
  assert.equal(Buffer.from(nonce, "base64").length, 64);
  nonces.add(nonce);
}
assert.equal(nonces.size, requests.length, "a nonce is repeated");
for (const url of ["http://a.test/robots.txt", "http://a.test/.well-known/tdmrep.json", "http://a.test/sitemap.xml", "http://a.test/listed", "http://a.test/moved", "http://b.test/robots.txt", "http://b.test/there"]) {
  assert.ok(requests.some((r) => r.url === url), `${url} was not requested`);
}
assert.equal(requests.filter((r) => r.url === "http://a.test/flaky").length, 2);
console.log(`${requests.length} requests to two sites: each signature is valid, by two implementations, and only at its own site`);
bot.close();
sites.close();
