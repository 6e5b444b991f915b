#!/bin/bash
# fuzz.sh [SECONDS] [TARGET...] - builds the fuzzers of tests/fuzz with clang's libFuzzer, address and undefined behaviour
# sanitizers, and runs each for SECONDS (60). What it finds beyond the corpus stays in build-fuzz/found; an input that
# fails is named crash-*, and belongs into the target's folder in tests/fuzz/corpus together with its repair.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

BUILD=$REPO/build-fuzz
SECONDS_EACH=${1:-60}
shift || true

setup() {
	[ -f "$BUILD/build.ninja" ] || CC=clang quiet meson setup "$BUILD" "$REPO" --buildtype=debugoptimized \
		-Dfuzzers=true -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link \
		-Dviewer=disabled -Dspank=disabled
}

all_targets() {
	ninja -C "$BUILD" -t targets all | sed -n 's#^tests/fuzz/fuzz_\([a-z_]*\): .*#\1#p' | grep -vx unpack | sort
}

# run TARGET: false when an input failed.
run() {
	local found=$BUILD/found/$1
	mkdir -p "$found"
	step "fuzzing $1 for $SECONDS_EACH s"
	ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		"$BUILD/tests/fuzz/fuzz_$1" -max_total_time="$SECONDS_EACH" -rss_limit_mb=3000 -timeout=20 -max_len=65536 \
		-artifact_prefix="$found/" -print_final_stats=1 "$found" "$REPO/tests/fuzz/corpus/$1" \
		>"$BUILD/$1.log" 2>&1 || { tail -n 40 "$BUILD/$1.log" && return 1; }
	grep -E 'number_of_executed_units|new_units_added' "$BUILD/$1.log"
}

LOG=$BUILD/fuzz.log
mkdir -p "$BUILD"
: >"$LOG"
setup
mapfile -t TARGETS < <(printf '%s\n' "$@" | grep . || all_targets)
quiet ninja -C "$BUILD" "${TARGETS[@]/#/tests/fuzz/fuzz_}"
FAILED=0
for target in "${TARGETS[@]}"; do
	run "$target" || FAILED=$((FAILED + 1))
done
step "${#TARGETS[@]} targets, $FAILED failed"
[ "$FAILED" = 0 ]
