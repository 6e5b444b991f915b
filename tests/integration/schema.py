#!/usr/bin/env python3
"""schema.py - docs/analysis.schema.json is the contract: what analyze writes keeps it to the letter, and the page, the command
line and the viewer read no field that it does not promise, nor as another type.

The C readers are watched (tests/tools/json_reads.c tells which path they look for and as what) and their sources read; the
viewer's sources are read."""
import glob
import json
import os
import re
import subprocess
import tempfile

import contract
from trace import MPITRACE, Place, Tests, two_nodes

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), '../..'))
FIXTURES = ROOT + '/tests/corpus/analysis'
KINDS = {'number': {'number', 'integer'}, 'string': {'string'}, 'boolean': {'boolean'}, 'array': {'array'}, 'object': {'object'}}


def described(t, schema):
    bare = [n for n in contract.subschemas(schema) if 'properties' in n
            for k, p in n['properties'].items() if '$ref' not in p and not p.get('description')]
    t.equal('every field is described', bare, [])
    bare = [k for n in contract.subschemas(schema) for k, p in n.get('properties', {}).items()
            if contract.types(p) & {'number', 'integer'} and not p.get('unit')]
    t.equal('every number has a unit', bare, [])
    rows = subprocess.run([ROOT + '/format/rows.py', 'check'], capture_output=True, text=True)
    t.check('the schema and SEMANTICS.md have the issues of format/issues.tab', rows.returncode == 0, rows.stdout + rows.stderr)
    with tempfile.TemporaryDirectory() as d:
        page = subprocess.run([ROOT + '/contrib/analysis_page.py', ROOT + '/docs/analysis.schema.json', d + '/page'], capture_output=True, text=True)
        rows = open(d + '/page', encoding='utf-8').read().count('\n| `') if page.returncode == 0 else 0
    t.check('the page of fields has a row for each', rows > 300, page.stdout + page.stderr)


def files(t, what, paths, texts=True):
    """Returns the fields that they have."""
    made = set()
    for p in paths:
        made.update(fields_of(json.load(open(p, encoding='utf-8', errors='replace'))))
    wrong = {os.path.basename(p): contract.errors(json.load(open(p, encoding='utf-8', errors='replace')), texts) for p in paths}
    t.equal('%s keep the contract (%d)' % (what, len(paths)), {k: v for k, v in wrong.items() if v}, {})
    t.check('%s: there are some' % what, paths)
    return made


def unit_programs(t):
    """The programs of known truth in tests/unit: their analyses are written down as they are made."""
    made = set()
    for test in os.environ['POSTPROC_TESTS'].split(':'):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([test], env=dict(os.environ, MPITRACE_ANALYSES=directory), capture_output=True)
            made |= files(t, 'analyses of %s' % os.path.basename(test), glob.glob(directory + '/*.json'))
    return made


def differences_are_seen(t, schema):
    """The test itself: what it must notice."""
    good = json.load(open(FIXTURES + '/halo_issues.json'))
    for what, change in (('a new field', lambda a: a['clock'].update(drift=1)), ('a field that is gone', lambda a: a['job'].pop('mpi')),
                         ('a number for a text', lambda a: a['coverage'].update(nodes_missing=[1])),
                         ('an unknown word', lambda a: a['issues'][0].update(severity='bad'))):
        bad = json.loads(json.dumps(good))
        change(bad)
        t.check('%s breaks the contract' % what, contract.errors(bad))


# ---- readers in C ----

def watched(words):
    """{path: types asked} of a program that reads one analysis."""
    with tempfile.NamedTemporaryFile('r') as log:
        run = subprocess.run(words, env=dict(os.environ, LD_PRELOAD=os.environ['JSON_READS_LIB'], JSON_READS=log.name), capture_output=True)
        asked = {}
        for line in log.read().splitlines():
            path, kind = line.rsplit(' ', 1)
            asked.setdefault(path, set()).add(kind)
    return run.returncode, asked


def judge_reads(schema, asked):
    wrong = []
    for path, kinds in sorted(asked.items()):
        node = contract.at(schema, path.split('.')) if path else schema
        if node is None:
            wrong.append(path + ': not in the schema')
        elif kinds - {'-'} and not any(contract.types(node) & KINDS[k] for k in kinds - {'-'}):
            wrong.append('%s: read as %s' % (path, '/'.join(sorted(kinds - {'-'}))))
    return wrong


