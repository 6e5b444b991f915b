# shellcheck shell=bash disable=SC2034,SC2154,SC2016
# cases_ends.sh - every way a job ends: its outcome is that of the untraced one, the report says what is missing and why,
# nothing is left, no node is drained, the next job runs. Sourced by run.sh.

# Whom Slurm ends first, the script or its srun, is chance: a script that goes on behind srun is ended by the signal either way.
# with_both_ended END-FUNCTION SBATCH-ARGS...: the script on standard input runs untraced (in off/) and traced (here), both
# come to the file they are told in $PHASE_FILE, are ended by END-FUNCTION JOB, and have the same outcome. OFF, JOB: their
# numbers.
with_both_ended() {
	local end=$1
	shift
	cat >"$CASE_DIR/job.sh"
	as_user mkdir -p "$CASE_DIR/off"
	OFF=$(as_user sbatch --parsable --mpitrace=off --chdir="$CASE_DIR/off" -o out.txt --export=ALL,PHASE_FILE="$CASE_DIR/off/here" "$@" job.sh) || fails "sbatch: $?" || return
	JOB=$(as_user sbatch --parsable --mpitrace -o out.txt --export=ALL,PHASE_FILE="$CASE_DIR/here" "$@" job.sh) || fails "sbatch: $?" || return
	eventually "the phase, untraced" with_end_or_file "$OFF" "$CASE_DIR/off/here" || return
	eventually "the phase, traced" with_end_or_file "$JOB" "$CASE_DIR/here" || return
	is_over "$JOB" || eventually "an agent of the traced one" with_agent_of "$JOB" || return
	same "agents of the untraced one" "" "$(cluster_processes_of collect | grep "/live/${OFF}[.]")" || return
	"$end" "$OFF"
	"$end" "$JOB"
	eventually "the end of both" eval "is_over $OFF && is_over $JOB" || return
	same "outcome" "$(outcome "$OFF")" "$(outcome "$JOB")"
}

with_end_or_file() { # JOB FILE
	[ -e "$2" ] || is_over "$1"
}

with_agent_of() { # JOB
	cluster_processes_of collect | grep "/live/$1[.]" >/dev/null
}

with_cancel() {
	as_user scancel "$1"
}

with_nothing() {
	:
}

# The traced job's report is partial for a reason that holds TEXT, and has events.
with_partial_report() { # TEXT
	eventually "the report" has_report 0 || return
	same "complete" False "$(analysis 0 'a["coverage"]["complete"]')" || return
	same "a reason that says \"$1\"" True "$(analysis 0 "any('$1' in r for r in a['coverage']['reasons']) or a['coverage']['reasons']")" || return
	same "has events" True "$(analysis 0 'a["coverage"]["events"] > 1000 or a["coverage"]')"
}

a_job_that_exits_with_3_ends_as_untraced() {
	with_both_ended with_nothing -N2 -n2 <<-END || return
		#!/bin/sh
		srun $RING 20 exit=3
	END
	is_whole 0 2 40 || return
	is_calm
}

a_job_that_a_signal_ends_ends_as_untraced() {
	with_both_ended with_nothing -N2 -n2 <<-END || return
		#!/bin/sh
		srun --kill-on-bad-exit=1 $RING 2000 kill=9
	END
	with_partial_report "killed by signal 9" || return
	is_calm
}

a_job_that_aborts_ends_as_untraced() {
	with_both_ended with_nothing -N2 -n2 <<-END || return
		#!/bin/sh
		srun $RING 2000 abort
	END
	with_partial_report "MPI_Finalize" || return
	is_calm
}

# Nothing was recorded, so nothing is left.
a_job_cancelled_in_init_ends_as_untraced() {
	with_both_ended with_cancel -N2 -n2 <<-END || return
		#!/bin/sh
		srun $PHASE init
		exec sleep 1000
	END
	is_calm
}

a_job_cancelled_while_it_runs_ends_as_untraced() {
	with_both_ended with_cancel -N2 -n2 <<-END || return
		#!/bin/sh
		srun $PHASE run
		exec sleep 1000
	END
	with_partial_report "MPI_Finalize" || return
	is_calm
}

