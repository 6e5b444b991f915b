#!/usr/bin/env python3
"""run_options.py - `mpitrace run` takes what --mpitrace= takes of how to trace, and each option does what it says; missing folders of --out
are made; more ranks than the launcher has slots are started when it is asked for, and else one line says what to do."""
import os
import re
import shlex
import shutil
import subprocess
import sys

from trace import FLAVOURS, MPITRACE, Place, Tests, operations, whole

SRUN = '''#!/bin/sh
if [ "$1" = --mpi=list ]; then echo 'MPI plugin types are...'; echo '	%(mpi)s'; exit 0; fi
if [ "$1" = --help ]; then echo '      --mpitrace=[key]'; exit 0; fi
echo "$*" >>%(dir)s/srun.log
exit 3
'''


def run(place, name, *options, words, ranks=2, drop=(), **env):
    env = {k: v for k, v in dict(place.env, **env).items() if k not in drop}
    r = whole([MPITRACE, 'run', *(['-n', str(ranks)] if ranks else []), '--name', name, *options, '--', *words], env, place.dir)
    r.said = [line for line in r.stderr.decode().split('\n') if line.startswith('mpitrace run: ')]
    return r


def modes(t, place, program):
    out = place.dir + '/out'
    for name, options, mode in (('events', (), 'events'), ('profile', ('--profile',), 'profile')):
        r = run(place, name, '--out', out, *options, words=[program])
        a = place.analysis(name)
        t.equal('%s: %s: complete, and what it is called' % (place.flavour, ' '.join(options) or 'nothing asked'),
                (r.returncode, r.said, a['coverage']['complete'], a['coverage']['mode'], a['coverage']['events'] > 0, operations(a)['MPI_Allreduce']),
                (0, [], True, mode, mode == 'events', CALLS))
        said = [line.split(' ')[:4] for line in r.stderr.decode().split('\n') if line.startswith('mpitrace')]
        t.equal('%s: %s: report and trace are said, a line each' % (place.flavour, ' '.join(options) or 'nothing asked'), said,
                [['mpitrace:', 'report', '%s/%s.html' % (out, name)], ['mpitrace:', 'trace', '', '%s/%s.mpix' % (out, name)]])
    p = place.analysis('profile')
    waits = [(r['wait_s'], r['caused_wait_s'], r['completions']) for r in p['per_rank']] + [c['wait_s'] for c in p['callsites']] + [
        p['io']['wait_s'], p['delays']['waits_s'], p['delays']['waits'], p['critical_path']['length_s'], p['summary']['completions']]
    t.check('%s: --profile: what only single calls tell is null, not 0, and the coverage says why' % place.flavour,
            {w for x in waits for w in (x if isinstance(x, tuple) else (x,))} == {None} and p['time_windows'] == [] and
            p['critical_path']['note'] and any('no single calls' in r for r in p['coverage']['reasons']), waits)
    for depth in (0, 8):
        run(place, 'stack%d' % depth, '--out', out, '--stack', str(depth), words=[program])
        stacks = place.analysis('stack%d' % depth).get('stacks', [])
        t.equal('%s: --stack %d' % (place.flavour, depth), bool(stacks), depth > 0)
    run(place, 'samples', '--out', out, '--sample', '0', words=[program])
    r = run(place, 'quiet', '--out', out, '--quiet', words=[program])
    t.equal('%s: --quiet: not a word, and all is there' % place.flavour, (r.returncode, b'mpitrace' in r.stderr, operations(place.analysis('quiet'))['MPI_Allreduce']), (0, False, CALLS))
    t.equal('%s: --sample 0: none' % place.flavour, place.analysis('samples')['coverage'].get('samples', 0), 0)


def long_command(t, place, program):
    words = [program] + ['a-long-argument-%d' % i for i in range(500)] # MPICH's launcher dies of a thousand
    run(place, 'long', '--out', place.dir + '/out', words=words)
    job = place.analysis('long')['job']
    shown = len(''.join(x + '\0' for x in job['argv']))
    with open(place.dir + '/out/long.html', encoding='utf-8') as f:
        said = re.search(r' and \d+ more arguments, [\d.]+\sKiB more not recorded', f.read())
    t.check('%s: of a command that is too long: what is missing is a number, on the page, too' % place.flavour,
            job['argv'][:2] == words[:2] and 0 < job['argv_missing_bytes'] and
            abs(shown + job['argv_missing_bytes'] - len(''.join(x + '\0' for x in words))) <= 1 and said, (shown, job['argv_missing_bytes'], said))


