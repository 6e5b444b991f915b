#!/usr/bin/env python3
"""records.py - what single calls leave in the trace, looked at word for word: epochs and windows."""
from trace import DEF_WINDOW, DEF_WINDOW_NAME, FLAVOURS, POLLS, Place, Tests

RANKS = 4


def calls(process, name):
    return [s for s in process['sigs'] if s['name'] == name and s['calls'] > 0]


def same_everywhere(processes, kind):
    """The global ids of a kind of definition, in order of definition, by rank."""
    return [[d['global_id'] for d in processes[r]['defs'] if d['def'] == kind] for r in sorted(processes)]


def one_sided(t, place):
    who = place.flavour + ', one-sided: '
    program = place.compile('counts_rma.c')
    place.traced(RANKS, program)
    processes = place.records()
    for name, offsets in (('MPI_Win_post', (1, 2)), ('MPI_Win_start', (-1, -2))): # ranks of the window are reversed
        t.equal(who + name + ' tells its group in world ranks', [calls(p, name)[0]['group'] for _, p in sorted(processes.items())],
                [[(r + o) % RANKS for o in offsets] for r in range(RANKS)])
    p = processes[1]
    t.equal(who + 'locks tell their type', sorted((s['lock_type'], s['peer'] >= 0, s['calls']) for s in
                                                  calls(p, 'MPI_Win_lock') + calls(p, 'MPI_Win_lock_all')),
            [(1, False, 1), (1, True, 2), (2, True, 3)])
    t.check(who + 'assertions are told', calls(p, 'MPI_Win_lock_all')[0]['assertion'] != 0, calls(p, 'MPI_Win_lock_all'))
    t.equal(who + 'unsuccessful MPI_Win_test are polls', {bool(s['flags'] & POLLS) for s in calls(p, 'MPI_Win_test')} - {True}, {False})
    ids = same_everywhere(processes, DEF_WINDOW)
    t.equal(who + 'windows on the whole world have one id on all ranks, two halves have two',
            ([len(set(x)) for x in zip(*ids)], len({i for x in ids for i in x})), ([1, 1, 2, 1, 1], 6))
    t.equal(who + 'names are kept', [d['name'] for d in p['defs'] if d['def'] == DEF_WINDOW_NAME], ['fenced'])
    windows = place.analysis()['windows']
    t.equal(who + 'the analysis counts by window', sorted((w['name'] or '', w['created_by'], w['puts'], w['fences'], w['posts'], w['locks'])
                                                         for w in windows),
            sorted([('fenced', 'MPI_Win_create', 40, 64, 0, 0), ('', 'MPI_Win_create', 40, 0, 20, 0),
                    ('', 'MPI_Win_allocate', 12, 0, 0, 12), ('', 'MPI_Win_allocate', 12, 0, 0, 12),
                    ('', 'MPI_Win_allocate_shared', 4, 8, 0, 0), ('', 'MPI_Win_create_dynamic', 4, 8, 0, 0)]))


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            one_sided(t, place)
    t.end()


main()
