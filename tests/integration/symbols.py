#!/usr/bin/env python3
"""symbols.py - every MPI_ and PMPI_ function that an installed MPI library exports is exported by the front, or stands on
calls.tab's list of what is left alone, with a reason."""
import glob
import os
import re
import subprocess

from trace import Tests

LIBRARIES = {'Open MPI': ['/usr/lib/*/libmpi.so.40', '/usr/lib/*/openmpi/lib/libmpi.so'],
             'MPICH': ['/usr/lib/*/libmpich.so.12']}


def symbols(path):
    out = subprocess.run(['nm', '-D', '--defined-only', path], capture_output=True, text=True, check=True).stdout
    return {(w[-1], w[-2]) for w in map(str.split, out.splitlines()) if re.match(r'P?MPI_', w[-1])}


def excused():
    rows = [line.split(None, 2) for line in open(os.environ['CALLS_TAB']) if not line.startswith('#') and line.strip()]
    return [(re.compile('P?' + '(?:' + r[0] + ')$'), r[2].strip()) for r in rows if r[1] == 'leave']


def newest_needed(path):
    out = subprocess.run(['nm', '-D', '--undefined-only', path], capture_output=True, text=True, check=True).stdout
    return max(tuple(map(int, version.split('.'))) for version in re.findall(r'@GLIBC_([0-9.]+)', out))


def main():
    t = Tests()
    t.check('what is preloaded needs no glibc after 2.17: it would end each program of an older one, as in a container',
            newest_needed(os.environ['TRACER']) <= (2, 17), newest_needed(os.environ['TRACER']))
    front = {name for name, _ in symbols(os.environ['TRACER'])}
    excuses = excused()
    t.check('every excuse has a reason', all(reason for _, reason in excuses), excuses)
    for library, patterns in LIBRARIES.items():
        paths = [p for pattern in patterns for p in glob.glob(pattern)]
        if not paths:
            continue
        missing = sorted(name for name, kind in symbols(paths[0])
                         if kind in 'TWi' and name not in front and not any(p.match(name) for p, _ in excuses))
        wrapped = len([1 for name, kind in symbols(paths[0]) if name in front and name.startswith('MPI_')])
        t.check('%s: all exported functions are wrapped (%d) or excused' % (library, wrapped), not missing and wrapped > 300,
                missing)
    t.end()


main()
