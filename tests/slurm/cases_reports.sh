# shellcheck shell=bash disable=SC2034,SC2154
# cases_reports.sh - which jobs end with a report, and what it says. Sourced by run.sh.

srun_of_hpcc_on_four_nodes_leaves_a_report() {
	needs_srun_of_openmpi hpcc || return
	sed 's/^1000         Ns/100          Ns/; s/^2            Ps/2            Ps/; s/^2            Qs/4            Qs/' \
		/usr/share/doc/hpcc/examples/_hpccinf.txt >"$CASE_DIR/hpccinf.txt"
	as_user srun -N4 -n8 --mpitrace hpcc || fails "hpcc exited with $?" || return
	has_report 0 || fails "no report when srun returned" || return
	same "ranks seen" 8 "$(analysis 0 'a["coverage"]["ranks_seen"]')" || return
	same "complete" True "$(analysis 0 'a["coverage"]["complete"]')" || return
	same "owner" "$(stat -c %U "$CASE_DIR")" "$(stat -c %U "$(step_dir 0)/report.html")"
}

sbatch_with_two_steps_leaves_two_reports() {
	printf '#!/bin/sh\nsrun -N2 -n4 %s 20\nsrun -N4 -n4 %s 30\n' "$RING" "$RING" >"$CASE_DIR/job.sh"
	as_user sbatch --wait -N4 --ntasks-per-node=2 --mpitrace -o out.txt job.sh >"$CASE_DIR/sbatch.txt" || fails "sbatch: $?" || return
	eventually "the report of step 0" has_report 0 || return
	eventually "the report of step 1" has_report 1 || return
	same "transfers of step 0" 80 "$(analysis 0 'a["summary"]["transfers"]')" || return
	same "transfers of step 1" 120 "$(analysis 1 'a["summary"]["transfers"]')"
}

salloc_traces_its_srun_steps() {
	as_user salloc -N2 --mpitrace srun -n2 "$RING" 10 >"$CASE_DIR/out.txt" 2>&1 || fails "salloc: $?" || return
	eventually "the report" has_report 0 || return
	same "transfers" 20 "$(analysis 0 'a["summary"]["transfers"]')"
}

mpirun_in_a_batch_script_is_one_report_of_all_nodes() {
	needs_mpirun || return
	printf '#!/bin/sh\nmpirun.openmpi --oversubscribe -np 4 %s 25\n' "$ret_ring" >"$CASE_DIR/job.sh"
	as_user sbatch --wait -N2 --ntasks-per-node=2 --mpitrace -o out.txt job.sh >"$CASE_DIR/sbatch.txt" || fails "sbatch: $? $(cat "$CASE_DIR/out.txt")" || return
	eventually "the report" has_report batch || return
	same "ranks seen" 4 "$(analysis batch 'a["coverage"]["ranks_seen"]')" || return
	same "transfers" 100 "$(analysis batch 'a["summary"]["transfers"]')"
}

a_program_killed_half_way_still_has_a_report_that_says_partial() {
	as_user srun --kill-on-bad-exit=1 -N2 -n4 --mpitrace "$RING" 1000 kill=9 >/dev/null 2>&1
	eventually "the report" has_report 0 || return
	same "complete" False "$(analysis 0 'a["coverage"]["complete"]')" || return
	same "has reasons" True "$(analysis 0 'len(a["coverage"]["reasons"]) > 0')" || return
	same "has events" True "$(analysis 0 'a["coverage"]["events"] > 1000 or a["coverage"]')"
}

a_program_that_calls_abort_still_has_a_report_that_says_partial() {
	as_user srun -N2 -n4 --mpitrace "$RING" 1000 abort >/dev/null 2>&1
	eventually "the report" has_report 0 || return
	same "complete" False "$(analysis 0 'a["coverage"]["complete"]')" || return
	same "has events" True "$(analysis 0 'a["coverage"]["events"] > 1000 or a["coverage"]')"
}

out_names_another_directory() {
	as_user mkdir elsewhere
	as_user srun -n2 --mpitrace=out=elsewhere "$RING" 5 >/dev/null || fails "srun: $?" || return
	has_file "$(echo "$CASE_DIR"/elsewhere/mpitrace-*/step-0/report.html)"
}

# The files are made by ranks, agent and finisher, and each of them opens what another has made.
a_umask_that_takes_all_from_the_owner_costs_no_trace() {
	with_trace_of 'os.umask(0o777)' || return
	same "mode" 600 "$(stat -c %a "$(step_dir 0)/report.html")"
}

