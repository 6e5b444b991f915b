#!/usr/bin/env python3
"""alerts.py - a step that hangs leaves one alert while it runs, and one that computes, or is stopped by a signal, leaves none: what the agent
notices, and `mpitrace live --alert` says of it to the outbox of a site."""
import contextlib
import functools
import glob
import json
import os
import pwd
import shutil
import signal
import subprocess
import time

import contract
from trace import FLAVOURS, MPITRACE, TIMEOUT, Place, Step, Tests

RANKS, AFTER = 4, 10
NOBODY = pwd.getpwnam('nobody')


class Hanging:
    """stuck.c under an agent that is told to look for who stands still."""

    def __init__(self, place, name, what, program):
        self.step = Step(place, 'alert-' + name, alert=AFTER, job_id=4711, step_id=3, cluster='c', partition='long', modules='gcc/12.2,openmpi/4.1,+3')
        self.agent = self.step.attentive_agent()
        self.run = subprocess.Popen(['mpirun', '-n', str(RANKS), program, what, 'for ever'], env=self.step.env, cwd=place.dir,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        return self

    def pids(self):
        return [int(name.split('.')[0]) for name in os.listdir(self.step.dir + '/ranks') if name.endswith('.mpit')]

    def __exit__(self, *_):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.run.pid, signal.SIGKILL)
        self.run.wait()
        self.step.end(self.agent)

    def waits(self, seconds):
        """Does the agent say within that time that somebody stands still?"""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not os.path.exists(self.step.dir + '/ranks/waits'):
            time.sleep(0.1)
        return os.path.exists(self.step.dir + '/ranks/waits')


def site(place, name, users='name'):
    box, policy = '%s/%s-box' % (place.dir, name), '%s/%s.conf' % (place.dir, name)
    os.mkdir(box)
    os.chmod(box, 0o3733)
    with open(policy, 'w') as f:
        f.write('[defaults]\noutbox = %s\nrecord_users = %s\n' % (box, users))
    as_nobody = {'user': NOBODY.pw_uid, 'group': NOBODY.pw_gid, 'extra_groups': []} if os.geteuid() == 0 else {}
    if as_nobody:
        os.chown(policy, NOBODY.pw_uid, NOBODY.pw_gid)
    return box, [MPITRACE, 'live', '--alert', str(AFTER), '--policy', policy], as_nobody


def readable(place, out):
    for path in (place.dir, out, *glob.glob(out + '/*')):
        os.chmod(path, os.stat(path).st_mode | 0o055)


def hangs(t, place, program):
    who = place.flavour + ', a deadlock: '
    box, words, how = site(place, 'hangs')
    with Hanging(place, 'hangs', 'receives', program) as h:
        t.check(who + 'the agent notices that somebody stands still', h.waits(TIMEOUT), os.listdir(h.step.dir + '/ranks'))
        readable(place, h.step.out)
        run = subprocess.run([*words, h.step.out], capture_output=True, text=True, timeout=TIMEOUT, **how)
        t.equal(who + 'an alert is left', (run.returncode, run.stderr), (1, ''))
        left = sorted(os.listdir(box))
        t.check(who + 'under a name that bounds how many there are, beside one of the node', len(left) == 2 and left[0].startswith('alert-')
                and left[0].endswith('-nn1-0.alert.slot') and left[1].endswith('-0.alert.json') and '-u' in left[1], left)
        with open('%s/%s' % (box, left[1])) as f:
            alert = json.load(f)
        t.equal(who + 'it keeps its schema', contract.errors(alert, name='alert'), [])
        t.equal(who + 'it says what step it is, and where', [alert[k] for k in ('id', 'cluster', 'partition', 'what', 'ranks', 'core_ranks')],
                ['c:4711.3:0', 'c', 'long', 'deadlock', RANKS, RANKS])
        t.check(who + 'each rank is in its call at its line', all(m['op'] == 'MPI_Recv' and m['callsite'].startswith('stuck.c:') and m['since_s'] >= AFTER
                                                                  for m in alert['core']) and 'MPI_Recv from rank' in alert['why'], alert)
        t.check(who + 'since when', alert['since'] < alert['time'], alert)
        for i in range(1, 8):
            subprocess.run([*words, h.step.out], capture_output=True, timeout=TIMEOUT, **how) if i < 2 else open(
                '%s/%s' % (box, left[1].replace('-0.alert', '-%d.alert' % i)), 'x').close()
        run = subprocess.run([*words, h.step.out], capture_output=True, text=True, timeout=TIMEOUT, **how)
        t.check(who + 'a user leaves so many a day', run.returncode == 3 and 'the alerts of today' in run.stderr, run)
        t.equal(who + 'and nothing else is left then', len(os.listdir(box)), 8 + 2)
        box, words, how = site(place, 'hidden', 'none')
        run = subprocess.run([*words, h.step.out], capture_output=True, text=True, timeout=TIMEOUT, **how)
        with open(glob.glob(box + '/*.json')[0]) as f:
            text = f.read()
        t.check(who + 'where users are not named, no directory is either', run.returncode == 1 and place.dir not in text and json.loads(text)['user'] is None, text)
        busy(t, place, who, h)
    made = h.step.analysis()
    t.equal(who + 'its analysis keeps the schema', contract.errors(made), [])
    t.equal(who + 'and has the environment modules that the site wanted', (made['job']['modules'], made['job']['modules_left_out']), (['gcc/12.2', 'openmpi/4.1'], 3))
    t.check(who + 'the mark of the agent is gone with the step', not os.path.exists(h.step.dir + '/ranks/waits'), os.listdir(h.step.dir))


