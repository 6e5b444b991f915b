#!/usr/bin/env python3
"""spools.py - directories that somebody with the job's rights filled with traps: links, FIFOs, devices, holes of a TiB, many
files. Agent, finisher and analysis end soon, in little memory, write nothing where they should not, and say what is
wrong. FULL=1: 100,000 files instead of some thousand."""
import glob
import os
import resource
import shutil
import socket
import stat
import subprocess
import time

from trace import FLAVOURS, MPITRACE, Place, Step, Tests, shown

FULL = os.environ.get('FULL', '') != ''
FILES = 100000 if FULL else 3000
TIB = 1 << 40
NOBODY = 65534
PATIENCE = 60 # seconds: of what ends at once, on a machine that is busy
MEMORY = 4 << 30 # of address space: hostile counts must not need more


def bounded():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def call(*words, seconds=PATIENCE, before=()):
    """None when it hangs."""
    try:
        return subprocess.run([*before, MPITRACE, *words], capture_output=True, timeout=seconds, preexec_fn=bounded, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None


def link(path, victim):
    os.symlink(victim, path)


def hard_link(path, victim):
    os.link(victim, path)


def fifo(path, _):
    os.mkfifo(path)


def directory(path, _):
    os.mkdir(path)


def device(path, _):
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5)) # as /dev/zero


def listener(path, _):
    # A short relative name: those of sockets have a limit.
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    socket.socket(socket.AF_UNIX).bind(os.path.basename(path))
    os.chdir(here)


def hole(path, _):
    with open(path, 'wb') as f:
        f.truncate(TIB)


def hole_behind(path, _):
    """The head of a real one, then nothing for a TiB."""
    at = os.path.dirname(path)
    shutil.copy((glob.glob(at + '/*.mpi[ct]') or glob.glob(at + '/ranks/*.mpi[ct]'))[0], path)
    os.truncate(path, TIB)


def nothing(path, _):
    with open(path, 'w'):
        pass


TRAPS = {'a link': link, 'a hard link': hard_link, 'a FIFO': fifo, 'a directory': directory, 'a socket': listener, 'a hole of a TiB': hole,
         'a hole behind a real head': hole_behind, 'an empty file': nothing}
if os.geteuid() == 0:
    TRAPS['a device'] = device


class Victim:
    """A file that nobody may change, and a directory in which nobody may make one."""

    def __init__(self, place):
        self.dir = place.dir + '/victim'
        os.makedirs(self.dir, exist_ok=True)
        self.path = self.dir + '/file'
        with open(self.path, 'w') as f:
            f.write('untouched')

    def is_whole(self):
        with open(self.path) as f:
            return f.read() == 'untouched' and os.listdir(self.dir) == ['file']


SEGMENTS = {} # what the program left, by name of its file


def recorded(place, executable, name, **layout):
    """A step that was recorded and not drained yet: the same one each time."""
    step = Step(place, name, **layout)
    if not SEGMENTS:
        step.run(executable, '0')
        for path in glob.glob(step.dir + '/ranks/*'):
            with open(path, 'rb') as f:
                SEGMENTS[os.path.basename(path)] = f.read()
    for segment, data in SEGMENTS.items():
        with open(step.dir + '/ranks/' + segment, 'wb') as f:
            f.write(data)
    return step


def collected(step, *before):
    """Exit code and calls of what the agent makes of it; None when it hangs."""
    open(step.dir + '/done', 'w').close()
    run = call('collect', step.dir, before=before)
    got = step.counts() if run else None
    return run and (run.returncode, got and sum(sum(p['totals'].values()) for p in got['processes']))


