# shellcheck shell=bash disable=SC2034,SC2154
# cases_runs.sh - every way a job runs: each time the job is itself, and the report whole. Sourced by run.sh.

steps_in_sequence_and_side_by_side_each_leave_a_report() {
	submit --wait -N2 -n4 <<-END >/dev/null || return
		#!/bin/sh
		srun -N1 -n2 $RING 10
		for rounds in 20 30; do
			srun --overlap --mem=0 -N2 -n2 $RING \$rounds & # the memory of the step before is not always free yet
		done
		wait
	END
	is_whole 0 2 20 || return
	eventually "the reports of both" eval 'has_report 1 && has_report 2' || return
	same "transfers of both" "40 60" "$(for s in 1 2; do analysis $s 'a["summary"]["transfers"]'; done | sort -n | xargs)" || return
	is_calm
}

the_programs_of_a_multi_prog_step_are_one_report() {
	cp "$RING" "$CASE_DIR/other"
	printf '0-1 %s 20\n2-3 ./other 20\n' "$RING" >"$CASE_DIR/programs"
	as_user srun -N2 -n4 --mpitrace --multi-prog programs >/dev/null 2>&1 || fails "srun: $?" || return
	is_whole 0 4 80 || return
	same "what is named as the program" "$RING" "$(analysis 0 'a["job"]["program"]')"
}

# srun of several components of Slurm 22.05 at times waits for ever, after its step, for a thread of its PMIx plugin that is none any
# more (pmixp_abort_agent_stop): so 3 of 132 jobs did untraced, and what ran long before is whole.
UNHUNG="timeout --kill-after=5 60"

is_srun_over() { # CODE; its own, or of UNHUNG
	[ "$1" = 0 ] || [ "$1" = 124 ] || [ "$1" = 137 ]
}

a_heterogeneous_step_is_one_complete_report() {
	local rc=0
	# shellcheck disable=SC2086  # words
	as_user $UNHUNG srun -n1 --mpitrace "$RING" 20 : -n2 "$RING" 20 >/dev/null 2>&1 || rc=$?
	is_srun_over "$rc" || fails "srun: $rc" || return
	same "directories" 1 "$(find "$CASE_DIR" -maxdepth 1 -name 'mpitrace-*' | wc -l)" || return
	is_whole 0 3 60 || return
	same "nodes" "n1 n2" "$(analysis 0 '" ".join(sorted(a["job"]["nodes"]))')" || return
	is_calm
}

a_heterogeneous_batch_job_is_one_complete_report() {
	local rc=0
	cat >"$CASE_DIR/job.sh" <<-END
		#!/bin/sh
		$UNHUNG srun --het-group=0,1 $RING 20
	END
	as_user sbatch --wait --mpitrace -o out.txt -n1 : -n2 job.sh >/dev/null || rc=$?
	is_srun_over "$rc" || fails "sbatch: $rc $(cat "$CASE_DIR/out.txt")" || return
	is_whole 0 3 60 || return
	same "directories" 1 "$(find "$CASE_DIR" -maxdepth 1 -name 'mpitrace-*' | wc -l)" || return
	is_calm
}

# Each task is a job of its own number, as Slurm counts them. With TASKS=1000 PATIENCE=600 in the environment as many as that.
every_task_of_an_array_has_its_report() {
	local n=${TASKS:-50}
	submit --wait "--array=1-$n" -n1 -o /dev/null <<-END >/dev/null || return
		#!/bin/sh
		srun -n1 $RING 5
	END
	eventually "$n reports" with_reports "$n" || fails "only $(find "$CASE_DIR" -path '*/step-0/report.html' | wc -l)" || return
	is_calm
}

several_mpiruns_in_one_script_are_one_directory() {
	needs_mpirun || return
	submit --wait -N2 --ntasks-per-node=2 <<-END >/dev/null || return
		#!/bin/sh
		mpirun.openmpi --oversubscribe -np 4 $ret_ring 10
		mpirun.openmpi --oversubscribe -np 2 $ret_ring 15
	END
	eventually "the report" has_report batch || return
	same "processes recorded" 6 "$(count_processes batch)" || return
	is_calm
}

a_job_without_the_users_environment_is_traced() {
	# shellcheck disable=SC2046  # words
	as_user srun --export=NONE -N2 -n2 --mpitrace /usr/bin/env $(needed_environment) "$RING" 10 >/dev/null 2>&1 || fails "srun: $?" || return
	is_whole 0 2 20
}

