#!/usr/bin/env python3
"""mistakes.py - what earlier tracers got wrong, each once: Fortran programs they killed, waits they blamed on the wrong side,
files that grew with every barrier."""
import os
import shutil

from trace import FLAVOURS, Place, Tests, operations

RANKS = 2


def fortran_many(t, place):
    program = place.compile('fortran_many.f90')
    plain, traced = place.plain(RANKS, program), place.traced(RANKS, program)
    who = '2,000 requests from Fortran under %s: ' % place.flavour
    t.equal(who + 'the result is that of the untraced program', (traced.stdout, traced.returncode),
            (plain.stdout, plain.returncode))
    a = place.analysis()
    ops = operations(a)
    t.equal(who + 'calls are exact', {k: ops.get(k) for k in ('MPI_Irecv', 'MPI_Isend', 'MPI_Waitall', 'MPI_Init_thread')},
            {'MPI_Irecv': 1000 * RANKS, 'MPI_Isend': 1000 * RANKS, 'MPI_Waitall': RANKS, 'MPI_Init_thread': RANKS})
    t.equal(who + 'every message is matched', (a['summary']['transfers'], {k: v for k, v in a['coverage']['unmatched'].items() if v}),
            (1000 * RANKS, {}))


def late_senders(t, place):
    program = place.compile('mistakes.c')
    run = place.traced(RANKS, program, 'late', name='late')
    a = place.analysis('late')
    who = '20 late senders under %s: ' % place.flavour
    t.check(who + 'the program runs', run.returncode == 0, run.stderr.decode())
    states = [w for w in a['wait_states'] if w['state'] == 'late_sender']
    t.equal(who + 'all are found: who waited, for whom', [(w['rank'], w['causer'], w['count']) for w in states], [(1, 0, 20)])
    seconds = {w['state']: w['seconds'] for w in a['wait_totals']}
    t.check(who + 'with 4 ms of waiting each at least', seconds.get('late_sender', 0) > 0.08, seconds)
    t.equal(who + 'nobody is blamed for receiving late', seconds.get('late_receiver', 0) < 0.005, True)


def many_barriers(t, place):
    program = place.compile('mistakes.c')
    run = place.traced(RANKS, program, 'barriers', name='barriers')
    who = '100,000 barriers under %s: ' % place.flavour
    t.check(who + 'the program runs', run.returncode == 0, run.stderr.decode())
    t.equal(who + 'calls are exact', operations(place.analysis('barriers')).get('MPI_Barrier'), 100000 * RANKS)
    sizes = {end: os.path.getsize(place.dir + '/out/barriers' + end) for end in ('.mpic', '.html')}
    t.check(who + 'the trace is below two bytes a call, the report no longer than others',
            sizes['.mpic'] < 2 * 100000 * RANKS and sizes['.html'] < 500000, sizes)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            if shutil.which('mpifort.' + flavour):
                fortran_many(t, place)
            late_senders(t, place)
            many_barriers(t, place)
    t.end()


main()
