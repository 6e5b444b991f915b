#!/usr/bin/env python3
"""headlines.py - programs whose time goes to one known thing: that is what the answer opens with, not something beside it; its
seconds are there; and the advice is nothing that the program does already."""
import os
import re

from judged import WRONG, issue, names, page, terminal
from trace import FLAVOURS, Place, Tests


def run(place, ranks, program, what):
    done = place.traced(ranks, program, what, name=what)
    if done.returncode != 0:
        raise RuntimeError('%s %s: %s' % (place.flavour, what, done.stderr.decode(errors='replace')))
    return place.analysis(what), done.stdout.decode()


def explained(t, who, a):
    """The counter-check: whatever stands first has lost a part of the time that was spent in MPI, or is about no time at all."""
    mpi_s = sum(max(r.get('threads_s', 0), r['mpi_s'], a['efficiency']['region_s'] - r['useful_s']) for r in a['per_rank'])
    ready_s = sum(r['processor_wait_s'] or 0 for r in a['per_rank'])  # also while they would have computed
    for i in a['issues']:
        if i['issue'] not in WRONG:
            there_s = ready_s if i['issue'] == 'busy_processors' else mpi_s
            t.check('%s%s has not lost more than there is' % (who, i['issue']), 0 < i['loss_s'] <= 1.02 * there_s + 1e-3, (i, there_s))


def lock(t, who, place, program):
    a, _ = run(place, 2, program, 'lock')
    t.check(who + 'two stray messages are found', issue(a, 'unmatched'), names(a))
    t.check(who + 'the time in Win_lock comes before them', names(a)[-1] == 'unmatched' and 'rma_wait' in names(a), names(a))
    t.check(who + 'the page does not call them the cause', 'Main cause: messages without' not in page(place, 'lock'), '')
    explained(t, who, a)


def advice(t, who, place, program):
    a, _ = run(place, 2, program, 'irecv')
    late = issue(a, 'late_receiver')
    t.check(who + 'receives that are nonblocking are to be posted earlier', late and 'Post the receives earlier' in late['next'], late)
    a, _ = run(place, 2, program, 'recv')
    late = issue(a, 'late_receiver')
    t.check(who + 'others are to become nonblocking', late and 'Post receives early' in late['next'], late)
    a, _ = run(place, 2, program, 'collective_io')
    io = issue(a, 'io_wait')
    t.check(who + 'collective I/O is not recommended where it is used', io and 'Use collective' not in io['next'], io)
    a, _ = run(place, 2, program, 'own_io')
    io = issue(a, 'io_wait')
    t.check(who + 'it is where it is not', io and 'Use collective' in io['next'], io)


def polls(t, who, place, program):
    a, out = run(place, 2, program, 'polls')
    tests = int(re.search(r'tests (\d+)', out)[1])
    calls = sum(r['calls'] for r in a['per_rank'])
    t.check(who + 'tests are many', tests > 1000, out)
    t.check(who + 'events are few', a['coverage']['events'] < calls / 10, a['coverage'])
    text = terminal(place, 'polls')
    t.check(who + 'calls are all that were made', calls >= tests and '{:,} calls; '.format(calls) in text, text)


def crowd(t, who, place, program):
    ranks = 4 * (os.cpu_count() or 1)
    a, _ = run(place, ranks, program, 'crowd')
    t.equal(who + 'more ranks than processors is the cause', names(a)[:1], ['oversubscription'])
    t.equal(who + 'all its ranks are named', issue(a, 'oversubscription')['ranks'], list(range(ranks)))
    t.check(who + 'nothing is said of yielding', 'yield' not in issue(a, 'oversubscription')['next'], a['issues'])
    explained(t, who, a)


def even(t, who, place, program):
    a, _ = run(place, 2, program, 'even')
    # Others may hold the processors: for a while that is for information only, for long it is the answer.
    busy = issue(a, 'busy_processors')
    if busy and busy['severity'] != 'low':
        t.equal(who + 'what others had of the processors stands first', names(a)[0], 'busy_processors')
        return
    t.check(who + 'there is nothing to fix', all(i['severity'] == 'low' for i in a['issues']), a['issues'])
    t.check(who + 'the page says so', 'Nothing to fix' in page(place, 'even'), '')


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('headlines.c')
            for case in (lock, advice, polls, crowd, even):
                case(t, '%s, %s: ' % (flavour, case.__name__), place, program)
    t.end()


main()
