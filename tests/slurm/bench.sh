#!/bin/bash
# bench.sh - what the plugin costs a job, a step and a node. Runs with and without it alternate; printed are medians of
# the differences with quartiles, and how far the fastest runs of both are apart, which neighbours change least, beside
# the goals. Not part of the tests: figures are of this machine, best an idle one.
# In: an installed mpitrace (--prefix), root.  Out: a table as in docs/PERFORMANCE.md.
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
REPO=$(cd "$HERE/../.." && pwd)
STATE=/run/mpitrace-bench-$$
PREFIX=$REPO/build/inst
PAIRS=15
STEPS=100

while [ $# -gt 0 ]; do
	case $1 in
	--prefix) PREFIX=$(realpath -m "${2-}") && shift ;;
	--pairs) PAIRS=${2-} && shift ;;
	--steps) STEPS=${2-} && shift ;;
	*) echo "usage: bench.sh [--prefix DIR] [--pairs N] [--steps N]" >&2 && exit 2 ;;
	esac
	shift
done

. "$HERE/lib.sh"

now_us() {
	echo $((${EPOCHREALTIME/./} + 0))
}

# Microseconds that a command takes.
took() {
	local begin
	begin=$(now_us)
	"$@" >/dev/null 2>&1 || return
	echo $(($(now_us) - begin))
}

# A job on the only processors of a node: the next one waits for its epilog.
exclusive_job() {
	as_user srun --exclusive -w n1 --mpi=none "$@" true
}

plugged() { # yes|no|empty
	case $1 in
	yes) echo "$PLUGSTACK" ;;
	empty) echo "optional $STATE/empty.so" ;;
	esac >"$STATE/plugstack.conf"
}

# Two jobs, the second of which waits for the epilog of the first.
two_jobs_plugged() {
	plugged "$1"
	exclusive_job
	took eval 'exclusive_job && exclusive_job'
}

hostname_traced() { # --mpitrace|--mpitrace=off
	took as_user srun -w n1 --mpi=none "$1" hostname
}

# From the command to the first instruction of the task.
start_traced() {
	local begin
	begin=$(now_us)
	echo $(($(as_user srun -w n1 --mpi=none "$1" bash -c 'echo ${EPOCHREALTIME/./}' 2>/dev/null) - begin))
}

steps_traced() {
	printf '#!/bin/bash\nb=${EPOCHREALTIME/./}\nfor i in $(seq %d); do srun -n1 --mpi=none true; done\necho $(((${EPOCHREALTIME/./} - b) / %d)) >%s\n' \
		"$STEPS" "$STEPS" "$CASE_DIR/steps" >"$CASE_DIR/job.sh"
	timeout 600 "$CLUSTER/run" --state "$STATE" sbatch --wait -w n1 -n1 "$1" -o /dev/null "$CASE_DIR/job.sh" >/dev/null && cat "$CASE_DIR/steps"
}

# pairs NAME GOAL DIVISOR COUNT CMD WITHOUT WITH: one row of the table.
pairs() {
	local i without with
	for i in $(seq "$4"); do
		without=$("$5" "$6") && with=$("$5" "$7") && echo "$without $with"
	done | python3 -c '
import statistics, sys
name, goal, divisor = sys.argv[1], sys.argv[2], float(sys.argv[3])
rows = [tuple(map(float, line.split())) for line in sys.stdin]
added = sorted((b - a) / 1000 / divisor for a, b in rows)
low, mid, high = statistics.quantiles(added, n=4) if len(added) > 1 else (added[0],) * 3
fastest = [min(column) / 1000 / divisor for column in zip(*rows)]
print("| %s | %s | %.1f (%.1f to %.1f) | %.1f | %.0f ms without, %d pairs |" % (name, goal, mid, low, high, fastest[1] - fastest[0],
    statistics.median(a for a, b in rows) / 1000 / divisor, len(rows)))' \
		"$1" "$2" "$3"
}

main() {
	"$CLUSTER/up" --state "$STATE" --prefix "$PREFIX" --nodes 1 --cgroup 2>/dev/null || exit 1
	trap '"$CLUSTER/down" --state "$STATE"' EXIT
	PLUGSTACK=$(cat "$STATE/plugstack.conf")
	CASE_DIR=$WORK
	# A job that waits is looked at every 0.1 s otherwise: a millisecond more of an epilog is 100 of a pair, or none.
	sed -i 's/sched_min_interval=100000/sched_min_interval=1000/' "$STATE/slurm.conf" && as_admin scontrol reconfigure
	gcc -shared -fPIC -o "$STATE/empty.so" "$REPO/tests/programs/slurm_empty.c" || exit 1
	echo "| what | goal | added, ms: median (quartiles) | fastest runs | beside it |"
	echo "|---|---|---|---|---|"
	pairs "a job of somebody who does not trace: plugin, prolog and epilog" "<= 20" 2 "$PAIRS" two_jobs_plugged no yes
	pairs "of that ours: the same beside a plugin whose prolog and epilog do nothing" "<= 20" 2 "$PAIRS" two_jobs_plugged empty yes
	plugged yes
	pairs "start of a job with --mpitrace, to its first instruction" "<= 50" 1 "$PAIRS" start_traced --mpitrace=off --mpitrace
	pairs "\`srun hostname\` with --mpitrace, all of it" "-" 1 "$PAIRS" hostname_traced --mpitrace=off --mpitrace
	pairs "a step, of $STEPS in one job" "<= 10" 1 3 steps_traced --mpitrace=off --mpitrace
}

main
