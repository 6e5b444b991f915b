#!/usr/bin/env python3
"""publish_postgres.py - all jobs stand in a real PostgreSQL, each once, whatever is killed; what cannot be waits or is dead alone, and says so; months go and
sums stay; and `fleet query` asks there what it asks of a file. Environment: MAKE_FLEET, MPITRACE."""
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from postgresql import Server, find_server
from publishing import SECRET, Site, each_in_its_place, free_port, records, secret_file
from trace import MPITRACE, Tests

KILLS = 25
TEXT_OF_SERVER = 'no \x1b[31m such thing'


def destination(server, **more):
    return dict({'type': 'postgresql', 'host': server.data, 'database': 'postgres', 'user': 'fleet', 'backoff': 0}, **more)


def query(site, sql, *words):
    return subprocess.run([MPITRACE, 'fleet', 'query', '--config', site.place + '/mpitrace.conf', sql, *words], capture_output=True, text=True, timeout=120)


def in_file(place, some, sql, *words):
    db = place + '/fleet.db'
    if not os.path.exists(db):
        subprocess.run([MPITRACE, 'fleet', 'ingest', '-', '--db', db], input=''.join(json.dumps(r) + '\n' for r in some), text=True, stdout=subprocess.DEVNULL, check=True)
    return subprocess.run([MPITRACE, 'fleet', 'query', sql, '--db', db, *words], capture_output=True, text=True, check=True).stdout


def hostile(some):
    some = [dict(r) for r in some]
    some[0].update(user="a'b\"c\\d; DROP TABLE jobs--", program='/x/"\u00e9\n y\\', account='{"x": [1,\'')
    some[1].update(user='x\\u0000y', account='\\N\t', program='\U0001f600$1', cluster='$$;--')
    some[2].update(exit_code=9e17, gpus=1e18, max_rss_bytes=2e15, energy_j=1e17)
    some[3].update(program='p' * 512, account='a' * 512, cluster='c' * 512, user='u' * 512)
    return some


def counted(server):
    return server.ask("select count(*), count(distinct (key, \"user\")), round(sum(core_hours)::numeric, 3) from mpitrace.jobs")


def sums_agree(server):
    """Days that are kept are those of the jobs, to the last column; months those of the days."""
    same = 'cluster, program, "user", account, issue, state, sum(jobs), round(sum(core_hours)::numeric, 4), round(sum(lost)::numeric, 4), round(sum(idle)::numeric, 4)'
    if server.ask("""select count(*) from (select date_trunc('month', day)::date, %s from mpitrace.days group by 1, 2, 3, 4, 5, 6, 7 except select month, %s from mpitrace.sums
        group by 1, 2, 3, 4, 5, 6, 7) x""" % (same, same)) != '0' or server.ask('select sum(jobs) from mpitrace.sums') != server.ask('select sum(jobs) from mpitrace.days'):
        return False
    return server.ask("""select count(*) from (select start::date as day, coalesce(program, ''), "user", count(*) as n, round(sum(core_hours)::numeric, 4), round(sum(core_hours * wait)::numeric, 4)
        from mpitrace.jobs group by 1, 2, 3 except select day, program, "user", sum(jobs), round(sum(core_hours)::numeric, 4), round(sum(waiting)::numeric, 4) from mpitrace.days group by 1, 2, 3) x""") == '0' \
        and server.ask("select sum(jobs) from mpitrace.days where day >= (select kept_from from mpitrace.about)") == server.ask('select count(*) from mpitrace.jobs')


