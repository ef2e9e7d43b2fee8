#!/usr/bin/env bash
# Walks over a list, page by page, with plimsoll, with its peer k6, and with a
# minimal loop over net/http (bench/minimal), in turn, on one server.
# Usage: bench/walk.sh [PAIRS]; default 3. Takes some four minutes, and once
# some ten more, in which the server's parts and k6 are built.
#
# Work: 10 clients walk over 1,200 ConfigMaps (1,198 of 10 KiB, and two of the
# server's own) with limit=100 as often as WALKS says, all together: each side
# makes the same requests. It is done once per pair and side; the order of the
# sides turns from pair to pair. All namespaces are listed, since on a server
# that it has not started plimsoll keeps to namespaces of its own.
#
# k6 walks in up to three ways, which are sides of their own (READS, default all):
#   k6-decode  continue token and number of items by response.json(), as most
#              scripts do: the ratios vs-k6 are to this one
#   k6-select  the same by its selectors, the cheapest way to it that k6 offers
#   k6-skim    the token alone, out of the first kilobyte: less than plimsoll does
#
# What is equal: the server (a local target of plimsoll's; it and its objects
# stay), the user (plimsoll's load user, by its certificate: subject to priority
# and fairness), TLS with the server's certificate checked, HTTP/2 with one
# connection per client, no compression asked for, JSON, closed loop.
#
# What differs: plimsoll and the minimal loop take HTTP/2 frames of up to 1 MiB,
# k6 has no such setting; the minimal loop does not count items; k6 opens its connections while it is timed.
#
# rate is requests per second of each side's own run. cpu-s is user and system
# time of the generator's process while it loads: for plimsoll from its samples
# of itself over the measured phase, for k6 without what it takes to start and
# end, for the minimal loop all of it; whole-cpu-s is from exec to exit,
# plimsoll's reports included. server-p50-ms is the server's own median request time
# (apiserver_request_duration_seconds of these lists, by interpolation).
#
# Ends with "ratio NAME VALUE", medians over pairs of the pairs' ratios. Targets:
#   walk-rate-vs-k6        at least 2.2     rate, plimsoll / k6
#   walk-cpu-vs-k6         at most  0.20    CPU seconds for the same work
#   walk-rate-vs-minimal   at least 0.85    rate, plimsoll / minimal
#   walk-server-p50-vs-minimal  0.95-1.05   what the generator does to the server
set -euo pipefail
pairs=${1:-3}
clients=10 objects=1200 limit=100
reads=${READS:-decode select skim}
walks=${WALKS:-200}
. "$(dirname "$0")/peer.sh"

build
facts
say "starting the server"
start_server -namespace bench -count "$((objects - 2))"
requests_each=$((walks * objects / limit))
export LIST=$url/api/v1/configmaps LIMIT=$limit CLIENTS=$clients WALKS=$walks

cat >"$scratch/walk.yaml" <<YAML
apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: walk}
spec:
  target: {local: {}}
  steps:
  - name: walk
    phases:
    - name: walks
      load: {closed: {clients: $clients, iterations: $walks}}
      kube: {list: {resource: configmaps, pageSize: $limit}}
YAML

run_minimal() {
	timed "$scratch/out" "$minimal" -secrets "$secrets" -list "$LIST" -limit "$limit" -clients "$clients" -walks "$walks"
	read -r _ requests _ seconds <"$scratch/out"
	whole=$cpu
}

# one PAIR SIDE
one() {
	buckets LIST >"$scratch/before"
	case $2 in
	plimsoll) run_plimsoll "$scratch/walk.yaml" page ;;
	k6-*) READ=${2#k6-} run_k6 walk.js ;;
	minimal) run_minimal ;;
	esac
	buckets LIST >"$scratch/after"
	keep "$1" "$2" "$requests_each" "$(server_median "$scratch/before" "$scratch/after")"
}

READ=select k6_idle walk.js
say "warming the server up"
"$minimal" -secrets "$secrets" -list "$LIST" -limit "$limit" -clients "$clients" -walks 50 >/dev/null

sides=(plimsoll minimal)
for read in $reads; do sides+=("k6-$read"); done
n=${#sides[@]}
head_line
for ((pair = 1; pair <= pairs; pair++)); do
	for ((turn = 0; turn < n; turn++)); do one "$pair" "${sides[((pair % 2 ? turn : n - 1 - turn) + pair / 2) % n]}"; done
done

for read in $reads; do
	name=-$read
	[ "$read" = decode ] && name=
	ratio "walk-rate-vs-k6$name" '$1 / $2' plimsoll "k6-$read"
	ratio "walk-cpu-vs-k6$name" '$3' plimsoll "k6-$read"
done
ratio walk-rate-vs-minimal '$1 / $2' plimsoll minimal
ratio walk-cpu-vs-minimal '$3' plimsoll minimal
ratio walk-server-p50-vs-minimal '$5' plimsoll minimal
