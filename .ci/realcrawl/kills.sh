#!/bin/bash
# kills.sh ACCESS_LOG REQUESTS KILLS SEED COMMAND...
# Runs the command KILLS + 1 times: all but the last are killed with SIGKILL, at random
# moments spread over the REQUESTS that the whole takes, as counted in the access log (clock
# time would depend on the load of the machine). The same SEED gives the same moments. The
# line of each kill ends with the time since the epoch. Exits with the code of the last run.
set -euo pipefail
log=$1 requests=$2 kills=$3 RANDOM=$4
shift 4

pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true' EXIT
trap 'exit 143' INT TERM

for ((kill = 1; kill <= kills; kill++)); do
	part=$((requests * 95 / 100 / kills))
	wanted=$(((kill - 1) * part + RANDOM * part / 32768))
	pause=$((RANDOM % 500))
	"$@" </dev/null &
	pid=$!
	while [ "$(wc -l <"$log")" -lt $wanted ] && kill -0 $pid 2>/dev/null; do
		sleep 0.02
	done
	sleep "0.$(printf %03d $pause)"
	if ! kill -KILL $pid 2>/dev/null; then
		wait $pid && code=0 || code=$?
		pid=
		echo "kills.sh: the command ended by itself, with code $code, before kill $kill" >&2
		exit 1
	fi
	wait $pid 2>/dev/null || true
	pid=
	echo "kills: killed $pause ms after request $wanted, at $(date +%s.%3N)"
done
"$@" </dev/null &
pid=$!
wait $pid && code=0 || code=$?
pid=
exit $code
