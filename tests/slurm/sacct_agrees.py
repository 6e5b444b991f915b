#!/usr/bin/env python3
"""sacct_agrees.py MPITRACE DB JOBS - what the fleet's database says of each step is what sacct says of it, in every field that sacct has. sacct
is asked here in another way than by mpitrace: a question for each field, with its own words for times and bytes. Prints what differs; exit code 1."""
import collections
import json
import os
import subprocess
import sys

UNITS = {'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}


def sacct(jobs, column, whole):
    """The column of all jobs, or of their steps: {id: [text of each run]}: a job that was queued again has several, in their order."""
    out = subprocess.run(['sacct', '-a', '-n', '-p', '-D', '-S', '2020-01-01', '-j', ','.join(jobs), '-o', 'jobidraw%40,' + column + '%200', *(['-X'] if whole else [])],
                         env={**os.environ, 'SLURM_TIME_FORMAT': '%Y-%m-%d %H:%M:%S', 'TZ': 'UTC'}, capture_output=True, text=True, check=True).stdout
    said = {}
    for line in out.splitlines():
        if '|' in line:
            said.setdefault(line.split('|', 1)[0].strip(), []).append(line.split('|', 1)[1].rstrip('|').strip())
    return said


def number_of(text):
    return None if text == '' else float(text)


def bytes_of(text):
    return None if text == '' or text[-1] == '?' else round(float(text.rstrip('KMGT')) * UNITS.get(text[-1:], 1))


def gpus_of(text):
    return None if text == '' else next((int(x.split('=')[1]) for x in text.split(',') if x.startswith('gres/gpu=')), 0)


def nothing_for_none(text):
    return text or ''


WHOLE = {'account': ('account', nothing_for_none), 'partition': ('partition', nothing_for_none), 'qos': ('qos', nothing_for_none), 'name': ('jobname', nothing_for_none),
         'user': ('user', nothing_for_none), 'submit': ('submit', str), 'req_mem_bytes': ('reqmem', bytes_of),
         'array_job_id': ('jobid', lambda x: x.split('_')[0] if '_' in x else ''), 'array_task_id': ('jobid', lambda x: int(x.split('_')[1]) if '_' in x else None),
         'het_job_id': ('jobid', lambda x: x.split('+')[0] if '+' in x else ''), 'het_offset': ('jobid', lambda x: int(x.split('+')[1]) if '+' in x else None)}
STEP = {'start': ('start', str), 'end': ('end', str), 'state': ('state', lambda x: x.split()[0]), 'exit_code': ('exitcode', lambda x: int(x.split(':')[0])),
        'signal': ('exitcode', lambda x: int(x.split(':')[1])), 'nodes': ('nnodes', number_of), 'tasks': ('ntasks', number_of),
        'alloc_cpus': ('alloccpus', number_of), 'gpus': ('alloctres', gpus_of), 'max_rss_bytes': ('maxrss', bytes_of), 'energy_j': ('consumedenergyraw', number_of)}


def differences(rows, field, compared):
    column, of = {**WHOLE, **STEP}[field]
    all_said = sacct(sorted({r['job'] for r in rows}), column, field in WHOLE)
    for row in rows:
        runs = all_said[row['job'] if field in WHOLE else row['key'].split(':')[1]]
        said = runs[min(int(row['key'].split(':')[2].split()[0]), len(runs) - 1)]
        want = of(said)
        compared[field] = compared.get(field, 0) + (said != '')
        if row[field] != want and said != '': # what sacct does not say, the node may know
            yield '%s %s: %s, and sacct has "%s"' % (row['key'], field, row[field], said)


def main():
    mpitrace, db, jobs = sys.argv[1:]
    out = subprocess.run([mpitrace, 'fleet', 'query', '--db', db, '--json', 'select * from job_list'], capture_output=True, text=True, check=True).stdout
    rows, compared = json.loads(out), {}
    bad = [d for field in (*WHOLE, *STEP) for d in differences(rows, field, compared)]
    for text in bad[:40]:
        print('# ' + text)
    wrong = [r['key'] for r in rows if abs(r['core_hours'] * 3600 - r['alloc_cpus'] * r['elapsed_s']) > 1e-3 * r['core_hours'] * 3600]
    count = len({r['job'] for r in rows})
    states = collections.Counter(r['state'] for r in rows)
    jobs_were = collections.Counter(said.split()[0] for runs in sacct(sorted({r['job'] for r in rows}), 'state', True).values() for said in runs)
    print('# %d steps of %d jobs, %d fields each, %d differ; core-hours of %d are not those of their processors' % (len(rows), count, len(WHOLE) + len(STEP), len(bad), len(wrong)))
    print('# runs of jobs: %s; steps: %s; what sacct had: %s' % (', '.join('%s %d' % x for x in jobs_were.most_common()), ', '.join('%s %d' % x for x in states.most_common()), ', '.join('%s %d' % x for x in compared.items())))
    sys.exit(bool(bad or wrong) or count < int(jobs))


main()
