#!/bin/bash
# check.sh CRAWL_BINARY CRAWL_DIR
# An independent script must find in the other files what the provenance of a crawl says;
# openssl must accept its signature; and a changed byte, a missing file and another
# signature must each be reported.
set -euo pipefail
[ $# = 2 ] || { echo "usage: check.sh CRAWL_BINARY CRAWL_DIR" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
dir=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1

fail() {
	echo "provenance: $*" >&2
	exit 1
}

names() { # WHAT: the check must name it
	local code=0
	"$crawl" provenance --verify --key "$work/public.pem" "$work/copy" >"$work/out" || code=$?
	[ $code = 3 ] && grep -q "^DIFFERENCE *$1" "$work/out" || fail "exit $code, and this does not name $1: $(cat "$work/out")"
}

python3 "$here/check.py" "$dir" # as the run has left it
openssl genpkey -algorithm ed25519 -out "$work/key.pem"
openssl pkey -in "$work/key.pem" -pubout -out "$work/public.pem"
"$crawl" provenance --sign-key "$work/key.pem" "$dir"
python3 "$here/check.py" "$dir"
openssl pkeyutl -verify -pubin -inkey "$work/public.pem" -rawin -in "$dir/provenance.json" -sigfile "$dir/provenance.json.sig"
"$crawl" provenance --verify --key "$work/public.pem" "$dir"

mkdir "$work/copy"
(cd "$dir" && find . -type f -print0 | xargs -0 cp --parents -t "$work/copy")
archive=$(cd "$work/copy" && ls warc/*.gz | head -n 1)
printf x | dd of="$work/copy/$archive" bs=1 seek=100 conv=notrunc status=none
names "$archive"
rm "$work/copy/absences.jsonl"
names absences.jsonl
sed -i '0,/"killed": /s//"killed":  /' "$work/copy/provenance.json"
names provenance.json.sig
