#!/bin/bash
# install.sh node|chromium|sqlite3|prometheus...
# Installs Node.js with npm, Chromium, SQLite's command, or Prometheus, from Debian's packages if they are
# missing.
set -euo pipefail
missing=()
for what; do
	case $what in
	node) command -v node >/dev/null && command -v npm >/dev/null || missing+=(nodejs npm) ;;
	chromium) command -v chromium >/dev/null || missing+=(chromium) ;;
	sqlite3) command -v sqlite3 >/dev/null || missing+=(sqlite3) ;;
	prometheus) command -v promtool >/dev/null || missing+=(prometheus) ;;
	*) echo "install.sh: $what is neither node, chromium, sqlite3 nor prometheus" >&2; exit 2 ;;
	esac
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" = 0 ]; then as_root=(env); else as_root=(sudo env); fi
log=$(mktemp)
install() {
	"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >"$log" 2>&1
}
if ! install; then
	"${as_root[@]}" apt-get update -qq >"$log" 2>&1 && install || { cat "$log" >&2; exit 1; }
fi
rm -f "$log"
