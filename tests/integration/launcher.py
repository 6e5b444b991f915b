#!/usr/bin/env python3
"""launcher.py - `mpitrace run -n` starts a program by the launcher of its MPI library, whatever mpirun comes first in PATH, and
says in one line what was wrong: with the program, with the launcher, or that the program is not MPI. Exit codes pass through."""
import glob
import os
import shutil
import subprocess

from trace import FLAVOURS, MPITRACE, Place, Tests, operations, whole

NAMES = {'openmpi': 'Open MPI', 'mpich': 'MPICH'}
# In one write: what print() writes in pieces may meet what the other rank writes.
PYTHON = '''#!/usr/bin/python3
import os
from mpi4py import MPI
os.write(1, b'size %d\\n' % MPI.COMM_WORLD.size)
MPI.COMM_WORLD.Barrier()
'''
SRUN = '''#!/bin/sh
if [ "$1" = --mpi=list ]; then
	echo 'MPI plugin types are...'
	for p in $SRUN_HAS; do echo "	$p"; done
	exit 0
fi
if [ "$1" = --help ]; then
	echo "$SRUN_HELP"
	exit 0
fi
echo "$*" >>%(dir)s/srun.log
shift
exec env -u SLURM_JOB_ID mpirun.$FLAVOUR "$@"
'''
COUNT = iter(range(10000))
STATIC = '''#include <unistd.h>
int MPI_Init(int *argc, char ***argv);
int MPI_Init(int *argc, char ***argv) { return argc == 0 || argv == 0; }
int main(int argc, char **argv) { sleep(1); return MPI_Init(&argc, &argv); }
'''
KILLS_THE_AGENT = 'for p in $(cat /proc/$PPID/task/$PPID/children); do [ $p = $$ ] || kill -9 $p; done'


def write(path, text, mode=0o755):
    with open(path, 'w') as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def run(place, *words, ranks=2, args=(), drop=(), **env):
    """`mpitrace run`; its result and its own lines of standard error, the name of the trace."""
    name = 'r%d' % next(COUNT)
    env = {k: v for k, v in dict(place.env, **env).items() if k not in drop}
    r = whole([MPITRACE, 'run', *(['-n', str(ranks)] if ranks else []), '--out', place.dir + '/out', '--name', name, *args, '--',
               *words], env, place.dir)
    r.said = [line for line in r.stderr.decode().split('\n') if line.startswith('mpitrace run: ')]
    r.name = name
    return r


def fits(t, place, other):
    """PATH has the other library's mpirun in front."""
    program = place.compile('lang_c.c')
    path = {'PATH': '%s:%s' % (other.dir + '/bin', os.environ['PATH'])}
    r = run(place, program, **path)
    t.check('%s: the launcher is that of its library, though %s is first in PATH' % (NAMES[place.flavour], NAMES[other.flavour]),
            (r.returncode, r.stdout, r.said) == (0, b' sum 50 place 1\n', []) and place.analysis(r.name)['job']['ranks'] == 2, r)
    r = run(place, program, PATH='/nonexistent', OMPI_MCA_plm_rsh_agent='/bin/false')
    t.check('%s: without any in PATH, the one that lies near the library' % NAMES[place.flavour],
            (r.returncode, r.stdout, r.said) == (0, b' sum 50 place 1\n', []), r)
    script = write(place.dir + '/job.sh', '#!/bin/sh\nexec %s "$@"\n' % program)
    r = run(place, script)
    t.check('%s: of a shell script nothing is known, which is said; PATH decides' % NAMES[place.flavour],
            r.returncode == 0 and r.stdout == b' sum 50 place 1\n' and len(r.said) == 1 and
            'cannot tell which' in r.said[0] and 'mpirun (%s)' % NAMES[place.flavour] in r.said[0], r)


def python(t, place, other):
    if subprocess.run(['/usr/bin/python3', '-c', 'import mpi4py.MPI'], capture_output=True).returncode != 0:
        return
    script = write(place.dir + '/p.py', PYTHON)
    for words in (['/usr/bin/python3', script], [script]):
        r = run(place, *words, PATH='%s:%s' % (other.dir + '/bin', os.environ['PATH']))
        t.check('mpi4py as %s: the launcher is that of its library' % os.path.basename(words[0]),
                (r.returncode, r.stdout, r.said) == (0, b'size 2\n' * 2, []) and
                operations(place.analysis(r.name)).get('MPI_Barrier') == 2, r)