def test_each_once(t, place, programs, all_records):
    some = hostile(all_records[:1200])
    with Server(programs, place) as server:
        site = Site(place, 'site', destination(server))
        t.check('--check makes what is missing', site.run('--check').stdout == 'd0: can be reached\n' and server.ask('select version from mpitrace.about') == '3', '')
        site.leave(*some)
        run = site.run('--dry-run')
        t.check('--dry-run shows rows', run.returncode == 0 and '"key":"' in run.stdout and counted(server).startswith('0|'), run)
        run, _ = site.until_done()
        t.equal('every record, once', (run.returncode, counted(server)[:10], site.status()[0]['dead']), (0, '1200|1200|', 0))
        everything = 'select * from job_list order by key, nodes'
        here, there = (json.loads(x) for x in (query(site, everything, '--json').stdout, in_file(place, some, everything, '--json')))
        for row in here + there:
            del row['id']
        t.check('the same question has the same answer as in a file, of every job and column', here == there and list(here[0]) == list(there[0]) and len(here) == 1200,
                [(a, b) for a, b in zip(here, there) if a != b][:2])
        t.equal('all of a record is there', json.loads(server.ask("select record from mpitrace.jobs where key = '%s'" % some[9]['id'])), some[9])
        t.equal('months are tables', server.ask("select count(*) > 3, bool_and(relname ~ '^jobs_2025_[01][0-9]$') from pg_class where relispartition and relkind = 'r'"), 't|t')
        t.check('sums by day are those of the jobs', sums_agree(server), '')
        state_of = lambda: (counted(server), server.ask('select * from mpitrace.days order by day, hash'), server.ask('select md5(string_agg(j::text, $$,$$ order by id)) from mpitrace.jobs j'))
        before = state_of()
        os.unlink(site.state)
        run, _ = site.until_done()
        t.equal('all of it again changes nothing', (run.returncode,) + state_of(), (0,) + before)
        later = dict(some[5], start='2025-12-31T23:00:00Z', core_hours=some[5]['core_hours'] + 7)
        site.leave(later)
        site.until_done()
        t.equal('a later record takes the place of the earlier one, in another month', (counted(server)[:10], server.ask("select to_char(start, 'MM'), count(*) from mpitrace.jobs where key = '%s' group by 1" % later['id'])),
                ('1200|1200|', '12|1'))
        other = dict(some[5], user='somebody-else')
        site.leave(other)
        site.until_done()
        t.equal('one with the id of a job of somebody else is another job', counted(server)[:10], '1201|1201|')
        t.check('and sums follow', sums_agree(server), '')
        user = some[20]['user']
        theirs = sum(r['user'] == user for r in some)
        run = site.run('--forget-user', user)
        t.equal('who is forgotten has nothing there', (run.returncode, run.stdout, server.ask("select mpitrace.count_of('%s')" % user)), (0, 'd0: %d record%s removed\n' % (theirs, 's' * (theirs != 1)), '0'))
        run = site.run('--forget-user', "x' OR \"user\" <> '")
        t.check('and nobody else goes', run.returncode == 0 and ' 0 records removed' in run.stdout and counted(server).startswith('%d|' % (1201 - theirs)) and sums_agree(server), run)


