#!/usr/bin/env python3
"""fleet.py - all jobs of a machine: records come in once whatever is repeated, damaged or forged; planted slow nodes and changed programs
are found and no others; pages hold what the database holds and nothing that runs; questions only read. Environment: MAKE_FLEET, MPITRACE."""
import calendar
import csv
import email
import glob
import hashlib
import base64
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import contract
from trace import MPITRACE, Tests

JOBS = 20000
EVIL = '<script>alert(1)</script>"\'&'


def fleet(*words, **more):
    return subprocess.run([MPITRACE, 'fleet', *words], capture_output=True, text=True, **more)


def made(path, jobs, *options):
    with open(path, 'wb') as f:
        subprocess.run([os.environ['MAKE_FLEET'], '--jobs', str(jobs), *options], stdout=f, check=True)


def ask(db, sql):
    out = fleet('query', sql, '--db', db, '--json')
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


def lines(path):
    with open(path, encoding='utf-8') as f:
        return f.read().splitlines()


def ingest(t, place):
    db, all_of_it = place + '/a.db', place + '/all.ndjson'
    made(all_of_it, 300, '--nodes', '64', '--slow', '1')
    records = [json.loads(x) for x in lines(all_of_it)]
    t.equal('records of the generator keep the schema', [e for r in records[:40] for e in contract.errors(r, name='job')], [])
    t.check('and its size', max(map(len, lines(all_of_it))) <= 8192)
    run = fleet('ingest', all_of_it, '--db', db)
    t.equal('records come in', (run.returncode, run.stdout), (0, '300 records added, 0 replaced, 0 known already, 0 left out\n'))
    run = fleet('ingest', '-', '--db', db, input=open(all_of_it).read())
    t.equal('and once only', run.stdout, '0 records added, 0 replaced, 300 known already, 0 left out\n')
    forged = json.dumps(dict(records[8], user='mallory', core_hours=0))
    run = fleet('ingest', '-', '--db', place + '/forged.db', input=forged + '\n' + json.dumps(records[8]) + '\n' + forged)
    t.equal("a record with the id of somebody else's job is another job, whoever comes first", run.stdout, '2 records added, 0 replaced, 1 known already, 0 left out\n')
    t.equal("and each is its user's", [(r['user'], r['core_hours']) for r in ask(place + '/forged.db', 'select user, core_hours from job_list order by id')],
            [('mallory', 0), (records[8]['user'], records[8]['core_hours'])])
    run = fleet('ingest', '-', '--db', place + '/forged.db', input=json.dumps(dict(records[8], core_hours=3)))
    t.equal('also later', run.stdout, '0 records added, 1 replaced, 0 known already, 0 left out\n')
    change = dict(records[7], state='partial', core_hours=records[7]['core_hours'] * 2)
    run = fleet('ingest', '-', '--db', db, input=json.dumps(change))
    t.equal('another record of the same step takes its place', run.stdout, '0 records added, 1 replaced, 0 known already, 0 left out\n')
    got = ask(db, 'select count(*) as n, total(core_hours) as h from jobs')[0]
    t.check('once', got['n'] == 300 and abs(got['h'] - sum(r['core_hours'] for r in records) - records[7]['core_hours']) < 1e-3, got)
    t.equal('and in the sums', fleet('check', '--db', db).returncode, 0)
    for name, text in (('not JSON', '{'), ('another schema', '{"schema":"x"}'), ('no beginning', json.dumps(dict(records[0], start=None))),
                       ('no id', json.dumps(dict(records[0], id=''))), ('too long', json.dumps(dict(records[0], program='x' * 3000))),
                       ('two users', json.dumps(records[0])[:-1] + ', "us\\u0065r": "mallory"}'), ('a hole of nothing', 'null'), ('numbers that are none', '{"schema":"mpitrace/job/1","id":[],"start":1e999}')):
        run = fleet('ingest', '-', '--db', db, input=text + '\n')
        t.check('%s: left out, and said' % name, run.returncode == 4 and '1 left out' in run.stdout and 'standard input:1' in run.stderr, run)
    doubtful(t, place, records)
    odd = dict(records[0], id='odd', nodelist='n[1-99999999]', deviation=[9e99, None, 'x'], core_hours=-5, elapsed_s=1e300, ranks=-1)
    run = fleet('ingest', '-', '--db', db, input=json.dumps(odd))
    t.check('nonsense in a record harms nothing', run.returncode == 0 and ask(db, "select core_hours, ranks from jobs where key='odd'") == [{'core_hours': 0, 'ranks': 0}], run)
    run = fleet('ingest', place + '/none', '--db', db)
    t.check('a path that is not there is an error', run.returncode == 3 and 'none' in run.stderr, run)
    run = fleet('report', '--db', all_of_it, '-o', place + '/x')
    t.check('a file that is no database is refused', run.returncode == 3 and not os.path.exists(place + '/x'), run)