# Slurm has a state for each part: of the other it says that it failed.
a_cancelled_part_of_a_heterogeneous_job_is_told_as_that() {
	local phase=$CASE_DIR/phase
	JOB=$(PHASE_FILE=$phase submit -n1 : -n2 <<-END
		#!/bin/sh
		srun --kill-on-bad-exit=1 --het-group=0,1 $PHASE run
		exec sleep 1000
	END
	) || return
	eventually "all in MPI" with_end_or_file "$JOB" "$phase" || return
	as_user scancel "$JOB+1"
	eventually "the report" has_report 0 || return
	as_user scancel "$JOB"
	same "why it ended" "CANCELLED" "$(analysis 0 'a["job"]["outcome"]["state"]')" || return
	is_calm
}

a_job_cancelled_in_finalize_ends_as_untraced() {
	with_both_ended with_cancel -N2 -n2 <<-END || return
		#!/bin/sh
		srun $PHASE finalize
		exec sleep 1000
	END
	with_partial_report "MPI_Finalize" || return
	is_calm
}

a_job_cancelled_while_its_report_is_made_still_has_it() {
	JOB=$(submit -w n1 -n1 <<-END
		#!/bin/sh
		srun $SELF 60 600000
		sleep 100
	END
	) || return
	eventually "the finisher" with_finisher_at_work || return
	as_user scancel "$JOB"
	eventually "the end of the job" is_state "$JOB" CANCELLED || return
	eventually "the report" has_report 0 || return
	same "complete" True "$(analysis 0 'a["coverage"]["complete"]')" || return
	is_calm
}

with_finisher_at_work() {
	[ -n "$(cluster_processes_of finish)" ]
}

a_job_that_runs_into_its_time_limit_ends_as_untraced() {
	with_both_ended with_time_over -N2 -n2 <<-END || return
		#!/bin/sh
		srun $PHASE run
		exec sleep 1000
	END
	[[ $(outcome "$JOB") == *TIMEOUT* ]] || fails "it ended as $(outcome "$JOB")" || return
	with_partial_report "MPI_Finalize" || return
	is_calm
}

# Slurm refuses an end that is past when it hears of it, and counts in seconds.
with_time_over() { # JOB
	as_admin scontrol update "JobId=$1" EndTime=now+5
}

a_job_that_takes_more_memory_than_it_may_ends_as_untraced() {
	[ -n "${CGROUP[*]}" ] || skips "no control groups: nobody would stop it" || return
	with_both_ended with_nothing -N2 -n2 --mem=300 <<-END || return
		#!/bin/sh
		srun --kill-on-bad-exit=1 $PHASE memory
	END
	same "what srun says, untraced" 1 "$(grep -c "task 1: Out Of Memory" "$CASE_DIR/off/out.txt")" || return
	same "what srun says, traced" 1 "$(grep -c "task 1: Out Of Memory" "$CASE_DIR/out.txt")" || return
	with_one_killed "$OFF" && with_one_killed "$JOB" || return
	with_partial_report "MPI_Finalize" || return
	is_calm
}

# slurmstepd says it to the user as well, but only if srun still listens (also untraced, every fourth time on a busy machine).
with_one_killed() { # JOB
	eventually "slurmd's word of job $1" grep -q "Detected [0-9]* oom[-_]kill event[()s]* in StepId=$1[.]0" "$STATE"/log/n?.log
}

a_node_that_loses_power_is_named_in_the_report_of_the_others() {
	local rc=0
	JOB=$(submit --no-requeue -w n1,n2 -N2 -n2 <<-END
		#!/bin/sh
		srun $PHASE run
	END
	) || return
	eventually "events on both nodes" eval 'bigger_than 50000 $(step_dir 0)/n1.mpic && bigger_than 50000 $(step_dir 0)/n2.mpic' || return
	"$CLUSTER/power" --state "$STATE" off n2 || fails "power off" || return
	as_admin scontrol update NodeName=n2 State=DOWN Reason=power || return
	with_its_node_away || rc=$? # the other claims need it again in any case
	"$CLUSTER/power" --state "$STATE" on n2 || fails "power on" || return
	as_admin scontrol update NodeName=n2 State=RESUME 2>/dev/null # refused where its registration has done that already
	eventually "all nodes idle" with_idle_nodes 4 && [ "$rc" = 0 ] || return
	find "$STATE/n2/mpitrace/live" -exec touch -d "2 minutes ago" {} +
	mpitrace sweep --spool "$STATE/n2/mpitrace" >"$CASE_DIR/sweep" || fails "sweep: $? $(cat "$CASE_DIR/sweep")" || return
	is_calm
}

