#!/usr/bin/env python3
"""testlog.py TESTLOG: contrib/testlog.py counts what programs print of their tests, each kind of them, and deaths."""
import json
import subprocess
import sys
import tempfile

TESTLOG = sys.argv[1]
COUNTER = "ok     64 processes are icons\nok     drawn\n98 passed, {} failed\n"  # a claim that begins with a number

# (what it is, what it printed, meson's result, passed, failed, skipped)
PROGRAMS = [
    ("a Criterion program", "[====] Synthesis: Tested: 5 | Passing: 4 | Failing: 1 | Crashing: 0", "FAIL", 4, 1, 0),
    ("a TAP program", "1..3\nok 1 - a\nok 2 - b # SKIP no browser\nnot ok 3 - c\n", "FAIL", 1, 1, 1),
    ("a TAP program whose plan is last", "ok 1 - a\n1..1\n", "OK", 1, 0, 0),
    ("a TAP program that died", "ok 1 - a\nok 2 - b\n", "FAIL", 2, 1, 0),
    ("a program that counts", COUNTER.format(0), "OK", 98, 0, 0),
    ("a program that counts a failure", COUNTER.format(1), "FAIL", 98, 1, 0),
    ("a program that says nothing", "", "OK", 1, 0, 0),
    ("a program that says nothing and fails", "", "FAIL", 0, 1, 0),
    ("a program that fails after its tests", "3 passed, 0 failed\n", "FAIL", 3, 1, 0),
    ("a program that is skipped", "no chromium\n", "SKIP", 0, 0, 1),
    ("a program whose time is over", "", "TIMEOUT", 0, 1, 0),
]


def said_of(text, suffix, *more):
    with tempfile.NamedTemporaryFile("w", suffix=suffix) as log:
        log.write(text)
        log.flush()
        return subprocess.run([sys.executable, TESTLOG, log.name, *more], capture_output=True, text=True, check=True).stdout.split()


def counted(text, suffix):
    return tuple(map(int, said_of(text, suffix)))


def emulator_ends_none():
    """Under an emulator: of five programs one held, one failed, one was too slow, one has such a test, one was never begun."""
    test = "[FAIL] a::slow: Timed out. (60.00s)\n[====] Synthesis: Tested: 3 | Passing: 1 | Failing: 2 | Crashing: 0"
    results = (("p:unit / quick", "OK", ""), ("p:unit / wrong", "FAIL", ""), ("p:unit / slow", "TIMEOUT", ""), ("p:unit / part", "FAIL", test))
    entries = "".join(json.dumps({"name": name, "result": result, "stdout": said}) + "\n" for name, result, said in results)
    with tempfile.NamedTemporaryFile("w") as listed:
        listed.write("".join(name + "\n" for name, *_ in results) + "p:unit / left\n")
        listed.flush()
        return said_of(entries, ".json", listed.name)


def main():
    print(f"1..{len(PROGRAMS) + 2}")
    entries = [json.dumps({"name": name, "result": result, "stdout": said}) + "\n" for name, said, result, *_ in PROGRAMS]
    failed = 0
    for number, (entry, (name, _, _, *want)) in enumerate(zip(entries, PROGRAMS), 1):
        got = counted(entry, ".json")
        failed += got != tuple(want)
        print("ok" if got == tuple(want) else "not ok", number, "-", name, "is counted" if got == tuple(want) else f"{got}, not {want}")
    sums = tuple(map(sum, zip(*(row[3:] for row in PROGRAMS))))
    good = counted("".join(entries), ".json") == sums
    print("ok" if good else "not ok", len(PROGRAMS) + 1, "- a suite is the sum of its programs")
    said = emulator_ends_none()
    named = said == ["2", "2", "3", "slow", "a::slow", "left:not-begun"]
    print("ok" if named else "not ok", len(PROGRAMS) + 2, "- what an emulator brings to no end is skipped and named" if named else f"- {said}")
    return 1 if failed or not good or not named else 0


sys.exit(main())
