#!/usr/bin/env python3
"""headers.py - the mpi.h of MPIs that are not installed here, from distributions' packages (contrib/mpi_headers.sh): every call of
theirs has a row in pmpi/mpi.tab, and all that is made from the rows compiles. And an mpi.h that is none is named, with what it lacks.
MPI_HEADERS: the directory that the script filled, SOURCES: the repository, MPI_TRACER: the tracer's files."""
import glob
import os
import re
import subprocess
import tempfile

from trace import Tests

SOURCES = os.environ['SOURCES']
HEADERS = os.path.realpath(os.environ['MPI_HEADERS']) if os.environ.get('MPI_HEADERS') else '/nowhere'
TABLES = [SOURCES + '/pmpi/mpi.tab', SOURCES + '/pmpi/calls.tab']
GENERATE = ['python3', SOURCES + '/pmpi/generate.py']
STRICT = '-std=gnu11 -fsyntax-only -Wall -Wextra -Werror -Wshadow -Wundef -Wno-cast-function-type -Wno-deprecated-declarations -D_GNU_SOURCE'.split()


def found():
    """Name of an MPI: the directory of its mpi.h; not those of the standard's ABI or for Fortran."""
    for path in sorted({os.path.realpath(p) for p in glob.glob(HEADERS + '/*-*/**/mpi.h', recursive=True)}):
        if not re.search(r'abi|fortran', path[len(HEADERS):]):
            yield path[len(HEADERS):].split('/')[1], os.path.dirname(path)


def generate(mode, header):
    return subprocess.run(GENERATE + [mode] + TABLES + [header], capture_output=True, text=True)


def preprocess(folder, include):
    header = folder + '/mpi.i'
    with open(header, 'w') as f:
        subprocess.run(['cc', '-E', '-x', 'c', '-isystem', include, '-'], input='#include <mpi.h>\n', text=True, stdout=f, check=True)
    return header


def compiles(folder, include):
    """What the compiler has against the tracer with this mpi.h."""
    files = [folder + '/wrappers.c'] + [f for f in os.environ['MPI_TRACER'].split() if 'MPI_' in open(f).read()]
    return subprocess.run(['cc', *STRICT, '-DOPS_HEADER="ops_mpi.h"', '-I' + folder, '-I' + SOURCES, '-I' + SOURCES + '/pmpi', '-isystem', include, *files],
                          capture_output=True, text=True)


def known(t, name, include):
    with tempfile.TemporaryDirectory() as folder:
        header = preprocess(folder, include)
        wrappers, ops = generate('wrappers', header), generate('declarations', header)
        calls = len(re.findall(r'^\tOP_MPI_', ops.stdout, re.M))
        t.check('%s: each of its %d calls has a row' % (name, calls), calls > 250 and wrappers.stderr + ops.stderr == '', wrappers.stderr + ops.stderr)
        for file, made in (('wrappers.c', wrappers), ('ops_mpi.h', ops)):
            with open('%s/%s' % (folder, file), 'w') as f:
                f.write(made.stdout)
        said = compiles(folder, include)
        t.check('%s: all of it compiles without a warning' % name, said.returncode == 0, said.stderr[:2000])


def is_none(t, what, text, *words):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/mpi.h', 'w') as f:
            f.write(text)
        r = generate('wrappers', preprocess(folder, folder))
        t.check(what + ' is refused by name, with what it lacks', r.returncode != 0 and all(w in r.stderr for w in (folder + '/mpi.h',) + words), r)


def main():
    t = Tests()
    is_none(t, 'an empty mpi.h', '', 'MPI_Init, ')
    is_none(t, "an mpi.h of something else", 'typedef int mpi_t; int mpi_start(mpi_t *x);\n', 'MPI_Init, ')
    is_none(t, 'an mpi.h before MPI 3', 'int MPI_Init(int *argc, char ***argv);\nint MPI_Comm_rank(int comm, int *rank);\n', 'MPI_Type_size_x', 'MPI 3.0')
    mpis = list(found())
    for name, include in mpis:
        known(t, name, include)
    if mpis:
        t.equal('they are of six MPIs', len(mpis), 6)
    else:
        t.skip('the mpi.h of six MPIs', 'MPI_HEADERS is empty: contrib/mpi_headers.sh fetches them')
    t.end()


main()
