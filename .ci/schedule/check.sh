#!/bin/bash
# check.sh
# Has systemd parse the units that crawl schedule install makes, and compares its times for
# a schedule with ours, also at the changes of daylight saving. Installs systemd from
# Debian's packages if it is missing: nothing of it is started.
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
PERMESSO_SYSTEMD=1 go test ./cmd/crawl -run '^(TestTheUnitsOfASeriesAreUnits|TestASchedulesTimesAreSaidToSystemd|TestSystemdHasItsOwnWayAtTheChangesOfDaylightSaving)$' -count=1
