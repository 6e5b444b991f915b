#!/usr/bin/env python3
"""fibres.py - programs whose functions call MPI from fibres, signal stacks and stacks made by hand: the tracer reads no memory that
is not there, and the callers that it names are those that called."""
import subprocess

from trace import FLAVOURS, PROGRAMS, Place, Tests, operations

FORTRAN = {'openmpi': '-lmpi_mpifh', 'mpich': '-lmpichfort'}
# Whoever stands above the call in the source, from inside out.
FROM_THREAD = {('on_thread', x, end) for x, end in (('small_one', 'main'), ('small_one', 'of_thread'), ('remapped', 'main'), ('remapped', 'of_thread'),
                                                    ('inside', 'main'), ('alternate', 'main'), ('bare', 'main'), ('bare', 'of_thread'))}
ONCE_UNKNOWN = {('afterwards', 'bottom', 'main')} # its first call came from where nobody called
FROM_FIBRE = {('on_thread',), ('on_fibre',), ('on_fibre', 'on_signal'), ('on_fibre', 'by_hand')}


def callers(a):
    """Of each stack the functions that are the program's."""
    frames = [f['function'] if (f['file'] or '').endswith('fibres.c') else None for f in a['frames']]
    return {tuple(frames[i] for i in s['frames'] if frames[i]) for s in a['stacks']}


def known(t, place, program, name, stack, who):
    plain = place.plain(1, program)
    run = place.traced(1, program, name=name, **({'MPITRACE_STACK': stack} if stack else {}))
    t.equal(who + 'the result is that of the untraced program', (run.stdout, run.returncode), (plain.stdout, 0))
    if run.returncode != 0:
        return
    a = place.analysis(name)
    barriers = [(s['function'], s['calls']) for s in a['callsites'] if s['op'] == 'MPI_Barrier']
    n = operations(a)['MPI_Barrier'] // 2
    t.equal(who + 'calls are exact, and at their sites, of C and Fortran', sorted(barriers), [('roomy', n), ('roomy_fortran', n)])
    if stack:
        t.equal(who + 'callers are those of the source, on the stack of the thread to its end', callers(a) - {('main',), ()},
                FROM_THREAD | FROM_FIBRE | ONCE_UNKNOWN)
    t.equal(who + 'and nothing is missing', (a['coverage']['calls_unclear'], a['coverage']['reasons']), (0, []))


def left(t, place, program):
    who = '%s, after a call that was left by longjmp: ' % place.flavour
    plain, run = place.plain(1, program, 'left'), place.traced(1, program, 'left', name='left', MPITRACE_STACK='4')
    t.equal(who + 'the result is that of the untraced program', (run.stdout, run.returncode), (plain.stdout, 0))
    a = place.analysis('left')
    t.equal(who + 'calls are exact, on the stack of the thread and on a fibre', operations(a)['MPI_Barrier'], 10)
    c = a['coverage']
    t.equal(who + 'those that were left are a number', (c['calls_left'], c['calls_unclear'], c['complete'], len(c['reasons'])), (2, 0, False, 1))


def unclear(t, place, program):
    """A call was left by longjmp, and the stack of the next ones cannot be followed: what is not recorded is a number."""
    who = '%s, left and bare: ' % place.flavour
    plain, run = place.plain(1, program, 'left_bare'), place.traced(1, program, 'left_bare', name='left-bare')
    t.equal(who + 'the result is that of the untraced program', (run.stdout, run.returncode), (plain.stdout, 0))
    a = place.analysis('left-bare')
    c = a['coverage']
    t.equal(who + 'each call is recorded, or counted as missing', operations(a).get('MPI_Barrier', 0) + c['calls_unclear'], 6)
    t.check(who + 'and the coverage says so', (c['complete'], any('inside of another call' in r for r in c['reasons'])) == (
        c['calls_unclear'] == 0, c['calls_unclear'] > 0), c)


def little_room(t, place, program):
    plugin = place.dir + '/libplugin.so'
    subprocess.run(['mpicc.' + place.flavour, '-shared', '-fPIC', '-g', '-O1', '-o', plugin, PROGRAMS + '/plugin.c'], check=True)
    plain = place.plain(1, program, 'loaded', PLUGIN=plugin)
    run = place.traced(1, program, 'loaded', name='loaded', PLUGIN=plugin, MPITRACE_STACK='4')
    who = '%s, a library loaded late, on a small stack: ' % place.flavour
    t.equal(who + 'the result is that of the untraced program', (run.stdout, run.returncode), (plain.stdout, 0))
    t.equal(who + 'its calls are recorded', operations(place.analysis('loaded')).get('MPI_Barrier'), 2)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            for flags, stack in ((), '4'), ((), None), (('-O0',), '4'), (('-O2', '-fomit-frame-pointer', '-fno-optimize-sibling-calls', '-fno-inline'), '4'):
                program = place.compile('fibres.c', '-pthread', FORTRAN[flavour], *flags)
                name = 'fibres%s%s' % (''.join(flags[:1]), '-callers' if stack else '')
                known(t, place, program, name, stack, '%s, %s: ' % (flavour, name))
            left(t, place, program)
            unclear(t, place, program)
            little_room(t, place, program)
    t.end()


main()
