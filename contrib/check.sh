#!/bin/bash
# check.sh - install what the tests need, build, run all tests, end with one line "N passed, N failed".
# In: Debian 12, root or sudo.  Out: build-check, build-asan; exit code 0 only when nothing failed.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

BUILD=$REPO/build-check
ASAN=$REPO/build-asan
LOG=$BUILD/check.log
PREFIX=/opt/mpitrace-check
TIER=full
PASSED=0
FAILED=0

usage() {
	cat <<-END
		usage: check.sh [--fast | --soak]
		  --fast  unit and integration tests only: no sanitizers, cluster or browser
		  --soak  also the tests that run long
	END
}

parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--fast) TIER=fast ;;
		--soak) TIER=soak ;;
		-h | --help) usage && exit 0 ;;
		*) usage >&2 && die "unknown argument \"$1\"" ;;
		esac
		shift
	done
}

# result NAME PASSED FAILED
result() {
	PASSED=$((PASSED + $2))
	FAILED=$((FAILED + $3))
	step "$(printf '%-12s %5d passed, %d failed' "$1" "$2" "$3")"
}

# meson_suite NAME BUILD ARGS...: run `meson test` and count what its log says.
meson_suite() {
	local name=$1 dir=$2 passed failed rc=0
	shift 2
	rm -f "$dir/meson-logs/testlog.json"
	meson test -C "$dir" --no-rebuild "$@" >>"$LOG" 2>&1 || rc=$?
	if [ -s "$dir/meson-logs/testlog.json" ]; then
		read -r passed failed < <(python3 "$REPO/contrib/testlog.py" "$dir/meson-logs/testlog.json")
	else
		passed=0 failed=1
	fi
	[ "$rc" = 0 ] || [ "$failed" -gt 0 ] || failed=1
	[ "$failed" = 0 ] || show_failures "$dir"
	result "$name" "$passed" "$failed"
}

show_failures() {
	grep -hE '\[FAIL\]|\[CRASH\]|ERROR: |runtime error|^not ok|Assertion' "$1/meson-logs/testlog.txt" | head -n 30 >&2 || true
}

# script_suite NAME CMD...: a suite that ends with a line "N passed, N failed" of its own.
script_suite() {
	local name=$1 out rc=0 line
	shift
	out=$BUILD/$name.log
	"$@" >"$out" 2>&1 || rc=$?
	line=$(grep -oE '[0-9]+ passed, [0-9]+ failed' "$out" | tail -n 1 || true)
	[ -n "$line" ] || line="0 passed, 1 failed"
	local passed=${line%% *} failed=${line#*, }
	failed=${failed%% *}
	[ "$rc" = 0 ] || [ "$failed" -gt 0 ] || failed=1
	[ "$failed" = 0 ] || { grep -E '^not ok|FAIL|[Ee]rror' "$out" || tail -n 20 "$out"; } | head -n 30 >&2
	result "$name" "$passed" "$failed"
}

build() {
	step "building (debug, werror) in $BUILD"
	configure "$BUILD" --prefix="$PREFIX" --buildtype=debug --werror
	quiet meson compile -C "$BUILD"
	quiet as_root meson install -C "$BUILD" --no-rebuild
}

# The sanitizers cannot be preloaded into foreign programs, so only unit tests run with them.
check_sanitizers() {
	step "building with sanitizers in $ASAN"
	configure "$ASAN" --buildtype=debug -Db_sanitize=address,undefined -Db_lundef=false -Dviewer=disabled
	quiet meson compile -C "$ASAN"
	meson_suite sanitizers "$ASAN" --suite unit
}

check_meson() {
	meson_suite meson "$BUILD" --no-suite soak
	[ "$TIER" != soak ] || meson_suite soak "$BUILD" --suite soak --timeout-multiplier 10
}

check_slurm() {
	script_suite slurm as_root "$REPO/tests/slurm/run" --prefix "$PREFIX"
}

check_browser() {
	script_suite browser "$REPO/tests/browser/run" "$BUILD"
}

check_scripts() {
	step "looking at the scripts"
	if shellcheck -x "$REPO"/contrib/*.sh "$REPO"/contrib/cluster/{up,down,run} "$REPO/.ci/run" >>"$LOG" 2>&1; then
		result scripts 1 0
	else
		result scripts 0 1
	fi
}

main() {
	parse "$@"
	need_root_or_sudo
	mkdir -p "$BUILD"
	: >"$LOG"
	# shellcheck disable=SC2046  # words
	install_packages "${PACKAGES[@]}" libcriterion-dev gfortran mpich libmpich-dev python3-mpi4py chromium shellcheck \
		hpcc $(node_packages)
	build
	check_meson
	if [ "$TIER" != fast ]; then
		check_sanitizers
		check_slurm
		check_browser
		check_scripts
	fi
	printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
	[ "$FAILED" = 0 ]
}

main "$@"
