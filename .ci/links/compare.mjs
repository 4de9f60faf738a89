// node compare.mjs OURS.jsonl
// Compares what list found with the trees of parse5, resolved by Node.js. Expected
// differences:
// - A tree has an element twice if a formatting element is opened again, and at
//   another place if a table cannot contain it: its links are put in the order of the
//   document, each once.
// - We also read what a parser without frames drops (frame outside of frameset), and
//   backgrounds of elements outside of tables or of a second body.
// - An element that HTML does not know is named "*".
// - The text of a link is compared only if its element has an end tag.
// - The content of noframes is text in a tree; we read it as markup.
// - The number of links of a page is limited.
// - Only http, https and ftp links are taken, of hosts that DNS can hold, without
//   user, password and fragment.
import { createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { ident, string as cssString, tokenize, tokenTypes, url as cssURL } from "css-tree";
import { parse } from "parse5";

const html = "http://www.w3.org/1999/xhtml";
const svg = "http://www.w3.org/2000/svg";
const words = (text) => new Set(text.split(" "));
const leads = words(
  "alternate author bookmark canonical help license next prev privacy-policy search tag terms-of-service " +
    "appendix chapter contents copyright glossary index section start subsection " +
    "begin end first home last parent previous toc top up " +
    "about amphtml archives collection describedby item latest-version original predecessor-version related " +
    "successor-version version-history via",
);
const hints = words("prefetch preconnect dns-prefetch");
const needed = words("stylesheet icon apple-touch-icon apple-touch-icon-precomposed mask-icon manifest preload modulepreload");
// The attributes of each element: links, then requisites, with * for lists.
const attributes = {
  a: "href", area: "href", blockquote: "cite", q: "cite", ins: "cite", del: "cite", frame: "src longdesc",
  iframe: "src data-src data-lazy-src longdesc",
  img: "longdesc E:src E:srcset* E:data-src E:data-srcset* E:data-original E:data-lazy-src E:data-lazy-srcset*",
  source: "E:src E:srcset* E:data-src E:data-srcset* E:data-lazy-srcset*",
  script: "E:src", video: "E:src E:poster E:data-src E:data-poster", audio: "E:src E:data-src", track: "E:src",
  body: "E:background", table: "E:background", thead: "E:background", tbody: "E:background", tfoot: "E:background",
  tr: "E:background", td: "E:background", th: "E:background",
};
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

// What a style sheet refers to, by its tokens.
function styles(css) {
  const found = [];
  const tokens = [];
  tokenize(css, (type, start, end) => {
    if (type !== tokenTypes.WhiteSpace && type !== tokenTypes.Comment) tokens.push([type, css.slice(start, end)]);
  });
  const open = [];
  let prelude = -1; // nesting depth around the at-rule whose block has not begun
  tokens.forEach(([type, text], i) => {
    const name = type === tokenTypes.Function ? ident.decode(text.slice(0, -1)).toLowerCase() : "";
    const before = tokens[i - 1] ?? [];
    const imports = (t) => t?.[0] === tokenTypes.AtKeyword && ident.decode(t[1].slice(1)).toLowerCase() === "import";
    const note = (raw, kind) => {
      if (kind !== "@import" && prelude >= 0) return;
      if (raw.trim() && !/^\s*(#|data:)/i.test(raw)) found.push({ kind, raw });
    };
    switch (type) {
      case tokenTypes.AtKeyword:
        if (prelude < 0) prelude = open.length;
        break;
      case tokenTypes.Url:
        note(cssURL.decode(text), imports(before) ? "@import" : "url");
        break;
      case tokenTypes.String:
        if (imports(before) || (open.at(-1) === "url" && imports(tokens[i - 2]))) note(cssString.decode(text), "@import");
        else if (["url", "src"].includes(open.at(-1)) && before[0] === tokenTypes.Function) note(cssString.decode(text), "url");
        else if (/^(-webkit-)?image-set$/.test(open.at(-1))) note(cssString.decode(text), "url");
        break;
      case tokenTypes.Semicolon:
        if (open.length <= prelude) prelude = -1;
        break;
      case tokenTypes.LeftCurlyBracket:
        if (open.length === prelude) prelude = -1;
    }
    if (name || "([{".includes(text)) open.push(name || text);
    if (")]}".includes(text)) open.pop();
  });
  return found;
}

// The values of url in JSON-LD.
function* dataURLs(value, key, owner) {
  if (Array.isArray(value)) for (const v of value) yield* dataURLs(v, key, owner);
  else if (typeof value === "object" && value)
    for (const [k, v] of Object.entries(value)) k !== "@context" && (yield* dataURLs(v, k, value));
  else if (key === "url" && typeof value === "string" && owner)
    yield { raw: value, hop: [owner["@type"]].flat().some((t) => `${t}`.endsWith("ImageObject")) ? "E" : "L" };
}

// The visible text of a link.
const breaks = words(
  "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup " +
    "listing main menu nav ol pre search section summary ul form hr li dd dt p plaintext xmp h1 h2 h3 h4 h5 h6 " +
    "caption col colgroup tbody td tfoot th thead tr br table",
);
const fold = (text) => (text ?? "").split(/[\s\x85]+/).filter(Boolean).join(" ");
function textOf(link) {
  const read = (node) => {
    if (node.nodeName === "#text") return node.value;
    const foreign = node.namespaceURI !== html;
    if (["script", "style"].includes(node.tagName)) return "";
    if (!foreign && ["textarea", "title", "iframe", "noembed", "xmp", "plaintext"].includes(node.tagName)) return "";
    const alt = node.tagName === "img" ? (node.attrs.find((a) => a.name === "alt")?.value ?? "") : "";
    const inner = alt + ((node.content ?? node).childNodes ?? []).map(read).join("");
    return breaks.has(node.tagName) ? ` ${inner} ` : inner;
  };
  const bytes = new TextEncoder().encode(fold(link.tagName === "area" ? link.attrs.find((a) => a.name === "alt")?.value : link.childNodes.map(read).join("")));
  if (bytes.length <= 256) return new TextDecoder().decode(bytes);
  let end = 256;
  while ((bytes[end] & 0xc0) === 0x80) end--;
  return new TextDecoder().decode(bytes.slice(0, end)).trimEnd();
}

// Elements whose links depend on more than the attribute.
function others(node, attr, note, images, sheet) {
  const lower = (name) => (attr(name) ?? "").toLowerCase();
  const rels = lower("rel").split(blanks);
  const holds = /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/.test(lower("type")) ? "L" : "E";
  const anchored = (raw) => (/^\s*(\/|https?:\/\/)/i.test(raw) ? raw : null);
  switch (node.tagName) {
    case "link":
      if (rels.some((r) => needed.has(r))) {
        note("link/href", attr("href"), "E");
        images("link/imagesrcset", attr("imagesrcset"));
      } else if (rels.some((r) => leads.has(r)) && !rels.some((r) => hints.has(r))) note("link/href", attr("href"));
      return;
    case "object":
      return note("object/data", attr("data"), holds);
    case "embed":
      return note("embed/src", attr("src"), holds);
    case "input":
      if (lower("type") === "image") note("input/src", attr("src"), "E");
      return;
    case "form": {
      const action = (attr("action") ?? "").replace(/[?#].*$/s, "");
      if (!["post", "dialog"].includes(lower("method")) && action.trim()) note("form/action", action);
      return;
    }
    case "meta":
      if (lower("http-equiv") === "refresh") note("meta/refresh", refresh(attr("content") ?? ""));
      if (lower("property").trim() === "og:url") note("meta/og:url", anchored(attr("content") ?? ""));
      if (/^og:image(:url|:secure_url)?$/.test(lower("property").trim())) note("meta/og:image", anchored(attr("content") ?? ""), "E");
      return;
    case "style":
      return sheet();
    case "script":
      if (!/^\s*application\/ld\+json\s*(;|$)/.test(lower("type"))) return;
      for (const { raw, hop } of dataURLs(JSON.parse(node.childNodes[0]?.value ?? "null"))) note("script/ld+json", anchored(raw), hop);
  }
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
    const note = (where, raw, hop = "L") => {
      if (raw === undefined || raw === null) return;
      if (hop === "E" && (!raw || /^data:/i.test(raw))) return;
      const text = /^(a|area)\/(xlink:)?href$/.test(where) ? textOf(node) : "";
      const closed = node.sourceCodeLocation?.endTag || where === "area/href";
      // Copies have no position, or that of their element.
      if (!ordered || node.sourceCodeLocation) refs.push({ at: node.sourceCodeLocation?.startOffset, n: refs.length, where, raw, hop, text, closed });
    };
    const images = (where, list) => {
      for (const raw of candidates(list ?? "")) note(where, raw, "E");
    };
    const styled = () => {
      for (const { kind, raw } of styles(attr("style") ?? "")) if (kind === "url") note(`${node.tagName}/style`, raw, "E");
    };
    const sheet = () => {
      if (!["", "text/css"].includes((attr("type") ?? "").toLowerCase())) return;
      for (const { kind, raw } of styles(node.childNodes.map((c) => c.value ?? "").join(""))) note(`style/${kind}`, raw, "E");
    };
    if (node.namespaceURI === svg) {
      const hop = { a: "L", image: "E", feImage: "E", use: "E", script: "E" }[node.tagName];
      const [from, raw] = attr("href") !== undefined ? ["href", attr("href")] : ["xlink:href", attr("href", "xlink")];
      if (hop && (hop === "L" || !/^\s*#/.test(raw))) note(`${node.tagName}/${from}`, raw, hop);
      if (node.tagName === "style") sheet();
    }
    if (node.namespaceURI !== html) return styled();
    for (const entry of (attributes[node.tagName] ?? "").split(" ").filter(Boolean)) {
      const [, hop, from, list] = /^(E:)?([^*]*)(\*?)$/.exec(entry);
      if (list) images(`${node.tagName}/${from}`, attr(from));
      else note(`${node.tagName}/${from}`, attr(from), hop ? "E" : "L");
    }
    styled();
    for (const from of ["data-bg", "data-background-image"]) {
      const where = `${node.tagName}/${from}`;
      const value = attr(from);
      if (!/^[ \t\r\n\f]*url\(/i.test(value ?? "")) note(where, value, "E");
      else for (const { kind, raw } of styles(value)) if (kind === "url") note(where, raw, "E");
    }
    others(node, attr, note, images, sheet);
    if (node.tagName === "base" && !inert) base ??= attr("href");
    if (node.tagName === "title") title ??= node.childNodes.map((c) => c.value).join("");
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
  const known = new Set((ours.links ?? []).map((l) => l[0]));
  const named = (where) => (known.has(where) ? where : where.replace(/^.*\/(style|data-bg|data-background-image)$/, "*/$1"));
  const want = theirs.refs.map((r) => [named(r.where), resolve(r.raw, base), r.hop, r.text, !!r.closed]).filter((l) => l[1]);
  const dropped = (l) => (l[0] === "frame/src" || l[0].endsWith("/background")) && !want.some((w) => w[0] === l[0]);
  const got = (ours.links ?? []).filter((l) => !dropped(l));
  if (ours.cut) want.length = got.length;
  const same = (i) =>
    [0, 1, 2].every((k) => got[i]?.[k] === want[i]?.[k]) && (got[i]?.[3] === want[i]?.[3] || (ordered && !want[i]?.[4]));
  let first = 0;
  while (first < Math.max(got.length, want.length) && same(first)) first++;
  return { want, got, first, title: theirs.title, equal: ours.title === theirs.title && first === Math.max(got.length, want.length) };
}

let [pages, links, foreign, wrong] = [0, 0, 0, 0];
const kinds = new Set();
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const ours = JSON.parse(line);
  const text = new TextDecoder(ours.charset).decode(readFileSync(ours.file));
  let r = compare(ours, text, false);
  if (!r.equal) r = compare(ours, text, true);
  pages++;
  links += r.want.length;
  foreign += /<(svg|math)/i.test(text);
  for (const w of r.want) kinds.add(w[0]);
  if (r.equal) continue;
  if (++wrong > 10) continue;
  console.error(`links: ${ours.file} (${ours.charset}): ${r.got.length} links, of the tree ${r.want.length}`);
  console.error(`  ${r.first}: ${r.got[r.first]} where the tree has ${r.want[r.first]?.slice(0, 4)}`);
  if (ours.title !== r.title) console.error(`  title "${ours.title}" where the tree has "${r.title}"`);
}
if (pages < 3000) {
  console.error(`links: only ${pages} pages`);
  wrong++;
}
const missing = [...Object.keys(attributes)].filter((tag) => ![...kinds].some((k) => k.startsWith(tag + "/")));
if (missing.length) {
  console.error(`links: no page has a link of ${missing}`);
  wrong++;
}
if (wrong > 0) {
  console.error(`links: ${wrong} pages differ`);
  process.exit(1);
}
console.log(`links: ${links} links of ${kinds.size} kinds of ${pages} pages are those of parse5, ${foreign} pages with SVG or MathML`);
