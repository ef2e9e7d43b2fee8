#!/usr/bin/env bash
# Writes to a disk with plimsoll's disk workload and with its peer, fio, in turn.
# Usage: [DIR=FOLDER] bench/fsync.sh [PAIRS]; default 5, in the current folder.
# A pair takes half a minute on a disk that takes 3,000 syncs per second.
#
# fio is the distribution's package: apt-get install fio, which the script does
# itself where there is none, it is root, and apt-get exists.
#
# Work: 100 MiB in blocks of 2300 B, an fdatasync after each, into a new file:
# fio by the line of the write-up "SF Operator - how hardware is important in
# Kubernetes", plimsoll by its sequential writes. The order of the sides turns
# from pair to pair. Both allocate the file beforehand (fallocate), write through
# the page cache, and time the sync apart from the write.
#
# What differs: fio's percentiles are coarser (buckets of 1.6 %); plimsoll makes the
# allocation last before the first write, and samples the machine every second.
#
# Ends with "ratio NAME VALUE", plimsoll / fio, medians over pairs of the pairs'
# ratios, and with "spread NAME LEAST MOST" of the pairs' ratios. Targets over 5 pairs:
#   fsync-p50 fsync-p90 fsync-p95 fsync-p99 fsync-p99.9   0.85-1.15
#   fsync-iops                                            0.90-1.10
# On a disk that others use too, two runs of fio differ as well: "spread
# control-NAME" is the same of fio's run of a pair over its run of the next.
set -euo pipefail
pairs=${1:-5}
size_mib=${SIZE_MIB:-100}
. "$(dirname "$0")/peer.sh"

if ! command -v fio >/dev/null; then
	[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || die "fio is missing: install the distribution's package (apt-get install fio)"
	say "installing fio"
	{ apt-get install -y fio || { apt-get update && apt-get install -y fio; }; } >"$scratch/apt" 2>&1 || { tail -n 20 "$scratch/apt" >&2; die "fio was not installed"; }
fi
build_ours
on_disk
machine
echo "sides: plimsoll of this tree; $(fio --version)"

cat >"$scratch/fsync.yaml" <<YAML
apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: fsync}
spec:
  target: {directory: {path: "$disk"}}
  steps:
  - name: fsync
    phases:
    - name: fio
      load: {closed: {clients: 1, iterations: $((size_mib * 1024 * 1024 / 2300))}}
      disk: {sequential: {block: 2300B, file: ${size_mib}MiB, sync: fdatasync}}
YAML

# Each run_ function prints "writes iops p50 p90 p95 p99 p99.9", times in µs.
run_plimsoll_disk() {
	timed "$scratch/out" "$plimsoll" run "$scratch/fsync.yaml" -o "$scratch/results"
	awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["operation"] == "sync" && $at["clock"] == "service" {
			print $at["ok"], $at["ok_per_second"], 1e6 * $at["p50_seconds"], 1e6 * $at["p90_seconds"],
				1e6 * $at["p95_seconds"], 1e6 * $at["p99_seconds"], 1e6 * $at["p99.9_seconds"]
		}' "$scratch/results/summary.csv"
	rm -rf "$scratch/results"
}

run_fio() {
	timed "$scratch/out" fio --rw=write --ioengine=sync --fdatasync=1 "--directory=$disk" "--size=${size_mib}m" --bs=2300 --name=mytest --output-format=json
	rm -f "$disk"/mytest.*
	awk -F' : ' '
		/^ *"(read|write|trim|sync)" : \{/ { split($1, name, "\""); part = name[2]; next }
		{ value = $2; sub(/,$/, "", value) }
		part == "write" && /"iops" :/ { iops = value }
		part == "sync" && /"N" :/ { n = value }
		part == "sync" && /"[0-9]+[.][0-9]+" : / { split($1, name, "\""); p[name[2] + 0] = value / 1000 }
		END { print n, iops, p[50], p[90], p[95], p[99], p[99.9] }' "$scratch/out"
}

# one PAIR SIDE
one() {
	"run_$2" >"$scratch/$1.$2"
	awk -v pair="$1" -v side="${2%_disk}" -v expected="$((size_mib * 1024 * 1024 / 2300))" '
		NF != 7 || $1 != expected { print side " stored " $1 " blocks rather than " expected > "/dev/stderr"; exit 1 }
		{ printf "%-6s %-10s %9d %9.0f %9.1f %9.1f %9.1f %9.1f %9.1f\n", pair, side, $1, $2, $3, $4, $5, $6, $7 }' "$scratch/$1.$2" || die "not all was done"
}

sides=(plimsoll_disk fio)
printf '%-6s %-10s %9s %9s %9s %9s %9s %9s %9s\n' pair side writes iops p50-us p90-us p95-us p99-us p99.9-us
for ((pair = 1; pair <= pairs; pair++)); do
	for ((turn = 0; turn < 2; turn++)); do one "$pair" "${sides[(turn + pair + 1) % 2]}"; done
done

# spread NAME FIELDS A B
spread() {
	local pair
	for ((pair = 1; pair <= pairs; pair++)); do
		echo "$(awk "{ print $2 }" "$scratch/$pair.$3") $(awk "{ print $2 }" "$scratch/$pair.$4")"
	done | awk '{ print $1 / $2 }' | sort -g | awk -v name="$1" 'NR == 1 { least = $1 } END { printf "spread %s %.3f %.3f\n", name, least, $1 }'
}

names=(iops p50 p90 p95 p99 p99.9)
for i in "${!names[@]}"; do ratio "fsync-${names[i]}" "\$$((i + 2))" plimsoll_disk fio; done
for i in "${!names[@]}"; do spread "fsync-${names[i]}" "\$$((i + 2))" plimsoll_disk fio; done
[ "$pairs" -gt 1 ] || exit 0
for ((pair = 2; pair <= pairs; pair++)); do # the same again, of fio and fio
	ln -s "$pair.fio" "$scratch/$((pair - 1)).next"
done
pairs=$((pairs - 1))
for i in "${!names[@]}"; do spread "control-${names[i]}" "\$$((i + 2))" next fio; done
