# shellcheck shell=bash disable=SC2034,SC2154,SC2016
# cases_bounds.sh - a node with mpitrace fails no earlier than one without: bounds of space, memory, time, sight. Sourced by run.sh.

a_step_that_records_without_end_drains_no_node() {
	local used
	as_user srun -w n1 -n8 --mpitrace=report=none "$SELF" 4 >"$CASE_DIR/out" || fails "srun: $?" || return
	same "ranks that were served" 8 "$(grep -c ' did [1-9]' "$CASE_DIR/out")" || return
	same "processes in the trace" 8 "$(mpitrace analyze "$(step_dir 0)" --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["coverage"]["ranks_seen"])')" || return
	used=$(disk_use n1)
	[ "$used" -lt $((20 << 20)) ] || fails "$used bytes on the node's disk" || return
	no_node_drained
}

a_user_who_fills_the_directory_fills_only_the_steps_own() {
	as_user srun -w n1 -n1 --mpitrace bash -c 'dd if=/dev/zero of="$MPITRACE_DIR/fill" bs=1M 2>&1; mkdir -p "$MPITRACE_DIR"/{a,b}/$(seq -s/ 1 40); sleep 0.2' >"$CASE_DIR/out"
	contains "$CASE_DIR/out" "No space left on device" || return
	[ "$(disk_use n1)" -lt $((20 << 20)) ] || fails "$(disk_use n1) bytes on the node's disk" || return
	eventually "an empty spool" spool_is_empty || return
	no_node_drained
}

# A process of the job keeps a file open that has lost its name and its file system: its pages are the job's all the same.
what_a_job_holds_of_a_step_that_is_over_is_its_own_memory() {
	[ -n "${CGROUP[*]}" ] || skips "no control groups: nobody counts" || return
	cat >"$CASE_DIR/job.sh" <<-'END'
		#!/bin/bash
		if [ -d /sys/fs/cgroup/memory ]; then root=/sys/fs/cgroup/memory key=total_shmem; else root=/sys/fs/cgroup key=shmem; fi
		group=$(find $root -type d -name "job_$SLURM_JOB_ID" | head -n 1)
		# The kernel sums up what its processors have counted now and then.
		counted() {
			for i in $(seq 600); do n=$(($(sed -n "s/^$key //p" "$group/memory.stat") >> 20)); [ $n != "$1" ] || break; sleep 0.05; done
			echo "counted $n"
		}
		srun -n1 --mpi=none bash -c 'dd if=/dev/zero of=$MPITRACE_DIR/fill bs=1M count=16 2>/dev/null; echo "$MPITRACE_DIR" >dir; until [ -e held ]; do sleep 0.05; done' &
		until [ -s dir ]; do sleep 0.05; done
		exec 9<"$(cat dir)/fill"
		touch held
		wait
		for i in $(seq 600); do grep -q "$(cat dir) " /proc/self/mounts || break; sleep 0.05; done
		echo "mounts $(grep -c "$(cat dir) " /proc/self/mounts) held $(stat -Lc %s /proc/self/fd/9)"
		counted 16
		exec 9<&-
		counted 0
	END
	as_user sbatch --wait -w n1 -n1 --mpitrace -o out.txt job.sh >/dev/null || fails "sbatch: $? $(cat "$CASE_DIR/out.txt")" || return
	same "what the job is charged for" "mounts 0 held 16777216 counted 16 counted 0" "$(xargs <"$CASE_DIR/out.txt")" || return
	is_calm
}

# Of 400 MiB the last rank takes 340, beside what MPI has; and without end in the second run.
with_a_sample_of_full_memory() {
	mpitrace analyze "$(step_dir 0)" -o "$CASE_DIR/so_far.mpix" # of a record that goes on: partial
	mpitrace show --json "$CASE_DIR/so_far.mpix" | grep '"memory_limit"' >/dev/null
}

