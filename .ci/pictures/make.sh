#!/bin/bash
# make.sh CRAWL_BINARY [DIR]
# Makes the pictures of docs/reference/terminal.md in DIR (docs/pictures): runs crawl demo in
# terminals of 40, 80 and 120 columns, and draws what they show while it runs and at its end,
# dark and light. Installs tmux and Python from Debian's packages if necessary.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: make.sh CRAWL_BINARY [DIR]" >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
crawl=$(realpath "$1")
to=$(realpath "${2:-$here/../../docs/pictures}")
command -v tmux python3 >/dev/null || { apt-get update -qq; apt-get install -y -qq tmux python3-minimal; } >&2

work=$(mktemp -d)
terminal() { tmux -S "$work/tmux" -f /dev/null "$@"; }
trap 'terminal kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/home" "$work/bin"
ln -s "$crawl" "$work/bin/crawl"

# shown NAME TEXT waits until the terminal shows the text, and keeps what it shows.
shown() {
	for _ in $(seq 300); do
		terminal capture-pane -p -t demo | grep -q "$2" && break
		sleep 0.1
	done
	sleep 0.3
	terminal capture-pane -e -p -t demo >"$work/$1"
	grep -q "$2" "$work/$1" || { echo "the terminal never shows $2" >&2; exit 1; }
}

for columns in 40 80 120; do
	mkdir "$work/$columns"
	terminal new-session -d -s demo -x $columns -y 100 -c "$work/$columns" \
		"env -u NO_COLOR HOME=$work/home LC_ALL=C.UTF-8 PATH=$work/bin:$PATH sh -c 'echo \"\$ crawl demo -d demo.crawl\"; crawl demo -d demo.crawl; sleep 60'"
	shown run.$columns 'kept out .*14 URLs'
	shown end.$columns 'demo.crawl/crawl.log'
	terminal kill-session -t demo
	for colours in dark light; do
		for moment in run end; do
			python3 "$here/svg.py" $columns $colours <"$work/$moment.$columns" >"$to/$moment-$columns-$colours.svg"
		done
	done
done
ls -l "$to"/*.svg
