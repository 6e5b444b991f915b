#!/bin/bash
# check_series.sh HEADERS... - does the plugin compile against the headers of a series of Slurm? HEADERS is a directory that holds
# slurm/spank.h: an installation's include directory, or the top of a source tree of Slurm in which ./configure has run or
# not (then a slurm_version.h is made from its META). One line each; exit code 1 when one does not.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

WARNINGS=(-Wall -Wextra -Werror -Wno-unused-parameter -Wno-format-truncation)
DEFINES=(-D_GNU_SOURCE -DMPITRACE_PKGLIBDIR='"/l"' -DMPITRACE_BINDIR='"/b"' -DMPITRACE_LIBEXECDIR='"/x"')
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# The header that ./configure makes: spank.h and slurm.h look at nothing else of it.
version_header() {
	local meta=$1/META to=$2/slurm/slurm_version.h number=0x000000
	mkdir -p "$2/slurm"
	if [ -f "$meta" ]; then
		number=$(awk '$1 == "Major:" { major = $2 } $1 == "Minor:" { minor = $2 } $1 == "Micro:" { micro = $2 }
			END { printf "0x%02x%02x%02x", major % 100, minor, micro }' "$meta")
	fi
	printf '#define SLURM_VERSION_NUMBER %s\n#define SLURM_VERSION_NUM(a,b,c) (((a) << 16) + ((b) << 8) + (c))\n' "$number" >"$to"
	printf '#define SLURM_VERSION_MAJOR(a) (((a) >> 16) & 0xff)\n#define SLURM_VERSION_MINOR(a) (((a) >> 8) & 0xff)\n' >>"$to"
	printf '#define SLURM_VERSION_MICRO(a) ((a) & 0xff)\n' >>"$to"
}

# compiles DIRECTORY: each file of the plugin by itself.
compiles() {
	local dir=$1 file include=("-I$1")
	if [ ! -f "$dir/slurm/slurm_version.h" ]; then
		version_header "$dir" "$WORK/made"
		include+=("-I$WORK/made")
	fi
	for file in "$REPO"/spank/*.c; do
		"${CC:-cc}" -std=gnu11 -fsyntax-only "${WARNINGS[@]}" "${DEFINES[@]}" -I"$REPO" "${include[@]}" "$file" || return
	done
}

[ $# -gt 0 ] || die "give directories that hold slurm/spank.h"
FAILED=0
for dir in "$@"; do
	[ -f "$dir/slurm/spank.h" ] || die "$dir holds no slurm/spank.h"
	if compiles "$dir" >"$WORK/said" 2>&1; then
		echo "ok $dir"
	else
		echo "not ok $dir"
		head -n 20 "$WORK/said"
		FAILED=1
	fi
done
exit $FAILED
