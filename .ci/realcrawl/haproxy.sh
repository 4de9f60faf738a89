#!/bin/bash
# haproxy.sh CRAWL_BINARY WORKDIR
# Crawls a site behind a real HAProxy on loopback whose backend fails for a while: 503s make
# the crawl back off, and it still fetches every page in the end.
set -euo pipefail
[ $# = 2 ] || { echo "usage: haproxy.sh CRAWL_BINARY WORKDIR" >&2; exit 2; }
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
PATH=$PATH:/usr/sbin
fail() {
	echo "haproxy: $*" >&2
	exit 1
}

answers() { # HAProxy itself: another process may accept connections on the port
	(exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /robots.txt HTTP/1.0\r\n\r\n' >&3 && grep -q '^HTTP/1.. 404' <&3) 2>/dev/null
}

"$(dirname "$(realpath "$0")")/install.sh"

root=$work/root
mkdir -p "$root"
pages=8
{
	printf '<title>Home</title>'
	for ((i = 1; i <= pages; i++)); do printf '<a href="%d.html">%d</a>\n' $i $i; done
} >"$root/index.html"
for ((i = 1; i <= pages; i++)); do printf '<title>Page %d</title>' $i >"$root/$i.html"; done

read -r port backend < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))')
# The backend is down at first: HAProxy itself answers 503.
cat >"$work/haproxy.cfg" <<CONF
defaults
	mode http
	timeout connect 1s
	timeout client 30s
	timeout server 30s
	retries 0
frontend front
	bind 127.0.0.1:$port
	http-request return status 404 content-type text/plain string none if { path /robots.txt }
	default_backend back
backend back
	server one 127.0.0.1:$backend
CONF
haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.out" 2>&1 &
proxy=$!
site=
trap 'kill $proxy $site 2>/dev/null; wait $proxy $site 2>/dev/null || true' EXIT
for ((i = 0; i < 100; i++)); do
	kill -0 "$proxy" 2>/dev/null || fail "haproxy does not start: $(tail -n 3 "$work/haproxy.out")"
	! answers || break
	sleep 0.1
done
answers || fail "haproxy does not answer: $(tail -n 3 "$work/haproxy.out")"

"$crawl" run --dir "$work/site.crawl" --name permessotest --contact mailto:ci@example.org --delay 20ms --patience 90s \
	--progress none --connect-to "::127.0.0.1:$port" http://site.test/ >"$work/crawl.out" 2>&1 &
crawler=$!
trap 'kill $crawler $proxy $site 2>/dev/null; wait $crawler $proxy $site 2>/dev/null || true' EXIT
log=$work/site.crawl/crawl.log
for ((i = 0; i < 900; i++)); do # until the first 503, also if robots.txt had to be requested again
	! grep -qs ' 503 .* http://site.test/ ' "$log" || break
	kill -0 "$crawler" 2>/dev/null || fail "the crawl ended early: $(tail -n 5 "$work/crawl.out")"
	sleep 0.1
done
python3 -m http.server --bind 127.0.0.1 --directory "$root" "$backend" >"$work/site.out" 2>&1 &
site=$!
wait "$crawler" || fail "the crawl failed: $(tail -n 5 "$work/crawl.out")"

python3 - "$log" "$work/site.crawl/pages.jsonl" "$pages" <<'PY'
import json, sys
from datetime import datetime
log, pages, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
def fail(why):
    sys.exit("haproxy: " + why)
requests = []
for line in open(log):
    f = line.split()
    if not f[3].startswith("http://site.test/"):
        continue
    notes = dict(a.split(":", 1) for a in f[11].split(","))
    start = datetime.fromisoformat(notes["start"].replace("Z", "+00:00")).timestamp()
    requests.append((start, start + float(notes["took"]), int(f[1]), f[3], float(notes.get("asked", 0)), notes.get("clock")))
refused = [r for r in requests if r[2] == 503]
if not refused:
    fail("there was no 503")
for before, after in zip(requests, requests[1:]):
    gap = after[0] - before[1]
    if gap < after[4] - 1e-5:
        fail("%s was asked for after %.6f s, not %.6f" % (after[3], gap, after[4]))
    if before[2] != 503:
        continue
    if after[5] != "back-off" or gap < 4.9:
        fail("%.1f s after a 503, by the clock %s: no back-off" % (gap, after[5]))
    if after[3] != before[3]:
        fail("after a 503 for %s the site was asked for %s" % (before[3], after[3]))
got = [json.loads(l) for l in open(pages)]
if len(got) != n + 1 or any(p["status"] != 200 for p in got):
    fail("%d pages, want %d with status 200" % (len(got), n + 1))
print("haproxy: passed, %d answers 503, least pause after one %.1f s, then %d pages" % (
    len(refused), min(b[0] - a[1] for a, b in zip(requests, requests[1:]) if a[2] == 503), len(got)))
PY
