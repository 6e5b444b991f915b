#!/usr/bin/env python3
"""fleet_not_known.py - of some jobs it is not known how they spent their time: shares are of the hours of which it is, and wherever there are
others it is said how many, on pages, in tables, metrics and figures for anybody, also when jobs were let go and users forgotten.
Environment: MAKE_FLEET, MPITRACE."""
import csv
import datetime
import io
import json
import os
import re
import sqlite3
import subprocess
import time
import urllib.request

from publishing import each_in_its_place, records
from trace import MPITRACE, Tests

USERS = 5
NOTE = 'How %s of %s core-hours were spent is not known; shares are of the other %s.'


def fleet(*words, **more):
    return subprocess.run([MPITRACE, 'fleet', *words], capture_output=True, text=True, **more)


def ask(db, sql):
    return json.loads(fleet('query', sql, '--db', db, '--json').stdout)


def put(db, some, *words):
    return fleet('ingest', '-', '--db', db, *words, input=''.join(json.dumps(r) + '\n' for r in some))


def job(of, name, day, user, program, hours, share, **more):
    useful, mpi, wait = share or (None, None, None)
    return dict(of, id='nk:%s:%s:%s' % (name, day, user), job_id=name, start=day + 'T10:00:00Z', end=None, elapsed_s=3600, user=user, account='acc', program=program, core_hours=hours, ranks=2, nodes=1,
                hung_core_hours=0, hung_s=0, hours={'useful': useful and hours * useful, 'transfer': None if wait is None else hours * (mpi - wait), 'idle': 0, 'hung': 0, 'wait': {}}, share={'useful': useful, 'mpi': mpi, 'wait': wait}, issues=[], nodelist=None, deviation=None,
                efficiency=dict.fromkeys(of['efficiency'], useful), **more)


def half(of, days=('2025-03-03', '2025-03-12', '2025-03-20')):
    """Of each of half's 100 core-hours half are known, of which all are useful; of nothing's none; of all's all, of which a quarter waited."""
    out = []
    for day in days:
        for u in range(USERS):
            out += [job(of, 'a', day, 'u%d' % u, '/opt/half', 10, (1, 0, 0)), job(of, 'b', day, 'u%d' % u, '/opt/half', 10, None),
                    job(of, 'c', day, 'u%d' % u, '/opt/nothing', 4, None), job(of, 'd', day, 'u%d' % u, '/opt/all', 2, (0.5, 0.5, 0.25))]
    return out + [job(of, 'e', '2025-04-03', 'u0', '/opt/all', 2, (0.5, 0.5, 0.25))]


def plain(text):
    body = re.sub('<(style|script)>.*?</\\1>', '', text, flags=re.S)
    return re.sub(r'\s+', ' ', re.sub('[\u00a0\u202f]', ' ', re.sub('<[^>]*>', ' ', body)))


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def row_of(text, name):
    """The cells of a name's row of a table of groups, by their headings."""
    for table in re.findall(r'<table.*?</table>', text, re.S):
        heads = [plain(h).strip() for h in re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table, re.S)]
        for row in re.findall(r'<tr>(<th scope="row".*?)</tr>', table, re.S):
            cells = [plain(c).strip() for c in re.findall(r'<t[hd][^>]*>(.*?)</t[hd]>', row, re.S)]
            if cells[0] == name and 'useful' in heads:
                return dict(zip(heads, cells))
    return None


def shares(row):
    return row and tuple(row.get(k) for k in ('core-hours', 'useful', 'waiting', 'core-hours not known'))


def number(db, kind, name):
    return ask(db, "select id from names where kind=%d and name='%s'" % (kind, name))[0]['id']


def pages(db, place, *words):
    run = fleet('report', '--db', db, '-o', place, *words)
    assert run.returncode == 0, run
    return {name: read(place + '/' + name) for name in os.listdir(place)}


