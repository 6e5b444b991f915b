# shellcheck shell=bash disable=SC2034,SC2154
# cases_policy.sh - what a site's policy decides, for whom, and what it keeps out of traces. Sourced by run.sh.

POLICY=$STATE/etc/mpitrace.conf

policy_is() { # the text on standard input; a partition beside the default one is there as well
	as_admin install -d -m 0755 "$STATE/etc"
	# shellcheck disable=SC2016 # the inner shell expands
	as_admin sh -c 'cat >"$1" && chmod 0644 "$1"' sh "$POLICY"
	grep -q 'policy=' "$STATE/plugstack.conf" || sed -i "s|\$| policy=$POLICY report_seconds=300|" "$STATE/plugstack.conf"
	grep -q 'PartitionName=other' "$STATE/slurm.conf" && return
	echo "PartitionName=other Nodes=ALL MaxTime=60 State=UP" >>"$STATE/slurm.conf"
	as_admin scontrol reconfigure
}

no_policy() { # the next case begins with none, whatever this one leaves (run.sh)
	sed -i "s| policy=$POLICY report_seconds=300||" "$STATE/plugstack.conf"
	as_admin rm -f "$POLICY"
}

traced() { # SRUN-ARGS...: on both nodes, with this policy and without --mpitrace
	rm -rf "$CASE_DIR"/mpitrace-*
	as_user srun -N2 -n2 "$@" "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $? $(cat "$CASE_DIR/err")" || return
	same "what is said for $*" "ring done" "$(said "$CASE_DIR/err")" || return
	eventually "a report of $*" has_report 0 || return
	same "ranks seen of $*" 2 "$(analysis 0 'a["coverage"]["ranks_seen"]')" || return
	same "traces of $*" 2 "$(find "$CASE_DIR" -name 'n?.mpic' | wc -l)"
}

untraced() { # SRUN-ARGS...
	rm -rf "$CASE_DIR"/mpitrace-*
	as_user srun -N2 -n2 "$@" "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $? $(cat "$CASE_DIR/err")" || return
	eventually "an empty spool" spool_is_empty || return
	same "directories of $*" "" "$(find "$CASE_DIR" -name 'mpitrace-*')"
}

log_says() { # TEXT, in a slurmd's log since the case began
	cat "$STATE"/log/n*.log | grep -F -- "$1" >/dev/null # grep -q would leave cat with a broken pipe
}

no_facts() { # a node keeps nothing of a job
	[ -z "$(find "$STATE"/n*/mpitrace/jobs -type f 2>/dev/null)" ]
}

# Every byte of the results, and all that is packed in the traces.
everything_in() { # DIRECTORY
	find "$1" -printf '%P\n'
	find "$1" -type f -print0 | xargs -0 cat
	find "$1" -name '*.mpi[cx]' -print0 | xargs -0 python3 -c '
import sys, zlib
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    for at in range(len(data)):
        try:
            unpacked = zlib.decompressobj(-15).decompress(data[at:])
        except zlib.error:
            continue
        if len(unpacked) > 20:
            sys.stdout.buffer.write(unpacked)'
	find "$1" -name '*.mpix' -exec "$PREFIX/bin/mpitrace" show --json {} \;
}

a_rule_by_partition_traces_its_jobs_and_no_others() {
	policy_is <<-END
		[rule the other]
		partition = other
		level = events
	END
	traced -p other || return
	same "why" "events: rule \"the other\" ($POLICY:1)" "$(analysis 0 'a["job"]["policy"]')" || return
	contains "$(step_dir 0)/log.txt" "policy: events: rule \"the other\" ($POLICY:1)" || return
	mpitrace show "$(step_dir 0)/job.mpix" >"$CASE_DIR/show"
	contains "$CASE_DIR/show" "Policy: events: rule \"the other\"" || return
	contains "$(step_dir 0)/report.html" "rule &quot;the other&quot;" || return
	untraced -p main || return
}

a_rule_by_account_traces_its_jobs_and_no_others() {
	policy_is <<-END
		[rule project]
		account = proj*, !projx
		level = profile
	END
	traced -A proja || return
	same "events in profile mode" 0 "$(analysis 0 'a["coverage"]["events"]')" || return
	untraced -A projx || return
	untraced || return
}

