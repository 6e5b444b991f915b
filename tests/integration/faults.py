#!/usr/bin/env python3
"""faults.py - what the system refuses us changes nothing for the program, and what was lost is told as a number.
FULL=1: every call of ours fails once and for good, with every error; else a sample."""
import os
import resource
import shutil
import signal
import subprocess
import time

from trace import FLAVOURS, MPITRACE, Place, Step, Tests, agents_of, processes_in, whole, words_of

FULL = os.environ.get('FULL', '') != ''
STEPS = 3000
ERRORS = {'ENOSPC': 28, 'EDQUOT': 122, 'EMFILE': 24, 'ENOMEM': 12, 'EIO': 5, 'EROFS': 30}


def shown(run):
    return run.returncode, run.stdout, run.stderr


def told(step):
    """(calls, recorded, lost) of a sound trace; a text that says what is wrong with it; None without one."""
    got = step.counts()
    if got is None:
        return None
    if not got['finished'] or got['damaged_bytes']:
        return 'cut or damaged: %s %s' % (got['finished'], got['damaged_bytes'])
    calls = sum(sum(p['totals'].values()) for p in got['processes'])
    lost = sum(t['lost'] for p in got['processes'] for t in p['meta'].get('threads', []))
    if got['end']['lost'] != lost:
        return 'the end says %s lost, the ranks %s' % (got['end'], lost)
    return calls, sum(p['events'] for p in got['processes']), lost


def adds_up(story, steps):
    return isinstance(story, tuple) and story[0] == story[1] + story[2] and story[0] >= 6 * steps


def file_limit(limit):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    return limited


class Tmpfs:
    """A file system of its own size; False where one cannot be mounted."""

    def __init__(self, path, size, inodes=0):
        self.path = path
        os.makedirs(path, exist_ok=True)
        self.mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%d,mode=755,nr_inodes=%d' % (size, inodes), 'none', path],
                                      capture_output=True).returncode == 0

    def __enter__(self):
        return self.mounted

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(['umount', self.path], check=True)


def output_full(t, place, program, plain):
    """The directory of the .mpic fills up."""
    for what, size in (('a limit of 200 kB on files', 200000), ('a limit of 100 kB', 100000)):
        step = Step(place, 'limit%d' % size)
        agent = step.agent(preexec_fn=file_limit(size))
        traced = step.run(program, place.dir + '/c', str(20 * STEPS), '1')
        step.end(agent)
        story = told(step)
        t.check('%s: output, %s: every event that did not reach the file is told' % (place.flavour, what),
                adds_up(story, 20 * STEPS) and story[2] > 0, story)
        t.equal('%s: output, %s: the program is untouched' % (place.flavour, what), shown(traced), plain[20 * STEPS])
        coverage = step.analysis()['coverage']
        t.check('%s: output, %s: the report says so' % (place.flavour, what),
                coverage['events'] + coverage['events_lost'] == story[0] and not coverage['complete'] and
                any('output directory was full' in x for x in coverage['reasons']), (coverage, story))
    out = place.dir + '/small'
    with Tmpfs(out, 256 << 10) as mounted:
        if mounted:
            step = Step(place, 'tmpfs', out=out + '/out')
            agent = step.agent()
            traced = step.run(program, place.dir + '/c', str(20 * STEPS), '1')
            step.end(agent)
            story = told(step)
            t.check('%s: output, a full disk: every event that did not reach it is told' % place.flavour,
                    adds_up(story, 20 * STEPS) and story[2] > 0, story)
            t.equal('%s: output, a full disk: the program is untouched' % place.flavour, shown(traced), plain[20 * STEPS])
    step = Step(place, 'again')
    step.run(program, place.dir + '/c', str(STEPS), '1')
    step.end()
    before = told(step)
    os.unlink(step.dir + '/ranks/sealed')
    with open(step.dir + '/ranks/output', 'w') as f:
        f.write('=' + step.mpic)
    code = step.end()
    t.equal('%s: an agent that died when all was done: the next one changes nothing' % place.flavour,
            (code, told(step), os.listdir(step.dir + '/ranks')), (0, before, ['sealed']))
    step = Step(place, 'nowhere', out='/proc/self/nowhere')
    step.run(program, place.dir + '/c', str(STEPS), '1')
    step.end()
    step.mpic = step.dir + '/ranks/n1.mpic'
    story = told(step)
    t.check('%s: output that cannot be made: the trace stays on the node, whole' % place.flavour,
            adds_up(story, STEPS) and story[2] == 0, story)


