#!/usr/bin/env python3
"""job_page.py - one page for all steps of a job: each has a row with the numbers of its own page and a link to it, dearest first; what
has no trace is said; names of steps are only text."""
import glob
import html
import os
import re
import shutil
import subprocess
import tempfile

import agree
from trace import MPITRACE, Tests

STEPS = {'step-0': (4, 2, 20), 'step-1': (2, 2, 40), 'step-10': (2, 1, 10), 'step-batch': None, 'step-<script>alert(1)<': (2, 1, 5)}


def make(job):
    for step, shape in STEPS.items():
        os.makedirs('%s/%s' % (job, step))
        if shape:
            path = '%s/%s/' % (job, step)
            subprocess.run([os.environ['MAKE_MPIX'], path + 'job.mpix', *map(str, shape)], check=True)
            subprocess.run([MPITRACE, 'report', path + 'job.mpix', '-o', path + 'report.html'], check=True)


def rows(page):
    body = page.split('<tbody>')[-1].split('</tbody>')[0]
    return [(re.search(r'href="([^"]*)"', row), agree.plain(row)) for row in body.split('<tr>')[1:]]


def page_of(job):
    """What it says of its number of steps; None without a page."""
    if not os.path.exists(job + '/index.html'):
        return None
    with open(job + '/index.html', encoding='utf-8') as f:
        return int(re.search(r'data-steps="(\d+)"', f.read())[1])


def end_step(job, number, trace, *options):
    """As the plugin does when a step is over."""
    step = '%s/step-%d' % (job, number)
    os.makedirs(step, exist_ok=True)
    for path in glob.glob(trace + '/*.mpic'):
        shutil.copy(path, step)
    return subprocess.run([MPITRACE, 'finish', step, *options], capture_output=True, text=True).returncode


def by_itself(t, place):
    """Steps end one after the other: the page is there from the second on, is not made with each, and leaves other files alone."""
    job, trace, steps = place + '/mpitrace-7', place + '/trace', 20
    subprocess.run([os.environ['GENERATE'], '--pattern', 'halo', '--ranks', '4', '--nodes', '1', '--events-per-rank', '50', '-o', trace],
                   capture_output=True, check=True)
    seen = []
    for i in range(steps):
        t.equal('step %d is finished' % i, end_step(job, i, trace), 0)
        seen.append(page_of(job))
    t.equal('with one step there is no page, then one with each of the first', seen[:8], [None] + list(range(2, 9)))
    t.check('then now and then', len(set(seen[8:])) < steps - 8 and seen[-1] >= steps * 4 / 5, seen)
    t.equal('nothing else is left', sorted(x for x in os.listdir(job) if not x.startswith('step-')), ['index.html'])
    t.equal('the epilog finishes a step once more, and the page has all steps', (end_step(job, 0, trace, '--job-is-over'), page_of(job)), (0, steps))
    shutil.copytree(job + '/step-1', job + '/step-99')
    run = subprocess.run([MPITRACE, 'report', '--refresh', job], capture_output=True, text=True)
    t.equal('so it has when it is asked for', (run.returncode, run.stderr, page_of(job)), (0, '', steps + 1))
    before = os.stat(job + '/index.html').st_ino
    subprocess.run([MPITRACE, 'report', '--refresh', job], check=True)
    t.equal('and is not written again', os.stat(job + '/index.html').st_ino, before)
    with open(job + '/index.html', 'w') as f:
        f.write('mine')
    end_step(job, steps, trace)
    with open(job + '/index.html') as f:
        t.equal('a page that somebody else wrote is left alone', f.read(), 'mine')
    os.remove(job + '/index.html')
    os.mkfifo(job + '/index.html')
    t.equal('a FIFO in its place keeps nobody waiting', end_step(job, steps + 1, trace), 0)
    other = place + '/results'
    for i in range(2):
        end_step(other, i, trace)
    t.equal('only directories of jobs get one', page_of(other), None)


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as place:
        job = place + '/mpitrace-42'
        make(job)
        run = subprocess.run([MPITRACE, 'report', job], capture_output=True, text=True)
        t.equal('the page is made', (run.returncode, run.stderr), (0, ''))
        with open(job + '/index.html', encoding='utf-8') as f:
            page = f.read()
        found = rows(page)
        t.equal('each step has a row', len(found), len(STEPS))
        t.check('the one without a trace is last, and says so', 'step-batch no trace' in found[-1][1], found)
        links = [html.unescape(link[1]) for link, _ in found[:-1] if link]
        t.check('links lead to pages', len(links) == len(STEPS) - 1 and
                all(os.path.exists(job + '/' + re.sub(r'%(..)', lambda m: chr(int(m[1], 16)), x)) for x in links), links)
        t.check('a name of a step is only text', '<script' not in page, '')
        for step in ('step-0', 'step-10'):
            with open('%s/%s/report.html' % (job, step), encoding='utf-8') as f:
                own = agree.figure(f.read(), 'of the ranks\u2019 time in MPI')
            row = next(text for _, text in found if text.startswith(step + ' '))
            t.check('%s: MPI has the share of its own page' % step, ' %s ' % own in row, (row, own))
        t.check('no share is above 100 %', not agree.shares('page', agree.plain(re.sub(r'<style>.*?</style>', '', page, flags=re.S))), '')
        run = subprocess.run([MPITRACE, 'report', job, '-o', place + '/other.html'], capture_output=True, text=True)
        with open(place + '/other.html', encoding='utf-8') as f:
            t.equal('-o says where', (run.returncode, f.read() == page), (0, True))
        by_itself(t, place)
        run = subprocess.run([MPITRACE, 'report', place], capture_output=True, text=True)
        t.check('a directory without steps is refused, with what to do', run.returncode == 3 and 'step-' in run.stderr, run)
    t.end()


main()
