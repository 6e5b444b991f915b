#!/usr/bin/env python3
"""python_reader.py - contrib/python/mpix.py gives what the commands give: events as `mpitrace show --events --json`, messages as
`mpitrace export`; with NumPy and without; and what is damaged is one error. Without libmpix there is the analysis, and what else is
wanted says what is missing. The notebook's cells run."""
import csv
import errno
import importlib
import json
import os
import random
import subprocess
import sys

from trace import FLAVOURS, MPITRACE, Place, Tests

GENERATE = os.environ['GENERATE']
PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'contrib', 'python')
sys.path.insert(0, PYTHON)
import mpix # pylint: disable=wrong-import-position
DAMAGES = 300


def run(*words):
    return subprocess.run([MPITRACE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=True).stdout


def ns(seconds):
    return round(seconds * 1e9)


def by_reader(trace):
    return sorted((r, t, s, e, trace.ops[op], mpix.CLASSES[cls], peer, tag, size, calls, comm, site, wait)
                  for r, t, s, e, op, cls, peer, tag, size, calls, comm, site, wait in trace.events().rows())


def by_show(path):
    return sorted((e['rank'], e['thread'], ns(e['start_s']), ns(e['end_s']), e['op'], e['class'], e['peer'], e['tag'], e['bytes'], e['calls'],
                   e['comm'], e.get('callsite', -1), ns(e['wait_s'])) for e in json.loads(run('show', path, '--events', '--json')))


def by_export(path, directory):
    out = directory + '/' + os.path.basename(path) + '.csv'
    run('export', path, '--to', 'csv', '-o', out)
    with open(out + '/messages.csv', newline='', encoding='utf-8') as f:
        return sorted(tuple(-1 if x == '' else int(x) for x in row[1:]) for row in list(csv.reader(f))[1:])


def in_order(rows):
    """Columns of messages.csv: bytes and communicator stand the other way round there."""
    return sorted((a, b, c, d, tag, comm, size, *rest) for a, b, c, d, tag, comm, size, *rest in rows)


def compare(t, name, path, directory):
    trace = mpix.open(path)
    if 'irregular' in name:
        t.check(name + ': there are several windows', trace.windows > 2, trace.windows)
    t.equal(name + ': the analysis is that of show', trace.analysis, json.loads(run('show', path, '--json')))
    t.check(name + ': events are those of show', by_reader(trace) == by_show(path), len(trace.events()))
    t.check(name + ': messages are those of the C reader', in_order(trace.messages().rows()) == by_export(path, directory), len(trace.messages()))
    waits = sum(w[2] for w in trace.waits() if w[1] not in (mpix.WRONG_ORDER, mpix.LATE_COMPLETE))
    t.equal(name + ': wait states add up', waits, sum(trace.events()['wait_ns'].tolist()))


def read_all(path):
    trace = mpix.open(path)
    trace.events()
    trace.messages()
    trace.waits()


def damaged(t, path, directory):
    """A byte here and there, and cuts: always Damaged, or (between chunks) no matter."""
    with open(path, 'rb') as f:
        data = f.read()
    chance, bad, wrong, refused = random.Random(5), directory + '/bad.mpix', [], 0
    for i in range(DAMAGES):
        at = chance.randrange(len(data))
        other = bytearray(data[:at] if i % 10 == 0 else data)
        if i % 10 != 0:
            other[at] ^= 1 << chance.randrange(8)
        with open(bad, 'wb') as f:
            f.write(other)
        try:
            read_all(bad)
        except mpix.Damaged as e:
            refused += str(e).startswith(bad) and '\n' not in str(e)
        except Exception as e: # pylint: disable=broad-except
            wrong.append((at, repr(e)))
    t.equal('damaged files raise nothing but Damaged', wrong, [])
    t.check('most damage is found: the rest is in summaries, which nobody reads here', refused > DAMAGES * 0.7, refused)
    for name in (os.devnull, __file__):
        try:
            mpix.open(name)
            t.check('%s is refused' % os.path.basename(name), False, 'was read')
        except mpix.Damaged as e:
            t.check('%s is refused' % os.path.basename(name), str(e).count('\n') == 0, e)
    try:
        mpix.open(directory + '/nowhere.mpix')
        t.check('a file that is not there is refused', False, 'was read')
    except OSError as e:
        t.equal('a file that is not there is no damage', e.errno, errno.ENOENT)


def alone(t, path):
    """Without the library."""
    library = os.environ['MPIX_LIBRARY']
    os.environ['MPIX_LIBRARY'] = path
    trace = mpix.open(path)
    t.equal('without the library: the analysis is that of show', trace.analysis, json.loads(run('show', path, '--json')))
    for what in (trace.events, trace.messages, trace.waits):
        try:
            what()
            t.check('without the library: no %s' % what.__name__, False, 'there were some')
        except mpix.NoLibrary as e:
            t.check('without the library: no %s' % what.__name__, 'install mpitrace' in str(e), e)
    os.environ['MPIX_LIBRARY'] = library


def notebook(t, path):
    with open(PYTHON + '/waits.ipynb', encoding='utf-8') as f:
        cells = [''.join(c['source']) for c in json.load(f)['cells'] if c['cell_type'] == 'code']
    done = subprocess.run([sys.executable, '-c', '\n'.join(cells)], cwd=PYTHON, env=dict(os.environ, MPIX=path, PYTHONDONTWRITEBYTECODE='1'),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False)
    t.check('the notebook runs', done.returncode == 0 and 'MPI_' in done.stdout and '->' in done.stdout, done.stdout + done.stderr)


def main():
    t = Tests()
    with Place(FLAVOURS[0]) as place:
        paths = []
        for pattern, events in (('irregular', 7000), ('alltoall', 300)): # the first has several windows
            directory = '%s/%s' % (place.dir, pattern)
            subprocess.run([GENERATE, '--pattern', pattern, '--ranks', '20', '--nodes', '3', '--events-per-rank', str(events), '-o', directory],
                           check=True, stdout=subprocess.DEVNULL)
            paths.append(directory + '.mpix')
            run('analyze', directory, '-o', paths[-1])
        for source, flags in (('counts_p2p.c', ()), ('counts_rma.c', ()), ('multiple.c', ('-pthread',))):
            place.traced(4, place.compile(source, *flags), name=source[:-2])
            paths.append('%s/out/%s.mpix' % (place.dir, source[:-2]))
        for path in paths:
            compare(t, os.path.basename(path), path, place.dir)
        old = os.path.join(os.path.dirname(__file__), '..', 'corpus', 'version_1.mpix')
        t.check('version 1: events are those of show', by_reader(mpix.open(old)) == by_show(old), '')
        damaged(t, paths[2], place.dir)
        alone(t, paths[2])
        notebook(t, paths[0])
        sys.modules['numpy'] = None
        importlib.reload(mpix)
        compare(t, 'without NumPy', paths[2], place.dir + '/out')
    t.end()


sys.dont_write_bytecode = True
main()
