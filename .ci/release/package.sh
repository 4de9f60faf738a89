#!/bin/bash
# package.sh DEB WORK
# Checks the Debian package with lintian, and installs, uses, upgrades, removes and purges it in a
# copy of this system. The copy is an overlay, whose upper directory shows all that has changed.
# The machine itself stays as it is.
set -euo pipefail
deb=$(realpath "$1") work=$2
fail() { echo "package.sh: $*" >&2; exit 1; }
if [ "${3-}" != inside ]; then
	lintian --allow-root --fail-on error,warning "$deb"
	mkdir -p "$work"
	trap 'rm -rf "$work"' EXIT
	unshare --mount --pid --fork --kill-child bash "$0" "$deb" "$work" inside
	exit
fi
mount -t tmpfs tmpfs "$work" # the overlay is gone with this process
mkdir "$work"/{upper,lower,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/lower" "$work/root"
mount -t proc proc "$work/root/proc"
mkdir -p "$work/root/run/systemd/system"
# Devices of its own: those of the machine stay out of reach.
mount -t tmpfs -o mode=755,dev tmpfs "$work/root/dev"
mkdir "$work/root/dev/shm"
mknod -m 666 "$work/root/dev/null" c 1 3
mknod -m 666 "$work/root/dev/zero" c 1 5
mknod -m 666 "$work/root/dev/random" c 1 8
mknod -m 666 "$work/root/dev/urandom" c 1 9
within() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive /usr/sbin/chroot "$work/root" "$@"; }
as_permesso() { within /usr/sbin/runuser -u permesso -- env HOME=/var/lib/permesso "$@"; }

# A systemctl that records what the package asks of it.
cat >"$work/root/usr/bin/systemctl" <<'S'
#!/bin/sh
echo "$*" >>/run/systemctl.log
S
chmod 755 "$work/root/usr/bin/systemctl"
asked() { cat "$work/root/run/systemctl.log" 2>/dev/null; : >"$work/root/run/systemctl.log"; }

# install FILE: dpkg asks for adduser, which every Debian has.
install() { within dpkg --install "/tmp/${1##*/}" >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "$1 is not installed"; }; }
within dpkg-query -W -f '${Status}' adduser 2>/dev/null | grep -q 'ok installed' || within apt-get install -qq -y adduser >/dev/null
cp "$deb" "$work/root/tmp/permesso.deb"
before=$work/before after=$work/after
# What dpkg and adduser keep for themselves, with or without the package.
list() { (cd "$work/upper" && find . ! -type d | grep -vE '^\./(tmp/permesso\.deb|run/systemctl\.log|var/lib/dpkg/|var/log/|var/cache/|etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|etc/\.pwd\.lock|run/adduser$)' | sort); }
users() { within getent passwd | sort; within getent group | sort; }
list >"$before"
users >"$before.users"

install permesso.deb
asked | grep -qx daemon-reload || fail "systemd does not read the units"
within /usr/bin/crawl version --json | grep -q '"commit":"' || fail "the program does not know its commit"
within dpkg --verify permesso | grep . && fail "files differ from the package"
as_permesso sh -c 'cd && crawl demo --dir demo.crawl' >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "the demo"; }
grep -q 'early requests: 0' "$work/said" || fail "the demo was not crawled"
for page in crawl crawl-run crawl-schedule-run; do
	within test -s /usr/share/man/man1/$page.1.gz || fail "no manual page $page"
done
within bash -c 'source /usr/share/bash-completion/completions/crawl && type __start_crawl' >/dev/null || fail "bash does not read its completion"

# The commands of docs/guide/install.md, and the command lines of the units, by the user and in the
# directory of the units.
edited='s,- https://example.org/ ,- http://nothing.invalid/ ,; s/name: mybot/name: testbot/; s/^# schedule:/schedule:/'
unit() { sed -n "s/^ExecStart=//p" "$work/root/usr/lib/systemd/system/$1" | sed "s/%i/$2/g"; }
within /usr/bin/crawl init /etc/permesso/news.yaml >/dev/null 2>&1
within sed -i "${edited%;*}" /etc/permesso/news.yaml
got=0
as_permesso sh -c "cd && exec $(unit crawl@.service news)" >"$work/said" 2>&1 || got=$?
[ "$got" = 4 ] || { cat "$work/said" >&2; fail "a crawl of a site that does not exist: exit $got, want 4"; }
[ -e "$work/root/var/lib/permesso/news.crawl/state.db" ] || fail "the crawl is not where the unit says"
as_permesso mkdir /var/lib/permesso/weekly
as_permesso crawl init /var/lib/permesso/weekly/job.yaml >/dev/null 2>&1
as_permesso sed -i "$edited" /var/lib/permesso/weekly/job.yaml
got=0
as_permesso sh -c "cd && exec timeout --signal TERM 3 $(unit crawl-series@.service weekly)" >"$work/said" 2>&1 || got=$?
grep -q 'weekly: .*next' "$work/said" || { cat "$work/said" >&2; fail "the scheduler: exit $got"; }
for command in status report 'list --count'; do # a member of the group
	within /usr/sbin/runuser -u nobody -g permesso -- crawl $command $([ "$command" != report ] || echo --json --out -) /var/lib/permesso/demo.crawl >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "the group cannot read a crawl: $command"; }
done

# An upgrade restarts schedulers, and no crawl.
asked >/dev/null
install permesso.deb
[ "$(asked)" = "daemon-reload
try-restart crawl-series@*.service" ] || fail "an upgrade asks systemd for something else"

# Removed, the package leaves the crawls, the job files and their owner. Purged, too.
wants=$work/root/etc/systemd/system/timers.target.wants
mkdir -p "$wants"
ln -s /usr/lib/systemd/system/crawl@.timer "$wants/crawl@news.timer"
within dpkg --remove permesso >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "it cannot be removed"; }
asked | grep -q '^stop crawl@\*.timer' || fail "units that run are not stopped"
within dpkg --purge permesso >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "it cannot be purged"; }
grep -q 'the crawls in /var/lib/permesso are kept' "$work/said" && grep -q 'the job files in /etc/permesso are kept' "$work/said" || { cat "$work/said" >&2; fail "it does not say what is kept"; }
[ ! -L "$wants/crawl@news.timer" ] || fail "a unit that is gone is still enabled"
within test -s /var/lib/permesso/demo.crawl/state.db || fail "a crawl is gone"
within getent passwd permesso >/dev/null || fail "the crawls have no owner"

# With the crawls and job files gone, nothing is left.
install permesso.deb
within rm -r /etc/permesso/news.yaml /var/lib/permesso/demo.crawl /var/lib/permesso/news.crawl /var/lib/permesso/weekly
within dpkg --purge permesso >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "it cannot be purged"; }
within test ! -e /var/lib/permesso -a ! -e /etc/permesso -a ! -e /usr/share/doc/permesso || fail "directories are left"
list >"$after"
users >"$after.users"
diff "$before" "$after" && diff "$before.users" "$after.users" || fail "the package leaves something"
