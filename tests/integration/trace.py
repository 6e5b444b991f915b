"""trace.py - helpers of the integration tests: compile a program of tests/programs, run it with and without the tracer,
read its analysis. Environment from meson: MPITRACE (the command), PROGRAMS (their folder)."""
import concurrent.futures
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import agree
import contract

MPITRACE = os.environ['MPITRACE']
PROGRAMS = os.environ['PROGRAMS']
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', OMPI_MCA_mpi_yield_when_idle='1',
           OMPI_MCA_rmaps_base_oversubscribe='1', PRTE_MCA_rmaps_default_mapping_policy=':oversubscribe',  # Open MPI 4, and 5 and 6
           OMPI_MCA_btl_base_warn_component_unused='0')


def open_mpi():
    """The major version of the Open MPI that is installed, 0 without."""
    info = shutil.which('ompi_info')
    said = subprocess.run([info, '--version'], capture_output=True, text=True, check=False).stdout if info else ''
    return int((re.search(r'v(\d+)', said) or [0, 0])[1])


def surroundings():
    """What this machine's Open MPI needs for what has nothing to do with us."""
    if open_mpi() < 5:  # 4.1.4 on one node: its osc/rdma crashes in MPI_Compare_and_swap, traced or not
        return {'OMPI_MCA_osc': '^rdma'}
    return {'OMPI_MCA_btl': 'self,sm'}  # its TCP says of every run that loopback cannot be reached


ENV.update(surroundings())
FLAVOURS = [f for f in ('openmpi', 'mpich') if shutil.which('mpicc.' + f)]
TIMEOUT = 120 * int(os.environ.get('SLOWER', 1))  # seconds; an emulator is many times slower
# format/mpic.h, format/sig.h
DEF_OP, DEF_COMM, DEF_DATATYPE, DEF_COMM_NAME, DEF_FILE, DEF_WINDOW, DEF_WINDOW_NAME = 2, 3, 4, 6, 7, 8, 9
LAST = threading.local() # what was launched last
STARTS_REQUEST, PERSISTENT, SIZED, POLLS, FAILED = 1, 2, 16, 32, 64


def whole(words, env, directory):
    """Run to the end; a program that hangs goes with all its processes."""
    p = subprocess.Popen(words, env=env, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         start_new_session=True)
    try:
        out, err = p.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        err += b'\ntimed out'
    return subprocess.CompletedProcess(words, p.returncode, out, err)


def launched(words, env, directory):
    """A program under a launcher, to its end. Open MPI's hears of a rank's end in two ways, and once in thousands of times in the wrong
    order (open-mpi/ompi#7833): it ends with 1 then, whatever the rank ended with. Such a run says nothing of the program: once more."""
    run = whole(words, env, directory)
    if run.returncode == 1 and b'exiting improperly' in run.stderr:
        print('# once more, since its launcher erred: ' + ' '.join(words), flush=True)
        run = whole(words, env, directory)
    LAST.value = run
    return run


def shown(mpix):
    """The analysis in a trace. Whatever program a test runs, it must be as docs/analysis.schema.json says."""
    out = subprocess.run([MPITRACE, 'show', mpix, '--json'], capture_output=True, check=True)
    analysis = json.loads(out.stdout)
    wrong = contract.errors(analysis)
    if wrong:
        raise ValueError('%s breaks docs/analysis.schema.json:\n%s' % (mpix, '\n'.join(wrong)))
    same_numbers(mpix)
    return analysis


def same_numbers(mpix):
    """Whatever program a test runs, the page and the terminal agree."""
    with tempfile.NamedTemporaryFile(suffix='.html') as f:
        subprocess.run([MPITRACE, 'report', mpix, '-o', f.name], check=True)
        with open(f.name, encoding='utf-8') as page:
            page = page.read()
    text = subprocess.run([MPITRACE, 'show', mpix], capture_output=True, check=True, encoding='utf-8').stdout
    wrong = agree.errors(page, text)
    if wrong:
        raise ValueError('%s: page and terminal differ:\n%s' % (mpix, '\n'.join(map(str, wrong))))


