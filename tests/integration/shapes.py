#!/usr/bin/env python3
"""shapes.py - programs whose traffic has one shape: the analysis names that one, and none where there is none."""
from trace import FLAVOURS, Place, Tests

WANT = {'pingpong': [('ping_pong', 'messages')], 'exchange': [], 'puts': [('ring', 'messages')],
        'alltoall': [('all_to_all', 'collectives')], 'stray': []}
NOT = {'exchange': 'ping_pong'} # of two pairs that exchange, a grid is no lie


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('shapes.c')
            for shape, want in WANT.items():
                run = place.traced(4, program, shape, name=shape)
                t.equal('%s, %s: the program runs' % (flavour, shape), run.returncode, 0)
                found = [(p['pattern'], p['traffic']) for p in place.analysis(shape)['patterns']]
                if shape in NOT:
                    t.check('%s, %s: it is no %s' % (flavour, shape, NOT[shape]), NOT[shape] not in [p for p, _ in found], found)
                else:
                    t.equal('%s, %s: that is its shape' % (flavour, shape), found, want)
    t.end()


main()
