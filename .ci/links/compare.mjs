// node compare.mjs OURS.jsonl
// Compares what list found with the trees of parse5, resolved by Node.js. Where
// both must differ:
// - A tree holds an element twice where a formatting element is opened again, and
//   elsewhere than it stands where a table has no place for it: its links are put
//   in the order of the document, each once.
// - What a parser without frames drops (frame outside of frameset) we read.
// - The text of noframes is no markup in a tree; we read it.
// - The links of a page are bounded.
// - Only http, https and ftp links are taken, of hosts that DNS can hold, without
//   user, password and fragment.
import { createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parse } from "parse5";

const html = "http://www.w3.org/1999/xhtml";
const svg = "http://www.w3.org/2000/svg";
const leads = new Set(
  ("alternate author bookmark canonical help license next prev privacy-policy search terms-of-service " +
    "appendix chapter contents copyright glossary index section start subsection " +
    "begin end first home last parent previous toc top up").split(" "),
);
const needed = new Set("stylesheet icon preload prefetch preconnect dns-prefetch modulepreload manifest".split(" "));
const blanks = /[ \t\r\n\f]+/;

function candidates(list) {
  const found = [];
  for (;;) {
    list = list.replace(/^[ \t\r\n\f,]+/, "");
    if (!list) return found;
    const url = /^[^ \t\r\n\f]+/.exec(list)[0];
    list = list.slice(url.length);
    const bare = url.replace(/,+$/, "");
    if (bare === url) list = list.replace(/^(\([^)]*\)?|[^,(])*,?/, "");
    found.push(bare);
  }
}

// The shared declarative refresh steps of HTML.
function refresh(content) {
  const m = /^[ \t\r\n\f]*(?:[0-9]+|(?=\.))[0-9.]*(?:[ \t\r\n\f]*[;,]|[ \t\r\n\f])[ \t\r\n\f]*(.*)$/s.exec(content);
  if (!m || !m[1]) return null;
  let url = m[1].replace(/^url[ \t\r\n\f]*=[ \t\r\n\f]*/i, "");
  const quote = url[0];
  if (quote === '"' || quote === "'") url = url.slice(1).split(quote)[0];
  return url.trim() || null;
}

function linksOf(text, ordered) {
  const refs = [];
  let base, title;
  const document = parse(text, { scriptingEnabled: false, sourceCodeLocationInfo: ordered });
  const visit = (node, inert) => {
    if (node.tagName) look(node, inert);
    for (const child of node.childNodes ?? []) visit(child, inert);
    if (node.content) visit(node.content, true);
  };
  const look = (node, inert) => {
    const attr = (name, prefix) => node.attrs.find((a) => a.name === name && (a.prefix ?? "") === (prefix ?? ""))?.value;
    const note = (where, raw) => {
      if (raw === undefined || raw === null) return;
      // Copies stand nowhere, or where the element does.
      if (!ordered || node.sourceCodeLocation) refs.push({ at: node.sourceCodeLocation?.startOffset, n: refs.length, where, raw });
    };
    if (node.namespaceURI === svg && node.tagName === "a") {
      if (attr("href") !== undefined) note("a/href", attr("href"));
      else note("a/xlink:href", attr("href", "xlink"));
    }
    if (node.namespaceURI !== html) return;
    const rels = (attr("rel") ?? "").toLowerCase().split(blanks);
    switch (node.tagName) {
      case "a":
      case "area":
        return note(node.tagName + "/href", attr("href"));
      case "iframe":
      case "frame":
      case "script":
        return note(node.tagName + "/src", attr("src"));
      case "img":
      case "source":
        note(node.tagName + "/src", attr("src"));
        for (const raw of candidates(attr("srcset") ?? "")) note(node.tagName + "/srcset", raw);
        return;
      case "link":
        if (rels.some((r) => leads.has(r)) && !rels.some((r) => needed.has(r))) note("link/href", attr("href"));
        else if (rels.includes("stylesheet") || rels.includes("icon")) note("link/href", attr("href"));
        return;
      case "meta":
        if ((attr("http-equiv") ?? "").toLowerCase() === "refresh") note("meta/refresh", refresh(attr("content") ?? ""));
        return;
      case "base":
        if (!inert) base ??= attr("href");
        return;
      case "title":
        title ??= node.childNodes.map((c) => c.value).join("");
    }
  };
  visit(document, false);
  title = (title ?? "").split(/\s+/).filter(Boolean).join(" ");
  if (!ordered) return { refs, base, title };
  const once = new Map();
  for (const r of refs.sort((a, b) => a.at - b.at || a.n - b.n)) once.set(`${r.at} ${r.where} ${r.raw}`, r);
  return { refs: [...once.values()], base, title };
}

function resolve(raw, base) {
  let url;
  try {
    url = new URL(raw, base);
  } catch {
    return null;
  }
  if (!/^(https?|ftp):$/.test(url.protocol)) return null;
  url.username = url.password = url.hash = "";
  return url.href;
}

function compare(ours, text, ordered) {
  const theirs = linksOf(text, ordered);
  let base = new URL("http://docs.test" + ours.file.replaceAll("%", "%25")).href;
  if (theirs.base !== undefined) base = resolve(theirs.base, base) ?? base;
  const want = theirs.refs.map((r) => [r.where, resolve(r.raw, base)]).filter((l) => l[1]);
  const got = (ours.links ?? []).filter((l) => l[0] !== "frame/src" || want.some((w) => w[0] === l[0]));
  if (ours.cut) want.length = got.length;
  const same = (i) => got[i]?.[0] === want[i]?.[0] && got[i]?.[1] === want[i]?.[1];
  let first = 0;
  while (first < Math.max(got.length, want.length) && same(first)) first++;
  return { want, got, first, title: theirs.title, equal: ours.title === theirs.title && first === Math.max(got.length, want.length) };
}

let [pages, links, foreign, wrong] = [0, 0, 0, 0];
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const ours = JSON.parse(line);
  const text = new TextDecoder(ours.charset).decode(readFileSync(ours.file));
  let r = compare(ours, text, false);
  if (!r.equal) r = compare(ours, text, true);
  pages++;
  links += r.want.length;
  foreign += /<(svg|math)/i.test(text);
  if (r.equal) continue;
  if (++wrong > 10) continue;
  console.error(`links: ${ours.file} (${ours.charset}): ${r.got.length} links, of the tree ${r.want.length}`);
  console.error(`  ${r.first}: ${r.got[r.first]} where the tree has ${r.want[r.first]}`);
  if (ours.title !== r.title) console.error(`  title "${ours.title}" where the tree has "${r.title}"`);
}
if (pages < 3000) {
  console.error(`links: only ${pages} pages`);
  wrong++;
}
if (wrong > 0) {
  console.error(`links: ${wrong} pages differ`);
  process.exit(1);
}
console.log(`links: ${links} links of ${pages} pages are those of parse5, ${foreign} pages with SVG or MathML`);
