#!/usr/bin/env python3
"""hard.py - cases that broke other tracers: many requests, freed requests, polling, a tag a message, 64 threads, longjmp out
of a call, mpi4py with libmpi loaded out of sight."""
import json
import os
import shutil
import subprocess

from trace import FLAVOURS, MPITRACE, TIMEOUT, Place, Tests, operations

WANT = {
    'outstanding': {'MPI_Irecv': 10000, 'MPI_Isend': 10000, 'MPI_Waitall': 1},
    'startall': {'MPI_Startall': 3, 'MPI_Waitall': 3, 'MPI_Request_free': 3000},
    'freed': {'MPI_Isend': 400000, 'MPI_Request_free': 400000, 'MPI_Recv': 400000},
    'polls': {'MPI_Test': 1000000, 'MPI_Irecv': 1, 'MPI_Send': 1, 'MPI_Wait': 1},
    'pollers': {'MPI_Testany': 1000000, 'MPI_Testall': 100000, 'MPI_Testsome': 100000, 'MPI_Request_get_status': 100000},
    'tags': {'MPI_Irecv': 64000, 'MPI_Send': 64000, 'MPI_Wait': 64000, 'MPI_Iprobe': 3000},
    'threads': {'MPI_Irecv': 32000, 'MPI_Isend': 32000, 'MPI_Waitall': 32000},
    'jumps': {'MPI_Barrier': 10, 'MPI_Send': None},
    'leavers': {'MPI_Barrier': 10, 'MPI_Send': None},
    'callbacks': {'MPI_Comm_free': 20, 'MPI_Wait': 20, 'MPI_Send': 20, 'MPI_Iprobe': None, 'MPI_Error_string': None, 'MPI_Comm_size': 1},
    'errors': {'MPI_Irecv': 100, 'MPI_Isend': 100, 'MPI_Waitall': 50},
}
MESSAGES = {'outstanding': 10000, 'startall': 4500, 'freed': 400000, 'polls': 1, 'pollers': 2, 'tags': 64000, 'threads': 32000, 'jumps': 0, 'leavers': 0, 'callbacks': 0, 'errors': 100}
PYTHON = '''
from mpi4py import MPI
comm = MPI.COMM_WORLD
total = comm.allreduce(comm.rank + 1)
if comm.rank == 0:
    print(total)
for i in range(10):
    comm.Barrier()
'''


def cases(t, place):
    program = place.compile('hard.c', '-pthread')
    for case, want in WANT.items():
        if case == 'leavers' and place.flavour == 'mpich':
            continue # it has its lock while it calls error handlers: who ends there takes the lock along
        who = '%s, %s: ' % (place.flavour, case)
        words = [program, case]
        plain = subprocess.run(words, env=place.env, cwd=place.dir, capture_output=True, timeout=TIMEOUT)
        traced = subprocess.run([MPITRACE, 'run', '--out', place.dir + '/out', '--name', case, '--'] + words,
                                env=place.env, cwd=place.dir, capture_output=True, timeout=2 * TIMEOUT)
        t.equal(who + 'the result is that of the untraced program', (traced.stdout, traced.returncode),
                (plain.stdout, plain.returncode))
        a = place.analysis(case)
        ops = operations(a)
        t.equal(who + 'calls are exact', {k: ops.get(k) for k in want}, want)
        c = a['coverage']
        bad = {k: v for k, v in c['unmatched'].items() if v}
        # MPICH 5.0 says MPI_SUCCESS of a send to nobody, once its error handler was called: then it is one.
        nobody = {'outside_world': 20} if b', 0 refused' in plain.stdout else {}
        t.equal(who + 'every message is matched, nothing is lost', (a['summary']['transfers'], bad, c['events_lost']),
                (MESSAGES[case], nobody, 0))
        # What is in no count is a number: calls that were left, and those from functions that MPI calls.
        left, inside = {'jumps': (100, 0), 'leavers': (100, 0), 'callbacks': (0, 100)}.get(case, (0, 0))
        t.equal(who + 'what is in no count is a number', (c['calls_left'], c['calls_in_callbacks'] + c['calls_unclear'], bool(c['reasons']), c['complete']),
                (left, inside, left + inside > 0, left + c['calls_unclear'] == 0))
        if case == 'polls':
            t.check(who + 'a million tests are few events', c['events'] < 100, c['events'])


