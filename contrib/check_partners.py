#!/usr/bin/env python3
"""check_partners.py: every store with release order, and every exchange that releases, names the load that it goes with: a comment on
its line or up to six lines above says "partner". On x86-64 one without goes unnoticed, on aarch64 it is read too early.
Prints those that name none, a line each; exit code 1 when there is any."""
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
RELEASES = re.compile(r'memory_order_(release|acq_rel)|__ATOMIC_(RELEASE|ACQ_REL)')
ABOVE = 6


def unnamed(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        lines = f.read().splitlines()
    for at, line in enumerate(lines):
        if RELEASES.search(line) and 'partner' not in ' '.join(lines[max(at - ABOVE, 0):at + 2]).lower():
            yield at + 1, line.strip()


def main():
    out = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '*.c', '*.h'], cwd=ROOT, capture_output=True, check=True, text=True)
    found = [(path, *what) for path in out.stdout.splitlines() if not path.startswith('tests/') and os.path.exists(os.path.join(ROOT, path))
             for what in unnamed(path)]
    for path, number, line in found:
        print('%s:%d: names no partner: %s' % (path, number, line))
    return 1 if found else 0


sys.exit(main())
