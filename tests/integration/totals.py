#!/usr/bin/env python3
"""totals.py - a page is there before anybody has looked at the events: it has the numbers of the whole analysis, says what it does not
know and how much was not looked at, and gives way to the whole one. GENERATE: the generator."""
import fcntl
import glob
import json
import math
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time

import contract
from trace import FLAVOURS, MPITRACE, Place, Tests

GENERATE = os.environ['GENERATE']
DONE, BAD_INPUT, PARTIAL, LATER = 0, 3, 4, 5
HEADER, MAGIC, EVENTS, SAMPLE, META = 40, b'MPBK', 3, 7, 1
BUDGET = '0.001' # seconds: for any number of events too few

# What the object from totals says of itself.
ITS_OWN = {('job', 'state'), ('coverage',), ('efficiency', 'note'), ('verdict',), ('issues',)}
# What only events tell of requests that are started again and again, and of calls that carry their own details; then it is said.
STARTED = {('summary',), ('operations', 'bytes'), ('per_rank',), ('matrix',), ('traffic_levels',), ('traffic_places',), ('message_sizes',),
           ('callsites', 'bytes'), ('top_ranks_by_out_bytes',), ('top_ranks_by_in_bytes',), ('top_ranks_by_touch_bytes',), ('top_links',)}
CARRIED = {('callsites',), ('communicators',)}
DIVIDED = {('message_sizes',)}


def analyze(path, *words):
    return subprocess.run([MPITRACE, 'analyze', path, *words, '--json'], capture_output=True)


def both(path):
    """From totals, and whole."""
    return json.loads(analyze(path, '--totals').stdout), json.loads(analyze(path).stdout)


def same(a, b):
    number = isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool)
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) if number else a == b


def different(totals, whole, but, at=()):
    """Fields of the one from totals that the whole one has otherwise, or not at all."""
    if any(at[:len(path)] == path for path in but):
        return []
    if isinstance(totals, dict) and isinstance(whole, dict):
        return [d for k in totals for d in (different(totals[k], whole[k], but, at + (k,)) if k in whole else [(at + (k,), 'more')])]
    if isinstance(totals, list) and isinstance(whole, list) and len(totals) == len(whole):
        return [d for x, y in zip(totals, whole) for d in different(x, y, but, at)]
    return [] if same(totals, whole) else [(at, totals, whole)]


def agrees(t, who, path, but=frozenset()):
    totals, whole = both(path)
    coverage = totals['coverage']
    t.equal(who + ': from totals and whole all counts, bytes and times are equal', different(totals, whole, ITS_OWN | but)[:8], [])
    t.equal(who + ': what needs events is not there, all else is', contract.errors(totals), [])
    t.equal(who + ': it says how many events were not looked at', (coverage['mode'], coverage['events_not_analysed'], coverage['complete']),
            ('totals', whole['coverage']['events'], False))
    t.check(who + ': and in how many bytes', sum(map(os.path.getsize, files_of(path))) > coverage['event_bytes_not_analysed'] > 0, coverage)
    t.equal(who + ': else it is as whole as the record', coverage['totals_complete'], whole['coverage']['complete'])
    return totals, whole


def files_of(path):
    return glob.glob(path + '/*.mpic') if os.path.isdir(path) else [path]


def generate(folder, pattern, ranks, nodes, events):
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([GENERATE, '--pattern', pattern, '--ranks', str(ranks), '--nodes', str(nodes), '--events-per-rank', str(events), '-o',
                    folder], capture_output=True, check=True)
    return folder


def said(totals, words):
    return [r for r in totals['coverage']['reasons'] if words in r]


def generated(t, folder):
    for pattern in ('halo', 'master', 'self'):
        agrees(t, pattern, generate(folder + '/t', pattern, 7, 3, 3000))
    totals, whole = agrees(t, 'alltoall', generate(folder + '/t', 'alltoall', 7, 3, 3000), DIVIDED)
    t.check('alltoall: that bytes are divided among calls is said', said(totals, 'only their partners record'), totals['coverage'])
    t.equal('alltoall: and their sum is exact', *(sum(r['collective_bytes'] for r in a['message_sizes']) for a in (totals, whole)))
    totals, whole = agrees(t, 'irregular', generate(folder + '/t', 'irregular', 7, 3, 3000), STARTED)
    t.check('irregular: that starts of persistent requests are not known is said', said(totals, '14 persistent requests'), totals['coverage'])
    t.equal('irregular: what they moved is not known, and not 0', [o['bytes'] for o in totals['operations'] if o['op'] == 'MPI_Startall'], [None])
    t.check('irregular: and no message is made up', 0 < totals['summary']['messages_sent'] < whole['summary']['messages_sent'],
            (totals['summary'], whole['summary']))