class Place:
    """A temporary directory with `mpirun` of one MPI first in PATH."""

    def __init__(self, flavour):
        self.flavour = flavour
        self.dir = tempfile.mkdtemp(prefix='mpitrace-test-')
        os.mkdir(self.dir + '/bin')
        with open(self.dir + '/bin/mpirun', 'w') as f: # a script, not a link: MPICH's looks for its helpers beside itself
            f.write('#!/bin/sh\nexec %s "$@"\n' % shutil.which('mpirun.' + flavour))
        os.chmod(self.dir + '/bin/mpirun', 0o755)
        self.env = dict(ENV, PATH=self.dir + '/bin:' + ENV['PATH'])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in processes_in(self.dir): # of a fatal error MPICH 4.2's launcher ends only the rank that erred
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.dir, ignore_errors=True)

    def compile(self, source, *flags, waits=None):
        """What its ranks do while they wait, tests/programs/patient.c says: with waits='asleep' many that hang can stand beside each other."""
        program = '%s/%s' % (self.dir, os.path.basename(source).split('.')[0])
        compiler = {'c': 'mpicc', 'cc': 'mpicxx'}.get(source.split('.')[-1], 'mpifort')
        subprocess.run(['%s.%s' % (compiler, self.flavour), '-g', '-O1', '-w', '-o', program, PROGRAMS + '/' + source,
                        *(self.patience(program, waits) if '-shared' not in flags else []), *flags], check=True)
        return program

    def patience(self, program, waits):
        if waits is None and self.flavour != 'mpich':
            return []
        where = program + '-patient.o'
        subprocess.run(['gcc', '-g', '-O1', '-c', '-o', where, PROGRAMS + '/patient.c', *(['-DSLEEPS'] if waits else [])], check=True)
        return [where, '-ldl', *('-Wl,--export-dynamic-symbol=' + name for name in ('sched_yield', 'ucp_worker_progress'))]

    def plain(self, ranks, program, *args, **env):
        return launched(['mpirun', '-n', str(ranks), program, *args], dict(self.env, **env), self.dir)

    def traced(self, ranks, program, *args, name='trace', **env):
        return launched([MPITRACE, 'run', '-n', str(ranks), '--out', self.dir + '/out', '--name', name, '--', program, *args],
                     dict(self.env, **env), self.dir)

    def records(self, name='trace'):
        """By world rank: what its process told (one world only)."""
        path, = glob.glob('%s/out/%s.mpic' % (self.dir, name)) or glob.glob('%s/out/%s.mpic*/*.mpic' % (self.dir, name))
        return {p['meta']['rank']: p for p in records(path).values()}

    def analysis(self, name='trace'):
        return shown('%s/out/%s.mpix' % (self.dir, name))


def page_bytes(path):
    """Of a report beside the viewer and the trace that it carries; with them."""
    with open(path, encoding='utf-8') as f:
        page = f.read()
    return len(re.sub(r'<script type="text/plain".*?</script>', '', page, flags=re.S).encode()), len(page.encode())


def until(holds, what=None):
    """What it returns, as soon as that is something; None, or a TimeoutError that says what did not come."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        value = holds()
        if value:
            return value
        time.sleep(0.05)
    if what:
        raise TimeoutError(what)
    return None


def words_of(pid):
    """The command line of a process. Who is emulated (binfmt_misc, with the name that it was called by) has two words in front."""
    with open('/proc/%s/cmdline' % pid) as f:
        words = f.read().split('\0')[:-1]
    return words[2:] if words and '/qemu-' in words[0] else words


def processes_in(directory):
    """Pids of those that work there."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            if os.readlink('/proc/%s/cwd' % pid).startswith(directory):
                yield int(pid)


def emulated():
    """Whether programs of this system are run by an emulator: only of another process it can be seen."""
    with subprocess.Popen(['sleep', '60']) as other:
        try:
            with open('/proc/%d/cmdline' % other.pid) as f:
                return '/qemu-' in f.read().split('\0')[0]
        finally:
            other.kill()


def agents_of(run):
    """Pids of the agents of a `mpitrace run`, once they have made themselves light."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            with open('/proc/%s/stat' % pid) as f:
                parent = f.read().rsplit(')', 1)[1].split()[1]
            if words_of(pid)[1:2] == ['collect'] and parent == str(run.pid) and os.sched_getscheduler(int(pid)) == os.SCHED_IDLE:
                yield int(pid)


def raise_agent(pid):
    """As slurmstepd does at a step's end: out of SCHED_IDLE, and of its group's weight; ranks that spin keep it from nothing then."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
        with open('/proc/%d/autogroup' % pid, 'w') as f:
            f.write('0')


