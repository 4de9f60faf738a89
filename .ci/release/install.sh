#!/bin/bash
# Installs podman with runc, lintian, systemd's systemd-analyze and python3 from Debian's
# packages, if they are missing. It starts nothing.
set -euo pipefail
missing=()
command -v podman >/dev/null || missing+=(podman)
# With runc, podman also works where crun refuses the machine's control groups.
command -v runc >/dev/null || missing+=(runc)
command -v lintian >/dev/null || missing+=(lintian)
command -v systemd-analyze >/dev/null || missing+=(systemd)
command -v python3 >/dev/null || missing+=(python3)
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
