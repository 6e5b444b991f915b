#!/bin/bash
# run.sh - what mpitrace promises under Slurm, tried on real ones of four nodes each (contrib/cluster). Prints TAP.
# In: an installed mpitrace (--prefix), root.  Out: one line a claim; exit code 1 if one does not hold.
# Every function of cases_*.sh is a case and its name the claim; it has a directory of its own and a cluster that is up. Most of
# its time a claim waits for Slurm, so some clusters (--at-once) take one after the other from the same list.
# shellcheck disable=SC2034,SC2153  # what lib.sh has and wants
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
REPO=$(cd "$HERE/../.." && pwd)
STATE=/run/mpitrace-tests-$$ # of its own, so that several can run at once
PREFIX=$REPO/build/inst
AT_ONCE=3 # clusters
KEEP=no
NO_TRACER= # arguments of the plugin that take it away
MOVED=no # PREFIX is not the one that it was built for: packages that are only unpacked
ONLY=()
CGROUP=()
# Minutes, of which each waits most: begun first, they end beside all others.
LONGEST=(a_site_with_accounting_has_its_rules_applied_and_its_records_unchanged a_requeued_job_keeps_the_reports_of_both_runs
	hung_jobs_have_one_account_however_they_end forty_jobs_of_every_kind_leave_nothing_of_ours
	who_computes_or_is_suspended_or_whose_site_asks_for_none_is_no_alert)
APART=900 # seconds: no node's monotonic clock is that of another, in all cases

while [ $# -gt 0 ]; do
	case $1 in
	--prefix) PREFIX=$(realpath -m "${2-}") && shift ;;
	--state) STATE=$(realpath -m "${2-}") && shift ;;
	--at-once) AT_ONCE=${2-} && shift ;;
	--keep) KEEP=yes ;;
	--without-tracer) NO_TRACER=yes ;;
	--moved) MOVED=yes ;;
	-*) echo "usage: run.sh [--prefix DIR] [--state DIR] [--at-once N] [--keep] [--without-tracer] [--moved] [CLAIM...]" >&2 && exit 2 ;;
	*) ONLY+=("$1") ;;
	esac
	shift
done

skip_all() {
	echo "1..0 # skipped: $*"
	exit 77
}

need() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	command -v slurmd >/dev/null || PATH=$PATH:/usr/sbin command -v slurmd >/dev/null || skip_all "needs slurm-wlm"
	command -v mpicc.openmpi mpicc.mpich >/dev/null || skip_all "needs libopenmpi-dev or libmpich-dev"
	[ -x "$PREFIX/bin/mpitrace" ] || skip_all "no mpitrace in $PREFIX: meson install first"
}

