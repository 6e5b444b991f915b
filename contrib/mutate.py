#!/usr/bin/env python3
"""mutate.py: do the tests notice? Makes small mistakes in the C sources, one at a time, and runs the tests that come by the changed
line, the quickest first. A mistake that they all pass survives, and so does one in a file that no test comes by. One that does not
compile, or that compiles to the same code, is no mistake and another one is taken.

    contrib/mutate.py [--count N] [--seed N] [--room FOLDER]... [--suite NAME]... [--longest SECONDS] [--seconds N] [--work DIR]

Works in a copy of the repository (--work, default build-mutants), where it keeps the copy's builds and what it has found: asked again
with the same seed it goes on, and looks again at survivors whose tests have changed. Prints a line a survivor, and how many of how
many there were, by room; exit code 1 if one survives that tests/mutants.txt does not argue for.
Needs gcc, gcov, meson, ninja and Criterion."""
import argparse
import collections
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
ARGUED = 'tests/mutants.txt' # FILE: FUNCTION: TEXT OF THE LINE => WHAT BECAME OF IT :: why nobody can notice
ROOMS = ('base', 'format', 'spank', 'pmpi', 'collect', 'topology', 'postproc', 'reports', 'fleet', 'cli')
# Of the suite integration, those that start no MPI program and take seconds: by them people see what a page or a command says.
QUICK = ('commands', 'doctor-command', 'export_generated', 'fixtures', 'golden', 'golden_fixtures', 'installations', 'job_fields', 'job_page', 'job_record',
         'live_feed', 'live_once', 'live_terminal', 'protocol_corpus', 'report-command', 'web')
SLOWER = 10 # times as long as usual, and five seconds: it hangs