def doubtful(t, place, records):
    db = place + '/doubtful.db'
    past = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() - 3600))
    wrong = {'2050': '2050-01-01T00:00:00Z', 'no day': '2026-02-30T00:00:00Z', 'a leap second': '2025-01-01T00:00:60Z', 'old': '1999-01-01T00:00:00Z', 'none': None}
    odd = [dict(records[0], id=i, start=start) for i, start in wrong.items()] + [dict(records[0], id='long', start=past, elapsed_s=1e6)]
    run = fleet('ingest', '-', '--db', db, input='\n'.join(map(json.dumps, [records[1]] + odd)))
    t.check('records whose times cannot be are set aside, and counted',
            run.returncode == 4 and run.stdout == '1 record added, 0 replaced, 0 known already, 6 left out (6 because of their times)\n', run)
    fleet('ingest', '-', '--db', db, input='\n'.join(map(json.dumps, odd)))
    t.equal('once', ask(db, 'select count(*) as n from set_aside'), [{'n': 6}])
    fleet('report', '--db', db, '-o', place + '/doubtful')
    page = open(place + '/doubtful/index.html').read()
    t.check('the first page says how many', '6 records are set aside' in page and '2050' not in page, page[:2000])
    t.check('and which', '2026-02-30' in open(place + '/doubtful/set-aside.csv').read())
    run = fleet('ingest', '-', '--db', db, input=json.dumps(dict(records[0], id='2050')))
    t.equal('until a record has them right', (run.stdout, ask(db, 'select count(*) as n from set_aside')),
            ('1 record added, 0 replaced, 0 known already, 0 left out\n', [{'n': 5}]))


SACCT = '''#!/usr/bin/env python3
import json, os, sys
rows = json.load(open(os.environ['ROWS']))
if rows is None:
    sys.exit(1)
assert os.environ['SLURM_TIME_FORMAT'] == '%s'
word = lambda flag: sys.argv[sys.argv.index(flag) + 1]
for r in rows:
    if r['JobIDRaw'].split('.')[0] in word('-j').split(',') and not ('-X' in sys.argv and '.' in r['JobIDRaw']):
        print('\\x1f'.join(r.get(c, '') for c in word('-o').split(',')))
'''


