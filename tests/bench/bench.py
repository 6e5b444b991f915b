#!/usr/bin/env python3
"""bench.py - what tracing costs, beside the floor (two clock reads) and a peer: the table of docs/PERFORMANCE.md.

  bench.py [--runs N] [--quick]

The command is MPITRACE of the environment, or build/cli/mpitrace, or the one that is installed. What the bytes of a trace are made
of is told by mpic_columns (tests/tools): MPIC_COLUMNS, or the one of the build; without it those rows are left out.

Runs alternate: two clock reads, untraced, traced, ... Every figure is the median over such groups, beside it the quartiles: on
machines that others use as well, a run now and then is worth nothing. Goals are ratios, so that they hold on any processor: to two
clock reads of the same group, and to the entropy of the times recorded in the same run. No figure makes this command fail."""
import argparse
import glob
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, '../../build')


def found(variable, *places):
    """A program: what the environment says, or the first place where it is; None."""
    for path in (os.environ.get(variable), *places):
        path = shutil.which(path) if path else None
        if path:
            return os.path.abspath(path)
    return None


MPITRACE = found('MPITRACE', BUILD + '/cli/mpitrace', 'mpitrace')
COLUMNS = found('MPIC_COLUMNS', os.path.join(os.path.dirname(MPITRACE or ''), '../tests/tools/mpic_columns'),
                BUILD + '/tests/tools/mpic_columns')
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', OMPI_MCA_rmaps_base_oversubscribe='1')

NO_MPITRACE = 'no mpitrace found: build it (meson compile -C build), install it, or set MPITRACE'


def compile_all(folder):
    for source in ('self', 'ping', 'halo', 'stacks'):
        subprocess.run(['mpicc.openmpi', '-O2', '-o', '%s/%s' % (folder, source), '%s/%s.c' % (HERE, source)], check=True)
    subprocess.run(['cc', '-O2', '-o', folder + '/floor', HERE + '/floor.c'], check=True)


def bench_line(output):
    for line in output.splitlines():
        if line.startswith('BENCH'):
            calls, seconds, kib, init, final = map(float, line.split()[1:])
            return {'ns': seconds / calls * 1e9, 'kib': kib, 'init_ms': init * 1e3, 'final_ms': final * 1e3, 'calls': calls}
    sys.exit('no BENCH line in:\n' + output)


def floor(folder):
    return bench_line(subprocess.run([folder + '/floor'], capture_output=True, text=True).stdout)['ns']


def columns(folder):
    """What the trace just made is of: bytes of structure, of times, calls, the entropy of their times in bytes, bytes of the
    files. None without the tool."""
    if COLUMNS is None:
        return None
    out = subprocess.run([COLUMNS] + glob.glob(folder + '/out/*.mpic'), capture_output=True, text=True).stdout
    return dict(zip(('structure', 'times', 'calls', 'entropy', 'file'), map(float, out.split()))) if out else None


def plain(folder, program, ranks, n, env):
    words = ['mpirun.openmpi', '-n', str(ranks), '%s/%s' % (folder, program), str(n)] if ranks > 1 else \
        ['%s/%s' % (folder, program), str(n)]
    return bench_line(subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, timeout=600).stdout)


def traced(folder, program, ranks, n, env, **more):
    env = dict(env, **more)
    out = folder + '/out'
    shutil.rmtree(out, ignore_errors=True)
    words = [MPITRACE, 'run', '--out', out, '--name', 't'] + (['-n', str(ranks)] if ranks > 1 else []) + \
        ['--', '%s/%s' % (folder, program), str(n)]
    run = subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, timeout=900)
    result = bench_line(run.stdout)
    result['bytes'] = sum(os.path.getsize(p) for p in glob.glob(out + '/*.mpic'))
    if result['bytes'] == 0:
        sys.exit('bench.py: %s made no trace:\n%s' % (MPITRACE, run.stderr))
    result['events'] = result['calls'] * (1 if program == 'ping' else ranks)
    result['bytes_per_call'] = result['bytes'] / result['events']
    what = columns(folder)
    result['of_entropy'] = what['file'] / what['entropy'] if what and what['entropy'] > 0 else None
    return result


