#!/usr/bin/env python3
"""job_fields.py - fleet/fields.h is the one list of what Slurm's account knows of a job: the schema, the database, the tables in contrib/ and the
manual have its rows and no others. Environment: MAKE_FLEET, MPITRACE."""
import json
import os
import re
import subprocess
import tempfile

import contract
from trace import MPITRACE, Tests

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
TEXTS = ('TEXT', 'ARRAY', 'HET', 'STATE', 'TIME')


def text_of(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        return f.read()


def rows(name):
    """Rows of one macro: [(field, kind, of, column)]."""
    body = re.search(r'#define %s\(X\) \\\n((?:.*\\\n)*.*)' % name, text_of('fleet/fields.h')).group(1)
    return re.findall(r'X\((\w+), (\w+), (\w+), "(\w+)"\)', body)


def columns_of(sql):
    """Names of columns of the first table in it."""
    body = re.search(r'CREATE TABLE IF NOT EXISTS mpitrace.jobs \((.*?)\n\)', sql, re.S).group(1)
    body = re.sub(r'--.*', '', body)
    return [re.sub(r'["`]', '', c.split()[0]) for c in re.split(r',(?![^()]*\))', body) if c.strip()]


def main():
    t, schema = Tests(), contract.load('job')['properties']
    known, added = rows('RECORD_FIELDS_KNOWN'), rows('RECORD_FIELDS_ADDED')
    t.check('the table has rows', len(known) > 3 and len(added) > 10)
    t.equal('the schema names the column of sacct for each field, and for no other', sorted((k, v['sacct']) for k, v in schema.items() if 'sacct' in v),
            sorted((r[0], r[3]) for r in known + added))
    t.equal('and its type', [r[0] for r in known + added if schema[r[0]]['type'] not in ((['string', 'null'], 'string') if r[1] in TEXTS else (['integer', 'null'], ['number', 'null']))], [])
    with tempfile.TemporaryDirectory() as place:
        records = subprocess.run([os.environ['MAKE_FLEET'], '--jobs', '3'], capture_output=True, check=True).stdout
        subprocess.run([MPITRACE, 'fleet', 'ingest', '-', '--db', place + '/f.db'], input=records, check=True, stdout=subprocess.DEVNULL)
        asked = subprocess.run([MPITRACE, 'fleet', 'query', '--db', place + '/f.db', '--csv', 'select * from job_list'], capture_output=True, text=True, check=True).stdout
    database = asked.splitlines()[0].split(',')
    names = [r[0] for r in added]
    t.equal('job_list ends with them', database[-len(names):], names)
    t.equal('PostgreSQL has the columns of job_list, and the record', columns_of(text_of('contrib/postgresql/fleet.sql')), database + ['record'])
    view = re.search(r'VIEW mpitrace.job_list AS\s+SELECT (.*?)\s+FROM', text_of('contrib/postgresql/fleet.sql'), re.S).group(1)
    t.equal('its job_list, too', re.sub(r'["\s]', '', view).split(','), database)
    t.equal('ClickHouse too, and the record', sorted(columns_of(text_of('contrib/clickhouse/fleet.sql'))), sorted(set(database) - {'key'} | {'record'}))
    t.equal('the manual names each', [n for n in names if '`%s`' % n not in text_of('docs/FLEET.md')], [])
    t.end()


main()
