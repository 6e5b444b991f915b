#!/bin/bash
# report.sh MPITRACE MAKE_MPIX: `mpitrace report` as a person uses it: page written, errors clear, nothing half left.
set -euo pipefail
mpitrace=$1 make_mpix=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "not ok: $*" >&2
	exit 1
}

# expect CODE CMD...: run CMD, its messages to $dir/err.
expect() {
	local want=$1 got=0
	shift
	"$@" >"$dir/out" 2>"$dir/err" || got=$?
	[ "$got" = "$want" ] || fail "exit code $got, not $want: $* ($(cat "$dir/err"))"
}

says() {
	grep -q -- "$1" "$dir/err" || fail "message lacks \"$1\": $(cat "$dir/err")"
}

"$make_mpix" "$dir/job.mpix" 4 2 20
expect 0 "$mpitrace" report "$dir/job.mpix" -o "$dir/page.html"
grep -q '</html>' "$dir/page.html" || fail "the page is not whole"
expect 0 "$mpitrace" report -o "$dir/again.html" "$dir/job.mpix"
cmp "$dir/page.html" "$dir/again.html" || fail "the same trace gave another page"

expect 2 "$mpitrace" report "$dir/job.mpix"
says 'usage: mpitrace report'
expect 3 "$mpitrace" report "$dir/absent.mpix" -o "$dir/x.html"
says absent.mpix
head -c 200 "$dir/job.mpix" >"$dir/cut.mpix"
expect 3 "$mpitrace" report "$dir/cut.mpix" -o "$dir/x.html"
says cut.mpix
expect 3 "$mpitrace" report "$dir/page.html" -o "$dir/x.html"
expect 3 "$mpitrace" report "$dir/job.mpix" -o "$dir/nowhere/x.html"
says nowhere
cp "$dir/job.mpix" "$dir/copy.mpix"
expect 3 "$mpitrace" report "$dir/job.mpix" -o "$dir/job.mpix"
says 'is a trace'
expect 2 "$mpitrace" export "$dir/job.mpix" --to json -o "$dir/job.mpix"
cmp -s "$dir/job.mpix" "$dir/copy.mpix" || fail "a page took the place of a trace"
(ulimit -f 1 && expect 3 "$mpitrace" report "$dir/job.mpix" -o "$dir/x.html")
says 'x.html: cannot write: File too large'
expect 3 "$mpitrace" report "$dir/job.mpix" -o /dev/full
says '/dev/full: cannot write: No space left'
(umask 777 && expect 0 "$mpitrace" report "$dir/job.mpix" -o "$dir/mine.html")
[ "$(stat -c %a "$dir/mine.html")" = 600 ] || fail "a page that its owner cannot read"
[ -z "$(find "$dir" -name 'x.html*')" ] || fail "a page that failed was left behind"
echo ok
