#!/usr/bin/env python3
"""testlog.py FILE [LIST]: how many tests passed, failed and were skipped, printed as three numbers.

FILE is meson's testlog.json, or what one suite printed. What counts as a test inside a program's output: the tests
of a Criterion program, "N passed, N failed" in the last line, the lines of a TAP program (a plan that is missing is one
more failure: it died), or the last "N passed, N failed" anywhere. A program without any of these is one test. A program
that failed although its tests passed (a sanitizer, a time limit) adds one failure.

LIST, of `meson test --list`, is given under an emulator: programs and Criterion's tests whose time was over there, or that
were not begun in the whole's, are skipped, not failures. Their names follow the numbers."""
import json
import re
import sys

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CRITERION = re.compile(r"Tested: \d+ \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)")
TAP = re.compile(r"^(not )?ok +\d+([^#\n]*)(#.*)?$", re.M)
TIMED_OUT = re.compile(r"^\[FAIL\] (\S+): Timed out", re.M)
PLAN = re.compile(r"^1\.\.\d+", re.M)
SUMMARY = re.compile(r"\b(\d+) passed, (\d+) failed")
LAST = re.compile(r"\b(\d+) passed, (\d+) failed\s*\Z")


def count_tap(lines, has_plan):
    skipped = sum(1 for _, _, note in lines if re.match(r"#\s*skip", note, re.I))
    failed = sum(1 for bad, _, note in lines if bad and not re.match(r"#\s*(skip|todo)", note, re.I))
    return len(lines) - failed - skipped, failed + (0 if has_plan else 1), skipped


def count_output(text):
    """(passed, failed, skipped), or None when the output does not tell."""
    text = COLOUR.sub("", text)
    if found := CRITERION.search(text):
        passing, failing, crashing = map(int, found.groups())
        return passing, failing + crashing, 0
    if found := LAST.search(text):  # before TAP: a claim of a program that prints none may begin with a number
        return int(found.group(1)), int(found.group(2)), 0
    if lines := TAP.findall(text):
        return count_tap(lines, PLAN.search(text))
    if summaries := SUMMARY.findall(text):
        return int(summaries[-1][0]), int(summaries[-1][1]), 0
    return None


def is_unended(entry):
    return entry.get("result") in ("TIMEOUT", "INTERRUPT")


def timed_out(entry):
    """Names of the tests of a Criterion program that its own limits ended."""
    said = (entry.get("stdout") or "") + (entry.get("stderr") or "")
    return TIMED_OUT.findall(COLOUR.sub("", said))


def count_program(entry, emulated):
    result = entry.get("result")
    if result == "SKIP" or emulated and is_unended(entry):
        return 0, 0, 1
    good = result in ("OK", "EXPECTEDFAIL")
    inside = count_output(entry.get("stdout") or "") or count_output(entry.get("stderr") or "")
    passed, failed, skipped = inside or (int(good), 0, 0)
    slow = len(timed_out(entry)) if emulated and inside else 0
    if slow > 0:
        return passed, failed - slow, skipped + slow
    return passed, failed if good or failed else failed + 1, skipped


def unended_and_left(entries, path):
    """Names of programs that came to no end, and of those that nobody began."""
    if path is None:
        return [], []
    with open(path, encoding="utf-8") as listed:
        names = [line.strip().rpartition(" / ")[2] for line in listed if " / " in line]
    seen = {entry["name"].rpartition(" / ")[2] for entry in entries}
    unended = [entry["name"].rpartition(" / ")[2] for entry in entries if is_unended(entry)]
    unended += [name for entry in entries if not is_unended(entry) for name in timed_out(entry)]
    return unended, [name for name in names if name not in seen]


def main(path, listed=None):
    with open(path, encoding="utf-8", errors="replace") as log:
        text = log.read()
    unended, left = [], []
    if path.endswith(".json"):
        entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        unended, left = unended_and_left(entries, listed)
        counts = [count_program(entry, listed is not None) for entry in entries] + [(0, 0, len(left))]
    else:
        counts = [count_output(text) or (0, 1, 0)]
    print(*(sum(column) for column in zip((0, 0, 0), *counts)), *unended, *(name + ":not-begun" for name in left))


main(*sys.argv[1:])
