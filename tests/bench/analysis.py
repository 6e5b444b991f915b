#!/usr/bin/env python3
"""analysis.py - what the analysis costs, beside the floor: a markdown table.

  analysis.py [--quick | --full] [--growth] [--set PATTERN:RANKS:EVENTS]... [--clock steps|noise] [--runs N] [--scratch DIR]

Without options: each pattern of generate.c with 64 ranks and 1 and 10 million events. --quick: 1 million only. --full: also 100
million events of 256 ranks, and 16,384 ranks of 1,000. --growth: halo of 64 ranks with 1, 10 and 100 million. --set: these only. Last
comes how long somebody waits for the report of a small program, and for the page of 16,384 ranks.

Programs are those of build/, or where MPITRACE, GENERATE and FLOOR_READ of the environment say. Traces are made in the scratch
directory (the system's temporary one), read from the page cache, and removed.

- events/s: best and median of the runs, by the wall clock; CPU: user and system time of the median run, which tells more
  where others use the machine as well.
- The floor, one thread and two: check all blocks, inflate and decode all events, nothing else (floor_read.c), and write and sync
  as many bytes as the .mpix has. "by the floor" is the median run divided by the floor with two threads.

No figure makes this command fail."""
import argparse
import glob
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../build')
PATTERNS = ('halo', 'alltoall', 'master', 'irregular', 'self')
MILLION = 1000000
CHUNK_BYTES = 1 << 20
RANKS_A_NODE = 64
HEAD = ('pattern', 'ranks', 'events', 'events/s best', 'median', 's', 'CPU s', 'CPU ns an event', 'peak RSS MiB', 'RSS B an event',
        '.mpic B an event', '.mpix B an event', '.mpix/.mpic', 'read 1 thread s', '2 threads s', 'write s', 'by the floor')


def program(variable, path):
    found = os.environ.get(variable) or os.path.join(BUILD, path)
    if not os.access(found, os.X_OK):
        sys.exit('analysis.py: no %s: build it (meson compile -C build), or set %s' % (found, variable))
    return os.path.abspath(found)


class Run:
    """One command to its end: wall and CPU seconds, peak resident bytes, exit code."""

    def __init__(self, words):
        began = time.monotonic()
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        self.wall_s = time.monotonic() - began
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.rss_bytes = usage.ru_maxrss * 1024
        self.code = child.returncode = os.waitstatus_to_exitcode(status)


def size_of(folder):
    return sum(os.path.getsize(path) for path in glob.glob(folder + '/*.mpic'))


def write_s(path, length):
    """Seconds to write and sync a file of that length."""
    chunk = os.urandom(CHUNK_BYTES)
    began = time.monotonic()
    with open(path, 'wb', buffering=0) as f:
        for at in range(0, length, CHUNK_BYTES):
            f.write(chunk[:length - at])
        os.fsync(f.fileno())
    took = time.monotonic() - began
    os.unlink(path)
    return took