# While n2's trace is young, its agent might still be at work, and the report is left to a later sweep: some sweep of the
# timer's finds it old.
with_its_node_away() {
	eventually "the end" is_state "$JOB" NODE_FAIL || return
	eventually "an empty spool on n1" with_empty_spool n1 || return
	eventually "n2's trace is old" with_old "$(step_dir 0)/n2.mpic" || return
	mpitrace sweep --spool "$STATE/n1/mpitrace" >"$CASE_DIR/sweep" || fails "sweep: $? $(cat "$CASE_DIR/sweep")" || return
	with_partial_report "n2"
}

with_old() { # FILE
	[ -z "$(find "$1" -newermt "-10 seconds")" ]
}

with_empty_spool() { # NODE
	[ -z "$(find "$STATE/$1/mpitrace/live" -mindepth 1)" ]
}

with_idle_nodes() { # COUNT
	[ "$(as_admin sinfo -h -N -t idle -o %N | sort -u | wc -l)" = "$1" ]
}

# with_job_beside CMD...: a job talks, CMD happens, the job is told to end: it does, and its report is whole.
with_job_beside() {
	JOB=$(submit -w n1,n2 -N2 -n2 <<-END
		#!/bin/sh
		srun $PHASE until=$CASE_DIR/end
	END
	) || return
	eventually "events on both nodes" eval 'bigger_than 50000 $(step_dir 0)/n1.mpic && bigger_than 50000 $(step_dir 0)/n2.mpic' || return
	"$@" || fails "$*: $?" || as_user scancel "$JOB"
	touch "$CASE_DIR/end"
	eventually "the end" is_over "$JOB" || return
	same "outcome" "JobState=COMPLETED Reason=None ExitCode=0:0" "$(outcome "$JOB")"
}

with_whole_report() {
	eventually "the report" has_report 0 || return
	same "ranks seen, complete" "2 True" "$(analysis 0 '"%d %s" % (a["coverage"]["ranks_seen"], a["coverage"]["complete"] or a["coverage"]["reasons"])')"
}

a_slurmd_that_is_restarted_changes_nothing() {
	with_job_beside "$CLUSTER/power" --state "$STATE" restart n1 || return
	with_whole_report || return
	eventually "all nodes idle" with_idle_nodes 4 || return
	is_calm
}

a_slurmctld_that_is_restarted_changes_nothing() {
	with_job_beside with_restarted_slurmctld || return
	with_whole_report || return
	is_calm
}

with_restarted_slurmctld() {
	"$CLUSTER/power" --state "$STATE" restart head && eventually "slurmctld" as_admin scontrol ping
}

# Rank 0 has its place when rank 1 fills the rest and begins: what there is no room for is a number.
a_spool_that_is_full_costs_events_and_nothing_else() {
	JOB=$(submit -w n1 -n2 <<-END
		#!/bin/sh
		srun sh -c 'if [ \$SLURM_PROCID = 1 ]; then
			until find \$MPITRACE_DIR -name "*.mpit" -size +4000k | grep . >/dev/null; do sleep 0.05; done
			dd if=/dev/zero of=\$MPITRACE_DIR/fill bs=4k 2>/dev/null; touch $CASE_DIR/full; fi; exec $PHASE until=$CASE_DIR/end'
	END
	) || return
	eventually "a full spool" test -e "$CASE_DIR/full" || return
	eventually "events" eval 'bigger_than 50000 $(step_dir 0)/n1.mpic' || return
	touch "$CASE_DIR/end"
	eventually "the end" is_over "$JOB" || return
	same "outcome" "JobState=COMPLETED Reason=None ExitCode=0:0" "$(outcome "$JOB")" || return
	eventually "the report" has_report 0 || return
	same "ranks seen, expected, complete" "1 2 False" "$(analysis 0 '"%d %d %s" % (a["coverage"]["ranks_seen"], a["coverage"]["ranks_expected"], a["coverage"]["complete"])')" || return
	same "a reason" True "$(analysis 0 'any("1 of 2 ranks" in r for r in a["coverage"]["reasons"]) or a["coverage"]["reasons"]')" || return
	is_calm
}

