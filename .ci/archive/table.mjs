// node table.mjs FILE.parquet FILE.csv FILE.jsonl
// Compares three exports of one crawl, cell by cell.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { parse } from "csv-parse";
import { DuckDBInstance } from "@duckdb/node-api";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";

const [parquetFile, csvFile, jsonlFile] = process.argv.slice(2);

let wrong = 0;
function fail(text) {
  if (++wrong <= 20) console.error("table: " + text);
}
function same(what, a, b) {
  if (a !== b) fail(`${what}: ${JSON.stringify(a)}, want ${JSON.stringify(b)}`);
}

const text = (v) => (v === "" ? null : v);
const number = (v) => (v === "" ? null : Number(v));
const flag = (v) => (v === "" ? null : v === "true");
const millis = (v) => (v === "" ? null : new Date(v.replace(/(\.\d{3})\d*Z$/, "$1Z")).getTime());
const hex = (v) => text(v.replace("urn:uuid:", "").replaceAll("-", ""));

// The expected value of each column of Parquet, by the row of CSV.
const columns = {
  url_surtkey: (r) => r.surt,
  url: (r) => r.url,
  url_host_name: (r) => r.host,
  fetch_time: (r) => millis(r.time),
  fetch_status: (r) => number(r.status),
  fetch_redirect: (r) => text(r.location),
  content_digest: (r) => text(r.payload_digest.replace("sha1:", "")),
  content_mime_type: (r) => text(r.type_sent) ?? text(r.type),
  content_mime_detected: (r) => text(r.type_detected),
  content_charset: (r) => text(r.charset),
  content_languages: () => null,
  content_truncated: (r) => text(r.truncated),
  warc_record_id: (r) => hex(r.warc_id),
  warc_filename: (r) => text(r.warc_file),
  warc_record_offset: (r) => number(r.warc_offset),
  warc_record_length: (r) => number(r.warc_length),
  fate: (r) => text(r.fate),
  content_size: (r) => number(r.size),
  body_digest: (r) => text(r.digest),
  title: (r) => text(r.title),
  links: (r) => number(r.links),
  depth: (r) => number(r.depth),
  hops: (r) => text(r.hops),
  via: (r) => text(r.via),
  tag: (r) => text(r.tag),
  robots_fetched: (r) => millis(r.robots),
  robots_rule: (r) => text(r.rule),
  noindex: (r) => flag(r.noindex),
  noarchive: (r) => flag(r.noarchive),
  fetch_ip: (r) => text(r.ip),
  warc_record_type: (r) => text(r.warc_type),
  use_search: (r) => flag(r.use_search),
  use_ai_train: (r) => flag(r.use_ai_train),
  use_ai_input: (r) => flag(r.use_ai_input),
  use_tdm: (r) => flag(r.use_tdm),
  use_archive: (r) => flag(r.use_archive),
  usage: (r) => text(r.usage),
  license: (r) => text(r.license),
  tdm_policy: (r) => text(r.tdm_policy),
  use_refused: (r) => text(r.refused),
  canonical: (r) => text(r.canonical),
  og_url: (r) => text(r.og_url),
  fetch_method: (r) => text(r.method),
  change: (r) => text(r.change),
  text_digest: (r) => text(r.text_digest),
  url_protocol: (r) => new URL(r.url).protocol.slice(0, -1),
  url_port: (r) => number(new URL(r.url).port),
  url_path: (r) => new URL(r.url).pathname,
  url_query: (r) => (r.url.includes("?") ? new URL(r.url).search.slice(1) : null),
};
// These have no cell of their own in CSV.
const parts = ["tld", "2nd_last_part", "3rd_last_part", "4th_last_part", "5th_last_part"].map((p) => "url_host_" + p);
const others = [
  ...parts, "url_host_registry_suffix", "url_host_registered_domain", "url_host_private_suffix", "url_host_private_domain", "url_host_name_reversed", "warc_segment",
];

function plain(v) {
  if (v === undefined || v === null) return null;
  if (v instanceof Date) return v.getTime();
  if (v instanceof Uint8Array) return Buffer.from(v).toString("hex");
  if (typeof v === "bigint") return Number(v);
  return v;
}

