#!/usr/bin/env python3
"""diff.py - what `mpitrace diff` says of programs of which the difference is known: where a delay was put in, nothing where there
is none, how a program scales; and what it says when it cannot tell. GENERATE: the generator of tests/bench."""
import json
import os
import subprocess

import contract
from trace import MPITRACE, PROGRAMS, Place, Tests, shown, two_nodes

GENERATE = os.environ['GENERATE']
STEPS, LATE_MS, SENT_LATE_MS, RANKS = 12, 15, 60, 4
REPEATS, MOST = 5, 25 # runs a side: more are made while the tool says that more would show it, as on a busy machine
MOVED = 7 # lines
TABLES = ('time', 'efficiency', 'operations', 'callsites', 'wait_states', 'wait_sites')


def diff(*words):
    """The object, which keeps its schema."""
    out = subprocess.run([MPITRACE, 'diff', *words, '--json'], capture_output=True, text=True)
    if out.returncode != 0:
        raise ValueError('diff %s: %s' % (words, out.stderr))
    d = json.loads(out.stdout)
    wrong = contract.errors(d, name='diff')
    if wrong:
        raise ValueError('diff %s breaks docs/diff.schema.json:\n%s' % (words, '\n'.join(wrong)))
    return d


def text(*words):
    return subprocess.run([MPITRACE, 'diff', *words], capture_output=True, text=True).stdout


def row(d, table, **keys):
    found = [r for r in d[table] if all(r[k] == v for k, v in keys.items())]
    return found[0] if found else dict.fromkeys(('id', 'matched', 'significant', 'function', 'b_s', 'a_line', 'b_line', 'change_s'))


def named(d):
    """Everything that is called beyond noise."""
    return [(table, r.get('op') or r.get('metric') or r.get('state')) for table in TABLES for r in d[table] if r['significant']]


def judged(d):
    return [r for table in TABLES for r in d[table] if r['significant'] is not None]


# ---- a known delay ----

def moved_program(place):
    """The program with everything some lines further down, in a file of another name, and with a call more."""
    with open(PROGRAMS + '/delayed.c') as f:
        source = f.read()
    with open(place.dir + '/delayed_more.c', 'w') as f:
        f.write('/* moved */\n' * MOVED + source)
    program = place.dir + '/delayed_more'
    subprocess.run(['mpicc.' + place.flavour, '-g', '-O1', '-DMORE', '-o', program, program + '.c'], check=True)
    return program


def runs(place, names, program, *args):
    """One trace for each name."""
    for name in names:
        run = place.traced(RANKS, program, *args, name=name)
        if run.returncode != 0:
            raise ValueError('%s: %s' % (name, run.stderr))
    return ['%s/out/%s.mpix' % (place.dir, name) for name in names]


def shown_by_enough(place, program, more):
    """Runs without and with a delay, in turns, so that what else the machine does is no difference: until it stands out."""
    before, after = [], []
    while len(before) < MOST:
        for i in range(len(before), len(before) + REPEATS):
            before += runs(place, ['a%d' % i], program, str(STEPS))
            after += runs(place, ['b%d' % i], more, str(STEPS), '0', str(LATE_MS))
        d = diff(*before, '--', *after)
        judged_by = (d['time'][0], row(d, 'callsites', op='MPI_Allreduce', matched='order'), d['wait_sites'][0], row(d, 'efficiency', metric='load_balance'))
        if all(r['significant'] for r in judged_by):
            break
        if not any((r.get('runs_needed') or 0) > len(before) for r in judged_by if not r['significant']):
            break # it does not say that more would show it
    return before, after