def account(t, place):
    """What sacct knows of a job comes to its record. Its columns are as those of Slurm 22.05 (tests/slurm/cases_accounting.sh asks a real one)."""
    box, db, rows = place + '/accounts', place + '/accounts.db', place + '/rows.json'
    os.makedirs(box)
    os.mkdir(place + '/bin')
    with open(place + '/bin/sacct', 'w') as f:
        f.write(SACCT)
    os.chmod(place + '/bin/sacct', 0o755)
    env = dict(os.environ, PATH=place + '/bin:' + os.environ['PATH'], ROWS=rows)
    made(place + '/accounts.ndjson', 4, '--nodes', '4', '--slow', '1')
    records = [json.loads(x) for x in lines(place + '/accounts.ndjson')]
    start = int(calendar.timegm(time.strptime(records[0]['start'], '%Y-%m-%dT%H:%M:%SZ')))
    ended = str(start + 1000)
    job = {'JobIDRaw': '1', 'JobID': '12_3', 'Cluster': 'Synth', 'User': records[0]['user'], 'Account': 'proj', 'Partition': 'fat', 'QOS': 'long', 'Submit': str(start - 60),
           'Start': str(start - 5), 'End': 'Unknown', 'State': 'RUNNING', 'ExitCode': '0:0', 'NNodes': '3', 'AllocCPUS': '999', 'ReqMem': '1.50G',
           'JobName': 'a|b, "c"\n2\x1fSynth\x1fmallory'}
    step = {'JobIDRaw': '1.0', 'JobID': '12_3.0', 'Cluster': 'Synth', 'Start': str(start), 'End': ended, 'State': 'CANCELLED by 1000', 'ExitCode': '0:15', 'NNodes': '2',
            'NTasks': '8', 'AllocCPUS': str(2 * records[0]['ranks']), 'AllocTRES': 'cpu=8,gres/gpu=4,node=2', 'MaxRSS': '2000K', 'ConsumedEnergyRaw': '1234'}

    def leave(record, name='a'):
        with open('%s/%s.job.json' % (box, name), 'w') as f:
            json.dump(record, f)

    def run(*some, old=False):
        with open(rows, 'w') as f:
            json.dump(list(some) if some != (None,) else None, f)
        for path in glob.glob(box + '/*'):
            os.utime(path, (time.time() - 1000 * old,) * 2)
        return fleet('ingest', box, '--db', db, '--sacct', '--remove', env=env)

    leave(records[0])
    out = run()
    t.check("a record waits for Slurm's account of it", out.returncode == 0 and '0 records added' in out.stdout and '1 wait for' in out.stdout and len(os.listdir(box)) == 1, out)
    out = run(job, dict(step, End='Unknown', State='RUNNING'))
    t.check('also of a step that runs there still', '1 wait for' in out.stdout, out)
    out = run(job, dict(step, End=str(int(time.time()) - 2)))
    t.check('and of one that ended just now: slurmdbd is told by and by', '1 wait for' in out.stdout, out)
    out = run(dict(job, Partition=''), dict(step, End=str(int(time.time()) - 60)))
    t.check('and of a job of which slurmdbd has only been told by its steps', '1 wait for' in out.stdout, out)
    out = run(None)
    t.check('and when sacct fails, which is said once', '1 wait for' in out.stdout and out.stderr.count('sacct') == 2, out)
    out = run(job, step, old=True)
    t.check('then it comes in, and goes', out.stdout.startswith('1 record added') and os.listdir(box) == [], out)
    got = ask(db, 'select * from job_list')[0]
    when = lambda s: time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(s))
    want = {'account': 'proj', 'partition': 'fat', 'qos': 'long', 'array_job_id': '12', 'array_task_id': 3, 'het_job_id': '', 'het_offset': None, 'submit': when(start - 60),
            'start': when(start), 'end': when(start + 1000), 'state': 'CANCELLED', 'exit_code': 0, 'signal': 15, 'nodes': 2, 'tasks': 8, 'gpus': 4,
            'alloc_cpus': 2 * records[0]['ranks'], 'req_mem_bytes': 3 << 29, 'max_rss_bytes': 2048000, 'energy_j': 1234, 'user': records[0]['user']}
    t.equal('with every field', {k: got[k] for k in want}, want)
    t.check('core-hours are of its processors', abs(got['core_hours'] - 2 * records[0]['core_hours']) < 1e-3 * got['core_hours'] and got['idle_core_hours'] == got['core_hours'] / 2, got)
    t.check('a name says nothing but the name', got['name'].startswith('a|b') and 'mallory' not in str(got), got)
    leave(dict(records[0], user='mallory', id='x'))
    run(job, step, old=True)
    t.equal("somebody else's job tells a record nothing", ask(db, "select qos, name from job_list where user='mallory'"), [{'qos': records[0]['qos'], 'name': records[0]['name']}])
    leave(dict(records[0], user='h:0123', id='y', name=None))
    run(job, step, old=True)
    t.equal('who is hidden has no name of a job', ask(db, "select qos, name from job_list where key='y'"), [{'qos': 'long', 'name': ''}])
    leave(dict(records[0], id='w', max_rss_bytes=None))
    run(job, dict(step, MaxRSS='16?'), old=True)
    t.equal('a size without a unit is none', ask(db, "select max_rss_bytes from job_list where key='w'"), [{'max_rss_bytes': None}])
    leave(records[1])
    out = run(old=True)
    t.check('what Slurm does not know of after a quarter of an hour comes in as it is', out.stdout.startswith('1 record added'), out)
    again = [dict(job, Start=str(start - 3600), End=str(start - 1800), Account='first'), dict(step, Start=str(start - 3590), End=str(start - 1800), State='NODE_FAIL')]
    leave(dict(records[0], id='z'))
    run(*again, job, step, old=True)
    t.equal('of a job that was requeued, the run that the record is of', ask(db, "select account, state from job_list where key='z'"), [{'account': 'proj', 'state': 'CANCELLED'}])


