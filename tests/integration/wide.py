#!/usr/bin/env python3
"""wide.py - what does not fit one record, one name or one table is told whole, in parts, or with the number of what is missing."""
import os
import re
import shutil
import subprocess

from trace import FLAVOURS, Place, Step, Tests, operations

MODULES = 1200 if os.environ.get('FULL') else 60
MODULE = '#include <mpi.h>\nint call(void) { int f; MPI_Initialized(&f); MPI_Barrier(MPI_COMM_SELF); return f; }\n'


def make_modules(place):
    os.mkdir(place.dir + '/so')
    with open(place.dir + '/m.c', 'w') as f:
        f.write(MODULE)
    subprocess.run(['mpicc.' + place.flavour, '-shared', '-fPIC', '-o', place.dir + '/so/m0.so', place.dir + '/m.c'], check=True)
    for i in range(1, MODULES):
        shutil.copy(place.dir + '/so/m0.so', place.dir + '/so/m%d.so' % i)


def crowds(t, place):
    """Each message has a tag of its own: more than one thread's table, one block of a trace, one group of ranks holds."""
    program = place.compile('own_tags.c')
    for tags, passes in (1100000, 1), (70000, 3):
        place.traced(1, program, str(tags), str(passes), name='tags%d' % passes)
        a = place.analysis('tags%d' % passes)
        t.equal('%s: wide: %d messages of %d different tags: each is there' % (place.flavour, tags * passes, tags),
                (a['summary']['transfers'], a['coverage']['complete'], a['coverage']['reasons']), (tags * passes, True, []))
    place.traced(16, program, '400000', name='many')
    a = place.analysis('many')
    left = [int(n.replace(',', '')) for n in re.findall(r'different sizes and tags than .*: ([\d,]+) calls', ' '.join(a['coverage']['reasons']))]
    t.check('%s: wide: of more different calls than fit, those that have no tag are told, and no others' % place.flavour,
            len(left) == 1 and left[0] > 0 and not a['coverage']['complete'] and a['summary']['transfers'] + left[0] == 400000 and
            operations(a)['MPI_Sendrecv'] == 400000, (a['summary']['transfers'], a['coverage']))


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('wide.c', '-ldl')
            make_modules(place)
            words = [program, place.dir, place.dir + '/so'] + ['x' * 1000] * 20
            plain = subprocess.run(words, env=place.env, cwd=place.dir, capture_output=True, timeout=120)
            step = Step(place, 'wide')
            traced = step.run(*words)
            step.end()
            t.equal(flavour + ': wide: the program is untouched', (traced.returncode, traced.stdout, traced.stderr),
                    (plain.returncode, plain.stdout, plain.stderr))
            meta = step.counts()['processes'][0]['meta']
            argv = sum(len(x) + 1 for x in words)
            t.check(flavour + ': wide: arguments that do not fit are counted',
                    sum(len(x) + 1 for x in meta['argv']) - 1 + meta['argv_missing_bytes'] in (argv - 1, argv),
                    (argv, meta['argv_missing_bytes'], [len(x) for x in meta['argv']]))
            a = step.analysis()
            ops, coverage = operations(a), a['coverage']
            t.equal(flavour + ': wide: one Waitall of 20,000 requests is one call, and each is completed',
                    (ops['MPI_Waitall'], a['summary']['transfers'], {k: v for k, v in coverage['unmatched'].items() if v},
                     coverage['events_lost']), (1, 10000, {}, 0))
            longest = max(len(c['name'] or '') for c in a['communicators'])
            t.equal(flavour + ': wide: the longest name of a communicator is whole', longest,
                    int(plain.stdout.split()[1]))
            modules = {s['module'] for s in a['callsites'] if '/so/m' in (s['module'] or '')}
            t.check('%s: wide: call sites in all of %d loaded objects are named, or said to be missing' % (flavour, MODULES),
                    len(modules) == MODULES or any('loaded object' in x for x in coverage['reasons']),
                    (len(modules), coverage['reasons']))
            crowds(t, place)
    t.end()


main()
