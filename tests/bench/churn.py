#!/usr/bin/env python3
"""churn.py - what tracing costs where handles and arguments change all the time: a table for docs/PERFORMANCE.md.

  churn.py [--runs N] [--told] [--only WORD]

The command is that of bench.py. What the analysis tells of the cost (overhead.tracing_s) stands beside what the pair of runs shows.
--told prints only rows of 1, 2 and 4 ranks (--only: those whose name has the word): overhead.share, by what the untraced run is shorter by, and what the same ranks used
more of processors by what is told of them alone (ranks that wait in MPI use a processor, too: at more than one that is noise). Figures are medians over groups of runs {two clock reads, untraced, traced}, with quartiles. "Beyond
the clock" is what a call costs more than untraced, less its two clock reads in the same group. ScaLAPACK's xdinv (its BLACS makes a
datatype for each message) and Quantum ESPRESSO's pw.x, where they are installed, are timed from MPI_Init to MPI_Finalize by a
preloaded clock (region.c). No figure makes this command fail."""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench import ENV, HERE, MPITRACE, NO_MPITRACE, bench_line, floor, row, spread

# mode, iterations, what is counted, calls in it, goal in ns, beyond the clock reads or not
MODES = (
    ('type', 200000, 'a new datatype for each message (vector, commit, Sendrecv, free)', 4, 300, True),
    ('shapes', 100000, 'the same of 1,000 sizes in turn', 4, None, True),
    ('comm', 20000, 'a new communicator (dup, free)', 2, 1000, True),
    ('split', 20000, 'MPI_Comm_split, Allreduce on it, free', 3, None, True),
    ('sizes', 200000, 'a Sendrecv, of 20,000 sizes in turn', 1, 150, False),
    ('tags', 200000, 'a call, with 20,000 tags in turn', 1, 150, False),
    ('once', 20000, 'a Sendrecv of 20,000 sizes, each of them once', 1, 150, False),
    ('fresh', 20000, 'a Sendrecv of 20,000 tags, each of them once', 1, 150, False),
)
# program, words, what, ranks
TOLD = (
    ('churn', ('comm', '200000'), 'dup, free', (1, 2, 4)),
    ('churn', ('fresh', '500000'), 'tags never seen', (1, 2, 4)),
    ('churn', ('once', '500000'), 'sizes never seen', (1, 2, 4)),
    ('ping', ('1000000',), 'ping', (2, 4)),
    ('halo', ('500000',), 'halo', (1, 2, 4)),
)
XDINV = '/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xdinv'
# Bulk silicon, two atoms: 1,000 and more subarray types.
SILICON = """&control
 calculation='scf', prefix='si', pseudo_dir='%s', outdir='./out'
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=12
/
&electrons
/
ATOMIC_SPECIES
 Si 28.086 %s
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 2 2 2 0 0 0
"""


def churn(folder, mode, n, traced):
    words = [folder + '/churn', mode, str(n)]
    if traced:
        shutil.rmtree(folder + '/out', ignore_errors=True)
        words = [MPITRACE, 'run', '-n', '1', '--out', folder + '/out', '--name', 't', '--'] + words
    else:
        words = ['mpirun.openmpi', '-n', '1'] + words
    out = subprocess.run(words, env=ENV, cwd=folder, capture_output=True, text=True, timeout=600).stdout
    line = bench_line(out)
    if traced:
        steps = float(out.split('STEPS ')[1].split()[0])
        shown = subprocess.run([MPITRACE, 'show', '--json', folder + '/out/t.mpix'], capture_output=True, text=True, check=True).stdout
        line['told'] = json.loads(shown)['overhead']['tracing_s'] * 1e9 / steps
        line['bytes'] = os.path.getsize(folder + '/out/t.mpic') / steps
    return line


def handles(folder, runs):
    for mode, n, what, calls, goal, beyond in MODES:
        clocks, untraced, traced, told_ns, size = [], [], [], [], []
        for _ in range(runs):
            clocks.append(floor(folder) if beyond else 0)
            untraced.append(churn(folder, mode, n, False)['ns'])
            with_us = churn(folder, mode, n, True)
            traced.append(with_us['ns'])
            told_ns.append(with_us['told'])
            size.append(with_us['bytes'])
        figures = [(b - a - clock) * calls for clock, a, b in zip(clocks, untraced, traced)]
        fastest = (min(traced) - min(untraced) - min(clocks)) * calls
        row(what + (', ns beyond the clock' if beyond else ', ns added'), '<= %d' % goal if goal else '-', spread(figures, 0),
            'of the fastest runs %.0f; untraced %.0f; %.1f bytes' % (fastest, statistics.median(untraced) * calls, statistics.median(size)))
        if mode in ('sizes', 'tags'): # what is told is of all steps, also of the first ones, which are left out here
            continue
        shown = statistics.median((b - a) * calls for a, b in zip(untraced, traced))
        row('the same: told by the analysis, ns a step', 'within a third of %.0f' % shown, spread(told_ns, 0),
            'of what the fastest runs show %.2f' % (min(told_ns) / max(1, (min(traced) - min(untraced)) * calls)))


