#!/bin/bash
# check_names.sh BUILD - no two static libraries of a build define one name: of two, a linker takes the first it comes to, without a word.
# In: the libraries of all rooms but pmpi, whose tracers define the same on purpose.  Out: names and who defines them; exit code 1.
set -euo pipefail
cd "${1:?usage: check_names.sh BUILD}"

twice=$(find base format topology collect postproc spank reports fleet cli -name '*.a' -print0 |
	xargs -0 nm --print-file-name --extern-only --defined-only |
	sed -E 's/^([^:]+):[^ ]+ .* ([^ ]+)$/\2 \1/' | sort -u |
	awk '{ n[$1]++; by[$1] = by[$1] " " $2 } END { for (name in n) if (n[name] > 1) print name ":" by[name] }')
[ -z "$twice" ] || { printf 'defined twice: %s\n' "$twice" && exit 1; }
