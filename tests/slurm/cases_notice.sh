# shellcheck shell=bash disable=SC2034,SC2154
# cases_notice.sh - who asks for a trace and does not get it, or gets it elsewhere, later or in part, is told so in one
# line: each cause with each way to start a step. Sourced by run.sh.

WAYS="foreground in_salloc in_script of_sbatch"

# Each leaves the step's standard output and its standard error in a file.
start_foreground() { # OPTION PROGRAM...
	as_user srun -w n1 -n1 "$@" >"$CASE_DIR/out.txt" 2>"$CASE_DIR/err.txt" </dev/null
}

start_in_salloc() { # OPTION PROGRAM...
	as_user salloc -w n1 -n1 srun -n1 "$@" >"$CASE_DIR/out.txt" 2>"$CASE_DIR/err.txt" </dev/null
}

start_in_script() { # OPTION PROGRAM...
	printf '#!/bin/sh\nsrun -n1 %s\n' "$*" >"$CASE_DIR/job.sh"
	as_user sbatch --wait -w n1 -n1 -o out.txt -e err.txt job.sh >/dev/null 2>&1
}

start_of_sbatch() { # OPTION PROGRAM...
	local option=$1
	shift
	printf '#!/bin/sh\nsrun -n1 %s\n' "$*" >"$CASE_DIR/job.sh"
	as_user sbatch --wait "$option" -w n1 -n1 -o out.txt -e err.txt job.sh >/dev/null 2>&1
}

start_multi_prog() { # OPTION PROGRAMS
	as_user srun -w n1 -n1 "$1" --multi-prog "$2" >"$CASE_DIR/out.txt" 2>"$CASE_DIR/err.txt" </dev/null
}

# What is said must be one line with TEXT, whatever the way; nothing with quiet. `before` comes before each job.
told() { # TEXT KEYS [WAYS]
	local way ways=${3:-$WAYS}
	for way in $ways; do
		try_to_start "$way" "--mpitrace=on$2" || return
		same "lines of ours, $way: $(cat "$CASE_DIR/err.txt")" 1 "$(grep -c 'mpitrace' "$CASE_DIR/err.txt")" || return
		grep -qE "^mpitrace: .*$1.*; ." "$CASE_DIR/err.txt" || fails "$way: $(cat "$CASE_DIR/err.txt")" || return
	done
	try_to_start "${ways%% *}" "--mpitrace=quiet$2" || return
	same "with quiet" "ring done" "$(said "$CASE_DIR/err.txt")"
}

try_to_start() { # WAY OPTION: whatever becomes of the trace, the program is as ever
	rm -f "$CASE_DIR/out.txt" "$CASE_DIR/err.txt" # of root, or of the user
	before
	"start_$1" "$2" "$RING" 5 || fails "$1: exit code $? $(cat "$CASE_DIR/err.txt")" || return
	same "standard output, $1" "rank 0 of 1 got 0" "$(cat "$CASE_DIR/out.txt")"
}

before() { # nothing, as a rule
	:
}

not_told() { # who does not ask, where the site traces all
	as_user srun -w n1 -n1 "$RING" 5 >/dev/null 2>"$CASE_DIR/err.txt" || fails "exit code $?" || return
	same "what is said to who does not ask" "ring done" "$(said "$CASE_DIR/err.txt")"
}

# A directory of libraries of its own, for the user to read or not.
own_libraries() { # PLUGIN-LIBDIR
	rm -rf "$1"
	as_admin install -d -m 0755 "$1"
	find "$PREFIX" -name 'libmpitrace*.so' -exec cp {} "$1" \;
}

with_libraries_that() { # TEXT COMMAND...
	local lib=$STATE/libraries text=$1
	shift
	own_libraries "$lib"
	"$@" || return
	with_plugin_arguments "libdir=$lib report_seconds=300" told "$text" "" || return
	with_plugin_arguments "libdir=$lib report_seconds=300 default=on" not_told || return
	rm -rf "$lib"
}

a_tracer_that_is_missing_is_told() {
	with_libraries_that "runs untraced on n1: $STATE/libraries/libmpitrace.so: No such file" rm "$STATE/libraries/libmpitrace.so"
}