memory_that_grows_to_the_limit_is_said() {
	[ -n "${CGROUP[*]}" ] || skips "no control groups: nobody counts" || return
	as_user srun -w n1 -n2 --mem=400 --mpitrace=sample=0.1 "$PHASE" grow=340 "until=$CASE_DIR/seen" >/dev/null 2>"$CASE_DIR/err" &
	eventually "a sample of nearly all" with_a_sample_of_full_memory || return
	touch "$CASE_DIR/seen"
	wait $! || fails "srun: $? $(cat "$CASE_DIR/err")" || return
	eventually "a report" has_report 0 || return
	same "the limit in MiB, and what is said" "400 ['memory_limit']" "$(analysis 0 'str(round(a["usage"]["nodes"][0]["memory_limit_bytes"] / 2**20)) + " " + str([i["issue"] for i in a["issues"] if "memory" in i["issue"]])')" || return
	same "it was seen to grow, and whose it is" "True True" "$(analysis 0 '"%s %s" % (a["usage"]["nodes"][0]["memory_first_bytes"] < 200 << 20, a["per_rank"][1]["resident_max_bytes"] > (330 << 20) > a["per_rank"][0]["resident_max_bytes"])')" || return
	is_calm
}

a_rank_that_the_kernel_ends_at_the_limit_had_no_memory_left() {
	[ -n "${CGROUP[*]}" ] || skips "no control groups: nobody counts" || return
	as_user srun -w n1 -n2 --mem=200 --mpitrace=sample=0.1 "$PHASE" grow >/dev/null 2>"$CASE_DIR/err" && fails "srun: 0" && return 1
	eventually "a report" has_report 0 || return
	same "what is said first" "['death', 'out_of_memory'] [1]" "$(analysis 0 'str([i["issue"] for i in a["issues"]][:2]) + " " + str(a["issues"][0]["ranks"][:1])')" || return
	is_calm
}

# Two steps of 28 MiB each where a node may hold 40: the second one gets what is left; for a third one there is nothing.
steps_that_would_hold_more_memory_than_the_node_may_run_untraced() {
	cat >"$CASE_DIR/one.sh" <<-'END'
		#!/bin/bash
		echo "$1 $(df --output=size -k "${MPITRACE_DIR:-/nonexistent}" 2>/dev/null | tail -n 1)" >>sizes
		until [ -e go ]; do sleep 0.05; done
	END
	cat >"$CASE_DIR/job.sh" <<-'END'
		#!/bin/bash
		for i in 1 2 3; do
			srun -n1 --overlap --mpi=none ./one.sh $i &
			until grep -q "^$i" sizes 2>/dev/null; do sleep 0.05; done
		done
		touch go
		wait
	END
	chmod +x "$CASE_DIR/one.sh"
	with_plugin_arguments node_bytes=40M as_user sbatch --wait -w n1 -n1 --mpitrace -o out.txt job.sh >/dev/null || fails "sbatch: $? $(cat "$CASE_DIR/out.txt")" || return
	same "sizes in KiB" "1 28672 2 12288 3" "$(xargs <"$CASE_DIR/sizes")" || return
	contains "$CASE_DIR/out.txt" "other steps have" || return
	eventually "an empty spool" spool_is_empty
}

with_no_group_of_a_job() {
	[ -z "$(left_groups)" ]
}

control_groups_of_traced_jobs_go_with_them() {
	local i
	[ -n "${CGROUP[*]}" ] || skips "no control groups" || return
	eventually "no group of a job" with_no_group_of_a_job || fails "before: $(left_groups)" || return
	for i in $(seq 10); do
		as_user srun -w n1 -n1 --mpitrace --mpi=none true &
		as_user srun -w n2 -n1 --mpitrace "$RING" 5 >/dev/null 2>&1 &
		as_user srun -w n3,n4 -N2 -n2 --mpitrace --mpi=none sh -c "exit $((i % 3))" 2>/dev/null &
		wait
	done
	is_calm || return
	eventually "their groups to go" with_no_group_of_a_job || fails "$(left_groups | wc -l) groups of 30 jobs are left: $(left_groups | head -n 3)"
}