def programs(t, place):
    for source, but in (('counts_coll.c', DIVIDED), ('counts_io.c', set()), ('counts_comms.c', CARRIED), ('counts_p2p.c', STARTED),
                        ('ends.c', set())):
        run = place.traced(4, place.compile(source), place.dir, name=source, TRUTH=place.dir + '/truth')
        path, = glob.glob('%s/out/%s.mpic' % (place.dir, source))
        t.check(source + ' runs', run.returncode == 0, run.stderr.decode())
        agrees(t, '%s under %s' % (source, place.flavour), path, but)
    place.traced(4, place.compile('deaths.c'), 'segv', name='died')
    totals, _ = agrees(t, 'a rank that dies under ' + place.flavour, place.dir + '/out/died.mpic')
    t.check('a rank that dies: it is said', [i for i in totals['issues'] if i['issue'] == 'death'], totals['issues'])
    step = generate(place.dir + '/t', 'halo', 4, 1, 100)
    shutil.copy(place.dir + '/out/died.mpic', step)
    run = finish(step)
    t.check('files of two steps: the page says so', run.returncode == BAD_INPUT and 'are of different steps' in page_of(step), run)


def own_tags(t, place):
    """More tags than the tracer's table holds: of the others only events have size and partner. They are not missing for that, unless the
    events are."""
    program, n = place.compile('own_tags.c'), 100000
    for name, words, options in (('tags', 'in the events', []), ('tags-profile', 'only in the totals', ['--profile'])):
        who = '%s under %s' % (name, place.flavour)
        run = subprocess.run([MPITRACE, 'run', '-n', '1', *options, '--out', place.dir + '/out', '--name', name, '--', program, str(n)],
                             env=place.env, cwd=place.dir, capture_output=True)
        step = '%s/step-%s' % (place.dir, name)
        os.mkdir(step)
        shutil.copy('%s/out/%s.mpic' % (place.dir, name), step)
        totals, whole = agrees(t, who, step, STARTED | CARRIED) if name == 'tags' else both(step)
        is_whole, reasons = name == 'tags', said(totals, 'of new sizes or tags')
        t.equal(who + ': from totals the trace is as whole as it is', (run.returncode, whole['coverage']['complete'],
                totals['coverage']['totals_complete'], analyze(step, '--totals').returncode), (0, is_whole, is_whole, DONE if is_whole else PARTIAL))
        left = [int(x.replace(',', '')) for x in re.findall(r'([\d,]+) messages', ' '.join(reasons))]
        t.check(who + ': where the sizes and partners of how many messages are is said', len(reasons) == 1 and words in reasons[0] and
                left == [n - totals['summary']['messages_sent']], (totals['coverage'], totals['summary']))
        t.equal(who + ': a page from totals is made', (finish(step, '--budget', BUDGET).returncode, is_from_totals(page_of(step))), (LATER, True))
        t.equal(who + ': and that the trace is partial is in the log if it is', ': partial' in log_of(step), not is_whole)


def blocks(data):
    """Kind, offset of the payload and its length, of each."""
    at = 16
    while at + HEADER <= len(data):
        packed, = struct.unpack_from('<I', data, at + 28)
        yield data[at + 4], at + HEADER, packed
        at += HEADER + packed


def spoil(path, kinds):
    with open(path, 'r+b') as f:
        data = bytearray(f.read())
        n = 0
        for kind, at, packed in list(blocks(bytes(data))):
            if kind in kinds:
                data[at:at + packed] = bytes(255 - b for b in data[at:at + packed])
                n += 1
        f.seek(0)
        f.write(data)
    return n


def looks_at_no_event(t, folder):
    path, = files_of(generate(folder + '/t', 'halo', 4, 1, 20000))
    before = analyze(path, '--totals').stdout
    n = spoil(path, (EVENTS, SAMPLE))
    t.check('with every event spoilt the totals are the same', n >= 4 and analyze(path, '--totals').stdout == before, n)
    spoilt = analyze(path)
    t.check('and the whole analysis says that they are', spoilt.returncode == PARTIAL and b'damaged' in spoilt.stdout, spoilt.stdout[:300])


def finish(folder, *words):
    return subprocess.run([MPITRACE, 'finish', folder, *words], capture_output=True)