def traps_of_the_agent(t, place, program):
    victim = Victim(place)
    expected = collected(recorded(place, program, 'plain'))
    t.check('%s: without traps the agent takes all' % place.flavour, expected and expected[0] == 0 and expected[1] > 100, expected)
    names = ('1.1.mpit', '1.1.mpit.spill', 'sealed', 'output', 'n1.mpic', 'untraced', 'unsaid', 'unsaid.1', 'exits', '../exits')
    wrong = []
    for what, trap in TRAPS.items():
        for name in names:
            step = recorded(place, program, 'trap-%s-%s' % (what.replace(' ', ''), name.replace('/', '-')))
            trap(step.dir + '/ranks/' + name, victim.path)
            got, real = collected(step), 2 if trap is hole_behind and name == '1.1.mpit' else 1 # that one is real, but for its length
            if got != (0, expected[1] * real) or not victim.is_whole():
                wrong.append((what, name, got, victim.is_whole()))
    t.check('%s: %d traps in ranks/ and beside it: the agent ends, takes what is real, and writes through none' %
            (place.flavour, len(TRAPS) * len(names)), not wrong, '\n'.join(map(str, wrong)))


def counted_before(t, place, program):
    """By processes that found no room to say why they run untraced, while there was no agent, or one that died since."""
    step = recorded(place, program, 'counted')
    with open(step.dir + '/ranks/unsaid', 'wb') as f:
        f.truncate(3)
    got = collected(step)
    reasons = step.analysis()['coverage']['reasons']
    t.check('%s: who was counted before the agent came stays counted' % place.flavour,
            got and got[0] == 0 and any('3 processes ran untraced: there was no room to say why' in r for r in reasons), (got, reasons))


def traps_of_the_output(t, place, program):
    """Where the trace shall go, somebody was first."""
    victim, wrong = Victim(place), []
    for what, trap in TRAPS.items():
        step = recorded(place, program, 'out-%s' % what.replace(' ', ''))
        os.makedirs(step.out)
        if trap is hole_behind:
            continue
        trap(step.mpic, victim.path)
        before = os.lstat(step.mpic)
        got = collected(step)
        after = os.lstat(step.mpic)
        if got is None or got[0] != 0 or not victim.is_whole() or not os.path.exists(step.out + '/n1.2.mpic') or \
                (before.st_mode, before.st_size) != (after.st_mode, after.st_size):
            wrong.append((what, got, os.listdir(step.out), victim.is_whole()))
    t.check('%s: a trap under the name of the trace: another name is taken, nothing is overwritten' % place.flavour, not wrong,
            '\n'.join(map(str, wrong)))


def traps_of_the_analysis(t, place, program):
    """What lies beside the real trace under the name of one, and is given by its name."""
    victim, wrong, unclear = Victim(place), [], []
    for what, trap in TRAPS.items():
        step = recorded(place, program, 'analyze-%s' % what.replace(' ', ''))
        collected(step)
        trap(step.out + '/n2.mpic', victim.path)
        for path in (step.out, step.out + '/n2.mpic'):
            run = call('analyze', path, '-o', place.dir + '/x.mpix')
            if run is None or run.returncode not in (0, 3, 4):
                wrong.append((what, path == step.out, run and (run.returncode, run.stderr[-300:])))
            elif run.returncode == 3 and (run.stderr.count(b'\n') != 1 or b'n2.mpic' not in run.stderr):
                unclear.append((what, run.stderr))
    t.check('%s: %d traps as .mpic: the analysis ends, in 4 GiB' % (place.flavour, len(TRAPS)), not wrong, '\n'.join(map(str, wrong)))
    t.check('%s: what it refuses it names, in one line' % place.flavour, not unclear, '\n'.join(map(str, unclear)))
    t.check('%s: the analysis wrote through no trap' % place.flavour, victim.is_whole())


