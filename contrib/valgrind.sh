#!/bin/bash
# valgrind.sh CMD... - run a unit test under valgrind; what valgrind finds in any of its processes is a failure.
# Criterion runs each test in a process of its own and does not look at its exit code: so the logs decide.
# Out: CMD's exit code, or 99 and valgrind's words on standard error.
LOGS=$(mktemp -d) || exit 99
trap 'rm -rf "$LOGS"' EXIT

valgrind --quiet --trace-children=yes --trace-children-skip='*/mpitrace,/bin/*,/usr/bin/*' --leak-check=full \
	--errors-for-leak-kinds=definite --show-leak-kinds=definite --log-file="$LOGS/%p" "$@"
RC=$?
[ -n "$(find "$LOGS" -type f | head -n 1)" ] || { echo "valgrind.sh: valgrind wrote no log" >&2 && exit 99; }
if [ -n "$(find "$LOGS" -type f -size +0)" ]; then
	cat "$LOGS"/* >&2
	echo "ERROR: valgrind found the above in: $*" >&2
	exit 99
fi
exit "$RC"
