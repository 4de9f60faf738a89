#!/bin/bash
# pages.sh CRAWL_BINARY WORKDIR
# Crawls real documentation and our own pages (shown), with all their requisites, from a
# real nginx, and exports the crawl as WACZ. Opens the pages in a headless Chromium, first
# live, and then, without the nginx, from the WACZ. The replay must show everything that was
# shown live, and the pictures must be alike. PAGES is the number of pages of each
# documentation to open (10); 110 take some minutes.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
[ $# = 2 ] || { echo "usage: pages.sh CRAWL_BINARY WORKDIR" >&2; exit 2; }
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
pages=${PAGES:-10}
"$here/../realcrawl/install.sh"
"$here/install.sh" node chromium

rm -rf "$work"/{www,shots,pages.crawl}
mkdir "$work/www" "$work/shots"
cp -r "$here"/shown/{shown,cdn} "$work/www"
python3 "$here/shown/make.py" "$work/www"
cp "$here/shown/explained.txt" "$work/shots"

read -r port walk < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))')
"$here/../realcrawl/site.sh" "$work/site" "$port" "$walk" "$work/www" &
nginx=$!
trap 'kill $nginx 2>/dev/null; wait $nginx || true' EXIT
for ((i = 0; i < 100; i++)); do
	[ ! -s "$work/site/nginx.pid" ] || break
	sleep 0.1
done

# All of our pages, and so many of each documentation, evenly spread, except those that
# robots.txt of these hosts forbids. Each of our pages is compared as a picture, and every
# tenth of the others.
ways() { # URL
	case $1 in
	*/srcset.html) echo shot,dense,narrow,dark,printed ;;
	*/styles.html) echo shot,dense,printed ;;
	*/noscript.html) echo shot,scriptless ;;
	*) echo shot ;;
	esac
}
spread() { # HOST DIR
	(cd "$2" && find . -name '*.html' ! -path './whatsnew/*' ! -path './library/*xml*' -printf 'http://'"$1"'/%P\n') | sort |
		awk -v most="$pages" '{ all[NR] = $0 } END { for (i = 0; i < most && i < NR; i++) print all[1 + int(i * NR / most)] (i % 10 ? "" : "\tshot") }'
}
newest() { # the last of the existing directories that match a pattern
	compgen -G "$1" | sort -V | tail -n 1
}
{
	for page in "$work"/www/shown/*.{html,xhtml}; do
		url=http://shown.docs.test/$(basename "$page")
		[[ $url = */framed.html ]] || printf '%s\t%s\n' "$url" "$(ways "$url")"
	done
	spread python.docs.test "$(newest '/usr/share/doc/python3.*/html')"
	spread postgresql.docs.test "$(newest '/usr/share/doc/postgresql-doc-*/html')"
} >"$work/urls.txt"
cut -f 1 "$work/urls.txt" >"$work/seeds.txt"
"$crawl" run --name permessotest --contact mailto:ci@example.org --delay 10ms --patience 10s --scope list \
	--requisites page --connect-to "::127.0.0.1:$walk" --allow-private --progress none --dir "$work/pages.crawl" "$work/seeds.txt"
"$crawl" export "$work/pages.crawl" --format wacz --check --force --output "$work/pages.wacz"
python3 - "$work/pages.crawl/pages.jsonl" >"$work/shots/archived.txt" <<'PYTHON'
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    page = json.loads(line)
    if page["status"] < 400:
        print(page["url"])
PYTHON

modules=$work/node
mkdir -p "$modules"
cp "$here"/{pages,serve}.mjs "$modules"
cd "$modules"
"$here/../node/link.sh"
export CHROMIUM=${CHROMIUM:-$(command -v chromium)}
node pages.mjs live "$walk" "$work/urls.txt" "$work/shots"
kill $nginx
wait $nginx || true
trap - EXIT
node pages.mjs replay package "$work/pages.wacz" "$work/urls.txt" "$work/shots"