def details(t, place):
    """What a record has beside the columns of job_list."""
    db, path = place + '/details.db', place + '/details.ndjson'
    made(path, 3)
    records = [json.loads(x) for x in lines(path)]
    records[0].update(mpi={'implementation': 'Open MPI', 'version': '4.1.4'}, transports=['pml ob1', 'btl tcp'], modules=['gcc/12', 'openmpi/4'],
                      modules_left_out=1, io={'read_bytes': 5, 'written_bytes': 1 << 40, 'time_s': 2.5})
    records[1].update(mpi=7, transports=[3, 'x' * 3000, 'btl tcp'], modules='all', io=[])
    with open(path, 'w') as f:
        f.writelines(json.dumps(r) + '\n' for r in records)
    fleet('ingest', path, '--db', db)
    rows = [tuple(r.values())[2:] for r in ask(db, 'select * from job_details order by id')]
    t.equal('details of a job have columns', rows[0], ('Open MPI', '4.1.4', 'pml ob1,btl tcp', 'gcc/12,openmpi/4', 5, 1 << 40, 2.5))
    t.equal('of what is none, and of records of before, there are none', rows[1:], [(None, None, '', None, None, None, None), (None,) * 7])
    fleet('report', '--db', db, '-o', place + '/details')
    text = ''.join(open(x).read() for x in glob.glob(place + '/details/job-*.html'))
    t.check('the page of a job has them', 'pml ob1,btl tcp' in text and 'gcc/12,openmpi/4' in text, text[:500])
    fleet('ingest', path, '--db', db)
    t.equal('they go with their job', (fleet('forget', '--user', records[0]['user'], '--db', db).returncode, ask(db, "select count(*) as n from details where version='4.1.4'")),
            (0, [{'n': 0}]))


def outbox(t, place):
    box, db = place + '/box', place + '/box.db'
    os.mkdir(box)
    os.mkdir(box + '/below')
    made(place + '/few.ndjson', 4)
    for i, line in enumerate(lines(place + '/few.ndjson')):
        with open('%s/%sj%d.job.json' % (box, 'below/' if i == 3 else '', i), 'w') as f:
            f.write(line + '\n')
    os.symlink('j0.job.json', box + '/link.job.json')
    os.mkfifo(box + '/fifo.job.json')
    open(box + '/.j9.job.json.tmp', 'w').write('half')
    if os.geteuid() == 0:
        os.chown(box + '/j1.job.json', 65534, 65534)
    run = fleet('ingest', box, '--db', db, timeout=60)
    added = 3 if os.geteuid() == 0 else 4
    t.check('an outbox is read with all below it, and no link, FIFO or half-written file', '%d records added' % added in run.stdout, run)
    if os.geteuid() == 0:
        t.check("a user's file that speaks for another user is left out", run.returncode == 4 and 'another user than it says' in run.stderr, run)
        os.unlink(box + '/j1.job.json')
    for path in glob.glob(box + '/**/*.job.json', recursive=True):
        if not os.path.islink(path) and os.path.isfile(path) and not path.endswith('j2.job.json'):
            os.utime(path, (time.time() - 600, time.time() - 600))
    run = fleet('ingest', box, '--db', db, '--remove')
    left = sorted(os.path.basename(x) for x in glob.glob(box + '/**/j*.job.json', recursive=True))
    t.equal('--remove takes what is in the database, and leaves what is young', (run.returncode, left), (0, ['j2.job.json']))
    with open(box + '/\x1b[31mred.job.json', 'w') as f:
        f.write('no record')
    t.check('a name that commands the terminal is only said', '\x1b' not in fleet('ingest', box, '--db', db).stderr)
    os.unlink(f.name)
    for name, text, age in (('good', lines(place + '/few.ndjson')[0], 600), ('bad', 'no record', 600), ('worse', 'no record', 8 * 86400), ('to_come', 'no record', -10 * 86400)):
        with open('%s/%s.job.json' % (box, name), 'w') as f:
            f.write(text + '\n')
        os.utime(f.name, (time.time() - age, time.time() - age))
    for name, age in (('full', 600), ('full_now', 0)):
        open('%s/%s.job.full' % (box, name), 'w').close()
        os.utime('%s/%s.job.full' % (box, name), (time.time() - age, time.time() - age))
    run = fleet('ingest', box, '--db', db, '--remove')
    left = sorted(os.path.basename(x) for x in glob.glob(box + '/*.job.*') if not os.path.islink(x) and os.path.isfile(x))
    t.equal('one that is no record keeps no other in the outbox, and stays for a week itself', (run.returncode, left), (4, ['bad.job.json', 'full_now.job.full', 'j2.job.json']))
    t.check('steps whose record had no room are counted', 'steps without a record: 2,' in run.stderr, run)