def programs(t, place):
    """What is no MPI program, or none at all."""
    for words, code in ((['/bin/true'], 0), (['/bin/false'], 1), (['/bin/sh', '-c', 'exit 5'], 5)):
        for ranks in (None, 1):
            r = run(place, *words, ranks=ranks)
            t.check('%s: %s with ranks %s is not MPI: said, exit code %d' % (place.flavour, words[0], ranks, code),
                    r.returncode == code and len(r.said) == 1 and 'no MPI call of %s came' % words[0] in r.said[0] and
                    'without the LD_PRELOAD' in r.said[0], r)
    r = run(place, '/bin/sh', '-c', KILLS_THE_AGENT, ranks=None)
    t.check('%s: that no MPI call came is said by whoever takes an agent\'s place, too' % place.flavour,
            r.returncode == 0 and len(r.said) == 1 and 'no MPI call of /bin/sh came' in r.said[0], r)
    plain = write(place.dir + '/plain', 'text', 0o644)
    for word, code, why in (('./missing', 127, 'program "./missing" not found'), ('missing', 127, 'not found in PATH'),
                            (plain, 126, 'not executable'), (place.dir, 126, 'is a directory'), ('', 127, 'not found')):
        for ranks in (None, 2):
            before = set(os.listdir(place.dir + '/out'))
            r = run(place, word, ranks=ranks)
            t.check('%s: "%s" with ranks %s: one line, exit code %d, nothing is left' % (place.flavour, word, ranks, code),
                    r.returncode == code and len(r.said) == 1 and why in r.said[0] and r.stderr.count(b'\n') == 1 and
                    set(os.listdir(place.dir + '/out')) == before, r)


def lost(t, place):
    """A program of MPI that does not have the tracer, as whoever started it took its environment away."""
    program, static = place.compile('told.c'), place.dir + '/static'
    subprocess.run(['gcc', '-static', '-x', 'c', '-', '-o', static], input=STATIC, text=True, check=True)
    name = os.path.basename(program)
    for words, ranks, why in ((['env', '-u', 'LD_PRELOAD', program, '4'], None, '1 process of env ran untraced: %s was started without the LD_PRELOAD' % name),
                              (['env', '-u', 'LD_PRELOAD', program, '4'], 2, '2 processes of env ran untraced: %s was started without the LD_PRELOAD' % name),
                              (['env', '-u', 'MPITRACE_DIR', program, '4'], None, '%s was started without the MPITRACE_DIR' % name),
                              (['sh', '-c', 'unset LD_PRELOAD; "$0" 4; exit $?', program], None, '1 process of sh ran untraced: %s was started' % name),
                              (['sh', '-c', '"$0"; exit $?', static], None, '1 process of sh ran untraced: static is linked statically'),
                              (['env', '-u', 'LD_PRELOAD', 'sleep', '1'], None, 'no MPI call of env came to the tracer')):
        r = run(place, *words, ranks=ranks)
        t.check('%s: %s with ranks %s: that it has MPI and not the tracer is said' % (place.flavour, ' '.join(map(os.path.basename, words)), ranks),
                r.returncode == 0 and len(r.said) == 1 and why in r.said[0], r)
    copies = place.compile('copies.c')
    for words, count in ((['200', '800', '/bin/true'], '1 process'), (['3000', '0'], '2 processes')):
        r = run(place, 'env', '-u', 'LD_PRELOAD', copies, *words, ranks=None)
        t.check('%s: a copy for %s ms, then %s: %s of it' % (place.flavour, words[0], words[2:], count),
                r.returncode == 0 and len(r.said) == 1 and count + ' of env ran untraced: copies was started' in r.said[0], r)
    r = run(place, 'sh', '-c', '"$0" 1; LD_PRELOAD= "$0" 4; exit $?', program, ranks=None)
    coverage = place.analysis(r.name)['coverage']
    t.check('%s: of one that has it and one that has not the report says it, too' % place.flavour,
            len(r.said) == 1 and '1 process of sh ran untraced: ' + name in r.said[0] and not coverage['complete'] and
            any('1 process ran untraced: ' + name in reason for reason in coverage['reasons']), (r, coverage))