def test_killed(t, place, programs, all_records):
    """Server and publisher, at any instant; each of them goes on where it was."""
    dice, some = random.Random(7), all_records[:2500]
    with Server(programs, place) as server:
        site = Site(place, 'site', destination(server, batch=50, timeout=5))
        site.leave(*some)
        site.run('--check')
        died = 0
        for i in range(KILLS):
            p = subprocess.Popen(site.words(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(dice.uniform(0.01, 0.25))
            if i % 2 == 0:
                p.kill()
                p.wait()
            else:
                server.kill()
                died += 1
                p.wait(30)
                server.start()
        run, _ = site.until_done()
        t.equal('killed %d times, the server %d of them, each record is there once' % (KILLS, died), (run.returncode, counted(server)[:10], site.status()[0]['dead']), (0, '2500|2500|', 0))
        t.check('and once in the sums', sums_agree(server) and server.ask('select sum(jobs) from mpitrace.days') == '2500', '')


def test_what_fails(t, place, programs, all_records):
    some, later = all_records[:40], iter(all_records[40:])
    with Server(programs, place) as server:
        site = Site(place, 'site', destination(server, user='careful', batch=10))
        site.leave(*some)
        run = site.run()
        t.check('without its password it waits, and says so', run.returncode == 5 and 'password' in run.stderr and site.status()[0]['waiting'] == 40, run)
        with open(place + '/wrong', 'w') as f:
            f.write('not the secret\n')
        os.chmod(place + '/wrong', 0o600)
        site.configure(destination(server, user='careful', password_file=place + '/wrong'))
        run = site.run()
        t.check('with a wrong one, too, and does not say which', run.returncode == 5 and 'authentication failed' in run.stderr and 'not the secret' not in run.stderr, run)
        site.configure(destination(server, user='nothing'))
        run = site.run()
        t.check('who may do nothing there is told so', run.returncode == 5 and 'permission denied' in run.stderr and site.run('--check').returncode == 3, run)
        careful = destination(server, user='careful', password_file=secret_file(place), batch=10)
        site.configure(careful)
        server.stop()
        run = site.run()
        t.check('a server that is away is waited for', run.returncode == 5 and 'connection' in run.stderr and site.status()[0]['waiting'] == 40, run)
        server.start()
        run, _ = site.until_done()
        t.equal('with its password all arrives', (run.returncode, counted(server)[:6]), (0, '40|40|'))
        server.ask('drop schema mpitrace cascade')
        site.leave(next(later))
        run, rounds = site.until_done()
        t.equal('tables that are gone are made again', (run.returncode, counted(server)[:4]), (0, '1|1|'))
        server.ask('update mpitrace.about set version = 99')
        site.leave(next(later))
        run = site.run()
        t.check('a schema that is newer is left alone', run.returncode == 5 and 'newer mpitrace' in run.stderr and site.run('--check').returncode == 3, run)
        server.ask('update mpitrace.about set version = 0')
        run, _ = site.until_done()
        t.equal('one that is older is brought up', (run.returncode, server.ask('select version from mpitrace.about'), counted(server)[:4]), (0, '3', '2|2|'))
        refuse(t, server, site, [next(later) for _ in range(30)])
        hang(t, server, site, careful, next(later))


def refuse(t, server, site, some):
    server.ask("create function f() returns trigger language plpgsql as $$ begin raise exception 'no room' using errcode = '53100'; end $$;"
               'create trigger full_disk before insert on mpitrace.jobs for each row execute function f()')
    site.leave(*some)
    run = site.run()
    t.check('a full disk is waited for', run.returncode == 5 and 'no room' in run.stderr and site.status()[0]['dead'] == 0, run)
    server.ask("drop trigger full_disk on mpitrace.jobs; create or replace function f() returns trigger language plpgsql as $$ begin if new.key = '%s' then raise exception 'not this one' using errcode = '22023';"
               ' end if; return new; end $$; create trigger one before insert on mpitrace.jobs for each row execute function f()' % some[11]['id'])
    run, _ = site.until_done()
    dead = [json.loads(x) for x in site.run('--dead').stdout.splitlines()]
    t.equal('what it refuses is dead alone', (run.returncode, counted(server)[:6], [(d['record']['id'], 'not this one' in d['reason']) for d in dead]), (4, '31|31|', [(some[11]['id'], True)]))
    server.ask('drop trigger one on mpitrace.jobs')
    site.run('--revive')
    run, _ = site.until_done()
    t.equal('and arrives when that is set right', (run.returncode, counted(server)[:6]), (0, '32|32|'))


def hang(t, server, site, section, record):
    """The processes of a server stop, as on a file system that does not answer."""
    site.configure(dict(section, timeout=1))
    site.leave(record)
    server.signal(signal.SIGSTOP)
    began = time.monotonic()
    run = site.run()
    took = time.monotonic() - began
    server.signal(signal.SIGCONT)
    t.check('one that does not answer is given up after its time', run.returncode == 5 and 'no answer within 1 s' in run.stderr and took < 10, (run, took))
    run, _ = site.until_done()
    t.check('and gets it when it does', run.returncode == 0 and counted(server).startswith('33|33|'), run)


def test_retention(t, place, programs, all_records):
    some = all_records[:1500]
    now = time.gmtime()
    months = (now.tm_year - 2025) * 12 + now.tm_mon - 7 # from July 2025 on
    gone = [r for r in some if r['start'] < '2025-07-01']
    with Server(programs, place) as server:
        site = Site(place, 'site', destination(server))
        site.leave(*some)
        site.until_done()
        days = server.ask('select day, sum(jobs), round(sum(core_hours)::numeric, 4) from mpitrace.days group by 1 order by 1')
        site.configure(destination(server, retention=months))
        site.leave(all_records[-1])
        site.until_done()
        t.equal('months that are too old are dropped, and their sums stay', (counted(server).split('|')[0], server.ask("select min(start) >= '2025-07-01' from mpitrace.jobs"), server.ask('select sum(jobs) from mpitrace.days')),
                (str(len(some) - len(gone) + 1), 't', '1501'))
        os.unlink(site.state)
        site.leave(*some)
        site.until_done()
        t.equal('what comes late is counted, and in no sum twice', (server.ask('select late from mpitrace.about'), server.ask('select sum(jobs) from mpitrace.days')), (str(len(gone)), '1501'))
        t.check('days are what they were', set(days.splitlines()) - set(server.ask('select day, sum(jobs), round(sum(core_hours)::numeric, 4) from mpitrace.days group by 1 order by 1').splitlines())
                <= {x for x in days.splitlines() if x.startswith(all_records[-1]['start'][:10])} and sums_agree(server), '')
        user = gone[0]['user']
        theirs = sum(r['user'] == user for r in some) + (all_records[-1]['user'] == user)
        run = site.run('--forget-user', user)
        t.equal('who is forgotten is in no sum of what was dropped', (run.returncode, server.ask("select count(*) from mpitrace.days where \"user\" = '%s'" % user), server.ask('select sum(jobs) from mpitrace.days')),
                (0, '0', str(1501 - theirs)))


def test_months(t, place, programs, all_records):
    """Of months that are over there are sums by month, whether they were over when a record came or not."""
    some, more = all_records[::8], all_records[1::300]
    with Server(programs, place) as server:
        site = Site(place, 'site', destination(server))
        site.leave(*some)
        site.until_done()
        over = "select count(*) > 50 from mpitrace.months"
        t.check('what comes of a month that is over is in its sums', server.ask(over) == 't' and sums_agree(server), server.ask('select * from mpitrace.about'))
        server.ask("truncate mpitrace.months; update mpitrace.about set rolled_until = '2025-07-01'") # as if it were July
        server.ask("select mpitrace.roll('2025-07-01')")
        t.equal('a month is added up once', server.ask('select count(*) from mpitrace.months'), '0')
        server.ask("update mpitrace.about set rolled_until = '-infinity'; select mpitrace.roll('2025-07-01')")
        t.check('half a year is over: its months, and the days since', server.ask("select max(month) from mpitrace.months") == '2025-06-01' and sums_agree(server), '')
        site.leave(*more)
        site.until_done()
        t.check('then all of it', server.ask("select max(month) > '2025-10-01' from mpitrace.months") == 't' and sums_agree(server), '')
        user = some[0]['user']
        site.run('--forget-user', user)
        t.check('who is forgotten is in none', server.ask("select count(*) from mpitrace.months where \"user\" = '%s'" % user) == '0' and sums_agree(server), '')
        t.equal('fleet query asks sums', query(site, 'select sum(jobs) as n from sums', '--csv').stdout.splitlines()[1:],
                [str(sum(r['user'] != user for r in some + more))])


def test_questions(t, place, programs, all_records):
    some = all_records[:300]
    with Server(programs, place) as server:
        site = Site(place, 'site', destination(server))
        site.leave(*some)
        run = query(site, 'select 1')
        t.check('before anything came one is told so', run.returncode == 3 and 'mpitrace publish' in run.stderr, run)
        site.until_done()
        for sql in ('select program, total(loss_core_hours) as lost, count(*) as n from job_list group by program order by n desc, program',
                    'select "user", min(start) as first, max(start) as last from job_list group by "user" order by 1', 'select key, parallel, issue from job_list where nodes > 8 order by key limit 20'):
            for form in ('--json', '--csv'):
                a, b = query(site, sql, form).stdout, in_file(place, some, sql, form)
                rounded = lambda x: [{k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()} for row in json.loads(x)] if form == '--json' else x.splitlines()[0]
                t.check('%s, %s: alike' % (sql[:40], form), rounded(a) == rounded(b) and len(a) > 200, (a[:300], b[:300]))
        big = query(site, 'select g, null as nothing from generate_series(1, 2500) g', '--csv')
        t.check('an answer of any length is whole', big.returncode == 0 and big.stdout.splitlines()[1:] == ['%d,' % (i + 1) for i in range(2500)], big.stdout[-200:])
        t.check('one of no row has its columns', query(site, 'select key, nodes from job_list where false', '--csv').stdout == 'key,nodes\n' and json.loads(query(site, 'select 1 where false', '--json').stdout) == [], '')
        for sql in ('delete from mpitrace.jobs', "select mpitrace.forget('%s')" % some[0]['user'], 'select 1; drop table mpitrace.jobs', 'drop schema mpitrace cascade', 'commit', "copy (select 1) to '/tmp/x'",
                    'with x as (delete from mpitrace.jobs returning *) select * from x', 'select nonsense'):
            run = query(site, sql)
            t.check('refused: ' + sql[:40], run.returncode == 3 and run.stderr.startswith('mpitrace publish: d0: '), run)
        t.equal('nothing has changed', counted(server).split('|')[0], '300')
        run = query(site, "select E'a\\x1b[31mb\\nc' as x")
        t.check('what a record says reaches no terminal raw', run.returncode == 0 and '\x1b' not in run.stdout and run.stdout.count('\n') == 2, run)
        site.configure({'type': 'file', 'path': place + '/f'})
        run = query(site, 'select 1')
        t.check('without a store it is said where to ask', run.returncode == 3 and '--db FILE' in run.stderr, run)


BEFORE = """CREATE SCHEMA mpitrace; CREATE TABLE mpitrace.jobs (id bigint NOT NULL, key text PRIMARY KEY, cluster text, job text, "user" text, account text, partition text, program text, build_id text, mpi text,
 nodes integer NOT NULL, ranks integer NOT NULL, start timestamp NOT NULL, elapsed_s double precision NOT NULL, core_hours double precision NOT NULL, useful double precision NOT NULL, wait double precision NOT NULL,
 parallel double precision, load_balance double precision, issue text, loss_core_hours double precision NOT NULL, complete integer NOT NULL, hung_core_hours double precision NOT NULL, state text NOT NULL,
 idle_core_hours double precision NOT NULL, name text, qos text, array_job_id text, array_task_id integer, het_job_id text, het_offset integer, submit timestamp, "end" timestamp, exit_code integer, signal integer,
 tasks integer, alloc_cpus integer, gpus integer, req_mem_bytes bigint, max_rss_bytes bigint, energy_j double precision);
 CREATE UNLOGGED TABLE mpitrace.incoming (LIKE mpitrace.jobs);
 CREATE PROCEDURE mpitrace.take() LANGUAGE sql AS $$ DELETE FROM mpitrace.incoming $$;
 CREATE VIEW mpitrace.days AS SELECT start::date AS day, count(*) AS jobs FROM mpitrace.jobs GROUP BY 1;
 INSERT INTO mpitrace.jobs(id, key, "user", nodes, ranks, start, elapsed_s, core_hours, useful, wait, loss_core_hours, complete, hung_core_hours, state, idle_core_hours)
 SELECT i, 'k' || i, nullif('u' || i % 3, 'u0'), 1, 2, timestamp '2025-01-01' + i * interval '1 day', 1, 5, 0.5, 0.25, 1, 1, 0, 'COMPLETED', 0 FROM generate_series(1, 90) i"""


def test_not_known(t, place, programs, all_records):
    """Of some jobs nobody knows how they spent their time: they come as others do, and shares are of the hours of which it is known."""
    some = [dict(r, id='n%d' % i, share=dict.fromkeys(r['share']) if i % 2 else r['share'], core_hours=10, hours=dict(r['hours'], idle=0), hung_core_hours=4 if i % 4 == 1 else 0)
            for i, r in enumerate(all_records[:40])]
    sums = 'select sum(core_hours), sum(not_known), sum(useful) between 1 and 199 from mpitrace.'
    with Server(programs, place) as server:
        site = Site(place, 'site', destination(server))
        site.leave(*[r for r in some if r['share']['useful'] is not None])
        site.until_done()
        server.ask('DROP VIEW mpitrace.sums; ALTER TABLE mpitrace.days DROP COLUMN not_known; ALTER TABLE mpitrace.months DROP COLUMN not_known; ALTER TABLE mpitrace.jobs ALTER COLUMN useful SET NOT NULL; '
                   'UPDATE mpitrace.about SET version = 2')
        site.leave(*[r for r in some if r['share']['useful'] is None])
        run, _ = site.until_done()
        t.equal('what is not known comes, also into a schema of version 2', (run.returncode, site.status()[0]['dead'], counted(server).split('|')[0], server.ask('select count(*) from mpitrace.jobs where useful is null')), (0, 0, '40', '20'))
        t.equal('and is in the sums, by day and by month', [server.ask(sums + table) for table in ('days', 'sums')], ['400|160|t'] * 2)
        t.equal('the sums are those of the file', json.loads(in_file(place, some, 'select total(core_hours) as h, total(not_known) as n from days', '--json')), [{'h': 400, 'n': 160}])
        server.ask('delete from mpitrace.jobs where useful is null')
        t.equal('it goes with its jobs', server.ask(sums + 'sums'), '200|0|t')


def test_from_before(t, place, programs, all_records):
    with Server(programs, place) as server:
        server.ask(BEFORE)
        site = Site(place, 'site', destination(server))
        site.leave(*all_records[:10])
        run, _ = site.until_done()
        t.equal('a schema of before comes along', (run.returncode, counted(server).split('|')[0], server.ask("select count(*), sum(core_hours) from mpitrace.jobs where key ~ '^k' and start < '2025-04-02'"), sums_agree(server)),
                (0, '100', '90|450', True))


def certificate(place, name, address='127.0.0.1'):
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', place + '/%s.key' % name, '-out', place + '/%s.crt' % name, '-days', '2', '-subj', '/CN=localhost',
                    '-addext', 'subjectAltName=IP:' + address], check=True, capture_output=True)