rules_by_user_group_size_program_and_name_fit_as_they_say() {
	local user uid group condition
	user=$(stat -c %U "$WORK") uid=$(stat -c %u "$WORK") group=$(stat -c %G "$WORK")
	for condition in "user = x, $user" "uid = $uid" "group = $group" "nodes = 2-" "tasks = 2" "program = slurm_*" "job_name = fluid"; do
		printf '[rule a]\n%s\nlevel = events\n' "$condition" | policy_is
		traced -J fluid || fails "$condition" || return
	done
	for condition in "user = !$user" "uid = 0-$((uid - 1))" "group = root" "nodes = 3-" "tasks = 1" "program = x*" "job_name = solid"; do
		printf '[rule a]\n%s\nlevel = events\n' "$condition" | policy_is
		untraced -J fluid || fails "$condition" || return
	done
}

# Run the rest with this group database on all hosts of the cluster.
with_group_file() { # FILE COMMAND...
	local host file=$1 rc
	shift
	for host in head n1 n2 n3 n4; do
		nsenter --target "$(slurm_on "$host")" --mount mount --bind "$file" /etc/group || fails "no group database on $host" || return
	done
	"$@"
	rc=$?
	for host in head n1 n2 n3 n4; do
		nsenter --target "$(slurm_on "$host")" --mount umount /etc/group
	done
	return $rc
}

slurm_on() { # HOST
	cluster_process_on "$1" "$([ "$1" = head ] && echo slurmctld || echo slurmd)"
}

knows_groups() { # COUNT: slurmctld remembers those of a user for a while
	[ "$(as_user srun --mpitrace=off -n1 id -G | wc -w)" = "$1" ]
}

with_many_groups() { # NAME-OF-THE-LAST
	local group
	eventually "groups as Slurm tells them" knows_groups 152 || return
	for group in "$1" crowd 70500; do
		printf '[rule banned]\ngroup = %s\nmax_level = off\n' "$group" | policy_is
		untraced --mpitrace || fails "banned by $group" || return
	done
	printf '[rule invited]\ngroup = crowd\nlevel = events\n[rule banned]\nmax_level = off\n' | policy_is
	traced || fails "invited" || return
	printf '[rule banned]\ngroup = root, c*t\nmax_level = off\n' | policy_is
	traced --mpitrace || fails "not banned" || return
}

a_rule_holds_for_who_is_in_many_groups_and_in_large_ones() {
	local user
	user=$(stat -c %U "$WORK")
	{
		cat /etc/group
		for i in $(seq 150); do echo "a-group-of-a-project-with-a-long-name-$i:x:$((70000 + i)):$user"; done
		echo "crowd:x:70500:$(seq -f 'somebody-%g' -s , 3000),$user"
	} >"$CASE_DIR/group"
	with_group_file "$CASE_DIR/group" with_many_groups a-group-of-a-project-with-a-long-name-150
}

a_sample_takes_the_same_jobs_on_every_node_and_no_others() {
	local id n wanted taken=0 left=0
	policy_is <<-END
		[defaults]
		level = events
		sample = 50%
	END
	for n in $(seq 1 30); do
		rm -rf "$CASE_DIR"/mpitrace-*
		# shellcheck disable=SC2016 # the job's shell expands
		id=$(as_user srun -N2 -n2 sh -c '"$0" 5 >/dev/null 2>&1; [ "$SLURM_PROCID" = 1 ] || echo "$SLURM_JOB_ID"' "$RING") || fails "srun: $?" || return
		eventually "an empty spool" spool_is_empty || return
		wanted=$(mpitrace doctor --policy --config "$POLICY" "job=$id" | sed -n 's/^a job .* gets: //p')
		if [ "$wanted" = events ]; then
			taken=$((taken + 1))
			same "traces of job $id" 2 "$(find "$CASE_DIR" -name 'n?.mpic' | wc -l)" || return
		else
			left=$((left + 1))
			same "traces of job $id" 0 "$(find "$CASE_DIR" -name '*.mpic' | wc -l)" || return
		fi
		[ "$taken" -lt 3 ] || [ "$left" -lt 3 ] || break
	done
	[ "$taken" -ge 3 ] && [ "$left" -ge 3 ] || fails "$taken taken, $left left out" || return
}

