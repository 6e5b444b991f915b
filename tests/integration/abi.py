#!/usr/bin/env python3
"""abi.py - a program that is linked with the standard's ABI (libmpi_abi) is traced, with each MPI library that has it,
and what is counted is what the program counted itself, of C, and of Fortran that calls the same functions. Skipped
where no MPI has it: Debian 13 and before."""
import glob
import os
import shutil
import subprocess
import sys

import counts
from trace import PROGRAMS, Place, Tests, operations

SOURCES = ('counts_p2p.c', 'counts_coll.c', 'counts_comms.c', 'counts_flows.c', 'counts_mpi4.c')
HEADERS = glob.glob('/usr/lib/*/openmpi/include/standard_abi/mpi.h')


def libraries():
    """By MPI: the file that has the ABI."""
    found = {f: glob.glob('/usr/lib/*/libmpi_abi_%s.so.1.*' % f) for f in ('openmpi', 'mpich')}
    return {f: paths[0] for f, paths in found.items() if paths}


class AbiPlace(Place):
    """Programs know the ABI only; which library has it is decided when they run."""

    def __init__(self, flavour, library):
        super().__init__(flavour)
        self.flavour = 'the ABI of ' + flavour
        self.library = self.dir + '/libmpi_abi.so.1'
        os.symlink(library, self.library)
        self.env['LD_LIBRARY_PATH'] = self.dir

    def compile(self, source, *flags):
        program = '%s/%s' % (self.dir, os.path.basename(source).split('.')[0])
        fortran = source.endswith('.f90')
        compiler = ['gfortran', '-J', self.dir] if fortran else ['cc', '-I', os.path.dirname(HEADERS[0])]
        subprocess.run([*compiler, '-g', '-O1', '-w', '-o', program, PROGRAMS + '/' + source, self.library, *flags],
                       check=True)
        return program


def languages(t, place):
    """The same program in C and in Fortran; no MPI of 2026 has mpi_f08 over the ABI: Fortran binds the C functions."""
    ran = {}
    for source in ('lang_c.c', 'lang_abi.f90'):
        program = place.compile(source)
        plain, run = place.plain(counts.RANKS, program), place.traced(counts.RANKS, program, name=source)
        who = '%s under %s: ' % (source, place.flavour)
        t.equal(who + 'the output is that of the untraced program', (run.stdout, run.returncode), (plain.stdout, 0))
        a = place.analysis(source)
        ran[source] = (run.stdout, operations(a))
        t.check(who + 'call sites are lines of the program',
                all((s['file'] or '').endswith(source) for s in a['callsites']),
                [(s['op'], s['file'], s['function'], s['module']) for s in a['callsites']])
    t.equal('Fortran under %s: output and counts are those of the C program' % place.flavour,
            ran['lang_abi.f90'], ran['lang_c.c'])


def main():
    if not HEADERS or not libraries():
        print('1..0 # SKIP no MPI here has the ABI of MPI 5.0')
        sys.exit(0)
    t = Tests()
    for flavour, library in libraries().items():
        for source in SOURCES:
            with AbiPlace(flavour, library) as place:
                counts.known_counts(t, place, source)
        if shutil.which('gfortran'):
            with AbiPlace(flavour, library) as place:
                languages(t, place)
    t.end()


main()
