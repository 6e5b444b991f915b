#!/usr/bin/env python3
"""opens.py - programs that are not linked with MPI and open it, and what else is in the loader's way: sanitizers, other MPIs."""
import json
import os
import shutil
import subprocess

from trace import FLAVOURS, MPITRACE, PROGRAMS, TIMEOUT, Place, Step, Tests, emulated, operations

LIBRARY = {'openmpi': 'libmpi.so.40', 'mpich': 'libmpich.so.12'}
NO_ASAN = 'an emulator notes each page that AddressSanitizer reserves: qemu 7.2 takes all memory for it' if emulated() else ''
WANT = {'MPI_Init': 1, 'MPI_Comm_rank': 1, 'MPI_Comm_size': 1, 'MPI_Allreduce': 30, 'MPI_Barrier': 1, 'MPI_Finalize': 1}
CTYPES = '''
import ctypes, sys
mpi = ctypes.CDLL(sys.argv[1])
mpi.MPI_Init(None, None)
flag = ctypes.c_int()
for i in range(7):
    mpi.MPI_Initialized(ctypes.byref(flag))
print(flag.value)
mpi.MPI_Finalize()
'''


def run(place, *words, **env):
    return subprocess.run(words, env=dict(place.env, **env), cwd=place.dir, capture_output=True, timeout=TIMEOUT)


def unlinked(place):
    """opens.c, which knows MPI's header and nothing else of it."""
    path = place.dir + '/opens'
    subprocess.run(['mpicc.' + place.flavour, '-g', '-O1', '-w', '-c', '-o', path + '.o', PROGRAMS + '/opens.c'], check=True)
    subprocess.run(['cc', '-o', path, path + '.o', '-ldl'], check=True)
    return path


def plugin(place):
    path = place.dir + '/libplugin.so'
    subprocess.run(['mpicc.' + place.flavour, '-g', '-w', '-shared', '-fPIC', '-o', path, PROGRAMS + '/plugin_runs.c'], check=True)
    return path


def opened(t, place):
    program, library, linked = unlinked(place), LIBRARY[place.flavour], plugin(place)
    for how in ('local', 'global', 'plugin', 'deepbind', 'namespace'):
        words = [program, how, library] + ([linked] if how not in ('local', 'global') else [])
        plain, who = run(place, *words), '%s, %s: ' % (place.flavour, how)
        traced = run(place, MPITRACE, 'run', '--out', place.dir + '/out', '--name', how, '--', *words)
        t.equal(who + 'output and exit code are those of the untraced program', (traced.stdout, traced.returncode),
                (plain.stdout, 128 - plain.returncode if plain.returncode < 0 else plain.returncode)) # Open MPI 4.1 dies in a namespace
        if how in ('deepbind', 'namespace'):
            t.check(who + 'calls that pass the tracer by are named', b'RTLD_DEEPBIND' in traced.stderr and b'dlmopen' in traced.stderr,
                    traced.stderr)
        else:
            t.equal(who + 'each call is recorded', operations(place.analysis(how)), WANT)


def in_a_job(place, name, tracer, *words):
    """As on a node of Slurm: the step, and the log that its finisher leaves."""
    out = '%s/mpitrace-%s/step-0' % (place.dir, name)
    step = Step(place, name, out=out, uid=os.geteuid())
    done = step.run(*words, env={'LD_PRELOAD': tracer})
    step.end()
    subprocess.run([MPITRACE, 'finish', out], capture_output=True, check=False)
    log = out + '/log.txt'
    return done, step, open(log).read() if os.path.exists(log) else ''


def passed_by(t, place):
    """What is loaded past the tracer is named in the job's log, too; who has no MPI is not."""
    program, library, linked = unlinked(place), LIBRARY[place.flavour], plugin(place)
    for how in ('deepbind', 'namespace'):
        words = [program, how, library, linked]
        plain, (traced, _, log) = run(place, *words), in_a_job(place, how, os.environ['TRACER'], *words)
        who = '%s, %s in a job: ' % (place.flavour, how)
        t.equal(who + 'output and exit code are those of the untraced program', (traced.stdout, traced.returncode), (plain.stdout, plain.returncode))
        if plain.returncode == 0: # Open MPI 4.1 dies in a namespace
            t.check(who + 'its log names it, once', log.count('n1: 1 process ran untraced: %s' % library.split('.so')[0]) == 1 and
                    'RTLD_DEEPBIND, dlmopen' in log and log.count('\n') == 1, log)
    _, step, log = in_a_job(place, 'none', os.environ['TRACER'], '/bin/sh', '-c', 'true; /bin/true')
    t.equal('%s, a program without MPI leaves nothing' % place.flavour, (log, os.path.exists(step.out)), ('', False))


