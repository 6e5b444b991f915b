#!/usr/bin/env python3
"""live.py - `mpitrace live` on programs that hang, and on one that only takes long: who is in which call, where, for whom; what is a
deadlock is one, and what might go on is none."""
import contextlib
import functools
import json
import os
import signal
import subprocess

from trace import FLAVOURS, MPITRACE, PROGRAMS, TIMEOUT, Place, Step, Tests, until, words_of

RANKS = 4


def line_of(name, text):
    with open(PROGRAMS + '/' + name) as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


RECEIVES = 'stuck.c:%d' % (line_of('stuck.c', 'static void receives(void)') + 2)
BARRIER_RECV = 'stuck.c:%d' % line_of('stuck.c', 'MPI_Recv(b, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD')
BARRIER = 'stuck.c:%d' % (line_of('stuck.c', 'MPI_Recv(b, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD') + 1)
# What: the deadlock's ranks, and for each rank operation, peer and place.
HANGS = {
    'receives': ([0, 1, 2, 3], [('MPI_Recv', (r - 1) % RANKS, RECEIVES) for r in range(RANKS)]),
    'barrier': ([0, 1, 2, 3], [('MPI_Barrier', None, BARRIER)] * 3 + [('MPI_Recv', 0, BARRIER_RECV)]),
}
# Of each the ranks because of whom nobody goes on, those who wait for them, and what would let the first of them go on.
CORES = {
    'three': ([1, 2, 3], [0], 'a message from rank 2 with tag 9'),
    'barrier': ([0, 3], [1, 2], "rank 3's MPI_Barrier"),
    'waits': ([0, 3, 2, 1], [], 'a message from rank 3 with tag 0'),
    'orders': ([0, 1], [2, 3], "rank 1's MPI_Barrier"),
    'ended': ([1], [], 'a message from rank 0 with tag 9'),
    'anybody': ([0, 1, 2, 3], [], 'a message from any rank with tag 0'),
    'threads': ([0, 1, 2, 3], [], 'a message from rank 1 with tag 0'),
    'alone': ([0, 1, 2, 3], [], 'a message from rank 1 with tag 9'),  # MPI_THREAD_MULTIPLE, of one thread each
    'halo': ([0, 1], [3], 'a message from rank 1 with tag 9'),  # rank 2 has all it needs
}


def live(path, *options):
    run = subprocess.run([MPITRACE, 'live', path, '--once', *options], capture_output=True, text=True, timeout=TIMEOUT)
    return run.returncode, run.stdout, run.stderr


def now(path):
    code, out, _ = live(path, '--json')
    return (code, json.loads(out)) if out else (code, None)


def again(path):
    """After a look that said something."""
    code, out, err = live(path, '--json')
    if not out:
        raise RuntimeError('live said nothing any more: exit code %d, %s' % (code, err))
    return code, json.loads(out)


class Running:
    """A program under an agent of its own; at the end each rank is killed by its number."""

    def __init__(self, place, name, *words, **layout):
        self.step, self.dir = Step(place, name, sample='0.2', **layout), place.dir
        self.agent = self.step.attentive_agent()
        self.run = subprocess.Popen(['mpirun', '-n', str(RANKS), *words], env=self.step.env, cwd=place.dir, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        return self.step.out

    def pids(self):
        return sorted(int(name.split('.')[0]) for name in os.listdir(self.step.dir + '/ranks') if name.endswith('.mpit'))

    def others(self):
        """Ranks that have no segment file, as before MPI_Init: by their program, which is of this place, and their step."""
        for name in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError):
                with open('/proc/%s/environ' % name, 'rb') as f:
                    ours = b'MPITRACE_DIR=%s/ranks\0' % self.step.dir.encode() in f.read()
                if ours and ''.join(words_of(name)[:1]).startswith(self.dir + '/'):
                    yield int(name)

    def __exit__(self, *_):
        for pid in self.pids() + list(self.others()):
            with contextlib.suppress(ProcessLookupError): # its launcher was faster
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.run.pid, signal.SIGKILL)
        self.run.wait()
        self.step.end(self.agent)


