#!/bin/bash
# table.sh CRAWL DIR
# Reads with independent readers what the program CRAWL exports of the crawl in DIR: the
# Parquet file with hyparquet and DuckDB, the CSV file with csv-parse. Every cell of one
# must be in the other, and the parts of each URL must be those of Node.js. Installs the
# readers, and Node.js from Debian's packages if necessary.
set -euo pipefail
[ $# = 2 ] || { echo "usage: table.sh CRAWL DIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
dir=$(realpath "$2")
"$here/install.sh" node
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/table.mjs" "$work"
cd "$work"
"$here/../node/link.sh"

"$crawl" export "$dir" --format parquet --output table.parquet --check 2>log || { cat log >&2; exit 1; }
"$crawl" export "$dir" --format csv --exact --output table.csv --check 2>log || { cat log >&2; exit 1; }
"$crawl" export "$dir" --format jsonl --output table.jsonl --check 2>log || { cat log >&2; exit 1; }
node table.mjs table.parquet table.csv table.jsonl
