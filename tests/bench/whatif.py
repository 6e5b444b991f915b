#!/usr/bin/env python3
"""whatif.py - how near `mpitrace whatif` comes: programs with one fault each are traced and replayed without it, and run without it.
Prints a line a program: the run with the fault, how far the unchanged replay is off, what of it is gained by the replay (its range),
and what by the run without. MPITRACE: the command (default: that of the build in build/). As root with real-time priority, since the programs'
computing is sleeping and ranks share processors; MPICH, which spins, needs a processor a rank.

  whatif.py [--mpi openmpi|mpich] [--ranks N] [PROGRAM...]"""
import argparse
import json
import os
import re
import shutil
import subprocess
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


def environment(directory, mpi):
    """In which mpirun is that of one MPI: a script, since MPICH's looks for its helpers beside itself."""
    with open(directory + '/mpirun', 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\nexec %s "$@"\n' % shutil.which('mpirun.' + mpi))
    os.chmod(directory + '/mpirun', 0o755)
    return dict(ENV, OMPI_MCA_mpi_yield_when_idle='1', PATH=directory + ':' + os.environ['PATH'])


def traced(directory, args, *words):
    name = '-'.join(words)
    priority = ['chrt', '-r', '10'] if args.mpi == 'openmpi' and os.geteuid() == 0 and shutil.which('chrt') else []
    subprocess.run([*priority, MPITRACE, 'run', '-n', str(args.ranks), '--out', directory, '--name', name, '--', directory + '/mended', *words],
                   env=environment(directory, args.mpi), check=True, capture_output=True)
    return '%s/%s.mpix' % (directory, name)


def replayed(*words):
    return json.loads(subprocess.run([MPITRACE, 'whatif', *words, '--json'], check=True, capture_output=True, text=True).stdout)


def gains(asked):
    low, high = 100 * asked['gain_low'], 100 * asked['gain_high']
    return '%.1f %%' % (100 * asked['gain']) + (' (%.1f to %.1f)' % (low, high) if high - low >= 0.1 else '')


def row(directory, args, name):
    asked = replayed(traced(directory, args, name), *PROGRAMS[name])
    true = 1 - replayed(traced(directory, args, name, 'mended'))['recorded_s'] / asked['recorded_s']
    inside = abs(asked['gain'] - true) <= 0.1 * abs(true) or asked['gain_low'] <= true <= asked['gain_high']
    print('| %s, `%s` | %.0f ms | %.1f %% | %s | %.1f %% |' % (
        name, ' '.join(PROGRAMS[name]), 1e3 * asked['recorded_s'], 100 * asked['error'], gains(asked), 100 * true), flush=True)
    return inside, asked['error'] <= 0.02


def main():
    parser = argparse.ArgumentParser(description='What a repair gains: by replay, and by repairing.')
    parser.add_argument('--mpi', choices=('openmpi', 'mpich'), default='openmpi')
    parser.add_argument('--ranks', type=int, default=4)
    parser.add_argument('programs', nargs='*')
    args = parser.parse_args()
    print('| program | with the fault | replay off by | gain: predicted | measured |')
    print('|---|---|---|---|---|')
    with tempfile.TemporaryDirectory(prefix='mpitrace-bench-') as directory:
        subprocess.run(['mpicc.' + args.mpi, '-g', '-O1', '-w', '-o', directory + '/mended', SOURCE], check=True)
        rows = [row(directory, args, name) for name in args.programs or PROGRAMS]
    print('\nOf %d programs, gains within a tenth of the measured ones or their range: %d; replays within 2 %% of the run: %d.' % (
        len(rows), sum(r[0] for r in rows), sum(r[1] for r in rows)))


if __name__ == '__main__':
    main()
