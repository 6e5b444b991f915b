#!/usr/bin/env python3
"""names.py - functions are told by the names that people gave them: C++ with namespaces, templates and lambdas, with debug
information and without; functions that are inlined, wherever compilers put what they know of them; functions of mpi4py, whose module is
stripped. In JSON, in the terminal and in the report."""
import glob
import html
import os
import re
import shutil
import subprocess

from trace import FLAVOURS, MPITRACE, PROGRAMS, Place, Tests, shown

# Operation: how its function is shown, what the whole name has.
CXX = {
    'MPI_Isend': ('ring::Halo<int>::exchange', 'ring::Halo<int>::exchange(int, int) const'),
    'MPI_Waitall': ('ring::Halo<int>::operator()', 'ring::Halo<int>::operator()()'),
    'MPI_Irecv': ('main::{lambda#1}::operator()', 'main::{lambda(ompi_request_t**)#1}::operator()(ompi_request_t**) const'),
    'MPI_Barrier': ('(anonymous namespace)::At_exit::~At_exit', '(anonymous namespace)::At_exit::~At_exit()'),
    'MPI_Comm_size': ('Library::Library', 'Library::Library(int&, char**&)'),
}
LONG = 'sums::sum_of<>'
# Of inlined.c, in a function each: line and function.
INLINED = {'MPI_Bcast': (6, 'inner'), 'MPI_Barrier': (13, 'middle'), 'MPI_Allreduce': (20, 'outer')}
PYTHON = '''
from mpi4py import MPI
comm = MPI.COMM_WORLD
data = bytearray(80)
def object_between():
    comm.send({'a': 1}, (comm.rank + 1) % comm.size, 7)
    return comm.recv(source=MPI.ANY_SOURCE)
object_between()
comm.bcast(3)
if comm.rank == 0:
    comm.Send(data, 1)
elif comm.rank == 1:
    comm.Recv(data, source=0)
comm.Barrier()
comm.allreduce(1)
comm.Allreduce(MPI.IN_PLACE, [data, MPI.DOUBLE])
'''


def texts(place, name):
    """What the terminal, the list of events and the report say."""
    mpix = '%s/out/%s.mpix' % (place.dir, name)
    shown = subprocess.run([MPITRACE, 'show', mpix], capture_output=True, check=True, text=True).stdout
    events = subprocess.run([MPITRACE, 'show', mpix, '--events'], capture_output=True, check=True, text=True).stdout
    with open('%s/out/%s.html' % (place.dir, name)) as f:
        page = html.unescape(f.read())
    return shown, events, page


def functions(a):
    named = {}
    for s in a['callsites']:
        named.setdefault(s['op'], []).append((s.get('function_short', s['function']), s['function']))
    return named


def cxx(t, place):
    for how, flags in (('with debug information', []), ('without', ['-g0'])):
        program = place.compile('lang_cxx.cc', *flags)
        place.traced(2, program, name='cxx')
        named = functions(place.analysis('cxx'))
        who = '%s, C++ %s: ' % (place.flavour, how)
        request = 'ompi_request_t**' if place.flavour == 'openmpi' else 'int*'
        want = {op: (short, full.replace('ompi_request_t**', request)) for op, (short, full) in CXX.items()}
        t.equal(who + 'names are readable, in short and in full', {op: named[op][0] for op in CXX}, want)
        long = [x for x in named['MPI_Allreduce'] if 'sum_of' in x[0]]
        t.check(who + 'a long template is folded, and whole in JSON',
                len(long) == 1 and long[0][0] == LONG and long[0][1].startswith('int sums::sum_of<int, std::vector<'), named)
        t.check(who + 'main is main', ('main', 'main') in named['MPI_Allreduce'], named)
        for what, text in zip(('the terminal', 'the list of events', 'the report'), texts(place, 'cxx')):
            missing = [x for x in [short for short, _ in CXX.values()] + [LONG] if x not in text]
            if what == 'the terminal': # has the longest calls only
                missing = [x for x in missing if len(missing) > len(CXX) - 3]
            t.check(who + what + ' has them', not missing and not re.search(r'\b_ZN?K?L?\d', text), (missing, text[:3000]))


