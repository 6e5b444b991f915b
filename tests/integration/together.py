#!/usr/bin/env python3
"""together.py - `mpitrace analyze --mpi`: the bytes that one process writes, whatever their number and MPI, of generated traces and of
programs; and what stays when one of them fails. GENERATE: the generator."""
import contextlib
import os
import shutil
import signal
import subprocess

from trace import FLAVOURS, MPITRACE, TIMEOUT, Place, Tests, processes_in, until, words_of

GENERATE = os.environ['GENERATE']
NUMBERS = (1, 2, 3, 4, 8, 61)
FEW = (3,)
# Ranks, nodes, events per rank, clock; how many processes.
TRACES = {'halo': (70, 7, 600, 'steps', NUMBERS), 'irregular': (64, 4, 600, 'noise', (2, 4, 8)), 'alltoall': (48, 6, 600, 'noise', FEW),
          'master': (65, 3, 600, 'steps', FEW), 'self': (40, 2, 600, 'steps', FEW), 'faults': (40, 4, 600, 'steps', FEW)}
# Messages and wildcards, collectives and communicators, one-sided, files, matched probes, threads.
PROGRAMS = {'counts_p2p.c': 4, 'counts_coll.c': 4, 'counts_comms.c': 4, 'counts_rma.c': 4, 'counts_io.c': 4, 'mprobes.c': 2, 'ring.c': 5,
            'blocking.c': 4, 'turns.c': 2}


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def together(place, processes, *args):
    return subprocess.run(['mpirun', '-n', str(processes), MPITRACE, 'analyze', '--mpi', *args], env=place.env, cwd=place.dir,
                          capture_output=True, text=True, timeout=TIMEOUT, check=False)


def is_the_same(t, place, what, source, numbers):
    one, several = place.dir + '/one.mpix', place.dir + '/several.mpix'
    alone = subprocess.run([MPITRACE, 'analyze', source, '-o', one], capture_output=True, text=True, check=False)
    for processes in numbers:
        run = together(place, processes, source, '-o', several)
        t.check('%s: %s: %d processes write what one writes' % (place.flavour, what, processes),
                run.returncode == alone.returncode and read(several) == read(one), run)
        with contextlib.suppress(OSError):
            os.unlink(several)


def generate(folder, pattern, ranks, nodes, events, clock):
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([GENERATE, '--pattern', pattern, '--ranks', str(ranks), '--nodes', str(nodes), '--events-per-rank', str(events),
                    '--clock', clock, '-o', folder], capture_output=True, check=True)