def sums_are(t, when, db, place):
    """All that is said of half()."""
    p = pages(db, place, '--days', '1')
    t.equal(when + ': half of a program is not known, and of the rest all was useful', shares(row_of(p['programs.html'], 'half')), ('300', '100 %', '0 %', '150'))
    t.equal(when + ': of one of which nothing is known no share is said', shares(row_of(p['programs.html'], 'nothing')), ('60', '–', '–', '60'))
    t.equal(when + ': of one of which all is known the shares are what they were', shares(row_of(p['programs.html'], 'all')), ('32', '50 %', '25 %', '0'))
    t.equal(when + ': users', shares(row_of(p['users.html'], 'u1')), ('78', '92 %', '4.2 %', '42'))
    t.equal(when + ': accounts', shares(row_of(p['users.html'], 'acc')), ('392', '91 %', '4.4 %', '210'))
    note = NOTE % (210, 392, 182)
    for name in ('index.html', 'programs.html', 'users.html', 'account-%d.html' % number(db, 2, 'acc')):
        t.check('%s: %s says how many hours are not known' % (when, name), note in plain(p[name]), plain(p[name])[:700])
    t.check(when + ': the first page divides by what is known', 'MPI took 8.8 % of 182 core-hours; 4.4 % were spent waiting for others.' in plain(p['index.html']) and '<dd>91' in p['index.html'], plain(p['index.html'])[:700])
    one = lambda kind, of, name: plain(p['%s-%d.html' % (of, number(db, kind, name))])
    t.check(when + ': so does a program', 'MPI took 0 % of its 150 core-hours; waiting was 0 %.' in one(4, 'program', '/opt/half') and NOTE % (150, 300, 150) in one(4, 'program', '/opt/half'), one(4, 'program', '/opt/half')[:700])
    t.check(when + ': and a program of which nothing is known says no share', 'How the 60 core-hours were spent is not known.' in one(4, 'program', '/opt/nothing') and 'MPI took' not in one(4, 'program', '/opt/nothing'), one(4, 'program', '/opt/nothing')[:700])
    t.check(when + ': so does a user', '; MPI took 8.3 % of the time, waiting 4.2 %. ' + NOTE % (42, 78, 36) in one(1, 'user', 'u1'), one(1, 'user', 'u1')[:700])
    t.equal(when + ': the picture of each week has what is not known', [p[name].count('<rect class="not-known" x=') > 2 for name in ('index.html', 'program-%d.html' % number(db, 4, '/opt/half'), 'account-%d.html' % number(db, 2, 'acc'))], [True] * 3)
    rows = {r['program']: (r['core_hours'], r['useful'], r['not_known']) for r in json.loads(p['programs.json'])}
    t.equal(when + ': so does the data of programs', rows, {'/opt/half': (300, 150, 150), '/opt/nothing': (60, 0, 60), '/opt/all': (32, 16, 0)})
    t.equal(when + ': of users and accounts', (sorted(r['not_known'] for r in json.loads(p['users.json'])), [float(r['not_known']) for r in csv.DictReader(io.StringIO(p['accounts.csv']))]), ([42] * USERS, [210]))
    return p


def test_no_hours(t, place, of):
    """Records that somebody has made: no core-hours, or fewer than what they were spent on."""
    db = place + '/none.db'
    some = [job(of, 'none', '2025-03-03', 'u1', '/opt/none', 1, (1, 0, 0)), job(of, 'few', '2025-03-03', 'u1', '/opt/few', 1, (1, 0.5, 0.25))]
    some[0]['core_hours'], some[1]['core_hours'] = 0, 0.5
    put(db, some)
    all_pages = pages(db, place + '/none')
    said = sorted(re.search('<h1>(.*?)</h1>', text)[1] for name, text in all_pages.items() if name.startswith('job-'))
    t.equal('shares of core-hours that somebody made up are none, or between 0 and 1', [re.sub(r'\s', ' ', x) for x in said],
            ['How the 0 core-hours were spent is not known.', 'MPI took 0 % of 0.5 core-hours; waiting was 0 %.'])