def hangs(t, place, program, what):
    ranks, calls = HANGS[what]
    who = '%s, %s: ' % (place.flavour, what)
    with Running(place, what, program, what, 'for ever') as out:
        code, look = until(lambda: (lambda x: x if x[1] and x[1]['stuck'] else None)(now(out))) or now(out)
        t.check(who + 'stuck is the exit code', code == 1, code)
        t.check(who + 'a look is of schema mpitrace/live/1', look and look['schema'] == 'mpitrace/live/1', look)
        t.equal(who + 'the deadlock has its ranks', [sorted(d['ranks']) for d in look['deadlock']], [ranks])
        t.equal(who + 'each rank is in its call, for its peer, at its line',
                [(r['op'], r['peer'], r['callsite']) for r in look['ranks']], calls)
        t.check(who + 'it has been so for a while, all of it MPI', all(r['since_s'] > 0 and r['mpi'] > 0.9 and r['state'] == 'mpi'
                                                                   for r in look['ranks']), look['ranks'])
        t.check(who + 'why names each call and line', all(op in look['deadlock'][0]['why'] and place_of in look['deadlock'][0]['why']
                                                          for op, _, place_of in calls), look['deadlock'])
        said = until(lambda: (lambda x: x if x[0] == 1 else None)(live(out))) or live(out)
        t.check(who + 'so does the terminal', 'DEADLOCK: 4 ranks can never continue, because of:' in said[1] and calls[3][2] in said[1], said)
    code, look = now(out)
    t.check(who + 'when the job is over it is not stuck, and its ranks have ended',
            code == 0 and look['ended'] and {r['state'] for r in look['ranks']} == {'ended'}, look)


class Standing:
    """True from the second sample on after that in which it was asked first: who has just come to its call can still go on, as far as is
    known, and the rest may hang because of fewer."""

    def __init__(self):
        self.since = None

    def __call__(self, look):
        self.since = look['sample'] if self.since is None else self.since
        return look['sample'] >= self.since + 2


def same_culprits(t, place, program, what):
    """Who, whom for, and who else: while it hangs and when it is over, from events."""
    core, waiting, until_text = CORES[what]
    who = '%s, %s: ' % (place.flavour, what)
    run = Running(place, 'core-' + what, program, what, 'for ever')
    with run as out:
        stand = Standing()
        _, look = until(lambda: (lambda x: x if x[1] and x[1]['deadlock'] and len(x[1]['deadlock'][0]['ranks']) == len(core + waiting) and
                                 stand(x[1]) else None)(now(out))) or now(out)
        found = look['deadlock'][0] if look['deadlock'] else {'core': [], 'ranks': [], 'why': ''}
        t.equal(who + 'live names the core', list(dict.fromkeys(m['rank'] for m in found['core'])), core)
        t.equal(who + 'and all who can never go on, the core first', found['ranks'], core + waiting)
        t.equal(who + 'and what would let the first of it go on', found['core'] and found['core'][0]['until'], until_text)
        t.equal(who + 'each of its threads', len(found['core']), len(core) * (2 if what == 'threads' else 1))
    report = [c for c in run.step.analysis()['correctness'] if c['kind'] == 'deadlock']
    named = report[0]['examples'][0] if report else {'ranks': [], 'what': ''}
    over = [found['ended']] if found.get('ended') is not None else []
    t.equal(who + 'the report names the same, in the same order', named['ranks'], core + over)
    t.check(who + 'and needs the same', named['what'].endswith('needs %s.' % until_text), named['what'])
    t.equal(who + 'and counts the same that wait', sorted(report[0]['ranks'] if report else []), sorted(core + waiting + over))


def computes(t, place, program):
    """Rank 0 never comes back from something that is not MPI: nobody can know, but all wait for it."""
    with Running(place, 'computes', program, 'computes', 'for ever') as out:
        code, look = until(lambda: (lambda x: x if x[1] and x[1]['waited_for'] and len(x[1]['waited_for'][0]['ranks']) == 3 else None)(
            now(out))) or now(out)
        t.equal('%s: who waits for the rank outside of MPI is said' % place.flavour, look['waited_for'], [{'rank': 0, 'ranks': [1, 2, 3]}])
        t.equal('%s: it may come back: nothing is stuck' % place.flavour, (code, look['stuck'], look['deadlock']), (0, False, []))
        t.equal('%s: it is outside of MPI' % place.flavour, look['ranks'][0]['state'], 'useful')


def healthy(t, place):
    """Seconds of computing by turns, all others in a barrier: not once stuck."""
    program = place.compile('long_turns.c', waits='asleep')
    looks = []
    with Running(place, 'healthy', program) as out:
        t.check('%s: it is seen' % place.flavour, until(lambda: now(out)[1]), live(out))

        def look():
            code, x = again(out)
            looks.append((code, x['stuck'], x['deadlock']))
            return x['ended'] or (x['sample'] > 25)
        until(look)
    t.check('%s: long computations are not called stuck' % place.flavour, len(looks) > 3 and set(map(str, looks)) == {str((0, False, []))},
            looks)


def late(t, place, program):
    """What all wait for comes from threads that have not called MPI yet: it may be a deadlock, and is none."""
    who = place.flavour + ', late: '
    looks = []
    with Running(place, 'late', 'env', 'STUCK_SECONDS=10', program, 'late', 'for ever') as out:
        t.check(who + 'it is seen', until(lambda: now(out)[1]), live(out))

        def look():
            code, x = again(out)
            looks.append((code, x['stuck'], x['deadlock']))
            return x['deadlock_possible'] or {r['state'] for r in x['ranks']} == {'ended'}
        found, told = until(look), '4 ranks can only continue by a thread that has not called MPI yet'
        said = until(lambda: (lambda x: x if told in x[1] or x[0] != 0 else None)(live(out))) or live(out)
        t.equal(who + 'all who wait for such threads are told', [sorted(d['ranks']) for d in found] if found is not True else [], [[0, 1, 2, 3]])
        t.check(who + 'so does the terminal', told in said[1], said)
        t.check(who + 'they go on', until(lambda: look() is True), looks)
    t.equal(who + 'no deadlock was ever told', set(map(str, looks)), {str((0, False, []))})