class Step:
    """A step directory, an agent of its own, and programs traced in it: the parts that `mpitrace run` ties together."""

    def __init__(self, place, name, out=None, spool=None, **layout):
        self.place = place
        self.dir = (spool or place.dir) + '/step-' + name
        self.out = out or place.dir + '/out-' + name
        self.mpic = self.out + '/n1.mpic'
        os.makedirs(self.dir + '/ranks', 0o700)
        os.chmod(self.dir + '/ranks', 0o700)
        with open(self.dir + '/layout', 'w') as f:
            f.write(''.join('%s=%s\n' % x for x in dict(dict(node='n1', nodeid=0, nnodes=1, ntasks=0, out=self.out,
                                                             mode='events', budget=0), **layout).items()))
        self.env = dict(place.env, LD_PRELOAD=os.environ['TRACER'], MPITRACE_DIR=self.dir + '/ranks')

    def agent(self, *wrapper, **how):
        return subprocess.Popen([*wrapper, MPITRACE, 'collect', self.dir, '--watch', str(os.getpid())], start_new_session=True,
                                stdout=subprocess.DEVNULL, stderr=how.pop('stderr', subprocess.DEVNULL), **how)

    def attentive_agent(self):
        """One that ranks that spin do not keep from its samples, however few processors there are."""
        agent = self.agent()
        while agent.poll() is None and os.sched_getscheduler(agent.pid) != os.SCHED_IDLE:
            time.sleep(0.001)
        raise_agent(agent.pid)
        return agent

    def run(self, *words, env=None, **how):
        return subprocess.run(words, env=dict(self.env, **(env or {})), cwd=self.place.dir, capture_output=True, timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL, **how)

    def end(self, agent=None, **how):
        """The step is over; returns the exit code of the agent, which is started now if there was none."""
        open(self.dir + '/done', 'w').close()
        if agent:
            raise_agent(agent.pid)
        return (agent or self.agent(**how)).wait(timeout=TIMEOUT)

    def counts(self):
        """What the trace holds, from its blocks; None without one block."""
        if not os.path.exists(self.mpic):
            return None
        out = subprocess.run([os.environ['MPIC_COUNT'], self.mpic], capture_output=True)
        return json.loads(out.stdout) if out.returncode != 3 else None

    def analysis(self):
        subprocess.run([MPITRACE, 'analyze', self.out, '-o', self.out + '/job.mpix', '--report', self.out + '/report.html'],
                       capture_output=True, timeout=TIMEOUT)
        return shown(self.out + '/job.mpix')


def two_nodes(place, executable, *args, ranks=2, **layout):
    """A step of two nodes, some ranks on each: one machine, two agents with a step directory each. Returns the step of the
    first one; its `out` holds n1.mpic and n2.mpic."""
    out = place.dir + '/two-nodes'
    steps = [Step(place, 'n%d' % i, out=out, **dict(dict(node='n%d' % i, nodeid=i - 1, nnodes=2, nodelist='n[1-2]', ntasks=2 * ranks,
                                                         switches='core.leaf%d.n%d switch.switch.node' % (i, i)), **layout)) for i in (1, 2)]
    agents = [s.agent() for s in steps]
    words = [[':', '-n', str(ranks), 'env', 'LD_PRELOAD=' + os.environ['TRACER'], 'MPITRACE_DIR=' + s.env['MPITRACE_DIR'], executable, *args]
             for s in steps]
    run = whole(['mpirun'] + sum(words, [])[1:], place.env, place.dir)
    if [s.end(agent) for s, agent in zip(steps, agents)] != [0, 0] or run.returncode:
        raise ValueError('a step on two nodes failed: %s' % run)
    return steps[0]


def operations(analysis):
    return {o['op']: o['calls'] for o in analysis['operations'] if o['calls'] > 0}


def records(path):
    """What a .mpic says word for word: {rank: {'meta': {}, 'defs': [], 'sigs': [], 'events': []}}; sigs with the name of their
    operation."""
    out = subprocess.run([os.environ['MPIC_SIGS'], path], capture_output=True, check=True, text=True).stdout
    processes = {}
    for line in map(json.loads, out.splitlines()):
        p = processes.setdefault(line['process'], {'meta': {}, 'defs': [], 'sigs': [], 'events': []})
        for key, kind in (('def', 'defs'), ('sig', 'sigs'), ('event_of', 'events')):
            if key in line:
                p[kind].append(line)
        p['meta'] = line.get('meta', p['meta'])
    for p in processes.values():
        names = {d['id']: d['name'] for d in p['defs'] if d['def'] == DEF_OP}
        for sig in p['sigs']:
            sig['name'] = names.get(sig['op'])
    return processes


