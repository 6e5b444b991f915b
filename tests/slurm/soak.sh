#!/bin/bash
# soak.sh - random jobs that end at random, with random faults of ours and of the nodes' services: how many nodes were
# drained, what was left of ours: processes, mounts, sockets, files, control groups, records that are there twice. Not part of the tests: takes about a second a job.
# In: an installed mpitrace (--prefix), root.  Out: counts; exit code 1 if a node was drained or anything is left.
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
REPO=$(cd "$HERE/../.." && pwd)
STATE=/run/mpitrace-soak-$$
PREFIX=$REPO/build/inst
JOBS=1000
SEED=$$
SECONDS_MAX=36000
AT_ONCE=8
DISK_MB=300 # of each node
TRACED=--mpitrace

while [ $# -gt 0 ]; do
	case $1 in
	--prefix) PREFIX=$(realpath -m "${2-}") && shift ;;
	--jobs) JOBS=${2-} && shift ;;
	--seed) SEED=${2-} && shift ;;
	--seconds) SECONDS_MAX=${2-} && shift ;;
	--untraced) TRACED= ;; # what Slurm leaves by itself: the same jobs and faults, and no plugin
	*) echo "usage: soak.sh [--prefix DIR] [--jobs N] [--seed N] [--seconds N] [--untraced]" >&2 && exit 2 ;;
	esac
	shift
done
RANDOM=$SEED

. "$HERE/lib.sh"
. "$HERE/jobs.sh"

declare -A DRAWN

any() { # WORD... -> one of them, in DRAWN[it]
	local words=("$@")
	it=${words[RANDOM % $#]}
	DRAWN[$it]=$((${DRAWN[$it]-0} + 1))
}

# A script with one or two steps, or mpirun; some are cancelled at a random moment.
submit_any() {
	local kind end nodes tasks
	any srun srun two mpirun array het && kind=$it
	any exit=0 exit=0 exit=3 kill=9 kill=11 abort not_mpi run init finalize memory && end=$it
	nodes=$((RANDOM % 2 + 1)) tasks=$((RANDOM % 3 + 2))
	case $end in
	exit=* | kill=* | abort) PROGRAM="$RING $((RANDOM % 3000 + 10)) $end" ;;
	not_mpi) PROGRAM="sh -c 'exit 2'" ;;
	*) PROGRAM="$PHASE $end" ;;
	esac
	case $kind in
	srun) submit_script "-N$nodes -n$tasks" "srun $PROGRAM" ;;
	two) submit_script "-N$nodes -n$tasks" "srun --overlap $PROGRAM & srun --overlap $RING 20; wait" ;;
	mpirun) submit_script "-N$nodes -n$tasks" "mpirun.openmpi --oversubscribe -np $tasks $PROGRAM" ;;
	array) submit_script "--array=1-3 -n1" "srun -n1 $RING 20" ;;
	het) submit_script "-n1 : -n2" "srun --het-group=0,1 $RING 20" ;;
	esac
}

submit_script() { # SBATCH-ARGS COMMAND
	local id
	# shellcheck disable=SC2086  # words
	id=$(printf '#!/bin/sh\n%s\n' "$2" | as_user sbatch --parsable --no-requeue --mem=400 -t 2 $TRACED -o /dev/null $1 2>/dev/null)
	id=${id%%;*}
	[ -n "$id" ] || return
	SUBMITTED=$((SUBMITTED + 1))
	case $PROGRAM in
	"$PHASE run" | "$PHASE init" | "$PHASE finalize") cancel_after "$id" ;;
	*) [ $((RANDOM % 6)) != 0 ] || cancel_after "$id" ;;
	esac
}

cancel_after() { # JOB
	(
		sleep "$((RANDOM % 6)).$((RANDOM % 10))"
		as_admin scancel "$1"
	) >/dev/null 2>&1 &
}

