#!/usr/bin/env python3
"""golden.py [fixtures|--write]: what `mpitrace show` says of generated traces is what tests/corpus/golden holds, but for times and shares
of them; fixtures: what page, terminal and comparison say and draw of analyses of tests/corpus/analysis, to the last digit. `ninja golden`
writes the files anew: look at the difference before you commit it. GENERATE: the generator, GOLDEN: the folder."""
import difflib
import html
import json
import os
import re
import subprocess
import sys
import tempfile

import agree
from trace import MPITRACE, Tests

GENERATE, GOLDEN = os.environ['GENERATE'], os.environ['GOLDEN']
# Pattern, ranks, nodes, events per rank.
TRACES = (('halo', 16, 2, 400), ('halo', 70, 7, 100), ('alltoall', 12, 3, 200), ('master', 65, 3, 200), ('irregular', 8, 2, 400), ('self', 1, 1, 200))
NUMBER = r'[0-9][0-9,]*(?:\.[0-9]+)?'
TIME = re.compile(r'(?:< ?)?' + NUMBER + r' (?:ns|us|ms|s|min [0-9]+ s|h [0-9]+ min)\b')


def masked(text):
    """Without times, shares, efficiencies and charts of them; columns stay where they are."""
    def as_wide(match):
        return 'T'.rjust(len(match[0]))
    text = TIME.sub(as_wide, text)
    text = re.sub(r'(?:< ?)?' + NUMBER + r' %', as_wide, text)
    text = re.sub(r'^(Efficiency|            [0-9.]+ communication).*', lambda m: re.sub(NUMBER, 'R', m[0]), text, flags=re.M)
    text = re.sub(r'--from\s+[0-9.]+\s+--to\s+[0-9.]+', '--from T --to T', text)
    text = re.sub(r'\|.*\|$', '|...|', text, flags=re.M)
    text = re.sub(r' [.#]{8}$', ' bar', text, flags=re.M)
    return '\n'.join(line.rstrip() for line in text.split('\n'))


def shown(folder, pattern, ranks, nodes, events):
    """The text and the page."""
    subprocess.run([GENERATE, '--pattern', pattern, '--ranks', str(ranks), '--nodes', str(nodes), '--events-per-rank', str(events),
                    '--clock', 'steps', '--seed', '1', '-o', folder + '/t'], capture_output=True, check=True)
    subprocess.run([MPITRACE, 'analyze', folder + '/t', '-o', folder + '/t.mpix', '--report', folder + '/t.html'], capture_output=True, check=True)
    with open(folder + '/t.html', encoding='utf-8') as f:
        page = f.read()
    return subprocess.run([MPITRACE, 'show', 't.mpix'], cwd=folder, capture_output=True, check=True, encoding='utf-8').stdout, page


DRAWN = re.compile(r'<(/?(?:svg|g|rect|path|line|circle|text|use)\b[^>]*)>')
BLOCK = re.compile(r'</?(?:tr|p|h\d|li|dt|dd|div|figure|figcaption|caption|section|summary|details|aside|header|footer|nav|table|main|pre)\b[^>]*>')
ONCE = re.compile(r'(?: (?:x|y|x1|x2|y1|y2|cx|cy|r|width|height|class))?="([^"]*)"')


def seen(page):
    """A line a block of words, and one a shape: its place, size and colour."""
    page = re.sub(r'<(style|script|defs)\b.*?</\1>', '', page, flags=re.S)
    page = DRAWN.sub(lambda m: '\n' + ONCE.sub(r' \1', m[1]) + '\n', page)
    page = html.unescape(re.sub(r'<[^>]*>', ' ', BLOCK.sub('\n', page)))
    return '\n'.join(' '.join(line.split()) for line in page.split('\n') if line.split() and line[:2] not in ('/g', '/s', '/t')) + '\n'


def said(*words, cwd=os.environ['CORPUS']):
    return subprocess.run(words, cwd=cwd, capture_output=True, check=True, encoding='utf-8').stdout


def copied(folder, name, job=None):
    """As if it had run once more, as this job."""
    with open('%s/%s.json' % (os.environ['CORPUS'], name), encoding='utf-8') as f:
        analysis = json.load(f)
    analysis['job'].update({'job_id': job} if job else {})
    with open('%s/%s%s.json' % (folder, name, job or ''), 'w', encoding='utf-8') as f:
        json.dump(analysis, f)
    return os.path.basename(f.name)


def fixtures():
    """Name and text."""
    for name in ('halo_issues', 'partial'):
        yield name + '-terminal', said(os.environ['SHOW_JSON'], name + '.json')
        yield name + '-page', seen(said(os.environ['REPORT_JSON'], name + '.json'))
    with tempfile.TemporaryDirectory(prefix='mpitrace-test-') as folder:
        same, slow = [[copied(folder, name, job) for job in (None, '-2')] for name in ('nothing_to_fix', 'halo_issues')]
        diff = (MPITRACE, 'diff', *same, '--')
        yield 'compared-partial', said(*diff, slow[0], copied(folder, 'partial'), cwd=folder)
        yield 'compared-again', said(MPITRACE, 'diff', same[0], same[0], '--', slow[0], slow[0], cwd=folder)
        yield 'compared', said(*diff, *slow, cwd=folder)
        said(*diff, *slow, '--html', 'page', cwd=folder)
        with open(folder + '/page', encoding='utf-8') as f:
            yield 'compared-page', seen(re.search(r'<section id="diff".*?</section>', f.read(), re.S)[0])


def put(name, text):
    with open('%s/%s.txt' % (GOLDEN, name), 'w', encoding='utf-8') as f:
        f.write(text)


def compare(t, name, text):
    with open('%s/%s.txt' % (GOLDEN, name), encoding='utf-8') as f:
        wanted = f.read()
    difference = '\n'.join(difflib.unified_diff(wanted.split('\n'), text.split('\n'), 'tests/corpus/golden/%s.txt' % name, 'now', lineterm=''))
    t.check(name + ': says what it said (else: ninja golden, and look at the difference)', not difference, difference)


def main():
    t, write = Tests(), '--write' in sys.argv
    if write or 'fixtures' in sys.argv:
        for name, text in fixtures():
            put(name, text) if write else compare(t, name, text)
    for trace in TRACES if 'fixtures' not in sys.argv else ():
        name = '%s-%d' % trace[:2]
        with tempfile.TemporaryDirectory(prefix='mpitrace-test-') as folder:
            text, page = shown(folder, *trace)
        text = masked(text)
        if write:
            put(name, text)
        else:
            compare(t, name, text)
            t.equal(name + ': no line is longer than the terminal', agree.too_wide(text), [])
            t.check(name + ': times are not in it', not TIME.search(text), TIME.findall(text))
    if not write:
        t.check('a difference is noticed', masked('Calls 5') != masked('Calls 6') and masked('4.10 us') == masked('3.20 ms'), '')
        t.end()


main()
