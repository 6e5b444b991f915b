#!/bin/bash
# try.sh - see mpitrace work on this machine: install packages, build, start a private 4-node Slurm, trace a real
# program, print where the report and the trace are, take the cluster down.
# In: Debian 12, 13 or unstable, or Ubuntu 24.04; root or sudo.  Out: build-try/results; the installation in /opt/mpitrace-try.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

BUILD=$REPO/build-try
LOG=$BUILD/try.log
RESULTS=$BUILD/results
PREFIX=/opt/mpitrace-try
CLUSTER=$REPO/contrib/cluster
STATE=/run/mpitrace-try
KEEP=no
COMMAND=()

usage() {
	cat <<-END
		usage: try.sh [--keep] [-- srun ARGS...]
		  --keep     leave the cluster up, and say how to use it
		  -- srun ... run this on the cluster instead of hpcc and the example,
		              for instance: try.sh -- srun -N2 -n4 --mpitrace ./my_app
	END
}

parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--keep) KEEP=yes ;;
		--) shift && COMMAND=("$@") && return ;;
		-h | --help) usage && exit 0 ;;
		*) usage >&2 && die "unknown argument \"$1\"" ;;
		esac
		shift
	done
}

# Jobs run as whoever asked, or as a user of the cluster's own when that is root.
job_user() {
	if [ "$(id -u)" != 0 ]; then
		id -un
	else
		echo "${SUDO_USER:-mpitrace-test}"
	fi
}

build() {
	step "building (release) in $BUILD"
	configure "$BUILD" --prefix="$PREFIX" --buildtype=release -Dtests=disabled
	quiet meson compile -C "$BUILD"
	quiet as_root meson install -C "$BUILD" --no-rebuild
}

start_cluster() {
	step "starting a private 4-node Slurm in $STATE"
	as_root "$CLUSTER/down" --state "$STATE"
	quiet as_root "$CLUSTER/up" --nodes 4 --prefix "$PREFIX" --state "$STATE" --user "$(job_user)"
	MPI=$(sed -n 's/^MPI=//p' "$STATE/settings")
	step "$(grep -o 'srun starts .*' "$LOG" | tail -n 1)"
}

stop_cluster() {
	if [ "$KEEP" = yes ]; then
		cat <<-END

			The cluster stays up. Jobs run as $(job_user), in $STATE/work:
			  sudo $CLUSTER/run --state $STATE srun -N2 -n4 --mpitrace PROGRAM
			  sudo $CLUSTER/run --state $STATE sinfo
			and it goes with
			  sudo $CLUSTER/down --state $STATE
		END
		return
	fi
	step "taking the cluster down"
	as_root "$CLUSTER/down" --state "$STATE"
}

on_cluster() {
	as_root "$CLUSTER/run" --state "$STATE" "$@"
}

# in_work NAME CMD...: run CMD on the cluster in a directory of its own.
# shellcheck disable=SC2016  # the inner shell expands
in_work() {
	local dir=$STATE/work/$1
	shift
	on_cluster sh -c 'mkdir -p "$1" && cd "$1" && shift && exec "$@"' sh "$dir" \
		env OMPI_MCA_mpi_yield_when_idle=1 "$@"
}

# An HPC Challenge input small enough for a laptop: N=100, a 2 x 4 grid.
write_hpcc_input() {
	cat <<-END
		HPLinpack benchmark input file
		written by try.sh
		HPL.out
		6            device out
		1            # of problems sizes (N)
		100          Ns
		1            # of NBs
		32           NBs
		0            PMAP process mapping
		1            # of process grids (P x Q)
		2            Ps
		4            Qs
		16.0         threshold
		1            # of panel fact
		2            PFACTs
		1            # of recursive stopping criterium
		4            NBMINs
		1            # of panels in recursion
		2            NDIVs
		1            # of recursive panel fact.
		1            RFACTs
		1            # of broadcast
		1            BCASTs
		1            # of lookahead depth
		1            DEPTHs
		2            SWAP
		64           swapping threshold
		0            L1
		0            U
		1            Equilibration
		8            memory alignment in double
		##### ignored
		0            Number of additional problem sizes for PTRANS
		1200 10000   values of N
		0            number of additional blocking sizes for PTRANS
		40 9 8       values of NB
	END
}

