#!/usr/bin/env python3
"""worlds.py - programs whose processes meet after MPI_Init: spawned worlds, ports, sessions. Ranks of another world are never
taken for ranks of ours."""
from trace import FLAVOURS, MPITRACE, Place, Tests, matrix, open_mpi, operations, truth, whole

RANKS = 3
# From 5 on, processes that were started apart meet by TCP only.
MEET = {'OMPI_MCA_btl': 'self,sm,tcp', 'OMPI_MCA_btl_tcp_if_include': 'lo'} if open_mpi() >= 5 else {}


def run(t, place, case):
    program = place.compile('worlds.c')
    out = place.traced(RANKS, program, case, name=case, TRUTH=place.dir + '/' + case, **MEET)
    who = '%s, %s: ' % (place.flavour, case)
    t.check(who + 'runs', out.returncode == 0, out)
    ops, flows = truth(place.dir + '/' + case)
    a = place.analysis(case)
    t.equal(who + 'calls of this world are exact', operations(a), ops)
    t.equal(who + 'messages between ranks of this world are exact', matrix(a, 'p2p', 'messages'), flows['message'])
    c = a['coverage']
    bad = {k: v for k, v in c['unmatched'].items() if v and k != 'outside_world'}
    t.equal(who + 'nothing is lost or unmatched', (c['events_lost'], c['complete'], bad), (0, True, {}))
    return who, a


def spawn(t, place, case):
    untraced = place.plain(RANKS, place.compile('worlds.c'), case, **MEET).returncode
    if untraced != 0: # mpirun of 5.0.7 dies of MPI_Comm_spawn_multiple
        t.skip('%s, %s: traced as ever' % (place.flavour, case), 'untraced it ends with %d' % untraced)
        return
    who, a = run(t, place, case)
    t.equal(who + 'the children are a world of their own, spawned by ours',
            [(w['size'], w['ranks_seen'], w['analysed'], w['spawned'], w['spawned_by_ranks'], w['parent'])
             for w in sorted(a['worlds'], key=lambda w: w['spawned'])],
            [(RANKS, RANKS, True, False, 0, None), (2, 2, False, True, RANKS, [w['id'] for w in a['worlds'] if w['analysed']][0])])
    t.equal(who + 'messages with them are counted as outside', a['coverage']['unmatched']['outside_world'], 4)
    inter = [c for c in a['communicators'] if c['created_by'] == {'spawn': 'MPI_Comm_spawn'}.get(case, 'MPI_Comm_spawn_multiple')]
    merged = [c for c in a['communicators'] if c['created_by'] == 'MPI_Intercomm_merge']
    t.equal(who + 'members of the other world have no rank',
            [(c['ranks'], c.get('remote_ranks')) for c in inter + merged],
            [(list(range(RANKS)), [-1, -1]), (list(range(RANKS)) + [-1, -1], None)])


def spawned_that_dies(t, place):
    """What ended the run is in no rank of ours: that it was so is said, and MPI is not accused of it."""
    out = place.traced(RANKS, place.compile('worlds.c'), 'spawn_dying', name='dying', TRUTH=place.dir + '/dying', **MEET)
    a = place.analysis('dying')
    who = '%s, a spawned rank that dies: ' % place.flavour
    if out.returncode != 139:
        t.skip(who + 'as with Open MPI 4', 'this launcher ends with %d' % out.returncode)
        return
    t.equal(who + 'ours are analysed', [w['spawned'] for w in a['worlds'] if w['analysed']], [False])
    t.check(who + 'of what it died is said', 'rank 1 of another MPI_COMM_WORLD was killed by signal 11' in a['coverage']['reasons'], a['coverage'])
    theirs = 'another MPI_COMM_WORLD' in a['verdict'] or a['verdict'].startswith('Rank ') # of Open MPI 5 who is connected may die as well
    t.check(who + 'no error of MPI is named', 'error of MPI' not in a['verdict'] and theirs, a['verdict'])


def one_after_the_other(t, place):
    """A run that never starts, and then another one: ranks of two runs are no world, though their numbers would be one's."""
    stuck, good = place.compile('stuck_start.c'), place.compile('lang_c.c')
    script = place.dir + '/script'
    with open(script, 'w') as f:
        f.write('timeout 3 mpirun -n 2 %s before\nmpirun -n 2 %s\n' % (stuck, good))
    whole([MPITRACE, 'run', '--out', place.dir + '/out', '--name', 'script', '--', '/bin/sh', script], place.env, place.dir)
    a = place.analysis('script')
    t.equal('%s: of a stuck run and a good one the good one is analysed, whole' % place.flavour,
            (a['job']['ranks'], a['coverage']['ranks_seen'], [r['state'] for r in a['per_rank']], [w['ranks_seen'] for w in a['worlds'] if not w['analysed']]),
            (2, 2, ['finalized', 'finalized'], [1]))
    t.check('%s: that the other is left out is said as a number' % place.flavour,
            any(r.startswith('left out, as of other MPI_COMM_WORLDs of the step: 1 process') for r in a['coverage']['reasons']), a['coverage']['reasons'])


def elsewhere(t, place):
    """Ours came to their end, and the step failed because of another world: that is the verdict, not that nothing is to be fixed."""
    script = place.dir + '/elsewhere'
    with open(script, 'w') as f:
        f.write('mpirun -n 4 %s || exit 0\nmpirun -n 3 %s exit\n' % (place.compile('lang_c.c'), place.compile('deaths.c')))
    for _ in range(4): # mpiexec of MPICH 4.2 at times ends with 0 of such a program: then no step has failed
        if whole([MPITRACE, 'run', '--out', place.dir + '/out', '--name', 'elsewhere', '--', '/bin/sh', script], place.env, place.dir).returncode != 0:
            break
    a = place.analysis('elsewhere')
    t.equal('%s: that a rank of another world died is the verdict' % place.flavour, (a['job']['ranks'], a['verdict'].split('.')[0], a['issues'][0]['issue']),
            (4, 'Rank 2 of another MPI_COMM_WORLD exited with code 3 without MPI_Finalize', 'death'))


def early_death(t, place):
    """A rank is over before another one comes to MPI_Init: they are of one world, as their launcher says."""
    place.traced(2, place.compile('early_death.c'), place.dir + '/early', name='early')
    a = place.analysis('early')
    t.equal('%s: who died in MPI_Init before another came there is of its world' % place.flavour,
            ([w['ranks_seen'] for w in a['worlds']], a['coverage']['ranks_seen'], [r for r in a['coverage']['reasons'] if 'worlds' in r.lower()]), ([2], 2, []))
    t.check('%s: and of what it died is said' % place.flavour, 'rank 0 was killed by signal 14' in a['coverage']['reasons'], a['coverage'])


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            if flavour == 'openmpi': # Debian's MPICH is built without spawn and ports, and Open MPI 4.1 has no sessions
                run(t, place, 'accept')
                run(t, place, 'join')
                spawn(t, place, 'spawn')
                spawn(t, place, 'spawn_multiple')
                spawned_that_dies(t, place)
                early_death(t, place) # MPICH has no name for a world
            else:
                run(t, place, 'sessions')
            one_after_the_other(t, place)
            elsewhere(t, place)
    t.end()


main()
