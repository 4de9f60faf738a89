#!/bin/bash
# check.sh CRAWL_BINARY WORKDIR
# Three nodes with their state in a PostgreSQL crawl real documentation from an nginx on loopback,
# while a crawl on one machine does the same. Both must have the same URLs with the same statuses
# and digests. By nginx's log the nodes request no page twice, no host twice at once and none too
# early. crawl collect makes one crawl of the nodes, which is verified, audited, reported, exported
# and described as every other.
set -euo pipefail
[ $# = 2 ] || { echo "usage: check.sh CRAWL_BINARY WORKDIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
token=permessotest
most=500 # seconds that the crawls may take on a busy machine
export PYTHONDONTWRITEBYTECODE=1

fail() {
	echo "cluster: $*" >&2
	exit 1
}

"$here/../realcrawl/install.sh"
bin=$("$here/../postgres/install.sh")

data= jobs=()
as_postgres=()
stop() {
	local pid
	for pid in "${jobs[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${jobs[@]}"; do wait "$pid" 2>/dev/null || true; done
	[ -z "$data" ] || (cd / && "${as_postgres[@]}" "$bin/pg_ctl" -D "$data/data" -m immediate stop >/dev/null 2>&1) || true
	[ -z "$data" ] || rm -rf "$data"
}
trap stop EXIT
trap 'exit 130' INT TERM HUP

# The directory of the server is not in WORKDIR: the name of a socket must be short, and the server,
# which does not run as root, must be able to enter the directory.
data=$(mktemp -d /tmp/pgXXXXXX)
if [ "$(id -u)" = 0 ]; then
	chown postgres "$data"
	as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
server() { # PROGRAM ARG...
	(cd "$data" && "${as_postgres[@]}" "$bin/$1" "${@:2}" >"$work/postgres.out" 2>&1) || fail "$1: $(tail -n 5 "$work/postgres.out")"
}
server initdb -D "$data/data" -U permesso --auth=trust --encoding=UTF8 --locale=C --no-sync
server pg_ctl -D "$data/data" -l "$data/log" -w -t 120 -o "-k $data -c listen_addresses= -c fsync=off" start
server createdb -h "$data" -U permesso docs
state="postgres:///docs?host=$data&user=permesso"

read -r port walk < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))')
# All sites of a registrable domain belong to one node, so each documentation gets a domain of its own.
site=$work/site
rm -rf "$site" "$work/source" "$work"/*.crawl "$work"/*.out
cp -r "$here/../realcrawl" "$work/source"
grep -rlZ 'docs\.test' "$work/source" | xargs -0 sed -i -E 's/([a-z]+)\.docs\.test/\1-docs.test/g'
"$work/source/site.sh" "$site" "$port" "$walk" &
jobs+=($!)
for ((i = 0; i < 300; i++)); do
	[ ! -s "$site/nginx.pid" ] || break
	sleep 0.1
done
[ -s "$site/nginx.pid" ] || fail "nginx does not start"

run() { # NAME PORT OPTION...: in the background
	timeout -k 5 $most "$crawl" run "$site/seeds.txt" --dir "$work/$1.crawl" --name $token --contact mailto:ci@example.org \
		--delay 10ms --depth 0 --max-host-pages 0 --patience 60s --exclude '^ftp:' --output warc,jsonl,links \
		--progress none --connect-to "::127.0.0.1:$2" --allow-private "${@:3}" </dev/null >"$work/$1.out" 2>&1 &
	jobs+=($!)
	crawls+=($!)
}
crawls=()
names=(one node1 node2 node3)
began=$SECONDS
run one "$walk"
for node in node1 node2 node3; do run $node "$port" --state "$state"; done
# A report of nodes that run, as soon as all have begun and one has pages.
for ((i = 0; i < 300; i++)); do
	[ "$(find "$work"/node{1,2,3}.crawl -name crawl.log -o -name pages.jsonl -size +0 2>/dev/null | wc -l)" -lt 4 ] || break
	sleep 0.1
done
"$crawl" report --json --state "$state" "$work"/node{1,2,3}.crawl >"$work/running.json"
for i in "${!crawls[@]}"; do
	code=0
	wait "${crawls[$i]}" || code=$?
	[ $code = 0 ] || fail "${names[$i]} ended with code $code: $(tail -n 20 "$work/${names[$i]}.out")"
done
echo "crawled in $((SECONDS - began)) s"

# Which node gets which documentation is decided by their partitions, so that one may get none.
"$crawl" status --state "$state" >"$work/status.out"
[ "$(grep -c '\bnode[123]\b' "$work/status.out")" -ge 3 ] || fail "the state does not have three nodes: $(cat "$work/status.out")"

nodes=("$work"/node{1,2,3}.crawl)
all=$work/all.crawl
"$crawl" report --json --state "$state" "${nodes[@]}" >"$work/nodes.json"
"$crawl" collect --state "$state" "${nodes[@]}" "$all"
python3 "$here/check.py" "$work/one.crawl" "$all" "$site/access.log" "${nodes[@]}"

"$crawl" verify "$all"
"$crawl" audit --out none "$all"
"$crawl" report --json "$all" >"$work/report.json"
python3 "$here/../report/check.py" "$all" "$work/report.json"
"$crawl" report --out "$work/report.html" "$all"
python3 - "$work"/{running,nodes,report}.json <<'END'
import json, sys
running, nodes, whole = [json.load(open(path)) for path in sys.argv[1:]]
assert [n["dir"][-11:] for n in running["nodes"]] == ["node%d.crawl" % n for n in (1, 2, 3)], running["nodes"]
assert running["requests"] <= nodes["requests"] and running["urls"] > 0 and running["other_lines"] == 0, (running["requests"], running["others"])
assert {n["state"] for n in nodes["nodes"]} == {"ended"}, nodes["nodes"]
differs = [name for name in whole if name != "name" and whole[name] != nodes.get(name)]
assert not differs, "the report of the nodes differs in: %s" % differs
END
pages=$(wc -l <"$all/pages.jsonl")
"$crawl" export "$all" --format jsonl --output "$work/all.jsonl" --force
[ "$(wc -l <"$work/all.jsonl")" -ge "$pages" ] || fail "the export has fewer rows than pages.jsonl"
"$crawl" export "$all" --format wacz --output "$work/all.wacz" --force
"$crawl" provenance "$all" >/dev/null
"$crawl" provenance --verify "$all" >/dev/null
python3 "$here/../provenance/check.py" "$all" nodes
echo "cluster: passed"
