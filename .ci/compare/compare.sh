#!/bin/bash
# compare.sh DIR
# Runs the examples, and the same programs for colly and Scrapy, against one site on this
# machine that judges them, once undisturbed and once killed in the middle, and prints the
# table of docs/evidence/comparison.md. .ci/run does not call it: it takes some minutes, and
# nothing has to hold. It needs root, for a network namespace for each program, and installs
# Scrapy and ip from Debian's packages if necessary. The outputs of the programs stay in
# DIR, which must not exist yet.
set -euo pipefail
[ $# = 1 ] || { echo "usage: compare.sh DIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
mkdir "$1"
dir=$(realpath "$1")

missing=()
/usr/bin/python3 -c 'import scrapy' 2>/dev/null || missing+=(python3-scrapy)
command -v ip >/dev/null || missing+=(iproute2)
if [ ${#missing[@]} -gt 0 ]; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >&2
fi

mkdir "$dir/bin"
for program in titles catalogue linkcheck focused sitemap canonical; do
	(cd "$here/../.." && go build -o "$dir/bin/permesso-$program" "./examples/$program")
done
cd "$here"
go build -o "$dir/bin/permesso-lines" ./permesso/lines
for program in colly/*; do go build -o "$dir/bin/colly-$(basename "$program")" "./$program"; done
go build -o "$dir/bin/compare" .

echo "colly $(go list -m -f '{{.Version}}' github.com/gocolly/colly/v2)," \
	"Scrapy $(/usr/bin/python3 -c 'import scrapy; print(scrapy.__version__)'), $(go env GOVERSION)"
echo
"$dir/bin/compare" "$dir/bin" "$here/../.." "$dir"
