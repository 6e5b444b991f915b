#!/usr/bin/env python3
"""export.py - what leaves a trace by `mpitrace export` is what the trace holds: every format of real programs (messages, collectives,
one-sided, files, threads) is read back by a reader that is not ours, and compared with `show --json` and `show --events --json`.
export.py generated: of a generated trace, without MPI: the same, what is chosen, and what a person does wrong."""
import collections
import csv
import glob
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

import export_otf2
import export_paraver
import export_perfetto
from trace import ENV, FLAVOURS, MPITRACE, Place, Tests

RANKS = 4
TABLES = {'json': ['--tables']}
MORE = {'json': ['--tables'], 'chrome': ['--large']}
PROGRAMS = (('counts_p2p.c', ()), ('counts_coll.c', ()), ('counts_rma.c', ()), ('counts_io.c', ()), ('multiple.c', ('-pthread',)))


CLASSES = (None, 'p2p', 'wait', 'collective', 'sync', 'rma', 'io', 'other')


def opens_of(analysis):
    """Calls that ranks never came back from: as events, which they are in every format."""
    return [{'rank': r['rank'], 'thread': x['thread'], 'start_s': x['from_s'], 'end_s': x['to_s'], 'op': x['op'], 'class': CLASSES[x['class']],
             'bytes': 0, 'calls': 1, 'wait_s': x['to_s'] - x['from_s'] if x['waits'] else 0, 'comm': x['communicator'] or 0, 'tag': 0, 'peer': -1,
             'open': True} for r in analysis['per_rank'] for x in r.get('open', [])]


class Trace:
    """One .mpix and all that `mpitrace show` says of it."""

    def __init__(self, mpix, directory):
        self.mpix, self.directory = mpix, directory
        self.analysis = json.loads(run('show', mpix, '--json').stdout)
        self.opens = opens_of(self.analysis)
        self.events = json.loads(run('show', mpix, '--events', '--json').stdout) + self.opens
        self.name = os.path.basename(mpix)[:-5]

    def export(self, to, *more, mpix=None):
        path = '%s/%s.%s' % (self.directory, self.name, to)
        shutil.rmtree(path, ignore_errors=True)
        done = run('export', mpix or self.mpix, '--to', to, '-o', path, '--json', *more, check=False)
        if done.returncode != 0:
            raise ValueError('%s: %s' % (to, done.stderr))
        return path, json.loads(done.stdout)


