#!/usr/bin/env python3
"""hostile.py - environments that nobody should have, privileged programs, ranks that leave: the program is as it would be without
us, and no file appears outside of a directory that is the user's own."""
import os
import shutil
import signal
import stat
import subprocess

from trace import FLAVOURS, MPITRACE, TIMEOUT, Place, Step, Tests, operations, shown as analysed

TRACER = os.environ['TRACER']
NOBODY = 65534


def files_below(*roots):
    return sorted(os.path.join(where, f) for root in roots for where, _, files in os.walk(root) for f in files
                  if f.endswith(('.mpit', '.spill')))


def shown(run):
    return run.returncode, run.stdout, run.stderr


def directories(place):
    """What MPITRACE_DIR may be: a name, its value, and whether a file may be made there."""
    base = place.dir + '/env'
    for name in ('own', 'outside', 'others', 'writable', 'target', 'newline\ndir'):
        os.makedirs(base + '/' + name, 0o700)
    odd = os.fsencode(base) + b'/\xff\xfe'
    os.mkdir(odd, 0o700)
    os.symlink(base + '/target', base + '/link')
    os.mkfifo(base + '/fifo')
    os.chmod(base + '/writable', 0o777)
    with open(base + '/file', 'w'):
        pass
    if os.geteuid() == 0:
        os.chown(base + '/others', NOBODY, NOBODY)
    return base, (
        ('empty', '', 0), ('a slash', '/', 0), ('dots', base + '/own/../outside', 0), ('dots at the end', base + '/own/..', 0),
        ('dots only', '..', 0), ('relative', 'env/own', 0), ('a link', base + '/link', 0), ('a fifo', base + '/fifo', 0),
        ('a file', base + '/file', 0), ('missing', base + '/missing', 0), ('writable by all', base + '/writable', 0),
        ('/tmp', '/tmp', 0), ('blanks', ' ' + base + '/own', 0), ('a colon', base + '/own:' + base + '/outside', 0),
        ('a format', base + '/%s%n', 0), ('a newline', base + '/own\n', 0), ('very long', '/' + 'x' * 100000, 0),
        ('not UTF-8', odd, 1), ('with a newline, but our own', base + '/newline\ndir', 1), ('our own', base + '/own', 1)) + (
        (("somebody else's", base + '/others', 0),) if os.geteuid() == 0 else ())


def environment(t, place):
    program = place.compile('environment.c')
    plain = shown(subprocess.run([program], env=place.env, cwd=place.dir, capture_output=True, timeout=60))
    base, values = directories(place)
    wrong = []

    def traces():
        return set(files_below(base)) | {x for at in ('/', '/tmp') for x in os.listdir(at) if x.endswith('.mpit')}
    for what, value, may in values:
        before = traces()
        run = subprocess.run([program], env=dict(place.env, LD_PRELOAD=TRACER, MPITRACE_DIR=value), cwd=place.dir,
                             capture_output=True, timeout=60)
        made = traces() - before
        if shown(run) != plain or len(made) != may:
            wrong.append((what, shown(run), made))
    t.check('%s: MPITRACE_DIR of %d kinds changes nothing, and a file is only made in a directory of our own' %
            (place.flavour, len(values)), not wrong, '\n'.join(map(str, wrong)))
    notes(t, place, values)
    wrong = []
    for name in ('MPITRACE_DIR', 'MPITRACE_STACK', 'MPITRACE_MODE'):
        for size in (0, 1, 4095, 4096, 1 << 20):
            step = Step(place, 'env-%s-%d' % (name, size))
            run = step.run(program, name, str(size))
            alone = subprocess.run([program, name, str(size)], env=place.env, cwd=place.dir, capture_output=True, timeout=60)
            if (run.returncode, run.stdout) != (alone.returncode, alone.stdout):  # Open MPI starts a helper: too long for it
                wrong.append((name, size, shown(run)))
    for name in ('MPITRACE_STACK', 'MPITRACE_MODE'):
        for value in ('-1', '99999999999999999999', '%n%n', '\n', b'\xff', '../..', ' 3'):
            step = Step(place, 'env2-%s-%d' % (name, hash(value) & 0xffffff))
            run = step.run(program, env={name: value})
            step.end()
            got = step.counts()
            if shown(run) != plain or got is None or got['processes'][0]['totals'].get('MPI_Allreduce') != 100:
                wrong.append((name, value, shown(run), got and got['processes'][0]['totals']))
    t.check('%s: MPITRACE_* of up to a MiB, and of strange values, change nothing' % place.flavour, not wrong,
            '\n'.join(map(str, wrong)))


