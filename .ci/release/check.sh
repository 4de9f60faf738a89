#!/bin/bash
# check.sh
# Makes the files of a release twice, in two directories, and compares their bytes. Then it builds
# the container image and runs it, and installs, uses and removes the Debian package. Changes that
# are not committed are built, too. With PERMESSO_REBUILD=1 the second release is compiled without
# the cache of the first.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/../.."
bash .ci/release/install.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "-- the release, made twice"
(cd cmd/release && go build -o "$work/release" . && "$work/release" -modified -o "$work/one" >/dev/null)
# The second is made from another clone, by a user with other settings.
git clone -q . "$work/a clone"
git ls-files -z --modified --others --deduplicate --exclude-standard | while IFS= read -rd '' name; do
	if [ -e "$name" ]; then cp --parents "$name" "$work/a clone"; else rm "$work/a clone/$name"; fi
done
mkdir "$work/tmp" "$work/home"
export GOCACHE=${GOCACHE:-$(go env GOCACHE)} GOMODCACHE=${GOMODCACHE:-$(go env GOMODCACHE)} GOPATH=${GOPATH:-$(go env GOPATH)}
(
	umask 077
	cd "$work/a clone/docs"
	[ -z "${PERMESSO_REBUILD-}" ] || export GOCACHE=$work/cache
	HOME=$work/home TMPDIR=$work/tmp TZ=Pacific/Chatham LC_ALL=C.UTF-8 GOFLAGS='-buildvcs=false' GOAMD64=v3 CGO_ENABLED=1 \
		"$work/release" -modified -o "$work/two" >/dev/null
)
diff -r "$work/one" "$work/two" || { echo "check.sh: two releases of one source differ" >&2; exit 1; }
(cd "$work/one" && sha256sum --quiet -c SHA256SUMS)

echo "-- each program is of this commit, and its archive is whole"
python3 .ci/release/archives.py "$work/one" "$work/programs"
for program in "$work"/programs/*; do
	go version -m "$program" | grep -q "vcs.revision=$(git rev-parse HEAD)" || { echo "check.sh: $program does not know its commit" >&2; exit 1; }
done

echo "-- the container"
bash .ci/release/container.sh "$work/one/container" "$work/container"

echo "-- the Debian package"
bash .ci/release/package.sh "$(ls "$work"/one/*_"$(dpkg --print-architecture)".deb)" "$work/package"
