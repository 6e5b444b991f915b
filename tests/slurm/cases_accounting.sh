# shellcheck shell=bash disable=SC2034,SC2154
# cases_accounting.sh - where slurmdbd keeps accounts: rules by account get what it says, and what it keeps of a job is what it
# keeps of an untraced one. Sourced by run.sh.

# A cluster of its own; MariaDB takes some seconds to make its tables.
a_site_with_accounting_has_its_rules_applied_and_its_records_unchanged() {
	local outer=$STATE rc=0
	local STATE=$outer-dbd WORK=$outer-dbd/work CASE_DIR=$outer-dbd/work POLICY=$outer-dbd/etc/mpitrace.conf
	PATH=$PATH:/usr/sbin command -v slurmdbd mariadbd >/dev/null || skips "no slurmdbd or no mariadbd" || return
	"$CLUSTER/up" --state "$STATE" --prefix "$PREFIX" --nodes 2 --accounting "${CGROUP[@]}" 2>"$outer/log/dbd.up" || fails "$(cat "$outer/log/dbd.up")" || return
	cp "$RING" "$WORK/ring" && "mpicc.$MPI" -g -O1 -w -o "$WORK/stuck" "$REPO/tests/programs/stuck.c" && RING=$WORK/ring with_plugin_here || rc=1
	"$CLUSTER/down" --state "$STATE"
	return $rc
}

with_plugin_here() {
	local PLUGSTACK
	[ "$MOVED" = no ] || sed -i "s|\$|$(say_where_all_is)|" "$STATE/plugstack.conf"
	sed -i "s|\$|$NO_TRACER report_seconds=300|" "$STATE/plugstack.conf"
	PLUGSTACK=$(cat "$STATE/plugstack.conf")
	with_rules_by_account && with_rule_by_qos && with_job_records && with_accounts_of_jobs && with_records_of_jobs
}

# proja is also the account of who names none: only slurmdbd knows that.
with_rules_by_account() {
	policy_is <<-END
		[rule project]
		account = proja
		level = events
	END
	traced -A proja || return
	traced || return
	same "why" "events: rule \"project\" ($POLICY:1)" "$(analysis 0 'a["job"]["policy"]')" || return
	untraced -A projb || return
	! as_user srun -n1 -A projx --mpitrace hostname >"$CASE_DIR/out" 2>&1 || fails "an account that nobody has: $(cat "$CASE_DIR/out")"
}

# No prolog of 22.05 is told the QOS, also where there is one: such a rule fits nothing, and nobody's word is taken for it.
with_rule_by_qos() {
	policy_is <<-END
		[rule long]
		qos = long
		level = events
	END
	if as_admin srun --version | grep ' 22\.05' >/dev/null; then
		untraced --qos long || return
		SLURM_JOB_QOS=long untraced
	else
		traced --qos long || return
		untraced --qos normal
	fi
}

# A field of the only job record that is left in the outbox.
with_field() { # PYTHON-EXPRESSION over r
	find "$WORK/outbox" -name '*.job.json' -exec cat {} + | PYTHONPATH=$REPO/tests/integration python3 -c "import contract, json, sys
r = json.loads(sys.stdin.read())
print(contract.errors(r, name='job') or ($1))"
}

with_outbox_of() { # COUNT
	[ "$(find "$WORK/outbox" -name '*.job.json' | wc -l)" = "$1" ]
}

# What the fleet is told of a job is what Slurm knows of it, and its own user leaves it.
with_job_records() {
	local job user
	user=$(stat -c %U "$WORK")
	as_admin install -d -m 3733 "$WORK/outbox"
	policy_is <<-END
		[defaults]
		outbox = $WORK/outbox
		record_modules = yes
	END
	job=$(as_user env LOADEDMODULES="gcc/12.2:/home/alice/own:openmpi/4.1.4" sbatch --parsable --mpitrace -N2 -n2 -A projb -p other -o record.txt --wrap "srun -K -n2 $RING 5 kill=9") || return
	eventually "its record" with_outbox_of 1 || fails "$(cat "$CASE_DIR"/record.txt)" || return
	same "of whom, where, and how it ended" "$job 0 $user projb other ring 2 2" \
		"$(with_field '" ".join(map(str, (r["job_id"], r["step_id"], r["user"], r["account"], r["partition"], r["program"].split("/")[-1], r["nodes"], r["ranks"])))')" || return
	same "what became of it" "['death']" "$(with_field '[i["issue"] for i in r["issues"]][:1]')" || return
	same "environment modules" "['gcc/12.2', 'openmpi/4.1.4'] 1" "$(with_field '"%s %s" % (r["modules"], r["modules_left_out"])')" || return
	same "whose file" "$user" "$(find "$WORK/outbox" -name '*.job.json' -printf %u)" || return
	mpitrace fleet ingest "$WORK/outbox" --db "$CASE_DIR/fleet.db" >"$CASE_DIR/ingest" || fails "$(cat "$CASE_DIR/ingest")" || return
	same "in the database" "$user,projb,other" "$(mpitrace fleet query --db "$CASE_DIR/fleet.db" --csv "select user, account, partition from job_list" | tail -n 1 | tr -d '\r')" || return
	no_policy
}