function compare(reader, got, want) {
  if (!want) return fail(`${reader}: ${got.url} is not in CSV`);
  for (const [name, value] of Object.entries(columns)) same(`${reader}: ${name} of ${want.url}`, plain(got[name]), value(want));
  const address = /^[0-9.]+$|:/.test(want.host);
  const labels = address ? [] : want.host.split(".").reverse();
  parts.forEach((name, i) => same(`${reader}: ${name} of ${want.url}`, plain(got[name]), labels[i] ?? null));
  same(`${reader}: reversed name of ${want.url}`, plain(got.url_host_name_reversed), address ? null : labels.join("."));
  if (got.url_host_private_domain) same(`${reader}: private domain of ${want.url}`, got.url_host_private_domain, want.domain);
  if (got.url_host_registered_domain && !got.url_host_registered_domain.endsWith("." + got.url_host_registry_suffix)) fail(`${reader}: registered domain of ${want.url}`);
  same(`${reader}: segment of ${want.url}`, got.warc_segment !== null && got.warc_segment !== undefined, want.warc_file !== "");
}

// Rows of CSV, and the same rows of JSON lines.
const csv = createReadStream(csvFile).pipe(parse({ columns: true, record_delimiter: "\r\n" }));
const json = createInterface({ input: createReadStream(jsonlFile) })[Symbol.asyncIterator]();
const rows = [];
for await (const row of csv) {
  const { value } = await json.next();
  const object = JSON.parse(value ?? "{}");
  for (const [name, cell] of Object.entries(row)) same(`jsonl: ${name} of ${row.url}`, String(object[name] ?? ""), cell);
  for (const name of Object.keys(object)) if (!(name in row)) fail(`jsonl: ${name} is no column of CSV`);
  rows.push(row);
}
if (!(await json.next()).done) fail("jsonl has more rows than CSV");

const file = await asyncBufferFromFile(parquetFile);
const metadata = await parquetMetadataAsync(file);
const names = parquetSchema(metadata).children.map((c) => c.element.name);
same("columns of Parquet", names.filter((n) => !(n in columns) && !others.includes(n)).join(), "");
same("columns of Parquet", names.length, Object.keys(columns).length + others.length);
same("rows of Parquet", Number(metadata.num_rows), rows.length);
let at = 0;
for (const group of metadata.row_groups) {
  const end = at + Number(group.num_rows);
  for (const got of await parquetReadObjects({ file, metadata, rowStart: at, rowEnd: end, utf8: false })) compare("hyparquet", got, rows[at++]);
}
same("rows that hyparquet reads", at, rows.length);

const db = await (await DuckDBInstance.create()).connect();
const quoted = names.map((n) =>
  n === "warc_record_id" ? `lower(hex(${n})) AS ${n}` : n === "fetch_time" || n === "robots_fetched" ? `epoch_ms(${n}) AS ${n}` : `"${n}"`);
const stream = await db.stream(`SELECT ${quoted.join(", ")} FROM read_parquet('${parquetFile}', file_row_number = true) ORDER BY file_row_number`);
at = 0;
for (let chunk = await stream.fetchChunk(); chunk && chunk.rowCount > 0; chunk = await stream.fetchChunk())
  for (const values of chunk.getRows()) compare("DuckDB", Object.fromEntries(names.map((n, i) => [n, values[i]])), rows[at++]);
same("rows that DuckDB reads", at, rows.length);
const types = await db.runAndReadAll(`DESCRIBE SELECT fetch_time, fetch_status, warc_record_offset, noindex, url FROM read_parquet('${parquetFile}')`);
same("types that DuckDB sees", types.getRows().map((r) => r[1]).join(), "TIMESTAMP WITH TIME ZONE,SMALLINT,INTEGER,BOOLEAN,VARCHAR");

if (wrong > 0) {
  console.error(`table: ${wrong} differences`);
  process.exit(1);
}
console.log(`table: hyparquet, DuckDB and csv-parse read the same ${rows.length} rows of ${names.length} columns in ${metadata.row_groups.length} row groups`);