an_agent_is_out_of_its_users_reach_and_bounded() {
	as_user srun -w n1 -n1 --mpi=none --mpitrace bash -c "$WITH_AGENT"' a=$(agent)
		echo "agents $(echo $a | wc -w)"
		cat /proc/$a/environ 2>&1 | grep -c "Permission denied"
		grep -c "Max processes  *0 " /proc/$a/limits
		grep -E "Max address space|Max data size" /proc/$a/limits | grep -vc unlimited
		grep -E "^(NoNewPrivs|Seccomp):" /proc/$a/status | xargs' >"$CASE_DIR/out" || fails "srun: $?" || return
	same "what a user sees" "agents 1 1 1 2 NoNewPrivs: 1 Seccomp: 2" "$(xargs <"$CASE_DIR/out")"
}

an_agent_that_is_stopped_goes_on_and_one_that_is_killed_is_replaced() {
	as_user srun -w n1 -n1 --mpitrace bash -c "$WITH_AGENT"'
		another() { second=$(agent) && [ "$second" != $first ]; }
		first=$(agent); [ "$(ps -o cls= -p $first)" = IDL ] || echo "not idle"
		kill -STOP $first; within grep -q "State:.[SR]" /proc/$first/status && echo goes on
		kill -KILL $first; within another && echo replaced; exec "$0" 20' "$RING" >"$CASE_DIR/out" || fails "srun: $?" || return
	same "what became of them" "goes on replaced" "$(head -n 2 "$CASE_DIR/out" | xargs)" || return
	same "transfers" 20 "$(analysis 0 'a["summary"]["transfers"]')" || return
	eventually "an empty spool" spool_is_empty
}

# As a hostile shell would: all it can do to us, until the job ends.
nothing_of_ours_outlives_a_job_that_fights_it() {
	printf '#!/bin/bash\nd=mpitrace-$SLURM_JOB_ID/step-0; mkdir -p $d; mkfifo $d/log.txt $d/.finish.lock\nsrun -n1 %s 20\nsrun -n1 --mpi=none bash -c '\''(while :; do kill -STOP $(%s); done) & mkfifo $MPITRACE_DIR/x.mpit $MPITRACE_DIR/sealed; sleep 1'\''\n' \
		"$RING" "$(echo "$AGENT_PID" | sed 's/\\/\\\\/g')" >"$CASE_DIR/job.sh"
	as_user sbatch --wait -w n1 -n1 --mpitrace -o out.txt job.sh >/dev/null
	contains "$CASE_DIR/out.txt" "ring done" || return
	eventually "the end of all of ours" no_agent || return
	eventually "an empty spool" spool_is_empty || return
	has_file "$(step_dir 0)/n1.mpic" || return
	no_node_drained
}

