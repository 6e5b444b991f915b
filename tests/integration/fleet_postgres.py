#!/usr/bin/env python3
"""fleet_postgres.py - contrib/postgresql/fleet.sql takes what `fleet query --csv` gives, once however often it comes, and its sums are
those of the database. A server of its own on a socket, in a directory that goes away. Environment: MAKE_FLEET, MPITRACE."""
import json
import os
import subprocess
import sys
import tempfile

from postgresql import Server, find_server
from trace import MPITRACE, Tests

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../contrib/postgresql/fleet.sql')


def fleet(*words, **more):
    return subprocess.run([MPITRACE, 'fleet', *words], capture_output=True, text=True, check=True, **more).stdout


def load(t, server, place, db):
    with open(place + '/jobs.csv', 'w', newline='') as f:
        f.write(fleet('query', '--db', db, '--csv', 'select * from job_list'))
    run = server.psql('-c', "\\copy mpitrace.incoming from '%s/jobs.csv' csv header" % place, '-c', 'call mpitrace.take()')
    t.check('an export is taken', run.returncode == 0, run)
    return run


def main():
    t = Tests()
    programs = find_server()
    if programs is None:
        print('1..0 # skipped: needs postgresql (initdb, pg_ctl) and psql')
        sys.exit(0)
    with tempfile.TemporaryDirectory() as place:
        records = subprocess.run([os.environ['MAKE_FLEET'], '--jobs', '2000'], capture_output=True, text=True, check=True).stdout
        odd = json.loads(records.splitlines()[0])
        odd.update(id='odd', user='a,"b"\n\\.', program='/x/\u00e9 "y"', account='')
        odd['efficiency'] = {}
        fleet('ingest', '-', '--db', place + '/f.db', input=records + json.dumps(odd) + '\n')
        server = Server(programs, place)
        try:
            for what in ('made', 'made again'):
                run = server.psql('-f', SCHEMA)
                t.check('the schema is ' + what, run.returncode == 0, run)
            load(t, server, place, place + '/f.db')
            load(t, server, place, place + '/f.db')
            want = json.loads(fleet('query', '--db', place + '/f.db', '--json', 'select count(*) as n, total(core_hours) as h, total(loss_core_hours) as l from jobs'))[0]
            n, h, lost = server.psql('-c', "select count(*), sum(core_hours), sum(loss_core_hours) from mpitrace.jobs").stdout.strip().split('|')
            t.check('each job once, and the same core-hours', int(n) == want['n'] == 2001 and abs(float(h) - want['h']) < 1e-6 * want['h'] and abs(float(lost) - want['l']) < 1e-6 * want['l'], (n, h, want))
            days = server.psql('-c', 'select sum(jobs), sum(core_hours) from mpitrace.days').stdout.strip().split('|')
            t.check('its days add up', int(days[0]) == 2001 and abs(float(days[1]) - want['h']) < 1e-6 * want['h'], days)
            got = server.psql('-c', """select "user" = E'a,"b"?\\\\.', program, parallel is null from mpitrace.jobs where key='odd'""").stdout.strip()
            t.equal('names keep their commas and quotes, a line break is a question mark (base/csv.h); what is not known is null', got, 't|/x/\u00e9 "y"|t')
        finally:
            server.stop()
    t.end()


main()
