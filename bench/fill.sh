#!/bin/sh
# Times fills of fresh local targets: straight into the datastore, and through
# the API for comparison. Usage: bench/fill.sh [ROUNDS]; default 3. What is timed
# includes the wait until the API server's cache shows the objects.
#
# Ends with medians: "seconds NAME X", and "ratio fill-datastore-vs-api X", which
# is how many times faster 2,000 objects are made straight in the datastore.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

go test -c -o "$scratch/fill.test" ./internal/fill
round=0
while [ "$round" -lt "$rounds" ]; do # the sides in turn, so that both meet the same noise
	round=$((round + 1))
	(cd internal/fill && "$scratch/fill.test" -test.run='^$' -test.bench='^BenchmarkFill$' -test.benchtime=1x) |
		tee -a "$scratch/out" | sed -n "s|^BenchmarkFill/|round $round |p"
done

awk -v rounds="$rounds" '
	/^FAIL|--- FAIL/ { failed = 1 }
	/^BenchmarkFill\// {
		name = $1; sub("^BenchmarkFill/", "", name); sub(/-[0-9]+$/, "", name)
		for (i = 2; i < NF; i++) if ($(i + 1) == "s/fill") took[name, ++seen[name]] = $i
	}
	function median(name,    i, j, t, v, n) {
		n = seen[name]
		for (i = 1; i <= n; i++) v[i] = took[name, i]
		for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
		return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
	}
	END {
		for (name in seen) if (seen[name] != rounds) failed = 1
		if (failed || !("2k-10KiB-api" in seen)) { print "a fill failed" > "/dev/stderr"; exit 1 }
		printf "seconds fill-100k-4B %.2f\n", median("100k-4B")
		printf "seconds fill-20k-10KiB %.2f\n", median("20k-10KiB")
		printf "seconds fill-2k-10KiB %.2f\n", median("2k-10KiB")
		printf "seconds fill-2k-10KiB-api %.2f\n", median("2k-10KiB-api")
		printf "ratio fill-datastore-vs-api %.1f\n", median("2k-10KiB-api") / median("2k-10KiB")
	}' "$scratch/out"