def layouts(t, place):
    """What the agent and the tracer are told; faults.py sees what an agent makes of a budget."""
    for options, want in (((), {'mode': 'events', 'budget': '0', 'stack': '0'}),
                          (('--profile', '--stack', '3', '--budget', '64K', '--sample', '0.5'),
                           {'mode': 'profile', 'budget': '65536', 'stack': '3', 'sample': '0.5', 'MPITRACE_MODE': 'profile', 'MPITRACE_STACK': '3'})):
        r = run(place, 'layout', *options, words=['/bin/sh', '-c', 'cat "$MPITRACE_DIR/../layout"; env'], ranks=None)
        told = dict(line.split('=', 1) for line in r.stdout.decode().split('\n') if '=' in line)
        t.equal('agent and tracer are told of %s' % (' '.join(options) or 'nothing'),
                {k: told.get(k) for k in ('mode', 'budget', 'stack', 'sample', 'MPITRACE_MODE', 'MPITRACE_STACK') if k in told}, want)


IGNORING = 'import os, signal, sys; signal.signal(signal.%s, signal.SIG_IGN); os.execvp(sys.argv[1], sys.argv[1:])'


def inherited(t, place):
    """What we arrange for ourselves, a program does not inherit: umask, and signals that who called us ignores."""
    show = ['/bin/sh', '-c', 'umask; grep SigIgn /proc/self/status; exit 5']
    for before in (['/bin/sh', '-c', 'umask 777; exec "$@"', 'sh'], *([sys.executable, '-c', IGNORING % name] for name in ('SIGCHLD', 'SIGXFSZ', 'SIGINT'))):
        as_ever, traced = (whole([*before, *words], place.env, place.dir) for words in (show, [MPITRACE, 'run', '--out', place.dir, '--', *show]))
        t.equal('%s: the program has it, too, and its exit code is handed on' % before[2][:70], (traced.stdout, traced.returncode), (as_ever.stdout, 5))


def removed(t, place, program):
    """What the agent had by then, it may make the folder again for, or not: it depends on who comes first."""
    out = place.dir + '/soon_gone'
    r = run(place, 'gone', '--out', out, words=['/bin/sh', '-c', '%s; rm -rf %s' % (program, out)], ranks=1)
    there = all(os.path.exists(out + '/gone' + x) for x in ('.mpix', '.html'))
    told = re.findall(r'(?m)^mpitrace \w+: .*' + re.escape(out), r.stderr.decode())
    t.check(place.flavour + ': a folder that the program removes: the program is untouched, and the results are there, or the reason is told',
            r.returncode == 0 and (there or told), (r.returncode, r.stderr))


def replaced(t, place, program):
    """Whatever lies where the trace was, the results are of what was recorded, and it is said where that is."""
    for kind, make in (('link', 'ln -s /nowhere %s'), ('fifo', 'mkfifo %s'), ('directory', 'mkdir %s'), ('nothing', ': %s')):
        out = '%s/replaced_%s' % (place.dir, kind)
        mpic = out + '/t.mpic'
        r = run(place, 't', '--out', out, words=['/bin/sh', '-c', '%s; until rm %s; do sleep 0.01; done; %s' % (program, mpic, make % mpic)], ranks=1)
        said = b'was removed or replaced' in r.stderr and b't.2.mpic' in r.stderr
        t.check('%s, the trace is replaced (%s): the page is of the run, and it is said where the trace is' % (place.flavour, kind), r.returncode == 0 and
                os.path.getsize(out + '/t.html') > 0 and said == (kind != 'nothing') and
                os.path.isfile(out + ('/t.mpic' if kind == 'nothing' else '/t.2.mpic')), (r.returncode, r.stderr))


# What ends an analysis just before its trace has its name.
ENDS_ANALYSIS = '''
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int rename(const char *from, const char *to)
{
	if (strstr(to, ".mpix") != NULL)
		raise(SIGTERM);
	return (int)syscall(SYS_renameat2, -100, from, -100, to, 0);
}
'''