def late_residual(t, before, after):
    d = diff(*before, '--', *after)
    want_s = STEPS * LATE_MS / 1000
    region, site, wait = d['time'][0], row(d, 'callsites', op='MPI_Allreduce', matched='order'), d['wait_sites'][0]
    t.check('a delay: the region is longer by it, beyond noise', region['significant'] and 0.8 * want_s < region['change_s'] < 10 * want_s, region)
    t.check('a delay: the call site that waits is the first of all', d['callsites'][0] is site and site['function'] == 'residual' and
            site['significant'], d['callsites'][:2])
    t.equal('a delay: it is found although file and line are others', (site['b_line'] or 0) - (site['a_line'] or 0), MOVED)
    t.check('a delay: so is its waiting, by as much as it waits', wait['state'] == 'wait_at_nxn' and wait['callsite'] == site['id'] and wait['significant'] and
            0.7 * want_s < wait['change_per_rank_s'] < 10 * want_s, wait)
    t.check('a delay: load balance is worse beyond noise', row(d, 'efficiency', metric='load_balance')['significant'], d['efficiency'])
    t.equal('a call more is named as such', [(r['function'], r['b_sites'], r['a_sites']) for r in d['callsites'] if r['matched'] == 'only_b'],
            [('residual', 1, 0)])
    same = [r['change_per_rank_s'] for r in d['callsites'] if r['function'] == 'pass_on']
    t.check('a delay: where nothing changed, there is little', len(same) == 3 and max(same) < 0.3 * max(want_s, site['change_per_rank_s']), same)
    issues = [i for name in ('new', 'changed') for i in d['issues'][name] if i['issue'] == 'synchronization_heavy']
    t.check('a delay: the issue is new or larger', issues and issues[0]['b_runs'] == len(after) and issues[0]['change_s'] > 0.5 * want_s * (RANKS - 1), d['issues'])
    t.check('the text says so', 'beyond noise' in text(*before, '--', *after).split('\n\n')[1], text(*before, '--', *after))
    back = diff(*after, '--', *before)
    t.check('the other way round it is a gain', abs(back['time'][0]['change_s'] + region['change_s']) < 1e-9 and back['issues']['gone'] == [
        dict(i, a_runs=i['b_runs'], b_runs=0, a_loss_s=i['b_loss_s'], b_loss_s=0, change_s=-i['change_s']) for i in d['issues']['new']], back['issues'])


def late_send(t, before, after):
    """One run a side: found, but never called beyond noise."""
    d = diff(before, after)
    want_s, site = STEPS * SENT_LATE_MS / 1000, row(d, 'callsites', op='MPI_Wait')
    wait = row(d, 'wait_sites', state='late_sender', callsite=site['id'])
    t.check('a late send: the Wait, on its line, waits for it once', site['matched'] == 'line' and 0.7 * want_s < (wait['change_s'] or 0) < 10 * want_s,
            d['wait_sites'])
    t.check('one run a side: nothing is judged, and that is said', not judged(d) and not d['noise']['known'] and 'not known' in d['noise']['method'], d['noise'])
    t.check('one run a side: the text calls nothing beyond noise', 'beyond noise' not in text(before, after) and 'not known' in text(before, after),
            text(before, after))