def bound_past(t, place):
    """A library of a traced program that finds MPI behind the tracer: how much of MPI it has is said, and nobody is accused of what is missing."""
    program, library = place.compile('past.c', '-ldl'), place.dir + '/libpast_plugin.so'
    subprocess.run(['mpicc.' + place.flavour, '-g', '-w', '-shared', '-fPIC', '-o', library, PROGRAMS + '/past_plugin.c'], check=True)
    for how in ('normal', 'deepbind'):
        for end in ('open', 'closed'):
            words, who = [program, library, how, end], '%s, a library that is opened (%s) and left %s: ' % (place.flavour, how, end)
            quiet = dict(UCX_MEM_EVENTS='no') # else newer ones put a dlclose() into the program, which passes preloaded libraries by
            plain, traced = place.plain(2, *words, **quiet), place.traced(2, *words, name=how + end, **quiet)
            a = place.analysis(how + end)
            c, lacks = a['coverage'], how == 'deepbind'
            t.equal(who + 'the output is that of the untraced program', sorted(traced.stdout.splitlines()), sorted(plain.stdout.splitlines()))
            t.equal(who + 'functions that it has past the tracer, and is the record whole', (c.get('functions_past'), c['complete']), (3 if lacks else 0, not lacks))
            t.equal(who + 'sends and waits are those that the tracer saw', [operations(a).get(x, 0) for x in ('MPI_Send', 'MPI_Wait', 'MPI_Barrier')],
                    [1, 0, 1] if lacks else [4, 1, 2])
            t.equal(who + 'nothing is said against the program', [x['what'] for x in a['correctness']], [])
            t.check(who + 'no reason says that the records are whole', lacks == any('opened with RTLD_DEEPBIND, reaches past the tracer: its calls are in no count: 3 functions' in r for r in c['reasons']) and
                    not any('both records' in r for r in c['reasons']), c['reasons'])


def with_broken_tracer(t, place):
    """The tracer behind the front cannot be loaded: who asked hears why, in one line."""
    program, libraries = place.compile('ring.c'), os.path.dirname(os.environ['TRACER'])
    name = 'libmpitrace-%s.so' % place.flavour
    words = ['mpirun', '-n', '2', program, '5']
    plain = run(place, *words)
    for kind, breaks, why in (('empty', lambda path: os.truncate(path, 0), 'file too short'),
                              ('of another MPI', lambda path: shutil.copy(libraries + '/libmpitrace-abi.so', path), 'is not a tracer for this MPI library'),
                              ('missing', os.remove, 'No such file')):
        who, prefix = '%s, a tracer that is %s: ' % (place.flavour, kind), '%s/prefix-%s' % (place.dir, kind.replace(' ', '-'))
        os.makedirs(prefix + '/bin')
        shutil.copytree(libraries, prefix + '/pmpi', ignore=lambda _, names: [n for n in names if not n.endswith('.so')])
        shutil.copy(MPITRACE, prefix + '/bin')
        breaks(prefix + '/pmpi/' + name)
        traced = run(place, prefix + '/bin/mpitrace', 'run', '--out', place.dir + '/broken', '--', *words)
        said = [line for line in traced.stderr.decode().splitlines() if line.startswith('mpitrace')]
        t.equal(who + 'output and exit code are those of the untraced program', (sorted(traced.stdout.split()), traced.returncode),
                (sorted(plain.stdout.split()), 0))
        t.check(who + 'why is said once', len(said) == 1 and '2 processes of mpirun ran untraced: ' in said[0] and why in said[0] and name in said[0], said)
        _, step, log = in_a_job(place, 'broken-' + kind.replace(' ', '-'), prefix + '/pmpi/libmpitrace.so', *words)
        t.check(who + 'the log of a job names it', log.count('n1: 2 processes ran untraced: ') == 1 and why in log, log)
    step = Step(place, 'mixed')
    step.run(program, '5', env={'LD_PRELOAD': prefix + '/pmpi/libmpitrace.so'})
    step.run(program, '5')
    step.end()
    c = step.analysis()['coverage']
    t.check('%s, one process of two: the report says why it is not whole' % place.flavour,
            not c['complete'] and any('n1: 1 process ran untraced: ' in r and name in r for r in c['reasons']), c)


def by_ctypes(t, place):
    script = place.dir + '/by_ctypes.py'
    with open(script, 'w') as f:
        f.write(CTYPES)
    traced = run(place, MPITRACE, 'run', '--out', place.dir + '/out', '--name', 'ctypes', '--', 'python3', script, LIBRARY[place.flavour])
    t.equal('%s: what ctypes calls is recorded' % place.flavour, (traced.stdout, operations(place.analysis('ctypes'))),
            (b'1\n', {'MPI_Init': 1, 'MPI_Initialized': 7, 'MPI_Finalize': 1}))


