#!/usr/bin/env python3
"""counts.py - what the trace counts is what the programs counted themselves: calls of every operation, messages and
bytes between world ranks; the same in C, C++, mpif.h, `use mpi` and mpi_f08; under Open MPI and MPICH with one tracer.
Arguments: only these programs."""
import os
import re
import shutil
import subprocess
import sys

from trace import FLAVOURS, Place, Tests, matrix, open_mpi, operations, truth

RANKS = 4
SOURCES = ('counts_p2p.c', 'counts_coll.c', 'counts_rma.c', 'counts_io.c', 'counts_flows.c', 'counts_comms.c',
           'counts_handles.c')


MOVED = ('counts_coll.c', 'counts_flows.c', 'counts_comms.c') # all receives are as long as what comes


def bytes_add_up(t, who, a):
    """What is sent is received: each byte of the matrices stands twice in the operations, and as often at the call sites."""
    ops = {o['op']: o['bytes'] for o in a['operations']}
    sites = {}
    for site in a['callsites']:
        sites[site['op']] = sites.get(site['op'], 0) + site['bytes']
    moved = sum(m['bytes'] for name in ('p2p', 'collective') for m in a['matrix'][name])
    t.equal(who + ': bytes of all operations are twice those of the matrices', sum(ops.values()), 2 * moved)
    t.equal(who + ': bytes of the call sites are those of the operations', sites, {k: v for k, v in ops.items() if k in sites})
    still = {o['op'] for o in a['operations'] if any(w in o['op'].lower() for w in ('alltoall', 'allgather', 'reduce', 'scan', 'bcast'))
             and not o['bytes'] and 'local' not in o['op'] and not o['op'].endswith('_init')}
    t.equal(who + ': every operation that moves data has bytes', still, set())


def known_counts(t, place, source, *words, what='', **env):
    program = place.compile(source)
    run = place.traced(RANKS, program, place.dir, *words, name=source, TRUTH=place.dir + '/truth', **env)
    who = '%s under %s%s' % (source, place.flavour, what)
    t.check(who + ' runs', run.returncode == 0, run.stderr.decode())
    if run.returncode != 0:
        return
    ops, flows = truth(place.dir + '/truth')
    a = place.analysis(source)
    t.equal(who + ': calls of each operation are exact', operations(a), ops)
    t.equal(who + ': messages and bytes between world ranks are exact',
            matrix(a, 'p2p', 'messages'), flows['message'])
    if flows['collective']:
        t.equal(who + ': collective operations and bytes between world ranks are exact',
                matrix(a, 'collective', 'operations'), flows['collective'])
    t.equal(who + ': bytes read from and written to each file are exact',
            {os.path.basename(f['name']): (f['bytes_read'], f['bytes_written']) for f in a['files']}, flows['file'])
    t.equal(who + ': one-sided operations and bytes between world ranks are exact',
            matrix(a, 'rma', 'operations'), flows['rma'])
    if source in MOVED:
        bytes_add_up(t, who, a)
    c = a['coverage']
    lost = {k: v for k, v in c['unmatched'].items() if v and k not in ('cancelled', 'proc_null')}
    if source == 'counts_io.c': # Open MPI leaves the flag of file requests as it found the memory
        t.equal(who + ': nothing was cancelled', c['unmatched']['cancelled'], 0)
    crowded = source == 'counts_handles.c' # 70,000 datatypes at once, 16,000 different ones: what some are made of is not known, and said
    t.equal(who + ': nothing is lost or unmatched', (c['events_lost'], c['complete'], lost), (0, not crowded, {}))
    t.equal(who + ': every object has its place in the tables, or is counted', c['definitions_missing'] > 0, crowded)


def languages(t, place):
    counts, outputs = {}, {}
    for source in ('lang_c.c', 'lang_mpif.f', 'lang_use.f90', 'lang_f08.f90', 'lang_cxx.cc'):
        program = place.compile(source)
        plain = place.plain(RANKS, program)
        run = place.traced(RANKS, program, name=source)
        outputs[source] = (plain.stdout == run.stdout, run.stdout, run.returncode)
        a = place.analysis(source)
        counts[source] = operations(a)
        t.check('%s under %s: call sites are lines of the program' % (source, place.flavour),
                all((s['file'] or '').endswith(source) for s in a['callsites']),
                [(s['op'], s['file'], s['function'], s['module']) for s in a['callsites']])
    for source, (same, out, code) in outputs.items():
        t.check('%s under %s: the output is that of the untraced program' % (source, place.flavour),
                same and code == 0, (out, code))
        t.equal('%s under %s: counts are those of the C program' % (source, place.flavour), counts[source],
                counts['lang_c.c'])