# Open MPI's programs want a Slurm with pmix, which Debian's of 2026 lacks: there srun starts those of MPICH.
mpi_packages() {
	compgen -G '/usr/lib/*/slurm*/mpi_pmix*.so' >/dev/null || echo mpich libmpich-dev
}

run_hpcc() {
	[ "$MPI" = openmpi ] || { step "hpcc is left out: it is a program of Open MPI, and srun starts none here" && return; }
	step "running hpcc: 8 ranks on 4 nodes, srun --mpitrace"
	write_hpcc_input | in_work hpcc tee hpccinf.txt >/dev/null
	quiet in_work hpcc srun -N4 --ntasks-per-node=2 --mpitrace hpcc
}

run_example() {
	[ "$MPI" != none ] || die "nothing to try: srun starts no MPI programs here"
	step "running examples/halo.c, whose rank 4 has three times the work"
	quiet "mpicc.$MPI" -g -O2 -o "$BUILD/halo" "$REPO/examples/halo.c" -lm
	in_work halo tee halo <"$BUILD/halo" >/dev/null
	quiet in_work halo chmod +x halo
	quiet in_work halo srun -N4 --ntasks-per-node=2 --mpitrace ./halo
}

# Every step that left a trace must have its report, soon after srun came back.
all_reported() {
	local dir found=1
	while read -r dir; do
		[ -s "$dir/report.html" ] && [ -s "$dir/job.mpix" ] || return 1
		found=0
	done < <(as_root find "$1" -type d -path '*/mpitrace-*/step-*' -prune)
	return $found
}

# Where a machine is so busy that an analysis has not the time that a site gives it, the page is from totals, and log.txt names the
# command that makes it whole.
finish_by_hand() {
	local dir
	while read -r dir; do
		[ -s "$dir/job.mpix" ] || { step "this machine is busy: mpitrace finish makes the report whole" && quiet in_work . mpitrace finish "$dir"; }
	done < <(as_root find "$1" -type d -path '*/mpitrace-*/step-*' -prune)
}

wait_for_reports() {
	local end=$((SECONDS + 60))
	until all_reported "$1"; do
		[ "$SECONDS" -lt "$end" ] || {
			finish_by_hand "$1" && all_reported "$1" && return
			as_root find "$1" -name log.txt -exec tail -n 5 {} + >&2
			die "no report after 60 s; above is what the finisher logged, if it ran"
		}
		sleep 0.2
	done
}

# The cluster's files go with it, so keep a copy that belongs to whoever asked.
collect_results() {
	as_root rm -rf "$RESULTS"
	as_root cp -rP "$STATE/work" "$RESULTS"
	as_root chown -hR "$(id -u):$(id -g)" "$RESULTS"
}

print_results() {
	local report
	printf '\n'
	while read -r report; do
		printf 'report: %s\ntrace:  %s\n' "$report" "$(dirname "$report")/job.mpix"
	done < <(find "$RESULTS" -name report.html | sort)
	printf '\nLook at the report in any browser, at the trace with\n  %s view %s\n' \
		"$PREFIX/bin/mpitrace" "$(find "$RESULTS" -name job.mpix | sort | tail -n 1)"
}

run_demo() {
	run_hpcc
	run_example
	wait_for_reports "$STATE/work"
	collect_results
	print_results
}

run_command() {
	local rc=0
	step "running: ${COMMAND[*]}"
	on_cluster env OMPI_MCA_mpi_yield_when_idle=1 "${COMMAND[@]}" || rc=$?
	if all_reported "$STATE/work"; then
		collect_results
		print_results
	fi
	step "${COMMAND[0]} ended with exit code $rc"
	return $rc
}

main() {
	parse "$@"
	need_root_or_sudo
	mkdir -p "$BUILD"
	: >"$LOG"
	# shellcheck disable=SC2046  # words
	install_packages "${PACKAGES[@]}" hpcc $(viewer_packages)
	# shellcheck disable=SC2046  # words
	install_packages $(mpi_packages)
	build
	trap stop_cluster EXIT
	start_cluster
	if [ ${#COMMAND[@]} -gt 0 ]; then
		run_command
	else
		run_demo
	fi
}

main "$@"
