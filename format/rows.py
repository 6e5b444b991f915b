#!/usr/bin/env python3
"""rows.py c|names TABLE OUT: the rows of issues.tab for C (issues.h); a list of their names for what has a function for each.
rows.py docs: put their names into docs/analysis.schema.json and their table into docs/SEMANTICS.md; rows.py check: say what
differs there, a line each; exit code 1 when anything does."""
import configparser
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
ORDERS = ('first', 'time', 'last')
SEEN = ('useful', 'wait', 'caused', 'mpi', 'sent', 'tracing', 'processor', 'polling', 'by_size')
KEYS = {'phrase', 'order', 'wrong', 'of totals', 'kind', 'explains', 'seen in', 'pairs', 'replay', 'holds when'}
REPLAYS = ('none', 'balance', 'waits', 'causer')
SEEN_MAX = 2


def fail(name, what):
    sys.exit('issues.tab: [%s]: %s' % (name, what))


def words(row, key):
    return row.get(key, '').split()


def read(path):
    """The rows by name; of `explains` the groups are unfolded."""
    rows = configparser.ConfigParser(interpolation=None, delimiters='=')
    with open(path, encoding='utf-8') as f:
        rows.read_file(f)
    rows = {name: dict(rows[name]) for name in rows.sections()}
    for name, row in rows.items():
        if set(row) - KEYS or not {'phrase', 'order', 'holds when'} <= set(row):
            fail(name, 'has %s; phrase, order and holds when must be there' % ', '.join(row))
        if row['order'] not in ORDERS or set(words(row, 'seen in')) - set(SEEN) or len(words(row, 'seen in')) > SEEN_MAX:
            fail(name, 'order or seen in is not one of those that there are')
        if row.get('replay', 'none') not in REPLAYS:
            fail(name, 'replay is none of %s' % ', '.join(REPLAYS))
        effects = []
        for word in words(row, 'explains'):
            group = [n for n, r in rows.items() if word == r.get('kind', '') + 's']
            if not group and word not in rows:
                fail(name, 'explains "%s", which is no issue and no kind' % word)
            effects += group or [word]
        row['effects'] = effects
    return rows


def causes_first(rows):
    """Names of those that explain others, each before what it explains."""
    order, under_way = [], []

    def visit(name):
        if name in under_way:
            fail(name, 'explains itself by way of ' + ', '.join(under_way))
        if name in order or not rows[name]['effects']:
            return
        under_way.append(name)
        for effect in rows[name]['effects']:
            visit(effect)
        under_way.pop()
        order.insert(0, name)

    for name in reversed(list(rows)):
        visit(name)
    return order


def quoted(text):
    return '"%s"' % text.replace('\\', '\\\\').replace('"', '\\"')


def write_c(rows, out):
    at = {name: i for i, name in enumerate(rows)}
    lines = ['/* Made by format/rows.py from issues.tab. */', '#include "format/issues.h"', '', 'const struct issue_row issue_rows[] = {']
    for name, row in rows.items():
        effects = ' | '.join('1ull << %d' % at[e] for e in row['effects']) or '0'
        seen = ', '.join('SEEN_' + s.upper() for s in words(row, 'seen in')) or 'SEEN_NOWHERE'
        lines.append('\t{"%s", %s, ISSUE_%s, %s, %s, %s, {%s}, REPLAY_%s, %s},' % (
            name, quoted(row['phrase']), row['order'].upper(), *('true' if row.get(k) == v else 'false' for k, v in
            (('wrong', 'yes'), ('of totals', 'yes'), ('pairs', 'traffic'))), seen, row.get('replay', 'none').upper(), effects))
    order = causes_first(rows)
    lines += ['};', 'const size_t issue_count = %d;' % len(rows), 'const unsigned char issue_causes[] = {%s};' % ', '.join(str(at[n]) for n in order),
              'const size_t issue_cause_count = %d;' % len(order), '']
    with open(out, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines))


def write_names(rows, out):
    lines = ['/* Made by format/rows.py from issues.tab. */', '#pragma once', '', '#define ISSUES(ROW) ' + ' '.join('ROW(%s)' % n for n in rows), '']
    with open(out, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines))


def in_schema(rows, text):
    return re.sub(r'("issue": \{"enum": \[)[^]]*(\], "type": "string", "description": "Its name)', lambda m: m.group(1) + ', '.join(
        '"%s"' % n for n in rows) + m.group(2), text)


def in_semantics(rows, text):
    lines = ['| issue | in words | holds when | stands before |', '|---|---|---|---|']
    for name, row in rows.items():
        before = ', '.join(w if w in ('waits', 'costs') else '`%s`' % w for w in words(row, 'explains'))
        lines.append('| `%s` | %s | %s | %s |' % (name, row['phrase'], ' '.join(row['holds when'].split()), before))
    kinds = ['%s: %s' % (kind + 's', ', '.join('`%s`' % n for n, r in rows.items() if r.get('kind') == kind)) for kind in ('wait', 'cost')]
    table = '\n'.join(lines + ['', '; '.join(kinds).capitalize() + '.'])
    return re.sub(r'(<!-- issues: [^\n]*-->\n).*?(\n<!-- /issues -->)', lambda m: m.group(1) + wrapped(table) + m.group(2), text, flags=re.S)


def wrapped(text):
    """Lines that are no table as the check of columns has them."""
    sys.path.insert(0, os.path.join(ROOT, 'contrib'))
    import check_columns
    return check_columns.wrapped(text)


PAGES = {'docs/analysis.schema.json': in_schema, 'docs/SEMANTICS.md': in_semantics}


def docs(rows, check):
    wrong = False
    for path, made in PAGES.items():
        with open(os.path.join(ROOT, path), encoding='utf-8') as f:
            old = f.read()
        new = made(rows, old)
        wrong |= new != old
        if new != old and check:
            print('%s is not what format/issues.tab says: run format/rows.py docs' % path)
        elif new != old:
            with open(os.path.join(ROOT, path), 'w', encoding='utf-8') as f:
                f.write(new)
    sys.exit(1 if check and wrong else 0)


def main():
    makers = {'c': write_c, 'names': write_names}
    if sys.argv[1] in makers:
        makers[sys.argv[1]](read(sys.argv[2]), sys.argv[3])
    else:
        docs(read(os.path.join(ROOT, 'format/issues.tab')), sys.argv[1:] == ['check'])


if __name__ == '__main__':
    main()
