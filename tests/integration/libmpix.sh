#!/bin/bash
# libmpix.sh BUILD SOURCE TRACE - examples/late.c is compiled against what `meson install` leaves, by pkg-config alone, and says what
# the trace holds; nothing but the reader is exported.
# shellcheck disable=SC2317  # claims are called by name
set -euo pipefail
BUILD=$1
SOURCE=$2
GENERATE=$3
MPITRACE=$4
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT
FAILED=0
N=0

claim() {
	N=$((N + 1))
	local name=$1
	shift
	if "$@" >"$DIR/log" 2>&1; then
		echo "ok $N - $name"
	else
		echo "not ok $N - $name"
		sed 's/^/# /' "$DIR/log"
		FAILED=1
	fi
}

compiles() {
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$DIR/root PKG_CONFIG_PATH=$(dirname "$(find "$DIR/root" -name mpix.pc)") pkg-config --cflags --libs mpix)
	# shellcheck disable=SC2086  # several words
	cc -std=c11 -Wall -Wextra -Werror -o "$DIR/late" "$SOURCE/examples/late.c" $flags
}

runs() {
	"$GENERATE" --pattern halo --ranks 16 --nodes 2 --events-per-rank 100 -o "$DIR/trace" >"$DIR/generated"
	"$MPITRACE" analyze "$DIR/trace" -o "$DIR/trace.mpix"
	LD_LIBRARY_PATH=$(dirname "$(find "$DIR/root" -name libmpix.so)") "$DIR/late" "$DIR/trace.mpix" >"$DIR/said"
	grep -c -- '->' "$DIR/said" | grep -qx 5 && grep -q '^16 ranks, late senders cost' "$DIR/said"
}

exports_the_reader() {
	local names
	names=$(nm -D --defined-only "$(find "$DIR/root" -name libmpix.so)" | awk '$2 == "T" {sub(/@.*/, "", $3); print $3}')
	! grep -qv '^mpix_' <<<"$names" && ! grep -q 'writer\|pack\|v1' <<<"$names" && grep -qx mpix_open <<<"$names"
}

refuses() {
	LD_LIBRARY_PATH=$(dirname "$(find "$DIR/root" -name libmpix.so)") "$DIR/late" "$SOURCE/examples/late.c" 2>"$DIR/error" && return 1
	[ "$(wc -l <"$DIR/error")" = 1 ]
}

DESTDIR=$DIR/root meson install -C "$BUILD" --no-rebuild >"$DIR/install.log" 2>&1
claim "the example compiles with pkg-config mpix alone" compiles
claim "it says what the trace holds" runs
claim "it refuses what is no trace" refuses
claim "only the reader is exported" exports_the_reader
echo "1..$N"
exit $FAILED
