#!/bin/bash
# compare.sh DIR [PROGRAM]...
# Runs the examples, and the same programs for colly and Scrapy, against sites on this machine
# that judge them, undisturbed and killed in the middle, and prints the tables of
# docs/evidence/comparison.md. With names, it runs only these programs. .ci/run does not call it: it takes some minutes, and
# nothing has to hold. It needs root, for a network namespace for each program, and installs
# Scrapy and ip from Debian's packages if necessary. The outputs of the programs stay in
# DIR, which must not exist yet.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: compare.sh DIR [PROGRAM]..." >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
mkdir "$1"
dir=$(realpath "$1")
shift

missing=()
/usr/bin/python3 -c 'import scrapy' 2>/dev/null || missing+=(python3-scrapy)
/usr/bin/python3 -c 'import botocore' 2>/dev/null || missing+=(python3-botocore)
command -v ip >/dev/null || missing+=(iproute2)
if [ ${#missing[@]} -gt 0 ]; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >&2
fi

mkdir "$dir/bin"
for program in titles catalogue linkcheck focused sitemap canonical api feeds corpus policy mirror ownfetcher customers robotscheck; do
	(cd "$here/../.." && go build -o "$dir/bin/permesso-$program" "./examples/$program")
done
(cd "$here/../../examples/media" && go build -o "$dir/bin/permesso-media" .)
cd "$here"
for program in permesso/*; do go build -o "$dir/bin/permesso-$(basename "$program")" "./$program"; done
for program in colly/*; do go build -o "$dir/bin/colly-$(basename "$program")" "./$program"; done
go build -o "$dir/bin/compare" .

echo "colly $(go list -m -f '{{.Version}}' github.com/gocolly/colly/v2)," \
	"Scrapy $(/usr/bin/python3 -c 'import scrapy; print(scrapy.__version__)'), $(go env GOVERSION)"
echo
"$dir/bin/compare" "$dir/bin" "$here/../.." "$dir" "$@"
