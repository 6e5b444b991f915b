#!/usr/bin/env python3
"""rows.py c|names TABLE OUT: the rows of issues.tab, waits.tab or efficiencies.tab for C; a list of their names for what has something
for each. rows.py docs: put what the tables say into the schemas, docs/SEMANTICS.md and the viewer; rows.py check: say what differs
there, a line each; exit code 1 when anything does."""
import configparser
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
ORDERS = ('first', 'time', 'last')
SEEN = ('useful', 'wait', 'caused', 'mpi', 'sent', 'tracing', 'processor', 'polling', 'by_size')
REPLAYS = ('none', 'balance', 'waits', 'causer', 'processors', 'barriers', 'ranks')
MUST = {'issues': {'phrase', 'order', 'holds when'}, 'waits': {'title', 'meaning', 'time', 'who'},
        'efficiencies': {'title', 'formula', 'good', 'low'}}
MAY = {'issues': {'wrong', 'of totals', 'kind', 'explains', 'seen in', 'pairs', 'replay', 'bound', 'of many'}, 'waits': {'part of', 'collective'},
       'efficiencies': {'factor of'}}
SEEN_MAX = 2


def fail(name, what):
    sys.exit('[%s]: %s' % (name, what))


def words(row, key):
    return row.get(key, '').split()


def kind_of(path):
    return os.path.basename(path).removesuffix('.tab')


def read(path):
    """The rows of a table by name."""
    kind = kind_of(path)
    rows = configparser.ConfigParser(interpolation=None, delimiters='=')
    with open(path, encoding='utf-8') as f:
        rows.read_file(f)
    rows = {name: {key: ' '.join(value.split()) for key, value in rows[name].items()} for name in rows.sections()}
    for name, row in rows.items():
        if not MUST[kind] <= set(row) <= MUST[kind] | MAY[kind]:
            fail(name, 'has %s; %s must be there' % (', '.join(row), ', '.join(sorted(MUST[kind]))))
        for other in {row[key] for key in ('part of', 'factor of') if key in row} - set(rows):
            fail(name, 'names "%s", which is no row' % other)
    return issues(rows) if kind == 'issues' else rows


def issues(rows):
    """Those of issues.tab: of `explains` the groups are unfolded."""
    for name, row in rows.items():
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


def write(out, table, lines):
    with open(out, 'w', encoding='utf-8') as f:
        f.write('\n'.join(['/* Made by format/rows.py from %s.tab. */' % table, *lines, '']))


def issues_c(rows):
    at = {name: i for i, name in enumerate(rows)}
    lines = ['#include "format/issues.h"', '', 'const struct issue_row issue_rows[] = {']
    for name, row in rows.items():
        effects = ' | '.join('1ull << %d' % at[e] for e in row['effects']) or '0'
        seen = ', '.join('SEEN_' + s.upper() for s in words(row, 'seen in')) or 'SEEN_NOWHERE'
        lines.append('\t{"%s", %s, ISSUE_%s, %s, %s, %s, %s, %s, {%s}, REPLAY_%s, %s},' % (
            name, quoted(row['phrase']), row['order'].upper(), *('true' if row.get(k) == v else 'false' for k, v in
            (('wrong', 'yes'), ('of totals', 'yes'), ('pairs', 'traffic'), ('bound', 'yes'), ('of many', 'yes'))), seen, row.get('replay', 'none').upper(), effects))
    order = causes_first(rows)
    return lines + ['};', 'const size_t issue_count = %d;' % len(rows), 'const unsigned char issue_causes[] = {%s};' % ', '.join(
        str(at[n]) for n in order), 'const size_t issue_cause_count = %d;' % len(order)]


def issues_names(rows):
    return ['#pragma once', '', '#define ISSUES(ROW) ' + ' '.join('ROW(%s)' % n for n in rows)]


def waits_c(rows):
    return ['#include "format/waits.h"', '', 'const struct wait_kind wait_kinds[1 + WAIT_KINDS] = {', '\t{"", "", "", false},', *(
        '\t{"%s", %s, %s, %s},' % (name, quoted(row['title']), quoted(row['meaning']), 'true' if 'part of' in row else 'false')
        for name, row in rows.items()), '};']


def waits_names(rows):
    """Also for the reader of .mpix, which knows the numbers and nothing else."""
    bits = sum(1 << i for i, row in enumerate(rows.values(), 1) if 'collective' in row)
    return ['#pragma once', '', '#define WAIT_KINDS %d' % len(rows), '#define WAIT_COLLECTIVES %#xu /* by number */' % bits,
            '#define WAIT_STATE_ROWS(ROW) ' + ' '.join('ROW(%s)' % n.upper() for n in rows)]


