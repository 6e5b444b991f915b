#!/usr/bin/env python3
"""hard.py - cases that broke other tracers: many requests, freed requests, polling, a tag a message, 64 threads, longjmp out
of a call, mpi4py with libmpi loaded out of sight."""
import os
import shutil
import subprocess

from trace import FLAVOURS, MPITRACE, Place, Tests, operations

WANT = {
    'outstanding': {'MPI_Irecv': 10000, 'MPI_Isend': 10000, 'MPI_Waitall': 1},
    'startall': {'MPI_Startall': 3, 'MPI_Waitall': 3, 'MPI_Request_free': 3000},
    'freed': {'MPI_Isend': 400000, 'MPI_Request_free': 400000, 'MPI_Recv': 400000},
    'polls': {'MPI_Test': 1000000, 'MPI_Irecv': 1, 'MPI_Send': 1, 'MPI_Wait': 1},
    'pollers': {'MPI_Testany': 1000000, 'MPI_Testall': 100000, 'MPI_Testsome': 100000, 'MPI_Request_get_status': 100000},
    'tags': {'MPI_Irecv': 50000, 'MPI_Send': 50000, 'MPI_Wait': 50000, 'MPI_Iprobe': 3000},
    'threads': {'MPI_Irecv': 32000, 'MPI_Isend': 32000, 'MPI_Waitall': 32000},
    'jumps': {'MPI_Barrier': 10},
    'errors': {'MPI_Irecv': 100, 'MPI_Isend': 100, 'MPI_Waitall': 50},
}
MESSAGES = {'outstanding': 10000, 'startall': 4500, 'freed': 400000, 'polls': 1, 'pollers': 2, 'tags': 50000, 'threads': 32000, 'jumps': 0, 'errors': 100}
PYTHON = '''
from mpi4py import MPI
comm = MPI.COMM_WORLD
total = comm.allreduce(comm.rank + 1)
if comm.rank == 0:
    print(total)
for i in range(10):
    comm.Barrier()
'''


def cases(t, place):
    program = place.compile('hard.c', '-pthread')
    for case, want in WANT.items():
        who = '%s, %s: ' % (place.flavour, case)
        words = [program, case]
        plain = subprocess.run(words, env=place.env, cwd=place.dir, capture_output=True, timeout=120)
        traced = subprocess.run([MPITRACE, 'run', '--out', place.dir + '/out', '--name', case, '--'] + words,
                                env=place.env, cwd=place.dir, capture_output=True, timeout=240)
        t.equal(who + 'the result is that of the untraced program', (traced.stdout, traced.returncode),
                (plain.stdout, plain.returncode))
        a = place.analysis(case)
        ops = operations(a)
        t.equal(who + 'calls are exact', {k: ops.get(k) for k in want}, want)
        c = a['coverage']
        bad = {k: v for k, v in c['unmatched'].items() if v}
        t.equal(who + 'every message is matched, nothing is lost', (a['summary']['transfers'], bad, c['events_lost']),
                (MESSAGES[case], {}, 0))
        if case == 'polls':
            t.check(who + 'a million tests are few events', c['events'] < 100, c['events'])


def full_definitions(t, place):
    """What the tracer has no room for is a number, and the calls are there all the same."""
    program = place.compile('hard.c', '-pthread')
    run = place.traced(1, program, 'communicators', name='communicators')
    who = '%s, 200,000 communicators: ' % place.flavour
    t.equal(who + 'the program runs', (run.returncode, run.stderr if run.returncode else b''), (0, b''))
    a = place.analysis('communicators')
    ops, c = operations(a), a['coverage']
    t.equal(who + 'calls are exact', (ops.get('MPI_Comm_dup'), ops.get('MPI_Comm_free'), c['events_lost']), (200000, 200000, 0))
    known = len(a['communicators']) + a['communicators_left_out']
    t.equal(who + 'each is defined, or counted as missing', known + c['definitions_missing'], 200000 + 1) # MPI_COMM_SELF
    t.check(who + 'the coverage says so', c['definitions_missing'] > 0 and not c['complete'] and
            any('found no room' in r for r in c['reasons']), c)


def mpi4py(t):
    if subprocess.run(['/usr/bin/python3', '-c', 'import mpi4py.MPI'], capture_output=True).returncode != 0:
        return
    with Place('openmpi') as place:
        script = place.dir + '/p.py'
        with open(script, 'w') as f:
            f.write(PYTHON)
        plain = place.plain(2, '/usr/bin/python3', script)
        traced = place.traced(2, '/usr/bin/python3', script)
        t.equal('mpi4py: the result is that of the untraced program', (traced.stdout, traced.returncode),
                (plain.stdout, plain.returncode))
        t.equal('mpi4py: barriers are exact', operations(place.analysis()).get('MPI_Barrier'), 20)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            cases(t, place)
            full_definitions(t, place)
    if shutil.which('mpirun.openmpi'):
        mpi4py(t)
    t.end()


main()
