#!/usr/bin/env python3
"""behaviour.py - the program's output, exit code and lifetime never depend on the tracer; what it committed survives."""
import mmap
import os
import random
import re
import resource
import signal
import struct
import subprocess
import time

from trace import ENV, FLAVOURS, MPITRACE, PROGRAMS, TIMEOUT, Place, Tests, agents_of, matrix, operations, words_of

TRACER = os.environ['TRACER']
EVENTS, END = 3, 6 # kinds of blocks, format/SPEC.md
KILLS = int(os.environ.get('KILLS', '5'))


def wipes_on_fork():
    """Does a child find such a page empty (madvise(2), MADV_WIPEONFORK)? An emulator may not know of it."""
    page = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page[0] = 1
    try:
        page.madvise(18)
    except OSError:
        return False
    pid = os.fork()
    if pid == 0:
        os._exit(page[0])
    return os.waitpid(pid, 0)[1] == 0


def run(place, *words, **env):
    return subprocess.run(words, env=dict(place.env, **env), cwd=place.dir, capture_output=True, timeout=TIMEOUT)


def same(t, claim, plain, traced):
    def strip(text):
        return b'\n'.join(x for x in text.split(b'\n') if not x.startswith(b'mpitrace'))
    t.equal(claim, (traced.returncode, traced.stdout, strip(traced.stderr)),
            (128 - plain.returncode if plain.returncode < 0 else plain.returncode, plain.stdout, plain.stderr))


def ends(t, place):
    program = place.compile('ends.c')
    for mode in ('exit0', 'exit3', 'exit7', '_exit5', 'segv', 'abort', 'exec', 'fork', 'rawfork', 'vfork', 'posix_spawn', 'system', 'closed',
                 'chdir', 'outside', 'tool'):
        if mode == 'rawfork' and not wipes_on_fork():
            t.skip('%s, %s' % (place.flavour, mode), 'pages are not emptied in children here')
            continue
        plain = run(place, program, mode)
        traced = run(place, MPITRACE, 'run', '--out', place.dir + '/out', '--name', mode, '--', program, mode)
        if mode in ('segv', 'abort'):  # the MPI library prints addresses and a pid
            plain.stderr = traced.stderr = b''
        same(t, '%s, %s: output and exit code are those of the untraced program' % (place.flavour, mode), plain, traced)
        a = place.analysis(mode)
        t.equal('%s, %s: its calls are in the trace' % (place.flavour, mode), operations(a).get('MPI_Allreduce'), 100)
        if mode == 'outside':
            t.equal('%s: calls before MPI_Init are a number, not events' % place.flavour,
                    (a['coverage']['calls_before_init'], [o for o in operations(a) if 'ersion' in o or 'ized' in o]), (5, []))
        c = a['coverage']
        if mode in ('fork', 'rawfork'):
            t.equal('%s, %s: calls of a forked child are a number, and said' % (place.flavour, mode),
                    (c['calls_forked'], operations(a).get('MPI_Comm_group'), c['complete'], any('forked' in r for r in c['reasons'])), (19, None, False, True))
        else:
            t.equal('%s, %s: no calls of children' % (place.flavour, mode), c['calls_forked'], 0)
        if mode in ('segv', 'abort', 'exit7'):
            t.equal('%s, %s: the analysis says that it is partial' % (place.flavour, mode), a['job']['state'], 'partial')


def forks_inside(t, place):
    """Children of calls that are open when they are forked leave no trace in their parent's."""
    program = place.compile('forks_inside.c')
    for how in ('fork', 'clone') if wipes_on_fork() else ('fork',):
        for n, more in ((400, ()), (401, ()), (401, ('--profile',))): # around what makes the tracer's tables grow
            name = '-'.join((how, str(n)) + more)
            plain = run(place, program, how, str(n))
            traced = run(place, MPITRACE, 'run', '--out', place.dir + '/out', '--name', name, *more, '--', program, how, str(n))
            same(t, '%s, %s: output and exit code are those of the untraced program' % (place.flavour, name), plain, traced)
            a = place.analysis(name)
            c, calls = a['coverage'], operations(a)
            t.equal('%s, %s: the parent\'s calls, and no more' % (place.flavour, name),
                    [calls.get('MPI_' + x) for x in ('Comm_dup', 'Sendrecv', 'Comm_free', 'Reduce_local', 'Finalize')], [60, n, 60, 100, 1])
            t.equal('%s, %s: nothing is lost, and no call is a child\'s' % (place.flavour, name),
                    (more != () or c['events_lost'] == 0, c['calls_forked'], c['calls_left'], c['complete']), (True, 0, 0, True))