a_broken_policy_means_off_and_the_jobs_run() {
	policy_is <<-END
		[defaults]
		level = events
		overide = all
	END
	untraced || return
	same "what is said to who does not ask" "ring done" "$(said "$CASE_DIR/err")" || return
	untraced --mpitrace || return
	contains "$CASE_DIR/err" "$POLICY:3: unknown key \"overide\"; did you mean \"override\"?" || return
	log_says "mpitrace: policy: $POLICY:3: unknown key \"overide\"" || fails "no error in slurmd's log" || return
	same "drained nodes" "" "$(as_admin sinfo -h -N -t drain -o %N)" || return
	sed -i 's/overide/override/' "$POLICY"
	traced || return
	chmod 0666 "$POLICY"
	untraced --mpitrace || return
	log_says "$POLICY: others than root may write it" || fails "no word of the mode in slurmd's log" || return
}

a_request_over_the_cap_is_refused_at_submit_and_lowered_in_a_job() {
	policy_is <<-END
		[defaults]
		max_budget = 1M
	END
	as_user srun -n1 --mpitrace=budget=2M hostname >"$CASE_DIR/out" 2>"$CASE_DIR/err" && fails "srun took it" && return 1
	contains "$CASE_DIR/err" "ask for at most budget=1048576 (max_budget, $POLICY:2)" || return
	same "output" "" "$(cat "$CASE_DIR/out")" || return
	as_user sbatch --mpitrace=budget=1G --wrap hostname >/dev/null 2>"$CASE_DIR/err" && fails "sbatch took it" && return 1
	contains "$CASE_DIR/err" "max_budget" || return
	printf '#!/bin/sh\nsrun -n2 --mpitrace=budget=2M %s 5\n' "$RING" >"$CASE_DIR/job.sh"
	as_user sbatch --wait -n2 -o out.txt job.sh >/dev/null || fails "sbatch: $? $(cat "$CASE_DIR/out.txt")" || return
	eventually "a report" has_report 0 || return
	same "output of the job" "ring done" "$(grep -v '^rank' "$CASE_DIR/out.txt")" || return
	same "why" True "$(analysis 0 '"budget=2097152 lowered to max_budget=1048576" in a["job"]["policy"]')" || return
}

who_may_not_override_gets_what_the_site_says() {
	policy_is <<-END
		[rule other]
		partition = other
		level = events
		override = none
		[rule main]
		override = off
	END
	untraced -p main --mpitrace || return
	rm -rf "$CASE_DIR"/mpitrace-*
	as_user srun -N2 -n2 -p other --mpitrace=off "$RING" 5 >/dev/null 2>&1 || fails "srun: $?" || return
	eventually "a report" has_report 0 || return
	same "why" True "$(analysis 0 '"may not opt out" in a["job"]["policy"]')" || return
	rm -rf "$CASE_DIR"/mpitrace-*
	as_user srun -N2 -n2 -p other --mpitrace=profile "$RING" 5 >/dev/null 2>&1 || fails "srun: $?" || return
	eventually "a report" has_report 0 || return
	same "single events are there" True "$(analysis 0 'a["coverage"]["events"] > 0')" || return
	sed -i 's/^override = none/override = off/' "$POLICY"
	as_user salloc -n1 -p other --mpitrace true >/dev/null 2>"$CASE_DIR/err" || fails "salloc: $?" || return
	contains "$CASE_DIR/err" "--mpitrace changes nothing: rule \"other\"" || return
}

a_user_opts_out_by_option_or_environment() {
	policy_is <<-END
		[defaults]
		level = events
		override = off
	END
	traced || return
	untraced --mpitrace=off || return
	untraced --export=ALL,MPITRACE=off || return
	printf '#!/bin/sh\nexport MPITRACE=off\nsrun -n2 %s 5\n' "$RING" >"$CASE_DIR/job.sh"
	as_user sbatch --wait -n2 -o out.txt job.sh >/dev/null || fails "sbatch: $?" || return
	same "directories" "" "$(find "$CASE_DIR" -name 'mpitrace-*')" || return
}

a_users_environment_permits_nothing() {
	local variables="SLURM_JOB_PARTITION=other SLURM_JOB_ACCOUNT=proj SLURM_JOB_QOS=high SLURM_JOB_USER=root SLURM_JOB_NUM_NODES=64 SLURM_JOB_NTASKS=64"
	policy_is <<-END
		[rule p]
		partition = other
		level = events
		[rule a]
		account = proj
		level = events
		[rule q]
		qos = high
		level = events
		[rule u]
		user = root
		level = events
		[rule n]
		nodes = 64
		level = events
		[rule t]
		tasks = 64
		level = events
	END
	untraced "--export=ALL,${variables// /,}" || return
	printf '#!/bin/sh\nexport %s MPITRACE_MODE=events\nsrun -N2 -n2 %s 5\n' "$variables" "$RING" >"$CASE_DIR/job.sh"
	as_user sbatch --wait -N2 -n2 -o out.txt job.sh >/dev/null || fails "sbatch: $? $(cat "$CASE_DIR/out.txt")" || return
	contains "$CASE_DIR/out.txt" "ring done" || return
	same "directories" "" "$(find "$CASE_DIR" -name 'mpitrace-*')" || return
	traced -p other || return
}

