#!/usr/bin/env python3
"""fleet_pages.py - a year of a machine: planted slow nodes and changed programs are found and no others; pages hold what the database holds and
nothing that runs; questions only read. Environment: MAKE_FLEET, MPITRACE."""
import base64
import calendar
import csv
import glob
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time

from fleet_tool import ask, fleet, lines, made
from trace import MPITRACE, Tests

JOBS = 20000
EVIL = '<script>alert(1)</script>"\'&'


def named(text, names):
    """Those of the names that are words of the text; whether it is in there at all is found much sooner."""
    return {x for x in names if x in text and re.search(r'\b%s\b' % re.escape(x), text)}


def pages(t, place, db):
    out = place + '/pages'
    run = fleet('report', '--db', db, '-o', out, '--days', '3', '--jobs', '50')
    names = os.listdir(out)
    t.check('the report is made', run.returncode == 0 and run.stderr == '', run)
    t.check('with its pages', {'index.html', 'programs.html', 'users.html', 'nodes.html', 'jobs.html', 'nodes.csv', 'jobs.json'} <= set(names), names[:20])
    texts = {n: open('%s/%s' % (out, n), encoding='utf-8').read() for n in names if n.endswith('.html')}
    gone = {(n, x) for n, text in texts.items() for x in re.findall(r'href="([^"#:]+)(?:#[^"]*)?"', text) if x not in names}
    t.equal('each link leads to a page', sorted(gone)[:5], [])
    bad = []
    for name, text in texts.items():
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
        for tag, rule in (('style', 'style-src'), ('script', 'script-src')):
            for body in re.findall(r'<%s>(.*?)</%s>' % (tag, tag), text, re.S):
                digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
                if "'sha256-%s'" % digest not in policy.split(rule, 1)[1].split(';')[0]:
                    bad.append((name, tag))
        if re.search(r'<script[ >](?!")', text) and text.count('<script') > 1 or "default-src 'none'" not in policy or ' onclick' in text or 'style="' in text:
            bad.append(name)
    t.equal('nothing runs or applies but what the policy names', bad[:5], [])
    total = ask(db, 'select total(core_hours) as h, count(*) as n from jobs')[0]
    t.check('the overview has the sum of all', '%.3g million' % (total['h'] / 1e6) in texts['index.html'] and '{:,}'.format(total['n']) in texts['index.html'], total)
    rows = list(csv.DictReader(io.StringIO(open(out + '/programs.csv', encoding='utf-8', newline='').read())))
    t.check('the table of programs adds up to it', abs(sum(float(r['core_hours']) for r in rows) - total['h']) < 1e-3 * total['h'], rows[:2])
    t.check('CSV and JSON are the same', len(json.load(open(out + '/programs.json'))) == len(rows))
    users = [n for n in names if n.startswith('user-')]
    names_of = {r['name'] for r in ask(db, 'select name from names where kind=1')}
    mixed = [n for n in users[:40] if len(named(texts[n], names_of)) != 1]
    t.equal("a user's page names no other user", mixed, [])
    run = fleet('report', '--db', db, '-o', out, '--days', '3', '--jobs', '50', '--timing')
    slow = [x for x in run.stderr.splitlines() if float(x.split()[-2]) > 10]
    t.equal('again: the same pages', (run.returncode, sorted(os.listdir(out)), slow), (0, sorted(names), []))
    shutil.rmtree(out)


def own_pages(t, place, db):
    """What is given to a user holds their own jobs, and nobody else's name, day or number."""
    out = place + '/own'
    users = [r['name'] for r in ask(db, 'select name from names where kind=1')]
    user = ask(db, 'select user from job_list group by user order by count(*) desc limit 1')[0]['user']
    jobs = {str(r['job']) for r in ask(db, "select job from job_list where user='%s'" % user)}
    run = fleet('report', '--db', db, '-o', out, '--user', user, '--jobs', '20')
    texts = {n: open(os.path.join(out, n), encoding='utf-8').read() for n in sorted(os.listdir(out))}
    t.check('pages of one user', run.returncode == 0 and len([n for n in texts if n.startswith('job-')]) == 20 and 'index.html' in texts, (run, list(texts)))
    others = [(n, u) for n, x in texts.items() for u in named(x, users) if u != user]
    t.equal('name nobody else', others[:5], [])
    shown = {r['job'] for r in csv.DictReader(io.StringIO(texts['jobs.csv']))}
    t.equal('and the data are their jobs', shown, jobs)
    led = {x for text in texts.values() for x in re.findall(r'href="([^"#:]+)"', text)}
    t.equal('no link leads to what was not written', sorted(led - set(texts)), [])
    run = fleet('report', '--db', db, '-o', out + '2', '--user', 'nobody-here')
    t.check('a user without jobs is an error', run.returncode == 3 and 'nobody-here' in run.stderr and not glob.glob(out + '2/*'), run)
    shutil.rmtree(out)


