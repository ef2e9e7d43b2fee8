# What the scripts beside share that hold plimsoll against a peer; sourced by
# them. It builds plimsoll and the helpers from this tree and the peer, mostly
# k6, from its own module (into plimsoll's cache, once: some two minutes), starts
# servers, and reads figures.
#
# A figure is a file $scratch/PAIR.SIDE with the words "requests seconds cpu
# whole-cpu server-median-ms"; see `keep`.

k6_version=v1.8.1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${PLIMSOLL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll}/bench
scratch=$(mktemp -d)
disk= # a folder of the script's own on the disk under test, see on_disk
server_pid=
TIMEFORMAT='%U %S'

say() { echo "$*" >&2; }
die() { say "$*"; exit 1; }

stop_server() {
	[ -n "$server_pid" ] || return 0
	kill -TERM "$server_pid" 2>/dev/null || true
	wait "$server_pid" 2>/dev/null || true
	server_pid=
}

# The server and its children end with the script, whatever ends it.
clean_up() {
	local job
	for job in $(jobs -p); do [ "$job" = "$server_pid" ] || kill -TERM "$job" 2>/dev/null || true; done
	stop_server
	rm -rf "$scratch" ${disk:+"$disk"}
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# build_ours PACKAGE...: plimsoll and what else is named of this tree.
build_ours() {
	bin=${BENCH_BIN:-$scratch/bin} # BENCH_BIN: a folder with plimsoll, server and minimal, to measure these instead
	if [ -z "${BENCH_BIN:-}" ]; then
		say "building plimsoll"
		(cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$bin/" ./cmd/plimsoll "$@")
	fi
	plimsoll=$bin/plimsoll
}

# build_peer NAME VERSION PACKAGE...: into $peer, a folder of the cache, in a module
# of its own, whose requirements are the packages' at that version.
build_peer() {
	local name=$1 version=$2 package get=()
	shift 2
	peer=$cache/$name-$version
	[ ! -d "$peer" ] || return 0
	say "building $name $version (once)"
	mkdir -p "$cache" "$scratch/$name"
	for package; do get+=("$package@$version"); done
	(cd "$scratch/$name" && go mod init "$name.bench" && go get -tool "${get[@]}" && CGO_ENABLED=0 go build -trimpath -o bin/ "$@") \
		>"$scratch/$name.log" 2>&1 || { tail -n 20 "$scratch/$name.log" >&2; die "$name was not built"; }
	cp -r "$scratch/$name/bin" "$peer.part.$$" && mv -T "$peer.part.$$" "$peer"
}

build() {
	build_ours ./bench/server ./bench/minimal
	minimal=$bin/minimal
	build_peer k6 "$k6_version" go.k6.io/k6
	k6=$peer/k6
}

# on_disk: makes $disk in DIR, by default where the script is called.
on_disk() {
	disk=$(cd "${DIR:-.}" && mktemp -d "$PWD/plimsoll-bench-XXXXXX") || die "no folder can be made in ${DIR:-.}"
}

# start_server FLAGS...: a fresh one; $secrets is its folder, $url its address.
start_server() {
	secrets=$(mktemp -d "$scratch/server-XXXX")
	"$bin/server" -dir "$secrets" "$@" 2>"$secrets/err" &
	server_pid=$!
	while [ ! -e "$secrets/url" ]; do # the first start builds the parts: minutes
		kill -0 "$server_pid" 2>/dev/null || { cat "$secrets/err" >&2; die "the server did not start"; }
		sleep 0.1
	done
	url=$(cat "$secrets/url")
	export SECRETS=$secrets SSL_CERT_FILE=$secrets/ca.crt
}

machine() {
	local model
	model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
	echo "machine: $(nproc) CPUs, ${model:-unknown}, $(uname -sr), load $(cut -d' ' -f1 /proc/loadavg); $(go version | cut -d' ' -f3)${disk:+; $(stat -f -c %T "$disk")}"
}

facts() {
	machine
	echo "sides: plimsoll of this tree; $("$k6" version | head -n 1 | cut -d' ' -f1-2), built from its module; $(sed -n 's|^\(require\)\{0,1\}[[:space:]]*k8s.io/kubernetes \([^ ]*\).*|kube-apiserver \2|p' "$root/components/kubernetes.mod")"
}

# buckets VERB: the server's own request times for VERB on ConfigMaps, as lines "upper-bound count".
buckets() {
	curl -sS --fail --cacert "$secrets/ca.crt" --cert "$secrets/admin.crt" --key "$secrets/admin.key" "$url/metrics" |
		awk -v verb="verb=\"$1\"" '
			/^apiserver_request_duration_seconds_bucket/ && index($0, verb) && /resource="configmaps"/ {
				match($0, /le="[^"]*"/); seen[substr($0, RSTART + 4, RLENGTH - 5)] += $NF
			}
			END { for (le in seen) print le, seen[le] }'
}

# server_median BEFORE AFTER: milliseconds, within its bucket by interpolation.
server_median() {
	awk 'NR == FNR { before[$1] = $2; next } { print ($1 == "+Inf" ? 1e9 : $1), $2 - before[$1] }' "$1" "$2" | sort -g | awk '
		{ bound[NR] = $1; count[NR] = $2 }
		END {
			half = count[NR] / 2
			for (i = 1; i <= NR; i++) if (count[i] >= half) {
				low = i > 1 ? bound[i - 1] : 0; below = i > 1 ? count[i - 1] : 0
				printf "%.2f\n", 1000 * (low + (bound[i] - low) * (half - below) / (count[i] - below)); exit
			}
		}'
}

# timed FILE COMMAND...: runs it; $cpu is its user and system time, in seconds.
timed() {
	local out=$1
	shift
	{ time "$@" >"$out" 2>"$out.err"; } 2>"$scratch/time" || { tail -n 20 "$out" "$out.err" >&2; die "failed: ${1##*/}"; }
	cpu=$(awk '{ print $1 + $2 }' "$scratch/time")
}

# run_plimsoll SCENARIO OPERATION: sets $requests, $seconds, $cpu, $whole. The CPU is
# that of the measured phase, from plimsoll's own samples of itself.
run_plimsoll() {
	local out=$scratch/results-$RANDOM$RANDOM
	timed "$scratch/out" "$plimsoll" run "$1" ${secrets:+--kubeconfig "$secrets/kubeconfig"} --yes -o "$out"
	whole=$cpu
	read -r requests seconds < <(awk -F, -v op="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["operation"] == op && $at["measured"] == "true" { print $at["ok"], $at["phase_end_seconds"] - $at["phase_start_seconds"]; exit }' "$out/summary.csv")
	"$plimsoll" query "$out" 'process_cpu_seconds_total{component="plimsoll"}' --range --format csv >"$scratch/samples"
	cpu=$(awk -F, -v seconds="$seconds" '
		NR == 2 { at = $1; used = $NF }
		END { printf "%.2f\n", ($NF - used) / ($1 - at) * seconds }' "$scratch/samples")
	rm -rf "$out"
}

# run_k6 SCRIPT: as run_plimsoll. What k6 takes to start and to end, without
# a request, is taken off its CPU; see k6_idle.
run_k6() {
	timed "$scratch/out" "$k6" run --quiet --no-usage-report --address "" "$root/bench/k6/$1"
	read -r _ requests _ seconds < <(grep '^requests ' "$scratch/out")
	whole=$cpu
	cpu=$(awk -v whole="$whole" -v idle="$idle" 'BEGIN { printf "%.2f\n", whole - idle }')
}

k6_idle() {
	IDLE=1 timed "$scratch/out" "$k6" run --quiet --no-usage-report --address "" "$root/bench/k6/$1"
	idle=$cpu
	say "k6 without requests takes $idle CPU seconds, which are taken off below"
}

# keep PAIR SIDE EXPECTED [MEDIAN]: keeps the figures, if the work was all done.
keep() {
	[ "$requests" -eq "$3" ] || die "$2 made $requests good requests rather than $3"
	echo "$requests $seconds $cpu $whole ${4:-0}" >"$scratch/$1.$2"
	# shellcheck disable=SC2046
	printf '%-6s %-10s %9s %9s %9s %9s %10s %10s\n' "$1" "$2" "$requests" $(awk '{ printf "%.2f %.1f %.2f %.2f %s", $2, $1 / $2, $3, $4, ($5 > 0 ? $5 : "-") }' "$scratch/$1.$2")
}

head_line() { printf '%-6s %-10s %9s %9s %9s %9s %10s %10s\n' pair side requests seconds rate cpu-s whole-cpu-s server-p50-ms; }

# ratio NAME FIELDS A B: the median over pairs of A's figure over B's, where
# FIELDS is an awk expression for the figure: $1 requests, $2 seconds, $3 CPU, $5 median.
ratio() {
	local pair
	for ((pair = 1; pair <= pairs; pair++)); do
		echo "$(awk "{ print $2 }" "$scratch/$pair.$3") $(awk "{ print $2 }" "$scratch/$pair.$4")"
	done | awk '{ print $1 / $2 }' | sort -g | awk -v name="$1" '
		{ v[NR] = $1 }
		END { printf "ratio %s %.3f\n", name, NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
