#!/bin/bash
# fleet.sh - a site's day: many small jobs of four programs by three users on four nodes, of which one has a fifth of a processor
# only. Then the fleet's pages must name that node and no other, the programs, the users and what was lost. Not part of the tests:
# takes about two seconds a job, six minutes in all.
# In: an installed mpitrace (--prefix), root, control groups for processors (version 1).  Out: TAP; exit code 1 if something does
# not hold, 77 when it cannot be tried. --out DIR keeps the database and the pages.
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
REPO=$(cd "$HERE/../.." && pwd)
STATE=/run/mpitrace-fleet-$$
PREFIX=$REPO/build/inst
JOBS=200
OUT=
SLOW=n3
SHARE=0.2 # of a processor, for all ranks of the slow node together
PROGRAMS=(sums ring master seldom)

while [ $# -gt 0 ]; do
	case $1 in
	--prefix) PREFIX=$(realpath -m "${2-}") && shift ;;
	--jobs) JOBS=${2-} && shift ;;
	--out) OUT=$(realpath -m "${2-}") && shift ;;
	*) echo "usage: fleet.sh [--prefix DIR] [--jobs N] [--out DIR]" >&2 && exit 2 ;;
	esac
	shift
done

# shellcheck source-path=SCRIPTDIR
. "$HERE/lib.sh"
. "$HERE/jobs.sh"
# shellcheck source-path=SCRIPTDIR
. "$HERE/cases_policy.sh"

CPU=/sys/fs/cgroup/cpu/$(basename "$STATE")
THIRD=$(basename "$STATE")-3
N=0
BAD=0

skip_all() {
	echo "1..0 # skipped: $*"
	exit 77
}

end() {
	"$CLUSTER/down" --state "$STATE"
	userdel "$THIRD" 2>/dev/null
	rmdir "$CPU" 2>/dev/null
}

daemon_of_slow() {
	pgrep -f "slurmd -D -N $SLOW -f $STATE/slurm.conf"
}

# The node's daemon, and so all that it starts.
slow_down() {
	local period=20000 pid
	mkdir "$CPU" 2>/dev/null && [ -w "$CPU/cpu.cfs_quota_us" ] || return
	echo "$period" >"$CPU/cpu.cfs_period_us"
	awk "BEGIN {print int($SHARE * $period)}" >"$CPU/cpu.cfs_quota_us"
	for pid in $(daemon_of_slow); do
		echo "$pid" >"$CPU/cgroup.procs"
	done
}

prepare() {
	local i
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	[ -x "$PREFIX/bin/mpitrace" ] || skip_all "no mpitrace in $PREFIX: meson install first"
	"$CLUSTER/up" --state "$STATE" --prefix "$PREFIX" >/dev/null 2>&1 || exit 1
	trap end EXIT
	CASE_DIR=$WORK POLICY=$STATE/etc/mpitrace.conf
	useradd --system --no-create-home --home-dir "$WORK" --shell /bin/bash --gid "$(id -gn "$(stat -c %U "$WORK")")" "$THIRD" || exit 1
	chmod 0755 "$WORK" # a directory that anybody may write to is no place for traces
	install -d -m 3733 "$WORK/outbox"
	printf '[defaults]\noutbox = %s\n' "$WORK/outbox" | policy_is || exit 1
	for i in 0 1 2 3; do
		mpicc.openmpi -g -O1 "-DKIND=$i" -o "$WORK/${PROGRAMS[i]}" "$REPO/tests/programs/slurm_fleet.c" || exit 1
	done
	slow_down || skip_all "no control groups for processors"
}

# The user of job I, from three.
submit_as() { # I ARGS...
	local i=$1 user
	user=$(stat -c %U "$WORK")
	shift
	case $((i % 3)) in
	1) user=$user-2 ;;
	2) user=$THIRD ;;
	esac
	install -d -o "$user" "$WORK/$user"
	cd "$WORK/$user" && as_admin setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups env HOME="$WORK/$user" \
		sbatch --parsable --mpitrace -o /dev/null "$@" 2>>"$WORK/sbatch.err"
}

