// node check.mjs FILE.warc.gz... [--index FILE.cdxj]
// Reads WARC files with warcio. Every record must parse and have correct digests; every
// gzip member must hold one record; each line of an index must name an existing record,
// under the key that warcio makes.
import { createHash } from "node:crypto";
import { createReadStream, openSync, readSync, readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { gunzipSync } from "node:zlib";
import { WARCParser, getSurt } from "warcio";

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function labelled(...parts) {
  const hash = createHash("sha1");
  for (const p of parts) hash.update(p);
  let bits = "";
  for (const byte of hash.digest()) bits += byte.toString(2).padStart(8, "0");
  return "sha1:" + bits.match(/.{5}/g).map((b) => letters[parseInt(b, 2)]).join("");
}

function unchunk(body) {
  const parts = [];
  for (let at = 0; ; ) {
    const end = body.indexOf("\r\n", at);
    const size = parseInt(body.subarray(at, end).toString(), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

let wrong = 0;
function fail(text) {
  if (++wrong <= 20) console.error("archive: " + text);
}

const places = new Map();

async function check(file) {
  const fd = openSync(file, "r");
  let at = 0;
  const types = {};
  const parser = new WARCParser(createReadStream(file), { parseHttp: false });
  for await (const record of parser) {
    const where = `${file} at ${parser.offset}`;
    const block = Buffer.from(await record.readFully());
    const [offset, length] = [parser.offset, parser.recordLength];
    if (offset !== at) fail(`${where}: the record before ended at ${at}`);
    at = offset + length;
    types[record.warcType] = (types[record.warcType] ?? 0) + 1;

    const stored = Buffer.alloc(length);
    readSync(fd, stored, 0, length, offset);
    const text = gunzipSync(stored);
    if (!text.subarray(0, 10).equals(Buffer.from("WARC/1.1\r\n"))) fail(`${where}: the member is no record`);
    if (!text.subarray(-4 - block.length, -4).equals(block)) fail(`${where}: the member does not end with its block`);

    if (record.warcContentLength !== block.length) fail(`${where}: ${block.length} bytes where Content-Length says ${record.warcContentLength}`);
    if (record.warcBlockDigest !== labelled(block)) fail(`${where}: WARC-Block-Digest ${record.warcBlockDigest}`);
    const payloadDigest = record.warcPayloadDigest;
    const http = (record.warcContentType ?? "").startsWith("application/http");
    if (http) {
      const end = block.indexOf("\r\n\r\n") + 4;
      const head = block.subarray(0, end).toString("latin1");
      if (end < 4 || !/^(HTTP\/1\.[01] \d{3}[ \r]|[A-Z]+ \S+ HTTP\/1\.[01]\r)/.test(head)) fail(`${where}: no HTTP head`);
      if (record.warcType === "response") {
        let body = block.subarray(end);
        if (/^transfer-encoding:.*chunked/im.test(head)) body = unchunk(body);
        if (payloadDigest !== labelled(body)) fail(`${where}: WARC-Payload-Digest ${payloadDigest}`);
      }
    }
    if (record.warcType === "resource" && payloadDigest !== labelled(block)) fail(`${where}: WARC-Payload-Digest ${payloadDigest}`);
    if (["response", "revisit", "resource"].includes(record.warcType))
      places.set(`${basename(file)} ${offset} ${length}`, record.warcTargetURI);
  }
  if (at !== statSync(file).size) fail(`${file}: the last record ends at ${at} of ${statSync(file).size}`);

  // Once more with decoded blocks, as a replay does.
  for await (const record of new WARCParser(createReadStream(file))) {
    const cut = record.warcHeader("WARC-Truncated");
    try {
      await record.readFully(true);
    } catch (e) {
      if (!cut) fail(`${file}: ${record.warcTargetURI} cannot be decoded: ${e}`);
    }
  }
  console.log(`archive: ${file}: ${Object.entries(types).map(([t, n]) => `${n} ${t}`).join(", ")}`);
}

function checkIndex(file) {
  const lines = readFileSync(file);
  let before = Buffer.alloc(0);
  let n = 0;
  for (let at = 0; at < lines.length; n++) {
    const end = lines.indexOf(10, at);
    const line = lines.subarray(at, end);
    at = end + 1;
    if (Buffer.compare(before, line) > 0) fail(`${file}: line ${n + 1} is out of order`);
    before = line;
    const [, key, stamp, object] = /^(\S+) (\d{14}) (\{.*\})$/.exec(line.toString());
    const entry = JSON.parse(object);
    const place = `${entry.filename} ${entry.offset} ${entry.length}`;
    if (places.get(place) !== entry.url) fail(`${file}: line ${n + 1}: ${place} is not ${entry.url} of ${stamp}`);
    if (getSurt(entry.url) !== key) fail(`${file}: line ${n + 1}: key ${key} where warcio has ${getSurt(entry.url)}`);
  }
  if (n !== places.size) fail(`${file}: ${n} lines for ${places.size} captures`);
  console.log(`archive: ${file}: ${n} lines`);
}

const args = process.argv.slice(2);
const i = args.indexOf("--index");
const index = i < 0 ? null : args.splice(i, 2)[1];
for (const file of args) await check(file);
if (index) checkIndex(index);
if (wrong > 0) {
  console.error(`archive: ${wrong} things are wrong`);
  process.exit(1);
}
