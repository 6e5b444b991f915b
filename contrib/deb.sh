#!/bin/bash
# deb.sh [DIRECTORY] - builds Debian's packages from a clean copy of what is committed, by contrib/debian; they come to
# DIRECTORY (build-deb). The viewer is built when node, npm, clang and lld are there and npm gets its packages: VIEWER=disabled does without.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

OUT=$(realpath -m "${1:-$REPO/build-deb}")
LOG=$OUT/deb.log
mkdir -p "$OUT"
: >"$LOG"
VERSION=$(sed -n "s/^  version: '\(.*\)',$/\1/p" "$REPO/meson.build")
COPY=$OUT/mpitrace-$VERSION

for program in dpkg-buildpackage dh; do
	command -v "$program" >/dev/null || die "needs dpkg-dev and debhelper: apt install dpkg-dev debhelper"
done
[ "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$REPO/contrib/debian/changelog")" = "$VERSION" ] ||
	die "contrib/debian/changelog is not of version $VERSION"
rm -rf "$COPY"
mkdir "$COPY"
git -C "$REPO" archive HEAD | tar -x -C "$COPY"
cp -r "$COPY/contrib/debian" "$COPY/debian"
step "building in $COPY"
cd "$COPY"
quiet dpkg-buildpackage -b -us -uc "-j${JOBS:-2}"
rm -rf "$COPY"
ls "$OUT"/*.deb