a_report_that_would_take_long_is_left_for_the_sweep_and_said() {
	local id late="$STATE/n1/mpitrace/late"
	with_plugin_arguments report_seconds=1 as_user srun -w n1 -n1 --mpitrace "$SELF" 60 "$LONG_CALLS" >"$CASE_DIR/out" || fails "srun: $?" || return
	eventually "an empty spool" spool_is_empty || return
	is_from_totals "$(step_dir 0)/report.html" || fails "no page from totals: $(cat "$(step_dir 0)/log.txt")" || return
	contains "$(step_dir 0)/report.html" "mpitrace finish $(step_dir 0)" || return
	same "its owner" "$(stat -c %U "$WORK")" "$(stat -c %U "$(step_dir 0)/report.html")" || return
	[ ! -e "$(step_dir 0)/job.mpix" ] || fails "there is an analysis" || return
	contains "$(step_dir 0)/log.txt" "report.html is from totals: \`mpitrace finish $(step_dir 0)\`" || return
	same "late reports" 1 "$(find "$late" -type f | wc -l)" || return
	# Something else to do, which comes first; and one that cannot be made, which comes after all others the next time.
	install -d "$STATE/n1/mpitrace/kept/0/0.0.step-0" && touch -d "8 days ago" "$STATE/n1/mpitrace/kept/0/0.0.step-0"
	id=$(ls "$late") && sed 's#^out=.*#out=/#' "$late/$id" >"$late/0.0.step-0" && chmod 0600 "$late/0.0.step-0"
	! mpitrace sweep --spool "$STATE/n1/mpitrace" >"$CASE_DIR/sweep" || fails "nothing is left" || return
	same "what was done, in what order" "kept report" "$(sed -n 's/.*: kept for a week, removed/kept/p; s/.*: report made/report/p' "$CASE_DIR/sweep" | xargs)" || return
	contains "$CASE_DIR/sweep" "0.0.step-0: no report yet" || return
	same "late reports" tried-0.0.step-0 "$(ls "$late")" || return
	! mpitrace sweep --spool "$STATE/n1/mpitrace" >"$CASE_DIR/sweep" || fails "nothing is left" || return
	! grep -q "no report yet" "$CASE_DIR/sweep" || fails "it is tried again at once" || return
	touch -d "2 days ago" "$late/tried-0.0.step-0"
	mv "$late/tried-0.0.step-0" "$late/0.0.step-0" # as if it were time again
	mpitrace sweep --spool "$STATE/n1/mpitrace" >"$CASE_DIR/sweep" || fails "sweep: $? $(cat "$CASE_DIR/sweep")" || return
	contains "$CASE_DIR/sweep" "given up" || return
	has_report 0 || fails "no report after the sweep" || return
	same "its owner" "$(stat -c %U "$WORK")" "$(stat -c %U "$(step_dir 0)/report.html")" || return
	same "late reports" 0 "$(find "$late" -type f | wc -l)" || return
	mpitrace sweep --spool "$STATE/n1/mpitrace" >/dev/null || fails "a second sweep: $?"
}

a_user_who_interrupts_the_report_gets_the_prompt_and_keeps_the_trace() {
	with_plugin_arguments report_seconds=300 with_a_report_interrupted
}

with_a_report_interrupted() {
	local srun pids
	command -v script >/dev/null || skips "no script(1)" || return
	as_user script -qec "srun -w n1 -n1 --mpitrace $SELF 60 2500000" "$CASE_DIR/tty" >/dev/null </dev/null &
	eventually "the finisher" finisher_runs || return
	pids=$(cluster_processes_named srun)
	for srun in $pids; do kill -INT "$srun"; done
	wait
	contains "$CASE_DIR/tty" "mpitrace finish $(step_dir 0)" || return
	contains "$(step_dir 0)/log.txt" "makes " || return # ended in the analysis, or before it
	PATIENCE=400 eventually "the report that the node makes" has_report 0 # in what other work leaves of the processors
}

others_read_neither_command_line_nor_trace() {
	local secret=password-is-$RANDOM
	as_user srun -w n1 -n1 --mpitrace bash -c 'umask; exec "$0" 20 "$1"' "$RING" "$secret" >"$CASE_DIR/out" &
	eventually "a record" record_with "$secret" || return
	as_other sh -c "cat $STATE/n1/mpitrace/live/*/*/* $STATE/n1/mpitrace/live/[0-9]*.0/step-0/layout" >"$CASE_DIR/seen" 2>/dev/null
	wait
	! grep -q "$secret" "$CASE_DIR/seen" || fails "another user reads the command line" || return
	has_report 0 || fails "no report" || return
	rm -rf "$CASE_DIR"/mpitrace-*
	(umask 077 && as_user srun -w n1 -n1 --mpitrace "$RING" 20 >/dev/null) || fails "srun: $?" || return
	same "modes under umask 077" 600 "$(stat -c %a "$(step_dir 0)"/* | sort -u)"
}

