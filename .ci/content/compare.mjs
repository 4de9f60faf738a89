// node compare.mjs DIR MAIN.jsonl WHOLE.jsonl
// Prints, for each directory of pages in DIR, which words of readability.js are in the main
// text and in the whole text of the same pages, and which words of these are in readability.js.
import { readFileSync } from "node:fs";
import { JSDOM, VirtualConsole } from "jsdom";
import { Readability } from "@mozilla/readability";

const [dir, ...files] = process.argv.slice(2);

// words counts the words of a text.
function words(text) {
  const counts = new Map();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

// common is the number of words that two texts have in common, and how many each has.
function common(a, b) {
  let both = 0, inA = 0, inB = 0;
  for (const [word, n] of a) both += Math.min(n, b.get(word) ?? 0), (inA += n);
  for (const n of b.values()) inB += n;
  return { both, inA, inB };
}

// spaced adds spaces where elements of the page begin and end: textContent has none.
function spaced(html) {
  return new JSDOM(html.replace(/</g, " <")).window.document.body.textContent;
}

const reference = new Map(); // words that readability.js finds, by path of the page
const read = (file) => readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const [main, whole] = files.map((file) => new Map(read(file).map((page) => [new URL(page.url).pathname, page])));
const groups = new Map();
for (const path of main.keys()) {
  const html = readFileSync(dir + decodeURIComponent(path), "utf8");
  const dom = new JSDOM(html, { url: "http://docs.test" + path, virtualConsole: new VirtualConsole() });
  const article = new Readability(dom.window.document).parse();
  if (!article?.content) continue; // readability.js finds nothing
  reference.set(path, words(spaced(article.content)));
  const name = path.split("/")[1];
  groups.set(name, [...(groups.get(name) ?? []), path]);
}

const percent = (x) => (100 * x).toFixed(1);
// mean is the mean precision and recall of pages.
function mean(pages, paths) {
  let precision = 0, recall = 0;
  for (const path of paths) {
    const { both, inA, inB } = common(words(pages.get(path).text ?? ""), reference.get(path));
    precision += inA ? both / inA : 1;
    recall += inB ? both / inB : 1;
  }
  return [percent(precision / paths.length), percent(recall / paths.length)];
}
console.log("| pages | number | main text: precision | recall | whole text: precision | recall |");
console.log("|---|---:|---:|---:|---:|---:|");
for (const [name, paths] of [...groups].sort()) console.log(`| ${[name, paths.length, ...mean(main, paths), ...mean(whole, paths)].join(" | ")} |`);
const all = [...reference.keys()];
console.log(`| all | ${[all.length, ...mean(main, all), ...mean(whole, all)].join(" | ")} |`);
