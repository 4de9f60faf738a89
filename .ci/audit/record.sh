#!/bin/bash
# record.sh
# Records what crawlers leave in the log of a real nginx: the logs in
# cmd/crawl/testdata/audit. The tests of crawl audit --access-log name the violations in
# them. Three crawlers run with their default settings (colly, wget2 with threads, Scrapy),
# and one is permesso. .ci/run does not call it. Installs missing programs from Debian's
# packages. Takes two minutes.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
house=$here/../..
to=$house/cmd/crawl/testdata/audit
dir=$(mktemp -d)
chmod 755 "$dir" # nginx runs as another user
PATH=$PATH:/usr/sbin
trap 'kill "$(cat "$dir/nginx.pid")" 2>/dev/null || true; rm -rf "$dir"' EXIT

missing=()
command -v nginx >/dev/null || missing+=(nginx-light)
command -v wget2 >/dev/null || missing+=(wget2)
/usr/bin/python3 -c 'import scrapy' 2>/dev/null || missing+=(python3-scrapy)
if [ ${#missing[@]} -gt 0 ]; then
	if [ "$(id -u)" = 0 ]; then as_root=(env); else as_root=(sudo env); fi
	"${as_root[@]}" apt-get update -qq
	"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >&2
fi

# Forty pages in a tree; each also links to a page that is forbidden.
mkdir -p "$dir/www/private" "$dir/tmp"
cp "$to/robots.txt" "$dir/www"
for i in $(seq 1 40); do
	printf '<title>Page %d</title><a href="/%d.html">a</a> <a href="/%d.html">b</a> <a href="/private/%d.html">c</a>\n' \
		"$i" $((2 * i)) $((2 * i + 1)) "$i" | sed -E 's|<a href="/(4[1-9]\|[5-9][0-9])\.html">.</a> ?||g' >"$dir/www/$i.html"
	echo '<title>Private</title>' >"$dir/www/private/$i.html"
done
cp "$dir/www/1.html" "$dir/www/index.html"

# The second host has its name in each line of its log; the third one asks for rest.
cat >"$dir/nginx.conf" <<END
pid $dir/nginx.pid;
error_log $dir/error.log;
events {}
http {
	types { text/html html; text/plain txt; }
	client_body_temp_path $dir/tmp; proxy_temp_path $dir/tmp; fastcgi_temp_path $dir/tmp; uwsgi_temp_path $dir/tmp; scgi_temp_path $dir/tmp;
	log_format hosts '\$host \$remote_addr - \$remote_user [\$time_local] "\$request" \$status \$body_bytes_sent "\$http_referer" "\$http_user_agent"';
	limit_req_zone \$binary_remote_addr zone=calm:1m rate=10r/s;
	root $dir/www;
	server { listen 127.0.0.1:8971; access_log $dir/colly.log combined; }
	server { listen 127.0.0.1:8972; access_log $dir/wget2.log hosts; }
	server { listen 127.0.0.1:8973; access_log $dir/scrapy.log combined; location / { limit_req zone=calm burst=8 nodelay; limit_req_status 429; } }
	server { listen 127.0.0.1:8974; access_log $dir/permesso.log combined; }
}
END
nginx -c "$dir/nginx.conf" -p "$dir"

export TZ=UTC
(cd "$house/cmd/crawlbench" && go run "$here/colly.go" http://127.0.0.1:8971/)
(cd "$dir/tmp" && wget2 --no-config --quiet --recursive --level=20 --max-threads=5 http://127.0.0.1:8972/) || true
/usr/bin/python3 -m scrapy runspider "$here/spider.py" --loglevel ERROR -a start=http://127.0.0.1:8973/
(cd "$house" && go run ./cmd/crawl run --name testbot --contact https://example.org/testbot --allow-private --limit 12 \
	--output none --dir "$dir/permesso.crawl" http://127.0.0.1:8974/ >/dev/null)

for name in colly wget2 scrapy permesso; do
	[ "$(wc -l <"$dir/$name.log")" -le 200 ] || { echo "record.sh: $name.log has more than 200 lines" >&2; exit 1; }
	cp "$dir/$name.log" "$to/$name.log"
	wc -l "$to/$name.log"
done
