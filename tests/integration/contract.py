"""contract.py - docs/analysis.schema.json and docs/diff.schema.json as the tests need them. The producer is held to the letter: a field that the schema
does not know is an error for it, though readers pass over such fields."""
import copy
import json
import os

try:
    import jsonschema
except ImportError: # check.sh installs it
    jsonschema = None

PATH = os.environ.get('ANALYSIS_SCHEMA') or os.path.join(os.path.dirname(__file__), '../../docs/analysis.schema.json')
ERRORS_MAX = 10


def load(name='analysis'):
    with open(os.path.join(os.path.dirname(PATH), name + '.schema.json'), encoding='utf-8') as f:
        return json.load(f)


def subschemas(node):
    """Every schema below this one, itself first."""
    yield node
    for key in ('properties', '$defs'):
        for child in node.get(key, {}).values():
            yield from subschemas(child)
    if 'items' in node:
        yield from subschemas(node['items'])


def strict(schema):
    """No field that is not described."""
    schema = copy.deepcopy(schema)
    for node in subschemas(schema):
        if 'properties' in node:
            node['additionalProperties'] = False
    return schema


def any_text(schema):
    """Texts may say anything: what a hostile trace can hold."""
    schema = copy.deepcopy(schema)
    for node in subschemas(schema):
        if 'string' in types(node):
            for key in ('enum', 'const', 'pattern'):
                node.pop(key, None)
    return schema


def of_totals(schema):
    """What an object from totals may have: nothing that needs events."""
    schema = copy.deepcopy(schema)
    for node in subschemas(schema):
        for name in [n for n, child in node.get('properties', {}).items() if child.get('needs') == 'events']:
            del node['properties'][name]
            if name in node.get('required', ()):
                node['required'].remove(name)
    return schema


def is_of_totals(analysis):
    coverage = analysis.get('coverage') if isinstance(analysis, dict) else None
    return isinstance(coverage, dict) and coverage.get('mode') == 'totals'


_validators = {}


def errors(analysis, texts=True, whole=True, name='analysis'):
    """What is wrong with it, a line each; nothing when it keeps the contract. texts False: they may say anything;
    whole False: fields may be absent; name: of the schema."""
    if jsonschema is None:
        return []
    totals = is_of_totals(analysis)
    if (texts, whole, name, totals) not in _validators:
        schema = strict(load(name) if texts else any_text(load(name)))
        schema = of_totals(schema) if totals else schema
        schema.pop('$id') # a name and no address: jsonschema 4.10 looks for what a part refers to there
        for node in () if whole else subschemas(schema):
            node.pop('required', None)
            node.pop('minItems', None)
        _validators[texts, whole, name, totals] = jsonschema.Draft202012Validator(schema)
    found = []
    for e in _validators[texts, whole, name, totals].iter_errors(analysis):
        found.append('/'.join(str(x) for x in e.absolute_path) + ': ' + e.message[:200])
        if len(found) == ERRORS_MAX:
            break
    return found


def resolve(schema, node):
    while '$ref' in node:
        node = schema['$defs'][node['$ref'].rsplit('/', 1)[1]]
    return node


def at(schema, path):
    """The schema of a path such as ('wait_states', '[]', 'rank'), or None. '*' is any one field."""
    nodes = [schema]
    for name in path:
        found = []
        for node in (resolve(schema, n) for n in nodes):
            if name == '[]':
                found += [node['items']] if 'items' in node else []
            elif name == '*':
                found += node.get('properties', {}).values()
            elif name in node.get('properties', {}):
                found.append(node['properties'][name])
        nodes = found
    return resolve(schema, nodes[0]) if nodes else None


def types(node):
    t = node.get('type', [])
    return set(t if isinstance(t, list) else [t])
