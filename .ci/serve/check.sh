#!/bin/bash
# check.sh CRAWL WORKDIR
# Drives the pages of crawl serve in a headless Chromium, with axe from npm, and lets a real
# Prometheus scrape a crawl: its figures must be those that the dashboard for Grafana shows. The
# pictures are in WORKDIR. Installs Chromium, Node.js and Prometheus from Debian's packages if
# necessary.
set -euo pipefail
[ $# = 2 ] || { echo "usage: check.sh CRAWL WORKDIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
"$here/../archive/install.sh" node chromium prometheus
cp "$here"/{check.mjs,prometheus.mjs} "$here/../../docs/guide/grafana.json" "$work"
cd "$work"
"$here/../node/link.sh"
export CHROMIUM=${CHROMIUM:-$(command -v chromium)}
node check.mjs "$crawl" "$work/pictures"
node prometheus.mjs "$crawl" "$work/scraped"
