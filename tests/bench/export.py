#!/usr/bin/env python3
"""export.py BUILD [MILLIONS] - how fast `mpitrace export` writes each format: a table for docs/PERFORMANCE.md. A trace of a halo exchange
of 256 ranks is generated, analysed and exported into a directory of its own, which must have room (about 4 GB for 16 million events)."""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
MILLIONS = float(sys.argv[2]) if len(sys.argv) > 2 else 16
RANKS = 256
FORMATS = ('csv', 'otf2', 'perfetto', 'paraver', 'sqlite', 'folded')
MPITRACE = BUILD + '/cli/mpitrace'


def timed(words):
    """Seconds that passed, processor seconds, memory in MiB."""
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak(words):
    """Of one process: a fresh interpreter waits for it, so no other child counts."""
    code = 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2); ' \
           'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)'
    return int(subprocess.run([sys.executable, '-c', code, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def size(path):
    files = [os.path.join(d, f) for d, _, names in os.walk(path) for f in names] if os.path.isdir(path) else [path]
    return sum(os.path.getsize(f) for f in files)


def main():
    with tempfile.TemporaryDirectory(prefix='mpitrace-export-') as directory:
        subprocess.run([BUILD + '/tests/bench/generate', '--pattern', 'halo', '--ranks', str(RANKS), '--nodes', '8', '--events-per-rank',
                        str(int(MILLIONS * 1e6 / RANKS)), '-o', directory + '/trace'], check=True, stdout=subprocess.DEVNULL)
        mpix, out = directory + '/trace.mpix', directory + '/out'
        subprocess.run([MPITRACE, 'analyze', directory + '/trace', '-o', mpix], check=True)
        shutil.rmtree(directory + '/trace')
        print('| format | million events a second | by processor time | MiB of memory | bytes an event |\n|---|---|---|---|---|', flush=True)
        for to in FORMATS:
            words = [MPITRACE, 'export', mpix, '--to', to, '-o', out]
            seconds, processor = timed(words)
            length = size(out)
            (shutil.rmtree if os.path.isdir(out) else os.unlink)(out)
            memory = peak(words)
            (shutil.rmtree if os.path.isdir(out) else os.unlink)(out)
            print('| %s | %.2f | %.2f | %d | %.1f |' % (to, MILLIONS / seconds, MILLIONS / processor, memory, length / MILLIONS / 1e6), flush=True)


main()