# What a mistake looks like: a name, what is looked for in code (no comment, no text), and what stands there then.
COMPARISONS = {'<': ['<=', '>'], '<=': ['<', '>='], '>': ['>=', '<'], '>=': ['>', '<='], '==': ['!='], '!=': ['==']} # one past, the other order
KINDS = (
    ('comparison', re.compile(r'(?<=[\w\])] )(<=|>=|==|!=|<|>)(?= [\w(\-*&!])'), lambda m: COMPARISONS[m.group()]),
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
    names = {name for name in names if os.path.isfile(os.path.join(ROOT, name))}
    for room in ROOMS:
        for folder, _, files in os.walk(os.path.join(work, room)):
            for name in files:
                if os.path.relpath(os.path.join(folder, name), work) not in names:
                    os.unlink(os.path.join(folder, name))
    for name in names:
        here, there = os.path.join(ROOT, name), os.path.join(work, name)
        os.makedirs(os.path.dirname(there), exist_ok=True)
        if not os.path.exists(there) or open(here, 'rb').read() != open(there, 'rb').read():
            shutil.copy(here, there)


def digest(*files):
    sums = hashlib.sha256()
    for file in files:
        with open(file, 'rb') as f:
            sums.update(f.read())
    return sums.hexdigest()[:16]


class Build:
    """One of the copy, and its tests: name -> (command, environment, what it needs to be built)."""

    def __init__(self, work, name, suites, *options):
        self.work, self.where = work, os.path.join(work, name)
        if not os.path.exists(os.path.join(self.where, 'build.ninja')):
            must(['meson', 'setup', self.where, '--buildtype=debug', '-Doptimization=0', '-Ddebug=false', '-Dviewer=disabled', *options], work)
        must(['ninja', '-C', self.where, 'build.ninja'], work)
        built = {t['id']: [os.path.relpath(f, self.where) for f in t['filename']] for t in self.introspect('targets')}
        self.tests = {}
        for t in self.introspect('tests'):
            of = {s.rpartition(':')[2] for s in t['suite']}
            name = t['name'] if 'unit' in of else '/'.join((*sorted(of), t['name']))
            if (of | {name}) & set(suites):
                self.tests[name] = (t['cmd'], {**os.environ, **t['env']}, [f for d in t['depends'] for f in built.get(d, [])])
        of_program = {os.path.relpath(f, self.where): t['target_sources'] for t in self.introspect('targets') for f in t['filename']}
        self.own = {name: {os.path.relpath(os.path.realpath(s), work) for need in needs for part in of_program.get(need, []) for s in part.get('sources', [])}
                    for name, (_, _, needs) in self.tests.items()}
        must(['ninja', '-C', self.where, *sorted({need for _, _, needs in self.tests.values() for need in needs})], work)

    def introspect(self, what):
        return json.loads(must(['meson', 'introspect', self.where, '--' + what], self.where))

    def digest_of(self, test):
        """The same as long as nothing changes in what is run."""
        command, _, needs = self.tests[test]
        scripts = [part for part in command if os.path.isfile(part) and part.startswith(self.work + os.sep)]
        return digest(*[os.path.join(self.where, need) for need in needs], *scripts)


def lines_by_test(work, suites, longest):
    """(file -> lines that are compiled, test -> [digest, seconds, file -> lines that it comes by, files of its own]), of tests that pass."""
    known_at, known = os.path.join(work, 'lines.json'), {}
    if os.path.exists(known_at):
        with open(known_at, encoding='utf-8') as f:
            known = json.load(f)
    build = Build(work, 'build-lines', suites, '-Db_coverage=true')
    result = {}
    for name, (command, env, _) in build.tests.items():
        sum_of_it = build.digest_of(name)
        if known.get(name, [''])[0] != sum_of_it:
            known[name] = [sum_of_it, *lines_of_test(build, name, command, env, longest)]
            print('%-24s %6.1f s' % (name, known[name][1]), file=sys.stderr, flush=True)
            with open(known_at + '.new', 'w', encoding='utf-8') as f:
                json.dump(known, f)
            os.rename(known_at + '.new', known_at)
        if known[name][2] is not None:
            result[name] = [*known[name], build.own[name]]
    return lines_seen(build, '.gcno'), result


def lines_of_test(build, name, command, env, longest):
    """(seconds, file -> lines); None of one that takes too long or fails as it is: it would fail with any mistake."""
    for folder, _, files in os.walk(build.where):
        for file in files:
            if file.endswith('.gcda'):
                os.unlink(os.path.join(folder, file))
    begin = time.monotonic()
    code, out = run(command, build.where, longest, env)
    seconds = time.monotonic() - begin
    if code != 0:
        print('%s: %s' % (name, 'it takes longer' if code is None else 'it fails as it is: ' + out[-500:]), file=sys.stderr)
        return seconds, None
    return seconds, lines_seen(build, '.gcda')


def lines_seen(build, suffix):
    """file -> what has been run since data were removed (.gcda), or what there is to be run (.gcno)."""
    lines = collections.defaultdict(set)
    data = [os.path.join(d, f) for d, _, files in os.walk(build.where) for f in files if f.endswith(suffix)]
    if not data:
        return {}
    out = subprocess.run(['gcov', '--json-format', '--stdout', *data], cwd=build.where, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for document in filter(str.strip, out.split('\n')):
        for file in json.loads(document)['files']:
            path = os.path.relpath(os.path.realpath(os.path.join(build.where, file['file'])), build.work)
            if path.split('/')[0] in ROOMS and path.endswith('.c') and os.path.isfile(os.path.join(ROOT, path)): # data of files that are gone stay
                lines[path].update(line['line_number'] for line in file['lines'] if suffix == '.gcno' or line['count'] > 0)
    return {path: sorted(numbers) for path, numbers in lines.items()}


def code_only(text):
    """The text with comments and literals blanked, of the same length."""
    def blank(m):
        return re.sub(r'[^\n]', ' ', m.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def mistakes_in(path, lines):
    """Of all lines that are compiled."""
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        text = f.read()
    function, seen = '', collections.Counter()
    for number, (line, code) in enumerate(zip(text.split('\n'), code_only(text).split('\n')), 1):
        head = re.match(r'\w[^;=]*?(\w+)\(', code)
        function = head.group(1) if head else function
        if number not in lines or code.lstrip().startswith('#') or 'static_assert' in code:
            continue
        for _, pattern, becomes in KINDS:
            for m in pattern.finditer(code):
                for new in becomes(m):
                    changed = line[:m.start()] + new + line[m.end():]
                    key = '%s: %s: %s => %s' % (path, function, line.strip(), changed.strip())
                    seen[key] += 1
                    yield Mistake(path, number, changed, key + (' (%d)' % seen[key] if seen[key] > 1 else ''))


Mistake = collections.namedtuple('Mistake', 'path number line key')


def shuffled(lines, rooms, seed):
    """room -> its mistakes, in an order that stays when other lines change."""
    by_room = collections.defaultdict(list)
    for path in sorted(lines):
        if not rooms or any(path == r or path.startswith(r.rstrip('/') + '/') for r in rooms):
            by_room[path.split('/')[0]] += mistakes_in(path, set(lines[path]))
    for mistakes in by_room.values():
        mistakes.sort(key=lambda m: hashlib.sha256(('%d %s' % (seed, m.key)).encode()).digest())
    return by_room


class Bench:
    def __init__(self, work, suites):
        self.work, self.build = work, Build(work, 'build', suites)
        with open(os.path.join(self.build.where, 'compile_commands.json'), encoding='utf-8') as f:
            self.commands = {os.path.relpath(os.path.realpath(os.path.join(c['directory'], c['file'])), work): c for c in json.load(f)
                             if os.path.exists(os.path.join(c['directory'], c['output']))} # of several, one that was built
        self.right = {}

    def code_of(self, path):
        """A digest of what the compiler makes of it when it tries; None: it is no program."""
        command = self.commands[path]
        words, out = shlex.split(command['command']), os.path.join(self.work, 'one.o')
        words[words.index('-o') + 1] = out
        code, _ = run([*words, '-O2', '-g0'], command['directory'])
        return digest(out) if code == 0 else None

    def judge(self, mistake, tests):
        """'noticed by NAME', 'survives', or None: it is no mistake. tests: (seconds, name), the quickest first."""
        with open(os.path.join(ROOT, mistake.path), encoding='utf-8') as f:
            right = f.read()
        lines = right.split('\n')
        lines[mistake.number - 1] = mistake.line
        if mistake.path not in self.right:
            self.right[mistake.path] = self.code_of(mistake.path)
            if self.right[mistake.path] is None:
                sys.exit('mutate.py: %s does not compile as it is' % mistake.path)
        try:
            self.write(mistake.path, '\n'.join(lines))
            if self.code_of(mistake.path) in (None, self.right[mistake.path]):
                return None
            for seconds, name in tests:
                command, env, needs = self.build.tests[name]
                if run(['ninja', '-C', self.build.where, *needs], self.work)[0] != 0:
                    return None
                if run(command, self.build.where, 5 + SLOWER * seconds, env)[0] != 0:
                    return 'noticed by ' + name
            return 'survives' if tests else 'no test comes by'
        finally:
            self.write(mistake.path, right)

    def write(self, path, text):
        with open(os.path.join(self.work, path), 'w', encoding='utf-8') as f:
            f.write(text)


class Found:
    """What became of each mistake, and the digest of the tests that were asked; kept in a file."""

    def __init__(self, work):
        self.path, self.all = os.path.join(work, 'found.json'), {}
        if os.path.exists(self.path):
            with open(self.path, encoding='utf-8') as f:
                self.all = json.load(f)

    def get(self, mistake, asked):
        """None: nobody knows yet, or other tests may notice now."""
        result = self.all.get(mistake.key)
        return result if result and (result[1] == asked or result[0] is None or result[0].startswith('noticed')) else None

    def put(self, mistake, asked, what):
        self.all[mistake.key] = [what, asked]
        with open(self.path + '.new', 'w', encoding='utf-8') as f:
            json.dump(self.all, f, indent=0)
        os.rename(self.path + '.new', self.path)
        return self.all[mistake.key]


def argued():
    reasons = {}
    with open(os.path.join(ROOT, ARGUED), encoding='utf-8') as f:
        for line in f:
            what, _, why = line.rstrip('\n').partition(' :: ')
            if why and not what.startswith('#'):
                reasons[what] = why
    return reasons


def tests_by(mistake, by_test):
    """(seconds, name), the quickest first. Who has become another user or ends by _exit() says of no line that it was run: of
    such a line all tests are asked that come by others of its file, or have that file for their own."""
    near = [(seconds, name) for name, (_, seconds, seen, own) in by_test.items() if mistake.path in seen or mistake.path in own]
    return sorted(t for t in near if mistake.number in by_test[t[1]][2].get(mistake.path, ())) or sorted(near)


def try_room(bench, found, mistakes, by_test, count, end):
    """(mistake, what became of it) of as many as are wanted; less when it is time to end."""
    n = 0
    for mistake in mistakes:
        tests = tests_by(mistake, by_test)
        asked = ' '.join(by_test[name][0] for _, name in tests)
        result = found.get(mistake, asked)
        if not result and time.monotonic() < end:
            result = found.put(mistake, asked, bench.judge(mistake, tests))
        if not result or not result[0]:
            continue
        n += 1
        yield mistake, result[0]
        if n == count:
            return


def main():
    p = argparse.ArgumentParser(description='do the tests notice small mistakes?')
    p.add_argument('--count', type=int, default=500, help='mistakes over all rooms that are asked for, as many in each')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--room', action='append', default=[], help='a folder, or one file')
    p.add_argument('--suite', action='append', default=[], help="of tests, as meson has them, or one as SUITE/NAME; default: unit, and quick ones of integration")
    p.add_argument('--longest', type=float, default=300, help='seconds that a test may take; others are left out')
    p.add_argument('--seconds', type=float, default=1e9, help='begin with no mistake after that time, counted from the first')
    p.add_argument('--work', default=os.path.join(ROOT, 'build-mutants'))
    args = p.parse_args()
    work, suites = os.path.realpath(args.work), args.suite or ['unit', *('integration/' + name for name in QUICK)]
    copy_of_repository(work)
    lines, by_test = lines_by_test(work, suites, args.longest)
    bench, found, reasons = Bench(work, suites), Found(work), argued()
    end = time.monotonic() + args.seconds
    rows, unargued = {}, 0
    by_room = shuffled(lines, args.room, args.seed)
    for room, mistakes in sorted(by_room.items()):
        row = rows[room] = [0, 0, 0]
        for mistake, what in try_room(bench, found, mistakes, by_test, -(-args.count // len(by_room)), end):
            row[0] += 1
            if what.startswith('noticed'):
                continue
            row[1] += 1
            row[2] += mistake.key in reasons
            if mistake.key not in reasons:
                unargued += 1
                print('%s:%d: %s: %s' % (mistake.path, mistake.number, what, mistake.key.partition(': ')[2]), flush=True)
    rows['all'] = [sum(r[i] for r in rows.values()) for i in range(3)]
    for room, (n, survivors, why) in rows.items():
        print('%-10s %4d mistakes, %3d survive (%2.0f %%), %d of them argued' % (room, n, survivors, 100 * survivors / max(n, 1), why))
    return 1 if unargued else 0


if __name__ == '__main__':
    sys.exit(main())