def page_of(folder):
    with open(folder + '/report.html', encoding='utf-8') as f:
        return f.read()


def is_from_totals(page):
    return 'class="totals"' in page and '</html>' in page


def log_of(folder):
    with open(folder + '/log.txt', encoding='utf-8') as f:
        return f.read()


def two_stages(t, folder):
    step = generate(folder + '/t', 'halo', 8, 2, 20000)
    events = '%s events' % format(json.loads(analyze(step, '--totals').stdout)['coverage']['events_not_analysed'], ',')
    run = finish(step, '--budget', BUDGET)
    page = page_of(step)
    t.equal('a report that would take too long: it is left for later', run.returncode, LATER)
    t.check('a report that would take too long: there is a page from totals', is_from_totals(page), sorted(os.listdir(step)))
    t.check('the page says how many events are not analysed, and what makes it whole', events in page and 'mpitrace finish ' + step in page, page[-200:])
    t.check('waiting is not known on it, and not 0', 'not known</dd>' in page and
            not re.search(r'<dt>of the ranks.{1,20}waiting for others</dt><dd>[0-9]', page), page[:200])
    t.check('the log says it, too', 'report.html is from totals: `mpitrace finish %s` makes it whole' % step in log_of(step), log_of(step))
    t.equal('there is nothing else', sorted(os.path.basename(p) for p in os.listdir(step)), ['log.txt', 'n00000.mpic', 'n00001.mpic', 'report.html'])
    again = finish(step, '--budget', BUDGET)
    t.equal('whoever comes next without time makes no other', (again.returncode, log_of(step).count('report.html from totals after')), (LATER, 1))
    os.mkdir(step + '/job.mpix')
    failed = finish(step)
    t.check('an analysis that fails leaves the page', failed.returncode == BAD_INPUT and page_of(step) == page, failed)
    os.rmdir(step + '/job.mpix')
    whole = finish(step)
    t.check('with time the whole one takes its place', whole.returncode == DONE and not is_from_totals(page_of(step)) and
            os.path.exists(step + '/job.mpix'), whole)
    done = log_of(step)
    t.equal('and nobody makes it again', (finish(step).returncode, log_of(step)), (DONE, done))
    for path in files_of(step): # another program of the same step has added to it
        os.utime(path)
    finish(step, '--budget', BUDGET)
    t.check('a trace that has grown since has a new page', is_from_totals(page_of(step)), sorted(os.listdir(step)))


def killed_between(t, folder):
    """Its mpix is there and its page is not: what is left is the page from totals, and no whole report."""
    step = generate(folder + '/t', 'halo', 4, 1, 2000)
    finish(step, '--budget', BUDGET)
    subprocess.run([MPITRACE, 'analyze', step, '-o', step + '/job.mpix'], check=True)
    t.check('an analysis that is killed before its page leaves that from totals', is_from_totals(page_of(step)))
    run = finish(step)
    t.check('and the next makes the whole one', run.returncode == DONE and not is_from_totals(page_of(step)), run)


def left_in(step):
    return sorted(name for name in os.listdir(step) if name.endswith('.tmp') or name.startswith('.'))