# Two nodes of the four or all, one rank each, so that nodes meet each other in turns.
submit_all() {
	local i pairs=(n1,n2 n2,n3 n3,n4 n1,n4 n1,n3 n2,n4 n1,n2,n3,n4) nodes program
	for ((i = 0; i < JOBS; i++)); do
		nodes=${pairs[i % 7]}
		program=${PROGRAMS[(i / 7) % 4]}
		submit_as "$i" -w "$nodes" -N "$(awk -F, '{print NF}' <<<"$nodes")" --ntasks-per-node=1 --exclusive \
			--wrap "srun $WORK/$program 20" >/dev/null || fails "$(tail -n 1 "$WORK/sbatch.err")" || return
		eventually "a place in the queue" few_wait || return
	done
	PATIENCE=600 eventually "the end of all jobs" none_runs
}

few_wait() {
	[ "$(as_admin squeue -h | wc -l)" -lt 8 ]
}

none_runs() {
	[ -z "$(as_admin squeue -h)" ]
}

all_records() {
	[ "$(find "$WORK/outbox" -name '*.job.json' | wc -l)" -ge "$JOBS" ]
}

ask() { # SQL
	mpitrace fleet query --db "$WORK/fleet.db" --csv "$1" | tail -n +2 | tr -d '\r"'
}

holds() { # CLAIM EXPECTED GOT
	N=$((N + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $N - $1"
	else
		BAD=1
		printf 'not ok %d - %s\n# expected "%s", got "%s"\n' "$N" "$1" "$2" "$3"
	fi
}

judge() {
	mpitrace fleet ingest "$WORK/outbox" --db "$WORK/fleet.db" >"$WORK/ingest" 2>&1
	echo "# $(cat "$WORK/ingest")"
	mpitrace fleet report --db "$WORK/fleet.db" -o "$WORK/pages" || BAD=1
	holds "each job left one record" "$JOBS" "$(ask "select count(*) from jobs")"
	holds "three users and four programs are told apart" "3 4" "$(ask "select count(distinct user) || ' ' || count(distinct program) from job_list")"
	holds "the slow node is suspected, and no other" "$SLOW" "$(ask "select node from node_list where suspected")"
	holds "its page says so" 1 "$(grep -c "1 of 4 nodes is suspected" "$WORK/pages/nodes.html")"
	holds "with what it cost" 1 "$(ask "select lost_at_most > 0 from node_list where suspected")"
	for program in "${PROGRAMS[@]}"; do
		holds "the page of programs names $program" 1 "$(grep -c ">$program</span>" "$WORK/pages/programs.html")"
	done
	holds "core-hours were lost" 1 "$(ask "select total(loss_core_hours) > 0 from jobs")"
	holds "the database is whole" 0 "$(mpitrace fleet check --db "$WORK/fleet.db" >/dev/null && echo 0)"
	ask "select '# ' || node || ': ' || round(effect * 100, 1) || ' % slower (' || round(low * 100, 1) || ' to ' || round(high * 100, 1) || '), ' || jobs || ' jobs, at most ' || round(lost_at_most * 3600, 1) || ' core-seconds lost' from node_list order by effect desc"
	ask "select '# ' || replace(program, rtrim(program, replace(program, '/', '')), '') || ': ' || count(*) || ' jobs, ' || round(100 * sum(core_hours * useful) / sum(core_hours)) || ' % useful, ' || round(3600 * sum(loss_core_hours), 1) || ' core-seconds lost' from job_list group by program"
}

main() {
	prepare
	submit_all || BAD=1
	eventually "all records" all_records || BAD=1
	judge
	echo "1..$N"
	echo "# $JOBS jobs in $SECONDS s; node $SLOW with $SHARE of a processor"
	if [ -n "$OUT" ]; then
		mkdir -p "$OUT" && cp -r "$WORK/fleet.db" "$WORK/pages" "$OUT"
	fi
	return $BAD
}

main