results_go_where_the_pattern_says() {
	local id user
	user=$(stat -c %U "$WORK")
	policy_is <<-END
		[defaults]
		level = events
		output = $CASE_DIR/all/%u/%x/%A_%a/%s
	END
	printf '#!/bin/sh\nsrun -N2 -n2 %s 5\nsrun -n2 %s 5\n' "$RING" "$RING" >"$CASE_DIR/job.sh"
	id=$(as_user sbatch --parsable --wait -J "a name/x" --array=7 -N2 -n2 -o out.txt job.sh) || fails "sbatch: $?" || return
	eventually "the report of step 0" is_whole_page "$CASE_DIR/all/$user/a name_x/${id}_7/0/report.html" || return
	eventually "the report of step 1" is_whole_page "$CASE_DIR/all/$user/a name_x/${id}_7/1/report.html" || return
	same traces 2 "$(find "$CASE_DIR/all/$user/a name_x/${id}_7/0" -name 'n?.mpic' | wc -l)" || return
	same "directories of the usual name" "" "$(find "$CASE_DIR" -name 'mpitrace-*')" || return
	as_user srun -n1 --mpitrace=off true && sed -i 's|^output.*|output = below/%j|' "$POLICY"
	as_user srun -n2 "$RING" 5 >/dev/null 2>&1 || fails "srun: $?" || return
	has_file "$(echo "$CASE_DIR"/below/*/step-0/report.html)" || return
}

a_report_carries_its_trace_unless_the_site_wants_it_small() {
	local id bytes
	for bytes in 5000000 102400 0; do
		policy_is <<-END
			[defaults]
			level = events
			page_bytes = $bytes
		END
		traced || return
		id=$(echo "$CASE_DIR"/mpitrace-*/step-0)
		same "pages of $bytes that carry a trace" "$((bytes == 5000000))" "$(grep -c 'script-src' "$id/report.html")" || return
		same "pages of $bytes that say that they do not" "$((bytes == 102400))" "$(grep -c 'The trace is not in this page' "$id/report.html")" || return
	done
	as_user mpitrace report "$id/job.mpix" -o "$id/again.html" || fails "mpitrace report: $?" || return
	same "pages made again that carry a trace" 0 "$(grep -c 'script-src' "$id/again.html")" || return
}

# One that asks for a trace with a password on its command line, in a directory with a telling name.
what_is_redacted_is_nowhere() {
	local secret_dir=$CASE_DIR/tellingname out=$CASE_DIR/out
	as_user mkdir -p tellingname out && cp "$RING" "$secret_dir/ring" || return
	policy_is <<-END
		[defaults]
		level = events
	END
	as_user srun -N2 -n2 "$secret_dir/ring" 5 --password=s3cr3t-word >/dev/null 2>&1 || fails "srun: $?" || return
	has_report 0 || fails "no report" || return
	everything_in "$(step_dir 0)" >"$CASE_DIR/all.plain"
	for word in s3cr3t-word tellingname; do
		contains "$CASE_DIR/all.plain" "$word" || fails "the search does not find $word where it is" || return
	done
	rm -rf "$CASE_DIR"/mpitrace-*
	echo "redact = arguments, paths, hosts" >>"$POLICY"
	as_user srun -D "$secret_dir" -w n1,n2 -N2 -n2 "--mpitrace=out=$out" "$secret_dir/ring" 5 --password=s3cr3t-word >/dev/null 2>&1 || fails "srun: $?" || return
	out=$(echo "$out"/mpitrace-*/step-0)
	eventually "a report" is_whole_page "$out/report.html" || return
	everything_in "$out" >"$CASE_DIR/all.redacted"
	same "ranks" 2 "$(mpitrace show --json "$out/job.mpix" | python3 -c 'import json,sys; print(json.load(sys.stdin)["coverage"]["ranks_seen"])')" || return
	same "nodes" 2 "$(find "$out" -name 'h????????.mpic' | wc -l)" || return
	for word in s3cr3t-word tellingname "n1.mpic" '"n1"' '"n2"' 'leaf1.n1'; do
		! grep -qaF -- "$word" "$CASE_DIR/all.redacted" || fails "$word: $(grep -ao -m1 -- ".\{0,60\}$word.\{0,20\}" "$CASE_DIR/all.redacted" | head -c 200)" || return
	done
}