def test_shares(t, place, of):
    db = place + '/a.db'
    put(db, half(of))
    all_pages = sums_are(t, 'all are there', db, place + '/all')
    p = pages(db, place + '/public', '--public', '5')
    t.equal('figures for anybody are of what is known', shares(row_of(p['index.html'], 'half')), ('300', '100 %', '0 %', '150'))
    t.check('and say what is not', 'Of 180 core-hours 92 % were useful; MPI took 8.3 %, waiting was 4.2 %.' in plain(p['index.html']) and NOTE % (210, 390, 180) in plain(p['index.html']), plain(p['index.html'])[:700])
    t.equal('their data as well', sum(r['not_known'] for r in json.loads(p['figures.json'])), 210)
    p = pages(db, place + '/own', '--user', 'u1')
    t.check('a user by whom others stand sees their own', NOTE % (42, 78, 36) in plain(p['index.html']) and shares(row_of(p['index.html'], 'half')) == ('60', '100 %', '0 %', '30'), plain(p['index.html'])[:700])
    t.equal('their data as well', sorted(r['not_known'] for r in json.loads(p['programs.json'])), [0, 12, 30])
    t.check('the page of a job says it', any('How the 10 core-hours were spent is not known.' in plain(text) and 'MPI took' not in plain(text) for name, text in all_pages.items() if name.startswith('job-')), '')
    run = fleet('monday', '--db', db, '--until', '2025-03-10', '--json')
    t.equal('Monday says it', json.loads(run.stdout)['not_known_core_hours'], 70)
    text = ' '.join(fleet('monday', '--db', db, '--until', '2025-03-10').stdout.split())
    t.check('also in its letter', 'How 70 of 130 core-hours were spent is not known.' in text, text)
    run = fleet('check', '--db', db)
    t.equal('the sums are those of the jobs', run.returncode, 0)


def test_all_known(t, place, of):
    db = place + '/a.db'
    put(db, [r for r in half(of) if r['share']['useful'] is not None])
    said = [name for name, text in pages(db, place + '/all').items() if name.endswith('.html') and re.search('not known[;.<]|core-hours not known|class="not-known"', re.sub('<style.*?</style>', '', text, flags=re.S))]
    t.equal('where all is known nothing is said of it', said, [])


def test_nothing_known(t, place, of):
    """Also not that nothing was useful."""
    db = place + '/a.db'
    put(db, [r for r in half(of) if r['share']['useful'] is None])
    p = pages(db, place + '/all')
    t.check('where nothing is known no share is said', 'MPI took' not in plain(p['index.html']), plain(p['index.html'])[:600])
    t.check('but how many hours that are', all('How the 210 core-hours were spent is not known.' in plain(p[name]) for name in ('index.html', 'users.html', 'programs.html')), plain(p['users.html'])[:600])
    p = pages(db, place + '/public', '--public', '5')
    t.check('nor for anybody', 'Of ' not in plain(p['index.html']).split('Each number')[0], plain(p['index.html'])[:600])


def test_hung_and_idle(t, place, of):
    """What hung is known: it was waiting. What was idle is in no share, as all else of that job."""
    db = place + '/a.db'
    put(db, [job(of, 'a', '2025-03-03', 'u1', '/opt/x', 60, (0.5, 0.5, 0.25)), dict(job(of, 'b', '2025-03-03', 'u1', '/opt/x', 100, None), hung_core_hours=20, hours={'idle': 30}),
             dict(job(of, 'c', '2025-03-03', 'u1', '/opt/y', 10, None), hours={'idle': 4})])
    t.equal('what hung is known, and what was idle in no share', ask(db, 'select sum(core_hours) as a, sum(useful) as u, sum(mpi) as m, sum(wait) as w, sum(not_known) as n from days'),
            [{'a': 170, 'u': 30, 'm': 15, 'w': 35, 'n': 90}])
    p = pages(db, place + '/all')
    t.equal('shares are of the same', (shares(row_of(p['programs.html'], 'x')), shares(row_of(p['programs.html'], 'y'))), (('160', '38 %', '44 %', '80'), ('10', '–', '–', '10')))
    t.check('no share is more than all', 'MPI took 62 % of 80 core-hours; 44 % were spent waiting for others, 25 % of them hung.' in plain(p['index.html']), plain(p['index.html'])[:600])


