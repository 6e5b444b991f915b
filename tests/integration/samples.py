#!/usr/bin/env python3
"""samples.py - the totals of all threads, sampled while they run: what was added in all samples is what the program did, to the tick,
whatever is killed; the call in which a rank hangs is in the last one."""
import contextlib
import json
import os
import signal
import subprocess

from trace import FLAVOURS, MPITRACE, TIMEOUT, Place, Step, Tests, until

RUNNING, LOST = 0, 3


def samples(path):
    """All samples, and the totals of the last profiles as {(process, thread, sig): (calls, ticks)}; none while there is no file."""
    out = subprocess.run([os.environ['MPIC_SAMPLES'], path], capture_output=True, text=True)
    lines = [json.loads(line) for line in out.stdout.splitlines()]
    profile = {tuple(row[:3]): tuple(row[3:]) for row in lines[-1]['profile']} if lines else {}
    return lines[:-1], profile


def added(all_samples):
    """What a reader adds up; a whole sample begins anew."""
    sums = {}
    for sample in all_samples:
        if sample['whole']:
            sums = {}
        for p in sample['processes']:
            for t in p['threads']:
                for sig, calls, ticks in t['totals']:
                    key = p['process'], t['thread'], sig
                    was = sums.get(key, (0, 0))
                    sums[key] = was[0] + calls, was[1] + ticks
    return sums


def in_trace(step):
    """Calls and ticks of all samples in the trace. Of a trace without events: the dump has these too."""
    subprocess.run([MPITRACE, 'analyze', step.out, '-o', step.out + '/job.mpix'], capture_output=True, timeout=TIMEOUT)
    out = subprocess.run([os.environ['MPIX_DUMP'], step.out + '/job.mpix'], capture_output=True, text=True, check=True)
    cells = [cell for *_, threads in json.loads(out.stdout)['samples'] for *_, own in threads for cell in own]
    return sum(c[2] for c in cells), sum(c[3] for c in cells)


def unended(all_samples):
    """Ticks of the first thread in a call that samples saw and no total has: the one that it was in at the last sample, and what it was
    seen in one that had ended then, where it was killed before that came to the totals."""
    age = owed = 0
    for before, sample in zip([None] + all_samples, all_samples):
        for thread in sample['processes'][0]['threads'][:1]:
            if before and 'still' in thread:
                age += sample['tick'] - before['tick']
            else:
                owed += age
                age = thread['open']['age_ticks'] if 'open' in thread else 0
            owed -= min(owed, sum(ticks for _, _, ticks in thread['totals']))
    return age + owed


def begin(place, program, *words, ranks=1, env=None):
    return lambda step: subprocess.Popen(['mpirun', '-n', str(ranks), program, *words], env=dict(step.env, **(env or {})), cwd=place.dir,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                         start_new_session=True)


def end(step, run):
    """The ranks, each by its segment file's name, then their launcher: on its own it would leave them running for a while."""
    for name in os.listdir(step.dir + '/ranks'):
        if name.endswith('.mpit'):
            with contextlib.suppress(ProcessLookupError): # its launcher was faster
                os.kill(int(name.split('.')[0]), signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    run.wait()


@contextlib.contextmanager
def running(step, program):
    """Whatever happens here, what would run for ever does not."""
    run = program(step)
    try:
        yield run
    finally:
        end(step, run)


def while_it_runs(path):
    """Those in which a rank has come out of MPI_Init and has gone on since the one before."""
    return [s for s in samples(path)[0] if any(p['state'] == RUNNING and p['threads'] and p['threads'][0]['totals'] for p in s['processes'])]


def killed(t, place, program, name, agents=1, env=None, budget=64 << 20, **layout):
    """A rank that counts for ever is killed when there are three samples, and in between the agent, if asked for."""
    step = Step(place, name, sample='0.1', budget=budget, **layout)
    agent = step.attentive_agent()
    with running(step, begin(place, program, place.dir + '/count-' + name, env=env)):
        for last in [False] * (agents - 1) + [True]:
            have = len(while_it_runs(step.mpic))
            until(lambda: len(while_it_runs(step.mpic)) >= have + 3, 'samples')
            if not last:
                agent.kill()
                agent.wait()
                agent = step.attentive_agent()
    code = step.end(agent)
    got, profile = samples(step.mpic)
    who = '%s, %s: ' % (place.flavour, name)
    t.check(who + 'the agent ends as it should', code == 0, code)
    t.equal(who + 'all samples add up to the exact totals, to the tick', added(got), profile)
    t.equal(who + 'samples are numbered without a gap', [s['seq'] for s in got], list(range(len(got))))
    t.equal(who + 'each agent begins with a whole one', sum(s['whole'] for s in got), agents)
    t.check(who + 'the program went on between them', sum(any(p['threads'] and p['threads'][0]['totals'] for p in s['processes'])
                                                          for s in got) >= 3, got)
    t.check(who + 'the last one says that the rank was lost', got[-1]['processes'][0]['state'] == LOST, got[-1])
    system = [p['threads'][0].get('system') for s in got for p in s['processes'] if p['threads'] and p['state'] == RUNNING]
    t.check(who + 'what the kernel counted is there', sum((x or {}).get('cpu_ns', 0) for x in system) > 0 and
            any(p['resident_bytes'] > 0 for s in got for p in s['processes']), system)


    if env:
        calls, ticks = map(sum, zip(*profile.values()))
        t.equal(who + 'so do those in the trace, and time in a call that never ended', in_trace(step), (calls, ticks + unended(got)))


def hangs(t, place, program):
    """Each waits for the one before, with what is known of that."""
    step = Step(place, 'hangs', sample='0.1')
    agent = step.attentive_agent()

    def stand():
        last = samples(step.mpic)[0][-1:]
        return last if last and len(last[0]['processes']) == 2 and all(p['threads'] and 'still' in p['threads'][0] and p['state'] == RUNNING
                                                                       for p in last[0]['processes']) else None
    with running(step, begin(place, program, 'receives', 'for ever', ranks=2)):
        until(stand, 'both in the same call twice')
        got, _ = samples(step.mpic)
    opened = {p['process']: p['threads'][0]['open'] for s in got for p in s['processes'] if 'open' in p['threads'][0]}
    peers = sorted(int(o['words'][2], 16) >> 32 for o in opened.values())
    t.equal('%s: a hanging receive has its peer in the samples' % place.flavour, peers, [0, 1])
    small = [s['bytes'] for s in got if all('still' in p['threads'][0] and not p['threads'][0]['totals'] for p in s['processes'])]
    t.check('%s: what has not changed takes next to nothing' % place.flavour, small and max(small) < 150, small)
    step.end(agent)


def off(t, place, program):
    step = Step(place, 'off', sample='0')
    agent = step.agent()
    step.run('mpirun', '-n', '2', program, 'ended')
    step.end(agent)
    t.equal('%s: sample=0 takes none' % place.flavour, samples(step.mpic)[0], [])


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            counts, stuck = place.compile('killed.c'), place.compile('stuck.c', waits='asleep')
            killed(t, place, counts, 'events')
            killed(t, place, counts, 'profile', env={'MPITRACE_MODE': 'profile'})
            killed(t, place, counts, 'budget spent', budget=1)
            killed(t, place, counts, 'agent killed', agents=3)
            hangs(t, place, stuck)
            off(t, place, stuck)
    t.end()


main()
