#!/bin/bash
# check_tidy.sh BUILD: clang-tidy with the checks of .clang-tidy over our C files, as BUILD compiled them. Generated ones are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# gcc knows warning options that clang does not; options with a value step over it inside of their loop
run-clang-tidy -p "$build" -quiet -j "$(nproc)" -extra-arg=-Wno-unknown-warning-option -extra-arg=-Wno-for-loop-analysis \
	"^$PWD/(base|format|topology|pmpi|collect|postproc|spank|reports|fleet|cli)/([^/]*/)*[^/]*\.c\$" >"$out" 2>&1 && exit
grep -E '(error|warning): ' "$out" | sort -u || cat "$out"
exit 1