def spool_full(t, place, program, plain):
    """The file system of the segments fills up: no SIGBUS, and what does not fit is counted."""
    sizes = (16, 64, 128, 512, 1100, 1200, 1400, 1800, 2600) if FULL else (64, 1400)
    for kb in sizes:
        spool = place.dir + '/spool'
        with Tmpfs(spool, kb << 10) as mounted:
            if not mounted:
                print('# no tmpfs can be mounted here')
                return
            step = Step(place, 'spool%d' % kb, out=place.dir + '/out-spool%d' % kb, spool=spool)
            traced = step.run(program, place.dir + '/c', str(20 * STEPS), '1')
            t.equal('%s: a spool of %d kB: the program is untouched' % (place.flavour, kb), shown(traced), plain[20 * STEPS])
            step.end()
            story = told(step)
            t.check('%s: a spool of %d kB: what was not recorded is told' % (place.flavour, kb),
                    story is None or adds_up(story, 20 * STEPS), story)


def crowd(t, place, _program, _plain):
    """One program after the other in one step, until there is no room: those that ran untraced are a number, and the record is not whole."""
    program, n = place.compile('told.c'), 9
    for what, size, names in (('bytes', 12 << 20, 0), ('names', 400 << 20, 8)):
        step = Step(place, 'crowd-' + what)
        with Tmpfs(step.dir + '/ranks', size, names) as mounted: # as under Slurm
            if not mounted:
                print('# no tmpfs can be mounted here')
                return
            agent = step.agent()
            traced = step.run('/bin/sh', '-c', 'for i in $(seq 50); do [ -e $MPITRACE_DIR/unsaid ] || sleep 0.1; done; for i in $(seq %d); do "$0" 0 || exit; done' % n,
                              program)
            step.end(agent)
        coverage, counts = step.analysis()['coverage'], step.counts()
        said = [int(x.split(': ')[1].split(' process')[0]) for x in coverage['reasons'] if 'ran untraced: ' in x]
        t.check('%s: no room (%s): programs that could not be recorded are counted' % (place.flavour, what),
                traced.returncode == 0 and 0 < sum(said) < n and sum(said) + len(counts['processes']) == n and not coverage['complete'],
                (traced, said, len(counts['processes']), coverage['reasons']))


def limits(t, place, program, plain):
    """Limits of the program itself, where it can live with them."""
    def soft(what, value):
        return lambda: resource.setrlimit(what, (value, resource.getrlimit(what)[1]))
    for what, values in ((resource.RLIMIT_NOFILE, (8, 12, 16, 20, 24, 32, 64) if FULL else (16, 24, 64)),
                         (resource.RLIMIT_FSIZE, (0, 4096, 1 << 17, 1200 << 10, 1400 << 10, 2 << 20) if FULL else (1 << 17, 1400 << 10))):
        for value in values:
            words = [program, place.dir + '/c', str(20 * STEPS), '1']
            alone = subprocess.run(words, env=place.env, cwd=place.dir, capture_output=True, timeout=120, preexec_fn=soft(what, value))
            step = Step(place, 'limit%d-%d' % (what, value))
            traced = step.run(*words, preexec_fn=soft(what, value))
            if alone.returncode != 0:  # the MPI library itself gave up, with words that hold pids and times
                traced.stdout = alone.stdout = b''
            t.equal('%s: limit %d of %d: the program is untouched' % (place.flavour, what, value),
                    (traced.returncode, traced.stdout), (alone.returncode, alone.stdout))
            step.end()
            story = told(step)
            t.check('%s: limit %d of %d: what was not recorded is told' % (place.flavour, what, value),
                    story is None or alone.returncode != 0 or adds_up(story, 20 * STEPS), story)