def full_definitions(t, place):
    """What the tracer has no room for is a number, and the calls are there all the same."""
    program = place.compile('hard.c', '-pthread')
    run = place.traced(1, program, 'communicators', name='communicators')
    who = '%s, 200,000 communicators: ' % place.flavour
    t.equal(who + 'the program runs', (run.returncode, run.stderr if run.returncode else b''), (0, b''))
    a = place.analysis('communicators')
    ops, c = operations(a), a['coverage']
    t.equal(who + 'calls are exact', (ops.get('MPI_Comm_dup'), ops.get('MPI_Comm_free'), c['events_lost']), (200000, 200000, 0))
    known = len(a['communicators']) + a['communicators_left_out']
    t.equal(who + 'each is defined, or counted as missing', known + c['definitions_missing'], 200000 + 1) # MPI_COMM_SELF
    t.check(who + 'the coverage says so', c['definitions_missing'] > 0 and not c['complete'] and
            any('had no room' in r for r in c['reasons']), c)


def full_tables(t, place):
    """What has no place in a table of the tracer's is a number too, once an object, whatever calls name it."""
    program = place.compile('tables.c')
    rows = [('promises', 300, 256, 'MPI_Comm_idup'), ('meanings', 8300, 8192, 'MPI_Type_contiguous'), ('datatypes', 65700, 65536, 'MPI_Type_contiguous')]
    if place.flavour == 'openmpi': # MPICH has 2,048 communicators, makes one a window, and its Mprobe dies in UCX
        rows += [('messages', 1100, 1024, 'MPI_Mrecv'), ('communicators', 16500, 16384, 'MPI_Comm_dup'), ('windows', 4200, 4096, 'MPI_Win_create')]
    for case, n, places, op in rows:
        who = '%s, %d %s: ' % (place.flavour, n, case)
        run = place.traced(1, program, case, str(n), name='table-' + case)
        t.equal(who + 'the program runs', (run.returncode, run.stderr if run.returncode else b''), (0, b''))
        a = place.analysis('table-' + case)
        c = a['coverage']
        t.equal(who + 'calls are exact', (operations(a).get(op), c['events_lost']), (n, 0))
        t.check(who + 'what found no place is counted, once', n - places <= c['definitions_missing'] <= n - places + 8, c['definitions_missing'])
        t.check(who + 'the coverage says so', not c['complete'] and any('no room for %d definition' % c['definitions_missing'] in r for r in c['reasons']), c)


def first_called_late(t, place):
    """When definitions are full, calls are still those of their operation, also where there are no events."""
    program, n = place.compile('tables.c'), 140000
    run = place.traced(1, program, 'definitions', str(n), name='late', MPITRACE_MODE='profile')
    who = '%s, first called when definitions are full: ' % place.flavour
    t.equal(who + 'the program runs', run.returncode, 0)
    a = place.analysis('late')
    t.equal(who + 'calls are exact', operations(a), {'MPI_Init': 1, 'MPI_Comm_dup': n, 'MPI_Comm_free': n, 'MPI_Sendrecv': 10, 'MPI_Allreduce': 10,
                                                     'MPI_Finalize': 1})
    t.check(who + 'and definitions are missing', a['coverage']['definitions_missing'] > 0, a['coverage'])