def notes(t, place, values):
    """A program that has MPI and calls nothing of it leaves a line, there and nowhere else."""
    program, wrong = place.compile('uncalled.c'), []
    for what, value, may in values:
        at = os.fsdecode(value) if os.fsdecode(value).startswith('/') else place.dir
        before = set(os.listdir(at)) if os.path.isdir(at) else set()
        run = subprocess.run([program], env=dict(place.env, LD_PRELOAD=TRACER, MPITRACE_DIR=value), cwd=place.dir, capture_output=True, timeout=60)
        made = (set(os.listdir(at)) if os.path.isdir(at) else set()) - before
        if shown(run) != (0, b'', b'') or ('untraced' in made) != (may == 1):
            wrong.append((what, shown(run), made))
        if 'untraced' in made:
            os.remove(at + '/untraced')
    t.check('%s: nor is a line about a program that was not traced left anywhere else' % place.flavour, not wrong, '\n'.join(map(str, wrong)))


def planted(t, place):
    """Somebody with the user's rights puts a fifo or a link, of either kind, where the spilled segments go."""
    program = place.compile('steps.c', '-pthread')
    words = [program, place.dir + '/c', '60000', '1']
    plain = shown(subprocess.run(words, env=place.env, cwd=place.dir, capture_output=True, timeout=60))
    for what, trap in (('fifo', lambda at, _: os.mkfifo(at)), ('link', lambda at, victim: os.symlink(victim, at)),
                       ('hard link', lambda at, victim: os.link(victim, at))):
        step, victim = Step(place, 'planted-' + what), place.dir + '/victim'
        with open(victim, 'w') as f:
            f.write('untouched')
        running = subprocess.Popen(words, env=step.env, cwd=place.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while running.poll() is None and not files_below(step.dir):
            pass
        for path in files_below(step.dir):
            spill = path + '.spill'
            try:
                trap(spill, victim)
            except FileExistsError:
                pass  # it was quicker
        out, err = running.communicate(timeout=60)
        code = step.end()
        t.check('%s: a %s in place of the spilled segments: neither program nor agent hangs, nothing is written through it' %
                (place.flavour, what), (running.returncode, out, err) == plain and open(victim).read() == 'untouched' and
                code in (0, 4), (running.returncode, out, err, code))


def setuid(t, place):
    """AT_SECURE: the loader takes no preload with a slash, and if it did, secure_getenv() says nothing."""
    if os.geteuid() != 0:
        return
    program = place.compile('ends.c')
    os.chmod(place.dir, 0o755)
    ranks = place.dir + '/nobody'
    os.mkdir(ranks, 0o700)
    os.chown(ranks, NOBODY, NOBODY)
    copy = place.dir + '/setuid'
    shutil.copy(program, copy)
    os.chmod(copy, 0o755 | stat.S_ISUID | stat.S_ISGID)
    env = dict(place.env, HOME=ranks, TMPDIR='/tmp')

    def run(path, **more):
        return subprocess.run([path, 'exit3'], env=dict(env, **more), cwd=ranks, capture_output=True, timeout=60, user=NOBODY,
                              group=NOBODY, extra_groups=[])
    plain, ordinary = run(copy), run(program, LD_PRELOAD=TRACER, MPITRACE_DIR=ranks)
    made = files_below(ranks)
    readable = subprocess.run(['cat', TRACER], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=NOBODY).returncode == 0
    t.check('%s: an ordinary program of that user is traced' % place.flavour, len(made) == 1 or not readable or
            ordinary.returncode != 3, (made, shown(ordinary)))
    for path in made:
        os.unlink(path)
    traced = run(copy, LD_PRELOAD=TRACER, MPITRACE_DIR=ranks)
    t.check('%s: a setuid program is untouched and leaves no file' % place.flavour,
            shown(plain) == shown(traced) and files_below(ranks) == [], (shown(plain), shown(traced), files_below(ranks)))


HIDING = 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=%d --regid=%d --clear-groups "$@"' % (NOBODY, NOBODY)


def hidden(t, place):
    """A program that nobody may read is not to be seen in a /proc that hides processes, also by its user's agent: it goes on."""
    if os.geteuid() != 0:
        return
    os.chmod(place.dir, 0o755)
    at, rounds = place.dir + '/unseen', 20000
    os.mkdir(at, 0o700)
    os.chown(at, NOBODY, NOBODY)
    program = shutil.copy(place.compile('steps.c', '-pthread'), at + '/unreadable')
    os.chmod(program, 0o711)
    hides = ['unshare', '--mount', '--pid', '--fork', '--mount-proc', 'sh', '-c', HIDING, 'sh']
    if subprocess.run([*hides, MPITRACE, '--version'], capture_output=True, check=False).returncode != 0:
        return # no mounts here, or an installation for root alone
    run = subprocess.run([*hides, MPITRACE, 'run', '--out', at, '--name', 'trace', '--', program, at + '/c', str(rounds), '1', 'slow'],
                         env=dict(place.env, HOME=at, TMPDIR=at), cwd=at, capture_output=True, timeout=TIMEOUT, check=False)
    c = analysed(at + '/trace.mpix')['coverage']
    t.equal('%s: a program that /proc hides is recorded to its end' % place.flavour, (run.returncode, c['events_lost'], c['complete']), (0, 0, True))


def in_another_time(t, place):
    """A process in a time namespace says of itself that it began when for others it did not: it is none that has gone."""
    there = ['unshare', '--time', '--monotonic=500000', '--boottime=500000', '--fork']
    if subprocess.run([*there, 'true'], capture_output=True, check=False).returncode != 0:
        return # not allowed here, or Linux is older than 5.6
    program = place.compile('steps.c', '-pthread')
    run = place.traced(1, *there, program, place.dir + '/c', '20000', '1', 'slow', name='time')
    c = place.analysis('time')['coverage']
    t.equal('%s: a program in a time namespace is recorded to its end' % place.flavour, (run.returncode, c['events_lost'], c['complete']), (0, 0, True))


def leaves(t, place):
    program = place.compile('leaves.c')
    for what, words in (('exit(7)', []), ('SIGKILL', [str(int(signal.SIGKILL))])):
        plain = place.plain(3, program, *words)
        name = 'leaves' + '-'.join(words)
        try:
            traced = place.traced(3, program, *words, name=name)
        except subprocess.TimeoutExpired:
            t.check('%s: one rank leaves by %s: no hang' % (place.flavour, what), False, 'it hangs')
            continue
        # MPICH's mpirun tells of the first end that it hears of: of the rank that left, of one that it killed then, or (255, 1)
        # of the connection to one: untraced as well.
        t.check('%s: one rank leaves by %s: the job ends as it would (%d)' % (place.flavour, what, plain.returncode),
                traced.returncode == plain.returncode or {traced.returncode, plain.returncode} <= {1, 7, 9, 255},
                (traced.returncode, plain.returncode))
        ops = operations(place.analysis(name))
        # The others may be killed inside of the last one.
        t.check('%s: one rank leaves by %s: every rank is in the trace' % (place.flavour, what),
                298 <= ops.get('MPI_Allreduce', 0) <= 300, ops)


def forgets(t, place):
    """A program that takes the step's variables out of its environment before it calls MPI is one that was started with them."""
    program = place.compile('environment.c')
    for mode in ('events', 'profile'):
        run = place.traced(2, program, 'MPITRACE_DIR', name='forgets-' + mode, MPITRACE_MODE=mode)
        a = place.analysis('forgets-' + mode)
        t.equal('%s: a program that forgets MPITRACE_DIR is traced as it was to be: %s' % (place.flavour, mode),
                (run.returncode, run.stdout, operations(a).get('MPI_Allreduce'), a['coverage']['events'] > 0),
                (0, b'sum 1\n' * 2, 200, mode == 'events'))


def confined(t, place):
    """Who forbids itself system calls, with death as the answer, dies of none of ours. What has no room then is a number."""
    program = place.compile('confines.c', '-pthread')
    for how in ('prctl', 'seccomp', 'early'):
        for also in ([], ['thread', 'child']):
            who = '%s, a program that confines itself by %s%s: ' % (place.flavour, how, ', then has a thread and a child' if also else '')
            words, name = (program, how, '20000', *also), 'confined-%s-%d' % (how, len(also))
            plain, traced = place.plain(2, *words), place.traced(2, *words, name=name)
            t.equal(who + 'output and exit code are those of the untraced program',
                    (traced.returncode, traced.stdout), (plain.returncode, b'20000 %d %d\n' % ((100, 7) if also else (0, 0)) * 2))
            a = place.analysis(name)
            c = a['coverage']
            t.equal(who + 'each call is recorded, or counted as missing', (operations(a).get('MPI_Sendrecv'), c['events_lost'], c['calls_outside'], c['complete']),
                    (80000, 0, 400 if also else 0, not also))
    if place.flavour != 'mpich':
        return # whose launcher-less start makes calls of those itself
    step, n = Step(place, 'confined'), 200000
    run = step.run(program, 'prctl', str(n)) # there is no agent, and where it could spill nothing may be written
    step.end()
    a = step.analysis()
    c = a['coverage']
    t.equal('%s: where there is no room for a confined program, calls are exact' % place.flavour, (run.returncode, operations(a).get('MPI_Sendrecv')), (0, 2 * n))
    t.check('%s: and the coverage has the number, and why' % place.flavour, c['events'] + c['events_lost'] == 2 * n + 3 and c['events_lost'] > 0 and
            any('forbade itself system calls' in r for r in c['reasons']), c)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            if flavour == 'mpich' or os.environ.get('FULL') or len(FLAVOURS) == 1:  # a quick start, many times
                environment(t, place)
            planted(t, place)
            setuid(t, place)
            hidden(t, place)
            in_another_time(t, place)
            leaves(t, place)
            forgets(t, place)
            confined(t, place)
    t.end()


main()
