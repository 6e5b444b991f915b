#!/usr/bin/env python3
"""fleet_links.py - jobs that wait because of others on their switch, and a switch on which all wait, are found where they were planted, with the jobs
that show it; nights that are busy, programs that only run at the same hours, and chance are not. Environment: MAKE_FLEET, MPITRACE."""
import contextlib
import copy
import json
import random
import sqlite3
import subprocess
import tempfile
import time

from publishing import records
from trace import MPITRACE, Tests

SWITCHES, NODES_EACH, DAYS = 6, 8, 42
TOPOLOGY = '# leaves\n' + ''.join('SwitchName=leaf%d Nodes=n[%02d-%02d] # LinkSpeed\n' % (s, s * NODES_EACH, s * NODES_EACH + NODES_EACH - 1)
                                  for s in range(SWITCHES)) + 'SwitchName=spine Switches=leaf[0-5]\n'
FIRST = int(time.time()) // 86400 * 86400 - (DAYS + 1) * 86400


def job(template, n, user, program, switch, start, elapsed, mpi, rng):
    """One on three nodes of a switch."""
    first = switch * NODES_EACH + rng.randrange(NODES_EACH - 2)
    r = copy.deepcopy(template)
    mpi = min(0.95, max(0.01, mpi + rng.gauss(0, 0.02)))
    r.update(id='c:%d.0:0' % n, job_id=str(n), user=user, account=user, program='/sw/' + program, nodes=3, ranks=12, elapsed_s=elapsed, hung_s=0,
             hung_core_hours=0, core_hours=12 * elapsed / 3600, nodelist='n[%02d-%02d]' % (first, first + 2), deviation=[0.0, 0.0, 0.0],
             start=time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(start)), end=None, issues=[], share={'useful': 1 - mpi, 'mpi': mpi, 'wait': mpi / 2})
    r['coverage']['complete'] = True
    return r


def history(seed, beside=0.0, slow_switch=0.0, same_hours=False, since=0, until=DAYS):
    """Six weeks. solver of alice waits while mesh runs on its switch, by `beside`; all wait on leaf4, from day `since` to `until`; solver and mesh may
    have the same busy hours."""
    rng, template, made = random.Random(seed), records(1)[0], []
    for day in range(DAYS):
        for quarter in range(4):
            begin, busy = FIRST + day * 86400 + quarter * 21600, quarter in (1, 2)
            aggressors = [s for s in range(SWITCHES) if rng.random() < ((0.7 if busy else 0.1) if same_hours else 0.35)]
            for s in aggressors:
                made.append((s, begin + rng.randrange(600), 14400, 'bob', 'mesh', 0.2))
            for user, program, level in (('alice', 'solver', 0.3), ('carol', 'waves', 0.25), ('dave', 'chem', 0.15)):
                for _ in range(4):
                    s, start = rng.randrange(SWITCHES), begin + 900 + rng.randrange(3600)
                    mpi = level + 0.1 * (same_hours and busy) + 0.05 * rng.random() * (day % 7 in (0, 6)) + slow_switch * (s == 4 and since <= day < until)
                    mpi += beside * (program == 'solver' and s in aggressors and since <= day < until)
                    made.append((s, start, 3600 + rng.randrange(5400), user, program, mpi))
    return [job(template, 1000 + n, user, program, s, start, elapsed, mpi, rng) for n, (s, start, elapsed, user, program, mpi) in enumerate(made)]


def fleet(*words, **more):
    return subprocess.run([MPITRACE, 'fleet', *words], capture_output=True, text=True, timeout=120, **more)


def found(t, place, name, topology=True, **how):
    db, path = '%s/%s.db' % (place, name), '%s/%s.ndjson' % (place, name)
    with open(path, 'w') as f:
        f.writelines(json.dumps(r) + '\n' for r in history(**how))
    words = ('--topology', place + '/topology.conf') if topology else ()
    run = fleet('ingest', path, '--db', db, *words)
    t.equal('%s: all records come in' % name, (run.returncode, run.stderr), (0, ''))
    run = fleet('report', '--db', db, '-o', '%s/%s' % (place, name))
    t.equal('%s: pages are made' % name, (run.returncode, run.stderr), (0, ''))
    rows = json.loads(fleet('query', 'select * from link_list', '--db', db, '--json').stdout)
    with open('%s/%s/nodes.html' % (place, name)) as f:
        return db, rows, f.read()


def planted(t, place):
    db, rows, page = found(t, place, 'beside', seed=1, beside=0.12)
    t.equal('who waits beside whom', [(r['switch'], r['program'], r['user'], r['beside']) for r in rows], [('', '/sw/solver', 'alice', '/sw/mesh')])
    t.check('by how much, how sure, shown by how many jobs of how many days', rows and 0.09 < rows[0]['effect'] < 0.15 and rows[0]['q'] < 1e-3 and rows[0]['jobs'] > 50
            and rows[0]['jobs_without'] > 50 and rows[0]['days'] > 20 and rows[0]['core_hours_at_most'] > 0, rows)
    t.check('the page of nodes has it', 'solver' in page and 'mesh' in page and 'more of their time in MPI' in page, page[-3000:])
    said = json.loads(fleet('monday', '--db', db, '--json', '--until', time.strftime('%Y-%m-%d', time.gmtime(FIRST + (DAYS - 7) * 86400))).stdout)
    links = [s for s in said['sentences'] if s['kind'] == 'link']
    t.check('Monday says it, to who runs the machine', len(links) == 1 and 'solver of alice beside mesh' in links[0]['text'] and len(said['sentences']) <= 10, said['sentences'])
    _, rows, page = found(t, place, 'switch', seed=2, slow_switch=0.12)
    t.equal('a switch on which all wait', [(r['switch'], r['beside']) for r in rows], [('leaf4', '')])
    t.check('its page has it', 'leaf4' in page, page[-3000:])