def callers(folder, runs, n, env, *where):
    """Pairs of runs of calls from five functions: without callers, and with four of them (stack=4)."""
    program = '%s/stacks' % folder

    def run(**more):
        words = [MPITRACE, 'run', '--out', folder + '/out', '--name', 's', '--', program, str(n), *where]
        return bench_line(subprocess.run(words, env=dict(env, **more), cwd=folder, capture_output=True, text=True, timeout=600).stdout)
    return [(run(), run(MPITRACE_STACK='4')) for _ in range(runs)]


def peer(folder, program, ranks, n, env):
    """Debian's eztrace, if installed: its MPI module, traces written to a scratch folder."""
    if shutil.which('eztrace') is None:
        return None
    words = ['mpirun.openmpi', '-n', str(ranks), 'eztrace', '-t', 'openmpi', '-o', folder + '/ez',
             '%s/%s' % (folder, program), str(n)]
    run = subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, timeout=600)
    shutil.rmtree(folder + '/ez', ignore_errors=True)
    return bench_line(run.stdout) if 'BENCH' in run.stdout else None


def spread(values, digits=1):
    low, middle, high = statistics.quantiles(values, n=4, method='inclusive') if len(values) > 1 else values * 3
    return '%.*f (%.*f to %.*f)' % (digits, middle, digits, low, digits, high)


def pairs(folder, program, ranks, n, runs, env, peers=5):
    rows = []
    for _ in range(runs):
        clock = floor(folder)
        a, b, c = plain(folder, program, ranks, n, env), traced(folder, program, ranks, n, env), None
        if len(rows) < peers:
            c = peer(folder, program, ranks, n, env)
        a['clock_ns'] = clock
        rows.append((a, b, c))
    return rows


def begin_and_end(folder, mpi, runs, env, n=1000):
    """Pairs of runs that do little else, each under its own mpirun: an MPI_Init that has to start a daemon takes longer and
    varies by more than what we look for."""
    program = '%s/self.%s' % (folder, mpi)
    subprocess.run(['mpicc.' + mpi, '-O2', '-w', '-o', program, HERE + '/self.c'], check=True)
    mpirun = [shutil.which('mpirun.' + mpi), '-n', '1', program, str(n)]
    shutil.rmtree(folder + '/out', ignore_errors=True)

    def run(*before):
        return bench_line(subprocess.run([*before, *mpirun], env=env, cwd=folder, capture_output=True, text=True, timeout=120).stdout)
    return [(run(), run(MPITRACE, 'run', '--out', folder + '/out', '--name', 't%d' % i, '--')) for i in range(runs)]


def row(what, goal, figure, remark=''):
    print('| %s | %s | %s | %s |' % (what, goal, figure, remark))
    sys.stdout.flush()


def added(rows, key, which=1):
    return [r[which][key] - r[0][key] for r in rows if r[which] is not None]


