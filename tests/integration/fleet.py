#!/usr/bin/env python3
"""fleet.py - records of a machine come in once, whatever is repeated, damaged, forged, killed or without room, with what Slurm's account adds.
Environment: MAKE_FLEET, MPITRACE."""
import calendar
import glob
import json
import math
import os
import random
import resource
import signal
import subprocess
import tempfile
import time

import contract
from fleet_tool import ask, fleet, lines, made
from trace import MPITRACE, Tests


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
    end = start + math.ceil(records[0]['elapsed_s'])
    ended = str(end)
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
            'start': when(start), 'end': when(end), 'state': 'CANCELLED', 'exit_code': 0, 'signal': 15, 'nodes': 2, 'tasks': 8, 'gpus': 4,
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


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as place:
        for part in ingest, account, details, outbox, swapped, at_once, killed, full:
            part(t, place)
    t.end()


main()
