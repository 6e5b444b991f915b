#!/usr/bin/env python3
"""live_once.py - what one look at a running job says, to the last digit: samples an hour apart, so that no machine is too busy for it."""
import os
import subprocess
import tempfile
import time

from trace import MPITRACE, Tests

GAP_S = 3600
TICKS = GAP_S * 10**7
RANKS = '''each rank's share of MPI, and what it is in:
[##..................] rank 0 %(in)s
[####................] rank 1 %(in)s
[#######.............] rank 2 %(in)s
[###.................] rank 3 %(in)s
[#####...............] rank 4 %(in)s
[#######.............] rank 5 %(in)s
'''
OUTSIDE = '''sample 3: 9 ranks on 3 nodes: 0 in MPI, 6 outside, 0 ended, 3 without samples
node n2 has no trace yet
last interval:  useful 76 %  MPI 24 %  ready without a processor < 0.1 %
    13 %  MPI_Send
   2.3 %  MPI_Barrier
''' + RANKS % {'in': 'outside of MPI'} + '''[                    ] rank 6 has no samples
[                    ] rank 7 has no samples
[                    ] rank 8 has no samples
'''
INSIDE = '''sample 5: 6 ranks on 2 nodes: 6 in MPI, 0 outside, 0 ended, 0 without samples
last interval:  useful 76 %  MPI 24 %  ready without a processor < 0.1 %
    20 %  MPI_Send
   3.5 %  MPI_Barrier
''' + RANKS % {'in': 'in MPI_Barrier, root rank 0 for 100 ns'}
LATE = '''sample 3: 2 ranks on 2 nodes: 0 in MPI, 0 outside, 0 ended, 2 without samples
node n0 lags: its last sample is old
node n1 lags: its last sample is old, 1 h 00 min before the others'
each rank's share of MPI, and what it is in:
[                    ] rank 0 has no samples
[                    ] rank 1 has no samples
'''


def look(commands, ago_s, nodes=2, ranks=3, listed=2):
    with tempfile.TemporaryDirectory(prefix='mpitrace-live-') as step:
        subprocess.run([os.environ['GROW_MPIC'], step, *map(str, (nodes, ranks, int(time.time()) - ago_s, GAP_S, listed, TICKS))], input=commands,
                       check=True, stdout=subprocess.DEVNULL, encoding='utf-8')
        text = subprocess.run([MPITRACE, 'live', step, '--once'], check=True, stdout=subprocess.PIPE, encoding='utf-8').stdout
    return '\n'.join(line.rstrip() for line in text.split('\n'))


def main():
    t = Tests()
    t.equal('ranks outside of MPI, of a node without a trace nothing', look('sample 1 0 1\nsample 2 0 1\nsample 3 0 0\n', 3 * GAP_S, listed=3), OUTSIDE)
    t.equal('ranks in a barrier, the calls that took most', look('sample 4 0 1\nsample 5 0 1\n', 5 * GAP_S), INSIDE)
    t.equal('of nodes whose samples are old nothing is said but that', look('sample 2 0 1\nsample 3 0 0\n', 300 * GAP_S, ranks=1), LATE)
    t.end()


main()
