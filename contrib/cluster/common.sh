# shellcheck shell=bash disable=SC2034
# common.sh - what up, down and run share: options, names, waiting. Sourced, never run.
# In: the command line.  Out: the variables STATE, NODES, CPUS, PREFIX, USER_NAME, ID and the functions below.
# Everything a cluster owns is named after STATE: its files lie beneath it, its network namespaces begin with
# $ID, and every process it has lives in one of these namespaces. That is how `down` knows what is ours.
set -euo pipefail

HERE=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
REPO=$(cd "$HERE/../.." && pwd)
STATE=/run/mpitrace-cluster
NODES=4
CPUS=8
APART=0
MEMORY_PER_CPU=${MEMORY_PER_CPU:-100} # MiB of a job, where it does not say; a node has 20 times as much
CGROUP=no
DISK=
JOB_TMP=no
ACCOUNTING=no
MPI=none # what srun starts programs of: openmpi or mpich
MPI_TYPE=none # by which --mpi=
PREFIX=$REPO/build/inst
USER_NAME=
USER_NOTE="mpitrace test cluster"
NET=10.213

die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

note() {
	printf 'cluster: %s\n' "$*" >&2
}

need_root() {
	[ "$(id -u)" = 0 ] || die "needs root (network and mount namespaces): try sudo $0"
}

need_number() {
	[[ $2 =~ ^[1-9][0-9]{0,2}$ ]] || die "$1 wants a number from 1 to 999, got \"$2\""
}

# Names follow from STATE alone, so that down needs no record to find them.
set_names() {
	STATE=$(realpath -m "$STATE")
	[ "$STATE" != / ] || die "--state must not be /"
	local sum
	sum=$(printf %s "$STATE" | cksum)
	ID=$(printf 'mpt%08x' "${sum%% *}")
	[ -n "$USER_NAME" ] || USER_NAME=$ID
	[ "$STATE" != /run/mpitrace-cluster ] || [ "$USER_NAME" != "$ID" ] || USER_NAME=mpitrace-test
}

node_names() {
	seq -f 'n%g' 1 "$NODES"
}

# The pids of all processes in namespace $1; empty if there is no such namespace.
pids_in() {
	[ -e "/run/netns/$1" ] || return 0
	ip netns pids "$1" 2>/dev/null || true
}

# The control groups of all hosts of the cluster, deepest first. Only version 1 has controllers to spare where the
# machine's own system holds those of version 2.
our_cgroups() {
	find /sys/fs/cgroup/{memory,freezer}/"$ID"-* -depth -type d 2>/dev/null || true
	if [ "$CGROUP" = v2 ]; then
		find /sys/fs/cgroup/system.slice/n*_slurmstepd.scope -depth -type d 2>/dev/null || true
	fi
}

our_namespaces() {
	local path
	for path in /run/netns/"$ID"-*; do
		[ -e "$path" ] && basename "$path"
	done
	return 0
}

# wait_for SECONDS WHAT CMD...: until CMD succeeds; 1 when the time is over. On a busy or emulated machine a try takes as much
# longer as what it waits for: there are also as many tries as an idle machine makes in that time.
wait_for() {
	local end=$((SECONDS + $1)) tries=$((5 * $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$SECONDS" -lt "$end" ] || [ "$tries" -gt 0 ] || {
			note "gave up waiting for: $what"
			return 1
		}
		sleep 0.05
	done
}

# The last lines of every log of the cluster, for a failure message.
show_logs() {
	local log
	for log in "$STATE"/munge/*.log "$STATE"/log/*.log; do
		[ -s "$log" ] || continue
		printf -- '--- %s\n' "$log" >&2
		tail -n 15 "$log" >&2
	done
}

# What `unshare` needs for a node whose clock is ahead, by as many seconds as it has been up for longer.
clock_of() {
	local seconds
	[[ $1 == n* ]] && [ "$APART" != 0 ] || return 0
	seconds=$((APART * ${1#n}))
	echo "--time --fork --kill-child --monotonic $seconds --boottime $seconds"
}

# Which control groups hold memory here: v1 or v2.
cgroup_version() {
	[ ! -d /sys/fs/cgroup/memory ] || { echo v1 && return; }
	! grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null || { echo v2 && return; }
	return 1
}

# The control groups that HOST sees as the roots of theirs. Version 2 has none of these: when a step ends, slurmstepd goes
# back to the root, and only the true one takes processes beside groups. Slurm names its groups there after the node.
join_cgroups() {
	local controller group
	if [ "$CGROUP" = v2 ]; then
		mkdir -p /sys/fs/cgroup/system.slice
		for group in . system.slice; do
			echo +memory +cpu +cpuset +pids >"/sys/fs/cgroup/$group/cgroup.subtree_control"
		done
		return
	fi
	for controller in memory freezer; do
		group=/sys/fs/cgroup/$controller/$ID-$1
		mkdir -p "$group"
		echo "$BASHPID" >"$group/cgroup.procs"
	done
}

# start HOST CMD...: CMD as a daemon in HOST's namespaces. nsenter and unshare rather than `ip netns exec`,
# which remounts /sys and hides the control groups.
# shellcheck disable=SC2016,SC2046  # the inner shell expands; the clock is several words
start() {
	local host=$1 cgroup=()
	shift
	[ "$CGROUP" != v1 ] || cgroup=(--cgroup)
	( # in a shell of its own, which joins and becomes the daemon
	[ "$CGROUP" = no ] || join_cgroups "$host"
	exec setsid nsenter --net="/run/netns/$ID-$host" unshare --uts --mount --propagation private "${cgroup[@]}" $(clock_of "$host") \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin SLURM_CONF="$STATE/slurm.conf" \
		sh -c 'hostname "$1"; mount --bind "$2" /etc/hosts; mount -t tmpfs -o mode=1777 shm /dev/shm
			for c in $3; do umount -l /sys/fs/cgroup/$c; mount -t cgroup -o $c $c /sys/fs/cgroup/$c; done
			shift 3; cd / && exec "$@"' sh "$host" "$STATE/hosts" "${cgroup[*]:+memory freezer}" "$@" \
		</dev/null >"$STATE/log/$host.out.log" 2>&1 9>&-
	) &
}

# Debian's files are slurmd-wlm and slurmctld-wlm, behind links: newer ones have these names once they were told to reconfigure.
is_daemon() { # PID NAME
	local name
	{ read -r name <"/proc/$1/comm"; } 2>/dev/null && [[ $name =~ ^"$2"(-wlm)?$ ]]
}

# Slurm's part of a host.
daemon_of() { # HOST
	if [ "$1" = head ]; then
		echo slurmctld -D -f "$STATE/slurm.conf"
	else
		echo slurmd -D -N "$1" -f "$STATE/slurm.conf"
	fi
}

# shellcheck disable=SC2046  # words
start_daemon() { # HOST
	start "$1" $(daemon_of "$1")
}

# What makes Open MPI 5 and later start over these networks: README.md has the figures. A line a variable.
open_mpi_transport() {
	case $(ompi_info --version 2>/dev/null) in
	*"Open MPI v4"* | '') ;;
	*) printf '%s\n' "OMPI_MCA_pml=${OMPI_MCA_pml:-ucx}" OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any UCX_TLS=tcp,self,sm UCX_WARN_UNUSED_ENV_VARS=n ;;
	esac
}