def give_certificate(server, place, name):
    server.stop()
    for end in ('key', 'crt'):
        target = server.data + '/server.' + end
        shutil.copy('%s/%s.%s' % (place, name, end), target)
        os.chmod(target, 0o600)
        if server.user:
            os.chown(target, server.user.pw_uid, server.user.pw_gid)
    server.start()


def test_tls(t, place, programs, all_records):
    port = free_port()
    for name, address in (('server', '127.0.0.1'), ('other', '127.0.0.1'), ('elsewhere', '127.0.0.9')):
        certificate(place, name, address)
    with Server(programs, place) as server:
        server.options = server.options.replace('-c listen_addresses=', '-c listen_addresses=127.0.0.1 -c port=%d -c ssl=on' % port)
        give_certificate(server, place, 'server')
        section = {'type': 'postgresql', 'host': '127.0.0.1', 'port': port, 'database': 'postgres', 'user': 'careful', 'password_file': secret_file(place), 'backoff': 0}
        site = Site(place, 'site', section)
        run = site.run('--check')
        t.check('over a network the server has to prove who it is', run.returncode == 3 and 'needs ca = FILE' in run.stderr, run)
        site.configure(dict(section, ca=place + '/other.crt'))
        run = site.run('--check')
        t.check('another one is not spoken to', run.returncode == 3 and 'certificate verify failed' in run.stdout, run)
        site.configure(dict(section, sslmode='disable'))
        t.check('nor one without TLS, by its own will', site.run('--check').returncode == 3, '')
        site.configure(dict(section, sslmode='perhaps'))
        t.check('modes are four', 'known: disable, require' in site.run('--check').stderr, '')
        site.configure(dict(section, ca=place + '/server.crt'))
        t.equal('the right one is', site.run('--check').stdout, 'd0: can be reached\n')
        give_certificate(server, place, 'elsewhere')
        site.configure(dict(section, ca=place + '/elsewhere.crt'))
        run = site.run('--check')
        t.check('nor one whose certificate is of another host', run.returncode == 3 and 'does not match' in run.stdout, run)


