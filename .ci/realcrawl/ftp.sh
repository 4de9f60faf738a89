#!/bin/bash
# ftp.sh CRAWL_BINARY WORKDIR
# Crawls a few files from a real vsftpd on loopback: robots.txt first, nothing that it
# forbids, each file once.
set -euo pipefail
[ $# = 2 ] || { echo "usage: ftp.sh CRAWL_BINARY WORKDIR" >&2; exit 2; }
crawl=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
fail() {
	echo "ftp: $*" >&2
	exit 1
}

"$(dirname "$(realpath "$0")")/install.sh"

root=$work/root
mkdir -p "$root/docs" "$root/private"
printf 'User-agent: *\nDisallow: /private/\n' >"$root/robots.txt"
printf '<title>Home</title><a href="docs/one.html">1</a> <a href="docs/two%%20words.txt">2</a> <a href="private/x.html">x</a> <a href="none.html">none</a>' >"$root/index.html"
printf '<title>One</title><a href="../index.html">home</a>' >"$root/docs/one.html"
printf 'two words' >"$root/docs/two words.txt"
printf 'secret' >"$root/private/x.html"
chmod -R a+rX,go-w "$work"

port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/vsftpd.conf" <<CONF
listen=YES
listen_address=127.0.0.1
listen_port=$port
background=NO
anonymous_enable=YES
local_enable=NO
write_enable=NO
anon_root=$root
secure_chroot_dir=$work/empty
seccomp_sandbox=NO
log_ftp_protocol=YES
xferlog_enable=YES
xferlog_std_format=NO
vsftpd_log_file=$work/vsftpd.log
CONF
mkdir -p "$work/empty"
$as_root /usr/sbin/vsftpd "$work/vsftpd.conf" >"$work/vsftpd.out" 2>&1 &
server=$!
trap '$as_root kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT
for ((i = 0; i < 100; i++)); do
	kill -0 "$server" 2>/dev/null || fail "vsftpd does not start: $(cat "$work/vsftpd.out")"
	! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	sleep 0.1
done

"$crawl" run --output warc,jsonl,bodies --dir "$work/ftp.crawl" --name permessotest --contact mailto:ci@example.org --delay 20ms --patience 5s \
	--progress none --connect-to "::127.0.0.1:$port" ftp://files.test/index.html

log=$work/vsftpd.log
asked=$($as_root grep -c '"RETR ' "$log" || true)
first=$($as_root grep -m 1 '"RETR ' "$log" || true)
[[ $first == *'RETR /robots.txt'* ]] || fail "the first file asked for was not robots.txt: $first"
! $as_root grep -q 'RETR /private' "$log" || fail "a forbidden file was asked for"
! $as_root grep -qE 'FTP command.*"(STOR|DELE|MKD|RNFR|SITE|APPE)' "$log" || fail "a command that writes was sent"
for file in index.html docs/one.html 'docs/two words.txt' none.html; do
	n=$($as_root grep -c "\"RETR /$file\"" "$log" || true)
	[ "$n" = 1 ] || fail "/$file was asked for $n times"
done
[ "$asked" = 5 ] || fail "$asked files were asked for, not 5"
for want in '"url":"ftp://files.test/docs/two%20words.txt".*"status":200.*"body":"two words"' '"url":"ftp://files.test/none.html".*"status":404'; do
	grep -q "$want" "$work/ftp.crawl/pages.jsonl" || fail "pages.jsonl has no line with $want"
done
grep -q ' -9998 .* ftp://files.test/private/x.html ' "$work/ftp.crawl/crawl.log" || fail "crawl.log does not name the refused file"
echo "ftp: passed, $asked files asked for"
