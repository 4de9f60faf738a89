#!/bin/bash
# run.sh CRAWL_BINARY WORKDIR
# Crawls real documentation from an nginx on loopback, once undisturbed and once
# with SIGKILLs in between, and checks both against nginx's access log and
# against what is reachable on the disk. KILL_SEED=N repeats the kill moments.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
[ $# = 2 ] || { echo "usage: run.sh CRAWL_BINARY WORKDIR" >&2; exit 2; }
[ -x "$1" ] || { echo "run.sh: $1 is not a program" >&2; exit 2; }
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
token=permessotest
kills=5 concurrency=64 commit_group=1024
most=200 # seconds that a crawl may take
export PYTHONDONTWRITEBYTECODE=1

cd "$here"
./install.sh
python3 -m unittest -q test_check

nginx= job=
stop() { # ends what runs in the background
	local pid
	for pid in $job $nginx; do
		kill "$pid" 2>/dev/null && wait "$pid" || true
	done
	nginx= job=
}
trap stop EXIT
trap 'exit 130' INT TERM HUP

fail() {
	echo "real crawl: $*" >&2
	exit 1
}

free_ports() {
	python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))'
}

start() { # starts nginx with an empty access log
	rm -f "$site/access.log"
	./site.sh "$site" "$port" "$walk" &
	nginx=$!
	for ((i = 0; i < 100; i++)); do
		kill -0 "$nginx" 2>/dev/null || fail "nginx does not start: $(tail -n 3 "$site/error.log")"
		[ ! -s "$site/nginx.pid" ] || return 0
		sleep 0.1
	done
	fail "nginx does not start"
}

limited() { # SECONDS COMMAND...: in the background, so that a signal ends it at once
	timeout -k 5 "$@" </dev/null &
	job=$!
	local code=0
	wait $job || code=$?
	job=
	return $code
}

# The link to FTP would lead to nginx, which sends no greeting: the end of a crawl that
# waits for one depends on how long the rest of it takes.
crawl_into() { # DIR: the command line of the crawl, in $command
	command=("$crawl" run "$site/seeds.txt" --dir "$1" --name $token --contact mailto:ci@example.org
		--delay 20ms --depth 0 --max-host-pages 0 --patience 10s --exclude '^ftp:'
		--output warc,jsonl,links --connect-to "::127.0.0.1:$port" --allow-private)
}

check() { # NAME OPTION...
	local name=$1
	cp "$site/access.log" "$work/$name.access.log"
	if grep -Eiq 'early requests[^0-9]*0([^0-9]|$)' "$work/$name.out"; then
		echo "ok    the summary says: $(grep -Eio -m 1 'early requests[^0-9]*0' "$work/$name.out")"
	else
		tail -n 20 "$work/$name.out" >&2
		fail "the summary does not say that there were 0 early requests"
	fi
	python3 check.py --access "$work/$name.access.log" --crawl "$work/$name.crawl" \
		--fetched "$work/fetched.txt" --disallowed "$work/disallowed.txt" \
		--token $token --delay 0.02 --host-delay small.docs.test=1 "${@:2}"
}

site=$work/site
rm -rf "$site" "$work"/{plain,killed}.{crawl,out,access.log}
read -r port walk < <(free_ports)
start

echo "== what is reachable"
python3 reachable.py --port "$walk" --token $token --seeds "$site/seeds.txt" \
	--fetched "$work/fetched.txt" --disallowed "$work/disallowed.txt"
small=$(grep -c '//small\.docs\.test/' "$work/fetched.txt")
all=$(wc -l <"$work/fetched.txt")
[ "$all" -ge 3000 ] && [ "$small" -ge 20 ] && [ "$small" -le 60 ] && [ "$(wc -l <"$work/disallowed.txt")" -ge 100 ] ||
	fail "the documentation is not what this test needs: $all pages, $small of them on the host with a Crawl-delay"

echo "== crawl"
crawl_into "$work/plain.crawl"
began=$(date +%s)
limited $most "${command[@]}" >"$work/plain.out" 2>&1 || {
	code=$?
	tail -n 20 "$work/plain.out" >&2
	fail "the crawl ended with code $code"
}
echo "crawled in $(($(date +%s) - began)) s"
failed=0
check plain || failed=1

echo "== crawl, killed $kills times"
stop
start
seed=${KILL_SEED:-$RANDOM}
echo "KILL_SEED=$seed"
crawl_into "$work/killed.crawl"
began=$(date +%s)
limited $((most + 30)) ./kills.sh "$site/access.log" "$all" $kills "$seed" "${command[@]}" >"$work/killed.out" 2>&1 || {
	code=$?
	tail -n 20 "$work/killed.out" >&2
	fail "the killed crawl ended with code $code"
}
grep '^kills:' "$work/killed.out" || true
echo "crawled in $(($(date +%s) - began)) s"
mapfile -t moments < <(sed -n 's/^kills: .* at /--killed-at=/p' "$work/killed.out")
check killed --kills $kills --slack $((kills * (concurrency + commit_group))) "${moments[@]}" || failed=1

[ $failed = 0 ] || fail "FAILED, the files are in $work"
echo "real crawl: passed"
