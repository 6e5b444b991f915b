#!/usr/bin/env python3
"""fleeting.py - messages whose size or tag never comes again: their words go with the event and leave nothing else behind; calls, messages
and bytes are exact all the same, with events and without; and where the events are lost, what is not known is a number."""
import subprocess

from trace import FLAVOURS, MPITRACE, Place, Tests, matrix, operations

N = 4000
CALLS = N + N // 2
DEFINED_FIRST = 1024 # pmpi/stream.h, STREAM_FIRST_SIGHT
EVENTS, FIRST, HEAD = 3, 16, 40 # format/mpic.h


def exact(t, who, run, a, events=True):
    sent = int(run.stdout)
    ops = operations(a)
    t.equal(who + 'calls', {op: ops.get(op) for op in ('MPI_Sendrecv', 'MPI_Irecv', 'MPI_Isend', 'MPI_Waitall')},
            dict.fromkeys(('MPI_Sendrecv', 'MPI_Irecv', 'MPI_Isend', 'MPI_Waitall'), 2 * CALLS))
    t.equal(who + 'messages and bytes', matrix(a, 'p2p', 'messages'), {(0, 1): (2 * CALLS, sent), (1, 0): (2 * CALLS, sent)})
    reasons = a['coverage']['reasons']
    t.check(who + 'complete', a['coverage']['complete'] and (not reasons if events else len(reasons) == 1 and reasons[0].startswith('totals were asked for')), reasons)


def damage(path):
    """What was recorded one by one can no longer be read."""
    with open(path, 'r+b') as f:
        data = bytearray(f.read())
        at = FIRST
        while data[at:at + 4] == b'MPBK' and at + HEAD <= len(data):
            packed = int.from_bytes(data[at + 28:at + 32], 'little')
            if data[at + 4] == EVENTS:
                data[at + HEAD + packed // 2] ^= 0xff
            at += HEAD + packed
        f.seek(0)
        f.write(data)


def lost(t, place):
    mpic, mpix = place.dir + '/out/events.mpic', place.dir + '/out/lost.mpix'
    damage(mpic)
    subprocess.run([MPITRACE, 'analyze', mpic, '-o', mpix], env=place.env, capture_output=True)
    a = place.analysis('lost')
    told = [r for r in a['coverage']['reasons'] if 'without sizes and partners' in r]
    t.check('%s: events lost: of how many messages only number and time are known is said' % place.flavour,
            not a['coverage']['complete'] and len(told) == 1 and int(told[0].split()[-2].replace(',', '')) > 2 * N, a['coverage'])
    t.equal('%s: events lost: calls are exact' % place.flavour, operations(a).get('MPI_Sendrecv'), 2 * CALLS)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('fleeting.c')
            run = place.traced(2, program, str(N), name='events')
            exact(t, flavour + ': ', run, place.analysis('events'))
            cost = place.analysis('events')['overhead']
            t.check(flavour + ': the agent took time, and no more of it is told than it took',
                    0 <= cost['agent_share'] <= cost['share'] and cost['agent_s'] > 0, cost)
            for rank, process in place.records('events').items():
                t.check('%s: rank %d: what came once is no definition' % (flavour, rank),
                        len(process['sigs']) < DEFINED_FIRST + 3 * N // 2 + 100, len(process['sigs']))
            run = place.traced(2, program, str(N), name='profile', MPITRACE_MODE='profile')
            a = place.analysis('profile')
            exact(t, flavour + ', profile: ', run, a, False)
            t.check(flavour + ', profile: what calls cost is told as well', 0 < a['overhead']['ns_per_call'] < 10000 and
                    a['overhead']['tracing_s'] > a['overhead']['slow_s'], a['overhead'])
            lost(t, place)
    t.end()


main()
