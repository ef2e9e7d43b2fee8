#!/usr/bin/env bash
# Compares a control plane with itself, again and again, and counts how often the comparison sees a difference: false alarms.
# Usage: bench/a-a.sh [EXPERIMENTS] [BLOCKS]; default 5 experiments of 6 blocks, some two minutes each.
#
# Each experiment is the built-in scenario a-a with a seed of its own, a little smaller than as it comes. An alarm is a primary
# measure that is called better or worse without a margin, that is, whose p value is at most 0.05: one in twenty is to be expected.
# Ends with "ratio false-alarms VALUE", alarms per primary comparison.
set -euo pipefail
experiments=${1:-5} blocks=${2:-6}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$scratch/plimsoll" ./cmd/plimsoll)
echo "machine: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(uname -sr)"
comparisons=0 alarms=0
for ((seed = 1; seed <= experiments; seed++)); do
	"$scratch/plimsoll" run a-a --seed "$seed" --repetitions "$blocks" --set walks=10 --set duration=2s -o "$scratch/$seed" >/dev/null 2>"$scratch/err" ||
		{ tail -n 5 "$scratch/err" >&2; exit 1; }
	while IFS=, read -r name ratio p; do
		comparisons=$((comparisons + 1))
		awk -v p="$p" 'BEGIN { exit !(p != "" && p <= 0.05) }' && alarms=$((alarms + 1))
		printf 'seed %-3s %-40s ratio %-8s p %s\n' "$seed" "$name" "$ratio" "$p"
	done < <(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["primary"] == "true" { print $at["name"] "," $at["ratio"] "," $at["p"] }' "$scratch/$seed/comparison.csv")
	rm -rf "${scratch:?}/$seed"
done
echo "$alarms alarms in $comparisons comparisons"
awk -v a="$alarms" -v c="$comparisons" 'BEGIN { printf "ratio false-alarms %.3f\n", a / c }'
