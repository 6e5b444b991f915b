#!/usr/bin/env python3
"""verdicts.py - programs that are hard to judge: what loses their time is found, at its rank and call; what they only look like is
not; page and terminal open with the same. Where ranks exceed processors, or others have these, that may stand first."""
import os

from judged import MACHINE, WRONG, issue, page, run, terminal
from trace import FLAVOURS, Place, Tests

RANKS, CROWD = 4, 64
# What: issues of which one is the first besides those of the machine; of that, the rank (None: any) and an operation (of a call site).
CASES = {
    'locks': (('rma_wait', 'delay'), None, 'MPI_Win_'),
    'io': (('io_wait',), None, 'MPI_File_'),
    'slow_io': (('delay',), 1, 'MPI_File_write_at'),
    'alternating': (('delay', 'serialization', 'synchronization_heavy'), None, 'MPI_Allreduce'),
    'master': (('load_imbalance',), 0, 'MPI_Recv'),
    'serial': (('load_imbalance',), 0, 'MPI_Bcast'),
    'threads': (('load_imbalance',), 1, 'MPI_Sendrecv'),
    'nonblocking': (('load_imbalance',), 2, 'MPI_Wait'),
    'output': (('load_imbalance', 'stuck_at_end'), 0, 'MPI_Barrier'),
    'fan': (('load_imbalance',), 0, 'MPI_Recv'),
    'probing': (('load_imbalance',), 1, None),
}
CHANCE = ('threads', 'slow_io')  # without processors, whom others wait for
EVEN = ('locks', 'io', 'slow_io', 'alternating')  # no rank computes more than others


def headline(place, what):
    text = page(place, what)
    return text[text.index('<h1>') + 4:text.index('</h1>')]


def without_processors(a):
    """Ranks were without one for so long that nothing else is certain."""
    return sum(r['processor_wait_s'] or 0 for r in a['per_rank']) > 0.25 * RANKS * a['efficiency']['region_s']


def hard(t, who, place, program):
    for what, (wanted, rank, op) in CASES.items():
        a = run(place, program, what, RANKS)
        first = next((i for i in a['issues'] if i['issue'] not in MACHINE), {'issue': 'none', 'ranks': [], 'callsites': []})
        at = [c['op'] for i in a['issues'] if i['issue'] in wanted for c in a['callsites'] if c['id'] in i['callsites']]
        noise = without_processors(a)
        t.check('%s%s: it is %s' % (who, what, ' or '.join(wanted)), first['issue'] in wanted or noise, (a['issues'], a['per_rank']))
        if rank is not None and first['issue'] in wanted:
            t.check('%s%s: of rank %d' % (who, what, rank), first['ranks'][:1] == [rank] or what in CHANCE and noise, (first, a['per_rank']))
        if op and first['issue'] in wanted:
            t.check('%s%s: at %s' % (who, what, op), any(x.startswith(op) for x in at) or what in CHANCE and noise, at)
        if what in EVEN:
            t.equal('%s%s: no rank is said to compute more' % (who, what), issue(a, 'load_imbalance'), None)
        whole = max(i.get('loss_of_s', 0) for i in a['issues'])
        t.check('%s%s: nothing has lost more than there was' % (who, what), all(i['loss_s'] <= i.get('loss_of_s', whole) + 1e-6 for i in a['issues']),
                a['issues'])
        if what == 'output' and first['issue'] == 'load_imbalance':
            t.check(who + 'output: that it is all at the end is said', 'at the end' in first['what'] or noise, first)


# Where others are at work, the late rank may have to ask as well: then once more.
STARVED = 4


def stray(t, who, place, program):
    """The one thing that is not in order is the answer where nothing costs time; and then on the page and in the terminal."""
    a = run(place, program, 'stray', RANKS)
    costs = [i for i in a['issues'] if i['issue'] not in WRONG and i['severity'] != 'low']
    t.check(who + 'stray: three messages are found', issue(a, 'unmatched') and issue(a, 'unmatched')['metric']['value'] == 3, a['issues'])
    t.check(who + 'stray: they are the verdict', costs or a['verdict'] == issue(a, 'unmatched')['what'], (a['verdict'], a['issues']))
    t.check(who + 'stray: the page says the same', costs or 'Fix first: messages without a partner' in headline(place, 'stray'),
            headline(place, 'stray'))
    t.check(who + 'stray: so does the terminal', costs or a['verdict'][:30] in terminal(place, 'stray'), terminal(place, 'stray')[:800])