def truth(base):
    """Calls by operation; messages and one-sided operations by (source, destination), files by name: two numbers each."""
    ops, flows = {}, {'message': {}, 'collective': {}, 'rma': {}, 'file': {}}
    for path in glob.glob(base + '.*'):
        for line in open(path):
            word = line.split()
            if word[0] == 'op':
                ops[word[1]] = ops.get(word[1], 0) + int(word[2])
            else:
                key, flow = word[1] if word[0] == 'file' else (int(word[1]), int(word[2])), flows[word[0]]
                first, second = flow.get(key, (0, 0))
                flow[key] = (first + int(word[-2]), second + int(word[-1]))
    return ops, flows


def matrix(analysis, name, count):
    return {(m['src'], m['dst']): (m[count], m['bytes']) for m in analysis['matrix'][name]}


def path_is_one(t, what, analysis):
    """The critical path goes from rank to rank without a gap, and is as long as from its first rank's way out of MPI_Init to the last
    rank's way into MPI_Finalize; that can be more than the region of each rank, where MPI_Init lets one out before others."""
    path = analysis['critical_path']
    if path['note']:
        return
    pieces = path['segments']
    gaps = [(a, b) for a, b in zip(pieces, pieces[1:]) if abs(a['to_s'] - b['from_s']) > 2e-9]
    length_s = pieces[-1]['to_s'] - (pieces[0]['from_s'] if path['segments_left_out'] == 0 else 0)
    fits = path['length_s'] < length_s + 1e-6 and (path['segments_left_out'] > 0 or path['length_s'] > length_s - 1e-6)
    t.check(what + ': the critical path is without gaps, and as long as what it covers', not gaps and 0 < path['length_s'] and fits,
            (gaps[:5], path['length_s'], length_s))


class Tests:
    """ok / not ok lines and a summary; exit code by the result."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, claim, good, why=''):
        self.passed += bool(good)
        self.failed += not good
        print('%s %d - %s' % ('ok' if good else 'not ok', self.passed + self.failed, claim.replace('\n', '\\n')))
        if not good:
            print('# ' + str(why).replace('\n', '\n# '))
            run = getattr(LAST, 'value', None)
            if run is not None and run.stderr:
                print('# the last program, %s, ended with %s and said: %r' % (' '.join(run.args), run.returncode, run.stderr[-800:]))
        sys.stdout.flush()

    def skip(self, claim, why):
        self.passed += 1
        print('ok %d - %s # SKIP %s' % (self.passed + self.failed, claim, why), flush=True)

    def equal(self, claim, got, want):
        different = {k: (got.get(k), want.get(k)) for k in set(got) | set(want) if got.get(k) != want.get(k)} \
            if isinstance(want, dict) else (got, want)
        self.check(claim, got == want, 'got, want: %s' % (different,))

    def at_last(self, times, call):
        """Tests whose times others on the machine may disturb: once more, so often at most, until all of them hold. call(t, attempt)."""
        for attempt in range(times):
            said = Kept.of(lambda t: call(t, attempt))
            if all(method == 'skip' or words[1] for method, words in said):
                break
        for method, words in said:
            getattr(self, method)(*words)

    def at_once(self, calls, most=4):
        """Calls with tests of their own, `most` at any time, of what only waits; what they say comes in their order."""
        with concurrent.futures.ThreadPoolExecutor(most) as pool:
            for said in pool.map(Kept.of, calls):
                for method, words in said:
                    getattr(self, method)(*words)

    def end(self):
        print('1..%d' % (self.passed + self.failed))
        sys.exit(1 if self.failed else 0)


class Kept(Tests):
    """What is to be said later."""

    def __init__(self):
        super().__init__()
        self.said = []

    def check(self, *words):
        self.said.append(('check', words))

    def skip(self, *words):
        self.said.append(('skip', words))

    @classmethod
    def of(cls, call):
        kept = cls()
        call(kept)
        return kept.said
