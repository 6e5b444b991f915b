#!/usr/bin/env python3
"""correctness.py - real programs that break rules of MPI, each in one way and ten times over: exactly that is found, at the lines
where it is; and nothing in one that does much the same as it should."""
from trace import FLAVOURS, Place, Tests

TIMES = 10
RANKS = 4
OVER = 'unsafe_send_cycle'

# What: ranks, and of each row kind, severity, count, operations at its call sites.
WRONG = {
    'truncated': (2, [('error_returned', 'low', TIMES, ['MPI_Wait']),
                      ('truncation', 'high', TIMES, ['MPI_Send', 'MPI_Irecv']),
                      ('truncation', 'high', TIMES, ['MPI_Send', 'MPI_Recv']),
                      ('truncation', 'high', TIMES, ['MPI_Send', 'MPI_Recv'])]),
    'types': (2, [('datatype_mismatch', 'high', TIMES, ['MPI_Send', 'MPI_Recv']),
                  ('datatype_mismatch', 'high', TIMES, ['MPI_Send', 'MPI_Recv']),
                  ('datatype_mismatch', 'low', TIMES, ['MPI_Send', 'MPI_Recv'])]),
    'order': (2, [('collective_operation_mismatch', 'high', 1, ['MPI_Reduce', 'MPI_Bcast'])]),
    'root': (2, [('collective_root_mismatch', 'high', 1, ['MPI_Bcast'])]),
    'sizes': (RANKS, [('collective_size_mismatch', 'high', TIMES, ['MPI_Gather'])]),
    'leaks': (2, [('communicator_leak', 'low', 2, ['MPI_Comm_dup']), ('datatype_leak', 'low', 4, ['MPI_Type_contiguous']),
                  ('request_leak', 'medium', 1, ['MPI_Isend']), ('unreceived_message', 'medium', 1, ['MPI_Send'])]),
    'pair': (2, [(OVER, 'medium', TIMES, ['MPI_Send'])]),
    'ring': (RANKS, [(OVER, 'medium', TIMES, ['MPI_Send'])]),
    'right': (RANKS, []),
}
ISSUES = {'truncated': 'truncation', 'types': 'mismatch', 'order': 'mismatch', 'root': 'mismatch', 'sizes': 'mismatch'}


def rows(analysis):
    ops = {s['id']: s['op'] for s in analysis['callsites']}
    return sorted((c['kind'], c['severity'], c['count'], [ops[i] for i in c['callsites']]) for c in analysis['correctness'])


def wrong(t, place, program, what):
    ranks, want = WRONG[what]
    run = place.traced(ranks, program, what, name=what)
    who = '%s under %s: ' % (what, place.flavour)
    t.check(who + 'the program runs', run.returncode == 0, run.stderr.decode())
    a = place.analysis(what)
    t.equal(who + 'that is found and nothing else', rows(a), want)
    if what in ISSUES:
        t.equal(who + 'it is the verdict', (a['issues'][0]['issue'], a['verdict'].startswith(a['issues'][0]['what'])), (ISSUES[what], True))
    if what == 'ring':
        t.equal(who + 'all ranks are named', a['correctness'][0]['ranks'], list(range(RANKS)))
    if what == 'truncated':
        t.equal(who + 'truncated messages are received ones', (a['summary']['transfers'], a['coverage']['unmatched']['sends']), (4 * TIMES, 0))