def places(a):
    return {s['op']: (s['line'], s['function']) for s in a['callsites'] if s['op'] in INLINED}


def inlined(t, place):
    """Beside the program, in files of its own, or in other units; clang leaves out an index that others write."""
    for compiler, flags in (('gcc', ()), ('gcc', ('-gsplit-dwarf', '-gdwarf-5')), ('gcc', ('-flto',)), ('clang', ()),
                            ('clang', ('-gsplit-dwarf', '-gdwarf-5'))):
        if shutil.which(compiler) is None:
            continue
        who = '%s, inlined functions, %s: ' % (place.flavour, ' '.join((compiler, *flags)))
        program = place.dir + '/inlined'
        subprocess.run(['mpicc.' + place.flavour, '-g', '-O2', *flags, '-o', program, PROGRAMS + '/inlined.c'], check=True, cwd=place.dir,
                       env=dict(os.environ, OMPI_CC=compiler, MPICH_CC=compiler))
        place.traced(2, program, name='inlined')
        t.equal(who + 'each call is in its own', places(place.analysis('inlined')), INLINED)
        split = glob.glob(place.dir + '/*.dwo')
        for path in split:
            os.remove(path)
        if split:
            subprocess.run([MPITRACE, 'analyze', place.dir + '/out/inlined.mpic', '-o', place.dir + '/without.mpix'], check=True)
            t.equal(who + 'without that file lines are known, and who holds them',
                    places(shown(place.dir + '/without.mpix')), {op: (line, 'outer') for op, (line, _) in INLINED.items()})
        for path in glob.glob(place.dir + '/out/inlined*'):
            os.remove(path)


def mpi4py(t, place):
    script = place.dir + '/names.py'
    with open(script, 'w') as f:
        f.write(PYTHON)
    run = place.traced(2, '/usr/bin/python3', script, name='python')
    a = place.analysis('python')
    named = {}
    for op, names in functions(a).items(): # some versions call the large-count forms
        named.setdefault(op.removesuffix('_c'), []).extend(names)
    want = {'MPI_Barrier': ['mpi4py.MPI.Comm.Barrier'], 'MPI_Mrecv': ['mpi4py.MPI.Comm.recv'],
            'MPI_Send': ['mpi4py.MPI.Comm.Send', 'mpi4py.MPI.Comm.send'], 'MPI_Bcast': ['mpi4py.MPI.Comm.bcast'],
            'MPI_Recv': ['mpi4py.MPI.Comm.Recv'],
            'MPI_Allreduce': ['mpi4py.MPI.Comm.Allreduce']}
    # A function that several share has all their names.
    got = {op: sorted(w for w in want[op] if any(w.split('MPI.')[1] in re.split(' or |MPI.', f) for f, _ in named.get(op, [])))
           for op in want}
    t.equal('mpi4py: functions have the names they have in Python', got, want)
    modules = {s.get('module_short') for s in a['callsites'] if s['op'].removesuffix('_c') in want}
    t.equal('mpi4py: the module is told apart from the function', modules, {'mpi4py/MPI'})
    for what, text in zip(('the terminal', 'the list of events', 'the report'), texts(place, 'python')):
        t.check('mpi4py: ' + what + ' has both', 'mpi4py.MPI.Comm.' in text and 'mpi4py/MPI' in text and
                not re.search(r'<code>[^<]*\.cpython-', text), (run, text[:3000]))


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            cxx(t, place)
            inlined(t, place)
    if 'openmpi' in FLAVOURS and subprocess.run(['/usr/bin/python3', '-c', 'import mpi4py.MPI'], capture_output=True).returncode == 0:
        with Place('openmpi') as place:
            mpi4py(t, place)
    t.end()


main()
