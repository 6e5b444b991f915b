# shellcheck shell=bash disable=SC2034,SC2154
# cases_silence.sh - a traced program behaves as an untraced one, and nothing stays behind. Sourced by run.sh.

# srun has one line for the tasks of a node that end at the same moment: each gets its own.
task_by_task() {
	awk 'match($0, /: tasks? [0-9,-]+: /) {
		list = substr($0, RSTART + 2, RLENGTH - 4)
		sub(/^tasks? /, "", list)
		n = split(list, ranges, ",")
		for (i = 1; i <= n; i++) {
			last = split(ranges[i], ends, "-")
			for (task = ends[1]; task <= ends[last]; task++)
				print substr($0, 1, RSTART) " task " task substr($0, RSTART + RLENGTH - 2)
		}
		next
	}
	{ print }'
}

# Run the rest with and without --mpitrace; standard output (sorted: ranks race), error and exit code must agree.
identical() { # EXPECTED-CODE SRUN-ARGS...
	local code=$1 option got
	shift
	for option in --mpitrace=off --mpitrace; do
		as_user srun "$option" "$@" >"$CASE_DIR/out$option" 2>"$CASE_DIR/err$option" </dev/null
		got=$?
		same "exit code with $option" "$code" "$got" || return
		sort -o "$CASE_DIR/out$option" "$CASE_DIR/out$option"
		# Slurm's own messages carry the job's number and the time, and arrive in any order.
		said "$CASE_DIR/err$option" | sed -E 's/StepId=[0-9]+\.[0-9]+/StepId/; s/\b[0-9]{4}-[0-9T:.-]+//; s/STEP [0-9.]+/STEP/; s/n[1-4]/n/g; s/\[n:[0-9]+\]/[n]/; s/0x[0-9a-f]+/0x/g' |
			task_by_task | sort >"$CASE_DIR/err$option.sorted"
	done
	cmp "$CASE_DIR/out--mpitrace=off" "$CASE_DIR/out--mpitrace" || fails "standard output differs" || return
	diff "$CASE_DIR/err--mpitrace=off.sorted" "$CASE_DIR/err--mpitrace.sorted" || fails "standard error differs"
}

# The same of a program with MPI: each rank must be in the trace of the second.
identical_with_trace() { # RANKS EXPECTED-CODE SRUN-ARGS...
	local ranks=$1
	shift
	identical "$@" || return
	eventually "a report" has_report 0 || return
	same "ranks seen" "$ranks" "$(analysis 0 'a["coverage"]["ranks_seen"]')"
}

# Traces that could not be written where their user wanted them.
kept_traces() {
	find "$STATE"/n?/mpitrace/kept -name '*.mpic' -size +0 2>/dev/null | wc -l
}

an_mpi_program_that_ends_well_is_unchanged() {
	identical_with_trace 4 0 -N2 -n4 "$RING" 50 exit=0
}

an_mpi_program_that_exits_with_3_is_unchanged() {
	identical_with_trace 4 3 --kill-on-bad-exit=0 -N2 -n4 "$RING" 50 exit=3
}

a_program_that_dies_of_a_segmentation_fault_is_unchanged() {
	identical 139 -n1 --mpi=none bash -c 'ulimit -c 0; echo before; echo error >&2; kill -SEGV $$'
}

an_mpi_program_that_dies_of_a_segmentation_fault_is_unchanged() {
	# without Open MPI's own handler, which prints addresses
	identical_with_trace 1 139 -n1 --export=ALL,OMPI_MCA_opal_signal=,UCX_HANDLE_ERRORS=none bash -c 'ulimit -c 0; exec "$0" 50 kill=11' "$RING"
}

a_shell_pipeline_is_unchanged() {
	identical 0 -N2 -n2 bash -c 'seq 1 1000 | sort -rn | head -n 3; ls /nonexistent 2>/dev/null || echo none >&2'
}

a_program_that_is_not_mpi_leaves_nothing_behind() {
	same output n1 "$(as_user srun -w n1 --mpitrace hostname 2>&1)" || return
	eventually "an empty spool" spool_is_empty || return
	same "files in the directory" "" "$(ls -A "$CASE_DIR")"
}

agents_and_spool_are_gone_after_a_job() {
	as_user srun -N4 -n4 --mpitrace "$RING" 10 >/dev/null || fails "srun: $?" || return
	eventually "an empty spool" spool_is_empty || return
	eventually "the end of the agents" no_agent
}

agents_and_spool_are_gone_after_a_killed_job() {
	local id
	printf '#!/bin/sh\nsrun -N2 -n2 %s 100000000\n' "$RING" >"$CASE_DIR/job.sh"
	id=$(as_user sbatch --parsable -w n1,n2 -N2 --mpitrace -o out.txt job.sh) || fails "sbatch: $?" || return
	# A trace begins before MPI_Init has returned; with that many bytes there are calls in it.
	eventually "calls in a trace" bigger_than 50000 "$CASE_DIR/mpitrace-$id/step-0/n1.mpic" || return
	as_user scancel "$id"
	eventually "an empty spool" spool_is_empty || return
	eventually "the end of the agents" no_agent || return
	has_report 0 || fails "no report of the cancelled job"
}

a_directory_that_cannot_be_written_does_not_disturb_the_program() {
	local before
	mkdir "$CASE_DIR/closed" && chown root "$CASE_DIR/closed" && chmod 0755 "$CASE_DIR/closed"
	before=$(kept_traces)
	identical_with_trace 2 0 -N2 -n2 --chdir="$CASE_DIR/closed" "$RING" 5 || return
	as_user srun -n2 "--mpitrace=out=$CASE_DIR/closed" "$RING" 5 >"$CASE_DIR/o" 2>"$CASE_DIR/e" || fails "srun: $?" || return
	same "standard error" "ring done" "$(said "$CASE_DIR/e" | grep -v '^mpitrace: no directory for the results')" || return
	eventually "an empty spool" spool_is_empty || return
	same "traces that wait for their owner" $((before + 1)) "$(kept_traces)"
}