def anybody(t, place, db):
    """Figures for anybody: each number is of so many users, and nobody is named."""
    out, least = place + '/public', 5
    run = fleet('report', '--db', db, '--public', str(least), '-o', out)
    t.equal('figures for anybody are a page and its data', (run.returncode, run.stderr, sorted(os.listdir(out))), (0, '', ['figures.csv', 'figures.json', 'index.html']))
    cells, users = {}, {}
    records = [json.loads(x) for x in lines(place + '/year.ndjson')]
    day = lambda r: calendar.timegm(time.strptime(r['start'][:10], '%Y-%m-%d')) // 86400
    for r in records:
        key = time.strftime('%Y-%m-%d', time.gmtime(day(r) // 7 * 7 * 86400)), os.path.basename(r['program'])
        cells[key] = cells.get(key, 0) + r['core_hours']
        users.setdefault(key, set()).add(r['user'])
    shown = {(r['week'], r['program']): float(r['core_hours']) for r in csv.DictReader(io.StringIO(open(out + '/figures.csv', newline='').read()))}
    weeks = {w for w, _ in shown}
    others = {w: [k for k in cells if k[0] == w and k not in shown] for w in weeks}
    t.check('it has weeks, programs and others', len(weeks) > 40 and len({p for _, p in shown}) > 10 and (sorted(weeks)[3], '') in shown, len(shown))
    t.equal('each program in a week is of enough users', [k for k in shown if k[1] and len(users[k]) < least], [])
    t.equal('so are the others', [w for w in weeks if others[w] and ((w, '') in shown) != (len(set().union(*(users[k] for k in others[w]))) >= least)], [])
    wrong = [k for k, hours in shown.items() if abs(hours - (cells[k] if k[1] else sum(cells[x] for x in others[k[0]]))) > 1e-3 * hours]
    t.equal('and the numbers are theirs', wrong, [])
    text = ''.join(open(out + '/' + name, encoding='utf-8').read() for name in os.listdir(out))
    named = {str(r[k]) for r in records[:2000] for k in ('user', 'account', 'id', 'program')} | {'nodes.html', 'users.html'}
    t.equal('nobody is named', sorted(x for x in named if x in text)[:5], [])
    run = fleet('report', '--db', db, '--public', '1000', '-o', out)
    t.check('of fewer users there is nothing', run.returncode == 0 and 'too few users' in open(out + '/index.html').read() and len(lines(out + '/figures.csv')) == 1, run)
    few = [dict(records[0], id='p%d' % i, user='u%d' % i, program='/a/x' if i < 5 else '/a/y', start='2025-03-0%dT00:00:00Z' % (i % 5 + 1)) for i in range(6)]
    fleet('ingest', '-', '--db', place + '/few.db', input='\n'.join(map(json.dumps, few + [dict(few[0], id='end', start='2025-04-01T00:00:00Z')])))
    fleet('report', '--db', place + '/few.db', '--public', '5', '-o', out)
    got = [(r['program'], int(r['jobs'])) for r in csv.DictReader(io.StringIO(open(out + '/figures.csv', newline='').read()))]
    t.equal('one user beside five is no others of one', got, [('', 6)])
    differing(t, place, records[0])
    for words in (('--public', '1'), ('--public', 'x'), ('--public', '5', '--user', 'user001')):
        t.equal('%s: wrong use' % (words,), fleet('report', '--db', db, '-o', out, *words).returncode, 2)
    shutil.rmtree(out)


def differing(t, place, of):
    """What lies between two pages of a week would be one user's: there is nothing."""
    db, out = place + '/differing.db', place + '/public'
    job = lambda i, user, day, **more: dict(of, id='d%d' % i, user=user, program='/a/x', start=day + 'T00:00:00Z', **more)

    def shown(least, *records):
        if records:
            fleet('ingest', '-', '--db', db, input='\n'.join(map(json.dumps, records)))
        run = fleet('report', '--db', db, '--public', str(least), '-o', out)
        assert run.returncode == 0, run
        return [(r['week'], r['program'], int(r['jobs'])) for r in json.load(open(out + '/figures.json'))]

    first = [job(i, 'u%d' % i, '2025-03-0%d' % (i + 1)) for i in range(5)] + [job(5, 'u0', '2025-03-06'), job(6, 'u0', '2025-03-12')]
    t.equal('no figures of a week before the one behind it has ended, when jobs that ran on have left records', shown(5, *first), [])
    before = shown(5, job(7, 'u0', '2025-03-13'))
    t.equal('then they are there', before, [('2025-02-27', 'x', 5)])
    t.equal('a record that comes late is no difference between two pages', shown(5, job(8, 'u9', '2025-03-05')), before)
    fleet('forget', '--user', 'u4', '--db', db)
    t.equal('nor is a user who was forgotten', shown(5), before)
    t.equal('of more users than that week was written for there is nothing', shown(6), [])
    t.equal('and for fewer it is as it was', shown(2), before)


def judged(t, db, truth):
    suspected = {r['node']: r for r in ask(db, 'select * from node_list where suspected')}
    slow = truth['slow']
    t.check('at least 19 of 20 slow nodes are found', len(set(suspected) & set(slow)) >= 19, sorted(set(slow) - set(suspected)))
    t.check('and at most one in a thousand others', len(set(suspected) - set(slow)) <= 5, sorted(set(suspected) - set(slow)))
    off = [(n, slow[n], r['effect']) for n, r in suspected.items() if n in slow and abs(r['effect'] - slow[n]) > 0.012]
    t.equal('by how much is told', off, [])
    worse = {}
    for c in ask(db, 'select * from change_list where change < 0'):
        worse.setdefault(c['program'], []).append(c)
    t.equal('the three programs that became worse are named, and no other', sorted(worse), sorted(truth['regressions']))
    for program, planted in truth['regressions'].items():
        found = min(worse.get(program, [{'day': '1970-01-01', 'change': 0}]), key=lambda c: c['change'])
        day = time.strftime('%Y-%m-%d', time.gmtime(planted['day'] * 86400))
        days = abs(time.mktime(time.strptime(found['day'], '%Y-%m-%d')) - time.mktime(time.strptime(day, '%Y-%m-%d'))) / 86400
        t.check('%s: since when' % os.path.basename(program), days <= 7, (found, day))
        t.check('%s: by how much' % os.path.basename(program), abs(1 + found['change'] - planted['to']) < 0.03, (found, planted))


def masters(t, place):
    """A master on rank 0's node, in every job on the same node, is no slow node."""
    path, db = place + '/masters.ndjson', place + '/masters.db'
    with open(path, 'w') as f:
        for i, line in enumerate(lines(place + '/year.ndjson')[:4000]):
            r = json.loads(line)
            noise = ((i * 7919) % 101 - 50) / 5000
            r.update(id='m%d' % i, program='/apps/master', nodes=4, nodelist='n[%05d-%05d]' % (4 * (i % 200), 4 * (i % 200) + 3),
                     deviation=[0.3 + noise, -0.1, -0.1 - noise, -0.1], nodes_left_out=0)
            f.write(json.dumps(r) + '\n')
    fleet('ingest', path, '--db', db)
    run = fleet('report', '--db', db, '-o', place + '/masters')
    t.equal('masters are no slow nodes', (run.returncode, ask(db, 'select * from node_list where suspected')), (0, []))
    shutil.rmtree(place + '/masters')


def hostile(t, place):
    db, out = place + '/evil.db', place + '/evil'
    r = json.loads(lines(place + '/few.ndjson')[0])
    for key in ('user', 'account', 'program', 'build_id', 'cluster', 'job_id', 'partition'):
        r[key] = EVIL
    r['report'] = '/"><script>alert(2)</script>'
    r['versions'] = {'mpi': EVIL}
    r['issues'] = [{'issue': EVIL, 'severity': 'high', 'loss_core_hours': 1, 'what': EVIL}]
    r['callsites'] = [{'op': EVIL, 'function': EVIL, 'file': EVIL}]
    r['operations'] = [{'op': EVIL}]
    fleet('ingest', '-', '--db', db, input=json.dumps(r))
    run = fleet('report', '--db', db, '-o', out)
    text = ''.join(open(x, encoding='utf-8').read() for x in glob.glob(out + '/*.html'))
    t.check('names are only text', run.returncode == 0 and 'alert(1)&lt;/script' in text and '<script>alert' not in text, run)
    run = fleet('query', "select 'a' || char(27) || '[31m'", '--db', db)
    t.check('and reach no terminal as more than text', '\x1b' not in run.stdout, run)
    shutil.rmtree(out)


def only_read(t, place, db):
    """Who may write neither the file nor its directory can ask, also while records come in."""
    if os.geteuid() != 0:
        print('# not root: not tried as somebody who may only read')
        return
    os.chmod(place, 0o755)
    os.mkdir(place + '/read')
    own = place + '/read/f.db'
    fleet('ingest', place + '/few.ndjson', '--db', own)
    for path in glob.glob(own + '*'):
        os.chmod(path, 0o644)
    somebody = {'user': 65534, 'group': 65534, 'extra_groups': [], 'cwd': '/'}
    try:
        subprocess.run([MPITRACE, '--version'], capture_output=True, check=True, **somebody)
    except (OSError, subprocess.CalledProcessError):
        print('# nobody may not run this build: not tried as somebody who may only read')
        return
    run = fleet('query', 'select count(*) as n from jobs', '--db', own, '--csv', **somebody)
    t.equal('who may only read can ask', (run.returncode, run.stdout.split()), (0, ['n', '4']))
    run = fleet('ingest', place + '/few.ndjson', '--db', own, **somebody)
    t.check('and changes nothing', run.returncode == 3 and 'f.db' in run.stderr, run)
    with sqlite3.connect(own) as c: # what a writer has not put back yet
        c.execute('update jobs set ranks=4711')
        c.commit()
        run = fleet('query', 'select distinct ranks as n from jobs', '--db', own, '--csv', **somebody)
        t.equal('and sees what has come in', (run.returncode, run.stdout.split()), (0, ['n', '4711']))


def questions(t, place, db):
    for sql in ('delete from jobs', 'drop table jobs', "attach '%s/new.db' as x" % place, 'pragma user_version=9', 'vacuum', 'create table x(a)',
                'select 1; delete from jobs', "insert into names values(1,1,'x')", ''):
        run = fleet('query', sql, '--db', db)
        t.check('"%s" is refused' % sql[:20], run.returncode == 3 and run.stderr, run)
    t.check('and nothing was made', not os.path.exists(place + '/new.db'))
    run = fleet('query', "select 'a,b' as x, 'say \"no\"' as y, null as z", '--db', db, '--csv')
    t.equal('CSV is quoted', run.stdout, 'x,y,z\n"a,b","say ""no""",\n')
    run = fleet('query', "select '=1+1' as a, -1 as b, 'x' || char(27) || '[31m' as c, '-1' as d", '--db', db, '--csv')
    t.equal('in CSV no text is a formula or commands a terminal; numbers stay', run.stdout, "a,b,c,d\n'=1+1,-1,x?[31m,'-1\n")
    newer = place + '/newer.db'
    shutil.copy(db, newer)
    with sqlite3.connect(newer) as c:
        c.execute('pragma user_version=99')
    run = fleet('ingest', place + '/few.ndjson', '--db', newer)
    t.check('a newer database is not touched', run.returncode == 3 and '99' in run.stderr, run)
    with sqlite3.connect(newer) as c:
        c.execute('pragma user_version=%d' % sqlite3.connect(db).execute('pragma user_version').fetchone()[0])
        c.execute('update days set core_hours=core_hours+1')
    run = fleet('check', '--db', newer)
    t.check('sums that are not those of the jobs are noticed', run.returncode == 3 and 'add up' in run.stderr, run)
    size = os.path.getsize(newer)
    with open(newer, 'r+b') as f:
        f.seek(size // 2)
        f.write(b'\xff' * 20000)
    run = fleet('check', '--db', newer)
    t.check('damage is noticed', run.returncode == 3, run)


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as place:
        db = place + '/year.db'
        made(place + '/few.ndjson', 4)
        made(place + '/year.ndjson', JOBS, '--truth', place + '/truth.json')
        fleet('ingest', place + '/year.ndjson', '--db', db)
        pages(t, place, db)
        own_pages(t, place, db)
        anybody(t, place, db)
        with open(place + '/truth.json', encoding='utf-8') as f:
            judged(t, db, json.load(f))
        masters(t, place)
        hostile(t, place)
        only_read(t, place, db)
        questions(t, place, db)
    t.end()


main()
