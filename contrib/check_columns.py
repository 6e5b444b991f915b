#!/usr/bin/env python3
"""check_columns.py: comments of C and C++ files end before column 120, tabs being 8 wide. clang-format sees to the code, and leaves
comments as they are written."""
import os
import re
import subprocess
import sys

COLUMNS = 120
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)


def long_lines(text):
    """Numbers of the lines, with their width, that end too late and end in a comment."""
    lines = text.split('\n')
    for token in TOKEN.finditer(text):
        if token.group()[0] != '/':
            continue
        first = text.count('\n', 0, token.start())
        for n in range(first, first + token.group().count('\n') + 1):
            width = len(lines[n].expandtabs(8))
            if width > COLUMNS:
                yield n + 1, width


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
    files = subprocess.run(['git', 'ls-files', '*.c', '*.h', '*.cc'], capture_output=True, check=True, text=True).stdout.split()
    wrong = ['%s:%d: %d columns' % (path, line, width) for path in files
             for line, width in sorted(set(long_lines(open(path, encoding='utf-8').read())))]
    print('\n'.join(wrong))
    sys.exit(1 if wrong else 0)


main()
