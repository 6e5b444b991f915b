#!/usr/bin/env python3
"""check_rooms.py: the rooms of the house in the order of the data, and who may know whom. Compares the table below, a line a room,
with every #include of C and C++: no arrow up, no arrow that the table has not, no line without a room, and no circle between headers.
Prints what differs, a line each; exit code 1 when anything does. `--arrows` prints the arrows with their number instead.

Imports of the viewer have the same check of their own (reports/viewer/imports.mjs)."""
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

# A room and whom it may include, each above it in this list. A folder that is not named belongs to the room around it.
ROOMS = '''
base:
format:             base
topology:           base format
pmpi:               base format
collect:            base format topology
postproc/state:     base format
postproc/replay:    base format
postproc:           base format topology postproc/state postproc/replay
postproc/protocol:  base format
postproc/compare:   base format
postproc/cluster:   base
postproc/live:      base postproc/state postproc
spank/policy:       base
spank/warden:       base format
spank:              base format spank/policy spank/warden
reports/text:       base format
reports/html:       base format reports/text
reports/export:     base format
reports/query:      base reports/export
reports/web:        base format reports/text postproc/live
reports/viewer:     base format postproc/protocol
fleet:              base format reports/html reports/web
fleet/publish:      base spank/policy fleet
cli:                base format topology collect postproc postproc/replay postproc/protocol postproc/compare postproc/live spank spank/policy reports/text reports/html reports/export reports/query reports/web fleet fleet/publish
'''
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def table():
    rows = (line.partition(':') for line in ROOMS.strip().splitlines())
    return {room: knows.split() for room, _, knows in rows}


def sources(rooms):
    tops = sorted({room.split('/')[0] for room in rooms})
    out = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '--', *tops], cwd=ROOT, capture_output=True, check=True, text=True)
    return [p for p in out.stdout.splitlines() if p.endswith(('.c', '.h', '.cc')) and os.path.exists(os.path.join(ROOT, p))]


def room_of(path, rooms):
    """The deepest room that a file lies in, or None."""
    folder = os.path.dirname(path)
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    return folder or None


def includes(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        names = INCLUDE.findall(f.read())
    here = os.path.dirname(path)
    for name in names:
        for found in (name, os.path.normpath(os.path.join(here, name))):
            if os.path.exists(os.path.join(ROOT, found)):
                yield found
                break


def arrows(files, rooms):
    """{(room, room included): [files that do]}"""
    all_arrows = {}
    for path in files:
        for name in includes(path):
            pair = room_of(path, rooms), room_of(name, rooms)
            if pair[0] != pair[1]:
                all_arrows.setdefault(pair, []).append(f'{path} includes {name}')
    return all_arrows


def circle(headers):
    """A circle of headers that include each other, as a list that ends where it began, or None."""
    done, way = set(), []

    def walk(path):
        if path in way:
            return way[way.index(path):] + [path]
        if path in done:
            return None
        way.append(path)
        for name in headers[path]:
            found = walk(name)
            if found:
                return found
        done.add(way.pop())
        return None

    return next((found for found in map(walk, headers) if found), None)


def defects(rooms, files, found):
    order = list(rooms)
    for room, knows in rooms.items():
        if not any(room_of(path, rooms) == room for path in files):
            yield f'{room}: in the table, but no such room'
        for name in knows:
            if name not in rooms or order.index(name) >= order.index(room):
                yield f'{room}: may not know {name}, which is not above it in the table'
            elif (room, name) not in found:
                yield f'{room}: the table lets it know {name}, and it does not: take that away'
    for (room, name), where in sorted(found.items(), key=str):
        if name not in rooms.get(room, []):
            yield f'{room}: knows {name}: {where[0]}' + (f', and {len(where) - 1} more' if len(where) > 1 else '')
    headers = {p: [n for n in includes(p) if n.endswith('.h')] for p in files if p.endswith('.h')}
    for way in filter(None, [circle({p: [n for n in names if n in headers] for p, names in headers.items()})]):
        yield 'a circle of headers: ' + ' -> '.join(way)


def main():
    rooms = table()
    files = sources(rooms)
    found = arrows(files, rooms)
    if sys.argv[1:] == ['--arrows']:
        for (room, name), where in sorted(found.items(), key=str):
            print(f'{room} -> {name}: {len(where)}')
        return 0
    wrong = list(defects(rooms, files, found))
    print('\n'.join(wrong), end='\n' if wrong else '')
    return 1 if wrong else 0


sys.exit(main())
