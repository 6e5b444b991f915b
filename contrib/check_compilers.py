#!/usr/bin/env python3
"""check_compilers.py BUILD: every gcc-N and clang-N in PATH reads all C files of BUILD as BUILD compiled them, without
a warning, in the languages of 2011, which BUILD is in, 2017 and 2023; as TAP. Only what the language says is looked at,
no code is made, so a compiler takes some minutes. BUILD was made with --werror."""
import concurrent.futures
import glob
import itertools
import json
import os
import re
import shlex
import subprocess
import sys

# Options of gcc that clang does not know. With a value they step over it inside of their loop.
CLANG = ("-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument", "-Wno-for-loop-analysis")
STANDARDS = ("-std=gnu11", "-std=gnu17", "-std=gnu2x")


def compilers():
    found = {}
    for folder in os.environ["PATH"].split(":"):
        for path in glob.glob(folder + "/*"):
            if name := re.fullmatch(r"(gcc|clang)-(\d+)", os.path.basename(path)):
                found[name.group(1), int(name.group(2))] = path
    return [found[key] for key in sorted(found)]


def reads(compiler, standard, entry):
    """What it has against a file."""
    words = shlex.split(re.sub(r" -MD -MQ \S+ -MF \S+| -c(?= )", "", entry["command"]))
    words = [standard if re.fullmatch(r"-std=gnu\d+", word) else word for word in words]
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    more = CLANG if "clang" in os.path.basename(compiler) else ()
    command = [compiler, *words[first:], *more, "-fsyntax-only", "-o", "/dev/null"]
    return subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True).stderr


def main(build):
    with open(build + "/compile_commands.json") as f:
        files = [e for e in json.load(f) if e["file"].endswith(".c")]
    found, failed = compilers(), 0
    print("1..%d" % (len(found) * len(STANDARDS)) if found else "1..0 # skipped: no gcc-N or clang-N in PATH")
    for number, (compiler, standard) in enumerate(itertools.product(found, STANDARDS), 1):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            said = [text for text in pool.map(lambda e: reads(compiler, standard, e), files) if text]
        result = "not ok" if said else "ok"
        claim = "%s %s has nothing against %d files" % (os.path.basename(compiler), standard, len(files))
        print("%s %d - %s" % (result, number, claim), flush=True)
        for line in "".join(said).splitlines()[:40]:
            print("# " + line)
        failed += bool(said)
    return failed > 0


sys.exit(main(sys.argv[1]))