def cut_short(t, place, program):
    """An analysis that is ended: nothing half made is left, and the words that are said make the rest."""
    library, out = place.dir + '/ends_analysis.so', place.dir + '/cut short'
    subprocess.run(['cc', '-shared', '-fPIC', '-o', library, '-x', 'c', '-'], input=ENDS_ANALYSIS.encode(), check=True)
    r = run(place, 'cut', '--out', out, words=[program], LD_PRELOAD=library)
    t.check('%s: an analysis is ended by a signal: it is said, with what makes the rest, and nothing half made is left' % place.flavour,
            r.returncode == 0 and len(r.said) == 1 and 'signal 15 ended the analysis' in r.said[0] and sorted(os.listdir(out)) == ['cut.mpic'], (r, os.listdir(out)))
    words = shlex.split(r.said[0].split(': mpitrace ')[-1]) if r.said else ['none']
    r = whole([MPITRACE, *words], place.env, place.dir)
    t.equal('%s: and it does' % place.flavour, (r.returncode, sorted(os.listdir(out))), (0, ['cut.html', 'cut.mpic', 'cut.mpix']))


def no_call(t, place):
    """Nothing of MPI came: what a launcher that was started as the program said itself, stands above."""
    for words, code, says in (('exit 0', 0, 'came to the tracer: it is not'), ('exit 7', 7, 'came to the tracer; the program ended with exit code 7, and may have said why above. If not, it is not')):
        r = run(place, 'none', words=['/bin/sh', '-c', words], ranks=None)
        t.check('no call of MPI and exit code %d: what may be is said' % code, r.returncode == code and len(r.said) == 1 and says in r.said[0], r)


def own_files(t, place, program):
    """What the program writes is its own, also under the names that the results have; what was there before is no run's."""
    out = place.dir + '/own'
    r = run(place, 't', '--out', out, words=['/bin/sh', '-c', '%s; for x in html mpix; do echo mine >%s/t.$x; done' % (program, out)], ranks=1)
    t.equal(place.flavour + ': files of the program under our names are as it wrote them, and ours are beside them',
            (r.returncode, [open(out + '/t.' + x).read() for x in ('html', 'mpix')], [os.path.getsize(out + '/t.2.' + x) > 1000 for x in ('html', 'mpix')], len(r.said)),
            (0, ['mine\n'] * 2, [True] * 2, 2))
    t.check(place.flavour + ': and it is said where', all((out + '/t.2.' + x).encode() in r.stderr.split(b'mpitrace: report')[1] for x in ('html', 'mpix')), r)
    os.symlink('nowhere', out + '/b.html')
    r = run(place, 'b', '--out', out, words=[program], ranks=1)
    t.check(place.flavour + ': a page that was there before keeps its name', r.returncode == 0 and not r.said and os.path.islink(out + '/b.html') and
            os.path.exists(out + '/b-2.html'), (r, os.listdir(out)))


def wrong(t, place):
    for options, why in ((['--stack', '33'], '--stack: "33" is not a depth'), (['--stack'], '--stack needs a value'),
                         (['--budget', '1x'], '--budget: "1x" is not a size'), (['--sample', '-1'], '--sample: "-1" is not a number of seconds'),
                         (['--name', 'a/b'], '"a/b" is not a file name'), (['--name', 'a\nb'], 'without control characters'),
                         (['--out', ''], '--out: give a value'), (['--report', 'none'], 'unknown option "--report"'),
                         (['-n', '99999999999'], '-n needs a number of ranks, not "99999999999"'), (['-n', '0'], 'not "0"'),
                         (['--off'], 'unknown option "--off"')):
        r = whole([MPITRACE, 'run', *options, *([] if len(options) == 1 and 'needs' in why else ['--', '/bin/true'])], place.env, place.dir)
        t.check('%s is refused: %s' % (' '.join(map(shlex.quote, options)), why),
                r.returncode == 2 and why in r.stderr.decode().split('\n')[0] and 'usage: mpitrace run' in r.stderr.decode(), r)
    r = run(place, 'x', '--oversubscribe', words=['/bin/true'], ranks=None)
    t.check('--oversubscribe without a launcher is refused', r.returncode == 2 and '-n' in r.said[0], r)


