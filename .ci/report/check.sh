#!/bin/bash
# check.sh CRAWL_BINARY CRAWL_DIR WORKDIR
# Reports on the crawl in CRAWL_DIR: an independent script must find the same figures in
# crawl.log, and the page must show them in a headless Chromium without any request. The
# same holds for a crawl of hostile sites. The pictures are in WORKDIR. Installs Chromium
# and Node.js from Debian's packages if necessary.
set -euo pipefail
[ $# = 3 ] || { echo "usage: check.sh CRAWL_BINARY CRAWL_DIR WORKDIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
dir=$(realpath "$2")
mkdir -p "$3"
work=$(realpath "$3")

"$crawl" report --json "$dir" >"$work/report.json"
python3 "$here/check.py" "$dir" "$work/report.json"
"$crawl" report --out "$work/report.html" "$dir"
(cd "$here/../.." && PERMESSO_PAGE=$work/hostile.html go test ./internal/report -run '^TestWhatSitesSayIsTextInAReport$' -count=1)

"$here/../archive/install.sh" node chromium
cp "$here/look.mjs" "$work"
cd "$work"
"$here/../node/link.sh"
export CHROMIUM=${CHROMIUM:-$(command -v chromium)}
node look.mjs report.html pictures
node look.mjs hostile.html hostile