def swapped(t, place):
    """Who puts another directory in the place of theirs while --remove goes through it loses their own files only."""
    box, theirs, others = place + '/swap', place + '/swap/theirs', place + '/others'
    for path, age in ((theirs, 10 * 86400), (others, 0)):
        os.makedirs(path)
        for i in range(8000):
            open('%s/%d.alert.json' % (path, i), 'w').close()
            os.utime('%s/%d.alert.json' % (path, i), (time.time() - age,) * 2)
    os.symlink(others, box + '/next')
    with subprocess.Popen([MPITRACE, 'fleet', 'ingest', box, '--db', place + '/swap.db', '--remove'], stdout=subprocess.DEVNULL) as p:
        while p.poll() is None and len(os.listdir(theirs)) == 8000:
            pass
        os.rename(theirs, box + '/moved')
        os.rename(box + '/next', theirs)
    t.equal("--remove removes nothing in a directory that was put in a user's place", (p.returncode, len(os.listdir(others))), (0, 8000))
    t.check('it was at work then', 0 < len(os.listdir(box + '/moved')) < 8000, len(os.listdir(box + '/moved')))


def killed(t, place):
    """Killed at any instant: the database is whole, and a repeat ends with each record once."""
    db, path = place + '/killed.db', place + '/killed.ndjson'
    made(path, 30000)
    random.seed(16)
    for i in range(12):
        after = random.randrange(100, 700) * 1000 * (i + 1)
        p = subprocess.Popen([MPITRACE, 'fleet', 'ingest', path, '--db', db], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not os.path.exists(db + '-wal') or os.path.getsize(db + '-wal') < after:
            if p.poll() is not None or time.monotonic() > deadline:
                break
            time.sleep(0.0003)
        p.send_signal(signal.SIGKILL)
        p.wait()
        if os.path.exists(db) and os.path.getsize(db) > 0:
            run = fleet('check', '--db', db)
            t.check('killed (%d): what is there is whole' % (i + 1), run.returncode == 0 or 'no database' in run.stderr, run)
    run = fleet('ingest', path, '--db', db)
    t.equal('a repeat ends with each record once', (run.returncode, ask(db, 'select count(*) as n from jobs')), (0, [{'n': 30000}]))
    os.unlink(path)


def at_once(t, place):
    """Several that make a database at once wait for each other."""
    db = place + '/at_once.db'
    all_of_them = [subprocess.Popen([MPITRACE, 'fleet', 'ingest', place + '/all.ndjson', '--db', db], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(6)]
    said = [p.communicate()[0] for p in all_of_them]
    t.equal('who comes at once waits', ([p.returncode for p in all_of_them], sum(int(x.split()[0]) if x[0].isdigit() else 0 for x in said)), ([0] * 6, 300))
    t.equal('and it is whole', fleet('check', '--db', db).returncode, 0)


def full(t, place):
    """A disk that is full: said, nothing half, and a repeat ends with each record once. Few bytes a file stand for the disk."""
    db, path = place + '/full.db', place + '/full.ndjson'
    made(path, 20000)
    few = lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20)))
    run = fleet('ingest', path, '--db', db, preexec_fn=few)
    t.check('no room for records: an error that names the file', run.returncode == 3 and 'full.db' in run.stderr, run)
    t.equal('and what is there is whole', fleet('check', '--db', db).returncode, 0)
    run = fleet('ingest', path, '--db', db)
    t.equal('with room again each record is there once', (run.returncode, ask(db, 'select count(*) as n from jobs')), (0, [{'n': 20000}]))
    os.mkdir(place + '/room')
    run = fleet('report', '--db', db, '-o', place + '/room', preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))))
    t.check('no room for pages: an error, and no page that is half', run.returncode == 3 and not [x for x in os.listdir(place + '/room') if os.path.getsize(place + '/room/' + x) >= 20000], (run, os.listdir(place + '/room')))
    os.unlink(path)
    os.unlink(db)


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