a_directory_that_somebody_else_made_first_gets_nothing() {
	local shared=$CASE_DIR/shared next
	as_admin install -d -m 1777 "$shared"
	next=$(($(as_user srun -n1 --mpitrace=off printenv SLURM_JOB_ID) + 1))
	as_other sh -c "umask 0; mkdir $shared/mpitrace-$next && mkdir $shared/mpitrace-$next/step-0 && mkfifo $shared/mpitrace-$next/step-0/log.txt" || fails "cannot prepare" || return
	as_user srun -w n1 -n1 "--mpitrace=out=$shared" "$RING" 20 >/dev/null || fails "srun: $?" || return
	eventually "an empty spool" spool_is_empty || return
	same "what the other one got" "log.txt" "$(ls "$shared/mpitrace-$next/step-0")" || return
	same "what was kept" "n1.mpic" "$(ls "$STATE/n1/mpitrace/kept/$(id -u "$(stat -c %U "$WORK")")/$next.0.step-0")" || return
	as_user cat "$STATE/n1/mpitrace/kept/$(id -u "$(stat -c %U "$WORK")")/$next.0.step-0/n1.mpic" >"$CASE_DIR/copy.mpic" || fails "its owner cannot read it" || return
	! as_other cat "$STATE/n1/mpitrace/kept/$(id -u "$(stat -c %U "$WORK")")/$next.0.step-0/n1.mpic" >/dev/null 2>&1 || fails "somebody else reads it" || return
	same "transfers in it" 20 "$(mpitrace analyze "$CASE_DIR/copy.mpic" --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["summary"]["transfers"])')"
}

# What root keeps of a user whose directory is closed: a trace, and a file that calls itself one. On a disk of 300M an eighth
# is a user's, and a tenth stays free.
with_step_kept() { # USER MEGABYTES
	as_admin setpriv --reuid "$1" --regid "$(id -g "$1")" --init-groups --reset-env sh -c "cd / && SLURM_CONF=$STATE/slurm.conf OMPI_MCA_mpi_yield_when_idle=1 \
		srun -w n1 -n1 --mpitrace=report=none,out=$CASE_DIR/closed sh -c 'dd if=/dev/zero of=\$MPITRACE_DIR/x.mpic bs=1M count=$2 2>/dev/null; exec $RING 5'" >/dev/null 2>"$CASE_DIR/err" || fails "srun: $? $(cat "$CASE_DIR/err")" || return
	eventually "an empty spool" spool_is_empty
}

with_kept_of() { # USER -> the size of each step's claimed trace in MB, and how many true ones, oldest first
	local step
	find "$STATE/n1/mpitrace/kept/$(id -u "$1")" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' 2>/dev/null | sort -n | while read -r _ step; do
		echo "$(($(stat -c %s "$step/x.mpic" 2>/dev/null || echo 0) >> 20))+$(find "$step" -name n1.mpic -size +0 | wc -l)"
	done | xargs
}

