#!/usr/bin/env bash
# A bad day for every verb: ended at random moments, on a full disk, in folders that may not be written, with damaged files
# and with fuzzed documents.
# Usage: bench/fault-day.sh [ENDINGS] [DOCUMENTS]; default 50 endings of each verb (an hour or two) and 100,000 documents.
# SEED chooses the moments (default 1); PARTS which parts of the day, by default "endings full forbidden damage documents".
# "full" and "forbidden" need root, and are left out, with a word, without it.
#
# It looks for a panic, a hang, a process, mount or file that is left behind, and a complete run that is lost. Each is a line
# "FAULT ..."; the last line counts them, and the exit code is 1 if there is one.
set -euo pipefail
endings=${1:-50} documents=${2:-100000}
RANDOM=${SEED:-1}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
components=${PLIMSOLL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll}/components
scratch=$(mktemp -d)
faults=0
say() { echo "$*" >&2; }
fault() {
	faults=$((faults + 1))
	echo "FAULT $*"
}
clean_up() {
	pkill -KILL -f "$scratch" || true
	if mountpoint -q "$scratch/small"; then umount "$scratch/small"; fi
	rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

say "building plimsoll"
(cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$scratch/bin/plimsoll" ./cmd/plimsoll)
plimsoll=$scratch/bin/plimsoll
mkdir -p "$scratch/cache" "$components"
ln -s "$components" "$scratch/cache/components" # the parts are built already, and found; all else is this day's own
export PLIMSOLL_CACHE=$scratch/cache
cd "$scratch"
cat >small.yaml <<'DOCUMENT'
apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  target: {local: {}}
  parameters: {payload: 10B}
  variants: [{name: small}, {name: large, patch: {parameters: {payload: 1KiB}}}]
  prepare:
  - fill: {resource: configmaps, namespace: small, count: 100, payload: "${payload}"}
  steps:
  - name: list
    phases:
    - name: walks
      load: {closed: {clients: 2, iterationsPerClient: 5}}
      kube: {list: {resource: configmaps, namespace: small, pageSize: 20}}
    - name: churn
      background: true
      load: {closed: {clients: 1}}
      kube: {churn: {resource: secrets, namespace: small}}
DOCUMENT

# left: what still works in the scratch folder, some seconds after it should not.
left() {
	local i
	for ((i = 0; i < 50; i++)); do
		pgrep -f "$scratch" >/dev/null || return 0
		sleep 0.1
	done
	pgrep -fa "$scratch" | cut -c1-150
	pkill -KILL -f "$scratch" || true
}

# sane WHAT: neither a panic in what the last command said, nor a process or mount that it left.
sane() {
	local processes
	if grep -qE '^(panic|fatal error):|^goroutine [0-9]+ |DATA RACE' out err; then
		fault "$1: panic: $(grep -hE -m1 -A1 '^(panic|fatal error):' out err | tr '\n' ' ')"
	fi
	processes=$(left)
	[ -z "$processes" ] || fault "$1: left running: $processes"
}

# readable WHAT DIR: every run of DIR that was complete is in the report.
readable() {
	local complete reported status=0
	[ -e "$2/plan.json" ] || return 0 # it had not begun
	complete=$(find "$2/runs" -name COMPLETE 2>/dev/null | wc -l)
	timeout 60 "$plimsoll" report "$2" --format json >out 2>err || status=$?
	sane "$1: report"
	case $status in
	0 | 3 | 5) ;;
	*) [ "$complete" -eq 0 ] && [ "$status" -eq 1 ] && [ -s err ] || fault "$1: report exits with $status: $(tail -n 1 err)" ;;
	esac
	[ "$complete" -gt 0 ] || return 0
	reported=$(grep -c '"status": "complete"' out || true)
	[ "$reported" -ge "$complete" ] || fault "$1: of $complete complete runs $reported are in the report"
}