def smallest(run, low, high, step):
    while high - low > step:
        middle = (low + high) // 2
        low, high = (low, middle) if run(middle).returncode == 0 else (middle, high)
    return high


def address_space(t, place, program, plain):
    words = [program, place.dir + '/c', str(STEPS), '1']

    def run(mb, env=place.env):
        return subprocess.run(words, env=env, cwd=place.dir, capture_output=True, timeout=120, preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_AS, (mb << 20, mb << 20)))
    least = smallest(run, 16, 4096, 4)
    while any(run(least + more).returncode for more in (0, 8, 16, 24)):  # libraries take more where there is more
        least += 8
    step = Step(place, 'as')
    traced = run(least + 24, step.env)
    t.equal('%s: 24 MiB of address space above the least (%d MiB): the program is untouched' % (place.flavour, least),
            (traced.returncode, traced.stdout), plain[STEPS][:2])
    step.end()


def cgroup(t, place, program, plain):
    """A limit on memory: the program lives with it, or dies of it as it would without us, and its trace survives."""
    root = '/sys/fs/cgroup/memory' if os.path.exists('/sys/fs/cgroup/memory/cgroup.procs') else '/sys/fs/cgroup'
    group = '%s/mpitrace-test-%d' % (root, os.getpid())
    limit = '/memory.limit_in_bytes' if root.endswith('memory') else '/memory.max'
    try:
        os.mkdir(group)
        with open(group + limit, 'w') as f:
            f.write(str(96 << 20))
    except OSError as e:
        print('# no memory cgroup can be made here: %s' % e)
        if os.path.exists(group):
            os.rmdir(group)
        return

    def enter():
        with open(group + '/cgroup.procs', 'w') as f:
            f.write('0')
    try:
        for what in ('plain', 'hog'):
            words = [program, place.dir + '/c', str(STEPS), '1', what]
            alone = subprocess.run(words, env=place.env, cwd=place.dir, capture_output=True, timeout=120, preexec_fn=enter)
            os.unlink(place.dir + '/c')
            step = Step(place, 'cgroup-' + what)
            agent = step.agent()
            traced = step.run(*words, preexec_fn=enter)
            t.equal('%s: in 96 MiB of memory, %s: the program ends as it would (%d)' %
                    (place.flavour, what, alone.returncode), shown(traced), shown(alone))
            step.end(agent)
            story = told(step)
            t.check('%s: in 96 MiB of memory, %s: every call is in the trace' % (place.flavour, what),
                    adds_up(story, STEPS) and story[2] == 0, story)
    finally:
        for _ in range(100):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.05)


def counted(path):
    with open(path) as f:
        return {k: int(n) for k, n in (line.split() for line in f)}