what_is_kept_for_a_user_is_bounded_and_costs_no_other_theirs() {
	local user other
	user=$(stat -c %U "$WORK") other=$(stat -c %U "$WORK")-2
	as_admin install -d -m 0755 "$CASE_DIR/closed"
	rm -rf "$STATE/n1/mpitrace/kept"/*
	with_step_kept "$other" 3 && with_step_kept "$user" 9 && with_step_kept "$user" 10 && with_step_kept "$user" 11 || return
	same "what is within a user's bound" "9+1 10+1 11+1" "$(with_kept_of "$user")" || return
	with_step_kept "$user" 12 || return
	same "kept when the bound is reached" "10+1 11+1 12+1" "$(with_kept_of "$user")" || return
	same "kept of the other user" "3+1" "$(with_kept_of "$other")" || return
	fallocate -l $(($(df --output=avail -B1 "$STATE/n1" | tail -n 1) - (35 << 20))) "$STATE/n1/full" || return # 30M are to stay; files of PMIx may take 8 until a step has ended
	with_step_kept "$other" 6
	rm -f "$STATE/n1/full"
	same "kept of who holds most, when the disk is full" "11+1 12+1" "$(with_kept_of "$user")" || return
	same "kept of the other user then" "3+1 6+1" "$(with_kept_of "$other")" || return
	no_node_drained
}

a_broken_installation_is_said_once_and_only_to_who_asked() {
	local part
	for part in libdir bindir libexecdir; do
		with_plugin_arguments "$part=/nonexistent" as_user srun -w n1,n2 -N2 -n2 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err.$part" || fails "srun: $?" || return
		same "lines about $part" 1 "$(grep -c "mpitrace: runs untraced on n1: /nonexistent/.*set $part=" "$CASE_DIR/err.$part")" || return
		with_plugin_arguments "$part=/nonexistent default=on" as_user srun -w n1,n2 -N2 -n2 "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
		same "standard error of who did not ask" "ring done" "$(said "$CASE_DIR/err")" || return
		contains "$STATE/log/n2.log" "set $part= in plugstack.conf" || return
	done
}

a_spool_where_slurmd_keeps_its_own_is_refused() {
	with_plugin_arguments spool_fs=none as_user srun -w n1 -n1 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	contains "$CASE_DIR/err" "the file system that slurmd needs" || return
	with_plugin_arguments "spool_fs=none spool_shared=yes report_seconds=300" as_user srun -w n1 -n1 --mpitrace "$RING" 5 >/dev/null 2>&1 || fails "srun: $?" || return
	has_report 0 || fails "no report with spool_shared=yes"
}

steps_in_a_batch_script_have_their_reports_before_the_job_ends() {
	printf '#!/bin/bash\nfor i in 1 2 3; do srun -N2 -n2 %s 20; done\nfor i in $(seq 1000); do [ -s mpitrace-$SLURM_JOB_ID/step-2/report.html ] && break; sleep 0.1; done\nls mpitrace-$SLURM_JOB_ID/step-*/report.html\n' "$RING" >"$CASE_DIR/job.sh"
	as_user sbatch --wait -N2 --mpitrace -o out.txt job.sh >/dev/null || fails "sbatch: $?" || return
	same "reports when the script ended" 3 "$(grep -c report.html "$CASE_DIR/out.txt")" || return
	eventually "an empty spool" spool_is_empty
}

a_job_submitted_from_a_traced_one_is_not_traced_unasked() {
	printf '#!/bin/sh\nsrun -n1 %s 5\nsbatch --wait -n1 -o inner.txt --wrap "srun -n1 env"\n' "$RING" >"$CASE_DIR/job.sh"
	as_user sbatch --wait -n2 --mpitrace -o out.txt job.sh >/dev/null || fails "sbatch: $? $(cat "$CASE_DIR/out.txt")" || return
	eventually "the outer report" has_report 0 || return
	contains "$CASE_DIR/inner.txt" SLURM_JOB_ID || return
	! grep -E "^(LD_PRELOAD|MPITRACE_)" "$CASE_DIR/inner.txt" || fails "the inner job is traced"
}

a_stray_variable_of_the_user_changes_nothing() {
	MPITRACE_MODE=profile MPITRACE_BUDGET=1 as_user srun -n1 --mpitrace "$RING" 20 >/dev/null || fails "srun: $?" || return
	same "transfers, lost" "20 0" "$(analysis 0 'str(a["summary"]["transfers"]) + " " + str(a["coverage"]["events_lost"])')"
}

a_faked_restart_count_leaves_nothing_behind() {
	local i
	for i in 1 7 99; do
		SLURM_RESTART_COUNT=$i as_user srun -n1 --mpitrace "$RING" 5 >/dev/null 2>&1 || fails "srun: $?" || return
	done
	eventually "three reports" eval '[ "$(whole_pages_in "$CASE_DIR")" = 3 ]' || return
	eventually "an empty spool" spool_is_empty
}