# Scripts and launchers hand on some variables, and not those that they do not know.
what_a_site_forbids_is_forbidden_also_without_its_variables() {
	as_user mkdir -p tellingname && cp "$RING" "$CASE_DIR/tellingname/ring" || return
	policy_is <<-END
		[defaults]
		level = profile
		redact = arguments, paths
	END
	as_user srun -w n1 -n2 env -u MPITRACE_MODE -u MPITRACE_REDACT "$CASE_DIR/tellingname/ring" 5 >/dev/null 2>&1 || fails "srun: $?" || return
	eventually "a report" has_report 0 || return
	same "ranks, single events" "2 0" "$(analysis 0 '"%d %d" % (a["coverage"]["ranks_seen"], a["coverage"]["events"])')" || return
	everything_in "$(step_dir 0)" >"$CASE_DIR/all"
	! grep -qaF tellingname "$CASE_DIR/all" || fails "the directory is in it"
}

results_in_the_central_directory_are_the_users_and_the_readers() {
	local user dir
	user=$(stat -c %U "$WORK") dir=$STATE/central/$user
	as_admin install -d -m 0755 "$STATE/central"
	policy_is <<-END
		[defaults]
		level = events
		directory = $STATE/central
		readers = adm
		file_mode = 0640
	END
	as_user srun -N2 -n2 "$RING" 5 >/dev/null 2>&1 || fails "srun: $?" || return
	eventually "a report" eval 'is_whole_page "$(echo "$dir"/mpitrace-*/step-0/report.html)"' || return
	same "the user's place" "$user adm 2750" "$(stat -c '%U %G %a' "$dir")" || return
	same "modes of files" "$user adm 640" "$(find "$dir"/mpitrace-*/step-0 -type f -printf '%u %g %m\n' | sort -u)" || return
	same "files" "job.mpix log.txt n1.mpic n2.mpic report.html" "$(find "$dir" -type f -printf '%f\n' | sort | xargs)" || return
	same "what is left of making it" "" "$(find "$STATE/central" -name '.new*')" || return
	as_admin rm -rf "$STATE/central"
}

facts_of_a_job_are_roots_and_go_with_it() {
	local id facts
	policy_is <<-END
		[rule secret]
		partition = secret
		level = profile
		redact = arguments
		[rule other]
		partition = other
		level = events
		[rule rest]
		level = profile
	END
	cat >"$CASE_DIR/job.sh" <<-END
		#!/bin/sh
		srun -N2 -n2 $RING 5
		touch first
		until [ -e go ]; do sleep 0.1; done
		srun -w n1 -N1 -n1 $RING 5
	END
	id=$(as_user sbatch --parsable -w n1,n2 -p other -A proj -N2 -n2 -o out.txt job.sh) || fails "sbatch: $?" || return
	eventually "the first step" test -e "$CASE_DIR/first" || return
	facts=$STATE/n1/mpitrace/jobs/$id
	same "owner and mode" "root 600" "$(stat -c '%U %a' "$facts")" || return
	contains "$facts" "partition=other" || return
	contains "$facts" "account=proj" || return
	contains "$facts" "nodes=2" || return
	as_admin rm "$facts"
	as_user touch go
	eventually "facts to go" no_facts || return
	eventually "the report of step 0" has_report 0 || return
	eventually "the report of step 1" has_report 1 || return
	same "with the prolog's facts" True "$(analysis 0 'a["job"]["policy"].startswith("events: rule \"other\"") or a["job"]')" || return
	same "without" True "$(analysis 1 'a["job"]["policy"].startswith("profile: rule \"rest\"") and "the prolog left no facts" in a["job"]["policy"] and "not known here: partition: so rule \"secret\"" in a["job"]["policy"] or a["job"]')" || return
	same "words of the command line, with and without" "2 1" "$(analysis 0 'len(a["job"]["argv"])') $(analysis 1 'len(a["job"]["argv"])')" || return
}
