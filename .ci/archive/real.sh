#!/bin/bash
# real.sh CRAWL_BINARY WORKDIR
# Crawls a part of the Apache documentation with page requisites from a real nginx, exports
# it as WACZ, and replays a page of it in a headless Chromium: its text, an image and a
# stylesheet must be shown. The screenshot is WORKDIR/replay.png.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
[ $# = 2 ] || { echo "usage: real.sh CRAWL_BINARY WORKDIR" >&2; exit 2; }
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
"$here/../realcrawl/install.sh"

read -r port walk < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))')
"$here/../realcrawl/site.sh" "$work/site" "$port" "$walk" &
nginx=$!
trap 'kill $nginx 2>/dev/null; wait $nginx || true' EXIT
for ((i = 0; i < 100; i++)); do
	[ ! -s "$work/site/nginx.pid" ] || break
	sleep 0.1
done

page=http://apache.docs.test/manual/en/index.html
rm -rf "$work/replay.crawl"
"$crawl" run --name permessotest --contact mailto:ci@example.org --delay 10ms --patience 10s --depth 1 --limit 80 \
	--requisites page --connect-to "::127.0.0.1:$port" --allow-private --progress none --dir "$work/replay.crawl" "$page"
"$crawl" verify "$work/replay.crawl"
"$crawl" export "$work/replay.crawl" --format wacz --check --force --output "$work/replay.wacz"
"$here/replay.sh" "$work/replay.wacz" "$page" "Apache HTTP Server" "$work/replay.png"