def watch_readers(t, schema, mpix, partial):
    for who, words in (('mpitrace show', [MPITRACE, 'show', mpix]), ('mpitrace show --events', [MPITRACE, 'show', mpix, '--events', '--limit', '50']),
                       ('the page', [MPITRACE, 'report', mpix, '-o', '/dev/null']), ('the page of a part', [MPITRACE, 'report', partial, '-o', '/dev/null']),
                       ('show of a part', [MPITRACE, 'show', partial]),
                       ('the page of the fixture', [os.environ['REPORT_JSON'], FIXTURES + '/halo_issues.json'])):
        code, asked = watched(words)
        t.equal('%s reads only what the schema promises' % who, (code, judge_reads(schema, asked)), (0, []))
        t.check('%s: was watched' % who, len(asked) > (3 if 'events' in who else 20), asked)
    t.check('reading a field that is not promised is noticed', judge_reads(schema, {'coverage.gone': {'-'}, 'job.mpi': {'number'}}))


def watch_diff(t, mpix, partial):
    """What compares analyses reads them as promised, and what shows the comparison reads that as promised."""
    diff = contract.load('diff')
    for who, paths in (('two runs', [mpix, mpix]), ('a whole one and a part', [mpix, partial])):
        code, asked = watched([MPITRACE, 'diff', *paths, '--json'])
        t.equal('diff of %s reads only what the schema promises' % who, (code, judge_reads(contract.load(), asked)), (0, []))
        t.check('diff of %s: was watched' % who, len(asked) > 20, asked)
        made = subprocess.run([MPITRACE, 'diff', *paths, '--json'], capture_output=True, check=True).stdout
        t.equal('diff of %s keeps its contract' % who, contract.errors(json.loads(made), name='diff'), [])
        with tempfile.NamedTemporaryFile(suffix='.json') as f:
            f.write(made)
            f.flush()
            code, asked = watched([os.environ['DIFF_JSON'], f.name])
        # The page also looks for members of an analysis, of which it is given none.
        asked = {path: kinds for path, kinds in asked.items() if path and (path.split('.')[0] in diff['properties'] or contract.at(contract.load(), [path]) is None)}
        t.equal('text and page of %s read only what the schema promises' % who, (code, judge_reads(diff, asked)), (0, []))
        t.check('text and page of %s: were watched' % who, len(asked) > 40, asked)
    t.check('reading a field of a diff that is not promised is noticed', judge_reads(diff, {'time.[].gone': {'-'}, 'a.ranks': {'string'}}))


# Which arguments are keys, and what each must be. '' = anything.
C_READERS = {'json_item': {1: ''}, 'json_number': {1: 'number'}, 'json_number_or': {1: 'number'}, 'json_int': {1: 'number'}, 'json_text': {1: 'string'},
             'json_bool': {1: 'boolean'}, 'json_first': {1: 'array'}, 'json_count': {1: 'array'}, 'json_objects': {1: 'array'},
             'json_objects_by': {1: 'array', 2: 'number'}, 'sum_of': {1: 'number'}, 'cJSON_GetObjectItemCaseSensitive': {1: ''}}


def arguments(text, at):
    """The arguments of a call whose '(' is just before at."""
    parts, depth, quoted, start = [], 0, False, at
    while True:
        c = text[at]
        if quoted:
            at += c == '\\'
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in '([{':
            depth += 1
        elif c in ')]}':
            if depth == 0:
                return parts + [text[start:at].strip()]
            depth -= 1
        elif c == ',' and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1


def named(schema):
    """{field name: types it has anywhere}."""
    names = {}
    for node in contract.subschemas(schema):
        for key, p in node.get('properties', {}).items():
            names.setdefault(key, set()).update(contract.types(contract.resolve(schema, p)))
    return names


def c_sources(t, schema):
    wrong, seen = [], 0
    for path in sorted(glob.glob(ROOT + '/reports/html/*.c') + glob.glob(ROOT + '/cli/show_*.c') + glob.glob(ROOT + '/compare/*.c')):
        names = named(contract.load('diff') if path.endswith(('/sec_diff.c', '/show_diff.c')) else schema)
        text = open(path, encoding='utf-8').read()
        for call in re.finditer(r'\b(%s)\(' % '|'.join(C_READERS), text):
            args = arguments(text, call.end())
            for where, kind in C_READERS[call.group(1)].items():
                key = args[where] if len(args) > where else ''
                if not re.fullmatch(r'"\w+"', key):
                    continue # a variable: seen when the program is watched
                seen += 1
                key = key[1:-1]
                if key not in names or (kind and not names[key] & KINDS[kind]):
                    wrong.append('%s:%d: %s as %s' % (os.path.relpath(path, ROOT), text.count('\n', 0, call.start()) + 1, key, kind or 'anything'))
    t.equal('sources of page and command line name only fields of the schema', wrong, [])
    t.check('these sources were read', seen > 250, seen)


