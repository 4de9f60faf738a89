#!/bin/bash
# fuzz.sh TARGETS SECONDS
# Runs so many of the fuzz targets for so many seconds each: every day the next ones in the
# order of their names, so that each has its turn. A failing input is kept below
# testdata/fuzz of its package, as a case of its test.
set -euo pipefail
[ $# = 2 ] || { echo "usage: fuzz.sh TARGETS SECONDS" >&2; exit 2; }
cd "$(dirname "$(realpath "$0")")/.."
mapfile -t all < <(git grep -oE '^func Fuzz[A-Za-z]+' -- '*_test.go' | sed -E 's|/[^/]*:func | |' | sort)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
first=$(($(date +%s) / 86400 * $1))
for ((i = 0; i < $1; i++)); do
	read -r package target <<<"${all[(first + i) % ${#all[@]}]}"
	echo "$target of $package"
	# The go command may report the end of its time as a failure: "context deadline
	# exceeded".
	go test "./$package" -run '^$' -fuzz "^$target\$" -fuzztime "$2s" -parallel 2 >"$log" 2>&1 ||
		{ grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; } || { cat "$log"; exit 1; }
	tail -n 1 "$log"
done