claims() {
	if [ ${#ONLY[@]} -gt 0 ]; then
		printf '%s\n' "${ONLY[@]}"
	else
		printf '%s\n' "${LONGEST[@]}"
		sed -n 's/^\([a-z][a-z0-9_]*\)() {$/\1/p' "$HERE"/cases_*.sh | grep -vxFf <(printf '%s\n' "${LONGEST[@]}")
	fi
}

take_down() {
	[ "$KEEP" = yes ] || "$CLUSTER/down" --state "$STATE"
}

# A case: its own directory, output only when it fails. What the one before it left to be done is over, so that nodes are given
# out in their order. In a shell of its own: what ends that, as a sum of what is no number does, ends no other claim. What a
# claim that did not hold leaves - jobs, a site's rules, arguments - ends with it: the next one would be judged by them.
try() {
	local rc=0
	CASE_DIR=$WORK/$1
	as_admin install -d -o "$(stat -c %U "$WORK")" -g "$(stat -c %G "$WORK")" "$CASE_DIR"
	eventually "idle nodes" all_nodes_idle >/dev/null
	([ "$MPI" != none ] || skips "srun starts no MPI programs here" && "$1") >"$OUTPUT" 2>&1 || rc=$?
	[ "$rc" = 0 ] || end_all_jobs >/dev/null 2>&1
	restore_settings
	return $rc
}

# As they were before the first claim: what the plugin is told, and no rules of a site.
restore_settings() {
	no_policy
	echo "$PLUGSTACK report_seconds=300" >"$STATE/plugstack.conf"
}

end_all_jobs() {
	as_admin squeue -h -o %A | xargs -r "$CLUSTER/run" --state "$STATE" --root scancel
	eventually "the end of all jobs" no_jobs
	eventually "an empty spool" spool_is_empty
}

no_jobs() {
	[ -z "$(as_admin squeue -h)" ]
}

say_where_all_is() {
	printf ' libdir=%s bindir=%s libexecdir=%s' "$(dirname "$(find "$PREFIX" -name libmpitrace.so)")" "$PREFIX/bin" \
		"$(dirname "$(find "$PREFIX" -name mpitrace-warden)")"
}

# In place of the tracer a library that does nothing: who claims that a job was traced must notice.
take_tracer_away() {
	local library lib=$STATE/without
	install -d -m 0755 "$lib"
	find "$PREFIX" -name 'libmpitrace*.so' | while read -r library; do
		gcc -shared -fPIC -x c /dev/null -o "$lib/$(basename "$library")"
	done
	NO_TRACER=" libdir=$lib"
	PLUGSTACK=$PLUGSTACK$NO_TRACER
	PATIENCE=8
}

# Does the claim hold; or without the tracer, does it not, unless without_tracer.txt says why it may.
# 77: it cannot be tried here.
holds() { # CLAIM
	local rc=0
	try "$1" || rc=$?
	[ -n "$NO_TRACER" ] && [ "$rc" != 77 ] || return "$rc"
	[ "$rc" != 0 ] || grep -q "^$1  " "$HERE/without_tracer.txt" || fails "it holds although nothing was traced" >"$OUTPUT"
}

cluster_is_up() {
	# Control groups where this machine lets us; small disks, so that what fills them is seen.
	# Of version 2 only where nobody else manages them, as in contrib/cluster/vm.
	if [ -w /sys/fs/cgroup/memory ] || [ "$(cat /proc/self/cgroup)" = 0::/ ]; then CGROUP=(--cgroup); fi
	"$CLUSTER/up" --state "$STATE" --prefix "$PREFIX" --apart "$APART" "${CGROUP[@]}" --disk 300M >"$OUTPUT" 2>&1
}

say_which_mpi() { # NUMBER
	# shellcheck source=/dev/null
	. <(grep '^MPI' "$STATE/settings")
	[ "$1" != 1 ] || sed -n 's/^cluster: srun starts/# srun starts/p' "$OUTPUT"
}

prepare() {
	# On a busy machine a report takes longer than it may: who tests that sets another bound (with_plugin_arguments).
	PLUGSTACK=$(cat "$STATE/plugstack.conf")
	[ "$MOVED" = no ] || PLUGSTACK="$PLUGSTACK$(say_where_all_is)"
	[ -z "$NO_TRACER" ] || take_tracer_away
	echo "$PLUGSTACK report_seconds=300" >"$STATE/plugstack.conf"
	SELF=$WORK/slurm_self RING=$WORK/slurm_ring PHASE=$WORK/slurm_phase
	[ "$MPI" != none ] || return 0
	for program in "$SELF" "$RING" "$PHASE"; do
		"mpicc.$MPI" -g -O1 -o "$program" "$REPO/tests/programs/$(basename "$program").c" || return
	done
}

# next_claim: the number in ret_number and the name in ret_claim of one that nobody has taken yet.
next_claim() {
	{
		flock 7
		read -r ret_number <"$RUN_DIR/taken"
		echo $((ret_number + 1)) >"$RUN_DIR/taken"
	} 7>>"$RUN_DIR/lock"
	ret_claim=${ALL[ret_number]-}
	ret_number=$((ret_number + 1))
	[ -n "$ret_claim" ]
}

result() { # NUMBER CLAIM SECONDS RC
	{
		flock 7
		if [ "$4" = 0 ]; then
			echo "ok $1 - $2"
		elif [ "$4" = 77 ]; then
			echo "ok $1 - $2 $(tail -n 1 "$OUTPUT")"
		else
			echo "not ok $1 - $2"
			sed 's/^/# /' "$OUTPUT"
			tail -n 5 "$WORK/$2"/{,off/}out.txt 2>/dev/null | sed 's/^/# /'
		fi
		echo "$3 $4 $2" >>"$RUN_DIR/results"
	} 7>>"$RUN_DIR/lock"
}

# One cluster: takes claims as long as there are any. When several did not hold, what else does not is known sooner.
work() { # NUMBER
	local begin rc
	[ "$CLUSTERS" = 1 ] || STATE=$STATE.$1
	OUTPUT=$RUN_DIR/output.$1
	for cases in "$HERE"/{lib,jobs}.sh "$HERE"/cases_*.sh; do
		# shellcheck source=/dev/null
		. "$cases"
	done
	trap take_down EXIT
	if ! cluster_is_up || ! say_which_mpi "$1" || ! prepare >>"$OUTPUT" 2>&1; then
		cat "$OUTPUT" >&2
		exit 1
	fi
	while next_claim; do
		begin=$SECONDS
		rc=0
		holds "$ret_claim" || rc=$?
		[ "$rc" = 0 ] || [ "$rc" = 77 ] || rc=1
		result "$ret_number" "$ret_claim" $((SECONDS - begin)) $rc
		[ "$(grep -c '^[0-9]* 1 ' "$RUN_DIR/results")" -lt 4 ] || PATIENCE=$((PATIENCE < 30 ? PATIENCE : 30))
	done
}

end_early() {
	kill -TERM "${WORKERS[@]}" 2>/dev/null
	wait
	exit 1
}

summary() {
	local held skipped
	held=$(grep -c '^[0-9]* 0 ' "$RUN_DIR/results")
	skipped=$(grep -c '^[0-9]* 77 ' "$RUN_DIR/results")
	echo "# slurm: $held of ${#ALL[@]} claims hold, $skipped cannot be tried here, in $SECONDS s; the longest: $(sort -rn "$RUN_DIR/results" |
		awk 'NR <= 5 {printf "%s%s %d s", (NR > 1 ? ", " : ""), $3, $1}')"
	rm -rf "$RUN_DIR"
	[ $((held + skipped)) = "${#ALL[@]}" ]
}

main() {
	local i
	need
	mapfile -t ALL < <(claims | grep -vxE 'identical|identical_with_trace|task_by_task|kept_traces|clock_of_node|records_of|with_.*')
	CLUSTERS=$((AT_ONCE < ${#ALL[@]} ? AT_ONCE : ${#ALL[@]}))
	RUN_DIR=$(mktemp -d)
	echo 0 >"$RUN_DIR/taken"
	: >"$RUN_DIR/results"
	WORKERS=()
	trap end_early INT TERM
	echo "1..${#ALL[@]}"
	for i in $(seq "$CLUSTERS"); do
		(work "$i") &
		WORKERS+=($!)
	done
	wait
	summary
}

main
