#!/usr/bin/env bash
# The list experiment on etcd, with plimsoll and with its peer k6, in turn.
# Usage: bench/api-list.sh [PAIRS]; default 3. A pair takes some four minutes
# (LARGEST=4000: one), and once some ten more, in which the server's parts and k6 are built.
#
# Work: 1,000 ConfigMaps of 4 bytes, and doubling up to LARGEST (default 32000);
# only the difference is made at each count, and then all of them are listed five
# times, one walk after the other, with limit=5000. Each side gets a fresh server;
# the order of the sides turns from pair to pair.
#
# plimsoll does it by its built-in scenario api-list, as a user would, and makes
# the objects straight in the datastore. k6 has no such way: it makes them through
# the API, by 32 VUs, and walks by one; at each count a k6 process does the one
# (bench/k6/create.js, tuned), and a second the other (bench/k6/walk.js, with
# selectors: it counts items and finds tokens, which is plimsoll's work).
#
# What is equal: the server's build and flags, an ordinary user, TLS with the
# server's certificate checked, HTTP/2, no compression asked for, JSON.
#
# What differs, all to k6's advantage: plimsoll waits at each count until the
# server is at rest (three seconds at least), k6 does not; plimsoll's seconds are
# those of the whole command with start and end of the server, report, and
# sampling of all components, k6's those of starting a server and of its test
# runs, without what a k6 process takes to start and to end.
#
# total-s is that time, work-s the time of making and listing alone. cpu-s is user
# and system time of the generator: of plimsoll from its samples of itself, from
# exec to the end of the last walk; of k6's processes without what they take to
# start and to end.
#
# Ends with "ratio NAME VALUE", medians over pairs of the pairs' ratios:
#   api-list-total-vs-k6   total-s, plimsoll / k6
#   api-list-work-vs-k6    work-s
#   api-list-cpu-vs-k6     cpu-s
set -euo pipefail
pairs=${1:-3}
largest=${LARGEST:-32000}
vus=32 walks=5 limit=5000 payload=4
. "$(dirname "$0")/peer.sh"

build
facts
export LIMIT=$limit OBJECTS PAYLOAD=$payload NAMESPACE=bench STYLE=tuned READ=select

counts=()
pages=0
for ((n = 1000; n < largest; n *= 2)); do counts+=("$n"); done
counts+=("$largest")
for n in "${counts[@]}"; do pages=$((pages + walks * ((n + limit - 1) / limit))); done

now() { date +%s.%N; }
sum() { awk "BEGIN { printf \"%.2f\", $* }"; }

run_plimsoll_sweep() {
	local out=$scratch/results began
	began=$(now)
	timed "$scratch/out" "$plimsoll" run api-list --only etcd --set resource=configmaps --set "payload=${payload}B" --set "largest=$largest" -o "$out"
	seconds=$(sum "$(now) - $began")
	read -r requests work < <(awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["operation"] == "page" { pages += $at["ok"]; walked += $at["phase_end_seconds"] - $at["phase_start_seconds"] }
		END { print pages, walked }' "$out/summary.csv")
	work=$(awk -v work="$work" '/^filled .* s \(/ { for (i = 2; i < NF; i++) if ($i == "s") work += $(i - 1) } END { printf "%.2f", work }' "$scratch/out.err")
	cpu=$("$plimsoll" query "$out" 'process_cpu_seconds_total{component="plimsoll"}' --format csv | awk -F, 'END { printf "%.2f", $NF }')
	rm -rf "$out"
}

# k6_part SCRIPT: adds a process of k6 to $requests, $work and $cpu.
k6_part() {
	local all=$requests time=$work used=$cpu
	run_k6 "$1"
	requests=$((all + requests)) work=$(sum "$time + $seconds") cpu=$(sum "$used + $cpu")
}

run_k6_sweep() {
	local began boot there=0 n
	began=$(now)
	start_server -namespace bench
	boot=$(sum "$(now) - $began")
	export COLLECTION=$url/api/v1/namespaces/bench/configmaps LIST=$url/api/v1/namespaces/bench/configmaps
	[ -n "$idle_create" ] || {
		CLIENTS=$vus k6_idle create.js
		idle_create=$idle
		CLIENTS=1 WALKS=1 k6_idle walk.js
		idle_walk=$idle
	}
	requests=0 work=0 cpu=0
	for n in "${counts[@]}"; do
		OBJECTS=$((n - there)) there=$n
		idle=$idle_create CLIENTS=$vus PREFIX=k6-$n k6_part create.js
		idle=$idle_walk CLIENTS=1 WALKS=$walks k6_part walk.js
	done
	requests=$((requests - largest)) # pages
	seconds=$(sum "$boot + $work")
	stop_server
}

idle_create= idle_walk=
# one PAIR SIDE
one() {
	"run_$2_sweep"
	[ "$requests" -eq "$pages" ] || die "$2 read $requests good pages rather than $pages"
	echo "$requests $seconds $cpu $work" >"$scratch/$1.$2"
	printf '%-6s %-10s %7s %9s %9s %9s\n' "$1" "$2" "$requests" "$seconds" "$work" "$cpu"
}

sides=(plimsoll k6)
printf '%-6s %-10s %7s %9s %9s %9s\n' pair side pages total-s work-s cpu-s
for ((pair = 1; pair <= pairs; pair++)); do
	for ((turn = 0; turn < 2; turn++)); do one "$pair" "${sides[(turn + pair + 1) % 2]}"; done
done

ratio api-list-total-vs-k6 '$2' plimsoll k6
ratio api-list-work-vs-k6 '$4' plimsoll k6
ratio api-list-cpu-vs-k6 '$3' plimsoll k6
