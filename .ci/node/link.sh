#!/bin/bash
# link.sh
# Puts the npm packages of package-lock.json into the current directory, as a link to
# node_modules beside this file, and ReplayWeb.page as the directory package. Installs them
# once, checks their digests, and runs none of their scripts; Node.js comes from Debian's
# packages.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
"$here/../archive/install.sh" node
lock=$(sha256sum "$here/package-lock.json" "$0" | sha256sum)
(
	flock 9
	[ "$(cat "$here/node_modules/.lock" 2>/dev/null)" = "$lock" ] && exit 0
	cd "$here"
	# Not npm ci: it wants the packages of other systems in the lock file, too.
	npm install --no-save --silent --no-audit --no-fund --ignore-scripts >&2
	# ui.js and sw.js contain everything: the dependencies of the package are not needed.
	file=$(npm pack --silent replaywebpage@2.5.3)
	echo "b7d35c39c4da9b7121c5a393911d8675d4cc6f19513c380191e16b086bea812c  $file" | sha256sum --check --quiet
	mkdir -p node_modules/.replaywebpage
	tar -xzf "$file" -C node_modules/.replaywebpage
	rm "$file"
	echo "$lock" >node_modules/.lock
) 9>"$here/.installing"
ln -sfn "$here/node_modules" node_modules
ln -sfn "$here/node_modules/.replaywebpage/package" package
