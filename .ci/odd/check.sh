#!/bin/bash
# check.sh
# What Chromium shows of odd answers must be what a crawl keeps of them, or the table must
# say why not (docs/reference/odd-answers.md); and independent readers must accept the
# archive of a crawl of all of them. Installs Chromium and Node.js from Debian's packages if
# necessary.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
"$here/../archive/install.sh" node chromium
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$here/../.."
PERMESSO_CHROMIUM=${CHROMIUM:-$(command -v chromium)} PERMESSO_ODD=$work/odd.crawl \
	go test ./crawler -run '^TestOddAnswers' -count=1
"$here/../archive/check.sh" "$work/odd.crawl"
