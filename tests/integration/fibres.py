#!/usr/bin/env python3
"""fibres.py - programs whose functions call MPI from fibres, signal stacks and stacks made by hand: the tracer reads no memory that
is not there, and the callers that it names are those that called."""
from trace import FLAVOURS, Place, Tests, operations

FORTRAN = {'openmpi': '-lmpi_mpifh', 'mpich': '-lmpichfort'}
# Whoever stands above the call in the source, from inside out.
FROM_THREAD = {('on_thread', x, end) for x, end in (('small_one', 'main'), ('small_one', 'of_thread'), ('remapped', 'main'), ('remapped', 'of_thread'),
                                                    ('inside', 'main'), ('alternate', 'main'), ('bare', 'main'), ('bare', 'of_thread'))}
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
        t.equal(who + 'callers are those of the source, on the stack of the thread to its end', callers(a) - {('main',), ()}, FROM_THREAD | FROM_FIBRE)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            for flags, stack in ((), '4'), ((), None), (('-O0',), '4'), (('-O2', '-fomit-frame-pointer', '-fno-optimize-sibling-calls', '-fno-inline'), '4'):
                program = place.compile('fibres.c', '-pthread', FORTRAN[flavour], *flags)
                name = 'fibres%s%s' % (''.join(flags[:1]), '-callers' if stack else '')
                known(t, place, program, name, stack, '%s, %s: ' % (flavour, name))
    t.end()


main()