def forks_anywhere(t, place):
    """Nor do those that a signal's handler forks, wherever in the tracer or in MPI the signal has come."""
    program, forks = place.compile('forks_anywhere.c'), 200
    traced = run(place, MPITRACE, 'run', '--out', place.dir + '/out', '--name', 'anywhere', '--', program, str(forks))
    n = int(traced.stdout)
    a = place.analysis('anywhere')
    c, calls = a['coverage'], operations(a)
    t.equal('%s, forks anywhere: calls are exact, and no event is lost' % place.flavour,
            ([calls.get('MPI_' + x) for x in ('Sendrecv', 'Comm_size', 'Finalize')], c['events_lost'], c['calls_left']), ([n, n, 1], 0, 0))
    t.check('%s, forks anywhere: of children at most the call that was to come' % place.flavour, c['calls_forked'] <= forks, c)


def forks_opening(t, place):
    """Nor do those of a handler that comes while the tracer opens the file beside its own, to go on there."""
    program, times, directory = place.compile('forks_opening.c', '-rdynamic', '-ldl'), 5, place.dir + '/alone'
    os.mkdir(directory)
    traced = run(place, program, str(times), LD_PRELOAD=TRACER, MPITRACE_DIR=directory) # nobody drains it
    t.check('%s, forks while a file is opened: the program runs as ever' % place.flavour, traced.returncode == 0 and int(traced.stdout) > 0, traced)
    t.equal('%s, forks while a file is opened: it holds its segments' % place.flavour,
            [os.path.getsize(directory + '/' + x) // 2**18 for x in os.listdir(directory) if x.endswith('.spill')], [times])


def provided_nowhere(t, place):
    program = place.compile('nowhere.c')
    plain, traced = place.plain(2, program), place.traced(2, program, name='nowhere')
    t.equal('%s: MPI_Init_thread without a place for its answer does what it does untraced' % place.flavour,
            (traced.returncode, sorted(traced.stdout.splitlines())), (plain.returncode, sorted(plain.stdout.splitlines())))
    if plain.returncode == 0:
        a = place.analysis('nowhere')
        t.equal('%s: and is recorded' % place.flavour, (operations(a).get('MPI_Init_thread'), a['coverage']['complete']), (2, True))


def beside_the_loader(t, place):
    """Another thread has the loader's locks when MPI begins: nobody waits for ever."""
    program, library = place.compile('loader.c', '-ldl', '-pthread'), place.dir + '/libloader_plugin.so'
    subprocess.run(['mpicc.' + place.flavour, '-g', '-w', '-shared', '-fPIC', '-o', library, PROGRAMS + '/loader_plugin.c', '-ldl'], check=True)
    for case, opened, times in (('race', 'libgfortran.so.5', 4), ('constructor', library, 1)):
        runs = []
        for i in range(times):
            if os.path.exists(library + '.runs'):
                os.remove(library + '.runs')
            runs.append(place.traced(1, program, case, opened, name='%s%d' % (case, i)))
        t.equal('%s, a library is opened meanwhile (%s): the program runs as ever' % (place.flavour, case), [(r.returncode, r.stdout) for r in runs],
                [(0, b'done\n')] * times)
        t.equal('%s, a library is opened meanwhile (%s): and is recorded' % (place.flavour, case), operations(place.analysis(case + '0')).get('MPI_Barrier'), 1)


def cancelled(t, place):
    program = place.compile('cancelled.c', '-pthread')
    traced = place.traced(1, program, name='cancelled')
    t.equal('%s: a thread is cancelled where it is untraced, and keeps no lock' % place.flavour, (traced.returncode, traced.stdout), (0, b"the thread's calls: all\n"))


def unjudged(t, place):
    """What MPI is to judge the tracer asks MPI nothing about."""
    program = place.compile('unjudged.c')
    for case in ('start', 'free', 'message'):
        ranks = 2 if case == 'message' else 1
        plain, traced = place.plain(ranks, program, case), place.traced(ranks, program, case, name=case)
        code = 128 - plain.returncode if plain.returncode < 0 else plain.returncode
        t.equal('%s, %s: what the program is told is what it is told untraced' % (place.flavour, case), (traced.returncode, traced.stdout), (code, plain.stdout))
    if re.search(rb'^1, .*\nthen 0: 7', plain.stdout, re.M): # MPICH 5.0 says MPI_SUCCESS of what its error handler was called for
        a = place.analysis('message')
        t.equal('%s: a message that was refused once is received then' % place.flavour,
                (a['summary']['transfers'], [x['what'] for x in a['correctness'] if x['kind'] != 'error_returned'], a['coverage']['complete'], matrix(a, 'p2p', 'bytes')),
                (1, [], True, {(0, 1): (4, 4)}))


def refused(t, place):
    """What MPI refuses it has not done: the program goes on, and what it wanted to free is there as before."""
    program = place.compile('refused.c')
    who = '%s, calls that MPI refuses: ' % place.flavour
    plain = place.plain(2, program)
    if plain.returncode != 0: # some libraries die of one of them
        t.skip(who + 'as untraced', 'untraced it ends with %d' % plain.returncode)
        return
    traced = place.traced(2, program, name='refused')
    t.equal(who + 'output and exit code are those of the untraced program', (sorted(traced.stdout.splitlines()), traced.returncode),
            (sorted(plain.stdout.splitlines()), plain.returncode))
    a = place.analysis('refused')
    calls = operations(a)
    t.equal(who + 'each is a call', {x: calls.get('MPI_' + x) for x in ('Wait', 'Waitall', 'Waitany', 'Testsome', 'Startall', 'Request_free')},
            {'Wait': 2, 'Waitall': 4, 'Waitany': 6, 'Testsome': 4, 'Startall': 2, 'Request_free': 2})
    t.equal(who + 'messages on what was not freed are matched', (a['summary']['transfers'], {k: v for k, v in a['coverage']['unmatched'].items() if v and k != 'proc_null'},
            a['coverage']['complete']), (10, {}, True))


def inert(t, place):
    program = place.compile('nothing.c')
    traced = run(place, MPITRACE, 'run', '--out', place.dir + '/none', '--', program)
    t.check(place.flavour + ': a program that never initialises MPI leaves nothing',
            traced.stdout == b'initialized 0\n' and os.listdir(place.dir + '/none') == [],
            (traced, os.listdir(place.dir + '/none')))
    for words in (['/bin/true'], ['/bin/bash', '-c', 'echo $((1+1))'], ['python3', '-c', 'print(2)']):
        plain = run(place, *words)
        ranks = place.dir + '/ranks'
        os.makedirs(ranks, exist_ok=True)
        traced = run(place, *words, LD_PRELOAD=TRACER, LD_BIND_NOW='1', MPITRACE_DIR=ranks)
        t.check('%s: %s is untouched and leaves nothing' % (place.flavour, words[0]),
                (plain.stdout, plain.stderr, plain.returncode) == (traced.stdout, traced.stderr, traced.returncode) and
                os.listdir(ranks) == [], traced)


def hostile(t, place):
    program = place.compile('ends.c')
    plain = run(place, program, 'exit3')
    for what, value in (('missing', '/nonexistent/dir'), ('relative', 'ranks'), ('a file', '/etc/passwd'),
                        ('read-only', '/proc/self'), ('dots and newlines', '/tmp/../tmp/\n/..'), ('very long', '/' + 'x' * 100000)):
        traced = run(place, program, 'exit3', LD_PRELOAD=TRACER, MPITRACE_DIR=value)
        t.check('%s: MPITRACE_DIR %s changes nothing' % (place.flavour, what),
                (plain.stdout, plain.stderr, plain.returncode) == (traced.stdout, traced.stderr, traced.returncode), traced)
    os.makedirs(place.dir + '/limited', exist_ok=True)
    for limit in (0, 4096, 1 << 17, 1 << 20):
        traced = subprocess.run([program, 'exit3'], env=dict(place.env, LD_PRELOAD=TRACER, MPITRACE_DIR=place.dir + '/limited'),
                                cwd=place.dir, capture_output=True, timeout=TIMEOUT / 2,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        untraced = subprocess.run([program, 'exit3'], env=place.env, cwd=place.dir, capture_output=True, timeout=TIMEOUT / 2,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        t.check('%s: a file size limit of %d bytes changes nothing' % (place.flavour, limit),
                (untraced.stdout, untraced.returncode) == (traced.stdout, traced.returncode), (untraced, traced))


def starved(t, place):
    """An agent that gets no processor any more, here because it is stopped, has a successor."""
    until = place.dir + '/over'
    run = subprocess.Popen([MPITRACE, 'run', '--out', place.dir + '/out', '--name', 'starved', '--', place.compile('slurm_phase.c'), 'until=' + until],
                           env=place.env, cwd=place.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    agents = []
    while not agents and run.poll() is None:
        agents = list(agents_of(run))
    for pid in agents:
        os.kill(pid, signal.SIGSTOP)
    open(until, 'w').close()
    try:
        code = run.wait(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        code = 'hangs'
        for pid in agents:
            os.kill(pid, signal.SIGKILL)
        run.wait()
    whole = code == 0 and place.analysis('starved')['coverage']
    t.check(place.flavour + ': a starved agent is followed by another, and the trace is whole',
            agents and whole and whole['complete'] and whole['events_lost'] == 0, (agents, code, whole))


def returned(path):
    try:
        with open(path, 'rb') as f:
            return struct.unpack('q', f.read(8))[0]
    except (OSError, struct.error):
        return 0


def killed(t, place):
    program = place.compile('killed.c')
    worst = []
    for i in range(KILLS):
        count, name = place.dir + '/count%d' % i, 'killed%d' % i
        agent = subprocess.Popen([MPITRACE, 'run', '--out', place.dir + '/out', '--name', name, '--', program, count],
                                 env=place.env, cwd=place.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        want = random.randrange(1, 400000)
        deadline = time.monotonic() + TIMEOUT / 2
        while returned(count) < want and time.monotonic() < deadline:
            time.sleep(0.0005)
        children = open('/proc/%d/task/%d/children' % (agent.pid, agent.pid)).read().split()
        for pid in children:
            if words_of(pid)[:1] == [program]:
                os.kill(int(pid), signal.SIGKILL)
        code = agent.wait(timeout=TIMEOUT)
        done, a = returned(count), place.analysis(name)
        ops = operations(a)
        loops = sum(ops.get(o, 0) for o in ('MPI_Irecv', 'MPI_Isend', 'MPI_Waitall'))
        good = code == 137 and loops - done in (0, 1) and a['coverage']['events_lost'] == 0 and \
            a['coverage']['events'] >= done and a['job']['state'] == 'partial'
        if not good:
            worst.append((code, done, loops, a['coverage'], a['job']['state']))
    t.check('%s: after SIGKILL at %d random moments every returned call is in the trace' % (place.flavour, KILLS),
            not worst, worst)
    count, name = place.dir + '/terminated', 'terminated'
    whole = subprocess.Popen([MPITRACE, 'run', '--out', place.dir + '/out', '--name', name, '--', program, count],
                             env=place.env, cwd=place.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + TIMEOUT / 2
    while returned(count) < 1000 and time.monotonic() < deadline:
        time.sleep(0.0005)
    whole.terminate()
    t.equal('%s: SIGTERM to `mpitrace run` ends the program and finishes its trace' % place.flavour,
            (whole.wait(timeout=TIMEOUT / 2), place.analysis(name)['job']['state']), (128 + signal.SIGTERM, 'partial'))
    for sig in (signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGXCPU):
        count, name = place.dir + '/sig%d' % sig, 'sig%d' % sig
        run(place, MPITRACE, 'run', '--out', place.dir + '/out', '--name', name, '--', program, count, str(int(sig)))
        ops = operations(place.analysis(name))
        t.equal('%s: after %s every returned call is in the trace' % (place.flavour, signal.Signals(sig).name),
                sum(ops.get(o, 0) for o in ('MPI_Irecv', 'MPI_Isend', 'MPI_Waitall')), returned(count))


def without_events(data):
    """A .mpic that was cut before its first block of events, behind a snapshot of the totals."""
    kept, at = data[:16], 16
    while at < len(data):
        kind, packed = data[at + 4], struct.unpack_from('<I', data, at + 28)[0]
        if kind not in (EVENTS, END):
            kept += data[at:at + 40 + packed]
        at += 40 + packed
    return kept


def cut(t, place):
    place.traced(2, place.compile('lang_c.c'), name='cut')
    with open(place.dir + '/out/cut.mpic', 'rb') as f:
        data = f.read()
    with open(place.dir + '/out/short.mpic', 'wb') as f:
        f.write(without_events(data))
    mpix = place.dir + '/out/short.mpix'
    subprocess.run([MPITRACE, 'analyze', place.dir + '/out/short.mpic', '-o', mpix], capture_output=True)
    text = subprocess.run([MPITRACE, 'show', mpix], capture_output=True, check=True, text=True).stdout
    sites = text.partition('\nCall sites')[2].partition('\n\n')[0].rstrip('\n').split('\n')[2:]
    t.check('%s: what a file without events does not tell is not shown as zero' % place.flavour,
            'PARTIAL' in text and ' calls; no single calls, all in the totals' in text and re.search(r'Traffic +(messages not recorded|[1-9][\d,]* messages)[,;] ', text) and
            len(sites) > 2 and all(' not known  ' in line or line.startswith('  ... ') for line in sites) and 'MPI_Init ' in text, text)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            ends(t, place)
            forks_inside(t, place)
            forks_anywhere(t, place)
            forks_opening(t, place)
            beside_the_loader(t, place)
            cancelled(t, place)
            unjudged(t, place)
            provided_nowhere(t, place)
            refused(t, place)
            inert(t, place)
            hostile(t, place)
            killed(t, place)
            starved(t, place)
            cut(t, place)
    t.end()


main()
