#!/usr/bin/env python3
"""tools.py - programs with profiling libraries of their own: linked, or preloaded ahead of the tracer or behind it, one or two,
from C and Fortran. They see what they see without the tracer, and the trace has the calls of the program, each once."""
import itertools
import json
import os
import shutil
import subprocess

from trace import FLAVOURS, MPITRACE, PROGRAMS, Place, Step, Tests, operations

TRACER = os.environ['TRACER']
KINDS = {'plain': [], 'next': ['-DBY_NEXT'], 'handle': ['-DBY_HANDLE'], 'name': ['-DBY_NAME'], 'few': ['-DFEW'], 'fortran': ['-DFORTRAN'], 'bare': ['-DBARE']}
LANGUAGES = ('lang_mpif.f', 'lang_use.f90', 'lang_f08.f90')
PLACES = ('ahead', 'behind', 'linked')


def analysed(step):
    subprocess.run([MPITRACE, 'analyze', step.out, '-o', step.out + '/job.mpix'], capture_output=True, check=True)
    return json.loads(subprocess.run([MPITRACE, 'show', step.out + '/job.mpix', '--json'], capture_output=True, check=True).stdout)


def tool(place, kind):
    path = '%s/libtool_%s.so' % (place.dir, kind)
    if not os.path.exists(path):
        subprocess.run(['mpicc.' + place.flavour, '-g', '-O1', '-w', '-shared', '-fPIC', '-DNAME="%s"' % kind, *KINDS[kind], '-o', path,
                        PROGRAMS + '/tool.c', '-ldl'], check=True)
    return path


def program(place, source, linked):
    """Linked with these, in that order."""
    path = '_'.join([place.dir + '/' + source.replace('.', '_')] + [os.path.basename(x) for x in linked])
    if not os.path.exists(path):
        os.rename(place.compile(source, '-Wl,--no-as-needed', *linked, '-Wl,-rpath,' + place.dir), path)
    return path


def wanted(place, source, name='alone'):
    """The program's calls, when nobody else is there."""
    step = Step(place, name + '-' + source)
    step.run(program(place, source, []))
    step.end()
    return operations(analysed(step))


class Number:
    steps = 0


def one(t, place, source, want, where):
    """where: (kind of tool, its place), in the order in which the loader meets them."""
    Number.steps += 1
    paths = {p: [tool(place, kind) for kind, at in where if at == p] for p in PLACES}
    executable = program(place, source, paths['linked'])
    step = Step(place, 'tool%d' % Number.steps)
    preloaded = ':'.join(paths['ahead'] + paths['behind'])
    plain = subprocess.run([executable], env=dict(place.env, LD_PRELOAD=preloaded), capture_output=True, timeout=60)
    traced = step.run(executable, env={'LD_PRELOAD': ':'.join(paths['ahead'] + [TRACER] + paths['behind'])})
    step.end()
    who = '%s, %s, %s: ' % (place.flavour, source, ' + '.join('%s %s' % w for w in where))
    t.check(who + 'output and exit code are those of the untraced program', plain.returncode == 0 and
            (plain.stdout, plain.stderr, plain.returncode) == (traced.stdout, traced.stderr, traced.returncode), (plain, traced))
    a = analysed(step)
    t.equal(who + 'the calls are those of the program, each once', operations(a), want)
    t.equal(who + 'and the trace is complete', (a['coverage']['complete'], a['coverage']['events_lost']), (True, 0))


def in_c(t, place):
    want = wanted(place, 'tooled.c')
    for kind, at in [*itertools.product(('plain', 'next', 'handle', 'name'), PLACES), ('bare', 'ahead')]:
        # What a library calls through its own wrappers is the program's to itself, too.
        more = {'MPI_Barrier': 1, 'MPI_Allreduce': 1} if (kind, at) == ('name', 'ahead') else {}
        one(t, place, 'tooled.c', {op: n + more.get(op, 0) for op, n in want.items()}, [(kind, at)])
    for kinds in (('few', 'plain'), ('plain', 'few'), ('next', 'plain')):
        for places in sorted(itertools.product(PLACES, PLACES)):
            if PLACES.index(places[0]) <= PLACES.index(places[1]):
                one(t, place, 'tooled.c', want, list(zip(kinds, places)))