def no_room(t, place):
    """Which call it was is known whatever the tracer cannot get; what else is not known is a number."""
    program = place.compile('no_room.c', '-pthread')
    want = {'user': {'MPI_Sendrecv': 60000, 'MPI_Allreduce': 1000, 'MPI_Barrier': 1000, 'MPI_Comm_size': 1, 'MPI_Finalize': 1, 'MPI_Init_thread': 1},
            'memory': {'MPI_Sendrecv': 60000, 'MPI_Allreduce': 1000, 'MPI_Barrier': 1000, 'MPI_Comm_size': 1, 'MPI_Finalize': 1, 'MPI_Init_thread': 1},
            'threads': {'MPI_Sendrecv': 250000, 'MPI_Reduce_local': 2500, 'MPI_Finalize': 1, 'MPI_Init_thread': 1}}
    for case in want:
        for mode in ('events', 'profile'):
            name = case + '-' + mode
            who = '%s, no room, %s: ' % (place.flavour, name)
            run = place.traced(1, program, case, name=name, MPITRACE_MODE=mode)
            t.equal(who + 'the program runs', run.returncode, 0)
            a = place.analysis(name)
            c = a['coverage']
            t.equal(who + 'calls are exact', operations(a), want[case])
            known = sum(o['bytes'] for o in a['operations'] if o['op'] == 'MPI_Sendrecv') == 8 * want[case]['MPI_Sendrecv']
            t.check(who + 'either all is known or the coverage says what is not', case == 'memory' or known == c['complete'] and
                    known != any('only in the totals' in r for r in c['reasons']), c)
            t.check(who + 'what threads do is known', case != 'threads' or known, c)
            t.check(who + 'a datatype without room is one, however often it is used', case != 'memory' or c['definitions_missing'] < 10, c)


def unnamed(t, place):
    """A program that removes the files that it is recorded in: what it called before and behind is recorded, and what is not is a number."""
    program, n = place.compile('unnamed.c', '-pthread'), 90000
    who = '%s, a program that removes its files: ' % place.flavour
    run = place.traced(1, program, str(n), name='unnamed')
    t.equal(who + 'it runs', (run.returncode, run.stdout), (0, b''))
    a = place.analysis('unnamed')
    t.equal(who + 'calls are exact, or a number', (operations(a), a['coverage']['calls_outside'], a['coverage']['complete']),
            ({'MPI_Init_thread': 1, 'MPI_Sendrecv': n, 'MPI_Finalize': 1}, n, False))


def accused(a):
    """Of what the program did not do, as nobody saw it done."""
    return [i['issue'] for i in a['issues'] if i['issue'] in ('unmatched', 'request_leak')] + [d['kind'] for d in a['correctness']]