def late_killed(t, place, program):
    """The same, ended before these threads came to it: the report says the condition."""
    run = Running(place, 'late-killed', 'env', 'STUCK_SECONDS=1000', program, 'late', 'for ever')
    with run as out:
        until(lambda: (now(out)[1] or {}).get('deadlock_possible'))
    issues = [i for i in run.step.analysis()['issues'] if i['issue'] == 'deadlock']
    t.check(place.flavour + ', late: the report says what it does not know', len(issues) == 1 and
            'unless a thread that had not called MPI yet was to let them continue' in issues[0]['what'], issues)


def stopped(t, place, program):
    """Whoever is stopped by a signal is said to be, not to compute or to wait, and goes on."""
    who = place.flavour + ', stopped: '
    run = Running(place, 'stopped', program, 'computes', 'for ever')
    with run as out:
        def those(n):
            looks = now(out)[1]
            return looks if looks and sum(r['stopped'] for r in looks['ranks']) == n else None
        t.check(who + 'at first none is', until(lambda: those(0)) is not None, now(out))
        pid = run.pids()[0]
        os.kill(pid, signal.SIGSTOP)
        t.check(who + 'then one is', until(lambda: those(1)) is not None, now(out))
        t.check(who + 'the terminal says so', until(lambda: '1 rank is stopped by a signal' in live(out)[1]), live(out))
        os.kill(pid, signal.SIGCONT)
        t.check(who + 'it goes on', until(lambda: those(0)) is not None, now(out))


def starts(t, place):
    """Nobody is a rank before MPI_Init returns: how many are inside of it is said, and waited for."""
    program = place.compile('slurm_phase.c')
    one = 'SLURM_PROCID=$(( $OMPI_COMM_WORLD_RANK$PMI_RANK / 3 )) exec %s init' % program
    with Running(place, 'one_starts', 'sh', '-c', one, ntasks=RANKS) as out:
        said = until(lambda: (lambda x: x if 'it, 3 of' in x[2] else None)(live(out))) or live(out)
        t.check('%s: that one is in it is said in the singular' % place.flavour,
                'no rank has come out of MPI_Init yet: 1 is inside of it, 3 of 4 have not called it' in said[2], said)
    with Running(place, 'starts', 'sh', '-c', 'SLURM_PROCID=$OMPI_COMM_WORLD_RANK$PMI_RANK exec %s init' % program) as out:
        said = until(lambda: (lambda x: x if '3 are inside' in x[2] else None)(live(out))) or live(out)
        t.check('%s: before MPI_Init returns it is said who is in it' % place.flavour,
                said[0] == 3 and 'no rank has come out of MPI_Init yet: 3 are inside of it' in said[2], said)
        run = subprocess.Popen([MPITRACE, 'live', out, '--interval', '0.2'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        t.check('%s: it is waited for' % place.flavour, run.stderr.readline() != b'' and run.stderr.readline() != b'' and run.poll() is None, run.poll())
        run.terminate()
        run.communicate()


def missing(t, place, program):
    """A node of the list that has no file; an agent that is gone, so that the ranks of its node are not known any more."""
    with Running(place, 'missing', program, 'computes', 'for ever', nnodes=2, nodelist='n[1-2]') as out:
        _, look = until(lambda: (lambda x: x if x[1] and x[1]['nodes_missing'] else None)(now(out))) or again(out)
        t.equal('%s: a node without a file is named' % place.flavour, look['nodes_missing'], ['n2'])
    t.check('no job of that number is said', live('123456')[0] == 3 and 'mpitrace-123456' in live('123456')[2], live('123456'))


def without(t, place, program):
    step = Step(place, 'off', sample='0')
    agent = step.agent()
    step.run('mpirun', '-n', '2', program, 'ended')
    step.end(agent)
    code, _, said = live(step.out)
    t.check('%s: without samples it says so' % place.flavour, code == 3 and 'sample=0' in said, (code, said))


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('stuck.c', waits='asleep')
            of_it = lambda case, **more: functools.partial(case, place=place, **more)
            t.at_once([of_it(healthy), of_it(starts), *(of_it(case, program=program) for case in (late, late_killed, computes, stopped, missing, without)),
                       *(of_it(hangs, program=program, what=what) for what in HANGS), *(of_it(same_culprits, program=program, what=what) for what in CORES)], most=2)
    t.end()


main()
