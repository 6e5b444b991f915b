#!/usr/bin/env python3
"""pauses.py - what is recorded after MPI_Pcontrol(0) and (1) has its own time, is taken for the partner of nothing, and is counted."""
import json
import subprocess

from trace import FLAVOURS, MPITRACE, Place, Tests

PAUSE_S = 0.2 # tests/programs/paused.c
LOST, APART = 5 + 1 + 1, 5 + 1 + 1 # of rank 0: sends, its barrier, Pcontrol(1); sends, barrier, Finalize


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            who = flavour + ': '
            run = place.traced(2, place.compile('paused.c'), name='paused')
            t.equal(who + 'the program runs', run.returncode, 0)
            a = place.analysis('paused')
            shown = subprocess.run([MPITRACE, 'show', '--events', '--json', place.dir + '/out/paused.mpix'], capture_output=True, check=True)
            calls = [e for e in json.loads(shown.stdout) if e['rank'] == 0 and e['op'] in ('MPI_Pcontrol', 'MPI_Send')]
            ops = [e['op'] for e in calls]
            t.equal(who + 'calls before and after the pause are there', ops, ['MPI_Send'] * 5 + ['MPI_Pcontrol'] + ['MPI_Send'] * 5)
            at = ops.index('MPI_Pcontrol')
            t.check(who + 'what comes after the pause is as much later', calls[at + 1]['start_s'] - calls[at]['end_s'] >= PAUSE_S, calls)
            c = a['coverage']
            t.equal(who + 'calls in the pause are lost', c['events_lost'], LOST)
            t.equal(who + 'those after it are counted: nobody knows whom they were with', c['events_apart'], APART)
            t.check(who + 'and a reason says so', any('whom they were with is not known: %d calls' % APART in r for r in c['reasons']), c['reasons'])
            t.equal(who + 'totals have all messages', [(x['messages'], x['bytes']) for x in a['matrix']['p2p']], [(15, 4080)])
            t.equal(who + 'receives without their sends are counted', (c['unmatched']['receives'], c['unmatched']['program']), (10, 0))
            t.check(who + 'a correct program is not blamed', not {'truncation', 'mismatch', 'unmatched'} & {i['issue'] for i in a['issues']}, json.dumps(a['issues'])[:400])
    t.end()


main()
