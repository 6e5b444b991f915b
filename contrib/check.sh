#!/bin/bash
# check.sh - install what the tests need, build, run all tests, end with one line "N passed, N failed".
# In: Debian 12, root or sudo.  Out: build-check, build-asan; exit code 0 only when nothing failed.
# What measures times comes first, beside what compiles in time that nobody else wants. Then two go beside each other: unit, integration and
# then browser tests; scripts and sanitizers. Slurm's and Debian 13's come alone: agents and reports of these are of the idle class.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

BUILD=$REPO/build-check
ASAN=$REPO/build-asan
LOG=$BUILD/check.log
PREFIX=/opt/mpitrace-check
TIER=full
# A little longer than without optimisation; what is tested runs in half the time. Not --buildtype: where a directory is there, it means -O0.
COMPILES=(-Ddebug=true -Doptimization=1)
COUNTS=$BUILD/counts # of each suite: passed, failed, skipped, name

usage() {
	cat <<-END
		usage: check.sh [--fast | --soak]
		  --fast  unit and integration tests only: no sanitizers, cluster or browser
		  --soak  also what runs long: 1,000 and 10,000 kills, every fault, whole foreign test suites, packages
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

# result NAME FILE RC: count what FILE says; a suite that failed without a failing test counts as one failure.
result() {
	local passed failed skipped
	read -r passed failed skipped < <(python3 "$REPO/contrib/testlog.py" "$2" 2>>"$LOG" || echo 0 1 0)
	[ "$3" = 0 ] || [ "$failed" -gt 0 ] || failed=1
	[ "$failed" = 0 ] || show_failures "$2"
	echo "$passed $failed $skipped $1" >>"$COUNTS"
	step "$(printf '%-11s %5d passed, %d failed, %d skipped' "$1" "$passed" "$failed" "$skipped")"
}

# The lines of a log that name what failed, of TAP with what the claim said last: often nothing else is seen of a machine.
# meson keeps a readable log beside its JSON.
show_failures() {
	local log=${1%.json} said=$BUILD/failures.$BASHPID
	[ "$log" = "$1" ] || log=$log.txt
	{
		grep -hE '\[FAIL\]|\[CRASH\]|ERROR: |runtime error|^FAILED|^Assertion' "$log" | head -n 30 || true
		failed_claims "$log" | head -n 200 || true
	} >"$said"
	[ -s "$said" ] || tail -n 20 "$log" >"$said"
	cat "$said" >&2
	rm "$said"
}

# Each claim that does not hold, and the last 20 of its comments.
failed_claims() {
	awk -v most=20 '
		function flush(i) {
			for (i = said > most ? said - most + 1 : 1; i <= said; i++) print line[i]
			said = 0
		}
		/^(not )?ok / { flush() }
		/^ok / { failed = 0 }
		/^not ok / { failed = 1; print; next }
		failed && /^#/ { line[++said] = $0 }
		END { flush() }' "$1"
}

# meson_suite NAME BUILD ARGS...: run `meson test`; its log is kept under the suite's name.
meson_suite() {
	local name=$1 dir=$2 rc=0 kind
	shift 2
	rm -f "$dir/meson-logs/$name"*
	meson test -C "$dir" --no-rebuild --logbase "$name" "$@" >>"$LOG" 2>&1 || rc=$?
	for kind in json txt; do # with a wrapper: <name>-<wrapper>.json
		find "$dir/meson-logs" -name "$name-*.$kind" -exec mv {} "$dir/meson-logs/$name.$kind" \;
	done
	result "$name" "$dir/meson-logs/$name.json" "$rc"
}

# script_suite NAME CMD...: a suite that prints TAP or ends with "N passed, N failed"; with exit code 77 it cannot be run here, and says why.
script_suite() {
	local name=$1 rc=0
	shift
	"$@" >"$BUILD/$name.log" 2>&1 || rc=$?
	if [ "$rc" = 77 ]; then
		step "$name is skipped: $(sed -n 's/^1\.\.0 # skipped: //p' "$BUILD/$name.log")"
		echo "0 0 1 $name" >>"$COUNTS"
		return
	fi
	result "$name" "$BUILD/$name.log" "$rc"
}

build() {
	step "building (debug, werror) in $BUILD"
	configure "$BUILD" --prefix="$PREFIX" "${COMPILES[@]}" --werror
	quiet meson compile -C "$BUILD"
	quiet as_root meson install -C "$BUILD" --no-rebuild
}

# What this shell does from now on never takes a processor from tests that measure times (sched(7), SCHED_IDLE).
idle() {
	chrt --idle --pid 0 "$BASHPID" >>"$LOG" 2>&1 || true
}

build_sanitizers() {
	idle
	step "building with sanitizers in $ASAN"
	configure "$ASAN" "${COMPILES[@]}" -Db_sanitize=address,undefined -Db_lundef=false -Dviewer=disabled \
		'-Dc_args=-ftrivial-auto-var-init=pattern -fno-sanitize-recover=undefined'
	quiet meson compile -C "$ASAN" unit-tests
}

# The sanitizers cannot be preloaded into foreign programs, so only unit tests run with them. What is read before it was
# written, they do not see: so locals begin with a pattern, and the rooms that read files run under valgrind as well.
check_sanitizers() {
	LSAN_OPTIONS="suppressions=$REPO/tests/unit/leaks.txt:print_suppressions=0" meson_suite sanitizers "$ASAN" --suite unit -t 4
	meson_suite valgrind "$BUILD" --wrap "$REPO/contrib/valgrind.sh" -t 10 \
		format collect output postproc_record postproc_waits
}

# Servers that `mpitrace publish` and `fleet serve` are tried with: unpacked, not installed, since their packages would start them.
servers() {
	local to=$BUILD/servers new=$BUILD/servers.new deb postgresql
	if [ ! -d "$to" ]; then
		rm -rf "$new"
		mkdir "$new"
		postgresql=$(apt-cache depends postgresql | sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p') # 15 in Debian 12, 17 in 13
		(cd "$new" && quiet apt-get -q download influxdb clickhouse-server prometheus prometheus-pushgateway nginx \
			"postgresql-$postgresql" "postgresql-client-$postgresql")
		for deb in "$new"/*.deb; do
			quiet dpkg -x "$deb" "$new"
			rm "$deb"
		done
		mv "$new" "$to"
	fi
	PATH=$PATH:$to/usr/bin:$to/usr/sbin:$(echo "$to"/usr/lib/postgresql/*/bin)
}

# Those that cannot be had are skipped by the test.
mpi_headers() {
	local said
	if said=$("$REPO/contrib/mpi_headers.sh" "$BUILD/headers"); then export MPI_HEADERS=$BUILD/headers; else step "$said"; fi
}

# One after the other.
check_times() {
	meson_suite times "$BUILD" --suite times
}

# Unit and integration tests in one run, the longest first: so no processor waits for the last test of a suite. A browser that gets no
# processor for seconds is another one than people have.
check_meson() {
	meson_suite tests "$BUILD" --suite unit --suite integration --no-suite times -t 3 --num-processes $(($(nproc) + 1))
	[ "$TIER" = fast ] || meson_suite browser "$BUILD" --suite browser -t 3 --num-processes "$(nproc)"
	[ "$TIER" != soak ] || meson_suite full "$BUILD" --suite full
	[ "$TIER" != soak ] || meson_suite soak "$BUILD" --suite soak
}

check_slurm() {
	step "running the Slurm tests on a private cluster"
	script_suite slurm as_root "$REPO/tests/slurm/run.sh" --prefix "$PREFIX"
	[ "$TIER" != soak ] || script_suite slurm_soak slurm_soak
}

# The same claims of more, and random jobs with random faults.
slurm_soak() {
	local run="$REPO/tests/slurm/run.sh"
	echo 1..4
	claim 1 "256 tasks of MPI are one report" as_root env RANKS=256 PATIENCE=900 "$run" --prefix "$PREFIX" more_ranks_than_processors_are_one_report
	claim 2 "an array of 1,000 has 1,000 reports" as_root env TASKS=1000 PATIENCE=900 "$run" --prefix "$PREFIX" every_task_of_an_array_has_its_report
	claim 3 "1,000 jobs with faults leave nothing" as_root "$REPO/tests/slurm/soak.sh" --prefix "$PREFIX"
	claim 4 "records of 100 jobs are what sacct has" as_root env ACCOUNTED_JOBS=100 PATIENCE=300 "$run" --prefix "$PREFIX" \
		a_site_with_accounting_has_its_rules_applied_and_its_records_unchanged
}

# Build, tracer and ten claims of Slurm in a root of Debian 13; skipped with its reason where none can be made.
check_debian13() {
	step "the same on Debian 13"
	script_suite debian13 "$REPO/contrib/check_on.sh" trixie
}

check_packages() {
	step "building Debian's packages"
	install_packages dpkg-dev debhelper lintian
	script_suite packages package_checks
	step "installing them on a bare root, and purging them"
	script_suite bare_root as_root "$REPO/contrib/check_packages.sh" "$BUILD/deb"
}

package_checks() {
	echo 1..2
	claim 1 "Debian's packages are built from a clean copy" "$REPO/contrib/deb.sh" "$BUILD/deb"
	claim 2 "a Slurm that has just what is in them traces jobs" packages_trace "$BUILD/deb"
}

# Of a name without a directory Slurm knows only what lies in its PluginDir, and says so at each srun.
example_names_plugin() { # ROOT
	local named
	named=$(sed -n 's/^optional \(\/.*\)/\1/p' "$1/usr/share/doc/mpitrace-slurm/examples/mpitrace.conf")
	if [ -z "$named" ] || [ ! -f "$1$named" ]; then
		echo "the example of plugstack.conf names no plugin of the package: \"$named\""
		return 1
	fi
}

# Unpacked, not installed: this machine stays as it is.
packages_trace() { # DIRECTORY
	local root package rc=0
	root=$(mktemp -d) && chmod 0755 "$root"
	for package in "$1"/mpitrace_*.deb "$1"/mpitrace-slurm_*.deb; do
		dpkg-deb -x "$package" "$root" || rc=1
	done
	example_names_plugin "$root" || rc=1
	as_root chown -R root:root "$root"
	as_root "$REPO/tests/slurm/run.sh" --prefix "$root/usr" --moved sbatch_with_two_steps_leaves_two_reports \
		agents_and_spool_are_gone_after_a_killed_job || rc=1
	as_root rm -rf "$root"
	return $rc
}

check_scripts() {
	step "checking scripts, layout, references, and with clang-tidy"
	script_suite scripts source_checks
}

# claim NUMBER TEXT CMD...: one line of TAP; what the command says goes behind it as a comment.
claim() {
	local number=$1 text=$2 said
	shift 2
	if said=$("$@" 2>&1); then
		echo "ok $number - $text"
	else
		printf 'not ok %d - %s\n%s\n' "$number" "$text" "$(head -n 40 <<<"$said" | sed 's/^/# /')"
	fi
}

# With pipefail, what `grep -q` has heard enough of ends by SIGPIPE: now and then it is not there although it is.
clean_shell_scripts() {
	shellcheck -x "$REPO"/contrib/*.sh "$REPO"/contrib/cluster/{up,down,run,power} "$REPO/.ci/run" &&
		! git -C "$REPO" grep -nE '[^|][|] *grep -[a-zA-Z]*q' -- contrib tests/slurm .ci ':!*.md'
}

laid_out() {
	git -C "$REPO" ls-files -z '*.c' '*.h' '*.cc' | (cd "$REPO" && xargs -0 clang-format --dry-run -Werror)
}

# Copies without a bound.
unbounded() {
	! git -C "$REPO" grep -nE '\b(str|stp|wcs)(cpy|cat)\(|\bv?sprintf\(|\bgets\(' -- '*.c' '*.h' '*.cc'
}

# In a copy that has run nothing, beside a root that somebody has made.
only_printed() {
	local copy rc=0
	copy=$(mktemp -d)
	mkdir -p "$copy/contrib" "$copy/build-on/sid"
	cp "$REPO/contrib/check_on.sh" "$REPO/contrib/common.sh" "$copy/contrib/"
	"$copy/contrib/check_on.sh" table >"$copy/table" 2>&1 && [ "$(wc -l <"$copy/table")" = 2 ] && [ -d "$copy/build-on/sid" ] || rc=1
	[ "$rc" = 0 ] || head -n 5 "$copy/table"
	rm -rf "$copy"
	return $rc
}

source_checks() {
	echo 1..11
	claim 1 "the shell scripts are clean" clean_shell_scripts
	claim 2 "C files are laid out by clang-format" laid_out
	claim 3 "comments and pages end before column 120" "$REPO/contrib/check_columns.py"
	claim 4 "every file, link and section that is named is there" "$REPO/contrib/check_references.py"
	claim 5 "no strcpy, strcat or sprintf" unbounded
	claim 6 "clang-tidy finds nothing" "$REPO/contrib/check_tidy.sh" "$BUILD"
	claim 7 "rooms know only rooms above them" "$REPO/contrib/check_rooms.py"
	claim 8 "every sentence that can be printed is in docs/sentences.txt" "$REPO/contrib/check_words.py"
	claim 9 "a table of what was run is only printed, also when nothing was" only_printed
	claim 10 "every release names the acquire that is its partner" "$REPO/contrib/check_partners.py"
	claim 11 "no two libraries define one name" "$REPO/contrib/check_names.sh" "$BUILD"
}

# What cannot be built is said when its tests are to run.
build_debian13() {
	idle
	"$REPO/contrib/check_on.sh" trixie build >"$BUILD/debian13_build.log" 2>&1 || true
}

check_beside() {
	check_scripts
	check_sanitizers
}

# begin FUNCTION...: each in a shell and process group of its own, which ends with this one.
declare -A BESIDE=()
begin() {
	local part
	set -m
	for part in "$@"; do
		"$part" &
		BESIDE[$!]=$part
	done
	set +m
	trap 'kill -TERM $(jobs -p | sed s/^/-/) 2>/dev/null' EXIT
}

# The end of what has begun. One that dies before it has counted its suites is a failure.
end() {
	local part
	for part in "${!BESIDE[@]}"; do
		wait "$part" || echo "0 1 0 ${BESIDE[$part]}" >>"$COUNTS"
	done
	BESIDE=()
	trap - EXIT
}

summary() {
	local passed failed
	read -r passed failed < <(awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }' "$COUNTS")
	printf '| %s | all tests: %d claims hold, %d do not |\n' "$(describe env)" "$passed" "$failed" >"$BUILD/row"
	printf '%d passed, %d failed\n' "$passed" "$failed"
	[ "$failed" = 0 ]
}

main() {
	parse "$@"
	need_root_or_sudo
	mkdir -p "$BUILD"
	: >"$LOG"
	: >"$COUNTS"
	# shellcheck disable=SC2046  # words
	install_packages "${PACKAGES[@]}" ccache mmdebstrap libcriterion-dev gfortran mpich libmpich-dev python3-mpi4py chromium shellcheck strace gdb \
		libopen-trace-format2-dev otf2-tools python3-otf2 libsqlite3-dev nettle-dev protobuf-compiler python3-protobuf python3-numpy \
		git clang-format clang-tidy python3-jsonschema valgrind mandoc clickhouse-client slurmdbd mariadb-server-core mariadb-client-core btrfs-progs \
		musl-tools \
		hpcc lammps netpipe-openmpi netpipe-mpich2 scalapack-mpi-test $(viewer_packages)
	build
	servers
	mpi_headers
	[ "$TIER" = fast ] || begin build_sanitizers build_debian13
	check_times
	end
	[ "$TIER" = fast ] || begin check_beside
	check_meson
	end
	if [ "$TIER" != fast ]; then
		check_slurm
		check_debian13
	fi
	[ "$TIER" != soak ] || check_packages
	summary
}

main "$@"