def polling(t, who, place, program):
    """Who asks until the late rank's message has come: the time in that is named, of those who ask; and it is what follows."""
    for _ in range(STARVED):
        a = run(place, program, 'probing', RANKS)
        if 1 not in (issue(a, 'polling') or {'ranks': [1]})['ranks']:
            break
    found, cause = issue(a, 'polling'), issue(a, 'load_imbalance')
    t.check(who + 'asking in vain is an issue', found, a['issues'])
    if not found:
        return
    t.check(who + 'not of the one that is late', 1 not in found['ranks'] and found['ranks'], found['ranks'])
    t.equal(who + 'its seconds are those of the ranks', round(found['loss_s'], 6), round(sum(r['polling_s'] for r in a['per_rank']), 6))
    t.equal(who + 'where', {c['op'] for c in a['callsites'] if c['id'] in found['callsites']}, {'MPI_Iprobe'})
    t.check(who + 'behind what it follows from', cause and a['issues'].index(cause) < a['issues'].index(found), [i['issue'] for i in a['issues']])
    parts = sum(r['mpi_s'] + r['startup_s'] for r in a['per_rank'])
    for what, windows in (('over time', sum(w['mpi_s'] for w in a['time_windows'])), ('by rank and time', sum(sum(r['mpi_s']) for r in a['rank_time']))):
        t.check(who + what + ' as much is in MPI as in all, not what is between two tests', abs(windows - parts) < 1e-3 * parts, (windows, parts))


def ends_inside(t, who, place, program):
    a = run(place, program, 'ends_inside', RANKS)
    t.check(who + 'an exit inside of a collective names rank, code and call', a['issues'] and a['issues'][0]['issue'] == 'death' and
            'Rank 1 exited with code 3 without MPI_Finalize' in a['verdict'] and 'in MPI_Allreduce in ends_inside' in a['verdict'], a['verdict'])


def crowd(t, who, place, program):
    if who.startswith(FLAVOURS[0]):
        a = run(place, program, 'crowd', CROWD)
        first = a['issues'][0]
        t.equal(who + '%d ranks exceed the processors: that is the cause, of all of them' % CROWD, (first['issue'], first['ranks']),
                ('oversubscription', list(range(CROWD))))


def bound(t, who, place, program):
    """Two ranks on one of several processors."""
    if (os.cpu_count() or 1) < 2:
        return
    a = run(place, program, 'burns', 2, within=('taskset', '-c', '0'))
    first = a['issues'][0] if a['issues'] else {}
    waited = sum(r['processor_wait_s'] for r in a['per_rank'])
    t.equal(who + 'ranks that share one of the processors: that is the cause', first.get('issue'), 'busy_processors')
    gain = first.get('gain') or {'low': 0, 'share': 0, 'high': 0}
    t.check(who + 'what each on a processor of its own would gain is told', 0.25 < gain['share'] < 1 and
            gain['low'] <= gain['share'] <= gain['high'], gain)
    t.check(who + 'its seconds are those that the kernel counted', abs(first.get('loss_s', 0) - waited) < 1e-3, (first, waited))
    t.check(who + 'the page opens with it', 'ranks waiting for a free core' in headline(place, 'burns'), headline(place, 'burns'))


def many_threads(t, who, place, _program):
    """Threads of two ranks that take turns on all processors: who waits in MPI waits for these."""
    threads = 4 * (os.cpu_count() or 1)
    a = run(place, place.compile('many_threads.c', '-pthread'), str(threads), 2)
    first = a['issues'][0] if a['issues'] else {}
    t.equal(who + '%d threads are too many: that is the cause' % (2 * threads), first.get('issue'), 'oversubscription')
    t.check(who + 'they want more processors than there are, at most as many as they are', # libraries let some of them wait asleep
            first and 1.25 <= first['metric']['value'] < 1.1 * 8, first)
    t.check(who + 'and say so', 'Threads of 2 ranks' in a['verdict'], a['verdict'])


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('verdicts.c', '-pthread')
            for case in (hard, stray, polling, ends_inside, crowd, bound, many_threads):
                case(t, '%s, %s: ' % (flavour, case.__name__), place, program)
    t.end()


main()