def sweep(t, place, program, plain, who):
    """The Nth call of ours to the system fails, or all from the Nth on."""
    count, steps, n = place.dir + '/faults-' + who, 5 * STEPS, 0
    fault = {'LD_PRELOAD': os.environ['FAULTS'], 'FAULT_IN': 'mpitrace' if who == 'agent' else 'libmpitrace-'}

    def run(name, how):
        env = dict(fault, **how)
        step = Step(place, '%s-%s' % (who, name))
        if who == 'agent':
            agent = step.agent(env=dict(place.env, **env), stderr=subprocess.DEVNULL)
            traced = step.run(program, place.dir + '/c', str(steps), '1')
            if agent.poll() is not None:  # it could not even begin: later is another chance
                agent = None
            step.end(agent)
        else:
            traced = step.run(program, place.dir + '/c', str(steps), '1',
                              env=dict(env, LD_PRELOAD=env['LD_PRELOAD'] + ' ' + os.environ['TRACER']))
            step.end()
        return step, traced

    run('count', {'FAULT_COUNT': count})
    calls = counted(count)
    print('# %s, %s: %s' % (place.flavour, who, calls))
    wrong, untouched = [], []
    names = [x for x in calls if calls[x] and x != 'any']
    for call in names:
        every = range(1, calls[call] + 1)
        few = sorted({1, calls[call] // 2} & set(every))
        for error in (ERRORS if FULL else ['ENOSPC']):
            for i in every if FULL and error in ('ENOSPC', 'EIO') else few:
                for plus in ('', '+') if FULL or i == 1 else ('',):
                    name = '%s-%s-%d%s' % (call, error, i, plus)
                    step, traced = run(name, {'FAULT': '%s:%d:%d%s' % (call, ERRORS[error], i, plus)})
                    n += 1
                    if 'sealed' not in os.listdir(step.dir + '/ranks'):  # an agent that meets no fault finds everything
                        step.end()
                    if not os.path.exists(step.mpic):
                        step.mpic = step.dir + '/ranks/n1.mpic'
                    if shown(traced) != plain[steps]:
                        untouched.append((name, shown(traced)))
                    story = told(step)
                    if not (adds_up(story, steps) or (story is None and who == 'tracer')):
                        wrong.append((name, story, os.listdir(step.dir + '/ranks')))
                    subprocess.run(['rm', '-rf', step.dir, step.out], check=True)
    t.check('%s: %d failing calls of the %s: the program is untouched' % (place.flavour, n, who), not untouched,
            '\n'.join(map(str, untouched[:20])))
    t.check('%s: %d failing calls of the %s: what was not recorded is told' % (place.flavour, n, who), not wrong,
            '\n'.join(map(str, wrong[:20])))


def packed_events(path):
    """Bytes of the event blocks of a .mpic (format/SPEC.md) that is being written."""
    data, at, total = open(path, 'rb').read() if os.path.exists(path) else b'', 16, 0
    while data[at:at + 4] == b'MPBK' and at + 40 <= len(data):
        packed = int.from_bytes(data[at + 28:at + 32], 'little')
        total += 40 + packed if data[at + 4] == 3 else 0
        at += 40 + packed
    return total


def budget(t, place, program):
    """Events stop when the budget is spent, the profile goes on, and the report says from when."""
    step, count = Step(place, 'budget', budget=20000), place.dir + '/budget-count'
    agent = step.agent()
    running = subprocess.Popen([program, count, '0', '1', 'slow'], env=step.env, cwd=place.dir, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)

    def returned():
        with open(count, 'rb') as f:
            return sum(memoryview(f.read(48)).cast('q'))
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and packed_events(step.mpic) <= 20000:
        time.sleep(0.01)
    spent = returned()
    while time.monotonic() < deadline and returned() < spent + 100000:
        time.sleep(0.01)
    running.kill()
    running.wait()
    step.end(agent)
    got, done, story = step.counts(), returned(), told(step)
    totals = got['processes'][0]['totals']
    t.check('%s: budget spent: the profile is exact to the end' % place.flavour,
            0 <= sum(v for k, v in totals.items() if k != 'MPI_Init' and k != 'MPI_Comm_dup') - done <= 1, (totals, done))
    t.check('%s: budget spent: events stop, and each that was not recorded is counted' % place.flavour,
            isinstance(story, tuple) and story[2] > 0 and story[0] - story[1] - story[2] in (0, 1), story)
    coverage = step.analysis()['coverage']
    t.check('%s: budget spent: the report says from when, and how many' % place.flavour,
            any('budget' in x and 'after' in x and '{:,}'.format(story[2]) in x for x in coverage['reasons']) and
            coverage['events_lost'] == story[2], coverage)


def removed(t, place, program, plain):
    """A cleaner takes the step directory away, where the end of the step would be said."""
    step = Step(place, 'removed')
    agent = step.attentive_agent()
    run = step.run(program, place.dir + '/c', str(STEPS), '1')
    while agent.poll() is None and not os.path.exists(step.mpic):
        time.sleep(0.01)
    shutil.rmtree(step.dir)
    try:
        code = agent.wait(timeout=60)
    except subprocess.TimeoutExpired:
        agent.kill()
        code = 'does not end'
    counts = step.counts()
    missing = any('lost' in th and th['lost'] or th['events'] < th['calls'] for p in counts['processes'] for th in p['meta']['threads'])
    t.check('%s: a step directory that is removed: the agent ends, its trace has an end, and its exit code says whether something is missing' % place.flavour,
            code == (4 if missing else 0) and counts['finished'] and shown(run) == plain[STEPS], (code, shown(run), counts))


def few_inodes(t, place, program, plain):
    """Where no file can be made any more, the end of the program cannot be marked: it is told."""
    for inodes in range(5, 11):
        with Tmpfs(place.dir + '/few', 3 << 20, inodes) as mounted:
            if not mounted:
                t.skip('%s: %d inodes' % (place.flavour, inodes), 'no tmpfs can be mounted here')
                continue
            run = whole([MPITRACE, 'run', '--out', place.dir + '/few/out', '--', program, place.dir + '/c', str(STEPS), '1'], place.env, place.dir)
            t.equal('%s: %d inodes: the program ends as ever, and mpitrace run with it' % (place.flavour, inodes), (run.returncode, run.stdout), plain[STEPS][:2])
            t.check('%s: %d inodes: what became of the trace is said' % (place.flavour, inodes), b'mpitrace' in run.stderr and b'no MPI call of' not in run.stderr, run)


def ended(place, seconds):
    """Whether none works in the place's directory any more."""
    until = time.monotonic() + seconds
    while any(True for _ in processes_in(place.dir)) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(True for _ in processes_in(place.dir))


def orphaned(t, place):
    """mpitrace run is killed, its agent has no room for a trace: when the program has ended, so does the agent."""
    program, until, there = place.compile('slurm_phase.c'), place.dir + '/over', place.dir + '/there'
    with Tmpfs(place.dir + '/few', 3 << 20, 8) as mounted:
        if not mounted:
            t.skip('%s: an agent without room, whose mpitrace run is killed, ends with the program' % place.flavour, 'no tmpfs can be mounted here')
            return
        run = subprocess.Popen([MPITRACE, 'run', '-n', '2', '--out', place.dir + '/few/out', '--', program, 'until=' + until], cwd=place.dir,
                               env=dict(place.env, PHASE_FILE=there), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(there) and run.poll() is None:
            time.sleep(0.01)
        agents = list(agents_of(run))
        run.kill()
        run.wait()
        open(until, 'w').close()
        t.check('%s: an agent without room, whose mpitrace run is killed, ends with the program' % place.flavour, agents and ended(place, 60),
                [(pid, words_of(pid)) for pid in processes_in(place.dir)])
        for pid in processes_in(place.dir):
            os.kill(pid, signal.SIGKILL)
        ended(place, 10)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('steps.c', '-pthread')
            plain = {n: shown(subprocess.run([program, place.dir + '/c', str(n), '1'], env=place.env, cwd=place.dir,
                                             capture_output=True, timeout=120)) for n in (STEPS, 5 * STEPS, 20 * STEPS)}
            # Most of what these meet is the same under both.
            cases = (output_full, spool_full, few_inodes, crowd, limits, address_space, cgroup) if FULL or flavour == 'mpich' else (spool_full, cgroup)
            cases += (removed,)
            for case in cases:
                began = time.monotonic()
                case(t, place, program, plain)
                print('# %s: %.1f s' % (case.__name__, time.monotonic() - began), flush=True)
            if FULL or flavour == 'mpich':
                budget(t, place, program)
                orphaned(t, place)
            if flavour == FLAVOURS[-1]:  # our own calls are the same with all
                sweep(t, place, program, plain, 'tracer')
                sweep(t, place, program, plain, 'agent')
    t.end()


main()
