#!/usr/bin/env python3
"""foreign.py - test suites and benchmarks that nobody here wrote give the same output with and without the tracer: ScaLAPACK's and
BLACS's tests, NetPIPE, HPC Challenge, LAMMPS, mpi4py's bench. Programs that are not installed are skipped.
Times differ from run to run, so numbers with a point, and NetPIPE's repetitions, are compared as "#"; HPC Challenge prints
rates as whole numbers too, so there every number is. FULL=1: all programs, else a short run of some."""
import glob
import os
import re
import shutil
import sys

from trace import FLAVOURS, MPITRACE, Place, Tests, operations, path_is_one

FULL = os.environ.get('FULL', '') != ''
SCALAPACK = '/usr/lib/x86_64-linux-gnu/scalapack/%s-tests'
FAST = ('xsqr',)
# Under Open MPI its ranks may disagree on when an iteration ends: untraced, three runs of five hung (2026-11-21).
HANGS = ('xdllt',)
# Of these no smaller fault is known either.
FLAWLESS = ('netpipe', 'LAMMPS')
RANKS = {'openmpi': 4, 'mpich': 2}  # MPICH's ranks never yield
REAL = re.compile(rb'[-+]?(\d+\.\d*|\.\d+)([EDed][-+]?\d+)?|\*{4,}|\b(nan|inf)\b')
# A Lennard-Jones liquid, 2,048 atoms; thermodynamic output is numbers with a point.
LAMMPS_INPUT = '''units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
run 50
'''
HPCC_INPUT = '''
\n
HPL.out
8
1
100
1
20
0
1
2
2
16.0
1
2
1
4
1
2
1
1
1
1
1
1
1
1
0
2
64
0
0
1
8
'''


def filtered(text, *more):
    text = REAL.sub(b'#', text)
    for pattern in more:
        text = re.sub(pattern, b'#', text)
    return sorted(re.sub(rb'[ \t]+', b' ', line).strip() for line in text.split(b'\n'))


def difference(a, b):
    only = [x for x in a if x not in b][:5], [x for x in b if x not in a][:5]
    return 'only untraced: %s\nonly traced: %s' % only


def compare(t, place, name, ranks, words, *patterns, output=None):
    """Both ways; the trace must be there and whole."""
    texts = []
    for traced in (False, True):
        for path in glob.glob(place.dir + '/' + output) if output else []:
            os.unlink(path)
        run = place.traced(ranks, *words, name=name) if traced else place.plain(ranks, *words)
        text = run.stdout
        if output and os.path.exists(place.dir + '/' + output):
            with open(place.dir + '/' + output, 'rb') as f:
                text += f.read()
        if run.returncode != 0 and not texts:
            print('# %s cannot run here: %d' % (words[0], run.returncode))
            return
        texts.append((run.returncode, filtered(text, *patterns)))
    who = '%s: %s' % (place.flavour, name)
    t.check(who + ' gives the same output, traced and not', texts[0] == texts[1] and len(texts[0][1]) > 1,
            (texts[0][0], texts[1][0], difference(texts[0][1], texts[1][1])))
    a = place.analysis(name)
    t.check(who + ' is in the trace', a['coverage']['ranks_seen'] == ranks and a['coverage']['events_lost'] == 0 and
            sum(operations(a).values()) > 0, a['coverage'])
    grave = [c for c in a['correctness'] if c['severity'] == 'high']
    t.equal(who + ' has no truncated messages, no types, collectives or waits that do not fit', grave, [])
    t.equal(who + ': of each wait it is known who caused it', a['delays']['causers_unknown'] or 0, 0)
    path_is_one(t, who, a)
    if name in FLAWLESS:
        t.equal(who + ' has nothing else wrong either', a['correctness'], [])


def scalapack(t, place):
    root = SCALAPACK % place.flavour
    programs = [root + '/' + x for x in FAST]
    if FULL:
        programs = sorted(x for x in glob.glob(root + '/x*') if os.access(x, os.X_OK) and not x.endswith(HANGS))
    for path in glob.glob('/usr/share/scalapack/*.dat'):
        shutil.copy(path, place.dir)
    for program in programs:
        if os.path.exists(program):
            compare(t, place, os.path.basename(program), RANKS[place.flavour], [program])


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            scalapack(t, place)
            netpipe = shutil.which({'openmpi': 'NPopenmpi', 'mpich': 'NPmpich2'}[flavour])
            if netpipe:
                compare(t, place, 'netpipe', 2, [netpipe, '-u', '100000' if FULL else '64', '-n', '20', '-o', place.dir + '/np.out'],
                        rb'\d+ times')
            if flavour != 'openmpi':
                continue
            if shutil.which('hpcc'):
                with open(place.dir + '/hpccinf.txt', 'w') as f:
                    f.write('HPLinpack benchmark input file' + HPCC_INPUT.replace('\\n', 'none', 1))
                if FULL:
                    compare(t, place, 'hpcc', 4, ['hpcc'], rb'\d+', output='hpccoutf.txt')
            if shutil.which('lmp'):
                with open(place.dir + '/in.lj', 'w') as f:
                    f.write(LAMMPS_INPUT)
                compare(t, place, 'LAMMPS', 4, ['lmp', '-in', 'in.lj', '-log', 'none'], rb'\d+:\d+:\d+', rb'\|.*')
            if os.path.exists('/usr/lib/python3/dist-packages/mpi4py/bench.py'):
                for what in (['helloworld'], ['ringtest', '-n', '64', '-l', '20'])[0 if FULL else 1:]:
                    compare(t, place, 'mpi4py ' + what[0], 3, ['/usr/bin/python3', '-m', 'mpi4py.bench'] + what)
    t.end()


if __name__ == '__main__':
    sys.exit(main())
