#!/bin/bash
# check.sh CRAWL_BINARY WORKDIR
# Several concurrent crawls request the same hosts of a real nginx: two processes of the
# crawl command and a program of five Crawlers, which share the clocks of the machine, and
# another program of five Crawlers, which share those of their process. They connect
# directly, to public and to private addresses, and through a real Tinyproxy at a loopback
# address and at a public one. By the log of nginx no request is early, and crawl audit
# finds no violation.
#
# All of it runs in namespaces of its own, whose loopback device has public addresses. This
# needs root. Missing programs are installed from Debian's packages.
set -euo pipefail
[ $# = 2 ] || { echo "usage: check.sh CRAWL_BINARY WORKDIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
PATH=$PATH:/usr/sbin
fail() {
	echo "shared clocks: $*" >&2
	exit 1
}

if [ -z "${PERMESSO_NAMESPACE-}" ]; then
	"$here/../realcrawl/install.sh"
	(cd "$here" && go build -o "$work/crawlers" crawlers.go)
	# The processes of the namespace end with it.
	PERMESSO_NAMESPACE=1 exec unshare --net --mount --pid --fork --kill-child --mount-proc "$0" "$crawl" "$work"
fi

# A way is how crawls connect; the crawls of a set share clocks. Each set of each way has its own hosts.
ways=(direct private loopback public)
sets=(machine process)
declare -A proxy=([direct]= [private]= [loopback]=http://127.0.0.1:8888 [public]=http://16.1.1.1:8888)

ip link set lo up
ip addr add 16.1.1.1/32 dev lo
echo '127.0.0.1 localhost' >"$work/hosts"
names=()
n=0
for way in "${ways[@]}"; do
	for set in "${sets[@]}"; do
		n=$((n + 1))
		prefix=16.7.$n
		[ $way != private ] || prefix=10.7.$n
		for i in 1 2; do ip addr add $prefix.$i/32 dev lo; done
		printf '%s quick.%s beside.%s\n' $prefix.1 $way-$set.example $way-$set.example >>"$work/hosts"
		printf '%s slow.%s\n' $prefix.2 $way-$set.example >>"$work/hosts"
		names+=("DNS:quick.$way-$set.example")
	done
done
mount --bind "$work/hosts" /etc/hosts

mkdir -p "$work"/{www,tmp,crawls,state}
printf '<title>Home</title><a href="/1.html">1</a><a href="/2.html">2</a>\n' >"$work/www/index.html"
for i in 1 2; do printf '<title>Page %d</title>\n' $i >"$work/www/$i.html"; done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=permesso \
	-addext "subjectAltName=$(IFS=,; echo "${names[*]}")" -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
export SSL_CERT_FILE=$work/cert.pem XDG_STATE_HOME=$work/state

cat >"$work/nginx.conf" <<CONF
user root;
daemon off;
worker_processes 1;
pid $work/nginx.pid;
error_log $work/error.log;
events { worker_connections 512; }
http {
	types { text/html html; text/plain txt; }
	client_body_temp_path $work/tmp; proxy_temp_path $work/tmp; fastcgi_temp_path $work/tmp; uwsgi_temp_path $work/tmp; scgi_temp_path $work/tmp;
	log_format hosts '\$host \$remote_addr - \$remote_user [\$time_local] "\$request" \$status \$body_bytes_sent "\$http_referer" "\$http_user_agent"';
	log_format times '\$msec \$request_time \$connection_requests \$connection_time \$host \$server_port \$server_addr \$status \$uri';
	access_log $work/access.log hosts;
	access_log $work/times.log times;
	root $work/www;
	server {
		listen 80; listen 8080; listen 443 ssl;
		ssl_certificate $work/cert.pem; ssl_certificate_key $work/key.pem;
		location = /robots.txt { return 200 "User-agent: *\nDisallow: /never\n"; }
	}
	server {
		listen 80;
		server_name ~^slow;
		location = /robots.txt { return 200 "User-agent: *\nCrawl-delay: 1\n"; }
		location = /2.html { add_header Retry-After 2 always; return 403; }
	}
}
CONF
nginx -p "$work" -c "$work/nginx.conf" -e "$work/error.log" &
cat >"$work/tinyproxy.conf" <<CONF
Port 8888
Listen 127.0.0.1
Listen 16.1.1.1
Timeout 60
MaxClients 200
LogFile "$work/tinyproxy.log"
LogLevel Warning
CONF
tinyproxy -d -c "$work/tinyproxy.conf" >"$work/tinyproxy.out" 2>&1 &
for address in 16.7.1.1/80 127.0.0.1/8888 16.1.1.1/8888; do
	for ((i = 0; i < 100; i++)); do
		! (exec 3<>"/dev/tcp/$address") 2>/dev/null || break
		sleep 0.1
	done
	[ $i -lt 100 ] || fail "nothing answers at $address: $(tail -n 3 "$work/error.log" "$work/tinyproxy.out")"
done

crawls=()
start() { # NAME COMMAND...
	timeout 120 "${@:2}" >"$work/$1.out" 2>&1 &
	crawls+=("$! $1")
}
for way in "${ways[@]}"; do
	for set in "${sets[@]}"; do
		of=$way-$set.example
		seeds=("http://quick.$of/" "https://quick.$of/" "http://slow.$of/" "http://beside.$of:8080/")
		start $way-$set "$work/crawlers" $set "$work/crawls/$way-$set-" "${proxy[$way]}" "${seeds[@]}"
		[ $set = machine ] || continue
		for i in f g; do
			start $way-$set-$i "$crawl" run --name bot$i --contact mailto:ci@example.org --delay 300ms --allow-private \
				--proxy "${proxy[$way]}" --progress none --dir "$work/crawls/$way-$set-$i" "${seeds[@]}"
		done
	done
done
for job in "${crawls[@]}"; do
	wait ${job% *} || fail "${job#* } ended with code $?: $(tail -n 5 "$work/${job#* }.out")"
done

python3 - "$work/times.log" <<'PY' || fail "the files are in $work"
import sys
asked = []  # start, end, host, what shares a clock, address, status, path
for line in open(sys.argv[1]):
    end, took, nth, connected, host, port, address, status, path = line.split()
    if nth == "1":  # the connection was made for it: TLS takes its time
        took = connected
    clock = host + ":" + port if ".private-" in host else host
    asked.append((round((float(end) - float(took)) * 1000), round(float(end) * 1000), host, clock, address, int(status), path))
asked.sort()
early, least, want, last, started = [], 1 << 30, {}, {}, {}
for r in asked:
    start, end, host, clock, address, status, path = r
    if clock in last:
        ended, pause = last[clock]
        least = min(least, start - ended - pause)
        if start - ended < pause - 2:  # times are rounded
            early.append("%s%s came %d ms after an answer of the host, not %d" % (host, path, start - ended, pause))
    last[clock] = max(end, last.get(clock, (0, 0))[0]), 2000 if status == 403 else 1000 if host.startswith("slow.") else 300
    # Starts are 250 ms apart in the crawls; the time to connect varies.
    if ".direct-" in host:
        if address in started and start - started[address] < 150:
            early.append("%s%s came %d ms after another start at its address" % (host, path, start - started[address]))
        started[address] = start
    want[host] = want.get(host, 0) + 1
print("shared clocks: %d requests to %d hosts, %d early; least time after a pause: %d ms" % (len(asked), len(want), len(early), least))
for host, n in want.items():
    crawls = 7 if "-machine" in host else 5
    each = 8 if host.startswith("quick.") else 4
    if n != crawls * each:
        early.append("%d requests to %s, want %d" % (n, host, crawls * each))
print(*early[:20], sep="\n")
sys.exit(bool(early) or len(want) != 24)
PY
judge() { # OPTION... DIR...
	"$crawl" audit --out none "$@" >"$work/audit.out" || {
		grep -A 5 VIOLATION "$work/audit.out" >&2 || cat "$work/audit.out" >&2
		fail "audit found a violation; the files are in $work"
	}
}
for dir in "$work"/crawls/*; do # the names of crawlers differ only within a set
	of=$(basename "${dir%-*}")
	grep "^[a-z]*\.$of\.example " "$work/access.log" | judge --access-log - "$dir"
done
judge "$work"/crawls/*
sed -n '/^together/,$p' "$work/audit.out" | tail -n +2
