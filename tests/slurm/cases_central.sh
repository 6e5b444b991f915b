# shellcheck shell=bash disable=SC2034,SC2154,SC2016,SC2011
# cases_central.sh - a site's central directory is bounded, in time and in bytes, and a long analysis goes where the site
# says. Sourced by run.sh.

# The policy of these cases; what is on standard input stands in its [defaults].
with_central_directory() {
	as_admin install -d -m 0755 "$STATE/central"
	{ printf '[defaults]\nlevel = events\ndirectory = %s\n' "$STATE/central" && cat; } | policy_is
}

with_end_of_central() {
	as_admin rm -rf "$STATE/central"
}

# As its timer would, some time later.
with_central_sweep() {
	[ ! -e "$STATE/central/.usage/.all" ] || as_admin touch -d "1 hour ago" "$STATE/central/.usage/.all"
	as_admin "$PREFIX/bin/mpitrace" sweep --spool "$STATE/n1/mpitrace" --policy "$POLICY" >"$CASE_DIR/sweep" || fails "sweep: $? $(cat "$CASE_DIR/sweep")"
}

with_usage() { # NAME
	cat "$STATE/central/.usage/$1"
}

# The young one is touched all the time: its age does not depend on how long a sweep takes to begin.
with_one_gone() {
	local rc young
	while touch "$YOUNG/log.txt"; do sleep 0.1; done &
	young=$!
	with_central_sweep && [ ! -e "$OLD" ]
	rc=$?
	kill "$young"
	wait "$young" 2>/dev/null
	return $rc
}

results_that_are_too_old_go_from_the_central_directory_and_nothing_else() {
	local user mine other
	with_end_of_central
	user=$(stat -c %U "$WORK") mine=$STATE/central/$user other=$STATE/central/$user-2
	with_central_directory <<<"retention = 1h"
	as_user sh -c "srun -w n1 -n1 $RING 5 && srun -w n1 -n1 $RING 5" >/dev/null 2>&1 || fails "srun: $?" || return
	eventually "two reports" eval '[ "$(whole_pages_in "$mine")" = 2 ]' || return
	as_admin install -d -o "$user-2" "$other"
	as_other cp -r "$mine"/mpitrace-* "$other" 2>/dev/null || as_admin sh -c "cp -r $mine/mpitrace-* $other && chown -R $user-2 $other"
	mapfile -t results < <(ls -d "$mine"/mpitrace-*)
	OLD=${results[0]}/step-0 YOUNG=${results[1]}/step-0
	# What a user could want root to remove, and what is no result.
	as_user mkdir -p "$CASE_DIR/outside/step-0" "$mine/notes" "$mine/.hidden/deep"
	as_user touch "$CASE_DIR/outside/step-0/n1.mpic" "$mine/notes/text" "$mine/.hidden/deep/x.mpic"
	as_user ln -s "$CASE_DIR/outside" "$mine/mpitrace-1"
	as_user ln -s "$CASE_DIR/outside" "$OLD/../step-1"
	as_user mkfifo "$OLD/fifo.mpix"
	as_user mkdir -p "$OLD/$(seq -s / 1 150)" "$mine/notes/$(seq -s / 1 50)"
	with_central_sweep || return
	same "results that are young" 2 "$(find "$mine" -name report.html | wc -l)" || return
	same "bytes noted" "$(find "$mine" ! -type d -printf '%b\n' | awk '{n += $1 * 512} END {print n " at least"}')" "$(with_usage "$user")" || return
	with_central_directory <<<"retention = 20s"
	eventually "the old one to go" with_one_gone || fails "$(cat "$CASE_DIR/sweep")" || return
	contains "$CASE_DIR/sweep" "results older than" || return
	same "the young one" "$YOUNG/report.html" "$(find "$mine" -name report.html)" || return
	same "what is no result" "$mine/mpitrace-1 $mine/notes/text" "$(ls -d "$mine/mpitrace-1" "$mine/notes/text" "$mine/.hidden" 2>/dev/null | xargs)" || return
	with_name "$CASE_DIR/outside/step-0/n1.mpic" || return
	eventually "those of the other user to go" with_none_in "$other" || return
	with_end_of_central
}

with_name() {
	[ -e "$1" ] || fails "$1 is gone"
}

with_none_in() {
	with_central_sweep && [ -z "$(ls -A "$1")" ]
}

