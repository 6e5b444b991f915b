#!/usr/bin/env python3
"""commands.py - every command that a page, the terminal or `mpitrace run` shows is pasted into a shell as it stands: it is one of ours, and the
file that it names is the user's own, whatever its name."""
import html
import os
import re
import subprocess
import tempfile

from trace import ENV, MPITRACE, Tests

NAMES = ('job', 'two words', "it's", '-o', '$(touch pwned)', "'; touch pwned; '", 'a&b<c>"d"', 'n' * 200)
SAYS = '#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done >>"$WORDS"; printf "\\n" >>"$WORDS"\n'


def run(*words, cwd, check=True):
    return subprocess.run([MPITRACE, *words], cwd=cwd, env=ENV, check=check, capture_output=True, encoding='utf-8').stdout


def commands_of_page(path):
    """What stands as code and begins with our name."""
    with open(path, encoding='utf-8') as f:
        found = re.findall(r'<(?:pre|code)>(mpitrace [^<]*)</(?:pre|code)>', f.read())
    return [html.unescape(x) for x in found]


def commands_of_text(text):
    return re.findall(r'^ +look (mpitrace .*(?:\\\n.*)?)$', text, re.M)


def pasted(command, directory):
    """The words that a shell makes of it, where `mpitrace` only tells them."""
    words = directory + '/words'
    with open(directory + '/bin/mpitrace', 'w', encoding='utf-8') as f:
        f.write(SAYS)
    os.chmod(directory + '/bin/mpitrace', 0o755)
    subprocess.run(['sh', '-c', command], cwd=directory + '/here', check=False, capture_output=True,
                   env=dict(ENV, PATH=directory + '/bin:' + ENV['PATH'], WORDS=words))
    with open(words, encoding='utf-8') as f:
        text = f.read()
    os.unlink(words)
    return text[:-2].split('\0')


def one_name(t, directory, name):
    here, mpix = directory + '/here', name + '.mpix'
    os.rename(here + '/' + sorted(x for x in os.listdir(here) if x.endswith('.mpix'))[0], here + '/' + mpix)
    given = './' + mpix if name[0] == '-' else mpix
    run('report', given, '-o', 'page.html', cwd=here)
    page, text = commands_of_page(here + '/page.html'), commands_of_text(run('show', given, cwd=here))
    short = name[:20]
    t.check(short + ': the page has its commands, the terminal too', len(page) >= 5 and text, (page, text))
    for where, commands in (('page', page), ('terminal', text)):
        words = [pasted(c, directory) for c in commands]
        wrong = [w for w in words if w[0] not in ('view', 'show', 'diff') or len([x for x in w if os.path.exists(here + '/' + x)]) != 1 or
                 not any(x.endswith(mpix) for x in w)]
        t.equal('%s: each of the %s names the file, in one word' % (short, where), wrong, [])
    t.equal(short + ': nothing else happens', sorted(os.listdir(here)), sorted([mpix, 'page.html']))


def wrong_options(t):
    """In our own words, and none of the library's."""
    for command in ('analyze', 'check', 'diff', 'doctor', 'export', 'finish', 'fleet ingest', 'import', 'live', 'query', 'record', 'report', 'run', 'show',
                    'sweep', 'topology', 'view', 'whatif'):
        r = subprocess.run([MPITRACE, *command.split(), '--nope'], env=ENV, capture_output=True, encoding='utf-8')
        t.check('%s: an option that is none: what is wrong, and how it is used' % command, r.returncode == 2 and
                re.fullmatch(r'mpitrace %s: .*\nusage: mpitrace .*' % command.split()[0], r.stderr.strip(), re.S) and r.stderr.count('\n') <= 3, r)


def left_behind(t, directory):
    """What a command that was ended left of a file, the next one that writes it takes away."""
    for words in (('analyze', directory + '/raw', '-o'), ('import', '--from', 'pyrite', directory + '/none', '-o')):
        out, dead = directory + '/left.mpix', subprocess.Popen(['true'])
        dead.wait()
        for name in ('%s.%d.tmp' % (out, dead.pid), out + '.mine.tmp'):
            open(name, 'w').close()
        run(*words, out, cwd=directory, check=False)
        t.equal('%s: what an earlier one left is gone, and nothing else' % words[0], [x for x in os.listdir(directory) if x.endswith('.tmp')], ['left.mpix.mine.tmp'])


def main():
    t = Tests()
    wrong_options(t)
    with tempfile.TemporaryDirectory(prefix='mpitrace-commands-') as directory:
        for folder in ('here', 'bin'):
            os.mkdir(directory + '/' + folder)
        subprocess.run([os.environ['GENERATE'], '--pattern', 'irregular', '--ranks', '40', '--nodes', '2', '--events-per-rank', '60', '-o', directory + '/raw'],
                       check=True, stdout=subprocess.DEVNULL)
        left_behind(t, directory)
        run('analyze', '../raw', '-o', 'trace.mpix', cwd=directory + '/here')
        for name in NAMES:
            one_name(t, directory, name)
    t.end()


main()
