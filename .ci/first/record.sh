#!/bin/bash
# record.sh CRAWL [--check]
# Runs the commands of docs/guide/first-crawl.md with the program CRAWL, on a seed file of
# 20 hosts that crawlbench serves, and writes their output into the document. With --check
# it writes nothing: the commands must print lines of the same kinds, and have the expected
# exit codes.
set -euo pipefail
[ $# = 1 ] || [ "${2:-}" = --check ] || { echo "usage: record.sh CRAWL [--check]" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
work=$(mktemp -d)
web=
trap '[ -z "$web" ] || kill "$web"; rm -rf "$work"' EXIT
(cd "$here/../../cmd/crawlbench" && go build -o "$work/crawlbench" .)
"$work/crawlbench" web -listen 127.0.0.1:0 -hosts 20 -pages 30 >"$work/web.json" &
web=$!
for ((i = 0; i < 100; i++)); do
	[ ! -s "$work/web.json" ] || break
	sleep 0.1
done
mkdir -p "$work/bin" "$work/here" "$work/home"
cp "$crawl" "$work/bin/crawl"
port=$(python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["Port"])' <"$work/web.json")
for ((i = 0; i < 20; i++)); do printf 'http://h%08d.test/\n' "$i"; done >"$work/here/seeds.txt"
cd "$work/here"
LC_COLLATE=C HOME=$work/home XDG_CONFIG_HOME=$work/home PATH=$work/bin:$PATH \
	python3 "$here/record.py" "$here/../../docs/guide/first-crawl.md" "::127.0.0.1:$port" "${2:-}"
