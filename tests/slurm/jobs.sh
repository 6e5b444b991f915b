# shellcheck shell=bash disable=SC2034,SC2154
# jobs.sh - what the cases of runs and ends share: jobs, and what must hold after each. Sourced by run.sh.

# What every step below must show: STEP RANKS TRANSFERS, and no rank or event missing.
is_whole() {
	eventually "the report of step $1" has_report "$1" || return
	same "ranks, transfers, complete of step $1" "$2 $3 True" \
		"$(analysis "$1" '"%d %d %s" % (a["coverage"]["ranks_seen"], a["summary"]["transfers"], a["coverage"]["complete"])')"
}

submit() { # SBATCH-ARGS...: the script is standard input
	cat >"$CASE_DIR/job.sh"
	as_user sbatch --parsable --mpitrace -o out.txt "$@" job.sh 2>"$CASE_DIR/sbatch.err" || fails "sbatch: $? $(cat "$CASE_DIR/sbatch.err" "$CASE_DIR/out.txt" 2>/dev/null)" >&2
}

with_reports() { # COUNT
	[ "$(whole_pages_in "$CASE_DIR")" = "$1" ]
}

count_processes() { # STEP
	python3 - "$(step_dir "$1")/log.txt" <<-END
		import re, sys
		print(re.findall(r"(\d+) processes", open(sys.argv[1]).read())[-1])
	END
}

is_state() { # JOB STATE
	[[ $(as_admin scontrol -o show job "$1" 2>/dev/null) == *" JobState=$2 "* ]]
}

# What Slurm says became of a job: its state and exit code.
outcome() { # JOB
	as_admin scontrol -o show job "$1" | grep -oE 'JobState=[^ ]*|Reason=[^ ]*|ExitCode=[^ ]*' | xargs
}

is_over() { # JOB
	[[ $(outcome "$1") =~ JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT|OUT_OF_MEMORY|NODE_FAIL) ]]
}

troubled_nodes() {
	as_admin sinfo -h -N -t drain,draining,down,fail -o '%N: %E' | sort -u
}

# "PID COMMAND LINE" of wardens, agents and finishers of this cluster: one a line.
cluster_processes_of() { # warden|collect|finish
	pgrep -af "mpitrace(-warden| --as)" | grep -F -- "$STATE/" | grep -E -- "$1"
}

cluster_process_on() { # NODE NAME
	local pid
	for pid in $(ip netns pids "$(printf 'mpt%08x' "$(printf %s "$STATE" | cksum | cut -d' ' -f1)")-$1"); do
		[[ "$(cat "/proc/$pid/comm" 2>/dev/null)" =~ ^"$2"(-wlm)?$ ]] && echo "$pid" && return
	done
}

no_process_of_ours() {
	[ -z "$(cluster_processes_of '')" ]
}

namespaces() { # of the cluster
	local id
	id=$(printf 'mpt%08x' "$(printf %s "$STATE" | cksum | cut -d' ' -f1)")
	basename -a /run/netns/"$id"-*
}

# Programs of ours, whatever they are called: PID COMMAND.
left_processes() {
	local space pid
	for space in $(namespaces); do
		for pid in $(ip netns pids "$space"); do
			[[ $(readlink "/proc/$pid/exe") != "$PREFIX"/* ]] || echo "process $pid $(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c1-200)"
		done
	done 2>/dev/null
}

# Mounts in spools, in whatever namespace; and what processes listen on.
left_mounts_and_sockets() {
	local space pid
	for space in $(namespaces); do
		for pid in $(ip netns pids "$space"); do
			grep -oE " $STATE/n[0-9]+/mpitrace/[^ ]*" "/proc/$pid/mountinfo" | sed 's/^/mount/'
		done
		ip netns exec "$space" cat /proc/net/unix | grep -oE "/(tmp/mpitrace|[^ ]*/mpitrace/)[^ ]*" | sed 's/^/socket /'
	done 2>/dev/null | sort -u
}

# All but what the sweep is to see to: late/ and kept/.
left_files() {
	local user
	user=$(stat -c %U "$WORK")
	find "$STATE"/n*/mpitrace -mindepth 1 ! -path '*/late*' ! -path '*/kept*' ! -name turn ! -name room ! -name live ! -name jobs ! -name 'refused.*' -printf 'file %p\n'
	find /tmp /dev/shm "$STATE"/n*/tmp -maxdepth 1 -name '*mpitrace*' \( -user "$user" -o -user "$user-2" \) -printf 'file %p\n'
	find "$CASE_DIR" \( -name '.finish.lock' -o -name '*.tmp' -o -name '.*.mpic' -o -name '*.spill' \) -printf 'file %p\n'
}

# Processes whose control group is this one or below it: PID NAME.
members_of() { # GROUP
	local pid
	find "$1" -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r pid; do
		echo "$pid $(cat "/proc/$pid/comm" 2>/dev/null)"
	done
}

# slurmstepds are all that is in it, and each waits for ever as it takes Slurm's own plugin for PMIx away, as untraced ones do
# (docs/SLURM_SERIES.md): the stack tells, and that nothing of ours is in it.
is_held_by_pmix() { # GROUP
	local members pid name stack
	members=$(members_of "$1")
	[ -n "$members" ] || return
	while read -r pid name; do
		[ "$name" = slurmstepd ] || return
		stack=$(gdb --batch --nx -p "$pid" -ex "thread apply all backtrace" 2>/dev/null)
		[[ $stack == *PMIx_server_finalize* && $stack != *mpitrace* ]] || return
	done <<<"$members"
}

# Nobody is in it, and Slurm 22.05 gave up to remove it although nobody was: it tries six times and does not wait in between
# (docs/SLURM_SERIES.md). Had one of ours been in it, its log would not say so.
is_given_up() { # GROUP
	[ -z "$(members_of "$1")" ] && cat "$STATE"/log/n*.log | grep -F "/$(basename "$1")), did " >/dev/null
}

# Groups of jobs, of either version, that are still there; who is in them.
left_groups() {
	local group
	find /sys/fs/cgroup/{memory,freezer}/"$(namespaces | sed 's/-[^-]*$//;q')"-n* /sys/fs/cgroup/system.slice/n*_slurmstepd.scope \
		-type d -name 'job_*' 2>/dev/null | while read -r group; do
		is_held_by_pmix "$group" || is_given_up "$group" || echo "group $group: $(members_of "$group" | xargs)" \
			"$(grep -hF "/$(basename "$group"))" "$STATE"/log/n*.log | tail -n 3)"
	done
}

# Records that are there twice, in the outbox that the policy names.
left_records() {
	find "$CASE_DIR" -name '*.job.json' -exec sha256sum {} + | sort | uniq -D -w 64 | sed 's/^[^ ]* */record /'
}

left_of_ours() {
	left_processes
	left_mounts_and_sockets
	left_files
	left_groups
	left_records
}

nothing_of_ours_is_left() {
	[ -z "$(left_of_ours)" ]
}

# Nothing of ours is left on any node, no node is drained, and the next job runs.
is_calm() {
	eventually "an empty spool" spool_is_empty || fails "$(find "$STATE"/n*/mpitrace/live -mindepth 1)" || return
	eventually "the end of our processes" no_process_of_ours || fails "$(cluster_processes_of "")" || return
	same "nodes in trouble" "" "$(troubled_nodes)" || return
	same "the next job" 4 "$(as_user srun --mpitrace=off --mpi=none -N"${1:-4}" --overcommit -n4 echo runs | grep -c runs)"
}