a_directory_with_a_line_break_gets_nothing_and_its_user_is_told() {
	local odd=$CASE_DIR/$'new\nline' id
	as_user mkdir "$odd"
	id=$(cd "$odd" && timeout 60 "$CLUSTER/run" --state "$STATE" srun -w n1 -n1 --mpitrace sh -c '"$0" 5 >/dev/null; echo $SLURM_JOB_ID' "$RING" 2>"$CASE_DIR/err") || fails "srun: $?" || return
	same "lines of ours" 1 "$(grep -c '^mpitrace: no directory for the results' "$CASE_DIR/err")" || return
	same "directories" 1 "$(find "$CASE_DIR" -mindepth 1 -type d -print0 | tr -cd '\0' | wc -c)" || return
	eventually "an empty spool" spool_is_empty || return
	has_file "$STATE/n1/mpitrace/kept/$(id -u "$(stat -c %U "$WORK")")/$id.0.step-0/n1.mpic"
}

# The plugin's programs are on node n1 only.
a_node_that_cannot_trace_is_named_and_hardly_waited_for() {
	local waited
	as_admin install -d -m 0755 "$STATE/programs" "$STATE/programs/n1"
	as_admin cp "$PREFIX/libexec/mpitrace/mpitrace-warden" "$STATE/programs/n1"
	with_plugin_arguments "libexecdir=$STATE/programs/%n report_seconds=300" as_user srun -w n1,n2 -N2 -n2 --mpitrace "$RING" 20 >/dev/null 2>&1 || fails "srun: $?" || return
	eventually "the report" has_report 0 || return
	same "missing nodes" "['n2']" "$(analysis 0 'a["coverage"]["nodes_missing"]')" || return
	same "ranks seen" 1 "$(analysis 0 'a["coverage"]["ranks_seen"]')" || return
	waited=$(($(stat -c %Y "$(step_dir 0)/job.mpix") - $(stat -c %Y "$(step_dir 0)/n1.mpic")))
	[ "$waited" -lt 9 ] || fails "$waited s from the last word of the other node: this one was waited for" || return # 10 s are the most
	contains "$STATE/log/n2.log" "runs untraced"
}

# A rank cuts its own segment file under the agent's eyes: the agent dies of it, and others' events are there all the same.
a_segment_file_that_is_cut_costs_nobody_else_a_trace() {
	as_user srun -w n1 -n2 --mpitrace bash -c '[ "$SLURM_PROCID" = 0 ] && { "$0" 1 >/dev/null & for i in $(seq 3000); do f=$(find "$MPITRACE_DIR" -name "*.mpit" -size +4000k | grep .) && break; sleep 0.01; done; cp "$f" "$MPITRACE_DIR/1.1.mpit"; sleep 0.3; : >"$MPITRACE_DIR/1.1.mpit"; wait; echo cut; } || exec "$0" 2' "$SELF" >"$CASE_DIR/out" 2>&1
	contains "$CASE_DIR/out" cut || return
	eventually "an empty spool" spool_is_empty || return
	[ -n "$(find "$CASE_DIR" "$STATE/n1/mpitrace/kept" -name '*.mpic' -size +0 2>/dev/null)" ] || fails "no trace anywhere" || return
	no_node_drained
}

roots_helpers_have_an_environment_of_their_own() {
	EVIL=from-the-user LD_AUDIT=/nonexistent as_user srun -w n1 -n1 --mpi=none --mpitrace sh -c 'until [ -e seen ]; do sleep 0.05; done' &
	eventually "a warden" warden_has_environment "LC_ALL=C PATH=/usr/bin:/bin SLURM_CONF=$STATE/slurm.conf"
	local rc=$?
	as_user touch seen
	wait
	return $rc
}
