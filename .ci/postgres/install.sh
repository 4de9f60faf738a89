#!/bin/bash
# Installs PostgreSQL from Debian's packages if it is missing, and prints the directory of
# its programs.
set -euo pipefail
programs() { compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1 || true; }
if [ -z "$(programs)" ]; then
	if [ "$(id -u)" = 0 ]; then as_root=(env); else as_root=(sudo env); fi
	# The package would start a server: forbid that meanwhile.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
		trap '"${as_root[@]}" rm -f $policy' EXIT
		"${as_root[@]}" chmod 755 $policy
	fi
	log=$(mktemp)
	install() {
		"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql >"$log" 2>&1
	}
	if ! install; then
		"${as_root[@]}" apt-get update -qq >"$log" 2>&1 && install || { cat "$log" >&2; exit 1; }
	fi
	rm -f "$log"
fi
initdb=$(programs)
[ -n "$initdb" ] || { echo "install.sh: PostgreSQL is installed, but there is no initdb in /usr/lib/postgresql" >&2; exit 1; }
dirname "$initdb"
