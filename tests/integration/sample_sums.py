#!/usr/bin/env python3
"""sample_sums.py - the samples of several nodes become those of one trace: all together are the exact totals, to the tick, when a node is
silent, its agent comes back, its file is cut or has bytes in it that are no block, and when a sample speaks of who is not there."""
import json
import os
import subprocess
import tempfile

from trace import MPITRACE, TIMEOUT, Tests

NODES, RANKS = 2, 3
TICKS = 1000 # more a call than what grow_mpic says of open ones
START_S = 1700000000
PARTIAL = 4 # exit code: nobody was in MPI_Finalize
SILENT = 4 # format/mpix.h: MPIX_SAMPLE_SILENT


def grown(commands):
    """The trace of what grow_mpic is told: its samples, and its operations."""
    with tempfile.TemporaryDirectory(prefix='mpitrace-sums-') as place:
        step, mpix = place + '/step', place + '/job.mpix'
        os.mkdir(step)
        subprocess.run([os.environ['GROW_MPIC'], step, str(NODES), str(RANKS), str(START_S), '1', str(NODES), str(TICKS)],
                       input=''.join(line + '\n' for line in commands), text=True, check=True, capture_output=True, timeout=TIMEOUT)
        done = subprocess.run([MPITRACE, 'analyze', step, '-o', mpix], capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode not in (0, PARTIAL):
            raise RuntimeError(done.stderr)
        dump = subprocess.run([os.environ['MPIX_DUMP'], mpix], check=True, capture_output=True, text=True, timeout=TIMEOUT)
        show = subprocess.run([MPITRACE, 'show', mpix, '--json'], check=True, capture_output=True, text=True, timeout=TIMEOUT)
        return json.loads(dump.stdout)['samples'], [x['op'] for x in json.loads(show.stdout)['operations']]


def sums(samples):
    """{(rank, operation's number): [calls, ticks, bytes]}"""
    all_of = {}
    for *_, threads in samples:
        for lane, *_, cells in threads:
            for op, _, *values, _ in cells:
                was = all_of.get((lane, op), [0, 0, 0])
                all_of[lane, op] = [a + b for a, b in zip(was, values)]
    return all_of


def expected(k, ranks=range(NODES * RANKS)):
    """What grow_mpic.c says that each has done at sample k."""
    want = {}
    for r in ranks:
        sends = k * (r % 3 + 1)
        want[r, 0] = [sends, sends * 10 * TICKS, sends * 8]
        want[r, 1] = [k, k * (r + 1) * TICKS, 0]
    return want


def every(first, last):
    return ['sample %d 0 1' % k for k in range(first, last + 1)]


def of_node(all_sums, node):
    return {key: value for key, value in all_sums.items() if key[0] // RANKS == node}


def known(samples, rank):
    """What is known of it, sample by sample."""
    return [{lane: flags for lane, flags, *_ in threads}.get(rank, 0) for *_, threads in samples]


def main():
    t = Tests()
    samples, ops = grown(every(1, 6) + ['end 7 0 1'])
    t.equal('operations are numbered as their sums are', ops, ['MPI_Send', 'MPI_Barrier'])
    t.equal('samples of two nodes are numbered as one', [s[0] for s in samples], list(range(1, 8)))
    t.equal('each has all ranks of both', {tuple(x[0] for x in s[4]) for s in samples}, {tuple(range(NODES * RANKS))})
    t.equal('and all together are the exact totals, to the tick', sums(samples), expected(7))
    t.check('with calls that were open at a sample', samples[4][4][0][5][1][3] != samples[3][4][0][5][1][3], samples[3:5])

    samples, _ = grown(every(1, 2) + ['sample 3 0 0', 'whole 4 1 1', 'sample 4 0 0'] + every(5, 5) + ['end 6 0 1'])
    t.equal('a node that is silent in one sample is so there', [x & SILENT for x in known(samples, RANKS)], [0, 0, SILENT, 0, 0, 0])
    t.equal('the other is not', [x & SILENT for x in known(samples, 0)], [0] * 6)
    t.equal('when its agent comes back nothing is lost, nothing counted twice', sums(samples), expected(6))

    samples, _ = grown(every(1, 4) + ['cut 1 9'])
    t.equal('a file that was cut has all samples before', of_node(sums(samples), 1), of_node(expected(3), 1))
    t.equal('the other node has all of its own', of_node(sums(samples), 0), of_node(expected(4), 0))

    samples, _ = grown(every(1, 2) + ['junk 1 100'] + every(3, 4) + ['end 5 0 1'])
    t.equal('bytes that are no block take no sample away', sums(samples), expected(5))

    samples, _ = grown(every(1, 2) + ['forge 3 0 1'] + every(4, 4) + ['end 5 0 1'])
    t.equal('a sample that speaks of who is not there adds nothing to who is', sums(samples), expected(5))
    t.equal('nor any rank', {len(s[4]) for s in samples}, {NODES * RANKS})
    t.end()


main()
