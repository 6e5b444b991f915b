#!/usr/bin/env python3
"""large.py - the report of 16,384 ranks is a page of at most 2 MiB beside the viewer and the trace that it carries, 5 MB with them, whatever
their traffic, and its matrices hold all of that. GENERATE: the generator."""
import json
import os
import subprocess
import tempfile

import agree
from trace import MPITRACE, Tests, page_bytes

GENERATE = os.environ['GENERATE']
PAGE_BYTES_MAX = 2 << 20 # reports/html/html.h
CARRYING_BYTES_MAX = 5000000
# Pattern, ranks, nodes, events per rank: links to few, and to all.
TRACES = (('halo', 16384, 128, 8), ('alltoall', 2048, 96, 8))


def add_up(cells):
    return sum(c['count'] for c in cells), sum(c['bytes'] for c in cells)


def whole(t, what, a):
    """Levels and places are the same traffic, cut in other ways."""
    for kind in ('p2p', 'collective', 'rma'):
        places = add_up(a['traffic_places'][kind].values())
        for level in a['traffic_levels']:
            t.equal('%s: %s by %s are all of it' % (what, kind, level['level']), add_up(level[kind]), places)
            t.check('%s: %s: at most 64 x 64' % (what, level['level']), len(level['groups']) <= 64 and len(level[kind]) <= 4096, '')
    t.equal(what + ': messages by size are all', (sum(r['messages'] for r in a['message_sizes']), sum(r['message_bytes'] for r in a['message_sizes'])),
            (a['summary']['messages_sent'], a['summary']['bytes_sent']))
    t.equal(what + ': what messages carry is what was sent', add_up(a['traffic_places']['p2p'].values()),
            (a['summary']['messages_sent'], a['summary']['bytes_sent']))
    t.equal(what + ': what collectives move is all of it', add_up(a['traffic_places']['collective'].values())[1], a['summary']['collective_bytes'])


def over_time(t, what, a):
    """Ranks over time add up to the time windows."""
    t.equal(what + ': each rank is in one group', [r['first_rank'] for r in a['rank_time'][1:]] + [a['job']['ranks']],
            [r['last_rank'] + 1 for r in a['rank_time']])
    for key in ('useful_s', 'mpi_s', 'wait_s'):
        by_window = [sum(r[key][i] for r in a['rank_time']) for i in range(len(a['time_windows']))]
        worst = max(abs(x - w[key]) for x, w in zip(by_window, a['time_windows']))
        room = a['overhead']['tracing_s'] if key == 'useful_s' else 0 # it is taken off, but never below 0
        t.check('%s: %s of the groups is that of all' % (what, key), worst < 1e-5 + 1e-6 * max(by_window) + room, worst)


def last_ones(t, what, a):
    arrivals = a['collective_arrivals']
    t.equal(what + ': somebody is last in each collective', sum(r['operations'] for r in arrivals['callsites']),
            sum(r['times'] for r in arrivals['last_ranks']) if not arrivals['last_ranks_left_out'] else sum(r['operations'] for r in arrivals['callsites']))
    t.check(what + ': the mean is not above the most', all(r['mean_s'] <= r['max_s'] + 1e-9 for r in arrivals['callsites']), arrivals['callsites'])


def main():
    t = Tests()
    for pattern, ranks, nodes, events in TRACES:
        what = '%s, %d ranks' % (pattern, ranks)
        with tempfile.TemporaryDirectory(prefix='mpitrace-test-') as folder:
            subprocess.run([GENERATE, '--pattern', pattern, '--ranks', str(ranks), '--nodes', str(nodes), '--events-per-rank', str(events),
                            '--clock', 'steps', '-o', folder + '/t'], capture_output=True, check=True)
            subprocess.run([MPITRACE, 'analyze', folder + '/t', '-o', folder + '/t.mpix', '--report', folder + '/t.html'],
                           capture_output=True, check=True)
            a = json.loads(subprocess.run([MPITRACE, 'show', '--json', folder + '/t.mpix'], capture_output=True, check=True).stdout)
            size, carrying = page_bytes(folder + '/t.html')
            text = subprocess.run([MPITRACE, 'show', folder + '/t.mpix'], capture_output=True, check=True, encoding='utf-8').stdout
        t.check(what + ': the page has at most 2 MiB beside what it carries', 10000 < size <= PAGE_BYTES_MAX, size)
        t.check(what + ': and 5 MB with it', carrying <= CARRYING_BYTES_MAX, carrying)
        t.equal(what + ': the terminal needs 80 columns', agree.too_wide(text), [])
        whole(t, what, a)
        over_time(t, what, a)
        last_ones(t, what, a)
    t.end()


main()