def memory(folder):
    few, many = (churn(folder, 'distinct', n, True)['kib'] - churn(folder, 'distinct', n, False)['kib'] for n in (100000, 1000000))
    row('1,000,000 distinct datatypes: memory added, MiB', 'that of 100,000', '%.1f' % (many / 1024), '%.1f' % (few / 1024))


def region(folder, words, ranks, traced):
    """Seconds between MPI_Init and MPI_Finalize, of the slowest rank, and seconds on processors, of all; None: it did not run."""
    env = dict(ENV, LD_PRELOAD=folder + '/region.so', OMPI_MCA_mpi_yield_when_idle='1')
    before = [MPITRACE, 'run', '-n', str(ranks), '--out', folder + '/out', '--name', 't', '--'] if traced else \
        ['mpirun.openmpi', '-n', str(ranks)]
    shutil.rmtree(folder + '/out', ignore_errors=True)
    run = subprocess.run(before + words, env=env, cwd=folder, capture_output=True, text=True, timeout=900)
    lines = [tuple(map(float, line)) for line in re.findall(r'REGION ([\d.]+) ([\d.]+)', run.stderr)]
    return (max(a for a, _ in lines), sum(b for _, b in lines)) if lines else None


def program(folder, what, words, ranks, runs):
    pairs = [(region(folder, words, ranks, False), region(folder, words, ranks, True)) for _ in range(runs)]
    pairs = [(p[0][0], p[1][0]) for p in pairs if None not in p]
    if not pairs:
        row(what, '-', 'did not run here')
        return
    row(what + ', traced / untraced', '-', spread([b / a for a, b in pairs], 2),
        'untraced %.1f ms' % (1e3 * statistics.median(a for a, _ in pairs)))


def told(folder, runs, only):
    for program_name, arguments, what, all_ranks in TOLD:
        if only not in what:
            continue
        for ranks in all_ranks:
            words, rows = [folder + '/' + program_name, *arguments], []
            for _ in range(runs):
                plain, traced = region(folder, words, ranks, False), region(folder, words, ranks, True)
                shown = subprocess.run([MPITRACE, 'show', '--json', folder + '/out/t.mpix'], capture_output=True, text=True)
                if plain and traced and shown.returncode == 0:
                    rows.append((plain, traced, json.loads(shown.stdout)['overhead']))
            if not rows:
                row(what, '-', 'did not run here')
                continue
            share, agent = (statistics.median(o[key] for _, _, o in rows) for key in ('share', 'agent_share'))
            wall = spread([(1 - a[0] / b[0]) for a, b, _ in rows], 3)
            median = statistics.median(1 - a[0] / b[0] for a, b, _ in rows)
            used = statistics.median(b[1] - a[1] for a, b, _ in rows)
            own = statistics.median(o['tracing_s'] for _, _, o in rows)
            row('%s, %d ranks: told, as a share' % (what, ranks), 'within a third of %s' % wall,
                '%.4f, of that the agent %.4f' % (share, agent),
                'told / shown %.2f; of ranks alone, told %.2f ms, more on processors %.2f ms' %
                (share / median if median > 0 else float('nan'), own * 1e3, used * 1e3))


def programs(folder, runs):
    if os.path.exists(XDINV):
        for path in glob.glob(os.path.dirname(XDINV) + '/*.dat'):
            shutil.copy(path, folder)
        program(folder, "ScaLAPACK's xdinv, 2 ranks", [XDINV], 2, runs)
    pseudo = glob.glob('/usr/share/espresso/**/Si*.UPF', recursive=True) + glob.glob('/usr/share/**/Si*.UPF', recursive=True)
    if shutil.which('pw.x') and pseudo:
        with open(folder + '/si.in', 'w') as f:
            f.write(SILICON % (os.path.dirname(pseudo[0]), os.path.basename(pseudo[0])))
        program(folder, "Quantum ESPRESSO's pw.x, silicon, 2 ranks", ['pw.x', '-in', 'si.in'], 2, max(3, runs // 3))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--runs', type=int, default=9)
    parser.add_argument('--told', action='store_true')
    parser.add_argument('--only', default='')
    args = parser.parse_args()
    if MPITRACE is None:
        sys.exit(NO_MPITRACE)
    folder = tempfile.mkdtemp(prefix='mpitrace-churn-')
    for source in ('churn', 'ping', 'halo'):
        subprocess.run(['mpicc.openmpi', '-O2', '-o', '%s/%s' % (folder, source), '%s/%s.c' % (HERE, source)], check=True)
    subprocess.run(['mpicc.openmpi', '-O2', '-shared', '-fPIC', '-o', folder + '/region.so', HERE + '/region.c', '-ldl'], check=True)
    subprocess.run(['cc', '-O2', '-o', folder + '/floor', HERE + '/floor.c'], check=True)
    print('| what | goal | measured | beside it |\n|---|---|---|---|')
    if not args.told:
        handles(folder, args.runs)
        memory(folder)
        programs(folder, args.runs)
    told(folder, args.runs, args.only)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    main()