class Old(threading.Thread):
    """Speaks as much of the protocol as a client hears before its first question: version 11, or an error with what a terminal would heed."""

    def __init__(self, path, version):
        super().__init__(daemon=True)
        self.version, self.socket = version, socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(4)
        self.start()

    def run(self):
        message = lambda kind, body: kind + struct.pack('!I', len(body) + 4) + body
        while True:
            c, _ = self.socket.accept()
            c.recv(4096)
            if self.version is None:
                c.sendall(message(b'E', b'SFATAL\0C28000\0M' + TEXT_OF_SERVER.encode() + b'\0\0'))
            else:
                c.sendall(message(b'R', struct.pack('!I', 0)) + message(b'S', b'server_version\0' + self.version + b'\0') + message(b'Z', b'I'))
                c.recv(4096)
            c.close()


def test_other_servers(t, place, programs, all_records):
    os.mkdir(place + '/old')
    os.mkdir(place + '/bad')
    Old(place + '/old/.s.PGSQL.5432', b'11.22')
    Old(place + '/bad/.s.PGSQL.5432', None)
    section = {'type': 'postgresql', 'database': 'x', 'user': 'y', 'backoff': 0}
    site = Site(place, 'site', dict(section, host=place + '/old'))
    t.equal('a server that is too old is told so', (site.run('--check').returncode, site.run('--check').stdout), (3, 'd0: is PostgreSQL 11: 12 or newer is needed\n'))
    site.configure(dict(section, host=place + '/bad'))
    run = site.run('--check')
    t.check('what a server says is made fit for a terminal', run.returncode == 3 and 'such thing' in run.stdout and '\x1b' not in run.stdout, run)
    site.configure(dict(section, host=place + '/nowhere'))
    t.equal('where there is none, it is said', site.run('--check').returncode, 3)
    for wrong, said in (({}, 'needs host'), ({'host': '/x', 'port': 0}, 'from 1 to 65535'), ({'host': '/x', 'retention': 0}, 'from 1 to 1200')):
        site.configure(dict(section, **wrong))
        run = site.run('--check')
        t.check('refused: %s' % (wrong or 'no host'), run.returncode == 3 and said in run.stderr, run)


TESTS = (test_each_once, test_killed, test_what_fails, test_retention, test_months, test_questions, test_not_known, test_from_before, test_tls, test_other_servers)

programs = find_server()
if programs is None:
    print('1..0 # skipped: needs postgresql (initdb, pg_ctl) and psql')
    sys.exit(0)
each_in_its_place(Tests(), [x for x in TESTS if len(sys.argv) < 2 or x.__name__ in sys.argv[1:]], programs, records(3000))
