#!/usr/bin/env python3
"""mutate.py: do the tests notice? Makes small mistakes in the C sources, one at a time, and runs the tests that come by the changed
line, the quickest first. A mistake that they all pass survives, and so does one in a line that no test comes by.

    contrib/mutate.py [--count N] [--seed N] [--room FOLDER]... [--suite NAME]... [--longest SECONDS] [--work DIR]

Works in a copy of the repository (--work, default build-mutants), where it keeps the copy's builds and what it has found: asked again
with the same seed it goes on. Prints a line a survivor, and how many of how many there were, by room; exit code 1 if one survives that
tests/mutants.txt does not argue for. Needs gcc, gcov, meson, ninja and Criterion."""
import argparse
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
ARGUED = 'tests/mutants.txt' # FILE: TEXT OF THE LINE => WHAT BECAME OF IT: why nobody can notice
ROOMS = ('base', 'format', 'spank', 'pmpi', 'collect', 'topology', 'postproc', 'reports', 'fleet', 'cli')
SLOWER = 10 # times as long as usual, and five seconds: it hangs

# What a mistake looks like: a name, what is looked for in code (no comment, no text), and what stands there then.
COMPARISONS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
KINDS = (
    ('comparison', re.compile(r'(?<=[\w\])] )(<=|>=|==|!=|<|>)(?= [\w(\-*&!])'), lambda m: [COMPARISONS[m.group()]]),
    ('constant', re.compile(r'(?<![\w.\'])(\d+)(?=u?l?l?\b)(?![.x\w]*[.x])'), lambda m: [str(int(m.group()) + 1), '0' if int(m.group()) else '2']),
    ('logic', re.compile(r'&&|\|\|'), lambda m: ['||' if m.group() == '&&' else '&&']),
    ('arithmetic', re.compile(r'(?<=[\w\])] )[+\-](?= [\w(])'), lambda m: ['-' if m.group() == '+' else '+']),
    ('condition', re.compile(r'\b(?:if|while) \((?=.*\)(?: \{)?$)'), lambda m: [m.group() + 'true || ', m.group() + 'false && ']),
    ('negation', re.compile(r'(?<=[(& |])!(?=[\w(])'), lambda m: ['']),
    ('error', re.compile(r'\breturn (?:-E\w+|code)(?=;)'), lambda m: ['return 0']),
    ('statement', re.compile(r'(?<=^)(\t+)(?!return|break|continue|goto|case|default|\}|\{|else)[\w*\->.\[\]+ ]+(?:\(.*\)| = .*|[+\-|&]= .*|\+\+|--);$'), lambda m: [m.group(1) + ';']),
)


def run(command, cwd, timeout=None, env=None):
    """(exit code, output); code None when it took too long."""
    p = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', env=env, start_new_session=True)
    try:
        out, _ = p.communicate(timeout=timeout)
        return p.returncode, out
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, 9)
        p.communicate()
        return None, ''


def must(command, cwd):
    code, out = run(command, cwd)
    if code != 0:
        sys.exit('mutate.py: %s: exit code %s\n%s' % (' '.join(command), code, out[-3000:]))
    return out


def copy_of_repository(work):
    """The files as they are now, and not more; what is equal keeps its time, so that builds go on."""
    os.makedirs(work, exist_ok=True)
    names = must(['git', 'ls-files', '-co', '--exclude-standard', '-z'], ROOT).split('\0')
    for name in filter(None, names):
        here, there = os.path.join(ROOT, name), os.path.join(work, name)
        if not os.path.isfile(here):
            continue
        os.makedirs(os.path.dirname(there), exist_ok=True)
        if not os.path.exists(there) or open(here, 'rb').read() != open(there, 'rb').read():
            shutil.copy(here, there)


def build(work, name, *options):
    where = os.path.join(work, name)
    if not os.path.exists(os.path.join(where, 'build.ninja')):
        must(['meson', 'setup', where, '--buildtype=debug', '-Doptimization=0', '-Dviewer=disabled', *options], work)
    must(['ninja', '-C', where], work)
    return where