a_directory_that_is_removed_meanwhile_is_there_at_the_end() {
	with_job_beside with_directory_removed || return
	with_whole_report || return
	is_calm
}

with_directory_removed() {
	rm -rf "$CASE_DIR/mpitrace-$JOB"
}

# Where it cannot be made again: what is in the way stays, srun says where the trace is, and there it is. It records as
# much as fills its spool, which has no room for a copy before the end.
a_directory_that_is_replaced_meanwhile_has_its_trace_kept_and_said() {
	local kept step srun
	rm -rf "$STATE/n1/mpitrace/kept"
	as_user srun -w n1 -n1 --mpitrace "$PHASE" "until=$CASE_DIR/end" >/dev/null 2>"$CASE_DIR/err" &
	srun=$!
	eventually "events" eval 'bigger_than 3000000 $(step_dir 0)/n1.mpic'
	step=$(step_dir 0)
	until rm -rf "$step" && as_user mkfifo "$step" 2>/dev/null; do :; done # its agent may have made it again
	touch "$CASE_DIR/end"
	wait $srun || fails "srun: $?" || return
	same "lines" 1 "$(said "$CASE_DIR/err" | grep -c mpitrace:)" || fails "$(cat "$CASE_DIR/err")" || return
	contains "$CASE_DIR/err" "$step: belongs to somebody else, or all may write in it: what could be saved of the trace is kept on each node in kept/$(id -u "$(stat -c %U "$WORK")")" || return
	eventually "an empty spool" spool_is_empty || return
	kept=$(find "$STATE/n1/mpitrace/kept" -name n1.mpic)
	[ -p "$step" ] && [ -n "$kept" ] || fails "$(ls -ld "$step") $(find "$STATE/n1/mpitrace/kept")" || return
	mpitrace analyze "$(dirname "$kept")" -o "$CASE_DIR/kept.mpix" 2>/dev/null || [ $? = 4 ] || fails "analyze: $?" || return
	bigger_than 3000000 "$kept" || fails "it has $(stat -c %s "$kept") bytes" || return
	is_calm
}

a_directory_without_room_has_a_partial_report() {
	local small=$CASE_DIR/small
	as_user mkdir "$small"
	with_mount_on n1 "$small" 300k || fails "mount" || return
	with_too_little_room_in "$small"
}

# A file system that keeps quotas of its own accord, on every kernel that has it.
a_directory_over_its_quota_has_a_partial_report() {
	local volume=$CASE_DIR/volume rc=0
	PATH=$PATH:/usr/sbin:/sbin command -v mkfs.btrfs >/dev/null || skips "no mkfs.btrfs" || return
	as_user mkdir volume
	with_quota_on n1 "$volume" 700k >/dev/null || fails "a volume with a quota" || return
	with_too_little_room_in "$volume/home" || rc=1
	as_admin rm -f "$CASE_DIR/image"
	return $rc
}

with_quota_on() { # NODE DIRECTORY BYTES: of DIRECTORY/home
	truncate -s 128M "$CASE_DIR/image" && mkfs.btrfs -q "$CASE_DIR/image" && with_node "$1" mount -o loop "$CASE_DIR/image" "$2" &&
		with_node "$1" btrfs quota enable "$2" && with_node "$1" btrfs subvolume create "$2/home" && with_node "$1" btrfs qgroup limit "$3" "$2/home" &&
		with_node "$1" chown "$(stat -c %u:%g "$CASE_DIR")" "$2/home"
}

