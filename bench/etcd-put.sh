#!/usr/bin/env bash
# Puts small values into etcd with plimsoll and with its peer, etcd's own
# benchmark tool, in turn.
# Usage: [DIR=FOLDER] [PUTS=200000] bench/etcd-put.sh [PAIRS]; default 3, with
# etcd's data in the current folder. Takes some five minutes, and once some two
# more, in which etcd and the tool are built.
#
# Work: PUTS puts from 100 clients over 100 connections, keys of 8 B, values of
# 256 B, as many keys as puts. Each side gets a fresh etcd, so that none works on
# what the other has left; the order of the sides turns from pair to pair.
#
# What is equal: the server (etcd v3.6.8 with the flags of the write-up "SF
# Operator - how hardware is important in Kubernetes", on loopback, without TLS),
# its disk, one HTTP/2 connection per client, puts to the leader, closed loop.
#
# What differs: plimsoll's keys have a prefix of 23 B more, since on an etcd that
# it has not started it keeps to a range of its own, and removes that afterwards;
# the tool's are binary, and with --key-space-size it does not write one key again
# and again, which is what the write-up's line does. The tool prints a bar.
#
# rate is puts per second of each side's own run; plimsoll's connections are made
# before it, the tool's while it begins. cpu-s is user and system time of the
# generator's process: of plimsoll from its samples of itself over the measured
# phase, of the tool without what it takes for a single put (connections, start
# and end); whole-cpu-s is from exec to exit, plimsoll's reports included.
# etcd-cpu-s is etcd's own, from its start to the end of the side.
#
# Ends with "ratio NAME VALUE", plimsoll / tool, medians over pairs of the pairs'
# ratios. Targets:
#   put-rate   at least 1.15   puts per second
#   put-cpu    at most  0.6    CPU seconds of the generator for the same work
# and without a target put-whole-cpu, the processes' CPU from exec to exit, which
# weighs more the fewer the puts.
set -euo pipefail
pairs=${1:-3}
puts=${PUTS:-200000}
clients=100 connections=100
etcd_version=v3.6.8
. "$(dirname "$0")/peer.sh"

build_ours
build_peer etcd-benchmark "$etcd_version" go.etcd.io/etcd/v3/tools/benchmark go.etcd.io/etcd/server/v3
etcd=$peer/server benchmark=$peer/benchmark
on_disk
machine
echo "sides: plimsoll of this tree; etcd's tools/benchmark $etcd_version, built from its module; etcd $("$etcd" --version | sed -n 's/^etcd Version: //p')"

# free_port: one that nobody listens on, below those that the kernel gives away.
free_port() {
	local port
	while port=$((20000 + RANDOM % 10000)); (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
	echo "$port"
}

# start_etcd: a fresh one; $url is its address.
start_etcd() {
	local peers
	url=http://127.0.0.1:$(free_port)
	peers=http://127.0.0.1:$(free_port)
	rm -rf "$disk/etcd"
	"$etcd" --data-dir "$disk/etcd" --listen-client-urls "$url" --advertise-client-urls "$url" \
		--listen-peer-urls "$peers" --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers" \
		--quota-backend-bytes 8589934592 --snapshot-count 5000 --auto-compaction-mode revision --auto-compaction-retention 10 \
		>"$scratch/etcd.log" 2>&1 &
	server_pid=$!
	until curl -sf "$url/health" 2>/dev/null | grep -q '"health":"true"'; do
		kill -0 "$server_pid" 2>/dev/null || { tail -n 20 "$scratch/etcd.log" >&2; die "etcd did not start"; }
		sleep 0.1
	done
}

scenario() {
	cat >"$scratch/put.yaml" <<YAML
apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: put}
spec:
  target: {borrowed: {etcd: {endpoints: ["$url"]}}}
  steps:
  - name: put
    phases:
    - name: puts
      connections: $connections
      load: {closed: {clients: $clients, iterations: $puts}}
      etcd: {put: {order: sequential, keySize: 8B, valueSize: 256B, to: leader}}
YAML
}

# run_tool PUTS: sets $requests, $seconds and $whole.
run_tool() {
	timed "$scratch/out" "$benchmark" --endpoints "$url" --target-leader "--conns=$connections" "--clients=$clients" \
		put --key-size=8 --sequential-keys "--key-space-size=$1" --val-size=256 "--total=$1"
	whole=$cpu
	! grep -q '^Error distribution' "$scratch/out" || die "the tool met errors: $(sed -n '/^Error distribution/,$p' "$scratch/out")"
	read -r requests seconds < <(awk '
		$1 == "Total:" { seconds = $2 }
		$2 ~ /^\[[0-9]+\]$/ { sum += substr($2, 2) } # of the histogram
		END { print sum + 0, seconds }' "$scratch/out")
}

# one PAIR SIDE
one() {
	start_etcd
	case $2 in
	plimsoll)
		scenario
		run_plimsoll "$scratch/put.yaml" put
		;;
	tool)
		run_tool "$puts"
		cpu=$(awk -v whole="$whole" -v idle="$idle" 'BEGIN { printf "%.2f\n", whole - idle }')
		;;
	esac
	[ "$requests" -eq "$puts" ] || die "$2 made $requests good puts rather than $puts"
	echo "$requests $seconds $cpu $whole" >"$scratch/$1.$2"
	awk -v pair="$1" -v side="$2" -v etcd="$(awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$server_pid/stat")" '
		{ printf "%-6s %-10s %9d %9.2f %9.1f %9.2f %9.1f %11.2f %10.2f\n", pair, side, $1, $2, $1 / $2, $3, 1e6 * $3 / $1, $4, etcd }' "$scratch/$1.$2"
	stop_server
}

start_etcd
run_tool 1
idle=$whole
stop_server
say "the tool takes $idle CPU seconds for a single put, which are taken off below"

sides=(plimsoll tool)
printf '%-6s %-10s %9s %9s %9s %9s %9s %11s %10s\n' pair side puts seconds rate cpu-s us/put whole-cpu-s etcd-cpu-s
for ((pair = 1; pair <= pairs; pair++)); do
	for ((turn = 0; turn < 2; turn++)); do one "$pair" "${sides[(turn + pair + 1) % 2]}"; done
done

ratio put-rate '$1 / $2' plimsoll tool
ratio put-cpu '$3 / $1' plimsoll tool
ratio put-whole-cpu '$4 / $1' plimsoll tool
