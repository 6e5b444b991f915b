#!/usr/bin/env python3
"""answers.py - programs of the kinds that people write: what is true of each is among the answers, what is not true is not, and ends are
told as they were. Computing is sleeping, so that a machine with much else to do changes little; where ranks exceed processors that may
stand first."""
import re

from judged import MACHINE, issue, names, page, run, terminal
from trace import FLAVOURS, Place, Tests

RANKS = 4
ALLREDUCE, RECEIVE = 'in MPI_Allreduce in crash', 'MPI_Recv in deadlock'


def certain(rank):
    """So long it computed: it was ready without a processor for the rest."""
    return rank['useful_s'] - min(rank['useful_s'], rank['processor_wait_s'] or 0)


def slow_rank(t, who, place, program):
    """Rank 1 has three times the work, whatever the others wait in."""
    for what in ('halo', 'fence', 'passive', 'polling'):
        a = run(place, program, what, RANKS)
        uneven, ranks = issue(a, 'load_imbalance'), a['per_rank']
        mean = sum(r['useful_s'] for r in ranks) / RANKS
        t.check('%s%s: rank 1 is uneven, if the machine leaves it that for certain' % (who, what), uneven or certain(ranks[1]) < 1.5 * mean,
                (a['issues'], ranks))
        t.check('%s%s: no other rank is' % (who, what), uneven is None or uneven['ranks'] == [1], (uneven, ranks))
        short = sum(r['processor_wait_s'] or 0 for r in ranks)
        t.check('%s%s: that comes first, or that processors were short, if they were for less' % (who, what), not uneven or
                names(a)[0] in ('load_imbalance', *MACHINE) or short > uneven['loss_s'], (names(a), short, uneven))
        t.check('%s%s: it has lost what the others had less to do' % (who, what), uneven is None or
                uneven['loss_s'] >= RANKS * (certain(ranks[1]) - mean) - 1e-3, (uneven, ranks))


def farm(t, who, place, program):
    a = run(place, program, 'farm', RANKS)
    master, workers = a['per_rank'][0], a['per_rank'][1:]
    idle, uneven = issue(a, 'idle_ranks'), issue(a, 'load_imbalance')
    busy = a['efficiency']['region_s'] - master['wait_s']
    t.check(who + 'the master idles, and nobody else', idle and idle['ranks'] == [0] or busy > 0.2 * a['efficiency']['region_s'], (idle, master))
    same = RANKS * max(map(certain, workers)) < 1.1 * sum(r['useful_s'] for r in workers) * RANKS / len(workers)
    t.check(who + 'that is not uneven work of the others, which is even', uneven is None or not idle or not same, (uneven, workers))
    t.check(who + 'the pattern is seen', 'master_worker' in [p['pattern'] for p in a['patterns']], a['patterns'])


def pipeline(t, who, place, program):
    a = run(place, program, 'pipeline', RANKS)
    t.check(who + 'ranks wait for each other in turn', {'serialization', 'delay'} & set(names(a)), names(a))
    sites = {c['id']: c for c in a['callsites']}
    delay, barrier = issue(a, 'delay'), issue(a, 'barrier_imbalance')
    op = sites[delay['callsites'][0]]['op'] if delay and delay['callsites'] else None
    t.check(who + 'at a call that the last rank never makes, it is not named', op != 'MPI_Send' or RANKS - 1 not in delay['ranks'], delay)
    if barrier:
        each, unit = re.search(r'in total, ([\d.]+) (s|ms|µs) each time', barrier['what']).groups()
        calls = sum(sites[i]['calls'] for i in barrier['callsites'])
        t.check(who + 'no barrier is counted twice', float(each) * {'s': 1, 'ms': 1e-3, 'µs': 1e-6}[unit] * calls >= 0.99 * barrier['loss_s'],
                (barrier, calls))


def processors(t, who, place, program):
    """A call is not said to take long by itself for time in which others had the processors."""
    for what in ('fence', 'transpose'):
        a = run(place, program, what, RANKS)
        without = sum(r['processor_wait_s'] or 0 for r in a['per_rank'])
        alone = issue(a, 'unexplained')
        took = max(c['time_s'] - c['wait_s'] for c in a['callsites'] if not c['op'].startswith('MPI_Init'))
        t.check('%s%s: what it took by itself is less than that' % (who, what), alone is None or alone['loss_s'] <= took - without + 1e-3,
                (alone, took, without))
        seen = max(r['processor_wait_s'] or 0 for r in a['per_rank']) >= 0.01 * a['efficiency']['region_s']
        t.equal('%s%s: it is said where it counts' % (who, what), '\nProcessors  ranks waited ' in terminal(place, what), seen)


def crash(t, who, place, program):
    a = run(place, program, 'crash', RANKS)
    t.check(who + 'a crash in a collective names rank and call', names(a)[0] == 'death' and 'Rank 1 ' in a['verdict'] and
            ALLREDUCE in a['verdict'], a['verdict'])


def deadlock(t, who, place, program):
    a = run(place, program, 'deadlock', RANKS, wrapper=('timeout', '-s', 'TERM', '6'))
    t.check(who + 'it is the verdict, and says who waits for whom', names(a)[0] == 'deadlock' and RECEIVE in a['verdict'] and
            'Rank 0 waits in MPI_Recv for rank 3' in a['verdict'], a['verdict'])
    never = sum(r['unreturned_s'] for r in a['per_rank'])
    rest = sum(r['mpi_s'] for r in a['per_rank']) - never
    crowd = issue(a, 'oversubscription')
    t.check(who + 'more processors would not have ended it', crowd is None or crowd['loss_s'] <= rest + 1e-3, (crowd, rest))
    said = ('never returned' in page(place, 'deadlock'), 'never returned' in ' '.join(terminal(place, 'deadlock').split()))
    t.equal(who + 'time in calls that never ended is said, where somebody told when they did', said, (never > 0, never > 0))
    t.check(who + 'operations and these are all of the time in MPI', abs(sum(o['time_s'] for o in a['operations'] if not o['op'].startswith('MPI_Init'))
            - rest) < 0.01 + 0.01 * rest, (a['operations'], rest))


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('answers.c')
            for case in (slow_rank, farm, pipeline, processors, crash, deadlock):
                case(t, '%s, %s: ' % (flavour, case.__name__), place, program)
    t.end()


main()
