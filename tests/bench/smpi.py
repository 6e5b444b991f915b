#!/usr/bin/env python3
"""smpi.py - `mpitrace whatif` beside SimGrid's SMPI (Degomme et al., IEEE TPDS 28, 2017), whose models of messages and collectives others have
validated: both replay the same traces, unchanged and with another network, SMPI with the latency and bandwidth that whatif found. Prints a
line a program: how far each is off the recorded run, and what each says of twice the bandwidth and of half the latency. Programs that are
traced run at real-time priority, as root. Needs smpirun (Debian's libsimgrid-dev). MPITRACE: the command.

  smpi.py [--ranks N] [PROGRAM...]"""
import argparse
import csv
import json
import os
import re
import subprocess
import tempfile
from collections import defaultdict

from bench import ENV, HERE, MPITRACE

# Collectives by what SMPI's replay calls them; sizes in bytes.
COLLECTIVES = {'MPI_Barrier': 'barrier', 'MPI_Allreduce': 'allreduce {0} 0', 'MPI_Alltoall': 'alltoall {1} {1}'}
MENDED = os.path.join(HERE, '..', 'programs', 'mended.c')
FLOWS = os.path.join(HERE, 'flows.c')
PROGRAMS = {'barrier': MENDED, 'halo': MENDED, 'late_send': MENDED, 'pipeline': MENDED, 'master': MENDED, 'alltoall': MENDED,
            'ring': FLOWS, 'receives': FLOWS, 'exchange': FLOWS, 'mixed': FLOWS}
PLATFORM = '''<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="run" prefix="h" suffix="" radical="0-%d" speed="1Gf" bw="%.9gBps" lat="%.9gs"/>
</platform>
'''
FREE_BYTES_PER_S, FREE_LATENCY_S = 1e12, 1e-6  # where the run showed none


