#!/bin/bash
# fleet.sh - a site's day: many small jobs of four programs by three users on four nodes, of which one has a fifth of a processor
# only. Then the fleet's pages must name that node and no other, the programs, the users and what was lost. Meanwhile each record is
# published to a real InfluxDB and a real Pushgateway, where influxd and prometheus-pushgateway can be run, and counted there. Not part of
# the tests: takes about two seconds a job, six minutes in all.
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
SERVERS=()
N=0
BAD=0

skip_all() {
	echo "1..0 # skipped: $*"
	exit 77
}

end() {
	[ ${#SERVERS[@]} = 0 ] || kill "${SERVERS[@]}" 2>/dev/null
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

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

answers() { # URL
	python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5)' "$1" 2>/dev/null
}

start_influxdb() {
	local port dir=$WORK/influxdb
	command -v influxd >/dev/null || return 1
	port=$(free_port)
	INFLUXDB=http://127.0.0.1:$port
	mkdir "$dir"
	printf 'reporting-disabled = true\nbind-address = "127.0.0.1:%s"\n[meta]\ndir = "%s/meta"\n[data]\ndir = "%s/data"\nwal-dir = "%s/wal"\n[http]\nbind-address = "127.0.0.1:%s"\n' \
		"$(free_port)" "$dir" "$dir" "$dir" "$port" >"$dir/conf"
	influxd -config "$dir/conf" >"$dir/log" 2>&1 &
	SERVERS+=($!)
	eventually "InfluxDB" answers "$INFLUXDB/ping" && influxdb_says 'CREATE DATABASE fleet' >/dev/null
}

influxdb_says() { # QUESTION
	python3 -c 'import json, sys, urllib.parse, urllib.request
data = urllib.parse.urlencode({"q": sys.argv[2], "db": "fleet"}).encode()
for s in json.load(urllib.request.urlopen(sys.argv[1] + "/query", data, timeout=60))["results"][0].get("series", []):
	print(*s["values"][0][1:])' "$INFLUXDB" "$1"
}

start_pushgateway() {
	local port
	command -v prometheus-pushgateway >/dev/null || return 1
	port=$(free_port)
	GATEWAY=http://127.0.0.1:$port
	prometheus-pushgateway --web.listen-address="127.0.0.1:$port" --persistence.file= >"$WORK/gateway.log" 2>&1 &
	SERVERS+=($!)
	eventually "the Pushgateway" answers "$GATEWAY/-/ready"
}

gateway_says() { # METRIC: the sum of its series
	python3 -c 'import sys, urllib.request
lines = urllib.request.urlopen(sys.argv[1] + "/metrics", timeout=60).read().decode().splitlines()
print("%.6g" % sum(float(l.rsplit(" ", 1)[1]) for l in lines if l.startswith(sys.argv[2] + "{")))' "$GATEWAY" "$1"
}

# As the timer would, but for ever.
publish_all() {
	start_influxdb && printf '[destination influx]\ntype = influxdb\nurl = %s\ndatabase = fleet\n' "$INFLUXDB" >>"$WORK/destinations"
	start_pushgateway && printf '[destination gateway]\ntype = pushgateway\nurl = %s\n' "$GATEWAY" >>"$WORK/destinations"
	[ -f "$WORK/destinations" ] || return 0
	{ printf '[defaults]\noutbox = %s\n' "$WORK/outbox" && cat "$WORK/destinations"; } | policy_is || exit 1
	"$PREFIX/bin/mpitrace" publish --config "$POLICY" --state "$WORK/publish.db" --follow --interval 2 >"$WORK/publish.log" 2>&1 &
	PUBLISHER=$!
	SERVERS+=("$PUBLISHER")
}

all_is_published() {
	"$PREFIX/bin/mpitrace" publish --config "$POLICY" --state "$WORK/publish.db" --status --json | python3 -c 'import json, sys
sys.exit(not all(d["done"] == int(sys.argv[1]) and not d["waiting"] + d["dead"] for d in json.load(sys.stdin)["destinations"]))' "$JOBS"
}

judge_published() {
	[ -n "${PUBLISHER-}" ] || return 0
	eventually "the last record at its destinations" all_is_published || BAD=1
	kill "$PUBLISHER"
	wait "$PUBLISHER"
	[ -z "${INFLUXDB-}" ] || holds "each record stands in InfluxDB, once" "$JOBS" "$(influxdb_says 'SELECT count(ranks) FROM mpitrace_job')"
	[ -z "${INFLUXDB-}" ] || holds "by three users" 3 "$(influxdb_says 'SELECT count(distinct("user")) FROM (SELECT ranks, "user" FROM mpitrace_job GROUP BY "user")' || true)"
	[ -z "${GATEWAY-}" ] || holds "each is counted by the Pushgateway, once" "$JOBS" "$(gateway_says mpitrace_jobs_total)"
	[ -z "${GATEWAY-}" ] || holds "with its core-hours" "$(printf '%.4g' "$(ask "select total(core_hours) from jobs")")" "$(printf '%.4g' "$(gateway_says mpitrace_core_hours_total)")"
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
	publish_all
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
	judge_published
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
