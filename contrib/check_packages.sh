#!/bin/bash
# check_packages.sh DIRECTORY - are Debian's packages of DIRECTORY (contrib/deb.sh) whole? On a root that has nothing of ours: a bare
# system of this machine's release, made by mmdebstrap from the sources of this machine's apt. They are installed there with what they
# depend on, switched on as README.Debian says, looked at by `mpitrace doctor`, and purged; then nothing is left.
# In: root.  Out: TAP.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

DEBS=$(realpath "${1:-$REPO/build-deb}")
LOG=$DEBS/check_packages.log
ROOT=$(mktemp -d)
FAILED=0
NUMBER=0
: >"$LOG"

cleanup() {
	rm -rf --one-file-system "$ROOT"
}

inside() {
	chroot "$ROOT" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}

claim() { # TEXT COMMAND...
	local text=$1 said
	shift
	NUMBER=$((NUMBER + 1))
	if said=$("$@" 2>&1); then
		echo "ok $NUMBER - $text"
	else
		FAILED=1
		printf 'not ok %d - %s\n%s\n' "$NUMBER" "$text" "$(tail -n 30 <<<"$said" | sed 's/^/# /')"
	fi
}

lintian_finds_nothing() {
	local said
	said=$(lintian --fail-on none --tag-display-limit 0 "$DEBS"/mpitrace_*.changes 2>>"$LOG") || return
	[ -z "$said" ] || { echo "$said" && return 1; }
}

bare_root() {
	# shellcheck source=/dev/null
	quiet mmdebstrap --variant=minbase --skip=cleanup/apt "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$ROOT"
}

# Paths that have our name, and the units that are switched on.
ours() {
	(cd "$ROOT" && find . \( -path ./proc -o -path ./sys -o -path ./tmp -o -path ./var/log \) -prune -o \
		\( -name '*mpitrace*' -o -name 'libmpix*' \) -print | sort)
}

install_all() {
	install -d "$ROOT/tmp/debs"
	cp "$DEBS"/{mpitrace,mpitrace-slurm,mpitrace-dev,libmpix1}_*.deb "$ROOT/tmp/debs/" || return
	inside sh -c 'apt-get -q -y --no-install-recommends install /tmp/debs/*.deb' || return
	rm -r "$ROOT/tmp/debs"
}

doctor_says() { # CODE PATTERN...
	local code=$1 said rc=0 pattern
	shift
	said=$(inside mpitrace doctor) || rc=$?
	[ "$rc" = "$code" ] || { echo "exit code $rc, not $code: $said" && return 1; }
	for pattern in "$@"; do
		grep -Eq -- "$pattern" <<<"$said" || { echo "not \"$pattern\" but: $said" && return 1; }
	done
}

doctor_before() {
	doctor_says 0 'ok +tracer ' 'ok +preload ' 'ok +slurm +slurm' 'does not name mpitrace.so|is not there'
}

# The three lines of README.Debian, but for the daemon that nobody runs here; Debian's slurm.conf is the site's to write.
doctor_after() {
	local readme=$ROOT/usr/share/doc/mpitrace-slurm/README.Debian
	echo ClusterName=bare >"$ROOT/etc/slurm/slurm.conf"
	inside sh -ec "$(sed -n 's/^    \(cp .*\)/\1/p' "$readme")" || return
	doctor_says 0 'ok +plugin .*for Slurm .* as on this host' 'ok +plugstack .*names it once, optional' 'ok +programs ' || return
	inside mpitrace doctor --policy --config /usr/share/doc/mpitrace/examples/mpitrace.conf nodes=600 || return
	grep -q '\[destination ' "$ROOT/usr/share/doc/mpitrace/examples/mpitrace.conf"
}

programs_run() {
	inside mpitrace help && inside mpitrace fleet --help && inside mpitrace sweep || return
	# shellcheck disable=SC2016  # the inner shell expands
	! inside sh -c 'for f in /usr/bin/mpitrace /usr/libexec/mpitrace/* /usr/lib/*/libmpix.so.1; do ldd "$f"; done' | grep 'not found'
}

# As a node has it that was not emptied: what waits, what is kept, and a file system of a step that was killed.
use_spool() {
	install -d -m 0711 "$ROOT"/var/spool/mpitrace/{late,kept/1000/7.0.step-0,live/8.0/step-0/ranks}
	touch "$ROOT/var/spool/mpitrace/late/7.0.step-0"
}

purged() {
	inside apt-get -q -y purge mpitrace mpitrace-slurm mpitrace-dev libmpix1 || return
	rm "$ROOT/etc/slurm/plugstack.conf.d/mpitrace.conf" # the administrator's copy
	[ -z "$(ours)" ] || { ours && return 1; }
}

main() {
	[ "$(id -u)" = 0 ] || die "needs root"
	trap cleanup EXIT
	echo 1..6
	claim "lintian finds nothing" lintian_finds_nothing
	bare_root
	claim "packages are installed with what they depend on" install_all
	claim "all programs and libraries find theirs" programs_run
	claim "the doctor finds nothing wrong before it is switched on" doctor_before
	claim "switched on as README.Debian says, it is right, and the example policy as well" doctor_after
	use_spool
	claim "purged, nothing is left" purged
	[ "$FAILED" = 0 ]
}

main "$@"
