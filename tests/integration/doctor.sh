#!/bin/bash
# doctor.sh MPITRACE FRONT: `mpitrace doctor` on a good tree, on trees with one thing wrong each, and as JSON.
set -euo pipefail
mpitrace=$1 front=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/cli" "$dir/pmpi" "$dir/etc"
cp "$mpitrace" "$dir/cli/mpitrace"
cp "$front" "$(dirname "$front")"/libmpitrace-*.so "$dir/pmpi/"
export SLURM_CONF=$dir/etc/slurm.conf
echo "ClusterName=test" >"$SLURM_CONF"
touch "$dir/mpitrace.so"

fail() {
	echo "not ok: $*" >&2
	cat "$dir/out" >&2
	exit 1
}

# expect CODE PATTERN: run the doctor; PATTERN is in what it says.
expect() {
	local got=0
	"$dir/cli/mpitrace" doctor >"$dir/out" 2>&1 || got=$?
	[ "$got" = "$1" ] || fail "exit code $got, not $1"
	grep -Eq -- "$2" "$dir/out" || fail "lacks \"$2\""
}

plugstack() {
	printf '%s\n' "$@" >"$dir/etc/plugstack.conf"
}

expect 0 'warn +plugstack .*cannot be read'
plugstack "# nothing"
expect 0 'warn +plugstack .*does not name'
plugstack "optional $dir/mpitrace.so spool=/var/spool/mpitrace"
expect 0 'ok +plugstack '
"$dir/cli/mpitrace" doctor --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "mpitrace/doctor/1" and d["bad"] == 0 and len(d["checks"]) > 8, d
assert all(set(c) == {"check", "status", "what", "next"} for c in d["checks"]), d'
plugstack "required $dir/mpitrace.so"
expect 1 'BAD +plugstack .*required'
plugstack "optional $dir/mpitrace.so" "optional $dir/mpitrace.so"
expect 0 'warn +plugstack .*2 times'
plugstack "optional $dir/mpitrace.so spol=/x"
expect 0 'warn +plugstack .*"spol=/x"'
plugstack "optional $dir/absent/mpitrace.so"
expect 1 'BAD +plugin '
plugstack "optional $dir/mpitrace.so spool=/tmp/mpitrace"
expect 1 'BAD +spool '
mkdir "$dir/etc/plugstack.conf.d"
echo "required $dir/mpitrace.so" >"$dir/etc/plugstack.conf.d/a.conf"
plugstack "include plugstack.conf.d/*.conf"
expect 1 'BAD +plugstack .*required'
echo "PlugStackConfig=$dir/etc/other.conf" >>"$SLURM_CONF"
echo "optional $dir/mpitrace.so" >"$dir/etc/other.conf"
expect 0 'ok +plugstack .*other.conf'

echo "no library" >"$dir/pmpi/libmpitrace.so"
expect 1 'BAD +tracer .*cannot be loaded'
rm "$dir/pmpi/libmpitrace.so"
[ -e "$("$dir/cli/mpitrace" doctor | sed -nE 's/^ok +tracer +//p')" ] || expect 1 'BAD +tracer .*cannot be read'
got=0
"$dir/cli/mpitrace" doctor --nonsense >/dev/null 2>"$dir/out" || got=$?
[ "$got" = 2 ] || fail "exit code $got for an unknown option, not 2"
echo ok
