# shellcheck shell=bash disable=SC2034
# lib.sh - what the cases share: the cluster, commands on it, waiting, assertions. Sourced by run.sh.
# In: STATE, PREFIX, REPO.  Out: functions; each assertion says what it saw and returns 1.

CLUSTER=$REPO/contrib/cluster
WORK=$STATE/work
PATIENCE=${PATIENCE:-300} # seconds that a condition may take on an idle machine: only what does not hold takes them all

# Calls of slurm_self whose analysis takes longer than a second by what collect/finish.c reckons: up to 16 processors share it.
LONG_CALLS=$((450000 * ($(nproc) > 16 ? 16 : $(nproc) > 2 ? $(nproc) : 2)))

export OMPI_MCA_mpi_yield_when_idle=1 # more ranks than cores

# Run a command as the cluster's user in the case's own directory; 124 when it hangs, and only what hangs takes so long.
as_user() {
	(cd "$CASE_DIR" && timeout --foreground $((10 * PATIENCE)) "$CLUSTER/run" --state "$STATE" "$@")
}

bigger_than() {
	[ -f "$2" ] && [ "$(stat -c %s "$2")" -gt "$1" ]
}

as_admin() {
	"$CLUSTER/run" --state "$STATE" --root "$@"
}

mpitrace() {
	"$PREFIX/bin/mpitrace" "$@"
}

fails() {
	printf '# %s\n' "$*"
	return 1
}

# The claim cannot be tried on this machine.
skips() { # REASON
	printf '# SKIP %s\n' "$*"
	return 77
}

# What is Open MPI's own, or a program that was built with it, srun cannot start everywhere.
needs_srun_of_openmpi() { # WHAT
	[ "$MPI" = openmpi ] || skips "$1 is of Open MPI, and this Slurm has no --mpi=pmix"
}

# What a program of MPI needs of the user's environment, VARIABLE=VALUE: Open MPI 5 a home, and both what `run` says of networks.
needed_environment() {
	as_user env | grep -E '^(OMPI_MCA|UCX)_'
	echo "HOME=$WORK"
}

# Its mpirun starts its programs whatever srun can do: ret_ring.
needs_mpirun() {
	command -v mpirun.openmpi mpicc.openmpi >/dev/null || skips "no mpirun.openmpi" || return
	ret_ring=$CASE_DIR/ring
	mpicc.openmpi -g -O1 -o "$ret_ring" "$REPO/tests/programs/slurm_ring.c"
}

# eventually WHAT CMD...: CMD succeeds within PATIENCE. On a busy machine a try takes as much longer as what it waits for: so
# there are also as many tries as an idle machine makes in that time, and time alone ends nothing.
eventually() {
	local what=$1 begin=$SECONDS tries=0
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $((SECONDS - begin)) -lt "$PATIENCE" ] || [ "$tries" -lt $((5 * PATIENCE)) ] ||
			fails "waited $((SECONDS - begin)) s and $tries tries for: $what" || return
		sleep 0.1
	done
}

# What a step said on its standard error, without what Slurm says where it has to wait for the nodes of the one before it.
said() { # FILE
	sed -E '/^(srun|salloc): job [0-9]+ (queued and waiting for|has been allocated) resources$/d' "$1"
}

same() { # WHAT EXPECTED GOT
	[ "$2" = "$3" ] || fails "$1: expected \"$2\", got \"$3\""
}

has_file() {
	[ -s "$1" ] || fails "$1 is missing or empty"
}

contains() { # FILE TEXT
	grep -qF -- "$2" "$1" || fails "$1 does not contain \"$2\": $(head -c 400 "$1")"
}

# The one step directory named step-$1 of the case's only job.
step_dir() {
	local found
	found=("$CASE_DIR"/mpitrace-*/step-"$1")
	[ -d "${found[0]}" ] && printf '%s' "${found[0]}"
}

# A page that is there before anybody has looked at the events.
is_from_totals() { # PAGE
	grep -q 'class="totals"' "$1" && grep -q '</html>' "$1"
}

is_whole_page() { # PAGE
	[ -s "$1" ] && ! is_from_totals "$1"
}