# ended VERB SECONDS COMMAND...: runs a command and ends it at a random moment of its time, by INT, TERM, two INTs or KILL.
ended() {
	local verb=$1 seconds=$2 delay pid way ways=(INT TERM INT-INT KILL)
	shift 2
	delay=$(awk -v r="$RANDOM" -v s="$seconds" 'BEGIN { printf "%.3f", r / 32768 * s }')
	way=${ways[RANDOM % 4]}
	setsid "$@" </dev/null >out 2>err &
	pid=$!
	sleep "$delay"
	kill -"${way%-*}" "$pid" 2>/dev/null || true
	if [ "$way" = INT-INT ]; then
		sleep 0.2
		kill -INT "$pid" 2>/dev/null || true
	fi
	timeout 60 tail --pid="$pid" -f /dev/null || {
		fault "$verb: still there 60 s after $way at $delay s"
		kill -KILL "$pid" 2>/dev/null || true
	}
	wait "$pid" 2>/dev/null || true
	sane "$verb, $way at $delay s"
}

seconds_of() {
	local from=$EPOCHREALTIME
	timeout 300 "$@" </dev/null >out 2>err || true
	awk -v from="$from" -v to="$EPOCHREALTIME" 'BEGIN { print to - from }'
}

say "one experiment that nothing happens to"
"$plimsoll" run small.yaml --repetitions 2 -o whole >out 2>err || { tail -n 5 err >&2; exit 1; }
readable "nothing happened" whole
(cd whole && find runs -type f -exec sha256sum {} +) >whole.sums

# each_verb DO: calls DO VERB COMMAND... for each verb.
each_verb() {
	"$1" run "$plimsoll" run small.yaml --repetitions 2 -o new
	"$1" resume "$plimsoll" run --resume part
	"$1" up "$plimsoll" up small.yaml
	"$1" report "$plimsoll" report whole
	"$1" compare "$plimsoll" compare whole
	"$1" export "$plimsoll" export whole --by time -o export.csv
	"$1" query "$plimsoll" query whole up
	"$1" doctor "$plimsoll" doctor --disk "$scratch"
	"$1" calibrate "$plimsoll" calibrate
	"$1" clean "$plimsoll" clean
	"$1" plan "$plimsoll" plan small.yaml
	"$1" list "$plimsoll" list
	"$1" schema "$plimsoll" schema
	"$1" version "$plimsoll" version
	"$1" completion "$plimsoll" completion bash
	"$1" help "$plimsoll" help run
}

# part: an experiment of which only the first run was done.
part() {
	rm -rf part
	cp -r whole part
	find part/runs -mindepth 1 -maxdepth 1 | sort | tail -n +2 | xargs rm -rf
	rm -f part/result.json part/report.html
}

end_often() {
	local verb=$1 seconds i
	shift
	part
	rm -rf new
	if [ "$verb" = up ]; then seconds=8; else seconds=$(seconds_of "$@"); fi
	say "$verb: $endings endings within $seconds s"
	for ((i = 0; i < endings; i++)); do
		rm -rf new export.csv
		[ "$verb" != resume ] || part
		ended "$verb" "$seconds" "$@"
		readable "$verb" new
		readable "$verb" part
	done
	(cd whole && sha256sum --quiet -c ../whole.sums) >out 2>&1 || fault "$verb: what was measured has changed: $(head -n 1 out)"
	readable "$verb" whole
	find "$scratch/cache" -mindepth 1 -maxdepth 1 -name 'workspace-*' -mmin +1440 | while read -r folder; do fault "$verb: $folder is not swept"; done
}

# A disk that is full after so many KiB, from nothing to enough.
full() {
	local size status
	for size in 64 512 2048 8192 16384 65536 131072 196608 262144 524288; do
		mkdir -p small
		mount -t tmpfs -o "size=${size}k" tmpfs small
		say "results on a disk of $size KiB"
		status=0
		timeout 120 "$plimsoll" run small.yaml -o small/results </dev/null >out 2>err || status=$?
		sane "full disk of $size KiB"
		[ "$status" -eq 0 ] || grep -qi 'space' err || fault "full disk of $size KiB: exit $status without a word of space: $(tail -n 1 err)"
		readable "full disk of $size KiB" small/results
		umount small
	done
}