# What is there is whole, and what is not is a number.
# Six million events: at any rate of the clock more than there is room for.
with_too_little_room_in() { # DIRECTORY, on n1
	local small=$1
	JOB=$(as_user sbatch --parsable "--mpitrace=out=$small" -o out.txt -w n1 -n2 --wrap "srun $SELF 60 1000000") || fails "sbatch: $?" || return
	eventually "the end" is_over "$JOB" || return
	same "outcome" "JobState=COMPLETED Reason=None ExitCode=0:0" "$(outcome "$JOB")" || return
	same "lines of ranks" 2 "$(grep -c '1000000$' "$CASE_DIR/out.txt")" || return
	is_calm || return
	with_node n1 cp -r "$small/mpitrace-$JOB" "$CASE_DIR/" || fails "no trace" || return
	with_node n1 umount -l "$(with_node n1 findmnt -no TARGET -T "$small")"
	same "what is half written" "" "$(find "$CASE_DIR/mpitrace-$JOB" -name '*.tmp' -o -name '.*')" || return
	mpitrace analyze "$CASE_DIR/mpitrace-$JOB/step-0" -o "$CASE_DIR/mpitrace-$JOB/step-0/job.mpix" 2>/dev/null
	same "a reason" True "$(analysis 0 'a["coverage"]["events_lost"] > 0 and len(a["coverage"]["reasons"]) > 0 or a["coverage"]')"
}

with_node() { # NODE CMD...
	nsenter --target "$(cluster_process_on "$1" slurmd)" --mount -- "${@:2}"
}

with_mount_on() { # NODE DIRECTORY SIZE
	with_node "$1" mount -t tmpfs -o "mode=0755,size=$3,uid=$(stat -c %u "$2"),gid=$(stat -c %g "$2")" small "$2"
}

a_warden_that_is_killed_is_not_missed() {
	with_job_beside with_warden_hit KILL || return
	eventually "the report" has_report 0 || return
	same "ranks seen" 2 "$(analysis 0 'a["coverage"]["ranks_seen"]')" || return
	is_calm
}

# As the group may do that the site lets read results.
a_lock_on_a_trace_keeps_no_agent_from_going_on() {
	with_job_beside with_agent_killed_behind_a_lock || return
	with_whole_report || return
	same "traces" "n1.mpic n2.mpic" "$(cd "$(step_dir 0)" && echo *.mpic)" || return
	is_calm
}

with_agent_killed_behind_a_lock() {
	local before
	before=$(with_agent_on n1) && exec 8<"$(step_dir 0)/n1.mpic" && flock -s -n 8 || fails "no lock" || return
	kill -KILL "$before"
	eventually "another agent" eval '[ "$(with_agent_on n1)" -gt 0 ] && [ "$(with_agent_on n1)" != "$before" ]' || return
	eventually "more of the trace" bigger_than $(($(stat -c %s "$(step_dir 0)/n1.mpic") + 20000)) "$(step_dir 0)/n1.mpic"
	local rc=$?
	exec 8<&-
	return $rc
}

with_agent_on() { # NODE
	cluster_processes_of "collect $STATE/$1/" | awk '{print $1; exit}'
}

# The epilog lets it go on, and does not wait the minute that it has for one that is at work, to kill it then.
a_warden_that_is_stopped_goes_on() {
	command -v strace >/dev/null || skips "no strace" || return
	with_job_beside with_warden_stopped || return
	eventually "the report" has_report 0 || return
	same "ranks seen" 2 "$(analysis 0 'a["coverage"]["ranks_seen"]')" || return
	is_calm || return
	eventually "its end" grep -q '^+++' "$CASE_DIR/warden" || return
	same "how often it was killed" 0 "$(grep -c '^+++ killed' "$CASE_DIR/warden")"
}

# strace tells how who is no child of the shell has ended.
with_warden_stopped() {
	local pid
	pid=$(cluster_processes_of warden | awk '/step-0/ {print $1; exit}')
	[ -n "$pid" ] || return
	strace -q -e trace=none -o "$CASE_DIR/warden" -p "$pid" &
	eventually "that it is watched" grep -q '^TracerPid:.[1-9]' "/proc/$pid/status" || return
	kill -STOP "$pid"
	eventually "that it is stopped" grep -q 'stopped by SIGSTOP' "$CASE_DIR/warden"
}

