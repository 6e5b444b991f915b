#!/usr/bin/env python3
"""turns.py - programs whose threads come and go: every call of every thread is counted, however many there were; of threads for which
there is no room at once it is said how many calls are missing, also when the program is killed. FULL: more of them."""
import os

from trace import FLAVOURS, Place, Tests, operations

MANY = 100000 if 'FULL' in os.environ else 3000
CROWD = 300
AT_ONCE = 255 # format/segment.h: four regions each


def analysis(t, place, program, case, n, who):
    plain, run = place.plain(1, program, case, str(n)), place.traced(1, program, case, str(n), name=case)
    t.equal(who + 'the result is that of the untraced program', run.returncode, plain.returncode)
    t.check(who + 'so is what it prints', run.stdout == plain.stdout or case == 'killed', (run.stdout, plain.stdout)) # MPICH's names a pid
    return place.analysis(case)


def whole(t, who, a, want, lanes):
    ops, c, r = operations(a), a['coverage'], a['per_rank'][0]
    t.equal(who + 'calls are exact', {op: ops.get(op) for op in want}, want)
    t.equal(who + 'nothing is missing', (c['complete'], c['calls_outside'], c['events_lost'], c['reasons']), (True, 0, 0, []))
    t.check(who + 'there are no more lanes than threads at once, but for some that were still ending', len(r['threads']) <= lanes, len(r['threads']))
    t.check(who + 'lanes last as long as threads were there', all(x['mpi_s'] <= x['span_s'] + 1e-9 for x in r['threads']), r['threads'])


def come_and_go(t, place, program):
    for case, lanes in ('turns', 16), ('groups', 32):
        who = '%s, %s: ' % (place.flavour, case)
        a = analysis(t, place, program, case, MANY, who)
        whole(t, who, a, {'MPI_Sendrecv': MANY}, lanes)
        t.equal(who + 'each message is matched', a['summary']['transfers'], MANY)


def ends(t, place, program):
    """Destructors of two keys, four rounds of them: five calls a thread."""
    n, who = 50, '%s, ends: ' % place.flavour
    a = analysis(t, place, program, 'ends', n, who)
    ops, c = operations(a), a['coverage']
    want = {'MPI_Sendrecv': 5 * n, 'MPI_Test': 3 * n, 'MPI_Iprobe': n, 'MPI_Cancel': n, 'MPI_Wait': n, 'MPI_Irecv': n, 'MPI_Pcontrol': n}
    t.equal(who + 'calls are exact, those of destructors, too', {op: ops.get(op) for op in want}, want)
    t.equal(who + 'what a thread switched off is not off for the next', (c['calls_outside'], c['events_lost']), (0, 5 * n))


def crowd(t, place, program):
    for case in 'crowd', 'killed':
        who = '%s, %s: ' % (place.flavour, case)
        a = analysis(t, place, program, case, CROWD, who)
        c, n = a['coverage'], operations(a).get('MPI_Sendrecv', 0)
        t.equal(who + 'each call is recorded, or counted as missing', n + c['calls_outside'], 10 * CROWD)
        t.check(who + 'as many threads as there is room for are recorded', n >= 10 * (AT_ONCE - 1), n)
        t.check(who + 'the report says so, with the number', not c['complete'] and
                any('of threads' in r and r.endswith(': {:,} calls'.format(c['calls_outside'])) for r in c['reasons']), c)


def outlives(t, place, program):
    """The first thread ends (pthread_exit) while another works on: the process has not."""
    who = '%s, outlives: ' % place.flavour
    a = analysis(t, place, program, 'outlives', 1500, who)
    t.equal(who + 'all is recorded', (operations(a)['MPI_Sendrecv'], a['coverage']['events_lost'], a['coverage']['complete'], a['coverage']['reasons']),
            (1500, 0, True, []))


def across(t, place, program):
    """Of two ranks: a message whose other end was made by a thread without room is not called one that was never received."""
    who = '%s, across: ' % place.flavour
    run = place.traced(2, program, 'crowd', str(CROWD), name='across')
    c = place.analysis('across')['coverage']
    t.equal(who + 'the program runs', run.returncode, 0)
    t.check(who + 'messages of calls that are not recorded are not held against it', c['calls_outside'] > 0 and c['unmatched']['record_cut'] > 0 and
            c['unmatched']['program'] == 0 and any('lacks calls' in r for r in c['reasons']), c)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('turns.c', '-pthread')
            come_and_go(t, place, program)
            ends(t, place, program)
            crowd(t, place, program)
            across(t, place, program)
            outlives(t, place, program)
    t.end()


main()
