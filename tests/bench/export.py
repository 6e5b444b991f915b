#!/usr/bin/env python3
"""export.py BUILD [MILLIONS] - how fast `mpitrace export` writes each format: a table for docs/PERFORMANCE.md, and beside it the floor: a bare
loop that writes as many bytes, or as many rows and indices by SQLite alone. A trace of a halo exchange of 256 ranks is generated, analysed and
exported into a directory of its own, which must have room (about 4 GB for 16 million events)."""
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


def spent(code, *words):
    """Processor seconds of a fresh interpreter, without those of its start."""
    def seconds(text):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, '-c', text, *words], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return max(seconds(code) - seconds('import sqlite3, sys'), 1e-3)


BYTES = """
import os, sys
fd, left, piece = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600), int(sys.argv[2]), bytes(1 << 18)
while left > 0:
    left -= os.write(fd, piece[:left])
"""
# Rows as wide as those of events, from a recursion that costs about as much as they do; indices as ours.
ROWS = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.executescript('PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=32768; CREATE TABLE e(id INTEGER PRIMARY KEY, '
                 'a, b, c, d, e, f, g, h, i, j, k, l, m, n, o); BEGIN')
db.execute('WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ?) INSERT INTO e SELECT NULL, v % 256, 0, v * 1000, '
           'v * 1000 + 500, 3, 1, v % 256, 5, 1024, 0, NULL, 17, 1, 0, NULL FROM n', (int(sys.argv[2]),))
db.executescript('CREATE INDEX x ON e(a, c); CREATE INDEX y ON e(l)')
"""


def floor(to, directory, length, events):
    """Processor seconds that writing costs whoever does it."""
    path = directory + '/floor'
    seconds = spent(ROWS, path, str(events)) if to == 'sqlite' else spent(BYTES, path, str(length))
    os.unlink(path)
    return seconds


def main():
    with tempfile.TemporaryDirectory(prefix='mpitrace-export-') as directory:
        subprocess.run([BUILD + '/tests/bench/generate', '--pattern', 'halo', '--ranks', str(RANKS), '--nodes', '8', '--events-per-rank',
                        str(int(MILLIONS * 1e6 / RANKS)), '-o', directory + '/trace'], check=True, stdout=subprocess.DEVNULL)
        mpix, out = directory + '/trace.mpix', directory + '/out'
        subprocess.run([MPITRACE, 'analyze', directory + '/trace', '-o', mpix], check=True)
        shutil.rmtree(directory + '/trace')
        print('| format | million events a second | by processor time | floor, by processor time | MiB of memory | bytes an event |\n'
              '|---|---|---|---|---|---|', flush=True)
        for to in FORMATS:
            words = [MPITRACE, 'export', mpix, '--to', to, '-o', out]
            seconds, processor = timed(words)
            length = size(out)
            (shutil.rmtree if os.path.isdir(out) else os.unlink)(out)
            memory = peak(words)
            (shutil.rmtree if os.path.isdir(out) else os.unlink)(out)
            least = floor(to, directory, length, int(MILLIONS * 1e6))
            print('| %s | %.2f | %.2f | %.1f | %d | %.1f |' % (to, MILLIONS / seconds, MILLIONS / processor, MILLIONS / least, memory,
                                                            length / MILLIONS / 1e6), flush=True)


main()
