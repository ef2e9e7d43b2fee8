#!/usr/bin/env bash
# Writes to a disk with plimsoll's disk workload and with its peer, fio, in turn.
# Usage: [DIR=FOLDER] bench/fsync.sh [PAIRS]; default 5, in the current folder.
# Takes under five minutes, however slow the disk is.
#
# fio is the distribution's package: apt-get install fio, which the script does
# itself where there is none, it is root, and apt-get exists.
#
# Work: blocks of 2300 B into a new file of 100 MiB, an fdatasync after each: fio
# by the line of the write-up "SF Operator - how hardware is important in
# Kubernetes", plimsoll by its sequential writes. Both allocate the file beforehand
# (fallocate), write through the page cache, and time the sync apart from the write.
#
# A disk that others use too changes from second to second. So a pair is SLICES
# (default 6) slices of SECONDS_EACH (default 3) seconds from each side, one after the other,
# whose order turns (A B, B A, …); the times of a side's slices are merged, not its percentiles.
#
# What differs: fio's percentiles are coarser (buckets of 1.6 %); plimsoll makes the
# allocation last before the first write, and samples the machine every second. Its
# writer is a goroutine, which gives up its processor for each sync, and takes it, or
# another, back: beside a sync of 150 µs that is some 10 µs. Where CPUs are short, fio's
# thread waits for one as any other does, and plimsoll's threads wake each other, so that
# the sides are then no longer alike: run it on idle CPUs, or as `chrt -r 10 bench/fsync.sh`.
#
# Ends with "ratio NAME VALUE", plimsoll / fio, medians over pairs of the pairs'
# ratios, and with "spread NAME LEAST MOST" of the pairs' ratios. Targets over 5 pairs:
#   fsync-p50 fsync-p90 fsync-p95 fsync-p99 fsync-p99.9   0.85-1.15
#   fsync-iops                                            0.90-1.10
# What the disk alone does: "spread control-NAME" is the same of fio's part of a pair
# over its part of the next.
set -euo pipefail
pairs=${1:-5}
slices=${SLICES:-6} seconds=${SECONDS_EACH:-3}
. "$(dirname "$0")/peer.sh"

if ! command -v fio >/dev/null; then
	[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || die "fio is missing: install the distribution's package (apt-get install fio)"
	say "installing fio"
	{ apt-get install -y fio || { apt-get update && apt-get install -y fio; }; } >"$scratch/apt" 2>&1 || { tail -n 20 "$scratch/apt" >&2; die "fio was not installed"; }
fi
build_ours ./bench/quantiles
quantiles=$bin/quantiles
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
      load: {closed: {clients: 1, duration: ${seconds}s}}
      disk: {sequential: {block: 2300B, file: 100MiB, sync: fdatasync}}
YAML

# slice PAIR SIDE SLICE: what comes of it is in a file or folder of that name.
slice() {
	local to=$scratch/slice.$1.$2.$3
	case $2 in
	plimsoll)
		timed "$scratch/out" "$plimsoll" run "$scratch/fsync.yaml" -o "$to"
		;;
	fio)
		timed "$to" fio --rw=write --ioengine=sync --fdatasync=1 "--directory=$disk" --size=100m --bs=2300 --name=mytest \
			--time_based "--runtime=$seconds" --output-format=json+
		rm -f "$disk"/mytest.*
		;;
	esac
}

# merge PAIR SIDE: keeps "syncs iops p50 p90 p95 p99 p99.9", times in µs.
merge() {
	"$quantiles" "$2" sync "$scratch/slice.$1.$2."*[0-9] | awk -v seconds="$((slices * seconds))" '{ $1 = $1 " " $1 / seconds; print }' >"$scratch/$1.$2"
	rm -rf "$scratch/slice.$1.$2".*
	awk -v pair="$1" -v side="$2" '
		NF != 7 || $1 == 0 { print side " measured nothing" > "/dev/stderr"; exit 1 }
		{ printf "%-6s %-10s %9d %9.0f %9.1f %9.1f %9.1f %9.1f %9.1f\n", pair, side, $1, $2, $3, $4, $5, $6, $7 }' "$scratch/$1.$2" || die "not all was done"
}

sides=(plimsoll fio)
printf '%-6s %-10s %9s %9s %9s %9s %9s %9s %9s\n' pair side syncs iops p50-us p90-us p95-us p99-us p99.9-us
for ((pair = 1; pair <= pairs; pair++)); do
	for ((i = 0; i < slices; i++)); do
		for ((turn = 0; turn < 2; turn++)); do slice "$pair" "${sides[(turn + i + pair + 1) % 2]}" "$i"; done
	done
	for side in "${sides[@]}"; do merge "$pair" "$side"; done
done

# spread NAME FIELDS A B
spread() {
	local pair
	for ((pair = 1; pair <= pairs; pair++)); do
		echo "$(awk "{ print $2 }" "$scratch/$pair.$3") $(awk "{ print $2 }" "$scratch/$pair.$4")"
	done | awk '{ print $1 / $2 }' | sort -g | awk -v name="$1" 'NR == 1 { least = $1 } END { printf "spread %s %.3f %.3f\n", name, least, $1 }'
}

names=(iops p50 p90 p95 p99 p99.9)
for i in "${!names[@]}"; do ratio "fsync-${names[i]}" "\$$((i + 2))" plimsoll fio; done
for i in "${!names[@]}"; do spread "fsync-${names[i]}" "\$$((i + 2))" plimsoll fio; done
[ "$pairs" -gt 1 ] || exit 0
for ((pair = 2; pair <= pairs; pair++)); do # the same again, of fio and fio
	ln -s "$pair.fio" "$scratch/$((pair - 1)).next"
done
pairs=$((pairs - 1))
for i in "${!names[@]}"; do spread "control-${names[i]}" "\$$((i + 2))" next fio; done