# It waits for a step whose lock somebody has; nobody watches it.
a_warden_of_the_epilog_that_is_stopped_goes_on() {
	with_job_beside with_step_locked_on_n1 || return
	eventually "the epilog's warden" eval '[ -n "$(with_epilog_of_n1)" ]' || return
	kill -STOP "$(with_epilog_of_n1)"
	eventually "that it is stopped" grep -q '^State:.T' "/proc/$(with_epilog_of_n1)/status" || return
	exec 7<&-
	PATIENCE=40 is_calm
}

with_step_locked_on_n1() {
	kill -KILL "$(cluster_processes_of "warden step $STATE/n1/.*/step-0" | awk '{print $1; exit}')" || return
	exec 7<>"$(echo "$STATE"/n1/mpitrace/live/"$JOB".*/step-0/warden)" || return
	eventually "the step's lock" flock -n 7
}

with_epilog_of_n1() {
	cluster_processes_of "warden epilog $STATE/n1/" | awk '{print $1; exit}'
}

with_warden_hit() { # SIGNAL
	local pid
	pid=$(cluster_processes_of warden | awk '/step-0/ {print $1; exit}')
	[ -n "$pid" ] && kill "-$1" "$pid"
}

an_analysis_that_is_killed_leaves_the_trace() {
	with_analysis_hit KILL || return
	same "trace" n1.mpic "$(cd "$(step_dir 0)" && ls *.mpic)" || return
	as_user mpitrace finish "$(step_dir 0)" || fails "mpitrace finish: $?" || return
	has_report 0
}

an_analysis_that_is_stopped_goes_on() {
	with_analysis_hit STOP || return
	eventually "the report" has_report 0
}

with_analysis_hit() { # SIGNAL
	local pid signal=$1
	JOB=$(submit -w n1 -n1 <<-END
		#!/bin/sh
		srun $SELF 60 600000
	END
	) || return
	eventually "the analysis" eval 'pid=$(cluster_processes_of finish | awk "NR == 2 {print \$1}"); [ -n "$pid" ] && kill "-$signal" "$pid"' || return
	eventually "the end" is_over "$JOB" || return
	same "outcome" "JobState=COMPLETED Reason=None ExitCode=0:0" "$(outcome "$JOB")" || return
	is_calm
}

# As a package manager does it: new files under the old names.
a_plugin_that_is_upgraded_under_a_running_job_changes_nothing() {
	with_copy_of_the_plugin with_job_beside with_new_files && with_whole_report && is_calm
}

# Who sees to its steps is there already; what would have to be started is gone: the traces, and no report.
a_plugin_that_is_removed_under_a_running_job_changes_nothing() {
	with_copy_of_the_plugin with_job_beside with_no_files || return
	has_file "$(step_dir 0)/n1.mpic" || return
	[ ! -e "$(step_dir 0)/report.html" ] || fails "who made a report" || return
	is_calm
}

with_copy_of_the_plugin() { # COMMAND...
	local copy=$STATE/prefix rc=0
	cp -a "$PREFIX" "$copy"
	cp "$STATE/plugstack.conf" "$CASE_DIR/plugstack.once"
	sed "s#$PREFIX#$copy#; s#\$# libdir=$(dirname "$(find "$copy" -name libmpitrace.so)") bindir=$copy/bin libexecdir=$copy/libexec/mpitrace$NO_TRACER#" \
		"$CASE_DIR/plugstack.once" >"$STATE/plugstack.conf"
	"$@" "$copy" || rc=1
	cat "$CASE_DIR/plugstack.once" >"$STATE/plugstack.conf"
	rm -rf "$copy"
	return $rc
}

with_no_files() { # PREFIX
	: >"$STATE/plugstack.conf" && rm -rf "$1"
}

with_new_files() { # PREFIX
	find "$1" -type f | while read -r file; do
		cp -p "$file" "$file.new" && mv "$file.new" "$file"
	done
}
