#!/usr/bin/env python3
"""deaths.py - programs of which a rank dies: that is the verdict, with the rank, how, in which call and line, and since when the
others waited. In one that ends as it should nothing is said of deaths."""
import re
import signal
import subprocess

from trace import FLAVOURS, MPITRACE, PROGRAMS, Place, Tests

RANKS, DEAD = 4, 2


def line_of(text):
    """The line of deaths.c that holds it."""
    with open(PROGRAMS + '/deaths.c') as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


LAST = 'MPI_Barrier in main (deaths.c:%d)' % line_of('MPI_Barrier(MPI_COMM_WORLD);\n')
OUTSIDE = ', outside of MPI, after ' + LAST
ALLREDUCE = ', in MPI_Allreduce in inside (deaths.c:%d)' % line_of('MPI_Allreduce((void')
ABORT = ', MPI_Abort in aborts (deaths.c:%d)' % line_of('MPI_Abort(MPI_COMM_WORLD, 7)')
# What: how the rank ends, and its place.
CASES = {
    'segv': (r'was killed by signal 11 \(segmentation fault\)', OUTSIDE),
    'exit': ('exited with code 3 without MPI_Finalize', OUTSIDE),
    'abort': ('called MPI_Abort', ABORT),
    'inside': (r'(was killed by signal 11 \(segmentation fault\)|exited with code \d+ without MPI_Finalize)', ALLREDUCE),
    'hang': (r'was killed by signal 14 \(alarm\)', OUTSIDE),
    'timers': (r'was killed by signal 14 \(alarm\)', OUTSIDE),  # of all ranks: who computes is to blame, and all others waited for it
}


def seconds(text):
    number, unit = text.split()
    return float(number) * {'s': 1, 'ms': 1e-3, 'µs': 1e-6}[unit]


def page_of(place, name):
    mpix, path = '%s/out/%s.mpix' % (place.dir, name), place.dir + '/page.html'
    subprocess.run([MPITRACE, 'report', mpix, '-o', path], check=True)
    return open(path).read()


def dies(t, place, program, how):
    ended, where = CASES[how]
    who = '%s under %s: ' % (how, place.flavour)
    for name in [how + str(i) for i in range(6)]:
        run = place.traced(RANKS, program, how, name=name)
        a = place.analysis(name)
        if how != 'timers' or a['per_rank'][DEAD]['exit_status'] == 128 + signal.SIGALRM: # else its launcher came before its timer
            break
    issue = a['issues'][0] if a['issues'] else {}
    again = run # mpiexec of MPICH 4.2 at times ends with 0 or 9, of untraced programs as well
    for _ in range(2 if place.flavour == 'mpich' else 0):
        again = again if again.returncode != 0 else place.traced(RANKS, program, how, name=how + '-again')
    t.check(who + 'the program fails as it did', again.returncode != 0, run)
    if how == 'inside' and a['verdict'].startswith('Ended by its launcher, as after a fatal error of MPI'): # see errs()
        t.check(who + 'the call is named', ALLREDUCE[len(', in '):] in a['verdict'], a['verdict'])
        return
    t.check(who + 'the death is the verdict', issue.get('issue') == 'death' and a['verdict'].startswith(issue['what']), a['issues'])
    said = re.match(r'Rank %d %s at (?P<died>[\d.]+ m?s)%s\. [23] other ranks were waiting at MPI_Barrier in main \(deaths\.c:\d+\), the first '
                    r'since (?P<since>[\d.]+ m?s) after the start\.( The step ran .*; no rank advanced in the last .*\.)?$' % (DEAD, ended, re.escape(where)), issue.get('what', ''))
    t.check(who + 'who, how, where, and who waited is said', said, issue.get('what'))
    if said:
        died, since = seconds(said['died']), seconds(said['since'])
        least = {'hang': 1.1, 'timers': 1.0}.get(how, 0.1)
        t.check(who + 'the others had waited since it went its own way', least * 0.9 - 0.01 <= died - since <= least + 30, (died, since))
    t.equal(who + 'no deadlock is seen in it', [c for c in a['correctness'] if c['kind'] == 'deadlock'], [])
    t.check(who + 'the page opens with it', re.search(r'<h1>(<a [^>]*>)?[^<]*Rank %d ' % DEAD, page_of(place, name)), how)


def errs(t, place, program):
    """A fatal error of MPI: the launcher ends all ranks, mostly before the one that erred has ended by itself. Nobody from outside has.
    MPICH 5.0's rank that erred dies of a segmentation fault behind its message, untraced as well."""
    run = place.traced(RANKS, program, 'error', name='error')
    verdict = place.analysis('error')['verdict']
    t.check('%s, a fatal error: is not called a stop from outside, nor a deadlock, and the call is named' % place.flavour, run.returncode != 0 and
            re.match(r'Ended by its launcher, as after a fatal error of MPI, after |Rank %d (exited with code|was killed by signal 11) ' % DEAD, verdict) and
            'MPI_Send in errs (deaths.c:%d)' % line_of('MPI_Send(&rank, -1') in verdict, (run.returncode, verdict))


def right(t, place, program):
    run = place.traced(RANKS, program, 'right', name='right')
    a = place.analysis('right')
    t.check('%s: a program that ends as it should has no death' % place.flavour, run.returncode == 0 and
            not [i for i in a['issues'] if i['issue'] == 'death'], a['issues'])
    t.equal('%s: all exit codes are known' % place.flavour, [r['exit_status'] for r in a['per_rank']], [0] * RANKS)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('deaths.c')
            for how in CASES:
                dies(t, place, program, how)
            errs(t, place, program)
            right(t, place, program)
    t.end()


main()
