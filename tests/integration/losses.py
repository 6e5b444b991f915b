#!/usr/bin/env python3
"""losses.py - real programs that lose time in one known way have the issue of that name; the same without the fault have not."""
import os

from trace import FLAVOURS, Place, Tests, two_nodes

STEP_S = 0.1 # tests/programs/faults_of_time.c
STARVED = 4 # so often it may be told that the ranks had no processor, where others are at work: then that is what was lost
WANT = {'chain': ('serialization', 4 * 3 * STEP_S), 'idle': ('idle_ranks', 3 * STEP_S), 'last': ('stuck_at_end', 3 * 3 * STEP_S)}


def issue(a, name):
    return next((i for i in a['issues'] if i['issue'] == name), None)


def judge(t, who, a, name, loss_s):
    found = issue(a, name)
    t.check('%sthe issue is %s' % (who, name), found is not None, [i['issue'] for i in a['issues']])
    if not found:
        return
    t.check(who + 'its loss is what was made', 0.7 * loss_s <= found['loss_s'] <= loss_s + 1, (found['loss_s'], loss_s))
    t.check(who + 'it says where', found['callsites'] and found['pairs'] and found['ranks'], found)
    t.check(who + 'no more is lost than there was', found['loss_s'] <= found.get('loss_of_s', 1e9), found)


def one_node(t, place, program):
    for case, (name, loss_s) in WANT.items():
        for even in '', '-even':
            who = '%s, %s%s: ' % (place.flavour, case, even)
            for attempt in range(STARVED):
                run = place.traced(4, program, case + even, name='%s%s%d' % (case, even, attempt))
                a = place.analysis('%s%s%d' % (case, even, attempt))
                if (issue(a, name) is None) == (even != '') or issue(a, 'oversubscription') is None:
                    break
            t.equal(who + 'the program runs', run.returncode, 0)
            if even:
                t.equal('%sno %s' % (who, name), issue(a, name), None)
            else:
                judge(t, who, a, name, loss_s)


def nodes(t, place, program):
    for case in 'far', 'near':
        a = two_nodes(place, program, case).analysis()
        found = issue(a, 'poor_placement')
        t.equal('%s, %s: placement is an issue or none' % (place.flavour, case), found is not None, case == 'far')
        if found:
            t.check('%s, %s: half of the ranks away' % (place.flavour, case), all(abs(x - y) == 2 for x, y in found['pairs']), found)
        for i in 1, 2: # the same names again
            os.rename('%s/step-n%d' % (place.dir, i), '%s/%s-n%d' % (place.dir, case, i))
        os.rename(place.dir + '/two-nodes', '%s/%s' % (place.dir, case))


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('faults_of_time.c')
            one_node(t, place, program)
            nodes(t, place, program)
    t.end()


main()
