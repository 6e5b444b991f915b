#!/usr/bin/env python3
"""whatif.py - how near `mpitrace whatif` comes: programs with one fault each are traced and replayed without it, and run without it.
Prints a line a program: the run with the fault, the prediction, the run without, their difference. MPITRACE: the command (default: that
of the build in build/). As root with real-time priority, since the programs' computing is sleeping and ranks share processors.

  whatif.py [PROGRAM...]"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from bench import ENV, HERE, MPITRACE

SOURCE = os.path.join(HERE, '..', 'programs', 'mended.c')


def line(mark):
    """FILE:LINE of the call that ends where this comment stands, or begins in that line."""
    with open(SOURCE, encoding='utf-8') as f:
        lines = f.read().splitlines()
    at = next(i for i, text in enumerate(lines) if '/* %s */' % mark in text)
    while not re.search(r'MPI_[A-Z][a-z_]+\(', lines[at]):
        at -= 1
    return 'mended.c:%d' % (at + 1)


PROGRAMS = {
    'barrier': ('--balance',), 'moving': ('--balance',), 'halo': ('--balance',), 'alltoall': ('--balance',),
    'late_send': ('--without', 'late_sender'), 'late_isend': ('--without', 'late_sender'),
    'late_root': ('--without', 'collective_root_bottleneck'), 'late_leaf': ('--without', 'collective_root_bottleneck'),
    'late_receive': ('--without', 'late_receiver'), 'pipeline': ('--rank', '1=0.5x'),
    'site': ('--site', line('halved') + '=0.5x'), 'master': ('--rank', '0=0.25x'),
    'ibarrier': ('--balance',), 'iallreduce': ('--balance',), 'ialltoall': ('--balance',), 'ibcast': ('--balance',),
    'isend': ('--without', 'late_receiver'), 'irecv': ('--rank', '1=0.3333x', '--rank', '3=0.3333x'),
    'blocking_recv': ('--nonblocking', line('a receive')), 'blocking_send': ('--nonblocking', line('a send')),
    'blocking_allreduce': ('--nonblocking', line('a collective')),
    'blocking_halo': ('--nonblocking', line('a receive from the left'), '--nonblocking', line('a receive from the right')),
    'needless_barrier': ('--without', 'barrier_imbalance'), 'slow': ('--rank', '3=0.4x'), 'gather': ('--balance',),
}


def traced(directory, *words):
    name = '-'.join(words)
    priority = ['chrt', '-r', '10'] if os.geteuid() == 0 and shutil.which('chrt') else []
    subprocess.run([*priority, MPITRACE, 'run', '-n', '4', '--out', directory, '--name', name, '--', directory + '/mended', *words],
                   env=dict(ENV, OMPI_MCA_mpi_yield_when_idle='1'), check=True, capture_output=True)
    return '%s/%s.mpix' % (directory, name)


def replayed(*words):
    return json.loads(subprocess.run([MPITRACE, 'whatif', *words, '--json'], check=True, capture_output=True, text=True).stdout)


def main():
    print('| program | with the fault | replay off by | without: predicted | measured | off by |')
    print('|---|---|---|---|---|---|')
    with tempfile.TemporaryDirectory(prefix='mpitrace-bench-') as directory:
        subprocess.run(['mpicc.openmpi', '-g', '-O1', '-o', directory + '/mended', SOURCE], check=True)
        for name in sys.argv[1:] or PROGRAMS:
            asked = replayed(traced(directory, name), *PROGRAMS[name])
            true = replayed(traced(directory, name, 'mended'))['recorded_s']
            print('| %s, `%s` | %.0f ms | %.1f %% | %.0f ms | %.0f ms | %+.1f %% |' % (
                name, ' '.join(PROGRAMS[name]), 1e3 * asked['recorded_s'], 100 * asked['error'], 1e3 * asked['predicted_s'], 1e3 * true,
                100 * (asked['predicted_s'] / true - 1)), flush=True)


if __name__ == '__main__':
    main()
