#!/usr/bin/env python3
"""fleet_retention.py - single jobs go after a time and all sums stay, whatever comes late, whoever is forgotten and wherever it is killed; pages say
from when on single jobs are there. Environment: MAKE_FLEET, MPITRACE."""
import datetime
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time

from publishing import each_in_its_place, records
from trace import MPITRACE, Tests

FROM = '2025-07-01'
KEEP = str((datetime.datetime.now(datetime.timezone.utc).date() - datetime.date.fromisoformat(FROM)).days)
SUMS = {'days': 'day, program, user, account', 'causes': 'day, issue', 'outcomes': 'day, outcome', 'day_sums': 'day', 'weeks': 'name, week',
        'user_programs': 'user, program', 'program_ranks': 'program, ranks', 'program_versions': 'program, build, mpi, first, last'}


def fleet(*words, **more):
    return subprocess.run([MPITRACE, 'fleet', *words], capture_output=True, text=True, **more)


def ask(db, sql):
    run = fleet('query', sql, '--db', db, '--json')
    assert run.returncode == 0, run
    return json.loads(run.stdout)


def put(db, some, *words):
    return fleet('ingest', '-', '--db', db, *words, input=''.join(json.dumps(r) + '\n' for r in some))


def named(column):
    """Names in place of their numbers, which differ from file to file."""
    of = {'program', 'user', 'account', 'issue', 'build', 'mpi', 'name'}
    return '(SELECT n.kind||n.name FROM names n WHERE n.id=t.%s) AS %s' % (column, column) if column in of else column


def sums(db, place):
    """All sums of a database, rounded, since they are added up in another order."""
    fleet('report', '--db', db, '-o', place + '/pages', '--jobs', '1', '--days', '1')
    out = {}
    for table, keys in SUMS.items():
        values = {'days': ['jobs', 'core_hours', 'useful', 'mpi', 'wait', 'loss', 'not_known'], 'causes': ['jobs', 'loss'], 'outcomes': ['jobs', 'core_hours', 'hung'],
                  'program_ranks': ['jobs', 'core_hours', 'parallel'], 'program_versions': ['jobs', 'core_hours', 'parallel']}.get(table, ['jobs', 'core_hours', 'useful', 'loss', 'not_known'])
        rows = ask(db, 'select %s, %s from %s t where jobs>0' % (', '.join(named(k) for k in keys.split(', ')), ', '.join('round(%s, 4) as %s' % (v, v) for v in values), table))
        out[table] = sorted([tuple((0 if v == 0 else v) for v in r.values()) for r in rows], key=str)
    return out


def same(t, claim, got, want):
    for table in want:
        t.check('%s: %s' % (claim, table), len(want[table]) > 5 and got[table] == want[table],
                ([x for x in got[table] if x not in want[table]][:5], [x for x in want[table] if x not in got[table]][:5]))


def test_sums_stay(t, place, all_records):
    a, b = place + '/a.db', place + '/b.db'
    put(a, all_records)
    shutil.copy(a, b)
    want, later = sums(b, place), [r for r in all_records if r['start'] >= FROM]
    run = fleet('prune', '--keep', KEEP, '--db', a)
    t.equal('older jobs go', (run.returncode, run.stdout), (0, '{:,} jobs pruned\n'.format(len(all_records) - len(later))))
    t.equal('with their records and nodes', [r['n'] for r in ask(a, 'select count(*) as n from jobs union all select count(*) from records union all select count(*) from runs where job not in (select id from jobs)')],
            [len(later), len(later), 0])
    same(t, 'sums are what they were', sums(a, place), want)
    run = fleet('check', '--db', a)
    t.check('the file is whole, and says how many went', run.returncode == 0 and '{:,} jobs, {:,} pruned'.format(len(later), len(all_records) - len(later)) in run.stdout, run)
    run = put(a, all_records)
    t.equal('what comes late is counted', (run.returncode, run.stdout),
            (0, '0 records added, 0 replaced, %d known already, 0 left out, %d too late: the jobs of their day have been pruned\n' % (len(later), len(all_records) - len(later))))
    same(t, 'and in no sum twice', sums(a, place), want)
    run = put(a, [dict(later[0], core_hours=later[0]['core_hours'] * 2)])
    t.check('a later record of a job that is there takes its place', '1 replaced' in run.stdout and fleet('check', '--db', a).returncode == 0, run)
    c = place + '/c.db'
    for i in range(0, len(all_records), 300):
        put(c, all_records[i:i + 300], '--keep', KEEP)
    t.check('ingest lets them go as well, and a day that was let go stays so', ask(c, 'select count(*) as n from jobs')[0]['n'] == len(later) and fleet('check', '--db', c).returncode == 0, '')
    run = fleet('monday', '--db', a, '--until', '2025-06-02')
    t.check('of a week that was let go nothing is said', run.returncode == 3 and 'have been pruned' in run.stderr, run)
    t.check('of a later one there is', 'core-hours' in fleet('monday', '--db', a, '--until', '2025-12-29').stdout, '')
    for words in (('--keep', '30'), ('--keep', 'x'), ()):
        t.equal('%s is no time to keep jobs' % (words or ('nothing',))[-1], fleet('prune', '--db', a, *words).returncode, 2)


