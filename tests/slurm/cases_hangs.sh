# shellcheck shell=bash disable=SC2034,SC2154
# cases_hangs.sh - jobs that hang, ended in every way: what is said of them is what they were (hangs.py). Sourced by run.sh.
# HANGS=all in the environment: all kinds, levels and ways, which takes hours; or lines of KIND LEVEL WAY, to try these
# alone; HANGS_TABLE=FILE keeps the table.

hung_jobs_have_one_account_however_they_end() {
	"mpicc.$MPI" -g -O1 -w -o "$CASE_DIR/stuck" "$REPO/tests/programs/stuck.c" || fails "stuck.c does not compile" || return
	PROGRAM=$CASE_DIR/stuck TABLE=$CASE_DIR/table
	: >"$TABLE"
	! (needs_mpirun) || MPIRUN=mpirun.openmpi
	[ -z "${MPIRUN-}" ] || mpicc.openmpi -g -O1 -w -o "${PROGRAM}_of_mpirun" "$REPO/tests/programs/stuck.c" || fails "stuck.c does not compile" || return
	hangs_to_try | {
		while read -r kind level way; do
			[ "$(jobs -rp | wc -l)" -lt "${HANGS_AT_ONCE:-3}" ] || wait -n
			[ "$way" != node ] || wait # nobody else's node
			hang "$kind" "$level" "$way" >>"$TABLE" 2>&1 </dev/null &
			[ "$way" != node ] || wait
		done
		wait
	}
	[ -z "${HANGS_TABLE-}" ] || cp "$TABLE" "$HANGS_TABLE"
	same "rows of the table: $(cat "$TABLE")" "$(hangs_to_try | wc -l)" "$(grep -c '| as it was |$' "$TABLE")" || return
	is_calm
}

hangs_to_try() { # prints KIND LEVEL WAY
	local kind level way
	if [ -n "${HANGS-}" ] && [ "$HANGS" != all ]; then
		printf '%s\n' "$HANGS"
		return
	fi
	if [ "${HANGS-}" != all ]; then
		printf '%s\n' "receives events scancel" "halo profile limit" "barrier profile scancel" "ended events launcher" \
			${MPIRUN:+"sides profile interrupt"} "three events kill" "anybody profile kill" "computes events scancel" ${CGROUP[0]+"allreduces events memory"} "waitalls profile node"
		return
	fi
	for way in scancel limit launcher ${MPIRUN:+interrupt} kill ${CGROUP[0]+memory} node; do
		for level in events profile; do
			python3 "$REPO/tests/slurm/hangs.py" --kinds | while read -r kind; do
				[ "$way" = node ] && is_one_sided "$kind" || echo "$kind $level $way"
			done
		done
	done
}

# One job; prints its row.
hang() { # KIND LEVEL WAY
	local CASE_DIR=$CASE_DIR/$1-$2-$3 id began stopped mpix states step=0
	[ "$3" != interrupt ] || step='batch'
	as_admin install -d -o "$(stat -c %U "$WORK")" -g "$(stat -c %G "$WORK")" "$CASE_DIR"
	id=$(hang_submit "$@") || fails "$*: sbatch" || return
	eventually "$*: all stand" stands "$1" "$3" || fails "$(tail -n 3 "$CASE_DIR/live.err" "$CASE_DIR/out.txt")" || return
	began=$(stat -c %.3Y "$CASE_DIR/began") stopped=$(date +%s.%N)
	"hang_by_$3" "$id" >"$CASE_DIR/by" 2>&1 || fails "$*: $(cat "$CASE_DIR/by")"
	eventually "$*: the end" is_over "$id" || fails "$(hang_left "$id")" || return
	mpix=$(hang_trace "$3")
	eventually "$*: a report" has_file "$mpix" || return
	states=STOPPED
	[ "$3" = launcher ] || states=$(outcome "$id" | sed 's/^JobState=//; s/ .*//')
	python3 "$REPO/tests/slurm/hangs.py" "$PREFIX/bin/mpitrace" "$mpix" "$@" "$states" "$began" "$stopped" "$(date +%s.%N)"
}

