# shellcheck shell=bash disable=SC2034,SC2154
# cases_alerts.sh - steps that hang are told of while they run, where the site wants it, and no others. Sourced by run.sh.

with_alerts_after() { # SECONDS; of partition main alone
	OUTBOX=$WORK/outbox-$(basename "$CASE_DIR")
	as_admin install -d -m 3733 "$OUTBOX"
	policy_is <<-END
		[defaults]
		outbox = $OUTBOX
		[rule main]
		partition = main
		alert_seconds = $1
	END
	[ -x "$WORK/stuck" ] || "mpicc.$MPI" -g -O1 -w -o "$WORK/stuck" "$REPO/tests/programs/stuck.c" || fails "stuck.c does not compile"
}

start_job() { # WHAT SBATCH-ARGS...: one in which a process does not come out of MPI_Init, or does not call it
	local what=$1
	shift
	[ -x "$WORK/stuck_start" ] || "mpicc.$MPI" -g -O1 -w -o "$WORK/stuck_start" "$REPO/tests/programs/stuck_start.c" || fails "stuck_start.c does not compile" || return
	submit -n2 --overcommit "$@" <<-END
		#!/bin/sh
		srun --overcommit $WORK/stuck_start $what
	END
}

stuck_job() { # WHAT SBATCH-ARGS...: one that nothing but the end of the job ends
	local what=$1
	shift
	submit -n2 --overcommit "$@" <<-END
		#!/bin/sh
		srun --overcommit $WORK/stuck $what for ever
	END
}

with_alerts() { # COUNT
	[ "$(find "$OUTBOX" -name '*.alert.json' | wc -l)" = "$1" ]
}

alerts() { # PYTHON-EXPRESSION over a, the alerts that are there
	find "$OUTBOX" -name '*.alert.json' -size +0 -exec cat {} + | PYTHONPATH=$REPO/tests/integration python3 -c "import contract, json, sys, time
a = [json.loads(line) for line in sys.stdin]
stamp = lambda text: __import__('calendar').timegm(time.strptime(text, '%Y-%m-%dT%H:%M:%SZ'))
print([e for x in a for e in contract.errors(x, name='alert')] or ($1))"
}

# Within a minute, said here; what other work does to that is no matter of ours, unless looks rest for as long as they took.
told_after() { # SECONDS at least
	echo "# told after $(alerts '[stamp(x["time"]) - stamp(x["since"]) for x in a]') s"
	same "not before it hung for $1 s, and soon" "True" "$(alerts "all($1 <= stamp(x['time']) - stamp(x['since']) <= 240 for x in a)")"
}

in_fleet() { # SQL
	mpitrace fleet ingest "$OUTBOX" --db "$CASE_DIR/fleet.db" >"$CASE_DIR/ingest" 2>&1 || fails "$(cat "$CASE_DIR/ingest")" || return
	mpitrace fleet query --db "$CASE_DIR/fleet.db" --csv "$1" | tail -n 1 | tr -d '\r'
}

is_standing_for() { # JOB SECONDS: a rank is in one call for so long
	mpitrace live "$CASE_DIR/mpitrace-$1" --once --json >"$CASE_DIR/live-$1.json" 2>"$CASE_DIR/live.err"
	python3 -c 'import json, sys; sys.exit(not any(r["state"] == "mpi" and (r["since_s"] or 0) > float(sys.argv[2]) for r in json.load(open(sys.argv[1]))["ranks"]))' \
		"$CASE_DIR/live-$1.json" "$2"
}

