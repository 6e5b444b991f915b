#!/usr/bin/env python3
"""oracle.py - does another build of the analysis say the same, byte for byte? For changes that may change nothing.

  oracle.py [--quick] [--units OLD NEW] OLD NEW [TRACE...]

OLD and NEW: the commands (mpitrace). Each TRACE, an .mpic or a directory of the .mpic of one step, is analysed by both, by NEW with one
thread and with three; the .mpix must be equal. Without TRACE: those of generate.c (GENERATE of the environment, or build/), all
patterns and several numbers of ranks and nodes, whole, without the end of a node's file, with a damaged block, and without a node.
--units: directories of the unit tests' programs of both builds, of which all analyses must be equal too; their programs have what the
generator does not: wildcards, probes, cancelled and partitioned messages, threads, one-sided calls, crooked clocks.

The exit code is 1 where anything differs."""
import argparse
import collections
import glob
import os
import subprocess
import sys
import tempfile

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../build')
GENERATE = os.environ.get('GENERATE') or os.path.join(BUILD, 'tests/bench/generate')
# Ranks, nodes, events per rank.
SIZES = {'halo': ((1, 1, 500), (6, 3, 20000), (70, 7, 1500), (300, 4, 300)), 'alltoall': ((1, 1, 500), (7, 3, 4000), (130, 7, 300)),
         'master': ((2, 2, 500), (3, 3, 20000), (130, 7, 400)), 'irregular': ((1, 1, 500), (6, 3, 20000), (70, 7, 1500), (300, 4, 200)),
         'self': ((1, 1, 20000), (40, 2, 500))}
LENGTH_KEPT = 0.7  # of a file without its end
DAMAGED_AT = 0.5   # of a file with a damaged block


class Oracle:
    def __init__(self, old, new, folder):
        self.old, self.new, self.folder = old, new, folder
        self.traces = self.differ = 0

    def analysed(self, command, trace, *words):
        """The bytes of the .mpix, and how it ended."""
        path = self.folder + '/made.mpix'
        run = subprocess.run([command, 'analyze', trace, '-o', path, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if not os.path.exists(path):
            return run.returncode, run.stderr
        with open(path, 'rb') as f:
            made = f.read()
        os.unlink(path)
        return run.returncode, made

    def compare(self, trace, what):
        wanted = self.analysed(self.old, trace)
        found = [self.analysed(self.new, trace, '--threads', n) for n in ('1', '3')]
        self.traces += 1
        for n, one in zip(('1', '3'), found):
            if one != wanted:
                self.differ += 1
                print('%s: differs with %s threads (%s, %s; %d, %d bytes)' % (what, n, wanted[0], one[0], len(wanted[1]), len(one[1])))

    def analyses(self, program):
        """How often each analysis was made by a unit test's program."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            subprocess.run([program], env=dict(os.environ, MPITRACE_ANALYSES=folder), capture_output=True)
            made = collections.Counter()
            for path in glob.glob(folder + '/*'):
                with open(path, 'rb') as f:
                    made[f.read()] += 1
            return made

    def compare_units(self, old, new):
        for path in sorted(glob.glob(new + '/test_*')):
            name = os.path.basename(path)
            if os.path.isdir(path) or not os.path.exists(old + '/' + name):
                continue
            wanted, found = self.analyses(old + '/' + name), self.analyses(path)
            self.traces += sum(wanted.values())
            if wanted != found:
                self.differ += 1
                print('%s: %d of %d analyses differ' % (name, sum((wanted - found).values()), sum(wanted.values())))


def hurt(folder):
    """Names what was done to a generated trace, one after the other."""
    files = sorted(glob.glob(folder + '/*.mpic'))
    yield 'whole'
    with open(files[0], 'r+b') as f:
        length = os.path.getsize(files[0])
        f.seek(int(length * DAMAGED_AT))
        byte = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte[0] ^ 0x55]))
    yield 'damaged'
    os.truncate(files[-1], int(os.path.getsize(files[-1]) * LENGTH_KEPT))
    yield 'cut'
    if len(files) > 1:
        os.unlink(files[0])
        yield 'without a node'


def generated(oracle, quick):
    for pattern, sizes in SIZES.items():
        for ranks, nodes, events in sizes:
            for clock in ('steps', 'noise'):
                folder = tempfile.mkdtemp(dir=oracle.folder)
                subprocess.run([GENERATE, '--pattern', pattern, '--ranks', str(ranks), '--nodes', str(nodes), '--events-per-rank',
                                str(max(20, events // 5) if quick else events), '--clock', clock, '-o', folder], capture_output=True, check=True)
                for what in hurt(folder):
                    oracle.compare(folder, '%s, %d ranks, %s, %s' % (pattern, ranks, clock, what))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--units', nargs=2, metavar=('OLD', 'NEW'))
    parser.add_argument('old')
    parser.add_argument('new')
    parser.add_argument('traces', nargs='*')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='mpitrace-oracle-') as folder:
        oracle = Oracle(os.path.abspath(args.old), os.path.abspath(args.new), folder)
        for trace in args.traces:
            oracle.compare(trace, trace)
        if args.units:
            oracle.compare_units(*args.units)
        if not args.traces:
            generated(oracle, args.quick)
        print('%d traces, %d differ' % (oracle.traces, oracle.differ))
        sys.exit(oracle.differ > 0)


if __name__ == '__main__':
    main()
