#!/usr/bin/env python3
"""abi.py - a program that is linked with the standard's ABI (libmpi_abi) is traced, with each MPI library that has it, and what is
counted is what the program counted itself. Skipped where no MPI has it: Debian 13 and before."""
import glob
import os
import subprocess
import sys

import counts
from trace import PROGRAMS, Place, Tests

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
        subprocess.run(['cc', '-g', '-O1', '-w', '-I', os.path.dirname(HEADERS[0]), '-o', program, PROGRAMS + '/' + source, self.library, *flags],
                       check=True)
        return program


def main():
    if not HEADERS or not libraries():
        print('1..0 # SKIP no MPI here has the ABI of MPI 5.0')
        sys.exit(0)
    t = Tests()
    for flavour, library in libraries().items():
        for source in SOURCES:
            with AbiPlace(flavour, library) as place:
                counts.known_counts(t, place, source)
    t.end()


main()