def fortran_layer(t, place):
    """What MPI's Fortran layer asks MPI about for itself is not the program's call."""
    rounds = 10
    want = {'MPI_' + op: rounds * RANKS for op in ('Gatherv', 'Scatterv', 'Allgatherv', 'Alltoallv', 'Reduce_scatter', 'Cart_rank')}
    want.update({'MPI_' + op: RANKS for op in ('Init', 'Comm_rank', 'Cart_create', 'Cartdim_get', 'Finalize')})
    want['MPI_Comm_size'] = 2 * RANKS
    for name, flags in (('use mpi', ()), ('mpi_f08', ('-DF08',))):
        program = place.compile('fortran_vectors.F90', *flags)
        plain, run = place.plain(RANKS, program), place.traced(RANKS, program, name='vectors')
        who = 'vector collectives of Fortran (%s) under %s: ' % (name, place.flavour)
        t.equal(who + 'the output is that of the untraced program', (run.stdout, run.returncode), (plain.stdout, 0))
        t.equal(who + 'calls are those of the program', operations(place.analysis('vectors')), want)


def array_sections(t, place):
    """MPICH's Fortran layer makes a datatype for a section of an array, and frees it: these calls are not the program's."""
    rounds = 5
    program = place.compile('fortran_sections.f90')
    plain, run = place.plain(RANKS, program), place.traced(RANKS, program, name='sections')
    who = 'sections of arrays under %s: ' % place.flavour
    t.equal(who + 'the output is that of the untraced program', (run.stdout, run.returncode), (plain.stdout, 0))
    a = place.analysis('sections')
    want = {'MPI_' + op: RANKS for op in ('Init', 'Comm_rank', 'Comm_size', 'Type_create_hvector', 'Type_commit', 'Type_free', 'Finalize')}
    t.equal(who + 'calls are those of the program', operations(a), dict(want, MPI_Sendrecv=2 * rounds * RANKS, MPI_Bcast=rounds * RANKS))
    t.equal(who + 'bytes are those of the sections', {o['op']: o['bytes'] for o in a['operations'] if o['bytes']},
            {'MPI_Sendrecv': 2 * 4 * (11 + 7) * rounds * RANKS, 'MPI_Bcast': 2 * 4 * 7 * rounds * (RANKS - 1)})


def romio():
    """The name of this Open MPI's other MPI-IO, None: Debian's of Open MPI 6 was built without."""
    found = re.search(r'^mca:io:(romio\w*):', subprocess.run(['ompi_info', '--parsable'], capture_output=True, text=True).stdout, re.M)
    return found and found.group(1)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        of_mpi4 = ('counts_mpi4.c',) if flavour == 'mpich' or open_mpi() >= 6 else () # Open MPI 5 is MPI 3.1, with a part of 4.0
        for source in sys.argv[1:] or SOURCES + of_mpi4:
            with Place(flavour) as place:
                known_counts(t, place, source)
        if not sys.argv[1:]: # as many kernels of aarch64 have them
            with Place(flavour) as place:
                known_counts(t, place, 'counts_flows.c', what=', pages of 64 KiB', LD_PRELOAD=os.environ['FAULTS'], FAULT_PAGE='65536')
        if flavour == 'openmpi' and not sys.argv[1:]: # its other MPI-IO: the calls that ROMIO makes are not the program's
            name = romio()
            with Place(flavour) as place:
                if name:
                    known_counts(t, place, 'counts_io.c', 'old', what=', ROMIO', OMPI_MCA_io=name)
                else:
                    t.skip('counts_io.c under openmpi, ROMIO', 'this Open MPI was built without ROMIO')
        if shutil.which('mpifort.' + flavour) and not sys.argv[1:]:
            with Place(flavour) as place:
                languages(t, place)
                fortran_layer(t, place)
                array_sections(t, place)
    t.end()


if __name__ == '__main__':
    main()
