#!/bin/bash
# run.sh - what mpitrace promises under Slurm, tried on a real one of four nodes (contrib/cluster). Prints TAP.
# In: an installed mpitrace (--prefix), root.  Out: one line a claim; exit code 1 if one does not hold.
# Every function of cases_*.sh is a case and its name the claim; it has a directory of its own and a cluster that is up.
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
REPO=$(cd "$HERE/../.." && pwd)
STATE=/run/mpitrace-tests-$$ # of its own, so that several can run at once
PREFIX=$REPO/build/inst
KEEP=no
NO_TRACER= # arguments of the plugin that take it away
MOVED=no # PREFIX is not the one that it was built for: packages that are only unpacked
ONLY=()
CGROUP=()
APART=900 # seconds: no node's monotonic clock is that of another, in all cases

while [ $# -gt 0 ]; do
	case $1 in
	--prefix) PREFIX=$(realpath -m "${2-}") && shift ;;
	--state) STATE=$(realpath -m "${2-}") && shift ;;
	--keep) KEEP=yes ;;
	--without-tracer) NO_TRACER=yes ;;
	--moved) MOVED=yes ;;
	-*) echo "usage: run.sh [--prefix DIR] [--state DIR] [--keep] [--without-tracer] [--moved] [CLAIM...]" >&2 && exit 2 ;;
	*) ONLY+=("$1") ;;
	esac
	shift
done

. "$HERE/lib.sh"
. "$HERE/jobs.sh"

skip_all() {
	echo "1..0 # skipped: $*"
	exit 77
}

need() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	command -v slurmd >/dev/null || PATH=$PATH:/usr/sbin command -v slurmd >/dev/null || skip_all "needs slurm-wlm"
	command -v mpicc.openmpi >/dev/null || skip_all "needs libopenmpi-dev"
	[ -x "$PREFIX/bin/mpitrace" ] || skip_all "no mpitrace in $PREFIX: meson install first"
}

claims() {
	if [ ${#ONLY[@]} -gt 0 ]; then
		printf '%s\n' "${ONLY[@]}"
	else
		sed -n 's/^\([a-z][a-z0-9_]*\)() {$/\1/p' "$HERE"/cases_*.sh
	fi
}

clean_up() {
	rm -rf "$RUN_DIR"
	[ "$KEEP" = yes ] || "$CLUSTER/down" --state "$STATE"
}

# A case: its own directory, output only when it fails.
try() {
	CASE_DIR=$WORK/$1
	as_admin install -d -o "$(stat -c %U "$WORK")" -g "$(stat -c %G "$WORK")" "$CASE_DIR"
	"$1" >"$RUN_DIR/output" 2>&1
}

say_where_all_is() {
	printf ' libdir=%s bindir=%s libexecdir=%s' "$(dirname "$(find "$PREFIX" -name libmpitrace.so)")" "$PREFIX/bin" \
		"$(dirname "$(find "$PREFIX" -name mpitrace-warden)")"
}

# In place of the tracer a library that does nothing: who claims that a job was traced must notice.
take_tracer_away() {
	local library lib=$STATE/without
	install -d -m 0755 "$lib"
	find "$PREFIX" -name 'libmpitrace*.so' | while read -r library; do
		gcc -shared -fPIC -x c /dev/null -o "$lib/$(basename "$library")"
	done
	NO_TRACER=" libdir=$lib"
	PLUGSTACK=$PLUGSTACK$NO_TRACER
	PATIENCE=8
}

# Does the claim hold; or without the tracer, does it not, unless without_tracer.txt says why it may.
holds() { # CLAIM
	if [ -z "$NO_TRACER" ]; then
		try "$1"
	elif try "$1" && ! grep -q "^$1  " "$HERE/without_tracer.txt"; then
		fails "it holds although nothing was traced" >"$RUN_DIR/output"
	fi
}

main() {
	local n=0 failed=0 claim all
	need
	for cases in "$HERE"/cases_*.sh; do
		# shellcheck source=/dev/null
		. "$cases"
	done
	mapfile -t all < <(claims | grep -vxE 'identical|identical_with_trace|kept_traces|clock_of_node|records_of|with_.*')
	RUN_DIR=$(mktemp -d)
	# Control groups where this machine lets us; small disks, so that what fills them is seen.
	# Of version 2 only where nobody else manages them, as in contrib/cluster/vm.
	if [ -w /sys/fs/cgroup/memory ] || [ "$(cat /proc/self/cgroup)" = 0::/ ]; then CGROUP=(--cgroup); fi
	"$CLUSTER/up" --state "$STATE" --prefix "$PREFIX" --apart "$APART" "${CGROUP[@]}" --disk 300M 2>"$RUN_DIR/up" || {
		cat "$RUN_DIR/up" >&2
		exit 1
	}
	trap clean_up EXIT
	# On a busy machine a report takes longer than it may: who tests that sets another bound (with_plugin_arguments).
	PLUGSTACK=$(cat "$STATE/plugstack.conf")
	[ "$MOVED" = no ] || PLUGSTACK="$PLUGSTACK$(say_where_all_is)"
	[ -z "$NO_TRACER" ] || take_tracer_away
	echo "$PLUGSTACK report_seconds=60" >"$STATE/plugstack.conf"
	SELF=$WORK/slurm_self
	mpicc.openmpi -g -O1 -o "$SELF" "$REPO/tests/programs/slurm_self.c" || exit 1
	RING=$WORK/slurm_ring
	mpicc.openmpi -g -O1 -o "$RING" "$REPO/tests/programs/slurm_ring.c" || exit 1
	PHASE=$WORK/slurm_phase
	mpicc.openmpi -g -O1 -o "$PHASE" "$REPO/tests/programs/slurm_phase.c" || exit 1
	echo "1..${#all[@]}"
	for claim in "${all[@]}"; do
		n=$((n + 1))
		if holds "$claim"; then
			echo "ok $n - $claim"
		else
			failed=$((failed + 1))
			echo "not ok $n - $claim"
			sed 's/^/# /' "$RUN_DIR/output"
		fi
	done
	echo "# slurm: $((n - failed)) of $n claims hold"
	[ "$failed" = 0 ]
}

main
