#!/usr/bin/env python3
"""mistakes.py - what earlier tracers got wrong, each once: Fortran programs they killed, waits they blamed on the wrong side,
files that grew with every barrier."""
import os
import shutil
import subprocess

from trace import FLAVOURS, MPITRACE, Place, Tests, operations, page_bytes, whole

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
    # How long is not asked, nor that all 20 were late: on a busy machine rank 1 may be late itself. But nobody else waits, nor for
    # anybody else, and a sender that sleeps with the message in its hand is never one that waits for its receiver.
    late = [w for w in a['wait_states'] if w['state'] == 'late_sender']
    t.equal(who + 'the receiver waited for the sender, and nobody else for anybody', [(w['rank'], w['causer']) for w in late], [(1, 0)])
    t.check(who + 'for no more messages than there were', all(0 < w['count'] <= 20 for w in late), late)
    seconds = {w['state']: w['seconds'] for w in a['wait_totals']}
    t.check(who + 'the receiver is not blamed for more', seconds.get('late_sender', 0) > seconds.get('late_receiver', 0), seconds)


def columns(path):
    """Bytes of structure, bytes of times, calls, the entropy of their times in bytes, bytes of the file."""
    out = subprocess.run([os.environ['MPIC_COLUMNS'], path], capture_output=True, check=True, text=True).stdout
    return dict(zip(('structure', 'times', 'calls', 'entropy', 'file'), map(int, out.split())))


def barriers(t, place, program, name, n):
    run = whole([MPITRACE, 'run', '-n', str(RANKS), '--sample', '0.05', '--out', place.dir + '/out', '--name', name, '--',
                 program, 'barriers', str(n)], place.env, place.dir)
    t.check('%d barriers under %s: the program runs' % (n, place.flavour), run.returncode == 0, run.stderr.decode())
    return columns(place.dir + '/out/%s.mpic' % name), page_bytes(place.dir + '/out/%s.html' % name)[0]


def many_barriers(t, place):
    """What times take depends on the processor's clock, so they are compared with their own entropy; all else must not
    grow. How long the machine takes for it is not asked: what the agent writes as time goes is not counted, and here it
    writes as often as it may."""
    program = place.compile('mistakes.c')
    few, few_page = barriers(t, place, program, 'few', 1000)
    many, many_page = barriers(t, place, program, 'many', 100000)
    who = '100,000 barriers under %s: ' % place.flavour
    t.equal(who + 'calls are exact', operations(place.analysis('many')).get('MPI_Barrier'), 100000 * RANKS)
    t.equal(who + 'each is in the trace', many['calls'] - few['calls'], (100000 - 1000) * RANKS)
    t.check(who + 'their times take at most 1.3 times their entropy', many['times'] < 1.3 * many['entropy'], many)
    t.check(who + 'which call it was takes next to nothing', many['structure'] - few['structure'] < 0.02 * (many['calls'] - few['calls']),
            (few, many))
    t.check(who + 'the report is as long as that of 1,000, beside the trace that it carries', many_page < 1.5 * few_page, (few_page, many_page))


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