def unseen(t, place):
    """Requests that are completed where no call is recorded are a number, and do not stand in the way of later ones."""
    program = place.compile('unseen.c')
    for case, n in (('op', 1), ('query', 1), ('requests', 40)):
        who = '%s, unseen, %s: ' % (place.flavour, case)
        plain = place.plain(2, program, case)
        if plain.returncode != 0: # no library must allow it
            t.skip(who + 'as untraced', 'untraced it ends with %d' % plain.returncode)
            continue
        traced = place.traced(2, program, case, name='unseen-' + case)
        t.equal(who + 'output and exit code are those of the untraced program', (sorted(traced.stdout.splitlines()), traced.returncode),
                (sorted(plain.stdout.splitlines()), 0))
        a = place.analysis('unseen-' + case)
        c = a['coverage']
        t.equal(who + 'they are a number, and the record lacks them', (c['requests_unseen'], c['complete'], any('no call is recorded' in r for r in c['reasons'])),
                (n, False, True))
        t.equal(who + 'nobody is accused', accused(a), [])
        late = [(w['rank'], w['count'], w['seconds']) for w in a['wait_states'] if w['state'] == 'late_sender']
        t.check(who + 'later requests wait for their own messages', sum(n for r, n, s in late if r == 0) >= 3 and sum(s for _, _, s in late) > 0.2, late)
    place.traced(2, program, 'anybody', name='anybody')
    a = place.analysis('anybody')
    t.equal('%s, unseen, anybody: each message has its sender, or it is said that nobody knows' % place.flavour,
            (a['summary']['transfers'] + a['coverage']['unmatched']['unknown_source'] // 2, accused(a)), (6, []))
    place.traced(2, program, 'sends', name='sends')
    a = place.analysis('sends')
    c = a['coverage']
    t.equal('%s, unseen, sends: a message of a function that MPI calls is a number, and the record lacks it' % place.flavour,
            (c['messages_in_callbacks'] + c['calls_unclear'], c['complete'], accused(a)), (1, False, []))
    plain, traced = place.plain(2, program, 'aborts'), place.traced(2, program, 'aborts', name='aborts')
    a = place.analysis('aborts')
    t.check('%s, unseen, aborts: who called MPI_Abort in an error handler is known' % place.flavour, traced.returncode == plain.returncode and
            'rank 0 called MPI_Abort' in a['coverage']['reasons'] and a['issues'][0]['issue'] == 'death' and 'ank 0' in a['verdict'], (a['coverage'], a['verdict']))
    if shutil.which('mpifort.' + place.flavour):
        program = place.compile('callbacks.f90')
        plain, traced = place.plain(2, program), place.traced(2, program, name='callbacks-fortran')
        c = place.analysis('callbacks-fortran')['coverage']
        t.equal('%s: calls of Fortran that MPI calls are a number' % place.flavour,
                (int(traced.stdout), c['calls_in_callbacks'] + c['messages_in_callbacks'] + c['calls_unclear']), (int(plain.stdout), int(plain.stdout)))


def counts_of(place, name):
    """The analysis of a run of milliseconds: its counts are exact, its shares are of next to nothing."""
    return json.loads(subprocess.run([MPITRACE, 'show', '%s/out/%s.mpix' % (place.dir, name), '--json'], capture_output=True, check=True).stdout)


def early(t, place):
    """Threads that use MPI while another brings it up: each call of theirs is recorded, and nothing is said that is not so."""
    program = place.compile('early.c', '-pthread')
    for case, times in (('initialized', 8), ('sessions', 8)):
        who = '%s, early, %s: ' % (place.flavour, case)
        # Untraced half of the runs with MPICH 5.0.2 die, of Open MPI 6.0.0rc2 all without a launcher and one of 150 with one.
        alone = subprocess.run([program, case], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode if case == 'sessions' else 0
        if case == 'sessions' and (alone or any(place.plain(1, program, case).returncode for _ in range(times))):
            t.skip(who + 'as untraced', 'this library cannot')
            continue
        seen = []
        for i in range(times):
            run = place.traced(1, program, case, name=case + str(i))
            a = counts_of(place, case + str(i))
            ops, c = operations(a), a['coverage']
            seen.append((run.returncode, run.stdout, ops.get('MPI_Isend'), ops.get('MPI_Waitall'), c['complete'], c['reasons'], sum(c['unmatched'].values())))
        t.equal(who + '%d runs: all that was called is there' % times, [x for x in seen if x != (0, b'done\n', 2400, 2400, True, [], 0)], [])


def again(t, place):
    """The record ends with MPI_Finalize: calls of a session that is begun behind it are a number."""
    program = place.compile('early.c', '-pthread')
    who = '%s, a session behind MPI_Finalize: ' % place.flavour
    plain = place.plain(1, program, 'again')
    if plain.returncode != 0:
        t.skip(who + 'as untraced', 'this library cannot')
        return
    traced = place.traced(1, program, 'again', name='again')
    a = place.analysis('again')
    c = a['coverage']
    t.equal(who + 'the program runs as ever', (traced.returncode, traced.stdout), (0, plain.stdout))
    t.equal(who + 'its calls are a number', (operations(a).get('MPI_Barrier'), c['calls_again'], c['complete'], len(c['reasons'])), (1, 204, False, 1))


def mpi4py(t):
    if subprocess.run(['/usr/bin/python3', '-c', 'import mpi4py.MPI'], capture_output=True).returncode != 0:
        return
    with Place('openmpi') as place:
        script = place.dir + '/p.py'
        with open(script, 'w') as f:
            f.write(PYTHON)
        plain = place.plain(2, '/usr/bin/python3', script)
        traced = place.traced(2, '/usr/bin/python3', script)
        t.equal('mpi4py: the result is that of the untraced program', (traced.stdout, traced.returncode),
                (plain.stdout, plain.returncode))
        t.equal('mpi4py: barriers are exact', operations(place.analysis()).get('MPI_Barrier'), 20)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            cases(t, place)
            full_definitions(t, place)
            full_tables(t, place)
            first_called_late(t, place)
            no_room(t, place)
            unnamed(t, place)
            unseen(t, place)
            early(t, place)
            again(t, place)
    if shutil.which('mpirun.openmpi'):
        mpi4py(t)
    t.end()


main()
