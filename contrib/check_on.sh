#!/bin/bash
# check_on.sh - build and test on another Debian or Ubuntu, in a root of its own on this machine.
# In: root or sudo, mmdebstrap, a mirror that apt knows.  Out: build-on/<where>, TAP and "N passed, N failed"; exit code 77 when the
# root cannot be made. The root is entered with pivot_root in a mount namespace: of a chroot, the private cluster could not mount.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

WHERE=
ROOT=
LOG=
TESTS=()
OPTIONS=()
EMULATOR=$REPO/build-on/qemu/usr/bin/qemu-aarch64 # of Debian 13
SLOWER=1 # how many times longer than here a test may take
EMULATED_SECONDS=${EMULATED_SECONDS:-7200} # in which sanitizers under an emulator come to their end
MEMORY_PER_CPU=100 # MiB of a job in the private cluster; an emulator needs some, too
COMPILER=() # the environment that names it, when it is not the root's own
# What the tests below need beside what building does.
MORE=(ca-certificates ccache mount procps strace git hpcc gfortran mpich libmpich-dev libcriterion-dev libsqlite3-dev nettle-dev libopen-trace-format2-dev
	python3-mpi4py python3-jsonschema python3-numpy nodejs npm clang lld)
# What shows soonest that another MPI, Slurm or compiler differs: the tracer's truths, and each way to start and to end under Slurm.
TRACER=(symbols counts abi opens names worlds hard deaths kills mistakes multiple rma behaviour)
SLURM=(srun_of_hpcc_on_four_nodes_leaves_a_report sbatch_with_two_steps_leaves_two_reports salloc_traces_its_srun_steps mpirun_in_a_batch_script_is_one_report_of_all_nodes
	an_unknown_key_is_refused_at_submit_and_named a_program_killed_half_way_still_has_a_report_that_says_partial agents_and_spool_are_gone_after_a_killed_job
	a_plugin_of_another_series_does_not_stop_jobs a_directory_that_cannot_be_written_does_not_disturb_the_program listed_twice_in_plugstack_it_acts_once)