def tests_of(where, suites):
    """name -> (command, environment, what it needs to be built)"""
    built = {t['id']: [os.path.relpath(f, where) for f in t['filename']] for t in json.loads(must(['meson', 'introspect', where, '--targets'], where))}
    tests = json.loads(must(['meson', 'introspect', where, '--tests'], where))
    return {t['name']: (t['cmd'], {**os.environ, **t['env']}, [f for d in t['depends'] for f in built.get(d, [])])
            for t in tests if {s.rpartition(':')[2] for s in t['suite']} & set(suites)}


def lines_by_test(work, suites, longest):
    """file -> line -> tests that come by it, and seconds by test. A line of code that nothing comes by has no tests."""
    known = os.path.join(work, 'lines.json')
    if os.path.exists(known):
        with open(known, encoding='utf-8') as f:
            return json.load(f)
    where = build(work, 'build-lines', '-Db_coverage=true')
    lines, seconds = collections.defaultdict(lambda: collections.defaultdict(list)), {}
    note_lines(work, where, None, lines)
    for name, (command, env, _) in tests_of(where, suites).items():
        for folder, _, files in os.walk(where):
            for file in files:
                if file.endswith('.gcda'):
                    os.unlink(os.path.join(folder, file))
        begin = time.monotonic()
        code, out = run(command, where, longest, env)
        seconds[name] = time.monotonic() - begin
        if code != 0:
            print('%-24s is left out: %s' % (name, 'it takes longer' if code is None else 'it fails as it is: ' + out[-500:]), file=sys.stderr)
            continue
        note_lines(work, where, name, lines)
        print('%-24s %6.1f s' % (name, seconds[name]), file=sys.stderr)
    with open(known + '.new', 'w', encoding='utf-8') as f:
        json.dump({'lines': lines, 'seconds': seconds}, f)
    os.rename(known + '.new', known)
    return lines_by_test(work, suites, longest)


