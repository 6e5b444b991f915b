#!/usr/bin/env python3
"""planted.py - is what the report says first what costs most? Simulated programs with one to three planted faults (pattern_faults.c),
each of which can be left out: what the run is shorter by then is the truth.

  planted.py [--programs N] [--first SEED]

MPITRACE, GENERATE: the commands (default: those of the build in build/). Prints a line for each program of which the first issue is
not the planted fault with the largest gain (two that are less than a tenth apart are one), one for each gain that is far from the true
one, and at the end a JSON object of how many there were."""
import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MPITRACE = os.environ.get('MPITRACE', ROOT + '/build/cli/mpitrace')
GENERATE = os.environ.get('GENERATE', ROOT + '/build/tests/bench/generate')
SAME = 0.9  # of the largest gain: as large
LEAST = 0.05  # of the run: less is nothing to find

# What a planted fault is: issues that name it. A root that works alone is uneven work as well; so is who sends late.
NAMES = {
    'uneven': ('load_imbalance', 'delay', 'synchronization_heavy'),
    'late_send': ('late_sender', 'delay'),
    'late_receive': ('late_receiver', 'delay'),
    'in_turn': ('serialization', 'late_sender', 'delay'),
    'late_root': ('collective_root_bottleneck', 'load_imbalance', 'delay'),
    'barrier': ('barrier_imbalance', 'delay'),
    'slow_node': ('slow_node', 'load_imbalance'),
    'small': ('small_message_overhead',),
}
# Of no single place: repaired, all such faults are.
OF_MANY = ('load_imbalance', 'synchronization_heavy', 'late_sender')


def generate(folder, seed, without=()):
    shape = random.Random(seed)
    ranks = shape.choice((4, 6, 8, 12, 16, 24))
    words = ['--pattern', 'faults', '--ranks', ranks, '--nodes', shape.choice((3, 4)), '--events-per-rank', 5000, '--seed', seed]
    for n in without:
        words += ['--without', n]
    out = subprocess.run([GENERATE, *map(str, words), '-o', folder], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def together(folder, seed, issue):
    """Gain without all faults that the issue is about."""
    whole = generate(folder + '/whole', seed)
    numbers = [n for n, fault in enumerate(whole['faults']) if issue in NAMES[fault['kind']]]
    return 1 - generate(folder + '/rest', seed, numbers)['length_s'] / whole['length_s']


def truth(folder, seed):
    """[(gain as a share of the run, kind, rank)], the largest first."""
    whole = generate(folder + '/whole', seed)
    gains = []
    for n, fault in enumerate(whole['faults']):
        rest = generate(folder + '/rest', seed, [n])
        gains.append((1 - rest['length_s'] / whole['length_s'], fault['kind'], fault['rank']))
    return sorted(gains, reverse=True)


def analysed(folder):
    subprocess.run([MPITRACE, 'analyze', folder + '/whole', '-o', folder + '/t.mpix'], check=True, capture_output=True)
    return json.loads(subprocess.run([MPITRACE, 'show', '--json', folder + '/t.mpix'], check=True, capture_output=True, text=True).stdout)


def judged(folder, seed):
    """None: nothing worth finding; else (is the first issue the largest fault, that issue, its predicted gain, all true gains, the true
    one, or None where what was planted is not what its repair is)."""
    gains = truth(folder, seed)
    if gains[0][0] < LEAST:
        return None
    issues = analysed(folder)['issues']
    first = issues[0] if issues else {'issue': 'none'}
    wanted = [g for g in gains if g[0] >= SAME * gains[0][0]]
    found = any(first['issue'] in NAMES[g[1]] for g in wanted)
    gain = first.get('gain') or {}
    true = max((g[0] for g in wanted if first['issue'] in NAMES[g[1]]), default=None)
    if first['issue'] == 'load_imbalance' and any(g[1] == 'late_root' for g in gains):
        true = None  # work that is shared, and not left out: not what was planted
    elif first['issue'] in OF_MANY and found:
        true = together(folder, seed, first['issue'])
    return found, first, gain, gains, true


def run(seeds, say=lambda text: None):
    """What came of them; say: is told of each that is wrong, and of gains that are far off."""
    counts = {'programs': 0, 'first_is_largest': 0, 'nothing_planted_worth': 0, 'gains_told': 0, 'gains_near': 0}
    off = []
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix='mpitrace-planted-') as folder:
            got = judged(folder, seed)
        if got is None:
            counts['nothing_planted_worth'] += 1
            continue
        found, first, gain, gains, true = got
        planted = [(round(g, 3), kind, rank) for g, kind, rank in gains]
        counts['programs'] += 1
        counts['first_is_largest'] += found
        if not found:
            say('seed %d: first %s %s; planted %s' % (seed, first['issue'], gain.get('share'), planted))
        elif gain.get('share') is not None and true is not None:
            error = abs(gain['share'] - true)
            near = gain['low'] - 0.02 <= true <= gain['high'] + 0.02 or error <= 0.1 * true
            counts['gains_told'] += 1
            counts['gains_near'] += near
            off.append(error)
            if not near:
                say('seed %d: %s would gain %.3f, true %.3f; planted %s' % (seed, first['issue'], gain['share'], true, planted))
    return dict(counts, gain_off_median=statistics.median(off) if off else None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--programs', type=int, default=200)
    parser.add_argument('--first', type=int, default=1)
    args = parser.parse_args()
    print(json.dumps(run(range(args.first, args.first + args.programs), lambda text: print(text, flush=True))))


if __name__ == '__main__':
    main()
