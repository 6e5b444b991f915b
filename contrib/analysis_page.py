#!/usr/bin/env python3
"""analysis_page.py SCHEMA.json PAGE.md: the page of the fields of `mpitrace show --json` or `mpitrace diff --json`, from its
schema in docs/. The build makes both pages, in BUILD/docs."""
import json
import os
import sys

ANALYSIS = """# The analysis object, field by field

<!-- Made by contrib/analysis_page.py from docs/analysis.schema.json: edit that one. -->

`mpitrace show FILE.mpix --json` prints it; in the file it is the chunk ANALYSIS. What each number means, and where its definition
comes from, is in SEMANTICS.md; analysis.schema.json is the same list for machines
(JSON Schema 2020-12), and every analysis that a test makes is held against it.

- All fields are there, except those marked *optional*. `null` means: not known.
- Where `coverage.mode` is `totals` (`mpitrace analyze --totals`, and the page that is made first; never in an `.mpix`) fields and lists that say *needs
  events* are absent: nobody has looked at the events yet.
- Later versions may add fields: pass over what you do not know. Nothing is removed or renamed while `schema` is
  `mpitrace/analysis/1`. To check a file as a reader would, use the schema as it is; our own tests add
  `additionalProperties: false`, so that a field nobody described fails.
- Ranks are those of the analysed MPI_COMM_WORLD; times are seconds since the start of the record unless the name says
  otherwise; an `id` is the number of a row in the list that the text names.
"""

DIFF = """# What changed, field by field

<!-- Made by contrib/analysis_page.py from docs/diff.schema.json: edit that one. -->

`mpitrace diff A1 A2 ... -- B1 B2 ... --json` prints it. What is compared with what, and what "beyond noise" means, is in
SEMANTICS.md; diff.schema.json is the same list for machines (JSON Schema 2020-12).

- All fields are there, except those marked *optional*. `null` means: not known.
- Later versions may add fields: pass over what you do not know. Nothing is removed or renamed while `schema` is `mpitrace/diff/1`.
- `a` is what was before, `b` what came after; a change is b less a.
"""
PAGES = {'analysis': ANALYSIS, 'diff': DIFF}


def resolve(schema, node):
    while '$ref' in node:
        node = dict(schema['$defs'][node['$ref'].rsplit('/', 1)[1]], **{k: v for k, v in node.items() if k != '$ref'})
    return node


def kind(schema, node):
    node = resolve(schema, node)
    if 'enum' in node:
        return ' '.join('`%s`' % w for w in node['enum'])
    t = node.get('type')
    null = isinstance(t, list)
    t = [x for x in t if x != 'null'][0] if null else t
    if t == 'array':
        items = resolve(schema, node['items'])
        if items.get('type') == 'object':
            t = 'list of rows'
        else:
            t = 'list of %s' % {'integer': 'integers', 'number': 'numbers', 'string': 'texts', 'boolean': 'booleans', 'array': 'pairs'}[items['type']]
            t += ': ' + ' '.join('`%s`' % w for w in items['enum']) if 'enum' in items else ''
    t = 'text' if t == 'string' else t
    unit = node.get('unit')
    return t + (', ' + unit if unit else '') + (' or null' if null else '')


def rows(schema, node, prefix=''):
    for name, field in node['properties'].items():
        field = resolve(schema, field)
        optional = ('' if name in node.get('required', []) else '*optional* ') + ('*needs events* ' if 'needs' in field else '')
        yield '| `%s%s` | %s | %s%s |' % (prefix, name, kind(schema, field), optional, field.get('description', ''))
        inner = resolve(schema, field['items']) if field.get('type') == 'array' else field
        if 'properties' in inner:
            yield from rows(schema, inner, '%s%s%s.' % (prefix, name, '[]' if inner is not field else ''))


def page(schema, head):
    lines = [head]
    single = [n for n, f in schema['properties'].items() if 'properties' not in resolve(schema, f) and
              'properties' not in resolve(schema, resolve(schema, f).get('items', {}))]
    lines += ['| field | type | meaning |', '|---|---|---|']
    for name in single:
        field = resolve(schema, schema['properties'][name])
        needs = '*needs events* ' if 'needs' in field else ''
        lines.append('| `%s` | %s | %s%s |' % (name, kind(schema, field), needs, field['description']))
    for name, field in schema['properties'].items():
        field = resolve(schema, field)
        inner = resolve(schema, field['items']) if field.get('type') == 'array' else field
        if 'properties' not in inner:
            continue
        lines += ['', '## %s' % name, '', '%s%s%s' % ('*Needs events.* ' if 'needs' in field else '', field['description'], ' A list; each row:' if inner is not field else ''), '',
                  '| field | type | meaning |', '|---|---|---|', *rows(schema, inner)]
    return '\n'.join(lines) + '\n'


def main():
    source, target = sys.argv[1:]
    with open(source, encoding='utf-8') as f:
        text = page(json.load(f), PAGES[os.path.basename(source).split('.')[0]])
    with open(target, 'w', encoding='utf-8') as f:
        f.write(text)


main()
