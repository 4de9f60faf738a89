#!/bin/bash
# compare.sh CRAWL DIR
# Compares the main text of real pages with that of Mozilla's readability.js and of
# go-trafilatura, word by word, and beside it the text of whole pages: the tables of
# docs/evidence/content.md.
# The program CRAWL crawls the pages from a server on this machine, and exports their text. The
# pages are documentation in /usr/share/doc, 30 of each package, and the pages of news sites
# and blogs that are test cases of go-readability. The result and the pages stay in DIR.
set -euo pipefail
[ $# = 2 ] || { echo "usage: compare.sh CRAWL DIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
"$here/../realcrawl/install.sh"
"$here/../archive/install.sh" node
cases=$(cd "$here" && go list -m -f '{{.Dir}}' codeberg.org/readeck/go-readability/v2)/test-pages

cd "$work"
rm -rf www docs.crawl seeds.txt
mkdir www
cp "$here/compare.mjs" "$here/package.json" "$here/package-lock.json" .
npm ci --silent --no-audit --no-fund --ignore-scripts

# spread NAME DIR copies 30 pages of a directory, evenly spread.
spread() {
	mkdir "www/$1"
	find "$2/" -name '*.html' -type f -size -300k -print0 | sort -z | awk -v RS='\0' '{ all[NR] = $0 } END { for (i = 0; i < 30 && i < NR; i++) print all[1 + int(i * NR / 30)] }' |
		awk -v name="$1" '{ print $0 "\t" "www/" name "/" NR ".html" }' | while IFS=$'\t' read -r from to; do cp "$from" "$to"; done
}
spread apache /usr/share/doc/apache2-doc/manual/en
spread python "$(compgen -G '/usr/share/doc/python3.*/html' | sort -V | tail -n 1)"
spread postgresql "$(compgen -G '/usr/share/doc/postgresql-doc-*/html' | sort -V | tail -n 1)"
spread sqlite /usr/share/doc/sqlite3
spread policy /usr/share/doc/debian-policy/policy.html
for more in fish valgrind nodejs libxslt1-dev; do
	[ ! -d "/usr/share/doc/$more" ] || spread "$more" "/usr/share/doc/$more"
done
mkdir www/news
for page in "$cases"/*/source.html; do
	cp "$page" "www/news/$(basename "$(dirname "$page")").html"
done

port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
python3 -m http.server --bind 127.0.0.1 --directory www "$port" >server.log 2>&1 &
trap "kill $!" EXIT
for ((i = 0; i < 50; i++)); do
	! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	sleep 0.1
done
(cd www && find . -name '*.html' -printf 'http://docs.test/%P\n') | sort >seeds.txt
"$crawl" run --name permessotest --contact mailto:ci@example.org --delay 10ms --patience 10s --scope list \
	--connect-to "::127.0.0.1:$port" --allow-private --progress none --output jsonl,warc --dir docs.crawl seeds.txt >crawl.txt 2>&1 || { cat crawl.txt >&2; exit 1; }
"$crawl" export docs.crawl --format text --force --output main.jsonl || [ $? = 3 ]
"$crawl" export docs.crawl --format text --whole --force --output whole.jsonl || [ $? = 3 ]
node compare.mjs www main.jsonl whole.jsonl | tee table.md
(cd "$here/trafilatura" && go build -o "$work/trafilatura" .)
./trafilatura www main.jsonl whole.jsonl | tee -a table.md
