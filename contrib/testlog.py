#!/usr/bin/env python3
"""testlog.py TESTLOG.json: how many tests passed and failed in a run of `meson test`, as "passed failed".

Criterion programs count as many tests as they hold, every other test counts as one. A program that failed for
another reason than its tests (a sanitizer, a timeout) adds one failure."""
import json
import re
import sys

SYNTHESIS = re.compile(r"Tested: \S*?(\d+)\S* \| Passing: \S*?(\d+)\S* \| Failing: \S*?(\d+)\S* \| Crashing: \S*?(\d+)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PASSED = {"OK", "EXPECTEDFAIL", "SKIP"}


def count(entry):
    text = COLOUR.sub("", (entry.get("stdout") or "") + (entry.get("stderr") or ""))
    good = entry.get("result") in PASSED
    found = SYNTHESIS.search(text)
    if not found:
        return (1, 0) if good else (0, 1)
    _, passing, failing, crashing = map(int, found.groups())
    failed = failing + crashing
    return passing, failed if good or failed else 1


def main(path):
    with open(path, encoding="utf-8") as log:
        counts = [count(json.loads(line)) for line in log if line.strip()]
    print(sum(c[0] for c in counts), sum(c[1] for c in counts))


main(sys.argv[1])
