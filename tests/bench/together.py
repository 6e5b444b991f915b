#!/usr/bin/env python3
"""together.py - what each process of `mpitrace analyze --mpi` takes: seconds of processor (user and system) and MiB, by the system's
account of it (wait4). One line a number of processes, of which the last columns are: process 0, the most of the others, and how that
compares with one process divided by their number.

    together.py BUILD [--pattern halo] [--ranks 256] [--nodes 8] [--events 16000] [--mpi openmpi] [--processes 1,2,4,8]"""
import argparse
import os
import re
import subprocess
import sys
import tempfile


def one(words):
    """A process of the job, whatever the launcher gave it kept: its account on standard output."""
    child = os.fork()
    if child == 0:
        os.execv(words[0], words)
    _, status, used = os.wait4(child, 0)
    rank = os.environ.get('OMPI_COMM_WORLD_RANK', os.environ.get('PMI_RANK', '0'))
    os.write(1, b'\nACCOUNT %d %.3f %d\n' % (int(rank), used.ru_utime + used.ru_stime, used.ru_maxrss // 1024))
    return os.waitstatus_to_exitcode(status)


def accounts(o, processes, trace, out):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', OMPI_MCA_rmaps_base_oversubscribe='1')
    run = subprocess.run(['mpirun.' + o.mpi, '-n', str(processes), sys.executable, os.path.abspath(__file__), '--one',
                          o.build + '/cli/mpitrace', 'analyze', '--mpi', trace, '-o', out], env=env, capture_output=True, text=True, check=True)
    rows = re.findall(r'ACCOUNT (\d+) ([\d.]+) (\d+)\n', run.stdout)
    return {int(rank): (float(seconds), int(mib)) for rank, seconds, mib in rows}


def main():
    if sys.argv[1:2] == ['--one']:
        return one(sys.argv[2:])
    p = argparse.ArgumentParser()
    p.add_argument('build', type=os.path.abspath)
    for name, default in (('pattern', 'halo'), ('ranks', '256'), ('nodes', '8'), ('events', '16000'), ('mpi', 'openmpi'), ('processes', '1,2,4,8')):
        p.add_argument('--' + name, default=default)
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([o.build + '/tests/bench/generate', '--pattern', o.pattern, '--ranks', o.ranks, '--nodes', o.nodes,
                        '--events-per-rank', o.events, '-o', folder], stdout=subprocess.DEVNULL, check=True)
        print('processes  first: s, MiB    others, most: s, MiB    by one / processes: first, others')
        base = None
        for n in map(int, o.processes.split(',')):
            all_of = accounts(o, n, folder, folder + '/job.mpix')
            first, others = all_of[0], [v for k, v in all_of.items() if k > 0]
            base = base or first[0]
            most = max(x[0] for x in others) if others else 0
            print('%9d  %8.2f %6d   %12.2f %6d   %22.2f %6.2f' % (n, *first, most, max((x[1] for x in others), default=0),
                                                              first[0] * n / base, most * n / base), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
