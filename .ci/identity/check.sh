#!/bin/bash
# check.sh CRAWL
# Two independent implementations of RFC 9421 (npm) verify the signature of each request of a
# crawl, with the key directory that crawl identity publish has written and a local server
# serves. crawl identity verify finds nothing missing. Installs Node.js from Debian's packages
# if necessary.
set -euo pipefail
[ $# = 1 ] || { echo "usage: check.sh CRAWL" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
"$here/../archive/install.sh" node
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/{package.json,package-lock.json,check.mjs} "$work"
cd "$work"
npm ci --silent --no-audit --no-fund --ignore-scripts
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bot.test \
	-addext subjectAltName=DNS:bot.test -keyout tls.pem -out ca.pem 2>/dev/null
export HOME=$work XDG_CONFIG_HOME=$work/config XDG_STATE_HOME=$work/state SSL_CERT_FILE=$work/ca.pem
"$crawl" identity init --name mybot --contact https://bot.test/about --contact me@bot.test
"$crawl" identity keygen key.pem
"$crawl" identity publish --why "We test." --use "Not at all." --ip 16.0.0.0/28 --key key.pem site
[ "$(stat -c %a key.pem)" = 600 ]
node check.mjs "$crawl"