# Under whose names others ship these: Intel MPI, MVAPICH and ParTec; Cray; HPC-X.
FOREIGN = {'mpich': ['libmpi.so.12', 'libmpi_gnu_123.so.12', 'libmpi_cray.so.12', 'libmpi_intel.so.12', 'libmpich_gnu_91.so.3'],
           'openmpi': ['libmpi.so.40']}


def library_as(place, name):
    """A copy of this MPI's library with another name, in its file and, where there is room for it, inside."""
    listed = subprocess.run(['ldconfig', '-p'], env=dict(os.environ, PATH=os.environ['PATH'] + ':/sbin:/usr/sbin'), capture_output=True, text=True).stdout
    path = [line.split(' => ')[1] for line in listed.splitlines() if line.strip().startswith(LIBRARY[place.flavour] + ' ')][0]
    own = LIBRARY[place.flavour].encode()
    with open(path, 'rb') as f:
        image = f.read()
    if len(name) <= len(own):
        image = image.replace(b'\0' + own + b'\0', b'\0' + name.encode().ljust(len(own), b'\0') + b'\0')
    os.makedirs(place.dir + '/foreign', exist_ok=True)
    with open(place.dir + '/foreign/' + name, 'wb') as f:
        f.write(image)
    os.chmod(place.dir + '/foreign/' + name, 0o755)
    return place.dir + '/foreign/' + name


def foreign_names(t, place):
    program = unlinked(place)
    family = {'mpich': 'mpich', 'openmpi': 'open mpi'}[place.flavour]
    for name in FOREIGN[place.flavour]:
        library = library_as(place, name)
        traced = run(place, MPITRACE, 'run', '--out', place.dir + '/out', '--name', 'foreign', '--', program, 'local', library)
        t.equal('%s as %s: each call is recorded' % (place.flavour, name), (traced.returncode, operations(place.analysis('foreign'))), (0, WANT))
        said = run(place, MPITRACE, 'doctor', '--json', LD_LIBRARY_PATH=place.dir + '/foreign').stdout
        what = [c['what'] for c in json.loads(said)['checks'] if c['check'] == family]
        t.check('%s as %s: the doctor says that it is traced' % (place.flavour, name), what and what[0].startswith(library + ' is traced by '), what)
        os.remove(library)


def linked_by_name(t, place):
    """A program that was linked with Intel's libmpi.so.12, as the loader sees it."""
    program, library = place.dir + '/linked', library_as(place, 'libmpi.so.12')
    subprocess.run(['mpicc.mpich', '-g', '-w', '-c', '-o', program + '.o', PROGRAMS + '/slurm_self.c'], check=True)
    subprocess.run(['cc', '-o', program, program + '.o', library, '-Wl,--unresolved-symbols=ignore-in-shared-libs'], check=True)
    traced = run(place, MPITRACE, 'run', '--out', place.dir + '/out', '--name', 'linked', '--', program, '5', '10', LD_LIBRARY_PATH=place.dir + '/foreign')
    t.check('a program of libmpi.so.12 is known as one of MPI, and recorded', traced.returncode == 0 and b'not an MPI program' not in traced.stderr and
            operations(place.analysis('linked')).get('MPI_Init') == 1, traced)


def tracer(place, how):
    """Traced without an agent: what the loader makes of it."""
    os.makedirs(place.dir + '/ranks', exist_ok=True)
    return dict(how, LD_PRELOAD=os.environ['TRACER'], MPITRACE_DIR=place.dir + '/ranks')


def memory(t, place):
    """The loader takes memory from the program's own malloc(), which calls MPI: nobody may open a library there."""
    program = place.compile('mallocs.c', '-ldl')
    for what, words in (('at any time', []), ('first while a library is opened', [plugin(place)])):
        plain, name = place.plain(2, program, *words), 'mallocs-%d' % len(words)
        traced, who = place.traced(2, program, *words, name=name), '%s, a malloc() that calls MPI %s: ' % (place.flavour, what)
        t.equal(who + 'output and exit code are those of the untraced program', (sorted(traced.stdout.split()), traced.returncode),
                (sorted(plain.stdout.split()), plain.returncode))
        t.equal(who + 'the others are recorded', operations(place.analysis(name)).get('MPI_Allreduce'), 20)


def lookups(t, place):
    """dlsym() means for a program what it means without us."""
    program = place.dir + '/looks_up'
    for name, flags in (('', []), ('AddressSanitizer', ['-fsanitize=address']), ('ThreadSanitizer', ['-fsanitize=thread'])):
        claim = 'dlsym is what it was%s' % (', with ' + name if name else '')
        if name == 'AddressSanitizer' and NO_ASAN:
            t.skip(claim, NO_ASAN)
            continue
        subprocess.run(['cc', '-g', '-o', program, PROGRAMS + '/looks_up.c', '-ldl', '-pthread', *flags], check=True)
        plain, traced = run(place, program), run(place, program, **tracer(place, {}))
        t.check(claim, plain.returncode == 0 and
                (plain.stdout, plain.stderr, plain.returncode) == (traced.stdout, traced.stderr, traced.returncode), (plain, traced))


