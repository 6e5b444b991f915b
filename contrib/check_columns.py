#!/usr/bin/env python3
"""check_columns.py [--wrap [FILE.md...]]: comments of C and C++ files, and prose of pages, end before column 120, tabs being 8 wide.
clang-format sees to the code, and leaves comments as they are written; in pages tables, code and lines of one word may be longer.
--wrap breaks what is too long in the pages (all, or those that are named), a paragraph at a time, and leaves the rest alone."""
import os
import re
import subprocess
import sys
import textwrap

COLUMNS = 120
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
START = re.compile(r'\s*(?:[-*+]|\d+\.) +|\s*')
ITEM = re.compile(r'\s*(?:[-*+]|\d+\.) ')


def long_comments(text):
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


def paragraphs(lines):
    """(first line, number of lines) of the prose of a page, an item of a list being one; not headings, tables, code and pictures."""
    first, fence = None, False
    for n, line in enumerate(lines + ['']):
        mark = line.lstrip().startswith('```')
        apart = mark or fence or not line.strip() or line.lstrip()[0] in '#|<!' or line.startswith('[!')
        apart = apart or first is None and line.startswith('    ') and not ITEM.match(line)
        fence ^= mark
        if first is not None and (apart or ITEM.match(line)):
            yield first, n - first
            first = None
        if first is None and not apart:
            first = n


def long_prose(text):
    lines = text.split('\n')
    for first, count in paragraphs(lines):
        for n in range(first, first + count):
            if len(lines[n]) > COLUMNS and ' ' in lines[n].strip():
                yield n + 1, len(lines[n])


def wrapped(text):
    lines = text.split('\n')
    for first, count in reversed(list(paragraphs(lines))):
        piece = lines[first:first + count]
        if all(len(line) <= COLUMNS for line in piece):
            continue
        start = START.match(piece[0]).group()
        words = ' '.join(' '.join(piece).split())[len(start.strip()):].strip()
        lines[first:first + count] = textwrap.wrap(words, COLUMNS, initial_indent=start, subsequent_indent=' ' * len(start),
                                                   break_long_words=False, break_on_hyphens=False)
    return '\n'.join(lines)


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def tracked(*patterns):
    return subprocess.run(['git', 'ls-files', *patterns], capture_output=True, check=True, text=True).stdout.split()


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
    if sys.argv[1:2] == ['--wrap']:
        for path in sys.argv[2:] or tracked('*.md'):
            text = wrapped(read(path))
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
    wrong = ['%s:%d: %d columns' % (path, line, width)
             for find, files in ((long_comments, tracked('*.c', '*.h', '*.cc')), (long_prose, tracked('*.md')))
             for path in files for line, width in sorted(set(find(read(path))))]
    print('\n'.join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
