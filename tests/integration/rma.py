#!/usr/bin/env python3
"""rma.py - real one-sided programs, in which one rank comes late by a known time: who waited, in which state, for whom. And the
same programs in which nobody is late."""
from trace import FLAVOURS, Place, Tests, emulated, open_mpi

RANKS = 3
LATE_S = 0.3
# On a busy machine anybody may be late by himself: so much more or less is no mistake, and after more there is another attempt.
SLACK_S = 0.14
ATTEMPTS = 8
# state, who waits: for whom, how many times LATE_S
WAITS = [
    ('wait_at_create', 0, 2, 1), ('wait_at_create', 1, 2, 1),
    ('wait_at_fence', 0, 1, 1), ('wait_at_fence', 2, 1, 1),
    ('wait_at_free', 1, 0, 1), ('wait_at_free', 2, 0, 1),
    ('late_post', 0, 1, 1),
    ('early_wait', 1, 0, 2), # of an origin that is late with its access, and of one that is late with its end
    ('late_complete', 1, 0, 1),
    ('lock_contention', 2, 1, 1), # but not for a shared lock
    ('wait_for_progress', 1, 0, 1),
    ('wait_at_collective_io', 0, 1, 1), ('wait_at_collective_io', 2, 1, 1),
]
ONCE = {(state, rank) for state, rank, _, times in WAITS if times == 1}
STATES = sorted({w[0] for w in WAITS} | {'early_transfer'})
# class: calls, bytes
IO = {'open_close': (6, 0), 'collective_write': (3, 3 * 8192), 'read': (1, 8192), 'write': (1, 128), 'nonblocking': (3, 3 * 256),
      'other': (3, 0), 'collective_read': (3, 3 * 8192)}


def waited(analysis):
    """By state and rank: seconds in all, and who was waited for at the place where it was longest."""
    found = {}
    for w in sorted(analysis['wait_states'], key=lambda w: w['seconds']):
        seconds, _ = found.get((w['state'], w['rank']), (0, None))
        found[w['state'], w['rank']] = (seconds + w['seconds'], w.get('causer'))
    return found


def run(t, place, program, case, late_s, **env):
    name = '%s-%d' % (case, late_s * 1000)
    done = place.traced(RANKS, program, case, str(int(late_s * 1000)), place.dir + '/' + name + '.dat', name=name, **env)
    t.check('%s, %g s late, under %s: the program runs' % (case, late_s, place.flavour), done.returncode == 0, done.stderr.decode())
    return place.analysis(name)


def is_about(found, state, rank, want_s):
    return abs(found.get((state, rank), (0, None))[0] - want_s) < SLACK_S


def late(t, place, program):
    """Of each state the first run in which nobody else was late for it, or the last."""
    best = {}
    for _ in range(ATTEMPTS):
        analysis = run(t, place, program, 'all', LATE_S)
        found = waited(analysis)
        if is_about(found, 'early_transfer', 0, LATE_S): # this library waits for the post in the transfer, and not at its begin
            found['late_post', 0] = found['early_transfer', 0]
        for w in analysis['wait_states']: # one place is late on purpose; elsewhere ranks are, for want of a processor
            if (w['state'], w['rank']) in ONCE and abs(w['seconds'] - LATE_S) < SLACK_S:
                found[w['state'], w['rank']] = (w['seconds'], w.get('causer'))
        for state, rank, _, times in WAITS:
            if not is_about(best, state, rank, times * LATE_S):
                best[state, rank] = found.get((state, rank), (0, None))
        if all(is_about(best, state, rank, times * LATE_S) for state, rank, _, times in WAITS):
            break
    for state, rank, causer, times in WAITS:
        seconds, whom = best[state, rank]
        t.equal('%s under %s: rank %d waited for rank %d' % (state, place.flavour, rank, causer), whom, causer)
        t.check('%s under %s: about %g s' % (state, place.flavour, times * LATE_S),
                is_about(best, state, rank, times * LATE_S), '%g s' % seconds)
    t.check('late_complete under %s: is a part of early_wait' % place.flavour,
            found.get(('late_complete', 1), (0,))[0] <= found.get(('early_wait', 1), (0,))[0], found)
    t.equal('calls on files under %s: calls and bytes of each class are exact' % place.flavour,
            {c['class']: (c['calls'], c['bytes']) for c in analysis['io']['classes']}, IO)
    t.check('calls on files under %s: the wait is that of the collective write' % place.flavour,
            max(analysis['io']['classes'], key=lambda c: c['wait_s'])['class'] == 'collective_write', analysis['io'])
    t.check('waiting under %s: is an issue' % place.flavour, 'rma_wait' in [i['issue'] for i in analysis['issues']], analysis['issues'])


def longest_of(found, state):
    return max([s for (name, _), (s, _) in found.items() if name == state], default=0)


def nobody_late(t, place, program):
    """The same without anybody late: no state comes near to what it was. What others on the machine do comes and goes: of the least
    in some runs nothing but our own is left."""
    least = {}
    for _ in range(ATTEMPTS):
        found = waited(run(t, place, program, 'all', 0))
        least = {state: min(longest_of(found, state), least.get(state, 1e9)) for state in STATES}
        if max(least.values()) < SLACK_S:
            break
    for state, longest in least.items():
        t.check('%s under %s: next to nothing where nobody is late' % (state, place.flavour), longest < SLACK_S, '%g s' % longest)


def helped(t, place, program):
    """Open MPI 4's osc/rdma reaches into shared memory by itself: its target may compute as long as it likes."""
    found = waited(run(t, place, program, 'progress', LATE_S, OMPI_MCA_osc='rdma'))
    t.equal('wait_for_progress under openmpi: none, where the library needs no help',
            [k for k in found if k[0] == 'wait_for_progress'], [])


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('rma_waits.c')
            if emulated() and place.plain(RANKS, 'timeout', '60', program, 'fence', '0', place.dir + '/plain.dat').returncode != 0:
                t.skip('%s: who waits in one-sided calls' % place.flavour, 'untraced, emulated, it does not return from MPI_Win_fence')
                continue
            late(t, place, program)
            nobody_late(t, place, program)
            if flavour == 'openmpi' and open_mpi() < 5: # later ones ask the target
                helped(t, place, program)
    t.end()


main()