def traps_of_the_reader(t, place, program):
    """The same under the name of an .mpix, for each command that reads one."""
    victim, wrong = Victim(place), []
    step = recorded(place, program, 'reader')
    collected(step)
    real = place.dir + '/reader.mpix'
    call('analyze', step.out, '-o', real)
    for i, (what, trap) in enumerate(TRAPS.items()):
        path = '%s/%d.mpix' % (step.out, i)
        trap(path, victim.path)
        for words in (['show', path], ['report', path, '-o', place.dir + '/x.html'], ['view', path, '--no-browser'],
                      ['check', path, '--protocol', victim.path], ['check', real, '--protocol', path], ['diff', path, real], ['diff', real, path],
                      ['import', '--from', 'pyrite', path, '-o', place.dir + '/i.mpix'], ['import', '--from', 'mprov', path, '-o', place.dir + '/i.mpix']):
            run = call(*words)
            if run is None or run.returncode not in (2, 3) or b': ' not in run.stderr:
                wrong.append((what, words[0], run and (run.returncode, run.stderr[-300:])))
    t.check('%s: %d traps as .mpix: every command ends and says so' % (place.flavour, len(TRAPS)), not wrong, '\n'.join(map(str, wrong)))


def mistyped(t, place, program):
    """Nothing takes the place of a recording, and only another analysis that of an analysed trace."""
    step = recorded(place, program, 'mistyped')
    collected(step)
    recording, trace = glob.glob(step.out + '/*.mpic')[0], place.dir + '/mistyped.mpix'
    call('analyze', recording, '-o', trace)
    before = [open(x, 'rb').read() for x in (recording, trace)]
    wrong = [words for words in (['analyze', recording, '-o', recording], ['analyze', step.out, '-o', trace, '--report', recording],
                                 ['analyze', recording, '--report', trace], ['report', trace, '-o', trace], ['report', trace, '-o', recording],
                                 ['export', trace, '--to', 'chrome', '-o', recording], ['export', trace, '--to', 'sqlite', '-o', trace],
                                 ['export', trace, '--to', 'csv', '-o', trace], ['import', '--from', 'mprov', trace, '-o', recording],
                                 ['diff', trace, trace, '--report', trace])
             if (lambda run: run is None or run.returncode not in (2, 3) or run.stderr.count(b'\n') == 0)(call(*words))]
    t.equal('%s: a mistyped output is refused in a line' % place.flavour, wrong, [])
    t.equal('%s: and recording and trace are what they were' % place.flavour, [open(recording, 'rb').read()] + [open(trace, 'rb').read()], before)
    t.equal('%s: an analysis is made anew' % place.flavour, call('analyze', recording, '-o', trace).returncode, 0)


def many_files(t, place, program):
    step = recorded(place, program, 'many')
    for i in range(FILES):
        nothing('%s/ranks/%d.%d.mpit' % (step.dir, i + 100, i), None)
    began = time.monotonic()
    got = collected(step)
    t.check('%s: %d empty segment files beside a real one: the agent takes that one' % (place.flavour, FILES), got and got[0] == 0,
            (got, time.monotonic() - began))
    for i in range(FILES):
        nothing('%s/%d.mpic' % (step.out, i), None)
    run = call('analyze', step.out, '-o', place.dir + '/x.mpix')
    reasons = shown(place.dir + '/x.mpix')['coverage']['reasons']
    t.check('%s: %d empty .mpic beside a real one: the analysis takes that one, names some and counts the others' % (place.flavour, FILES),
            run and run.returncode == 4 and sum('.mpic' in r for r in reasons) == 10 and any('%s more files' % format(FILES - 10, ',') in r for r in reasons),
            (run and run.stderr[-300:], reasons[:12]))
    run = call('finish', step.out, '--nodes', '1')
    t.check('%s: nor does the finisher hang on them' % place.flavour, run is not None, 'it hangs')


