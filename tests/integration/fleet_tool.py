"""fleet_tool.py - `mpitrace fleet` and what it is given, for tests of a fleet. Environment: MAKE_FLEET, MPITRACE."""
import json
import os
import subprocess

from trace import MPITRACE


def fleet(*words, **more):
    return subprocess.run([MPITRACE, 'fleet', *words], capture_output=True, text=True, **more)


def made(path, jobs, *options):
    with open(path, 'wb') as f:
        subprocess.run([os.environ['MAKE_FLEET'], '--jobs', str(jobs), *options], stdout=f, check=True)


def ask(db, sql):
    out = fleet('query', sql, '--db', db, '--json')
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


def lines(path):
    with open(path, encoding='utf-8') as f:
        return f.read().splitlines()