def is_locked(path):
    try:
        with open(path, 'rb+') as f:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def killed_while_writing(t, folder):
    """What a finisher leaves that is killed goes with whoever comes next; what a process still writes stays."""
    step = generate(folder + '/k', 'halo', 8, 1, 100000)
    caught = []
    while not caught:
        finisher = subprocess.Popen([MPITRACE, 'finish', step], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while finisher.poll() is None and not caught:
            caught = glob.glob(step + '/job.mpix.*.tmp')
            os.sched_yield()
        finisher.kill()
        finisher.wait()
        for name in glob.glob(step + '/job.mpix') + glob.glob(step + '/report.html'):
            os.remove(name)
    while any(is_locked(path) for path in caught + [step + '/.finish.lock']): # its child ends with it, and has both
        os.sched_yield()
    t.check('a finisher that is killed leaves its lock and what it was writing', '.finish.lock' in left_in(step) and len(left_in(step)) > 1, left_in(step))
    with open(step + '/job.mpix.1.tmp', 'wb') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        run = finish(step)
        t.equal('the next one makes the report and takes both away, not what is still written', (run.returncode, left_in(step)), (DONE, ['job.mpix.1.tmp']))
    for words, name in ((['analyze', step, '-o', step + '/job.mpix'], 'job.mpix'), (['report', step + '/job.mpix', '-o', step + '/report.html'], 'report.html')):
        with open('%s/%s.77.tmp' % (step, name), 'wb'):
            pass
        subprocess.run([MPITRACE, *words], capture_output=True, check=True)
    t.equal('so do analyze and report of what they write', left_in(step), [])


def damaged(t, folder):
    step = generate(folder + '/t', 'halo', 4, 2, 2000)
    one, other = sorted(files_of(step))
    with open(other, 'wb') as f:
        f.write(os.urandom(1000))
    run = finish(step)
    t.check('a trace that cannot be read: the page has the others, and says so', run.returncode == PARTIAL and not is_from_totals(page_of(step)) and
            os.path.basename(other) in page_of(step) and '2 of 4 ranks' in page_of(step), run)
    shutil.copy(other, one)
    os.remove(step + '/report.html')
    run = finish(step)
    t.check('no trace that can be read: the page says just that', run.returncode == BAD_INPUT and
            'The record of this step cannot be read.' in page_of(step) and 'none can be read' in run.stderr.decode(), run)
    for path in (one, other):
        with open(path, 'wb'):
            pass
    os.remove(step + '/report.html')
    t.check('nor of empty ones', finish(step).returncode == BAD_INPUT and 'cannot be read' in page_of(step))


def twins(t, folder):
    """Two files of one node: an agent that was ended and one that came after it."""
    step = generate(folder + '/t', 'halo', 4, 2, 2000)
    one = sorted(files_of(step))[0]
    twin = one.replace('.mpic', '.2.mpic')
    shutil.copy(one, twin)
    os.truncate(one, os.path.getsize(one) * 3 // 4)
    begin = time.monotonic()
    run = finish(step, '--nodes', '2', '--wait', '600', '--budget', '300')
    t.check('two files of one node: nobody waits for the one that has no end', time.monotonic() - begin < 300, run)
    t.check('the whole one is read, and the page says that the other is left out', run.returncode == PARTIAL and not is_from_totals(page_of(step)) and
            os.path.basename(one) in page_of(step) and 'left out' in page_of(step) and os.path.exists(step + '/job.mpix'), run)


def strangers(t, folder):
    """What nobody has named and nobody can read takes nothing away from what can be."""
    step = generate(folder + '/t', 'halo', 4, 2, 2000)
    for name, make in (('empty.mpic', lambda path: open(path, 'w').close()), ('directory.mpic', os.mkdir), ('fifo.mpic', os.mkfifo),
                       ('dangling.mpic', lambda path: os.symlink('/nonexistent', path)),
                       ('other.mpic', lambda path: shutil.copy(MPITRACE, path))):
        path = step + '/' + name
        make(path)
        run = subprocess.run([MPITRACE, 'analyze', step, '-o', folder + '/s.mpix', '--report', folder + '/s.html'], capture_output=True, text=True)
        with open(folder + '/s.html', encoding='utf-8') as f:
            page = f.read()
        t.check('%s beside the traces of a step: they are read, and it is said' % name, run.returncode == PARTIAL and name in page, run)
        run = subprocess.run([MPITRACE, 'analyze', path, '-o', folder + '/s2.mpix'], capture_output=True, text=True)
        t.check('%s by its name is refused' % name, run.returncode == BAD_INPUT and name in run.stderr, run)
        os.rmdir(path) if name.startswith('directory') else os.remove(path)


def by_hand(t, folder):
    step = generate(folder + '/t', 'halo', 4, 1, 2000)
    run = subprocess.run([MPITRACE, 'analyze', '--totals', step, '--report', folder + '/page.html'], capture_output=True)
    with open(folder + '/page.html', encoding='utf-8') as f:
        t.check('by hand: analyze --totals', run.returncode == DONE and is_from_totals(f.read()), run)
    wrong = subprocess.run([MPITRACE, 'analyze', '--totals', step, '-o', folder + '/t.mpix'], capture_output=True)
    t.check('an .mpix has events: it is refused', wrong.returncode == 2 and b'--totals' in wrong.stderr, wrong)


def main():
    t = Tests()
    folder = tempfile.mkdtemp(prefix='mpitrace-test-')
    generated(t, folder)
    looks_at_no_event(t, folder)
    two_stages(t, folder)
    killed_between(t, folder)
    killed_while_writing(t, folder)
    damaged(t, folder)
    twins(t, folder)
    strangers(t, folder)
    by_hand(t, folder)
    shutil.rmtree(folder, ignore_errors=True)
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            programs(t, place)
            own_tags(t, place)
    t.end()


main()