def over_time(t, place):
    """A quarter of a machine on which all is known: what changed is found on its day, what is seasonal is not, and Monday's page says both."""
    db, truth = place + '/quarter.db', place + '/quarter.json'
    made(place + '/quarter.ndjson', 12000, '--nodes', '400', '--days', '91', '--slow', '1', '--faults', '5', '--hung', '30', '--wasteful', '2', '--seasons', '--truth', truth)
    fleet('ingest', place + '/quarter.ndjson', '--db', db)
    with open(truth) as f:
        planted = json.load(f)

    def monday(until, *more):
        out = fleet('monday', '--db', db, '--until', until, *more)
        assert out.returncode == 0, out.stderr
        return out.stdout

    first, text = json.loads(monday('2025-03-24', '--json')), monday('2025-03-31', '--url', 'https://fleet.example.org/')
    second = json.loads(monday('2025-03-31', '--json'))
    nodes = {r['node']: r for r in ask(db, 'select * from node_list where suspected or since is not null')}
    t.equal('nodes that became slower are suspected, and no others', sorted(nodes), sorted(list(planted['faults']) + list(planted['slow'])))
    day = lambda text: calendar.timegm(time.strptime(text[:10], '%Y-%m-%d')) / 86400
    off = {n: (nodes.get(n, {}).get('since'), d) for n, d in planted['faults'].items() if not (nodes.get(n, {}).get('since') and
           day(nodes[n]['since_low']) - 1 <= d <= day(nodes[n]['since_high']) + 1 and abs(day(nodes[n]['since']) - d) <= 3)}
    t.equal('since when', off, {})
    t.check('and by how much', all(abs(nodes[n]['effect'] - 0.1) < 0.02 and abs(nodes[n]['before']) < 0.02 for n in planted['faults'] if n in nodes), nodes)
    t.equal('one that was slow before anybody looked has no such day', [nodes[n]['since'] for n in planted['slow']], [None])
    changed = ask(db, 'select * from change_list')
    t.equal('programs that changed are found; night and weekend are no change', sorted(c['program'] for c in changed), sorted(planted['regressions']))
    t.equal('on their day or a weekend later', [c for c in changed if c['program'] in planted['regressions'] and abs(day(c['day']) - planted['regressions'][c['program']]['day']) > 3], [])
    came = {os.path.basename(c['program']): c['came_with'] or '' for c in changed}
    t.check('with what came then', (came['code10'], came['code17'].split(',')[0], came['code03']) == ('no more build 2e2ac0ea', 'build be1e0823', 'build 17156075 in place of 78dde6c4'), came)
    said = {s['kind']: s for s in second['sentences']}
    t.check('at most ten sentences, by core-hours', 1 < len(second['sentences']) <= 10 and [s['core_hours'] for s in second['sentences']] == sorted((s['core_hours'] for s in second['sentences']), reverse=True), second)
    hung = ask(db, "select count(*) as n, total(hung_core_hours) as h, count(distinct user||program) as k from jobs where hung_core_hours>0 and start>=1742774400 and start<1743379200")[0]
    t.check('hung jobs are one, with all their hours', abs(said['hung']['core_hours'] - hung['h']) < 1 and len(said['hung']['letters']) == hung['k'] and hung['n'] > 15, (said.get('hung'), hung))
    t.check('slow nodes are one, to who runs the machine', all(n in said['node']['letters'][0]['text'] for n in nodes) and [l['to'] for l in said['node']['letters']] == [None], said.get('node'))
    t.equal('users who hardly compute are one, and nobody else is', sorted(l['to'] for l in said['little useful']['letters']), sorted(planted['wasteful']))
    early = json.loads(monday('2025-01-27', '--json'))
    t.equal('a week before they became slow none of them is named', [n for n, d in planted['faults'].items() if d > day('2025-01-27') and n in json.dumps(early)], [])
    cost = lambda said: {s['kind']: s['core_hours'] for s in said['sentences']}['node']
    want = lambda a, b: sum(r['lost'] for r in ask(db, "select lost from node_days where day>=%d and day<%d" % (day(a), day(b))))
    t.check('what slow nodes cost is of that week', abs(cost(second) - want('2025-03-24', '2025-03-31')) < 1 and abs(cost(first) - want('2025-03-17', '2025-03-24')) < 1 and cost(first) != cost(second), (cost(first), cost(second)))
    t.check('and of all weeks what the nodes cost', abs(sum(r['lost_at_most'] for r in nodes.values()) - want('2024-01-01', '2026-01-01')) < 1, nodes)
    t.check('their letters are ready, with a link', 'Dear %s,' % planted['wasteful'][0] in text and 'https://fleet.example.org/user-' in text, text[:3000])
    t.equal('it says what has become of what it said before', sorted(b['text'] for b in second['before']), sorted(s['text'] for s in first['sentences']))
    t.check('in a word', {b['became'] for b in second['before']} <= {'gone', 'less', 'the same', 'more'}, second['before'])
    t.check('as a mail', text.startswith('Subject: MPI from 2025-03-24 to 2025-03-30: ') and max(map(len, text.splitlines())) < 100, text[:500])
    fleet('report', '--db', db, '-o', place + '/quarter')
    page = open(place + '/quarter/monday.html').read()
    t.check('and as a page', 'Jobs that hung held' in page and 'A text for who runs the machine' in page)
    page = open(place + '/quarter/nodes.html').read()
    t.check('the page of nodes has since when', page.count('>since 2025-') == len(planted['faults']), page.count('since 2025-'))
    wrong = fleet('monday', '--db', db, '--until', 'tomorrow')
    t.check('a day that is none is one error', wrong.returncode == 2 and 'tomorrow' in wrong.stderr, wrong)