def efficiencies_c(rows):
    return ['#include "format/efficiencies.h"', '', 'const struct efficiency_row efficiency_rows[] = {', *(
        '\t{"%s", %s, %s, %s},' % (name, *(quoted(row[k]) for k in ('title', 'good', 'low'))) for name, row in rows.items()),
        '};', 'const size_t efficiency_count = %d;' % len(rows)]


def enum(text, before, names):
    """The list of names behind `before` in a schema."""
    return re.sub('(' + before + r'"enum": \[)[^]]*', lambda m: m.group(1) + ', '.join('"%s"' % n for n in names), text)


def in_analysis_schema(tables, text):
    text = re.sub(r'("issue": \{"enum": \[)[^]]*(\], "type": "string", "description": "Its name)', lambda m: m.group(1) + ', '.join(
        '"%s"' % n for n in tables['issues']) + m.group(2), text)
    return enum(text, r'"wait_state": \{', tables['waits'])


def in_diff_schema(tables, text):
    return enum(text, r'"metric": \{"type": "string", (?="enum": \["load_balance)', tables['efficiencies'])


def issues_table(rows):
    lines = ['| issue | in words | holds when | stands before |', '|---|---|---|---|']
    for name, row in rows.items():
        before = ', '.join(w if w in ('waits', 'costs') else '`%s`' % w for w in words(row, 'explains'))
        lines.append('| `%s` | %s | %s | %s |' % (name, row['phrase'], row['holds when'], before))
    kinds = ['%s: %s' % (kind + 's', ', '.join('`%s`' % n for n, r in rows.items() if r.get('kind') == kind)) for kind in ('wait', 'cost')]
    return '\n'.join(lines + ['', '; '.join(kinds).capitalize() + '.'])


def waits_table(rows):
    return '\n'.join(['| state | time | who |', '|---|---|---|', *(
        '| `%s` | %s | %s |' % (name, row['time'], row['who']) for name, row in rows.items())])


def between(text, name, made):
    """What stands between the two marks that name a table, in any kind of comment."""
    return re.sub(r'((?:<!--|//) %s: [^\n]*\n).*?(\n\s*(?:<!--|//) /%s)' % (name, name), lambda m: m.group(1) + made + m.group(2), text, flags=re.S)


def in_semantics(tables, text):
    text = between(text, 'issues', wrapped(issues_table(tables['issues'])))
    return between(text, 'waits', wrapped(waits_table(tables['waits'])))


def in_waits_ts(tables, text):
    rows = tables['waits']
    number = {name: str(i) for i, name in enumerate(rows, 1)}
    return between(text, 'waits', '\n'.join(['export const WAIT_STATES = [', "  '',", *("  '%s'," % r['title'] for r in rows.values()), '];',
        'const PARTS = new Set([%s]);' % ', '.join(number[n] for n, r in rows.items() if 'part of' in r)]))


def in_efficiencies_ts(tables, text):
    rows = tables['efficiencies']

    def depth(name):
        return 1 + depth(rows[name]['factor of']) if 'factor of' in rows[name] else 0

    order = []

    def visit(name):
        order.append(name)
        for n, r in rows.items():
            if r.get('factor of') == name:
                visit(n)

    for name in [n for n in rows if depth(n) == 0]:
        visit(name)
    return between(text, 'efficiencies', '\n'.join("  ['%s', '%s', '%s', %d]," % (
        n, rows[n]['title'], rows[n]['formula'], depth(n)) for n in order))


def wrapped(text):
    """Lines that are no table as the check of columns has them."""
    sys.path.insert(0, os.path.join(ROOT, 'contrib'))
    import check_columns
    return check_columns.wrapped(text)


PAGES = {'docs/analysis.schema.json': in_analysis_schema, 'docs/diff.schema.json': in_diff_schema, 'docs/SEMANTICS.md': in_semantics,
         'reports/viewer/src/decode/waits.ts': in_waits_ts, 'reports/viewer/src/model/efficiencies.ts': in_efficiencies_ts}


def docs(check):
    tables = {kind: read(os.path.join(ROOT, 'format', kind + '.tab')) for kind in MUST}
    wrong = False
    for path, made in PAGES.items():
        with open(os.path.join(ROOT, path), encoding='utf-8') as f:
            old = f.read()
        new = made(tables, old)
        wrong |= new != old
        if new != old and check:
            print('%s is not what the tables in format/ say: run format/rows.py docs' % path)
        elif new != old:
            with open(os.path.join(ROOT, path), 'w', encoding='utf-8') as f:
                f.write(new)
    sys.exit(1 if check and wrong else 0)


def main():
    if sys.argv[1] in ('c', 'names'):
        kind = kind_of(sys.argv[2])
        write(sys.argv[3], kind, globals()['%s_%s' % (kind, sys.argv[1])](read(sys.argv[2])))
    else:
        docs(sys.argv[1:] == ['check'])


if __name__ == '__main__':
    main()