def test_late_in_an_outbox(t, place, all_records):
    db, outbox = place + '/a.db', place + '/outbox'
    os.mkdir(outbox)
    put(db, all_records[-300:], '--keep', KEEP)
    me = subprocess.run(['id', '-un'], capture_output=True, text=True).stdout.strip()
    path = outbox + '/jlate.0123456789abcdef.job.json'
    with open(path, 'w') as f:
        json.dump(dict(next(r for r in all_records if r['start'] < FROM), user=me), f)
    os.utime(path, (time.time() - 600, time.time() - 600))
    run = fleet('ingest', outbox, '--db', db, '--remove')
    t.check('a late record leaves the outbox', '1 too late' in run.stdout and not os.path.exists(path), (run, os.listdir(outbox)))


def test_forgotten(t, place, all_records):
    """Of a user nothing stays in what was let go, and all else is as if they had never been there."""
    user = 'user002'
    some = [dict(r) for r in all_records]
    for i, r in enumerate(some):
        if r['user'] == user:
            r.update(program='/home/%s/own%d' % (user, i), account=user)
    a, b = place + '/with.db', place + '/without.db'
    put(a, some, '--keep', KEEP)
    put(b, [r for r in some if r['user'] != user], '--keep', KEEP)
    held = user.encode() in open(a, 'rb').read()
    run = fleet('forget', '--user', user, '--db', a)
    t.equal('a user is forgotten, with what was let go', (run.returncode, run.stdout), (0, '%d jobs of %s removed, 0 records set aside\n' % (sum(r['user'] == user for r in some), user)))
    t.check('nothing of them is in the file', held and user.encode() not in open(a, 'rb').read(), '')
    same(t, 'as if they had never been there', sums(a, place), sums(b, place))
    run = fleet('check', '--db', a)
    t.check('and the file is whole', run.returncode == 0 and run.stdout.split(': ')[1] == fleet('check', '--db', b).stdout.split(': ')[1], run)
    early = [dict(r, user='early') for r in some if r['start'] < FROM][:3]
    c = place + '/early.db'
    put(c, early + [r for r in some if r['start'] >= FROM], '--keep', KEEP)
    t.equal('also one who has nothing but jobs that were let go: their names are not there any more, but sums',
            fleet('forget', '--user', 'early', '--db', c).stdout, '3 jobs of early removed, 0 records set aside\n')
    t.equal('and the file is whole', fleet('check', '--db', c).returncode, 0)