def opened(t, place):
    """Somebody lets others write to the step's directory, where the tracer writes only if they may not."""
    program = place.compile('told.c')
    r = run(place, 'sh', '-c', 'chmod 777 "$MPITRACE_DIR"; "$0" 1; "$0" 1; stat -c %a "$MPITRACE_DIR"', program, ranks=None)
    recorded = os.path.exists('%s/out/%s.mpix' % (place.dir, r.name)) and place.analysis(r.name)['coverage']
    told = [x for x in r.said if 'ran untraced: %s does not write to the directory' % os.path.basename(program) in x]
    t.check('%s: a directory that chmod opened is closed again, and who came meanwhile is told of' % place.flavour,
            r.stdout.endswith(b'700\n') and (told or recorded) and (bool(told) != bool(recorded and recorded['complete'])), (r, recorded))


def overlong(t, place):
    """Names and paths at what they may be long, and one past it."""
    program = place.compile('lang_c.c')
    for length in (200, 201):
        before = set(os.listdir(place.dir + '/out'))
        r = run(place, '/bin/true', ranks=None, args=['--name', 'n' * length])
        said = ['mpitrace run: --name: longer than 200 bytes']
        t.check('%s: --name of %d bytes %s' % (place.flavour, length, 'is taken' if length == 200 else 'is refused, not cut'),
                ((r.returncode, r.said) == (2, said) and set(os.listdir(place.dir + '/out')) == before) if length > 200 else
                (r.returncode == 0 and 'no MPI call of' in r.said[0]), r)
    long = place.dir + '/' + 'p' * 255
    shutil.copy(program, long)
    r = whole([MPITRACE, 'run', '-n', '2', '--out', place.dir + '/long', '--', long], place.env, place.dir)
    t.check('%s: a program\'s name of 255 bytes gives files named by the first 200' % place.flavour,
            (r.returncode, r.stdout) == (0, b' sum 50 place 1\n') and
            sorted(os.listdir(place.dir + '/long')) == ['p' * 200 + end for end in ('.html', '.mpic', '.mpix')], r)
    r = run(place, place.dir + '/' + 'd' * 250 + ('/' + 'd' * 250) * 20)
    t.check('%s: a path of 5,000 bytes is no program' % place.flavour,
            r.returncode == 127 and len(r.said) == 1 and 'not found' in r.said[0], r)
    r = run(place, program, PATH='/%s:%s' % ('d' * 5000, os.environ['PATH']))
    t.check('%s: a folder of 5,000 bytes in PATH is stepped over' % place.flavour,
            (r.returncode, r.stdout, r.said) == (0, b' sum 50 place 1\n', []), r)


def codes(t, place):
    program = place.compile('ends.c')
    for mode, code in (('exit3', 3), ('exit0', 0)):
        plain, r = place.plain(1, program, mode), run(place, program, mode, ranks=1)
        t.equal('%s: exit code %d passes through the launcher' % (place.flavour, code),
                (plain.returncode, r.returncode, r.said), (code, code, []))


def launchers(t, place):
    """The launcher fails before it starts anything."""
    program = place.compile('lang_c.c')
    plain = whole(['mpirun', '-n', '2', '--no-such-option', program], place.env, place.dir)
    r = run(place, program, args=['--mpirun', '--no-such-option'])
    t.check('%s: a launcher that fails is told from a program that is not MPI' % place.flavour,
            r.returncode == plain.returncode and len(r.said) == 1 and 'mpirun failed before it started' in r.said[0] and
            'exit code %d;' % plain.returncode in r.said[0] and 'rejects an option' in r.said[0], r)
    if place.flavour == 'openmpi':
        r = run(place, program, ranks=4000, drop=['OMPI_MCA_rmaps_base_oversubscribe', 'PRTE_MCA_rmaps_default_mapping_policy'])
        t.check('openmpi: too few slots: what to add is said', r.returncode != 0 and len(r.said) == 1 and
                'or --oversubscribe' in r.said[0], r)
    if place.flavour == 'openmpi' and os.geteuid() == 0:
        r = run(place, program, drop=['OMPI_ALLOW_RUN_AS_ROOT'])
        t.check('openmpi: refuses root: what to add is said', r.returncode == 1 and len(r.said) == 1 and
                '--mpirun "--allow-run-as-root"' in r.said[0], r)
    libraries = place.dir + '/moved/a/b/c/d/lib'
    os.makedirs(libraries)
    found = [line.split()[2] for line in subprocess.run(['ldd', program], capture_output=True, text=True).stdout.split('\n')
             if line.split()[:1] and line.split()[0].startswith(('libmpi.so', 'libmpich.so'))]
    shutil.copy(found[0], libraries)
    r = run(place, program, PATH='/nonexistent', LD_LIBRARY_PATH=libraries)
    package = {'openmpi': 'openmpi-bin', 'mpich': 'mpich'}[place.flavour]
    t.check('%s: no launcher: what to install is said' % place.flavour,
            r.returncode == 127 and len(r.said) == 1 and 'install ' + package in r.said[0] and libraries in r.said[0], r)


