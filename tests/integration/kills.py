#!/usr/bin/env python3
"""kills.py - programs and agents killed at random instants: what a program committed is in the trace, none torn, none missing.
KILLS = how many (default 16, half of them with each MPI), SEED = of the random numbers (printed)."""
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from trace import FLAVOURS, TIMEOUT, Place, Step, Tests

KILLS = int(os.environ.get('KILLS', '16'))
SEED = int(os.environ.get('SEED', str(random.SystemRandom().randrange(1 << 30))))
OPS = ('MPI_Irecv', 'MPI_Iprobe', 'MPI_Isend', 'MPI_Waitall', 'MPI_Allreduce', 'MPI_Barrier')
# How the program dies, and how often.
DEATHS = {'SIGKILL': 8, 'SIGSEGV': 2, 'SIGABRT': 2, 'SIGXCPU': 1, 'time limit': 2, 'end': 1}
# What the agent does: lives; is killed and has a successor; comes when all is over.
AGENTS = {'lives': 4, 'killed': 3, 'killed twice': 1, 'late': 2}


def pick(rng, weights):
    return rng.choices(list(weights), list(weights.values()))[0]


def returned(path, threads):
    """Calls that returned, by thread and operation."""
    try:
        with open(path, 'rb') as f:
            words = memoryview(f.read(8 * len(OPS) * threads)).cast('q')
    except OSError:
        return [[0] * len(OPS)] * threads
    return [list(words[i * len(OPS):(i + 1) * len(OPS)]) for i in range(threads)] if len(words) else [[0] * len(OPS)] * threads


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.0003)


def die(rng, death, program, path, threads):
    """Let the program come somewhere, then end it."""
    if rng.random() < 0.3:  # anywhere, also before MPI_Init has returned
        time.sleep(rng.random() * 0.1)
    else:
        want = int(10 ** rng.uniform(0, 5.3))
        wait_until(lambda: sum(map(sum, returned(path, threads))) >= want or program.poll() is not None, 30)
    if death == 'end':
        program.wait(timeout=TIMEOUT)
    elif death == 'time limit':
        program.terminate()
        time.sleep(rng.random() * 0.01)
        program.kill()
    else:
        program.send_signal(getattr(signal, death))
    try:
        program.wait(timeout=20)
    except subprocess.TimeoutExpired:  # Open MPI's handler of SIGSEGV allocates memory: deadly where the program was doing that
        program.kill()
        program.wait(timeout=TIMEOUT)


def torn(step, path, threads, death):
    """What is wrong with the trace, or None."""
    done = returned(path, threads)
    got = step.counts()
    if got is None:
        return None if sum(map(sum, done)) == 0 else ('no trace', done)
    if not got['finished'] or got['damaged_bytes'] or len(got['processes']) != 1:
        return ('damaged', got['finished'], got['damaged_bytes'], len(got['processes']))
    p = got['processes'][0]
    more = {op: p['ops'].get(op, 0) - sum(d[i] for d in done) for i, op in enumerate(OPS)}
    late = {op: p['totals'].get(op, 0) - p['ops'].get(op, 0) for op in OPS}
    lost = sum(t['lost'] for t in p['meta'].get('threads', []))
    written = sum(t['events'] for t in p['meta'].get('threads', []))
    # A call in progress may have been recorded and not yet counted by the program, or counted in the totals only.
    if min(more.values()) < 0 or sum(more.values()) > threads or any(abs(x) > threads for x in late.values()) or lost or \
            p['missing_blocks'] or p['undefined'] or written != p['events'] or got['end']['events'] != p['events']:
        return (more, late, lost, written, p['events'], p['missing_blocks'], p['undefined'])
    if os.listdir(step.dir + '/ranks') != ['sealed']:
        return ('left', os.listdir(step.dir + '/ranks'))
    return None if os.listdir(step.out) == ['n1.mpic'] else ('traces', os.listdir(step.out))


def one(place, program, i):
    began = time.monotonic()
    result = kill_one(place, program, i)
    if time.monotonic() - began > 30:
        print('# %s %d took %.0f s' % (place.flavour, i, time.monotonic() - began), flush=True)
    return result


def kill_one(place, program, i):
    rng = random.Random(SEED * 1000003 + i)
    death, agents, threads = pick(rng, DEATHS), pick(rng, AGENTS), rng.choice((1, 1, 1, 2, 3))
    path = '%s/count%d' % (place.dir, i)
    step = Step(place, 'k%d' % i)
    steps = rng.randrange(1, 20000) if death == 'end' else 0
    agent = step.agent() if agents != 'late' else None
    words = [program, path, str(steps), str(threads)] + (['ignore'] if death == 'time limit' else [])
    victim = subprocess.Popen(words, env=step.env, cwd=place.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range({'killed': 1, 'killed twice': 2}.get(agents, 0)):
        time.sleep(rng.random() * 0.15)
        agent.kill()
        agent.wait()
        agent = step.agent()
    die(rng, death, victim, path, threads)
    if agents.startswith('killed') and rng.random() < 0.5:  # while it writes the end
        open(step.dir + '/done', 'w').close()
        time.sleep(rng.random() * 0.05)
        agent.kill()
        agent.wait()
        agent = None
    code = step.end(agent)
    wrong = torn(step, path, threads, death) or (('agent', code) if code else None)
    if not wrong:
        subprocess.run(['rm', '-rf', step.dir, step.out, path], check=True)
        return (death, agents), None
    return None, (place.flavour, i, death, agents, threads, wrong, 'agent', code, os.listdir(step.dir + '/ranks'),
                  os.path.isdir(step.out) and os.listdir(step.out))


def killed_between_name_and_first_block(place, program):
    """One agent dies when it has made its file and not yet said so, the next one in the midst of it: still one trace."""
    step = Step(place, 'between')
    os.mkdir(step.out)
    open(step.mpic, 'w').close()
    with open(step.dir + '/ranks/output', 'w') as note:
        note.write('?' + step.mpic)
    agent = step.agent()
    victim = subprocess.Popen([program, place.dir + '/count-between', '0', '1'], env=step.env, cwd=place.dir,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: os.path.getsize(step.mpic) > 0, 30)
    for p in (agent, victim):
        p.kill()
        p.wait()
    code = step.end()
    return torn(step, place.dir + '/count-between', 1, 'SIGKILL') or code


def main():
    t = Tests()
    print('# SEED=%d' % SEED)
    for flavour in FLAVOURS:
        with Place(flavour) as place, ThreadPoolExecutor(int(os.environ.get('WORKERS', '2'))) as pool:
            program = place.compile('steps.c', '-pthread')
            wrong = killed_between_name_and_first_block(place, program)
            t.check('%s: an agent killed before its file was its own, then its successor' % flavour, not wrong, wrong)
            began = time.monotonic()
            results = list(pool.map(lambda i: one(place, program, i), range(KILLS // len(FLAVOURS))))
            bad = [x for _, x in results if x]
            for kind in (0, 1):
                kinds = [x[kind] for x, _ in results if x]
                print('# ' + ', '.join('%s %d' % (k, kinds.count(k)) for k in sorted(set(kinds))))
            t.check('%s: %d programs killed, none torn, none missing' % (flavour, len(results)), not bad,
                    '%d of %d in %.0f s, SEED=%d\n%s' % (len(bad), len(results), time.monotonic() - began, SEED,
                                                         '\n'.join(map(str, bad[:20]))))
            print('# %.1f s' % (time.monotonic() - began))
            if bad and os.environ.get('KEEP'):
                place.dir += '-kept'
            sys.stdout.flush()
    t.end()


main()
