// node ask.mjs FILE.md ...
// Runs the queries of documents in DuckDB, in their order: the blocks that are marked as
// SQL, and the arguments of duckdb -c. Each, except a view, must return rows.
import { readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const questions = process.argv.slice(2).flatMap((file) => {
  const text = readFileSync(file, "utf8");
  const blocks = [...text.matchAll(/^```sql\n(.*?)^```/gms)].map((m) => m[1]);
  const commands = [...text.matchAll(/`duckdb -c "(.*?)"`/g)].map((m) => m[1].replaceAll('\\"', '"'));
  if (blocks.length + commands.length < 2) throw new Error(`${file} has no questions`);
  return [...blocks, ...commands];
});
const duck = await (await DuckDBInstance.create()).connect();
let wrong = 0;
for (const sql of questions) {
  try {
    const rows = (await duck.runAndReadAll(sql)).getRows();
    if (rows.length === 0 && !/^create/.test(sql)) throw new Error("there is no answer");
  } catch (err) {
    wrong++;
    console.error(`reading: ${err.message}\n${sql}`);
  }
}
console.log(`reading: ${questions.length - wrong} of ${questions.length} questions are answered`);
process.exit(wrong === 0 ? 0 : 1);