a_tracer_that_users_cannot_read_is_told() {
	with_libraries_that "runs untraced on n1: $STATE/libraries/libmpitrace.so: Permission denied" chmod 0600 "$STATE/libraries/libmpitrace.so" || return
	with_libraries_that "libmpitrace-$MPI.so: Permission denied" chmod 0600 "$STATE/libraries/libmpitrace-$MPI.so"
}

# Only the processes see it, when they call MPI; srun, when all is over.
a_tracer_that_cannot_be_loaded_is_told() {
	local lib=$STATE/libraries name=libmpitrace-$MPI.so
	own_libraries "$lib"
	as_admin truncate -s 0 "$lib/$name"
	with_plugin_arguments "libdir=$lib report_seconds=300" told "nothing is recorded: $lib/$name: file too short" "" foreground || return
	with_plugin_arguments "libdir=$lib report_seconds=300" try_to_start of_sbatch --mpitrace || return
	eventually "a log that says why" grep -rqs "n1: 1 process ran untraced: $lib/$name: file too short" "$CASE_DIR" --include=log.txt || return
	rm -rf "$lib"
}

a_library_directory_that_users_cannot_search_is_told() {
	with_libraries_that "runs untraced on n1: $STATE/libraries/libmpitrace.so: Permission denied" chmod 0700 "$STATE/libraries"
}

# Whatever it does: what is preloaded never comes to it.
a_program_that_is_linked_statically_is_told() {
	local RING=$CASE_DIR/static
	printf '#include <stdio.h>\nint main(void) { fputs("ring done\\n", stderr); return puts("rank 0 of 1 got 0") < 0; }\n' | gcc -static -x c -o "$RING" - || return
	told "runs untraced on n1: $RING is linked statically" "" || return
	with_plugin_arguments "default=on report_seconds=300" not_told
}

# The loader preloads nothing into what has other rights than who runs it.
a_program_with_rights_of_its_own_is_told() {
	local RING=$CASE_DIR/own_rights
	gcc -x c -o "$RING" - <<<'#include <stdio.h>
		int main(void) { fputs("ring done\n", stderr); return puts("rank 0 of 1 got 0") < 0; }' || return
	as_admin chmod 4755 "$RING" # root's, which is not who runs it
	told "runs untraced on n1: $RING is set-user-id" "" foreground || return
	as_admin chmod 0755 "$RING"
	! command -v setcap >/dev/null || {
		as_admin setcap cap_net_raw+ep "$RING"
		told "runs untraced on n1: $RING has file capabilities" "" foreground || return
	}
	with_plugin_arguments "default=on report_seconds=300" not_told
}

# It is in a file whose name stands where else the program does.
a_static_program_of_a_multi_prog_step_is_told() {
	local RING=programs
	printf '#include <stdio.h>\nint main(void) { fputs("ring done\\n", stderr); return puts("rank 0 of 1 got 0") < 0; }\n' |
		gcc -static -x c -o "$CASE_DIR/static" - || return
	printf '# ranks and programs\n* ./static 5\n' >"$CASE_DIR/programs"
	told "runs untraced on n1: ./static is linked statically" "" multi_prog
}

a_warden_that_is_missing_is_told() {
	with_plugin_arguments "libexecdir=/nonexistent" told "runs untraced on n1: /nonexistent/mpitrace-warden" ""
}

a_directory_that_cannot_be_written_is_told() {
	as_admin install -d -m 0755 "$CASE_DIR/closed"
	told "no directory for the results on n1: $CASE_DIR/closed: Permission denied: traces are kept in $STATE/n1/mpitrace/kept" ",out=$CASE_DIR/closed"
}

# srun's end, when no results are there, tells what the node could not know as it began.
a_directory_that_cannot_be_made_in_the_end_is_told() {
	as_user ln -s nowhere "$CASE_DIR/leads_nowhere"
	told "no directory for the results on n1: $CASE_DIR/leads_nowhere: a link to what is not there" ",out=$CASE_DIR/leads_nowhere" foreground || return
	told "no directory for the results: /proc/self/fd: No such file .*kept on each node" ",out=/proc/self/fd" foreground || return
	# shellcheck disable=SC2016  # the inner shell expands
	printf '#!/bin/sh\nchmod 0555 "$1"\nshift\nexec "$@"\n' | as_user tee closes >/dev/null
	closing_is_told foreground && closing_is_told in_script
}

