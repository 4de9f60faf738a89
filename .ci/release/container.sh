#!/bin/bash
# container.sh CONTEXT WORK
# Builds the container image twice from the files of a release, compares both, and runs it: the
# demo is crawled without a network, the crawl stays in its volume, exit codes are those of the
# command, and a stop lets a run end as Ctrl-C does.
set -euo pipefail
context=$1 work=$2
fail() { echo "container.sh: $*" >&2; exit 1; }
mkdir -p "$work/store" "$work/run"
# The images and containers of this check are in a directory of its own.
pod() { podman --root "$work/store" --runroot "$work/run" --storage-driver vfs --runtime runc --cgroup-manager cgroupfs "$@"; }
trap 'pod rm -fa >/dev/null 2>&1; pod rmi -fa >/dev/null 2>&1; rm -rf "$work"' EXIT

build() { pod build -q --no-cache --isolation chroot --timestamp 0 --platform "linux/$1" -t "permesso-$2" "$context"; }
arch=$(dpkg --print-architecture)
build "$arch" one >/dev/null
build "$arch" two >/dev/null
one=$(pod image inspect -f '{{.Id}}' permesso-one)
[ "$one" = "$(pod image inspect -f '{{.Id}}' permesso-two)" ] || fail "two images of the same files differ"
for other in amd64 arm64; do
	[ $other != "$arch" ] || continue
	build $other other >/dev/null
	[ "$(pod image inspect -f '{{.Architecture}}' permesso-other)" = $other ] || fail "the image for $other is of another architecture"
done

# Limits that can be set without a privilege, because they are low.
run() { pod run --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "$@"; }
code() { local got=0; "$@" >"$work/said" 2>&1 || got=$?; echo $got; }
want() {
	local wanted=$1 got
	shift
	got=$(code "$@")
	[ "$got" = "$wanted" ] || { cat "$work/said" >&2; fail "exit $got, want $wanted: $*"; }
}
if [ "$(code run --rm --network none permesso-one version)" -gt 124 ]; then
	echo "podman starts no container here, so the root directory of the image is run without one: $(tail -n 1 "$work/said")"
	mkdir "$work/root"
	tar -xf "$context/rootfs_$arch.tar" -C "$work/root"
	for command in version "demo --dir /crawls/demo.crawl" "verify /crawls/demo.crawl"; do
		want 0 env -i HOME=/crawls /usr/sbin/chroot --userspec=65532:65532 "$work/root" /usr/bin/crawl $command
	done
	exit
fi
want 0 run --rm --network none permesso-one version
grep -q '^crawl (permesso) ' "$work/said" || fail "no version: $(cat "$work/said")"
want 2 run --rm --network none permesso-one run --no-such-flag
want 0 run --rm --network none --read-only -v crawls:/crawls permesso-one demo --dir demo.crawl
grep -q 'early requests: 0' "$work/said" || fail "the demo was not crawled: $(cat "$work/said")"
want 0 run --rm --network none --read-only -v crawls:/crawls permesso-one verify demo.crawl
volume=$(pod volume inspect -f '{{.Mountpoint}}' crawls)
[ "$(stat -c %u:%g "$volume/demo.crawl/state.db")" = 65532:65532 ] || fail "the crawl belongs to $(stat -c %u:%g "$volume/demo.crawl/state.db")"

# The command is process 1, for which the kernel ignores signals without a handler.
mkdir "$work/site"
python3 - "$work/site" <<'P' &
import http.server, pathlib, sys
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"" if self.path == "/robots.txt" else b"".join(b"<a href=/%d>x</a>" % i for i in range(500))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if not body else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        pathlib.Path(sys.argv[1], "asked").write_text(self.path)
    def log_message(self, *a): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Site)
pathlib.Path(sys.argv[1], "port.new").write_text(str(server.server_port))
pathlib.Path(sys.argv[1], "port.new").rename(pathlib.Path(sys.argv[1], "port"))
server.serve_forever()
P
site=$!
trap 'kill $site 2>/dev/null; pod rm -fa >/dev/null 2>&1; pod rmi -fa >/dev/null 2>&1; rm -rf "$work"' EXIT
until [ -e "$work/site/port" ]; do sleep 0.1; done
run -d --name stopped --network host -v crawls:/crawls permesso-one run --name testbot --contact me@example.org --allow-private \
	--progress none --dir long.crawl "http://127.0.0.1:$(cat "$work/site/port")/" >/dev/null
for ((i = 0; i < 300; i++)); do
	case $(cat "$work/site/asked" 2>/dev/null) in /[0-9]*) break ;; esac
	sleep 0.1
done
pod stop -t 60 stopped >/dev/null
got=$(pod inspect -f '{{.State.ExitCode}}' stopped)
[ "$got" = 10 ] || { pod logs stopped >&2; fail "exit $got after a stop, want 10"; }
want 0 run --rm --network none -v crawls:/crawls permesso-one verify long.crawl