a_batch_job_without_the_users_environment_is_traced() {
	submit --wait --export=NONE -N2 -n2 <<-END >/dev/null || return
		#!/bin/sh
		srun /usr/bin/env $(needed_environment | xargs) $RING 10
	END
	is_whole 0 2 20
}

# Rank 1 then runs without the tracer.
a_task_prolog_that_overwrites_the_preload_is_said_in_the_report() {
	printf '#!/bin/sh\n[ "$SLURM_PROCID" != 1 ] || echo export LD_PRELOAD=\n' >"$CASE_DIR/prolog.sh"
	chmod +x "$CASE_DIR/prolog.sh"
	as_user srun -n2 --task-prolog="$CASE_DIR/prolog.sh" --mpitrace "$RING" 10 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "standard error" "ring done 1" "$(said "$CASE_DIR/err" | grep -v '^mpitrace: ') $(grep -c '^mpitrace: the trace is partial: ' "$CASE_DIR/err")" || return
	eventually "the report" has_report 0 || return
	same "ranks seen, complete" "1 False" "$(analysis 0 '"%d %s" % (a["coverage"]["ranks_seen"], a["coverage"]["complete"])')" || return
	same "reasons" True "$(analysis 0 'any("1 of 2 ranks" in r for r in a["coverage"]["reasons"]) or a["coverage"]["reasons"]')"
}

a_suspended_job_goes_on_and_its_report_is_whole() {
	local id
	id=$(submit -w n1,n2 -N2 -n2 <<-END
		#!/bin/sh
		srun $PHASE until=$CASE_DIR/end
	END
	) || return
	eventually "events in the trace" bigger_than 50000 "$CASE_DIR/mpitrace-$id/step-0/n1.mpic" || return
	as_admin scontrol suspend "$id" || fails "suspend: $?" || return
	eventually "the suspension" is_state "$id" SUSPENDED || return
	as_admin scontrol resume "$id" || fails "resume: $?" || return
	touch "$CASE_DIR/end"
	eventually "the end" is_state "$id" COMPLETED || return
	eventually "the report" has_report 0 || return
	same "ranks seen, complete" "2 True" "$(analysis 0 '"%d %s" % (a["coverage"]["ranks_seen"], a["coverage"]["complete"])')" || return
	is_calm
}

processes_that_a_program_spawns_are_in_its_trace() {
	needs_mpirun || return
	mpicc.openmpi -g -O1 -o "$CASE_DIR/worlds" "$REPO/tests/programs/worlds.c" || fails "worlds.c does not compile" || return
	submit --wait -n4 <<-END >/dev/null || fails "$(cat "$CASE_DIR/out.txt")" || return
		#!/bin/sh
		mpirun.openmpi --oversubscribe --bind-to none -np 2 $CASE_DIR/worlds spawn
	END
	eventually "the report" has_report batch || return
	same "processes" 4 "$(count_processes batch)"
}

