#!/usr/bin/env python3
"""ends.py - runs that do not end well, with events and with totals only: how long they ran and how long of it nobody advanced, by the
agent's clock; because of whom, as `mpitrace live` said while they ran; why they ended; and that no rank is blamed for what was done
to it."""
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'slurm'))
import hangs
from trace import FLAVOURS, MPITRACE, TIMEOUT, Place, Tests, agents_of, raise_agent, shown

RANKS = 4
STOOD_S = 3.0  # of the agent's clock, all ranks in their last calls: more than what is taken for the time to end a run
CLOCK = 0.9  # of it: the rate of a clock of which there are two readings so far, on a busy machine
SAMPLE_S = 0.2
KINDS = ('receives', 'receives_later', 'sends', 'waits', 'anybody', 'barrier', 'orders', 'ended', 'halo', 'gathers', 'waitanys', 'locks', 'exposures',
         'windows')
PAUSED = ('receives', 'barrier', 'halo')  # also where single events had ended long before
RESTING = ('mpi', 'ended')


class Hung:
    """A program that hangs, stopped when all its ranks have been in their calls for so long, as samples tell."""

    def __init__(self, place, program, kind, level, how):
        name = '%s-%s-%s' % (kind, level, how.name)
        words = [MPITRACE, 'run', '-n', str(RANKS), '--sample', str(SAMPLE_S), *(['--profile'] if level == 'profile' else []), '--out', place.dir + '/out', '--name', name,
                 '--', program, kind, 'for ever']
        self.mpic, self.mpix = ('%s/out/%s.%s' % (place.dir, name, e) for e in ('mpic', 'mpix'))
        began = time.monotonic()
        run = subprocess.Popen(words, env=dict(place.env, **({'STUCK_PAUSED': 'yes'} if level == 'paused' else {})), cwd=place.dir,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        self.stood_s = self.wait_until_it_stands(run, began, RESTING if kind != 'computes' else RESTING + ('useful',))
        self.lasted_s = time.monotonic() - began  # at least: it still runs
        try:
            self.err = self.stop(run, how)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
        self.most_s = time.monotonic() - began
        self.code = run.returncode

    @staticmethod
    def stop(run, how):
        """As a terminal does it, or a time limit; once more for a launcher that does not hear, as a person would."""
        for patience in (TIMEOUT / 4, TIMEOUT):
            if how == signal.SIGINT:
                os.killpg(run.pid, how)
            else:
                run.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return run.communicate(timeout=patience)[1].decode()
        return 'it does not end'

    def wait_until_it_stands(self, run, began, resting):
        """How long it has stood, by the samples; and because of whom."""
        self.cores, raised, first = [], [], None
        while time.monotonic() < began + TIMEOUT:
            time.sleep(0.2)
            raised = raised or list(agents_of(run))
            for pid in raised:
                raise_agent(pid)
            look = subprocess.run([MPITRACE, 'live', self.mpic, '--once', '--json'], capture_output=True, check=False)
            with contextlib.suppress(ValueError):
                said = json.loads(look.stdout)
                ranks = said['ranks']
                self.cores = [sorted(d['ranks'][:d['core_ranks']] + [r for r in [d.get('ended')] if r is not None]) for d in said['deadlock']]
                since = [r['since_s'] or 0 for r in ranks if r['state'] == 'mpi']
                if len(ranks) == RANKS and since and all(r['state'] in resting for r in ranks) and min(since) >= STOOD_S and \
                        (self.cores or 'useful' in resting):
                    first = said['sample'] if first is None else first
                    if said['sample'] >= first + 2: # then all of them were in their calls at two samples
                        return CLOCK * min(since)
        return None


def cores(a):
    return [sorted(x['ranks']) for d in a['correctness'] if d['kind'] == 'deadlock' for x in d['examples']]


def stands(t, place, program, kind, level, how):
    who = '%s, %s, %s under %s: ' % (kind, level, how.name, place.flavour)
    run = Hung(place, program, kind, level, how)
    a = place.analysis('%s-%s-%s' % (kind, level, how.name))
    job, issues = a['job'], [i['issue'] for i in a['issues']]
    if run.stood_s is None:
        t.check(who + 'the samples show that it stands', False, run.err)
        return
    if level == 'paused':
        t.check(who + 'its last calls are no events', a['coverage']['events_lost'] > 0, a['coverage'])
    hung, elapsed = job['hung_s'], job['elapsed_s']
    t.check(who + 'how long nobody advanced is what the samples told', run.stood_s - SAMPLE_S <= hung <= run.most_s, (run.stood_s, hung, run.most_s))
    t.check(who + 'it ran from its start to its end', hung <= elapsed <= run.most_s and elapsed >= run.stood_s, (elapsed, run.lasted_s, run.most_s))
    unfinished = [r for r in a['per_rank'] if r['state'] != 'finalized']
    t.check(who + 'the calls that they were in last until then', unfinished and
            all(r['unreturned_s'] + r['hung_s'] >= run.stood_s - SAMPLE_S for r in unfinished), (run.stood_s, unfinished))
    windows = sum(w['mpi_s'] for w in a['time_windows'])
    t.check(who + 'and are drawn as MPI', not a['time_windows'] or windows >= len(unfinished) * (run.stood_s - SAMPLE_S), (windows, run.stood_s))
    waiting = sum(any(o['waits'] and o['thread'] == 0 for o in r.get('open', [])) for r in unfinished)
    t.check(who + 'as waiting where it is for who cannot go on', not a['time_windows'] or
            sum(w['wait_s'] for w in a['time_windows']) >= waiting * (run.stood_s - SAMPLE_S), (waiting, a['time_windows'][-1:]))
    t.equal(who + 'why it ended is known', (job['outcome']['state'], job['outcome']['signal']), ('STOPPED', how.value))
    t.check(who + 'nobody is blamed for a death', 'death' not in issues, [i['what'] for i in a['issues']])
    first = a['issues'][0] if issues else {'issue': None, 'what': '', 'loss_s': 0}
    t.equal(who + 'the verdict is what it hangs in', first['issue'], 'deadlock')
    t.equal(who + 'because of whom live said', cores(a), run.cores)
    t.check(who + 'and that is who it was', sorted(cores(a)) in hangs.truth(kind, level), (cores(a), hangs.truth(kind, level)))
    came = {r['rank']: max(o['from_s'] for o in r['open']) for r in a['per_rank'] if r.get('open')}
    until = {r['rank']: r['recorded_until_s'] for r in a['per_rank']}
    t.check(who + 'until when single calls were recorded', all(
        x is None if level == 'events' else x == 0 if level == 'profile' else 0 < x <= came.get(r, elapsed) for r, x in until.items()), (until, came))
    begun = [(x['time_s'], max(came.get(r, x['time_s']) for r in x['ranks'])) for d in a['correctness'] if d['kind'] == 'deadlock' for x in d['examples']]
    t.check(who + 'it began when the last of them came, or with no call recorded behind', all(0 < at <= last for at, last in begun) and
            (level == 'events' or all(at == last for at, last in begun)), begun)
    t.check(who + 'the place to look at is from then on', not begun or first['window_s'] == [min(at for at, _ in begun), elapsed], (first.get('window_s'), begun))
    t.check(who + 'it says how long nobody advanced', 'no rank advanced' in a['verdict'], a['verdict'])
    t.check(who + 'that is what it costs', first['loss_s'] >= (run.stood_s - SAMPLE_S) * len(unfinished), (first['loss_s'], run.stood_s))
    useful = a['efficiency']['region_s']
    t.check(who + 'shares are of the time before', useful <= elapsed - hung + SAMPLE_S, (useful, elapsed, hung))


def starts(t, place, program):
    """Nobody comes out of MPI_Init: there is a page all the same, which names who is in it, by the launcher's numbers, and who is not."""
    who, inside, out = 'stuck at its start under %s: ' % place.flavour, RANKS - 1, place.dir + '/out/start'
    words = [MPITRACE, 'run', '-n', str(RANKS), '--out', os.path.dirname(out), '--name', os.path.basename(out), '--', program, 'before']
    run = subprocess.Popen(words, env=place.env, cwd=place.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    began, said = time.monotonic(), ''
    while '%d are inside of it' % inside not in said and time.monotonic() < began + TIMEOUT:
        said = subprocess.run([MPITRACE, 'live', out + '.mpic', '--once'], capture_output=True, check=False).stderr.decode()
        time.sleep(0.1)
    err = Hung.stop(run, signal.SIGTERM)
    a = shown(out + '.mpix')
    stuck = [r for r in a['per_rank'] if r['state'] == 'lost']
    t.equal(who + 'it is known which ranks are in it', [r['rank'] for r in stuck], list(range(1, RANKS)))
    t.check(who + 'all its time is in MPI_Init', a['efficiency']['region_s'] == 0 and all(r['startup_s'] + r['hung_s'] > 0 and r['useful_s'] == 0 for r in stuck), stuck)
    t.check(who + 'the verdict says so', 'At the end %d ranks were in MPI_Init.' % inside in a['verdict'], a['verdict'])
    why = a['issues'][0]['why']
    t.check(who + 'and who did not come', 'No rank came out of MPI_Init. Of rank 0 no call is recorded.' in why, why)
    t.check(who + 'there is a page', os.path.getsize(out + '.html') > 0, err)


def of_slurm(t, place, program):
    """What Slurm says of the job is known when its report is made: scontrol is a stand-in."""
    run = Hung(place, program, 'computes', 'profile', signal.SIGTERM)
    step = place.dir + '/mpitrace-77/step-0'
    os.makedirs(step)
    shutil.copy(run.mpic, step + '/n1.mpic')
    with open(place.dir + '/bin/scontrol', 'w') as f:
        f.write('#!/bin/sh\n[ "$*" = "show job --oneliner 77" ] && echo "JobId=77 JobState=COMPLETING Reason=TimeLimit Dependency=(null)"\n')
    os.chmod(place.dir + '/bin/scontrol', 0o755)
    subprocess.run([MPITRACE, 'finish', step, '--nodes', '1'], env=place.env, check=False, capture_output=True, timeout=TIMEOUT)
    a = shown(step + '/job.mpix')
    t.equal('%s: a time limit is the outcome' % place.flavour, a['job']['outcome']['state'], 'TIMEOUT')
    t.check('%s: and it is said' % place.flavour, re.match(r'Stopped from outside after [\d.]+ m?s \(time limit\)', a['verdict']), a['verdict'])
    record = json.loads(subprocess.run([MPITRACE, 'record', step + '/job.mpix'], capture_output=True, check=True).stdout)
    t.check('%s: its record has all its time' % place.flavour, record['state'] == 'TIMEOUT' and
            run.stood_s <= record['elapsed_s'] <= run.most_s and
            abs(record['core_hours'] / ((record['alloc_cpus'] or RANKS) * a['job']['elapsed_s'] / 3600) - 1) < 1e-4, (record['elapsed_s'], record['core_hours'], run.most_s))


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('stuck.c', waits='asleep')
            # Open MPI 4's mpirun may stay for ever when a terminal's SIGINT ends ranks in MPI_Finalize before it does
            second = signal.SIGINT if flavour == 'mpich' else signal.SIGTERM
            t.at_once(functools.partial(stands, place=place, program=program, kind=kind, level=level, how=how) for kind in sys.argv[1:] or KINDS
                      for level, how in (('events', signal.SIGTERM), ('profile', second), ('paused', signal.SIGTERM))[:3 if kind in PAUSED else 2])
            of_slurm(t, place, program)
            starts(t, place, place.compile('stuck_start.c'))
    t.end()


main()
