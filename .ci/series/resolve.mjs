// node resolve.mjs WORK URL TOUCHED SNAPSHOT...
// Resolves the revisit records of a series with warcio: each must name, by URL and time, a
// response in that snapshot or an earlier one with the same payload digest, and its body
// must be the file that was served in that run (WORK/treeN). The last snapshot repeats from
// the first both URL, for a 304, and TOUCHED, whose bytes were sent again.
import { createReadStream, existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { WARCParser } from "warcio";

const [work, deep, touched, ...snapshots] = process.argv.slice(2);

let wrong = 0;
function fail(text) {
  if (++wrong <= 20) console.error("series: " + text);
}

// file returns a file that was served in a run.
function file(run, url) {
  const path = decodeURIComponent(new URL(url).pathname);
  const name = join(work, `tree${run}`, path.endsWith("/") ? path + "index.html" : path);
  return existsSync(name) ? readFileSync(name) : null;
}

const bodies = new Map(); // of all earlier responses, by URL and time
for (const [n, snapshot] of snapshots.entries()) {
  const run = n + 1;
  const captures = [];
  for (const name of readdirSync(join(snapshot, "warc")).filter((name) => name.endsWith(".warc.gz")))
    for await (const record of new WARCParser(createReadStream(join(snapshot, "warc", name)))) {
      const body = Buffer.from((await record.readFully(true)) ?? []);
      const capture = { url: record.warcTargetURI, type: record.warcType, digest: record.warcPayloadDigest, run };
      if (capture.type === "response") {
        capture.body = body;
        capture.status = record.httpHeaders.statusCode;
        bodies.set(`${capture.url} ${record.warcHeader("WARC-Date")}`, capture);
      } else if (capture.type === "revisit") {
        capture.refers = `${record.warcHeader("WARC-Refers-To-Target-URI")} ${record.warcHeader("WARC-Refers-To-Date")}`;
        capture.profile = record.warcHeader("WARC-Profile").split("/").pop();
        if (body.length > 0) fail(`${capture.url} of run ${run}: a revisit record with a body of ${body.length} bytes`);
      } else continue;
      if (!capture.url.endsWith("/robots.txt")) captures.push(capture);
    }

  const counts = {};
  const back = {};
  for (const capture of captures) {
    const where = `${capture.url} of run ${run}`;
    const response = capture.type === "revisit" ? bodies.get(capture.refers) : capture;
    if (!response) {
      fail(`${where} repeats ${capture.refers}, which is nowhere`);
      continue;
    }
    if (response.digest !== capture.digest) fail(`${where} has the digest ${capture.digest}, what it repeats ${response.digest}`);
    const want = file(run, capture.url);
    if (response.status === 200 && !(want && want.equals(response.body))) fail(`${where} is not what was served`);
    const kind = capture.type === "revisit" ? `${capture.profile}, ${run - response.run} back` : "response";
    counts[kind] = (counts[kind] ?? 0) + 1;
    back[capture.url] = kind;
  }
  for (const [url, kind] of run === 3 ? [[deep, "server-not-modified, 2 back"], [touched, "identical-payload-digest, 2 back"]] : [])
    if (back[url] !== kind) fail(`${url} of run 3: ${back[url]}, want ${kind}`);
  console.log(`series: run ${run} in warcio: ${Object.entries(counts).map(([kind, n]) => `${n} ${kind}`).sort().join("; ")}`);
}
if (wrong > 0) {
  console.error(`series: ${wrong} things are wrong`);
  process.exit(1);
}