# What is still there of a job that does not end, and what Slurm says.
hang_left() { # JOB
	as_admin scontrol -o show job "$1" | grep -oE ' (JobState|Reason|NodeList|BatchHost)=[^ ]*' | xargs
	# shellcheck disable=SC2009  # more than pids
	ps -eo pid,ppid,stat,wchan:20,etimes,args | grep -E "[s]lurmstepd|[s]run |$PROGRAM |[m]pitrace " | cut -c1-200
	tail -n 3 "$CASE_DIR/out.txt"
	grep -hE "[^0-9]$1([^0-9]|$)" "$STATE"/log/*.log | tail -n 12
}

# Open MPI 4 makes no windows over TCP.
is_one_sided() { # KIND
	[[ " windows fences locks exposures accesses " == *" $1 "* ]]
}

hang_submit() { # KIND LEVEL WAY
	local how=--mpitrace profile='' nodes=(-N2)
	[ "$2" = events ] || how=--mpitrace=profile profile=--profile
	[ "$3" != node ] || nodes=(-w "n1,n2" -N2 --no-requeue)
	[ "$3" != memory ] || nodes+=(--mem=300)
	{
		echo "#!/bin/sh"
		echo "export STUCK_BEGAN=$CASE_DIR/began"
		if [ "$3" = launcher ]; then
			echo "exec $PREFIX/bin/mpitrace run -n 4 $profile --out $CASE_DIR --name hang -- $PROGRAM $1 for ever"
		elif [ "$3" = interrupt ]; then
			echo "exec $MPIRUN --oversubscribe --bind-to none -np 4 ${PROGRAM}_of_mpirun $1 for ever"
		else
			echo "STUCK_EATS=$CASE_DIR/eat exec srun --overcommit -n4 --kill-on-bad-exit=1 $PROGRAM $1 for ever"
		fi
	} >"$CASE_DIR/job.sh"
	[ "$3" != launcher ] && [ "$3" != interrupt ] && ! is_one_sided "$1" || nodes=(-N1)
	[ "$3" != launcher ] || how=--mpitrace=off
	as_user sbatch --parsable $how -o out.txt --overcommit -n4 "${nodes[@]}" job.sh
}

hang_trace() { # WAY
	if [ "$1" = launcher ]; then echo "$CASE_DIR/hang.mpix"; else echo "$(step_dir "$step")/job.mpix"; fi
}

# All are in their last calls for three seconds, as samples tell.
stands() { # KIND WAY
	local of
	if [ "$2" = launcher ]; then of=$(echo "$CASE_DIR"/.hang.mpitrace/mpitrace-*/step-0); else of=$(step_dir "$step") || return; fi
	as_user "$PREFIX/bin/mpitrace" live "$of" --once --json >"$CASE_DIR/live.json" 2>"$CASE_DIR/live.err"
	python3 - "$CASE_DIR/live.json" "$1" <<-'END'
		import json, sys
		ranks = json.load(open(sys.argv[1]))['ranks']
		since = [r['since_s'] or 0 for r in ranks if r['state'] == 'mpi']
		resting = ('mpi', 'ended') + (('useful',) if sys.argv[2] == 'computes' else ())
		sys.exit(not (len(ranks) == 4 and since and min(since) >= 3 and all(r['state'] in resting for r in ranks)))
	END
}

hang_by_scancel() { # JOB
	as_user scancel "$1"
}

hang_by_limit() { # JOB
	with_time_over "$1"
}

hang_by_launcher() { # JOB
	as_user scancel --batch --signal=TERM "$1"
}

# To mpirun alone, which is the script; a terminal's, to all of them, is tests/integration/ends.py's. srun wants two within a second,
# and Open MPI's mpirun asks for more where ranks are in MPI_Finalize.
hang_by_interrupt() { # JOB
	local i
	for i in $(seq 10); do
		as_user scancel --batch --signal=INT "$1" || break # it is over
		PATIENCE=3 eventually "the end" is_over "$1" >/dev/null && return
	done
	is_over "$1"
}

hang_by_kill() { # JOB
	local pid
	for pid in $(pgrep -f "^$PROGRAM "); do
		if grep -zqx "SLURM_JOB_ID=$1" "/proc/$pid/environ" && grep -zqx "SLURM_PROCID=1" "/proc/$pid/environ"; then
			kill -KILL "$pid" && return
		fi
	done
	return 1
}

hang_by_memory() { # JOB
	as_user touch "$CASE_DIR/eat"
}

hang_by_node() { # JOB
	local JOB=$1 rc=0
	"$CLUSTER/power" --state "$STATE" off n2 || return
	as_admin scontrol update NodeName=n2 State=DOWN Reason=power || return
	eventually "the end" is_state "$JOB" NODE_FAIL && eventually "n2's trace is old" with_old "$(step_dir 0)/n2.mpic" || rc=1
	eventually "an empty spool on n1" with_empty_spool n1 || rc=1
	mpitrace sweep --spool "$STATE/n1/mpitrace"
	"$CLUSTER/power" --state "$STATE" on n2 || rc=1
	as_admin scontrol update NodeName=n2 State=RESUME 2>/dev/null
	eventually "all nodes idle" with_idle_nodes 4 || rc=1
	find "$STATE/n2/mpitrace/live" -exec touch -d "2 minutes ago" {} +
	mpitrace sweep --spool "$STATE/n2/mpitrace" || rc=1
	return $rc
}
