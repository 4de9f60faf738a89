#!/bin/bash
# run.sh CRAWL_BINARY WORKDIR
# A series of three crawls of a part of the Apache documentation, from a real nginx with its
# ETags and dates; between them files are edited, removed, moved and touched. crawl diff
# must report what diff -r reports of the files; nginx's access log must have the expected
# conditional requests and answers; independent scripts must find in the files of each crawl
# what its report and its provenance say. warcio must find the repeated bodies in the crawls
# that have them, and ReplayWeb.page must show them in a headless Chromium.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
[ $# = 2 ] || { echo "usage: run.sh CRAWL_BINARY WORKDIR" >&2; exit 2; }
crawl=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2/tmp" "$2/www/manual" "$2/weekly"
work=$(realpath "$2")
export PYTHONDONTWRITEBYTECODE=1
PATH=$PATH:/usr/sbin
"$here/../realcrawl/install.sh"
"$here/../archive/install.sh" node chromium

nginx=
stop() {
	[ -z "$nginx" ] || { kill "$nginx" 2>/dev/null && wait "$nginx" || true; }
	nginx=
}
trap stop EXIT
trap 'exit 130' INT TERM HUP
fail() {
	echo "series: $*" >&2
	exit 1
}

read -r port walk < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))')
seed=http://apache.docs.test/manual/en/
deep=http://apache.docs.test/manual/en/caching.html # it is never changed
printf '%s\n' "$seed" >"$work/seeds.txt"
printf 'User-agent: *\nDisallow: /manual/en/developer/\n' >"$work/www/robots.txt"
for part in en style images; do
	cp -rL "/usr/share/doc/apache2-doc/manual/$part" "$work/www/manual/"
done

# Compressed pages have weak ETags, and their 304s strong ones; the other half is sent with
# its length.
start() { # RUN: nginx with the files of that run, and an empty access log
	local user=
	[ "$(id -u)" != 0 ] || user='user root;'
	rm -f "$work/access.log" "$work/nginx.pid"
	python3 -c '
import json, sys
for path, (status, target) in json.load(open(sys.argv[1])).items():
    print("location = %s { return %d %s; }" % (path, status, target))' "$work/moved.json" >"$work/moved.conf"
	cat >"$work/nginx.conf" <<-END
		$user
		daemon off;
		worker_processes 1;
		pid $work/nginx.pid;
		error_log $work/error.log;
		events { worker_connections 512; }
		http {
			include /etc/nginx/mime.types;
			client_body_temp_path $work/tmp;
			proxy_temp_path $work/tmp;
			fastcgi_temp_path $work/tmp;
			uwsgi_temp_path $work/tmp;
			scgi_temp_path $work/tmp;
			absolute_redirect off;
			map \$server_port \$logged { $port 1; default 0; }
			log_format requests escape=json '{"method":"\$request_method","uri":"\$request_uri","status":\$status,"body":\$body_bytes_sent,"match":"\$http_if_none_match","since":"\$http_if_modified_since","coding":"\$sent_http_content_encoding"}';
			access_log $work/access.log requests if=\$logged;
			server {
				listen 127.0.0.1:$port;
				listen 127.0.0.1:$walk;
				server_name apache.docs.test;
				root $work/www;
				location /manual/en/ { gzip on; }
				location /manual/en/mod/ { gzip off; }
				include $work/moved.conf;
			}
		}
	END
	setpriv --pdeathsig TERM nginx -p "$work" -c "$work/nginx.conf" -e "$work/error.log" &
	nginx=$!
	for ((i = 0; i < 100; i++)); do
		kill -0 "$nginx" 2>/dev/null || fail "nginx does not start: $(tail -n 3 "$work/error.log")"
		[ ! -s "$work/nginx.pid" ] || return 0
		sleep 0.1
	done
	fail "nginx does not start"
}

cat >"$work/weekly/job.yaml" <<END
identity: {name: permessotest, contact: mailto:ci@example.org}
seeds: [$seed]
schedule: {every: "@daily", keep: 1}
connect-to: "::127.0.0.1:$port"
allow-private: yes
delay: 5ms
depth: 0
include: /manual/(en|style|images)/
requisites: page
output: [warc, jsonl]
END

today=$(date -u +%F)
snapshots=()
for run in 1 2 3; do
	python3 "$here/edit.py" $run "$work/www" "$work/moved.json"
	cp -a "$work/www" "$work/tree$run"
	cp "$work/moved.json" "$work/moved$run.json"
	start $run
	python3 "$here/../realcrawl/reachable.py" --port "$walk" --token permessotest --seeds "$work/seeds.txt" \
		--fetched "$work/fetched$run.txt" --disallowed "$work/disallowed$run.txt" >"$work/reachable.out"
	due=$(date -u -d "$today - $((3 - run)) days" +%FT00:00:00Z)
	"$crawl" run --job "$work/weekly/job.yaml" --series "$work/weekly" --due "$due" --progress none >"$work/run$run.out" 2>&1 ||
		fail "run $run: $(tail -n 20 "$work/run$run.out")"
	snapshot=$work/weekly/${due//[-:]/}.crawl
	snapshots+=("$snapshot")
	stop # its log is complete then
	cp "$work/access.log" "$work/access$run.log"
	"$crawl" status --json "$snapshot" >"$work/status$run.json"
	"$crawl" verify "$snapshot"
	"$crawl" audit --out none "$snapshot" >"$work/audit$run.out" || fail "$(cat "$work/audit$run.out")"
	"$crawl" provenance --verify "$snapshot" >"$work/provenance$run.out" || fail "$(cat "$work/provenance$run.out")"
	python3 "$here/../provenance/check.py" "$snapshot"
	"$crawl" report --json "$snapshot" >"$work/report$run.json"
	python3 "$here/../report/check.py" "$snapshot" "$work/report$run.json"
done

"$crawl" diff --json "${snapshots[0]}" "${snapshots[1]}" >"$work/diff2.jsonl"
"$crawl" diff --json "$work/weekly" >"$work/diff3.jsonl" # the last two of the series
"$crawl" schedule list --json "$work/weekly" >"$work/schedule.json"
python3 "$here/check.py" "$work" "${snapshots[@]}"

"$crawl" export "$work/weekly" --format parquet --check --output "$work/weekly.parquet" 2>"$work/export.out" ||
	fail "$(cat "$work/export.out")"
"$crawl" export "${snapshots[2]}" --format wacz --check --output "$work/third.wacz" 2>"$work/export.out" ||
	fail "$(cat "$work/export.out")"
touched=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[14])' "$work/modules.json") # before both later runs
mkdir "$work/node"
cp "$here"/{resolve,rows}.mjs "$here/../archive/check.mjs" "$work/node"
(
	cd "$work/node"
	"$here/../node/link.sh"
	for snapshot in "${snapshots[@]}"; do
		node check.mjs "$snapshot"/warc/*.warc.gz --index "$snapshot/index.cdxj"
	done
	node resolve.mjs "$work" "$deep" "http://apache.docs.test$touched" "${snapshots[@]}"
	node rows.mjs "$work/weekly.parquet" "${snapshots[@]}"
)

# Alone, without the crawls that have the bodies: for a 304, and for the same bytes sent
# again.
"$here/../archive/replay.sh" "$work/third.wacz" "$deep" "Caching Guide" "$work/replay.png"
"$here/../archive/replay.sh" "$work/third.wacz" "http://apache.docs.test$touched" "$(basename "$touched" .html)" "$work/touched.png"