whole_pages_in() { # DIRECTORY; how many
	find "$1" -name report.html -size +1k -exec grep -L 'class="totals"' {} + | wc -l
}

has_report() { # STEP
	local dir
	dir=$(step_dir "$1") && is_whole_page "$dir/report.html" && [ -s "$dir/job.mpix" ]
}

# What an analysis is, docs/analysis.schema.json says.
analysis() { # STEP PYTHON-EXPRESSION over a
	local dir
	dir=$(step_dir "$1") || fails "no directory of step $1" || return
	mpitrace show --json "$dir/job.mpix" | PYTHONPATH=$REPO/tests/integration python3 -c "import contract, json, sys
a = json.load(sys.stdin)
print(contract.errors(a) or ($2))"
}

# True when no node keeps anything of any job.
spool_is_empty() {
	[ -z "$(find "$STATE"/n*/mpitrace/live -mindepth 1 2>/dev/null)" ]
}

cluster_processes() { # COMMAND
	local space pid
	for space in /run/netns/*; do
		ip netns pids "$(basename "$space")" 2>/dev/null
	done | while read -r pid; do
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -F -- "$1" | grep -F -- "$STATE/"
	done
}

no_agent() {
	[ -z "$(cluster_processes "/mpitrace/live/")" ]
}

is_of_normal_class() { # PID
	[ "$(ps -o cls= -p "$1" | tr -d ' ')" = TS ]
}

# Run the rest with these arguments behind those of the plugin.
with_plugin_arguments() { # "ARGUMENTS" COMMAND...
	local before rc arguments=$1
	shift
	before=$(cat "$STATE/plugstack.conf")
	echo "$PLUGSTACK $arguments" >"$STATE/plugstack.conf"
	"$@"
	rc=$?
	echo "$before" >"$STATE/plugstack.conf"
	return $rc
}

# Run a command as the cluster's second user, anywhere.
as_other() {
	(cd / && setpriv --reuid "$(stat -c %U "$WORK")-2" --regid "$(id -g "$(stat -c %U "$WORK")-2")" --init-groups "$@")
}

all_nodes_idle() {
	[ "$(as_admin sinfo -h -N -o %t | sort -u)" = idle ]
}

# All nodes take jobs, when the last one's epilogs are done.
no_node_drained() {
	eventually "idle nodes" all_nodes_idle || fails "$(as_admin sinfo -h -N -o '%N %t') $(as_admin sinfo -R -h)"
}

# Bytes in use on the file system of node $1.
disk_use() {
	df --output=used -B1 "$STATE/$1" | tail -n 1
}

# The pid of the agent of a step, seen from inside the job: of this cluster, as the one beside it has jobs of the same numbers.
AGENT_PID='pgrep -f "mpitrace --as .* collect .*'$STATE'[^ ]*/live/$SLURM_JOB_ID\."'
# Nobody waits for it to start: a shell's function that does, until it has closed itself to its user, which it does last.
WITH_AGENT="agent() { $AGENT_PID; }; agent_is_up() { local a; a=\$(agent) && grep -q 'Seccomp:.2' /proc/\$a/status; }
	within() { local i; for i in \$(seq $((20 * PATIENCE))); do \"\$@\" 2>/dev/null && return; sleep 0.05; done; return 1; }
	within agent_is_up;"

finisher_runs() {
	[ -n "$(cluster_processes "mpitrace finish")" ]
}

# Pids of the cluster's processes of this name.
cluster_processes_named() {
	local space pid
	for space in /run/netns/*; do
		ip netns pids "$(basename "$space")" 2>/dev/null
	done | while read -r pid; do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ] && grep -qF "$STATE/" "/proc/$pid/environ" 2>/dev/null && echo "$pid"
	done
}

record_with() {
	grep -rqF -- "$1" "$STATE"/n1/mpitrace/live
}

# The environment of each warden of the cluster, sorted, is just that.
warden_has_environment() {
	local pid seen
	for pid in $(pgrep -f "mpitrace-warden step $STATE/"); do
		seen=$(tr '\0' '\n' <"/proc/$pid/environ" | sort | xargs)
		[ "$seen" = "$1" ] && return
	done
	return 1
}