def rows(path):
    with open(path, newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


class Rank:
    """Lines for SMPI of one rank's calls; computing in flops of a processor that makes one a nanosecond."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks, self.lines, self.sent = rank, ranks, ['%d init' % rank], []

    def say(self, *words):
        self.lines.append(' '.join(str(w) for w in (self.rank, *words)))

    def compute(self, ns):
        if ns > 0:
            self.say('compute', ns)

    def complete_sends(self):
        for m in self.sent:
            self.say('wait', m['src'], m['dst'], m['tag'])
        self.sent = []

    def call(self, e, sends, posts, completions):
        op, waits = e['op'], e['op'].startswith('MPI_Wait')
        for m in posts:
            self.say('irecv', m['src'], m['tag'], m['bytes'])
        for m in sends:
            self.say('send' if op in ('MPI_Send', 'MPI_Ssend') else 'isend', m['dst'], m['tag'], m['bytes'])
            self.sent += [] if op in ('MPI_Send', 'MPI_Ssend') else [m]
        for m in completions:
            self.say('wait', m['src'], m['dst'], m['tag'])
        if waits or op == 'MPI_Sendrecv':
            self.complete_sends()
        if op in COLLECTIVES:
            self.say(COLLECTIVES[op].format(e['bytes'], int(e['bytes']) // self.ranks))
        elif not (sends or posts or completions or waits):
            self.compute(int(e['end_ns']) - int(e['start_ns']))


def lines_of(directory, ranks):
    """Of each rank; all begin when the first comes out of MPI_Init."""
    sends, posts, completions = defaultdict(list), defaultdict(list), defaultdict(list)
    for m in rows(directory + '/messages.csv'):
        sends[m['src'], m['send_start_ns']].append(m)
        posts[m['dst'], m['recv_start_ns']].append(m)
        completions[m['dst'], m['completion_start_ns']].append(m)
    events = sorted(rows(directory + '/events.csv'), key=lambda e: int(e['start_ns']))
    first = min(int(e['end_ns']) for e in events if e['op'].startswith('MPI_Init'))
    all_ranks, last = [Rank(r, ranks) for r in range(ranks)], {}
    for e in events:
        r, key = all_ranks[int(e['rank'])], (e['rank'], e['start_ns'])
        if e['op'].startswith('MPI_Init'):
            last[e['rank']] = first
        r.compute(int(e['end_ns' if e['op'].startswith('MPI_Init') else 'start_ns']) - last[e['rank']])
        last[e['rank']] = int(e['end_ns'])
        if e['op'] == 'MPI_Finalize':
            r.say('finalize')
        elif not e['op'].startswith('MPI_Init'):
            r.call(e, sends.pop(key, []), posts.pop(key, []), completions.pop(key, []))
    return [r.lines for r in all_ranks]


def simulated(directory, ranks, latency_s, bytes_per_s):
    """Seconds. Without SMPI's factors for a network of 2012, on links of which each host has one for what it sends and one for what comes."""
    with open(directory + '/platform.xml', 'w', encoding='utf-8') as f:
        f.write(PLATFORM % (ranks - 1, bytes_per_s, latency_s / 2)) # each message passes two links
    with open(directory + '/hosts', 'w', encoding='utf-8') as f:
        f.write(''.join('h%d\n' % r for r in range(ranks)))
    options = ['network/model:CM02', 'network/latency-factor:1', 'network/bandwidth-factor:1', 'network/TCP-gamma:0', 'network/crosstraffic:0',
               'smpi/host-speed:1e9']
    run = subprocess.run(['smpirun', '-np', str(ranks), '-platform', 'platform.xml', '-hostfile', 'hosts', '-replay', 'list',
                          *['--cfg=' + o for o in options]], cwd=directory, capture_output=True, text=True)
    said = re.search(r'Simulation time ([\d.]+)', run.stderr + run.stdout)
    if not said:
        raise SystemExit('smpirun ended with %d: %s' % (run.returncode, (run.stderr + run.stdout)[-2000:]))
    return float(said[1])


def whatif(mpix, *words):
    return json.loads(subprocess.run([MPITRACE, 'whatif', mpix, *words, '--json'], check=True, capture_output=True, text=True).stdout)


def row(directory, ranks, name):
    program = '%s/%s' % (directory, os.path.basename(PROGRAMS[name])[:-2])
    subprocess.run(['chrt', '-r', '10', MPITRACE, 'run', '-n', str(ranks), '--out', directory, '--name', name, '--', program, name],
                   env=dict(ENV, OMPI_MCA_mpi_yield_when_idle='1'), check=True, capture_output=True)
    mpix, tables = '%s/%s.mpix' % (directory, name), '%s/%s.csv' % (directory, name)
    subprocess.run([MPITRACE, 'export', mpix, '--to', 'csv', '-o', tables], check=True, capture_output=True)
    for r, lines in enumerate(lines_of(tables, ranks)):
        with open('%s/rank%d' % (directory, r), 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')
    with open(directory + '/list', 'w', encoding='utf-8') as f:
        f.write(''.join('rank%d\n' % r for r in range(ranks)))
    network, latency = whatif(mpix, '--network', '2x'), whatif(mpix, '--latency', '0.5x')
    seen = network['model']['in_node']
    l, b = seen['latency_s'] or FREE_LATENCY_S, seen['bytes_per_s'] or FREE_BYTES_PER_S
    before = simulated(directory, ranks, l, b)
    print('| %s | %.1f ms | %.1f us, %s | %+.1f %% | %+.1f %% | %.1f %%%s | %.1f %% | %.1f %%%s | %.1f %% |' % (
        name, 1e3 * network['recorded_s'], 1e6 * l, '%.2f GB/s' % (b / 1e9) if seen['bytes_per_s'] else '-',
        100 * (network['replayed_s'] / network['recorded_s'] - 1), 100 * (before / network['recorded_s'] - 1),
        100 * network['gain'], ' (to %.1f)' % (100 * network['gain_high']) if network.get('unseen') else '', 100 * (1 - simulated(directory, ranks, l, 2 * b) / before),
        100 * latency['gain'], ' (to %.1f)' % (100 * latency['gain_high']) if latency.get('unseen') else '', 100 * (1 - simulated(directory, ranks, l / 2, b) / before)), flush=True)


def main():
    parser = argparse.ArgumentParser(description="whatif's replay beside that of SimGrid's SMPI.")
    parser.add_argument('--ranks', type=int, default=4)
    parser.add_argument('programs', nargs='*')
    args = parser.parse_args()
    print('| program | recorded | latency, bandwidth | whatif off by | SMPI off by | bandwidth x 2: whatif | SMPI | latency / 2: whatif | SMPI |')
    print('|---|---|---|---|---|---|---|---|---|')
    with tempfile.TemporaryDirectory(prefix='mpitrace-bench-') as directory:
        for source in MENDED, FLOWS:
            subprocess.run(['mpicc.openmpi', '-g', '-O1', '-w', '-o', '%s/%s' % (directory, os.path.basename(source)[:-2]), source], check=True)
        for name in args.programs or PROGRAMS:
            row(directory, args.ranks, name)


if __name__ == '__main__':
    main()