def over_time(t, place):
    """Bad since a day, and repaired."""
    day = lambda n: time.strftime('%Y-%m-%d', time.gmtime(FIRST + n * 86400))
    for name, how in (('leaf4', dict(slow_switch=0.12)), ('solver', dict(beside=0.12))):
        db, rows, page = found(t, place, name + '-since', seed=21, since=30, **how)
        t.equal('%s, since the day on which it became so' % name, [(r['switch'] or r['program'][4:], day(29) <= (r['since'] or '')[:10] <= day(31), r['since_low'] <= day(30) + ' 12' and r['since_high'] >= day(30)) for r in rows if r['since']],
                [(name, True, True)])
        t.equal('%s: nothing else' % name, len(rows), 1)
        t.check('%s: by how much since then, and before' % name, 0.09 < rows[0]['effect'] < 0.15 and abs(rows[0]['before']) < 0.03 and rows[0]['change_p'] < 0.01 and rows[0]['days'] <= 13, rows)
        t.check('%s: the page says since when' % name, 'before: ' in page and rows[0]['since'][:10] in page.replace('\u00a0', ' '), page[-3000:])
        pairs = json.loads(fleet('query', "select j.program as a, k.program as b, j.user=k.user as same, j.start>='%s' as late, k.useful-j.useful as more, j.job as job from link_jobs x join job_list j on j.id=x.job join job_list k on k.id=x.other" % day(29), '--db', db, '--json').stdout)
        t.check('%s: jobs that show it, of one program and user, since then' % name, len(pairs) == 4 and all(p['a'] == p['b'] and p['same'] and p['late'] and p['more'] > 0.1 for p in pairs), pairs)
        t.check('%s: each on the page' % name, all('>%s</a>' % p['job'] in page for p in pairs) and page.count('job with it') == 1, page[-3000:])
        said = json.loads(fleet('monday', '--db', db, '--json', '--until', day(DAYS - 1)).stdout)
        text = ' '.join(s['text'] for s in said['sentences'] if s['kind'] == 'link')
        t.check('%s: so does Monday' % name, 'MPI since %s' % rows[0]['since'][:10] in text, text)
        hours = json.loads(fleet('query', 'select min(day) as first from link_days', '--db', db, '--json').stdout)
        t.check('%s: days before it cost nothing' % name, hours[0]['first'] >= FIRST // 86400 + 28, hours)
        run = fleet('forget', '--user', 'alice', '--db', db)
        with contextlib.closing(sqlite3.connect(db)) as f: # a question would judge again
            ask = lambda sql: f.execute(sql).fetchone()[0]
            left = ask("select count(*) from links l where not exists (select 1 from jobs j where j.user=l.user or l.user=0)"), ask(
                "select count(*) from link_jobs where job not in (select id from jobs) or other not in (select id from jobs)")
        t.equal('%s: who is forgotten shows nothing any more' % name, (run.returncode, left), (0, (0, 0)))
        _, rows, _ = found(t, place, name + '-repaired', seed=22, until=24, **how)
        t.equal('%s: when it has been repaired it is not named' % name, rows, [])


def quiet(t, place):
    wrong = []
    for seed in range(3, 9):
        wrong += [(seed, r['switch'], r['program'], r['beside'], r['effect'], r['q']) for r in found(t, place, 'quiet%d' % seed, seed=seed)[1]]
    t.equal('nothing is found in six histories of which nothing was planted', wrong, [])
    _, rows, page = found(t, place, 'hours', seed=11, same_hours=True)
    t.equal('nor of two programs that have the same busy hours', rows, [])
    t.check('the page has no such table then', 'more of their time in MPI' not in page, page[-2000:])
    _, rows, _ = found(t, place, 'unknown', topology=False, seed=1, beside=0.12)
    t.equal('without switches nothing can be said', rows, [])


def wrong(t, place):
    for text, why in (('', 'no switch'), ('SwitchName=a Nodes=n[1-', 'no list'), (None, 'No such file')):
        path = place + '/wrong.conf'
        if text is not None:
            with open(path, 'w') as f:
                f.write(text)
        run = fleet('ingest', '--topology', path if text is not None else path + '.none', '--db', place + '/wrong.db')
        t.check('what is no topology.conf is said: ' + why, run.returncode == 3 and why in run.stderr, run)


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as place:
        with open(place + '/topology.conf', 'w') as f:
            f.write(TOPOLOGY)
        planted(t, place)
        over_time(t, place)
        quiet(t, place)
        wrong(t, place)
    t.end()


main()
