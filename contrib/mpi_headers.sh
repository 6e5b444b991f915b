#!/bin/bash
# mpi_headers.sh DIR - the mpi.h of the MPIs that Debian 12, 13 and unstable have: Open MPI 4, 5, 6 and MPICH 4.0, 4.2, 5.0 in November
# 2026. In: a mirror that apt knows.  Out: DIR/bookworm-openmpi/.../mpi.h and so on, from packages that are unpacked, not installed;
# exit code 77 and one line when they cannot be had. What is there already is kept.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

DIR=$(realpath -m "${1:?usage: mpi_headers.sh DIR}")
LOG=$DIR/headers.log

fetch() { # SUITE
	local mpi
	download_of "$1" "$FROM" "$DIR/new" libopenmpi-dev libmpich-dev && cd "$DIR/new" || return
	for mpi in openmpi mpich; do
		dpkg -x "lib$mpi-dev"_*.deb "$DIR/new/$1-$mpi" && mv "$DIR/new/$1-$mpi" "$DIR/" || return
	done
	rm -rf "$DIR/new"
}

main() {
	local suite
	mkdir -p "$DIR"
	: >"$LOG"
	FROM=$(mirror)
	for suite in bookworm trixie sid; do
		[ ! -d "$DIR/$suite-mpich" ] || continue
		fetch "$suite" >>"$LOG" 2>&1 && continue
		echo "no mpi.h of Debian $suite: $(grep -m 1 '^E:' "$LOG" || echo "apt knows no mirror of Debian")"
		exit 77
	done
}

main
