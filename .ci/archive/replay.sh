#!/bin/bash
# replay.sh FILE.wacz URL TEXT SCREENSHOT.png
# Replays a page of a WACZ with ReplayWeb.page in a headless Chromium: TEXT, an image and a
# stylesheet must be shown. Installs Chromium and Node.js from Debian's packages if
# necessary, and ReplayWeb.page and playwright-core.
set -euo pipefail
[ $# = 4 ] || { echo "usage: replay.sh FILE.wacz URL TEXT SCREENSHOT.png" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
wacz=$(realpath "$1")
screenshot=$(realpath -m "$4")
"$here/install.sh" node chromium
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/{replay,serve}.mjs "$work"
cd "$work"
"$here/../node/link.sh"
CHROMIUM=${CHROMIUM:-$(command -v chromium)} node replay.mjs package "$wacz" "$2" "$3" "$screenshot"
