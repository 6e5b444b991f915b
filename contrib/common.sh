# shellcheck shell=bash
# common.sh - what try.sh and check.sh share: steps with elapsed time, packages, root. Sourced, never run.
# In: LOG, the file that takes the output of quiet commands.  Out: the functions below and REPO.
set -euo pipefail

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What building and the private cluster need; check.sh adds what only tests need.
# shellcheck disable=SC2034  # used by those who source this
PACKAGES=(build-essential pkg-config meson ninja-build zlib1g-dev libdeflate-dev libmicrohttpd-dev libcjson-dev libslurm-dev libhwloc-dev libyaml-dev libdw-dev
	libcurl4-openssl-dev libpq-dev libopenmpi-dev openmpi-bin slurm-wlm slurm-client munge iproute2 util-linux python3)

die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

step() {
	printf '[%3d s] %s\n' "$SECONDS" "$*"
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

need_root_or_sudo() {
	[ "$(id -u)" = 0 ] && return
	command -v sudo >/dev/null || die "needs root: run it as root, or install sudo"
	sudo -v || die "needs root: sudo did not let you in"
}

# quiet CMD...: output to $LOG; its end is shown when CMD fails.
quiet() {
	"$@" >>"$LOG" 2>&1 && return
	tail -n 25 "$LOG" >&2
	die "failed: $*; the whole output is in $LOG"
}

missing_packages() {
	local package
	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep 'ok installed' >/dev/null || echo "$package"
	done
}

# What builds the viewer. Node.js may come from elsewhere than Debian, with an npm of its own: then Debian's npm would conflict.
viewer_packages() {
	command -v node >/dev/null && command -v npm >/dev/null || echo nodejs npm
	echo clang lld
}

# Install what is missing, without a question. Nothing is asked of the network when all is there.
install_packages() {
	local missing
	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	step "installing ${#missing[@]} packages"
	quiet as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
	quiet as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}"
}

# configure DIR ARGS...: meson setup, also of a directory that is there.
configure() {
	local dir=$1
	shift
	[ ! -f "$dir/build.ninja" ] || set -- --reconfigure "$@"
	quiet meson setup "$dir" "$REPO" "$@"
}

# The mirror that this machine's own packages come from.
mirror() {
	# shellcheck disable=SC2016  # apt expands
	apt-get indextargets --format '$(SITE) $(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
		awk '$2 ~ /\/debian\/?$/ { n[$2]++ } END { for (uri in n) if (n[uri] > most) { most = n[uri]; best = uri } print best }'
}

# download_of SUITE MIRROR DIR PACKAGE...: of another release of Debian, by an apt of its own: this machine's lists stay as they are.
download_of() {
	local suite=$1 from=$2 dir=$3 state=$3/apt apt
	shift 3
	apt=(apt-get -q -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$state" -o Dir::Cache="$state"
		-o Acquire::Check-Valid-Until=false -o Acquire::Languages=none -o APT::Sandbox::User=root)
	mkdir -p "$state/lists/partial" "$state/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from $suite main" >"$state/sources.list"
	"${apt[@]}" update && (cd "$dir" && "${apt[@]}" download "$@") || return
	rm -rf "$state"
}

# One line: what this system is and has. Run inside another root it tells of that one.
# shellcheck disable=SC2016  # the inner shell expands
describe() { # [COMMAND that runs the rest there...]
	"$@" sh -c '. /etc/os-release
		first() { "$@" 2>/dev/null | grep -oE "v?[0-9]+[.][0-9.]+[a-z0-9]*" | head -n 1; }
		mpich=$(first mpichversion)
		echo "$PRETTY_NAME, $(uname -m) | gcc $(${CC:-gcc} -dumpfullversion) | $(PATH=$PATH:/usr/sbin first slurmd -V) | Open MPI $(first ompi_info --version | tr -d v), MPICH ${mpich:-none}"'
}
