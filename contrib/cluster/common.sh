# shellcheck shell=bash disable=SC2034
# common.sh - what up, down and run share: options, names, waiting. Sourced, never run.
# In: the command line.  Out: the variables STATE, NODES, CPUS, PREFIX, USER_NAME, ID and the functions below.
# Everything a cluster owns is named after STATE: its files lie beneath it, its network namespaces begin with
# $ID, and every process it has lives in one of these namespaces. That is how `down` knows what is ours.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=$(cd "$HERE/../.." && pwd)
STATE=/run/mpitrace-cluster
NODES=4
CPUS=8
APART=0
CGROUP=no
DISK=
JOB_TMP=no
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
}

our_namespaces() {
	local path
	for path in /run/netns/"$ID"-*; do
		[ -e "$path" ] && basename "$path"
	done
	return 0
}

# wait_for SECONDS WHAT CMD...: until CMD succeeds; 1 when the time is over.
wait_for() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || {
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
