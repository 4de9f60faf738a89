#!/bin/bash
# check.sh
# Compares the links, in order, with their texts, and the titles that are found in the HTML
# pages of Debian's documentation packages and of the directory pages, with those of the
# trees that parse5 makes of them, and with the tokens that css-tree finds in their style
# sheets. Installs what it needs: Node.js and the packages from Debian, parse5 and css-tree
# with npm.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
"$here/../archive/install.sh" node
"$here/../realcrawl/install.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$here/../.."
go build -o "$work/list" ./.ci/links/list
cp "$here/compare.mjs" "$work"
cd "$work"
"$here/../node/link.sh"

find -L /usr/share/doc "$here/pages" -type f \( -name '*.html' -o -name '*.htm' -o -name '*.html.[a-z][a-z]' \) -exec realpath {} + | sort -u >names
./list <names >ours.jsonl
node compare.mjs ours.jsonl
