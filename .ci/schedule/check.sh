#!/bin/bash
# check.sh
# Has systemd read the units that crawl schedule install makes, and those of releases. Installs
# systemd from Debian's packages if it is not there, and starts nothing of it.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v systemd-analyze >/dev/null; then
	if [ "$(id -u)" = 0 ]; then as_root=(env); else as_root=(sudo env); fi
	log=$(mktemp)
	install() {
		"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends systemd >"$log" 2>&1
	}
	if ! install; then
		"${as_root[@]}" apt-get update -qq >"$log" 2>&1 && install || { cat "$log" >&2; exit 1; }
	fi
	rm -f "$log"
fi
PERMESSO_SYSTEMD=1 go test ./cmd/crawl -run '^TestTheUnitsOf(ASeriesAreUnits|ReleasesAreUnits|ReleasesMayDoLittle)$' -count=1