def of_one_loop(place, program):
    """A run that is late in each iteration, one in the second half. Where others have the processors, iterations can be so unlike that they are
    no loop to the analysis, and that is right; so they are run again."""
    for i in range(5):
        both = runs(place, ['d%d' % i], program, str(STEPS), '0', str(SENT_LATE_MS)) + runs(place, ['e%d' % i], program, str(STEPS), '0', str(SENT_LATE_MS), str(STEPS // 2))
        if diff(*both)['iterations']:
            break
    return both


def late_half(t, before, after):
    """All iterations are late before, the second half after: they are told apart, whatever the machine did to the run as a whole."""
    rows = diff(before, after)['iterations']
    t.equal('iteration by iteration: all are there, in order', [(r['from'], r['iterations']) for r in rows], [(i, 1) for i in range(STEPS - 1)])
    half = STEPS // 2
    mean = lambda some: sum(r['change'] for r in some) / max(1, len(some))
    t.check('iteration by iteration: those of the second half take more of their run, those of the first less',
            mean(rows[:half - 1]) < -0.2 and mean(rows[half:]) > 0.2, [(r['from'], r['a'], r['b']) for r in rows])
    t.check('one run a side: no iteration is judged', {r['significant'] for r in rows} == {None}, rows)


def one_against_many(t, before, after):
    d = diff(*before, '--', after)
    t.check('many against one: judged by the noise of the many', d['noise']['known'] and d['time'][0]['significant'] and
            d['time'][0]['b_spread_s'] is None, d['time'])


def page(t, place, before, after):
    html = place.dir + '/changed.html'
    code = subprocess.run([MPITRACE, 'diff', *before, '--', *after, '--html', html]).returncode
    with open(html, encoding='utf-8') as f:
        said = f.read()
    t.check('the page has the section', code == 0 and 'id="diff"' in said and 'beyond noise' in said and 'was line' in said, said[:200])
    t.check('the report of one run has none', 'id="diff"' not in open(before[0].replace('.mpix', '.html'), encoding='utf-8').read())


# ---- what cannot be told ----

def parts(t, place, whole):
    """A record without one node's file; one with no single calls."""
    step = two_nodes(place, place.dir + '/delayed', '5')
    full = subprocess.run([MPITRACE, 'analyze', step.out, '-o', step.out + '/full.mpix'], capture_output=True).returncode
    os.remove(step.out + '/n2.mpic')
    step.analysis()
    d = diff(*whole, '--', step.out + '/job.mpix')
    t.check('a node is missing: said, and nothing is judged', full == 0 and any('2 of 4 ranks' in n for n in d['notes']) and not judged(d) and
            not d['noise']['known'], d['notes'])
    t.equal('a node is missing: a rank that is there counts as one', d['b']['files'][0]['ranks_seen'], 2)
    a = shown(whole[0])
    a['coverage']['events'] = 0
    with open(place.dir + '/profile.json', 'w') as f:
        json.dump(a, f)
    d = diff(whole[0], place.dir + '/profile.json')
    t.check('no single calls: waiting is not known, not zero', [r['b_s'] for r in d['wait_states']] == [None] * len(d['wait_states']) and d['wait_states'] and
            row(d, 'time', metric='wait')['b_s'] is None and any('no single calls' in n for n in d['notes']), d['notes'])
    a['issues'] = []
    with open(place.dir + '/profile.json', 'w') as f:
        json.dump(a, f)
    a['coverage']['events'] = 1000
    a['issues'] = [{'issue': 'deadlock', 'loss_s': 1}, {'issue': 'load_imbalance', 'loss_s': 2}] # one that totals cannot show, one that they can
    with open(place.dir + '/issues.json', 'w') as f:
        json.dump(a, f)
    back, forth = (diff(place.dir + x, place.dir + y)['issues'] for x, y in (('/issues.json', '/profile.json'), ('/profile.json', '/issues.json')))
    t.equal('no single calls: an issue that needs them is neither new nor gone', [{k: [i['issue'] for i in v] for k, v in d.items() if v} for d in (back, forth)],
            [{'gone': ['load_imbalance'], 'unknown': ['deadlock']}, {'new': ['load_imbalance'], 'unknown': ['deadlock']}])
    said = text(place.dir + '/profile.json', place.dir + '/issues.json')
    t.check('no single calls: the text says so, and no gain or loss of it', 'Only one side can show (the other has no single calls): ranks in a deadlock\n' in said and '  new     uneven work between ranks (+2' in said, said)
    html = place.dir + '/unknown.html' # of traces, as a page carries one
    subprocess.run([MPITRACE, 'diff', place.dir + '/profile.json', whole[0], '--html', html])
    with open(html, encoding='utf-8') as f:
        t.check('no single calls: the page does not say that no waiting changed', 'Waiting that changed most: not known of all runs.' in f.read(), html)
    with open(place.dir + '/same.json', 'w') as f:
        json.dump(shown(whole[0]), f)
    one, two = diff(whole[0], whole[1]), diff(place.dir + '/same.json', whole[1])
    t.equal('an analysis as JSON is as good as the trace', {k: v for k, v in one.items() if k not in ('a', 'notes')},
            {k: v for k, v in two.items() if k not in ('a', 'notes')})


def hostile(t, place):
    """Texts that try to break out, in a terminal."""
    with open(os.path.dirname(PROGRAMS) + '/corpus/analysis/hostile.json', encoding='utf-8') as f:
        a = json.load(f)
    a['schema'] = 'mpitrace/analysis/1'
    for r in a['callsites'][1:]: # short enough for a column
        r.update(op='MPI_Send', function='\x9b31m\u202ef', function_short='\x9b31m\u202ef', module_short='m', file=None, line=None)
    for name, factor in (('one', 1), ('two', 5)):
        for r in a['callsites'] + a['operations']:
            r['time_s'] *= factor
        with open('%s/%s.json' % (place.dir, name), 'w') as f:
            json.dump(a, f)
    said = text(place.dir + '/one.json', place.dir + '/two.json')
    t.check('hostile names do nothing to a terminal', 'Call sites' in said and not any(ord(c) < 32 and c != '\n' or 127 <= ord(c) < 160 or c == '\u202e' for c in said), repr(said[:3000]))


def refused(t, place, good, other_ranks):
    cut, empty = place.dir + '/cut.mpix', place.dir + '/empty.json'
    with open(good, 'rb') as f, open(cut, 'wb') as g:
        g.write(f.read()[:-50])
    with open(empty, 'w') as f:
        f.write('{}')
    for what, words, code, says in (
            ('one file', [good], 2, 'two files'), ('no file', [], 2, 'two files'), ('nothing behind --', [good, '--'], 2, 'no file before or after'),
            ('three runs of as many ranks', [good, good, good], 2, 'put -- between'), ('an unknown option', [good, good, '--no'], 2, 'unknown option'),
            ('neither strong nor weak', [good, good, '--scaling', 'big'], 2, 'strong or weak'), ('no such file', [good, place.dir + '/none'], 3, 'No such file'),
            ('a trace that is cut', [good, cut], 3, cut), ('JSON that is no analysis', [empty, good], 3, 'no analysis of a run'),
            ('a program', [good, MPITRACE], 3, MPITRACE), ('a group of different ranks', [good, other_ranks, '--', good], 3, 'do not repeat each other'),
            ('a page that cannot be written', [good, good, '--html', place.dir + '/none/x.html'], 3, 'none')):
        run = subprocess.run([MPITRACE, 'diff', *words], capture_output=True, text=True)
        lines = run.stderr.splitlines()
        t.check('%s: one clear error' % what, run.returncode == code and run.stdout == '' and len(lines) == (2 if code == 2 else 1) and says in lines[0], run)


# ---- generated traces: the same bytes every time ----

def generated(place, pattern, ranks, seed, events=3000):
    name = '%s/%s-%d-%d-%d' % (place.dir, pattern, ranks, seed, events)
    if not os.path.exists(name + '.mpix'):
        subprocess.run([GENERATE, '--pattern', pattern, '--ranks', str(ranks), '--nodes', '2', '--events-per-rank', str(events), '--seed', str(seed),
                        '-o', name], capture_output=True, check=True)
        subprocess.run([MPITRACE, 'analyze', name, '-o', name + '.mpix'], capture_output=True, check=True)
    return name + '.mpix'


def noise(t, place):
    for pattern in ('halo', 'irregular', 'alltoall'):
        d = diff(*(generated(place, pattern, 8, s) for s in (1, 2, 3)), '--', *(generated(place, pattern, 8, s) for s in (4, 5, 6)))
        t.check('%s, three against three of the same: judged' % pattern, d['noise']['known'] and len(judged(d)) > 10, judged(d))
        t.equal('%s, three against three of the same: nothing beyond noise' % pattern, named(d), [])
    longer = diff(*(generated(place, 'halo', 8, s) for s in (1, 2, 3)), '--', *(generated(place, 'halo', 8, s, 6000) for s in (4, 5, 6)))
    t.check('twice as many steps: beyond noise', longer['time'][0]['significant'] and ('operations', 'MPI_Isend') in named(longer), named(longer))
    same = diff(generated(place, 'halo', 8, 1), generated(place, 'halo', 8, 1))
    t.check('a run against itself: no difference', all(not r.get('change_s') and not r.get('change') for table in TABLES for r in same[table]), same)


def near(a, b):
    return abs(a - b) < 1e-9 * max(abs(a), abs(b), 1e-9)


def scaling(t, place):
    paths = [generated(place, 'halo', ranks, seed) for ranks, seed in ((16, 1), (4, 1), (8, 1), (4, 2))]
    d = diff(*paths)
    rows = d['scaling']['rows']
    t.equal('different ranks without --: grouped by ranks, the fewest first', [(r['ranks'], r['runs']) for r in rows], [(4, 2), (8, 1), (16, 1)])
    a = {r: [shown(p)['efficiency'] for p in paths if '-%d-' % r in p] for r in (4, 8, 16)}
    mean = lambda r, key: sum(e[key] for e in a[r]) / len(a[r])
    for r in rows:
        strong = mean(4, 'useful_mean_s') * 4 / (mean(r['ranks'], 'useful_mean_s') * r['ranks'])
        t.check('%d ranks: computation scaling' % r['ranks'], near(r['strong']['computation_scaling'], strong) and
                near(r['weak']['computation_scaling'], strong * r['ranks'] / 4), r)
        t.check('%d ranks: global efficiency and speedup' % r['ranks'], near(r['strong']['global_efficiency'], strong * mean(r['ranks'], 'parallel')) and
                near(r['strong']['speedup'], mean(4, 'region_s') / mean(r['ranks'], 'region_s')) and
                near(r['weak']['speedup'], r['strong']['speedup'] * r['ranks'] / 4), r)
    t.check('different ranks: said, and times are also a rank\'s', any('on 4 ranks' in n for n in d['notes']) and
            near(d['operations'][0]['b_per_rank_s'], d['operations'][0]['b_s'] / 16), d['notes'])
    t.check('said to be strong: no weak reading', [r['weak'] for r in diff(*paths, '--scaling', 'strong')['scaling']['rows']] == [None] * 3)
    t.check('as many ranks: no scaling', diff(paths[1], paths[3])['scaling'] is None)


def main():
    t = Tests()
    with Place('openmpi') as place:
        program, more = place.compile('delayed.c'), moved_program(place)
        before, after = shown_by_enough(place, program, more)
        late, = runs(place, ('c1',), program, str(STEPS), str(SENT_LATE_MS))
        late_residual(t, before, after)
        late_half(t, *of_one_loop(place, program))
        late_send(t, before[0], late)
        one_against_many(t, before, late)
        page(t, place, before, after)
        parts(t, place, before)
        noise(t, place)
        scaling(t, place)
        hostile(t, place)
        refused(t, place, before[0], generated(place, 'halo', 8, 1))
    t.end()


main()