def rows_of(file, begin, row):
    """What the rows of one table in a C source name."""
    text = open(ROOT + '/' + file, encoding='utf-8').read()
    return sorted(re.findall(row, text[text.index(begin):].split('\n\n')[0]))


def other_names(t, schema):
    waits = sorted(contract.at(schema, ['wait_states', '[]', 'state'])['enum'])
    t.equal('totals know the same wait states', sorted(contract.at(schema, ['wait_totals', '[]', 'state'])['enum']), waits)
    patterns = sorted(contract.at(schema, ['patterns', '[]', 'pattern'])['enum'])
    t.equal('patterns that postproc makes are those of the schema', sorted(rows_of('postproc/patterns/shape.h', '#define PATTERNS(ROW)', r'ROW\((\w+)') + ['irregular']),
            patterns)


# Fields of names, imports and callers that the programs here do not have; tests/integration/names.py, protocol.py and records.py have analyses
# with them, held to the schema; environment modules are in alerts.py, those of a look at totals are in totals.py. Epochs are in what `show --epochs --json` prints, which tests/integration/protocol.py holds to it.
MADE_ELSEWHERE = {'job.imported', 'job.policy', 'job.page_bytes', 'job.account', 'job.partition', 'job.modules', 'job.modules_left_out', 'job.build_id', 'callsites.[].function_short', 'callsites.[].module_short',
                  'coverage.events_not_analysed', 'coverage.event_bytes_not_analysed', 'coverage.totals_complete'}
CALLERS = ('frames', 'stacks', 'stacks_left_out')


def fields(schema, node, above=''):
    """The path of every field that the schema knows."""
    node = contract.resolve(schema, node)
    for key, child in node.get('properties', {}).items():
        yield above + key
        yield from fields(schema, child, above + key + '.')
    if 'items' in node:
        yield from fields(schema, node['items'], above + '[].')


def fields_of(value, above=''):
    if isinstance(value, dict):
        for key, child in value.items():
            yield above + key
            yield from fields_of(child, above + key + '.')
    elif isinstance(value, list):
        for child in value:
            yield from fields_of(child, above + '[].')


def all_made(t, schema, made):
    t.equal('every field of the schema is in some analysis that is looked at here', sorted(x for x in set(fields(schema, schema)) - made - MADE_ELSEWHERE
                                                                                           if x.split('.')[0] not in ('epochs', *CALLERS)), [])


# ---- the viewer ----

TS_READERS = {'num': {'number', 'integer'}, 'str': {'string', 'number', 'integer'}, 'list': {'array'}, 'numbers': {'array'}, 'at': set(),
              'numbers of': {'number', 'integer'}, 'strings of': {'string'}}
TS_ROOT = re.compile(r'^(a|(\w+\.)*analysis)$')
TS_ROWS = {'predefined': 'communicators', 'pairsOf': 'issues', 'placeOf': 'patterns', 'pattern': 'patterns'} # functions that are given a row, and of what


def ts_path(base, args, known):
    """The path of an access, '*' for a key that is a variable; None: not into the analysis."""
    keys = ['*' if not re.fullmatch(r"'\w+'", k) else k[1:-1] for k in args]
    if TS_ROOT.match(base):
        return keys
    return known[base] + keys if base in known else None


def ts_accesses(text):
    """(line, reader, path or the base that nothing is known of), in order. A row's name is known from where it is bound:
    `for (const x of list(...))`, or the arrow function behind `list(...)`."""
    known = {}
    given = [(f.start(), f.group(2), TS_ROWS[f.group(1)]) for f in re.finditer(r'(?:function |const )(\w+)(?: = )?\((\w+): Json', text) if f.group(1) in TS_ROWS]
    for call in re.finditer(r'(?<![.\w])(%s)\(' % '|'.join(r for r in TS_READERS if ' ' not in r), text):
        for at, name, rows in [g for g in given if g[0] < call.start()]:
            known[name] = [rows, '[]']
        given = [g for g in given if g[0] > call.start()]
        args = arguments(text, call.end())
        if len(args) < 2 or not re.fullmatch(r'[\w.]+', args[0]) or args[0].startswith('...') or ':' in args[1]:
            continue # its own definition, or another function of that name
        path = ts_path(args[0], args[1:], known)
        yield text.count('\n', 0, call.start()) + 1, call.group(1), path, args[0]
        wanted = re.match(r'[^;()]*\)\.filter\(\((\w+)\): \1 is (string|number)', text[call.end():])
        if call.group(1) == 'numbers' or (call.group(1) == 'list' and wanted):
            reader = 'numbers of' if call.group(1) == 'numbers' else wanted.group(2) + 's of'
            yield text.count('\n', 0, call.start()) + 1, reader, path and path + ['[]'], args[0]
        if call.group(1) == 'list' and path is not None:
            before = re.search(r'for \(const (\w+) of $', text[:call.start()])
            after = re.match(r'[^;]*?\.(?:map|filter|forEach|find)\(\(?(\w+)', text[call.end():], re.S)
            found = re.search(r'const (\w+) = $', text[:call.start()]) if after and '.find(' in after.group(0) else None
            if found:
                known[found.group(1)] = path + ['[]']
            for bound in (before, after):
                if bound:
                    known[bound.group(1)] = path + ['[]']
                    break


