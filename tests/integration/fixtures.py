#!/usr/bin/env python3
"""fixtures.py - of every analysis in tests/corpus/analysis, and of some made from them that an honest one would not be, the page and
the terminal say the same numbers in 80 columns; and agree.py would notice if they did not."""
import glob
import json
import os
import subprocess
import tempfile

import agree
from trace import Tests

CORPUS = os.environ['CORPUS']


def run(tool, path):
    return subprocess.run([os.environ[tool], path], capture_output=True, check=True, encoding='utf-8').stdout


def both(analysis):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as f:
        json.dump(analysis, f)
        f.flush()
        return run('REPORT_JSON', f.name), run('SHOW_JSON', f.name)


def compare(t, name, analysis):
    page, text = both(analysis)
    wrong = agree.errors(page, text)
    if name == 'hostile.json':  # of issues, severities too may be anything; names are cut elsewhere
        wrong = [x for x in wrong if x[0] not in ('issues', 'nodes', 'arrivals')]
    t.equal(name + ': page and terminal agree', wrong, [])
    if name != 'hostile.json':
        t.equal(name + ': the terminal needs 80 columns', agree.too_wide(text), [])
    return page, text


def without_events(a):
    a['coverage'].update(events=0, events_lost=sum(r['calls'] for r in a['per_rank']))
    a['wait_states'] = a['wait_totals'] = []
    return a


def nearly_equal(a):
    """All that goes between ranks looks alike in the digits that a scale shows."""
    for cells in [a['matrix']['p2p']] + [level['p2p'] for level in a['traffic_levels']]:
        for i, x in enumerate(cells):
            x['bytes'] = 2736000 + i % 3
    return a


def many_polls(a):
    """Calls are many, events few: a run of tests is one."""
    a['per_rank'][0]['calls'] += 4360687
    return a


def main():
    t = Tests()
    for path in sorted(glob.glob(CORPUS + '/*.json')):
        name = os.path.basename(path)
        with open(path, encoding='utf-8') as f:
            text = f.read()
        analysis = json.loads(text)
        page, shown = compare(t, name, analysis)
        if name == 'halo_issues.json':
            silent, _ = compare(t, name + ' without events', without_events(json.loads(text)))
            t.equal(name + ': waiting that is not analysed is not 0 %', agree.figure(silent, 'of the ranks\u2019 time waiting for others'), 'not known')
            alike, _ = compare(t, name + ' with traffic that looks alike', nearly_equal(json.loads(text)))
            t.check(name + ': its colours are one', 'all equal: 2.61 MiB' in agree.plain(alike), '')
            _, more = compare(t, name + ' with many polls', many_polls(json.loads(text)))
            calls = '{:,}'.format(sum(r['calls'] for r in analysis['per_rank']) + 4360687)
            t.check(name + ': calls are all that were made', calls + ' calls' in more, more)
            other = both(dict(analysis, operations=analysis['operations'][1:]))[0]
            t.check(name + ': a page of another analysis is noticed', agree.errors(other, shown), '')
            t.check(name + ': a share above 100 % is noticed', agree.errors(page, shown + '299 %'), '')
    t.end()


main()
