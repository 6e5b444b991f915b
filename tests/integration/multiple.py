#!/usr/bin/env python3
"""multiple.py - programs whose threads call MPI for a known time: no time counts twice, no share is above one, and a thread that
only polls makes its rank neither busy nor idle."""
import html
import re
import subprocess

import agree
from trace import FLAVOURS, MPITRACE, Place, Tests

WAIT_S = 0.3


def case(place, program, name):
    run = place.traced(2, program, name, name=name)
    if run.returncode != 0:
        raise RuntimeError('%s %s: %s' % (place.flavour, name, run.stderr.decode(errors='replace')))
    return place.analysis(name)


def near(value, truth, above=0.25):
    return truth * 0.8 <= value <= truth + above # others may hold the processor


def shares(t, who, a):
    """Whatever is called a share has a whole that it is a part of."""
    whole = a['summary'].get('threads_s', sum(r['useful_s'] + r['mpi_s'] + r['tracing_s'] for r in a['per_rank']))
    region = a['efficiency']['region_s']
    for r in a['per_rank']:
        t.check('%srank %d: waiting is a part of MPI, MPI of the region' % (who, r['rank']), r['wait_s'] <= r['mpi_s'] <= region + 1e-6, r)
        for x in r.get('threads', []):
            t.check('%srank %d, thread %d: so it is of each thread' % (who, r['rank'], x['thread']),
                    x['wait_s'] <= x['mpi_s'] + 1e-9 and x['mpi_s'] <= x['span_s'] + 1e-9 <= region + 1e-6, x)
    inside = [o for o in a['operations'] if o['op'] not in ('MPI_Init_thread', 'MPI_Finalize')]
    t.check(who + 'all operations together are at most all of the time', sum(o['time_s'] for o in inside) <= whole, (inside, whole))
    t.check(who + 'so are all waits', sum(w['seconds'] for w in a['wait_totals'] if w['state'] != 'late_sender_wrong_order') <= whole, whole)
    t.check(who + 'and what issues lose', all(i['loss_s'] <= i.get('loss_of_s', whole) for i in a['issues']), a['issues'])


def workers(t, who, a):
    r = a['per_rank'][0]
    t.equal(who + 'all threads of rank 0 count', (r.get('time_of'), len(r.get('threads', []))), ('all_threads', 3))
    t.check(who + 'two threads that wait at the same time wait once', near(r['mpi_s'], WAIT_S), r)
    waiting = [x for x in r['threads'] if x['wait_s'] > WAIT_S / 2]
    t.equal(who + 'both wait, each in its own time', len(waiting), 2)
    t.check(who + 'thread seconds are more than the region', r['threads_s'] > 1.5 * a['efficiency']['region_s'], r)
    t.check(who + 'there is no progress thread', all(x['role'] == 'worker' for x in r['threads']), r)


def progress(t, who, a):
    r = a['per_rank'][0]
    roles = [x['role'] for x in r.get('threads', [])]
    t.equal(who + 'the thread that polls is known', (r.get('time_of'), sorted(roles)), ('one_thread', ['progress', 'worker']))
    t.check(who + 'the rank computes while it polls', near(r['useful_s'], WAIT_S), r)
    t.check(who + 'the load is even', a['efficiency']['load_balance'] > 0.7, a['efficiency'])


def single(t, who, a):
    r = a['per_rank'][0]
    t.check(who + 'nothing is said of threads', 'threads' not in r and 'threads_s' not in a['summary'], r)
    t.check(who + 'the first waits for the second', near(r['wait_s'], WAIT_S), r)


def shares_shown(text):
    """Of the functions, by name, as `mpitrace show` prints them."""
    rows = agree.columns(text, 'Where the time went', (2, 24, 38, 50, 59))
    return {name: share.replace(' ', '') for name, _, _, share in rows if share != '-'}


def shares_of_page(text):
    table = text[text.index('MPI operations, most time first'):].split('</table>')[0]
    rows = re.findall(r'<th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', table, re.S)
    cells = {re.sub('<[^>]*>', '', name).strip(): re.findall(r'<td class="n">(.*?)</td>', rest) for name, rest in rows}
    cells = {name: html.unescape(row[1]) for name, row in cells.items() if '%' in html.unescape(row[1])}
    return {name: re.sub(r'\s', '', share) for name, share in cells.items()}


def page(t, who, place, name, a):
    """The report and the summary name whose time their shares are of."""
    mpix = '%s/out/%s.mpix' % (place.dir, name)
    path = place.dir + '/page.html'
    subprocess.run([MPITRACE, 'report', mpix, '-o', path], check=True)
    text = open(path).read()
    shown = subprocess.run([MPITRACE, 'show', mpix], capture_output=True, text=True, check=True).stdout
    several = 'threads_s' in a['summary']
    t.equal(who + 'the page has a table of threads, if there are several', 'Thread by thread' in text, several)
    t.equal(who + 'the summary says whose time it is', 'share of all threads' in shown, several)
    t.check(who + 'the summary has shares', len(shares_shown(shown)) > 0, shown)
    t.equal(who + 'both have the same shares', shares_shown(shown), shares_of_page(text))
    if name == 'progress':
        t.check(who + 'the page names the progress thread', 'progress thread</td>' in text, len(text))


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('multiple.c', '-pthread')
            for name, check in (('workers', workers), ('progress', progress), ('single', single)):
                who = '%s, %s: ' % (flavour, name)
                a = case(place, program, name)
                check(t, who, a)
                shares(t, who, a)
                page(t, who, place, name, a)
    t.end()


main()
