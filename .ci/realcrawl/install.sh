#!/bin/bash
# Installs nginx, vsftpd, caddy, haproxy, tinyproxy, python3, curl, openssl, iproute2 and the
# documentation packages that the real crawl serves. Does nothing if all of them are there.
set -euo pipefail

docs=(apache2-doc python3-doc postgresql-doc sqlite3-doc debian-policy)

have_docs() {
	local pattern
	for pattern in '/usr/share/doc/apache2-doc/manual/index.html' '/usr/share/doc/python3.*/html/index.html' \
		'/usr/share/doc/postgresql-doc-*/html/index.html' '/usr/share/doc/sqlite3/index.html' \
		'/usr/share/doc/debian-policy/policy.html/index.html'; do
		compgen -G "$pattern" >/dev/null || return 1
	done
}

missing=()
PATH=$PATH:/usr/sbin
command -v nginx >/dev/null && [ -e /etc/nginx/mime.types ] || missing+=(nginx-light)
command -v vsftpd >/dev/null || missing+=(vsftpd)
command -v caddy >/dev/null || missing+=(caddy)
command -v haproxy >/dev/null || missing+=(haproxy)
command -v tinyproxy >/dev/null || missing+=(tinyproxy)
command -v python3 >/dev/null || missing+=(python3)
command -v curl >/dev/null || missing+=(curl)
command -v openssl >/dev/null || missing+=(openssl)
command -v ip >/dev/null || missing+=(iproute2)
have_docs || missing+=("${docs[@]}")
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ]; then as_root=(env); else as_root=(sudo env); fi

# The packages would start servers on the ports 80 and 21 and others: forbid that meanwhile.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
	trap '"${as_root[@]}" rm -f $policy' EXIT
	"${as_root[@]}" chmod 755 $policy
fi

log=$(mktemp)
install() {
	# Slim images leave out /usr/share/doc; --reinstall brings it to packages installed without.
	"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
		-o 'Dpkg::Options::=--path-include=/usr/share/doc/*' "$@" >"$log" 2>&1
}
if ! install "${missing[@]}"; then
	"${as_root[@]}" apt-get update -qq >"$log" 2>&1 && install "${missing[@]}" || { cat "$log" >&2; exit 1; }
fi
if ! have_docs; then
	mapfile -t real < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${docs[@]}" 'python3.*-doc' 'postgresql-doc-*' | awk '$1 == "ii" { print $2 }')
	install --reinstall "${real[@]}" || { cat "$log" >&2; exit 1; }
	have_docs || { echo "install.sh: the documentation packages are installed, but their pages are not on the disk" >&2; exit 1; }
fi
rm -f "$log"
