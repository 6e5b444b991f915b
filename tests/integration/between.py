#!/usr/bin/env python3
"""between.py - `mpitrace run` stands between a program and whoever started it, and is not noticed: signals, signals that are ignored,
words without end, a standard error that nobody reads, a machine that gives it no more processes."""
import os
import resource
import signal
import subprocess
import time

from trace import FLAVOURS, MPITRACE, Place, Tests, operations, whole

USER = 61234
WAIT = 20 # seconds


def begin(place, words, **how):
    return subprocess.Popen(words, env=place.env, cwd=place.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                            stderr=how.pop('stderr', subprocess.DEVNULL), start_new_session=how.pop('start_new_session', True), **how)


def run(place, name, *words, wrapper=(), options=(), **how):
    return begin(place, [*wrapper, MPITRACE, 'run', '--out', place.dir + '/out', '--name', name, *options, '--', *words], **how)


def end(p):
    try:
        return p.communicate(timeout=WAIT)[0]
    except subprocess.TimeoutExpired: # what it has left may hold its output for as long as it likes
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        return 'timed out'


def left(place):
    return [name for name in os.listdir(place.dir + '/out') if name.startswith('.')]


def signals(t, place, program):
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        p = run(place, number.name, program, str(WAIT // 2))
        first = p.stdout.readline() # by now it listens
        p.send_signal(number)
        end(p)
        t.equal('%s reaches the program, whose report is made' % number.name,
                (first != '', p.returncode, os.path.exists('%s/out/%s.html' % (place.dir, number.name)), left(place)), (True, number, True, []))
    p = run(place, 'alarm', program, str(WAIT // 2))
    p.stdout.readline()
    p.send_signal(signal.SIGALRM)
    end(p)
    t.equal('a signal that ends the program ends it, and not us before its report',
            (p.returncode, os.path.exists(place.dir + '/out/alarm.html'), left(place)), (128 + signal.SIGALRM, True, []))


NAMES = """import signal
numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU, signal.SIGPROF, signal.SIGIO, signal.SIGPWR, signal.SIGWINCH, signal.SIGUSR2)
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print('ready', flush=True)
name = ''
while name not in ('SIGUSR2', 'nothing'):
    info = signal.sigtimedwait(numbers, %d)
    name = signal.Signals(info.si_signo).name if info else 'nothing'
    print(name, flush=True)"""


def has(p, number, *keys):
    with open('/proc/%d/status' % p.pid) as f:
        sets = {key: int(value, 16) for key, value in (line.split(':\t') for line in f) if key in keys}
    return any(bits >> (number - 1) & 1 for bits in sets.values())


def has_handled(p, number):
    """Signals that come together are one: this one neither waits for the process nor is in its handler."""
    return not has(p, number, 'SigPnd', 'ShdPnd', 'SigBlk')


def once(t, place):
    """Sent to us alone, as by a script, it is passed on; sent to all of our group, as by a terminal, the program has it already."""
    p = run(place, 'once', 'python3', '-c', NAMES % WAIT)
    p.stdout.readline()
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU, signal.SIGPROF, signal.SIGIO,
                   signal.SIGPWR, signal.SIGWINCH):
        for whom, send in (('us', os.kill), ('our group', os.killpg), ('us again', os.kill), ('us once more', os.kill)):
            send(p.pid, number)
            t.equal('%s to %s reaches the program' % (number.name, whom), p.stdout.readline(), number.name + '\n')
            while not has_handled(p, number):
                time.sleep(0.001)
            time.sleep(0.02 if whom == 'our group' else 0) # sent again sooner, two may be one
    os.killpg(p.pid, signal.SIGXCPU)
    os.kill(p.pid, signal.SIGXCPU)
    t.equal('to our group and at once to us', p.stdout.readline(), 'SIGXCPU\n')
    while not has_handled(p, signal.SIGXCPU):
        time.sleep(0.001)
    os.killpg(p.pid, signal.SIGUSR2)
    t.equal('each of them once', (end(p), p.returncode), ('SIGUSR2\n', 0))


def ignored(t, place):
    """Of a script's background, or of nohup."""
    numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1)
    for ignore in (signal.SIG_IGN, signal.SIG_DFL):
        def before():
            for n in numbers:
                signal.signal(n, ignore)
        asks = ('/bin/grep', 'SigIgn', '/proc/self/status')
        plain = subprocess.run(asks, preexec_fn=before, capture_output=True, text=True)
        t.equal('%s of five signals is so in the program' % ignore.name, end(run(place, 'ignored', *asks, preexec_fn=before)), plain.stdout)


def after(p, number, is_ignored=None):
    """The exit code of two ranks whose launcher, or we, are sent a signal; of what the launcher ignores they know nothing, and another ends
    them."""
    lines = p.stdout.readline() + p.stdout.readline()
    if is_ignored is None:
        is_ignored = lines != '' and has(p, number, 'SigIgn')
    p.send_signal(number)
    if is_ignored:
        p.send_signal(signal.SIGUSR1)
    end(p)
    return p.returncode, is_ignored


def ignored_by_us(t, place, program):
    """mpirun handles what it was started to ignore, Open MPI's and MPICH's each in its own way. MPICH's now and then ends with 0, whatever
    its ranks ended with, also without us."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        def before():
            signal.signal(number, signal.SIG_IGN)
        args = (program, str(2 * WAIT))
        plain, is_ignored = after(begin(place, ['mpirun', '-n', '2', *args], preexec_fn=before), number)
        code, _ = after(run(place, 'ignored-' + number.name, *args, options=('-n', '2'), preexec_fn=before), number, is_ignored)
        either = (plain,) if place.flavour != 'mpich' else (0, {signal.SIGINT: 2, signal.SIGTERM: 15}.get(number, signal.SIGUSR1))
        t.check('%s, ignored when we began: mpirun of %s does with it what it does without us' % (number.name, place.flavour),
                plain in either and code in either, (plain, code, is_ignored))


def in_vain(t, place, program):
    """A signal that the program ignores is not why it ended."""
    p = run(place, 'in-vain', program, str(WAIT), preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    p.stdout.readline()
    p.send_signal(signal.SIGTERM)
    while not has_handled(p, signal.SIGTERM):
        time.sleep(0.001)
    p.send_signal(signal.SIGUSR1)
    end(p)
    t.equal('a signal that the program ignores too: it runs on, and its report names no signal',
            (p.returncode, place.analysis('in-vain')['job']['outcome']['signal']), (signal.SIGUSR1, None))


STOPS = NAMES.replace('(signal.SIGINT,', '(signal.SIGTSTP, signal.SIGCONT, signal.SIGINT,')


def stops(t, place):
    """By a script, or by a terminal, whose shell waits until we stand still."""
    p = run(place, 'stops', 'python3', '-c', STOPS % WAIT, start_new_session=False, preexec_fn=lambda: os.setpgid(0, 0))
    p.stdout.readline()
    for whom, send in (('us', os.kill), ('our group', os.killpg), ('us again', os.kill)):
        send(p.pid, signal.SIGTSTP)
        first, status = p.stdout.readline(), os.waitpid(p.pid, os.WUNTRACED)[1]
        send(p.pid, signal.SIGCONT)
        t.equal('SIGTSTP and SIGCONT to %s reach the program, and we stop meanwhile' % whom,
                (first, os.WIFSTOPPED(status) and os.WSTOPSIG(status), p.stdout.readline()), ('SIGTSTP\n', signal.SIGTSTP, 'SIGCONT\n'))
        while not (has_handled(p, signal.SIGCONT) and has_handled(p, signal.SIGTSTP)):
            time.sleep(0.001)
        time.sleep(0.02 if whom == 'our group' else 0) # sent again sooner, two may be one
    os.killpg(p.pid, signal.SIGUSR2)
    t.equal('each of these once', (end(p), p.returncode), ('SIGUSR2\n', 0))


def words(t, place, program):
    many = [str(i) for i in range(20000)]
    r = whole([MPITRACE, 'run', '--out', place.dir + '/out', '--name', 'words', '--', program, '0', *many], place.env, place.dir)
    t.equal('20,000 arguments are those of the program', (r.returncode, r.stdout), (0, b'%d\n' % (len(many) + 2)))
    r = whole([MPITRACE, 'run', '-n', '2', '--mpirun', ' '.join(['--oversubscribe'] * 300), '--out', place.dir + '/out', '--', program], place.env, place.dir)
    t.check('300 words for the launcher are too many, and it is said', r.returncode == 126 and b'more than 256 words in front of the program' in r.stderr, r)


def unread(t, place, program):
    """Nobody reads standard error any more, where we would say where the report is, or why there is none."""
    for name, command, code in (('unread', (program, '0'), 0), ('no-mpi', ('/bin/sh', '-c', 'exit 9'), 9)):
        reads, writes = os.pipe()
        os.close(reads)
        p = run(place, name, *command, stderr=writes)
        os.close(writes)
        end(p)
        t.equal('%s: a standard error that nobody reads changes no exit code, and nothing is left' % name, (p.returncode, left(place)), (code, []))
    t.equal('and the report is there', operations(place.analysis('unread'))['MPI_Init'], 1)


def closed(t, place):
    """Files that we open have no number of these three, where our words go; the program is given none of them either."""
    seen = place.dir + '/seen'
    looks = 'for i in 0 1 2; do readlink /proc/$PPID/fd/$i; ls /proc/self/fd/$i; done >%s 2>&1' % seen
    for which in ((2,), (1, 2), (0, 1, 2)):
        def before():
            for fd in which:
                os.close(fd)
        with open(os.devnull) as nothing:
            p = run(place, 'closed', '/bin/sh', '-c', looks, preexec_fn=before, stderr=nothing)
            end(p)
        with open(seen) as f:
            lines = f.read().split('\n')
        t.equal('without descriptors %s none of our files has their numbers' % (which,),
                (p.returncode, [line for line in lines if line.startswith(('anon_inode:', place.dir))]), (0, []))


def planted(t, place):
    """The program puts something else where it is noted that it ended, and why."""
    victim, wrong = place.dir + '/victim', []
    for name in ('exits', 'done'):
        for what in ('mkfifo $at', 'ln -s %s $at' % victim, 'ln %s $at' % victim, 'mkdir $at'):
            with open(victim, 'w') as f:
                f.write('untouched')
            p = run(place, 'planted', '/bin/sh', '-c', 'at=$(dirname $MPITRACE_DIR)/%s; rm -f $at; %s && echo made' % (name, what))
            out = end(p)
            if (out, p.returncode, open(victim).read()) != ('made\n', 0, 'untouched'):
                wrong.append((name, what, out, p.returncode, open(victim).read()))
    t.equal('traps where the end of the program is noted: nobody waits, and nothing is written through them', wrong, [])


def no_processes(t, place):
    """So few that the program cannot be started: only by an ordinary user, whose processes are counted."""
    if os.geteuid() != 0:
        t.skip('no process for the program', 'only root can become a user who has none yet')
        return
    os.chmod(place.dir, 0o755)
    mine = place.dir + '/mine'
    os.mkdir(mine)
    os.chown(mine, USER, USER)
    codes = set()
    for n in range(1, 6):
        def before():
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            resource.setrlimit(resource.RLIMIT_NPROC, (n, n))
        p = subprocess.Popen([MPITRACE, 'run', '--out', mine, '--name', 'n%d' % n, '--', '/bin/sh', '-c', 'exit 9'], env=place.env,
                             cwd='/', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             start_new_session=True, preexec_fn=before)
        codes.add((end(p), p.returncode))
    t.equal('a program for which there is no process: it is said, and never waited for', {(code, said) for said, code in codes if code != 9},
            {(3, 'mpitrace run: cannot start "/bin/sh": Resource temporarily unavailable\n')})


def main():
    t = Tests()
    with Place('mpich') as place:
        program = place.compile('told.c')
        signals(t, place, program)
        once(t, place)
        stops(t, place)
        ignored(t, place)
        in_vain(t, place, program)
        words(t, place, program)
        unread(t, place, program)
        closed(t, place)
        planted(t, place)
        no_processes(t, place)
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            ignored_by_us(t, place, place.compile('told.c'))
    t.end()


main()