def busy(t, place, who, h):
    """Ranks that hang spin, and may leave who looks little of a processor: what a look waits for is no reason to rest for long."""
    if not shutil.which('strace'):
        t.skip(who + 'a look that takes its time', 'no strace')
        return
    _, words, how = site(place, 'busy')
    slow = ('strace', '-f', '-q', '-o', '/dev/null', '-e', 'trace=openat', '-e', 'inject=openat:delay_enter=200000')
    run = subprocess.run([*slow, *words, h.step.out], capture_output=True, text=True, timeout=TIMEOUT, **how)
    t.check(who + 'looks that take their time leave an alert, and soon', run.returncode == 1, run)


def computes(t, place, program):
    """Whoever computes may come back."""
    who = place.flavour + ', '
    box, words, how = site(place, 'computes')
    with Hanging(place, 'computes', 'computes', program) as h:
        t.check(who + 'a computing rank: somebody stands still', h.waits(TIMEOUT), None)
        readable(place, h.step.out)
        look = subprocess.Popen([*words, h.step.out], stderr=subprocess.PIPE, **how)
        time.sleep(AFTER * 2.5)
        t.check(who + 'a computing rank: it is looked at further on', look.poll() is None, look.poll())
        t.equal(who + 'a computing rank: and no alert is left', os.listdir(box), [])
        look.terminate()
        look.communicate()


def stopped(t, place, program):
    """Whoever is stopped had no time to go on."""
    who = place.flavour + ', '
    box, words, how = site(place, 'stopped')
    with Hanging(place, 'stopped', 'receives', program) as h:
        t.check(who + 'stopped ranks: somebody stands still', h.waits(TIMEOUT), None)
        for pid in h.pids():
            os.kill(pid, signal.SIGSTOP)
        time.sleep(10) # a sample in eight says so
        readable(place, h.step.out)
        look = subprocess.Popen([*words, h.step.out], stderr=subprocess.PIPE, **how)
        time.sleep(AFTER * 2)
        t.equal(who + 'stopped ranks: no alert is left', os.listdir(box), [])
        for pid in h.pids():
            os.kill(pid, signal.SIGCONT)
        t.equal(who + 'stopped ranks: one is when they could have gone on for long', (look.wait(timeout=TIMEOUT), len(os.listdir(box))), (1, 2))
        look.communicate()


def main():
    t = Tests()
    with contextlib.ExitStack() as places:
        cases = []
        for place in [places.enter_context(Place(flavour)) for flavour in FLAVOURS]:
            patient = place.compile('stuck.c', waits='asleep')
            os.rename(patient, patient + '-patient')
            spins = place.compile('stuck.c') if place.flavour == 'openmpi' else patient + '-patient' # see busy()
            programs = {hangs: spins, computes: patient + '-patient', stopped: patient + '-patient'}
            cases += [functools.partial(case, place=place, program=program) for case, program in programs.items()]
        t.at_once(cases, most=len(cases))
    t.end()


main()