def named_oddly(t, place, program):
    odd = place.dir + '/od\nd\x1b[31m'
    shutil.copy(program, odd)
    r = whole([MPITRACE, 'run', '--out', place.dir + '/odd', '--', odd], place.env, place.dir)
    t.check('a program whose name has control characters is traced, and has its results', r.returncode == 0 and
            sorted(os.listdir(place.dir + '/odd')) == ['od_d_[31m.' + x for x in ('html', 'mpic', 'mpix')], (r, os.listdir(place.dir + '/odd')))
    r = whole([MPITRACE, 'run', '--out', place.dir + '/odd', '--', odd + '-not-there'], place.env, place.dir)
    t.check('nor does its name command the terminal', r.returncode == 127 and b'od?d?[31m-not-there' in r.stderr and b'\x1b' not in r.stderr, r)


def folders(t, place, program):
    deep = place.dir + '/not/there/yet'
    r = run(place, 'deep', '--out', deep, words=[program])
    t.equal('%s: missing folders of --out are made' % place.flavour, (r.returncode, sorted(os.listdir(deep))),
            (0, ['deep.html', 'deep.mpic', 'deep.mpix']))
    r = run(place, 'deep', '--out', program + '/x', words=[program])
    t.check('%s: one that cannot be made is said, and nothing runs' % place.flavour,
            r.returncode == 3 and len(r.said) == 1 and 'cannot make the directory: Not a directory' in r.said[0] and not r.stdout, r)


def no_place(t, place):
    """No place for a trace is no reason to run nothing."""
    words = 'mkdir gone && cd gone && rmdir ../gone && exec %s run -- /bin/sh -c "echo ran; exit 5"' % MPITRACE
    r = whole(['/bin/sh', '-c', words], place.env, place.dir)
    t.check('%s: where no trace can be the program runs, which is said' % place.flavour,
            (r.returncode, r.stdout) == (5, b'ran\n') and b'"sh" runs untraced' in r.stderr, r)


def slots(t, place, program):
    """Open MPI counts slots; here there is one."""
    how = dict(words=[program], drop=['OMPI_MCA_rmaps_base_oversubscribe'])
    one_slot = ['--out', place.dir + '/out', '--mpirun', '--host localhost:1']
    r = run(place, 'missing', *one_slot, **how)
    t.check('too few slots: nothing runs, and one line says what to do', r.returncode == 1 and len(r.said) == 1 and not r.stdout and
            r.said[0].endswith('use a smaller -n, or --oversubscribe'), r)
    r = run(place, 'asked', *one_slot, '--oversubscribe', **how)
    t.equal('--oversubscribe: they are started', (r.returncode, r.said, place.analysis('asked')['job']['ranks'] if not r.returncode else r),
            (0, [], 2))


def by_slurm(t, place, program):
    """What is asked for reaches the plugin in its own words."""
    with open(place.dir + '/bin/srun', 'w') as f:
        f.write(SRUN % {'dir': place.dir, 'mpi': {'openmpi': 'pmix', 'mpich': 'pmi2'}[place.flavour]})
    os.chmod(place.dir + '/bin/srun', 0o755)
    out = os.path.realpath(place.dir) + '/out'
    for name, options, want in (('plain', (), ''), ('all', ('--profile', '--stack', '4', '--budget', '64K', '--sample', '0.5'),
                                                   ',profile,stack=4,budget=65536,sample=0.5')):
        run(place, name, '--out', out, '--oversubscribe', *options, words=[program], SLURM_JOB_ID='1')
        with open(place.dir + '/srun.log') as f:
            used = f.read()
        os.unlink(place.dir + '/srun.log')
        t.check('%s: in an allocation srun --mpitrace is asked for the same (%s)' % (place.flavour, name),
                '--mpitrace=out=%s/.%s.mpitrace,report=none%s -n 2 --overcommit ' % (out, name, want) in used, used)
    os.unlink(place.dir + '/bin/srun')


def main():
    global CALLS
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('callers.c')
            whole([MPITRACE, 'run', '-n', '2', '--out', place.dir + '/out', '--name', 'first', '--', program], place.env, place.dir)
            CALLS = operations(place.analysis('first'))['MPI_Allreduce']
            modes(t, place, program)
            long_command(t, place, program)
            named_oddly(t, place, program)
            folders(t, place, program)
            no_place(t, place)
            removed(t, place, program)
            replaced(t, place, program)
            own_files(t, place, program)
            cut_short(t, place, program)
            by_slurm(t, place, program)
            if flavour == 'openmpi':
                slots(t, place, program)
                inherited(t, place)
                no_call(t, place)
                layouts(t, place)
                wrong(t, place)
    t.end()


main()
