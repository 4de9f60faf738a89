#!/bin/bash
# check.sh CRAWL [DIR]
# Runs each query of docs/guide/reading.md in DuckDB, on a crawl of the demo that the
# program CRAWL makes, and on the crawl in DIR, if it has links. Installs DuckDB, and
# Node.js from Debian's packages if necessary.
set -euo pipefail
[ $# = 1 ] || [ $# = 2 ] || { echo "usage: check.sh CRAWL [DIR]" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
document=$(realpath "$here/../../docs/guide/reading.md")
crawl=$(realpath "$1")
real=${2:+$(realpath "$2")}
"$here/../archive/install.sh" node
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/ask.mjs" "$work"
cd "$work"
"$here/../node/link.sh"

# exports runs the commands of the document that export.
exports() {
	local command n=0
	while read -r command; do
		"$crawl" ${command#crawl } 2>log || { cat log >&2; exit 1; }
		n=$((n + 1))
	done < <(sed -n 's/^    \(crawl export .*\)/\1/p' "$document")
	[ $n = 3 ] || { echo "reading: $n exports in $document" >&2; exit 1; }
}

echo "== reading the demo"
while read -r command; do
	"$crawl" $command >log 2>&1 </dev/null || { cat log >&2; exit 1; }
done < <(sed -n 's/^    crawl \(demo .*\)/\1/p' "$document")
exports
node ask.mjs "$document"

[ -n "$real" ] || exit 0
echo "== reading $real"
rm -rf demo.crawl demo.parquet demo.csv weekly.parquet
ln -s "$real" demo.crawl
exports
node ask.mjs "$document"