# Results that may be read and not be written, and that may not be read.
forbidden() {
	local verb status
	mkdir -p small
	mount --bind whole small
	mount -o remount,bind,ro small
	for verb in "report small" "compare small" "query small up" "export small --by time -o small/x.csv" "run --resume small" "run small.yaml -o small/new"; do
		status=0
		# shellcheck disable=SC2086
		timeout 60 "$plimsoll" $verb </dev/null >out 2>err || status=$?
		sane "read-only: $verb"
		[ "$status" -ne 124 ] || fault "read-only: $verb hangs"
		[ "$status" -eq 0 ] || grep -q 'read-only' err || fault "read-only: $verb: exit $status: $(tail -n 1 err)"
	done
	umount small
	cp -r whole secret
	chmod -R 000 secret
	chmod 755 "$scratch" "$scratch/bin"
	for verb in "report secret" "compare secret" "query secret up" "run --resume secret"; do
		status=0
		# shellcheck disable=SC2086
		PLIMSOLL_CACHE=$scratch/nobody setpriv --reuid nobody --regid nogroup --clear-groups timeout 60 "$plimsoll" $verb </dev/null >out 2>err || status=$?
		sane "no permission: $verb"
		[ "$status" -ne 0 ] && grep -q 'permission denied' err || fault "no permission: $verb: exit $status: $(tail -n 1 err)"
	done
	chmod -R u+rwX secret
	rm -rf secret
}

# One file of a results directory is cut, emptied, filled with noise, or gone.
damage() {
	local files file size verb status i
	for ((i = 0; i < endings * 4; i++)); do
		rm -rf broken
		cp -r whole broken
		mapfile -t files < <(find broken -type f | sort)
		file=${files[RANDOM % ${#files[@]}]}
		size=$(stat -c %s "$file")
		case $((RANDOM % 4)) in
		0) truncate -s $((size * (RANDOM % 100) / 100)) "$file" ;;
		1) : >"$file" ;;
		2) head -c 64 /dev/urandom | dd of="$file" bs=1 seek=$((size > 64 ? RANDOM * (size - 64) / 32768 : 0)) conv=notrunc status=none ;;
		3) rm "$file" ;;
		esac
		for verb in "report broken" "compare broken" "query broken up" "export broken --by time -o export.csv" "plan broken/scenario.yaml"; do
			status=0
			# shellcheck disable=SC2086
			timeout 60 "$plimsoll" $verb </dev/null >out 2>err || status=$?
			[ "$status" -ne 124 ] || fault "damaged $file: $verb hangs"
			[ "$status" -eq 0 ] || [ -s err ] || [ -s out ] || fault "damaged $file: $verb: exit $status without a word"
			if grep -qE '^(panic|fatal error):|^goroutine [0-9]+ ' out err; then fault "damaged $file: $verb: panic"; fi
		done
	done
	rm -rf broken
}

for part in ${PARTS:-endings full forbidden damage documents}; do
	case $part in
	endings) each_verb end_often ;;
	full | forbidden)
		if [ "$(id -u)" = 0 ]; then "$part"; else say "$part: left out, as it mounts, which needs root"; fi
		;;
	damage) damage ;;
	documents)
		say "$documents fuzzed documents"
		(cd "$root" && go test ./internal/plan -run '^$' -fuzz '^FuzzLoad$' -fuzztime "${documents}x" -parallel "$(nproc)") >out 2>&1 ||
			fault "a document: $(grep -m1 -A3 -- '--- FAIL' out | tr '\n' ' ')"
		;;
	*) say "no part $part" && exit 2 ;;
	esac
done
echo "$faults faults"
[ "$faults" -eq 0 ]