def in_the_program(t, place):
    """The library's object is in the executable, as those that are linked statically: its own calls are told from the program's, and
    counted."""
    want = wanted(place, 'tooled.c', 'in')
    for kind in ('plain', 'few', 'bare'):
        who = '%s, %s in the program: ' % (place.flavour, kind)
        path = '%s/tooled_with_%s' % (place.dir, kind)
        os.rename(place.compile('tooled.c', '-DNAME="%s"' % kind, *KINDS[kind], PROGRAMS + '/tool.c', '-ldl'), path)
        plain, traced = place.plain(2, path), place.traced(2, path, name='in-' + kind)
        t.equal(who + 'output and exit code are those of the untraced program', (sorted(traced.stdout.splitlines()), traced.returncode),
                (sorted(plain.stdout.splitlines()), 0))
        a = place.analysis('in-' + kind)
        c = a['coverage']
        t.equal(who + 'the calls are those of the program, each once', operations(a), {op: 2 * n for op, n in want.items()})
        # Dup and Barrier; Comm_rank, Comm_size, Gather, Allreduce and Comm_free. MPI_Initialized has no place.
        t.check(who + 'those of the library are a number, and the trace is complete', c['complete'] and c['calls_of_tools'] >= 2 * 7 and
                any('profiling library' in r for r in c['reasons']), c)


def other_calls(t, place):
    """Calls that a library makes in place of the program's, or beside it, are a number, and the trace does not pass for whole."""
    for kind, count in (('REPLACES', 'calls_replaced'), ('INSTEAD', 'calls_replaced'), ('BESIDE', 'calls_doubtful')):
        who = '%s, a library that %s: ' % (place.flavour, kind.lower())
        path = '%s/other_%s' % (place.dir, kind.lower())
        os.rename(place.compile('tooled.c', '-D' + kind, PROGRAMS + '/tool_other.c'), path)
        plain, traced = place.plain(2, path), place.traced(2, path, name=kind)
        t.equal(who + 'output and exit code are those of the untraced program', (sorted(traced.stdout.splitlines()), traced.returncode),
                (sorted(plain.stdout.splitlines()), 0))
        a = place.analysis(kind)
        c = a['coverage']
        t.check(who + 'it is a number, and said', c[count] > 0 and not c['complete'] and any('profiling library' in r for r in c['reasons']), c)
        t.equal(who + 'the other kind is none', c['calls_doubtful' if kind != 'BESIDE' else 'calls_replaced'], 0)
        t.equal(who + 'the program is not accused', [i['issue'] for i in a['issues'] if i['issue'] in ('unmatched', 'request_leak')], [])


def in_fortran(t, place):
    for source in LANGUAGES:
        want = wanted(place, source)
        for kind, at in itertools.product(('plain', 'fortran'), PLACES):
            one(t, place, source, want, [(kind, at)])


def by_mpitrace_run(t, place):
    """As a user does it, with two ranks."""
    executable = program(place, 'tooled.c', [tool(place, 'plain')])
    plain, traced = place.plain(2, executable), place.traced(2, executable, name='two')
    t.equal('%s, two ranks, linked: output and exit code are those of the untraced program' % place.flavour,
            (sorted(traced.stdout.splitlines()), traced.returncode), (sorted(plain.stdout.splitlines()), 0))
    t.equal('%s, two ranks, linked: the calls are those of the program' % place.flavour, operations(place.analysis('two')),
            {op: 2 * n for op, n in wanted(place, 'tooled.c', 'two').items()})


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            in_c(t, place)
            in_the_program(t, place)
            other_calls(t, place)
            if shutil.which('mpifort.' + flavour):
                in_fortran(t, place)
            by_mpitrace_run(t, place)
    t.end()


main()
