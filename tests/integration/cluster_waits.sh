#!/bin/bash
# cluster_waits.sh CLUSTER: what a private cluster waits for may take as much longer as each look at it. Prints TAP.
# In: contrib/cluster.  Out: one line a claim; exit code 1 if one does not hold.
# shellcheck disable=SC2317  # claims are called by name
# shellcheck source=/dev/null
. "$1/common.sh"

LOOKS=0
FAILED=0

# A look of ten seconds, by the shell's clock: the third is the first that finds it.
slow_look() {
	SECONDS=$((SECONDS + 10))
	LOOKS=$((LOOKS + 1))
	[ "$LOOKS" = 3 ]
}

never() {
	SECONDS=$((SECONDS + 10))
	LOOKS=$((LOOKS + 1))
	false
}

claim() { # NUMBER CLAIM CMD...
	local number=$1 what=$2
	shift 2
	if "$@"; then echo "ok $number - $what"; else echo "not ok $number - $what" && FAILED=1; fi
}

gives_up() {
	LOOKS=0
	! wait_for 1 "what never comes" never 2>/dev/null && [ "$LOOKS" -ge 5 ]
}

echo 1..2
claim 1 "a machine on which a look takes long is waited for" wait_for 1 "the third look" slow_look
claim 2 "what never comes is given up" gives_up
exit $FAILED