def damaged(folder):
    """Blocks in the middle of one node's file that cannot be read any more."""
    path = folder + '/' + sorted(os.listdir(folder))[1]
    with open(path, 'r+b') as f:
        f.seek(os.path.getsize(path) // 2)
        f.write(b'\xff' * 500)


def generated(t, place):
    trace = place.dir + '/generated'
    for pattern, (ranks, nodes, events, clock, numbers) in TRACES.items():
        generate(trace, pattern, ranks, nodes, events, clock)
        is_the_same(t, place, pattern, trace, numbers)
    damaged(trace)
    is_the_same(t, place, 'a damaged block', trace, FEW)


def recorded(t, place):
    for source, ranks in PROGRAMS.items():
        if not os.path.exists(os.environ['PROGRAMS'] + '/' + source):
            continue
        name = source.split('.')[0]
        place.traced(ranks, place.compile(source), name=name)
        paths = [place.dir + '/out/' + x for x in os.listdir(place.dir + '/out') if x.startswith(name + '.mpic')]
        t.check('%s: %s is recorded' % (place.flavour, name), paths, os.listdir(place.dir + '/out'))
        for path in paths[:1]:
            is_the_same(t, place, name, path, (3,))


# ---- one of them fails ----

def stays(t, place, what, run, out, before):
    """The result is as it was, nothing is left beside it, one line says why, and the launcher hears of it."""
    beside = [x for x in os.listdir(os.path.dirname(out)) if x.endswith('.tmp')]
    t.equal('%s: %s: the result stays as it was' % (place.flavour, what), (read(out), beside), (before, []))
    lines = [x for x in run.stderr.splitlines() if x.startswith('mpitrace analyze: ')]
    t.check('%s: %s: one line says why, and it is an error' % (place.flavour, what), run.returncode != 0 and len(lines) == 1, run)


def unreadable(t, place, trace, out, before):
    bad = place.dir + '/bad.mpic'
    with open(bad, 'wb') as f:
        f.write(b'mpic\r\n\x1a\n' + bytes(100))
    stays(t, place, 'a file that is none', together(place, 3, trace, bad, '-o', out), out, before)
    stays(t, place, 'a file that is missing', together(place, 3, trace, bad + '2', '-o', out), out, before)


def full(t, place, trace):
    small = place.dir + '/small'
    os.mkdir(small)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=400k', 'none', small], capture_output=True, check=False).returncode:
        t.skip('%s: a file system that is full' % place.flavour, 'no tmpfs can be mounted here')
        return
    out = small + '/job.mpix'
    with open(out, 'wb') as f:
        f.write(b'before')
    stays(t, place, 'a file system that is full', together(place, 3, trace, '-o', out), out, b'before')
    subprocess.run(['umount', small], check=True)


def ranks_of(place):
    return [x for x in processes_in(place.dir) if words_of(x)[1:3] == ['analyze', '--mpi']]


def killed(t, place, trace, out, before):
    """One of three, as soon as process 0 writes."""
    run = subprocess.Popen(['mpirun', '-n', '3', MPITRACE, 'analyze', '--mpi', trace, '-o', out], env=place.env, cwd=place.dir,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    writes = until(lambda: [x for x in os.listdir(place.dir) if x.startswith('job.mpix.') and x.endswith('.tmp')], 'nobody writes')
    first = int(writes[0].split('.')[-2])
    os.kill(next(x for x in ranks_of(place) if x != first), signal.SIGKILL)
    run.stderr_text = run.communicate(timeout=TIMEOUT)[1]
    until(lambda: not ranks_of(place), 'processes stay')
    beside = [x for x in os.listdir(place.dir) if x.endswith('.tmp')]
    t.check('%s: one is killed: the launcher hears of it' % place.flavour, run.returncode != 0, run.stderr_text)
    t.equal('%s: one is killed: the result stays as it was' % place.flavour, read(out), before)
    if place.flavour == 'openmpi': # MPICH's launcher gives nobody the time: the next one removes it
        t.equal('%s: one is killed: nothing is left beside it' % place.flavour, beside, [])
    again = together(place, 3, trace, '-o', out)
    t.check('%s: started again it is done' % place.flavour, again.returncode == 0 and read(out) != before, again)
    t.equal('%s: and nothing is left beside it' % place.flavour, [x for x in os.listdir(place.dir) if x.endswith('.tmp')], [])


def failing(t, place):
    trace, out, before = place.dir + '/failing', place.dir + '/job.mpix', b'the result of before'
    generate(trace, 'halo', 64, 4, 12000, 'steps')
    with open(out, 'wb') as f:
        f.write(before)
    unreadable(t, place, trace, out, before)
    full(t, place, trace)
    killed(t, place, trace, out, before)


def alone(t):
    """Without a launcher nobody would know of the others."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(('OMPI_', 'PMI', 'SLURM_'))}
    run = subprocess.run([MPITRACE, 'analyze', '--mpi', '/', '-o', 'x.mpix'], env=env, capture_output=True, text=True, check=False)
    t.check('without a launcher one line says what to use', run.returncode != 0 and 'srun --mpi' in run.stderr, run)


def main():
    t = Tests()
    alone(t)
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            generated(t, place)
            recorded(t, place)
            failing(t, place)
    t.end()


if __name__ == '__main__':
    main()