# Programs that stand still until a signal ends them: ranks, and the sentence on the first deadlock.
STUCK = {
    'receives': (2, 'Rank 0 waits in MPI_Recv for rank 1, rank 1 waits in MPI_Recv for rank 0. Rank 0 needs a message from rank 1 with tag 0.'),
    'receives_later': (3, 'Rank 0 waits in MPI_Recv for rank 2, rank 2 waits in MPI_Recv for rank 1, rank 1 waits in MPI_Recv for rank 0. '
                       'Rank 0 needs a message from rank 2 with tag 4.'),
    'sends': (2, 'Rank 0 waits in MPI_Send for rank 1, rank 1 waits in MPI_Send for rank 0. Rank 0 needs a receive by rank 1 with tag 0.'),
    'waits': (2, 'Rank 0 waits in MPI_Wait for rank 1, rank 1 waits in MPI_Wait for rank 0. Rank 0 needs a message from rank 1 with tag 0.'),
    'anybody': (3, 'Rank 0 waits in MPI_Recv for any rank, rank 1 waits in MPI_Recv for any rank, rank 2 waits in MPI_Recv for any rank. '
                'Rank 0 needs a message from any rank with tag 0.'),
    'barrier': (3, 'Rank 0 waits in MPI_Barrier for rank 2, rank 2 waits in MPI_Recv for rank 0. 1 more rank waits for them. '
                'Rank 0 needs rank 2\'s MPI_Barrier.'),
    'orders': (2, 'Rank 0 waits in MPI_Barrier for rank 1, rank 1 waits in MPI_Barrier for rank 0. Rank 0 needs rank 1\'s MPI_Barrier.'),
    'ended': (2, 'Rank 1 waits in MPI_Recv for rank 0, rank 0 has ended. Rank 1 needs a message from rank 0 with tag 9.'),
    'computes': (3, None),
}
# And a word of the advice, which is another one for another kind of call.
ADVICE = {'sends': 'MPI_Sendrecv', 'barrier': 'collectives', 'orders': 'collectives', 'ended': 'More messages are expected'}
FOR_RECEIVES = 'let one of them send first'


def stuck(t, place, program, what):
    ranks, want = STUCK[what]
    who = '%s under %s: ' % (what, place.flavour)
    place.traced(ranks, program, what, name=what)
    a = place.analysis(what)
    lines = {s['id']: s['line'] for s in a['callsites']}
    found = [c for c in a['correctness'] if c['kind'] == 'deadlock']
    t.equal(who + ('the deadlock is named' if want else 'who waits for one that computes is in no deadlock'),
            [(c['examples'][0]['what'], c['ranks']) for c in found], [(want, list(range(ranks)))] if want else [])
    if want:
        t.check(who + 'with its call sites', found and found[0]['callsites'] and all(lines[i] for i in found[0]['callsites']),
                (found, a['verdict'], a['coverage'], a['per_rank']))
        t.equal(who + 'it is the verdict', a['issues'][0]['issue'], 'deadlock')
        t.check(who + 'the advice fits', ADVICE.get(what, FOR_RECEIVES) in a['issues'][0]['next'], a['issues'][0]['next'])


def window(t, place, program):
    run = place.traced(2, program, 'window', name='window')
    t.equal('a window that is not freed is found', (run.returncode, rows(place.analysis('window'))),
            (0, [('window_leak', 'medium', 2, ['MPI_Win_create'])]))


def matched_probes(t, place):
    """What a matched probe has found is received by the call that is given it, not by the next one."""
    run = place.traced(2, place.compile('mprobes.c'), name='mprobes')
    a, who = place.analysis('mprobes'), place.flavour + ', matched probes: '
    t.equal(who + 'a correct program is not blamed', (run.returncode, rows(a), [i['issue'] for i in a['issues'] if i['issue'] in ISSUES.values()]), (0, [], []))
    none = {k: v for k, v in a['coverage']['unmatched'].items() if v}
    t.equal(who + 'all messages have their receives', (a['summary']['transfers'], none), (4 * TIMES, {}))


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('wrong.c')
            for what in WRONG:
                wrong(t, place, program, what)
            if flavour == 'openmpi': # MPICH aborts in MPI_Finalize
                window(t, place, program)
            matched_probes(t, place)
            program = place.compile('stuck.c')
            for what in STUCK:
                stuck(t, place, program, what)
    t.end()


main()
