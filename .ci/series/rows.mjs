// node rows.mjs FILE.parquet SNAPSHOT...
// Compares the table of a series, as DuckDB reads it, with the indexes and pages.jsonl of
// its snapshots.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";

const [table, ...snapshots] = process.argv.slice(2);
const lines = (...path) => readFileSync(join(...path), "utf8").split("\n").filter(Boolean);
const duck = await (await DuckDBInstance.create()).connect();
const ask = async (what) =>
  (await duck.runAndReadAll(`SELECT strftime(snapshot::timestamp, '%Y%m%dT%H%M%SZ.crawl') AS name, ${what} FROM '${table}' WHERE url NOT LIKE '%/robots.txt' GROUP BY ALL ORDER BY ALL`)).getRows();

const want = [];
const classes = [];
for (const snapshot of snapshots) {
  const captures = lines(snapshot, "index.cdxj").map((line) => JSON.parse(line.slice(line.indexOf("{"))));
  const pages = captures.filter((c) => !c.url.endsWith("/robots.txt"));
  want.push([basename(snapshot), pages.length, pages.filter((c) => c.mime === "warc/revisit").length].join());
  const of = {};
  for (const { change } of lines(snapshot, "pages.jsonl").map((line) => JSON.parse(line))) if (change) of[change] = (of[change] ?? 0) + 1;
  classes.push(...Object.entries(of).map(([change, n]) => [basename(snapshot), change, n].join()).sort());
}
await duck.run("SET TimeZone = 'UTC'");
const rows = (await ask("count(*)::int AS n, (count(*) FILTER (warc_record_type = 'revisit'))::int AS repeated")).map((row) => row.join());
const changes = (await ask("change, count(*)::int AS n")).filter((row) => row[1] !== null).map((row) => row.join());
for (const [what, said, found] of [["rows and revisits", rows, want], ["changes", changes, classes]])
  if (said.join("; ") !== found.join("; ")) {
    console.error(`series: ${what} of the table: ${said.join("; ")}, want ${found.join("; ")}`);
    process.exit(1);
  }
console.log(`series: DuckDB reads the rows of ${rows.length} snapshots: ${rows.join("; ")}`);