# Where srun and the nodes have different directories of one name, nobody but the first node knows that there are results. In
# a script srun is on that node.
a_directory_of_each_nodes_own_is_told() {
	told "the results are left on n1: /dev/shm/own/mpitrace-[0-9]*/step-0, a directory of each node's own" ",out=/dev/shm/own" "foreground in_salloc" || return
	try_to_start in_script --mpitrace=out=/dev/shm/own || return
	same "what is said in a script" "ring done" "$(said "$CASE_DIR/err.txt")" || return
	same "what is said where no variable is passed on" 1 "$(as_user srun -w n1 -n1 --export=NONE --mpitrace=out=/dev/shm/own "$RING" 5 2>&1 >/dev/null | grep -c "results are left on n1")" || return
	same "what is said of a program without MPI" "n1" "$(as_user srun -w n1 -n1 --mpitrace=out=/dev/shm/own hostname 2>&1 | said /dev/stdin)" || return
	same "what tasks see of it" "" "$(as_user srun -w n1 -n1 --mpitrace env | grep MPITRACE_SRUN)"
}

# Steps of a job that no srun, sbatch or salloc of its own told where it was submitted from.
a_step_without_a_submit_directory_has_its_results_where_srun_is() {
	local id
	as_user salloc -w n1 -n1 env -u SLURM_SUBMIT_DIR srun -n1 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "what is said without the variable" "ring done" "$(said "$CASE_DIR/err" | grep -v ^salloc:)" || return
	eventually "a report without the variable" has_report 0 || return
	rm -rf "$CASE_DIR"/mpitrace-*
	as_user salloc --no-shell -w n1 -n1 >"$CASE_DIR/salloc" 2>&1 || fails "salloc: $?" || return
	id=$(sed -n 's/.*Granted job allocation //p' "$CASE_DIR/salloc")
	as_user srun "--jobid=$id" -n1 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	as_user scancel "$id"
	same "what is said with --jobid" "ring done" "$(said "$CASE_DIR/err")" || return
	eventually "a report with --jobid" has_report 0
}

# What all may write nobody could trust: so all may not.
# Slurm ends no step of whose tasks' words srun has nowhere to write.
a_step_whose_srun_has_no_standard_error_ends() {
	local words
	for words in --mpitrace=out=/nonexistent --mpitrace "--mpitrace=out=/nonexistent --export=NONE" "--mpitrace=out=/nonexistent --export=PATH"; do
		# shellcheck disable=SC2016  # the inner shell expands
		as_user timeout 60 bash -c 'srun -w n1 -n1 $1 /bin/hostname 2>&-' bash "$words" >"$CASE_DIR/out" || fails "srun $words: $?" || return
		same "what the program says" n1 "$(cat "$CASE_DIR/out")" || return
	done
}

