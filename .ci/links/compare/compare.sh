#!/bin/bash
# compare.sh DIR
# Counts which links of real pages permesso finds, and which Scrapy's LinkExtractor, wget2
# and a headless Chromium find; docs/evidence/extraction.md has the results. .ci/run does
# not call it: it takes half an hour, and nothing has to hold. Prints two tables: how many
# references each finds, and the kinds of the references that only one of two finds.
#
# The pages are those of packages of Debian 12, fetched with apt-get and unpacked below
# DIR, at most 350 of each, evenly spread; the browser opens every fifteenth. Installs what
# it needs from Debian's packages: Scrapy, wget2 and its library with a compiler, Chromium
# and Node.js, and playwright-core with npm. What is in DIR already is not made again: a run
# that was interrupted continues.
set -euo pipefail
[ $# = 1 ] || { echo "usage: compare.sh DIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
mkdir -p "$1"
dir=$(realpath "$1")
case $dir in *[\ %?#]*) echo "compare.sh: the name of $dir must be a path of a URL as it is" >&2; exit 2 ;; esac
export LC_ALL=C.UTF-8

packages=(apache2-doc debian-handbook debian-policy erlang-doc exim4-doc-html gimp-help-en git-doc gnucash-docs
	libjs-jquery-ui-docs octave-doc openjdk-17-doc postgresql-doc-15 python-django-doc python3.11-doc
	qtbase5-doc-html rust-doc sqlite3-doc)

"$here/../../archive/install.sh" node chromium
missing=()
/usr/bin/python3 -c 'import scrapy' 2>/dev/null || missing+=(python3-scrapy)
command -v wget2 >/dev/null || missing+=(wget2)
[ -e /usr/include/wget.h ] || missing+=(wget2-dev)
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
if [ ${#missing[@]} -gt 0 ]; then
	if [ "$(id -u)" = 0 ]; then as_root=(env); else as_root=(sudo env); fi
	"${as_root[@]}" apt-get update -qq
	"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >&2
fi

if [ ! -e "$dir/names" ]; then
	mkdir -p "$dir/debs"
	(cd "$dir/debs" && apt-get download -qq "${packages[@]}")
	for deb in "$dir"/debs/*.deb; do
		dpkg-deb -x "$deb" "$dir/unpacked"
		dpkg-deb -c "$deb" | awk '$1 ~ /^-/ { print substr($0, index($0, "./") + 1) }' |
			grep -E '\.(html|htm|html\.[a-z][a-z])$' | grep -v '[#?% ]' | LC_ALL=C sort |
			awk -v most=350 -v root="$dir/unpacked" '{ line[NR] = $0 }
				END { n = NR < most ? NR : most; for (i = 0; i < n; i++) print root line[int(i * NR / n) + 1] }'
	done >"$dir/names.part"
	mv "$dir/names.part" "$dir/names"
fi
awk 'NR % 15 == 1' "$dir/names" >"$dir/sample"

# find_in FILE INPUT COMMAND... writes what a program finds to FILE, unless FILE exists.
find_in() {
	local file=$dir/$1 input=$dir/$2
	shift 2
	[ ! -e "$file" ] || return 0
	"$@" <"$input" >"$file.part"
	mv "$file.part" "$file"
}

(cd "$here/../../.." && go build -o "$dir/list" ./.ci/links/list && go build -o "$dir/count" ./.ci/links/compare/count)
rm -f "$dir/ours.jsonl" # these may have changed
find_in ours.jsonl names "$dir/list"

gcc -O1 -Wall -o "$dir/wget2list" "$here/wget2.c" -lwget
find_in wget2.tsv names "$dir/wget2list"
find_in wget2.sample sample "$dir/wget2list"
# The program itself reports what it would request: what its library finds.
program() {
	while read -r name; do
		# It fails at the end: no proxy listens at the given address.
		{ wget2 --no-config --spider --force-html --no-robots --tries=1 --max-threads=1 --input-file "$name" --base "http://docs.test$name" \
			--http-proxy=http://127.0.0.1:9 --https-proxy=http://127.0.0.1:9 </dev/null 2>/dev/null || true; } |
			sed -n "s|^Adding URL: |$name\t|p"
	done
}
find_in wget2.program sample program
each() { sed 's/#.*//' | LC_ALL=C sort -u; }
echo "wget2: of $(wc -l <"$dir/sample") pages program and library find the same except" \
	"$(comm -3 <(cut -f1,4 "$dir/wget2.sample" | each) <(each <"$dir/wget2.program") | wc -l) references" >&2

find_in scrapy.tsv names /usr/bin/python3 "$here/scrapy_links.py"

if [ ! -e "$dir/browser.tsv" ]; then
	mkdir -p "$dir/node"
	cp "$here/browser.mjs" "$dir/node"
	(cd "$dir/node" && "$here/../../node/link.sh")
	CHROMIUM=${CHROMIUM:-$(command -v chromium)} find_in browser.tsv sample node "$dir/node/browser.mjs" "$dir/unpacked"
fi

echo "Scrapy $(/usr/bin/python3 -c 'import scrapy; print(scrapy.__version__)')," \
	"wget2 $(dpkg-query -W -f '${Version}' wget2), $(chromium --version 2>/dev/null | cut -d' ' -f1,2), of pages of" \
	"$(cd "$dir/debs" && printf '%s\n' *.deb | sed 's/_[^_]*$//; s/_/ /; s/%3a/:/' | paste -sd, | sed 's/,/, /g')"
echo
"$dir/count" "$dir/unpacked/usr/share" "$dir/ours.jsonl" \
	"Scrapy, as it is=$dir/scrapy.tsv:default" \
	"Scrapy, widened=$dir/scrapy.tsv:link,rel-link,embed,rel-embed" \
	"wget2=$dir/wget2.tsv:wget2" \
	"Chromium without scripts=$dir/browser.tsv:plain" \
	"Chromium=$dir/browser.tsv:scripts"