def test_let_go(t, place, of):
    db = place + '/a.db'
    put(db, half(of))
    keep = str((datetime.datetime.now(datetime.timezone.utc).date() - datetime.date(2025, 3, 15)).days)
    run = fleet('prune', '--keep', keep, '--db', db)
    t.check('jobs of two days go', run.stdout == '{:,} jobs pruned\n'.format(2 * 4 * USERS), run)
    sums_are(t, 'when jobs were let go', db, place + '/gone')
    t.equal('the file is whole', fleet('check', '--db', db).returncode, 0)
    for u in range(1, USERS):
        fleet('forget', '--user', 'u%d' % u, '--db', db)
    t.equal('who is forgotten takes what is not known along', ask(db, 'select sum(core_hours) as a, sum(not_known) as n from days'), [{'a': 80, 'n': 42}])
    p = pages(db, place + '/forgotten')
    t.check('also from the pages', NOTE % (42, 80, 38) in plain(p['index.html']), plain(p['index.html'])[:600])
    fleet('forget', '--user', 'u0', '--db', db)
    t.equal('and the last all of it', ask(db, 'select total(not_known) as n from days union all select total(not_known) from weeks union all select total(not_known) from user_programs '
                                          'union all select total(not_known) from account_sums union all select total(not_known) from day_sums'), [{'n': 0}] * 5)


def test_replaced(t, place, of):
    """A later record knows it: nothing is left of what was not known, not even what rounding leaves."""
    db = place + '/a.db'
    some = [job(of, str(i), '2025-03-03', 'u1', '/opt/x', 0.1 * (i + 1), None) for i in range(9)]
    put(db, some)
    put(db, [dict(r, share={'useful': 0.5, 'mpi': 0.5, 'wait': 0.25}) for r in some])
    p = pages(db, place + '/all')
    t.equal('later records say how the time was spent', (shares(row_of(p['programs.html'], 'x')), 'not known' in plain(p['programs.html']).split('Programs and users whose')[0]), (('4.5', '50 %', '25 %', None), False))
    put(db, [dict(r, program='/opt/x') for r in some])
    p = pages(db, place + '/again')
    t.equal('and of which nothing is known again', shares(row_of(p['programs.html'], 'x')), ('4.5', '–', '–', '4.5'))
    t.equal('a sum that is wrong is found', [damaged(db, place, s) for s in ('UPDATE days SET not_known=not_known+1', 'UPDATE days SET not_known=0')], [3, 3])


def test_waiting_not_known(t, place, of):
    """Of a run of which only totals were recorded it is known what was useful, and not how much of MPI was waiting."""
    db = place + '/a.db'
    put(db, [job(of, str(i), '2025-03-03', 'u1', '/opt/x', 10, (0.5, 0.5, 0.25 if i < 2 else None)) for i in range(3)])
    all_pages = pages(db, place + '/all')
    t.equal('its useful time counts, and its waiting as none', shares(row_of(all_pages['programs.html'], 'x'))[:3], ('30', '50 %', '17 %'))
    said = [plain(text) for name, text in all_pages.items() if name.startswith('job-')]
    t.check('the page of the job says what is known', any('MPI took 50 % of 10 core-hours; how much of it was waiting is not known.' in text for text in said), [x[:400] for x in said])


def damaged(db, place, sql):
    with sqlite3.connect(db) as c:
        c.execute('BEGIN')
        c.execute(sql)
        c.commit()
        rc = fleet('check', '--db', db).returncode
        c.execute('UPDATE days SET not_known=core_hours')
        c.commit()
    return rc


def test_metrics(t, place, of):
    db = place + '/a.db'
    day = time.strftime('%Y-%m-%d', time.gmtime(time.time() - 2 * 86400))
    put(db, [r for r in half(of, (day,)) if r['start'].startswith(day)])
    server = subprocess.Popen([MPITRACE, 'fleet', 'serve', '--db', db], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = server.stdout.readline().strip()
    get = lambda name: urllib.request.urlopen(url + name, timeout=60).read().decode()
    value = lambda name: float(re.search(r'^mpitrace_fleet_week_%s_core_hours (\S+)$' % name, text, re.M)[1])
    text = get('metrics')
    got = tuple(value(name) for name in ('not_known', 'useful', 'waiting'))
    t.equal('metrics have what is not known', got, (70, 55, 2.5))
    t.check('pages that are served as well', NOTE % (70, 130, 60) in plain(get('index.html')), '')
    server.terminate()
    server.wait()


if __name__ == '__main__':
    each_in_its_place(Tests(), (test_no_hours, test_shares, test_all_known, test_nothing_known, test_hung_and_idle, test_let_go, test_replaced, test_waiting_not_known, test_metrics), records(1)[0])
