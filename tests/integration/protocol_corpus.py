#!/usr/bin/env python3
"""protocol_corpus.py - specifications of protocols and MPROV's logs of tests/corpus/protocol: what `mpitrace check` and `mpitrace import` say
of each is what expected.txt says. tests/viewer/protocol.test.mjs holds the viewer to the same text. With --write that is written anew."""
import glob
import json
import os
import subprocess
import sys
import tempfile

from trace import ENV, MPITRACE, Tests

CORPUS = os.environ['PROTOCOLS']
LEVELS = range(4)


def names(pattern):
    return sorted(os.path.basename(path) for path in glob.glob(os.path.join(CORPUS, pattern)))


def command(*words):
    return subprocess.run([MPITRACE, *words], capture_output=True, encoding='utf-8', cwd=CORPUS, env=ENV, timeout=60)


def section(title, code, text):
    return '== %s: exit %d\n%s\n' % (title, code, text.rstrip('\n'))


def in_short(r):
    """The colours of all messages: sender.event>receiver.event colour."""
    return ', '.join('%d.%d>%d.%d %s' % (x['src'], x['send_event'], x['dst'], x['recv_event'], x['colour']) for x in r['results'])


def checked(rules, log, mpix):
    """What is wrong with a specification does not depend on the level. In full at level 0."""
    text = ''
    for level in LEVELS:
        run = command('check', mpix, '--protocol', rules, '--level', str(level), '--json')
        title = '%s %s level %d' % (rules, log, level)
        if run.returncode in (2, 3):
            return section(title, run.returncode, run.stderr)
        r = json.loads(run.stdout)
        shown = in_short(r) if level else json.dumps(r, ensure_ascii=False).replace('}, {', '},\n {')
        text += section(title, run.returncode, shown)
    return text


def expected(place):
    text = ''
    traces = {}
    for log in names('*.log'):
        mpix = os.path.join(place, log.replace('.log', '.mpix'))
        run = command('import', '--from', 'mprov', log, '-o', mpix)
        if run.returncode == 0:
            traces[log] = mpix
        else:
            text += section(log, run.returncode, run.stderr)
    for rules in names('*.rules'):
        for log in list(traces)[:1] if rules.startswith('wrong_') else traces:
            text += checked(rules, log, traces[log])
    return text


def main():
    path = os.path.join(CORPUS, 'expected.txt')
    with tempfile.TemporaryDirectory() as place:
        now = expected(place)
    if '--write' in sys.argv:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(now)
        return
    t = Tests()
    with open(path, encoding='utf-8') as f:
        before = f.read().split('\n== ')
    t.check('the corpus has specifications, logs, and some of each that are wrong', len(names('*.rules')) > 40 and len(names('wrong_*.log')) > 10)
    t.equal('sections', [x.split('\n')[0] for x in now.split('\n== ')], [x.split('\n')[0] for x in before])
    for then, text in zip(before, now.split('\n== ')):
        t.equal(then.split('\n')[0].removeprefix('== '), text, then)
    t.end()


main()