def run(*words, check=True, **how):
    return subprocess.run([MPITRACE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=check, **how)


def ns(seconds):
    return round(seconds * 1e9)


def sums(events):
    """Calls, events and nanoseconds by operation."""
    found = collections.defaultdict(lambda: [0, 0, 0])
    for e in events:
        row = found[e['op']]
        row[0] += e['calls']
        row[1] += 1
        row[2] += ns(e['end_s']) - ns(e['start_s'])
    return {op: tuple(row) for op, row in found.items()}


def rows(path, name):
    with open('%s/%s.csv' % (path, name), newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


def number(text):
    return None if text == '' else int(text)


# ---- one function a format ----

def check_csv(t, who, trace):
    path, said = trace.export('csv')
    events, messages = rows(path, 'events'), rows(path, 'messages')
    want = sorted((e['rank'], e['thread'], ns(e['start_s']), ns(e['end_s']), e['op'], e['class'], e['bytes'], e['calls'], ns(e['wait_s']),
                   e['comm'], e['tag']) for e in trace.events)
    got = sorted((int(e['rank']), int(e['thread']), int(e['start_ns']), int(e['end_ns']), e['op'], e['class'], int(e['bytes']), int(e['calls']),
                  int(e['wait_ns']), int(e['communicator']), int(e['tag'])) for e in events)
    t.equal(who + 'csv: events are those of show', got == want, True)
    t.equal(who + 'csv: peers are those of show', sorted(number(e['peer']) or 0 for e in events),
            sorted(0 if e['peer'] == -1 else e['peer'] for e in trace.events))
    summary = trace.analysis['summary']
    t.equal(who + 'csv: messages are the transfers', (len(messages), sum(int(m['bytes']) for m in messages)),
            (summary['transfers'], summary['bytes']))
    t.equal(who + 'csv: the summary counts what was written', (said['events'], said['messages'], said['waits']),
            (len(events), len(messages), len(rows(path, 'waits'))))
    whole = collections.Counter()
    for w in rows(path, 'waits'):
        if w['state'] not in ('late_sender_wrong_order', 'late_complete'):
            whole[w['rank'], w['thread'], w['start_ns']] += int(w['wait_ns'])
    t.equal(who + 'csv: wait states add up to the events\'', sum(whole.values()), sum(int(e['wait_ns']) for e in events if e['open'] == '0'))
    t.equal(who + 'csv: calls that never ended are marked', sorted((int(e['rank']), e['op']) for e in events if e['open'] == '1'),
            sorted((e['rank'], e['op']) for e in trace.opens))
    states = collections.Counter()
    for w in rows(path, 'waits'):
        states[w['state']] += int(w['wait_ns'])
    t.equal(who + 'csv: waiting by state is the analysis\'', states, {w['state']: round(w['seconds'] * 1e9) for w in trace.analysis['wait_totals'] if w['seconds']})
    members = collections.Counter(int(m['communicator']) for m in rows(path, 'communicator_members'))
    t.equal(who + 'csv: communicators have their members', dict(members),
            {c['id']: len(c['ranks']) for c in trace.analysis['communicators'] if c['ranks']})


def check_json(t, who, trace):
    path, _ = trace.export('json')
    with open(path, encoding='utf-8') as f:
        t.equal(who + 'json: the analysis is that of show', json.load(f), trace.analysis)
    path, said = trace.export('json', '--tables')
    with open(path, encoding='utf-8') as f:
        whole = json.load(f)
    events = [dict(zip(whole['events']['columns'], row)) for row in whole['events']['rows']]
    t.equal(who + 'json: tables have the events of show',
            sorted((e['rank'], e['thread'], e['start_ns'], e['end_ns'], e['op'], e['bytes']) for e in events),
            sorted((e['rank'], e['thread'], ns(e['start_s']), ns(e['end_s']), e['op'], e['bytes']) for e in trace.events))
    t.equal(who + 'json: tables mark calls that never ended', sum(e['open'] for e in events), len(trace.opens))
    t.equal(who + 'json: tables have the messages', (len(whole['messages']['rows']), sum(len(e['waits']) for e in events)),
            (trace.analysis['summary']['transfers'], said['waits']))


def check_chrome(t, who, trace):
    path, _ = trace.export('chrome')
    with open(path, encoding='utf-8') as f:
        items = json.load(f)['traceEvents']
    slices = [x for x in items if x['ph'] == 'X']
    t.equal(who + 'chrome: slices are the events of show',
            sorted((x['pid'], x['tid'], round(x['ts'] * 1000), round(x['dur'] * 1000), x['name'], x['args']['bytes']) for x in slices),
            sorted((e['rank'], e['thread'], ns(e['start_s']), ns(e['end_s']) - ns(e['start_s']), e['op'], e['bytes']) for e in trace.events))
    t.equal(who + 'chrome: calls that never ended are marked', sum(x['args'].get('open', 0) for x in slices), len(trace.opens))
    begun, ended = ({x['id']: x for x in items if x['ph'] == phase} for phase in 'sf')
    t.equal(who + 'chrome: every message is one flow', (len(begun), begun.keys()), (trace.analysis['summary']['transfers'], ended.keys()))
    at = {(x['pid'], x['tid'], x['ts']) for x in slices}
    t.equal(who + 'chrome: flows tie to slices', [x for x in items if x['ph'] in 'sf' and (x['pid'], x['tid'], x['ts']) not in at], [])
    t.equal(who + 'chrome: processes are ranks', sorted(x['args']['name'] for x in items if x['ph'] == 'M' and x['name'] == 'process_name'),
            sorted('rank %d' % r for r in range(trace.analysis['job']['ranks'])))


def check_sqlite(t, who, trace):
    path, said = trace.export('sqlite')
    db = sqlite3.connect(path)
    t.equal(who + 'sqlite: the file is sound', db.execute('PRAGMA integrity_check').fetchall(), [('ok',)])
    got = db.execute('SELECT rank, thread, start_ns, end_ns, o.name, bytes, calls, wait_ns FROM events JOIN ops o ON o.id = op').fetchall()
    t.equal(who + 'sqlite: events are those of show', sorted(got),
            sorted((e['rank'], e['thread'], ns(e['start_s']), ns(e['end_s']), e['op'], e['bytes'], e['calls'], ns(e['wait_s']))
                   for e in trace.events))
    t.equal(who + 'sqlite: calls that never ended are marked', db.execute('SELECT count(*) FROM calls WHERE open = 1').fetchone()[0], len(trace.opens))
    pairs = {(p['src'], p['dst']): (p['messages'], p['bytes']) for p in trace.analysis['matrix']['p2p']}
    t.equal(who + 'sqlite: top_pairs is the matrix', {(s, d): (n, b) for s, d, n, b in db.execute('SELECT * FROM top_pairs')}, pairs)
    late = db.execute('SELECT coalesce(sum(wait_s), 0) FROM late_senders').fetchone()[0]
    want = sum(w['seconds'] for w in trace.analysis['wait_totals'] if w['state'] == 'late_sender')
    t.check(who + 'sqlite: late_senders adds up to the analysis\'s', abs(late - want) < 1e-6 + want * 1e-6, (late, want))
    views = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    t.equal(who + 'sqlite: every view answers', [v for v in views if db.execute('SELECT count(*) FROM ' + v).fetchone()[0] < 0], [])
    t.equal(who + 'sqlite: waits are counted', db.execute('SELECT count(*) FROM waits').fetchone()[0], said['waits'])
    analysis = json.loads(db.execute('SELECT json FROM analysis').fetchone()[0])
    t.equal(who + 'sqlite: the analysis is in it', analysis, trace.analysis)
    db.close()


def folded_weights(t, who, trace, even=False):
    """even: tests of a call site take equally long. A run of them lasts longer than they take, and weighs no more than they do then."""
    path, _ = trace.export('folded')
    with open(path, encoding='utf-8') as f:
        lines = [re.fullmatch(r'(.+) (\d+)', line).groups() for line in f.read().splitlines()]
    got = collections.Counter()
    for stack, weight in lines:
        got[stack.removesuffix(';(never ended)').split(';')[-1]] += int(weight)
    spans, runs = sums(trace.events), {e['op'] for e in trace.events if int(e['calls']) > 1}
    want = {o['op']: o['time_s'] * 1e6 if even or o['op'] not in runs else spans[o['op']][2] / 1000 for o in trace.analysis['operations']}
    for op, (_, _, span) in sums(trace.opens).items():
        want[op] = want.get(op, 0) + (span / 1000 if op not in runs else 0)
    wrong = {op: (got[op], us) for op, us in want.items()
             if got[op] - us > 1 + len(lines) or ((even or op not in runs) and us - got[op] > 1 + len(lines))}
    t.equal(who + 'folded: weights are the time of each operation', wrong, {})
    return lines


def check_folded(t, who, trace):
    lines = folded_weights(t, who, trace)
    sites = {c['function'] for c in trace.analysis['callsites'] if c['function']}
    t.equal(who + 'folded: functions stand above them', [s for s, _ in lines if not any(x in s for x in sites)], [])


def callers(t, place):
    """With stack=N the functions above a call stand in the stack, from main inwards; without there is the call site alone."""
    program, above, below = place.compile('callers.c'), ['callers', 'main'], [r'sum \(callers.c:\d+\)', 'MPI_Allreduce']
    want = [above + x + below for x in (['advance'], ['solve'], ['solve'] * 2, ['solve'] * 3)]
    for name, environment, stacks in (('callers', {'MPITRACE_STACK': '8'}, want), ('alone', {}, [['callers'] + below])):
        place.traced(RANKS, program, name=name, **environment)
        trace = Trace('%s/out/%s.mpix' % (place.dir, name), place.dir)
        path, _ = trace.export('folded')
        with open(path, encoding='utf-8') as f:
            got = dict(line.rsplit(' ', 1) for line in f.read().splitlines() if 'MPI_Allreduce' in line)
        t.check(name + ', folded: the stacks are those of the source', len(got) == len(stacks) and
                all(sum(re.fullmatch(';'.join(s), line) is not None for line in got) == 1 for s in stacks), got)
        with open(path, encoding='utf-8') as f:
            t.equal(name + ', folded: what main calls itself has nothing above main', [re.sub(r'\d+', 'N', line) for line in sorted(f)
                    if 'MPI_Init' in line], ['callers;main (callers.c:N);MPI_Init N\n'])
        spent = sum(ns(e['end_s']) - ns(e['start_s']) for e in trace.events if e['op'] == 'MPI_Allreduce') / 1000
        t.check(name + ', folded: their weights are its time', abs(sum(map(int, got.values())) - spent) <= len(got), (got, spent))


def prv_lines(path):
    with open(path + '/trace.prv', encoding='utf-8') as f:
        lines = f.read().splitlines()
    return lines[0], [line for line in lines[1:] if line[0] == 'c'], [line.split(':') for line in lines[1:] if line[0] != 'c']


def check_paraver(t, who, trace):
    path, _ = trace.export('paraver')
    export_paraver.check(t, who, path)
    head, comms, records = prv_lines(path)
    m = re.fullmatch(r'#Paraver \(\d\d/\d\d/\d{4} at \d\d:\d\d\):(\d+)_ns:(\d+)\(([\d,]+)\):1:(\d+)\(([\d:,]+)\),(\d+)', head)
    t.check(who + 'paraver: the header is one', m, head)
    cpus, tasks = [int(n) for n in m[3].split(',')], [tuple(map(int, x.split(':'))) for x in m[5].split(',')]
    t.equal(who + 'paraver: nodes, tasks, threads and communicators agree',
            (len(cpus), len(tasks), sum(n for n, _ in tasks), len(comms)), (int(m[2]), int(m[4]), sum(cpus), int(m[6])))
    times = [int(r[5]) for r in records]
    t.check(who + 'paraver: records are in order of time', times == sorted(times), '')
    t.check(who + 'paraver: all within the run', times[-1] <= int(m[1]) and times[0] >= 0, (times[0], times[-1], m[1]))
    begins = collections.Counter(int(r[7]) for r in records if r[0] == '2' and int(r[7]) != 0)
    with open(path + '/trace.pcf', encoding='utf-8') as f:
        names = dict(re.findall(r'^(\d+)    (MPI_\w+|\(\w+\))$', f.read(), re.M))
    t.equal(who + 'paraver: events by function are those of show', {names[str(v)]: n for v, n in begins.items()},
            {op: row[1] for op, row in sums(trace.events).items()})
    states = [r for r in records if r[0] == '1']
    inside = sum(int(r[6]) - int(r[5]) for r in states if int(r[7]) != 1)
    t.equal(who + 'paraver: states other than running are the time in MPI', inside, sum(row[2] for row in sums(trace.events).values()))
    last = collections.defaultdict(int)
    wrong = [r for r in states if int(r[5]) < last[r[1]] or last.__setitem__(r[1], int(r[6]))]
    t.equal(who + 'paraver: states of a thread do not overlap', wrong, [])
    sent = [(int(r[3]) - 1, int(r[9]) - 1, int(r[13])) for r in records if r[0] == '3']
    t.equal(who + 'paraver: communications are the transfers', (len(sent), sum(s[2] for s in sent)),
            (trace.analysis['summary']['transfers'], trace.analysis['summary']['bytes']))


CHECKS = [check_csv, check_json, check_chrome, check_sqlite, check_folded, check_paraver, export_perfetto.check]
if shutil.which('otf2-print'):
    CHECKS.append(export_otf2.check)


# ---- what a person does wrong, and what happens to files ----

def refused(t, claim, words, *says, code=2):
    done = run('export', *words, check=False)
    t.check(claim, done.returncode == code and done.stderr.count('\n') <= 2 and all(s in done.stderr for s in says),
            (done.returncode, done.stderr))


def left(directory):
    return sorted(x for x in os.listdir(directory) if '.tmp' in x or x.startswith('.mpitrace'))


def mistakes(t, trace):
    out = trace.directory + '/out'
    refused(t, 'an unknown format is refused with the known ones', [trace.mpix, '--to', 'vcd', '-o', out], 'vcd', 'csv', 'perfetto')
    refused(t, 'ranks that are not there are named', [trace.mpix, '--to', 'csv', '-o', out, '--ranks', '2-99'], '2-99', '0 to 19')
    refused(t, 'nonsense for ranks is refused', [trace.mpix, '--to', 'csv', '-o', out, '--ranks', '3-1'], '--ranks')
    refused(t, 'a span that ends before it begins is refused', [trace.mpix, '--to', 'csv', '-o', out, '--since', '2', '--until', '1'], '--since')
    refused(t, 'no file: one clear error', [out + '.mpix', '--to', 'csv', '-o', out], 'cannot open', code=3)
    os.makedirs(out + '/there')
    refused(t, 'a directory that is there is left alone', [trace.mpix, '--to', 'csv', '-o', out], 'is there already')
    refused(t, 'a place that is not there is named', [trace.mpix, '--to', 'json', '-o', out + '/no/x.json'], 'no/x.json', code=3)
    version_1 = os.path.join(os.path.dirname(__file__), '..', 'corpus', 'version_1.mpix')
    refused(t, 'a trace of version 1 is refused with what to do', [version_1, '--to', 'csv', '-o', out + '2'], 'version 1', 'analyse')
    t.equal('nothing is left behind', left(trace.directory) + left(out), [])


def to_standard_output(t, trace):
    """`-o -`, in a directory of its own: no file of that name."""
    with tempfile.TemporaryDirectory() as here:
        for to in ('json', 'chrome', 'perfetto', 'folded'):
            done = subprocess.run([MPITRACE, 'export', trace.mpix, '--to', to, '-o', '-'], capture_output=True, cwd=here)
            subprocess.run([MPITRACE, 'export', trace.mpix, '--to', to, '-o', 'file'], check=True, stdout=subprocess.DEVNULL, cwd=here)
            with open(here + '/file', 'rb') as f:
                t.check('%s on standard output is as in a file, what is said about it is not among it' % to, done.stdout == f.read() and done.stderr, done.stderr)
            t.check('%s: how long it became is not said of a pipe' % to, b'-: 0 B' not in done.stderr and b' events' in done.stderr, done.stderr)
            os.remove(here + '/file')
        for to in ('csv', 'otf2', 'paraver', 'sqlite'):
            done = subprocess.run([MPITRACE, 'export', trace.mpix, '--to', to, '-o', '-'], capture_output=True, cwd=here)
            t.check('%s is refused there' % to, (done.returncode, done.stdout) == (2, b'') and b'standard output' in done.stderr or b'not built' in done.stderr, done)
        page = subprocess.run([MPITRACE, 'report', trace.mpix, '-o', '-'], capture_output=True, cwd=here)
        t.check('a report goes there too', page.stdout.endswith(b'</html>\n'), page.stdout[-100:])
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([MPITRACE, 'export', trace.mpix, '--to', 'chrome', '-o', '-'], stdout=full, stderr=subprocess.PIPE, cwd=here)
        t.check('when it takes no more, that is said', done.returncode != 0 and b'No space left' in done.stderr, done)
        t.equal('no file is made', os.listdir(here), [])


def damaged(t, trace):
    """Bytes inside of a chunk of events are turned round: refused, or the rest with what lacks as a number."""
    with open(trace.mpix, 'rb') as f:
        data = bytearray(f.read())
    index, n = int.from_bytes(data[24:32], 'little'), int.from_bytes(data[32:36], 'little')
    entries = [data[index + 56 * i:index + 56 * i + 56] for i in range(n)]
    at = max((e for e in entries if e[0] == 4), key=lambda e: int.from_bytes(e[12:16], 'little'))
    records = int.from_bytes(at[12:16], 'little')
    data[int.from_bytes(at[32:40], 'little') + 3] ^= 0x55
    bad = trace.directory + '/damaged.mpix'
    with open(bad, 'wb') as f:
        f.write(data)
    for to in ('csv', 'sqlite', 'perfetto', 'paraver'):
        out = '%s/damaged.%s' % (trace.directory, to)
        refused(t, to + ': a damaged chunk is refused, and how to go on', [bad, '--to', to, '-o', out], '--skip-damaged', code=3)
        t.equal(to + ': a refused export leaves nothing', (os.path.exists(out), left(trace.directory)), (False, []))
        done = run('export', bad, '--to', to, '-o', out, '--skip-damaged', '--json', check=False)
        said = json.loads(done.stdout)
        t.equal(to + ': the rest is exported and what lacks is counted', (done.returncode, said['damaged']['events'], said['events']),
                (4, records, len(trace.events) - records))


def full_disk(t, trace):
    for to in ('csv', 'json', 'chrome', 'sqlite', 'perfetto', 'paraver'):
        out = '%s/full.%s' % (trace.directory, to)
        done = subprocess.run(['sh', '-c', 'ulimit -f 8; trap "" XFSZ; exec "$@"', 'sh', MPITRACE, 'export', trace.mpix, '--to', to, '-o', out] + TABLES.get(to, []), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', env=ENV)
        t.check(to + ': no room: one error, nothing is left', done.returncode == 4 and 'cannot' in done.stderr and not os.path.exists(out) and
                done.stderr.count('\n') == 1 and left(trace.directory) == [], (done.returncode, done.stderr, left(trace.directory)))


def has_otf2():
    return export_otf2.check in CHECKS


def all_formats():
    return ['csv', 'json', 'chrome', 'sqlite', 'perfetto', 'paraver', 'folded'] + (['otf2'] if has_otf2() else [])


def kill_one(trace, to, out):
    """The exit code, what was printed, and what is there after a signal to an export that has begun."""
    with subprocess.Popen([MPITRACE, 'export', trace, '--to', to, '-o', out] + MORE.get(to, []), env=ENV, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        while not left(os.path.dirname(out)) and p.poll() is None:
            pass
        p.send_signal(signal.SIGTERM)
        said = b''.join(p.communicate())
    return p.returncode, said, os.path.exists(out), left(os.path.dirname(out))


def killed(t, trace, directory):
    """By a signal in the middle: the export dies of it, and nothing of it is there, under no name."""
    for to in all_formats():
        out = '%s/killed.%s' % (directory, to)
        for _ in range(9): # one that was over before the signal came proves nothing
            got = kill_one(trace, to, out)
            if got[0] != 0:
                break
            shutil.rmtree(out) if os.path.isdir(out) else os.unlink(out)
        t.equal(to + ': killed in the middle, it dies of the signal and leaves nothing', got, (-signal.SIGTERM, b'', False, []))


def shapes(t, place):
    """One rank without a message, and a trace of which a rank was killed: every format has what there is."""
    ring = place.compile('ring.c')
    for name, ranks, words, state in (('one', 1, (), 'completed'), ('partial', RANKS, ('1',), 'partial')):
        place.traced(ranks, ring, *words, name=name)
        trace = Trace('%s/out/%s.mpix' % (place.dir, name), place.dir)
        t.equal(name + ' is what it is meant to be', (trace.analysis['job']['state'], trace.analysis['job']['ranks']), (state, ranks))
        for to in all_formats():
            _, said = trace.export(to, *TABLES.get(to, []))
            t.equal('%s, %s: all its events' % (name, to), (said['events'], said['messages'], said['damaged']['events']),
                    (len(trace.events), 0 if to == 'folded' else trace.analysis['summary']['transfers'], 0))


def never_ended(t, place):
    """Programs that hang until a signal ends them: the calls in which they hang are in every format, to the end of their rank."""
    program = place.compile('stuck.c', '-pthread')
    for kind in ('receives_later', 'barrier', 'threads'):
        place.traced(RANKS, program, kind, name=kind)
        trace, who = Trace('%s/out/%s.mpix' % (place.dir, kind), place.dir), 'stuck %s, ' % kind
        spent = sum(e['end_s'] - e['start_s'] for e in trace.opens)
        t.check(who + 'all ranks hang', len({e['rank'] for e in trace.opens}) == RANKS and spent > 0.1, trace.opens)
        for check in CHECKS:
            check(t, who, trace)
        for to in all_formats():
            _, said = trace.export(to, *TABLES.get(to, []))
            t.equal(who + to + ': how many and how long is said', (said['open']['calls'], round(said['open']['seconds'], 6), said['open']['left_out']),
                    (len(trace.opens), round(spent, 6), 0))
            _, said = trace.export(to, *TABLES.get(to, []), '--ranks', '1')
            t.equal(who + to + ': they are chosen as others are', said['open']['calls'], sum(1 for e in trace.opens if e['rank'] == 1))
        path, _ = trace.export('folded')
        with open(path, encoding='utf-8') as f:
            hung = sum(int(line.rsplit(' ', 1)[1]) for line in f if ';(never ended) ' in line)
        t.check(who + 'folded: they stand by themselves', abs(hung - spent * 1e6) <= len(trace.opens), (hung, spent))


def many_ranks(t, directory):
    """16,384 ranks: as many lanes, and no more files are open at a time than one may."""
    subprocess.run([os.environ['GENERATE'], '--pattern', 'halo', '--ranks', '16384', '--nodes', '128', '--events-per-rank', '12', '-o',
                    directory + '/many'], check=True, stdout=subprocess.DEVNULL)
    run('analyze', directory + '/many', '-o', directory + '/many.mpix')
    summary = json.loads(run('show', directory + '/many.mpix', '--json').stdout)
    for to in all_formats():
        out = '%s/many.%s' % (directory, to)
        done = subprocess.run(['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh', MPITRACE, 'export', directory + '/many.mpix', '--to', to, '-o', out,
                               '--json'] + TABLES.get(to, []), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding='utf-8', env=ENV, check=False)
        said = json.loads(done.stdout) if done.returncode == 0 else {}
        t.equal('16,384 ranks, %s: every event and message' % to, (done.stderr, said.get('events'), said.get('lanes')),
                ('', summary['coverage']['events'], 16384))
        (shutil.rmtree if os.path.isdir(out) else os.unlink)(out)


def peak(*words):
    """MiB of memory of one command: of a fresh interpreter it is the only child."""
    code = 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2); ' \
           'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)'
    return int(subprocess.run([sys.executable, '-c', code, MPITRACE, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def bounded(t, directory):
    """Two million events: a data base takes little memory beside that of reading."""
    trace, out = directory + '/long', directory + '/long.out'
    subprocess.run([os.environ['GENERATE'], '--pattern', 'halo', '--ranks', '256', '--nodes', '8', '--events-per-rank', '8000', '-o', trace],
                   check=True, stdout=subprocess.DEVNULL)
    run('analyze', trace, '-o', trace + '.mpix')
    used = {to: peak('export', trace + '.mpix', '--to', to, '-o', out) for to in ('folded', 'sqlite')}
    t.check('sqlite: memory does not grow with the number of events', used['sqlite'] < used['folded'] + 120 and used['sqlite'] < 256, used)
    os.unlink(out)


def choices(t, trace):
    events = [e for e in trace.events if e['rank'] in (1, 2)]
    path, said = trace.export('csv', '--ranks', '1-2')
    t.equal('--ranks chooses', (said['events'], said['not_chosen']['events']), (len(events), len(trace.events) - len(events)))
    t.equal('--ranks: messages have both ends there', {int(m[k]) for m in rows(path, 'messages') for k in ('src', 'dst')} - {1, 2}, set())
    middle = sorted(e['start_s'] for e in trace.events)[len(trace.events) // 2]
    _, said = trace.export('csv', '--since', '%.9f' % middle)
    t.equal('--since chooses', said['events'], sum(1 for e in trace.events if ns(e['end_s']) > ns(middle) or ns(e['start_s']) >= ns(middle)))
    _, until = trace.export('csv', '--until', '%.9f' % middle)
    t.equal('--until chooses', until['events'], sum(1 for e in trace.events if ns(e['start_s']) < ns(middle)))
    for to in all_formats():
        _, said = trace.export(to, '--since', '8000000', *TABLES.get(to, []))
        t.equal(to + ' of nothing', (said['events'], said['messages']), (0, 0))
    for to in all_formats():
        _, said = trace.export(to, '--ranks', '0', *TABLES.get(to, []))
        t.equal(to + ' of one rank', said['events'], sum(1 for e in trace.events if e['rank'] == 0))


def generated(t, directory):
    """Several windows, so that notes on calls pass from one to another."""
    subprocess.run([os.environ['GENERATE'], '--pattern', 'irregular', '--ranks', '20', '--nodes', '3', '--events-per-rank', '2500', '-o',
                    directory + '/irregular'], check=True, stdout=subprocess.DEVNULL)
    run('analyze', directory + '/irregular', '-o', directory + '/irregular.mpix')
    trace = Trace(directory + '/irregular.mpix', directory)
    for check in CHECKS: # it has no functions, only addresses
        check(t, 'irregular, ', trace) if check is not check_folded else folded_weights(t, 'irregular, ', trace, even=True)
    for claims in (mistakes, choices, to_standard_output, damaged):
        claims(t, trace)


def too_many(t, directory):
    """Viewers of Chrome's format keep all of it in memory: what is chosen is counted, not what there is."""
    subprocess.run([os.environ['GENERATE'], '--pattern', 'self', '--ranks', '8', '--nodes', '1', '--events-per-rank', '130000', '-o',
                    directory + '/self'], check=True, stdout=subprocess.DEVNULL)
    run('analyze', directory + '/self', '-o', directory + '/self.mpix')
    to = [directory + '/self.mpix', '--to', 'chrome', '-o', directory + '/self.json']
    refused(t, 'chrome: too many events are refused', to, '--to perfetto', code=2)
    said = json.loads(run('export', *to, '--ranks', '3', '--json').stdout)
    killed(t, directory + '/self.mpix', directory)
    t.check('chrome: those of one rank are not too many', said['events'] >= 130000, said)


def traced(t):
    with Place(FLAVOURS[0]) as place:
        for source, flags in PROGRAMS:
            name = source[:-2]
            program = place.compile(source, *flags)
            done = place.traced(RANKS, program, *([place.dir] if name == 'counts_io' else []), name=name)
            if done.returncode != 0 and name != 'multiple':
                t.check(name + ' runs', False, done.stderr)
            trace = Trace('%s/out/%s.mpix' % (place.dir, name), place.dir)
            for check in CHECKS:
                check(t, name + ', ', trace)
            if name == 'counts_p2p':
                full_disk(t, trace)
        callers(t, place)
        shapes(t, place)
        never_ended(t, place)
        too_many(t, place.dir)
        many_ranks(t, place.dir)
        bounded(t, place.dir)


def main():
    t = Tests()
    if sys.argv[1:] == ['generated']:
        with tempfile.TemporaryDirectory(prefix='mpitrace-export-') as directory:
            generated(t, directory)
    else:
        traced(t)
    t.end()


main()
