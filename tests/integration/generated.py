#!/usr/bin/env python3
"""generated.py - generated traces (tests/bench/generate.c) are such as programs make: the analysis finds every call, message and
collective of them, and nothing that contradicts another. GENERATE: the generator."""
import glob
import json
import os
import shutil
import subprocess
import tempfile

from trace import MPITRACE, Tests, operations, path_is_one, shown

GENERATE = os.environ['GENERATE']
CLOCKS = ('steps', 'noise')
# Ranks, nodes, events per rank: one rank, an odd number of ranks, more than a segment of the tracer holds, many ranks.
SIZES = {'halo': ((1, 1, 500), (6, 3, 34000), (70, 7, 100)), 'alltoall': ((1, 1, 500), (7, 3, 2000), (300, 7, 20)),
         'master': ((2, 2, 500), (3, 3, 34000), (130, 7, 100)), 'irregular': ((1, 1, 500), (6, 3, 34000), (70, 7, 150)),
         'self': ((1, 1, 40000), (3, 2, 500))}


def generate(folder, pattern, ranks, nodes, events, clock, seed=1):
    """What the generator says of the .mpic files that it made in this folder."""
    out = subprocess.run([GENERATE, '--pattern', pattern, '--ranks', str(ranks), '--nodes', str(nodes), '--events-per-rank',
                          str(events), '--clock', clock, '--seed', str(seed), '-o', folder], capture_output=True, check=True)
    return json.loads(out.stdout)


def content(folder):
    """Name and bytes of the files there."""
    return {os.path.basename(path): open(path, 'rb').read() for path in glob.glob(folder + '/*')}


def checked(t, folder, pattern, ranks, nodes, events, clock):
    what = '%s, %d ranks, %s' % (pattern, ranks, clock)
    told = generate(folder + '/t', pattern, ranks, nodes, events, clock)
    run = subprocess.run([MPITRACE, 'analyze', folder + '/t', '-o', folder + '/t.mpix'], capture_output=True, text=True)
    if run.returncode != 0:
        t.check(what + ': is analysed', False, run)
        return
    a = shown(folder + '/t.mpix')
    coverage, clocks = a['coverage'], a['clock']
    t.check(what + ': the record is complete', coverage['complete'] and coverage['ranks_seen'] == ranks and
            not any(coverage['unmatched'].values()), coverage)
    t.equal(what + ': every call is counted', operations(a), told['calls'])
    t.check(what + ': as many events as asked for', coverage['events'] >= told['events'] >= 0.95 * ranks * events,
            (coverage['events'], told['events']))
    t.equal(what + ': who caused a wait is known of each', a['delays']['causers_unknown'], 0)
    path_is_one(t, what, a)
    t.equal(what + ': no message contradicts the clocks', (clocks['violations'], clocks['events_moved']), (0, 0))


PARTS = ('late_sender_wrong_order', 'late_complete')  # of other states


def waits_agree(t, folder):
    """What the .mpix tells of each call's waits is what the analysis has summed up, and takes few bytes; whatever the number of threads."""
    for pattern in ('alltoall', 'halo'):
        generate(folder + '/t', pattern, 20, 3, 4000, 'steps')
        files = []
        for threads in ('1', '2', '5'):
            subprocess.run([MPITRACE, 'analyze', folder + '/t', '-o', folder + '/t.mpix', '--threads', threads], check=True)
            files.append(open(folder + '/t.mpix', 'rb').read())
        t.check(pattern + ': the same bytes by any number of threads', files[0] == files[1] == files[2], [len(f) for f in files])
        nodes = sorted(glob.glob(folder + '/t/*.mpic'), reverse=True)
        subprocess.run([MPITRACE, 'analyze', *nodes, '-o', folder + '/t.mpix'], check=True)
        t.check(pattern + ': the same bytes in any order of the files', len(nodes) == 3 and open(folder + '/t.mpix', 'rb').read() == files[0], nodes)
        summed = sum(w['seconds'] for w in shown(folder + '/t.mpix')['wait_states'] if w['state'] not in PARTS)
        out = subprocess.run([MPITRACE, 'show', '--events', '--json', folder + '/t.mpix'], capture_output=True, check=True)
        told = sum(e['wait_s'] for e in json.loads(out.stdout))
        t.check(pattern + ': events waited as long as the analysis says', summed > 0 and abs(told - summed) < 1e-6, (told, summed))
        ratio = len(files[0]) / sum(len(data) for data in content(folder + '/t').values())
        t.check(pattern + ': the .mpix takes at most 1.5 of the .mpic, small as it is', ratio < 1.5, ratio)
        shutil.rmtree(folder + '/t')


def main():
    t = Tests()
    folder = tempfile.mkdtemp(prefix='mpitrace-test-')
    for pattern, sizes in SIZES.items():
        for ranks, nodes, events in sizes:
            for clock in CLOCKS:
                checked(t, folder, pattern, ranks, nodes, events, clock)
                shutil.rmtree(folder + '/t', ignore_errors=True)
        for name, seed in (('a', 1), ('b', 1), ('c', 2)):
            generate('%s/%s' % (folder, name), pattern, 6, 2, 500, 'steps', seed)
        a, b, c = (content('%s/%s' % (folder, name)) for name in 'abc')
        t.check(pattern + ': the same seed gives the same bytes, another one others', a == b and a != c, (a.keys(), b.keys(), c.keys()))
    waits_agree(t, folder)
    shutil.rmtree(folder, ignore_errors=True)
    t.end()


main()
