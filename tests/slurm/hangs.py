#!/usr/bin/env python3
"""hangs.py - what is said of a hung job against what it was. In: the truth of each kind of tests/programs/stuck.c with four ranks, below; the
report and the record; when its first rank began, when it was ended, when Slurm said that it was over.  Out: a row of a table; exit code 1 where
they differ.

    hangs.py MPITRACE FILE.mpix KIND LEVEL WAY STATES BEGAN STOPPED OVER    (times in seconds)
    hangs.py --kinds"""
import json
import subprocess
import sys

ALL = [[0, 1, 2, 3]]
LAST = [[0, 3]]  # rank 3 wants a message from rank 0, which waits for it
PAIRS = [[0, 1]], [[0, 3]], [[1, 2]], [[2, 3]]  # any of these: each of the four is as small
# The groups of ranks that can never go on, whatever the others do; none: somebody could.
CORES = {'receives': ALL, 'receives_later': ALL, 'sends': ALL, 'waits': ALL, 'anybody': ALL, 'barrier': LAST, 'orders': [[0, 1]], 'ended': [[0, 1]],
         'halo': [[0, 1]], 'three': [[1, 2, 3]], 'threads': ALL, 'computes': [], 'probes': ALL, 'mprobes': ALL, 'ssends': ALL, 'sendrecvs': ALL,
         'waitalls': PAIRS, 'waitanys': ALL, 'waitsomes': ALL, 'isends': ALL, 'persistent': ALL, 'bcasts': LAST, 'reduces': LAST, 'allreduces': LAST,
         'alltoalls': LAST, 'gathers': LAST, 'dups': LAST, 'ibarriers': LAST, 'sides': ALL, 'halves': [[0, 2], [1, 3]], 'windows': LAST, 'fences': LAST,
         'locks': ALL, 'exposures': LAST, 'accesses': LAST}
SAMPLE_S = 1.0


def truth(kind, level):
    """Each of which may be named. Totals do not tell which of several requests are complete: all who wait so are one group."""
    if not isinstance(CORES[kind], tuple):
        return (CORES[kind],)
    return CORES[kind] if level == 'events' else (*CORES[kind], ALL)


def json_of(*words):
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)


def differences(a, record, kind, level, states, began, stopped, over):
    cores = [sorted(x['ranks']) for d in a['correctness'] if d['kind'] == 'deadlock' for x in d['examples']]
    elapsed, hung, first = a['job']['elapsed_s'], a['job']['hung_s'], a['issues'][0]['issue'] if a['issues'] else None
    wrong = []
    if sorted(cores) not in truth(kind, level):
        wrong.append('culprits %s, not %s' % (cores, CORES[kind]))
    if (first == 'deadlock') != bool(CORES[kind]):
        wrong.append('verdict %s' % first)
    if any(r['died'] for r in a['per_rank']):
        wrong.append('ranks %s are said to have died by themselves' % [r['rank'] for r in a['per_rank'] if r['died']])
    if a['job']['outcome']['state'] not in states.split(','):
        wrong.append('ended %s, not %s' % (a['job']['outcome']['state'], states))
    if not stopped - began - SAMPLE_S <= elapsed <= over - began + SAMPLE_S:
        wrong.append('elapsed %.1f s, not %.1f to %.1f' % (elapsed, stopped - began, over - began))
    if kind != 'computes' and not 0 < hung <= elapsed:
        wrong.append('hung %.1f of %.1f s' % (hung, elapsed))
    hours = record['core_hours'] * 3600 / elapsed
    if abs(record['elapsed_s'] - elapsed) > 0.01 * elapsed or abs(hours - round(hours)) > 0.01 or round(hours) < 4:
        wrong.append('record: %.1f s, %.2f processors' % (record['elapsed_s'], hours))
    return wrong, (first, cores, elapsed, hung, record['core_hours'])


def main():
    if sys.argv[1:] == ['--kinds']:
        print(*CORES, sep='\n')
        return 0
    mpitrace, mpix, kind, level, way, states = sys.argv[1:7]
    a, record = json_of(mpitrace, 'show', '--json', mpix), json_of(mpitrace, 'record', mpix)
    wrong, (first, cores, elapsed, hung, hours) = differences(a, record, kind, level, states, *(float(x) for x in sys.argv[7:10]))
    print('| %s | %s | %s | %s | %s | %.1f | %.1f | %.5f | %s | %s |' % (
        kind, level, way, first, ' '.join(','.join(map(str, c)) for c in cores) or '-', elapsed, hung, hours, a['job']['outcome']['state'], '; '.join(wrong) or 'as it was'))
    return int(bool(wrong))


if __name__ == '__main__':
    sys.exit(main())