# Nobody else's word about what is used counts, and whoever has too much is told so, if they asked.
who_has_too_much_in_the_central_directory_runs_untraced_and_is_told() {
	local user used before
	with_end_of_central
	user=$(stat -c %U "$WORK")
	with_central_directory <<<"quota = 1G"
	as_user srun -w n1 -n1 "$RING" 5 >/dev/null 2>&1 || fails "srun: $?" || return
	eventually "a report" eval 'is_whole_page "$(echo "$STATE"/central/$user/mpitrace-*/step-0/report.html)"' || return
	with_central_sweep || return
	used=$(with_usage "$user")
	[ "$used" -gt 20000 ] || fails "only $used bytes are used" || return
	same "owner and mode of the note" "root 644" "$(stat -c '%U %a' "$STATE/central/.usage/$user")" || return
	for limit in quota directory_bytes; do
		before=$(find "$STATE/central/$user" -name '*.mpic' | wc -l)
		with_central_directory <<<"$limit = $used"
		as_user srun -w n1,n2 -N2 -n2 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
		same "lines about $limit" 1 "$(grep -c "mpitrace: runs untraced on n1: $STATE/central.* holds .* MB that this site" "$CASE_DIR/err")" || return
		as_user srun -N2 -n2 "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
		same "what is said to who did not ask" "ring done" "$(said "$CASE_DIR/err")" || return
		same "traces" "$before" "$(find "$STATE/central/$user" -name '*.mpic' | wc -l)" || return
	done
	with_central_directory <<<"quota = $((used + 4000000))"
	as_user srun -w n1,n2 -N2 -n2 "$SELF" 4 >/dev/null 2>&1 || fails "srun: $?" || return
	eventually "a second report" eval '[ "$(whole_pages_in "$STATE/central/$user")" = 2 ]' || return
	same "traces longer than the user's share for a node" "" "$(find "$STATE/central/$user" -name '*.mpic' -size +2300k)" || return
	same "why" 1 "$(grep -c "policy: .*; 2.0 MB left for each node ($POLICY:4)" "$STATE/central/$user"/mpitrace-*/step-0/log.txt | grep -c ':[1-9]')" || return
	same "events were lost for it" True "$(mpitrace show --json "$(find "$STATE/central/$user" -name job.mpix -size +1000k | tail -n 1)" | python3 -c 'import json, sys
c = json.load(sys.stdin)["coverage"]
print(c["events_lost"] > 0 and c["events"] > 0 or c)')" || return
	with_end_of_central
}

# By closing a directory to themselves, or by depth.
who_hides_what_they_have_is_bounded_all_the_same() {
	local user mine deep
	with_end_of_central
	user=$(stat -c %U "$WORK") mine=$STATE/central/$user deep=$(seq -s / 1 17)
	with_central_directory <<<"quota = 10M"
	as_admin install -d -o "$user" "$mine"
	as_user sh -c "mkdir $mine/hidden && head -c 15M /dev/zero >$mine/hidden/data && chmod 0 $mine/hidden"
	with_central_sweep || return
	as_user srun -w n1 -n1 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	contains "$CASE_DIR/err" "mpitrace: runs untraced on n1: $mine holds 15." || return
	as_user sh -c "chmod 700 $mine/hidden && mkdir -p $mine/$deep && mv $mine/hidden $mine/$deep"
	with_central_sweep || return
	contains "$CASE_DIR/sweep" "$mine: directories closed to their user, deeper than 16 levels" || return
	as_user srun -w n1 -n1 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	contains "$CASE_DIR/err" "mpitrace: runs untraced on n1: $mine could not be counted" || return
	as_user rm -r "$mine/1"
	with_central_sweep || return
	as_user srun -w n1 -n1 --mpitrace=report=none "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "what is said when it can be counted again" "ring done" "$(said "$CASE_DIR/err")" || return
	eventually "a trace" eval '[ -n "$(find "$mine" -name n1.mpic)" ]' || return
	with_end_of_central
}

# The analysis of what it records takes longer than it may.
with_long_analysis() { # FINISH [PROCESSES]
	printf '[defaults]\nfinish = %s\nfinish_processes = %s\n' "$1" "${2:-1}" | policy_is
	with_plugin_arguments "policy=$POLICY report_seconds=1" as_user srun -w n1 -n1 --mpitrace "$SELF" 60 "$LONG_CALLS" >/dev/null || fails "srun: $?"
	local rc=$?
	no_policy
	eventually "an empty spool" spool_is_empty && return $rc
}

a_long_analysis_becomes_a_job_where_the_site_says_so() {
	becomes_a_job
}

# By whatever this Slurm and the MPI here have in common.
a_long_analysis_is_shared_by_the_processes_of_a_job() {
	becomes_a_job 3 || return
	contains "$(step_dir 0)/log.txt" "analysed by srun --ntasks 3 --mpi=" || fails "$(cat "$(step_dir 0)/log.txt")"
}

becomes_a_job() { # [PROCESSES]
	local job
	with_long_analysis queue "${1:-1}" || return
	job=$(sed -n 's/.* job \([0-9]*\) makes the report$/\1/p' "$(step_dir 0)/log.txt")
	same "jobs that make it" 1 "$(wc -w <<<"$job")" || fails "$(cat "$(step_dir 0)/log.txt")" || return
	eventually "its end" is_over "$job" || return
	same "its name, user and outcome" "mpitrace-finish $(stat -c %U "$WORK") COMPLETED" \
		"$(as_admin scontrol -o show job "$job" | sed -E 's/.* JobName=([^ ]*) UserId=([^(]*).* JobState=([^ ]*) .*/\1 \2 \3/')" || return
	has_report 0 || fails "no report: $(cat "$(step_dir 0)/log.txt")" || return
	same "complete" True "$(analysis 0 'a["coverage"]["complete"]')" || return
	same "late reports" "" "$(ls "$STATE/n1/mpitrace/late" 2>/dev/null)" || return
	is_calm
}

a_long_analysis_is_left_to_its_user_where_the_site_says_so() {
	with_long_analysis leave || return
	is_from_totals "$(step_dir 0)/report.html" || fails "no page from totals" || return
	contains "$(step_dir 0)/log.txt" "mpitrace finish $(step_dir 0)" || return
	same "late reports" "" "$(ls "$STATE/n1/mpitrace/late" 2>/dev/null)" || return
	as_user mpitrace finish "$(step_dir 0)" || fails "finish: $?" || return
	has_report 0
}