def slurm(t, place):
    """In an allocation srun starts what it can; here a script stands for it."""
    program, log = place.compile('lang_c.c'), place.dir + '/srun.log'
    write(place.dir + '/bin/srun', SRUN % {'dir': place.dir})
    own = {'openmpi': 'pmix', 'mpich': 'pmi2'}[place.flavour]
    for where, env in (('an allocation', {}), ('a batch script of Slurm 26.05', {'SLURM_STEP_ID': '-5'})):
        r = run(place, program, FLAVOUR=place.flavour, SLURM_JOB_ID='1', SRUN_HAS='none pmi2 pmix', **env)
        used = ''
        if os.path.exists(log):
            with open(log) as f:
                used = f.read()
            os.unlink(log)
        t.check('%s: in %s srun starts it, by %s' % (place.flavour, where, own),
                r.stdout == b' sum 50 place 1\n' and used.startswith('--mpi=%s -n 2 ' % own), (r, used))
    os.mkdir(place.dir + '/a,b')
    r = run(place, program, args=['--out', place.dir + '/a,b'], SLURM_JOB_ID='1', SRUN_HAS='pmix pmi2', SRUN_HELP='      --mpitrace=[key]')
    t.check('%s: where srun would trace, an --out that its option cannot hold is refused' % place.flavour,
            r.returncode == 3 and len(r.said) == 1 and 'no path with a comma' in r.said[0] and
            not os.path.exists(log) and not os.listdir(place.dir + '/a,b'), r)
    r = run(place, place.dir + '/bin/srun', '--mpi=none', '/bin/true', ranks=None, FLAVOUR=place.flavour)
    t.check('%s: srun without -n: what to write instead is said' % place.flavour,
            r.said == ['mpitrace run: use srun --mpitrace for a program that srun starts'], r)
    os.unlink(log)
    for what, env in (('which cannot start it', dict(SLURM_JOB_ID='1', SRUN_HAS='none')),
                      ('in a step', dict(SLURM_JOB_ID='1', SLURM_STEP_ID='0', SRUN_HAS='pmix pmi2')),
                      ('outside of an allocation', dict(SRUN_HAS='pmix pmi2'))):
        run(place, program, FLAVOUR=place.flavour, **env)
        used = '' # Open MPI's mpirun may ask srun what it is
        if os.path.exists(log):
            with open(log) as f:
                used = f.read()
        t.check('%s: srun %s is left alone' % (place.flavour, what), '--mpi=' not in used, used)


def main():
    t = Tests()
    places = {flavour: Place(flavour) for flavour in FLAVOURS}
    for flavour, place in places.items():
        os.makedirs(place.dir + '/out')
        other = next((p for f, p in places.items() if f != flavour), place)
        fits(t, place, other)
        if flavour == 'openmpi':
            python(t, place, other)
        programs(t, place)
        lost(t, place)
        opened(t, place)
        overlong(t, place)
        codes(t, place)
        launchers(t, place)
        slurm(t, place)
        t.check(flavour + ': no step directory is left', not glob.glob(place.dir + '/out/.*'), os.listdir(place.dir + '/out'))
    for place in places.values():
        place.__exit__()
    t.end()


main()
