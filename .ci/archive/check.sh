#!/bin/bash
# check.sh DIR
# Checks with independent readers the archive in DIR: every *.warc.gz below it, and
# index.cdxj beside them if it exists. warcio lists and decodes the records, computes their
# digests, and makes the keys of the index; js-wacz packs the files; gowarc checks each record
# strictly. Installs them, and Node.js from Debian's packages if necessary.
set -euo pipefail
[ $# = 1 ] || { echo "usage: check.sh DIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
mapfile -d '' -t files < <(find "$(realpath "$1")" -name '*.warc.gz' -print0 | sort -z)
[ ${#files[@]} -gt 0 ] || { echo "archive: no *.warc.gz in $1" >&2; exit 1; }
index=$(find "$(realpath "$1")" -name index.cdxj | head -n 1)

"$here/install.sh" node
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/check.mjs" "$work"
cd "$work"
"$here/../node/link.sh"

for file in "${files[@]}"; do
	npx --no-install warcio index "$file" >index.jsonl
	[ -s index.jsonl ] || { echo "archive: warcio finds no record in $file" >&2; exit 1; }
done
(cd "$here/gowarc" && go build -o "$work/gowarc" .)
for file in "${files[@]}"; do
	./gowarc "$file" >gowarc.log || { echo "archive: gowarc does not accept $file" >&2; exit 1; }
done
node check.mjs "${files[@]}" ${index:+--index "$index"}
mkdir files
cp "${files[@]}" files
npx --no-install js-wacz create -f "files/*.warc.gz" -o packed.wacz >js-wacz.log 2>&1 && [ -s packed.wacz ] ||
	{ cat js-wacz.log >&2; exit 1; }
echo "archive: warcio, gowarc and js-wacz accept ${#files[@]} files"