# Jobs of every kind that sacct tells apart: arrays, heterogeneous ones, names with spaces, that fail, are killed or cancelled, run
# out of time or memory, and from the twentieth on such as are queued again, which takes two minutes.
submit_one() { # I
	local name="run $1" kind=$(($1 % 10)) how=(sbatch --parsable --mpitrace -o /dev/null)
	# Until its ranks are known.
	local traced="until $PREFIX/bin/mpitrace live mpitrace-\$SLURM_JOB_ID/step-0 --once >/dev/null 2>&1 || [ \$? = 1 ]; do sleep 0.2; done"
	[ $(($1 % 20)) != 19 ] || kind=again
	[ "$kind" != 9 ] || [ -n "${CGROUP[*]}" ] || kind=0
	case $kind in
	1) as_user "${how[@]}" -N1 -n2 -a 3-3 -J "$name" --wrap "srun $RING 3" ;;
	2) as_user "${how[@]}" -N1 -n1 -J "$name" --wrap "srun $RING 3 exit=3" ;;
	3) as_user "${how[@]}" -N2 -n2 -A projb -p other -J "$name" --wrap "srun -K -n2 $RING 5 kill=9" ;;
	4) as_user "${how[@]}" -N2 -n2 --qos long -J "$name" --wrap "srun -n2 $RING 3; srun -n2 $RING 3" ;;
	5) as_user "${how[@]}" -N1 -n1 --mem 100 -J "$name" --wrap "srun $RING 3" ;;
	6) as_user "${how[@]}" -N1 -n1 -J "$name" : -N1 -n1 --wrap "srun $RING 3" ;;
	7) as_user "${how[@]}" -N1 -n2 -J "$name" --wrap "srun $WORK/stuck receives for ever & $traced; scancel \$SLURM_JOB_ID; wait" ;;
	8) as_user "${how[@]}" -N1 -n2 -J "$name" --wrap "srun $WORK/stuck receives for ever & $traced; scontrol update JobId=\$SLURM_JOB_ID EndTime=now+5; wait" ;;
	9) as_user "${how[@]}" -N2 -n2 --mem 300 -J "$name" --wrap "srun --kill-on-bad-exit=1 $PHASE memory" ;;
	again) as_user "${how[@]}" -N1 -n2 --requeue -J "$name" --wrap "srun $RING 3; [ \"\${SLURM_RESTART_COUNT:-0}\" -gt 0 ] || { scontrol requeue \$SLURM_JOB_ID; sleep 300; }" ;;
	*) as_user "${how[@]}" -N1 -n2 -J "$name" --wrap "srun $RING 3" ;;
	esac
}

steps_of() { # JOBS: how many records they leave: two of each of two steps, and of each that runs again
	local i n=0
	for ((i = 0; i < $1; i++)); do
		n=$((n + 1 + (i % 10 == 4) + (i % 20 == 19)))
	done
	echo $n
}

with_all_accounted() {
	PATH=$CASE_DIR/bin:$PATH mpitrace fleet ingest "$WORK/outbox" --db "$CASE_DIR/accounts.db" --sacct >"$CASE_DIR/ingest" 2>&1
	! grep -q 'wait for' "$CASE_DIR/ingest"
}