def viewer(t, schema):
    wrong, seen = [], 0
    for file in sorted(glob.glob(ROOT + '/reports/viewer/src/**/*.ts', recursive=True)):
        text = open(file, encoding='utf-8').read()
        if 'model/analysis' not in text and not file.endswith('model/analysis.ts'):
            continue
        if os.path.basename(file) == 'live.ts': # reads what docs/LIVE.md describes
            continue
        for line, reader, path, base in ts_accesses(text):
            where = '%s:%d: ' % (os.path.relpath(file, ROOT), line)
            if path is None:
                if base not in ('value', 'path'):
                    wrong.append(where + 'nothing tells what %s is a row of' % base)
                continue
            seen += 1
            node = contract.at(schema, path)
            if node is None:
                wrong.append(where + '.'.join(path) + ': not in the schema')
            elif '*' not in path and TS_READERS[reader] and not contract.types(node) & TS_READERS[reader]:
                wrong.append(where + '%s: read by %s()' % ('.'.join(path), reader))
    t.equal('sources of the viewer name only fields of the schema', wrong, [])
    t.check('these sources were read', seen > 40, seen)
    made_up = "import './model/analysis'; for (const x of list(a, 'per_rank')) { num(x, 'node'); num(x, 'gone'); }"
    paths = [p for _, _, p, _ in ts_accesses(made_up)]
    t.equal('rows of a list are followed', paths, [['per_rank'], ['per_rank', '[]', 'node'], ['per_rank', '[]', 'gone']])


# ---- the real thing ----

def partial_trace(t, place, program):
    """One node's file left out: analyze names it, and so does the page."""
    step = two_nodes(place, program, place.dir)
    whole = step.analysis()
    t.equal('two nodes: none is missing', (whole['coverage']['nodes_missing'], whole['coverage']['ranks_seen']), ([], 4))
    os.remove(step.out + '/n2.mpic')
    part = step.analysis()
    t.equal('one file left out: the node is named', (part['coverage']['nodes_missing'], part['job']['state'], part['coverage']['ranks_seen']),
            (['n2'], 'partial', 2))
    page = open(step.out + '/report.html', encoding='utf-8').read()
    t.check('the page names it', '<li>1 node is missing: n2</li>' in page, re.findall(r'<li>.*?</li>', page))
    return step.out + '/job.mpix'


def main():
    if contract.jsonschema is None:
        print('1..0 # SKIP python3-jsonschema is not installed')
        return
    t, schema = Tests(), contract.load()
    contract.jsonschema.Draft202012Validator.check_schema(schema)
    described(t, schema)
    described(t, contract.load('diff'))
    differences_are_seen(t, schema)
    made = unit_programs(t)
    hostile = FIXTURES + '/hostile.json'
    made |= files(t, 'fixtures', [p for p in glob.glob(FIXTURES + '/*.json') if p != hostile])
    files(t, 'hostile fixtures', [hostile], texts=False)
    c_sources(t, schema)
    all_made(t, schema, made)
    other_names(t, schema)
    viewer(t, schema)
    with Place('openmpi') as place:
        program = place.compile('report.c')
        run = place.traced(4, program, place.dir)
        t.check('a program for every section runs', run.returncode == 0, run.stderr)
        place.analysis() # raises when it breaks the contract
        raw = subprocess.run([MPITRACE, 'analyze', place.dir + '/out/trace.mpic', '--json'], capture_output=True, check=True).stdout
        t.equal('what analyze prints keeps the contract', contract.errors(json.loads(raw)), [])
        t.check('show prints the same', json.loads(raw) == place.analysis())
        partial = partial_trace(t, place, program)
        watch_readers(t, schema, place.dir + '/out/trace.mpix', partial)
        watch_diff(t, place.dir + '/out/trace.mpix', partial)
        subprocess.run([os.environ['MAKE_MPIX'], place.dir + '/made.mpix', '4', '2', '20'], check=True)
        made = json.loads(subprocess.run([MPITRACE, 'show', place.dir + '/made.mpix', '--json'], capture_output=True, check=True).stdout)
        t.equal('traces made for the viewer are a part of the contract', contract.errors(made, whole=False), [])
    t.end()


main()