class Bench:
    def __init__(self, args):
        self.mpitrace = program('MPITRACE', 'cli/mpitrace')
        self.generate = program('GENERATE', 'tests/bench/generate')
        self.floor_read = program('FLOOR_READ', 'tests/bench/floor_read')
        self.args = args
        self.folder = tempfile.mkdtemp(prefix='mpitrace-bench-', dir=args.scratch)
        self.traces, self.mpix = self.folder + '/t', self.folder + '/t.mpix'

    def make(self, pattern, ranks, events):
        """The number of events that are there; 0 when they could not be made."""
        shutil.rmtree(self.traces, ignore_errors=True)
        out = subprocess.run([self.generate, '--pattern', pattern, '--ranks', str(ranks), '--nodes',
                              str(max(1, ranks // RANKS_A_NODE)), '--events-per-rank', str(max(1, events // ranks)), '--clock',
                              self.args.clock, '-o', self.traces], stdout=subprocess.PIPE, text=True)
        return json.loads(out.stdout)['events'] if out.returncode == 0 else 0

    def analyse(self, *more):
        return Run([self.mpitrace, 'analyze', self.traces, '-o', self.mpix, *more])

    def floor_s(self, threads):
        """Seconds; the best of the runs."""
        taken = []
        for _ in range(self.args.runs):
            out = subprocess.run([self.floor_read, str(threads)] + glob.glob(self.traces + '/*.mpic'), stdout=subprocess.PIPE, text=True)
            if out.returncode != 0:
                return float('nan')
            told = json.loads(out.stdout)
            taken.append(told['open_s'] + told['read_s'])
        return min(taken)

    def row(self, pattern, ranks, wanted):
        events = self.make(pattern, ranks, wanted)
        runs = [self.analyse() for _ in range(self.args.runs)] if events else []
        bad = [r.code for r in runs if r.code != 0]
        if not events or bad:
            put_row((pattern, number(ranks), number(events or wanted),
                     'the analysis ended with %d' % bad[0] if bad else 'cannot be generated') + ('',) * (len(HEAD) - 4))
            return
        runs.sort(key=lambda r: r.wall_s)
        best, middle, rss = runs[0], runs[len(runs) // 2], statistics.median(r.rss_bytes for r in runs)
        mpic, mpix = size_of(self.traces), os.path.getsize(self.mpix)
        one, two, written = self.floor_s(1), self.floor_s(2), write_s(self.folder + '/floor', mpix)
        put_row((pattern, number(ranks), number(events), number(events / best.wall_s), number(events / middle.wall_s),
                 '%.2f' % middle.wall_s, '%.2f' % middle.cpu_s, '%.0f' % (middle.cpu_s * 1e9 / events), number(rss / (1 << 20)),
                 '%.0f' % (rss / events), '%.2f' % (mpic / events), '%.2f' % (mpix / events), '%.2f' % (mpix / mpic), '%.2f' % one,
                 '%.2f' % two, '%.2f' % written, '%.1f' % (middle.wall_s / (two + written))))

    def report(self, pattern='halo', ranks=16, events=100000):
        made = self.make(pattern, ranks, events)
        runs = [self.analyse('--report', self.folder + '/t.html') for _ in range(max(5, self.args.runs))] if made else []
        if not runs or any(r.code != 0 for r in runs):
            print('\nNo report of %d ranks.' % ranks)
            return
        print('\n%d ranks, %s events (%s): seconds from start to report: best %.3f, median %.3f' %
              (ranks, number(made), pattern, min(r.wall_s for r in runs), statistics.median(r.wall_s for r in runs)))

    def page(self, pattern='halo', ranks=16384, events=16384 * 20):
        """Only the page, of a trace that is analysed."""
        made = self.make(pattern, ranks, events)
        ready = made and self.analyse().code == 0
        runs = [Run([self.mpitrace, 'report', self.mpix, '-o', self.folder + '/t.html']) for _ in range(self.args.runs)] if ready else []
        if not runs or any(r.code != 0 for r in runs):
            print('\nNo page of %d ranks.' % ranks)
            return
        print('\n%d ranks (%s): seconds for the page alone: best %.2f, median %.2f; it has %.2f MiB' %
              (ranks, pattern, min(r.wall_s for r in runs), statistics.median(r.wall_s for r in runs),
               os.path.getsize(self.folder + '/t.html') / (1 << 20)))

    def done(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def number(n):
    return '{:,.0f}'.format(n)


def put_row(cells):
    print('| ' + ' | '.join(cells) + ' |')
    sys.stdout.flush()


def one_set(text):
    pattern, ranks, events = text.split(':')
    return pattern, int(ranks), int(events.replace(',', ''))


def sets_of(args):
    if args.set:
        return args.set
    growth = [('halo', 64, n * MILLION) for n in (1, 10, 100)] if args.growth else []
    if args.growth and not args.full and not args.quick:
        return growth
    sets = [(p, 64, n * MILLION) for n in ((1,) if args.quick else (1, 10)) for p in PATTERNS]
    if args.full:
        sets += [('halo', 256, 100 * MILLION), ('irregular', 256, 100 * MILLION)]
        sets += [(p, 16384, 16384 * 1000) for p in ('halo', 'irregular')]
    return sets + [s for s in growth if s not in sets]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--full', action='store_true')
    parser.add_argument('--growth', action='store_true')
    parser.add_argument('--set', action='append', type=one_set)
    parser.add_argument('--clock', choices=('steps', 'noise'), default='steps')
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--scratch')
    args = parser.parse_args()
    bench = Bench(args)
    try:
        print('%s, %d cores, clock %s, %d runs each\n' % (platform.processor() or platform.machine(), os.cpu_count(), args.clock,
                                                         args.runs))
        put_row(HEAD)
        put_row(('---',) + ('--:',) * (len(HEAD) - 1))
        for pattern, ranks, events in sets_of(args):
            bench.row(pattern, ranks, events)
        bench.report()
        if not args.quick:
            bench.page()
    finally:
        bench.done()


if __name__ == '__main__':
    main()