# For who reads the log: what the job said, who stands still, who looks, and what a look finds.
no_alert_of() { # JOB
	cat "$CASE_DIR/out.txt"
	find "$OUTBOX" "$STATE"/*/mpitrace -name '*.alert*' -o -name waits
	echo "$(looks_for_alerts) look; load $(cut -d' ' -f1-3 /proc/loadavg)"
	mpitrace live "$CASE_DIR/mpitrace-$1" --once 2>&1 | head -n 20
}

looks_for_alerts() { # how many processes look
	cluster_processes_of 'live .* --alert' | wc -l
}

somebody_looks() { # at a step
	[ "$(looks_for_alerts)" -ge 1 ]
}

one_looks() { # and no more
	[ "$(looks_for_alerts)" = 1 ]
}

nobody_looks() { # any more
	[ "$(looks_for_alerts)" = 0 ]
}

a_step_that_hangs_is_an_alert_within_a_minute_while_it_runs() {
	local id user
	user=$(stat -c %U "$WORK")
	with_alerts_after 30 || return
	id=$(stuck_job receives -N2) || return
	eventually "an alert" with_alerts 1 || fails "$(no_alert_of "$id")" || return
	is_state "$id" RUNNING || fails "the job has ended: $(outcome "$id")" || return
	told_after 30 || return
	same "which job, whose, where" "$id 0 $user main deadlock 2 2" \
		"$(alerts '" ".join(map(str, [a[0][k] for k in ("job_id", "step_id", "user", "partition", "what", "ranks", "nodes")]))')" || return
	same "ranks, calls, places" "[(0, 'MPI_Recv', 'stuck.c'), (1, 'MPI_Recv', 'stuck.c')]" \
		"$(alerts 'sorted((m["rank"], m["op"], m["callsite"].split(":")[0]) for m in a[0]["core"])')" || return
	same "whose file" "$user" "$(find "$OUTBOX" -name '*.alert.json' -printf %u)" || return
	same "one that hangs, in the fleet" "1" "$(in_fleet "select count(*) from alerts where partition='main'")" || return
	eventually "the end of who looked" nobody_looks || return
	as_user scancel "$id"
	eventually "its record" eval "find '$OUTBOX' -name '*.job.json' | grep . >/dev/null" || return
	same "until its record comes" "0" "$(in_fleet "select count(*) from alerts")" || return
	same "of a job that hung" "1" "$(in_fleet "select count(*) from job_list where hung_core_hours>0")" || return
	same "one alert" 1 "$(find "$OUTBOX" -name '*.alert.json' | wc -l)" || return
	is_calm
}

who_computes_or_is_suspended_or_whose_site_asks_for_none_is_no_alert() {
	local computes suspended other hangs
	with_alerts_after 10 || return
	computes=$(stuck_job computes -w n1 -N1) && suspended=$(stuck_job receives -w n2 -N1) && other=$(stuck_job receives -w n3 -N1 -p other) || return
	eventually "ranks in their calls" is_standing_for "$suspended" 0.5 || fails "$(cat "$CASE_DIR/live.err")" || return
	as_admin scontrol suspend "$suspended" || fails "suspend: $?" || return
	eventually "somebody who waits for a rank that computes" is_standing_for "$computes" 25 || fails "$(cat "$CASE_DIR/live.err")" || return
	eventually "a step that nobody asks about stands as long" is_standing_for "$other" 25 || return
	eventually "a look at the step that computes" somebody_looks || return
	hangs=$(stuck_job receives -w n4 -N1) || return
	PATIENCE=400 eventually "an alert" with_alerts 1 || return
	eventually "all the others stand as long again" is_standing_for "$computes" 50 || return
	same "of whom" "['$hangs']" "$(alerts '[x["job_id"] for x in a]')" || return
	as_admin scontrol resume "$suspended" || fails "resume: $?" || return
	PATIENCE=400 eventually "who was suspended hangs as well" with_alerts 2 || return # who looks has what ranks that spin leave
	as_user scancel "$computes" "$suspended" "$other" "$hangs"
	eventually "their end" no_jobs || return
	is_calm
}

ranks_that_hang_while_the_first_node_computes_are_one_alert() {
	local id
	with_alerts_after 10 || return
	id=$(stuck_job others -N3 -n3) || return
	PATIENCE=400 eventually "an alert" with_alerts 1 || fails "$(no_alert_of "$id")" || return
	same "which job, what, who" "$id deadlock 3 3 [1, 2]" \
		"$(alerts '" ".join(map(str, [a[0][k] for k in ("job_id", "what", "ranks", "nodes")] + [sorted(m["rank"] for m in a[0]["core"])]))')" || return
	eventually "the end of who looked" nobody_looks || return
	same "one that looks: that of the first node" "alert-$(date -u +%Y%m%d)-nn1-0.alert.slot" "$(find "$OUTBOX" -name '*.alert.slot' -printf '%f\n')" || return
	as_user scancel "$id"
	eventually "its record" eval "find '$OUTBOX' -name '*.job.json' | grep . >/dev/null" || return
	same "one alert" 1 "$(find "$OUTBOX" -name '*.alert.json' | wc -l)" || return
	same "what nodes tell each other, behind the step" "" "$(find "$CASE_DIR" -name 'mpitrace-waits')" || return
	is_calm
}

who_does_not_come_out_of_MPI_Init_is_an_alert_and_who_waits_there_for_others_is_none() {
	local waits hangs began
	with_alerts_after 10 || return
	waits=$(start_job before -w n1,n2 -N2) && hangs=$(start_job inside -w n3,n4 -N2) || return
	began=$(date +%s)
	PATIENCE=400 eventually "an alert" with_alerts 1 || fails "$(no_alert_of "$hangs")" || return
	told_after 20 || return
	same "which job, what, where" "$hangs in MPI_Init 2 2" "$(alerts '" ".join(map(str, [a[0][k] for k in ("job_id", "what", "ranks", "nodes")]))')" || return
	same "how many: libraries let the others out, or not" True "$(alerts 'a[0]["core_ranks"] in (1, 2) and a[0]["why"].startswith("%d of 2 processes" % a[0]["core_ranks"])')" || return
	eventually "one look, at the step that waits" one_looks || return
	PATIENCE=400 eventually "a minute" eval "[ \$((\$(date +%s) - $began)) -ge 60 ]" || return
	same "of whom" "['$hangs']" "$(alerts '[x["job_id"] for x in a]')" || return
	as_user scancel "$waits" "$hangs"
	eventually "their end" no_jobs || return
	is_calm
}

a_user_leaves_so_many_alerts_a_day() {
	local day uid i
	with_alerts_after 10 || return
	day=$(date -u +%Y%m%d) uid=$(stat -c %u "$WORK")
	for i in 0 1 2 3 4 5 6; do
		as_user touch "$OUTBOX/alert-$day-u$uid-$i.alert.json" || return
	done
	stuck_job receives -w n1 -N1 >/dev/null && stuck_job receives -w n2 -N1 >/dev/null || return
	eventually "the last one" with_alerts 8 || return
	eventually "all looks at an end" nobody_looks || return
	same "alerts, in the outbox" "8 1" "$(find "$OUTBOX" -name '*.alert.json' | wc -l) $(find "$OUTBOX" -name '*.alert.json' -size +0 | wc -l)" || return
	same "of nodes" 1 "$(find "$OUTBOX" -name '*.alert.slot' | wc -l)" || return
	end_all_jobs
	is_calm
}
