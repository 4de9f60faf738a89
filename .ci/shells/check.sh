#!/bin/bash
# check.sh
# Has the shells of crawl completion read its scripts, mandoc and man the manual pages, and
# systemd the units of docs/guide/running.md. Installs what is missing from Debian's
# packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
missing=()
for program in bash zsh fish mandoc man; do
	package=$program
	[ $program != man ] || package=man-db
	command -v $program >/dev/null || missing+=("$package")
done
command -v systemd-analyze >/dev/null || missing+=(systemd)
if [ ${#missing[@]} -gt 0 ]; then
	if [ "$(id -u)" = 0 ]; then as_root=(env); else as_root=(sudo env); fi
	log=$(mktemp)
	install() {
		"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >"$log" 2>&1
	}
	if ! install; then
		"${as_root[@]}" apt-get update -qq >"$log" 2>&1 && install || { cat "$log" >&2; exit 1; }
	fi
	rm -f "$log"
fi
go test ./cmd/crawl -run '^(TestShellsReadTheirScripts|TestEachCommandHasAManualPage|TestTheUnitsOfTheDocumentsAreUnits)$' -count=1