# On a busy node a report that has to wait for its turn is left for the sweep, and its record with it.
with_swept_outbox_of() { # COUNT
	local node
	for node in "$STATE"/n[0-9]*; do
		[ -z "$(ls -A "$node/mpitrace/late" 2>/dev/null)" ] || mpitrace sweep --spool "$node/mpitrace" --policy "$POLICY" >/dev/null 2>&1
	done
	with_outbox_of "$1"
}

with_none_left() {
	[ -z "$(as_admin squeue -h)" ]
}

# What sacct has of them is what the fleet has, in every field. ACCOUNTED_JOBS=100 in the environment: of as many, which takes ten
# minutes; ACCOUNTED_TABLE=FILE keeps what was compared.
with_accounts_of_jobs() {
	local i jobs=${ACCOUNTED_JOBS:-10} expected
	as_admin find "$WORK/outbox" -type f -delete
	policy_is <<-END
		[defaults]
		outbox = $WORK/outbox
	END
	# shellcheck disable=SC2016 # the inner shell expands
	mkdir "$CASE_DIR/bin" && printf '#!/bin/sh\nexec "%s" --state "%s" --root env SLURM_TIME_FORMAT="$SLURM_TIME_FORMAT" %s "$@"\n' "$CLUSTER/run" "$STATE" "$(command -v sacct)" >"$CASE_DIR/bin/sacct"
	chmod +x "$CASE_DIR/bin/sacct"
	for ((i = 0; i < jobs; i++)); do
		submit_one "$i" >>"$CASE_DIR/jobs.txt" || return
	done
	PATIENCE=$((30 + 10 * jobs)) eventually "the end of all jobs" with_none_left || return
	expected=$(steps_of "$jobs")
	eventually "$expected records" with_swept_outbox_of "$expected" || fails "$(find "$WORK/outbox" -type f)" || return
	eventually "the account of all" with_all_accounted || fails "$(cat "$CASE_DIR/ingest")" || return
	PATH=$CASE_DIR/bin:$PATH python3 "$HERE/sacct_agrees.py" "$PREFIX/bin/mpitrace" "$CASE_DIR/accounts.db" "$jobs" >"$CASE_DIR/agrees" || fails "$(cat "$CASE_DIR/agrees")" || return
	[ -z "${ACCOUNTED_TABLE-}" ] || cp "$CASE_DIR/agrees" "$ACCOUNTED_TABLE"
	no_policy
}

# sacct of a job: its steps, states and exit codes.
records_of() { # JOB
	as_admin sacct -a -n -P -S 00:00 -j "$1" -o jobid,jobname,state,exitcode,derivedexitcode,account,qos,ntasks,nnodes | sed "s/^$1//"
}

# The id of job.sh, submitted with OPTIONs. It is held until slurmdbd has its name: slurmctld tells of new jobs every few seconds,
# and a job whose steps come to slurmdbd before that keeps a record without name or partition, traced or not.
recorded_job() { # OPTION...
	local job
	job=$(as_user sbatch --parsable --hold -N2 -n2 -A projb --qos long "$@" job.sh) || return
	eventually "a record of job $job" eval "records_of $job | grep '^|job.sh|PENDING' >/dev/null" >&2 || return
	as_user scontrol release "$job" && echo "$job"
}

with_record_complete() { # JOB
	[ "$(records_of "$1" | wc -l)" -ge 5 ] && ! records_of "$1" | grep -E 'RUNNING|PENDING' >/dev/null
}

with_records_of_jobs() {
	local off on
	no_policy
	printf '#!/bin/sh\nsrun -n2 %s 5\nsrun -n2 %s 5 exit=3\nsrun --mpi=none -n1 sh -c "kill -9 \\$\\$"\nexit 4\n' "$RING" "$RING" >"$CASE_DIR/job.sh"
	off=$(recorded_job --mpitrace=off -o off.txt) || return
	on=$(recorded_job --mpitrace -o on.txt) || return
	eventually "the record of both" eval "with_record_complete $off && with_record_complete $on" || fails "$(records_of "$off") $(records_of "$on")" || return
	same "records" "$(records_of "$off")" "$(records_of "$on")" || return
	same "exit codes of its steps" "0:0 3:0 0:9" "$(records_of "$on" | grep '^\.[0-9]' | cut -d'|' -f4 | xargs)" || return
	eventually "reports of both programs" eval 'has_report 0 && has_report 1' || return
	eventually "an empty spool" spool_is_empty
}