who_lets_all_write_has_a_report_that_only_the_group_may_write() {
	(umask 000 && as_user srun -w n1,n2 -N2 -n2 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err") || fails "srun: $?" || return
	same "what is said" "ring done" "$(said "$CASE_DIR/err")" || return
	has_report 0 || fails "no report" || return
	same "modes of directories" 775 "$(stat -c %a "$(step_dir 0)" "$(step_dir 0)/.." | sort -u)" || return
	same "modes of files" 664 "$(stat -c %a "$(step_dir 0)"/* | sort -u)"
}

# A script that hands its results to all (chmod -R) while it runs.
who_lets_all_write_meanwhile_has_a_report() {
	as_user srun -w n1,n2 -N2 -n2 --mpitrace sh -c '"$@" && if [ "$SLURM_PROCID" = 0 ]; then chmod -R 777 mpitrace-*; fi' sh "$RING" 5 \
		>/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "what is said" "ring done" "$(said "$CASE_DIR/err")" || return
	has_report 0 || fails "no report" || return
	same "modes of directories" 775 "$(stat -c %a "$(step_dir 0)" "$(step_dir 0)/.." | sort -u)"
}

closing_is_told() { # WAY
	local dir=$CASE_DIR/$1
	rm -f "$CASE_DIR/out.txt" "$CASE_DIR/err.txt" # of root, or of the user
	as_user mkdir "$dir"
	"start_$1" "--mpitrace=out=$dir" sh closes "$dir" "$RING" 5 || fails "$1: exit code $? $(cat "$CASE_DIR/err.txt")" || return
	same "lines, $1" "ring done,mpitrace: no directory for the results: $dir: Permission denied" \
		"$(sed 's/\(denied\): what.*/\1/' "$CASE_DIR/err.txt" | paste -sd,)"
}

a_directory_that_another_user_made_first_is_told() {
	local last=0
	as_admin install -d -m 1777 "$CASE_DIR/shared"
	before() { # the next job's
		last=$(as_user srun -n1 --mpitrace=off printenv SLURM_JOB_ID)
		as_other sh -c "umask 0; mkdir -p $CASE_DIR/shared/mpitrace-$((last + 1))"
	}
	told "no directory for the results on n1: $CASE_DIR/shared/mpitrace-[0-9]*: belongs to somebody else" ",out=$CASE_DIR/shared"
}

a_policy_that_says_no_is_told() {
	printf '[rule no]\nmax_level = off\n' | policy_is
	told "runs untraced on n1: off: rule \"no\" \($POLICY:1\)" "" || return
	printf '[rule no]\noverride = off\n' | policy_is
	told "runs untraced on n1: off: rule \"no\" \($POLICY:1\); what the user asks for does not count" "" foreground || return
	not_told || return
	printf '[rule less]\nmax_level = profile\n' | policy_is
	told "records no single calls on n1: profile: rule \"less\"" "" foreground || return
	printf '[rule there]\nlevel = events\noverride = off\noutput = %s/there/%%j\n' "$CASE_DIR" | policy_is
	told "the results do not go to out= on n1: they go to $CASE_DIR/there/%j" ",out=$CASE_DIR/here" foreground || return
}

a_policy_that_is_broken_on_a_node_only_is_told() {
	as_admin install -d -m 0755 "$STATE/policies" "$STATE/policies/head" "$STATE/policies/n1"
	: >"$STATE/policies/head/p.conf"
	printf '[defaults]\nlevel = loud\n' >"$STATE/policies/n1/p.conf"
	with_plugin_arguments "policy=$STATE/policies/%n/p.conf report_seconds=300" told "runs untraced on n1: the site's policy is broken: $STATE/policies/n1/p.conf:2: level = loud" "" || return
	with_plugin_arguments "policy=$STATE/policies/%n/p.conf default=on" not_told
}

# The epilog takes away what the prolog left for a policy that cannot be read: before the arguments are others.
told_and_over() { # TEXT KEYS
	told "$@" && eventually "no facts" no_facts
}

# A name that is misspelt, or on a file system that is not there, permits nothing.
a_policy_that_is_named_and_not_there_permits_nothing() {
	as_admin ln -sfn "$STATE/absent/p.conf" "$STATE/dangling.conf"
	with_plugin_arguments "policy=$STATE/absent.conf report_seconds=300" told_and_over "runs untraced on n1: the site's policy is broken: $STATE/absent.conf: No such file or directory" "" || return
	with_plugin_arguments "policy=$STATE/dangling.conf report_seconds=300" told_and_over "runs untraced on n1: the site's policy is broken: $STATE/dangling.conf: is a link to what is not there" "" || return
	with_plugin_arguments "policy=$STATE/absent.conf default=on" not_told
}

# srun has its own end of the matter: what became of the report.
a_report_that_is_not_there_when_srun_ends_is_told() {
	local option
	for option in on quiet; do
		with_plugin_arguments report_seconds=1 as_user srun -w n1 -n1 "--mpitrace=$option" "$SELF" 60 "$LONG_CALLS" >/dev/null 2>"$CASE_DIR/err.$option" || fails "srun: $?" || return
		eventually "an empty spool" spool_is_empty || return
	done
	rm -f "$STATE/n1/mpitrace/late"/*
	same "lines" 1 "$(said "$CASE_DIR/err.on" | grep -c .)" || return
	grep -qE '^mpitrace: the whole report is not made yet: the trace is (complete|partial), .*mpitrace finish /.*; ' "$CASE_DIR/err.on" || fails "$(cat "$CASE_DIR/err.on")" || return
	same "with quiet" "" "$(said "$CASE_DIR/err.quiet")"
}

# Its files have ended, and events had no room in the spool.
of_a_late_report_is_told_that_the_trace_is_partial() {
	with_plugin_arguments "report_seconds=1 spool_bytes=4M" as_user srun -w n1 -n1 --mpitrace "$SELF" 60 $((3 * LONG_CALLS)) >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	eventually "an empty spool" spool_is_empty || return
	rm -f "$STATE/n1/mpitrace/late"/*
	same "lines" 1 "$(said "$CASE_DIR/err" | grep -c .)" || return
	contains "$CASE_DIR/err" "mpitrace: the whole report is not made yet: the trace is partial, " || return
	as_user mpitrace finish "$(step_dir 0)" >/dev/null 2>&1
	same "events were lost" True "$(analysis 0 'a["coverage"]["events_lost"] > 0')"
}

# One line with TEXT and none with quiet, whoever starts it, and none on standard output.
told_of() { # TEXT PROGRAM...
	local text=$1
	shift
	for option in on quiet; do
		as_user srun -w n1 -n2 "--mpitrace=$option" "$@" >"$CASE_DIR/out" 2>"$CASE_DIR/err.$option" || fails "srun $*: $?" || return
		! grep mpitrace: "$CASE_DIR/out" || fails "it is on standard output" || return
	done
	same "lines of $*: $(cat "$CASE_DIR/err.on")" 1 "$(grep -c mpitrace: "$CASE_DIR/err.on")" || return
	grep -qE "^mpitrace: .*$text.*; ." "$CASE_DIR/err.on" || fails "$(cat "$CASE_DIR/err.on")" || return
	same "with quiet" "" "$(grep mpitrace: "$CASE_DIR/err.quiet")"
}

# Whoever starts it gave it another environment, or nothing can be preloaded into it.
an_mpi_program_that_lost_the_tracer_is_told() {
	local free=$CASE_DIR/free
	as_user cp "$RING" "$free" && setcap cap_net_bind_service=ep "$free" || skips "no setcap, or no capabilities of files" || return
	told_of "nothing is recorded: slurm_ring was started without the LD_PRELOAD of its step" env -u LD_PRELOAD "$RING" 5 || return
	told_of "nothing is recorded: slurm_ring was started without the MPITRACE_DIR of its step" env -u MPITRACE_DIR "$RING" 5 || return
	told_of "the trace is partial: " sh -c "[ \$SLURM_PROCID = 0 ] || unset LD_PRELOAD; $RING 5; exit" || return
	told_of "nothing is recorded: free is set-user-id or has file capabilities" sh -c "$free 5; exit" || return
	as_user srun -w n1 -n2 --mpitrace env -u LD_PRELOAD sleep 1 >"$CASE_DIR/out" 2>&1 || fails "srun: $?" || return
	same "of a program without MPI" "" "$(said "$CASE_DIR/out")" || return
	eventually "an empty spool" spool_is_empty
}

# No srun makes a report there, and says why there is nothing in it: so the first node does, once.
who_loses_the_tracer_in_a_script_is_told() {
	local option start why="mpitrace: nothing is recorded on n1: slurm_ring was started without the LD_PRELOAD of its step"
	needs_srun_of_openmpi mpirun || return
	for start in "unset LD_PRELOAD; mpirun -n 2" "srun -n2 env -u LD_PRELOAD"; do
		printf '#!/bin/sh\n%s %s 5\n' "$start" "$RING" >"$CASE_DIR/job.sh"
		for option in on quiet; do
			as_user sbatch --wait "--mpitrace=$option" -w n1 -n2 -o out.txt -e "err.$option" job.sh >/dev/null 2>&1 || fails "sbatch: $?" || return
		done
		same "lines, $start: $(cat "$CASE_DIR/err.on")" 1 "$(grep -c mpitrace: "$CASE_DIR/err.on")" || return
		contains "$CASE_DIR/err.on" "$why" || return
		same "with quiet" "ring done" "$(said "$CASE_DIR/err.quiet")" || return
	done
	as_user salloc -w n1 -n2 srun -n2 --mpitrace env -u LD_PRELOAD "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "salloc: $?" || return
	same "lines in salloc: $(cat "$CASE_DIR/err")" 1 "$(grep -c "$why" "$CASE_DIR/err")"
}

# It has the tracer, as of a directory of programs that is mounted in it, and not where that writes. Its user is who it was
# outside: launchers ask.
a_container_without_the_steps_directory_is_told() {
	local how who why
	who="--map-user=$(stat -c %u "$WORK") --map-group=$(stat -c %g "$WORK")"
	# shellcheck disable=SC2086  # words
	as_user unshare -r -m true 2>/dev/null && as_user unshare -r unshare $who true 2>/dev/null || skips "users make no namespaces here" || return
	# shellcheck disable=SC2016  # the inner shell expands
	for how in "mount -t tmpfs none $STATE/n1/mpitrace" 'mount --bind $MPITRACE_DIR $MPITRACE_DIR && mount -o remount,bind,ro,nosuid,nodev,noexec $MPITRACE_DIR'; do
		why="No such file or directory"
		[ "${how#*--bind}" = "$how" ] || why="Read-only file system"
		# shellcheck disable=SC2016  # the inner shell expands
		printf '#!/bin/sh\nexport HOW="%s"\nexec unshare -r -m sh -c '\''sh -c "$HOW" || exit; exec unshare %s "$@"'\'' sh "$@"\n' "$(printf %s "$how" | sed 's/\$/\\$/g')" "$who" >"$CASE_DIR/contain"
		told_of "nothing is recorded: slurm_ring cannot write to the directory of MPITRACE_DIR \($why" sh contain "$RING" 5 || return
	done
}

# Of the size of files, in the program's own shell.
a_limit_that_leaves_no_room_is_told() {
	local OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp blocks why
	export OMPI_MCA_pml OMPI_MCA_btl # without a file of memory that ranks share
	as_user srun -w n1 -n1 bash -c "ulimit -f 0; exec $RING 5" >/dev/null 2>&1 || skips "this MPI needs files: of an untraced program as well" || return
	for blocks in 0 300; do
		why="no room for what it records: File too large"
		[ $blocks != 0 ] || why="their limit of the size of files (ulimit -f) is too small"
		as_user srun -w n1 -n1 --mpitrace bash -c "ulimit -f $blocks; exec $RING 5" >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
		same "lines with $blocks" 1 "$(said "$CASE_DIR/err" | grep -c mpitrace:)" || fails "$(cat "$CASE_DIR/err")" || return
		contains "$CASE_DIR/err" "$why" || return
	done
}

# srun's program for the report, other than the nodes'.
srun_has_program() { # MODE TEXT, or "none"
	as_admin install -d -m 0755 "$STATE/programs_of_srun" "$STATE/programs_of_srun/head"
	ln -sfn "$PREFIX/bin" "$STATE/programs_of_srun/n1"
	rm -f "$STATE/programs_of_srun/head/mpitrace"
	[ "$1" = none ] || { printf '%s\n' "$2" >"$STATE/programs_of_srun/head/mpitrace" && chmod "$1" "$STATE/programs_of_srun/head/mpitrace"; }
}

# The nodes wait a while for srun's report, and their programs are to be there as long.
told_by_srun_alone() { # TEXT KEYS
	# shellcheck disable=SC2016  # the inner shell expands
	told "$1" "$2" foreground && as_user sh -c 'for dir in mpitrace-*/step-0; do mpitrace finish "$dir" || exit; done' &&
		eventually "an empty spool" spool_is_empty
}

a_report_for_which_srun_has_no_program_is_told() {
	local arguments="bindir=$STATE/programs_of_srun/%n report_seconds=5"
	srun_has_program none
	with_plugin_arguments "$arguments" told_by_srun_alone "no report: the program mpitrace is missing on this host; the trace is in $CASE_DIR/mpitrace-[0-9]*/step-0" "" || return
	as_admin install -d -m 0755 "$CASE_DIR/closed"
	with_plugin_arguments "$arguments" told_by_srun_alone "no directory for the results on n1: $CASE_DIR/closed: Permission denied" ",out=$CASE_DIR/closed" || return
	srun_has_program 0644 "#!/bin/sh"
	with_plugin_arguments "$arguments" told_by_srun_alone "no report: the program mpitrace does not start on this host: Permission denied" "" || return
	srun_has_program 0755 $'#!/bin/sh\nexit 127' # as the loader ends it
	with_plugin_arguments "$arguments" told_by_srun_alone "no report: the program mpitrace does not start on this host: its libraries cannot be loaded" "" || return
	rm -rf "$STATE/programs_of_srun"
}

# What the user's own programs are to load is of no matter to ours.
libraries_of_the_user_are_not_those_of_the_report() {
	local library
	library=$(readelf -d "$PREFIX/bin/mpitrace" | sed -n 's/.*NEEDED.*\[\(libdeflate.*\)\]/\1/p')
	[ -n "$library" ] || skips "mpitrace has no library that srun has not as well" || return
	as_user mkdir "$CASE_DIR/libraries"
	echo junk | as_user tee "libraries/$library" >/dev/null
	as_user env "LD_LIBRARY_PATH=$CASE_DIR/libraries" srun -w n1 -n1 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "what is said" "ring done" "$(said "$CASE_DIR/err")" || return
	has_report 0
}

an_analysis_that_fails_behind_its_page_is_told() {
	# shellcheck disable=SC2016  # the inner shell expands
	as_user bash -c 'ulimit -f 100; exec srun --propagate=NONE -w n1 -n1 --mpitrace "$0" 60 100000' "$SELF" >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "what is said" "mpitrace: the report is from totals only: the analysis of $(step_dir 0) failed; its log.txt says more" "$(said "$CASE_DIR/err")" || return
	is_from_totals "$(step_dir 0)/report.html" || fails "no page"
}

a_trace_that_lacks_a_node_is_told() {
	as_admin install -d -m 0755 "$STATE/programs" "$STATE/programs/n1" "$STATE/programs/n2"
	as_admin cp "$PREFIX/libexec/mpitrace/mpitrace-warden" "$STATE/programs/n1"
	with_plugin_arguments "libexecdir=$STATE/programs/%n report_seconds=300" as_user srun -w n1,n2 -N2 -n2 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "what is said" "mpitrace: the trace is partial: $(step_dir 0)/report.html; the report says what is missing" "$(said "$CASE_DIR/err" | grep -v '^ring')" || return
	rm -rf "$CASE_DIR"/mpitrace-*
	with_plugin_arguments "libexecdir=$STATE/programs/%n report_seconds=1" as_user srun -w n1,n2 -N2 -n2 --mpitrace "$SELF" 60 "$LONG_CALLS" >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "what is said before it is analysed" "mpitrace: the whole report is not made yet: the trace is partial, report.html is from totals: mpitrace finish $(step_dir 0); it can be made now by that command" "$(grep '^mpitrace:' "$CASE_DIR/err")" || return
	eventually "an empty spool" spool_is_empty || return
	rm -rf "$STATE/n1/mpitrace/late"/* "$CASE_DIR"/mpitrace-*
	as_admin mv "$STATE/programs/n1/mpitrace-warden" "$STATE/programs/n2"
	with_plugin_arguments "libexecdir=$STATE/programs/%n report_seconds=300" as_user srun -w n1,n2 -N2 -n2 --mpitrace "$RING" 5 >/dev/null 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "lines: $(cat "$CASE_DIR/err")" 1 "$(grep -c '^mpitrace:' "$CASE_DIR/err")"
}

# One program after the other in a step that has room for two or three.
programs_for_which_a_step_has_no_room_are_told() {
	local said
	command -v mpicc.mpich >/dev/null || skips "no MPICH, whose programs run without a launcher" || return
	mpicc.mpich -O1 -o "$CASE_DIR/told" "$REPO/tests/programs/told.c" || return
	with_plugin_arguments "spool_bytes=12M report_seconds=300" as_user srun -w n1 -n1 --mpi=none --mpitrace \
		sh -c "for i in 1 2 3 4 5 6 7 8; do ./told 0 || exit; done" >"$CASE_DIR/out" 2>"$CASE_DIR/err" || fails "srun: $?" || return
	same "programs that ran" 8 "$(wc -l <"$CASE_DIR/out")" || return
	same "what is said" "mpitrace: the trace is partial: $(step_dir 0)/report.html; the report says what is missing" "$(said "$CASE_DIR/err")" || return
	said=$(mpitrace analyze "$(step_dir 0)" --json 2>/dev/null | python3 -c '
import json, re, sys
reasons = " ".join(json.load(sys.stdin)["coverage"]["reasons"])
print(sum(map(int, re.findall(r"(\d+) process(?:es)? ran untraced: ", reasons))) + 1 + sum(map(int, re.findall(r"of other MPI_COMM_WORLDs of the step: (\d+) process", reasons))))')
	same "processes of which something is said" 8 "$said"
}

who_gets_what_was_asked_for_is_told_nothing() {
	local way
	for way in $WAYS; do
		try_to_start "$way" --mpitrace || return
		same "$way" "ring done" "$(said "$CASE_DIR/err.txt" | grep -v ^salloc:)" || return
	done
}