def structure(folder, env):
    """Bytes of everything but times, from the columns themselves: what a longer run adds a call, and what it begins with."""
    if COLUMNS is None:
        return None
    sizes = []
    for n in (1000, 100000):
        traced(folder, 'self', 1, n, env)
        what = columns(folder)
        if what is None:
            return None
        sizes.append((3.0 * n, what['structure']))
    (few, small), (many, large) = sizes
    added = (large - small) / (many - few)
    return '%.4f, after %.1f KiB' % (added, (small - added * few) / 1024)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--runs', type=int, default=15)
    parser.add_argument('--quick', action='store_true')
    args = parser.parse_args()
    if MPITRACE is None:
        sys.exit(NO_MPITRACE)
    runs, scale = (3, 0.2) if args.quick else (args.runs, 1)
    folder = tempfile.mkdtemp(prefix='mpitrace-bench-')
    compile_all(folder)
    print('%s, %d cores, %d pairs of runs, medians (quartiles)\n' % (platform.processor() or platform.machine(),
                                                                           os.cpu_count(), runs))
    print('| what | goal | measured | beside it |\n|---|---|---|---|')
    yielding = dict(ENV, OMPI_MCA_mpi_yield_when_idle='1')
    profile = [(plain(folder, 'self', 1, int(1000000 * scale), ENV),
                traced(folder, 'self', 1, int(1000000 * scale), ENV, MPITRACE_MODE='profile')) for _ in range(runs)]
    one = pairs(folder, 'self', 1, int(1000000 * scale), runs, ENV)
    two = pairs(folder, 'ping', 2, int(500000 * scale), runs, ENV)
    halo = pairs(folder, 'halo', 8, 4000, max(3, runs // 2), yielding)  # fewer calls are mostly the start of the file

    def beside(rows):
        ez = added(rows, 'ns', 2)
        return 'untraced call %.0f ns' % statistics.median([r[0]['ns'] for r in rows]) + \
            ('; EZTrace adds %.0f' % statistics.median(ez) if ez else '')
    def of_clock(rows):
        return spread([(r[1]['ns'] - r[0]['ns']) / r[0]['clock_ns'] for r in rows], 2)

    def fastest(rows):
        untraced, with_us, clock = (min(x) for x in zip(*((r[0]['ns'], r[1]['ns'], r[0]['clock_ns']) for r in rows)))
        return 'of the fastest runs %.2f' % ((with_us - untraced) / clock)

    def of_entropy(rows):
        ratios = [r[1]['of_entropy'] for r in rows if r[1]['of_entropy'] is not None]
        return spread(ratios, 2) if ratios else 'not measured: no mpic_columns'
    row('two clock reads (the floor), ns', '-', spread([r[0]['clock_ns'] for r in one + two]))
    row('added per call, self, by two clock reads', '<= 1.5', of_clock(one), fastest(one))
    row('added per call, ping, by two clock reads', '<= 1.5', of_clock(two), fastest(two))
    row('bytes, self, by the entropy of the times', '<= 1.3', of_entropy(one))
    row('bytes, halo, by the entropy of the times', '<= 1.3', of_entropy(halo))
    row('added per call, self, ns', '-', spread(added(one, 'ns')), beside(one))
    row('the same without events (profile mode), ns', '-', spread(added(profile, 'ns')))
    row('added per call, ping, ns', '-', spread(added(two, 'ns')), beside(two))
    for where in (), ('fibre',):
        rows = callers(folder, runs, int(1000000 * scale), ENV, *where)
        row('added per call by stack=4 on the stack of %s, ns' % ('a fibre' if where else 'the thread'), '-', spread(added(rows, 'ns')))
    row('bytes per call, self', '-', spread([r[1]['bytes_per_call'] for r in one], 3))
    row('bytes per call, halo', '-', spread([r[1]['bytes_per_call'] for r in halo], 3))
    row('structure alone, bytes per call from 1,000 to 100,000 iterations', '<= 0.02',
        structure(folder, ENV) or 'not measured: no mpic_columns')
    row('resident memory added per rank, MiB', '<= 8', spread([x / 1024 for x in added(one, 'kib')]))
    longer = pairs(folder, 'self', 1, int(5000000 * scale), 3, ENV, peers=0)
    row('the same after five times as many calls, MiB', '<= 8', spread([x / 1024 for x in added(longer, 'kib')]))
    for mpi in ('openmpi', 'mpich'):
        if shutil.which('mpicc.' + mpi):
            ends = begin_and_end(folder, mpi, int(40 * scale), ENV)
            row('added to MPI_Init, ms, %s' % mpi, '<= 5', spread(added(ends, 'init_ms')),
                'untraced %.0f ms' % statistics.median([r[0]['init_ms'] for r in ends]))
            row('added to MPI_Finalize, ms, %s' % mpi, '<= 10', spread(added(ends, 'final_ms')))
            ends = begin_and_end(folder, mpi, int(10 * scale), ENV, int(5000000 * scale))
            row('the same after %.0f million calls' % (ends[0][0]['calls'] / 1e6), '<= 10', spread(added(ends, 'final_ms')))
    # In simulated time, also alone: build/tests/bench/day
    subprocess.run([os.path.join(os.path.dirname(MPITRACE), '../tests/bench/day')])
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    main()
