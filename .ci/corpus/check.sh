#!/bin/bash
# check.sh CRAWL
# Runs the commands of docs/guide/corpus.md and docs/guide/documents.md with the program CRAWL,
# on a part of Python's documentation that a real server serves: the crawls and exports, the
# queries in DuckDB, and the searches in SQLite. warcio and gowarc read the WET file. Installs
# DuckDB, warcio and gowarc, and Node.js, sqlite3 and the documentation from Debian's packages if necessary.
set -euo pipefail
[ $# = 1 ] || { echo "usage: check.sh CRAWL" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
guides=$(realpath "$here/../../docs/guide")
crawl=$(realpath "$1")
"$here/../realcrawl/install.sh"
"$here/../archive/install.sh" node sqlite3
work=$(mktemp -d)
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
cp "$here/../reading/ask.mjs" "$here/../archive/check.mjs" "$work"
cd "$work"
"$here/../node/link.sh"

port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
site=$(compgen -G '/usr/share/doc/python3.*/html' | sort -V | tail -n 1)
python3 -m http.server --bind 127.0.0.1 --directory "$site" "$port" >server.log 2>&1 &
server=$!
for ((i = 0; i < 50; i++)); do
	! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	sleep 0.1
done

flags="--delay 10ms --patience 5s --connect-to ::127.0.0.1:$port --allow-private --progress none --limit 40"
ln -s "$crawl" crawl
export PATH=$work:$PATH
export CRAWL_NAME=permessotest CRAWL_CONTACT=mailto:ci@example.org
for guide in corpus documents; do
	echo "== $guide"
	document=$guides/$guide.md
	rm -rf docs.crawl
	n=0
	while read -r command; do
		case $command in
		run\ *) command="${command/https:/http:} $flags" ;;
		esac
		"$crawl" $command >log 2>&1 </dev/null || { cat log >&2; exit 1; }
		n=$((n + 1))
	done < <(sed -n 's/^    crawl \(.*\)/\1/p' "$document")
	case $guide in
	corpus) [ $n = 4 ] && [ -s docs.crawl/text.jsonl ] ;;
	*) [ $n = 3 ] ;;
	esac || { echo "corpus: $n commands in $document" >&2; exit 1; }
	node ask.mjs "$document"
	# Each block for the shell must print something, or make the file docs.db. The crawl of
	# corpus.md begins again, and only its export is new.
	awk -v RS='```sh\n' -F '\n```' 'NR > 1 { print $1 > "block" NR ".sh" }' "$document"
	sed -i "s|crawl run |crawl run $flags |; s|https:|http:|" block*.sh
	rm -rf docs.crawl
	for block in block*.sh; do
		[ -e "$block" ] || continue
		bash -euo pipefail "$block" >out || { cat "$block" >&2; exit 1; }
		[ -s out ] || [ "$block" = block2.sh ] || { echo "corpus: no answer to" >&2; cat "$block" >&2; exit 1; }
	done
	rm -f block*.sh
done
[ "$(find docs -name '*.md' | wc -l)" -ge 30 ] || { echo "corpus: too few files of Markdown" >&2; exit 1; }
node check.mjs corpus.warc.wet.gz
(cd "$here/../archive/gowarc" && go build -o "$work/gowarc" .)
./gowarc corpus.warc.wet.gz
npx --no-install warcio index corpus.warc.wet.gz >index.jsonl
[ "$(grep -c '"warc-type":"conversion"' index.jsonl)" -ge 30 ] || { head index.jsonl >&2; exit 1; }
echo "corpus: both guides work, and warcio and gowarc read the WET file"