def sanitized(t, place):
    if NO_ASAN:
        t.skip('%s: a program with AddressSanitizer runs as it does untraced' % place.flavour, NO_ASAN)
        return
    program = place.compile('tooled.c', '-fsanitize=address')
    quiet = {'ASAN_OPTIONS': 'detect_leaks=0'}
    plain = run(place, program, **quiet)
    if plain.returncode != 0: # Debian unstable of November 2026: Open MPI 6's libraries, illegal instruction
        t.skip('%s: a program with AddressSanitizer runs as it does untraced' % place.flavour, 'untraced it ends with %d' % plain.returncode)
        return
    traced = run(place, MPITRACE, 'run', '--out', place.dir + '/out', '--name', 'asan', '--', program, **quiet)
    t.equal('%s: a program with AddressSanitizer runs as it does untraced' % place.flavour, (traced.stdout, traced.returncode),
            (plain.stdout, 0))
    t.equal('%s: and is recorded' % place.flavour, operations(place.analysis('asan')).get('MPI_Allreduce'), 20)


def another_mpi(t, place):
    """Serial programs are linked with a library that stands in for MPI; some sites have an MPI that nobody knows."""
    library, program = place.dir + '/libserial.so', place.dir + '/serial'
    for name, flags in (('MPI_X only', []), ('PMPI_X too', ['-DPROFILED'])):
        subprocess.run(['cc', '-shared', '-fPIC', '-o', library, *flags, PROGRAMS + '/serial_mpi.c'], check=True)
        subprocess.run(['cc', '-DPROGRAM', *flags, '-o', program, PROGRAMS + '/serial_mpi.c', library, '-Wl,-rpath,' + place.dir], check=True)
        plain, traced = run(place, program), run(place, program, **tracer(place, {}))
        t.equal('an MPI that we do not know is left alone (%s)' % name, (traced.stdout, traced.returncode), (plain.stdout, 0))
        t.check('and it was called', plain.stdout.count(b'serial') == 3, plain)


def another_libc(t, place):
    """A program of musl starts with the front as it does without: it would not if the front needed what only glibc has."""
    claim, program = 'a program of another libc runs as it does untraced', place.dir + '/other_libc'
    if not shutil.which('musl-gcc'):
        t.skip(claim, 'no musl-gcc')
        return
    subprocess.run(['musl-gcc', '-w', '-o', program, PROGRAMS + '/other_libc.c'], check=True)
    plain, traced = run(place, program), run(place, program, **tracer(place, {}))
    t.equal(claim, (traced.returncode, traced.stdout, traced.stderr), (plain.returncode, plain.stdout, plain.stderr))
    t.equal('and finds what it asks for', (plain.returncode, plain.stdout), (3, b'7 other 1 0\n'))


def families_by_hand(t, place):
    """The tracer of an MPI family, preloaded without the front, by somebody who took it for the tracer."""
    program, folder = place.compile('ends.c'), os.path.dirname(os.environ['TRACER'])
    plain = run(place, program, 'exit3')
    for name in sorted(n for n in os.listdir(folder) if n.startswith('libmpitrace-') and n.endswith('.so')):
        path, how = folder + '/' + name, tracer(place, {})
        traced = run(place, program, 'exit3', **dict(how, LD_PRELOAD=path))
        t.equal('%s, %s preloaded by hand: the program is what it was, nothing is left' % (place.flavour, name),
                (traced.stdout, traced.stderr, traced.returncode, os.listdir(how['MPITRACE_DIR'])), (plain.stdout, plain.stderr, plain.returncode, []))
        said = run(place, MPITRACE, 'doctor', '--json', LD_PRELOAD='/nowhere.so:' + path).stdout
        what = [c for c in json.loads(said)['checks'] if c['check'] == 'preload']
        t.check('%s, %s preloaded by hand: the doctor says so' % (place.flavour, name),
                what and what[0]['status'] == 'warn' and what[0]['what'] == 'LD_PRELOAD names %s, which by itself traces nothing' % path, what)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            opened(t, place)
            passed_by(t, place)
            bound_past(t, place)
            with_broken_tracer(t, place)
            by_ctypes(t, place)
            memory(t, place)
            sanitized(t, place)
            foreign_names(t, place)
            families_by_hand(t, place)
            if flavour == 'mpich':
                linked_by_name(t, place)
    with Place(FLAVOURS[0]) as place:
        lookups(t, place)
        another_mpi(t, place)
        another_libc(t, place)
    t.end()


main()