usage() {
	cat <<-END
		usage: check_on.sh trixie|sid|noble|arm64 [TEST...] | table
		  trixie  Debian 13     sid  Debian unstable     noble  Ubuntu 24.04     arm64  Debian 13 for aarch64, by qemu-user
		  TEST    all: those of the tracer and all below but compilers; build: none
		          a test of \`meson test\` or a claim of tests/slurm; without any: the tracer's and some of Slurm's; slurm: all of Slurm's;
		          try: what contrib/try.sh does there, as for somebody who has just cloned this
		          compilers: every gcc and clang that is packaged there reads all C files
		          unit: the unit tests of the C code; sanitizers: the same with the sanitizers that run there
		  table   what the last runs of all or without TEST, and contrib/check.sh, have found, as the README has it
	END
}

parse() {
	case ${1-} in
	trixie | sid | noble | arm64) WHERE=$1 ;;
	table) print_table; exit 0 ;;
	-h | --help) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
	shift
	TESTS=("$@")
	[ "$WHERE" != arm64 ] || SLOWER=5 MEMORY_PER_CPU=300 OPTIONS=(-Dviewer=disabled) COMPILER=(CC=lent-gcc OMPI_CC=lent-gcc MPICH_CC=lent-gcc)
	ROOT=$REPO/build-on/${WHERE:?}
	LOG=$REPO/build-on/$WHERE.log
}

# Cannot be tried here: one line, which says why.
skip() {
	printf '1..0 # skipped: %s\n' "$*"
	exit 77
}

# The viewer is the same everywhere, and unpacking what makes it takes qemu longer than all else. Ubuntu 24.04's mpiexec of MPICH
# starts each rank as a world of its own, untraced as well.
packages() {
	local without=()
	case $WHERE in
	arm64) without=(nodejs npm clang lld) ;;
	noble) without=(mpich libmpich-dev) ;;
	esac
	printf '%s\n' "${PACKAGES[@]}" "${MORE[@]}" | grep -vxFf <(printf '%s\n' "${without[@]}") | paste -sd,
}

# Debian 12's qemu 7.2 notes page by page what AddressSanitizer reserves, until the machine has no memory: Debian 13's does not.
emulator() {
	local to=$REPO/build-on/qemu
	[ ! -x "$EMULATOR" ] || return 0
	{ download_of trixie "$(mirror)" "$to" qemu-user && dpkg -x "$to"/*.deb "$to"; } >>"$LOG" 2>&1 ||
		skip "no qemu of Debian 13: $(grep -m 1 '^E:' "$LOG" || tail -n 1 "$LOG")"
}

# Programs of aarch64 on this machine, by the kernel's hand (ELF for Linux, type EXEC or DYN, machine 0xb7). P: they see their own first
# word. F: the emulator is found in any root. O: slurmd starts its scripts by a descriptor of itself that is closed as they begin (execve(2),
# "/proc/self/fd/8"), of which only the kernel has still the file.
run_foreign_programs() {
	local binfmt=/proc/sys/fs/binfmt_misc
	install_packages arch-test gcc-aarch64-linux-gnu
	[ -e "$binfmt/register" ] || as_root mount -t binfmt_misc binfmt_misc "$binfmt" 2>>"$LOG" || true
	emulator
	if ! grep -qsxF "interpreter $EMULATOR" "$binfmt/mpitrace-aarch64"; then # the newest rule counts
		[ ! -e "$binfmt/mpitrace-aarch64" ] || echo -1 | as_root tee "$binfmt/mpitrace-aarch64" >/dev/null
		printf ':mpitrace-aarch64:M::%s:%s:%s:POF' '\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00' \
			'\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff' "$EMULATOR" |
			as_root tee "$binfmt/register" >/dev/null 2>>"$LOG" || true
	fi
	arch-test arm64 >/dev/null || skip "this kernel does not run programs of aarch64 by qemu-user (binfmt_misc)"
}

# What compiles C for aarch64 is this machine's own compiler: qemu's would take an hour. All that it reads and links is the root's.
# Lent anew each time: either side may have been upgraded.
lend_compiler() {
	local gcc as=$ROOT/usr/aarch64-linux-gnu program library
	gcc=$(realpath /usr/bin/aarch64-linux-gnu-gcc)
	as_root mkdir -p "$as/bin" "$ROOT/lib64" "$ROOT/usr/lib/gcc-cross"
	as_root ln -sfn ../lib/aarch64-linux-gnu "$as/lib"
	as_root cp -au /usr/lib/gcc-cross/aarch64-linux-gnu "$ROOT/usr/lib/gcc-cross/"
	as_root cp "$gcc" "$ROOT/usr/bin/lent-gcc"
	for program in as ld; do
		as_root cp -L "/usr/bin/aarch64-linux-gnu-$program" "$as/bin/$program"
	done
	# The root's own compilers, as of Fortran, find that linker, too: it cannot load their plugin.
	for library in "$ROOT"/usr/libexec/gcc/aarch64-linux-gnu/*/liblto_plugin.so; do
		as_root cp /usr/lib/gcc-cross/aarch64-linux-gnu/*/liblto_plugin.so "$library"
	done
	# The demangler of C++ lies where only the root's own g++ looks.
	for library in "$ROOT"/usr/lib/gcc/aarch64-linux-gnu/*/libsupc++.a; do
		as_root cp "$library" "$ROOT"/usr/lib/gcc-cross/aarch64-linux-gnu/*/
	done
	for program in "$gcc" /usr/bin/aarch64-linux-gnu-{as,ld} /usr/lib/gcc-cross/aarch64-linux-gnu/*/{cc1,collect2,liblto_plugin.so}; do
		for library in $(ldd "$program" | grep -o '/[^ ]*'); do
			as_root mkdir -p "$ROOT$(dirname "$library")"
			as_root cp -L "$library" "$ROOT$library"
		done
	done
}

make_root() {
	local from suite=$WHERE options=()
	[ ! -e "$ROOT/.made" ] || return 0
	[ "$WHERE" != arm64 ] || { suite=trixie && options=(--arch=arm64 --skip=check/qemu); }
	install_packages mmdebstrap
	from=$(mirror)
	[ -n "$from" ] || skip "apt knows no mirror of Debian"
	if [ "$WHERE" = noble ]; then # who mirrors Debian often has Ubuntu beside it
		quiet download_of trixie "$from" "$ROOT.keys" ubuntu-keyring # Debian 12 has it not
		quiet dpkg -x "$ROOT.keys"/*.deb "$ROOT.keys"
		from=${from%/debian*}/ubuntu
		options=('--components=main,universe' --keyring="$ROOT.keys/usr/share/keyrings/ubuntu-archive-keyring.gpg")
	fi
	step "making a root of $suite in $ROOT"
	as_root rm -rf --one-file-system "${ROOT:?}"
	as_root mmdebstrap --variant=apt "${options[@]}" --include="$(packages)" --aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$ROOT" "$from" >>"$LOG" 2>&1 ||
		skip "no root of $suite: $(grep -m 1 '^E:' "$LOG" || tail -n 1 "$LOG")"
	printf '[safe]\n\tdirectory = *\n' | as_root tee "$ROOT/root/.gitconfig" >/dev/null
	as_root touch "$ROOT/.made"
}

# inside CMD...: run it in the root, in /src: a copy-free view of this repository, with builds of its own, and this machine's ccache.
# shellcheck disable=SC2016  # the inner shell expands
inside() {
	as_root unshare --mount --propagation private bash -c '
		set -e
		root=$1 repo=$2 && shift 2
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs -o mode=755 tmpfs "$root/run"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		mkdir -p "$root/src" "$root/outside"
		mount --bind "$repo" "$root/src"
		mkdir -p /root/.cache/ccache "$root/root/.cache/ccache"
		mount --bind /root/.cache/ccache "$root/root/.cache/ccache"
		cd "$root"
		pivot_root . outside
		umount -l /outside
		cd /src
		exec env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 NODE_EXTRA_CA_CERTS=/root/certificates.pem "$@"' \
		inside "$ROOT" "$REPO" ${COMPILER[@]+"${COMPILER[@]}"} "$@"
}

build() {
	[ "${TESTS[*]-}" != sanitizers ] || return 0 # which have a build of their own
	# What this machine's npm trusts beside the usual, the root's does as well.
	as_root cp "${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}" "$ROOT/root/certificates.pem"
	step "building on $WHERE"
	quiet inside meson setup /build /src --prefix=/opt/mpitrace --buildtype=debug --werror --reconfigure "${OPTIONS[@]}"
	quiet inside meson compile -C /build
	quiet inside meson install -C /build --no-rebuild
}

is_claim() {
	grep -qE "^$1\(\) \{" "$REPO"/tests/slurm/cases_*.sh
}

# run_suite NAME FILE CMD...: its output goes through contrib/testlog.py as that of check.sh does. Where LISTED is a list of programs,
# those that an emulator brought to no end are named and counted as skipped.
run_suite() {
	local name=$1 log=$2 rc=0 kind passed failed skipped unended
	shift 2
	as_root rm -f "$ROOT"/build*/meson-logs/testlog.* # nobody's before
	inside "$@" >"$log" 2>&1 || rc=$?
	[ "${log##*.}" != json ] || for kind in json txt; do cp "$ROOT"/build*/meson-logs/testlog."$kind" "${log%json}$kind" 2>>"$LOG" || true; done
	read -r passed failed skipped unended < <(python3 "$REPO/contrib/testlog.py" "$log" ${LISTED:+"$LISTED"} 2>>"$LOG" || echo 0 1 0)
	[ "$rc" = 0 ] || [ "$failed" -gt 0 ] || [ -n "$unended" ] || failed=1
	[ "$failed" = 0 ] || grep -aE '^not ok|^#|\[FAIL\]' "${log%.json}"* | cut -c1-400 | head -n 60 >&2 || true
	PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
	step "$(printf '%-11s %5d passed, %d failed, %d skipped' "$name" "$passed" "$failed" "$skipped")"
	[ -z "$unended" ] || step "$(wc -w <<<"$unended") programs or tests came to no end in their time or were not begun in $EMULATED_SECONDS s: $unended"
}

# The claim of README's first page. What it builds is the root's, not this machine's.
# shellcheck disable=SC2016  # the inner shell expands
try_there() {
	run_suite try "$REPO/build-on/$WHERE.try.log" bash -c '
		mkdir -p /build-try /src/build-try
		mount --bind /build-try /src/build-try
		result="not ok"
		if said=$(/src/contrib/try.sh 2>&1) && grep -q "^report: " <<<"$said"; then result=ok; fi
		sed "s/^/# /" <<<"$said"
		printf "1..1\n%s 1 - try.sh ends with a report\n" "$result"'
}

unit_there() {
	run_suite unit "$REPO/build-on/$WHERE.unit.json" meson test -C /build --no-rebuild --timeout-multiplier "$SLOWER" --suite unit
}

# LeakSanitizer runs under no qemu, and what is instrumented runs there 20 times longer and more: tests of very many cases try
# fewer (tests/unit/fewer.h), and the whole has a bound as well.
sanitizers_there() {
	local leaks=1 fewer=1 bound=() LISTED=
	step "building with sanitizers"
	quiet inside meson setup /build-sanitizers /src --buildtype=debug -Db_sanitize=address,undefined -Db_lundef=false -Dviewer=disabled \
		-Dc_args=-ftrivial-auto-var-init=pattern --reconfigure
	quiet inside meson compile -C /build-sanitizers unit-tests
	if [ "$WHERE" = arm64 ]; then
		leaks=0 fewer=20 LISTED=$REPO/build-on/$WHERE.listed bound=(timeout --signal=TERM "$EMULATED_SECONDS")
		inside meson test -C /build-sanitizers --list --no-rebuild --suite unit >"$LISTED" 2>>"$LOG"
		step "tests of very many cases try the ${fewer}th part of them; leaks are not looked for"
	fi
	run_suite sanitizers "$REPO/build-on/$WHERE.sanitizers.json" env FEWER=$fewer \
		LSAN_OPTIONS=suppressions=/src/tests/unit/leaks.txt:print_suppressions=0 ASAN_OPTIONS=detect_leaks=$leaks:halt_on_error=1:abort_on_error=1 \
		"${bound[@]}" meson test -C /build-sanitizers --no-rebuild --timeout-multiplier "$SLOWER" --suite unit
}

# shellcheck disable=SC2016  # the inner shell expands
compilers_there() {
	step "installing compilers"
	quiet inside sh -c 'apt-get -q update && apt-get -q -y --no-install-recommends install $(apt-cache search --names-only "^(gcc|clang)-[0-9]+$" | cut -d" " -f1)'
	run_suite compilers "$REPO/build-on/$WHERE.compilers.log" /src/contrib/check_compilers.py /build
}

# A row of the table: what was run there, and what came of it.
note_row() { # WHAT
	printf '| %s | %s: %d claims hold, %d do not, %d cannot be tried there |\n' "$(describe inside)" "$1" "$PASSED" "$FAILED" "$SKIPPED" >"$REPO/build-on/$WHERE.row"
}

print_table() {
	printf '| system | compiler | Slurm | MPI | what was run |\n|---|---|---|---|---|\n'
	cat "$REPO/build-check/row" "$REPO"/build-on/*.row 2>/dev/null || true # of what nobody has run there is no row
}

run_tests() {
	local meson=() claims=() test whole='' slurm=none more=()
	case ${TESTS[*]-} in
	build) return ;;
	'') whole="the tracer's tests, ten of Slurm's" && TESTS=("${TRACER[@]}" "${SLURM[@]}") ;;
	all) whole="the tracer's tests, all of Slurm's, unit tests, also with sanitizers, try.sh" && TESTS=("${TRACER[@]}" slurm unit sanitizers try) ;;
	esac
	for test in "${TESTS[@]}"; do
		if [[ $test =~ ^(try|compilers|unit|sanitizers)$ ]]; then more+=("${test}_there"); elif [ "$test" = slurm ]; then slurm=all; elif is_claim "$test"; then slurm=some claims+=("$test"); else meson+=("$test"); fi
	done
	[ ${#meson[@]} = 0 ] || run_suite tests "$REPO/build-on/$WHERE.tests.json" env SLOWER="$SLOWER" meson test -C /build --no-rebuild --timeout-multiplier "$SLOWER" "${meson[@]}"
	[ "$slurm" = none ] || run_suite slurm "$REPO/build-on/$WHERE.slurm.log" env MEMORY_PER_CPU="$MEMORY_PER_CPU" /src/tests/slurm/run.sh --prefix /opt/mpitrace ${claims[@]+"${claims[@]}"}
	for test in ${more[@]+"${more[@]}"}; do "$test"; done
	[ -z "$whole" ] || note_row "$whole"
}

main() {
	PASSED=0 FAILED=0 SKIPPED=0
	parse "$@"
	need_root_or_sudo
	mkdir -p "$REPO/build-on"
	: >"$LOG"
	[ "$WHERE" != arm64 ] || run_foreign_programs
	make_root
	[ "$WHERE" != arm64 ] || lend_compiler
	inside true 2>>"$LOG" || skip "no root can be entered here: $(tail -n 1 "$LOG")"
	build
	run_tests
	printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
	[ "$FAILED" = 0 ]
}

main "$@"