def mailed(t, place):
    """Monday's mail of hostile, unnamed and small jobs: each sentence is ours, in one line, and true; each link leads somewhere."""
    db = place + '/mail.db'
    week = [r for r in map(json.loads, lines(place + '/quarter.ndjson')) if '2025-03-24' <= r['start'] < '2025-03-31']
    hung = next(r for r in week if r['hung_core_hours'] > 0)

    def mail(records, *more):
        for path in glob.glob(db + '*'):
            os.unlink(path)
        fleet('ingest', '-', '--db', db, input='\n'.join(map(json.dumps, records)))
        read = lambda *form: fleet('monday', '--db', db, '--until', '2025-03-31', '--url', 'https://fleet.example.org', *form).stdout
        return json.loads(read('--json')), read()

    evil = 'a\nSubject: x\u009b\u009b\u202e'
    said, text = mail([dict(hung, id='evil', job_id=evil, user=evil, program='/x/' + evil),
                       dict(week[0], id='cause', user=evil, core_hours=5000, issues=[{'issue': evil, 'severity': 'high', 'loss_core_hours': 1000, 'what': evil}])])
    texts = [x for s in said['sentences'] for x in (s['text'], *(l['text'] for l in s['letters']))]
    t.equal('no name breaks a line, or turns its direction', [x for x in texts if x.count('\n') != (3 if x.startswith('Dear') else 0) or '\u202e' in x or '\u009b' in x], [])
    t.check('as they are in the mail', len(texts) == 4 and [l for l in text.splitlines() if l.startswith('Subject')] == text.splitlines()[:1], text)
    said, text = mail([dict(r, user=None, id='u%d' % i) for i, r in enumerate([hung] + week[:50])])
    t.check('who is not named is nobody\'s "dear"', 'Dear' not in text and 'For the user of these jobs' in text and not re.search(r'\bof  ?\(', text), text[:1500])
    said, text = mail([dict(hung, core_hours=0.3, hung_core_hours=0.2)])
    t.check('small numbers are no zeros', 'held 0.2 core-hours' in text and not re.search(r'\b0 (core-hours|of)', text), text[:800])
    said, text = mail([dict(r, program='/home/u%d/a.out' % (i % 3)) for i, r in enumerate(week[:60])])
    lost = [s['text'] for s in said['sentences'] if s['kind'] == 'program lost']
    t.check('programs of one name are told apart by their paths', len(lost) == 3 and len({s.split()[0] for s in lost}) == 3 and all(s.startswith('/home/u') for s in lost), lost)
    t.check('letters say which week it was', 'in the week from 2025-03-24 to 2025-03-30' in ' '.join(text.split()) and 'last week' not in text, text[:800])
    said, text = mail([])
    t.check('of a week without jobs it is said that none is known', 'No job of that week is known.' in text and 'less than 0.1' not in text and 'Nothing' not in text, text)
    fleet('report', '--db', db, '-o', place + '/none', '--days', '0', '--jobs', '0')
    with open(place + '/none/monday.html', encoding='utf-8') as f:
        page = f.read()
    t.check('and on the page, of no week before there were jobs', 'No job of that week is known.' in page and not re.search('19[67][0-9]-', page), page[:3000])
    unknown = dict(week[0], id='unknown', user='unknown', core_hours=5000, share=dict.fromkeys(week[0]['share']))
    said, text = mail([unknown] + [dict(r, user='known', share={'useful': 0.3, 'mpi': 0.7, 'wait': 0.1}) for r in week[:20]])
    t.equal('nobody is blamed by jobs of which it is not known what was useful', [s for s in said['sentences'] if s['kind'] == 'little useful'], [])
    t.equal('it is not known either of the job', ask(db, "select useful from job_list where user='unknown'"), [{'useful': None}])
    idle = [dict(r, user='idler', hours=dict(r['hours'], idle=0.8 * r['core_hours'])) if i % 2 else r for i, r in enumerate(week[:200])]
    said, text = mail(idle)
    sums = ask(db, 'select total(core_hours * (1 - useful)) as h from jobs')[0]['h']
    t.check('nobody could save more than was not useful', 0 < said['could_be_saved'] <= sums * (1 + 1e-9), (said['could_be_saved'], sums))
    t.equal('idle processors are said once', [s['kind'] for s in said['sentences'] if any(l['to'] == 'idler' for l in s['letters']) and s['kind'] in ('idle', 'little useful')], ['idle'])
    said, text = mail([dict(r, program=r['program'] + '-\u00fc') for r in week])
    got = email.message_from_bytes(text.encode())
    t.check('a mail reader knows its letters', '-\u00fc lost' in got.get_payload(decode=True).decode(got.get_content_charset() or 'ascii', 'replace'), text[:400])
    fleet('report', '--db', db, '-o', place + '/mail', '--days', '0', '--jobs', '0')
    links = re.findall(r'https://fleet.example.org/(\S+)', text)
    t.equal('each of its links leads to a page that `fleet report` writes', [l for l in links if not os.path.exists(place + '/mail/' + l)], [])
    page = open(place + '/mail/monday.html').read()
    t.check('as on the page', len(links) > 10 and set(links) == set(re.findall(r'<a href="([^"]+)">The page that it is about', page)), links)


