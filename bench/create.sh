#!/usr/bin/env bash
# Creates ConfigMaps through the API with plimsoll and with its peer k6, in turn.
# Usage: bench/create.sh [PAIRS]; default 3. Takes some three minutes, and once
# some ten more, in which the server's parts and k6 are built.
#
# Work: 50 clients create OBJECTS ConfigMaps of 10 KiB together. Each side gets
# a fresh server (a local target of plimsoll's, fsync on) and the same 200
# objects before, so that none works on what the other has left; the order of
# the sides turns from pair to pair.
#
# What is equal: the server's build and flags, the user (plimsoll's load user, by
# its certificate: subject to priority and fairness), TLS with the server's
# certificate checked, HTTP/2 with one connection per client, no compression
# asked for, JSON, bodies of the same form, closed loop.
#
# k6 creates in two ways, which are sides of their own (STYLES, default both):
#   k6-usual   the body by JSON.stringify() and the answer kept, as most scripts
#              do: the ratios vs-k6 are to this one
#   k6-tuned   the text around the name made once, the answer thrown away unread:
#              the cheapest way to it that k6 offers
#
# What differs: k6 opens its connections while it is timed.
#
# rate is requests per second of each side's own run. cpu-s is user and system
# time of the generator's process while it loads: for plimsoll from its samples
# of itself over the measured phase, for k6 without what it takes to start and
# end; whole-cpu-s is from exec to exit, plimsoll's reports included.
# server-p50-ms is the server's own median request time
# (apiserver_request_duration_seconds of these creates, by interpolation).
#
# Ends with "ratio NAME VALUE", medians over pairs of the pairs' ratios. Targets:
#   create-rate-vs-k6   at least 1.0     rate, plimsoll / k6
#   create-cpu-vs-k6    at most  0.333   CPU seconds for the same work
set -euo pipefail
pairs=${1:-3}
clients=50 payload=10240
styles=${STYLES:-usual tuned}
objects=${OBJECTS:-8000}
. "$(dirname "$0")/peer.sh"

build
facts
export CLIENTS=$clients OBJECTS=$objects PAYLOAD=$payload NAMESPACE=bench

# scenario FILE OBJECTS
scenario() {
	cat >"$1" <<YAML
apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: create}
spec:
  target: {local: {}}
  steps:
  - name: create
    phases:
    - name: creates
      load: {closed: {clients: $clients, iterations: $2}}
      kube: {create: {resource: configmaps, namespace: bench, payload: 10KiB}}
YAML
}
scenario "$scratch/create.yaml" "$objects"

idle=
# one PAIR SIDE
one() {
	start_server -namespace bench -count 200 -payload "$payload"
	export COLLECTION=$url/api/v1/namespaces/bench/configmaps
	[ -n "$idle" ] || STYLE=usual k6_idle create.js
	buckets POST >"$scratch/before"
	case $2 in
	plimsoll) run_plimsoll "$scratch/create.yaml" create ;;
	k6-*) STYLE=${2#k6-} run_k6 create.js ;;
	esac
	buckets POST >"$scratch/after"
	keep "$1" "$2" "$objects" "$(server_median "$scratch/before" "$scratch/after")"
	stop_server
}

sides=(plimsoll)
for style in $styles; do sides+=("k6-$style"); done
n=${#sides[@]}
head_line
for ((pair = 1; pair <= pairs; pair++)); do
	for ((turn = 0; turn < n; turn++)); do one "$pair" "${sides[((pair % 2 ? turn : n - 1 - turn) + pair / 2) % n]}"; done
done

for style in $styles; do
	name=-$style
	[ "$style" = usual ] && name=
	ratio "create-rate-vs-k6$name" '$1 / $2' plimsoll "k6-$style"
	ratio "create-cpu-vs-k6$name" '$3' plimsoll "k6-$style"
	ratio "create-server-p50-vs-k6$name" '$5' plimsoll "k6-$style"
done
