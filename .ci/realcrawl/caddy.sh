#!/bin/bash
# caddy.sh CRAWL_BINARY WORKDIR
# Crawls a site from a real Caddy on loopback: HTTP/2 over TLS with a certificate authority
# of its own, compressed pages, one connection. Without trust in that authority nothing may
# be crawled.
set -euo pipefail
[ $# = 2 ] || { echo "usage: caddy.sh CRAWL_BINARY WORKDIR" >&2; exit 2; }
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
fail() {
	echo "caddy: $*" >&2
	exit 1
}

"$(dirname "$(realpath "$0")")/install.sh"

root=$work/root
mkdir -p "$root/private"
printf 'User-agent: *\nDisallow: /private/\n' >"$root/robots.txt"
pages=12
{
	printf '<title>Home</title><a href="private/x.html">x</a>'
	for ((i = 1; i <= pages; i++)); do printf '<a href="%d.html">%d</a>\n' $i $i; done
} >"$root/index.html"
for ((i = 1; i <= pages; i++)); do
	{
		printf '<title>Page %d</title>\n' $i
		for ((j = 0; j < 200; j++)); do printf '<p>Paragraph %d of page %d.</p>\n' $j $i; done
	} >"$root/$i.html"
done
printf secret >"$root/private/x.html"

port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/Caddyfile" <<CONF
{
	admin off
	skip_install_trust
	storage file_system $work/storage
	https_port $port
	auto_https disable_redirects
}
https://site.test:$port {
	bind 127.0.0.1
	tls internal
	root * $root
	encode zstd gzip
	file_server
	log
}
CONF
HOME=$work caddy run --config "$work/Caddyfile" --adapter caddyfile >"$work/caddy.out" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT
ca=$work/storage/pki/authorities/local/root.crt
for ((i = 0; i < 100; i++)); do
	kill -0 "$server" 2>/dev/null || fail "caddy does not start: $(tail -n 3 "$work/caddy.out")"
	! { [ -s "$ca" ] && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; } || break
	sleep 0.1
done

run() { # DIR OPTION...
	"$crawl" run --dir "$work/$1.crawl" --name permessotest --contact mailto:ci@example.org --delay 20ms \
		--progress none --connect-to "::127.0.0.1:$port" "${@:2}" https://site.test/ >"$work/$1.out" 2>&1
}

! run distrust --patience 1s || fail "a certificate of an unknown authority was accepted"
grep -q ' error:tls\|,error:tls' "$work/distrust.crawl/crawl.log" || fail "crawl.log does not say error:tls"
! grep -q '"logger":"http.log.access' "$work/caddy.out" || fail "a request was sent to a server that is not trusted"

SSL_CERT_FILE=$ca run trust --patience 5s || fail "the crawl failed: $(tail -n 5 "$work/trust.out")"

python3 - "$work" "$root" "$pages" <<'PY'
import base64, hashlib, json, os, sys
work, root, pages = sys.argv[1], sys.argv[2], int(sys.argv[3])
def fail(why):
    sys.exit("caddy: " + why)
asked = [json.loads(line) for line in open(work + "/caddy.out") if '"logger":"http.log.access' in line]
uris = [a["request"]["uri"] for a in asked]
if uris[0] != "/robots.txt" or "/private/x.html" in uris:
    fail("asked for %s" % uris)
if len(uris) != len(set(uris)) or len(uris) != pages + 2:
    fail("%d requests for %d URLs, want %d" % (len(uris), len(set(uris)), pages + 2))
protocols = {a["request"]["proto"] for a in asked}
if protocols != {"HTTP/2.0"}:
    fail("protocols %s" % protocols)
ports = {a["request"]["remote_port"] for a in asked}
if len(ports) != 1:
    fail("%d connections, want 1" % len(ports))
codings = {a["resp_headers"].get("Content-Encoding", [""])[0] for a in asked if a["request"]["uri"] not in ("/", "/robots.txt")}
if not codings <= {"zstd", "gzip"}:
    fail("content codings %s" % codings)
for page in map(json.loads, open(work + "/trust.crawl/pages.jsonl")):
    name = page["url"].removeprefix("https://site.test/") or "index.html"
    body = open(os.path.join(root, name), "rb").read()
    if page["size"] != len(body) or page["digest"] != "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode():
        fail("%s is not what is on the disk" % page["url"])
lines = [l for l in open(work + "/trust.crawl/crawl.log") if " https://site.test/" in l and " -9998 " not in l]
for l in lines:
    if "proto:h2" not in l:
        fail("a line without proto:h2: " + l)
print("caddy: passed, %d requests over one HTTP/2 connection, content codings %s" % (len(uris), ", ".join(sorted(codings))))
PY