def forgotten(t, place):
    """Of a user who asks for it nothing stays in the file, and all else is as if they had never been there."""
    made(place + '/all.nd', 800, '--nodes', '40', '--slow', '1', '--wasteful', '1')
    records = [json.loads(x) for x in lines(place + '/all.nd')]
    user = 'user002'
    for i, r in enumerate(records): # a program in their home, of theirs alone
        if r['user'] == user:
            r['program'] = '/home/%s/bin/own%d' % (user, i)
            r['account'] = r['partition'] = user
    odd = dict(next(r for r in records if r['user'] == user), start='2050-01-01T00:00:00Z', id='odd')
    run = lambda db, some: fleet('ingest', '-', '--db', db, input='\n'.join(map(json.dumps, some)))
    a, b = place + '/with.db', place + '/without.db'
    run(a, records + [odd])
    run(b, [r for r in records if r['user'] != user])
    for db in (a, b):
        fleet('monday', '--db', db, '--until', '2025-06-02')
    held = open(a, 'rb').read()
    out = fleet('forget', '--user', user, '--db', a)
    t.equal('a user is forgotten', (out.returncode, out.stdout), (0, '%d jobs of %s removed, 1 record set aside\n' % (sum(r['user'] == user for r in records), user)))
    t.check('nothing of them stays in the file', user.encode() in held and all(user.encode() not in open(p, 'rb').read() for p in glob.glob(a + '*')), glob.glob(a + '*'))
    fleet('report', '--db', b, '-o', place + '/forgotten')
    for sql in ('select count(*) as n, round(total(core_hours), 3) as h from jobs', 'select outcome, sum(jobs) as n, round(sum(core_hours), 2) as h from outcomes group by 1 having n > 0 order by 1',
                'select node, round(effect, 6) as e, jobs from node_list order by 1', 'select day, jobs, round(loss, 4) as l from day_sums order by 1'):
        t.equal('as if they had never been there: ' + sql, ask(a, sql), ask(b, sql))
    t.equal('the file is whole', fleet('check', '--db', a).returncode, 0)
    out = fleet('forget', '--user', user, '--db', a)
    run(b, [dict(odd, user='justonce'), dict(records[0], id='short', user='e')])
    said = ask(b, 'select count(*) as n from mondays')
    t.equal('also one of whom there is only what was set aside', (fleet('forget', '--user', 'justonce', '--db', b).returncode, b'justonce' in open(b, 'rb').read()), (0, False))
    t.equal('whose name is part of a word takes no sentence along', (fleet('forget', '--user', 'e', '--db', b).returncode, ask(b, 'select count(*) as n from mondays')), (0, said))
    t.check('who is not there is one error', out.returncode == 3 and user in out.stderr, out)


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
    for words in (('--public', '1'), ('--public', 'x'), ('--public', '5', '--user', 'user001')):
        t.equal('%s: wrong use' % (words,), fleet('report', '--db', db, '-o', out, *words).returncode, 2)
    shutil.rmtree(out)


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
        ingest(t, place)
        account(t, place)
        details(t, place)
        outbox(t, place)
        swapped(t, place)
        at_once(t, place)
        killed(t, place)
        full(t, place)
        db = place + '/year.db'
        made(place + '/year.ndjson', JOBS, '--truth', place + '/truth.json')
        fleet('ingest', place + '/year.ndjson', '--db', db)
        pages(t, place, db)
        own_pages(t, place, db)
        anybody(t, place, db)
        with open(place + '/truth.json') as f:
            judged(t, db, json.load(f))
        over_time(t, place)
        mailed(t, place)
        forgotten(t, place)
        masters(t, place)
        hostile(t, place)
        only_read(t, place, db)
        questions(t, place, db)
    t.end()


main()