def test_pages(t, place, all_records):
    a = place + '/a.db'
    put(a, all_records)
    fleet('report', '--db', a, '-o', place + '/before', '--days', '500')
    fleet('prune', '--keep', KEEP, '--db', a)
    fleet('report', '--db', a, '-o', place + '/after', '--days', '500')
    read = lambda name: open(place + '/' + name, encoding='utf-8').read()
    figures = lambda text: re.findall(r'<dd>([^<]*)</dd>', text.split('class="figures"')[1].split('</dl>')[0])
    t.equal('the first page has the same figures', figures(read('after/index.html')), figures(read('before/index.html')))
    t.check('pages with single jobs say from when on', all('are kept from %s on' % FROM in read('after/' + p) for p in ('jobs.html',)), '')
    t.check('and do not, where none went', 'are kept from' not in read('before/jobs.html'), '')
    pages = os.listdir(place + '/after')
    t.check('a day whose jobs went has no page, and no link', any(p > 'jobs-' + FROM for p in pages if p.startswith('jobs-2')) and
            not [p for p in pages if p.startswith('jobs-2') and p < 'jobs-' + FROM] and 'jobs-2025-06-' not in read('after/jobs.html') and 'jobs-2025-06-' in read('before/jobs.html'), '')
    one = next(p for p in pages if p.startswith('program-'))
    part = lambda text: re.sub(r'\s+', ' ', text.split('id="ranks"')[1].split('id="users"')[0])
    t.equal('a program has its sizes and versions of all time', part(read('after/' + one)), part(read('before/' + one)))


def test_nothing_left(t, place, all_records):
    """Pages are made of a file without jobs, whether there were some or none."""
    a = place + '/a.db'
    for what, some, words in (('none came', [], ()), ('all went', all_records[:300], ('--keep', '31'))):
        put(a, some)
        gone = fleet('prune', *words, '--db', a) if words else None
        run = fleet('report', '--db', a, '-o', place + '/' + what)
        t.equal('%s: the report is made' % what, (run.returncode, run.stderr), (0, ''))
        monday = open('%s/%s/monday.html' % (place, what), encoding='utf-8').read() if run.returncode == 0 else ''
        t.equal('%s: Monday says whether jobs were let go' % what, 'have been pruned' in monday, gone is not None)


def test_killed(t, place, all_records):
    a, b = place + '/a.db', place + '/b.db'
    put(a, all_records)
    shutil.copy(a, b)
    fleet('prune', '--keep', KEEP, '--db', b)
    dice, wrong = random.Random(4), []
    for i in range(12):
        p = subprocess.Popen([MPITRACE, 'fleet', 'prune', '--keep', KEEP, '--db', a], stdout=subprocess.DEVNULL)
        time.sleep(dice.uniform(0.002, 0.05))
        p.send_signal(signal.SIGKILL)
        p.wait()
        run = fleet('check', '--db', a)
        wrong += [run] if run.returncode != 0 else []
    t.equal('killed anywhere, the file is whole', wrong, [])
    fleet('prune', '--keep', KEEP, '--db', a)
    same(t, 'and goes on where it was', sums(a, place), sums(b, place))


def test_damage(t, place, all_records):
    """What `fleet check` is for."""
    a = place + '/a.db'
    put(a, all_records, '--keep', KEEP)
    for damage in ('UPDATE let_go SET jobs=jobs-1', 'UPDATE days SET not_known=not_known+1 WHERE day=(SELECT max(day) FROM days)', 'UPDATE let_go SET core_hours=core_hours*1.01', 'UPDATE outcomes SET jobs=jobs+1 WHERE day=(SELECT min(day) FROM outcomes)',
                   'UPDATE causes SET loss=loss+1 WHERE day=(SELECT min(day) FROM causes)', 'DELETE FROM days WHERE day=(SELECT min(day) FROM days)',
                   'DELETE FROM days WHERE day=(SELECT max(day) FROM days)'):
        shutil.copy(a, place + '/d.db')
        with sqlite3.connect(place + '/d.db') as db:
            db.execute(damage)
        db.close()
        run = fleet('check', '--db', place + '/d.db')
        t.check('check finds: ' + damage, run.returncode == 3 and 'the days add up to' in run.stderr, run)


def some_not_known():
    """Of each seventh it is not known how it spent its time."""
    return [dict(r, share=dict.fromkeys(r['share'])) if i % 7 == 0 else r for i, r in enumerate(records(3000))]


each_in_its_place(Tests(), (test_sums_stay, test_late_in_an_outbox, test_forgotten, test_pages, test_nothing_left, test_killed, test_damage), some_not_known())