# Its /tmp and /dev/shm are its own, and so are its mounts, made before the step's file system.
a_job_with_private_mounts_is_traced() {
	local outer=$STATE rc=0
	[[ $PREFIX != /tmp/* ]] || fails "jobs with a /tmp of their own do not see $PREFIX: install it elsewhere" || return
	local STATE=$outer-tmp WORK=$outer-tmp/work CASE_DIR=$outer-tmp/work
	# One processor: Linux 6.18 numbers mount namespaces per processor, and refuses to keep one that has a smaller number.
	taskset -c 0 "$CLUSTER/up" --state "$STATE" --prefix "$PREFIX" --nodes 2 --job-tmp 2>"$outer/log/tmp.up" || fails "$(cat "$outer/log/tmp.up")" || return
	cp "$RING" "$WORK/ring"
	sed -i "s|\$|$NO_TRACER report_seconds=300|" "$STATE/plugstack.conf" # as in the other clusters: a busy machine's time
	eventually "a first job" as_user srun --mpitrace=off --mpi=none -N2 true || rc=1 # its slurmds may not be there yet
	with_private_mounts "$WORK/ring" || rc=1
	"$CLUSTER/down" --state "$STATE"
	return $rc
}

with_private_mounts() { # RING
	submit --wait -N2 -n4 <<-END >/dev/null || return
		#!/bin/sh
		touch /tmp/private
		srun $1 20
		srun --mpi=none -n4 sh -c 'for i in \$(seq 600); do grep -q "step-0/ranks " /proc/self/mounts || break; sleep 0.05; done
			grep -c "step-0/ranks " /proc/self/mounts; grep -c "step-1/ranks " /proc/self/mounts' >mounts.txt
	END
	[ ! -e /tmp/private ] || fails "/tmp is not private" || return
	is_whole 0 4 80 || return
	same "mounts of the step before, and the step's own" "4 0 4 1" "$(sort "$CASE_DIR/mounts.txt" | uniq -c | xargs)" || return
	is_calm 2
}

# As a plugin does that puts a container's root around each task: what is preloaded is not there.
a_root_that_hides_the_library_leaves_the_task_alone() {
	local root=$CASE_DIR/root rc=0
	gcc -shared -fPIC -o "$CASE_DIR/root.so" "$REPO/tests/programs/slurm_root.c" || fails "slurm_root.c does not compile" || return
	mkdir -p "$root"/{usr,etc,proc,dev,tmp,lib,lib64,bin}
	cp "$STATE/plugstack.conf" "$CASE_DIR/plugstack.once"
	printf 'optional %s root=%s\n' "$CASE_DIR/root.so" "$root" | cat - "$CASE_DIR/plugstack.once" >"$STATE/plugstack.conf"
	as_user srun -n1 -w n1 --mpi=none --chdir=/usr --mpitrace sh -c 'echo in; ls "$0" 2>/dev/null; env | grep PRELOAD; ls -d /run /work 2>/dev/null; true' "$PREFIX" >"$CASE_DIR/out" 2>"$CASE_DIR/err"
	rc=$?
	cat "$CASE_DIR/plugstack.once" >"$STATE/plugstack.conf"
	same "output" "in" "$(xargs <"$CASE_DIR/out")" || return
	same "standard error: $(cat "$CASE_DIR/err")" 1 "$(grep -c '^mpitrace: runs untraced on n1: /.*/libmpitrace.so: .*inside of the job' "$CASE_DIR/err")" || return
	is_calm
}

# 64 to a node; MPI_Init alone takes what it takes.
# With RANKS=256 in the environment as many as that, which takes two processors minutes to begin with.
more_ranks_than_processors_are_one_report() {
	local n=${RANKS:-64}
	as_user srun -N4 "-n$n" --overcommit --mem=0 --mpitrace=budget=1M "$RING" 3 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $? $(tail -n 3 "$CASE_DIR/err")" || return
	is_whole 0 "$n" $((3 * n)) || return
	is_calm
}

# The whole of what `mpitrace live` says of the case's job; 1 when it is stuck.
live_says() { # PYTHON-EXPRESSION over l
	as_user "$PREFIX/bin/mpitrace" live "$(step_dir 0)" --once --json >"$CASE_DIR/live.json" 2>"$CASE_DIR/live.err"
	[ $? -le 1 ] && python3 -c "import json, sys
l = json.load(open(sys.argv[1]))
sys.exit(not ($1))" "$CASE_DIR/live.json"
}

a_deadlock_over_four_nodes_is_named_while_the_job_hangs() {
	local id stuck
	"mpicc.$MPI" -g -O1 -w -o "$CASE_DIR/stuck" "$REPO/tests/programs/stuck.c" || fails "stuck.c does not compile" || return
	id=$(submit -N4 -n4 <<-END
		#!/bin/sh
		srun $CASE_DIR/stuck barrier for ever
	END
	) || return
	eventually "a job that is called stuck" live_says 'l["stuck"]' || fails "$(cat "$CASE_DIR/live.err" "$CASE_DIR/live.json")" || return
	live_says 'len(l["deadlock"]) == 1 and l["deadlock"][0]["ranks"][:2] == [0, 3] and l["deadlock"][0]["core_ranks"] == 2' || fails "$(cat "$CASE_DIR/live.json")" || return
	eventually "those who wait for them, once they have come" live_says 'l["deadlock"][0]["ranks"] == [0, 3, 1, 2]' || fails "$(cat "$CASE_DIR/live.json")" || return
	live_says '[r["op"] for r in l["ranks"]] == ["MPI_Barrier"] * 3 + ["MPI_Recv"] and l["ranks"][3]["peer"] == 0' ||
		fails "$(cat "$CASE_DIR/live.json")" || return
	live_says 'all(r["callsite"].startswith("stuck.c:") for r in l["ranks"]) and not l["nodes_missing"]' || fails "$(cat "$CASE_DIR/live.json")" || return
	same "nodes" 4 "$(python3 -c 'import json, sys; print(len({r["node"] for r in json.load(open(sys.argv[1]))["ranks"]}))' "$CASE_DIR/live.json")" || return
	(cd "$CASE_DIR" && mpitrace live "$id" --once) >"$CASE_DIR/live.txt"
	stuck=$?
	same "exit code, of the job's number" 1 $stuck || return
	contains "$CASE_DIR/live.txt" "rank 3 in MPI_Recv from rank 0, tag 0" || return
	as_user scancel "$id"
	eventually "the end" is_over "$id" || return
	eventually "a look that says that it is over" live_says 'l["ended"] and not l["stuck"]' || fails "$(cat "$CASE_DIR/live.json")" || return
	is_calm
}

# Whoever looks on reads files only: on a socket, to a reader that knows the protocol, and in the browser.
a_running_job_is_handed_on_by_socket_and_to_browsers() {
	local id server view
	id=$(submit -N4 -n8 --overcommit <<-END
		#!/bin/sh
		srun -N4 -n8 --overcommit $PHASE until=$CASE_DIR/go
	END
	) || return
	eventually "all ranks in MPI" live_says 'len(l["ranks"]) == 8 and not l["nodes_missing"]' || fails "$(cat "$CASE_DIR/live.json")" || return
	as_user "$PREFIX/bin/mpitrace" live "$id" --socket "$CASE_DIR/feed" >"$CASE_DIR/server.txt" 2>&1 &
	server=$!
	"$PREFIX/bin/mpitrace" live "$(step_dir 0)" --view --no-browser >"$CASE_DIR/view.txt" 2>&1 &
	view=$!
	eventually "a socket and an address" with_both_servers || fails "$(cat "$CASE_DIR/server.txt" "$CASE_DIR/view.txt")" || return
	python3 - "$REPO/tests/tools" "$CASE_DIR/feed" "$(sed -n 's/.*\(http[^ ]*\).*/\1/p' "$CASE_DIR/view.txt" | head -n 1)" >"$CASE_DIR/read.txt" 2>&1 <<-'END'
		import json, sys, urllib.request
		sys.path.insert(0, sys.argv[1])
		from live_reader import Reader
		r = Reader.unix(sys.argv[2])
		while len(r.announced) < 3:
		    r.next()
		sample = r.get('latest')
		print('ranks', sorted(x['rank'] for x in sample['ranks']), 'nodes', sorted(n['node'] for n in sample['nodes']))
		print('sampled', all(n['state'] in ('sampled', 'not due') for n in sample['nodes']))
		url = sys.argv[3]
		print('page', b'mpitrace viewer' in urllib.request.urlopen(url).read())
		now = json.load(urllib.request.urlopen(url.split('?')[0].rstrip('/') + '/now'))
		print('now', len(now['ranks']))
	END
	same "what a reader got" "ranks [0, 1, 2, 3, 4, 5, 6, 7] nodes ['n1', 'n2', 'n3', 'n4'] sampled True page True now 8" "$(xargs -d '\n' <"$CASE_DIR/read.txt")" || return
	touch "$CASE_DIR/go"
	eventually "the end" is_over "$id" || return
	wait "$server" || fails "the server ended with $?: $(cat "$CASE_DIR/server.txt")" || return
	kill "$view" && wait "$view"
	is_calm
}

with_both_servers() {
	[ -S "$CASE_DIR/feed" ] && grep -q http "$CASE_DIR/view.txt"
}

a_rank_that_computes_for_ever_is_waited_for_and_not_stuck() {
	local id
	"mpicc.$MPI" -g -O1 -w -o "$CASE_DIR/stuck" "$REPO/tests/programs/stuck.c" || fails "stuck.c does not compile" || return
	id=$(submit -N4 -n4 <<-END
		#!/bin/sh
		srun $CASE_DIR/stuck computes for ever
	END
	) || return
	eventually "three that wait for rank 0" live_says 'l["waited_for"] == [{"rank": 0, "ranks": [1, 2, 3]}]' ||
		fails "$(cat "$CASE_DIR/live.err" "$CASE_DIR/live.json")" || return
	live_says 'not l["stuck"] and not l["deadlock"] and l["ranks"][0]["state"] == "useful"' || fails "$(cat "$CASE_DIR/live.json")" || return
	as_user scancel "$id"
	eventually "the end" is_over "$id" || return
	is_calm
}