def note_lines(work, where, test, lines):
    """What has been run since data were removed; without a test: what there is to be run."""
    suffix = '.gcda' if test else '.gcno'
    data = [os.path.join(d, f) for d, _, files in os.walk(where) for f in files if f.endswith(suffix)]
    if not data:
        return
    out = subprocess.run(['gcov', '--json-format', '--stdout', *data], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for document in filter(str.strip, out.split('\n')):
        for file in json.loads(document)['files']:
            path = os.path.relpath(os.path.realpath(os.path.join(where, file['file'])), work)
            if path.split('/')[0] not in ROOMS or not path.endswith('.c'):
                continue
            for line in file['lines']:
                seen = lines[path][str(line['line_number'])]
                if test and line['count'] > 0 and test not in seen:
                    seen.append(test)


def code_only(text):
    """The text with comments and literals blanked, of the same length."""
    def blank(m):
        return re.sub(r'[^\n]', ' ', m.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def mistakes_in(path, text, lines):
    """(path, line number, line, what it becomes) of all lines that are compiled."""
    plain = code_only(text).split('\n')
    for number, (line, code) in enumerate(zip(text.split('\n'), plain), 1):
        if str(number) not in lines or code.lstrip().startswith('#') or 'static_assert' in code:
            continue
        for _, pattern, becomes in KINDS:
            for m in pattern.finditer(code):
                for new in becomes(m):
                    yield path, number, line, line[:m.start()] + new + line[m.end():]


def choose(work, lines, rooms, count, seed):
    """As many of each room as it has a share of all, at least ten."""
    by_room = collections.defaultdict(list)
    for path in sorted(lines):
        room = path.split('/')[0]
        if rooms and not any(path == r or path.startswith(r.rstrip('/') + '/') for r in rooms):
            continue
        with open(os.path.join(ROOT, path), encoding='utf-8') as f:
            by_room[room] += list(mistakes_in(path, f.read(), lines[path]))
    total, chosen = sum(map(len, by_room.values())), []
    for room, all_of_it in sorted(by_room.items()):
        dice = random.Random('%d %s' % (seed, room))
        n = min(len(all_of_it), max(10, round(count * len(all_of_it) / total)))
        chosen += dice.sample(all_of_it, n)
    return chosen


class Bench:
    def __init__(self, work, suites):
        self.work, self.where = work, build(work, 'build')
        self.tests = tests_of(self.where, suites)

    def write(self, path, text):
        with open(os.path.join(self.work, path), 'w', encoding='utf-8') as f:
            f.write(text)

    def judge(self, mistake, tests, seconds):
        """'noticed by NAME', 'survives', or None: it is no program."""
        path, number, _, new = mistake
        with open(os.path.join(ROOT, path), encoding='utf-8') as f:
            right = f.read()
        lines = right.split('\n')
        lines[number - 1] = new
        self.write(path, '\n'.join(lines))
        try:
            for name in sorted(tests, key=lambda t: seconds[t]):
                command, env, needs = self.tests[name]
                if run(['ninja', '-C', self.where, *needs], self.work)[0] != 0:
                    return None
                code, _ = run(command, self.where, 5 + SLOWER * seconds[name], env)
                if code != 0:
                    return 'noticed by ' + name
            return 'survives'
        finally:
            self.write(path, right)


def key_of(mistake):
    path, _, line, new = mistake
    return '%s: %s => %s' % (path, line.strip(), new.strip())


def argued():
    reasons = {}
    try:
        with open(os.path.join(ROOT, ARGUED), encoding='utf-8') as f:
            for line in f:
                what, _, why = line.rstrip('\n').partition(' :: ')
                if why and not what.startswith('#'):
                    reasons[what] = why
    except FileNotFoundError:
        pass
    return reasons


def main():
    p = argparse.ArgumentParser(description='do the tests notice small mistakes?')
    p.add_argument('--count', type=int, default=500)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--room', action='append', default=[], help='a folder, or one file')
    p.add_argument('--suite', action='append', default=[], help="of tests, as meson has them; default: unit")
    p.add_argument('--longest', type=float, default=300, help='seconds that a test may take; others are left out')
    p.add_argument('--work', default=os.path.join(ROOT, 'build-mutants'))
    args = p.parse_args()
    work = os.path.realpath(args.work)
    copy_of_repository(work)
    known = lines_by_test(work, args.suite or ['unit'], args.longest)
    bench, reasons = Bench(work, args.suite or ['unit']), argued()
    found_at = os.path.join(work, 'found.json')
    found = json.load(open(found_at, encoding='utf-8')) if os.path.exists(found_at) else {}
    rows, unargued = collections.defaultdict(lambda: [0, 0, 0]), 0
    for mistake in choose(work, known['lines'], args.room, args.count, args.seed):
        key, tests = key_of(mistake), known['lines'][mistake[0]][str(mistake[1])]
        if key not in found:
            found[key] = bench.judge(mistake, tests, known['seconds']) if tests else 'no test comes by'
            with open(found_at + '.new', 'w', encoding='utf-8') as f:
                json.dump(found, f, indent=0)
            os.rename(found_at + '.new', found_at)
        if found[key] is None:
            continue
        row = rows[mistake[0].split('/')[0]]
        row[0] += 1
        if found[key].startswith('noticed'):
            continue
        row[1] += 1
        row[2] += key in reasons
        if key not in reasons:
            unargued += 1
            print('%s:%d: %s: %s' % (mistake[0], mistake[1], found[key], key.partition(': ')[2]), flush=True)
    for room, (n, survivors, why) in sorted(rows.items()):
        print('%-10s %4d mistakes, %3d survive (%2.0f %%), %d of them argued' % (room, n, survivors, 100 * survivors / n, why))
    n, survivors = sum(r[0] for r in rows.values()), sum(r[1] for r in rows.values())
    print('%-10s %4d mistakes, %3d survive (%2.0f %%)' % ('all', n, survivors, 100 * survivors / max(n, 1)))
    return 1 if unargued else 0


if __name__ == '__main__':
    sys.exit(main())
