"""judged.py - what tests of answers share: an issue by its name, what the page and the terminal say of a traced run."""
import glob
import os
import subprocess

from trace import MPITRACE

MACHINE = ('oversubscription', 'busy_processors')  # may stand first where others have the processors
WRONG = ('deadlock', 'death', 'truncation', 'mismatch', 'unsafe_send_cycle', 'unmatched', 'request_leak')  # cost no time


def issue(a, name):
    return next((i for i in a['issues'] if i['issue'] == name), None)


def names(a):
    return [i['issue'] for i in a['issues']]


def run(place, program, what, ranks, wrapper=(), within=()):
    """However it ends, in the place of what was run before under that name. `wrapper` runs `mpitrace run`, `within` the program."""
    for before in glob.glob('%s/out/%s.*' % (place.dir, what)):
        os.remove(before)
    command = [*wrapper, MPITRACE, 'run', '-n', str(ranks), '--out', place.dir + '/out', '--name', what, '--', *within, program, what]
    subprocess.run(command, env=place.env, cwd=place.dir, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return place.analysis(what)


def terminal(place, what):
    return subprocess.run([MPITRACE, 'show', '%s/out/%s.mpix' % (place.dir, what)], capture_output=True, check=True, text=True).stdout


def page(place, what):
    path = place.dir + '/page.html'
    subprocess.run([MPITRACE, 'report', '%s/out/%s.mpix' % (place.dir, what), '-o', path], check=True)
    with open(path, encoding='utf-8') as f:
        return f.read()
