#!/usr/bin/env python3
"""fleet_quarter.py - a quarter of a machine of 1,000 nodes, of which all is known, as its Mondays say it: who reads nothing but them knows of 12 slow
nodes of six kinds, 8 programs that became less efficient, 5 users with bad habits and all jobs that hung, and is told of nothing that was not: nights,
weekends and ends of months are none. What counts as planted can be known within four weeks: a program has 20 jobs or more on either side of its change, and
so many that who knew the day and the noise would miss it once in a hundred times (can_show() of make_fleet, which plants 8 such ones with any seed). Of a
user whose ranks hardly computed that may be said in each week in which it was so, by what was generated, also if nobody planned it. An argument is another
seed. Environment: MAKE_FLEET, MPITRACE."""
import calendar
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from trace import MPITRACE, Tests

FIRST, LAST = '2025-01-13', '2025-03-31'
NOTICED_DAYS = 28 # after the day of what was planted
JOBS_LEAST = 20   # of a program, before it became less efficient, and in NOTICED_DAYS behind that


def fleet(*words, **more):
    run = subprocess.run([MPITRACE, 'fleet', *words], capture_output=True, text=True, **more)
    assert run.returncode == 0, run
    return run.stdout


def day_of(text):
    return calendar.timegm(time.strptime(text[:10], '%Y-%m-%d')) // 86400


def text_of(day):
    return time.strftime('%Y-%m-%d', time.gmtime(day * 86400))


def mondays(place):
    """[(day, what was said, hung jobs of the week)], and what was planted."""
    words = '--jobs 30000 --nodes 1000 --days 91 --slow 2 --faults 10 --kinds --regressions 8 --hung 30 --wasteful 3 --idle 2 --seasons --truth'.split() + [place + '/truth.json', '--seed', (sys.argv + ['1'])[1]]
    records = subprocess.run([os.environ['MAKE_FLEET'], *words], capture_output=True, text=True, check=True).stdout
    by_day, hung, said = collections.defaultdict(list), collections.Counter(), []
    for line in records.splitlines():
        day = day_of(re.search(r'"start":"([^"]+)"', line).group(1))
        by_day[day].append(line)
        hung[day] += '"state":"TIMEOUT"' in line
    for monday in range(day_of(FIRST), day_of(LAST) + 1, 7):
        new = [line for day in sorted(by_day) if day < monday for line in by_day.pop(day)]
        fleet('ingest', '-', '--db', place + '/f.db', input='\n'.join(new))
        out = json.loads(fleet('monday', '--db', place + '/f.db', '--until', text_of(monday), '--json'))
        said.append((monday, out, sum(hung[day] for day in range(monday - 7, monday))))
    with open(place + '/truth.json', encoding='utf-8') as f:
        return said, json.load(f)


def matters(said):
    """{(kind, name): days of the Mondays that name it}"""
    named = collections.defaultdict(list)
    for monday, out, _ in said:
        for s in out['sentences']:
            for letter in s['letters']:
                text = ' '.join(letter['text'].split())
                found = {'node': r'on node (\S+) than', 'program changed': r'since \S+ (\S+) is \d', 'user changed': r'Dear (\S+),', 'little useful': r'Dear (\S+),', 'idle': r'Dear (\S+),'}
                for name in re.findall(found[s['kind']], text) if s['kind'] in found else []:
                    named[s['kind'], name].append(monday)
    return named


def planted(truth):
    """{(kind, name): (its first day, its last day)}"""
    begin, end = day_of(FIRST) - 7, day_of(LAST)
    all_of_it = {('node', n): (begin, end) for n in truth['slow']}
    all_of_it.update({('node', n): (d, d + 28 if truth['kinds'][n] == 'repaired' else end) for n, d in truth['faults'].items()})
    all_of_it.update({('program changed', os.path.basename(p)): (x['day'], end) for p, x in truth['regressions'].items()})
    all_of_it.update({('little useful', u): (begin, end) for u in truth['wasteful']})
    all_of_it.update({('idle', u): (begin, end) for u in truth['idle']})
    return all_of_it


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as place:
        said, truth = mondays(place)
    named, known = matters(said), planted(truth)
    t.equal('so much is planted', (len(known), sorted(set(truth['kinds'].values()))), (25, ['afternoon', 'drift', 'repaired', 'since', 'some programs']))
    t.equal('and each program has jobs that can show it', {p: x for p, x in truth['regressions'].items() if min(x['before'], x['after']) < JOBS_LEAST}, {})
    missed = [m for m in known if m not in named]
    others = [(m, day) for m in sorted(set(named) - set(known)) for day in named[m] if m[0] != 'little useful' or day not in truth['little useful'].get(m[1], [])]
    print('# %d of %d are named, and %d others' % (len(known) - len(missed), len(known), len({m for m, _ in others})))
    t.check('of what is planted 95 % are said', len(missed) <= 0.05 * len(known), missed)
    late = {m: (text_of(known[m][0]), text_of(named[m][0])) for m in named if m in known and named[m][0] > known[m][0] + 7 + NOTICED_DAYS}
    t.equal('within five Mondays', late, {})
    t.equal('nothing that was not', [(m, text_of(day)) for m, day in others], [])
    early = [m for m in named if m in known and named[m][0] <= known[m][0]]
    t.equal('nothing before it was', early, [])
    t.equal('nor when it has been repaired', [m for m in named if m in known and named[m][-1] > known[m][1] + 7], [])
    hung = [(text_of(day), n, [s for s in out['sentences'] if s['kind'] == 'hung']) for day, out, n in said]
    count = lambda sentences: sum(int(re.search(r'in the week from [-\d]+ to [-\d]+, (\d+) of your jobs', ' '.join(l['text'].split()))[1]) for s in sentences for l in s['letters'])
    t.equal('each job that hung is told to its user', [(day, n, count(s)) for day, n, s in hung if count(s) != n or n < 15], [])
    t.check('never more than ten sentences', max(len(out['sentences']) for _, out, _ in said) <= 10)
    t.equal('nor more to save than there was', [text_of(day) for day, out, _ in said if not 0 < out['could_be_saved'] < out['core_hours']], [])
    t.end()


main()
