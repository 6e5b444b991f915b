#!/usr/bin/env python3
"""loops.py - a program with a loop of known length: its iterations are counted and timed, init and output are beside them; a
program without a rhythm has none."""
import subprocess

from trace import FLAVOURS, MPITRACE, Place, Tests

ITERATIONS, FIRST_S, LAST_S, INIT_S = 40, 0.020, 0.060, 0.5 # tests/programs/loop.c


def lengths(phases):
    return {p['phase']: p['window_s'][1] - p['window_s'][0] for p in phases['parts']}


def even(t, who, phases):
    t.equal(who + 'its iterations are counted', phases['iterations'], ITERATIONS)
    if phases['iterations'] is None:
        return
    mean_s = (FIRST_S + LAST_S) / 2
    t.check(who + 'they have their length', mean_s * 0.95 <= phases['iteration_s'] <= mean_s * 2, phases)
    t.check(who + 'they grow', 0.5 <= phases['drift'] <= 1.4, phases)
    parts = lengths(phases)
    t.equal(who + 'init, iterations and output', list(parts), ['init', 'iterations', 'output'])
    t.check(who + 'init has its length', INIT_S * 0.9 <= parts.get('init', 0) <= INIT_S + 0.3, parts)
    t.check(who + 'iterations have theirs', 0.9 * ITERATIONS * mean_s <= parts.get('iterations', 0) <= 2 * ITERATIONS * mean_s, parts)
    t.check(who + 'files are in the output', [p['io_s'] for p in phases['parts']][-1] > 0, phases['parts'])


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('loop.c')
            for kind in 'even', 'random':
                who = '%s, %s: ' % (flavour, kind)
                run = place.traced(2, program, kind, place.dir + '/file', name=kind)
                t.equal(who + 'the program runs', run.returncode, 0)
                phases = place.analysis(kind)['phases']
                mpix = '%s/out/%s.mpix' % (place.dir, kind)
                shown = subprocess.run([MPITRACE, 'show', mpix], capture_output=True, text=True, check=True).stdout
                subprocess.run([MPITRACE, 'report', mpix, '-o', place.dir + '/page.html'], check=True)
                page = open(place.dir + '/page.html').read()
                if kind == 'even':
                    even(t, who, phases)
                else:
                    t.check(who + 'there is no loop, and why', phases['iterations'] is None and phases['note'], phases)
                t.equal(who + 'summary and page tell the phases, if there are', ('Phases  ' in shown, 'Phases of the run' in page),
                        (kind == 'even', kind == 'even'))
    t.end()


main()