def copies(t, place, program):
    """Real segment files, each a process: as many as one node has at most by far."""
    step, n = recorded(place, program, 'copies'), 4000 if FULL else 300
    first = glob.glob(step.dir + '/ranks/*.mpit')[0]
    for i in range(n - 1):
        shutil.copy(first, '%s/ranks/%d.%d.mpit' % (step.dir, i + 100, i))
    few = recorded(place, program, 'descriptors')
    for i in range(100):
        shutil.copy(first, '%s/ranks/%d.%d.mpit' % (few.dir, i + 100, i))
    got = collected(step)
    t.check('%s: %d processes: all are drained' % (place.flavour, n), got and got[0] == 0 and len(step.counts()['processes']) == n, got)
    got = collected(few, 'prlimit', '--nofile=32')
    t.check('%s: 101 processes by an agent of 32 descriptors: all are drained' % place.flavour,
            got and got[0] == 0 and len(few.counts()['processes']) == 101, got)


def status(pid):
    with open('/proc/%d/status' % pid) as f:
        return dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)


LOOKS = 'import os, sys; print(os.getuid()); open("/proc/%s/" + sys.argv[2], "rb").read(1)' # at a process, as its user


def drops_root(t, place):
    """As the warden starts the agent."""
    if os.geteuid() != 0:
        return
    os.chmod(place.dir, 0o755)
    step = Step(place, 'as-user')
    os.chown(step.dir + '/ranks', NOBODY, NOBODY)
    agent = subprocess.Popen([MPITRACE, '--as', '%d:%d:12345' % (NOBODY, NOBODY), 'collect', step.dir], stderr=subprocess.PIPE)
    end = time.monotonic() + PATIENCE
    while status(agent.pid).get('Seccomp') != '2' and time.monotonic() < end and agent.poll() is None:
        time.sleep(0.01)
    got = {key: ' '.join(status(agent.pid)[key].split()) for key in ('Uid', 'Gid', 'Groups', 'CapEff', 'CapPrm', 'NoNewPrivs', 'Seccomp')}
    ids = ' '.join([str(NOBODY)] * 4)
    looks = [subprocess.run(['/usr/bin/python3', '-c', LOOKS.replace('%s', str(agent.pid)), '-', what], capture_output=True, user=NOBODY,
                            group=NOBODY, extra_groups=[12345]) for what in ('mem', 'environ', 'maps')]
    code = step.end(agent)
    t.equal("the agent is the user, out of the user's reach", got, dict(Uid=ids, Gid=ids, Groups='12345', CapEff='0' * 16, CapPrm='0' * 16,
                                                                        NoNewPrivs='1', Seccomp='2'))
    t.check('nobody but root looks into it', all(x.returncode == 1 and x.stdout == b'%d\n' % NOBODY and b'PermissionError' in x.stderr
                                                 for x in looks) and code == 0, [x.stderr[-200:] for x in looks])


def terminal(t, place, program):
    escape = '\x1b[2J\x07'
    step = recorded(place, program, 'terminal', program=escape + 'program', node=escape + 'node', cluster=escape, submit='/' + escape)
    collected(step)
    mpic, = glob.glob(step.out + '/*.mpic')
    analyzed = call('analyze', mpic, '-o', place.dir + '/escape.mpix')
    shown = [call('show', place.dir + '/escape.mpix'), call('show', '--events', place.dir + '/escape.mpix'), analyzed]
    t.check('%s: a name that commands the terminal is shown, not obeyed' % place.flavour,
            all(run and run.returncode in (0, 4) and b'\x1b' not in run.stdout + run.stderr and b'\x07' not in run.stdout + run.stderr
                for run in shown) and b'program' in shown[0].stdout, shown)


def main():
    t = Tests()
    flavour = 'mpich' if 'mpich' in FLAVOURS else FLAVOURS[0] # a quick start, many times
    with Place(flavour) as place:
        program = place.compile('ends.c')
        traps_of_the_agent(t, place, program)
        counted_before(t, place, program)
        traps_of_the_output(t, place, program)
        traps_of_the_analysis(t, place, program)
        traps_of_the_reader(t, place, program)
        mistyped(t, place, program)
        many_files(t, place, program)
        copies(t, place, program)
        drops_root(t, place)
        terminal(t, place, program)
    t.end()


main()