# As daemons that start jobs do: then the end of the finisher is nobody's to ask for.
an_srun_that_ignores_its_children_makes_the_report() {
	with_trace_of 'signal.signal(signal.SIGCHLD, signal.SIG_IGN)'
}

with_trace_of() { # PYTHON, run by who becomes srun
	as_user python3 -c "import os, signal, sys; $1; os.execvp('srun', ['srun', '-N2', '-n2', '--mpitrace', sys.argv[1], '20'])" "$RING" \
		>"$CASE_DIR/out.txt" 2>"$CASE_DIR/err.txt" || fails "srun: $?" || return
	same "what is said" "ring done" "$(cat "$CASE_DIR/err.txt")" || return
	same "transfers, lost" "40 0" "$(analysis 0 'str(a["summary"]["transfers"]) + " " + str(a["coverage"]["events_lost"])')"
}

report_none_leaves_the_traces_alone() {
	as_user srun -N2 -n2 --mpitrace=report=none "$RING" 5 >/dev/null || fails "srun: $?" || return
	eventually "an empty spool" spool_is_empty || return
	has_file "$(step_dir 0)/n1.mpic" || return
	[ ! -e "$(step_dir 0)/report.html" ] || fails "there is a report"
}

a_requeued_job_keeps_the_reports_of_both_runs() {
	local id
	printf '#!/bin/sh\nsrun -n2 %s 5\n[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || srun -n2 %s run\n' "$RING" "$PHASE" >"$CASE_DIR/job.sh"
	id=$(as_user sbatch --parsable --requeue -n2 --mpitrace -o out.txt --export=ALL,PHASE_FILE="$CASE_DIR/here" job.sh) || fails "sbatch: $?" || return
	eventually "the first run's second step" [ -e "$CASE_DIR/here" ] || return
	as_admin scontrol requeue "$id" || fails "requeue: $?" || return
	eventually "the first run's report" is_whole_page "$CASE_DIR/mpitrace-$id/step-0/report.html" || return
	eventually "that of its second step" is_whole_page "$CASE_DIR/mpitrace-$id/step-1/report.html" || return
	same "how that ended" REQUEUED "$(analysis 1 'a["job"]["outcome"]["state"]')" || return
	as_admin scontrol update "JobId=$id" StartTime=now
	PATIENCE=200 eventually "the second run's report" is_whole_page "$CASE_DIR/mpitrace-$id.1/step-0/report.html"
}

# What a node's monotonic clock says, in seconds.
clock_of_node() {
	as_user srun -w "$1" --mpi=none --mpitrace=off python3 -c 'import time; print(int(time.monotonic()))'
}

nodes_whose_monotonic_clocks_are_apart_have_one_time() {
	local first fourth
	first=$(clock_of_node n1) && fourth=$(clock_of_node n4)
	[ $((fourth - first)) -ge $((3 * APART)) ] || fails "clocks are not apart: $first on n1, $fourth on n4" || return
	as_user srun -N4 -n8 --mpitrace "$RING" 200 >/dev/null || fails "srun: $?" || return
	has_report 0 || fails "no report" || return
	same "messages that end before they begin, or were moved" "0 0" "$(analysis 0 'a["clock"]["violations"], a["clock"]["violations_repaired"]' | tr -d '(),')" || return
	same "nodes that nothing ties" 0 "$(analysis 0 'a["clock"]["nodes_unlinked"]')" || return
	same "the bound is known, and far below what clocks are apart" True "$(analysis 0 'a["clock"]["error_bound_us"] is not None and a["clock"]["error_bound_us"] < 10e6 or a["clock"]')" || return
	same "the run is as long as it was" True "$(analysis 0 'a["job"]["elapsed_s"] < 100 or a["job"]')"
}

# By whatever srun starts here: --mpi=pmix with Open MPI, --mpi=pmi2 with MPICH.
an_analysis_by_the_processes_of_a_job_is_that_of_one() {
	local step
	as_user srun -N4 -n8 --mpitrace "$RING" 2000 >/dev/null || fails "srun: $?" || return
	has_report 0 || fails "no report" || return
	step=$(step_dir 0)
	as_user "$PREFIX/bin/mpitrace" analyze "$step" -o one.mpix || fails "analyze: $?" || return
	as_user srun -K -N4 -n6 --mpitrace=off "$PREFIX/bin/mpitrace" analyze --mpi "$step" -o many.mpix || fails "analyze --mpi: $?" || return
	cmp "$CASE_DIR/one.mpix" "$CASE_DIR/many.mpix" || fails "the bytes differ" || return
	is_calm
}
