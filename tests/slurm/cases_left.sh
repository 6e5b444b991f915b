# shellcheck shell=bash disable=SC2034,SC2153,SC2154,SC2016
# cases_left.sh - jobs of every kind, many at a time: then nothing of ours is on any node (left_of_ours of jobs.sh). Sourced by run.sh.

with_jobs_of_every_kind() { # NUMBER
	local n=$1
	{
		echo '#!/bin/sh'
		case $((n % 10)) in
		0) echo "srun --mpitrace=report=epilog $RING 20" ;;
		1) echo "srun -N2 -n3 $RING 20 exit=3" ;;
		2) echo "srun $RING 20 kill=9" ;;
		3) echo "srun --overlap $RING 20 & srun --overlap $RING 30; wait" ;;
		4) echo "mpirun.openmpi --oversubscribe -np 2 $ret_ring 20" ;;
		5) echo "srun --mpi=none sh -c 'exit 2'" ;;
		6) echo "srun --mpitrace=report=none $RING 20; srun --mpitrace=off $RING 5" ;;
		7) echo "srun --mpitrace=out=$CASE_DIR/closed $RING 20" ;;
		8) echo "srun $PHASE until=$CASE_DIR/never & sleep 1; scancel \$SLURM_JOB_ID; wait" ;;
		9) echo "srun $PHASE until=$CASE_DIR/looked_at" ;;
		esac
	} >"$CASE_DIR/job.sh"
	as_user sbatch --parsable --mpitrace -o /dev/null --mem=200 "-N$((n % 10 == 1 ? 2 : 1))" -n3 job.sh
}

with_none_in_the_queue() {
	[ -z "$(as_admin squeue -h)" ]
}

forty_jobs_of_every_kind_leave_nothing_of_ours() {
	local i id looked=()
	needs_mpirun || return
	policy_is <<-END
		[defaults]
		outbox = $CASE_DIR/outbox
	END
	as_admin install -d -m 3733 "$CASE_DIR/outbox"
	as_admin install -d -m 0755 "$CASE_DIR/closed"
	for i in $(seq 8); do
		as_user srun -n2 --mem=200 --mpitrace "$RING" 20 >/dev/null 2>&1 & # srun makes these reports, and the node looks whether it has
	done
	for i in $(seq 32); do
		id=$(with_jobs_of_every_kind "$i") || fails "sbatch: $?" || return
		[ $((i % 10)) != 9 ] || looked+=("$id")
	done
	# Somebody looks at one of them, and does not come back.
	id=${looked[0]}
	eventually "job $id" eval '[ -n "$(echo "$CASE_DIR/mpitrace-$id"/step-0/*.mpic)" ] && [ -s "$(echo "$CASE_DIR/mpitrace-$id"/step-0/*.mpic)" ]' || return
	(as_user mpitrace live "$id" --view --no-browser --linger 1 >"$CASE_DIR/view" 2>&1; echo "ended $?" >>"$CASE_DIR/view") &
	(as_user mpitrace live "$id" --socket "$CASE_DIR/socket" >"$CASE_DIR/feed" 2>&1; echo "ended $?" >>"$CASE_DIR/feed") &
	eventually "who looks" test -S "$CASE_DIR/socket" || fails "$(cat "$CASE_DIR/feed")" || return
	touch "$CASE_DIR/looked_at"
	eventually "the end of all jobs" with_none_in_the_queue || fails "$(as_admin squeue)" || return
	eventually "nothing of ours" nothing_of_ours_is_left || fails "$(left_of_ours)" || return
	wait
	no_policy
	same "how the views ended" "ended 0 ended 0" "$(cat "$CASE_DIR/view" "$CASE_DIR/feed" | grep ended | xargs)" || fails "$(cat "$CASE_DIR/view" "$CASE_DIR/feed")" || return
	[ "$(find "$CASE_DIR/outbox" -name '*.job.json' | wc -l)" -ge 28 ] || fails "only $(find "$CASE_DIR/outbox" -name '*.job.json' | wc -l) records" || return
	is_calm
}
