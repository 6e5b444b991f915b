#!/usr/bin/env python3
"""named.py - how long after its last rank came to its call `mpitrace live` names a hang: all kinds of tests/programs/stuck.c, with events
and with totals only, looked at ten times a second. Prints a line a kind: sampling intervals until the right ranks are named, what was said
before that was wrong. MPITRACE: the command (default: that of the build in build/).

  named.py [--sample S] [KIND...]"""
import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'slurm'))
import hangs
from bench import ENV, HERE, MPITRACE

PATIENCE_S = 20
MEANT = ('computes',)  # of which nobody is to be named: looked at for so many intervals
MEANT_INTERVALS = 6


def named(said):
    return sorted(sorted(d['ranks'][:d['core_ranks']] + [r for r in [d.get('ended')] if r is not None]) for d in said['deadlock'])


def look(mpic):
    done = subprocess.run([MPITRACE, 'live', mpic, '--once', '--json'], capture_output=True, check=False)
    with contextlib.suppress(ValueError):
        said = json.loads(done.stdout)
        since = [r['since_s'] or 0 for r in said['ranks'] if r['state'] == 'mpi']
        return named(said), min(since) if since and len(said['ranks']) == 4 else 0
    return [], 0


def watch(directory, kind, level, sample_s):
    """How long they had stood when they were first named rightly, or None; and the wrong names before."""
    name = '%s-%s' % (kind, level)
    run = subprocess.Popen([MPITRACE, 'run', '-n', '4', '--sample', str(sample_s), *(['--profile'] if level == 'profile' else []), '--out', directory,
                            '--name', name, '--oversubscribe', '--', directory + '/stuck', kind, 'for ever'], env=ENV, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    wrong, end = set(), time.monotonic() + PATIENCE_S * max(sample_s, 1)
    try:
        while time.monotonic() < end:
            cores, since_s = look('%s/%s.mpic' % (directory, name))
            if cores and cores in hangs.truth(kind, 'profile'):  # samples do not tell which of several requests are complete
                return since_s, wrong
            if cores:
                wrong.add(str(cores))
            if kind in MEANT and since_s > MEANT_INTERVALS * sample_s:
                return None, wrong
            time.sleep(0.1)
        return None, wrong
    finally:
        run.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)


def main():
    options = argparse.ArgumentParser()
    options.add_argument('--sample', type=float, default=1)
    options.add_argument('kinds', nargs='*')
    asked = options.parse_args()
    print('| kind | level | intervals | seconds | wrong before |\n|---|---|---|---|---|')
    with tempfile.TemporaryDirectory(prefix='mpitrace-bench-') as directory:
        subprocess.run(['mpicc.openmpi', '-g', '-O1', '-w', '-pthread', '-o', directory + '/stuck', os.path.join(HERE, '..', 'programs', 'stuck.c')], check=True)
        for kind in asked.kinds or hangs.CORES:
            for level in ('events', 'profile'):
                since_s, wrong = watch(directory, kind, level, asked.sample)
                print('| %s | %s | %s | %s | %s |' % (kind, level, '-' if since_s is None else '%.1f' % (since_s / asked.sample),
                                                      '-' if since_s is None else '%.2f' % since_s, ' '.join(sorted(wrong)) or 'none'), flush=True)


if __name__ == '__main__':
    main()
