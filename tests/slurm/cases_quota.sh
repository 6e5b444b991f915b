# shellcheck shell=bash disable=SC2034,SC2153,SC2154,SC2016
# cases_quota.sh - what root keeps on a node has bounds, in each area of the spool (spank/warden/quota.h), and what is refused is counted. Sourced by run.sh.

LONG_ARGUMENT=$(head -c 120000 /dev/zero | tr '\0' x)

# Node n1 with so many bytes free, in its spools and slurmd's.
with_free() { # MEGABYTES
	rm -f "$STATE/n1/full"
	fallocate -l $(($(df --output=avail -B1 "$STATE/n1" | tail -n 1) - ($1 << 20))) "$STATE/n1/full"
}

with_sweep_of_n1() {
	as_admin "$PREFIX/bin/mpitrace" sweep --spool "$STATE/n1/mpitrace" >"$CASE_DIR/sweep"
}

# Reports that take longer than they may, of steps whose command line is long: their records were all that the sweep needs and this.
records_of_late_reports_are_short_and_bounded() {
	local late=$STATE/n1/mpitrace/late rc=0
	rm -rf "$late"
	cat >"$CASE_DIR/job.sh" <<-END
		#!/bin/bash
		long=$LONG_ARGUMENT
		step() { srun -n1 --overlap sh -c 'exec $SELF 60 $LONG_CALLS >/dev/null' sh \$long \$long \$long; }
		for i in 1 2 3 4; do (for j in 1 2; do step; done) & done
		wait
	END
	with_plugin_arguments report_seconds=1 as_user sbatch --wait -w n1 -n4 --mpitrace=report=epilog -o out.txt job.sh >/dev/null || fails "sbatch: $? $(cat "$CASE_DIR/out.txt")" || return
	eventually "an empty spool" spool_is_empty || return
	same "late reports" 8 "$(find "$late" -type f -name '*.step-*' | wc -l)" || fails "$(ls -l "$late")" || return
	same "those that are longer than a page" "" "$(find "$late" -type f -size +4k)" || return
	# A file system that is all but full, as the step ends: nothing is left there.
	cat >"$CASE_DIR/job.sh" <<-END
		#!/bin/bash
		srun -n1 sh -c '$SELF 60 $LONG_CALLS >/dev/null; touch $CASE_DIR/ready; until [ -e $CASE_DIR/go ]; do sleep 0.05; done'
	END
	with_plugin_arguments report_seconds=1 with_full_before_the_end || rc=1
	rm -f "$STATE/n1/full"
	[ $rc = 0 ] || return
	same "late reports then" 8 "$(find "$late" -type f -name '*.step-*' | wc -l)" || fails "$(ls -l "$late")" || return
	contains "$(step_dir 0)/log.txt" "mpitrace finish $(step_dir 0)" || return
	rm "$late"/*.step-* # they would take minutes
	with_sweep_of_n1 || fails "sweep: $?" || return
	contains "$CASE_DIR/sweep" "late: 1 times something was not kept" || return
	with_sweep_of_n1 || fails "sweep: $?" || return
	! grep -q "not kept" "$CASE_DIR/sweep" || fails "it is said twice" || return
	is_calm
}

with_full_before_the_end() {
	rm -rf "$CASE_DIR"/mpitrace-*
	as_user sbatch -w n1 -n1 --mpitrace=report=epilog -o out.txt job.sh >/dev/null || fails "sbatch: $?" || return
	eventually "the step" test -e "$CASE_DIR/ready" || return
	with_free 4 && touch "$CASE_DIR/go" # files of PMIx may give 8 back when the step has ended; 15 are to stay
	eventually "an empty spool" spool_is_empty
}

# Records of steps that run, where little is free or their user has much already.
a_step_whose_record_has_no_room_runs_untraced_and_is_told() {
	local rc=0
	with_free 10
	as_user srun -w n1 -n1 --mpitrace "$RING" 5 >"$CASE_DIR/out" 2>"$CASE_DIR/err" || rc=1
	rm -f "$STATE/n1/full"
	[ $rc = 0 ] || fails "srun: $(cat "$CASE_DIR/err")" || return
	same "lines about it" 1 "$(grep -c "mpitrace: runs untraced on n1: live: the spool's file system has .* MB free" "$CASE_DIR/err")" || return
	with_sweep_of_n1
	contains "$CASE_DIR/sweep" "live: 1 times something was not kept" || return
	# As much as a user may have, of steps that run; the bound is 8 MiB here.
	as_admin install -d -m 0711 "$STATE/n1/mpitrace/live/999999.0" "$STATE/n1/mpitrace/live/999999.0/step-0"
	{ echo "uid=$(id -u "$(stat -c %U "$WORK")")" && head -c 8386000 /dev/zero; } >"$STATE/n1/mpitrace/live/999999.0/step-0/layout"
	as_user srun -w n1 -n1 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || rc=1
	as_admin setpriv --reuid "$(stat -c %U "$WORK")-2" --regid "$(id -g "$(stat -c %U "$WORK")-2")" --init-groups sh -c "cd / && SLURM_CONF=$STATE/slurm.conf srun -w n1 -n1 --mpi=none --mpitrace=report=none sh -c 'echo \${MPITRACE_DIR:+traced}'" >"$CASE_DIR/other" 2>"$CASE_DIR/other.err" || rc=1
	rm -r "$STATE/n1/mpitrace/live/999999.0"
	[ $rc = 0 ] || fails "srun: $(cat "$CASE_DIR/err" "$CASE_DIR/other" "$CASE_DIR/other.err")" || return
	same "lines about it" 1 "$(grep -c "mpitrace: runs untraced on n1: live: the user has records of 8.4 MB there already" "$CASE_DIR/err")" || fails "$(cat "$CASE_DIR/err")" || return
	same "another user" traced "$(cat "$CASE_DIR/other")" || return
	is_calm
}

# A trace that found no other place, where little is free.
a_trace_that_nobody_can_keep_is_counted() {
	local rc=0
	rm -rf "$STATE/n1/mpitrace/kept"
	as_admin install -d -m 0755 "$CASE_DIR/closed"
	cat >"$CASE_DIR/job.sh" <<-END
		#!/bin/bash
		srun -n1 sh -c '$RING 5; touch $CASE_DIR/ready; until [ -e $CASE_DIR/go ]; do sleep 0.05; done'
	END
	as_user sbatch -w n1 -n1 "--mpitrace=report=none,out=$CASE_DIR/closed" -o out.txt job.sh >/dev/null || fails "sbatch: $?" || return
	eventually "the step" test -e "$CASE_DIR/ready" || return
	with_free 10
	touch "$CASE_DIR/go"
	eventually "an empty spool" spool_is_empty || rc=1
	rm -f "$STATE/n1/full"
	same "files kept" "" "$(find "$STATE/n1/mpitrace/kept" -type f)" || return
	with_sweep_of_n1
	contains "$CASE_DIR/sweep" "kept: 1 times something was not kept" || return
	[ $rc = 0 ] && is_calm
}

# What the prolog leaves of a job, where little is free; and what no epilog took away.
facts_of_jobs_are_bounded_and_go_with_time() {
	local jobs=$STATE/n1/mpitrace/jobs rc=0
	policy_is <<-END
		[rule other]
		partition = main
		level = events
	END
	as_user srun -w n1 -n1 true || fails "srun: $?" || return
	[ -d "$jobs" ] || fails "no facts are kept" || return
	with_free 10
	as_user srun -w n1 -n1 ls "$STATE/n1/mpitrace" >/dev/null 2>"$CASE_DIR/err" || rc=1
	rm -f "$STATE/n1/full"
	no_policy
	[ $rc = 0 ] || fails "srun: $(cat "$CASE_DIR/err")" || return
	contains "$STATE/log/n1.log" "cannot write $jobs/" || return
	touch -d "40 days ago" "$jobs/999999" "$jobs/.999998" && touch -d "2 days ago" "$jobs/999997"
	with_sweep_of_n1
	contains "$CASE_DIR/sweep" "jobs: 1 times something was not kept" || return
	same "facts" 999997 "$(ls -A "$jobs")" || return
	rm "$jobs/999997"
	is_calm
}

# Root's notes of what users have in the central directory.
notes_of_a_central_directory_are_bounded() {
	local user central=$STATE/central
	with_end_of_central
	user=$(stat -c %U "$WORK")
	with_central_directory <<<"retention = 1h"
	as_admin mount -t tmpfs -o mode=0755,size=64k notes "$central" || return
	as_admin install -d -o "$user" "$central/$user"
	with_central_sweep || return
	same "what the user has" 0 "$(as_admin cat "$central/.usage/$user")" || return
	as_admin sh -c "mkdir $central/.new-$user-1 $central/.new-$user-2 && touch -d '2 days ago' $central/.new-$user-1 && echo 5 >$central/.usage/nobody-any-more"
	as_admin sh -c "touch -d '1 hour ago' $central/.usage/.all; dd if=/dev/zero of=$central/fill bs=4k 2>/dev/null; true"
	as_admin "$PREFIX/bin/mpitrace" sweep --spool "$STATE/n1/mpitrace" --policy "$POLICY" >"$CASE_DIR/sweep" || fails "sweep: $?" || return
	contains "$CASE_DIR/sweep" ".usage/$user: No space left on device: the number from before stays" || return
	same "what is left" ".all $user .new-$user-2" "$(as_admin sh -c "ls -A $central/.usage; ls -dA $central/.new-*" | sed 's|.*/||' | xargs)" || return
	as_admin umount "$central"
	with_end_of_central
}