hit() { # SIGNAL WHOM
	local pids
	mapfile -t pids < <(cluster_processes_of "$2" | cut -d' ' -f1)
	[ ${#pids[@]} = 0 ] || kill "-$1" "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null
}

fault_any() {
	any none none none agent_killed agent_stopped warden_killed warden_stopped finish_killed finish_stopped out_removed spool_filled slurmd slurmctld
	case $it in
	agent_killed) hit KILL collect ;;
	agent_stopped) hit STOP collect ;;
	warden_killed) hit KILL warden ;;
	warden_stopped) hit STOP warden ;;
	finish_killed) hit KILL finish ;;
	finish_stopped) hit STOP finish ;;
	out_removed) rm -rf "$CASE_DIR/mpitrace-$((RANDOM % (SUBMITTED + 1)))" ;;
	spool_filled) fill_any ;;
	slurmd) "$CLUSTER/power" --state "$STATE" restart "n$((RANDOM % 4 + 1))" >/dev/null 2>&1 ;;
	slurmctld) "$CLUSTER/power" --state "$STATE" restart head >/dev/null 2>&1 && eventually "slurmctld" as_admin scontrol ping ;;
	esac
}

# The directory of a step's ranks, as its user would; of a process that is traced, and no more than the disk has.
fill_any() {
	local pid dir
	pid=$(pgrep -f "$STATE/work/slurm_" | head -n 1)
	dir=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^MPITRACE_DIR=//p')
	[ -z "$dir" ] || nsenter --target "$pid" --mount -- dd if=/dev/zero of="$dir/fill" bs=1M count="$DISK_MB" 2>/dev/null
}

running() {
	as_admin squeue -h -r 2>/dev/null | wc -l
}

few_run() {
	[ "$(running)" -lt "$AT_ONCE" ]
}

none_runs() {
	[ "$(running)" = 0 ]
}

prepare() {
	local cgroup=()
	[ ! -w /sys/fs/cgroup/memory ] || cgroup=(--cgroup)
	"$CLUSTER/up" --state "$STATE" --prefix "$PREFIX" "${cgroup[@]}" --disk "${DISK_MB}M" 2>/dev/null || exit 1
	trap '"$CLUSTER/down" --state "$STATE"' EXIT
	install -d -m 3733 "$WORK/outbox"
	printf '[defaults]\noutbox = %s\n' "$WORK/outbox" >"$STATE/mpitrace.conf"
	sed -i "s|\$| policy=$STATE/mpitrace.conf|" "$STATE/plugstack.conf"
	[ -n "$TRACED" ] || : >"$STATE/plugstack.conf"
	CASE_DIR=$WORK RING=$WORK/slurm_ring PHASE=$WORK/slurm_phase
	mpicc.openmpi -g -O1 -o "$RING" "$REPO/tests/programs/slurm_ring.c" && mpicc.openmpi -g -O1 -o "$PHASE" "$REPO/tests/programs/slurm_phase.c" || exit 1
}

sweep_all() {
	local node
	for node in n1 n2 n3 n4; do
		mpitrace sweep --spool "$STATE/$node/mpitrace"
	done
}

# A finisher that was killed leaves its lock and what it wrote beside the traces, which the next one takes.
left_of_all() {
	left_of_ours | grep -vE "^file $WORK/"
}

nothing_is_left() {
	[ -z "$(left_of_all)" ]
}

main() {
	local drained=0 left
	prepare
	SUBMITTED=0
	echo "seed $SEED"
	while [ "$SUBMITTED" -lt "$JOBS" ] && [ "$SECONDS" -lt "$SECONDS_MAX" ]; do
		submit_any
		fault_any
		PATIENCE=120 eventually "fewer than $AT_ONCE jobs" few_run
		[ -z "$(troubled_nodes)" ] || { drained=$((drained + 1)) && troubled_nodes; }
	done
	PATIENCE=300 eventually "the end of all jobs" none_runs || drained=$((drained + 1))
	PATIENCE=120 eventually "an empty spool" spool_is_empty || sweep_all # both wardens of a step were killed: the timer's turn
	PATIENCE=30 eventually "nothing of ours" nothing_is_left
	left=$(left_of_all)
	for it in "${!DRAWN[@]}"; do printf '%s %s, ' "$it" "${DRAWN[$it]}"; done
	echo
	printf '%d jobs in %d s: %d reports, %d records, %d times a node in trouble, %d things left; %d late, %d kept\n' "$SUBMITTED" "$SECONDS" \
		"$(find "$WORK" -name report.html | wc -l)" "$(find "$WORK/outbox" -name '*.job.json' | wc -l)" "$drained" "$(grep -c . <<<"$left")" \
		"$(find "$STATE"/n*/mpitrace/late -type f 2>/dev/null | wc -l)" "$(find "$STATE"/n*/mpitrace/kept -type f 2>/dev/null | wc -l)"
	head -n 40 <<<"$left"
	[ "$drained" = 0 ] && [ -z "$left" ]
}

main
