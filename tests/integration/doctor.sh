#!/bin/bash
# doctor.sh MPITRACE FRONT PLUGIN: `mpitrace doctor` on a good tree, its JSON, options and the site's policy. What is wrong with
# installations, installations.py tries.
set -euo pipefail
# What it starts as slurmd, no other test's doctor is to take for one of this host.
[ -n "${APART-}" ] || ! unshare -m true 2>/dev/null || APART=1 exec unshare -m "$0" "$@"
mpitrace=$1 front=$2 plugin=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/cli" "$dir/pmpi" "$dir/etc"
cp "$mpitrace" "$dir/cli/mpitrace"
cp "$front" "$(dirname "$front")"/libmpitrace-*.so "$dir/pmpi/"
export SLURM_CONF=$dir/etc/slurm.conf
echo "ClusterName=test" >"$SLURM_CONF"
cp "$plugin" "$dir/mpitrace.so"
mkdir "$dir/programs"
cp /bin/true "$dir/programs/mpitrace"
cp /bin/true "$dir/programs/mpitrace-warden"
chmod 0755 "$dir" "$dir/programs"/*
places="libdir=$dir/pmpi bindir=$dir/programs libexecdir=$dir/programs"

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

plugstack "optional $dir/mpitrace.so spool=/var/spool/mpitrace $places"
expect 0 'ok +plugstack '
"$dir/cli/mpitrace" doctor --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "mpitrace/doctor/1" and d["bad"] == 0 and len(d["checks"]) > 8, d
assert all(set(c) == {"check", "status", "what", "next"} for c in d["checks"]), d'
# Of several slurmds the worst is said, and of a plugin that is not there no time.
cp "$(command -v sleep)" "$dir/slurmd"
trap 'kill $slurmds; rm -rf "$dir"' EXIT
slurmds=""
start_slurmd() { # until exec() it has this script's name
	"$dir/slurmd" 300 &
	slurmds="$slurmds $!"
	until grep -qx slurmd "/proc/$!/comm"; do sleep 0.01; done
}
start_slurmd
older=$!
expect 0 'ok +slurmd +slurmd .pid [0-9]+. was started after the plugin was installed'
sleep 0.1 # longer than the ticks by which the kernel tells starts
chmod 0755 "$dir/mpitrace.so"
start_slurmd
expect 0 "warn +slurmd +slurmd .pid $older. is older than the plugin"
plugstack "optional $dir/none/mpitrace.so spool=/var/spool/mpitrace $places"
expect 1 'ok +slurmd +slurmd .pid [0-9]+. has no plugin to load: .*none/mpitrace.so is not there'
kill $slurmds
wait $slurmds 2>/dev/null || true
trap 'rm -rf "$dir"' EXIT
plugstack "optional $dir/mpitrace.so spool=/var/spool/mpitrace $places"
# The policy, which the plugin's arguments may name: then it must be there.
[ -e /etc/mpitrace ] || expect 0 'ok +policy .*does not exist'
mkdir "$dir/site"
echo "optional $dir/mpitrace.so $places policy=$dir/site/mpitrace.conf" >"$dir/etc/plugstack.conf"
expect 1 'BAD +policy .*site/mpitrace.conf: No such file'
printf '[defaults]\nlevel = off\n[rule debug]\npartition = debug\nnodes = 1-4\nlevel = events\n' >"$dir/site/mpitrace.conf"
if [ "$(id -u)" = 0 ]; then # what is not root's is refused
	expect 0 'ok +policy .*1 rule$'
	mkdir "$dir/site/conf.d"
	printf '[rule x]\npartitoin = a\nnodes = 4-2\n' >"$dir/site/conf.d/x.conf"
	expect 1 'BAD +policy .*x.conf:2: unknown key "partitoin"; did you mean "partition".*x.conf:3: nodes = 4-2'
	printf '[rule x]\n[rule y]\nuser = a\n' >"$dir/site/conf.d/x.conf"
	expect 0 'warn +policy .*rule "y" is never reached'
	printf '[rule x]\nqos = a\nuser = u\n[rule y]\nqos = b\n' >"$dir/site/conf.d/x.conf"
	expect 0 'warn +policy .*rule "x", rule "y" ask for qos, which Slurm 22.05 does not pass to its prolog: there, such a rule restricts every job'
	chmod g+w "$dir/site/conf.d/x.conf"
	expect 1 'BAD +policy .*others than root may write it'
	rm -r "$dir/site/conf.d"
fi
would() { # PATTERN FACTS...: a job of these would get
	"$dir/cli/mpitrace" doctor --policy --config "$dir/site/mpitrace.conf" "${@:2}" >"$dir/out" 2>&1 || fail "exit code $?"
	tr '\n' ' ' <"$dir/out" | grep -Eq -- "$1" || fail "lacks \"$1\" for ${*:2}"
}
would 'gets: events .*rule "debug" \(.*mpitrace.conf:3\).*level +events +\(.*mpitrace.conf:6\)' user=alice partition=debug nodes=4
would 'gets: off because of: no rule matches, .defaults.  .*level +off +\(.*mpitrace.conf:2\)' partition=debug nodes=5
would 'gets: off because of: .*not known here: nodes' partition=debug
"$dir/cli/mpitrace" doctor --json --policy --config "$dir/site/mpitrace.conf" partition=debug nodes=1 | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "mpitrace/policy/1" and d["level"] == "events" and len(d["settings"]) > 20, d
assert all(set(s) == {"setting", "value", "where"} for s in d["settings"]), d'
for wrong in "user" "what=7" "nodes=x"; do
	got=0
	"$dir/cli/mpitrace" doctor --policy "$wrong" >/dev/null 2>"$dir/out" || got=$?
	[ "$got" = 2 ] || fail "exit code $got for the fact $wrong, not 2"
done
"$dir/cli/mpitrace" doctor --policy --config "$(dirname "$0")/../../contrib/mpitrace.conf" nodes=600 >"$dir/out" 2>&1 || fail "the example is not in order"
sed -E 's/^#(\[.*\]|[a-z_]+ = .*)$/\1/' "$(dirname "$0")/../../contrib/mpitrace.conf" >"$dir/site/all.conf"
"$dir/cli/mpitrace" doctor --policy --config "$dir/site/all.conf" nodes=600 >"$dir/out" 2>&1 || fail "the example, with all of it switched on, is not in order"
grep -q '^\[destination ' "$dir/site/all.conf" || fail "the example has no destination"

for words in doctor "doctor --json" "doctor --help" help --version; do
	got=0
	# shellcheck disable=SC2086  # words
	"$dir/cli/mpitrace" $words >/dev/full 2>"$dir/out" || got=$?
	if [ "$got" != 4 ] || [ "$(grep -c 'cannot write: No space left' "$dir/out")" != 1 ]; then fail "exit code $got of $words on a full disk, not 4"; fi
done

got=0
"$dir/cli/mpitrace" doctor --nonsense >/dev/null 2>"$dir/out" || got=$?
[ "$got" = 2 ] || fail "exit code $got for an unknown option, not 2"
echo ok
